"""What a column of text holds, and the same cells as numbers, flags or levels.

Numbers are what looks like one in every cell, missing ones apart: 3, -2.5, 1e-3, inf. Digits after a leading zero are
no number but a code (007, 01234), which makes the whole column levels; so do whole numbers of more than 18 digits.
Flags are true and false, in any case. Whatever else there is are levels.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

MISSING = ("", "NA", "NaN", "?")
INTEGER = re.compile(r"(?:[+-]?(?!0[0-9])[0-9]{1,18}\n)*+")
NUMBER = re.compile(r"(?:[+-]?(?:(?!0[0-9])[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?\n|[+-]?inf(?:inity)?\n)*+", re.I)
LONG = re.compile(r"^[+-]?[0-9]{19,}$", re.M)
FLAG = re.compile(r"(?:(?:true|false)\n)*+", re.I)
DATE = re.compile(r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.,+Z-]*)?\n)*+")
COMMAS = re.compile(r"(?:[+-]?[0-9]+,[0-9]+\n)*+")
KINDS = ("empty", "integer", "number", "flag", "text")
MOST_ODD = 0.1  # of a column's cells, for its numbers to be worth a word


def joined(one: str, other: str) -> str:
    """The kind that holds both."""
    if one == other or other == "empty":
        return one
    if one == "empty":
        return other
    return "number" if {one, other} == {"integer", "number"} else "text"


@dataclass(frozen=True)
class Look:
    """What the cells of a column look like, and what about them is worth a word."""

    kind: str = "empty"
    cells: int = 0  # that are not missing
    numbers: int = 0  # that look like numbers
    odd: tuple[int, str] | None = None  # the first that does not, and its line
    dates: bool = False  # whether all look like dates
    commas: bool = False  # whether all look like numbers with a decimal comma
    is_plain: bool = True  # whether a cell is one value, and no list or record

    @classmethod
    def at(cls, cells: Sequence[str], lines: Sequence[int], missing: frozenset[str], decimal: str = ".") -> Self:
        """What some cells look like, of which those in `missing` are none."""
        there = [cell for cell in cells if cell not in missing]
        kind = kind_of(there, decimal)
        if kind != "text":
            return cls(kind, len(there), len(there) if kind in ("integer", "number") else 0, None, False, False)
        times = Counter(there)
        odd = {cell: count for cell, count in times.items() if kind_of([cell], decimal) not in ("integer", "number")}
        first = next(((lines[at], cell) for at, cell in enumerate(cells) if cell in odd), None)
        dates, commas = (all_like(pattern, there) for pattern in (DATE, COMMAS))
        return cls(kind, len(there), len(there) - sum(odd.values()), first, dates, commas)

    def __add__(self, other: Self) -> Self:
        if not self.cells or not other.cells:
            return self if self.cells else other
        kind = joined(self.kind, other.kind)
        return replace(
            self,
            kind=kind,
            cells=self.cells + other.cells,
            numbers=self.numbers + other.numbers,
            odd=self.odd or other.odd,
            dates=self.dates and other.dates,
            commas=self.commas and other.commas,
            is_plain=self.is_plain and other.is_plain,
        )

    @property
    def is_almost_numeric(self) -> bool:
        """Whether a few cells only are no numbers, which may be a way to say that they are missing."""
        return self.kind == "text" and self.odd is not None and self.numbers >= (1 - MOST_ODD) * self.cells > 0


def all_like(pattern: re.Pattern, cells: Sequence[str]) -> bool:
    """Whether every cell is as the pattern says, which takes lines."""
    lines = "\n".join(cells) + "\n"
    return bool(cells) and lines.count("\n") == len(cells) and pattern.fullmatch(lines) is not None


def kind_of(cells: Sequence[str], decimal: str = ".") -> str:
    """What all of some cells look like."""
    if not cells:
        return "empty"
    if decimal != ".":
        cells = [cell.replace(decimal, ".") if "." not in cell else "text" for cell in cells]
    if all_like(INTEGER, cells):
        return "integer"
    if all_like(NUMBER, cells):
        return "text" if LONG.search("\n".join(cells)) else "number"
    return "flag" if all_like(FLAG, cells) else "text"


@dataclass(frozen=True)
class Reader:
    """How cells of text become those of a column: what is missing, and how decimals are written."""

    missing: frozenset[str] = frozenset(MISSING)
    decimal: str = "."

    def series(self, cells: Sequence[str], kind: str) -> pd.Series:
        """The cells as a column of this kind; a ValueError for one that is not of it."""
        if kind == "text":
            own: dict[str, str] = {}  # equal cells are one text
            return pd.Series(
                [None if cell in self.missing else own.setdefault(cell, cell) for cell in cells], dtype=str
            )
        if kind == "flag":
            flags = [None if cell in self.missing else flag_of(cell) for cell in cells]
            return pd.Series(flags, dtype="boolean" if None in flags else bool)
        if kind == "integer" and self.missing.isdisjoint(cells):
            return pd.Series(np.array(list(map(int, cells)), np.int64))
        return pd.Series(np.array(self._numbers(cells), float))

    def _numbers(self, cells: Sequence[str]) -> list[float]:
        missing, every = self.missing, "".join(cells)
        if self.decimal == "." and every.isascii() and "_" not in every and "NAN" not in every.upper():
            try:
                if missing.isdisjoint(cells):
                    return list(map(float, cells))
                return [np.nan if cell in missing else float(cell) for cell in cells]
            except ValueError:
                pass  # there are others that are meant as numbers
        return [np.nan if cell in missing else number_of(cell, self.decimal) for cell in cells]

    def bad(self, cells: Sequence[str], kind: str) -> int:
        """The place of the first cell that is not of this kind."""
        for place, cell in enumerate(cells):
            try:
                self.series([cell], kind)
            except ValueError:
                return place
        raise AssertionError("some cell was bad")


def number_of(cell: str, decimal: str = ".") -> float:
    """A number, of which true is 1 and false 0; digits after a leading zero are read as such."""
    if "_" in cell or not cell.isascii() or cell.lower() == "nan":
        raise ValueError(cell)
    if cell.lower() in ("true", "false"):
        return float(cell.lower() == "true")
    return float(cell.replace(decimal, ".") if decimal != "." else cell)


def flag_of(cell: str) -> bool:
    """True or false, or 1 or 0."""
    number = number_of(cell)
    if number not in (0, 1):
        raise ValueError(cell)
    return bool(number)


def text_of(value: Any) -> str:
    """A value as a text table has it: 3.0 among numbers is 3, and true is true."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)
