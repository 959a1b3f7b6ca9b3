"""Missingness as evidence: for some columns, a flag that says whether the cell is missing.

    cell j is missing | class c ~ Bernoulli(a_cj)       a_cj ~ Beta(1, 1)

A block of this family has no columns of its own: they belong to other blocks, which skip missing
cells. The flag adds what the missingness itself says about the class.
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
    """Flags of missing cells, made by `NaiveBayes(missing="auto")`, not declared by users."""

    content: ClassVar[str] = "whether cells are missing"
    picture = "levels"
    outcomes: ClassVar[tuple[str, ...]] = Bernoulli.outcomes
    conjugate: ClassVar[type[Belief] | None] = None
    support: ClassVar[Support] = ZeroOrOne()
    stats: ClassVar[type[Stats]] = BernoulliStats
    repeats: ClassVar[bool] = True
    places: tuple[int, ...]  # of the columns in the table
    # gain in the score of the labels by each flag alone, in nats; None if not known yet
    gain: Array | None = None

    @property
    def in_joint(self) -> float:
        return 0.0

    def read_table(self, table: Table) -> Cells:
        return find_missing(table, self.places)

    def belief(self, stats: BernoulliStats) -> Beta:
        return Bernoulli().belief(stats)

    def smoothed(self, stats: Any, size: float, estimate: str, scale: float = 1.0) -> Self:
        """Return itself: smoothing changes only the priors of columns."""
        return self


def find_missing(table: Table, places: Sequence[int]) -> Array:
    """Return the missing cells of some columns, `(r, f)`."""
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
    """Return names for the flags of some columns that differ from all column names."""
    taken = set(map(str, columns))
    names = []
    for place in places:
        name = f"{columns[place]} missing"
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names
