"""The product: a die for the class, times one belief for each block of columns. It owns the axes.

    class ~ die      every block of cells | class ~ its family      blocks independent given the class

Work goes block of rows by block of rows, on as many threads as allowed: rows x classes x features are never
held at once, and the order of the blocks is fixed, so the number of threads changes no digit.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any, Self

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Belief, Cells, Density, Stats, one_hot
from bayesnb.families.dirichlet import Dirichlet, DirichletDensity, DirichletStats
from bayesnb.families.known import KnownDie

Observer = Callable[[Cells, sparse.csc_array], Stats]
CELLS_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class Dense:
    """A sparse block for families that read arrays: made dense some rows at a time."""

    rows: sparse.csr_array

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    @property
    def dtype(self) -> np.dtype:
        return self.rows.dtype

    def __getitem__(self, index: Any) -> Array:
        return self.rows[index].toarray()


@dataclass(frozen=True, eq=False)
class Rows:
    """Labelled rows: the cells of every block and what sees them, the places of the classes, how much each counts."""

    observers: Sequence[Observer]
    cells: Sequence[Cells]
    codes: Array
    weight: Array | None = None

    @property
    def counts(self) -> Array:
        return np.ones(len(self.codes)) if self.weight is None else self.weight


@dataclass(frozen=True, eq=False)
class ProductStats:
    """What the data said about the class and about every block. A commutative group that can be scaled."""

    classes: DirichletStats
    blocks: tuple[Stats, ...]

    def __add__(self, other: Self) -> Self:
        pairs = zip(self.blocks, other.blocks, strict=True)
        return type(self)(self.classes + other.classes, tuple(a + b for a, b in pairs))

    def __mul__(self, times: float) -> Self:
        return type(self)(times * self.classes, tuple(times * block for block in self.blocks))

    __rmul__ = __mul__

    def __sub__(self, other: Self) -> Self:
        return self + -1 * other


@dataclass(frozen=True, eq=False)
class ProductDensity:
    """p(x, y | theta), theta known."""

    classes: DirichletDensity
    blocks: tuple[Density, ...]

    def log_joint(self, cells: Sequence[Cells], power: float = 1.0, n_jobs: int | None = None) -> Array:
        """log p(x, y | theta), `(r, f) per block -> (r, c)`, the features' part times the power."""
        return log_joint(self.classes.level_log_moment(1), self.blocks, cells, power, n_jobs)


@dataclass(frozen=True, eq=False)
class Product:
    """A belief about the class's die and about every block: prior or posterior."""

    classes: Dirichlet | KnownDie
    blocks: tuple[Belief, ...]

    def update(self, stats: ProductStats) -> Self:
        pairs = zip(self.blocks, stats.blocks, strict=True)
        return type(self)(self.classes.update(stats.classes), tuple(belief.update(seen) for belief, seen in pairs))

    def log_evidence(self, stats: ProductStats) -> tuple[float, tuple[Array, ...]]:
        """Of the labels, and of every feature given them, `(f,)` for each block."""
        pairs = zip(self.blocks, stats.blocks, strict=True)
        return float(self.classes.log_evidence(stats.classes)), tuple(
            belief.log_evidence(seen).sum(axis=0) for belief, seen in pairs
        )

    def log_joint(self, cells: Sequence[Cells], power: float = 1.0, n_jobs: int | None = None) -> Array:
        """log p(x, y), every parameter integrated out: `(r, f) per block -> (r, c)`, tempered by the power."""
        return log_joint(self.classes.level_log_moment(1), self.blocks, cells, power, n_jobs)

    def estimate(self, kind: str, stats: ProductStats) -> ProductDensity:
        """The parameters plugged in: posterior `"mean"`, mode `"map"`, or `"mle"`, which no prior enters."""
        if kind == "mle":
            return ProductDensity(self.classes.mle(stats.classes), tuple(seen.mle() for seen in stats.blocks))
        return ProductDensity(self.classes.estimate(kind), tuple(belief.estimate(kind) for belief in self.blocks))


@dataclass(frozen=True, eq=False)
class Model:
    """What was believed before and what the data said. The rest is derived."""

    prior: Product
    stats: ProductStats

    @cached_property
    def posterior(self) -> Product:
        return self.prior.update(self.stats)

    def __getstate__(self) -> dict[str, Any]:
        return {"prior": self.prior, "stats": self.stats}

    def read(self, estimate: str) -> Product | ProductDensity:
        """What predicts: the posterior itself, or its parameters plugged in."""
        return self.posterior if estimate == "predictive" else self.posterior.estimate(estimate, self.stats)


