"""Logarithm and exponential without branches or calls, so that loops over them vectorise.

A double is (1 + fraction) * 2**(exponent - BIAS), its exponent in the bits above FRACTION. As in
fdlibm (Sun 1993), log(2**k m) = k log 2 + log m with m in [sqrt(1/2), sqrt(2)), and log m = 2
atanh(f / (2 + f)), f = m - 1.
"""

import numpy as np

from bayesnb.numerics.compilation import compiled

BIAS = 1023
FRACTION = 0x000FFFFFFFFFFFFF
ONE = BIAS << 52
ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
# k * LN2_HIGH is exact: it ends in 21 zeros
LN2_HIGH = 0.6931471803691238
LN2_LOW = 1.9082149292705877e-10
# 2 atanh(s) / s - 2 in powers of s**2; the next term is below 2e-18
ATANH = tuple(2 / n for n in range(3, 22, 2))
SMALL = 0.41  # up to here 1 + u < sqrt(2), and log1p(u) is series(u / (2 + u))
# Adding a small number rounds it to an integer, which is in the last bits of the sum: two
# instructions, while AVX2 has none to convert doubles to 64-bit integers.
ROUNDER = 1.5 * 2.0**52
# r**14 / 14! is 4e-18 at log(2) / 2
EXP = tuple(1 / float(np.prod(np.arange(1.0, n + 1))) for n in range(2, 14))


@compiled
def series(s: float) -> float:
    """log((1 + s) / (1 - s)) for |s| < 0.172."""
    z = s * s
    total = ATANH[9]
    for n in range(9):
        total = total * z + ATANH[8 - n]
    return s * z * total + 2.0 * s


@compiled
def log1p(u: float) -> float:
    """log(1 + u) for u > -1; NaN if u is infinite."""
    y = 1.0 + u
    lost = 1.0 - (y - u) if u >= 1.0 else u - (y - 1.0)  # what 1 + u rounded away
    bits = np.float64(y).view(np.int64) + (ONE - ROOT_HALF)
    exponent = bits & ~FRACTION
    m = np.int64((bits & FRACTION) + ROOT_HALF).view(np.float64)  # in [sqrt(1/2), sqrt(2))
    f = (m - 1.0) + lost * np.int64(2 * ONE - exponent).view(np.float64)
    k = np.float64((exponent >> 52) - BIAS)
    return k * LN2_HIGH + (k * LN2_LOW + series(f / (2.0 + f))) + 0.0 * u


@compiled
def log(y: float) -> float:
    """log(y) for a normal y > 0."""
    bits = np.float64(y).view(np.int64) + (ONE - ROOT_HALF)
    m = np.int64((bits & FRACTION) + ROOT_HALF).view(np.float64)
    f = m - 1.0
    k = np.float64((bits >> 52) - BIAS)
    return k * LN2_HIGH + (k * LN2_LOW + series(f / (2.0 + f)))


@compiled
def exp(x: float) -> float:
    """exp(x) for x <= 0; 0 below -708, where the result would not be a normal double."""
    low = x < -708.0
    x = 0.0 if low else x
    shifted = x * 1.4426950408889634 + ROUNDER
    k = shifted - ROUNDER
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    total = EXP[11]
    for n in range(11):
        total = total * r + EXP[10 - n]
    scale = np.int64((np.float64(shifted).view(np.int64) << 52) + ONE).view(np.float64)
    return 0.0 if low else (1.0 + (r + r * r * total)) * scale
