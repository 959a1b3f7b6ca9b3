"""A run's results as one picture: times faster than scikit-learn, on a log axis."""

from itertools import groupby
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from .records import Results, Timing

KINDS = {
    "fit": "fit",
    "partial_fit": "fit",
    "predict": "predict_proba",
}  # operation -> what it is drawn as
COLOURS = {
    "fit": "#0072B2",
    "predict_proba": "#D55E00",
}  # Okabe and Ito's, safe for the colour-blind
MARKERS = {"fit": "o", "predict_proba": "D"}
LIFT = {"fit": -0.17, "predict_proba": 0.17}  # of a workload's line
INK, PALE = "#222222", "#DDDDDD"
STYLE: Any = {"font.size": 10, "svg.hashsalt": "bayesnb", "text.color": INK, "axes.labelcolor": INK}


def draw(results: Results, path: str | Path) -> None:
    """One line for each workload, a point for `fit` and one for `predict_proba`.

    A bar marks what we aim at.
    """
    drawn = [t for t in results.timings if t.operation in KINDS and t.against == "scikit-learn"]
    lines = [list(of) for _, of in groupby(drawn, lambda t: t.workload)]
    with rc_context(STYLE):
        figure = Figure(figsize=(8.6, 1.2 + 0.36 * len(lines)), layout="constrained")
        ax = figure.subplots()
        for y, line in enumerate(lines):
            for timing in line:
                point(ax, y if len(line) == 1 else y + LIFT[KINDS[timing.operation]], timing)
        dress(ax, lines)
        figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)


def point(ax: Axes, y: float, timing: Timing) -> None:
    """How many times faster, its range over the rounds, its target."""
    kind = KINDS[timing.operation]
    ax.plot([1, timing.times], [y, y], color=COLOURS[kind], linewidth=1, alpha=0.35, zorder=1)
    ax.plot(
        timing.spread,
        [y, y],
        color=COLOURS[kind],
        linewidth=3,
        alpha=0.35,
        solid_capstyle="butt",
        zorder=1,
    )
    ax.plot(timing.times, y, MARKERS[kind], color=COLOURS[kind], markersize=5.5, zorder=3)
    if timing.target is not None:
        ax.plot(timing.target, y, "|", color=INK, markersize=9, markeredgewidth=1.3, zorder=2)


def dress(ax: Axes, lines: list[list[Timing]]) -> None:
    """Axes, names and the legend."""
    ax.set_xscale("log")
    ax.set_yticks(range(len(lines)), [line[0].about for line in lines])
    ax.set_ylim(len(lines) - 0.4, -0.6)
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda times, _: f"{times:g}x"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("times faster than scikit-learn")
    ax.axvline(1, color=INK, linewidth=0.8)
    ax.grid(axis="x", color=PALE, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(length=0)
    ax.spines[["top", "right", "left", "bottom"]].set_visible(False)
    points = [
        Line2D([], [], color=COLOURS[k], marker=MARKERS[k], linestyle="", label=k) for k in COLOURS
    ]
    target = Line2D([], [], color=INK, marker="|", markersize=9, linestyle="", label="target")
    ax.legend(
        handles=[*points, target],
        loc="lower center",
        bbox_to_anchor=(0.5, 1),
        ncols=3,
        frameon=False,
    )
