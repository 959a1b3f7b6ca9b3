"""Columns with levels: a categorical distribution for each class and column, each with its number of levels.

    probability ~ Dirichlet(concentration)      cell | probability ~ Categorical(probability)

The distributions of a block lie end to end on the last axis, so a column of two levels costs two numbers beside one
of fifty. Smoothing l is Dirichlet(l) for the posterior mean, and Dirichlet(1 + l) for the mode.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import (
    ORDER,
    Array,
    Belief,
    Cells,
    LevelUncertainty,
    LevelWeights,
    Parts,
    Rng,
    Say,
    Stats,
)
from bayesnb.families.dirichlet import (
    CONCENTRATION,
    Dirichlet,
    DirichletBelief,
    DirichletStats,
    LevelDensity,
    Levels,
    LevelStats,
    as_level,
    described,
    pick,
    simplex,
    tally,
    throw,
    throw_log_moment,
)
from bayesnb.families.family import (
    Family,
    Hyperparameters,
    Seen,
    checked_prior,
    checked_unseen,
    declared_levels,
    proportions,
)
from bayesnb.families.record import silent
from bayesnb.families.removal import Leaving, RemainingLevels
from bayesnb.families.sums import Entries, KernelTables, by_tables, nodes
from bayesnb.families.support import AnyLevel, Support
from bayesnb.families.weight import Weight, hard
from bayesnb.numerics.threads import in_order, pieces
from bayesnb.numerics.views import Coded, integers, lanes


class CodedStats(LevelStats):
    """Counts of what columns of codes hold, each column having a number of levels of its own."""

    @classmethod
    def of(  # type: ignore[override]
        cls, x: Cells, weight: Any, sizes: tuple[int, ...] | None = None, n_jobs: int | None = 1
    ) -> Self:
        """Codes `(r, f)`, missing ones negative. Without sizes, the largest code of each column decides."""
        sizes = tuple(int(top) + 1 for top in as_level(x).max(axis=0)) if sizes is None else sizes
        return reduce(add, (cls.counted(x, labels, n_jobs, sizes) for labels in hard(weight)))

    @classmethod
    @abstractmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None, sizes: tuple[int, ...] = ()) -> Self:
        """One pass over the rows."""


class Row(Levels):
    """Categorical distributions end to end on the last axis; `sizes` are their numbers of levels."""

    layout: ClassVar[tuple[str, ...]] = ("sizes",)
    sizes: tuple[int, ...]

    @property
    def starts(self) -> Array:
        return self.bounds[:-1]

    @cached_property
    def bounds(self) -> Array:
        """Where the levels of each column start, and where the last ones end."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def only(self, feature: int) -> Any:
        """The distributions of one column."""
        span = slice(self.bounds[feature], self.bounds[feature + 1])
        arrays = [getattr(self, name)[:, span] for name in self.__match_args__ if name != "sizes"]
        return type(self)(*arrays, self.sizes[feature : feature + 1])  # type: ignore[call-arg]

    def level_sums(self, values: Array) -> Array:
        if isinstance(values, np.ndarray):
            return np.add.reduceat(values, self.starts, axis=-1)
        return values @ np.eye(len(self.sizes))[self.columns]  # a PyMC variable

    def expand(self, totals: Array) -> Array:
        if isinstance(totals, np.ndarray):
            return np.repeat(totals, self.sizes, axis=-1)
        return totals[..., self.columns]  # a PyMC variable

    @cached_property
    def columns(self) -> Array:
        """Whose levels they are."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def at(self, x: Array) -> Array:
        """Where each cell's level lies on the last axis; -1 for a missing cell."""
        level = as_level(x)
        return np.where(level < 0, -1, level + self.starts)

    def sum_of_levels(self, x: Cells, power: float, out: Array | None, n_jobs: int | None) -> Array:
        """What the levels of the cells are worth to each class, `power` times, summed over features."""

        return self.added(x, self._tables if power == 1 else self._powered(power), len(self), out, n_jobs)

    def added(self, x: Cells, tables: KernelTables, lanes: int, out: Array | None, n_jobs: int | None) -> Array:
        """The entries of tables at the levels of the cells, summed over features, `(r, f) -> (r, lanes)`."""

        def add(rows: slice, lanes_of_classes: tuple[Array], first: int, part: Array) -> None:
            note(x, numerics.level_kernels.score(codes_of(x, rows), self.bounds, *lanes_of_classes, first, part))

        return by_tables(add, tables, x, lanes, out, n_jobs)

    @cached_property
    def _tables(self) -> KernelTables:
        return self._powered(1)

    def _powered(self, power: float) -> KernelTables:
        return tables_of(self.level_log_moment(power))  # type: ignore[attr-defined]

    def parts(self) -> Parts:
        return {
            (symbol, feature): array[..., self.span(feature)]
            for (symbol, _), array in super().parts().items()
            for feature in range(len(self.sizes))
        }

    def span(self, feature: int) -> slice:
        return slice(self.starts[feature], self.starts[feature] + self.sizes[feature])


