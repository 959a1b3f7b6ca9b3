"""Rows that leave: one at a time, to be scored by what is left of their class, or for good.

A row touches only its class. Of a Dirichlet its counts go, and the rest is prior plus counts less those: no digit of a
small prior is lost, as it would be in a posterior from which a part of itself is divided out.

The error model of stats from which rows are taken back: whole numbers below 2**53 are floats, so their sums and
differences are exact. A sum of n other weights is off by at most n * 2**-53 of itself, by about sqrt(n) of that as a
rule; so what is left of a sum and is no more than 8 n * 2**-52 of it, or 1e-12 where rows are few, is taken to be
nothing: else rounding would leave a class with a row's billionth, whose mean and variance are noise. Coordinates in
which subtraction loses digits, as those of Gaussians do, say by how much: see `Removal.slip`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from bayesnb.families.record import Array, Record
from bayesnb.families.weight import one_hot
from bayesnb.numerics.special import less, log, log_gamma_ratio
from bayesnb.numerics.threads import blocks, in_order

PREDICTIVE = "predictive"
CELLS = 1 << 19  # that leave at once
ROUNDING = 1e-12  # of sums of weights
FEW = 4  # weights that are taken one after the other


@dataclass(frozen=True, eq=False)
class Leaving:
    """Rows, their classes, how much of each goes; and whether theta is integrated out of their scores, or which
    estimate of it is plugged in, and the power that scales them."""

    x: Any
    codes: Array
    weight: Array
    kind: str = PREDICTIVE
    power: float = 1.0
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
        return type(self)(self.x[rows], self.codes[rows], self.weight[rows], self.kind, self.power)

    def scored(self, score: Callable[[int, "Leaving"], Array], out: Array) -> Array:
        """`own(class, its rows)` in place of the rows' own entries, `(r, c)`."""

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
    """What is there beside the counts: a mode has one less than the prior, the MLE no prior at all."""
    return prior - 1 if kind == "map" else np.zeros_like(prior) if kind == "mle" else prior


def staying(left: Array, whole: Array, rounding: float = ROUNDING) -> Array:
    """What is left of a part of the whole: sums of weights are rounded, and none of them may be left of nothing."""
    return np.where(left > rounding * whole, left, 0.0)


class RemainingLevels(NamedTuple):
    """What each level has beside its throws, its throws, and both of its column; `whole` is what the column has now.

    All broadcast against cells, or against the levels themselves. What a level has is never below zero.
    """

    extra: Array
    counts: Array
    whole_extra: Array
    whole_counts: Array
    whole: Array
    levels: Array

    @classmethod
    def of(cls, prior: Array, counts: Array, kind: str, level_sums: Callable[[Array], Array]) -> Self:
        """`level_sums` gives each level its column's sum."""
        extra = extra_of(prior, kind)
        ones = np.ones(np.broadcast_shapes(extra.shape, counts.shape))
        whole = level_sums(np.maximum(extra + counts, 0.0))
        return cls(extra, counts, level_sums(ones * extra), level_sums(ones * counts), whole, level_sums(ones))

    def worth(self, weight: Any, kind: str, power: float) -> Array:
        """The score of a level that leaves, and so often; NaN where no distribution is left."""
        left = np.maximum(self.extra + staying(self.counts - weight, self.whole_counts), 0.0)
        rest = self.whole_extra + staying(self.whole_counts - weight, self.whole_counts)
        if (self.extra < 0).any():
            rest = self.whole - (np.maximum(self.extra + self.counts, 0.0) - left)
        with np.errstate(invalid="ignore", divide="ignore"):
            if kind == PREDICTIVE and power != 1:
                value = less(log_gamma_ratio(left, power), log_gamma_ratio(rest, power))
                value = np.where(left > 0, value, -np.inf)
            else:
                value = power * (log(left) - log(rest))
            nothing = -power * np.log(self.levels) if kind == "map" else np.nan
            return np.where(rest > 0, value, nothing)


def defined(prior: Any, stats: Any, leaving: Leaving) -> Array:
    """Define `score_left_out` of rows that each are a class, `(1, f)` -> `(r,)`: NaN where nothing proper is left."""
    rows = len(leaving.codes)
    every, alone = np.zeros(rows, np.intp), stats.alone(leaving.x, one_hot(np.arange(rows), rows, leaving.weight))
    reader = reader_of(prior[every], stats[every] - alone, leaving.kind)
    x = leaving.x[:, None] if prior.whole else leaving.x
    if leaving.kind == PREDICTIVE:
        value = reader.log_moment(x, leaving.power)
    else:
        value = leaving.power * reader.log_density(x)
    return np.where(reader.proper | missing(leaving.x, prior.whole), value, np.nan).sum(axis=-1)


