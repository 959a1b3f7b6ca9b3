"""How probable blocks of columns are that are modelled jointly: a die over combinations of levels, or a Gaussian.

    log p(block) = sum over classes of log p(its cells in the rows of the class)

All blocks have priors that are consistent in their margins: what the prior of a block says of some of its columns is
what theirs says. So two partitions differ in what they take to be independent, and in nothing else.

A die over K combinations of levels has concentration A / K for each, with one A for all blocks: added up over the
levels of some columns it is even again, A in all (the equivalent sample size of Heckerman, Geiger and Chickering 1995).
A Gaussian of d numbers has covariance ~ InverseWishart(2 shape + d - 1, Psi) and mean | covariance ~ Normal(m,
covariance / count), with one count and shape for all blocks, and their parts of one m and one Psi: of fewer columns an
inverse Wishart keeps dof - d (Geiger and Heckerman 2002). For d = 1 it is Normal-inverse-gamma, of scale Psi / 2.

One A explains the rare levels of a column badly, and their combinations less badly: columns of as many levels as rows
would be joined, whatever they are. So a union of dice is also judged by the evidence of each block under the A that is
best for it: see `unearned`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
from bayesnb.families.family import Family
from bayesnb.numerics.special import log_gamma_ratio, ratio
from bayesnb.selection.pair_evidence import Labels

Block = tuple[int, ...]  # places of columns, ascending
LOG_PI = float(np.log(np.pi))
MOST_FOLDED = 1 << 62  # combinations that an integer can tell apart
LEAST, LARGEST = 1e-3, 1e4  # concentrations that are tried: as good as 0, and times rows**2 as good as infinite
RUNGS, ROUNDS = 25, 4  # of the search for the best: places of a ladder, and ladders, each within the last
# Nats under the best A, and their share of the declared gain. Independent columns of many levels reach the lesser of
# the two in at most 3 of 100 tables; without the share, dependences in some twenty rows would be lost.
LUCK, SHARE = 2.0, 0.1
EVERY: Block = ()


@dataclass(frozen=True, eq=False)
class Columns(ABC):
    """Columns of a kind, any of which may be modelled jointly."""

    compared: ClassVar[dict[str, str]]  # the fields with the one prior of all blocks, and how they are told
    labels: Labels
    known: dict[tuple[Block, Block], float] = field(default_factory=dict, init=False)

    @abstractmethod
    def together(self, at: Sequence[int], reading: Any) -> Family:
        """The family of several columns; `reading` is how their levels are read."""

    @abstractmethod
    def alone(self, at: int, flag: bool) -> Belief:
        """What is believed of a single column, the class first; of a flag it is a Beta."""

    @cached_property
    @abstractmethod
    def seen(self) -> Array:
        """Which cells are there, `(r, d)`."""

    @abstractmethod
    def _log_evidence(self, block: Block, among: Block, whole: Block) -> float:
        """What `log_evidence` is, of rows that have all cells of `whole`."""

    @cached_property
    def holed(self) -> set[int]:
        """The columns with missing cells."""
        return set(np.flatnonzero(~self.seen.all(axis=0)).tolist())

    def where(self, whole: Block) -> Array:
        """The rows that have all cells of some columns."""
        if not whole:
            return self.every
        return np.flatnonzero(np.logical_and.reduce([self.seen[:, place] for place in whole]))

    @cached_property
    def every(self) -> Array:
        """All rows."""
        return np.arange(len(self.seen))

    def log_evidence(self, block: Block, among: Block | None = None) -> float:
        """log p(block) in the rows that have all cells of some columns, its own and perhaps others."""
        among = block if among is None else among
        whole = tuple(place for place in among if place in self.holed)
        if (block, whole) not in self.known:
            self.known[block, whole] = self._log_evidence(block, among, whole)
        return self.known[block, whole]

    def unearned(self, one: Block, other: Block, among: Block) -> float:
        """How much of the log Bayes factor for joining two blocks is owed to a prior that fits neither; 0 of numbers.

        Both are compared in the rows that have all cells of `among`.
        """
        return 0.0


@dataclass(frozen=True, eq=False)
class Dies(Columns):
    """Columns of levels: codes `(r, d)`, missing ones negative; how many levels each has; A, class by class."""

    compared: ClassVar[dict[str, str]] = {"concentration": "dice of concentration {} in all"}
    codes: Array
    sizes: tuple[int, ...]
    concentration: Array  # `(c,)`
    highest: dict[tuple[Block, Block], float] = field(default_factory=dict, init=False)

    def together(self, at: Sequence[int], reading: Any) -> JointTable:
        combinations = float(np.prod([float(self.sizes[place]) for place in at]))
        levels, unseen = reading or (None, "ignore")
        return JointTable(Dirichlet(plain(self.concentration / combinations)), levels, unseen)

    def alone(self, at: int, flag: bool) -> Beta | Dirichlet:
        size = self.sizes[at]
        each = np.repeat(self.concentration[:, None] / size, size, axis=1)
        return Beta(each[:, 1], each[:, 0]) if flag else Dirichlet(each)

    @cached_property
    def seen(self) -> Array:
        return self.codes >= 0

    def unearned(self, one: Block, other: Block, among: Block) -> float:
        """What is left of it under the A that is best for each block, one for all classes, is earned if it is no luck.

        Against a union the declared prior has the last word: with an A for each, both hypotheses may take all levels to
        be equally probable, and then nothing speaks against either.
        """
        both, whole = tuple(sorted(one + other)), tuple(place for place in among if place in self.holed)
        declared = self.log_evidence(both, among) - self.log_evidence(one, among) - self.log_evidence(other, among)
        if declared <= 0:
            return 0.0
        learnt = self._highest(both, whole) - self._highest(one, whole) - self._highest(other, whole)
        return max(declared - learnt, 0.0) if learnt > min(LUCK, SHARE * declared) else declared

    def _log_evidence(self, block: Block, among: Block, whole: Block) -> float:
        owner, seen, total = self._tallied(block, whole)
        log_each = np.log(self.concentration) - self._log_size(block)
        return float(_rises(log_each[owner], seen).sum() - log_gamma_ratio(self.concentration, total).sum())

    def _highest(self, block: Block, whole: Block) -> float:
        """The log evidence under the best A: the top of a ladder, and of finer ones around it."""
        if (block, whole) not in self.highest:
            _, seen, total = self._tallied(block, whole)
            number, times = np.unique(seen, return_counts=True)
            low, high = np.log([LEAST, LARGEST * max(total.sum(), 1.0) ** 2])
            for _ in range(ROUNDS):
                rungs = np.linspace(low, high, RUNGS)[:, None]
                cells = times * _rises(rungs - self._log_size(block), number)
                value = cells.sum(axis=1) - log_gamma_ratio(np.exp(rungs), total).sum(axis=1)
                top = int(value.argmax())
                low, high = rungs[max(top - 1, 0), 0], rungs[min(top + 1, RUNGS - 1), 0]
            self.highest[block, whole] = float(value[top])
        return self.highest[block, whole]

    def _log_size(self, block: Block) -> float:
        """The logarithm of how many combinations of levels there are."""
        return float(sum(np.log(self.sizes[place]) for place in block))

    def _tallied(self, block: Block, whole: Block) -> tuple[Array, Array, Array]:
        """Of every combination that occurs in a class, the class and how often; and the rows of each class."""
        rows = self.where(whole)
        classes, times = self.labels.codes[rows], self.labels.counts[rows]
        return *_cells(self._folded(block, rows), classes, times), np.bincount(classes, times, self.labels.classes)

    def _folded(self, block: Block, rows: Array) -> Array:
        """One integer for each combination of levels."""
        code, size = np.zeros(len(rows), np.int64), 1
        for place in block:
            if size * self.sizes[place] * self.labels.classes >= MOST_FOLDED:
                found, code = np.unique(code, return_inverse=True)
                size = len(found)
            code, size = code * self.sizes[place] + self.codes[rows, place], size * self.sizes[place]
        return code


def _rises(log_a: Array, number: Array) -> Array:
    """log Gamma(a + n) / Gamma(a) as a Gamma(a + n) / Gamma(a + 1): the a of a huge table has a logarithm, at least."""
    return np.asarray(log_a + log_gamma_ratio(1 + np.exp(log_a), number - 1))


def _cells(code: Array, classes: Array, times: Array) -> tuple[Array, Array]:
    """Of every class and code that occur together, the class and how often."""
    width = int(classes.max(initial=0)) + 1
    group = code * width + classes
    if group.max(initial=0) <= 4 * len(group):
        seen = np.bincount(group, times)
        found = np.flatnonzero(seen)
        return found % width, seen[found]
    found, place = np.unique(group, return_inverse=True)
    return found % width, np.bincount(place, times)


class Spread(NamedTuple):
    """Rows of each class: how many, their means `(c, d)`, and `(c, k, d)` with the rows' sums of products."""

    rows: Array
    mean: Array
    root: Array


