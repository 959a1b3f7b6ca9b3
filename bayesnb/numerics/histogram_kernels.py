"""What is believed of the levels of a histogram that is averaged over all binnings: moments, cumulants, modes, draws.

Given the bins, a class's share of one is theta ~ Beta(z, total - z), z = a + n. What is asked of a level is a sum over
the bins that hold it, weighted by their probabilities. See binning_kernels.py, also for the names of arguments.
"""

from math import lgamma

import numpy as np
from scipy.special import gammaln, psi

from bayesnb.numerics.binning_kernels import (
    FAR,
    before,
    bin_weight,
    bins_of,
    chances,
    log_gamma_gap,
    log_sum,
    log_sum_of_bins,
    most_levels,
    prepare,
    room,
    sum_of_bins,
    weigh,
)
from bayesnb.numerics.compilation import LITTLE, Array, compiled
from bayesnb.numerics.count_kernels import STIRLING_FROM, stirling_tail
from bayesnb.numerics.histogram_bins import (
    BinArrays,
    alike,
    as_one,
    bin_weights,
    log_gamma_gaps,
    log_ratio_moments,
    log_sums_of_bins,
    probable_bins,
    sums_before,
    sums_of_bins,
    tilts,
    wanted_part,
)
from bayesnb.numerics.special import on_circle

SMALLEST = np.log(1e-14)  # part of a level's moment, in logs, below which a bin is left out of its transform
LARGE = 1e100  # product of factors, of which a quotient is taken before more are multiplied
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)  # B_2, B_4, ...
MANY = 1 << 19  # numbers up to which a transform is taken in NumPy: its logarithms and exponentials take as long there
CHUNK = 1 << 13  # complex numbers that are worked on at once: they stay in a processor's cache


@compiled
def evidence(share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, out: Array) -> None:
    """Log evidence of each class and column, `(k,), (f + 1,), (c, k), 2 of (c, f) -> (c, f)`."""
    q, log_q, log_gamma, z, joint, sums = room(most_levels(bounds))
    for j in range(out.shape[1]):
        low, high = bounds[j], bounds[j + 1]
        k = high - low
        for c in range(out.shape[0]):
            a = concentration[c, j]
            if c == 0 or a != concentration[c - 1, j]:
                prepare(share[low:high], a, q, log_q, log_gamma)
            n = weigh(counts[c, low:high], a, log_odds[c, j], q, log_q, log_gamma, z, joint)
            before(joint[:k, :k], sums[: k + 1])
            out[c, j] = sums[k] - bin_weight(a, n, n) if n > 0.0 else 0.0


@evidence.defined()
def evidence_by_definition(
    share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, out: Array
) -> None:
    for _, columns, levels in alike(bounds, np.zeros(len(bounds) - 1)):
        with np.errstate(all="ignore"):
            a = concentration[:, columns]
            bins = BinArrays.of(share[levels], counts[:, levels], a, log_odds[:, columns])
            rows = bins.rows[..., 0]
            out[:, columns] = np.where(rows > 0.0, sums_before(bins)[..., -1] - bin_weights(a, rows, rows), 0.0)


@compiled
def log_moments(
    share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, s: Array, out: Array
) -> None:
    """log E[(theta / q)**s] of the bin of each level, `(k,), (f + 1,), (c, k), 2 of (c, f), (f,) -> (c, k)`."""
    q, log_q, log_gamma, z, joint, sums = room(most_levels(bounds))
    for j in range(len(s)):
        low, high = bounds[j], bounds[j + 1]
        k = high - low
        for c in range(len(counts)):
            a, w = concentration[c, j], joint[:k, :k]
            if c == 0 or a != concentration[c - 1, j]:
                prepare(share[low:high], a, q, log_q, log_gamma)
            n = weigh(counts[c, low:high], a, log_odds[c, j], q, log_q, log_gamma, z, joint)
            if s[j] == 0.0 or (s[j] == 1.0 and n == 0.0):  # exactly
                out[c, low:high] = 0.0
                continue
            chances(w, sums[: k + 1])
            if s[j] == 1.0:
                for m in range(k):
                    for i in range(m + 1):
                        w[m, i] *= z[m, i] / ((a + n) * q[m, i])
                sum_of_bins(w, out[c, low:high])
                for m in range(low, high):
                    out[c, m] = np.log(out[c, m])
            else:
                tilt_bins(s[j], a + n, q, log_q, z, w)
                log_sum_of_bins(w, out[c, low:high])


