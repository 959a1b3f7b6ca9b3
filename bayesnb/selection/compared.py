"""Settings of the smoothing against the best of them, by the leave-one-out log score of the labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesnb.families.base import Array
from bayesnb.selection.leave_one_out import Pointwise
from bayesnb.selection.settings import Outcome

LIKED = ("predictive", "mean", "map", "mle")  # of equally good estimates, the first
ALIKE = 1e-10  # scores this near to each other, relative to their size, are the same


@dataclass(frozen=True, eq=False)
class Compared:
    """One number for each setting, `(n,)`; a sum over rows is that of as many rows of mean weight."""

    elpd: Array
    se: Array
    elpd_diff: Array
    diff_se: Array
    best: int | None  # which setting; None if no score is defined

    @property
    def distinguishable(self) -> Array:
        """Settings that are worse than the best by more than twice the standard error of the difference."""
        return (self.elpd_diff == -np.inf) | (self.elpd_diff < -2 * self.diff_se)


def compared(outcomes: Sequence[Outcome], counts: Array) -> Compared:
    """Rows count by their weight, all of them positive."""
    elpd, se = np.array([_sum_of(outcome.log_scores, counts) for outcome in outcomes]).T
    best = _best(outcomes, elpd)
    if best is None:
        nothing = np.full_like(elpd, np.nan)
        return Compared(elpd, se, nothing, nothing, None)
    own = outcomes[best].log_scores
    with np.errstate(invalid="ignore"):  # two rows that are both impossible
        diff = np.array([_sum_of(outcome.log_scores - own, counts) for outcome in outcomes])
        diff[~np.isfinite(elpd), 0] = (elpd - elpd[best])[~np.isfinite(elpd)]
    diff[:, 0] = np.minimum(diff[:, 0], 0.0)
    diff[best] = 0.0
    return Compared(elpd, se, diff[:, 0], diff[:, 1], best)


def _sum_of(terms: Array, counts: Array) -> tuple[float, float]:
    """The weighted sum over rows, and its standard error; NaN for that where a term is no number."""
    scores = Pointwise(terms, terms, counts)
    return scores.total, scores.se


def _best(outcomes: Sequence[Outcome], elpd: Array) -> int | None:
    if np.isnan(elpd).all():
        return None
    top = np.nanmax(elpd)
    good = np.flatnonzero(elpd >= top - ALIKE * abs(top) if np.isfinite(top) else elpd == top)
    return int(min(good, key=lambda n: (LIKED.index(outcomes[int(n)].setting.estimate), n)))
