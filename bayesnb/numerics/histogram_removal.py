"""Rows that leave a histogram that is averaged over all binnings, one at a time: what stays scores them.

A row that leaves changes the weights of the bins that hold its level. The sums over what is before and after such a bin
stay, as the row is in it, so that each weight is multiplied, and none computed again. See histogram_kernels.py.
"""

from collections.abc import Iterator
from typing import Any

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
from bayesnb.numerics.compilation import LITTLE, Array, compiled
from bayesnb.numerics.histogram_bins import (
    BinArrays,
    alike,
    log_gamma_rise,
    log_sums_of_bins,
    probabilities,
    sums_of_bins,
)
from bayesnb.numerics.histogram_kernels import best, best_bins, log_mode, log_mode_of_bins, tilt_bins

ROUNDING = 1e-12  # part of a column's rows that is taken for 0 once a row has left, as `removal.staying` has it
FEW = 1 << 10  # numbers: each row goes with up to k (k + 2) / 4 + 1 / 2 bins of k levels, or 272 of 32
PAIRS = 1 << 15  # rows times bins that are compared at once: what is computed of them stays in a processor's cache


@compiled
def left_out(
    share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, weight: float, out: Array
) -> None:
    """Log predictive ratios of one class of which a row has left, of each level, `(k,), (f + 1,), (k,), 3 of (f,)`.

    Of a row that weighs 1, each bin's weight is multiplied by q / (z - 1).
    """
    q, log_q, log_gamma, z, joint, sums = room(most_levels(bounds))
    every = np.empty(len(z))
    for j in range(len(concentration)):
        low, high = bounds[j], bounds[j + 1]
        k, a = high - low, concentration[j]
        w, means, whole = joint[:k, :k], out[low:high], every[:k]
        n = bins_of(share[low:high], counts[low:high], a, log_odds[j], q, log_q, log_gamma, z, joint)
        rest = staying(n - weight, n)
        if rest == 0.0:
            means[:] = 0.0
            continue
        chances(w, sums[: k + 1])
        terms = w.copy()
        for m in range(k):
            for i in range(m + 1):
                fewer = remaining(z[m, i], a * q[m, i], weight, n)
                mean = fewer / ((a + rest) * q[m, i]) if q[m, i] < 1.0 else 1.0
                if weight == 1.0:
                    w[m, i] *= q[m, i] / fewer
                    terms[m, i] = w[m, i] * mean
                else:
                    w[m, i] = np.log(w[m, i]) + weight_gap(z[m, i], fewer, log_q[m, i])
                    terms[m, i] = w[m, i] + np.log(mean)
        if weight == 1.0:
            sum_of_bins(w, whole)
            sum_of_bins(terms, means)
            for m in range(k):
                means[m] = np.log(means[m] / whole[m])
        else:
            log_sum_of_bins(w, whole)
            log_sum_of_bins(terms, means)
            for m in range(k):
                means[m] -= whole[m]


