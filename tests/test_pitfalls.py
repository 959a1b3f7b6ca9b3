"""What other naive Bayes libraries got wrong, one test for each row of the list of pitfalls, with
its id.

Those that a law of test_contract.py or test_laws.py covers for every family are there: batches and
merges (B03), rows without cells (B24), arguments that stay (B26), predictives by SciPy (B40), rows
that are forgotten.

Then the statements about naive Bayes that come with numbers. Expected values are SciPy's or a
formula's.
"""

import hashlib
import math
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import expit
from sklearn.base import clone

import bayesnb as nb
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
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    PoissonNB,
    UnseenLevelWarning,
    load,
)

Array = np.ndarray
PRESETS = (BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB)
REFERENCE = NormalInverseGamma(mean=0, count=0, shape=-1 / 2, scale=0)
TWO_SMALL_CLASSES = ([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], [0, 0, 0, 1, 1, 1])


def arrays(model: Any) -> list[Array]:
    """Copies of every array of what the data said."""
    parts = (model.stats_.classes, *model.stats_.blocks)
    return [
        np.array(value)
        for part in parts
        for value in vars(part).values()
        if isinstance(value, np.ndarray)
    ]


def student_t(mean: Any, count: Any, shape: Any, scale: Any) -> Any:
    """The predictive of a normal-inverse-gamma belief: SciPy's scale is a standard deviation, not a
    variance.
    """
    return stats.t(2 * shape, mean, np.sqrt(scale * (1 + 1 / count) / shape))


def log_rising(start: float, steps: int) -> float:
    """log of start (start + 1) ... : what two log gammas cannot say of a large start."""
    return math.fsum(math.log(start + step) for step in range(steps))


def test_B01_an_unknown_label_in_partial_fit_raises_and_changes_nothing() -> None:
    for classes in ([0, 1], [0, 1, 3]):
        model = MultinomialNB().partial_fit([[1, 0], [0, 1]], [0, 1], classes=classes)
        before = arrays(model)
        with pytest.raises(ValueError, match=r"labels \[2\]"):
            model.partial_fit([[1, 1]], [2])
        for was, now in zip(before, arrays(model), strict=True):
            assert_array_equal(now, was)
        assert_array_equal(model.stats_.classes.counts[:2], [1, 1])


def test_B02_every_feature_of_BernoulliNB_has_its_own_alpha() -> None:
    model = BernoulliNB(alpha=[1, 10]).fit([[1, 0], [1, 1], [0, 1]], [0, 0, 1])
    assert_allclose(model.posterior_[0].mean(), [(2 + 1) / (2 + 2), (0 + 1) / (1 + 2)])
    assert_allclose(model.posterior_[1].mean(), [(1 + 10) / (2 + 20), (1 + 10) / (1 + 20)])
    joint = np.array([3 / 5 * 3 / 4 * 11 / 22, 2 / 5 * 1 / 3 * 10 / 21])
    assert_allclose(model.predict_proba([[1, 0]])[0], joint / joint.sum(), rtol=1e-14)


def test_B04_a_later_batch_of_smaller_codes_forgets_no_level() -> None:
    model = (
        CategoricalNB()
        .partial_fit([[4], [0]], [0, 1], classes=[0, 1])
        .partial_fit([[1], [0]], [0, 1])
    )
    assert_array_equal(model.posterior_[0].concentration, [[1, 2, 1, 1, 2], [3, 1, 1, 1, 1]])


def test_B05_codes_are_never_truncated_to_integers() -> None:
    with pytest.raises(ValueError, match=r"column 0 .*-0\.5"):
        CategoricalNB().fit([[0.9], [1.7], [-0.5]], [0, 1, 0])
    with pytest.raises(ValueError, match=r"column 0 .*1\.7"):
        CategoricalNB().fit([[0.0], [1.7], [1.0]], [0, 1, 0])
    with pytest.raises(ValueError, match=r"column 0 .*-2"):
        CategoricalNB().fit([[0], [-2], [1]], [0, 1, 0])


def test_B06_a_row_of_weight_zero_adds_no_level() -> None:
    model = CategoricalNB().fit([[0], [0], [0], [1], [2]], [0, 0, 0, 1, 1], [1, 1, 1, 1, 0])
    assert_allclose(
        model.predict_proba([[0]])[0], [24 / 29, 5 / 29], rtol=1e-14
    )  # 4/6 4/5 against 2/6 1/3
    assert_array_equal(model.posterior_[0].concentration, [[4, 1], [1, 2]])


