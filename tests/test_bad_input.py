"""Odd tables, labels and weights: each gives the right answer, or one error that says what is wrong and where.

Never a NaN, and a call that fails leaves the model as it was.
"""

import math
import re
import tracemalloc
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn.base import clone

from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Categorical,
    CategoricalNB,
    Dirichlet,
    Gamma,
    Gaussian,
    GaussianNB,
    JointTable,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    PoissonNB,
    UnseenLevelWarning,
    load,
)
from bayesnb.data import SparseTable
from bayesnb.families import FAMILIES
from tests.conftest import plainly

Array = np.ndarray
NAN = math.nan
ROWS = np.array([[0.0, 1], [1, 0], [1, 1], [0, 1]])  # every family can read them
LABELS = np.array([0, 0, 1, 1])
PRESETS = (BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB)
REFUSED = (ValueError, TypeError)


def arrays(model: Any) -> list[Array]:
    """Copies of every array of what the data said."""
    parts = (model.stats_.classes, *model.stats_.blocks)
    return [np.array(value) for part in parts for value in vars(part).values() if isinstance(value, np.ndarray)]


def refuses(model: Any, learn: str, x: Any, y: Any, weight: Any, match: str) -> None:
    """Learning fails with that message, and the model predicts as before, from the very same state."""
    model.fit(ROWS, LABELS)
    held, said, answer = dict(vars(model)), arrays(model), model.predict_joint_log_proba(ROWS)
    with pytest.raises(REFUSED, match=match):
        getattr(model, learn)(x, y, sample_weight=weight)
    assert vars(model).keys() == held.keys()
    assert all(vars(model)[name] is value for name, value in held.items())
    for was, now in zip(said, arrays(model), strict=True):
        assert_array_equal(now, was)
    assert_array_equal(model.predict_joint_log_proba(ROWS), answer)


def with_cell(row: int, column: int, value: Any, dtype: Any = float) -> Array:
    """The good rows, but for one cell."""
    x = ROWS.astype(dtype)
    x[row, column] = value
    return x


LEARNERS = pytest.mark.parametrize("learn", ["fit", "partial_fit"])


@LEARNERS
@pytest.mark.parametrize(
    ("y", "match"),
    [
        ([0, NAN, 1, 1], "1 labels are missing, first at row 1"),
        (np.array([0, 0, None, 1], object), "1 labels are missing, first at row 2"),
        (pd.array(["a", "b", pd.NA, "a"], dtype="string"), "1 labels are missing, first at row 2"),
        (pl.Series(["a", None, None, "a"]), "2 labels are missing, first at row 1"),
        (np.ma.array([0, 0, 1, 1], mask=[0, 0, 0, 1]), "missing|mask"),
        ([0, math.inf, 1, 1], "infinity"),
        ([0, 0.5, 1, 1], "continuous"),
        (np.array([0, "a", 1, 1], object), "label"),
        ([0, 0, 1], "inconsistent numbers of samples"),
        ([[0, 1]] * 4, "1d array"),
        (None, "requires y"),
    ],
)
def test_labels_that_are_no_labels_are_refused(learn: str, y: Any, match: str) -> None:
    refuses(GaussianNB(), learn, ROWS, y, None, match)


@LEARNERS
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    ("weight", "match"),
    [
        ([1, -0.5, 1, 1], r"sample_weight.* row 1: -0\.5"),
        ([1, 1, NAN, 1], r"sample_weight.* row 2: nan"),
        ([1, 1, 1, math.inf], r"sample_weight.* row 3: inf"),
        (["a", 1, 1, 1], r"sample_weight must be numbers.*'a'"),
        ([1, None, 1, 1], "sample_weight"),
        ([1, 1, 1], r"sample_weight.* 4 rows, got shape \(3,\)"),
        ([[1, 1, 1, 1]], r"sample_weight.* got shape \(1, 4\)"),
        ([0, 0, 0, 0], "sample_weight is zero for all rows"),
        (np.ma.array([1.0, 1, 1, 1], mask=[0, 0, 1, 0]), "sample_weight"),
    ],
)
def test_weights_that_are_no_weights_are_refused(learn: str, preset: Any, weight: Any, match: str) -> None:
    refuses(preset(), learn, ROWS, LABELS, weight, match)


