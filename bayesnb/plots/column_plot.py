"""The predictive distribution of a column in each class, as curves, bars or ellipses."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.special import fdtri, ndtr

from bayesnb.families.base import Array
from bayesnb.formatting import count, percent
from bayesnb.plots.column_data import (
    MIN_ROWS,
    ColumnData,
    find_usual_range,
    read_column,
)
from bayesnb.plots.shape_plot import draw_shape, name_classes, read_shape
from bayesnb.plots.style import (
    AXIS_LETTERS,
    COLOURS,
    INK,
    PERCENT,
    class_line,
    list_names,
    new_axes,
    place_bar,
    short,
    styled,
)
from bayesnb.results.datasets import ci_prob as checked_prob

SCALES = ("density", "log-odds")
MAX_LEVELS = 12
MAX_GROUPED_BARS = 36  # of all classes together
MAX_CLASSES_WITH_BARS = 3  # side by side at one whole number
MAX_BARS = 25  # whole numbers; more are drawn as a histogram
BINS = 20
POINTS = 200  # of a curve
PEAK = ndtr(np.linspace(-3, 3, 61))  # quantiles: more points of a curve, which may be narrow
MAX_ROWS_DRAWN = 600  # as points
SHADE = 0.2
LEAST_BEYOND = 0.001  # smallest probability beyond the axis that is noted


@styled
def plot_column(
    model: Any,
    column: Hashable,
    X: Any = None,
    y: Any = None,
    *,
    scale: str = "density",
    ci_prob: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the predictive distribution of a column in each class, or what it adds to the log-odds.

    The predictive distribution is that of a new cell, with the parameters integrated out.

    Numbers are drawn as a curve for each class, or as a histogram if the family is `Histogram`;
    counts as bars, or as lines if there are more than three classes; levels as bars, with intervals
    of their probabilities. Of more than eight classes, the most frequent are drawn.

    Columns that are modelled jointly can be drawn one by one, as marginal distributions, or
    together: levels as bars of their most probable combinations, and two columns of numbers as
    ellipses that contain half and `ci_prob` of new rows.

    Parameters
    ----------
    model : estimator
        A fitted model.
    column : label, or tuple of labels
        A column, or a tuple of columns that are modelled jointly. A word of a block of counts is
        drawn as its share of the words of each class.
    X : table of rows, optional
        Rows to draw as well: shading or ticks under curves, dots on bars of counts, points with
        ellipses. Bars of levels show no rows.
    y : array-like, optional
        The labels of these rows.
    scale : {"density", "log-odds"}, default "density"
        ``"log-odds"``: what each cell alone adds to the log-odds, with its exponent, as in
        `NaiveBayes.explain`. With two classes, they are of the second against the first; with more,
        of each class against the mean of all. The band or line is an interval of that
        contribution, from its standard deviation; grey bars are the rows. Contributions of links
        and of a covariance are not included.
    ci_prob : float, optional
        The probability of the intervals and of the outer ellipses, by default ArviZ's
        `rcParams["stats.ci_prob"]`.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, by default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the distributions.

    See Also
    --------
    plot_words : The words that favour each class.
    plot_boundary : Decision regions over two columns.

    Notes
    -----
    Numbers beyond Tukey's outer fences in every class are not drawn; a note says how many.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, plot_column
    >>> from bayesnb.datasets import dogs
    >>> table = dogs()
    >>> X, y = table.drop(columns="breed"), table["breed"]
    >>> ax = plot_column(NaiveBayes().fit(X, y), "height", X, y)
    >>> ax.get_xlabel()
    'height'
    """
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}.")
    data = read_column(model, column, X, y)
    prob = checked_prob(ci_prob)
    is_new = ax is None
    if scale == "log-odds":
        ax = draw_shape(read_shape(model, data), prob, ax)
        ax.set_title("Log-odds that the column adds")
        if len(data.classes) == 2:
            ax.set_title(f"Log-odds of {short(data.classes[1])} that the column adds")
            return ax
    else:
        ax = draw_column(data, prob, ax)
        ax.set_title("Predictive distribution in each class")
    name_classes(ax, data, outside=is_new)
    return ax


