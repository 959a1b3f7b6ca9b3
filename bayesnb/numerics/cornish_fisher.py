"""Distributions of log-odds from four cumulants, by the expansion of Cornish and Fisher.

    x(z) = mean + sd [z + (z**2 - 1) skew / 6 + (z**3 - 3 z) kurtosis / 24 - (2 z**3 - 5 z) skew**2
    / 36]

is the quantile where a standard normal's is z: Cornish and Fisher (1938), Moments and cumulants in
the specification of distributions. A row's log-odds are a class's score minus that of the other
classes. Once the row itself is evidence about the parameters, their distribution is a mixture of
two: in one the class has also seen the row, in the other one of the other classes has.

`bend` measures how far from normal a distribution is: the larger of |skewness| and the root of half
the excess kurtosis, which are of the same size for a Gamma variate's logarithm. Quantiles from
cumulants are wrong by at most EXPANDED * bend**2 on the probability scale, for a bend up to 1;
those of a mixture of two normals by at most MIXED * w (1 - w) gap**5, the gap in standard
deviations. Both are empirical envelopes, not theorems: the first of the ends of 95% intervals under
3,000 random models of all families. For larger bends the expansion need not even be monotone.
Callers invert the characteristic function wherever the bound is above their tolerance.
"""

from collections.abc import Iterator, Sequence
from math import erfc

import numpy as np
from scipy.special import expit, ndtr

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.elementary import exp
from bayesnb.numerics.special import ratio

CERTAIN = 1e-22  # variance that is rounding: skewness would divide rounding by the cube of rounding
STEPS = 60  # of a search for a quantile, at most: as many halvings take any bracket to rounding
# see above: by bend, the largest errors were 5e-4 at 0.2, 4e-3 at 0.5, 1.8e-2 at 1
EXPANDED, MIXED = 0.02, 0.01
# of the expansion in z: where it bends back, Newton's steps stay finite and densities positive
LEAST_SLOPE = 0.2
# normal quantile that is never passed: its tail is 6e-16, and cubics of larger z say nothing
FAR = 8.0
# standard deviation next to which the logistic function is a step, within 1e-3 of the result
FLAT = 1000.0
# a standard deviation, and a step of z that is short enough below it
NARROW, NARROW_STEP = 1.6, 0.75
REACH_OF_Z = 7  # of a normal, when a function of it is summed: what is beyond has probability 3e-12
LITTLE = 1 << 13  # numbers of some 1,500 rows: a definition takes some milliseconds longer
# Numbers of some 3,000 rows: a definition takes up to 7 milliseconds longer than loops do, if all
# are mixtures whose quantiles are searched for, 10 against 17, and next to nothing otherwise.
MIXTURES = 53_000
CELLS = 1 << 14  # that are summed at once in a definition
NEAR = 1e-7  # how close to its level, relative to it, a quantile of a mixture is found
LANES = 64  # rows that are summed at once
ROOT_2, ROOT_2PI = np.sqrt(2.0), np.sqrt(2.0 * np.pi)

type Cumulants = tuple[float, float, float, float]


@compiled
def row(cumulants: Array, i: int) -> Cumulants:
    """The four cumulants of a row; a slice of an array would keep loops over rows from being
    vectorised.
    """
    return cumulants[0, i], cumulants[1, i], cumulants[2, i], cumulants[3, i]


@compiled
def mixture(a: Cumulants, b: Cumulants, w: float) -> Cumulants:
    """Cumulants of a mixture of two distributions, the first of weight w, from central moments
    about its mean.
    """
    gap = a[0] - b[0]
    da, db = (1.0 - w) * gap, -w * gap
    da2, db2 = da * da, db * db
    second = w * (a[1] + da2) + (1.0 - w) * (b[1] + db2)
    third = w * (a[2] + 3.0 * da * a[1] + da2 * da) + (1.0 - w) * (
        b[2] + 3.0 * db * b[1] + db2 * db
    )
    fourth_a = a[3] + 3.0 * a[1] * a[1] + 4.0 * da * a[2] + 6.0 * da * da * a[1] + da2 * da2
    fourth_b = b[3] + 3.0 * b[1] * b[1] + 4.0 * db * b[2] + 6.0 * db * db * b[1] + db2 * db2
    fourth = w * fourth_a + (1.0 - w) * fourth_b
    return b[0] + w * gap, second, third, fourth - 3.0 * second * second


