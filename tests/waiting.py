"""A family of one's own, as a user would write one: waiting times, each column with a rate.

    rate ~ Gamma(shape, rate of the Gamma)      cell | rate ~ Exponential(rate)

Its formulas take any number, also one that no waiting time can be.
"""

from dataclasses import dataclass
from math import factorial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln, polygamma, psi
from scipy.stats import gamma, lomax

from bayesnb.families import RealNumbers
from bayesnb.families.base import Array, Belief, Cells, Density, Rng, Stats
from bayesnb.families.family import Family, shaped
from bayesnb.families.record import silent
from bayesnb.families.weight import Weight, grouped_sum


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
        return cls(grouped_sum(weight, seen.astype(float)), grouped_sum(weight, np.where(seen, x, 0.0)))

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
class WaitingBelief(Belief):
    shape: Array
    rate: Array

    @property
    def proper(self) -> Array:
        return (self.shape > 0) & (self.rate > 0)

    def update(self, stats: WaitingStats) -> Self:
        return type(self)(self.shape + stats.count, self.rate + stats.total)

    def log_evidence(self, stats: WaitingStats, xp: Any = np) -> Array:
        after = self.update(stats)
        gain = gammaln(after.shape) - gammaln(self.shape)
        return gain + self.shape * np.log(self.rate) - after.shape * np.log(after.rate)

    def log_moment(self, x: Array, s: Any) -> Array:
        gain = gammaln(self.shape + s) - gammaln(self.shape) + self.shape * np.log(self.rate)
        return silent(np.isnan(x), gain - (self.shape + s) * np.log(self.rate + s * np.asarray(x, float)))

    def cumulants(self, x: Array, order: int, tilt: float = 0.0) -> Array:
        a, b = self.shape + tilt, self.rate + tilt * x
        terms = [psi(a) - np.log(b) - x * a / b]
        for n in range(2, order + 1):
            rows = (-1) ** n * (factorial(n - 1) * a * (x / b) ** n - factorial(n - 2) * n * (x / b) ** (n - 1))
            terms.append(polygamma(n - 1, a) + rows)
        return silent(np.isnan(x), np.stack(np.broadcast_arrays(*terms)))

    def sample(self, rng: Rng, size: Any = None) -> WaitingDensity:
        return WaitingDensity(np.random.default_rng(rng).gamma(self.shape, 1 / self.rate))

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


@dataclass(frozen=True, eq=False, repr=False)
class Waiting(Family):
    prior: WaitingBelief = WaitingBelief(1.0, 1.0)

    cells: ClassVar[str] = "real"
    stats: ClassVar[type[Stats]] = WaitingStats
    support = RealNumbers(at_least=0)

    def belief(self, stats: WaitingStats) -> WaitingBelief:
        return shaped("Waiting", self.prior, stats.count.shape)
