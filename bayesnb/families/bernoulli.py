"""Yes-or-no features: a Bernoulli distribution for each class and feature.

    probability ~ Beta(a, b)      cell | probability ~ Bernoulli(probability)

`a` and `b` are how many rows of ones and zeros the belief is worth. Both sides are kept: log(1 - p)
is never taken from p, which has no digits left when p is nearly 1.
"""

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import floor, isinf
from operator import add
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.special import betaln

from bayesnb import numerics
from bayesnb.families import quantiles
from bayesnb.families.base import ORDER, Array, Belief, Cells, Density, Parts, Rng, Stats
from bayesnb.families.categorical import ColumnDirichlets
from bayesnb.families.dirichlet import CONCENTRATION, log_level_moment, log_share_cumulants
from bayesnb.families.family import (
    Family,
    Hyperparameters,
    Seen,
    checked_prior,
    proportions,
    shaped,
)
from bayesnb.families.levels import add_entries, tables_of
from bayesnb.families.linear import independent_variances
from bayesnb.families.multinomial import MultinomialStats
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
from bayesnb.families.removal import RowsLeftOut, log_shares_left
from bayesnb.families.sums import KernelTables, made_at, nodes
from bayesnb.families.support import RealNumbers, Support, ZeroOrOne
from bayesnb.families.units import LevelUnit
from bayesnb.families.weight import Weight, grouped_sum
from bayesnb.formatting import number_range
from bayesnb.numerics import special
from bayesnb.numerics.special import (
    draw_log_gamma,
    log,
    ratio,
    times,
    trigamma,
    trigamma_fall,
)
from bayesnb.numerics.threads import in_order, pieces
from bayesnb.numerics.views import EVERY, Flags, pieces_of

BYTE = 256  # combinations of eight flags
# groups of eight features times classes for which there is a table of all bytes
MOST_BYTES = 1 << 11
GATHER = np.uint64(0x0102040810204080)
ONE_AND_ZERO = np.array([[1.0], [0.0]])
BITS = np.arange(BYTE)[:, None] >> np.arange(8) & 1  # of each byte


class FlagRows(NamedTuple):
    """Ones and missing cells of rows, `missing` being None where there are none.

    Of an array they are booleans, and of a sparse table CSR of 0.0 and 1.0.
    """

    ones: Any
    missing: Any
    is_valid: bool  # without a threshold a cell is 0, 1 or missing, and with one it is not infinite

    @property
    def can_be_packed(self) -> bool:
        return isinstance(self.ones, np.ndarray) and self.missing is None


def read_flags(x: Cells, rows: slice = EVERY) -> FlagRows:
    """Read rows of flags, or of an array of them."""
    numbers, threshold = (x.numbers, x.threshold) if isinstance(x, Flags) else (x, None)
    part = slice_rows(numbers, rows)
    cells = part.data if sparse.issparse(part) else np.asarray(part)
    is_number = cells.dtype.kind == "f"
    if threshold is None:
        ones = cells == 1
        known = np.count_nonzero(ones) + np.count_nonzero(cells == 0)
    else:  # small integers stay what they are
        exact = is_number or isinf(threshold)
        ones = cells > (np.float64(threshold) if exact else floor(threshold))
        known = np.count_nonzero(np.isfinite(cells))
    missing = np.isnan(cells) if known < cells.size and is_number else None
    is_valid = known + (0 if missing is None else np.count_nonzero(missing)) == cells.size
    if missing is not None and not missing.any():
        missing = None
    if not sparse.issparse(part):
        return FlagRows(ones, missing, is_valid)

    def lay_out(flags: Array) -> sparse.csr_array:
        return sparse.csr_array((flags.astype(float), part.indices, part.indptr), part.shape)

    return FlagRows(lay_out(ones), None if missing is None else lay_out(missing), is_valid)


def slice_rows(x: Any, rows: slice) -> Any:
    """Return some rows of an array or of CSR, without the copy that SciPy would make."""
    if not sparse.issparse(x):
        return x[rows]
    start, stop, _ = rows.indices(x.shape[0])
    starts = x.indptr[start : stop + 1]
    span = slice(starts[0], starts[-1])
    parts = x.data[span], x.indices[span], starts - starts[0]
    return sparse.csr_array(parts, (stop - start, x.shape[1]))