@compiled
def standardised(cumulants: Cumulants) -> tuple[float, float, float]:
    """Standard deviation, skewness and excess kurtosis; all 0 where the variance is rounding."""
    # no branch, so that several rows are standardised at once
    known = 1.0 if cumulants[1] >= CERTAIN else 0.0
    spread = np.sqrt(max(cumulants[1], CERTAIN))
    square = spread * spread
    return (
        known * spread,
        known * cumulants[2] / (square * spread),
        known * cumulants[3] / (square * square),
    )


@compiled
def bend(cumulants: Cumulants) -> float:
    """Distance from a normal distribution, on which the error of the expansion depends."""
    _, skew, kurtosis = standardised(cumulants)
    return max(abs(skew), np.sqrt(0.5 * abs(kurtosis)))


@compiled
def expansion(z: float, skew: float, kurtosis: float) -> float:
    """Cornish-Fisher quantile of a standardised distribution where a normal's is z."""
    cubic = z * (z * z - 3.0) * kurtosis / 24.0 - z * (2.0 * z * z - 5.0) * skew * skew / 36.0
    return z + (z * z - 1.0) * skew / 6.0 + cubic


@compiled
def expansion_slope(z: float, skew: float, kurtosis: float) -> float:
    """Derivative of the expansion in z, at least LEAST_SLOPE."""
    cubic = (z * z - 1.0) * kurtosis / 8.0 - (6.0 * z * z - 5.0) * skew * skew / 36.0
    return max(1.0 + z * skew / 3.0 + cubic, LEAST_SLOPE)


@compiled
def powers_of_z(cumulants: Cumulants) -> tuple[float, float, float, float]:
    """Coefficients of 1, z, z**2 and z**3 in the quantile of a distribution of four cumulants where
    a normal's is z.
    """
    spread, skew, kurtosis = standardised(cumulants)
    square, sixth = skew * skew, spread * skew / 6.0
    linear = spread * (1.0 - kurtosis / 8.0 + 5.0 / 36.0 * square)
    return cumulants[0] - sixth, linear, sixth, spread * (kurtosis / 24.0 - square / 18.0)


@compiled
def quantiles(
    a: Array,
    b: Array,
    share: Array,
    z: Array,
    tolerance: float,
    out: Array,
    error: Array,
    cumulants: Array,
) -> None:
    """Quantiles of mixtures of two distributions at a normal's z, 2 of `(4, r)`, `(r,), (q,) -> (q,
    r)`.

    Also writes bounds of their errors, `(r,)`, and the mixtures' cumulants, `(4, r)`. Four
    cumulants of the mixture are enough where its two parts are close; otherwise the parts'
    distribution functions are mixed.
    """
    rows = len(share)
    for i in range(rows):
        cumulants[0, i], cumulants[1, i], cumulants[2, i], cumulants[3, i] = mixture(
            row(a, i), row(b, i), share[i]
        )
    for i in range(rows):
        spread, skew, kurtosis = standardised(row(cumulants, i))
        gap = abs(a[0, i] - b[0, i]) / spread if spread > 0 else 0.0
        square = gap * gap
        mixed = MIXED * share[i] * (1.0 - share[i]) * (square * square * gap)
        error[i] = EXPANDED * max(skew * skew, 0.5 * abs(kurtosis)) + mixed
    for q in range(len(z)):
        for i in range(rows):
            out[q, i] = quantile(row(cumulants, i), z[q])
    for i in range(rows):
        if not (error[i] <= tolerance or a[0, i] == b[0, i]):
            w, one, two = share[i], row(a, i), row(b, i)
            bent, other = bend(one), bend(two)
            error[i] = EXPANDED * (w * (bent * bent) + (1.0 - w) * (other * other))
            for q in range(len(z)):
                out[q, i] = quantile_of_two(one, two, w, z[q])


