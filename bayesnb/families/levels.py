"""Columns of levels: their layout, how they are counted, and beliefs with tables by level.

The levels of the columns of a block lie end to end on the last axis of an array, so a column with
two levels takes two numbers, next to one with fifty. A family defines `level_log_moment` and
`level_cumulants`. Scores, transforms, cumulants and leave-one-out are sums of looked-up entries:

    place of a cell = start of its column + its code      score = sum over columns of table[place]

Levels can be those of columns, of a grid of numbers, or pairs of levels of two columns.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import iadd
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import ORDER, Array, Belief, Cells, Density, Parts, Power, Rng, Stats
from bayesnb.families.record import Linear, of_powers, raised, silent
from bayesnb.families.removal import RowsLeftOut
from bayesnb.families.sums import Entries, KernelTables, by_tables, distinct_places, made_at, nodes
from bayesnb.families.weight import Weight
from bayesnb.numerics import special
from bayesnb.numerics.special import log, ratio
from bayesnb.numerics.threads import in_order, pieces
from bayesnb.numerics.views import EVERY, INTEGERS, Coded, lanes, readable


class Layout(ABC):
    """How the levels of columns lie on the last axis of an array, `(..., k)`."""

    @abstractmethod
    def sums(self, values: Any, add: np.ufunc = np.add) -> Any:
        """Sums over the levels of each column; also of PyMC variables."""

    @abstractmethod
    def expand(self, totals: Array, places: Any = EVERY) -> Array:
        """Repeat the number of each column for its levels, the opposite of `sums`."""

    def per_level(self, numbers: Any, places: Any = EVERY) -> Any:
        """Expand numbers of columns, `(..., f)`, to the levels at some places; keep other
        numbers.
        """
        return numbers

    def totals(self, values: Array, add: np.ufunc = np.add) -> Array:
        """Sums over the levels of each column, broadcasting against the levels."""
        return self.expand(self.sums(values, add))

    def normalise(self, values: Array) -> Array:
        """Divide by the sum over each column's levels; uniform where the sum is 0."""
        total = self.totals(values)
        return np.where(total > 0, ratio(values, total), 1 / self.totals(np.ones_like(values)))


class OneColumn(Layout):
    """The levels of one column, on the last axis; all other axes are separate distributions."""

    def sums(self, values: Any, add: np.ufunc = np.add) -> Any:
        return values.sum(axis=-1) if add is np.add else add.reduce(values, axis=-1)

    def expand(self, totals: Array, places: Any = EVERY) -> Array:
        return totals[..., None]


class EndToEnd(Layout):
    """The levels of several columns, end to end; `sizes` are their numbers of levels."""

    sizes: tuple[int, ...]
    share: Any = 1.0  # base probability of each level, where theta is a ratio to it
    log_base: Array | None = None  # log density of all rows, if scores are relative to it

    @cached_property
    def bounds(self) -> Array:
        """Start of each column's levels, and the end of the last column."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @cached_property
    def columns(self) -> Array:
        """The column of each level."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def span(self, column: int) -> slice:
        """Positions of the levels of one column."""
        return slice(self.bounds[column], self.bounds[column + 1])

    def split(self, values: Any) -> list[Any]:
        """The part of each column, `(..., k)`."""
        return [values[..., self.span(j)] for j in range(len(self.sizes))]

    def parts(self, symbol: str, values: Array) -> Parts:
        """The part of each column, by its symbol."""
        return {(symbol, j): part for j, part in enumerate(self.split(values))}

    def sums(self, values: Any, add: np.ufunc = np.add) -> Any:
        if isinstance(values, np.ndarray):
            return add.reduceat(values, self.bounds[:-1], axis=-1)
        return values @ np.eye(len(self.sizes))[self.columns]

    def expand(self, totals: Array, places: Any = EVERY) -> Array:
        return totals[..., self.columns[places]]

    def per_level(self, numbers: Any, places: Any = EVERY) -> Any:
        by_column = np.shape(numbers)[-1:] == (len(self.sizes),)
        return self.expand(numbers, places) if by_column else numbers

    def places(self, x: Array) -> Array:
        """Position of each cell's level on the last axis; -1 for a missing cell."""
        level = as_level(x)
        return np.where(level < 0, -1, level + self.bounds[:-1])


@dataclass(frozen=True)
class ColumnLevels(EndToEnd):
    """Levels of columns, given their numbers."""

    sizes: tuple[int, ...]


ONE_COLUMN = OneColumn()


