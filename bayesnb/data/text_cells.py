"""Cells of text as numbers, flags or levels: what a column looks like, and the column itself, all cells at once.

Numbers are what looks like one in every cell, missing ones apart: 3, -2.5, 1e-3, inf. Digits after a leading zero are
no number but a code (007, 01234), which makes the whole column levels; so do whole numbers of more than 18 digits.
Flags are true and false, in any case. All other columns are levels.

Arrow casts to numbers; which of its casts count is decided by the bytes that occur in a column and by those with which
cells begin. Cell by cell, Python reads only what Arrow does not: `true` among numbers, and cells that are an error.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

Array = np.ndarray
MISSING = ("", "NA", "NaN", "?")
REAL = b".eEiIxX"  # bytes that only real numbers have, or numbers that Arrow alone reads: 0x1F
WHOLE = r"^[+-]?[0-9]+$"
NUMBER = r"(?i)^(?:[+-]?(?:(?:0|[1-9][0-9]*)\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?)$"
SHOWN = 64  # cells that mostly show whether a column is one of numbers
LONG, LARGE = 19, 1e18  # digits that 64 bits may not hold, and the least whole number of so many


def joined(one: str, other: str) -> str:
    """Return the kind that holds the cells of two kinds."""
    if one == other or other == "empty":
        return one
    if one == "empty":
        return other
    return "number" if {one, other} == {"integer", "number"} else "text"


@dataclass(frozen=True)
class ColumnSummary:
    """What the cells of a column look like."""

    kind: str = "empty"
    cells: int = 0  # that are not missing
    dates: bool = False  # whether its type is that of dates or times
    is_plain: bool = True  # whether a cell is one value, and no list or record

    def __add__(self, other: Self) -> Self:
        if not self.cells or not other.cells:
            return self if self.cells else other
        return replace(
            self,
            kind=joined(self.kind, other.kind),
            cells=self.cells + other.cells,
            dates=self.dates and other.dates,
            is_plain=self.is_plain and other.is_plain,
        )


@dataclass(frozen=True)
class CellRules:
    """How cells of text are read: the texts that mean a missing cell, and how decimals are written."""

    missing: Collection[str] = MISSING
    decimal: str = "."

    @cached_property
    def has_missing_numbers(self) -> bool:
        """Whether a text that means a missing cell is a number."""
        return any(map(is_number, self.missing))


@dataclass(eq=False)
class TextCells:
    """Cells of one column, as an array of Arrow, without blanks around them."""

    text: Any
    rules: CellRules = CellRules()
    may_have_codes: bool = True  # whether a digit may follow a leading zero

    @classmethod
    def of(cls, cells: Sequence[str | None], rules: CellRules = CellRules()) -> Self:
        """Make the cells of a list of texts."""
        return cls(pa.array(cells, pa.string()), rules)

    @cached_property
    def _read(self) -> tuple[Any, Any]:
        """The cells, null where missing, and these as numbers or flags of Arrow, or None where one is anything else.

        If all cells are such, none is missing, unless a number means that: then missing ones need not be looked for.
        """
        if not self.rules.has_missing_numbers:
            typed = as_numbers_or_flags(self.text, self.rules.decimal)
            if typed is not None:
                return self.text, typed
        missing = compute.is_in(self.text, pa.array(list(self.rules.missing), self.text.type))
        there = compute.if_else(missing, None, self.text) if compute.any(missing).as_py() else self.text
        is_new = there is not self.text or self.rules.has_missing_numbers
        return there, as_numbers_or_flags(there, self.rules.decimal) if is_new else None

    @property
    def there(self) -> Any:
        """The cells, null where missing."""
        return self._read[0]

    @property
    def numbers(self) -> Any:
        """The cells as integers or real numbers of Arrow, codes among them; None where one is anything else."""
        typed = self._read[1]
        return None if typed is None or pa.types.is_boolean(typed.type) else typed

    @property
    def codes(self) -> Any:
        """The cells as codes of Arrow, null where missing; what is missing is looked for among the distinct ones."""
        coded = self.text.dictionary_encode()
        missing = compute.is_in(coded.dictionary, pa.array(list(self.rules.missing), self.text.type))
        return self.there.dictionary_encode() if compute.any(missing).as_py() else coded

    @cached_property
    def _valid(self) -> Any:
        """The cells that are not missing: the bytes of a null cell may still be there."""
        return self.there.drop_null() if self.there.null_count else self.there

    @cached_property
    def has_codes(self) -> bool:
        """Whether a number has digits after a leading zero, or too many of them: `007`, `12345678901234567890`."""
        bounds, data = layout(self._valid)
        if self.may_have_codes:
            begins = data.take(bounds[:-1])
            starts = bounds[:-1] + ((begins == ord("+")) | (begins == ord("-")))
            zeros = starts[(data.take(starts) == ord("0")) & (starts + 1 < bounds[1:])]
            if (data[zeros + 1] - np.uint8(ord("0")) < 10).any():
                return True
        if not largest(self.numbers) >= LARGE:  # what has so many digits, the first of which is no zero, is large
            return False
        long, decimal = np.diff(bounds) >= LONG, self.rules.decimal
        cells = self._valid.filter(pa.array(long))
        cells = cells.filter(compute.equal(compute.find_substring(cells, decimal), -1))
        cells = compute.utf8_ltrim(cells, "+-")
        cells = cells.filter(compute.greater_equal(compute.binary_length(cells), LONG))
        return bool(compute.any(compute.match_substring_regex(cells, WHOLE)).as_py())

    @cached_property
    def kind(self) -> str:
        """What all cells look like."""
        if not len(self._valid):
            return "empty"
        if self.numbers is not None and not self.has_codes:
            return "integer" if pa.types.is_integer(self.numbers.type) else "number"
        return "text" if self._flags is None else "flag"

    @property
    def _flags(self) -> Any:
        """The cells as flags of Arrow; None where one is anything but a word."""
        return self._read[1] if self.numbers is None else None

    def summarize(self) -> ColumnSummary:
        """Return what the cells look like."""
        return ColumnSummary(self.kind, len(self._valid))

    def values(self, kind: str) -> Any:
        """Return the cells as an array of Arrow of this kind; a ValueError for one that is not of it."""
        if kind == "text":
            return self.there
        if kind == "flag":
            return pa.array(map_there(flag_of, self.there), pa.bool_()) if self._flags is None else self._flags
        if self.numbers is None:
            return pa.array(map_there(lambda cell: number_of(cell, self.rules.decimal), self.there), pa.float64())
        is_as_asked = pa.types.is_floating(self.numbers.type) or kind == "integer" == self.kind
        return self.numbers if is_as_asked else self.numbers.cast("double", safe=False)

    def column(self, kind: str) -> pd.Series:
        """Return the cells as a column of this kind; a ValueError for one that is not of it."""
        return series_of(self.values(kind), kind)

    def first_unlike(self, kind: str) -> int:
        """Return the row of the first cell without which all before it could be of this kind; -1 if all look so."""
        if joined(kind, self.kind) != "text":
            return -1
        alike, unlike = 0, len(self.text)
        while unlike - alike > 1:
            middle = (alike + unlike) // 2
            is_unlike = joined(kind, TextCells(self.text[:middle], self.rules).kind) == "text"
            alike, unlike = (alike, middle) if is_unlike else (middle, unlike)
        return unlike - 1

    def first_invalid(self, kind: str) -> int:
        """Return the row of the first cell that cannot be read as this kind."""
        for row, cell in enumerate(self.there.to_pylist()):
            try:
                _ = cell is None or (flag_of(cell) if kind == "flag" else number_of(cell, self.rules.decimal))
            except ValueError:
                return row
        raise AssertionError(f"all cells can be read as {kind}")


def series_of(values: Any, kind: str) -> pd.Series:
    """Return values of Arrow, in one piece or several, as a column of pandas; integers with missing cells as floats."""
    if kind == "text":
        return values.to_pandas()
    has_missing_flags = kind == "flag" and values.null_count
    return pd.Series(pd.BooleanDtype().__from_arrow__(values)) if has_missing_flags else values.to_pandas()


def layout(cells: Any) -> tuple[Array, Array]:
    """Return where the cells of a text array of Arrow begin and end in its bytes, `(r + 1,)`, and those bytes."""
    _, ends, data = cells.buffers()
    offsets = np.frombuffer(ends, np.int64 if pa.types.is_large_string(cells.type) else np.int32)
    bounds = offsets[cells.offset : cells.offset + len(cells) + 1]
    data = np.empty(0, np.uint8) if data is None or not len(bounds) else np.frombuffer(data, np.uint8)[: bounds[-1]]
    return bounds, data


def as_numbers_or_flags(cells: Any, decimal: str) -> Any:
    """Return the cells of a text array as numbers of Arrow, else as flags; None where one is anything else, or NaN."""
    numbers = as_numbers(cells, decimal)
    if numbers is not None:
        return numbers
    try:
        cells[:SHOWN].cast("bool")
        flags = cells.cast("bool")
    except pa.ArrowInvalid:
        return None
    sizes = compute.min(compute.binary_length(cells)).as_py()
    return flags if sizes and sizes > 1 else None  # 1 and 0 are no words


def as_numbers(cells: Any, decimal: str) -> Any:
    """Return the cells of a text array as numbers of Arrow, None where one is anything else, or NaN.

    They are integers where no cell has what only real numbers have, and 64 bits hold all.
    """
    bounds, data = layout(cells.drop_null() if cells.null_count else cells)
    text = data[bounds[0] :].tobytes()
    if decimal != ".":
        if b"." in text:
            return None
        cells = compute.replace_substring(cells, decimal, ".")
    are_whole = not any(mark in text for mark in REAL + decimal.encode())
    if are_whole and b"+" in text:
        cells = compute.replace_substring_regex(cells, r"^\+([0-9])", r"\1")
    for dtype in ("int64", "double") if are_whole else ("double",):
        try:
            cells[:SHOWN].cast(dtype)  # an error for each cell that is none takes its time
            numbers = cells.cast(dtype)
        except pa.ArrowInvalid:
            continue
        may_be_nan = b"n" in text or b"N" in text
        return None if may_be_nan and compute.any(compute.is_nan(numbers)).as_py() else numbers
    return None


def largest(numbers: Any) -> float:
    """Return the largest absolute value of numbers of Arrow, 0 where none is there."""
    ends = compute.min_max(numbers).as_py().values()
    return max((abs(end) for end in ends if end is not None), default=0)


def map_there(read: Callable[[str], Any], cells: Any) -> list[Any]:
    """Return each cell as a function reads it, None where it is missing."""
    return [None if cell is None else read(cell) for cell in cells.to_pylist()]


def number_of(cell: str, decimal: str = ".") -> float:
    """Return a number, of which true is 1 and false 0; digits after a leading zero are read as such."""
    if "_" in cell or not cell.isascii() or cell.lower().lstrip("+-") == "nan":
        raise ValueError(cell)
    if cell.lower() in ("true", "false"):
        return float(cell.lower() == "true")
    return float(cell.replace(decimal, ".") if decimal != "." else cell)


def is_number(cell: str) -> bool:
    """Return whether `number_of` reads a cell."""
    try:
        number_of(cell)
    except ValueError:
        return False
    return True


def flag_of(cell: str) -> bool:
    """Return true or false for the cell that says so, or for 1 or 0."""
    number = number_of(cell)
    if number not in (0, 1):
        raise ValueError(cell)
    return bool(number)


def text_of(value: Any) -> str:
    """Return a value as a text table has it: 3.0 among numbers is 3, and true is true."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)
