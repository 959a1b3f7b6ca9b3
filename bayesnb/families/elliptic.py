"""What a normal inverse Wishart needs besides its moments: draws, rounding errors, and rows that leave.

Once so much weight w of a row x has left a belief with parameters (location, count, dof, scale) over d columns, and
with a = x - location and u = a' scale**-1 a,

    count' = count - w      dof' = dof - w      scale' = scale - g a a',  g = w count / count'

The scale changes by one outer product, so no new factor is needed. The matrix determinant lemma gives

    det scale' = det scale (1 - g u)

and Sherman and Morrison's identity, (S - g a a')**-1 = S**-1 + g S**-1 a a' S**-1 / (1 - g u), the squared distance
(count / count')**2 u / (1 - g u) of x from what is left: its score is a function of u alone, as for a single column.

That is stable as long as 1 - g u is. It is the share of the determinant that stays, between 0 and 1, and subtraction
leaves it an absolute error of some 1e-16. Where it is below `student.FRAGILE`, 1e-4, fewer than some twelve digits
would be left: such rows are NaN, and whoever asked counts their class again without them. Where a count or dof would
be used up, g is infinite, which marks all rows: see `gone`.
"""

from dataclasses import replace
from math import factorial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import multigammaln, polygamma, psi

from bayesnb.families import student
from bayesnb.families.normal_inverse_gamma import LOG_2PI, Slip
from bayesnb.families.record import Array, Parts, VariableNames
from bayesnb.families.removal import PREDICTIVE, Leaving
from bayesnb.families.vectors import VectorDensity, VectorStats, patterns_of, square, turned
from bayesnb.numerics.special import accurate_log1p, log_gamma_ratio, ratio
from bayesnb.numerics.views import EVERY, numbers

LOG_PI = float(np.log(np.pi))


class MeanCovariance(NamedTuple):
    """A multivariate Gaussian's two parameters, as a mean or a mode."""

    mean: Array
    covariance: Array


def multi_gamma_ratio(a: Array, s: Any, width: int) -> Array:
    """log of Gamma_d(a + s) / Gamma_d(a), the multivariate Gamma function; +inf where it has no mean."""
    rise = log_gamma_ratio(np.asarray(a)[..., None] - np.arange(width) / 2, np.asarray(s)[..., None])
    return rise.sum(axis=-1)


def log_growth(before: Any, after: Any) -> Array:
    """log det of the scale after, less that before, also where it has hardly grown."""
    gain = before.whitening @ (after.scale - before.scale) @ before.whitening.swapaxes(-1, -2)
    small = np.trace(gain, axis1=-2, axis2=-1) < 1
    if not small.any():
        return after.log_det - before.log_det
    grown = np.linalg.eigvalsh(np.where(small[..., None, None], gain, 0.0))
    return np.where(small, np.log1p(np.maximum(grown, 0.0)).sum(axis=-1), after.log_det - before.log_det)


def cumulants(belief: Any, distance: Array, order: int, tilt: float) -> Array:
    """Cumulants of the log-density of a row at a squared distance: derivatives of K, as of a single column."""
    half, r, rho = (belief.dof + tilt) / 2, 1 / belief.count, 1 / belief.count + distance
    free = np.arange(belief.width) / 2
    logs = (np.log1p(tilt * r) - np.log1p(tilt * rho) - belief.width * LOG_PI - belief.log_det) / 2
    r, rho, less = r / (1 + tilt * r), rho / (1 + tilt * rho), half - belief.width / 2
    terms = [psi(half[..., None] - free).sum(axis=-1) / 2 + logs - half * rho + less * r]
    for n in range(2, order + 1):
        still = polygamma(n - 1, half[..., None] - free).sum(axis=-1) / 2**n
        once, twice = factorial(n - 2) * n / 2, factorial(n - 1)
        moving = (twice * half * rho - once) * rho ** (n - 1) - (twice * less * r - once) * r ** (n - 1)
        terms.append(still + (-1) ** n * moving)
    return np.stack(np.broadcast_arrays(*terms))


def predictive(belief: Any) -> Any:
    """The multivariate t of a new row, frozen; for each class, if there are several."""
    from scipy.stats import multivariate_t

    if belief.count.ndim:
        return [predictive(belief[c]) for c in range(len(belief))]
    free = float(belief.dof - belief.width + 1)
    return multivariate_t(belief.location, belief.scale * (1 + 1 / belief.count) / free, free)


