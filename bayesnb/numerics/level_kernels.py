"""Columns of levels: counts by class and level, and sums of a table's entries over columns.

The levels of columns lie end to end. A code is the index of a level in its column, -1 if missing.
"""

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.row_kernels import (
    CHEAP,
    add_and_clear,
    add_lanes,
    add_times,
    lanes_of,
    sums_of_cells,
)


@compiled
def translate(
    x: Array, least: Array, size: Array, starts: Array, table: Array, unknown: Array, codes: Array
) -> None:
    """Translate integers to codes by a table, `(r, f), 3 of (f,), (k,), (f,) -> (r, f)`."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            at = np.int64(x[i, j]) - least[j]
            code = table[starts[j] + at] if 0 <= at < size[j] else -2
            codes[i, j] = unknown[j] if code == -2 else code


@translate.defined(CHEAP)
def translate_by_definition(
    x: Array, least: Array, size: Array, starts: Array, table: Array, unknown: Array, codes: Array
) -> None:
    at = x - least
    places = np.where((at >= 0) & (at < size), starts + at, -1)
    code = np.append(table, -2)[places]
    codes[:] = np.where(code == -2, unknown, code)


@compiled
def extent(x: Array, least: Array, most: Array) -> None:
    """Update the smallest and largest integer of each column, `(r, f) -> 2 of (f,)`.

    Most rows are within the range of the rows before them, which vectorised comparisons check
    quickly.
    """
    for i in range(x.shape[0]):
        row = x[i]
        beyond = False
        for j in range(len(row)):
            beyond |= (row[j] < least[j]) | (row[j] > most[j])
        for j in range(len(row) if beyond else 0):
            least[j] = min(least[j], row[j])
            most[j] = max(most[j], row[j])


@extent.defined(CHEAP)
def extent_by_definition(x: Array, least: Array, most: Array) -> None:
    np.append(least[None], x, axis=0).min(axis=0, out=least)
    np.append(most[None], x, axis=0).max(axis=0, out=most)


@compiled
def tally(codes: Array, starts: Array, labels: Array, weight: Array, counts: Array) -> int:
    """Add each row's weight to its class's count of each of its levels.

    Shapes: `(r, f), (f + 1,), (r,), (r,) -> (k, c)`.

    Return bits for codes left out: 1 if any was negative (missing), 2 if any was beyond its
    column's levels.
    """
    size = sizes_of(starts)
    unusual = 0
    for i in range(len(codes)):
        c = labels[i]
        w = weight[i]
        for j in range(codes.shape[1]):
            code = np.uint64(codes[i, j])
            if code < size[j]:
                counts[np.uint64(starts[j]) + code, np.uint64(c)] += w
            else:
                unusual |= 1 if codes[i, j] < 0 else 2
    return unusual


@tally.defined(CHEAP)
def tally_by_definition(
    codes: Array, starts: Array, labels: Array, weight: Array, counts: Array
) -> int:
    places, unusual = places_of(codes, starts)
    kept = places >= 0
    rows = np.nonzero(kept)[0]
    # in row order, so that blocks of rows do not change the digits
    np.add.at(counts, (places[kept], labels[rows]), weight[rows])
    return unusual


def places_of(codes: Array, starts: Array) -> tuple[Array, int]:
    """Places of codes in a table of the levels of all columns, -1 if left out; also the bits of
    `tally`.
    """
    missing = codes < 0
    beyond = codes >= np.diff(starts)
    unusual = int(missing.any()) + 2 * int(beyond.any())
    places = starts[:-1] + codes
    return (np.where(missing | beyond, -1, places) if unusual else places), unusual


@compiled
def add_to_classes(x: Array, labels: Array, weight: Array, total: Array) -> None:
    """Add each row, times its weight, to the sums of its class, `(r, f), (r,), (r,) -> (c, f)`."""
    for i in range(len(x)):
        add_times(total[labels[i]], weight[i], x[i])


@add_to_classes.defined(CHEAP)
def add_to_classes_by_definition(x: Array, labels: Array, weight: Array, total: Array) -> None:
    np.add.at(total, labels, weight[:, None] * x)


@compiled
def sizes_of(starts: Array) -> Array:
    """Number of levels of each column, unsigned: a negative code is larger when read as
    unsigned.
    """
    size = np.empty(len(starts) - 1, np.uint64)
    for j in range(len(size)):
        size[j] = np.uint64(starts[j + 1] - starts[j])
    return size


@compiled
def score(codes: Array, starts: Array, table: Array, first: int, out: Array) -> int:
    """Add each row's table entries, `(r, f), (f + 1,), (k, lanes) -> (r, c)`.

    Return the bits of `tally`.
    """
    if table.shape[1] == 8:
        return score_eight(codes, starts, table, first, out)
    total = np.zeros(table.shape[1])
    size = sizes_of(starts)
    unusual = 0
    for i in range(len(codes)):
        for j in range(codes.shape[1]):
            code = np.uint64(codes[i, j])
            if code < size[j]:
                add_times(total, 1.0, table[np.uint64(starts[j]) + code])
            else:
                unusual |= 1 if codes[i, j] < 0 else 2
        add_and_clear(total, 0.0, out[i], first)
    return unusual


@score.defined(CHEAP)
def score_by_definition(codes: Array, starts: Array, table: Array, first: int, out: Array) -> int:
    places, unusual = places_of(codes, starts)
    add_lanes(sums_of_cells(places, lanes_of(table, out, first)), out, first)
    return unusual


@compiled
def score_eight(codes: Array, starts: Array, table: Array, first: int, out: Array) -> int:
    """Compute `score` for eight lanes, `(r, f), (f + 1,), (k, 8) -> (r, c)`.

    Totals in memory would be stored and loaded for every column, which takes longer than the
    addition. Eight variables stay in registers. Reading entries is the slow step, so padding is
    skipped, in pairs.
    """
    total = np.zeros(8)
    size = sizes_of(starts)
    unusual = 0
    classes = out.shape[1] - first
    for i in range(len(codes)):
        a = 0.0
        b = 0.0
        c = 0.0
        d = 0.0
        e = 0.0
        f = 0.0
        g = 0.0
        h = 0.0
        for j in range(codes.shape[1]):
            code = np.uint64(codes[i, j])
            if code < size[j]:
                row = table[np.uint64(starts[j]) + code]
                a = a + row[0]
                b = b + row[1]
                if classes > 2:
                    c = c + row[2]
                    d = d + row[3]
                if classes > 4:
                    e = e + row[4]
                    f = f + row[5]
                if classes > 6:
                    g = g + row[6]
                    h = h + row[7]
            else:
                unusual |= 1 if codes[i, j] < 0 else 2
        total[0], total[1], total[2], total[3] = a, b, c, d
        total[4], total[5], total[6], total[7] = e, f, g, h
        add_and_clear(total, 0.0, out[i], first)
    return unusual
