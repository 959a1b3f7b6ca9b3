"""Reliability diagrams: observed against predicted shares, above a histogram of the predictions."""

from collections.abc import Sequence
from math import floor, log10
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bayesnb.criticism.calibration import calibration
from bayesnb.plots.style import (
    COLOURS,
    INK,
    MAX_LETTERS_OF_TWO,
    add_legend,
    check_most,
    find_classes,
    get_result,
    mark_shares,
    new_panels,
    short,
    styled,
)

MAX_COLUMNS = 4
CURVE = ["probability", "calibrated", "curve_band_lower", "curve_band_upper"]
BINS = ["predicted", "observed", "lower", "upper"]
BARS = np.linspace(0, 1, 21).tolist()


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
) -> Any:
    """Draw observed shares of a label against its predicted probabilities.

    Where predictions are calibrated, points and curve lie on the diagonal but for chance, which is
    the grey band. Below the diagonal, labels occurred less often than predicted.

    Parameters
    ----------
    result : estimator or xarray.Dataset
        A model together with `X` and `y`, or the result of `bayesnb.calibration`. Each row is
        predicted by a model that has not learnt it.
    X : table of rows, optional
        The rows that the model has learnt, where `result` is a model; one that is not fitted learns
        them first.
    y : array-like, optional
        Their labels.
    classes : sequence of labels, optional
        One panel for each against all others. By default all classes; of two only the second.
    by : {"class", "predicted"}, default "class"
        "predicted" draws one panel, of the most probable label of each row.
    most : int, default 12
        How many panels are drawn at most; of more classes the most frequent are drawn, and the
        figure says so.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, for one panel. By default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes, or an array of them where there are several panels
        The line is the isotonic curve, and the points are the bins with their intervals. Bars below
        count rows.

    See Also
    --------
    calibration : The numbers that are drawn.
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
    """Return a title, and the result of the most probable labels under the names of a class's."""
    names = {name: name.removeprefix("top_") for name in dataset if name.startswith("top_")}
    ece, low, high = (float(dataset[name]) for name in ("ece", "ece_lower", "ece_upper"))
    title = f"predicted, ece {ece:.3f} ({low:.3f} to {high:.3f})"
    return title, dataset[[*names, "weight"]].rename(names)


def _select_classes(dataset: Any, classes: Any, most: int) -> tuple[list[tuple[str, Any]], int]:
    """Return a title and the result of each class to draw, and how many classes are asked for."""
    labels = dataset["class"].values.tolist()
    if classes is None:
        classes = labels[1:] if len(labels) == 2 else labels  # of two, one says it all
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
    curve = curve[changes | changes.shift(-1, fill_value=True)]  # of a flat part only the ends
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
        label=f"{prob} of such curves, if calibrated",
    )
    predicted, observed, low, high = part[BINS].to_dataframe()[BINS].dropna().to_numpy().T
    ax.plot(
        predicted,
        observed,
        "o",
        color=COLOURS[1],
        markersize=4.5,
        label=f"bins of equally many rows, {prob} intervals",
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
