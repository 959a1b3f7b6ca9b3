"""The values of one column: levels, numbers, or lists of words; how cells of text are interpreted.

A list, a tuple, or a one-dimensional array is a cell of words; a text is not, as it would first
have to be split.

Columns of files have the kinds "integer", "number", "flag", "text", "words" (lists of texts) and
"empty". A column of text is one of numbers if every cell that is not missing looks like a number:
3, -2.5, 1e-3, inf. A code is not a number, and a single one makes the column text: whole numbers
with a leading zero (007, 01234), with more than 18 digits, or with a plus sign and more than 5
digits, like telephone numbers (+491234; +7 is a number). Flags are true and false.
"""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, time, timedelta
from itertools import chain
from numbers import Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute, types

from bayesnb.families.record import LARGEST

Array = np.ndarray
TIMES = (date, time, timedelta, np.datetime64, np.timedelta64, pd.Period)  # a datetime is a date
LISTS = (list, tuple, np.ndarray)
OF_ARROW = (
    pd.arrays.ArrowExtensionArray,
    pd.arrays.BooleanArray,
    pd.arrays.FloatingArray,
    pd.arrays.IntegerArray,
    pd.arrays.StringArray,
)
Kinds = Mapping[str, str]  # what columns hold, by their names
KINDS = ("number", "integer", "flag", "text")  # that a user may ask for
DTYPES = {
    "number": pa.float64(),
    "integer": pa.int64(),
    "flag": pa.bool_(),
    "text": pa.string(),
    "words": pa.list_(pa.string()),
    "empty": pa.float64(),
}
DECLARE = "Declare all of them as `classes`."
KIND_OF_TYPE: dict[Callable[[Any], bool], str] = {
    types.is_dictionary: "text",  # its values are levels of any type
    types.is_integer: "integer",
    types.is_floating: "number",
    types.is_decimal: "number",
    types.is_boolean: "flag",
    types.is_null: "empty",
    types.is_duration: "",
    types.is_temporal: "text",
}
PARSED = ("integer", "number", "flag")  # tried in this order: true is also the number 1
SAMPLE_ROWS = 64  # cells that usually show whether a column holds numbers
CODE = r"^[+-]?0[0-9xX]|^[+-]?[0-9]{19,}$|^\+[0-9]{6,}$"
MAX_DIGITS = 15  # of whole numbers that are exact floats
LEAST_OF_DIGITS = np.array([0, 0, *10.0 ** np.arange(1, MAX_DIGITS)])  # whole numbers of 0, 1, ...


# Distinct values


def is_missing(values: Array) -> Array:
    """Return where values are NaN, None or NA."""
    return np.asarray(pd.isna(values))


@dataclass(frozen=True)
class DistinctValues:
    """The distinct values of a column, and the code of each cell, -1 if missing."""

    values: tuple[Any, ...]
    codes: Array


def factorize(name: Hashable, values: Array) -> DistinctValues:
    """Return the distinct values of a column as plain Python ones, all of one type."""
    values = values.astype(object) if values.dtype.kind in "UST" else values
    try:
        codes, uniques = pd.factorize(values)
    except TypeError:
        raise mixed_levels(name, values) from None
    return distinct(name, codes, uniques)


def distinct(name: Hashable, codes: Array, uniques: Any) -> DistinctValues:
    """Return the values behind codes, as plain Python ones, all of one type."""
    plain = tuple(np.asarray(uniques, object).tolist())
    plain = tuple(value.item() if isinstance(value, np.generic) else value for value in plain)
    if len({species_of(value) for value in plain}) > 1:
        raise mixed_levels(name, plain)
    return DistinctValues(plain, codes)


def mixed_levels(name: Hashable, values: Any) -> ValueError:
    present = [value for value in values if not np.all(is_missing(value))]
    kinds = sorted({type(value).__name__ for value in present})
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
    """Return the species of a value; all values of a column must have the same."""
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, Real):
        return "number"
    return "str" if isinstance(value, str) else type(value).__name__


def time_error(what: str, kind: str) -> ValueError:
    """Return an error that says what to do with dates, times and durations."""
    return ValueError(
        f"{what} holds dates or times ({kind}). Convert it to a number, such as days since a "
        "date, hours since midnight or a duration in seconds, or to a level, such as the month; "
        "or drop the column."
    )


