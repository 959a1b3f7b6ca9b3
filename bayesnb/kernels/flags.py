"""Columns of zeros and ones in dense arrays: a one is above the threshold; NaN is missing.

Without a threshold (NaN) every cell must be 0, 1 or missing; anything else, and infinity, is answered by `False`.
"""

import numpy as np

from bayesnb.kernels.compiled import compiled

GROUP = 4  # features that are looked up together
ROWS_OF_BYTES = 255  # that one byte can count


@compiled
def tally(x, labels, weight, threshold, ones, missing):
    """Adds the weights of the ones and of the missing cells, `(r, f), (r,), (r,) -> (c, f) each`."""
    strict = threshold != threshold
    level = 0.5 if strict else threshold
    odd = 0
    for i in range(len(x)):
        odd |= tally_row(x[i], weight[i], strict, level, ones[labels[i]], missing[labels[i]])
    return odd == 0


@compiled
def tally_row(row, w, strict, level, ones, missing):
    odd = 0
    for j in range(len(row)):
        v = row[j]
        ones[j] += w if v > level else 0.0
        missing[j] += 0.0 if v == v else w
        odd |= is_odd(v, strict)
    return odd


@compiled
def is_odd(v, strict):
    """Whether a cell is infinite, or, where there is no threshold, neither 0 nor 1 nor missing."""
    return (v == v) & ((v - v != 0) | (strict & (v != 0) & (v != 1)))


@compiled
def tally_bytes(x, labels, threshold, ones):
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
            pour(few[c], ones[c])
    for c in range(classes):
        pour(few[c], ones[c])
    return not strict or odd == 0


@compiled
def add_bytes(row, level, few):
    odd = np.uint8(0)
    for j in range(len(row)):
        few[j] += np.uint8(row[j] > level)
        odd |= row[j]
    return odd > 1


@compiled
def pour(few, ones):
    for j in range(len(few)):
        ones[j] += few[j]
        few[j] = np.uint8(0)


@compiled
def pack(x, threshold, digits, codes):
    """GROUP features as one number with a digit each, 1 above the threshold, 2 if missing: `(r, f) -> (r, groups)`.

    Tells what was found: 1 if a cell is
    missing, which two digits cannot say, 2 if one is odd.
    """
    strict = threshold != threshold
    level = 0.5 if strict else threshold
    features = x.shape[1]
    whole = features - features % GROUP
    hole, odd = 0, 0
    for i in range(len(x)):
        for start in range(0, features, GROUP):
            number, worth = 0, 1
            for j in range(start, start + GROUP if start < whole else features):
                v = x[i, j]
                seen = v == v
                number += worth * (np.int64(v > level) + np.int64(not seen) * 2)
                worth *= digits
                hole |= not seen
                odd |= is_odd(v, strict)
            codes[i, start // GROUP] = number
    return np.int64(hole) + 2 * np.int64(odd)