@quantiles.defined(MIXTURES)
def quantiles_by_definition(
    a: Array,
    b: Array,
    share: Array,
    z: Array,
    tolerance: float,
    out: Array,
    error: Array,
    cumulants: Array,
) -> None:
    for n, cumulant in enumerate(mixture.loops(a, b, share)):
        cumulants[n] = cumulant
    spread, skew, kurtosis = standardised_rows(cumulants)
    gap = ratio(np.abs(a[0] - b[0]), spread)
    error[:] = (
        EXPANDED * np.maximum(skew * skew, 0.5 * np.abs(kurtosis))
        + MIXED * share * (1.0 - share) * gap**5
    )
    out[:] = cumulants[0] + spread * expansion.loops(z[:, None], skew, kurtosis)
    mixed = ~((error <= tolerance) | (a[0] == b[0]))
    if mixed.any():
        one, two, w = a[:, mixed], b[:, mixed], share[mixed]
        error[mixed] = EXPANDED * (w * bends(one) ** 2 + (1.0 - w) * bends(two) ** 2)
        out[:, mixed] = quantiles_of_two(one, two, w, z)


@compiled
def quantile_of_two(a: Cumulants, b: Cumulants, w: float, z: float) -> float:
    """Quantile of a mixture where a normal's is z, by Newton's steps between the quantiles of its
    two parts.
    """
    level = 0.5 * erfc(-z / ROOT_2)
    low, high = quantile(a, z), quantile(b, z)
    low, high = min(low, high), max(low, high)
    x = 0.5 * (low + high)
    for _ in range(STEPS):
        share_a, density_a = distribution(a, x)
        share_b, density_b = distribution(b, x)
        over = w * share_a + (1.0 - w) * share_b - level
        if over > 0:
            high = x
        else:
            low = x
        if abs(over) < NEAR * level or high - low <= 1e-12 * (1.0 + abs(x)):
            break
        density = w * density_a + (1.0 - w) * density_b
        x = x - over / density if density > 0 else np.inf
        if not low < x < high:
            x = 0.5 * (low + high)
    return x


@compiled
def quantile(cumulants: Cumulants, z: float) -> float:
    """Quantile of a distribution of four cumulants where a normal's is z."""
    spread, skew, kurtosis = standardised(cumulants)
    return cumulants[0] + spread * expansion(z, skew, kurtosis)


@compiled
def distribution(cumulants: Cumulants, x: float) -> tuple[float, float]:
    """P(X <= x) and the density at x of a distribution of four cumulants, the expansion solved for
    z.
    """
    spread, skew, kurtosis = standardised(cumulants)
    if spread == 0:
        return (1.0 if x >= cumulants[0] else 0.0), 0.0
    y = (x - cumulants[0]) / spread
    z = min(max(y, -FAR), FAR)
    # of Newton: where the expansion is good, a bend below 1, z is off by less than 1e-6 then
    for _ in range(4):
        z = min(
            max(z - (expansion(z, skew, kurtosis) - y) / expansion_slope(z, skew, kurtosis), -FAR),
            FAR,
        )
    return 0.5 * erfc(-z / ROOT_2), exp(-0.5 * z * z) / (
        ROOT_2PI * spread * expansion_slope(z, skew, kurtosis)
    )


@compiled
def logistic_mean(cumulants: Array, out: Array) -> None:
    """Mean of 1 / (1 + exp(-x)) under distributions of four cumulants, `(4, r) -> (r,)`, by a sum
    over normal z.

    The sum over z = k step is exact to exp(-2 pi**2 / (sd step)), as the logistic function has
    poles i pi / sd off the axis of z: 7e-8 for a step of 1.2 / sd, or of 0.75 up to a standard
    deviation of 1.6. Rows of that step, which are most, are summed several at once.
    """
    rows, half = cumulants.shape[1], int(REACH_OF_Z / NARROW_STEP)
    one, z, square, cube, total = np.empty((5, LANES))
    for start in range(0, rows, LANES):
        n = min(LANES, rows - start)
        for i in range(n):
            one[i], z[i], square[i], cube[i] = powers_of_z(row(cumulants, start + i))
            total[i] = 0.0
        for k in range(-half, half + 1):
            at = k * NARROW_STEP
            density = exp(-0.5 * at * at)
            for i in range(n):
                x = ((cube[i] * at + square[i]) * at + z[i]) * at + one[i]
                tail = exp(-abs(x))
                total[i] += density * ((1.0 if x > 0 else tail) / (1.0 + tail))
        for i in range(n):
            out[start + i] = min(total[i] * NARROW_STEP / ROOT_2PI, 1.0)
    value = np.empty(int(2 * REACH_OF_Z * FLAT))
    for i in range(rows):
        if cumulants[1, i] >= NARROW * NARROW:
            out[i] = wide_logistic_mean(row(cumulants, i), value)


