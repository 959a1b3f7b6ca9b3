"""Leaves of a grid: how many rows of each class lie in them, and densities that are even within each.

    left: the share of a node that goes to the left      leaf | left: down the tree of cuts, node by node

Densities, and the scores of beliefs about them, are relative to the distribution of all rows, p(x | class) / p(x),
which depends on the leaf alone.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.base import Array, Cells, Density, Parts, Rng
from bayesnb.families.categorical import CategoricalStats, CodedStats, LevelTables, Row, tables_of
from bayesnb.families.dirichlet import draw_level, pick
from bayesnb.families.grid import Grid
from bayesnb.families.record import Power, raised
from bayesnb.families.weight import Weight
from bayesnb.numerics import special
from bayesnb.numerics.special import log, ratio


class Leaves(Row):
    """Arrays about a grid: of its leaves, `(c, k)`, or of its nodes, `(c, n)`, the columns end to end."""

    layout: ClassVar[tuple[str, ...]] = ("grid",)
    of_nodes: ClassVar[bool] = False
    grid: Grid

    @property
    def sizes(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.grid.sizes

    @property
    def bounds(self) -> Array:
        return self.grid.bounds

    def part(self, feature: int) -> slice:
        """Places of a column in these arrays."""
        return self.grid.nodes(feature) if self.of_nodes else self.span(feature)

    def expand(self, totals: Array) -> Array:
        return totals[..., self.grid.tree.column] if self.of_nodes else np.repeat(totals, self.sizes, axis=-1)

    def of_levels(self, powers: Any) -> Any:
        """Powers of features, `(..., f)`, for their leaves, `(..., k)`; others as they are."""
        return np.repeat(powers, self.sizes, axis=-1) if np.shape(powers)[-1:] == (len(self.sizes),) else powers

    def at_nodes(self, powers: Any, nodes: Any = slice(None)) -> Any:
        """Powers of features, `(..., f)`, for nodes, `(..., n)`; others as they are."""
        by_feature = np.shape(powers)[-1:] == (len(self.sizes),)
        return powers[..., self.grid.tree.column[nodes]] if by_feature else powers

    def node_sums(self, values: Array) -> Array:
        """Sums over the nodes of each column, `(..., n) -> (..., f)`."""
        return np.stack([values[..., self.grid.nodes(j)].sum(axis=-1) for j in range(len(self.sizes))], axis=-1)

    def only(self, feature: int) -> Any:
        names = [name for name in self.__match_args__ if name != "grid"]
        arrays = [getattr(self, name)[..., self.part(feature)] for name in names]
        return type(self)(*arrays, self.grid.only(feature))  # type: ignore[call-arg]

    def column(self, feature: int) -> Any:
        return self.only(feature)

    def parts(self) -> Parts:
        names = [name for name in self.__match_args__ if name != "grid"]
        return {
            (self.symbols.get(name, name), j): getattr(self, name)[..., self.part(j)]
            for name in names
            for j in range(len(self.sizes))
        }


class LeafScores(Leaves, LevelTables):
    """Densities and beliefs, whose scores are relative to the density of all rows."""

    of_nodes: ClassVar[bool] = True

    def log_base(self, x: Cells) -> Array:
        """log of the density of all rows: their histogram on the grid, `(r, f) -> (r,)`; nothing of missing cells."""
        return self.added(x, tables_of(self.grid.log_base[None]), 1, None, 1)[:, 0]

    def cell_log_base(self, x: Cells) -> Array:
        return pick(self.grid.log_base, self.at(x[:]))


@dataclass(frozen=True, eq=False)
class LeafStats(Leaves, CodedStats):
    """Rows in each leaf, `(c, k)`."""

    counts: Array
    grid: Grid

    @classmethod
    def of(cls, x: Cells, weight: Any, grid: Grid, n_jobs: int | None = 1) -> Self:  # type: ignore[override]
        """One pass over codes of leaves, `(r, f)`."""
        return cls(CategoricalStats.of(x, weight, grid.sizes, n_jobs).counts, grid)

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None, grid: Any = None) -> Self:
        return cls.of(x, weight, grid, n_jobs)

    @classmethod
    def defined(cls, x: Array, weight: Weight, grid: Any = None) -> Self:
        return cls(CategoricalStats.defined(x, weight, grid.sizes).counts, grid)

    def alone(self, x: Array, weight: Weight) -> Self:
        return self.defined(x, weight, self.grid)

    def check(self) -> None:
        if not isinstance(self.grid, Grid):
            raise ValueError("its cells are on no grid.")
        self.grid.check()

    @property
    def cells(self) -> Array:
        return self.level_sums(self.counts)

    def mle(self) -> "LeafDensity":
        """Shares of the class's rows; where it has none below a node, those of all rows."""
        total, tree = self.grid.added_up(self.counts), self.grid.tree
        below = total[..., : len(tree.left)]
        left = np.where(below > 0, ratio(total[..., tree.left], below), self.grid.share)
        return LeafDensity(np.where(self.cells[..., tree.column] > 0, left, np.nan), self.grid)


