"""Contingency tables of pairs of columns of levels, class by class: only cells that have rows.

The tables of one column and many others are counts of levels by group, the column's level and class.
"""

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from bayesnb import numerics
from bayesnb.families.base import Array
from bayesnb.numerics.threads import blocks

CELLS = 1 << 17  # of tables that are counted at once, in a cache
SPARSE = 4  # cells for each pair of levels in the rows, above which these are sorted rather than tallied


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

    def add_up(self, *sides: int) -> Array:
        """Sum the weights of each pair and class, or with side 2 or 3 of each level of it."""
        axes = (0, 1, *sides)
        shape = tuple(self.shape[axis] for axis in axes)
        keys = np.ravel_multi_index([self[axis] for axis in axes], shape)
        return np.bincount(keys, self.number, prod(shape)).reshape(shape)

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

    Codes are `(r, f)`; of missing cells they are no levels of their column, below 0 or at its size.
    """
    size, first = int(sizes[column]), codes[:, column]
    rows = np.flatnonzero((first >= 0) & (first < size))
    group = labels.codes[rows] * size + first[rows]
    weight = labels.counts[rows].astype(float)
    groups = labels.classes * size
    step = max(CELLS // (groups * int(sizes[others].max(initial=1))), 1)
    for part in blocks(len(others), step) if len(others) else ():
        few = others[part]
        bounds = np.append(0, np.cumsum(sizes[few]))
        x = np.ascontiguousarray(codes[:, few] if len(rows) == len(codes) else codes[np.ix_(rows, few)], np.int32)
        count = _tally if groups * bounds[-1] <= SPARSE * x.size else _sort
        place, row, number = count(x, bounds, group, weight, groups)
        owner, one = np.divmod(row, size)
        pair = np.repeat(np.arange(len(few)), sizes[few])[place]
        shape = len(few), labels.classes, size, int(sizes[few].max())
        yield part, PairCells(pair, owner, one, place - bounds[pair], number, shape)


def _tally(x: Array, bounds: Array, group: Array, weight: Array, groups: int) -> tuple[Array, ...]:
    """Return levels, all columns end to end, groups and weights of cells with rows, by a table of all cells."""
    counts = np.zeros((bounds[-1], groups))
    numerics.level_kernels.tally(x, bounds, group, weight, counts)
    place, row = np.nonzero(counts)
    return place, row, counts[place, row]


def _sort(x: Array, bounds: Array, group: Array, weight: Array, groups: int) -> tuple[Array, ...]:
    """Do the same as `_tally` where nearly all cells are empty."""
    i, j = np.nonzero((x >= 0) & (x < np.diff(bounds)))
    keys, at = np.unique((bounds[j] + x[i, j]) * groups + group[i], return_inverse=True)
    return *np.divmod(keys, groups), np.bincount(at, weight[i])


def screen(cells: PairCells) -> Array:
    """Return how far the columns of pairs are from independence given the class, in nats, `(n,)`.

    Half the likelihood ratio statistic less half its degrees of freedom, its expectation where they
    are independent.
    """
    firsts, seconds, rows = cells.add_up(2), cells.add_up(3), cells.add_up()
    gain = np.bincount(cells.pair, xlogy(cells.number, cells.number), len(rows))
    gain += xlogy(rows, rows).sum(axis=1)
    freedom = 1
    for margin in (firsts, seconds):
        gain -= xlogy(margin, margin).sum(axis=(1, 2))
        freedom = freedom * np.maximum(np.count_nonzero(margin, axis=2) - 1, 0)
    return gain - np.sum(freedom, axis=1) / 2
