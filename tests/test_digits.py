"""Every digit: against exact arithmetic, in any layout, by any number of threads."""

import pickle
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import gammaln
from scipy.stats import norm

from bayesnb import (
    BernoulliNB,
    CategoricalNB,
    Dirichlet,
    Gamma,
    GaussianNB,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    PoissonNB,
)
from bayesnb.numerics.special import accurate_log1p

Array = np.ndarray


# Against exact arithmetic

HARD: dict[str, Callable[[Array], Array]] = {
    "plain": lambda z: z,
    "means of 1e8 sd": lambda z: 1e8 + z,
    "a drift of 1e4 sd": lambda z: z + np.linspace(0, 1e4, len(z))[:, None],
    "a first row 1e8 sd away": lambda z: z + 1e8 * (np.arange(len(z)) == 0)[:, None],
}


def exact_moments(x: Array, weight: Array) -> tuple[Fraction, Fraction]:
    """Mean and variance of floats, without rounding: as integers in units of 2**-80."""
    pairs = []
    for value, times in zip(x.astype(float), weight, strict=True):
        pairs.append((int(np.ldexp(value, 80)), int(np.ldexp(times, 80))))
    n = sum(times for _, times in pairs)
    mean = Fraction(sum(times * value for value, times in pairs), n)
    square = Fraction(sum(times * value**2 for value, times in pairs), n)
    return mean / 2**80, (square - mean**2) / 2**160


@pytest.mark.parametrize("hard", HARD)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0, 0.2])
@pytest.mark.parametrize(
    ("rows", "columns", "dtype"),
    [
        (2500, 40, "d"),
        pytest.param(20_000, 1, "d", marks=pytest.mark.slow),
        pytest.param(2500, 40, "f", marks=pytest.mark.slow),
    ],
)
def test_means_and_variances_have_their_digits(
    hard: str, weighted: bool, missing: float, rows: int, columns: int, dtype: str
) -> None:
    rng = np.random.default_rng(11)
    spread = 1 if dtype == "d" else 100  # single precision ends at 1e8
    x = HARD[hard](spread * rng.normal(size=(rows, columns))).astype(dtype)
    x[rng.random(x.shape) < missing] = np.nan
    y = rng.integers(0, 2, rows)
    weight = rng.random(rows) if weighted else np.ones(rows)
    model = GaussianNB(estimate="mle").fit(x, y, weight)
    for c, j in ((0, 0), (1, columns - 1)):
        present = (y == c) & ~np.isnan(x[:, j])
        mean, variance = exact_moments(x[present, j], weight[present])
        size = max(abs(mean), Fraction(float(variance) ** 0.5))
        assert abs(Fraction(model.theta_[c, j]) - mean) <= 1e-14 * size
        assert abs(Fraction(model.var_[c, j]) - variance) <= 2e-14 * variance


def test_a_constant_column_has_no_spread_whatever_the_rows_weigh() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([np.full(100_000, 0.1), rng.normal(size=100_000)])
    y = rng.integers(0, 2, 100_000)
    weight = rng.random(100_000)
    assert (GaussianNB().fit(x, y, weight).prior_[0].scale == 1).all()


def assert_digits(found: float, terms: list[Any]) -> None:
    """The number is the sum of terms of mpmath, to 1e-14 of their size."""
    size = mpmath.mpf("1e-3") + sum(abs(term) for term in terms)
    assert abs(mpmath.mpf(float(found)) - sum(terms)) <= mpmath.mpf("1e-14") * size


@pytest.mark.parametrize(
    ("shape", "scale"), [(1.3, 2.0), (1e9, 1e9), (0.7, 1e-80), (20.0, 1e100), (5e11, 5e11)]
)
def test_students_t_has_its_digits_however_far_a_cell_is(shape: float, scale: float) -> None:
    prior = NormalInverseGamma(0.3, 7.7, shape, scale)
    cells = 0.3 + np.array([0, 1, -1e-9, 1e2, -1e5, 1e16, 1e40, 1e100, 1e160, 1e200, 1.7e308])
    found = prior.log_predictive(cells)
    with mpmath.workdps(60):
        a = mpmath.mpf(shape)
        width = 2 * mpmath.mpf(scale) * (1 + 1 / mpmath.mpf(7.7))
        constant = mpmath.loggamma(a + 0.5) - mpmath.loggamma(a)
        for cell, log in zip(cells, found, strict=True):
            square = (mpmath.mpf(cell) - mpmath.mpf(0.3)) ** 2 / width
            terms = [
                constant,
                -mpmath.log(mpmath.pi * width) / 2,
                -(a + 0.5) * mpmath.log1p(square),
            ]
            assert_digits(log, terms)


LENGTHS = np.array([*range(21), 64, 1000, 1e6, 0.3, 2.5, 15.5, 17.25])


