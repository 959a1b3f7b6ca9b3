"""Blocks of real numbers that depend on each other: a Gaussian with a full covariance for each class.

With d columns it has d + d (d + 1) / 2 parameters a class, where columns that are independent have 2 d. One block of
all columns is Bayesian quadratic discriminant analysis: Geisser (1964), Posterior odds for multivariate normal
classifications. What is believed of its parameters, and what follows, is in `wishart`.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from bayesnb.families import scales
from bayesnb.families.base import Array, Stats
from bayesnb.families.family import Family
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.vectors import VectorStats
from bayesnb.families.wishart import NormalInverseWishart


@dataclass(frozen=True, eq=False, repr=False)
class MultivariateGaussian(Family):
    """A block of columns of real numbers that depend on each other: a Gaussian with a full covariance for each class.

    Without a prior, a weak one on the scale of the data, of which each column by itself has that of `Gaussian()`:
    predictions do not change under any invertible affine map of the block. Where the pooled rows do not span the
    block, as columns are collinear or rows too few, that prior has no correlations, and a constant column has variance
    1. A row that lacks some cells of the block teaches nothing about it; it is predicted by those that it has.
    """

    prior: NormalInverseWishart | None = None

    cells: ClassVar[str] = "real"
    dial: ClassVar[str] = "block"
    stats: ClassVar[type[Stats]] = VectorStats
    whole: ClassVar[bool] = True

    @property
    def columnwise(self) -> Gaussian:
        return Gaussian()

    def belief(self, stats: VectorStats) -> NormalInverseWishart:
        fields = self._own(stats)
        return NormalInverseWishart.raw(*scales.shaped(fields, len(stats), stats.mean.shape[-1]))

    def _own(self, stats: VectorStats) -> tuple[Array, Array, Array, Array]:
        if self.prior is None:
            return scales.weak_prior(stats.pooled())
        return tuple(getattr(self.prior, name) for name in self.prior.__match_args__)

    def smoothed(self, stats: VectorStats, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        """Every column by itself has the prior that `Gaussian` has of this smoothing."""
        own, width = self._own(stats), stats.mean.shape[-1]
        return replace(self, prior=NormalInverseWishart.raw(*scales.strengthened(own, smoothing, scale, width)))
