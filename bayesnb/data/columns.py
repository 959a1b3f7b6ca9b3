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
    codes, uniques = pd.factorize(labels.astype(object) if labels.dtype.kind in "UST" else labels)
    return codes, np.asarray(uniques).astype(labels.dtype)


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
    refuse_times(name, values)
    numbers = np.full(len(values), np.nan)
    for row in np.flatnonzero(~is_missing(values)):
        try:
            if isinstance(values[row], str | bytes):  # whatever it looks like
                raise ValueError("it holds text")
            numbers[row] = float(values[row])
        except (TypeError, ValueError, ArithmeticError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"column {name!r} is not numeric: {error}, first at row {row}. If it has levels, "
                "declare it categorical; if it is free text, split it into lists of words: "
                "text.split()."
            ) from None
    return numbers


def kind_of_objects(name: Hashable, values: Array) -> str:
    """Return the kind of a column of objects by its values."""
    refuse_times(name, values)
    kinds = {species_of(value) for value in values[~is_missing(values)]} or {"number"}
    if len(kinds) > 1:
        raise _mixed(name, values)
    return {"number": "number", "bool": "flag"}.get(kinds.pop(), "level")


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
    if nw.dependencies.is_polars_series(column):
        column = column.to_arrow()
    if not isinstance(column, pa.Array | pa.ChunkedArray):
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
    """Return the words of cells that are lists; a ValueError where one is not."""
    if not set(map(type, cells)) <= set(LISTS):
        refuse_others(name, cells)
    lengths = np.fromiter(map(len, cells), np.int64, len(cells))
    flat = np.fromiter(chain.from_iterable(cells), object, int(lengths.sum()))
    return Lists.of(name, factorize(name, flat), lengths)


def refuse_others(name: Hashable, cells: Array) -> None:
    """Raise for the first cell that is not a list."""
    for row, cell in enumerate(cells):
        if isinstance(cell, LISTS):
            continue
        if isinstance(cell, str):
            advice = ADVICE
        elif is_missing(cell):
            advice = "A text that is missing: drop the row, or use [] for a text without words."
        else:
            advice = "Give every row a list of words."
        raise ValueError(
            f"column {name!r} holds lists of words, but row {row} holds {cell!r:.60} "
            f"({type(cell).__name__}). {advice}"
        )


def first_list(cells: Iterable[Any]) -> Any:
    """Return the first cell that is not missing, if that is a list; else None."""
    for cell in cells:
        if isinstance(cell, LISTS):
            return cell
        if not np.all(is_missing(cell)):
            return None
    return None


def begins_with_text(words: Iterable[Any]) -> bool:
    """Return whether words are text, by the first of them."""
    return isinstance(next(iter(words), ""), str)


def kind_of_lists(name: Hashable, cells: Iterable[Any]) -> str:
    """Return what a column of lists holds, "" if it has none.

    An error where that may be anything but words.
    """
    if first_list(cells) is None:
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
