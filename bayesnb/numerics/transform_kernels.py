"""Cumulants and moment transforms of log-densities, summed over a row's features.

Of a Gaussian with a normal-inverse-gamma belief, K(s) = log E[p(x | theta)**s] depends on the cell
x only by

    rho = 1 / count + (x - location)**2 / (2 scale)        K(s) = ... - (shape + s / 2) log(1 + rho
    s)

whose derivatives at 0 are -y, rho (y - 1), -rho**2 (2 y - 3/2) and rho**3 (6 y - 4), with y = shape
rho. At a tilt t, 1 + rho (t + s) = (1 + rho t)(1 + rho' s) with rho' = rho / (1 + rho t): the same
terms with shape + t / 2 and rho', and -log(1 + rho t) / 2 in the first. A power w of p(x | theta)
has K(w s): the same with w rho and w s / 2 in place of rho and s / 2.
"""

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.elementary import log1p
from bayesnb.numerics.gaussian_kernels import LANES, transpose
from bayesnb.numerics.row_kernels import any_infinite_or_missing

# logarithms of a column's cells at all places: a definition takes some milliseconds longer
FEW = 1 << 19
# numbers, in and out: a definition takes up to 5 milliseconds longer, of many classes most
FEW_CUMULANTS = 3 << 14
# size of a product whose logarithm is taken: its square, and a factor up to 1e54 more, is a double
LARGE = 1e100


@compiled
def student_cumulants(
    x: Array, location: Array, width: Array, spread: Array, shape: Array, power: Array,
    tilt: float, still: Array,
    out: Array,
) -> bool:  # fmt: skip
    """Four cumulants at a tilt, `(r, f), 4 of (c, f), (f,) -> (4, r, c)`; `still`, `(4, c)`, is
    what no cell changes.

    The shapes are those after the tilt, and the width and spread are multiplied by the power. A
    missing cell counts as one at the location; return whether there are any.
    """
    features, incomplete = x.shape[1], False
    tile, sums = np.empty((features, LANES)), np.empty(5 * LANES)
    for start in range(0, len(x), LANES):
        part = x[start : start + LANES]
        transpose(part, tile)
        incomplete |= any_infinite_or_missing(part)
        for c in range(len(location)):
            sums[:] = 0.0
            for j in range(features):
                w = power[j]
                if tilt == 0.0:
                    add_terms(
                        tile[j],
                        location[c, j],
                        width[c, j],
                        spread[c, j],
                        shape[c, j],
                        w,
                        None,
                        sums,
                    )
                else:
                    add_terms(
                        tile[j],
                        location[c, j],
                        width[c, j],
                        spread[c, j],
                        shape[c, j],
                        w,
                        tilt,
                        sums,
                    )
                    # four factors up to 1e77 fit a double
                    if j % 4 == 3 or j == features - 1 or power[j + 1] != w:
                        for i in range(LANES):
                            sums[i] -= 0.5 * w * log1p(sums[4 * LANES + i])
                            sums[4 * LANES + i] = 0.0
            for n in range(4):
                for i in range(len(part)):
                    out[n, start + i, c] = still[n, c] + sums[n * LANES + i]
    return incomplete


@student_cumulants.defined(FEW_CUMULANTS)
def student_cumulants_by_definition(
    x: Array, location: Array, width: Array, spread: Array, shape: Array, power: Array,
    tilt: float, still: Array,
    out: Array,
) -> bool:  # fmt: skip
    missing = np.isnan(x)
    with np.errstate(all="ignore"):
        for c in range(len(location)):
            d = np.where(missing, 0.0, x - location[c])
            rho, logs = spread[c] + width[c] * d * d, 0.0
            if tilt != 0.0:
                logs = 0.5 * power * np.log1p(tilt * rho)
                rho /= 1.0 + tilt * rho
            y, square = shape[c] * rho, rho * rho
            out[0, :, c] = still[0, c] - (y + logs).sum(axis=1)
            out[1, :, c] = still[1, c] + (rho * (y - power)).sum(axis=1)
            out[2, :, c] = still[2, c] - (square * (2.0 * y - 1.5 * power)).sum(axis=1)
            out[3, :, c] = still[3, c] + (square * rho * (6.0 * y - 4.0 * power)).sum(axis=1)
    return not bool(np.isfinite(x).all())


@compiled
def add_terms(
    x: Array,
    location: float,
    width: float,
    spread: float,
    shape: float,
    w: float,
    tilt: float | None,
    sums: Array,
) -> None:
    """Add one feature's four terms in each lane; one array for all, or LLVM would not see that they
    do not overlap.

    At a tilt, 1 + rho tilt is also multiplied into a fifth part of `sums`: half of that product's
    logarithm is still to be subtracted from the first cumulant.
    """
    three, four = 1.5 * w, 4.0 * w
    for i in range(LANES):
        d = x[i] - location
        d = d if d == d else 0.0
        rho = spread + width * d * d
        if tilt is not None:
            u, q = tilt * rho, sums[4 * LANES + i]
            sums[4 * LANES + i] = q + (u + q * u)
            rho /= 1.0 + u
        y, square = shape * rho, rho * rho
        sums[i] -= y
        sums[LANES + i] += rho * (y - w)
        sums[2 * LANES + i] -= square * (2.0 * y - three)
        sums[3 * LANES + i] += square * rho * (6.0 * y - four)


