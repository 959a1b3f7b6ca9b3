"""The evidence of a block of Gaussians as a function of three dials of its prior, and where it is largest.

The prior is centred at the pooled mean, and its covariances are multiples of the pooled one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from bayesnb.families.gaussian import constant
from bayesnb.families.multivariate import MultivariateGaussian
from bayesnb.families.normal_inverse_wishart import NormalInverseWishart
from bayesnb.families.scales import weak_prior
from bayesnb.families.vectors import VectorStats
from bayesnb.families.whitening import factor
from bayesnb.selection.ascent import LEAST, MOST, positive

Array = np.ndarray
FLAT = 1e-6  # of a log evidence: as good as none


def unbounded(stats: VectorStats, shared: bool) -> Array:
    """Classes whose rows have no spread in some direction, `(c,)`: see `gaussian_evidence.unbounded`.

    Where classes have their covariance in common, all of them together. Few rows never have a spread in every
    direction; of those, a column that is constant is asked for.
    """
    more, scatter, equal = np.maximum(stats.count[:, 0] - 1, 0), stats.scatter[:, 0], constant(stats.columns)
    if shared:
        more, scatter, equal = (each[None] for each in (more.sum(), scatter.sum(axis=0), equal.all(axis=0)))
    flat = np.isnan(factor(scatter)).any(axis=(1, 2))
    return np.broadcast_to((more >= scatter.shape[-1]) & flat | (more > 0) & equal.any(axis=1), len(stats))


@dataclass(frozen=True, eq=False)
class WishartBlock:
    """What is declared of a block, what was seen of it, the pooled mean and twice the pooled covariance."""

    family: MultivariateGaussian
    stats: Any
    location: Array
    unit: Array

    @classmethod
    def of(cls, family: Any, stats: Any) -> "WishartBlock":
        location, _, _, scale = weak_prior(stats.pooled())
        return cls(family, stats, location, scale)

    def tuned(self, count: Any, shape: Any, ratio: Any) -> MultivariateGaussian:
        """The family with the prior of these dials: numbers, `(1,)` of one block, or `(c, 1)` of classes."""
        count, shape, ratio = (np.asarray(dial, float).ravel() for dial in (count, shape, ratio))
        if count.size == 1:
            count, shape, ratio = count[0], shape[0], ratio[0]
        dof, size = len(self.location) - 1 + 2 * shape, (shape * ratio)[..., None, None]
        return replace(self.family, prior=NormalInverseWishart(self.location, count, dof, size * self.unit))

    def evidence(self, count: float, shape: float, ratio: float) -> Array:
        """Of every class, `(c, 1)`, or of all together."""
        return self.tuned(count, shape, ratio).belief(self.stats).log_evidence(self.stats)


def best(evidence: Callable[[Array], float], starts: Sequence[Sequence[float]]) -> Array:
    """The dials of the largest evidence, each within the range of dials."""
    bounds = [(np.log(LEAST), np.log(MOST))] * len(starts[0])

    def loss(logs: Array) -> float:
        return -evidence(positive(logs))

    results = [minimize(loss, np.log(start), method="L-BFGS-B", bounds=bounds) for start in starts]
    at = min(results, key=lambda result: result.fun).x
    for dial, edges in enumerate(bounds):  # where nothing changes any more, as far out as a dial goes
        ends = [np.where(np.arange(len(at)) == dial, edge, at) for edge in edges]
        losses = np.array([loss(at) + FLAT, *map(loss, ends)])
        at = [at, *ends][int(losses.argmin())]
    return np.asarray(positive(at))
