"""Columns of numbers on a grid: where they are cut, and on which level each number is."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.row_kernels import CHEAP

SLOTS = 1024  # into which the range of a column's cuts is divided
TILE = 64  # rows that are searched at once


class Guide(NamedTuple):
    """Where to look among the sorted cuts of each column, for `search`.

    The range of a column's cuts is divided into SLOTS alike, and `before[j, slot]` counts the cuts
    of the slots before. A number in that slot lies at most `window[j]` cuts further, the most that
    one slot holds, rounded up to a power of two less 1. So all cells of a column take the same
    steps, log2(window + 1) halvings without a branch, and several are searched at once: six times
    as fast as `searchsorted`. Behind each column's cuts are `window[j]` infinite ones, so that no
    step leaves the array. As slots grow with numbers, rounding and all, no cut is missed.
    """

    cuts: Array  # the columns' cuts end to end
    start: Array  # of each column's cuts, `(f,)`
    window: Array
    low: Array  # first cut
    scale: Array  # slots for each unit; 0 where all cuts are in the first slot
    before: Array  # `(f, SLOTS)`


def guide_to(columns: Sequence[Array]) -> Guide:
    """Return the guide to the cuts of columns."""
    low = np.array([cuts[0] if len(cuts) else 0.0 for cuts in columns])
    high = np.array([cuts[-1] if len(cuts) else 0.0 for cuts in columns])
    with np.errstate(over="ignore", divide="ignore"):
        scale = SLOTS / (high - low)
    scale[~np.isfinite(scale)] = 0.0  # a single cut, or a range that is no float
    padded = []
    windows = []
    before = np.zeros((len(columns), SLOTS), np.int16)
    for j, cuts in enumerate(columns):
        slot = np.zeros(len(cuts))
        if scale[j]:
            slot = np.minimum((cuts - low[j]) * scale[j], SLOTS - 1)
        inside = np.bincount(slot.astype(np.int64), minlength=SLOTS)
        before[j] = np.cumsum(inside) - inside
        windows.append((1 << int(inside.max()).bit_length()) - 1)
        padded.append(np.append(cuts, np.full(windows[-1] + 1, np.inf)))
    sizes = np.array([len(cuts) for cuts in padded], np.int64)
    start = np.cumsum(sizes) - sizes
    window = np.array(windows, np.int64)
    return Guide(np.concatenate(padded), start, window, low, scale, before)


@compiled
def search(
    x: Array, cuts: Array, start: Array, window: Array, low: Array, scale: Array,
    before: Array, codes: Array,
) -> None:  # fmt: skip
    """Level of each cell, the number of cuts below it; -1 if missing, `(r, f) -> (r, f)`."""
    place = np.empty(TILE, np.int64)
    last = SLOTS - 1.0
    for first in range(0, len(x), TILE):
        part = x[first : first + TILE]
        rows = len(part)
        for j in range(x.shape[1]):
            for i in range(rows):
                slot = (part[i, j] - low[j]) * scale[j]  # NaN where it is infinity times 0
                slot = slot if slot > 0.0 else 0.0
                slot = slot if slot < last else last
                place[i] = start[j] + before[j, np.int64(slot)]
            step = (window[j] + 1) >> 1
            while step:
                for i in range(rows):
                    place[i] += step * np.int64(part[i, j] > cuts[place[i] + step - 1])
                step >>= 1
            for i in range(rows):
                codes[first + i, j] = place[i] - start[j] if part[i, j] == part[i, j] else -1


@search.defined(CHEAP)
def search_by_definition(
    x: Array, cuts: Array, start: Array, window: Array, low: Array, scale: Array,
    before: Array, codes: Array,
) -> None:  # fmt: skip
    for j, column in enumerate(np.split(cuts, start[1:])):
        codes[:, j] = column.searchsorted(x[:, j])
    codes[np.isnan(x)] = -1


def halve(x: Array, below: Array, depth: int, least: float) -> Array:
    """Halve sorted numbers, and halves again, `depth` times: the ends of the parts, `(m,) -> (n,)`.

    `below` is the weight of the numbers before each place, `(m + 1,)`. A part is cut between two
    distinct numbers, where its weight is halved most evenly, unless it weighs less than `least` or
    has one value.
    """
    edges = np.array([0, len(x)])
    for _ in range(depth):
        low = edges[:-1]
        high = edges[1:]
        cut = (below[high] - below[low] >= least) & (x[low] != x[high - 1])
        low = low[cut]
        high = high[cut]
        middle = below[low] + 0.5 * (below[high] - below[low])
        right = left = np.minimum(np.maximum(below.searchsorted(middle), low + 1), high - 1)
        right = np.where(x[right] == x[right - 1], x.searchsorted(x[right], "right"), right)
        left = left - ((below[left] > middle) | (right == high))
        left = np.where(x[left] == x[left - 1], x.searchsorted(x[left]), left)
        nearer = (left > low) & (middle - below[left] <= below[right] - middle)
        places = np.where((right == high) | nearer, left, right)
        edges = np.sort(np.concatenate([edges, places]))
    return edges
