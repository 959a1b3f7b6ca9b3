"""Moments of the rows of each class, as exact as two passes over a block that stays in a core's
cache can be.

Raw sums of squares lose all digits of columns such as 1e8 +- 1. So a block's mean is found first,
then sums of deviations from it, whose mean corrects the first, rounded one; blocks are merged by
Chan, Golub and LeVeque (1979).

`total` and `block` hold the count, the mean, the low part of the mean, and the summed squared
deviation (ssd) of each class, `(4, c, f)`; `block` has a fifth part for what a sum rounded away.
"""

import math

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.row_kernels import group
from bayesnb.numerics.special import ratio

COUNT, MEAN, SLIP, SSD, LOST = range(5)
BLOCK = 1 << 15  # cells: 256 KiB, which stay in a core's second-level cache for the second pass
# numbers, a copy included: a definition reads them some ten times, at a nanosecond each
LITTLE = 1 << 16
# standard deviation, as a part of the mean, that is rounding: no two doubles are closer than 1e-16
TINY = 2e-20


@compiled
def moments(x: Array, codes: Array, weight: Array, total: Array) -> None:
    """Add the rows `(r, f)` of classes `(r,)`, which count by their weights, to `(4, c, f)` zeros.

    Missing cells are left out one by one: they deviate from the class's mean by nothing.
    """
    rows, features = x.shape
    classes = total.shape[1]
    step = max(BLOCK // features, 4 * classes)
    order = np.empty(min(step, rows), np.int64)
    starts = np.empty(classes + 1, np.int64)
    block = np.empty((5, classes, features))
    for start in range(0, rows, step):
        part = x[start : start + step]
        labels = codes[start : start + step]
        w = weight[start : start + step]
        group(labels, order, starts)
        block[:] = 0.0
        if not means(part, w, labels, order, starts, block):
            block[:] = 0.0
            means_of_known(part, w, labels, block)
        spread(part, w, order, starts, block)
        merge(total, block)


@moments.defined(LITTLE)
def moments_in_one_block(x: Array, codes: Array, weight: Array, total: Array) -> None:
    for c in np.unique(codes):
        of_class = codes == c
        cells = np.ascontiguousarray(x[of_class].T)  # sums over the last axis are pairwise
        known = ~np.isnan(cells)
        w = np.where(known, weight[of_class], 0.0)
        with np.errstate(all="ignore"):
            count = w.sum(axis=1)
            mean = ratio((w * np.where(known, cells, 0.0)).sum(axis=1), count)
            deviation = np.where(known, cells - mean[:, None], 0.0)
            exact = np.array(list(map(math.sumprod, w.tolist(), deviation.tolist())))
            slip = ratio(exact, count)
            ssd = (w * deviation * deviation).sum(axis=1) - count * slip * slip
            total[:, c] = count, mean, slip, np.maximum(ssd, 0.0)


@compiled
def merge(total: Array, new: Array) -> None:
    """Merge a block into the total, in place: ssd = ssd_a + ssd_b + n_a n_b / (n_a + n_b) (mean_b -
    mean_a)**2.

    Means are pairs of numbers, so that their difference keeps its digits.
    """
    for c in range(total.shape[1]):
        for j in range(total.shape[2]):
            n = new[COUNT, c, j]
            if n > 0.0:
                before = total[COUNT, c, j]
                both = before + n
                gap = (new[MEAN, c, j] - total[MEAN, c, j]) + (new[SLIP, c, j] - total[SLIP, c, j])
                if before == 0.0:  # the first rows of the class
                    total[MEAN, c, j], total[SLIP, c, j] = new[MEAN, c, j], new[SLIP, c, j]
                    gap = 0.0
                share = n / both
                total[SSD, c, j] += new[SSD, c, j] + before * share * gap * gap
                total[SLIP, c, j] += share * gap
                total[COUNT, c, j] = both


@compiled
def means(x: Array, weight: Array, codes: Array, order: Array, starts: Array, block: Array) -> bool:
    """Write a block's counts, and means by a plain sum.

    Return whether no mean is missing or infinite.
    """
    features = x.shape[1]
    finite = True
    for i in range(len(x)):
        c = codes[i]
        w = weight[i]
        for j in range(features):
            block[MEAN, c, j] += w * x[i, j]
    for c in range(block.shape[1]):
        count = 0.0
        for e in range(starts[c], starts[c + 1]):
            count += weight[order[e]]
        for j in range(features):
            mean = block[MEAN, c, j] / count if count > 0.0 else 0.0
            block[COUNT, c, j], block[MEAN, c, j] = count, mean
            finite &= mean - mean == 0.0
    return finite


@compiled
def spread(x: Array, w: Array, order: Array, starts: Array, block: Array) -> None:
    """Write a block's ssd about its means, and correct the means by the mean deviation that is
    left.

    Deviations are added up to `SLIP`, what that rounds away to `LOST`, and their squares to `SSD`:
    of four rows at a time, so that there is one load and store for four terms.
    """
    for c in range(block.shape[1]):
        count = block[COUNT, c]
        mean = block[MEAN, c]
        slip = block[SLIP, c]
        lost = block[LOST, c]
        ssd = block[SSD, c]
        first = starts[c]
        last = starts[c + 1]
        for e in range(first, last - (last - first) % 4, 4):
            p = order[e]
            q = order[e + 1]
            r = order[e + 2]
            t = order[e + 3]
            for j in range(len(mean)):
                a = known_or_zero(x[p, j] - mean[j])
                b = known_or_zero(x[q, j] - mean[j])
                d = known_or_zero(x[r, j] - mean[j])
                f = known_or_zero(x[t, j] - mean[j])
                wa = w[p] * a
                wb = w[q] * b
                wd = w[r] * d
                wf = w[t] * f
                old = slip[j]
                new = (wa + wb) + (wd + wf)
                slip[j] = old + new
                lost[j] += rounded_away(old, new)
                ssd[j] += (wa * a + wb * b) + (wd * d + wf * f)
        for e in range(last - (last - first) % 4, last):
            row = order[e]
            w_row = w[order[e]]
            for j in range(len(mean)):
                d = known_or_zero(x[row, j] - mean[j])
                old = slip[j]
                new = w_row * d
                slip[j] = old + new
                lost[j] += rounded_away(old, new)
                ssd[j] += new * d
        for j in range(len(mean)):
            if count[j] > 0.0:
                slip[j] = (slip[j] + lost[j]) / count[j]
                ssd[j] = max(ssd[j] - count[j] * slip[j] * slip[j], 0.0)


@compiled
def means_of_known(x: Array, weight: Array, codes: Array, block: Array) -> None:
    """Write a block's counts and means, missing cells left out."""
    for i in range(len(x)):
        count = block[COUNT, codes[i]]
        total = block[MEAN, codes[i]]
        for j in range(len(count)):
            cell = x[i, j]
            known = cell == cell
            count[j] += weight[i] if known else 0.0
            total[j] += weight[i] * (cell if known else 0.0)
    for c in range(block.shape[1]):
        for j in range(block.shape[2]):
            if block[COUNT, c, j] > 0.0:
                block[MEAN, c, j] /= block[COUNT, c, j]


@compiled
def known_or_zero(deviation: float) -> float:
    """A cell's deviation; 0 of a missing one."""
    return deviation if deviation == deviation else 0.0


@compiled
def rounded_away(a: float, b: float) -> float:
    """What `a + b` loses, exactly: two-sum, Knuth (1969), The Art of Computer Programming 2,
    section 4.2.2.

    It needs the order of these operations, which is why kernels are compiled without reassociation.
    """
    total = a + b
    kept = total - a
    return (a - (total - kept)) + (b - kept)


def finish(total: Array) -> None:
    """Join the two parts of the mean; what rounding left of a constant column's ssd becomes 0."""
    count, mean, slip, ssd = total
    mean += slip
    least = TINY * np.abs(mean)
    with np.errstate(over="ignore", invalid="ignore"):
        # whose square is a double
        ssd[(ssd <= count * least * least) & (least < 1e140)] = 0.0
