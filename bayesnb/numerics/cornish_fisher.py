"""Distributions of log-odds from four cumulants, by the expansion of Cornish and Fisher.

    x(z) = mean + sd [z + (z**2 - 1) skew / 6 + (z**3 - 3 z) kurtosis / 24 - (2 z**3 - 5 z) skew**2
    / 36]

is the quantile that corresponds to the standard normal quantile z: Cornish and Fisher (1938),
Moments and cumulants in the specification of distributions. The log-odds of a row are the score of
a class minus that of the other classes. As the row itself is evidence about the parameters, their
distribution is a mixture of two: in one the class has also seen the row, in the other one of the
other classes has.

The `bend` of a distribution measures its departure from normality: the larger of |skewness| and the
root of half the excess kurtosis, which are of similar size for the log of a Gamma variate.
Quantiles from cumulants are off by at most EXPANDED * bend**2 on the probability scale, for a bend
up to 1; those of a mixture of two normals by at most MIXED * w (1 - w) gap**5, with the gap in
standard deviations. Both bounds are empirical, not theorems; the first is for the ends of 95%
intervals under 3,000 random models of all families. For larger bends the expansion need not even be
monotone. Callers invert the characteristic function where the bound exceeds their tolerance.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr

from bayesnb.numerics.compilation import Array
from bayesnb.numerics.fourier_inversion import find_quantiles
from bayesnb.numerics.special import ratio

CERTAIN = 1e-22  # variances below are rounding, and skewness would divide by their power 3/2
# see above: the largest errors by bend were 5e-4 at 0.2, 4e-3 at 0.5, 1.8e-2 at 1
EXPANDED = 0.02
MIXED = 0.01
# least slope of the expansion in z: keeps Newton's steps finite and densities positive
LEAST_SLOPE = 0.2
# largest |z|: the tail is 6e-16, and the cubic is meaningless beyond
FAR = 8.0
# standard deviation from which the logistic function acts as a step, within 1e-3 of the result
FLAT = 1000.0
NARROW = 1.4  # standard deviation up to which a step of 1 in z is short enough
REACH_OF_Z = 5  # range of z in sums; the tails have probability 6e-7
CELLS = 1 << 15  # cells summed at once
NEAR = 1e-9  # accuracy of quantiles of mixtures
ROOT_2PI = np.sqrt(2.0 * np.pi)


def quantiles(
    a: Array, b: Array, share: Array, z: Array, tolerance: float
) -> tuple[Array, Array, Array]:
    """Quantiles of mixtures of two distributions at normal quantiles z.

    Shapes: `2 of (4, r), (r,), (q,) -> (q, r)`.

    Also bounds on their errors, `(r,)`, and the cumulants of the mixtures, `(4, r)`. Four cumulants
    of the mixture are enough where its two parts are close; otherwise the distribution functions of
    the parts are mixed.
    """
    cumulants = mix(a, b, share)
    parts = polynomials(cumulants)
    ends = expand(parts, z[:, None])
    gap = ratio(np.abs(a[0] - b[0]), parts[1])
    square = gap * gap
    error = MIXED * share * (1.0 - share) * square * square * gap
    error += EXPANDED * squared_bends(cumulants)
    mixed = ~((error <= tolerance) | (a[0] == b[0]))
    if mixed.any():
        one = a[:, mixed]
        two = b[:, mixed]
        w = share[mixed]
        error[mixed] = EXPANDED * (w * squared_bends(one) + (1.0 - w) * squared_bends(two))
        ends[:, mixed] = quantiles_of_two(one, two, w, z)
    return ends, error, cumulants


def mix(a: Array, b: Array, w: Array) -> Array:
    """Cumulants of mixtures of two distributions, the first of weight w."""
    if a is b:  # the row is not evidence
        return a
    return mixture(np.stack([w, 1.0 - w]), np.stack([a, b], axis=1), axis=0)


def mixture(weight: Array, cumulants: Array, axis: int = -1) -> Array:
    """Four cumulants of mixtures, from weights and cumulants, `(..., n), (4, ..., n)`.

    Computed from central moments. Parts are along an axis of the weights, by default the last.
    Parts with weight 0 may have infinite cumulants.
    """

    def expectation(value: Array) -> Array:
        return (weight * value).sum(axis)

    first, second, third, fourth = np.where(weight == 0, 0.0, cumulants)
    mean = expectation(first)
    d = np.where(weight == 0, 0.0, first - np.expand_dims(mean, axis))
    square = d * d
    variance = expectation(second + square)
    skew = expectation(third + d * (3 * second + square))
    tail = fourth + 3 * second * second + d * (4 * third + d * (6 * second + square))
    return np.stack([mean, variance, skew, expectation(tail) - 3 * variance * variance])


def quantiles_of_two(a: Array, b: Array, w: Array, z: Array) -> Array:
    """Quantiles of mixtures at normal quantiles z, `(4, r), (4, r), (r,), (q,) -> (q, r)`.

    They lie between the quantiles of the two parts.
    """
    parts = polynomials(np.stack([a, b], axis=1))[..., None]
    weight = np.stack([w, 1.0 - w])[..., None]
    between = expand(parts, z)
    low, high = between.min(axis=0), between.max(axis=0)

    def distribution(x: Array) -> Array:
        return (weight * distributions(parts, x)).sum(axis=1)

    guess = 0.5 * (low + high)
    return find_quantiles(distribution, np.stack([low, high]), guess, ndtr(z), NEAR)


def polynomials(cumulants: Array) -> Array:
    """Means, standard deviations, and the expansions' coefficients in powers of z.

    Shapes: `(4, ...) -> (6, ...)`.
    """
    spread, skew, kurtosis = standardise(cumulants)
    sixth = skew / 6.0
    square = skew * skew
    linear = 1.0 - kurtosis / 8.0 + 5.0 / 36.0 * square
    return np.stack([cumulants[0], spread, -sixth, linear, sixth, kurtosis / 24.0 - square / 18.0])


def expand(parts: Array, z: Array) -> Array:
    """Quantiles at normal quantiles z, from `polynomials`."""
    mean, spread, one, two, three, four = parts
    return mean + spread * (((four * z + three) * z + two) * z + one)


def distributions(parts: Array, x: Array) -> Array:
    """P(X <= x) and densities at x, from `polynomials`, `(6, ...) -> (2, ...)`."""
    mean, spread, one, two, three, four = parts
    flat = spread == 0
    scale = np.where(flat, 1.0, spread)
    y = (x - mean) / scale - one

    def slope(z: Array) -> Array:
        return np.maximum((3.0 * four * z + 2.0 * three) * z + two, LEAST_SLOPE)

    z = np.clip(y + one, -FAR, FAR)
    # Newton's steps: for a bend below 1, z is then off by less than 1e-6
    for _ in range(4):
        over = ((four * z + three) * z + two) * z - y
        z = np.clip(z - over / slope(z), -FAR, FAR)
    density = np.exp(-0.5 * z * z) / (ROOT_2PI * scale * slope(z))
    return np.stack([np.where(flat, x >= mean, ndtr(z)), np.where(flat, 0.0, density)])


def standardise(cumulants: Array) -> tuple[Array, Array, Array]:
    """Standard deviations, skewnesses and excess kurtoses; all 0 where the variance is rounding."""
    variance = np.where(cumulants[1] < CERTAIN, 0.0, cumulants[1])
    spread = np.sqrt(variance)
    skew = ratio(cumulants[2], variance * spread)
    return spread, skew, ratio(cumulants[3], variance * variance)


def squared_bends(cumulants: Array) -> Array:
    """Squared bends: departures from normality, which bound the errors of the expansion."""
    _, skew, kurtosis = standardise(cumulants)
    return np.maximum(skew * skew, 0.5 * np.abs(kurtosis))


def logistic_mean(cumulants: Array) -> Array:
    """Mean of 1 / (1 + exp(-x)) given four cumulants of x, `(4, r) -> (r,)`, by a sum over z.

    The sum over z = k step is exact to exp(-2 pi**2 / (sd step)), as the poles of the logistic
    function are i pi / sd off the axis of z: 8e-7 for a step of 1.4 / sd.
    """
    parts = polynomials(cumulants)
    spread = parts[1]
    out = np.empty(parts.shape[1])
    curved = np.flatnonzero(spread <= FLAT)
    step = NARROW / np.maximum(spread[curved], NARROW)
    half = (REACH_OF_Z / step).astype(int)
    for few in of_like_length(half + 1, CELLS):
        mean, sd, one, two, three, four = parts[:, curved[few]]
        z = step[few] * np.arange(half[few[-1]] + 1)[:, None]
        square = z * z
        even = mean + sd * (one + three * square)
        odd = sd * z * (two + four * square)
        weight = np.exp(-0.5 * square)
        weight[0] /= 2  # z = 0 is on both sides
        value = weight * (logistic(even + odd) + logistic(even - odd))
        out[curved[few]] = value.sum(axis=0) / (2 * weight.sum(axis=0))
    if len(curved) < len(out):
        out[spread > FLAT] = 1.0 - distributions(parts[:, spread > FLAT], np.zeros(1))[0]
    return np.minimum(out, 1.0)


def logistic(x: Array) -> Array:
    """1 / (1 + exp(-x)), several times as fast as SciPy's expit."""
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-x))


def of_like_length(lengths: Array, cells: int) -> Iterator[Array]:
    """Yield groups of rows, shortest first, with at most `cells` cells when padded to the
    longest.
    """
    order = np.argsort(lengths, kind="stable")
    while len(order):
        few = np.searchsorted(lengths[order] * np.arange(1, len(order) + 1), cells, side="right")
        yield order[: max(few, 1)]
        order = order[max(few, 1) :]
