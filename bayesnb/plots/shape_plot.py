"""What the cells of a column add to the log-odds: its shape function, as in an additive model.

Numbers have a curve, bins of a histogram steps, and levels points; with intervals, above the
distribution of the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from scipy.special import ndtri

from bayesnb.families.base import Array
from bayesnb.inference.explanation import compare_classes, explain
from bayesnb.model.powers import of_blocks
from bayesnb.model.product import Product
from bayesnb.plots.column_data import ColumnData, find_usual_range
from bayesnb.plots.style import (
    COLOURS,
    INK,
    add_legend,
    class_line,
    list_names,
    new_axes,
    new_panels,
    short,
    styled,
)

POINTS = 120  # of a curve
BARS = 30  # of the rows of a column of numbers
MAX_LEVELS = 12
PANELS = 3  # side by side
ROOM = 0.2  # share of the axes for the distribution of the rows
SHADE = 0.16


@dataclass(frozen=True, eq=False)
class Shape:
    """The cells of a column, and what each adds to the log-odds, with errors, `(n, c)`.

    With two classes there is one curve, of the second against the first; with more, one for each
    that is shown, against the mean of all. `ends` are the edges of bins; `names` are of levels.
    """

    data: ColumnData
    effect: Array
    sd: Array
    colours: Sequence[int]
    cells: Array
    ends: Array | None
    names: Sequence[str]


def read_shape(model: Any, data: ColumnData) -> Shape:
    """Return the shape of a column of a fitted model."""
    fitted = model.fitted_
    b, j = data.block, data.places[0]
    block = fitted.schema.blocks[b]
    if block.family.words or (block.family.multivariate and len(block.names) > 1):
        raise ValueError(
            f"what {data.name!r} adds to the log-odds depends on the columns modelled jointly with "
            "it. Draw it with scale='density'."
        )
    ends = None
    cells: Array
    if block.grid is not None:
        lower, upper = block.grid.only(j).ends
        ends = np.append(lower, upper[-1])
        cells = np.arange(len(lower))
    elif data.levels:
        cells = np.arange(len(data.levels))
    else:
        cells = np.linspace(*find_usual_range(data.belief, data.parts), POINTS)
        if data.family.picture == "mass":
            low, high = max(np.floor(cells[0]), 0.0), np.ceil(cells[-1])
            cells = np.arange(low, high + 1, np.ceil((high - low) / POINTS))
    posterior = fitted.model.posterior
    belief = posterior.blocks[b]
    power = np.broadcast_to(of_blocks(fitted.exponents, len(posterior.blocks))[b], len(block.keys))
    one = Product(posterior.classes, (belief.only(j),))
    terms = explain(one, [cells[:, None]], (float(power[j]),))
    with np.errstate(invalid="ignore"):  # a cell may be impossible in a class
        effect, variance = compare_classes(terms.evidence[..., 0], terms.sd[..., 0] ** 2)
    effect[~np.isfinite(effect)] = np.nan
    variance[~np.isfinite(variance)] = np.nan
    if len(data.classes) == 2:
        return Shape(data, effect, np.sqrt(variance), [1], cells, ends, data.levels)
    shown = data.shown
    sd = np.sqrt(variance[:, shown])
    return Shape(data, effect[:, shown], sd, range(len(shown)), cells, ends, data.levels)


@styled
def draw_shape(shape: Shape, prob: float, ax: Axes | None = None) -> Axes:
    """Draw the shape of a column, without a legend and a title."""
    data = shape.data
    reach = ndtri((1 + prob) / 2)
    lower = shape.effect - reach * shape.sd
    upper = shape.effect + reach * shape.sd
    if len(shape.names):
        return _draw_levels(shape, lower, upper, ax)
    ax = ax or new_axes()
    x = shape.cells
    effect = shape.effect
    if shape.ends is not None:  # steps, one for each bin
        x = np.repeat(shape.ends, 2)[1:-1]
        effect, lower, upper = (np.repeat(each, 2, axis=0) for each in (effect, lower, upper))
    for c, colour in enumerate(shape.colours):
        ax.fill_between(x, lower[:, c], upper[:, c], color=COLOURS[colour], alpha=SHADE, lw=0)
        ax.plot(x, effect[:, c], **class_line(colour))
    ax.axhline(0, color=INK, linewidth=0.7)
    low, high = find_usual_range(data.belief, data.parts, 0.0)
    rows = np.concatenate(data.parts)
    if len(rows):
        share, edges = np.histogram(rows, BARS, (low, high))
        heights = ROOM * share / max(float(share.max()), 1.0)
        ax.stairs(
            heights,
            edges,
            fill=True,
            color=INK,
            alpha=SHADE,
            transform=ax.get_xaxis_transform(),
        )
    ax.set(xlim=(low, high), xlabel=short(data.name), ylabel="log-odds")
    ax.locator_params(axis="x", nbins=6)
    return ax


@styled
def draw_shapes(shapes: Sequence[Shape], prob: float) -> Axes:
    """Draw several columns side by side, and return the axes of the first."""
    panels = new_panels(len(shapes), PANELS, 2.3, 3.1)
    for shape, ax in zip(shapes, panels, strict=True):
        draw_shape(shape, prob, ax)
        ax.set_xlabel("")
        ax.set_title(short(shape.data.name))
    data = shapes[0].data
    if len(data.classes) > 2:
        name_classes(panels[0], data, outside=True)
    return panels[0]


def name_classes(ax: Axes, data: ColumnData, *, outside: bool) -> None:
    """Add a legend of the classes that are shown."""
    keys = [
        Line2D([], [], **class_line(c, 3), label=short(data.classes[k]))
        for c, k in enumerate(data.shown)
    ]
    title = None
    if len(keys) < len(data.classes):
        title = f"the {len(keys)} most frequent of {len(data.classes)} classes"
    add_legend(ax, outside=outside, keys=keys, title=title)


def _draw_levels(shape: Shape, lower: Array, upper: Array, ax: Axes | None) -> Axes:
    """Draw points with intervals, a line for each level; of many, the most frequent."""
    data = shape.data
    rows = np.concatenate(data.parts).ravel()
    share = np.array([(rows == code).sum() for code in shape.cells], float)
    known = np.isfinite(shape.effect).all(axis=1)
    order = np.argsort(-share - known, kind="stable")
    kept = np.sort(order[:MAX_LEVELS])
    ax = list_names(ax, [short(shape.names[k]) for k in kept])
    y = np.arange(len(kept))
    ax.barh(
        y,
        ROOM * share[kept] / max(float(share.max()), 1.0),
        0.8,
        color=INK,
        alpha=SHADE,
        transform=ax.get_yaxis_transform(),
    )
    bars = len(shape.colours)
    for c, colour in enumerate(shape.colours):
        place = y + (c - (bars - 1) / 2) * 0.7 / bars
        ax.hlines(place, lower[kept, c], upper[kept, c], color=COLOURS[colour], linewidth=1.4)
        ax.plot(shape.effect[kept, c], place, "o", color=COLOURS[colour], markersize=4.5)
    ax.axvline(0, color=INK, linewidth=0.7)
    ax.set(xlabel=f"log-odds by {short(data.name)}")
    ax.locator_params(axis="x", nbins=5)
    return ax
