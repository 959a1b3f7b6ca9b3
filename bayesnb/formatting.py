"""Format numbers and names for pages, plots, tables and messages."""

import difflib
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import floor, isfinite, isnan, log10
from typing import Any

import numpy as np

MINUS = "\u2212"  # the real signs, not a hyphen and an x
TIMES = "\u00d7"
NOTHING = "\u2013"  # for missing values
SPACE = "\u00a0"  # where a line must not break
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
JOINERS = "\u200c\u200d"  # invisible, and parts of emoji and of Persian words


# Numbers


def number(x: float, digits: int = 3) -> str:
    """Format to a number of significant digits, without an exponent where that is readable."""
    if not isfinite(x):
        return NOTHING if isnan(x) else "∞" if x > 0 else MINUS + "∞"
    if x == 0:
        return "0"
    size = floor(log10(abs(x)))
    if not -5 < size < 7:
        head, power = f"{x:.{digits - 1}e}".split("e")
        return f"{head.replace('-', MINUS)}{SPACE}{TIMES}{SPACE}{power_of_ten(int(power))}"
    text = fixed(x, max(0, digits - 1 - size))
    return text.rstrip("0").rstrip(".") if "." in text else text


def power_of_ten(power: int) -> str:
    """Return a power of ten with a superscript exponent."""
    return "10" + str(power).translate(SUPERSCRIPTS)


def fixed(x: float, decimals: int) -> str:
    """Format with fixed decimals, a real minus sign and commas between thousands."""
    if not isfinite(x):
        return number(x)
    text = f"{abs(x):,.{decimals}f}"
    is_negative = x < 0 and text.strip("0.,")
    return MINUS + text if is_negative else text


def signed(x: float, decimals: int) -> str:
    """Format with fixed decimals and a sign, even if the number is positive."""
    text = fixed(x, decimals)
    return text if text.startswith(MINUS) or isnan(x) else "+" + text


def nats(x: float) -> str:
    """Format a difference of log probabilities: signed, with one decimal if small."""
    return signed(x, 0 if abs(x) >= 99.95 else 1)


def percent(p: float, decimals: int = 1) -> str:
    """Format a probability in percent; only 0 and 1 read as 0 % and 100 %."""
    if not isfinite(p):
        return NOTHING
    least = 0.1**decimals
    if 0 < p < least / 200:
        return f"under{SPACE}{fixed(least, decimals)}{SPACE}%"
    if 1 - least / 200 < p < 1:
        return f"over{SPACE}{fixed(100 - least, decimals)}{SPACE}%"
    return f"{fixed(100 * p, decimals)}{SPACE}%"


def probability(p: float) -> str:
    """Format a probability to three decimals; only 0 and 1 read as 0 and 1."""
    if 0 < p < 0.0005:
        return "<0.001"
    return ">0.999" if 0.9995 <= p < 1 else fixed(p, 3)


def plus_minus(x: float, sd: float, max_decimals: int = 5) -> str:
    """Format a number with its standard deviation, to two digits of the deviation."""
    if not isfinite(x) or not isfinite(sd) or sd <= 0:
        return fixed(x, 2)
    decimals = min(max(1 - floor(log10(sd)), 0), max_decimals)
    return f"{fixed(x, decimals)} ± {fixed(sd, decimals)}"


def interval(x: float, lower: float, upper: float, decimals: int) -> str:
    """Format a number with its interval, if that has a width and finite ends."""
    text, low, high = (fixed(each, decimals) for each in (x, lower, upper))
    has_width = isfinite(lower) and isfinite(upper) and lower < upper
    return f"{text} ({low}{SPACE}to{SPACE}{high})" if has_width else text


def number_range(values: Any) -> str:
    """Format the smallest and the largest number of an array, or the only one."""
    low = number(float(np.min(values)))
    high = number(float(np.max(values)))
    return low if low == high else f"{low} to {high}"


def times(values: Any) -> str:
    """Return `once`, `3 times`, `0.5 to 2 times`."""
    text = number_range(values)
    return {"1": "once", "2": "twice"}.get(text, f"{text} times")


def count(n: float, noun: str) -> str:
    """Return `1 row`, `3 rows`, `1.5 rows`."""
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number(n, max(3, len(str(int(n)))))} {noun if n == 1 else plural}"


# Names


def shorten(name: Any, most: int) -> str:
    """Return a name on one line of at most `most` letters; of a long one, both ends are kept.

    Unprintable letters are replaced: names come from files.
    """
    line = " ".join(str(name).split())
    line = "".join(x if x.isprintable() or x in JOINERS else "\ufffd" for x in line)
    if len(line) <= most:
        return line
    end = most // 3
    return f"{line[: most - end - 1]}…{line[len(line) - end :]}"


def quote(name: Any, most: int = 60) -> str:
    """Return a name, a label or a cell as Python writes it, shortened."""
    return shorten(repr(name), most)


def list_names(names: Sequence[Any], most: int = 5, to_text: Callable[[Any], str] = str) -> str:
    """Join the first names, and add how many more there are."""
    rest = len(names) - most
    return ", ".join(map(to_text, names[:most])) + (f" and {rest:,} more" if rest > 0 else "")


def qualified_names(names: Sequence[Hashable], columns: Sequence[Hashable]) -> list[Hashable]:
    """Return names of words.

    Duplicates get their columns as prefixes, `column=word`.
    """
    times = Counter(names)
    qualified = []
    for name, owner in zip(names, columns, strict=True):
        is_clear = times[name] == 1 or name == owner
        qualified.append(name if is_clear else f"{owner}={name}")
    return qualified


def no_column(name: Hashable, columns: Sequence[Any], table: str = "the table") -> str:
    """Return the message for an unknown column: the nearest name, or the names there are."""
    near = near_columns(name, columns)
    advice = f"did you mean {near[0]!r}?" if near else f"it has {list_names(columns, 20, repr)}."
    return f"{table} has no column {name!r}; {advice}"


def near_columns(name: Hashable, columns: Sequence[Any]) -> list[Any]:
    """Return a list of the column with the nearest name; it is empty if no name is near."""
    texts = {column.casefold(): column for column in columns if isinstance(column, str)}
    near = difflib.get_close_matches(str(name).casefold(), texts, 1)
    return [texts[near[0]]] if near else []
