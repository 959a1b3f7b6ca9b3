"""The values of one column, as levels or as numbers; columns of text as codes, by their own library."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from functools import wraps
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from bayesnb.data.column_types import TEXT_TYPES

Array = np.ndarray
Texts = tuple[Array, list[str]]  # where each cell's text stands among the distinct ones, -1 if it is missing
TIMES = (date, time, timedelta, np.datetime64, np.timedelta64, pd.Period)  # a datetime is a date


def is_missing(values: Array) -> Array:
    """Return where values are NaN, None or NA."""
    return np.asarray(pd.isna(values))


def naming_cells(read: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a column's name and values whose errors of arithmetic name the first cell to blame."""

    @wraps(read)
    def checked(name: Hashable, values: Array) -> Any:
        try:
            return read(name, values)
        except ArithmeticError:  # a signaling NaN, or an integer beyond floats
            row = next((row for row, value in enumerate(values) if not _is_readable(value)), None)
            if row is None:
                raise
            kind = type(values[row]).__name__
            raise ValueError(
                f"column {name!r}: a cell of the type {kind} is no number that a float can hold, first at row {row}. "
                "Make it NaN if it is missing, or a float; or make the column text, if it has levels."
            ) from None

    return checked


def _is_readable(value: Any) -> bool:
    """Return whether a value is a float, or no number at all."""
    try:
        float(value)
    except ArithmeticError:
        return False
    except (TypeError, ValueError):
        return not (isinstance(value, Decimal) and value.is_snan())
    return True


@dataclass(frozen=True)
class DistinctValues:
    """The values of a column, each once, and where they stand: -1 is a missing cell."""

    values: tuple[Any, ...]
    codes: Array


@naming_cells
def factorize(name: Hashable, values: Array) -> DistinctValues:
    """Return the distinct values of a column as plain Python ones, all of one type."""
    values = values.astype(object) if values.dtype.kind in "UST" else values
    try:
        codes, uniques = pd.factorize(values)
    except TypeError:
        raise _mixed(name, values) from None
    return distinct(name, codes, uniques)


def factorize_labels(labels: Array) -> tuple[Array, Array]:
    """Return where each label stands among the distinct ones, -1 if it is missing, and those, in no order."""
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
    if len({_species(value) for value in plain}) > 1:
        raise _mixed(name, plain)
    return DistinctValues(plain, codes)


def _mixed(name: Hashable, values: Any) -> ValueError:
    values = np.array([None, *values], object)[1:]
    kinds = sorted({type(value).__name__ for value in values[~is_missing(values)]} - {"NoneType"})
    if len(kinds) == 1:
        return ValueError(
            f"column {name!r} holds {kinds[0]} objects, which cannot be levels. If they are lists of words, "
            "declare it multinomial."
        )
    return ValueError(
        f"column {name!r} mixes levels of the types {', '.join(kinds)}. Convert them to one type, "
        "for instance with .astype(str)."
    )


def _species(value: Any) -> str:
    """Return the species of a value: only values of one species may stand together in a column."""
    if isinstance(value, bool | np.bool_):
        return "bool"
    return "number" if isinstance(value, Real) else "str" if isinstance(value, str) else type(value).__name__


def time_error(what: str, kind: str, name: Hashable = None, days: str = "") -> ValueError:
    """Return an error that says what to do with dates, times and durations: they are neither numbers nor levels.

    `days` is code that makes numbers of dates.
    """
    if "timedelta" in kind.lower() or "duration" in kind.lower():
        advice = "Make it a number of one unit, such as days or seconds"
    elif kind.lower().startswith("time"):
        advice = "Make it a number, such as hours since midnight, or a level, such as the part of the day"
    else:
        shown = f", {days}" if days else ""
        advice = f"Make it a number, such as days since a date{shown}, or a level, such as the month"
    column = "its column" if name is None else "it"
    return ValueError(f"{what} holds dates or times ({kind}). {advice}; or drop {column}.")


@naming_cells
def refuse_times(name: Hashable, values: Array) -> None:
    """Raise for a column of objects that are dates or times, if the first that is not missing is one."""
    first = next((value for value in values if not np.all(is_missing(value))), None)
    if isinstance(first, TIMES):
        raise time_error(f"column {name!r}", type(first).__name__, name)


