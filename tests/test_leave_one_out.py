"""`loo`, `kfold` and `compare`: what they give to users and to ArviZ. Their numbers by row are in test_evaluate.py."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import arviz_stats as az
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    CategoricalNB,
    Gaussian,
    GaussianNB,
    Multinomial,
    MultinomialNB,
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
Y = np.array(["a", "b", "c"])[np.arange(36) % 3]
X = RNG.normal(size=(36, 3)) + (np.arange(36) % 3)[:, None] / 2
PRIOR = NormalInverseGamma(0.0, 0.5, 1.0, 1.0)
WEIGHT = RNG.uniform(0.2, 3.0, 36)


def refits(model: Any, x: Any, y: Any, folds: Any, target: str, weight: Any = None) -> np.ndarray:
    """The score of every row by an estimator that was fitted without its fold."""
    score, weight = np.empty(len(y)), np.ones(len(y)) if weight is None else weight
    for fold in np.unique(folds):
        held = folds == fold
        fitted = model.fit(x[~held], y[~held], weight[~held])
        joint = fitted.predict_joint_log_proba(x[held])
        joint = joint - (np.logaddexp.reduce(joint, axis=1)[:, None] if target == "label" else 0)
        score[held] = joint[np.arange(held.sum()), np.searchsorted(fitted.classes_, y[held])]
    return score


@pytest.mark.parametrize("target", ["label", "joint"])
@pytest.mark.parametrize("estimate", ["predictive", "mean", "map", "mle"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unit", "weighted"])
def test_loo_is_a_refit_without_each_row(target: str, estimate: str, weight: Any) -> None:
    model = GaussianNB(prior=PRIOR, estimate=estimate, class_prior="empirical")
    expected = refits(model, X, Y, np.arange(36), target, weight)
    found = model.fit(X, Y, weight).loo(X, Y, target, sample_weight=weight)
    np.testing.assert_allclose(found.elpd_i, expected, rtol=1e-9, atol=1e-11)
    share = np.ones(36) if weight is None else weight / weight.mean()
    assert found.elpd == pytest.approx(share @ expected, rel=1e-9)
    fitted = model.predict_joint_log_proba(X)
    fitted = fitted - (np.logaddexp.reduce(fitted, axis=1)[:, None] if target == "label" else 0)
    own = fitted[np.arange(36), np.arange(36) % 3]
    assert found.p == pytest.approx(share @ (own - expected), rel=1e-7)


def test_loos_standard_error_is_that_of_a_sum_of_independent_rows() -> None:
    found = GaussianNB(prior=PRIOR).fit(X, Y).loo(X, Y)
    assert found.se == pytest.approx(np.sqrt(36 * np.var(found.elpd_i.values, ddof=1)), rel=1e-12)


def test_the_joint_score_takes_no_temper_and_the_labels_score_does() -> None:
    plain, tempered = GaussianNB(prior=PRIOR).fit(X, Y), GaussianNB(prior=PRIOR, temper=0.3).fit(X, Y)
    assert plain.loo(X, Y, "joint").elpd == tempered.loo(X, Y, "joint").elpd
    expected = refits(GaussianNB(prior=PRIOR, temper=0.3), X, Y, np.arange(36), "label")
    np.testing.assert_allclose(tempered.loo(X, Y).elpd_i, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("target", ["label", "joint"])
@pytest.mark.parametrize("estimate", ["predictive", "mean", "mle"])
def test_kfold_is_a_refit_without_each_fold(target: str, estimate: str) -> None:
    folds = np.array(["x", "y", "z", "u"])[RNG.integers(0, 4, 36)]
    model = GaussianNB(prior=PRIOR, estimate=estimate, class_prior="empirical")
    expected = refits(model, X, Y, folds, target)
    found = model.fit(X, Y).kfold(X, Y, folds, target)
    np.testing.assert_allclose(found.elpd_i, expected, rtol=1e-10, atol=1e-12)
    assert found.n_folds == 4


@pytest.mark.slow
def test_as_many_folds_as_rows_are_leave_one_out() -> None:
    table = penguins().drop(columns="year")
    x, y = table.drop(columns="species"), table["species"]
    model = NaiveBayes().fit(x, y)
    left = model.loo(x, y, exponents="kept").elpd_i  # as folds keep them
    np.testing.assert_allclose(model.kfold(x, y, np.arange(len(y))).elpd_i, left, rtol=1e-8, atol=1e-10)


def test_folds_are_dealt_out_evenly_within_every_class() -> None:
    model = GaussianNB(prior=PRIOR).fit(X, Y)
    assert model.kfold(X, Y, 4).n_folds == 4
    assert model.kfold(X, Y, 4).elpd == model.kfold(X, Y, 4).elpd
    assert model.kfold(X, Y, 4, rng=1).elpd != model.kfold(X, Y, 4, rng=2).elpd
    with pytest.raises(ValueError, match="at most the number of rows, 36"):
        model.kfold(X, Y, 37)
    with pytest.raises(ValueError, match="one fold for each of 36 rows"):
        model.kfold(X, Y, [1, 2])


@pytest.mark.parametrize(
    ("folds", "words"),
    [
        (np.where(np.arange(36) < 2, np.nan, np.arange(36) % 2), "2 rows have none .first row 0"),
        (pd.Series([*"ab" * 17, "a", pd.NA]), "1 rows have none .first row 35"),
        ([None, *"ab" * 17, "a"], "1 rows have none .first row 0"),
        (np.zeros(36), "all rows are in 0.0"),
        (2.5, "got 2.5"),
        (True, "got True"),
    ],
)
def test_every_row_has_one_of_several_folds(folds: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        GaussianNB(prior=PRIOR).fit(X, Y).kfold(X, Y, folds)


def test_folds_may_have_names_of_several_types() -> None:
    model, names = GaussianNB(prior=PRIOR).fit(X, Y), np.array(["x", 1, 2.5], object)
    assert model.kfold(X, Y, names[np.arange(36) // 12]).elpd == model.kfold(X, Y, np.arange(36) // 12).elpd


def test_a_score_has_the_frames_index_and_says_that_it_is_exact() -> None:
    table = pd.DataFrame(X, index=[f"row {i}" for i in range(36)])
    found = GaussianNB(prior=PRIOR).fit(table, Y).loo(table, Y)
    assert found.elpd_i.obs_id.values[5] == "row 5"
    assert found.pareto_k is None
    assert found.n_data_points == 36
    assert isinstance(found, az.ELPDData)
    assert str(found).startswith("Exact leave-one-out over 36 rows")


def test_some_of_the_learnt_rows_can_be_left_out_of_all() -> None:
    model = GaussianNB(prior=PRIOR).fit(X, Y)
    np.testing.assert_array_equal(model.loo(X[:7], Y[:7]).elpd_i, model.loo(X, Y).elpd_i[:7])
    with pytest.raises(ValueError, match="needs all rows"):
        model.kfold(X[:12], Y[:12], 3)


def test_a_row_that_carries_its_class_is_not_left_out_of_rows_that_are_not_there() -> None:
    x = X.copy()
    x[4, 0] = 1e5
    model = GaussianNB(prior=PRIOR).fit(x, Y)
    other = Y[4] != Y
    np.testing.assert_array_equal(model.loo(x[other], Y[other]).elpd_i, model.loo(x, Y).elpd_i[other])
    of_class = np.flatnonzero(~other)
    np.testing.assert_allclose(model.loo(x[of_class], Y[of_class]).elpd_i, model.loo(x, Y).elpd_i[of_class], rtol=1e-12)
    with pytest.raises(ValueError, match=r"row 4 cannot be taken back .* give all rows that were learnt"):
        model.loo(x[:10], Y[:10])


@pytest.mark.parametrize("odd", ["cell", "label", "weight", "more"])
def test_rows_that_were_never_learnt_are_refused(odd: str) -> None:
    model = GaussianNB(prior=PRIOR).fit(X, Y)
    x, y = X.copy(), Y.copy()
    if odd == "cell":
        x[4, 1] += 1e-3
    if odd == "label":
        y[4] = "a"
    if odd == "more":
        x, y = np.concatenate([x, x[:1]]), np.concatenate([y, y[:1]])
    with pytest.raises(ValueError, match="not among those that the model has learnt"):
        model.loo(x, y, sample_weight=WEIGHT if odd == "weight" else None)


def penguin_halves() -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Two disjoint parts of a table, of equally many rows of each class."""
    table = penguins()
    X, y = table.drop(columns=["species", "year"]), table["species"]
    place = y.groupby(y).cumcount()
    even, size = place % 2, y.map(y.value_counts()) // 2 * 2
    return tuple((X[(even == k) & (place < size)], y[(even == k) & (place < size)]) for k in (0, 1))  # type: ignore


CRITICISMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "loo": lambda model, X, y: model.loo(X, y),
    "kfold": lambda model, X, y: model.kfold(X, y, 3),
    "calibration": calibration,
    "compare": lambda model, X, y: compare({"a": model, "b": NaiveBayes(class_prior="uniform")}, X, y),
    "compare_smoothing": lambda model, X, y: compare_smoothing(model, X, y, smoothing=(1,)),
    "tune": tune,
    "dependence": dependence,
    "partition": partition,
}


@pytest.mark.parametrize("name", CRITICISMS)
def test_as_many_rows_that_were_never_learnt_are_refused_by_all_that_leaves_rows_out(name: str) -> None:
    (Xa, ya), (Xb, yb) = penguin_halves()
    with pytest.raises(ValueError, match="not among those that the model has learnt"):
        CRITICISMS[name](NaiveBayes().fit(Xa, ya), Xb, yb)


@pytest.mark.parametrize("name", CRITICISMS)
def test_fewer_rows_than_were_learnt_are_warned_of_or_refused(name: str) -> None:
    (Xa, ya), (Xb, yb) = penguin_halves()
    model = NaiveBayes(dependence=None).fit(Xa, ya)  # pairs of levels would show that some were never learnt
    if name in ("kfold", "tune", "compare_smoothing"):
        with pytest.raises(ValueError, match=f"{name} needs all rows"):
            CRITICISMS[name](model, Xa[:100], ya[:100])
        return
    for X, y in ((Xa[5:100], ya[5:100]), (Xb[5::9], yb[5::9])):
        with pytest.warns(UnverifiedWarning, match=rf"given are {len(y)} of the {len(ya)} rows") as told:
            CRITICISMS[name](model, X, y)
        assert sum(one.category is UnverifiedWarning for one in told) == 1
        assert {one.filename for one in told if one.category is UnverifiedWarning} == {__file__}