def layout_of(record: Any) -> EndToEnd:
    """The layout of a record; its last field is the layout or the numbers of levels."""
    return as_layout(record.layout_values[-1])


def as_layout(layout: Any) -> Any:
    return ColumnLevels(layout) if isinstance(layout, tuple) else layout


def only_column(record: Any, column: int) -> Any:
    """Return the part of a record for one of its columns."""
    one, (layout,) = slice(column, column + 1), record.layout_values
    fields = []
    for name in record.__match_args__:
        if name not in record.layout:
            part = one if name in record.by_column else record.levels.span(column)
            fields.append(getattr(record, name)[..., part])
    return type(record)(*fields, layout[one] if isinstance(layout, tuple) else layout.only(column))


class LevelStats(Stats):
    """Counts of levels."""

    levels: Any  # their Layout
    counts: Array

    @property
    def cells(self) -> Array | None:
        return self.levels.sums(self.counts)

    def mle_share(self) -> Array:
        """The frequency of each level, NaN for a column without cells."""
        total = self.levels.totals(self.counts)
        return np.where(total > 0, ratio(self.counts, total), np.nan)


class TableStats(LevelStats):
    """Counts of levels end to end, `(c, k)`. The last field is their layout."""

    levels = cached_property(layout_of)

    def expand(self, values: Array) -> Array:
        return self.levels.expand(values)

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None, *layouts: Any) -> Self:
        bounds = as_layout(*layouts).bounds
        levels, width, classes = bounds[-1], len(bounds) - 1, weight.classes

        def count_rows(rows: slice) -> Array:
            counts = np.zeros((levels, classes))
            labels = weight.codes[rows], weight.counts[rows]
            left_out = numerics.level_kernels.tally(codes_of(x, rows), bounds, *labels, counts)
            check_codes(x, left_out)
            return counts

        rows = pieces(x.shape[0], width, 4 * levels * classes // width)
        total = reduce(iadd, in_order(count_rows, rows, n_jobs))
        return cls(np.ascontiguousarray(total.T), *layouts)  # type: ignore[call-arg]


def codes_of(x: Cells, rows: slice) -> Array:
    """Some rows as integers for kernels."""
    cells = x.integers if isinstance(x, Coded) and x.plain else x
    part = cells[rows]
    return readable(part if part.dtype.kind == "i" else as_level(part), INTEGERS)


def check_codes(x: Cells, left_out: int) -> None:
    """Raise for codes beyond a column's levels, except in `Coded` tables, where they are unseen
    levels.
    """
    if left_out & 2 and not isinstance(x, Coded):
        raise IndexError("a code is not below the number of levels of its column.")


def as_level(x: Any) -> Array:
    """Codes of levels as integers; a missing one, NaN or negative, is -1."""
    x = np.asarray(x)
    return x.astype(np.intp) if x.dtype.kind in "bu" else np.where(x >= 0, x, -1).astype(np.intp)


def pick(table: Array, level: Array) -> Array:
    """Look up a table at levels, 0 where missing: `(..., k), (..., f) -> (..., f)`."""
    lead = np.broadcast_shapes(table.shape[:-1], level.shape[:-1])
    if not table.shape[-1]:  # all levels are missing
        return np.zeros(lead + level.shape[-1:])
    known = np.broadcast_to(np.maximum(level, 0), lead + level.shape[-1:])
    every = np.broadcast_to(table, lead + table.shape[-1:])
    return silent(level < 0, np.take_along_axis(every, known, axis=-1))


def draw_level(probability: Array, rng: Rng) -> Array:
    """Draw one level from each distribution, `(..., k) -> (...)`."""
    cumulative = np.cumsum(probability, axis=-1)
    quantile = np.random.default_rng(rng).uniform(size=cumulative.shape[:-1]) * cumulative[..., -1]
    return (quantile[..., None] >= cumulative).sum(axis=-1)


def tables_of(values: Array) -> KernelTables:
    """Prepare a table, `(lanes, k)`, for a kernel."""
    return KernelTables(lambda classes: (lanes(values[classes]),), values.shape)


def add_entries(
    bounds: Array, x: Cells, tables: KernelTables, out: Array, n_jobs: int | None = 1
) -> Array:
    """Add the entries of tables at the levels of the cells, summed over columns.

    Shapes: `(f + 1,), (r, f) -> (r, lanes)`.
    """

    def add(rows: slice, lanes_of_classes: tuple[Array], first: int, part: Array) -> None:
        arguments = codes_of(x, rows), bounds, *lanes_of_classes, first, part
        check_codes(x, numerics.level_kernels.score(*arguments))

    return by_tables(add, tables, x, out.shape[1], out, n_jobs)


def score_levels(record: Any, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
    """Sum the log density, or log predictive, of levels, times exponents of the columns."""
    levels = record.levels

    def make_tables(power: Any) -> KernelTables:
        return tables_of(raised(levels.per_level(power), record.level_log_moment(1.0)))

    out = np.zeros((x.shape[0], len(record))) if out is None else out
    return add_entries(levels.bounds, x, made_at(record, power, make_tables), out, n_jobs)


def base_of_cells(record: Any, x: Cells) -> Array | None:
    """Log density of all rows at each cell, `(r, f)`, if scores are relative to it."""
    base = record.levels.log_base
    return None if base is None else pick(base, record.levels.places(x[:]))


class LevelDensity(Density):
    """Known probabilities of the levels, or another theta with one number for each level."""

    theta: ClassVar[str] = "probability"
    kept: ClassVar[str] = "log_theta"
    symbols: ClassVar[dict[str, str]] = {"probability": "theta{}"}
    levels: Any  # their Layout
    probability: Array

    @classmethod
    def of_logs(cls, logs: Array, *layout: Any) -> Self:
        """Build from logs, which are kept: with small concentrations probabilities underflow."""
        density = cls(np.exp(logs), *layout)  # type: ignore[call-arg]
        density.__dict__["log_theta"] = logs
        return density

    @cached_property
    def log_theta(self) -> Array:
        return log(getattr(self, self.theta))

    def log_likelihood(self, stats: Any, xp: Any = np) -> Any:
        theta, stats = self.aligned(stats)
        with np.errstate(divide="ignore"):
            logs = xp.log(xp.where(stats.counts > 0, theta.probability, 1.0))
            return theta.levels.sums(stats.counts * logs)

    @property
    def proper(self) -> Array:
        return np.isfinite(self.levels.sums(getattr(self, self.theta)))

    def level_log_moment(self, s: Any, places: Any = EVERY) -> Array:
        """The log probability of the levels at some places, times s."""
        return raised(self.levels.per_level(s, places), self.log_theta[..., places])

    def linear(self) -> Linear | None:
        """Log probabilities of the levels as weights, `(c, k)`; no offset."""
        classes = len(self.log_theta)
        return Linear(self.log_theta.reshape(classes, -1), np.zeros(classes))


class TableDensity(LevelDensity):
    """A known theta with one number for each level, `(c, k)`. The last field is the layout."""

    by_column: ClassVar[tuple[str, ...]] = ()
    levels = cached_property(layout_of)
    add_scores = score_levels
    only = column = only_column  # type: ignore[assignment]

    def parts(self) -> Parts:
        return self.levels.parts(self.symbols[self.theta], getattr(self, self.theta))

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        columns = [parts[cls.symbols[cls.theta], j] for j in range(len(like.levels.sizes))]
        return cls(np.concatenate(columns, axis=-1), *like.layout_values)  # type: ignore[call-arg]

    def log_density(self, x: Array) -> Array:
        return pick(self.log_theta, self.levels.places(x))

    def sample(self, rng: Rng) -> Array:
        rng = np.random.default_rng(rng)
        probability = getattr(self, self.theta) * self.levels.share
        return np.stack([draw_level(p, rng) for p in self.levels.split(probability)], axis=-1)


@dataclass(frozen=True, eq=False)
class RatioDensity(TableDensity):
    """Ratios of level probabilities to a known base, `(c, k)`: the shares of all rows on a grid, or
    the probabilities of pairs of independent levels.

    Pairs are drawn as if all levels of both columns were equally probable, as the ratios alone do
    not determine the margins.
    """

    symbols: ClassVar[dict[str, str]] = {"ratio": "ratio{}"}
    layout: ClassVar[tuple[str, ...]] = ("relative_to",)
    theta: ClassVar[str] = "ratio"
    cell_log_base = base_of_cells
    ratio: Array
    relative_to: EndToEnd

    @property
    def probability(self) -> Array:  # type: ignore[override]
        """The class's share of each level, `(c, k)`."""
        return self.ratio * self.levels.share

    def log_likelihood(self, stats: Any, xp: Any = np) -> Any:
        return self.levels.sums(special.times(stats.counts, self.log_theta))

    def linear(self) -> None:
        """None: levels of a grid, or pairs of levels, are not columns of a table."""

    def contributed(self, x: Cells, power: Power, words: Array | None = None) -> Array:
        logs = self.log_density(x[:, None])
        base = self.cell_log_base(x)
        return raised(power, logs if base is None else logs + base[:, None])


class LevelBelief(Belief):
    """Base of beliefs that compute moments and cumulants once per level and look them up by cell.

    The last field is the layout of the levels.
    """

    by_column: ClassVar[tuple[str, ...]] = ()  # fields with a number for each column, `(..., f)`
    levels = cached_property(layout_of)
    add_scores = score_levels
    cell_log_base = base_of_cells
    only = column = only_column  # type: ignore[assignment]

    @abstractmethod
    def level_log_moment(self, s: Any, places: Any = EVERY) -> Array:
        """K(s) of the levels at some places, `(..., c, k)`.

        s is a number, or one for each column, `(f,)`, perhaps times the points of a transform, `(n,
        1, 1)`.
        """

    @abstractmethod
    def level_cumulants(self, order: int, tilt: Any = 0.0, places: Any = EVERY) -> Array:
        """Cumulants of the log density of levels, `(order, c, k)`; `tilt` may differ by column."""

    @abstractmethod
    def levels_left_out(self, stats: Any, w: Any, kind: str, places: Any = EVERY) -> Array:
        """Leave-one-out scores of the levels of the first class, for rows of weight w, `(k,)`.

        With places `(r, f)` and weights `(r, 1)`, scores of cells, `(r, f)`; arbitrary for missing
        cells, at place -1.
        """

    def distinct(self, x: Array) -> tuple[Array, Array]:
        """The distinct places of cells, and the index of each cell among them."""
        return distinct_places(self.levels.places(x), self.levels.bounds[-1])

    def log_moment(self, x: Array, s: Any) -> Array:
        places, which = self.distinct(x)
        if np.ndim(s) == 0 or np.shape(s) == (len(self.levels.sizes),):
            return pick(self.level_log_moment(s, places), which)
        s = np.broadcast_to(s, np.broadcast_shapes(np.shape(s), which.shape, self.proper.shape))
        values = np.zeros(s.shape, s.dtype if np.iscomplexobj(s) else float)
        for each in np.unique(s):
            np.copyto(values, pick(self.level_log_moment(each, places), which), where=s == each)
        return silent(which < 0, values)

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        places, which = self.distinct(x)
        tables = self.level_cumulants(order, tilt, places)
        return np.stack([pick(table, which) for table in tables])

    def score_cumulants(self, x: Cells, tilt: float = 0.0, power: Power = 1.0) -> Array:
        if x.shape[0] * x.shape[1] >= self.levels.bounds[-1]:
            tables = self.level_cumulants(ORDER, tilt * power)
            tables = of_powers(tables, self.levels.per_level(power)).reshape(ORDER * len(self), -1)
            return self.add_up(x, tables).reshape(-1, ORDER, len(self)).swapaxes(0, 1)
        places, which = self.distinct(x[:])
        tables = self.level_cumulants(ORDER, tilt * power, places)
        tables = of_powers(tables, self.levels.per_level(power, places))
        return np.moveaxis(Entries.of_table(which).added(tables), -1, 0)

    def add_up(self, x: Cells, table: Array) -> Array:
        """Sum a table's entries at the levels of cells over columns, `(r, f), (n, k) -> (r, n)`."""
        out = np.zeros((x.shape[0], len(table)))
        return add_entries(self.levels.bounds, x, tables_of(table), out)

    def score_transform(self, x: Cells, s: Array, power: Power = 1.0) -> Array:
        places, which = self.distinct(x[:])
        return Entries.of_table(which).added(self.level_log_moment(nodes(s) * power, places))

    def score_left_out(self, stats: Any, rows: RowsLeftOut) -> Array:
        if not rows.alike:
            return self.cells_left_out(stats, rows).sum(axis=1)
        # the kernel's lookup is five times as fast
        table = self.levels_left_out(stats, rows.each, rows.kind)
        return self.add_up(rows.x, table[None])[:, 0]

    def cells_left_out(self, stats: Any, rows: RowsLeftOut) -> Array:
        places = self.levels.places(rows.x[:])
        if rows.alike:
            return pick(self.levels_left_out(stats, rows.each, rows.kind), places)
        return silent(places < 0, self.levels_left_out(stats, rows.each, rows.kind, places))
