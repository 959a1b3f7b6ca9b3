"""A column of real numbers whose Gaussian is known, and what such columns say: their count, mean and ssd."""

from dataclasses import dataclass
from math import log, pi
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import Array, Cells, Density, Parts, Rng, Stats, by_rows, mended
from bayesnb.families.record import Linear, silent
from bayesnb.families.removal import SLACK, left_of, slack
from bayesnb.families.weight import Weight, by_class
from bayesnb.numerics.special import log1p_square, log_gamma_ratio, ratio
from bayesnb.numerics.threads import in_order, pieces
from bayesnb.numerics.views import numbers

LOG_2PI = log(2 * pi)
ROUNDED = 8 * float(np.finfo(float).eps)


class Moments(NamedTuple):
    """A Gaussian's two parameters, as a mean, a mode or the end of an interval."""

    mean: Array
    variance: Array


class Slip(NamedTuple):
    """How far a mean and an ssd may be off."""

    mean: Array
    ssd: Array


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
            labels, total = (weight.codes[rows], weight.counts[rows]), np.zeros((4, weight.classes, features))
            part, block = numbers(x, rows), np.empty((5, weight.classes, features))
            spare = np.empty(len(part), np.int64), np.empty(weight.classes + 1, np.int64), block
            if not numerics.moment_kernels.moments(part, *labels, *spare, total):
                total[:] = 0.0
                numerics.moment_kernels.moments_with_holes(part, *labels, *spare, total)
            return total

        parts = iter(in_order(count_rows, pieces(rows, features, 4 * weight.classes), n_jobs))
        total = next(parts)
        for part in parts:
            numerics.moment_kernels.merge(total, part)
        numerics.moment_kernels.finish(total)
        count, mean, _, ssd = total
        return cls(count, mean, ssd)

    @classmethod
    def defined(cls, x: Array, weight: Weight) -> Self:
        x = np.asarray(x, float)
        moments = [_moments(x[rows], counts[:, None]) for rows, counts in by_class(weight)]
        return cls(*(np.stack(values) for values in zip(*moments, strict=True)))

    def __add__(self, other: Self) -> Self:
        """Chan's merge; it holds for negative counts too, so it is also the subtraction."""
        count = self.count + other.count
        gap, share = other.mean - self.mean, ratio(other.count, count)
        ssd = self.ssd + other.ssd + self.count * share * gap**2
        return type(self)(count, self.mean + share * gap, ssd)

    def __mul__(self, times: float) -> Self:
        return type(self)(times * self.count, self.mean, times * self.ssd)

    __rmul__ = __mul__

    @property
    def cells(self) -> Array:
        return self.count

    @property
    def counted_fields(self) -> list[str]:
        return ["count", "ssd"]

    def faults(self, part: Self, every: Array, rounding: float = SLACK) -> Array:
        """Nothing that stays has a spread below zero, nor a single row one at all; all rows have the mean of all."""
        rest = self - part
        about = slack(self.count, rounding)
        none, one = np.abs(rest.count) <= about, (rounding == 0) & (rest.count == 1)
        apart = np.abs(part.mean - self.mean) > SLACK * (np.abs(self.mean) + np.sqrt(ratio(self.ssd, self.count)))
        before = np.where(part.count > 0, ROUNDED * self.count * self._size() ** 2, 0.0)  # by rows that left earlier
        least = SLACK * (self.ssd + self.count * (SLACK * self.mean) ** 2) + before + self.slip(part, rest).ssd
        wide = np.abs(rest.ssd) > least
        invalid = (rest.count < -about) | (every[:, None] & ~none) | (wide & (rest.ssd < 0))
        return invalid | ((none | one) & wide) | (none & apart)

    def remains(self, part: Self, rounding: float) -> Self:
        """A spread that may be rounding only is none; where all rows had one value, those that stay have it."""
        rest = self - part
        count, still = left_of(self.count, rest.count, rounding), self.ssd == 0
        none = count == 0
        same = none | still | ((rounding == 0) & (count == 1)) | (rest.ssd <= self.slip(part, rest).ssd)
        mean = np.where(none, 0.0, np.where(still, self.mean, rest.mean))
        return type(self)(count, mean, np.where(same, 0.0, rest.ssd))

    def slip(self, part: Self, rest: Self) -> Slip:
        """With a and b the means of all n rows and of the k that go, and d = b - a,

            mean that stays = a - d k / (n - k)        ssd that stays = ssd - ssd of those - n d**2 k / (n - k)

        A mean is rounded to a part ROUNDED of its size and of the rows' spread, an ssd to one of itself, as often as
        batches that are added up need.
        """
        gap, size = part.mean - self.mean, self._size() + part._size()
        changed = (part.count > 0) & (rest.count > 0) & (self.ssd > 0)
        with np.errstate(over="ignore"):
            step = np.where(changed, ratio(part.count, rest.count), 0.0)
            summed = np.where(changed, ROUNDED * (self.ssd + part.ssd), 0.0)
            square = (2 * np.abs(gap) + ROUNDED * size) * ROUNDED * size
            return Slip(step * ROUNDED * size, summed + self.count * step * square)

    def _size(self) -> Array:
        return np.abs(self.mean) + np.sqrt(np.maximum(ratio(self.ssd, self.count), 0.0))

    def invalid_columns(self) -> Array:
        """Where no class has a usual variance, or a mean is none: too extreme, infinite, or only constant."""
        spread = self.ssd.max(axis=0)
        usual = (spread > 1e-280) & (spread < 1e280) & (np.abs(self.mean).max(axis=0) < 1e140)
        return np.flatnonzero(~usual)

    def pooled(self) -> Self:
        """All classes as one, `(c, f) -> (f,)`."""
        total = self[0]
        for c in range(1, len(self)):
            total = total + self[c]
        return total

    def mle(self) -> "GaussianDensity":
        return GaussianDensity(self.mean, np.where(self.count > 0, ratio(self.ssd, self.count), np.nan))


