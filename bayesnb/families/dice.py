"""Dice laid end to end: columns of levels, each with a number of levels of its own, on one axis."""

from abc import abstractmethod
from functools import cached_property, reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import Array, Cells, Parts
from bayesnb.families.dirichlet import Levels, LevelStats, as_level
from bayesnb.families.tables import Tables, by_tables
from bayesnb.families.weight import Weight, hard
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
    """Dice laid end to end on the last axis; `sizes` are their numbers of levels."""

    layout: ClassVar[tuple[str, ...]] = ("sizes",)
    sizes: tuple[int, ...]

    @property
    def starts(self) -> Array:
        return self.bounds[:-1]

    @cached_property
    def bounds(self) -> Array:
        """Where each die starts, and where the last ends."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def only(self, feature: int) -> Any:
        """The dice of one column."""
        span = slice(self.bounds[feature], self.bounds[feature + 1])
        arrays = [getattr(self, name)[:, span] for name in self.__match_args__ if name != "sizes"]
        return type(self)(*arrays, self.sizes[feature : feature + 1])  # type: ignore[call-arg]

    def per_die(self, values: Array) -> Array:
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

    def added(self, x: Cells, tables: Tables, lanes: int, out: Array | None, n_jobs: int | None) -> Array:
        """The entries of tables at the levels of the cells, summed over features, `(r, f) -> (r, lanes)`."""

        def add(rows: slice, own: tuple[Array], first: int, part: Array) -> None:
            note(x, numerics.level_kernels.score(codes_of(x, rows), self.bounds, *own, first, part))

        return by_tables(add, tables, x, lanes, out, n_jobs)

    @cached_property
    def _tables(self) -> Tables:
        return self._powered(1)

    def _powered(self, power: float) -> Tables:
        return tables_of(self.level_log_moment(power))  # type: ignore[attr-defined]

    def parts(self) -> Parts:
        return {
            (symbol, feature): array[..., self.span(feature)]
            for (symbol, _), array in super().parts().items()
            for feature in range(len(self.sizes))
        }

    def span(self, feature: int) -> slice:
        return slice(self.starts[feature], self.starts[feature] + self.sizes[feature])


def tables_of(worth: Array) -> Tables:
    """A table's lanes, `(lanes, k)`."""
    return Tables(lambda some: (lanes(worth[some]),), worth.shape)


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
