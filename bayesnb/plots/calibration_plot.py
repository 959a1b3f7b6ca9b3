"""Reliability diagrams: observed against predicted shares, above a histogram of the predictions."""

from collections.abc import Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from bayesnb.criticism.calibration import calibration
from bayesnb.families.base import Array
from bayesnb.formatting import shorten
from bayesnb.plots.style import (
    COLOURS,
    INK,
    PERCENT,
    check_dataset,
    check_most,
    class_places,
    new_panels,
    result_of,
    styled,
)

SIDE, ALONE, COLUMNS = (
    2.1,
    3.6,
    4,
)  # inches of a panel among several, of one alone; panels side by side
NAME = 20  # letters above a panel among several
CURVE = ("probability", "calibrated", "curve_band_lower", "curve_band_upper")
BINS = ("predicted", "observed", "lower", "upper", "count")
HALVES, MARGIN = (0, 0.5, 1), 0.03
FLOOR, CEILING = -0.38, -0.13  # of the histogram, below the diagram
BARS = np.linspace(0, 1, 21)


class Panel(NamedTuple):
    """Content of one panel."""

    title: str
    curve: dict[str, Array]
    bins: dict[str, Array]
    bars: Array


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

    Where predictions are calibrated, points and curve lie on the diagonal but for chance, which is the grey band.
    Below the diagonal, labels occurred less often than predicted.

    Parameters
    ----------
    result : estimator or xarray.Dataset
        A model together with `X` and `y`, or the result of `bayesnb.calibration`. Each row is predicted by a model
        that has not learnt it.
    X : table of rows, optional
        The rows that the model has learnt, where `result` is a model; one that is not fitted learns them first.
    y : array-like, optional
        Their labels.
    classes : sequence of labels, optional
        One panel for each against all others. By default all classes; of two only the second.
    by : {"class", "predicted"}, default "class"
        "predicted" draws one panel, of the most probable label of each row.
    most : int, default 12
        How many panels are drawn at most; of more classes the most frequent are drawn, and the figure says so.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on, for one panel. By default new ones in a new figure.

    Returns
    -------
    matplotlib.axes.Axes, or an array of them where there are several panels
        The line is the isotonic curve, and the points are the bins with their intervals. Bars below count rows.

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
    dataset = result_of(result, calibration, "calibration(model, X, y)", X, y)
    check_dataset(dataset, "top_predicted", "calibration(model, X, y)")
    check_most(most)
    panels, left = _panels(dataset, classes, by, most)
    if ax is not None and len(panels) > 1:
        raise ValueError(
            f"{len(panels)} panels do not fit into one ax. Name one class, classes=[{dataset['class'].values[0]!r}], "
            "or draw the predicted label, by='predicted'."
        )
    panel_axes = _new_axes(len(panels)) if ax is None else [ax]
    rows, prob = (
        max(float(panel.bars.max()) for panel in panels),
        f"{100 * dataset.attrs['ci_prob']:g} %",
    )
    for k, (axes, panel) in enumerate(zip(panel_axes, panels, strict=True)):
        _draw(axes, panel, prob)
        _histogram(axes, panel.bars, rows, named=k % COLUMNS == 0)
        if k + COLUMNS >= len(panel_axes):
            axes.set_xlabel("predicted probability" if len(panel_axes) == 1 else "predicted")
    if ax is None:
        figure: Any = panel_axes[0].get_figure()
        title = f"the {len(panels)} most frequent of {len(panels) + left} classes" if left else None
        keys = panel_axes[0].get_legend_handles_labels()
        figure.legend(*keys, title=title, loc="outside lower left", alignment="left", frameon=False)
        figure.suptitle("Predicted and observed shares", x=0.01, ha="left", fontsize="medium")
    return np.array(panel_axes) if len(panels) > 1 else panel_axes[0]


