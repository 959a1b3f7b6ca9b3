"""Compiled code computes what its family defines in NumPy: any table, any number of threads, every digit, few bytes."""

import pickle
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import Parallel, delayed, parallel_config
from scipy import sparse
from scipy.special import bernoulli
from threadpoolctl import threadpool_limits

from bayesnb import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes, PoissonNB, numerics
from bayesnb.families import Beta, Gamma, NormalInverseGamma
from bayesnb.families.categorical import ColumnDirichlets
from bayesnb.families.multinomial import DirichletMultinomial
from bayesnb.families.weight import one_hot
from bayesnb.model.product import most_probable, normalised
from bayesnb.numerics.compilation import Kernel
from bayesnb.numerics.threads import in_order, pieces
from bayesnb.numerics.views import Coded, Columns, Dense, Flags, Lookup, Picked, lanes
from tests.conftest import Array, BernoulliStats, CategoricalStats, GaussianStats, MultinomialStats, PoissonStats, names

MANY = 1 << 20
FAMILIES: dict[str, tuple[Any, Callable[..., Any]]] = {  # stats, and a prior of numbers between 1/2 and 2
    "gaussian": (GaussianStats, lambda p: NormalInverseGamma(p - 1, p / 2, 1.5 * p, 3 / p)),
    "bernoulli": (BernoulliStats, lambda p: Beta(p, 2 - p / 2)),
    "poisson": (PoissonStats, lambda p: Gamma(3 * p, p)),
    "multinomial": (MultinomialStats, lambda p: DirichletMultinomial(p[:, None] ** 3)),
    "categorical": (CategoricalStats, ColumnDirichlets),
}
LAYOUTS: dict[str, Callable[[Array], Any]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "read-only": lambda x: np.broadcast_to(x, x.shape),
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every other column, backwards": lambda x: np.repeat(x[::-1], 2, axis=1)[::-1, ::2],
    "columns": lambda x: Columns(list(x.T.copy()), np.dtype(float) if x.dtype.kind in "ib" else x.dtype),
    "picked": lambda x: Picked(np.hstack([x, x[:, ::-1]]), range(2 * x.shape[1] - 1, x.shape[1] - 1, -1)),
    "dense": lambda x: Dense(sparse.csr_array(x)),
}


@contextmanager
def pieces_of(cells: int) -> Iterator[None]:
    """Threads are given so many cells at a time, so that a small table has many blocks."""
    with pytest.MonkeyPatch.context() as patch:
        for module in [module for name, module in sys.modules.items() if name.startswith("bayesnb.")]:
            for name in {"FEWEST", "MOST"} & {*vars(module)}:
                patch.setattr(module, name, cells)
        assert len(pieces(2 * cells, 1)) > 1
        yield


def looked_up(codes: Array, sizes: tuple[int, ...], rng: np.random.Generator) -> Coded:
    """Integers of which each column's least is a missing cell, and the others stand for codes in any order."""
    orders = [np.append(-1, rng.permutation(size)) for size in sizes]
    places = [np.argsort(order)[own + 1] for order, own in zip(orders, codes.T, strict=True)]
    least = rng.integers(-9, 9, len(sizes))
    return Coded(np.column_stack(places) + least, Lookup(least, orders, np.full(len(sizes), -2), None))


def cells(family: str, shape: tuple[int, int], dtype: str, rng: np.random.Generator) -> tuple[Array, tuple[int, ...]]:
    """Cells that the family and the dtype can hold, with holes and columns of them; and the columns' levels."""
    sizes, spread = tuple(rng.integers(1, 9, shape[1]).tolist()), 10 ** rng.uniform(-1, 1.5, shape[1])
    x = rng.integers(0, sizes, shape).astype(float)
    if family == "gaussian":
        x = (spread * (rng.normal(size=shape) + rng.normal(0, 9, shape[1]))).clip(-127, 127)
    elif family != "categorical":
        x = np.minimum(rng.poisson(spread, shape) * rng.choice([1.0, 7.0], shape, p=[0.95, 0.05]), 127)
    x = np.floor(x) % 2 if family == "bernoulli" or dtype == "?" else np.abs(x) if dtype == "B" else x
    holes = (rng.random(shape) < rng.choice([0, 0.1])) | (rng.random(shape[1]) < rng.choice([0, 0.1]))
    if dtype in "fd":
        x[holes] = 0.3 if family == "multinomial" else np.nan
    elif family == "categorical" and dtype in "bil":
        x[holes] = -1
    return x.astype(dtype), sizes


