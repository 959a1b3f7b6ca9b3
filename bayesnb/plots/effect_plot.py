"""What a column adds to the log-odds, against its cells: its shape in an additive model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bayesnb.families.base import Array
from bayesnb.formatting import shorten
from bayesnb.plots.column_data import shown_classes
from bayesnb.plots.style import COLOURS, DASHES, INK, list_names, new_axes, styled

GROUPS = 20  # of equally many rows, whose means are joined by a line
MAX_LEVELS = 12
LEVEL_LETTERS = 20


@styled
def plot_effect(
    cells: Array, evidence: Array, counts: Array, levels: Sequence[object], name: str
) -> Axes:
    """Draw what cells say for each class, `(r,), (r, c)`, against the cells.

    Of two classes it is the evidence for the second against the first, of several that against
    their mean; `counts` are the rows of each. Numbers are dots, and a line joins their means.
    Levels, of which cells are codes, have bars.
    """
    shown = shown_classes(counts)
    effect = (evidence - evidence.mean(axis=1, keepdims=True))[:, shown]
    colours: Sequence[str] = COLOURS
    if len(counts) == 2:
        effect, colours = evidence[:, [1]] - evidence[:, [0]], COLOURS[1:]
    if len(levels):
        ax = _draw_levels(cells.astype(int), effect, levels, colours)
    else:
        ax = _draw_numbers(cells, effect, colours)
        ax.set_xlabel(name)
    ax.set_title("Log-odds that the column adds")
    return ax


def _draw_numbers(cells: Array, effect: Array, colours: Sequence[str]) -> Axes:
    ax = new_axes()
    order = np.argsort(cells, kind="stable")
    groups = np.array_split(order, min(GROUPS, len(order)))
    for k, values in enumerate(effect.T):
        dots: Any = {"markersize": 5, "alpha": 0.4, "markeredgewidth": 0}
        ax.plot(cells, values, ".", color=colours[k], **dots)
        x = [cells[group].mean() for group in groups]
        means = [values[group].mean() for group in groups]
        ax.plot(x, means, color=colours[k], dashes=DASHES[k], linewidth=1.8)
    ax.axhline(0, color=INK, linewidth=0.7)
    ax.set_ylabel("log-odds")
    ax.locator_params(axis="x", nbins=6)
    return ax


def _draw_levels(
    codes: Array, effect: Array, levels: Sequence[object], colours: Sequence[str]
) -> Axes:
    distinct, times = np.unique(codes, return_counts=True)
    frequent = np.sort(distinct[np.argsort(-times, kind="stable")[:MAX_LEVELS]])
    classes = effect.shape[1]
    height = 0.84 / classes
    ax = new_axes(0.6 + len(frequent) * (0.16 * classes + 0.12))
    for k, values in enumerate(effect.T):
        means = [values[codes == code].mean() for code in frequent]
        y = np.arange(len(frequent)) + (k - (classes - 1) / 2) * height
        ax.barh(y, means, 0.9 * height, color=colours[k], alpha=0.85)
    names = [levels[code] if code < len(levels) else "new" for code in frequent]
    list_names(ax, [shorten(each, LEVEL_LETTERS) for each in names])
    ax.axvline(0, color=INK, linewidth=0.7)
    ax.set_xlabel("log-odds")
    return ax
