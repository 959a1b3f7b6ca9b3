"""Exact leave-one-out and k-fold against refits, and models that are compared by them."""

import warnings
from typing import Any

import arviz_stats as az
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Beta,
    Categorical,
    CategoricalNB,
    Dirichlet,
    Gamma,
    Gaussian,
    GaussianNB,
    Multinomial,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    UndefinedWarning,
    UnverifiedWarning,
    calibration,
    compare,
    compare_smoothing,
    dependence,
    partition,
    tune,
)
from bayesnb.datasets import penguins

RNG = np.random.default_rng(11)
ROWS = 30
CODES = np.arange(ROWS) % 3
Y = np.array(["a", "b", "c"])[CODES]
X = RNG.normal(size=(ROWS, 3)) + CODES[:, None] / 2
COUNTS = RNG.poisson(2.0, (ROWS, 4)).astype(float)
HOLES = np.where(RNG.random((ROWS, 4)) < 0.1, np.nan, COUNTS)
PRIOR = NormalInverseGamma(0.0, 0.5, 1.0, 1.0)
WEIGHT = RNG.uniform(0.2, 3.0, ROWS)
TABLES = {
    "gaussian": (Gaussian(PRIOR), HOLES),
    "poisson": (Poisson(Gamma(0.5, 0.2)), HOLES),
    "bernoulli": (Bernoulli(Beta(0.5, 2.0), threshold=1.5), HOLES),
    "categorical": (Categorical(0.3, levels=range(12)), HOLES),
    "uneven": (Categorical(Dirichlet(np.repeat([1.5, 0.3], [9, 3])), levels=range(12)), HOLES),
    "multinomial": (Multinomial(0.7), COUNTS),
}


def refits(
    model: Any, x: Any, folds: Any, target: str = "label", weight: Any = None, y: Any = Y
) -> np.ndarray:
    """The score of every row by a model that was fitted without its fold."""
    score = np.empty(len(y))
    weight = np.ones(len(y)) if weight is None else weight
    for fold in np.unique(folds):
        held = folds == fold
        fitted = model.fit(x[~held], y[~held], weight[~held])
        joint = fitted.predict_joint_log_proba(x[held])
        if target == "label":
            with np.errstate(invalid="ignore"):  # of rows that are impossible
                joint = log_softmax(joint, axis=1)
        score[held] = joint[np.arange(held.sum()), np.searchsorted(fitted.classes_, y[held])]
    return score


# Rows that leave


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weighted"])
@pytest.mark.parametrize("estimate", ["predictive", "mean", "map", "mle"])
def test_of_every_estimate_a_row_is_left_out_as_in_a_refit(
    name: str, estimate: str, weight: Any
) -> None:
    family, x = TABLES[name]
    how = {"estimate": estimate, "class_prior": "empirical", "temper": 0.4 if weight is None else 1}
    model = NaiveBayes(family, **how)
    expected = refits(model, x, np.arange(ROWS), "label", weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedWarning)  # of maximum likelihood
        found = model.fit(x, Y, weight).loo(x, Y, sample_weight=weight)
    possible = np.isfinite(expected)
    assert_allclose(found.elpd_i[possible], expected[possible], rtol=1e-9, atol=1e-11)
    assert not np.isfinite(found.elpd_i[~possible]).any()
    if not possible.all():
        return
    share = np.ones(ROWS) if weight is None else weight / weight.mean()
    assert found.elpd == pytest.approx(share @ expected, rel=1e-9)
    fitted = model.predict_log_proba(x)[np.arange(ROWS), CODES]
    assert found.p == pytest.approx(share @ (fitted - expected), rel=1e-7)
    if weight is None:
        assert found.se == pytest.approx(np.sqrt(ROWS * np.var(expected, ddof=1)), rel=1e-9)


