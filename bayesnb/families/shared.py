"""Real-valued features whose variance is the same in every class, and unknown as their means are.

    variance ~ InverseGamma(shape, scale)      mean_c | variance ~ Normal(location_c, variance / count_c)

With n_c rows of class c, and what they add to the scale of a class that is alone, S_c, the posterior has

    shape + sum of n_c / 2      scale + sum of S_c

and a location and a count for each class as ever: given the variance the classes are apart. So the predictive is a
Student's t whose degrees of freedom are pooled; and log-odds of classes, given theta, are linear in the cells: linear
discriminant analysis with a diagonal covariance. Gelman et al. (2013), Bayesian Data Analysis, section 3.3; Bickel
and Levina (2004), Some theory for Fisher's linear discriminant function, 'naive Bayes'.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families import student
from bayesnb.families.base import Array, Parts, Rng, Say
from bayesnb.families.gaussian_density import LOG_2PI, GaussianDensity, GaussianStats
from bayesnb.families.normal_inverse_gamma import NormalInverseGamma, of_variance
from bayesnb.families.record import Linear, lead
from bayesnb.families.removal import Leaving
from bayesnb.families.sharing import Sharing, log_series, mean_series
from bayesnb.numerics import special
from bayesnb.numerics.special import accurate_log1p, log_gamma_ratio, ratio
from bayesnb.numerics.views import EVERY, numbers


@dataclass(frozen=True, eq=False)
class SharedGaussianStats(GaussianStats):
    """Rows seen, their mean, and their summed squared deviation, where all classes have one variance."""

    def mle(self) -> GaussianDensity:
        """The variance within classes, pooled; a class without rows has no density."""
        count = self.count.sum(axis=0)
        variance = np.where(count > 0, ratio(self.ssd.sum(axis=0), count), np.nan)
        return GaussianDensity(self.mean, np.where(self.count > 0, variance, np.nan))


@dataclass(frozen=True, eq=False, init=False, repr=False)
class SharedNormalInverseGamma(Sharing, NormalInverseGamma):
    """variance ~ InverseGamma(shape, scale) for all classes, mean_c | variance ~ Normal(mean_c, variance / count_c).

    The first axis is that of the classes; `shape` and `scale` are the same for all of them.

    >>> belief = SharedNormalInverseGamma(mean=[0.0, 1.0], count=[1.0, 1.0], shape=[3.0, 3.0], scale=[4.0, 4.0])
    >>> belief.mode()
    Moments(mean=array([0., 1.]), variance=array([0.8, 0.8]))
    """

    models: int = 1

    common: ClassVar[tuple[str, ...]] = ("shape", "scale")
    alone: ClassVar[type[NormalInverseGamma]] = NormalInverseGamma

    def __init__(self, mean: Any, count: Any, shape: Any, scale: Any, models: int = 1) -> None:
        super().__init__(mean, count, shape, scale)
        object.__setattr__(self, "models", models)
        self.check_common()

    @property
    def beyond(self) -> float:
        """Every mean, at its mode, adds a factor variance**-0.5 to the density of them all and of the variance."""
        return self.classes / 2 + 1

    def update(self, stats: GaussianStats) -> Self:
        gap, share = stats.mean - self.location, ratio(stats.count, self.count + stats.count)
        return type(self)(
            self.location + share * gap,
            self.count + stats.count,
            self.shape + self.each(self.pooled(stats.count)) / 2,
            self.scale + self.each(self.pooled(self.surprise(stats))),
            self.models,
        )

    def margins(self) -> NormalInverseGamma:
        return NormalInverseGamma(self.location, self.count, self.shape, self.scale)

    def log_evidence(self, stats: GaussianStats, xp: Any = special) -> Array:
        """Of all classes together, `(1, f)`: what they say of the variance is seen once."""
        every = stats.count / 2, self.surprise(stats, xp), xp.log1p(stats.count / self.count)
        return of_variance(self.once(self.shape), self.once(self.scale), tuple(map(self.pooled, every)), xp)

    def left_by(self, c: int, leaving: Leaving) -> Array:
        return student.left_by(self, c, leaving)

    def pair_moment(self, x: Any, s: Array, u: Array) -> Array:
        """The means go as in `mean_series`, and then the precision, whose distribution is Gamma(shape, scale)."""
        cells, both = numbers(x, EVERY), (s + u) / 2
        total = np.zeros((len(cells), len(s)), np.result_type(s, u, float))
        with np.errstate(all="ignore"):
            widen, other = 1 + s / self.count[1][:, None], 1 + u / self.count[0][:, None]
            still = log_gamma_ratio(self.shape[1][:, None], both) - both * (LOG_2PI + np.log(self.scale[1]))[:, None]
            still = still - (accurate_log1p(widen - 1) + accurate_log1p(other - 1)) / 2
            still = np.where((widen.real > 0) & (other.real > 0), still, np.inf)
            for j in range(cells.shape[1]):
                far, near = (self._reach(cells, c)[:, j, None] for c in (1, 0))
                reach = far * (s / widen[j]) + near * (u / other[j])
                tail = np.where(reach.real > -1, (self.shape[1, j] + both) * accurate_log1p(reach), -np.inf)
                total += np.where(np.isnan(far), 0.0, still[j] - tail)
        return total

    def pair_cumulants(self, x: Any, t: float, v: float) -> Array:
        cells, both = numbers(x, EVERY), (t + v) / 2
        far, near = self._reach(cells, 1), self._reach(cells, 0)
        widen, other = 1 + t / self.count[1], 1 + v / self.count[0]
        r, q = 1 / (self.count[1] + t), 1 / (self.count[0] + v)
        steps = (self.count[1] ** 2 * mean_series(r))[:, None] * far + (self.count[0] ** 2 * mean_series(q, -1))[
            :, None
        ] * near
        moving = (self.shape[1] + both) * log_series(steps / (1 + far * (t / widen) + near * (v / other)))
        still = np.add(*(log_series(np.stack([rate, *np.zeros((3, *rate.shape))])) for rate in (r, -q))) / 2
        return -np.where(np.isnan(cells), 0.0, moving + still[:, None]).sum(axis=-1)

    def _reach(self, cells: Array, c: int) -> Array:
        """Squared distances from the location of a class, in units of the scale, `(r, f)`."""
        return (cells - self.location[c]) ** 2 / (2 * self.scale[c])

    def sample(self, rng: Rng, size: Any = None) -> GaussianDensity:
        """Means for every class, and one variance for all."""
        rng, shape = np.random.default_rng(rng), self.once(self.shape)
        gamma = rng.standard_gamma(shape, lead(size) + shape.shape)
        variance = self.scale / np.repeat(gamma, self.classes, axis=len(lead(size)))
        return GaussianDensity(rng.normal(self.location, np.sqrt(variance / self.count)), variance)

    def log_density(self, theta: GaussianDensity) -> Parts:
        """Of each mean given the variance, and of the variance: in equal parts, one for every class."""
        parts = super().log_density(theta)
        return parts | {("sigma2", None): parts["sigma2", None] / self.classes}

    def linear_variance(self, against: int | None = None) -> Linear:
        """With tau = 1 / variance ~ Gamma(a, rate b) and mu | tau ~ Normal(m, 1 / (k tau)), as moments of mu and tau,

            Var(mu tau) = m**2 a / b**2 + (a / b) / k
            Var(mu**2 tau / 2) = (m**4 a / b**2 + 4 m**2 (a / b) / k + 2 / k**2) / 4

        Of differences of two classes, which share tau, m and m**2 are differences, and what has a k is a sum.
        """
        rate = self.shape / self.scale
        location, noise = self.location, rate / self.count
        square, rough = location**2, (4 * rate * location**2 + 2 / self.count) / self.count
        if against is not None:
            apart = (np.arange(len(self)) != against)[:, None]
            gap = location - location[against]
            square, noise, rough = (
                gap * (location + location[against]),
                apart * (noise + noise[against]),
                apart * (rough + rough[against]),
            )
            location = gap
        spread = rate / self.scale
        return Linear(location**2 * spread + noise, ((square**2 * spread + rough) / 4).sum(axis=-1))

    def variables(self, pm: Any, say: Say) -> GaussianDensity:
        """The variance of all classes is a variable, and what every class has is that."""
        named = say("sigma2")
        dims = named["dims"] and named["dims"][1:]
        common = pm.InverseGamma(f"{named['name']}_shared", alpha=self.shape[0], beta=self.scale[0], dims=dims)
        variance = pm.Deterministic(**named, var=common * pm.math.ones_like(self.count))
        return GaussianDensity(pm.Normal(**say("mu"), mu=self.location, sigma=(variance / self.count) ** 0.5), variance)
