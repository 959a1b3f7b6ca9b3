"""Yes-or-no features: a coin for each class and feature.

    probability ~ Beta(a, b)      cell | probability ~ Bernoulli(probability)

`a` and `b` are how many rows of ones and zeros the belief is worth. Both sides are kept: log(1 - p) is never
taken from p, which has no digits left when p is nearly 1.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.special import betaln, polygamma, psi

from bayesnb.families.base import ORDER, Array, Belief, Cells, Density, Parts, Rng, Say, Stats
from bayesnb.families.coins import Coins, Tossed, count_ones, sides_added, split
from bayesnb.families.dirichlet import CONCENTRATION
from bayesnb.families.family import Family, Hyperparameters, Seen, checked_prior, proportions, shaped
from bayesnb.families.leaving import Leaving, Pile
from bayesnb.families.linear import of_apart
from bayesnb.families.record import Linear, Parameter, checked, silent
from bayesnb.families.sums import nodes
from bayesnb.families.support import RealNumbers, Support, ZeroOrOne
from bayesnb.families.weight import Weight, grouped_sum
from bayesnb.families.wording import alike
from bayesnb.numerics import special
from bayesnb.numerics.special import (
    draw_log_gamma,
    less,
    log,
    log_gamma_ratio,
    ratio,
    times,
    trigamma,
    trigamma_fall,
)
from bayesnb.numerics.views import EVERY, Dense, Flags


@dataclass(frozen=True, eq=False)
class BernoulliStats(Stats):
    """Ones and zeros seen, `(c, f)`."""

    ones: Array
    zeros: Array

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None) -> Self:
        ones, missing = count_ones(x, weight, n_jobs)
        return cls(ones, weight.rest(ones + missing))

    @classmethod
    def defined(cls, x: Cells, weight: Weight) -> Self:
        ones, missing = split(x)
        seen = grouped_sum(weight, ones)
        return cls(seen, weight.rest(seen if missing is None else seen + grouped_sum(weight, missing)))

    @property
    def cells(self) -> Array:
        return self.ones + self.zeros

    def odd_columns(self) -> Array:
        """The columns with a cell outside the support."""
        return np.flatnonzero(np.isnan(self.ones).any(axis=0))

    def about(self, name: str) -> Array:
        """Zeros are what ones leave of all."""
        return self.cells

    def mle(self) -> "BernoulliDensity":
        total = self.ones + self.zeros
        never = np.where(total > 0, 0.0, np.nan)
        return BernoulliDensity(ratio(self.ones, total) + never, ratio(self.zeros, total) + never)


@dataclass(frozen=True, eq=False)
class BernoulliDensity(Tossed, Density):
    probability: Array
    complement: Array

    theta: ClassVar[str] = "probability"
    kept: ClassVar[str] = "logs"

    @classmethod
    def of_logs(cls, one: Array, zero: Array) -> Self:
        """Probabilities of both sides whose logs are kept: small ones underflow."""
        density = cls(np.exp(one), np.exp(zero))
        density.__dict__["logs"] = one, zero
        return density

    @cached_property
    def logs(self) -> tuple[Array, Array]:
        return log(self.probability), log(self.complement)

    def parts(self) -> Parts:
        return {("theta{}", None): self.probability}

    def log_density(self, x: Array) -> Array:
        return silent(np.isnan(x), np.where(x == 1, *self.logs))

    def log_likelihood(self, stats: BernoulliStats, xp: Any = np) -> Any:
        up = stats.ones * xp.log(xp.where(stats.ones > 0, self.probability, 1.0))
        return up + stats.zeros * xp.log(xp.where(stats.zeros > 0, self.complement, 1.0))

    def cell(self, pm: Any) -> tuple[Any, dict[str, Any]]:
        return pm.Bernoulli, {"p": self.probability}

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        one = parts["theta{}", None]
        return cls(one, 1 - one)

    @property
    def proper(self) -> Array:
        return np.isfinite(self.probability)

    def sample(self, rng: Rng) -> Array:
        return np.random.default_rng(rng).binomial(1, self.probability).astype(float)

    def score(self, x: Cells, power: float = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        return self.toss(x, power, out, n_jobs)

    def worth(self, power: float) -> Coins:
        one, zero = self.logs
        return Coins(power * one, power * zero)

    def linear(self) -> Linear:
        one, zero = self.logs
        return Linear(one - zero, zero.sum(axis=-1))


@dataclass(frozen=True, eq=False, repr=False)
class Beta(Tossed, Belief):
    """A belief about the probability of a one.

    >>> Beta(1, 3).mean()
    array(0.25)
    """

    symbols: ClassVar[dict[str, str]] = {"a": "theta{}_a", "b": "theta{}_b"}
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

    def log_evidence(self, stats: BernoulliStats, xp: Any = special) -> Array:
        each = xp.log_gamma_ratio(self.a, stats.ones) + xp.log_gamma_ratio(self.b, stats.zeros)
        return each - xp.log_gamma_ratio(self.a + self.b, stats.ones + stats.zeros)

    def log_moment(self, x: Array, s: Any) -> Array:
        own = np.where(x == 1, self.a, self.b)
        return silent(np.isnan(x), less(log_gamma_ratio(own, s), log_gamma_ratio(self.a + self.b, s)))

    def log_predictive(self, x: Array) -> Array:
        return silent(np.isnan(x), log(ratio(np.where(x == 1, self.a, self.b), self.a + self.b)))

    def cumulants(self, x: Array, order: int, tilt: float = 0.0) -> Array:
        own, total = np.where(x == 1, self.a, self.b) + tilt, self.a + self.b + tilt
        rest = [polygamma(n, own) - polygamma(n, total) for n in range(1, order)]
        return silent(np.isnan(x), np.stack([psi(own) - psi(total), *rest]))

    def score(self, x: Cells, power: Any = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        if isinstance(power, np.ndarray):
            dense = Flags(Dense(x.numbers), x.threshold) if isinstance(x, Flags) and sparse.issparse(x.numbers) else x
            return super().score(Dense(x) if sparse.issparse(x) else dense, power, out, n_jobs)
        return self.toss(x, power, out, n_jobs)

    def own_left_out(self, stats: BernoulliStats, leaving: Leaving) -> Array:
        prior, counts = np.stack([self.a, self.b], axis=-1), np.stack([stats.ones, stats.zeros], axis=-1)
        pile = Pile.of(prior, counts, leaving.kind, lambda sides: sides.sum(axis=-1, keepdims=True))
        weight = leaving.each if leaving.alike else leaving.weight[:, None, None]
        one, zero = np.moveaxis(pile.worth(weight, leaving.kind, leaving.power), -1, 0)
        if leaving.alike and not np.isnan(one).any():
            return Coins(one, zero).score(leaving.x, None, 1)[:, 0]
        x = np.asarray(Dense(leaving.x)[EVERY] if sparse.issparse(leaving.x) else leaving.x[EVERY], float)
        return silent(np.isnan(x), np.where(x == 1, one, zero)).sum(axis=1)

    @property
    def every_value(self) -> Array:
        return np.repeat([[0.0], [1.0]], self.a.shape[-1], axis=1)

    def by_value(self, worth: Array) -> Callable[..., Array]:
        return Coins(worth[1], worth[0]).score

    def worth(self, power: float) -> Coins:
        one, zero = np.ones(1), np.zeros(1)
        if power == 1:
            return Coins(self.log_predictive(one), self.log_predictive(zero))
        return Coins(self.log_moment(one, power), self.log_moment(zero, power))

    def score_cumulants(self, x: Cells, tilt: float = 0.0) -> Array:
        one, zero = (self.cumulants(np.full(1, side), ORDER, tilt) for side in (1.0, 0.0))
        return np.moveaxis(sides_added(x[:], one, zero), -1, 0)

    def score_transform(self, x: Cells, s: Array) -> Array:
        one, zero = (self.log_moment(np.full(1, side), nodes(s)) for side in (1.0, 0.0))
        return sides_added(x[:], one, zero)

    def linear_variance(self, against: int | None = None) -> Linear:
        offset = trigamma_fall(self.b, self.a).sum(axis=-1)
        return of_apart(trigamma(self.a) + trigamma(self.b), offset, against)

    def sample(self, rng: Rng, size: Any = None) -> BernoulliDensity:
        rng = np.random.default_rng(rng)
        one, zero = draw_log_gamma(self.a, rng, size), draw_log_gamma(self.b, rng, size)
        total = np.logaddexp(one, zero)
        return BernoulliDensity.of_logs(one - total, zero - total)

    def log_density(self, theta: BernoulliDensity) -> Parts:
        one, zero = theta.logs
        return {("theta{}", None): times(self.a - 1, one) + times(self.b - 1, zero) - betaln(self.a, self.b)}

    def interval(self, prob: float) -> tuple[Array, Array]:
        from scipy.stats import beta

        return beta(self.a, self.b).interval(prob)

    def level_intervals(self, prob: float) -> tuple[Array, Array, Array]:
        """The expected probabilities of 0 and 1, `(..., 2)`, and the ends of their intervals."""
        lower, upper = self.interval(prob)
        mean = self.mean()
        ends = ((1 - mean, mean), (1 - upper, lower), (1 - lower, upper))
        first, low, high = (np.stack(pair, axis=-1) for pair in ends)
        return first, low, high

    def predictive(self) -> Any:
        from scipy.stats import bernoulli

        return bernoulli(self.mean())

    def estimate(self, kind: str) -> BernoulliDensity:
        mirror = type(self)(self.b, self.a)
        if kind == "mean":
            return BernoulliDensity(self.mean(), mirror.mean())
        return BernoulliDensity(self.mode(), mirror.mode())

    def variables(self, pm: Any, say: Say) -> BernoulliDensity:
        probability = pm.Beta(**say("theta{}"), alpha=self.a, beta=self.b)
        return BernoulliDensity(probability, 1 - probability)


@dataclass(frozen=True, eq=False, repr=False)
class Bernoulli(Family):
    """Columns of zeros and ones, or booleans. With a `threshold`, a one is any number above it.

    `prior` is a Beta, or a number l for Beta(l, l).
    """

    prior: Beta | float = 1.0
    threshold: float | None = None

    content: ClassVar[str] = "yes or no"
    picture = "levels"
    outcomes: ClassVar[tuple[str, ...]] = ("no", "yes")
    conjugate: ClassVar[type[Belief]] = Beta
    number_prior: ClassVar[bool] = True
    hyperparameters: ClassVar[Hyperparameters | None] = CONCENTRATION
    stats: ClassVar[type[Stats]] = BernoulliStats
    reads_sparse: ClassVar[bool] = True
    shows_invalid: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_prior("Bernoulli", self.prior, Beta, short=True)
        if not isinstance(self.prior, Beta):
            object.__setattr__(self, "prior", Beta(self.prior, self.prior))

    @property
    def support(self) -> Support:
        return ZeroOrOne() if self.threshold is None else RealNumbers()

    def belief(self, stats: BernoulliStats) -> Beta:
        return shaped("Bernoulli", self.prior, stats.ones.shape)  # type: ignore[arg-type]

    def read(self, x: Any) -> Flags:
        if sparse.issparse(x) and self.threshold is not None and self.threshold < 0:
            raise ValueError(
                f"Bernoulli: a threshold of {self.threshold} makes ones of a sparse table's empty cells; "
                "give a dense table."
            )
        return Flags(x, self.threshold)

    def written(self, drawn: Array) -> Array:
        """Cells above the threshold for ones, and at most at it for zeros."""
        floor = 0 if self.threshold is None else int(np.floor(self.threshold))
        zero, one = min(floor, 0), max(floor + 1, 1)
        return drawn > 0 if (zero, one) == (0, 1) else np.where(drawn > 0, one, zero)

    def describe(self, belief: Any) -> str:
        return f"as if {alike(belief.a)} yes and {alike(belief.b)} no had been seen in each class"

    def tuned(self, stats: BernoulliStats, *values: Any) -> Self:
        return self.smoothed(stats, values[0], "mean")

    def smoothed(self, stats: BernoulliStats, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        one, zero = proportions(self.prior.a, self.prior.b)  # type: ignore[union-attr]
        mode = float(kind == "map")
        return replace(self, prior=Beta(smoothing * one + mode, smoothing * zero + mode))

    def seen(self, stats: BernoulliStats) -> Seen:
        unit = self.smoothed(stats, 1.0, "mean").belief(stats)
        columns = np.arange(stats.ones.shape[1])
        sides = np.hstack([stats.zeros, stats.ones]), np.hstack([unit.b, unit.a])
        return Seen(*sides, np.tile(columns, 2), np.repeat([0, 1], len(columns)))

    def of_levels(self, concentration: Any, stats: BernoulliStats) -> Beta:
        half = stats.ones.shape[1]
        return Beta.raw(concentration[:, half:], concentration[:, :half])
