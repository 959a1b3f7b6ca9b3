"""Real-valued features: a Gaussian whose mean and variance are both unknown.

    variance ~ InverseGamma(shape, scale)      mean | variance ~ Normal(location, variance / count)

`count` is how many rows the belief about the mean is worth. Equations: Murphy (2007), Conjugate
Bayesian analysis of the Gaussian distribution, section 3; the predictive is Student's t.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln

from bayesnb import numerics
from bayesnb.families import quantiles
from bayesnb.families.base import ORDER, Array, Cells, Density, Parts, Rng, Stats
from bayesnb.families.record import (
    FARTHEST,
    Expected,
    Linear,
    Power,
    VariableNames,
    by_feature,
    checked,
    lead,
    of_powers,
    silent,
)
from bayesnb.families.removal import SLACK, left_of, slack
from bayesnb.families.student import LOG_2PI, Slip, StudentBelief
from bayesnb.families.sums import by_rows, made_at
from bayesnb.families.units import NumberUnit
from bayesnb.families.weight import Weight
from bayesnb.numerics import special
from bayesnb.numerics.special import log, log1p_square, ratio
from bayesnb.numerics.threads import in_order, pieces
from bayesnb.numerics.views import EVERY, numbers

AT_ONCE = 1 << 10  # rows whose squares stay in a processor's cache
ROUNDED = 8 * float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class GaussianStats(Stats):
    """Rows seen, their mean, and their summed squared deviation. All `(c, f)`."""

    count: Array
    mean: Array
    ssd: Array  # not sum(x**2): around x = 1e8 that has no correct digit left

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None) -> Self:
        rows, features = x.shape

        def count_rows(rows: slice) -> Array:
            labels = (weight.codes[rows], weight.counts[rows])
            total = np.zeros((4, weight.classes, features))
            part = numbers(x, rows)
            block = np.empty((5, weight.classes, features))
            spare = np.empty(len(part), np.int64), np.empty(weight.classes + 1, np.int64), block
            if not numerics.moment_kernels.moments(part, *labels, None, *spare, total):
                total[:] = 0.0
                numerics.moment_kernels.moments(part, *labels, True, *spare, total)
            return total

        parts = iter(in_order(count_rows, pieces(rows, features, 4 * weight.classes), n_jobs))
        total = next(parts)
        for part in parts:
            numerics.moment_kernels.merge(total, part)
        numerics.moment_kernels.finish(total)
        count, mean, _, ssd = total
        return cls(count, mean, ssd)

    def __add__(self, other: Self) -> Self:
        """Chan's merge; it holds for negative counts too, so it is also the subtraction."""
        count = self.count + other.count
        gap = other.mean - self.mean
        step = ratio(other.count, count) * gap
        return type(self)(count, self.mean + step, self.ssd + other.ssd + self.count * step * gap)

    def __mul__(self, times: Any) -> Self:
        return type(self)(times * self.count, self.mean, times * self.ssd)

    __rmul__ = __mul__

    @property
    def cells(self) -> Array:
        return self.count

    @property
    def counted_fields(self) -> list[str]:
        return ["count", "ssd"]

    def faults(self, part: Self, every: Array, rounding: float = SLACK) -> Array:
        """Faults of counts and spreads: none below zero, none of a single row, and all rows have
        the mean of all.
        """
        rest = self - part
        about = slack(self.count, rounding)
        none = np.abs(rest.count) <= about
        one = (rounding == 0) & (rest.count == 1)
        moved = np.abs(part.mean - self.mean) > SLACK * (
            np.abs(self.mean) + np.sqrt(ratio(self.ssd, self.count))
        )
        # by rows that left earlier
        before = np.where(part.count > 0, ROUNDED * self.count * self._size() ** 2, 0.0)
        least = (
            SLACK * (self.ssd + self.count * (SLACK * self.mean) ** 2)
            + before
            + self.slip(part, rest).ssd
        )
        wide = np.abs(rest.ssd) > least
        invalid = (rest.count < -about) | (every[:, None] & ~none) | (wide & (rest.ssd < 0))
        return invalid | ((none | one) & wide) | (none & moved)

    def remains(self, part: Self, rounding: float) -> Self:
        """A spread that may be rounding is taken to be 0.

        Where all rows had one value, those that stay have it.
        """
        rest = self - part
        count = left_of(self.count, rest.count, rounding)
        still = self.ssd == 0
        none = count == 0
        same = (
            none
            | still
            | ((rounding == 0) & (count == 1))
            | (rest.ssd <= self.slip(part, rest).ssd)
        )
        mean = np.where(none, 0.0, np.where(still, self.mean, rest.mean))
        return type(self)(count, mean, np.where(same, 0.0, rest.ssd))

    def slip(self, part: Self, rest: Self) -> Slip:
        """Bound the rounding errors of what stays.

        With a and b the means of all n rows and of the k that go, and d = b - a,

            mean that stays = a - d k / (n - k)        ssd that stays = ssd - ssd of those - n d**2
            k / (n - k)

        A mean is rounded to a part ROUNDED of its size and of the rows' spread, an ssd to one of
        itself, as often as batches that are added up need.
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
        """Columns in which no class has a usual variance, or a mean is extreme, infinite or
        missing.
        """
        if (
            self.ssd.min() > 1e-280
            and self.ssd.max() < 1e280
            and np.vdot(self.mean, self.mean) < 1e280
        ):
            return np.empty(0, np.intp)  # as in most batches: in every class
        spread = self.ssd.max(axis=0)
        usual = (spread > 1e-280) & (spread < 1e280) & (np.abs(self.mean).max(axis=0) < 1e140)
        return np.flatnonzero(~usual)

    def pooled(self) -> Self:
        """All classes as one, `(c, f) -> (f,)`."""
        return reduce(add, (self[c] for c in range(len(self))))

    def mle(self) -> "GaussianDensity":
        return GaussianDensity(
            self.mean, np.where(self.count > 0, ratio(self.ssd, self.count), np.nan)
        )


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
        return by_rows(lambda rows: score(numbers(x, rows)), x.shape, len(self), out, n_jobs)

    def linear(self) -> Linear | None:
        """Linear where all classes have one variance: the square of a cell is then worth the same
        to each of them.
        """
        if not self.proper.all() or (self.variance != self.variance[:1]).any():
            return None
        weights = self.mean / self.variance
        return Linear(weights, -(weights * self.mean).sum(axis=-1) / 2)

    def linear_against(self, place: int) -> Linear | None:
        """Far from zero the means' squares have no digit left for their difference."""
        weights = (self.mean - self.mean[place]) / self.variance
        return self.linear() and Linear(
            weights, -(weights * (self.mean + self.mean[place])).sum(axis=-1) / 2
        )

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
        Where the mean is expected.
    count : float or array
        How many rows the belief about the mean is worth.
    shape : float or array
        Shape of the variance's inverse gamma distribution: half as many rows as the belief about
        the variance is worth. At least -0.5, which is the reference prior's.
    scale : float or array
        Scale of the variance's inverse gamma distribution. The expected variance is scale / (shape
        - 1).

    See Also
    --------
    Gaussian : Columns of real numbers.
    NormalInverseWishart : The same for a block of columns.

    Notes
    -----
    .. math::

        \text{variance} &\sim \text{InverseGamma}(\text{shape}, \text{scale}) \\ \text{mean} \mid
        \text{variance} &\sim \text{Normal}(\text{mean}, \text{variance} / \text{count})

    The predictive is Student's t with 2 shape degrees of freedom. ``estimate("mean")`` takes the
    variance of the expected precision where no variance is expected, at a shape of 1 or less.

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
    density: ClassVar[type[Density]] = GaussianDensity
    location: Array  # `mean` to the user
    count: Array
    shape: Array
    scale: Array

    renamed: ClassVar[dict[str, str]] = {"location": "mean"}
    symbols: ClassVar[dict[str, str]] = {
        "location": "mu_mean",
        "count": "mu_count",
        "shape": "sigma2_shape",
        "scale": "sigma2_scale",
    }

    def __init__(self, mean: Any, count: Any, shape: Any, scale: Any) -> None:
        fields = {
            "location": checked("NormalInverseGamma: mean", mean, -FARTHEST, FARTHEST),
            "count": checked("NormalInverseGamma: count", count),
            # -1/2 is the reference prior's
            "shape": checked("NormalInverseGamma: shape", shape, -0.5),
            "scale": checked("NormalInverseGamma: scale", scale),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def mean(self) -> Expected:
        """The parameter ``mean``; called, ``mean()``, the expected mean and variance.

        The expected variance is infinite for a shape of 1 or less.

        See Also
        --------
        mode : The most probable mean and variance.

        Examples
        --------
        >>> from bayesnb import NormalInverseGamma
        >>> NormalInverseGamma(mean=0.0, count=1.0, shape=3.0, scale=4.0).mean().variance
        array(2.)
        """
        parameter = self.location.view(Expected)
        parameter.expectation = self.expected()
        return parameter

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

    def per_column(self, values: Array) -> Array:
        return values

    per_entry = per_column

    def whitened_size(self, change: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(change == 0, 0.0, np.abs(change) / np.sqrt(2 * self.scale))

    @property
    def proper(self) -> Array:
        return (self.count > 0) & (self.shape > 0) & (self.scale > 0)

    def strengthened(self, times: Any) -> Self:
        if np.any(self.shape < 0):
            raise ValueError(
                "Gaussian: a prior with a negative shape has no weight that could be halved or "
                "doubled."
            )
        return self.made(self.location, times * self.count, times * self.shape, times * self.scale)

    def update(self, stats: GaussianStats) -> Self:
        share = ratio(stats.count, self.count + stats.count)
        return self.made(
            self.location + share * (stats.mean - self.location),
            self.count + stats.count,
            self.shape + self.per_class(self.pooled(stats.count)) / 2,
            self.scale + self.per_class(self.pooled(self.surprise(stats))),
        )

    def surprise(self, stats: GaussianStats, xp: Any = special) -> Any:
        """The data's addition to the scale: half their spread about themselves and about the
        location.
        """
        share = xp.ratio(stats.count, self.count + stats.count)
        return (stats.ssd + self.count * share * (stats.mean - self.location) ** 2) / 2

    def log_evidence(self, stats: GaussianStats, xp: Any = special) -> Array:
        terms = stats.count / 2, self.surprise(stats, xp), xp.log1p(stats.count / self.count)
        half, surprise, widened = map(self.pooled, terms)
        shape = self.per_model(self.shape)
        scale = self.per_model(self.scale)
        return of_variance(shape, scale, (half, surprise, widened), xp)

    def distances(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            return (x - self.location) ** 2 / (2 * self.scale)

    def log_moment(self, x: Array, s: Any) -> Array:
        x = np.asarray(x, float)
        with np.errstate(all="ignore"):
            root = np.abs(x - self.location) / np.sqrt(2 * self.scale)
        return silent(np.isnan(x), self.moment_at(root, s))

    def log_predictive(self, x: Array) -> Array:
        # Student's t with 2 * shape degrees of freedom, also where a distance is infinite
        width = np.sqrt(2 * self.scale * (1 + 1 / self.count))
        with np.errstate(over="ignore"):
            gap = x - self.location
            z = gap / width
        tail = np.where(np.isinf(z), 2 * (log(np.abs(gap)) - np.log(width)), log1p_square(z))
        return silent(np.isnan(x), self.height(1.0) - (self.shape + 0.5) * tail)

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        return silent(np.isnan(x), self.cumulants_at(self.distances(x), order, tilt))

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        terms = made_at(self, power, lambda power: self._student(1.0, power))
        define = partial(self.defined_score, power=power)
        score = partial(kernel_scores, numerics.gaussian_kernels.student, terms, define)
        return by_rows(lambda rows: score(numbers(x, rows)), x.shape, len(self), out, n_jobs)

    def row_log_moment(self, x: Cells, s: Any) -> Array:
        if np.ndim(s) > 1:
            return super().row_log_moment(x, s)
        define = partial(super().row_log_moment, s=s)
        student = numerics.gaussian_kernels.student
        return kernel_scores(student, self._student(s), define, numbers(x, EVERY))

    def _student(self, s: Any, power: Any = 1.0) -> tuple[Any, ...]:
        """K(s) times a power, as height - exponent * log1p(width * (x - location)**2).

        At s = 1 it is Student's t.

        And whether a class's exponents are alike, and no square is subtracted.
        """
        with np.errstate(all="ignore"):
            exponent = power * (self.shape + s / 2)
            width = s / ((1 + s / self.count) * 2 * self.scale)
            height = power * self.height(s)
        alike = bool((exponent == exponent[:, :1]).all() and (width >= 0).all())
        return np.array(self.location), width, exponent, height, alike

    def _for_kernels(self, w: Array, *others: Array) -> list[Array]:
        """Parameters of log-densities times powers of the columns, as kernels read them."""
        parameters = self.location, w / (2 * self.scale), w / self.count
        return [np.ascontiguousarray(each) for each in (*parameters, *others)]

    def score_cumulants(self, x: Cells, tilt: float = 0.0, power: Power = 1.0) -> Array:
        cells = numbers(x, EVERY)
        w = by_feature(power, self.shape.shape[1])
        parameters = self._for_kernels(w, self.shape + tilt * w / 2, w)
        still = of_powers(self.still_cumulants(ORDER, tilt * w), power).sum(axis=-1)
        total = np.empty((ORDER, len(cells), len(self)))
        kernel = numerics.transform_kernels.student_cumulants
        if kernel(cells, *parameters, tilt, still, total):
            at_location = of_powers(self.cumulants(self.location, ORDER, tilt * w), power)
            gone = np.isnan(cells)
            total -= gone.astype(float) @ at_location.swapaxes(1, 2)
            total[:, gone.all(axis=1)] = 0.0  # a row without cells is certain, to the last digit
        return total

    def sample(self, rng: Rng, size: Any = None) -> GaussianDensity:
        rng = np.random.default_rng(rng)
        shape = self.per_model(self.shape)
        gamma = rng.standard_gamma(shape, lead(size) + shape.shape)
        variance = self.scale / self.per_class(gamma, len(lead(size)))
        return GaussianDensity(rng.normal(self.location, np.sqrt(variance / self.count)), variance)

    def log_density(self, theta: GaussianDensity) -> Parts:
        """log p of each mean given its variance, and of each variance: of one that classes share
        in equal parts.
        """
        log_variance = np.log(theta.variance)
        spread = self.count * (theta.mean - self.location) ** 2 / theta.variance
        mean = (np.log(self.count) - LOG_2PI - log_variance - spread) / 2
        variance = self.shape * np.log(self.scale) - gammaln(self.shape)
        variance = variance - self.scale / theta.variance - (self.shape + 1) * log_variance
        return {("mu", None): mean, ("sigma2", None): variance / self.tied}

    def quantile(self, p: float) -> Array:
        unit = np.sqrt(self.scale * (1 + 1 / self.count) / self.shape)
        return quantiles.student(p, 2 * self.shape, self.location, unit)

    def predictive(self) -> Any:
        from scipy.stats import t

        unit = np.sqrt(self.scale * (1 + 1 / self.count) / self.shape)
        return t(2 * self.shape, self.location, unit)

    def units(self, x: Cells) -> list[NumberUnit]:
        """A block of each column."""
        cells = np.asarray(numbers(x, EVERY), float)
        units = []
        for j in range(cells.shape[1]):
            location = self.location[:, [j]]
            scale = self.matrix[:, [j], None]
            count = self.count[:, j]
            shape = self.shape[:, j]
            units.append(NumberUnit((j,), cells[:, [j]], count, shape, location, scale))
        return units

    def variables(self, pm: Any, names: VariableNames) -> GaussianDensity:
        variance = pm.InverseGamma(**names("sigma2"), alpha=self.shape, beta=self.scale)
        return self.density_with_variance(pm, names, variance)

    def density_with_variance(self, pm: Any, names: VariableNames, variance: Any) -> Any:
        """The density of a variance that is a PyMC variable, and of means drawn with it."""
        mean = pm.Normal(**names("mu"), mu=self.location, sigma=(variance / self.count) ** 0.5)
        return GaussianDensity(mean, variance)


def of_variance(shape: Any, scale: Any, terms: tuple[Any, Any, Any], xp: Any = special) -> Any:
    """The log evidence of rows that say of one variance half their number, what they add to the
    scale, and log(k_n/k).

    Ratios of normalizers, written so that a row keeps its digits after 1e12 others.
    """
    half, surprise, widened = terms
    gain = xp.log_gamma_ratio(shape, half) - shape * xp.log1p(surprise / scale)
    return gain - half * (LOG_2PI + xp.log(scale + surprise)) - widened / 2


def kernel_scores(
    kernel: Callable[..., bool], terms: tuple[Any, ...], define: Callable[[Array], Array], x: Array
) -> Array:
    """Scores by a kernel with its terms; by `define`, where a square left the range of floats."""
    total = np.zeros((len(x), len(terms[0])))
    if not kernel(x, *terms, total):
        overflowed = ~np.isfinite(total).all(axis=1)
        total[overflowed] = define(x[overflowed])
    return total
