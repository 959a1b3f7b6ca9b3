"""The columns of a table, as learnt: their blocks and levels, into which later tables are read."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from numbers import Real
from operator import is_
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from scipy import sparse

from bayesnb.data import Table, TableTemplate
from bayesnb.data.cells import (
    MAX_CODES,
    NEVER_LEARNT,
    Levels,
    Unseen,
    are_within,
    as_cells,
    check,
    codes_up_to,
    compact,
    count_words,
    encode_levels,
    extended,
    integer_lookup,
    places_among,
    read_numbers,
    refuse_extremes,
    sample_word_lists,
    united_levels,
    unseen_message,
    warn,
)
from bayesnb.data.families import FamilyColumns
from bayesnb.families import Choice, Codes
from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.family import Counts, Family
from bayesnb.families.grid import Grid
from bayesnb.families.record import fields_alone
from bayesnb.families.weight import Weight
from bayesnb.formatting import list_names
from bayesnb.model.covariance import Covariance
from bayesnb.model.linked import Linked
from bayesnb.model.missing import MissingCells, name_flags
from bayesnb.model.product import Observer, ProductStats
from bayesnb.numerics.views import EVERY, Coded, Lookup, WordCounts, as_numbers

MAX_NAMED = 8  # columns named for a family
# place of links in the order of a table, after all columns; flags and the covariance come later
BEHIND = 1 << 40
UNKNOWN_CODE = -2  # of a level that was not learnt


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of one family, or links between columns, read and modelled together."""

    family: Family
    names: Sequence[Hashable]
    places: Sequence[int]
    levels: tuple[Levels, ...] = ()  # of each column, for a family with levels
    # for numbers read as codes of levels; learnt once, from the first table
    grid: Grid | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", compact(self.names))
        object.__setattr__(self, "places", compact(self.places))
        object.__setattr__(self, "levels", tuple(map(compact, self.levels)))

    def __getstate__(self) -> dict[str, Any]:
        return fields_alone(self)

    @classmethod
    def of(cls, family: Family, table: Table, places: Sequence[int]) -> Self:
        """Make a block of columns."""
        names = table.columns
        places = compact(places)
        if isinstance(places, range):
            return cls(family, names[places.start : places.stop], places)
        return cls(family, [names[place] for place in places], places)

    @property
    def keys(self) -> tuple[Any, ...]:
        """Names of the features of the block: its columns, or one tuple of all if they are
        joint.
        """
        names = tuple(self.names)
        return (names,) if self.family.multivariate and len(names) > 1 else names

    @property
    def words(self) -> Sequence[Hashable]:
        """Names of the numbers in the block: its columns, or the words of a column of lists."""
        if isinstance(self.family, Linked):
            return self.family.labels
        if isinstance(self.family, Covariance):
            return (*self.names[: len(self.family.places)], *self.family.labels)
        if not self.family.listed:
            return self.names
        return (*self.levels[0], *["(unseen)"] * (self.sizes[0] - len(self.levels[0])))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each column, including a reserved one; at least 1."""
        if isinstance(self.family, Linked):
            return self.family.pairs.sizes
        if self.grid is not None:
            return self.grid.sizes
        return tuple(max(len(levels) + self._reserves, 1) for levels in self.levels)

    @property
    def word_places(self) -> Sequence[int]:
        """Places in the table of the `words`."""
        return [self.places[0]] * self.sizes[0] if self.family.listed else self.places

    @property
    def starts(self) -> Sequence[Array]:
        """Lower ends of the levels of each column's grid; empty without a grid."""
        grid = self.grid
        return [] if grid is None else np.split(grid.ends[0], grid.bounds[1:-1])

    @property
    def repeats(self) -> bool:
        """Whether the block reads columns of other blocks again, as for links or the covariance."""
        return self.family.repeats

    @property
    def declares_levels(self) -> bool:
        """Whether levels are declared, so that training rows may have other ones."""
        return isinstance(self.family.levels, tuple)

    @property
    def _reserves(self) -> bool:
        """Whether each column has an extra level for unknown ones."""
        return self.family.unseen == "reserve"

    @property
    def _unknown(self) -> Array:
        """Code of unknown levels, by column: the reserved level, or -2."""
        codes = [len(levels) if self._reserves else UNKNOWN_CODE for levels in self.levels]
        return np.array(codes, np.int64)

    @cached_property
    def _whole(self) -> Lookup | None:
        return integer_lookup(self.levels, self._unknown)

    def observe(self, x: Cells, weight: Weight, n_jobs: int | None) -> Stats:
        layout = self.sizes if self.grid is None else self.grid
        return self.family.observe(x, weight, layout, n_jobs)

    def belief(self, stats: Any) -> Belief:
        """Return the prior, which may be on the scale of the stats."""
        try:
            return self.family.belief(stats)
        except ValueError as error:
            what = "column" if len(self.names) == 1 else "columns"
            raise ValueError(f"{what} {list_names(self.names, MAX_NAMED, repr)}: {error}") from None

    def is_whole(self, x: Cells) -> bool:
        """Return whether all counts are whole numbers."""
        is_whole = not self.family.fractional or x.dtype.kind in "iub"
        return is_whole or are_within(Counts(), x, True, 1)

    def learn(
        self,
        table: Table,
        weight: Array | None = None,
        grids: Mapping[int, Grid] = MappingProxyType({}),
    ) -> Self:
        """Return the block with new levels of this table appended, or with a grid if it has none.

        Grids come from `grids`, by place, if all are there, or else are learnt from weighted rows.
        """
        family: Any = self.family
        if family.has_grid and self.grid is None:
            known = [grids[place] for place in self.places if place in grids]
            if len(known) == len(self.places):
                return replace(self, grid=Grid.side_by_side(known))
            x = as_cells(family, table.numbers(self.places))
            return replace(self, grid=family.grid_of(x, weight, table.n_jobs))
        if self.declares_levels:
            return self.with_levels((family.levels,) * len(self.names))
        if not (family.has_levels or family.listed):
            return self
        old = self.levels or ((),) * len(self.names)
        levels = []
        for j, values in enumerate(self._contents(table)):
            levels.append(self._add_levels(table, j, old[j], values))
        return self.with_levels(tuple(levels))

    def _contents(self, table: Table) -> Sequence[Any]:
        """Return the distinct values or words of each column, or the range of integer codes."""
        if self.family.listed:
            return [table.lists(place).words for place in self.places]
        if isinstance(self.family.levels, Codes):
            extents = [table.extent(place) for place in self.places]
            if all(extent is not None and extent[1] < MAX_CODES for extent in extents):
                return extents
        return [distinct.values for distinct in table.distinct_of(self.places)]

    def _add_levels(self, table: Table, j: int, known: Levels, values: Any) -> Levels:
        levels = self.family.levels
        declared = table.declared(self.places[j])
        has_numbers = isinstance(next(iter(values), None), Real)
        if isinstance(levels, Codes) and declared is None and has_numbers:
            return codes_up_to(self.names[j], known, values, levels.least_of(j, len(self.names)))
        old = set(known)
        new = [level for level in declared or () if level not in old]
        return (*known, *new, *sorted(set(values) - old - set(new)))

    def grids(self) -> Iterator[tuple[int, Grid]]:
        """Yield the place and the grid of each column that has one."""
        if self.grid is not None:
            for j, place in enumerate(self.places):
                yield place, self.grid.only(j)

    def united(self, other: Self) -> Self:
        """Return the block with the levels of both; raise if their grids differ."""
        if not are_alike(self.grid, other.grid):
            name = self.names[0]
            kind = type(self.family).__name__
            raise ValueError(
                f"column {name!r}: the cuts of its {kind} differ between the parts, as each took "
                "them from its first table. Continue one part from the other with partial_fit, or "
                "declare the cuts for both, as increasing numbers: "
                f"families={{{name!r}: {kind}(cuts=[...])}}."
            )
        return self.with_levels(tuple(map(united_levels, self.names, self.levels, other.levels)))

    def beginning(self, known: Self) -> Self:
        """Return the block with its levels reordered: those of another block first."""
        return self.with_levels(tuple(map(extended, known.levels, self.levels)))

    def with_levels(self, levels: tuple[Levels, ...]) -> Self:
        """Return the block with these levels; itself if it already has them."""
        block = replace(self, levels=levels)
        return self if block.levels == self.levels else block

    def places_in(self, other: Self) -> Array:
        """Return the places of all levels, end to end, among those of a wider block."""
        return places_among(self.levels, other.levels, other.sizes, self._reserves)

    def read(self, table: Table) -> Cells:
        """Return the cells of the block; invalid ones raise later, in `check`."""
        family: Any = self.family
        if family.repeats:
            return family.read_table(table)
        if family.has_levels:
            return encode_levels(table, self.places, self.levels, self._unknown, self._whole)
        if family.listed:
            lists = table.lists(self.places[0])
            return count_words(lists, self.levels[0], int(self._unknown[0]), self.sizes[0])
        x = read_numbers(family, self.names, table.numbers(self.places), table.n_jobs)
        return x if self.grid is None else self.grid.read(x)

    def unseen(self, x: Cells, n_jobs: int | None) -> Unseen:
        """Return the unknown levels in cells and how often each occurs, by column."""
        if not isinstance(x, Coded | WordCounts):
            return {}
        pairs = zip(self.names, x.unknown_levels(n_jobs), strict=True)
        return {name: times for name, times in pairs if times}

    def write(self, drawn: Array, rng: Any) -> Array:
        """Convert drawn cells to cells that `read` would read as them, `(r, f)`.

        An unnamed level becomes a missing cell. Words of lists are in random order, without unnamed
        ones.
        """
        if self.family.listed:
            return sample_word_lists(drawn, self.levels[0], rng)
        if self.family.has_levels:
            return np.where(drawn < [len(levels) for levels in self.levels], drawn, -1)
        if self.grid is not None:
            return self.grid.written(drawn, np.random.default_rng(rng))
        return self.family.written(drawn)

    def describe(self, x: Cells, columns: Sequence[int] | Array) -> Array:
        """Return the contents of cells as text, `(r, f)`."""
        cells = as_numbers(x)[EVERY][:, columns]
        cells = cells.toarray() if sparse.issparse(cells) else np.asarray(cells)
        texts = np.empty(cells.shape, object)
        for at, j in enumerate(columns):
            texts[:, at] = self._describe_column(j, cells[:, at])
        return texts

    def _describe_column(self, j: int, cells: Array) -> Array:
        # -1 and -2 index the last two names
        if isinstance(self.family, Linked) or self.family.has_levels:
            return np.array([*self.level_names(j), "unknown", "missing"], object)[cells]
        values, places = np.unique(cells.astype(float), return_inverse=True)
        outcomes = self.family.outcomes
        texts = [outcomes[int(x)] if outcomes and x == x else f"{x:.6g}" for x in values.tolist()]
        return np.where(np.isnan(values), "missing", np.array(texts, object))[places]

    def level_names(self, j: int) -> list[str]:
        """Return the levels of a column, or of its grid, or the pairs of a link as text."""
        if isinstance(self.family, Linked):
            return self.family.level_names(j)
        if self.grid is None:
            return [*map(str, self.levels[j]), *["new"] * self._reserves]
        grid = self.grid.only(j)
        ends = zip(grid.low, grid.high, strict=True)
        return [f"{a:.4g}" if a == b else f"{a:.4g} to {b:.4g}" for a, b in ends]

    def describe_words(self, x: Cells) -> Array:
        """Return the words of each row with their counts as text, `(r, k) -> (r, 1)`."""
        names = self.words
        entries = sparse.lil_array(x)
        texts = []
        for places, counts in zip(entries.rows, entries.data, strict=True):
            words = []
            for j, count in zip(places, counts, strict=True):
                times = "" if count == 1 else f" {count:.6g}"
                words.append(f"{names[j]}{times}")
            texts.append([", ".join(words)])
        return np.array(texts, object)

    def check(self, x: Cells) -> None:
        """Raise for an invalid cell; called when results computed from the cells are not valid."""
        # cells on a grid were checked before
        if not self.family.has_levels and self.grid is None:
            check(self.family, self.names, x)


