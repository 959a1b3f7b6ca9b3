"""Numbers as a reader would write them, for what a family says of its prior."""

from math import floor, isfinite, isnan, log10

import numpy as np

from bayesnb.families.record import Array

MINUS, TIMES = "\u2212", "\u00d7"  # the real signs, not a hyphen and an x
NOTHING = "\u2013"  # for what has no value
SPACE = "\u00a0"  # where a line must not break
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def number(x: float, digits: int = 3) -> str:
    """The number to that many significant digits, without an exponent where that is readable."""
    if not isfinite(x):
        return NOTHING if isnan(x) else "∞" if x > 0 else MINUS + "∞"
    if x == 0:
        return "0"
    size = floor(log10(abs(x)))
    if not -5 < size < 7:
        head, power = f"{x:.{digits - 1}e}".split("e")
        return f"{head.replace('-', MINUS)}{SPACE}{TIMES}{SPACE}10{str(int(power)).translate(RAISED)}"
    shown = fixed(x, max(0, digits - 1 - size))
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def fixed(x: float, decimals: int) -> str:
    """The number to that many decimals, with a real minus sign and commas between thousands."""
    return f"{x:,.{decimals}f}".replace("-", MINUS) if isfinite(x) else number(x)


def times(values: Array) -> str:
    """`once`, `3 times`, `0.5 to 2 times`."""
    shown = alike(values)
    return {"1": "once", "2": "twice"}.get(shown, f"{shown} times")


def alike(values: Array) -> str:
    """All numbers of an array, in one or two."""
    low, high = number(float(np.min(values))), number(float(np.max(values)))
    return low if low == high else f"{low} to {high}"
