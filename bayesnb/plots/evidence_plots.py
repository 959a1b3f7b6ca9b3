"""Log Bayes factors: bars for features, a map or a forest for pairs of columns, and steps as columns are joined."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, SymLogNorm
from matplotlib.ticker import FixedLocator, MaxNLocator

from bayesnb.criticism.dependence import dependence
from bayesnb.criticism.relevance import relevance
from bayesnb.families.base import Array
from bayesnb.formatting import shorten
from bayesnb.plots.forest_plot import draw_forest, forest_of
from bayesnb.plots.log_odds_axis import nats
from bayesnb.plots.style import (
    COLOURS,
    DASHES,
    INK,
    add_title,
    check_dataset,
    check_fitted,
    check_most,
    figure_of,
    list_names,
    new_axes,
    result_of,
    styled,
)

NAMES, ROW, WIDE = 26, 0.24, 6.4  # letters, and inches
CELL = (0.42, 0.17)  # inches of a map's column: where there are few, and where there are many
LEAST_WIDE = 4.3  # inches of a map, which has room for a title
LEAST, LONG = (
    1.6,
    2.1,
)  # inches of a map's side: at least, and where its scale has room for a line of words
LETTER = 0.0085  # inches that a letter takes, of a font of 1 point
MOST_NAMES = 60  # that a map has room for
MOST_NUMBERS = 12  # columns of a map with numbers in its cells
DARK = 0.42  # luminance below which a number is white
AGAINST, FOR = COLOURS[0], COLOURS[1]
SHADES = LinearSegmentedColormap.from_list(
    "against and for", [AGAINST, "#F4F4F4", FOR], 101
).with_extremes(bad="#BBBBBB")
STEP_NAMES, STEP_ROW = 42, 0.26  # letters of a step, and inches
MOST_STEPS = 40  # that are shown, the last ones
FAR = 0.6  # of the steps' span: an end that is farther off is only pointed to
LEAST_SPAN = 1.0  # nats of an axis of steps
ENDS = {"naive": "naive Bayes", "joint": "all joined"}


@styled
def plot_relevance(result: Any, most: int = 30, ax: Axes | None = None) -> Axes:
    """Draw how strongly the data speak for, or against, a dependence of each feature on the class.

    Of the result of `bayesnb.importance`, draw what held-out log loss loses without each feature, with intervals.

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
    factors, names = _factors(dataset, "inclusion", "relevance(model)")
    ax, order, shown = _rank(ax, factors, names, most)
    top = factors[order]
    bars: Any = ax.containers[-1]
    ax.bar_label(bars, [nats(x) for x in top], padding=4, fontsize="small")
    _symmetric(ax, min(top.min(initial=0.0), -1.0), max(top.max(initial=0.0), 1.0))
    ax.set_xlabel(f"log Bayes factor in nats\n(above 0: evidence for a dependence){shown}")
    add_title(ax, "Does the feature depend on the class?")
    return ax


def _plot_importance(dataset: Any, most: int, ax: Axes | None) -> Axes:
    """Draw importances as bars with intervals."""
    dataset = dataset.isel(feature=np.isfinite(dataset["importance"].values))
    value, lower, upper = (dataset[name].values for name in ("importance", "lower", "upper"))
    names = [shorten(str(name), NAMES) for name in dataset["feature"].values]
    ax, order, shown = _rank(ax, value, names, most)
    ends = np.abs(np.stack([value - lower, upper - value])[:, order])
    known = np.isfinite(ends).all(axis=0)
    bars = value[order][known]
    ax.errorbar(
        bars, np.flatnonzero(known), xerr=ends[:, known], fmt="none", ecolor=INK, elinewidth=1.0
    )
    ax.set_xlabel(
        f"held-out log loss without the feature,\nless that with it, in nats a row{shown}"
    )
    add_title(ax, "What is lost without the feature?")
    return ax


def _rank(ax: Axes | None, values: Array, names: list[str], most: int) -> tuple[Axes, Array, str]:
    """Draw the largest numbers as named bars; return the axes, the order, and how many are shown, in words."""
    order = np.argsort(-values, kind="stable")[:most]
    top = values[order]
    ax = ax or new_axes(1.3 + ROW * len(top), WIDE)
    ax.barh(range(len(top)), top, 0.7, color=[FOR if x > 0 else AGAINST for x in top], linewidth=0)
    ax.axvline(0, color=INK, linewidth=0.7)
    list_names(ax, [names[at] for at in order])
    shown = "" if len(top) == len(values) else f"\nthe first {len(top)} of {len(values):,} features"
    return ax, order, shown


