"""Blocks of real numbers: their stats, which are count, mean and scatter, and a joint Gaussian that
is known.

A symmetric positive definite matrix is L L' with L lower triangular, its Cholesky factor; W = L**-1
is its whitening: |W v|**2 = v' matrix**-1 v. Matrices stand on the last two axes, vectors on the
last. Missing cells of a vector are integrated out, so that a value is that of the vector of the
cells which are there: the rows of one pattern of missing cells are worked on together.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.base import Array, Cells, Density, Parts, Rng, Stats
from bayesnb.families.normal_inverse_gamma import GaussianStats
from bayesnb.families.record import Linear
from bayesnb.families.removal import SLACK
from bayesnb.families.student import LOG_2PI, Slip
from bayesnb.families.sums import by_rows
from bayesnb.families.weight import Weight, by_class
from bayesnb.numerics.special import ratio
from bayesnb.numerics.threads import blocks
from bayesnb.numerics.views import EVERY, numbers

ROWS_AT_ONCE = 1 << 11  # of which a few columns stay in the cache
# of a variance, for each column: what rounding may leave of none
ROUNDED = 8 * float(np.finfo(float).eps)
There = Any  # the columns that a pattern has, `(d,)`, or all


def factor(matrix: Array) -> Array:
    """The Cholesky factors, `(..., d, d)`.

    NaN for a matrix that is not positive definite, or only by rounding.
    """

    def of_one(one: Array) -> Array:
        try:
            return np.linalg.cholesky(one)
        except np.linalg.LinAlgError:
            return np.full_like(one, np.nan)

    with np.errstate(all="ignore"):
        try:
            root = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            each = matrix.reshape(-1, *matrix.shape[-2:])
            root = np.stack([of_one(one) for one in each]).reshape(matrix.shape)
        pivots = diagonal(root) ** 2
        variances = diagonal(matrix)
        good = (pivots > ROUNDED * matrix.shape[-1] * variances).all(axis=-1)
    return np.where(good[..., None, None], root, np.nan)


def inverted(factors: Array) -> Array:
    """The inverses of lower triangular matrices, `(..., d, d)`; NaN where a factor is."""
    out = np.zeros(factors.shape)
    width = factors.shape[-1]
    with np.errstate(all="ignore"):
        for i in range(width):  # row by row, by substitution
            pivot = factors[..., i, i, None]
            out[..., i, i] = 1 / pivot[..., 0]
            out[..., i, :i] = -(factors[..., i, None, :i] @ out[..., :i, :i])[..., 0, :] / pivot
    return out


def diagonal(matrix: Array) -> Array:
    """`(..., d, d) -> (..., d)`."""
    return np.diagonal(matrix, axis1=-2, axis2=-1)


def log_det(factors: Array) -> Array:
    """The log determinants of the matrices whose factors these are, `(..., d, d) -> (...)`."""
    with np.errstate(divide="ignore"):
        return 2 * np.log(diagonal(factors)).sum(axis=-1)


class Whitened:
    """What has matrices, and reads them by their factors, each found once."""

    @property
    @abstractmethod
    def matrix(self) -> Array:
        """Symmetric positive definite ones, `(..., d, d)`."""

    @cached_property
    def factor(self) -> Array:
        """The Cholesky factors; NaN where a matrix is singular."""
        return factor(self.matrix)

    @cached_property
    def whitening(self) -> Array:
        """What makes of a row's distance from the mean, were the matrix its covariance, cells of
        variance 1.
        """
        return inverted(self.factor)

    @cached_property
    def log_det(self) -> Array:
        """The log determinants, `(...)`."""
        return log_det(self.factor)


def outer(vector: Array) -> Array:
    """`(..., d) -> (..., d, d)`."""
    return vector[..., :, None] * vector[..., None, :]


def inner(one: Array, two: Array) -> Array:
    """Inner products, `(..., d), (..., d) -> (..., 1)`."""
    return (one * two).sum(axis=-1, keepdims=True)


def transposed(matrix: Array) -> Array:
    """`(..., d, d) -> (..., d, d)`."""
    return matrix.swapaxes(-1, -2)


def turned(matrix: Array, vector: Array) -> Array:
    """matrix @ vector, broadcasting, `(..., d, d), (..., d) -> (..., d)`."""
    return (matrix @ vector[..., None])[..., 0]


def norm(whitening: Array, gap: Array) -> Array:
    """|whitening @ gap|, `(..., d, d), (..., d) -> (...)`, also where its square leaves the range
    of floats.
    """
    with np.errstate(all="ignore"):
        size = np.abs(gap).max(axis=-1)
        unit = np.where(size[..., None] > 0, gap / size[..., None], 0.0)
        z = turned(whitening, unit)
        root = size * np.sqrt((z * z).sum(axis=-1))
        return np.where(np.isinf(size), np.inf, root)


def by_pattern(x: Array, value: Callable[[Array, There], Array]) -> Array:
    """`value(cells, there)` of vectors, `(..., d)`, for each pattern of missing cells.

    0 of none.
    """
    x = np.asarray(x, float)
    there = ~np.isnan(x)
    if there.all():
        return value(x, EVERY)
    patterns, which = np.unique(there.reshape(-1, x.shape[-1]), axis=0, return_inverse=True)
    which = which.reshape(x.shape[:-1])
    cells = np.where(there, x, 0.0)
    total = np.zeros(())
    for p, present in enumerate(patterns):
        if present.any():
            values = value(cells[..., present], present)
        else:
            values = np.zeros_like(value(cells, EVERY))
        total = np.where(which == p, values, total)
    return total


def patterns_of(x: Array) -> list[tuple[Array, There]]:
    """The rows of each pattern of missing cells, and the columns that are there, `(r, d)`.

    Rows without any cell are left out.
    """
    there = ~np.isnan(x)
    if there.all():
        return [(np.arange(len(x)), EVERY)]
    patterns, which = np.unique(there, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(which.ravel()))[:-1])
    pairs = zip(groups, patterns, strict=True)
    return [(rows, EVERY if present.all() else present) for rows, present in pairs if present.any()]


def distances(x: Array, location: Array, whitening: Array, steps: Array | None = None) -> Array:
    """|whitening @ (x - location)|**2 of rows and classes, `(r, d), (c, d), (c, d, d) -> (r, c)`.

    Of one location and whitening, with steps `(1, c, d)`: |whitening @ (x - location) - step|**2.
    """
    steps = np.zeros((len(location), 1, x.shape[1])) if steps is None else steps
    out = np.empty((len(x), *steps.shape[:2]))
    with np.errstate(all="ignore"):
        for rows in blocks(len(x), ROWS_AT_ONCE):
            part = np.ascontiguousarray(x[rows].T)
            for c, (middle, matrix) in enumerate(zip(location, whitening, strict=True)):
                white = matrix @ (part - middle[:, None])
                for t, step in enumerate(steps[c]):
                    z = white - step[:, None]
                    out[rows, c, t] = np.einsum("dr,dr->r", z, z)
    return out.reshape(len(x), -1)


@dataclass(frozen=True, eq=False)
class VectorStats(Stats):
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

    def __add__(self, other: Self) -> Self:
        """Chan's merge of counts, means and scatters.

        With a negative count it is the subtraction.
        """
        count = self.count + other.count
        gap = other.mean - self.mean
        share = ratio(other.count, count)
        scatter = self.scatter + other.scatter + (self.count * share)[..., None, None] * outer(gap)
        return type(self)(count, self.mean + share[..., None] * gap, scatter)

    def __mul__(self, times: float) -> Self:
        return type(self)(times * self.count, self.mean, times * self.scatter)

    __rmul__ = __mul__

    @property
    def cells(self) -> Array:
        return self.count

    @property
    def counted_fields(self) -> list[str]:
        return ["count"]

    @property
    def columns(self) -> GaussianStats:
        """The stats of each column by itself, `(c, d)`."""
        return GaussianStats(
            self.count + np.zeros(self.mean.shape[-1]),
            self.mean[:, 0],
            diagonal(self.scatter)[:, 0],
        )

    def faults(self, part: Self, every: Array, rounding: float = SLACK) -> Array:
        """Where a column by itself is at fault, or the scatter that stays is negative in a
        direction.
        """
        rest = self - part
        alone = self.columns.faults(part.columns, every, rounding).any(axis=1, keepdims=True)
        columns = self.columns
        slip = self.columns.slip(part.columns, rest.columns).ssd
        unit = np.sqrt(columns.ssd + slip)
        with np.errstate(invalid="ignore", divide="ignore"):
            scaled = np.nan_to_num(rest.scatter[:, 0] / outer(unit), posinf=0.0, neginf=0.0)
            least = (SLACK + ratio(slip, columns.ssd).sum(axis=1)) * unit.shape[1]
        return alone | (np.linalg.eigvalsh(scaled)[:, :1] < -least[:, None])

    def remains(self, part: Self, rounding: float) -> Self:
        rest = self - part
        alone = self.columns.remains(part.columns, rounding)
        spread = alone.ssd > 0
        scatter = np.where(spread[:, :, None] & spread[:, None, :], rest.scatter[:, 0], 0.0)
        return type(self)(alone.count[:, :1], alone.mean[:, None], scatter[:, None])

    def slip(self, part: Self, rest: Self) -> Slip:
        """The slip of every column, `(c, 1, d)`.

        Of a product it is at most the geometric mean of two
        columns'.
        """
        mean, ssd = self.columns.slip(part.columns, rest.columns)
        return Slip(mean[:, None], ssd[:, None])

    def invalid_columns(self) -> Array:
        """The columns of extreme numbers, infinite ones, or only one."""
        return self.columns.invalid_columns()

    def pooled(self) -> Self:
        """All classes as one, `(c, 1, ...) -> (...)`."""
        total = self[0]
        for c in range(1, len(self)):
            total = total + self[c]
        return total[0]

    def mle(self) -> "VectorDensity":
        seen = (self.count > 0)[..., None, None]
        return VectorDensity(
            self.mean, np.where(seen, ratio(self.scatter, self.count[..., None, None]), np.nan)
        )


@dataclass(frozen=True, eq=False)
class SharedVectorStats(VectorStats):
    """Count, mean and scatter of classes that have one covariance."""

    def mle(self) -> "VectorDensity":
        """The covariance within classes, pooled; a class without rows has no density."""
        count = self.count.sum(axis=0)
        seen = (self.count > 0)[..., None, None]
        covariance = ratio(self.scatter.sum(axis=0), count[..., None, None])
        return VectorDensity(self.mean, np.where(seen, covariance, np.nan))


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
class VectorDensity(Whitened, Density):
    """A Gaussian over a block: `(..., d)` means and `(..., d, d)` covariances."""

    multivariate: ClassVar[bool] = True
    mean: Array
    covariance: Array

    def parts(self) -> Parts:
        return {("mu", None): self.mean[..., 0, :], ("cov", None): self.covariance[..., 0, :, :]}

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        return cls(parts["mu", None][..., None, :], parts["cov", None][..., None, :, :])

    @property
    def matrix(self) -> Array:
        return self.covariance

    def of_columns(self, there: Any) -> Self:
        """The density of some columns."""
        if isinstance(there, slice):
            return self
        return type(self)(self.mean[..., there], self.covariance[..., there, :][..., there])

    def log_density(self, x: Array) -> Array:
        """Log density of vectors on the last axis; missing cells are integrated out."""

        def complete(cells: Array, there: Any) -> Array:
            narrowed = self.of_columns(there)
            with np.errstate(over="ignore"):
                return narrowed._at(norm(narrowed.whitening, cells - narrowed.mean) ** 2)

        return by_pattern(x, complete)

    def _at(self, distance: Array) -> Array:
        """The log-density at a squared distance from the mean, in units of the covariance."""
        return -(self.mean.shape[-1] * LOG_2PI + self.log_det + distance) / 2

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        return by_rows(lambda rows: self._score(numbers(x, rows)), x.shape, len(self), out, n_jobs)

    def _score(self, x: Array) -> Array:
        total = np.zeros((len(x), len(self)))
        for rows, there in patterns_of(x):
            narrowed = self.of_columns(there)
            apart = distances(x[rows][:, there], narrowed.mean[:, 0], narrowed.whitening[:, 0])
            total[rows] = narrowed._at(np.zeros(()))[:, 0] - apart / 2
        return total

    def linear(self) -> Linear | None:
        """Linear where all classes have one covariance: squares and products then cancel between
        classes.
        """
        if not self.proper.all() or (self.covariance != self.covariance[:1]).any():
            return None
        white = turned(self.whitening, self.mean)[:, 0]
        return Linear(turned(transposed(self.whitening[:, 0]), white), -(white**2).sum(axis=-1) / 2)

    def linear_against(self, place: int) -> Linear | None:
        """Far from zero the means' squares have no digit left for their difference."""
        ends = self.mean - self.mean[place], self.mean + self.mean[place]
        gap, both = (turned(self.whitening, end)[:, 0] for end in ends)
        weights = turned(transposed(self.whitening[:, 0]), gap)
        return self.linear() and Linear(weights, -(gap * both).sum(axis=-1) / 2)

    def log_likelihood(self, stats: VectorStats, xp: Any = np) -> Any:
        gap = turned(self.whitening, stats.mean - self.mean)
        spread = ((self.whitening @ stats.scatter) * self.whitening).sum(axis=-1).sum(axis=-1)
        spread = spread + stats.count * (gap * gap).sum(axis=-1)
        return -(stats.count * (stats.mean.shape[-1] * LOG_2PI + self.log_det) + spread) / 2

    def cell(self, pm: Any) -> tuple[Any, dict[str, Any]]:
        return pm.MvNormal, {"mu": self.mean[..., 0, :], "cov": self.covariance[..., 0, :, :]}

    @property
    def proper(self) -> Array:
        return np.isfinite(self.log_det) & np.isfinite(self.mean).all(axis=-1)

    def sample(self, rng: Rng) -> Array:
        return self.mean + turned(
            self.factor, np.random.default_rng(rng).standard_normal(self.mean.shape)
        )
