"""Tuned priors are the best there are: against grids, other optimisers, and data whose best prior is known."""

import warnings
from typing import Any

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats
from scipy.special import expit, gammaln
from sklearn.base import clone
from sklearn.datasets import load_digits

import bayesnb as nb
from bayesnb import (
    Bernoulli,
    BoundaryWarning,
    Categorical,
    Gaussian,
    Multinomial,
    MultivariateGaussian,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    RefusedWarning,
    tune,
)
from bayesnb.criticism.tune import prior_bounds
from bayesnb.datasets import spam
from bayesnb.families.dirichlet_evidence import evidence_terms, log_evidence, slopes
from bayesnb.families.gaussian import GaussianStats
from bayesnb.families.poisson import Gamma, PoissonStats
from bayesnb.numerics.special import psi_rise
from bayesnb.selection.prior_evidence import GaussianEvidence, PoissonEvidence

RNG = np.random.default_rng(20261122)
ROWS, CLASSES = 240, 4
Y = np.arange(ROWS) % CLASSES


def by_class(draw: Any, columns: int) -> np.ndarray:
    """Columns whose parameter is drawn anew for every class and column."""
    return np.column_stack([np.concatenate([draw(60) for _ in range(CLASSES)]) for _ in range(columns)])[
        np.argsort(np.argsort(Y, kind="stable"))
    ]


def levels(rows: int) -> np.ndarray:
    return RNG.choice(5, rows, p=RNG.dirichlet(np.full(5, 0.6)))


def reals(rows: int) -> np.ndarray:
    variance = stats.invgamma(3, scale=8).rvs(random_state=RNG)
    return RNG.normal(RNG.normal(50, np.sqrt(variance / 0.5)), np.sqrt(variance), rows)


LEVELS, FLAGS = by_class(levels, 5), by_class(lambda rows: RNG.random(rows) < RNG.beta(2, 2), 5)
REALS, COUNTS = by_class(reals, 5), by_class(lambda rows: RNG.poisson(RNG.gamma(4, 1.5), rows), 5).astype(float)
WORDS = np.stack([RNG.multinomial(8, p) for p in RNG.dirichlet(np.full(30, 0.4), CLASSES)[Y]])
PRESETS: dict[str, tuple[Any, np.ndarray]] = {
    "categorical": (nb.CategoricalNB(), LEVELS),
    "bernoulli": (nb.BernoulliNB(), FLAGS.astype(float)),
    "multinomial": (nb.MultinomialNB(), WORDS),
    "gaussian": (nb.GaussianNB(), REALS),
    "poisson": (nb.PoissonNB(), COUNTS),
}
DICE = ("categorical", "bernoulli", "multinomial")


def evidence(model: Any, X: Any, y: Any = Y) -> float:
    return clone(model).fit(X, y).log_evidence_


@pytest.mark.slow
@pytest.mark.parametrize("name", DICE)
def test_a_tuned_concentration_beats_a_fine_grid(name: str) -> None:
    model, X = PRESETS[name]
    tuned = tune(model, X, Y)
    grid = [evidence(clone(model).set_params(alpha=a), X) for a in tuned.alpha * np.exp(np.linspace(-0.01, 0.01, 9))]
    wide = [evidence(clone(model).set_params(alpha=a), X) for a in np.logspace(-6, 6, 61)]
    assert evidence(tuned, X) >= max(*grid, *wide) - 1e-9


@pytest.mark.parametrize("name", DICE)
def test_a_tuned_concentration_is_where_scipy_finds_it(name: str) -> None:
    model, X = PRESETS[name]
    found = optimize.minimize_scalar(
        lambda log: -evidence(clone(model).set_params(alpha=np.exp(log)), X),
        bracket=(-1, 1),
        options={"xtol": 1e-9},
    )
    assert np.log(tune(model, X, Y).alpha) == pytest.approx(found.x, abs=1e-5)


