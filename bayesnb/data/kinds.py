"""What a column of a file holds: its kind, by its type or by its cells of text.

Kinds are "integer", "number", "flag", "text", "words" (lists of texts) and "empty". A column of
text is one of numbers if every cell that is not missing looks like a number: 3, -2.5, 1e-3, inf.
Codes are none, and one of them makes the column text: digits after a leading zero (007, 01234),
whole numbers of more than 18 digits, and those of more than 5 with a plus sign, as telephone
numbers have (+491234; +7 is a number). Flags are true and false.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
from pyarrow import compute

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
# as what cells are read that are to be of a kind, in this order; true is the number 1
READINGS = {
    "integer": ("integer", "number", "flag"),
    "number": ("number", "flag"),
    "flag": ("flag",),
}
SAMPLE_ROWS = 64  # cells that mostly show whether a column is one of numbers
CODE = r"^[+-]?0[0-9xX]|^[+-]?[0-9]{19,}$|^\+[0-9]{6,}$"
MIN_LONG_CODE = 1e18  # the least whole number of 19 digits: 64 bits may not hold them


def kind_of_type(dtype: Any) -> str:
    """Return the kind of a column of this type; an empty text where no column may have it."""
    types = pa.types
    if types.is_dictionary(dtype):
        return "text"  # its values are levels, whatever they are
    if types.is_integer(dtype):
        return "integer"
    if types.is_floating(dtype) or types.is_decimal(dtype):
        return "number"
    if types.is_boolean(dtype):
        return "flag"
    if types.is_null(dtype):
        return "empty"
    if is_text(dtype) or (types.is_temporal(dtype) and not types.is_duration(dtype)):
        return "text"
    is_list = types.is_list(dtype) or types.is_large_list(dtype)
    return "words" if is_list and is_text(dtype.value_type) else ""


def is_text(dtype: Any) -> bool:
    """Return whether a type of Arrow is one of text."""
    types = pa.types
    return types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype)


def join_kinds(one: str, other: str) -> str:
    """Return the kind that holds the cells of two kinds."""
    if one == other or other == "empty":
        return one
    if one == "empty":
        return other
    return "number" if {one, other} == {"integer", "number"} else "text"


def are_contrary(one: str, other: str) -> bool:
    """Return whether cells of two kinds, none of them empty, have nothing but text in common."""
    return "empty" not in (one, other) and one != other and join_kinds(one, other) == "text"


def infer(text: Any, decimal: str = ".") -> Any:
    """Return a column of text as the numbers or flags that all its cells look like.

    Null cells are missing; a column of them alone has Arrow's type of nothing. An ArrowInvalid
    error if the cells look like text.
    """
    if text.null_count == len(text):
        return pa.nulls(len(text))
    values = parse_cells(text, READINGS["integer"], decimal)
    if pa.types.is_boolean(values.type):
        is_code = compute.min(compute.binary_length(text)).as_py() == 1  # 1 and 0 are no flags
    else:
        is_code = has_codes(text, values)
    if is_code:
        raise pa.ArrowInvalid("codes are text")
    return values


def has_codes(text: Any, values: Any) -> bool:
    """Return whether one of the cells of a column, which are the numbers `values`, is a code."""
    # comparisons of prefixes find the few cells that may be, as a pattern takes three times as long
    is_suspect = compute.starts_with(text, "+")
    for zero in ("0", "-0"):
        is_fraction = compute.starts_with(text, f"{zero}.")
        has_zero = compute.and_not(compute.starts_with(text, zero), is_fraction)
        is_suspect = compute.or_(is_suspect, has_zero)
    is_long = compute.greater_equal(
        compute.abs(values.cast(pa.float64(), safe=False)), MIN_LONG_CODE
    )
    suspects = text.filter(compute.or_(is_suspect, is_long))
    return bool(compute.any(compute.match_substring_regex(suspects, CODE)).as_py())


def parse_cells(text: Any, kinds: Sequence[str], decimal: str = ".") -> Any:
    """Return cells of text as an array of the first of some kinds as which all can be read.

    An ArrowInvalid error if there is none. Integers with missing cells are real numbers.
    """
    numbers = text
    if decimal != ".":  # a point is no part of a number then
        numbers = compute.replace_substring(text, ".", " ")
        numbers = compute.replace_substring(numbers, decimal, ".")
    for kind in kinds:
        cells = text if kind == "flag" else numbers
        with suppress(pa.ArrowInvalid):
            # first a few of them: an error for each of many cells takes long
            cells[:SAMPLE_ROWS].cast(DTYPES[kind])
            values = cells.cast(DTYPES[kind])
            if kind == "integer" and values.null_count:
                values = values.cast(pa.float64(), safe=False)
            if kind != "number" or not compute.any(compute.is_nan(values)).as_py():
                return values
    raise pa.ArrowInvalid(f"there are cells of another kind than {kinds[0]}")


def parse(text: Any, kind: str, decimal: str = ".", *, strict: bool = False) -> Any:
    """Return cells of text as a kind; integers may be real numbers. Else an ArrowInvalid error.

    If it is `strict`, they have to look like the kind. Else a code may be a number.
    """
    if strict:
        values = infer(text, decimal)
        if are_contrary(kind, kind_of_type(values.type)):
            raise pa.ArrowInvalid(f"the cells do not look like {kind}")
    else:
        values = parse_cells(text, READINGS[kind], decimal)
    is_real = kind == "integer" and pa.types.is_floating(values.type)
    return values if is_real else values.cast(DTYPES[kind], safe=False)


def first_invalid(text: Any, read: Callable[[Any], Any]) -> int:
    """Return the row of the first cell that cannot be read, of an array that cannot."""

    def fails(row: int) -> bool:
        try:
            read(text[: row + 1])
        except pa.ArrowInvalid:
            return True
        return False

    return bisect_left(range(len(text)), True, key=fails)
