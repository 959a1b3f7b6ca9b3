"""A nomogram: a model on one page, from which a row's probability can be read by adding points.

The scale of a feature shows the log-odds that its values speak for one class against another. Where
these rise and fall along a number, its scale is a curve. Mozina et al. (2004), Nomograms for
visualization of naive Bayesian classifier.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from bayesnb.families.base import Array
from bayesnb.families.family import Family
from bayesnb.families.record import raised
from bayesnb.formatting import number, signed
from bayesnb.model.powers import LengthPower, of_blocks
from bayesnb.plots.column_data import EXPECTED_ROWS, ColumnData, select_columns
from bayesnb.plots.style import (
    COLOURS,
    INK,
    MOST_CLASSES,
    add_probabilities,
    check_fitted,
    check_most,
    choose_pair,
    get_figure,
    list_names,
    new_figure,
    short,
    styled,
)

SURE = 7.0  # log-odds at which the scale of probabilities ends
EDGE = 0.01  # of new cells lie beyond each end of a scale
GRID = 400
MAX_COUNT = 8  # up to which counts are marked one by one
SLIGHT = 0.06  # of a scale, by which a curve may rise and fall and be drawn straight


class Scale(NamedTuple):
    """Points and heights of a line and of marks on it, `(n, 2)`, the first to be labelled first."""

    line: Array
    marks: Array
    labels: Sequence[str]


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
    each of which counts as at its first occurrence. A number whose points rise and fall has a
    curve, on which the number rises upwards. Labels that would lie on each other are left out.

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
    _refuse_what_has_no_scales(model)
    labels = model.classes_.tolist()
    log_class = model.model_.posterior.log_class
    pair = choose_pair(labels, log_class, classes)
    names = [labels[c] for c in pair]
    if not np.isfinite(log_class[pair]).all():
        raise ValueError(f"one of the classes {names} is impossible: draw two others.")
    start = np.array([[np.subtract(*log_class[pair]), 0.0]])
    scales = [Scale(start, start, [signed(start[0, 0], 2)])]
    titles = ["class frequency"]
    features = _rank_features(model, pair)
    for _, b, places, power in features[:most]:
        data = select_columns(model, b, places)
        scales.append(_make_scale(data, pair, power))
        titles.append(short(data.name))
    if ax is None:
        height = 0.54 * len(scales)
        figure = new_figure(1.8 + height, 7.2)
        figure.suptitle("Nomogram", x=0.01, ha="left")
        ax = figure.subplots(2, 1, height_ratios=[height, 0.12])
    upper, lower = ax
    list_names(upper, titles)
    upper.xaxis.tick_top()
    upper.xaxis.set_label_position("top")
    upper.spines["bottom"].set_visible(False)
    upper.spines["top"].set_visible(True)
    upper.grid(axis="x", color=INK, alpha=0.15, linewidth=0.6)
    upper.set_title(f"for {short(names[0])} \u2192", loc="right")
    upper.set_title(f"\u2190 for {short(names[1])}", loc="left")
    few = f" of the {most} most influential of {len(features):,} features"
    upper.set_xlabel("points" + few * (most < len(features)))
    farthest = np.abs(np.concatenate([scale.line[:, 0] for scale in scales])).max() or 1.0
    upper.set_xlim(-1.1 * farthest, 1.1 * farthest)
    lower.set(xlim=(-SURE, SURE), yticks=[], xlabel="total points")
    add_probabilities(lower, names[0])
    get_figure(upper).draw_without_rendering()  # from here on, places on the figure are known
    _draw_scales(upper, scales, [COLOURS[c % MOST_CLASSES] for c in pair])
    return np.array([upper, lower])


def _refuse_what_has_no_scales(model: Any) -> None:
    """Raise where what a cell is worth depends on the rest of the row."""
    blocks = model.schema_.blocks
    reason = ""
    if any(block.repeats for block in blocks):
        reason = (
            "this model has links, a covariance or flags of missing cells, so that what a cell is "
            "worth is not said by its column alone; fit with dependence=None and missing='omit'"
        )
    elif any(isinstance(power, LengthPower) for power in of_blocks(model.fitted_.exponents, 1)):
        reason = (
            "what a word is worth falls with the length of its text, see temper_length_; fit with "
            "temper='loo'"
        )
    for block in model.schema_.columns_alone.blocks:
        if block.family.multivariate and block.family.continuous and len(block.names) > 1:
            columns = ", ".join(map(str, block.names))
            reason = f"{columns} are modelled jointly; declare a family for each of them"
    if reason:
        raise ValueError(
            f"a nomogram has a scale for each feature, and {reason}. Or draw rows: "
            "plot_waterfall(model.explain(X))."
        )


def _rank_features(model: Any, pair: list[int]) -> list[tuple[float, int, Sequence[int], float]]:
    """Return the influence of each feature, its block, places and exponent, the largest first.

    Influence is the mean difference of the points of rows of the two classes.
    """
    blocks = model.schema_.blocks
    beliefs = model.model_.posterior.blocks
    powers = of_blocks(model.fitted_.exponents, len(blocks))
    features: list[tuple[float, int, Sequence[int], float]] = []
    for b, (block, belief, power) in enumerate(zip(blocks, beliefs, powers, strict=True)):
        influence = power * _measure_influence(block.family, belief[pair])
        exponents = np.broadcast_to(power, influence.shape).tolist()
        pairs = zip(np.nan_to_num(influence).tolist(), exponents, strict=True)
        for j, (worth, exponent) in enumerate(pairs):
            places = range(len(block.names)) if block.family.combined else [j]
            features.append((worth, b, places, exponent))
    return sorted(features, key=itemgetter(0), reverse=True)


def _measure_influence(family: Family, pair: Any) -> Array:
    """Mean difference of the log-odds of rows of the two classes, by feature, `(f,)`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if family.has_levels or family.words:
            first, second = pair.mean()
            terms = np.nan_to_num((first - second) * (np.log(first) - np.log(second)))
            return terms[0] if family.words else pair.levels.sums(terms)
        columns = pair.margins()
        x = columns.predictive().ppf(EXPECTED_ROWS[:, None, None])
        means = [columns.log_predictive(x[:, [c]]).mean(axis=0) for c in range(2)]
        return np.subtract(*means[0]) - np.subtract(*means[1])