def test_one_die_thrown_in_many_classes_has_the_concentration_of_scipys_dirichlet_multinomial() -> None:
    counts = RNG.multinomial(30, RNG.dirichlet(np.full(6, 0.8)), 9)
    X, y = np.repeat(np.tile(np.arange(6), 9), counts.ravel())[:, None], np.repeat(np.arange(9), counts.sum(axis=1))
    found = optimize.minimize_scalar(
        lambda log: -stats.dirichlet_multinomial.logpmf(counts, np.full(6, np.exp(log)), 30).sum(), bracket=(-1, 1)
    )
    assert np.log(tune(nb.CategoricalNB(), X, y).alpha) == pytest.approx(found.x, abs=1e-5)


def neighbours(prior: Any) -> list[Any]:
    """Priors a little off in any direction."""
    names = [name for name in ("count", "shape", "scale", "rate") if hasattr(prior, name)]
    return [
        clone_prior(prior, {name: getattr(prior, name) * factor for name, factor in zip(names, factors, strict=True)})
        for factors in np.exp(0.003 * np.array(np.meshgrid(*[[-1, 0, 1]] * len(names))).reshape(len(names), -1).T)
    ]


def clone_prior(prior: Any, changes: dict[str, Any]) -> Any:
    if isinstance(prior, Gamma):
        return Gamma(changes["shape"], changes["rate"])
    return NormalInverseGamma(np.asarray(prior.mean), **changes)


@pytest.mark.slow
@pytest.mark.parametrize("per", ["model", "feature", "class"])
@pytest.mark.parametrize("name", ["gaussian", "poisson"])
def test_a_tuned_prior_of_numbers_beats_its_neighbours_and_a_grid(name: str, per: str) -> None:
    model, X = PRESETS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BoundaryWarning)
        tuned = tune(model, X, Y, per=per)
    best = evidence(tuned, X)
    near = [evidence(clone(model).set_params(prior=prior), X) for prior in neighbours(tuned.prior)]
    assert best >= max(near) - 1e-8
    if name == "poisson":
        pooled = 1 / X.mean(axis=0)
        grid = [Gamma(a, a * m * pooled) for a in np.logspace(-3, 4, 15) for m in np.logspace(-1, 1, 7)]
    else:
        mean, variance = X.mean(axis=0), X.var(axis=0)
        grid = [
            NormalInverseGamma(mean, k, a, a * r * variance)
            for k in np.logspace(-3, 3, 7)
            for a in np.logspace(-1, 3, 5)
            for r in np.logspace(-2, 1, 7)
        ]
    assert best >= max(evidence(clone(model).set_params(prior=prior), X) for prior in grid) - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_priors_of_each_feature_are_those_of_the_features_alone(name: str) -> None:
    model, X = PRESETS[name]
    if name == "multinomial":
        assert tune(model, X, Y, per="feature").alpha == tune(model, X, Y).alpha
        return
    both = tune(model, X, Y, per="feature")
    each = [tune(model, X[:, [j]], Y, per="feature") for j in range(5)]
    alone = sum(evidence(own, X[:, [j]]) - evidence_of_labels(own, X[:, [j]]) for j, own in enumerate(each))
    assert evidence(both, X) - evidence_of_labels(both, X) == pytest.approx(alone, rel=1e-11)


def evidence_of_labels(model: Any, X: Any) -> float:
    fitted = clone(model).fit(X, Y)
    return fitted.log_evidence_ - sum(fitted.log_evidence_by_feature().values())


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("per", ["feature", "class"])
@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning")
def test_more_dials_have_no_less_evidence(name: str, per: str) -> None:
    model, X = PRESETS[name]
    plain, one, many = (evidence(own, X) for own in (model, tune(model, X, Y), tune(model, X, Y, per=per)))
    assert plain < one <= many + 1e-9


@pytest.mark.parametrize("name", DICE)
def test_a_concentration_of_each_class_is_that_of_the_class_alone(name: str) -> None:
    model, X = PRESETS[name]
    every = tune(model, X, Y, per="class").alpha
    assert every.shape == (CLASSES, 1)
    if name != "categorical":  # its levels are those of all classes
        for c in range(CLASSES):
            assert every[c, 0] == pytest.approx(tune(model, X[c == Y], Y[c == Y]).alpha, rel=1e-8)


