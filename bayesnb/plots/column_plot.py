"""Columns of a model: the posterior predictive of a new cell in each class, as curves, bars or ellipses."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from scipy.special import fdtri

from bayesnb.families import NormalInverseWishart
from bayesnb.families.base import Array
from bayesnb.formatting import shorten
from bayesnb.plots.column_view import Sight, bins_of, combined, grid_of, middle, sight_of
from bayesnb.plots.histogram import Histogram, histogram_of
from bayesnb.plots.style import (
    COLOURS,
    DASHES,
    INK,
    PERCENT,
    ROUND,
    add_legend,
    add_title,
    make_taller,
    new_axes,
    styled,
)
from bayesnb.results.datasets import ci_prob as checked_prob

MOST_LEVELS = 12
MOST_GROUPED = 36  # bars of a figure, all classes together
NAME, AXIS = 24, 48  # letters of a class, and below an axis
ACROSS = 58, 8  # letters of a line of the legend, and of a mark
FEW = 15  # cells, which make no histogram
MANY = 4  # classes, above which a figure is taller, and their histograms are lighter
HALF = 0.5
LEAST_BEYOND = 0.001  # probability of what a picture does not reach, that is worth a line
MOST_POINTS = 600  # of a figure
AROUND = 181  # points of an ellipse
WIDTHS = (1.1, 1.8)  # of the inner line and the outer one
ROOM = 0.06  # of the range of the rows, beside them
HIGH = 3.1  # inches
TITLE = 0.25  # inches
NAMES = 32  # letters of an axis


@styled
def plot_column(
    model: Any,
    column: Hashable,
    X: Any = None,
    y: Any = None,
    *,
    ci_prob: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what a model expects of one column in each class: the posterior predictive of a new cell.

    Numbers have a curve for each class, counts and levels have bars; those of levels with the interval of their
    probability. The curve of a `PolyaTree` column is a histogram, and a value that at least 5 % of a class have, many
    more than have values around it, has a bar with its probability. Where there are more than eight classes, the most
    frequent are drawn.

    Columns that are modelled jointly can be drawn one by one, each as it is whatever the others hold, or together:
    levels as bars of their most probable combinations, and two columns of numbers as ellipses, within which half and
    `ci_prob` of new rows lie.

    Parameters
    ----------
    model : estimator
        A fitted model.
    column : label, or tuple of labels
        The name of a column, or of a word of a block of counts, whose share of the class's words is drawn; or a tuple
        of columns that are modelled jointly.
    X : table of rows, optional
        Rows to be drawn too: as a shade or ticks under curves, as dots on bars of counts, and as points. Bars of
        levels have none.
    y : array-like, optional
        The labels of these rows.
    ci_prob : float, optional
        The probability of the intervals and of the outer ellipses, by default ArviZ's `rcParams["stats.ci_prob"]`.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, by default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the distributions.

    See Also
    --------
    plot_words : The words that speak for each class.
    plot_boundary : Decision regions over two columns.

    Notes
    -----
    Under `average_features` it is what each class expects if the column depends on the class at all.

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
    sight = sight_of(model, column, X, y)
    outside = ax is None
    ax = sketch(sight, checked_prob(ci_prob), ax)
    left = len(sight.classes) - len(sight.shown)
    title = (
        f"the {len(sight.shown)} most frequent of {len(sight.classes)} classes" if left else None
    )
    keys = [
        Line2D(
            [],
            [],
            color=COLOURS[c],
            dashes=DASHES[c],
            linewidth=3,
            label=shorten(str(sight.classes[k]), NAME),
        )
        for c, k in enumerate(sight.shown)
    ]
    add_legend(ax, keys, ACROSS, outside=outside, title=title)
    add_title(ax, "Predictive distribution in each class")
    if outside:
        make_taller(ax, TITLE)
    return ax


@styled
def sketch(sight: Sight, prob: float, ax: Axes | None = None) -> Axes:
    """Draw a column, or several that are modelled jointly, without a legend."""
    if len(sight.names) > 1 and sight.family.continuous:
        return _clouds(sight, prob, ax)
    return PICTURES["histogram" if sight.family.has_grid else sight.family.picture](sight, prob, ax)


def _density(sight: Sight, prob: float, ax: Axes | None) -> Axes:
    """Draw a curve of the predictive density for each class, over the histogram of its cells; few are ticks."""
    shown, parts = sight.belief[sight.shown], sight.parts
    grid = grid_of(np.concatenate(parts), shown)
    grid = grid[grid >= 0] if sight.family.support.nonnegative else grid
    density = np.where(shown.proper[:, None], np.exp(shown[:, None].log_predictive(grid)), np.nan)
    height, shade = (2.3, 0.25) if len(parts) <= MANY else (2.9, 0.12)
    ax = ax or new_axes(height)
    bins = np.linspace(
        grid[0], grid[-1], 1 + int(np.clip(np.sqrt(sum(map(len, parts))), 10, 40))
    ).tolist()
    beyond = 0
    for c, (curve, x) in enumerate(zip(density, parts, strict=True)):
        inside = x[(x >= grid[0]) & (x <= grid[-1])]
        beyond += len(x) - len(inside)
        if len(inside) < FEW:
            ax.plot(
                inside, np.zeros(len(inside)), "|", color=COLOURS[c], markersize=14, clip_on=False
            )
        else:
            ax.hist(
                inside,
                bins,
                density=True,
                histtype="stepfilled",
                color=COLOURS[c],
                alpha=shade,
                linewidth=0,
            )
        ax.plot(grid, curve, color=COLOURS[c], linewidth=1.8, dashes=DASHES[c])
    ax.set_yticks([])
    ax.set_ylabel("density")
    ax.set_ylim(0, None)
    ax.set_xlim(grid[0], grid[-1])
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=ROUND))
    ax.set_xlabel(shorten(sight.name, AXIS) + _further_out(beyond))
    return ax


def _further_out(rows: int, probability: float = 0.0) -> str:
    """Return a line below an axis about rows, and the probability in a class, that it does not reach."""
    what = [f"{rows:,} {'row' if rows == 1 else 'rows'}"] if rows else []
    what += [f"up to {100 * probability:.2g} % of a class"] if probability > LEAST_BEYOND else []
    return f"\nfurther out: {', '.join(what)}" if what else ""


def _histogram(sight: Sight, prob: float, ax: Axes | None) -> Axes:
    """Draw a histogram for each class, over that of its cells, and bars of frequent values, with the shares as dots."""
    belief: Any = sight.belief[sight.shown]
    drawn, parts = histogram_of(belief), sight.parts
    is_light = len(parts) > MANY
    ax = ax or new_axes(2.9 if is_light else 2.3)
    if len(drawn.edges):
        _draw_bins(ax, drawn, parts, 0.12 if is_light else 0.25)
    if len(drawn.values):
        _draw_values(ax.twinx() if len(drawn.edges) else ax, drawn, parts)
    room = max(0.02 * (drawn.high - drawn.low), drawn.bar_room if len(drawn.values) else 0.0)
    ax.set_xlim(drawn.low - room, drawn.high + room)
    is_whole = not len(drawn.edges) and (drawn.values == np.floor(drawn.values)).all()
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=ROUND, integer=is_whole))
    beyond = sum(int(((x < drawn.low) | (x > drawn.high)).sum()) for x in parts)
    ax.set_xlabel(shorten(sight.name, AXIS) + _further_out(beyond, drawn.beyond))
    return ax


def _draw_bins(ax: Axes, drawn: Histogram, parts: Sequence[Array], shade: float) -> None:
    """Draw the densities of bins as steps, over the histograms of the cells in the same bins; few cells are ticks."""
    corners = drawn.edges.repeat(2)
    for c, (heights, x) in enumerate(zip(drawn.density, parts, strict=True)):
        cells = x[~np.isin(x, drawn.values)]
        if len(cells) < FEW:
            ax.plot(cells, np.zeros(len(cells)), "|", color=COLOURS[c], markersize=14)
        else:
            share = np.histogram(cells, drawn.edges)[0] / len(x)
            ax.stairs(
                share / np.diff(drawn.edges),
                drawn.edges,
                fill=True,
                color=COLOURS[c],
                alpha=shade,
                linewidth=0,
            )
        steps = np.concatenate([[0.0], heights.repeat(2), [0.0]])
        ax.plot(corners, steps, color=COLOURS[c], linewidth=1.8, dashes=DASHES[c])
    ax.set_yticks([])
    ax.set_ylabel("density")
    ax.set_ylim(0, None)


def _draw_values(ax: Axes, drawn: Histogram, parts: Sequence[Array]) -> None:
    """Draw bars of the probabilities of values, side by side by class; a dot is the share in the data."""
    thick = drawn.bar_room / len(parts)
    for c, (heights, x) in enumerate(zip(drawn.probability, parts, strict=True)):
        at = drawn.values + (c - (len(parts) - 1) / 2) * thick
        ax.bar(at, heights, thick * 0.9, color=COLOURS[c], alpha=0.6, linewidth=0)
        share = (x[:, None] == drawn.values).mean(axis=0) if len(x) else np.zeros(len(at))
        ax.plot(at[share > 0], share[share > 0], "o", markersize=2.5, color=COLOURS[c])
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.yaxis.set_major_formatter(PERCENT)
    ax.set_ylabel("probability of a value" if len(drawn.edges) else "probability")
    ax.set_ylim(0, None)


def _mass(sight: Sight, prob: float, ax: Axes | None) -> Axes:
    """Draw bars of the predictive probability of counts, or of ranges of them; a dot is the share in the data."""
    shown, parts = sight.belief[sight.shown], sight.parts
    predictive = shown[:, None].predictive()
    cells = np.concatenate(parts)
    if not len(cells):
        ends = np.stack(predictive.interval(0.98)).ravel()
        cells = ends[np.isfinite(ends)]
    values, step = bins_of(cells)
    probability = predictive.cdf(values + step - 1) - predictive.cdf(values - 1)
    ax = ax or new_axes()
    thick = 0.84 * (values[1] - values[0] if len(values) > 1 else 1) / len(parts)
    for c, (heights, x) in enumerate(zip(probability, parts, strict=True)):
        at = values + (c - (len(parts) - 1) / 2) * thick
        ax.bar(at, heights, thick * 0.9, color=COLOURS[c], alpha=0.6, linewidth=0)
        share = np.histogram(x, [*values, values[-1] + step])[0] / max(len(x), 1)
        ax.plot(at[share > 0], share[share > 0], "o", markersize=2.5, color=COLOURS[c])
    ax.xaxis.set_major_locator(MaxNLocator(8, steps=ROUND, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.yaxis.set_major_formatter(PERCENT)
    ax.set_ylabel("probability")
    ax.set_xlabel(
        shorten(sight.name, AXIS) + ("" if step == 1 else f" (each bar: {step:g} numbers)")
    )
    return ax


def _levels(sight: Sight, prob: float, ax: Axes | None) -> Axes:
    """Draw bars of each level's probability, a group for each level, with intervals."""
    names, probability, (lower, upper) = bars_of(sight, prob)
    classes, size = probability.shape
    ax = ax or new_axes(0.6 + size * (0.16 * classes + 0.12))
    thick = 0.84 / classes
    for c, heights in enumerate(probability):
        y = np.arange(size) + (c - (classes - 1) / 2) * thick
        ax.barh(y, heights, thick * 0.86, color=COLOURS[c], alpha=0.85, linewidth=0)
        ax.hlines(y, lower[c], upper[c], color=INK, linewidth=1)
    ax.set_yticks(range(size), [shorten(name, 20) for name in names])
    ax.set_ylim(size - 0.5, -0.5)
    ax.set_xlim(0, min(1.0, 1.04 * float(upper.max())))
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=ROUND))
    ax.xaxis.set_major_formatter(PERCENT)
    ax.set_xlabel(f"probability of {shorten(sight.name, NAME)}")
    return ax


