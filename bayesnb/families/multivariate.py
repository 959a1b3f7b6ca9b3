"""Blocks of real numbers that depend on each other: a Gaussian with a full covariance for each class.

With d columns it has d + d (d + 1) / 2 parameters a class, where columns that are independent have 2 d. One block of
all columns is Bayesian quadratic discriminant analysis: Geisser (1964), Posterior odds for multivariate normal
classifications. With `shared=True` all classes have one covariance, and what tells them apart is linear in the cells.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from bayesnb.families import scales
from bayesnb.families.base import Array, Stats
from bayesnb.families.family import Family, checked_prior
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.support import RealNumbers, Support
from bayesnb.families.vectors import SharedVectorStats, VectorStats
from bayesnb.families.wishart import FIELDS, NormalInverseWishart
from bayesnb.families.wishart_shared import SharedNormalInverseWishart


@dataclass(frozen=True, eq=False, repr=False)
class MultivariateGaussian(Family):
    """A block of columns of real numbers that depend on each other: a Gaussian with a full covariance for each class.

    Without a prior, a weak one on the scale of the data, of which each column by itself has that of `Gaussian()`:
    predictions do not change under any invertible affine map of the block. Where the pooled rows do not span the
    block, as columns are collinear or rows too few, that prior has no correlations, and a constant column has variance
    1. A row that lacks some cells of the block teaches nothing about it; it is predicted by those that it has.

    With `shared=True` the block has one covariance for all classes, and a mean for each: Bayesian linear discriminant
    analysis. A prior then says the same of the covariance, its `dof` and its `scale`, for every class.

    >>> from bayesnb import NaiveBayes
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0], [5.0, 5.0], [6.0, 7.0], [7.0, 6.0]]
    >>> model = NaiveBayes(MultivariateGaussian(shared=True)).fit(X, list("aaabbb"))
    >>> model.predict_proba([[3.0, 2.5]]).round(2)
    array([[0.72, 0.28]])
    """

    prior: NormalInverseWishart | None = None
    shared: bool = False

    cells: ClassVar[str] = "real"
    support: ClassVar[Support] = RealNumbers()
    shows_invalid: ClassVar[bool] = True
    dial: ClassVar[str] = "block"
    whole: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_prior("MultivariateGaussian", self.prior, NormalInverseWishart)
        if self.prior is not None:
            scales.refuse_settled("NormalInverseWishart", "dof", self.prior.dof, self.prior.count)

    @property
    def columnwise(self) -> Gaussian:
        return Gaussian()

    @property
    def stats(self) -> type[Stats]:  # type: ignore[override]
        return SharedVectorStats if self.shared else VectorStats

    def belief(self, stats: VectorStats) -> NormalInverseWishart:
        fields = scales.shaped(self._own(stats), len(stats), stats.mean.shape[-1])
        if not self.shared:
            return NormalInverseWishart.raw(*fields)
        belief = SharedNormalInverseWishart.raw(*fields, 1)
        belief.check_common()
        return belief

    def _own(self, stats: VectorStats) -> tuple[Array, Array, Array, Array]:
        if self.prior is None:
            return scales.weak_prior(stats.pooled())
        return tuple(getattr(self.prior, name) for name in FIELDS)

    def smoothed(self, stats: VectorStats, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        """Every column by itself has the prior that `Gaussian` has of this smoothing."""
        own, width = self._own(stats), stats.mean.shape[-1]
        return replace(self, prior=NormalInverseWishart.raw(*scales.strengthened(own, smoothing, scale, width)))
