"""Axes of log-odds and nats: ticks at probabilities, labels that there is room for, and formats of numbers."""

from collections.abc import Sequence
from math import log1p, log10
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bayesnb.formatting import MINUS, power_of_ten, shorten
from bayesnb.plots.style import width_in_points

Array = np.ndarray


TINY = (1e-6, 1e-9, 1e-12, 1e-20, 1e-30, 1e-50, 1e-100, 1e-150, 1e-200, 1e-300)
LETTER = 0.66  # an average letter's width, in sizes of the font
MOST_LETTERS = 24


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


def percent(p: float) -> str:
    """Format a probability; what is not certain never reads as 0 % or 100 %."""
    if not 0.0005 <= p <= 0.9995:
        return "< 0.1 %" if p < 0.5 else "> 99.9 %"
    return f"{100 * p:.1f} %" if p < 0.1 or p > 0.9 else f"{100 * p:.0f} %"


def signed(x: float) -> str:
    """Format a number with three digits and a sign."""
    decimals = 2 if abs(x) < 9.995 else 1 if abs(x) < 99.95 else 0
    return ("+" if x >= 0 else MINUS) + f"{abs(x):,.{decimals}f}"


def nats(x: float) -> str:
    """Format with two digits, and the real minus sign."""
    size = abs(x)
    digits = f"{size:,.0f}" if size >= 9.95 or size == round(size) else f"{size:.1f}"
    return (MINUS if x < 0 and digits not in ("0", "0.0") else "") + digits


def probability_ticks(
    low: float, high: float, width: float, size: float
) -> tuple[list[float], list[str]]:
    """Return log-odds and their probabilities as labels: even odds, then outwards, where there is room.

    `width` is the axis's, and `size` the font's, both in points.
    """
    candidates: list[tuple[float, str]] = [(0.0, "50 %")]
    for p in (0.1, 0.01, 0.001, 1e-4, 0.25, 0.4):
        at = log1p(-p) - np.log(p)
        candidates += [(-at, f"{100 * p:g} %"), (at, f"{100 * (1 - p):.6g} %")]
    for p in TINY:
        power = power_of_ten(round(log10(p)))
        candidates += [(np.log(p), power), (-np.log(p), f"1 {MINUS} {power}")]
    scale = width / max(high - low, 1e-300)
    kept: list[tuple[float, str, float]] = []
    for at, label in candidates:
        half = (len(label) + 1) * LETTER * size / 2
        if low <= at <= high and all(abs(at - x) * scale > half + half_x for x, _, half_x in kept):
            kept.append((at, label, half))
    kept.sort()
    return [at for at, _, _ in kept], [label for _, label, _ in kept]


def add_probabilities(ax: Axes, named: str) -> None:
    """Add an axis of probabilities above one of log-odds."""
    width = width_in_points(ax)
    above = ax.secondary_xaxis("top")
    size = float(above.xaxis.get_label().get_fontsize())
    above.set_xticks(*probability_ticks(*ax.get_xlim(), width, size))
    above.set_xlabel(f"probability of {shorten(named, MOST_LETTERS)}")
    above.spines["top"].set_visible(True)