@pytest.mark.parametrize("size", [1e-12, 1e-3, 0.5, 7.7, 15.99, 16, 300, 1e6, 1e15, 1e25])
def test_scores_of_counts_have_their_digits(size: float) -> None:
    rng = np.random.default_rng(4)
    a = size * np.array([1e-3, 1.0, 30.0])
    one_word = np.eye(3)[rng.integers(0, 3, len(LENGTHS))] * LENGTHS[:, None]
    x = np.vstack([one_word, rng.choice(LENGTHS, (20, 3))])
    family = Multinomial(Dirichlet(a), fractional=True)
    model = NaiveBayes(family, class_prior="uniform", classes=[0, 1]).fit(np.zeros((1, 3)), [0])
    words = model.predict_joint_log_proba(x)[:, 0]  # under the prior, as nothing was learnt
    rates = Gamma(a, 2.0).log_predictive(x)
    with mpmath.workdps(60):
        half_log = mpmath.log(mpmath.mpf(1.5))
        for row, log_words, log_rates in zip(x, words, rates, strict=True):
            terms = [mpmath.log(0.5), mpmath.loggamma(sum(row) + 1)]
            total = sum(map(mpmath.mpf, a))
            terms.append(mpmath.loggamma(total) - mpmath.loggamma(total + mpmath.mpf(sum(row))))
            for p, n, log_rate in zip(
                map(mpmath.mpf, a), map(mpmath.mpf, row), log_rates, strict=True
            ):
                each = [mpmath.loggamma(p + n) - mpmath.loggamma(p), -mpmath.loggamma(n + 1)]
                terms += each
                assert_digits(log_rate, [*each, -p * half_log, -n * mpmath.log(3)])
            assert_digits(log_words, terms)


def test_texts_of_ten_thousand_lengths_do_not_share_a_normaliser() -> None:
    rng = np.random.default_rng(5)
    lengths = np.concatenate([np.arange(5000.0), np.arange(5000) + rng.random(5000)])
    x = np.column_stack([rng.permutation(lengths), np.ones(10_000)])
    a = np.array([2.3, 4.1])
    family = Multinomial(Dirichlet(a), fractional=True, ordered=True)
    model = NaiveBayes(family, class_prior="uniform", classes=[0, 1]).fit(np.zeros((1, 2)), [0])
    rising = gammaln(a + x) - gammaln(a)
    total = gammaln(a.sum()) - gammaln(a.sum() + x.sum(axis=1))
    found = model.predict_joint_log_proba(x)[:, 0]
    assert_allclose(found, np.log(0.5) + rising.sum(axis=1) + total, rtol=1e-11, atol=1e-10)


def test_a_row_keeps_its_evidence_after_a_trillion_others() -> None:
    seen = NormalInverseGamma(3.0, 1e12, 5e11, 5e11)
    one = GaussianNB().fit([[4.0]], [0])
    assert seen.log_evidence(one.stats_.blocks[0])[0, 0] == pytest.approx(
        norm(3, 1).logpdf(4), rel=1e-11
    )
    assert seen.log_predictive(4.0) == pytest.approx(norm(3, 1).logpdf(4), rel=1e-11)


@pytest.mark.slow
def test_tens_of_millions_and_billions_are_counted_one_by_one() -> None:
    rows = 20_000_000  # beyond the whole numbers of single precision
    y = np.zeros(rows, np.uint8)
    flags = BernoulliNB(alpha=1.0).fit(np.ones((rows, 1), np.uint8), y)
    assert flags.posterior_[0].a == rows + 1
    x = np.append(np.full(rows - 1, 3, "f"), np.float32(4))[:, None]
    assert GaussianNB(estimate="mle").fit(x, y).theta_[0, 0] == pytest.approx(
        3 + 1 / rows, rel=1e-15
    )
    big = np.full((7, 1), 10**9, np.int32)  # beyond those of 32 bits
    for table in (big, sparse.csr_array(big)):
        words = MultinomialNB(estimate="mean", class_prior="empirical").fit(table, np.zeros(7))
        assert words.feature_count_ == 7 * 10**9


# In any layout, by any number of threads

PRESETS: dict[str, tuple[Any, Callable[..., Array]]] = {
    "real": (GaussianNB, lambda rng, shape: rng.normal(0, 30, shape).round().clip(-120, 120)),
    "signs": (BernoulliNB, lambda rng, shape: rng.integers(0, 3, shape)),
    "counts": (MultinomialNB, lambda rng, shape: rng.poisson(0.7, shape)),
    "rates": (PoissonNB, lambda rng, shape: rng.poisson(3.0, shape)),
    "codes": (CategoricalNB, lambda rng, shape: np.minimum(rng.poisson(2.0, shape), 4)),
}
LAYOUTS: dict[str, Callable[[Array], Any]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "read-only": lambda x: np.broadcast_to(x, x.shape),
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every other column, backwards": lambda x: np.repeat(x[::-1], 2, axis=1)[::-1, ::2],
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
}


