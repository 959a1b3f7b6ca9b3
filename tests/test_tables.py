"""Any table is seen one way: containers, types, levels, missing cells, and how numbers lie in
memory.
"""

import gc
import math
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats

from bayesnb import (
    BernoulliNB,
    Categorical,
    CategoricalNB,
    Dirichlet,
    GaussianNB,
    JointTable,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    UnseenLevelWarning,
    load,
)

SIZE = [1.0, 2.5, None, 4.0, 7.0, 6.0]
FLAG = [True, None, False, True, False, False]
COLOUR = ["red", "blue", None, "red", "blue", "blue"]
CLASSES = np.array([0, 0, 0, 1, 1, 1])
PLAIN = {"size": "gaussian", "flag": "bernoulli", "colour": "categorical"}


def score_by_hand(size: Any, flag: Any, colour: Any, levels: int = 2) -> list[float]:
    """Return log p(x, y) of a row under the default priors, cell by cell; None is silent."""
    pooled = np.array([value for value in SIZE if value is not None])
    joint = []
    for label in (0, 1):
        sizes, flags, colours = (
            [column[i] for i in range(6) if CLASSES[i] == label and column[i] is not None]
            for column in (SIZE, FLAG, COLOUR)
        )
        n = len(sizes)
        mean = np.mean(sizes)
        count = 0.01 + n
        scale = pooled.var() + n * np.var(sizes) / 2
        scale += 0.01 * n / count * (mean - pooled.mean()) ** 2 / 2
        shape = 1 + n / 2
        location = (0.01 * pooled.mean() + n * mean) / count
        score = math.log(0.5)
        if size is not None:
            width = math.sqrt(scale * (1 + 1 / count) / shape)
            score += stats.t(2 * shape, location, width).logpdf(size)
        if flag is not None:
            score += math.log((flags.count(flag) + 1) / (len(flags) + 2))
        if colour is not None:
            score += math.log((colours.count(colour) + 1) / (len(colours) + levels))
        joint.append(score)
    return joint


def pandas_frame(colour: Any = "string") -> pd.DataFrame:
    columns = {"size": pd.array(SIZE, dtype="Float64"), "flag": pd.array(FLAG, dtype="boolean")}
    return pd.DataFrame(columns | {"colour": pd.Series(COLOUR, dtype=colour)})


def polars_frame(colour: Any = pl.String) -> pl.DataFrame:
    return pl.DataFrame({"size": SIZE, "flag": FLAG, "colour": pl.Series(COLOUR, dtype=colour)})


