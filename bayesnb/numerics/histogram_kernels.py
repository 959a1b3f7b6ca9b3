"""Histograms averaged over all ways to join neighbouring levels into bins: exact sums over 2**(k - 1) binnings.

Of the k levels of a column, those from i to l are one bin in many binnings, and its weight is the same in each:

    joint(i, l) = log prior of its cuts + ln Gamma(a + n) - ln Gamma(a) - n log q

with n rows in it, the share q of all rows, and the prior's concentration a = A q. Sums over all binnings of the levels
before i, and after l, are made once, level by level, so that k (k + 1) / 2 bins are gone through in all. From a weight
n log N - n is subtracted, N being all rows: that adds up to the same for all binnings, and what is left stays small.
"""

from math import lgamma

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.count_kernels import STIRLING_FROM, stirling_tail

HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)
ROUNDING = 1e-12  # part of a column's rows that is taken for 0 once a row has left, as `removal.staying` has it
SMALLEST = np.log(1e-14)  # part of a level's moment, in logs, below which a bin is left out of its transform
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)  # B_2, B_4, ...
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
def weigh(
    share: Array, counts: Array, concentration: float, log_odds: float, z: Array, q: Array, joint: Array
) -> float:
    """Write a + n, the share and the weight of each bin, `2 of (k,) -> 3 of (k, k)`; return the number of rows."""
    stay, cut = -np.logaddexp(0.0, log_odds), -np.logaddexp(0.0, -log_odds)
    last, total = len(share) - 1, 0.0
    for k in range(last + 1):
        total += counts[k]
    for i in range(last + 1):
        n, part = 0.0, 0.0
        for k in range(i, last + 1):
            n += counts[k]
            part += share[k]
            if i == 0 and k == last:
                part = 1.0
            z[i, k], q[i, k] = concentration * part + n, part
            joint[i, k] = stay * (k - i) + bin_weight(concentration * part, n, part * total)
            if k < last:
                joint[i, k] += cut
    return total


@compiled
def before(joint: Array, sums: Array) -> None:
    """Log sum over all binnings of the levels before each, `(k, k) -> (k + 1,)`.

    In place of the weight of a bin is then its log-probability, given that a bin ends where it does, and the rows on
    the levels up to there.
    """
    sums[0] = 0.0
    for k in range(1, len(sums)):
        top, total = -np.inf, 0.0
        for i in range(k):
            joint[i, k - 1] += sums[i]
            top = max(top, joint[i, k - 1])
        for i in range(k):
            joint[i, k - 1] -= top
            total += np.exp(joint[i, k - 1])
        rest = np.log(total)
        for i in range(k):
            joint[i, k - 1] -= rest
        sums[k] = top + rest


@compiled
def evidence(share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, out: Array) -> None:
    """Log evidence of each class and column, `(k,), (f + 1,), (c, k), 2 of (c, f) -> (c, f)`."""
    z, q, joint, sums = workspace(bounds)
    for c in range(out.shape[0]):
        for j in range(out.shape[1]):
            low, high = bounds[j], bounds[j + 1]
            k, a = high - low, concentration[c, j]
            w = joint[:k, :k]
            n = weigh(share[low:high], counts[c, low:high], a, log_odds[c, j], z, q, w)
            before(w, sums[: k + 1])
            out[c, j] = sums[k] - bin_weight(a, n, n) if n > 0.0 else 0.0


@compiled
def workspace(bounds: Array) -> tuple[Array, Array, Array, Array]:
    """Room for the bins of the column with the most levels: 3 of (k, k), (k + 1,)."""
    k = 1
    for j in range(len(bounds) - 1):
        k = max(k, bounds[j + 1] - bounds[j])
    z, q, joint = squares(k)
    return z, q, joint, np.empty(k + 1)


@compiled
def squares(k: int) -> tuple[Array, Array, Array]:
    return np.empty((k, k)), np.empty((k, k)), np.empty((k, k))