@dataclass(frozen=True, eq=False)
class LeafDensity(LeafScores, Density):
    """The share of each node that goes to the left, `(c, n)`: that of all rows, where the node does not split."""

    symbols: ClassVar[dict[str, str]] = {"left": "left{}"}
    theta: ClassVar[str] = "left"
    kept: ClassVar[str] = "logs"
    left: Array
    grid: Grid

    @classmethod
    def of_logs(cls, logs: tuple[Array, Array], grid: Grid, left: Array | None = None) -> Self:
        """Shares whose logs are kept, and those of what goes to the right: small ones underflow."""
        density = cls(np.exp(logs[0]) if left is None else left, grid)
        density.__dict__["logs"] = logs
        return density

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        return cls(np.concatenate([parts["left{}", j] for j in range(len(like.sizes))], axis=-1), like.grid)

    @cached_property
    def logs(self) -> tuple[Array, Array]:
        """Logs of the shares that go to the left, and to the right."""
        return log(self.left), log(1 - self.left)

    @cached_property
    def log_ratio(self) -> Array:
        """log of the class's share of each leaf over that of all rows, `(c, k)`."""
        share, tree = self.grid.share, self.grid.tree
        pairs = zip(self.logs, (np.log(share), np.log1p(-share)), strict=True)
        sides = [with_end(logs - base) for logs, base in pairs]
        total = np.zeros((*self.left.shape[:-1], self.bounds[-1]))
        for node, right in zip(tree.path.T, tree.side.T, strict=True):
            total += np.where(right, sides[1][..., node], sides[0][..., node])
        return total

    @property
    def probability(self) -> Array:
        """The class's share of each leaf, `(c, k)`."""
        return np.exp(self.log_ratio + self.grid.log_share)

    @property
    def proper(self) -> Array:
        return self.node_sums(~np.isfinite(self.left)) == 0

    def level_log_moment(self, s: Any) -> Array:
        return raised(self.of_levels(s), self.log_ratio)

    def log_density(self, x: Array) -> Array:
        return pick(self.log_ratio, self.at(x))

    def log_likelihood(self, stats: LeafStats, xp: Any = np) -> Any:
        return self.level_sums(special.times(stats.counts, self.log_ratio))

    def sample(self, rng: Rng) -> Array:
        rng, probability = np.random.default_rng(rng), self.probability
        columns = range(len(self.sizes))
        return np.stack([draw_level(probability[..., self.span(j)], rng) for j in columns], axis=-1)

    def contributed(self, x: Cells, power: Power, words: Array | None = None) -> Array:
        return raised(power, self.log_density(x[:, None]) + self.cell_log_base(x)[:, None])


def with_end(values: Array) -> Array:
    """Values of nodes, and 0 for the end of a way."""
    return np.concatenate([values, np.zeros((*values.shape[:-1], 1), values.dtype)], axis=-1)