FOUR = ["blue", "green", "red", "violet"]
ARROW = pa.table({"size": SIZE, "flag": FLAG, "colour": COLOUR})
FRAMES = {
    "pandas": (pandas_frame(), 2),
    "pandas, objects": (pandas_frame(object), 2),
    "pandas, arrow": (pandas_frame().convert_dtypes(dtype_backend="pyarrow"), 2),
    "pandas, categorical with unused levels": (pandas_frame(pd.CategoricalDtype(FOUR)), 4),
    "polars": (polars_frame(), 2),
    "polars, categorical": (polars_frame(pl.Categorical), 2),
    "polars, enum with unused levels": (polars_frame(pl.Enum(FOUR)), 4),
    "arrow": (ARROW, 2),
    "arrow, dictionary": (ARROW.set_column(2, "colour", pa.array(COLOUR).dictionary_encode()), 2),
    "arrow, batch": (ARROW.to_batches()[0], 2),
    "narwhals": (nw.from_native(polars_frame()), 2),
    "lists": ([list(row) for row in zip(SIZE, FLAG, COLOUR, strict=True)], 2),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_with_missing_cells_is_answered_as_by_hand(kind: str) -> None:
    frame, levels = FRAMES[kind]
    families: Any = PLAIN
    if kind == "lists":
        families = dict(enumerate(PLAIN.values()))
    model = NaiveBayes(families).fit(frame, CLASSES)
    rows = zip(SIZE, FLAG, COLOUR, strict=True)
    expected = [score_by_hand(*row, levels) for row in rows]
    assert_allclose(model.predict_joint_log_proba(frame), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "labels", [pl.Series(CLASSES), pa.chunked_array([CLASSES]), pd.Series(CLASSES)]
)
def test_labels_come_from_any_library(labels: Any) -> None:
    one, two = (NaiveBayes(PLAIN).fit(pandas_frame(), y) for y in (labels, CLASSES))
    assert_array_equal(one.predict(pandas_frame()), two.predict(pandas_frame()))


def test_what_a_column_holds_says_its_family() -> None:
    rows = [[1.5, "a", True], [2.5, "b", False], [None, "a", True], [0.5, None, None]]
    for table in (rows, np.array(rows, dtype=object)):
        families = NaiveBayes().fit(table, [0, 0, 1, 1]).families_.values()
        assert [type(each).__name__ for each in families] == [
            "Histogram",
            "Categorical",
            "Bernoulli",
        ]


def test_the_names_of_a_labelled_array_are_read() -> None:
    x = np.column_stack([CLASSES, -CLASSES]) + np.arange(12).reshape(6, 2) / 7
    coords = {"when": np.arange(6) + 100, "what": ["far", "near"]}
    rows = xr.DataArray(x, dims=["when", "what"], coords=coords)
    model = GaussianNB().fit(rows, CLASSES)
    assert list(model.posterior_) == ["far", "near"]
    assert model.uncertainty(rows[:3]).obs_id.values.tolist() == [100, 101, 102]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(rows[:, ::-1])


# Levels

NEW = ["purple", "red", "purple", "grey", None, "blue"]


def test_unseen_levels_are_silent_with_one_warning_that_counts_them() -> None:
    model = NaiveBayes({"size": "gaussian", "colour": "categorical"})
    model.fit(pd.DataFrame({"size": SIZE, "colour": COLOUR}), CLASSES)
    with pytest.warns(UnseenLevelWarning) as caught:
        joint = model.predict_joint_log_proba(pd.DataFrame({"size": SIZE, "colour": NEW}))
    assert len(caught) == 1
    for words in ("column 'colour'", "'purple' (2 times)", "'grey' (1 times)"):
        assert words in str(caught[0].message)
    known = [colour if colour in COLOUR else None for colour in NEW]
    expected = [score_by_hand(size, None, colour) for size, colour in zip(SIZE, known, strict=True)]
    assert_allclose(joint, expected, rtol=1e-12)


def test_unseen_levels_are_an_error_where_that_is_asked_for() -> None:
    model = NaiveBayes({"colour": Categorical(unseen="error")})
    model.fit(pd.DataFrame({"colour": COLOUR}), CLASSES)
    with pytest.raises(
        ValueError, match=r"column 'colour' .*'purple' \(2 times\), 'grey' \(1 times\)"
    ):
        model.predict(pd.DataFrame({"colour": NEW}))


def test_a_reserved_level_holds_whatever_is_new() -> None:
    model = NaiveBayes({"colour": Categorical(0.5, unseen="reserve")})
    model.fit(pd.DataFrame({"colour": COLOUR}), CLASSES)
    joint = model.predict_joint_log_proba(pd.DataFrame({"colour": ["purple", "red", "blue", None]}))
    counts = np.array([[0.5, 0.5], [1.5, 1.5], [1.5, 2.5]])
    assert_allclose(np.exp(joint[:3]), counts / [3.5, 4.5] / 2, rtol=1e-13)
    assert_allclose(np.exp(joint[3]), [0.5, 0.5])


def test_declared_levels_count_even_if_they_are_never_seen() -> None:
    said = NaiveBayes(Categorical(levels=["w", "u", "v"])).fit([["u"], ["v"], ["u"]], [0, 0, 1])
    assert said.posterior_[0].concentration.tolist() == [[1, 2, 2], [1, 2, 1]]
    for levels in (("u", "v", "w"), np.array(["u", "v", "w"]), pd.Index(["u", "v", "w"])):
        model = NaiveBayes(Categorical(levels=levels)).fit([["u"], ["v"]], [0, 1])
        assert model.posterior_[0].mean().shape == (2, 3)


@pytest.mark.parametrize(
    "levels",
    [
        (True, False),
        (3, 10**18),
        (0.5, 1.0),
        ("x", "y"),
        (b"x", b"y"),
        (2**64 - 2, 2**64 - 1),
        (-(2**80), 2**80),
    ],
)
def test_levels_of_any_type_are_levels(levels: tuple) -> None:
    x = np.array([[levels[0]], [levels[1]], [levels[0]], [levels[1]]], dtype=object)
    model = NaiveBayes(Categorical()).fit(x, [0, 1, 0, 1])
    plain = NaiveBayes(Categorical()).fit([["a"], ["b"], ["a"], ["b"]], [0, 1, 0, 1])
    assert_array_equal(model.predict_proba(x), plain.predict_proba([["a"], ["b"], ["a"], ["b"]]))


@pytest.mark.parametrize("first", [-2, 2**61 - 2, 2**80])
def test_consecutive_integers_are_levels_wherever_they_begin(first: int) -> None:
    table = pd.DataFrame({"level": [first, first + 1, first + 2] * 2})
    letters = [["a"], ["b"], ["c"]] * 2
    with warnings.catch_warnings(action="error"):
        proba = NaiveBayes(Categorical()).fit(table, list("xyzxyz")).predict_proba(table)
    expected = NaiveBayes(Categorical()).fit(letters, list("xyzxyz")).predict_proba(letters)
    assert_array_equal(proba, expected)


def test_levels_of_later_batches_and_merged_models_are_those_of_all_rows() -> None:
    x = np.array([[0, 3], [1, 1], [4, 0], [2, 2], [1, 6], [0, 0]])
    y = [0, 1, 0, 1, 1, 0]
    whole = CategoricalNB().fit(x, y).predict_proba(x)
    one = CategoricalNB().fit(x[:3], y[:3])
    two = CategoricalNB().fit(x[3:], y[3:])
    for model in (one.merge(two), two.merge(one), one.partial_fit(x[3:], y[3:])):
        assert_array_equal(model.predict_proba(x), whole)


@pytest.mark.parametrize("family", [Categorical(), JointTable()])
def test_a_level_that_is_not_known_is_told_beside_a_column_without_any_cell(family: Any) -> None:
    learnt = pd.DataFrame({"site": ["wood", "field"], "slope": ["flat", "steep"]}, dtype=object)
    model = NaiveBayes(family).fit(learnt, ["u", "v"])
    row = pd.DataFrame({"site": ["town"], "slope": [None]}, dtype=object)
    with pytest.raises(ValueError, match=r"column 'site'.*'town' \(1 times\).*never learnt"):
        model.forget(row, ["u"])
    with pytest.warns(UnseenLevelWarning, match="'town'"):
        assert_array_equal(model.predict_proba(row), [[0.5, 0.5]])


def test_a_dictionary_of_arrow_has_levels_whatever_they_are() -> None:
    codes = pa.array([0, 1, 0, 1, None, 1])
    table = pa.table(
        {"a": pa.DictionaryArray.from_arrays(codes, pa.array([7, 9])), "b": np.arange(6.0)}
    )
    for families in ("auto", {"a": "gaussian", "b": "gaussian"}):
        model = NaiveBayes(families).fit(table, list("ababab"))
        of_pandas = NaiveBayes(families).fit(table.to_pandas(), list("ababab"))
        assert list(map(str, model.families_.values())) == list(
            map(str, of_pandas.families_.values())
        )
        assert_allclose(
            model.predict_proba(table), of_pandas.predict_proba(table.to_pandas()), rtol=1e-12
        )


def test_a_column_without_any_cell_says_nothing() -> None:
    expected = NaiveBayes(PLAIN).fit(pandas_frame(), CLASSES).predict_proba(pandas_frame())
    for empty in (None, np.nan, pd.NA):
        frame = pandas_frame().assign(none=empty)
        model = NaiveBayes(PLAIN | {"none": "gaussian"}).fit(frame, CLASSES)
        assert_allclose(model.predict_proba(frame), expected, rtol=1e-12)


# Types and memory

TEXT = ["u", "v", "u", "u"]
ENDS = pa.array([1, 2, 4], pa.int32())
UNUSUAL_TYPES = {
    "runs of text": (pa.RunEndEncodedArray.from_arrays(ENDS, pa.array(["u", "v", "u"])), TEXT),
    "runs of numbers": (
        pa.RunEndEncodedArray.from_arrays(ENDS, pa.array([1.5, 2, 3])),
        [1.5, 2, 3, 3],
    ),
    "views of text": (pa.array(TEXT, pa.string_view()), TEXT),
    "wide integers": (pl.Series([1, 2, 3, 3], dtype=pl.Int128), [1, 2, 3, 3]),
    "views of text in pandas": (pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string_view())), TEXT),
    "nullable integers": (pd.Series([250, None, 255, 9], dtype="UInt8"), [250, None, 255, 9]),
    "float32": (pd.Series([0.5, None, 3, 9], dtype="float32"), [0.5, None, 3, 9]),
}


