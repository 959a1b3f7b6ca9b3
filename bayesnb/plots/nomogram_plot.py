"""A nomogram: a model on one page, from which a row's probability can be read by adding points.

The scale of a feature shows the log-odds that its values speak for one class against another. Where
these rise and fall along a number, its scale is folded: each stretch on which they only rise or
only fall is a line by itself. Mozina et al. (2004), Nomograms for visualization of naive Bayesian
classifier.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from bayesnb.families.base import Array, Belief
from bayesnb.families.capabilities import margins_of
from bayesnb.families.family import Family
from bayesnb.families.record import Power, raised
from bayesnb.formatting import number, shorten, signed
from bayesnb.model.powers import LengthPower, of_blocks, of_empty_rows, of_feature
from bayesnb.model.schema import Block
from bayesnb.plots.column_data import combined, level_names
from bayesnb.plots.log_odds_axis import add_probabilities, pair_of
from bayesnb.plots.style import (
    COLOURS,
    INK,
    MOST_CLASSES,
    check_fitted,
    check_most,
    figure_of,
    new_figure,
    styled,
)

WIDE, ROW = 7.2, 0.54  # inches
NAME, LEVEL = 28, 18  # letters
SURE = 7.0  # log-odds at which the scale of probabilities ends
QUANTILES = (np.arange(32) + 0.5) / 32
EDGE = 0.01  # of new cells lie beyond each end of a scale
GRID = 400
FEW = 8  # counts that are marked one by one
SLIGHT = 0.03  # of a scale: a fold that is smaller is not drawn


@dataclass(frozen=True, eq=False)
class Line:
    """Points and labels of values, `(n,)`, those of most weight labelled first; and its ends.

    `turn` is where a folded scale goes on as the next line.
    """

    points: Array
    labels: Sequence[str]
    weight: Array
    ends: tuple[float, float]
    turn: float | None = None


@styled
def plot_nomogram(
    model: Any,
    classes: Sequence[Any] | None = None,
    *,
    most: int = 12,
    ax: Sequence[Axes] | None = None,
) -> Array:
    """Draw a model as scales from which its prediction for two classes can be read by hand.

    Every feature has a scale on which its values lie at their points, their log predictive ratio; a
    missing value has none. The points of a row's values and of the frequency of the classes, added,
    are log-odds: the last scale turns them into a probability, exactly, but for words of a text,
    each of which counts as at its first occurrence. A number whose points rise and fall has a scale
    of several lines, one after another. Labels that would lie on each other are left out.

    Parameters
    ----------
    model : estimator
        A fitted model without links between columns, which `NaiveBayes` has unless
        dependence=None.
    classes : pair of labels, optional
        By default the two most probable classes.
    most : int, default 12
        How many features are drawn, those by which rows of the two classes differ most on average.
    ax : pair of matplotlib.axes.Axes, optional
        The axes to draw on, for the features, and below it for the total. By default new ones in a
        new figure.

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
    check_most(most)
    check_fitted(model)
    labels, posterior = model.classes_.tolist(), model.model_.posterior
    _refuse_what_has_no_scales(model)
    pair = list(pair_of(labels, posterior.log_class, classes))
    if not np.isfinite(posterior.log_class[pair]).all():
        raise ValueError(
            f"one of the classes {[labels[c] for c in pair]} is impossible: draw two others."
        )
    start = float(np.subtract(*posterior.log_class[pair]))
    scales = {"class frequency": [_mark_levels(np.array([start]), [signed(start, 2)], np.ones(1))]}
    features = _rank_features(model, pair)
    for block, belief, j, power in features[:most]:
        scales[shorten(_name_of(block, j), NAME)] = _lines(belief, j, block, power)
    lines = [line for scale in scales.values() for line in scale]
    if ax is None:
        figure = new_figure(1.8 + ROW * len(lines), WIDE)
        figure.suptitle("Nomogram", x=0.01, ha="left")
        ax = figure.subplots(2, 1, height_ratios=[ROW * len(lines), 0.12])
    upper, lower = ax
    _frame(upper, scales, [shorten(labels[c], LEVEL) for c in pair])
    few = f" of the {most} most influential of {len(features):,} features"
    upper.set_xlabel("points" + few * (most < len(features)))
    lower.set(xlim=(-SURE, SURE), yticks=[], xlabel="total points")
    add_probabilities(lower, labels[pair[0]])
    colours = [COLOURS[c % MOST_CLASSES] for c in pair]
    figure_of(upper).draw_without_rendering()  # from here on, places on the figure are known
    boxes: list[Bbox] = []
    for y, line in enumerate(lines):
        _draw(upper, y, line, colours)
        _label(upper, y, line, boxes)
    return np.array([upper, lower])


