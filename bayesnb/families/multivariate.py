"""Blocks of dependent real numbers: a Gaussian with a full covariance for each class.

    covariance ~ InverseWishart(dof, scale)
    mean | covariance ~ Normal(location, covariance / count)

With d columns it has d + d (d + 1) / 2 parameters per class; independent columns have 2 d.
Equations: Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 8; the
predictive is the multivariate Student t. One block of all columns is Bayesian quadratic
discriminant analysis: Geisser (1964), Posterior odds for multivariate normal classifications. With
`shared=True` all classes have one covariance, and the log-odds are linear in the cells.

Missing cells are integrated out. The marginal belief about some columns is of the same kind, with
one dof less for each column left out. Rows with the same pattern of missing cells are processed
together.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import multigammaln

from bayesnb.families.base import Array, Belief, Cells, Density, Narrowed, Parts, Rng, Stats
from bayesnb.families.family import Hyperparameters
from bayesnb.families.gaussian import (
    VARIANCES,
    Gaussian,
    GaussianStats,
    NormalFamily,
    NormalInverseGamma,
)
from bayesnb.families.record import (
    FARTHEST,
    Linear,
    NumberUnit,
    VariableNames,
    checked,
    lead,
)
from bayesnb.families.removal import SLACK
from bayesnb.families.student import MomentStats, Pair, StudentBelief, multi_gamma_ratio
from bayesnb.families.vectors import (
    Present,
    Root,
    by_pattern,
    diagonal,
    factor,
    inner,
    norm,
    outer,
    root_of,
    transposed,
    turned,
)
from bayesnb.families.weight import Weight, by_class
from bayesnb.formatting import number_range
from bayesnb.numerics import special
from bayesnb.numerics.special import LOG_2PI, LOG_PI, ratio
from bayesnb.numerics.views import EVERY, numbers

NAME = "NormalInverseWishart"
# allowed asymmetry of an entry, relative to the geometric mean of the two variances
SYMMETRIC = 1e-12
NEAR = 2.0  # in spacings of floats


@dataclass(frozen=True, eq=False)
class VectorStats(MomentStats):
    """Number of complete rows, their mean, and their scatter matrix.

    Rows that lack a cell of the block are not counted: they have no conjugate update.
    """

    degree: ClassVar[int] = 2
    count: Array  # `(c, 1)`
    mean: Array  # `(c, 1, d)`
    scatter: Array  # `(c, 1, d, d)`

    @classmethod
    def defined(cls, x: Array, weight: Weight) -> Self:
        x = np.asarray(x, float)
        moments = [_moments(x[rows], counts) for rows, counts in by_class(weight)]
        count, mean, scatter = (np.stack(values)[:, None] for values in zip(*moments, strict=True))
        return cls(count, mean, settled(scatter))

    def products(self, weight: Any, gap: Any) -> Any:
        return weight[..., None, None] * outer(gap)

    @property
    def spread(self) -> Array:
        return self.scatter

    def of_columns(self, places: Array) -> "VectorStats":
        """The stats of some columns, from the same rows."""
        scatter = self.scatter[..., places, :][..., places]
        return VectorStats(self.count, self.mean[..., places], scatter)

    @property
    def columns(self) -> GaussianStats:
        """The stats of the single columns, `(c, d)`."""
        return GaussianStats(
            self.count + np.zeros(self.mean.shape[-1]),
            self.mean[:, 0],
            diagonal(self.scatter)[:, 0],
        )

    def without(
        self, part: Self, every: Any = False, rounding: float = SLACK
    ) -> tuple[Self, Array]:
        """Subtract `part`, and flag classes where a column becomes impossible, or the scatter is no
        longer positive semidefinite.
        """
        rest = self - part
        columns = self.columns
        alone, faults = columns.without(part.columns, every, rounding)
        spread = alone.ssd > 0
        scatter = np.where(spread[:, :, None] & spread[:, None, :], rest.scatter[:, 0], 0.0)
        slip = columns.slip(part.columns, rest.columns).ssd
        unit = np.sqrt(columns.ssd + slip)
        with np.errstate(invalid="ignore", divide="ignore"):
            scaled = np.nan_to_num(rest.scatter[:, 0] / outer(unit), posinf=0.0, neginf=0.0)
            least = (SLACK + ratio(slip, columns.ssd).sum(axis=1)) * unit.shape[1]
        invalid = faults.any(axis=1) | (np.linalg.eigvalsh(scaled)[:, 0] < -least)
        left = type(self)(alone.count[:, :1], alone.mean[:, None], scatter[:, None])
        return left, invalid[:, None]

    def invalid_columns(self) -> Array:
        """Columns with extreme or infinite numbers, or a single value."""
        return self.columns.invalid_columns()


def _moments(x: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Count, mean and scatter of the rows of one class, `(r, d), (r,) -> (), (d,), (d, d)`.

    Computed relative to the first row.
    """
    complete = (weight != 0) & ~np.isnan(x).any(axis=1)
    if not complete.all():
        x = x[complete]
        weight = weight[complete]
    if not len(x):
        return np.zeros(()), np.zeros(x.shape[1]), np.zeros((x.shape[1],) * 2)
    with np.errstate(over="ignore", invalid="ignore"):
        start = x[0].astype(float)
        count = weight.sum()
        x = x - start
        shift = ratio(weight @ x, count)
        x -= shift
        slip = ratio(weight @ x, count)  # what rounding left in the mean
        scatter = (weight[:, None] * x).T @ x - count * outer(slip)
    return count, (start + shift) + slip, scatter


