"""How well a model predicts: reliability diagrams, confusion, thresholds, and smoothing settings.

Reliability diagrams show observed shares against predicted probabilities, above a histogram of the
predictions. Confusion matrices show how the rows of each class were labelled, with intervals. For
two classes there are the ROC curve, precision against recall, and both against the threshold.
Scores of smoothing settings are on a log axis that includes 0.
"""

from collections.abc import Sequence
from functools import partial
from math import floor, log10
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from bayesnb.criticism.calibration import calibration
from bayesnb.families.base import Array
from bayesnb.formatting import MINUS
from bayesnb.plots.style import (
    COLOURS,
    INK,
    MAX_LETTERS_OF_TWO,
    PERCENT,
    add_legend,
    check_most,
    class_line,
    find_classes,
    format_tick,
    get_result,
    list_names,
    mark_shares,
    new_axes,
    new_figure,
    new_panels,
    short,
    styled,
)
from bayesnb.results.datasets import ci_prob as checked_prob
from bayesnb.selection.probability_scores import RankingCurves, share_interval

MAX_COLUMNS = 4
CURVE = ["probability", "calibrated", "curve_band_lower", "curve_band_upper"]
BINS = ["predicted", "observed", "lower", "upper"]
BARS = np.linspace(0, 1, 21).tolist()
MAX_LETTERS_UPRIGHT = 10  # of a label above its column
MAX_CLASSES_WITH_INTERVALS = 6
CELL, SMALL_CELL = 0.85, 0.36  # inches
MARGIN = 2.4  # inches for names and labels
MAX_ERRORS = 20  # drawn if there are more than `most` classes
CORRECT, ERROR = COLOURS[:2]
CHANCE: Any = {"linewidth": 0.7, "dashes": (4, 3)}
MARKERS = {"predictive": "o", "mean": "s", "map": "^", "mle": "D"}  # of each estimate
MAX_LINEAR = 30.0  # nats, beyond which an axis of differences is logarithmic


# Calibration


@styled
def plot_calibration(
    result: Any,
    X: Any = None,
    y: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    by: str = "class",
    most: int = 12,
    ax: Axes | None = None,
) -> Axes | Array:
    """Draw observed shares of a label against its predicted probabilities.

    If predictions are calibrated, points and curve leave the diagonal only by chance, which the
    grey band shows. Below the diagonal, labels occurred less often than predicted.

    Parameters
    ----------
    result : estimator or xarray.Dataset
        A model together with `X` and `y`, or the result of `bayesnb.calibration`. Predictions are
        held out: each row is predicted by a model fitted without it.
    X : table of rows, optional
        The training rows, if `result` is a model; a model that is not fitted is fitted to them
        first.
    y : array-like, optional
        Their labels.
    classes : sequence of labels, optional
        Draw one panel for each, against all others. By default all classes; of two, the second.
    by : {"class", "predicted"}, default "class"
        "predicted" draws one panel, for the most probable label of each row.
    most : int, default 12
        The largest number of panels. Of more classes, the most frequent are drawn, and the figure
        says so.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, for one panel. By default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes, or an array of them where there are several panels
        The line is the isotonic curve, and the points are the bins with their intervals. Bars below
        count rows.

    See Also
    --------
    calibration : The numbers behind the plot.
    plot_confusion : Which labels are mistaken for which.

    Examples
    --------
    >>> from bayesnb import GaussianNB, plot_calibration
    >>> from sklearn.datasets import load_iris
    >>> x, y = load_iris(return_X_y=True)
    >>> axes = plot_calibration(GaussianNB(), x, y)
    >>> [ax.get_title(loc="left") for ax in axes]
    ['0', '1', '2']
    >>> axes[0].get_figure().savefig("calibration.png")  # doctest: +SKIP
    """
    call = "calibration(model, X, y)"
    dataset = get_result(result, "top_predicted", calibration, call, X, y)
    check_most(most)
    if by not in ("class", "predicted"):
        raise ValueError(f"by must be 'class' or 'predicted', got {by!r}.")
    if by == "predicted":
        parts = [_select_predicted(dataset)]
        asked = 1
    else:
        parts, asked = _select_classes(dataset, classes, most)
    count = len(parts)
    if ax is not None and count > 1:
        raise ValueError(
            f"{count} panels do not fit into one ax. Name one class, "
            f"classes=[{dataset['class'].values[0]!r}], or draw the predicted label, "
            "by='predicted'."
        )
    side = 2.1 if count > 1 else 3.4
    panels = [ax] if ax is not None else new_panels(count, MAX_COLUMNS, 1.5 * side, 1.15 * side)
    for k, (panel, (title, part)) in enumerate(zip(panels, parts, strict=True)):
        panel.set(title=title, xlabel="predicted")
        _draw_diagram(panel, part)
        rows = _draw_histogram(panel, part)
        if k % MAX_COLUMNS == 0:
            panel.set_ylabel("observed share", loc="top")
            rows.set_ylabel("rows")
    if ax is None:
        legend_title = f"the {count} most frequent of {asked} classes" if count < asked else None
        add_legend(panels[0], outside=True, title=legend_title)
    return np.array(panels) if count > 1 else panels[0]