@compiled
def posterior(
    share: Array, counts: Array, concentration: float, log_odds: float, z: Array, q: Array, joint: Array, sums: Array
) -> float:
    """Write log-probabilities of the bins, and what `weigh` does, and log sums; return the number of rows."""
    n, chance = weigh(share, counts, concentration, log_odds, z, q, joint), np.zeros(len(sums))
    before(joint, sums)
    chance[-1] = 1.0  # that a bin ends before each level
    for k in range(len(share) - 1, -1, -1):
        log_chance = np.log(chance[k + 1])
        for i in range(k + 1):
            joint[i, k] += log_chance
            chance[i] += np.exp(joint[i, k])
    return n


@compiled
def log_ratio_moment(z: float, total: float, q: float, s: float) -> float:
    """log E[(theta / q)**s], theta ~ Beta(z, total - z); of a bin that is everything, 0."""
    if q == 1.0:
        return 0.0
    if s == 1.0:
        return np.log(z / total / q)
    if z + s <= 0.0:
        return np.inf
    return log_gamma_gap(z, z + s, s) - log_gamma_gap(total, total + s, s) - s * np.log(q)


@compiled
def tilted(
    share: Array, counts: Array, concentration: float, log_odds: float, s: float, z: Array, q: Array, joint: Array
) -> float:
    """Write log(P(bin) E[(theta / q)**s]), and a + n and the share, of each bin; return the number of rows."""
    n = posterior(share, counts, concentration, log_odds, z, q, joint, np.empty(len(share) + 1))
    for i in range(len(share)):
        for k in range(i, len(share)):
            moment = log_ratio_moment(z[i, k], concentration + n, q[i, k], s)
            joint[i, k] = joint[i, k] + moment if moment < np.inf else moment
    return n


@compiled
def log_moments(
    share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, s: Array, out: Array
) -> None:
    """log E[(theta / q)**s] of the bin of each level, `(k,), (f + 1,), (c, k), 2 of (c, f), (f,) -> (c, k)`."""
    z, q, joint, tops = workspace(bounds)
    sums = np.empty(len(tops))
    for c in range(len(counts)):
        for j in range(len(s)):
            low, high = bounds[j], bounds[j + 1]
            k, a = high - low, concentration[c, j]
            w = joint[:k, :k]
            n = tilted(share[low:high], counts[c, low:high], a, log_odds[c, j], s[j], z, q, w)
            if s[j] == 0.0 or (s[j] == 1.0 and n == 0.0):  # exactly
                out[c, low:high] = 0.0
                continue
            sum_of_bins(w, tops[:k], sums[:k])
            for i in range(k):
                out[c, low + i] = tops[i] + np.log(sums[i])


@compiled
def sum_of_bins(terms: Array, tops: Array, sums: Array) -> None:
    """Write the sum over the bins that hold each level of exp(terms), `(k, k) -> 2 of (k,)`: exp(top) times a number.

    Of the bins that begin at a level, those that end at a later one or later hold it too.
    """
    tops[:], sums[:] = -np.inf, 0.0
    for i in range(len(terms)):
        top, total = -np.inf, 0.0
        for k in range(len(terms) - 1, i - 1, -1):
            top, total = with_term(top, total, terms[i, k], 1.0)
            tops[k], sums[k] = with_term(tops[k], sums[k], top, total)


@compiled
def with_term(top: float, total: float, log: float, times: float) -> tuple[float, float]:
    """Add times * exp(log) to a sum total * exp(top)."""
    if log <= top:
        return top, total + times * np.exp(log - top) if log > top - FAR else total
    return log, (times + total * np.exp(top - log) if log < np.inf else 1.0)