@LEARNERS
@pytest.mark.parametrize(
    ("model", "x", "match"),
    [
        (GaussianNB(), with_cell(2, 1, math.inf), r"column 1.*row 2: inf"),
        (GaussianNB(), with_cell(2, 1, -math.inf, np.float32), r"column 1.*row 2: -inf"),
        (MultinomialNB(), with_cell(2, 1, math.inf), r"column 1.*row 2: inf"),
        (PoissonNB(), with_cell(2, 1, math.inf), r"column 1.*row 2: inf"),
        (BernoulliNB(), with_cell(2, 1, math.inf), r"column 1.*row 2: inf"),
        (CategoricalNB(), with_cell(2, 1, math.inf), r"column 1.*inf"),
        (MultinomialNB(), with_cell(3, 0, -3), r"column 0: Negative.*row 3: -3"),
        (MultinomialNB(), sparse.csc_array(with_cell(3, 0, -3)), r"column 0: Negative.*row 3: -3"),
        (PoissonNB(), with_cell(3, 0, -3, np.int8), r"column 0: Negative.*row 3: -3"),
        (CategoricalNB(), with_cell(3, 0, -3, int), r"column 0 .*-3"),
        (NaiveBayes(Multinomial()), with_cell(1, 1, 1.5), r"column 1: .*row 1: 1\.5.*fractional=True"),
        (NaiveBayes(Poisson()), with_cell(1, 1, 1.5), r"column 1: .*row 1: 1\.5.*fractional=True"),
        (NaiveBayes(Bernoulli()), with_cell(1, 1, 2), r"column 1: .*not 0 or 1.*row 1: 2.*threshold"),
        (CategoricalNB(), with_cell(1, 1, 1.5), r"column 1 .*1\.5"),
        (MultinomialNB(), with_cell(1, 1, NAN), r"column 1: .*missing.*row 1"),
        (GaussianNB(), with_cell(1, 1, 1e200), r"column 1 .*1e\+200"),
        (GaussianNB(), ROWS * [1e-310, 1], r"column 0 .*1e-310"),
        (GaussianNB(), with_cell(1, 1, "u", object), r"column 1 is not numeric"),
        (GaussianNB(), ROWS.astype(str), r"column 0 holds <U.*not numbers"),
        (GaussianNB(), ROWS + 1j, "Complex data not supported"),
        (GaussianNB(), ROWS.astype("M8[D]"), "datetime64"),
        (NaiveBayes(Categorical()), with_cell(1, 1, "u", object), r"column 1 mixes"),
        (GaussianNB(), [[0, 1], [1], [1, 1], [0, 1]], "X is not a table.*inhomogeneous"),
        (GaussianNB(), ROWS[:, 0], r"Expected 2D array, got 1D.*reshape"),
        (GaussianNB(), ROWS[None], r"Expected 2D array, got 3D"),
        (GaussianNB(), ROWS[:, :0], r"0 feature"),
        (MultinomialNB(), sparse.csr_array((4, 0)), r"0 feature"),
    ],
)
def test_cells_that_the_family_cannot_read_are_refused_by_column(learn: str, model: Any, x: Any, match: str) -> None:
    refuses(model, learn, x, LABELS, None, match)


def test_a_batch_at_1e200_is_refused_where_a_table_would_be() -> None:
    refuses(GaussianNB(), "partial_fit", ROWS * [1, 0] + [0, 1e200], LABELS, None, r"column 1 ")


def test_NaiveBayes_refuses_objects_of_several_types_by_column() -> None:
    for x, match in (
        (np.array([["a", 1], [2, 3]], object), "column 0 mixes.*str"),
        (np.array([[1, True], [2, 3.5]], object), "column 1 mixes.*bool"),
        (pd.DataFrame({"a": [1, 2], "b": ["x", 1.5]}), "column 'b' mixes.*float, str"),
        (pd.DataFrame({"a": [1, 2], "b": [[1], [2]]}), "column 'b'"),
        (pl.DataFrame({"a": [1, 2], "b": [[1], [2]]}), "column 'b'"),
        (pd.DataFrame({"a": [1, 2], "when": pd.to_datetime(["2020-01-01", "2020-01-02"])}), "column 'when' holds"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "same name.*\n?.*'a'"),
    ):
        with pytest.raises(REFUSED, match=match):
            NaiveBayes().fit(x, [0, 1])


@pytest.mark.filterwarnings("ignore::bayesnb.UnseenLevelWarning")
@pytest.mark.parametrize("preset", PRESETS)
def test_no_rows_are_refused_and_one_row_is_enough(preset: Any) -> None:
    refuses(preset(), "fit", ROWS[:0], LABELS[:0], None, "0 sample")
    refuses(preset(), "partial_fit", ROWS[:0], LABELS[:0], None, "0 sample")
    with pytest.raises(ValueError, match="0 sample"):
        preset().fit(ROWS, LABELS).predict(ROWS[:0])
    assert_array_equal(preset().fit(ROWS[:1], ["only"]).predict_proba(ROWS), np.ones((4, 1)))
    whole = preset().fit(ROWS, LABELS)
    assert_allclose([whole.predict_proba([row])[0] for row in ROWS], whole.predict_proba(ROWS), rtol=1e-13)


@pytest.mark.parametrize("preset", PRESETS)
def test_another_number_of_columns_is_refused_with_both_numbers(preset: Any) -> None:
    match = "X has 3 features, but .* is expecting 2"
    wide = np.hstack([ROWS, ROWS[:, :1]])
    refuses(preset(), "partial_fit", wide, LABELS, None, match)
    with pytest.raises(ValueError, match=match):
        preset().fit(ROWS, LABELS).predict(wide)


def test_a_failed_refit_keeps_the_names_of_the_columns() -> None:
    frame = pd.DataFrame({"size": [1.0, 2, 9], "colour": ["red", "blue", "red"]})
    model = NaiveBayes().fit(frame, ["x", "x", "y"])
    answer = model.predict_proba(frame)
    with pytest.raises(ValueError, match="missing"):
        model.fit(pd.DataFrame({"other": [1.0, 2]}), [None, "q"])
    with pytest.raises(ValueError, match=r"labels \['q'\]"):
        model.partial_fit(frame, ["x", "y", "q"])
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(frame[["colour", "size"]], ["x", "y", "y"])
    assert model.feature_names_in_.tolist() == ["size", "colour"]
    assert model.classes_.tolist() == ["x", "y"]
    assert_array_equal(model.predict_proba(frame), answer)


def test_codes_and_fractions_in_two_batches_are_refused_as_they_are_in_one() -> None:
    for first, second in (([[0], [1], [2]], [[0.5], [0.5], [1.5]]), ([[0.5], [0.5], [1.5]], [[0], [1], [2]])):
        with pytest.raises(ValueError, match=r"column 0 .*[01]\.5"):
            CategoricalNB().fit([*first, *second], [0, 1, 1, 0, 1, 1])
        with pytest.raises(ValueError, match=r"column 0 .*[01]\.5"):
            CategoricalNB().partial_fit(first, [0, 1, 1], classes=[0, 1]).partial_fit(second, [0, 1, 1])