@pytest.mark.slow
def test_a_known_spread_of_many_dice_is_found_again() -> None:
    rng = np.random.default_rng(1)
    dice = rng.dirichlet(np.full(4, 0.7), (3, 400))
    y = np.repeat(np.arange(3), 40)
    X = np.stack([[rng.choice(4, p=p) for p in dice[c]] for c in y])
    assert tune(nb.CategoricalNB(min_categories=4), X, y).alpha == pytest.approx(0.7, rel=0.1)


def test_an_array_keeps_its_proportions() -> None:
    alpha = np.array([1.0, 2.0, 2.0, 1.0, 4.0])
    tuned = tune(nb.CategoricalNB(alpha=alpha), LEVELS, Y)
    np.testing.assert_allclose(tuned.alpha / tuned.alpha[0], alpha)
    around = [
        evidence(nb.CategoricalNB(alpha=factor * tuned.alpha), LEVELS) for factor in np.exp([-0.01, -1e-3, 1e-3, 0.01])
    ]
    assert evidence(tuned, LEVELS) >= max(around)


@pytest.mark.parametrize("a", [1e-8, 0.3, 15.9, 16.0, 400.0, 1e8])
@pytest.mark.parametrize("s", [0.5, 1.0, 30.0, 1e6])
def test_a_difference_of_digammas_keeps_its_digits(a: float, s: float) -> None:
    with mpmath.workdps(40):
        expected = float(mpmath.digamma(mpmath.mpf(a) + mpmath.mpf(s)) - mpmath.digamma(a))
    assert float(psi_rise(a, s)) == pytest.approx(expected, rel=2e-14)


def numeric(value: Any, at: float, step: float = 1e-5) -> float:
    return (value(at * (1 + step)) - value(at * (1 - step))) / (2 * step * at)


def test_the_gradient_of_the_gaussian_evidence_is_that_of_finite_differences() -> None:
    seen = GaussianStats(np.array([3.0, 7.5, 0.0]), np.array([1.0, -2.0, 0.0]), np.array([2.0, 9.0, 0.0]))
    at = {"mean": 0.4, "count": 0.7, "shape": 1.3, "scale": 2.1}
    by_name = dict(
        zip(
            ("count", "shape", "scale", "mean"),
            GaussianEvidence(seen, True).gradient(NormalInverseGamma(**at)),
            strict=True,
        )
    )
    for name, own in by_name.items():
        for k in range(3):
            slope = numeric(lambda v, n=name, k=k: NormalInverseGamma(**(at | {n: v})).log_evidence(seen)[k], at[name])
            assert own[k] == pytest.approx(slope, rel=1e-7, abs=1e-8)


def test_the_gradient_of_the_poisson_evidence_is_that_of_finite_differences() -> None:
    seen = PoissonStats(np.array([3.0, 7.5, 0.0]), np.array([1.0, 44.0, 0.0]), np.zeros(3))
    shape, rate = PoissonEvidence(seen).gradient(Gamma(1.3, 0.4))
    for k in range(3):
        assert shape[k] == pytest.approx(numeric(lambda v, k=k: Gamma(v, 0.4).log_evidence(seen)[k], 1.3), rel=1e-7)
        assert rate[k] == pytest.approx(numeric(lambda v, k=k: Gamma(1.3, v).log_evidence(seen)[k], 0.4), rel=1e-7)


def test_the_slopes_of_the_dice_are_those_of_finite_differences_in_the_log() -> None:
    counts, unit = np.array([[3.0, 0.0, 4.5, 1.0, 1.0]]), np.array([[1.0, 2.0, 1.0, 0.5, 0.5]])
    terms = evidence_terms(counts, unit, np.array([0, 0, 0, 1, 1]), np.array([[0, 1]]))
    at = np.log([0.7, 3.0])
    first, second = slopes(terms, np.exp(at))
    up, down = (log_evidence(terms, np.exp(at + step)) for step in (1e-5, -1e-5))
    np.testing.assert_allclose(first, (up - down) / 2e-5, rtol=1e-7)
    up, down = (slopes(terms, np.exp(at + step))[0] for step in (1e-5, -1e-5))
    np.testing.assert_allclose(second, (up - down) / 2e-5, rtol=1e-7)


