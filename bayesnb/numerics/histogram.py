"""Histograms averaged over all ways to join levels into bins: exact sums over 2**(k - 1) binnings.

    each cut between two levels is a boundary of bins, independently, with the same odds
    shares of the bins ~ Dirichlet(concentration q)        q: their shares of all rows

The levels from `first` to `last` form a bin in many binnings. Its factor in their probability is
the same in all of them; with n rows in the bin and a = concentration q it is

    log weight = log prior of its cuts + ln Gamma(a + n) - ln Gamma(a) - n log q

A forward pass over the levels sums all binnings of the levels so far, by where their last bin
begins. A backward pass gives the probability of each bin (Endres and Foeldiak 2005, Bayesian bin
distribution inference and mutual information). Each weight is reduced by n log N - n, with N all
rows: this is the same in total for every binning, and keeps the numbers small.

Given the bins, the share of a bin is theta ~ Beta(a, A - a), with a and A now including the rows.
Results for the ratio theta / q of a level are sums over the bins that contain the level. Bins lie
on the last axis, those that end at the same level together; before it are classes and columns, `(c,
f, b)`.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebpts1
from scipy.special import betainc, gammaln, log_expit

from bayesnb.numerics.cornish_fisher import mixture
from bayesnb.numerics.special import (
    STIRLING_FROM,
    less,
    log_gamma_cumulants,
    log_gamma_ratio,
    stirling_series,
)

Array = np.ndarray
HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)
SHIFT = 16  # factors that move the argument of a Gamma function to where Stirling's series holds
ROUNDING = 1e-12  # relative to the rows of a column: a smaller remainder counts as 0
NEGLIGIBLE = 36.0  # terms so many nats below the largest are ignored: 2e-16
HALVINGS = 60  # bisections for a quantile
CHUNK = 1 << 15  # numbers processed at once, which fit in a processor's cache
MAX_LINES = 1024  # cached transforms of a class and column, about 100 kB each
MAX_LEVELS_KEPT = 64  # levels up to which the transforms of a column are cached
MAX_PANEL = 64.0  # largest size of the first panel; few points lie beyond
POINTS = 20  # nodes of a panel without oscillation: 5.8**-20 is 5e-16
POINTS_BY_TURN = 0.8  # additional nodes for each radian of phase


class Bins(NamedTuple):
    """All bins of averaged histograms of k levels, and their probabilities.

    The first three are `(b,)`, `(b,)` and `(f, b)`, totals `(c, f, 1)`, the evidence `(c, f)`, and
    all others `(c, f, b)`.
    """

    first: Array  # first level of each bin
    last: Array
    q: Array  # share of all rows
    prior: Array  # prior concentration
    rows: Array
    prior_total: Array
    rows_total: Array
    log_begin: Array  # log probability that a bin begins at `first`, given that one ends at `last`
    log_chance: Array  # log probability of a bin
    evidence: Array  # log evidence of the rows, relative to that under the shares of all rows

    @property
    def levels(self) -> int:
        return int(self.last[-1]) + 1

    @property
    def a(self) -> Array:
        return self.prior + self.rows

    @property
    def total(self) -> Array:
        return self.prior_total + self.rows_total

    @property
    def is_all(self) -> Array:
        """Which bin contains all levels, so that its share is 1."""
        return self.q == 1

    def one(self, *place: int) -> "Bins":
        """Bins of one class and column, `(b,)`."""
        return Bins(self.first, self.last, self.q[place[-1]], *(each[place] for each in self[3:]))

    def some(self, which: Array) -> "Bins":
        """Some bins of one class and column."""
        totals = {"prior_total", "rows_total", "evidence"}
        parts = self._asdict().items()
        return Bins(*(each if name in totals else each[which] for name, each in parts))


def average(share: Array, counts: Array, concentration: Array, log_odds: Array) -> Bins:
    """Compute probabilities of bins for columns with equally many levels.

    Shapes: `(f, k), (c, f, k), 2 of (c, f)`.
    """
    k = share.shape[-1]
    last, first = np.tril_indices(k)
    is_all = (first == 0) & (last == k - 1)
    q = sums_of_runs(share)
    rows = sums_of_runs(counts)
    q[..., is_all] = 1.0  # exactly; all other shares are below 1
    prior_total = concentration[..., None]
    rows_total = rows[..., is_all]
    prior = prior_total * q
    log_cut = log_expit(log_odds)[..., None]
    log_no_cut = log_expit(-log_odds)[..., None]
    log_begin = log_weights(prior, rows, rows_total * q) + log_no_cut * (last - first)
    log_begin += np.where(last < k - 1, log_cut, 0.0)

    before = np.zeros((*rows.shape[:-1], k + 1))  # log sums over binnings of the levels before each
    for level, ends in ending_at(k):
        log_begin[..., ends] += before[..., : level + 1]
        before[..., level + 1] = normalise(log_begin[..., ends])
    evidence = before[..., k] - log_weights(prior_total, rows_total, rows_total)[..., 0]

    log_chance = np.empty_like(log_begin)
    boundary = np.full_like(before, -np.inf)  # log-probability of a boundary before each level
    boundary[..., k] = 0.0
    for level, ends in reversed(list(ending_at(k))):
        log_chance[..., ends] = log_begin[..., ends] + boundary[..., [level + 1]]
        begins = boundary[..., : level + 1]
        np.logaddexp(begins, log_chance[..., ends], out=begins)
    of_bins = first, last, q, prior, rows
    return Bins(*of_bins, prior_total, rows_total, log_begin, log_chance, evidence)


def ending_at(levels: int) -> Iterator[tuple[int, slice]]:
    """Yield each level, and the bins that end there."""
    for level in range(levels):
        yield level, slice(level * (level + 1) // 2, (level + 1) * (level + 2) // 2)


def sums_of_runs(values: Array) -> Array:
    """Sum values over the levels of each bin, `(..., k) -> (..., b)`."""
    k = values.shape[-1]
    runs = np.tril(np.repeat(values[..., None, :], k, axis=-2))
    from_the_end = np.cumsum(runs[..., ::-1], axis=-1)[..., ::-1]
    return from_the_end[..., *np.tril_indices(k)]


def log_weights(a: Array, n: Array, expected: Array) -> Array:
    """ln Gamma(a + n) - ln Gamma(a) - n log(expected) + n, without cancellation."""
    with np.errstate(all="ignore"):
        main = (a - 0.5) * np.log1p(n / a) + n * np.log((a + n) / expected)
        return np.where(n > 0, main + stirling_remainder(a + n) - stirling_remainder(a), 0.0)


def stirling_remainder(z: Array) -> Array:
    """ln Gamma(z) - [(z - 1/2) ln z - z + ln(2 pi) / 2]."""
    remainder = stirling_series(np.maximum(z, STIRLING_FROM))
    small = z < STIRLING_FROM
    near = z[small]
    remainder[small] = gammaln(near) - (near - 0.5) * np.log(near) + near - HALF_LOG_TAU
    return remainder


def normalise(logs: Array) -> Array:
    """Normalise log probabilities on the last axis, in place; return the log of their sum."""
    top = logs.max(axis=-1, keepdims=True)
    logs -= top
    total = np.log(np.exp(logs).sum(axis=-1, keepdims=True))
    logs -= total
    return (top + total)[..., 0]


def log_sum_at_levels(logs: Array, levels: int) -> Array:
    """Log-sum-exp over the bins that contain each level, `(..., b) -> (..., k)`.

    These begin at the level or before, and end there or later: a backward pass sums them by first
    level.
    """
    out = np.empty((*logs.shape[:-1], levels))
    by_first = np.full_like(out, -np.inf)
    for level, ends in reversed(list(ending_at(levels))):
        held = by_first[..., : level + 1]
        np.logaddexp(held, logs[..., ends], out=held)
        out[..., level] = np.logaddexp.reduce(held, axis=-1)
    return out


def log_moments(bins: Bins, s: Array) -> Array:
    """K(s) = log E[(theta / q)**s] of each level, `(f,) -> (c, f, k)`; may be infinite."""
    s = s[:, None]
    value = log_sum_at_levels(bins.log_chance + log_moments_of_bins(bins, s), bins.levels)
    exactly = (s == 0) | ((s == 1) & (bins.rows_total == 0))
    return np.where(exactly, 0.0, value)


def log_moments_of_bins(bins: Bins, s: Array) -> Array:
    """log E[(theta / q)**s] given the bins, `(f, 1) -> (c, f, b)`."""
    with np.errstate(all="ignore"):
        if (s == 1).all():
            moments = np.log(bins.a / bins.total / bins.q)
        else:
            moments = log_gamma_ratio(bins.a, s) - s * np.log(bins.q)
            moments = less(moments, log_gamma_ratio(bins.total, s))
    return np.where(bins.is_all, 0.0, moments)


def log_left_out(bins: Bins, weight: float) -> Array:
    """K(1 - w) - K(-w) of each level, `(c, f, k)`: the leave-one-out score of a row of weight w."""
    with np.errstate(all="ignore"):
        logs, ratio = log_weights_left(bins, weight)
        return log_sum_at_levels(logs + ratio, bins.levels) - log_sum_at_levels(logs, bins.levels)


def log_weights_left(bins: Bins, weight: float | Array) -> tuple[Array, Array]:
    """Log weight of each bin without a row in it, and the log of the expected ratio.

    Computed as prior + (rows - w), so a small prior keeps its digits. If no row is left, all ratios
    are 1.
    """
    stays = bins.rows - weight > ROUNDING * bins.rows_total
    left = np.where(stays, bins.a - weight, bins.prior)
    gone = np.where(stays, weight, bins.rows)
    total = bins.rows_total - weight
    some = total > ROUNDING * bins.rows_total
    ratio = np.log(left / (bins.prior_total + total) / bins.q)
    logs = bins.log_chance - log_gamma_ratio(left, gone) + gone * np.log(bins.q)
    return logs, np.where(some & ~bins.is_all, ratio, 0.0)


def cumulants(bins: Bins, tilt: Array, *, between: bool = False) -> Array:
    """Four cumulants of log(theta / q) of each level, at a tilt, `(f,) -> (4, c, f, k)`.

    With `between`, those of its conditional mean given the bins.
    """
    tilt = tilt[:, None]
    k = bins.levels
    logs = bins.log_chance + log_moments_of_bins(bins, tilt)
    with np.errstate(all="ignore"):
        a, total = (np.where(each > 0, each, np.nan) for each in (bins.a + tilt, bins.total + tilt))
        each = log_gamma_cumulants(a, 4) - log_gamma_cumulants(total, 4)
        each[0] -= np.log(bins.q)
        each = np.where(bins.is_all, 0.0, each)
        if between:
            each[1:] = 0.0
        out = np.empty((4, *logs.shape[:-1], k))
        by_first = np.full((*logs.shape[:-1], k), -np.inf)
        mixed = np.zeros(out.shape)
        for level, ends in reversed(list(ending_at(k))):
            here = (..., slice(level + 1))
            pair = np.stack([by_first[here], logs[..., ends]], axis=-1)
            by_first[here] = np.logaddexp(by_first[here], logs[..., ends])
            mixed[here] = mixture(shares(pair), np.stack([mixed[here], each[..., ends]], axis=-1))
            out[..., level] = mixture(shares(by_first[here]), mixed[here])
    return out


def shares(logs: Array) -> Array:
    """Normalised weights on the last axis, from their logs."""
    weight = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True)


def log_modes(bins: Bins) -> Array:
    """log(theta / q) of each level at the mode of the most probable bins, `(c, f, k)`.

    It is 0 where there is no peak. Among equally probable bins, longer ones are chosen.
    """
    k = bins.levels
    lead = bins.rows.shape[:-1]
    share = bins.q[..., bins.first == bins.last]
    best = np.zeros((*lead, k + 1))
    height = np.zeros((*lead, k + 1, k))  # max(a - 1, 0) / q of the best binning's bins, by level
    levels = np.arange(k)
    with np.errstate(all="ignore"):
        peak = np.maximum(bins.a - 1, 0.0) / bins.q
        for level, ends in ending_at(k):
            logs = best[..., : level + 1] + bins.log_begin[..., ends]
            first = logs.argmax(axis=-1)[..., None]
            best[..., [level + 1]] = np.take_along_axis(logs, first, axis=-1)
            before = np.take_along_axis(height, first[..., None], axis=-2)[..., 0, :]
            here = np.take_along_axis(peak[..., ends], first, axis=-1)
            is_here = (first <= levels) & (levels <= level)
            height[..., level + 1, :] = np.where(is_here, here, before)
        total = (height[..., k, :] * share).sum(axis=-1, keepdims=True)
        return np.where(total > 0, np.log(height[..., k, :] / total), 0.0)


def draw(bins: Bins, which: Array, share: Array, uniform: Array, variates: Array) -> Array:
    """Draw bins and shares: log(theta / q) of each level, from logs of Gamma variates.

    Shapes: `(c,), (f, k), 2 of (s, c, f, k) -> (s, c, f, k)`. `which` maps classes to those of the
    bins. The variate of a bin is the sum over its levels.
    """
    k = bins.levels
    begins = np.zeros(variates.shape, bool)
    end = np.full(variates.shape[:-1], k)
    for level, ends in reversed(list(ending_at(k))):
        at = np.nonzero(end == level + 1)
        up_to = np.cumsum(np.exp(bins.log_begin[..., ends]), axis=-1)[which[at[1]], at[2]]
        first = np.minimum((uniform[*at, level, None] > up_to).sum(axis=-1), level)
        begins[*at, first], end[at] = True, first
    starts = np.flatnonzero(begins)
    lengths = np.diff(starts, append=begins.size)
    q = np.add.reduceat(np.broadcast_to(share, variates.shape).ravel(), starts)
    total = np.logaddexp.reduce(variates, axis=-1).ravel()[starts // k]
    ratio = np.logaddexp.reduceat(variates.ravel(), starts) - total - np.log(q)
    return np.repeat(np.where(lengths == k, 0.0, ratio), lengths).reshape(variates.shape)


def log_density(bins: Bins, which: Array, ratio: Array) -> Array:
    """Log density of draws, given as log(theta / q), `(s, c, f, k) -> (s, c, f)`: see `draw`."""
    k = bins.levels
    begins = np.ones(ratio.shape, bool)
    begins[..., 1:] = np.diff(ratio) != 0
    starts = np.flatnonzero(begins)
    first = starts % k
    last = (np.append(starts[1:], begins.size) - 1) % k
    _, c, f = np.unravel_index(starts // k, ratio.shape[:-1])
    at = which[c], f, last * (last + 1) // 2 + first
    a = bins.a[at]
    q = bins.q[at[1:]]
    each = bins.log_begin[at] - gammaln(a)
    each += np.where(q < 1, (a - 1) * (ratio.ravel()[starts] + np.log(q)), 0.0)
    total = np.bincount(starts // k, each).reshape(ratio.shape[:-1])
    return total + gammaln(bins.total[which, :, 0])


def interval(bins: Bins, prob: float) -> Array:
    """Equal-tailed intervals of the ratios of the levels of one class and column, `-> (2, k)`."""
    share = bins.q[bins.first == bins.last]
    some = bins.some(~bins.is_all & (bins.log_chance > -2 * NEGLIGIBLE))
    level = np.arange(bins.levels)[:, None]
    held = np.exp(some.log_chance) * ((some.first <= level) & (level <= some.last))
    at_one = np.exp(bins.log_chance[bins.is_all])  # probability that no cut is a boundary

    def below(x: Array) -> Array:
        shares = np.minimum(x[..., None] * some.q, 1.0)
        return (held * betainc(some.a, bins.total - some.a, shares)).sum(axis=-1)

    p = np.array([[(1 - prob) / 2], [(1 + prob) / 2]])
    low = np.zeros((2, bins.levels))
    high = low + 1 / share
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_low = below(middle) + at_one * (middle >= 1) < p
        low = np.where(is_low, middle, low)
        high = np.where(is_low, high, middle)
    below_one = below(np.ones_like(low))
    return np.where((below_one < p) & (p <= below_one + at_one), 1.0, (low + high) / 2)


class Line:
    """E[(theta / q)**s] of the levels of one class and column, on a line with constant real part.

    At distance t from the real axis it varies on the scale of t, or of the distance of the line
    from the poles, which are at -a and below. So it is interpolated by polynomials on panels of
    doubling size, at Chebyshev nodes, more of them where its phase varies faster. They are cached.
    """

    def __init__(self, bins: Bins, real: float) -> None:
        logs = bins.log_chance + log_moments_of_bins(bins, np.full(1, real))
        self.levels, self.real = bins.levels, real
        self.log_moments = log_sum_at_levels(logs, bins.levels)
        runs = np.where(np.tri(bins.levels, dtype=bool), self.log_moments, np.inf)
        least = np.minimum.accumulate(runs[:, ::-1], axis=-1)[:, ::-1][bins.last, bins.first]
        self.bins = bins.some((logs > least - NEGLIGIBLE) & (logs < np.inf))
        nearest = (self.bins.a + real).min(initial=MAX_PANEL)
        self.scale = 2.0 ** np.floor(np.log2(nearest))  # size of the first panel
        self.panels: dict[float, Array] = {}
        self.last: tuple[Array, Array] = np.empty(0), np.empty(0)

    def log_moments_at(self, t: Array, levels: Array) -> Array:
        """K(real + i t) of some levels, for t > 0, `(n,) -> (n, m)`."""
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.log(self.read(t, levels)) + self.log_moments[levels]
        return np.where(np.isposinf(self.log_moments[levels]), np.inf, value)

    def read(self, t: Array, levels: Array) -> Array:
        """The transform divided by its value at t = 0, `(n,) -> (n, m)`."""
        panels = np.maximum(np.ceil(np.log2(t / self.scale)), 0.0)
        out = np.empty((len(t), len(levels)), complex)
        direct = np.zeros(len(t), bool)
        for panel in set(panels.tolist()):
            here = panels == panel
            end = self.scale * 2.0**panel
            size = end / 2 if panel else end
            points = POINTS + int(POINTS_BY_TURN * size * self.turn(end))
            if panel not in self.panels and np.count_nonzero(here) < points:
                direct |= here
                continue
            if panel not in self.panels:
                self.panels[panel] = self.coefficients(end, size, points)
            part = np.ascontiguousarray(self.panels[panel][:, levels]).view(float)
            x = np.clip(2 * (t[here] - end) / size + 1, -1.0, 1.0)
            out[here] = (chebyshev(x, len(part)) @ part).view(complex)
        if direct.any():
            out[direct] = self.compute(t[direct])[:, levels]
        return out

    def coefficients(self, end: float, size: float, points: int) -> Array:
        """Chebyshev coefficients of the transform on a panel, `(points, k)`."""
        x = chebpts1(points)
        values = self.compute(end + size * (x - 1) / 2).view(float)
        coefficients = chebyshev(x, points).T @ values * (2 / points)
        coefficients[0] /= 2
        return coefficients.view(complex)

    def turn(self, t: float) -> float:
        """Rate at which the phase of the transform changes at t, in radians."""
        size = np.hypot(self.bins.a, t) / np.hypot(self.bins.total, t)
        return float(np.abs(np.log(size / self.bins.q)).max(initial=0.0))

    def compute(self, t: Array) -> Array:
        """Sum over the bins that contain each level, `(n,) -> (n, k)`; the last result is
        cached.
        """
        last, value = self.last
        if np.array_equal(t, last):
            return value
        bins = self.bins
        out = np.zeros((len(t), self.levels), complex)
        edges = np.searchsorted(bins.last, np.arange(self.levels + 1))
        for part in np.array_split(np.arange(len(t)), 1 + len(t) * len(bins.q) // CHUNK):
            s = self.real + 1j * t[part, None]
            logs = log_gamma_rise(bins.a, s) - log_gamma_rise(bins.total, s) - s * np.log(bins.q)
            logs += bins.log_chance
            top = logs.real.max(initial=-np.inf)
            terms = np.exp(logs.real - top) * (np.cos(logs.imag) + 1j * np.sin(logs.imag))
            by_first = np.zeros((len(part), self.levels), complex)
            for level in reversed(range(self.levels)):
                ends = slice(edges[level], edges[level + 1])
                by_first[:, bins.first[ends]] += terms[:, ends]
                out[part, level] = by_first[:, : level + 1].sum(axis=-1)
            with np.errstate(invalid="ignore", over="ignore"):
                out[part] *= np.exp(top - self.log_moments)
        self.last = t, out
        return out


def chebyshev(x: Array, degree: int) -> Array:
    """Chebyshev polynomials below a degree, `(n,) -> (n, degree)`."""
    return np.cos(np.arange(degree) * np.arccos(x)[:, None])


def log_gamma_rise(a: Array, s: Array) -> Array:
    """ln Gamma(a + s) - ln Gamma(a) for complex s, modulo 2 pi i, `(b,), (n, 1) -> (n, b)`.

    The real part of a + s is above 0. Real logarithms are ten times as fast as complex ones.
    """
    small = (a < STIRLING_FROM) | (a + s[0].real < STIRLING_FROM)
    far = np.where(small, a + SHIFT, a)
    x = s.real / far
    y = s.imag / far
    log1p = 0.5 * np.log1p(x * (2 + x) + y * y) + 1j * np.arctan2(y, 1 + x)
    rise = (far - 0.5 + s) * log1p + s * (np.log(far) - 1)
    rise += stirling_series(far + s) - stirling_series(far)
    if small.any():
        near = a[small]
        factors = np.ones((), complex)
        for n in range(SHIFT):
            factors = factors * ((near + n + s) / (near + n))
        rise[:, small] -= np.log(factors)
    return rise


@lru_cache(maxsize=MAX_LINES)
def kept_line(real: float, *histogram: bytes) -> Line:
    """The transform of one class and column, from the bytes of the arguments of `average`."""
    share, *others = (np.frombuffer(each) for each in histogram)
    counts, concentration, log_odds = (each[None] for each in others)
    return Line(average(share[None], counts[None], concentration, log_odds).one(0, 0), real)


def line_of(real: float, *histogram: Array) -> Line:
    """The transform of one class and column, cached if it is small, as many rows share it."""
    arguments = [np.asarray(each, float).tobytes() for each in histogram]
    few = len(histogram[0]) <= MAX_LEVELS_KEPT
    return kept_line(real, *arguments) if few else kept_line.__wrapped__(real, *arguments)
