"""Leave-one-out scores, and removal of rows.

Tilting a posterior by p(x | theta)**-w removes a row of weight w, so the leave-one-out score of the
row is K(1 - w) - K(-w), see `Belief`. Where K(-w) is infinite nothing proper is left. There are
three exceptions: small priors keep their digits only if they are not added to counts first
(`log_shares_left`), point estimates have no K, and where too few digits of a Gaussian are left the
row is marked and its class counted again.

Rounding: whole numbers below 2**53 are exact floats, and so are their sums and differences. A sum
of n other weights has a relative error of at most n * 2**-53, typically about sqrt(n) * 2**-53. So
a remainder of at most 8 n * 2**-52 of the sum, or 1e-12 where rows are few, counts as 0; otherwise
rounding would leave a class with a billionth of a row, whose mean and variance are noise. Where
subtraction loses digits, as for Gaussians, the error is bounded: see `GaussianStats.slip`.
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
CELLS = 1 << 19  # cells left out at once
ROUNDING = 1e-12  # relative, of sums of weights
FEW = 4  # distinct weights up to which rows are grouped by weight
SLACK = 1e-9  # relative difference that rounding may leave between equal numbers
EPSILON = float(np.finfo(float).eps)
EXACT = 2.0**53  # whole numbers below are exact floats


@dataclass(frozen=True, eq=False)
class RowsLeftOut:
    """Rows to leave out one by one, with their classes and the weight that is removed.

    `kind` says whether theta is integrated out, or which point estimate is plugged in.
    """

    x: Any
    codes: Array
    weight: Array
    kind: str = PREDICTIVE
    n_jobs: int | None = 1

    @property
    def alike(self) -> bool:
        """Whether all rows have the same weight."""
        return bool((self.weight == self.weight[:1]).all())

    @property
    def each(self) -> Any:
        """The weight: a number if it is the same for all rows, else `(r, 1)`."""
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
        """Yield a class and places of its rows, all with the same weight if few weights occur."""
        weights, which = np.unique(self.weight, return_inverse=True)
        groups = self.codes * len(weights) + which if len(weights) <= FEW else self.codes
        order = np.argsort(groups, kind="stable")
        order = order[chosen[order]]
        step = max(CELLS // self.x.shape[1], 1 << 8)
        for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
            for part in blocks(len(rows), step) if len(rows) else ():
                yield int(self.codes[rows[0]]), rows[part]


def extra_of(prior: Array, kind: str) -> Array:
    """Return a prior's pseudo-counts: the concentration, one less for a mode, 0 for the MLE."""
    return prior - 1 if kind == "map" else np.zeros_like(prior) if kind == "mle" else prior


def staying(left: Array, total: Array, rounding: float = ROUNDING) -> Array:
    """Return what is left of a total, or 0 if that is only rounding."""
    return np.where(left > rounding * total, left, 0.0)


def log_shares_left(
    prior: Array,
    counts: Array,
    sum_levels: Callable[[Array], Array],
    weight: Any,
    kind: str,
    places: Any = EVERY,
) -> Array:
    """Leave-one-out log probability of the levels at some places, `(k,)`.

    This is K(1 - w) - K(-w) of a Dirichlet, or the same for its point estimates. It is computed
    from prior and counts: a prior of 1e-8 has no digit left in their sum. NaN where no distribution
    is left. `sum_levels` gives each level the sum over the levels of its column.
    """
    prior = extra_of(prior, kind)

    def sums(values: Array) -> Array:
        return np.broadcast_to(sum_levels(values), values.shape)

    totals = sums(counts)
    extra = sums(prior)
    left = prior[places] + staying(counts[places] - weight, totals[places])
    if (prior < 0).any():  # no level of a mode is below 0
        left = np.maximum(left, 0.0)
        above = np.maximum(prior + counts, 0.0)
        rest = (sums(above) - above)[places] + left
    else:
        rest = extra[places] + staying(totals[places] - weight, totals[places])
    with np.errstate(invalid="ignore", divide="ignore"):
        even = -np.log(sums(np.ones_like(prior))[places]) if kind == "map" else np.nan
        return np.where(rest > 0, np.log(left) - np.log(rest), even)


def log_moment_left(log_moment: Callable[[Any], Array], weight: Any) -> Array:
    """K(1 - w) - K(-w); NaN where K(-w) is infinite: no distribution is left without the row."""
    without = log_moment(-weight)
    rest = 0.0 if is_one(weight) else log_moment(1.0 - weight)
    return np.where(np.isfinite(without), rest - without, np.nan)


def reader_of(prior: Any, stats: Any, kind: str) -> Any:
    """Return the predictor: the posterior, or the density at a point estimate."""
    if kind == "mle":
        return prior.mle(stats)
    return prior.update(stats) if kind == PREDICTIVE else prior.update(stats).estimate(kind)


def missing_cells(x: Any) -> Array:
    """Which cells are missing, `(r, f)`."""
    part = x[:]
    cells = part.toarray() if sparse.issparse(part) else np.asarray(part)
    return cells < 0 if cells.dtype.kind == "i" else np.isnan(cells)


def rounding_of(rows: int) -> float:
    """Bound the relative rounding error of a sum of the weights of this many rows."""
    return max(ROUNDING, 8 * EPSILON * rows)


def slack(total: Array, rounding: float) -> Array:
    """How far two sums of the same weights may differ."""
    most = max(SLACK, rounding) * np.abs(total)
    return most if rounding else np.where(total < EXACT, 0.0, most)


def left_of(total: Array, rest: Array, rounding: float) -> Array:
    """What is left of sums of weights, which are whole numbers if `rounding` is 0."""
    if not rounding:
        return np.where(total < EXACT, np.maximum(rest, 0.0), staying(rest, total))
    return staying(rest, total, rounding)