@left_out.defined(LITTLE // 4)  # as all columns are worked on, and a level lies in up to 272 bins of 32 levels
def left_out_by_definition(
    share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, weight: float, out: Array
) -> None:
    for _, columns, levels in alike(bounds, np.ones(len(concentration))):
        with np.errstate(all="ignore"):
            bins = BinArrays.of(
                share[levels], counts[None, levels], concentration[None, columns], log_odds[None, columns]
            )
            chance = probabilities(bins)
            rest = still_there(bins.rows - weight, bins.rows)
            prior = bins.total - bins.rows
            fewer = still_in_bins(bins.z, prior * bins.q, weight, bins.rows)
            mean = np.where(bins.q < 1.0, fewer / ((prior + rest) * bins.q), 1.0)
            if weight == 1.0:
                chance = chance * (bins.q / fewer)
                value = np.log(sums_of_bins(bins, chance * mean) / sums_of_bins(bins, chance))
            else:
                logs = np.log(chance) + weight_gaps(bins.z, fewer, bins.log_q)
                value = log_sums_of_bins(bins, logs + np.log(mean)) - log_sums_of_bins(bins, logs)
        out[levels] = np.where(rest == 0.0, 0.0, value)[0]


@compiled
def weight_gap(z: float, fewer: float, log_q: float) -> float:
    """What the log weight of a bin gains as rows leave it."""
    return log_gamma_gap(z, fewer, fewer - z) + (z - fewer) * log_q


def weight_gaps(z: Array, fewer: Array, log_q: Array) -> Array:
    """As `weight_gap`."""
    return log_gamma_rise(z, fewer, fewer - z) + (z - fewer) * log_q


@compiled
def staying(left: float, total: float) -> float:
    """What is left of rows: nothing, if it is no more than the rounding of their sum."""
    return left if left > ROUNDING * total else 0.0


def still_there(left: Array, total: Array) -> Array:
    """As `staying`."""
    return np.where(left > ROUNDING * total, left, 0.0)


@compiled
def remaining(z: float, prior: float, weight: float, total: float) -> float:
    """Prior plus rows of a bin once so much has left."""
    return z - weight if z - prior - weight > ROUNDING * total else prior


def still_in_bins(z: Array, prior: Array, weight: Any, total: Array) -> Array:
    """As `remaining`."""
    return np.where(z - prior - weight > ROUNDING * total, z - weight, prior)


@compiled
def left_out_one_by_one(
    share: Array, counts: Array, concentration: float, log_odds: float, level: Array, weight: Array, out: Array
) -> None:
    """Log predictive ratios of one class and column that each row has left, `2 of (k,), 2 of (r,) -> (r,)`."""
    k = len(share)
    q, log_q, log_gamma, z, joint, sums = room(k)
    n = bins_of(share, counts, concentration, log_odds, q, log_q, log_gamma, z, joint)
    chances(joint, sums)
    tilt_bins(0.0, concentration + n, q, log_q, z, joint)
    for row in range(len(level)):
        at, w = level[row], weight[row]
        rest = staying(n - w, n)
        if rest == 0.0:
            out[row] = 0.0
            continue
        top = -np.inf
        for m in range(at, k):
            for i in range(at + 1):
                top = max(top, joint[m, i])
        # Gamma(z - w) / Gamma(z) is at least (A + n)**-w, and at most about 1 if z - w is above 1
        least = top - FAR - w * (np.log(concentration + n) - log_q[at, at])
        mean, of_mean, whole, of_whole = -np.inf, 0.0, -np.inf, 0.0
        for m in range(at, k):
            for i in range(at + 1):
                fewer = remaining(z[m, i], concentration * q[m, i], w, n)
                if joint[m, i] < least and fewer > 1.0:
                    continue
                term = joint[m, i] + weight_gap(z[m, i], fewer, log_q[m, i])
                whole, of_whole = with_term(whole, of_whole, term)
                if q[m, i] < 1.0:
                    term += np.log(fewer / ((concentration + rest) * q[m, i]))
                mean, of_mean = with_term(mean, of_mean, term)
        out[row] = mean - whole + np.log(of_mean / of_whole)


@left_out_one_by_one.defined(FEW)
def left_out_one_by_one_by_definition(
    share: Array, counts: Array, concentration: float, log_odds: float, level: Array, weight: Array, out: Array
) -> None:
    with np.errstate(all="ignore"):
        bins = BinArrays.of_one(share, counts, concentration, log_odds)
        logs = np.log(probabilities(bins))
        rest = still_there(bins.rows - weight, bins.rows)
        reach = weight * (np.log(bins.total) - bins.log_q[level * (level + 3) // 2])  # see the loops
        for row, at, first in bins_of_rows(bins, level, np.arange(len(logs))):
            fewer = still_in_bins(bins.z[at], concentration * bins.q[at], weight[row], bins.rows)
            top = np.repeat(np.maximum.reduceat(logs[at], first), np.diff(first, append=len(at)))
            near = (logs[at] >= top - FAR - reach[row]) | (fewer <= 1.0)
            row, at, fewer = row[near], at[near], fewer[near]
            first, q = np.flatnonzero(np.diff(row, prepend=-1)), bins.q[at]
            terms = logs[at] + weight_gaps(bins.z[at], fewer, bins.log_q[at])
            mean = np.where(q < 1.0, np.log(fewer / ((concentration + rest[row]) * q)), 0.0)
            value = log_sums(terms + mean, first) - log_sums(terms, first)
            out[row[first]] = np.where(rest[row[first]] == 0.0, 0.0, value)


def log_sums(logs: Array, first: Array) -> Array:
    """log of the sum of exponentials of the numbers from each first one to before the next."""
    top = np.maximum.reduceat(logs, first)
    total = np.add.reduceat(np.exp(logs - np.repeat(top, np.diff(first, append=len(logs)))), first)
    return np.where(top < np.inf, np.log(total) + top, top)


def bins_of_rows(bins: BinArrays, level: Array, order: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Rows and the bins, in some order, that hold their levels, in pairs; and the first pair of each row."""
    for rows in np.array_split(np.arange(len(level)), 1 + len(level) * len(order) // PAIRS):
        row, at = np.nonzero((bins.start[order] <= level[rows, None]) & (level[rows, None] <= bins.end[order]))
        if row.size:
            yield rows[row], order[at], np.flatnonzero(np.diff(row, prepend=-1))


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


@left_out_modes.defined(FEW)
def left_out_modes_by_definition(
    share: Array, counts: Array, concentration: float, log_odds: float, level: Array, weight: Array, out: Array
) -> None:
    with np.errstate(all="ignore"):
        bins = BinArrays.of_one(share, counts, concentration, log_odds)
        ahead, behind = len(share) - 1 - bins.start, len(share) - 1 - bins.end
        turned = ahead * (ahead + 1) // 2 + behind
        before, excess, _ = best_bins(bins)
        after, excess_after, _ = best_bins(bins._replace(z=bins.z[turned], weight=bins.weight[turned]))
        logs = before[bins.start] + bins.weight + after[behind]
        others = excess[bins.start] + excess_after[behind]
        for row, at, first in bins_of_rows(bins, level, np.lexsort((bins.start, -bins.end))):
            fewer = still_in_bins(bins.z[at], concentration * bins.q[at], weight[row], bins.rows)
            terms = logs[at] + weight_gaps(bins.z[at], fewer, bins.log_q[at])
            top = np.maximum.reduceat(terms, first)
            best_of_row = np.flatnonzero(terms == np.repeat(top, np.diff(first, append=len(at))))
            best_of_row = best_of_row[np.searchsorted(best_of_row, first)]
            rest = others[at] + np.maximum(fewer - 1.0, 0.0)
            modes = log_mode_of_bins(fewer, bins.q[at], rest)[best_of_row]
            out[row[first]] = np.where(top > -np.inf, modes, 0.0)
