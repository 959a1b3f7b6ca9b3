"""Rows that leave: one at a time, to be scored by what is left of their class, or for good.

A row that leaves changes only its class. A Dirichlet becomes prior plus counts less the row's: no digit of a small
prior is lost, as it would be if a part of the posterior were divided out.

The error model of stats from which rows are taken back: whole numbers below 2**53 are floats, so their sums and
differences are exact. A sum of n other weights is off by at most n * 2**-53 of itself, by about sqrt(n) of that as a
rule; so what is left of a sum and is no more than 8 n * 2**-52 of it, or 1e-12 where rows are few, is taken to be
nothing: else rounding would leave a class with a row's billionth, whose mean and variance are noise. Coordinates in
which subtraction loses digits, as those of Gaussians do, bound the error: see `HasSlip`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from bayesnb.families.record import Array, Record
from bayesnb.families.weight import one_hot
from bayesnb.numerics.special import log
from bayesnb.numerics.threads import blocks, in_order

PREDICTIVE = "predictive"
CELLS = 1 << 19  # that leave at once
ROUNDING = 1e-12  # of sums of weights
FEW = 4  # weights that are taken one after the other
SLACK = 1e-9  # what rounding may leave of numbers that are the same
EPSILON = float(np.finfo(float).eps)
EXACT = 2.0**53  # whole numbers below are floats


@dataclass(frozen=True, eq=False)
class Leaving:
    """Rows that leave, their classes, and how much of each goes; how they are scored.

    `kind` is whether theta is integrated out of their scores, or which estimate of it is plugged in.
    """

    x: Any
    codes: Array
    weight: Array
    kind: str = PREDICTIVE
    n_jobs: int | None = 1

    @property
    def alike(self) -> bool:
        """Whether the same goes of every row."""
        return bool((self.weight == self.weight[:1]).all())

    @property
    def each(self) -> Any:
        """What goes of the rows: a number where that is the same, else `(r, 1)`."""
        return float(self.weight[0]) if self.alike else self.weight[:, None]

    def __getitem__(self, rows: Any) -> Self:
        return replace(self, x=self.x[rows], codes=self.codes[rows], weight=self.weight[rows], n_jobs=1)

    def scored(self, score: Callable[[int, "Leaving"], Array], out: Array) -> Array:
        """Write `score(class, rows of it)` into the rows' entries of their class, `(r, c)`."""

        def score_group(group: tuple[int, Array]) -> None:
            c, rows = group
            out[rows, c] = score(c, self[rows])

        list(in_order(score_group, list(self.groups()), self.n_jobs))
        return out

    def groups(self) -> Iterator[tuple[int, Array]]:
        """Places of rows of one class, not too many at once, of which the same goes if few weights occur."""
        weights, which = np.unique(self.weight, return_inverse=True)
        groups = self.codes * len(weights) + which if len(weights) <= FEW else self.codes
        order = np.argsort(groups, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
            for part in blocks(len(rows), max(CELLS // self.x.shape[1], 1 << 8)):
                yield int(self.codes[rows[0]]), rows[part]


def extra_of(prior: Array, kind: str) -> Array:
    """The pseudo-counts of a prior: a mode has one less than its concentration, the MLE none at all."""
    return prior - 1 if kind == "map" else np.zeros_like(prior) if kind == "mle" else prior


def staying(left: Array, total: Array, rounding: float = ROUNDING) -> Array:
    """What is left of a part of a total: nothing, if it is no more than the rounding of a sum of weights."""
    return np.where(left > rounding * total, left, 0.0)


class RemainingLevels(NamedTuple):
    """Pseudo-counts and counts of levels from which rows leave; all broadcast against cells, or against levels."""

    extra: Array  # of the prior
    counts: Array
    column_extra: Array  # sums over the levels of a column
    column_counts: Array
    column_total: Array  # of both, none of a level's below zero
    levels: Array  # their number

    @classmethod
    def of(cls, prior: Array, counts: Array, kind: str, level_sums: Callable[[Array], Array]) -> Self:
        """`level_sums` gives each level its column's sum."""
        extra = extra_of(prior, kind)
        ones = np.ones(np.broadcast_shapes(extra.shape, counts.shape))
        total = level_sums(np.maximum(extra + counts, 0.0))
        return cls(extra, counts, level_sums(ones * extra), level_sums(ones * counts), total, level_sums(ones))

    def worth(self, weight: Any, kind: str) -> Array:
        """The score of a level once so much of it has left; NaN where no distribution is left."""
        left = np.maximum(self.extra + staying(self.counts - weight, self.column_counts), 0.0)
        rest = self.column_extra + staying(self.column_counts - weight, self.column_counts)
        if (self.extra < 0).any():
            rest = self.column_total - (np.maximum(self.extra + self.counts, 0.0) - left)
        with np.errstate(invalid="ignore", divide="ignore"):
            nothing = -np.log(self.levels) if kind == "map" else np.nan
            return np.where(rest > 0, log(left) - log(rest), nothing)


def left_out_by_definition(prior: Any, stats: Any, leaving: Leaving) -> Array:
    """Define `score_left_out` of rows that each are a class, `(1, f)` -> `(r,)`: NaN where nothing proper is left."""
    rows = len(leaving.codes)
    every, alone = np.zeros(rows, np.intp), stats.alone(leaving.x, one_hot(np.arange(rows), rows, leaving.weight))
    reader = reader_of(prior[every], stats[every] - alone, leaving.kind)
    x = leaving.x[:, None] if prior.multivariate else leaving.x
    value = reader.log_predictive(x) if leaving.kind == PREDICTIVE else reader.log_density(x)
    return np.where(reader.proper | missing(leaving.x, prior.multivariate), value, np.nan).sum(axis=-1)


def reader_of(prior: Any, stats: Any, kind: str) -> Any:
    """What predicts: the posterior, or its parameters plugged in."""
    if kind == "mle":
        return stats.mle()
    return prior.update(stats) if kind == PREDICTIVE else prior.update(stats).estimate(kind)


def missing(x: Any, multivariate: bool) -> Any:
    """Which cells are missing, `(r, f)`; of a multivariate block which rows lack all, and of counts none."""
    if multivariate and sparse.issparse(x):
        return False
    x = x.toarray() if sparse.issparse(x) else np.asarray(x[:])
    gone = x < 0 if x.dtype.kind == "i" else np.isnan(x)
    return gone.all(axis=1, keepdims=True) if multivariate else gone


class Removal(Record):
    """Stats from which rows can be taken back."""

    constants: ClassVar[tuple[str, ...]] = ()  # fields that enter the evidence alone, and which may have any sign

    @property
    def cells(self) -> Array | None:
        """How many cells were seen, `(c, f)`; None for a family that misses none."""
        return None

    def covers(self, part: Self, every: Array) -> bool:
        """Whether the rows behind `part` can be among the rows behind these."""
        return not self.faults(part, every).any()

    def faults(self, part: Self, every: Array, rounding: float = SLACK) -> Array:
        """Where the rows behind `part` cannot be among these, as a count would fall below zero, `(c, k)`.

        In the classes where `every`, `(c,)`, is true they are all rows: nothing may stay. Without `rounding` it is
        exact.
        """
        invalid: Any = False
        for name in self.counted_fields:
            rest, none = getattr(self, name) - getattr(part, name), slack(self.about(name), rounding)
            emptied = every.reshape(-1, *(1,) * (rest.ndim - 1))
            invalid = invalid | (rest < -none) | emptied & (rest > none)
        return invalid.reshape(len(invalid), -1)

    def remains(self, part: Self, rounding: float) -> Self:
        """What stays once the rows behind `part` have left; nothing, if no more than `rounding` of what was there.

        Where no count stays, no constant stays either.
        """
        rest = self.map(np.subtract, part)
        left = {name: left_of(self.about(name), getattr(rest, name), rounding) for name in self.counted_fields}
        counted = np.any([array != 0 for array in left.values()], axis=0)
        for name in self.constants:
            field = getattr(rest, name)
            left[name] = np.where(counted.any(axis=tuple(range(field.ndim, counted.ndim))), field, 0.0)
        return type(self)(*(left.get(name, getattr(self, name)) for name in self.__match_args__))

    def about(self, name: str) -> Array:
        """The sums whose rounding a field carries: the field itself, unless it is a difference."""
        return getattr(self, name)

    @property
    def counted_fields(self) -> list[str]:
        """The names of its arrays that no row can make smaller."""
        return [name for name in self.__match_args__ if name not in (*self.layout, *self.constants)]


def rounding_of(rows: int) -> float:
    """Relative rounding error of a sum of the weights of so many rows, or of a few more."""
    return max(ROUNDING, 8 * EPSILON * rows)


def slack(total: Array, rounding: float) -> Array:
    """How far two sums of the same weights may differ."""
    most = max(SLACK, rounding) * np.abs(total)
    return most if rounding else np.where(total < EXACT, 0.0, most)


def left_of(total: Array, rest: Array, rounding: float) -> Array:
    """What is left of sums of weights; without `rounding` they are whole, and exact as far as floats are."""
    if not rounding:
        return np.where(total < EXACT, np.maximum(rest, 0.0), staying(rest, total))
    return staying(rest, total, rounding)
