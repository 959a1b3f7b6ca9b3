"""Checks of a new table: evidence that columns changed, and the shares of the classes."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bayesnb.families.base import Array
from bayesnb.plots.dependence_plot import count_shown, draw_bars, draw_nats
from bayesnb.plots.style import (
    COLOURS,
    INK,
    LIST_WIDTH,
    PERCENT,
    ROW_HEIGHT,
    add_legend,
    check_most,
    list_names,
    new_figure,
    short,
    styled,
)

MARGIN = 1.5  # inches, of each panel


@styled
def plot_check(result: Any, most: int = 30) -> Array:
    """Draw which columns of a new table changed, and the shares of the classes.

    A column's bar is the strongest evidence of a change in its distribution, its missing cells or
    its unknown levels; beyond the dashed line, it has changed. Dots are the shares of the classes
    in the new rows, with intervals; circles are those in the training rows.

    Parameters
    ----------
    result : TableCheck
        The result of `bayesnb.check`.
    most : int, default 30
        The number of columns to show, those that changed most.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes
        The two panels, columns and classes.

    See Also
    --------
    check : The numbers behind the plot.

    Examples
    --------
    >>> from bayesnb import GaussianNB, check, plot_check
    >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
    >>> columns, classes = plot_check(check(GaussianNB().fit(x, y), [[1.0], [9.0]]))
    >>> columns.get_title(loc="left")
    'Which columns changed?'
    """
    check_most(most)
    table = result.table.set_index("feature").rename(index=short)
    factors = table[[name for name in table if name.endswith("factor")]]
    changes = (-factors.min(axis=1)).to_frame("change")
    sizes = min(most, len(changes)), len(result.prevalence)
    heights = [MARGIN + ROW_HEIGHT * size for size in sizes]
    figure = new_figure(sum(heights), LIST_WIDTH)
    columns, classes = figure.subplots(2, height_ratios=heights)
    _, shown = draw_bars(changes, most, columns)
    draw_nats(columns)
    columns.axvline(-result.limit, color=INK, linewidth=0.7, linestyle="--")
    columns.set_title("Which columns changed?")
    columns.set_xlabel(
        "evidence of a change in nats\n(beyond the dashed line: changed)"
        + count_shown(shown, changes, "columns")
    )
    _draw_shares(classes, result.prevalence)
    return np.array([columns, classes])


def _draw_shares(ax: Axes, prevalence: Any) -> None:
    """Draw the share of each class in the new rows, with its interval, and in the training rows."""
    list_names(ax, [short(label) for label in prevalence["class"]])
    places = range(len(prevalence))
    ax.hlines(places, prevalence["lower"], prevalence["upper"], color=COLOURS[1], linewidth=2)
    ax.scatter(prevalence["share"], places, color=COLOURS[1], zorder=3, label="new rows")
    ax.scatter(
        prevalence["learnt"], places, facecolors="none", edgecolors=INK, label="training rows"
    )
    ax.set_xlim(0, None)
    ax.xaxis.set_major_formatter(PERCENT)
    ax.set_title("Shares of the classes")
    add_legend(ax, outside=True)
