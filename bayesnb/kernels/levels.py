"""Columns of levels: counts by class and level, and sums of a table's entries over columns.

Columns' levels lie end to end; a code is the place of a level there, and a missing cell's is -1.
"""

import numpy as np

from bayesnb.kernels.compiled import compiled
from bayesnb.kernels.rows import add_times, pour


@compiled
def translate(x, least, size, starts, table, unknown, codes):
    """Integers to codes through a table, `(r, f), 3 of (f,), (k,), (f,) -> (r, f)`; tells if one was unknown."""
    met = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            at = np.int64(x[i, j]) - least[j]
            code = table[starts[j] + at] if 0 <= at < size[j] else -2
            met |= code == -2
            codes[i, j] = unknown[j] if code == -2 else code
    return met != 0


@compiled
def extent(x, least, most):
    """The least and the largest integer of each column, `(r, f) -> 2 of (f,)`, beyond those that are there."""
    for i in range(x.shape[0]):
        row = x[i]
        for j in range(len(row)):
            least[j] = min(least[j], row[j])
            most[j] = max(most[j], row[j])


@compiled
def mark(x, least, starts, seen):
    """Marks the integers that occur in each column, `(r, f), 2 of (f,) -> (k,)`."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            seen[starts[j] + x[i, j] - least[j]] = True


@compiled
def tally(codes, starts, labels, weight, counts):
    """Adds each row's weight to its class's count of each of its levels, `(r, f), (f + 1,), (r,), (r,) -> (k, c)`.

    Tells what was met: 1 if a code was negative, which is silent, 2 if one was beyond its column's levels.
    """
    below, beyond = 0, 0
    for i in range(len(codes)):
        c, w = labels[i], weight[i]
        for j in range(codes.shape[1]):
            code, at = codes[i, j], starts[j] + codes[i, j]
            below |= code < 0
            beyond |= at >= starts[j + 1]
            if code >= 0 and at < starts[j + 1]:
                counts[at, c] += w
    return below + 2 * beyond


@compiled
def score(codes, starts, table, first, out):
    """Adds each row's table entries, `(r, f), (f + 1,), (k, lanes) -> (r, c)`; tells what `tally` does."""
    total, below, beyond = np.zeros(table.shape[1]), 0, 0
    for i in range(len(codes)):
        for j in range(codes.shape[1]):
            code, at = codes[i, j], starts[j] + codes[i, j]
            below |= code < 0
            beyond |= at >= starts[j + 1]
            if code >= 0 and at < starts[j + 1]:
                add_times(total, 1.0, table[at])
        pour(total, 1.0, 0.0, out[i], first)
    return below + 2 * beyond
