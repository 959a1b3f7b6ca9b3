"""Log evidence as columns are joined, step by step."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bayesnb.plots.style import COLOURS, INK, format_tick, list_names, short, styled

STEP_LETTERS = 42
MAX_STEPS = 40  # the last ones are shown


@styled
def plot_steps(table: Any, ax: Axes | None = None) -> Axes:
    """Draw a point for the log evidence at the start, and one for each step below it."""
    steps = table.iloc[1:].tail(MAX_STEPS)
    names = [short(step, STEP_LETTERS) for step in steps["joined"]]
    ax = list_names(ax, ["start", *names])
    evidence = np.array([table["log_evidence"].iloc[0], *steps["log_evidence"]])
    gains = evidence - evidence[0]
    ax.plot(gains, range(len(gains)), "o-", color=COLOURS[0], zorder=3)
    ax.set(
        title="Log evidence as columns are joined",
        xlabel="log evidence, nats against the start",
    )
    ax.margins(x=0.1)
    ax.locator_params(axis="x", nbins=6)
    ax.xaxis.set_major_formatter(format_tick)
    ax.grid(axis="x", color=INK, alpha=0.12, linewidth=0.7)
    return ax
