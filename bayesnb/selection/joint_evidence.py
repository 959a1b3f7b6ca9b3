"""Evidence of blocks of columns that are modelled jointly: a Dirichlet over combinations of levels,
or a Gaussian.

    log p(block) = sum over classes of log p(its cells in the rows of the class)

All blocks have priors with consistent margins: the prior of a block, restricted to some of its
columns, is the prior of those columns. So two partitions differ only in which columns are taken to
be independent.

A Dirichlet over K combinations of levels has concentration A / K for each, with one A for all
blocks: its margins are symmetric too, with total A (the equivalent sample size of Heckerman, Geiger
and Chickering 1995). A Gaussian of d numbers has covariance ~ InverseWishart(2 shape + d - 1, Psi)
and mean | covariance ~ Normal(m, covariance / count), with one count and shape for all blocks, and
submatrices of one m and one Psi: marginals of an inverse Wishart keep dof - d (Geiger and Heckerman
2002). For d = 1 it is a normal-inverse-gamma with scale Psi / 2.

A fixed A fits the rare levels of a column badly, and their combinations less badly, so columns with
as many levels as rows would always be joined. Unions of blocks of levels are therefore also judged
by the evidence of each block under its best A: see `unearned`.

The search for a partition is greedy. The log Bayes factor of a step is the sum of log p(block) over
the new blocks minus that over those replaced. The two blocks whose union gains most are joined,
until no union gains; then the column whose move to another or a new block gains most is moved. The
search ends when nothing gains. A step compares only the blocks that it changes, on the rows that
have all their cells, so the evidence of other blocks does not change (semi-naive Bayes: Kononenko
1991; Pazzani 1996; by evidence: Cooper and Herskovits 1992).
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from itertools import combinations
from math import prod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bayesnb.families import (
    Beta,
    Codes,
    Dirichlet,
    JointTable,
    MultivariateGaussian,
    NormalInverseGamma,
    NormalInverseWishart,
)
from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.family import Family, unless_alike
from bayesnb.families.multivariate import VectorStats
from bayesnb.families.record import LevelUnit, NumberUnit, Unit
from bayesnb.families.weight import one_hot
from bayesnb.formatting import list_names
from bayesnb.model.schema import Schema
from bayesnb.selection.pair_evidence import (
    LabelledRows,
    at_best,
    concentration_range,
    table_evidence,
)

Block = tuple[int, ...]  # places of columns, ascending
Reading = tuple[Any, str]  # a family's `levels` and `unseen`, as for one column
# cells of a table per row, above which occupied cells are sorted instead of tabulated
MAX_CELLS_PER_ROW = 4
# A gain of a union under the best A must exceed so many nats, or this share of the declared gain:
# independent columns of many levels exceed the smaller of the two in at most 3 of 100 tables;
# without the share, dependences in about twenty rows would be missed.
MAX_LUCK = 2.0
MIN_SHARE = 0.1
ROUNDING = 1e-12  # relative to the evidence that a step compares


class Step(NamedTuple):
    """Replaced blocks, new blocks, and the log Bayes factor; `worth` is the part of it that
    counts.
    """

    gone: tuple[Block, ...]
    made: tuple[Block, ...]
    gain: float
    worth: float


def unite_blocks(*blocks: Block) -> Block:
    """Return all columns of these blocks as one block."""
    return tuple(sorted(place for block in blocks for place in block))


@dataclass(frozen=True, eq=False)
class BlockEvidence(ABC):
    """Evidence of blocks of columns of one kind.

    Blocks are compared on the rows that have all cells of some columns, `complete`.
    """

    compared: ClassVar[dict[str, str]]  # fields of the common prior, and words for them
    labels: LabelledRows
    seen: Array  # cells that are not missing, `(r, d)`

    @abstractmethod
    def together(self, at: list[int], reading: Reading | None) -> Family:
        """Return the family of a block of columns; `reading` says how their levels are read."""

    @abstractmethod
    def alone(self, at: int, flag: bool) -> Belief:
        """Return the belief about a single column, with a class axis; a Beta for a flag."""

    @abstractmethod
    def _log_evidence(self, block: Block, complete: Block, free: bool = False) -> float:
        """Log evidence of a block on the rows that have all cells of `complete`.

        With `free`, A is the best for the block of levels.
        """

    @cached_property
    def log_evidence(self) -> Callable[..., float]:
        """Log evidence of a block, cached: see `_log_evidence`."""
        return cache(self._log_evidence)

    @cached_property
    def holed(self) -> set[int]:
        """Columns with missing cells."""
        return set(np.flatnonzero(~self.seen.all(axis=0)).tolist())

    def complete(self, block: Block) -> Block:
        """Return the columns of a block that have missing cells."""
        return tuple(place for place in block if place in self.holed)

    def rows(self, complete: Block) -> Array:
        """Return the rows that have all cells of these columns."""
        return np.flatnonzero(self.seen[:, list(complete)].all(axis=1))

    def unearned(self, one: Block, two: Block, complete: Block) -> float:
        """Return the part of a positive log Bayes factor that is due to a badly fitting prior.

        It is 0 for numbers.
        """
        return 0.0

    def compare(
        self, gone: tuple[Block, ...], made: tuple[Block, ...], joined: tuple[Block, ...] = ()
    ) -> Step:
        """Return the step from blocks to other blocks of the same columns.

        `joined` are the two blocks that it joins, if any. The log Bayes factor uses the rows that
        have all cells of these columns.
        """
        complete = self.complete(unite_blocks(*gone))
        before = sum(self.log_evidence(block, complete, False) for block in gone)
        gain = sum(self.log_evidence(block, complete, False) for block in made) - before
        if abs(gain) <= ROUNDING * abs(before):
            gain = 0.0
        worth = gain
        if gain > 0 and joined:
            one, two = joined
            worth -= self.unearned(one, two, complete)
            if worth <= ROUNDING * abs(before):
                worth = 0.0
        return Step(gone, made, gain, worth)

    def join(self, one: Block, two: Block) -> Step:
        """Return the step that joins two blocks."""
        return self.compare((one, two), (unite_blocks(one, two),), (one, two))


@dataclass(frozen=True, eq=False)
class LevelEvidence(BlockEvidence):
    """Columns of levels: codes `(r, d)`, negative where missing, numbers of levels, and A by
    class.
    """

    compared: ClassVar[dict[str, str]] = {
        "concentration": "Dirichlet priors of total concentration {}"
    }
    codes: Array
    sizes: tuple[int, ...]
    concentration: Array  # `(c,)`

    @classmethod
    def of(cls, units: Sequence[LevelUnit], labels: LabelledRows) -> "LevelEvidence":
        """Join columns, with the geometric mean of their total concentrations."""
        # Fortran order, as columns are read one by one
        codes = np.asfortranarray(np.concatenate([unit.codes for unit in units], axis=1))
        sizes = tuple(size for unit in units for size in unit.sizes)
        concentration = _geometric_mean([unit.concentration for unit in units])
        return cls(labels, codes >= 0, codes, sizes, concentration)

    def combinations(self, at: Sequence[int]) -> float:
        """Return the number of combinations of levels."""
        return prod(float(self.sizes[place]) for place in at)

    def together(self, at: list[int], reading: Reading | None) -> JointTable:
        levels, unseen = reading or (None, "ignore")
        concentration = unless_alike(self.concentration / self.combinations(at))
        return JointTable(Dirichlet(concentration), levels, unseen)

    def alone(self, at: int, flag: bool) -> Beta | Dirichlet:
        size = self.sizes[at]
        each = np.repeat(self.concentration[:, None] / size, size, axis=1)
        return Beta(each[:, 1], each[:, 0]) if flag else Dirichlet(each)

    def unearned(self, one: Block, two: Block, complete: Block) -> float:
        """Return the part of a log Bayes factor that vanishes when each block has its best A.

        The best A is the same for all classes. Gains small enough to be chance do not count either.
        Evidence against a union is that of the declared prior: with the best A of each block, all
        levels may be equally probable under both hypotheses, and then there is no evidence against
        the union.
        """
        gains = []
        for free in (False, True):
            blocks = unite_blocks(one, two), one, two
            both, *apart = (self.log_evidence(block, complete, free) for block in blocks)
            gains.append(both - sum(apart))
        declared, learnt = gains
        if declared <= 0:
            return 0.0
        is_lucky = learnt <= min(MAX_LUCK, MIN_SHARE * declared)
        return declared if is_lucky else max(declared - learnt, 0.0)

    def _log_evidence(self, block: Block, complete: Block, free: bool = False) -> float:
        """Count the combinations of levels that occur in a class."""
        rows = self.rows(complete)
        classes = self.labels.codes[rows]
        weight = self.labels.counts[rows]
        group = classes
        for place in block:
            group = group * self.sizes[place] + self.codes[rows, place]
            if group.max(initial=0) > MAX_CELLS_PER_ROW * len(rows):
                group = np.unique(group, return_inverse=True)[1]
        count = np.bincount(group, weight)
        owner = np.zeros(len(count), np.intp)
        owner[group] = classes
        total = np.bincount(classes, weight, self.labels.classes)
        share = np.full(len(count), 1 / self.combinations(block))
        evidence = table_evidence(owner, count, share, total[None])
        if free:
            total = np.maximum(weight.sum(keepdims=True), 1)
            return float(at_best(evidence, *concentration_range(total)).sum())
        return float(evidence(self.concentration[:, None]).sum())


@dataclass(frozen=True, eq=False)
class NumberEvidence(BlockEvidence):
    """Columns of numbers, and the prior parameters of their blocks.

    Cells are `(r, d)`, NaN where missing; count and shape `(c,)`, m `(c, d)`, Psi `(c, d, d)`.
    """

    compared: ClassVar[dict[str, str]] = {
        "count": "Gaussians of count {}",
        "shape": "shape {} per column",
    }
    x: Array
    count: Array
    shape: Array
    location: Array
    scale: Array

    @classmethod
    def of(cls, units: Sequence[NumberUnit], labels: LabelledRows) -> "NumberEvidence":
        """Join columns, with the geometric means of the counts and shapes of their priors.

        Each scale keeps its ratio to the shape, and so the expected variance.
        """
        shape = _geometric_mean([unit.shape for unit in units])
        x = np.concatenate([unit.x for unit in units], axis=1)
        location = np.concatenate([unit.location for unit in units], axis=1)
        scale = np.zeros((labels.classes, x.shape[1], x.shape[1]))
        first = 0
        for unit in units:
            span = slice(first, first + unit.x.shape[1])
            scale[:, span, span] = unit.scale * (shape / unit.shape)[:, None, None]
            first = span.stop
        count = _geometric_mean([unit.count for unit in units])
        return cls(labels, ~np.isnan(x), x, count, shape, location, scale)

    def together(self, at: list[int], reading: Reading | None) -> MultivariateGaussian:
        prior = self.location[:, at], self.count, self._dof(at), self.scale[:, at][:, :, at]
        location, count, dof, scale = map(unless_alike, prior)
        return MultivariateGaussian(NormalInverseWishart(location, count, dof, scale))

    def alone(self, at: int, flag: bool) -> NormalInverseGamma:
        scale = self.scale[:, at, at] / 2
        return NormalInverseGamma(self.location[:, at], self.count, self.shape, scale)

    def _dof(self, at: Sequence[int]) -> Array:
        return 2 * self.shape + len(at) - 1

    def _log_evidence(self, block: Block, complete: Block, free: bool = False) -> float:
        at = list(block)
        if complete:
            stats = self._observe(at, complete)
        else:
            count, mean, scatter = self._of_all_rows
            stats = VectorStats(count, mean[..., at], scatter[..., at, :][..., at])
        prior = self.location[:, at], self.count, self._dof(at), self.scale[:, at][:, :, at]
        belief = NormalInverseWishart.raw(*(field[:, None] for field in prior), 0)
        return float(belief.log_evidence(stats).sum())

    @cached_property
    def _of_all_rows(self) -> tuple[Array, Array, Array]:
        """Count, mean and scatter of all columns."""
        stats = self._observe(slice(None), ())
        return stats.count, stats.mean, stats.scatter

    def _observe(self, at: Any, complete: Block) -> VectorStats:
        """Count some columns on the rows of `complete`."""
        rows = self.rows(complete)
        codes, counts, classes = self.labels
        weight = one_hot(codes[rows], classes, counts[rows])
        # on these rows only other columns have missing cells
        return VectorStats.of(np.nan_to_num(self.x[rows][:, at]), weight)


def _geometric_mean(values: Sequence[Array]) -> Array:
    """Geometric mean by class, exact where all are equal, `n of (c,) -> (c,)`."""
    stacked = np.stack(values)
    is_equal = (stacked == stacked[0]).all(axis=0)
    return np.where(is_equal, stacked[0], np.exp(np.log(stacked).mean(axis=0)))


def steps(columns: BlockEvidence, start: Sequence[Block]) -> Iterator[Step]:
    """Yield the steps of the search from `start`."""
    blocks = set(start)
    join = cache(columns.join)
    been = {frozenset(start)}
    while True:
        joined = (join(one, two) for one, two in combinations(sorted(blocks), 2))
        moves = _moves(columns, sorted(blocks))
        step = _best(joined, blocks, been) or _best(moves, blocks, been)
        if step is None:
            return
        yield step
        blocks = after(blocks, step)
        been.add(frozenset(blocks))


def after(blocks: set[Block], step: Step) -> set[Block]:
    """Return the blocks after a step."""
    return (blocks - set(step.gone)) | set(step.made)


def _moves(columns: BlockEvidence, blocks: Sequence[Block]) -> Iterator[Step]:
    """Yield the steps that move one column to another block or to a new one."""
    for block in blocks:
        for place in block if len(block) > 1 else ():
            left = tuple(column for column in block if column != place)
            yield columns.compare((block,), (left, (place,)))
            for target in blocks:
                if target != block:
                    moved = (target, (place,))
                    yield columns.compare((block, target), (left, unite_blocks(*moved)), moved)


def _best(
    candidates: Iterator[Step], blocks: set[Block], been: set[frozenset[Block]]
) -> Step | None:
    """Return the best step with positive worth that leads to a new partition, if any.

    With missing cells, steps compare different rows, and the search could run in circles.
    """
    fresh = (
        step for step in candidates if step.worth > 0 and frozenset(after(blocks, step)) not in been
    )
    return max(fresh, key=lambda step: step.worth, default=None)


# Columns of a model that can be joined, and families that declare the blocks

MAX_COLUMNS = 1000  # of a kind: half a million pairs
MAX_NAMES = 4  # names of a block in a sentence
PRIOR_ROUNDING = 1e-12  # how far equal priors may differ, relatively
Names = tuple[Hashable, ...]
Key = Reading | None  # levels with the same key can be joined; None for numbers


class ColumnPlace(NamedTuple):
    """Position of a column: its name, its place in the table, its block, and its place there."""

    name: Hashable
    place: int
    block: int
    feature: int


Member = tuple[Unit, tuple[ColumnPlace, ...]]  # a unit, where the search starts, and its columns


@dataclass(frozen=True, eq=False)
class JoinableColumns:
    """Columns of one kind that can be joined with each other, in blocks."""

    key: Key
    evidence: BlockEvidence
    places: tuple[ColumnPlace, ...]
    blocks: tuple[Block, ...]
    changed_prior: str = ""  # a note if priors differ from those of the model

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
    """List the first names and the number of the rest."""
    return list_names(names, MAX_NAMES)


def joinable_members(
    schema: Schema, priors: Sequence[Belief], cells: Sequence[Cells]
) -> dict[Key, list[Member]]:
    """Return the units of columns that can be joined with others of their kind, by kind."""
    by_key: dict[Key, list[Member]] = defaultdict(list)
    for b, (block, prior, x) in enumerate(zip(schema.blocks, priors, cells, strict=True)):
        family = block.family
        for unit in prior.units(x):
            keys: set[Key] = {None}  # units without exactly one key cannot be joined
            if not isinstance(unit, NumberUnit):
                keys = {reading_of(family, place, len(block.names)) for place in unit.places}
            # with a threshold, a joint table would take the numbers themselves as levels
            if len(keys) == 1 and family.threshold is None:
                columns = [ColumnPlace(block.names[f], block.places[f], b, f) for f in unit.places]
                by_key[keys.pop()].append((unit, tuple(columns)))
    return by_key


def reading_of(family: Family, feature: int, columns: int) -> Reading:
    """Return how the levels of a column of a block are read."""
    levels = family.levels
    if isinstance(levels, Codes):
        levels = Codes(levels.least_of(feature, columns))
    return levels, family.unseen


def put_side_by_side(key: Key, members: Sequence[Member], labels: LabelledRows) -> JoinableColumns:
    """Collect units that can be joined."""
    units: list[Any] = [unit for unit, _ in members]
    places: list[ColumnPlace] = []
    start: list[Block] = []
    for _, columns in members:
        start.append(tuple(range(len(places), len(places) + len(columns))))
        places += columns
    if len(places) > MAX_COLUMNS:
        raise ValueError(
            f"{len(places):,} columns can be joined, but at most {MAX_COLUMNS:,} are searched. "
            "Leave out some, such as those with the least `relevance`."
        )
    make: Any = NumberEvidence.of if key is None else LevelEvidence.of
    evidence = make(units, labels)
    note = _changed_prior(evidence, units)
    return JoinableColumns(key, evidence, tuple(places), tuple(start), note)


def _changed_prior(evidence: BlockEvidence, units: Sequence[Any]) -> str:
    """Return a note on the common prior of all partitions, if the model has other priors."""
    priors = []
    is_changed = False
    for name, template in evidence.compared.items():
        values = getattr(evidence, name)
        is_changed |= any((getattr(unit, name) != values).any() for unit in units)
        priors.append(
            template.format(", ".join(f"{x:.4g}" for x in dict.fromkeys(values.tolist())))
        )
    return f"All partitions are compared under {' and '.join(priors)}." if is_changed else ""


def declare_blocks(
    schema: Schema,
    priors: Sequence[Belief],
    stats: Sequence[Stats],
    kinds: Sequence[JoinableColumns],
) -> dict[Names, Family]:
    """Return families by names of columns, which declare the blocks of each kind.

    A single column keeps its family if it was compared under the same prior.
    """
    families: dict[Names, Family] = {}
    declared: set[Hashable] = set()
    for kind in kinds:
        for block in kind.blocks:
            names = kind.names(block)
            if len(block) > 1:
                families[names] = kind.evidence.together(kind.in_order(block), kind.key)
                declared.update(names)
                continue
            _, _, b, feature = kind.places[block[0]]
            family = schema.blocks[b].family
            belief = kind.evidence.alone(block[0], bool(family.outcomes))
            if family.multivariate or not _equal(family.belief(stats[b]).column(feature), belief):
                families[names] = family.columnwise.of_column(belief, *(kind.key or ()))
                declared.update(names)
    for schema_block, prior in zip(schema.blocks, priors, strict=True):
        every = schema_block.names
        family = schema_block.family
        left = tuple(name for name in every if name not in declared)
        if left and (len(left) == len(every) or not _varies_by_column(family)):
            families[left] = family
            continue
        for name in left:
            feature = every.index(name)
            reading = reading_of(family, feature, len(every))
            families[name,] = family.of_column(prior.column(feature), *reading)
    return families


def _varies_by_column(family: Any) -> bool:
    """Return whether the prior or the levels of a family differ by column."""
    arrays = [getattr(family.levels, "least", 0)]
    if family.prior is not None:
        arrays += [getattr(family.prior, field.name) for field in fields(family.prior)]
    return any(np.ndim(array) > 0 for array in arrays)


def _equal(one: Belief, two: Belief) -> bool:
    """Return whether beliefs are equal up to rounding."""
    for name in one.__match_args__:
        if not np.allclose(getattr(one, name), getattr(two, name), rtol=PRIOR_ROUNDING, atol=0):
            return False
    return True
