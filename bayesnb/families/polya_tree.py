"""Columns of numbers whose density has any shape: a Polya tree on the grid of the column's medians.

    split ~ Bernoulli(1 - stop)      left ~ Beta(concentration share, concentration (1 - share)), or share if not split
    cell | left: at each node to the left with probability `left`, down to a leaf

`share` is that of all rows, of all classes together, that go to the left: below a node that does not split, a class is
distributed as they are. This is the optional Polya tree, Wong and Ma (2010), Optional Polya tree and Bayesian
inference. All here is relative to the distribution of all rows, p(x | class) / p(x), which depends on the leaf alone:
p(y | x) needs no more. `HasBaseDensity` has the rest, for densities of x.

With K(s) = log E[(p / g)**s] of the cells below a node, and those of its child on the way to x,

    K(s) = log(stop + (1 - stop) E[(left / share)**s] exp K_child(s))

and the log evidence r of a node's rows, its share cut out, is the same with all rows in place of x**s. The posterior
odds of a split are the prior's times the ratio of the evidences, so that their logs add up, row after row.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import betaln, expit, log_expit, xlog1py, xlogy

from bayesnb.families import number_format
from bayesnb.families.averaged import log_add, mixed, mixed_cumulants
from bayesnb.families.base import Array, Belief, Cells, Parts, Rng, Stats
from bayesnb.families.categorical import ColumnDirichlets, tables_of
from bayesnb.families.dirichlet import log_share_cumulants, pick
from bayesnb.families.family import Family, Hyperparameters, unless_alike
from bayesnb.families.grid import DEEPEST, Branches, Grid
from bayesnb.families.leaf_histogram import LeafHistogram, NumberMargins
from bayesnb.families.leaves import LeafDensity, LeafScores, LeafStats, with_end
from bayesnb.families.record import Parameter, Power, checked, is_one, lead, raised, silent
from bayesnb.families.removal import PREDICTIVE, Leaving, staying
from bayesnb.families.sums import Entries
from bayesnb.families.sums import nodes as transform_nodes
from bayesnb.families.support import RealNumbers, Support
from bayesnb.families.weight import Weight
from bayesnb.numerics import special
from bayesnb.numerics.special import draw_log_gamma, less, log, log_gamma_ratio, ratio


class Totals(NamedTuple):
    """Stats and evidence of nodes, before those of leaves, `(c, n + k)`."""

    counts: Array
    log_evidence: Array
    log_odds: Array  # of a split, `(c, n)`, after the counts


@dataclass(frozen=True, eq=False, repr=False)
class OptionalPolyaTree(LeafScores, Belief[LeafStats, LeafDensity]):
    """A Beta for the share of each node that goes to the left, and the log-odds that it splits at all, `(c, n)`."""

    spelled_out: ClassVar[bool] = True
    has_atoms: ClassVar[bool] = True  # where no node on the way splits
    a: Parameter
    b: Parameter
    log_odds: Parameter
    grid: Grid

    def __post_init__(self) -> None:
        super().__post_init__()
        checked("OptionalPolyaTree: a", self.a)
        checked("OptionalPolyaTree: b", self.b)
        checked("OptionalPolyaTree: log_odds", self.log_odds, -np.inf)
        if not isinstance(self.grid, Grid) or np.shape(self.a)[-1:] != (len(self.grid.depth),):
            raise ValueError("OptionalPolyaTree: there is a number for each node of a grid. PolyaTree() makes one.")

    @property
    def proper(self) -> Array:
        return self.node_sums((self.a <= 0) | (self.b <= 0)) == 0

    @property
    def stop(self) -> Array:
        """The probability that a node does not split, given that those above it do."""
        return expit(-self.log_odds)

    def strengthened(self, times: Any) -> Self:
        each = self.expand(np.asarray(times)) if np.ndim(times) else times
        return replace(self, a=each * self.a, b=each * self.b)

    def update(self, stats: LeafStats) -> Self:
        totals, tree = self.totals(stats.counts), self.grid.tree
        left, right = totals.counts[..., tree.left], totals.counts[..., tree.right]
        return type(self)(self.a + left, self.b + right, totals.log_odds, self.grid)

    def log_evidence(self, stats: LeafStats, xp: Any = special) -> Array:
        """Log evidence of the leaves in which rows lie, relative to that of their shares among all rows."""
        return self.totals(stats.counts).log_evidence[..., self.grid.tree.roots]

    def totals(self, counts: Array) -> Totals:
        """Counts and evidence of every node, from the leaves up."""
        tree, total = self.grid.tree, self.grid.added_up(counts)
        left, right = total[..., tree.left], total[..., tree.right]
        share = self.grid.share
        gain = beta_gain(self.a, self.b, left, right) - xlogy(left, share) - xlog1py(right, -share)
        evidence = np.zeros(np.broadcast_shapes(total.shape, (*self.a.shape[:-1], 1)))
        log_odds = np.broadcast_to(self.log_odds, gain.shape) + gain
        for level in reversed(tree.levels):
            log_odds[..., level] += evidence[..., tree.left[level]] + evidence[..., tree.right[level]]
            evidence[..., level] = _risen(log_odds[..., level], self.log_odds[..., level])
        return Totals(total, evidence, log_odds)

    def _sides(self, s: Any, nodes: Any = slice(None)) -> Array:
        """log E[(left / share)**s] and that to the right, one after the other, and 0, `(..., c, 2 n + 1)`."""
        each = self.at_nodes(s, nodes)
        share, a, b = self.grid.share[nodes], self.a[..., nodes], self.b[..., nodes]
        if is_one(s):
            both = [log(ratio(part, a + b)) for part in (a, b)]
        else:
            total = log_gamma_ratio(a + b, each)
            both = [less(log_gamma_ratio(part, each), total) for part in (a, b)]
        return with_end(np.concatenate([both[0] - each * np.log(share), both[1] - each * np.log1p(-share)], axis=-1))

    @cached_property
    def _turns(self) -> Array:
        """Places among `_sides` of the turns on the way to each leaf, `(d, k)`, the deepest first."""
        nodes, tree = len(self.grid.depth), self.grid.tree
        places = np.where(tree.path < nodes, tree.path + nodes * tree.side, 2 * nodes)
        return np.ascontiguousarray(places.T[::-1])

    def level_log_moment(self, s: Any) -> Array:
        """K(s) of each leaf; s is a number, one for each feature, `(f,)`, or `(n, 1, 1)` places of a transform."""
        return self._log_moments(s, self._every_branch)

    @cached_property
    def _every_branch(self) -> Branches:
        return self.grid.branches(np.arange(self.bounds[-1]))

    def _log_moments(self, s: Any, branches: Branches) -> Array:
        """K(s) of some leaves, from the root down: what has stopped on the way to a node, and what comes there."""
        sides, nodes = self._sides(s, branches.nodes), len(branches.nodes)
        odds = self.log_odds[..., branches.nodes]
        stops, splits = log_expit(-odds), log_expit(odds)
        shape = (*sides.shape[:-1], nodes + len(branches.leaves) + 1)
        there, stopped = np.zeros(shape, sides.dtype), np.full(shape, -np.inf, sides.dtype)
        for level in branches.levels:
            before = log_add(stopped[..., level], there[..., level] + stops[..., level])
            onwards = there[..., level] + splits[..., level]
            for children, side in ((branches.left[level], level), (branches.right[level], level + nodes)):
                stopped[..., children], there[..., children] = before, onwards + sides[..., side]
        value = log_add(stopped[..., nodes:-1], there[..., nodes:-1])
        by_feature = np.shape(s)[-1:] == (len(self.sizes),)
        quiet = np.equal(s[..., self.columns[branches.leaves]] if by_feature else s, 0)
        return np.where(quiet, 0.0, value) if quiet.any() else value  # a power of 0 says nothing, to the last digit

    def score_transform(self, x: Cells, s: Array, power: Power = 1.0) -> Array:
        """As of tables of all leaves, but of those alone that the rows are in: a moment of a Beta takes long."""
        places = self.at(x[:])
        leaves, which = np.unique(places, return_inverse=True)
        missing = int(len(leaves) > 0 and leaves[0] < 0)
        table = self._log_moments(transform_nodes(s) * power, self.grid.branches(leaves[missing:]))
        return Entries.of_table(which.reshape(places.shape) - missing).added(table)

    def level_cumulants(self, order: int, tilt: float = 0.0) -> Array:
        """Cumulants of the log of each leaf's ratio: of a mixture, at each node, of the way on and of 0."""
        each = self.at_nodes(tilt)
        share, total = self.grid.share, self.a + self.b + each
        both = [log_share_cumulants(part + each, total, order) for part in (self.a, self.b)]
        both[0][0] -= np.log(share)
        both[1][0] -= np.log1p(-share)
        terms, ends = with_end(np.concatenate(both, axis=-1)), with_end(self.log_odds)
        tilted = bool(np.any(tilt))
        sides = self._sides(tilt) if tilted else np.zeros(2 * len(share) + 1)
        shape = (*self.a.shape[:-1], self.bounds[-1])
        moment, value = np.zeros(shape), np.zeros((order, *shape))
        for turn, node in zip(self._turns, self.grid.tree.path.T[::-1], strict=True):
            there = node < len(share)
            first, odds = terms[..., turn[there]] + value[..., there], ends[..., node[there]]
            seen = sides[..., turn[there]] + moment[..., there]
            value[..., there] = mixed_cumulants(odds + seen, first, np.zeros_like(first))
            moment[..., there] = mixed(odds, seen, np.zeros(())) if tilted else 0.0
        return value

    def log_moment(self, x: Array, s: Any) -> Array:
        leaf = self.at(x)
        if np.ndim(s) == 0:
            return pick(self.level_log_moment(s), leaf)
        known = np.maximum(leaf, 0)
        value: Any = np.zeros(())
        for turn, node in zip(self._turns, self.grid.tree.path.T[::-1], strict=True):
            there, right = node[known] < len(self.grid.depth), turn[known] >= len(self.grid.depth)
            at = np.where(there, node[known], -1)
            a, b, odds = (pick(array, at) for array in (self.a, self.b, self.log_odds))
            share = np.append(self.grid.share, 0.5)[node[known]]
            each = np.where(there, np.where(right, b, a), 1.0)
            total, base = np.where(there, a + b, 1.0), np.where(right, np.log1p(-share), np.log(share))
            side = less(log_gamma_ratio(each, s), log_gamma_ratio(total, s)) - np.multiply(s, base)
            value = np.where(there, mixed(odds, side + value, np.zeros(())), value)
        return silent(leaf < 0, value + np.zeros(np.broadcast_shapes(np.shape(s), leaf.shape, self._cell_shape)))

    @property
    def _cell_shape(self) -> tuple[int, ...]:
        return (*self.a.shape[:-1], len(self.sizes))

    def cumulants(self, x: Array, order: int, tilt: float = 0.0) -> Array:
        index = self.at(x)
        return np.stack([pick(table, index) for table in self.level_cumulants(order, tilt)])

    def sample(self, rng: Rng, size: Any = None) -> LeafDensity:
        rng, shape = np.random.default_rng(rng), (*lead(size), *self.a.shape)
        one, two = (draw_log_gamma(part, rng, size) for part in (self.a, self.b))
        total, splits = np.logaddexp(one, two), log(rng.uniform(size=shape)) < log_expit(self.log_odds)
        tree, share = self.grid.tree, self.grid.share
        alive = np.ones((*shape[:-1], len(share) + self.bounds[-1]), bool)
        for level in tree.levels:
            splits[..., level] &= alive[..., level]
            alive[..., tree.left[level]] = alive[..., tree.right[level]] = splits[..., level]
        logs = np.where(splits, one - total, np.log(share)), np.where(splits, two - total, np.log1p(-share))
        return LeafDensity.of_logs(logs, self.grid, np.where(splits, np.exp(logs[0]), share))

    def estimate(self, kind: str) -> LeafDensity:
        """The predictive's leaves, `"mean"`; or, `"map"`, the modes of nodes that rather split than not."""
        return self.expected() if kind == "mean" else LeafDensity(self.mode(), self.grid)

    def expected(self) -> LeafDensity:
        """The density in which each leaf has the share that it is expected to have."""
        logs, tree = self.level_log_moment(1.0) + self.grid.log_share, self.grid.tree
        total = np.zeros((*logs.shape[:-1], len(self.grid.depth) + logs.shape[-1]))
        total[..., len(self.grid.depth) :] = logs
        for level in reversed(tree.levels):
            total[..., level] = np.logaddexp(total[..., tree.left[level]], total[..., tree.right[level]])
        below = total[..., : len(self.grid.depth)]
        return LeafDensity.of_logs((total[..., tree.left] - below, total[..., tree.right] - below), self.grid)

    def mean(self) -> Array:
        """The share of each node's cells that is expected on the left."""
        return self.expected().left

    def mode(self) -> Array:
        """The Beta's mode where a node, and all above it, rather split than not; elsewhere the share of all rows."""
        tree, share = self.grid.tree, self.grid.share
        splits, alive = self.log_odds > 0, np.ones((*self.a.shape[:-1], len(share) + self.bounds[-1]), bool)
        for level in tree.levels:
            splits[..., level] &= alive[..., level]
            alive[..., tree.left[level]] = alive[..., tree.right[level]] = splits[..., level]
        return np.where(splits, _beta_mode(self.a, self.b, share), share)

    def reached(self) -> Array:
        """log-probability that a node splits, and so do all above it, `(c, n)`."""
        tree, nodes = self.grid.tree, len(self.grid.depth)
        above = np.zeros((*self.a.shape[:-1], nodes + self.bounds[-1]))
        for level in tree.levels:
            there = above[..., level] + log_expit(self.log_odds[..., level])
            above[..., tree.left[level]] = above[..., tree.right[level]] = there
        return above[..., tree.left]

    def interval(self, prob: float) -> tuple[Array, Array]:
        """Of each node's share to the left, which is that of all rows with the probability that it does not split."""
        from scipy.stats import beta

        share, splits, law = self.grid.share, np.exp(self.reached()), beta(self.a, self.b)
        low = splits * law.cdf(share)

        def quantile(p: float) -> Array:
            at = np.where(p < low, p, p - (1 - splits)) / np.where(splits > 0, splits, 1.0)
            return np.where((p >= low) & (p <= low + 1 - splits), share, law.ppf(np.clip(at, 0.0, 1.0)))

        return quantile((1 - prob) / 2), quantile((1 + prob) / 2)

    def log_density(self, theta: LeafDensity) -> Parts:
        """log p(theta): the density of the shares of nodes that split, times the probability that others do not."""
        tree, share = self.grid.tree, self.grid.share
        splits, nodes = theta.left != share, len(share)
        alive = np.ones((*theta.left.shape[:-1], nodes + self.bounds[-1]), bool)
        for level in tree.levels:
            alive[..., tree.left[level]] = alive[..., tree.right[level]] = splits[..., level]
        beta = (self.a - 1) * theta.logs[0] + (self.b - 1) * theta.logs[1] - betaln(self.a, self.b)
        each = np.where(splits, log_expit(self.log_odds) + beta, log_expit(-self.log_odds))
        total = self.node_sums(np.where(alive[..., :nodes], each, 0.0))
        return {("left{}", j): total[..., j] for j in range(len(self.sizes))}

    def predictive(self) -> LeafHistogram:
        """The distribution of a new cell: the leaves' expected shares, spread evenly over each."""
        return self.margins().predictive()

    def margins(self) -> NumberMargins:
        """Each class and column as a distribution of numbers, not of leaves."""
        return NumberMargins(self, *np.indices((len(self), len(self.sizes))))

    def level_columns(self, x: Cells, columns: Any) -> tuple[Array, ColumnDirichlets]:
        """Columns as levels, to be compared with others: the nodes at which the first three cuts end."""
        codes, first, concentration = self.at(x[:]), [], []
        for j in columns:
            ends = self.grid.tree.path[self.span(j)][:, :COARSE]
            sides = self.grid.tree.side[self.span(j)][:, :COARSE]
            _, coarse = np.unique(np.concatenate([ends, sides], axis=1), axis=0, return_inverse=True)
            share = np.bincount(coarse.ravel(), np.exp(self.grid.log_share[self.span(j)]))
            total = (self.a + self.b)[:, self.part(j)][:, :1] if self.sizes[j] > 1 else np.ones((len(self), 1))
            concentration.append(total * share)
            place = np.maximum(codes[:, j] - self.bounds[j], 0)
            first.append(np.where(codes[:, j] < 0, len(share), coarse.ravel()[place]))
        sizes = tuple(each.shape[1] for each in concentration)
        return np.stack(first, axis=1), ColumnDirichlets(np.concatenate(concentration, axis=1), sizes)

    def score_left_out(self, stats: LeafStats, leaving: Leaving) -> Array:
        branch, power = Branch.of(self, stats.counts), self.of_levels(leaving.power)
        if leaving.alike:
            worth = branch.worth(np.arange(self.bounds[-1]), leaving.each, leaving.kind, power)
            return self.added(leaving.x, tables_of(worth[None]), 1, None, 1)[:, 0]
        index = self.at(leaving.x[:])
        weight = np.broadcast_to(leaving.each, index.shape)
        worth = branch.worth(np.maximum(index, 0).ravel(), weight.ravel(), leaving.kind, power)
        return silent(index < 0, worth.reshape(index.shape)).sum(axis=1)


