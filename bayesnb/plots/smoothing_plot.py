"""Log score, evidence and calibration against the smoothing, on a log axis that has a 0."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import SymmetricalLogLocator

from bayesnb.families.base import Array
from bayesnb.formatting import MINUS, number
from bayesnb.plots.style import COLOURS, DASHES, INK, add_legend, new_figure, styled

MARKERS = {"predictive": "o", "mean": "s", "map": "^", "mle": "D"}  # of each estimate
MAX_LINEAR = 30.0  # nats, beyond which an axis of differences is logarithmic


@styled
def plot_smoothing(table: Any, axes: Any = None) -> Array:
    """Draw three panels in a row, a line for each estimate, a ring around the best setting.

    `table` is that of a `SmoothingComparison` with a column `best`, true for the best setting.
    Arrows at the bottom are scores of minus infinity. Large differences are on a log axis.
    """
    panels = np.asarray(new_figure(3.9, 10.6).subplots(1, 3) if axes is None else axes)
    if panels.shape != (3,) or not all(isinstance(ax, Axes) for ax in panels):
        raise ValueError(
            "axes must be None or three matplotlib axes, as of plt.subplots(1, 3)[1], "
            f"got {axes!r}."
        )
    table = table.sort_values("smoothing")
    table["log_evidence"] -= table["log_evidence"].max()
    score, evidence, error = panels
    _draw_panel(score, table, "elpd_diff", 2 * table["diff_se"])
    _draw_panel(evidence, table, "log_evidence")
    _draw_panel(error, table, "ece")
    error.set_ylim(0, 1.1 * table["ece"].fillna(0).max() or None)
    score.set_title("Leave-one-out log score, less the best\n(bars: 2 standard errors of that)")
    evidence.set_title("Log evidence, less the largest\n")
    error.set_title("Expected calibration error\n")
    for ax in panels:
        ax.set_xlabel("smoothing")
    keys, _ = score.get_legend_handles_labels()
    add_legend(score, keys, outside=axes is None)
    return panels


def _draw_panel(ax: Axes, table: Any, column: str, errors: Any = None) -> None:
    """Draw a column of the table; minus infinity is an arrow at the bottom."""
    finite = np.isfinite(table[column])
    infinite = np.isneginf(table[column])
    for k, (estimate, marker) in enumerate(MARKERS.items()):
        chosen = table["estimate"] == estimate
        if not chosen.any():
            continue
        drawn = table[chosen & finite]
        x, y = drawn["smoothing"], drawn[column]
        look: Any = {"color": COLOURS[k], "dashes": DASHES[k], "marker": marker}
        ax.plot(
            x,
            y,
            markersize=9 - 2 * k,  # equal ones stay visible
            label=estimate,
            **look,
        )
        if errors is not None:
            ax.errorbar(x, y, errors[drawn.index], fmt="none", ecolor=COLOURS[k])
    best = table[table["best"] & finite]
    ring: Any = {"marker": "o", "markersize": 12, "markerfacecolor": "none", "linestyle": ""}
    ax.plot(best["smoothing"], best[column], color=INK, label="best log score", **ring)
    if infinite.any():
        at = table["smoothing"][infinite]
        bottom = np.full(len(at), 0.03)
        label = MINUS + "\N{INFINITY}"
        ax.plot(
            at,
            bottom,
            "v",
            color=INK,
            label=label,
            transform=ax.get_xaxis_transform(),
        )
    if not finite.any():
        ax.text(
            0.5,
            0.5,
            "not defined",
            transform=ax.transAxes,
            ha="center",
            va="center",
        )
        ax.set_yticks([])
    if table[column][finite].min() < -MAX_LINEAR:
        ax.set_yscale("symlog", linthresh=1)
    ax.yaxis.set_major_formatter(_format_tick)
    _scale_smoothing(ax, table["smoothing"])
    ax.grid(axis="y", color=INK, alpha=0.12, linewidth=0.7)


def _scale_smoothing(ax: Axes, smoothing: Any) -> None:
    """Make the axis of the smoothing logarithmic, but linear from 0 to the smallest positive."""
    positive = smoothing[smoothing > 0]
    if len(positive) == 0:
        ax.set_xticks([0])
        return
    low, high = positive.min(), positive.max()
    decades = np.log10(high / low)
    ax.set_xscale("symlog", linthresh=low, linscale=max(1, decades / 4))
    subs = (1, 2, 5) if decades < 2 else (1,)
    locator = SymmetricalLogLocator(base=10, linthresh=low, subs=subs)
    locator.set_params(numticks=4)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter("{x:g}")
    if len(positive) < len(smoothing):
        ax.axvline(0, color=INK, alpha=0.12, linewidth=0.7)


def _format_tick(value: float, _place: float) -> str:
    return number(value)
