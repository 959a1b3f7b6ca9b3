"""Blocks of real numbers whose joint Gaussian is known, and what such blocks say: count, mean and scatter."""

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import Array, Cells, Density, Parts, Rng, Stats, by_rows
from bayesnb.families.gaussian_density import LOG_2PI, GaussianStats, Slip
from bayesnb.families.record import Linear
from bayesnb.families.removal import SLACK
from bayesnb.families.weight import Weight, by_class
from bayesnb.families.whitening import (
    Whitened,
    by_pattern,
    diagonal,
    distances,
    outer,
    patterns_of,
    square,
    turned,
)
from bayesnb.numerics.special import ratio
from bayesnb.numerics.threads import in_order, pieces
from bayesnb.numerics.views import EVERY, numbers


@dataclass(frozen=True, eq=False)
class VectorStats(Stats):
    """Complete rows seen, their mean, and their summed squares and products about it.

    A row that lacks a cell of the block says nothing here: it has no conjugate update.
    """

    degree: ClassVar[int] = 2
    count: Array  # `(c, 1)`
    mean: Array  # `(c, 1, d)`
    scatter: Array  # `(c, 1, d, d)`

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None) -> Self:
        width, classes = x.shape[1], weight.classes

        def count_rows(rows: slice) -> "VectorStats":
            codes, part = weight.codes[rows], numbers(x, rows)
            order, starts = np.empty(len(codes), np.int64), np.empty(classes + 1, np.int64)
            numerics.row_kernels.group(codes, order, starts)
            moments = np.zeros(classes), np.zeros((classes, width)), np.zeros((classes, width, width))
            numerics.elliptic_kernels.moments(part, order, starts, weight.counts[rows], *moments)
            return cls(*(each[:, None] for each in moments))

        total: Any = reduce(add, in_order(count_rows, pieces(x.shape[0], width, 4 * classes), n_jobs))
        return cls(total.count, total.mean, settled(total.scatter))

    @classmethod
    def defined(cls, x: Array, weight: Weight) -> Self:
        x = np.asarray(x, float)
        moments = [_moments(x[rows], counts) for rows, counts in by_class(weight)]
        count, mean, scatter = (np.stack(values)[:, None] for values in zip(*moments, strict=True))
        return cls(count, mean, settled(scatter))

    @staticmethod
    def learnt(x: Cells) -> Array:
        """Where rows are counted, `(r,)`."""
        return ~np.isnan(numbers(x, EVERY)).any(axis=1)

    def alone(self, x: Array, weight: Weight) -> Self:
        if not np.array_equal(weight.codes, np.arange(weight.classes)):
            return self.defined(x, weight)
        x = np.asarray(x, float)
        complete = ~np.isnan(x).any(axis=1)
        count = np.where(complete, weight.counts, 0.0)[:, None]
        width = x.shape[1]
        return type(self)(count, np.where(count > 0, x, 0.0)[:, None], np.zeros((len(x), 1, width, width)))

    def __add__(self, other: Self) -> Self:
        """Chan's merge, as of a single column; it is also the subtraction."""
        count = self.count + other.count
        gap, share = other.mean - self.mean, ratio(other.count, count)
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
        """What the rows say of each column by itself, `(c, d)`."""
        return GaussianStats(self.count + np.zeros(self.mean.shape[-1]), self.mean[:, 0], diagonal(self.scatter)[:, 0])

    def faults(self, part: Self, every: Array, rounding: float = SLACK) -> Array:
        """No column may have one by itself, and no direction that stays a spread below zero."""
        rest, alone = self - part, self.columns.faults(part.columns, every, rounding).any(axis=1, keepdims=True)
        columns, slip = self.columns, self.columns.slip(part.columns, rest.columns).ssd
        unit = np.sqrt(columns.ssd + slip)
        with np.errstate(invalid="ignore", divide="ignore"):
            scaled = np.nan_to_num(rest.scatter[:, 0] / outer(unit), posinf=0.0, neginf=0.0)
            least = (SLACK + ratio(slip, columns.ssd).sum(axis=1)) * unit.shape[1]
        return alone | (np.linalg.eigvalsh(scaled)[:, :1] < -least[:, None])

    def remains(self, part: Self, rounding: float) -> Self:
        rest, alone = self - part, self.columns.remains(part.columns, rounding)
        spread = alone.ssd > 0
        scatter = np.where(spread[:, :, None] & spread[:, None, :], rest.scatter[:, 0], 0.0)
        return type(self)(alone.count[:, :1], alone.mean[:, None], scatter[:, None])

    def slip(self, part: Self, rest: Self) -> Slip:
        """That of every column, `(c, d)`; that of a product is no more than the geometric mean of two."""
        return self.columns.slip(part.columns, rest.columns)

    def invalid_columns(self) -> Array:
        """Where no class has a usual variance, or a mean is none."""
        return self.columns.invalid_columns()

    def pooled(self) -> Self:
        """All classes as one, `(c, 1, ...) -> (...)`."""
        total = self[0]
        for c in range(1, len(self)):
            total = total + self[c]
        return total[0]

    def mle(self) -> "VectorDensity":
        seen = (self.count > 0)[..., None, None]
        return VectorDensity(self.mean, np.where(seen, ratio(self.scatter, self.count[..., None, None]), np.nan))


