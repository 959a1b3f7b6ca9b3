"""Columns of zeros and ones, dense or in compressed rows: a one is above the threshold; NaN is missing.

Without a threshold (NaN) a cell must be 0, 1 or missing. A kernel that meets an invalid cell, such as an infinite one,
returns False, and its sums are not to be used.
"""

import numpy as np

from bayesnb.numerics.compilation import Array, Csr, compiled
from bayesnb.numerics.count_kernels import add_entries, labels_of
from bayesnb.numerics.row_kernels import (
    AHEAD,
    CHEAP,
    add_and_clear,
    add_by_class,
    add_lanes,
    add_rows,
    add_times,
    lanes_of,
    longest_row,
    prefetch_row,
    sums_of_cells,
    sums_of_entries,
)

GROUP = 8  # features that are looked up together, as the bits of a byte
GATHER = np.uint64(0x0102040810204080)  # multiplies the lowest bits of eight bytes into the highest byte
LARGEST = 1.7976931348623157e308  # largest double: only NaN and infinities fail abs(v) <= LARGEST
ROWS_OF_BYTES = 255  # rows that a byte can count: then byte counts are added to the sums, and are 0 again


@compiled
def is_invalid(v: float, strict: bool) -> bool:
    """Whether a cell is infinite, or, where there is no threshold, neither 0 nor 1 nor missing."""
    return (v == v) & ((v - v != 0) | (strict & (v != 0) & (v != 1)))


def all_valid(x: Array, threshold: float) -> bool:
    """Whether all cells are finite, or 0 or 1 where there is no threshold, or missing."""
    valid = (x == 0) | (x == 1) if threshold != threshold else ~np.isinf(x)
    return bool((valid | np.isnan(x)).all())


def level_of(threshold: float) -> float:
    """The number that a one is above, as a double, so that single precision is not compared with a rounded one."""
    return np.float64(0.5 if threshold != threshold else threshold)


@compiled
def tally(x: Array, labels: Array, weight: Array, threshold: float, ones: Array, missing: Array) -> bool:
    """Add the weights of the ones and of the missing cells, `(r, f), (r,), (r,) -> (c, f) each`.

    Cells are looked at one by one only if a column's sum in `strange` says that one is missing or invalid.
    """
    strict = threshold != threshold
    level = 0.5 if strict else threshold
    strange, invalid = np.zeros(x.shape[1]), 0
    for i in range(len(x)):
        add_ones(x[i], weight[i], level, strict, ones[labels[i]], strange)
    if strange.sum() != 0.0:
        for i in range(len(x)):
            invalid |= add_missing(x[i], weight[i], strict, missing[labels[i]])
    return invalid == 0


@tally.defined(CHEAP)
def tally_by_definition(x: Array, labels: Array, weight: Array, threshold: float, ones: Array, missing: Array) -> bool:
    add_by_class(labels, weight[:, None] * (x > level_of(threshold)), ones)
    gaps = np.isnan(x)
    if gaps.any():
        add_by_class(labels, weight[:, None] * gaps, missing)
    return all_valid(x, threshold)


@compiled
def add_ones(row: Array, w: float, level: float, strict: bool, ones: Array, strange: Array) -> None:
    """Add the weight of a row's ones, and to `strange` what is not 0 where a cell is missing or invalid."""
    for j in range(len(row)):
        one = row[j] > level
        ones[j] += w if one else 0.0
        strange[j] += abs(row[j] - (np.float64(one) if strict else row[j]))  # of an infinity and itself, NaN


@compiled
def add_missing(row: Array, w: float, strict: bool, missing: Array) -> int:
    """Add the weight of a row's missing cells; return 1 if a cell is invalid, else 0."""
    invalid = 0
    for j in range(len(row)):
        missing[j] += 0.0 if row[j] == row[j] else w
        invalid |= is_invalid(row[j], strict)
    return invalid


