"""Quantiles and means of log-odds from their characteristic functions.

    P(X <= x) = 1/2 - sum over m of Im[exp(-i x t) phi(t)] / (pi (m + 1/2))
    density   = step / pi * sum over m of Re[exp(-i x t) phi(t)]        t = (m + 1/2) step

Gil-Pelaez (1951), Note on the inversion theorem. The midpoints m + 1/2 avoid the pole at t = 0, and
the error of the sum is at most the probability outside a window of width 2 pi / step: Davies
(1973), Numerical inversion of a characteristic function. exp(-i x t) is turned by a fixed angle
from node to node, and computed afresh at every 64th: 64 products of rounded numbers are off by
1e-14 at most.
"""

import numpy as np
from scipy.special import expit

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.cornish_fisher import logistic

# of a search for a quantile: 60 halvings take any bracket of doubles used here to rounding
STEPS = 60
LITTLE = 1 << 18  # numbers, of the transforms of a few rows
# nodes: in a definition exp(-i x t) is a product, of one for the block and one for the place in it
BLOCK = 32
AFRESH = 64  # nodes after which a rotated exp(-i x t) is computed afresh


@compiled
def search(
    re: Array, im: Array, step: float, panels: Array | None, below: Array | None,
    lower: Array, upper: Array, start: Array, level: Array,
) -> None:  # fmt: skip
    """Quantiles by Newton's steps within brackets, from transforms at (m + 1/2) step, 2 of `(r,
    n)`.

    `start`, `(q, r)`, holds guesses and then the quantiles of the levels, `(q,)`; brackets are
    `(r,)`. A step that leaves its bracket, as one from a flat tail does, is replaced by halving.
    With `below`, `(r,)`, transforms are those on the line 1/2; with `panels`, `(2, n)`, they are at
    nodes of a quadrature, places and weights.
    """
    slack = 1e-12 if below is None else 1e-11  # sinh and cosh magnify the rounding of the sums
    for i in range(len(re)):
        for q in range(len(level)):
            low, high = lower[i], upper[i]
            x = min(max(start[q, i], low), high)
            for _ in range(STEPS):
                if panels is not None:
                    share, density = panel_distribution(re[i], im[i], panels, x)
                elif below is not None:
                    share, density = half_distribution(re[i], im[i], step, below[i], x)
                else:
                    share, density = distribution(re[i], im[i], step, x)
                if share > level[q]:
                    high = x
                else:
                    low = x
                new = x - (share - level[q]) / density if density > 0 else np.inf
                if not low <= new <= high:  # equal at a quantile itself, where the step is 0
                    new = 0.5 * (low + high)
                moved = abs(new - x)
                x = new
                if moved <= slack * (1.0 + abs(x)) or high - low <= 0.1 * slack * (1.0 + abs(x)):
                    break
            start[q, i] = x


@search.defined(LITTLE)
def search_by_definition(
    re: Array, im: Array, step: float, panels: Array | None, below: Array | None,
    lower: Array, upper: Array, start: Array, level: Array,
) -> None:  # fmt: skip
    slack = 1e-12 if below is None else 1e-11
    phi = re + 1j * im
    t = (np.arange(re.shape[1]) + 0.5) * step if panels is None else panels[0]
    if panels is not None:
        weights = (panels[1] / t)[None]
    elif below is not None:
        weights = np.stack([1.0 / (0.25 + t * t), t / (0.25 + t * t), np.ones(len(t))]) * (
            step / np.pi
        )
    else:
        weights = np.stack([step / t, np.full(len(t), step)]) / np.pi
    terms = phi[:, None] * weights
    x = np.clip(start.T, lower[:, None], upper[:, None])
    low, high = (np.repeat(end[:, None], len(level), axis=1) for end in (lower, upper))
    going = np.ones(x.shape, bool)
    for _ in range(STEPS):
        rows = np.flatnonzero(going.any(axis=1))
        if not len(rows):
            break
        at = x[rows]
        if panels is not None:
            (total,) = turned(terms[rows], t, at)
            share, density = 0.5 - total.imag / np.pi, np.zeros(at.shape)
        elif below is not None:
            with_sinh, with_cosh, total = turned_evenly(terms[rows], step, at)
            cosh = 2.0 * np.cosh(0.5 * at)
            share = below[rows, None] + np.sinh(0.5 * at) * with_sinh.real - cosh * with_cosh.imag
            density = cosh * total.real
        else:
            integral, total = turned_evenly(terms[rows], step, at)
            share, density = 0.5 - integral.imag, total.real
        over = share - level
        low[rows], high[rows] = (
            np.where(over > 0, low[rows], at),
            np.where(over > 0, at, high[rows]),
        )
        new = at - np.divide(over, density, out=np.full(at.shape, np.inf), where=density > 0)
        new = np.where(
            (low[rows] <= new) & (new <= high[rows]), new, 0.5 * (low[rows] + high[rows])
        )
        x[rows] = np.where(going[rows], new, at)
        moved, room = np.abs(new - at), slack * (1.0 + np.abs(new))
        going[rows] &= ~((moved <= room) | (high[rows] - low[rows] <= 0.1 * room))
    start[:] = x.T


