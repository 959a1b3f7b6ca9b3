"""Laws of log-odds from four cumulants (Cornish and Fisher).

A row's log-odds are a class's score minus that of the rest. Once the row itself is evidence about the parameters, the
law is a mixture of two, in one of which the class has also seen the row, in the other the rest has.

A law is four cumulants. `bend` says how far it is from a normal one: the larger of its skewness and the root of half
its excess kurtosis. Quantiles from cumulants are wrong by at most BENT * bend**2 on the probability scale, for a bend
of up to 1; those of a mixture of two normals, by at most MIXED * w (1 - w) gap**5, the gap in standard deviations.
Both are envelopes of what was found among thousands of laws.
"""

from math import erfc

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.elementary import exp

CERTAIN = 1e-22  # a variance that is rounding
STEPS = 60  # of a search for a quantile, at most
BENT, MIXED = 0.02, 0.01
FAR = 8.0  # standard deviations
FLAT = 1000.0  # a standard deviation
REACH_OF_Z = 7  # of a normal, when a function of it is summed
NEAR = 1e-7  # how close to its level a quantile of a mixture is found
ROOT_2, ROOT_2PI = np.sqrt(2.0), np.sqrt(2.0 * np.pi)


@compiled
def odds(own: Array, rest: Array, own_seen: Array, rest_seen: Array, share: Array, a: Array, b: Array) -> None:
    """The two laws of the log-odds, 4 of `(4, r) -> 2 of (4, r)`: one whose class, one whose rest has seen the row."""
    sign = 1.0
    for n in range(4):
        sign = -sign
        for i in range(len(share)):
            a[n, i] = own_seen[n, i] + sign * rest[n, i]
            b[n, i] = own[n, i] + sign * rest_seen[n, i]


@compiled
def mixture(a: Array, b: Array, w: float) -> tuple[float, float, float, float]:
    """The cumulants of a mixture of two laws, the first of weight w."""
    gap = a[0] - b[0]
    da, db = (1.0 - w) * gap, -w * gap
    second = w * (a[1] + da * da) + (1.0 - w) * (b[1] + db * db)
    third = w * (a[2] + 3.0 * da * a[1] + da**3) + (1.0 - w) * (b[2] + 3.0 * db * b[1] + db**3)
    fourth = w * fourth_moment(a, da) + (1.0 - w) * fourth_moment(b, db)
    return b[0] + w * gap, second, third, fourth - 3.0 * second * second


@compiled
def fourth_moment(law: Array, d: float) -> float:
    """About a point at distance d below the mean."""
    return law[3] + 3.0 * law[1] * law[1] + 4.0 * d * law[2] + 6.0 * d * d * law[1] + d**4


@compiled
def standard(law: Array) -> tuple[float, float, float]:
    """Standard deviation, skewness and excess kurtosis; all 0 of what is certain."""
    if law[1] < CERTAIN:
        return 0.0, 0.0, 0.0
    spread = np.sqrt(law[1])
    return spread, law[2] / spread**3, law[3] / spread**4


@compiled
def bend(law: Array) -> float:
    _, skew, kurtosis = standard(law)
    return max(abs(skew), np.sqrt(0.5 * abs(kurtosis)))


@compiled
def bent(z: float, skew: float, kurtosis: float) -> float:
    """The quantile of a standardised law where a normal's is z."""
    cubic = z * (z * z - 3.0) * kurtosis / 24.0 - z * (2.0 * z * z - 5.0) * skew * skew / 36.0
    return z + (z * z - 1.0) * skew / 6.0 + cubic


@compiled
def slope(z: float, skew: float, kurtosis: float) -> float:
    """Its derivative, kept away from 0."""
    cubic = (z * z - 1.0) * kurtosis / 8.0 - (6.0 * z * z - 5.0) * skew * skew / 36.0
    return max(1.0 + z * skew / 3.0 + cubic, 0.2)


