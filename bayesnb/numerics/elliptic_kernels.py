"""Mahalanobis distances of rows from class means, and the means and scatter matrices of each class.

    distance**2 = |whitening @ (x - location)|**2      whitening = inverse Cholesky factor of a
    covariance

Rows are the lanes of a transposed tile. A whitening is lower triangular: half of its entries are
never read.
"""

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.gaussian_kernels import LANES, transpose
from bayesnb.numerics.row_kernels import clear

# columns added to a lane at once, and rows added to a scatter: one load and store of a sum for four
# terms
BLOCK = 4


@compiled
def distances(x: Array, middle: Array, whitening: Array, steps: Array, out: Array) -> None:
    """Squared lengths of whitening @ (x - middle) - steps: `(r, d), (k, d), (k, d, d), (k, c, d) ->
    (r, k * c)`.

    Classes have whitenings of their own and no steps, or one in common, under which a row is
    whitened once for all: then the steps are their whitened means less the middle, as differences
    of large numbers lose their digits.
    """
    width, (whitenings, classes, _) = x.shape[1], steps.shape
    tile, gap = np.empty((width, LANES)), np.zeros((-(-width // BLOCK) * BLOCK, LANES))
    spare, total = np.empty(LANES), np.empty((classes, LANES))
    for start in range(0, len(x), LANES):
        part = x[start : start + LANES]
        transpose(part, tile)
        for k in range(whitenings):
            for j in range(width):
                for i in range(LANES):
                    gap[j, i] = tile[j, i] - middle[k, j]
            total[:] = 0.0
            for row in range(width):
                whitened_row(gap, whitening[k, row], row, spare)
                for c in range(classes):
                    lane_sums, step = total[c], steps[k, c, row]
                    for i in range(LANES):
                        z = spare[i] - step
                        lane_sums[i] += z * z
            for i in range(len(part)):
                for c in range(classes):
                    out[start + i, k * classes + c] = total[c, i]


@distances.defined()
def distances_by_definition(
    x: Array, middle: Array, whitening: Array, steps: Array, out: Array
) -> None:
    whitenings, classes, _ = steps.shape
    with np.errstate(all="ignore"):
        for k in range(whitenings):
            white = (x - middle[k]) @ np.tril(whitening[k]).T
            for c in range(classes):
                z = white - steps[k, c]
                out[:, k * classes + c] = np.einsum("ij,ij->i", z, z)


@compiled
def whitened_row(gap: Array, weights: Array, row: int, spare: Array) -> None:
    """Row `row` of whitening @ gap in each lane, `weights` being that row of the whitening."""
    clear(spare)
    for j in range(0, row + 1, BLOCK):
        w0 = weights[j]
        w1 = weights[j + 1] if j + 1 <= row else 0.0
        w2 = weights[j + 2] if j + 2 <= row else 0.0
        w3 = weights[j + 3] if j + 3 <= row else 0.0
        for i in range(LANES):
            spare[i] += (w0 * gap[j, i] + w1 * gap[j + 1, i]) + (
                w2 * gap[j + 2, i] + w3 * gap[j + 3, i]
            )


@compiled
def moments(
    x: Array, order: Array, starts: Array, weight: Array, count: Array, mean: Array, scatter: Array
) -> None:
    """Weight, mean and scatter of each class's complete rows: `(r, d) -> (c,), (c, d), (c, d, d)`.

    The rows of class c are `order[starts[c] : starts[c + 1]]`. Two passes: the mean about the first
    row, then products about the mean, as raw products of numbers around 1e8 have no correct digit
    left.
    """
    width = x.shape[1]
    kept, slip, gap = np.empty(len(order), np.int64), np.empty(width), np.zeros((BLOCK, width))
    for c in range(len(count)):
        rows = complete_rows(x, order[starts[c] : starts[c + 1]], weight, kept)
        if rows == 0:
            continue
        complete, middle = kept[:rows], mean[c]
        count[c] = center(x, complete, weight, middle, slip)
        clear(slip)
        for first in range(0, rows, BLOCK):
            for k in range(BLOCK):
                center_row(x, complete, first + k, middle, gap[k])
            add_products(gap, complete, first, weight, slip, scatter[c])
        settle(count[c], slip, middle, scatter[c])


@moments.defined()
def moments_by_definition(
    x: Array, order: Array, starts: Array, weight: Array, count: Array, mean: Array, scatter: Array
) -> None:
    kept = (weight != 0.0) & ~np.isnan(x).any(axis=1)
    with np.errstate(all="ignore"):
        for c in range(len(count)):
            rows = order[starts[c] : starts[c + 1]]
            rows = rows[kept[rows]]
            if rows.size:
                part, w = x[rows].astype(float), weight[rows]
                count[c] = w.sum()
                middle = part[0] + w @ (part - part[0]) / count[c]
                gap = part - middle
                weighted = w[:, None] * gap
                slip = weighted.sum(axis=0) / count[c]
                mean[c] = middle + slip
                lower = np.tril(weighted.T @ gap - count[c] * np.outer(slip, slip))
                scatter[c] += lower + np.tril(lower, -1).T


@compiled
def complete_rows(x: Array, order: Array, weight: Array, kept: Array) -> int:
    """List in `kept` the rows of positive weight without a missing cell; return their number."""
    rows = 0
    for e in range(len(order)):
        row, missing = order[e], 0
        for j in range(x.shape[1]):
            missing |= x[row, j] != x[row, j]
        if missing == 0 and weight[row] != 0.0:
            kept[rows] = row
            rows += 1
    return rows


@compiled
def center(x: Array, rows: Array, weight: Array, mean: Array, total: Array) -> float:
    """Write the rows' mean, summed about the first of them; return their weight."""
    start, count = rows[0], 0.0
    clear(total)
    for e in range(len(rows)):
        row, w = rows[e], weight[rows[e]]
        count += w
        for j in range(x.shape[1]):
            total[j] += w * (np.float64(x[row, j]) - np.float64(x[start, j]))
    for j in range(x.shape[1]):
        mean[j] = x[start, j] + total[j] / count
    return count


@compiled
def center_row(x: Array, rows: Array, e: int, middle: Array, gap: Array) -> None:
    """Write one row less the middle; zeros beyond the last row."""
    if e >= len(rows):
        clear(gap)
        return
    row = rows[e]
    for j in range(len(gap)):
        gap[j] = x[row, j] - middle[j]


@compiled
def add_products(
    gap: Array, rows: Array, first: int, weight: Array, slip: Array, scatter: Array
) -> None:
    """Add the products of BLOCK rows to the lower triangle of a scatter; a row that is not there is
    all zeros.
    """
    last = len(rows) - 1
    u = weight[rows[first]]
    v = weight[rows[min(first + 1, last)]]
    w = weight[rows[min(first + 2, last)]]
    z = weight[rows[min(first + 3, last)]]
    for i in range(len(slip)):
        a, b, c, d = u * gap[0, i], v * gap[1, i], w * gap[2, i], z * gap[3, i]
        slip[i] += (a + b) + (c + d)
        scatter_row = scatter[i]
        for j in range(i + 1):
            scatter_row[j] += (a * gap[0, j] + b * gap[1, j]) + (c * gap[2, j] + d * gap[3, j])


@compiled
def settle(count: float, slip: Array, mean: Array, scatter: Array) -> None:
    """Correct the mean by the mean deviation, which only rounding left, and the scatter for it;
    fill its upper half.

    sum (x - m)(x - m)' = sum (x - m - slip)(x - m - slip)' + count slip slip'.
    """
    for i in range(len(slip)):
        slip[i] /= count
        mean[i] += slip[i]
    for i in range(len(slip)):
        for j in range(i + 1):
            scatter[i, j] -= count * slip[i] * slip[j]
            scatter[j, i] = scatter[i, j]
