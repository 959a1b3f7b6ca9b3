"""A block of columns whose covariance is the same in every class, and unknown as the means are.

    covariance ~ InverseWishart(dof, scale)      mean_c | covariance ~ Normal(location_c, covariance
    / count_c)

With n_c rows of class c, and what they add to the scale of a class that is alone, S_c, the
posterior has

    dof + sum of n_c      scale + sum of S_c

and a location and a count for each class as ever: given the covariance the classes are apart.
Log-odds of classes, given theta, are linear in the cells: Bayesian linear discriminant analysis.
Geisser (1964), Posterior odds for multivariate normal classifications.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families import elliptic
from bayesnb.families.base import ORDER, Array, Parts, Rng
from bayesnb.families.elliptic import LOG_PI, multi_gamma_ratio
from bayesnb.families.gaussian_removal import Distances
from bayesnb.families.normal_inverse_wishart import FIELDS, NormalInverseWishart
from bayesnb.families.record import Linear, VariableNames, lead, of_powers
from bayesnb.families.sharing import Sharing, log_series, mean_series
from bayesnb.families.vectors import VectorDensity, VectorStats, distances, turned
from bayesnb.numerics import special
from bayesnb.numerics.special import accurate_log1p, ratio
from bayesnb.numerics.views import EVERY, numbers

FAR = 1e3  # standard deviations


@dataclass(frozen=True, eq=False, init=False, repr=False)
class SharedNormalInverseWishart(Sharing, NormalInverseWishart):
    """One covariance ~ InverseWishart(dof, scale) for all classes, mean_c | covariance ~
    Normal(mean_c, it / count_c).

    The first axis is that of the classes; `dof` and `scale` are the same for all of them.

    >>> belief = SharedNormalInverseWishart([[0.0], [1.0]], [1.0, 1.0], [3.0, 3.0], [[[4.0]], [[4.0]]])
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

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, Integral):
            return NormalInverseWishart.raw(*(getattr(self, name)[index] for name in FIELDS))
        return self.map(lambda array: array[index])

    def repeated(self, times: int) -> Self:
        classes = np.tile(np.arange(len(self)), times)
        return self.raw(*(getattr(self, name)[classes] for name in FIELDS), self.models * times)

    @property
    def beyond(self) -> int:
        """Every mean, at its mode, adds a factor |covariance|**-0.5 to the density of them all."""
        return self.width + 1 + self.classes

    def together(self, values: Array) -> Array:
        return self.each(self.pooled(values))

    def distances(self, x: Array) -> Array:
        """The rows are turned once for all classes, unless these are so far apart that digits would
        be lost.
        """
        whitening, middle = self.whitening[0, 0], self.location[0, 0]
        steps = turned(whitening, self.location[:, 0] - middle)
        if self.models > 1 or not (np.abs(steps) < FAR).all():
            return super().distances(x)
        return distances(x, middle[None], whitening[None], steps[None])

    def log_evidence(self, stats: VectorStats, xp: Any = special) -> Array:
        """Log evidence of all classes together, `(1, 1)`, as they share the covariance."""
        after, half = self.update(stats), self.pooled(stats.count) / 2
        dof, grown = self.once(self.dof) / 2, self.once(elliptic.log_growth(self, after))
        gain = multi_gamma_ratio(dof, half, self.width) - dof * grown
        gain = gain - half * (self.width * LOG_PI + self.once(after.log_det))
        return gain - self.width * self.pooled(np.log1p(stats.count / self.count)) / 2

    def pair_distances(self, x: Array) -> Distances:
        near, far = ((x - self.location[c, 0]) @ self.whitening[0, 0].T for c in (0, 1))
        other, own, along = (
            (a * b).sum(axis=1)[:, None] for a, b in ((far, far), (near, near), (far, near))
        )
        return other, own, along**2

    def pair_moment(self, x: Any, s: Array, u: Array, power: Any = 1.0) -> Array:
        """The means go as in `mean_series`, and then the precision, which is Wishart: the
        determinant of its scale and two outer products is 1 + p |a|**2 + q |b|**2 + p q (|a|**2
        |b|**2 - (a b)**2), in units of the scale."""
        s, u = s * power, u * power
        total = np.zeros((x.shape[0], s.shape[-1]), np.result_type(s, u, float))
        for rows, narrowed, cells in self.patterns(numbers(x, EVERY)):
            at = [each[rows] if each.ndim == 2 else each for each in (s, u)]
            total[rows] = _pair_moment(narrowed, cells, *at)
        return total

    def pair_cumulants(self, x: Any, t: float, v: float, power: Any = 1.0) -> Array:
        total = np.zeros((ORDER, x.shape[0]))
        for rows, narrowed, cells in self.patterns(numbers(x, EVERY)):
            total[:, rows] = _pair_cumulants(narrowed, cells, t * power, v * power)
        return of_powers(total, power)

    def sample(self, rng: Rng, size: Any = None) -> VectorDensity:
        """Means for every class, and one covariance for all."""
        return elliptic.sample(self, np.random.default_rng(rng), lead(size), self.classes)

    def log_density(self, theta: VectorDensity) -> Parts:
        """log p of each mean given the covariance, and of the covariance: in equal parts, one for
        every class.
        """
        parts = super().log_density(theta)
        return parts | {("cov", None): parts["cov", None] / self.classes}

    def linear_variance(self, against: int | None = None) -> Linear:
        """Variances of the weights and offsets of a drawn theta.

        With the precision P ~ Wishart(n, V), V = scale**-1, and mu | P ~ Normal(m, (k P)**-1),

            Var((P mu)_i) = n (V_ii m'Vm + (Vm)_i**2) + n V_ii / k
            Var(mu' P mu / 2) = (2 n (m'Vm)**2 + 4 n m'Vm / k + 2 d / k**2) / 4

        by Var(tr P B) = 2 n tr(VBVB) for symmetric B. Two classes share P: of their difference m is
        a difference g and, with h the sum of both, m m' is (g h' + h g') / 2; what has a k is a
        sum.
        """
        white = turned(self.whitening, self.location)[:, 0]
        other = None if against is None else white[against]
        dof, unit = self.dof, (self.whitening[:, 0] ** 2).sum(axis=-2)
        gap, far = (white, white) if other is None else (white - other, white + other)
        square = (gap**2).sum(axis=-1, keepdims=True)
        noise = 1 / self.count
        rough = 4 * dof * (white**2).sum(axis=-1, keepdims=True) * noise + 2 * self.width * noise**2
        if against is not None:
            differs = (np.arange(len(self)) != against)[:, None]
            noise, rough = differs * (noise + noise[against]), differs * (rough + rough[against])
        back = turned(self.whitening[:, 0].swapaxes(-1, -2), gap)
        turn = (
            square * (far**2).sum(axis=-1, keepdims=True)
            + (gap * far).sum(axis=-1, keepdims=True) ** 2
        )
        return Linear(
            dof * (unit * square + back**2 + unit * noise), ((dof * turn + rough) / 4)[:, 0]
        )

    def variables(self, pm: Any, names: VariableNames) -> VectorDensity:
        return elliptic.variables(self, pm, names, self.classes)