def test_B07_a_row_of_weight_zero_has_no_say_in_the_prior_scale() -> None:
    x = np.array([[-1.0], [1.0], [1e6], [9.0], [11.0]])
    y = np.array([0, 0, 0, 1, 1])
    model = GaussianNB().fit(x, y, [1, 1, 0, 1, 1])
    assert_allclose(model.prior_[0].scale, np.var([-1, 1, 9, 11]))
    absent = GaussianNB().fit(x[y + x[:, 0] < 1e5], [0, 0, 1, 1])
    assert_array_equal(model.predict_joint_log_proba(x), absent.predict_joint_log_proba(x))


@pytest.mark.parametrize("preset", PRESETS)
def test_B08_a_negative_weight_is_refused_by_row(preset: Any) -> None:
    with pytest.raises(ValueError, match=r"sample_weight.* row 1: -1"):
        preset().fit([[1, 0], [0, 1], [1, 1], [0, 1]], [0, 0, 1, 1], [1, -1, 1, 1])


def test_B09_a_column_of_large_scale_does_not_drown_a_small_one() -> None:
    rng = np.random.default_rng(9)
    y = np.repeat([0, 1], 100)
    x = np.column_stack([1e-4 * rng.normal(size=200) + 2e-3 * y, 1e3 * rng.normal(size=200)])
    model = GaussianNB().fit(x, y)
    assert model.score(x, y) == 1.0
    moved = x * [1e4, -1e-3] + [3, -7]
    assert_allclose(
        GaussianNB().fit(moved, y).predict_log_proba(moved),
        model.predict_log_proba(x),
        rtol=1e-9,
        atol=1e-9,
    )


def test_B10_a_constant_column_changes_no_odds() -> None:
    x = np.array([[0.0, 5], [1, 5], [9, 5], [10, 5]])
    y = [0, 0, 1, 1]
    assert_allclose(
        GaussianNB().fit(x, y).predict_proba(x),
        GaussianNB().fit(x[:, :1], y).predict_proba(x[:, :1]),
    )


def test_B10_one_row_is_enough_to_predict() -> None:
    model = GaussianNB().partial_fit([[3.0]], [0], classes=[0, 1])
    beliefs = student_t(3.0, np.array([1.01, 0.01]), np.array([1.5, 1.0]), 1.0)
    joint = np.log([2 / 3, 1 / 3]) + beliefs.logpdf(np.array([[3.0], [5.0]]))
    assert_allclose(model.predict_joint_log_proba([[3.0], [5.0]]), joint, rtol=1e-13)


@pytest.mark.parametrize("preset", [MultinomialNB, BernoulliNB, CategoricalNB])
def test_B11_without_smoothing_an_impossible_row_is_an_error_and_others_are_certain(
    preset: Any,
) -> None:
    model = preset(alpha=0).fit([[1, 0], [0, 1]], [0, 1])
    assert_array_equal(model.predict_proba([[1, 0], [0, 1]]), [[1, 0], [0, 1]])
    with pytest.raises(ValueError, match=r"row 1.*0/0"):
        model.predict_proba([[1, 0], [1, 1]])


def test_B11_without_smoothing_no_words_say_nothing() -> None:
    assert_allclose(
        MultinomialNB(alpha=0).fit([[2, 0], [0, 2]], [0, 1]).predict_proba([[0, 0]]), [[0.5, 0.5]]
    )


def test_B12_a_million_ones_leave_an_exact_chance_for_a_zero() -> None:
    x = np.ones((1_000_001, 1), np.uint8)
    y = np.zeros(1_000_001, int)
    x[-1], y[-1] = 0, 1
    joint = BernoulliNB(alpha=1e-12).fit(x, y).predict_joint_log_proba([[0]])
    zero = [math.log(1e-12) - math.log(1e6 + 2e-12), math.log(1 + 1e-12) - math.log(1 + 2e-12)]
    assert_allclose(joint[0], np.log([1_000_001 / 1_000_003, 2 / 1_000_003]) + zero, rtol=1e-14)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("wrong", [[5, 5], [-1, 2], [math.nan, 1], [0.5, 0.3, 0.2]])
def test_B13_class_probabilities_are_checked(preset: Any, wrong: list[float]) -> None:
    with pytest.raises(ValueError, match="class_prior"):
        preset(class_prior=wrong).fit([[1, 0], [0, 1]], [0, 1])


def test_B15_a_negative_count_is_refused_at_predict_too() -> None:
    for model in (MultinomialNB(), PoissonNB()):
        with pytest.raises(ValueError, match=r"column 0: Negative.*row 1: -100"):
            model.fit([[1, 0], [0, 1]], [0, 1]).predict([[0, 1], [-100, 1]])


def test_B16_BernoulliNB_without_a_threshold_refuses_counts() -> None:
    for x in ([[1, 0], [2, 1]], [[1, 0], [0.5, 1]]):
        with pytest.raises(ValueError, match=rf"column 0: a cell is not 0 or 1.*row 1: {x[1][0]}"):
            BernoulliNB(binarize=None).fit(x, [0, 1])