def tables_of(worth: Array) -> KernelTables:
    """A table's lanes, `(lanes, k)`."""
    return KernelTables(lambda classes: (lanes(worth[classes]),), worth.shape)


def codes_of(x: Cells, rows: slice) -> Array:
    """Some rows as kernels read them."""
    if isinstance(x, Coded) and x.plain:
        return integers(x.integers, rows)
    return integers(x, rows) if x.dtype.kind == "i" else np.ascontiguousarray(as_level(x[rows]), np.int32)


def note(x: Cells, met: int) -> None:
    """Codes that are no level's: an error, but for a table that told them apart from the known ones."""
    if isinstance(x, Coded):
        x.note(met)
    elif met & 2:
        raise IndexError("a code is beyond the number of its column's levels.")


MOST_VALUES = 1 << 20  # levels of the largest column, times columns


@dataclass(frozen=True, eq=False)
class CategoricalStats(Row, CodedStats):
    """How often each level was seen, `(c, k)`, the columns' levels end to end."""

    counts: Array
    sizes: tuple[int, ...]

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None, sizes: tuple[int, ...] = ()) -> Self:
        bounds, levels = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), sum(sizes)

        def count_rows(rows: slice) -> Array:
            counts, labels = np.zeros((levels, weight.classes)), (weight.codes[rows], weight.counts[rows])
            note(x, numerics.level_kernels.tally(codes_of(x, rows), bounds, *labels, counts))
            return counts

        rows = pieces(x.shape[0], len(sizes), 4 * levels * weight.classes // len(sizes))
        parts = iter(in_order(count_rows, rows, n_jobs))
        total = next(parts)
        for part in parts:
            total += part
        return cls(np.ascontiguousarray(total.T), sizes)

    @classmethod
    def defined(cls, x: Array, weight: Weight, sizes: tuple[int, ...] = ()) -> Self:
        columns = [tally(level, size, weight) for level, size in zip(as_level(x).T, sizes, strict=True)]
        return cls(np.concatenate(columns, axis=1), sizes)

    def alone(self, x: Array, weight: Weight) -> Self:
        return self.defined(x, weight, self.sizes)

    def relevelled(self, sizes: tuple[int, ...], places: Array) -> Self:
        """The same counts where columns have more levels, each old one at its new place."""
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


@dataclass(frozen=True, eq=False)
class CategoricalDensity(LevelWeights, Row, LevelDensity):
    probability: Array
    sizes: tuple[int, ...]

    def log_density(self, x: Array) -> Array:
        return pick(self.log_probability, self.at(x))

    def sample(self, rng: Rng) -> Array:
        rng = np.random.default_rng(rng)
        columns = range(len(self.sizes))
        return np.stack([throw(self.probability[..., self.span(feature)], rng) for feature in columns], axis=-1)

    def score(self, x: Cells, power: float = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        return self.sum_of_levels(x, power, out, n_jobs)

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        return cls(np.concatenate([parts["theta{}", j] for j in range(len(like.sizes))], axis=-1), like.sizes)


@dataclass(frozen=True, eq=False, repr=False)
class ColumnDirichlets(LevelUncertainty, Row, DirichletBelief):
    """A Dirichlet for the levels of every class and column; a cell is the code of a level."""

    spelled_out: ClassVar[bool] = True
    concentration: Array
    sizes: tuple[int, ...]

    def column(self, feature: int) -> Dirichlet:  # type: ignore[override]
        return Dirichlet(self.concentration[..., self.span(feature)])

    def log_sum(self, logs: Array) -> Array:
        return self.expand(np.logaddexp.reduceat(logs, self.starts, axis=-1))

    def log_moment(self, x: Array, s: Any) -> Array:
        index = self.at(x)
        return throw_log_moment(pick(self.concentration, index), self.level_sums(self.concentration), index, s)

    def cumulants(self, x: Array, order: int, tilt: float = 0.0) -> Array:
        index = self.at(x)
        return np.stack([pick(table, index) for table in self.level_cumulants(order, tilt)])

    def score(self, x: Cells, power: Any = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        if isinstance(power, np.ndarray):
            return super().score(x, power, out, n_jobs)
        return self.sum_of_levels(x, power, out, n_jobs)

    def score_left_out(self, stats: CategoricalStats, leaving: Leaving) -> Array:
        remaining = RemainingLevels.of(
            self.concentration, stats.counts, leaving.kind, lambda v: self.expand(self.level_sums(v))
        )
        if leaving.alike:
            worth = remaining.worth(leaving.each, leaving.kind, leaving.power)
            return self.added(leaving.x, tables_of(worth), 1, None, 1)[:, 0]
        index = self.at(leaving.x)
        cells = RemainingLevels(*(pick(table[0], np.maximum(index, 0)) for table in remaining))
        return silent(index < 0, cells.worth(leaving.each, leaving.kind, leaving.power)).sum(axis=1)

    @property
    def every_value(self) -> Array | None:
        if max(self.sizes) * len(self.sizes) > MOST_VALUES:
            return None
        level = np.arange(max(self.sizes))[:, None]
        return np.where(level < self.sizes, level, -1)

    def by_value(self, worth: Array) -> Callable[..., Array]:
        columns = [worth[:size, :, j].T for j, size in enumerate(self.sizes)]
        tables = tables_of(np.concatenate(columns, axis=1))
        return lambda x, out, n_jobs: self.added(x, tables, len(self), out, n_jobs)

    def score_cumulants(self, x: Cells, tilt: float = 0.0) -> Array:
        worth = self.level_cumulants(ORDER, tilt).reshape(ORDER * len(self), -1)
        total = self.added(x, tables_of(worth), len(worth), None, 1)
        return total.reshape(-1, ORDER, len(self)).swapaxes(0, 1)

    def score_transform(self, x: Cells, s: Array) -> Array:
        return Entries.of_table(self.at(x[:])).added(self.level_log_moment(nodes(s)))

    def sample(self, rng: Rng, size: Any = None) -> CategoricalDensity:
        return CategoricalDensity.of_logs(self.draw(rng, size), self.sizes)

    def log_density(self, theta: CategoricalDensity) -> Parts:
        logs = self.dirichlet_log_density(theta)
        return {("theta{}", feature): logs[..., feature] for feature in range(len(self.sizes))}

    def predictive(self) -> list[Any]:  # type: ignore[override]
        """One distribution for each column, of one-hot vectors."""
        return [self.column(feature).predictive() for feature in range(len(self.sizes))]

    def estimate(self, kind: str) -> CategoricalDensity:
        return CategoricalDensity(self.mean() if kind == "mean" else self.mode(), self.sizes)

    def variables(self, pm: Any, say: Say) -> CategoricalDensity:
        features = range(len(self.sizes))
        simplices = [simplex(pm, say("theta{}", j), self.concentration[..., self.span(j)]) for j in features]
        return CategoricalDensity(pm.math.concatenate(simplices, axis=-1), self.sizes)


@dataclass(frozen=True)
class Codes:
    """Levels that are integers from 0 to the largest seen, with a least number of them, as scikit-learn counts.

    A column without any whole number is no column of codes; its values are levels like any other's.
    """

    least: Any = 0  # a number, or one for each column

    def __post_init__(self) -> None:
        least = np.asarray(self.least)
        if least.dtype.kind not in "iu" or least.ndim > 1 or (least < 0).any():
            raise ValueError(
                "min_categories must be None, a whole number of at least 0, or one for each column, got "
                f"{self.least!r}."
            )

    def least_of(self, column: int, columns: int) -> int:
        """The least number of levels of one of so many columns."""
        least = np.asarray(self.least)
        if least.ndim and len(least) != columns:
            raise ValueError(f"min_categories has {len(least)} numbers for {columns} columns.")
        return int(np.broadcast_to(least, columns)[column])


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(Family):
    """Columns of levels: strings, booleans, numbers, categories.

    `prior` is a Dirichlet, or a number for a symmetric one; its array broadcasts over `(class, column, level)`.
    `levels` declares the levels of every column, in order; without it they are learnt. `unseen` says what a
    level that training never saw does: `"ignore"`, the cell is silent for all classes alike, with a warning;
    `"error"`; or `"reserve"`, one extra level holds whatever is new.
    """

    prior: Dirichlet | float = 1.0
    levels: Sequence[Any] | Codes | None = None
    unseen: str = "ignore"

    content: ClassVar[str] = "levels"
    picture = "levels"
    has_levels: ClassVar[bool] = True
    conjugate: ClassVar[type[Belief]] = Dirichlet
    number_prior: ClassVar[bool] = True
    hyperparameters: ClassVar[Hyperparameters | None] = CONCENTRATION
    support: ClassVar[Support] = AnyLevel()
    stats: ClassVar[type[Stats]] = CategoricalStats

    def __post_init__(self) -> None:
        checked_unseen("Categorical", self.unseen)
        if self.levels is not None and not isinstance(self.levels, Codes):
            object.__setattr__(self, "levels", declared_levels("Categorical", self.levels))
        checked_prior("Categorical", self.prior, Dirichlet, short=True)
        if not isinstance(self.prior, Dirichlet):
            object.__setattr__(self, "prior", Dirichlet(self.prior))

    @property
    def positive_only(self) -> bool:
        return isinstance(self.levels, Codes)

    def observe(self, x: Cells, weight: Weight, sizes: tuple[int, ...] = (), n_jobs: int | None = 1) -> Stats:
        return CategoricalStats.of(x, weight, sizes, n_jobs)

    def belief(self, stats: CategoricalStats) -> ColumnDirichlets:
        smoothing, classes = self.prior.concentration, len(stats)  # type: ignore[union-attr]
        if smoothing.ndim == 0:
            return ColumnDirichlets(np.broadcast_to(smoothing.copy(), stats.counts.shape), stats.sizes)
        concentrations = [
            _column_concentration(smoothing, classes, len(stats.sizes), j, size) for j, size in enumerate(stats.sizes)
        ]
        return ColumnDirichlets(np.concatenate(concentrations, axis=1), stats.sizes)

    def describe(self, belief: Any) -> str:
        return described(belief)

    def tuned(self, stats: CategoricalStats, *values: Any) -> Self:
        return self.smoothed(stats, values[0], "mean")

    def smoothed(self, stats: CategoricalStats, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        (unit,), smoothing = proportions(self.prior.concentration), np.asarray(smoothing, float)  # type: ignore[union-attr]
        each = smoothing[..., None] if smoothing.ndim else smoothing
        return replace(self, prior=Dirichlet(each * unit + (kind == "map")))

    def seen(self, stats: CategoricalStats) -> Seen:
        columns = stats.columns
        unit = self.smoothed(stats, 1.0, "mean").belief(stats).concentration
        return Seen(stats.counts, unit, columns, np.arange(len(columns)) - stats.starts[columns])

    def of_levels(self, concentration: Any, stats: CategoricalStats) -> ColumnDirichlets:
        return ColumnDirichlets.raw(concentration, stats.sizes)


def _column_concentration(smoothing: Array, classes: int, columns: int, feature: int, size: int) -> Array:
    """One column's part of an array over `(c, f, k)`, any of them missing in front or 1."""
    full = smoothing.reshape((1,) * (3 - smoothing.ndim) + smoothing.shape)
    try:
        every = np.broadcast_to(full, (*full.shape[:1], columns, *full.shape[2:]))
        return np.broadcast_to(every[:, feature], (classes, size))
    except ValueError:
        raise ValueError(
            f"Categorical: a concentration of shape {smoothing.shape} does not fit (classes, columns, levels) = "
            f"({classes}, {columns}, {size}) of column number {feature}. Give a number, or declare `levels`."
        ) from None
