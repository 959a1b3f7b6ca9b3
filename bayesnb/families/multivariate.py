"""Blocks of real numbers that depend on each other: a Gaussian with a full covariance for each
class.

With d columns it has d + d (d + 1) / 2 parameters a class, where columns that are independent have
2 d. One block of all columns is Bayesian quadratic discriminant analysis: Geisser (1964), Posterior
odds for multivariate normal classifications. With `shared=True` all classes have one covariance,
and what tells them apart is linear in the cells.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.base import Array, Belief, Stats
from bayesnb.families.family import Family, Hyperparameters, checked_prior
from bayesnb.families.gaussian import VARIANCES, Gaussian, refuse_settled
from bayesnb.families.normal_inverse_wishart import (
    FIELDS,
    NormalInverseWishart,
    strengthened_fields,
)
from bayesnb.families.sharing import SharedNormalInverseWishart
from bayesnb.families.support import RealNumbers, Support
from bayesnb.families.vectors import SharedVectorStats, VectorStats, diagonal, factor
from bayesnb.formatting import number_range
from bayesnb.numerics.special import ratio

NEAR = 2.0  # spacings of a float
BLOCK = Hyperparameters(
    names=("count", "shape", "scale"),
    weak=(0.01, 1.0, 1.0),
    factors=("strength", "scale"),
    note="In blocks of Gaussians the prior has l times the estimator's count and scale, and l "
    "times its dof above the number of columns less one, so that every column by itself has the "
    "prior of a Gaussian column.",
    extremes=VARIANCES,
)


def shaped_fields(fields: tuple[Array, ...], classes: int, width: int) -> tuple[Array, ...]:
    """A prior's arrays with the axes of a block, or an error that says which they lack."""
    location, count, dof, scale = fields
    try:
        if scale.ndim == 0:
            scale = scale * np.eye(width)
        location, scale = (a[:, None] if a.ndim == n else a for a, n in ((location, 2), (scale, 3)))
        count, dof = (a[:, None] if a.ndim == 1 else a for a in (count, dof))
        shapes = (classes, 1, width), (classes, 1), (classes, 1), (classes, 1, width, width)
        pairs = zip((location, count, dof, scale), shapes, strict=True)
        fitted = tuple(np.broadcast_to(np.array(array), shape) for array, shape in pairs)
    except ValueError:
        raise ValueError(
            f"MultivariateGaussian: a prior with mean, count, dof and scale of the shapes "
            f"{', '.join(str(np.shape(field)) for field in fields)} does not fit {classes} "
            "classes and a block of "
            f"{width} columns. Give numbers, or as many as there are columns."
        ) from None
    if (fitted[2] < width - 1).any():
        raise ValueError(
            f"MultivariateGaussian: dof must be above {width - 1} for a block of {width} columns, "
            f"got {fitted[2].min():g}."
        )
    return fitted


def weak_prior(pooled: VectorStats) -> tuple[Array, Array, Array, Array]:
    """The prior worth a hundredth of a row about the mean, and two rows about each column's
    variance.
    """
    covariance = ratio(pooled.scatter, pooled.count)
    width = len(pooled.mean)
    variance = diagonal(covariance)
    near = NEAR * np.spacing(np.abs(pooled.mean))
    constant = np.sqrt(variance) <= near  # its classes' means differ by rounding at most
    covariance = np.where(constant[:, None] | constant, 0.0, covariance) + np.diag(
        np.where(constant, 1.0, 0.0)
    )
    root = factor(covariance)
    # what is left of a column beside those before it
    if not (diagonal(root) > np.where(constant, 0.0, near)).all():
        covariance = np.diag(diagonal(covariance))
    return pooled.mean, np.asarray(0.01), np.asarray(width + 1.0), 2 * covariance


