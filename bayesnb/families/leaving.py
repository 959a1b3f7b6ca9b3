"""Rows that leave their class one at a time, and how what is left of the class then scores them.

A row touches only its own class. Of a die so many throws go, and the rest is prior plus counts less those: no digit
of a small prior is lost, as it would be in a posterior that is divided by a part of itself.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from bayesnb.families.weight import one_hot
from bayesnb.numerics.special import less, log, log_gamma_ratio
from bayesnb.numerics.threads import blocks, in_order

Array = np.ndarray
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

    def scored(self, own: Callable[[int, "Leaving"], Array], out: Array) -> Array:
        """`own(class, its rows)` in place of the rows' own entries, `(r, c)`."""

        def some(group: tuple[int, Array]) -> None:
            c, its = group
            out[its, c] = own(c, self[its])

        list(in_order(some, list(self.groups()), self.n_jobs))
        return out

    def groups(self) -> Iterator[tuple[int, Array]]:
        """Places of rows of one class, not too many at once, of which the same goes if few weights occur."""
        weights, which = np.unique(self.weight, return_inverse=True)
        groups = self.codes * len(weights) + which if len(weights) <= FEW else self.codes
        order = np.argsort(groups, kind="stable")
        for its in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
            for part in blocks(len(its), max(CELLS // self.x.shape[1], 1 << 8)):
                yield int(self.codes[its[0]]), its[part]


def extra_of(prior: Array, kind: str) -> Array:
    """What is there beside the counts: a mode has one less than the prior, the MLE no prior at all."""
    return prior - 1 if kind == "map" else np.zeros_like(prior) if kind == "mle" else prior


def staying(left: Array, whole: Array, rounding: float = ROUNDING) -> Array:
    """What is left of a part of the whole: sums of weights are rounded, and none of them may be left of nothing."""
    return np.where(left > rounding * whole, left, 0.0)


class Pile(NamedTuple):
    """What each level has beside its throws, its throws, and both of its whole die; `whole` is what the die has now.

    All broadcast against cells, or against the levels themselves. What a level has is never below zero.
    """

    extra: Array
    counts: Array
    whole_extra: Array
    whole_counts: Array
    whole: Array
    levels: Array

    @classmethod
    def of(cls, prior: Array, counts: Array, kind: str, per_die: Callable[[Array], Array]) -> Self:
        """`per_die` gives each level its die's sum."""
        extra = extra_of(prior, kind)
        ones = np.ones(np.broadcast_shapes(extra.shape, counts.shape))
        whole = per_die(np.maximum(extra + counts, 0.0))
        return cls(extra, counts, per_die(ones * extra), per_die(ones * counts), whole, per_die(ones))

    def worth(self, weight: Any, kind: str, power: float) -> Array:
        """The score of a level that leaves, and so often; NaN where no distribution is left of its die."""
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
    """What `own_left_out` means, every row a class of its own: `(1, f)` -> `(r,)`. NaN where nothing proper is left."""
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
