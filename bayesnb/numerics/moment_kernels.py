"""Moments of the rows of each class, by two passes over blocks that fit in a core's cache.

Raw sums of squares lose all digits of columns such as 1e8 +- 1. So the mean of a block comes first,
then the deviations from it, whose own mean corrects its rounding error; blocks are merged by the
formula of Chan, Golub and LeVeque (1979).

`total` and `block` hold the count, the mean, the low part of the mean, and the summed squared
deviation (ssd) of each class, `(4, c, f)`; `block` has a fifth part for rounding errors of a sum.

Cumulants of log densities are summed over features. For a Gaussian with a normal-inverse-gamma
belief, K(s) = log E[p(x | theta)**s] depends on the cell x only through

    rho = 1 / count + (x - location)**2 / (2 scale)
    K(s) = ... - (shape + s / 2) log(1 + rho s)

whose derivatives at 0 are -y, rho (y - 1), -rho**2 (2 y - 3/2) and rho**3 (6 y - 4), with y = shape
rho. At a tilt t, 1 + rho (t + s) = (1 + rho t)(1 + rho' s) with rho' = rho / (1 + rho t): the same
terms with shape + t / 2 and rho', and -log(1 + rho t) / 2 in the first. A power w of p(x | theta)
has K(w s): w rho and w s / 2 replace rho and s / 2.
"""

import math

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.elementary import log1p
from bayesnb.numerics.gaussian_kernels import LANES, transpose
from bayesnb.numerics.row_kernels import any_infinite_or_missing, group
from bayesnb.numerics.special import ratio

COUNT, MEAN, SLIP, SSD, LOST = range(5)
BLOCK = 1 << 15  # cells: 256 KiB, which stay in a core's second-level cache for the second pass
# size of the arguments; a definition reads them about ten times, at a nanosecond each
LITTLE = 1 << 16
# smaller standard deviations, relative to the mean, are rounding: doubles are not closer than 1e-16
TINY = 2e-20


@compiled
def moments(x: Array, codes: Array, weight: Array, total: Array) -> None:
    """Add weighted rows, `(r, f)`, of classes, `(r,)`, to `(4, c, f)` zeros.

    Missing cells are left out one by one: their deviation from the mean of the class counts as 0.
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

    Means are pairs of numbers, so that differences keep their digits.
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
    """Write the counts of a block, and means by plain sums; return whether all means are finite."""
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
    """Write the ssd of a block about its means, and correct the means by the remaining mean
    deviation.

    Deviations are summed in `SLIP`, its rounding errors in `LOST`, and squares in `SSD`, four rows
    at a time, so that four terms need one load and store.
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
    """Write the counts and means of a block, without missing cells."""
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
    """Deviation of a cell, 0 if it is missing."""
    return deviation if deviation == deviation else 0.0


@compiled
def rounded_away(a: float, b: float) -> float:
    """Exact rounding error of `a + b`: two-sum, Knuth (1969), The Art of Computer Programming 2,
    section 4.2.2.

    The order of operations matters, so kernels are compiled without reassociation.
    """
    total = a + b
    kept = total - a
    return (a - (total - kept)) + (b - kept)


def finish(total: Array) -> None:
    """Join the two parts of the mean, and set the ssd of columns that are constant up to rounding
    to 0.
    """
    count, mean, slip, ssd = total
    mean += slip
    least = TINY * np.abs(mean)
    with np.errstate(over="ignore", invalid="ignore"):
        # below 1e140 the square is a double
        ssd[(ssd <= count * least * least) & (least < 1e140)] = 0.0


@compiled
def student_cumulants(
    x: Array, location: Array, width: Array, spread: Array, shape: Array, power: Array,
    tilt: float, still: Array,
    out: Array,
) -> bool:  # fmt: skip
    """Four cumulants at a tilt, `(r, f), 4 of (c, f), (f,) -> (4, r, c)`.

    `still`, `(4, c)`, is the part that does not depend on cells. Shapes already include the tilt,
    and width and spread the power. Missing cells count as cells at the location; return whether
    there are any.
    """
    features = x.shape[1]
    incomplete = False
    tile = np.empty((features, LANES))
    sums = np.empty(5 * LANES)
    for start in range(0, len(x), LANES):
        part = x[start : start + LANES]
        transpose(part, tile)
        incomplete |= any_infinite_or_missing(part)
        for c in range(len(location)):
            sums[:] = 0.0
            for j in range(features):
                w = power[j]
                terms = location[c, j], width[c, j], spread[c, j], shape[c, j], w, tilt
                add_terms(tile[j], *terms, sums)
                # four factors up to 1e77 fit a double
                if j % 4 == 3 or j == features - 1 or power[j + 1] != w:
                    for i in range(LANES):
                        sums[i] -= 0.5 * w * log1p(sums[4 * LANES + i])
                        sums[4 * LANES + i] = 0.0
            for n in range(4):
                for i in range(len(part)):
                    out[n, start + i, c] = still[n, c] + sums[n * LANES + i]
    return incomplete


@compiled
def add_terms(
    x: Array,
    location: float,
    width: float,
    spread: float,
    shape: float,
    w: float,
    tilt: float,
    sums: Array,
) -> None:
    """Add the four terms of one feature in each lane.

    They are in one array, so that LLVM knows that they do not overlap. A fifth part of `sums`
    collects the product of 1 + rho tilt; half of its logarithm is later subtracted from the first
    cumulant.
    """
    three = 1.5 * w
    four = 4.0 * w
    for i in range(LANES):
        d = x[i] - location
        d = d if d == d else 0.0
        rho = spread + width * d * d
        u = tilt * rho
        q = sums[4 * LANES + i]
        sums[4 * LANES + i] = q + (u + q * u)
        rho /= 1.0 + u
        y = shape * rho
        square = rho * rho
        sums[i] -= y
        sums[LANES + i] += rho * (y - w)
        sums[2 * LANES + i] -= square * (2.0 * y - three)
        sums[3 * LANES + i] += square * rho * (6.0 * y - four)
