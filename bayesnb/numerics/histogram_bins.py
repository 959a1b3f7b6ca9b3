"""All bins of columns as arrays in NumPy: weights and probabilities, and sums over the bins that hold a level.

What binning_kernels.py and histogram_kernels.py compute in loops, and from the same formulas, for small tables.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, log_expit

from bayesnb.numerics.binning_kernels import HALF_LOG_TAU, SHIFT, UNDERFLOW
from bayesnb.numerics.compilation import Array
from bayesnb.numerics.count_kernels import STIRLING_FROM, stirling_tail
from bayesnb.numerics.special import stirling_series

MOST_KEPT = 1 << 14  # numbers, twice those of bins, of columns whose bins are kept: half a megabyte


class BinArrays(NamedTuple):
    """All bins of columns of k levels, k (k + 1) / 2 in the last axis: those that end at a level lie together.

    Class c and feature f are the axes before it; shares are those of all classes.
    """

    end: Array  # last and first level of each bin
    start: Array
    q: Array
    log_q: Array
    z: Array
    weight: Array  # log weights, until they become probabilities
    total: Array  # concentration and rows of the column, `(c, f, 1)`
    rows: Array  # `(c, f, 1)`

    @classmethod
    def of_one(cls, share: Array, counts: Array, concentration: float, log_odds: float) -> "BinArrays":
        """Bins of one class and column, `2 of (k,)`, without the two axes."""
        return cls.of(*as_one(share, counts, concentration, log_odds)).only()

    def only(self) -> "BinArrays":
        """Bins of the first class and column, without the two axes."""
        z, weight, total, rows = (each[0, 0] for each in (self.z, self.weight, self.total, self.rows))
        return self._replace(q=self.q[0], log_q=self.log_q[0], z=z, weight=weight, total=total, rows=rows)

    @classmethod
    def of(cls, share: Array, counts: Array, concentration: Array, log_odds: Array) -> "BinArrays":
        """Bins and their log weights, `(f, k), (c, f, k), 2 of (c, f)`; see `prepare` and `weigh`."""
        k = share.shape[-1]
        end, start = np.tril_indices(k)
        q, n = (from_the_end(each)[..., end, start] for each in (share, counts))
        whole = (end == k - 1) & (start == 0)
        q[..., whole] = 1.0
        rows, concentration, log_odds = n[..., whole], concentration[..., None], log_odds[..., None]
        a = concentration * q
        weight = bin_weights(a, n, rows * q) + log_expit(-log_odds) * (end - start)
        weight += np.where(end < k - 1, log_expit(log_odds), 0.0)
        return cls(end, start, q, np.log(q), a + n, weight, concentration + rows, rows)

    def ending(self) -> Iterator[tuple[int, slice]]:
        """Each level, the last one first, and the bins that end there."""
        return ((m, slice(m * (m + 1) // 2, (m + 1) * (m + 2) // 2)) for m in range(self.end[-1], -1, -1))

    def square(self, values: Array, fill: float) -> Array:
        """Values of bins by their last and first level, `(..., k, k)`."""
        k = self.end[-1] + 1
        out = np.full((*values.shape[:-1], k, k), fill)
        out[..., self.end, self.start] = values
        return out


def as_one(share: Array, counts: Array, concentration: float, log_odds: float) -> tuple[Array, Array, Array, Array]:
    """Arguments of `BinArrays.of` for one class and column."""
    return share[None], counts[None, None], np.full((1, 1), concentration), np.full((1, 1), log_odds)


def from_the_end(values: Array) -> Array:
    """Sums of the values of each run of levels, `(..., k) -> (..., k, k)`, by the last and the first one."""
    runs = np.tril(np.broadcast_to(values[..., None, :], (*values.shape, values.shape[-1])))
    return np.cumsum(runs[..., ::-1], axis=-1)[..., ::-1]


def bin_weights(a: Array, n: Array, expected: Array) -> Array:
    """As `bin_weight`."""
    z = a + n
    far, further = np.maximum(a, STIRLING_FROM), np.maximum(z, STIRLING_FROM)
    with np.errstate(all="ignore"):
        large = (a - 0.5) * np.log1p(n / a) - stirling_tails(far)
        small = (a - 0.5) * np.log(further) - a + HALF_LOG_TAU - gammaln(a)
        weight = np.where(a < STIRLING_FROM, small, large) + n * np.log(further / expected) + stirling_tails(further)
        weight = np.where(z < STIRLING_FROM, gammaln(z) - gammaln(a) - n * np.log(expected) + n, weight)
        return np.where(n == 0.0, 0.0, weight)


def stirling_tails(z: Array) -> Array:
    return stirling_tail.loops(z)


def sums_before(bins: BinArrays) -> Array:
    """As `before`: probabilities of bins, given where they end, are then in place of their log weights."""
    weight, k = bins.weight, bins.end[-1] + 1
    sums = np.zeros((*weight.shape[:-1], k + 1))
    for m, here in reversed(list(bins.ending())):
        part = weight[..., here]
        part += sums[..., : m + 1]
        top = part.max(axis=-1, keepdims=True)
        np.exp(part - top, out=part)
        total = part.sum(axis=-1, keepdims=True)
        part /= total
        sums[..., m + 1] = (top + np.log(total))[..., 0]
    return sums


def probabilities(bins: BinArrays) -> Array:
    """As `chances`: probabilities of bins, in place of their log weights."""
    sums_before(bins)
    weight, boundary = bins.weight, np.zeros((*bins.weight.shape[:-1], bins.end[-1] + 2))
    boundary[..., -1] = 1.0
    for m, here in bins.ending():
        weight[..., here] *= boundary[..., m + 1 : m + 2]
        boundary[..., : m + 1] += weight[..., here]
    return weight


def probable_bins(share: Array, counts: Array, concentration: Array, log_odds: Array) -> BinArrays:
    """Bins with their probabilities in place of their log weights; arguments as of `BinArrays.of`.

    Those of the last few columns are kept if they are small: a row asks for many moments of the same belief.
    """
    columns = share, counts, concentration, log_odds
    if counts.size * counts.shape[-1] > MOST_KEPT:
        bins = BinArrays.of(*columns)
        probabilities(bins)
        return bins
    return _probable_bins(*((np.asarray(each, float).tobytes(), np.shape(each)) for each in columns))


@lru_cache(maxsize=64)  # 32 megabytes at most
def _probable_bins(*columns: tuple[bytes, tuple[int, ...]]) -> BinArrays:
    bins = BinArrays.of(*(np.frombuffer(numbers).reshape(shape) for numbers, shape in columns))
    for each in (probabilities(bins), bins.z, bins.q, bins.log_q):
        each.flags.writeable = False
    return bins


def sums_of_bins(bins: BinArrays, values: Array) -> Array:
    """As `sum_of_bins`: add up the values of the bins that hold each level, `-> (..., k)`."""
    until = np.cumsum(bins.square(values, 0.0)[..., ::-1, :], axis=-2)[..., ::-1, :]
    return np.tril(until).sum(axis=-1)


def log_sums_of_bins(bins: BinArrays, terms: Array) -> Array:
    """As `log_sum_of_bins`."""
    top = np.where(terms < np.inf, terms, -np.inf).max(axis=-1, keepdims=True)
    sums = sums_of_bins(bins, np.exp(terms - top))
    out = np.log(sums) + top
    if not (sums >= UNDERFLOW).all():
        until = np.logaddexp.accumulate(bins.square(terms, -np.inf)[..., ::-1, :], axis=-2)[..., ::-1, :]
        held = np.tri(until.shape[-1], dtype=bool)
        small = np.logaddexp.reduce(np.where(held, until, -np.inf), axis=-1)
        out = np.where(sums >= UNDERFLOW, out, small)
    return out


def tilts(bins: BinArrays, s: float) -> Array:
    """As `tilt_bins`: log(P(bin) E[(theta / q)**s]), `weight` being P(bin)."""
    logs = np.log(bins.weight)
    if s == 0.0:
        return logs
    with_moment = logs + log_ratio_moments(bins.z, bins.total, bins.q, bins.log_q, s)
    return np.where((bins.q == 1.0) | (logs > -np.inf) | (bins.z + s <= 0.0), with_moment, -np.inf)


def log_gamma_rise(z: Array, further: Array, step: Any) -> Array:
    """As `log_gamma_gap`."""
    far, beyond = np.maximum(z, STIRLING_FROM), np.maximum(further, STIRLING_FROM)
    rise = (far - 0.5) * np.log1p(step / far) + step * np.log(beyond) - step
    rise += stirling_tails(beyond) - stirling_tails(far)
    rise = np.where((z >= STIRLING_FROM) & (further >= STIRLING_FROM), rise, gammaln(further) - gammaln(z))
    return np.where(step == 0.0, 0.0, np.where(further <= 0.0, np.inf, rise))


def log_gamma_gaps(z: Array, s: Array) -> tuple[Array, Array]:
    """ln Gamma(z + s) - ln Gamma(z), its real part and its imaginary one, the latter up to whole turns.

    `(b,), (n,) -> 2 of (b, n)`; all s have the same real part. In numbers that are not complex, whose logarithms take a
    tenth of the time, and in few arrays, as new ones take longer than what is computed in them.
    """
    real, turn = s[0].real, s.imag.copy()
    small = (z < STIRLING_FROM) | (z + real < STIRLING_FROM)
    far = np.where(small, z + SHIFT, z)[:, None]
    tail, x, y = stirling_series(far + s), real / far, turn / far
    angle = np.arctan(y / (1.0 + x))  # of log(1 + s / far), as `rise` is the real part
    y *= y
    y += x * (2.0 + x)
    rise = np.log1p(y, out=y)
    rise *= 0.5
    power, log_far = far - 0.5 + real, np.log(far) - 1.0
    size = power * rise
    size -= turn * angle
    size += real * log_far - stirling_tails(far)
    size += tail.real
    angle *= power
    rise += log_far
    rise *= turn
    angle += rise
    angle += tail.imag
    if small.any():
        near = z[small, None]
        above, below = np.ones(near.shape), np.ones((len(near), len(s)), complex)
        for n in range(SHIFT):
            above *= near + n
            below *= near + n + s
        size[small] += np.log(above) - np.log(np.abs(below))
        angle[small] -= np.angle(below)
    return size, angle


def log_ratio_moments(z: Array, total: Array, q: Array, log_q: Array, s: float) -> Array:
    """As `log_ratio_moment`."""
    if s == 1.0:
        moment = np.log(z / total / q)
    else:
        moment = log_gamma_rise(z, z + s, s) - log_gamma_rise(total, total + s, s) - s * log_q
    return np.where(q == 1.0, 0.0, np.where(z + s <= 0.0, np.inf, moment))


def wanted_part(bins: BinArrays, moment: Array) -> Array:
    """The least moment of the levels of each bin."""
    levels = np.where(np.tri(len(moment), dtype=bool), moment, np.inf)
    return np.minimum.accumulate(levels[:, ::-1], axis=-1)[:, ::-1][bins.end, bins.start]


def alike(bounds: Array, s: Array) -> Iterator[tuple[float, Array, Array]]:
    """Each power that columns have, those of as many levels, `(f,)`, and their levels, `(f, k)`."""
    sizes = np.diff(bounds)
    for size, power in set(zip(sizes.tolist(), s.tolist(), strict=True)):
        columns = np.flatnonzero((sizes == size) & (s == power))
        yield power, columns, bounds[columns, None] + np.arange(size)