@styled
def plot_dependence(result: Any, X: Any = None, y: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw which columns depend on each other within the classes: a map of all pairs, or the links of a model.

    The map has a square for each pair: orange is for, blue against a dependence, and pairs that cannot be compared are
    grey. Of links, solid lines are the forest, dashed ones further links, and the wider a line is, the stronger is the
    evidence for the link.

    Parameters
    ----------
    result : estimator or xarray.Dataset
        For a map, the result of `bayesnb.dependence`, or a model together with `X` and `y`. For links, a fitted model
        alone, or its `links_`.
    X : table of rows, optional
        The rows that a model has learnt, for a map.
    y : array-like, optional
        Their labels.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, by default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the map or the links.

    See Also
    --------
    dependence : The numbers of the map.
    NaiveBayes.links_ : The links of a model.

    Notes
    -----
    Both show log Bayes factors against independence, but not the same ones: `bayesnb.dependence` compares pairs under
    the families of their columns, while the links of a model are between cells on a coarse grid; see `links_`.

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
        return _plot_links(result, ax)
    if {"first", "second", "in_forest"} <= set(getattr(result, "data_vars", ())):
        ends = zip(result["first"].values.tolist(), result["second"].values.tolist(), strict=True)
        return draw_forest(
            forest_of(result, list(dict.fromkeys(name for pair in ends for name in pair))), ax
        )
    return _plot_map(result_of(result, dependence, "dependence(model, X, y)", X, y), ax)


def _plot_links(model: Any, ax: Axes | None) -> Axes:
    check_fitted(model)
    if model._dependence_rule is None:
        raise ValueError(
            "this model takes its columns to be independent, dependence=None, and has no links to draw. Fit with "
            "dependence='forest' or 'pairs'; or draw the evidence of all pairs: plot_dependence(dependence(model, X, "
            "y))."
        )
    return draw_forest(forest_of(model.links_, list(model.schema_.families)), ax)


def _plot_map(dataset: Any, ax: Axes | None) -> Axes:
    factors, names = _factors(dataset, "log_bayes_factor_by_class", "dependence(model, X, y)")
    n = len(names)
    named = n <= MOST_NAMES
    cell = float(np.clip(6.0 / n, CELL[1], CELL[0])) if named else 8.0 / n
    side, size = max(n * cell, LEAST), min(10.5, 72 * cell * 0.72)
    room = LETTER * size * max(map(len, names)) if named else 0.4
    ax = ax or new_axes(side + room + 0.6, max(side + room + 1.3, LEAST_WIDE), "compressed")
    add_title(ax, "Dependence within classes")
    largest = max(float(np.abs(factors[np.isfinite(factors)]).max(initial=0.0)), 1.0)
    look: Any = {"cmap": SHADES, "norm": SymLogNorm(1.0, vmin=-largest, vmax=largest)}
    if named:
        image: Any = _squares(ax, factors, names, size, look)
        if n <= MOST_NUMBERS:
            _numbers(ax, factors, image)
    else:
        image = ax.imshow(factors, interpolation="nearest", **look)
        ax.set(xlabel=f"place among {n:,} columns", ylabel=f"place among {n:,} columns")
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    bar: Any = figure_of(ax).colorbar(image, ax=ax, shrink=min(1.0, 2.4 / side), aspect=14)
    bar.outline.set_visible(False)
    bar.solids.set_rasterized(False)
    ticks = [-largest, *(x for x in _ticks(-largest, largest, 4) if 5 * abs(x) <= largest), largest]
    bar.set_ticks(ticks, labels=[nats(x) for x in ticks])
    bar.ax.minorticks_off()
    bar.set_label("log Bayes factor in nats" if side > LONG else "log Bayes factor\nin nats")
    return ax


def _numbers(ax: Axes, factors: Array, image: Any) -> None:
    """Write the numbers of a map into its cells, white on dark shades: a page's theme does not change the shades."""
    for (i, j), value in np.ndenumerate(factors):
        if np.isfinite(value):
            red, green, blue, _ = image.cmap(image.norm(value))
            is_dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < DARK
            colour = "#FFFFFF" if is_dark else "#222222"
            ax.text(j, i, _compact(value), ha="center", va="center", fontsize=7.5, color=colour)


def _compact(value: float) -> str:
    """Format a number of nats in at most five letters."""
    if abs(value) < 9999.5:
        return nats(value).replace(",", "")
    power = 3 if abs(value) < 999_500 else 6
    return nats(value / 10**power).replace(",", "") + ("k" if power == 3 else "M")


def _factors(dataset: Any, variable: str, maker: str) -> tuple[Array, list[str]]:
    """Return the log Bayes factors, and the features' names, of a Dataset that has such a variable."""
    check_dataset(dataset, variable, maker)
    return np.asarray(dataset["log_bayes_factor"]), [
        shorten(str(name), NAMES) for name in dataset["feature"].values
    ]


def _squares(ax: Axes, factors: Array, names: list[str], size: float, look: dict[str, Any]) -> Any:
    """Draw a named square for each pair, sharp at any size."""
    edges = np.arange(len(names) + 1) - 0.5
    ax.set_aspect("equal")
    squares = ax.pcolormesh(
        edges, edges, np.ma.masked_invalid(factors), edgecolors="face", linewidth=0.1, **look
    )
    ax.set_ylim(edges[-1], edges[0])
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=size)
    ax.set_yticks(range(len(names)), names, fontsize=size)
    ax.set_xticks(edges[1:-1], minor=True)
    ax.set_yticks(edges[1:-1], minor=True)
    ax.grid(which="minor", color="white", linewidth=0.6)
    return squares