def test_B17_a_declared_class_without_rows_keeps_its_mass() -> None:
    model = MultinomialNB().partial_fit([[1, 0]], [0], [0, 1])
    joint = np.array([2 / 3 * 2 / 3, 1 / 3 * 1 / 2])
    assert_allclose(model.predict_proba([[1, 0]])[0], joint / joint.sum(), rtol=1e-14)


def test_B18_an_unseen_code_is_silent_for_all_classes() -> None:
    model = CategoricalNB().fit([[0], [1], [0]], [0, 1, 1])
    with pytest.warns(UnseenLevelWarning, match=r"column 0 .*7 \(1 times\)"):
        assert_allclose(model.predict_proba([[7]]), [[2 / 5, 3 / 5]])


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("weight", [None, [0.5, 2.0]])
def test_B19_a_single_class_has_probability_one(preset: Any, weight: Any) -> None:
    model = preset().fit([[1, 0], [0, 1]], ["only", "only"], weight)
    assert_array_equal(model.predict_proba([[1, 1], [0, 0]]), [[1], [1]])
    assert model.predict([[1, 1]]).tolist() == ["only"]


def test_B20_float32_cells_are_summed_in_float64() -> None:
    x = (1e4 + np.random.default_rng(20).normal(size=(300, 2))).astype(np.float32)
    y = np.arange(300) % 2
    exact = GaussianNB().fit(x.astype(float), y).predict_log_proba(x.astype(float))
    assert_allclose(GaussianNB().fit(x, y).predict_log_proba(x), exact, rtol=1e-10)
    frame = pd.DataFrame(x, columns=["a", "b"])
    assert_allclose(GaussianNB().fit(frame, y).predict_log_proba(frame), exact, rtol=1e-10)


def test_B21_known_class_probabilities_survive_partial_fit_undivided() -> None:
    model = GaussianNB(class_prior=[0.9, 0.1], estimate="mle")
    model.partial_fit([[0.0], [2.0]], [0, 0], classes=[0, 1]).partial_fit([[4.0], [8.0]], [1, 1])
    joint = np.log([0.9, 0.1]) + stats.norm.logpdf(3.0, [1.0, 6.0], [1.0, 2.0])
    assert_allclose(
        model.predict_joint_log_proba([[3.0], [math.nan]]), [joint, np.log([0.9, 0.1])], rtol=1e-14
    )


def two_known_gaussians() -> GaussianNB:
    """A = N(0, 1) and B = N(100, 3), by maximum likelihood."""
    return GaussianNB(estimate="mle").fit([[-1], [1], [97], [103]], ["A", "A", "B", "B"])


def test_B22_densities_that_underflow_still_compare() -> None:
    model = two_known_gaussians()
    assert_allclose(model.predict_proba([[40.0]]), [[0, 1]], atol=1e-200)
    log_density = stats.norm.logpdf(40.0, [0, 100], [1, 3])
    assert_allclose(log_density, [-800.9, -202.0], atol=0.05)
    assert_allclose(
        model.predict_joint_log_proba([[40.0]])[0], math.log(0.5) + log_density, rtol=1e-14
    )


def test_B23_no_floor_saturates_the_evidence() -> None:
    odds = two_known_gaussians().predict_log_proba([[20.0]])[0]
    assert_allclose(
        odds[0] - odds[1], np.subtract(*stats.norm.logpdf(20.0, [0, 100], [1, 3])), rtol=1e-13
    )
    model = GaussianNB().fit([[0.0], [0.0], [100.0], [100.0]], ["A", "A", "B", "B"])
    mean, scale = (
        np.array([0.5, 201 - 0.5]) / 2.01,
        2500 * (1 + 0.01 * 2 / 2.01 / 2),
    )  # no spread but the prior's
    log_density = student_t(mean, 2.01, 2.0, scale).logpdf(0.0)
    assert_allclose(
        model.predict_joint_log_proba([[0.0]])[0], math.log(0.5) + log_density, rtol=1e-13
    )


@pytest.mark.parametrize(
    ("model", "copies"), [(GaussianNB(), 5000), (CategoricalNB(), 1000), (BernoulliNB(), 2000)]
)
def test_B24_B26_B31_thousands_of_features_add_up_without_underflow(
    model: Any, copies: int
) -> None:
    x = np.array([[0.0], [1], [1], [0], [1]])
    y = [0, 0, 0, 1, 1]
    log_class = np.log([4 / 7, 3 / 7])
    one = model.fit(x, y).predict_joint_log_proba(x) - log_class
    wide = clone(model).fit(np.repeat(x, copies, axis=1), y)
    joint = wide.predict_joint_log_proba(np.repeat(x, copies, axis=1))
    assert_allclose(joint, log_class + copies * one, rtol=1e-11)
    assert_allclose(wide.predict_proba(np.repeat(x, copies, axis=1)).sum(axis=1), 1, rtol=1e-12)


