"""A column of real numbers of which only the mean is not known: what is left to believe where the variance was drawn.

    mean ~ Normal(location, variance / count)      cell | mean ~ Normal(mean, variance)

Every moment is a Gaussian integral: with d = x - location and k = count,

    K(s) = -s/2 log(2 pi variance) + 1/2 log(k / (k + s)) - s k / (k + s) d**2 / (2 variance).
"""

from dataclasses import dataclass
from math import factorial
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.base import Array, Belief, Parts, Rng, Say
from bayesnb.families.normal import LOG_2PI, GaussianDensity, GaussianStats
from bayesnb.families.record import lead, silent
from bayesnb.numerics import special


@dataclass(frozen=True, eq=False, repr=False)
class NormalMean(Belief):
    """A belief about the mean of a Gaussian of known variance.

    >>> belief = NormalMean([[0.0]], [[1.0]], [[2.0]])
    >>> belief.update(GaussianStats([[3.0]], [[4.0]], [[1.0]])).location
    array([[3.]])
    """

    symbols: ClassVar[dict[str, str]] = {"location": "mu_mean", "count": "mu_count", "variance": "sigma2"}
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
        share = special.ratio(stats.count, self.count + stats.count)
        return type(self)(self.location + share * (stats.mean - self.location), self.count + stats.count, self.variance)

    def log_evidence(self, stats: GaussianStats, xp: Any = special) -> Array:
        share = xp.ratio(stats.count, self.count + stats.count)
        spread = stats.ssd + self.count * share * (stats.mean - self.location) ** 2
        height = stats.count * (LOG_2PI + xp.log(self.variance)) + xp.log1p(stats.count / self.count)
        return -(height + spread / self.variance) / 2

    def log_moment(self, x: Array, s: Any) -> Array:
        x, s = np.asarray(x, float), np.asarray(s)
        with np.errstate(all="ignore"):
            exists = (np.imag(s) != 0) | (self.count + np.real(s) > 0)
            narrow = s * self.count / (self.count + s) * (x - self.location) ** 2 / self.variance
            height = s * (LOG_2PI + np.log(self.variance)) + special.accurate_log1p(s / self.count)
            value = np.where(exists, -(height + narrow) / 2, np.inf)
        return silent(np.isnan(x), value)

    def cumulants(self, x: Array, order: int, tilt: float = 0.0) -> Array:
        k, square = self.count + tilt, (x - self.location) ** 2 / self.variance
        terms = []
        for n in range(1, order + 1):
            far = factorial(n) * self.count**2 * square / k ** (n + 1) / 2
            terms.append((-1) ** n * (factorial(n - 1) / k**n / 2 + far))
        terms[0] = terms[0] - (LOG_2PI + np.log(self.variance)) / 2
        return silent(np.isnan(x), np.stack(np.broadcast_arrays(*terms)))

    def sample(self, rng: Rng, size: Any = None) -> GaussianDensity:
        location, variance = (np.broadcast_to(own, lead(size) + own.shape) for own in (self.location, self.variance))
        return GaussianDensity(np.random.default_rng(rng).normal(location, np.sqrt(variance / self.count)), variance)

    def log_density(self, theta: GaussianDensity) -> Parts:
        spread = self.count * (theta.mean - self.location) ** 2 / self.variance
        return {("mu", None): -(LOG_2PI + np.log(self.variance / self.count) + spread) / 2}

    def interval(self, prob: float) -> tuple[Array, Array]:
        from scipy.stats import norm

        return norm(self.location, np.sqrt(self.variance / self.count)).interval(prob)

    def predictive(self) -> Any:
        from scipy.stats import norm

        return norm(self.location, np.sqrt(self.variance * (1 + 1 / self.count)))

    def estimate(self, kind: str) -> GaussianDensity:
        return GaussianDensity(self.location, self.variance)

    def variables(self, pm: Any, say: Say) -> GaussianDensity:
        return GaussianDensity(
            pm.Normal(**say("mu"), mu=self.location, sigma=(self.variance / self.count) ** 0.5), self.variance
        )
