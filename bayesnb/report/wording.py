"""Numbers and priors in words, as plain text: whoever puts it on the page escapes it."""

from collections.abc import Hashable
from dataclasses import fields
from math import ceil, exp, isnan, log, log10
from typing import Any

import numpy as np

from bayesnb.families.base import Array
from bayesnb.formatting import NOTHING, SPACE, fixed, number, percent, power_of_ten, shorten
from bayesnb.report.html import Name

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


def as_name(name: object, most: int = 80) -> Name:
    """A name that may be endless, as a template shows it: on one line, escaped, both ends of a long one."""
    return Name(shorten(name, most))


def stated(log_bayes_factor: float) -> str:
    """A log Bayes factor as odds, for whoever has not met one yet."""
    tens = log_bayes_factor / log(10)
    if tens < 4:
        return f"the data are {number(exp(log_bayes_factor), 2)} times as probable if these two depend on each other"
    return f"the data are {power_of_ten(round(tens))} times as probable if these two depend on each other"


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