def floats(name: Hashable, values: Array) -> Array:
    """Return a column of objects or text as floats, if its values are numbers."""
    first = first_cell(values)
    if isinstance(first, TIMES):
        raise time_error(f"column {name!r}", type(first).__name__)
    numbers = np.full(len(values), np.nan)
    for row in np.flatnonzero(~is_missing(values)):
        try:
            if isinstance(values[row], str | bytes):  # even if it looks like a number
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
    first = first_cell(values)
    if isinstance(first, TIMES):
        raise time_error(f"column {name!r}", type(first).__name__)
    if isinstance(first, LISTS):
        words = chain.from_iterable(cell for cell in values if isinstance(cell, LISTS))
        return words_of(name, begins_with_text(words))
    kinds = {species_of(value) for value in values[~is_missing(values)]} or {"number"}
    if len(kinds) > 1:
        raise mixed_levels(name, values)
    return {"number": "number", "bool": "flag"}.get(kinds.pop(), "level")


def plain_column(name: Hashable, column: Any) -> Any:
    """Return a column of a dataframe as a pandas series with a NumPy type, or as a chunked Arrow
    array.

    In Arrow arrays 128-bit integers become floats, and run-end encoding is undone.
    """
    if isinstance(column, pd.Series):
        if not isinstance(column.array, OF_ARROW):
            return column
        column = pa.array(column)
    else:
        if column.dtype == nw.Object:
            return pd.Series(column.to_numpy(), dtype=object)
        if column.dtype in (nw.Int128, nw.UInt128):
            column = column.cast(nw.Float64)
        column = column.to_arrow()
    if types.is_run_end_encoded(column.type):
        column = compute.run_end_decode(column)
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


# Lists of words


class Lists(NamedTuple):
    """The distinct words of all rows, the codes of the words end to end, and the ends of the
    rows.
    """

    words: tuple[Any, ...]
    codes: Array
    ends: Array  # `(r + 1,)`, the first is 0


def lists_of_objects(name: Hashable, cells: Array) -> Lists:
    """Return the words of cells that are lists; raise ValueError if one is not."""
    for row, cell in enumerate(cells):
        if not isinstance(cell, LISTS):
            raise ValueError(
                f"column {name!r} holds lists of words, but row {row} holds {cell!r:.60} "
                f"({type(cell).__name__}). Split text into words, text.split(), or count them with "
                "scikit-learn's CountVectorizer; drop rows with missing text, or use [] for text "
                "without words."
            )
    lengths = np.fromiter(map(len, cells), np.int64, len(cells))
    flat = np.fromiter(chain.from_iterable(cells), object, int(lengths.sum()))
    distinct = factorize(name, flat)
    ends = np.append(0, np.cumsum(lengths))
    missing = np.flatnonzero(distinct.codes < 0)
    if len(missing):
        row = np.searchsorted(ends, missing[0], "right") - 1
        raise ValueError(
            f"column {name!r}: {len(missing)} words are missing (None, NaN), first at row {row}. "
            "Remove them."
        )
    return Lists(distinct.values, distinct.codes, ends)


def first_cell(cells: Iterable[Any]) -> Any:
    """Return the first cell that is a list or not missing; None if there is none."""
    for cell in cells:
        if isinstance(cell, LISTS) or not np.all(is_missing(cell)):
            return cell
    return None


def begins_with_text(words: Iterable[Any]) -> bool:
    """Return whether the first word is text."""
    return isinstance(next(iter(words), ""), str)


def words_of(name: Hashable, texts: bool) -> str:
    """Return the kind of a column of lists of texts; raise for other lists, perhaps
    measurements.
    """
    if texts:
        return "words"
    raise ValueError(
        f"column {name!r} holds lists of something other than text, so no family can be inferred. "
        f"If they are codes of words, declare it multinomial; otherwise split them into columns."
    )


# Kinds of cells in a file


def kind_of_type(dtype: Any) -> str:
    """Return the kind of a column with this Arrow type, or "" if it is not supported."""
    for is_kind, kind in KIND_OF_TYPE.items():
        if is_kind(dtype):
            return kind
    if is_text(dtype):
        return "text"
    if not is_list(dtype):
        return ""
    words = dtype.value_type
    is_words = is_text(words) or types.is_dictionary(words) or types.is_null(words)
    return "words" if is_words else ""


