"""A family of one's own, as a user would write one: waiting times, each column with a rate.

    rate ~ Gamma(shape, rate of the Gamma)      cell | rate ~ Exponential(rate)

Its formulas take any number, also one that no waiting time can be.
"""

from dataclasses import dataclass, replace
from math import factorial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import polygamma, psi
from scipy.stats import gamma, lomax

from bayesnb.families import RealNumbers, register
from bayesnb.families.base import Array, Belief, Cells, Density, Parts, Rng, Stats
from bayesnb.families.family import Family, Hyperparameters, shaped
from bayesnb.families.record import Parameter, VariableNames, lead, silent
from bayesnb.families.weight import Weight, grouped_sum
from bayesnb.numerics import special
from bayesnb.numerics.special import log_gamma_ratio


@dataclass(frozen=True, eq=False)
class WaitingStats(Stats):
    """Rows seen, and the sum of their times, `(c, f)`."""

    count: Array
    total: Array

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None) -> Self:
        return cls.defined(x[:], weight)

    @classmethod
    def defined(cls, x: Array, weight: Weight) -> Self:
        seen = ~np.isnan(x)
        return cls(
            grouped_sum(weight, seen.astype(float)), grouped_sum(weight, np.where(seen, x, 0.0))
        )

    @property
    def cells(self) -> Array:
        return self.count

    def mle(self) -> "WaitingDensity":
        return WaitingDensity(self.count / self.total)


@dataclass(frozen=True, eq=False)
class WaitingDensity(Density):
    rate: Array

    theta: ClassVar[str] = "rate"

    def log_density(self, x: Array) -> Array:
        return silent(np.isnan(x), np.log(self.rate) - self.rate * x)

    def log_likelihood(self, stats: WaitingStats, xp: Any = np) -> Any:
        return stats.count * xp.log(self.rate) - self.rate * stats.total

    @property
    def proper(self) -> Array:
        return self.rate > 0

    def sample(self, rng: Rng) -> Array:
        return np.random.default_rng(rng).exponential(1 / self.rate)


@dataclass(frozen=True, eq=False, repr=False)
class WaitingBelief(Belief[WaitingStats, WaitingDensity]):
    shape: Parameter
    rate: Parameter

    symbols: ClassVar[dict[str, str]] = {"shape": "wait_shape", "rate": "wait_rate"}

    @property
    def proper(self) -> Array:
        return (self.shape > 0) & (self.rate > 0)

    def strengthened(self, times: Any) -> Self:
        return type(self)(times * self.shape, times * self.rate)

    def update(self, stats: WaitingStats) -> Self:
        return type(self)(self.shape + stats.count, self.rate + stats.total)

    def log_evidence(self, stats: WaitingStats, xp: Any = special) -> Array:
        after = self.update(stats)
        gain = xp.log_gamma_ratio(self.shape, stats.count)
        return gain + self.shape * np.log(self.rate) - after.shape * np.log(after.rate)

    def log_moment(self, x: Array, s: Any) -> Array:
        x = np.asarray(x, float)
        with np.errstate(all="ignore"):
            gain = log_gamma_ratio(self.shape, s) + self.shape * np.log(self.rate)
            value = gain - (self.shape + s) * np.log(self.rate + s * x)
            exists = (np.imag(s) != 0) | (
                (self.rate + np.real(s) * x > 0) & (self.shape + np.real(s) > 0)
            )
        return silent(np.isnan(x), np.where(exists, value, np.inf))

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        x = np.asarray(x, float)
        a = self.shape + tilt
        b = self.rate + tilt * x
        terms = [psi(a) - np.log(b) - x * a / b]
        for n in range(2, order + 1):
            rows = (-1) ** n * (
                factorial(n - 1) * a * (x / b) ** n - factorial(n - 2) * n * (x / b) ** (n - 1)
            )
            terms.append(polygamma(n - 1, a) + rows)
        return silent(np.isnan(x), np.stack(np.broadcast_arrays(*terms)))

    def sample(self, rng: Rng, size: Any = None) -> WaitingDensity:
        shape = (*lead(size), *np.shape(self.shape))
        return WaitingDensity(np.random.default_rng(rng).gamma(self.shape, 1 / self.rate, shape))

    def log_density(self, theta: WaitingDensity) -> Parts:
        return {("rate", None): gamma(self.shape, scale=1 / self.rate).logpdf(theta.rate)}

    def variables(self, pm: Any, names: VariableNames) -> WaitingDensity:
        return WaitingDensity(pm.Gamma(**names("rate"), alpha=self.shape, beta=self.rate))

    def mean(self) -> Array:
        return self.shape / self.rate

    def mode(self) -> Array:
        return np.maximum(self.shape - 1, 0) / self.rate

    def interval(self, prob: float) -> tuple[Array, Array]:
        return gamma(self.shape, scale=1 / self.rate).interval(prob)

    def predictive(self) -> Any:
        return lomax(self.shape, scale=self.rate)

    def estimate(self, kind: str) -> WaitingDensity:
        return WaitingDensity(self.mean() if kind == "mean" else self.mode())


HYPERPARAMETERS = Hyperparameters(
    names=("shape", "mean"),
    weak=(1.0, 1.0),
    note="In columns of waiting times the prior is worth l times as many waits.",
    extremes={("shape", True): "the classes wait alike"},
)


@register
@dataclass(frozen=True, eq=False, repr=False)
class Waiting(Family[WaitingStats]):
    prior: WaitingBelief = WaitingBelief(1.0, 1.0)

    content: ClassVar[str] = "waiting times"
    conjugate: ClassVar[type[Belief]] = WaitingBelief
    hyperparameters: ClassVar[Hyperparameters | None] = HYPERPARAMETERS
    stats: ClassVar[type[Stats]] = WaitingStats
    support = RealNumbers(at_least=0)

    def belief(self, stats: WaitingStats) -> WaitingBelief:
        return shaped("Waiting", self.prior, stats.count.shape)

    def describe(self, belief: Any) -> str:
        return "as if a few waits had been timed"

    def tuned(self, stats: WaitingStats, *values: Any) -> Self:
        """The shape, and the mean of the times."""
        shape, mean = values
        return replace(self, prior=WaitingBelief(shape, np.asarray(shape) * mean))
