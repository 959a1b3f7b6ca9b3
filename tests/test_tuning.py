"""Tuned priors are the best there are: against SciPy, grids, and data whose best prior is known."""

import itertools
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_digits

import bayesnb as nb
from bayesnb import (
    BoundaryWarning,
    Categorical,
    Gamma,
    Gaussian,
    Multinomial,
    MultivariateGaussian,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    RefusedWarning,
    tune,
)

RNG = np.random.default_rng(20261122)
ROWS = 240
CLASSES = 4
COLUMNS = 5
Y = np.arange(ROWS) % CLASSES
VARIANCE = stats.invgamma(3, scale=8).rvs((CLASSES, COLUMNS), random_state=RNG)
MEAN = RNG.normal(50, np.sqrt(VARIANCE / 0.5))
LEVEL_SHARES = RNG.dirichlet(np.full(5, 0.6), (CLASSES, COLUMNS)).cumsum(axis=2)
LEVELS = (RNG.random((ROWS, COLUMNS, 1)) > LEVEL_SHARES[Y][..., :-1]).sum(axis=2)
PRESETS: dict[str, tuple[Any, np.ndarray]] = {
    "categorical": (nb.CategoricalNB(), LEVELS),
    "bernoulli": (
        nb.BernoulliNB(),
        (RNG.random((ROWS, COLUMNS)) < RNG.beta(2, 2, (CLASSES, COLUMNS))[Y]).astype(float),
    ),
    "multinomial": (
        nb.MultinomialNB(),
        RNG.multinomial(8, RNG.dirichlet(np.full(30, 0.4), CLASSES)[Y]),
    ),
    "poisson": (
        nb.PoissonNB(),
        RNG.poisson(RNG.gamma(4, 1.5, (CLASSES, COLUMNS))[Y]).astype(float),
    ),
}
PRESETS["gaussian"] = (nb.GaussianNB(), RNG.normal(MEAN[Y], np.sqrt(VARIANCE[Y])))
REALS = PRESETS["gaussian"][1]
COUNTS = PRESETS["poisson"][1]
DIRICHLETS = ("categorical", "bernoulli", "multinomial")


def evidence(model: Any, x: Any, y: Any = Y) -> float:
    return clone(model).fit(x, y).log_evidence_


# The evidence


@pytest.mark.parametrize("name", DIRICHLETS)
def test_a_tuned_concentration_is_where_scipy_finds_it(name: str) -> None:
    model, x = PRESETS[name]

    def loss(log_alpha: float) -> float:
        return -evidence(clone(model).set_params(alpha=np.exp(log_alpha)), x)

    found = optimize.minimize_scalar(loss, bracket=(-1, 1), options={"xtol": 1e-9})
    assert np.log(tune(model, x, Y).alpha) == pytest.approx(found.x, abs=1e-5)


def scaled(prior: Any, factors: tuple[float, ...]) -> Any:
    if isinstance(prior, Gamma):
        return Gamma(prior.shape * factors[0], prior.rate * factors[1])
    count = prior.count
    shape = prior.shape
    scale = prior.scale
    return NormalInverseGamma(
        prior.location, count * factors[0], shape * factors[1], scale * factors[2]
    )


def neighbours(prior: Any) -> list[Any]:
    """Priors a little off in any direction."""
    steps = (np.exp(-0.003), 1.0, np.exp(0.003))
    sizes = 2 if isinstance(prior, Gamma) else 3
    return [scaled(prior, factors) for factors in itertools.product(steps, repeat=sizes)]


