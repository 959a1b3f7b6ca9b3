"""Rows that leave a histogram that is averaged over all binnings, one at a time: what stays scores them.

A row that leaves changes the weights of the bins that hold its level. The sums over what is before and after such a bin
stay, as the row is in it, so that each weight is multiplied, and none computed again. See histogram_kernels.py.
"""

import numpy as np

from bayesnb.numerics.binning_kernels import (
    FAR,
    bins_of,
    chances,
    log_gamma_gap,
    log_sum_of_bins,
    most_levels,
    room,
    sum_of_bins,
    with_term,
)
from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.histogram_kernels import best, log_mode, log_ratio_moment, tilt_bins

ROUNDING = 1e-12  # part of a column's rows that is taken for 0 once a row has left, as `removal.staying` has it


@compiled
def left_out(
    share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, weight: float, s: Array,
    out: Array,
) -> None:  # fmt: skip
    """Log moments of one class of which a row has left, for each level, `(k,), (f + 1,), (k,), 3 of (f,) -> (k,)`.

    Of a row that weighs 1, each bin's weight is multiplied by q / (z - 1).
    """
    q, log_q, log_gamma, z, joint, sums = room(most_levels(bounds))
    every = np.empty(len(z))
    for j in range(len(s)):
        low, high = bounds[j], bounds[j + 1]
        k, a = high - low, concentration[j]
        w, moments, whole = joint[:k, :k], out[low:high], every[:k]
        n = bins_of(share[low:high], counts[low:high], a, log_odds[j], q, log_q, log_gamma, z, joint)
        rest = staying(n - weight, n)
        if s[j] == 0.0 or (s[j] == 1.0 and rest == 0.0):
            moments[:] = 0.0
            continue
        chances(w, sums[: k + 1])
        terms = w.copy()
        if weight == 1.0 and s[j] == 1.0:
            for m in range(k):
                for i in range(m + 1):
                    fewer = remaining(z[m, i], a * q[m, i], weight, n)
                    w[m, i] *= q[m, i] / fewer
                    terms[m, i] = w[m, i] * (fewer / ((a + rest) * q[m, i]) if q[m, i] < 1.0 else 1.0)
            sum_of_bins(w, whole)
            sum_of_bins(terms, moments)
            for m in range(k):
                moments[m] = np.log(moments[m] / whole[m])
            continue
        for m in range(k):
            for i in range(m + 1):
                fewer = remaining(z[m, i], a * q[m, i], weight, n)
                w[m, i] = np.log(w[m, i]) + weight_gap(z[m, i], fewer, log_q[m, i])
                moment = log_ratio_moment(fewer, a + rest, q[m, i], s[j])
                terms[m, i] = w[m, i] + moment if moment < np.inf else moment
        log_sum_of_bins(w, whole)
        log_sum_of_bins(terms, moments)
        for m in range(k):
            moments[m] -= whole[m]


@compiled
def weight_gap(z: float, fewer: float, log_q: float) -> float:
    """What the log weight of a bin gains as rows leave it."""
    return log_gamma_gap(z, fewer, fewer - z) + (z - fewer) * log_q


@compiled
def staying(left: float, total: float) -> float:
    """What is left of rows: nothing, if it is no more than the rounding of their sum."""
    return left if left > ROUNDING * total else 0.0


@compiled
def remaining(z: float, prior: float, weight: float, total: float) -> float:
    """Prior plus rows of a bin once so much has left."""
    return z - weight if z - prior - weight > ROUNDING * total else prior


@compiled
def left_out_one_by_one(
    share: Array, counts: Array, concentration: float, log_odds: float, level: Array, weight: Array, s: float,
    out: Array,
) -> None:  # fmt: skip
    """Log moments of one class and column of which each row has left by itself, `2 of (k,), 2 of (r,) -> (r,)`."""
    k = len(share)
    q, log_q, log_gamma, z, joint, sums = room(k)
    n = bins_of(share, counts, concentration, log_odds, q, log_q, log_gamma, z, joint)
    chances(joint, sums)
    tilt_bins(0.0, concentration + n, q, log_q, z, joint)
    for row in range(len(level)):
        at, w = level[row], weight[row]
        rest = staying(n - w, n)
        if s == 0.0 or (s == 1.0 and rest == 0.0):
            out[row] = 0.0
            continue
        top = -np.inf
        for m in range(at, k):
            for i in range(at + 1):
                top = max(top, joint[m, i])
        # Gamma(z - w) / Gamma(z) is at least (A + n)**-w, and at most about 1 if z - w is above 1
        least = top - FAR - w * (np.log(concentration + n) - log_q[at, at])
        moment, of_moment, whole, of_whole = -np.inf, 0.0, -np.inf, 0.0
        for m in range(at, k):
            for i in range(at + 1):
                fewer = remaining(z[m, i], concentration * q[m, i], w, n)
                if joint[m, i] < least and fewer > 1.0:
                    continue
                term = joint[m, i] + weight_gap(z[m, i], fewer, log_q[m, i])
                whole, of_whole = with_term(whole, of_whole, term)
                term += log_ratio_moment(fewer, concentration + rest, q[m, i], s)
                moment, of_moment = with_term(moment, of_moment, term)
        out[row] = moment - whole + np.log(of_moment / of_whole)


@compiled
def left_out_modes(
    share: Array, counts: Array, concentration: float, log_odds: float, level: Array, weight: Array, out: Array
) -> None:
    """Modes of one class and column of which each row has left by itself; arguments as of `left_out_one_by_one`."""
    k = len(share)
    q, log_q, log_gamma, z, joint, tops = room(k)
    turned, z_turned, tops_after = np.empty((k, k)), np.empty((k, k)), np.empty(k + 1)
    excess, excess_after, starts = np.empty(k + 1), np.empty(k + 1), np.empty(k + 1, np.int64)
    n = bins_of(share, counts, concentration, log_odds, q, log_q, log_gamma, z, joint)
    best(joint, z, tops, excess, starts)
    for m in range(k):
        for i in range(m + 1):
            turned[k - 1 - i, k - 1 - m], z_turned[k - 1 - i, k - 1 - m] = joint[m, i], z[m, i]
    best(turned, z_turned, tops_after, excess_after, starts)
    for row in range(len(level)):
        top, value = -np.inf, 0.0
        for m in range(k - 1, level[row] - 1, -1):
            for i in range(level[row] + 1):
                fewer = remaining(z[m, i], concentration * q[m, i], weight[row], n)
                term = tops[i] + joint[m, i] + weight_gap(z[m, i], fewer, log_q[m, i]) + tops_after[k - 1 - m]
                if term > top:
                    top = term
                    rest = excess[i] + max(fewer - 1.0, 0.0) + excess_after[k - 1 - m]
                    value = log_mode(fewer, q[m, i], rest)
        out[row] = value
