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


@compiled
def student_cumulants(
    x: Array, location: Array, width: Array, spread: Array, shape: Array, power: Array,
    tilt: float, still: Array,
    out: Array,
) -> bool:  # fmt: skip
    """Four cumulants at a tilt, `(r, f), 4 of (c, f), (f,) -> (4, r, c)`.

    `still`, `(4, c)`, is what no cell changes.

    The shapes are those after the tilt, and the width and spread are multiplied by the power. A
    missing cell counts as one at the location; return whether there are any.
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
    """Add one feature's four terms in each lane.

    They are in one array, or LLVM would not see that they do not overlap.

    1 + rho tilt is multiplied into a fifth part of `sums`: half of its logarithm is still to be
    subtracted from the first cumulant.
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