def test_B25_labels_that_a_dtype_declares_do_not_count_unless_asked_for() -> None:
    y = pd.Categorical(["a", "b", "b"], categories=["a", "b", "never"])
    x = [[1], [0], [0]]
    assert BernoulliNB().fit(x, y).classes_.tolist() == ["a", "b"]
    asked = BernoulliNB(classes=["a", "b", "never"]).fit(x, y)
    assert_allclose(asked.predict_proba([[math.nan]]), [[2 / 6, 3 / 6, 1 / 6]])


def test_B26_the_size_of_category_codes_means_nothing() -> None:
    x = np.array([[1, 0.5], [2, 1.5], [2, 9.0], [3, 8.0]])
    y = [0, 0, 1, 1]
    plain, large = (
        NaiveBayes({0: Categorical()}).fit(x * [by, 1], y).predict_proba(x * [by, 1])
        for by in (1, 10**6)
    )
    assert_array_equal(plain, large)


def test_B26_a_column_of_one_level_says_nothing() -> None:
    model = NaiveBayes(Categorical()).fit([["a"], ["a"], ["a"]], [0, 0, 1])
    assert_allclose(model.predict_proba([["a"]]), [[3 / 5, 2 / 5]])


def test_B27_two_tuples_of_one_family_keep_all_their_columns() -> None:
    x = np.random.default_rng(27).integers(0, 3, (30, 4))
    y = np.arange(30) % 2
    split = NaiveBayes({(0, 1): Categorical(), (2, 3): Categorical()}).fit(x, y)
    assert [type(split.families_[column]) for column in range(4)] == [Categorical] * 4
    assert_allclose(
        split.predict_log_proba(x),
        NaiveBayes(Categorical()).fit(x, y).predict_log_proba(x),
        rtol=1e-13,
    )
    with pytest.raises(ValueError, match=r"\[1\].*more than once"):
        NaiveBayes({(0, 1): Categorical(), (1, 2): Categorical()}).fit(x, y)


def test_B28_a_batch_without_some_classes_updates_the_right_one() -> None:
    model = PoissonNB(prior=Gamma(1, 1)).partial_fit(
        [[1], [2], [3]], [10, 20, 30], classes=[10, 20, 30]
    )
    model.partial_fit([[9], [5]], [30, 20], sample_weight=[2, 1])
    assert_array_equal(model.stats_.classes.counts, [1, 2, 3])
    assert_array_equal(model.posterior_[0].shape, [2, 8, 1 + 3 + 2 * 9])
    assert_array_equal(model.posterior_[0].rate, [2, 3, 4])


@pytest.mark.parametrize("offset", [1e8, 1e9])
def test_B29_shifted_rows_are_classified_as_centred_ones(offset: float) -> None:
    x = np.round(8 * np.random.default_rng(29).normal(size=(1000, 1))) / 8  # exact after the shift
    y = (x[:, 0] + np.arange(1000) % 2 > 0.5).astype(int)
    shifted = GaussianNB(estimate="mle").fit(x + offset, y)
    assert_allclose(
        shifted.stats_.blocks[0].ssd[:, 0],
        [len(x[y == c]) * x[y == c].var() for c in (0, 1)],
        rtol=1e-12,
    )
    centred = GaussianNB().fit(x, y).predict_log_proba(x)
    assert_allclose(
        GaussianNB().fit(x + offset, y).predict_log_proba(x + offset), centred, rtol=1e-6
    )


def test_B30_four_points_at_a_billion_have_their_own_spread() -> None:
    model = GaussianNB(prior=REFERENCE).fit(1e9 + np.array([[-2.0], [2.0], [-2.0], [2.0]]), [0] * 4)
    assert_array_equal(model.posterior_[0].scale, [8.0])
    assert_array_equal(model.posterior_[0].shape, [1.5])


def test_B31_labels_need_no_alphabetical_order() -> None:
    x = [[0.0], [0.5], [9.0], [9.5]]
    y = ["z", "z", "a", "a"]
    assert GaussianNB().fit(x, y).predict([[0.2], [9.2]]).tolist() == ["z", "a"]
    known = GaussianNB(class_prior=[0.75, 0.25], classes=["z", "a"]).fit(x, y)
    assert known.classes_.tolist() == ["a", "z"]
    by_name = NaiveBayes(class_prior={"z": 0.75, "a": 0.25}).fit(x, y)
    assert_allclose(by_name.predict_proba([[math.nan]]), [[0.25, 0.75]])
    dirichlet = NaiveBayes(class_prior=Dirichlet([5, 1]), classes=["z", "a"]).fit(x, y)
    assert_allclose(dirichlet.predict_proba([[math.nan]]), [[3 / 10, 7 / 10]])