def _select_predicted(dataset: Any) -> tuple[str, Any]:
    """Return a title, and the result of the predicted label, with the variable names of a class."""
    names = {name: name.removeprefix("top_") for name in dataset if name.startswith("top_")}
    ece, low, high = (float(dataset[name]) for name in ("ece", "ece_lower", "ece_upper"))
    title = f"predicted, ece {ece:.3f} ({low:.3f} to {high:.3f})"
    return title, dataset[[*names, "weight"]].rename(names)


def _select_classes(dataset: Any, classes: Any, most: int) -> tuple[list[tuple[str, Any]], int]:
    """Return a title and the result of each class to draw, and how many classes were asked for."""
    labels = dataset["class"].values.tolist()
    if classes is None:
        classes = labels[1:] if len(labels) == 2 else labels  # of two, one is enough
    chosen = dataset.isel({"class": find_classes(labels, classes)})
    rows = ((chosen["label"] == chosen["class"]) * chosen["weight"]).sum("obs_id")
    frequent = np.argsort(-rows.values, kind="stable")[:most]
    parts = [chosen.isel({"class": k}) for k in sorted(frequent)]
    return [(short(part["class"].item(), MAX_LETTERS_OF_TWO), part) for part in parts], len(rows)


def _draw_diagram(ax: Axes, part: Any) -> None:
    """Draw the isotonic curve with its band, and the bins."""
    prob = f"{100 * part.attrs['ci_prob']:g} %"
    curve = part[CURVE].to_dataframe()[CURVE].sort_values("probability")
    changes = curve[CURVE[1:]].diff().ne(0).any(axis=1)
    curve = curve[changes | changes.shift(-1, fill_value=True)]  # only the ends of flat parts
    p, share, low, high = curve.to_numpy().T
    ax.plot([0, 1], [0, 1], "--", color=INK, linewidth=0.7)
    ax.plot(
        p,
        share,
        color=COLOURS[0],
        label="isotonic curve",
    )
    ax.fill_between(
        p,
        low,
        high,
        color=INK,
        alpha=0.13,
        linewidth=0,
        label=f"{prob} of curves, if calibrated",
    )
    predicted, observed, low, high = part[BINS].to_dataframe()[BINS].dropna().to_numpy().T
    ax.plot(
        predicted,
        observed,
        "o",
        color=COLOURS[1],
        markersize=4.5,
        label=f"bins with equal counts, {prob} intervals",
    )
    ax.vlines(predicted, low, high, color=COLOURS[1])
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.4, 1.03), box_aspect=1.35)
    mark_shares(ax)


def _draw_histogram(ax: Axes, part: Any) -> Axes:
    """Draw a histogram of the probabilities below the diagram, and return its axes."""
    rows = ax.inset_axes((0, 0, 1, 0.19), sharex=ax)
    weight = part["weight"].values
    rows.hist(
        part["probability"],
        BARS,
        weights=weight,
        color=INK,
        alpha=0.55,
        log=True,
    )
    total = max(weight.sum(), 10)
    rows.set(ylim=(0.5, total), yticks=(1, 10 ** floor(log10(total))))
    rows.yaxis.set_major_formatter("{x:,.0f}")
    rows.minorticks_off()
    rows.tick_params(bottom=False, labelbottom=False)
    return rows