@dataclass(frozen=True, eq=False)
class SharedVectorStats(VectorStats):
    """The same, where all classes have one covariance."""

    def mle(self) -> "VectorDensity":
        """The covariance within classes, pooled; a class without rows has no density."""
        count, seen = self.count.sum(axis=0), (self.count > 0)[..., None, None]
        covariance = ratio(self.scatter.sum(axis=0), count[..., None, None])
        return VectorDensity(self.mean, np.where(seen, covariance, np.nan))


def _moments(x: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Count, mean and scatter of one class's rows, `(r, d), (r,) -> (), (d,), (d, d)`, about a row of their own."""
    complete = ~np.isnan(x).any(axis=1)
    if not complete.all():
        x, weight = x[complete], weight[complete]
    if not len(x):
        return np.zeros(()), np.zeros(x.shape[1]), np.zeros((x.shape[1],) * 2)
    with np.errstate(over="ignore", invalid="ignore"):
        start, count = x[0].astype(float), weight.sum()
        x = x - start
        shift = ratio(weight @ x, count)
        x -= shift
        slip = ratio(weight @ x, count)  # what rounding left in the mean
        scatter = (weight[:, None] * x).T @ x - count * outer(slip)
    return count, (start + shift) + slip, scatter


def settled(scatter: Array) -> Array:
    """A column that may be constant, but for rounding, has no squares and no products."""
    spread = ~(diagonal(scatter) <= 0)
    return np.where(spread[..., None, :] & spread[..., None], scatter, 0.0)


@dataclass(frozen=True, eq=False)
class VectorDensity(Whitened, Density):
    """A Gaussian over a block: `(..., d)` means and `(..., d, d)` covariances."""

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
        return type(self)(self.mean[..., there], self.covariance[..., there, :][..., there])

    def log_density(self, x: Array) -> Array:
        """Of vectors on the last axis; what is missing of one is integrated out."""

        def complete(cells: Array, there: Any, rows: Any) -> Array:
            narrowed = self if isinstance(there, slice) else self.of_columns(there)
            return narrowed._at(square(narrowed.whitening, cells - narrowed.mean))

        return by_pattern(x, self.mean.ndim - 1, complete)

    def _at(self, distance: Array) -> Array:
        """The log-density at so large a squared distance."""
        return -(self.mean.shape[-1] * LOG_2PI + self.log_det + distance) / 2

    def score(self, x: Cells, power: float = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        return by_rows(lambda rows: self._score(numbers(x, rows), power), x.shape, len(self), out, n_jobs)

    def _score(self, x: Array, power: float) -> Array:
        total = np.zeros((len(x), len(self)))
        for rows, there in patterns_of(x):
            narrowed = self if isinstance(there, slice) else self.of_columns(there)
            apart = distances(x[rows][:, there], narrowed.mean[:, 0], narrowed.whitening[:, 0])
            total[rows] = power * (narrowed._at(np.zeros(()))[:, 0] - apart / 2)
        return total

    def defined_score(self, x: Array, power: float = 1.0) -> Array:
        return power * self.log_density(np.asarray(x[:], float)[:, None, None])[..., 0]

    def contributed(self, x: Array, power: float, words: Array | None = None) -> Array:
        return power * self.log_density(x[:, None, None])

    def linear(self) -> Linear | None:
        """Where all classes have one covariance, squares and products are worth the same to each of them."""
        if not self.proper.all() or (self.covariance != self.covariance[:1]).any():
            return None
        white = turned(self.whitening, self.mean)[:, 0]
        return Linear(turned(self.whitening[:, 0].swapaxes(-1, -2), white), -(white**2).sum(axis=-1) / 2)

    def linear_against(self, place: int) -> Linear | None:
        """Far from zero the means' squares have no digit left for their difference."""
        ends = self.mean - self.mean[place], self.mean + self.mean[place]
        gap, both = (turned(self.whitening, end)[:, 0] for end in ends)
        weights = turned(self.whitening[:, 0].swapaxes(-1, -2), gap)
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
        return self.mean + turned(self.factor, np.random.default_rng(rng).standard_normal(self.mean.shape))
