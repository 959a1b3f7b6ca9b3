"""Text of dataframes is read by its library's own codes, and says what the same text as objects says."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from bayesnb import Categorical, NaiveBayes, scale
from bayesnb.data import coded_text
from bayesnb.numerics.views import Columns

RNG = np.random.default_rng(8)
TOWN = np.array(RNG.choice(["Cork", "Ayr", "Bo"], 50), object)
HOLED = np.where(RNG.random(50) < 0.2, None, TOWN)
LABEL = np.array(RNG.choice(["no", "yes", "maybe"], 50), object)
ENUM = pl.Enum(["unused", "Cork", "Bo", "Ayr", "no", "maybe", "yes"])
INDICES = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()]
CUTS = (slice(9), slice(9, 9), slice(9, None))
TEXTS: dict[str, Callable[[np.ndarray], Any]] = {
    "arrow": pa.array,
    "large": lambda x: pa.array(x, pa.large_string()),
    "view": lambda x: pa.array(x, pa.string_view()),
    "chunked": lambda x: pa.chunked_array([pa.array(x[:20], pa.string()), pa.array(x[20:], pa.string())]),
    "dictionary": lambda x: pa.array(x).dictionary_encode(),
    "dictionary of views": lambda x: pa.array(x, pa.string_view()).dictionary_encode(),
    "dictionaries": lambda x: pa.chunked_array([pa.array(x[at], pa.string()).dictionary_encode() for at in CUTS]),
    "str": lambda x: pd.Series(x, dtype="str"),
    "string": lambda x: pd.Series(x, dtype="string"),
    "category": lambda x: pd.Series(x).astype("category"),
    "category of string": lambda x: pd.Series(x, dtype="string").astype("category"),
    "polars": lambda x: pl.Series(x.tolist()),
    "polars categorical": lambda x: pl.Series(x.tolist()).cast(pl.Categorical),
    "polars enum": lambda x: pl.Series(x.tolist()).cast(ENUM),
}
every_text = pytest.mark.parametrize("container", TEXTS.values(), ids=TEXTS)


def frame_of(column: Any) -> Any:
    """A dataframe of one column, in the column's library."""
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return pa.table({"town": column})
    return column.to_frame("town") if isinstance(column, pd.Series) else pl.DataFrame({"town": column})


def said(model: NaiveBayes) -> tuple[Any, ...]:
    """Classes, levels and counts of a model of one column."""
    return model.classes_.tolist(), model.schema_.blocks[0].levels, model.stats_.blocks[0].counts.tolist()


def text_of(column: Any) -> list[str | None]:
    """The cells again, from their codes."""
    codes, texts = coded_text(column)
    assert len(set(texts)) == len(texts)
    assert set(codes[codes >= 0].tolist()) == set(range(len(texts)))
    return [None if code < 0 else texts[code] for code in codes.tolist()]


@pytest.mark.slow
@every_text
@pytest.mark.parametrize("town", [TOWN, HOLED], ids=["full", "holes"])
def test_text_says_the_same_in_any_container(container: Callable, town: np.ndarray) -> None:
    column = container(town)
    assert text_of(column) == town.tolist()
    plain = NaiveBayes(Categorical(levels=None)).fit(pd.DataFrame({"town": pd.Series(town, dtype=object)}), LABEL)
    model = NaiveBayes().fit(frame_of(column), LABEL)
    np.testing.assert_array_equal(model.stats_.classes.counts, plain.stats_.classes.counts)
    if "enum" not in str(getattr(column, "dtype", "")).lower():  # an enum's levels are declared, in its own order
        assert said(model) == said(plain)
    np.testing.assert_allclose(model.predict_proba(frame_of(container(town[:5]))).sum(axis=1), np.ones(5), rtol=1e-12)


@pytest.mark.slow
@every_text
def test_labels_say_the_same_in_any_container(container: Callable) -> None:
    x = RNG.normal(size=(50, 2))
    expected = NaiveBayes().fit(x, LABEL)
    model = NaiveBayes().fit(x, container(LABEL))
    assert model.classes_.tolist() == expected.classes_.tolist() == ["maybe", "no", "yes"]
    assert model.classes_.dtype == expected.classes_.dtype
    assert model.log_evidence_ == expected.log_evidence_
    keep = LABEL != "no"
    assert NaiveBayes().fit(x, container(LABEL), keep.astype(float)).classes_.tolist() == ["maybe", "yes"]


@every_text
def test_missing_labels_are_refused_in_any_container(container: Callable) -> None:
    holed = LABEL.copy()
    holed[[7, 9]] = None
    for y in (holed, container(holed)):
        with pytest.raises(ValueError, match="Input y contains NaN: 2 labels are missing, first at row 7"):
            NaiveBayes().fit(RNG.normal(size=(50, 2)), y)


