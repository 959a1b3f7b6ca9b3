"""What is believed of a Gaussian whose mean and variance are both unknown.

    variance ~ InverseGamma(shape, scale)      mean | variance ~ Normal(location, variance / count)

`count` is how many rows the belief about the mean is worth. Equations: Murphy (2007), Conjugate Bayesian
analysis of the Gaussian distribution, section 3; the predictive is Student's t.
"""

from dataclasses import dataclass
from functools import cached_property
from math import factorial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln, polygamma, psi

from bayesnb import numerics
from bayesnb.families import student
from bayesnb.families.base import ORDER, Array, Belief, Cells, Parts, Rng, Say, by_rows, mended
from bayesnb.families.gaussian_density import LOG_2PI, GaussianDensity, GaussianStats, Moments, Slip
from bayesnb.families.record import FARTHEST, Expected, checked, lead, silent
from bayesnb.families.removal import Leaving
from bayesnb.numerics import special
from bayesnb.numerics.special import accurate_log1p, log, log1p_square, log_gamma_ratio, ratio
from bayesnb.numerics.views import EVERY, numbers

LOG_PI = float(np.log(np.pi))


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
        fields = {
            "location": checked("NormalInverseGamma: mean", mean, -FARTHEST, FARTHEST),
            "count": checked("NormalInverseGamma: count", count),
            "shape": checked("NormalInverseGamma: shape", shape, -0.5),  # -1/2 is the reference prior's
            "scale": checked("NormalInverseGamma: scale", scale),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def mean(self) -> Expected:
        """The location; called, `mean()`, the expected mean and variance (infinite for a shape of 1 or less)."""
        parameter = self.location.view(Expected)
        heavy = self.shape <= 1
        variance = np.where(heavy, np.inf, self.scale / np.where(heavy, 1.0, self.shape - 1))
        parameter.expectation = Moments(self.location, variance)
        return parameter

    @property
    def beyond(self) -> float:
        """A mode divides the scale by the shape and this: the mean, at its mode, adds a factor variance**-0.5."""
        return 1.5

    def mode(self) -> Moments:
        return Moments(self.location, self.scale / (self.shape + self.beyond))

    @property
    def proper(self) -> Array:
        return (self.count > 0) & (self.shape > 0) & (self.scale > 0)

    def strengthened(self, times: Any) -> Self:
        if np.any(self.shape < 0):
            raise ValueError("Gaussian: a prior with a negative shape has no weight that could be halved or doubled.")
        return type(self)(self.location, times * self.count, times * self.shape, times * self.scale)

    def update(self, stats: GaussianStats) -> Self:
        gap, share = stats.mean - self.location, ratio(stats.count, self.count + stats.count)
        return type(self)(
            self.location + share * gap,
            self.count + stats.count,
            self.shape + stats.count / 2,
            self.scale + self.surprise(stats),
        )

    def surprise(self, stats: GaussianStats, xp: Any = special) -> Any:
        """What the data add to the scale: half their spread about themselves and about the location."""
        share = xp.ratio(stats.count, self.count + stats.count)
        return (stats.ssd + self.count * share * (stats.mean - self.location) ** 2) / 2

    def rounding_error(self, stats: GaussianStats, slip: Slip) -> Array:
        return student.rounding_error(self, stats, slip)

    def log_evidence(self, stats: GaussianStats, xp: Any = special) -> Array:
        """Of every class by itself."""
        terms = stats.count / 2, self.surprise(stats, xp), xp.log1p(stats.count / self.count)
        return of_variance(self.shape, self.scale, terms, xp)

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
            value = np.where(exists | (np.imag(s) != 0), value, np.inf)
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
        finite = numerics.gaussian_kernels.student(x, *terms, total)
        return mended(total, finite, lambda overflowed: self.defined_score(x[overflowed], power))

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

    def score_left_out(self, stats: GaussianStats, leaving: Leaving) -> Array:
        prior = self.map(np.zeros_like) if leaving.kind == "mle" else self
        return student.left_out(prior.update(stats), leaving)

    def cumulants(self, x: Array, order: int, tilt: float = 0.0) -> Array:
        shape = self.shape + tilt / 2
        rho = 1 / self.count + (x - self.location) ** 2 / (2 * self.scale)
        log_part, rho = -np.log1p(tilt * rho) / 2, rho / (1 + tilt * rho)
        terms = [log_part - shape * rho]
        for n in range(2, order + 1):
            terms.append((-1) ** n * (factorial(n - 1) * shape * rho - factorial(n - 2) * n / 2) * rho ** (n - 1))
        both = zip(self._still_cumulants(order, tilt), terms, strict=True)
        return silent(np.isnan(x), np.stack([still + moving for still, moving in both]))

    def _still_cumulants(self, order: int, tilt: float) -> Array:
        """What no cell changes of the cumulants."""
        shape, r = self.shape + tilt / 2, 1 / self.count
        log_part, r = np.log1p(tilt * r) - LOG_2PI - np.log(self.scale), r / (1 + tilt * r)
        terms = [(psi(shape) + log_part) / 2 + (shape - 0.5) * r]
        for n in range(2, order + 1):
            spread = (factorial(n - 2) * n / 2 - factorial(n - 1) * (shape - 0.5) * r) * r ** (n - 1)
            terms.append(polygamma(n - 1, shape) / 2**n + (-1) ** n * spread)
        return np.stack(np.broadcast_arrays(*terms))

    def score_cumulants(self, x: Cells, tilt: float = 0.0) -> Array:
        cells, parameters = numbers(x, EVERY), (self.location, self._width, 1 / self.count, self.shape + tilt / 2)
        total, still = np.empty((ORDER, len(cells), len(self))), self._still_cumulants(ORDER, tilt).sum(axis=-1)
        if numerics.transform_kernels.student_cumulants(
            cells, *map(np.ascontiguousarray, parameters), tilt, still, total
        ):
            total -= np.isnan(cells).astype(float) @ self.cumulants(self.location, ORDER, tilt).swapaxes(1, 2)
        return total

    def score_transform(self, x: Cells, s: Array) -> Array:
        cells, s = numbers(x, EVERY), np.asarray(s, complex)
        shared, place = self._shared_moments(s)
        scale = s / 2 * (LOG_2PI + np.log(self.scale))[..., None]
        often = np.stack([np.bincount(places, minlength=len(shared)) for places in place])
        each = shared[place] - scale if np.isnan(cells).any() else np.empty((*place.shape, 0), complex)
        out = np.repeat(_apart(often @ shared - scale.sum(axis=1))[None], len(cells), axis=0)
        parameters = map(np.ascontiguousarray, (self.location, self._width, 1 / self.count, self.shape, s.real, s.imag))
        numerics.transform_kernels.student_transform(cells, *parameters, _apart(each), out)
        exists = (s.imag != 0) | ((s.real / self.count[..., None] > -1) & (s.real > -2 * self.shape[..., None])).all(1)
        return np.where(exists, out[..., 0, :] + 1j * out[..., 1, :], np.inf)

    @property
    def _width(self) -> Array:
        return 1 / (2 * self.scale)

    def _shared_moments(self, s: Array) -> tuple[Array, Array]:
        """What no cell and no scale changes of K(s), `(k, n)` for distinct shapes and counts, and whose is whose."""
        alike, place = np.unique(np.stack([self.shape, self.count]).reshape(2, -1), axis=1, return_inverse=True)
        shape, count = alike[..., None]
        with np.errstate(all="ignore"):
            shared = log_gamma_ratio(shape, s / 2) + (shape + s / 2 - 0.5) * accurate_log1p(s / count)
        return np.where(np.isfinite(shared), shared, 0.0), place.reshape(self.shape.shape)

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

    def variables(self, pm: Any, say: Say) -> GaussianDensity:
        variance = pm.InverseGamma(**say("sigma2"), alpha=self.shape, beta=self.scale)
        return GaussianDensity(pm.Normal(**say("mu"), mu=self.location, sigma=(variance / self.count) ** 0.5), variance)


def of_variance(shape: Any, scale: Any, terms: tuple[Any, Any, Any], xp: Any = special) -> Any:
    """The log evidence of rows that say of one variance half their number, what they add to the scale, and log(k_n/k).

    Ratios of normalizers, written so that a row keeps its digits after 1e12 others.
    """
    half, surprise, widened = terms
    gain = xp.log_gamma_ratio(shape, half) - shape * xp.log1p(surprise / scale)
    return gain - half * (LOG_2PI + xp.log(scale + surprise)) - widened / 2


def _apart(z: Array) -> Array:
    """Complex numbers as kernels read them, `(..., n) -> (..., 2, n)`."""
    return np.stack([z.real, z.imag], axis=-2)


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

    def variables(self, pm: Any, say: Say) -> GaussianDensity:
        return GaussianDensity(
            pm.Normal(**say("mu"), mu=self.location, sigma=(self.variance / self.count) ** 0.5), self.variance
        )
