"""What a column of a file holds: its kind, by its type or by its cells of text.

Kinds are "integer", "number", "flag", "text", "words" (lists of texts) and "empty". A column of
text is one of numbers if every cell that is not missing looks like a number: 3, -2.5, 1e-3, inf.
Codes are none, and one of them makes the column text: digits after a leading zero (007, 01234),
whole numbers of more than 18 digits, and those of more than 5 with a plus sign, as telephone
numbers have (+491234; +7 is a number). Flags are true and false.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
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
NOT_OF_KIND = {
    "number": "is not a number",
    "integer": "is not a number",
    "flag": "is neither true nor false",
}
SAMPLE_ROWS = 64  # cells that mostly show whether a column is one of numbers
CODE = r"^[+-]?0[0-9xX]|^[+-]?[0-9]{19,}$|^\+[0-9]{6,}$"
MIN_LONG_CODE = 1e18  # the least whole number of 19 digits: 64 bits may not hold them
ZERO, POINT, PLUS, MINUS = np.frombuffer(b"0.+-", np.uint8)


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
    """Return a column of text as the numbers or flags that all its cells look like, else as it is.

    Null cells are missing; a column of them alone has Arrow's type of nothing.
    """
    if text.null_count == len(text):
        return pa.nulls(len(text))
    for kind in ("integer", "number", "flag"):
        try:
            # first a few of them: an error for each of many cells takes long
            parse_cells(text[:SAMPLE_ROWS], kind, decimal)
            values = parse_cells(text, kind, decimal)
        except pa.ArrowInvalid:
            continue
        if kind == "flag":
            is_word = compute.min(compute.binary_length(text)).as_py() > 1  # 1 and 0 are none
            return values if is_word else text
        return text if has_codes(text, values) else values
    return text


def unite(arrays: Sequence[Any]) -> Any:
    """Return parts of a column, as `infer` gives them, as one column; None if some are text."""
    kind = reduce(join_kinds, [kind_of_type(array.type) for array in arrays], "empty")
    if kind == "text":
        return None
    dtype = pa.null() if kind == "empty" else DTYPES[kind]
    parts = [array if array.type == dtype else array.cast(dtype, safe=False) for array in arrays]
    return pa.chunked_array(parts, dtype)


def has_codes(text: Any, values: Any) -> bool:
    """Return whether one of the cells of a column, which are the numbers `values`, is a code."""
    cells = text.drop_null()
    _, offsets, data = cells.buffers()
    starts = np.frombuffer(offsets, np.int32)[cells.offset : cells.offset + len(cells)]
    letters = np.frombuffer(data, np.uint8)
    first = letters[starts]
    digits = starts + ((first == PLUS) | (first == MINUS))
    is_suspect = letters[digits] == ZERO
    is_suspect &= letters.take(digits + 1, mode="clip") != POINT
    is_suspect |= first == PLUS
    is_suspect |= np.abs(values.drop_null().to_numpy().astype(float)) >= MIN_LONG_CODE
    suspects = cells.take(np.flatnonzero(is_suspect))
    return bool(compute.any(compute.match_substring_regex(suspects, CODE)).as_py())


def parse_cells(text: Any, kind: str, decimal: str = ".") -> Any:
    """Return cells of text as an array of a kind.

    An ArrowInvalid error if one cannot be read so. Integers with missing cells are real numbers.
    """
    if kind != "flag" and decimal != ".":
        if compute.any(compute.match_substring(text, ".")).as_py():
            raise pa.ArrowInvalid("a point is no decimal mark")
        text = compute.replace_substring(text, decimal, ".")
    values = text.cast(DTYPES[kind])
    if kind == "integer" and values.null_count:
        values = values.cast(pa.float64())
    if kind == "number" and compute.any(compute.is_nan(values)).as_py():
        raise pa.ArrowInvalid("NaN is no number")
    return values


def parse(text: Any, kind: str, decimal: str = ".", *, strict: bool = False) -> Any:
    """Return cells as `parse_cells` does, but integers may be real numbers.

    If it is `strict`, they have to look like the kind. Else a code may be a number; and `true` is
    the number 1, and `false` 0.
    """
    if kind == "text":
        return text
    if strict:
        values = unite([infer(chunk, decimal) for chunk in text.chunks])
        if values is None or are_contrary(kind, kind_of_type(values.type)):
            raise pa.ArrowInvalid("cells look otherwise")
        is_real = kind == "integer" and pa.types.is_floating(values.type)
        return values if is_real else values.cast(DTYPES[kind])
    try:
        return parse_cells(text, kind, decimal)
    except pa.ArrowInvalid:
        if kind == "integer":
            return parse(text, "number", decimal)
        if kind != "number":
            raise
    return text.cast(pa.bool_()).cast(pa.int8()).cast(pa.float64())


def first_invalid(text: Any, read: Callable[[Any], Any]) -> int:
    """Return the row of the first cell that cannot be read, of an array that cannot."""
    valid, invalid = 0, len(text)  # so many rows can be read, and so many cannot
    while invalid - valid > 1:
        middle = (valid + invalid) // 2
        try:
            read(text[:middle])
            valid = middle
        except pa.ArrowInvalid:
            invalid = middle
    return valid
