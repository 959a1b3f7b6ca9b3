"""Yes-or-no features: a Bernoulli distribution for each class and feature.

    probability ~ Beta(a, b)      cell | probability ~ Bernoulli(probability)

`a` and `b` are how many rows of ones and zeros the belief is worth. Both sides are kept: log(1 - p) is never
taken from p, which has no digits left when p is nearly 1.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import iadd
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.special import betaln

from bayesnb import numerics
from bayesnb.families import quantiles
from bayesnb.families.base import ORDER, Array, Belief, Cells, Density, Parts, Rng, Stats
from bayesnb.families.capabilities import LevelUnit, LinearDensity, PseudoCounts, independent_variances
from bayesnb.families.categorical import ColumnDirichlets
from bayesnb.families.dirichlet import ALIKE, CONCENTRATION, log_share_cumulants
from bayesnb.families.family import Family, Hyperparameters, Seen, checked_prior, proportions, shaped
from bayesnb.families.record import (
    Linear,
    Parameter,
    Power,
    VariableNames,
    checked,
    of_powers,
    raised,
    silent,
)
from bayesnb.families.removal import Leaving, RemainingLevels
from bayesnb.families.sums import KernelTables, by_class_ranges, by_rows, by_tables, made_at, nodes
from bayesnb.families.support import RealNumbers, Support, ZeroOrOne
from bayesnb.families.weight import Weight, grouped_sum
from bayesnb.formatting import number_range
from bayesnb.numerics import special
from bayesnb.numerics.special import (
    dot_logs,
    draw_log_gamma,
    less,
    log,
    log_gamma_ratio,
    ratio,
    times,
    trigamma,
    trigamma_fall,
)
from bayesnb.numerics.threads import in_order, pieces
from bayesnb.numerics.views import EVERY, Dense, Flags, entries, lanes, small_numbers, sweeps_of

MOST_BYTES = 1 << 11  # groups of features times classes for which every byte's worth is kept


def as_flags(x: Cells) -> Flags:
    return x if isinstance(x, Flags) else Flags(x, None)


def kernel_threshold(x: Flags) -> float:
    """The threshold as kernels know it."""
    return np.nan if x.threshold is None else float(x.threshold)


def split(x: Cells) -> tuple[Cells, Cells | None]:
    """Ones, and missing cells (None if there are none), as arrays of 0 and 1; sparse stays sparse."""
    if not sparse.issparse(x):
        x = np.asarray(x, float)
        missing = np.isnan(x)
        return (np.where(missing, 0.0, x), missing.astype(float)) if missing.any() else (x, None)
    data = x.data.astype(float)
    missing = np.isnan(data)
    parts = np.where(missing, 0.0, data), missing.astype(float)
    ones, gone = (sparse.csr_array((part, x.indices, x.indptr), shape=x.shape) for part in parts)
    return ones, gone if missing.any() else None


def score_sides(x: Cells, log_one: Array, log_zero: Array) -> Array:
    """Sums over features of the scores of ones and zeros, `(r, f), (c, f), (c, f) -> (r, c)`."""
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


def sides_added(x: Cells, one: Array, zero: Array) -> Array:
    """Sums over features of the scores of ones and zeros, real or complex, two of `(n, c, f) -> (r, c, n)`."""
    ones, missing = split(x)
    n, classes, features = one.shape
    with np.errstate(invalid="ignore"):  # of moments that do not exist

        def times(cells: Cells, worth: Array) -> Array:
            flat = np.ascontiguousarray(worth.swapaxes(0, 1).reshape(-1, features).T)
            return (cells @ flat.view(float)).view(flat.dtype).reshape(-1, classes, n)

        total = times(ones, one - zero) + zero.sum(axis=-1).T
        return total if missing is None else total - times(missing, zero)


def _count_entries(x: Flags, weight: Weight, n_jobs: int | None) -> tuple[Array, Array]:
    """Ones and missing cells of CSR, `(c, f)` each; NaN where a cell is neither that nor zero.

    Every thread has classes of its own.
    """
    ones, missing = np.zeros((2, weight.classes, x.shape[1]))
    for rows in sweeps_of(x.numbers):
        labels = entries(x.numbers, rows), weight.counts[rows], kernel_threshold(x)
        add = partial(numerics.flag_kernels.tally_entries, *labels, ones, missing)
        if not all(by_class_ranges(add, weight.codes[rows], weight.classes, n_jobs)):
            ones[:] = np.nan
    return ones, missing


def _count_cells(x: Flags, weight: Weight, n_jobs: int | None) -> tuple[Array, Array]:
    """Ones and missing cells of an array, `(c, f)` each. Bytes are counted in bytes, where all rows count once."""
    features, threshold = x.shape[1], kernel_threshold(x)
    single = bool((weight.counts == 1).all())

    def count_rows(rows: slice) -> Array:
        part, codes, total = small_numbers(x.numbers, rows), weight.codes[rows], np.zeros((2, weight.classes, features))
        if single and part.dtype == np.uint8 and not threshold < 0:
            fine = numerics.flag_kernels.tally_bytes(part, codes, threshold, total[0])
        else:
            fine = numerics.flag_kernels.tally(part, codes, weight.counts[rows], threshold, *total)
        return total if fine else total * np.nan

    total = np.zeros((2, weight.classes, features))
    ones, missing = reduce(iadd, in_order(count_rows, pieces(*x.shape, 4 * weight.classes), n_jobs), total)
    return ones, missing


@dataclass(frozen=True, eq=False)
class BernoulliStats(Stats):
    """Ones and zeros seen, `(c, f)`."""

    ones: Array
    zeros: Array

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None) -> Self:
        flags = as_flags(x)
        count = _count_entries if sparse.issparse(flags.numbers) else _count_cells
        ones, cells = count(flags, weight, n_jobs)
        cells += ones  # that are no zeros: in place, as words times classes are many numbers
        return cls(ones, weight.rest(cells))

    @classmethod
    def defined(cls, x: Cells, weight: Weight) -> Self:
        ones, missing = split(x)
        seen = grouped_sum(weight, ones)
        return cls(seen, weight.rest(seen if missing is None else seen + grouped_sum(weight, missing)))

    @property
    def cells(self) -> Array:
        return self.ones + self.zeros

    cell_counts = cells

    def invalid_columns(self) -> Array:
        """The columns with a cell outside the support."""
        return np.flatnonzero(np.isnan(self.ones).any(axis=0))

    def about(self, name: str) -> Array:
        """Zeros are what ones leave of all."""
        return self.cells

    def mle(self) -> "BernoulliDensity":
        total = self.cells
        never = np.where(total > 0, 0.0, np.nan)
        return BernoulliDensity(ratio(self.ones, total) + never, ratio(self.zeros, total) + never)


class BernoulliScores:
    """Scores of a one and a zero in each class, `(c, f)` each, as tables that kernels read."""

    def __init__(self, one: Array, zero: Array) -> None:
        self.one, self.zero = one, zero

    @cached_property
    def of_entries(self) -> KernelTables | None:
        """Score of a one less that of a zero, and that of a zero; None where one of them is impossible."""
        if not (np.isfinite(self.one).all() and np.isfinite(self.zero).all()):
            return None
        return KernelTables(
            lambda classes: (lanes(self.one[classes] - self.zero[classes]), lanes(self.zero[classes])), self.one.shape
        )

    @cached_property
    def of_empty_row(self) -> Array:
        """Score of a row without ones, `(c,)`: a sum over all features, which takes longer than a row's ones."""
        return self.zero.sum(axis=1)

    @cached_property
    def of_cells(self) -> KernelTables:
        """Scores of every byte of features, of a one, and of a zero."""
        return KernelTables(
            lambda classes: tuple(map(lanes, _by_byte(self.one[classes], self.zero[classes]))), self.one.shape
        )

    def score(self, x: Cells, out: Array | None, n_jobs: int | None) -> Array:
        flags, fine, classes = as_flags(x), [], len(self.one)
        threshold, is_sparse = kernel_threshold(flags), sparse.issparse(flags.numbers)
        tables = self.of_entries if is_sparse else self.of_cells
        if tables is None:
            return by_rows(lambda rows: score_sides(flags[rows], self.one, self.zero), x.shape, classes, out, n_jobs)
        score_rows = numerics.flag_kernels.score_entries if is_sparse else numerics.flag_kernels.score

        def add(rows: slice, tables_of_classes: tuple[Array, ...], first: int, part: Array) -> None:
            cells = entries(flags.numbers, rows) if is_sparse else small_numbers(flags.numbers, rows)
            fine.append(score_rows(cells, threshold, *tables_of_classes, first, part))

        total = by_tables(add, tables, flags.numbers, classes, out, n_jobs)
        if is_sparse:
            total += self.of_empty_row
        if not all(fine):
            total[:] = np.nan  # a cell that is neither 0 nor 1
        return total


