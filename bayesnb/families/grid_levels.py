"""Levels of a grid: how many rows of each class lie on them, and densities that are even within each.

    level ~ Categorical(ratio * share)      share: of all rows, of all classes together

Densities, and the scores of beliefs about them, are relative to the distribution of all rows, p(x | class) / p(x),
which depends on the level alone: the class's share of it over that of all rows.
"""

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add, iadd
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import Array, Cells, Density, Parts, Rng
from bayesnb.families.categorical import CategoricalStats, CodedStats, LevelTables, Row, tables_of
from bayesnb.families.dirichlet import draw_level, pick
from bayesnb.families.grid import Grid
from bayesnb.families.record import Power, raised
from bayesnb.families.sums import KernelTables, by_tables
from bayesnb.families.weight import Weight, hard
from bayesnb.numerics import special
from bayesnb.numerics.special import log
from bayesnb.numerics.threads import in_order, pieces
from bayesnb.numerics.views import Graded


class OnGrid(Row):
    """Arrays about the levels of a grid, `(c, k)`, the columns end to end."""

    layout: ClassVar[tuple[str, ...]] = ("grid",)
    grid: Grid

    @property
    def sizes(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.grid.sizes

    @property
    def bounds(self) -> Array:
        return self.grid.bounds

    def only(self, feature: int) -> Any:
        arrays = [self.of_column(getattr(self, name), feature) for name in self.__match_args__ if name != "grid"]
        return type(self)(*arrays, self.grid.only(feature))  # type: ignore[call-arg]

    def of_column(self, array: Array, feature: int) -> Array:
        """A column's part of one of the arrays."""
        return array[..., self.span(feature)]

    def column(self, feature: int) -> Any:
        return self.only(feature)


class RelativeScores(OnGrid, LevelTables):
    """Densities and beliefs, whose scores are relative to the density of all rows."""

    def added(self, x: Cells, tables: KernelTables, lanes: int, out: Array | None, n_jobs: int | None) -> Array:
        """Add up scores of levels; numbers are looked up without writing their codes to memory."""
        if not isinstance(x, Graded):
            return super().added(x, tables, lanes, out, n_jobs)

        def add(rows: slice, lanes_of_classes: tuple[Array], first: int, part: Array) -> None:
            numerics.grid_kernels.score(*x.arguments(rows), self.bounds, *lanes_of_classes, first, part)

        return by_tables(add, tables, x, lanes, out, n_jobs)

    def log_base(self, x: Cells) -> Array:
        """log of the density of all rows: their histogram on the grid, `(r, f) -> (r,)`; nothing of missing cells."""
        return self.added(x, tables_of(self.grid.log_base[None]), 1, None, 1)[:, 0]

    def cell_log_base(self, x: Cells) -> Array:
        return pick(self.grid.log_base, self.at(x[:]))


@dataclass(frozen=True, eq=False)
class GridStats(OnGrid, CodedStats):
    """Rows on each level, `(c, k)`."""

    counts: Array
    grid: Grid

    @classmethod
    def of(cls, x: Cells, weight: Any, grid: Grid, n_jobs: int | None = 1) -> Self:  # type: ignore[override]
        """One pass over codes of levels, `(r, f)`."""
        return reduce(add, (cls.counted(x, labels, n_jobs, grid) for labels in hard(weight)))

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None, grid: Any = None) -> Self:
        if not isinstance(x, Graded):
            return cls(CategoricalStats.counted(x, weight, n_jobs, grid.sizes).counts, grid)

        def count_rows(rows: slice) -> Array:
            counts, labels = np.zeros((len(grid.low), weight.classes)), (weight.codes[rows], weight.counts[rows])
            numerics.grid_kernels.tally(*x.arguments(rows), grid.bounds, *labels, counts)
            return counts

        rows = pieces(x.shape[0], x.shape[1], 4 * len(grid.low) * weight.classes // x.shape[1])
        total = reduce(iadd, in_order(count_rows, rows, n_jobs))
        return cls(np.ascontiguousarray(total.T), grid)

    @classmethod
    def defined(cls, x: Array, weight: Weight, grid: Any = None) -> Self:
        return cls(CategoricalStats.defined(x, weight, grid.sizes).counts, grid)

    def alone(self, x: Array, weight: Weight) -> Self:
        return self.defined(x, weight, self.grid)

    def check(self) -> None:
        if not isinstance(self.grid, Grid):
            raise ValueError("its cells are on no grid.")

    @property
    def cells(self) -> Array:
        return self.level_sums(self.counts)

    def mle(self) -> "GridDensity":
        return GridDensity(self.mle_share() / self.grid.share, self.grid)


@dataclass(frozen=True, eq=False)
class GridDensity(RelativeScores, Density):
    """The class's share of each level over that of all rows, `(c, k)`: alike on the levels of a bin."""

    symbols: ClassVar[dict[str, str]] = {"ratio": "ratio{}"}
    theta: ClassVar[str] = "ratio"
    kept: ClassVar[str] = "log_ratio"
    ratio: Array
    grid: Grid

    @classmethod
    def of_logs(cls, logs: Array, grid: Grid) -> Self:
        """Ratios whose logs are kept: small ones underflow."""
        density = cls(np.exp(logs), grid)
        density.__dict__["log_ratio"] = logs
        return density

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        return cls(np.concatenate([parts["ratio{}", j] for j in range(len(like.sizes))], axis=-1), like.grid)

    @cached_property
    def log_ratio(self) -> Array:
        return log(self.ratio)

    @property
    def probability(self) -> Array:
        """The class's share of each level, `(c, k)`."""
        return self.ratio * self.grid.share

    @property
    def proper(self) -> Array:
        return np.isfinite(self.level_sums(self.ratio))

    def level_log_moment(self, s: Any) -> Array:
        return raised(self.of_levels(s), self.log_ratio)

    def log_density(self, x: Array) -> Array:
        return pick(self.log_ratio, self.at(x))

    def log_likelihood(self, stats: GridStats, xp: Any = np) -> Any:
        return self.level_sums(special.times(stats.counts, self.log_ratio))

    def sample(self, rng: Rng) -> Array:
        rng, probability = np.random.default_rng(rng), self.probability
        columns = range(len(self.sizes))
        return np.stack([draw_level(probability[..., self.span(j)], rng) for j in columns], axis=-1)

    def contributed(self, x: Cells, power: Power, words: Array | None = None) -> Array:
        return raised(power, self.log_density(x[:, None]) + self.cell_log_base(x)[:, None])
