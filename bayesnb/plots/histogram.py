"""The predictive distribution of a column on a grid as a figure shows it: a histogram, and bars of frequent values.

    P(x | class) = probability of the value x, if it is a frequent one      + density of the bin in which x lies

Bins are equally wide where most numbers lie, so that far outliers leave the picture its shape. The histogram ends at
the least and the largest number learnt. Each bin has the probability that the grid's levels give it, so all of it adds
up to 1.
"""

from dataclasses import dataclass

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.grid import Grid
from bayesnb.families.grid_numbers import NumberMargins

FEWEST_BINS, MOST_BINS = 10, 40
MOST_BARS = 25  # whole numbers that have a bar each: of more, a histogram is drawn
FREQUENT = 0.05  # of the rows of a class have the same value, which gets a bar
FAR = 3.0  # interquartile ranges beyond the quartiles, where outliers begin: Tukey's outer fences


@dataclass(frozen=True, eq=False)
class Histogram:
    """Distributions of a number in classes: `density` in bins between `edges`, and `probability` of each of `values`.

    Shown is what lies between `low` and `high`.
    """

    edges: Array  # `(b + 1,)`, or none
    density: Array  # `(c, b)`
    values: Array  # `(v,)`
    probability: Array  # `(c, v)`
    low: float
    high: float

    @property
    def beyond(self) -> float:
        """The largest probability, of any class, of what is not shown."""
        is_shown = (self.edges[:-1] >= self.low) & (self.edges[1:] <= self.high)
        shown = (self.density * np.diff(self.edges))[:, is_shown].sum(
            axis=1
        ) + self.probability.sum(axis=1)
        return max(0.0, float(1 - shown.min()))

    @property
    def bar_room(self) -> float:
        """Width of the bars of one value, those of all classes together."""
        span = self.high - self.low
        gap = float(np.min(np.diff(self.values), initial=span))
        return 0.84 * min(gap, 0.08 * span if len(self.edges) else 0.4 * span)


def histogram_of(belief: NumberMargins) -> Histogram:
    """Return what is drawn of the predictive distributions of one column in each class, `(c,)`."""
    predictive, feature = belief.predictive(), int(belief.features[0])
    grid = predictive.grid.only(feature)
    levels = slice(*predictive.grid.bounds[feature : feature + 2])
    mass = predictive.mass[belief.classes, levels]
    mass = mass / mass.sum(axis=1, keepdims=True)
    whole = bool(grid.whole[0])

    is_one_value = (grid.low == grid.high) & ((grid.weight >= 2) | (len(grid.low) == 1))
    is_frequent = is_one_value & (mass.max(axis=0) >= FREQUENT)
    low, high = _range_shown(grid, mass, is_frequent)
    if whole and high - low < MOST_BARS:
        frequent = grid.low[is_frequent]
        low, high = min([low, *frequent]), max([high, *frequent])
        if high - low < MOST_BARS:
            values = np.arange(low, high + 1)
            return _bars(values, _of_values(grid, mass, values), 0.5)

    width = (high - low) / np.clip(np.sqrt(grid.weight.sum()), FEWEST_BINS, MOST_BINS)
    width = float(max(np.ceil(width), 1.0)) if whole else width
    is_frequent &= _stand_out(grid, mass, width)
    values, probability = grid.low[is_frequent], mass[:, is_frequent]
    rest = np.where(is_frequent, 0.0, mass)
    if not rest.any():
        return _bars(
            values, probability, 0.5 * max(abs(values[0]), 1.0) if len(values) == 1 else 0.0
        )
    low, high = _range_shown(grid, mass, is_frequent)
    edges = _edges(grid, low, high, width)
    density = np.diff(_below(grid, rest, edges), axis=1) / np.diff(edges)
    shown = [low - whole / 2, high + whole / 2, *values]
    return Histogram(edges, density, values, probability, min(shown), max(shown))


def _bars(values: Array, probability: Array, room: float) -> Histogram:
    """Return a picture of values alone, with room at both ends."""
    density = np.empty((len(probability), 0))
    return Histogram(
        np.empty(0), density, values, probability, float(values[0]) - room, float(values[-1]) + room
    )


def _ends(grid: Grid) -> Array:
    """Edges of a column's levels, `(k + 1,)`; a whole number is from a half below to a half above it."""
    lower, upper = grid.ends
    edges = np.append(lower, upper[-1])
    edges[[0, -1]] += np.array([-0.5, 0.5]) * grid.whole
    return edges


def _below(grid: Grid, mass: Array, x: Array) -> Array:
    """Probability below numbers, `(c, k), (n,) -> (c, n)`, each level's spread evenly over its range."""
    below = np.pad(np.cumsum(mass, axis=1), ((0, 0), (1, 0)))
    return np.stack([np.interp(x, _ends(grid), each) for each in below])


def _range_shown(grid: Grid, mass: Array, is_frequent: Array) -> tuple[float, float]:
    """Return the range of the numbers, without what is far beyond the quartiles of every class.

    Frequent values count as others only where these are few: most of a class may be zeros.
    """
    edges, fences = _ends(grid), []
    for each in mass:
        others = np.where(is_frequent, 0.0, each)
        if others.any() and (others.sum() >= 0.25 or each.max() >= 0.5):
            each = others
        below = np.append(0.0, np.cumsum(each)) / each.sum()
        first, last = np.searchsorted(below, (0.25, 0.75))
        lower, upper = (
            edges[first],
            edges[last - 1],
        )  # inwards, as an outer level may reach to an outlier
        if upper <= lower:
            lower, upper = np.interp((0.25, 0.75), below, edges)
        fences.append((lower - FAR * (upper - lower), upper + FAR * (upper - lower)))
    low, high = min(low for low, _ in fences), max(high for _, high in fences)
    least, largest, room = float(grid.low[0]), float(grid.high[-1]), (high - low) / 2
    low = least if least >= low - room else low
    high = largest if largest <= high + room else high
    return (float(np.floor(low)), float(np.ceil(high))) if grid.whole[0] else (low, high)


def _of_values(grid: Grid, mass: Array, values: Array) -> Array:
    """Probability of whole numbers, `(c, v)`: those on a level are equally probable, as `sample` draws them."""
    lies_in = (grid.low <= values[:, None]) & (values[:, None] <= grid.high)
    return mass @ (lies_in / (grid.high - grid.low + 1)).T


def _stand_out(grid: Grid, mass: Array, width: float) -> Array:
    """Return the levels that hold more, in some class, than all that is within the width of a bin of them, `(k,)`."""
    around = _below(grid, mass, grid.high + width) - _below(grid, mass, grid.low - width) - mass
    return ((mass > around) & (mass >= FREQUENT)).any(axis=0)


def _edges(grid: Grid, low: float, high: float, width: float) -> Array:
    """Edges of bins: of this width, or nearly, where numbers are shown, and one bin beyond on either side."""
    ends = _ends(grid)[[0, -1]]
    if grid.whole[0]:
        edges = np.append(np.arange(low - 0.5, high + 0.5, width), high + 0.5)
    else:
        edges = np.linspace(low, high, 1 + max(round((high - low) / width), FEWEST_BINS))
    return np.unique([*edges, *ends])