def test_a_code_of_two_to_the_forty_takes_no_memory() -> None:
    x = np.array([[0], [2**40], [0], [2**40], [2**40]])
    tracemalloc.start()
    model = NaiveBayes(Categorical()).fit(x, [0, 0, 0, 1, 1])
    proba = model.predict_proba(x[:2])
    assert_allclose(CategoricalNB().fit(x, [0, 0, 0, 1, 1]).predict_proba(x[:2]), proba, rtol=1e-14)
    with pytest.warns(UnseenLevelWarning, match="1099511627776"):
        CategoricalNB().fit(ROWS[:, :1].astype(int), LABELS).predict(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    joint = np.array([4 / 7, 3 / 7]) * [[3 / 5, 1 / 4], [2 / 5, 3 / 4]]
    assert_allclose(proba, joint / joint.sum(axis=1, keepdims=True), rtol=1e-14)
    assert peak < 20e6


def test_a_row_at_1e200_is_scored_by_the_tails() -> None:
    model = GaussianNB(prior=NormalInverseGamma(0, 1, 1, 1)).fit([[0.0], [0.0], [4.0]], [0, 0, 1])
    shape, count, scale, mean = np.array([[2, 1.5], [3, 2], [1, 5], [0, 2]])  # ssd / 2 + k n / (k + n) 16 / 2 = 4
    spread = 2 * scale * (1 + 1 / count)
    log_tail = stats.t(2 * shape).logpdf(0) - np.log(spread / (2 * shape)) / 2
    far = math.log(1e200) * 2 - np.log(spread)  # log of 1 + x**2 / spread, whose square is no float
    joint = np.log([3 / 5, 2 / 5]) + log_tail - (shape + 0.5) * far
    assert_allclose(model.predict_joint_log_proba([[1e200]])[0], joint, rtol=1e-12)
    near = np.log([3 / 5, 2 / 5]) + log_tail - (shape + 0.5) * np.log1p(mean**2 / spread)
    assert_allclose(model.predict_joint_log_proba([[1e-310], [-1e-310]]), [near, near], rtol=1e-13)


def test_1e200_alone_or_among_missing_cells_is_refused_by_column() -> None:
    with pytest.raises(ValueError, match=r"column 0 runs from 1e.200 to 1e.200"):
        GaussianNB().fit([[1e200, 0.0], [NAN, 1], [1e200, 7]], [0, 0, 1])


def answer(model: Any, x: Any) -> Array | None:
    """log p(y | x), or None where that is refused with a place."""
    try:
        return model.predict_log_proba(x)
    except ValueError as error:
        if not re.search(r"column|row 0", str(error)):
            raise
        return None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("tokens", [2**40, 2**62, 1e200, 1e308])
def test_a_row_of_huge_counts_is_answered_or_refused(tokens: float) -> None:
    words = MultinomialNB().fit([[1, 1], [1, 2], [4, 1]], [0, 0, 1])
    # Gamma(3 + n) / Gamma(7 + n) is 1 / ((n + 3) ... (n + 6)), and Gamma(5 + n) / Gamma(7 + n) half of its factors
    log_odds = math.log(2 / 3) + math.log(30 / 360) + math.log(tokens + 3) + math.log(tokens + 4)
    found = answer(words, [[tokens, 0]])
    assert found is None or found[0] @ [-1, 1] == pytest.approx(log_odds, rel=1e-3)
    found = answer(PoissonNB().fit([[1, 1], [1, 2], [4, 1]], [0, 0, 1]), [[tokens, 0]])
    assert found is None or found[0, 1] == pytest.approx(0, abs=1e-9)
    for preset in (MultinomialNB, PoissonNB):
        found = answer(preset().fit([[1, 1], [1, 2], [4, 1]], [0, 0, 1]), [[tokens, tokens]])
        assert found is None or np.exp(found).sum() == pytest.approx(1)


def test_probabilities_sum_to_one_where_log_densities_are_huge() -> None:
    model = PoissonNB(prior=Gamma(1, 1)).fit(np.array([[2**62], [2**62]]), [0, 1])
    assert_allclose(model.predict_proba([[1]]), [[0.5, 0.5]])


def test_weights_of_1e200_are_certainty_and_weights_of_1e_310_are_the_prior() -> None:
    x, y = [[0.0], [1], [4], [5]], [0, 0, 1, 1]
    certain = stats.norm.logpdf([[1.0], [2.5]], [0.5, 4.5], 0.5) + math.log(0.5)
    assert_allclose(GaussianNB().fit(x, y, [1e200] * 4).predict_joint_log_proba([[1.0], [2.5]]), certain, rtol=1e-12)
    assert_allclose(GaussianNB().fit(x, y, [1e-310] * 4).predict_proba([[1.0]]), [[0.5, 0.5]], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    ("dtype", "top"),
    [("uint8", 255), ("int8", 127), ("uint16", 65535), ("int16", 32767), ("float16", 2048), ("float32", 2**14 + 1)],
)
def test_a_narrow_type_of_number_changes_no_digit(preset: Any, dtype: str, top: int) -> None:
    x = np.array([[top, 1], [top - 1, 0], [3, top], [top, top], [0, top - 1]], dtype)
    y = [0, 0, 1, 1, 0]
    narrow, clean = preset().fit(x, y), preset().fit(x.astype(float), y)
    exact = clean.predict_joint_log_proba(x.astype(float))
    assert np.isfinite(exact).all()
    assert_allclose(narrow.predict_joint_log_proba(x), exact, rtol=1e-12)
    assert_allclose(narrow.log_evidence_, clean.log_evidence_, rtol=1e-12)


@pytest.mark.parametrize("preset", [BernoulliNB, GaussianNB, MultinomialNB, PoissonNB])
def test_sums_of_int64_do_not_overflow(preset: Any) -> None:
    x, y = np.array([[2**62, 1], [2**62, 0], [2**62, 2], [3, 2**62]]), [0, 0, 0, 1]
    new = np.array([[1, 1], [2, 0], [2**62, 2**62]])
    whole, clean = preset().fit(x, y), preset().fit(x.astype(float), y)
    assert_allclose(whole.predict_joint_log_proba(new), clean.predict_joint_log_proba(new.astype(float)), rtol=1e-12)
    sums = {MultinomialNB: "counts", PoissonNB: "events"}
    if preset in sums:
        seen = getattr(whole.stats_.blocks[0], sums[preset]).reshape(2, 2)
        assert_array_equal(seen, [[3 * 2.0**62, 3], [3, 2.0**62]])


def memory_mapped(x: Array, folder: Path) -> Array:
    np.save(folder / "x.npy", x)
    return np.load(folder / "x.npy", mmap_mode="r")


def read_only(x: Array, folder: Path) -> Array:
    x = x.copy()
    x.setflags(write=False)
    return x


def strided(x: Array, folder: Path) -> Array:
    wide = np.full((2 * len(x), 3 * x.shape[1]), 77.0)
    wide[::2, ::3] = x
    return wide[::2, ::3]


LAYOUTS: tuple[Callable[[Array, Path], Any], ...] = (
    memory_mapped,
    read_only,
    strided,
    lambda x, folder: np.asfortranarray(x),
    lambda x, folder: x[::-1].copy()[::-1],
    lambda x, folder: x.astype(">f8"),
    lambda x, folder: np.ma.array(x, mask=False),
    lambda x, folder: x.astype(int).tolist(),
    lambda x, folder: pd.DataFrame(x).rename(columns=str),
    lambda x, folder: pl.from_numpy(x),
)
KINDS = [
    "memory-mapped",
    "read-only",
    "strided",
    "fortran",
    "reversed",
    "big-endian",
    "masked",
    "list",
    "pandas",
    "polars",
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=KINDS)
@pytest.mark.parametrize(
    "model", [*(preset() for preset in PRESETS), NaiveBayes(Categorical()), NaiveBayes(Gaussian())]
)
def test_how_the_numbers_lie_in_memory_changes_nothing(model: Any, layout: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    x, y, weight = rng.integers(0, 4, (50, 3)).astype(float), rng.integers(0, 2, 50), rng.uniform(0.5, 2, 50)
    clean = model.fit(x, y, weight).predict_joint_log_proba(x)
    evidence = model.log_evidence_
    odd = layout(x, tmp_path)
    for y_read in (y, np.repeat(y, 2)[::2], read_only(y, tmp_path)):
        again = model.fit(odd, y_read, np.repeat(weight, 2)[::2])
        assert_allclose(again.predict_joint_log_proba(odd), clean, rtol=1e-13)
        assert_allclose(again.log_evidence_, evidence, rtol=1e-13)


def test_masked_cells_are_missing_cells() -> None:
    x, hole = np.array([[1, 2], [3, 4], [5, 6], [7, 8]]), np.array([[0, 1], [0, 0], [1, 0], [0, 0]], bool)
    with_nan = np.where(hole, NAN, x)
    for model in (GaussianNB(), PoissonNB(), BernoulliNB(binarize=4)):
        expected = model.fit(with_nan, LABELS).predict_joint_log_proba(with_nan)
        masked = np.ma.array(x, mask=hole)
        assert_array_equal(model.fit(masked, LABELS).predict_joint_log_proba(masked), expected)
    words = np.ma.array([["a"], ["b"], ["a"]], mask=[[0], [1], [0]])
    assert_array_equal(NaiveBayes().fit(words, [0, 0, 1]).posterior_[0].concentration, [[2], [2]])


# Frames.

SIZE = [1.0, 2.5, None, 4.0, 7.0, 6.0]
FLAG = [True, None, False, True, False, False]
COLOUR = ["red", "blue", None, "red", "blue", "blue"]
CLASSES = np.array([0, 0, 0, 1, 1, 1])


def by_hand(size: Any, flag: Any, colour: Any, levels: int = 2) -> list[float]:
    """log p(x, y) of a row under the default priors, cell by cell; None is silent."""
    seen = np.array([value for value in SIZE if value is not None])
    joint = []
    for label in (0, 1):
        own = [[value for value, c in zip(column, CLASSES, strict=True) if c == label and value is not None]
               for column in (SIZE, FLAG, COLOUR)]  # fmt: skip
        n, mean = len(own[0]), np.mean(own[0])
        count, scale = (
            0.01 + n,
            seen.var() + n * np.var(own[0]) / 2 + 0.01 * n / (0.01 + n) * (mean - seen.mean()) ** 2 / 2,
        )
        shape, location = 1 + n / 2, (0.01 * seen.mean() + n * mean) / count
        log_joint = math.log((1 + 3) / (2 + 6))
        if size is not None:
            log_joint += stats.t(2 * shape, location, math.sqrt(scale * (1 + 1 / count) / shape)).logpdf(size)
        if flag is not None:
            log_joint += math.log((own[1].count(flag) + 1) / (len(own[1]) + 2))
        if colour is not None:
            log_joint += math.log((own[2].count(colour) + 1) / (len(own[2]) + levels))
        joint.append(log_joint)
    return joint


def pandas_frame(colour: Any = "string") -> pd.DataFrame:
    """Nullable columns."""
    columns = {"size": pd.array(SIZE, dtype="Float64"), "flag": pd.array(FLAG, dtype="boolean")}
    return pd.DataFrame(columns | {"colour": pd.Series(COLOUR, dtype=colour)})


def polars_frame(colour: Any = pl.String) -> pl.DataFrame:
    return pl.DataFrame({"size": SIZE, "flag": FLAG, "colour": pl.Series(COLOUR, dtype=colour)})


def arrow_table(*, dictionary: bool = False) -> pa.Table:
    colour = pa.array(COLOUR)
    return pa.table({"size": SIZE, "flag": FLAG, "colour": colour.dictionary_encode() if dictionary else colour})


FOUR = ["blue", "green", "red", "violet"]
FRAMES = {
    "pandas nullable": (pandas_frame(), 2),
    "pandas object": (pandas_frame(object), 2),
    "pandas pyarrow": (pandas_frame().convert_dtypes(dtype_backend="pyarrow"), 2),
    "pandas categorical": (pandas_frame("category"), 2),
    "pandas categorical with unused levels": (pandas_frame(pd.CategoricalDtype(FOUR)), 4),
    "pandas ordered categorical": (pandas_frame(pd.CategoricalDtype(FOUR, ordered=True)), 4),
    "polars": (polars_frame(), 2),
    "polars categorical": (polars_frame(pl.Categorical), 2),
    "polars enum with unused levels": (polars_frame(pl.Enum(FOUR)), 4),
    "pyarrow": (arrow_table(), 2),
    "pyarrow dictionary": (arrow_table(dictionary=True), 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("labels", [CLASSES, pl.Series(CLASSES), pa.chunked_array([CLASSES]), pd.Series(CLASSES)])
def test_a_frame_with_missing_cells_is_answered_as_by_hand(kind: str, labels: Any) -> None:
    frame, levels = FRAMES[kind]
    expected = [by_hand(*row, levels) for row in zip(SIZE, FLAG, COLOUR, strict=True)]
    model = NaiveBayes(**plainly(frame)).fit(frame, labels)
    assert [type(family) for family in model.families_.values()] == [Gaussian, Bernoulli, Categorical]
    assert_allclose(model.predict_joint_log_proba(frame), expected, rtol=1e-12)


@pytest.mark.parametrize("integer", ["Int64", "UInt8", "int64[pyarrow]"])
def test_nullable_integers_are_numbers(integer: str) -> None:
    frame = pd.DataFrame({"n": pd.array([250, None, 255, 9], dtype=integer)})
    floats = np.array([[250.0], [NAN], [255], [9]])
    for model in (GaussianNB(), PoissonNB()):
        expected = model.fit(floats, LABELS).predict_joint_log_proba(floats)
        assert_allclose(model.fit(frame, LABELS).predict_joint_log_proba(frame), expected, rtol=1e-13)


NEW = ["purple", "red", "purple", "grey", None, "blue"]


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, pa.table])
def test_unseen_levels_are_ignored_with_a_warning_that_counts_them(container: Any) -> None:
    model = NaiveBayes({"size": "gaussian", "colour": Categorical()})
    model.fit(container({"size": SIZE, "colour": COLOUR}), CLASSES)
    with pytest.warns(UnseenLevelWarning) as caught:
        proba = model.predict_joint_log_proba(container({"size": SIZE, "colour": NEW}))
    assert len(caught) == 1
    for said in ("column 'colour'", "'purple' (2 times)", "'grey' (1 times)"):
        assert said in str(caught[0].message)
    known = [colour if colour in COLOUR else None for colour in NEW]
    assert_allclose(proba, [by_hand(size, None, colour) for size, colour in zip(SIZE, known, strict=True)], rtol=1e-12)


def test_unseen_levels_are_an_error_where_that_is_asked_for() -> None:
    model = NaiveBayes({"colour": Categorical(unseen="error")}).fit(pd.DataFrame({"colour": COLOUR}), CLASSES)
    before = arrays(model)
    with pytest.raises(ValueError, match=r"column 'colour' .*'purple' \(2 times\), 'grey' \(1 times\)"):
        model.predict(pd.DataFrame({"colour": NEW}))
    declared = NaiveBayes(Categorical(levels=["red", "blue"], unseen="error"))
    with pytest.raises(ValueError, match=r"column 'colour' .*'purple' \(2 times\)"):
        declared.fit(pd.DataFrame({"colour": NEW}), CLASSES)
    for was, now in zip(before, arrays(model), strict=True):
        assert_array_equal(now, was)


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_reserved_level_holds_whatever_is_new(container: Any) -> None:
    model = NaiveBayes({"colour": Categorical(0.5, unseen="reserve")}).fit(container({"colour": COLOUR}), CLASSES)
    share = {"purple": [0.5, 0.5], "red": [1.5, 1.5], "blue": [1.5, 2.5]}
    expected = [
        np.array(share.get(colour or "", [0.5, 0.5])) / [3.5, 4.5] / 2 if colour else [0.5, 0.5] for colour in NEW
    ]
    assert_allclose(np.exp(model.predict_joint_log_proba(container({"colour": NEW}))), expected, rtol=1e-13)
    declared = NaiveBayes(Categorical(levels=["red"], unseen="reserve")).fit(container({"colour": COLOUR}), CLASSES)
    assert_array_equal(declared.posterior_["colour"].concentration, [[2, 2], [2, 3]])


def test_levels_declared_by_a_dtype_are_known_before_they_are_seen() -> None:
    frame = polars_frame(pl.Enum(FOUR))
    model = NaiveBayes({"colour": Categorical(unseen="error")}).fit(frame, CLASSES)
    green = pl.DataFrame({"size": [None], "flag": [None], "colour": ["green"]}, schema=frame.schema)
    assert_allclose(np.exp(model.predict_joint_log_proba(green)), [[1 / 6 / 2, 1 / 7 / 2]], rtol=1e-13)


@pytest.mark.parametrize("levels", [(0.5, 1.0), (-1.5, -1.0, 0.25), (True, 0.5)])
def test_levels_that_are_partly_fractions_are_found_among_integers(levels: tuple) -> None:
    model = NaiveBayes(Categorical(levels=levels)).fit(np.array(levels)[:, None], [0, 1, 1][: len(levels)])
    whole = [int(level) for level in levels if float(level).is_integer()]
    found = model.predict_proba(np.array(whole)[:, None])
    assert_array_equal(found, model.predict_proba(np.array(whole, float)[:, None]))


@pytest.mark.parametrize("family", [Categorical(), JointTable()])
def test_a_level_that_is_not_known_is_told_beside_a_column_without_any_cell(family: Any) -> None:
    learnt = pd.DataFrame({"site": ["wood", "field"], "slope": ["flat", "steep"]}, dtype=object)
    model = NaiveBayes(family).fit(learnt, ["u", "v"])
    row = pd.DataFrame({"site": ["town"], "slope": [None]}, dtype=object)
    with pytest.raises(ValueError, match=r"column 'site'.*'town' \(1 times\).*never learnt"):
        model.forget(row, ["u"])
    with pytest.warns(UnseenLevelWarning, match="'town'"):
        assert_array_equal(model.predict_proba(row), [[0.5, 0.5]])


TOO_MUCH = r"sample_weight sums to .*overflow|add up to .*overflow"


@pytest.mark.parametrize("preset", PRESETS)
def test_weights_whose_sums_would_overflow_are_refused_before_they_are_learnt(preset: Any) -> None:
    heavy, much = [8e307, 1, 1, 1], [1, 6e302, 1, 1]
    column = ROWS[:, :1]
    for learn in ("fit", "partial_fit"):
        refuses(preset(), learn, ROWS, LABELS, heavy, TOO_MUCH)
        refuses(preset(), learn, ROWS, LABELS, [8e307] * 4, TOO_MUCH)
    model = preset().fit(column, LABELS, sample_weight=much)
    assert math.isfinite(model.log_evidence_)
    assert np.isfinite(model.predict_joint_log_proba(column)).all()
    before = arrays(model)
    with pytest.raises(ValueError, match=TOO_MUCH):
        model.partial_fit(column, LABELS, sample_weight=much)
    with pytest.raises(ValueError, match=TOO_MUCH):
        model.merge(preset().fit(column, LABELS, sample_weight=much))
    for was, now in zip(before, arrays(model), strict=True):
        assert_array_equal(now, was)


@pytest.mark.parametrize(
    "make",
    [
        lambda c: NaiveBayes(class_prior=c),
        lambda c: NaiveBayes(class_prior=Dirichlet([c, 1.0])),
        lambda c: NaiveBayes(Categorical(c)),
        lambda c: NaiveBayes(Categorical(c), average_features=0.9),
        lambda c: NaiveBayes(Multinomial(c)),
        lambda c: NaiveBayes(Bernoulli(c)),
        lambda c: NaiveBayes(Poisson(Gamma(c, 1))),
        lambda c: NaiveBayes(Gaussian(NormalInverseGamma(0, 1, 1, c))),
        lambda c: NaiveBayes(Gaussian(NormalInverseGamma(c / 1e150, 1, 1, 1))),
        lambda c: NaiveBayes(JointTable(c)),
    ],
)
def test_parameters_of_a_prior_that_would_overflow_are_refused_at_fit(make: Any) -> None:
    with pytest.raises(ValueError, match=r"overflow|must be finite and from -1e\+150"):
        make(1e305).fit(ROWS, LABELS)
    model = make(1e290).fit(ROWS, LABELS)
    assert math.isfinite(model.log_evidence_)
    assert_allclose(model.predict_proba(ROWS).sum(axis=1), 1)


def test_a_number_that_a_prior_repeats_for_all_words_counts_once_for_each() -> None:
    counts = sparse.csr_array(np.eye(4, 100))
    with pytest.raises(ValueError, match="overflow"):
        NaiveBayes(Multinomial(Dirichlet(1e301))).fit(counts, LABELS)
    assert NaiveBayes(Multinomial(Dirichlet(1e300))).fit(counts, LABELS).classes_.tolist() == sorted(set(LABELS))


def test_many_words_are_not_asked_one_by_one_whether_they_are_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparseTable, "has_lists", lambda table, column: pytest.fail(f"word {column} was asked"))
    counts = sparse.csr_array(np.eye(4, 100))
    assert NaiveBayes(Multinomial()).fit(counts, LABELS).predict(counts).tolist() == list(LABELS)


@pytest.mark.parametrize("dtype", [np.uint64, object])
def test_levels_and_labels_beyond_64_bits_are_read_as_any_others(dtype: Any) -> None:
    large = 2**64 - 2 if dtype is np.uint64 else 2**80
    small, wide = np.array([[0], [1], [0], [1]]), np.array([[large], [large + 1], [large], [large + 1]], dtype)
    expected = NaiveBayes(Categorical()).fit(small, LABELS)
    model = NaiveBayes(Categorical()).fit(wide, LABELS)
    assert_array_equal(model.predict_proba(wide), expected.predict_proba(small))
    assert_array_equal(
        model.partial_fit(wide, LABELS).predict(wide), expected.partial_fit(small, LABELS).predict(small)
    )
    with pytest.warns(UnseenLevelWarning, match="column 0.*7"):
        assert_allclose(model.predict_proba([[7]]), [[0.5, 0.5]])
    lowest = NaiveBayes(Categorical()).fit(-wide.astype(object), LABELS)
    assert_array_equal(
        lowest.predict_proba(-wide.astype(object)), NaiveBayes(Categorical()).fit(-small, LABELS).predict_proba(-small)
    )


@pytest.mark.parametrize("first", [-1, -2, 2**61 - 2, 2**80])
def test_consecutive_integers_are_levels_wherever_they_begin(first: int) -> None:
    table = pd.DataFrame({"level": [first, first + 1, first + 2] * 2})
    model, expected = NaiveBayes(Categorical()), NaiveBayes(Categorical())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        proba = model.fit(table, list("xyzxyz")).predict_proba(table)
    assert_array_equal(
        proba, expected.fit([["a"], ["b"], ["c"]] * 2, list("xyzxyz")).predict_proba([["a"], ["b"], ["c"]] * 2)
    )


@pytest.mark.parametrize("least", [3.5, -2, [2, 2.5], [3, -1], [3, 3, 3], "many", True, [[3, 3]]])
def test_a_least_number_of_categories_is_a_whole_number_or_one_for_each_column(least: Any) -> None:
    with pytest.raises(ValueError, match="min_categories"):
        CategoricalNB(min_categories=least).fit(ROWS, LABELS)


def test_classes_that_are_declared_twice_are_refused() -> None:
    for ask in (
        lambda: GaussianNB().partial_fit(ROWS, LABELS, classes=[0, 1, 1]),
        lambda: GaussianNB(classes=[0, 1, 0]).fit(ROWS, LABELS),
        lambda: GaussianNB().fit(ROWS, LABELS).partial_fit(ROWS, LABELS, classes=[0, 1, 1]),
        lambda: GaussianNB().fit(ROWS, LABELS).partial_fit(ROWS, LABELS, classes=[0, 1, 1], grow_classes=True),
    ):
        with pytest.raises(ValueError, match=r"classes: \[[01]\] are listed more than once"):
            ask()


HOUSES = pd.DataFrame(
    {"price": [1.0, 2.0, 3.0, 4.0], "Rooms": [1, 2, 2, 3], "town": list("abab"), "flag": [0, 1, 1, 0]}
)


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ("gausian", "there is no family 'gausian'; did you mean 'gaussian'[?]"),
        ({"town": "Categorical"}, "no family 'Categorical'; did you mean 'categorical'[?]"),
        ({"town": "JointTable"}, "did you mean 'joint'[?]"),
        ({("price", "Rooms"): "MultivariateGaussian"}, "did you mean 'multivariate'[?]"),
        ({"price": "normal"}, "did you mean 'gaussian'[?]"),
        ({"price": "Drop"}, "did you mean 'drop'[?]"),
        (
            {"town": "dirichlet"},
            "no family 'dirichlet': Dirichlet is a prior, of the family categorical or multinomial",
        ),
        ({"price": "Gamma"}, "no family 'Gamma': Gamma is a prior, of the family poisson"),
        ({"price": "poisson:shared"}, "there are gaussian:shared and multivariate:shared, which have one variance"),
        ({"price": "xyzzy"}, "there is no family 'xyzzy'; there are 'categorical', 'bernoulli'.*and 'drop'"),
        ({"prise": "gaussian"}, "the table has no column 'prise'; did you mean 'price'[?]"),
        ({"rooms": "gaussian"}, "the table has no column 'rooms'; did you mean 'Rooms'[?]"),
        ({("price", "room"): "multivariate"}, "the table has no column 'room'; did you mean 'Rooms'[?]"),
        ({"xyzzy": "gaussian"}, "the table has no column 'xyzzy'; it has 'price', 'Rooms', 'town', 'flag'[.]"),
        ({3: "gaussian"}, "the table has no column 3; it has"),
    ],
)
def test_a_misspelt_family_or_column_says_which_may_be_meant(families: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NaiveBayes(families).fit(HOUSES, [0, 1, 0, 1])


@pytest.mark.parametrize(
    "names",
    [
        {"price": "gaussian", "Rooms": "poisson", "town": "categorical", "flag": "bernoulli"},
        {("price", "Rooms"): "multivariate", ("town", "flag"): "joint"},
        {("price", "Rooms"): "multivariate:shared", "town": "drop", "flag": None},
        {("Rooms", "flag"): "multinomial", "price": "polyatree", "town": "categorical"},
        {"price": "gaussian:shared", "Rooms": "drop", "town": "drop", "flag": "drop"},
    ],
)
def test_every_name_of_a_family_is_that_family(names: dict) -> None:
    instances = {
        key: None
        if name in (None, "drop")
        else FAMILIES[name.partition(":")[0]](**{"shared": True} if ":" in name else {})
        for key, name in names.items()
    }
    named, made = (NaiveBayes(each).fit(HOUSES, [0, 1, 0, 1]) for each in (names, instances))
    assert repr(named.families_) == repr(made.families_)
    assert named.log_evidence_ == made.log_evidence_


def test_a_renamed_column_is_named_when_rows_are_predicted() -> None:
    model = NaiveBayes("gaussian").fit(HOUSES[["price", "Rooms"]], [0, 1, 0, 1])
    renamed = HOUSES[["price", "Rooms"]].rename(columns={"Rooms": "rooms"})
    with pytest.raises(ValueError, match=r"feature names should match(.|\n)*X\.rename\(columns=\{'rooms': 'Rooms'\}\)"):
        model.predict(renamed)
    with pytest.raises(ValueError, match="feature names should match") as other:
        model.predict(HOUSES[["price", "town"]])
    assert "rename" not in str(other.value)
    assert model.predict(renamed.rename(columns={"rooms": "Rooms"})).shape == (4,)


@pytest.mark.parametrize("families", ["drop", None])
def test_to_drop_all_columns_leaves_nothing_to_learn_from(families: str | None) -> None:
    with pytest.raises(ValueError, match="'drop', or None, for all columns leaves nothing to learn from"):
        NaiveBayes(families).fit([[1.5], [2.5]], ["u", "v"])


ODD_CELLS: dict[str, Any] = {
    "a signaling NaN": pd.Series([Decimal(1), Decimal("sNaN"), Decimal(2), Decimal(2)], dtype=object),
    "an integer of 400 digits": pd.Series([1, 10**400, 2, 2], dtype=object),
}


@pytest.mark.parametrize("cells", ODD_CELLS.values(), ids=ODD_CELLS)
@pytest.mark.parametrize("container", [pd.DataFrame, lambda columns: columns["x"].to_numpy()[:, None]])
def test_a_cell_that_no_float_can_hold_is_named(container: Any, cells: Any) -> None:
    with pytest.raises(ValueError, match=r"column (.x.|0): a cell of the type .* first at row 1"):
        GaussianNB().fit(container({"x": cells}), LABELS)
    with pytest.raises(ValueError, match="sample_weight must be numbers"):
        GaussianNB().fit(ROWS, LABELS, sample_weight=cells.tolist())


TEXT = ["u", "v", "u", "u"]
UNUSUAL_TYPES = {
    "runs of text": (
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 4], pa.int32()), pa.array(["u", "v", "u"])),
        TEXT,
    ),
    "runs of numbers": (
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 4], pa.int32()), pa.array([1.5, 2])),
        [1.5, 2, 2, 2],
    ),
    "views of text": (pa.array(TEXT, pa.string_view()), TEXT),
    "wide integers": (pl.Series([1, 2, 3, 3], dtype=pl.Int128), [1, 2, 3, 3]),
    "views of text in pandas": (pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string_view())), TEXT),
}


