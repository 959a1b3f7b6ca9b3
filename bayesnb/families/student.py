"""Gaussians with unknown mean and variance: single columns, or blocks of d columns.

    covariance ~ InverseWishart(dof, matrix)
    mean | covariance ~ Normal(location, covariance / count)

A single column is a block with d = 1: its variance is InverseGamma(dof / 2, matrix / 2). The score
of a row x depends only on its squared distance from the location, u = (x - location)' matrix**-1
(x - location): the predictive is Student's t, and K(s) is

    log Gamma_d((dof + s) / 2) / Gamma_d(dof / 2) - s / 2 (d log pi + log det matrix)
    - (dof + s) / 2 log(1 + u s / (1 + s / count)) - d / 2 log(1 + s / count)

Classes may share their covariance. Its statistics are then summed over classes, and given the
covariance classes are independent. The arrays keep the layout of independent classes, `(c, f)`,
with the shared parameters repeated for every class. So formulas for one class, such as the
predictive and intervals, stay the same; formulas for two classes are in `Pair`. Gelman et al.
(2013), Bayesian Data Analysis, section 3.3; Bickel and Levina (2004), Some theory for Fisher's
linear discriminant function, 'naive Bayes'.

The log-odds of two classes that share a covariance follow from

    J(s, u) = log E[p(x | theta_1)**s p(x | theta_0)**u]

For independent classes it would be K_1(s) + K_0(u). The function s -> J(s, -s) determines the
distribution of the log-odds. Integrating out a mean turns a power s into p = s / (1 + s / count).
The precision is then Wishart; its scale plus two outer products has the determinant, up to a
factor,

    1 + p |b|**2 + q |a|**2 + p q area
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from math import factorial
from numbers import Integral
from operator import add
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import polygamma, psi

from bayesnb.families import quantiles
from bayesnb.families.base import ORDER, Array, Belief, Cells, Density, Stats
from bayesnb.families.record import Expected, Linear, by_feature, of_powers, silent
from bayesnb.families.removal import PREDICTIVE, RowsLeftOut
from bayesnb.families.vectors import inner, transposed, turned
from bayesnb.numerics import special
from bayesnb.numerics.special import (
    LOG_2PI,
    LOG_PI,
    accurate_log1p,
    log1p_square,
    log_gamma_ratio,
    ratio,
)


class Pair(NamedTuple):
    """Distances of rows from two classes that share a covariance, in b columns, or in a block, b =
    1.

    b and a are the whitened distances from the second class and from the first.
    """

    rows: Any
    belief: Any  # about both classes, `(2, b)`
    far: Array  # |b|**2, `(r, b)`; NaN for a missing cell
    near: Array  # |a|**2
    area: Any = 0.0  # |b|**2 |a|**2 - (a b)**2; 0 for single columns

    def log_moment(self, s: Array, u: Array) -> Array:
        """J(s, u) at points `(b, n)` or `(b, r, 1)`, summed over columns, `-> (r, n)`."""
        width = self.belief.width
        per_place = (..., *(None,) * (s.ndim - 1))
        j, k = (count[per_place] for count in self.belief.count)
        both = (s + u) / 2
        half = self.belief.dof[0][per_place] / 2
        with np.errstate(all="ignore"):
            still = multi_gamma_ratio(half, both, width)
            still = still - both * (width * LOG_PI + self.belief.log_det[0][per_place])
            still = still - width / 2 * (accurate_log1p(s / k) + accurate_log1p(u / j))
            exists = ((s / k).real > -1) & ((u / j).real > -1)
            still = np.where(exists | (s.imag != 0) | (u.imag != 0), still, np.inf)
            p = s / (1 + s / k)
            q = u / (1 + u / j)
            exponent = half + both
            total: Any = 0.0
            for b in range(len(s)):
                far = self.far[:, [b]]
                trace = p[b] * far + q[b] * self.near[:, [b]]
                growth = trace + p[b] * q[b] * self.area
                exists = (trace.real > -2) & (growth.real > -1)
                fall = np.where(exists, exponent[b] * accurate_log1p(growth), -np.inf)
                total = total + np.where(np.isnan(far), 0.0, still[b] - fall)
        return total

    def cumulants(self, t: Any, v: Any) -> Array:
        """The first four derivatives of s -> J(t + s, v - s) at 0, `(4, r, b)`.

        With r = 1 / (count_1 + t) and q = 1 / (count_0 + v), the determinant is a polynomial of
        the second degree over (1 + r s) (1 - q s).
        """
        j, k = self.belief.count
        r = 1 / (k + t)
        q = 1 / (j + v)
        far = k * r * self.far
        near = j * q * self.near
        area = k * r * j * q * self.area
        one = 1 + t * far + v * near + t * v * area
        two = (r - q) + (1 - q * t) * far - (1 - r * v) * near + (v - t) * area
        three = -(r * q + q * far + r * near + area)
        means = log_derivatives(r) + log_derivatives(-q)
        growth = log_derivatives(two / one, three / one) - means[:, None]
        half = (self.belief.dof[0] + t + v) / 2
        value = half * growth + self.belief.width / 2 * means[:, None]
        return -np.where(np.isnan(self.far), 0.0, value)


def log_derivatives(a: Array, b: Any = 0.0) -> Array:
    """The first four derivatives at 0 of log(1 + a s + b s**2)."""
    square = a * a
    third = a * (2 * square - 6 * b)
    return np.stack([a, 2 * b - square, third, 12 * b * (2 * square - b) - 6 * square * square])


def multi_gamma_ratio(a: Array, s: Any, width: int) -> Array:
    """log Gamma_d(a + s) / Gamma_d(a), the multivariate Gamma function; +inf where it diverges."""
    if width == 1:
        return log_gamma_ratio(a, s)
    halves = np.arange(width) / 2
    return log_gamma_ratio(np.asarray(a)[..., None] - halves, np.asarray(s)[..., None]).sum(axis=-1)


# A determinant that falls to this share of its value keeps about twelve digits. Rows beyond are
# marked, and their class is counted again without them.
FRAGILE = 1e-4
LEAST = 1e-9  # share of a count, or of degrees of freedom, that must be left


class Moments(NamedTuple):
    """Mean and variance of a Gaussian: an expectation, a mode or the end of an interval."""

    mean: Array
    variance: Array


class MomentStats(Stats):
    """Number of rows, their mean, and their squared deviations, for columns or a block."""

    count: Array
    mean: Array

    @property
    @abstractmethod
    def spread(self) -> Array:
        """The summed squared deviations, or the scatter matrix."""

    @abstractmethod
    def products(self, weight: Any, gap: Any) -> Any:
        """Weight times the square, or the outer product, of a difference."""

    def __add__(self, other: Self) -> Self:
        """Chan's formula; it also holds for negative counts, and so for subtraction."""
        count = self.count + other.count
        gap = other.mean - self.mean
        share = ratio(other.count, count)
        spread = self.spread + other.spread + self.products(self.count * share, gap)
        step = share.reshape(share.shape + (1,) * (gap.ndim - share.ndim)) * gap
        return type(self)(count, self.mean + step, spread)  # type: ignore[call-arg]

    def __mul__(self, times: Any) -> Self:
        return type(self)(times * self.count, self.mean, times * self.spread)  # type: ignore[call-arg]

    __rmul__ = __mul__

    @property
    def cells(self) -> Array:
        return self.count

    def pooled(self) -> Self:
        """Merge all classes: `(c, ...) -> (...)`."""
        return reduce(add, (self[c] for c in range(len(self))))