class Branch(NamedTuple):
    """One class and its rows: a row that leaves changes the nodes on the way to its leaf, and no others."""

    belief: OptionalPolyaTree
    totals: Totals
    column_counts: Array  # of each leaf's column

    @classmethod
    def of(cls, belief: OptionalPolyaTree, counts: Array) -> Self:
        return cls(belief, belief.totals(counts), np.repeat(belief.level_sums(counts)[0], belief.sizes))

    def worth(self, leaf: Array, weight: Any, kind: str, power: Any) -> Array:
        """The score of cells in leaves once so much of them has left, `(m,) -> (m,)`; NaN where nothing stays.

        The power is a number, or one for each of all leaves.
        """
        belief, (counts, evidence, _) = self.belief, self.totals
        nodes, tree, column = len(belief.grid.depth), belief.grid.tree, self.column_counts[leaf]
        value, there_evidence = np.zeros(leaf.shape), np.zeros(leaf.shape)
        for node, right in zip(tree.path.T[::-1], tree.side.T[::-1], strict=True):
            at = np.flatnonzero(node[leaf] < nodes)
            n, turn = node[leaf[at]], right[leaf[at]]
            on, off = np.where(turn, tree.right[n], tree.left[n]), np.where(turn, tree.left[n], tree.right[n])
            gone = weight if np.ndim(weight) == 0 else weight[at]
            stay, rest = staying(counts[0, on] - gone, column[at]), counts[0, off]
            step = Turn(*(np.where(turn, y[0, n], x[0, n]) for x, y in ((belief.a, belief.b), (belief.b, belief.a))))
            share = np.where(turn, 1 - belief.grid.share[n], belief.grid.share[n])
            log_odds = belief.log_odds[0, n] + step.gain(stay, rest, share) + there_evidence[at] + evidence[0, off]
            there_evidence[at] = _risen(log_odds, belief.log_odds[0, n])
            each = power if np.ndim(power) == 0 else power[leaf[at]]
            value[at] = step.value(log_odds, stay, rest, share, kind, each, value[at])
        value = value if kind == PREDICTIVE else raised(power if np.ndim(power) == 0 else power[leaf], value)
        if kind == "mle":
            value = np.where(staying(column - weight, column) > 0, value, np.nan)
        return value