def _panels(
    dataset: Any, classes: Sequence[Any] | None, by: str, most: int
) -> tuple[list[Panel], int]:
    """Return the panels to draw, and the number of classes that are left out."""
    if by not in ("class", "predicted"):
        raise ValueError(f"by must be 'class' or 'predicted', got {by!r}.")
    if by == "predicted":
        value, low, high = (float(dataset[f"ece{end}"]) for end in ("", "_lower", "_upper"))
        return [_panel(dataset, "top_", f"predicted, ece {value:.3f} ({low:.3f} to {high:.3f})")], 0
    labels = dataset["class"].values.tolist()
    named = classes if classes is not None else labels[1:] if len(labels) == 2 else labels
    places = class_places(labels, named)
    count = [
        float(dataset["weight"].values[dataset["label"].values == labels[c]].sum()) for c in places
    ]
    kept = sorted(np.argsort(-np.array(count), kind="stable")[:most].tolist())
    letters = (1 + (len(kept) == 1)) * NAME
    panels = [
        _panel(dataset.isel({"class": c}), "", shorten(str(labels[c]), letters))
        for c in (places[k] for k in kept)
    ]
    return panels, len(places) - len(panels)


def _panel(dataset: Any, prefix: str, title: str) -> Panel:
    curve = {name: dataset[prefix + name].values for name in CURVE}
    bins = {name: dataset[prefix + name].values for name in BINS}
    full = bins["count"] > 0
    bars, _ = np.histogram(
        np.clip(curve["probability"], 0, 1), BARS, weights=dataset["weight"].values
    )
    return Panel(title, curve, {name: values[full] for name, values in bins.items()}, bars)


def _new_axes(count: int) -> list[Axes]:
    side = ALONE if count == 1 else SIDE
    axes = new_panels(count, COLUMNS, (side * 1.3 + 0.35, side), (1.2, 0.9))
    axes[0].get_figure().get_layout_engine().set(w_pad=0.1, h_pad=0.08)  # type: ignore[union-attr, call-arg]
    return axes


def _draw(ax: Axes, panel: Panel, prob: str) -> None:
    """Draw the reliability diagram."""
    (p, share, low, high), bins = _corners(*panel.curve.values()), panel.bins
    ax.plot([0, 1], [0, 1], color=INK, linewidth=0.7, dashes=(4, 3))
    ax.plot(p, share, color=COLOURS[0], linewidth=1.8, label="isotonic curve")
    grey: Any = {"color": INK, "alpha": 0.13, "linewidth": 0}
    ax.fill_between(p, low, high, label=f"{prob} of such curves, if calibrated", **grey)
    ax.vlines(bins["predicted"], bins["lower"], bins["upper"], color=COLOURS[1], linewidth=1.2)
    look: Any = {"marker": "o", "linestyle": "", "markersize": 4.5, "color": COLOURS[1]}
    ax.plot(
        bins["predicted"],
        bins["observed"],
        label=f"bins of equally many rows, {prob} intervals",
        **look,
    )
    ax.set(
        xlim=(-MARGIN, 1 + MARGIN),
        ylim=(FLOOR, 1 + MARGIN),
        box_aspect=(1 + MARGIN - FLOOR) / (1 + 2 * MARGIN),
    )
    ax.set_xticks(HALVES)
    ax.xaxis.set_major_formatter(PERCENT)
    ax.set_title(panel.title, loc="left", fontsize="medium")


def _histogram(ax: Axes, bars: Array, most: float, named: bool) -> None:
    """Draw a histogram of the probabilities below the diagram; logarithmic, as most lie at the ends."""
    top = 10.0 ** max(1, ceil(np.log10(max(most, 1.0))))
    heights = (CEILING - FLOOR) * np.log1p(bars) / np.log1p(top)
    ax.bar(
        BARS[:-1],
        heights,
        np.diff(BARS) * 0.9,
        FLOOR,
        align="edge",
        color=INK,
        alpha=0.55,
        linewidth=0,
    )
    ax.axhline(CEILING + MARGIN, color=INK, linewidth=0.5, alpha=0.5)
    labels = (
        ["0", f"{top:,.0f} rows,\nlog scale", *(f"{100 * share:g} %" for share in HALVES)]
        if named
        else []
    )
    ax.set_yticks([FLOOR, CEILING, *HALVES], labels or [""] * 5)
    if named:
        ax.set_ylabel("observed share", y=(0.5 - FLOOR) / (1 + MARGIN - FLOOR))


def _corners(p: Array, *curves: Array) -> list[Array]:
    """Sort curves by p, and keep only points where one of them bends."""
    p, first = np.unique(p, return_index=True)
    ordered = np.stack([curve[first] for curve in curves])
    changes = (np.diff(ordered, axis=1) != 0).any(axis=0)
    keep = np.append(True, changes) | np.append(changes, True)
    return [p[keep], *ordered[:, keep]]
