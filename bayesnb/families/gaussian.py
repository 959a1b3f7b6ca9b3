"""Real-valued features: a Gaussian whose mean and variance are both unknown.

    variance ~ InverseGamma(shape, scale)      mean | variance ~ Normal(location, variance / count)

`count` is how many rows the belief about the mean is worth. Equations: Murphy (2007), Conjugate Bayesian
analysis of the Gaussian distribution, section 3; the predictive is Student's t.
"""

from dataclasses import dataclass
from functools import cached_property
from math import factorial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import gammaln, polygamma, psi

from bayesnb import kernels
from bayesnb.families.base import Array, Belief, Cells, Parts, Rng, Stats, checked, lead, silent
from bayesnb.families.family import Family, shaped
from bayesnb.families.normal import LOG_2PI, GaussianDensity, GaussianStats
from bayesnb.families.scores import by_rows, mended
from bayesnb.special import accurate_log1p, log, log1p_square, log_gamma_ratio, ratio
from bayesnb.views import numbers

LOG_PI = float(np.log(np.pi))
FRAGILE = 1e-4  # the share of a scale below which taking a row back leaves too few digits


class Moments(NamedTuple):
    """A Gaussian's two parameters, as a mean, a mode or the end of an interval."""

    mean: Array
    variance: Array


class _Parameter(np.ndarray):
    """`belief.mean` is a parameter of the belief, and `belief.mean()` what every belief has: its expectation."""

    expectation: Moments

    def __call__(self) -> Moments:
        return self.expectation

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __array_wrap__(self, array: Array, context: Any = None, return_scalar: bool = False) -> Any:
        return np.asarray(array)[()]  # what is computed from it is a plain array


