"""Log evidence as columns are joined, step by step."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from bayesnb.families.base import Array
from bayesnb.formatting import nats
from bayesnb.plots.style import (
    COLOURS,
    DASHES,
    INK,
    add_legend,
    format_tick,
    list_names,
    short,
    styled,
)

STEP_LETTERS = 42
MAX_STEPS = 40  # the last ones are shown
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
    is_new = ax is None
    last = range(max(1, len(joined) - MAX_STEPS + 1), len(joined))
    ax = list_names(ax, ["start", *(short(joined[step], STEP_LETTERS) for step in last)])
    gained = np.asarray(evidence, float)[[0, *last]] - evidence[0]
    ax.plot(
        gained,
        range(len(gained)),
        "o-",
        color=COLOURS[0],
        zorder=3,
    )
    lines = []
    for (name, value), dashes in zip(ends.items(), DASHES[1:], strict=False):
        gain = value - evidence[0]
        label = f"{ENDS[name]} {nats(gain)}"
        lines.append(
            ax.axvline(
                gain,
                color=COLOURS[1],
                dashes=dashes,
                label=label,
            )
        )
    add_legend(ax, outside=is_new, keys=lines)
    room = FAR * max(np.ptp(gained), LEAST_SPAN)
    ax.set(
        title="Log evidence as columns are joined",
        xlabel="log evidence, nats against the start",
        xlim=(gained.min() - room, gained.max() + room),
    )
    ax.locator_params(axis="x", nbins=6)
    ax.xaxis.set_major_formatter(format_tick)
    ax.grid(axis="x", color=INK, alpha=0.12, linewidth=0.7)
    return ax
