"""Which labels are taken for which, and what a threshold of the probability gives up for what.

Confusion matrices have the shares of the rows of each class that got each label, with intervals.
Of two classes there are the ROC curve, precision against recall, and both against the threshold.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from bayesnb.criticism.calibration import calibration
from bayesnb.families.base import Array
from bayesnb.plots.style import (
    COLOURS,
    INK,
    PERCENT,
    check_most,
    class_line,
    get_result,
    list_names,
    mark_shares,
    new_axes,
    short,
    styled,
)
from bayesnb.results.datasets import ci_prob as checked_prob
from bayesnb.selection.probability_scores import share_interval
from bayesnb.selection.ranking_curves import RankingCurves

MAX_LETTERS_UPRIGHT = 10  # of a label above its column
MAX_CLASSES_WITH_INTERVALS = 6
CELL, SMALL_CELL = 0.85, 0.36  # inches
MARGIN = 2.4  # inches for names and labels
MAX_ERRORS = 20  # that are drawn where there are more than `most` classes
CORRECT, ERROR = COLOURS[:2]
CHANCE: Any = {"linewidth": 0.7, "dashes": (4, 3)}


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
    """Draw a confusion matrix: shares of the rows of each class that got each label.

    Parameters
    ----------
    labels : array-like, estimator or xarray.Dataset
        True labels; or a model, or the result of `bayesnb.calibration`: then the true label of each
        row is compared with its most probable label under a model that has not learnt the row.
    predicted : array-like or table of rows, optional
        Predicted labels, where `labels` are true ones; the rows that were learnt, where `labels` is
        a model.
    y : array-like, optional
        The labels of these rows, where `labels` is a model.
    classes : sequence of labels, optional
        Labels in the order in which they are drawn, by default all that occur, sorted.
    ci_prob : float, optional
        The probability of the intervals, by default ArviZ's `rcParams["stats.ci_prob"]`, or that of
        the result. Each is the interval of a share under Jeffreys' prior, Beta(1/2, 1/2).
    most : int, default 20
        The largest number of classes that is drawn as a square. If there are more, the most
        frequent errors are drawn as bars.
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
    >>> ax = plot_confusion(list("aaabb"), list("aabbb"))
    >>> [text.get_text() for text in ax.texts][:2]
    ['67 %\\n25 to 93', '33 %\\n7 to 75']
    """
    check_most(most)
    weight: Any = 1
    if predicted is None or hasattr(labels, "predict_proba"):
        make = partial(calibration, ci_prob=ci_prob)
        call = "calibration(model, X, y)"
        dataset = get_result(labels, "top_predicted", make, call, predicted, y)
        ci_prob = dataset.attrs["ci_prob"]
        classes = dataset["class"].values
        possible = dataset.isel(obs_id=dataset["probability"].max("class").values > 0)
        labels = possible["label"].values
        weight = possible["weight"].values
        predicted = classes[possible["probability"].argmax("class").values]
    names, counts = _count(np.ravel(labels), np.ravel(predicted), classes, weight)
    totals = counts.sum(axis=1, keepdims=True)
    low, high = share_interval(counts, totals - counts, checked_prob(ci_prob))
    shares = np.stack([counts / np.maximum(totals, 1e-300), low, high])
    draw = _draw_square if len(names) <= most else _draw_errors
    return draw([short(name) for name in names], counts, shares, ax)


def _count(labels: Array, predicted: Array, classes: Any, weight: Any) -> tuple[Array, Array]:
    """Return the classes, and the weight of the rows of each that got each label, `(c, c)`."""
    if len(labels) != len(predicted):
        raise ValueError(
            f"there are {len(labels)} labels and {len(predicted)} predictions: "
            "give one for each row."
        )
    if not len(labels):
        raise ValueError("there are no rows, so there is nothing to compare.")
    occurring = np.concatenate([labels, predicted])
    names = np.unique(occurring) if classes is None else np.asarray(classes)
    is_name = occurring[:, None] == names
    unknown = occurring[~is_name.any(axis=1)].tolist()
    if unknown:
        raise ValueError(f"{unknown[0]!r} is a label, and not among classes={names.tolist()}.")
    counts = np.zeros((len(names), len(names)))
    np.add.at(counts, tuple(is_name.argmax(axis=1).reshape(2, -1)), weight)
    return names, counts


def _draw_square(names: Sequence[str], counts: Array, shares: Array, ax: Axes | None) -> Axes:
    """Draw a cell for each pair of classes, shaded by its share; empty where there is no row."""
    n = len(names)
    with_intervals = n <= MAX_CLASSES_WITH_INTERVALS
    side = MARGIN + n * (CELL if with_intervals else SMALL_CELL)
    size = "medium" if with_intervals else "small"
    axes = ax or new_axes(side, side)
    colours = np.full((n, n, 4), to_rgba(ERROR))
    colours[np.eye(n, dtype=bool)] = to_rgba(CORRECT)
    colours[..., 3] = np.where(counts > 0, 0.06 + 0.54 * shares[0], 0)
    edges = np.arange(n + 1) - 0.5
    axes.pcolormesh(
        edges,
        edges,
        colours,
        edgecolor=(INK, 0.1),
        linewidth=0.5,
    )
    for i, j in np.argwhere(counts > 0):
        text, low, high = map(_format_percent, shares[:, i, j])
        if with_intervals:
            text += f" %\n{low} to {high}"
        axes.text(
            j,
            i,
            text,
            ha="center",
            va="center",
            fontsize=size,
        )
    upright = with_intervals and max(map(len, names)) <= MAX_LETTERS_UPRIGHT
    axes.set_xticks(range(n), names, fontsize=size, rotation=0 if upright else 90)
    totals = [f"{name} ({total:,.6g})" for name, total in zip(names, counts.sum(1), strict=True)]
    axes.set_yticks(range(n), totals, fontsize=size)
    axes.invert_yaxis()
    axes.set(title="Confusion matrix", xlabel="predicted", ylabel="observed (rows)")
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return axes


def _format_percent(share: float) -> str:
    """Format as a whole number; what is not certain never reads as 0 or 100."""
    if 0 < share < 0.005:
        return "<1"
    return ">99" if 0.995 <= share < 1 else f"{100 * share:.0f}"


def _draw_errors(names: Sequence[str], counts: Array, shares: Array, ax: Axes | None) -> Axes:
    """Draw the most frequent errors, as shares of the true class."""
    errors = counts * (1 - np.eye(len(names)))
    order = np.argsort(-errors, axis=None, kind="stable")[:MAX_ERRORS]
    i, j = np.unravel_index(order[errors.ravel()[order] > 0], errors.shape)
    share, low, high = shares[:, i, j]
    pairs = zip(i, j, strict=True)
    axes = list_names(ax, [f"{names[true]} \u2192 {names[given]}" for true, given in pairs])
    axes.barh(
        range(len(i)),
        share,
        0.7,
        color=ERROR,
        alpha=0.85,
    )
    axes.hlines(range(len(i)), low, high, color=INK)
    axes.set(
        title="Most frequent errors",
        xlabel="share of the observed class" if len(i) else "no errors",
        xlim=(0, min(1.04 * high.max(initial=0), 1) or 1),
    )
    axes.xaxis.set_major_formatter(PERCENT)
    return axes


@styled
def plot_roc(curves: RankingCurves) -> Axes:
    """Draw recall against the share of false alarms; the diagonal is a random order."""
    ax = _new_share_axes("false alarms, of the negative rows", "recall")
    ax.plot([0, 1], [0, 1], color=INK, **CHANCE)
    ax.plot(np.append(0, curves.false_alarms), np.append(0, curves.recall), color=COLOURS[0])
    ax.set_title(f"ROC curve, area {curves.area:.3f}")
    return ax


@styled
def plot_precision_recall(curves: RankingCurves) -> Axes:
    """Draw precision against recall; the dashed line is a random order."""
    ax = _new_share_axes("recall", "precision")
    ax.axhline(curves.total / curves.rows, **CHANCE)
    ax.plot(curves.recall, curves.precision, color=COLOURS[0], drawstyle="steps-pre")
    ax.set_title(f"Average precision {curves.average_precision:.3f}")
    return ax


@styled
def plot_thresholds(curves: RankingCurves) -> Axes:
    """Draw recall and precision against the threshold of the probability."""
    ax = _new_share_axes("threshold", "share of rows")
    shares = {"recall": curves.recall, "precision": curves.precision}
    for k, (name, share) in enumerate(shares.items()):
        ax.plot(
            curves.threshold,
            share,
            drawstyle="steps-post",
            label=name,
            **class_line(k),
        )
    ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=2,
        frameon=False,
    )
    return ax


def _new_share_axes(xlabel: str, ylabel: str) -> Axes:
    ax = new_axes(2.9, 3.65)  # a page shows as many side by side as it has room for
    ax.set(
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        xlabel=xlabel,
        ylabel=ylabel,
    )
    mark_shares(ax)
    return ax
