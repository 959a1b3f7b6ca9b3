"""Numbers at the ends of floats give the right answer, or an error; never NaN, nor memory without
bounds.
"""

import math
import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from bayesnb import (
    Categorical,
    CategoricalNB,
    Gamma,
    Gaussian,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    PoissonNB,
)
from bayesnb.data.cells import codes_up_to

LABELS = np.array([0, 0, 1, 1])


def test_a_row_at_1e200_is_scored_by_the_tails() -> None:
    prior = NormalInverseGamma(0, 1, 1, 1)
    model = GaussianNB(prior=prior).fit([[0.0], [0.0], [4.0]], [0, 0, 1])
    shape, count, scale = np.array([[2, 1.5], [3, 2], [1, 5]])  # 5 = 1 + 1 * 1 / 2 * 16 / 2
    mean = np.array([0.0, 2.0])
    spread = 2 * scale * (1 + 1 / count)
    log_tail = stats.t(2 * shape).logpdf(0) - np.log(spread / (2 * shape)) / 2
    far = math.log(1e200) * 2 - np.log(spread)  # log of 1 + x**2 / spread, whose square is no float
    joint = np.log([3 / 5, 2 / 5]) + log_tail - (shape + 0.5) * far
    assert_allclose(model.predict_joint_log_proba([[1e200]])[0], joint, rtol=1e-12)
    near = np.log([3 / 5, 2 / 5]) + log_tail - (shape + 0.5) * np.log1p(mean**2 / spread)
    assert_allclose(model.predict_joint_log_proba([[1e-310]]), [near], rtol=1e-13)


@pytest.mark.parametrize("tokens", [2**40, 2**62])
def test_a_row_of_huge_counts_has_the_odds_of_a_ratio_of_gamma_functions(tokens: int) -> None:
    model = MultinomialNB().fit([[1, 1], [1, 2], [4, 1]], [0, 0, 1])
    # Gamma(3 + n) / Gamma(7 + n) is 1 / ((n + 3) ... (n + 6)); Gamma(5 + n) / Gamma(7 + n) half of
    # it
    log_odds = math.log(2 / 3) + math.log(30 / 360) + math.log(tokens + 3) + math.log(tokens + 4)
    assert model.predict_log_proba([[tokens, 0]])[0] @ [-1, 1] == pytest.approx(log_odds, rel=1e-3)
    assert np.isfinite(PoissonNB().fit([[1], [2], [4]], [0, 0, 1]).predict_proba([[tokens]])).all()


def test_equal_classes_are_equal_where_log_densities_are_huge() -> None:
    model = PoissonNB(prior=Gamma(1, 1)).fit(np.array([[2**62], [2**62]]), [0, 1])
    assert_allclose(model.predict_proba([[1]]), [[0.5, 0.5]])


def test_weights_of_1e200_are_certainty_and_weights_of_1e_310_are_the_prior() -> None:
    x = [[0.0], [1], [4], [5]]
    certain = stats.norm.logpdf([[1.0], [2.5]], [0.5, 4.5], 0.5) + math.log(0.5)
    heavy = GaussianNB().fit(x, LABELS, [1e200] * 4)
    assert_allclose(heavy.predict_joint_log_proba([[1.0], [2.5]]), certain, rtol=1e-12)
    assert_allclose(GaussianNB().fit(x, LABELS, [1e-310] * 4).predict_proba([[1.0]]), [[0.5, 0.5]])


@pytest.mark.parametrize("preset", [GaussianNB, MultinomialNB, PoissonNB])
def test_sums_of_int64_do_not_overflow(preset: Any) -> None:
    x = np.array([[2**62, 1], [2**62, 0], [2**62, 2], [3, 2**62]])
    whole = preset().fit(x, [0, 0, 0, 1])
    real = preset().fit(x.astype(float), [0, 0, 0, 1])
    new = np.array([[1, 1], [2, 0], [2**62, 2**62]])
    expected = real.predict_joint_log_proba(new.astype(float))
    assert_allclose(whole.predict_joint_log_proba(new), expected, rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e12])