def _make_scale(data: ColumnData, pair: list[int], power: float) -> Scale:
    """Return the scale of a feature: marks for what can be listed, or a curve of numbers."""
    belief: Any = data.belief[pair]
    labels = data.levels
    x = np.arange(len(data.levels))
    if data.family.words:  # each occurrence adds about as much as the first
        labels = ("absent", "each time")
        x = np.arange(2)
    elif not labels:
        low = belief.quantile(EDGE).min()
        high = belief.quantile(1 - EDGE).max()
        x = np.linspace(low, max(high, np.nextafter(low, np.inf)), GRID)
        if data.family.picture == "mass" and high <= MAX_COUNT:
            x = np.arange(high + 1)
            labels = [number(float(n)) for n in x]
    with np.errstate(invalid="ignore"):
        if len(data.names) > 1:
            scores = belief.level_log_moment(1.0)[:, : len(labels)]
        else:
            scores = belief[:, None].log_predictive(x)
        points = np.subtract(*raised(power, scores))
    if data.family.words:
        points[0] = 0.0
    if labels:
        return _mark_levels(points, labels, np.exp(scores.max(axis=0)))
    ticks = np.asarray(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]).tick_values(x[0], x[-1]))
    ticks = ticks[(x[0] <= ticks) & (ticks <= x[-1])]
    heights = np.linspace(0.3, -0.3, GRID)
    if np.abs(np.diff(points)).sum() <= (1 + SLIGHT) * np.ptp(points):
        heights[:] = 0.0
    marks = np.column_stack([np.interp(ticks, x, values) for values in (points, heights)])
    return Scale(np.column_stack([points, heights]), marks, [number(tick, 4) for tick in ticks])


def _mark_levels(points: Array, labels: Sequence[str], weight: Array) -> Scale:
    """Return a straight scale with a mark for each level that is possible in both classes."""
    order = np.argsort(-weight, kind="stable")
    order = order[np.isfinite(points[order])]
    marks = np.column_stack([points[order], np.zeros(len(order))])
    return Scale(marks, marks, [labels[k] for k in order])


def _draw_scales(ax: Axes, scales: Sequence[Scale], colours: Sequence[str]) -> None:
    """Draw scales with their marks, and labels below or above these where there is room."""
    low, high = ax.get_xlim()
    boxes: list[Bbox] = []
    for y, scale in enumerate(scales):
        points, heights = scale.marks.T
        ax.plot(scale.line[:, 0], y + scale.line[:, 1], color=INK, linewidth=1)
        ax.scatter(
            points,
            y + heights,
            s=14,
            c=np.where(points >= 0, *colours).tolist(),
            zorder=3,
        )
        for (x, height), label in zip(scale.marks, scale.labels, strict=True):
            side = "left" if x < 0.8 * low else "right" if x > 0.8 * high else "center"
            for shift, edge in ((0.13, "top"), (-0.13, "bottom")):
                text = ax.text(
                    x,
                    y + height + shift,
                    short(label),
                    ha=side,
                    va=edge,
                    size="small",
                )
                box = text.get_window_extent().padded(1)
                if not any(box.overlaps(other) for other in boxes):
                    boxes.append(box)
                    break
                text.remove()
