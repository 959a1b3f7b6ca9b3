"""The grid of columns of numbers: cuts at quantiles of all rows, and the share of the rows on each level between them.

Rows of all classes together are halved, as evenly as they can be between two distinct values, then the halves, as often
as asked or until fewer than 4 rows or one value is left. Columns lie end to end: those of k levels in all and f columns
have k - f cuts.

The level of a cell is the number of cuts below it. Numbers that were learnt stay on their levels under every increasing
transform of a column; those between two of them, at whose middle a cut is, under linear ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayesnb import numerics
from bayesnb.families.record import Array, Cells, fields_alone
from bayesnb.numerics.threads import FEWEST, in_order
from bayesnb.numerics.views import SLOTS, Graded

LEAST = 4.0  # rows that are halved
MOST_ROWS = 1 << 15  # that a grid is learnt from: of 256 levels each has 128, and more predict no better
DEEPEST = 8  # as there are k (k + 1) / 2 bins of k levels
SEARCHED = (SLOTS >> 2) + (2 << DEEPEST)  # numbers at most of a column's part of `search_table`
SMALLEST = 1e-12  # share of a level: it has a logarithm


@dataclass(frozen=True, eq=False)
class Grid:
    """Levels of columns, `(k,)`, end to end: the least and the largest number learnt on each, and their weight.

    `whole` says of which columns all numbers were whole, `(f,)`.
    """

    sizes: tuple[int, ...]  # levels of each column
    low: Array
    high: Array
    weight: Array
    whole: Array

    def __post_init__(self) -> None:
        for name in ("low", "high", "weight", "whole"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), float))
        if not (self.sizes and all(type(size) is int and 1 <= size <= 1 << DEEPEST for size in self.sizes)):
            raise ValueError(f"the numbers of levels of a grid are whole numbers from 1 to {1 << DEEPEST}.")
        levels, columns = (sum(self.sizes),), (len(self.sizes),)
        if [each.shape for each in self._arrays] != [levels, levels, levels, columns]:
            raise ValueError("a grid has levels in each column.")
        good = all(np.isfinite(each).all() for each in self._arrays) and (self.low <= self.high).all()
        if not (good and (self.weight > 0).all() and (self.high[self.before] <= self.low[self.before + 1]).all()):
            raise ValueError("the levels of a grid are ranges of numbers one after the other, and none is empty.")

    def __getstate__(self) -> dict[str, Any]:
        return fields_alone(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """All of its numbers end to end: grids are compared as arrays are."""
        return np.concatenate([np.asarray(self.sizes, float), *self._arrays]).astype(dtype or float)

    @property
    def _arrays(self) -> tuple[Array, ...]:
        return self.low, self.high, self.weight, self.whole

    @classmethod
    def learnt(cls, x: Cells, weight: Array | None, depth: int, n_jobs: int | None = 1) -> Self:
        """Learn the grid of `(r, f)` numbers, which count by their weights: of many rows from an even part of them."""
        rows = x.shape[0]
        few = slice(None) if rows <= MOST_ROWS else np.linspace(0, rows - 1, MOST_ROWS).astype(np.intp)
        cells = np.asarray(x[few], float)
        each = None if weight is None else np.asarray(weight, float)[few]
        columns, threads = list(np.ascontiguousarray(cells.T)), n_jobs if cells.size > FEWEST else 1
        return cls._of_columns(list(in_order(lambda column: _learnt_column(column, each, depth), columns, threads)))

    @classmethod
    def declared(cls, cuts: Sequence[Array]) -> Self:
        """Make the grid of cuts, as many arrays as there are columns; levels count alike."""
        return cls._of_columns([_declared_column(each) for each in cuts])

    @classmethod
    def _of_columns(cls, columns: Sequence[tuple[Array, ...]]) -> Self:
        return cls(tuple(len(column[0]) for column in columns), *map(np.concatenate, zip(*columns, strict=True)))

    @classmethod
    def side_by_side(cls, grids: Sequence["Grid"]) -> Self:
        """Put the grids of columns end to end."""
        return cls._of_columns([grid._arrays for grid in grids])

    def only(self, feature: int) -> "Grid":
        """The grid of one column."""
        levels = slice(self.bounds[feature], self.bounds[feature + 1])
        each = (self.low[levels], self.high[levels], self.weight[levels])
        return Grid(self.sizes[feature : feature + 1], *each, self.whole[[feature]])

    def same(self, other: Any) -> bool:
        """Whether another grid has the same levels."""
        if self is other:
            return True
        arrays = zip(self._arrays, other._arrays, strict=True)
        return self.sizes == other.sizes and all(np.array_equal(a, b) for a, b in arrays)

    @cached_property
    def bounds(self) -> Array:
        """Start of each column's levels, and the end of the last ones."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @cached_property
    def before(self) -> Array:
        """The level to the left of each cut."""
        return np.delete(np.arange(self.bounds[-1]), self.bounds[1:] - 1)

    @cached_property
    def cuts(self) -> Array:
        """Midway between two levels, `(n,)`; where no float lies between them, at the upper end of the lower one."""
        high, low = self.high[self.before], self.low[self.before + 1]
        middle = high / 2 + low / 2
        return np.where((middle >= high) & (middle < low), middle, high)

    def cuts_of(self, feature: int) -> Array:
        """The cuts of one column."""
        return self.cuts[self.bounds[feature] - feature : self.bounds[feature + 1] - feature - 1]

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """Where each level begins and ends, `(k,)`: at cuts, and at the least and the largest number learnt."""
        lower, upper = self.low.copy(), self.high.copy()
        upper[self.before], lower[self.before + 1] = self.cuts, self.cuts
        return lower, upper

    @cached_property
    def share(self) -> Array:
        """Share of a column's rows on each level, `(k,)`."""
        total = np.add.reduceat(self.weight, self.bounds[:-1])
        return np.maximum(self.weight / np.repeat(total, self.sizes), SMALLEST)

    @cached_property
    def log_share(self) -> Array:
        return np.log(self.share)

    @cached_property
    def log_base(self) -> Array:
        """log-density of each level in the histogram of all rows, `(k,)`; of a column with one value, 0."""
        lower, upper = self.ends
        with np.errstate(over="ignore"):
            width = upper - lower
        width = np.where(np.isinf(width), np.finfo(float).max, width)
        return self.log_share - np.log(np.where(width > 0, width, 1.0))

    @cached_property
    def search_table(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Arguments of the kernel `search`: each column's cuts with infinite ones behind, and the guide to them."""
        columns, each = len(self.sizes), [self.cuts_of(j) for j in range(len(self.sizes))]
        low = np.array([cuts[0] if len(cuts) else 0.0 for cuts in each])
        with np.errstate(over="ignore", divide="ignore"):
            scale = SLOTS / np.array([cuts[-1] - cuts[0] if len(cuts) > 1 else np.inf for cuts in each])
        scale = np.where(np.isfinite(scale), scale, 0.0)  # all cuts are in one slot, if differences are no floats
        guide, windows = np.zeros((columns, SLOTS), np.int16), np.zeros(columns, np.int64)
        for j, cuts in enumerate(each):
            slot = np.zeros(len(cuts), np.int64)
            if scale[j] > 0:
                slot = np.minimum((cuts - low[j]) * scale[j], SLOTS - 1).astype(np.int64)
            seen = np.bincount(slot, minlength=SLOTS)
            guide[j], windows[j] = np.cumsum(seen) - seen, (1 << int(seen.max()).bit_length()) - 1
        padded = [np.append(cuts, np.full(window + 1, np.inf)) for cuts, window in zip(each, windows, strict=True)]
        sizes = np.array([len(cuts) for cuts in padded], np.int64)
        return np.concatenate(padded), np.cumsum(sizes) - sizes, windows, low, scale, guide

    def read(self, x: Cells) -> Graded:
        """Numbers as codes of their levels."""
        return Graded(x, self.search_table)

    def written(self, codes: Array, rng: np.random.Generator) -> Array:
        """Numbers on levels, `(r, f)`: uniform between the least and the largest learnt there, whole in whole columns.

        A missing cell, of a negative code, is NaN.
        """
        places = np.maximum(codes, 0).astype(np.intp) + self.bounds[:-1]
        low, high = self.low[places], self.high[places]
        share = rng.uniform(size=codes.shape)
        number = low * (1 - share) + high * share
        whole = np.minimum(np.floor(low + share * (high - low + 1)), high) if self.whole.any() else number
        number = np.where(self.whole > 0, whole, np.clip(number, low, high))
        return np.where(codes < 0, np.nan, number)


def _learnt_column(x: Array, weight: Array | None, depth: int) -> tuple[Array, ...]:
    """The arrays of a grid of one column of numbers, without those that are missing."""
    known = np.isfinite(x)
    values = x[known]
    if weight is None:
        values.sort()  # which takes a tenth of the time of an order
        below = np.arange(len(values) + 1.0)
    else:
        order = np.argsort(values, kind="stable")
        values, below = values[order], np.concatenate([[0.0], np.cumsum(weight[known][order])])
    if not len(values):
        return np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1)
    places = np.empty(min((1 << depth) - 1, len(values)), np.int64)
    cuts = numerics.grid_kernels.halve(values, below, depth, LEAST, places)
    edges = np.concatenate([[0], np.sort(places[:cuts]), [len(values)]])
    whole = np.array([(values == np.floor(values)).all()])
    ends = values[edges[:-1]], values[edges[1:] - 1], np.diff(below[edges])
    return *ends, whole


def _declared_column(cuts: Array) -> tuple[Array, ...]:
    """The arrays of a grid of one column's cuts: the levels at both ends are as wide as those beside them."""
    widths = np.diff(cuts)
    first, last = (widths[0], widths[-1]) if len(widths) else (1.0, 1.0)
    edges = np.concatenate([[cuts[0] - first], cuts, [cuts[-1] + last]])
    return edges[:-1], edges[1:], np.ones(len(cuts) + 1), np.zeros(1)
