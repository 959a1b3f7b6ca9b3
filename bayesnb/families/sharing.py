"""Beliefs whose classes have a part of theta in common, as one variance for all of them.

    common ~ p(common)      rest_c | common ~ p(rest_c | common), for every class c

The evidence of every class about the common part is added up. The arrays keep the layout of
independent classes, `(c, f)`, those of the common part being the same for every class: so whatever
concerns one class alone, its predictive or its interval, is the formula of such a class. What
concerns several at once is here, and in `pair_moment`:

    J(s, u) = log E[p(x | theta_1)**s p(x | theta_0)**u]

Were the classes independent, it would be K_1(s) + K_0(u). As s -> J(s, -s) it is all of the
distribution of the log-odds.

The first such belief is about real-valued features with one variance for all classes:

    variance ~ InverseGamma(shape, scale)      mean_c | variance ~ Normal(location_c, variance /
    count_c)

With n_c rows of class c, and S_c what they add to the scale of a class by itself, the posterior has
the shape shape + sum of n_c / 2 and the scale scale + sum of S_c, and a location and a count for
each class as ever: given the variance the classes are independent. So the predictive is a Student's
t whose degrees of freedom are pooled; and log-odds of classes, given theta, are linear in the
cells: linear discriminant analysis with a diagonal covariance. Gelman et al. (2013), Bayesian Data
Analysis, section 3.3; Bickel and Levina (2004), Some theory for Fisher's linear discriminant
function, 'naive Bayes'.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import factorial
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from bayesnb.families.base import ORDER, Array, Belief, Cells
from bayesnb.families.normal_inverse_gamma import (
    GaussianDensity,
    GaussianStats,
    NormalInverseGamma,
)
from bayesnb.families.normal_inverse_wishart import NormalInverseWishart
from bayesnb.families.record import Linear, VariableNames, by_feature, of_powers, silent
from bayesnb.families.removal import PREDICTIVE, RowsLeftOut
from bayesnb.families.student import (
    LOG_PI,
    StudentBelief,
    learnt,
    log_plug_in,
    multi_gamma_ratio,
)
from bayesnb.families.vectors import distances, inner, transposed, turned
from bayesnb.numerics.special import accurate_log1p, ratio
from bayesnb.numerics.views import EVERY, numbers


class Pair(NamedTuple):
    """Rows of b columns, or of a block, b = 1, beside two classes that share its scale.

    b and a are the distances from the second class and from the first, in units of the scale.
    """

    rows: Any
    width: int
    counts: Array  # of the second class, and of the first, `(2, b)`
    dof: Array  # `(b,)`
    log_det: Array
    far: Array  # |b|**2, `(r, b)`; NaN of a missing cell
    near: Array  # |a|**2
    area: Array | None = None  # |b|**2 |a|**2 - (a b)**2; None where it is 0, as of columns

    def log_moment(self, s: Array, u: Array) -> Array:
        """J(s, u) of `(b, n)` places, or `(b, r, 1)`, summed over columns, `-> (r, n)`.

        The means go as in `mean_series`, and then the precision, which is Wishart: the determinant
        of its scale and two outer products is 1 + p |b|**2 + q |a|**2 + p q area.
        """
        per_place = (..., *(None,) * (s.ndim - 1))
        both = (s + u) / 2
        half = self.dof[per_place] / 2
        k, j = (counts[per_place] for counts in self.counts)
        # gamma functions once for all columns, if they are alike
        first = slice(1) if (half == half[0]).all() and (both == both[0]).all() else EVERY
        with np.errstate(all="ignore"):
            still = multi_gamma_ratio(half[first], both[first], self.width)
            still = still - both * (self.width * LOG_PI + self.log_det[per_place])
            still = still - self.width / 2 * (accurate_log1p(s / k) + accurate_log1p(u / j))
            exists = ((s / k).real > -1) & ((u / j).real > -1)
            still = np.where(exists | (s.imag != 0) | (u.imag != 0), still, np.inf)
            p = s / (1 + s / k)
            q = u / (1 + u / j)
            exponent = half + both
            total: Any = 0.0
            for b in range(len(s)):
                far = self.far[:, [b]]
                near = self.near[:, [b]]
                growth = p[b] * far + q[b] * near
                exists = growth.real > -2
                if self.area is not None:
                    growth = growth + p[b] * q[b] * self.area
                exists = exists & (growth.real > -1)
                fall = np.where(exists, exponent[b] * accurate_log1p(growth), -np.inf)
                total = total + np.where(np.isnan(far), 0.0, still[b] - fall)
        return total

    def cumulants(self, t: Any, v: Any) -> Array:
        """The first four derivatives of s -> J(t + s, v - s) at 0, `(4, r, b)`.

        t and v may be `(b,)`.
        """
        far, near, (k, j) = self.far, self.near, self.counts
        r = 1 / (k + t)
        q = 1 / (j + v)
        of_far = k**2 * mean_series(r)
        of_near = j**2 * mean_series(q, -1)
        p = t / (1 + t / k)
        o = v / (1 + v / j)
        rise = of_far[:, None] * far + of_near[:, None] * near
        whole = 1 + p * far + o * near
        if self.area is not None:
            both = p * of_near + o * of_far
            for n in range(1, ORDER):
                for m in range(n):
                    both[n] += of_far[m] * of_near[n - 1 - m]
            rise = rise + both[:, None] * self.area
            whole = whole + p * o * self.area
        nothing = np.zeros((ORDER - 1, *r.shape))
        still = log_series(np.stack([r, *nothing])) + log_series(np.stack([-q, *nothing]))
        moving = (self.dof + t + v) / 2 * log_series(rise / whole)
        return -np.where(np.isnan(far), 0.0, moving + self.width / 2 * still[:, None])

    def estimate_without(self, kind: str, w: Any, beyond: int) -> Array:
        """Log density by the estimate of the second class, once rows have left the first.

        Shape: `(r, b)`.
        """
        with np.errstate(all="ignore"):
            g = w * (self.counts[1] / (self.counts[1] - w))
            along = self.far * self.near - (0.0 if self.area is None else self.area)
            distance = self.far + g * along / (1 - g * self.near)
            log_det = self.log_det + np.log1p(-g * self.near)
            score = log_plug_in(kind, beyond, self.width, self.dof - w, log_det, distance)
        return silent(np.isnan(self.far), score)


class Sharing(StudentBelief):
    """A belief about classes that have a spread in common.

    Several models may stand side by side, the classes of one after those of another, as draws of a
    prior do.
    """

    independent_classes: ClassVar[bool] = False
    is_linear: ClassVar[bool] = True
    common: ClassVar[tuple[str, ...]]  # the parameters of the common part
    alone: ClassVar[type[Belief]]  # the belief about one class, whatever the others are
    layout: ClassVar[tuple[str, ...]] = ("models",)
    models: int

    def check_common(self) -> None:
        """Raise if the parameters of the common part differ between classes."""
        for name in self.common:
            values = getattr(self, name)
            if not values.ndim or (values != self.per_class(self.per_model(values))).any():
                raise ValueError(
                    f"{type(self).__name__}: {name} is about what all classes have in common, so "
                    "it must be the same "
                    f"for every class, got {values.tolist()!r:.100}."
                )

    def __repr__(self) -> str:
        return super().__repr__().replace(", models=1)", ")")

    @property
    def tied(self) -> int:  # type: ignore[override]
        """The number of classes of one model."""
        return len(self) // self.models

    def __getitem__(self, index: Any) -> Any:
        """Return some classes of every model.

        A single class gives the belief about it, whatever the others are.
        """
        if isinstance(index[0] if isinstance(index, tuple) else index, Integral):
            return self.alone.raw(*(field[index] for field in self._fields))
        return self.map(lambda array: array[index])

    @property
    def _fields(self) -> list[Array]:
        return [getattr(self, name) for name in self.alone.__match_args__]

    @property
    def public_name(self) -> str:
        return self.alone.__name__

    def repeated(self, times: int) -> Self:
        every = np.tile(np.arange(len(self)), times)
        return self.raw(*(field[every] for field in self._fields), self.models * times)

    def per_model(self, values: Any) -> Any:
        return values[:1] if self.models == 1 else values[:: self.tied]

    def pooled(self, values: Any) -> Any:
        if self.models == 1:  # also of PyMC's variables
            return values.sum(axis=0, keepdims=True)
        return values.reshape((self.models, -1, *values.shape[1:])).sum(axis=1)

    def per_class(self, values: Array, axis: int = 0) -> Array:
        return np.repeat(values, self.tied, axis=axis)

    def units(self, x: Cells) -> list[Any]:
        """No units: a parameter for all classes ties their rows together, so no class has an
        evidence by itself.
        """
        return []

    def left_out(self, stats: Any, reader: Any, rows: RowsLeftOut) -> Array:
        """A row that leaves changes the common part, and so the scores of all classes."""
        scores, counted = self._read(reader, rows)
        belief = learnt(self, stats, rows.kind)
        improper = ~belief.proper.all(axis=1)

        def score_rows(c: int, places: Array, part: RowsLeftOut) -> None:
            if rows.kind == PREDICTIVE:
                part_scores = belief.scores_without(c, part)
            else:
                part_scores = belief.estimates_without(c, part)
            part_scores[:, improper] = np.nan
            part_scores[np.isnan(part_scores[:, c])] = np.nan
            scores[places] = part_scores

        rows.for_classes(score_rows, counted)
        return scores

    def scores_without(self, c: int, rows: RowsLeftOut) -> Array:
        """Scores by all classes of rows that this belief has seen in class c, once each has left
        it: `(r, c)`.

        J(1, -w) - K(-w), by which an independent class would have K(1).
        """
        x = numbers(rows.x, EVERY)
        w = rows.each
        gone = self[c : c + 1].row_log_moment(x, -w)
        once = np.ones(1)
        scores = np.empty((len(x), len(self)))
        for k in range(len(self)):
            if k == c:
                scores[:, c] = self[c : c + 1].score_without(x, w)
            else:
                moment = self[[c, k]].pair_moment(x, once, np.atleast_1d(-w))
                scores[:, [k]] = moment - gone
        return scores

    def estimates_without(self, c: int, rows: RowsLeftOut) -> Array:
        """Scores by the estimates that are left."""
        x = numbers(rows.x, EVERY)
        w = rows.each
        scores = np.zeros((len(x), len(self)))
        own = self[c : c + 1].estimate_without(rows.kind, x, w, self.beyond)
        scores[:, c] = own.sum(axis=1)
        for k in range(len(self)):
            for pair in self[[c, k]].pairs(x) if k != c else ():
                part = w if rows.alike else w[pair.rows]
                each = pair.estimate_without(rows.kind, part, self.beyond)
                scores[pair.rows, k] += each.sum(axis=1)
        return scores

    def features_left_out(self, stats: Any, reader: Any, rows: RowsLeftOut) -> Array:
        if self.multivariate:
            return super().features_left_out(stats, reader, rows)
        x = numbers(rows.x, EVERY)
        columns = []
        for j in range(x.shape[1]):
            part = replace(rows, x=x[:, [j]])
            columns.append(self.only(j).left_out(stats.only(j), reader.only(j), part))
        return np.stack(columns, axis=-1)

    @abstractmethod
    def as_block(self) -> NormalInverseWishart:
        """The belief with an axis of blocks, `(c, b)`; a column is a block of one."""

    def linear_variance(self, against: int | None = None) -> Linear:
        """Variances of the weights and offsets of a drawn theta.

        With the precision P ~ Wishart(n, V), V = scale**-1, and mu | P ~ Normal(m, (k P)**-1),

            Var((P mu)_i) = n (V_ii m'Vm + (Vm)_i**2) + n V_ii / k
            Var(mu' P mu / 2) = (2 n (m'Vm)**2 + 4 n m'Vm / k + 2 d / k**2) / 4

        by Var(tr P B) = 2 n tr(VBVB) for symmetric B. Two classes share P: of their difference m is
        a difference g and, with h the sum of both, m m' is (g h' + h g') / 2; what has a k is a
        sum.
        """
        block = self.as_block()
        white = block.white
        dof = block.dof[..., None]
        noise = 1 / block.count[..., None]
        unit = (block.whitening**2).sum(axis=-2)
        rough = 4 * dof * inner(white, white) * noise + 2 * block.width * noise**2
        gap = white
        far = white
        if against is not None:
            gap = white - white[against]
            far = white + white[against]
            differs = (np.arange(len(self)) != against)[:, None, None]
            noise = differs * (noise + noise[against])
            rough = differs * (rough + rough[against])
        square = inner(gap, gap)
        back = turned(transposed(block.whitening), gap)
        turn = square * inner(far, far) + inner(gap, far) ** 2
        weights = dof * (unit * square + back**2 + unit * noise)
        offset = (dof * turn + rough) / 4
        return Linear(weights.reshape(len(self), -1), offset.sum(axis=(1, 2)))

    @abstractmethod
    def pairs(self, x: Array) -> Iterator[Pair]:
        """Rows beside two classes, all at once, or by patterns of missing cells."""

    def pair_moment(self, x: Any, s: Array, u: Array, power: Any = 1.0) -> Array:
        """J(power * s, power * u), of the second class and the first, summed over features.

        Shapes: `-> (r, n)`.

        Of `(r, f)` cells at `(n,)` and `(n,)` places, or `(r, 1)`, one for each row. They are both
        real, or have real parts of 0 or more. Infinite where the moment does not exist.
        """
        powers = by_feature(power, self.count.shape[1])
        s, u = np.broadcast_arrays(s, u)
        total = np.zeros((x.shape[0], s.shape[-1]), np.result_type(s, u, float))
        for pair in self.pairs(numbers(x, EVERY)):
            at = [each[pair.rows] if each.ndim == 2 else each for each in (s, u)]
            places = (np.multiply.outer(powers, each) for each in at)
            total[pair.rows] += pair.log_moment(*places)
        return total

    def pair_cumulants(self, x: Any, t: float, v: float, power: Any = 1.0) -> Array:
        """The first four derivatives of s -> J(t + s, v - s) at 0, summed over features.

        Shapes: `(r, f) -> (4, r)`.

        They are cumulants of log-odds: once the second class has seen the row t times, the first v
        times. All arguments of J are times the power, a number or one for each feature.
        """
        total = np.zeros((ORDER, x.shape[0]))
        for pair in self.pairs(numbers(x, EVERY)):
            cumulants = pair.cumulants(t * power, v * power)
            total[:, pair.rows] += of_powers(cumulants, power).sum(axis=-1)
        return total


def log_series(terms: Array) -> Array:
    """The first four derivatives at 0 of log(1 + terms[0] s + terms[1] s**2 + ...), from four
    terms.
    """
    a, b, c, d = terms
    logs = (a, b - a**2 / 2, c - a * b + a**3 / 3, d - a * c - b**2 / 2 + a**2 * b - a**4 / 4)
    return np.stack([factorial(n + 1) * log for n, log in enumerate(logs)])


def mean_series(r: Array, sign: int = 1) -> Array:
    """Series of (a(t + sign s) - a(t)) / k**2 in s, from s on: integrating a mean out turns a power
    t into a(t).

    E exp(-t (x - mean)**2 / 2) = (1 + t / k)**-0.5 exp(-a(t) (x - m)**2 / 2) for mean ~ Normal(m, 1
    / k), with a(t) = t / (1 + t / k) = k - k**2 / (k + t) and, where r = 1 / (k + t), 1 / (k + t +
    s) = r / (1 + r s).
    """
    return np.stack([-r * (-sign * r) ** n for n in range(1, ORDER + 1)])


FAR = 1e3  # standard deviations


@dataclass(frozen=True, eq=False)
class SharedGaussianStats(GaussianStats):
    """Rows seen, their mean, and their summed squared deviation, where all classes have one
    variance.
    """

    def mle(self) -> GaussianDensity:
        """The variance within classes, pooled; a class without rows has no density."""
        count = self.count.sum(axis=0)
        variance = np.where(count > 0, ratio(self.ssd.sum(axis=0), count), np.nan)
        return GaussianDensity(self.mean, np.where(self.count > 0, variance, np.nan))


@dataclass(frozen=True, eq=False, init=False, repr=False)
class SharedNormalInverseGamma(Sharing, NormalInverseGamma):
    """variance ~ InverseGamma(shape, scale) for all classes, mean_c | variance ~ Normal(mean_c,
    variance / count_c).

    The first axis is that of the classes; `shape` and `scale` are the same for all of them.

    >>> spread = {"shape": [3.0, 3.0], "scale": [4.0, 4.0]}
    >>> belief = SharedNormalInverseGamma(mean=[0.0, 1.0], count=[1.0, 1.0], **spread)
    >>> belief.mode()
    Moments(mean=array([0., 1.]), variance=array([0.8, 0.8]))
    """

    models: int = 1

    common: ClassVar[tuple[str, ...]] = ("shape", "scale")
    alone: ClassVar[type[NormalInverseGamma]] = NormalInverseGamma

    def __init__(self, mean: Any, count: Any, shape: Any, scale: Any, models: int = 1) -> None:
        super().__init__(mean, count, shape, scale)
        object.__setattr__(self, "models", models)
        self.check_common()

    def margins(self) -> NormalInverseGamma:
        return NormalInverseGamma(self.location, self.count, self.shape, self.scale)

    def as_block(self) -> NormalInverseWishart:
        matrix = self.matrix[..., None, None]
        return NormalInverseWishart.raw(self.location[..., None], self.count, self.dof, matrix)

    def pairs(self, x: Array) -> Iterator[Pair]:
        with np.errstate(all="ignore"):
            near, far = ((x - self.location[c]) ** 2 / self.matrix[c] for c in (0, 1))
        yield Pair(EVERY, 1, self.count[::-1], self.dof[0], self.log_det[0], far, near)

    def variables(self, pm: Any, names: VariableNames) -> GaussianDensity:
        """One variable for the variance of all classes."""
        named = names("sigma2")
        dims = named["dims"] and named["dims"][1:]
        common = pm.InverseGamma(
            f"{named['name']}_shared", alpha=self.shape[0], beta=self.scale[0], dims=dims
        )
        variance = pm.Deterministic(**named, var=common * pm.math.ones_like(self.count))
        return self.density_with_variance(pm, names, variance)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class SharedNormalInverseWishart(Sharing, NormalInverseWishart):
    """One covariance ~ InverseWishart(dof, scale) for all classes, mean_c | covariance ~
    Normal(mean_c, it / count_c).

    The first axis is that of the classes; `dof` and `scale` are the same for all of them.

    >>> spread = {"dof": [3.0, 3.0], "scale": [[[4.0]], [[4.0]]]}
    >>> belief = SharedNormalInverseWishart([[0.0], [1.0]], [1.0, 1.0], **spread)
    >>> belief.mode().covariance.ravel().round(4)
    array([0.5714, 0.5714])
    """

    models: int = 1

    common: ClassVar[tuple[str, ...]] = ("dof", "scale")
    alone: ClassVar[type[NormalInverseWishart]] = NormalInverseWishart

    def __init__(self, mean: Any, count: Any, dof: Any, scale: Any, models: int = 1) -> None:
        super().__init__(mean, count, dof, scale)
        object.__setattr__(self, "models", models)
        self.check_common()

    def distances(self, x: Array) -> Array:
        """The rows are turned once for all classes, unless these are so far apart that digits would
        be lost.
        """
        whitening = self.whitening[0, 0]
        middle = self.location[0, 0]
        steps = turned(whitening, self.location[:, 0] - middle)
        if self.models > 1 or not (np.abs(steps) < FAR).all():
            return super().distances(x)
        return distances(x, middle[None], whitening[None], steps[None])

    def as_block(self) -> NormalInverseWishart:
        return self

    def pairs(self, x: Array) -> Iterator[Pair]:
        for rows, narrowed, cells in self.patterns(x):
            shared = narrowed.count[::-1], narrowed.dof[0], narrowed.log_det[0]
            yield Pair(rows, narrowed.width, *shared, *_products(narrowed, cells))


def _products(belief: NormalInverseWishart, x: Array) -> tuple[Array, Array, Array]:
    """|a|**2 and |b|**2 of rows from the second class and the first, and |a|**2 |b|**2 - (a b)**2.

    Shape: `(r, 1)`.
    """
    far = (x - belief.location[1, 0]) @ belief.whitening[0, 0].T
    step = turned(belief.whitening[0, 0], belief.location[1, 0] - belief.location[0, 0])
    square = inner(far, far)
    # what no multiple of a explains of b - a
    across = step - ratio((far @ step)[:, None], square) * far
    near = far + step
    return square, inner(near, near), square * inner(across, across)