@pytest.mark.parametrize("name", PRESETS)
def test_permuting_rows_and_columns_changes_nothing(name: str) -> None:
    model, X = PRESETS[name]
    rows, columns = RNG.permutation(ROWS), RNG.permutation(X.shape[1])
    tuned, other = tune(model, X, Y), tune(model, X[rows][:, columns], Y[rows])
    found = clone(tuned).fit(X, Y).predict_proba(X)[rows]
    again = clone(other).fit(X[rows][:, columns], Y[rows]).predict_proba(X[rows][:, columns])
    np.testing.assert_allclose(found, again, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning")
@pytest.mark.parametrize("criterion", ["evidence", "loo"])
def test_shifting_and_rescaling_columns_changes_no_tuned_prediction(criterion: str) -> None:
    moved = 1e3 + REALS * np.logspace(-6, 6, 5)
    found = [clone(tune(nb.GaussianNB(), X, Y, criterion)).fit(X, Y).predict_proba(X) for X in (REALS, moved)]
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-6)


def test_a_weight_of_three_is_three_rows() -> None:
    weight = RNG.integers(0, 4, ROWS).astype(float)
    copies = np.repeat(np.arange(ROWS), weight.astype(int))
    for model, X in PRESETS.values():
        one, many = tune(model, X, Y, sample_weight=weight), tune(model, X[copies], Y[copies])
        assert evidence(one, X[copies], Y[copies]) == pytest.approx(evidence(many, X[copies], Y[copies]), rel=1e-12)


@pytest.mark.parametrize(
    ("model", "X", "y", "said"),
    [
        (nb.CategoricalNB(), np.tile(np.arange(3), 20)[:, None], np.repeat([0, 1], 30), "concentration 1e+08"),
        (nb.CategoricalNB(), np.repeat([[0], [1]], 30, axis=0), np.repeat([0, 1], 30), "concentration 1e-08"),
        (nb.BernoulliNB(), np.tile([[0.0], [1.0]], (30, 1)), np.repeat([0, 1], 30), "concentration 1e+08"),
        (nb.GaussianNB(), np.tile(np.arange(6.0), 10)[:, None], np.repeat([0, 1], 30), "count 1e+08"),
        (nb.GaussianNB(), np.tile(np.arange(6.0), 10)[:, None], np.repeat([0, 1], 30), "shape 1e+08"),
        (nb.PoissonNB(), np.tile(np.arange(6.0), 10)[:, None], np.repeat([0, 1], 30), "shape 1e+08"),
        (nb.CategoricalNB(), np.array([[0], [1], [1], [1], [1]]), np.array([0, 0, 0, 1, 1]), "concentration 1e+08"),
    ],
    ids=["even levels", "one level each", "even sides", "equal means", "equal variances", "equal rates", "a tie"],
)
def test_a_prior_that_is_better_the_further_it_goes_is_left_at_the_end_and_told(
    model: Any, X: np.ndarray, y: np.ndarray, said: str
) -> None:
    with pytest.warns(BoundaryWarning, match="end of their range") as told:
        tuned = tune(model, pd.DataFrame(X, columns=["only one"]), y)
    assert len(told) == 1
    assert "column 'only one'" in str(told[0].message)
    assert said in str(told[0].message)
    assert told[0].filename == __file__
    assert np.isfinite(clone(tuned).fit(X, y).predict_proba(X)).all()


