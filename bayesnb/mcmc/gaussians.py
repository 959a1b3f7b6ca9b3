"""Gaussians that only sampled models have.

Student's t, and a belief about the mean alone, the variance being drawn.
"""

from dataclasses import dataclass
from math import factorial
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from bayesnb.families.base import Array, Belief, Density, Parts, Rng
from bayesnb.families.gaussian import GaussianDensity, GaussianStats
from bayesnb.families.record import VariableNames, lead, silent
from bayesnb.numerics import special
from bayesnb.numerics.special import LOG_2PI, LOG_PI, log1p_square, log_gamma_ratio, ratio


@dataclass(frozen=True, eq=False)
class StudentDensity(Density):
    """Student's t about `mean`, with the squared scale `variance`. All `(c, f)`."""

    sufficient: ClassVar[bool] = False
    mean: Array
    variance: Array
    freedom: Array

    def parts(self) -> Parts:
        """The parts of a Gaussian; the degrees of freedom are the same for all classes."""
        return {("mu", None): self.mean, ("sigma2", None): self.variance}

    def log_density(self, x: Array) -> Array:
        scale = self.freedom * self.variance
        height = log_gamma_ratio(self.freedom / 2, 0.5) - (LOG_PI + np.log(scale)) / 2
        fall = (self.freedom + 1) / 2 * log1p_square((x - self.mean) / np.sqrt(scale))
        return silent(np.isnan(x), height - fall)

    def log_likelihood(self, stats: Any, xp: Any = np) -> NoReturn:
        raise TypeError("Student's t has no sufficient statistics: its likelihood needs the rows.")

    def cell(self, pm: Any) -> tuple[Any, dict[str, Any]]:
        nu = self.freedom * pm.math.ones_like(self.mean)
        return pm.StudentT, {"nu": nu, "mu": self.mean, "sigma": pm.math.sqrt(self.variance)}

    def sample(self, rng: Rng) -> Array:
        noise = np.random.default_rng(rng).standard_t(self.freedom)
        return self.mean + np.sqrt(self.variance) * noise

    @property
    def proper(self) -> Array:
        return (self.variance > 0) & np.isfinite(self.variance) & (self.freedom > 0)


@dataclass(frozen=True, eq=False, repr=False)
class NormalMean(Belief[GaussianStats, GaussianDensity]):
    """A belief about the mean of a Gaussian of known variance.

    >>> belief = NormalMean([[0.0]], [[1.0]], [[2.0]])
    >>> belief.update(GaussianStats([[3.0]], [[4.0]], [[1.0]])).location
    array([[3.]])
    """

    symbols: ClassVar[dict[str, str]] = {
        "location": "mu_mean",
        "count": "mu_count",
        "variance": "sigma2",
    }
    location: Array
    count: Array
    variance: Array

    def mean(self) -> Array:
        return self.location

    mode = mean

    @property
    def proper(self) -> Array:
        return (self.count > 0) & (self.variance > 0)

    def update(self, stats: GaussianStats) -> Self:
        count = self.count + stats.count
        share = ratio(stats.count, count)
        location = self.location + share * (stats.mean - self.location)
        return type(self)(location, count, self.variance)

    def log_evidence(self, stats: GaussianStats, xp: Any = special) -> Array:
        share = xp.ratio(stats.count, self.count + stats.count)
        spread = stats.ssd + self.count * share * (stats.mean - self.location) ** 2
        height = stats.count * (LOG_2PI + xp.log(self.variance)) + xp.log1p(
            stats.count / self.count
        )
        return -(height + spread / self.variance) / 2

    def log_moment(self, x: Array, s: Any) -> Array:
        count = self.count + s
        square = (x - self.location) ** 2 / self.variance
        with np.errstate(all="ignore"):
            height = s * (LOG_2PI + np.log(self.variance)) + np.log1p(s / self.count)
            value = -(height + s * self.count / count * square) / 2
        return silent(np.isnan(x), np.where(count > 0, value, np.inf))

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        k = self.count + tilt
        square = (x - self.location) ** 2 / self.variance
        terms = []
        for n in range(1, order + 1):
            far = factorial(n) * self.count**2 * square / k ** (n + 1) / 2
            terms.append((-1) ** n * (factorial(n - 1) / k**n / 2 + far))
        terms[0] = terms[0] - (LOG_2PI + np.log(self.variance)) / 2
        return silent(np.isnan(x), np.stack(np.broadcast_arrays(*terms)))

    def sample(self, rng: Rng, size: Any = None) -> GaussianDensity:
        shape = lead(size) + self.location.shape
        spread = np.sqrt(self.variance / self.count)
        mean = np.random.default_rng(rng).normal(self.location, spread, shape)
        return GaussianDensity(mean, np.broadcast_to(self.variance, shape))

    def interval(self, prob: float) -> tuple[Array, Array]:
        from scipy.stats import norm

        return norm(self.location, np.sqrt(self.variance / self.count)).interval(prob)

    def predictive(self) -> Any:
        from scipy.stats import norm

        return norm(self.location, np.sqrt(self.variance * (1 + 1 / self.count)))

    def estimate(self, kind: str) -> GaussianDensity:
        return GaussianDensity(self.location, self.variance)

    def variables(self, pm: Any, names: VariableNames) -> GaussianDensity:
        spread = (self.variance / self.count) ** 0.5
        mean = pm.Normal(**names("mu"), mu=self.location, sigma=spread)
        return GaussianDensity(mean, self.variance)
