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
FIRST = np.frombuffer(b"0123456789+-.,iI", np.uint8)  # bytes with which numbers begin
WHOLE = r"^[+-]?[0-9]+$"
NUMBER = r"(?i)^(?:[+-]?(?:(?:0|[1-9][0-9]*)\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?)$"
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.,+Z-]*)?$"
COMMAS = r"^[+-]?[0-9]+,[0-9]+$"
SHOWN = 64  # cells that mostly show whether a column is one of numbers
LONG = 19  # digits that 64 bits may not hold
MOST_INVALID = 0.1  # of a column's cells, for its numbers to be worth a word


def joined(one: str, other: str) -> str:
    """Return the kind that holds the cells of two kinds."""
    if one == other or other == "empty":
        return one
    if one == "empty":
        return other
    return "number" if {one, other} == {"integer", "number"} else "text"


@dataclass(frozen=True)
class ColumnSummary:
    """What the cells of a column look like, and what about them is worth a word."""

    kind: str = "empty"
    cells: int = 0  # that are not missing
    numbers: int = 0  # that look like numbers
    first_non_number: tuple[int, str] | None = None  # its row, or line, and the cell
    dates: bool = False  # whether all look like dates
    commas: bool = False  # whether all look like numbers with a decimal comma
    is_plain: bool = True  # whether a cell is one value, and no list or record

    def __add__(self, other: Self) -> Self:
        if not self.cells or not other.cells:
            return self if self.cells else other
        return replace(
            self,
            kind=joined(self.kind, other.kind),
            cells=self.cells + other.cells,
            numbers=self.numbers + other.numbers,
            first_non_number=self.first_non_number or other.first_non_number,
            dates=self.dates and other.dates,
            commas=self.commas and other.commas,
            is_plain=self.is_plain and other.is_plain,
        )

    @property
    def is_almost_numeric(self) -> bool:
        """Whether a few cells only are no numbers, which may be a way to say that they are missing."""
        return (
            self.kind == "text"
            and self.first_non_number is not None
            and self.numbers >= (1 - MOST_INVALID) * self.cells > 0
        )


@dataclass(frozen=True)
class CellRules:
    """How cells of text are read: the texts that mean a missing cell, and how decimals are written."""

    missing: Collection[str] = MISSING
    decimal: str = "."


