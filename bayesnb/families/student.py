"""A Gaussian's rows that leave it one by one.

Once so much weight w of a row x has left a belief with parameters (location, count, shape, scale), and with
u = (x - location)**2,

    count' = count - w      shape' = shape - w / 2      scale' = scale (1 - g u),  g = w count / (2 scale count')

and x lies count / count' times as far from the location as before. Its score is then a function of u alone. Where
scale' is a small part of scale the difference has few digits: such rows are marked, and the others counted again.
"""

from typing import Any

import numpy as np

from bayesnb import kernels
from bayesnb.families.leaving import PREDICTIVE, Leaving
from bayesnb.special import accurate_log1p, log_gamma_ratio, ratio
from bayesnb.views import EVERY, numbers

Array = np.ndarray
LOG_2PI = float(np.log(2 * np.pi))
FRAGILE = 1e-4  # the share of a scale below which taking a row back leaves too few digits
LEAST = 1e-9  # of a count or a shape


def left_out(belief: Any, leaving: Leaving) -> Array:
    """The scores of rows of one class, `(1, f)` beliefs that have seen them: `(r, f) -> (r,)`; NaN where marked."""
    x, terms = numbers(leaving.x, EVERY), left_out_terms(belief, leaving.each, leaving.kind, leaving.power)
    out = np.empty(len(x))
    if leaving.alike:
        kernels.gaussian.left_out(x, np.ascontiguousarray(np.stack(np.broadcast_arrays(*terms))[:, 0]), FRAGILE, out)
        return out
    return defined(x, terms)


def defined(x: Array, terms: tuple[Array, ...]) -> Array:
    """What the kernel computes, `(r, f)`, and seven of `(1, f)` or `(r, f)`, `-> (r,)`."""
    mean, *rest = terms
    with np.errstate(all="ignore"):
        value = scored((x - mean) ** 2, tuple(rest))
    return np.where(np.isnan(x), 0.0, value).sum(axis=1)


def scored(u: Array, terms: tuple[Array, ...]) -> Array:
    """height + a log(1 - g u) - b log(1 + c u) - k u / (1 - g u); NaN where too few digits are left."""
    height, a, g, b, c, k = terms
    with np.errstate(all="ignore"):
        left = 1 - g * u
        value = height + a * np.log1p(-g * u) - b * np.log1p(c * u) - k * u / left
    return np.where(left < FRAGILE, np.nan, value)


def left_out_terms(belief: Any, w: Any, kind: str, power: float) -> tuple[Array, ...]:
    """mean, height, a, g, b, c and k of: height + a log(1 - g u) - b log(1 + c u) - k u / (1 - g u)."""
    count, shape, scale = belief.count - w, belief.shape - w / 2, belief.scale
    fine = (count > LEAST * belief.count) & (shape > LEAST * belief.shape) & (scale > 0)
    with np.errstate(all="ignore"):
        g = np.where(fine, w / (2 * scale) * (belief.count / count), np.inf)  # infinite: every row is marked
        if kind == PREDICTIVE:
            gain = log_gamma_ratio(shape, power / 2) - power / 2 * (LOG_2PI + np.log(scale))
            height = gain - accurate_log1p(power / count) / 2
            c = (power - w) / (2 * scale) * (belief.count / (count + power))
            a, b, k = shape, np.where(c == 0, 0.0, shape + power / 2), np.zeros_like(g)
        else:
            worth = {"mean": np.where(shape > 1, shape - 1, shape), "map": shape + 1.5, "mle": shape}[kind]
            height = -power / 2 * (LOG_2PI + np.log(scale / worth))
            a, k = np.full_like(g, -power / 2), power / 2 * worth * (belief.count / count) ** 2 / scale
            b = c = np.zeros_like(g)
    return belief.location, np.where(fine, height, np.nan), a, g, b, c, k


def shaken(belief: Any, stats: Any, slip: Any) -> Array:
    """How far off a belief that learns these stats is, if they are off by so much, `(c, f)`.

    That of its location is told in standard deviations of a row, and that of its scale as a part of it.
    """
    share, own = ratio(stats.count, belief.count + stats.count), belief.update(stats)
    pull = belief.count * share * (2 * np.abs(stats.mean - belief.location) + slip.mean) * slip.mean
    off = np.stack([share * slip.mean, (slip.ssd + pull) / 2])
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = np.stack([np.sqrt(ratio(own.scale, np.maximum(own.shape, 0.0))), own.scale])
        return np.where(off == 0, 0.0, off / unit).max(axis=0)