def sample(belief: Any, rng: np.random.Generator, size: tuple[int, ...], classes: int = 1) -> VectorDensity:
    """With L L' the scale and A A' ~ Wishart(dof, I), by Bartlett's triangle A, L (A A')**-1 L' is a covariance.

    So many classes, one after the other, have it in common.
    """
    width, factor, dof = belief.width, belief.factor, belief.dof
    if classes > 1:
        factor, dof = factor[::classes], dof[::classes]
    triangle = np.tril(rng.standard_normal((*size, *factor.shape)), -1)
    free = (dof[..., None] - np.arange(width)) / 2
    roots = np.sqrt(2 * rng.standard_gamma(free, (*size, *free.shape)))
    triangle += roots[..., None] * np.eye(width)
    half = np.linalg.solve(triangle, np.broadcast_to(factor.swapaxes(-1, -2), triangle.shape)).swapaxes(-1, -2)
    half = np.repeat(half, classes, axis=len(size)) if classes > 1 else half
    step = turned(half, rng.standard_normal((*size, *belief.location.shape)))
    mean = belief.location + step / np.sqrt(belief.count)[..., None]
    return VectorDensity(mean, half @ half.swapaxes(-1, -2))


def log_density(belief: Any, theta: VectorDensity) -> Parts:
    """Log-density of each mean given its covariance, and of each covariance, `(c,)`."""
    width, half = belief.width, belief.dof / 2
    mean = belief.count * square(theta.whitening, theta.mean - belief.location)
    mean = (width * (np.log(belief.count) - LOG_2PI) - theta.log_det - mean) / 2
    spread = theta.whitening @ belief.factor
    trace = (spread**2).sum(axis=(-2, -1))
    gammas = multigammaln(half, width) + half * width * np.log(2)
    covariance = half * belief.log_det - gammas - (belief.dof + width + 1) / 2 * theta.log_det - trace / 2
    return {("mu", None): mean[..., 0], ("cov", None): covariance[..., 0]}


def rounding_error(belief: Any, stats: VectorStats, slip: Slip) -> Array:
    """How far off a belief that learns these stats is, if they are off by so much, `(c, 1)`.

    That of its location is in standard deviations of a row, and that of its scale as a part of it, both in the
    directions in which they matter most.
    """
    share, after = ratio(stats.count, belief.count + stats.count), belief.update(stats)
    off, gap = slip.mean[:, None], np.abs(stats.mean - belief.location)
    pull = (belief.count * share)[..., None] * (2 * gap + off) * off
    sizes = share[..., None] * off * np.sqrt(np.maximum(after.dof, 0.0))[..., None], np.sqrt(slip.ssd[:, None] + pull)
    with np.errstate(invalid="ignore"):
        turned_sizes = [turned(np.abs(after.whitening), each) for each in sizes]
        off_by = np.stack([np.sqrt((turned_sizes[0] ** 2).sum(axis=-1)), (turned_sizes[1] ** 2).sum(axis=-1)])
        return np.where(np.all([each == 0 for each in sizes], axis=(0, -1)), 0.0, off_by.max(axis=0))


def left_out(belief: Any, leaving: Leaving, beyond: float) -> Array:
    """The scores of rows of one class, a `(1, 1)` belief that has seen them: `(r, d) -> (r,)`; NaN where marked.

    A row that lacks a cell taught nothing, so that it takes nothing away. For `beyond` see `NormalInverseWishart`.
    """
    x, total = numbers(leaving.x, EVERY), np.zeros(len(leaving.codes))
    for rows, there in patterns_of(x):
        complete = isinstance(there, slice)
        narrowed, part = (belief, leaving[rows]) if complete else (belief.of_columns(there), unmoved(leaving[rows]))
        terms = left_out_terms(narrowed, part, beyond, belief.width - narrowed.width)
        total[rows] = student.scored(narrowed.distances(x[rows][:, there]), terms)[:, 0]
    return total


def unmoved(leaving: Leaving) -> Leaving:
    """Return these rows as ones of which nothing leaves."""
    return replace(leaving, weight=np.zeros(len(leaving.codes)))


def gone(belief: Any, w: Any, kind: str) -> tuple[Array, Array, Array]:
    """g, the dof that are left, and where enough is left; g is infinite elsewhere, so that 1 - g u marks every row."""
    count, dof = belief.count - w, belief.dof - w
    fine = (count > student.LEAST * belief.count) & (dof > (belief.width - 1 if kind == PREDICTIVE else 0))
    with np.errstate(all="ignore"):
        return np.where(fine, w * (belief.count / count), np.inf), dof, fine


def worth(dof: Array, kind: str, width: int, beyond: float) -> Array:
    """What a scale is divided by to be the covariance that is plugged in."""
    free = dof - width - 1
    return {"mean": np.where(free > 0, free, dof), "map": dof + beyond, "mle": dof}[kind]


