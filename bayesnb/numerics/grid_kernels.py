"""Columns of numbers on a grid: where the cuts lie, and on which level between them a cell is.

The range of a column's cuts is divided into SLOTS alike. A guide says how many cuts lie in the slots before each, so
that a cell is compared with those of one slot alone; as slots grow with numbers, rounding and all, none is missed.

A search has no branches: all cells of a column take the same steps, so that several rows are compared at once. Cells go
through a column's cuts, counts and table while these are near.
"""

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.level_kernels import add_to_levels
from bayesnb.numerics.row_kernels import CHEAP, add_and_clear, add_lanes, add_times, lanes_of, sums_of_cells

TILE = 64  # rows that are searched at once


@compiled
def search(
    x: Array, cuts: Array, starts: Array, windows: Array, low: Array, scale: Array, guide: Array, codes: Array
) -> None:
    """Level of each cell, the number of its column's cuts below it; -1 if missing, `(r, f), ... -> (r, f)`.

    Behind each column's cuts are infinite ones, as many as its window: as lie in one slot at most, or more, a power of
    two less 1.
    """
    place = np.empty(TILE, np.int64)
    for first in range(0, len(x), TILE):
        part = x[first : first + TILE]
        for j in range(x.shape[1]):
            find(part, j, cuts, starts[j], windows[j], low[j], scale[j], guide[j], place)
            for i in range(len(part)):
                codes[first + i, j] = place[i] if part[i, j] == part[i, j] else -1


@search.defined(CHEAP)
def search_by_definition(
    x: Array, cuts: Array, starts: Array, windows: Array, low: Array, scale: Array, guide: Array, codes: Array
) -> None:
    codes[:] = levels_of(x, cuts, starts)


def levels_of(x: Array, cuts: Array, starts: Array) -> Array:
    """Level of each cell, -1 if missing, by a binary search in each column, `(r, f) -> (r, f)`."""
    levels, ends = np.empty(x.shape, np.int64), [*starts.tolist(), len(cuts)]
    for j in range(x.shape[1]):
        levels[:, j] = cuts[ends[j] : ends[j + 1]].searchsorted(x[:, j])
    levels[np.isnan(x)] = -1
    return levels


def places_on_grid(x: Array, cuts: Array, starts: Array, bounds: Array) -> Array:
    """Place of each cell's level among the levels of all columns, -1 if missing, `(r, f) -> (r, f)`."""
    levels = levels_of(x, cuts, starts)
    return np.where(levels < 0, -1, bounds[: x.shape[1]] + levels)


@compiled
def find(
    x: Array, j: int, cuts: Array, start: int, window: int, low: float, scale: float, guide: Array, place: Array
) -> None:
    """Level of each cell of one column, as if none were missing, `(r, f) -> (r,)`."""
    rows, last = len(x), len(guide) - 1.0
    for i in range(rows):
        slot = (x[i, j] - low) * scale  # NaN if the difference is infinite, and the scale 0
        slot = slot if slot > 0.0 else 0.0
        slot = slot if slot < last else last
        place[i] = start + guide[np.int64(slot)]
    step = (window + 1) >> 1
    while step:
        for i in range(rows):
            place[i] += step * np.int64(x[i, j] > cuts[place[i] + step - 1])
        step >>= 1
    for i in range(rows):
        place[i] -= start


@compiled
def tally(
    x: Array, cuts: Array, starts: Array, windows: Array, low: Array, scale: Array, guide: Array, bounds: Array,
    labels: Array, weight: Array, counts: Array,
) -> None:  # fmt: skip
    """Add each row's weight to its class's count of each of its levels, `(r, f), ... (r,), (r,) -> (k, c)`."""
    place = np.empty(TILE, np.int64)
    for first in range(0, len(x), TILE):
        part = x[first : first + TILE]
        for j in range(x.shape[1]):
            find(part, j, cuts, starts[j], windows[j], low[j], scale[j], guide[j], place)
            for i in range(len(part)):
                if part[i, j] == part[i, j]:
                    counts[bounds[j] + place[i], labels[first + i]] += weight[first + i]


@tally.defined(CHEAP)
def tally_by_definition(
    x: Array, cuts: Array, starts: Array, windows: Array, low: Array, scale: Array, guide: Array, bounds: Array,
    labels: Array, weight: Array, counts: Array,
) -> None:  # fmt: skip
    add_to_levels(places_on_grid(x, cuts, starts, bounds), labels, weight, counts)


@compiled
def score(
    x: Array, cuts: Array, starts: Array, windows: Array, low: Array, scale: Array, guide: Array, bounds: Array,
    table: Array, first_class: int, out: Array,
) -> None:  # fmt: skip
    """Add each row's table entries, `(r, f), ... (k, lanes) -> (r, c)`, with the same sums as `level_kernels.score`."""
    place, total = np.empty(TILE, np.int64), np.zeros((TILE, table.shape[1]))
    for first in range(0, len(x), TILE):
        part = x[first : first + TILE]
        for j in range(x.shape[1]):
            find(part, j, cuts, starts[j], windows[j], low[j], scale[j], guide[j], place)
            for i in range(len(part)):
                if part[i, j] == part[i, j]:
                    add_times(total[i], 1.0, table[bounds[j] + place[i]])
        for i in range(len(part)):
            add_and_clear(total[i], 0.0, out[first + i], first_class)


@score.defined(CHEAP)
def score_by_definition(
    x: Array, cuts: Array, starts: Array, windows: Array, low: Array, scale: Array, guide: Array, bounds: Array,
    table: Array, first_class: int, out: Array,
) -> None:  # fmt: skip
    places = places_on_grid(x, cuts, starts, bounds)
    add_lanes(sums_of_cells(places, lanes_of(table, out, first_class)), out, first_class)


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


# By the cuts alone, as each is searched for: 1,000 take 4 milliseconds longer than loops, a few dozen .1 to .3.
halve.defined(1 << 10, lambda x, below, depth, least, places: len(places))(halve.loops)


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


@nearest.defined(work=lambda *args: 0)  # a few searches, which take as long among many cells as among few
def nearest_by_definition(x: Array, below: Array, low: int, high: int, middle: float) -> int:
    first = low + int(below[low:high].searchsorted(middle))
    right = left = min(max(first, low + 1), high - 1)
    if x[right] == x[right - 1]:
        right = low + int(x[low:high].searchsorted(x[right], "right"))
    left = left - 1 if below[left] > middle or right == high else left
    if left > low and x[left] == x[left - 1]:
        left = low + int(x[low:high].searchsorted(x[left]))
    if left == low:
        return right
    if right == high:
        return left
    return left if middle - below[left] <= below[right] - middle else right