def settled(scatter: Array) -> Array:
    """Set the squares and products of columns that are constant, up to rounding, to 0."""
    spread = ~(diagonal(scatter) <= 0)
    return np.where(spread[..., None, :] & spread[..., None], scatter, 0.0)


@dataclass(frozen=True, eq=False)
class VectorDensity(Density):
    """A multivariate Gaussian: means `(..., d)` and covariances `(..., d, d)`."""

    multivariate: ClassVar[bool] = True
    mean: Array
    covariance: Array

    @cached_property
    def root(self) -> Root:
        """Factors of the covariance."""
        return root_of(self.covariance)

    def parts(self) -> Parts:
        return {("mu", None): self.mean[..., 0, :], ("cov", None): self.covariance[..., 0, :, :]}

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        return cls(parts["mu", None][..., None, :], parts["cov", None][..., None, :, :])

    def of_columns(self, present: Present) -> Self:
        """The marginal density of some columns."""
        if isinstance(present, slice):
            return self
        covariance = self.covariance[..., present, :][..., present]
        return type(self)(self.mean[..., present], covariance)

    def log_density(self, x: Array) -> Array:
        """Log density of vectors on the last axis; missing cells are integrated out."""

        def complete(cells: Array, present: Present, rows: Any) -> Array:
            one = self.of_columns(present)
            with np.errstate(over="ignore"):
                square = norm(one.root.whitening, cells, one.mean) ** 2
            return -(one.mean.shape[-1] * LOG_2PI + one.root.log_det + square) / 2

        return by_pattern(x, complete)

    def linear_against(self, place: int) -> Linear | None:
        """Differences computed from differences of means: far from 0, squares would lose all
        digits.
        """
        return self.linear(self.mean[place])

    def linear(self, other: Any = 0.0) -> Linear | None:
        """Linear where all classes have one covariance: squares and products then cancel."""
        if not self.proper.all() or (self.covariance != self.covariance[:1]).any():
            return None
        whitening = self.root.whitening
        gap, both = (turned(whitening, end)[:, 0] for end in (self.mean - other, self.mean + other))
        weights = turned(transposed(whitening[:, 0]), gap)
        return Linear(weights, -(gap * both).sum(axis=-1) / 2)

    def log_likelihood(self, stats: VectorStats, xp: Any = np) -> Any:
        whitening = self.root.whitening
        gap = turned(whitening, stats.mean - self.mean)
        spread = ((whitening @ stats.scatter) * whitening).sum(axis=-1).sum(axis=-1)
        spread = spread + stats.count * (gap * gap).sum(axis=-1)
        return -(stats.count * (stats.mean.shape[-1] * LOG_2PI + self.root.log_det) + spread) / 2

    def cell(self, pm: Any) -> tuple[Any, dict[str, Any]]:
        return pm.MvNormal, {"mu": self.mean[..., 0, :], "cov": self.covariance[..., 0, :, :]}

    @property
    def proper(self) -> Array:
        return np.isfinite(self.root.log_det) & np.isfinite(self.mean).all(axis=-1)

    def sample(self, rng: Rng) -> Array:
        noise = np.random.default_rng(rng).standard_normal(self.mean.shape)
        return self.mean + turned(self.root.factor, noise)