@dataclass(eq=False)
class TextCells:
    """Cells of one column, as an array of Arrow, without blanks around them."""

    text: Any
    rules: CellRules = CellRules()

    @classmethod
    def of(cls, cells: Sequence[str | None], rules: CellRules = CellRules()) -> Self:
        """Make the cells of a list of texts."""
        return cls(pa.array(cells, pa.string()), rules)

    @cached_property
    def _read(self) -> tuple[Any, Any]:
        """The cells, null where missing, and these as real numbers of Arrow, or None where one is anything else.

        If all cells are numbers, none is missing, unless a number means that: then missing ones need not be looked for.
        """
        decimal = self.rules.decimal
        if not any(map(is_number, self.rules.missing)):
            numbers = as_numbers(self.text, decimal)
            if numbers is not None:
                return self.text, numbers
        gone = compute.is_in(self.text, pa.array(list(self.rules.missing), self.text.type))
        there = compute.if_else(gone, pa.scalar(None, self.text.type), self.text)
        return there, as_numbers(there, decimal)

    @property
    def there(self) -> Any:
        """The cells, null where missing."""
        return self._read[0]

    @property
    def numbers(self) -> Any:
        """The cells as real numbers of Arrow, codes among them; None where one is anything else."""
        return self._read[1]

    @cached_property
    def _valid(self) -> Any:
        """The cells that are not missing: the bytes of a null cell may still be there."""
        return self.there.drop_null() if self.there.null_count else self.there

    def _holds(self, characters: bytes) -> bool:
        """Return whether one of these characters is in a cell."""
        ends, data = layout(self._valid)
        text = memoryview(data[ends[0] :]).tobytes()
        return any(character in text for character in characters)

    @cached_property
    def has_codes(self) -> bool:
        """Whether a cell has digits after a leading zero, or too many of them: `007`, `12345678901234567890`."""
        ends, data = layout(self._valid)
        if not len(data):
            return False
        starts, ends = ends[:-1], ends[1:]
        begins = data.take(starts, mode="clip")
        signs = (begins == ord("+")) | (begins == ord("-"))
        if signs.any():
            starts = starts + signs
            begins = data.take(starts, mode="clip")
        zero = np.flatnonzero((begins == ord("0")) & (starts + 1 < ends))
        if ((data[starts[zero] + 1] - np.uint8(ord("0"))) < 10).any():
            return True
        long = ends - starts >= LONG
        if not long.any():
            return False
        cells = self._valid.filter(pa.array(long))
        cells = cells.filter(compute.equal(compute.find_substring(cells, self.rules.decimal), -1))
        return bool(compute.any(compute.match_substring_regex(cells, WHOLE)).as_py())

    @cached_property
    def kind(self) -> str:
        """What all cells look like."""
        if not len(self._valid):
            return "empty"
        if self.numbers is not None and not self.has_codes:
            return "number" if self._holds(self.rules.decimal.encode() + b".eEiI") else "integer"
        return "flag" if self._are_flags else "text"

    @cached_property
    def _are_flags(self) -> bool:
        words = pa.array(["true", "false"], self.text.type)
        lower = (compute.utf8_lower(cells) for cells in (self._valid[:1], self._valid))  # the first one mostly shows it
        return all(compute.all(compute.is_in(cells, words)).as_py() for cells in lower)

    def summarize(self, start: int = 0) -> ColumnSummary:
        """Return what the cells look like, of which the first is in row `start`."""
        cells = self._valid
        if self.kind != "text":
            return ColumnSummary(self.kind, len(cells), len(cells) if self.kind in ("integer", "number") else 0)
        numeric = self._like_numbers(cells)
        count = compute.sum(numeric).as_py() or 0
        place = compute.index(numeric, False).as_py()
        row = int(np.flatnonzero(self.there.is_valid().to_numpy(zero_copy_only=False))[place]) if place >= 0 else -1
        first = (start + row, self.there[row].as_py()) if row >= 0 else None
        return ColumnSummary("text", len(cells), count, first, all_like(DATE, cells), all_like(COMMAS, cells))

    def _like_numbers(self, cells: Any) -> Any:
        """Return whether each cell alone would look like a number; most texts are known by the byte they begin with."""
        ends, data = layout(cells)
        if not len(data) or not np.isin(data.take(ends[:-1], mode="clip"), FIRST).any():
            return pa.array(np.zeros(len(cells), bool))
        if self.rules.decimal != ".":
            free = compute.invert(compute.match_substring(cells, "."))
            cells = compute.if_else(free, compute.replace_substring(cells, self.rules.decimal, "."), "text")
        long = compute.match_substring_regex(cells, rf"^[+-]?[0-9]{{{LONG},}}$")
        return compute.and_not(compute.match_substring_regex(cells, NUMBER), long)

    def column(self, kind: str) -> pd.Series:
        """Return the cells as a column of this kind; a ValueError for one that is not of it."""
        if kind == "text":
            return self.there.to_pandas().astype(str)
        if kind == "flag":
            flags = compute.equal(compute.utf8_lower(self.there), "true")
            if not self._are_flags:
                flags = pa.array(map_there(flag_of, self.there), pa.bool_())
            return pd.Series(pd.BooleanDtype().__from_arrow__(flags)) if flags.null_count else flags.to_pandas()
        if kind == "integer" == self.kind and not self.there.null_count:
            plain = compute.utf8_ltrim(self.there, "+") if self._holds(b"+") else self.there
            return plain.cast("int64").to_pandas()
        if self.numbers is not None:
            return self.numbers.to_pandas()
        numbers = map_there(lambda cell: number_of(cell, self.rules.decimal), self.there)
        return pd.Series(np.array([np.nan if number is None else number for number in numbers], float))

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


def kind_of(cells: Sequence[str], decimal: str = ".") -> str:
    """Return what all of these cells look like, of which none is missing."""
    return TextCells.of(cells, CellRules((), decimal)).kind


def layout(cells: Any) -> tuple[Array, Array]:
    """Return where the cells of a text array of Arrow begin and end in its bytes, `(r + 1,)`, and those bytes."""
    _, ends, data = cells.buffers()
    offsets = np.frombuffer(ends, np.int64 if pa.types.is_large_string(cells.type) else np.int32)
    bounds = offsets[cells.offset : cells.offset + len(cells) + 1]
    return bounds, np.frombuffer(data, np.uint8)[: bounds[-1]] if data is not None and len(bounds) else np.empty(
        0, np.uint8
    )


def as_numbers(cells: Any, decimal: str) -> Any:
    """Return the cells of a text array as real numbers of Arrow; None where one is anything else, or no number."""
    if decimal != ".":
        if compute.any(compute.match_substring(cells, ".")).as_py():
            return None
        cells = compute.replace_substring(cells, decimal, ".")
    try:
        cells[:SHOWN].cast("double")  # an error for each cell that is none takes its time
        numbers = cells.cast("double")
    except pa.ArrowInvalid:
        return None
    return None if compute.any(compute.is_nan(numbers)).as_py() else numbers


def all_like(pattern: str, cells: Any) -> bool:
    """Return whether every cell is as a pattern says; the first one mostly shows it."""
    matches = compute.match_substring_regex
    return matches(cells[0], pattern).as_py() and compute.all(matches(cells, pattern)).as_py()


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
