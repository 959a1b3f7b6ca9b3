"""The Gamma prior under which counts in Poisson columns are most probable.

The log evidence of one class's cells, of `n` rows with `x` events, lnGamma(a + x) - lnGamma(a) + a log b
- (a + x) log(b + n) up to a constant, has the derivatives

    in a   psi(a + x) - psi(a) + log b - log(b + n)        in b   a / b - (a + x) / (b + n)

Gelman et al. (2013), Bayesian Data Analysis, section 2.6. The dials are log a and log(a / b), the prior's mean.
"""

from dataclasses import dataclass

import numpy as np

from bayesnb.families.poisson import Gamma, PoissonStats
from bayesnb.numerics.special import psi_rise, ratio
from bayesnb.selection.ascent import LEAST, MOST, highest

Array = np.ndarray
LADDERS = [np.log(np.logspace(*ends)) for ends in ((-6, 6, 7), (-4, 4, 9))]
BOUNDS = [(np.log(LEAST), np.log(MOST))] * 2


def standardised(stats: PoissonStats) -> tuple[PoissonStats, Array]:
    """The stats of columns whose rows are made long enough for a pooled rate of 1, and those rates; 1 for no events."""
    events = stats.events.sum(axis=0)
    rate = np.where(events > 0, ratio(events, stats.count.sum(axis=0)), 1.0)
    return PoissonStats(stats.count * rate, stats.events, np.zeros_like(stats.events)), rate


@dataclass(frozen=True, eq=False)
class GammaCells:
    """Standardised stats of some classes and columns, `(n,)`, that share a prior."""

    stats: PoissonStats

    def belief(self, dials: Array) -> Gamma:
        shape, mean = np.exp(dials)
        return Gamma(shape, shape / mean)

    def heights(self, dials: Array) -> Array:
        """The log evidence for many dials, `(d, s) -> (s,)`."""
        return self.belief(dials[..., None]).log_evidence(self.stats).sum(axis=-1)

    def climb(self, dials: Array) -> tuple[float, Array]:
        """The log evidence and its gradient in the dials."""
        prior = self.belief(dials)
        shape, rate = (each.sum() for each in gradient(prior, self.stats))
        slopes = prior.shape * shape + prior.rate * rate, -prior.rate * rate
        return float(prior.log_evidence(self.stats).sum()), np.array(slopes)

    def best(self) -> Array:
        """The dials under which these cells are most probable."""
        return highest(self, LADDERS, BOUNDS, len(LADDERS[0]))


def gradient(prior: Gamma, stats: PoissonStats) -> tuple[Array, Array]:
    """The derivatives of the log evidence in shape and rate, each shaped like the stats."""
    shape = psi_rise(prior.shape, stats.events) - np.log1p(stats.count / prior.rate)
    return shape, (prior.shape * stats.count - prior.rate * stats.events) / (prior.rate * (prior.rate + stats.count))