def pack(flags: Array) -> Array:
    """Code eight flags as one byte, `(r, f) -> (r, groups)`: as columns of levels they are looked
    up at once.
    """
    rows, features = flags.shape
    padded = np.zeros((rows, 8 * -(-features // 8)), bool)
    padded[:, :features] = flags
    # The product gathers the lowest bits of eight bytes in its highest byte: twice as fast as
    # np.packbits.
    return (padded.view("<u8") * GATHER >> np.uint64(56)).astype(np.int32)


def bounds_of_bytes(features: int, lanes: int) -> Array | None:
    """Where the levels of each group of eight features start, and the last end; None for many."""
    groups = -(-features // 8)
    return BYTE * np.arange(groups + 1) if groups * lanes <= MOST_BYTES else None


class FlagSums:
    """Sums over features of numbers for ones and for zeros, real or complex, 2 of `(k, f)`.

    Numbers may be minus infinity: a row with such a cell is impossible.
    """

    def __init__(self, one: Array, zero: Array) -> None:
        never = np.stack([one.real, zero.real]) == -np.inf
        self.never = FlagSums(*never.astype(float)) if never.any() else None
        self.sides = one, zero
        one, zero = np.where(never, 0.0, self.sides)
        self.zero, self.base = zero.T, zero.sum(axis=1)
        self.gain = np.ascontiguousarray((one - zero).T)  # what a one adds to a row of zeros
        self.bounds = bounds_of_bytes(one.shape[1], len(one))

    @cached_property
    def of_bytes(self) -> KernelTables:
        """Sums for every byte of eight features, `(groups * 256, lanes)`."""
        k, features = self.sides[0].shape
        padded = np.zeros((2, k, 8 * -(-features // 8)))
        padded[:, :, :features] = self.sides
        one, zero = padded.reshape(2, k, -1, 1, 8)
        return tables_of(np.where(BITS, one, zero).sum(axis=-1).reshape(k, -1))

    def add_up(self, flags: FlagRows) -> Array:
        """`(r, f) -> (r, k)`."""
        total = flags.ones @ self.gain + self.base
        if flags.missing is not None:
            total -= flags.missing @ self.zero
        if self.never is not None:
            total[self.never.add_up(flags) > 0.5] = -np.inf
        return total

    def score(self, x: Cells, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        """Add up blocks of rows; NaN where a cell is not valid."""
        numbers = x.numbers if isinstance(x, Flags) else x
        out = np.zeros((x.shape[0], len(self.base))) if out is None else out

        def add_rows(rows: slice) -> None:
            flags = read_flags(x, rows)
            if not flags.is_valid:
                out[rows] = np.nan
            elif self.bounds is not None and flags.can_be_packed:
                add_entries(self.bounds, pack(flags.ones), self.of_bytes, out[rows])
            else:
                out[rows] += self.add_up(flags)

        list(in_order(add_rows, pieces_of(numbers), n_jobs))
        return out


def sum_sides(x: Cells, one: Array, zero: Array) -> Array:
    """Sum cumulants or moments of ones and zeros, real or complex.

    Shapes: `(r, f), 2 of (n, c, f) -> (r, c, n)`.
    """
    n, classes, features = one.shape
    sides = (each.swapaxes(0, 1).reshape(-1, features) for each in (one, zero))
    with np.errstate(invalid="ignore"):  # of moments that do not exist
        return FlagSums(*sides).add_up(read_flags(x)).reshape(-1, classes, n)


@dataclass(frozen=True, eq=False)
class BernoulliStats(Stats):
    """Ones and zeros seen, `(c, f)`."""

    ones: Array
    zeros: Array

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None) -> Self:
        (rows, features), cells = x.shape, x.numbers if isinstance(x, Flags) else x
        is_sparse = sparse.issparse(cells)
        stored = cells.nnz // max(rows, 1) + 1 if is_sparse else features

        def count_rows(rows: slice) -> tuple[Array, Any]:
            """Ones and missing cells of each class, `(c, f)`; NaN where a cell is not valid."""
            part = Weight(weight.codes[rows], weight.counts[rows], weight.classes)
            flags = read_flags(x, rows)
            ones = sum_by_class(flags.ones, part, n_jobs)
            missing = 0.0 if flags.missing is None else sum_by_class(flags.missing, part, n_jobs)
            return ones if flags.is_valid else ones * np.nan, missing

        # sums are small beside the rows; of sparse ones threads share the classes, as of words
        parts = pieces(rows, stored, 4 * weight.classes * features // stored)
        counts = zip(*in_order(count_rows, parts, 1 if is_sparse else n_jobs), strict=True)
        ones, missing = (reduce(add, each) for each in counts)
        return cls(ones, weight.rest(ones + missing))

    @property
    def cells(self) -> Array:
        return self.ones + self.zeros

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


def sum_by_class(flags: Any, weight: Weight, n_jobs: int | None) -> Array:
    """Weighted sums of the rows of each class, `(r, f) -> (c, f)`."""
    if sparse.issparse(flags):
        return MultinomialStats.counted(flags, weight, n_jobs).counts[:, 0]
    bounds = bounds_of_bytes(flags.shape[1], weight.classes)
    if bounds is None:
        return grouped_sum(weight, flags.astype(float))
    counts = np.zeros((bounds[-1], weight.classes))
    numerics.level_kernels.tally(pack(flags), bounds, weight.codes, weight.counts, counts)
    by_bit = BITS.T @ counts.reshape(-1, BYTE, weight.classes)
    return by_bit.reshape(-1, weight.classes)[: flags.shape[1]].T


@dataclass(frozen=True, eq=False)
class BernoulliDensity(Density):
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

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        return made_at(self, power, self._sums).score(x, out, n_jobs)

    def _sums(self, power: Any) -> FlagSums:
        return FlagSums(*(raised(power, side) for side in self.logs))

    def linear(self) -> Linear:
        one, zero = self.logs
        return Linear(one - zero, zero.sum(axis=-1))


@dataclass(frozen=True, eq=False, repr=False)
class Beta(Belief[BernoulliStats, BernoulliDensity]):
    """Beta distribution over the probability of a one: the conjugate prior of ``Bernoulli``.

    Parameters
    ----------
    a, b : float or array
        How many ones, and how many zeros, the belief is worth. Both are at least 0; at 0 the belief
        is improper.

    See Also
    --------
    Bernoulli : Columns of zeros and ones.
    Dirichlet : The same for any number of levels.

    Notes
    -----
    The predictive probability of a one is a / (a + b). Ones and zeros in the data are
    added to a and b. Under Beta(1, 1), where every probability is a mode, ``mode`` is 1/2.

    Examples
    --------
    >>> from bayesnb import Beta
    >>> Beta(1, 3).mean()
    array(0.25)
    """

    symbols: ClassVar[dict[str, str]] = {"a": "theta{}_a", "b": "theta{}_b"}
    is_linear: ClassVar[bool] = True
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
        up = np.maximum(self.a - 1, 0.0)
        down = np.maximum(self.b - 1, 0.0)
        return np.where(up + down > 0, ratio(up, up + down), 0.5)

    @property
    def proper(self) -> Array:
        return self.a + self.b > 0

    @property
    def strictly_proper(self) -> Array:
        return (self.a > 0) & (self.b > 0)

    def strengthened(self, times: Any) -> Self:
        return type(self)(times * self.a, times * self.b)

    def update(self, stats: BernoulliStats) -> Self:
        return type(self)(self.a + stats.ones, self.b + stats.zeros)

    def log_evidence(self, stats: BernoulliStats, xp: Any = special) -> Array:
        each = xp.log_gamma_ratio(self.a, stats.ones) + xp.log_gamma_ratio(self.b, stats.zeros)
        return each - xp.log_gamma_ratio(self.a + self.b, stats.ones + stats.zeros)

    def log_moment(self, x: Array, s: Any) -> Array:
        side = np.where(np.equal(x, 1), self.a, self.b)
        return log_level_moment(side, self.a + self.b, np.isnan(x), s)

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        side = np.where(np.equal(x, 1), self.a, self.b)
        return silent(np.isnan(x), log_share_cumulants(side + tilt, self.a + self.b + tilt, order))

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        return made_at(self, power, self._sums).score(x, out, n_jobs)

    def _sums(self, power: Any) -> FlagSums:
        """Scores of ones and zeros, times exponents of the features."""
        return FlagSums(*(raised(power, self.log_predictive(side)) for side in ONE_AND_ZERO))

    def score_cumulants(self, x: Cells, tilt: float = 0.0, power: Power = 1.0) -> Array:
        each = (self.cumulants(side, ORDER, tilt * power) for side in ONE_AND_ZERO)
        sides = (of_powers(cumulants, power) for cumulants in each)
        return np.moveaxis(sum_sides(x, *sides), -1, 0)

    def score_transform(self, x: Cells, s: Array, power: Power = 1.0) -> Array:
        return sum_sides(x, *(self.log_moment(side, nodes(s) * power) for side in ONE_AND_ZERO))

    def score_left_out(self, stats: BernoulliStats, rows: RowsLeftOut) -> Array:
        one, zero = self._sides_left_out(stats, rows)
        # by products of matrices, as a sparse table's zeros are many
        if rows.alike and not np.isnan(one).any():
            return FlagSums(one, zero).score(rows.x)[:, 0]
        return self.cells_left_out(stats, rows).sum(axis=1)

    def cells_left_out(self, stats: BernoulliStats, rows: RowsLeftOut) -> Array:
        cells, (one, zero) = _numbers(rows.x), self._sides_left_out(stats, rows)
        return silent(np.isnan(cells), np.where(cells == 1, one, zero))

    def _sides_left_out(self, stats: BernoulliStats, rows: RowsLeftOut) -> Array:
        """Scores of a one and of a zero that leaves, `(2, 1, f)` or `(2, r, f)`."""
        prior = np.concatenate([self.a, self.b])
        counts = np.concatenate([stats.ones, stats.zeros])
        sides = np.arange(2)[:, None]
        return log_shares_left(
            prior, counts, lambda each: each.sum(axis=0), rows.each, rows.kind, sides
        )

    def linear_variance(self, against: int | None = None) -> Linear:
        offset = trigamma_fall(self.b, self.a).sum(axis=-1)
        return independent_variances(trigamma(self.a) + trigamma(self.b), offset, against)

    @property
    def sides(self) -> ColumnDirichlets:
        """The same belief about columns of the two levels 0 and 1."""
        sides = np.stack([self.b, self.a], axis=-1)
        return ColumnDirichlets(sides.reshape(len(sides), -1), (2,) * sides.shape[1])

    def units(self, x: Cells) -> list[LevelUnit]:
        """Flags with an even prior and both values: of a constant flag, a table would know one
        level only.
        """
        flags = _numbers(x)
        both = (flags == 0).any(axis=0) & (flags == 1).any(axis=0)
        return [unit for unit in self.sides.units(flags) if both[unit.places[0]]]

    def level_columns(self, x: Cells, columns: Any) -> tuple[Array, ColumnDirichlets]:
        return self.sides.level_columns(_numbers(x), columns)

    def sample(self, rng: Rng, size: Any = None) -> BernoulliDensity:
        rng = np.random.default_rng(rng)
        one = draw_log_gamma(self.a, rng, size)
        zero = draw_log_gamma(self.b, rng, size)
        total = np.logaddexp(one, zero)
        return BernoulliDensity.of_logs(one - total, zero - total)

    def log_density(self, theta: BernoulliDensity) -> Parts:
        one, zero = theta.logs
        return {
            ("theta{}", None): times(self.a - 1, one)
            + times(self.b - 1, zero)
            - betaln(self.a, self.b)
        }

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
        The belief before the data. A number l stands for ``Beta(l, l)``; arrays broadcast over
        classes and columns.
    threshold : float or None, default=None
        A number above it is a one, and any other a zero. None: cells must be 0, 1, booleans or
        missing.

    See Also
    --------
    BernoulliNB : The preset with this family in all columns.
    Categorical : Columns with any number of levels.

    Notes
    -----
    Everything about these columns is exact: the posterior is a ``Beta``. A missing cell
    is left out.

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
                f"Bernoulli: a threshold of {self.threshold} makes ones of a sparse table's empty "
                "cells; "
                "give a dense table."
            )
        return Flags(x, self.threshold)

    def written(self, drawn: Array) -> Array:
        """Cells above the threshold for ones, and at most at it for zeros."""
        floor = 0 if self.threshold is None else int(np.floor(self.threshold))
        zero = min(floor, 0)
        one = max(floor + 1, 1)
        return drawn > 0 if (zero, one) == (0, 1) else np.where(drawn > 0, one, zero)

    def describe(self, belief: Any) -> str:
        yes = number_range(belief.a)
        no = number_range(belief.b)
        return f"as if {yes} yes and {no} no had been seen in each class"

    def tuned(self, stats: BernoulliStats, *values: Any) -> Self:
        return self.smoothed(stats, values[0], "mean")

    def smoothed(
        self, stats: BernoulliStats, smoothing: Any, kind: str, scale: float = 1.0
    ) -> Self:
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
