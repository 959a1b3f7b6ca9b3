"""Log evidence step by step as columns are joined, between naive Bayes and one block of all."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bayesnb.plots.log_odds_axis import nats
from bayesnb.plots.style import COLOURS, DASHES, INK, new_axes, short, styled

Array = np.ndarray

NAMES, ROW = 42, 0.26  # letters of a step, and inches
MOST = 40  # steps that are shown, the last ones
FAR = 0.6  # of the steps' own span: an end that is farther off is only pointed to
LEAST = 1.0  # nats that the axis spans at least
ENDS = {"naive": "naive Bayes", "joint": "all joined"}


@styled
def plot_steps(joined: Sequence[str], evidence: Array, ends: Mapping[str, float], ax: Axes | None = None) -> Axes:
    """Draw a point for the start and for each step below it, at the log evidence less that of the start.

    The two ends, naive Bayes and all that can be joined in one block, are lines; or arrows, where they are far off.
    """
    steps = ["start", *joined[1:]]
    shown = np.arange(len(steps)) if len(steps) <= MOST else np.r_[0, len(steps) - MOST + 1 : len(steps)]
    gained = np.asarray(evidence, float)[shown] - evidence[0]
    ax = ax or new_axes(1.4 + ROW * len(shown), 6.2)
    ax.plot(gained, range(len(shown)), "o-", color=COLOURS[0], markersize=5, linewidth=1.4, zorder=3)
    ax.set_yticks(range(len(shown)), [_step(steps[at]) for at in shown])
    ax.set_ylim(len(shown) - 0.4, -2.1)
    span = max(float(np.ptp(gained)), LEAST)
    room = 0.08 * span + (span - float(np.ptp(gained))) / 2
    low, high = gained.min() - room, gained.max() + room
    worth = {name: value - evidence[0] for name, value in ends.items()}
    near = [value for value in worth.values() if gained.min() - FAR * span <= value <= gained.max() + FAR * span]
    ax.set_xlim(
        min([low, *(value - 0.08 * span for value in near)]), max([high, *(value + 0.08 * span for value in near)])
    )
    beyond = sorted(worth.items(), key=lambda end: (end[1] in near, end[1]))  # their names are above those of lines
    for row, (name, value) in zip((-1.6, -0.8), beyond, strict=True):
        _end(ax, name, value, row)
    ax.set_xlabel("log evidence, nats against the start")
    ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: nats(value)))
    ax.grid(axis="x", color=INK, alpha=0.12, linewidth=0.7)
    return ax


def _step(step: str) -> str:
    """Shorten a step to one line: of two blocks with long names, a part of both."""
    parts = step.split(" + ") if len(step) > NAMES else [step]
    return " + ".join(short(part, NAMES // len(parts) - 2 * (len(parts) > 1)) for part in parts)


def _end(ax: Axes, name: str, value: float, row: float) -> None:
    """Draw a line below its name, or an arrow to a value beyond the axis."""
    low, high = ax.get_xlim()
    place, text = min(max(value, low), high), f"{ENDS[name]} {nats(value)}"
    left = (place - low) / (high - low) < 0.7
    if low <= value <= high:
        dashes = DASHES[1 + (name == "joint")]
        ax.plot([value] * 2, [ax.get_ylim()[0], row - 0.3], color=COLOURS[1], dashes=dashes, linewidth=1.2, zorder=2)
    else:
        text = f"\N{LEFTWARDS ARROW} {text}" if left else f"{text} \N{RIGHTWARDS ARROW}"
    ax.annotate(
        text,
        (place, row),
        (4 if left else -4, 0),
        textcoords="offset points",
        ha="left" if left else "right",
        va="center",
        color=COLOURS[1],
        fontsize="small",
    )