def _refuse_what_has_no_scales(model: Any) -> None:
    """Raise where what a cell is worth depends on the rest of the row."""
    blocks = model.schema_.blocks
    powers = of_blocks(model._exponents, len(blocks))
    reason = ""
    if model.schema_.links is not None:
        reason = (
            "this model has links, so that what a cell is worth depends on another column's; fit "
            "with dependence=None"
        )
    elif any(isinstance(power, LengthPower) for power in powers):
        reason = (
            "what a word is worth falls with the length of its text, see temper_length_; fit with "
            "temper='loo'"
        )
    for block in blocks:
        if block.family.multivariate and block.family.continuous and len(block.names) > 1:
            columns = ", ".join(map(str, block.names))
            reason = f"{columns} are modelled jointly; declare a family for each of them"
    if reason:
        raise ValueError(
            f"a nomogram has a scale for each feature, and {reason}. Or draw rows: "
            "plot_waterfall(model.explain(X))."
        )


def _rank_features(model: Any, pair: list[int]) -> list[tuple[Block, Any, int, Any]]:
    """Return blocks, beliefs of two classes, places and powers of features, most influential first.

    Influence is the mean difference of the points of rows of the two classes.
    """
    blocks = model.schema_.blocks
    powers = of_blocks(of_empty_rows(model._exponents), len(blocks))
    features, influence = [], []
    for block, belief, power in zip(blocks, model.model_.posterior.blocks, powers, strict=True):
        of_pair = belief[pair]
        worth = _influence(block.family, of_pair, power)
        influence.extend(np.nan_to_num(worth).tolist())
        features += [(block, of_pair, j, of_feature(power, j)) for j in range(len(worth))]
    return [features[at] for at in np.argsort(-np.array(influence), kind="stable")]


def _name_of(block: Block, j: int) -> str:
    if len(block.keys) > 1 or block.family.words:
        return str(block.words[j])
    return ", ".join(map(str, block.names))


def _influence(family: Family, pair: Any, power: Power) -> Array:
    """Mean difference of the points of rows of the two classes, by feature, `(f,)`."""
    if family.has_levels or family.words:
        share = pair.mean()
        gap = share[0] - share[1]
        with np.errstate(invalid="ignore"):
            points = np.where(gap == 0, 0.0, gap * _level_points(pair, power))
        return points[0] if family.words else pair.level_sums(points)
    columns = margins_of(pair)
    x = columns.predictive().ppf(QUANTILES[:, None, None])
    first, second = (_points_of(columns, x[:, c], power).mean(axis=0) for c in range(2))
    return first - second


def _points_of(pair: Belief, x: Array, power: Power) -> Array:
    """Log-odds of cells for the first class, `(n, f) -> (n, f)`."""
    with np.errstate(invalid="ignore"):
        scores = raised(power, pair.log_predictive(x[:, None]))
        return scores[:, 0] - scores[:, 1]


def _level_points(pair: Any, power: Power) -> Array:
    """Log-odds of levels for the first class."""
    exponents = pair.of_levels(power) if np.ndim(power) else power
    with np.errstate(invalid="ignore"):
        return np.subtract(*raised(exponents, pair.level_log_moment(1.0)))


def _lines(pair: Any, j: int, block: Block, power: float) -> list[Line]:
    """Return the scale of one feature: marks for values that can be listed, or numbers."""
    family = block.family
    if family.words:  # each occurrence of a word adds about as much as the first
        points = np.array([0.0, _level_points(pair, power)[0, j]])
        return [_mark_levels(points, ("absent", "each time"), np.ones(2))]
    if family.combined:
        levels = [level_names(block, at) for at in range(len(block.names))]
        names = combined(pair, levels)
        points, share = _level_points(pair, power)[0], pair.mean().max(axis=0)[0]
        return [_mark_levels(points[: len(names)], names, share[: len(names)])]
    if family.has_levels:
        belief = pair.column(j)
        share = belief.mean().max(axis=0)
        return [_mark_levels(_level_points(belief, power), level_names(block, j), share)]
    column = margins_of(pair)[:, [j]]
    if family.outcomes:
        points = _points_of(column, np.array([[0.0], [1.0]]), power)[:, 0]
        return [_mark_levels(points, level_names(block, j), np.ones(2))]
    low, high = column.predictive().ppf(np.array([EDGE, 1 - EDGE])[:, None, None])
    if family.picture == "mass" and high.max() <= FEW:
        x = np.arange(high.max() + 1)
        points = _points_of(column, x[:, None], power)[:, 0]
        return [_mark_levels(points, [number(n) for n in x], np.ones(len(x)))]
    x = np.linspace(low.min(), max(high.max(), np.nextafter(low.min(), np.inf)), GRID)
    return _fold(x, _points_of(column, x[:, None], power)[:, 0])