PICTURES = {"density": _density, "histogram": _histogram, "mass": _mass, "levels": _levels}


def bars_of(sight: Sight, prob: float) -> tuple[list[str], Array, tuple[Array, Array]]:
    """Return the names of levels, their probabilities in the shown classes, `(c, k)`, and the ends of the intervals.

    Of very many levels they are the most probable ones, as many as there is room for. A missing end is the probability.
    """
    belief: Any = sight.belief
    names = names_of(sight)
    numbers = np.stack(belief.level_intervals(prob))  # mean, lower, upper
    if sight.family.words:  # a word, against all others
        numbers = numbers[..., 1:]
    numbers = numbers[:, sight.shown]
    room = int(np.clip(MOST_GROUPED // len(sight.shown), 2, MOST_LEVELS))
    most = np.sort(np.argsort(-numbers[0].sum(axis=0), kind="stable")[:room])
    mean, *ends = numbers[..., most]
    lower, upper = (np.where(np.isfinite(end), end, mean) for end in ends)
    return [names[k] if k < len(names) else "no level" for k in most], mean, (lower, upper)


def names_of(sight: Sight) -> Sequence[str]:
    """Return the names of a column's levels, or of the combinations of several columns' levels."""
    if sight.family.words:
        return [f"{sight.name}: share"]
    if sight.family.outcomes:
        cut = sight.family.threshold
        return sight.family.outcomes if cut is None else [f"at most {cut:g}", f"above {cut:g}"]
    belief: Any = sight.belief
    return combined(belief, sight.levels) if len(sight.names) > 1 else sight.levels[0]


class Cloud(NamedTuple):
    """Predictive of a new row of one class: centre, spread, and radii of the ellipses in units of the spread."""

    centre: Array  # `(2,)`
    spread: Array  # `(2, 2)`, a Cholesky factor
    reach: tuple[float, float]

    @property
    def far(self) -> Array:
        """Extent of the outer ellipse along each axis."""
        return self.reach[-1] * np.sqrt((self.spread**2).sum(axis=-1))


def _cloud(belief: NormalInverseWishart, c: int, prob: float) -> Cloud:
    """Return the predictive of two columns in a class, a multivariate t: half and `prob` of rows lie in its ellipses.

    Its squared distance is twice an F variate: Kotz and Nadarajah (2004), Multivariate t distributions.
    """
    free = belief.dof[c] - 1
    half, most = np.sqrt(2 * fdtri(2, free, np.array([HALF, prob]))).tolist()
    return Cloud(
        belief.location[c],
        np.sqrt((1 + 1 / belief.count[c]) / free) * belief.factor[c],
        (half, most),
    )


def _clouds(sight: Sight, prob: float, ax: Axes | None) -> Axes:
    """Draw two ellipses for each class, of which enough is known, over its rows; of many rows some, evenly spaced."""
    belief: Any = sight.belief[sight.shown]
    if belief.width > 2:
        raise ValueError(
            f"{belief.width} columns of numbers make no picture: name one of them, or two, such as plot_column(model, "
            f"{sight.names[:2]})."
        )
    ax = ax or new_axes(HIGH)
    ellipses = {c: _cloud(belief, c, prob) for c, proper in enumerate(belief.proper) if proper}
    step = max(1, -(-sum(map(len, sight.parts)) // MOST_POINTS))
    turn = np.linspace(0, 2 * np.pi, AROUND)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    for c, x in enumerate(sight.parts):
        points = x[::step].T
        ax.plot(*points, ".", color=COLOURS[c], markersize=4.5, alpha=0.6, markeredgewidth=0)
        for reach, width in zip(ellipses[c].reach, WIDTHS, strict=True) if c in ellipses else ():
            line = ellipses[c].centre[:, None] + reach * ellipses[c].spread @ circle
            ax.plot(*line, color=COLOURS[c], linewidth=width, dashes=DASHES[c])
    _frame(ax, list(ellipses.values()), np.concatenate(sight.parts))
    ax.set(xlabel=shorten(sight.names[0], NAMES), ylabel=shorten(sight.names[1], NAMES))
    return ax


def _frame(ax: Axes, ellipses: Sequence[Cloud], x: Array) -> None:
    """Set limits around the rows, of which a few may lie far out, and around ellipses that are not far larger."""
    ends = np.array(
        [(cloud.centre - cloud.far, cloud.centre + cloud.far) for cloud in ellipses]
        or [([0, 0], [1, 1])]
    )
    sides: tuple[Any, Any] = (ax.set_xlim, ax.set_ylim)
    for j, side in enumerate(sides):
        low, high = ends[:, 0, j].min(), ends[:, 1, j].max()
        if len(x):
            least, most = middle(x[:, j])
            most = most if most > least else np.nextafter(least, np.inf)
            low, high = (
                np.clip(end, least - most + least, most + most - least) for end in (low, high)
            )
            low, high = min(low, least), max(high, most)
        room = ROOM * (high - low)
        side(low - room, high + room)
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=ROUND))
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=ROUND))
