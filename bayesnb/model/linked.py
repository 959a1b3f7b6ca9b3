"""Links as a block of the model: which pairs of columns, and how their cells are read as levels.

The block has no columns: those belong to other blocks. It reads them again, numbers on a coarse grid that was learnt
once, and levels as they were when the links were found; a cell of another level says nothing there.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.data import Table
from bayesnb.data.levels import Unseen
from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.dirichlet import as_level
from bayesnb.families.family import Family
from bayesnb.families.links import Links, LinkStats, Pairs
from bayesnb.families.support import AnyLevel, Support
from bayesnb.families.weight import Weight
from bayesnb.model.schema import Block
from bayesnb.numerics.views import EVERY

BEHIND = 1 << 40  # the first place of links in the order of a table: behind every column


@dataclass(frozen=True)
class Linked(Family[LinkStats]):
    """Pairs of columns. Nobody declares it: `NaiveBayes(dependence=...)` makes it."""

    content: ClassVar[str] = "pairs of columns"
    conjugate: ClassVar[type[Belief] | None] = None
    support: ClassVar[Support] = AnyLevel()
    stats: ClassVar[type[Stats]] = LinkStats

    def belief(self, stats: LinkStats) -> Belief:
        raise TypeError("links have the prior that their block says.")


@dataclass(frozen=True, eq=False, kw_only=True)
class LinkBlock(Block):
    """Links between columns, each from a parent to a child: places among the columns of `readers`, end to end."""

    is_linked: ClassVar[bool] = True
    readers: tuple[Block, ...]
    ends: tuple[tuple[int, int], ...]
    strength: Array  # of each link
    margin: Array  # what the prior of the child adds to the counts of its levels, by pair of levels
    evidence: Array  # in nats, of each link, by the rows that found it
    in_forest: Array  # whether a link is one of the forest, which is a joint distribution

    @classmethod
    def of_links(cls, readers: Sequence[Block], **links: Any) -> Self:
        """Make the block."""
        return cls(Linked(), (), (), readers=tuple(readers), **links)

    @cached_property
    def columns(self) -> tuple[Hashable, ...]:
        """Names of the columns of all readers."""
        return tuple(name for reader in self.readers for name in reader.names)

    @property
    def keys(self) -> tuple[Hashable, ...]:
        return tuple((self.columns[u], self.columns[v]) for u, v in self.ends)

    @property
    def words(self) -> Sequence[Hashable]:
        return [f"{self.columns[u]} → {self.columns[v]}" for u, v in self.ends]

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
        return LinkStats.of(x, weight, self.pairs, n_jobs)

    def belief(self, stats: Any) -> Belief:
        counts = np.zeros_like(stats.counts)
        strength = np.broadcast_to(self.strength, (len(counts), len(self.ends)))
        return Links(counts, np.broadcast_to(self.margin, counts.shape), strength, self.pairs)

    def is_whole(self, x: Cells) -> bool:
        return True

    def learn(self, table: Table, weight: Array | None = None) -> Self:
        return self

    def read(self, table: Table) -> Cells:
        """Codes of pairs of levels, `(r, f)`; -1 where one of both is missing, or was never learnt."""
        codes = codes_of(self.readers, table)
        made = np.empty((codes.shape[1], len(self.ends)), np.int32)
        for k, (u, v) in enumerate(self.ends):
            both = (codes[u] >= 0) & (codes[v] >= 0)
            made[:, k] = np.where(both, codes[u] * self.levels_of_columns[v] + codes[v], -1)
        return made

    def unseen(self, x: Cells, n_jobs: int | None) -> Unseen:
        return {}

    def check(self, x: Cells) -> None:
        """Bad cells are the columns' own errors."""

    def united(self, other: Block) -> Self:
        same = isinstance(other, LinkBlock) and self.ends == other.ends and self.keys == other.keys
        if not (same and np.array_equal(self.strength, other.strength) and np.array_equal(self.margin, other.margin)):
            raise ValueError(
                "the links between columns are not the same in both parts, as each found them in its first table. Let "
                "one part go on from the other by partial_fit, or fit both with dependence=None."
            )
        return self

    def beginning(self, known: Block) -> Self:
        return self

    def texts(self, link: int, codes: Array) -> Array:
        """Both cells of pairs of levels, in words."""
        u, v = self.ends[link]
        codes = np.asarray(codes, np.int64)
        each = zip(*np.divmod(np.maximum(codes, 0), self.levels_of_columns[v]), strict=True)
        shown = [f"{self._text(u, a)}, {self._text(v, b)}" for a, b in each]
        return np.where(codes < 0, "missing", np.array(shown, object))

    def _text(self, column: int, level: int) -> str:
        for reader in self.readers:
            if column < len(reader.names):
                if reader.levels:
                    return str(reader.levels[column][level])
                low, high = (each[column][level] for each in _ends(reader))
                return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
            column -= len(reader.names)
        raise IndexError("no such column")


def codes_of(readers: Sequence[Block], table: Table) -> Array:
    """Levels of the columns of all readers, `(f, r)`; negative where a cell is missing, or its level unknown."""
    codes = [np.ascontiguousarray(as_level(reader.read(table)[EVERY]).T.astype(np.int32)) for reader in readers]
    return np.concatenate(codes)


def _ends(reader: Block) -> tuple[list[Array], list[Array]]:
    """The least and the largest number learnt on each level of each column."""
    grid = reader.grid
    if grid is None:
        raise TypeError("numbers are read on a grid.")
    low, high = (np.split(each, grid.bounds[1:-1]) for each in (grid.low, grid.high))
    return low, high
