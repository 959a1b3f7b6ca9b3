"""Evidence of blocks of columns that are modelled jointly: a Dirichlet over combinations of levels,
or a Gaussian.

    log p(block) = sum over classes of log p(its cells in the rows of the class)

All blocks have priors with consistent margins: the prior of a block, restricted to a few of its
columns, is the prior of those columns. So two partitions differ in which columns they take to be
independent, and in nothing else.

A Dirichlet over K combinations of levels has concentration A / K for each, with one A for all
blocks: its margins are symmetric too, with total A (the equivalent sample size of Heckerman, Geiger
and Chickering 1995). A Gaussian of d numbers has covariance ~ InverseWishart(2 shape + d - 1, Psi)
and mean | covariance ~ Normal(m, covariance / count), with one count and shape for all blocks, and
their parts of one m and one Psi: of fewer columns an inverse Wishart keeps dof - d (Geiger and
Heckerman 2002). For d = 1 it is Normal-inverse-gamma, of scale Psi / 2.

One A explains the rare levels of a column badly, and their combinations less badly: columns of as
many levels as rows would be joined, whatever they are. So a union of blocks of levels is also
judged by the evidence of each block under its best A: see `unearned`.

The search for a partition is greedy. The log Bayes factor of a step is the sum of log p(block) over
the blocks it makes less that over those it replaces. The two blocks whose union gains most are
joined, and again, until no union gains; then the column is moved, to another block or to a new one,
whose move gains most. It ends where nothing gains. A step compares only the blocks that it changes,
on the rows that have all their cells, so the evidence of all others stays (semi-naive Bayes:
Kononenko 1991; Pazzani 1996; by the evidence: Cooper and Herskovits 1992).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bayesnb.families import (
    Beta,
    Dirichlet,
    JointTable,
    MultivariateGaussian,
    NormalInverseGamma,
    NormalInverseWishart,
)
from bayesnb.families.base import Array, Belief
from bayesnb.families.family import Family, unless_alike
from bayesnb.families.units import LevelUnit, NumberUnit
from bayesnb.numerics.special import log_gamma_ratio, ratio
from bayesnb.selection.contingency import LabelledRows

Block = tuple[int, ...]  # places of columns, ascending
Reading = tuple[Any, str]  # a family's `levels` and `unseen`, as for one column
LOG_PI = float(np.log(np.pi))
MAX_FOLDED = 1 << 62  # combinations that an integer can tell apart
# concentrations that are tried: as good as 0, and times rows**2 as good as infinite
MIN_CONCENTRATION = 1e-3
MAX_CONCENTRATION = 1e4
# of the search for the best: places of a ladder, and ladders, each within the last
RUNGS = 25
ROUNDS = 4
# Nats under the best A, and their share of the declared gain. Independent columns of many levels
# reach the lesser of
# the two in at most 3 of 100 tables; without the share, dependences in some twenty rows would be
# lost.
MAX_LUCK = 2.0
MIN_SHARE = 0.1
ROUNDING = 1e-12  # of the evidence that a step compares


class Step(NamedTuple):
    """Blocks that are replaced, those that replace them, and its log Bayes factor.

    `worth` is the part of the factor that counts.
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
    """Columns of one kind, any of which may be joined, and the evidence of blocks of them."""

    compared: ClassVar[dict[str, str]]  # fields of the one prior of all blocks, and their words
    labels: LabelledRows

    @abstractmethod
    def together(self, at: Sequence[int], reading: Reading | None) -> Family:
        """Return the family of several columns; `reading` is how their levels are read."""

    @abstractmethod
    def alone(self, at: int, flag: bool) -> Belief:
        """Return the belief about a single column, the class axis first; a Beta for a flag."""

    @cached_property
    @abstractmethod
    def seen(self) -> Array:
        """Cells that are not missing, `(r, d)`."""

    @abstractmethod
    def _log_evidence(self, block: Block, complete: Block) -> float:
        """Log evidence of a block in the rows that have all cells of `complete`."""

    @cached_property
    def _known(self) -> Callable[[Block, Block], float]:
        """Log evidence of a block, once computed for each."""
        return cache(self._log_evidence)

    @cached_property
    def holed(self) -> set[int]:
        """Columns with missing cells."""
        return set(np.flatnonzero(~self.seen.all(axis=0)).tolist())

    def complete(self, among: Block) -> Block:
        """Return those of these columns that have missing cells."""
        return tuple(place for place in among if place in self.holed)

    def rows(self, complete: Block) -> Array:
        """Return the rows that have all cells of these columns."""
        return np.flatnonzero(self.seen[:, list(complete)].all(axis=1))

    def log_evidence(self, block: Block, among: Block | None = None) -> float:
        """Log evidence of a block in the rows that have all cells of `among`.

        By default, those of the block itself.
        """
        return self._known(block, self.complete(among or block))

    def unearned(self, one: Block, two: Block, among: Block) -> float:
        """Return the part of a log Bayes factor that is owed to a prior that fits neither block.

        It is 0 for numbers.

        Both hypotheses are compared in the rows that have all cells of `among`.
        """
        return 0.0

    def compare(
        self, gone: tuple[Block, ...], made: tuple[Block, ...], joined: tuple[Block, ...] = ()
    ) -> Step:
        """Return the step from blocks to others of the same columns.

        `joined` are the two that it joins, if any.

        Its log Bayes factor is that of the rows that have all cells of these columns.
        """
        among = unite_blocks(*gone)
        before, after = (
            sum(self.log_evidence(block, among) for block in blocks) for blocks in (gone, made)
        )
        gain = after - before if abs(after - before) > ROUNDING * abs(before) else 0.0
        worth = gain
        if gain > 0 and joined:
            one, two = joined
            worth -= self.unearned(one, two, among)
            worth = worth if worth > ROUNDING * abs(self.log_evidence(made[0], among)) else 0.0
        return Step(gone, made, gain, worth)

    def join(self, one: Block, two: Block) -> Step:
        """Return the step that joins two blocks."""
        return self.compare((one, two), (unite_blocks(one, two),), (one, two))


