"""A Gaussian over a block of columns, whose mean and covariance are both unknown.

    covariance ~ InverseWishart(dof, scale)      mean | covariance ~ Normal(location, covariance /
    count)

Equations: Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 8; the
predictive is the multivariate Student t. Some columns by themselves have a belief of the same kind,
with as many dof fewer as columns are left out: by that a row is predicted of which cells are
missing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import multigammaln

from bayesnb.families.base import ORDER, Array, Cells, Density, Narrowed, Parts, Rng
from bayesnb.families.normal_inverse_gamma import NormalInverseGamma
from bayesnb.families.record import (
    FARTHEST,
    Expected,
    VariableNames,
    checked,
    lead,
    of_powers,
)
from bayesnb.families.student import LOG_2PI, LOG_PI, StudentBelief, multi_gamma_ratio
from bayesnb.families.sums import by_rows
from bayesnb.families.units import NumberUnit
from bayesnb.families.vectors import (
    There,
    VectorDensity,
    VectorStats,
    Whitened,
    by_pattern,
    diagonal,
    distances,
    factor,
    norm,
    outer,
    patterns_of,
    transposed,
    turned,
)
from bayesnb.numerics import special
from bayesnb.numerics.special import ratio
from bayesnb.numerics.views import EVERY, numbers

FIELDS = ("location", "count", "dof", "scale")
SYMBOLS = ("mu_mean", "mu_count", "cov_dof", "cov_scale")
NAME = "NormalInverseWishart"
# how far two entries of a matrix may be apart, as a part of the geometric mean of their variances
SYMMETRIC = 1e-12


class MeanCovariance(NamedTuple):
    """A multivariate Gaussian's two parameters, as a mean or a mode."""

    mean: Array
    covariance: Array


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
    width = scale.shape[-1] if scale.ndim else location.shape[-1] if location.ndim else None
    if scale.ndim == 0 and width is not None:
        scale = scale * np.eye(width)
    if width is not None and location.ndim == 0:
        location = np.full(width, location)
    if scale.ndim and (
        scale.ndim == 1
        or scale.shape[-1] != scale.shape[-2]
        or location.shape[-1] != scale.shape[-1]
    ):
        raise ValueError(
            f"{NAME}: scale must be a number, or one symmetric matrix of as many rows and columns "
            "as the block has "
            f"columns, got the shape {scale.shape} with a mean of the shape {location.shape}."
        )
    matrices = scale if scale.ndim else scale[None, None]
    unit = np.sqrt(np.maximum(diagonal(matrices), 0.0))
    asymmetric = np.abs(matrices - matrices.swapaxes(-1, -2)) > SYMMETRIC * outer(unit)
    if asymmetric.any() or np.isnan(factor(matrices)).any():
        raise ValueError(
            f"{NAME}: scale must be symmetric and positive definite, got {scale.tolist()}. "
            "A sum of squares and products of rows is, if no column is a sum of others."
        )
    least = 0 if width is None else width - 1
    if (dof <= least).any():
        raise ValueError(
            f"{NAME}: dof must be above the number of columns less one, {least}, got {dof.min():g}."
        )
    return location, count, dof, scale


def strengthened_fields(
    fields: tuple[Array, ...], times: Any, scale: float, width: int
) -> tuple[Array, ...]:
    """A prior worth so many times as many rows, which expects `scale` times the variance.

    A column's own variance is inverse Gamma with half of dof - d + 1 as its shape: that is what is
    multiplied.
    """
    location, count, dof, matrix_scale = fields
    matrix_scale = matrix_scale if matrix_scale.ndim else matrix_scale * np.eye(width)
    times = np.asarray(times, float)
    times = times.reshape(()) if times.size == 1 else times.reshape(len(times), -1)[:, 0]
    matrix = times[:, None, None] if times.ndim else times
    return (
        location,
        times * count,
        width - 1 + times * (dof - width + 1),
        matrix * scale * matrix_scale,
    )


