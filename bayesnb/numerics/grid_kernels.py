"""Columns of numbers on a grid: where the cuts lie, and in which leaf between them a cell is.

A search has no branches: every cell of a row takes the same steps, so that several columns are compared at once.
"""

import numpy as np

from bayesnb.numerics.compilation import Array, compiled


@compiled
def search(x: Array, cuts: Array, starts: Array, size: int, codes: Array) -> None:
    """Leaf of each cell, the number of its column's cuts below it; -1 if missing, `(r, f), (k,), (f,) -> (r, f)`.

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
def grow(x: Array, below: Array, depth: int, least: float, places: Array, depths: Array) -> int:
    """Split sorted cells at medians, `(m,), (m + 1,) -> 2 of (n,)`; return the number of splits, in no order.

    `below` is the weight of the cells before each place. A node of cells from `low` to `high` splits where its weight
    is halved most evenly between two distinct values, unless it weighs less than `least`.
    """
    room = 2 * depth + 2
    lows, highs, levels = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    lows[0], highs[0], levels[0] = 0, len(x), 0
    waiting, splits = 1, 0
    while waiting:
        waiting -= 1
        low, high, level = lows[waiting], highs[waiting], levels[waiting]
        if level == depth or high - low < 2 or below[high] - below[low] < least or x[low] == x[high - 1]:
            continue
        middle = below[low] + 0.5 * (below[high] - below[low])
        place = nearest(x, below, low, high, middle)
        places[splits], depths[splits] = place, level
        splits += 1
        for first, last in ((place, high), (low, place)):
            lows[waiting], highs[waiting], levels[waiting] = first, last, level + 1
            waiting += 1
    return splits


@compiled
def link(depth: Array, bounds: Array, left: Array, right: Array, roots: Array, begin: Array, end: Array) -> bool:
    """Make trees of the depths of nodes in their order, `(n,), (f + 1,) -> 2 of (n,), (f,), 2 of (n,)`.

    Nodes are numbered before leaves. The children of a node are the shallowest on each side; `begin` and `end` are the
    leaves below it. Return whether each column has one root, of depth 0, and children are one level below their node.
    """
    nodes, good = len(depth), True
    waiting = np.empty(nodes + 1, np.int64)
    for j in range(len(roots)):
        first, count = bounds[j] - j, 0
        for node in range(first, bounds[j + 1] - j - 1):
            leaf = node + j  # to the left of the node
            left[node], right[node], begin[node] = nodes + leaf, nodes + leaf + 1, leaf
            while count and depth[waiting[count - 1]] > depth[node]:
                count -= 1
                left[node], begin[node] = waiting[count], begin[waiting[count]]
                end[waiting[count]] = leaf + 1
            if count:
                right[waiting[count - 1]] = node
            waiting[count] = node
            count += 1
        roots[j] = waiting[0] if count else nodes + bounds[j]
        good &= not count or depth[waiting[0]] == 0
        for at in range(count):
            end[waiting[at]] = bounds[j + 1]
    for node in range(nodes):
        for child in (left[node], right[node]):
            good &= child >= nodes or depth[child] == depth[node] + 1
    return good


@compiled
def ways(depth: Array, begin: Array, end: Array, path: Array, side: Array) -> None:
    """Write the nodes on the way to each leaf, and whether it is to the right of each, `3 of (n,) -> 2 of (k, d)`."""
    column = 0
    for node in range(len(depth)):
        while begin[node] > node + column or end[node] <= node + column:
            column += 1
        for leaf in range(begin[node], end[node]):
            path[leaf, depth[node]] = node
            side[leaf, depth[node]] = leaf > node + column


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
