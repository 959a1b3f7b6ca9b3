"""Columns of counts: a Poisson distribution with unknown rate.

    rate ~ Gamma(shape, rate of the Gamma)      cell | rate ~ Poisson(rate)

The `rate` of the Gamma is a pseudo-count of rows, and its `shape` one of events. The predictive is
negative binomial: Gelman et al. (2013), Bayesian Data Analysis, section 2.6.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import factorial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln, polygamma, psi

from bayesnb.families import quantiles
from bayesnb.families.base import ORDER, Array, Belief, Cells, Density, Parts, Rng, Stats
from bayesnb.families.family import Counts, Family, Hyperparameters, Seen, checked_prior, shaped
from bayesnb.families.record import (
    Linear,
    Parameter,
    Power,
    VariableNames,
    by_feature,
    checked,
    independent_variances,
    of_powers,
    raised,
    silent,
)
from bayesnb.families.removal import PREDICTIVE, SLACK, RowsLeftOut, staying
from bayesnb.families.sums import DistinctCells, nodes
from bayesnb.families.weight import Weight, grouped_sum
from bayesnb.formatting import number_range
from bayesnb.numerics import special
from bayesnb.numerics.special import (
    accurate_log1p,
    draw_log_gamma,
    log,
    log_gamma_ratio,
    log_rising_binomial,
    ratio,
    times,
)
from bayesnb.numerics.views import column

# at most 4 for columns of public tables that a Poisson predicts best; hundreds for prices
MOST_DISPERSED = 5.0


@dataclass(frozen=True, eq=False)
class PoissonStats(Stats):
    """Number of rows, sum of events, and sum of log x!, which is needed for the evidence."""

    constants: ClassVar[tuple[str, ...]] = ("log_factorial",)
    count: Array
    events: Array
    log_factorial: Array

    @classmethod
    def defined(cls, x: Array, weight: Weight) -> Self:
        x = np.ascontiguousarray(x, float)
        known = ~np.isnan(x)
        x = np.where(known, x, 0.0)
        count = grouped_sum(weight, known)
        events = grouped_sum(weight, x)
        x += 1
        return cls(count, events, grouped_sum(weight, gammaln(x, out=x)))

    @property
    def cells(self) -> Array:
        return self.count

    def without(
        self, part: Self, every: Any = False, rounding: float = SLACK
    ) -> tuple[Self, Array]:
        """Subtract `part`; also flag events that remain without rows."""
        rest, invalid = super().without(part, every, rounding)
        return rest, invalid | (rest.count == 0) & (rest.events > 0)

    def mle(self) -> "PoissonDensity":
        return PoissonDensity(np.where(self.count > 0, ratio(self.events, self.count), np.nan))


def sum_distinct(worth: Callable[[Array, Array, Array], Array], x: Cells, power: Power) -> Array:
    """Sum a function over features, computed once for each distinct cell, `(r, f) -> (r, c, n)`.

    `worth(feature, count, power)` returns `(n, c, k)`.
    """
    cells = DistinctCells.of_table(np.asarray(x[:]))
    each = by_feature(power, x.shape[1])[cells.feature]
    return cells.entries.added(worth(cells.feature, cells.value, each))


def score_distinct(record: Any, x: Cells, power: Power = 1.0) -> Array:
    """Sum scores over features, computed once for each distinct count: `-> (r, c)`."""

    def score(feature: Array, count: Array, power: Array) -> Array:
        return raised(power, record[:, feature].log_score(count))[None]

    return sum_distinct(score, x, power)[..., 0]


@dataclass(frozen=True, eq=False)
class PoissonDensity(Density):
    rate: Array

    theta: ClassVar[str] = "rate"
    kept: ClassVar[str] = "log_rate"
    defined_score = score_distinct

    @classmethod
    def of_log(cls, log_rate: Array) -> Self:
        """Build from logs, which are kept: small rates underflow."""
        density = cls(np.exp(log_rate))
        density.__dict__["log_rate"] = log_rate
        return density

    @cached_property
    def log_rate(self) -> Array:
        return log(self.rate)

    def log_density(self, x: Array) -> Array:
        x = np.asarray(x, float)
        return silent(np.isnan(x), times(x, self.log_rate) - self.rate - gammaln(x + 1))

    def log_likelihood(self, stats: PoissonStats, xp: Any = np) -> Any:
        events = stats.events * xp.log(xp.where(stats.events > 0, self.rate, 1.0))
        return events - stats.count * self.rate - stats.log_factorial

    def linear(self) -> Linear:
        return Linear(self.log_rate, -self.rate.sum(axis=-1))

    def cell(self, pm: Any) -> tuple[Any, dict[str, Any]]:
        return pm.Poisson, {"mu": self.rate}

    @property
    def proper(self) -> Array:
        return np.isfinite(self.rate)

    def sample(self, rng: Rng) -> Array:
        return np.random.default_rng(rng).poisson(self.rate).astype(float)


@dataclass(frozen=True, eq=False, repr=False)
class Gamma(Belief[PoissonStats, PoissonDensity]):
    """Gamma distribution over the rate of events: the conjugate prior of ``Poisson`` columns.

    Parameters
    ----------
    shape : float or array
        Pseudo-count of events.
    rate : float or array
        Pseudo-count of rows. The mean is shape / rate.

    See Also
    --------
    Poisson : Columns of counts.

    Notes
    -----
    The predictive is negative binomial, with ``shape`` successes of probability rate / (rate + 1).
    An update by one cell adds its count to the shape and 1 to the rate.

    References
    ----------
    Gelman, A. et al. (2013), Bayesian Data Analysis, section 2.6.

    Examples
    --------
    >>> from bayesnb import Gamma
    >>> Gamma([3, 1], 2).mean()
    array([1.5, 0.5])
    """

    symbols: ClassVar[dict[str, str]] = {"shape": "rate_shape", "rate": "rate_rate"}
    is_linear: ClassVar[bool] = True
    defined_score = score_distinct
    shape: Parameter
    rate: Parameter

    def __post_init__(self) -> None:
        super().__post_init__()
        checked("Gamma: shape", self.shape)
        checked("Gamma: rate", self.rate)

    def mean(self) -> Array:
        """Return the expected rate, shape / rate.

        Returns
        -------
        array
            Events per row.

        See Also
        --------
        mode : The most probable rate.

        Examples
        --------
        >>> from bayesnb import Gamma
        >>> float(Gamma(3, 2).mean())
        1.5
        """
        with np.errstate(divide="ignore", invalid="ignore"):  # an improper belief
            return self.shape / self.rate

    def mode(self) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):  # an improper belief
            return np.maximum(self.shape - 1, 0.0) / self.rate

    @property
    def proper(self) -> Array:
        return (self.shape > 0) & (self.rate > 0)

    def strengthened(self, times: Any) -> Self:
        return type(self)(times * self.shape, times * self.rate)

    def update(self, stats: PoissonStats) -> Self:
        return type(self)(self.shape + stats.events, self.rate + stats.count)

    def log_evidence(self, stats: PoissonStats, xp: Any = special) -> Array:
        scale = -self.shape * xp.log1p(stats.count / self.rate) - stats.events * xp.log(
            self.rate + stats.count
        )
        return xp.log_gamma_ratio(self.shape, stats.events) + scale - stats.log_factorial

    def log_predictive(self, x: Array) -> Array:
        x = np.asarray(x, float)
        rows = self.shape * np.log1p(1 / self.rate) + x * np.log1p(self.rate)
        return silent(np.isnan(x), log_rising_binomial(self.shape, x) - rows)

    def score_left_out(self, stats: PoissonStats, rows: RowsLeftOut) -> Array:
        return self.cells_left_out(stats, rows).sum(axis=1)

    def cells_left_out(self, stats: PoissonStats, rows: RowsLeftOut) -> Array:
        if rows.kind != PREDICTIVE:
            return self.estimate_left_out(stats, rows)
        # from prior and counts: their sum would keep no digit of a small prior
        x = np.asarray(rows.x[:], float)
        prior, seen = self[0], stats[0]
        count = staying(seen.count - rows.each, seen.count)
        events = staying(seen.events - rows.each * x, seen.events)
        rest = Gamma.raw(prior.shape + events, prior.rate + count)
        with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is left
            scores = np.where(rest.proper, rest.log_predictive(x), np.nan)
        return silent(np.isnan(x), scores)

    def log_moment(self, x: Array, s: Any) -> Array:
        x = np.asarray(x, float)
        with np.errstate(all="ignore"):
            events = log_gamma_ratio(self.shape, s * x)
            rows = self.shape * accurate_log1p(s / self.rate) + s * x * np.log(self.rate + s)
            value = events - rows - s * gammaln(x + 1)
            value = np.where((np.imag(s) != 0) | (self.rate + np.real(s) > 0), value, np.inf)
        return silent(np.isnan(x), value)

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        x = np.asarray(x, float)
        a = self.shape + tilt * x
        b = self.rate + tilt
        terms = [x * (psi(a) - np.log(b)) - a / b - gammaln(x + 1)]
        for n in range(2, order + 1):
            rows = (-1) ** n * (
                factorial(n - 1) * a / b**n - factorial(n - 2) * n * x / b ** (n - 1)
            )
            terms.append(x**n * polygamma(n - 1, a) + rows)
        return silent(np.isnan(x), np.stack(np.broadcast_arrays(*terms)))

    def score_cumulants(self, x: Cells, tilt: float = 0.0, power: Power = 1.0) -> Array:
        def cumulants(feature: Array, count: Array, power: Array) -> Array:
            return of_powers(self[:, feature].cumulants(count, ORDER, tilt * power), power)

        return np.moveaxis(sum_distinct(cumulants, x, power), -1, 0)

    def score_transform(self, x: Cells, s: Array, power: Power = 1.0) -> Array:
        def moments(feature: Array, count: Array, power: Array) -> Array:
            return self[:, feature].log_moment(count, nodes(s) * power)

        return sum_distinct(moments, x, power)

    def linear_variance(self, against: int | None = None) -> Linear:
        return independent_variances(
            special.trigamma(self.shape), (self.shape / self.rate**2).sum(axis=-1), against
        )

    def sample(self, rng: Rng, size: Any = None) -> PoissonDensity:
        rng = np.random.default_rng(rng)
        return PoissonDensity.of_log(draw_log_gamma(self.shape, rng, size) - np.log(self.rate))

    def log_density(self, theta: PoissonDensity) -> Parts:
        normalizer = self.shape * np.log(self.rate) - gammaln(self.shape)
        return {
            ("rate", None): normalizer + (self.shape - 1) * theta.log_rate - self.rate * theta.rate
        }

    def interval(self, prob: float) -> tuple[Array, Array]:
        low, high = (quantiles.gamma(p, self.shape, self.rate) for p in quantiles.tails(prob))
        return low, high

    def predictive(self) -> Any:
        from scipy.stats import nbinom

        return nbinom(self.shape, self.rate / (self.rate + 1))

    def estimate(self, kind: str) -> PoissonDensity:
        return PoissonDensity(self.mean() if kind == "mean" else self.mode())

    def variables(self, pm: Any, names: VariableNames) -> PoissonDensity:
        return PoissonDensity(pm.Gamma(**names("rate"), alpha=self.shape, beta=self.rate))


RATE = Hyperparameters(
    names=("shape", "mean"),
    weak=(1.0, 1.0),
    note="In Poisson columns l multiplies the shape and rate of the estimator's prior. By default "
    "it is l events at the pooled rate, and (l + events) / (l / pooled rate + rows) is both the "
    "posterior mean under Gamma(l, l / pooled rate) and the mode (MAP) under Gamma(1 + l, l / "
    "pooled rate).",
    extremes={
        ("shape", True): "the rates of the classes differ no more than by chance: the best prior "
        "is that they are equal",
        ("shape", False): "the rates of the classes differ by orders of magnitude: the best prior "
        "is flat",
        ("mean", True): "the more events the prior expects, the better",
        ("mean", False): "the fewer events the prior expects, the better",
    },
)


@dataclass(frozen=True, eq=False, repr=False)
class Poisson(Family[PoissonStats]):
    """Columns of counts: a Poisson distribution for each class and column.

    Parameters
    ----------
    prior : Gamma or None, default=None
        The prior of the rates. None: one pseudo-event at the rate of all classes together, counted
        in the first ``fit`` or ``partial_fit``.
    fractional : bool, default=False
        Whether to accept numbers that are not counts. Their power likelihood, rate**x exp(-rate),
        is not a distribution over x, so evidence and log density are not those of data.

    See Also
    --------
    PoissonNB : The preset with this family in all columns.
    Multinomial : Counts out of one total, such as the words of a text.

    Notes
    -----
    The posterior is a ``Gamma`` and the predictive negative binomial, both exact. Missing cells are
    left out.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, Poisson
    >>> calls = [[0], [1], [0], [5], [7]]
    >>> model = NaiveBayes(Poisson()).fit(calls, ["quiet", "quiet", "quiet", "busy", "busy"])
    >>> model.predict([[1], [4]]).tolist()
    ['quiet', 'busy']
    """

    prior: Gamma | None = None
    fractional: bool = False

    content: ClassVar[str] = "counts"
    picture = "mass"
    conjugate: ClassVar[type[Belief]] = Gamma
    hyperparameters: ClassVar[Hyperparameters | None] = RATE
    stats: ClassVar[type[Stats]] = PoissonStats

    def __post_init__(self) -> None:
        checked_prior("Poisson", self.prior, Gamma)

    @property
    def support(self) -> Counts:
        return Counts(self.fractional)

    def is_refuted(self, x: Any, codes: Array, weight: Array | None = None) -> bool:
        """Whether a column varies within classes far more than Poisson counts would, as prices
        do.
        """
        weight = np.ones(len(codes)) if weight is None else weight
        return any(
            dispersion(column(x, j), codes, weight) > MOST_DISPERSED for j in range(x.shape[1])
        )

    def belief(self, stats: PoissonStats) -> Gamma:
        prior = weak_prior(stats) if self.prior is None else self.prior
        return shaped("Poisson", prior, stats.count.shape)

    def written(self, drawn: Array) -> Array:
        return drawn.astype(np.int64)

    def describe(self, belief: Any) -> str:
        shape = number_range(belief.shape)
        events = f"{shape} event{'' if shape == '1' else 's'}"
        return f"as if {events} had been seen in {number_range(belief.rate)} rows of each class"

    def tuned(self, stats: PoissonStats, *values: Any) -> Self:
        """The shape, and the mean relative to each column's pooled rate."""
        shape, mean = values
        return replace(self, prior=Gamma(shape, shape / (mean * pooled_rate(stats))))

    def smoothed(self, stats: PoissonStats, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        prior = weak_prior(stats) if self.prior is None else self.prior
        return replace(
            self, prior=Gamma(smoothing * prior.shape + (kind == "map"), smoothing * prior.rate)
        )

    def seen(self, stats: PoissonStats) -> Seen:
        unit = self.smoothed(stats, 1.0, "mean").belief(stats)
        columns = np.arange(stats.events.shape[1])
        return Seen(stats.events, unit.shape, columns, np.zeros_like(columns))


def dispersion(x: Array, codes: Array, weight: Array) -> float:
    """Variance within classes relative to the mean: about 1 for Poisson counts.

    This is Pearson's chi-squared over its degrees of freedom: McCullagh and Nelder (1989), section
    6.2.3. Shapes: `(r,), (r,), (r,) -> ()`.
    """
    seen = np.isfinite(x) & (weight > 0)
    x = x[seen]
    codes = codes[seen]
    weight = weight[seen]
    rows = np.bincount(codes, weight)
    mean = ratio(np.bincount(codes, weight * x), rows)[codes]
    terms = weight * ratio((x - mean) ** 2, mean)
    free = rows.sum() - np.count_nonzero(rows)
    return float(terms.sum() / free) if free > 0 else 0.0


def pooled_rate(stats: PoissonStats) -> Array:
    """Events per row over all classes, `(f,)`; 1 for a column without events."""
    events = stats.events.sum(axis=0)
    return np.where(events > 0, ratio(events, stats.count.sum(axis=0)), 1.0)


def weak_prior(stats: PoissonStats) -> Gamma:
    """The prior with one pseudo-event, at the rate of all classes together."""
    return Gamma(1.0, 1 / pooled_rate(stats))