@compiled
def quantiles(
    a: Array, b: Array, share: Array, z: Array, tolerance: float, out: Array, error: Array, law: Array
) -> None:
    """Quantiles of mixtures of two laws at a normal's z, 2 of `(4, r)`, `(r,), (q,) -> (q, r)`; bounds of their errors.

    `law` is for the cumulants of the mixtures, `(4, r)`. Four cumulants of the mixture are enough where its two parts
    are close; otherwise the parts' distributions are mixed.
    """
    for i in range(len(share)):
        w, one, two = share[i], a[:, i], b[:, i]
        mean, second, third, fourth = mixture(one, two, w)
        law[0, i], law[1, i], law[2, i], law[3, i] = mean, second, third, fourth
        spread, skew, kurtosis = standard(law[:, i])
        gap = abs(one[0] - two[0]) / spread if spread > 0 else 0.0
        error[i] = BENT * bend(law[:, i]) ** 2 + MIXED * w * (1.0 - w) * gap**5
        if error[i] <= tolerance or one[0] == two[0]:
            for q in range(len(z)):
                out[q, i] = mean + spread * bent(z[q], skew, kurtosis)
        else:
            error[i] = BENT * (w * bend(one) ** 2 + (1.0 - w) * bend(two) ** 2)
            for q in range(len(z)):
                out[q, i] = quantile_of_two(one, two, w, z[q])


@compiled
def quantile_of_two(a: Array, b: Array, w: float, z: float) -> float:
    """By Newton's steps between the two laws' own quantiles."""
    level = 0.5 * erfc(-z / ROOT_2)
    low, high = quantile(a, z), quantile(b, z)
    low, high = min(low, high), max(low, high)
    x = 0.5 * (low + high)
    for _ in range(STEPS):
        share_a, density_a = normal_share(a, x)
        share_b, density_b = normal_share(b, x)
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
def quantile(law: Array, z: float) -> float:
    spread, skew, kurtosis = standard(law)
    return law[0] + spread * bent(z, skew, kurtosis)


@compiled
def normal_share(law: Array, x: float) -> tuple[float, float]:
    """P(X <= x) and the density at x of a law of four cumulants."""
    spread, skew, kurtosis = standard(law)
    if spread == 0:
        return (1.0 if x >= law[0] else 0.0), 0.0
    y = (x - law[0]) / spread
    z = min(max(y, -FAR), FAR)
    for _ in range(4):
        z = min(max(z - (bent(z, skew, kurtosis) - y) / slope(z, skew, kurtosis), -FAR), FAR)
    return 0.5 * erfc(-z / ROOT_2), exp(-0.5 * z * z) / (ROOT_2PI * spread * slope(z, skew, kurtosis))


@compiled
def logistic_mean(laws: Array, out: Array) -> None:
    """The mean of 1 / (1 + exp(-x)) under laws of four cumulants, `(4, r) -> (r,)`, by a sum over normal quantiles."""
    value = np.empty(REACH_OF_Z * 2000)
    for i in range(laws.shape[1]):
        mean, (spread, skew, kurtosis) = laws[0, i], standard(laws[:, i])
        if spread > FLAT:  # next to which the logistic function is a step
            share, _ = normal_share(laws[:, i], 0.0)
            out[i] = 1.0 - share
            continue
        step = 0.75 if spread < 1.6 else 1.2 / spread
        half = min(int(REACH_OF_Z / step), REACH_OF_Z * 1000 - 1)
        n = 2 * half + 1
        for k in range(n):
            z = (k - half) * step
            x = mean + spread * bent(z, skew, kurtosis)
            tail = exp(-abs(x))
            value[k] = exp(-0.5 * z * z) * (1.0 if x > 0 else tail) / (1.0 + tail)
        total = 0.0
        for k in range(n):
            total += value[k]
        out[i] = min(total * step / ROOT_2PI, 1.0)


@compiled
def both_sides(ends: Array, median: Array, lower: Array, upper: Array) -> None:
    """Probabilities of two classes from quantiles of the second's log-odds, `(3, r) -> 3 of (r, 2)`."""
    for i in range(ends.shape[1]):
        lower[i, 0], lower[i, 1] = logistic(-ends[2, i]), logistic(ends[0, i])
        median[i, 0], median[i, 1] = logistic(-ends[1, i]), logistic(ends[1, i])
        upper[i, 0], upper[i, 1] = logistic(-ends[0, i]), logistic(ends[2, i])


@compiled
def logistic(x: float) -> float:
    tail = exp(-abs(x))
    return 1.0 / (1.0 + tail) if x > 0 else tail / (1.0 + tail)
