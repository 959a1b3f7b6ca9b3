"""Contingency tables of pairs of columns of levels, class by class: only cells that have rows.

The tables of one column and many others are counts of levels by group, the column's level and
class.
"""

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import Array
from bayesnb.numerics.threads import blocks

CELLS_AT_ONCE = 1 << 17  # of tables that are counted at once, in a cache
# cells for each pair of levels in the rows, above which these are sorted, not tallied
MAX_CELLS_PER_PAIR = 4


class LabelledRows(NamedTuple):
    """Class codes and weights of the rows, and the number of classes."""

    codes: Array
    counts: Array
    classes: int


class PairCells(NamedTuple):
    """Cells of tables: their pair, class, levels of the first and of the second column, and weight.

    `shape` is the number of pairs, of classes, and of levels of either column, at most.
    """

    pair: Array
    owner: Array
    one: Array
    two: Array
    number: Array
    shape: tuple[int, int, int, int]

    def key(self, *sides: int) -> Array:
        """Number the pair and class of each cell, or with side 2 or 3 also its level."""
        key = self.pair * self.shape[1] + self.owner
        for side in sides:
            key = key * self.shape[side] + self[side]
        return key

    def add_up(self, *sides: int) -> Array:
        """Sum the weights of each pair and class, or with side 2 or 3 of each level of it."""
        shape = tuple(self.shape[axis] for axis in (0, 1, *sides))
        return np.bincount(self.key(*sides), self.number, prod(shape)).reshape(shape)

    def select(self, pairs: Array) -> "PairCells":
        """Return the tables of some pairs."""
        place = np.full(self.shape[0], -1)
        place[pairs] = np.arange(len(pairs))
        kept = place[self.pair] >= 0
        return PairCells(
            place[self.pair[kept]],
            self.owner[kept],
            self.one[kept],
            self.two[kept],
            self.number[kept],
            (len(pairs), *self.shape[1:]),
        )


def count_pairs(
    codes: Array, sizes: Array, column: int, others: Array, labels: LabelledRows
) -> Iterator[tuple[slice, PairCells]]:
    """Yield the tables of a column and some others after others.

    Codes are `(r, f)`, fastest in Fortran order; of missing cells they are no levels of their
    column, below 0 or at its size.
    """
    if not len(others):
        return
    size = int(sizes[column])
    first = codes[:, column]
    rows = np.flatnonzero((first >= 0) & (first < size))
    columns = codes.T if len(rows) == len(codes) else codes[rows].T
    group = labels.codes[rows] * size + first[rows]
    weight = labels.counts[rows].astype(float)
    groups = labels.classes * size
    step = CELLS_AT_ONCE // (groups * int(sizes[others].max()))
    for part in blocks(len(others), max(step, 1)):
        few = others[part]
        widths = sizes[few]
        bounds = np.append(0, np.cumsum(widths))
        x = np.ascontiguousarray(columns[few].T, np.int32)
        count = _tally if groups * bounds[-1] <= MAX_CELLS_PER_PAIR * x.size else _sort
        at, number = count(x, bounds, group, weight, groups)
        place, row = np.divmod(at, groups)
        owner, one = np.divmod(row, size)
        pair = np.repeat(np.arange(len(few)), widths)[place]
        shape = len(few), labels.classes, size, int(widths.max())
        yield part, PairCells(pair, owner, one, place - bounds[pair], number, shape)


def _tally(
    x: Array, bounds: Array, group: Array, weight: Array, groups: int
) -> tuple[Array, Array]:
    """Count the cells of tables that have rows, by a table of all cells.

    Levels of all columns lie end to end; weights come with the cells.
    """
    counts = np.zeros((bounds[-1], groups))
    numerics.level_kernels.tally(x, bounds, group, weight, counts)
    at = np.flatnonzero(counts)
    return at, counts.ravel()[at]


def _sort(x: Array, bounds: Array, group: Array, weight: Array, groups: int) -> tuple[Array, Array]:
    """Do the same as `_tally` where nearly all cells are empty."""
    row, column = np.nonzero((x >= 0) & (x < np.diff(bounds)))
    keys = (bounds[column] + x[row, column]) * groups + group[row]
    at, inverse = np.unique(keys, return_inverse=True)
    number = np.bincount(inverse, weight[row], len(at))
    return at[number > 0], number[number > 0]


def screen(cells: PairCells) -> Array:
    """Return how far the columns of pairs are from independence given the class, in nats, `(n,)`.

    Half the likelihood ratio statistic less half its degrees of freedom, its expectation where they
    are independent.
    """
    rows = cells.add_up()
    gain = np.bincount(cells.pair, cells.number * np.log(cells.number), len(rows))
    gain += _entropy(rows).sum(axis=1)
    freedom = 1
    for side in (2, 3):
        margin = cells.add_up(side)
        gain -= _entropy(margin).sum(axis=(1, 2))
        freedom = freedom * np.maximum(np.count_nonzero(margin, axis=2) - 1, 0)
    return gain - np.sum(freedom, axis=1) / 2


def _entropy(counts: Array) -> Array:
    """n log n, 0 of no rows."""
    return counts * np.log(np.where(counts > 0, counts, 1.0))
