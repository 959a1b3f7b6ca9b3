"""Blocks of real numbers that depend on each other: a Gaussian with a full covariance for each
class.

    covariance ~ InverseWishart(dof, scale)      mean | covariance ~ Normal(location, covariance /
    count)

With d columns it has d + d (d + 1) / 2 parameters a class, where columns that are independent have
2 d. Equations: Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 8;
the predictive is the multivariate Student t. One block of all columns is Bayesian quadratic
discriminant analysis: Geisser (1964), Posterior odds for multivariate normal classifications. With
`shared=True` all classes have one covariance, and what tells them apart is linear in the cells.

Missing cells are integrated out. Some columns by themselves have a belief of the same kind, with as
many dof fewer as columns are left out; the rows of one pattern of missing cells are worked on
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
# how far two entries of a matrix may be apart, as a part of the geometric mean of their variances
SYMMETRIC = 1e-12
NEAR = 2.0  # spacings of a float


@dataclass(frozen=True, eq=False)
class VectorStats(MomentStats):
    """Complete rows seen, their mean, and their summed squares and products about it.

    A row that lacks a cell of the block is not counted: it has no conjugate update.
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
        """The stats of some columns, of the same rows."""
        scatter = self.scatter[..., places, :][..., places]
        return VectorStats(self.count, self.mean[..., places], scatter)

    @property
    def columns(self) -> GaussianStats:
        """The stats of each column by itself, `(c, d)`."""
        return GaussianStats(
            self.count + np.zeros(self.mean.shape[-1]),
            self.mean[:, 0],
            diagonal(self.scatter)[:, 0],
        )

    def without(
        self, part: Self, every: Any = False, rounding: float = SLACK
    ) -> tuple[Self, Array]:
        """What stays, and where a column by itself is at fault, or the scatter that stays is
        negative in a direction.
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
        """The columns of extreme numbers, infinite ones, or only one."""
        return self.columns.invalid_columns()


def _moments(x: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Count, mean and scatter of one class's rows, `(r, d), (r,) -> (), (d,), (d, d)`, about a row
    of their own.
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
    """Scatters in which a column that is constant, but for rounding, has no squares and no
    products.
    """
    spread = ~(diagonal(scatter) <= 0)
    return np.where(spread[..., None, :] & spread[..., None], scatter, 0.0)


@dataclass(frozen=True, eq=False)
class VectorDensity(Density):
    """A Gaussian over a block: `(..., d)` means and `(..., d, d)` covariances."""

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
        """The density of some columns."""
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
        """Far from zero the means' squares have no digit left for their difference."""
        return self.linear(self.mean[place])

    def linear(self, other: Any = 0.0) -> Linear | None:
        """Linear where all classes have one covariance: squares and products then cancel between
        classes.
        """
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
    """A multivariate Gaussian's two parameters, as a mean or a mode."""

    mean: Array
    covariance: Array