@pytest.mark.parametrize("per", ["model", pytest.param("class", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["gaussian", "poisson"])
@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning")
def test_a_tuned_prior_of_numbers_beats_its_neighbours_and_a_grid(name: str, per: str) -> None:
    model, x = PRESETS[name]
    tuned = tune(model, x, Y, per=per)
    best = evidence(tuned, x)
    others = neighbours(tuned.prior)
    for strength, ratio in itertools.product(np.logspace(-2, 3, 6), np.logspace(-1, 1, 3)):
        if name == "poisson":
            others.append(Gamma(strength, strength * ratio / x.mean(axis=0)))
        else:
            scale = strength * ratio * x.var(axis=0)
            others += [NormalInverseGamma(x.mean(axis=0), k, strength, scale) for k in (0.1, 10)]
    for prior in others:
        assert best >= evidence(clone(model).set_params(prior=prior), x) - 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning")
def test_priors_of_each_feature_or_class_have_no_less_evidence_and_are_those_alone(
    name: str,
) -> None:
    model, x = PRESETS[name]
    one, features, classes = (tune(model, x, Y, per=per) for per in ("model", "feature", "class"))
    plain = evidence(one, x)
    assert evidence(model, x) < plain <= min(evidence(features, x), evidence(classes, x)) + 1e-9
    if name in ("bernoulli", "multinomial"):
        for c in range(CLASSES):
            own = tune(model, x[c == Y], Y[c == Y]).alpha
            assert classes.alpha[c, 0] == pytest.approx(own, rel=1e-8)
    if name != "multinomial":
        each = clone(features).fit(x, Y).log_evidence_by_feature().values()
        for j, found in enumerate(each):
            own = tune(model, x[:, [j]], Y, per="feature").fit(x[:, [j]], Y)
            (expected,) = own.log_evidence_by_feature().values()
            assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", PRESETS)
def test_the_order_of_rows_and_columns_and_how_copies_are_given_change_nothing(name: str) -> None:
    model, x = PRESETS[name]
    weight = np.random.default_rng(0).integers(0, 4, ROWS)
    copies = np.random.default_rng(1).permutation(np.repeat(np.arange(ROWS), weight))
    columns = np.random.default_rng(2).permutation(x.shape[1])
    again = x[copies]
    labels = Y[copies]
    one = tune(model, x, Y, sample_weight=weight).fit(x, Y, weight)
    many = tune(model, again[:, columns], labels).fit(again[:, columns], labels)
    found = one.predict_proba(x)
    expected = many.predict_proba(x[:, columns])
    assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning")
def test_shifting_and_rescaling_columns_changes_no_tuned_prediction() -> None:
    moved = 1e3 + REALS * np.logspace(-6, 6, 5)
    one, two = (
        clone(tune(nb.GaussianNB(), x, Y)).fit(x, Y).predict_proba(x) for x in (REALS, moved)
    )
    assert_allclose(one, two, rtol=1e-4, atol=1e-6)


# Where the evidence has no maximum

HALVES = np.repeat([0, 1], 30)
SIX = np.tile(np.arange(6.0), 10)[:, None]


@pytest.mark.parametrize(
    ("model", "x", "y", "words"),
    [
        (nb.CategoricalNB(), np.tile(np.arange(3), 20)[:, None], HALVES, "concentration 1e.08"),
        (nb.CategoricalNB(), np.repeat([[0], [1]], 30, 0), HALVES, "concentration 1e-08"),
        (nb.GaussianNB(), SIX, HALVES, "(?s)count 1e.08.*shape 1e.08|shape 1e.08.*count 1e.08"),
        (nb.PoissonNB(), SIX, HALVES, "shape 1e.08"),
        (nb.CategoricalNB(), np.array([[0], [1], [1], [1], [1]]), [0, 0, 0, 1, 1], "1e.08"),
    ],
    ids=["even levels", "one level each", "equal numbers", "equal rates", "a tie"],
)
def test_a_prior_that_is_better_the_further_it_goes_is_left_at_the_end_and_told(
    model: Any, x: np.ndarray, y: Any, words: str
) -> None:
    table = pd.DataFrame(x, columns=["only one"])
    with pytest.warns(BoundaryWarning, match="column 'only one'") as told:
        tuned = tune(model, table, y)
    (warned,) = told
    assert warned.filename == __file__
    with pytest.warns(BoundaryWarning, match=words):
        warnings.warn_explicit(warned.message, None, "", 0)
    assert np.isfinite(clone(tuned).fit(table, y).predict_proba(table)).all()


def test_counts_just_more_spread_than_chance_have_a_concentration_and_just_less_have_none() -> None:
    """Of one class the border is K sum n (n - 1) = N (N - 1)."""
    y = np.zeros(30, int)
    more, less = (np.repeat(np.arange(3), n)[:, None] for n in ((6, 12, 12), (7, 11, 12)))
    assert 1 < tune(nb.CategoricalNB(), more, y).alpha < 1e6
    with pytest.warns(BoundaryWarning):
        tune(nb.CategoricalNB(), less, y)


def test_what_says_nothing_keeps_its_prior() -> None:
    for levels in (2, 14):
        once = tune(nb.CategoricalNB(min_categories=levels), [[0, 1, 0]], [0])
        assert once.alpha == 1.0  # each column was seen once
    five = nb.CategoricalNB(classes=[0, 1, 2, 3, 4])  # the last has no row
    assert tune(five, LEVELS, Y, per="class").alpha[4, 0] == 1
    constant = np.column_stack([REALS[:, 0], np.full(ROWS, 7.0)])
    both, alone = (tune(nb.GaussianNB(), x, Y).prior for x in (constant, REALS[:, :1]))
    assert np.ravel(both.count)[0] == pytest.approx(np.ravel(alone.count)[0], rel=1e-6)
    silent = np.column_stack([COUNTS[:, 0], np.zeros(ROWS)])
    prior = tune(nb.PoissonNB(), silent, Y, per="feature").prior
    assert prior.shape[1] == prior.rate[1] == 1


@pytest.mark.parametrize("shared", [False, True])
def test_rows_that_are_all_equal_leave_the_weak_prior(shared: bool) -> None:
    x = np.repeat(np.arange(8.0).reshape(4, 2) ** 2, 5, axis=0)
    y = np.repeat(np.arange(4), 5)
    plain = tune(nb.GaussianNB(shared=shared), x, y, force=True).prior
    assert_allclose(plain.scale, x.var(axis=0))
    block = tune(NaiveBayes({(0, 1): MultivariateGaussian(shared=shared)}), x, y, force=True)
    (family,) = block.families.values()
    assert (float(family.prior.count), float(family.prior.dof)) == (0.01, 3.0)


def test_a_class_in_which_a_column_is_constant_has_no_part_in_the_evidence() -> None:
    x = REALS.copy()
    x[Y == 0] = [1.0, 2.0, 3.0, 4.0, 0.1]
    tuned = tune(nb.GaussianNB(), x, Y, force=True).prior
    others = x[Y > 0], Y[Y > 0]
    best = evidence(nb.GaussianNB(prior=tuned), *others)
    for prior in neighbours(tuned):
        assert best >= evidence(nb.GaussianNB(prior=prior), *others) - 1e-8


# Leave-one-out


def dependent(rows: int, copies: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns that repeat each other, with which naive Bayes is too sure."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, rows)
    two = rng.random((rows, 2)) < expit(2 * y[:, None] - 1)
    return np.repeat(two.astype(int), copies, axis=1), y


@pytest.mark.parametrize("estimate", ["predictive", "map"])
def test_the_smoothing_tuned_by_leave_one_out_beats_a_grid(estimate: str) -> None:
    x, y = dependent(60, 4)
    model = nb.CategoricalNB(estimate=estimate)
    tuned = tune(model, x, y, "loo")
    best = clone(tuned).fit(x, y).loo(x, y).elpd
    for alpha in np.logspace(-3, 4, 15) + (estimate == "map"):
        other = clone(model).set_params(alpha=alpha).fit(x, y)
        assert best >= other.loo(x, y).elpd - 1e-6
    assert tuned.alpha > 5 > tune(model, x, y).alpha  # the evidence thinks that all are news


def test_a_smoothing_without_an_end_is_told() -> None:
    same = np.zeros((40, 1), int)
    y = np.repeat([0, 1], 20)
    with pytest.warns(BoundaryWarning, match="smoothing 1e-08"):
        assert tune(nb.CategoricalNB(min_categories=3), same, y, "loo").alpha == 1e-8
    x = np.tile(np.arange(4), 10)[:, None]
    with pytest.warns(BoundaryWarning, match="hardly distinguish the classes"):
        tune(nb.CategoricalNB(), x, y, "loo")


# What tune gives back

TABLE = pd.DataFrame(
    {
        "level": np.array(list("vwxyz"))[LEVELS[:, 0]],
        "size": REALS[:, 0],
        "dropped": 0.0,
        "flag": PRESETS["bernoulli"][1][:, 0] == 1,
        "events": COUNTS[:, 0],
        "one": PRESETS["multinomial"][1][:, 0],
        "two": PRESETS["multinomial"][1][:, 1],
    }
)
MIXED = NaiveBayes(
    {
        "level": Categorical(),
        "size": Gaussian(),
        "dropped": None,
        "events": Poisson(),
        ("one", "two"): Multinomial(),
    },
    class_prior="uniform",
    temper=0.7,
)


@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning", "ignore::bayesnb.RefusedWarning")
@pytest.mark.parametrize("per", ["model", pytest.param("feature", marks=pytest.mark.slow)])
def test_of_any_columns_tuned_priors_are_said_as_families_and_tuned_again_are_the_same(
    per: str,
) -> None:
    once = tune(MIXED, TABLE, Y, per=per, force=True)
    assert (once.class_prior, once.temper) == ("uniform", 0.7)
    assert MIXED.families["events"].prior is None
    fitted = clone(once).fit(TABLE, Y)
    assert [type(fitted.families_[name]) for name in ("events", "one")] == [Poisson, Multinomial]
    assert fitted.log_evidence_ > evidence(MIXED, TABLE)
    twice = tune(once, TABLE, Y, per=per, force=True)
    assert evidence(twice, TABLE) == pytest.approx(fitted.log_evidence_, rel=1e-10)


def log_loss(model: Any, x: Any, y: Any) -> float:
    own = np.searchsorted(model.classes_, y)
    return float(-model.predict_log_proba(x)[np.arange(len(y)), own].mean())


def split(x: np.ndarray, y: np.ndarray, rows: int) -> tuple[np.ndarray, ...]:
    """So many rows of each class, and all others."""
    order = np.random.default_rng(rows).permutation(len(y))
    place = pd.Series(y[order]).groupby(y[order]).cumcount().to_numpy()
    keep = order[place < rows]
    rest = order[place >= rows]
    return x[keep], y[keep], x[rest], y[rest]


@pytest.mark.parametrize("rows", [5, 20, 90])
@pytest.mark.filterwarnings("ignore::bayesnb.BoundaryWarning", "ignore::bayesnb.RefusedWarning")
def test_tuned_digits_are_predicted_no_worse(rows: int) -> None:
    a, label, b, other = split(*load_digits(return_X_y=True), rows)
    before = log_loss(nb.GaussianNB().fit(a, label), b, other)
    assert log_loss(tune(nb.GaussianNB(), a, label).fit(a, label), b, other) < before + 0.1
    forced = tune(nb.GaussianNB(), a, label, force=True).fit(a, label)
    assert log_loss(forced, b, other) < 2 * before  # and not ten times, as if no pixel varied


def test_priors_that_predict_labels_worse_are_refused_unless_forced() -> None:
    a, label, _, _ = split(*load_digits(return_X_y=True), 20)
    model = nb.CategoricalNB(temper=0.9)
    with pytest.warns(RefusedWarning, match="predict the labels worse .* force=True") as told:
        refused = tune(model, a, label)
    assert [one.filename for one in told] == [__file__]
    assert "Use criterion='loo' for the priors that predict labels best, or" in str(told[0].message)
    assert refused.get_params() == model.get_params()
    forced = tune(model, a, label, force=True)
    pd.testing.assert_frame_equal(forced.tuning, refused.tuning)
    before, after = (clone(tuned).fit(a, label).loo(a, label) for tuned in (model, forced))
    assert_allclose(forced.tuning.elpd_loo[["before", "after"]], [before.elpd, after.elpd])
    assert_allclose(forced.tuning.se[["before", "after"]], [before.se, after.se])
    gap = (after.elpd_i - before.elpd_i).values
    assert forced.tuning.elpd_diff["after"] == pytest.approx(gap.sum(), rel=1e-9)
    diff_se = gap.std(ddof=1) * np.sqrt(len(gap))
    assert forced.tuning.diff_se["after"] == pytest.approx(diff_se, rel=1e-9)


def test_a_mode_that_makes_rows_impossible_is_refused() -> None:
    """The best concentration of rare levels is below 1, where the mode has none of them."""
    rng = np.random.default_rng(0)
    x = rng.choice(12, (60, 2), p=np.r_[0.7, np.full(11, 0.3 / 11)])
    with pytest.warns(RefusedWarning, match="-inf with them"):
        assert tune(nb.CategoricalNB(alpha=2.0, estimate="map"), x, np.arange(60) % 2).alpha == 2.0


LAST = np.append(np.zeros(ROWS - 1, int), 1)


@pytest.mark.parametrize(
    ("model", "y", "how", "words"),
    [
        (nb.CategoricalNB(), Y, {"criterion": "aic"}, "criterion must be one of evidence, loo"),
        (nb.CategoricalNB(), Y, {"per": "row"}, "per must be one of model, feature, class"),
        (nb.CategoricalNB(), Y, {"criterion": "loo", "per": "class"}, "depends on all columns"),
        (nb.CategoricalNB(estimate="mle"), Y, {"criterion": "loo"}, "there is no prior"),
        (nb.CategoricalNB(estimate="map"), LAST, {"criterion": "loo"}, "only row of a class"),
        (object(), Y, {}, "NaiveBayes"),
    ],
)
def test_what_cannot_be_tuned_is_refused(model: Any, y: Any, how: dict, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        tune(model, LEVELS, y, **how)