# Confusion and thresholds


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
    """Draw a confusion matrix: the shares of the rows of each class that were given each label.

    Parameters
    ----------
    labels : array-like, estimator or xarray.Dataset
        True labels; or a model, or the result of `bayesnb.calibration`: then the true label of each
        row is compared with its most probable label under a model fitted without the row.
    predicted : array-like or table of rows, optional
        Predicted labels, if `labels` are true labels; the training rows, if `labels` is a model.
    y : array-like, optional
        The labels of these rows, if `labels` is a model.
    classes : sequence of labels, optional
        Labels in the order to draw them, by default all that occur, sorted.
    ci_prob : float, optional
        The probability of the intervals, by default ArviZ's `rcParams["stats.ci_prob"]`, or that of
        the result. They are intervals of shares under Jeffreys' prior, Beta(1/2, 1/2).
    most : int, default 20
        The largest number of classes of a matrix. If there are more, the most frequent errors are
        drawn as bars.
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
    """Return the classes, and the weight of the rows of each given each label, `(c, c)`."""
    if len(labels) != len(predicted):
        raise ValueError(
            f"there are {len(labels)} labels and {len(predicted)} predictions: "
            "give one for each row."
        )
    if not len(labels):
        raise ValueError("there are no rows to compare.")
    occurring = np.concatenate([labels, predicted])
    names = np.unique(occurring) if classes is None else np.asarray(classes)
    is_name = occurring[:, None] == names
    unknown = occurring[~is_name.any(axis=1)].tolist()
    if unknown:
        raise ValueError(f"label {unknown[0]!r} is not among classes={names.tolist()}.")
    counts = np.zeros((len(names), len(names)))
    np.add.at(counts, tuple(is_name.argmax(axis=1).reshape(2, -1)), weight)
    return names, counts


def _draw_square(names: Sequence[str], counts: Array, shares: Array, ax: Axes | None) -> Axes:
    """Draw a cell for each pair of classes, shaded by its share; empty if there is no row."""
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
    """Format in whole percent; only 0 and 1 read as 0 and 100."""
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
    """Draw recall against the false positive rate; the diagonal is a random ranking."""
    ax = _new_share_axes("false positive rate", "recall")
    ax.plot([0, 1], [0, 1], color=INK, **CHANCE)
    ax.plot(np.append(0, curves.false_alarms), np.append(0, curves.recall), color=COLOURS[0])
    ax.set_title(f"ROC curve, area {curves.area:.3f}")
    return ax


@styled
def plot_precision_recall(curves: RankingCurves) -> Axes:
    """Draw precision against recall; the dashed line is a random ranking."""
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
    )
    return ax


def _new_share_axes(xlabel: str, ylabel: str) -> Axes:
    ax = new_axes(2.9, 3.65)  # a page shows as many side by side as fit
    ax.set(
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        xlabel=xlabel,
        ylabel=ylabel,
    )
    mark_shares(ax)
    return ax


# Smoothing settings


@styled
def plot_smoothing(table: Any, axes: Any = None) -> Array:
    """Draw three panels, with a line for each estimate and a ring around the best setting.

    `table` is that of a `SmoothingComparison` with a column `best`, true for the best setting.
    Arrows at the bottom are scores of minus infinity. Large differences are on a log axis.
    """
    panels = np.asarray(new_figure(3.9, 10.6).subplots(1, 3) if axes is None else axes)
    if panels.shape != (3,):
        raise ValueError(
            "axes must be None or three matplotlib axes, as of plt.subplots(1, 3)[1], "
            f"got {axes!r}."
        )
    table = table.sort_values("smoothing")
    table["log_evidence"] -= table["log_evidence"].max()
    score, evidence, error = panels
    _draw_panel(score, table, "elpd_diff")
    _draw_panel(evidence, table, "log_evidence")
    _draw_panel(error, table, "ece")
    score.set_title("Leave-one-out log score, minus the best\n(bars: ± 2 standard errors)")
    evidence.set_title("Log evidence, minus the largest\n")
    largest = table["ece"].fillna(0).max()
    error.set(title="Expected calibration error\n", ylim=(0, 1.1 * largest or None))
    add_legend(score, outside=axes is None)
    return panels


def _draw_panel(ax: Axes, table: Any, column: str) -> None:
    """Draw a column of the table, with its errors; minus infinity is an arrow at the bottom."""
    finite = table[np.isfinite(table[column])]
    for k, (estimate, marker) in enumerate(MARKERS.items()):
        if estimate in set(table["estimate"]):
            rows = finite[finite["estimate"] == estimate]
            places = rows["smoothing"], rows[column]
            size = 9 - 2 * k  # equal ones stay visible
            ax.plot(*places, label=estimate, marker=marker, markersize=size, **class_line(k))
            if column == "elpd_diff":
                ax.errorbar(*places, 2 * rows["diff_se"], fmt="none", ecolor=COLOURS[k])
    best = finite[finite["best"]]
    ax.plot(
        best["smoothing"],
        best[column],
        "o",
        color=INK,
        markersize=12,
        markerfacecolor="none",
        label="best log score",
    )
    impossible = table["smoothing"][np.isneginf(table[column])]
    if len(impossible):
        ax.plot(
            impossible,
            0 * impossible + 0.03,
            "v",
            color=INK,
            label=MINUS + "\N{INFINITY}",
            transform=ax.get_xaxis_transform(),
        )
    if finite.empty:
        ax.text(
            0.5,
            0.5,
            "not defined",
            transform=ax.transAxes,
            ha="center",
            va="center",
        )
        ax.set_yticks([])
    elif finite[column].min() < -MAX_LINEAR:
        ax.set_yscale("symlog", linthresh=1)
    ax.yaxis.set_major_formatter(format_tick)
    ax.set_xlabel("smoothing")
    _scale_smoothing(ax, table["smoothing"])
    ax.grid(axis="y", color=INK, alpha=0.12, linewidth=0.7)


def _scale_smoothing(ax: Axes, smoothing: Any) -> None:
    """Make the smoothing axis logarithmic, but linear from 0 to the smallest positive value."""
    positive = smoothing[smoothing > 0]
    if positive.empty:
        ax.set_xticks([0])
        return
    decades = np.log10(positive.max() / positive.min())
    ax.set_xscale("symlog", linthresh=positive.min(), linscale=max(1, decades / 4))
    ax.locator_params(axis="x", numticks=4, subs=(1, 2, 5) if decades < 2 else (1,))
    ax.xaxis.set_major_formatter("{x:g}")
    if len(positive) < len(smoothing):
        ax.axvline(0, alpha=0.12, linewidth=0.7)