@dataclass(frozen=True, eq=False, init=False, repr=False)
class NormalInverseWishart(StudentBelief):
    r"""Normal-inverse-Wishart distribution: the prior of ``MultivariateGaussian``.

    Parameters
    ----------
    mean : float or array
        Where the means of the d columns are expected: one number, one for each column, or ``(c,
        d)`` for each class.
    count : float or array
        How many rows the belief about the means is worth: a number, or one for each class.
    dof : float or array
        Degrees of freedom, above d - 1: a number, or one for each class.
    scale : float or array
        A number times the identity, or a symmetric positive definite matrix, ``(d, d)`` or ``(c, d,
        d)``. The expected covariance is scale / (dof - d - 1).
    models : int, default=0
        0 where each class has a covariance of its own. 1 where classes, along the first axis, have
        it in common, as under ``MultivariateGaussian(shared=True)``; more for as many such models,
        side by side.

    See Also
    --------
    MultivariateGaussian : A block of columns of real numbers.
    NormalInverseGamma : The same for one column.

    Notes
    -----
    .. math::

        \text{covariance} &\sim \text{InverseWishart}(\text{dof}, \text{scale}) \\ \text{mean} \mid
        \text{covariance} &\sim \text{Normal}(\text{mean}, \text{covariance} / \text{count})

    A cell is a whole row of the block. The predictive is the multivariate Student t with dof - d +
    1 degrees of freedom; ``predictive`` returns a list of them where there are several classes.
    ``interval`` is about each mean and each variance by itself. ``estimate("mean")`` takes the
    covariance of the expected precision where no covariance is expected, at a dof of d + 1 or less.

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
        # the multivariate t of a new row; for each class, if there are several
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
        """The belief that is worth `times` as many rows, a number or one for each class.

        It expects `scale` times the variance. A column's own variance is inverse Gamma with half of
        dof - d + 1 as its shape: that is what is multiplied.
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
        """The belief about some columns, whatever the others are."""
        if isinstance(present, slice):
            return self
        scale = self.scale[..., present, :][..., present]
        dof = self.dof - (self.width - scale.shape[-1])
        return self.made(self.location[..., present], self.count, dof, scale)

    def margins(self) -> NormalInverseGamma:
        """The belief about each column by itself, `(c, 1, d) -> (c, d)`."""
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
        """That of the columns one by one, `(c, 1)`."""
        each = self.margins().rounding_error(before.columns, part.columns, rest.columns)
        return each.max(axis=1, keepdims=True)

    def units(self, x: Cells) -> list[NumberUnit]:
        """The block as it is."""
        places = tuple(range(self.width))
        shape = (self.dof[:, 0] - self.width + 1) / 2
        location = np.asarray(self.location[:, 0])
        cells = np.asarray(x[:], float)
        return [NumberUnit(places, cells, self.count[:, 0], shape, location, self.scale[:, 0])]

    # PyMC

    def parts(self) -> Parts:
        """A count and dof for each column: those of its block."""
        count, dof = (np.repeat(each, self.width, axis=-1) for each in (self.count, self.dof))
        arrays = self.location[..., 0, :], count, dof, self.scale[..., 0, :, :]
        pairs = zip(self.symbols.values(), arrays, strict=True)
        return {(symbol, None): values for symbol, values in pairs}

    def log_density(self, theta: VectorDensity) -> Parts:
        """log p of each mean given its covariance, and of each covariance, `(c,)`: of one that
        classes share in equal parts.
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
        """Bartlett's triangle and the mean's standardised offset as PyMC's free variables, and what
        they make of theta.

        The density keeps the whitening of the covariance, A' L**-1, so that no likelihood needs
        another factor.
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
    """The parameters that a user gives, checked.

    An identity is spelled out where the number of columns is known.
    """
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
            f"{NAME}: scale must be a number, or one symmetric matrix of as many rows and columns "
            "as the block has "
            f"columns, got the shape {scale.shape} with a mean of the shape {location.shape}."
        )
    matrices = np.atleast_2d(scale)
    unit = np.sqrt(np.maximum(diagonal(matrices), 0.0))
    asymmetric = np.abs(matrices - transposed(matrices)) > SYMMETRIC * outer(unit)
    if asymmetric.any() or np.isnan(factor(matrices)).any():
        raise ValueError(
            f"{NAME}: scale must be symmetric and positive definite, got {scale.tolist()}. "
            "A sum of squares and products of rows is, if no column is a sum of others."
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
    """log det of the scale after, less that before, also where it has hardly grown."""
    whitening = before.root.whitening
    gain = whitening @ (after.scale - before.scale) @ transposed(whitening)
    grown = after.log_det - before.log_det
    small = np.trace(gain, axis1=-2, axis2=-1) < 1
    if not small.any():
        return grown
    each = np.linalg.eigvalsh(np.where(small[..., None, None], gain, 0.0))
    return np.where(small, np.log1p(np.maximum(each, 0.0)).sum(axis=-1), grown)


def squared_distances(belief: NormalInverseWishart, x: Array) -> tuple[Array, Array, Array]:
    """|b|**2 and |a|**2 of rows from the second class and the first, and |a|**2 |b|**2 - (a b)**2.

    Shape: `(r, 1)`.
    """
    whitening = belief.root.whitening[0, 0]
    far = (x - belief.location[1, 0]) @ whitening.T
    step = turned(whitening, belief.location[1, 0] - belief.location[0, 0])
    square = inner(far, far)
    # what no multiple of a explains of b - a
    across = step - ratio((far @ step)[:, None], square) * far
    near = far + step
    return square, inner(near, near), square * inner(across, across)


def shaped_fields(fields: Sequence[Array], classes: int, width: int) -> list[Array]:
    """A prior's arrays with the axes of a block, or an error that says which they lack."""
    location, count, dof, scale = fields
    matrix = scale if scale.ndim else scale * np.eye(width)
    fitted = []
    try:
        for array, own in ((location, 1), (count, 0), (dof, 0), (matrix, 2)):
            wide = np.expand_dims(array, 1) if array.ndim == own + 1 else array
            fitted.append(np.broadcast_to(np.array(wide), (classes, 1, *(width,) * own)))
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


def weak_prior(pooled: VectorStats) -> NormalInverseWishart:
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
    return NormalInverseWishart(pooled.mean, 0.01, width + 1.0, 2 * covariance)


BLOCK = Hyperparameters(
    names=("count", "shape", "scale"),
    weak=(0.01, 1.0, 1.0),
    factors=("strength", "scale"),
    note="In blocks of Gaussians the prior has l times the estimator's count and scale, and l "
    "times its dof above the number of columns less one, so that every column by itself has the "
    "prior of a Gaussian column.",
    extremes=VARIANCES,
)


@dataclass(frozen=True, eq=False, repr=False)
class MultivariateGaussian(NormalFamily[VectorStats]):
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
        """Count, shape and scale as of a Gaussian column, `(1,)` or `(c, 1)`, around the pooled
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
