"""A nomogram: a model on one page, to read off the points of a row's values, add them up, and find the probability.

The scale of a feature shows the log-odds that its values speak for one class against another. Where these rise and fall
along a number, its scale is folded: each stretch on which they only rise or only fall is a line by itself. Mozina et
al. (2004), Nomograms for visualization of naive Bayesian classifier.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator

from bayesnb.families.base import Array, Belief
from bayesnb.families.capabilities import margins_of
from bayesnb.families.family import Family
from bayesnb.families.record import Power, raised
from bayesnb.formatting import shorten
from bayesnb.model.powers import LengthPower, of_blocks, of_empty_rows, of_feature
from bayesnb.model.schema import Block
from bayesnb.plots.column_data import combined, level_names
from bayesnb.plots.log_odds_axis import add_probabilities, pair_of, signed
from bayesnb.plots.style import (
    COLOURS,
    INK,
    MOST_CLASSES,
    check_fitted,
    new_figure,
    styled,
    width_in_points,
)

WIDE, ROW = 7.2, 0.44  # inches
NAME, LEVEL = 28, 18  # letters
SMALL = 8.5
GAP = 6.0  # points between labels
SURE = 7.0  # log-odds at which the scale of probabilities ends
QUANTILES = (np.arange(32) + 0.5) / 32
EDGE = 0.01  # of new cells lie beyond each end of a scale
GRID = 400
FEW = 8  # counts that are marked one by one
SLIGHT = 0.03  # of a scale: a fold that is smaller is not drawn


@dataclass(frozen=True, eq=False)
class Line:
    """Points and labels of values, `(n,)`; the ends of the line; weights of the labels; where it turns to the next."""

    points: Array
    labels: Sequence[str]
    ends: tuple[float, float]
    weight: Array
    turn: float | None = None


@dataclass(frozen=True, eq=False)
class PointScale:
    name: str
    lines: Sequence[Line]


@dataclass(frozen=True, eq=False)
class Scales:
    """Scales of the most influential features, and the log-odds of the classes before any feature."""

    named: tuple[str, str]
    places: tuple[int, int]  # among all classes
    start: float
    scales: Sequence[PointScale]
    features: int


def scales_of(model: Any, classes: Sequence[Any] | None = None, most: int = 12) -> Scales:
    """Return the scales of a fitted model, for two of its classes, by default the two most frequent."""
    check_fitted(model)
    belief, labels = model.model_.posterior, model.classes_.tolist()
    if belief.is_mixture:
        raise ValueError(
            "a nomogram has a scale for what each class says of a feature, and under average_features that may be "
            "nothing. Fit with average_features=None, or draw rows: plot_waterfall(model.explain(X))."
        )
    if model.schema_.links is not None:
        raise ValueError(
            "a nomogram has a scale for each column, and this model has links: what a cell is worth depends on another "
            "column's cell. Fit with dependence=None, or draw rows: plot_waterfall(model.explain(X))."
        )
    pair = list(pair_of(labels, belief.log_class, classes))
    if not np.isfinite(belief.log_class[pair]).all():
        raise ValueError(
            f"one of the classes {[labels[c] for c in pair]} is impossible: draw two others."
        )
    blocks = [
        (block, belief[pair])
        for block, belief in zip(model.schema_.blocks, belief.blocks, strict=True)
    ]
    for block, _ in blocks:
        if block.family.multivariate and block.family.continuous and len(block.names) > 1:
            columns = ", ".join(map(str, block.names))
            raise ValueError(
                f"a nomogram has a scale for each feature, and {columns} are modelled jointly: what one of these "
                "numbers is worth depends on the others. Draw rows: plot_waterfall(model.explain(X))."
            )
    if any(isinstance(each, LengthPower) for each in of_blocks(model._exponents, len(blocks))):
        raise ValueError(
            "a nomogram has a point for each word, and here what a word is worth falls with the length of its text, "
            "see temper_length_. Draw rows: plot_waterfall(model.explain(X)); or fit with temper='loo'."
        )
    powers = of_blocks(of_empty_rows(model._exponents), len(blocks))
    worth = [
        influence(block.family, belief, w)
        for (block, belief), w in zip(blocks, powers, strict=True)
    ]
    places = [(b, j) for b, belief in enumerate(worth) for j in range(len(belief))]
    best = np.argsort(-np.nan_to_num(np.concatenate(worth)), kind="stable")[:most]
    chosen = [(*blocks[b], j, of_feature(powers[b], j)) for b, j in (places[i] for i in best)]
    scales = [
        PointScale(name_of(block, j), lines(belief, j, block, w)) for block, belief, j, w in chosen
    ]
    start = float(np.subtract(*belief.log_class[pair]))
    named = str(labels[pair[0]]), str(labels[pair[1]])
    return Scales(named, (pair[0], pair[1]), start, scales, len(places))


def name_of(block: Block, j: int) -> str:
    """Return the name of a feature, or of a word."""
    return (
        str(block.words[j])
        if len(block.keys) > 1 or block.family.words
        else ", ".join(map(str, block.names))
    )


def worth_of(pair: Belief, x: Array, power: Power) -> Array:
    """Log-odds of cells for the first class, `(n, f) -> (n, f)`."""
    cells = x[:, None]
    with np.errstate(invalid="ignore"):
        scores = raised(power, pair.log_predictive(cells))
        return scores[:, 0] - scores[:, 1]


def influence(family: Family, pair: Any, power: Power) -> Array:
    """Mean difference of the points of rows of the two classes, by feature, `(f,)`."""
    if family.words:
        return _level_influence(pair, power)[0]
    if family.has_levels:
        return pair.level_sums(_level_influence(pair, power))
    columns = margins_of(pair)
    x = columns.predictive().ppf(QUANTILES[:, None, None])
    points = [worth_of(columns, x[:, c], power).mean(axis=0) for c in range(2)]
    return points[0] - points[1]


def _level_influence(pair: Any, power: Power) -> Array:
    share = pair.mean()
    points = _level_points(pair, power)
    return np.where(share[0] == share[1], 0.0, (share[0] - share[1]) * points)


def _level_points(pair: Any, power: Power) -> Array:
    each = pair.of_levels(power) if np.ndim(power) else power
    scores = raised(each, pair.level_log_moment(1.0))
    with np.errstate(invalid="ignore"):
        return scores[0] - scores[1]


def lines(pair: Any, j: int, block: Block, power: float) -> list[Line]:
    """Return the scale of one feature: marks for values that can be listed, else a line of numbers."""
    family = block.family
    if (
        family.words
    ):  # an absent word has no points; each occurrence adds about as much as the first
        once = _level_points(pair, power)[0, j]
        return [_marked(np.array([0.0, once]), ("absent", "each time"), np.ones(2))]
    if family.combined:
        names: Sequence[str] = combined(
            pair, [level_names(block, at) for at in range(len(block.names))]
        )
        points, share = _level_points(pair, power)[0], pair.mean().max(axis=0)[0]
        return [_marked(points[: len(names)], names, share[: len(names)])]
    if family.has_levels:
        belief = pair.column(j)
        return [
            _marked(_level_points(belief, power), level_names(block, j), belief.mean().max(axis=0))
        ]
    columns, cut = margins_of(pair), family.threshold
    if family.outcomes:
        names = family.outcomes if cut is None else (f"\u2264 {cut:g}", f"> {cut:g}")
        return [_marked(_points_at(columns, j, np.array([0.0, 1.0]), power), names, np.ones(2))]
    top = columns[:, j].predictive().ppf(1 - EDGE).max() if family.picture == "mass" else np.inf
    if top <= FEW:
        x = np.arange(top + 1)
        return [_marked(_points_at(columns, j, x, power), [f"{n:g}" for n in x], np.ones(len(x)))]
    return _of_numbers(columns, j, power)


def _of_numbers(pair: Belief, j: int, power: float) -> list[Line]:
    """Return the scale of a number, folded where its points turn."""
    ends = pair[:, [j]].predictive().ppf(np.array([EDGE, 1 - EDGE])[:, None, None])
    x = np.linspace(ends.min(), max(ends.max(), np.nextafter(ends.min(), np.inf)), GRID)
    ticks = np.asarray(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]).tick_values(x[0], x[-1]))
    return folded(x, _points_at(pair, j, x, power), ticks, _points_at(pair, j, ticks, power))


def _points_at(pair: Belief, j: int, x: Array, power: float) -> Array:
    return worth_of(pair[:, [j]], x[:, None], power)[:, 0]


def folded(x: Array, points: Array, ticks: Array, at: Array) -> list[Line]:
    """Split a curve into lines on which it only rises or only falls, each with the ticks that lie there."""
    cuts, stretches = _turns(points), []
    for start, stop in pairwise(cuts):
        inside = (ticks >= x[start]) & (ticks < x[stop] if stop != cuts[-1] else ticks <= x[stop])
        labels = [f"{tick:.6g}".replace("-", "\u2212") for tick in ticks[inside]]
        stretch = points[start : stop + 1]
        turn = None if stop == cuts[-1] else points[stop]
        stretches.append(
            Line(at[inside], labels, (stretch.min(), stretch.max()), np.ones(len(labels)), turn)
        )
    return stretches


def _turns(points: Array) -> list[int]:
    """Return where a curve starts, turns and ends, but for slight turns."""
    cuts, slight = [0], SLIGHT * np.ptp(points)
    for turn in np.flatnonzero(np.diff(np.sign(np.diff(points))) != 0) + 1:
        if abs(points[turn] - points[cuts[-1]]) > slight:
            cuts.append(int(turn))
    if len(cuts) > 1 and abs(points[-1] - points[cuts[-1]]) <= slight:
        cuts.pop()
    return [*cuts, len(points) - 1]


def _marked(points: Array, labels: Sequence[str], weight: Array) -> Line:
    """Return a line with a mark for each level; levels that are impossible in one class have none."""
    good = np.isfinite(points)
    marks = points[good]
    ends = (marks.min(), marks.max()) if len(marks) else (0.0, 0.0)
    return Line(
        marks, [label for label, fine in zip(labels, good, strict=True) if fine], ends, weight[good]
    )


@styled
def plot_nomogram(
    model: Any,
    classes: Sequence[Any] | None = None,
    *,
    most: int = 12,
    ax: Sequence[Axes] | None = None,
) -> Array:
    """Draw a model as scales from which its prediction can be read by hand, for one class against another.

    Every feature has a scale on which its values lie at their points, their log predictive ratio; a missing value
    has none. The points of a row's values and of the frequency of the classes, added, are log-odds: the last scale
    turns them into a probability, exactly, but for words of a text, each of which counts as at its first occurrence.
    A number whose points rise and fall has a scale of several lines, one after another.

    Parameters
    ----------
    model : estimator
        A fitted model without links between columns, which `NaiveBayes` has unless dependence=None.
    classes : pair of labels, optional
        By default the two most probable classes.
    most : int, default 12
        How many features are drawn, those by which rows of the two classes differ most on average.
    ax : pair of matplotlib.axes.Axes, optional
        The axes to draw on, for the features, and below it for the total. By default new ones in a new figure.

    Returns
    -------
    numpy.ndarray of two matplotlib.axes.Axes
        The axes with the scales of the features, and those with the total.

    See Also
    --------
    plot_waterfall : One row, for models with links too.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, plot_nomogram
    >>> from bayesnb.datasets import penguins
    >>> table = penguins().drop(columns="year")
    >>> model = NaiveBayes(dependence=None).fit(table.drop(columns="species"), table["species"])
    >>> upper, lower = plot_nomogram(model, ("Adelie", "Chinstrap"))
    >>> upper.get_figure().savefig("model.png")  # doctest: +SKIP
    """
    chosen = scales_of(model, classes, most)
    start = Line(
        np.array([chosen.start]), [signed(chosen.start)], (chosen.start, chosen.start), np.ones(1)
    )
    scales = [PointScale("class frequency", [start]), *chosen.scales]
    rows = sum(len(scale.lines) for scale in scales)
    if ax is None:
        figure = new_figure(1.8 + ROW * rows, WIDE)
        figure.suptitle("Nomogram", x=0.01, ha="left", fontsize="medium")
        ax = figure.subplots(2, 1, height_ratios=[ROW * rows, 0.12])
    upper, lower = ax
    _frame(upper, scales, chosen)
    lower.set_xlim(-SURE, SURE)  # the scale that turns the sum of all points into a probability
    lower.set_yticks([])
    lower.spines["left"].set_visible(False)
    lower.set_xlabel("total points")
    add_probabilities(lower, chosen.named[0])
    per_point = np.ptp(upper.get_xlim()) / width_in_points(upper)
    colours = [COLOURS[c % MOST_CLASSES] for c in chosen.places]
    for y, line in enumerate(line for scale in scales for line in scale.lines):
        _draw(upper, y, line, colours, per_point)
    return np.array([upper, lower])


def _frame(ax: Axes, scales: Sequence[PointScale], chosen: Scales) -> None:
    """Label the scales at their first lines, and the axis of points above."""
    starts = np.cumsum([0, *(len(scale.lines) for scale in scales)])
    far = max(max(map(abs, line.ends)) for scale in scales for line in scale.lines)
    far = far or 1.0
    ax.set_xlim(-1.04 * far, 1.04 * far)
    ax.set_ylim(starts[-1] - 0.3, -0.4)
    ax.set_yticks(starts[:-1].tolist(), [shorten(scale.name, NAME) for scale in scales])
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.spines[["bottom", "left"]].set_visible(False)
    ax.spines["top"].set_visible(True)
    ax.grid(axis="x", color=INK, alpha=0.15, linewidth=0.6)
    for name, side, template in zip(
        chosen.named, ("right", "left"), ("for {} \u2192", "\u2190 for {}"), strict=True
    ):
        ax.set_title(template.format(shorten(name, LEVEL)), loc=side, fontsize="medium")  # type: ignore[arg-type]
    few = len(chosen.scales) < chosen.features
    ax.set_xlabel(
        "points"
        + f" of the {len(chosen.scales)} most influential of {chosen.features:,} features" * few
    )


def _draw(ax: Axes, y: float, line: Line, colours: Sequence[str], per_point: float) -> None:
    """Draw a line with its marks, and below it the labels that there is room for, on their side of its turn."""
    ax.hlines(y, *line.ends, color=INK, linewidth=1)
    colour = np.where(line.points >= 0, *colours).tolist()
    ax.scatter(line.points, np.full(len(line.points), y), s=14, c=colour, zorder=3)
    (low, high), gap = ax.get_xlim(), GAP * per_point
    if line.turn is not None:
        ax.vlines(line.turn, y, y + 1, color=INK, linewidth=1, linestyle=":")
        low, high = (
            (low, line.turn - gap / 2) if line.turn == line.ends[1] else (line.turn + gap / 2, high)
        )
    labels = [shorten(label, LEVEL) for label in line.labels]
    font = FontProperties(size=SMALL)
    points = [
        text_to_path.get_text_width_height_descent(label, font, ismath=False)[0] for label in labels
    ]
    widths = np.array(points) * per_point
    shown = fitting(widths + gap, line.weight, high - low)
    shown = shown[np.argsort(line.points[shown], kind="stable")]
    places = spread(line.points[shown], widths[shown], (low, high), gap)
    for j, at in zip(shown, places, strict=True):
        ax.plot([line.points[j], at], [y, y + 0.24], color=INK, linewidth=0.5, alpha=0.6)
        ax.text(at, y + 0.26, labels[j], ha="center", va="top", fontsize=SMALL)


def fitting(widths: Array, weight: Array, room: float) -> Array:
    """Return the labels of most weight that fit side by side, in their order."""
    best = np.argsort(-weight, kind="stable")
    return np.sort(best[np.cumsum(widths[best]) <= room])


def spread(at: Array, widths: Array, limits: tuple[float, float], gap: float) -> Array:
    """Place sorted labels near where they belong, so that none overlaps another or a limit; all are `(n,)`."""
    if not len(at):
        return at
    offset = np.concatenate([[0], np.cumsum((widths[:-1] + widths[1:]) / 2 + gap)])
    right = np.maximum.accumulate(at - offset)
    left = np.minimum.accumulate((at - offset)[::-1])[::-1]
    place = (left + right) / 2
    place = np.minimum(place, limits[1] - widths[-1] / 2 - offset[-1])
    return np.maximum(place, limits[0] + widths[0] / 2) + offset
