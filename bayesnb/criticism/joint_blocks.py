"""Columns of a model that can be joined, kind by kind, and the estimator that declares the blocks of a search."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from bayesnb.criticism.learnt_rows import LearntRows, check_columns
from bayesnb.estimators import NaiveBayes
from bayesnb.families import Codes, Dirichlet
from bayesnb.families.base import Belief
from bayesnb.families.capabilities import HasUnits, NumberUnit, Unit
from bayesnb.families.family import Family
from bayesnb.model.product import ProductStats
from bayesnb.model.schema import Schema
from bayesnb.selection.feature_evidence import check_comparable
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
            return f"{shown(self.names(first))} + {shown(self.names(second))}"
        left, new = step.made
        (moved,) = set(step.gone[0]) - set(left)
        where = "by itself" if len(new) == 1 else f"to {shown(self.names(tuple(set(new) - {moved})))}"
        return f"{self.places[moved].name} from {shown(self.names(left))} {where}"


def shown(names: Sequence[Hashable]) -> str:
    """Join the first names, and the number of the rest."""
    first = ", ".join(map(str, names[:SHOWN]))
    return first if len(names) <= SHOWN else f"{first} and {len(names) - SHOWN} more"


def joinable_columns(
    learnt: LearntRows, columns: Sequence[Hashable] | None, concentration: float | None
) -> list[JoinableColumns]:
    """Return the columns that can be joined, kind by kind, at least two of each."""
    by_key: dict[Key, list[Member]] = defaultdict(list)
    schema = learnt.estimator.schema_
    for b, (block, prior) in enumerate(zip(schema.blocks, learnt.model.prior.blocks, strict=True)):
        check_comparable(prior, block.keys, alike=False)
        for unit in prior.units(learnt.rows.cells[b]) if isinstance(prior, HasUnits) else ():
            places = tuple(ColumnPlace(block.names[f], block.places[f], b, f) for f in unit.places)
            for key in _keys(block.family, unit, len(block.names)):
                by_key[key].append((unit, places))
    if columns is not None:
        known = [place.name for members in by_key.values() for _, places in members for place in places]
        chosen = check_columns(columns, known, schema, "cannot be joined with others")
        by_key = {key: [each for each in members if _is_in(each, chosen)] for key, members in by_key.items()}
    labels = Labels(learnt.rows.codes, learnt.rows.counts, len(learnt.estimator.classes_))
    kinds = [
        _kind(key, members, labels, concentration)
        for key, members in by_key.items()
        if sum(len(places) for _, places in members) > 1
    ]
    if not kinds:
        raise ValueError(
            "no two columns can be joined: levels and flags are joined with each other where they are read alike and "
            "their priors are even, and numbers with numbers where they are Gaussian: families={column: 'gaussian'}."
        )
    return kinds


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


def _is_in(member: Member, chosen: Sequence[Hashable]) -> bool:
    names = [place.name for place in member[1]]
    inside = [name in chosen for name in names]
    if any(inside) and not all(inside):
        raise ValueError(f"columns: {names} are one block of this model. Name all of them, or none.")
    return all(inside)


def _kind(key: Key, members: Sequence[Member], labels: Labels, concentration: float | None) -> JoinableColumns:
    units: list[Any] = [unit for unit, _ in members]
    evidence = number_evidence(units, labels) if key is None else level_evidence(units, labels, concentration)
    places = tuple(place for _, places in members for place in places)
    if len(places) > MOST_COLUMNS:
        raise ValueError(
            f"{len(places):,} columns can be joined with each other, and {MOST_COLUMNS:,} are the most that are "
            "searched. Name some `columns`, such as those with the most `relevance`."
        )
    ends = np.cumsum([len(unit.places) for unit in units]).tolist()
    start = tuple(tuple(range(end - len(unit.places), end)) for end, unit in zip(ends, units, strict=True))
    fields = {name: getattr(evidence, name) for name in evidence.compared}
    changed = ""
    if not all(np.array_equal(value, getattr(unit, name)) for unit in units for name, value in fields.items()):
        distinct = {name: dict.fromkeys(value.tolist()) for name, value in fields.items()}
        texts = {name: ", ".join(f"{value:.4g}" for value in values) for name, values in distinct.items()}
        priors = " and ".join(template.format(texts[name]) for name, template in evidence.compared.items())
        changed = f"All partitions are compared under {priors}."
    return JoinableColumns(key, evidence, places, start, changed)


@dataclass(frozen=True, eq=False)
class JointBlocks:
    """Result of a search: a model with its rows and their stats, and blocks of its columns, kind by kind."""

    learnt: LearntRows
    stats: ProductStats
    blocks: Sequence[tuple[JoinableColumns, set[Block]]]

    @property
    def schema(self) -> Schema:
        return self.learnt.estimator.schema_

    @property
    def rest(self) -> float:
        """Log evidence of the labels and of the columns that are of no kind."""
        prior = self.learnt.model.prior
        if not prior.classes.strictly_proper:
            raise ValueError(
                "class_prior: a concentration of 0 is improper, so the evidence is undefined. Give another."
            )
        labels, blocks = prior.log_evidence(self.stats)
        joined = {(place.block, place.feature) for kind, _ in self.blocks for place in kind.places}
        return labels + sum(
            float(terms[f])
            for b, terms in enumerate(blocks)
            for f in range(len(terms))
            if (b, f) not in joined  # a block that is modelled jointly is one feature, at its first column's place
        )

    @property
    def names(self) -> tuple[Names, ...]:
        """Blocks of the partition in the table's order, those of a single column too."""
        order = {name: at for at, name in enumerate(self.schema.columns)}
        result = [kind.names(block) for kind, blocks in self.blocks for block in blocks]
        searched = {name for names in result for name in names}
        for block in self.schema.blocks:
            rest = [tuple(block.names)] if block.family.multivariate else [(name,) for name in block.names]
            result += [names for names in rest if names[0] not in searched]
        return tuple(sorted(result, key=lambda names: order[names[0]]))

    @property
    def estimator(self) -> NaiveBayes:
        """A new `NaiveBayes` like the model that declares the blocks."""
        model = self.learnt.estimator
        families: dict[Names, Family | None] = {
            kind.names(block): kind.evidence.together(kind.in_order(block), kind.key)
            for kind, blocks in self.blocks
            for block in sorted(blocks)
            if len(block) > 1
        }
        families |= self._alone({name for names in families for name in names})
        known = {name for names in families for name in names}
        dropped = tuple(name for name in self.schema.columns if name not in known)
        families |= {dropped: None} if dropped else {}
        # the key of a column whose name is a tuple is a tuple of one name
        declared = {names if len(names) > 1 or isinstance(names[0], tuple) else names[0]: family
                    for names, family in families.items()}  # fmt: skip
        any_columns = "families" in model.get_params(deep=False)
        return model._fresh(families=declared) if any_columns else _naive_bayes_like(model, declared)

    def _alone(self, joined: set[Hashable]) -> dict[Names, Family]:
        """Return families of single columns: those of the model or, where other priors were compared, one for each."""
        changed, families = dict(self._changed()), dict[Names, Family]()
        for b, block in enumerate(self.schema.blocks):
            left = tuple(name for name in block.names if name not in joined and name not in changed)
            families |= {(name,): changed[name] for name in block.names if name in changed}
            if left and len(left) < len(block.names) and _varies_by_column(block.family):
                for name in left:
                    feature = block.names.index(name)
                    belief = self.learnt.model.prior.blocks[b].column(feature)
                    reading = reading_of(block.family, feature, len(block.names))
                    families[name,] = block.family.of_column(belief, *reading)
            elif left:
                families[left] = block.family
        return families

    def _changed(self) -> Iterator[tuple[Hashable, Family]]:
        """Yield single columns that were compared under other priors than the model's, with their families."""
        for kind, blocks in self.blocks:
            for (at,) in (block for block in blocks if len(block) == 1):
                name, _, b, feature = kind.places[at]
                family = self.schema.blocks[b].family
                belief = kind.evidence.alone(at, bool(family.outcomes))
                if family.multivariate or not _equal(family.belief(self.stats.blocks[b]).column(feature), belief):
                    yield name, family.columnwise.of_column(belief, *(kind.key or ()))


def _varies_by_column(family: Any) -> bool:
    """Return whether a family's prior or levels differ from column to column."""
    arrays = [getattr(family.prior, field.name) for field in fields(family.prior)] if family.prior is not None else []
    return any(np.ndim(array) for array in arrays) or np.ndim(getattr(family.levels, "least", 0)) > 0


def _equal(one: Belief, two: Belief) -> bool:
    """Return whether beliefs differ by rounding at most."""
    pairs = ((getattr(one, name), getattr(two, name)) for name in one.__match_args__)
    return all(np.allclose(a, b, rtol=ROUNDING, atol=0) for a, b in pairs)


def _naive_bayes_like(model: Any, families: dict[Hashable, Family | None]) -> NaiveBayes:
    """Return a `NaiveBayes` with these families, and all else as in a preset."""
    prior = model._class_prior
    if prior is None:
        prior = 1.0
    elif not isinstance(prior, (str, Real, Mapping, Dirichlet)):
        prior = dict(zip(model.classes_.tolist(), np.asarray(prior, float).tolist(), strict=True))
    kept = {name: getattr(model, name) for name in ("classes", "temper", "n_jobs", "estimate")}
    return NaiveBayes(families, class_prior=prior, **kept)