@dataclass(frozen=True, eq=False, repr=False)
class MultivariateGaussian(Family[VectorStats]):
    """Columns of real numbers that depend on each other: a multivariate normal for each class.

    Parameters
    ----------
    prior : NormalInverseWishart or None, default=None
        The belief about means and covariance before the data. None: a weak one on the scale of the
        data, under which each column by itself has the prior of ``Gaussian()``. Where the rows do
        not span the block, as columns are collinear or rows too few, it has no correlations, and a
        constant column has variance 1.
    shared : bool, default=False
        Whether all classes have one covariance, and means for each: Bayesian linear discriminant
        analysis. A prior must then have the same ``dof`` and ``scale`` for every class.

    See Also
    --------
    Gaussian : Columns that are independent given the class.
    JointTable : The same for columns of levels.

    Notes
    -----
    Posterior and predictive, a multivariate Student t, are exact. One block of all
    columns is Bayesian quadratic discriminant analysis. Under the weak prior, predictions do not
    change under any invertible affine map of the block.

    A row that lacks some cells of the block teaches nothing about it; it is predicted from the
    cells that it has.

    References
    ----------
    Geisser, S. (1964), Posterior odds for multivariate normal classifications. JRSS B 26.

    Examples
    --------
    >>> from bayesnb import MultivariateGaussian, NaiveBayes
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0], [5.0, 5.0], [6.0, 7.0], [7.0, 6.0]]
    >>> model = NaiveBayes(MultivariateGaussian(shared=True)).fit(X, list("aaabbb"))
    >>> model.predict_proba([[3.0, 2.5]]).round(2)
    array([[0.72, 0.28]])
    """

    prior: NormalInverseWishart | None = None
    shared: bool = False

    word: ClassVar[str] = "multivariate"
    content: ClassVar[str] = "numbers, a bell-shaped cloud per class"
    conjugate: ClassVar[type[Belief]] = NormalInverseWishart
    hyperparameters: ClassVar[Hyperparameters | None] = BLOCK
    support: ClassVar[Support] = RealNumbers()
    shows_invalid: ClassVar[bool] = True
    multivariate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_prior("MultivariateGaussian", self.prior, NormalInverseWishart)
        if self.prior is not None:
            refuse_settled("NormalInverseWishart", "dof", self.prior.dof, self.prior.count)

    @property
    def columnwise(self) -> Gaussian:
        return Gaussian()

    @property
    def stats(self) -> type[Stats]:  # type: ignore[override]
        return SharedVectorStats if self.shared else VectorStats

    def belief(self, stats: VectorStats) -> NormalInverseWishart:
        fields = shaped_fields(self._prior_fields(stats), len(stats), stats.mean.shape[-1])
        if not self.shared:
            return NormalInverseWishart.raw(*fields)
        belief = SharedNormalInverseWishart.raw(*fields, 1)
        belief.check_common()
        return belief

    def _prior_fields(self, stats: VectorStats) -> tuple[Array, Array, Array, Array]:
        if self.prior is None:
            return weak_prior(stats.pooled())
        return tuple(getattr(self.prior, name) for name in FIELDS)

    def describe(self, belief: Any) -> str:
        free = belief.dof - belief.width + 1
        unit = np.sqrt(np.diagonal(belief.scale, axis1=-2, axis2=-1))
        means = (
            f"means near {number_range(belief.location)}, worth {number_range(belief.count)} rows"
        )
        sds = number_range(unit / np.sqrt(free)[..., None])
        spreads = f"standard deviations near {sds}, worth {number_range(free)} rows"
        i, j = np.triu_indices(belief.width, 1)
        between = (belief.scale / (unit[..., None] * unit[..., None, :]))[..., i, j]
        return f"{means}; {spreads}" + (
            f"; correlations near {number_range(between)}" if len(i) else ""
        )

    def tuned(self, stats: VectorStats, *values: Any) -> Self:
        """Count, shape and scale as of a Gaussian column, `(1,)` or `(c, 1)`, around the pooled
        mean and covariance.
        """
        count, shape, scale = (np.asarray(value, float).ravel() for value in values)
        if count.size == 1:
            count = count[0]
            shape = shape[0]
            scale = scale[0]
        location, _, _, unit = weak_prior(stats.pooled())
        dof = len(location) - 1 + 2 * shape
        size = (shape * scale)[..., None, None]
        return replace(self, prior=NormalInverseWishart(location, count, dof, size * unit))

    def smoothed(self, stats: VectorStats, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        """Every column by itself has the prior that `Gaussian` has of this smoothing."""
        fields = self._prior_fields(stats)
        width = stats.mean.shape[-1]
        return replace(
            self,
            prior=NormalInverseWishart.raw(*strengthened_fields(fields, smoothing, scale, width)),
        )
