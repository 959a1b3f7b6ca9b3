"""Sums of Gaussian and Student-t log densities over features.

    log t(x) = height - exponent * log1p(width * (x - mean)**2)
    exponent = (degrees of freedom + 1) / 2

The logarithm is the slow step. Where all exponents of a class are equal (it has no missing cell),
the sum over features is one logarithm of a product. The product is stored as q with 1 + q = prod (1
+ u_j): q + u + q u keeps the digits of small u, which a plain product would round away next to 1
(an error of 1e-12 in the end, instead of 3e-16).

Rows are the lanes of a transposed tile, so that the innermost loop over LANES rows vectorises.
"""

import math
from collections.abc import Callable

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.elementary import SMALL, log1p, series
from bayesnb.numerics.row_kernels import any_infinite_or_missing, clear
from bayesnb.numerics.threads import blocks

# rows of a tile: eight vectors of AVX-512 hide the latency of a product, and the tile fits in cache
LANES = 64
# a product above it is replaced by its logarithm: the next factor could be 1e248 without overflow
LARGE = 1e60
# size of the arguments: at most about 5e5 logarithms, a few milliseconds
LITTLE = 1 << 15
# rows times classes times features at once in a definition, which fit in a core's cache
CELLS = 1 << 14
SMALL_FALL = 0.29  # below -0.29, 1 + u < sqrt(1/2), the lower end of the series


@compiled
def student(
    x: Array, mean: Array, width: Array, exponent: Array, height: Array, alike: bool, out: Array
) -> bool:
    """Add height - exponent * log1p(width * (x - mean)**2), summed over features.

    Shapes: `(r, f), 4 of (c, f) -> (r, c)`. `alike` says that all exponents of a class are equal.
    Return whether all sums are finite: a product that overflows gives NaN, and the caller scores
    these rows feature by feature.
    """
    features = x.shape[1]
    finite = True
    tile = np.empty((features, LANES))
    spare = np.empty(LANES)
    total = np.empty((len(mean), LANES))
    level = np.empty(len(mean))
    for c in range(len(mean)):
        level[c] = 0.0
        for j in range(features):
            level[c] += height[c, j]
    for start in range(0, len(x), LANES):
        part = x[start : start + LANES]
        sums = out[start : start + LANES]
        if alike and not any_infinite_or_missing(part):
            logs_of_tile(part, mean, width, tile, spare, total)
            for i in range(len(part)):
                for c in range(len(mean)):
                    sums[i, c] += level[c] - exponent[c, 0] * total[c, i]
        else:
            transpose(part, tile)
            for c in range(len(mean)):
                sum_of_each(tile, mean[c], width[c], exponent[c], height[c], spare, total[c])
            for i in range(len(part)):
                for c in range(len(mean)):
                    sums[i, c] += total[c, i]
        finite = finite and not any_infinite_or_missing(sums)
    return finite


@student.defined(LITTLE)
def student_by_definition(
    x: Array, mean: Array, width: Array, exponent: Array, height: Array, alike: bool, out: Array
) -> bool:
    return add_cells(x, mean, lambda gap: height - exponent * np.log1p(width * gap * gap), out)