def test_all_rows_of_a_class_need_no_warning_unless_classes_share_parameters() -> None:
    (X, y), _ = penguin_halves()
    some, order = y == "Adelie", np.random.default_rng(0).permutation(len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnverifiedWarning)
        NaiveBayes().fit(X, y).loo(X[some], y[some])
        NaiveBayes().fit(X, y).loo(X.iloc[order], y.iloc[order])
        NaiveBayes().fit(X, y, np.full(len(y), 0.1)).loo(X, y, sample_weight=np.full(len(y), 0.1))
    numbers = X[["bill_length_mm", "flipper_length_mm"]]
    with pytest.warns(UnverifiedWarning):
        GaussianNB(shared=True).fit(numbers, y).loo(numbers[some], y[some])


def test_counts_and_levels_that_were_never_learnt_are_refused() -> None:
    levels, counts = RNG.integers(0, 3, (36, 2)), RNG.poisson(2.0, (36, 4))
    for model, x in ((CategoricalNB(), levels), (MultinomialNB(), counts)):
        model.fit(x, Y)
        changed = x.copy()
        changed[0, 0] = 2 - changed[0, 0] if changed[0, 0] != 1 else 0
        assert np.isfinite(model.loo(x, Y).elpd)
        with pytest.raises(ValueError, match="not among those that the model has learnt"):
            model.loo(changed, Y)


def test_a_row_without_which_its_class_has_no_distribution_is_nan_and_told() -> None:
    x, y = [[1.0], [2.0], [3.0], [3.5], [7.0]], ["a", "a", "b", "b", "b"]
    flat = GaussianNB(prior=NormalInverseGamma(0.0, 0.0, -0.5, 0.0)).fit(x, y)
    with pytest.warns(UndefinedWarning, match="2 rows, first row 0, cannot be held out"):
        found = flat.loo(x, y)
    assert np.isnan(found.elpd_i[:2]).all()
    assert np.isfinite(found.elpd_i[2:]).all()
    assert np.isnan(found.elpd)
    with pytest.raises(ValueError, match="model 'flat': 2 rows have no finite score"), pytest.warns(UndefinedWarning):
        compare({"flat": flat, "weak": GaussianNB()}, x, y)


