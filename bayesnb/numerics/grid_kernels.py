"""Columns of numbers on a grid: where the cuts lie, and on which level between them a cell is.

A search has no branches: every cell of a row takes the same steps, so that several columns are compared at once.
"""

import numpy as np

from bayesnb.numerics.compilation import Array, compiled


@compiled
def search(x: Array, cuts: Array, starts: Array, size: int, codes: Array) -> None:
    """Level of each cell, the number of its column's cuts below it; -1 if missing, `(r, f), (k,), (f,) -> (r, f)`.

    Each column has size - 1 cuts, a power of two less one, of which the last may be infinite.
    """
    place = np.empty(x.shape[1], np.int64)
    for i in range(x.shape[0]):
        row = x[i]
        for j in range(len(row)):
            place[j] = starts[j]
        step = size >> 1
        while step:
            for j in range(len(row)):
                place[j] += step * np.int64(row[j] > cuts[place[j] + step - 1])
            step >>= 1
        for j in range(len(row)):
            codes[i, j] = place[j] - starts[j] if row[j] == row[j] else -1


@compiled
def halve(x: Array, below: Array, depth: int, least: float, places: Array) -> int:
    """Halve sorted cells, and the halves again, `depth` times, `(m,), (m + 1,) -> (n,)`; return the number of cuts.

    `below` is the weight of the cells before each place. Cells from `low` to `high` are cut, in no order, where their
    weight is halved most evenly between two distinct values, unless they weigh less than `least`.
    """
    room = 2 * depth + 2
    lows, highs, levels = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    lows[0], highs[0], levels[0] = 0, len(x), 0
    waiting, cuts = 1, 0
    while waiting:
        waiting -= 1
        low, high, level = lows[waiting], highs[waiting], levels[waiting]
        if level == depth or high - low < 2 or below[high] - below[low] < least or x[low] == x[high - 1]:
            continue
        place = nearest(x, below, low, high, below[low] + 0.5 * (below[high] - below[low]))
        places[cuts] = place
        cuts += 1
        for first, last in ((place, high), (low, place)):
            lows[waiting], highs[waiting], levels[waiting] = first, last, level + 1
            waiting += 1
    return cuts


@compiled
def nearest(x: Array, below: Array, low: int, high: int, middle: float) -> int:
    """The place between two distinct values, low < place < high, before which the weight is nearest to `middle`."""
    first, last = low, high
    while first < last:  # the first place that has as much below it
        place = (first + last) >> 1
        if below[place] < middle:
            first = place + 1
        else:
            last = place
    left = right = min(max(first, low + 1), high - 1)
    while right < high and x[right] == x[right - 1]:
        right += 1
    left = left - 1 if below[left] > middle or right == high else left
    while left > low and x[left] == x[left - 1]:
        left -= 1
    if left == low:
        return right
    if right == high:
        return left
    return left if middle - below[left] <= below[right] - middle else right
