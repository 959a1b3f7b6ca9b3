"""Yes-or-no features: a coin for each class and feature.

    probability ~ Beta(a, b)      cell | probability ~ Bernoulli(probability)

`a` and `b` are how many rows of ones and zeros the belief is worth. Both sides are kept: log(1 - p) is never
taken from p, which has no digits left when p is nearly 1.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.special import polygamma, psi

from bayesnb.families.base import (
    Array,
    Belief,
    Cells,
    Density,
    Family,
    Parameter,
    Rng,
    Stats,
    checked,
    grouped_sum,
    lead,
    shaped,
    silent,
)
from bayesnb.special import dot_logs, less, log, log_gamma_ratio, ratio


@dataclass(frozen=True, eq=False)
class BernoulliStats(Stats):
    """Ones and zeros seen, `(c, f)`."""

    ones: Array
    zeros: Array

    @classmethod
    def of(cls, x: Cells, weight: sparse.csc_array) -> Self:
        ones, missing = split(x)
        rows = np.asarray(weight.sum(axis=0), float)[:, None]
        seen = grouped_sum(weight, ones)
        return cls(seen, np.maximum(rows - seen - (0 if missing is None else grouped_sum(weight, missing)), 0.0))

    def mle(self) -> "BernoulliDensity":
        total = self.ones + self.zeros
        never = np.where(total > 0, 0.0, np.nan)
        return BernoulliDensity(ratio(self.ones, total) + never, ratio(self.zeros, total) + never)


def split(x: Cells) -> tuple[Cells, Cells | None]:
    """Where the ones are, and where the missing cells are (None if nowhere); sparse stays sparse."""
    if not sparse.issparse(x):
        x = np.asarray(x, float)
        missing = np.isnan(x)
        return (np.where(missing, 0.0, x), missing.astype(float)) if missing.any() else (x, None)
    data = x.data.astype(float)
    missing = np.isnan(data)
    ones = sparse.csr_array((np.where(missing, 0.0, data), x.indices, x.indptr), shape=x.shape)
    if not missing.any():
        return ones, None
    return ones, sparse.csr_array((missing.astype(float), x.indices, x.indptr), shape=x.shape)


def coin_score(x: Cells, log_one: Array, log_zero: Array) -> Array:
    """Sums over features of what a one and a zero are worth, `(r, f), (c, f), (c, f) -> (r, c)`."""
    ones, missing = split(x)
    if not sparse.issparse(ones):
        return dot_logs(ones, log_one) + dot_logs(1 - ones - (0 if missing is None else missing), log_zero)
    never_one, never_zero = np.isneginf(log_one).astype(float), np.isneginf(log_zero).astype(float)
    up, down = np.where(never_one > 0, 0.0, log_one), np.where(never_zero > 0, 0.0, log_zero)
    total = down.sum(axis=1) + ones @ (up - down).T
    impossible = never_zero.sum(axis=1) + ones @ (never_one - never_zero).T
    if missing is not None:
        total, impossible = total - missing @ down.T, impossible - missing @ never_zero.T
    return np.where(impossible > 0.5, -np.inf, total)


@dataclass(frozen=True, eq=False)
class BernoulliDensity(Density):
    probability: Array
    complement: Array

    theta: ClassVar[str] = "probability"

    def log_density(self, x: Array) -> Array:
        return silent(np.isnan(x), np.where(x == 1, log(self.probability), log(self.complement)))

    def log_likelihood(self, stats: BernoulliStats, xp: Any = np) -> Any:
        up = stats.ones * xp.log(xp.where(stats.ones > 0, self.probability, 1.0))
        return up + stats.zeros * xp.log(xp.where(stats.zeros > 0, self.complement, 1.0))

    @property
    def proper(self) -> Array:
        return np.isfinite(self.probability)

    def sample(self, rng: Rng) -> Array:
        return np.random.default_rng(rng).binomial(1, self.probability).astype(float)

    def score(self, x: Cells, power: float = 1.0) -> Array:
        return coin_score(x, power * log(self.probability), power * log(self.complement))


@dataclass(frozen=True, eq=False, repr=False)
class Beta(Belief):
    """A belief about the probability of a one.

    >>> Beta(1, 3).mean()
    array(0.25)
    """

    a: Parameter
    b: Parameter

    def __post_init__(self) -> None:
        super().__post_init__()
        checked("Beta: a", self.a)
        checked("Beta: b", self.b)

    def mean(self) -> Array:
        return ratio(self.a, self.a + self.b)

    def mode(self) -> Array:
        """Even where every probability is a mode, as under Beta(1, 1)."""
        up, down = np.maximum(self.a - 1, 0.0), np.maximum(self.b - 1, 0.0)
        return np.where(up + down > 0, ratio(up, up + down), 0.5)

    @property
    def proper(self) -> Array:
        return self.a + self.b > 0

    @property
    def strictly_proper(self) -> Array:
        return (self.a > 0) & (self.b > 0)

    def update(self, stats: BernoulliStats) -> Self:
        return type(self)(self.a + stats.ones, self.b + stats.zeros)

    def log_evidence(self, stats: BernoulliStats) -> Array:
        each = log_gamma_ratio(self.a, stats.ones) + log_gamma_ratio(self.b, stats.zeros)
        return each - log_gamma_ratio(self.a + self.b, stats.ones + stats.zeros)

    def log_moment(self, x: Array, s: Any) -> Array:
        own = np.where(x == 1, self.a, self.b)
        return silent(np.isnan(x), less(log_gamma_ratio(own, s), log_gamma_ratio(self.a + self.b, s)))

    def log_predictive(self, x: Array) -> Array:
        return silent(np.isnan(x), log(ratio(np.where(x == 1, self.a, self.b), self.a + self.b)))

    def cumulants(self, x: Array, order: int) -> Array:
        own, total = np.where(x == 1, self.a, self.b), self.a + self.b
        rest = [polygamma(n, own) - polygamma(n, total) for n in range(1, order)]
        return silent(np.isnan(x), np.stack([psi(own) - psi(total), *rest]))

    def score(self, x: Cells, power: Any = 1.0) -> Array:
        if np.ndim(power):
            return super().score(x.toarray() if sparse.issparse(x) else np.asarray(x, float), power)
        one, zero = np.ones(1), np.zeros(1)
        worth = self.log_predictive if power == 1 else lambda cell: self.log_moment(cell, power)
        return coin_score(x, worth(one), worth(zero))

    def sample(self, rng: Rng, size: Any = None) -> BernoulliDensity:
        rng = np.random.default_rng(rng)
        probability = rng.beta(self.a, self.b, lead(size) + self.a.shape)
        return BernoulliDensity(probability, 1 - probability)

    def interval(self, prob: float) -> tuple[Array, Array]:
        from scipy.stats import beta

        return beta(self.a, self.b).interval(prob)

    def predictive(self) -> Any:
        from scipy.stats import bernoulli

        return bernoulli(self.mean())

    def estimate(self, kind: str) -> BernoulliDensity:
        mirror = type(self)(self.b, self.a)
        if kind == "mean":
            return BernoulliDensity(self.mean(), mirror.mean())
        return BernoulliDensity(self.mode(), mirror.mode())

    def factor(self, pm: Any, name: str, stats: BernoulliStats) -> None:
        probability = pm.Beta(f"{name}_probability", self.a, self.b, shape=self.a.shape)
        pm.Potential(name, BernoulliDensity(probability, 1 - probability).log_likelihood(stats, pm.math))


@dataclass(frozen=True, eq=False, repr=False)
class Bernoulli(Family):
    """Columns of zeros and ones, or booleans. With a `threshold`, a one is any number above it.

    `prior` is a Beta, or a number l for Beta(l, l).
    """

    prior: Beta | float = 1.0
    threshold: float | None = None

    cells: ClassVar[str] = "flag"
    stats: ClassVar[type[Stats]] = BernoulliStats
    reads_sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.prior, Beta):
            object.__setattr__(self, "prior", Beta(self.prior, self.prior))

    def belief(self, stats: BernoulliStats) -> Beta:
        return shaped("Bernoulli", self.prior, stats.ones.shape)  # type: ignore[arg-type]
