"""Histograms averaged over all ways to join neighbouring levels into bins: exact sums over 2**(k - 1) binnings.

Of the k levels of a column, those from i to l are one bin in many binnings, and its weight is the same in each:

    joint(i, l) = log prior of its cuts + ln Gamma(a + n) - ln Gamma(a) - n log q

with n rows in it, the share q of all rows, and the prior's concentration a = A q. Sums over all binnings of the levels
before i are made once, level by level; then going back gives the probability of each bin, given all rows: k (k + 1) / 2
of them are gone through in all. From a weight n log N - n is subtracted, N being all rows: that adds up to the same for
all binnings, and what is left stays small. Arrays of bins are `(k, k)`: the last level comes first, then the first.
"""

from math import lgamma

import numpy as np

from bayesnb.numerics import elementary
from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.count_kernels import STIRLING_FROM, stirling_tail

HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)
SHIFT = 16  # factors by which a Gamma function's argument is raised to where Stirling's series is exact
UNDERFLOW = 1e-250  # of a sum of exponentials, from where on it is added up by itself
FAR = 50.0  # how far below the largest term, in logs, others do not count: exp(-50) is 2e-22


@compiled
def log_gamma_gap(z: float, further: float, step: float) -> float:
    """ln Gamma(further) - ln Gamma(z), further = z + step; infinite where it is not above 0."""
    if step == 0.0:
        return 0.0
    if further <= 0.0:
        return np.inf
    if z >= STIRLING_FROM and further >= STIRLING_FROM:
        main = (z - 0.5) * np.log1p(step / z) + step * np.log(further) - step
        return main + stirling_tail(further) - stirling_tail(z)
    return lgamma(further) - lgamma(z)


@compiled
def bin_weight(a: float, n: float, expected: float) -> float:
    """ln Gamma(a + n) - ln Gamma(a) - n log(expected) + n, whose large parts never meet."""
    if n == 0.0:
        return 0.0
    z = a + n
    if z < STIRLING_FROM:
        return lgamma(z) - lgamma(a) - n * np.log(expected) + n
    if a < STIRLING_FROM:
        known = (a - 0.5) * np.log(z) - a + HALF_LOG_TAU - lgamma(a)
    else:
        known = (a - 0.5) * np.log1p(n / a) - stirling_tail(a)
    return known + n * np.log(z / expected) + stirling_tail(z)


@compiled
def room(levels: int) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Arrays for bins: shares, their logs, ln Gamma of the prior's part, a + n, weights, `(k, k)`; sums, `(k + 1,)`."""
    square = (levels, levels)
    bins = np.empty(square), np.empty(square), np.empty(square), np.empty(square), np.empty(square)
    return *bins, np.empty(levels + 1)


@compiled
def most_levels(bounds: Array) -> int:
    """Levels of the column that has the most."""
    most = 1
    for j in range(len(bounds) - 1):
        most = max(most, bounds[j + 1] - bounds[j])
    return most


@compiled
def prepare(share: Array, concentration: float, q: Array, log_q: Array, log_gamma: Array) -> None:
    """Write the share of each bin, its log, and ln Gamma of its concentration, `(k,) -> 3 of (k, k)`."""
    for k in range(len(share)):
        part = 0.0
        for i in range(k, -1, -1):
            part += share[i]
            q[k, i] = 1.0 if i == 0 and k == len(share) - 1 else part
            log_q[k, i] = np.log(q[k, i])
            log_gamma[k, i] = lgamma(concentration * q[k, i])


@compiled
def weigh(
    counts: Array,
    concentration: float,
    log_odds: float,
    q: Array,
    log_q: Array,
    log_gamma: Array,
    z: Array,
    joint: Array,
) -> float:
    """Write a + n and the weight of each bin, `(k,), 3 of (k, k) -> 2 of (k, k)`; return the number of rows.

    ln Gamma(z) is Stirling's for all bins, in a loop without branches, and made good where z is small.
    """
    stay, cut = -np.logaddexp(0.0, log_odds), -np.logaddexp(0.0, -log_odds)
    last, total = len(counts) - 1, 0.0
    for i in range(last, -1, -1):
        total += counts[i]
    log_total = np.log(max(total, 1e-300))
    for k in range(last + 1):
        n, end = 0.0, cut if k < last else 0.0
        for i in range(k, -1, -1):
            n += counts[i]
            z[k, i] = n
            joint[k, i] = end + stay * (k - i)
        if concentration >= STIRLING_FROM:
            for i in range(k + 1):
                joint[k, i] += bin_weight(concentration * q[k, i], z[k, i], total * q[k, i])
                z[k, i] += concentration * q[k, i]
            continue
        smallest = np.inf
        for i in range(k + 1):
            n, a = z[k, i], concentration * q[k, i]
            far = max(a + n, STIRLING_FROM)
            gap = elementary.log(far / max(total * q[k, i], 1e-300))
            known = (a - 0.5) * (gap + log_q[k, i] + log_total) - a + HALF_LOG_TAU - log_gamma[k, i]
            smallest = min(smallest, a + n)
            weight = known + n * gap + stirling_tail(far)
            joint[k, i] += weight if a + n >= STIRLING_FROM else 0.0
            z[k, i] = a + n
        if smallest < STIRLING_FROM:
            for i in range(k + 1):
                if z[k, i] < STIRLING_FROM:
                    n = z[k, i] - concentration * q[k, i]
                    if n > 0.0:
                        joint[k, i] += log_gamma_of(z[k, i]) - log_gamma[k, i] - n * (log_q[k, i] + log_total - 1.0)
    return total


