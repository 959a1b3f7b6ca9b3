"""Blocks of real numbers that depend on each other: a Gaussian with a full covariance for each class.

With d columns it has d + d (d + 1) / 2 parameters a class, where columns that are independent have 2 d. One block of
all columns is Bayesian quadratic discriminant analysis: Geisser (1964), Posterior odds for multivariate normal
classifications. With `shared=True` all classes have one covariance, and what tells them apart is linear in the cells.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families import scales
from bayesnb.families.base import Array, Belief, Stats
from bayesnb.families.family import Family, Hyperparameters, checked_prior
from bayesnb.families.gaussian import VARIANCES, Gaussian
from bayesnb.families.normal_inverse_wishart import FIELDS, NormalInverseWishart
from bayesnb.families.number_format import alike
from bayesnb.families.support import RealNumbers, Support
from bayesnb.families.vectors import SharedVectorStats, VectorStats
from bayesnb.families.wishart_shared import SharedNormalInverseWishart

BLOCK = Hyperparameters(
    names=("count", "shape", "scale"),
    weak=(0.01, 1.0, 1.0),
    factors=("strength", "scale"),
    note="In blocks of Gaussians the prior has l times the estimator's count and scale, and l times its dof above "
    "the number of columns less one, so that every column by itself has the prior of a Gaussian column.",
    extremes=VARIANCES,
)


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

    word: ClassVar[str] = "multivariate"
    content: ClassVar[str] = "numbers, a bell-shaped cloud per class"
    joins: ClassVar[type[Family] | None] = Gaussian
    conjugate: ClassVar[type[Belief]] = NormalInverseWishart
    hyperparameters: ClassVar[Hyperparameters | None] = BLOCK
    support: ClassVar[Support] = RealNumbers()
    shows_invalid: ClassVar[bool] = True
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
        fields = scales.shaped(self._prior_fields(stats), len(stats), stats.mean.shape[-1])
        if not self.shared:
            return NormalInverseWishart.raw(*fields)
        belief = SharedNormalInverseWishart.raw(*fields, 1)
        belief.check_common()
        return belief

    def _prior_fields(self, stats: VectorStats) -> tuple[Array, Array, Array, Array]:
        if self.prior is None:
            return scales.weak_prior(stats.pooled())
        return tuple(getattr(self.prior, name) for name in FIELDS)

    def describe(self, belief: Any) -> str:
        free, unit = belief.dof - belief.width + 1, np.sqrt(np.diagonal(belief.scale, axis1=-2, axis2=-1))
        means = f"means near {alike(belief.location)}, worth {alike(belief.count)} rows"
        spreads = f"standard deviations near {alike(unit / np.sqrt(free)[..., None])}, worth {alike(free)} rows"
        i, j = np.triu_indices(belief.width, 1)
        between = (belief.scale / (unit[..., None] * unit[..., None, :]))[..., i, j]
        return f"{means}; {spreads}" + (f"; correlations near {alike(between)}" if len(i) else "")

    def tuned(self, stats: VectorStats, *values: Any) -> Self:
        """Numbers, `(1,)` of one block or `(c, 1)`, as of a Gaussian column; the pooled mean and covariance."""
        count, shape, scale = (np.asarray(value, float).ravel() for value in values)
        if count.size == 1:
            count, shape, scale = count[0], shape[0], scale[0]
        location, _, _, unit = scales.weak_prior(stats.pooled())
        dof, size = len(location) - 1 + 2 * shape, (shape * scale)[..., None, None]
        return replace(self, prior=NormalInverseWishart(location, count, dof, size * unit))

    def smoothed(self, stats: VectorStats, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        """Every column by itself has the prior that `Gaussian` has of this smoothing."""
        fields, width = self._prior_fields(stats), stats.mean.shape[-1]
        return replace(self, prior=NormalInverseWishart.raw(*scales.strengthened(fields, smoothing, scale, width)))
