"""Columns of a model that can be joined, kind by kind, and the estimator that declares the blocks of a search."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import singledispatch
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from bayesnb.criticism.learnt_rows import LearntRows
from bayesnb.estimators import NaiveBayes
from bayesnb.families import Beta, Categorical, Codes, Dirichlet, Gaussian, NormalInverseGamma
from bayesnb.families.base import Belief
from bayesnb.families.family import Family
from bayesnb.model.product import ProductStats
from bayesnb.model.schema import Schema
from bayesnb.selection.feature_evidence import check_comparable
from bayesnb.selection.joint_evidence import (
    Block,
    BlockEvidence,
    NumberUnit,
    Reading,
    Unit,
    joinable,
    level_evidence,
    number_evidence,
    plain,
)
from bayesnb.selection.pair_evidence import Labels
from bayesnb.selection.partition_search import Step

MOST_COLUMNS = 1000  # of a kind: half a million pairs
SHOWN = 4  # names of a block in a sentence
Names = tuple[Hashable, ...]
ROUNDING = 1e-12  # how far equal priors may differ, relatively
Key = Reading | None  # what levels that can be joined agree on; None for numbers


class Home(NamedTuple):
    """Position of a column: its name, its place in the table, its block, its place there."""

    name: Hashable
    place: int
    block: int
    feature: int


class Member(NamedTuple):
    """A block that the search starts from, and its columns."""

    unit: Unit
    homes: tuple[Home, ...]


@dataclass(frozen=True, eq=False)
class Kind:
    """Columns that can be joined with each other, and the blocks that they start in."""

    key: Key
    columns: BlockEvidence
    homes: tuple[Home, ...]
    start: tuple[Block, ...]
    moved: str = ""  # a note on priors that are not those of the model

    @property
    def log_evidence(self) -> float:
        return sum(self.columns.log_evidence(block) for block in self.start)

    def in_order(self, block: Block) -> list[int]:
        """Return the columns of a block in the order of the table."""
        return sorted(block, key=lambda at: self.homes[at].place)

    def together(self, block: Block) -> Family:
        """Return the joint family of several columns."""
        return self.columns.together(self.in_order(block), self.key)

    def names(self, block: Block) -> Names:
        return tuple(self.homes[at].name for at in self.in_order(block))

    def describe(self, step: Step) -> str:
        """Describe a step in words."""
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
    """Join the first names, and the number of the rest."""
    first = ", ".join(map(str, names[:SHOWN]))
    return first if len(names) <= SHOWN else f"{first} and {len(names) - SHOWN} more"


def kinds_of(learnt: LearntRows, columns: Sequence[Hashable] | None, concentration: float | None) -> list[Kind]:
    """Return the columns that can be joined, kind by kind, at least two of each."""
    by_key = _members(learnt)
    chosen = _chosen(learnt.estimator.schema_, by_key, columns)
    labels = Labels(learnt.rows.codes, learnt.rows.counts, len(learnt.estimator.classes_))
    kinds = []
    for key, members in by_key.items():
        members = [member for member in members if chosen is None or _is_in(member, chosen)]
        if sum(len(member.homes) for member in members) > 1:
            units: Any = [member.unit for member in members]
            evidence = number_evidence(units, labels) if key is None else level_evidence(units, labels, concentration)
            kinds.append(_kind(key, evidence, members))
    if not kinds:
        raise ValueError(
            "no two columns can be joined: levels and flags are joined with each other where they are read alike and "
            "their priors are even, and numbers with numbers."
        )
    return kinds


def rest_of(learnt: LearntRows, stats: ProductStats, kinds: Sequence[Kind]) -> float:
    """Log evidence of the labels and of the columns that are in no kind."""
    if not learnt.model.prior.classes.strictly_proper:
        raise ValueError("class_prior: a concentration of 0 is improper, so the evidence is undefined. Give another.")
    labels, blocks = learnt.model.prior.log_evidence(stats)
    joined = {(home.block, home.feature) for kind in kinds for home in kind.homes}
    return labels + sum(
        float(terms[f])
        for b, terms in enumerate(blocks)
        for f in range(len(terms))
        if (b, f) not in joined  # a block that is modelled jointly is one feature, at its first column's place
    )


def _members(learnt: LearntRows) -> dict[Key, list[Member]]:
    """Group the blocks to start from by what they can be joined with."""
    by_key: dict[Key, list[Member]] = defaultdict(list)
    for b, (block, prior) in enumerate(zip(learnt.estimator.schema_.blocks, learnt.model.prior.blocks, strict=True)):
        check_comparable(prior, block.keys, alike=False)
        for unit in joinable(prior, learnt.rows.cells[b]):
            homes = tuple(Home(block.names[f], block.places[f], b, f) for f in unit.places)
            for key in _keys(block.family, unit, len(block.names)):
                by_key[key].append(Member(unit, homes))
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


def _chosen(
    schema: Schema, by_key: dict[Key, list[Member]], columns: Sequence[Hashable] | None
) -> set[Hashable] | None:
    """Check the names of the columns that may be joined; None for all."""
    if columns is None:
        return None
    if isinstance(columns, str) or not np.iterable(columns):
        raise ValueError(f"columns must be None or a list of names, got {columns!r}.")
    names = list(columns)
    known = [home.name for members in by_key.values() for member in members for home in member.homes]
    for name in names:
        if name not in known:
            why = "cannot be joined with others" if name in schema.families else "is no column of this model"
            raise ValueError(f"columns: {name!r} {why}. Name some of {known[:20]}.")
    return set(names)


def _is_in(member: Member, chosen: set[Hashable]) -> bool:
    names = [home.name for home in member.homes]
    inside = [name in chosen for name in names]
    if any(inside) and not all(inside):
        raise ValueError(f"columns: {names} are one block of this model. Name all of them, or none.")
    return all(inside)


def _kind(key: Key, columns: BlockEvidence, members: Sequence[Member]) -> Kind:
    homes = tuple(home for member in members for home in member.homes)
    if len(homes) > MOST_COLUMNS:
        raise ValueError(
            f"{len(homes):,} columns can be joined with each other, and {MOST_COLUMNS:,} are the most that are "
            "searched. Name some `columns`, such as those with the most `relevance`."
        )
    ends = np.cumsum([len(member.homes) for member in members]).tolist()
    start = tuple(tuple(range(end - len(member.homes), end)) for end, member in zip(ends, members, strict=True))
    return Kind(key, columns, homes, start, _moved(columns, [member.unit for member in members]))


def _moved(columns: BlockEvidence, units: Sequence[Unit]) -> str:
    """Describe the priors of all partitions, where those of the model differ between columns."""
    if all(np.array_equal(getattr(columns, name), getattr(unit, name)) for unit in units for name in columns.compared):
        return ""
    priors = []
    for name, template in columns.compared.items():
        values = dict.fromkeys(getattr(columns, name).tolist())
        priors.append(template.format(", ".join(f"{value:.4g}" for value in values)))
    return f"All partitions are compared under {' and '.join(priors)}."


@dataclass(frozen=True, eq=False)
class JointBlocks:
    """The result of a search: a model with its rows and their stats, and blocks of its columns, kind by kind."""

    learnt: LearntRows
    stats: ProductStats
    kinds: Sequence[Kind]
    blocks: Sequence[set[Block]]

    @property
    def names(self) -> tuple[Names, ...]:
        """Blocks of the partition in the table's order, those of a single column too."""
        place = {name: at for at, name in enumerate(self._schema.columns)}
        result = [kind.names(block) for kind, blocks in zip(self.kinds, self.blocks, strict=True) for block in blocks]
        searched = {name for names in result for name in names}
        for block in self._schema.blocks:
            rest = [tuple(block.names)] if block.family.whole else [(name,) for name in block.names]
            result += [names for names in rest if names[0] not in searched]
        return tuple(sorted(result, key=lambda names: place[names[0]]))

    @property
    def estimator(self) -> NaiveBayes:
        """A new `NaiveBayes` like the model that declares the blocks."""
        model, columns = self.learnt.estimator, self._schema.columns
        families: dict[Names, Family | None] = dict(self._together())
        families |= self._alone({name for names in families for name in names})
        known = {name for names in families for name in names}
        dropped = tuple(name for name in columns if name not in known)
        families |= {dropped: None} if dropped else {}
        declared = {_key(names): family for names, family in families.items()}
        any_columns = "families" in model.get_params(deep=False)
        return model._fresh(families=declared) if any_columns else _naive_bayes_like(model, declared)

    def _together(self) -> Iterator[tuple[Names, Family]]:
        for kind, blocks in zip(self.kinds, self.blocks, strict=True):
            yield from ((kind.names(block), kind.together(block)) for block in sorted(blocks) if len(block) > 1)

    def _alone(self, joined: set[Hashable]) -> dict[Names, Family]:
        """Return families of single columns: those of the model or, where other priors were compared, one for each."""
        changed, families = dict(self._changed()), dict[Names, Family]()
        for b, block in enumerate(self._schema.blocks):
            left = tuple(name for name in block.names if name not in joined and name not in changed)
            families |= {(name,): changed[name] for name in block.names if name in changed}
            if left and len(left) < len(block.names) and _varies_by_column(block.family):
                families |= {(name,): self._single(b, block.names.index(name)) for name in left}
            elif left:
                families[left] = block.family
        return families

    def _single(self, b: int, feature: int) -> Family:
        """Return the model's family of one column of a block whose prior varies by column."""
        block, belief = self._schema.blocks[b], self.learnt.model.prior.blocks[b].column(feature)
        return of_column(belief, reading_of(block.family, feature, len(block.names)), block.family)

    def _changed(self) -> Iterator[tuple[Hashable, Family]]:
        """Yield single columns that were compared under other priors than the model's, with their families."""
        for kind, blocks in zip(self.kinds, self.blocks, strict=True):
            for (at,) in (block for block in blocks if len(block) == 1):
                home = kind.homes[at]
                family, seen = self._schema.blocks[home.block].family, self.stats.blocks[home.block]
                belief = kind.columns.alone(at, bool(family.outcomes))
                if family.whole or not _equal(family.belief(seen).column(home.feature), belief):
                    yield home.name, of_column(belief, kind.key, family)

    @property
    def _schema(self) -> Schema:
        return self.learnt.estimator.schema_