@st.composite
def sheets(draw: Any, family: str) -> tuple[Any, ...]:
    """The same cells as kernels read them and as floats; weights; levels of the columns; randomness."""
    many = [] if family == "gaussian" else [70, 130]
    classes, features = draw(st.sampled_from([1, 2, 5, 9, 20, *many])), draw(st.integers(1, 130))
    rows = draw(st.one_of(st.just(1), st.integers(2, min(300, max(50_000 // (classes * features), 2)))))
    rng, dtype = np.random.default_rng(draw(st.integers(0, 1 << 32))), draw(st.sampled_from("dflibB?"))
    own = {"bernoulli": ["i4", "i8"] * 2, "multinomial": ["i4", "i8"] * 2, "categorical": ["coded"]}
    way = draw(st.sampled_from([*LAYOUTS, *own.get(family, [])]))
    x, sizes = cells(family, (rows, features), dtype, rng)
    plain = x.astype(float)
    if way == "coded":
        x = looked_up(np.nan_to_num(plain, nan=-1).astype(int), sizes, rng)
    elif way in LAYOUTS:
        x = LAYOUTS[way](x)
    else:
        x = sparse.csr_array(x)
        x.data[rng.random(x.nnz) < 0.1] = 0
        plain, x.indices, x.indptr = x.toarray().astype(float), x.indices.astype(way), x.indptr.astype(way)
        x.data.flags.writeable = draw(st.booleans())
    if family == "bernoulli" and draw(st.booleans()):
        x = Flags(x, draw(st.sampled_from([0.0, 0.5, 1.0, -1.0][: 4 if way in LAYOUTS else 3])))
        plain = np.where(np.isnan(plain), np.nan, plain > x.threshold)
    counts = draw(st.sampled_from([None, rng.integers(0, 30, rows) / 8, rng.random(rows) * rng.integers(0, 2, rows)]))
    weight = one_hot(rng.integers(0, rng.integers(classes) + 1, rows), classes, counts)
    return x, plain, weight, (sizes,) * (family == "categorical"), rng


def near(got: Array, want: Array, size: Any) -> None:
    """The same to 1e-13 of a size; what is infinite or NaN is so in both."""
    with np.errstate(invalid="ignore"):
        good = (np.abs(got - want) <= 1e-13 * size) | (got == want) | (np.isnan(got) & np.isnan(want))
    assert good.all(), (got[~good][:3], want[~good][:3])


@pytest.fixture(scope="module", params=["definitions", "loops"])
def form(request: pytest.FixtureRequest) -> Iterator[None]:
    """Kernels as they choose, which is their definitions on small tables; and their loops alone."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "loops":
            patch.setattr(Kernel, "__call__", lambda kernel, *args: kernel.machine_code(*args))
        yield


BOTH_FORMS = pytest.mark.usefixtures("form")
FAMILY, EXAMPLES = pytest.mark.parametrize("family", FAMILIES), settings(deadline=None, derandomize=True)


@pytest.mark.slow
@BOTH_FORMS
@FAMILY
@EXAMPLES
@given(st.data(), st.sampled_from([1, 2]), st.sampled_from([64, MANY]))
def test_stats_are_what_their_family_defines(family: str, data: Any, n_jobs: int, piece: int) -> None:
    x, plain, weight, sizes, _ = data.draw(sheets(family))
    with pieces_of(piece):
        got = FAMILIES[family][0].of(x, weight, *sizes, n_jobs)
    want = FAMILIES[family][0].defined(plain, weight, *sizes)
    exact = (weight.counts * 8 % 1 == 0).all() and (plain % 1 == 0).all()
    for name in {*names(want)} - {"sizes", "ordered"}:
        a, b = getattr(got, name), getattr(want, name)
        total = weight.totals().reshape(-1, *[1] * (b.ndim - 1))
        if name in ("mean", "ssd"):
            a, b = a * (want.count > 0), b * (want.count > 0)
            more = total * (1e-9 * want.mean) ** 2 if name == "ssd" else np.sqrt(want.ssd / np.maximum(total, 1e-300))
            near(a, b, np.abs(b) + more)  # a mean may be 0 by chance, when rows on both sides of it cancel
        else:
            near(a, b, np.abs(b) + 1e4 * total if name.startswith("log") else (b + total) * (not exact))


@pytest.mark.slow
@BOTH_FORMS
@FAMILY
@settings(EXAMPLES, max_examples=40)
@given(st.data(), st.sampled_from([1, 2]), st.sampled_from([64, MANY]), st.sampled_from([1.0, 0.37, 2.5]))
def test_scores_are_what_their_family_defines(family: str, data: Any, n_jobs: int, piece: int, power: float) -> None:
    x, plain, weight, sizes, rng = data.draw(sheets(family))
    stats = FAMILIES[family][0].defined(plain, weight, *sizes)
    shape = stats.counts.shape if sizes else (weight.classes, plain.shape[1])
    posterior = FAMILIES[family][1](rng.uniform(0.5, 2, shape), *sizes).update(stats)
    size = 20 * plain.shape[1] + (20 * plain.sum(axis=1, keepdims=True) if family == "multinomial" else 0)
    for reader in (posterior, posterior.estimate("mean"), stats.mle()):
        reader = reader[reader.proper.reshape(len(reader), -1).all(axis=1)]  # without classes that have no rows
        if len(reader):
            want, out = reader.defined_score(plain, power), rng.choice([0.0, 1.0], (len(plain), len(reader)))
            with pieces_of(piece):
                near(reader.score(x, power, None, n_jobs), want, np.abs(np.where(np.isinf(want), 0, want)) + size)
                near(reader.score(x, power, out.copy(), n_jobs), want + out, np.abs(np.nan_to_num(want)) + size)


HARD: dict[str, Callable[[Array], Array]] = {
    "plain": lambda z: z,
    "means of 1e8 sd": lambda z: 1e8 + z,
    "a drift of 1e4 sd": lambda z: z + np.linspace(0, 1e4, len(z))[:, None],
    "a first row 1e8 sd away": lambda z: z + 1e8 * (np.arange(len(z)) == 0)[:, None],
}


def whole(x: Array) -> list[int]:
    """The numbers as integers, in units of 2**-80."""
    return [int(value) for value in np.ldexp(x.astype(float), 80).tolist()]


@pytest.mark.parametrize("hard", HARD)
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize("holes", [0, 0.2])
@pytest.mark.parametrize(("shape", "dtype"), [((2500, 40), "d"), ((70_000, 1), "d"), ((2500, 40), "f")])
def test_moments_have_their_digits(hard: str, weighted: bool, holes: float, shape: tuple[int, int], dtype: str) -> None:
    rng = np.random.default_rng(11)
    x = HARD[hard](rng.normal(size=shape) * (1 if dtype == "d" else 100)).astype(dtype)  # single precision ends at 1e8
    codes, weight = rng.integers(0, 2, len(x)), rng.random(len(x)) if weighted else np.ones(len(x))
    x[rng.random(shape) < holes] = np.nan
    got = GaussianStats.of(x, one_hot(codes, 2, weight))
    for c, j in [(0, 0), (1, shape[1] - 1)]:
        own = (codes == c) & ~np.isnan(x[:, j])
        pairs = list(zip(whole(x[own, j]), whole(weight[own]), strict=True))
        n, total, squares = (sum(w * v**power for v, w in pairs) for power in range(3))
        mean, ssd = Fraction(total, n) / 2**80, (squares - Fraction(total * total, n)) / 2**240
        size = max(abs(mean), Fraction(float(ssd * 2**80 / n) ** 0.5))
        assert abs(Fraction(got.mean[c, j]) - mean) <= 1e-14 * size
        assert abs(Fraction(got.ssd[c, j]) - ssd) <= 1e-14 * ssd


def test_a_constant_column_has_no_spread_whatever_the_rows_weigh() -> None:
    rng = np.random.default_rng(0)
    x, y = np.column_stack([np.full(100_000, 0.1), rng.normal(size=100_000)]), rng.integers(0, 2, 100_000)
    for weight in (None, rng.random(100_000)):
        assert (GaussianNB().fit(x, y, weight).prior_[0].scale == 1).all()


HALF, PI = Decimal("0.5"), Decimal("3.14159265358979323846264338327950288419716939937510582097494")
STIRLING = [Decimal(float(b)) / (2 * n * (2 * n - 1)) for n, b in enumerate(bernoulli(24)[2::2], 1)]


@cache
def log_gamma(z: Decimal) -> Decimal:
    """To 1e-18."""
    product = Decimal(1)
    while z < 40:
        product, z = product * z, z + 1
    tail = sum(term / z ** (2 * n + 1) for n, term in enumerate(STIRLING))
    return (z - HALF) * z.ln() - z + (2 * PI).ln() / 2 + tail - product.ln()


def rising(a: Decimal, x: Decimal) -> Decimal:
    return log_gamma(a + x) - log_gamma(a)


def all_digits(got: Array, terms: Callable[[int, int], list[Decimal]]) -> None:
    """Every `(r, c)` is the sum of its terms, to 1e-14 of their size."""
    with localcontext(prec=60):
        for i, c in np.ndindex(got.shape):
            exact = terms(i, c)
            size = Decimal("1e-3") + sum(map(abs, exact))  # a row without words has no terms but rounding
            assert abs(Decimal(got[i, c]) - sum(exact)) <= Decimal("1e-14") * size, (i, c)


@pytest.mark.slow
@BOTH_FORMS
@pytest.mark.parametrize("features", [1, 6, 100])
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("holes", [0, 0.3])
def test_students_t_has_its_digits_however_far_a_cell_is(features: int, alike: bool, holes: float) -> None:
    rng = np.random.default_rng(3)
    location, count, shape = rng.normal(size=(4, features)), *rng.uniform(0.3, 40, (2, 4, features))
    shape *= np.array([1, 1e9, 1, 1])[:, None]
    scale = np.array([1, 1e9, 1e-80, 1e100])[:, None] * rng.uniform(0.1, 9, (4, features))
    belief = NormalInverseGamma(location, count, shape[:, :1] + 0 * shape if alike else shape, scale)
    z = rng.normal(size=(13, features)) * 10.0 ** np.array([0, 0, -9, -3, 2, 5, 16, 40, 61, 100, 160, 200, 0])[:, None]
    z[-1, -1] = 1e200
    x = location[0] + np.where(rng.random(z.shape) < holes, np.nan, z)

    def log_t(i: int, c: int, j: int) -> Decimal:
        numbers = x[i, j], *(getattr(belief, name)[c, j] for name in ("location", "count", "shape", "scale"))
        v, m, k, a, s = (Decimal(float(number)) for number in numbers)
        width = 2 * s * (1 + 1 / k)
        return rising(a, HALF) - (PI * width).ln() / 2 - (a + HALF) * (1 + (v - m) ** 2 / width).ln()

    all_digits(belief.score(x), lambda i, c: [log_t(i, c, j) for j in np.flatnonzero(~np.isnan(x[i]))])


@BOTH_FORMS
def test_the_largest_float_is_only_very_far_away() -> None:
    x = np.random.default_rng(0).normal(0, 0.1, (50, 2))
    assert np.isfinite(GaussianNB().fit(x, np.arange(50) % 2).predict_joint_log_proba([[1.7e308, 0]])).all()


COUNTS = np.array([*range(21), 64, 1000, 1e6, 0.3, 2.5, 15.5, 17.25])


@pytest.mark.slow
@BOTH_FORMS
@pytest.mark.parametrize("size", [1e-12, 1e-3, 0.5, 1, 7.7, 15.99, 16, 300, 1e6, 1e15, 1e25])
def test_scores_of_counts_have_their_digits(size: float) -> None:
    rng, a = np.random.default_rng(4), size * np.array([[1, 1, 1], [1e-3, 1, 30]])
    x = np.vstack([np.eye(3)[rng.integers(0, 3, len(COUNTS))] * COUNTS[:, None], rng.choice(COUNTS, (60, 3))])

    def pairs(i: int, c: int) -> list[tuple[Decimal, Decimal]]:
        return [(Decimal(p), Decimal(n)) for p, n in zip(a[c].tolist(), x[i].tolist(), strict=True)]

    def die(i: int, c: int) -> list[Decimal]:
        p, n = map(sum, zip(*pairs(i, c), strict=True))
        return [*(rising(*pair) - log_gamma(pair[1] + 1) for pair in pairs(i, c)), log_gamma(n + 1) - rising(p, n)]

    def rates(i: int, c: int) -> list[Decimal]:
        each = [(rising(p, n), -log_gamma(n + 1), -p * (1 + HALF).ln(), -n * Decimal(3).ln()) for p, n in pairs(i, c)]
        return [term for terms in each for term in terms]

    all_digits(DirichletMultinomial(a[:, None]).score(x), die)
    all_digits(Gamma(a, 2 + 0 * a).score(x), rates)


@pytest.mark.slow
def test_rows_of_any_lengths_do_not_share_a_normaliser() -> None:
    rng = np.random.default_rng(5)
    length = rng.permutation(np.concatenate([np.arange(5000.0), np.arange(5000) + rng.random(5000)]))
    belief, x = DirichletMultinomial(rng.random((3, 1, 2)) * 9), np.column_stack([length, np.ones(len(length))])
    near(belief.score(x), belief.defined_score(x), 9 * x.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("classes", range(1, 10))
@pytest.mark.parametrize("first", [0, 8])
def test_levels_score_each_class_and_no_lane_of_padding(classes: int, first: int) -> None:
    rng, sizes = np.random.default_rng(9), np.array([2, 5, 1, 7])
    codes, starts = rng.integers(-1, sizes, (9, 4)), np.append(0, np.cumsum(sizes))
    table, before = rng.normal(size=(starts[-1], classes)), rng.normal(size=(9, first + classes))
    out, filled = before.copy(), lanes(table.T)
    filled[:, classes:] = np.nan
    assert numerics.level_kernels.score.machine_code(codes, starts, filled, first, out) == 1  # some are missing
    entries = np.where((codes >= 0)[:, :, None], table[starts[:-1] + codes], 0.0)
    near(out[:, first:], before[:, first:] + entries.sum(axis=1), 9)
    assert (out[:, :first] == before[:, :first]).all()


@pytest.mark.parametrize("dtype", ["f8", "f4", "u1"])
@pytest.mark.parametrize("groups", [0, 2])
def test_flags_without_a_threshold_are_zeros_ones_and_missing_cells(dtype: str, groups: int) -> None:
    rng = np.random.default_rng(9)
    one, zero, table = rng.normal(size=(9, 8)), rng.normal(size=(9, 8)), rng.normal(size=(groups * 256, 8))

    def is_valid(cell: float) -> bool:
        x = rng.integers(0, 2, (3, 9)).astype(dtype)
        x[1, 4] = cell
        ones, missing = np.zeros((2, 1, 9))
        valid = numerics.flag_kernels.tally.machine_code(x, np.zeros(3, int), np.ones(3), np.nan, ones, missing)
        assert (ones == (x > 0.5).sum(axis=0)).all()
        assert (missing == np.isnan(x).sum(axis=0)).all()
        assert valid == numerics.flag_kernels.score.machine_code(x, np.nan, table, one, zero, 0, np.zeros((3, 8)))
        return valid

    whole = dtype == "u1"
    assert all(is_valid(cell) for cell in ([0, 1] if whole else [0.0, -0.0, 1.0, np.nan]))
    assert not any(is_valid(cell) for cell in ([2, 255] if whole else [-1.0, 0.3, 0.7, 2.0, np.inf, -np.inf]))


@BOTH_FORMS
def test_a_row_that_no_class_explains_leaves_its_neighbours_alone() -> None:
    possible, none = np.log([0.1, 0.3]), [-np.inf, -np.inf]
    near(np.exp(normalised(np.array([possible, none, possible]))), np.array([[0.25, 0.75], [0, 0], [0.25, 0.75]]), 1)


@BOTH_FORMS
@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_most_probable_class_is_the_first_of_equals_and_none_of_a_row_without_one(n_jobs: int) -> None:
    joint = np.random.default_rng(3).integers(-4, 0, (300, 5)).astype(float)
    with pieces_of(64):
        best, without = most_probable(joint, n_jobs)
        assert without == -1
        assert (best == joint.argmax(axis=1)).all()
        for row, cells in ((299, -np.inf), (200, [np.nan, 0, 0, 0, 0]), (7, [0, 0, 0, 0, np.nan]), (0, np.inf)):
            joint[row] = cells
            assert most_probable(joint, n_jobs)[1] == row


@pytest.mark.slow
def test_billions_and_tens_of_millions_are_counted_one_by_one() -> None:
    weight, single, rows = one_hot(np.zeros(7, int), 1, np.full(7, 1e9)), one_hot(np.zeros(7, int), 1), 20_000_000
    for stats, dtype in [(GaussianStats, "f"), (PoissonStats, "f"), (BernoulliStats, "B"), (CategoricalStats, "i")]:
        seen = stats.of(np.ones((7, 1), dtype), weight)
        assert getattr(seen, names(seen)[0])[0, -1] == 7 * 10**9
    big = np.full((7, 1), 10**9, "i")
    assert MultinomialStats.of(big, single).counts == 7 * 10**9
    assert MultinomialStats.of(sparse.csr_array(big), single).counts == 7 * 10**9
    assert PoissonStats.of(big, single).events == 7 * 10**9
    ones = BernoulliNB().fit(np.ones((rows, 1), np.uint8), np.zeros(rows, np.uint8)).stats_.blocks[0].ones
    x = np.append(np.full(rows - 1, 3, "f"), np.float32(4))[:, None]
    seen = GaussianStats.of(x, one_hot(np.zeros(rows, int), 1))
    assert ones == seen.count == rows
    assert seen.mean == pytest.approx(3 + 1 / rows, rel=1e-15, abs=0)


def real(rng: np.random.Generator, rows: int, columns: int = 5) -> Array:
    return np.where(rng.random((rows, columns)) < 0.02, np.nan, rng.normal(size=(rows, columns)))


def words(rng: np.random.Generator, rows: int, dtype: str, step: int = 3) -> sparse.csr_array:
    """Three words a row; they may be the same word if the step is 0."""
    indices = rng.integers(0, 3, (rows, 3)) + step * np.arange(3)
    return sparse.csr_array((np.ones(3 * rows, dtype), indices.ravel(), 3 * np.arange(rows + 1)), (rows, 9))


def mixed(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    text = np.array(["a", "b", None, "d"], object)[rng.integers(0, 4, rows)]
    kind = pd.Categorical.from_codes(rng.integers(-1, 3, rows), ["x", "y", "z"])
    return pd.DataFrame({"real": real(rng, rows)[:, 0], "flag": rng.random(rows) < 0.3, "text": text, "kind": kind})


KINDS: dict[str, tuple[Any, Callable[[np.random.Generator, int], Any]]] = {
    "real": (GaussianNB, real),
    "many real": (GaussianNB, lambda rng, rows: real(rng, rows, 100).astype(np.float32)),
    "integers": (GaussianNB, lambda rng, rows: rng.integers(0, 9, (rows, 9))),
    "counts": (MultinomialNB, lambda rng, rows: rng.poisson(1.0, (rows, 7))),
    "words": (MultinomialNB, lambda rng, rows: words(rng, rows, "d")),
    "single words": (MultinomialNB, lambda rng, rows: words(rng, rows, "f")),
    "signs": (BernoulliNB, real),
    "some words": (BernoulliNB, lambda rng, rows: words(rng, rows, "l")),
    "codes": (CategoricalNB, lambda rng, rows: np.minimum(rng.poisson(2.0, (rows, 9)), 4)),
    "rates": (PoissonNB, lambda rng, rows: rng.poisson(3.0, (rows, 9))),
    "repeated words": (MultinomialNB, lambda rng, rows: words(rng, rows, "d", 0)),
    "mixed": (NaiveBayes, mixed),
}


def table(kind: str, rows: int, order: Any) -> tuple[Any, list[Array]]:
    """A table, and the arrays that it is made of."""
    x = KINDS[kind][1](np.random.default_rng(7), rows)
    if isinstance(x, pd.DataFrame):
        return x, [x[name].to_numpy() for name in x]
    if isinstance(x, np.ndarray):
        x = np.array(x, order=order)
        return x, [x]
    return x, [x.data, x.indices, x.indptr]


def learnt(kind: str, n_jobs: int, order: str, writeable: bool) -> list[Array]:
    """Numbers that an estimator gives after a fit, and after it has seen the same rows once more."""
    (x, parts), rng = table(kind, 400, order), np.random.default_rng(8)
    y, weight = rng.integers(0, 3, 400), rng.random(400)
    for array in [*parts, y, weight]:
        array.flags.writeable = array.flags.writeable and writeable
    before = pickle.dumps([*parts, y, weight])
    model = KINDS[kind][0](n_jobs=n_jobs).fit(x, y, sample_weight=weight)
    said = [model.predict_proba(x), model.predict_joint_log_proba(x), np.array(model.log_evidence_)]
    said += [getattr(s, name) for s in model.partial_fit(x, y).stats_.blocks for name in names(s)]
    assert pickle.dumps([*parts, y, weight]) == before
    return [*said, model.predict_log_proba(x)]


@BOTH_FORMS
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_digit_depends_on_threads_or_memory_and_the_users_arrays_stay_as_they_are(kind: str) -> None:
    with pieces_of(256):
        want = learnt(kind, 1, "C", True)
        for n_jobs, order, writeable in [(2, "C", True), (3, "C", False), (2, "F", True), (1, "F", False)]:
            for got, other in zip(learnt(kind, n_jobs, order, writeable), want, strict=True):
                np.testing.assert_array_equal(got, other)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "order"),
    [(kind, "C") for kind in [*KINDS][:-2]] + [(kind, "F") for kind in ("real", "counts", "signs", "codes")],
)
def test_no_table_is_copied(kind: str, order: str) -> None:
    size = 64 * MANY
    x, _ = table(kind, size * 1000 // sum(part.nbytes for part in table(kind, 1000, order)[1]), order)
    y = np.arange(x.shape[0]) % 3
    model = KINDS[kind][0](n_jobs=1).fit(x[:99], y[:99])
    for work in (lambda: model.fit(x, y), lambda: model.predict_proba(x)):
        tracemalloc.start()
        work()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 3 * y.nbytes + size / 5 + 16 * MANY


def threads_at_work(n_jobs: int | None) -> int:
    """How many threads take part in work of many pieces, on a machine of several cores."""

    def work(piece: int) -> int:
        time.sleep(0.01)
        return threading.get_ident()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("joblib.cpu_count", lambda: 3)
        return len({*in_order(work, range(12), n_jobs)})


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "NUMBA_NUM_THREADS"])
def test_threads_are_no_more_than_the_environment_gives_to_kernels(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    assert [threads_at_work(n_jobs) for n_jobs in (None, 2, -1)] == [1, 2, 3]


def test_threads_are_no_more_than_threadpoolctl_allows_at_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    with threadpool_limits(3, user_api="openmp"):
        assert threads_at_work(None) == 3
        with threadpool_limits(1):
            assert [threads_at_work(n_jobs) for n_jobs in (None, 2, -1)] == [1, 2, 3]
        assert threads_at_work(None) == 3


@pytest.mark.slow
def test_a_worker_of_joblib_uses_the_threads_that_it_was_given() -> None:
    for threads in (1, 2):
        with parallel_config("loky", inner_max_num_threads=threads):
            assert Parallel(n_jobs=2)(delayed(threads_at_work)(None) for _ in range(2)) == [threads, threads]