class MeanCovariance(NamedTuple):
    """Mean and covariance of a Gaussian: an expectation or a mode."""

    mean: Array
    covariance: Array


@dataclass(frozen=True, eq=False, init=False, repr=False)
class NormalInverseWishart(StudentBelief):
    r"""Normal-inverse-Wishart distribution: the prior of ``MultivariateGaussian``.

    Parameters
    ----------
    mean : float or array
        Expected means of the d columns: one number, one for each column, or ``(c, d)``.
    count : float or array
        Pseudo-count of rows for the means: a number, or one for each class.
    dof : float or array
        Degrees of freedom, above d - 1: a number, or one for each class.
    scale : float or array
        A number times the identity, or a symmetric positive definite matrix, ``(d, d)`` or ``(c, d,
        d)``. The expected covariance is scale / (dof - d - 1).
    models : int, default=0
        0 if each class has its own covariance. 1 if the classes, along the first axis, share it, as
        under ``MultivariateGaussian(shared=True)``; n for n such models side by side.

    See Also
    --------
    MultivariateGaussian : A block of columns of real numbers.
    NormalInverseGamma : The special case of one column.

    Notes
    -----
    .. math::

        \text{covariance} &\sim \text{InverseWishart}(\text{dof}, \text{scale}) \\ \text{mean} \mid
        \text{covariance} &\sim \text{Normal}(\text{mean}, \text{covariance} / \text{count})

    A cell is a whole row of the block. The predictive is the multivariate Student t with dof - d +
    1 degrees of freedom; ``predictive`` returns a list of them where there are several classes.
    ``interval`` is for each mean and each variance. At a dof of d + 1 or less the covariance has no
    finite mean, and ``estimate("mean")`` takes the inverse of the expected precision.

    References
    ----------
    Murphy, K. (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 8.

    Examples
    --------
    >>> from bayesnb import NormalInverseWishart
    >>> scale = [[4.0, 1.0], [1.0, 2.0]]
    >>> belief = NormalInverseWishart(mean=[0.0, 1.0], count=1.0, dof=5.0, scale=scale)
    >>> belief.mean().covariance
    array([[2. , 0.5],
           [0.5, 1. ]])
    """

    location: Array  # `mean` to the user
    count: Array
    dof: Array
    scale: Array
    models: int = 0

    multivariate: ClassVar[bool] = True
    degree: ClassVar[int] = 2
    unit = 1.0
    common: ClassVar[tuple[str, ...]] = ("dof", "scale")
    density: ClassVar[type[Density]] = VectorDensity
    moments: ClassVar[Any] = MeanCovariance
    renamed: ClassVar[dict[str, str]] = {"location": "mean"}
    symbols: ClassVar[dict[str, str]] = {
        "location": "mu_mean",
        "count": "mu_count",
        "dof": "cov_dof",
        "scale": "cov_scale",
    }

    def __init__(self, mean: Any, count: Any, dof: Any, scale: Any, models: int = 0) -> None:
        fields = *checked_fields(mean, count, dof, scale), models
        for name, value in zip(self.__match_args__, fields, strict=True):
            object.__setattr__(self, name, value)
        self.check_common()

    # Prior, update, evidence, predictive

    @cached_property
    def root(self) -> Root:
        """Factors of the scale."""
        return root_of(self.scale)

    @property
    def proper(self) -> Array:
        return (self.count > 0) & (self.dof > self.width - 1) & np.isfinite(self.log_det)

    def log_evidence(self, stats: VectorStats, xp: Any = special) -> Array:
        after = self.update(stats)
        half = self.pooled(stats.count) / 2
        dof = self.per_model(self.dof) / 2
        grown = self.per_model(log_growth(self, after))
        gain = multi_gamma_ratio(dof, half, self.width) - dof * grown
        gain = gain - half * (self.width * LOG_PI + self.per_model(after.log_det))
        return gain - self.width * self.pooled(np.log1p(stats.count / self.count)) / 2

    def predictive(self) -> Any:
        # a list with one multivariate t for each class, if there are several
        from scipy.stats import multivariate_t

        if self.count.ndim:
            return [self[c].predictive() for c in range(len(self))]
        free = float(self.dof - self.width + 1)
        return multivariate_t(self.location, self.scale * (1 + 1 / self.count) / free, free)

    def sample(self, rng: Rng, size: Any = None) -> VectorDensity:
        # with L L' the scale and A A' ~ Wishart(dof, I), by Bartlett's triangle A, a covariance is
        # L (A A')**-1 L'
        rng = np.random.default_rng(rng)
        size = lead(size)
        factor = self.per_model(self.root.factor)
        dof = self.per_model(self.dof)
        triangle = np.tril(rng.standard_normal((*size, *factor.shape)), -1)
        free = (dof[..., None] - np.arange(self.width)) / 2
        roots = np.sqrt(2 * rng.standard_gamma(free, (*size, *free.shape)))
        triangle += roots[..., None] * np.eye(self.width)
        half = np.linalg.solve(triangle, np.broadcast_to(transposed(factor), triangle.shape))
        half = self.per_class(transposed(half), len(size))
        step = turned(half, rng.standard_normal((*size, *self.location.shape)))
        mean = self.location + step / np.sqrt(self.count)[..., None]
        return VectorDensity(mean, half @ transposed(half))

    def strengthened(self, times: Any, scale: float = 1.0) -> Self:
        """Multiply the pseudo-counts by a number, or one for each class, and variances by `scale`.

        The variance of a column is marginally inverse Gamma with shape (dof - d + 1) / 2: this
        shape is multiplied.
        """
        times = np.asarray(times, float)
        times = times.reshape(()) if times.size == 1 else times.reshape(len(times), -1)[:, :1]
        free = self.width - 1
        return self.made(
            self.location,
            times * self.count,
            free + times * (self.dof - free),
            times[..., None, None] * scale * self.scale,
        )

    # Columns of the block

    @property
    def width(self) -> int:  # type: ignore[override]
        """The number of columns."""
        return self.location.shape[-1]

    @property
    def log_det(self) -> Array:
        return self.root.log_det

    @property
    def matrix(self) -> Array:
        return self.scale

    @property
    def squares(self) -> Array:
        return diagonal(self.scale)

    def of_columns(self, present: Present) -> "NormalInverseWishart":
        """The marginal belief about some columns."""
        if isinstance(present, slice):
            return self
        scale = self.scale[..., present, :][..., present]
        dof = self.dof - (self.width - scale.shape[-1])
        return self.made(self.location[..., present], self.count, dof, scale)

    def margins(self) -> NormalInverseGamma:
        """The marginal belief about each column, `(c, 1, d) -> (c, d)`."""
        location = self.location[:, 0]
        free = self.dof - self.width + 1
        count, shape = (np.broadcast_to(each, location.shape) for each in (self.count, free / 2))
        return NormalInverseGamma(location, count, shape, self.squares[:, 0] / 2)

    def narrowed(self, x: Cells, observe: Callable[..., Any]) -> Narrowed:
        cells = numbers(x, EVERY)
        present = ~np.isnan(cells[0])
        if present.all() or not present.any():
            return Narrowed(self, x, observe)
        return Narrowed(self.of_columns(present), np.ascontiguousarray(cells[:, present]), observe)

    def at_roots(self, x: Array, value: Callable[[Any, Array, Any], Array]) -> Array:
        def complete(cells: Array, present: Present, rows: Any) -> Array:
            one = self.of_columns(present)
            return value(one, norm(one.root.whitening, cells, one.location), rows)

        return by_pattern(x, complete)

    def pairs(self, x: Array) -> Iterator[Pair]:
        parts: list[Pair] = []

        def complete(cells: Array, present: Present, rows: Any) -> Array:
            one = self.of_columns(present)
            parts.append(Pair(rows, one, *squared_distances(one, cells)))
            return np.zeros(len(cells))

        by_pattern(x, complete)
        yield from parts

    def as_vectors(self) -> tuple[Array, Array]:
        return self.root.whitening, self.location

    def rounding_error(self, before: VectorStats, part: VectorStats, rest: VectorStats) -> Array:
        """The largest error over the columns, `(c, 1)`."""
        each = self.margins().rounding_error(before.columns, part.columns, rest.columns)
        return each.max(axis=1, keepdims=True)

    def units(self, x: Cells) -> list[NumberUnit]:
        """The whole block as one unit."""
        places = tuple(range(self.width))
        shape = (self.dof[:, 0] - self.width + 1) / 2
        location = np.asarray(self.location[:, 0])
        cells = np.asarray(x[:], float)
        return [NumberUnit(places, cells, self.count[:, 0], shape, location, self.scale[:, 0])]

    # PyMC

    def parts(self) -> Parts:
        """Arrays by symbol; count and dof of the block are repeated for each column."""
        count, dof = (np.repeat(each, self.width, axis=-1) for each in (self.count, self.dof))
        arrays = self.location[..., 0, :], count, dof, self.scale[..., 0, :, :]
        pairs = zip(self.symbols.values(), arrays, strict=True)
        return {(symbol, None): values for symbol, values in pairs}

    def log_density(self, theta: VectorDensity) -> Parts:
        """log p of each mean given its covariance, and of each covariance, `(c,)`; classes that
        share a covariance have equal parts of it.
        """
        width = self.width
        half = self.dof / 2
        root = theta.root
        mean = self.count * norm(root.whitening, theta.mean, self.location) ** 2
        mean = (width * (np.log(self.count) - LOG_2PI) - root.log_det - mean) / 2
        trace = ((root.whitening @ self.root.factor) ** 2).sum(axis=(-2, -1))
        gammas = multigammaln(half, width) + half * width * np.log(2)
        covariance = half * self.log_det - gammas - trace / 2
        covariance = covariance - (self.dof + width + 1) / 2 * root.log_det
        return {("mu", None): mean[..., 0], ("cov", None): covariance[..., 0] / self.tied}

    def variables(self, pm: Any, names: VariableNames) -> VectorDensity:
        """theta from PyMC variables for Bartlett's triangle and the standardised offset of the
        mean.

        The density keeps the whitening of the covariance, A' L**-1, so that likelihoods need no
        other factorisation.
        """
        width = self.width
        mean = names("mu")
        cov = names("cov")
        whitening, log_det = _whitening(pm, self[:: self.tied], cov["name"])
        every = np.ones((len(self), 1, 1))
        back = pm.math.matrix_inverse(whitening) * every
        offset = pm.Normal(f"{mean['name']}_offset", 0.0, 1.0, shape=(len(self), width))
        step = (back @ offset[:, :, None])[:, :, 0] / np.sqrt(self.count)
        location = pm.Deterministic(**mean, var=self.location[:, 0] + step)
        covariance = pm.Deterministic(cov["name"], back @ back.transpose((0, 2, 1)))
        density = VectorDensity.raw(location[:, None], covariance[:, None])
        whitening = (whitening * every)[:, None]
        density.__dict__["root"] = Root(back[:, None], whitening, log_det * every[:, 0])
        return density


