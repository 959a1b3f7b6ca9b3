"""Evidence of dependence: of features on the class, and of columns on each other within classes.

Features and links are drawn as bars, all pairs of columns as a map.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, SymLogNorm

from bayesnb.criticism.dependence import dependence
from bayesnb.criticism.relevance import relevance
from bayesnb.formatting import nats, number
from bayesnb.model.linked import ARROW
from bayesnb.plots.style import (
    COLOURS,
    INK,
    MAX_LETTERS_OF_TWO,
    check_fitted,
    check_most,
    format_tick,
    get_figure,
    get_result,
    list_names,
    new_axes,
    short,
    styled,
)

LARGE = 20.0  # nats beyond which an axis is logarithmic
MAX_LINKS = 40
SIDE = 1.8, 6.0  # inches of a map, at least and at most
SQUARE = 0.42  # inches of a column of a map, if there are few
MAX_NAMES = 60  # columns of a map with their names
MAX_COLUMNS_WITH_NUMBERS = 12
SHADES = LinearSegmentedColormap.from_list(
    "against and for", [COLOURS[0], "#F4F4F4", COLOURS[1]], 101
).with_extremes(bad="#BBBBBB")


@styled
def plot_relevance(result: Any, most: int = 30, ax: Axes | None = None) -> Axes:
    """Draw the evidence for or against a dependence of each feature on the class.

    For a result of `bayesnb.importance`, draw the increase in held-out log loss without each
    feature, with intervals.

    Parameters
    ----------
    result : estimator or xarray.Dataset
        A fitted model, or the result of `bayesnb.relevance` or `bayesnb.importance`.
    most : int, default 30
        The number of features to show, those with the largest values.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, by default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the bars.

    See Also
    --------
    relevance : The Bayes factors behind the plot.
    importance : The increase in held-out log loss without each feature.
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
    ax.set_title("Importance of the features")
    ax.set_xlabel(
        "increase in held-out log loss\nwithout the feature, nats per row"
        + count_shown(shown, table, "features")
    )
    return ax


def draw_bars(table: Any, most: int, ax: Axes | None) -> tuple[Axes, Any]:
    """Draw the largest numbers of a frame's first column as bars, with intervals if it has them.

    Infinite bars are twice as long as the longest finite one. Return the axes and the rows drawn.
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
    """Label bars with their values in nats; the axis is logarithmic if they are large."""
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


@styled
def plot_dependence(result: Any, X: Any = None, y: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw which columns depend on each other within the classes: a map, or the links of a model.

    The map has a square for each pair of columns: orange is evidence for a dependence, blue against
    it, and grey pairs cannot be compared. Links are drawn as bars, the strongest first, pale if
    they are not in the forest.

    Parameters
    ----------
    result : estimator or xarray.Dataset
        For a map, the result of `bayesnb.dependence`, or a model together with `X` and `y`. For
        links, a fitted model alone, or its `links_`.
    X : table of rows, optional
        The training rows of the model, for a map.
    y : array-like, optional
        Their labels.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, by default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the map or the bars.

    See Also
    --------
    dependence : The numbers of the map.
    NaiveBayes.links_ : The links of a model.

    Notes
    -----
    Both show log Bayes factors against independence, but different ones: `bayesnb.dependence` uses
    the families of the columns, the links of a model use cells on a coarse grid; see `links_`.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, plot_dependence
    >>> from bayesnb.datasets import penguins
    >>> table = penguins()
    >>> X, y = table.drop(columns="species"), table["species"]
    >>> model = NaiveBayes().fit(X, y)
    >>> plot_dependence(model, X, y).get_title(loc="left")
    'Dependence within classes'
    >>> plot_dependence(model).get_title(loc="left")
    'Links between columns'
    """
    if hasattr(result, "predict_proba") and X is None and y is None:
        check_fitted(result)
        if not hasattr(result, "links_"):
            raise ValueError(
                "this model treats its columns as independent (dependence=None) and has no links "
                "to draw. Fit with dependence='forest' or 'pairs'; or draw the evidence of all "
                "pairs: plot_dependence(dependence(model, X, y))."
            )
        result = result.links_
    if "in_forest" in getattr(result, "data_vars", ()):
        return _plot_links(result, ax)
    call = "dependence(model, X, y)"
    return _plot_map(get_result(result, "log_bayes_factor_by_class", dependence, call, X, y), ax)


def _plot_links(links: Any, ax: Axes | None) -> Axes:
    """Draw the strongest links as bars, pale if they are not in the forest."""
    table = links[["log_bayes_factor", "first", "second", "in_forest"]].to_dataframe()
    table.index = [
        ARROW.join(short(name, MAX_LETTERS_OF_TWO) for name in ends)
        for ends in zip(table["first"], table["second"], strict=True)
    ]
    ax, shown = draw_bars(table, MAX_LINKS, ax)
    draw_nats(ax)
    ax.set_title("Links between columns")
    label = "log Bayes factor in nats" if len(table) else "no links"
    if not shown["in_forest"].all():
        label += "\npale: links not in the forest"
    ax.set_xlabel(label + count_shown(shown, table, "links"))
    for bar, in_forest in zip(ax.patches, shown["in_forest"], strict=True):
        bar.set_alpha(1.0 if in_forest else 0.4)
    return ax


def _plot_map(dataset: Any, ax: Axes | None) -> Axes:
    """Draw a square for each pair of columns."""
    factors = np.ma.masked_invalid(dataset["log_bayes_factor"].values)
    names = [short(name) for name in dataset["feature"].values]
    has_names = len(names) <= MAX_NAMES
    side = float(np.clip(SQUARE * len(names), *SIDE))
    ax = ax or new_axes(side + 1.9, side + 2.9, "compressed")
    largest = max(float(np.abs(factors.filled(0.0)).max(initial=0.0)), 1.0)
    image: Any = ax.pcolormesh(
        factors,
        cmap=SHADES,
        norm=SymLogNorm(1.0, vmin=-largest, vmax=largest),
        edgecolors="white" if has_names else "none",
        linewidth=0.6 if has_names else 0,
        rasterized=not has_names,
    )
    ax.set(aspect="equal", title="Dependence within classes")
    ax.invert_yaxis()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if has_names:
        size = min(10.5, 50 * side / len(names))
        centres = np.arange(len(names)) + 0.5
        ax.set_xticks(centres, names, rotation=90, fontsize=size)
        ax.set_yticks(centres, names, fontsize=size)
    else:
        place = f"position among {len(names):,} columns"
        ax.set(xlabel=place, ylabel=place)
    if len(names) <= MAX_COLUMNS_WITH_NUMBERS:
        _write_numbers(ax, factors, image.norm)
    bar: Any = get_figure(ax).colorbar(
        image,
        ax=ax,
        format=format_tick,
        shrink=0.8,
        aspect=14,
    )
    bar.locator.set_params(numticks=5)
    bar.outline.set_visible(False)
    bar.solids.set_rasterized(False)
    bar.ax.minorticks_off()
    bar.set_label("log Bayes factor\nin nats")
    return ax


def _write_numbers(ax: Axes, factors: Any, norm: SymLogNorm) -> None:
    """Write numbers into the squares of a map, white on dark squares in any theme of a page."""
    for (i, j), value in np.ma.ndenumerate(factors):
        is_dark = abs(norm(value) - 0.5) > 0.38
        colour = "#FFFFFF" if is_dark else "#222222"
        text = number(value, 2)
        ax.text(
            j + 0.5,
            i + 0.5,
            text,
            ha="center",
            va="center",
            size=7,
            color=colour,
        )
