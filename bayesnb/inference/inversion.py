"""The exact law of the log-odds of two classes, from its characteristic function.

    P(L <= x) = 1/2 - sum over m of Im[exp(-i x t) phi(t)] / (pi (m + 1/2))   at t = (m + 1/2) 2 pi / width

Gil-Pelaez (1951), summed as in Davies (1973): the error of the sum is at most the probability that L is further than
`width` from x, which Chernoff's bound makes as small as one likes.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import Array
from bayesnb.inference.class_scores import Scores
from bayesnb.numerics.threads import blocks

RARE = 1e-12  # the probability of leaving a window
CUT = 1e-9  # a transform is cut off where it is so small beside its place in the sum
FINE = 2.0**0.25  # widths are rounded up by this much at most, so that rows share theirs
SPARE = 80.0  # what a window is widened by for a mean of the logistic function, whose own tails are exp(-|x|)
FEW = 256  # nodes up to which a mean is taken from the density
LAST = 12.0  # the last t for means of functions whose transforms are exp(-pi t)
HALF_WIDTH = 130.0  # of a window that holds all laws on the line 1/2
WIDE = 4096.0  # wider windows are given up
FINEST, COARSEST, PER_PANEL = 0.06, 0.5, 32  # panels on which exp(i x t) is smooth for |x| up to 750, and 70
FARTHEST = 740.0  # log-odds beyond which a probability is 0 or 1
MOST_NODES, OF_WIDE = 1 << 17, 1 << 15  # of a window, and of a wide one
AT_ONCE, MOST_HELD = 1 << 18, 1 << 21  # rows times nodes, as they may turn out to be few and many


class Exact(NamedTuple):
    """Quantiles of the log-odds, `(q, r)`, and the means of the probabilities, `(r,)`."""

    quantiles: Array
    mean: Array


def invert(scores: Scores, cumulants: Array, level: Array, guess: Array, observed: bool) -> Exact:
    """The law of U_1 - U_0 of every row; `guess`, `(q, r)`, is near the quantiles at the levels."""
    lower, upper = _window(scores, cumulants, observed)
    width = _rounded(upper - lower)
    found = Exact(guess.copy(), np.empty(len(scores)))
    for shared, rows in _alike(width):
        ends, near = np.stack([lower[rows], upper[rows]]), found.quantiles[:, rows]
        own = _in_window(scores[rows], cumulants[0, rows], ends, near, (level, shared, observed))
        found.quantiles[:, rows], found.mean[rows] = np.sort(own.quantiles, axis=0), own.mean
    return found


def _alike(width: Array) -> Iterator[tuple[float, Array]]:
    """Rows of one width, some at a time."""
    for shared in np.unique(width):
        group = np.flatnonzero(width == shared)
        for part in blocks(len(group), max(int(AT_ONCE / shared), 1)):
            yield float(shared), group[part]


def _in_window(scores: Scores, centre: Array, ends: Array, guess: Array, asked: tuple[Array, float, bool]) -> Exact:
    """Rows whose windows are as wide: one step for all of them."""
    level, width, observed = asked
    step, near = 2 * np.pi / width, guess - centre
    phi = _transform(scores, step, centre, observed)
    if phi is None and len(scores) == 1:
        return _by_panels(scores, guess, asked)
    if phi is None:
        half = len(scores) // 2
        parts = (slice(0, half), slice(half, None))
        found = [_in_window(scores[rows], centre[rows], ends[:, rows], guess[:, rows], asked) for rows in parts]
        return Exact(*(np.concatenate(pair, axis=-1) for pair in zip(*found, strict=True)))
    real, mean = (phi.real.copy(), phi.imag.copy()), np.empty(len(scores))
    numerics.fourier_inversion.search(*real, step, *(ends - centre), near, level)
    if not observed and width < SPARE and phi.shape[1] <= FEW:
        numerics.fourier_inversion.mean_by_density(*real, step, ends[0] - centre, width, centre, mean)
    elif not observed:
        mean = means(spectrum(scores, _room(ends[0], ends[1]).max()))
    return Exact(near + centre, mean)


def _by_panels(scores: Scores, guess: Array, asked: tuple[Array, float, bool]) -> Exact:
    """A row of such heavy tails that no window holds it: only what floats can tell from 0 and 1 is looked for."""
    level, width, observed = asked
    last = 16.0
    while True:
        t, weight = panels(width, last, FINEST)
        each = np.exp(_log_terms(scores, 1j * t, observed) - _whole(scores, observed))
        if (np.abs(each[..., -1]).sum(axis=0) < CUT * len(t)).all():
            break
        if len(t) >= 8 * MOST_NODES:
            raise too_heavy(width)
        last *= 2
    phi, limit = each.sum(axis=0), np.full(len(scores), FARTHEST)
    found = np.clip(guess, -FARTHEST, FARTHEST)
    numerics.fourier_inversion.search_panels(phi.real.copy(), phi.imag.copy(), t, weight, -limit, limit, found, level)
    found = np.where(np.abs(found) > FARTHEST - 1e-6, np.copysign(np.inf, found), found)
    return Exact(found, means(Spectrum(t, weight, phi)))


def _rounded(width: Array) -> Array:
    return FINE ** np.ceil(np.log(width) / np.log(FINE))


def spectra(scores: Scores) -> "Iterator[tuple[Array, Spectrum]]":
    """Rows, and the transforms of U_1 - U_0 before they were seen, for means of functions."""
    even = scores.cumulants().sum(axis=2) + scores.pair_cumulants(False)[0]  # the second is that of U_1 - U_0
    lower, upper = _window(scores, even, False)
    for shared, rows in _alike(_rounded(_room(lower, upper))):
        yield rows, spectrum(scores[rows], shared)


def _room(lower: Array, upper: Array) -> Array:
    """The width of a window about 0 that holds a law and what decays like exp(-|x|)."""
    return 2 * np.maximum(np.abs(lower), np.abs(upper)) + SPARE


class Spectrum(NamedTuple):
    """A transform of the log-odds before the row was seen, `(r, n)`, at places t of some weights, `(n,)`."""

    t: Array
    weight: Array
    phi: Array


def spectrum(scores: Scores, width: float) -> Spectrum:
    """For means of functions that decay: where the laws are wide, places are closer near 0."""
    if width > WIDE:
        t, weight = panels(width, LAST, COARSEST)
    else:
        step = 2 * np.pi / width
        t = (np.arange(LAST / step) + 0.5) * step
        weight = np.full(len(t), step)
    return Spectrum(t, weight, np.exp(_log_terms(scores, 1j * t, False)).sum(axis=0))


def half_spectrum(scores: Scores) -> Spectrum:
    """The transform once the row was seen, on the line 1/2: of exp((U_0 + U_1) / 2) in units of the row's probability.

    Its law has tails of exp(-|x| / 2) at most, whatever the row.
    """
    step = 2 * np.pi / HALF_WIDTH
    t = (np.arange(LAST / step) + 0.5) * step
    s = 0.5 + 1j * t
    own, common = scores.transform(s), scores.pair_transform(s, s.conj())
    return Spectrum(t, np.full(len(t), step), np.exp(own[:, 1] + own[:, 0].conj() + common - _whole(scores, True)))


def means(some: Spectrum) -> Array:
    """E 1 / (1 + exp(-L)) = 1/2 + the integral of Im phi(t) / sinh(pi t)."""
    mean = 0.5 + (some.weight * some.phi.imag / np.sinh(np.pi * np.minimum(some.t, 100.0))).sum(axis=1)
    return np.clip(mean, 0.0, 1.0)


def panels(width: float, last: float, coarsest: float) -> tuple[Array, Array]:
    """Places and weights on (0, last): Gauss-Legendre's on panels that double up to a size, `2 of (n,)`.

    On the scale of 1 / t a transform is smooth, whatever the scale of the law.
    """
    edges = [0.0, 1 / width]
    while edges[-1] < last:
        edges.append(edges[-1] + min(edges[-1], coarsest))
    x, w = np.polynomial.legendre.leggauss(PER_PANEL)
    left, size = np.array(edges[:-1])[:, None], np.diff(edges)[:, None]
    return (left + size * (x + 1) / 2).ravel(), (size * w / 2).ravel()


def _whole(scores: Scores, observed: bool) -> Array:
    return np.logaddexp.reduce(scores.log_mean(), axis=1)[:, None] if observed else np.zeros((len(scores), 1))


def _transform(scores: Scores, step: float, centre: Array, observed: bool) -> Array | None:
    """The characteristic function about the centre at (m + 1/2) step, `(r, n)`, as far as it matters.

    None if it takes too many places, or those of several rows are too long to be held at once.
    """
    whole = _whole(scores, observed)
    parts: list[Array] = []
    done = 0
    while True:
        n = max(32, done)
        t = (np.arange(done, done + n) + 0.5) * step
        each = np.exp(_log_terms(scores, 1j * t, observed) - whole - 1j * centre[:, None] * t)
        parts.append(each.sum(axis=0))
        done += n
        if (np.abs(each[..., -1]).sum(axis=0) < CUT * done).all():
            return np.concatenate(parts, axis=1)
        if done >= (OF_WIDE if step * WIDE < 2 * np.pi else MOST_NODES) or (
            len(scores) > 1 and done * len(scores) > MOST_HELD
        ):
            return None


def _log_terms(scores: Scores, s: Array, observed: bool) -> Array:
    """log E exp(s L) for s imaginary and positive, as the logs of terms to be added, `(n,) -> (1 or 2, r, n)`.

    A row that is itself evidence has two terms: either class may have seen it.
    """
    if not observed:
        own = scores.transform(s)
        return (own[:, 1] + own[:, 0].conj() + scores.pair_transform(s, -s))[None]
    own = scores.transform(np.concatenate([s, 1 + s]))
    alone, seen = own[..., : len(s)], own[..., len(s) :]
    second = seen[:, 1] + alone[:, 0].conj() + scores.pair_transform(1 + s, -s)
    return np.stack([second, alone[:, 1] + seen[:, 0].conj() + scores.pair_transform(s, 1 - s)])


def _window(scores: Scores, cumulants: Array, observed: bool) -> tuple[Array, Array]:
    """Where the log-odds are but for a probability of RARE at either end, `(r,)` each."""
    return chernoff(lambda s: _real_moments(scores, s, observed), np.sqrt(cumulants[1]))


def chernoff(moments: Callable[[Array], tuple[Array, Array]], spread: Array) -> tuple[Array, Array]:
    """Bounds that laws leave with a probability of RARE at most: x > (log E exp(s X) - log RARE) / s, for any s > 0.

    `moments` gives the logs of E exp(-s X) and E exp(s X), `(n,) -> (..., n)`, for laws of a spread `(...)`.
    """
    reach = -np.log(RARE)
    best = np.sqrt(2 * reach) / np.maximum(spread, 1e-4)  # of a normal law
    s = 2.0 ** np.arange(np.log2(best.min()) - 1, np.log2(best.max()) + 1.5, 0.5)
    ends = np.full((2, *spread.shape), np.inf)
    while np.isinf(ends).any():  # a law of heavy tails has moments of a small order only
        if s[-1] < 1e-100:
            raise too_heavy(1e100)
        for side, log_moments in enumerate(moments(s)):
            ends[side] = np.minimum(ends[side], ((log_moments + reach) / s).min(axis=-1))
        s = s[0] * 2.0 ** np.arange(-6, 0, 0.5)
    return -ends[0], ends[1]


def _real_moments(scores: Scores, s: Array, observed: bool) -> tuple[Array, Array]:
    """log E exp(-s L) and log E exp(s L) for s > 0, `(n,) -> (r, n)`; infinite where there is no such moment."""
    if not observed:
        up, down = np.split(scores.transform(np.concatenate([s, -s])).real, 2, axis=-1)
        common = (scores.pair_transform(-s, s), scores.pair_transform(s, -s))
        return down[:, 1] + up[:, 0] + common[0], up[:, 1] + down[:, 0] + common[1]
    own = scores.transform(np.concatenate([s, -s, 1 + s, 1 - s])).real
    up, down, seen_up, seen_down = np.split(own, 4, axis=-1)
    whole = np.logaddexp.reduce(scores.log_mean(), axis=1)[:, None]
    by_second = seen_down[:, 1] + up[:, 0], seen_up[:, 1] + down[:, 0]
    by_first = down[:, 1] + seen_up[:, 0], up[:, 1] + seen_down[:, 0]
    left, right = (
        np.logaddexp(one + scores.pair_transform(1 + z, -z), two + scores.pair_transform(z, 1 - z)) - whole
        for one, two, z in zip(by_second, by_first, (-s, s), strict=True)
    )
    return left, right


def too_heavy(width: float) -> ValueError:
    return ValueError(
        f"the law of a row's log-odds cannot be computed (it is some {width:.0e} wide): a level that a class never saw "
        "has next to no smoothing, or a number is far out of all proportion. Use more smoothing, rows='observed' or "
        "method='draws'."
    )
