"""Log Bayes factors: bars for features and the class, and a map for pairs of columns."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, SymLogNorm
from matplotlib.ticker import FixedLocator, FuncFormatter

from bayesnb.plots.log_odds_axis import nats
from bayesnb.plots.style import COLOURS, INK, check_dataset, check_most, new_axes, short, styled

Array = np.ndarray

NAMES, ROW, WIDE = 26, 0.24, 6.4  # letters, and inches
CELL = (0.42, 0.17)  # inches of a map's column: where there are few, and where there are many
LEAST, LONG = 1.6, 2.1  # inches of a map's side: at least, and where its scale has room for a line of words
LETTER = 0.0085  # inches that a letter takes, of a font of 1 point
MOST_NAMES = 60  # that a map has room for
AGAINST, FOR = COLOURS[0], COLOURS[1]
SHADES = LinearSegmentedColormap.from_list("against and for", [AGAINST, "#F4F4F4", FOR], 101)


@styled
def plot_relevance(dataset: Any, most: int = 30, ax: Axes | None = None) -> Axes:
    """Draw how strongly the data speak for, or against, a dependence of each feature on the class.

    Parameters
    ----------
    dataset : xarray.Dataset
        What `bayesnb.relevance(model)` returned.
    most : how many features are shown, those with the largest factors
    ax : matplotlib.axes.Axes, default new ones in a figure of their own

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from bayesnb import NaiveBayes, plot_relevance, relevance
    >>> from bayesnb.datasets import dogs
    >>> table = dogs()
    >>> model = NaiveBayes().fit(table.drop(columns="breed"), table["breed"])
    >>> plot_relevance(relevance(model)).get_figure().savefig("relevance.png")  # doctest: +SKIP
    """
    check_dataset(dataset, "inclusion", "relevance(model)")
    check_most(most)
    factors, names = np.asarray(dataset["log_bayes_factor"]), [str(name) for name in dataset["feature"].values]
    order = np.argsort(-factors, kind="stable")[:most]
    top = factors[order]
    ax = ax or new_axes(1.0 + ROW * len(top), WIDE)
    ax.barh(range(len(top)), top, 0.7, color=[FOR if x > 0 else AGAINST for x in top], linewidth=0)
    ax.axvline(0, color=INK, linewidth=0.7)
    limits = min(top.min(initial=0.0), -1.0), max(top.max(initial=0.0), 1.0)
    _symmetric(ax, limits)
    for y, x in enumerate(top):
        ax.annotate(
            nats(x),
            (x, y),
            (4 if x >= 0 else -4, 0),
            textcoords="offset points",
            va="center",
            ha="left" if x >= 0 else "right",
            fontsize="small",
        )
    ax.set_yticks(range(len(top)), [short(names[at], NAMES) for at in order])
    ax.set_ylim(len(top) - 0.4, -0.6)
    shown = "" if len(top) == len(factors) else f"\nthe first {len(top)} of {len(factors):,} features"
    ax.set_xlabel(f"log Bayes factor, nats:\ndepends on the class{shown}")
    return ax


@styled
def plot_dependence(dataset: Any, ax: Axes | None = None) -> Axes:
    """Draw how strongly the data speak for, or against, a dependence of each pair of columns within the classes.

    Orange is for, blue against a dependence. Pairs that cannot be compared are grey.

    Parameters
    ----------
    dataset : xarray.Dataset
        What `bayesnb.dependence(model, X, y)` returned.
    ax : matplotlib.axes.Axes, default new ones in a figure of their own

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from bayesnb import NaiveBayes, dependence, plot_dependence
    >>> from bayesnb.datasets import dogs
    >>> table = dogs()
    >>> result = dependence(NaiveBayes(), table.drop(columns="breed"), table["breed"])
    >>> plot_dependence(result).get_figure().savefig("dependence.png")  # doctest: +SKIP
    """
    check_dataset(dataset, "log_bayes_factor_by_class", "dependence(model, X, y)")
    factors, names = np.asarray(dataset["log_bayes_factor"]), [str(name) for name in dataset["feature"].values]
    n = len(names)
    cell = float(np.clip(6.0 / n, CELL[1], CELL[0])) if n <= MOST_NAMES else 8.0 / n
    side, size = max(n * cell, LEAST), min(10.5, 72 * cell * 0.72)
    shown = [short(name, NAMES) for name in names]
    room = LETTER * size * max(map(len, shown)) if n <= MOST_NAMES else 0.4
    ax = ax or new_axes(side + room + 0.3, side + room + 1.3, "compressed")
    largest = max(float(np.abs(factors[np.isfinite(factors)]).max(initial=0.0)), 1.0)
    shades = SHADES.with_extremes(bad="#BBBBBB")
    image = _map(ax, factors, {"cmap": shades, "norm": SymLogNorm(1.0, vmin=-largest, vmax=largest)})
    if n <= MOST_NAMES:
        ax.set_xticks(range(n), shown, rotation=90, fontsize=size)
        ax.set_yticks(range(n), shown, fontsize=size)
        ax.set_xticks(np.arange(n - 1) + 0.5, minor=True)
        ax.set_yticks(np.arange(n - 1) + 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=0.6)
    else:
        ax.set_xlabel(f"place among {n:,} columns")
        ax.set_ylabel(f"place among {n:,} columns")
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    bar = ax.get_figure(root=True).colorbar(image, ax=ax, shrink=min(1.0, 2.4 / side), aspect=14)  # type: ignore[union-attr]
    bar.outline.set_visible(False)
    bar.solids.set_rasterized(False)  # type: ignore[union-attr]
    ticks = [-largest, *(x for x in _ticks(-largest, largest, 4) if 5 * abs(x) <= largest), largest]
    bar.set_ticks(ticks, labels=[nats(x) for x in ticks])
    bar.ax.minorticks_off()
    bar.set_label("log Bayes factor in nats" if side > LONG else "log Bayes factor\nin nats")
    return ax


def _map(ax: Axes, factors: Array, look: dict[str, Any]) -> Any:
    """Draw a square for each pair, sharp at any size; pixels, if there are very many."""
    n = len(factors)
    if n > MOST_NAMES:
        return ax.imshow(factors, interpolation="nearest", **look)
    edges = np.arange(n + 1) - 0.5
    ax.set_aspect("equal")
    drawn = ax.pcolormesh(edges, edges, np.ma.masked_invalid(factors), edgecolors="face", linewidth=0.1, **look)
    ax.set_ylim(n - 0.5, -0.5)
    return drawn


def _symmetric(ax: Axes, limits: tuple[float, float]) -> None:
    """Scale an axis with room for numbers: linear, or logarithmic beyond 1 where factors are large."""
    low, high = limits
    if max(-low, high) <= 20:
        room = 0.16 * (high - low)
        ax.set_xlim(low - (room if low < 0 else 0), high + room)
    else:
        ax.set_xscale("symlog", linthresh=1.0)
        ends = [np.sign(x) * 10 ** (np.log10(max(abs(x), 1)) + 0.16 * np.log10(100 * max(-low, high))) for x in limits]
        ax.set_xlim(*ends)
        ax.xaxis.set_major_locator(FixedLocator(_ticks(low, high, 6)))
        ax.xaxis.set_minor_locator(FixedLocator([]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: nats(x)))


def _ticks(low: float, high: float, most: int) -> list[float]:
    """Return 0 and powers of ten on both sides, not too many."""
    top = int(np.floor(np.log10(max(-low, high, 1.0))))
    step = max(1, -(-(top + 1) // most))
    powers = [10.0**k for k in range(top, -1, -step)][::-1]
    return [-x for x in powers[::-1] if -x >= low] + [0.0] + [x for x in powers if x <= high]
