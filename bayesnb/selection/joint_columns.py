"""Columns of a model that can be joined, kind by kind, and the families that declare blocks of
them.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from bayesnb.families import Codes
from bayesnb.families.base import Belief, Cells, Stats
from bayesnb.families.family import Family
from bayesnb.families.units import NumberUnit, Unit
from bayesnb.formatting import list_names
from bayesnb.model.schema import Schema
from bayesnb.selection.contingency import LabelledRows
from bayesnb.selection.joint_evidence import (
    Block,
    BlockEvidence,
    LevelEvidence,
    NumberEvidence,
    Reading,
    Step,
)

MAX_COLUMNS = 1000  # of a kind: half a million pairs
MAX_NAMES = 4  # of a block in a sentence
ROUNDING = 1e-12  # how far equal priors may differ, relatively
Names = tuple[Hashable, ...]
Key = Reading | None  # what levels that can be joined agree on; None for numbers


class ColumnPlace(NamedTuple):
    """Position of a column: its name, its place in the table, its block, its place there."""

    name: Hashable
    place: int
    block: int
    feature: int


Member = tuple[Unit, tuple[ColumnPlace, ...]]  # where the search starts: a unit, and its columns


@dataclass(frozen=True, eq=False)
class JoinableColumns:
    """Columns of one kind that can be joined with each other, in blocks."""

    key: Key
    evidence: BlockEvidence
    places: tuple[ColumnPlace, ...]
    blocks: tuple[Block, ...]
    changed_prior: str = ""  # a note on priors that are not those of the model

    @property
    def log_evidence(self) -> float:
        evidence = self.evidence
        return sum(evidence.log_evidence(block, evidence.complete(block)) for block in self.blocks)

    def in_order(self, block: Block) -> list[int]:
        """Return the columns of a block in the order of the table."""
        return sorted(block, key=lambda at: self.places[at].place)

    def names(self, block: Block) -> Names:
        return tuple(self.places[at].name for at in self.in_order(block))

    def describe(self, step: Step) -> str:
        """Describe a step in words."""
        if len(step.made) == 1:
            return " + ".join(list_block(self.names(block)) for block in step.gone)
        left, new = step.made
        (moved,) = set(step.gone[0]) - set(left)
        others = self.names(tuple(set(new) - {moved}))
        where = f"to {list_block(others)}" if others else "by itself"
        return f"{self.places[moved].name} from {list_block(self.names(left))} {where}"


def list_block(names: Sequence[Hashable]) -> str:
    """Join the first names, and the number of the rest."""
    return list_names(names, MAX_NAMES)


def joinable_members(
    schema: Schema, priors: Sequence[Belief], cells: Sequence[Cells]
) -> dict[Key, list[Member]]:
    """Return the units of columns that can be joined with others of their kind, by kind."""
    by_key: dict[Key, list[Member]] = defaultdict(list)
    for b, (block, prior, x) in enumerate(zip(schema.blocks, priors, cells, strict=True)):
        family = block.family
        for unit in prior.units(x):
            keys: set[Key] = {None}  # of units that cannot be joined there is none, or several
            if not isinstance(unit, NumberUnit):
                keys = {reading_of(family, place, len(block.names)) for place in unit.places}
            # under a threshold, a table would know the numbers themselves as levels
            if len(keys) == 1 and family.threshold is None:
                columns = [ColumnPlace(block.names[f], block.places[f], b, f) for f in unit.places]
                by_key[keys.pop()].append((unit, tuple(columns)))
    return by_key


def reading_of(family: Family, feature: int, columns: int) -> Reading:
    """Return how the levels of one of a block's columns are read."""
    levels = family.levels
    if isinstance(levels, Codes):
        levels = Codes(levels.least_of(feature, columns))
    return levels, family.unseen


def put_side_by_side(key: Key, members: Sequence[Member], labels: LabelledRows) -> JoinableColumns:
    """Put units that can be joined side by side."""
    units: list[Any] = [unit for unit, _ in members]
    places: list[ColumnPlace] = []
    start: list[Block] = []
    for _, columns in members:
        start.append(tuple(range(len(places), len(places) + len(columns))))
        places += columns
    if len(places) > MAX_COLUMNS:
        raise ValueError(
            f"{len(places):,} columns can be joined with each other, and {MAX_COLUMNS:,} are the "
            "most that are searched. Leave out some, such as those with the least `relevance`."
        )
    make: Any = NumberEvidence.of if key is None else LevelEvidence.of
    evidence = make(units, labels)
    note = _changed_prior(evidence, units)
    return JoinableColumns(key, evidence, tuple(places), tuple(start), note)


def _changed_prior(evidence: BlockEvidence, units: Sequence[Any]) -> str:
    """Return a note on the prior of all partitions, where a unit of the model has another one."""
    is_changed = False
    priors = []
    for name, template in evidence.compared.items():
        value = getattr(evidence, name)
        is_changed |= not all(np.array_equal(value, getattr(unit, name)) for unit in units)
        priors.append(template.format(", ".join(f"{x:.4g}" for x in dict.fromkeys(value.tolist()))))
    return f"All partitions are compared under {' and '.join(priors)}." if is_changed else ""


def declare_blocks(
    schema: Schema,
    priors: Sequence[Belief],
    stats: Sequence[Stats],
    kinds: Sequence[JoinableColumns],
) -> dict[Names, Family]:
    """Return families of all columns, by names, that declare the blocks of each kind.

    A column by itself keeps its family where it was compared under the prior that this has.
    """
    families: dict[Names, Family] = {}
    for kind in kinds:
        for block in kind.blocks:
            if len(block) > 1:
                family = kind.evidence.together(kind.in_order(block), kind.key)
                families[kind.names(block)] = family
                continue
            (at,) = block
            name, _, b, feature = kind.places[at]
            family = schema.blocks[b].family
            belief = kind.evidence.alone(at, bool(family.outcomes))
            if family.multivariate or not _equal(family.belief(stats[b]).column(feature), belief):
                families[name,] = family.columnwise.of_column(belief, *(kind.key or ()))
    declared = {name for names in families for name in names}
    for schema_block, prior in zip(schema.blocks, priors, strict=True):
        names = schema_block.names
        family = schema_block.family
        left = tuple(name for name in names if name not in declared)
        if left and len(left) < len(names) and _varies_by_column(family):
            for name in left:
                feature = names.index(name)
                reading = reading_of(family, feature, len(names))
                families[name,] = family.of_column(prior.column(feature), *reading)
        elif left:
            families[left] = family
    return families


def _varies_by_column(family: Any) -> bool:
    """Return whether a family's prior or levels differ from column to column."""
    arrays = [getattr(family.levels, "least", 0)]
    if family.prior is not None:
        arrays += [getattr(family.prior, field.name) for field in fields(family.prior)]
    return any(np.ndim(array) > 0 for array in arrays)


def _equal(one: Belief, two: Belief) -> bool:
    """Return whether beliefs differ by rounding at most."""
    pairs = ((getattr(one, name), getattr(two, name)) for name in one.__match_args__)
    return all(np.allclose(a, b, rtol=ROUNDING, atol=0) for a, b in pairs)