def with_zeros_that_are_stored(x: Array) -> sparse.csr_array:
    """A sparse table, some of whose stored numbers are 0, with indices of 64 bits."""
    stored = sparse.csr_array(np.where(x == 0, 1, x))
    stored.data = np.where(np.ravel(x) == 0, 0, np.ravel(x)).astype(x.dtype)
    stored.indices, stored.indptr = stored.indices.astype("l"), stored.indptr.astype("l")
    return stored


LAYOUTS["zeros that are stored"] = with_zeros_that_are_stored


@pytest.mark.slow
@pytest.mark.parametrize("kind", PRESETS)
@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    layout=st.sampled_from([*LAYOUTS]),
    dtype=st.sampled_from("dflibB"),
    classes=st.sampled_from([1, 2, 5, 9, 70]),
    columns=st.integers(1, 130),
    rows=st.integers(70, 300),
    seed=st.integers(0, 1 << 32),
)
def test_a_table_says_the_same_in_any_layout_and_type(
    kind: str, layout: str, dtype: str, classes: int, columns: int, rows: int, seed: int
) -> None:
    made, draw = PRESETS[kind]
    rng = np.random.default_rng(seed)
    x = draw(rng, (rows, columns)).astype(float)
    x = np.abs(x) if dtype == "B" else x
    if dtype in "fd" and kind in ("real", "rates", "signs"):
        x[rng.random(x.shape) < rng.choice([0, 0.1])] = np.nan
    y = np.arange(rows) % classes
    weight = rng.integers(0, 30, rows) / 8
    table = x.astype(dtype)
    if not (sparse.issparse(LAYOUTS[layout](table)) and kind in ("codes", "real")):
        table = LAYOUTS[layout](table)
    plain = made().fit(x, y, weight)
    other = made().fit(table, y, weight)
    expected = plain.predict_joint_log_proba(x)
    assert_allclose(other.predict_joint_log_proba(table), expected, rtol=1e-10, atol=1e-10)
    assert_allclose(other.log_evidence_, plain.log_evidence_, rtol=1e-10)


@pytest.mark.parametrize("kind", PRESETS)
def test_no_digit_depends_on_threads_or_memory_and_the_users_arrays_stay_as_they_are(
    kind: str,
) -> None:
    made, draw = PRESETS[kind]
    rng, rows = np.random.default_rng(8), 150_000  # enough for work in several pieces
    x = draw(rng, (rows, 8))
    y = rng.integers(0, 3, rows)
    weight = rng.random(rows)
    expected = made(n_jobs=1).fit(x, y, weight)
    for n_jobs, order in ((2, "C"), (3, "F"), (1, "F")):
        arrays = [np.array(x, order=order), y.copy(), weight.copy()]
        for array in arrays:
            array.flags.writeable = False
        before = pickle.dumps(arrays)
        model = made(n_jobs=n_jobs).fit(*arrays)
        assert_array_equal(model.predict_log_proba(arrays[0]), expected.predict_log_proba(x))
        assert model.log_evidence_ == expected.log_evidence_
        assert pickle.dumps(arrays) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "layout"),
    [
        ("real", "C"),
        ("real", "F"),
        ("counts", "csr"),
        ("counts", "C"),
        ("signs", "csr"),
        ("signs", "F"),
        ("rates", "F"),
        ("codes", "C"),
    ],
)
def test_no_table_is_copied(kind: str, layout: str) -> None:
    made, draw = PRESETS[kind]
    x = LAYOUTS[layout](draw(np.random.default_rng(7), (400_000, 20)))
    y = np.arange(400_000) % 3
    model = made(n_jobs=1).fit(x[:99], y[:99])
    for work in (lambda: model.fit(x, y), lambda: model.predict_proba(x)):
        work()  # what is imported or loaded at the first call is not counted
        tracemalloc.start()
        work()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 3 * y.nbytes + x.data.nbytes / 5 + 2**24  # probabilities, pieces of the table


@pytest.mark.parametrize("size", [1e-18, 1e-9, 1e-3, 0.5, 1.0, 30.0, 1e100])
def test_the_complex_log1p_has_the_digits_of_exact_arithmetic(size: float) -> None:
    """Either part, around 0 too, and left of -1, where an arctangent of the ratio is not enough."""
    rng = np.random.default_rng(0)
    z = size * (rng.normal(size=50) + 1j * rng.normal(size=50))
    for some in (z, z[z.real > -1]):  # which take different ways
        with mpmath.workdps(250):
            exact = [mpmath.log(1 + mpmath.mpc(each)) for each in some.tolist()]
            expected = np.array([complex(each) for each in exact])
        assert_allclose(accurate_log1p(some), expected, rtol=2e-15)
        assert_allclose(accurate_log1p(some).imag, expected.imag, rtol=2e-15)
