"""Two classes that have a spread in common, and the log-odds between them.

    J(s, u) = log E[p(x | theta_1)**s p(x | theta_0)**u]

Were the classes independent, it would be K_1(s) + K_0(u). As s -> J(s, -s) it is all of the
distribution of the log-odds. Integrating a mean out turns a power s into p = s / (1 + s / count);
and then the precision, which is Wishart: the determinant of its scale and two outer products is

    1 + p |b|**2 + q |a|**2 + p q area
"""

from typing import Any, NamedTuple

import numpy as np

from bayesnb.families.base import Array
from bayesnb.numerics.special import LOG_PI, accurate_log1p, log_gamma_ratio


class Pair(NamedTuple):
    """Rows of b columns, or of a block, b = 1, beside two classes that have a spread in common.

    b and a are the distances from the second class and from the first, in units of the scale.
    """

    rows: Any
    belief: Any  # about both classes, `(2, b)`
    far: Array  # |b|**2, `(r, b)`; NaN of a missing cell
    near: Array  # |a|**2
    area: Any = 0.0  # |b|**2 |a|**2 - (a b)**2, which columns do not have

    def log_moment(self, s: Array, u: Array) -> Array:
        """J(s, u) of `(b, n)` places, or `(b, r, 1)`, summed over columns, `-> (r, n)`."""
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
    """log of Gamma_d(a + s) / Gamma_d(a), the multivariate Gamma function.

    +inf where it has no mean.
    """
    if width == 1:
        return log_gamma_ratio(a, s)
    halves = np.arange(width) / 2
    return log_gamma_ratio(np.asarray(a)[..., None] - halves, np.asarray(s)[..., None]).sum(axis=-1)
