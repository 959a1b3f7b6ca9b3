"""Evidence of Gaussian and of Poisson columns as a function of their prior's hyperparameters, and
where it is largest.

The hyperparameters of Gaussian columns are log k, log a, the log of b / a, which is about the
variance, and the mean m: k rows of the prior, InverseGamma(a, b) of the variance. Where all classes
of a column have one variance, its log evidence is so once a column. Murphy (2007), Conjugate
Bayesian analysis of the Gaussian distribution, section 3. Those of Poisson columns are log a and
log(a / b), the log of the prior's mean. Gelman et al. (2013), Bayesian Data Analysis, section 2.6.

Of n equal rows the evidence of a Gaussian is of the order of b^(-n/2): there is no maximum, and a
few such columns would take a prior that all columns share to a variance of 0. They are left out:
nobody's variance is to be learnt from them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from bayesnb.families.base import Array
from bayesnb.families.family import BOUNDS
from bayesnb.families.gaussian import (
    GaussianStats,
    NormalInverseGamma,
    constant,
    log_evidence_of_variance,
    weak_prior,
)
from bayesnb.families.multivariate import VectorStats
from bayesnb.families.poisson import Gamma, PoissonStats, pooled_rate
from bayesnb.families.vectors import factor
from bayesnb.numerics.special import ratio

LogEvidence = Callable[[Array], Array]  # of several places, `(d, s) -> (s,)`
STEP = 1e-4  # of a hyperparameter, for its slope
EDGE_TOLERANCE = 1e-6  # how near to an end, in logs, is at the end
FLAT_TOLERANCE = 1e-6  # of a log evidence: as good as none


def maximise(
    log_evidence: LogEvidence, starts: Array, bounds: Sequence[tuple[float, float]]
) -> Array:
    """Return the hyperparameters of the largest log evidence, by L-BFGS-B from `(n, d)` starts.

    Slopes are central differences, all of whose places are evaluated at once. Where the evidence
    is flat in a positive hyperparameter, that is as far out as its range goes.
    """
    low, high = np.transpose(bounds)
    steps = STEP * np.eye(len(low))
    options = {"maxiter": 500, "ftol": 1e-15, "gtol": 1e-8, "maxls": 50}

    def loss(at: Array) -> tuple[float, Array]:
        below = np.maximum(at - steps, low)
        above = np.minimum(at + steps, high)
        values = log_evidence(np.vstack([at, below, above]).T)
        before, after = values[1:].reshape(2, -1)
        return -float(values[0]), -ratio(after - before, np.diagonal(above - below))

    def search(start: Array) -> Any:
        return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)

    at = min(map(search, starts), key=lambda result: float(result.fun)).x
    for _ in range(2):  # a fresh start forgets the curvature of where it came from
        before = at
        at = search(at).x
        if np.abs(at - before).max() < 1e-5:
            break
    for axis in np.flatnonzero(low == BOUNDS[0]):
        places = np.tile(at, (3, 1))
        places[1:, axis] = BOUNDS
        heights = log_evidence(places.T) - [FLAT_TOLERANCE, 0.0, 0.0]
        at = places[heights.argmax()]
    return np.asarray(at)


def best_of_grid(log_evidence: LogEvidence, axes: Sequence[Array], starts: int = 1) -> Array:
    """Return the best places of a coarse grid, `(starts, d)`.

    With as many `starts` as the first axis is long, the best place of each part of it, as there may
    be several local maxima.
    """
    places = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])
    best = np.argmax(log_evidence(places).reshape(starts, -1), axis=1)
    best += np.arange(starts) * (places.shape[1] // starts)
    return places[:, best].T


@dataclass(frozen=True, eq=False)
class GaussianEvidence:
    """Evidence of standardised cells of classes and columns, `(n,)`, that share a prior.

    With `free` its mean is searched too.

    With `shared` the stats are of all classes of these columns, `(c, k)`, each of which has one
    variance.
    """

    stats: GaussianStats
    free: bool
    shared: bool = False

    def prior(self, at: Array) -> NormalInverseGamma:
        count, shape, ratio = np.exp(at[:3])
        return NormalInverseGamma(at[3] if self.free else 0.0, count, shape, shape * ratio)

    def log_evidence(self, at: Array) -> Array:
        prior = self.prior(at[..., *[None] * self.stats.count.ndim])
        return self._of_cells(prior).reshape(at.shape[1], -1).sum(axis=-1)

    def _of_cells(self, prior: NormalInverseGamma) -> Array:
        terms = (
            self.stats.count / 2,
            prior.surprise(self.stats),
            np.log1p(self.stats.count / prior.count),
        )
        return log_evidence_of_variance(prior.shape, prior.scale, *map(self._by_variance, terms))

    def _by_variance(self, values: Any) -> Any:
        """Add up what all classes say of the one variance that they share."""
        return values.sum(axis=-2, keepdims=True) if self.shared else values

    def best(self) -> Array:
        """Return the hyperparameters under which these cells are most probable."""
        grid = [np.log(np.logspace(*ends)) for ends in ((-6, 6, 7), (-2, 6, 7), (-4, 1, 6))]
        bounds = [BOUNDS] * 3
        if self.free:
            means = self.stats.mean[self.stats.count > 0]
            grid = [*grid, np.array([means.mean()])]
            bounds = [*bounds, (means.min(), means.max())]
        return maximise(self.log_evidence, best_of_grid(self.log_evidence, grid), bounds)


@dataclass(frozen=True, eq=False)
class PoissonEvidence:
    """Evidence of standardised cells of classes and columns, `(n,)`, that share a prior."""

    stats: PoissonStats

    def prior(self, at: Array) -> Gamma:
        shape, mean = np.exp(at)
        return Gamma(shape, shape / mean)

    def log_evidence(self, at: Array) -> Array:
        return self.prior(at[..., None]).log_evidence(self.stats).sum(axis=-1)

    def best(self) -> Array:
        """Return the hyperparameters under which these cells are most probable."""
        grid = [np.log(np.logspace(*ends)) for ends in ((-6, 6, 7), (-4, 4, 9))]
        starts = best_of_grid(self.log_evidence, grid, len(grid[0]))
        return maximise(self.log_evidence, starts, [BOUNDS] * 2)


def standardise_gaussian(stats: GaussianStats) -> tuple[GaussianStats, Array, Array]:
    """Shift and scale columns to a pooled mean of 0 and variance of 1.

    Return those means and variances too.

    The scale of a constant column is 1, as in its weak prior.
    """
    weak = weak_prior(stats.pooled())
    variance = np.asarray(weak.scale)
    mean = np.where(stats.count > 0, (stats.mean - weak.location) / np.sqrt(variance), 0.0)
    return (
        GaussianStats(stats.count, mean, stats.ssd / variance),
        np.asarray(weak.location),
        variance,
    )


def standardise_poisson(stats: PoissonStats) -> PoissonStats:
    """Lengthen rows such that each column has a pooled rate of 1."""
    return PoissonStats(stats.count * pooled_rate(stats), stats.events, np.zeros_like(stats.events))


def find_unbounded(stats: GaussianStats, shared: bool) -> Array:
    """Return where rows of one variance are equal, `(c, f)`.

    Their density grows without bound as the variance goes to 0.

    Rows of one class, or where classes have their variance in common, of every class.
    """
    equal = constant(stats), stats.count > 1
    if shared:
        equal = equal[0].all(axis=0), equal[1].any(axis=0)
    return np.broadcast_to(equal[0] & equal[1], stats.count.shape)


def find_unbounded_jointly(stats: VectorStats, shared: bool) -> Array:
    """Return classes whose rows have no spread in some direction, `(c, 1)`.

    Where classes have their covariance in common, all of them together. Few rows never have a
    spread in every direction; of those, a column that is constant is asked for.
    """
    more = np.maximum(stats.count[:, 0] - 1, 0)
    scatter = stats.scatter[:, 0]
    equal = constant(stats.columns)
    if shared:
        more, scatter, equal = (
            each[None] for each in (more.sum(), scatter.sum(axis=0), equal.all(axis=0))
        )
    flat = np.isnan(factor(scatter)).any(axis=(1, 2))
    bad = (more >= scatter.shape[-1]) & flat | (more > 0) & equal.any(axis=1)
    return np.broadcast_to(bad, len(stats))[:, None]
