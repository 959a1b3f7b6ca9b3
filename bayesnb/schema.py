"""What was learnt about a table's columns: their blocks and levels. Every later table is read into the same blocks."""

import warnings
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from bayesnb.cells import read_numbers, refuse_extremes
from bayesnb.declaration import families_of
from bayesnb.families import Codes
from bayesnb.families.base import Array, Cells, Family, Stats
from bayesnb.model import Model, Observer, Product, ProductStats
from bayesnb.priors import ClassDie
from bayesnb.table import Table

MOST_CODES = 1 << 24
Levels = tuple[Any, ...]
Unseen = dict[Hashable, Counter]


class UnseenLevelWarning(UserWarning):
    """Cells hold levels that training never saw; they were left out, for all classes alike."""


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of one family, read and modelled together."""

    family: Family
    names: tuple[Hashable, ...]
    places: tuple[int, ...]
    levels: tuple[Levels, ...] = ()  # of each column, for a family with levels

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """The names of its features: its columns, or all of them at once for a family over the whole block."""
        return (self.names if len(self.names) > 1 else self.names[0],) if self.family.whole else self.names

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many levels each column has, the reserved one included; a column without any keeps a die of one."""
        return tuple(max(len(levels) + (self.family.unseen == "reserve"), 1) for levels in self.levels)

    def observe(self, x: Cells, weight: sparse.csc_array) -> Stats:
        return self.family.observe(x, weight, self.sizes)

    def learn(self, table: Table) -> Self:
        """The block with the levels of this table besides its own, at their end."""
        if self.family.cells != "level":
            return self
        old = self.levels or ((),) * len(self.names)
        return replace(self, levels=tuple(self._levels(table, j, known) for j, known in enumerate(old)))

    def _levels(self, table: Table, j: int, known: Levels) -> Levels:
        said, name = self.family.levels, self.names[j]
        if isinstance(said, tuple):
            return said
        declared, found = table.declared(self.places[j]), table.distinct(self.places[j]).values
        if isinstance(said, Codes) and declared is None and any(map(_is_number, found)):
            return _codes(name, known, found, int(np.broadcast_to(said.least, len(self.names))[j]))
        old = set(known)
        new = [level for level in declared or () if level not in old]
        return known + tuple(new) + tuple(sorted(set(found) - old - set(new)))

    def read(self, table: Table, unseen: Unseen) -> Cells:
        """The block's cells, checked; levels that are not known are counted in `unseen`."""
        if self.family.cells == "level":
            return np.column_stack([self._encode(table, j, unseen) for j in range(len(self.names))])
        return read_numbers(self.family, self.names, table.numbers(self.places))

    def _encode(self, table: Table, j: int, unseen: Unseen) -> Array:
        found = table.distinct(self.places[j])
        place = {level: code for code, level in enumerate(self.levels[j])}
        known = np.array([place.get(value, -2) for value in found.values] + [-1], np.intp)
        codes = known[found.codes]
        if (codes == -2).any():
            times = np.bincount(found.codes[codes == -2])
            unseen[self.names[j]] = Counter({found.values[at]: int(times[at]) for at in np.flatnonzero(times)})
        return np.where(codes == -2, len(self.levels[j]) if self.family.unseen == "reserve" else -1, codes)


