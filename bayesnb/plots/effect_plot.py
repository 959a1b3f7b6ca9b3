"""What a column adds to the log-odds, against its cells: its shape in an additive model."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from bayesnb.families.base import Array
from bayesnb.plots.column_data import choose_classes
from bayesnb.plots.style import (
    COLOURS,
    INK,
    class_line,
    list_names,
    new_axes,
    place_bar,
    short,
    styled,
)

GROUPS = 20  # of equally many rows, whose means are joined by a line
MAX_LEVELS = 12


@styled
def plot_effect(
    cells: Array, evidence: Array, counts: Array, levels: Sequence[object], name: str
) -> Axes:
    """Draw what cells say for each class, `(r,), (r, c)`, against the cells.

    Of two classes it is the evidence for the second against the first, of several that against
    their mean; `counts` are the rows of each. Numbers are dots, and a line joins their means.
    Levels, of which cells are codes, have bars.
    """
    shown = choose_classes(counts)
    effects = dict(enumerate((evidence - evidence.mean(axis=1, keepdims=True)).T[shown]))
    if len(counts) == 2:
        effects = {1: evidence[:, 1] - evidence[:, 0]}
    if len(levels):
        ax = _draw_levels(cells.astype(int), effects, levels)
    else:
        ax = _draw_numbers(cells, effects)
        ax.set_xlabel(name)
    ax.set_title("Log-odds that the column adds")
    return ax


def _draw_numbers(cells: Array, effects: dict[int, Array]) -> Axes:
    ax = new_axes()
    order = np.argsort(cells, kind="stable")
    groups = np.array_split(order, min(GROUPS, len(order)))
    for place, values in effects.items():
        ax.plot(cells, values, ".", color=COLOURS[place], markersize=5, alpha=0.4, mew=0)
        x = [cells[group].mean() for group in groups]
        means = [values[group].mean() for group in groups]
        ax.plot(x, means, **class_line(place))
    ax.axhline(0, color=INK, linewidth=0.7)
    ax.set_ylabel("log-odds")
    ax.locator_params(axis="x", nbins=6)
    return ax


def _draw_levels(codes: Array, effects: dict[int, Array], levels: Sequence[object]) -> Axes:
    distinct, times = np.unique(codes, return_counts=True)
    frequent = np.sort(distinct[np.argsort(-times, kind="stable")[:MAX_LEVELS]])
    names = [levels[code] if code < len(levels) else "new" for code in frequent]
    ax = new_axes(0.6 + len(frequent) * (0.16 * len(effects) + 0.12))
    for k, (place, values) in enumerate(effects.items()):
        means = [values[codes == code].mean() for code in frequent]
        shift, height = place_bar(k, len(effects))
        ax.barh(np.arange(len(names)) + shift, means, height, color=COLOURS[place], alpha=0.7)
    list_names(ax, list(map(short, names)))
    ax.axvline(0, color=INK, linewidth=0.7)
    ax.set_xlabel("log-odds")
    return ax
