"""Evidence of Gaussian and of Poisson columns as a function of their prior's hyperparameters, and
where it is largest.

**Gaussian columns.** With posterior parameters k_n = k + n, a_n = a + n / 2, b_n = b + surprise,
the log evidence of one class's cells, log(k / k_n) / 2 + lnGamma(a_n) - lnGamma(a) + a log b - a_n
log b_n - n log(2 pi) / 2, has the derivatives

    in k   (1/k - 1/k_n) / 2 - (a_n / b_n) (n / k_n)^2 (xbar - m)^2 / 2
    in m   (a_n / b_n) (k n / k_n) (xbar - m)
    in a   psi(a_n) - psi(a) + log b - log b_n
    in b   a / b - a_n / b_n

Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 3. Where all
classes of a column have one variance, a_n and b_n are those of all of them, and log evidence and
derivatives in a and b are so once a column. The hyperparameters are log k, log a, the log of b / a,
which is about the variance, and m.

**Poisson columns.** The log evidence of one class's cells, of `n` rows with `x` events, lnGamma(a +
x) - lnGamma(a) + a log b - (a + x) log(b + n) up to a constant, has the derivatives

    in a   psi(a + x) - psi(a) + log b - log(b + n)        in b   a / b - (a + x) / (b + n)

Gelman et al. (2013), Bayesian Data Analysis, section 2.6. The hyperparameters are log a and log(a /
b), the log of the prior's mean.

Of n equal rows the evidence of a Gaussian is of the order of b^(-n/2): there is no maximum, and a
few such columns would take a prior that all columns share to a variance of 0. They are left out:
nobody's variance is to be learnt from them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize

from bayesnb.families.base import Array
from bayesnb.families.family import BOUNDS, positive
from bayesnb.families.gaussian import constant, weak_prior
from bayesnb.families.normal_inverse_gamma import GaussianStats, NormalInverseGamma, of_variance
from bayesnb.families.poisson import Gamma, PoissonStats, pooled_rate
from bayesnb.families.vectors import VectorStats, factor
from bayesnb.numerics.special import psi_rise

EDGE_TOLERANCE = 1e-6  # how near to an end, in logs, is at the end
FLAT_TOLERANCE = 1e-6  # of a log evidence: as good as none


class PriorEvidence(Protocol):
    """Log evidence as a function of the hyperparameters, `(d,)`, the positive ones in logs."""

    def log_evidence(self, at: Array) -> Array:
        """Return the log evidence at several places, `(d, s) -> (s,)`."""

    def with_gradient(self, at: Array) -> tuple[float, Array]:
        """Return the log evidence at one place and its gradient, `(d,) -> (), (d,)`."""


def maximise(
    evidence: PriorEvidence,
    grid: Sequence[Array],
    bounds: Sequence[tuple[float, float]],
    starts: int = 1,
) -> Array:
    """Return the hyperparameters of the largest evidence.

    The best place of a coarse grid, and L-BFGS-B from there.

    With as many `starts` as the first axis of the grid is long, from the best place of each, as
    there may be several local maxima.
    """
    places = np.stack([axis.ravel() for axis in np.meshgrid(*grid, indexing="ij")])
    best = np.argmax(evidence.log_evidence(places).reshape(starts, -1), axis=1)
    best += np.arange(starts) * (places.shape[1] // starts)
    options = {"maxiter": 500, "ftol": 1e-15, "gtol": 1e-10, "maxls": 50}

    def loss(at: Array) -> tuple[float, Array]:
        value, gradient = evidence.with_gradient(at)
        return -value, -gradient

    def search(start: Array) -> Any:
        return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)

    at = min((search(start) for start in places[:, best].T), key=lambda result: float(result.fun)).x
    for _ in range(2):  # a fresh start forgets the curvature of where it came from
        before = at
        at = search(at).x
        if np.abs(at - before).max() < 1e-5:
            break
    return at


def maximise_numerically(
    evidence: Callable[[Array], float], starts: Sequence[Sequence[float]]
) -> Array:
    """Return the positive hyperparameters of the largest evidence, whose gradient is not known."""

    def loss(logs: Array) -> float:
        return -evidence(positive(logs))

    bounds = [BOUNDS] * len(starts[0])
    results = [minimize(loss, np.log(start), method="L-BFGS-B", bounds=bounds) for start in starts]
    at = min(results, key=lambda result: result.fun).x
    for axis in range(len(at)):  # where nothing changes any more, as far out as the range goes
        ends = [np.where(np.arange(len(at)) == axis, edge, at) for edge in BOUNDS]
        losses = np.array([loss(at) + FLAT_TOLERANCE, *map(loss, ends)])
        at = [at, *ends][int(losses.argmin())]
    return np.asarray(positive(at))


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

    def with_gradient(self, at: Array) -> tuple[float, Array]:
        prior = self.prior(at)
        count, shape, scale, mean = (each.sum() for each in self.gradient(prior))
        slopes = (
            prior.count * count,
            prior.shape * shape + prior.scale * scale,
            prior.scale * scale,
            mean,
        )
        return float(self._of_cells(prior).sum()), np.array(slopes[: 3 + self.free])

    def _of_cells(self, prior: NormalInverseGamma) -> Array:
        terms = (
            self.stats.count / 2,
            prior.surprise(self.stats),
            np.log1p(self.stats.count / prior.count),
        )
        return of_variance(prior.shape, prior.scale, tuple(map(self._by_variance, terms)))

    def _by_variance(self, values: Any) -> Any:
        """Add up what all classes say of the one variance that they share."""
        return values.sum(axis=-2, keepdims=True) if self.shared else values

    def gradient(self, prior: NormalInverseGamma) -> tuple[Array, Array, Array, Array]:
        """Return the derivatives in count, shape, scale and mean, of each cell or variance."""
        half = self._by_variance(self.stats.count / 2)
        gap = self.stats.mean - prior.location
        share = self.stats.count / (prior.count + self.stats.count)
        surprise = self._by_variance(prior.surprise(self.stats))
        scale = prior.scale + surprise
        precision = (prior.shape + half) / scale
        return (
            (share / prior.count - precision * (share * gap) ** 2) / 2,
            psi_rise(prior.shape, half) - np.log1p(surprise / prior.scale),
            (prior.shape * surprise - half * prior.scale) / (prior.scale * scale),
            precision * prior.count * share * gap,
        )

    def best(self) -> Array:
        """Return the hyperparameters under which these cells are most probable."""
        grid = [np.log(np.logspace(*ends)) for ends in ((-6, 6, 7), (-2, 6, 7), (-4, 1, 6))]
        bounds = [BOUNDS] * 3
        if self.free:
            means = self.stats.mean[self.stats.count > 0]
            grid = [*grid, np.array([means.mean()])]
            bounds = [*bounds, (means.min(), means.max())]
        return maximise(self, grid, bounds)


@dataclass(frozen=True, eq=False)
class PoissonEvidence:
    """Evidence of standardised cells of classes and columns, `(n,)`, that share a prior."""

    stats: PoissonStats

    def prior(self, at: Array) -> Gamma:
        shape, mean = np.exp(at)
        return Gamma(shape, shape / mean)

    def log_evidence(self, at: Array) -> Array:
        return self.prior(at[..., None]).log_evidence(self.stats).sum(axis=-1)

    def with_gradient(self, at: Array) -> tuple[float, Array]:
        prior = self.prior(at)
        shape, rate = (each.sum() for each in self.gradient(prior))
        slopes = prior.shape * shape + prior.rate * rate, -prior.rate * rate
        return float(prior.log_evidence(self.stats).sum()), np.array(slopes)

    def gradient(self, prior: Gamma) -> tuple[Array, Array]:
        """Return the derivatives in shape and rate, of each cell."""
        count = self.stats.count
        events = self.stats.events
        shape = psi_rise(prior.shape, events) - np.log1p(count / prior.rate)
        return shape, (prior.shape * count - prior.rate * events) / (
            prior.rate * (prior.rate + count)
        )

    def best(self) -> Array:
        """Return the hyperparameters under which these cells are most probable."""
        grid = [np.log(np.logspace(*ends)) for ends in ((-6, 6, 7), (-4, 4, 9))]
        return maximise(self, grid, [BOUNDS] * 2, len(grid[0]))


def standardised_gaussian(stats: GaussianStats) -> tuple[GaussianStats, Array, Array]:
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


def standardised_poisson(stats: PoissonStats) -> PoissonStats:
    """Lengthen rows such that each column has a pooled rate of 1."""
    return PoissonStats(stats.count * pooled_rate(stats), stats.events, np.zeros_like(stats.events))


def unbounded(stats: GaussianStats, shared: bool) -> Array:
    """Return where rows of one variance are equal, `(c, f)`.

    Their density grows without bound as the variance goes to 0.

    Rows of one class, or where classes have their variance in common, of every class.
    """
    equal = constant(stats), stats.count > 1
    if shared:
        equal = equal[0].all(axis=0), equal[1].any(axis=0)
    return np.broadcast_to(equal[0] & equal[1], stats.count.shape)


def unbounded_jointly(stats: VectorStats, shared: bool) -> Array:
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
