"""Columns of a model: the posterior predictive of a new cell in each class, as curves, bars or ellipses."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from scipy.special import fdtri

from bayesnb.families import NormalInverseWishart
from bayesnb.families.base import Array, Belief
from bayesnb.plots.column_view import Sight, bins_of, combined, grid_of, middle, sight_of
from bayesnb.plots.style import COLOURS, DASHES, INK, PERCENT, new_axes, short, styled
from bayesnb.results.datasets import ci_prob as checked_prob

MOST_LEVELS = 12
MOST_GROUPED = 36  # bars of a figure, all classes together
NAME, AXIS, ACROSS = 24, 48, 58  # letters of a class, below an axis, and of a line of the legend
LINE = 0.2  # inches of a line of the legend
FEW = 15  # cells, which make no histogram
MANY = 4  # classes, above which a figure is taller, and their histograms are lighter
HALF = 0.5
MOST_POINTS = 600  # of a figure
AROUND = 181  # points of an ellipse
WIDTHS = (1.1, 1.8)  # of the inner line and the outer one
ROOM = 0.06  # of the range of the rows, beside them
HIGH = 3.1  # inches
NAMES = 32  # letters of an axis


@styled
def plot_column(
    model: Any, column: Hashable, X: Any = None, y: Any = None, *, ci_prob: float | None = None, ax: Axes | None = None
) -> Axes:
    """Draw what a model expects of one column in each class: the posterior predictive of a new cell.

    Numbers have a curve for each class, counts and levels have bars; those of levels with the interval of their
    probability. Of more than eight classes the most frequent are drawn.

    Columns that are modelled jointly can be drawn one by one, each as it is whatever the others hold, or together:
    levels as bars of their most probable combinations, and two columns of numbers as ellipses, within which half and
    `ci_prob` of new rows lie.

    Parameters
    ----------
    model : fitted estimator
    column : the name of a column, or of a word of a block of counts, whose share of the class's words is drawn
        Or a tuple of columns that are modelled jointly.
    X, y : rows and their labels, to be drawn too
        As a shade or ticks under curves, as dots on bars of counts, and as points. Bars of levels have none.
    ci_prob : probability of the intervals and of the outer ellipses, default ArviZ's `rcParams["stats.ci_prob"]`
    ax : matplotlib.axes.Axes, default new ones in a figure of their own

    Returns
    -------
    matplotlib.axes.Axes

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
    new_figure = ax is None
    ax = sketch(sight.belief, sight, checked_prob(ci_prob), ax)
    _legend(ax, sight, new_figure)
    return ax


def sketch(belief: Belief, sight: Sight, prob: float, ax: Axes | None = None) -> Axes:
    """Draw a column, or several that are modelled jointly, without a legend."""
    if len(sight.names) > 1 and sight.family.continuous:
        return _clouds(belief, sight, prob, ax)
    return PICTURES[sight.family.picture](belief, sight, prob, ax)


def _density(belief: Belief, sight: Sight, prob: float, ax: Axes | None) -> Axes:
    """A curve of the predictive density for each class."""
    shown, parts = belief[sight.shown], sight.parts
    grid = grid_of(np.concatenate(parts), shown)
    grid = grid[grid >= 0] if sight.family.support.nonnegative else grid
    density = np.where(shown.proper[:, None], np.exp(shown[:, None].log_predictive(grid)), np.nan)
    ax = densities(grid, density, parts, ax)
    beyond = sum(int(((x < grid[0]) | (x > grid[-1])).sum()) for x in parts)
    ax.set_xlabel(short(sight.name, AXIS) + (f"\n{beyond:,} rows lie further out" if beyond else ""))
    return ax


def _mass(belief: Belief, sight: Sight, prob: float, ax: Axes | None) -> Axes:
    """Bars of the predictive probability of whole numbers, or of ranges of them, for each class."""
    shown, parts = belief[sight.shown], sight.parts
    predictive = shown[:, None].predictive()
    seen = np.concatenate(parts)
    values, step = bins_of(seen if len(seen) else _usual(predictive))
    probability = predictive.cdf(values + step - 1) - predictive.cdf(values - 1)
    observed = np.array([np.histogram(x, [*values, values[-1] + step])[0] / max(len(x), 1) for x in parts])
    ax = counts(values, probability, observed, ax)
    ax.set_xlabel(short(sight.name, AXIS) + ("" if step == 1 else f" (each bar: {step:g} numbers)"))
    return ax


def _levels(belief: Belief, sight: Sight, prob: float, ax: Axes | None) -> Axes:
    """Bars of the probability of levels, with their intervals, for each class."""
    return levels(*bars_of(belief, sight, prob), ax)