def is_list(dtype: Any) -> bool:
    """Return whether an Arrow type is a list."""
    return types.is_list(dtype) or types.is_large_list(dtype) or types.is_fixed_size_list(dtype)


def is_text(dtype: Any) -> bool:
    """Return whether an Arrow type is text."""
    return types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype)


def join_kinds(one: str, other: str) -> str:
    """Return the kind that can hold cells of both kinds."""
    if one == other or other == "empty":
        return one
    if one == "empty":
        return other
    return "number" if {one, other} == {"integer", "number"} else "text"


def are_contrary(one: str, other: str) -> bool:
    """Return whether two kinds, neither of them empty, can only be joined as text."""
    return "empty" not in (one, other) and one != other and join_kinds(one, other) == "text"


def infer(text: Any, decimal: str = ".") -> Any:
    """Convert a column of text to numbers or flags if all its cells look like that.

    Null cells are missing; a column of only nulls has Arrow's null type. Raises ArrowInvalid if the
    cells look like text.
    """
    if text.null_count == len(text):
        return pa.nulls(len(text))
    values = parse_cells(text, "integer", decimal)
    if types.is_boolean(values.type):
        is_code = compute.min(compute.binary_length(text)).as_py() == 1  # 1 and 0 are not flags
    else:
        is_code = has_codes(text, values)
    if is_code:
        raise pa.ArrowInvalid("codes are text")
    return values


def has_codes(text: Any, values: Any) -> bool:
    """Return whether a cell of a column, parsed as the numbers `values`, is a code."""
    numbers = values.to_numpy()
    whole = np.flatnonzero(numbers == np.floor(numbers))
    numbers = numbers[whole]
    size = np.abs(numbers)
    # A whole number with n digits is at least 10**(n - 1); if it is smaller, the cell has other
    # characters. This finds the few suspects ten times as fast as a regular expression.
    digits = compute.binary_length(text).to_numpy()[whole] - (numbers < 0)
    least = LEAST_OF_DIGITS[np.minimum(digits, MAX_DIGITS).astype(int)]
    suspects = text.take(whole[(size < least) | (digits > MAX_DIGITS)])
    return bool(compute.any(compute.match_substring_regex(suspects, CODE)).as_py())


def parse_cells(text: Any, kind: str, decimal: str) -> Any:
    """Convert cells of text to a kind, or to the next kind that fits all; raise ArrowInvalid if
    none.

    Integers with missing cells become floats.
    """
    numbers = text
    if decimal != ".":  # then a point is not part of a number
        numbers = compute.replace_substring(text, ".", " ")
        numbers = compute.replace_substring(numbers, decimal, ".")
    for each in PARSED[PARSED.index(kind) :]:
        cells = text if each == "flag" else numbers
        with suppress(pa.ArrowInvalid):
            # a few cells first, as errors for many cells are slow
            cells[:SAMPLE_ROWS].cast(DTYPES[each])
            values = cells.cast(DTYPES[each])
            if each == "integer" and values.null_count:
                values = values.cast(pa.float64(), safe=False)
            if each != "number" or not compute.any(compute.is_nan(values)).as_py():
                return values
    raise pa.ArrowInvalid(f"there are cells of another kind than {kind}")


def parse(text: Any, kind: str, decimal: str = ".", *, strict: bool = False) -> Any:
    """Convert cells of text to a kind, or raise ArrowInvalid; "integer" may give floats.

    If `strict`, cells must look like the kind; otherwise codes can be numbers.
    """
    values = infer(text, decimal) if strict else parse_cells(text, kind, decimal)
    if strict and are_contrary(kind, kind_of_type(values.type)):
        raise pa.ArrowInvalid(f"the cells do not look like {kind}")
    is_real = kind == "integer" and types.is_floating(values.type)
    return values if is_real else values.cast(DTYPES[kind], safe=False)


def first_invalid(text: Any, read: Callable[[Any], Any]) -> int:
    """Return the row of the first cell that cannot be read."""

    def fails(row: int) -> bool:
        try:
            read(text[: row + 1])
        except pa.ArrowInvalid:
            return True
        return False

    return bisect_left(range(len(text)), True, key=fails)


