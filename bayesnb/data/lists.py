"""Columns whose cells are lists of words: all words end to end, and where each row's end.

A list, a tuple, or an array of one axis is a cell; a text is not, as nothing says where its words begin.
"""

from collections.abc import Hashable, Iterable
from itertools import chain
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from bayesnb.data.column_values import DistinctValues, coded_text, factorize, is_missing

Array = np.ndarray
LISTS = (list, tuple, np.ndarray)
ADVICE = "Split a text into its words, text.split(), or count them with scikit-learn's CountVectorizer."


class Lists(NamedTuple):
    """The distinct words of all rows, which of them each word is, end to end, and where rows end."""

    words: tuple[Any, ...]
    codes: Array
    ends: Array  # `(r + 1,)`, the first is 0

    @classmethod
    def of(cls, name: Hashable, distinct: DistinctValues, lengths: Array) -> "Lists":
        """Make lists of `(r,)` lengths of distinct words, none of which may be missing."""
        ends = np.concatenate([[0], np.cumsum(lengths)])
        if (missing := distinct.codes < 0).any():
            raise ValueError(
                f"column {name!r}: a word is missing (None, NaN), first at row "
                f"{np.searchsorted(ends, missing.argmax(), 'right') - 1} ({missing.sum()} such words). Leave such "
                "words out."
            )
        return cls(distinct.values, distinct.codes, ends)


def lists_of_objects(name: Hashable, cells: Array) -> Lists:
    """Return the words of cells that are Python's objects; a ValueError where one is not a list."""
    if not set(map(type, cells)) <= set(LISTS):
        refuse_others(name, cells)
    lengths = np.fromiter(map(len, cells), np.int64, len(cells))
    flat = np.fromiter(chain.from_iterable(cells), object, int(lengths.sum()))
    return Lists.of(name, factorize(name, flat), lengths)


def lists_of_series(name: Hashable, series: nw.Series) -> Lists:
    """Return the words of a dataframe's column of lists, by its library where that has lists."""
    missing = int(series.null_count())
    native = series.to_native()
    if missing:
        refuse_missing(name, series.is_null().to_numpy(), len(series))
    if nw.dependencies.is_polars_series(native):
        lists = nw.from_native(native.arr.to_list() if isinstance(series.dtype, nw.Array) else native, series_only=True)
        lengths = lists.list.len().to_numpy().astype(np.int64)
        flat = lists.filter((lengths > 0).tolist()).to_native().explode()
    elif nw.dependencies.is_pyarrow_chunked_array(native):
        flat, lengths = _of_arrow(native)
    else:
        return lists_of_objects(name, series.to_numpy())
    return Lists.of(name, _distinct(name, flat), lengths)


def _of_arrow(column: Any) -> tuple[Any, Array]:
    from pyarrow import compute

    return compute.list_flatten(column), compute.list_value_length(column).to_numpy().astype(np.int64)


def _distinct(name: Hashable, flat: Any) -> DistinctValues:
    text = coded_text(flat)
    if text is not None:
        return DistinctValues(tuple(text[1]), text[0])
    return factorize(name, nw.from_native(flat, series_only=True).to_numpy())


def refuse_others(name: Hashable, cells: Array) -> None:
    """Raise for the first cell that is not a list."""
    missing = np.array([not isinstance(cell, LISTS) and bool(np.all(is_missing(cell))) for cell in cells], bool)
    refuse_missing(name, missing, len(cells))
    row, cell = next((row, cell) for row, cell in enumerate(cells) if not isinstance(cell, LISTS))
    advice = ADVICE if isinstance(cell, str) else "Give every row a list of words."
    raise ValueError(
        f"column {name!r} holds lists of words, but row {row} holds {cell!r:.60} ({type(cell).__name__}). {advice}"
    )


def refuse_missing(name: Hashable, missing: Array, rows: int) -> None:
    """Raise for a document that is not there."""
    if missing.any():
        raise ValueError(
            f"column {name!r}: a cell is missing (None, NaN), first at row {missing.argmax()} ({missing.sum()} such "
            f"cells in {rows} rows). This family does not accept missing cells: drop the row, or use [] for a text "
            "without words."
        )


def first_list(cells: Iterable[Any]) -> Any:
    """Return the first cell that is not missing, if that is a list; else None."""
    for cell in cells:
        if isinstance(cell, LISTS):
            return cell
        if not bool(np.all(is_missing(cell))):
            return None
    return None


def begins_with_text(words: Iterable[Any]) -> bool:
    """Return whether words are text, by the first of them."""
    return isinstance(next(iter(words), ""), str)


def kind_of_lists(name: Hashable, cells: Iterable[Any]) -> str:
    """Return what a column of lists holds, "" if it has none; an error where that may be anything but words."""
    first = first_list(cells)
    if first is None:
        return ""
    words = chain.from_iterable(cell for cell in cells if isinstance(cell, LISTS))
    return words_of(name, begins_with_text(words))


def words_of(name: Hashable, texts: bool) -> str:
    """Return the kind of a column of lists of texts; an error for other lists, which may be measurements."""
    if texts:
        return "words"
    raise ValueError(
        f"column {name!r} holds lists that are not of text, so no family can be inferred. If they are words, or "
        f"codes of words, declare it multinomial; else split them into columns."
    )