@dataclass(frozen=True, eq=False, init=False, repr=False)
class NormalInverseGamma(Belief):
    """variance ~ InverseGamma(shape, scale), mean | variance ~ Normal(mean, variance / count).

    >>> belief = NormalInverseGamma(mean=0.0, count=1.0, shape=3.0, scale=4.0)
    >>> belief.mean()
    Moments(mean=array(0.), variance=array(2.))
    """

    location: Array  # `mean` to the user
    count: Array
    shape: Array
    scale: Array

    renamed: ClassVar[dict[str, str]] = {"location": "mean"}
    symbols: ClassVar[dict[str, str]] = {
        "location": "mu_mean",
        "count": "mu_count",
        "shape": "sigma2_shape",
        "scale": "sigma2_scale",
    }

    def __init__(self, mean: Any, count: Any, shape: Any, scale: Any) -> None:
        said = {
            "location": checked("NormalInverseGamma: mean", mean, -np.inf),
            "count": checked("NormalInverseGamma: count", count),
            "shape": checked("NormalInverseGamma: shape", shape, -0.5),  # -1/2 is the reference prior's
            "scale": checked("NormalInverseGamma: scale", scale),
        }
        for name, value in said.items():
            object.__setattr__(self, name, value)

    @property
    def mean(self) -> _Parameter:
        """The location; called, `mean()`, the expected mean and variance (infinite for a shape of 1 or less)."""
        parameter = self.location.view(_Parameter)
        heavy = self.shape <= 1
        variance = np.where(heavy, np.inf, self.scale / np.where(heavy, 1.0, self.shape - 1))
        parameter.expectation = Moments(self.location, variance)
        return parameter

    def mode(self) -> Moments:
        return Moments(self.location, self.scale / (self.shape + 1.5))

    @property
    def proper(self) -> Array:
        return (self.count > 0) & (self.shape > 0) & (self.scale > 0)

    def update(self, stats: GaussianStats) -> Self:
        gap, share = stats.mean - self.location, ratio(stats.count, self.count + stats.count)
        return type(self)(
            self.location + share * gap,
            self.count + stats.count,
            self.shape + stats.count / 2,
            self.scale + self._surprise(stats),
        )

    def _surprise(self, stats: GaussianStats) -> Array:
        """What the data add to the scale: half their spread about themselves and about the location."""
        share = ratio(stats.count, self.count + stats.count)
        return (stats.ssd + self.count * share * (stats.mean - self.location) ** 2) / 2

    def log_evidence(self, stats: GaussianStats) -> Array:
        """Ratios of normalizers, written so that a row keeps its digits after 1e12 others."""
        half, surprise = stats.count / 2, self._surprise(stats)
        shape = log_gamma_ratio(self.shape, half) - self.shape * np.log1p(surprise / self.scale)
        return shape - half * (LOG_2PI + np.log(self.scale + surprise)) - np.log1p(stats.count / self.count) / 2

    def log_moment(self, x: Array, s: Any) -> Array:
        """A noncentral chi-squared integral over the mean, then a Gamma integral over the precision."""
        x, s = np.asarray(x, float), np.asarray(s)
        with np.errstate(all="ignore"):
            widen = 1 + s / self.count
            reach = s / (widen * 2 * self.scale)
            if np.iscomplexobj(s):
                tail = accurate_log1p(reach * (x - self.location) ** 2)
            elif np.all(reach >= 0):
                tail = log1p_square(np.sqrt(reach) * (x - self.location))
            else:
                tail = np.log1p(reach * (x - self.location) ** 2)
            value = log_gamma_ratio(self.shape, s / 2) - (s / 2) * (LOG_2PI + np.log(self.scale))
            value = value - (self.shape + s / 2) * tail - accurate_log1p(s / self.count) / 2
            exists = (widen.real > 0) & (1 + (reach * (x - self.location) ** 2).real > 0)
            value = np.where(exists | np.iscomplexobj(s), value, np.inf)
        return silent(np.isnan(x), value)

    def log_predictive(self, x: Array) -> Array:
        """Student's t with 2 `shape` degrees of freedom."""
        width = np.sqrt(2 * self.scale * (1 + 1 / self.count))
        height = log_gamma_ratio(self.shape, 0.5) - np.log(width) - LOG_PI / 2
        with np.errstate(over="ignore"):
            gap = x - self.location
            z = gap / width
        tail = np.where(np.isinf(z), 2 * (log(np.abs(gap)) - np.log(width)), log1p_square(z))
        value = height - (self.shape + 0.5) * tail
        return silent(np.isnan(x), value)

    def score(self, x: Cells, power: Any = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        if isinstance(power, np.ndarray) or power <= 0:
            return super().score(x, power, out, n_jobs)
        terms = self._terms if power == 1 else self._student(power)
        return by_rows(lambda rows: self._score(numbers(x, rows), power, terms), x.shape, len(terms[0]), out, n_jobs)

    def _score(self, x: Array, power: float, terms: tuple[Any, ...]) -> Array:
        total = np.zeros((len(x), len(terms[0])))
        finite = kernels.gaussian.student(x, *terms, total)
        return mended(total, finite, lambda odd: self.defined_score(x[odd], power))

    @cached_property
    def _terms(self) -> tuple[Any, ...]:
        return self._student(1.0)

    def _student(self, s: float) -> tuple[Any, ...]:
        """K(s) as height - exponent * log1p(width * (x - location)**2), and whether a class's exponents are alike."""
        exponent = self.shape + s / 2
        width = s / ((1 + s / self.count) * 2 * self.scale)
        height = log_gamma_ratio(self.shape, s / 2) - (s / 2) * (LOG_2PI + np.log(self.scale))
        height = height - np.log1p(s / self.count) / 2
        return np.array(self.location), width, exponent, height, bool((exponent == exponent[:, :1]).all())

    def fragile(self, x: Cells, weight: Array) -> Array:
        """Where one row carries nearly all of the scale; such a row can be only one or two of a column's."""
        w = weight[:, None]
        with np.errstate(over="ignore"):
            left = 1 - w * (x - self.location) ** 2 / (2 * self.scale * (1 - w / self.count))
        return (left < FRAGILE).any(axis=1)

    def cumulants(self, x: Array, order: int) -> Array:
        a, r = self.shape, 1 / self.count
        rho = r + (x - self.location) ** 2 / (2 * self.scale)
        first = (psi(a) - LOG_2PI - np.log(self.scale)) / 2 - a * rho + (a - 0.5) * r
        terms = [first]
        for n in range(2, order + 1):
            spread = factorial(n - 1) * (a * (rho**n - r**n) + r**n / 2)
            cross = factorial(n - 2) * n / 2 * (r ** (n - 1) - rho ** (n - 1))
            terms.append(polygamma(n - 1, a) / 2**n + (-1) ** n * (spread + cross))
        return silent(np.isnan(x), np.stack(np.broadcast_arrays(*terms)))

    def sample(self, rng: Rng, size: Any = None) -> GaussianDensity:
        rng = np.random.default_rng(rng)
        variance = self.scale / rng.standard_gamma(self.shape, lead(size) + self.shape.shape)
        return GaussianDensity(rng.normal(self.location, np.sqrt(variance / self.count)), variance)

    def log_density(self, theta: GaussianDensity) -> Parts:
        """Of each mean given its variance, and of each variance."""
        log_variance = np.log(theta.variance)
        spread = self.count * (theta.mean - self.location) ** 2 / theta.variance
        mean = (np.log(self.count) - LOG_2PI - log_variance - spread) / 2
        variance = self.shape * np.log(self.scale) - gammaln(self.shape) - self.scale / theta.variance
        return {("mu", None): mean, ("sigma2", None): variance - (self.shape + 1) * log_variance}

    def interval(self, prob: float) -> tuple[Moments, Moments]:
        from scipy.stats import invgamma, t

        mean = t(2 * self.shape, self.location, np.sqrt(self.scale / (self.shape * self.count))).interval(prob)
        variance = invgamma(self.shape, scale=self.scale).interval(prob)
        return Moments(mean[0], variance[0]), Moments(mean[1], variance[1])

    def predictive(self) -> Any:
        from scipy.stats import t

        return t(2 * self.shape, self.location, np.sqrt(self.scale * (1 + 1 / self.count) / self.shape))

    def estimate(self, kind: str) -> GaussianDensity:
        """Where no variance can be expected, for a shape of 1 or less, `"mean"` has that of the expected precision."""
        if kind == "map":
            return GaussianDensity(*self.mode())
        variance = self.mean().variance
        return GaussianDensity(self.location, np.where(np.isfinite(variance), variance, ratio(self.scale, self.shape)))

    def factor(self, pm: Any, name: str, stats: GaussianStats) -> None:
        variance = pm.InverseGamma(f"{name}_variance", self.shape, self.scale, shape=self.scale.shape)
        mean = pm.Normal(f"{name}_mean", self.location, pm.math.sqrt(variance / self.count), shape=self.scale.shape)
        pm.Potential(name, GaussianDensity(mean, variance).log_likelihood(stats, pm.math))


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(Family):
    """Columns of real numbers. Without a prior, a weak one on the scale of the data: predictions then do not
    change when a column is shifted or rescaled."""

    prior: NormalInverseGamma | None = None

    cells: ClassVar[str] = "real"
    stats: ClassVar[type[Stats]] = GaussianStats

    def belief(self, stats: GaussianStats) -> NormalInverseGamma:
        prior = weak_prior(stats.pooled()) if self.prior is None else self.prior
        return shaped("Gaussian", prior, stats.count.shape)


def weak_prior(pooled: GaussianStats) -> NormalInverseGamma:
    """Worth a hundredth of a row about the mean, and two rows about the variance; 1 for a constant column's."""
    variance = ratio(pooled.ssd, pooled.count)
    constant = np.sqrt(variance) <= 2 * np.spacing(np.abs(pooled.mean))  # its classes' means differ by rounding at most
    return NormalInverseGamma(pooled.mean, 0.01, 1.0, np.where(constant, 1.0, variance))
