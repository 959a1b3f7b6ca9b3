"""What a column of a file holds: its kind, by its type or by its cells of text.

Kinds are "integer", "number", "flag", "text", "words" (lists of texts) and "empty". A column of
text is one of numbers if every cell that is not missing looks like a number: 3, -2.5, 1e-3, inf.
Digits after a leading zero are a code (007, 01234), and so are whole numbers of more than 18
digits: one such cell makes the column text. Flags are true and false.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

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
MIN_CODE = 1e18  # the least whole number of so many digits that 64 bits may not hold them
LONG_CODE = r"^[+-]?[0-9]{19,}$"
ZERO, LETTER_E, LETTER_X, TO_LOWER = np.frombuffer(b"0ex ", np.uint8)
SIGNS = np.frombuffer(b"+-", np.uint8)
BLOCK_BYTES = 1 << 18  # that stay near the processor


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


def kind_of_cells(text: Any, decimal: str = ".") -> str:
    """Return what all cells of an array of text look like; null ones are missing."""
    cells = text.drop_null()
    if not len(cells):
        return "empty"
    for kind in ("integer", "number", "flag"):
        try:
            parse_cells(
                cells[:SAMPLE_ROWS], kind, decimal
            )  # an error for each of many cells takes long
            values = parse_cells(cells, kind, decimal)
        except pa.ArrowInvalid:
            continue
        if kind == "flag":
            is_word = compute.min(compute.binary_length(cells)).as_py() > 1  # 1 and 0 are none
            return kind if is_word else "text"
        return "text" if has_codes(cells, values) else kind
    return "text"


def parse_cells(text: Any, kind: str, decimal: str = ".") -> Any:
    """Return cells of text as an array of a kind.

    An ArrowInvalid error if one cannot be read so.
    """
    if kind == "text":
        return text
    if kind != "flag" and decimal != ".":
        if compute.any(compute.match_substring(text, ".")).as_py():
            raise pa.ArrowInvalid("a point is no decimal mark")
        text = compute.replace_substring(text, decimal, ".")
    values = text.cast(DTYPES[kind])
    if kind == "number" and compute.any(compute.is_nan(values)).as_py():
        raise pa.ArrowInvalid("NaN is no number")
    return values


def parse_as_asked(text: Any, kind: str, decimal: str = ".") -> Any:
    """Return cells as `parse_cells` does, more leniently.

    Integers may be real numbers; and `true` is the number 1, and `false` 0.
    """
    try:
        return parse_cells(text, kind, decimal)
    except pa.ArrowInvalid:
        if kind == "integer":
            return parse_as_asked(text, "number", decimal)
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


def has_codes(cells: Any, values: Any) -> bool:
    """Return whether one of these cells, which are the numbers `values`, is a code."""
    _, offsets, data = cells.buffers()
    bounds = np.frombuffer(offsets, np.int32)[cells.offset : cells.offset + len(cells) + 1]
    text = np.frombuffer(data, np.uint8)[: bounds[-1]]
    first = text[bounds[:-1]]
    digits = bounds[:-1] + np.isin(first, SIGNS)
    zeros = digits[(text[digits] == ZERO) & (digits + 1 < bounds[1:])]
    after = text[zeros + 1]
    if ((after - ZERO < 10) | (after | TO_LOWER == LETTER_X)).any():
        return True
    sizes = compute.abs(values.cast(pa.float64(), safe=False))
    large = cells.filter(compute.greater_equal(sizes, MIN_CODE))
    return bool(compute.any(compute.match_substring_regex(large, LONG_CODE)).as_py())


def may_have_codes(data: Any) -> bool:
    """Return whether a number in a text may begin with a zero and then a digit: 007.

    The zero in the exponent of 1e-05 begins none.
    """
    view = np.frombuffer(data, np.uint8)
    for start in range(0, len(view), BLOCK_BYTES):
        block = view[start : start + BLOCK_BYTES + 2]
        before, zero, after = block[:-2], block[1:-1], block[2:]
        begins = zero == ZERO
        begins &= after - ZERO < 10
        begins &= before - np.uint8(ord(".")) > ord("9") - ord(".")  # neither a digit nor a point
        places = np.flatnonzero(begins)
        is_exponent = (
            np.isin(before[places], SIGNS)
            & (block[places - 1] | TO_LOWER == LETTER_E)
            & (places > 0)
        )
        if not is_exponent.all():
            return True
    return False


def may_have_hexadecimals(data: Any) -> bool:
    """Return whether a text may hold 0x1F, which Arrow takes for an integer."""
    has_letter = re.search(b"x", data) or re.search(b"X", data)
    return bool(has_letter and re.search(b"0[xX]", data))
