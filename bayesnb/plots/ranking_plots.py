"""ROC curve, precision against recall, and both against the threshold, of two classes."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bayesnb.plots.style import COLOURS, INK, class_line, mark_shares, new_axes, styled
from bayesnb.selection.ranking_curves import RankingCurves

CHANCE: Any = {"linewidth": 0.7, "dashes": (4, 3)}


@styled
def plot_roc(curves: RankingCurves) -> Axes:
    """Draw recall against the share of false alarms; the diagonal is a random order."""
    ax = _new_axes("false alarms, of the negative rows", "recall")
    ax.plot([0, 1], [0, 1], color=INK, **CHANCE)
    ax.plot(np.append(0, curves.false_alarms), np.append(0, curves.recall), color=COLOURS[0])
    ax.set_title(f"ROC curve, area {curves.area:.3f}")
    return ax


@styled
def plot_precision_recall(curves: RankingCurves) -> Axes:
    """Draw precision against recall; the dashed line is a random order."""
    ax = _new_axes("recall", "precision")
    ax.axhline(curves.total / curves.rows, **CHANCE)
    ax.plot(curves.recall, curves.precision, color=COLOURS[0], drawstyle="steps-pre")
    ax.set_title(f"Average precision {curves.average_precision:.3f}")
    return ax


@styled
def plot_thresholds(curves: RankingCurves) -> Axes:
    """Draw recall and precision against the threshold of the probability."""
    ax = _new_axes("threshold", "share of rows")
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


def _new_axes(xlabel: str, ylabel: str) -> Axes:
    ax = new_axes(2.9, 3.65)  # a page shows as many side by side as it has room for
    ax.set(
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        xlabel=xlabel,
        ylabel=ylabel,
    )
    mark_shares(ax)
    return ax