def test_B32_zero_variance_is_neither_error_nor_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GaussianNB().fit([[1.0], [1.0], [4.0], [6.0]], [0, 0, 1, 1])
        far = model.predict_proba([[1.0], [5.0], [1e9]])
    mean = (np.array([2.0, 10.0]) + 0.01 * 3) / 2.01
    scale = 4.5 + (np.array([0.0, 2.0]) + 0.01 * 2 / 2.01 * 4) / 2
    density = student_t(mean, 2.01, 2.0, scale).pdf(np.array([[1.0], [5.0], [1e9]]))
    assert_allclose(far, density / density.sum(axis=1, keepdims=True), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::bayesnb.UnseenLevelWarning")
def test_B33_predicting_changes_nothing() -> None:
    model = NaiveBayes({"b": Categorical(unseen="ignore"), "c": Categorical(unseen="reserve")})
    model.fit(
        pd.DataFrame({"a": [1.0, 2, 5], "b": ["u", "v", "u"], "c": ["k", "l", "k"]}), [0, 0, 1]
    )
    new = pd.DataFrame({"a": [math.nan, 9.0], "b": ["new", "u"], "c": ["newer", None]})
    before = arrays(model)
    held = dict(vars(model))
    first = model.predict_proba(new)
    for _ in range(3):
        assert_array_equal(model.predict_proba(new), first)
    for was, now in zip(before, arrays(model), strict=True):
        assert_array_equal(now, was)
    assert {name: id(value) for name, value in vars(model).items()} == {
        name: id(held[name]) for name in held
    }


def test_B34_a_value_that_never_came_keeps_its_pseudocount() -> None:
    model = NaiveBayes(Bernoulli(Beta(1, 2))).fit([[0], [0], [0]], [0, 0, 1])
    assert_allclose(
        np.exp(model.predict_joint_log_proba([[1]]))[0], [3 / 5 * 1 / 5, 2 / 5 * 1 / 4], rtol=1e-14
    )


def test_B34_levels_that_come_in_a_later_batch_are_as_good_as_early_ones() -> None:
    x = np.array([["a"], ["b"], ["c"], ["a"], ["d"]])
    y = np.array([0, 1, 0, 1, 1])
    parts = NaiveBayes(Categorical(0.5), classes=[0, 1])
    for rows in ([0, 1], [2], [3, 4]):
        parts.partial_fit(x[rows], y[rows])
    expected = (
        np.array([3 / 7, 4 / 7])
        * np.array([[1.5, 1.5], [0.5, 1.5], [1.5, 0.5], [0.5, 1.5]])
        / [4, 5]
    )
    assert_allclose(
        np.exp(parts.predict_joint_log_proba([["a"], ["b"], ["c"], ["d"]])), expected, rtol=1e-14
    )


def test_B34_numbers_in_an_object_array_are_numbers() -> None:
    x = [[1, 2.5], [2, None], [7, 9.0]]
    y = [0, 0, 1]
    clean = np.array([[1, 2.5], [2, math.nan], [7, 9.0]])
    objects = NaiveBayes("gaussian").fit(np.array(x, object), y)
    assert {type(family) for family in objects.families_.values()} == {Gaussian}
    assert_array_equal(
        objects.predict_proba(np.array(x, object)), GaussianNB().fit(clean, y).predict_proba(clean)
    )


def test_B35_the_reference_prior_gives_n_minus_one_degrees_of_freedom() -> None:
    x = np.array([1.0, 2.5, 4.0, 9.0])
    model = GaussianNB(prior=REFERENCE).fit(x[:, None], [0] * 4)
    expected = stats.t(3, x.mean(), x.std(ddof=1) * math.sqrt(1 + 1 / 4)).logpdf([0.0, 5.0, 30.0])
    assert_allclose(
        model.predict_joint_log_proba([[0.0], [5.0], [30.0]])[:, 0], expected, rtol=1e-13
    )
    with pytest.raises(ValueError, match=r"column 0, class 1"):
        GaussianNB(prior=REFERENCE).fit([[1.0], [2.0], [3.0]], [0, 0, 1]).predict([[1.0]])


def test_B36_B37_B38_class_sizes_enter_as_a_log_probability() -> None:
    model = GaussianNB().fit(np.zeros((100, 1)), np.repeat([0, 1], [90, 10]))
    assert_array_equal(model.stats_.classes.counts, [90, 10])
    assert_allclose(
        model.predict_joint_log_proba([[math.nan]]), [np.log([91 / 102, 11 / 102])], rtol=1e-14
    )
    assert model.predict_proba([[0.0]])[0] @ [1, -1] > 0.5


def test_B39_a_missing_cell_does_not_drop_its_row() -> None:
    model = BernoulliNB().fit([[1, math.nan], [1, 0], [math.nan, 1]], [0, 0, 1])
    assert_allclose(model.posterior_[0].mean(), [3 / 4, 1 / 2])
    assert_allclose(model.posterior_[1].mean(), [1 / 3, 2 / 3])
    assert_allclose(model.class_posterior_.mean(), [3 / 5, 2 / 5])


def gaussian_nodes(
    mean: float, count: float, shape: float, scale: float, size: int = 60
) -> tuple[Array, Array, Array]:
    """Means, variances and weights of a quadrature over a normal-inverse-gamma belief."""
    nodes, weight = np.polynomial.legendre.leggauss(size)
    u = (nodes + 1) / 2
    variance = stats.invgamma.ppf(u, shape, scale=scale)[:, None]
    means = stats.norm.ppf(u, mean, np.sqrt(variance / count))
    return (
        means.ravel(),
        np.broadcast_to(variance, means.shape).ravel(),
        np.outer(weight, weight).ravel() / 4,
    )


def test_B41_the_predictive_and_the_average_over_draws_are_two_quantities() -> None:
    model = GaussianNB(prior=REFERENCE, class_prior="uniform").fit(*TWO_SMALL_CLASSES)
    (mean_a, variance_a, weight_a), (mean_b, variance_b, weight_b) = (
        gaussian_nodes(m, 3, 1, 1) for m in (1.0, 11.0)
    )
    in_a, in_b = (
        stats.norm.logpdf(5.0, *nodes)
        for nodes in ((mean_a, variance_a**0.5), (mean_b, variance_b**0.5))
    )
    total = np.array([np.exp(in_a) @ weight_a, np.exp(in_b) @ weight_b])
    predictive = total[0] / total.sum()
    averaged = weight_a @ expit(in_a[:, None] - in_b) @ weight_b
    assert_allclose([predictive, averaged], [0.749, 0.7006], atol=1.5e-3)
    assert_allclose(model.predict_proba([[5.0]])[0, 0], predictive, rtol=1e-4)

    logs = model.posterior_[0].sample(np.random.default_rng(41), 100_000).log_density(np.array(5.0))
    drawn = expit(logs[:, 0] - logs[:, 1])
    error = drawn.std() / math.sqrt(len(drawn))
    assert abs(drawn.mean() - averaged) < 4 * error
    assert predictive - drawn.mean() > 20 * error
    share = np.exp(logs).sum(axis=1) / np.exp(logs).sum()  # the row itself is evidence about theta
    error = math.sqrt(np.sum((share * (drawn - predictive)) ** 2))
    assert abs(share @ drawn - predictive) < 4 * error
    assert_allclose(
        np.round(np.quantile(drawn, [0.055, 0.945]), 2), [0.0, 1.0]
    )  # wide, and to be shown


@pytest.mark.parametrize(("tokens", "printed"), [(1, [0.2857, 0.3100]), (10, [0.0109, 0.0708])])
def test_B41_so_they_are_for_counts(tokens: int, printed: list[float]) -> None:
    model = MultinomialNB().fit([[4, 1, 1], [1, 4, 1]], [0, 1])
    row = [[tokens, 0, 0]]
    log_joint = [log_rising(a, tokens) for a in (5, 2)]
    exact = 1 / (1 + math.exp(log_joint[0] - log_joint[1]))
    assert_allclose(model.predict_proba(row)[0, 1], exact, rtol=1e-13)

    nodes, weight = np.polynomial.legendre.leggauss(80)
    word, other, label = (stats.beta.ppf((nodes + 1) / 2, *ab) for ab in ((5, 4), (2, 7), (2, 2)))
    odds = (label / (1 - label))[:, None, None] * (other[:, None] / word) ** tokens
    averaged = np.einsum("ijk,i,j,k", odds / (1 + odds), *[weight / 2] * 3)
    assert_allclose([exact, averaged], printed, atol=5e-4)
    rng = np.random.default_rng(5)
    probability = (
        model.posterior_[(0, 1, 2)].sample(rng, 100_000).probability.reshape(-1, 2, 3)[..., 0]
    )
    joint = model.class_posterior_.sample(rng, 100_000).probability * probability**tokens
    drawn = joint[:, 1] / joint.sum(axis=1)
    assert abs(drawn.mean() - averaged) < 4 * drawn.std() / math.sqrt(len(drawn))


@pytest.mark.parametrize("rows", [1e12, 1e15, 1e18])
def test_B42_large_counts_lose_no_digit(rows: float) -> None:
    model = MultinomialNB().fit([[3, 1], [1, 2]], [0, 1], [rows, rows])
    log_joint = [
        math.log(0.5) + log_rising(a * rows + 1, 5) - log_rising(b * rows + 2, 5)
        for a, b in ((3, 4), (1, 3))
    ]
    assert_allclose(model.predict_joint_log_proba([[5, 0]])[0], log_joint, rtol=1e-12)
    belief = Beta(rows, 3 * rows)
    assert_allclose(
        belief.log_moment(np.array(1.0), 5),
        log_rising(rows, 5) - log_rising(4 * rows, 5),
        rtol=1e-12,
    )


# Statements that come with numbers.


def odds(log_proba: Array) -> Array:
    """Log-odds of the second class of two."""
    return log_proba[:, 1] - log_proba[:, 0]


def test_statement_categorical_predictive_is_the_smoothed_share() -> None:
    for estimate in ("predictive", "mean"):
        model = CategoricalNB(alpha=0.5, estimate=estimate).fit([[0], [0], [1], [2]], [0] * 4)
        shares = np.exp(model.predict_joint_log_proba([[0], [1], [2]]))[:, 0]
        assert_allclose(shares, np.array([2.5, 1.5, 1.5]) / 5.5, rtol=1e-14)


def test_statement_a_word_seen_once_is_likely_to_be_seen_again() -> None:
    exact, plugged = (
        MultinomialNB(alpha=[0.5, 1, 2], estimate=estimate)
        .fit([[3, 0, 7]], [0])
        .predict_joint_log_proba([[2, 1, 0]])
        for estimate in ("predictive", "mean")
    )
    assert_allclose(
        exact, stats.dirichlet_multinomial([3.5, 1, 9], 3).logpmf([2, 1, 0]), rtol=1e-12
    )
    assert_allclose(
        plugged, stats.multinomial(3, np.array([3.5, 1, 9]) / 13.5).logpmf([2, 1, 0]), rtol=1e-12
    )
    assert_allclose([exact.item(), plugged.item()], [-4.1622, -4.2039], atol=5e-5)


def test_statement_students_t_differs_most_from_a_gaussian_with_few_rows() -> None:
    x = np.array([[5.0], [6.5]])
    exact = GaussianNB(prior=REFERENCE).fit(*TWO_SMALL_CLASSES).predict_proba(x)[:, 0]
    density = stats.t(2, [1, 11], math.sqrt(4 / 3)).pdf(x)
    assert_allclose(exact, density[:, 0] / density.sum(axis=1), rtol=1e-13)
    assert_allclose(exact, [0.749, 0.367], atol=5e-4)
    plugged = (
        GaussianNB(estimate="mle", class_prior="empirical")
        .fit(*TWO_SMALL_CLASSES)
        .predict_proba(x)[:, 0]
    )
    assert_allclose(plugged, [1 / (1 + math.exp(-15)), 1 / (1 + math.exp(7.5))], rtol=1e-12)
    assert_allclose(plugged, [0.9999997, 0.00055], atol=5e-6)


@pytest.mark.parametrize("family", [Categorical(), Bernoulli(), Gaussian(), Poisson()])
def test_statement_copies_of_a_column_count_as_news_and_a_temper_undoes_it(family: Any) -> None:
    x = np.array([[0], [1], [1], [1], [0]])
    y = [0, 0, 1, 1, 1]
    copies = np.repeat(x, 8, axis=1)
    one = odds(NaiveBayes(family, class_prior="uniform").fit(x, y).predict_log_proba(x))
    confident = NaiveBayes(family, class_prior="uniform").fit(copies, y).predict_log_proba(copies)
    assert_allclose(odds(confident), 8 * one, rtol=1e-11)
    assert abs(one).max() > 0.1
    plugged, mild = (
        NaiveBayes(family, class_prior="uniform", estimate="map", temper=t) for t in (None, 1 / 8)
    )
    tempered = mild.fit(copies, y).predict_log_proba(copies)
    assert_allclose(odds(tempered), odds(plugged.fit(x, y).predict_log_proba(x)), rtol=1e-11)


# B14: there is no ComplementNB, whose prior has no effect.
def test_B43_a_file_in_which_a_generator_stands_is_refused(tmp_path: Path) -> None:
    """With checksums that are right. The rest of what a file may try is in test_storage.py."""
    GaussianNB().fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "model.bnb")
    with zipfile.ZipFile(tmp_path / "model.bnb") as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name != "SHA256SUMS"}
    state = b'{"$RandomState":{"state":["MT19937",[],-1]}}'
    members["model.json"] = members["model.json"].replace(b'"prior":null', b'"prior":' + state, 1)
    sums = "".join(
        f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in members.items()
    )
    with zipfile.ZipFile(tmp_path / "odd.bnb", "w") as archive:
        for name, data in {**members, "SHA256SUMS": sums.encode()}.items():
            archive.writestr(name, data)
    with pytest.raises(ValueError, match=r"'\$RandomState' is not something that a model holds"):
        load(tmp_path / "odd.bnb")