@compiled
def distribution(re: Array, im: Array, step: float, x: float) -> tuple[float, float]:
    """P(X <= x) and the density at x from a characteristic function."""
    c, s = np.cos(0.5 * step * x), -np.sin(0.5 * step * x)
    turn_c, turn_s = np.cos(step * x), -np.sin(step * x)
    share, density = 0.5, 0.0
    for m in range(len(re)):
        if m % AFRESH == 0:
            c, s = np.cos((m + 0.5) * step * x), -np.sin((m + 0.5) * step * x)
        share -= (re[m] * s + im[m] * c) / (np.pi * (m + 0.5))
        density += re[m] * c - im[m] * s
        c, s = c * turn_c - s * turn_s, s * turn_c + c * turn_s
    return share, density * step / np.pi


@compiled
def half_distribution(
    re: Array, im: Array, step: float, below: float, x: float
) -> tuple[float, float]:
    """P(X <= x) and the density at x from a transform on the line 1/2.

    X = U_1 - U_0 given the row, phi(t) = E exp((1/2 + t i) U_1 + (1/2 - t i) U_0) / E[exp U_0 + exp
    U_1]. The density given the row is exp(U_0) + exp(U_1) = 2 cosh(X / 2) exp((U_0 + U_1) / 2)
    against that before it, so it is 2 cosh(x / 2) times the inverse transform of phi. Integrated
    over x, with poles at t = i / 2 and -i / 2,

        P(X <= x) = below + step / pi * sum of Re[exp(-i x t) phi(t) (sinh(x/2) + 2 t i cosh(x/2))]
        / (1/4 + t**2)

    where `below`, the residue of one pole, is E exp(U_0) / E[exp U_0 + exp U_1], the other side's
    probability.
    """
    c, s = 1.0, 0.0
    turn_c, turn_s = np.cos(step * x), -np.sin(step * x)
    sinh_part, cosh_part, density = 0.0, 0.0, 0.0
    for m in range(len(re)):
        t = (m + 0.5) * step
        if m % AFRESH == 0:
            c, s = np.cos(t * x), -np.sin(t * x)
        real, imaginary = re[m] * c - im[m] * s, re[m] * s + im[m] * c
        sinh_part += real / (0.25 + t * t)
        cosh_part += t * imaginary / (0.25 + t * t)
        density += real
        c, s = c * turn_c - s * turn_s, s * turn_c + c * turn_s
    share = np.sinh(0.5 * x) * sinh_part - 2.0 * np.cosh(0.5 * x) * cosh_part
    return below + share * step / np.pi, 2.0 * np.cosh(0.5 * x) * density * step / np.pi


@compiled
def panel_distribution(re: Array, im: Array, panels: Array, x: float) -> tuple[float, float]:
    """P(X <= x) from a characteristic function at nodes of a quadrature, and 0 in place of the
    density.

    So the search halves its bracket: tails as heavy as those that need panels send Newton's steps
    nowhere.
    """
    total = 0.0
    for m in range(len(re)):
        t, weight = panels[0, m], panels[1, m]
        total += weight * (im[m] * np.cos(t * x) - re[m] * np.sin(t * x)) / t
    return 0.5 - total / np.pi, 0.0


@compiled
def mean_by_density(
    re: Array, im: Array, step: float, lower: Array, width: float, centre: Array, out: Array
) -> None:
    """The mean of 1 / (1 + exp(-x)) from transforms about the centre, 2 of `(r, n) -> (r,)`, over a
    window each.
    """
    for i in range(len(re)):
        # the logistic ends at t = 10
        points = int(width * (len(re[i]) * step + 10.0) / (2.0 * np.pi)) + 1
        total = 0.0
        for k in range(points):
            x = lower[i] + width * k / points
            _, density = distribution(re[i], im[i], step, x)
            total += density * logistic(centre[i] + x)
        out[i] = total * width / points


@mean_by_density.defined()
def mean_by_density_by_definition(
    re: Array, im: Array, step: float, lower: Array, width: float, centre: Array, out: Array
) -> None:
    t = (np.arange(re.shape[1]) + 0.5) * step
    points = int(width * (len(t) * step + 10.0) / (2.0 * np.pi)) + 1
    x = width * np.arange(points) / points
    density = ((re + 1j * im) * unit(lower[:, None] * t) @ unit(t[:, None] * x)).real * (
        step / np.pi
    )
    out[:] = (density * expit((centre + lower)[:, None] + x)).sum(axis=1) * width / points


def turned(terms: Array, t: Array, x: Array) -> Array:
    """Sums of terms exp(-i x t) over nodes t, `(r, k, n), (n,), (r, q) -> (k, r, q)`."""
    return (terms @ np.exp(-1j * t[:, None] * x[:, None])).swapaxes(0, 1)


def turned_evenly(terms: Array, step: float, x: Array) -> Array:
    """Sums of terms exp(-i x t) at t = (m + 1/2) step, a product for a block of nodes and the place
    in it.
    """
    r, k, n = terms.shape
    blocks = -(-n // BLOCK)
    padded = np.zeros((r, k * blocks * BLOCK), complex).reshape(r, k, blocks * BLOCK)
    padded[:, :, :n] = terms
    inner = padded.reshape(r, k * blocks, BLOCK) @ unit(
        (np.arange(BLOCK)[:, None] + 0.5) * step * x[:, None]
    )
    outer = unit(np.arange(blocks)[:, None] * BLOCK * step * x[:, None])
    return (inner.reshape(r, k, blocks, -1) * outer[:, None]).sum(axis=2).swapaxes(0, 1)


def unit(angle: Array) -> Array:
    """exp(-i angle)."""
    out = np.empty(angle.shape, complex)
    np.cos(angle, out=out.real)
    np.sin(-angle, out=out.imag)
    return out