def checked_fields(
    mean: Any, count: Any, dof: Any, scale: Any
) -> tuple[Array, Array, Array, Array]:
    """Check a user's parameters; expand numbers to d columns if d is known."""
    location = checked(f"{NAME}: mean", mean, -FARTHEST, FARTHEST)
    scale = checked(f"{NAME}: scale", scale, -np.inf)
    count = checked(f"{NAME}: count", count)
    dof = checked(f"{NAME}: dof", dof)
    known = (*scale.shape[-1:], *location.shape[-1:])
    width = known[0] if known else 1
    if known and not scale.ndim:
        scale = scale * np.eye(width)
    if known and not location.ndim:
        location = np.full(width, location)
    if known and (scale.shape[-2:] != (width, width) or location.shape[-1] != width):
        raise ValueError(
            f"{NAME}: scale must be a number, or a symmetric matrix with one row and column for "
            f"each column of the block, got shape {scale.shape} with a mean of shape "
            f"{location.shape}."
        )
    matrices = np.atleast_2d(scale)
    unit = np.sqrt(np.maximum(diagonal(matrices), 0.0))
    asymmetric = np.abs(matrices - transposed(matrices)) > SYMMETRIC * outer(unit)
    if asymmetric.any() or np.isnan(factor(matrices)).any():
        raise ValueError(
            f"{NAME}: scale must be symmetric and positive definite, got {scale.tolist()}. "
            "A scatter matrix is, if its columns are linearly independent."
        )
    if (dof <= width - 1).any():
        raise ValueError(
            f"{NAME}: dof must be above the number of columns less one, {width - 1}, got "
            f"{dof.min():g}."
        )
    return location, count, dof, scale