@log_moments.defined()
def log_moments_by_definition(
    share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, s: Array, out: Array
) -> None:
    for power, columns, levels in alike(bounds, s):
        with np.errstate(all="ignore"):
            bins = probable_bins(share[levels], counts[:, levels], concentration[:, columns], log_odds[:, columns])
            chance = bins.weight
            if power == 1.0:
                value = np.log(sums_of_bins(bins, chance * (bins.z / (bins.total * bins.q))))
            else:
                value = log_sums_of_bins(bins, tilts(bins, power))
        exactly = (power == 0.0) | ((power == 1.0) & (bins.rows == 0.0))
        out[:, levels] = np.where(exactly, 0.0, value)


@compiled
def tilt_bins(s: float, total: float, q: Array, log_q: Array, z: Array, joint: Array) -> None:
    """Write log(P(bin) E[(theta / q)**s]) in place of the probability of each bin, `4 of (k, k)`."""
    if s == 0.0:
        for k in range(len(joint)):
            for i in range(k + 1):
                joint[k, i] = np.log(joint[k, i])
        return
    normaliser = log_gamma_gap(total, total + s, s)
    for k in range(len(joint)):
        for i in range(k + 1):
            if q[k, i] == 1.0:
                joint[k, i] = np.log(joint[k, i])
            elif z[k, i] + s <= 0.0:
                joint[k, i] = np.inf
            elif joint[k, i] > 0.0:
                gain = log_gamma_gap(z[k, i], z[k, i] + s, s) - normaliser - s * log_q[k, i]
                joint[k, i] = np.log(joint[k, i]) + gain
            else:
                joint[k, i] = -np.inf


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
def cumulants(
    share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, tilt: Array, wanted: Array,
    out: Array,
) -> None:  # fmt: skip
    """Four cumulants of log(theta / q) of the bin of each level, at a tilt; arguments as of `log_moments`, `(4, c, k)`.

    Mixtures of mixtures, bin by bin, in the order of `sum_of_bins`. Levels that are not `wanted`, `(k,)`, have 0.
    """
    q, log_q, log_gamma, z, joint, sums = room(most_levels(bounds))
    of_total, of_bin = np.empty(4), np.empty(4)
    for j in range(len(tilt)):
        low, high = bounds[j], bounds[j + 1]
        k = high - low
        of_bins, tops = np.zeros((k, 4)), np.empty(k)
        for c in range(len(counts)):
            a, w, level = concentration[c, j], joint[:k, :k], np.zeros(4)
            prepare(share[low:high], a, q, log_q, log_gamma)
            n = weigh(counts[c, low:high], a, log_odds[c, j], q, log_q, log_gamma, z, joint)
            chances(w, sums[: k + 1])
            tilt_bins(tilt[j], a + n, q, log_q, z, w)
            log_gamma_cumulants(a + n + tilt[j], of_total)
            tops[:], of_bins[:] = -np.inf, 0.0
            for m in range(k - 1, -1, -1):
                top = -np.inf
                level[:] = 0.0
                for i in range(m + 1):
                    if w[m, i] > tops[i] - FAR:
                        of_bin[:] = 0.0
                        if q[m, i] < 1.0:
                            log_gamma_cumulants(z[m, i] + tilt[j], of_bin)
                            for order in range(4):
                                of_bin[order] -= of_total[order]
                            of_bin[0] -= log_q[m, i]
                        tops[i] = mix(tops[i], of_bins[i], w[m, i], of_bin)
                    if wanted[low + m]:
                        top = mix(top, level, tops[i], of_bins[i])
                for order in range(4):
                    out[order, c, low + m] = level[order]


