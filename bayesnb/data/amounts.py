"""Numbers written for people: money, percentages, marks between thousands, units; and dates.

Columns of them stay text, as codes do, and become levels. `amounts_of` recognises them, so that a warning can say how
to convert them: what 1.234 means, the user has to say.
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

CODES = "AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR ILS INR JPY KRW MXN NOK NZD PLN SEK SGD THB TRY USD ZAR"
CURRENCY = rf"[$\u00a2-\u00a5\u20a0-\u20c0]|kr|z\u0142|{CODES.replace(' ', '|')}"
NUMBER = (
    r"(?=[.,]?\d)"
    r"(?P<whole>[1-9]\d{0,2}(?P<mark>[,.'\u2019 \u00a0\u202f])\d{3}(?:(?P=mark)\d{3})*|(?!0\d)\d+)?"
    r"(?:[.,](?P<decimals>\d+))?"
)
CELL = re.compile(
    rf"\(?[+\u2212-]?(?P<before>{CURRENCY})?\s?[+\u2212-]?(?P<number>{NUMBER})\s?"
    rf"(?P<after>{CURRENCY}|[%\u2030]|[^\W\d_][^\W\d_/\u00b2\u00b3]{{0,9}}(?:/[^\W\d_]{{1,9}})?[\u00b2\u00b3]?)?\)?"
)


DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.,+Z-]*)?")
DAY_AND_MONTH = re.compile(r"(?P<first>[0-9]{1,2})(?P<mark>[./-])(?P<second>[0-9]{1,2})(?P=mark)[0-9]{4}(?: [0-9:]+)?")


class Amounts(NamedTuple):
    """What all cells of a column are, one of them, and that one as a plain number."""

    what: str
    example: str
    plain: str
    decimal: str = "."  # the decimal mark, "." unless a cell shows a comma
    is_unclear: bool = False  # whether a cell would be another number if that were another mark


def amounts_of(cells: Iterable[Any]) -> Amounts | None:
    """Return what distinct cells are if all are numbers with a sign, a unit or marks beside them; else None."""
    matches = []
    for cell in cells:
        match = CELL.fullmatch(cell.strip()) if isinstance(cell, str) else None
        if match is None:
            return None
        matches.append(match)
    what = meaning(matches) if len(matches) > 1 else None
    if what is None:
        return None
    example = max(matches, key=lambda each: (each["mark"] is not None, bool(beside(each)), each["decimals"] or ""))
    decimal = "," if "," in map(decimal_mark, matches) else "."
    return Amounts(what, example[0], plain(example, decimal), decimal, any(map(is_unclear, matches)))


def meaning(cells: list[re.Match[str]]) -> str | None:
    """Return what cells are, by what stands beside their numbers and in them; None for codes and plain numbers."""
    signs = {beside(cell) for cell in cells}
    if signs != {""} and all(re.fullmatch(CURRENCY, sign) for sign in signs - {""}):
        return "amounts of money"
    if signs != {""} and signs <= {"", "%", "\u2030"}:
        return "percentages"
    if len(signs) == 1 and signs != {""}:
        return "numbers with a unit" if any(map(str.islower, *signs)) else None  # 34A and 147 B are seats and rooms
    marks = {cell["mark"] for cell in cells} - {None}
    if signs != {""} or len(marks) != 1 or " " in marks:  # 110 001 may be a code
        return None
    (mark,) = marks
    decimals = any(cell["mark"] is None and mark in cell["number"] for cell in cells)  # 1,5 beside 1,234
    groups = {cell["whole"].count(mark) if cell["mark"] else 0 for cell in cells}
    if decimals or (len(groups) == 1 and max(groups) > 1):  # versions and addresses all have as many groups
        return None
    return "numbers with marks between thousands"


def beside(cell: re.Match[str]) -> str:
    """Return the sign or the unit before or after a number."""
    return cell["before"] or cell["after"] or ""


def plain(cell: re.Match[str], decimal: str = ".") -> str:
    """Return a cell's number as a program writes it; `decimal` decides what 1.234 is."""
    whole, decimals, mark = cell["whole"] or "0", cell["decimals"], cell["mark"]
    if mark is not None and is_unclear(cell) and mark == decimal:
        whole, decimals = whole.split(mark)
    minus = "-" if re.search(r"[\u2212-]|\(", cell[0]) else ""
    return minus + whole.replace(mark or ",", "") + (f".{decimals}" if decimals else "")


def is_unclear(cell: re.Match[str]) -> bool:
    """Return whether the only mark of a number is before three digits: 1.234 and 1,234."""
    return cell["mark"] in (".", ",") and cell["whole"].count(cell["mark"]) == 1 and cell["decimals"] is None


def decimal_mark(cell: re.Match[str]) -> str | None:
    """Return the decimal mark that a number shows, whatever the mark is elsewhere; None where it shows none."""
    if cell["decimals"]:
        return cell["number"][-len(cell["decimals"]) - 1]
    repeated = cell["mark"] in (".", ",") and not is_unclear(cell)
    return {".": ",", ",": "."}[cell["mark"]] if repeated else None
