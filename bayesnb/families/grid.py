"""The grid of columns of numbers: a tree of cuts at medians, and the share of all rows in each leaf between them.

Each node splits where its rows, of all classes together, are halved most evenly between two distinct values, until it
is as deep as asked, has fewer than 4 rows, or one value. Columns lie end to end: those of k leaves in all and f columns
have k - f nodes, one at each cut. In a column, node i lies between the leaves i and i + 1; depths make a tree of them.

A cell is in the leaf after as many cuts as lie below it. Numbers that were learnt stay in their leaves under every
increasing transform of a column; those between two of them, at whose middle a cut is, under linear ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from bayesnb import numerics
from bayesnb.families.record import Array, Cells, fields_alone
from bayesnb.numerics.threads import FEWEST, in_order
from bayesnb.numerics.views import Leafed

LEAST = 4.0  # rows of a node that splits
MOST_ROWS = 1 << 15  # that a grid is learnt from: of 256 leaves each has 128, and more predict no better
DEEPEST = 16
SMALLEST = 1e-12  # share of a node that is on one side of the cut: both have a logarithm


class Tree(NamedTuple):
    """Nodes `(n,)` and leaves `(k,)` of all columns, numbered together: the nodes first."""

    left: Array  # `(n,)`
    right: Array
    column: Array  # `(n,)`, of each node
    roots: Array  # `(f,)`
    levels: list[Array]  # nodes of each depth, from the root's
    path: Array  # `(k, d)`, nodes from the root to a leaf; n where it has ended
    side: Array  # `(k, d)`, whether the leaf is to the right of each


class Branches(NamedTuple):
    """Nodes on the way to some leaves, numbered together, the nodes first; the last number is of all else."""

    nodes: Array  # their places among all nodes
    left: Array
    right: Array
    levels: list[Array]
    leaves: Array  # their places among all leaves


@dataclass(frozen=True, eq=False)
class Grid:
    """Leaves of columns, `(k,)`, end to end: the least and the largest number learnt in each, and their weight.

    `depth` is that of the nodes, `(k - f,)`; `whole` says of which columns all numbers were whole, `(f,)`.
    """

    sizes: tuple[int, ...]  # leaves of each column
    low: Array
    high: Array
    weight: Array
    depth: Array
    whole: Array

    def __post_init__(self) -> None:
        for name in ("low", "high", "weight", "depth", "whole"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), float))
        if not all(type(size) is int for size in self.sizes):
            raise ValueError("the numbers of leaves of a grid are whole numbers.")
        leaves, nodes = (sum(self.sizes),), (sum(self.sizes) - len(self.sizes),)
        shapes = [leaves, leaves, leaves, nodes, (len(self.sizes),)]
        if not self.sizes or min(self.sizes) < 1 or [each.shape for each in self._arrays] != shapes:
            raise ValueError("a grid has leaves in each column, and between two of them a node.")
        good = all(np.isfinite(each).all() for each in self._arrays) and (self.low <= self.high).all()
        if not (good and (self.weight > 0).all() and (self.high[self.before] <= self.low[self.before + 1]).all()):
            raise ValueError("the leaves of a grid are ranges of numbers one after the other, and none is empty.")
        if not ((self.depth >= 0) & (self.depth < DEEPEST) & (self.depth % 1 == 0)).all():
            raise ValueError(f"the depths of a grid's nodes are whole numbers below {DEEPEST}.")

    def __getstate__(self) -> dict[str, Any]:
        return fields_alone(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """All of its numbers end to end: grids are compared as arrays are."""
        return np.concatenate([np.asarray(self.sizes, float), *self._arrays]).astype(dtype or float)

    @property
    def _arrays(self) -> tuple[Array, ...]:
        return self.low, self.high, self.weight, self.depth, self.whole

    def check(self) -> None:
        """Raise for depths that no tree's nodes have in their order, as those of a damaged file."""
        if not self._links[0]:
            raise ValueError("the depths of a grid's nodes are those of no tree.")

    @classmethod
    def learnt(cls, x: Cells, weight: Array | None, depth: int, n_jobs: int | None = 1) -> Self:
        """Learn the grid of `(r, f)` numbers, which count by their weights: of many rows from an even part of them."""
        rows = x.shape[0]
        few = slice(None) if rows <= MOST_ROWS else np.linspace(0, rows - 1, MOST_ROWS).astype(np.intp)
        cells = np.asarray(x[few], float)
        each = None if weight is None else np.asarray(weight, float)[few]
        columns, threads = list(np.ascontiguousarray(cells.T)), n_jobs if cells.size > FEWEST else 1
        return cls._of_columns(list(in_order(lambda column: _learnt_column(column, each, depth), columns, threads)))

    @classmethod
    def declared(cls, cuts: Sequence[Array]) -> Self:
        """Make the grid of cuts, as many arrays as there are columns: leaves count alike, nodes split in the middle."""
        return cls._of_columns([_declared_column(each) for each in cuts])

    @classmethod
    def _of_columns(cls, columns: Sequence[tuple[Array, ...]]) -> Self:
        return cls(tuple(len(column[0]) for column in columns), *map(np.concatenate, zip(*columns, strict=True)))

    @classmethod
    def side_by_side(cls, grids: Sequence["Grid"]) -> Self:
        """Put the grids of columns end to end."""
        return cls._of_columns([grid._arrays for grid in grids])

    def only(self, feature: int) -> "Grid":
        """The grid of one column."""
        leaves = slice(self.bounds[feature], self.bounds[feature + 1])
        each = (self.low[leaves], self.high[leaves], self.weight[leaves])
        return Grid(self.sizes[feature : feature + 1], *each, self.depth[self.nodes(feature)], self.whole[[feature]])

    def nodes(self, feature: int) -> slice:
        """Places of the nodes of one column."""
        return slice(self.bounds[feature] - feature, self.bounds[feature + 1] - feature - 1)

    def same(self, other: Any) -> bool:
        """Whether another grid has the same leaves and nodes."""
        if self is other:
            return True
        arrays = zip(self._arrays, other._arrays, strict=True)
        return self.sizes == other.sizes and all(np.array_equal(a, b) for a, b in arrays)

    @cached_property
    def bounds(self) -> Array:
        """Start of each column's leaves, and the end of the last ones."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @cached_property
    def before(self) -> Array:
        """The leaf to the left of each cut."""
        return np.delete(np.arange(self.bounds[-1]), self.bounds[1:] - 1)

    @cached_property
    def cuts(self) -> Array:
        """Midway between two leaves, `(n,)`; where no float lies between them, at the upper end of the lower one."""
        high, low = self.high[self.before], self.low[self.before + 1]
        middle = high / 2 + low / 2
        return np.where((middle >= high) & (middle < low), middle, high)

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """Where each leaf begins and ends, `(k,)`: at cuts, and at the least and the largest number learnt."""
        lower, upper = self.low.copy(), self.high.copy()
        upper[self.before], lower[self.before + 1] = self.cuts, self.cuts
        return lower, upper

    @cached_property
    def _links(self) -> tuple[bool, Array, Array]:
        """Whether the nodes are trees; their left and right children, and the leaves below them; the roots."""
        links, roots = np.zeros((4, len(self.depth)), np.int64), np.empty(len(self.sizes), np.int64)
        left, right, begin, end = links
        good = numerics.grid_kernels.link(self.depth, self.bounds, left, right, roots, begin, end)
        return bool(good), links, roots

    @cached_property
    def tree(self) -> Tree:
        """The nodes as a tree."""
        _, (left, right, begin, end), roots = self._links
        deepest, depth = int(self.depth.max(initial=-1)) + 1, self.depth.astype(np.int64)
        path = np.full((len(self.low), deepest), len(depth))
        side = np.zeros(path.shape, bool)
        numerics.grid_kernels.ways(depth, begin, end, path, side)
        column = np.repeat(np.arange(len(self.sizes)), np.array(self.sizes) - 1)
        return Tree(left, right, column, roots, [np.flatnonzero(depth == d) for d in range(deepest)], path, side)

    def branches(self, leaves: Array) -> "Branches":
        """The part of the trees that leads to some leaves."""
        tree, nodes = self.tree, len(self.depth)
        needed = np.zeros(nodes + 1, bool)
        needed[tree.path[leaves]] = True
        kept = np.flatnonzero(needed[:nodes])
        place = np.full(nodes + len(self.low), len(kept) + len(leaves))  # of what leads elsewhere
        place[kept], place[nodes + leaves] = np.arange(len(kept)), len(kept) + np.arange(len(leaves))
        levels = [place[level[needed[level]]] for level in tree.levels]
        return Branches(kept, place[tree.left[kept]], place[tree.right[kept]], levels, leaves)

    def added_up(self, counts: Array) -> Array:
        """Sums over the leaves below each node, before the leaves' numbers, `(..., k) -> (..., n + k)`."""
        nodes, tree = len(self.depth), self.tree
        total = np.empty((*counts.shape[:-1], nodes + counts.shape[-1]))
        total[..., nodes:] = counts
        for level in reversed(tree.levels):
            total[..., level] = total[..., tree.left[level]] + total[..., tree.right[level]]
        return total

    @cached_property
    def share(self) -> Array:
        """Share of a node's rows that are to the left of its cut, `(n,)`."""
        total = self.added_up(self.weight)
        share = total[self.tree.left] / total[: len(self.depth)]
        return np.clip(share, SMALLEST, 1 - SMALLEST)

    @cached_property
    def log_share(self) -> Array:
        """log of the share of a column's rows in each leaf, `(k,)`: the product of the shares on the way to it."""
        logs = np.append(np.log([self.share, 1 - self.share]), [[0.0], [0.0]], axis=1)
        return np.where(self.tree.side, logs[1][self.tree.path], logs[0][self.tree.path]).sum(axis=1)

    @cached_property
    def log_base(self) -> Array:
        """log-density of each leaf in the histogram of all rows, `(k,)`; of a column with one value, 0."""
        lower, upper = self.ends
        with np.errstate(over="ignore"):
            width = upper - lower
        width = np.where(np.isinf(width), np.finfo(float).max, width)
        return self.log_share - np.log(np.where(width > 0, width, 1.0))

    @property
    def search_size(self) -> int:
        """Numbers that `search_table` has for each column: a power of two."""
        return 1 << (max(self.sizes) - 1).bit_length()

    @cached_property
    def search_table(self) -> tuple[Array, Array, int]:
        """Arguments of the kernel `search`: each column's cuts, filled up with infinite ones, and their starts."""
        size = self.search_size
        cuts = np.full((len(self.sizes), size), np.inf)
        for j in range(len(self.sizes)):
            each = self.cuts[self.nodes(j)]
            cuts[j, : len(each)] = each
        return cuts.ravel(), np.arange(len(self.sizes), dtype=np.int64) * size, size

    def read(self, x: Cells) -> Leafed:
        """Numbers as codes of their leaves."""
        return Leafed(x, *self.search_table)

    def written(self, codes: Array, rng: np.random.Generator) -> Array:
        """Numbers in leaves, `(r, f)`: uniform between the least and the largest learnt there, whole in whole columns.

        A missing cell, of a negative code, is NaN.
        """
        places = np.maximum(codes, 0).astype(np.intp) + self.bounds[:-1]
        low, high = self.low[places], self.high[places]
        share = rng.uniform(size=codes.shape)
        number = low * (1 - share) + high * share
        whole = np.minimum(np.floor(low + share * (high - low + 1)), high) if self.whole.any() else number
        number = np.where(self.whole > 0, whole, np.clip(number, low, high))
        return np.where(codes < 0, np.nan, number)