@cumulants.defined(LITTLE // 2)  # as the work grows with the square of a column's levels
def cumulants_by_definition(
    share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, tilt: Array, wanted: Array,
    out: Array,
) -> None:  # fmt: skip
    out[:, :, bounds[0] : bounds[-1]] = 0.0
    for t, columns, levels in alike(bounds, tilt):
        with np.errstate(all="ignore"):
            bins = probable_bins(share[levels], counts[:, levels], concentration[:, columns], log_odds[:, columns])
            logs = tilts(bins, t)
            each = cumulants_of_log_gamma(bins.z + t) - cumulants_of_log_gamma(bins.total + t)
            each[0] -= bins.log_q
            each = np.where(bins.q == 1.0, 0.0, each)
            logs, each = bins.square(logs, -np.inf), bins.square(each, 0.0)
            for m in range(levels.shape[1]):  # the bins that hold it end there or later, and begin there or before
                at = np.flatnonzero(wanted[levels[:, m]])
                if at.size:
                    out[:, :, levels[at, m]] = mixture(logs[:, at, m:, : m + 1], each[:, :, at, m:, : m + 1])


def mixture_variances(
    share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, tilt: Array, out: Array
) -> None:
    """Variance over bins of the mean of log(theta / q) given the bin of each level; arguments as of `log_moments`."""
    for t, columns, levels in alike(bounds, tilt):
        with np.errstate(all="ignore"):
            bins = probable_bins(share[levels], counts[:, levels], concentration[:, columns], log_odds[:, columns])
            logs = tilts(bins, t)
            weight = np.exp(logs - logs.max(axis=-1, keepdims=True))
            mean = np.where((bins.q == 1.0) | (weight == 0.0), 0.0, psi(bins.z + t) - psi(bins.total + t) - bins.log_q)
            total = sums_of_bins(bins, weight)
            square = sums_of_bins(bins, weight * mean * mean) / total
            out[:, levels] = square - (sums_of_bins(bins, weight * mean) / total) ** 2


@compiled
def mix(top: float, first: Array, log: float, second: Array) -> float:
    """Make four cumulants those of a mixture, weights exp(top) and exp(log), with others; return its log weight.

    The law of total cumulance, Brillinger (1969): from the parts' cumulants given which part holds, and those of which.
    """
    if log <= top - FAR:
        return top
    if top <= log - FAR:
        for order in range(4):
            first[order] = second[order]
        return log
    ratio = np.exp(-abs(top - log))
    both = ratio / ((1.0 + ratio) * (1.0 + ratio))
    v = (1.0 if log > top else ratio) / (1.0 + ratio)
    w = 1.0 - v
    d, skew = first[0] - second[0], v - w
    gap, bend = first[1] - second[1], first[2] - second[2]
    spread = 4 * d * bend + 3 * gap * gap + 6 * skew * d * d * gap
    first[3] = w * first[3] + v * second[3] + both * (spread + (1 - 6 * both) * (d * d * (d * d)))
    first[2] = w * first[2] + v * second[2] + 3 * both * d * gap + both * skew * (d * d * d)
    first[1] = w * first[1] + v * second[1] + both * d * d
    first[0] = w * first[0] + v * second[0]
    return max(top, log) + np.log1p(ratio)


def mixture(logs: Array, cumulants: Array) -> Array:
    """Four cumulants of a mixture over the last two axes, from log weights and cumulants, `-> (4, ...)`.

    Those of a part of infinite weight, if there is any: the last to end of the first to begin.
    """
    first, second, third, fourth = cumulants
    top = logs.max(axis=(-2, -1), keepdims=True)
    weight = np.exp(logs - top)
    weight /= weight.sum(axis=(-2, -1), keepdims=True)
    mean = (weight * first).sum(axis=(-2, -1), keepdims=True)
    d = first - mean
    square = d * d
    variance = (weight * (second + square)).sum(axis=(-2, -1))
    skew = (weight * (third + d * (3 * second + square))).sum(axis=(-2, -1))
    tail = (weight * (fourth + 3 * second * second + d * (4 * third + d * (6 * second + square)))).sum(axis=(-2, -1))
    out = np.stack([mean[..., 0, 0], variance, skew, tail - 3 * variance * variance])
    infinite = top[..., 0, 0] == np.inf
    if infinite.any():
        at = np.swapaxes(logs[infinite][:, ::-1], 1, 2).reshape(infinite.sum(), -1).argmax(axis=-1)
        parts = np.swapaxes(cumulants[:, infinite][:, :, ::-1], 2, 3).reshape(4, infinite.sum(), -1)
        out[:, infinite] = np.take_along_axis(parts, at[None, :, None], axis=-1)[..., 0]
    return out


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
        out[3] += 6.0 * (y * y * (y * y))
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


def cumulants_of_log_gamma(z: Array) -> Array:
    """As `log_gamma_cumulants`, `-> (4, ...)`."""
    out, far = np.zeros((4, *z.shape)), z
    for _ in range(int(STIRLING_FROM)):
        y = 1.0 / far
        square = y * y
        out -= y, -square, 2.0 * square * y, -6.0 * square * square
        far = far + 1.0
    y = 1.0 / far
    v = y * y
    out += np.log(far) - y / 2, y + v / 2, -v - y * v, 2 * y * v + 3 * v * v
    power = v
    for n, number in enumerate(BERNOULLI):
        order, term = 2.0 * (n + 1), number * power
        out -= term / order, -term * y, term * v * (order + 1), -term * y * v * (order + 1) * (order + 2)
        power = power * v
    return np.where(z > 0.0, out, np.reshape([-np.inf, np.inf, -np.inf, np.inf], (4, *[1] * z.ndim)))


@compiled
def transform(
    share: Array, counts: Array, concentration: float, log_odds: float, s: Array, moment: Array, out: Array
) -> None:
    """E[(theta / q)**s] of the bin of each level over that at the real part of s, which is the same for all s.

    `2 of (k,), (n,), (k,) -> (k, n)`; `moment` is log E[(theta / q)**Re s] of the levels that are wanted, of others
    infinite. Bins that add less than a level's part of SMALLEST to it are left out.
    """
    k = len(share)
    q, log_q, log_gamma, z, joint, sums = room(k)
    total = concentration + bins_of(share, counts, concentration, log_odds, q, log_q, log_gamma, z, joint)
    chances(joint, sums)
    tilt_bins(s[0].real, total, q, log_q, z, joint)
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
            if np.inf > joint[m, i] > least[m]:
                if joint[m, i] > top:
                    bins *= np.exp(top - joint[m, i])
                    top = joint[m, i]
                size, real = np.exp(joint[m, i] - top), log_ratio_moment(z[m, i], total, q[m, i], s[0].real)
                for e in range(len(s)):
                    if q[m, i] == 1.0:
                        bins[e] += size
                    else:
                        bins[e] += size * gamma_ratio(z[m, i], s[e], normaliser[e] + s[e] * log_q[m, i] + real)
            if moment[m] < np.inf and top > -np.inf:
                size = np.exp(top - moment[m])
                for e in range(len(s)):
                    out[m, e] += size * bins[e]


@compiled
def log_gamma_gap_complex(z: float, s: complex) -> complex:
    """ln Gamma(z + s) - ln Gamma(z), up to whole turns, z and the real part of z + s being above 0."""
    factors = 0.0j
    while z < STIRLING_FROM or z + s.real < STIRLING_FROM:
        factors += np.log(z / (z + s))
        z += 1.0
    return large_log_gamma_gap(z, s) + factors


@compiled
def large_log_gamma_gap(z: float, s: complex) -> complex:
    """ln Gamma(z + s) - ln Gamma(z) for z and the real part of z + s above STIRLING_FROM."""
    x, y = s.real / z, s.imag / z
    log1p = complex(0.5 * np.log1p(x * (2.0 + x) + y * y), np.arctan2(y, 1.0 + x))
    further = 1.0 / (z + s)
    v = further * further
    tail = further * (1 / 12 - v * (1 / 360 - v * (1 / 1260 - v * (1 / 1680 - v * (1 / 1188 - v * (691 / 360360))))))
    return (z - 0.5 + s) * log1p + s * (np.log(z) - 1.0) + tail - stirling_tail(z)


@compiled
def gamma_ratio(z: float, s: complex, minus: complex) -> complex:
    """Gamma(z + s) / Gamma(z) exp(-minus), z and the real part of z + s being above 0."""
    above, below = 1.0, complex(1.0)
    while z < STIRLING_FROM or z + s.real < STIRLING_FROM:
        above *= z
        below *= z + s
        z += 1.0
        if above > LARGE:
            minus -= np.log(above / below)
            above, below = 1.0, complex(1.0)
    value = np.exp(large_log_gamma_gap(z, s) - minus)
    return value * (above / below) if above != 1.0 else value


@transform.defined(MANY)
def transform_by_definition(
    share: Array, counts: Array, concentration: float, log_odds: float, s: Array, moment: Array, out: Array
) -> None:
    real, wanted = s[0].real, np.flatnonzero(moment < np.inf)
    out[:] = 0.0
    with np.errstate(all="ignore"):
        bins = probable_bins(*as_one(share, counts, concentration, log_odds)).only()
        joint = tilts(bins, real)
        kept = np.flatnonzero((joint < np.inf) & (joint > wanted_part(bins, moment) + SMALLEST))
        total, levels = bins.total[0], wanted[:, None]
        of_total = np.zeros((2, len(s)))
        if total + real > 0.0:
            of_total[:] = np.squeeze(log_gamma_gaps(bins.total, s), axis=1)
        kept = kept[np.argsort(bins.z[kept])]  # so that few parts have bins of small z
        moments = log_ratio_moments(bins.z[kept], total, bins.q[kept], bins.log_q[kept], real) + real * bins.log_q[kept]
        parts = 1 + kept.size * len(s) // CHUNK
        for at, each in zip(np.array_split(kept, parts), np.array_split(moments, parts), strict=True):
            size, angle = log_gamma_gaps(bins.z[at], s)
            size -= of_total[0] + each[:, None]
            angle -= of_total[1] + s.imag * bins.log_q[at, None]
            ratio = on_circle(angle)
            ratio *= np.exp(size, out=size)
            ratio[bins.q[at] == 1.0] = 1.0
            held = (bins.start[at] <= levels) & (levels <= bins.end[at])
            part = np.where(held, np.exp(joint[at] - moment[levels]), 0.0)
            out[wanted] += (part @ ratio.view(float)).view(complex)


@compiled
def log_modes(share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, out: Array) -> None:
    """log(theta / q) of each level at the mode of the most probable binning; arguments as of `log_moments`."""
    q, log_q, log_gamma, z, joint, tops = room(most_levels(bounds))
    excess, starts = np.empty(len(tops)), np.empty(len(tops), np.int64)
    for j in range(len(bounds) - 1):
        low, high = bounds[j], bounds[j + 1]
        k = high - low
        for c in range(len(counts)):
            bins_of(
                share[low:high], counts[c, low:high], concentration[c, j], log_odds[c, j], q, log_q, log_gamma, z, joint
            )
            best(joint[:k, :k], z, tops, excess, starts)
            last = k
            while last > 0:
                i = starts[last]
                out[c, low + i : low + last] = log_mode(z[last - 1, i], q[last - 1, i], excess[k])
                last = i


@compiled
def best(joint: Array, z: Array, tops: Array, excess: Array, starts: Array) -> None:
    """Log weight of the best binning before each level, the sum of max(z - 1, 0) of its bins, and its last bin's start.

    `2 of (k, k) -> 3 of (k + 1,)`. Of binnings with the same weight the one with longer bins is taken.
    """
    tops[0], excess[0], starts[0] = 0.0, 0.0, 0
    for k in range(len(joint)):
        top, start = -np.inf, 0
        for i in range(k + 1):
            if tops[i] + joint[k, i] > top:
                top, start = tops[i] + joint[k, i], i
        tops[k + 1], starts[k + 1] = top, start
        excess[k + 1] = excess[start] + max(z[k, start] - 1.0, 0.0)


@log_modes.defined()
def log_modes_by_definition(
    share: Array, bounds: Array, counts: Array, concentration: Array, log_odds: Array, out: Array
) -> None:
    for _, columns, levels in alike(bounds, np.zeros(len(bounds) - 1)):
        with np.errstate(all="ignore"):
            bins = BinArrays.of(share[levels], counts[:, levels], concentration[:, columns], log_odds[:, columns])
            _, excess, starts = best_bins(bins)
            modes = log_mode_of_bins(bins.z, bins.q, excess[..., -1:])
        for c, f in np.ndindex(modes.shape[:2]):
            last = levels.shape[1]
            while last > 0:
                i = starts[c, f, last]
                out[c, levels[f, i:last]] = modes[c, f, last * (last - 1) // 2 + i]
                last = i


def best_bins(bins: BinArrays) -> tuple[Array, Array, Array]:
    """As `best`, `-> 3 of (..., k + 1)`."""
    shape, over = (*bins.z.shape[:-1], bins.end[-1] + 2), np.maximum(bins.z - 1.0, 0.0)
    tops, excess, starts = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int64)
    for m, here in reversed(list(bins.ending())):
        logs = tops[..., : m + 1] + bins.weight[..., here]
        start = logs.argmax(axis=-1)[..., None]
        tops[..., m + 1 : m + 2] = np.take_along_axis(logs, start, axis=-1)
        excess[..., m + 1 : m + 2] = np.take_along_axis(excess[..., : m + 1] + over[..., here], start, axis=-1)
        starts[..., m + 1 : m + 2] = start
    return tops, excess, starts


@compiled
def log_mode(z: float, q: float, excess: float) -> float:
    """log(theta / q) at the mode of a Dirichlet; without a peak the share of all rows, as all of it is mode."""
    if q == 1.0 or excess == 0.0:
        return 0.0
    return np.log(max(z - 1.0, 0.0) / excess / q)


def log_mode_of_bins(z: Array, q: Array, excess: Array) -> Array:
    """As `log_mode`."""
    return np.where((q == 1.0) | (excess == 0.0), 0.0, np.log(np.maximum(z - 1.0, 0.0) / excess / q))


@compiled
def draw(share: Array, counts: Array, concentration: float, log_odds: float, uniform: Array, logs: Array) -> None:
    """Draw bins, and write log(theta / q) of each level over logs of Gamma variates, `2 of (k,), 2 of (s, k)`.

    A bin's variate is the sum of those of its levels.
    """
    k = len(share)
    q, log_q, log_gamma, z, joint, sums = room(k)
    bins_of(share, counts, concentration, log_odds, q, log_q, log_gamma, z, joint)
    before(joint, sums)
    for s in range(len(logs)):
        every, end = log_sum(logs[s]), k
        while end > 0:
            first, left = 0, uniform[s, end - 1] - joint[end - 1, 0]
            while left > 0.0 and first < end - 1:
                first += 1
                left -= joint[end - 1, first]
            is_all = q[end - 1, first] == 1.0
            logs[s, first:end] = 0.0 if is_all else log_sum(logs[s, first:end]) - every - log_q[end - 1, first]
            end = first


@draw.defined(1 << 18)  # bins are weighed once for all draws: thousands of these take a few milliseconds longer
def draw_by_definition(
    share: Array, counts: Array, concentration: float, log_odds: float, uniform: Array, logs: Array
) -> None:
    with np.errstate(all="ignore"):
        bins = BinArrays.of_one(share, counts, concentration, log_odds)
        sums_before(bins)
    begins, end = np.zeros(logs.shape, bool), np.full(len(logs), len(share))
    of_bin = np.zeros(logs.shape, np.int64)
    for m, here in bins.ending():
        drawn = np.flatnonzero(end == m + 1)
        left = uniform[drawn, m, None] - np.cumsum(bins.weight[here])
        first = np.minimum((left > 0.0).sum(axis=1), m)
        begins[drawn, first], of_bin[drawn, first], end[drawn] = True, here.start + first, first
    starts, of_bin = np.flatnonzero(begins), of_bin[begins]
    if starts.size:
        every = np.logaddexp.reduce(logs, axis=1)[starts // len(share)]
        value = np.logaddexp.reduceat(logs.ravel(), starts) - every - bins.log_q[of_bin]
        value = np.where(bins.q[of_bin] == 1.0, 0.0, value)
        logs[:] = np.repeat(value, np.diff(starts, append=logs.size)).reshape(logs.shape)


@compiled
def log_density(share: Array, counts: Array, concentration: float, log_odds: float, logs: Array, out: Array) -> None:
    """Log-density of drawn bins and their shares, `2 of (k,), (s, k) -> (s,)`, from log(theta / q) of each level."""
    k = len(share)
    q, log_q, log_gamma, z, joint, sums = room(k)
    n = bins_of(share, counts, concentration, log_odds, q, log_q, log_gamma, z, joint)
    before(joint, sums)
    for s in range(len(logs)):
        i, total = 0, lgamma(concentration + n)
        for m in range(k):
            if m == k - 1 or logs[s, m + 1] != logs[s, i]:
                total += np.log(joint[m, i]) - lgamma(z[m, i])
                if q[m, i] < 1.0:
                    total += (z[m, i] - 1.0) * (logs[s, i] + log_q[m, i])
                i = m + 1
        out[s] = total


@log_density.defined()
def log_density_by_definition(
    share: Array, counts: Array, concentration: float, log_odds: float, logs: Array, out: Array
) -> None:
    with np.errstate(all="ignore"):
        bins = BinArrays.of_one(share, counts, concentration, log_odds)
        sums_before(bins)
        changes = np.ones((len(logs), len(share) + 1), bool)
        changes[:, 1:-1] = logs[:, 1:] != logs[:, :-1]
        (row, start), end = np.nonzero(changes[:, :-1]), np.nonzero(changes[:, 1:])[1]
        at = end * (end + 1) // 2 + start
        z, q, log_q = bins.z[at], bins.q[at], bins.log_q[at]
        value = np.log(bins.weight[at]) - gammaln(z)
        value += np.where(q < 1.0, (z - 1.0) * (logs[row, start] + log_q), 0.0)
        out[:] = gammaln(bins.total) + np.bincount(row, value, len(logs))