@naming_cells
def floats(name: Hashable, values: Array) -> Array:
    """Return a column of objects or text as floats, if its values are numbers."""
    if values.dtype.kind in "Mm":
        raise time_error(f"column {name!r}", str(values.dtype), name)
    if values.dtype.kind == "O":
        refuse_times(name, values)
    if values.dtype.kind in "UST":
        raise ValueError(f"column {name!r} holds {values.dtype}, not numbers. Declare it categorical, or drop it.")
    try:
        missing = pd.isna(values)
        if any(isinstance(value, str) for value in values[~missing]):
            raise ValueError("it holds text")
        return np.where(missing, np.nan, values).astype(float)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"column {name!r} is not numeric: {error}. "
            "If it has levels, declare it categorical; if it is free "
            "text, split it into lists of words: text.split()."
        ) from None


@naming_cells
def kind_of_objects(name: Hashable, values: Array) -> str:
    """Return the kind of a column of objects by its values, as the array's one dtype says nothing about it."""
    refuse_times(name, values)
    kinds = {_species(value) for value in values[~pd.isna(values)]}
    if len(kinds) > 1:
        raise ValueError(f"column {name!r} mixes {', '.join(sorted(kinds))} values. Convert them to one type.")
    return "number" if kinds <= {"number"} else "flag" if kinds == {"bool"} else "level"


def coded_text(column: Any) -> Texts | None:
    """Return the codes of a column of text, and the texts that occur, each once; None for any other column."""
    column = nw.to_native(column, pass_through=True)
    if isinstance(column, pd.Series):
        return _of_pandas(column)
    if nw.dependencies.is_polars_series(column):
        return _of_polars(column)
    arrow = nw.dependencies.get_pyarrow()
    return _of_arrow(column) if arrow and isinstance(column, arrow.ChunkedArray | arrow.Array) else None


def _of_pandas(column: pd.Series) -> Texts | None:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) and isinstance(dtype.categories.dtype, pd.StringDtype):
        return among_all([(column.cat.codes.to_numpy(), dtype.categories)])
    if not isinstance(dtype, pd.StringDtype):
        return None
    codes, texts = column.factorize()
    return codes, texts.tolist()


def _of_arrow(column: Any) -> Texts | None:
    kind = column.type
    has_codes = str(kind).startswith("dictionary<")
    if str(kind.value_type if has_codes else kind) not in TEXT_TYPES:
        return None
    coded = column if has_codes else column.dictionary_encode()
    return among_all(map(_dictionary, coded.chunks if hasattr(coded, "chunks") else [coded]))


def _dictionary(chunk: Any) -> tuple[Array, Any]:
    """Return a chunk's codes and texts, of which one may be missing, some not occur, and some stand twice."""
    codes = chunk.indices.cast("int64").fill_null(-1) if chunk.indices.null_count else chunk.indices
    return codes.to_numpy(zero_copy_only=False), chunk.dictionary.cast("large_string")


def _of_polars(column: Any) -> Texts | None:
    series = nw.from_native(column, series_only=True)
    if series.dtype not in (nw.String, nw.Categorical, nw.Enum):
        return None
    coded = series.cast(nw.Categorical).to_native() if series.dtype == nw.String else column
    texts = coded.drop_nulls().unique()
    known, codes = texts.to_physical().to_numpy().astype(np.int64), coded.to_physical()
    places = np.full(int(known.max(initial=-1)) + 2, -1, np.int32)  # the last is that of a missing cell
    places[known] = np.arange(len(known))
    return places[codes.cast(int).fill_null(-1).to_numpy()], texts.to_list()


def among_all(parts: Iterable[tuple[Array, Any]]) -> Texts:
    """Return the codes of all parts, each of which has texts of its own, among all texts that occur."""
    known: dict[str, int] = {}
    codes = [_recoded(part, texts, known) for part, texts in parts]
    return codes[0] if len(codes) == 1 else np.concatenate([np.empty(0, np.int32), *codes]), list(known)


def _recoded(codes: Array, texts: Any, known: dict[str, int]) -> Array:
    """Return codes among the known texts, which those that occur here join."""
    seen = np.zeros(len(texts) + 1, bool)  # the last is that of a missing cell
    seen[codes] = True
    used = np.flatnonzero(seen[:-1])
    places = np.full(len(seen), -1, np.int32)
    places[used] = [-1 if text is None else known.setdefault(text, len(known)) for text in texts.take(used).tolist()]
    return codes if np.array_equal(places[:-1], np.arange(len(texts))) else places[codes]