def _learnt_column(x: Array, weight: Array | None, depth: int) -> tuple[Array, ...]:
    """The arrays of a grid of one column of numbers, without those that are missing."""
    known = np.isfinite(x)
    values = x[known]
    if weight is None:
        values.sort()  # which takes a tenth of the time of an order
        below = np.arange(len(values) + 1.0)
    else:
        order = np.argsort(values, kind="stable")
        values, below = values[order], np.concatenate([[0.0], np.cumsum(weight[known][order])])
    if not len(values):
        return np.zeros(1), np.zeros(1), np.ones(1), np.empty(0), np.zeros(1)
    places, depths = np.empty((2, min((1 << depth) - 1, len(values))), np.int64)
    nodes = numerics.grid_kernels.grow(values, below, depth, LEAST, places, depths)
    order = np.argsort(places[:nodes])
    edges = np.concatenate([[0], places[:nodes][order], [len(values)]])
    whole = np.array([(values == np.floor(values)).all()])
    ends = values[edges[:-1]], values[edges[1:] - 1], np.diff(below[edges])
    return *ends, depths[:nodes][order].astype(float), whole


def _declared_column(cuts: Array) -> tuple[Array, ...]:
    """The arrays of a grid of one column's cuts: the leaves at both ends are as wide as those beside them."""
    widths = np.diff(cuts)
    first, last = (widths[0], widths[-1]) if len(widths) else (1.0, 1.0)
    edges = np.concatenate([[cuts[0] - first], cuts, [cuts[-1] + last]])
    depth = np.empty(len(cuts))

    def settle(low: int, high: int, level: int) -> None:
        if low < high:
            middle = (low + high) // 2
            depth[middle] = level
            settle(low, middle, level + 1)
            settle(middle + 1, high, level + 1)

    settle(0, len(cuts), 0)
    return edges[:-1], edges[1:], np.ones(len(cuts) + 1), depth, np.zeros(1)