@compiled
def cumulants(
    share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, tilt: Array, out: Array
) -> None:
    """Four cumulants of log(theta / q) of the bin of each level, at a tilt; arguments as of `log_moments`, `(4, c, k)`.

    Mixtures of mixtures, bin by bin, in the order of `sum_of_bins`.
    """
    z, q, joint, tops = workspace(bounds)
    of_bin, of_bins, of_total = np.empty(4), np.empty(4), np.empty(4)
    for c in range(len(counts)):
        for j in range(len(tilt)):
            low, high = bounds[j], bounds[j + 1]
            k, a = high - low, concentration[c, j]
            w, level = joint[:k, :k], out[:, c, low:high]
            n = tilted(share[low:high], counts[c, low:high], a, log_odds[c, j], tilt[j], z, q, w)
            log_gamma_cumulants(a + n + tilt[j], of_total)
            tops[:k] = -np.inf
            level[:] = 0.0
            for i in range(k):
                top = -np.inf
                of_bins[:] = 0.0
                for m in range(k - 1, i - 1, -1):
                    if w[i, m] > top - FAR:
                        of_bin[:] = 0.0
                        if q[i, m] < 1.0:
                            log_gamma_cumulants(z[i, m] + tilt[j], of_bin)
                            of_bin -= of_total
                            of_bin[0] -= np.log(q[i, m])
                        top = mix(top, of_bins, w[i, m], of_bin)
                    tops[m] = mix(tops[m], level[:, m], top, of_bins)


@compiled
def mix(top: float, first: Array, log: float, second: Array) -> float:
    """Make four cumulants those of a mixture, weights exp(top) and exp(log), with others; return its log weight.

    The law of total cumulance, as in `averaged.mixed_cumulants`.
    """
    if log <= top - FAR:
        return top
    if top <= log - FAR:
        first[:] = second
        return log
    v = 1.0 / (1.0 + np.exp(top - log))
    w = 1.0 / (1.0 + np.exp(log - top))
    d, both, skew = first[0] - second[0], w * v, v - w
    gap, bend = first[1] - second[1], first[2] - second[2]
    spread = 4 * d * bend + 3 * gap * gap + 6 * skew * d * d * gap
    first[3] = w * first[3] + v * second[3] + both * (spread + (1 - 6 * both) * d**4)
    first[2] = w * first[2] + v * second[2] + 3 * both * d * gap + both * skew * d**3
    first[1] = w * first[1] + v * second[1] + both * d * d
    first[0] = w * first[0] + v * second[0]
    return max(top, log) + np.log1p(np.exp(-abs(top - log)))


@compiled
def log_gamma_cumulants(z: float, out: Array) -> None:
    """Four cumulants of the log of a Gamma(z) variate, psi(z) and derivatives, `(4,)`; infinite where there is none.

    Recurrence up to where the series of psi in 1 / z is exact.
    """
    out[:] = 0.0
    if z <= 0.0:
        out[0], out[1], out[2], out[3] = -np.inf, np.inf, -np.inf, np.inf
        return
    while z < STIRLING_FROM:
        y = 1.0 / z
        out[0] -= y
        out[1] += y * y
        out[2] -= 2.0 * y * y * y
        out[3] += 6.0 * y**4
        z += 1.0
    y = 1.0 / z
    v = y * y
    out[0] += np.log(z) - y / 2
    out[1] += y + v / 2
    out[2] -= v + y * v
    out[3] += 2 * y * v + 3 * v * v
    power = v
    for n in range(len(BERNOULLI)):
        order, term = 2.0 * (n + 1), BERNOULLI[n] * power
        out[0] -= term / order
        out[1] += term * y
        out[2] -= term * v * (order + 1)
        out[3] += term * y * v * (order + 1) * (order + 2)
        power *= v


