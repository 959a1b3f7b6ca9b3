"""Moments of the rows of each class, as exact as two passes over a block that stays in a core's
cache can be.

Raw sums of squares lose all digits of columns such as 1e8 +- 1. So a block's mean is found first,
then sums of deviations from it, whose mean corrects the first, rounded one; blocks are merged by
Chan, Golub and LeVeque (1979).

Working memory comes from the caller: `total` and `block` hold the count, the mean, the low part of
the mean, and the summed squared deviation (ssd) of each class, `(4, c, f)`; `block` has a fifth
part for what a sum rounded away.
"""

import math
from collections.abc import Iterator

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
def moments(
    x: Array,
    codes: Array,
    weight: Array,
    holes: bool | None,
    order: Array,
    starts: Array,
    block: Array,
    total: Array,
) -> bool:
    """Add the rows `(r, f)` of classes `(r,)`, which count by their weights, to the total.

    Shape: `(4, c, f)`.

    Missing cells are left out one by one if there are `holes`: the second pass reads a copy of the
    block, with the class's mean in place of a missing cell, which so deviates by nothing. If
    `holes` is None (of a False Numba would compile both branches), return whether no cell is
    missing or infinite: at the first block with one it stops, which with those behind it is not in
    the total.
    """
    rows, features = x.shape
    step = max(BLOCK // features, 4 * total.shape[1])
    copy = np.empty((0 if holes is None else min(step, rows), features))
    for start in range(0, rows, step):
        stop = min(start + step, rows)
        part = x[start:stop]
        labels = codes[start:stop]
        w = weight[start:stop]
        group(labels, order, starts)
        block[:] = 0.0
        if holes is None:
            if not means(part, w, labels, order, starts, block):
                return False
            spread(part, w, order, starts, block)
        else:
            whole = copy[: stop - start]
            means_with_holes(part, labels, w, block, whole)
            spread(whole, w, order, starts, block)
        merge(total, block)
    return True


@moments.defined(LITTLE)
def moments_in_one_block(
    x: Array,
    codes: Array,
    weight: Array,
    holes: bool | None,
    order: Array,
    starts: Array,
    block: Array,
    total: Array,
) -> bool:
    order[:] = np.argsort(codes, kind="stable")
    starts[:] = np.searchsorted(codes, np.arange(len(starts)), sorter=order)
    block[:] = 0.0
    count, mean, slip, ssd, _ = block
    missing = np.zeros(x.shape, bool) if holes is None else np.isnan(x)
    w = np.where(missing, 0.0, weight[:, None])
    cells = np.where(missing, 0.0, x)
    with np.errstate(all="ignore"):
        np.add.at(count, codes, w)
        for c, j, of_rows in columns_of_classes(order, starts, count):
            mean[c, j] = (
                math.sumprod(w[of_rows, j].tolist(), cells[of_rows, j].tolist()) / count[c, j]
            )
        if holes is None and not np.isfinite(mean).all():
            return False
        # what rounding left of the means
        for c, j, of_rows in columns_of_classes(order, starts, count):
            weights = w[of_rows, j].tolist()
            numbers = cells[of_rows, j].tolist()
            # not the count, which is rounded, times the mean
            means = [-float(mean[c, j])] * len(weights)
            slip[c, j] = math.sumprod(weights + weights, numbers + means) / count[c, j]
        deviation = np.where(missing, 0.0, x - mean[codes])
        np.add.at(ssd, codes, w * deviation * deviation)
        ssd[:] = np.where(count > 0, np.maximum(ssd - count * slip * slip, 0.0), ssd)
        merge(total, block)
    return True


def columns_of_classes(
    order: Array, starts: Array, count: Array
) -> Iterator[tuple[int, int, Array]]:
    """Yield each class and column that has cells, with the class's rows."""
    for c, j in np.argwhere(count > 0.0).tolist():
        yield c, j, order[starts[c] : starts[c + 1]]


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


@merge.defined(LITTLE)
def merge_by_definition(total: Array, new: Array) -> None:
    before, mean, slip, ssd = total
    first = (before == 0.0) & (new[COUNT] > 0.0)
    mean[first], slip[first] = new[MEAN][first], new[SLIP][first]
    gap = np.where(first, 0.0, (new[MEAN] - mean) + (new[SLIP] - slip))
    share = ratio(new[COUNT], before + new[COUNT])
    ssd += np.where(new[COUNT] > 0.0, new[SSD] + before * share * gap * gap, 0.0)
    slip += np.where(new[COUNT] > 0.0, share * gap, 0.0)
    before += new[COUNT]


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
                a = x[p, j] - mean[j]
                b = x[q, j] - mean[j]
                d = x[r, j] - mean[j]
                f = x[t, j] - mean[j]
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
                d = x[row, j] - mean[j]
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
def means_with_holes(x: Array, codes: Array, weight: Array, block: Array, copy: Array) -> None:
    """Write a block's counts and means, missing cells left out, and a copy with the means in place
    of these.
    """
    for i in range(len(x)):
        add_seen(block[COUNT, codes[i]], block[MEAN, codes[i]], x[i], weight[i])
    for c in range(block.shape[1]):
        for j in range(block.shape[2]):
            if block[COUNT, c, j] > 0.0:
                block[MEAN, c, j] /= block[COUNT, c, j]
    for i in range(len(x)):
        fill_holes(x[i], block[MEAN, codes[i]], copy[i])


@compiled
def fill_holes(row: Array, mean: Array, out: Array) -> None:
    """Write a row with means in place of missing cells."""
    for j in range(len(out)):
        cell = row[j]
        m = mean[j]
        out[j] = cell if cell == cell else m


@compiled
def add_seen(count: Array, total: Array, row: Array, w: float) -> None:
    """Add a row's cells that are not missing, and their weight."""
    for j in range(len(count)):
        cell = row[j]
        seen = cell == cell
        count[j] += w if seen else 0.0
        total[j] += w * (cell if seen else 0.0)


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