def _whitening(pm: Any, belief: Any, name: str) -> tuple[Any, Any]:
    """A' L**-1, `(c, d, d)`, and the log determinant of the covariance, `(c, 1)`."""
    width = belief.width
    classes = len(belief.dof)
    squares = pm.ChiSquared(f"{name}_squares", nu=belief.dof - np.arange(width))
    entries, (rows, columns) = pm.math.sqrt(squares), np.tril_indices(width, -1)
    basis = np.zeros((width + len(rows), width, width))
    basis[np.arange(width), np.arange(width), np.arange(width)] = 1.0
    basis[width + np.arange(len(rows)), columns, rows] = 1.0  # transposed
    if len(rows):
        below = pm.Normal(f"{name}_triangle", 0.0, 1.0, shape=(classes, len(rows)))
        entries = pm.math.concatenate([entries, below], axis=1)
    triangle = (entries @ basis.reshape(len(basis), -1)).reshape((classes, width, width))
    log_det = belief.log_det - pm.math.log(squares).sum(axis=-1)[:, None]
    return triangle @ belief.root.whitening[:, 0], log_det


def log_growth(before: Any, after: Any) -> Array:
    """Increase of log det scale in an update, exact also where it is small."""
    whitening = before.root.whitening
    gain = whitening @ (after.scale - before.scale) @ transposed(whitening)
    grown = after.log_det - before.log_det
    small = np.trace(gain, axis1=-2, axis2=-1) < 1
    if not small.any():
        return grown
    each = np.linalg.eigvalsh(np.where(small[..., None, None], gain, 0.0))
    return np.where(small, np.log1p(np.maximum(each, 0.0)).sum(axis=-1), grown)