def test_ask16_old_rows_fade_so_that_a_drift_is_followed() -> None:
    rng = np.random.default_rng(3)
    kept = BernoulliNB()
    fading = BernoulliNB()
    for day in range(60):
        side = rng.integers(0, 2, 40)
        x = np.where(rng.random(40) < 0.9, side, 1 - side)[:, None] ^ (
            day >= 40
        )  # the sign turns on day 40
        for model in (kept, fading):
            model.partial_fit(x, side, classes=[0, 1])
        fading.decay(0.8)
    assert kept.predict([[0], [1]]).tolist() == [0, 1]  # as it was
    assert fading.predict([[0], [1]]).tolist() == [1, 0]  # as it is


@pytest.mark.parametrize("label", [2, 7])
def test_ask17_a_new_class_is_an_error_or_asked_for_and_never_silent(label: int) -> None:
    model = MultinomialNB().partial_fit([[1, 0], [0, 1]], [1, 3], classes=[1, 3])
    with pytest.raises(ValueError, match=rf"labels \[{label}\] .*grow_classes=True"):
        model.partial_fit([[4, 4]], [label])
    model.partial_fit([[4, 4]], [label], grow_classes=True)
    whole = MultinomialNB().fit([[1, 0], [0, 1], [4, 4]], [1, 3, label])
    assert_array_equal(model.classes_, whole.classes_)
    assert_array_equal(model.predict_proba([[2, 2]]), whole.predict_proba([[2, 2]]))


