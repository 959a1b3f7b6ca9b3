"""The product: a belief about the class probabilities, times one for each block of columns.

class ~ Categorical(p)      cells of a block | class ~ the block's family blocks independent given
the class

Blocks process rows in threads. An array of rows x classes x features is never held, and results do
not depend on the number of threads.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import add, itemgetter, mul
from typing import Any, Self

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import Array, Belief, Cells, Density, Stats
from bayesnb.families.certain import KnownDie
from bayesnb.families.dirichlet import Dirichlet, DirichletDensity, DirichletStats
from bayesnb.families.record import difference, fields_alone
from bayesnb.families.removal import SLACK
from bayesnb.families.weight import Weight, one_hot
from bayesnb.model.powers import Exponents, LengthPower, is_silent, of_blocks, of_rows
from bayesnb.numerics.threads import MOST, in_order, pieces

Observer = Callable[[Cells, Weight, int | None], Stats]


@dataclass(frozen=True, eq=False)
class Rows:
    """Labelled rows: cells of each block with their observers, codes of classes, and weights."""

    observers: Sequence[Observer]
    cells: Sequence[Cells]
    codes: Array
    weight: Array | None = None

    def __getitem__(self, rows: Any) -> Self:
        """Some rows, by places or a slice."""
        weight = None if self.weight is None else self.weight[rows]
        cells = [x[rows] for x in self.cells]
        return replace(self, cells=cells, codes=self.codes[rows], weight=weight)

    def where(self, keep: Array) -> Self:
        """Rows where `keep` is true."""
        return self if keep.all() else self[np.flatnonzero(keep)]

    def of_first_blocks(self, number: int) -> Self:
        """Rows with the cells of the first blocks only."""
        return replace(self, observers=self.observers[:number], cells=self.cells[:number])

    @property
    def counts(self) -> Array:
        return np.ones(len(self.codes)) if self.weight is None else self.weight


class Parts:
    """A part for the class, and one for each block of columns given the class."""

    classes: Any
    blocks: tuple[Any, ...]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.classes, *self.blocks))

    def of_first_blocks(self, number: int) -> Self:
        """Return the class part and the first blocks only."""
        return replace(self, blocks=self.blocks[:number])  # type: ignore[type-var]


def combine[P: Parts](make: Callable[..., P], change: Callable[..., Any], *products: Parts) -> P:
    """Apply `change(part, ...)` part by part, and make a product of the results."""
    classes, *blocks = map(change, *products)
    return make(classes, tuple(blocks))


@dataclass(frozen=True, eq=False)
class ProductStats(Parts):
    """Stats of the labels and of each block, which can be added, subtracted and scaled."""

    classes: DirichletStats
    blocks: tuple[Stats, ...]

    def __add__(self, other: Self) -> Self:
        return combine(type(self), add, self, other)

    def __mul__(self, times: float) -> Self:
        return combine(type(self), partial(mul, times), self)

    __rmul__ = __mul__

    def __sub__(self, other: Self) -> Self:
        return self + -1 * other

    def __getitem__(self, classes: Any) -> Self:
        """Stats of the given classes."""
        return combine(type(self), itemgetter(classes), self)

    def replaced(self, classes: Array, other: Self) -> Self:
        """Replace the stats of the given classes by those of `other`."""

        def put(array: Array, part: Array) -> Array:
            array = array.copy()
            array[classes] = part
            return array

        return combine(type(self), lambda stats, part: stats.map(put, part), self, other)

    def covers(self, part: Self) -> bool:
        """Whether the rows of `part` can be a subset of the rows of these stats."""
        emptied = self.classes.counts - part.classes.counts <= SLACK * self.classes.counts
        return all(stats.covers(gone, emptied) for stats, gone in zip(self, part, strict=True))


class Joint(Parts):
    """p(x, y) from the class probabilities and the blocks given the class."""

    def __getstate__(self) -> dict[str, Any]:
        return fields_alone(self)

    @cached_property
    def log_class(self) -> Array:
        return self.classes.level_log_moment(1)

    @cached_property
    def live(self) -> Array:
        """Classes with a probability above 0, `(c,)`."""
        return self.log_class > -np.inf

    @cached_property
    def all_live(self) -> bool:
        return bool(self.live.all())

    def log_joint(
        self, cells: Sequence[Cells], power: Exponents = 1.0, n_jobs: int | None = None
    ) -> Array:
        """log p(x, y) with exponents on features, `(r, f) per block -> (r, c)`.

        A class with prior probability 0 keeps it, whatever the features.
        """
        log_class = self.log_class
        total = np.empty((cells[0].shape[0], len(log_class)))
        total[...] = log_class
        for block, x, exponent in zip(self.blocks, cells, of_rows(power, cells), strict=True):
            if not is_silent(exponent):
                block.score(x, exponent, total, n_jobs)
        if not self.all_live:
            total[:, ~self.live] = -np.inf
        return total

    def with_base(self, joint: Array, cells: Sequence[Cells], power: Exponents = 1.0) -> Array:
        """Add the log base density that all classes share, so that log p(x, y) is absolute."""
        for block, x, exponent in zip(self.blocks, cells, of_rows(power, cells), strict=True):
            base = block.cell_log_base(x)
            if base is not None:
                joint = joint + (base * exponent).sum(axis=1)[:, None]
        return joint


def tempering_shift(
    blocks: Sequence[Any], cells: Sequence[Cells], power: Exponents
) -> Array | float:
    """Log ratio of the predictive to the power w and E p(x | theta)**w, `(r, c)`.

    This is sum_j w_j K_j(1) - K_j(w_j) over features, as a tempered score is the exponent times the
    score; it is 0 where all exponents are 1. K is the log moment, see `Belief.log_moment`.
    """
    total: Array | float = 0.0
    for block, x, exponent in zip(blocks, cells, of_rows(power, cells), strict=True):
        if not (is_silent(exponent) or np.all(np.equal(exponent, 1))):
            total = total + difference(block.score(x, exponent), block.row_log_moment(x, exponent))
    return total


def features_of(block: Any) -> int:
    """The number of features of a block."""
    return int(block.proper.shape[-1])


def feature_scores(blocks: Sequence[Any], cells: Sequence[Cells], power: Exponents = 1.0) -> Array:
    """Scores of rows by feature, with all blocks end to end, `(r, c, f)`.

    The exponent is 1, except for words whose exponent falls with the length of a row: they have the
    factor for the length.
    """
    parts = []
    for block, x, exponent in zip(blocks, cells, of_blocks(power, len(blocks)), strict=True):
        if not block.multivariate:
            parts.append(block.cell_scores(x))
            continue
        share = exponent.shares(x) if isinstance(exponent, LengthPower) else 1.0
        parts.append(block.score(x, share)[:, :, None])
    return np.concatenate(parts, axis=2)


@dataclass(frozen=True, eq=False)
class ProductDensity(Joint):
    """p(x, y | theta), theta known."""

    classes: DirichletDensity
    blocks: tuple[Density, ...]


@dataclass(frozen=True, eq=False)
class Product(Joint):
    """p(x, y) with theta integrated out: prior or posterior beliefs about classes and blocks."""

    classes: Dirichlet | KnownDie
    blocks: tuple[Belief, ...]

    @property
    def independent_classes(self) -> bool:
        """Whether the parameters of the classes are independent of one another."""
        return all(block.independent_classes for block in self.blocks)

    @property
    def has_atoms(self) -> bool:
        """Whether the density of a cell may be known, as for a histogram with a single bin."""
        return any(block.has_atoms for block in self.blocks)

    @property
    def closed(self) -> bool:
        """Whether the distribution of p(y | x, theta) needs no draws: independent or two
        classes.
        """
        return self.independent_classes or bool(self.live.sum() <= 2)

    @property
    def may_be_known(self) -> bool:
        """Whether log-odds may have point masses, as densities and class probabilities are
        known.
        """
        return self.has_atoms and not isinstance(self.classes, Dirichlet)

    @property
    def why_drawn(self) -> str:
        """Why the distribution of p(y | x, theta) needs draws, if it does."""
        if self.closed:
            return (
                "class_prior is fixed, and Histogram columns may have the same distribution in all "
                "classes: the distribution then has, or nearly has, point masses (not with a "
                "class_prior that is learnt)"
            )
        return "three or more classes share unknown parameters, under shared=True"

    def update(self, stats: ProductStats) -> Self:
        return combine(type(self), lambda belief, seen: belief.update(seen), self, stats)

    def beside(self, other: Self) -> Self:
        """Add entries for all combinations and levels of another product."""
        pairs = zip(self.blocks, other.blocks, strict=True)
        return replace(self, blocks=tuple(belief.beside(wider) for belief, wider in pairs))

    def log_evidence(self, stats: ProductStats) -> tuple[float, tuple[Array, ...]]:
        """Log evidence of the labels, and of each feature given the labels, `(f,)` for each
        block.
        """
        pairs = zip(self, stats, strict=True)
        labels, *blocks = (belief.log_evidence(seen) for belief, seen in pairs)
        return float(labels), tuple(each.sum(axis=0) for each in blocks)

    def estimate(self, kind: str, stats: ProductStats) -> ProductDensity:
        """Return densities at a point estimate: posterior "mean", mode "map", or "mle" without a
        prior.
        """
        if kind == "mle":
            return combine(ProductDensity, lambda belief, seen: belief.mle(seen), self, stats)
        return combine(ProductDensity, lambda belief: belief.estimate(kind), self)


@dataclass(frozen=True, eq=False)
class Model:
    """Prior and stats, from which the posterior follows.

    `integer_weights` says that all weights and counts were whole numbers: only then is the evidence
    a probability of rows, and Bayes factors are valid.
    """

    prior: Product
    stats: ProductStats
    integer_weights: bool = True

    def __post_init__(self) -> None:
        for part in (*self.prior, *self.stats):
            if part.overflow:  # cached in the prior, which stays while stats grow
                raise ValueError(part.overflow)

    @cached_property
    def posterior(self) -> Product:
        return self.prior.update(self.stats)

    def of_first_blocks(self, number: int) -> Self:
        """Return the model of the first blocks only."""
        return replace(
            self,
            prior=self.prior.of_first_blocks(number),
            stats=self.stats.of_first_blocks(number),
        )

    def __getstate__(self) -> dict[str, Any]:
        return fields_alone(self)

    @cached_property
    def readers(self) -> dict[str, Joint]:
        """Cache of predictors by kind of estimate, once they are known to be proper."""
        return {}

    def read(self, estimate: str) -> Joint:
        """Return the predictor: the posterior, or densities at a point estimate."""
        if estimate == "predictive":
            return self.posterior
        return self.posterior.estimate(estimate, self.stats)


def observe(rows: Rows, classes: int, n_jobs: int | None = None) -> ProductStats:
    """Stats of weighted, labelled rows."""
    weight = one_hot(rows.codes, classes, rows.weight)
    seen = tuple(see(x, weight, n_jobs) for see, x in zip(rows.observers, rows.cells, strict=True))
    return ProductStats(DirichletStats(weight.totals()), seen)


def normalise(joint: Array, proba: bool, n_jobs: int | None = 1) -> int:
    """Write p(y | x), or its log, in place of log p(x, y), `(r, c)`.

    Return the first row without a distribution, or -1.
    """
    kernel = numerics.row_kernels.normalise
    if joint.size <= MOST:
        return kernel(joint, proba)
    parts = list(pieces(*joint.shape))
    firsts = in_order(lambda rows: kernel(joint[rows], proba), parts, n_jobs)
    for rows, at in zip(parts, list(firsts), strict=True):
        if at >= 0:
            return rows.start + at
    return -1


def normalise_log(joint: Array) -> Array:
    """log p(y | x) from log p(x, y); log 0 for all classes if a row is impossible under all; NaN
    stays.
    """
    best = joint.max(axis=1)
    nowhere = ~np.isfinite(best)
    log_proba = np.where(nowhere[:, None], 0.0, joint)
    normalise(log_proba, False)
    log_proba[nowhere] = np.where(np.isnan(best[nowhere]), np.nan, -np.inf)[:, None]
    return log_proba