def test_counts_just_more_spread_than_chance_have_a_concentration_and_just_less_have_none() -> None:
    """Of one die the border is K sum n (n - 1) = N (N - 1)."""
    for counts, inside in (((7, 11, 12), False), ((6, 12, 12), True)):
        spread = 3 * sum(n * (n - 1) for n in counts) > 30 * 29
        assert spread == inside
        X, y = np.repeat(np.arange(3), counts)[:, None], np.zeros(30, int)
        if inside:
            assert 1 < tune(nb.CategoricalNB(), X, y).alpha < 1e6
        else:
            with pytest.warns(BoundaryWarning):
                tune(nb.CategoricalNB(), X, y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning")
def test_the_higher_of_two_hills_of_the_evidence_is_found() -> None:
    """Ten rows with 5, 24 and 0 events: one rate relative to the pooled ones is better than rates that differ."""
    X = np.zeros((20, 3))
    X[:3] = [[5, 24, 0], [0, 0, 0], [0, 0, 0]]
    X[10] = [6, 142, 13]
    y, pooled = np.repeat([0, 1], 10), X.mean(axis=0)

    def evidence_of(dials: np.ndarray) -> float:
        shape, mean = np.exp(dials)
        rate = shape / (mean * pooled)
        events = X[:10].sum(axis=0).astype(int)
        found = stats.nbinom(shape, rate / (rate + 10)).logpmf(events)
        return float((found + gammaln(events + 1) - gammaln(X[:10] + 1).sum(axis=0) - events * np.log(10)).sum())

    tuned = tune(nb.PoissonNB(), X, y, per="class").prior
    mean = tuned.shape[0, 0] / tuned.rate[0, 0] / pooled[0]
    best = max(evidence_of(np.log([1e6, at])) for at in np.linspace(0.1, 2.0, 500))
    assert evidence_of(np.log([min(tuned.shape[0, 0], 1e6), mean])) > best - 1e-4


@pytest.mark.parametrize("levels", [2, 3, 7, 10, 14])
def test_a_die_that_was_thrown_once_says_nothing_about_concentrations(levels: int) -> None:
    assert tune(nb.CategoricalNB(min_categories=levels), np.array([[0, 1, 0]]), [0]).alpha == 1.0


def test_a_smoothing_that_predicts_better_the_less_it_is_ends_at_the_end() -> None:
    X, y = np.zeros((40, 1), int), np.repeat([0, 1], 20)
    with pytest.warns(BoundaryWarning, match="smoothing 1e-08"):
        assert tune(nb.CategoricalNB(min_categories=3), X, y, criterion="loo").alpha == 1e-8


def test_a_class_is_named_whose_own_prior_has_no_end() -> None:
    X = np.concatenate([np.tile(np.arange(3), 10), np.repeat([0, 1, 2], [20, 9, 1])])[:, None]
    with pytest.warns(BoundaryWarning, match="in class 'even'"):
        tuned = tune(nb.CategoricalNB(), X, np.repeat(["even", "odd"], 30), per="class")
    assert tuned.alpha[0, 0] == 1e8
    assert tuned.alpha[1, 0] < 100


def test_columns_that_say_nothing_keep_a_weak_prior() -> None:
    X = np.column_stack([REALS[:, 0], np.full(ROWS, 7.0)])
    for per in ("model", "feature"):
        tuned = tune(nb.GaussianNB(), X, Y, per=per)
        alone = tune(nb.GaussianNB(), X[:, :1], Y, per=per)
        assert np.ravel(tuned.prior.count)[0] == pytest.approx(np.ravel(alone.prior.count)[0], rel=1e-6)
        assert np.isfinite(tuned.fit(X, Y).predict_proba(X)).all()
    silent = tune(nb.PoissonNB(), np.column_stack([COUNTS[:, 0], np.zeros(ROWS)]), Y, per="feature")
    assert silent.prior.shape[1] == silent.prior.rate[1] == 1


def test_a_class_without_rows_keeps_a_concentration_of_one() -> None:
    tuned = tune(nb.CategoricalNB(classes=[0, 1, 2, 3, 4]), LEVELS, Y, per="class")
    assert tuned.alpha[4, 0] == 1


TABLE = pd.DataFrame(
    {
        "level": np.array(list("vwxyz"))[LEVELS[:, 0]],
        "other": LEVELS[:, 1].astype(str),
        "size": REALS[:, 0],
        "dropped": 0.0,
        "flag": FLAGS[:, 0],
        "events": COUNTS[:, 0],
        "word one": WORDS[:, 0],
        "word two": WORDS[:, 1],
    }
)
MIXED = nb.NaiveBayes(
    {"dropped": None, "events": Poisson(), ("word one", "word two"): Multinomial()}, class_prior="uniform", temper=0.7
)


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["evidence", "loo"])
def test_an_estimator_for_any_columns_says_its_tuned_priors_as_families(criterion: str) -> None:
    labels = np.array(list("abcd"))[Y]
    tuned = tune(MIXED, TABLE, labels, criterion)
    assert type(tuned) is nb.NaiveBayes
    assert not hasattr(tuned, "model_")
    assert (tuned.class_prior, tuned.temper) == ("uniform", 0.7)
    assert MIXED.families["events"].prior is None
    fitted = tuned.fit(TABLE, labels)
    kinds = {name: type(family) for name, family in fitted.families_.items()}
    assert kinds == {
        "level": Categorical,
        "other": Categorical,
        "size": Gaussian,
        "flag": Bernoulli,
        "events": Poisson,
        "word one": Multinomial,
        "word two": Multinomial,
    }
    dice = [fitted.families_[name].prior for name in ("level", "flag", "word one")]
    assert dice[0].concentration == dice[1].a == dice[2].concentration
    if criterion == "evidence":
        assert fitted.log_evidence_ > clone(MIXED).fit(TABLE, labels).log_evidence_


