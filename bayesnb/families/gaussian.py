"""Real-valued features: a Gaussian for each class, with a variance of its own or one that all
classes have.

    variance_c ~ InverseGamma(shape, scale)      mean_c | variance_c ~ Normal(location, variance_c /
    count)

With `shared=True` all classes have one variance, and what tells them apart is linear in the cells.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.base import Array, Belief, Stats
from bayesnb.families.family import Family, Hyperparameters, checked_prior, shaped
from bayesnb.families.normal_inverse_gamma import GaussianStats, NormalInverseGamma
from bayesnb.families.sharing import SharedGaussianStats, SharedNormalInverseGamma
from bayesnb.families.support import RealNumbers, Support
from bayesnb.formatting import number_range
from bayesnb.numerics.special import ratio

VARIANCES = {
    ("count", True): "the classes' means differ no more than chance makes them, "
    "and the prior says that they are one",
    ("count", False): "the classes' means lie infinitely far apart for their variances",
    ("shape", True): "the classes' variances differ no more than chance makes them, "
    "and so the prior says",
    ("shape", False): "the classes' variances differ by orders of magnitude, "
    "and the prior says that any is as likely",
    ("shared shape", True): "a column has one variance for all classes, and the prior says which",
}
MOST_SETTLED = 1e12  # rows about a variance for each about its mean
NORMAL = Hyperparameters(
    names=("count", "shape", "scale"),
    weak=(0.01, 1.0, 1.0),
    factors=("strength", "scale"),
    note="In Gaussian columns the prior has l times the estimator's count, shape and scale: l is "
    "how strongly it is believed, and 1 is as declared.",
    extremes=VARIANCES,
)


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(Family[GaussianStats]):
    """Columns of real numbers: a normal distribution for each class and column.

    Parameters
    ----------
    prior : NormalInverseGamma or None, default=None
        The belief about mean and variance before the data. None: a weak one on the scale of the
        data, with the mean of all rows, a count of 0.01, a shape of 1, and the variance of all rows
        as its scale (1 for a constant column). The first ``fit`` or ``partial_fit`` sets it; it is
        then in ``prior_``.
    shared : bool, default=False
        Whether a column has one variance for all classes, and a mean for each. A prior must then
        have the same ``shape`` and ``scale`` for every class.

    See Also
    --------
    GaussianNB : The preset with this family in all columns.
    MultivariateGaussian : A block of columns with their correlations.
    Histogram : Columns of numbers whose density has any shape.

    Notes
    -----
    Posterior and predictive, Student's t, are exact. A missing cell is left out. Under
    the weak prior, predictions do not change when a column is shifted or rescaled. With
    ``shared=True`` the scores of the classes are linear in the columns, see
    ``NaiveBayes.linear_form``.

    Examples
    --------
    >>> from bayesnb import Gaussian, NaiveBayes
    >>> x, y = [[0.0], [1.0], [5.0], [6.0], [7.0]], list("aabbb")
    >>> model = NaiveBayes(Gaussian(shared=True)).fit(x, y)
    >>> model.posterior_[0].mean().variance.round(2).tolist()
    [3.64, 3.64]
    """

    prior: NormalInverseGamma | None = None
    shared: bool = False

    content: ClassVar[str] = "numbers, a bell curve per class"
    has_width: ClassVar[bool] = True
    conjugate: ClassVar[type[Belief]] = NormalInverseGamma
    hyperparameters: ClassVar[Hyperparameters | None] = NORMAL
    support: ClassVar[Support] = RealNumbers()
    shows_invalid: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_prior("Gaussian", self.prior, NormalInverseGamma)
        if self.prior is not None:
            refuse_settled("NormalInverseGamma", "shape", self.prior.shape, self.prior.count)

    @property
    def columnwise(self) -> "Gaussian":
        return replace(self, shared=False)

    @property
    def stats(self) -> type[Stats]:  # type: ignore[override]
        return SharedGaussianStats if self.shared else GaussianStats

    def belief(self, stats: GaussianStats) -> NormalInverseGamma:
        prior = weak_prior(stats.pooled()) if self.prior is None else self.prior
        wide = shaped("Gaussian", prior, stats.count.shape)
        return (
            SharedNormalInverseGamma(wide.location, wide.count, wide.shape, wide.scale)
            if self.shared
            else wide
        )

    def describe(self, belief: Any) -> str:
        spread = np.sqrt(belief.scale / np.where(belief.shape > 0, belief.shape, np.nan))
        mean = f"mean near {number_range(belief.location)}, worth {number_range(belief.count)} rows"
        sd = number_range(spread)
        rows = number_range(2 * belief.shape)
        return f"{mean}; standard deviation near {sd}, worth {rows} rows"

    def tuned(self, stats: GaussianStats, *values: Any) -> Self:
        """Count, shape and scale / shape, relative to each column's pooled variance, around its
        pooled mean.
        """
        count, shape, scale = values
        weak = weak_prior(stats.pooled())
        return replace(
            self, prior=NormalInverseGamma(weak.location, count, shape, shape * scale * weak.scale)
        )

    def smoothed(self, stats: GaussianStats, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        prior = weak_prior(stats.pooled()) if self.prior is None else self.prior
        if np.any(prior.shape < 0):
            raise ValueError(
                "Gaussian: a prior with a negative shape has no strength to be scaled. Give "
                "another prior."
            )
        strength = smoothing * prior.count, smoothing * prior.shape, smoothing * scale * prior.scale
        return replace(self, prior=NormalInverseGamma(prior.location, *strength))


def weak_prior(pooled: GaussianStats) -> NormalInverseGamma:
    """The prior worth a hundredth of a row about the mean, and two about the variance, which is 1
    if constant.
    """
    variance = np.where(constant(pooled), 1.0, ratio(pooled.ssd, pooled.count))
    return NormalInverseGamma(pooled.mean, 0.01, 1.0, variance)


def constant(stats: GaussianStats) -> Array:
    """Columns in which all rows have one value, but for rounding."""
    return np.sqrt(ratio(stats.ssd, stats.count)) <= 2 * np.spacing(np.abs(stats.mean))


def refuse_settled(prior: str, name: str, about_variance: Array, count: Array) -> None:
    """Raise for a prior that settles the variance so much that no digit of a score's distribution
    is left.

    Its cumulants are differences of shape * (1 / count + u) and shape / count, whose digits cancel.
    """
    if (about_variance / np.maximum(count, 1.0) > MOST_SETTLED).any():
        raise ValueError(
            f"{prior}: {name} can be at most 1e12 times the count, or 1e12 where that is below 1, "
            "got "
            f"{np.max(about_variance):g}: beyond that a score has no digit left. Give a smaller "
            f"{name}; 1e9 already "
            "holds a variance to four digits and more."
        )