def test_a_level_that_its_class_has_nowhere_else_is_minus_infinity_without_smoothing() -> None:
    x, y = np.array([[0], [0], [1], [0], [1], [1]]), np.array([0, 0, 0, 1, 1, 1])
    found = CategoricalNB(alpha=0.0).fit(x, y).loo(x, y)
    np.testing.assert_array_equal(np.isneginf(found.elpd_i), [False, False, True, True, False, False])
    assert np.isneginf(found.elpd)
    with pytest.raises(ValueError, match=r"model 'none': 2 rows .* without row 2, the other rows leave probability 0"):
        compare({"none": CategoricalNB(alpha=0.0), "one": CategoricalNB()}, x, y)


def test_nothing_stays_of_what_only_one_row_has_whatever_it_weighs() -> None:
    """The sum of the other weights is 0, and no rounding of theirs: without smoothing the rows are impossible."""
    flags = np.array([[1, 0], [1, 1], [np.nan, 1], [1, 1], [0, 0], [0, 1], [0, 0], [1, 0]])
    counts = np.array([[3, 1, 0], [1, 3, 0], [1, 1, 5], [2, 1, 0], [1, 0, 3], [1, 2, 0], [1, 1, 0], [2, 1, 0]], float)
    y = np.repeat([0, 1], 4)
    for seed in range(8):
        weight = np.random.default_rng(seed).uniform(0.1, 2.0, 8)
        coins = NaiveBayes(Bernoulli(0.0)).fit(flags, y, weight)
        assert np.isneginf(coins.predict_joint_log_proba([[0.0, 1.0]])[0, 0])
        found = coins.loo(flags, y, sample_weight=weight).elpd_i
        np.testing.assert_array_equal(np.flatnonzero(np.isneginf(found)), [0, 5, 7])
        for estimate in ("predictive", "mle"):
            words = NaiveBayes(Multinomial(0.0), estimate=estimate).fit(counts, y, weight)
            found = words.loo(counts, y, sample_weight=weight).elpd_i
            np.testing.assert_array_equal(np.flatnonzero(np.isneginf(found)), [2, 4])
        rates = NaiveBayes(Poisson(), estimate="mle").fit(counts, y, weight)
        found = rates.loo(counts, y, sample_weight=weight).elpd_i
        np.testing.assert_array_equal(np.flatnonzero(np.isneginf(found)), [2, 4])


@pytest.mark.parametrize("strength", [1e10, 1e160, 1e300])
def test_a_prior_of_any_strength_leaves_the_score_to_the_labels(strength: float) -> None:
    """All classes are Normal(0, 1) then, and a row is worth what its label's share among the others is."""
    prior = NormalInverseGamma(0.0, strength, strength, strength)
    found = GaussianNB(prior=prior).fit(X, Y, WEIGHT)
    gone = np.array([WEIGHT[label == Y].sum() for label in Y]) - WEIGHT
    expected = np.log((1 + gone) / (3 + WEIGHT.sum() - WEIGHT))
    np.testing.assert_allclose(found.loo(X, Y, sample_weight=WEIGHT).elpd_i, expected, atol=300 / strength + 1e-12)


def test_models_are_compared_as_arviz_compares_them() -> None:
    models = {"flat": GaussianNB(), "informed": GaussianNB(prior=PRIOR), "mean": GaussianNB(estimate="mean")}
    table = compare(models, X, Y)
    own = {name: model.fit(X, Y).loo(X, Y) for name, model in models.items()}
    expected = az.compare(own, round_to="none")
    columns = ["rank", "elpd_diff", "dse", "p", "elpd", "se", "weight"]
    pd.testing.assert_frame_equal(table[columns], expected[columns], rtol=1e-4, atol=1e-5)
    for method in ("pseudo-BMA", "BB-pseudo-BMA"):
        expected = az.compare(own, method=method, round_to="none")
        pd.testing.assert_frame_equal(compare(models, X, Y, method=method)[columns], expected[columns])


def test_a_comparison_can_be_plotted() -> None:
    from arviz_plots import plot_compare

    plot_compare(compare({"a": GaussianNB(), "b": GaussianNB(prior=PRIOR)}, X, Y), backend="none")