def _clouds(belief: Any, sight: Sight, prob: float, ax: Axes | None) -> Axes:
    """Ellipses of two columns that are modelled jointly, for each class."""
    if belief.width > 2:
        raise ValueError(
            f"{belief.width} columns of numbers make no picture: name one of them, or two, such as plot_column(model, "
            f"{sight.names[:2]})."
        )
    return clouds(clouds_of(belief[sight.shown], prob), sight.parts, sight.names, ax)


PICTURES = {"density": _density, "mass": _mass, "levels": _levels}


def _usual(predictive: Any) -> Array:
    """Return a range of counts that is probable in all classes."""
    ends = np.stack(predictive.interval(0.98)).ravel()
    return ends[np.isfinite(ends)]


def bars_of(belief: Any, sight: Sight, prob: float) -> tuple[list[str], Array, tuple[Array, Array]]:
    """The names of levels, their probabilities in the shown classes, `(c, k)`, and the ends of the intervals.

    Of very many levels they are the most probable ones, as many as there is room for.
    """
    names = names_of(belief, sight)
    mean, lower, upper = belief.level_intervals(prob)
    if len(names) == 1:  # a word, against all others
        mean, lower, upper = mean[:, 1:], lower[:, 1:], upper[:, 1:]
    room = int(np.clip(MOST_GROUPED // len(sight.shown), 2, MOST_LEVELS))
    most = np.sort(np.argsort(-mean[sight.shown].sum(axis=0), kind="stable")[:room])
    at = np.ix_(sight.shown, most)
    return [names[k] if k < len(names) else "no level" for k in most], mean[at], _filled(mean[at], lower[at], upper[at])


def names_of(belief: Any, sight: Sight) -> Sequence[str]:
    """What the levels of a column are called, or the combinations of several columns' levels."""
    if sight.family.words:
        return [f"{sight.name}: share"]
    if sight.family.outcomes:
        cut = sight.family.threshold
        return sight.family.outcomes if cut is None else [f"at most {cut:g}", f"above {cut:g}"]
    return combined(belief, sight.levels) if len(sight.names) > 1 else sight.levels[0]


def _filled(mean: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Replace missing ends of intervals by the probability itself."""
    return np.where(np.isfinite(lower), lower, mean), np.where(np.isfinite(upper), upper, mean)


def _legend(ax: Axes, sight: Sight, new_figure: bool) -> None:
    """Add a legend of the classes' colours."""
    places = sight.shown
    lines = [Line2D([], [], color=COLOURS[c], dashes=DASHES[c], linewidth=3) for c in range(len(places))]
    words = [short(str(sight.classes[k]), NAME) for k in places]
    left = len(sight.classes) - len(places)
    title = f"the {len(places)} most frequent of {left + len(places)} classes" if left else None
    look: Any = {"title": title, "alignment": "left", "frameon": False, "fontsize": "small"}
    if not new_figure:
        ax.legend(lines, words, **look)
        return
    figure: Any = ax.get_figure()
    columns = max(1, min(len(words), ACROSS // (max(map(len, words)) + 8)))
    deep = -(-len(words) // columns) + (title is not None)
    figure.set_figheight(figure.get_figheight() + LINE * deep)
    figure.legend(lines, words, loc="outside upper left", ncols=columns, **look)


@styled
def densities(grid: Array, density: Array, data: Sequence[Array], ax: Axes | None = None) -> Axes:
    """Draw a curve for each class, `(n,), (c, n)`, over the histogram of the class's cells; few are ticks."""
    ax = ax or new_axes(2.3 if len(data) <= MANY else 2.9)
    shade = 0.25 if len(data) <= MANY else 0.12  # of many, each less
    bins = np.linspace(grid[0], grid[-1], 1 + int(np.clip(np.sqrt(sum(map(len, data))), 10, 40))).tolist()
    for c, (curve, x) in enumerate(zip(density, data, strict=True)):
        inside = x[(x >= grid[0]) & (x <= grid[-1])]
        if len(inside) < FEW:
            ax.plot(inside, np.zeros(len(inside)), "|", color=COLOURS[c], markersize=14, clip_on=False)
        else:
            ax.hist(inside, bins, density=True, histtype="stepfilled", color=COLOURS[c], alpha=shade, linewidth=0)
        ax.plot(grid, curve, color=COLOURS[c], linewidth=1.8, dashes=DASHES[c])
    ax.set_yticks([])
    ax.set_ylim(0, None)
    ax.set_xlim(grid[0], grid[-1])
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    return ax


@styled
def levels(names: Sequence[str], probability: Array, ends: tuple[Array, Array], ax: Axes | None = None) -> Axes:
    """Draw bars of each level's probability, a group for each level, with intervals, all `(c, k)`."""
    classes, size = probability.shape
    ax = ax or new_axes(0.6 + size * (0.16 * classes + 0.12))
    thick = 0.84 / classes
    for c, heights in enumerate(probability):
        y = np.arange(size) + (c - (classes - 1) / 2) * thick
        ax.barh(y, heights, thick * 0.86, color=COLOURS[c], alpha=0.85, linewidth=0)
        ax.hlines(y, ends[0][c], ends[1][c], color=INK, linewidth=1)
    ax.set_yticks(range(size), [short(name) for name in names])
    ax.set_ylim(size - 0.5, -0.5)
    ax.set_xlim(0, min(1.0, 1.04 * float(ends[1].max())))
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(PERCENT)
    return ax


@styled
def counts(values: Array, probability: Array, observed: Array, ax: Axes | None = None) -> Axes:
    """Draw bars of each count's probability, `(n,), (c, n)`; a dot is its share in the data."""
    ax = ax or new_axes()
    thick = 0.84 * (values[1] - values[0] if len(values) > 1 else 1) / len(probability)
    for c, heights in enumerate(probability):
        x = values + (c - (len(probability) - 1) / 2) * thick
        ax.bar(x, heights, thick * 0.9, color=COLOURS[c], alpha=0.6, linewidth=0)
        seen = observed[c] > 0
        ax.plot(x[seen], observed[c][seen], linestyle="", marker="o", markersize=2.5, color=COLOURS[c])
    ax.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10], integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.yaxis.set_major_formatter(PERCENT)
    return ax


class Cloud(NamedTuple):
    """Predictive of a new row of one class: centre, spread, and radii of the ellipses in units of the spread."""

    centre: Array  # `(2,)`
    spread: Array  # `(2, 2)`, a Cholesky factor
    reach: tuple[float, float]

    @property
    def far(self) -> Array:
        """Extent of the outer ellipse along each axis."""
        return self.reach[-1] * np.sqrt((self.spread**2).sum(axis=-1))


def clouds_of(belief: NormalInverseWishart, prob: float) -> list[Cloud | None]:
    """The predictive of two columns in each class, a multivariate t, of which half and `prob` of rows lie in ellipses.

    Its squared distance is twice an F variate: Kotz and Nadarajah (2004), Multivariate t distributions. None for a
    class of which too little is known.
    """
    return [_cloud(belief, c, prob) if good else None for c, good in enumerate(belief.proper)]


def _cloud(belief: NormalInverseWishart, c: int, prob: float) -> Cloud:
    free = belief.dof[c] - 1
    half, most = np.sqrt(2 * fdtri(2, free, np.array([HALF, prob]))).tolist()
    return Cloud(belief.location[c], np.sqrt((1 + 1 / belief.count[c]) / free) * belief.factor[c], (half, most))


@styled
def clouds(
    ellipses: Sequence[Cloud | None], data: Sequence[Array], names: Sequence[str], ax: Axes | None = None
) -> Axes:
    """Draw two ellipses for each class over its rows, `(n, 2)`; of many rows some, evenly spaced."""
    ax = ax or new_axes(HIGH)
    step = max(1, -(-sum(map(len, data)) // MOST_POINTS))
    turn = np.linspace(0, 2 * np.pi, AROUND)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    for c, (cloud, x) in enumerate(zip(ellipses, data, strict=True)):
        points = x[::step]
        ax.plot(points[:, 0], points[:, 1], ".", color=COLOURS[c], markersize=4.5, alpha=0.6, markeredgewidth=0)
        if cloud is not None:
            for reach, width in zip(cloud.reach, WIDTHS, strict=True):
                line = cloud.centre[:, None] + reach * cloud.spread @ circle
                ax.plot(*line, color=COLOURS[c], linewidth=width, dashes=DASHES[c])
    _frame(ax, [cloud for cloud in ellipses if cloud], np.concatenate(data))
    ax.set_xlabel(short(names[0], NAMES))
    ax.set_ylabel(short(names[1], NAMES))
    return ax


def _frame(ax: Axes, ellipses: Sequence[Cloud], x: Array) -> None:
    """Set limits around the rows, of which a few may lie far out, and around ellipses that are not far larger."""
    ends = [(cloud.centre - cloud.far, cloud.centre + cloud.far) for cloud in ellipses]
    sides: tuple[Any, Any] = (ax.set_xlim, ax.set_ylim)
    for j, side in enumerate(sides):
        low, high = min((cloud[0][j] for cloud in ends), default=0.0), max((cloud[1][j] for cloud in ends), default=1.0)
        if len(x):
            least, most = middle(x[:, j])
            most = most if most > least else np.nextafter(least, np.inf)
            low, high = (np.clip(end, least - most + least, most + most - least) for end in (low, high))
            low, high = min(low, least), max(high, most)
        room = ROOM * (high - low)
        side(low - room, high + room)
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