@styled
def draw_column(data: ColumnData, prob: float, ax: Axes | None = None) -> Axes:
    """Draw a column, or several that are modelled jointly, without a legend."""
    if data.family.picture == "levels":
        return _draw_levels(data, prob, ax)
    if len(data.names) > 1:
        return _draw_ellipses(data, prob, ax or new_axes(3.1))
    ax = ax or new_axes()
    beyond = 0.0
    if data.family.has_grid or data.family.picture == "mass":
        beyond = _draw_bins(data, ax)
    else:
        _draw_curves(data, ax)
    low, high = ax.get_xlim()
    x = np.concatenate(data.parts)
    rows = int(((x < low) | (x > high)).sum())
    further = []
    if rows:
        further.append(count(rows, "row"))
    if beyond > LEAST_BEYOND:
        further.append(f"up to {percent(beyond)} of a class")
    label = short(data.name, AXIS_LETTERS)
    if further:
        label = f"{label}\nfurther out: {', '.join(further)}"
    ax.set(xlabel=label, ylim=(0, None))
    ax.locator_params(axis="x", nbins=6)
    return ax


def _draw_curves(data: ColumnData, ax: Axes) -> None:
    """Draw the predictive densities over histograms of the rows; few rows are ticks."""
    belief = data.belief[data.shown]
    low, high = find_usual_range(belief, data.parts)
    if data.family.support.nonnegative:
        low = max(low, 0.0)
    peaks = np.ravel([belief.quantile(p) for p in PEAK]).clip(low, high)
    x = np.union1d(np.linspace(low, high, POINTS), peaks)
    density = np.exp(belief[:, None].log_predictive(x))
    density[~belief.proper] = np.nan
    for c, rows in enumerate(data.parts):
        if len(rows) < MIN_ROWS:
            ax.plot(
                rows,
                0 * rows,
                "|",
                color=COLOURS[c],
                markersize=14,
            )
        else:
            ax.hist(
                rows,
                BINS,
                range=(low, high),
                density=True,
                histtype="stepfilled",
                color=COLOURS[c],
                alpha=SHADE,
            )
        ax.plot(x, density[c], **class_line(c))
    ax.set(xlim=(low, high), yticks=[], ylabel="density")


def _draw_bins(data: ColumnData, ax: Axes) -> float:
    """Draw the predictive probability of whole numbers, or of bins as steps.

    Whole numbers have bars or, if there are too many classes for bars, points of a line. Return
    the largest probability beyond the axis, in any class.
    """
    belief: Any = data.belief[data.shown]
    predictive = belief.predictive()
    is_whole = data.family.picture == "mass" or predictive.grid.whole[belief.features[0]]
    edges = _choose_bins(*find_usual_range(belief, data.parts, margin=0), is_whole)
    is_single = is_whole and edges[1] - edges[0] == 1
    probability = np.diff(predictive.cdf(edges[:, None]), axis=0).T
    for c, rows in enumerate(data.parts):
        share = np.histogram(rows, edges)[0] / max(len(rows), 1)
        if is_single:
            x = edges[:-1] + 0.5
            if len(probability) > MAX_CLASSES_WITH_BARS:
                ax.plot(x, probability[c], **class_line(c))
            else:
                shift, width = place_bar(c, len(probability))
                x += shift
                ax.bar(
                    x,
                    probability[c],
                    width,
                    color=COLOURS[c],
                    alpha=0.6,
                )
            seen = share > 0
            ax.plot(
                x[seen],
                share[seen],
                "o",
                color=COLOURS[c],
                markersize=2.5,
            )
        else:
            ax.stairs(
                share,
                edges,
                fill=True,
                color=COLOURS[c],
                alpha=SHADE,
            )
            steps = [*probability[c], probability[c, -1]]
            ax.plot(edges, steps, drawstyle="steps-post", **class_line(c))
    if is_whole:
        ax.locator_params(axis="x", integer=True)
    ax.yaxis.set_major_formatter(PERCENT)
    ylabel = "probability" if is_single else "probability of a bin"
    ax.set(xlim=(edges[0], edges[-1]), ylabel=ylabel)
    return float(1 - probability.sum(axis=1).min())