def _products(belief: NormalInverseWishart, x: Array) -> tuple[Array, Array, Array]:
    """|a|**2 and |b|**2 of rows from the second class and the first, and |a|**2 |b|**2 - (a b)**2,
    `(r,)`.
    """
    far = (x - belief.location[1, 0]) @ belief.whitening[0, 0].T
    step = turned(belief.whitening[0, 0], belief.location[1, 0] - belief.location[0, 0])
    square = (far * far).sum(axis=1)
    # what no multiple of a explains of b - a
    across = step - ratio(far @ step, square)[:, None] * far
    near = far + step
    return square, (near * near).sum(axis=1), square * (across * across).sum(axis=1)


def _pair_moment(belief: NormalInverseWishart, x: Array, s: Array, u: Array) -> Array:
    far, near, area = (each[:, None] for each in _products(belief, x))
    both, dof, width = (s + u) / 2, belief.dof[0] / 2, belief.width
    with np.errstate(all="ignore"):
        widen, other = s / belief.count[1], u / belief.count[0]
        still = multi_gamma_ratio(dof, both, width) - both * (width * LOG_PI + belief.log_det[0])
        still = still - width / 2 * (accurate_log1p(widen) + accurate_log1p(other))
        p, q = s / (1 + widen), u / (1 + other)
        reach = p * far + q * near + p * q * area
        exists = (
            (widen.real > -1)
            & (other.real > -1)
            & (reach.real > -1)
            & ((p * far + q * near).real > -2)
        )
        exists = exists | (np.imag(s) != 0) | (np.imag(u) != 0)
        return np.where(exists, still - (dof + both) * accurate_log1p(reach), np.inf)


def _pair_cumulants(belief: NormalInverseWishart, x: Array, t: float, v: float) -> Array:
    far, near, area = _products(belief, x)
    (k,), (j,) = belief.count[1], belief.count[0]
    r, q = 1 / (k + t), 1 / (j + v)
    p, step, o, other = (
        t / (1 + t / k),
        k**2 * mean_series(r),
        v / (1 + v / j),
        j**2 * mean_series(q, -1),
    )
    both = p * other + o * step + np.concatenate([[0.0], np.convolve(step, other)[: ORDER - 1]])
    rise = step[:, None] * far + other[:, None] * near + both[:, None] * area
    moving = (
        (belief.dof[0] + t + v) / 2 * log_series(rise / (1 + p * far + o * near + p * o * area))
    )
    still = belief.width / 2 * log_series(np.array([[r, -q], *np.zeros((3, 2))])).sum(axis=1)
    return -(moving + still[:, None])
