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
from dataclasses import dataclass, replace
from math import factorial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families import gaussian_removal
from bayesnb.families.base import ORDER, Array, Belief, Cells, Parts, Rng
from bayesnb.families.normal_inverse_gamma import (
    LOG_2PI,
    GaussianDensity,
    GaussianStats,
    NormalInverseGamma,
    of_variance,
)
from bayesnb.families.record import Linear, VariableNames, by_feature, lead, of_powers, silent
from bayesnb.families.removal import PREDICTIVE, RowsLeftOut
from bayesnb.numerics import special
from bayesnb.numerics.special import accurate_log1p, log_gamma_ratio, ratio
from bayesnb.numerics.views import EVERY, numbers


class Sharing(Belief):
    """A belief about classes that have parameters in common.

    Several models may stand side by side, the classes of one after those of another, as draws of a
    prior do.
    """

    independent_classes: ClassVar[bool] = False
    is_linear: ClassVar[bool] = True
    common: ClassVar[tuple[str, ...]]  # the parameters of the common part
    alone: ClassVar[type[Belief]]  # the belief about one class, whatever the others are
    layout: ClassVar[tuple[str, ...]] = ("models",)
    models: int
    as_scale: Any  # what rows take from when they leave
    distances: Any  # squared ones of rows from the classes, in units of the scale

    def check_common(self) -> None:
        """Raise if the parameters of the common part differ between classes."""
        for name in self.common:
            values = getattr(self, name)
            if not values.ndim or (values != self.each(self.once(values))).any():
                raise ValueError(
                    f"{type(self).__name__}: {name} is about what all classes have in common, so "
                    "it must be the same "
                    f"for every class, got {values.tolist()!r:.100}."
                )

    def __repr__(self) -> str:
        return super().__repr__().replace(", models=1)", ")")

    @property
    def classes(self) -> int:
        """The number of classes of one model."""
        return len(self) // self.models

    def __getitem__(self, index: Any) -> Any:
        """Return some classes of every model; of a single class the belief about it, whatever the
        others are.
        """
        if isinstance(index[0] if isinstance(index, tuple) else index, Integral):
            return self.alone(*(getattr(self, name)[index] for name in self.alone.__match_args__))
        return self.map(lambda array: array[index])

    @property
    def public_name(self) -> str:
        return self.alone.__name__

    def repeated(self, times: int) -> Self:
        every = np.tile(np.arange(len(self)), times)
        names = self.alone.__match_args__
        return type(self)(*(getattr(self, name)[every] for name in names), self.models * times)  # type: ignore[call-arg]

    def once(self, values: Any) -> Any:
        """One entry for every model of a parameter of the common part, `(c, f) -> (1, f)`."""
        return values[:1] if self.models == 1 else values[:: self.classes]

    def pooled(self, values: Any) -> Any:
        """Sums over the classes of every model, `(c, f) -> (1, f)`; of PyMC's variables, which are
        of one model.
        """
        if self.models == 1:
            return values.sum(axis=0, keepdims=True)
        return values.reshape((self.models, -1, *values.shape[1:])).sum(axis=1)

    def each(self, values: Array) -> Array:
        """Repeat the entry of every model for each of its classes, `(1, f) -> (c, f)`."""
        return np.repeat(values, self.classes, axis=0)

    def units(self, x: Cells) -> list[Any]:
        """No units: a parameter for all classes ties their rows together, so no class has an
        evidence by itself.
        """
        return []

    def left_out(self, stats: Any, reader: Any, rows: RowsLeftOut) -> Array:
        """A row that leaves changes the common part, and so the scores of all classes."""
        scores, counted = self._read(reader, rows)
        belief = gaussian_removal.learnt(self, stats, rows.kind)

        def score_rows(c: int, places: Array, part: RowsLeftOut) -> None:
            part_scores = belief.scores_without(c, part)
            part_scores[np.isnan(part_scores[:, c])] = np.nan
            scores[places] = part_scores

        rows.for_classes(score_rows, counted)
        return scores

    def scores_without(self, c: int, rows: RowsLeftOut) -> Array:
        """Scores by all classes of rows that this belief has seen in class c, once each has left
        it: `(r, c)`.

        J(1, -w) - K(-w), by which an independent class would have K(1); or by the estimate that is
        left.
        """
        x, w, one = numbers(rows.x, EVERY), rows.each, self[c : c + 1]
        scores, others = np.empty((len(x), len(self))), [k for k in range(len(self)) if k != c]
        if rows.kind == PREDICTIVE:
            scores[:, c] = one.score_without(x, w)
            gone, once = one.row_log_moment(x, -w), np.ones(1)
            for k in others:
                scores[:, [k]] = self[[c, k]].pair_moment(x, once, np.atleast_1d(-w)) - gone
        else:
            scale, missing = self.as_scale, self.missing(x)
            each = scale.only(c).estimate_left_out(rows.kind, w, one.distances(x))
            scores[:, c] = silent(missing, each).sum(axis=1)
            for k in others:
                distances = self[[c, k]].pair_distances(x)
                each = scale.only(k).other_estimate_left_out(rows.kind, w, distances, scale.only(c))
                scores[:, k] = silent(missing, each).sum(axis=1)
        scores[:, ~self.proper.all(axis=1)] = np.nan
        return scores

    @abstractmethod
    def pair_distances(self, x: Array) -> gaussian_removal.Distances:
        """|b|**2, |a|**2 and (a b)**2, a and b the distances from two classes, in units of the
        scale.
        """

    def features_left_out(self, stats: Any, reader: Any, rows: RowsLeftOut) -> Array:
        if self.multivariate:
            return super().features_left_out(stats, reader, rows)
        x = numbers(rows.x, EVERY)
        columns = [
            self.only(j).left_out(stats.only(j), reader.only(j), replace(rows, x=x[:, [j]]))
            for j in range(x.shape[1])
        ]
        return np.stack(columns, axis=-1)

    @abstractmethod
    def pair_moment(self, x: Any, s: Array, u: Array, power: Any = 1.0) -> Array:
        """J(power * s, power * u), of the second class and the first, summed over features, `-> (r,
        n)`.

        Of `(r, f)` cells at `(n,)` and `(n,)` places, or `(r, 1)`, one for each row. They are both
        real, or have real parts of 0 or more. Infinite where the moment does not exist.
        """

    @abstractmethod
    def pair_cumulants(self, x: Any, t: float, v: float, power: Any = 1.0) -> Array:
        """The first four derivatives of s -> J(t + s, v - s) at 0, summed over features, `(r, f) ->
        (4, r)`.

        They are cumulants of log-odds: once the second class has seen the row t times, the first v
        times. All arguments of J are times the power, a number or one for each feature.
        """


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

    >>> belief = SharedNormalInverseGamma(mean=[0.0, 1.0], count=[1.0, 1.0], shape=[3.0, 3.0], scale=[4.0, 4.0])
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

    @property
    def beyond(self) -> int:
        """Every mean, at its mode, adds a factor variance**-0.5 to the density of them all and of
        the variance.
        """
        return self.classes + 2

    def update(self, stats: GaussianStats) -> Self:
        gap, share = stats.mean - self.location, ratio(stats.count, self.count + stats.count)
        return type(self)(
            self.location + share * gap,
            self.count + stats.count,
            self.shape + self.each(self.pooled(stats.count)) / 2,
            self.scale + self.each(self.pooled(self.surprise(stats))),
            self.models,
        )

    def margins(self) -> NormalInverseGamma:
        return NormalInverseGamma(self.location, self.count, self.shape, self.scale)

    def log_evidence(self, stats: GaussianStats, xp: Any = special) -> Array:
        """Log evidence of all classes together, `(1, f)`, as they share the variance."""
        every = stats.count / 2, self.surprise(stats, xp), xp.log1p(stats.count / self.count)
        return of_variance(
            self.once(self.shape), self.once(self.scale), tuple(map(self.pooled, every)), xp
        )

    def pair_moment(self, x: Any, s: Array, u: Array, power: Any = 1.0) -> Array:
        """Integrate the means out as in `mean_series`, then the precision, which is Gamma(shape,
        scale).
        """
        w, cells = by_feature(power, self.shape.shape[1]), numbers(x, EVERY)
        s, u = (np.multiply.outer(w, at) for at in np.broadcast_arrays(s, u))  # feature by feature
        total: Any = 0.0
        with np.errstate(all="ignore"):
            both, by_place = (s + u) / 2, (..., *(None,) * (s.ndim - 1))
            widen, other = s / self.count[1][by_place], u / self.count[0][by_place]
            shape, scale = self.shape[1][by_place], self.scale[1][by_place]
            # for all features, if they are alike
            once = slice(1) if np.ptp(self.shape[1]) == np.ptp(w) == 0 else EVERY
            still = log_gamma_ratio(shape[once], both[once]) - both * (LOG_2PI + np.log(scale))
            still = still - (accurate_log1p(widen) + accurate_log1p(other)) / 2
            still = np.where((widen.real > -1) & (other.real > -1), still, np.inf)
            far, near, _ = self.pair_distances(cells)
            for j in range(cells.shape[1]):
                a, b = far[:, [j]], near[:, [j]]
                reach = a * (s[j] / (1 + widen[j])) + b * (u[j] / (1 + other[j]))
                tail = np.where(
                    reach.real > -1, (shape[j] + both[j]) * accurate_log1p(reach), -np.inf
                )
                total = total + np.where(np.isnan(a), 0.0, still[j] - tail)
        return total

    def pair_distances(self, x: Array) -> gaussian_removal.Distances:
        with np.errstate(all="ignore"):
            near, far = ((x - self.location[c]) ** 2 / (2 * self.scale[c]) for c in (0, 1))
            return far, near, far * near

    def pair_cumulants(self, x: Any, t: Any, v: Any, power: Any = 1.0) -> Array:
        cells, t, v = numbers(x, EVERY), t * power, v * power
        both = (t + v) / 2
        far, near, _ = self.pair_distances(cells)
        widen, other = 1 + t / self.count[1], 1 + v / self.count[0]
        r, q = 1 / (self.count[1] + t), 1 / (self.count[0] + v)
        steps = (self.count[1] ** 2 * mean_series(r))[:, None] * far + (
            self.count[0] ** 2 * mean_series(q, -1)
        )[:, None] * near
        moving = (self.shape[1] + both) * log_series(
            steps / (1 + far * (t / widen) + near * (v / other))
        )
        still = (
            np.add(*(log_series(np.stack([rate, *np.zeros((3, *rate.shape))])) for rate in (r, -q)))
            / 2
        )
        return -of_powers(np.where(np.isnan(cells), 0.0, moving + still[:, None]), power).sum(
            axis=-1
        )

    def sample(self, rng: Rng, size: Any = None) -> GaussianDensity:
        """Draw one variance for all classes, and means for every class."""
        rng, shape = np.random.default_rng(rng), self.once(self.shape)
        gamma = rng.standard_gamma(shape, lead(size) + shape.shape)
        variance = self.scale / np.repeat(gamma, self.classes, axis=len(lead(size)))
        return GaussianDensity(rng.normal(self.location, np.sqrt(variance / self.count)), variance)

    def log_density(self, theta: GaussianDensity) -> Parts:
        """Log density of each mean given the variance, and of the variance, in equal parts for
        every class.
        """
        parts = super().log_density(theta)
        return parts | {("sigma2", None): parts["sigma2", None] / self.classes}

    def linear_variance(self, against: int | None = None) -> Linear:
        """Variances of mu tau and mu**2 tau / 2, where tau = 1 / variance.

        With tau ~ Gamma(a, rate b) and mu | tau ~ Normal(m, 1 / (k tau)),

            Var(mu tau) = m**2 a / b**2 + (a / b) / k
            Var(mu**2 tau / 2) = (m**4 a / b**2 + 4 m**2 (a / b) / k + 2 / k**2) / 4

        Where two classes, which share tau, are compared, m and m**2 are differences, and the terms
        with k add up.
        """
        rate = self.shape / self.scale
        location, noise = self.location, rate / self.count
        square, rough = location**2, (4 * rate * location**2 + 2 / self.count) / self.count
        if against is not None:
            apart = (np.arange(len(self)) != against)[:, None]
            gap = location - location[against]
            square, noise, rough = (
                gap * (location + location[against]),
                apart * (noise + noise[against]),
                apart * (rough + rough[against]),
            )
            location = gap
        spread = rate / self.scale
        return Linear(location**2 * spread + noise, ((square**2 * spread + rough) / 4).sum(axis=-1))

    def variables(self, pm: Any, names: VariableNames) -> GaussianDensity:
        """One variable for the variance of all classes."""
        named = names("sigma2")
        dims = named["dims"] and named["dims"][1:]
        common = pm.InverseGamma(
            f"{named['name']}_shared", alpha=self.shape[0], beta=self.scale[0], dims=dims
        )
        variance = pm.Deterministic(**named, var=common * pm.math.ones_like(self.count))
        return GaussianDensity(
            pm.Normal(**names("mu"), mu=self.location, sigma=(variance / self.count) ** 0.5),
            variance,
        )