@dataclass(frozen=True, eq=False)
class Schema:
    """The columns of a table and the blocks that are modelled."""

    columns: tuple[Hashable, ...]
    blocks: tuple[Block, ...]

    @classmethod
    def learn(cls, table: Table, families: Any) -> Self:
        said = families_of(families, table)
        if not said:
            raise ValueError("every column is dropped: at least one needs a family.")
        names = [tuple(table.columns[place] for place in places) for _, places in said]
        blocks = (Block(family, own, tuple(places)) for (family, places), own in zip(said, names, strict=True))
        return cls(table.columns, tuple(block.learn(table) for block in blocks))

    def grown(self, table: Table) -> Self:
        """The schema that also knows this table's levels."""
        return replace(self, blocks=tuple(block.learn(table) for block in self.blocks))

    def read(self, table: Table) -> list[Cells]:
        """The cells of every block. Unseen levels follow their family's policy; one warning names them all."""
        quiet: Unseen = {}
        cells = []
        for block in self.blocks:
            unseen: Unseen = {}
            cells.append(block.read(table, unseen))
            if unseen and block.family.unseen == "error":
                advice = "Fit on rows that have them, declare `levels`, or choose unseen='ignore' or 'reserve'."
                raise ValueError(f"{_told(unseen)} {advice}")
            if block.family.unseen == "ignore":
                quiet |= unseen
        if quiet:
            message = f"{_told(quiet)} The cells are left out, for all classes alike."
            warnings.warn(message, UnseenLevelWarning, stacklevel=4)
        return cells

    @property
    def observers(self) -> list[Observer]:
        """What makes stats of each block's cells."""
        return [block.observe for block in self.blocks]

    def refuse_extremes(self, cells: Sequence[Cells]) -> None:
        """Raise for a column of numbers that floats cannot square, before anything is learnt from it."""
        for block, x in zip(self.blocks, cells, strict=True):
            if block.family.cells == "real" and x.dtype.kind == "f":
                refuse_extremes(block.names, x)

    def start(self, die: ClassDie, stats: ProductStats) -> Model:
        """A model of the first rows; priors may take their scale from them."""
        beliefs = (block.family.belief(seen) for block, seen in zip(self.blocks, stats.blocks, strict=True))
        return Model(Product(die(stats.classes), tuple(beliefs)), stats)

    def extend(self, model: Model, die: ClassDie, new: ProductStats) -> Model:
        """The model with more rows; where columns have new levels, its stats and prior get room for them."""
        prior, old = list(model.prior.blocks), list(model.stats.blocks)
        for b, block in enumerate(self.blocks):
            if block.sizes and block.sizes != old[b].sizes:  # type: ignore[attr-defined]
                old[b] = old[b].grown(block.sizes)  # type: ignore[attr-defined]
                prior[b] = block.family.belief(old[b])
        stats = replace(model.stats, blocks=tuple(old)) + new
        return Model(Product(die(stats.classes), tuple(prior)), stats)

    @property
    def keys(self) -> list[tuple[Hashable, int, int]]:
        """Every feature's name, its block and its place there, in the table's order."""
        found = [(key, b, f) for b, block in enumerate(self.blocks) for f, key in enumerate(block.keys)]
        return sorted(found, key=lambda at: self.blocks[at[1]].places[at[2]])

    @property
    def families(self) -> dict[Hashable, Family]:
        """Column -> family, in the table's order."""
        family = {name: block.family for block in self.blocks for name in block.names}
        return {name: family[name] for name in self.columns if name in family}


def _codes(name: Hashable, known: Levels, found: Levels, least: int) -> Levels:
    """0, 1, ... up to the largest code, as scikit-learn counts; a column without any whole number has plain levels."""
    every = known + tuple(sorted(set(found) - set(known)))
    whole = [value for value in every if _is_whole(value)]
    if min(every) < 0 or max(every) == np.inf:
        odd = min(every) if min(every) < 0 else max(every)
        raise ValueError(f"Negative values in data passed as codes, or infinite ones: column {name!r} holds {odd}.")
    if not whole:
        return every
    if len(whole) < len(every):
        odd = next(value for value in every if not _is_whole(value))
        raise ValueError(
            f"column {name!r} holds {odd}: codes of categories are 0, 1, 2, ... "
            "For other levels: NaiveBayes(Categorical())."
        )
    size = max(int(max(whole)) + 1, least)
    if size > MOST_CODES:
        raise ValueError(
            f"column {name!r} holds the code {size - 1}, which would make {size} levels. "
            "NaiveBayes(Categorical()) takes any values as levels, and only those that occur."
        )
    return tuple(range(size))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _is_whole(value: Any) -> bool:
    return _is_number(value) and float(value).is_integer()


def _told(unseen: Unseen) -> str:
    parts = []
    for name, times in unseen.items():
        shown = ", ".join(f"{level!r} ({count} times)" for level, count in times.most_common(5))
        more = ", ..." if len(times) > 5 else ""
        parts.append(f"column {name!r} has levels that the model does not know: {shown}{more}")
    return "; ".join(parts) + "."
