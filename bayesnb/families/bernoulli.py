"""Yes-or-no features: a Bernoulli distribution for each class and feature.

    probability ~ Beta(a, b)      cell | probability ~ Bernoulli(probability)

`a` and `b` are pseudo-counts of ones and zeros. The probabilities of both are stored: log(1 - p) is
never computed from p, which has no digits left when p is nearly 1.
"""

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.special import betaln

from bayesnb.families import quantiles
from bayesnb.families.base import ORDER, Array, Belief, Cells, Density, Parts, Rng, Stats
from bayesnb.families.categorical import CategoricalStats, ColumnDirichlets
from bayesnb.families.dirichlet import (
    CONCENTRATION,
    Dirichlet,
)
from bayesnb.families.family import (
    Family,
    Hyperparameters,
    RealNumbers,
    Seen,
    Support,
    ZeroOrOne,
    checked_prior,
    proportions,
    shaped,
)
from bayesnb.families.levels import add_entries, tables_of
from bayesnb.families.multinomial import MultinomialStats
from bayesnb.families.record import (
    LevelUnit,
    Linear,
    Parameter,
    Power,
    VariableNames,
    checked,
    independent_variances,
    of_powers,
    raised,
    silent,
)
from bayesnb.families.removal import RowsLeftOut
from bayesnb.families.sums import KernelTables, by_rows, made_at, nodes
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
from bayesnb.numerics.threads import in_order
from bayesnb.numerics.views import EVERY, Flags, pieces_of, rows_of

# groups of eight features, times classes, up to which sums are tabulated for every byte
MOST_BYTES = 1 << 11
BITS = np.arange(256)[:, None] >> np.arange(8) & 1  # the bits of every byte


def read_flags(x: Cells, rows: slice = EVERY) -> tuple[Any, Any]:
    """Ones of rows, and which cells are missing (None if none); arrays, or CSR of the stored cells.

    A cell that is neither 0, 1 nor missing becomes NaN in the ones.
    """
    part = rows_of(x, rows)
    cells = part.data if sparse.issparse(part) else np.asarray(part)
    if cells.dtype == bool:
        return part, None
    ones = cells == 1
    if np.count_nonzero(ones) + np.count_nonzero(cells == 0) == cells.size:
        return part, None
    missing = np.isnan(cells)
    ones = np.where(ones | missing | (cells == 0), ones, np.nan)
    if not sparse.issparse(part):
        return ones, missing
    place = part.indices, part.indptr
    return tuple(sparse.csr_array((each, *place), part.shape) for each in (ones, missing))


def end_to_end(zero: Array, one: Array) -> Array:
    """Interleave numbers for zeros and ones, as for columns of two levels: `(k, f) -> (k, 2 f)`."""
    return np.stack([zero, one], axis=-1).reshape(len(zero), -1)


