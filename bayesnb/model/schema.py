"""What was learnt about a table's columns: their blocks and levels. Every later table is read into the same blocks."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_
from typing import Any, Self

import numpy as np

from bayesnb.data import Blank, Table, blank_of
from bayesnb.data.cells import (
    are_whole,
    check,
    coded,
    counted,
    listed,
    of_integers,
    read_numbers,
    refuse_extremes,
)
from bayesnb.data.declaration import families_of
from bayesnb.data.levels import Levels, codes_up_to, compact, extended, is_number, places_among, united_levels
from bayesnb.data.unseen import NEVER_LEARNT, Unseen, told, warn
from bayesnb.families import Codes
from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.family import Family
from bayesnb.families.record import fields_alone
from bayesnb.families.weight import Weight
from bayesnb.model.averaging import averaging, included_of
from bayesnb.model.class_prior import ClassPriorRule
from bayesnb.model.product import Model, Observer, Product, ProductStats
from bayesnb.numerics.views import Coded, Lookup, WordCounts


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of one family, read and modelled together."""

    family: Family
    names: Sequence[Hashable]
    places: Sequence[int]
    levels: tuple[Levels, ...] = ()  # of each column, for a family with levels
    included: Array | None = None  # how probably each feature depends on the class; None: all do

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", compact(self.names))
        object.__setattr__(self, "levels", tuple(map(compact, self.levels)))

    @classmethod
    def of(cls, family: Family, table: Table, places: Sequence[int]) -> Self:
        """Consecutive columns are kept as a range, which is quicker to compare than fifty thousand numbers."""
        together = range(places[0], places[0] + len(places))
        if isinstance(places, range) or list(together) == list(places):
            return cls(family, table.columns[together.start : together.stop], together)
        return cls(family, tuple(table.columns[place] for place in places), tuple(places))

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """The names of its features: its columns, or all of them at once for a family over the whole block."""
        names = tuple(self.names)
        return (names if len(names) > 1 else names[0],) if self.family.whole else names

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many levels each column has, the reserved one included; a column without any keeps a die of one."""
        return tuple(max(len(levels) + (self.family.unseen == "reserve"), 1) for levels in self.levels)

    @property
    def words(self) -> Sequence[Hashable]:
        """What its numbers are numbers of: its columns, or the words of its column of lists."""
        if not self.family.listed:
            return self.names
        return (*self.levels[0], *["(unseen)"] * (self.sizes[0] - len(self.levels[0])))

    @property
    def word_places(self) -> Sequence[int]:
        """Where in the table they are."""
        return [self.places[0]] * self.sizes[0] if self.family.listed else self.places

    @property
    def _unknown(self) -> Array:
        """The code of a level that is not known: the reserved one, or none."""
        reserve = self.family.unseen == "reserve"
        return np.array([len(levels) if reserve else -2 for levels in self.levels], np.int64)

    @cached_property
    def _whole(self) -> Lookup | None:
        return of_integers(self.levels, self._unknown)

    def __getstate__(self) -> dict[str, Any]:
        return fields_alone(self)

    def observe(self, x: Cells, weight: Weight, n_jobs: int | None) -> Stats:
        return self.family.observe(x, weight, self.sizes, n_jobs)

    def belief(self, stats: Any) -> Belief:
        """The prior, which may take its scale from the stats."""
        prior = self.family.belief(stats)
        return prior if self.included is None else averaging(prior, self.included, self.keys)

    def is_whole(self, x: Cells) -> bool:
        """Whether everything that was counted is a whole number."""
        return not self.family.fractional or are_whole(x)

    def learn(self, table: Table) -> Self:
        """The block with the levels of this table besides its own, at their end."""
        if not self.family.has_levels and not self.family.listed:
            return self
        old = self.levels or ((),) * len(self.names)
        if isinstance(self.family.levels, tuple):
            return replace(self, levels=(self.family.levels,) * len(self.names))
        pairs = enumerate(zip(old, self._found(table), strict=True))
        levels = (self._levels(table, j, known, seen) for j, (known, seen) in pairs)
        return self.with_levels(tuple(levels))

    def _found(self, table: Table) -> Sequence[Any]:
        """What each column holds: its distinct values or words, or where its integers begin and end."""
        if self.family.listed:
            return [table.lists(place).words for place in self.places]
        codes = isinstance(self.family.levels, Codes) and table.extent(self.places[0]) is not None
        return [table.extent(place) for place in self.places] if codes else table.found(self.places)

    def united(self, other: Self) -> Self:
        """The block with the levels of both."""
        return self.with_levels(tuple(map(united_levels, self.names, self.levels, other.levels)))

    def beginning(self, known: Self) -> Self:
        """The block with the levels of another in their places, and its own others after them."""
        pairs = zip(known.levels, self.levels, strict=True)
        return self.with_levels(tuple(extended(old, own) for old, own in pairs))

    def with_levels(self, levels: tuple[Levels, ...]) -> Self:
        """The block with these levels; itself, where they are its own."""
        block = replace(self, levels=levels)
        return self if block.levels == self.levels else block

    def places_in(self, other: Self) -> Array:
        """Where its levels, the dice end to end, stand among those of a block that has them too."""
        return places_among(self.levels, other.levels, other.sizes, self.family.unseen == "reserve")

    def _levels(self, table: Table, j: int, known: Levels, found: Any) -> Levels:
        said, declared = self.family.levels, table.declared(self.places[j])
        if isinstance(said, Codes) and declared is None and any(map(is_number, found)):
            return codes_up_to(self.names[j], known, found, said.least_of(j, len(self.names)))
        old = set(known)
        new = [level for level in declared or () if level not in old]
        return (*known, *new, *sorted(set(found) - old - set(new)))

    def read(self, table: Table) -> Cells:
        """The block's cells. What is wrong with them is found out later, by `check`."""
        if self.family.has_levels:
            return coded(table, self.places, self.levels, self._unknown, self._whole)
        if self.family.listed:
            return counted(table.lists(self.places[0]), self.levels[0], int(self._unknown[0]), self.sizes[0])
        return read_numbers(self.family, self.names, table.numbers(self.places), table.n_jobs)

    def unseen(self, x: Coded | WordCounts) -> Unseen:
        """The levels in cells that are not known, and how often each occurs, column by column."""
        return {name: times for name, times in zip(self.names, x.unknown_levels(), strict=True) if times}

    def write(self, drawn: Array, rng: Any) -> Array:
        """Cells that `read` would read as those drawn, `(r, f)`; a level that has no name becomes a missing cell.

        Words of lists come in a random order, without those that have no name.
        """
        if self.family.listed:
            return listed(drawn, self.levels[0], rng)
        if self.family.has_levels:
            return np.where(drawn < [len(levels) for levels in self.levels], drawn, -1)
        return self.family.written(drawn)

    def check(self, x: Cells) -> None:
        """Raise if a cell is bad; asked when the numbers that came of the cells say so."""
        if not self.family.has_levels:
            check(self.family, self.names, x)