@compiled
def wide_logistic_mean(cumulants: Cumulants, value: Array) -> float:
    """Mean of 1 / (1 + exp(-x)) under a distribution of four cumulants, whose sum needs short
    steps.
    """
    spread = np.sqrt(cumulants[1])
    if spread > FLAT:  # next to which the logistic function is a step
        share, _ = distribution(cumulants, 0.0)
        return 1.0 - share
    one, z, square, cube = powers_of_z(cumulants)
    step = 1.2 / spread
    half = int(REACH_OF_Z / step)
    n = 2 * half + 1
    for k in range(n):
        at = (k - half) * step
        x = ((cube * at + square) * at + z) * at + one
        tail = exp(-abs(x))
        value[k] = exp(-0.5 * at * at) * (1.0 if x > 0 else tail) / (1.0 + tail)
    total = 0.0
    for k in range(n):
        total += value[k]
    return min(total * step / ROOT_2PI, 1.0)


@logistic_mean.defined(LITTLE)
def logistic_mean_by_definition(cumulants: Array, out: Array) -> None:
    parts = polynomials(cumulants)
    spread = parts[1]
    narrow = cumulants[1] < NARROW * NARROW
    step = np.where(narrow, NARROW_STEP, 1.2 / np.clip(spread, NARROW, FLAT))
    half = (REACH_OF_Z / step).astype(int)
    for rows in of_like_length(2 * half + 1, CELLS):
        k = np.arange(-half[rows[-1]], half[rows[-1]] + 1)
        z = step[rows, None] * k
        mean, sd, *powers = parts[:, rows, None]
        tail = np.exp(-np.maximum(mean + sd * cubic(powers, z), -700.0))
        value = np.exp(-0.5 * z * z) / (1.0 + tail)
        value[np.abs(k) > half[rows, None]] = 0.0
        out[rows] = np.minimum(value.sum(axis=1) * step[rows] / ROOT_2PI, 1.0)
    if (wide := spread > FLAT).any():
        out[wide] = 1.0 - distributions(parts[:, wide], np.zeros(1))[0]


def of_like_length(lengths: Array, cells: int) -> Iterator[Array]:
    """Yield rows, the shortest first, as many at once as make so many cells at the length of the
    last.
    """
    order = np.argsort(lengths, kind="stable")
    while len(order):
        few = np.searchsorted(lengths[order] * np.arange(1, len(order) + 1), cells, side="right")
        yield order[: max(few, 1)]
        order = order[max(few, 1) :]


@compiled
def two_class_ends(ends: Array, median: Array, lower: Array, upper: Array) -> None:
    """Ends of two classes' probabilities from quantiles of the second's log-odds, `(3, r) -> 3 of
    (r, 2)`.
    """
    rows = ends.shape[1]
    first, second = np.empty((2, 3, LANES))
    for start in range(0, rows, LANES):
        n = min(LANES, rows - start)
        for q in range(3):
            for i in range(n):
                x = ends[q, start + i]
                tail = exp(-abs(x))
                low, high = tail / (1.0 + tail), 1.0 / (1.0 + tail)
                first[q, i], second[q, i] = low if x > 0 else high, high if x > 0 else low
        for i in range(n):
            j = start + i
            lower[j, 0], lower[j, 1] = first[2, i], second[0, i]
            median[j, 0], median[j, 1] = first[1, i], second[1, i]
            upper[j, 0], upper[j, 1] = first[0, i], second[2, i]


@two_class_ends.defined()
def two_class_ends_by_definition(ends: Array, median: Array, lower: Array, upper: Array) -> None:
    for second, out in enumerate((lower, median, upper)):
        out[:, 0], out[:, 1] = expit(-ends[2 - second]), expit(ends[second])