def test_moments_are_those_of_exact_fractions(offset: float) -> None:
    """The posterior under a vague prior, of integers far from zero and a first row that is an
    outlier.
    """
    x = np.floor(np.random.default_rng(1).normal(0, 50, (501, 1))) + offset
    x[0] = offset + 2**30
    exact = [Fraction(float(cell)) for cell in x[:, 0]]
    mean = sum(exact) / len(exact)
    ssd = sum((cell - mean) ** 2 for cell in exact)
    stats_of_class = GaussianNB().fit(x, np.zeros(501, int)).stats_.blocks[0]
    assert abs(stats_of_class.mean[0, 0] - float(mean)) <= np.spacing(abs(float(mean)))
    assert stats_of_class.ssd[0, 0] == pytest.approx(float(ssd), rel=1e-14)


def test_one_large_code_costs_no_table_of_all_codes_below_it() -> None:
    x = np.random.default_rng(0).integers(0, 5, (100, 3))
    x[7] = 2**40
    y = np.arange(100) % 2
    tracemalloc.start()
    joint = CategoricalNB().fit(x, y).predict_joint_log_proba(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6
    text = CategoricalNB().fit(x.astype(str), y)
    assert_allclose(joint, text.predict_joint_log_proba(x.astype(str)), rtol=1e-12)


def test_a_batch_is_compared_with_the_ends_of_known_codes_not_with_each() -> None:
    known = range(1 << 16)
    tracemalloc.start()
    levels = codes_up_to("word", known, [3.0, 7.0], 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert levels == known
    assert peak < 10e3


@pytest.mark.parametrize("concentration", [2.3e-308, 1e290])
def test_a_concentration_at_the_end_of_floats_gives_finite_numbers(concentration: float) -> None:
    x = [["a"], ["b"], ["a"], ["b"]]
    model = NaiveBayes(Categorical(concentration)).fit(x, LABELS)
    assert math.isfinite(model.log_evidence_)
    assert_allclose(model.predict_proba(x).sum(axis=1), 1)


def test_predictions_do_not_change_when_columns_are_shifted_and_rescaled() -> None:
    rng = np.random.default_rng(2)
    y = np.arange(150) % 3
    x = rng.normal(size=(150, 3)) + y[:, None]
    moved = x * [1e-4, 1e3, 7.0] + [1e3, -1e6, 0.0]
    one = GaussianNB().fit(x, y)
    two = GaussianNB().fit(moved, y)
    assert_allclose(one.predict_proba(x), two.predict_proba(moved), rtol=1e-6, atol=1e-12)


def test_a_fitted_model_does_not_change_with_the_users_arrays() -> None:
    share = np.array([0.5, 0.5])
    location = np.zeros(2)
    x = np.array([[1.0, 2], [2, 3], [5, 1], [6, 2]])
    model = NaiveBayes(
        Gaussian(NormalInverseGamma(location, 1, 1, 1)), class_prior={0: 0.5, 1: 0.5}
    )
    model.fit(x, LABELS)
    known = GaussianNB(class_prior=share).fit(x, LABELS)
    before = model.predict_proba(x), known.predict_proba(x)
    share[:], location[:], x_before = [0.1, 0.9], 50, x.copy()
    x[:] = 7
    assert_array_equal(model.predict_proba(x_before), before[0])
    assert_array_equal(known.predict_proba(x_before), before[1])


def test_an_infinite_number_can_be_a_level() -> None:
    x = np.array([[np.inf], [2.0], [np.inf], [2.0]])
    model = NaiveBayes("categorical").fit(x, ["a", "b", "a", "b"])
    other = NaiveBayes("categorical").fit([["inf"], ["2"], ["inf"], ["2"]], list("abab"))
    assert_array_equal(
        model.predict_proba([[np.inf], [2.0]]), other.predict_proba([["inf"], ["2"]])
    )
