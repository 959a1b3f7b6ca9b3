"""Gaussians whose mean and spread are both unknown: columns one by one, or blocks of d columns.

    covariance ~ InverseWishart(dof, scale)      mean | covariance ~ Normal(location, covariance /
    count)

A column by itself is a block of one, d = 1: its variance is InverseGamma(dof / 2, scale / 2). All
that is asked of a row x is a function of its squared distance from the location, u = (x -
location)' scale**-1 (x - location): the predictive is Student's t, and K(s) is

    log Gamma_d((dof + s) / 2) / Gamma_d(dof / 2) - s / 2 (d log pi + log det scale)
    - (dof + s) / 2 log(1 + u s / (1 + s / count)) - d / 2 log(1 + s / count)

Rows that leave. Once a row x of weight w has left, and with a = x - location, products being in
units of the scale,

    count' = count - w      dof' = dof - w      scale' = scale - g a a',  g = w count / count'

The matrix determinant lemma gives det scale' = det scale (1 - g |a|**2), and Sherman and Morrison's
identity the squared distance |b|**2 + g (a b)**2 / (1 - g |a|**2) from a class whose location
stays, as that of others does which share the scale. From the class that the row leaves it is (count
/ count')**2 |a|**2 / (1 - g |a|**2).

1 - g |a|**2 is the share of the determinant that stays, with an absolute error of some 1e-16. Below
FRAGILE fewer than some twelve digits are left: such rows are marked, and their class is counted
again without them.
"""

from abc import abstractmethod
from math import factorial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import polygamma, psi

from bayesnb.families import quantiles
from bayesnb.families.base import Array, Belief, Cells, Density, Stats
from bayesnb.families.record import silent
from bayesnb.families.removal import RowsLeftOut
from bayesnb.numerics.special import accurate_log1p, log1p_square, log_gamma_ratio, ratio
from bayesnb.numerics.views import EVERY, numbers

LOG_2PI = float(np.log(2 * np.pi))
LOG_PI = float(np.log(np.pi))
FRAGILE = 1e-4  # the share of a scale below which taking a row back leaves too few digits
LEAST = 1e-9  # of a count, or of degrees of freedom


class Moments(NamedTuple):
    """A Gaussian's two parameters, as a mean, a mode or the end of an interval."""

    mean: Array
    variance: Array


class Slip(NamedTuple):
    """Bounds of the errors of a mean and an ssd."""

    mean: Array
    ssd: Array


def multi_gamma_ratio(a: Array, s: Any, width: int) -> Array:
    """log of Gamma_d(a + s) / Gamma_d(a), the multivariate Gamma function.

    +inf where it has no mean.
    """
    if width == 1:
        return log_gamma_ratio(a, s)
    rise = log_gamma_ratio(
        np.asarray(a)[..., None] - np.arange(width) / 2, np.asarray(s)[..., None]
    )
    return rise.sum(axis=-1)