@pytest.mark.parametrize("size", [1e3, 1e7, 1e12])
def test_a_row_that_carries_its_classs_variance_is_left_out_to_full_precision(size: float) -> None:
    x = X.copy()
    x[4, 0], x[7, 1] = size, -size
    model = GaussianNB(prior=PRIOR, temper=0.3)
    expected = refits(model, x, np.arange(ROWS))
    assert_allclose(model.fit(x, Y).loo(x, Y).elpd_i, expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("target", ["label", "joint"])
@pytest.mark.parametrize("estimate", ["predictive", "mean", "mle"])
def test_kfold_is_a_refit_without_each_fold(target: str, estimate: str) -> None:
    folds = np.array(["x", 1, 2.5, "u"], object)[RNG.integers(0, 4, ROWS)]
    model = GaussianNB(prior=PRIOR, estimate=estimate, class_prior="empirical")
    expected = refits(model, X, np.unique(folds.astype(str), return_inverse=True)[1], target)
    found = model.fit(X, Y).kfold(X, Y, folds, target)
    assert_allclose(found.elpd_i, expected, rtol=1e-10, atol=1e-12)
    assert found.n_folds == 4


def test_the_joint_score_takes_no_exponent() -> None:
    plain, tempered = (GaussianNB(prior=PRIOR, temper=temper).fit(X, Y) for temper in (None, 0.3))
    assert plain.loo(X, Y, "joint").elpd == tempered.loo(X, Y, "joint").elpd


def test_nothing_stays_of_what_only_one_row_has_whatever_it_weighs() -> None:
    """The sum of the other weights is 0, and no rounding: without smoothing rows are impossible."""
    flags = np.array([[1, 0], [1, 1], [np.nan, 1], [1, 1], [0, 0], [0, 1], [0, 0], [1, 0]])
    counts = [
        [3, 1, 0],
        [1, 3, 0],
        [1, 1, 5],
        [2, 1, 0],
        [1, 0, 3],
        [1, 2, 0],
        [1, 1, 0],
        [2, 1, 0],
    ]
    counts = np.array(counts, float)
    y = np.repeat([0, 1], 4)
    tables = [
        (NaiveBayes(Bernoulli(0.0)), flags, [0, 5, 7]),
        (NaiveBayes(Multinomial(0.0)), counts, [2, 4]),
        (NaiveBayes(Multinomial(0.0), estimate="mle"), counts, [2, 4]),
        (NaiveBayes(Poisson(), estimate="mle"), counts, [2, 4]),
    ]
    for seed in range(8):
        weight = np.random.default_rng(seed).uniform(0.1, 2.0, 8)
        for model, x, impossible in tables:
            found = model.fit(x, y, weight).loo(x, y, sample_weight=weight).elpd_i
            assert_array_equal(np.flatnonzero(np.isneginf(found)), impossible)


@pytest.mark.parametrize("strength", [1e10, 1e160, 1e300])
def test_a_prior_of_any_strength_leaves_the_score_to_the_labels(strength: float) -> None:
    """All classes are Normal(0, 1) then, and a row is worth its label's share among the others."""
    prior = NormalInverseGamma(0.0, strength, strength, strength)
    model = GaussianNB(prior=prior).fit(X, Y, WEIGHT)
    others = np.array([WEIGHT[label == Y].sum() for label in Y]) - WEIGHT
    expected = np.log((1 + others) / (3 + WEIGHT.sum() - WEIGHT))
    found = model.loo(X, Y, sample_weight=WEIGHT).elpd_i
    assert_allclose(found, expected, atol=300 / strength + 1e-12)


def test_a_row_without_which_its_class_has_no_distribution_is_nan_and_told() -> None:
    x = [[1.0], [2.0], [3.0], [3.5], [7.0]]
    y = ["a", "a", "b", "b", "b"]
    flat = GaussianNB(prior=NormalInverseGamma(0.0, 0.0, -0.5, 0.0)).fit(x, y)
    with pytest.warns(UndefinedWarning, match="2 rows, first row 0, cannot be held out"):
        found = flat.loo(x, y)
    assert np.isnan(found.elpd_i.values).tolist() == [True, True, False, False, False]
    with pytest.raises(ValueError, match="model 'flat': 2 rows"), pytest.warns(UndefinedWarning):
        compare({"flat": flat, "weak": GaussianNB()}, x, y)


# Rows that were not learnt


def penguin_halves() -> tuple[Any, Any, Any, Any]:
    """Two disjoint parts of a table, of equally many rows of each class."""
    table = penguins().drop(columns="year")
    place = table.groupby("species").cumcount()
    size = table["species"].map(table["species"].value_counts()) // 2 * 2
    parts = []
    for half in (0, 1):
        part = table[(place % 2 == half) & (place < size)]
        parts += [part.drop(columns="species"), part["species"]]
    return tuple(parts)


CRITICISMS = {
    "loo": lambda model, x, y: model.loo(x, y),
    "kfold": lambda model, x, y: model.kfold(x, y, 3),
    "calibration": calibration,
    "compare": lambda model, x, y: compare({"a": model, "b": NaiveBayes()}, x, y),
    "compare_smoothing": lambda model, x, y: compare_smoothing(model, x, y, smoothing=(1,)),
    "tune": tune,
    "dependence": dependence,
    "partition": partition,
}


@pytest.mark.parametrize("name", CRITICISMS)
def test_what_leaves_rows_out_refuses_others_and_warns_of_some(name: str) -> None:
    xa, ya, xb, yb = penguin_halves()
    # pairs of levels would show that some were never learnt
    model = NaiveBayes(dependence=None, temper=None).fit(xa, ya)
    with pytest.raises(ValueError, match="not among those that the model was fitted to"):
        CRITICISMS[name](model, xb, yb)
    if name in ("kfold", "tune", "compare_smoothing"):
        with pytest.raises(ValueError, match=f"{name} needs all rows"):
            CRITICISMS[name](model, xa[:100], ya[:100])
        return
    with pytest.warns(UnverifiedWarning, match="and 95 were given") as told:
        CRITICISMS[name](model, xa[5:100], ya[5:100])
    places = [one.filename for one in told if one.category is UnverifiedWarning]
    assert places == [__file__]


@pytest.mark.parametrize("changed", ["cell", "label", "weight", "more", "level"])
def test_rows_that_were_never_learnt_are_refused(changed: str) -> None:
    model = GaussianNB(prior=PRIOR).fit(X, Y)
    x = X.copy()
    y = Y.copy()
    if changed == "level":
        x = COUNTS.astype(int) % 3
        model = CategoricalNB().fit(x, Y)
    if changed in ("cell", "level"):
        x[4, 1] += 1e-3 if changed == "cell" else 1 - 2 * (x[4, 1] > 0)
    if changed == "label":
        y[4] = "a"
    if changed == "more":
        x = np.concatenate([x, x[:1]])
        y = np.concatenate([y, y[:1]])
    with pytest.raises(ValueError, match="not among those that the model was fitted to"):
        model.loo(x, y, sample_weight=WEIGHT if changed == "weight" else None)


def test_a_row_that_carries_its_class_is_not_left_out_of_rows_that_are_not_there() -> None:
    x = X.copy()
    x[4, 0] = 1e5
    model = GaussianNB(prior=PRIOR).fit(x, Y)
    whole = model.loo(x, Y).elpd_i
    for some in (Y[4] != Y, Y[4] == Y):
        assert_allclose(model.loo(x[some], Y[some]).elpd_i, whole[some], rtol=1e-12)
    for judge in (model.loo, lambda *rows: calibration(model, *rows)):
        with pytest.raises(ValueError, match=r"row 4 cannot be subtracted .* all training rows"):
            judge(x[:10], Y[:10])


def test_one_row_missing_of_very_many_is_missed() -> None:
    x = np.arange(600_000) % 7 < 3
    y = np.arange(600_000) % 2
    model = BernoulliNB(binarize=None).fit(x[:, None], y)
    with pytest.raises(ValueError, match="got 599999 of 600000"):
        model.kfold(x[1:, None], y[1:], 2)


# Models that are compared


def test_models_are_compared_as_arviz_compares_them() -> None:
    models = {
        "flat": GaussianNB(),
        "informed": GaussianNB(prior=PRIOR),
        "mean": GaussianNB(estimate="mean"),
    }
    table = compare(models, X, Y)
    assert not hasattr(models["flat"], "model_")
    scores = {name: model.fit(X, Y).loo(X, Y) for name, model in models.items()}
    assert all(isinstance(score, az.ELPDData) for score in scores.values())
    columns = ["rank", "elpd_diff", "dse", "p", "elpd", "se", "weight"]
    expected = az.compare(scores, round_to="none")[columns]
    pd.testing.assert_frame_equal(table[columns], expected, rtol=1e-4, atol=1e-5)
    for method in ("pseudo-BMA", "BB-pseudo-BMA"):
        expected = az.compare(scores, method=method, round_to="none")[columns]
        pd.testing.assert_frame_equal(compare(models, X, Y, method=method)[columns], expected)


def test_weights_of_models_survive_rows_of_hopeless_density() -> None:
    counts = RNG.poisson([[300, 4, 9]] * 20 + [[4, 300, 9]] * 20).astype(float)
    counts[7] = [2, 4000, 3]  # a row that every model finds all but impossible in its class
    y = np.repeat([0, 1], 20)
    models = {"weak": NaiveBayes(Multinomial(0.3)), "strong": NaiveBayes(Multinomial(300.0))}
    scores = [
        model.fit(counts, y).loo(counts, y, "joint").elpd_i.values for model in models.values()
    ]
    weak, strong = scores
    assert np.maximum(weak, strong).min() < -745  # exp of it is 0
    table = compare(models, counts, y, "joint")

    def loss(at: np.ndarray) -> float:
        share = expit(at[0])
        return -np.logaddexp(weak + np.log(share), strong + np.log1p(-share)).sum()

    best = minimize(loss, [0.0], method="Nelder-Mead").x[0]
    assert table.loc["weak", "weight"] == pytest.approx(expit(best), abs=1e-3)


PIPELINE = make_pipeline(StandardScaler(), GaussianNB())
SEARCH = GridSearchCV(GaussianNB(), {"temper": [None]}).fit(X, Y)


def both(other: Any) -> Any:
    return compare({"b": GaussianNB(), "odd": other}, X, Y)


def folded(folds: Any) -> Any:
    return GaussianNB(prior=PRIOR).fit(X, Y).kfold(X, Y, folds)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: both("GaussianNB"), "(?s)model 'odd': expected an estimator of bayesnb.*got 'G"),
        (lambda: both(GaussianNB), "expected an estimator"),
        (lambda: both(PIPELINE), "last step"),
        (lambda: both(SEARCH), "best_est"),
        (lambda: compare({("a", 1): SEARCH}, X, Y), "at least two|text or a number"),
        (lambda: folded(ROWS + 1), "from 2 to the number of rows, 30"),
        (lambda: folded([1, 2]), "one fold for each of 30 rows"),
        (lambda: folded(pd.Series([*"ab" * 14, "a", pd.NA])), "1 rows have no fold .first row 29"),
        (lambda: folded(np.where(np.arange(ROWS) < 2, np.nan, 1.0)), "2 rows have no fold"),
        (lambda: folded(np.zeros(ROWS)), "all rows are in 0.0"),
        (lambda: folded(True), "got True"),
        (lambda: GaussianNB().fit(X, Y).loo(X, Y, exponents="gone"), "'left' or 'kept'"),
    ],
)
def test_what_cannot_be_compared_or_folded_is_refused(call: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        call()


def test_a_model_that_finds_a_row_impossible_is_not_compared() -> None:
    x = np.array([[0], [0], [1], [0], [1], [1]])
    y = np.array([0, 0, 0, 1, 1, 1])
    found = CategoricalNB(alpha=0.0).fit(x, y).loo(x, y)
    assert np.flatnonzero(np.isneginf(found.elpd_i)).tolist() == [2, 3]
    with pytest.raises(ValueError, match=r"model 'none': 2 rows .* all rows but row 2"):
        compare({"none": CategoricalNB(alpha=0.0), "one": CategoricalNB()}, x, y)