EXTREMES: dict[str, tuple[Callable[[], Any], str]] = {
    "Dirichlet near 0": (lambda: nb.Categorical(nb.Dirichlet([1e-300] * 3)), "levels"),
    "Dirichlet far from 0": (lambda: nb.Categorical(1e100), "levels"),
    "Beta near 0": (lambda: nb.Bernoulli(nb.Beta(1e-300, 1e-300)), "flags"),
    "Beta at both ends": (lambda: nb.Bernoulli(nb.Beta(1e-300, 1e290)), "flags"),
    "Beta too far": (lambda: nb.Bernoulli(nb.Beta(1e-308, 1e308)), "flags"),
    "Gamma near 0": (lambda: nb.Poisson(nb.Gamma(1e-300, 1e-300)), "counts"),
    "normal near 0": (
        lambda: nb.Gaussian(nb.NormalInverseGamma(0, 1e-300, 1e-300, 1e-300)),
        "numbers",
    ),
    "normal too far": (lambda: nb.Gaussian(nb.NormalInverseGamma(0, 1, 1e308, 1e308)), "numbers"),
    "normal whose variance is known": (
        lambda: nb.Gaussian(nb.NormalInverseGamma(0, 1, 1e12, 1e12)),
        "numbers",
    ),
    "normal that is known": (
        lambda: nb.Gaussian(nb.NormalInverseGamma(0, 1e100, 1e100, 1e100)),
        "numbers",
    ),
    "Wishart too far": (
        lambda: nb.MultivariateGaussian(
            nb.NormalInverseWishart([0, 0], 1, 1e100, 1e100 * np.eye(2))
        ),
        "numbers",
    ),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_priors_at_the_ends_of_floats_give_numbers_or_one_error_in_words(name: str) -> None:
    family, cells = EXTREMES[name]
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    X = {
        "levels": rng.integers(0, 3, (24, 2)),
        "flags": rng.integers(0, 2, (24, 2)),
        "counts": rng.poisson(2.0, (24, 2)),
        "numbers": rng.normal(y[:, None], 1.0, (24, 2)),
    }[cells]
    if "too far" in name:
        with pytest.raises(ValueError, match=r"would overflow|no digit of a score is correct|2.2"):
            nb.NaiveBayes(family()).fit(X, y)
        return
    model = nb.NaiveBayes(family()).fit(X, y)
    few = X[:3]
    results = [
        model.predict_proba(X),
        model.loo(X, y).elpd_i,
        model.log_evidence_,
        model.sample(5, rng=0)[0],
    ]
    tables = [
        model.predict_interval(few),
        model.predict_interval(few, rows="fixed"),
        model.uncertainty(few),
        model.explain(few),
    ]
    results += [
        values
        for table in tables
        for values in table.data_vars.values()
        if values.dtype.kind == "f"
    ]
    assert all(np.isfinite(np.asarray(values, float)).all() for values in results)
