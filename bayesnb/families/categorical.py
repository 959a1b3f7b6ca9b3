"""Columns with levels: a categorical distribution for each class and column, each with its number
of levels.

    probability ~ Dirichlet(concentration)      cell | probability ~ Categorical(probability)

The distributions of a block lie end to end on the last axis, so a column of two levels costs two
numbers beside one of fifty. Smoothing l is Dirichlet(l) for the posterior mean, and Dirichlet(1 +
l) for the mode.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add, iadd
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import ORDER, Array, Cells, Parts, Rng, Stats
from bayesnb.families.dirichlet import (
    ALIKE,
    Dirichlet,
    DirichletBelief,
    DirichletFamily,
    DirichletStats,
    EmpiricalDirichlet,
    LearnedLevels,
    LevelDensity,
    Levels,
    LevelStats,
    as_level,
    draw_level,
    log_gamma_cumulants,
    log_level_moment,
    pick,
    simplex,
    tally,
)
from bayesnb.families.family import Seen, unless_alike
from bayesnb.families.record import Power, VariableNames, of_powers, raised, silent
from bayesnb.families.removal import RowsLeftOut, log_shares_left
from bayesnb.families.sums import Entries, KernelTables, by_tables, distinct_places, made_at, nodes
from bayesnb.families.support import AnyLevel, Support
from bayesnb.families.units import LevelUnit
from bayesnb.families.weight import Weight, hard
from bayesnb.numerics.special import less, log_gamma_ratio
from bayesnb.numerics.threads import in_order, pieces
from bayesnb.numerics.views import EVERY, INTEGERS, Coded, integers, lanes, readable


class CodedStats(LevelStats):
    """Counts of what columns of codes hold, each column having a number of levels of its own."""

    @classmethod
    def of(  # type: ignore[override]
        cls, x: Cells, weight: Any, sizes: tuple[int, ...] | None = None, n_jobs: int | None = 1
    ) -> Self:
        """Codes `(r, f)`, missing ones negative.

        Without sizes, the largest code of each column decides.
        """
        sizes = tuple(int(top) + 1 for top in as_level(x).max(axis=0)) if sizes is None else sizes
        return reduce(add, (cls.counted(x, labels, n_jobs, sizes) for labels in hard(weight)))

    @classmethod
    @abstractmethod
    def counted(
        cls, x: Cells, weight: Weight, n_jobs: int | None, sizes: tuple[int, ...] = ()
    ) -> Self:
        """One pass over the rows."""


class Row(Levels):
    """Categorical distributions end to end on the last axis; `sizes` are their numbers of levels."""

    layout: ClassVar[tuple[str, ...]] = ("sizes",)
    sizes: tuple[int, ...]

    @cached_property
    def bounds(self) -> Array:
        """Start of each column's levels, and the end of the last ones."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @cached_property
    def columns(self) -> Array:
        """The column of each level."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def span(self, feature: int) -> slice:
        """Positions of the levels of one column."""
        return slice(self.bounds[feature], self.bounds[feature + 1])

    def only(self, feature: int) -> Any:
        """The distributions of one column."""
        arrays = [
            getattr(self, name)[:, self.span(feature)]
            for name in self.__match_args__
            if name != "sizes"
        ]
        return type(self)(*arrays, self.sizes[feature : feature + 1])  # type: ignore[call-arg]

    def parts(self) -> Parts:
        return {
            (symbol, feature): array[..., self.span(feature)]
            for (symbol, _), array in super().parts().items()
            for feature in range(len(self.sizes))
        }

    def level_sums(self, values: Array) -> Array:
        if isinstance(values, np.ndarray):
            return np.add.reduceat(values, self.bounds[:-1], axis=-1)
        return values @ np.eye(len(self.sizes))[self.columns]  # a PyMC variable

    def expand(self, totals: Array) -> Array:
        if isinstance(totals, np.ndarray):
            return np.repeat(totals, self.sizes, axis=-1)
        return totals[..., self.columns]  # a PyMC variable

    def of_levels(self, powers: Any) -> Any:
        """Powers of features, `(..., f)`, for their levels, `(..., k)`; others as they are."""
        return self.expand(powers) if np.shape(powers)[-1:] == (len(self.sizes),) else powers

    def at(self, x: Array) -> Array:
        """Position of each cell's level on the last axis; -1 for a missing cell."""
        level = as_level(x)
        return np.where(level < 0, -1, level + self.bounds[:-1])