class StudentBelief(Belief):
    """A belief about mean and spread of columns, or of a block. Axes are `(c, f)`, or `(c, 1)`."""

    width: int  # columns of a block
    location: Array
    count: Array
    dof: Any
    scale: Array
    log_det: Any  # of the scale
    tied: int = 1  # classes that have a spread in common: see `Sharing`
    density: ClassVar[type[Density]]
    moments: ClassVar[Any] = Moments

    @abstractmethod
    def distances(self, x: Array) -> Array:
        """Squared distances of cells, or of complete rows, in units of the scale."""

    @property
    @abstractmethod
    def matrix(self) -> Array:
        """The scale of the inverse Wishart, `(c, f)` or `(c, 1, d, d)`."""

    @property
    @abstractmethod
    def squares(self) -> Array:
        """That of each column by itself, as the location is."""

    @abstractmethod
    def per_column(self, values: Array) -> Array:
        """A number of each block, so that it meets the location."""

    @abstractmethod
    def per_entry(self, values: Array) -> Array:
        """A number of each block, so that it meets the matrix."""

    @abstractmethod
    def whitened_size(self, change: Array) -> Array:
        """How large changes of columns can be in units of the scale; 0 of none."""

    def per_model(self, values: Any) -> Any:
        """One entry for all classes that have a spread in common; here each has its own."""
        return values

    def pooled(self, values: Any) -> Any:
        """Sums over the classes that have a spread in common."""
        return values

    def per_class(self, values: Array, axis: int = 0) -> Array:
        """Repeat the entry of `per_model`, or of `pooled`, for each class."""
        return values

    def made(self, *fields: Array) -> Self:
        """One like it, of these fields."""
        return type(self)(*fields, *self.layout_values)

    @property
    def beyond(self) -> int:
        """What a mode adds to the dof by which it divides the scale: every mean, at its mode, adds
        a factor |covariance|**-0.5.
        """
        return self.width + 1 + self.tied

    def expected(self) -> Any:
        """The expected mean and spread, infinite where none is expected."""
        free = self.per_entry(self.dof - self.width - 1)
        spread = np.where(free > 0, self.matrix / np.where(free > 0, free, 1.0), np.inf)
        return self.moments(self.location, spread)

    def mode(self) -> Any:
        return self.moments(self.location, self.matrix / self.per_entry(self.dof + self.beyond))

    def estimate(self, kind: str) -> Any:
        if kind == "map":
            return self.density(*self.mode())
        free = self.dof - self.width - 1  # of none, the spread of the expected precision
        divisor = self.per_entry(np.where(free > 0, free, self.dof))
        return self.density(self.location, ratio(self.matrix, divisor))  # type: ignore[call-arg]

    def interval(self, prob: float) -> tuple[Moments, Moments]:
        free = self.per_column(self.dof - self.width + 1)
        squares = self.squares
        unit = np.sqrt(squares / (free * self.per_column(self.count)))
        ends = []
        for p in quantiles.tails(prob):
            mean = quantiles.student(p, free, self.location, unit)
            ends.append(Moments(mean, quantiles.inverse_gamma(p, free / 2, squares / 2)))
        return ends[0], ends[1]

    def height(self, s: Any) -> Array:
        """K(s) at the location."""
        dof = np.asarray(self.dof)
        if dof.ndim and (dof == dof[..., :1]).all():  # gamma functions once for all columns
            dof = dof[..., :1]
        with np.errstate(all="ignore"):
            height = multi_gamma_ratio(dof / 2, s / 2, self.width)
            height = height - s / 2 * (self.width * LOG_PI + self.log_det)
            return height - self.width / 2 * accurate_log1p(s / self.count)

    def moment_at(self, root: Array, s: Any) -> Array:
        """K(s) at a distance; the root of the squared one, which may leave the range of floats."""
        s = np.asarray(s)
        with np.errstate(all="ignore"):
            widen = 1 + s / self.count
            reach = s / widen
            growth = reach * root**2
            if not np.iscomplexobj(s) and np.all(reach >= 0):
                tail = log1p_square(np.sqrt(reach) * root)
            else:
                tail = accurate_log1p(growth)
            value = self.height(s) - (self.dof + s) / 2 * tail
            exists = (widen.real > 0) & (1 + growth.real > 0)
            return np.where(exists | (np.imag(s) != 0), value, np.inf)

    def still_cumulants(self, order: int, tilt: Any) -> Array:
        """The part of the cumulants that is the same for all cells."""
        half = (self.dof + tilt) / 2
        r = 1 / self.count
        free = np.asarray(half)[..., None] - np.arange(self.width) / 2
        logs = np.log1p(tilt * r) - self.width * LOG_PI - self.log_det
        less = half - self.width / 2
        r = r / (1 + tilt * r)
        terms = [(psi(free).sum(axis=-1) + logs) / 2 + less * r]
        for n in range(2, order + 1):
            once = factorial(n - 2) * n / 2
            twice = factorial(n - 1)
            gammas = polygamma(n - 1, free).sum(axis=-1) / 2**n
            terms.append(gammas + (-1) ** n * (once - twice * less * r) * r ** (n - 1))
        return np.stack(np.broadcast_arrays(*terms))

    def cumulants_at(self, distance: Array, order: int, tilt: Any) -> Array:
        """Cumulants of the log-density at a squared distance: derivatives of K."""
        half = (self.dof + tilt) / 2
        rho = 1 / self.count + distance
        log_part = -np.log1p(tilt * rho) / 2
        rho = rho / (1 + tilt * rho)
        terms = [log_part - half * rho]
        for n in range(2, order + 1):
            once = factorial(n - 2) * n / 2
            twice = factorial(n - 1)
            terms.append((-1) ** n * (twice * half * rho - once) * rho ** (n - 1))
        still = self.still_cumulants(order, tilt)
        return np.stack([still[n] + moving for n, moving in enumerate(terms)])

    def rounding_error(self, stats: Any, slip: Slip) -> Array:
        """The error of the location is in standard deviations of a row, that of the scale a part of
        it, both in the directions in which they matter most.
        """
        share = ratio(stats.count, self.count + stats.count)
        after = self.update(stats)
        gap = np.abs(stats.mean - self.location)
        free = np.maximum(after.dof, 0.0)
        pull = self.per_column(self.count * share) * (2 * gap + slip.mean) * slip.mean
        moved = self.per_column(share * np.sqrt(free)) * slip.mean
        of_mean = after.whitened_size(moved)
        of_scale = after.whitened_size(np.sqrt(slip.ssd + pull)) ** 2
        return np.maximum(of_mean, of_scale)

    def farthest(self, w: Any) -> Array:
        """The squared distance up to which a row can leave.

        -1 where a count or dof would be used up.
        """
        left = self.count - w
        fine = (left > LEAST * self.count) & (self.dof - w > LEAST * self.dof)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(fine, (1 - FRAGILE) * left / (w * self.count), -1.0)

    def is_fragile(self, x: Cells, w: Any) -> Array:
        return self.distances(numbers(x, EVERY)) > self.farthest(w)

    def estimate_left_out(self, stats: Stats, rows: RowsLeftOut) -> Array:
        belief = learnt(self, stats, rows.kind)
        cells = numbers(rows.x, EVERY)
        return belief.estimate_without(rows.kind, cells, rows.each, self.beyond)

    def estimate_without(self, kind: str, x: Array, w: Any, beyond: int) -> Array:
        """Log density of rows by the estimate of this one class, once each has left it."""
        before = self.distances(x)
        left = self.count - w
        with np.errstate(all="ignore"):
            lost = w * (self.count / left) * before
            distance = (self.count / left) ** 2 * before / (1 - lost)
            log_det = self.log_det + np.log1p(-lost)
            score = log_plug_in(kind, beyond, self.width, self.dof - w, log_det, distance)
        score = np.where(before > self.farthest(w), np.nan, score)
        return silent(self.missing(x), score)


def log_plug_in(
    kind: str, beyond: int, width: int, dof: Array, log_det: Array, distance: Array
) -> Array:
    """Log density at a squared distance by an estimate: the scale over what that divides it by."""
    free = dof - width - 1
    divisors = {"mean": np.where(free > 0, free, dof), "map": dof + beyond, "mle": dof}
    log_det = log_det - width * np.log(divisors[kind])
    return -(width * LOG_2PI + log_det + divisors[kind] * distance) / 2


def learnt(prior: Any, stats: Any, kind: str) -> Any:
    """The belief that has learnt all rows; the MLE has no prior."""
    return (prior.map(np.zeros_like) if kind == "mle" else prior).update(stats)