@every_text
def test_labels_that_are_no_classes_are_named_in_any_container(container: Callable) -> None:
    for y in (LABEL, container(LABEL)):
        with pytest.raises(ValueError, match=r"y contains labels \['maybe'\] that are not among the classes"):
            NaiveBayes(classes=["no", "yes"]).fit(RNG.normal(size=(50, 2)), y)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_dictionary_may_hold_what_does_not_occur_what_is_missing_and_one_text_twice(index: pa.DataType) -> None:
    own = pa.array(["unused", "b", None, "a", "b"])
    chunk = pa.DictionaryArray.from_arrays(pa.array([4, None, 3, 1, 2], index), own)
    other = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], index), pa.array(["a", "c"]))
    cells = ["b", None, "a", "b", None, "a", "c", "a"]
    assert text_of(pa.chunked_array([chunk, other])) == cells
    model = NaiveBayes().fit(pa.table({"x": pa.chunked_array([chunk, other])}), [0, 1] * 4)
    assert model.schema_.blocks[0].levels == (("a", "b", "c"),)
    assert model.stats_.blocks[0].counts.sum() == 6


def test_a_column_of_no_piece_or_of_none_but_missing_cells_has_no_text() -> None:
    assert text_of(pa.chunked_array([], pa.string())) == []
    for empty in (pa.nulls(3, pa.string()), pa.nulls(3, pa.dictionary(pa.int8(), pa.string()))):
        assert text_of(empty) == [None] * 3


def test_what_is_no_text_is_left_to_others() -> None:
    others = (
        *(pa.array([1, 2]), pa.array([1, 2]).dictionary_encode(), pa.array([b"a"]), pa.array([True])),
        *(pd.Series([1, 2]).astype("category"), pd.Series(["a"], dtype=object), pd.Series([1.5]), np.array(["a"])),
        *(pl.Series([1, 2]), pl.Series([True]), ["a", "b"], None),
    )
    assert [coded_text(column) for column in others] == [None] * len(others)


@settings(max_examples=40, deadline=None)
@given(pieces=st.lists(st.lists(st.none() | st.text(max_size=2), min_size=1, max_size=8), min_size=1, max_size=4))
def test_any_pieces_of_any_text_are_the_text(pieces: list[list[str | None]]) -> None:
    cells = [cell for piece in pieces for cell in piece]
    arrays = [pa.array(piece, pa.string()) for piece in pieces]
    assert text_of(pa.chunked_array(arrays)) == cells
    assert text_of(pa.chunked_array([piece.dictionary_encode() for piece in arrays])) == cells
    assert text_of(pl.Series(cells, dtype=pl.String)) == cells


def test_batches_of_arrow_say_what_the_table_says() -> None:
    table = pa.table({"town": pa.array(HOLED), "size": RNG.normal(size=50)})
    y = pa.chunked_array([pa.array(LABEL)])
    model = NaiveBayes({"size": "gaussian", "town": "categorical"})
    parts = [scale.shard(model, table.slice(at, 7), y.slice(at, 7)) for at in range(0, 50, 7)]
    whole = clone(model).fit(table, y)
    np.testing.assert_allclose(
        scale.fit_shards(model, parts).predict_proba(table), whole.predict_proba(table), rtol=1e-12
    )


def test_many_names_of_classes_are_not_taken_for_the_numbers_of_a_regression() -> None:
    """Of more than 20 rows, half of them with labels of their own, scikit-learn says that they could be."""
    many = np.array([f"label {k}" for k in range(22)], object)
    for labels in (many, pa.array(many), many.astype(str)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(NaiveBayes().fit(np.arange(22)[:, None], labels).classes_) == 22


@pytest.mark.parametrize("odd", [[1], {"a"}, ("a",), b"a", 1], ids=repr)
def test_labels_that_are_no_plain_names_are_refused(odd: Any) -> None:
    y = np.fromiter([odd, "b", odd], object, 3)
    with pytest.raises(ValueError, match="Unknown label type: labels of several types"):
        NaiveBayes().fit([[1.0], [2.0], [3.0]], y)
    alone = np.fromiter([odd] * 3, object, 3)
    with pytest.raises((ValueError, TypeError), match=r"label type|bytes|multi-label"):
        NaiveBayes().fit([[1.0], [2.0], [3.0]], alone)


@pytest.mark.parametrize("dtype", [float, np.float32, np.int32, np.uint8], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("shape", [(1, 1), (513, 3), (70_000, 1), (3_000, 40), (600, 300)], ids=str)
def test_columns_that_lie_apart_are_turned_around_strip_by_strip(shape: tuple[int, int], dtype: Any) -> None:
    x = RNG.integers(0, 200, shape).astype(dtype)
    view = Columns(list(x.T.copy()), np.dtype(dtype))
    for index in (slice(None), slice(1, -2), np.flatnonzero(x[:, 0] > 100), slice(0, 0)):
        found = view[index]
        assert found.dtype == dtype
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, x[index])