class ScoredLevels(Row):
    """Densities and beliefs, which score a cell by its level."""

    level_log_moment: Callable[[Any], Array]

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        tables = made_at(self, power, self.tables_at)
        return self.added(x, tables, len(self), out, n_jobs)

    def tables_at(self, power: Any) -> KernelTables:
        """The log density, or log predictive, of each level, times exponents of the features."""
        return tables_of(raised(self.of_levels(power), self.level_log_moment(1.0)))

    def added(
        self, x: Cells, tables: KernelTables, lanes: int, out: Array | None, n_jobs: int | None
    ) -> Array:
        """The entries of tables at the levels of the cells, summed over features, `(r, f) -> (r,
        lanes)`.
        """

        def add(rows: slice, lanes_of_classes: tuple[Array], first: int, part: Array) -> None:
            check_codes(
                x,
                numerics.level_kernels.score(
                    codes_of(x, rows), self.bounds, *lanes_of_classes, first, part
                ),
            )

        return by_tables(add, tables, x, lanes, out, n_jobs)


def tables_of(worth: Array) -> KernelTables:
    """A table's lanes, `(lanes, k)`."""
    return KernelTables(lambda classes: (lanes(worth[classes]),), worth.shape)


def codes_of(x: Cells, rows: slice) -> Array:
    """Some rows as kernels read them."""
    if isinstance(x, Coded):
        return readable(x.integers[rows], INTEGERS) if x.plain else x[rows]
    return (
        integers(x, rows)
        if x.dtype.kind == "i"
        else np.ascontiguousarray(as_level(x[rows]), np.int32)
    )


def check_codes(x: Cells, left_out: int) -> None:
    """Raise for codes beyond a column's levels, but for a table's, where they are levels that are
    not known.
    """
    if left_out & 2 and not isinstance(x, Coded):
        raise IndexError("a code is beyond the number of its column's levels.")


class LevelTables(ScoredLevels):
    """Beliefs of which each level's moments and cumulants are computed once, and looked up for
    cells.
    """

    level_cumulants: Callable[..., Array]

    def score_cumulants(self, x: Cells, tilt: float = 0.0, power: Power = 1.0) -> Array:
        worth = of_powers(self.cumulants_for(x, tilt * power), self.of_levels(power))
        worth = worth.reshape(ORDER * len(self), -1)
        total = self.added(x, tables_of(worth), len(worth), None, 1)
        return total.reshape(-1, ORDER, len(self)).swapaxes(0, 1)

    def cumulants_for(self, x: Cells, tilt: Any) -> Array:
        """Cumulants of levels, of those at least that the rows are on."""
        return self.level_cumulants(ORDER, tilt)

    def score_transform(self, x: Cells, s: Array, power: Power = 1.0) -> Array:
        return Entries.of_table(self.at(x[:])).added(self.level_log_moment(nodes(s) * power))


@dataclass(frozen=True, eq=False)
class CategoricalStats(Row, CodedStats):
    """Counts of levels, `(c, k)`, the columns' levels end to end."""

    counts: Array
    sizes: tuple[int, ...]

    @classmethod
    def counted(
        cls, x: Cells, weight: Weight, n_jobs: int | None, sizes: tuple[int, ...] = ()
    ) -> Self:
        bounds, levels = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), sum(sizes)

        def count_rows(rows: slice) -> Array:
            counts, labels = (
                np.zeros((levels, weight.classes)),
                (weight.codes[rows], weight.counts[rows]),
            )
            check_codes(x, numerics.level_kernels.tally(codes_of(x, rows), bounds, *labels, counts))
            return counts

        rows = pieces(x.shape[0], len(sizes), 4 * levels * weight.classes // len(sizes))
        total = reduce(iadd, in_order(count_rows, rows, n_jobs))
        return cls(np.ascontiguousarray(total.T), sizes)

    @classmethod
    def defined(cls, x: Array, weight: Weight, sizes: tuple[int, ...] = ()) -> Self:
        columns = [
            tally(level, size, weight) for level, size in zip(as_level(x).T, sizes, strict=True)
        ]
        return cls(np.concatenate(columns, axis=1), sizes)

    def alone(self, x: Array, weight: Weight) -> Self:
        return self.defined(x, weight, self.sizes)

    def relevelled(self, sizes: tuple[int, ...], places: Array) -> Self:
        """The counts among more levels, each old one at its new place."""
        counts = np.zeros((len(self.counts), sum(sizes)))
        counts[:, places] = self.counts
        return type(self)(counts, sizes)

    def column(self, feature: int) -> DirichletStats:  # type: ignore[override]
        return DirichletStats(self.counts[..., self.span(feature)])

    @property
    def cells(self) -> Array:
        return self.level_sums(self.counts)

    def mle(self) -> "CategoricalDensity":
        return CategoricalDensity(self.mle_share(), self.sizes)


class LaidOutStats(CodedStats):
    """Counts of levels, `(c, k)`, of which another value has the sizes: a grid, or pairs, the field
    in `layout`.
    """

    counts: Array

    @classmethod
    def of(cls, x: Cells, weight: Any, laid_out: Any, n_jobs: int | None = 1) -> Self:  # type: ignore[override]
        """Count codes of levels, `(r, f)`, in one pass."""
        return cls(CategoricalStats.of(x, weight, laid_out.sizes, n_jobs).counts, laid_out)  # type: ignore[call-arg]

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None, laid_out: Any = None) -> Self:
        return cls.of(x, weight, laid_out, n_jobs)

    @classmethod
    def defined(cls, x: Array, weight: Weight, laid_out: Any = None) -> Self:
        return cls(CategoricalStats.defined(x, weight, laid_out.sizes).counts, laid_out)  # type: ignore[call-arg]

    def alone(self, x: Array, weight: Weight) -> Self:
        return self.defined(x, weight, getattr(self, self.layout[0]))

    @property
    def cells(self) -> Array:
        return self.level_sums(self.counts)


