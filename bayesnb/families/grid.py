"""The grid of columns of numbers: cuts at quantiles, and levels between them.

The rows of all classes are halved as evenly as distinct values allow, then the halves, up to a
given depth, or until fewer than 4 rows or one value is left. Columns lie end to end: f columns with
k levels in all have k - f cuts.

The level of a cell is the number of cuts below it. Increasing transformations of a column leave the
training rows on their levels. Cuts lie midway between neighbouring rows, so new numbers there keep
their level under linear transformations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayesnb import numerics
from bayesnb.families.levels import EndToEnd
from bayesnb.families.record import Array, Cells, fields_alone
from bayesnb.numerics.threads import FEWEST, in_order
from bayesnb.numerics.views import Graded

MIN_WEIGHT = 4.0  # fewer rows are not halved
MAX_ROWS = 1 << 15  # rows that a grid is learnt from: 128 for each of 256 levels
MAX_DEPTH, MAX_LEVELS = 8, 256  # k levels have k (k + 1) / 2 possible bins
ABOVE_MIDDLE = 2.0**-30  # how far cuts are above the middle, relative to the gap between levels
MIN_SHARE = 1e-12  # of a level, so that its log is finite


@dataclass(frozen=True, eq=False)
class Grid(EndToEnd):
    """Levels of columns, `(k,)`, end to end."""

    sizes: tuple[int, ...]  # levels of each column
    low: Array  # the smallest number learnt on each level
    high: Array
    weight: Array
    whole: Array  # columns whose numbers were all whole, `(f,)`

    def __post_init__(self) -> None:
        for name in ("low", "high", "weight", "whole"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), float))
        sizes = np.array(self.sizes)
        if sizes.dtype != int or not (len(sizes) and 1 <= sizes.min() <= sizes.max() <= MAX_LEVELS):
            raise ValueError(f"a grid must have 1 to {MAX_LEVELS} levels in each column.")
        levels = (sizes.sum(),)
        if [each.shape for each in self._arrays] != [levels, levels, levels, sizes.shape]:
            raise ValueError("the arrays of a grid must match its numbers of levels.")
        apart = self.high[self.before] <= self.low[self.before + 1]
        good = apart.all() and (self.low <= self.high).all() and (self.weight > 0).all()
        if not (good and np.isfinite(np.asarray(self)).all()):
            raise ValueError("the levels of a grid must be increasing, disjoint ranges.")

    def __getstate__(self) -> dict[str, Any]:
        return fields_alone(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """All numbers end to end, so that grids can be compared as arrays."""
        return np.concatenate([np.asarray(self.sizes, float), *self._arrays]).astype(dtype or float)

    @property
    def _arrays(self) -> tuple[Array, ...]:
        return self.low, self.high, self.weight, self.whole

    @classmethod
    def learnt(cls, x: Cells, weight: Array | None, depth: int, n_jobs: int | None = 1) -> Self:
        """Learn the grid of weighted numbers, `(r, f)`, from evenly spaced rows if there are
        many.
        """
        rows: Any = slice(None)
        if x.shape[0] > MAX_ROWS:
            rows = np.linspace(0, x.shape[0] - 1, MAX_ROWS).astype(np.intp)
        cells = np.ascontiguousarray(np.asarray(x[rows], float).T)
        weight = None if weight is None else np.asarray(weight, float)[rows]

        def learn_column(column: Array) -> tuple[Array, ...]:
            return _learn_column(column, weight, depth)

        threads = n_jobs if cells.size > FEWEST else 1
        return cls._of_columns(list(in_order(learn_column, list(cells), threads)))

    @classmethod
    def declared(cls, cuts: Sequence[Array]) -> Self:
        """Make a grid from the cuts of each column; all levels have the same weight."""
        return cls._of_columns([_declare_column(each) for each in cuts])

    @classmethod
    def _of_columns(cls, columns: Sequence[tuple[Array, ...]]) -> Self:
        sizes = tuple(len(column[0]) for column in columns)
        return cls(sizes, *map(np.concatenate, zip(*columns, strict=True)))

    @classmethod
    def side_by_side(cls, grids: Sequence["Grid"]) -> Self:
        """Join the grids of columns."""
        return cls._of_columns([grid._arrays for grid in grids])

    def only(self, feature: int) -> "Grid":
        """The grid of one column."""
        levels = self.span(feature)
        each = (self.low[levels], self.high[levels], self.weight[levels])
        return Grid(self.sizes[feature : feature + 1], *each, self.whole[[feature]])

    def same(self, other: Any) -> bool:
        """Whether another grid has the same levels."""
        return self is other or np.array_equal(np.asarray(self), np.asarray(other))

    @cached_property
    def before(self) -> Array:
        """The level to the left of each cut."""
        return np.delete(np.arange(self.bounds[-1]), self.bounds[1:] - 1)

    @cached_property
    def cuts(self) -> Array:
        """Cuts midway between levels, `(n,)`, or at the end of the lower one if no float lies
        between.

        A number exactly in the middle, up to rounding, is on the lower level in any unit.
        """
        high = self.high[self.before]
        low = self.low[self.before + 1]
        middle = high * (0.5 - ABOVE_MIDDLE) + low * (0.5 + ABOVE_MIDDLE)
        return np.where((middle >= high) & (middle < low), middle, high)

    def cuts_of(self, feature: int) -> Array:
        """The cuts of one column."""
        return self.cuts[self.bounds[feature] - feature : self.bounds[feature + 1] - feature - 1]

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """Where each level begins and ends, `(k,)`: at cuts, or at the ends of what was learnt."""
        lower = self.low.copy()
        upper = self.high.copy()
        upper[self.before], lower[self.before + 1] = self.cuts, self.cuts
        return lower, upper

    @cached_property
    def share(self) -> Array:
        """Share of a column's rows on each level, `(k,)`."""
        total = np.add.reduceat(self.weight, self.bounds[:-1])
        return np.maximum(self.weight / np.repeat(total, self.sizes), MIN_SHARE)

    @cached_property
    def log_share(self) -> Array:
        return np.log(self.share)

    @cached_property
    def log_base(self) -> Array:  # type: ignore[override]
        """Log density of all rows on each level, from their histogram, `(k,)`; 0 for a single
        value.
        """
        lower, upper = self.ends
        with np.errstate(over="ignore"):
            width = upper - lower
        width = np.where(np.isinf(width), np.finfo(float).max, width)
        return self.log_share - np.log(np.where(width > 0, width, 1.0))

    @cached_property
    def guide(self) -> tuple[Array, Array]:
        """Lookup tables for finding a number among the cuts."""
        return numerics.grid.guide_to([self.cuts_of(j) for j in range(len(self.sizes))])

    def read(self, x: Cells) -> Graded:
        """Numbers as codes of their levels."""
        return Graded(x, self.guide)

    def written(self, codes: Array, rng: np.random.Generator) -> Array:
        """Draw numbers on levels, `(r, f)`, uniformly between the ends of the numbers learnt there.

        They are whole in whole columns. A negative code, a missing cell, gives NaN.
        """
        places = np.maximum(codes, 0).astype(np.intp) + self.bounds[:-1]
        low = self.low[places]
        high = self.high[places]
        share = rng.uniform(size=codes.shape)
        number = np.clip(low * (1 - share) + high * share, low, high)
        if self.whole.any():
            whole = np.minimum(np.floor(low + share * (high - low + 1)), high)
            number = np.where(self.whole > 0, whole, number)
        return np.where(codes < 0, np.nan, number)


def _learn_column(x: Array, weight: Array | None, depth: int) -> tuple[Array, ...]:
    """The arrays of a grid for one column of numbers; missing ones are dropped."""
    known = np.isfinite(x)
    values = x[known]
    if not len(values):
        return np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1)
    if weight is None:
        values.sort()  # ten times as fast as argsort
        below = np.arange(len(values) + 1.0)
    else:
        order = np.argsort(values, kind="stable")
        values = values[order]
        below = np.append(0.0, np.cumsum(weight[known][order]))
    edges = numerics.grid.halve(values, below, depth, MIN_WEIGHT)
    whole = np.array([(values == np.floor(values)).all()])
    return values[edges[:-1]], values[edges[1:] - 1], np.diff(below[edges]), whole


def _declare_column(cuts: Array) -> tuple[Array, ...]:
    """The arrays of a grid for the cuts of one column; outer levels are as wide as their
    neighbours.
    """
    widths = np.diff(cuts)
    first, last = (widths[0], widths[-1]) if len(widths) else (1.0, 1.0)
    edges = np.concatenate([[cuts[0] - first], cuts, [cuts[-1] + last]])
    return edges[:-1], edges[1:], np.ones(len(cuts) + 1), np.zeros(1)
