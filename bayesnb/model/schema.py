"""What was learnt about a table's columns: their blocks and levels.

Every later table is read into the same blocks.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from bayesnb.data import Table, TableTemplate
from bayesnb.data.cells import (
    are_whole,
    as_cells,
    check,
    count_words,
    encode_levels,
    integer_lookup,
    read_numbers,
    refuse_extremes,
    sample_word_lists,
)
from bayesnb.data.families import FamilyColumns
from bayesnb.data.levels import (
    MOST_SPANNED,
    NEVER_LEARNT,
    Levels,
    Unseen,
    codes_up_to,
    compact,
    extended,
    is_number,
    places_among,
    united_levels,
    unseen_message,
    warn,
)
from bayesnb.families import Choice, Codes
from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.family import Family
from bayesnb.families.grid import Grid
from bayesnb.families.record import fields_alone
from bayesnb.families.weight import Weight
from bayesnb.formatting import list_names
from bayesnb.model.product import Observer, ProductStats
from bayesnb.numerics.views import EVERY, Coded, Lookup, WordCounts, as_numbers

MAX_NAMED = 8  # columns of a family
UNKNOWN_CODE = -2  # of a level that was never learnt
OTHER_LINKS = (
    "the links between columns are not the same in both parts, as each part finds them in its "
    "first table. Continue one part from the other with partial_fit, or fit both with "
    "dependence=None."
)


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of one family, read and modelled together."""

    family: Family
    names: Sequence[Hashable]
    places: Sequence[int]
    levels: tuple[Levels, ...] = ()  # of each column, for a family with levels
    # of numbers that are read as codes of levels; learnt once, from the first table
    grid: Grid | None = None
    is_linked: ClassVar[bool] = False  # it is about pairs of other blocks' columns

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", compact(self.names))
        object.__setattr__(self, "levels", tuple(map(compact, self.levels)))

    @classmethod
    def of(cls, family: Family, table: Table, places: Sequence[int]) -> Self:
        """Make a block of columns.

        Consecutive places are kept as a range, which is quick to compare.
        """
        together = range(places[0], places[0] + len(places))
        if isinstance(places, range) or list(together) == list(places):
            return cls(family, table.columns[together.start : together.stop], together)
        return cls(family, tuple(table.columns[place] for place in places), tuple(places))

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """Names of the block's features: its columns, or all of them at once.

        The latter for a family over the whole block.
        """
        names = tuple(self.names)
        return (names if len(names) > 1 else names[0],) if self.family.multivariate else names

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each column, the reserved one included.

        1 for a column without any.
        """
        if self.grid is not None:
            return self.grid.sizes
        return tuple(
            max(len(levels) + (self.family.unseen == "reserve"), 1) for levels in self.levels
        )

    @property
    def words(self) -> Sequence[Hashable]:
        """Names of what the block's numbers count or measure.

        These are its columns, or the words of its column of lists.
        """
        if not self.family.listed:
            return self.names
        return (*self.levels[0], *["(unseen)"] * (self.sizes[0] - len(self.levels[0])))

    @property
    def starts(self) -> Sequence[Array]:
        """Where the levels of each column's grid begin; none where the block has no grid."""
        grid = self.grid
        return [] if grid is None else np.split(grid.ends[0], grid.bounds[1:-1])

    @property
    def feature_places(self) -> Sequence[int]:
        """Places in the table by which features are ordered."""
        return self.places

    @property
    def word_places(self) -> Sequence[int]:
        """Places of the `words` in the table."""
        return [self.places[0]] * self.sizes[0] if self.family.listed else self.places

    @property
    def declares_levels(self) -> bool:
        """Whether the levels are declared, so that rows to learn from may have others."""
        return isinstance(self.family.levels, tuple)

    @property
    def _unknown(self) -> Array:
        """Codes of levels that are not known, by column: the reserved one, or -2 for none."""
        reserve = self.family.unseen == "reserve"
        codes = [len(levels) if reserve else UNKNOWN_CODE for levels in self.levels]
        return np.array(codes, np.int64)

    @cached_property
    def _whole(self) -> Lookup | None:
        return integer_lookup(self.levels, self._unknown)

    def __getstate__(self) -> dict[str, Any]:
        return fields_alone(self)

    def observe(self, x: Cells, weight: Weight, n_jobs: int | None) -> Stats:
        return self.family.observe(
            x, weight, self.sizes if self.grid is None else self.grid, n_jobs
        )

    def belief(self, stats: Any) -> Belief:
        """Return the prior, which may take its scale from the stats."""
        try:
            return self.family.belief(stats)
        except ValueError as error:
            what = "column" if len(self.names) == 1 else "columns"
            raise ValueError(f"{what} {list_names(self.names, MAX_NAMED, repr)}: {error}") from None

    def is_whole(self, x: Cells) -> bool:
        """Return whether everything that was counted is a whole number."""
        return not self.family.fractional or are_whole(x)

    def learn(self, table: Table, weight: Array | None = None) -> Self:
        """Return the block with the levels of this table after those it has.

        Or with its grid, if it has none.
        """
        if self.family.has_grid:
            return (
                self
                if self.grid is not None
                else replace(self, grid=self._learnt_grid(table, weight))
            )
        if not self.family.has_levels and not self.family.listed:
            return self
        if self.declares_levels:
            return replace(self, levels=(self.family.levels,) * len(self.names))
        old = self.levels or ((),) * len(self.names)
        pairs = enumerate(zip(old, self._contents(table), strict=True))
        levels = (self._levels(table, j, known, seen) for j, (known, seen) in pairs)
        return self.with_levels(tuple(levels))

    def grids(self) -> Iterator[tuple[int, Grid]]:
        """Yield the place of each column that is on a grid, and its grid."""
        if self.grid is not None:
            yield from ((place, self.grid.only(j)) for j, place in enumerate(self.places))

    def on_grids(self, grids: Mapping[int, Grid]) -> Self:
        """Return the block on the grids of its columns, by their places.

        As it is, if not all are there.
        """
        known = self.family.has_grid and all(place in grids for place in self.places)
        return (
            replace(self, grid=Grid.side_by_side([grids[place] for place in self.places]))
            if known
            else self
        )

    def _learnt_grid(self, table: Table, weight: Array | None) -> Grid:
        x = as_cells(self.family, table.numbers(self.places))
        return self.family.grid_of(x, weight, table.n_jobs)  # type: ignore[attr-defined]

    def _contents(self, table: Table) -> Sequence[Any]:
        """Return the distinct values or words of each column.

        Of integers, where they begin and end.
        """
        if self.family.listed:
            return [table.lists(place).words for place in self.places]
        if isinstance(self.family.levels, Codes):
            extents = [table.extent(place) for place in self.places]
            if all(extent is not None and extent[1] < MOST_SPANNED for extent in extents):
                return extents
        return table.distinct_values(self.places)

    def united(self, other: Self) -> Self:
        """Return the block with the levels of two blocks; raise where their grids differ."""
        if self.grid is not None and other.grid is not None and not self.grid.same(other.grid):
            name = self.names[0]
            kind = type(self.family).__name__
            raise ValueError(
                f"column {name!r}: the cuts of its {kind} are not the same in both parts, as each "
                "takes them from its first table. Continue one part from the other with "
                "partial_fit, or declare the cuts for both, as increasing numbers: "
                f"families={{{name!r}: {kind}(cuts=[...])}}."
            )
        if self.grid is not None:
            return self
        return self.with_levels(tuple(map(united_levels, self.names, self.levels, other.levels)))

    def beginning(self, known: Self) -> Self:
        """Return the block with another's levels in their places, and its own others after them."""
        if self.grid is not None:
            return self
        pairs = zip(known.levels, self.levels, strict=True)
        return self.with_levels(tuple(extended(old, levels) for old, levels in pairs))

    def with_levels(self, levels: tuple[Levels, ...]) -> Self:
        """Return the block with these levels; the same block, where it has them."""
        block = replace(self, levels=levels)
        return self if block.levels == self.levels else block

    def places_in(self, other: Self) -> Array:
        """Return the places of the levels of all columns among those of a wider block.

        Levels of all columns lie end to end.
        """
        return places_among(self.levels, other.levels, other.sizes, self.family.unseen == "reserve")

    def _levels(self, table: Table, j: int, known: Levels, values: Any) -> Levels:
        levels = self.family.levels
        declared = table.declared(self.places[j])
        if isinstance(levels, Codes) and declared is None and any(map(is_number, values)):
            return codes_up_to(self.names[j], known, values, levels.least_of(j, len(self.names)))
        old = set(known)
        new = [level for level in declared or () if level not in old]
        return (*known, *new, *sorted(set(values) - old - set(new)))

    def read(self, table: Table) -> Cells:
        """Return the block's cells; invalid ones raise later, in `check`."""
        if self.family.has_levels:
            return encode_levels(table, self.places, self.levels, self._unknown, self._whole)
        if self.family.listed:
            return count_words(
                table.lists(self.places[0]), self.levels[0], int(self._unknown[0]), self.sizes[0]
            )
        x = read_numbers(self.family, self.names, table.numbers(self.places), table.n_jobs)
        return x if self.grid is None else self.grid.read(x)

    def read_numbers(self, x: Array, feature: int) -> Cells:
        """Return numbers of one column, `(r, 1)`, as its cells."""
        x = self.family.read(x)
        return x if self.grid is None else self.grid.only(feature).read(x)

    def unseen(self, x: Cells, n_jobs: int | None) -> Unseen:
        """Return unknown levels in cells, and how often each occurs, by column."""
        if not isinstance(x, Coded | WordCounts):
            return {}
        return {
            name: times
            for name, times in zip(self.names, x.unknown_levels(n_jobs), strict=True)
            if times
        }

    def write(self, drawn: Array, rng: Any) -> Array:
        """Return cells that `read` would read as those drawn, `(r, f)`.

        A level without a name becomes a missing cell.

        Words of lists come in a random order, without those that have no name.
        """
        if self.family.listed:
            return sample_word_lists(drawn, self.levels[0], rng)
        if self.family.has_levels:
            return np.where(drawn < [len(levels) for levels in self.levels], drawn, -1)
        return (
            self.family.written(drawn)
            if self.grid is None
            else self.grid.written(drawn, np.random.default_rng(rng))
        )

    def describe(self, x: Cells, columns: Sequence[int] | Array) -> Array:
        """Return the contents of cells as text, `(r, f)`."""
        cells = as_numbers(x)[EVERY][:, columns]
        numbers = np.asarray(cells.toarray() if sparse.issparse(cells) else cells, float)
        texts = np.empty(numbers.shape, object)
        for at, j in enumerate(columns):
            values, places = np.unique(numbers[:, at], return_inverse=True)
            names = [self._describe_cell(j, value) for value in values.tolist()]
            texts[:, at] = np.array(names, object)[places]
        return texts

    def _describe_cell(self, j: int, value: float) -> str:
        if np.isnan(value):
            return "missing"
        if not self.family.has_levels:
            outcomes = self.family.outcomes
            return outcomes[int(value)] if outcomes else f"{value:.6g}"
        levels = self.levels[j]
        if value < 0:
            return "unknown" if value == UNKNOWN_CODE else "missing"
        return str(levels[int(value)]) if value < len(levels) else "new"

    def describe_words(self, x: Cells) -> Array:
        """Return the words of each row, and how often they occur in it, `(r, k) -> (r, 1)`."""
        entries = sparse.lil_array(x)
        texts = []
        for places, counts in zip(entries.rows, entries.data, strict=True):
            words = []
            for j, count in zip(places, counts, strict=True):
                times = "" if count == 1 else f" {count:.6g}"
                words.append(f"{self.words[j]}{times}")
            texts.append([", ".join(words)])
        return np.array(texts, object)

    def check(self, x: Cells) -> None:
        """Raise if a cell is bad; asked when the numbers that came of the cells say so."""
        # on a grid they are checked before they are read
        if not self.family.has_levels and self.grid is None:
            check(self.family, self.names, x)


