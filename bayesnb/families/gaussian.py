"""Columns of real numbers: a Gaussian for each class, whose mean and variance are unknown.

    variance ~ InverseGamma(shape, scale)      mean | variance ~ Normal(location, variance / count)

`count` is a pseudo-count of rows for the mean. Equations: Murphy (2007), Conjugate Bayesian
analysis of the Gaussian distribution, section 3; the predictive is Student's t. With `shared=True`
all classes have one variance, and the log-odds are linear in the cells.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from bayesnb import numerics
from bayesnb.families import quantiles
from bayesnb.families.base import ORDER, Array, Belief, Cells, Density, Parts, Rng, Stats
from bayesnb.families.family import (
    Family,
    Hyperparameters,
    RealNumbers,
    Support,
    checked_prior,
    shaped,
)
from bayesnb.families.record import (
    FARTHEST,
    Linear,
    NumberUnit,
    Power,
    VariableNames,
    by_feature,
    checked,
    lead,
    of_powers,
    silent,
)
from bayesnb.families.removal import SLACK, left_of, slack
from bayesnb.families.student import MomentStats, Pair, StudentBelief
from bayesnb.families.sums import by_rows, made_at
from bayesnb.families.weight import Weight
from bayesnb.formatting import number_range
from bayesnb.numerics import special
from bayesnb.numerics.special import LOG_2PI, log, log1p_square, ratio
from bayesnb.numerics.threads import in_order, pieces
from bayesnb.numerics.views import EVERY, numbers

ROUNDED = 8 * float(np.finfo(float).eps)
FEW = 1 << 14  # cells times classes below which NumPy takes milliseconds: nothing is compiled
MOST_SETTLED = 1e12  # largest ratio of the pseudo-counts of variance and mean


class Slip(NamedTuple):
    """Bounds on the rounding errors of a mean and an ssd."""

    mean: Array
    ssd: Array


@dataclass(frozen=True, eq=False)
class GaussianStats(MomentStats):
    """Number of rows, their mean, and their summed squared deviations. All `(c, f)`."""

    count: Array
    mean: Array
    ssd: Array  # not sum(x**2), which has no correct digit left around x = 1e8

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None) -> Self:
        rows, features = x.shape

        def count_rows(rows: slice) -> Array:
            total = np.zeros((4, weight.classes, features))
            labels = weight.codes[rows], weight.counts[rows]
            numerics.moment_kernels.moments(numbers(x, rows), *labels, total)
            return total

        parts = iter(in_order(count_rows, pieces(rows, features, 4 * weight.classes), n_jobs))
        total = next(parts)
        for part in parts:
            numerics.moment_kernels.merge(total, part)
        numerics.moment_kernels.finish(total)
        count, mean, _, ssd = total
        return cls(count, mean, ssd)

    def products(self, weight: Any, gap: Any) -> Any:
        return weight * gap * gap

    @property
    def spread(self) -> Array:
        return self.ssd

    def without(
        self, part: Self, every: Any = False, rounding: float = SLACK
    ) -> tuple[Self, Array]:
        """Subtract `part`, and flag impossible results: a count or ssd below 0, an ssd of a single
        row, or all rows removed but another mean.

        An ssd that may be rounding becomes 0. Where all rows had one value, the rest keep it.
        """
        rest = self - part
        slip = self.slip(part, rest).ssd
        count = left_of(self.count, rest.count, rounding)
        none = count == 0
        single = none | (rounding == 0) & (count == 1)
        size = self._size()
        moved = np.abs(part.mean - self.mean) > SLACK * size
        # what rounding left when rows were added, or others removed
        equal = SLACK * self.ssd + ROUNDED * self.count * size**2
        spread = (np.abs(rest.ssd) > equal + slip) & ((rest.ssd < 0) | single)
        negative = rest.count < -slack(self.count, rounding)
        invalid = negative | (np.reshape(every, (-1, 1)) & ~none) | spread | (none & moved)
        still = self.ssd == 0
        ssd = np.where(single | still | (rest.ssd <= slip), 0.0, rest.ssd)
        mean = np.where(none, 0.0, np.where(still, self.mean, rest.mean))
        return type(self)(count, mean, ssd), invalid

    def slip(self, part: Self, rest: Self) -> Slip:
        """Bound the rounding errors after a subtraction.

        With a and b the means of all n rows and of the k removed, and d = b - a,

            remaining mean = a - d k / (n - k)
            remaining ssd = ssd - removed ssd - n d**2 k / (n - k)

        A mean has the error ROUNDED, relative to its size and the rows' standard deviation, and an
        ssd relative to itself: enough for sums of many batches.
        """
        gap = part.mean - self.mean
        size = self._size() + part._size()
        changed = (part.count > 0) & (rest.count > 0) & (self.ssd > 0)
        with np.errstate(over="ignore"):
            step = np.where(changed, ratio(part.count, rest.count), 0.0)
            summed = np.where(changed, ROUNDED * (self.ssd + part.ssd), 0.0)
            square = (2 * np.abs(gap) + ROUNDED * size) * ROUNDED * size
            return Slip(step * ROUNDED * size, summed + self.count * step * square)

    def _size(self) -> Array:
        return np.abs(self.mean) + np.sqrt(np.maximum(ratio(self.ssd, self.count), 0.0))

    def invalid_columns(self) -> Array:
        """Columns where no class has a variance in the usual range, or a mean is extreme or not
        finite.
        """
        spread = self.ssd.max(axis=0)
        usual = (spread > 1e-280) & (spread < 1e280) & (np.abs(self.mean).max(axis=0) < 1e140)
        return np.flatnonzero(~usual)


@dataclass(frozen=True, eq=False)
class GaussianDensity(Density):
    symbols: ClassVar[dict[str, str]] = {"mean": "mu", "variance": "sigma2"}
    mean: Array
    variance: Array

    def log_density(self, x: Array) -> Array:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            z = (x - self.mean) / np.sqrt(self.variance)
            return silent(np.isnan(x), -(LOG_2PI + np.log(self.variance) + z**2) / 2)

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        with np.errstate(divide="ignore"):
            height = -power * (LOG_2PI + np.log(self.variance)) / 2
            terms = (np.array(self.mean), power / self.variance / 2, height)
        define = partial(self.defined_score, power=power)
        score = partial(kernel_scores, numerics.gaussian_kernels.normal, terms, define)
        return by_rows(lambda rows: score(numbers(x, rows)), x, len(self), out, n_jobs)

    def linear_against(self, place: int) -> Linear | None:
        """Differences computed from differences of means: far from 0, squares would lose all
        digits.
        """
        return self.linear(self.mean[place])

    def linear(self, other: Any = 0.0) -> Linear | None:
        """Linear where all classes have one variance: the squares of cells then cancel."""
        if not self.proper.all() or (self.variance != self.variance[:1]).any():
            return None
        weights = (self.mean - other) / self.variance
        return Linear(weights, -(weights * (self.mean + other)).sum(axis=-1) / 2)

    def log_likelihood(self, stats: GaussianStats, xp: Any = np) -> Any:
        spread = stats.ssd + stats.count * (stats.mean - self.mean) ** 2
        return -(stats.count * (LOG_2PI + xp.log(self.variance)) + spread / self.variance) / 2

    def cell(self, pm: Any) -> tuple[Any, dict[str, Any]]:
        return pm.Normal, {"mu": self.mean, "sigma": pm.math.sqrt(self.variance)}

    @property
    def proper(self) -> Array:
        return (self.variance > 0) & np.isfinite(self.variance)

    def sample(self, rng: Rng) -> Array:
        return np.random.default_rng(rng).normal(self.mean, np.sqrt(self.variance))


@dataclass(frozen=True, eq=False, init=False, repr=False)
class NormalInverseGamma(StudentBelief):
    r"""Normal-inverse-gamma distribution over a mean and a variance: the prior of ``Gaussian``.

    Parameters
    ----------
    mean : float or array
        Expected mean.
    count : float or array
        Pseudo-count of rows for the mean.
    shape : float or array
        Shape of the inverse gamma distribution of the variance: half its pseudo-count of rows. At
        least -0.5, the value of the reference prior.
    scale : float or array
        Scale of the inverse gamma distribution of the variance, whose mean is scale / (shape - 1).
    models : int, default=0
        0 if each class has its own variance. 1 if the classes, along the first axis, share it, as
        under ``Gaussian(shared=True)``; n for n such models side by side.

    See Also
    --------
    Gaussian : Columns of real numbers.
    NormalInverseWishart : The generalisation to a block of columns.

    Notes
    -----
    .. math::

        \text{variance} &\sim \text{InverseGamma}(\text{shape}, \text{scale}) \\ \text{mean} \mid
        \text{variance} &\sim \text{Normal}(\text{mean}, \text{variance} / \text{count})

    The predictive is Student's t with 2 shape degrees of freedom. At a shape of 1 or less the
    variance has no finite mean, and ``estimate("mean")`` takes the inverse of the expected
    precision.

    References
    ----------
    Murphy, K. (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 3.

    Examples
    --------
    >>> from bayesnb import NormalInverseGamma
    >>> belief = NormalInverseGamma(mean=0.0, count=1.0, shape=3.0, scale=4.0)
    >>> belief.mean()
    Moments(mean=array(0.), variance=array(2.))
    """

    width = 1
    unit = 0.5
    common: ClassVar[tuple[str, ...]] = ("shape", "scale")
    density: ClassVar[type[Density]] = GaussianDensity
    location: Array  # `mean` to the user
    count: Array
    shape: Array
    scale: Array
    models: int = 0

    renamed: ClassVar[dict[str, str]] = {"location": "mean"}
    symbols: ClassVar[dict[str, str]] = {
        "location": "mu_mean",
        "count": "mu_count",
        "shape": "sigma2_shape",
        "scale": "sigma2_scale",
    }

    def __init__(self, mean: Any, count: Any, shape: Any, scale: Any, models: int = 0) -> None:
        fields = {
            "location": checked("NormalInverseGamma: mean", mean, -FARTHEST, FARTHEST),
            "count": checked("NormalInverseGamma: count", count),
            # -1/2 is the reference prior's
            "shape": checked("NormalInverseGamma: shape", shape, -0.5),
            "scale": checked("NormalInverseGamma: scale", scale),
            "models": models,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self.check_common()

    # Prior, update, evidence, predictive

    @property
    def proper(self) -> Array:
        return (self.count > 0) & (self.shape > 0) & (self.scale > 0)

    def log_evidence(self, stats: GaussianStats, xp: Any = special) -> Array:
        terms = stats.count / 2, self.surprise(stats, xp), xp.log1p(stats.count / self.count)
        half, surprise, widened = map(self.pooled, terms)
        shape = self.per_model(self.shape)
        scale = self.per_model(self.scale)
        # ratios of normalizers, written so that one row counts even after 1e12 others
        gain = xp.log_gamma_ratio(shape, half) - shape * xp.log1p(surprise / scale)
        return gain - half * (LOG_2PI + xp.log(scale + surprise)) - widened / 2

    def log_predictive(self, x: Array) -> Array:
        # Student's t with 2 * shape degrees of freedom; distances may be infinite, and an improper
        # prior has no width
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            width = np.sqrt(2 * self.scale * (1 + 1 / self.count))
            gap = x - self.location
            z = gap / width
        tail = np.where(np.isinf(z), 2 * (log(np.abs(gap)) - np.log(width)), log1p_square(z))
        return silent(np.isnan(x), self.height(1.0) - (self.shape + 0.5) * tail)

    @property
    def _unit(self) -> Array:
        """The scale of the predictive."""
        return np.sqrt(self.scale * (1 + 1 / self.count) / self.shape)

    def predictive(self) -> Any:
        from scipy.stats import t

        return t(2 * self.shape, self.location, self._unit)

    def quantile(self, p: float) -> Array:
        return quantiles.student(p, 2 * self.shape, self.location, self._unit)

    def sample(self, rng: Rng, size: Any = None) -> GaussianDensity:
        rng = np.random.default_rng(rng)
        shape = self.per_model(self.shape)
        gamma = rng.standard_gamma(shape, lead(size) + shape.shape)
        variance = self.scale / self.per_class(gamma, len(lead(size)))
        return GaussianDensity(rng.normal(self.location, np.sqrt(variance / self.count)), variance)

    def strengthened(self, times: Any, scale: float = 1.0) -> Self:
        if np.any(self.shape < 0):
            raise ValueError(
                "Gaussian: the strength of a prior with a negative shape cannot be scaled. Give "
                "another prior."
            )
        strength = times * self.count, times * self.shape, times * scale * self.scale
        return self.made(self.location, *strength)

    # As an inverse Wishart matrix of one column

    @property
    def dof(self) -> Array:
        return 2 * self.shape

    @property
    def matrix(self) -> Array:
        return 2 * self.scale

    squares = matrix

    @property
    def log_det(self) -> Array:
        return log(2 * self.scale)

    def as_vectors(self) -> tuple[Array, Array]:
        return 1 / np.sqrt(self.matrix)[..., None, None], self.location[..., None]

    def at_roots(self, x: Array, value: Callable[[Any, Array, Any], Array]) -> Array:
        x = np.asarray(x, float)
        with np.errstate(all="ignore"):
            root = np.abs(x - self.location) / np.sqrt(2 * self.scale)
        return silent(np.isnan(x), value(self, root, EVERY))

    def pairs(self, x: Array) -> Iterator[Pair]:
        with np.errstate(all="ignore"):
            near, far = ((x - self.location[c]) ** 2 / self.matrix[c] for c in (0, 1))
        yield Pair(EVERY, self, far, near)

    def margins(self) -> "NormalInverseGamma":
        return self.raw(*self.fields, 0)

    # Many rows at once

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        terms = made_at(self, power, lambda power: self._student(1.0, power))
        define = partial(self.defined_score, power=power)
        score = partial(kernel_scores, numerics.gaussian_kernels.student, terms, define)
        return by_rows(lambda rows: score(numbers(x, rows)), x, len(self), out, n_jobs)

    def row_log_moment(self, x: Cells, s: Any) -> Array:
        if np.ndim(s) > 1:
            return super().row_log_moment(x, s)
        define = partial(super().row_log_moment, s=s)
        student = numerics.gaussian_kernels.student
        return kernel_scores(student, self._student(s), define, numbers(x, EVERY))

    def _student(self, s: Any, power: Any = 1.0) -> tuple[Any, ...]:
        """The terms of K(s) times a power, height - exponent * log1p(width * (x - location)**2).

        The last one says whether exponents are equal within each class and no width is negative.
        """
        with np.errstate(all="ignore"):
            exponent = power * (self.shape + s / 2)
            width = s / ((1 + s / self.count) * 2 * self.scale)
            height = power * self.height(s)
        alike = bool((exponent == exponent[:, :1]).all() and (width >= 0).all())
        return np.array(self.location), width, exponent, height, alike

    def score_cumulants(self, x: Cells, tilt: float = 0.0, power: Power = 1.0) -> Array:
        if x.shape[0] * self.shape.size < FEW:
            return super().score_cumulants(x, tilt, power)
        cells = numbers(x, EVERY)
        w = by_feature(power, self.shape.shape[1])
        fields = self.location, w / (2 * self.scale), w / self.count, self.shape + tilt * w / 2
        parameters = map(np.ascontiguousarray, fields)
        still = of_powers(self.still_cumulants(ORDER, tilt * w), power).sum(axis=-1)
        total = np.empty((ORDER, len(cells), len(self)))
        kernel = numerics.moment_kernels.student_cumulants
        if kernel(cells, *parameters, w, tilt, still, total):
            at_location = of_powers(self.cumulants(self.location, ORDER, tilt * w), power)
            gone = np.isnan(cells)
            total -= gone.astype(float) @ at_location.swapaxes(1, 2)
            total[:, gone.all(axis=1)] = 0.0  # exactly, for a row without cells
        return total

    def rounding_error(
        self, before: GaussianStats, part: GaussianStats, rest: GaussianStats
    ) -> Array:
        """Errors of the location in standard deviations of a row, and of the scale relative to
        it.
        """
        slip = before.slip(part, rest)
        share = ratio(rest.count, self.count + rest.count)
        after = self.update(rest)
        gap = np.abs(rest.mean - self.location)
        wider = slip.ssd + self.count * share * (2 * gap + slip.mean) * slip.mean
        moved = after.dof * (share * slip.mean) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.fmax(wider / after.matrix, np.sqrt(moved / after.matrix))
        return np.where(wider + moved == 0, 0.0, off)

    def units(self, x: Cells) -> list[NumberUnit]:
        """Each column as a block."""
        cells = np.asarray(numbers(x, EVERY), float)
        units = []
        for j in range(cells.shape[1]):
            prior = self.count[:, j], self.shape[:, j], self.location[:, [j]]
            units.append(NumberUnit((j,), cells[:, [j]], *prior, self.matrix[:, [j], None]))
        return units

    # PyMC

    def log_density(self, theta: GaussianDensity) -> Parts:
        """log p of each mean given its variance, and of each variance; classes that share a
        variance have equal parts of it.
        """
        log_variance = np.log(theta.variance)
        spread = self.count * (theta.mean - self.location) ** 2 / theta.variance
        mean = (np.log(self.count) - LOG_2PI - log_variance - spread) / 2
        variance = self.shape * np.log(self.scale) - gammaln(self.shape)
        variance = variance - self.scale / theta.variance - (self.shape + 1) * log_variance
        return {("mu", None): mean, ("sigma2", None): variance / self.tied}

    def variables(self, pm: Any, names: VariableNames) -> GaussianDensity:
        named = names("sigma2")
        if self.models:
            dims = named["dims"] and named["dims"][1:]
            name = f"{named['name']}_shared"
            one = pm.InverseGamma(name, alpha=self.shape[0], beta=self.scale[0], dims=dims)
            variance = pm.Deterministic(**named, var=one * pm.math.ones_like(self.count))
        else:
            variance = pm.InverseGamma(**named, alpha=self.shape, beta=self.scale)
        mean = pm.Normal(**names("mu"), mu=self.location, sigma=(variance / self.count) ** 0.5)
        return GaussianDensity(mean, variance)


def kernel_scores(
    kernel: Callable[..., bool], terms: tuple[Any, ...], define: Callable[[Array], Array], x: Array
) -> Array:
    """Scores by a compiled kernel; by `define` where a square overflowed."""
    total = np.zeros((len(x), len(terms[0])))
    if not kernel(x, *terms, total):
        overflowed = ~np.isfinite(total).all(axis=1)
        total[overflowed] = define(x[overflowed])
    return total


VARIANCES = {
    ("count", True): "the means of the classes differ no more than by chance: the best prior is "
    "that they are equal",
    ("count", False): "the means of the classes are infinitely far apart for their variances",
    ("shape", True): "the variances of the classes differ no more than by chance: the best prior "
    "is that they are equal",
    ("shape", False): "the variances of the classes differ by orders of magnitude: the best prior "
    "is flat",
    ("shared shape", True): "the classes share one variance, which the best prior fixes",
}
NORMAL = Hyperparameters(
    names=("count", "shape", "scale"),
    weak=(0.01, 1.0, 1.0),
    factors=("strength", "scale"),
    note="In Gaussian columns l multiplies the count, shape and scale of the estimator's prior; 1 "
    "is the prior as declared.",
    extremes=VARIANCES,
)


@dataclass(frozen=True, eq=False, repr=False)
class NormalFamily[S: MomentStats](Family[S]):
    """Base of the Gaussian families: how a prior is made and shaped."""

    prior: Any = None
    shared: bool = False

    support: ClassVar[Support] = RealNumbers()
    shows_invalid: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_prior(type(self).__name__, self.prior, self.conjugate)  # type: ignore[arg-type]
        if self.prior is not None:
            refuse_settled(self.prior)

    @abstractmethod
    def weak_prior(self, stats: S) -> Any:
        """The prior on the scale of the data."""

    @abstractmethod
    def shaped(self, prior: Any, stats: S) -> Sequence[Array]:
        """Broadcast the arrays of a prior to the axes of the stats, or raise."""

    def belief(self, stats: S) -> Any:
        prior = self.weak_prior(stats) if self.prior is None else self.prior
        belief: Any = self.conjugate.raw(*self.shaped(prior, stats), int(self.shared))  # type: ignore[union-attr]
        belief.check_common()
        return belief

    def smoothed(self, stats: S, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        """Each column has marginally the prior of a `Gaussian` with this smoothing."""
        return replace(self, prior=self.belief(stats).strengthened(smoothing, scale))


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(NormalFamily[GaussianStats]):
    """Columns of real numbers: a normal distribution for each class and column.

    Parameters
    ----------
    prior : NormalInverseGamma or None, default=None
        The prior. None: a weak one on the scale of the data, with the mean of all rows, a count of
        0.01, a shape of 1, and the variance of all rows as its scale (1 for a constant column). The
        first ``fit`` or ``partial_fit`` sets it; it is then in ``prior_``.
    shared : bool, default=False
        Whether classes share the variance of a column, each with its own mean. A prior must then
        have the same ``shape`` and ``scale`` for every class.

    See Also
    --------
    GaussianNB : The preset with this family in all columns.
    MultivariateGaussian : A block of columns with their correlations.
    Histogram : Columns of numbers with densities of any shape.

    Notes
    -----
    Posterior and predictive, Student's t, are exact. Missing cells are left out. Under the weak
    prior, predictions do not change when a column is shifted or rescaled. With ``shared=True`` the
    log-odds are linear in the columns, see ``NaiveBayes.linear_form``.

    Examples
    --------
    >>> from bayesnb import Gaussian, NaiveBayes
    >>> x, y = [[0.0], [1.0], [5.0], [6.0], [7.0]], list("aabbb")
    >>> model = NaiveBayes(Gaussian(shared=True)).fit(x, y)
    >>> model.posterior_[0].mean().variance.round(2).tolist()
    [3.64, 3.64]
    """

    content: ClassVar[str] = "numbers, a bell curve per class"
    has_width: ClassVar[bool] = True
    stats: ClassVar[type[Stats]] = GaussianStats
    conjugate: ClassVar[type[Belief]] = NormalInverseGamma
    hyperparameters: ClassVar[Hyperparameters | None] = NORMAL

    @property
    def columnwise(self) -> "Gaussian":
        return replace(self, shared=False)

    def weak_prior(self, stats: GaussianStats) -> NormalInverseGamma:
        return weak_prior(stats.pooled())

    def shaped(self, prior: NormalInverseGamma, stats: GaussianStats) -> Sequence[Array]:
        return shaped("Gaussian", prior, stats.count.shape).fields

    def describe(self, belief: Any) -> str:
        spread = np.sqrt(belief.scale / np.where(belief.shape > 0, belief.shape, np.nan))
        mean = f"mean near {number_range(belief.location)}, worth {number_range(belief.count)} rows"
        sd = number_range(spread)
        rows = number_range(2 * belief.shape)
        return f"{mean}; standard deviation near {sd}, worth {rows} rows"

    def tuned(self, stats: GaussianStats, *values: Any) -> Self:
        """Set count, shape, and scale / shape relative to the pooled variance, around the pooled
        mean.
        """
        count, shape, scale = values
        weak = self.weak_prior(stats)
        return replace(
            self, prior=NormalInverseGamma(weak.location, count, shape, shape * scale * weak.scale)
        )


def weak_prior(pooled: GaussianStats) -> NormalInverseGamma:
    """The prior with 0.01 pseudo-rows for the mean and two for the variance (1 if constant)."""
    variance = np.where(constant(pooled), 1.0, ratio(pooled.ssd, pooled.count))
    return NormalInverseGamma(pooled.mean, 0.01, 1.0, variance)


def constant(stats: GaussianStats) -> Array:
    """Columns in which all rows have one value, up to rounding."""
    return np.sqrt(ratio(stats.ssd, stats.count)) <= 2 * np.spacing(np.abs(stats.mean))


def refuse_settled(prior: StudentBelief) -> None:
    """Raise for a prior that is so sure of the variance that the distribution of scores has no
    digit left.

    Cumulants are differences of shape * (1 / count + u) and shape / count, whose digits cancel.
    """
    name = prior.common[0]
    rows = getattr(prior, name)
    if (rows / np.maximum(prior.count, 1.0) > MOST_SETTLED).any():
        raise ValueError(
            f"{type(prior).__name__}: {name} can be at most 1e12 times the count (1e12 if the "
            f"count is below 1), got {np.max(rows):g}: beyond that no digit of a score is correct. "
            f"Give a smaller {name}; 1e9 already fixes a variance to four digits."
        )
