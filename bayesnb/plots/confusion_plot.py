"""Confusion matrices: shares of the rows of each class that got each label, with intervals."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from bayesnb.criticism.calibration import calibration
from bayesnb.families.base import Array
from bayesnb.formatting import shorten
from bayesnb.plots.style import (
    COLOURS,
    INK,
    PERCENT,
    check_dataset,
    check_most,
    list_names,
    new_axes,
    result_of,
    styled,
)
from bayesnb.results.datasets import ci_prob as checked_prob
from bayesnb.selection.probability_scores import share_interval

MAX_LETTERS = 20  # of a label
MAX_LETTERS_UPRIGHT = 10  # of a label above its column
MAX_CLASSES_WITH_INTERVALS = 6
CELL, SMALL_CELL, BAR = 0.85, 0.36, 0.27  # inches
MARGIN = 2.4  # inches for names and labels
MAX_ERRORS = 20  # that are drawn where there are more than `most` classes
CORRECT, ERROR = COLOURS[:2]


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
    if hasattr(labels, "predict_proba"):
        score = partial(calibration, ci_prob=ci_prob)
        labels = result_of(labels, score, "calibration(model, X, y)", predicted, y)
        predicted = None
    weight: Any = 1
    if predicted is None:
        check_dataset(labels, "top_predicted", "calibration(model, X, y)")
        ci_prob, classes = labels.attrs["ci_prob"], labels["class"].values
        possible = labels.isel(obs_id=labels["probability"].max("class").values > 0)
        predicted = classes[possible["probability"].argmax("class").values]
        labels, weight = possible["label"].values, possible["weight"].values
    names, counts = _count(labels, predicted, classes, weight)
    draw = _draw_square if len(names) <= most else _draw_errors
    return draw([shorten(name, MAX_LETTERS) for name in names], counts, checked_prob(ci_prob), ax)


def _count(labels: Any, predicted: Any, classes: Any, weight: Any) -> tuple[Array, Array]:
    """Return the classes, and the weight of the rows of each that got each label, `(c, c)`."""
    labels, predicted = np.ravel(labels), np.ravel(predicted)
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


def _find_shares(counts: Array, prob: float) -> tuple[Array, Array, Array]:
    """Return the share of each label in the rows of a class, and its interval, `(c, c)`."""
    totals = counts.sum(axis=1, keepdims=True)
    low, high = share_interval(counts, totals - counts, prob)
    return counts / np.maximum(totals, 1e-300), low, high


def _draw_square(names: Sequence[str], counts: Array, prob: float, ax: Axes | None) -> Axes:
    """Draw a cell for each pair of classes, shaded by its share; empty where there is no row."""
    n = len(names)
    with_intervals = n <= MAX_CLASSES_WITH_INTERVALS
    side = MARGIN + n * (CELL if with_intervals else SMALL_CELL)
    size = "medium" if with_intervals else "small"
    axes = ax or new_axes(side, side)
    share, low, high = _find_shares(counts, prob)
    colours = np.full((n, n, 4), to_rgba(ERROR))
    colours[np.eye(n, dtype=bool)] = to_rgba(CORRECT)
    colours[..., 3] = np.where(counts > 0, 0.06 + 0.54 * share, 0)
    edges = np.arange(n + 1) - 0.5
    axes.pcolormesh(
        edges,
        edges,
        colours,
        edgecolor=(INK, 0.1),
        linewidth=0.5,
    )
    for i, j in np.argwhere(counts > 0):
        text = _format_percent(share[i, j])
        if with_intervals:
            text += f" %\n{_format_percent(low[i, j])} to {_format_percent(high[i, j])}"
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


def _draw_errors(names: Sequence[str], counts: Array, prob: float, ax: Axes | None) -> Axes:
    """Draw the most frequent errors, as shares of the true class."""
    errors = counts * (1 - np.eye(len(names)))
    order = np.argsort(-errors, axis=None, kind="stable")[:MAX_ERRORS]
    i, j = np.unravel_index(order[errors.ravel()[order] > 0], errors.shape)
    share, low, high = (values[i, j] for values in _find_shares(counts, prob))
    axes = ax or new_axes(1.3 + BAR * max(len(i), 1), 7.2)
    axes.barh(
        range(len(i)),
        share,
        0.7,
        color=ERROR,
        alpha=0.85,
    )
    axes.hlines(
        range(len(i)),
        low,
        high,
        color=INK,
        linewidth=1.2,
    )
    list_names(axes, [f"{names[a]} \u2192 {names[b]}" for a, b in zip(i, j, strict=True)])
    axes.set(title="Most frequent errors", xlim=(0, min(1.04 * high.max(initial=0), 1) or 1))
    axes.xaxis.set_major_formatter(PERCENT)
    axes.set_xlabel("share of the observed class" if len(i) else "no errors")
    return axes