def _moments(x: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Count, mean and ssd of one class's rows, `(r, f), (r, 1) -> (f,) each`, about a row of their own."""
    if not len(x):
        return (np.zeros(x.shape[1]),) * 3
    start, missing = x[0], np.isnan(x)
    if missing.any():
        first = np.argmin(missing, axis=0)
        start = np.nan_to_num(np.take_along_axis(x, first[None], axis=0)[0], nan=0.0)
        x, weight = np.where(missing, start, x), np.where(missing, 0.0, weight)
    with np.errstate(over="ignore", invalid="ignore"):
        x = x - start
        count = np.broadcast_to(weight.sum(axis=0), start.shape)
        shift = ratio((weight * x).sum(axis=0), count)
        x -= shift
        slip = ratio((weight * x).sum(axis=0), count)  # what rounding left in the mean
        ssd = (weight * x * x).sum(axis=0) - count * slip**2
    return count, (start + shift) + slip, np.maximum(ssd, 0.0)


@dataclass(frozen=True, eq=False)
class GaussianDensity(Density):
    symbols: ClassVar[dict[str, str]] = {"mean": "mu", "variance": "sigma2"}
    mean: Array
    variance: Array

    def log_density(self, x: Array) -> Array:
        with np.errstate(divide="ignore", over="ignore"):
            z = (x - self.mean) / np.sqrt(self.variance)
            return silent(np.isnan(x), -(LOG_2PI + np.log(self.variance) + z**2) / 2)

    def score(self, x: Cells, power: float = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        with np.errstate(divide="ignore"):
            height = -power * (LOG_2PI + np.log(self.variance)) / 2
            terms = (np.array(self.mean), power / self.variance, height)
        return by_rows(lambda rows: self._score(numbers(x, rows), power, terms), x.shape, len(self), out, n_jobs)

    def _score(self, x: Array, power: float, terms: tuple[Array, ...]) -> Array:
        total = np.zeros((len(x), len(self)))
        finite = numerics.gaussian_kernels.normal(x, *terms, total)
        return mended(total, finite, lambda overflowed: self.defined_score(x[overflowed], power))

    def linear(self) -> Linear | None:
        """Where all classes have one variance, the square of a cell is worth the same to each of them."""
        if not self.proper.all() or (self.variance != self.variance[:1]).any():
            return None
        weights = self.mean / self.variance
        return Linear(weights, -(weights * self.mean).sum(axis=-1) / 2)

    def linear_against(self, place: int) -> Linear | None:
        """Far from zero the means' squares have no digit left for their difference."""
        weights = (self.mean - self.mean[place]) / self.variance
        return self.linear() and Linear(weights, -(weights * (self.mean + self.mean[place])).sum(axis=-1) / 2)

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


LOG_PI = float(np.log(np.pi))


@dataclass(frozen=True, eq=False)
class StudentDensity(Density):
    """Student's t about `mean`, with the squared scale `variance`. All `(c, f)`."""

    sufficient: ClassVar[bool] = False
    mean: Array
    variance: Array
    freedom: Array

    def parts(self) -> Parts:
        """Those of a Gaussian; the degrees of freedom are no class's own."""
        return {("mu", None): self.mean, ("sigma2", None): self.variance}

    def log_density(self, x: Array) -> Array:
        width = np.sqrt(self.freedom * self.variance)
        value = self._height - (self.freedom + 1) / 2 * log1p_square((x - self.mean) / width)
        return silent(np.isnan(x), value)

    @property
    def _height(self) -> Array:
        return log_gamma_ratio(self.freedom / 2, 0.5) - (LOG_PI + np.log(self.freedom) + np.log(self.variance)) / 2

    def score(self, x: Cells, power: float = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        width, exponent = 1 / (self.freedom * self.variance), power * (self.freedom + 1) / 2
        terms = np.array(self.mean), width, exponent, power * self._height, bool((exponent == exponent[:, :1]).all())
        return by_rows(lambda rows: self._score(numbers(x, rows), power, terms), x.shape, len(self), out, n_jobs)

    def _score(self, x: Array, power: float, terms: tuple[Any, ...]) -> Array:
        total = np.zeros((len(x), len(self)))
        finite = numerics.gaussian_kernels.student(x, *terms, total)
        return mended(total, finite, lambda overflowed: self.defined_score(x[overflowed], power))

    def log_likelihood(self, stats: Any, xp: Any = np) -> NoReturn:
        raise TypeError("Student's t has no sufficient statistics: its likelihood needs the rows.")

    def cell(self, pm: Any) -> tuple[Any, dict[str, Any]]:
        every = pm.math.ones_like(self.mean)
        return pm.StudentT, {"nu": self.freedom * every, "mu": self.mean, "sigma": pm.math.sqrt(self.variance)}

    def sample(self, rng: Rng) -> Array:
        return self.mean + np.sqrt(self.variance) * np.random.default_rng(rng).standard_t(self.freedom)

    @property
    def proper(self) -> Array:
        return (self.variance > 0) & np.isfinite(self.variance) & (self.freedom > 0)
