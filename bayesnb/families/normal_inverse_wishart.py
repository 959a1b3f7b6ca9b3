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
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families import elliptic, gaussian_removal, quantiles
from bayesnb.families.base import ORDER, Array, Belief, Cells, Narrowed, Parts, Rng
from bayesnb.families.elliptic import LOG_PI, MeanCovariance, multi_gamma_ratio
from bayesnb.families.normal_inverse_gamma import Moments, NormalInverseGamma, Slip
from bayesnb.families.record import (
    FARTHEST,
    Expected,
    VariableNames,
    checked,
    lead,
    of_powers,
    raised,
)
from bayesnb.families.removal import RowsLeftOut
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
    log_square,
    outer,
    patterns_of,
    square,
)
from bayesnb.numerics import special
from bayesnb.numerics.special import accurate_log1p, ratio
from bayesnb.numerics.views import EVERY, numbers

FIELDS, SYMBOLS = (
    ("location", "count", "dof", "scale"),
    ("mu_mean", "mu_count", "cov_dof", "cov_scale"),
)
NAME = "NormalInverseWishart"
# how far two entries of a matrix may be apart, as a part of the geometric mean of their variances
SYMMETRIC = 1e-12


def checked_fields(
    mean: Any, count: Any, dof: Any, scale: Any
) -> tuple[Array, Array, Array, Array]:
    """The parameters that a user gives, checked; an identity is spelled out where the number of
    columns is known.
    """
    location, scale = (
        checked(f"{NAME}: mean", mean, -FARTHEST, FARTHEST),
        checked(f"{NAME}: scale", scale, -np.inf),
    )
    count, dof = checked(f"{NAME}: count", count), checked(f"{NAME}: dof", dof)
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
class NormalInverseWishart(Whitened, Belief[VectorStats, VectorDensity]):
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
    >>> belief = NormalInverseWishart(mean=[0.0, 1.0], count=1.0, dof=5.0, scale=[[4.0, 1.0], [1.0, 2.0]])
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
    renamed: ClassVar[dict[str, str]] = {"location": "mean"}
    symbols: ClassVar[dict[str, str]] = dict(zip(FIELDS, SYMBOLS, strict=True))

    def __init__(self, mean: Any, count: Any, dof: Any, scale: Any) -> None:
        for name, value in zip(FIELDS, checked_fields(mean, count, dof, scale), strict=True):
            object.__setattr__(self, name, value)

    def map(self, change: Any, *others: Self) -> Self:
        """Field by field; what is known to be a belief is not checked again."""
        return self.made(
            *(change(*(getattr(belief, name) for belief in (self, *others))) for name in FIELDS)
        )

    @property
    def width(self) -> int:
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
        >>> NormalInverseWishart(mean=0.0, count=1.0, dof=5.0, scale=[[4.0, 0.0], [0.0, 2.0]]).mean().covariance
        array([[2., 0.],
               [0., 1.]])
        """
        parameter, free = self.location.view(Expected), self.dof - self.width - 1
        with np.errstate(divide="ignore"):
            covariance = np.where(
                (free > 0)[..., None, None], self.scale / free[..., None, None], np.inf
            )
        parameter.expectation = MeanCovariance(self.location, covariance)
        return parameter

    @property
    def beyond(self) -> int:
        """The number added to dof in the divisor that makes of the scale its mode."""
        return self.width + 2

    @property
    def as_scale(self) -> gaussian_removal.Scale:
        """What rows take from when they leave."""
        return gaussian_removal.Scale(self.width, self.beyond, self.count, self.dof, self.log_det)

    def mode(self) -> MeanCovariance:
        return MeanCovariance(self.location, self.scale / (self.dof + self.beyond)[..., None, None])

    @property
    def matrix(self) -> Array:
        return self.scale

    @property
    def proper(self) -> Array:
        return (self.count > 0) & (self.dof > self.width - 1) & np.isfinite(self.log_det)

    def of_columns(self, there: There) -> "NormalInverseWishart":
        """The belief about some columns, whatever the others are."""
        if isinstance(there, slice):
            return self
        scale = self.scale[..., there, :][..., there]
        gone = self.width - scale.shape[-1]
        return NormalInverseWishart.raw(
            self.location[..., there], self.count, self.dof - gone, scale
        )

    def patterns(self, x: Array) -> Iterator[tuple[Array, "NormalInverseWishart", Array]]:
        """Rows with cells in the same columns: which they are, the belief about these columns, and
        their cells.
        """
        for rows, there in patterns_of(x):
            yield rows, self.of_columns(there), x[rows][:, there]

    def margins(self) -> NormalInverseGamma:
        """The belief about each column by itself, `(c, 1, d) -> (c, d)`."""
        shape = self.location[:, 0].shape
        count, free = (
            np.broadcast_to(field, shape) for field in (self.count, self.dof - self.width + 1)
        )
        return NormalInverseGamma(
            self.location[:, 0], count, free / 2, diagonal(self.scale)[:, 0] / 2
        )

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
        cells = np.asarray(x[:], float)
        location, scale, shape = (
            self.location[:, 0],
            self.scale[:, 0],
            (self.dof[:, 0] - self.width + 1) / 2,
        )
        return [
            NumberUnit(
                tuple(range(self.width)),
                cells,
                self.count[:, 0],
                shape,
                np.asarray(location),
                scale,
            )
        ]

    def update(self, stats: VectorStats) -> Self:
        share = ratio(stats.count, self.count + stats.count)
        location = self.location + share[..., None] * (stats.mean - self.location)
        dof, scale = (
            self.dof + self.together(stats.count),
            self.scale + self.together(self.surprise(stats)),
        )
        return self.made(location, self.count + stats.count, dof, scale)

    def together(self, values: Array) -> Array:
        """Sums over the classes that have a covariance in common; here each has one for itself."""
        return values

    def made(self, *fields: Array) -> Self:
        """One like it, of these fields."""
        return self.raw(*fields, *(getattr(self, name) for name in self.layout))

    def surprise(self, stats: VectorStats) -> Array:
        """The data's addition to the scale: their scatter about their mean, and that about the
        location.
        """
        share = ratio(stats.count, self.count + stats.count)
        return stats.scatter + (self.count * share)[..., None, None] * outer(
            stats.mean - self.location
        )

    def strengthened(self, times: Any) -> Self:
        """The belief that is worth `times` as many rows; every column expects the same mean and
        variance.
        """
        fields = tuple(getattr(self, name) for name in FIELDS)
        return self.made(*strengthened_fields(fields, times, 1.0, self.width))

    def rounding_error(self, stats: VectorStats, slip: Slip) -> Array:
        return elliptic.rounding_error(self, stats, slip)

    def log_evidence(self, stats: VectorStats, xp: Any = special) -> Array:
        after, half = self.update(stats), stats.count / 2
        gain = multi_gamma_ratio(
            self.dof / 2, half, self.width
        ) - self.dof / 2 * elliptic.log_growth(self, after)
        gain = gain - half * (self.width * LOG_PI + after.log_det)
        return gain - self.width * np.log1p(stats.count / self.count) / 2

    def at_distances(
        self, x: Array, value: Callable[["NormalInverseWishart", Array, Any], Array]
    ) -> Array:
        """`value(belief, squared distance, rows)` of vectors and the belief about the columns that
        they have.
        """

        def complete(cells: Array, there: There, rows: Any) -> Array:
            narrowed = self.of_columns(there)
            return value(narrowed, square(narrowed.whitening, cells - narrowed.location), rows)

        return by_pattern(x, self.count.ndim, complete)

    def log_moment(self, x: Array, s: Any) -> Array:
        # a noncentral chi-squared integral over the mean, then a Wishart integral over the
        # precision
        by_row = np.ndim(s) > self.count.ndim
        return self.at_distances(
            x, lambda belief, u, rows: belief.moment_at(u, s[rows] if by_row else s)
        )

    def moment_at(self, distance: Array, s: Any) -> Array:
        """K(s) of a row at a squared distance of (x - location)' scale**-1 (x - location)."""
        s = np.asarray(s)
        with np.errstate(all="ignore"):
            widen = 1 + s / self.count
            reach = s / widen * distance
            value = multi_gamma_ratio(self.dof / 2, s / 2, self.width) - (s / 2) * (
                self.width * LOG_PI + self.log_det
            )
            value = (
                value
                - (self.dof + s) / 2 * accurate_log1p(reach)
                - self.width / 2 * accurate_log1p(s / self.count)
            )
            exists = (np.real(widen) > 0) & (1 + np.real(reach) > 0)
            return np.where(exists | (np.imag(s) != 0), value, np.inf)

    def log_predictive(self, x: Array) -> Array:
        # the multivariate Student t with dof - d + 1 degrees of freedom

        def complete(cells: Array, there: There, rows: Any) -> Array:
            narrowed = self.of_columns(there)
            gap, widen = cells - narrowed.location, 1 + 1 / narrowed.count
            distance = square(narrowed.whitening, gap)
            far = np.isinf(distance)
            tail = np.log1p(np.where(far, 0.0, distance) / widen)
            if far.any():
                tail = np.where(far, log_square(narrowed.whitening, gap) - np.log(widen), tail)
            return narrowed._height(1.0) - (narrowed.dof + 1) / 2 * tail

        return by_pattern(x, self.count.ndim, complete)

    def _height(self, s: Any) -> Array:
        """K(s) at the location."""
        height = multi_gamma_ratio(self.dof / 2, s / 2, self.width) - s / 2 * (
            self.width * LOG_PI + self.log_det
        )
        return height - self.width / 2 * np.log1p(s / self.count)

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        return by_rows(lambda rows: self._score(numbers(x, rows)), x.shape, len(self), out, n_jobs)

    def _score(self, x: Array) -> Array:
        """Log density of the multivariate t, `(r, c)`."""
        total = np.zeros((len(x), len(self)))
        for rows, narrowed, cells in self.patterns(x):
            exponent = (narrowed.dof + 1)[:, 0] / 2
            width = (1 / (1 + 1 / narrowed.count))[:, 0]
            total[rows] = narrowed._height(1.0)[:, 0] - exponent * np.log1p(
                width * narrowed.distances(cells)
            )
        overflowed = ~np.isfinite(total).all(axis=1)
        if overflowed.any():
            total[overflowed] = self.defined_score(x[overflowed])
        return total

    def row_log_moment(self, x: Cells, s: Any) -> Array:
        total = np.zeros((x.shape[0], len(self)))
        for rows, narrowed, cells in self.patterns(numbers(x, EVERY)):
            at = s[rows][..., None] if np.ndim(s) == 2 else s
            total[rows] = narrowed.moment_at(narrowed.distances(cells)[..., None], at)[..., 0]
        return total

    def distances(self, x: Array) -> Array:
        """(x - location)' scale**-1 (x - location) of complete rows and classes, `(r, d) -> (r,
        c)`.
        """
        return distances(x, self.location[:, 0], self.whitening[:, 0])

    def defined_score(self, x: Cells, power: Any = 1.0) -> Array:
        return raised(power, self.log_predictive(np.asarray(x[:], float)[:, None, None])[..., 0])

    def is_fragile(self, x: Cells, w: Any) -> Array:
        return self.distances(numbers(x, EVERY)) > self.as_scale.farthest(w)

    def estimate_left_out(self, stats: VectorStats, rows: RowsLeftOut) -> Array:
        belief = gaussian_removal.learnt(self, stats, rows.kind)
        own = belief.distances(numbers(rows.x, EVERY))
        return belief.as_scale.estimate_left_out(rows.kind, rows.each, own)

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        return self.at_distances(x, lambda belief, u, _: elliptic.cumulants(belief, u, order, tilt))

    def score_cumulants(self, x: Cells, tilt: float = 0.0, power: Any = 1.0) -> Array:
        total = np.zeros((ORDER, x.shape[0], len(self)))
        for rows, narrowed, cells in self.patterns(numbers(x, EVERY)):
            distance = narrowed.distances(cells)[..., None]
            total[:, rows] = elliptic.cumulants(narrowed, distance, ORDER, tilt * power)[..., 0]
        return of_powers(total, power)

    def score_transform(self, x: Cells, s: Array, power: Any = 1.0) -> Array:
        s = np.asarray(s, complex) * power
        total = np.zeros((x.shape[0], len(self), len(s)), complex)
        for rows, narrowed, cells in self.patterns(numbers(x, EVERY)):
            total[rows] = narrowed.moment_at(narrowed.distances(cells)[..., None], s)
        return total

    def sample(self, rng: Rng, size: Any = None) -> VectorDensity:
        return elliptic.sample(self, np.random.default_rng(rng), lead(size))

    def parts(self) -> Parts:
        """A count and dof for each column: those of its block."""
        location, scale = self.location[..., 0, :], self.scale[..., 0, :, :]
        values = (
            location,
            *(np.repeat(field, self.width, axis=-1) for field in (self.count, self.dof)),
            scale,
        )
        return {
            (self.symbols[name], None): value for name, value in zip(FIELDS, values, strict=True)
        }

    def log_density(self, theta: VectorDensity) -> Parts:
        """log p of each mean given its covariance, and of each covariance."""
        return elliptic.log_density(self, theta)

    def interval(self, prob: float) -> tuple[Moments, Moments]:
        free, spread = (self.dof - self.width + 1)[..., None], diagonal(self.scale)
        unit = np.sqrt(spread / (free * self.count[..., None]))
        low, high = (
            Moments(
                quantiles.student(p, free, self.location, unit),
                quantiles.inverse_gamma(p, free / 2, spread / 2),
            )
            for p in quantiles.tails(prob)
        )
        return low, high

    def predictive(self) -> Any:
        return elliptic.predictive(self)

    def estimate(self, kind: str) -> VectorDensity:
        if kind == "map":
            return VectorDensity(*self.mode())
        free = self.dof - self.width - 1
        return VectorDensity(
            self.location, self.scale / np.where(free > 0, free, self.dof)[..., None, None]
        )

    def variables(self, pm: Any, names: VariableNames) -> VectorDensity:
        return elliptic.variables(self, pm, names)
