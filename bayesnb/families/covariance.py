"""A second, joint model of columns: Gaussians whose class covariances are shrunk to a common one.

    covariance ~ InverseWishart(dof, dof W / N)
    mean | covariance ~ Normal(location, covariance / count)

W is the within-class scatter of all N rows. With a `dof` little above the number of columns each
class has its own covariance, as in quadratic discriminant analysis; with a large one all share W /
N, as in linear discriminant analysis. The prior comes from the rows (empirical Bayes), and the
posterior is a normal-inverse-Wishart. Friedman (1989), Regularized discriminant analysis.

Leaving out a row also changes W: its products g a a', about the mean of its class, are subtracted
once from the scale of its class, and dof / N times from that of each prior.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayesnb.families.base import Array, Belief, Rng
from bayesnb.families.multivariate import NormalInverseWishart, VectorDensity, VectorStats
from bayesnb.families.removal import RowsLeftOut
from bayesnb.families.student import FRAGILE
from bayesnb.numerics import special

# added to the within-class variances, as a part of each column's variance: collinear columns, and
# columns that are constant within a class, then have a density
RIDGE = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class PooledWishart(Belief[VectorStats, VectorDensity]):
    """Prior of class means and covariances whose scale is the within-class covariance of all rows.

    The posterior is a `NormalInverseWishart`. Columns are standardised: without rows the scale is
    that of independent columns with variance 1.
    """

    multivariate: ClassVar[bool] = True
    # the prior of every class depends on the rows of all classes
    independent_classes: ClassVar[bool] = False
    location: Array  # `(c, 1, d)`
    count: Array  # `(c, 1)`
    dof: Array  # `(c, 1)`

    @cached_property
    def alone(self) -> NormalInverseWishart:
        """The prior without rows."""
        scale = self.dof[..., None, None] * np.eye(self.location.shape[-1])
        return NormalInverseWishart.raw(self.location, self.count, self.dof, scale, 0)

    def prior_of(self, stats: VectorStats, gone: float = 0.0) -> NormalInverseWishart:
        """The prior estimated from rows; `gone` is a weight already taken off N, but not off W."""
        rows = stats.count.sum() - gone
        if rows <= 0:
            return self.alone
        within = self.alone.surprise(stats).sum(axis=0)
        unit = within / rows + RIDGE * np.eye(self.alone.width)
        scale = self.dof[..., None, None] * unit
        return self.alone.made(self.location, self.count, self.dof, scale)

    def of_columns(self, places: Array) -> "PooledWishart":
        """The prior for some of the columns."""
        return PooledWishart(self.location[..., places], self.count, self.dof)

    def update(self, stats: VectorStats) -> Any:
        return self.prior_of(stats).update(stats)

    def log_evidence(self, stats: VectorStats, xp: Any = special) -> Array:
        """0: the evidence of the rows is counted where the columns are modelled one by one."""
        return np.zeros_like(self.count)

    def left_out(self, stats: VectorStats, reader: Any, rows: RowsLeftOut) -> Array:
        """Leave-one-out scores; leaving out a row changes the prior of all classes."""
        counted = self.is_counted(rows.x)
        scores = np.empty((len(rows.codes), len(self)))
        if not counted.all():  # rows that were not counted have the scores of the predictor
            scores, _ = self._read(reader, rows)

        def score_rows(c: int, places: Array, part: RowsLeftOut) -> None:
            for w in np.unique(part.weight):
                here = part.weight == w
                scores[places[here]] = self._scores_without(c, stats, np.asarray(part.x[here]), w)

        rows.for_classes(score_rows, counted)
        return scores

    def _scores_without(self, c: int, stats: VectorStats, x: Array, w: float) -> Array:
        """Leave-one-out log predictives of rows of class c, each with this weight: `(r, c)`.

        Let a be the whitened distance of a row from the mean of its class, and b that from the mean
        of another class. The determinant of the scale falls by the factor 1 - h |a|**2 (matrix
        determinant lemma), and |b|**2 grows by h (a b)**2 / (1 - h |a|**2) (Sherman-Morrison).
        """
        seen = self.prior_of(stats, w).update(stats)
        own = (np.arange(len(self)) == c)[:, None]
        left = seen.count[c] - w
        gap = (x - seen.location[c, 0]).T
        # distances from all means; that of the row's own class moves
        gaps = x.T - seen.location[:, 0, :, None] + (own * (w / left))[..., None] * gap
        whitening = seen.root.whitening[:, 0]
        a = whitening @ gap
        b = whitening @ gaps
        h = (own + special.ratio(self.dof, stats.count.sum() - w)) * w * seen.count[c] / left
        lost = h * (a * a).sum(axis=1)
        without = seen.made(seen.location, seen.count - own * w, seen.dof - own * w, seen.scale)
        with np.errstate(all="ignore"):
            square = (b * b).sum(axis=1) + h * (a * b).sum(axis=1) ** 2 / (1 - lost)
            scores = without.moment_at(np.sqrt(square.T)[..., None], 1.0)[..., 0]
            scores -= np.log1p(-lost.T) / 2
        return np.where(lost.T < 1 - FRAGILE, scores, np.nan)

    def rounding_error(self, before: VectorStats, part: VectorStats, rest: VectorStats) -> Array:
        return self.prior_of(before).rounding_error(before, part, rest)

    @property
    def proper(self) -> Array:
        return self.alone.proper

    def log_moment(self, x: Array, s: Any) -> Array:
        return self.alone.log_moment(x, s)

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        return self.alone.cumulants(x, order, tilt)

    def sample(self, rng: Rng, size: Any = None) -> VectorDensity:
        return self.alone.sample(rng, size)

    def estimate(self, kind: str) -> VectorDensity:
        return self.alone.estimate(kind)  # type: ignore[return-value]  # that of vectors

    def mean(self) -> Any:
        """The expected means and covariances."""
        return self.alone.mean()

    def mode(self) -> Any:
        return self.alone.mode()

    def interval(self, prob: float) -> tuple[Any, Any]:
        return self.alone.interval(prob)

    def predictive(self) -> Any:
        return self.alone.predictive()
