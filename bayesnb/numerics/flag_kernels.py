"""Columns of zeros and ones in dense arrays: a one is above the threshold; NaN is missing.

Without a threshold (NaN) every cell must be 0, 1 or missing. Odd cells, infinite ones too, are answered by `False`.
"""

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.row_kernels import add_times, pour

GROUP = 8  # features that are looked up together, as the bits of a byte
GATHER = np.uint64(0x0102040810204080)  # multiplies the lowest bits of eight bytes into the highest byte
LARGEST = 1.7976931348623157e308
ROWS_OF_BYTES = 255  # that one byte can count


@compiled
def is_odd(v: float, strict: bool) -> bool:
    """Whether a cell is infinite, or, where there is no threshold, neither 0 nor 1 nor missing."""
    return (v == v) & ((v - v != 0) | (strict & (v != 0) & (v != 1)))


@compiled
def tally(x: Array, labels: Array, weight: Array, threshold: float, ones: Array, missing: Array) -> bool:
    """Adds the weights of the ones and of the missing cells, `(r, f), (r,), (r,) -> (c, f) each`."""
    strict = threshold != threshold
    level = 0.5 if strict else threshold
    strange, odd = np.zeros(x.shape[1]), 0
    for i in range(len(x)):
        add_ones(x[i], weight[i], level, ones[labels[i]], strange)
    if strict or strange.sum() != 0.0:
        for i in range(len(x)):
            odd |= add_missing(x[i], weight[i], strict, missing[labels[i]])
    return odd == 0


@compiled
def add_ones(row: Array, w: float, level: float, ones: Array, strange: Array) -> None:
    """What is missing or infinite makes NaN of its column's number in `strange`."""
    for j in range(len(row)):
        ones[j] += w if row[j] > level else 0.0
        strange[j] += row[j] - row[j]


@compiled
def add_missing(row: Array, w: float, strict: bool, missing: Array) -> int:
    odd = 0
    for j in range(len(row)):
        missing[j] += 0.0 if row[j] == row[j] else w
        odd |= is_odd(row[j], strict)
    return odd


@compiled
def tally_bytes(x: Array, labels: Array, threshold: float, ones: Array) -> bool:
    """Adds the number of ones where every row counts once, `(r, f), (r,) -> (c, f)`."""
    strict = threshold != threshold
    level = 0.5 if strict else threshold
    classes, features = ones.shape
    few, rows = np.zeros((classes, features), np.uint8), np.zeros(classes, np.int64)
    odd = 0
    for i in range(len(x)):
        c = labels[i]
        odd |= add_bytes(x[i], level, few[c])
        rows[c] += 1
        if rows[c] == ROWS_OF_BYTES:
            rows[c] = 0
            empty(few[c], ones[c])
    for c in range(classes):
        empty(few[c], ones[c])
    return not strict or odd == 0


@compiled
def add_bytes(row: Array, level: float, few: Array) -> int:
    odd = np.uint8(0)
    for j in range(len(row)):
        few[j] += np.uint8(row[j] > level)
        odd |= row[j]
    return int(odd > 1)


@compiled
def empty(few: Array, ones: Array) -> None:
    for j in range(len(few)):
        ones[j] += few[j]
        few[j] = np.uint8(0)


@compiled
def score(x: Array, threshold: float, table: Array, one: Array, zero: Array, first: int, out: Array) -> bool:
    """Adds what every cell is worth, by groups of features, `(r, f), (groups * 256, lanes), 2 of (f, lanes) -> (r, c)`.

    Rows with missing cells, or all of them where the table has no rows, go cell by cell.
    """
    strict = threshold != threshold
    level = 0.5 if strict else threshold
    features, odd = x.shape[1], 0
    groups = len(table) // 256
    bits, total = np.zeros(-(-features // GROUP) * GROUP, np.uint8), np.zeros(one.shape[1])
    words = bits.view(np.uint64)
    for i in range(len(x)):
        strange = read_bits(x[i], level, bits)
        if strange or strict:
            for j in range(features):
                odd |= is_odd(x[i, j], strict)
        if groups == 0 or strange:
            for j in range(features):
                if x[i, j] == x[i, j]:
                    add_times(total, 1.0, one[j] if bits[j] == 1 else zero[j])
        else:
            for g in range(groups):
                add_times(total, 1.0, table[g * 256 + np.int64((words[g] * GATHER) >> np.uint64(56))])
        pour(total, 1.0, 0.0, out[i], first)
    return odd == 0


@compiled
def read_bits(row: Array, level: float, bits: Array) -> bool:
    """Tells if a cell is missing or infinite."""
    strange = 0
    for j in range(len(row)):
        bits[j] = np.uint8(row[j] > level)
        strange |= not abs(row[j]) <= LARGEST
    return strange != 0