@compiled
def transform(
    share: Array, counts: Array, concentration: float, log_odds: float, s: Array, moment: Array, out: Array
) -> None:
    """E[(theta / q)**s] of the bin of each level over that at the real part of s, which is the same for all s.

    `2 of (k,), (n,), (k,) -> (k, n)`; `moment` is log E[(theta / q)**Re s] of the levels that are wanted, of others
    infinite. Bins that add less than a level's part of SMALLEST to it are left out.
    """
    k = len(share)
    z, q, term = squares(k)
    total = concentration + tilted(share, counts, concentration, log_odds, s[0].real, z, q, term)
    normaliser, bins, least = np.empty(len(s), np.complex128), np.empty(len(s), np.complex128), np.empty(k)
    for e in range(len(s)):
        normaliser[e] = log_gamma_gap_complex(total, s[e]) if total + s[e].real > 0.0 else 0.0
    out[:] = 0.0
    for i in range(k):
        bins[:], top, low = 0.0, -np.inf, np.inf
        for m in range(i, k):
            low = min(low, moment[m])
            least[m] = low + SMALLEST
        for m in range(k - 1, i - 1, -1):
            if np.inf > term[i, m] > least[m]:
                if term[i, m] > top:
                    bins *= np.exp(top - term[i, m])
                    top = term[i, m]
                size, log_q = np.exp(term[i, m] - top), np.log(q[i, m])
                real = log_ratio_moment(z[i, m], total, q[i, m], s[0].real)
                for e in range(len(s)):
                    if q[i, m] == 1.0:
                        bins[e] += size
                    else:
                        bins[e] += size * np.exp(
                            log_gamma_gap_complex(z[i, m], s[e]) - normaliser[e] - s[e] * log_q - real
                        )
            if moment[m] < np.inf and top > -np.inf:
                size = np.exp(top - moment[m])
                for e in range(len(s)):
                    out[m, e] += size * bins[e]


@compiled
def log_gamma_gap_complex(z: float, s: complex) -> complex:
    """ln Gamma(z + s) - ln Gamma(z), up to whole turns, z and the real part of z + s being above 0."""
    factor = 1.0 + 0.0j
    while z < STIRLING_FROM or z + s.real < STIRLING_FROM:
        factor *= z / (z + s)
        z += 1.0
    x, y = s.real / z, s.imag / z
    log1p = complex(0.5 * np.log1p(x * (2.0 + x) + y * y), np.arctan2(y, 1.0 + x))
    further = 1.0 / (z + s)
    v = further * further
    tail = further * (1 / 12 - v * (1 / 360 - v * (1 / 1260 - v * (1 / 1680 - v * (1 / 1188 - v * (691 / 360360))))))
    gap = (z - 0.5 + s) * log1p + s * (np.log(z) - 1.0) + tail - stirling_tail(z)
    return gap + np.log(factor) if factor != 1.0 else gap


@compiled
def left_out(
    share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, weight: float, s: Array,
    out: Array,
) -> None:  # fmt: skip
    """Moments of one class of which so much of a row in each level has left, `(k,), (f + 1,), (k,), 3 of (f,) -> (k,)`.

    The sums over what is before and after a bin do not change, as the row is in it.
    """
    z, q, joint, tops = workspace(bounds)
    terms = np.empty(joint.shape)
    sums, whole_tops, whole_sums = np.empty(len(tops)), np.empty(len(tops)), np.empty(len(tops))
    for j in range(len(s)):
        low, high = bounds[j], bounds[j + 1]
        k, a = high - low, concentration[j]
        w = joint[:k, :k]
        n = posterior(share[low:high], counts[low:high], a, log_odds[j], z, q, w, tops[: k + 1])
        rest = staying(n - weight, n)
        if s[j] == 0.0 or (s[j] == 1.0 and rest == 0.0):
            out[low:high] = 0.0
            continue
        for i in range(k):
            for m in range(i, k):
                fewer = remaining(z[i, m], a * q[i, m], weight, n)
                w[i, m] += weight_gap(z[i, m], fewer, q[i, m])
                moment = log_ratio_moment(fewer, a + rest, q[i, m], s[j])
                terms[i, m] = w[i, m] + moment if moment < np.inf else moment
        sum_of_bins(w, whole_tops[:k], whole_sums[:k])
        sum_of_bins(terms[:k, :k], tops[:k], sums[:k])
        for i in range(k):
            out[low + i] = tops[i] - whole_tops[i] + np.log(sums[i] / whole_sums[i])