@dataclass(frozen=True, eq=False, init=False, repr=False)
class NormalInverseWishart(Whitened, StudentBelief):
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

    multivariate: ClassVar[bool] = True
    degree: ClassVar[int] = 2
    density: ClassVar[type[Density]] = VectorDensity
    moments: ClassVar[Any] = MeanCovariance
    renamed: ClassVar[dict[str, str]] = {"location": "mean"}
    symbols: ClassVar[dict[str, str]] = dict(zip(FIELDS, SYMBOLS, strict=True))

    def __init__(self, mean: Any, count: Any, dof: Any, scale: Any) -> None:
        for name, value in zip(FIELDS, checked_fields(mean, count, dof, scale), strict=True):
            object.__setattr__(self, name, value)

    def map(self, change: Any, *others: Self) -> Self:
        """Field by field; what is known to be a belief is not checked again."""
        fields = []
        for name in FIELDS:
            fields.append(change(*(getattr(belief, name) for belief in (self, *others))))
        return self.made(*fields)

    def made(self, *fields: Array) -> Self:
        return self.raw(*fields, *self.layout_values)

    @property
    def width(self) -> int:  # type: ignore[override]
        """The number of columns."""
        return self.location.shape[-1]

    @property
    def mean(self) -> Expected:
        """The parameter ``mean``; called, ``mean()``, the expected means and covariance.

        The expected covariance is infinite for a dof of d + 1 or less.

        See Also
        --------
        mode : The most probable means and covariance.

        Examples
        --------
        >>> from bayesnb import NormalInverseWishart
        >>> scale = [[4.0, 0.0], [0.0, 2.0]]
        >>> NormalInverseWishart(mean=0.0, count=1.0, dof=5.0, scale=scale).mean().covariance
        array([[2., 0.],
               [0., 1.]])
        """
        parameter = self.location.view(Expected)
        parameter.expectation = self.expected()
        return parameter

    @property
    def matrix(self) -> Array:
        return self.scale

    @property
    def squares(self) -> Array:
        return diagonal(self.scale)

    @property
    def white(self) -> Array:
        """The location in units of the scale."""
        return turned(self.whitening, self.location)

    def per_column(self, values: Array) -> Array:
        return values[..., None]

    def per_entry(self, values: Array) -> Array:
        return values[..., None, None]

    def whitened_size(self, change: Array) -> Array:
        with np.errstate(invalid="ignore"):
            size = np.sqrt((turned(np.abs(self.whitening), change) ** 2).sum(axis=-1))
        return np.where((change == 0).all(axis=-1), 0.0, size)

    @property
    def proper(self) -> Array:
        return (self.count > 0) & (self.dof > self.width - 1) & np.isfinite(self.log_det)

    def of_columns(self, there: There) -> "NormalInverseWishart":
        """The belief about some columns, whatever the others are."""
        if isinstance(there, slice):
            return self
        scale = self.scale[..., there, :][..., there]
        dof = self.dof - (self.width - scale.shape[-1])
        return NormalInverseWishart.raw(self.location[..., there], self.count, dof, scale)

    def patterns(self, x: Array) -> Iterator[tuple[Array, "NormalInverseWishart", Array]]:
        """Rows with cells in the same columns: which they are, the belief about these columns, and
        their cells.
        """
        for rows, there in patterns_of(x):
            yield rows, self.of_columns(there), x[rows][:, there]

    def margins(self) -> NormalInverseGamma:
        """The belief about each column by itself, `(c, 1, d) -> (c, d)`."""
        location = self.location[:, 0]
        free = self.dof - self.width + 1
        count, shape = (np.broadcast_to(each, location.shape) for each in (self.count, free / 2))
        return NormalInverseGamma(location, count, shape, self.squares[:, 0] / 2)

    def narrowed(self, x: Cells, observe: Callable[..., Any]) -> Narrowed:
        cells = numbers(x, EVERY)
        there = ~np.isnan(cells[0])
        if there.all() or not there.any():
            return Narrowed(self, x, observe)
        narrowed = self.of_columns(there)
        fields = (getattr(narrowed, name) for name in FIELDS)
        return Narrowed(self.made(*fields), np.ascontiguousarray(cells[:, there]), observe)

    def units(self, x: Cells) -> list[NumberUnit]:
        """The block as it is."""
        places = tuple(range(self.width))
        shape = (self.dof[:, 0] - self.width + 1) / 2
        location = np.asarray(self.location[:, 0])
        cells = np.asarray(x[:], float)
        return [NumberUnit(places, cells, self.count[:, 0], shape, location, self.scale[:, 0])]

    def update(self, stats: VectorStats) -> Self:
        share = ratio(stats.count, self.count + stats.count)
        return self.made(
            self.location + share[..., None] * (stats.mean - self.location),
            self.count + stats.count,
            self.dof + self.per_class(self.pooled(stats.count)),
            self.scale + self.per_class(self.pooled(self.surprise(stats))),
        )

    def surprise(self, stats: VectorStats) -> Array:
        """The data's addition to the scale: their scatter about their mean, and that about the
        location.
        """
        weight = self.count * ratio(stats.count, self.count + stats.count)
        return stats.scatter + weight[..., None, None] * outer(stats.mean - self.location)

    def strengthened(self, times: Any) -> Self:
        """The belief that is worth `times` as many rows.

        Every column expects the same mean and variance.
        """
        fields = tuple(getattr(self, name) for name in FIELDS)
        return self.made(*strengthened_fields(fields, times, 1.0, self.width))

    def log_evidence(self, stats: VectorStats, xp: Any = special) -> Array:
        after = self.update(stats)
        half = self.pooled(stats.count) / 2
        dof = self.per_model(self.dof) / 2
        grown = self.per_model(log_growth(self, after))
        gain = multi_gamma_ratio(dof, half, self.width) - dof * grown
        gain = gain - half * (self.width * LOG_PI + self.per_model(after.log_det))
        return gain - self.width * self.pooled(np.log1p(stats.count / self.count)) / 2

    def at_roots(self, x: Array, value: Callable[["NormalInverseWishart", Array], Array]) -> Array:
        """`value(belief, distance)` of vectors and the belief about the columns that they have."""

        def complete(cells: Array, there: There) -> Array:
            narrowed = self.of_columns(there)
            return value(narrowed, norm(narrowed.whitening, cells - narrowed.location))

        return by_pattern(x, complete)

    def log_moment(self, x: Array, s: Any) -> Array:
        return self.at_roots(x, lambda belief, root: belief.moment_at(root, s))

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        return self.at_roots(x, lambda belief, root: belief.cumulants_at(root**2, order, tilt))

    def distances(self, x: Array) -> Array:
        """(x - location)' scale**-1 (x - location) of complete rows and classes.

        Shapes: `(r, d) -> (r, c)`.
        """
        return distances(x, self.location[:, 0], self.whitening[:, 0])

    def by_rows(
        self, x: Array, axes: tuple[int, ...], value: Callable[..., Array], dtype: Any = float
    ) -> Array:
        """`value(belief, distances, rows)` of rows with the same cells, `(r, c, 1)`.

        0 of rows without any, `-> (r, c, ...)`.
        """
        total = np.zeros((len(x), len(self), *axes), dtype)
        for rows, narrowed, cells in self.patterns(x):
            total[rows] = value(narrowed, narrowed.distances(cells)[..., None], rows)
        return total

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        return by_rows(lambda rows: self._score(numbers(x, rows)), x.shape, len(self), out, n_jobs)

    def _score(self, x: Array) -> Array:
        """Log density of the multivariate t, `(r, c)`."""

        def student(belief: Any, distance: Array, rows: Array) -> Array:
            fall = (belief.dof + 1) / 2 * np.log1p(distance / (1 + 1 / belief.count))
            return belief.height(1.0) - fall

        total = self.by_rows(x, (1,), student)[..., 0]
        overflowed = ~np.isfinite(total).all(axis=1)
        if overflowed.any():
            total[overflowed] = self.defined_score(x[overflowed])
        return total

    def row_log_moment(self, x: Cells, s: Any) -> Array:
        def moment(belief: Any, distance: Array, rows: Array) -> Array:
            at = s[rows][..., None] if np.ndim(s) == 2 else s
            return belief.moment_at(np.sqrt(distance), at)

        return self.by_rows(numbers(x, EVERY), (1,), moment)[..., 0]

    def score_cumulants(self, x: Cells, tilt: float = 0.0, power: Any = 1.0) -> Array:
        def cumulants(belief: Any, distance: Array, rows: Array) -> Array:
            return np.moveaxis(belief.cumulants_at(distance, ORDER, tilt * power)[..., 0], 0, -1)

        total = self.by_rows(numbers(x, EVERY), (ORDER,), cumulants)
        return of_powers(np.moveaxis(total, -1, 0), power)

    def score_transform(self, x: Cells, s: Array, power: Any = 1.0) -> Array:
        s = np.asarray(s, complex) * power

        def moment(belief: Any, distance: Array, rows: Array) -> Array:
            return belief.moment_at(np.sqrt(distance), s)

        return self.by_rows(numbers(x, EVERY), (len(s),), moment, complex)

    def sample(self, rng: Rng, size: Any = None) -> VectorDensity:
        # with L L' the scale and A A' ~ Wishart(dof, I), by Bartlett's triangle A, a covariance is
        # L (A A')**-1 L'
        rng = np.random.default_rng(rng)
        size = lead(size)
        factor = self.per_model(self.factor)
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

    def parts(self) -> Parts:
        """A count and dof for each column: those of its block."""
        location = self.location[..., 0, :]
        scale = self.scale[..., 0, :, :]
        count, dof = (np.repeat(each, self.width, axis=-1) for each in (self.count, self.dof))
        pairs = zip(SYMBOLS, (location, count, dof, scale), strict=True)
        return {(symbol, None): values for symbol, values in pairs}

    def log_density(self, theta: VectorDensity) -> Parts:
        """log p of each mean given its covariance, and of each covariance, `(c,)`: of one that
        classes share in equal parts.
        """
        width = self.width
        half = self.dof / 2
        mean = self.count * norm(theta.whitening, theta.mean - self.location) ** 2
        mean = (width * (np.log(self.count) - LOG_2PI) - theta.log_det - mean) / 2
        trace = ((theta.whitening @ self.factor) ** 2).sum(axis=(-2, -1))
        gammas = multigammaln(half, width) + half * width * np.log(2)
        covariance = half * self.log_det - gammas - trace / 2
        covariance = covariance - (self.dof + width + 1) / 2 * theta.log_det
        return {("mu", None): mean[..., 0], ("cov", None): covariance[..., 0] / self.tied}

    def predictive(self) -> Any:
        # the multivariate t of a new row; for each class, if there are several
        from scipy.stats import multivariate_t

        if self.count.ndim:
            return [self[c].predictive() for c in range(len(self))]
        free = float(self.dof - self.width + 1)
        return multivariate_t(self.location, self.scale * (1 + 1 / self.count) / free, free)

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
        density.__dict__["whitening"] = (whitening * every)[:, None]
        density.__dict__["log_det"] = log_det * every[:, 0]
        return density


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
    return triangle @ belief.whitening[:, 0], log_det


def log_growth(before: Any, after: Any) -> Array:
    """log det of the scale after, less that before, also where it has hardly grown."""
    gain = before.whitening @ (after.scale - before.scale) @ transposed(before.whitening)
    grown = after.log_det - before.log_det
    small = np.trace(gain, axis1=-2, axis2=-1) < 1
    if not small.any():
        return grown
    each = np.linalg.eigvalsh(np.where(small[..., None, None], gain, 0.0))
    return np.where(small, np.log1p(np.maximum(each, 0.0)).sum(axis=-1), grown)
