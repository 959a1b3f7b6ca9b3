"""Gaussians that only sampled models have: Student's t, and a belief about the mean alone, the variance being drawn."""

from dataclasses import dataclass
from functools import partial
from math import factorial
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import Array, Belief, Cells, Density, Parts, Rng
from bayesnb.families.normal_inverse_gamma import LOG_2PI, LOG_PI, GaussianDensity, GaussianStats, kernel_scores
from bayesnb.families.record import VariableNames, lead, silent
from bayesnb.families.sums import by_rows
from bayesnb.numerics import special
from bayesnb.numerics.special import accurate_log1p, log1p_square, log_gamma_ratio, ratio
from bayesnb.numerics.views import numbers


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
        width = np.sqrt(self.freedom * self.variance)
        value = self._height - (self.freedom + 1) / 2 * log1p_square((x - self.mean) / width)
        return silent(np.isnan(x), value)

    @property
    def _height(self) -> Array:
        return log_gamma_ratio(self.freedom / 2, 0.5) - (LOG_PI + np.log(self.freedom) + np.log(self.variance)) / 2

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        width, exponent = 1 / (self.freedom * self.variance), power * (self.freedom + 1) / 2
        terms = np.array(self.mean), width, exponent, power * self._height, bool((exponent == exponent[:, :1]).all())
        define = partial(self.defined_score, power=power)
        score = partial(kernel_scores, numerics.gaussian_kernels.student, terms, define)
        return by_rows(lambda rows: score(numbers(x, rows)), x.shape, len(self), out, n_jobs)

    def log_likelihood(self, stats: Any, xp: Any = np) -> NoReturn:
        raise TypeError("Student's t has no sufficient statistics: its likelihood needs the rows.")

    def cell(self, pm: Any) -> tuple[Any, dict[str, Any]]:
        ones = pm.math.ones_like(self.mean)
        return pm.StudentT, {"nu": self.freedom * ones, "mu": self.mean, "sigma": pm.math.sqrt(self.variance)}

    def sample(self, rng: Rng) -> Array:
        return self.mean + np.sqrt(self.variance) * np.random.default_rng(rng).standard_t(self.freedom)

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
        share = ratio(stats.count, self.count + stats.count)
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
            height = s * (LOG_2PI + np.log(self.variance)) + accurate_log1p(s / self.count)
            value = np.where(exists, -(height + narrow) / 2, np.inf)
        return silent(np.isnan(x), value)

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        k, square = self.count + tilt, (x - self.location) ** 2 / self.variance
        terms = []
        for n in range(1, order + 1):
            far = factorial(n) * self.count**2 * square / k ** (n + 1) / 2
            terms.append((-1) ** n * (factorial(n - 1) / k**n / 2 + far))
        terms[0] = terms[0] - (LOG_2PI + np.log(self.variance)) / 2
        return silent(np.isnan(x), np.stack(np.broadcast_arrays(*terms)))

    def sample(self, rng: Rng, size: Any = None) -> GaussianDensity:
        location, variance = (
            np.broadcast_to(field, lead(size) + field.shape) for field in (self.location, self.variance)
        )
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

    def variables(self, pm: Any, names: VariableNames) -> GaussianDensity:
        return GaussianDensity(
            pm.Normal(**names("mu"), mu=self.location, sigma=(self.variance / self.count) ** 0.5), self.variance
        )