@dataclass(frozen=True, eq=False)
class LevelEvidence(BlockEvidence):
    """Columns of levels: codes `(r, d)`, negative where missing.

    They come with the number of levels of each column, and A of each class.
    """

    compared: ClassVar[dict[str, str]] = {
        "concentration": "Dirichlet priors of total concentration {}"
    }
    codes: Array
    sizes: tuple[int, ...]
    concentration: Array  # `(c,)`

    def together(self, at: Sequence[int], reading: Reading | None) -> JointTable:
        combinations = float(np.prod([float(self.sizes[place]) for place in at]))
        levels, unseen = reading or (None, "ignore")
        return JointTable(
            Dirichlet(unless_alike(self.concentration / combinations)), levels, unseen
        )

    def alone(self, at: int, flag: bool) -> Beta | Dirichlet:
        size = self.sizes[at]
        each = np.repeat(self.concentration[:, None] / size, size, axis=1)
        return Beta(each[:, 1], each[:, 0]) if flag else Dirichlet(each)

    @cached_property
    def seen(self) -> Array:
        return self.codes >= 0

    def unearned(self, one: Block, two: Block, among: Block) -> float:
        """Return the part of a log Bayes factor that vanishes when each block has its best A.

        The best A is one for all classes. A gain that luck explains is not earned either.
        Against a union the declared prior has the last word: with an A for each block, both
        hypotheses may take all levels to be equally probable, and then nothing speaks
        against either.
        """
        both = unite_blocks(one, two)
        complete = self.complete(among)
        declared = (
            self.log_evidence(both, among)
            - self.log_evidence(one, among)
            - self.log_evidence(two, among)
        )
        if declared <= 0:
            return 0.0
        learnt = (
            self.highest(both, complete) - self.highest(one, complete) - self.highest(two, complete)
        )
        return (
            max(declared - learnt, 0.0)
            if learnt > min(MAX_LUCK, MIN_SHARE * declared)
            else declared
        )

    def _log_evidence(self, block: Block, complete: Block) -> float:
        owner, seen, total = self._tallied(block, complete)
        log_each = np.log(self.concentration) - self._log_size(block)
        return float(
            _rises(log_each[owner], seen).sum() - log_gamma_ratio(self.concentration, total).sum()
        )

    @cached_property
    def highest(self) -> Callable[[Block, Block], float]:
        """Log evidence of a block under its best A, once computed for each."""
        return cache(self._log_evidence_at_best)

    def _log_evidence_at_best(self, block: Block, complete: Block) -> float:
        """Return the top of a ladder, then of finer ladders around it."""
        _, seen, total = self._tallied(block, complete)
        number, times = np.unique(seen, return_counts=True)
        low, high = np.log([MIN_CONCENTRATION, MAX_CONCENTRATION * max(total.sum(), 1.0) ** 2])
        for _ in range(ROUNDS):
            rungs = np.linspace(low, high, RUNGS)[:, None]
            cells = times * _rises(rungs - self._log_size(block), number)
            value = cells.sum(axis=1) - log_gamma_ratio(np.exp(rungs), total).sum(axis=1)
            top = int(value.argmax())
            low = rungs[max(top - 1, 0), 0]
            high = rungs[min(top + 1, RUNGS - 1), 0]
        return float(value[top])

    def _log_size(self, block: Block) -> float:
        """Logarithm of the number of combinations of levels."""
        return float(sum(np.log(self.sizes[place]) for place in block))

    def _tallied(self, block: Block, complete: Block) -> tuple[Array, Array, Array]:
        """Count the combinations of levels that occur in a class.

        Returns the class and count of each, and the number of rows of each class.
        """
        rows = self.rows(complete)
        width = self.labels.classes
        classes = self.labels.codes[rows]
        times = self.labels.counts[rows]
        group = self._folded(block, rows) * width + classes
        if group.max(initial=0) <= 4 * len(group):
            count = np.bincount(group, times)
            present = np.flatnonzero(count)
            count = count[present]
        else:
            present, place = np.unique(group, return_inverse=True)
            count = np.bincount(place, times)
        return present % width, count, np.bincount(classes, times, width)

    def _folded(self, block: Block, rows: Array) -> Array:
        """Code each combination of levels as one integer."""
        code = np.zeros(len(rows), np.int64)
        size = 1
        for place in block:
            if size * self.sizes[place] * self.labels.classes >= MAX_FOLDED:
                distinct, code = np.unique(code, return_inverse=True)
                size = len(distinct)
            code = code * self.sizes[place] + self.codes[rows, place]
            size = size * self.sizes[place]
        return code