@pytest.mark.parametrize(("column", "plain"), UNUSUAL_TYPES.values(), ids=UNUSUAL_TYPES)
def test_unusual_types_of_columns_are_read_and_saved(column: Any, plain: list, tmp_path: Path) -> None:
    library = {pl.Series: pl.DataFrame, pd.Series: pd.DataFrame}.get(type(column), pa.table)
    x, model = library({"x": column}), NaiveBayes({"x": "categorical" if plain is TEXT else "gaussian"})
    usual = clone(model).fit(pd.DataFrame({"x": plain}), LABELS).predict_proba(pd.DataFrame({"x": plain}))
    loaded = load(model.fit(x, LABELS).save(tmp_path / "model.bnb") or tmp_path / "model.bnb")
    assert_allclose(loaded.predict_proba(x), usual, rtol=1e-12)


@pytest.mark.parametrize("values", [pa.array([1, 2, 1, 2]), pa.array([Decimal(1), Decimal(2)] * 2)])
@pytest.mark.parametrize("family", [None, "categorical"])
def test_an_arrow_dictionary_without_text_is_refused_at_fit(family: Any, values: Any) -> None:
    column = values.dictionary_encode()
    for x in (pa.table({"x": column}), pd.DataFrame({"x": pd.Series(column, dtype=pd.ArrowDtype(column.type))})):
        with pytest.raises(ValueError, match="column 'x' is an Arrow dictionary of"):
            (NaiveBayes() if family is None else NaiveBayes(family)).fit(x, LABELS)