def sides_of(x: Cells, one: Array, zero: Array) -> Array:
    """The scores of a one or a zero for each cell, 0 for a missing one, `(r, f)`."""
    cells = np.asarray(Dense(x)[EVERY] if sparse.issparse(x) else x[EVERY], float)
    return silent(np.isnan(cells), np.where(cells == 1, one, zero))


class ScoredSides:
    """Densities and beliefs, which score a cell by its outcome, 0 or 1."""

    sides: tuple[Array, Array]  # scores of a one and of a zero

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        return made_at(self, power, self.worth).score(x, out, n_jobs)

    def worth(self, power: Power) -> BernoulliScores:
        """Return what scores rows whose features have exponents."""
        return BernoulliScores(*(raised(power, side) for side in self.sides))


def _by_byte(one: Array, zero: Array) -> tuple[Array, Array, Array]:
    """Scores of eight features together, for each byte that they can make, `(c, groups * 256)`; none if many."""
    classes, features = one.shape
    groups = -(-features // 8)
    if groups * classes > MOST_BYTES:
        return np.zeros((classes, 0)), one, zero
    worth = np.zeros((2, classes, groups, 8, 1))
    worth.reshape(2, classes, -1)[:, :, :features] = zero, one
    bit = (np.arange(256) >> np.arange(8)[:, None]) & 1
    return np.where(bit, worth[1], worth[0]).sum(axis=2).reshape(classes, -1), one, zero


@dataclass(frozen=True, eq=False)
class BernoulliDensity(ScoredSides, LinearDensity, Density):
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
        return silent(np.isnan(x), np.where(np.equal(x, 1), *self.logs))

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

    @property
    def sides(self) -> tuple[Array, Array]:  # type: ignore[override]
        return self.logs

    def linear(self) -> Linear:
        one, zero = self.logs
        return Linear(one - zero, zero.sum(axis=-1))


@dataclass(frozen=True, eq=False, repr=False)
class Beta(ScoredSides, PseudoCounts, Belief[BernoulliStats, BernoulliDensity]):
    """Beta distribution over the probability of a one: the conjugate prior of ``Bernoulli`` columns.

    Parameters
    ----------
    a, b : float or array
        How many ones, and how many zeros, the belief is worth. Both are at least 0; at 0 the belief is improper.

    See Also
    --------
    Bernoulli : Columns of zeros and ones.
    Dirichlet : The same for any number of levels.

    Notes
    -----
    The predictive probability of a one is a / (a + b). Ones and zeros in the data are added to a and b. Under
    Beta(1, 1), where every probability is a mode, ``mode`` is 1/2.

    Examples
    --------
    >>> from bayesnb import Beta
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
        """Return the expected probability of a one, a / (a + b).

        Returns
        -------
        array
            Probabilities, as ``a`` and ``b`` broadcast.

        See Also
        --------
        mode : The most probable probability of a one.

        Examples
        --------
        >>> from bayesnb import Beta
        >>> Beta(1, 3).mean()
        array(0.25)
        """
        return ratio(self.a, self.a + self.b)

    def mode(self) -> Array:
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
        side = np.where(np.equal(x, 1), self.a, self.b)
        return silent(np.isnan(x), less(log_gamma_ratio(side, s), log_gamma_ratio(self.a + self.b, s)))

    def log_predictive(self, x: Array) -> Array:
        return silent(np.isnan(x), log(ratio(np.where(np.equal(x, 1), self.a, self.b), self.a + self.b)))

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        side = np.where(np.equal(x, 1), self.a, self.b)
        return silent(np.isnan(x), log_share_cumulants(side + tilt, self.a + self.b + tilt, order))

    def score_left_out(self, stats: BernoulliStats, leaving: Leaving) -> Array:
        one, zero = self._sides_left_out(stats, leaving)
        if leaving.alike and not np.isnan(one).any():
            return BernoulliScores(one, zero).score(leaving.x, None, 1)[:, 0]
        return sides_of(leaving.x, one, zero).sum(axis=1)

    def cells_left_out(self, stats: BernoulliStats, leaving: Leaving) -> Array:
        return sides_of(leaving.x, *self._sides_left_out(stats, leaving))

    def _sides_left_out(self, stats: BernoulliStats, leaving: Leaving) -> tuple[Array, Array]:
        """Scores of a one and of a zero that leaves, `(1, f)` or `(r, f)`."""
        prior, counts = np.stack([self.a, self.b], axis=-1), np.stack([stats.ones, stats.zeros], axis=-1)
        remaining = RemainingLevels.of(prior, counts, leaving.kind, lambda sides: sides.sum(axis=-1, keepdims=True))
        weight = leaving.each if leaving.alike else leaving.weight[:, None, None]
        one, zero = np.moveaxis(remaining.worth(weight, leaving.kind), -1, 0)
        return one, zero

    @property
    def every_value(self) -> Array:
        return np.repeat([[0.0], [1.0]], self.a.shape[-1], axis=1)

    def by_value(self, worth: Array) -> Callable[..., Array]:
        return BernoulliScores(worth[1], worth[0]).score

    @property
    def sides(self) -> tuple[Array, Array]:  # type: ignore[override]
        return self.log_predictive(np.ones(1)), self.log_predictive(np.zeros(1))

    def score_cumulants(self, x: Cells, tilt: float = 0.0, power: Power = 1.0) -> Array:
        each: Any = tilt * power
        one, zero = (of_powers(self.cumulants(np.full(1, side), ORDER, each), power) for side in (1.0, 0.0))
        return np.moveaxis(sides_added(x[:], one, zero), -1, 0)

    def score_transform(self, x: Cells, s: Array, power: Power = 1.0) -> Array:
        one, zero = (self.log_moment(np.full(1, side), nodes(s) * power) for side in (1.0, 0.0))
        return sides_added(x[:], one, zero)

    def linear_variance(self, against: int | None = None) -> Linear:
        offset = trigamma_fall(self.b, self.a).sum(axis=-1)
        return independent_variances(trigamma(self.a) + trigamma(self.b), offset, against)

    def units(self, x: Cells) -> list[LevelUnit]:
        """Flags with an even prior and both values: of a constant flag, a table would know one level only."""
        flags = _numbers(x)
        both = (flags == 0).any(axis=0) & (flags == 1).any(axis=0)
        even = (np.abs(self.a - self.b) <= ALIKE * self.a).all(axis=0)
        codes = np.where(np.isnan(flags), -1, flags).astype(np.intp)
        return [
            LevelUnit((j,), codes[:, [j]], (2,), self.a[:, j] + self.b[:, j])
            for j in np.flatnonzero(both & even).tolist()
        ]

    def level_columns(self, x: Cells, columns: Any) -> tuple[Array, ColumnDirichlets]:
        flags = _numbers(x)[:, columns]
        sides = np.stack([self.b[:, columns], self.a[:, columns]], axis=-1)
        prior = ColumnDirichlets(sides.reshape(len(sides), -1), (2,) * len(columns))
        return np.where(np.isnan(flags), 2, flags).astype(np.intp), prior

    def sample(self, rng: Rng, size: Any = None) -> BernoulliDensity:
        rng = np.random.default_rng(rng)
        one, zero = draw_log_gamma(self.a, rng, size), draw_log_gamma(self.b, rng, size)
        total = np.logaddexp(one, zero)
        return BernoulliDensity.of_logs(one - total, zero - total)

    def log_density(self, theta: BernoulliDensity) -> Parts:
        one, zero = theta.logs
        return {("theta{}", None): times(self.a - 1, one) + times(self.b - 1, zero) - betaln(self.a, self.b)}

    def interval(self, prob: float) -> tuple[Array, Array]:
        low, high = (quantiles.beta(p, self.a, self.b) for p in quantiles.tails(prob))
        return low, high

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

    def variables(self, pm: Any, names: VariableNames) -> BernoulliDensity:
        probability = pm.Beta(**names("theta{}"), alpha=self.a, beta=self.b)
        return BernoulliDensity(probability, 1 - probability)


def _numbers(x: Cells) -> Array:
    cells = x[:]
    return np.asarray(cells.toarray() if sparse.issparse(cells) else cells, float)


@dataclass(frozen=True, eq=False, repr=False)
class Bernoulli(Family[BernoulliStats]):
    """Columns of zeros and ones, or booleans: a probability of a one for each class and column.

    Parameters
    ----------
    prior : Beta or float, default=1.0
        The belief before the data. A number l stands for ``Beta(l, l)``; arrays broadcast over classes and columns.
    threshold : float or None, default=None
        A number above it is a one, and any other a zero. None: cells must be 0, 1, booleans or missing.

    See Also
    --------
    BernoulliNB : The preset with this family in all columns.
    Categorical : Columns with any number of levels.

    Notes
    -----
    Everything about these columns is exact: the posterior is a ``Beta``. A missing cell is left out.

    Examples
    --------
    >>> from bayesnb import Bernoulli, NaiveBayes
    >>> model = NaiveBayes(Bernoulli()).fit([[1, 0], [1, 1], [0, 1]], ["spam", "spam", "ham"])
    >>> model.posterior_[0].mean().round(2).tolist()  # classes: ham, spam
    [0.33, 0.75]
    """

    prior: Beta | float = 1.0
    threshold: float | None = None

    content: ClassVar[str] = "yes or no"
    picture = "levels"
    outcomes: ClassVar[tuple[str, ...]] = ("no", "yes")
    conjugate: ClassVar[type[Belief]] = Beta
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
        return f"as if {number_range(belief.a)} yes and {number_range(belief.b)} no had been seen in each class"

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