def test_weights_survive_rows_of_hopeless_density() -> None:
    counts = RNG.poisson([[300, 4, 9]] * 20 + [[4, 300, 9]] * 20).astype(float)
    counts[7] = [2, 4000, 3]  # a row that every model finds all but impossible in its class
    y = np.repeat([0, 1], 20)
    models = {"weak": NaiveBayes(Multinomial(0.3)), "strong": NaiveBayes(Multinomial(300.0))}
    score = np.stack([model.fit(counts, y).loo(counts, y, "joint").elpd_i.values for model in models.values()], axis=1)
    assert score.max(axis=1).min() < -745  # exp of it is 0
    table = compare(models, counts, y, "joint")

    def loss(first: float) -> float:
        return -np.logaddexp(score[:, 0] + np.log(first), score[:, 1] + np.log1p(-first)).sum()

    best = minimize(lambda at: loss(1 / (1 + np.exp(-at[0]))), [0.0], method="Nelder-Mead")
    assert table.loc["weak", "weight"] == pytest.approx(1 / (1 + np.exp(-best.x[0])), abs=1e-3)
    np.testing.assert_allclose(table.loc[["weak", "strong"], "elpd"], score.sum(axis=0), rtol=1e-12)


def test_estimators_that_are_not_fitted_learn_the_rows_and_stay_as_they_are() -> None:
    model = NaiveBayes(Gaussian(PRIOR))
    table = compare({"new": model, "fitted": NaiveBayes(Gaussian(PRIOR)).fit(X, Y)}, X, Y)
    assert not hasattr(model, "model_")
    assert table.loc["new", "elpd"] == table.loc["fitted", "elpd"]
    pipe, search = make_pipeline(StandardScaler(), model), GridSearchCV(model, {"temper": [None]}).fit(X, Y)
    for odd, advice in (
        ("GaussianNB", "got 'G"),
        (GaussianNB, "create an estimator"),
        (pipe, "last step"),
        (search, "best_est"),
    ):
        with pytest.raises(TypeError, match=f"(?s)model 'odd': expected an estimator of bayesnb.*{advice}"):
            compare({"b": model, "odd": odd}, X, Y)
    with pytest.raises(ValueError, match=r"must be text or a number, got .'a', 1."):
        compare({("a", 1): model, "b": model}, X, Y)
    with pytest.raises(ValueError, match="method must be None or the name"):
        compare({"a": model, "b": model}, X, Y, method=3)
    with pytest.raises(ValueError, match="at least two estimators"):
        compare({"a": model}, X, Y)


def test_a_row_of_weight_zero_is_predicted_and_does_not_count() -> None:
    weight = np.where(np.arange(36) < 5, 0.0, 1.0)
    model = GaussianNB(prior=PRIOR).fit(X, Y, weight)
    found = model.loo(X, Y, sample_weight=weight)
    np.testing.assert_allclose(found.elpd_i[:5], model.predict_log_proba(X[:5])[np.arange(5), np.arange(5) % 3])
    assert found.elpd == pytest.approx(float(found.elpd_i[5:].sum()), rel=1e-12)
    assert found.n_data_points == 31


def test_a_temper_of_the_last_rows_passes_over_one_that_carries_its_class() -> None:
    first, last = np.arange(24), np.arange(24, 36)
    x = X.copy()
    x[30, 1] = 1e6
    model = GaussianNB(prior=PRIOR, temper="loo").partial_fit(X[first], Y[first], classes=["a", "b", "c"])
    model.partial_fit(x[last], Y[last])
    rest = np.delete(last, 6)

    def score(temper: float) -> float:
        elpd = GaussianNB(prior=PRIOR, temper=temper).fit(x, Y).loo(x[rest], Y[rest]).elpd
        return elpd - (np.log(temper) / 0.5) ** 2 / 2

    best = score(model.temper_)
    assert best >= max(score(model.temper_ * 1.05), score(model.temper_ / 1.05))


def test_one_row_missing_of_very_many_is_missed() -> None:
    x, y = np.arange(600_000) % 7 < 3, np.arange(600_000) % 2
    model = BernoulliNB(binarize=None).fit(x[:, None], y)
    with pytest.raises(ValueError, match="some are missing: given are 599999 of 600000"):
        model.kfold(x[1:, None], y[1:], 2)


def test_calibration_says_of_a_row_that_carries_its_class_what_loo_says() -> None:
    x = X.copy()
    x[4, 0] = 1e5
    model = GaussianNB(prior=PRIOR).fit(x, Y)
    for judge in (model.loo, partial(calibration, model)):
        with pytest.raises(ValueError, match=r"row 4 cannot be taken back .* give all rows that were learnt"):
            judge(x[:10], Y[:10])
