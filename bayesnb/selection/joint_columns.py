"""Columns of a model that can be joined, kind by kind, and the families that declare the blocks of a partition."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from bayesnb.families import Codes
from bayesnb.families.base import Belief, Cells, Stats
from bayesnb.families.capabilities import HasUnits, NumberUnit, Unit
from bayesnb.families.family import Family
from bayesnb.formatting import list_names
from bayesnb.model.schema import Schema
from bayesnb.selection.joint_evidence import Block, BlockEvidence, Reading, Step, level_evidence, number_evidence
from bayesnb.selection.pair_evidence import Labels

MOST_COLUMNS = 1000  # of a kind: half a million pairs
SHOWN = 4  # names of a block in a sentence
ROUNDING = 1e-12  # how far equal priors may differ, relatively
Names = tuple[Hashable, ...]
Key = Reading | None  # what levels that can be joined agree on; None for numbers


class ColumnPlace(NamedTuple):
    """Position of a column: its name, its place in the table, its block, its place there."""

    name: Hashable
    place: int
    block: int
    feature: int


Member = tuple[Unit, tuple[ColumnPlace, ...]]  # a block that the search starts from, and its columns


@dataclass(frozen=True, eq=False)
class JoinableColumns:
    """Columns of one kind that can be joined with each other, and the blocks that they start in."""

    key: Key
    evidence: BlockEvidence
    places: tuple[ColumnPlace, ...]
    start: tuple[Block, ...]
    changed_prior: str = ""  # a note on priors that are not those of the model

    @property
    def log_evidence(self) -> float:
        return sum(self.evidence.log_evidence(block) for block in self.start)

    def in_order(self, block: Block) -> list[int]:
        """Return the columns of a block in the order of the table."""
        return sorted(block, key=lambda at: self.places[at].place)

    def names(self, block: Block) -> Names:
        return tuple(self.places[at].name for at in self.in_order(block))

    def describe(self, step: Step) -> str:
        """Describe a step in words."""
        if len(step.made) == 1:
            first, second = sorted(step.gone, key=lambda block: self.places[self.in_order(block)[0]].place)
            return f"{list_block(self.names(first))} + {list_block(self.names(second))}"
        left, new = step.made
        (moved,) = set(step.gone[0]) - set(left)
        where = "by itself" if len(new) == 1 else f"to {list_block(self.names(tuple(set(new) - {moved})))}"
        return f"{self.places[moved].name} from {list_block(self.names(left))} {where}"


def list_block(names: Sequence[Hashable]) -> str:
    """Join the first names, and the number of the rest."""
    return list_names(names, SHOWN)


def joinable_members(schema: Schema, priors: Sequence[Belief], cells: Sequence[Cells]) -> dict[Key, list[Member]]:
    """Return the units of columns that can be joined with others of their kind, by what these agree on."""
    by_key: dict[Key, list[Member]] = defaultdict(list)
    for b, (block, prior, x) in enumerate(zip(schema.blocks, priors, cells, strict=True)):
        for unit in prior.units(x) if isinstance(prior, HasUnits) else ():
            places = tuple(ColumnPlace(block.names[f], block.places[f], b, f) for f in unit.places)
            for key in _keys(block.family, unit, len(block.names)):
                by_key[key].append((unit, places))
    return by_key


def reading_of(family: Family, feature: int, columns: int) -> Reading:
    """Return how the levels of one of a block's columns are read."""
    levels = family.levels
    if isinstance(levels, Codes):
        levels = Codes(levels.least_of(feature, columns))
    return levels, family.unseen


def _keys(family: Family, unit: Unit, columns: int) -> set[Key]:
    """Return the one key of a unit, or none if its columns cannot be joined with others."""
    if isinstance(unit, NumberUnit):
        return {None}
    if family.threshold is not None:  # a table would know the numbers themselves as levels
        return set()
    keys: set[Key] = {reading_of(family, place, columns) for place in unit.places}
    return keys if len(keys) == 1 else set()


