"""Numbers and priors in words, as plain text: whoever puts it on the page escapes it."""

from collections.abc import Hashable, Sequence
from dataclasses import fields
from math import ceil, exp, isfinite, isnan, log, log10
from typing import Any

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.number_format import MINUS, NOTHING, RAISED, SPACE, fixed, number
from bayesnb.plots.style import short
from bayesnb.results.display import Name

INTERVAL = 0.89  # the probability of intervals, as ArviZ has it
SURE = float(np.nextafter(1.0, 0.0))  # the largest probability that is not certain


def name_of(key: Hashable) -> str:
    """A column as a reader would call it; a column of an array has only its place."""
    if not isinstance(key, tuple):
        return f"column {key}" if isinstance(key, (int, np.integer)) else str(key)
    shown = ", ".join(str(part) for part in key[:3])
    if len(key) <= 3:
        return shown
    return f"{len(key):,} columns ({shown}{', …' if len(key) > 3 else ''})"


def described(family: Any) -> str:
    """What a family is for."""
    width = "shape" if family.multivariate else "width"
    return (family.content or str(family.support)) + (f", all of one {width}" if family.shared else "")


def brief(name: str, most: int = 80) -> str:
    """A name that may be endless, on one line."""
    return short(" ".join(name.split()), most)


def as_name(name: object, most: int = 80) -> Name:
    """A name that may be endless, as a template shows it: on one line, escaped, both ends of a long one."""
    return Name(brief(str(name), most))


def listed(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def nats(x: float) -> str:
    """A log Bayes factor: signed, one decimal where it is small."""
    size = abs(x)
    text = fixed(size, 0 if size >= 99.95 else 1)
    return (MINUS if x < 0 and text.strip("0.") else "+") + text if isfinite(x) else number(x)


def stated(log_bayes_factor: float) -> str:
    """A log Bayes factor as odds, for whoever has not met one yet."""
    tens = log_bayes_factor / log(10)
    if tens < 4:
        return f"the data are {number(exp(log_bayes_factor), 2)} times as probable if these two depend on each other"
    return f"the data are 10{str(round(tens)).translate(RAISED)} times as probable if these two depend on each other"


def count(n: float, noun: str) -> str:
    """`1 row`, `3 rows`, `1.5 rows`."""
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number(n, max(3, len(str(int(n)))))} {noun if n == 1 else plural}"


def percent(p: float, decimals: int = 1) -> str:
    """A probability that is not certain never reads as 0 % or 100 %."""
    least = 0.1**decimals
    if not isfinite(p):
        return NOTHING
    if 0 < p < least / 200:
        return f"under{SPACE}{fixed(least, decimals)}{SPACE}%"
    if 1 - least / 200 < p < 1:
        return f"over{SPACE}{fixed(100 - least, decimals)}{SPACE}%"
    return f"{fixed(100 * p, decimals)}{SPACE}%"


def spans(values: Array, lower: Array, upper: Array) -> list[str]:
    """Values with their intervals, all to the decimals that the narrowest interval is worth."""
    widths = (upper - lower)[np.isfinite(upper - lower)]
    fine = float(widths.min()) if len(widths) else 0.0
    plain = fine > 1e-4 and np.nanmax(np.abs(values)) < 1e7

    def text(x: float) -> str:
        return fixed(x, max(0, ceil(-log10(fine)) + 1)) if plain else number(x, 4)

    each = zip(values.tolist(), lower.tolist(), upper.tolist(), strict=True)
    return [f"{text(x)} ({text(low)}{SPACE}to{SPACE}{text(high)})" for x, low, high in each]


def in_percent(prob: float) -> str:
    """The probability of an interval, to the digits that it was given with."""
    return f"{100 * prob:.10g}{SPACE}%"


def percent_span(value: float, lower: float, upper: float, decimals: int | None = None) -> str:
    """A probability with its interval, to so many decimals: by default those that the interval is worth."""
    decimals = (0 if upper - lower > 0.02 else 1) if decimals is None else decimals
    if lower == upper:
        return percent(value, decimals)
    return f"{percent(value, decimals)} ({fixed(100 * lower, decimals)}{SPACE}to{SPACE}{fixed(100 * upper, decimals)})"


def typical(loss: float) -> str:
    """What a log loss means: the geometric mean of the probabilities given to the true labels."""
    return percent(exp(-loss)) if not isnan(loss) else NOTHING


def spelled(belief: Any) -> str:
    """The belief's name and parameters, as one would type them."""
    name = belief.public_name
    names = [field.name for field in fields(belief) if field.name not in belief.layout]
    ends = [(belief.renamed.get(name, name), getattr(belief, name)) for name in names]
    parts = [(name, f"{np.min(values):.4g}", f"{np.max(values):.4g}") for name, values in ends if np.size(values)]
    text = (f"{name}={low}" if low == high else f"{name}={low}…{high}" for name, low, high in parts)
    return f"{name}({', '.join(text)})"