def _rises(log_a: Array, number: Array) -> Array:
    """Log of Gamma(a + n) / Gamma(a), as a Gamma(a + n) / Gamma(a + 1).

    Where a underflows, its log does not.
    """
    return np.asarray(log_a + log_gamma_ratio(1 + np.exp(log_a), number - 1))


@dataclass(frozen=True, eq=False)
class NumberEvidence(BlockEvidence):
    """Columns of numbers, and the parameters of the prior of their blocks.

    Cells are `(r, d)`, NaN where missing; count and shape `(c,)`, m `(c, d)`, Psi `(c, d, d)`.
    """

    compared: ClassVar[dict[str, str]] = {
        "count": "Gaussians of count {}",
        "shape": "shape {} a column",
    }
    x: Array
    count: Array
    shape: Array
    location: Array
    scale: Array  # `(c, d, d)`

    def together(self, at: Sequence[int], reading: Reading | None) -> MultivariateGaussian:
        dof = self.shape * 2 + len(at) - 1
        scale = self.scale[:, at][:, :, at]
        fields = self.location[:, at], self.count, dof, scale
        location, count, dof, scale = map(unless_alike, fields)
        return MultivariateGaussian(NormalInverseWishart(location, count, dof, scale))

    def alone(self, at: int, flag: bool) -> NormalInverseGamma:
        return NormalInverseGamma(
            self.location[:, at], self.count, self.shape, self.scale[:, at, at] / 2
        )

    @cached_property
    def seen(self) -> Array:
        return ~np.isnan(self.x)

    def _log_evidence(self, block: Block, complete: Block) -> float:
        """Log evidence by matrix factors, whose products would lose digits.

        That is so of nearly collinear columns.
        """
        d = len(block)
        places = list(block)
        if complete:
            n, mean, root = self._spread(places, complete)
        else:
            n, mean, root = self.of_all_rows
            mean = mean[:, places]
            root = root[:, :, places]
        prior_root = np.linalg.cholesky(self.scale[np.ix_(range(len(n)), places, places)]).swapaxes(
            1, 2
        )
        gap = (
            np.sqrt(ratio(self.count * n, self.count + n))[:, None, None]
            * (mean - self.location[:, places])[:, None]
        )
        before = _log_determinant(prior_root)
        after = _log_determinant(np.concatenate([root, prior_root, gap], axis=1))
        dof = 2 * self.shape + d - 1
        gain = (
            sum(log_gamma_ratio((dof - i) / 2, n / 2) for i in range(d))
            - d * np.log1p(n / self.count) / 2
        )
        return float(
            (gain - n / 2 * (d * LOG_PI + before) - (dof + n) / 2 * (after - before)).sum()
        )

    @cached_property
    def of_all_rows(self) -> tuple[Array, Array, Array]:
        """What `_spread` is of all columns and rows."""
        return self._spread(range(self.x.shape[1]), ())

    def _spread(self, columns: Sequence[int], complete: Block) -> tuple[Array, Array, Array]:
        """Number of rows of each class, their means, and roots of their scatter matrices.

        Shapes: `(c,)`, `(c, d)`, `(c, k, d)`.

        In the rows that have all cells of `complete`.
        """
        rows = self.rows(complete)
        d = len(columns)
        classes = self.labels.codes[rows]
        times = self.labels.counts[rows]
        count = np.bincount(classes, times, self.labels.classes)
        mean = np.zeros((len(count), d))
        root = np.zeros((len(count), d, d))
        for c in np.flatnonzero(count):
            x = self.x[np.ix_(rows[classes == c], columns)]
            weight = times[classes == c][:, None]
            x = np.where(np.isnan(x), 0.0, x)  # only in columns that the block does not use
            centre = x[0] + (weight * (x - x[0])).sum(axis=0) / count[c]
            mean[c] = centre + (weight * (x - centre)).sum(axis=0) / count[c]
            triangle = np.linalg.qr(np.sqrt(weight) * (x - mean[c]), mode="r")
            root[c, : len(triangle)] = triangle
        return count, mean, root