class StudentBelief(Belief):
    """Belief about mean and covariance of columns, `(c, f)`, or of a block, `(c, 1)`.

    With `models` above 0 the classes of each model share their covariance. Several models stand
    side by side, class after class, for example draws of a prior.
    """

    layout: ClassVar[tuple[str, ...]] = ("models",)
    common: ClassVar[tuple[str, ...]]  # the parameters of the covariance
    density: ClassVar[type[Density]]
    moments: ClassVar[Any] = Moments
    width: int  # columns of a block
    unit: ClassVar[float]  # what a row, or a square, adds to the parameters of the covariance
    location: Array
    count: Array
    dof: Any
    log_det: Any  # of the matrix
    models: int

    @property
    @abstractmethod
    def matrix(self) -> Array:
        """The scale of the inverse Wishart, `(c, f)` or `(c, 1, d, d)`."""

    @property
    @abstractmethod
    def squares(self) -> Array:
        """The diagonal of the matrix, in the shape of the location."""

    @abstractmethod
    def at_roots(self, x: Array, value: Callable[[Any, Array, Any], Array]) -> Array:
        """Call `value(belief, root, rows)` with the distances of cells from the location.

        The belief is the marginal one about the columns that the rows have. 0 for missing cells.
        """

    @abstractmethod
    def pairs(self, x: Array) -> Iterator[Pair]:
        """Yield the distances of rows from two classes, for each pattern of missing cells."""

    @abstractmethod
    def as_vectors(self) -> tuple[Array, Array]:
        """Whitening of the matrix, and locations, `(c, b, d, d)` and `(c, b, d)`."""

    @property
    def independent_classes(self) -> bool:  # type: ignore[override]
        return not self.models

    @property
    def is_linear(self) -> bool:  # type: ignore[override]
        return bool(self.models)

    def __repr__(self) -> str:
        return super().__repr__().replace(", models=0)", ")")

    def __getitem__(self, index: Any) -> Self:
        """Return some classes of every model; a single class becomes an independent one."""
        first = index[0] if isinstance(index, tuple) else index
        models = 0 if isinstance(first, Integral) else self.models
        return self.raw(*(np.asarray(field[index]) for field in self.fields), models)

    @property
    def fields(self) -> list[Array]:
        """The arrays."""
        return [getattr(self, name) for name in self.__match_args__[:-1]]

    def map(self, change: Callable[..., Array], *others: Self) -> Self:
        fields = zip(self.fields, *(each.fields for each in others), strict=True)
        return self.made(*(change(*arrays) for arrays in fields))

    def made(self, *fields: Array) -> Self:
        """Build a belief with the same `models` from these fields, unchecked."""
        return self.raw(*map(np.asarray, fields), self.models)

    def check_common(self) -> None:
        """Raise if shared parameters differ between classes."""
        for name in self.common if self.models else ():
            values = getattr(self, name)
            if not values.ndim or (values != self.per_class(self.per_model(values))).any():
                raise ValueError(
                    f"{type(self).__name__}: classes share {name}, so it must be the same for "
                    f"every class, got {values.tolist()!r:.100}."
                )

    def repeated(self, times: int) -> Self:
        return self.raw(*super().repeated(times).fields, self.models * times)

    @property
    def tied(self) -> int:
        """The number of classes that share a covariance."""
        return len(self) // self.models if self.models else 1

    def per_model(self, values: Any) -> Any:
        """Keep one entry for all classes that share a covariance."""
        if self.models == 1:  # works for PyMC variables too, which have no length
            return values[:1]
        return values[:: self.tied] if self.models else values

    def pooled(self, values: Any) -> Any:
        """Sum over the classes that share a covariance."""
        if not self.models:
            return values
        if self.models == 1:  # works for PyMC variables too
            return values.sum(axis=0, keepdims=True)
        return values.reshape((self.models, -1, *values.shape[1:])).sum(axis=1)

    def per_class(self, values: Array, axis: int = 0) -> Array:
        """Repeat the entry of `per_model`, or of `pooled`, for each class."""
        return np.repeat(values, self.tied, axis=axis) if self.models else values

    def per_column(self, values: Array) -> Array:
        """Expand numbers of blocks to broadcast against the location."""
        return values[..., None] if self.multivariate else values

    def per_entry(self, values: Array) -> Array:
        """Expand numbers of blocks to broadcast against the matrix."""
        return values[..., None, None] if self.multivariate else values

    # Updates

    def update(self, stats: Any) -> Self:
        share = self.per_column(ratio(stats.count, self.count + stats.count))
        _, _, rows, scale = self.fields
        return self.made(
            self.location + share * (stats.mean - self.location),
            self.count + stats.count,
            rows + self.unit * self.per_class(self.pooled(stats.count)),
            scale + self.per_class(self.pooled(self.surprise(stats))),
        )

    def surprise(self, stats: Any, xp: Any = special) -> Any:
        """What the data add to the scale: deviations from their mean, and of their mean from the
        location.
        """
        weight = self.count * xp.ratio(stats.count, self.count + stats.count)
        return self.unit * (stats.spread + stats.products(weight, stats.mean - self.location))

    # Parameters

    @property
    def mean(self) -> Expected:
        """The parameter ``mean``; the call ``mean()`` returns the expected mean and variance.

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
        return Expected.of(self.location, self.expected())

    def expected(self) -> Any:
        """The expected mean and covariance; the latter is infinite for few degrees of freedom."""
        free = self.per_entry(self.dof - self.width - 1)
        spread = np.where(free > 0, self.matrix / np.where(free > 0, free, 1.0), np.inf)
        return self.moments(self.location, spread)

    def divisor(self, kind: str, dof: Array) -> Array:
        """The divisor of the matrix in a point estimate, given the degrees of freedom."""
        if kind == "map":  # each mean at its mode adds a factor |covariance|**-0.5
            return dof + self.width + 1 + self.tied
        free = dof - self.width - 1
        # the inverse of the expected precision where the expected covariance is infinite
        return np.where((free > 0) & (kind == "mean"), free, dof)

    def mode(self) -> tuple[Array, Array]:
        divisor = self.divisor("map", self.dof)
        return self.moments(self.location, ratio(self.matrix, self.per_entry(divisor)))

    def estimate(self, kind: str) -> Density:
        divisor = self.divisor(kind, self.dof)
        spread = ratio(self.matrix, self.per_entry(divisor))
        if kind == "mle":
            spread = np.where(self.per_entry(self.count) > 0, spread, np.nan)
        return self.density(self.location, spread)  # type: ignore[call-arg]

    def learnt(self, stats: Any, kind: str) -> Self:
        """The posterior; without a prior for the MLE."""
        return (self.map(np.zeros_like) if kind == "mle" else self).update(stats)

    def mle(self, stats: Any) -> Any:
        return self.learnt(stats, "mle").estimate("mle")

    def interval(self, prob: float) -> tuple[Moments, Moments]:
        free = self.per_column(self.dof - self.width + 1)
        squares = self.squares
        unit = np.sqrt(squares / (free * self.per_column(self.count)))
        ends = []
        for p in quantiles.tails(prob):
            mean = quantiles.student(p, free, self.location, unit)
            ends.append(Moments(mean, quantiles.inverse_gamma(p, free / 2, squares / 2)))
        return ends[0], ends[1]

    # Distribution of the log density of a cell

    def log_moment(self, x: Array, s: Any) -> Array:
        axes = np.ndim(x) - 1

        def moment(belief: Any, root: Array, rows: Any) -> Array:
            by_row = not isinstance(rows, slice) and np.ndim(s) >= axes and np.shape(s)[-axes] > 1
            return belief.moment_at(root, np.take(s, rows, axis=-axes) if by_row else s)

        return self.at_roots(x, moment)

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        return self.at_roots(x, lambda belief, root, _: belief.cumulants_at(root**2, order, tilt))

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
        """K(s) at a distance, not squared as its square may overflow."""
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
        gammas = [psi(free), *(polygamma(n, free) for n in range(1, order))]
        terms = [each.sum(axis=-1) / 2 ** (n + 1) for n, each in enumerate(gammas)]
        terms[0] = terms[0] + (np.log1p(tilt * r) - self.width * LOG_PI - self.log_det) / 2
        mean = fall_derivatives(half - self.width / 2, r / (1 + tilt * r), order)
        parts = [each - mean[n] for n, each in enumerate(terms)]
        return np.stack(np.broadcast_arrays(*parts))

    def cumulants_at(self, distance: Array, order: int, tilt: Any) -> Array:
        """Cumulants of the log-density at a squared distance: derivatives of K."""
        rho = 1 / self.count + distance
        moving = fall_derivatives((self.dof + tilt) / 2, rho / (1 + tilt * rho), order)
        moving[0] -= np.log1p(tilt * rho) / 2
        still = self.still_cumulants(order, tilt)
        return np.stack([still[n] + moving[n] for n in range(order)])

    # Leave-one-out. Without a row x of weight w, with a = x - location, the matrix becomes matrix -
    # g a a', where g = w count / (count - w). In units of the matrix, its determinant is multiplied
    # by 1 - g |a|**2 (matrix determinant lemma), and a squared distance |b|**2 becomes |b|**2 + g
    # (a b)**2 / (1 - g |a|**2) (Sherman-Morrison).

    def squared_distances(self, x: Cells) -> Array:
        """Squared distances of rows from one class, `(r, f)`."""
        return self.at_roots(self.broadcast(x), lambda belief, root, _: root**2)[:, 0]

    def is_fragile(self, x: Cells, w: Any) -> Array:
        left = self.count - w
        enough = (left > LEAST * self.count) & (self.dof - w > LEAST * self.dof)
        lost = self.squared_distances(x) * w * self.count
        return ~(enough & (lost <= (1 - FRAGILE) * left))

    def estimate_left_out(self, stats: Stats, rows: RowsLeftOut) -> Array:
        return self.estimate_without(self.learnt(stats, rows.kind)[[0, 0]], rows, True)

    def estimate_without(self, both: Self, rows: RowsLeftOut, same: bool) -> Array:
        """Log density at the point estimate of the second class without each row of the first: `(r,
        f)`.

        If they are the same class, its location changes too.
        """
        w = rows.each
        left = both.count[0] - w
        g = w * (both.count[0] / left)
        (pair,) = both.pairs(rows.x[:])
        with np.errstate(all="ignore"):
            share = 1 - g * pair.near
            square = pair.far + g * (pair.far * pair.near - pair.area) / share
            if same:
                square = (both.count[0] / left) ** 2 * pair.near / share
            divisor = self.divisor(rows.kind, both.dof[0] - w)
            log_det = both.log_det[0] + np.log(share) - self.width * np.log(divisor)
            score = -(self.width * LOG_2PI + log_det + divisor * square) / 2
        if same:
            score = np.where(both[:1].is_fragile(rows.x, w), np.nan, score)
        return silent(self.missing(rows.x), score)

    def left_out(self, stats: Any, reader: Any, rows: RowsLeftOut) -> Array:
        """Leave-one-out scores; a row changes a shared covariance, and so the scores of all
        classes.
        """
        if not self.models:
            return super().left_out(stats, reader, rows)
        scores, counted = self._read(reader, rows)
        seen = self.learnt(stats, rows.kind)

        def score_rows(c: int, places: Array, part: RowsLeftOut) -> None:
            part_scores = seen.scores_without(c, part)
            part_scores[np.isnan(part_scores[:, c])] = np.nan
            scores[places] = part_scores

        rows.for_classes(score_rows, counted)
        return scores

    def scores_without(self, c: int, rows: RowsLeftOut) -> Array:
        """Leave-one-out scores of rows that this posterior has seen in class c: `(r, c)`.

        Each is J(1, -w) - K(-w), which is K(1) for an independent class; or a score at a point
        estimate.
        """
        x = rows.x[:]
        w = rows.each
        alone = self[c : c + 1]
        scores = np.empty((len(x), len(self)))
        gone = alone.row_log_moment(x, -w) if rows.kind == PREDICTIVE else 0.0
        for k in range(len(self)):
            both = self[[c, k]]
            if rows.kind != PREDICTIVE:
                scores[:, k] = self.estimate_without(both, rows, k == c).sum(axis=1)
            elif k == c:
                scores[:, k] = alone.score_without(x, w)
            else:
                scores[:, [k]] = both.pair_moment(x, np.ones(1), np.atleast_1d(-w)) - gone
        scores[:, ~self.proper.all(axis=1)] = np.nan
        return scores

    def features_left_out(self, stats: Any, reader: Any, rows: RowsLeftOut) -> Array:
        if self.multivariate or not self.models:
            return super().features_left_out(stats, reader, rows)
        columns = []
        for j in range(rows.x.shape[1]):
            part = replace(rows, x=rows.x[:][:, [j]])
            columns.append(self.only(j).left_out(stats.only(j), reader.only(j), part))
        return np.stack(columns, axis=-1)

    # Classes that share a covariance

    def pair_moment(self, x: Any, s: Array, u: Array, power: Any = 1.0) -> Array:
        """J(power * s, power * u) of the second class and the first, summed over features.

        Shapes: cells `(r, f)`, points `(n,)`, or `(r, 1)` for one per row, `-> (r, n)`. Both points
        are real, or have real parts of at least 0. Infinite where the moment does not exist.
        """
        powers = by_feature(power, self.count.shape[1])
        s, u = np.broadcast_arrays(s, u)
        total = np.zeros((x.shape[0], s.shape[-1]), np.result_type(s, u, float))
        for pair in self.pairs(x[:]):
            at = [each[pair.rows] if each.ndim == 2 else each for each in (s, u)]
            places = (np.multiply.outer(powers, each) for each in at)
            total[pair.rows] += pair.log_moment(*places)
        return total

    def pair_cumulants(self, x: Any, t: float, v: float, power: Any = 1.0) -> Array:
        """The first four derivatives of s -> J(t + s, v - s) at 0, summed over features.

        Shapes: `(r, f) -> (4, r)`.

        They are cumulants of the log-odds after the second class has seen the row t times, and the
        first v times. All arguments of J are multiplied by the power, a number or one for each
        feature.
        """
        total = np.zeros((ORDER, x.shape[0]))
        for pair in self.pairs(x[:]):
            cumulants = pair.cumulants(t * power, v * power)
            total[:, pair.rows] += of_powers(cumulants, power).sum(axis=-1)
        return total

    def linear_variance(self, against: int | None = None) -> Linear:
        """Variances of the weights and offsets of a drawn theta.

        With the precision P ~ Wishart(n, V), V = matrix**-1, and mu | P ~ Normal(m, (k P)**-1),

            Var((P mu)_i) = n (V_ii m'Vm + (Vm)_i**2) + n V_ii / k
            Var(mu' P mu / 2) = (2 n (m'Vm)**2 + 4 n m'Vm / k + 2 d / k**2) / 4

        by Var(tr P B) = 2 n tr(VBVB) for symmetric B. Two classes share P. For their difference, m
        is replaced by the difference g of the locations, m m' by (g h' + h g') / 2 with their sum
        h, and terms in k are summed.
        """
        if not self.models:
            return super().linear_variance(against)
        whitening, location = self.as_vectors()
        white = turned(whitening, location)
        dof = self.dof[..., None]
        noise = 1 / self.count[..., None]
        unit = (whitening**2).sum(axis=-2)
        rough = 4 * dof * inner(white, white) * noise + 2 * self.width * noise**2
        gap = white
        far = white
        if against is not None:
            gap = white - white[against]
            far = white + white[against]
            differs = (np.arange(len(self)) != against)[:, None, None]
            noise = differs * (noise + noise[against])
            rough = differs * (rough + rough[against])
        square = inner(gap, gap)
        back = turned(transposed(whitening), gap)
        turn = square * inner(far, far) + inner(gap, far) ** 2
        weights = dof * (unit * square + back**2 + unit * noise)
        offset = (dof * turn + rough) / 4
        return Linear(weights.reshape(len(self), -1), offset.sum(axis=(1, 2)))


def fall_derivatives(half: Array, rho: Array, order: int) -> Array:
    """Derivatives at 0 of -(half + s / 2) log(1 + rho s)."""
    terms = [-half * rho]
    for n in range(2, order + 1):
        slope = factorial(n - 1) * half * rho - factorial(n - 2) * n / 2
        terms.append((-1) ** n * slope * rho ** (n - 1))
    return np.stack(terms)
