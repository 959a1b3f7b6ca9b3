"""Quantiles and means of log-odds from their characteristic functions.

    P(X <= x) = 1/2 - sum over m of Im[exp(-i x t) phi(t)] / (pi (m + 1/2))
    density   = step / pi * sum over m of Re[exp(-i x t) phi(t)]        t = (m + 1/2) step

Gil-Pelaez (1951), Note on the inversion theorem. The midpoints m + 1/2 avoid the pole at t = 0, and
the error of the sum is at most the probability outside a window of width 2 pi / step: Davies
(1973), Numerical inversion of a characteristic function.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from bayesnb.numerics.threads import blocks

Array = np.ndarray
# steps of a search for a quantile: 60 bisections narrow any bracket used here to rounding
STEPS = 60
BLOCK = 32  # nodes of a block: exp(-i x t) is a product of factors for the block and for the node
CELLS = 1 << 17  # values of transforms searched at once
type Distribution = Callable[[Array], Any]  # P(X <= x), and the density at x


def search(
    phi: Array, step: float, ends: Array, guess: Array, level: Array, below: Array | None = None
) -> Array:
    """Quantiles from transforms at (m + 1/2) step, `(r, n)`, near guesses, `(q, r) -> (q, r)`.

    `ends`, `(2, r)`, are brackets; with `below`, `(r,)`, the transforms are on the line 1/2.
    """
    t = (np.arange(phi.shape[1]) + 0.5) * step
    found = np.empty_like(guess)
    for rows in blocks(len(phi), max(CELLS // len(t), 1)):
        part = np.repeat(ends[:, rows, None], len(level), axis=-1), guess[:, rows].T, level
        if below is None:
            found[:, rows] = find_quantiles(of_transform(phi[rows], step, t), *part, 1e-12)
        else:  # sinh and cosh amplify the rounding errors of the sums
            distribution = of_half_transform(phi[rows], step, t, below[rows, None])
            found[:, rows] = find_quantiles(distribution, *part, 1e-11)
    return found


def find_quantiles(
    distribution: Distribution, ends: Array, guess: Array, level: Array, slack: float
) -> Array:
    """Quantiles of rows by Newton's method within brackets, `(2, r, q), (r, q), (q,) -> (q, r)`.

    The distribution takes `(r, q)`. A step that leaves its bracket, as from a flat tail, is
    replaced by bisection.
    """
    low, high = ends
    x = np.clip(guess, low, high)
    going = np.ones(x.shape, bool)
    for _ in range(STEPS):
        share, density = distribution(x)
        over = share - level
        low = np.where(over > 0, low, x)
        high = np.where(over > 0, x, high)
        new = x - np.divide(over, density, out=np.full(x.shape, np.inf), where=density > 0)
        # <=, as the step is 0 at the quantile itself
        new = np.where((low <= new) & (new <= high), new, 0.5 * (low + high))
        moved = np.abs(new - x)
        room = slack * (1.0 + np.abs(new))
        x = np.where(going, new, x)
        going &= (moved > room) & (high - low > 0.1 * room)
        if not going.any():
            break
    return x.T


def of_transform(phi: Array, step: float, t: Array) -> Distribution:
    """P(X <= x) and the density at x from characteristic functions."""
    terms = phi[:, None] * np.stack([step / t, np.full(len(t), step)]) / np.pi

    def distribution(x: Array) -> tuple[Array, Array]:
        integral, density = turn(terms, step, x)
        return 0.5 - integral.imag, density.real

    return distribution


def of_half_transform(phi: Array, step: float, t: Array, below: Array) -> Distribution:
    """P(X <= x) and the density at x from transforms on the line 1/2.

    X = U_1 - U_0 given the row, phi(t) = E exp((1/2 + t i) U_1 + (1/2 - t i) U_0) / E[exp U_0 + exp
    U_1]. The row multiplies the density by exp(U_0) + exp(U_1) = 2 cosh(X / 2) exp((U_0 + U_1) /
    2), so given the row it is 2 cosh(x / 2) times the inverse transform of phi. Integrated over x,
    with poles at t = i / 2 and -i / 2,

        P(X <= x) = below + step / pi * sum of Re[exp(-i x t) phi(t) (sinh(x/2) + 2 t i cosh(x/2))]
        / (1/4 + t**2)

    where `below`, the residue of one pole, is E exp(U_0) / E[exp U_0 + exp U_1], the probability of
    the other class.
    """
    pole = 0.25 + t * t
    terms = phi[:, None] * np.stack([1.0 / pole, t / pole, np.ones(len(t))]) * (step / np.pi)

    def distribution(x: Array) -> tuple[Array, Array]:
        with_sinh, with_cosh, density = turn(terms, step, x)
        cosh = 2.0 * np.cosh(0.5 * x)
        share = below + np.sinh(0.5 * x) * with_sinh.real - cosh * with_cosh.imag
        return share, cosh * density.real

    return distribution


def mean_by_density(phi: Array, step: float, lower: Array, width: float, centre: Array) -> Array:
    """Mean of 1 / (1 + exp(-x)) over a window, from transforms about its centre, `(r, n) ->
    (r,)`.
    """
    t = (np.arange(phi.shape[1]) + 0.5) * step
    points = int(width * (len(t) * step + 10.0) / (2.0 * np.pi)) + 1  # the logistic ends at t = 10
    x = width * np.arange(points) / points
    turned = phi * np.exp(-1j * lower[:, None] * t)
    density = (turned @ np.exp(-1j * t[:, None] * x)).real * (step / np.pi)
    return (density * expit((centre + lower)[:, None] + x)).sum(axis=1) * width / points


def mean_by_transform(phi: Array, step: float, centre: Any = 0.0) -> Array:
    """Mean of 1 / (1 + exp(-x)) from transforms about a centre, at t = (m + 1/2) step, `(..., n) ->
    (...)`.

    It is P(X > Z) for Z from the standard logistic distribution, whose transform is pi t / sinh(pi
    t): 1/2 + int Im phi(t) / sinh(pi t) dt. The kernel is 0 for t > 100.
    """
    t = (np.arange(phi.shape[-1]) + 0.5) * step
    kernel = step / np.sinh(np.pi * np.minimum(t, 100))
    turned = phi * np.exp(1j * np.asarray(centre)[..., None] * t)
    return np.clip(0.5 + (turned.imag * kernel).sum(axis=-1), 0.0, 1.0)


def turn(terms: Array, step: float, x: Array) -> Array:
    """Sums of terms exp(-i x t) at t = (m + 1/2) step, `(r, k, n), (r, q) -> (k, r, q)`.

    exp(-i x t) is a product of one factor for a block of nodes and one for the node in it.
    """
    r, k, n = terms.shape
    first = np.arange(0, n, BLOCK)
    padded = np.zeros((r, k, len(first) * BLOCK), complex)
    padded[..., :n] = terms
    angle = -1j * step * x[:, None]
    inner = np.exp(angle * (np.arange(BLOCK) + 0.5)[:, None])
    outer = np.exp(angle * first[:, None])
    sums = padded.reshape(r, k * len(first), BLOCK) @ inner
    return (sums.reshape(r, k, len(first), -1) * outer[:, None]).sum(axis=2).swapaxes(0, 1)