def kind_of(
    key: Key, members: Sequence[Member], labels: Labels, concentration: float | None, most: int = MOST_COLUMNS,
    advice: str = "Name some `columns`, such as those with the most `relevance`.",
) -> JoinableColumns:  # fmt: skip
    """Put units that can be joined side by side; an error with some advice where they have more columns than `most`."""
    units: list[Any] = [unit for unit, _ in members]
    places = tuple(place for _, places in members for place in places)
    if len(places) > most:
        raise ValueError(
            f"{len(places):,} columns can be joined with each other, and {most:,} are the most that are searched. "
            + advice
        )
    evidence = number_evidence(units, labels) if key is None else level_evidence(units, labels, concentration)
    ends = np.cumsum([len(unit.places) for unit in units]).tolist()
    start = tuple(tuple(range(end - len(unit.places), end)) for end, unit in zip(ends, units, strict=True))
    return JoinableColumns(key, evidence, places, start, _changed_prior(evidence, units))


def _changed_prior(evidence: BlockEvidence, units: Sequence[Any]) -> str:
    """Return a note on the prior under which all partitions are compared, where a unit has another one."""
    compared = {name: getattr(evidence, name) for name in evidence.compared}
    if all(np.array_equal(value, getattr(unit, name)) for unit in units for name, value in compared.items()):
        return ""
    distinct = {name: dict.fromkeys(value.tolist()) for name, value in compared.items()}
    texts = {name: ", ".join(f"{value:.4g}" for value in values) for name, values in distinct.items()}
    priors = " and ".join(template.format(texts[name]) for name, template in evidence.compared.items())
    return f"All partitions are compared under {priors}."


@dataclass(frozen=True, eq=False)
class ColumnBlocks:
    """A partition of a model's columns: the schema, its priors and stats, and the blocks of each kind of columns."""

    schema: Schema
    priors: Sequence[Belief]
    stats: Sequence[Stats]
    blocks: Sequence[tuple[JoinableColumns, set[Block]]]

    @property
    def joined(self) -> dict[Names, Family]:
        """Families of the columns that are modelled jointly."""
        return {
            kind.names(block): kind.evidence.together(kind.in_order(block), kind.key)
            for kind, blocks in self.blocks
            for block in sorted(blocks)
            if len(block) > 1
        }

    def families(self, changed: dict[Hashable, Family]) -> dict[Names, Family]:
        """Families of all columns by name: of those alone the given ones, or those that the schema has."""
        families = self.joined
        joined = {name for names in families for name in names}
        for b, block in enumerate(self.schema.blocks):
            left = tuple(name for name in block.names if name not in joined and name not in changed)
            families |= {(name,): changed[name] for name in block.names if name in changed}
            if left and len(left) < len(block.names) and _varies_by_column(block.family):
                for name in left:
                    feature = block.names.index(name)
                    reading = reading_of(block.family, feature, len(block.names))
                    families[name,] = block.family.of_column(self.priors[b].column(feature), *reading)
            elif left:
                families[left] = block.family
        return families

    def changed(self) -> Iterator[tuple[Hashable, Family]]:
        """Yield single columns that were compared under other priors than the model's, with their families."""
        for kind, blocks in self.blocks:
            for (at,) in (block for block in blocks if len(block) == 1):
                name, _, b, feature = kind.places[at]
                family = self.schema.blocks[b].family
                belief = kind.evidence.alone(at, bool(family.outcomes))
                if family.multivariate or not _equal(family.belief(self.stats[b]).column(feature), belief):
                    yield name, family.columnwise.of_column(belief, *(kind.key or ()))


def _varies_by_column(family: Any) -> bool:
    """Return whether a family's prior or levels differ from column to column."""
    arrays = [getattr(family.prior, field.name) for field in fields(family.prior)] if family.prior is not None else []
    return any(np.ndim(array) for array in arrays) or np.ndim(getattr(family.levels, "least", 0)) > 0


def _equal(one: Belief, two: Belief) -> bool:
    """Return whether beliefs differ by rounding at most."""
    pairs = ((getattr(one, name), getattr(two, name)) for name in one.__match_args__)
    return all(np.allclose(a, b, rtol=ROUNDING, atol=0) for a, b in pairs)
