"""Links between columns as a family: which pairs, and how their cells are read as levels.

A block of this family has no columns of its own: it reads those of other blocks again, numbers on a
coarse grid that was learnt once, and levels as they were when the links were found. Cells with
other levels are skipped.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bayesnb.data import Table
from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.family import AnyLevel, Family, Support
from bayesnb.families.levels import as_level
from bayesnb.families.links import Links, LinkStats, Pairs
from bayesnb.families.weight import Weight
from bayesnb.numerics.views import EVERY, Paired

if TYPE_CHECKING:
    from bayesnb.model.schema import Block

ARROW = " → "  # between the columns of a link, in words


@dataclass(frozen=True, eq=False)
class Linked(Family[LinkStats]):
    """Links from parents to children, made by `NaiveBayes(dependence=...)`, not declared by
    users.
    """

    content: ClassVar[str] = "pairs of columns"
    conjugate: ClassVar[type[Belief] | None] = None
    support: ClassVar[Support] = AnyLevel()
    stats: ClassVar[type[Stats]] = LinkStats
    repeats: ClassVar[bool] = True
    readers: tuple[Any, ...]  # blocks that read the columns again
    ends: tuple[tuple[int, int], ...]  # parent and child among the columns of the readers
    strength: Array  # of each link
    evidence: Array  # of each link in nats, on the rows in which it was found
    in_forest: Array  # whether a link belongs to the forest
    # pseudo-counts of the child's prior, by pair of levels
    margin: Any = None

    @cached_property
    def columns(self) -> tuple[tuple[Any, int], ...]:
        """The reader of each column, and its place there."""
        return tuple((reader, j) for reader in self.readers for j in range(len(reader.names)))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each column of the readers."""
        return tuple(size for reader in self.readers for size in reader.sizes)

    @property
    def in_joint(self) -> Array:
        return self.in_forest

    @property
    def keys(self) -> tuple[Any, ...]:
        """Names of the parent and the child of each link."""
        names = [reader.names[j] for reader, j in self.columns]
        return tuple((names[u], names[v]) for u, v in self.ends)

    @property
    def labels(self) -> list[str]:
        """The links in words."""
        return [f"{parent}{ARROW}{child}" for parent, child in self.keys]

    @cached_property
    def pairs(self) -> Pairs:
        return Pairs(tuple((self.sizes[u], self.sizes[v]) for u, v in self.ends))

    def pairs_of(self, link: int) -> slice:
        """Positions of the pairs of levels of a link."""
        start = sum(self.pairs.sizes[:link])
        return slice(start, start + self.pairs.sizes[link])

    def observe(self, x: Cells, weight: Weight, sizes: Any = (), n_jobs: int | None = 1) -> Stats:
        return LinkStats.of(x, weight, self.pairs, n_jobs=n_jobs)

    def belief(self, stats: LinkStats) -> Belief:
        counts = np.zeros_like(stats.counts)
        strength = np.broadcast_to(self.strength, (len(counts), len(self.ends)))
        return Links(counts, np.broadcast_to(self.margin, counts.shape), strength, self.pairs)

    def smoothed(self, stats: Any, size: float, estimate: str, scale: float = 1.0) -> Self:
        """Return itself: smoothing changes only the priors of columns."""
        return self

    def read_table(self, table: Table) -> Cells:
        """Return codes of pairs of levels, `(r, f)`; -1 where either is missing or unknown."""
        cells = tuple(reader.read(table) for reader in self.readers)
        return Paired(cells, np.array(self.ends), np.array(self.sizes, np.int32))

    def with_margins(self, priors: Mapping[Hashable, Any]) -> Self:
        """Return the links with pseudo-counts of each child.

        `priors` are the concentrations of columns of levels, by level, and of flags: with them a
        forest is a joint distribution. A column of numbers has one pseudo-row, spread like all
        rows.
        """
        margins = []
        for (_, child), (parents, _) in zip(self.ends, self.pairs.shapes, strict=True):
            reader, at = self.columns[child]
            name = reader.names[at]
            if reader.grid is None:
                added = [priors[name][level] for level in reader.levels[at]]
            else:
                added = priors.get(name, reader.grid.only(at).share)
            margins.append(np.tile(added, parents))
        return replace(self, margin=np.concatenate(margins))

    def level_names(self, link: int) -> list[str]:
        """Return the pairs of levels of a link as text."""
        ends = (self.columns[end] for end in self.ends[link])
        parents, children = (reader.level_names(j) for reader, j in ends)
        return [f"{a}, {b}" for a in parents for b in children]


def codes_of(readers: Sequence["Block"], table: Table) -> Array:
    """Levels of the columns of all readers, `(f, r)`.

    Negative where a cell is missing, or its level unknown.
    """
    codes = [as_level(reader.read(table)[EVERY]).T.astype(np.int32) for reader in readers]
    return np.concatenate(codes)


def levels_of_written(end: tuple["Block", int], block: "Block", j: int, cells: Array) -> Array:
    """Levels of cells that a block has written, as one end of a link would read them."""
    reader, at = end
    if reader.grid is not None:
        return as_level(reader.grid.only(at).read(np.asarray(cells, float)[:, None])[EVERY])[:, 0]
    places = {level: place for place, level in enumerate(reader.levels[at])}
    levels = block.levels[j]
    known = np.array([*(places.get(level, -1) for level in levels), -1])
    return known[np.clip(as_level(cells), -1, len(levels))]
