"""The log-odds of one class against another: which classes, and an axis of probabilities."""

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bayesnb.formatting import MINUS, power_of_ten, shorten

Array = np.ndarray

CLASS = 24  # letters
DECADE = log(10)  # log-odds by which the odds become ten times as large


def pair_of(explained: Any, best: Array, classes: Sequence[Any] | None) -> tuple[int, int]:
    """Return the places of two classes: those that are named, or the two that are best."""
    labels = list(explained)
    if len(labels) < 2:
        raise ValueError(f"one class is drawn against another, and there is only {labels}.")
    if classes is None:
        first, second = np.argsort(-best, kind="stable")[:2].tolist()
        return first, second
    wrong = [label for label in classes if label not in labels]
    if len(classes) != 2 or wrong or classes[0] == classes[1]:
        raise ValueError(f"classes must be two different ones of {labels}, got {list(classes)}.")
    return labels.index(classes[0]), labels.index(classes[1])


def add_probabilities(ax: Axes, label: str) -> None:
    """Add an axis of probabilities above one of log-odds, its ticks at even powers of ten."""
    above = ax.secondary_xaxis("top", functions=(_to_power, _from_power))
    above.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    above.xaxis.set_major_formatter(lambda power, _: _probability(power))
    above.tick_params(labelsize="small")
    above.set_xlabel(f"probability of {shorten(label, CLASS)}")
    above.spines["top"].set_visible(True)


def _to_power(log_odds: Any) -> Array:
    return np.divide(log_odds, DECADE)


def _from_power(power: Any) -> Array:
    return np.multiply(power, DECADE)


def _probability(power: float) -> str:
    """Format the probability of odds that are this power of ten."""
    if power < -3:
        return power_of_ten(round(power))
    if power > 3:
        return f"1 {MINUS} {power_of_ten(-round(power))}"
    percent = 100 / (1 + 10**-power)
    return f"{percent:.1g} %" if percent < 1 else f"{percent:.3g} %"
