"""Links as a block of the model: which pairs of columns, and how their cells are read as levels.

The block has no columns: those belong to other blocks. It reads them again, numbers on a coarse
grid that was learnt once, and levels as they were when the links were found; a cell of another
level says nothing there.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.data import Table
from bayesnb.data.levels import Unseen
from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.family import Family
from bayesnb.families.levels import as_level
from bayesnb.families.links import Links, LinkStats, Pairs
from bayesnb.families.support import AnyLevel, Support
from bayesnb.families.weight import Weight
from bayesnb.model.schema import OTHER_LINKS, Block
from bayesnb.numerics.views import EVERY, Paired

ARROW = " → "  # between the columns of a link, in words
BEHIND = 1 << 40  # the first place of links in the order of a table: behind every column


def _nothing() -> Array:
    return np.empty(0)


@dataclass(frozen=True)
class Linked(Family[LinkStats]):
    """Pairs of columns. Nobody declares it: `NaiveBayes(dependence=...)` makes it."""

    content: ClassVar[str] = "pairs of columns"
    conjugate: ClassVar[type[Belief] | None] = None
    support: ClassVar[Support] = AnyLevel()
    stats: ClassVar[type[Stats]] = LinkStats

    def belief(self, stats: LinkStats) -> Belief:
        raise TypeError("links have the prior that their block says.")

    def smoothed(self, stats: Any, size: float, estimate: str, scale: float = 1.0) -> Self:
        """Return the same: a smoothing is about the columns' priors, and links stay."""
        return self