def squared_distances(belief: NormalInverseWishart, x: Array) -> tuple[Array, Array, Array]:
    """|b|**2 and |a|**2, squared distances of rows from the second class and the first, and |a|**2
    |b|**2 - (a b)**2. Each `(r, 1)`.
    """
    whitening = belief.root.whitening[0, 0]
    far = (x - belief.location[1, 0]) @ whitening.T
    step = turned(whitening, belief.location[1, 0] - belief.location[0, 0])
    square = inner(far, far)
    # the part of b - a that is orthogonal to b
    across = step - ratio((far @ step)[:, None], square) * far
    near = far + step
    return square, inner(near, near), square * inner(across, across)


def shaped_fields(fields: Sequence[Array], classes: int, width: int) -> list[Array]:
    """Broadcast the arrays of a prior to the axes of a block, or raise with their names."""
    location, count, dof, scale = fields
    matrix = scale if scale.ndim else scale * np.eye(width)
    fitted = []
    try:
        for array, own in ((location, 1), (count, 0), (dof, 0), (matrix, 2)):
            wide = np.expand_dims(array, 1) if array.ndim == own + 1 else array
            fitted.append(np.broadcast_to(np.array(wide), (classes, 1, *(width,) * own)))
    except ValueError:
        raise ValueError(
            f"MultivariateGaussian: a prior with mean, count, dof and scale of shapes "
            f"{', '.join(str(np.shape(field)) for field in fields)} does not fit {classes} "
            f"classes and a block of {width} columns. Give numbers, or as many as there are "
            "columns."
        ) from None
    if (fitted[2] < width - 1).any():
        raise ValueError(
            f"MultivariateGaussian: dof must be above {width - 1} for a block of {width} columns, "
            f"got {fitted[2].min():g}."
        )
    return fitted


