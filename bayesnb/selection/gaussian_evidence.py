"""The Normal-inverse-Gamma prior under which Gaussian columns are most probable.

With posterior parameters k_n = k + n, a_n = a + n / 2, b_n = b + surprise, the log evidence of one class's cells,
log(k / k_n) / 2 + lnGamma(a_n) - lnGamma(a) + a log b - a_n log b_n - n log(2 pi) / 2, has the derivatives

    in k   (1/k - 1/k_n) / 2 - (a_n / b_n) (n / k_n)^2 (xbar - m)^2 / 2        in m   (a_n / b_n) (k n / k_n) (xbar - m)
    in a   psi(a_n) - psi(a) + log b - log b_n                                  in b   a / b - a_n / b_n

Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 3. Where all classes of a column have
one variance, a_n and b_n are those of all of them, and log evidence and derivatives in a and b are so once a column.
The dials are log k, log a, the log of b / a, which is about the variance, and m.

Of n equal rows the evidence is of the order of b^(-n/2): there is no maximum, and a few such columns would take a prior
that all columns share to a variance of 0. They are left out: nobody's variance is to be learnt from them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.families.gaussian import constant, weak_prior
from bayesnb.families.gaussian_density import GaussianStats
from bayesnb.families.normal_inverse_gamma import NormalInverseGamma, of_variance
from bayesnb.numerics.special import psi_rise
from bayesnb.selection.ascent import LEAST, MOST, highest

Array = np.ndarray
LADDERS = [np.log(np.logspace(*ends)) for ends in ((-6, 6, 7), (-2, 6, 7), (-4, 1, 6))]
BOUNDS = [(np.log(LEAST), np.log(MOST))] * 3


def standardised(stats: GaussianStats) -> tuple[GaussianStats, Array, Array]:
    """The stats of columns shifted and scaled to a pooled mean of 0 and variance of 1, and those means and scales.

    The scale of a constant column is 1, as in its weak prior.
    """
    weak = weak_prior(stats.pooled())
    variance = np.asarray(weak.scale)
    mean = np.where(stats.count > 0, (stats.mean - weak.location) / np.sqrt(variance), 0.0)
    return GaussianStats(stats.count, mean, stats.ssd / variance), np.asarray(weak.location), variance


def unbounded(stats: GaussianStats, shared: bool) -> Array:
    """Where rows of a variance are equal: their density grows without bound as it goes to 0, `(c, f)`.

    Rows of one class, or where classes have their variance in common, of every class.
    """
    equal = constant(stats), stats.count > 1
    if shared:
        equal = equal[0].all(axis=0), equal[1].any(axis=0)
    return np.broadcast_to(equal[0] & equal[1], stats.count.shape)


@dataclass(frozen=True, eq=False)
class GaussianCells:
    """Standardised stats of some classes and columns, `(n,)`, that share a prior; `free` if its mean is a dial.

    With `shared` they are of all classes of some columns, `(c, k)`, each of which has one variance.
    """

    stats: GaussianStats
    free: bool
    shared: bool = False

    def belief(self, dials: Array) -> NormalInverseGamma:
        count, shape, ratio = np.exp(dials[:3])
        return NormalInverseGamma(dials[3] if self.free else 0.0, count, shape, shape * ratio)

    def heights(self, dials: Array) -> Array:
        """The log evidence for many dials, `(d, s) -> (s,)`."""
        prior = self.belief(dials[..., *[None] * self.stats.count.ndim])
        return self._evidence(prior).reshape(dials.shape[1], -1).sum(axis=-1)

    def _evidence(self, prior: NormalInverseGamma) -> Array:
        terms = self.stats.count / 2, prior.surprise(self.stats), np.log1p(self.stats.count / prior.count)
        return of_variance(prior.shape, prior.scale, tuple(map(self.pooled, terms)))

    def pooled(self, values: Any) -> Any:
        """What all classes say of one variance; what each says, if it has one of its own."""
        return values.sum(axis=-2, keepdims=True) if self.shared else values

    def climb(self, dials: Array) -> tuple[float, Array]:
        """The log evidence and its gradient in the dials."""
        prior = self.belief(dials)
        value, by_parameter = self._evidence(prior), gradient(prior, self.stats, self.pooled)
        count, shape, scale, mean = (each.sum() for each in by_parameter)
        slopes = prior.count * count, prior.shape * shape + prior.scale * scale, prior.scale * scale, mean
        return float(value.sum()), np.array(slopes[: 3 + self.free])

    def best(self) -> Array:
        """The dials under which these cells are most probable."""
        if not self.free:
            return highest(self, LADDERS, BOUNDS)
        means = self.stats.mean[self.stats.count > 0]
        return highest(self, [*LADDERS, np.array([means.mean()])], [*BOUNDS, (means.min(), means.max())])


def gradient(
    prior: NormalInverseGamma, stats: GaussianStats, pooled: Callable[[Any], Any] = lambda values: values
) -> tuple[Array, Array, Array, Array]:
    """The derivatives of the log evidence in count, shape, scale and mean, shaped like the stats, or pooled like it."""
    half, gap = pooled(stats.count / 2), stats.mean - prior.location
    count = prior.count + stats.count
    share = stats.count / count
    surprise = pooled(prior.surprise(stats))
    scale = prior.scale + surprise
    precision = (prior.shape + half) / scale
    return (
        (share / prior.count - precision * (share * gap) ** 2) / 2,
        psi_rise(prior.shape, half) - np.log1p(surprise / prior.scale),
        (prior.shape * surprise - half * prior.scale) / (prior.scale * scale),
        precision * prior.count * share * gap,
    )