def reader_of(prior: Any, stats: Any, kind: str) -> Any:
    """What predicts: the posterior, or its parameters plugged in."""
    if kind == "mle":
        return stats.mle()
    return prior.update(stats) if kind == PREDICTIVE else prior.update(stats).estimate(kind)


def missing(x: Any, whole: bool) -> Any:
    """The cells that are silent, `(r, f)`; a block whose rows are cells is where all are, and one of counts never."""
    if whole and sparse.issparse(x):
        return False
    x = x.toarray() if sparse.issparse(x) else np.asarray(x[:])
    gone = x < 0 if x.dtype.kind == "i" else np.isnan(x)
    return gone.all(axis=1, keepdims=True) if whole else gone


SLACK = 1e-9  # what rounding may leave of numbers that are the same
EPSILON = float(np.finfo(float).eps)
EXACT = 2.0**53  # whole numbers below are floats


class Removal(Record):
    """Stats from which rows can be taken back."""

    constants: ClassVar[tuple[str, ...]] = ()  # fields that no parameter meets, and which may have any sign

    @property
    def cells(self) -> Array | None:
        """How many cells were seen, `(c, f)`; None for a family that misses none."""
        return None

    def covers(self, part: Self, every: Array) -> bool:
        """Whether the rows behind `part` can be among the rows behind these."""
        return not self.faults(part, every).any()

    def faults(self, part: Self, every: Array, rounding: float = SLACK) -> Array:
        """Where they cannot, as something would fall below zero, `(c, k)`.

        Of some classes, `every` of `(c,)`, they are all rows: nothing would stay. Without `rounding` it is exact.
        """
        invalid: Any = False
        for name in self.counted_fields:
            count, leaving = getattr(self, name), getattr(part, name)
            rest, none = count - leaving, slack(self.about(name), rounding)
            invalid = invalid | (rest < -none) | along(every, rest) & (rest > none)
        return invalid.reshape(len(invalid), -1)

    def remains(self, part: Self, rounding: float) -> Self:
        """What stays once the rows behind `part` have left, unless it is no more than `rounding` of what was there.

        Where nothing was counted any more, what no parameter meets is nothing too.
        """
        rest = self.map(np.subtract, part)
        left = {name: left_of(self.about(name), getattr(rest, name), rounding) for name in self.counted_fields}
        there = np.any([array != 0 for array in left.values()], axis=0)
        for name in self.constants:
            field = getattr(rest, name)
            left[name] = np.where(there.any(axis=tuple(range(field.ndim, there.ndim))), field, 0.0)
        return type(self)(*(left.get(name, getattr(self, name)) for name in self.__match_args__))

    def about(self, name: str) -> Array:
        """The numbers whose rounding a field carries: its own, if it was added up by itself."""
        return getattr(self, name)

    def slip(self, part: Self, rest: Self) -> Any:
        """How far off may be what stays, for a belief to judge; None where subtraction loses no digits."""
        return None

    @property
    def counted_fields(self) -> list[str]:
        """The names of its arrays that no row can make smaller."""
        return [name for name in self.__match_args__ if name not in (*self.layout, *self.constants)]


def rounding_of(rows: int) -> float:
    """The part of a sum of weights that its rounding may be, if it is of so many rows, or of some more."""
    return max(ROUNDING, 8 * EPSILON * rows)


def slack(about: Array, rounding: float) -> Array:
    """How far two sums of the same weights may be apart."""
    most = max(SLACK, rounding) * np.abs(about)
    return most if rounding else np.where(about < EXACT, 0.0, most)


def left_of(about: Array, rest: Array, rounding: float) -> Array:
    """What is left of sums of weights, which are of such a size."""
    if not rounding:
        return np.where(about < EXACT, np.maximum(rest, 0.0), left_of(about, rest, ROUNDING))
    return staying(rest, about, rounding)


def along(classes: Array, like: Array) -> Array:
    """Numbers of classes, `(c,)`, that meet an array whose first axis they are."""
    return classes.reshape(-1, *(1,) * (like.ndim - 1))
