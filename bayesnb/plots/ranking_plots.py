"""ROC curve, precision against recall, and both shares against the threshold, of two classes."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bayesnb.plots.style import COLOURS, DASHES, INK, PERCENT, new_axes, styled
from bayesnb.selection.ranking_curves import RankingCurves

HIGH, WIDE = (
    2.9,
    3.65,
)  # inches of a panel, of which a page shows as many abreast as it has room for
TICKS = (0, 0.5, 1)


@styled
def plot_roc(curves: RankingCurves) -> Axes:
    """Draw recall against the share of false alarms; the diagonal is a random order."""
    ax = _square("false alarms, of the negative rows", "recall")
    ax.plot([0, 1], [0, 1], color=INK, linewidth=0.7, dashes=(4, 3))
    ax.plot(
        np.append(0, curves.false_alarms),
        np.append(0, curves.recall),
        color=COLOURS[0],
        linewidth=1.8,
    )
    ax.set_title(f"ROC curve, area {curves.area:.3f}", loc="left", fontsize="medium")
    return ax


@styled
def plot_precision_recall(curves: RankingCurves) -> Axes:
    """Draw precision against recall; the dashed line is a random order."""
    ax = _square("recall", "precision")
    ax.axhline(curves.total / curves.rows, color=INK, linewidth=0.7, dashes=(4, 3))
    ax.plot(curves.recall, curves.precision, color=COLOURS[0], linewidth=1.8, drawstyle="steps-pre")
    ax.set_title(f"Average precision {curves.average_precision:.3f}", loc="left", fontsize="medium")
    return ax


@styled
def plot_thresholds(curves: RankingCurves) -> Axes:
    """Draw recall and precision against the threshold of the probability."""
    ax = _square("threshold", "share of rows")
    look: Any = {"linewidth": 1.8, "drawstyle": "steps-post"}
    ax.plot(
        curves.threshold, curves.recall, color=COLOURS[0], dashes=DASHES[0], label="recall", **look
    )
    ax.plot(
        curves.threshold,
        curves.precision,
        color=COLOURS[1],
        dashes=DASHES[1],
        label="precision",
        **look,
    )
    ax.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize="small"
    )
    return ax


def _square(below: str, beside: str) -> Axes:
    """Make axes of two shares."""
    ax = new_axes(HIGH, WIDE)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel=below, ylabel=beside)
    ax.set_xticks(TICKS)
    ax.set_yticks(TICKS)
    ax.xaxis.set_major_formatter(PERCENT)
    ax.yaxis.set_major_formatter(PERCENT)
    return ax