def observe(rows: Rows, classes: int, n_jobs: int | None = None) -> ProductStats:
    """The stats of labelled rows; rows count by their weight."""

    def some(chunk: slice) -> ProductStats:
        counts = one_hot(rows.codes[chunk], classes, rows.counts[chunk])
        seen = tuple(see(x[chunk], counts) for see, x in zip(rows.observers, rows.cells, strict=True))
        return ProductStats(DirichletStats(np.asarray(counts.sum(axis=0))), seen)

    return reduce(add, by_rows(some, rows.cells, classes, n_jobs))


def log_joint(
    log_class: Array, blocks: Sequence[Belief | Density], cells: Sequence[Cells], power: float, n_jobs: int | None
) -> Array:
    """The class's part plus every block's. A class of probability 0 stays so whatever its features say."""
    total = np.empty((cells[0].shape[0], len(log_class)))

    def some(chunk: slice) -> None:
        part = total[chunk]
        part[:] = log_class
        for block, x in zip(blocks, cells, strict=True):
            part += block.score(x[chunk], power)
        part[:, np.isneginf(log_class)] = -np.inf

    list(by_rows(some, cells, len(log_class), n_jobs))
    return total


def leave_one_out(
    model: Model, rows: Rows, gone: Array | None = None, power: float = 1.0, n_jobs: int | None = None
) -> Array:
    """log_joint of every row under the posterior without it, `(r, c)`: a row touches only its own class.

    Of each row a weight w goes, by default all of it, by K(power - w) - K(-w) in place of K(power). Where hardly
    anything of a belief would stay, that difference has no digits, and the other rows are counted again.
    """
    gone = rows.counts if gone is None else gone
    total = np.empty((len(rows.codes), len(model.stats.classes)))

    def some(chunk: slice) -> None:
        part, codes, taken = total[chunk], rows.codes[chunk], gone[chunk]
        part[:] = model.posterior.classes.left_out(codes, taken)
        for b, (block, x) in enumerate(zip(model.posterior.blocks, rows.cells, strict=True)):
            seen = x[chunk]
            score = block.score(seen, power)
            for c in np.unique(codes):
                its, own = np.flatnonzero(codes == c), block[c : c + 1]
                cells, w = seen[its], taken[its]
                score[its, c] = (own.score(cells, power - w[:, None]) - own.score(cells, -w[:, None]))[:, 0]
                for i in its[own.fragile(cells, w)]:
                    score[i, c] = without(model, rows, b, chunk.start + i, gone).score(seen[[i]], power)[0, 0]
            part += score

    list(by_rows(some, rows.cells, total.shape[1], n_jobs))
    return total


def without(model: Model, rows: Rows, b: int, row: int, gone: Array) -> Belief:
    """One block's belief about one row's class, from all rows but that one, `(1, f)`."""
    c = rows.codes[row]
    same = np.flatnonzero(rows.codes == c)
    weight = np.where(same == row, rows.counts[same] - gone[row], rows.counts[same])
    same, weight = same[weight > 0], weight[weight > 0]
    rest = rows.observers[b](rows.cells[b][same], one_hot(np.zeros(len(same), np.intp), 1, weight))
    return model.prior.blocks[b][c : c + 1].update(rest)


def normalised(joint: Array) -> Array:
    """log p(y | x) from log p(x, y). A row that is impossible under every class has log 0 for each of them."""
    peak = joint.max(axis=1, keepdims=True)
    relative = joint - np.where(np.isneginf(peak), 0.0, peak)  # first: a joint of -1e19 has no digits after the point
    total = np.exp(relative).sum(axis=1, keepdims=True)
    return relative - np.log(np.where(total > 0, total, 1.0))


def by_rows[Out](
    work: Callable[[slice], Out], cells: Sequence[Cells], classes: int, n_jobs: int | None
) -> Iterator[Out]:
    """`work` on consecutive blocks of rows, results in order, one at a time.

    A block's cells fit in a core's cache, unless the parameters are more: going through those would cost more.
    """
    rows = cells[0].shape[0]
    width = max(x.nnz / rows if sparse.issparse(x) else x.shape[1] for x in cells)
    step = max(1, int(max(CELLS_AT_ONCE, classes * max(x.shape[1] for x in cells)) / max(width, 1)))
    chunks = [slice(start, min(start + step, rows)) for start in range(0, rows, step)]
    threads = min(len(chunks), cores() if n_jobs is None or n_jobs < 0 else n_jobs)
    if threads <= 1:
        yield from map(work, chunks)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, chunks)


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
