"""A Gaussian over a block of columns, whose mean and covariance are both unknown.

    covariance ~ InverseWishart(dof, scale)      mean | covariance ~ Normal(location, covariance / count)

Equations: Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 8; the predictive is the
multivariate Student t. Some columns by themselves have a belief of the same kind, with as many dof fewer as columns
are left out: by that a row is predicted of which cells are missing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families import elliptic, scales
from bayesnb.families.base import ORDER, Array, Belief, Cells, Narrowed, Parts, Rng, Say, by_rows
from bayesnb.families.elliptic import LOG_PI, MeanCovariance, multi_gamma_ratio
from bayesnb.families.gaussian_density import Moments, Slip
from bayesnb.families.normal_inverse_gamma import NormalInverseGamma
from bayesnb.families.record import Expected, lead
from bayesnb.families.removal import Leaving
from bayesnb.families.vectors import VectorDensity, VectorStats
from bayesnb.families.whitening import (
    Whitened,
    by_pattern,
    diagonal,
    distances,
    log_square,
    outer,
    patterns_of,
    square,
)
from bayesnb.numerics import special
from bayesnb.numerics.special import accurate_log1p, ratio
from bayesnb.numerics.views import EVERY, numbers


class WishartMargins(Belief):
    """A normal inverse Wishart over some columns is one over fewer."""

    location: Array
    count: Array
    dof: Array
    scale: Array

    width: int
    of_columns: Callable[[Array], Any]
    made: Callable[..., Any]

    def margins(self) -> NormalInverseGamma:
        """Every column by itself, `(c, 1, d) -> (c, d)`."""
        shape = self.location[:, 0].shape
        count, free = (np.broadcast_to(field, shape) for field in (self.count, self.dof - self.width + 1))
        return NormalInverseGamma(self.location[:, 0], count, free / 2, diagonal(self.scale)[:, 0] / 2)

    def narrowed(self, x: Cells, see: Callable[..., Any]) -> Narrowed:
        cells = numbers(x, EVERY)
        there = ~np.isnan(cells[0])
        if there.all() or not there.any():
            return Narrowed(self, x, see)
        narrowed = self.of_columns(there)
        fields = (narrowed.location, narrowed.count, narrowed.dof, narrowed.scale)
        return Narrowed(self.made(*fields), np.ascontiguousarray(cells[:, there]), see)


FIELDS, SYMBOLS = ("location", "count", "dof", "scale"), ("mu_mean", "mu_count", "cov_dof", "cov_scale")


@dataclass(frozen=True, eq=False, init=False, repr=False)
class NormalInverseWishart(Whitened, WishartMargins):
    """covariance ~ InverseWishart(dof, scale), mean | covariance ~ Normal(mean, covariance / count).

    Parameters
    ----------
    mean : number, or one for each of d columns, or `(c, d)` for each class
    count : how many rows the belief about the mean is worth; a number, or `(c,)`
    dof : degrees of freedom, above d - 1; a number, or `(c,)`
    scale : a number times the identity, or a symmetric positive definite `(d, d)` or `(c, d, d)`

    Examples
    --------
    >>> belief = NormalInverseWishart(mean=[0.0, 1.0], count=1.0, dof=5.0, scale=[[4.0, 1.0], [1.0, 2.0]])
    >>> belief.mean().covariance
    array([[2. , 0.5],
           [0.5, 1. ]])
    """

    location: Array  # `mean` to the user
    count: Array
    dof: Array
    scale: Array

    whole: ClassVar[bool] = True
    degree: ClassVar[int] = 2
    renamed: ClassVar[dict[str, str]] = {"location": "mean"}
    symbols: ClassVar[dict[str, str]] = dict(zip(FIELDS, SYMBOLS, strict=True))

    def __init__(self, mean: Any, count: Any, dof: Any, scale: Any) -> None:
        for name, value in zip(FIELDS, scales.checked_fields(mean, count, dof, scale), strict=True):
            object.__setattr__(self, name, value)

    def map(self, change: Any, *others: Self) -> Self:
        """Field by field; what is known to be a belief is not checked again."""
        return self.made(*(change(*(getattr(belief, name) for belief in (self, *others))) for name in FIELDS))

    @property
    def width(self) -> int:  # type: ignore[override]
        """The number of columns."""
        return self.location.shape[-1]

    @property
    def mean(self) -> Expected:
        """The location; called, `mean()`, the expected mean and covariance (infinite for a dof of d + 1 or less)."""
        parameter, free = self.location.view(Expected), self.dof - self.width - 1
        with np.errstate(divide="ignore"):
            covariance = np.where((free > 0)[..., None, None], self.scale / free[..., None, None], np.inf)
        parameter.expectation = MeanCovariance(self.location, covariance)
        return parameter

    @property
    def beyond(self) -> int:
        """What is added to dof where the scale is divided by it to be the mode."""
        return self.width + 2

    def mode(self) -> MeanCovariance:
        return MeanCovariance(self.location, self.scale / (self.dof + self.beyond)[..., None, None])

    @property
    def matrix(self) -> Array:
        return self.scale

    @property
    def proper(self) -> Array:
        return (self.count > 0) & (self.dof > self.width - 1) & np.isfinite(self.log_det)

    def of_columns(self, there: Any) -> "NormalInverseWishart":
        """What is believed about some columns, whatever the others are."""
        scale = self.scale[..., there, :][..., there]
        gone = self.width - scale.shape[-1]
        return NormalInverseWishart.raw(self.location[..., there], self.count, self.dof - gone, scale)

    def _of(self, there: Any) -> "NormalInverseWishart":
        return self if isinstance(there, slice) else self.of_columns(there)

    def update(self, stats: VectorStats) -> Self:
        share = ratio(stats.count, self.count + stats.count)
        location = self.location + share[..., None] * (stats.mean - self.location)
        dof, scale = self.dof + self.together(stats.count), self.scale + self.together(self.surprise(stats))
        return self.made(location, self.count + stats.count, dof, scale)

    def together(self, values: Array) -> Array:
        """What classes that have a covariance in common say of it together; here each has its own."""
        return values

    def made(self, *fields: Array) -> Self:
        """One like it, of these fields."""
        return self.raw(*fields, *(getattr(self, name) for name in self.layout))

    def surprise(self, stats: VectorStats) -> Array:
        """What the data add to the scale: their scatter about their mean, and that about the location."""
        share = ratio(stats.count, self.count + stats.count)
        return stats.scatter + (self.count * share)[..., None, None] * outer(stats.mean - self.location)

    def strengthened(self, times: Any) -> Self:
        """Worth so many times as many rows; every column expects the same mean and variance."""
        fields = tuple(getattr(self, name) for name in FIELDS)
        return self.made(*scales.strengthened(fields, times, 1.0, self.width))

    def rounding_error(self, stats: VectorStats, slip: Slip) -> Array:
        return elliptic.rounding_error(self, stats, slip)

    def log_evidence(self, stats: VectorStats, xp: Any = special) -> Array:
        after, half = self.update(stats), stats.count / 2
        gain = multi_gamma_ratio(self.dof / 2, half, self.width) - self.dof / 2 * elliptic.log_growth(self, after)
        gain = gain - half * (self.width * LOG_PI + after.log_det)
        return gain - self.width * np.log1p(stats.count / self.count) / 2

    def log_moment(self, x: Array, s: Any) -> Array:
        """A noncentral chi-squared integral over the mean, then a Wishart integral over the precision."""

        def complete(cells: Array, there: Any, rows: Any) -> Array:
            narrowed = self._of(there)
            each = s[rows] if np.ndim(s) > self.count.ndim else s
            return narrowed.moment_at(square(narrowed.whitening, cells - narrowed.location), each)

        return by_pattern(x, self.count.ndim, complete)

    def moment_at(self, distance: Array, s: Any) -> Array:
        """K(s) of a row at a squared distance of (x - location)' scale**-1 (x - location)."""
        s = np.asarray(s)
        with np.errstate(all="ignore"):
            widen = 1 + s / self.count
            reach = s / widen * distance
            value = multi_gamma_ratio(self.dof / 2, s / 2, self.width) - (s / 2) * (self.width * LOG_PI + self.log_det)
            value = value - (self.dof + s) / 2 * accurate_log1p(reach) - self.width / 2 * accurate_log1p(s / self.count)
            exists = (np.real(widen) > 0) & (1 + np.real(reach) > 0)
            return np.where(exists | (np.imag(s) != 0), value, np.inf)

    def log_predictive(self, x: Array) -> Array:
        """The multivariate Student t with dof - d + 1 degrees of freedom."""

        def complete(cells: Array, there: Any, rows: Any) -> Array:
            narrowed = self._of(there)
            gap = cells - narrowed.location
            return narrowed.predictive_at(square(narrowed.whitening, gap), lambda: log_square(narrowed.whitening, gap))

        return by_pattern(x, self.count.ndim, complete)

    def predictive_at(self, distance: Array, logs: Any) -> Array:
        """log p(x) at a squared distance; `logs` gives its logarithm, asked for where it is infinite."""
        widen, far = 1 + 1 / self.count, np.isinf(distance)
        tail = np.log1p(np.where(far, 0.0, distance) / widen)
        if far.any():
            tail = np.where(far, logs() - np.log(widen), tail)
        return self._height(1.0) - (self.dof + 1) / 2 * tail

    def _height(self, s: Any) -> Array:
        """K(s) at the location."""
        height = multi_gamma_ratio(self.dof / 2, s / 2, self.width) - s / 2 * (self.width * LOG_PI + self.log_det)
        return height - self.width / 2 * np.log1p(s / self.count)

    def score(self, x: Cells, power: Any = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        power = np.asarray(power, float)
        each = (lambda rows: power[rows]) if power.ndim else (lambda rows: power)
        return by_rows(lambda rows: self._score(numbers(x, rows), each(rows)), x.shape, len(self), out, n_jobs)

    def _score(self, x: Array, power: Array) -> Array:
        total = np.zeros((len(x), len(self)))
        for rows, there in patterns_of(x):
            narrowed, s = self._of(there), power[rows] if power.ndim else power
            apart = narrowed.distances(x[rows][:, there])
            if power.ndim or power <= 0:
                total[rows] = narrowed.moment_at(apart[..., None], s[..., None])[..., 0]
            else:
                exponent, width = (narrowed.dof + s)[:, 0] / 2, (s / (1 + s / narrowed.count))[:, 0]
                total[rows] = narrowed._height(s)[:, 0] - exponent * np.log1p(width * apart)
        overflowed = ~np.isfinite(total).all(axis=1)
        if overflowed.any() and not power.ndim:
            total[overflowed] = self.defined_score(x[overflowed], float(power))
        return total

    def distances(self, x: Array) -> Array:
        """(x - location)' scale**-1 (x - location) of complete rows and classes, `(r, d) -> (r, c)`."""
        return distances(x, self.location[:, 0], self.whitening[:, 0])

    def defined_score(self, x: Cells, power: Any = 1.0) -> Array:
        cells = np.asarray(x[:], float)[:, None, None]
        return (self.log_predictive(cells) if power == 1 else self.log_moment(cells, power))[..., 0]

    def score_left_out(self, stats: VectorStats, leaving: Leaving) -> Array:
        prior = self.map(np.zeros_like) if leaving.kind == "mle" else self
        return elliptic.left_out(prior.update(stats), leaving, self.beyond)

    def cumulants(self, x: Array, order: int, tilt: float = 0.0) -> Array:
        def complete(cells: Array, there: Any, rows: Any) -> Array:
            narrowed = self._of(there)
            return narrowed.cumulants_at(square(narrowed.whitening, cells - narrowed.location), order, tilt)

        return by_pattern(x, self.count.ndim, complete)

    def cumulants_at(self, distance: Array, order: int, tilt: float) -> Array:
        """Of a row at a squared distance."""
        return elliptic.cumulants(self, distance, order, tilt)

    def score_cumulants(self, x: Cells, tilt: float = 0.0) -> Array:
        x, total = numbers(x, EVERY), np.zeros((ORDER, x.shape[0], len(self)))
        for rows, there in patterns_of(x):
            narrowed = self._of(there)
            total[:, rows] = narrowed.cumulants_at(narrowed.distances(x[rows][:, there])[..., None], ORDER, tilt)[
                ..., 0
            ]
        return total

    def score_transform(self, x: Cells, s: Array) -> Array:
        x, s = numbers(x, EVERY), np.asarray(s, complex)
        total = np.zeros((len(x), len(self), len(s)), complex)
        for rows, there in patterns_of(x):
            narrowed = self._of(there)
            apart = narrowed.distances(x[rows][:, there])[..., None]
            total[rows] = narrowed.moment_at(apart, s)
        return total

    def sample(self, rng: Rng, size: Any = None) -> VectorDensity:
        return elliptic.sample(self, np.random.default_rng(rng), lead(size))

    def parts(self) -> Parts:
        """A count and dof for each column: those of its block."""
        location, scale = self.location[..., 0, :], self.scale[..., 0, :, :]
        values = location, *(np.repeat(field, self.width, axis=-1) for field in (self.count, self.dof)), scale
        return {(self.symbols[name], None): value for name, value in zip(FIELDS, values, strict=True)}

    def log_density(self, theta: VectorDensity) -> Parts:
        """Of each mean given its covariance, and of each covariance."""
        return elliptic.log_density(self, theta)

    def interval(self, prob: float) -> tuple[Moments, Moments]:
        """Of every mean and every variance by itself."""
        from scipy.stats import invgamma, t

        free, spread = (self.dof - self.width + 1)[..., None], diagonal(self.scale)
        mean = t(free, self.location, np.sqrt(spread / (free * self.count[..., None]))).interval(prob)
        variance = invgamma(free / 2, scale=spread / 2).interval(prob)
        return Moments(mean[0], variance[0]), Moments(mean[1], variance[1])

    def predictive(self) -> Any:
        """SciPy's frozen multivariate t; a list of them, one for each class, of several."""
        return elliptic.predictive(self)

    def estimate(self, kind: str) -> VectorDensity:
        """Where no covariance can be expected, for a dof of d + 1 or less, `"mean"` has the expected precision's."""
        if kind == "map":
            return VectorDensity(*self.mode())
        free = self.dof - self.width - 1
        return VectorDensity(self.location, self.scale / np.where(free > 0, free, self.dof)[..., None, None])

    def variables(self, pm: Any, say: Say) -> VectorDensity:
        return elliptic.variables(self, pm, say)
