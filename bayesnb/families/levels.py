"""Tables of levels: cells are codes of levels, and all that is asked of them is looked up.

The levels of a block's columns lie end to end on the last axis, so a column of two levels costs two
numbers beside one of fifty. A family says what each level is worth, `level_log_moment` and
`level_cumulants`; scores, transforms, cumulants and leave-one-out are sums of looked-up entries:

    place of a cell = start of its column + its code      score = sum over columns of table[place]

What is laid out so may be levels of columns themselves, levels of a grid of numbers, or pairs of
levels of two columns.
"""

from abc import abstractmethod
from functools import cached_property, reduce
from operator import iadd
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import ORDER, Array, Belief, Cells, Parts, Power, Rng
from bayesnb.families.dirichlet import (
    LevelDensity,
    Levels,
    LevelStats,
    as_level,
    draw_level,
    pick,
)
from bayesnb.families.record import of_powers, raised, silent
from bayesnb.families.removal import RowsLeftOut
from bayesnb.families.sums import Entries, KernelTables, by_tables, distinct_places, made_at, nodes
from bayesnb.families.weight import Weight
from bayesnb.numerics import special
from bayesnb.numerics.threads import in_order, pieces
from bayesnb.numerics.views import EVERY, INTEGERS, Coded, integers, lanes, readable


class LevelTable(Levels):
    """Arrays about levels of columns, `(..., k)`, end to end; `sizes` are their numbers of levels.

    The field in `layout` is the sizes, or a value that has them.
    """

    layout: ClassVar[tuple[str, ...]] = ("sizes",)
    by_column: ClassVar[tuple[str, ...]] = ()  # fields with a number for each column, `(..., f)`
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
        one, (layout,) = slice(feature, feature + 1), self.layout_values
        fields = []
        for name in self.__match_args__:
            if name not in self.layout:
                part = one if name in self.by_column else self.span(feature)
                fields.append(getattr(self, name)[..., part])
        part_of_layout = layout[one] if isinstance(layout, tuple) else layout.only(feature)
        return type(self)(*fields, part_of_layout)  # type: ignore[call-arg]

    def column(self, feature: int) -> Any:
        return self.only(feature)

    def parts(self) -> Parts:
        parts: Parts = {}
        for (symbol, _), array in super().parts().items():
            for feature in range(len(self.sizes)):
                parts[symbol, feature] = array[..., self.span(feature)]
        return parts

    def level_sums(self, values: Array) -> Array:
        if isinstance(values, np.ndarray):
            return np.add.reduceat(values, self.bounds[:-1], axis=-1)
        return values @ np.eye(len(self.sizes))[self.columns]  # a PyMC variable

    def expand(self, totals: Array, places: Any = EVERY) -> Array:
        return totals[..., self.columns[places]]

    def per_level(self, numbers: Any, places: Any = EVERY) -> Any:
        if np.shape(numbers)[-1:] != (len(self.sizes),):
            return numbers
        return numbers[..., self.columns[places]]

    def at(self, x: Array) -> Array:
        """Position of each cell's level on the last axis; -1 for a missing cell."""
        level = as_level(x)
        return np.where(level < 0, -1, level + self.bounds[:-1])


def sizes_of(layout: Any) -> tuple[int, ...]:
    """Return the numbers of levels of a layout: themselves, or those of a grid or of pairs."""
    return layout if isinstance(layout, tuple) else layout.sizes