def are_alike(a: Any, b: Any) -> bool:
    """Return whether two values are equal: families, priors, arrays, and containers of them."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(are_alike(value, b[key]) for key, value in a.items())
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(are_alike, a, b))
    if is_dataclass(a):
        return all(are_alike(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    return bool(a == b)


@dataclass(frozen=True, eq=False)
class Schema:
    """The columns of a table and the blocks that are modelled."""

    columns: Sequence[Hashable]
    blocks: tuple[Block, ...]
    template: TableTemplate  # to be filled with new rows
    choices: tuple[Choice, ...] = ()  # of families chosen among candidates

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
        """Learn the levels of the columns of a table, and grids from weighted rows unless given."""
        if not families:
            raise ValueError("all columns are dropped; at least one must have a family.")
        blocks = [Block.of(family, table, places) for family, places in families]
        learnt = tuple(block.learn(table, weight, grids or {}) for block in blocks)
        return cls(table.columns, learnt, table.template)

    def of_part(self, table: Table) -> Self:
        """Return the schema of another part of the table: same families and grids, its own
        levels.
        """
        return self.with_blocks([block.with_levels(()) for block in self.blocks]).grown(table)

    def grown(self, table: Table) -> Self:
        """Return the schema with the levels of this table added."""
        return self.with_blocks([block.learn(table) for block in self.blocks])

    def with_blocks(self, blocks: Sequence[Block]) -> Self:
        """Return the schema with these blocks; itself if it already has them."""
        same = len(blocks) == len(self.blocks) and all(map(is_, blocks, self.blocks))
        return self if same else replace(self, blocks=tuple(blocks))

    def _find_family[F: Family](self, kind: type[F]) -> F | None:
        """Return the family of this kind, or None."""
        families = [block.family for block in self.blocks]
        return next((family for family in families if isinstance(family, kind)), None)

    @property
    def links(self) -> Linked | None:
        """The links between columns, or None."""
        return self._find_family(Linked)

    def with_links(self, links: Linked) -> Self:
        """Return the schema with links, after all columns."""
        places = range(BEHIND, BEHIND + len(links.ends))
        return self._with_behind(Block(links, links.keys, places))

    @property
    def covariance(self) -> Covariance | None:
        """The joint Gaussian of columns, or None."""
        return self._find_family(Covariance)

    def with_covariance(self, covariance: Covariance) -> Self:
        """Return the schema with a joint Gaussian of columns, after everything else."""
        names = [self.columns[place] for place in covariance.columns]
        places = range(3 * BEHIND, 3 * BEHIND + len(names))
        return self._with_behind(Block(covariance, names, places))

    @property
    def missing(self) -> MissingCells | None:
        """The flags of missing cells that are evidence, or None."""
        return self._find_family(MissingCells)

    def with_missing(self, missing: MissingCells) -> Self:
        """Return the schema with flags of missing cells, after columns and links."""
        names = name_flags(self.columns, missing.places)
        places = range(2 * BEHIND, 2 * BEHIND + len(names))
        return self._with_behind(Block(missing, names, places))

    def _with_behind(self, block: Block) -> Self:
        """Add a block that reads columns again, or replace the one of its kind."""
        kind = type(block.family)
        blocks = [each for each in self.blocks if not isinstance(each.family, kind)]
        blocks.append(block)
        return self.with_blocks(sorted(blocks, key=lambda each: each.repeats * each.places[0]))

    @property
    def columns_alone(self) -> Self:
        """The schema without blocks that read columns again: links, flags, the covariance."""
        return self.with_blocks([block for block in self.blocks if not block.repeats])

    def read(self, table: Table) -> list[Cells]:
        """Return the cells of every block."""
        return [block.read(table) for block in self.blocks]

    @property
    def observers(self) -> list[Observer]:
        """The functions that count the cells of each block."""
        return [block.observe for block in self.blocks]

    def are_whole(self, cells: Sequence[Cells], weight: Array | None) -> bool:
        """Return whether all weights and counts are whole numbers."""
        once = weight is None or bool((weight == np.floor(weight)).all())
        return once and all(block.is_whole(x) for block, x in zip(self.blocks, cells, strict=True))

    def check_stats(self, cells: Sequence[Cells], stats: ProductStats) -> None:
        """Raise if stats show invalid or extreme cells, before they are learnt."""
        each: Any = zip(self.blocks, cells, stats.blocks, strict=True)
        for block, x, seen in each:
            if block.family.shows_invalid and (columns := seen.invalid_columns()).size:
                block.check(x)
                refuse_extremes(block.names, x, columns)

    def check_cells(self, cells: Sequence[Cells]) -> None:
        """Raise if a cell is invalid."""
        for block, x in zip(self.blocks, cells, strict=True):
            block.check(x)

    def warn_unseen(
        self, cells: Sequence[Cells], n_jobs: int | None, *, learnt: bool = False
    ) -> None:
        """Warn once of all unknown levels, or raise.

        In rows just learnt, levels can be unknown only if levels are declared.
        """
        ignored: Unseen = {}
        for block, x in zip(self.blocks, cells, strict=True):
            policy = block.family.unseen
            is_known = learnt and not block.declares_levels
            if is_known or not block.levels or policy == "reserve":
                continue
            unseen = block.unseen(x, n_jobs)
            if unseen and policy == "error":
                raise ValueError(
                    f"{unseen_message(unseen)} Fit on rows that have them, declare `levels`, or "
                    "choose unseen='ignore' or 'reserve'."
                )
            ignored |= unseen
        if ignored:
            warn(ignored)

    def refuse_unseen(self, cells: Sequence[Cells], n_jobs: int | None) -> None:
        """Raise for levels that cannot have been learnt.

        If levels are declared, others may have been dropped or reserved.
        """
        for block, x in zip(self.blocks, cells, strict=True):
            may_be_there = block.declares_levels and block.family.unseen != "error"
            if not may_be_there and (unseen := block.unseen(x, n_jobs)):
                raise ValueError(f"{unseen_message(unseen)} {NEVER_LEARNT}")

    @property
    def keys(self) -> list[tuple[Hashable, int, int]]:
        """Name, block, and place in the block of every feature, in the order of the table."""
        features = [
            (key, b, f) for b, block in enumerate(self.blocks) for f, key in enumerate(block.keys)
        ]
        return sorted(features, key=lambda at: self.blocks[at[1]].places[at[2]])

    @property
    def families(self) -> dict[Hashable, Family]:
        """Family of each column, in the order of the table."""
        blocks = self.columns_alone.blocks
        family = {name: block.family for block in blocks for name in block.names}
        return {name: family[name] for name in self.columns if name in family}

    @property
    def reading(self) -> str:
        """The columns of each family in words: "gaussian: a, b; categorical: c"."""
        names: dict[str, list[str]] = {}
        for key, family in self.declared.items():
            names.setdefault(family.option, []).append(str(key))
        return "; ".join(f"{word}: {list_names(each, MAX_NAMED)}" for word, each in names.items())

    @property
    def declared(self) -> dict[Hashable, Family]:
        """Family of each column, or of the names of a joint block; words are listed one by one."""
        entries = {}
        for block in self.columns_alone.blocks:
            keys = block.names if block.family.words else block.keys
            for place, key in zip(block.places, keys, strict=False):
                entries[place] = key, block.family
        return dict(entries[place] for place in sorted(entries))