@dataclass(frozen=True, eq=False)
class CategoricalDensity(ScoredLevels, LevelDensity):
    probability: Array
    sizes: tuple[int, ...]

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        return cls(
            np.concatenate([parts["theta{}", j] for j in range(len(like.sizes))], axis=-1),
            like.sizes,
        )

    def log_density(self, x: Array) -> Array:
        return pick(self.log_probability, self.at(x))

    def level_log_moment(self, s: Any) -> Array:
        return raised(self.of_levels(s), self.log_probability)

    def sample(self, rng: Rng) -> Array:
        rng = np.random.default_rng(rng)
        columns = range(len(self.sizes))
        return np.stack(
            [draw_level(self.probability[..., self.span(j)], rng) for j in columns], axis=-1
        )


@dataclass(frozen=True, eq=False, repr=False)
class ColumnDirichlets(LevelTables, DirichletBelief):
    """A Dirichlet for the levels of every class and column; a cell is the code of a level."""

    density: ClassVar[type[LevelDensity]] = CategoricalDensity
    is_linear: ClassVar[bool] = True
    concentration: Array
    sizes: tuple[int, ...]

    def column(self, feature: int) -> Dirichlet:  # type: ignore[override]
        return Dirichlet(self.concentration[..., self.span(feature)])

    def log_sum(self, logs: Array) -> Array:
        return self.expand(np.logaddexp.reduceat(logs, self.bounds[:-1], axis=-1))

    def level_log_moment(self, s: Any) -> Array:
        if np.ndim(s) == 0 and s == 1:
            return super().level_log_moment(s)
        return self._log_moments_at(np.arange(self.bounds[-1]), s)

    def level_cumulants(self, order: int, tilt: Any = 0.0) -> Array:
        return self._cumulants_at(np.arange(self.bounds[-1]), order, tilt)

    def _log_moments_at(self, levels: Array, s: Any) -> Array:
        """K(s) of some levels; s is a number or places of a transform, or such of each feature."""
        columns = self.columns[levels]
        total = log_gamma_ratio(self.level_sums(self.concentration), s)[..., columns]
        by_feature = np.shape(s)[-1:] == (len(self.sizes),)
        return less(
            log_gamma_ratio(self.concentration[..., levels], s[..., columns] if by_feature else s),
            total,
        )

    def _cumulants_at(self, levels: Array, order: int, tilt: Any) -> Array:
        """Cumulants of the log-probability of some levels."""
        columns = self.columns[levels]
        tilt = np.broadcast_to(tilt, len(self.sizes))
        total = log_gamma_cumulants(self.level_sums(self.concentration) + tilt, order)[..., columns]
        with np.errstate(invalid="ignore"):
            return (
                log_gamma_cumulants(self.concentration[..., levels] + tilt[columns], order) - total
            )

    def score_cumulants(self, x: Cells, tilt: float = 0.0, power: Power = 1.0) -> Array:
        if x.shape[0] * x.shape[1] >= self.bounds[-1]:
            return super().score_cumulants(x, tilt, power)
        levels, entries = Entries.of_distinct(self.at(x[:]))
        once = power if np.ndim(power) == 0 else power[self.columns[levels]]  # type: ignore[index]
        worth = of_powers(self._cumulants_at(levels, ORDER, tilt * power), once)
        return np.moveaxis(entries.added(worth), -1, 0)

    def score_transform(self, x: Cells, s: Array, power: Power = 1.0) -> Array:
        levels, entries = Entries.of_distinct(self.at(x[:]))
        return entries.added(self._log_moments_at(levels, nodes(s) * power))

    def log_moment(self, x: Array, s: Any) -> Array:
        index = self.at(x)
        return log_level_moment(
            pick(self.concentration, index), self.level_sums(self.concentration), index < 0, s
        )

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        levels, index = distinct_places(self.at(x))
        return np.stack([pick(table, index) for table in self._cumulants_at(levels, order, tilt)])

    def score_left_out(self, stats: CategoricalStats, rows: RowsLeftOut) -> Array:
        if not rows.alike:
            return self.cells_left_out(stats, rows).sum(axis=1)
        # looked up by a kernel: five times as fast
        table = self.levels_left_out(stats, rows.each, rows.kind)
        return self.added(rows.x, tables_of(table[None]), 1, None, 1)[:, 0]

    def cells_left_out(self, stats: CategoricalStats, rows: RowsLeftOut) -> Array:
        places = self.at(rows.x[:])
        if rows.alike:
            return pick(self.levels_left_out(stats, rows.each, rows.kind), places)
        return silent(
            places < 0, self.levels_left_out(stats, rows.each, rows.kind, np.maximum(places, 0))
        )

    def levels_left_out(
        self, stats: CategoricalStats, w: Any, kind: str, places: Any = EVERY
    ) -> Array:
        return log_shares_left(
            self.concentration[0], stats.counts[0], self.total_of_levels, w, kind, places
        )

    def units(self, x: Cells) -> list[LevelUnit]:
        """Columns whose levels are alike before the data."""
        codes, units = as_level(np.asarray(x[:])), []
        for j, size in enumerate(self.sizes):
            concentration = self.concentration[:, self.span(j)]
            if (np.ptp(concentration, axis=1) <= ALIKE * concentration[:, 0]).all():
                units.append(LevelUnit((j,), codes[:, [j]], (size,), concentration.sum(axis=1)))
        return units

    def level_columns(self, x: Cells, columns: Sequence[int]) -> "tuple[Array, ColumnDirichlets]":
        sizes, codes = tuple(self.sizes[j] for j in columns), as_level(np.asarray(x[:]))[:, columns]
        concentration = np.concatenate(
            [self.concentration[:, self.span(j)] for j in columns], axis=1
        )
        return np.where(codes < 0, sizes, codes), ColumnDirichlets(concentration, sizes)

    def log_density(self, theta: LevelDensity) -> Parts:
        logs = self.dirichlet_log_density(theta)
        return {("theta{}", feature): logs[..., feature] for feature in range(len(self.sizes))}

    def predictive(self) -> list[Any]:
        """One distribution for each column, of one-hot vectors."""
        return [self.column(feature).predictive() for feature in range(len(self.sizes))]

    def variables(self, pm: Any, names: VariableNames) -> CategoricalDensity:
        features = range(len(self.sizes))
        simplices = [
            simplex(pm, names("theta{}", j), self.concentration[..., self.span(j)])
            for j in features
        ]
        return CategoricalDensity(pm.math.concatenate(simplices, axis=-1), self.sizes)


