"""Rows that leave: one at a time, to be scored by what is left of their class, or for good.

A posterior that is tilted by p(x | theta)**-w is the posterior without a row of weight w, so the
row's score without itself is K(1 - w) - K(-w), see `Belief`. Where K(-w) is infinite nothing proper
is left. Three things are no such difference: a small prior keeps its digits only where it is not
added to counts first (`log_shares_left`), estimates have no K, and a Gaussian of which too little
is left marks the row, whose class is then counted again.

The error model of stats from which rows are taken back: whole numbers below 2**53 are floats, so
their sums and differences are exact. A sum of n other weights is off by at most n * 2**-53 of
itself, by about sqrt(n) of that as a rule; so what is left of a sum and is no more than 8 n *
2**-52 of it, or 1e-12 where rows are few, is taken to be nothing: else rounding would leave a class
with a row's billionth, whose mean and variance are noise. Coordinates in which subtraction loses
digits, as those of Gaussians do, bound the error: see `GaussianStats.slip`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from bayesnb.families.record import Array, is_one
from bayesnb.numerics.threads import blocks, in_order
from bayesnb.numerics.views import EVERY

PREDICTIVE = "predictive"
CELLS = 1 << 19  # that leave at once
ROUNDING = 1e-12  # of sums of weights
FEW = 4  # weights that are taken one after the other
SLACK = 1e-9  # what rounding may leave of numbers that are the same
EPSILON = float(np.finfo(float).eps)
EXACT = 2.0**53  # whole numbers below are floats


@dataclass(frozen=True, eq=False)
class RowsLeftOut:
    """Rows that leave one by one, their classes, and how much weight of each leaves.

    `kind` says whether theta is integrated out of their scores, or which estimate of it is plugged
    in.
    """

    x: Any
    codes: Array
    weight: Array
    kind: str = PREDICTIVE
    n_jobs: int | None = 1

    @property
    def alike(self) -> bool:
        """Whether the same weight of every row leaves."""
        return bool((self.weight == self.weight[:1]).all())

    @property
    def each(self) -> Any:
        """The weight that leaves, a number where it is the same for all rows, else `(r, 1)`."""
        return float(self.weight[0]) if self.alike else self.weight[:, None]

    def __getitem__(self, rows: Any) -> Self:
        return replace(
            self, x=self.x[rows], codes=self.codes[rows], weight=self.weight[rows], n_jobs=1
        )

    def for_classes(self, work: Callable[[int, Array, Any], None], chosen: Array) -> None:
        """Call `work(class, places, rows)` for groups of the chosen rows, in threads."""

        def work_on(group: tuple[int, Array]) -> None:
            c, places = group
            work(c, places, self[places])

        list(in_order(work_on, list(self._groups(chosen)), self.n_jobs))

    def _groups(self, chosen: Array) -> Iterator[tuple[int, Array]]:
        """Yield a class and places of its rows, of which the same leaves if few weights occur."""
        weights, which = np.unique(self.weight, return_inverse=True)
        groups = self.codes * len(weights) + which if len(weights) <= FEW else self.codes
        order = np.argsort(groups, kind="stable")
        order = order[chosen[order]]
        step = max(CELLS // self.x.shape[1], 1 << 8)
        for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
            for part in blocks(len(rows), step) if len(rows) else ():
                yield int(self.codes[rows[0]]), rows[part]


def extra_of(prior: Array, kind: str) -> Array:
    """Return a prior's pseudo-counts: a mode has one less than its concentration, the MLE none."""
    return prior - 1 if kind == "map" else np.zeros_like(prior) if kind == "mle" else prior


def staying(left: Array, total: Array, rounding: float = ROUNDING) -> Array:
    """Return what is left of a total, 0 if it is no more than the rounding of a sum of weights."""
    return np.where(left > rounding * total, left, 0.0)


def log_shares_left(
    prior: Array,
    counts: Array,
    sum_levels: Callable[[Array], Array],
    weight: Any,
    kind: str,
    places: Any = EVERY,
) -> Array:
    """Log share of the levels at some places, each once so much of its own weight has left, `(k,)`.

    That is K(1 - w) - K(-w) of a Dirichlet, and of its estimates. It is taken from prior and
    counts: of a prior of 1e-8, no digit is left in what both make together. NaN where no
    distribution is left. `sum_levels` gives each level the sum over those of its column.
    """
    prior = extra_of(prior, kind)

    def sums(values: Array) -> Array:
        return np.broadcast_to(sum_levels(values), values.shape)

    totals = sums(counts)
    extra = sums(prior)
    left = prior[places] + staying(counts[places] - weight, totals[places])
    if (prior < 0).any():  # of a mode's levels none has less than nothing
        left = np.maximum(left, 0.0)
        above = np.maximum(prior + counts, 0.0)
        rest = (sums(above) - above)[places] + left
    else:
        rest = extra[places] + staying(totals[places] - weight, totals[places])
    with np.errstate(invalid="ignore", divide="ignore"):
        even = -np.log(sums(np.ones_like(prior))[places]) if kind == "map" else np.nan
        return np.where(rest > 0, np.log(left) - np.log(rest), even)


def log_moment_left(log_moment: Callable[[Any], Array], weight: Any) -> Array:
    """K(1 - w) - K(-w); NaN where K(-w) is infinite, as no distribution is left without the row."""
    without = log_moment(-weight)
    rest = 0.0 if is_one(weight) else log_moment(1.0 - weight)
    return np.where(np.isfinite(without), rest - without, np.nan)


def reader_of(prior: Any, stats: Any, kind: str) -> Any:
    """Return what predicts: the posterior, or its parameters plugged in."""
    if kind == "mle":
        return prior.mle(stats)
    return prior.update(stats) if kind == PREDICTIVE else prior.update(stats).estimate(kind)


def missing_cells(x: Any) -> Array:
    """Which cells are missing, `(r, f)`."""
    part = x[:]
    cells = part.toarray() if sparse.issparse(part) else np.asarray(part)
    return cells < 0 if cells.dtype.kind == "i" else np.isnan(cells)


def rounding_of(rows: int) -> float:
    """Relative rounding error of a sum of the weights of so many rows, or of a few more."""
    return max(ROUNDING, 8 * EPSILON * rows)


def slack(total: Array, rounding: float) -> Array:
    """How far two sums of the same weights may differ."""
    most = max(SLACK, rounding) * np.abs(total)
    return most if rounding else np.where(total < EXACT, 0.0, most)


def left_of(total: Array, rest: Array, rounding: float) -> Array:
    """What is left of sums of weights.

    Without `rounding` they are whole, and exact as far as floats are.
    """
    if not rounding:
        return np.where(total < EXACT, np.maximum(rest, 0.0), staying(rest, total))
    return staying(rest, total, rounding)