class TableStats(LevelTable, LevelStats):
    """Counts of levels, `(c, k)`."""

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None, *layouts: Any) -> Self:
        (layout,), classes = layouts, weight.classes
        sizes = sizes_of(layout)
        bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

        def count_rows(rows: slice) -> Array:
            counts = np.zeros((bounds[-1], classes))
            labels = weight.codes[rows], weight.counts[rows]
            left_out = numerics.level_kernels.tally(codes_of(x, rows), bounds, *labels, counts)
            check_codes(x, left_out)
            return counts

        rows = pieces(x.shape[0], len(sizes), 4 * bounds[-1] * classes // len(sizes))
        total = reduce(iadd, in_order(count_rows, rows, n_jobs))
        return cls(np.ascontiguousarray(total.T), layout)  # type: ignore[call-arg]


def codes_of(x: Cells, rows: slice) -> Array:
    """Some rows as kernels read them."""
    if isinstance(x, Coded):
        return readable(x.integers[rows], INTEGERS) if x.plain else x[rows]
    if x.dtype.kind == "i":
        return integers(x, rows)
    return np.ascontiguousarray(as_level(x[rows]), np.int32)


def check_codes(x: Cells, left_out: int) -> None:
    """Raise for codes beyond a column's levels, but for a table's, where they are levels that are
    not known.
    """
    if left_out & 2 and not isinstance(x, Coded):
        raise IndexError("a code is beyond the number of its column's levels.")


def tables_of(values: Array) -> KernelTables:
    """A table's lanes, `(lanes, k)`."""
    return KernelTables(lambda classes: (lanes(values[classes]),), values.shape)


class LevelScores(LevelTable):
    """Densities and beliefs, which score a cell by its level."""

    @abstractmethod
    def level_log_moment(self, s: Any, places: Any = EVERY) -> Array:
        """K(s) of the levels at some places, `(..., c, k)`.

        s is a number, or one for each column, `(f,)`, or nodes of a transform, `(n, 1, 1)`, times
        such.
        """

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        tables = made_at(self, power, self._tables_at)
        return self.add_entries(x, tables, len(self), out, n_jobs)

    def _tables_at(self, power: Any) -> KernelTables:
        """The log density, or log predictive, of each level, times exponents of the columns."""
        return tables_of(raised(self.per_level(power), self.level_log_moment(1.0)))

    def add_entries(
        self, x: Cells, tables: KernelTables, lanes: int, out: Array | None, n_jobs: int | None
    ) -> Array:
        """The entries of tables at the levels of the cells, summed over columns.

        Shapes: `(r, f) -> (r, lanes)`.
        """

        def add(rows: slice, lanes_of_classes: tuple[Array], first: int, part: Array) -> None:
            arguments = codes_of(x, rows), self.bounds, *lanes_of_classes, first, part
            check_codes(x, numerics.level_kernels.score(*arguments))

        return by_tables(add, tables, x, lanes, out, n_jobs)


def draw_columns(table: LevelTable, probability: Array, rng: Rng) -> Array:
    """Draw a level of each column, `(..., k) -> (..., f)`."""
    rng = np.random.default_rng(rng)
    columns = range(len(table.sizes))
    return np.stack([draw_level(probability[..., table.span(j)], rng) for j in columns], axis=-1)


class TableDensity(LevelDensity, LevelScores):
    """Known numbers of levels, `(c, k)`."""

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        columns = [parts[cls.symbols[cls.theta], j] for j in range(len(like.sizes))]
        return cls(np.concatenate(columns, axis=-1), *like.layout_values)  # type: ignore[call-arg]

    def log_density(self, x: Array) -> Array:
        return pick(self.log_theta, self.at(x))

    def sample(self, rng: Rng) -> Array:
        return draw_columns(self, getattr(self, self.theta), rng)


class RatioDensity(TableDensity):
    """Ratios of probabilities of levels to others that are known."""

    symbols: ClassVar[dict[str, str]] = {"ratio": "ratio{}"}
    theta: ClassVar[str] = "ratio"
    ratio: Array

    def log_likelihood(self, stats: Any, xp: Any = np) -> Any:
        return self.level_sums(special.times(stats.counts, self.log_theta))

    def linear(self) -> None:
        """The levels of a grid, or pairs of levels, are not the columns of a table."""


class LevelBelief(LevelScores, Belief):
    """Beliefs of which each level's moments and cumulants are computed once, and looked up."""

    @abstractmethod
    def level_cumulants(self, order: int, tilt: Any = 0.0, places: Any = EVERY) -> Array:
        """Cumulants of the log density of levels, `(order, c, k)`; each column may have a tilt."""

    @abstractmethod
    def levels_left_out(self, stats: Any, w: Any, kind: str, places: Any = EVERY) -> Array:
        """Scores of levels of the first class once a weight of each has left, `(k,)`.

        With places `(r, f)` and weights `(r, 1)`, those of cells, `(r, f)`; anything for a missing
        cell, of the place -1.
        """

    def log_moment(self, x: Array, s: Any) -> Array:
        places, which = distinct_places(self.at(x), self.bounds[-1])
        if np.ndim(s) == 0 or np.shape(s) == (len(self.sizes),):
            return pick(self.level_log_moment(s, places), which)
        s = np.broadcast_to(s, np.broadcast_shapes(np.shape(s), which.shape, self.proper.shape))
        values = np.zeros(s.shape, s.dtype if np.iscomplexobj(s) else float)
        for each in np.unique(s):
            np.copyto(values, pick(self.level_log_moment(each, places), which), where=s == each)
        return silent(which < 0, values)

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        places, which = distinct_places(self.at(x), self.bounds[-1])
        tables = self.level_cumulants(order, tilt, places)
        return np.stack([pick(table, which) for table in tables])

    def score_cumulants(self, x: Cells, tilt: float = 0.0, power: Power = 1.0) -> Array:
        if x.shape[0] * x.shape[1] >= self.bounds[-1]:
            tables = self.level_cumulants(ORDER, tilt * power)
            tables = of_powers(tables, self.per_level(power)).reshape(ORDER * len(self), -1)
            total = self.add_entries(x, tables_of(tables), len(tables), None, 1)
            return total.reshape(-1, ORDER, len(self)).swapaxes(0, 1)
        places, which = distinct_places(self.at(x[:]), self.bounds[-1])
        tables = self.level_cumulants(ORDER, tilt * power, places)
        tables = of_powers(tables, self.per_level(power, places))
        return np.moveaxis(Entries.of_table(which).added(tables), -1, 0)

    def score_transform(self, x: Cells, s: Array, power: Power = 1.0) -> Array:
        places, which = distinct_places(self.at(x[:]), self.bounds[-1])
        return Entries.of_table(which).added(self.level_log_moment(nodes(s) * power, places))

    def score_left_out(self, stats: Any, rows: RowsLeftOut) -> Array:
        if not rows.alike:
            return self.cells_left_out(stats, rows).sum(axis=1)
        # looked up by a kernel: five times as fast
        table = self.levels_left_out(stats, rows.each, rows.kind)
        return self.add_entries(rows.x, tables_of(table[None]), 1, None, 1)[:, 0]

    def cells_left_out(self, stats: Any, rows: RowsLeftOut) -> Array:
        places = self.at(rows.x[:])
        if rows.alike:
            return pick(self.levels_left_out(stats, rows.each, rows.kind), places)
        return silent(places < 0, self.levels_left_out(stats, rows.each, rows.kind, places))