@dataclass(frozen=True, eq=False)
class Numbers(Columns):
    """Columns of numbers `(r, d)`, NaN where missing, and their prior: count and shape `(c,)`, m `(c, d)`, Psi."""

    compared: ClassVar[dict[str, str]] = {"count": "Gaussians of count {}", "shape": "shape {} a column"}
    x: Array
    count: Array
    shape: Array
    location: Array
    scale: Array  # `(c, d, d)`
    kept: dict[tuple[Block, Block], "Spread"] = field(default_factory=dict, init=False)

    def together(self, at: Sequence[int], reading: Any) -> MultivariateGaussian:
        dof, scale = self.shape * 2 + len(at) - 1, self.scale[:, at][:, :, at]
        prior = NormalInverseWishart(*map(plain, (self.location[:, at], self.count, dof, scale)))
        return MultivariateGaussian(prior)

    def alone(self, at: int, flag: bool) -> NormalInverseGamma:
        return NormalInverseGamma(self.location[:, at], self.count, self.shape, self.scale[:, at, at] / 2)

    @cached_property
    def seen(self) -> Array:
        return ~np.isnan(self.x)

    def _log_evidence(self, block: Block, among: Block, whole: Block) -> float:
        """By factors of matrices, whose products are not formed: those know little of columns nearly collinear."""
        d, places = len(block), list(block)
        columns = among if whole else tuple(range(self.x.shape[1]))
        n, mean, root = self._spread(columns, whole)
        at = np.searchsorted(columns, places)
        mean, root = mean[:, at], root[:, :, at]
        own = np.linalg.cholesky(self.scale[np.ix_(range(len(n)), places, places)]).swapaxes(1, 2)
        gap = np.sqrt(ratio(self.count * n, self.count + n))[:, None, None] * (mean - self.location[:, places])[:, None]
        before, after = _log_determinant(own), _log_determinant(np.concatenate([root, own, gap], axis=1))
        dof = 2 * self.shape + d - 1
        gain = sum(log_gamma_ratio((dof - i) / 2, n / 2) for i in range(d)) - d * np.log1p(n / self.count) / 2
        return float((gain - n / 2 * (d * LOG_PI + before) - (dof + n) / 2 * (after - before)).sum())

    def _spread(self, columns: Block, whole: Block) -> Spread:
        """Of columns, in the rows that have all cells of some: that of all rows is kept, and the latest of others."""
        if (columns, whole) not in self.kept:
            others = [key for key in self.kept if key[1]]
            for key in others if whole else ():
                del self.kept[key]
            self.kept[columns, whole] = self._spread_of(columns, self.where(whole))
        return self.kept[columns, whole]

    def _spread_of(self, columns: Block, rows: Array) -> Spread:
        classes, times, d = self.labels.codes[rows], self.labels.counts[rows], len(columns)
        count = np.bincount(classes, times, self.labels.classes)
        mean, root = np.zeros((len(count), d)), np.zeros((len(count), d, d))
        for c in np.flatnonzero(count):
            own, weight = self.x[np.ix_(rows[classes == c], columns)], times[classes == c][:, None]
            own = np.where(np.isnan(own), 0.0, own)  # of columns that are not asked for
            centre = own[0] + (weight * (own - own[0])).sum(axis=0) / count[c]
            mean[c] = centre + (weight * (own - centre)).sum(axis=0) / count[c]
            triangle = np.linalg.qr(np.sqrt(weight) * (own - mean[c]), mode="r")
            root[c, : len(triangle)] = triangle
        return Spread(count, mean, root)


def plain(values: Array) -> Array:
    """Without the axis of the classes, `(c, ...)`, where they are alike."""
    alike = bool((values == values[:1]).all())
    return values[0] if alike else values


def _log_determinant(root: Array) -> Array:
    """log |root' root|, `(c, k, d) -> (c,)`."""
    triangle = np.linalg.qr(root, mode="r")
    return 2 * np.log(np.abs(np.diagonal(triangle, axis1=1, axis2=2))).sum(axis=1)
