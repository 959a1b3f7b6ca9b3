"""Whether cells are missing, as evidence: a flag for each of some columns, beside its cells.

    cell j is missing | class c ~ Bernoulli(a_cj)       a_cj ~ Beta(1, 1)

A block of this family has no columns: those belong to other blocks, in which a missing cell is
silent. With the flag a missing cell says what it says of the class that it is missing.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.data import SparseTable, Table
from bayesnb.families import Bernoulli
from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.bernoulli import BernoulliStats, Beta
from bayesnb.families.family import Family, Support, ZeroOrOne
from bayesnb.numerics.views import EVERY, numbers


@dataclass(frozen=True, eq=False)
class MissingCells(Family[BernoulliStats]):
    """Flags of missing cells. Nobody declares it: `NaiveBayes(missing="auto")` makes it."""

    content: ClassVar[str] = "whether cells are missing"
    picture = "levels"
    outcomes: ClassVar[tuple[str, ...]] = Bernoulli.outcomes
    conjugate: ClassVar[type[Belief] | None] = None
    support: ClassVar[Support] = ZeroOrOne()
    stats: ClassVar[type[Stats]] = BernoulliStats
    repeats: ClassVar[bool] = True
    places: tuple[int, ...]  # of the columns in the table
    # of the labels' score by each flag alone, in nats; None where that is not known yet
    gain: Array | None = None

    @property
    def in_joint(self) -> float:
        return 0.0

    def read_table(self, table: Table) -> Cells:
        return find_missing(table, self.places)

    def belief(self, stats: BernoulliStats) -> Beta:
        return Bernoulli().belief(stats)

    def smoothed(self, stats: Any, size: float, estimate: str, scale: float = 1.0) -> Self:
        """Return the same: a smoothing is about the columns' priors."""
        return self


def find_missing(table: Table, places: Sequence[int]) -> Array:
    """Return which cells of some columns are missing, `(r, f)`."""
    if isinstance(table, SparseTable):
        return np.isnan(table.numbers(places).toarray())
    missing = np.zeros((table.rows, len(places)), bool)
    for j, place in enumerate(places):
        if table.kind(place) in ("number", "flag"):
            missing[:, j] = np.isnan(numbers(table.numbers([place]), EVERY)[:, 0])
        else:
            missing[:, j] = table.distinct(place).codes < 0
    return missing


def name_flags(columns: Sequence[Hashable], places: Sequence[int]) -> list[str]:
    """Return the names of flags of some columns of a table, which no column has."""
    taken = set(map(str, columns))
    names = []
    for place in places:
        name = f"{columns[place]} missing"
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names