def _symmetric(ax: Axes, low: float, high: float) -> None:
    """Scale an axis with room for numbers: linear, or logarithmic beyond 1 where factors are large."""
    if max(-low, high) <= 20:
        room = 0.16 * (high - low)
        ax.set_xlim(low - (room if low < 0 else 0), high + room)
    else:
        ax.set_xscale("symlog", linthresh=1.0)
        room = (100 * max(-low, high)) ** 0.16
        ax.set_xlim(min(low, -1) * room, max(high, 1) * room)
        ax.xaxis.set_major_locator(FixedLocator(_ticks(low, high, 6)))
        ax.xaxis.set_minor_locator(FixedLocator([]))
    ax.xaxis.set_major_formatter(lambda x, _: nats(x))


def _ticks(low: float, high: float, most: int) -> list[float]:
    """Return 0 and powers of ten on both sides, not too many."""
    top = int(np.floor(np.log10(max(-low, high, 1.0))))
    step = max(1, -(-(top + 1) // most))
    powers = [10.0**k for k in range(top, -1, -step)][::-1]
    return [-x for x in powers[::-1] if -x >= low] + [0.0] + [x for x in powers if x <= high]


@styled
def plot_steps(
    joined: Sequence[str], evidence: Array, ends: Mapping[str, float], ax: Axes | None = None
) -> Axes:
    """Draw the log evidence step by step as columns are joined: a point for the start, and for each step below it.

    The two ends, naive Bayes and all that can be joined in one block, are lines; or arrows, where they are far off.
    """
    steps = ["start", *joined[1:]]
    shown = (
        np.arange(len(steps))
        if len(steps) <= MOST_STEPS
        else np.r_[0, len(steps) - MOST_STEPS + 1 : len(steps)]
    )
    gained = np.asarray(evidence, float)[shown] - evidence[0]
    ax = ax or new_axes(1.7 + STEP_ROW * len(shown), 6.2)
    ax.plot(
        gained, range(len(shown)), "o-", color=COLOURS[0], markersize=5, linewidth=1.4, zorder=3
    )
    list_names(ax, [_step(steps[at]) for at in shown], top=-2.1)
    low, high = gained.min(), gained.max()
    span = max(high - low, LEAST_SPAN)
    worth = {name: value - evidence[0] for name, value in ends.items()}
    near = np.array(
        [value for value in worth.values() if low - FAR * span <= value <= high + FAR * span]
    )
    margin, centred = 0.08 * span, (span - (high - low)) / 2
    ax.set_xlim(
        min(low - margin - centred, near.min(initial=np.inf) - margin),
        max(high + margin + centred, near.max(initial=-np.inf) + margin),
    )
    beyond = sorted(
        worth.items(), key=lambda end: (end[1] in near, end[1])
    )  # their names are above those of lines
    for row, (name, value) in zip((-1.6, -0.8), beyond, strict=True):
        _end(ax, name, value, row)
    add_title(ax, "Log evidence as columns are joined")
    ax.set_xlabel("log evidence, nats against the start")
    ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.xaxis.set_major_formatter(lambda value, _: nats(value))
    ax.grid(axis="x", color=INK, alpha=0.12, linewidth=0.7)
    return ax


def _step(step: str) -> str:
    """Shorten a step to one line: of two blocks with long names, a part of both."""
    parts = step.split(" + ") if len(step) > STEP_NAMES else [step]
    return " + ".join(
        shorten(part, STEP_NAMES // len(parts) - 2 * (len(parts) > 1)) for part in parts
    )


def _end(ax: Axes, name: str, value: float, row: float) -> None:
    """Draw a line below its name, or an arrow to a value beyond the axis."""
    low, high = ax.get_xlim()
    place, text = min(max(value, low), high), f"{ENDS[name]} {nats(value)}"
    left = (place - low) / (high - low) < 0.7
    if low <= value <= high:
        dashes = DASHES[1 + (name == "joint")]
        ax.plot(
            [value] * 2,
            [ax.get_ylim()[0], row - 0.3],
            color=COLOURS[1],
            dashes=dashes,
            linewidth=1.2,
            zorder=2,
        )
    else:
        text = f"\N{LEFTWARDS ARROW} {text}" if left else f"{text} \N{RIGHTWARDS ARROW}"
    offset, side = (4, "left") if left else (-4, "right")
    look: Any = {
        "textcoords": "offset points",
        "ha": side,
        "va": "center",
        "color": COLOURS[1],
        "fontsize": "small",
    }
    ax.annotate(text, (place, row), (offset, 0), **look)