class Turn(NamedTuple):
    """A node's Beta on the way to a leaf: of the side where the leaf is, and of the other."""

    on: Array
    off: Array

    def gain(self, stay: Array, rest: Array, share: Array) -> Array:
        """Log evidence of splitting the node's rows, relative to their shares."""
        return beta_gain(self.on, self.off, stay, rest) - xlogy(stay, share) - xlog1py(rest, -share)

    def value(
        self, log_odds: Array, stay: Array, rest: Array, share: Array, kind: str, power: Any, below: Array
    ) -> Array:
        """The score of a cell at the node, of that `below` it."""
        if kind == "mle":
            return np.where(stay + rest > 0, log(ratio(stay, stay + rest)) - np.log(share), 0.0) + below
        on, off = self.on + stay, self.off + rest
        if kind == "map":
            return np.where(log_odds > 0, log(_beta_mode(on, off, share)) - np.log(share) + below, 0.0)
        if kind != PREDICTIVE or is_one(power):
            return mixed(log_odds, log(ratio(on, on + off)) - np.log(share) + below, np.zeros(()))
        moment = less(log_gamma_ratio(on, power), log_gamma_ratio(on + off, power))
        return mixed(log_odds, moment - power * np.log(share) + below, np.zeros(()))


VANISHING = 1e-200  # a concentration of 0 is the limit of small ones
COARSE = 3  # cuts on the way to a cell, where columns are compared with each other
SHAPES = Hyperparameters(
    names=("concentration",),
    weak=(2.0,),
    note="In columns with Polya trees the prior's concentration is l times the declared one: how alike the classes "
    "are at a cut where they differ at all.",
    extremes={
        ("concentration", True): "where classes differ, the prior says that they hardly do",
        ("concentration", False): "cells of a class are all on one side of a cut, and the prior says that they are",
    },
)