def left_out_terms(belief: Any, leaving: Leaving, beyond: float, hidden: int = 0) -> tuple[Array, ...]:
    """height, a, g, b, c and k of: height + a log(1 - g u) - b log(1 + c u) - k u / (1 - g u).

    An estimate is that of the whole block, of which so many columns are hidden.
    """
    w, kind, width = leaving.each, leaving.kind, belief.width
    (g, dof, fine), count = gone(belief, w, kind), belief.count - w
    with np.errstate(all="ignore"):
        if kind == PREDICTIVE:
            gain = multi_gamma_ratio(dof / 2, 0.5, width) - (width * LOG_PI + belief.log_det) / 2
            height = gain - width / 2 * accurate_log1p(1 / count)
            c = (1 - w) * (belief.count / (count + 1))
            a, b, k = dof / 2, np.where(c == 0, 0.0, (dof + 1) / 2), np.zeros_like(g)
        else:
            worthy = worth(dof + hidden, kind, width + hidden, beyond)
            height = -(width * (LOG_2PI - np.log(worthy)) + belief.log_det) / 2
            a, k = np.full_like(g, -0.5), worthy * (belief.count / count) ** 2 / 2
            b = c = np.zeros_like(g)
    return np.where(fine, height, np.nan), a, g, b, c, k


def stayed(belief: Any, distance: Array, rest: Array, dof: Array, leaving: Leaving) -> Array:
    """Scores by classes whose location and count stay, `(r, c)`, of rows at a squared distance from each.

    `rest` is log(1 - g u), by the determinant lemma the log of what is left of the shared scale's, `(r, 1)`.
    """
    width, count = belief.width, np.where(belief.count > 0, belief.count, np.nan)[:, 0]
    log_det = belief.log_det[:, 0] + rest
    if leaving.kind != PREDICTIVE:
        worthy = worth(dof, leaving.kind, width, belief.beyond)
        return -(width * (LOG_2PI - np.log(worthy)) + log_det + worthy * distance) / 2 + 0 * count
    still = multi_gamma_ratio(dof / 2, 0.5, width) - (width * LOG_PI + log_det) / 2
    still = still - width / 2 * accurate_log1p(1 / count)
    return still - (dof + 1) / 2 * np.log1p(count / (count + 1) * distance)


def variables(belief: Any, pm: Any, names: VariableNames, classes: int = 1) -> VectorDensity:
    """Bartlett's triangle and the mean's standardised offset as PyMC's free variables, and what they make of theta.

    So many classes have a covariance in common. The density keeps the whitening of it, A' L**-1, so that no
    likelihood needs another factor.
    """
    width, mean, cov = belief.width, names("mu"), names("cov")
    whitening, log_det = _whitening(pm, belief[::classes], cov["name"])
    every = np.ones((len(belief), 1, 1))
    back = pm.math.matrix_inverse(whitening) * every
    offset = pm.Normal(f"{mean['name']}_offset", 0.0, 1.0, shape=(len(belief), width))
    step = (back @ offset[:, :, None])[:, :, 0] / np.sqrt(belief.count)
    location = pm.Deterministic(**mean, var=belief.location[:, 0] + step)
    covariance = pm.Deterministic(cov["name"], back @ back.transpose((0, 2, 1)))
    density = VectorDensity.raw(location[:, None], covariance[:, None])
    density.__dict__["whitening"] = (whitening * every)[:, None]
    density.__dict__["log_det"] = log_det * every[:, 0]
    return density


def _whitening(pm: Any, belief: Any, name: str) -> tuple[Any, Any]:
    """A' L**-1, `(c, d, d)`, and the log determinant of the covariance, `(c, 1)`."""
    width = belief.width
    squares = pm.ChiSquared(f"{name}_squares", nu=belief.dof - np.arange(width))
    entries, (rows, columns) = pm.math.sqrt(squares), np.tril_indices(width, -1)
    basis = np.zeros((width + len(rows), width, width))
    basis[np.arange(width), np.arange(width), np.arange(width)] = 1.0
    basis[width + np.arange(len(rows)), columns, rows] = 1.0  # transposed
    if len(rows):
        below = pm.Normal(f"{name}_triangle", 0.0, 1.0, shape=(len(belief.dof), len(rows)))
        entries = pm.math.concatenate([entries, below], axis=1)
    triangle = (entries @ basis.reshape(len(basis), -1)).reshape((len(belief.dof), width, width))
    return triangle @ belief.whitening[:, 0], belief.log_det - pm.math.log(squares).sum(axis=-1)[:, None]
