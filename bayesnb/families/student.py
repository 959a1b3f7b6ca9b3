"""A Gaussian's rows that leave it one by one.

Once so much weight w of a row x has left a belief with parameters (location, count, shape, scale), and with
u = (x - location)**2,

    count' = count - w      shape' = shape - w / 2      scale' = scale (1 - g u),  g = w count / (2 scale count')

and x lies count / count' times as far from the location as before. Its score is then a function of u alone. Where
scale' is a small part of scale the difference has few digits: such rows are marked, and the others counted again.
"""

from typing import Any

import numpy as np

from bayesnb import numerics
from bayesnb.families.removal import PREDICTIVE, Leaving
from bayesnb.numerics.special import accurate_log1p, log_gamma_ratio, ratio
from bayesnb.numerics.views import EVERY, numbers

Array = np.ndarray
LOG_2PI = float(np.log(2 * np.pi))
FRAGILE = 1e-4  # the share of a scale below which taking a row back leaves too few digits
LEAST = 1e-9  # of a count or a shape


def left_out(belief: Any, leaving: Leaving, beyond: float = 1.5) -> Array:
    """The scores of rows of one class, `(1, f)` beliefs that have seen them: `(r, f) -> (r,)`; NaN where marked.

    A mode of the variance is the scale divided by the shape and so much `beyond`.
    """
    x, terms = numbers(leaving.x, EVERY), left_out_terms(belief, leaving, beyond)
    out = np.empty(len(x))
    if leaving.alike:
        numerics.gaussian_kernels.left_out(
            x, np.ascontiguousarray(np.stack(np.broadcast_arrays(*terms))[:, 0]), FRAGILE, out
        )
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


def left_by(belief: Any, c: int, leaving: Leaving) -> Array:
    """The same where all classes have one variance, of rows of class c, `(r, f), (c, f) -> (r, c)`.

    For a class k that the row was not in, location and count stay. With u_k = (x - location_k)**2, the shape has lost
    w / 2 and the scale its part g u_c, so that the score is a function of u_k / (1 - g u_c).
    """
    x, total = numbers(leaving.x, EVERY), np.empty((len(leaving.codes), len(belief)))
    g, shape, _ = gone(belief[c], leaving.each)
    with np.errstate(all="ignore"):
        lost = g * (x - belief.location[c]) ** 2
        rest = np.log1p(-lost)
        for k in range(len(belief)):
            fields = belief.location[k], belief.count[k], shape, np.where(belief.count[k] > 0, belief.scale[k], np.nan)
            total[:, k] = np.where(np.isnan(x), 0.0, stayed(x, fields, (lost, rest), leaving, belief.beyond)).sum(
                axis=1
            )
    total[:, c] = left_out(belief[c : c + 1], leaving, belief.beyond)
    return total


def stayed(x: Array, fields: tuple[Array, ...], left: tuple[Array, Array], leaving: Leaving, beyond: float) -> Array:
    """Scores of cells, `(r, f)`, by a class whose location and count stay; `left`: the lost part, the rest's log."""
    (location, count, shape, scale), (lost, rest), s = fields, left, leaving.power / 2
    u = (x - location) ** 2
    if leaving.kind != PREDICTIVE:
        w = worth(shape, leaving.kind, beyond)
        return -s * (LOG_2PI + np.log(scale / w) + rest + w / scale * u / (1 - lost))
    still = log_gamma_ratio(shape, s) - s * (LOG_2PI + np.log(scale)) - accurate_log1p(2 * s / count) / 2
    return still + shape * rest - (shape + s) * np.log1p(s / scale * (count / (count + 2 * s)) * u - lost)


def worth(shape: Array, kind: str, beyond: float) -> Array:
    """What a scale is divided by to be the variance that is plugged in."""
    return {"mean": np.where(shape > 1, shape - 1, shape), "map": shape + beyond, "mle": shape}[kind]


def gone(belief: Any, w: Any) -> tuple[Array, Array, Array]:
    """g, the shape that is left, and where enough is left; g is infinite elsewhere, which marks every row."""
    count, shape = belief.count - w, belief.shape - w / 2
    fine = (count > LEAST * belief.count) & (shape > LEAST * belief.shape) & (belief.scale > 0)
    with np.errstate(all="ignore"):
        return np.where(fine, w / (2 * belief.scale) * (belief.count / count), np.inf), shape, fine


def left_out_terms(belief: Any, leaving: Leaving, beyond: float) -> tuple[Array, ...]:
    """mean, height, a, g, b, c and k of: height + a log(1 - g u) - b log(1 + c u) - k u / (1 - g u)."""
    w, kind, power = leaving.each, leaving.kind, leaving.power
    (g, shape, fine), count, scale = gone(belief, w), belief.count - w, belief.scale
    with np.errstate(all="ignore"):
        if kind == PREDICTIVE:
            gain = log_gamma_ratio(shape, power / 2) - power / 2 * (LOG_2PI + np.log(scale))
            height = gain - accurate_log1p(power / count) / 2
            c = (power - w) / (2 * scale) * (belief.count / (count + power))
            a, b, k = shape, np.where(c == 0, 0.0, shape + power / 2), np.zeros_like(g)
        else:
            worthy = worth(shape, kind, beyond)
            height = -power / 2 * (LOG_2PI + np.log(scale / worthy))
            a, k = np.full_like(g, -power / 2), power / 2 * worthy * (belief.count / count) ** 2 / scale
            b = c = np.zeros_like(g)
    return belief.location, np.where(fine, height, np.nan), a, g, b, c, k


def rounding_error(belief: Any, stats: Any, slip: Any) -> Array:
    """How far off a belief that learns these stats is, if they are off by so much, `(c, f)`.

    That of its location is told in standard deviations of a row, and that of its scale as a part of it.
    """
    share, after = ratio(stats.count, belief.count + stats.count), belief.update(stats)
    pull = belief.count * share * (2 * np.abs(stats.mean - belief.location) + slip.mean) * slip.mean
    off = np.stack([share * slip.mean, (slip.ssd + pull) / 2])
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = np.stack([np.sqrt(ratio(after.scale, np.maximum(after.shape, 0.0))), after.scale])
        return np.where(off == 0, 0.0, off / unit).max(axis=0)
