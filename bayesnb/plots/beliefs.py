"""What a belief says of one column: small figures from arrays."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bayesnb.plots.style import COLOURS, DASHES, INK, PERCENT, new_axes, short, styled

Array = np.ndarray
FEW = 15  # cells, which make no histogram
MANY = 4  # classes, above which a figure is taller, and their histograms are lighter


@styled
def densities(grid: Array, density: Array, data: Sequence[Array], ax: Axes | None = None) -> Axes:
    """A curve for each class, `(n,), (c, n)`, over the histogram of the class's cells; few are ticks."""
    ax = ax or new_axes(2.3 if len(data) <= MANY else 2.9)
    shade = 0.25 if len(data) <= MANY else 0.12  # of many, each less
    bins = np.linspace(grid[0], grid[-1], 1 + int(np.clip(np.sqrt(sum(map(len, data))), 10, 40))).tolist()
    for c, (curve, x) in enumerate(zip(density, data, strict=True)):
        inside = x[(x >= grid[0]) & (x <= grid[-1])]
        if len(inside) < FEW:
            ax.plot(inside, np.zeros(len(inside)), "|", color=COLOURS[c], markersize=14, clip_on=False)
        else:
            ax.hist(inside, bins, density=True, histtype="stepfilled", color=COLOURS[c], alpha=shade, linewidth=0)
        ax.plot(grid, curve, color=COLOURS[c], linewidth=1.8, dashes=DASHES[c])
    ax.set_yticks([])
    ax.set_ylim(0, None)
    ax.set_xlim(grid[0], grid[-1])
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    return ax


@styled
def levels(names: Sequence[str], probability: Array, ends: tuple[Array, Array], ax: Axes | None = None) -> Axes:
    """Bars of each level's probability, a group for each level, with intervals, all `(c, k)`."""
    classes, size = probability.shape
    ax = ax or new_axes(0.6 + size * (0.16 * classes + 0.12))
    thick = 0.84 / classes
    for c, own in enumerate(probability):
        y = np.arange(size) + (c - (classes - 1) / 2) * thick
        ax.barh(y, own, thick * 0.86, color=COLOURS[c], alpha=0.85, linewidth=0)
        ax.hlines(y, ends[0][c], ends[1][c], color=INK, linewidth=1)
    ax.set_yticks(range(size), [short(name) for name in names])
    ax.set_ylim(size - 0.5, -0.5)
    ax.set_xlim(0, min(1.0, 1.04 * float(ends[1].max())))
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(PERCENT)
    return ax


@styled
def counts(values: Array, probability: Array, observed: Array, ax: Axes | None = None) -> Axes:
    """Bars of each count's probability, `(n,), (c, n)`; a dot is its share in the data."""
    ax = ax or new_axes()
    thick = 0.84 * (values[1] - values[0] if len(values) > 1 else 1) / len(probability)
    for c, own in enumerate(probability):
        x = values + (c - (len(probability) - 1) / 2) * thick
        ax.bar(x, own, thick * 0.9, color=COLOURS[c], alpha=0.6, linewidth=0)
        seen = observed[c] > 0
        ax.plot(x[seen], observed[c][seen], linestyle="", marker="o", markersize=2.5, color=COLOURS[c])
    ax.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10], integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.yaxis.set_major_formatter(PERCENT)
    return ax
