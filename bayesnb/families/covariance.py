"""Columns once more, as one Gaussian whose covariances are nearly alike.

    covariance ~ InverseWishart(dof, dof W / N)
    mean | covariance ~ Normal(location, covariance / count)

W are the squares and products of all N rows about the means of their classes. With a `dof` not far
above the number of columns each class has a covariance of its own, as in quadratic discriminant
analysis; with a large one they share W / N, as in linear discriminant analysis. So the prior is
taken from the rows, empirical Bayes, and what it makes of them is a normal-inverse-Wishart belief.

A row that leaves takes its part of W with it. Its products g a a', about the mean of its class,
leave the scale of the class once, and that of each prior dof / N times. Friedman (1989),
Regularized discriminant analysis.
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

# of a column's variance: what is added to that within classes, so that collinear columns, and
# columns that do not vary within a class, have a density
RIDGE = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class PooledWishart(Belief[VectorStats, VectorDensity]):
    """Prior of means and covariances of classes, whose scale is that of all rows within classes.

    Its posterior is a `NormalInverseWishart`. Columns are standardised: where no row was seen the
    scale is that of independent columns of variance 1.
    """

    multivariate: ClassVar[bool] = True
    # the covariances of all classes are expected to be that of the rows of all of them
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
        """The prior that rows give, of whose weight so much leaves, though not yet their W."""
        rows = stats.count.sum() - gone
        if rows <= 0:
            return self.alone
        within = self.alone.surprise(stats).sum(axis=0)
        unit = within / rows + RIDGE * np.eye(self.alone.width)
        scale = self.dof[..., None, None] * unit
        return self.alone.made(self.location, self.count, self.dof, scale)

    def of_columns(self, places: Array) -> "PooledWishart":
        """The prior that rows would give to some columns alone."""
        return PooledWishart(self.location[..., places], self.count, self.dof)

    def update(self, stats: VectorStats) -> Any:
        return self.prior_of(stats).update(stats)

    def log_evidence(self, stats: VectorStats, xp: Any = special) -> Array:
        """Nothing: the rows' evidence is that of the columns by themselves."""
        return np.zeros_like(self.count)

    def left_out(self, stats: VectorStats, reader: Any, rows: RowsLeftOut) -> Array:
        """A row that leaves changes what is expected of all classes."""
        counted = self.is_counted(rows.x)
        scores = np.empty((len(rows.codes), len(self)))
        if not counted.all():  # what predicts scores rows that were not learnt
            scores, _ = self._read(reader, rows)

        def score_rows(c: int, places: Array, part: RowsLeftOut) -> None:
            for w in np.unique(part.weight):
                here = part.weight == w
                scores[places[here]] = self._scores_without(c, stats, np.asarray(part.x[here]), w)

        rows.for_classes(score_rows, counted)
        return scores

    def _scores_without(self, c: int, stats: VectorStats, x: Array, w: float) -> Array:
        """Log predictives of rows of class c once each, of this weight, has left it: `(r, c)`.

        With a the distance of a row from the mean of its class, in units of a scale, and b that
        from the mean of another, the determinant of that scale loses the share h |a|**2, and
        |b|**2 grows by h (a b)**2 / (1 - h |a|**2): the matrix determinant lemma, and Sherman and
        Morrison's identity.
        """
        seen = self.prior_of(stats, w).update(stats)
        own = (np.arange(len(self)) == c)[:, None]
        left = seen.count[c] - w
        gap = (x - seen.location[c, 0]).T
        # from all means, of which that of the row's class moves
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
