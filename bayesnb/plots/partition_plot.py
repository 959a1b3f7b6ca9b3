"""Log evidence as columns are joined, step by step."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bayesnb.families.base import Array
from bayesnb.formatting import nats, number, shorten
from bayesnb.plots.style import (
    COLOURS,
    DASHES,
    INK,
    add_legend,
    list_names,
    new_axes,
    styled,
)

NAME, ROW, WIDE = 42, 0.26, 6.2  # letters of a step, and inches
MOST_STEPS = 40  # the last ones are shown
FAR = 0.6  # of the span of the steps: an end that is farther off has its number in the legend alone
LEAST_SPAN = 1.0  # nats
ENDS = {"naive": "naive Bayes", "joint": "all joined"}


@styled
def plot_steps(
    joined: Sequence[str], evidence: Array, ends: Mapping[str, float], ax: Axes | None = None
) -> Axes:
    """Draw a point for the log evidence at the start, and one for each step below it.

    The two ends, naive Bayes and all columns in one block, are vertical lines.
    """
    steps = len(joined)
    shown = [0, *range(max(1, steps - MOST_STEPS + 1), steps)]
    gained = np.asarray(evidence, float)[shown] - evidence[0]
    is_outside = ax is None
    ax = ax or new_axes(1.4 + ROW * len(shown), WIDE)
    ax.plot(gained, range(len(shown)), "o-", color=COLOURS[0], markersize=5, zorder=3)
    list_names(ax, ["start", *(shorten(joined[at], NAME) for at in shown[1:])])
    span = max(np.ptp(gained), LEAST_SPAN)
    low, high = gained.min() - FAR * span, gained.max() + FAR * span
    lines = []
    for (name, value), dashes in zip(ends.items(), DASHES[1:], strict=False):
        gain = value - evidence[0]
        label = f"{ENDS[name]} {nats(gain)}"
        line = ax.axvline(gain, color=COLOURS[1], dashes=dashes, linewidth=1.2, label=label)
        lines.append(line)
    ax.set_xlim(low, high)
    add_legend(ax, lines, outside=is_outside)
    ax.set_title("Log evidence as columns are joined")
    ax.set_xlabel("log evidence, nats against the start")
    ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.xaxis.set_major_formatter(lambda value, _: number(value))
    ax.grid(axis="x", color=INK, alpha=0.12, linewidth=0.7)
    return ax
