"""Bars for features: evidence that they depend on the class, or what is lost without them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import SymmetricalLogLocator

from bayesnb.criticism.relevance import relevance
from bayesnb.families.base import Array
from bayesnb.formatting import nats, number, shorten
from bayesnb.plots.style import (
    COLOURS,
    INK,
    check_dataset,
    check_most,
    list_names,
    new_axes,
    result_of,
    styled,
)

NAME, ROW, WIDE = 26, 0.24, 6.4  # letters, and inches
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
    dataset = result_of(result, relevance, "relevance(model)")
    if "importance" in getattr(dataset, "data_vars", ()):
        return _plot_importance(dataset, most, ax)
    check_dataset(dataset, "inclusion", "relevance(model)")
    factors, features = dataset["log_bayes_factor"].values, dataset["feature"].values
    ax, _ = draw_bars(factors, [shorten(name, NAME) for name in features], most, ax)
    draw_nats(ax)
    ax.set_title("Does the feature depend on the class?")
    ax.set_xlabel(
        "log Bayes factor in nats\n(above 0: evidence for a dependence)"
        + say_shown(most, len(factors))
    )
    return ax


def _plot_importance(dataset: Any, most: int, ax: Axes | None) -> Axes:
    """Draw importances as bars with intervals."""
    dataset = dataset.dropna("feature", subset=["importance"])
    value = dataset["importance"].values
    names = [shorten(name, NAME) for name in dataset["feature"].values]
    ax, order = draw_bars(value, names, most, ax)
    limit = find_limit(value)
    ends = [np.clip(dataset[name].values[order], -limit, limit) for name in ("lower", "upper")]
    ax.hlines(range(len(order)), *ends, color=INK, linewidth=1.0)
    ax.set_title("What is lost without the feature?")
    ax.set_xlabel(
        "held-out log loss without the feature,\nless that with it, in nats a row"
        + say_shown(most, len(value))
    )
    return ax


def find_limit(values: Array) -> float:
    """Return where bars end that would be infinite: at twice the longest of the others."""
    finite = np.abs(values[np.isfinite(values)])
    return 2 * max(finite.max(initial=0.0), 1.0)


def draw_bars(
    values: Array, names: Sequence[str], most: int, ax: Axes | None
) -> tuple[Axes, Array]:
    """Draw the largest numbers as named bars, and return the axes and the order of the numbers."""
    order = np.argsort(-values, kind="stable")[:most]
    limit = find_limit(values)
    ax = ax or new_axes(1.3 + ROW * len(order), WIDE)
    colours = np.where(values[order] > 0, COLOURS[1], COLOURS[0]).tolist()
    lengths = np.clip(values[order], -limit, limit)
    ax.barh(range(len(order)), lengths, 0.7, color=colours, linewidth=0)
    ax.axvline(0, color=INK, linewidth=0.7)
    list_names(ax, [names[at] for at in order])
    return ax, order


def draw_nats(ax: Axes) -> None:
    """Label bars with their nats, on an axis that is logarithmic where they are large."""
    bars: Any = ax.containers[-1]
    values = bars.datavalues
    ax.bar_label(bars, [nats(value) for value in values], padding=4, fontsize="small")
    ax.use_sticky_edges = False
    ax.margins(x=0.16)
    if np.abs(values).max(initial=0.0) > LARGE:
        ax.set_xscale("symlog", linthresh=1.0)
        locator = SymmetricalLogLocator(base=10, linthresh=1.0)
        locator.set_params(numticks=5)
        ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(lambda x, _: number(x))


def say_shown(shown: int, features: int) -> str:
    """Return a line that says how many features are shown, if not all are."""
    return f"\nthe first {shown} of {features:,} features" if shown < features else ""