def _mark_levels(points: Array, labels: Sequence[str], weight: Array) -> Line:
    """Return a line with a mark for each level that is possible in both classes."""
    possible = np.flatnonzero(np.isfinite(points))
    marks = points[possible]
    ends = (marks.min(), marks.max()) if len(marks) else (0.0, 0.0)
    return Line(marks, [labels[level] for level in possible.tolist()], weight[possible], ends)


def _fold(x: Array, points: Array) -> list[Line]:
    """Split a curve into lines on which it only rises or only falls, each with its ticks."""
    ticks = np.asarray(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]).tick_values(x[0], x[-1]))
    ticks = ticks[(x[0] <= ticks) & (ticks <= x[-1])]
    lines = []
    for start, stop in pairwise(_turns(points)):
        is_last = stop == len(points) - 1
        inside = ticks[(x[start] <= ticks) & ((ticks < x[stop]) | is_last)]
        stretch = points[start : stop + 1]
        labels = [number(tick, 4) for tick in inside]
        ends = (stretch.min(), stretch.max())
        turn = None if is_last else points[stop]
        lines.append(Line(np.interp(inside, x, points), labels, np.ones(len(labels)), ends, turn))
    return lines


def _turns(points: Array) -> list[int]:
    """Return where a curve starts, turns and ends, but for slight turns."""
    slight = SLIGHT * np.ptp(points)
    direction = np.sign(np.diff(points))
    moving = np.flatnonzero(direction)  # flat parts do not turn
    turning = moving[1:][np.diff(direction[moving]) != 0]
    cuts = [0]
    for turn in turning.tolist():
        if abs(points[turn] - points[cuts[-1]]) > slight:
            cuts.append(turn)
    if len(cuts) > 1 and abs(points[-1] - points[cuts[-1]]) <= slight:
        cuts.pop()
    return [*cuts, len(points) - 1]


def _frame(ax: Axes, scales: dict[str, list[Line]], names: Sequence[str]) -> None:
    """Label the scales at their first lines, and the axis of points above."""
    starts = np.cumsum([0, *map(len, scales.values())])
    far = max(max(map(abs, line.ends)) for scale in scales.values() for line in scale) or 1.0
    ax.set(xlim=(-1.1 * far, 1.1 * far), ylim=(starts[-1] - 0.3, -0.4))
    ax.set_yticks(starts[:-1].tolist(), list(scales))
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.spines["bottom"].set_visible(False)
    ax.spines["top"].set_visible(True)
    ax.grid(axis="x", color=INK, alpha=0.15, linewidth=0.6)
    ax.set_title(f"for {names[0]} \u2192", loc="right")
    ax.set_title(f"\u2190 for {names[1]}", loc="left")


def _draw(ax: Axes, y: float, line: Line, colours: Sequence[str]) -> None:
    """Draw a line with its marks, and a dotted one to the line on which a folded scale goes on."""
    ax.hlines(y, *line.ends, color=INK, linewidth=1)
    colour = np.where(line.points >= 0, *colours).tolist()
    ax.scatter(line.points, np.full(len(line.points), y), s=14, c=colour, zorder=3)
    if line.turn is not None:
        ax.vlines(line.turn, y, y + 1, color=INK, linewidth=1, linestyle=":")


def _label(ax: Axes, y: float, line: Line, boxes: list[Bbox]) -> None:
    """Write labels below their marks or above, those of most weight first, where there is room."""
    low, high = ax.get_xlim()
    for j in np.argsort(-line.weight, kind="stable"):
        at, label = line.points[j], shorten(line.labels[j], LEVEL)
        side = "left" if at < 0.8 * low else "right" if at > 0.8 * high else "center"
        for shift, edge in ((0.13, "top"), (-0.13, "bottom")):
            text = ax.text(at, y + shift, label, ha=side, va=edge, size="small")
            box = text.get_window_extent().padded(1)
            if not any(box.overlaps(other) for other in boxes):
                boxes.append(box)
                break
            text.remove()