@pytest.mark.slow
@pytest.mark.parametrize("per", ["feature", "class"])
@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning")
def test_tuning_twice_changes_nothing(per: str) -> None:
    once = tune(MIXED, TABLE, Y, per=per)
    twice = tune(once, TABLE, Y, per=per)
    assert evidence(twice, TABLE) == pytest.approx(evidence(once, TABLE), rel=1e-10)


def test_a_single_family_stays_one() -> None:
    assert isinstance(tune(nb.NaiveBayes(Categorical()), LEVELS, Y).families, Categorical)


def test_a_fitted_estimator_is_tuned_on_what_it_has_learnt_and_stays_as_it_was() -> None:
    model = nb.CategoricalNB().fit(LEVELS, Y)
    assert tune(model, LEVELS, Y).alpha == tune(nb.CategoricalNB(), LEVELS, Y).alpha
    assert model.alpha == 1.0
    with pytest.raises(ValueError, match=f"tune needs all rows .*: given are 3 of {len(Y)}"):
        tune(model, LEVELS[:3], Y[:3])
    with pytest.raises(ValueError, match="not among those"):
        tune(model, (LEVELS + 1) % 5, Y)


def dependent(rows: int, copies: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns that repeat each other, with which naive Bayes is too sure."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, rows)
    return np.repeat((rng.random((rows, 2)) < expit(2 * y[:, None] - 1)).astype(int), copies, axis=1), y


@pytest.mark.slow
@pytest.mark.parametrize("estimate", ["predictive", "mean", "map"])
def test_the_smoothing_tuned_by_leave_one_out_beats_a_grid(estimate: str) -> None:
    X, y = dependent(60, 4)
    model = nb.CategoricalNB(estimate=estimate)
    tuned = tune(model, X, y, "loo")
    grid = [clone(model).set_params(alpha=a + (estimate == "map")) for a in np.logspace(-4, 4, 65)]
    score = [own.fit(X, y).loo(X, y).elpd for own in (tuned, *grid)]
    assert score[0] >= max(score[1:]) - 1e-6
    assert tuned.alpha > 5  # the evidence, which thinks that all columns are news, has less
    assert tune(model, X, y).alpha < tuned.alpha


@pytest.mark.slow
def test_strength_and_scale_tuned_by_leave_one_out_beat_a_grid() -> None:
    X, y = REALS[:, :2], Y
    tuned = tune(nb.GaussianNB(temper=0.5), X, y, "loo")
    mean, variance = X.mean(axis=0), X.var(axis=0)
    best = clone(tuned).fit(X, y).loo(X, y).elpd
    for strength in np.logspace(-3, 4, 8):
        for scale in np.logspace(-2, 2, 5):
            prior = NormalInverseGamma(mean, 0.01 * strength, strength, strength * scale * variance)
            assert best >= nb.GaussianNB(temper=0.5, prior=prior).fit(X, y).loo(X, y).elpd - 1e-4


def test_columns_that_say_nothing_about_the_label_are_smoothed_away_and_it_is_told() -> None:
    X = np.tile(np.arange(4), 30)[:, None]
    y = np.repeat([0, 1], 60)
    with pytest.warns(BoundaryWarning, match="hardly tell the classes apart"):
        tune(nb.CategoricalNB(), X, y, "loo")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"criterion": "aic"}, "criterion must be one of evidence, loo"),
        ({"per": "row"}, "per must be one of model, feature, class"),
        ({"criterion": "loo", "per": "class"}, "depends on all columns and classes"),
    ],
)
def test_what_makes_no_sense_is_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tune(nb.CategoricalNB(), LEVELS, Y, **said)


