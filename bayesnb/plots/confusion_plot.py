"""Confusion matrices: shares of the rows of each class that got each label, with intervals."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from bayesnb.criticism.calibration import calibration
from bayesnb.families.base import Array
from bayesnb.formatting import shorten
from bayesnb.plots.style import (
    COLOURS,
    INK,
    PERCENT,
    WIDTH,
    add_title,
    check_dataset,
    check_most,
    list_names,
    new_axes,
    result_of,
    styled,
)
from bayesnb.results.datasets import ci_prob as checked_prob
from bayesnb.selection.probability_scores import share_interval

NAME, LONG = 22, 14  # letters of a label; where columns' labels are turned
LETTER = 0.0088  # inches that a letter takes, of a font of 1 point
CELL = ((3, 0.95), (6, 0.74), (10, 0.5), (np.inf, 0.34))  # inches of a cell, for so many classes
WITH_ENDS = 6  # classes whose cells have room for an interval
BAR, PAIRS = 0.27, 20  # inches; mistakes that are drawn where classes are too many for a square
RIGHT, WRONG = COLOURS[0], COLOURS[1]


class Confusion(NamedTuple):
    """Labels, the weight of each true class that got each label, `(c, c)`, and the probability of intervals."""

    classes: list[str]
    counts: Array
    prob: float

    @property
    def share(self) -> Array:
        total = self.counts.sum(axis=1, keepdims=True)
        return np.divide(self.counts, total, out=np.zeros_like(self.counts), where=total > 0)

    @property
    def ends(self) -> tuple[Array, Array]:
        """Interval of each share under Beta(1/2, 1/2)."""
        rest = self.counts.sum(axis=1, keepdims=True) - self.counts
        return share_interval(self.counts, rest, self.prob)


@styled
def plot_confusion(
    labels: Any,
    predicted: Any = None,
    y: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    ci_prob: float | None = None,
    most: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw a confusion matrix: of the rows of each class, the share that got each label, with its interval.

    Parameters
    ----------
    labels : array-like, estimator or xarray.Dataset
        True labels; or a model, or the result of `bayesnb.calibration`: then the true label of each row is compared
        with its most probable label under a model that has not learnt the row.
    predicted : array-like or table of rows, optional
        Predicted labels, where `labels` are true ones; the rows that were learnt, where `labels` is a model.
    y : array-like, optional
        The labels of these rows, where `labels` is a model.
    classes : sequence of labels, optional
        Labels in the order in which they are drawn, by default all that occur, sorted.
    ci_prob : float, optional
        The probability of the intervals, by default ArviZ's `rcParams["stats.ci_prob"]`, or that of the result. Each
        is the interval of a share under Jeffreys' prior, Beta(1/2, 1/2).
    most : int, default 20
        The largest number of classes that is drawn as a square. If there are more, the most frequent errors are drawn
        as bars.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, by default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A row for each true class. Blue is correct, orange an error, and darker is more.

    See Also
    --------
    calibration : Whether the probabilities can be trusted.

    Examples
    --------
    >>> from bayesnb import plot_confusion
    >>> ax = plot_confusion(["cat", "cat", "cat", "dog", "dog"], ["cat", "cat", "dog", "dog", "dog"])
    >>> [text.get_text() for text in ax.texts][:2]
    ['67 %\\n25 to 93', '33 %\\n7 to 75']
    """
    check_most(most)
    if hasattr(labels, "predict_proba"):
        call = "calibration(model, X, y)"
        labels, predicted = (
            result_of(labels, partial(calibration, ci_prob=ci_prob), call, predicted, y),
            None,
        )
    confusion = (
        _of_dataset(labels)
        if predicted is None
        else _of_arrays(labels, predicted, classes, ci_prob)
    )
    return _square(confusion, ax) if len(confusion.classes) <= most else _bars(confusion, ax)


def _of_dataset(dataset: Any) -> Confusion:
    check_dataset(dataset, "top_predicted", "calibration(model, X, y)")
    names, proba = dataset["class"].values, np.asarray(dataset["probability"])
    answered = proba.max(axis=1) > 0
    best, labels, weight = (
        names[proba.argmax(axis=1)],
        dataset["label"].values,
        dataset["weight"].values,
    )
    counts = _counted(labels[answered], best[answered], names, weight[answered])
    return Confusion([str(name) for name in names], counts, float(dataset.attrs["ci_prob"]))


def _of_arrays(labels: Any, predicted: Any, classes: Any, prob: float | None) -> Confusion:
    labels, predicted = np.asarray(labels).ravel(), np.asarray(predicted).ravel()
    if len(labels) != len(predicted):
        raise ValueError(
            f"there are {len(labels)} labels and {len(predicted)} predictions: give one for each row."
        )
    if not len(labels):
        raise ValueError("there are no rows, so there is nothing to compare.")
    occurring = np.concatenate([labels, predicted])
    names = np.unique(occurring) if classes is None else np.asarray(classes)
    unknown = ~np.isin(occurring, names)
    if unknown.any():
        raise ValueError(
            f"{occurring[unknown].tolist()[0]!r} is a label, and not among classes={names.tolist()}."
        )
    counts = _counted(labels, predicted, names, np.ones(len(labels)))
    return Confusion([str(name) for name in names], counts, checked_prob(prob))


