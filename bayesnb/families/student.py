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
from bayesnb.numerics.special import accurate_log1p, log_gamma_ratio
from bayesnb.numerics.views import EVERY, numbers

Array = np.ndarray
LOG_2PI = float(np.log(2 * np.pi))
FRAGILE = 1e-4  # the share of a scale below which taking a row back leaves too few digits
LEAST = 1e-9  # of a count or a shape


def left_out(belief: Any, leaving: Leaving, beyond: float = 1.5) -> Array:
    """The scores of rows of one class, `(1, f)` beliefs that have seen them: `(r, f) -> (r,)`; NaN where marked.

    A mode of the variance is the scale divided by the shape and so much `beyond`.
    """
    if not leaving.alike:
        return cells_left_out(belief, leaving, beyond).sum(axis=1)
    x, terms = numbers(leaving.x, EVERY), left_out_terms(belief, leaving, beyond)
    out, table = np.empty(len(x)), np.stack(np.broadcast_arrays(*terms))[:, 0]
    numerics.gaussian_kernels.left_out(x, np.ascontiguousarray(table), FRAGILE, out)
    return out


def cells_left_out(belief: Any, leaving: Leaving, beyond: float = 1.5) -> Array:
    """The scores of their cells, `(r, f) -> (r, f)`."""
    x, terms = numbers(leaving.x, EVERY), left_out_terms(belief, leaving, beyond)
    with np.errstate(all="ignore"):
        value = scored((x - terms[0]) ** 2, terms[1:])
    return np.where(np.isnan(x), 0.0, value)


def scored(u: Array, terms: tuple[Array, ...]) -> Array:
    """height + a log(1 - g u) - b log(1 + c u) - k u / (1 - g u); NaN where too few digits are left."""
    height, a, g, b, c, k = terms
    with np.errstate(all="ignore"):
        left = 1 - g * u
        value = height + a * np.log1p(-g * u) - b * np.log1p(c * u) - k * u / left
    return np.where(left < FRAGILE, np.nan, value)


def left_by(belief: Any, c: int, leaving: Leaving) -> Array:
    """The scores of rows of class c, where all classes have one variance, `(r, f), (c, f) -> (r, c)`.

    For a class k that the row was not in, location and count stay. With u_k = (x - location_k)**2, the shape has lost
    w / 2 and the scale its part g u_c, so that the score is a function of u_k / (1 - g u_c).
    """
    x, kind = numbers(leaving.x, EVERY), leaving.kind
    total = np.empty((len(x), len(belief)))
    g, shape, _ = gone(belief[c], leaving.each)
    with np.errstate(all="ignore"):
        lost = g * (x - belief.location[c]) ** 2
        rest = np.log1p(-lost)
        for k in range(len(belief)):
            count, u = belief.count[k], (x - belief.location[k]) ** 2
            scale = np.where(count > 0, belief.scale[k], np.nan)
            if kind == PREDICTIVE:
                reach = count / (count + 1) / (2 * scale) * u
                score = height_at(shape, count, scale) + shape * rest - (shape + 0.5) * np.log1p(reach - lost)
            else:
                w = worth(shape, kind, belief.beyond)
                score = -(LOG_2PI + np.log(scale / w) + rest + w / scale * u / (1 - lost)) / 2
            total[:, k] = np.where(np.isnan(x), 0.0, score).sum(axis=1)
    total[:, c] = left_out(belief[c : c + 1], leaving, belief.beyond)
    return total


def height_at(shape: Array, count: Array, scale: Array) -> Array:
    """The log predictive of a cell at the location."""
    return log_gamma_ratio(shape, 0.5) - (LOG_2PI + np.log(scale) + accurate_log1p(1 / count)) / 2


def worth(shape: Array, kind: str, beyond: float) -> Array:
    """The divisor that makes of a scale the variance that is plugged in."""
    return {"mean": np.where(shape > 1, shape - 1, shape), "map": shape + beyond, "mle": shape}[kind]


def gone(belief: Any, w: Any) -> tuple[Array, Array, Array]:
    """g, the shape that is left, and where enough is left; g is infinite elsewhere, which marks every row."""
    count, shape = belief.count - w, belief.shape - w / 2
    fine = (count > LEAST * belief.count) & (shape > LEAST * belief.shape) & (belief.scale > 0)
    with np.errstate(all="ignore"):
        return np.where(fine, w / (2 * belief.scale) * (belief.count / count), np.inf), shape, fine


def left_out_terms(belief: Any, leaving: Leaving, beyond: float) -> tuple[Array, ...]:
    """mean, height, a, g, b, c and k of: height + a log(1 - g u) - b log(1 + c u) - k u / (1 - g u)."""
    w, kind = leaving.each, leaving.kind
    (g, shape, fine), count, scale = gone(belief, w), belief.count - w, belief.scale
    with np.errstate(all="ignore"):
        if kind == PREDICTIVE:
            height = height_at(shape, count, scale)
            c = (1 - w) / (2 * scale) * (belief.count / (count + 1))
            a, b, k = shape, np.where(c == 0, 0.0, shape + 0.5), np.zeros_like(g)
        else:
            worthy = worth(shape, kind, beyond)
            height = -(LOG_2PI + np.log(scale / worthy)) / 2
            a, k = np.full_like(g, -0.5), worthy * (belief.count / count) ** 2 / (2 * scale)
            b = c = np.zeros_like(g)
    return belief.location, np.where(fine, height, np.nan), a, g, b, c, k