@dataclass(frozen=True, eq=False)
class Schema:
    """The columns of a table and the blocks that are modelled."""

    columns: Sequence[Hashable]
    blocks: tuple[Block, ...]
    blank: Blank  # to be filled with new rows

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", compact(self.columns))

    @classmethod
    def learn(cls, table: Table, families: Any, average: Any = None) -> Self:
        said = families_of(families, table)
        if not said:
            raise ValueError("every column is dropped: at least one needs a family.")
        blocks = [Block.of(family, table, places) for family, places in said]
        if average is not None:
            included = included_of(average, [block.keys for block in blocks])
            blocks = [replace(block, included=own) for block, own in zip(blocks, included, strict=True)]
        return cls(table.columns, tuple(block.learn(table) for block in blocks), table.blank)

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: the blank as plain values, which any serialiser keeps, if it has such a form."""
        try:
            blank: Any = self.blank.recipe({place for block in self.blocks for place in block.places})
        except ValueError:
            blank = self.blank
        return fields_alone(self) | {"blank": blank}

    def __setstate__(self, state: dict[str, Any]) -> None:
        blank = state["blank"]
        self.__dict__.update(state, blank=blank_of(blank, len(state["columns"])) if isinstance(blank, dict) else blank)

    @property
    def of_documents(self) -> bool:
        """Whether a row is one list of words."""
        return len(self.columns) == 1 and self.blocks[0].family.listed

    def grown(self, table: Table) -> Self:
        """The schema that also knows this table's levels."""
        if not any(block.levels for block in self.blocks):
            return self
        return self.with_blocks([block.learn(table) for block in self.blocks])

    def with_blocks(self, blocks: Sequence[Block]) -> Self:
        """The schema with these blocks; itself, where they are its own."""
        return self if all(map(is_, blocks, self.blocks)) else replace(self, blocks=tuple(blocks))

    def read(self, table: Table) -> list[Cells]:
        """The cells of every block."""
        return [block.read(table) for block in self.blocks]

    @property
    def observers(self) -> list[Observer]:
        """What makes stats of each block's cells."""
        return [block.observe for block in self.blocks]

    def are_whole(self, cells: Sequence[Cells], weight: Array | None) -> bool:
        """Whether rows count as often as whole numbers say, and hold such."""
        once = weight is None or bool((weight == np.floor(weight)).all())
        return once and all(block.is_whole(x) for block, x in zip(self.blocks, cells, strict=True))

    def check_stats(self, cells: Sequence[Cells], stats: ProductStats) -> None:
        """Raise for cells that gave stats that no numbers have, before anything is learnt from them."""
        for block, x, seen in zip(self.blocks, cells, stats.blocks, strict=True):
            if block.family.shows_invalid and (columns := seen.odd_columns()).size:  # type: ignore[attr-defined]
                block.check(x)
                refuse_extremes(block.names, x, columns)

    def check_cells(self, cells: Sequence[Cells]) -> None:
        """Raise for a bad cell, if there is one."""
        for block, x in zip(self.blocks, cells, strict=True):
            block.check(x)

    def tell_unseen(self, cells: Sequence[Cells]) -> None:
        """Levels that the model does not know, once they were read: one warning names them all, or one error."""
        quiet: Unseen = {}
        for block, x in self._met(cells):
            if block.family.unseen == "error":
                advice = "Fit on rows that have them, declare `levels`, or choose unseen='ignore' or 'reserve'."
                raise ValueError(f"{told(block.unseen(x))} {advice}")
            quiet |= block.unseen(x) if block.family.unseen == "ignore" else {}
        if quiet:
            warn(quiet)

    def refuse_unseen(self, cells: Sequence[Cells]) -> None:
        """Raise for levels that cannot have been learnt; where they are declared, others were left out or reserved."""
        for block, x in self._met(cells):
            if not isinstance(block.family.levels, tuple) or block.family.unseen == "error":
                raise ValueError(f"{told(block.unseen(x))} {NEVER_LEARNT}")

    def _met(self, cells: Sequence[Cells]) -> Iterator[tuple[Block, Coded | WordCounts]]:
        """The blocks some of whose cells, once they were read, had levels that are not known."""
        for block, x in zip(self.blocks, cells, strict=True):
            if isinstance(x, Coded | WordCounts) and x.met:
                yield block, x

    def start(self, die: ClassPriorRule, stats: ProductStats, whole: bool = True) -> Model:
        """A model of the first rows; priors may take their scale from them."""
        beliefs = (block.belief(seen) for block, seen in zip(self.blocks, stats.blocks, strict=True))
        return Model(Product(die(stats.classes), tuple(beliefs)), stats, whole)

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

    @property
    def declared(self) -> dict[Hashable, Family]:
        """The same, but columns that are modelled jointly are one entry, by their names; words are not."""
        every = [
            (place, key, block.family)
            for block in self.blocks
            for place, key in zip(block.places, block.names if block.family.words else block.keys, strict=False)
        ]
        return {key: family for _, key, family in sorted(every, key=lambda own: own[0])}