class FlagSums:
    """Sums over features of a number for each zero and each one, real or complex, `(k, 2 f)`.

    Minus infinity makes a row with that cell impossible.
    """

    def __init__(self, table: Array) -> None:
        self.levels = table.reshape(len(table), -1, 2)
        never = table.real == -np.inf
        self.never = FlagSums(never.astype(float)) if never.any() else None
        zero, one = np.moveaxis(np.where(never, 0.0, table).reshape(self.levels.shape), -1, 0)
        self.zero, self.base = zero.T, zero.sum(axis=1)
        self.gain = np.ascontiguousarray((one - zero).T)  # what a one adds to a row of zeros

    @cached_property
    def of_bytes(self) -> tuple[Array, KernelTables] | None:
        """Sums for each byte of eight features, as a column of 256 levels; None if too many."""
        k, features, _ = self.levels.shape
        groups = -(-features // 8)
        if k * groups > MOST_BYTES:
            return None
        padded = np.zeros((k, 8 * groups, 2))
        padded[:, :features] = self.levels
        zero, one = np.moveaxis(padded.reshape(k, groups, 1, 8, 2), -1, 0)
        sums = np.where(BITS, one, zero).sum(axis=-1)
        return len(BITS) * np.arange(groups + 1), tables_of(sums.reshape(k, -1))

    def add_up(self, ones: Any, missing: Any) -> Array:
        """The sums of rows, `(r, f) -> (r, k)`, by a matrix product."""
        total = ones @ self.gain + self.base
        if missing is not None:
            total -= missing @ self.zero
        if self.never is not None:
            total[self.never.add_up(ones, missing) > 0.5] = -np.inf
        return total

    def score(self, ones: Any, missing: Any) -> Array:
        """Real sums of rows, by looking up bytes where no cell is missing."""
        if missing is not None or sparse.issparse(ones) or self.of_bytes is None:
            return self.add_up(ones, missing)
        bounds, tables = self.of_bytes
        bytes_of_rows = np.packbits(ones != 0, axis=1, bitorder="little").astype(np.int32)
        return add_entries(bounds, bytes_of_rows, tables, np.zeros((len(ones), len(self.base))))


def sum_flags(x: Cells, tables: Array) -> Array:
    """Sum cumulants or moments of zeros and ones, `(r, f), (n, c, 2 f) -> (r, c, n)`."""
    n, classes, levels = tables.shape
    with np.errstate(invalid="ignore"):  # moments that do not exist
        sums = FlagSums(tables.swapaxes(0, 1).reshape(-1, levels))
        return sums.add_up(*read_flags(x)).reshape(-1, classes, n)


def score_flags(record: Any, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
    """Sum the log density, or log predictive, of flags, times exponents of the features."""

    def make_sums(power: Any) -> FlagSums:
        return FlagSums(end_to_end(*(raised(power, side) for side in record.log_sides)))

    sums = made_at(record, power, make_sums)
    return by_rows(lambda rows: sums.score(*read_flags(x, rows)), x, len(record), out, n_jobs)


@dataclass(frozen=True, eq=False)
class BernoulliStats(Stats):
    """Ones and zeros seen, `(c, f)`."""

    ones: Array
    zeros: Array

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None) -> Self:
        def count_rows(rows: slice) -> tuple[Array, Any]:
            """Ones and missing cells of each class, `(c, f)`; NaN where a cell is not valid."""
            part = Weight(weight.codes[rows], weight.counts[rows], weight.classes)
            ones, missing = read_flags(x, rows)
            return sum_by_class(part, ones), 0.0 if missing is None else sum_by_class(part, missing)

        parts = pieces_of(x, 4 * weight.classes * x.shape[1])
        counts = zip(*in_order(count_rows, parts, n_jobs), strict=True)
        ones, missing = (reduce(add, each) for each in counts)
        return cls(ones, weight.rest(ones + missing))

    @property
    def cells(self) -> Array:
        return self.ones + self.zeros

    def invalid_columns(self) -> Array:
        """The columns with a cell outside the support."""
        return np.flatnonzero(np.isnan(self.ones).any(axis=0))

    @property
    def sides(self) -> CategoricalStats:
        """These counts as those of columns with the levels 0 and 1."""
        return CategoricalStats(end_to_end(self.zeros, self.ones), (2,) * self.ones.shape[1])

    def about(self, name: str) -> Array:
        """Zeros are counted as all cells less the ones, and carry the rounding of that sum."""
        return self.cells

    def mle(self) -> "BernoulliDensity":
        total = self.cells
        never = np.where(total > 0, 0.0, np.nan)
        return BernoulliDensity(ratio(self.ones, total) + never, ratio(self.zeros, total) + never)


def sum_by_class(weight: Weight, flags: Any) -> Array:
    """Weighted sums of the rows of each class, `(r, f) -> (c, f)`."""
    if sparse.issparse(flags):
        return MultinomialStats.counted(flags, weight, 1).counts[:, 0]
    return grouped_sum(weight, flags)


@dataclass(frozen=True, eq=False)
class BernoulliDensity(Density):
    probability: Array
    complement: Array

    theta: ClassVar[str] = "probability"
    kept: ClassVar[str] = "log_sides"
    add_scores = score_flags

    @classmethod
    def of_logs(cls, zero: Array, one: Array) -> Self:
        """Build from logs, which are kept: small probabilities underflow."""
        density = cls(np.exp(one), np.exp(zero))
        density.__dict__["log_sides"] = zero, one
        return density

    @cached_property
    def log_sides(self) -> tuple[Array, Array]:
        """Log probabilities of a zero and of a one."""
        return log(self.complement), log(self.probability)

    def parts(self) -> Parts:
        return {("theta{}", None): self.probability}

    def log_density(self, x: Array) -> Array:
        return silent(np.isnan(x), np.where(np.equal(x, 0), *self.log_sides))

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

    def linear(self) -> Linear:
        zero, one = self.log_sides
        return Linear(one - zero, zero.sum(axis=-1))


@dataclass(frozen=True, eq=False, repr=False)
class Beta(Belief[BernoulliStats, BernoulliDensity]):
    """Beta distribution over the probability of a one: the conjugate prior of ``Bernoulli``.

    Parameters
    ----------
    a, b : float or array
        Pseudo-counts of ones and of zeros. Both are at least 0; at 0 the belief is improper.

    See Also
    --------
    Bernoulli : Columns of zeros and ones.
    Dirichlet : The generalisation to any number of levels.

    Notes
    -----
    The predictive probability of a one is a / (a + b). An update adds the ones to a and the zeros
    to b. Under Beta(1, 1), where every probability is a mode, ``mode`` is 1/2.

    Examples
    --------
    >>> from bayesnb import Beta
    >>> Beta(1, 3).mean()
    array(0.25)
    """

    symbols: ClassVar[dict[str, str]] = {"a": "theta{}_a", "b": "theta{}_b"}
    is_linear: ClassVar[bool] = True
    add_scores = score_flags
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
        return self.pair.mode()[..., 1]

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

    @property
    def pair(self) -> Dirichlet:
        """This belief as a Dirichlet over the levels 0 and 1, on the last axis."""
        return Dirichlet(np.stack(np.broadcast_arrays(self.b, self.a), axis=-1))

    def log_moment(self, x: Array, s: Any) -> Array:
        return self.pair.log_moment(x, s)

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        return self.pair.cumulants(x, order, tilt)

    @property
    def log_sides(self) -> tuple[Array, Array]:
        """Log predictives of a zero and of a one."""
        total = self.a + self.b
        return log(ratio(self.b, total)), log(ratio(self.a, total))

    @cached_property
    def sides(self) -> ColumnDirichlets:
        """This belief as one about columns with the levels 0 and 1."""
        return ColumnDirichlets(end_to_end(self.b, self.a), (2,) * self.a.shape[1])

    def score_cumulants(self, x: Cells, tilt: float = 0.0, power: Power = 1.0) -> Array:
        tables = self.sides.level_cumulants(ORDER, tilt * power)
        tables = of_powers(tables, self.sides.levels.per_level(power))
        return np.moveaxis(sum_flags(x, tables), -1, 0)

    def score_transform(self, x: Cells, s: Array, power: Power = 1.0) -> Array:
        return sum_flags(x, self.sides.level_log_moment(nodes(s) * power))

    def score_left_out(self, stats: BernoulliStats, rows: RowsLeftOut) -> Array:
        if rows.alike:
            table = self.sides.levels_left_out(stats.sides, rows.each, rows.kind)
            if not np.isnan(table).any():
                return FlagSums(table[None]).add_up(*read_flags(rows.x))[:, 0]
        return self.cells_left_out(stats, rows).sum(axis=1)

    def cells_left_out(self, stats: BernoulliStats, rows: RowsLeftOut) -> Array:
        cells = replace(rows, x=self.broadcast(rows.x)[:, 0])
        return self.sides.cells_left_out(stats.sides, cells)

    def linear_variance(self, against: int | None = None) -> Linear:
        offset = trigamma_fall(self.b, self.a).sum(axis=-1)
        return independent_variances(trigamma(self.a) + trigamma(self.b), offset, against)

    def units(self, x: Cells) -> list[LevelUnit]:
        """Flags with a symmetric prior that take both values: a table would know only one level of
        a constant flag.
        """
        flags = self.broadcast(x)[:, 0]
        both = (flags == 0).any(axis=0) & (flags == 1).any(axis=0)
        return [unit for unit in self.sides.units(flags) if both[unit.places[0]]]

    def level_columns(self, x: Cells, columns: Any) -> tuple[Array, ColumnDirichlets]:
        return self.sides.level_columns(self.broadcast(x)[:, 0], columns)

    def sample(self, rng: Rng, size: Any = None) -> BernoulliDensity:
        rng = np.random.default_rng(rng)
        one = draw_log_gamma(self.a, rng, size)
        zero = draw_log_gamma(self.b, rng, size)
        total = np.logaddexp(one, zero)
        return BernoulliDensity.of_logs(zero - total, one - total)

    def log_density(self, theta: BernoulliDensity) -> Parts:
        zero, one = theta.log_sides
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
        return self.pair.level_intervals(prob)

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


@dataclass(frozen=True, eq=False, repr=False)
class Bernoulli(Family[BernoulliStats]):
    """Columns of zeros and ones, or booleans: a probability of a one for each class and column.

    Parameters
    ----------
    prior : Beta or float, default=1.0
        The prior. A number l means ``Beta(l, l)``; arrays broadcast over classes and columns.
    threshold : float or None, default=None
        Numbers above it are ones, all others zeros. None: cells must be 0, 1, booleans or missing.

    See Also
    --------
    BernoulliNB : The preset with this family in all columns.
    Categorical : Columns with any number of levels.

    Notes
    -----
    The posterior is exact, a ``Beta``. Missing cells are left out.

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

    def read(self, x: Any) -> Cells:
        if sparse.issparse(x) and self.threshold is not None and self.threshold < 0:
            raise ValueError(
                f"Bernoulli: with a threshold of {self.threshold} the cells that a sparse table "
                "does not store are ones; give a dense table."
            )
        return x if self.threshold is None else Flags(x, self.threshold)

    def written(self, drawn: Array) -> Array:
        """Numbers above the threshold for ones, and not above it for zeros."""
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
        level = np.tile([0, 1], len(columns))
        concentration = end_to_end(unit.b, unit.a)
        return Seen(stats.sides.counts, concentration, np.repeat(columns, 2), level)

    def of_levels(self, concentration: Any, stats: BernoulliStats) -> Beta:
        return Beta.raw(concentration[:, 1::2], concentration[:, ::2])