@compiled
def log_gamma_of(z: float) -> float:
    """ln Gamma(z), 0 < z < STIRLING_FROM."""
    product = 1.0
    for n in range(SHIFT):
        product *= z + n
    far = z + SHIFT
    return (far - 0.5) * np.log(far) - far + HALF_LOG_TAU + stirling_tail(far) - np.log(product)


@compiled
def before(joint: Array, sums: Array) -> None:
    """Log sum over all binnings of the levels before each, `(k, k) -> (k + 1,)`.

    In place of the weight of a bin is then its probability, given that a bin ends where it does, and the rows on the
    levels up to there.
    """
    sums[0] = 0.0
    for k in range(len(joint)):
        top, total = -np.inf, 0.0
        for i in range(k + 1):
            joint[k, i] += sums[i]
            top = max(top, joint[k, i])
        for i in range(k + 1):
            joint[k, i] = elementary.exp(joint[k, i] - top)
            total += joint[k, i]
        for i in range(k + 1):
            joint[k, i] /= total
        sums[k + 1] = top + np.log(total)


@compiled
def chances(joint: Array, sums: Array) -> None:
    """Probability of each bin in place of its weight, `(k, k)`; of a boundary before each level, `(k + 1,)`."""
    before(joint, sums)
    sums[:] = 0.0
    sums[-1] = 1.0
    for k in range(len(joint) - 1, -1, -1):
        for i in range(k + 1):
            joint[k, i] *= sums[k + 1]
            sums[i] += joint[k, i]


@compiled
def bins_of(
    share: Array, counts: Array, concentration: float, log_odds: float, q: Array, log_q: Array, log_gamma: Array,
    z: Array, joint: Array,
) -> float:  # fmt: skip
    """Write what `prepare` and `weigh` do, of one class and column; return the number of rows."""
    prepare(share, concentration, q, log_q, log_gamma)
    return weigh(counts, concentration, log_odds, q, log_q, log_gamma, z, joint)


@compiled
def posterior(
    share: Array, counts: Array, concentration: float, log_odds: float, q: Array, z: Array, joint: Array
) -> float:
    """Write shares, a + n and probabilities of the bins, `2 of (k,) -> 3 of (k, k)`; return the number of rows."""
    n = bins_of(share, counts, concentration, log_odds, q, np.empty(q.shape), np.empty(q.shape), z, joint)
    chances(joint, np.empty(len(share) + 1))
    return n


@compiled
def sum_of_bins(values: Array, out: Array) -> None:
    """Add up the values of the bins that hold each level, `(k, k) -> (k,)`.

    Of the bins that begin at a level, those that end at a later one or later hold it too.
    """
    bins = np.zeros(len(values))
    for k in range(len(values) - 1, -1, -1):
        total = 0.0
        for i in range(k + 1):
            bins[i] += values[k, i]
            total += bins[i]
        out[k] = total


@compiled
def log_sum_of_bins(terms: Array, out: Array) -> None:
    """log of the sum of exp(terms) of the bins that hold each level, `(k, k) -> (k,)`; the terms are gone then."""
    top = -np.inf
    for k in range(len(terms)):
        for i in range(k + 1):
            top = max(top, terms[k, i] if terms[k, i] < np.inf else top)
    values = np.empty(terms.shape)
    for k in range(len(terms)):
        for i in range(k + 1):
            values[k, i] = np.exp(terms[k, i] - top)
    sum_of_bins(values, out)
    for level in range(len(terms)):
        if out[level] >= UNDERFLOW:
            out[level] = np.log(out[level]) + top
            continue
        highest, total = -np.inf, 0.0
        for k in range(level, len(terms)):
            for i in range(level + 1):
                highest, total = with_term(highest, total, terms[k, i])
        out[level] = highest + np.log(total)


@compiled
def with_term(top: float, total: float, log: float) -> tuple[float, float]:
    """Add exp(log) to a sum total * exp(top)."""
    if log <= top:
        return top, total + np.exp(log - top) if log > top - FAR else total
    return log, (1.0 + total * np.exp(top - log) if log < np.inf else 1.0)


@compiled
def log_sum(logs: Array) -> float:
    """log of the sum of exponentials."""
    top, total = -np.inf, 0.0
    for k in range(len(logs)):
        top, total = with_term(top, total, logs[k])
    return top + np.log(total)
