"""The values of one column: levels, numbers, or lists of words; columns of text as codes.

A list, a tuple, or an array of one axis is a cell of words; a text is not, as nothing says where
its words begin.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from datetime import date, time, timedelta
from itertools import chain
from numbers import Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from bayesnb.data.kinds import is_text

WIDE_INTEGERS = (nw.Int128, nw.UInt128)


def with_plain_type(series: nw.Series) -> nw.Series:
    """Return a column with wide integers as floats, and with runs of Arrow unpacked."""
    if series.dtype in WIDE_INTEGERS:
        return series.cast(nw.Float64)
    column = series.to_native()
    if isinstance(column, pd.Series) and isinstance(column.dtype, pd.ArrowDtype):
        column = pa.chunked_array(pa.array(column))
    if not isinstance(column, pa.ChunkedArray):
        return series
    if str(column.type).startswith("run_end_encoded<"):
        column = compute.run_end_decode(column)
    if pa.types.is_dictionary(column.type) and not is_text(column.type.value_type):
        raise ValueError(
            f"column {series.name!r} is an Arrow dictionary of {column.type.value_type}, which has "
            "levels only if they are text. Make it numbers, column.cast(pyarrow.float64()), or "
            "levels, by a dictionary of strings."
        )
    return nw.from_native(column, series_only=True).alias(series.name)


Array = np.ndarray
TIMES = (date, time, timedelta, np.datetime64, np.timedelta64, pd.Period)  # a datetime is a date


def is_missing(values: Array) -> Array:
    """Return where values are NaN, None or NA."""
    return np.asarray(pd.isna(values))


@dataclass(frozen=True)
class DistinctValues:
    """The values of a column, each once, and where they stand: -1 is a missing cell."""

    values: tuple[Any, ...]
    codes: Array


def factorize(name: Hashable, values: Array) -> DistinctValues:
    """Return the distinct values of a column as plain Python ones, all of one type."""
    values = values.astype(object) if values.dtype.kind in "UST" else values
    try:
        codes, uniques = pd.factorize(values)
    except TypeError:
        raise _mixed(name, values) from None
    return distinct(name, codes, uniques)


def factorize_labels(labels: Array) -> tuple[Array, Array]:
    """Return where each label stands among the distinct ones, -1 if missing, and those."""
    if labels.dtype.kind not in "OUST":
        distinct, codes = np.unique(labels, return_inverse=True)
        return codes, distinct
    codes, uniques = pd.factorize(labels.astype(object))
    return codes, np.fromiter(uniques, object, len(uniques)).astype(labels.dtype)


def distinct(name: Hashable, codes: Array, uniques: Any) -> DistinctValues:
    """Return the values behind codes, as plain Python ones, all of one type."""
    plain = tuple(np.asarray(uniques, object).tolist())
    plain = tuple(value.item() if isinstance(value, np.generic) else value for value in plain)
    try:
        hash(plain)
    except TypeError:
        raise _mixed(name, plain) from None
    if len({species_of(value) for value in plain}) > 1:
        raise _mixed(name, plain)
    return DistinctValues(plain, codes)


def _mixed(name: Hashable, values: Any) -> ValueError:
    values = np.array([None, *values], object)[1:]
    kinds = sorted({type(value).__name__ for value in values[~is_missing(values)]} - {"NoneType"})
    if len(kinds) == 1:
        return ValueError(
            f"column {name!r} holds {kinds[0]} objects, which cannot be levels. If they are lists "
            "of words, declare it multinomial."
        )
    return ValueError(
        f"column {name!r} mixes levels of the types {', '.join(kinds)}. Convert them to one type, "
        "for instance with .astype(str)."
    )


def species_of(value: Any) -> str:
    """Return the species of a value: only values of one species may stand together in a column."""
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, Real):
        return "number"
    return "str" if isinstance(value, str) else type(value).__name__


def time_error(what: str, kind: str) -> ValueError:
    """Return an error that says what to do with dates, times and durations."""
    if "timedelta" in kind.lower() or "duration" in kind.lower():
        advice = "Make it a number of one unit, such as days or seconds"
    elif kind.lower().startswith("time"):
        advice = "Make it a number, such as hours since midnight, or a level, such as morning"
    else:
        advice = "Make it a number, such as days since a date, or a level, such as the month"
    return ValueError(f"{what} holds dates or times ({kind}). {advice}; or drop its column.")


def refuse_times(name: Hashable, values: Array) -> None:
    """Raise for a column of objects of which the first that is not missing is a date or time."""
    first = next((value for value in values if not np.all(is_missing(value))), None)
    if isinstance(first, TIMES):
        raise time_error(f"column {name!r}", type(first).__name__)


def floats(name: Hashable, values: Array) -> Array:
    """Return a column of objects or text as floats, if its values are numbers."""
    if values.dtype.kind in "Mm":
        raise time_error(f"column {name!r}", str(values.dtype))
    if values.dtype.kind == "O":
        refuse_times(name, values)
    if values.dtype.kind in "UST":
        raise ValueError(
            f"column {name!r} holds {values.dtype}, not numbers. Declare it categorical, or drop "
            "it."
        )
    numbers = np.full(len(values), np.nan)
    for row in np.flatnonzero(~is_missing(values)):
        try:
            numbers[row] = to_float(values[row])
        except (TypeError, ValueError, ArithmeticError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"column {name!r} is not numeric: {error}, first at row {row}. If it has levels, "
                "declare it categorical; if it is free text, split it into lists of words: "
                "text.split()."
            ) from None
    return numbers


def to_float(cell: Any) -> float:
    """Return a cell as a float; raise for text, whatever it looks like."""
    if isinstance(cell, str):
        raise ValueError("it holds text")
    return float(cell)


def kind_of_objects(name: Hashable, values: Array) -> str:
    """Return the kind of a column of objects by its values."""
    refuse_times(name, values)
    kinds = {species_of(value) for value in values[~is_missing(values)]}
    if len(kinds) > 1:
        raise ValueError(
            f"column {name!r} mixes {', '.join(sorted(kinds))} values. Convert them to one type."
        )
    if kinds <= {"number"}:
        return "number"
    return "flag" if kinds == {"bool"} else "level"


def coded_text(column: Any) -> DistinctValues | None:
    """Return the texts that occur in a column of text, and where they stand.

    None for any other column.
    """
    column = nw.to_native(column, pass_through=True)
    if isinstance(column, pd.Series):
        dtype = column.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            dtype = dtype.categories.dtype
        if not isinstance(dtype, pd.StringDtype):
            return None
        codes, texts = column.factorize()
        return DistinctValues(tuple(texts.tolist()), codes)
    column = as_arrow(column)
    if column is None:
        return None
    if pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
        column = column.cast(pa.large_string())  # not all texts may occur, and some twice
    if not is_text(column.type):
        return None
    coded = column.dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    codes = coded.indices.fill_null(-1).to_numpy()
    return DistinctValues(tuple(coded.dictionary.to_pylist()), codes)


def as_arrow(column: Any) -> Any:
    """Return a column of polars or Arrow as an array of Arrow; None for any other."""
    if nw.dependencies.is_polars_series(column):
        return column.to_arrow()
    return column if isinstance(column, pa.Array | pa.ChunkedArray) else None


LISTS = (list, tuple, np.ndarray)
ADVICE = (
    "Split a text into its words, text.split(), or count them with scikit-learn's CountVectorizer."
)


class Lists(NamedTuple):
    """The distinct words of all rows, the code of each word, end to end, and where rows end."""

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
                f"{np.searchsorted(ends, missing.argmax(), 'right') - 1} ({missing.sum()} such "
                "words). Leave such words out."
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
    """Return the words of a dataframe's column of lists."""
    if series.null_count():
        refuse_missing(name, series.is_null().to_numpy(), len(series))
    cells = as_arrow(series.to_native())
    if cells is None:
        return lists_of_objects(name, series.to_numpy())
    lengths = np.asarray(compute.list_value_length(cells)).astype(np.int64)
    words = compute.list_flatten(cells)
    distinct = coded_text(words)
    if distinct is None:
        distinct = factorize(name, np.asarray(words))
    return Lists.of(name, distinct, lengths)