@compiled
def tally_bytes(x: Array, labels: Array, threshold: float, ones: Array) -> bool:
    """Add the number of ones of unweighted rows of bytes, `(r, f), (r,) -> (c, f)`."""
    strict = threshold != threshold
    # a byte too, as the bytes of a row are then compared at once
    level = np.uint8(0.0 if strict else min(np.floor(threshold), 255.0))
    classes, features = ones.shape
    few, rows = np.zeros((classes, features), np.uint8), np.zeros(classes, np.int64)
    invalid = 0
    for i in range(len(x)):
        c = labels[i]
        invalid |= add_bytes(x[i], level, few[c])
        rows[c] += 1
        if rows[c] == ROWS_OF_BYTES:
            rows[c] = 0
            empty(few[c], ones[c])
    for c in range(classes):
        empty(few[c], ones[c])
    return not strict or invalid == 0


@tally_bytes.defined(CHEAP)
def tally_bytes_by_definition(x: Array, labels: Array, threshold: float, ones: Array) -> bool:
    add_by_class(labels, x > level_of(threshold), ones)
    return threshold == threshold or not (x > 1).any()


@compiled
def add_bytes(row: Array, level: np.uint8, few: Array) -> int:
    """Add a row's ones to counts of one byte each; return 1 if a cell is neither 0 nor 1, else 0."""
    invalid = np.uint8(0)
    for j in range(len(row)):
        few[j] += np.uint8(row[j] > level)
        invalid |= row[j]
    return int(invalid > 1)


@compiled
def empty(few: Array, ones: Array) -> None:
    """Move counts of one byte each to the sums."""
    for j in range(len(few)):
        ones[j] += few[j]
        few[j] = np.uint8(0)


