"""Columns of a model: what a new row of each class is expected to hold there. One function per kind of belief."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from bayesnb.families.base import Array, Belief
from bayesnb.plots.beliefs import counts, densities, levels
from bayesnb.plots.clouds import clouds, clouds_of
from bayesnb.plots.sight import Sight, bins_of, combined, grid_of, sight_of
from bayesnb.plots.style import COLOURS, DASHES, short, styled
from bayesnb.results.datasets import ci_prob as checked_prob

MOST_LEVELS = 12
MOST_GROUPED = 36  # bars of a figure, all classes together
NAME, AXIS, ACROSS = 24, 48, 58  # letters of a class, below an axis, and of a line of the legend
LINE = 0.2  # inches of a line of the legend


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
    own = ax is None
    ax = sketch(sight.belief, sight, checked_prob(ci_prob), ax)
    _legend(ax, sight, own)
    return ax


def sketch(belief: Belief, sight: Sight, prob: float, ax: Axes | None = None) -> Axes:
    """The figure of a column, or of several that are modelled jointly, without a legend."""
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
    """Counts that every class may well have."""
    found = np.stack(predictive.interval(0.98)).ravel()
    return found[np.isfinite(found)]


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
    """Ends of intervals; the probability itself, where there is none."""
    return np.where(np.isfinite(lower), lower, mean), np.where(np.isfinite(upper), upper, mean)


def _legend(ax: Axes, sight: Sight, own: bool) -> None:
    """Which colour is which class."""
    places = sight.shown
    lines = [Line2D([], [], color=COLOURS[c], dashes=DASHES[c], linewidth=3) for c in range(len(places))]
    words = [short(str(sight.classes[k]), NAME) for k in places]
    left = len(sight.classes) - len(places)
    title = f"the {len(places)} most frequent of {left + len(places)} classes" if left else None
    look: Any = {"title": title, "alignment": "left", "frameon": False, "fontsize": "small"}
    if not own:
        ax.legend(lines, words, **look)
        return
    figure: Any = ax.get_figure()
    columns = max(1, min(len(words), ACROSS // (max(map(len, words)) + 8)))
    deep = -(-len(words) // columns) + (title is not None)
    figure.set_figheight(figure.get_figheight() + LINE * deep)
    figure.legend(lines, words, loc="outside upper left", ncols=columns, **look)