@compiled
def logistic(x: float) -> float:
    """1 / (1 + exp(-x)), by an exponential that cannot overflow."""
    tail = exp(-abs(x))
    return 1.0 / (1.0 + tail) if x > 0 else tail / (1.0 + tail)


def quantiles_of_two(a: Array, b: Array, w: Array, z: Array) -> Array:
    """Quantiles of mixtures, `(4, r), (4, r), (r,), (q,) -> (q, r)`, by the steps of
    `quantile_of_two`.
    """
    shape = len(z), len(w)
    places = np.arange(len(z) * len(w))
    z, w = np.repeat(z, len(w)), np.tile([w, 1.0 - w], len(z))
    level, parts = (
        ndtr(z),
        np.tile(polynomials(np.stack([a, b], axis=1)), len(places) // max(len(a[0]), 1)),
    )
    mean, spread, *powers = parts
    ends = mean + spread * cubic(powers, z)
    low, high = ends.min(axis=0), ends.max(axis=0)
    x = 0.5 * (low + high)
    out = x.copy()
    for _ in range(STEPS):
        over, density = (w * distributions(parts, x)).sum(axis=1)
        over -= level
        low, high = np.where(over > 0, low, x), np.where(over > 0, x, high)
        going = ~((np.abs(over) < NEAR * level) | (high - low <= 1e-12 * (1.0 + np.abs(x))))
        if not going.any():
            break
        if not going.all():
            places, level, low, high, x, over, density = (
                each[going] for each in (places, level, low, high, x, over, density)
            )
            w, parts = w[:, going], parts[:, :, going]
        x = x - np.divide(over, density, out=np.full(len(x), np.inf), where=density > 0)
        x = np.where((low < x) & (x < high), x, 0.5 * (low + high))
        out[places] = x
    return out.reshape(shape)


def polynomials(cumulants: Array) -> Array:
    """Means, standard deviations, and the expansions' coefficients in powers of z, `(4, ...) -> (6,
    ...)`.
    """
    spread, skew, kurtosis = standardised_rows(cumulants)
    square = skew * skew
    third = kurtosis / 24.0 - square / 18.0
    return np.stack(
        [
            cumulants[0],
            spread,
            -skew / 6.0,
            1.0 - kurtosis / 8.0 + 5.0 / 36.0 * square,
            skew / 6.0,
            third,
        ]
    )


def cubic(powers: Sequence[Array], z: Array) -> Array:
    """Expansions at z by coefficients of powers of z."""
    one, two, three, four = powers
    return ((four * z + three) * z + two) * z + one


def distributions(parts: Array, x: Array) -> Array:
    """P(X <= x) and densities at x, of distributions by `polynomials`, `(6, ...) -> (2, ...)`."""
    mean, spread, *powers = parts
    flat = spread == 0
    y = (x - mean) / np.where(flat, 1.0, spread)
    first, second, third = powers[1], 2.0 * powers[2], 3.0 * powers[3]
    z = np.minimum(np.maximum(y, -FAR), FAR)
    for _ in range(4):
        slope = np.maximum((third * z + second) * z + first, LEAST_SLOPE)
        z = np.minimum(np.maximum(z - (cubic(powers, z) - y) / slope, -FAR), FAR)
    slope = np.maximum((third * z + second) * z + first, LEAST_SLOPE)
    share = np.where(flat, x >= mean, ndtr(z))
    return np.stack(
        [
            share,
            np.where(
                flat, 0.0, np.exp(-0.5 * z * z) / (ROOT_2PI * np.where(flat, 1.0, spread) * slope)
            ),
        ]
    )


def standardised_rows(cumulants: Array) -> tuple[Array, Array, Array]:
    """Standard deviations, skewnesses and excess kurtoses, as of one row by `standardised`."""
    spread = np.sqrt(np.where(cumulants[1] < CERTAIN, 0.0, cumulants[1]))
    return spread, ratio(cumulants[2], spread**3), ratio(cumulants[3], spread**4)


def bends(cumulants: Array) -> Array:
    """Distances from normal distributions, as of one row by `bend`."""
    _, skew, kurtosis = standardised_rows(cumulants)
    return np.maximum(np.abs(skew), np.sqrt(0.5 * np.abs(kurtosis)))