@compiled
def score(x: Array, threshold: float, table: Array, one: Array, zero: Array, first: int, out: Array) -> bool:
    """Add the score of each cell, `(r, f), (groups * 256, lanes), 2 of (f, lanes) -> (r, c)`.

    The bits of GROUP features are the place in a table of their summed scores. Rows with missing cells go cell by cell,
    and so do all rows where the table is empty.
    """
    strict = threshold != threshold
    level = 0.5 if strict else threshold
    features, invalid = x.shape[1], 0
    groups = len(table) // 256
    bits, total = np.zeros(-(-features // GROUP) * GROUP, np.uint8), np.zeros(one.shape[1])
    words, places = bits.view(np.uint64), np.empty(groups, np.uint64)
    for i in range(len(x)):
        strange = read_flags(x[i], bits) if strict else read_bits(x[i], level, bits)
        if strange:
            for j in range(features):
                invalid |= is_invalid(x[i, j], strict)
        if groups == 0 or strange:
            for j in range(features):
                if x[i, j] == x[i, j]:
                    add_times(total, 1.0, one[j] if bits[j] == 1 else zero[j])
        else:
            for g in range(groups):
                places[g] = np.uint64(g * 256) + ((words[g] * GATHER) >> np.uint64(56))
            add_rows(total, table, places, groups)
        add_and_clear(total, 0.0, out[i], first)
    return invalid == 0


@score.defined()
def score_by_definition(
    x: Array, threshold: float, table: Array, one: Array, zero: Array, first: int, out: Array
) -> bool:
    sides, feature = np.append(zero, one, axis=0), np.arange(x.shape[1])
    places = feature + len(zero) * (x > level_of(threshold))
    add_lanes(sums_of_cells(np.where(np.isnan(x), -1, places), lanes_of(sides, out, first)), out, first)
    return all_valid(x, threshold)


@compiled
def read_bits(row: Array, level: float, bits: Array) -> bool:
    """Write a row's ones as bytes; return whether a cell is missing or infinite."""
    strange = 0
    for j in range(len(row)):
        bits[j] = np.uint8(row[j] > level)
        strange |= not abs(row[j]) <= LARGEST
    return strange != 0


@compiled
def read_flags(row: Array, bits: Array) -> bool:
    """Write a row's ones as bytes; return whether a cell is neither 0 nor 1."""
    strange = 0
    for j in range(len(row)):
        bits[j] = np.uint8(row[j] == 1)
        strange |= (row[j] != 0) & (row[j] != 1)
    return strange != 0


@compiled
def tally_entries(
    rows: Csr, weight: Array, threshold: float, ones: Array, missing: Array, order: Array, starts: Array,
    first: int, last: int,
) -> bool:  # fmt: skip
    """Add the rows of classes `first` to `last` to their ones and missing cells, `(c, k)` each.

    Return whether all stored cells are valid.
    """
    (data, indices, indptr), strict = rows, threshold != threshold
    level = 0.5 if strict else threshold
    invalid = 0
    for c in range(first, last):
        class_ones, class_missing = ones[c], missing[c]
        for e in range(starts[c], starts[c + 1]):
            i, later = order[e], order[min(e + AHEAD, len(order) - 1)]
            prefetch_row(data, indices, indptr[later], indptr[later + 1])
            w, cells, words = weight[i], data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
            for p in range(len(cells)):
                class_ones[np.uint64(words[p])] += w if cells[p] > level else 0.0
            for p in range(len(cells) if any_strange(cells, strict) else 0):
                invalid |= is_invalid(cells[p], strict)
                class_missing[words[p]] += 0.0 if cells[p] == cells[p] else w
    return invalid == 0


@compiled
def any_strange(cells: Array, strict: bool) -> bool:
    """Whether a cell is missing or infinite or, if strict, neither 0 nor 1.

    Each loop reads several cells at once, which one that asks for `strict` within would not.
    """
    strange = 0
    if strict:
        for v in cells:
            strange |= (v != 0) & (v != 1)
    else:
        for v in cells:
            strange |= v - v != 0
    return strange != 0


@tally_entries.defined()
def tally_entries_by_definition(
    rows: Csr, weight: Array, threshold: float, ones: Array, missing: Array, order: Array, starts: Array,
    first: int, last: int,
) -> bool:  # fmt: skip
    data, indices, indptr = rows
    part, lengths = slice(indptr[0], indptr[-1]), np.diff(indptr)
    labels = np.repeat(labels_of(len(weight), order, starts, first, last), lengths)
    x, words, weights = data[part], indices[part], np.repeat(weight, lengths)
    add_entries(labels, words, weights * (x > level_of(threshold)), ones[first:last])
    add_entries(labels, words, weights * np.isnan(x), missing[first:last])
    x = x[labels >= 0]
    return all_valid(x, threshold)


@compiled
def score_entries(rows: Csr, threshold: float, gain: Array, zero: Array, first: int, out: Array) -> bool:
    """Add a one's score less that of a zero, and subtract a missing cell's zero: 2 of `(k, lanes) -> (r, c)`.

    The caller has added the score of a row of zeros. Return whether all stored cells are valid.
    """
    (data, indices, indptr), strict = rows, threshold != threshold
    level = 0.5 if strict else threshold
    total, invalid, places = np.zeros(gain.shape[1]), 0, np.empty(longest_row(indptr), np.uint64)
    for i in range(len(indptr) - 1):
        n, missing = 0, 0
        for p in range(indptr[i], indptr[i + 1]):
            v = data[p]
            places[n] = indices[p]
            n += v > level
            missing |= v != v
            invalid |= is_invalid(v, strict)
        add_rows(total, gain, places, n)
        for p in range(indptr[i] if missing else indptr[i + 1], indptr[i + 1]):
            if data[p] != data[p]:
                add_times(total, -1.0, zero[indices[p]])
        add_and_clear(total, 0.0, out[i], first)
    return invalid == 0


@score_entries.defined()
def score_entries_by_definition(rows: Csr, threshold: float, gain: Array, zero: Array, first: int, out: Array) -> bool:
    data, indices, indptr = rows
    part = slice(indptr[0], indptr[-1])
    x, sides = data[part], np.append(gain, -zero, axis=0)
    places = np.where(x > level_of(threshold), indices[part], -1)
    places = np.where(np.isnan(x), len(gain) + indices[part], places)
    add_lanes(sums_of_entries(indptr - indptr[0], places, lanes_of(sides, out, first)), out, first)
    return all_valid(x, threshold)