@pytest.mark.parametrize(("column", "plain"), UNUSUAL_TYPES.values(), ids=UNUSUAL_TYPES)
def test_unusual_types_of_columns_are_read_and_saved(
    column: Any, plain: list, tmp_path: Path
) -> None:
    library = {pl.Series: pl.DataFrame, pd.Series: pd.DataFrame}.get(type(column), pa.table)
    x = library({"x": column})
    usual = pd.DataFrame({"x": plain})
    families = {"x": "categorical" if plain is TEXT else "gaussian"}
    expected = NaiveBayes(families).fit(usual, [0, 0, 1, 1]).predict_proba(usual)
    NaiveBayes(families).fit(x, [0, 0, 1, 1]).save(tmp_path / "model.bnb")
    assert_allclose(load(tmp_path / "model.bnb").predict_proba(x), expected, rtol=1e-12)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_without_any_cell_is_one_of_levels(library: Any, tmp_path: Path) -> None:
    x = library({"x": [1.0, 2.0, 3.0, 5.0], "empty": [None] * 4})
    y = [0, 0, 1, 1]
    model = NaiveBayes(temper=None).fit(x, y)
    assert type(model.families_["empty"]).__name__ == "Categorical"
    model.save(tmp_path / "model.bnb")
    expected = NaiveBayes({"empty": None}, temper=None).fit(x, y).predict_proba(x)
    assert_allclose(load(tmp_path / "model.bnb").predict_proba(x), expected, rtol=1e-12)