def refuse_others(name: Hashable, cells: Array) -> None:
    """Raise for the first cell that is not a list."""
    are_lists = np.array([isinstance(cell, LISTS) for cell in cells])
    refuse_missing(name, is_missing(cells) & ~are_lists, len(cells))
    row = int(are_lists.argmin())
    cell = cells[row]
    advice = ADVICE if isinstance(cell, str) else "Give every row a list of words."
    raise ValueError(
        f"column {name!r} holds lists of words, but row {row} holds {cell!r:.60} "
        f"({type(cell).__name__}). {advice}"
    )


def refuse_missing(name: Hashable, missing: Array, rows: int) -> None:
    """Raise for a document that is not there."""
    if missing.any():
        raise ValueError(
            f"column {name!r}: a cell is missing (None, NaN), first at row {missing.argmax()} "
            f"({missing.sum()} such cells in {rows} rows). This family does not accept missing "
            "cells: drop the row, or use [] for a text without words."
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
    """Return what a column of lists holds, "" if it has none.

    An error where that may be anything but words.
    """
    first = first_list(cells)
    if first is None:
        return ""
    words = chain.from_iterable(cell for cell in cells if isinstance(cell, LISTS))
    return words_of(name, begins_with_text(words))


def words_of(name: Hashable, texts: bool) -> str:
    """Return the kind of a column of lists of texts.

    An error for other lists, which may be measurements.
    """
    if texts:
        return "words"
    raise ValueError(
        f"column {name!r} holds lists that are not of text, so no family can be inferred. If they "
        f"are words, or codes of words, declare it multinomial; else split them into columns."
    )
