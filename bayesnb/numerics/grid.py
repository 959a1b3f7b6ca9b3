"""Columns of numbers on a grid: learning the cuts, and finding the level of each number."""

from collections.abc import Sequence

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.row_kernels import CHEAP

TILE = 64  # rows searched at once


def guide_to(columns: Sequence[Array]) -> tuple[Array, Array]:
    """The sorted cuts of columns end to end, and the start of each column, for `search`.

    The cuts of a column are padded by infinity to a power of two less 1: the binary search then
    takes the same steps for all cells of a column, without branches, and several run at once.
    """
    padded = []
    for cuts in columns:
        size = (1 << len(cuts).bit_length()) - 1
        padded.append(np.append(cuts, np.full(size - len(cuts), np.inf)))
    starts = np.cumsum([0] + [len(cuts) for cuts in padded])
    return np.concatenate(padded), starts.astype(np.int64)


@compiled
def search(x: Array, cuts: Array, starts: Array, codes: Array) -> None:
    """Level of each cell, the number of cuts below it; -1 if missing, `(r, f) -> (r, f)`."""
    place = np.empty(TILE, np.int64)
    for first in range(0, len(x), TILE):
        part = x[first : first + TILE]
        rows = len(part)
        for j in range(x.shape[1]):
            place[:] = starts[j]
            step = (starts[j + 1] - starts[j] + 1) >> 1
            while step:
                for i in range(rows):
                    place[i] += step * np.int64(part[i, j] > cuts[place[i] + step - 1])
                step >>= 1
            for i in range(rows):
                codes[first + i, j] = place[i] - starts[j] if part[i, j] == part[i, j] else -1


@search.defined(CHEAP)
def search_by_definition(x: Array, cuts: Array, starts: Array, codes: Array) -> None:
    for j, column in enumerate(np.split(cuts, starts[1:-1])):
        codes[:, j] = column.searchsorted(x[:, j])
    codes[np.isnan(x)] = -1


def halve(x: Array, below: Array, depth: int, least: float) -> Array:
    """Halve sorted numbers `depth` times, and return the ends of the parts, `(m,) -> (n,)`.

    `below` is the weight of the numbers before each place, `(m + 1,)`. A part is cut between two
    distinct numbers, as evenly by weight as possible, unless its weight is below `least` or it has
    one value.
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