def test_an_array_of_mixed_types_of_arrow_is_refused() -> None:
    parts = [pa.array([1, 2]), pa.array(["a", "b"])]
    mixed = pa.UnionArray.from_dense(pa.array([0, 1, 0, 1], pa.int8()), pa.array([0, 0, 1, 1], pa.int32()), parts)
    with pytest.raises(TypeError, match=r"column .x. holds dense_union.*cannot be read"):
        GaussianNB().fit(pa.table({"x": mixed}), LABELS)


DENORMAL: dict[str, Callable[[], Any]] = {
    "Dirichlet": lambda: Dirichlet([1.0, 1e-310]),
    "Beta": lambda: Bernoulli(5e-324).prior,
    "Gamma": lambda: Gamma(1e-320, 1.0),
    "NormalInverseGamma": lambda: NormalInverseGamma(0, 1, 1e-320, 1),
    "class prior": lambda: NaiveBayes(class_prior=1e-310).fit(ROWS, LABELS),
}


@pytest.mark.parametrize("declare", DENORMAL.values(), ids=DENORMAL)
def test_a_parameter_whose_gamma_function_overflows_is_refused(declare: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"must be 0 or at least 2\.23e-308"):
        declare()
    assert math.isfinite(NaiveBayes(Categorical(2.3e-308)).fit(ROWS, LABELS).log_evidence_)


def test_one_large_code_costs_no_table_of_all_codes_below_it() -> None:
    x = np.random.default_rng(0).integers(0, 5, (100, 3))
    x[7] = 5_000_000
    tracemalloc.start()
    model = CategoricalNB().fit(x, np.arange(100) % 2)
    joint = model.predict_joint_log_proba(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6
    assert model.n_categories_.tolist() == [6, 6, 6]
    text = CategoricalNB().fit(x.astype(str), np.arange(100) % 2)
    assert_allclose(joint, text.predict_joint_log_proba(x.astype(str)), rtol=1e-12)
    batches = (
        CategoricalNB(classes=[0, 1]).partial_fit(x[:7], np.arange(7) % 2).partial_fit(x[7:], np.arange(7, 100) % 2)
    )
    assert_allclose(batches.predict_joint_log_proba(x), joint, rtol=1e-12)