@compiled
def weight_gap(z: float, fewer: float, q: float) -> float:
    """What the log weight of a bin gains as rows leave it."""
    return log_gamma_gap(z, fewer, fewer - z) + (z - fewer) * np.log(q)


@compiled
def staying(left: float, total: float) -> float:
    """What is left of rows: nothing, if it is no more than the rounding of their sum."""
    return left if left > ROUNDING * total else 0.0


@compiled
def remaining(z: float, prior: float, weight: float, total: float) -> float:
    """Prior plus rows of a bin once so much has left."""
    left = z - prior - weight
    return z - weight if left > ROUNDING * total else prior


@compiled
def left_out_one_by_one(
    share: Array, counts: Array, concentration: float, log_odds: float, level: Array, weight: Array, s: float,
    out: Array,
) -> None:  # fmt: skip
    """Moments of one class and column of which each row has left by itself, `2 of (k,), 2 of (r,) -> (r,)`."""
    k = len(share)
    z, q, joint = squares(k)
    n = posterior(share, counts, concentration, log_odds, z, q, joint, np.empty(k + 1))
    for row in range(len(level)):
        at, w = level[row], weight[row]
        rest = staying(n - w, n)
        if s == 0.0 or (s == 1.0 and rest == 0.0):
            out[row] = 0.0
            continue
        top = -np.inf
        for i in range(at + 1):
            for m in range(at, k):
                top = max(top, joint[i, m])
        # Gamma(z - w) / Gamma(z) is at least (A + n)**-w, and at most about 1 if z - w is above 1
        least = top - FAR - w * (np.log(concentration + n) - np.log(q[at, at]))
        moment, some, whole, every = -np.inf, 0.0, -np.inf, 0.0
        for i in range(at + 1):
            for m in range(at, k):
                fewer = remaining(z[i, m], concentration * q[i, m], w, n)
                if joint[i, m] < least and fewer > 1.0:
                    continue
                term = joint[i, m] + weight_gap(z[i, m], fewer, q[i, m])
                whole, every = with_term(whole, every, term, 1.0)
                term += log_ratio_moment(fewer, concentration + rest, q[i, m], s)
                moment, some = with_term(moment, some, term, 1.0)
        out[row] = moment - whole + np.log(some / every)


@compiled
def best(joint: Array, z: Array, tops: Array, excess: Array, starts: Array) -> None:
    """Log weight of the best binning before each level, the sum of its bins' max(z - 1, 0), and its last bin's start.

    `2 of (k, k) -> 3 of (k + 1,)`. Of binnings with the same weight the one with longer bins is taken.
    """
    tops[0], excess[0], starts[0] = 0.0, 0.0, 0
    for k in range(1, len(tops)):
        tops[k] = -np.inf
        for i in range(k):
            if tops[i] + joint[i, k - 1] > tops[k]:
                tops[k], starts[k] = tops[i] + joint[i, k - 1], i
        excess[k] = excess[starts[k]] + max(z[starts[k], k - 1] - 1.0, 0.0)


@compiled
def log_modes(share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, out: Array) -> None:
    """log(theta / q) of each level at the mode of the most probable binning; arguments as of `log_moments`."""
    z, q, joint, tops = workspace(bounds)
    excess, starts = np.empty(len(tops)), np.empty(len(tops), np.int64)
    for c in range(len(counts)):
        for j in range(len(bounds) - 1):
            low, high = bounds[j], bounds[j + 1]
            k = high - low
            w = joint[:k, :k]
            weigh(share[low:high], counts[c, low:high], concentration[c, j], log_odds[c, j], z, q, w)
            best(w, z, tops[: k + 1], excess, starts)
            last = k
            while last > 0:
                i = starts[last]
                out[c, low + i : low + last] = log_mode(z[i, last - 1], q[i, last - 1], excess[k])
                last = i