@singledispatch
def of_column(belief: Belief, reading: Reading | None, family: Family) -> Family:
    """Return the family of a single column with this belief, the class axis first; `reading` is how levels are read."""
    raise TypeError(f"{type(family).__name__} has one prior for all its columns.")


@of_column.register
def _(belief: Dirichlet, reading: Reading, family: Family) -> Family:
    each = plain(belief.concentration)
    each = each[..., :1] if (each == each[..., :1]).all() else each
    each = each if each.ndim == 1 else each[:, None]
    return Categorical(Dirichlet(each[0] if each.shape == (1,) else each), *reading)


@of_column.register
def _(belief: Beta, reading: Reading, family: Any) -> Family:
    return replace(family, prior=Beta(*(plain(counts[:, None])[..., 0] for counts in (belief.a, belief.b))))


@of_column.register
def _(belief: NormalInverseGamma, reading: None, family: Family) -> Family:
    params = belief.location, belief.count, belief.shape, belief.scale
    return Gaussian(NormalInverseGamma(*(plain(param[:, None]) for param in params)))


def _key(names: Names) -> Hashable:
    """Return the key of a mapping of families; a column whose name is a tuple becomes a tuple of one name."""
    return names if len(names) > 1 or isinstance(names[0], tuple) else names[0]


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