def to_native_order(array: Array) -> Array:
    """Return numbers in this machine's byte order, in single or double precision."""
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(float)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


# Labels and weights of rows


def is_lazy(x: Any) -> bool:
    """Return whether a table is a lazy Dask collection."""
    kind = type(x)
    return hasattr(kind, "__dask_graph__") and (
        kind.__module__.startswith("dask.") or x.__dask_graph__() is not None
    )


def refuse_lazy(x: Any, name: str) -> None:
    """Raise for a lazy Dask collection where rows are needed."""
    if is_lazy(x):
        raise TypeError(
            f"{name} is a lazy Dask collection. An estimator's fit, partial_fit, predict, "
            "predict_proba, predict_log_proba, predict_joint_log_proba and score, and scale.shard, "
            "accept such an X, with y and sample_weight lazy or not. Everything else needs rows in "
            f"memory: {name}.compute(), for some of the rows if there are too many."
        )


def distinct_labels(labels: Any) -> Array:
    """Return the classes among labels, sorted."""
    labels = np.asarray(list(labels) if isinstance(labels, set | frozenset) else labels).reshape(-1)
    if labels.dtype.kind not in "OUST":
        return np.unique(pd.unique(to_native_order(labels)))
    try:
        return np.unique(pd.unique(labels.astype(object))).astype(labels.dtype)
    except TypeError:  # they cannot be compared
        raise ValueError(
            "Unknown label type: labels of several types. Convert them to one type, such as "
            "strings."
        ) from None


def united_labels(a: Array, b: Array) -> Array:
    """Return the classes of two parts of a table, sorted."""
    if np.array_equal(a, b):
        return a
    known, others = a.tolist(), b.tolist()
    one, other = species_of(known[0]), species_of(others[0])
    if one != other:
        raise ValueError(
            f"labels are of the type {one} in one part and {other} in another, such as "
            f"{known[0]!r} and {others[0]!r}. Convert them to one type."
        )
    return a if set(others) <= set(known) else distinct_labels(np.concatenate([a, b]))


def encode(y: Array, classes: Array, advice: str = DECLARE) -> Array:
    """Return the code of each label; raise with advice for labels that are not classes."""
    if y.dtype == classes.dtype and y.dtype.kind in "biuf":
        # for few rows, fifty microseconds faster than pandas
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        codes[classes[codes] != y] = -1
    else:
        codes = pd.Index(classes).get_indexer(to_native_order(y))
    if (codes < 0).any():
        unknown = distinct_labels(y[codes < 0]).tolist()
        raise ValueError(
            f"y contains labels {unknown} that are not among the classes {classes.tolist()}. "
            f"{advice}"
        )
    return codes


def split_labels(y: Any) -> tuple[Array, Array]:
    """Return the labels present, `(n,)`, and which rows are unlabelled, `(r,)`: None, NaN, or -1
    among numbers.
    """
    labels = np.asarray(y)
    unlabelled = is_missing(labels)
    if labels.dtype.kind in "ifO":
        unlabelled[~unlabelled] = labels[~unlabelled] == -1
    # integers next to None are objects
    return pd.Series(labels[~unlabelled]).infer_objects().to_numpy(), unlabelled


def weights(sample_weight: Any, rows: int) -> Array:
    """Return one finite, non-negative weight for each row; a single number is used for all."""
    refuse_lazy(sample_weight, "sample_weight")
    try:
        weight = np.ma.filled(np.ma.asarray(sample_weight, float), np.nan)  # masked: no number
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ValueError(f"sample_weight must be numbers: {error}") from None
    weight = np.full(rows, float(weight)) if weight.ndim == 0 else weight
    if weight.shape != (rows,):
        raise ValueError(
            f"sample_weight must have one number for each of {rows} rows, got shape {weight.shape}."
        )
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(
            f"sample_weight must be finite and not negative: {wrong.sum()} of {rows} are not, "
            f"first at row {at}: {weight[at]}."
        )
    with np.errstate(over="ignore"):
        total = weight.sum()
    if total > LARGEST:
        raise ValueError(
            f"sample_weight sums to {total:.3g}, and sums above {LARGEST:g} would overflow. "
            "Rescale it."
        )
    return weight