def add_cells(x: Array, mean: Array, value: Callable[[Array], Array], out: Array) -> bool:
    """Sum a function of the deviation from the mean over features, and add it.

    Missing cells count as 0. Return whether all sums are finite.
    """
    finite = True
    with np.errstate(all="ignore"):
        for rows in blocks(len(x), CELLS // max(mean.size, 1) + 1):
            gap = x[rows, None] - mean
            each = value(gap)
            total = np.add.reduce(each, axis=2)
            # one sum shows whether any is missing or infinite, which keeps single rows fast
            if not math.isfinite(np.add.reduce(total, axis=None)):
                total = np.where(np.isnan(gap), 0.0, each).sum(axis=2)
                finite = finite and bool(np.isfinite(total).all())
            out[rows] += total
    return finite


@compiled
def normal(x: Array, mean: Array, weight: Array, height: Array, out: Array) -> bool:
    """Add height - weight * (x - mean)**2, summed over features: `(r, f), 3 of (c, f) -> (r, c)`.

    Missing cells count as 0. Return whether all sums are finite.
    """
    tile = np.empty((x.shape[1], LANES))
    total = np.empty(LANES)
    finite = True
    for start in range(0, len(x), LANES):
        part = x[start : start + LANES]
        sums = out[start : start + LANES]
        transpose(part, tile)
        for c in range(len(mean)):
            clear(total)
            for j in range(len(tile)):
                m = mean[c, j]
                w = weight[c, j]
                h = height[c, j]
                for i in range(LANES):
                    d = tile[j, i] - m
                    total[i] += h - w * d * d if d == d else 0.0
            for i in range(len(part)):
                sums[i, c] += total[i]
        finite = finite and not any_infinite_or_missing(sums)
    return finite


@normal.defined(LITTLE)
def normal_by_definition(x: Array, mean: Array, weight: Array, height: Array, out: Array) -> bool:
    return add_cells(x, mean, lambda gap: height - weight * gap * gap, out)


@compiled
def logs_of_tile(
    part: Array, mean: Array, width: Array, tile: Array, q: Array, total: Array
) -> None:
    """Sums of log1p over features, `(LANES, f), (c, f), (c, f) -> (c, LANES)`."""
    total[:] = 0.0
    for first in range(0, part.shape[1], LANES):  # features whose tile fits in L1 cache
        features = part[:, first : first + LANES]
        some = tile[: features.shape[1]]
        transpose(features, some)
        for c in range(len(mean)):
            log_product(some, mean[c, first:], width[c, first:], q, total[c])


@compiled
def transpose(part: Array, tile: Array) -> None:
    """Write up to LANES rows as columns of a tile, `(r, f) -> (f, LANES)`, padded with zeros."""
    for i in range(len(part)):
        for j in range(part.shape[1]):
            tile[j, i] = part[i, j]
    for i in range(len(part), LANES):
        for j in range(part.shape[1]):
            tile[j, i] = 0.0


@compiled
def log_product(tile: Array, mean: Array, width: Array, q: Array, total: Array) -> None:
    """Add the log of each lane's product over features; take logs whenever a product gets LARGE."""
    clear(q)
    for j in range(len(tile)):
        m = mean[j]
        w = width[j]
        large = 0
        for i in range(LANES):
            d = tile[j, i] - m
            u = w * d * d
            q[i] = q[i] + (u + q[i] * u)
            large |= q[i] > LARGE
        if large != 0:
            take_logs(q, total)
    take_logs(q, total)


@compiled
def take_logs(q: Array, total: Array) -> None:
    """Add the logarithm of each lane's product to its total, and reset the product to 1."""
    for i in range(LANES):
        total[i] += log1p(q[i])
        q[i] = 0.0


@compiled
def sum_of_each(
    tile: Array, mean: Array, width: Array, exponent: Array, height: Array, u: Array, total: Array
) -> None:
    """Sum the log densities of each lane, with one logarithm for each feature.

    Missing cells count as 0. Where all u of a tile are small, log1p is a plain series, without
    splitting off an exponent. For a row that is left out the width is negative, and so is u.
    """
    clear(total)
    for j in range(len(tile)):
        m = mean[j]
        w = width[j]
        e = exponent[j]
        h = height[j]
        large = 0
        for i in range(LANES):
            d = tile[j, i] - m
            u[i] = w * d * d
            large |= (u[i] > SMALL) | (u[i] < -SMALL_FALL)
        if large != 0:
            for i in range(LANES):
                value = h - e * log1p(u[i])
                total[i] += value if u[i] == u[i] else 0.0
        else:
            for i in range(LANES):
                value = h - e * series(u[i] / (2.0 + u[i]))
                total[i] += value if u[i] == u[i] else 0.0