@dataclass(frozen=True, eq=False)
class LinkBlock(Block):
    """Links between columns, from parents to children: places among the columns of `readers`."""

    is_linked: ClassVar[bool] = True
    readers: tuple[Block, ...] = ()
    ends: tuple[tuple[int, int], ...] = ()
    strength: Array = field(default_factory=_nothing)  # of each link
    # what the child's prior adds to its counts, by pair of levels
    margin: Array = field(default_factory=_nothing)
    # in nats, of each link, by the rows that found it
    evidence: Array = field(default_factory=_nothing)
    in_forest: Array = field(default_factory=_nothing)  # whether a link is one of the forest

    @classmethod
    def of_links(cls, readers: Sequence[Block], **links: Any) -> Self:
        """Make the block."""
        return cls(Linked(), (), (), readers=tuple(readers), **links)

    @cached_property
    def columns(self) -> tuple[Hashable, ...]:
        """Names of the columns of all readers."""
        return tuple(name for reader in self.readers for name in reader.names)

    @property
    def keys(self) -> tuple[Any, ...]:
        return tuple((self.columns[u], self.columns[v]) for u, v in self.ends)

    @property
    def words(self) -> Sequence[Hashable]:
        return [f"{self.columns[u]}{ARROW}{self.columns[v]}" for u, v in self.ends]

    @property
    def feature_places(self) -> Sequence[int]:
        return range(BEHIND, BEHIND + len(self.ends))

    @property
    def word_places(self) -> Sequence[int]:
        return self.feature_places

    @cached_property
    def levels_of_columns(self) -> tuple[int, ...]:
        """Number of levels of each column of the readers."""
        return tuple(size for reader in self.readers for size in reader.sizes)

    @cached_property
    def pairs(self) -> Pairs:
        sizes = self.levels_of_columns
        return Pairs(tuple((sizes[u], sizes[v]) for u, v in self.ends))

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.pairs.sizes

    def observe(self, x: Cells, weight: Weight, n_jobs: int | None) -> Stats:
        return LinkStats.of(x, weight, self.pairs, n_jobs=n_jobs)

    def belief(self, stats: Any) -> Belief:
        counts = np.zeros_like(stats.counts)
        strength = np.broadcast_to(self.strength, (len(counts), len(self.ends)))
        return Links(counts, np.broadcast_to(self.margin, counts.shape), strength, self.pairs)

    def is_whole(self, x: Cells) -> bool:
        return True

    def learn(self, table: Table, weight: Array | None = None) -> Self:
        return self

    def read(self, table: Table) -> Cells:
        """Codes of pairs of levels, `(r, f)`.

        -1 where one of both is missing, or was never learnt.
        """
        cells = tuple(reader.read(table) for reader in self.readers)
        return Paired(cells, np.array(self.ends), np.array(self.levels_of_columns, np.int32))

    def unseen(self, x: Cells, n_jobs: int | None) -> Unseen:
        return {}

    def check(self, x: Cells) -> None:
        """Bad cells are the columns' own errors."""

    def united(self, other: Block) -> Self:
        if not (isinstance(other, LinkBlock) and self.same(other)):
            raise ValueError(OTHER_LINKS)
        return self

    def same(self, other: "LinkBlock") -> bool:
        """Whether another block has the same links, read in the same way."""
        readers = zip(self.readers, other.readers, strict=False)
        alike = (
            self.keys == other.keys
            and self.ends == other.ends
            and all(_read_alike(*pair) for pair in readers)
        )
        return (
            alike
            and np.array_equal(self.strength, other.strength)
            and np.array_equal(self.margin, other.margin)
        )

    def beginning(self, known: Block) -> Self:
        return self

    def with_margins(self, priors: Mapping[Hashable, Any]) -> Self:
        """Return the links with what the prior of each child adds to its counts.

        `priors` are those of columns of levels, by level, and of flags: with them a forest is a
        joint distribution. A column of numbers has the shares of all rows on its levels, as if one
        row were seen.
        """
        margins = []
        for (_, child), (parents, _) in zip(self.ends, self.pairs.shapes, strict=True):
            name, (reader, at) = self.columns[child], self.reader_of(child)
            if reader.grid is None:
                added = [priors[name][level] for level in reader.levels[at]]
            else:
                added = priors.get(name, reader.grid.only(at).share)
            margins.append(np.tile(added, parents))
        return replace(self, margin=np.concatenate(margins))

    def pairs_of(self, link: int) -> slice:
        """Where the pairs of levels of a link are."""
        bounds = np.concatenate([[0], np.cumsum(self.sizes)])
        return slice(int(bounds[link]), int(bounds[link + 1]))

    def reader_of(self, column: int) -> tuple[Block, int]:
        """The reader of a column, and the column's place there."""
        for reader in self.readers:
            if column < len(reader.names):
                return reader, column
            column -= len(reader.names)
        raise IndexError("no such column")

    def describe(self, x: Cells, columns: Sequence[int] | Array) -> Array:
        """Return both cells of the pairs of levels of links as text, `(r, f)`."""
        codes = np.asarray(x[EVERY], np.int64)
        texts = np.full((len(codes), len(columns)), "missing", object)
        for at, link in enumerate(columns):
            u, v = self.ends[link]
            for row in np.flatnonzero(codes[:, link] >= 0):
                a, b = divmod(codes[row, link], self.levels_of_columns[v])
                texts[row, at] = f"{self._text(u, a)}, {self._text(v, b)}"
        return texts

    def _text(self, column: int, level: int) -> str:
        reader, at = self.reader_of(column)
        if reader.grid is None:
            return str(reader.levels[at][level])
        grid = reader.grid.only(at)
        low = grid.low[level]
        high = grid.high[level]
        return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


def _read_alike(one: Block, two: Block) -> bool:
    grids = (one.grid is None, two.grid is None)
    if any(grids):
        return all(grids) and one.levels == two.levels
    return one.grid is not None and one.grid.same(two.grid)


def codes_of(readers: Sequence[Block], table: Table) -> Array:
    """Levels of the columns of all readers, `(f, r)`.

    Negative where a cell is missing, or its level unknown.
    """
    codes = [
        np.ascontiguousarray(as_level(reader.read(table)[EVERY]).T.astype(np.int32))
        for reader in readers
    ]
    return np.concatenate(codes)


def levels_of_written(reader: Block, at: int, block: Block, j: int, cells: Array) -> Array:
    """Levels, as a reader knows them, of cells of a column that a block has written, `(r,)`."""
    if reader.grid is None:
        places = {level: place for place, level in enumerate(reader.levels[at])}
        of_codes = np.array([*(places.get(level, -1) for level in block.levels[j]), -1])
        codes = as_level(cells)
        return of_codes[np.where((codes < 0) | (codes >= len(of_codes)), -1, codes)]
    return as_level(reader.grid.only(at).read(np.asarray(cells, float)[:, None])[EVERY])[:, 0]