@dataclass(frozen=True)
class Codes(LearnedLevels):
    """Levels that are integers from 0 to the largest seen, with a least number of them, as
    scikit-learn counts.

    A column without any whole number is not a column of codes; its values are levels like any
    other's.
    """

    least: Any = 0  # a number, or one for each column

    def __post_init__(self) -> None:
        least = np.asarray(self.least)
        if least.dtype.kind not in "iu" or least.ndim > 1 or (least < 0).any():
            raise ValueError(
                "min_categories must be None, a whole number of at least 0, or one for each "
                "column, got "
                f"{self.least!r}."
            )

    def least_of(self, column: int, columns: int) -> int:
        """The least number of levels of one of so many columns."""
        least = np.asarray(self.least)
        if least.ndim and len(least) != columns:
            raise ValueError(f"min_categories has {len(least)} numbers for {columns} columns.")
        return int(np.broadcast_to(least, columns)[column])


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(DirichletFamily):
    """Columns of levels, such as text or codes: a probability for each class, column and level.

    Parameters
    ----------
    prior : Dirichlet or float, default=1.0
        The belief before the data. A number l stands for ``Dirichlet(l)``; an array broadcasts over
        classes, columns and levels.
    levels : sequence or None, default=None
        The levels of every column, in order. None: those that occur, and those of the columns'
        categorical types.
    unseen : {"ignore", "error", "reserve"}, default="ignore"
        What happens to a level that training never saw. ``"ignore"``: the cell is left out, for all
        classes alike, with an ``UnseenLevelWarning``. ``"error"``: it is an error. ``"reserve"``:
        there is one more level, always, that stands for whatever is new.

    See Also
    --------
    CategoricalNB : The preset with this family in all columns.
    Bernoulli : Columns of zeros and ones.
    JointTable : Columns of levels modelled jointly.

    Notes
    -----
    Everything about these columns is exact: the posterior is a ``Dirichlet``. A missing
    cell is left out.

    Examples
    --------
    >>> from bayesnb import Categorical, NaiveBayes
    >>> model = NaiveBayes(Categorical(0.5)).fit([["red"], ["white"], ["red"]], ["wine", "wine", "juice"])
    >>> model.posterior_[0].mean().round(2).tolist()  # juice, wine; red, white
    [[0.75, 0.25], [0.5, 0.5]]
    """

    prior: Dirichlet | EmpiricalDirichlet | float = 1.0
    levels: Sequence[Any] | Codes | None = None
    unseen: str = "ignore"

    content: ClassVar[str] = "levels"
    has_levels: ClassVar[bool] = True
    support: ClassVar[Support] = AnyLevel()
    stats: ClassVar[type[Stats]] = CategoricalStats

    @property
    def positive_only(self) -> bool:
        return isinstance(self.levels, Codes)

    def observe(
        self, x: Cells, weight: Weight, sizes: tuple[int, ...] = (), n_jobs: int | None = 1
    ) -> Stats:
        return CategoricalStats.of(x, weight, sizes, n_jobs)

    def of_column(self, belief: Any, levels: Any = None, unseen: str = "ignore") -> "Categorical":
        each = unless_alike(belief.concentration)
        each = each[..., :1] if (each == each[..., :1]).all() else each
        each = each if each.ndim == 1 else each[:, None]
        return Categorical(Dirichlet(each[0] if each.shape == (1,) else each), levels, unseen)

    def belief(self, stats: CategoricalStats) -> ColumnDirichlets:
        if isinstance(self.prior, EmpiricalDirichlet):
            return ColumnDirichlets(
                self.prior.concentrations(stats.counts, stats.columns), stats.sizes
            )
        smoothing, classes, sizes = self.concentration, len(stats), stats.sizes
        if smoothing.ndim == 0:
            return ColumnDirichlets(np.broadcast_to(smoothing.copy(), stats.counts.shape), sizes)
        each = [
            _column_concentration(smoothing, classes, len(sizes), j, size)
            for j, size in enumerate(sizes)
        ]
        return ColumnDirichlets(np.concatenate(each, axis=1), sizes)

    def along_levels(self, smoothing: Array) -> Array:
        return smoothing[..., None] if smoothing.ndim else smoothing

    def seen(self, stats: CategoricalStats) -> Seen:
        columns = stats.columns
        unit = self.smoothed(stats, 1.0, "mean").belief(stats).concentration
        return Seen(stats.counts, unit, columns, np.arange(len(columns)) - stats.bounds[columns])

    def of_levels(self, concentration: Any, stats: CategoricalStats) -> ColumnDirichlets:
        return ColumnDirichlets.raw(concentration, stats.sizes)


def _column_concentration(
    smoothing: Array, classes: int, columns: int, feature: int, size: int
) -> Array:
    """One column's part of an array over `(c, f, k)`, any of them missing in front or 1."""
    full = smoothing.reshape((1,) * (3 - smoothing.ndim) + smoothing.shape)
    try:
        by_column = np.broadcast_to(full, (*full.shape[:1], columns, *full.shape[2:]))
        return np.broadcast_to(by_column[:, feature], (classes, size))
    except ValueError:
        place = f" of the column number {feature} of these" if columns > 1 else ""
        raise ValueError(
            f"Categorical: a concentration of shape {smoothing.shape} does not fit (classes, "
            f"columns, levels) = ({classes}, {columns}, {size}){place}. Give a number, or declare "
            "`levels`."
        ) from None