def test_maximum_likelihood_has_nothing_to_tune_for_predictions() -> None:
    with pytest.raises(ValueError, match="no prior enters it"):
        tune(nb.CategoricalNB(estimate="mle"), LEVELS, Y, "loo")


def test_rows_that_cannot_be_predicted_are_no_criterion() -> None:
    y = np.append(np.zeros(ROWS - 1, int), 1)
    with pytest.raises(ValueError, match="only row of a class"):
        tune(nb.CategoricalNB(estimate="map"), LEVELS, y, "loo")


def test_what_is_no_estimator_is_refused() -> None:
    with pytest.raises(TypeError, match="NaiveBayes"):
        tune(object(), LEVELS, Y)  # type: ignore[arg-type]


def log_loss(model: Any, X: Any, y: Any) -> float:
    return float(-model.predict_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean())


def split(X: np.ndarray, y: np.ndarray, rows: int) -> tuple[np.ndarray, ...]:
    """So many rows of each class, and all others."""
    rng = np.random.default_rng(rows)
    keep = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:rows] for c in np.unique(y)])
    rest = np.setdiff1d(np.arange(len(y)), keep)
    return X[keep], y[keep], X[rest], y[rest]


def passengers(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ages, small counts, and amounts most of which are 0: with few rows a class, some columns are constant in one."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    money = np.where(rng.random(rows) < 0.08 + 0.1 * y, rng.lognormal(7, 1, rows), 0.0)
    few = rng.poisson(0.5 - 0.2 * y), rng.poisson(0.3 + 0.1 * y)
    return np.column_stack([rng.normal(30 + 2 * y, 14), *few, money, rng.lognormal(3 + 0.8 * y, 1)]), y


@pytest.mark.parametrize(("per", "rows"), [("model", 5), ("model", 10), ("model", 20), ("feature", 10)])
@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning", "ignore::bayesnb.RefusedWarning")
def test_columns_that_are_constant_in_a_class_do_not_ruin_the_prior_of_the_others(per: str, rows: int) -> None:
    A, a, B, b = split(*passengers(1500, rows), rows)
    tuned = tune(nb.GaussianNB(), A, a, per=per)
    assert log_loss(tuned.fit(A, a), B, b) < log_loss(nb.GaussianNB().fit(A, a), B, b) + 0.1


@pytest.mark.parametrize("rows", [5, 20, 90])
@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning", "ignore::bayesnb.RefusedWarning")
def test_tuned_digits_are_predicted_no_worse(rows: int) -> None:
    A, a, B, b = split(*load_digits(return_X_y=True), rows)
    before = log_loss(nb.GaussianNB().fit(A, a), B, b)
    assert log_loss(tune(nb.GaussianNB(), A, a).fit(A, a), B, b) < before + 0.1
    forced = log_loss(tune(nb.GaussianNB(), A, a, force=True).fit(A, a), B, b)
    assert forced < 2 * before  # and not ten times, as if no pixel varied


@pytest.mark.slow
@pytest.mark.parametrize("model", [nb.MultinomialNB(), nb.GaussianNB()])
@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning", "ignore::bayesnb.RefusedWarning")
def test_tuned_mails_are_predicted_no_worse(model: Any) -> None:
    table = spam()
    A, a, B, b = split(table.iloc[:, 1:301].to_numpy(float), table["label"].to_numpy(), 100)
    before = log_loss(clone(model).fit(A, a), B, b)
    assert log_loss(tune(model, A, a).fit(A, a), B, b) < 1.05 * before


def test_a_class_in_which_a_column_is_constant_has_no_part_in_the_evidence() -> None:
    X = REALS.copy()
    X[Y == 0] = [1.0, 2.0, 3.0, 4.0, 0.1]
    tuned = tune(nb.GaussianNB(), X, Y, force=True).prior
    seen = nb.GaussianNB().fit(X, Y).stats_.blocks[0][1:]

    def others(prior: Any) -> float:
        return float(prior.log_evidence(seen).sum())

    assert others(tuned) >= max(others(prior) for prior in neighbours(tuned)) - 1e-8
    assert 0.1 < float(tuned.shape) < 100


@pytest.mark.parametrize("shared", [False, True])
def test_rows_that_are_all_equal_leave_the_weak_prior(shared: bool) -> None:
    X = np.repeat(np.arange(8.0).reshape(4, 2) ** 2, 5, axis=0)
    y = np.repeat(np.arange(4), 5)
    plain = tune(nb.GaussianNB(shared=shared), X, y, force=True).prior
    np.testing.assert_allclose(plain.scale, X.var(axis=0))
    block = tune(nb.NaiveBayes({(0, 1): MultivariateGaussian(shared=shared)}), X, y, force=True)
    (family,) = block.families.values()
    assert (float(family.prior.count), float(family.prior.dof)) == (0.01, 3.0)


def test_priors_that_predict_labels_worse_are_refused_unless_forced() -> None:
    A, a, _, _ = split(*load_digits(return_X_y=True), 20)
    model = nb.CategoricalNB()
    with pytest.warns(RefusedWarning, match="predict the labels worse .* criterion='loo'.* force=True") as told:
        refused = tune(model, A, a)
    assert len(told) == 1
    assert told[0].filename == __file__
    assert refused.get_params() == model.get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forced = tune(model, A, a, force=True)
    assert forced.alpha != 1.0
    pd.testing.assert_frame_equal(forced.tuning, refused.tuning)
    for name, tuned in (("before", model), ("after", forced)):
        loo = clone(tuned).fit(A, a).loo(A, a)
        assert forced.tuning.elpd_loo[name] == pytest.approx(loo.elpd, rel=1e-12)
        assert forced.tuning.se[name] == pytest.approx(loo.se, rel=1e-12)
    scores = [clone(tuned).fit(A, a).loo(A, a).elpd_i.to_numpy() for tuned in (model, forced)]
    gap = scores[1] - scores[0]
    assert forced.tuning.elpd_diff["after"] == pytest.approx(gap.sum(), rel=1e-9)
    assert forced.tuning.diff_se["after"] == pytest.approx(gap.std(ddof=1) * np.sqrt(len(gap)), rel=1e-9)
    assert f"{gap.sum():.1f}" in str(told[0].message)


@pytest.mark.slow
@pytest.mark.parametrize("temper", ["loo", 0.5])
@pytest.mark.parametrize("criterion", ["evidence", "loo"])
def test_the_scores_of_tuning_are_those_of_the_estimator_that_is_fitted_next(temper: Any, criterion: str) -> None:
    weight = np.arange(ROWS) % 3
    tuned = tune(nb.CategoricalNB(temper=temper), LEVELS, Y, criterion, sample_weight=weight, force=True)
    fitted = clone(tuned).fit(LEVELS, Y, weight)
    assert tuned.tuning.elpd_loo["after"] == pytest.approx(fitted.loo(LEVELS, Y, sample_weight=weight).elpd, rel=1e-12)
    assert fitted.get_params() == tuned.get_params()


def test_a_mode_that_makes_rows_impossible_is_refused() -> None:
    """The best concentration of rare levels is below 1, where the mode has none of them."""
    rng = np.random.default_rng(0)
    X = rng.choice(12, (60, 2), p=np.r_[0.7, np.full(11, 0.3 / 11)])
    model = nb.CategoricalNB(alpha=2.0, estimate="map")
    with pytest.warns(RefusedWarning, match="-inf with them"):
        assert tune(model, X, np.arange(60) % 2).alpha == 2.0


def test_bounds_of_priors_are_those_that_tune_warns_of() -> None:
    rng, codes = np.random.default_rng(0), np.arange(60) % 3
    X = np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 3, 60)])
    model = NaiveBayes("gaussian").fit(X, codes)
    with pytest.warns(BoundaryWarning) as caught:
        tune(model, X, codes, force=True)
    (warned,) = [each.message.ends for each in caught if isinstance(each.message, BoundaryWarning)]
    bounds = prior_bounds(model)
    assert [end.where for end in bounds] == [end.where for end in warned]
    assert [(end.dial, end.infinite) for end in bounds] == [(end.dial, end.infinite) for end in warned]