def _counted(labels: Array, predicted: Array, names: Array, weight: Array) -> Array:
    place = {name: k for k, name in enumerate(names.tolist())}
    counts = np.zeros((len(names), len(names)))
    codes = [
        np.array([place[label] for label in part.tolist()], int) for part in (labels, predicted)
    ]
    np.add.at(counts, tuple(codes), weight)
    return counts


def _square(confusion: Confusion, ax: Axes | None) -> Axes:
    """Draw a cell for each pair of classes."""
    n = len(confusion.classes)
    side = next(inches for classes, inches in CELL if n <= classes)
    size = 10.5 if n <= WITH_ENDS else min(9.0, 72 * side * 0.3)
    totals = confusion.counts.sum(axis=1)
    rows = [
        f"{shorten(name, NAME)} ({total:,.6g})"
        for name, total in zip(confusion.classes, totals, strict=True)
    ]
    upright = n <= WITH_ENDS and max(map(len, confusion.classes)) * LETTER * size < side
    columns = [shorten(name, NAME if upright else LONG) for name in confusion.classes]
    if ax is None:
        room = (
            LETTER * size * max(map(len, rows)),
            0.35 if upright else LETTER * size * max(map(len, columns)),
        )
        ax = new_axes(
            n * side + room[1] + 1.05, max(n * side + room[0] + 0.75, WIDTH), "compressed"
        )
        ax.set_anchor("W")
    _cells(ax, confusion, size)
    ax.set_xticks(range(n), columns, rotation=0 if upright else 90, fontsize=size)
    ax.set_yticks(range(n), rows, fontsize=size)
    ax.set(
        xlim=(-0.5, n - 0.5),
        ylim=(n - 0.5, -0.5),
        xlabel="predicted",
        ylabel="observed (rows)",
        aspect="equal",
    )
    ax.xaxis.set_ticks_position("top")
    ax.xaxis.set_label_position("top")
    ax.xaxis.labelpad = 8
    ax.tick_params(length=0)
    add_title(ax, "Confusion matrix")
    ax.spines[:].set_visible(False)
    return ax


def _cells(ax: Axes, confusion: Confusion, size: float) -> None:
    """Draw shares as shades and as numbers; nothing where there is no row."""
    share, (low, high) = confusion.share, confusion.ends
    for i, j in np.ndindex(share.shape):
        count = confusion.counts[i, j]
        look: Any = {"facecolor": RIGHT if i == j else WRONG, "alpha": 0.06 + 0.54 * share[i, j]}
        look = look if count else {"facecolor": INK, "alpha": 0.04}
        ax.add_patch(Rectangle((j - 0.47, i - 0.47), 0.94, 0.94, linewidth=0, **look))
        if count:
            shown = _percent(float(share[i, j]))
            if len(share) <= WITH_ENDS:
                shown += f" %\n{_percent(float(low[i, j]))} to {_percent(float(high[i, j]))}"
            ax.text(j, i, shown, ha="center", va="center", fontsize=size * 0.9, linespacing=1.3)


def _percent(share: float) -> str:
    """Format as a whole number; what is not certain never reads as 0 or 100."""
    if 0 < share < 0.005:
        return "<1"
    return ">99" if 0.995 <= share < 1 else f"{100 * share:.0f}"


def _bars(confusion: Confusion, ax: Axes | None) -> Axes:
    """Draw the commonest mistakes, as shares of the true class."""
    wrong = confusion.counts - np.diag(np.diag(confusion.counts))
    most = np.argsort(-wrong, axis=None, kind="stable")[:PAIRS]
    i, j = np.unravel_index(most[wrong.ravel()[most] > 0], wrong.shape)
    low, high = (end[i, j] for end in confusion.ends)
    ax = ax or new_axes(1.3 + BAR * max(len(i), 1), 7.2)
    add_title(ax, "Most frequent errors")
    ax.barh(range(len(i)), confusion.share[i, j], 0.7, color=WRONG, alpha=0.85, linewidth=0)
    ax.hlines(range(len(i)), low, high, color=INK, linewidth=1.2)
    names = [shorten(name, NAME) for name in confusion.classes]
    list_names(ax, [f"{names[a]} \u2192 {names[b]}" for a, b in zip(i, j, strict=True)])
    ax.set_xlim(0, min(1.0, 1.04 * high.max()) if len(i) else 1.0)
    ax.xaxis.set_major_formatter(PERCENT)
    ax.set_xlabel("share of the observed class" if len(i) else "no errors")
    return ax