@compiled
def student_transform(
    x: Array, location: Array, width: Array, spread: Array, shape: Array, power: Array, re: Array,
    im: Array,
    each: Array, out: Array,
) -> None:  # fmt: skip
    """Add -(shape + w s / 2) log(1 + rho s) over features, `(r, f), 4 of (c, f), (f,), 2 of (n,) ->
    (r, c, 2, n)`.

    The places s lie on or above the real axis; the width and spread in rho are multiplied by the
    power w. A missing cell subtracts its part of `each`, `(c, f, 2, n)`. Features of one shape and
    power share a logarithm, that of a product. The logarithm of a product of complex numbers is the
    sum of theirs only up to multiples of 2 pi i: factors have angles in [0, pi], so each crossing
    of the real axis is half a turn, and these are counted.
    """
    features, n = x.shape[1], len(re)
    p, q, turns = np.zeros(n), np.zeros(n), np.zeros(n)  # the product is 1 + p + iq
    longest, most = 0.0, LARGE
    for k in range(n):
        longest = max(longest, np.hypot(re[k], im[k]))
        # a product may then become small, and p has no digits beside 1
        most = most if re[k] >= 0.0 else 0.0
    for i in range(len(x)):
        for c in range(len(location)):
            total, bound = out[i, c], 1.0
            for j in range(features):
                d = x[i, j] - location[c, j]
                if d != d:
                    for k in range(n):
                        total[0, k] -= each[c, j, 0, k]
                        total[1, k] -= each[c, j, 1, k]
                else:
                    rho = spread[c, j] + width[c, j] * d * d
                    bound *= 1.0 + rho * longest
                    multiply(rho, re, im, p, q, turns)
                if (
                    j == features - 1
                    or shape[c, j + 1] != shape[c, j]
                    or power[j + 1] != power[j]
                    or bound > most
                ):
                    take_log(shape[c, j], 0.5 * power[j], re, im, p, q, turns, total)
                    bound = 1.0


@student_transform.defined(FEW, lambda x, *others: x.shape[1] * others[-1].size)
def student_transform_by_definition(
    x: Array, location: Array, width: Array, spread: Array, shape: Array, power: Array, re: Array,
    im: Array,
    each: Array, out: Array,
) -> None:  # fmt: skip
    real, imaginary = out[:, :, 0], out[:, :, 1]
    with np.errstate(all="ignore"):
        for j in range(x.shape[1]):
            d = x[:, j, None] - location[:, j]
            there = ~np.isnan(x[:, j])
            rho = np.where(there[:, None], spread[:, j] + width[:, j] * d * d, 0.0)[..., None]
            u, v = rho * re, rho * im
            square = u * (2.0 + u) + v * v
            size = 0.5 * np.log1p(square)
            near = square <= -0.5  # near the pole, where 1 + square has lost its digits
            if near.any():
                size[near] = np.log(np.hypot(1.0 + u[near], v[near]))
            angle = np.arctan(v / (1.0 + u)) + np.where(u < -1.0, np.pi, 0.0)
            half, turn = shape[:, j, None] + 0.5 * power[j] * re, 0.5 * power[j] * im
            never = (v == 0.0) & (u <= -1.0)  # E[p**s] does not exist
            real -= np.where(never, -np.inf, half * size - turn * angle)
            imaginary -= np.where(never, 0.0, half * angle + turn * size)
            if not there.all():
                out[~there] -= each[:, j]


@compiled
def multiply(rho: float, re: Array, im: Array, p: Array, q: Array, turns: Array) -> None:
    """Multiply 1 + p + iq by 1 + rho s, and count half turns; infinite where 1 + rho s is real and
    not positive.
    """
    for k in range(len(re)):
        u, v = rho * re[k], rho * im[k]
        new = q[k] + v + (p[k] * v + q[k] * u)
        p[k] += u + (p[k] * u - q[k] * v)
        turns[k] += np.inf if v == 0.0 and u <= -1.0 else np.float64((new < 0.0) != (q[k] < 0.0))
        q[k] = new


@compiled
def take_log(
    shape: float, once: float, re: Array, im: Array, p: Array, q: Array, turns: Array, total: Array
) -> None:
    """Subtract (shape + s once) times the product's logarithm; the product is 1 again."""
    for k in range(len(re)):
        square = p[k] * (2.0 + p[k]) + q[k] * q[k]
        side = -1.0 if q[k] < 0.0 else 1.0
        if turns[k] == np.inf:
            total[0, k] = np.inf  # E[p**s] does not exist
        else:
            size = 0.5 * (
                np.log1p(square) if square > -0.5 else np.log((1.0 + p[k]) ** 2 + q[k] * q[k])
            )
            angle = np.pi * turns[k] + np.arctan2(side * q[k], side * (1.0 + p[k]))
            half = shape + once * re[k]
            total[0, k] -= half * size - once * im[k] * angle
            total[1, k] -= half * angle + once * im[k] * size
        p[k], q[k], turns[k] = 0.0, 0.0, 0.0