def _choose_bins(low: float, high: float, is_whole: bool) -> Array:
    """Return the edges of bins of equal widths; a bin has one or several whole numbers."""
    if not is_whole:
        return np.linspace(low, high, BINS + 1)
    low = np.floor(low)
    high = np.ceil(high)
    step = np.ceil((high - low + 1) / MAX_BARS)
    return np.arange(low, high + 1 + step, step) - 0.5


def _draw_levels(data: ColumnData, prob: float, ax: Axes | None) -> Axes:
    """Draw bars of each level's probability, a group for each level, with intervals."""
    names, probability, lower, upper = compute_level_bars(data, prob)
    classes, size = probability.shape
    ax = ax or new_axes(0.6 + size * (0.16 * classes + 0.12))
    list_names(ax, list(map(short, names)))
    for c in range(classes):
        shift, height = place_bar(c, classes)
        y = np.arange(size) + shift
        ax.barh(
            y,
            probability[c],
            height,
            color=COLOURS[c],
            alpha=0.7,
        )
        ax.hlines(
            y,
            lower[c],
            upper[c],
            color=INK,
            linewidth=1,
        )
    ax.set(xlim=(0, min(1.0, 1.04 * upper.max())), xlabel=f"probability of {short(data.name)}")
    ax.locator_params(axis="x", nbins=5)
    ax.xaxis.set_major_formatter(PERCENT)
    return ax


def compute_level_bars(data: ColumnData, prob: float) -> tuple[list[str], Array, Array, Array]:
    """Return names of levels, their probabilities in the shown classes, and ends of intervals.

    Of very many levels, only the most probable are returned. An undefined end is replaced by the
    probability. All but the names are `(c, k)`.
    """
    belief: Any = data.belief
    numbers = np.stack(belief.level_intervals(prob))[:, data.shown]
    if data.family.words:  # a word, against all others
        numbers = numbers[..., 1:]
    room = int(np.clip(MAX_GROUPED_BARS // len(data.shown), 2, MAX_LEVELS))
    total = numbers[0].sum(axis=0)
    most = np.sort(np.argsort(-total, kind="stable")[:room])
    names = [data.levels[k] if k < len(data.levels) else "no level" for k in most]
    mean, lower, upper = np.where(np.isfinite(numbers), numbers, numbers[0])[..., most]
    return names, mean, lower, upper


def _draw_ellipses(data: ColumnData, prob: float, ax: Axes) -> Axes:
    """Draw ellipses that contain half and `prob` of each class's new rows, over its rows.

    The squared distance of a multivariate t is twice an F variate: Kotz and Nadarajah (2004).
    """
    belief: Any = data.belief[data.shown]
    if belief.width > 2:
        raise ValueError(
            f"{belief.width} columns of numbers cannot be drawn together: name one or two, such as "
            f"plot_column(model, {data.names[:2]})."
        )
    step = 1 + sum(map(len, data.parts)) // MAX_ROWS_DRAWN
    turn = np.linspace(0, 2 * np.pi, POINTS)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    for c, rows in enumerate(data.parts):
        ax.plot(
            *rows[::step].T,
            ".",
            color=COLOURS[c],
            alpha=0.6,
            markeredgewidth=0,
        )
        if belief.proper[c]:
            new = belief[c].predictive()
            shape = np.linalg.cholesky(new.shape) @ circle
            for share, width in ((0.5, 1.1), (prob, 1.8)):
                radius = np.sqrt(2 * fdtri(2, new.df, share))
                ax.plot(*(new.loc[:, None] + radius * shape), **class_line(c, width))
    margins = belief[:, None].margins()
    limits = []
    for j in range(2):
        parts = [rows[:, j] for rows in data.parts]
        limits.append(find_usual_range(margins.column(j), parts))
    x_name, y_name = (short(name, AXIS_LETTERS) for name in data.names)
    ax.set(
        xlim=limits[0],
        ylim=limits[1],
        xlabel=x_name,
        ylabel=y_name,
    )
    return ax