def weak_prior(pooled: VectorStats) -> NormalInverseWishart:
    """The prior with 0.01 pseudo-rows for the mean, and two for the variance of each column."""
    covariance = ratio(pooled.scatter, pooled.count)
    width = len(pooled.mean)
    variance = diagonal(covariance)
    near = NEAR * np.spacing(np.abs(pooled.mean))
    constant = np.sqrt(variance) <= near  # up to rounding
    covariance = np.where(constant[:, None] | constant, 0.0, covariance) + np.diag(
        np.where(constant, 1.0, 0.0)
    )
    root = factor(covariance)
    # standard deviations of the columns given those before
    if not (diagonal(root) > np.where(constant, 0.0, near)).all():
        covariance = np.diag(diagonal(covariance))
    return NormalInverseWishart(pooled.mean, 0.01, width + 1.0, 2 * covariance)


BLOCK = Hyperparameters(
    names=("count", "shape", "scale"),
    weak=(0.01, 1.0, 1.0),
    factors=("strength", "scale"),
    note="In blocks of Gaussians l multiplies the count and scale of the estimator's prior, and "
    "its dof above the number of columns less one, so that each column has marginally the prior "
    "of a Gaussian column.",
    extremes=VARIANCES,
)


@dataclass(frozen=True, eq=False, repr=False)
class MultivariateGaussian(NormalFamily[VectorStats]):
    """Dependent columns of real numbers: a multivariate normal distribution for each class.

    Parameters
    ----------
    prior : NormalInverseWishart or None, default=None
        The prior. None: a weak one on the scale of the data, under which each column has marginally
        the prior of ``Gaussian()``. If columns are collinear, or rows too few to span the block, it
        has no correlations; constant columns have variance 1.
    shared : bool, default=False
        Whether classes share one covariance, each with its own means: Bayesian linear discriminant
        analysis. A prior must then have the same ``dof`` and ``scale`` for every class.

    See Also
    --------
    Gaussian : Columns that are independent given the class.
    JointTable : Joint models of columns of levels.

    Notes
    -----
    Posterior and predictive, a multivariate Student t, are exact. One block of all columns is
    Bayesian quadratic discriminant analysis. Under the weak prior, predictions do not change under
    invertible affine maps of the block.

    In training, rows that lack cells of the block are not counted; in prediction, missing cells are
    integrated out.

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

    word: ClassVar[str] = "multivariate"
    content: ClassVar[str] = "numbers, a bell-shaped cloud per class"
    stats: ClassVar[type[Stats]] = VectorStats
    conjugate: ClassVar[type[Belief]] = NormalInverseWishart
    hyperparameters: ClassVar[Hyperparameters | None] = BLOCK
    multivariate: ClassVar[bool] = True

    @property
    def columnwise(self) -> Gaussian:
        return Gaussian()

    def weak_prior(self, stats: VectorStats) -> NormalInverseWishart:
        return weak_prior(stats[:, 0].pooled())

    def shaped(self, prior: NormalInverseWishart, stats: VectorStats) -> Sequence[Array]:
        return shaped_fields(prior.fields, len(stats), stats.mean.shape[-1])

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
        """Set count, shape and scale as for Gaussian columns, `(1,)` or `(c, 1)`, around the pooled
        mean and covariance.
        """
        count, shape, scale = (np.asarray(value, float).ravel() for value in values)
        if count.size == 1:
            count = count[0]
            shape = shape[0]
            scale = scale[0]
        weak = self.weak_prior(stats)
        dof = weak.width - 1 + 2 * shape
        matrix = (shape * scale)[..., None, None] * weak.scale
        return replace(self, prior=NormalInverseWishart(weak.location, count, dof, matrix))