@dataclass(frozen=True, eq=False)
class Schema:
    """The columns of a table and the blocks that are modelled."""

    columns: Sequence[Hashable]
    blocks: tuple[Block, ...]
    template: TableTemplate  # to be filled with new rows
    choices: tuple[Choice, ...] = ()  # of families that were chosen among several

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", compact(self.columns))

    @classmethod
    def learn(
        cls,
        table: Table,
        families: FamilyColumns,
        weight: Array | None = None,
        grids: Mapping[int, Grid] | None = None,
    ) -> Self:
        """Learn the levels of a table's columns, and grids that are not known.

        Rows count by their weight for grids.
        """
        if not families:
            raise ValueError("all columns are dropped; at least one needs a family.")
        blocks = [Block.of(family, table, places) for family, places in families]
        blocks = [block.on_grids(grids or {}) for block in blocks]
        return cls(
            table.columns, tuple(block.learn(table, weight) for block in blocks), table.template
        )

    def of_part(self, table: Table) -> Self:
        """Return the schema of another part of the same table.

        Families and grids are these, levels that part's.
        """
        return replace(
            self, blocks=tuple(replace(block, levels=()).learn(table) for block in self.blocks)
        )

    def grown(self, table: Table) -> Self:
        """Return the schema that also knows this table's levels."""
        if not any(block.levels for block in self.blocks):
            return self
        return self.with_blocks([block.learn(table) for block in self.blocks])

    @property
    def has_grid(self) -> bool:
        """Whether a later table has to be read on what was learnt from this one."""
        return any(block.grid is not None or block.is_linked for block in self.blocks)

    def with_blocks(self, blocks: Sequence[Block]) -> Self:
        """Return the schema with these blocks; the same schema, where it has them."""
        same = len(blocks) == len(self.blocks) and all(map(is_, blocks, self.blocks))
        return self if same else replace(self, blocks=tuple(blocks))

    @property
    def links(self) -> Any:
        """The block of links between columns; None where there is none."""
        return next((block for block in self.blocks if block.is_linked), None)

    @property
    def columns_alone(self) -> Self:
        """The schema without links between columns."""
        return self.with_blocks([block for block in self.blocks if not block.is_linked])

    def read(self, table: Table) -> list[Cells]:
        """Return the cells of every block."""
        return [block.read(table) for block in self.blocks]

    @property
    def observers(self) -> list[Observer]:
        """Functions that make stats of each block's cells."""
        return [block.observe for block in self.blocks]

    def are_whole(self, cells: Sequence[Cells], weight: Array | None) -> bool:
        """Return whether all weights, and all numbers in the cells, are whole."""
        once = weight is None or bool((weight == np.floor(weight)).all())
        return once and all(block.is_whole(x) for block, x in zip(self.blocks, cells, strict=True))

    def check_stats(self, cells: Sequence[Cells], stats: ProductStats) -> None:
        """Raise for cells whose stats no numbers can have, before they are learnt."""
        for block, x, seen in zip(self.blocks, cells, stats.blocks, strict=True):
            if block.family.shows_invalid and (columns := seen.invalid_columns()).size:  # type: ignore[attr-defined]
                block.check(x)
                refuse_extremes(block.names, x, columns)

    def check_cells(self, cells: Sequence[Cells]) -> None:
        """Raise for a bad cell, if there is one."""
        for block, x in zip(self.blocks, cells, strict=True):
            block.check(x)

    def warn_unseen(
        self, cells: Sequence[Cells], n_jobs: int | None, *, learnt: bool = False
    ) -> None:
        """Warn once of all levels that the model does not know, or raise.

        Rows just learnt lack declared ones alone.
        """
        ignored: Unseen = {}
        for block, x in zip(self.blocks, cells, strict=True):
            if (
                not block.levels
                or block.family.unseen == "reserve"
                or (learnt and not block.declares_levels)
            ):
                continue
            unseen = block.unseen(x, n_jobs)
            if unseen and block.family.unseen == "error":
                advice = (
                    "Fit on rows that have them, declare `levels`, or choose unseen='ignore' or "
                    "'reserve'."
                )
                raise ValueError(f"{unseen_message(unseen)} {advice}")
            ignored |= unseen
        if ignored:
            warn(ignored)

    def refuse_unseen(self, cells: Sequence[Cells], n_jobs: int | None) -> None:
        """Raise for levels that cannot have been learnt.

        Where they are declared, others were left out or reserved.
        """
        for block, x in zip(self.blocks, cells, strict=True):
            may_be_there = block.declares_levels and block.family.unseen != "error"
            if not may_be_there and (unseen := block.unseen(x, n_jobs)):
                raise ValueError(f"{unseen_message(unseen)} {NEVER_LEARNT}")

    @property
    def keys(self) -> list[tuple[Hashable, int, int]]:
        """Name of every feature, its block and its place there, in the table's order."""
        features = [
            (key, b, f) for b, block in enumerate(self.blocks) for f, key in enumerate(block.keys)
        ]
        return sorted(features, key=lambda at: self.blocks[at[1]].feature_places[at[2]])

    @property
    def families(self) -> dict[Hashable, Family]:
        """Family of each column, in the table's order."""
        family = {name: block.family for block in self.blocks for name in block.names}
        return {name: family[name] for name in self.columns if name in family}

    @property
    def reading(self) -> str:
        """Which columns are of which family, in words: "gaussian: a, b; categorical: c"."""
        names: dict[str, list[str]] = {}
        for key, family in self.declared.items():
            names.setdefault(family.option, []).append(str(key))
        return "; ".join(f"{word}: {list_names(each, MAX_NAMED)}" for word, each in names.items())

    @property
    def declared(self) -> dict[Hashable, Family]:
        """Family of each column or, by their names, of columns that are modelled jointly.

        Words stay apart.
        """
        entries = [
            (place, key, block.family)
            for block in self.blocks
            for place, key in zip(
                block.places, block.names if block.family.words else block.keys, strict=False
            )
        ]
        return {key: family for _, key, family in sorted(entries, key=lambda entry: entry[0])}
