"""What a normal inverse Wishart needs besides its moments: draws and rounding errors."""

from math import factorial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import multigammaln, polygamma, psi

from bayesnb.families.normal_inverse_gamma import LOG_2PI, Slip
from bayesnb.families.record import Array, Parts, VariableNames
from bayesnb.families.vectors import VectorDensity, VectorStats, square, turned
from bayesnb.numerics.special import log_gamma_ratio, ratio

LOG_PI = float(np.log(np.pi))


class MeanCovariance(NamedTuple):
    """A multivariate Gaussian's two parameters, as a mean or a mode."""

    mean: Array
    covariance: Array


def multi_gamma_ratio(a: Array, s: Any, width: int) -> Array:
    """log of Gamma_d(a + s) / Gamma_d(a), the multivariate Gamma function; +inf where it has no
    mean.
    """
    rise = log_gamma_ratio(
        np.asarray(a)[..., None] - np.arange(width) / 2, np.asarray(s)[..., None]
    )
    return rise.sum(axis=-1)


def log_growth(before: Any, after: Any) -> Array:
    """log det of the scale after, less that before, also where it has hardly grown."""
    gain = before.whitening @ (after.scale - before.scale) @ before.whitening.swapaxes(-1, -2)
    small = np.trace(gain, axis1=-2, axis2=-1) < 1
    if not small.any():
        return after.log_det - before.log_det
    grown = np.linalg.eigvalsh(np.where(small[..., None, None], gain, 0.0))
    return np.where(
        small, np.log1p(np.maximum(grown, 0.0)).sum(axis=-1), after.log_det - before.log_det
    )


def cumulants(belief: Any, distance: Array, order: int, tilt: float) -> Array:
    """Cumulants of the log-density of a row at a squared distance: derivatives of K, as of a single
    column.
    """
    half, r, rho = (belief.dof + tilt) / 2, 1 / belief.count, 1 / belief.count + distance
    free = np.arange(belief.width) / 2
    logs = (np.log1p(tilt * r) - np.log1p(tilt * rho) - belief.width * LOG_PI - belief.log_det) / 2
    r, rho, less = r / (1 + tilt * r), rho / (1 + tilt * rho), half - belief.width / 2
    terms = [psi(half[..., None] - free).sum(axis=-1) / 2 + logs - half * rho + less * r]
    for n in range(2, order + 1):
        still = polygamma(n - 1, half[..., None] - free).sum(axis=-1) / 2**n
        once, twice = factorial(n - 2) * n / 2, factorial(n - 1)
        moving = (twice * half * rho - once) * rho ** (n - 1) - (twice * less * r - once) * r ** (
            n - 1
        )
        terms.append(still + (-1) ** n * moving)
    return np.stack(np.broadcast_arrays(*terms))


def predictive(belief: Any) -> Any:
    """The multivariate t of a new row, frozen; for each class, if there are several."""
    from scipy.stats import multivariate_t

    if belief.count.ndim:
        return [predictive(belief[c]) for c in range(len(belief))]
    free = float(belief.dof - belief.width + 1)
    return multivariate_t(belief.location, belief.scale * (1 + 1 / belief.count) / free, free)


def sample(
    belief: Any, rng: np.random.Generator, size: tuple[int, ...], classes: int = 1
) -> VectorDensity:
    """With L L' the scale and A A' ~ Wishart(dof, I), by Bartlett's triangle A, L (A A')**-1 L' is
    a covariance.

    So many classes, one after the other, have it in common.
    """
    width, factor, dof = belief.width, belief.factor, belief.dof
    if classes > 1:
        factor, dof = factor[::classes], dof[::classes]
    triangle = np.tril(rng.standard_normal((*size, *factor.shape)), -1)
    free = (dof[..., None] - np.arange(width)) / 2
    roots = np.sqrt(2 * rng.standard_gamma(free, (*size, *free.shape)))
    triangle += roots[..., None] * np.eye(width)
    half = np.linalg.solve(
        triangle, np.broadcast_to(factor.swapaxes(-1, -2), triangle.shape)
    ).swapaxes(-1, -2)
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
    covariance = (
        half * belief.log_det - gammas - (belief.dof + width + 1) / 2 * theta.log_det - trace / 2
    )
    return {("mu", None): mean[..., 0], ("cov", None): covariance[..., 0]}


def rounding_error(belief: Any, stats: VectorStats, slip: Slip) -> Array:
    """How far off a belief that learns these stats is, if they are off by so much, `(c, 1)`.

    That of its location is in standard deviations of a row, and that of its scale as a part of it,
    both in the directions in which they matter most.
    """
    share, after = ratio(stats.count, belief.count + stats.count), belief.update(stats)
    off, gap = slip.mean[:, None], np.abs(stats.mean - belief.location)
    pull = (belief.count * share)[..., None] * (2 * gap + off) * off
    sizes = (
        share[..., None] * off * np.sqrt(np.maximum(after.dof, 0.0))[..., None],
        np.sqrt(slip.ssd[:, None] + pull),
    )
    with np.errstate(invalid="ignore"):
        turned_sizes = [turned(np.abs(after.whitening), each) for each in sizes]
        off_by = np.stack(
            [np.sqrt((turned_sizes[0] ** 2).sum(axis=-1)), (turned_sizes[1] ** 2).sum(axis=-1)]
        )
        return np.where(
            np.all([each == 0 for each in sizes], axis=(0, -1)), 0.0, off_by.max(axis=0)
        )


def variables(belief: Any, pm: Any, names: VariableNames, classes: int = 1) -> VectorDensity:
    """Bartlett's triangle and the mean's standardised offset as PyMC's free variables, and what
    they make of theta.

    So many classes have a covariance in common. The density keeps the whitening of it, A' L**-1, so
    that no likelihood needs another factor.
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
    return triangle @ belief.whitening[:, 0], belief.log_det - pm.math.log(squares).sum(axis=-1)[
        :, None
    ]
