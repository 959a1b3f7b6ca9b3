"""A model on one page: read off the points of a row's values, add them up, and find the probability."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from bayesnb.plots.nomogram_scales import Line, Scale, Scales, scales_of
from bayesnb.plots.odds import add_probabilities, signed
from bayesnb.plots.style import COLOURS, INK, MOST_CLASSES, new_figure, short, styled

Array = np.ndarray

WIDE, ROW = 7.2, 0.44  # inches
NAME, LEVEL = 28, 18  # letters
SMALL = 8.5
GAP = 6.0  # points between labels
SURE = 7.0  # log-odds at which the scale of probabilities ends


@styled
def plot_nomogram(
    model: Any, classes: Sequence[Any] | None = None, *, most: int = 12, ax: Sequence[Axes] | None = None
) -> Array:
    """Draw a model as scales from which its prediction can be read by hand, for one class against another.

    Every feature has a scale on which its values lie at their points, their log predictive ratio; a missing value
    has none. The points of a row's values and of the frequency of the classes, added, are log-odds: the last scale
    turns them into a probability, exactly, but for words of a text, each of which counts as at its first occurrence.
    A number whose points rise and fall has a scale of several lines, one after another.

    Parameters
    ----------
    model : fitted estimator
    classes : two labels, default the two most probable classes
    most : how many features are drawn, those by which rows of the two classes differ most on average
    ax : two Axes, default new ones in a figure of their own
        For the features, and below it for the total.

    Returns
    -------
    numpy.ndarray of two matplotlib.axes.Axes

    Examples
    --------
    >>> from bayesnb import NaiveBayes, plot_nomogram
    >>> from bayesnb.datasets import penguins
    >>> table = penguins().drop(columns="year")
    >>> model = NaiveBayes().fit(table.drop(columns="species"), table["species"])
    >>> upper, lower = plot_nomogram(model, ("Adelie", "Chinstrap"))
    >>> upper.get_figure().savefig("model.png")  # doctest: +SKIP
    """
    found = scales_of(model, classes, most)
    start = Line(np.array([found.start]), [signed(found.start)], (found.start, found.start), np.ones(1))
    scales = [Scale("class frequency", [start]), *found.scales]
    upper, lower = _new_axes(sum(len(scale.lines) for scale in scales)) if ax is None else ax
    _frame(upper, scales, found)
    _total(lower, found.named[0])
    upper.get_figure(root=True).draw_without_rendering()  # type: ignore[union-attr]  # the layout says how wide it is
    y = 0
    for scale in scales:
        for k, line in enumerate(scale.lines):
            _draw(upper, y + k, line, [COLOURS[c % MOST_CLASSES] for c in found.places])
        y += len(scale.lines)
    return np.array([upper, lower])


def _new_axes(rows: int) -> Array:
    figure = new_figure(1.5 + ROW * rows, WIDE)
    return figure.subplots(2, 1, height_ratios=[ROW * rows, 0.12])


def _frame(ax: Axes, scales: Sequence[Scale], found: Scales) -> None:
    """The names of the scales at their first lines, and the points above."""
    starts = np.cumsum([0, *(len(scale.lines) for scale in scales)])
    far = max(max(map(abs, line.ends)) for scale in scales for line in scale.lines)
    far = far or 1.0
    ax.set_xlim(-1.04 * far, 1.04 * far)
    ax.set_ylim(starts[-1] - 0.3, -0.4)
    ax.set_yticks(starts[:-1].tolist(), [short(scale.name, NAME) for scale in scales])
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.spines[["bottom", "left"]].set_visible(False)
    ax.spines["top"].set_visible(True)
    ax.grid(axis="x", color=INK, alpha=0.15, linewidth=0.6)
    for name, side, said in zip(found.named, ("right", "left"), ("for {} \u2192", "\u2190 for {}"), strict=True):
        ax.set_title(said.format(short(name, LEVEL)), loc=side, fontsize="medium")  # type: ignore[arg-type]
    few = len(found.scales) < found.features
    ax.set_xlabel("points" + f" of the {len(found.scales)} most influential of {found.features:,} features" * few)


def _draw(ax: Axes, y: float, line: Line, colours: Sequence[str]) -> None:
    """A line with its marks, and below it those labels that there is room for, on their side of where it turns."""
    ax.hlines(y, *line.ends, color=INK, linewidth=1)
    colour = np.where(line.points >= 0, *colours).tolist()
    ax.scatter(line.points, np.full(len(line.points), y), s=14, c=colour, zorder=3)
    low, high = ax.get_xlim()
    gap = GAP * (high - low) / (ax.get_window_extent().width * 72 / ax.get_figure(root=True).dpi)  # type: ignore[union-attr]
    if line.turn is not None:
        ax.vlines(line.turn, y, y + 1, color=INK, linewidth=1, linestyle=":")
        low, high = (low, line.turn - gap / 2) if line.turn == line.ends[1] else (line.turn + gap / 2, high)
    labels = [short(label, LEVEL) for label in line.labels]
    widths = np.array([_width(label) for label in labels]) * gap / GAP
    shown = fitting(widths + gap, line.weight, high - low)
    shown = shown[np.argsort(line.points[shown], kind="stable")]
    places = spread(line.points[shown], widths[shown], (low, high), gap)
    for j, at in zip(shown, places, strict=True):
        ax.plot([line.points[j], at], [y, y + 0.24], color=INK, linewidth=0.5, alpha=0.6)
        ax.text(at, y + 0.26, labels[j], ha="center", va="top", fontsize=SMALL)


def _width(text: str) -> float:
    """In points."""
    return text_to_path.get_text_width_height_descent(text, FontProperties(size=SMALL), ismath=False)[0]


def fitting(widths: Array, weight: Array, room: float) -> Array:
    """The labels of most weight that fit side by side, in their own order."""
    best = np.argsort(-weight, kind="stable")
    return np.sort(best[np.cumsum(widths[best]) <= room])


def spread(at: Array, widths: Array, limits: tuple[float, float], gap: float) -> Array:
    """Places near where sorted labels belong, so that none overlaps another or a limit; all are `(n,)`."""
    if not len(at):
        return at
    offset = np.concatenate([[0], np.cumsum((widths[:-1] + widths[1:]) / 2 + gap)])
    right = np.maximum.accumulate(at - offset)
    left = np.minimum.accumulate((at - offset)[::-1])[::-1]
    place = (left + right) / 2
    place = np.minimum(place, limits[1] - widths[-1] / 2 - offset[-1])
    return np.maximum(place, limits[0] + widths[0] / 2) + offset


def _total(ax: Axes, named: str) -> None:
    """The scale that turns the sum of all points into a probability."""
    ax.set_xlim(-SURE, SURE)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("total points")
    add_probabilities(ax, named)
