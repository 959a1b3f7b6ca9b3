"""The columns of a model that can be joined, kind by kind."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayesnb.criticism.trial import Trial
from bayesnb.families import Codes
from bayesnb.families.family import Family
from bayesnb.model.product import ProductStats
from bayesnb.model.schema import Schema
from bayesnb.selection.block_evidence import Block, Columns
from bayesnb.selection.column_evidence import check_comparable
from bayesnb.selection.joinable import Numeric, Unit, joinable, of_levels, of_numbers
from bayesnb.selection.pair_evidence import Labels
from bayesnb.selection.partition_search import Step

MOST_COLUMNS = 1000  # of a kind: half a million pairs
SHOWN = 4  # names of a block in a sentence
Names = tuple[Hashable, ...]
Reading = tuple[Any, str]  # a family's `levels` and `unseen`, as for one column
Key = Reading | None  # what columns agree on that can be joined; numbers need not


class Home(NamedTuple):
    """Where a column is: its name, its place in the table, its block, its place there."""

    name: Hashable
    place: int
    block: int
    feature: int


class Member(NamedTuple):
    """What is one block to begin with, and its columns."""

    unit: Unit
    homes: tuple[Home, ...]


@dataclass(frozen=True, eq=False)
class Kind:
    """Columns that can be joined with each other, and the blocks that they start in."""

    key: Key
    columns: Columns
    homes: tuple[Home, ...]
    start: tuple[Block, ...]
    moved: str = ""  # what is to be said of priors that are not the model's own

    @property
    def log_evidence(self) -> float:
        return sum(self.columns.log_evidence(block) for block in self.start)

    def in_order(self, block: Block) -> list[int]:
        """The columns of a block as they are in the table."""
        return sorted(block, key=lambda at: self.homes[at].place)

    def together(self, block: Block) -> Family:
        """The family of several columns."""
        return self.columns.together(self.in_order(block), self.key)

    def names(self, block: Block) -> Names:
        return tuple(self.homes[at].name for at in self.in_order(block))

    def told(self, step: Step) -> str:
        """A step in words."""
        if len(step.made) == 1:
            first, second = sorted(map(self.names, step.gone), key=lambda names: self._place(names[0]))
            return f"{shown(first)} + {shown(second)}"
        left, new = step.made
        (moved,) = set(step.gone[0]) - set(left)
        where = "by itself" if len(new) == 1 else f"to {shown(self.names(tuple(set(new) - {moved})))}"
        return f"{self.homes[moved].name} from {shown(self.names(left))} {where}"

    def _place(self, name: Hashable) -> int:
        return next(home.place for home in self.homes if home.name == name)


def shown(names: Sequence[Hashable]) -> str:
    """The first names, and how many more there are."""
    some = ", ".join(map(str, names[:SHOWN]))
    return some if len(names) <= SHOWN else f"{some} and {len(names) - SHOWN} more"


def kinds_of(trial: Trial, columns: Any, concentration: float | None) -> list[Kind]:
    """The columns that can be joined, of which there are at least two, kind by kind."""
    found = _members(trial)
    chosen = _chosen(trial.estimator.schema_, found, columns)
    labels = Labels(trial.rows.codes, trial.rows.counts, len(trial.estimator.classes_))
    kinds = []
    for key, members in found.items():
        own = [member for member in members if chosen is None or _is_in(member, chosen)]
        if sum(len(member.homes) for member in own) > 1:
            units: Any = [member.unit for member in own]
            together = of_numbers(units, labels) if key is None else of_levels(units, labels, concentration)
            kinds.append(_kind(key, together, own))
    if not kinds:
        raise ValueError(
            "no two columns can be joined: levels and flags are joined with each other where they are read alike and "
            "their priors are even, and numbers with numbers."
        )
    return kinds


def rest_of(trial: Trial, stats: ProductStats, kinds: Sequence[Kind]) -> float:
    """The log evidence of the labels and of the columns that are in no kind."""
    if not trial.model.prior.classes.strictly_proper:
        raise ValueError("class_prior: a concentration of 0 is improper, so the evidence is undefined. Give another.")
    labels, blocks = trial.model.prior.log_evidence(stats)
    joined = {(home.block, home.feature) for kind in kinds for home in kind.homes}
    return labels + sum(
        float(own[f])
        for b, own in enumerate(blocks)
        for f in range(len(own))
        if (b, f) not in joined  # a whole block is one feature, and has its first column's place
    )


def _members(trial: Trial) -> dict[Key, list[Member]]:
    """What can be joined with what."""
    found: dict[Key, list[Member]] = defaultdict(list)
    for b, (block, prior) in enumerate(zip(trial.estimator.schema_.blocks, trial.model.prior.blocks, strict=True)):
        check_comparable(prior, block.keys, alike=False)
        for unit in joinable(prior, trial.rows.cells[b]):
            homes = tuple(Home(block.names[f], block.places[f], b, f) for f in unit.places)
            for key in _keys(block.family, unit, len(block.names)):
                found[key].append(Member(unit, homes))
    return found


def reading_of(family: Family, feature: int, columns: int) -> Reading:
    """How the levels are read of one of some columns."""
    levels = family.levels
    if isinstance(levels, Codes):
        levels = Codes(levels.least_of(feature, columns))
    return levels, family.unseen


def _keys(family: Family, unit: Unit, columns: int) -> set[Key]:
    """What others must agree with to be joined; nothing, if that cannot be said for all columns of the unit."""
    if isinstance(unit, Numeric):
        return {None}
    if family.threshold is not None:  # a table would know the numbers themselves as levels
        return set()
    keys: set[Key] = {reading_of(family, place, columns) for place in unit.places}
    return keys if len(keys) == 1 else set()


def _chosen(schema: Schema, found: dict[Key, list[Member]], columns: Any) -> set[Hashable] | None:
    """The names of the columns that may be joined; None for all."""
    if columns is None:
        return None
    if isinstance(columns, str) or not np.iterable(columns):
        raise ValueError(f"columns must be None or a list of names, got {columns!r}.")
    said = list(columns)
    known = [home.name for members in found.values() for member in members for home in member.homes]
    for name in said:
        if name not in known:
            why = "cannot be joined with others" if name in schema.families else "is no column of this model"
            raise ValueError(f"columns: {name!r} {why}. Name some of {known[:20]}.")
    return set(said)


def _is_in(member: Member, chosen: set[Hashable]) -> bool:
    names = [home.name for home in member.homes]
    inside = [name in chosen for name in names]
    if any(inside) and not all(inside):
        raise ValueError(f"columns: {names} are one block of this model. Name all of them, or none.")
    return all(inside)


def _kind(key: Key, columns: Columns, members: Sequence[Member]) -> Kind:
    homes = tuple(home for member in members for home in member.homes)
    if len(homes) > MOST_COLUMNS:
        raise ValueError(
            f"{len(homes):,} columns can be joined with each other, and {MOST_COLUMNS:,} are the most that are "
            "searched. Name some `columns`, such as those with the most `relevance`."
        )
    ends = np.cumsum([len(member.homes) for member in members]).tolist()
    start = tuple(tuple(range(end - len(member.homes), end)) for end, member in zip(ends, members, strict=True))
    return Kind(key, columns, homes, start, _moved(columns, [member.unit for member in members]))


def _moved(columns: Columns, units: Any) -> str:
    """Which priors all partitions have, where the model's own are not alike."""
    if all(np.array_equal(getattr(columns, name), getattr(unit, name)) for unit in units for name in columns.compared):
        return ""
    said = []
    for name, told in columns.compared.items():
        worth = dict.fromkeys(getattr(columns, name).tolist())
        said.append(told.format(", ".join(f"{value:.4g}" for value in worth)))
    return f"All partitions are compared under {' and '.join(said)}."