def _log_determinant(root: Array) -> Array:
    """log |root' root|, `(c, k, d) -> (c,)`."""
    triangle = np.linalg.qr(root, mode="r")
    return 2 * np.log(np.abs(np.diagonal(triangle, axis1=1, axis2=2))).sum(axis=1)


def level_evidence(units: Sequence[LevelUnit], labels: LabelledRows) -> LevelEvidence:
    """Put columns of levels side by side, under one total concentration, the geometric mean."""
    return LevelEvidence(
        labels,
        # columns are read one by one
        np.asfortranarray(np.concatenate([unit.codes for unit in units], axis=1)),
        tuple(size for unit in units for size in unit.sizes),
        _geometric_mean([unit.concentration for unit in units]),
    )


def number_evidence(units: Sequence[NumberUnit], labels: LabelledRows) -> NumberEvidence:
    """Put columns of numbers side by side, under means of their priors' parameters.

    These are the geometric means of counts and shapes.

    Each scale keeps its ratio to the shape, which is the expected variance.
    """
    count = _geometric_mean([unit.count for unit in units])
    shape = _geometric_mean([unit.shape for unit in units])
    x = np.concatenate([unit.x for unit in units], axis=1)
    location = np.concatenate([unit.location for unit in units], axis=1)
    scale = np.zeros((labels.classes, x.shape[1], x.shape[1]))
    first = 0
    for unit in units:
        span = slice(first, first := first + unit.x.shape[1])
        scale[:, span, span] = unit.scale * (shape / unit.shape)[:, None, None]
    return NumberEvidence(labels, x, count, shape, location, scale)


def _geometric_mean(values: Sequence[Array]) -> Array:
    """Geometric mean of each class, exact to the last digit where all are equal.

    Shapes: `n of (c,) -> (c,)`.
    """
    stacked = np.stack(values)
    return np.where(
        (stacked == stacked[0]).all(axis=0), stacked[0], np.exp(np.log(stacked).mean(axis=0))
    )


def steps(columns: BlockEvidence, start: Sequence[Block]) -> Iterator[Step]:
    """Yield the steps of the search from `start`."""
    blocks = set(start)
    pairs = dict[tuple[Block, Block], Step]()
    been = {frozenset(start)}
    while True:
        for one, two in combinations(sorted(blocks), 2):
            if (one, two) not in pairs:
                pairs[one, two] = columns.join(one, two)
        joined = (step for pair, step in pairs.items() if blocks.issuperset(pair))
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
    """Yield the steps that move one column out of its block, to be alone or in another block."""
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
    """Return the step that is worth most, if one is worth something and leads to new blocks.

    Where cells are missing, steps compare different rows, and the search might go in circles.
    """
    fresh = (
        step for step in candidates if step.worth > 0 and frozenset(after(blocks, step)) not in been
    )
    return max(fresh, key=lambda step: step.worth, default=None)
