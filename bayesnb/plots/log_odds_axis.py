"""The log-odds of one class against another: which classes, and an axis of probabilities."""

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bayesnb.formatting import MINUS, power_of_ten
from bayesnb.plots.style import short

Array = np.ndarray

DECADE = log(10)  # log-odds by which the odds become ten times as large


def choose_pair(labels: list[Any], best: Array, classes: Sequence[Any] | None) -> list[int]:
    """Return the places of two classes: those that are named, or the two that are best."""
    if len(labels) < 2:
        raise ValueError(f"one class is drawn against another, and there is only {labels}.")
    if classes is None:
        return np.argsort(-best, kind="stable")[:2].tolist()
    if len(classes) != 2 or not set(classes) <= set(labels) or classes[0] == classes[1]:
        raise ValueError(f"classes must be two different ones of {labels}, got {list(classes)}.")
    return [labels.index(label) for label in classes]


def add_probabilities(ax: Axes, label: str) -> None:
    """Add an axis of probabilities above one of log-odds, its ticks at even powers of ten."""
    powers: Any = (lambda log_odds: log_odds / DECADE, lambda power: power * DECADE)
    above = ax.secondary_xaxis("top", functions=powers)
    above.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    above.xaxis.set_major_formatter(lambda power, _: _format_probability(power))
    above.tick_params(labelsize="small")
    above.set_xlabel(f"probability of {short(label)}")
    above.spines["top"].set_visible(True)


def _format_probability(power: float) -> str:
    """Format the probability of odds that are this power of ten."""
    if power < -3:
        return power_of_ten(round(power))
    if power > 3:
        return f"1 {MINUS} {power_of_ten(-round(power))}"
    percent = 100 / (1 + 10**-power)
    return f"{percent:.1g} %" if percent < 1 else f"{percent:.3g} %"