@compiled
def log_mode(z: float, q: float, excess: float) -> float:
    """log(theta / q) at the mode of a Dirichlet; without a peak the share of all rows, as all of it is mode."""
    if q == 1.0 or excess == 0.0:
        return 0.0
    return np.log(max(z - 1.0, 0.0) / excess / q)


@compiled
def left_out_modes(
    share: Array, counts: Array, concentration: float, log_odds: float, level: Array, weight: Array, out: Array
) -> None:
    """Modes of one class and column of which each row has left by itself; arguments as of `left_out_one_by_one`."""
    k = len(share)
    z, q, joint = squares(k)
    turned, z_turned = np.empty((k, k)), np.empty((k, k))
    n = weigh(share, counts, concentration, log_odds, z, q, joint)
    tops, excess, tops_after, excess_after = np.empty(k + 1), np.empty(k + 1), np.empty(k + 1), np.empty(k + 1)
    starts = np.empty(k + 1, np.int64)
    best(joint, z, tops, excess, starts)
    for i in range(k):
        for m in range(i, k):
            turned[k - 1 - m, k - 1 - i], z_turned[k - 1 - m, k - 1 - i] = joint[i, m], z[i, m]
    best(turned, z_turned, tops_after, excess_after, starts)
    for row in range(len(level)):
        top, value = -np.inf, 0.0
        for i in range(level[row] + 1):
            for m in range(k - 1, level[row] - 1, -1):
                fewer = remaining(z[i, m], concentration * q[i, m], weight[row], n)
                term = joint[i, m] + weight_gap(z[i, m], fewer, q[i, m])
                term += tops[i] + tops_after[k - 1 - m]
                if term > top:
                    top = term
                    rest = excess[i] + max(fewer - 1.0, 0.0) + excess_after[k - 1 - m]
                    value = log_mode(fewer, q[i, m], rest)
        out[row] = value


@compiled
def draw(share: Array, counts: Array, concentration: float, log_odds: float, uniform: Array, logs: Array) -> None:
    """Draw a binning, and write log(theta / q) of each level over logs of Gamma variates, `2 of (k,), 2 of (s, k)`.

    A bin's variate is the sum of those of its levels.
    """
    k = len(share)
    z, q, joint = squares(k)
    weigh(share, counts, concentration, log_odds, z, q, joint)
    before(joint, np.empty(k + 1))
    for s in range(len(logs)):
        every, end = log_sum(logs[s]), k
        while end > 0:
            first = 0
            left = uniform[s, end - 1] - np.exp(joint[0, end - 1])
            while left > 0.0 and first < end - 1:
                first += 1
                left -= np.exp(joint[first, end - 1])
            share_of_all = q[first, end - 1]
            value = log_sum(logs[s, first:end]) - every - np.log(share_of_all) if share_of_all < 1.0 else 0.0
            logs[s, first:end] = value
            end = first


@compiled
def log_sum(logs: Array) -> float:
    """log of the sum of exponentials."""
    top, total = -np.inf, 0.0
    for k in range(len(logs)):
        top, total = with_term(top, total, logs[k], 1.0)
    return top + np.log(total)


@compiled
def log_density(share: Array, counts: Array, concentration: float, log_odds: float, logs: Array, out: Array) -> None:
    """Log-density of drawn bins and their shares, `2 of (k,), (s, k) -> (s,)`, from log(theta / q) of each level."""
    k = len(share)
    z, q, joint = squares(k)
    n = weigh(share, counts, concentration, log_odds, z, q, joint)
    before(joint, np.empty(k + 1))
    for s in range(len(logs)):
        i, total = 0, lgamma(concentration + n)
        for m in range(k):
            if m == k - 1 or logs[s, m + 1] != logs[s, i]:
                total += joint[i, m] - lgamma(z[i, m])
                if q[i, m] < 1.0:
                    total += (z[i, m] - 1.0) * (logs[s, i] + np.log(q[i, m]))
                i = m + 1
        out[s] = total
