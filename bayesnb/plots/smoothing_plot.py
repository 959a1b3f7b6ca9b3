"""Log score, evidence and calibration against the smoothing, on a log axis that has a 0."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bayesnb.families.base import Array
from bayesnb.formatting import MINUS
from bayesnb.plots.style import (
    COLOURS,
    INK,
    add_legend,
    class_line,
    format_tick,
    new_figure,
    styled,
)

MARKERS = {"predictive": "o", "mean": "s", "map": "^", "mle": "D"}  # of each estimate
MAX_LINEAR = 30.0  # nats, beyond which an axis of differences is logarithmic


@styled
def plot_smoothing(table: Any, axes: Any = None) -> Array:
    """Draw three panels in a row, a line for each estimate, a ring around the best setting.

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
    score.set_title("Leave-one-out log score, less the best\n(bars: 2 standard errors of that)")
    evidence.set_title("Log evidence, less the largest\n")
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
    """Make the axis of the smoothing logarithmic, but linear from 0 to the smallest positive."""
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
