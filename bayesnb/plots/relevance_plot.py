"""Bars for features: evidence that they depend on the class, or what is lost without them."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bayesnb.criticism.relevance import relevance
from bayesnb.formatting import nats
from bayesnb.plots.style import (
    COLOURS,
    INK,
    check_most,
    format_tick,
    get_result,
    list_names,
    short,
    styled,
)

LARGE = 20.0  # nats beyond which an axis is logarithmic


@styled
def plot_relevance(result: Any, most: int = 30, ax: Axes | None = None) -> Axes:
    """Draw how strongly the data speak for, or against, a dependence of each feature on the class.

    Of the result of `bayesnb.importance`, draw what held-out log loss loses without each feature,
    with intervals.

    Parameters
    ----------
    result : estimator or xarray.Dataset
        A fitted model, or the result of `bayesnb.relevance` or `bayesnb.importance`.
    most : int, default 30
        How many features are shown, those with the largest numbers.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, by default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the bars.

    See Also
    --------
    relevance : The Bayes factors that are drawn.
    importance : What held-out log loss loses without each feature.
    plot_column : A column's distribution in each class.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, plot_relevance
    >>> from bayesnb.datasets import dogs
    >>> table = dogs()
    >>> model = NaiveBayes().fit(table.drop(columns="breed"), table["breed"])
    >>> ax = plot_relevance(model)
    >>> ax.get_title(loc="left")
    'Does the feature depend on the class?'
    >>> ax.get_figure().savefig("relevance.png")  # doctest: +SKIP
    """
    check_most(most)
    if "importance" in getattr(result, "data_vars", ()):
        return _plot_importance(result, most, ax)
    dataset = get_result(result, "inclusion", relevance, "relevance(model)")
    table = dataset[["log_bayes_factor"]].to_dataframe()
    ax, shown = draw_bars(table.rename(index=short), most, ax)
    draw_nats(ax)
    ax.set_title("Does the feature depend on the class?")
    ax.set_xlabel(
        "log Bayes factor in nats\n(above 0: evidence for a dependence)"
        + count_shown(shown, table, "features")
    )
    return ax


def _plot_importance(dataset: Any, most: int, ax: Axes | None) -> Axes:
    """Draw importances as bars with intervals."""
    table = dataset[["importance", "lower", "upper"]].to_dataframe().dropna(subset="importance")
    ax, shown = draw_bars(table.rename(index=short), most, ax)
    ax.set_title("What is lost without the feature?")
    ax.set_xlabel(
        "held-out log loss without the feature,\nless that with it, in nats a row"
        + count_shown(shown, table, "features")
    )
    return ax


def draw_bars(table: Any, most: int, ax: Axes | None) -> tuple[Axes, Any]:
    """Draw the largest numbers of a frame's first column as bars, with intervals if it has them.

    Infinite ones end at twice the longest of the others. Return the axes, and what is drawn.
    """
    name = table.columns[0]
    shown = table.sort_values(name, ascending=False, kind="stable")[:most]
    values = shown[name].to_numpy()
    limit = 2 * np.abs(values[np.isfinite(values)]).max(initial=0.0) or 1.0
    ends = shown.select_dtypes(float).clip(-limit, limit)
    ax = list_names(ax, list(shown.index))
    colours = [COLOURS[int(value > 0)] for value in values]
    ax.barh(range(len(shown)), ends[name], 0.7, color=colours)
    if "lower" in ends:
        ax.hlines(range(len(shown)), ends["lower"], ends["upper"], color=INK)
    ax.axvline(0, linewidth=0.7)
    return ax, shown


def draw_nats(ax: Axes) -> None:
    """Label bars with their nats, on an axis that is logarithmic where they are large."""
    bars: Any = ax.containers[-1]
    ax.bar_label(bars, [nats(value) for value in bars.datavalues], padding=4, fontsize="small")
    ax.use_sticky_edges = False
    ax.margins(x=0.16)
    if np.abs(bars.datavalues).max(initial=0.0) > LARGE:
        ax.set_xscale("symlog", linthresh=1.0)
        ax.locator_params(axis="x", numticks=5)
    ax.xaxis.set_major_formatter(format_tick)


def count_shown(shown: Any, table: Any, noun: str) -> str:
    """Return a line that says how many are shown, if not all are."""
    if len(shown) == len(table):
        return ""
    return f"\nthe first {len(shown)} of {len(table):,} {noun}"