@dataclass(frozen=True, eq=False, repr=False)
class PolyaTree(Family[LeafStats]):
    """Columns of numbers whose density has any shape, learnt on a grid of the column's medians.

    All that counts of a number is between which cuts it lies, so predictions of rows that were learnt are the same
    whatever increasing function a column goes through, and no outlier costs more than its leaf. The grid comes from
    the first table, of all classes together, and stays; `depth` is how often it is halved. At a cut where a class
    differs from all rows, its share is Beta(concentration q, concentration (1 - q)) with q that of all; below a node
    it is as all rows are with probability `stop`. Densities of x are those of a histogram: a cell beyond the ends
    counts as in the outer leaf.

    `cuts` declares the grid, increasing numbers for all columns, or a list of such for each: cells of all leaves are
    then equally expected before the data, and models of parts of a table can be merged. A learnt grid is that of a
    belief, `model.posterior_["age"].grid`, whose `cuts` can be declared elsewhere.

    `model.log_evidence_` is relative to the distribution of all rows, so it compares with that of other trees on one
    grid; with other families compare by leave-one-out. A row that is drawn has a number from the range that its leaf
    held: a whole one where all of the column's were.

    >>> from bayesnb import NaiveBayes
    >>> x = [[0.1], [0.2], [0.3], [0.4], [5.0], [6.0], [7.0], [8.0], [9.0], [80.0], [81.0], [82.0]]
    >>> NaiveBayes(PolyaTree()).fit(x, list("aaabbbbbbaaa")).predict([[0.15], [6.5], [900.0]]).tolist()
    ['a', 'b', 'a']
    """

    depth: int = 8
    concentration: Any = 2.0
    stop: float = 0.5
    cuts: Any = None

    content: ClassVar[str] = "numbers, a density of any shape"
    conjugate: ClassVar[type[Belief] | None] = None  # two numbers make it, on a grid that nobody knows beforehand
    hyperparameters: ClassVar[Hyperparameters | None] = SHAPES
    support: ClassVar[Support] = RealNumbers()
    stats: ClassVar[type[Stats]] = LeafStats
    has_grid: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if type(self.depth) is not int or not 1 <= self.depth <= DEEPEST:
            raise ValueError(f"PolyaTree: depth must be a whole number from 1 to {DEEPEST}, got {self.depth!r}.")
        if not (isinstance(self.stop, float | int) and 0 < self.stop < 1):
            raise ValueError(f"PolyaTree: stop is a probability above 0 and below 1, got {self.stop!r}.")
        checked("PolyaTree: concentration", self.concentration)
        if self.cuts is not None:
            object.__setattr__(self, "cuts", _checked_cuts(self.cuts))

    def grid_of(self, x: Cells, weight: Array | None, n_jobs: int | None = 1) -> Grid:
        """The grid of these cells, `(r, f)`; or the one that is declared."""
        if self.cuts is None:
            return Grid.learnt(x, weight, self.depth, n_jobs)
        columns = self.cuts if isinstance(self.cuts[0], tuple) else (self.cuts,) * x.shape[1]
        if len(columns) != x.shape[1]:
            raise ValueError(f"PolyaTree: cuts are those of {len(columns)} columns, and there are {x.shape[1]}.")
        return Grid.declared([np.array(each) for each in columns])

    def observe(self, x: Cells, weight: Weight, sizes: Any = (), n_jobs: int | None = 1) -> LeafStats:
        return LeafStats.of(x, weight, sizes, n_jobs)

    def belief(self, stats: LeafStats) -> OptionalPolyaTree:
        grid = stats.grid
        try:
            each = np.broadcast_to(self.concentration, (len(stats), len(grid.sizes)))
        except ValueError:
            raise ValueError(
                f"PolyaTree: a concentration of shape {np.shape(self.concentration)} does not broadcast to (classes, "
                f"columns) = ({len(stats)}, {len(grid.sizes)}). Give a number, or as many as there are columns."
            ) from None
        each = np.maximum(each, VANISHING)[:, grid.tree.column]
        log_odds = np.full(each.shape, np.log1p(-self.stop) - np.log(self.stop))
        return OptionalPolyaTree(each * grid.share, each * (1 - grid.share), log_odds, grid)

    def describe(self, belief: Any) -> str:
        if not len(belief.grid.depth):
            return "one value, which tells no classes apart"
        return (
            f"as all rows are; where a class differs, each cut worth {number_format.alike(belief.a + belief.b)} rows; "
            f"halved up to {int(belief.grid.depth.max()) + 1} times"
        )

    def of_column(self, belief: Any, levels: Any = None, unseen: str = "ignore") -> "PolyaTree":
        total = (belief.a + belief.b)[..., :1]
        each = unless_alike(total) if total.size else np.full(1, np.max(self.concentration))
        return replace(self, concentration=float(each[0]) if each.shape == (1,) else each, cuts=self.cuts)

    def tuned(self, stats: LeafStats, *values: Any) -> Self:
        return replace(self, concentration=values[0])

    def smoothed(self, stats: LeafStats, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        return replace(self, concentration=np.asarray(smoothing) * self.concentration)


def _checked_cuts(cuts: Any) -> tuple[Any, ...]:
    """Cut points as a tuple of numbers, or as one for each column."""
    each = list(cuts)
    if each and np.ndim(each[0]):
        return tuple(_checked_cuts(column) for column in each)
    numbers = np.array(each, float)
    if not (len(numbers) and np.isfinite(numbers).all() and (np.diff(numbers) > 0).all()):
        raise ValueError(f"PolyaTree: cuts are finite numbers, each above the one before, got {each!r:.80}.")
    if len(numbers) >= 1 << DEEPEST:
        raise ValueError(f"PolyaTree: at most {(1 << DEEPEST) - 1} cuts, got {len(numbers)}.")
    return tuple(numbers.tolist())


def beta_gain(a: Array, b: Array, left: Array, right: Array) -> Array:
    """log B(a + left, b + right) - log B(a, b)."""
    return log_gamma_ratio(a, left) + log_gamma_ratio(b, right) - log_gamma_ratio(a + b, left + right)


def _risen(after: Array, before: Array) -> Array:
    """log(stop + (1 - stop) ratio of evidences), from the log-odds of a split after and before the data."""
    return np.logaddexp(0.0, after) - np.logaddexp(0.0, before)


def _beta_mode(a: Array, b: Array, share: Array) -> Array:
    """The mode of a Beta, at an end where a or b is below 1; the share where both are, as all of it is mode."""
    one, two = np.maximum(a - 1, 0.0), np.maximum(b - 1, 0.0)
    return np.where(one + two > 0, ratio(one, one + two), share)