def memory_mapped(x: np.ndarray, folder: Path) -> np.ndarray:
    np.save(folder / "x.npy", x)
    return np.load(folder / "x.npy", mmap_mode="r")


def strided(x: np.ndarray, folder: Path) -> np.ndarray:
    wide = np.full((2 * len(x), 3 * x.shape[1]), 77.0)
    wide[::2, ::3] = x
    return wide[::2, ::3]


LAYOUTS: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "memory-mapped, read-only": memory_mapped,
    "strided": strided,
    "fortran": lambda x, folder: np.asfortranarray(x),
    "reversed": lambda x, folder: x[::-1].copy()[::-1],
    "big-endian": lambda x, folder: x.astype(">f8"),
    "int8": lambda x, folder: x.astype(np.int8),
    "float16": lambda x, folder: x.astype(np.float16),
    "masked": lambda x, folder: np.ma.array(x, mask=False),
    "list": lambda x, folder: x.astype(int).tolist(),
    "pandas": lambda x, folder: pd.DataFrame(x).rename(columns=str),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_how_numbers_lie_in_memory_changes_nothing(layout: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    x = rng.integers(0, 4, (50, 3)).astype(float)
    y = rng.integers(0, 2, 50)
    weight = rng.uniform(0.5, 2, 50)
    other = LAYOUTS[layout](x, tmp_path)
    for model in (BernoulliNB(), CategoricalNB(), GaussianNB(), MultinomialNB(), PoissonNB()):
        expected = model.fit(x, y, weight).predict_joint_log_proba(x)
        again = model.fit(other, np.repeat(y, 2)[::2], np.repeat(weight, 2)[::2])
        assert_allclose(again.predict_joint_log_proba(other), expected, rtol=1e-12)


def test_masked_cells_are_missing_cells() -> None:
    x = np.array([[1.0, 2], [3, 4], [5, 6], [7, 8]])
    hole = np.array([[0, 1], [0, 0], [1, 0], [0, 0]], bool)
    holed = np.where(hole, np.nan, x)
    for model in (GaussianNB(), PoissonNB(), BernoulliNB(binarize=4)):
        expected = model.fit(holed, [0, 0, 1, 1]).predict_joint_log_proba(holed)
        masked = np.ma.array(x, mask=hole)
        assert_array_equal(
            model.fit(masked, [0, 0, 1, 1]).predict_joint_log_proba(masked), expected
        )


@pytest.mark.parametrize("copies", [1, 500])
def test_few_rows_of_a_frame_are_read_as_many_are(copies: int) -> None:
    few = pd.DataFrame({"a": [1.5, -2.0, 7.0], "b": [0.1, np.nan, 3.0], "c": [2, 4, 10**9]})
    tall = pd.concat([few] * copies, ignore_index=True)
    model = GaussianNB().fit(pd.concat([few] * 500, ignore_index=True), np.arange(1500) % 2)
    assert_allclose(model.predict_proba(tall)[:3], model.predict_proba(few), rtol=1e-13)


# Sparse tables


def test_an_untidy_sparse_matrix_is_read_right_and_left_as_it_was() -> None:
    """Unsorted indices, one cell stored in two parts, and room behind the entries."""
    data = np.array([1.0, 2.0, 3.0, 1.0, np.inf])
    indices = np.array([2, 0, 2, 1, 10**6])
    untidy = sparse.csr_matrix((2, 3))
    untidy.data, untidy.indices, untidy.indptr = (
        data,
        indices.astype(np.int32),
        np.array([0, 3, 4], np.int32),
    )
    model = NaiveBayes(Multinomial()).fit(untidy, [0, 1])
    assert model.posterior_[(0, 1, 2)].concentration.tolist() == [[3, 1, 5], [1, 2, 1]]
    assert untidy.data.tolist() == data.tolist()


def test_a_stored_nan_in_a_sparse_table_is_a_missing_cell() -> None:
    dense = np.random.default_rng(0).integers(0, 2, (60, 3)).astype(float)
    dense[::7, 1] = np.nan
    y = np.arange(60) % 2
    expected = BernoulliNB().fit(dense, y).predict_joint_log_proba(dense)
    thin = sparse.csr_array(dense)
    assert_allclose(BernoulliNB().fit(thin, y).predict_joint_log_proba(thin), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "container", [np.asarray, sparse.csr_array, sparse.coo_array, pd.DataFrame]
)
def test_a_block_of_columns_in_another_order_keeps_that_order(container: Any) -> None:
    counts = container(np.array([[1, 2, 0], [4, 0, 3], [0, 1, 1]]))
    model = NaiveBayes({(2, 0, 1): Multinomial(Dirichlet([10.0, 20.0, 30.0]))}).fit(
        counts, [0, 1, 1]
    )
    assert model.posterior_[(2, 0, 1)].concentration.tolist() == [[10, 21, 32], [14, 24, 31]]


@pytest.mark.parametrize("method", ["fit", "predict_proba", "loo_proba"])
def test_a_table_is_not_kept_in_a_cycle_that_waits_for_the_garbage_collector(method: str) -> None:
    rng = np.random.default_rng(0)
    columns = {f"x{j}": rng.normal(size=5_000) for j in range(20)}  # read column by column
    columns |= {"level": rng.choice(["a", "b"], 5_000), "flag": rng.random(5_000) < 0.5}
    x = pd.DataFrame(columns)
    y = np.arange(5_000) % 2
    model = NaiveBayes(dependence=None, temper=None).fit(x, y)
    table = x.copy()
    alive = weakref.ref(table)
    gc.collect()
    gc.disable()
    try:
        getattr(model, method)(*([table] if method == "predict_proba" else [table, y]))
        del table
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(["b", "a", "b", "c"], name="row"),
        pd.MultiIndex.from_product([["x", "y"], [1, 2]], names=["site", "day"]),
        pd.date_range("2026-01-01", periods=4, tz="UTC"),
    ],
)
def test_probabilities_in_a_frame_are_by_the_names_of_rows_and_classes(index: pd.Index) -> None:
    x = pd.DataFrame({"a": [1.0, 1.2, 3.0, 3.1]}, index)
    y = [True, True, False, False]
    model = GaussianNB().fit(x, y)
    frame = model.predict_proba_frame(x)
    pd.testing.assert_index_equal(frame.index, index)
    assert frame.columns.to_list() == [False, True]
    assert_array_equal(frame.to_numpy(), model.predict_proba(x))
    for rows in (x.to_numpy(), pl.from_pandas(x)):
        other = GaussianNB().fit(rows, y).predict_proba_frame(rows)
        assert_array_equal(other, frame)
        pd.testing.assert_index_equal(other.index, pd.RangeIndex(4))


def test_probabilities_in_a_frame_need_rows_in_memory() -> None:
    x = da.from_array(np.array([[1.0], [3.0]]))
    with pytest.raises(TypeError, match=r"X\.compute\(\)"):
        GaussianNB().fit(x, [0, 1]).predict_proba_frame(x)
