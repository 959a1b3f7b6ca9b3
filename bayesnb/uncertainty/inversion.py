"""The exact law of the log-odds of two classes, from its characteristic function.

    P(L <= x) = 1/2 - sum over m of Im[exp(-i x t) phi(t)] / (pi (m + 1/2))   at t = (m + 1/2) 2 pi / width

Gil-Pelaez (1951), summed as in Davies (1973): the error of the sum is at most the probability that L is further than
`width` from x, which Chernoff's bound makes as small as one likes.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bayesnb import kernels
from bayesnb.families.base import Array
from bayesnb.threads import blocks
from bayesnb.uncertainty.scores import Scores

RARE = 1e-12  # the probability of leaving a window
CUT = 1e-12  # a transform is cut off where it is so small beside its place in the sum
FINE = 2.0**0.25  # widths are rounded up by this much at most, so that rows share theirs
SPARE = 80.0  # what a window is widened by for a mean of the logistic function, whose own tails are exp(-|x|)
FEW = 256  # nodes up to which a mean is taken from the density
MOST_NODES = 1 << 19
AT_ONCE = 1 << 18  # rows times nodes


class Exact(NamedTuple):
    """Quantiles of the log-odds, `(q, r)`, and the means of the probabilities, `(r,)`."""

    quantiles: Array
    mean: Array


def invert(scores: Scores, cumulants: Array, level: Array, guess: Array, observed: bool) -> Exact:
    """The law of U_1 - U_0 of every row; `guess`, `(q, r)`, is near the quantiles at the levels."""
    lower, upper = _window(scores, cumulants, observed)
    width = FINE ** np.ceil(np.log(upper - lower) / np.log(FINE))
    found = Exact(guess.copy(), np.empty(len(scores)))
    for shared in np.unique(width):
        group = np.flatnonzero(width == shared)
        for part in blocks(len(group), max(int(AT_ONCE / shared), 1)):
            rows = group[part]
            step, centre = 2 * np.pi / shared, cumulants[0, rows]
            phi = _transform(scores[rows], step, centre, observed, np.inf)
            near, ends = found.quantiles[:, rows] - centre, (lower[rows] - centre, upper[rows] - centre)
            parts = phi.real.copy(), phi.imag.copy()
            kernels.odds.search(*parts, step, *ends, near, level)
            found.quantiles[:, rows] = near + centre
            if not observed and shared < SPARE and phi.shape[1] <= FEW:
                mean = np.empty(len(rows))
                kernels.odds.mean_by_density(*parts, step, ends[0], shared, centre, mean)
                found.mean[rows] = mean
            elif not observed:
                found.mean[rows] = _logistic_mean(scores[rows], shared + SPARE, centre)
    return found


def _transform(scores: Scores, step: float, centre: Array, observed: bool, last: float) -> Array:
    """The characteristic function about the centre at (m + 1/2) step, `(r, n)`, as far as it matters, or to `last`."""
    whole = np.logaddexp.reduce(scores.log_mean(), axis=1) if observed else np.zeros(len(scores))
    parts: list[Array] = []
    done = 0
    while True:
        n = max(32, done)
        t = (np.arange(done, done + n) + 0.5) * step
        terms = _log_terms(scores, 1j * t, observed) - whole[:, None] - 1j * centre[:, None] * t
        each = np.exp(terms)
        parts.append(each.sum(axis=0))
        done += n
        if (np.abs(each[..., -1]).sum(axis=0) < CUT * done).all() or t[-1] > last:
            return np.concatenate(parts, axis=1)
        if done >= MOST_NODES:
            raise too_heavy(step)


def _log_terms(scores: Scores, s: Array, observed: bool) -> Array:
    """log E exp(s L) for s imaginary and positive, as the logs of terms to be added, `(n,) -> (1 or 2, r, n)`.

    A row that is itself evidence has two terms: either class may have seen it.
    """
    if not observed:
        own = scores.transform(s)
        return (own[:, 1] + own[:, 0].conj())[None]
    own = scores.transform(np.concatenate([s, 1 + s]))
    alone, seen = own[..., : len(s)], own[..., len(s) :]
    return np.stack([seen[:, 1] + alone[:, 0].conj(), alone[:, 1] + seen[:, 0].conj()])


def _window(scores: Scores, cumulants: Array, observed: bool) -> tuple[Array, Array]:
    """Where the log-odds are but for a probability of RARE at either end, `(r,)` each."""
    return chernoff(lambda s: _real_moments(scores, s, observed), np.sqrt(cumulants[1]))


def chernoff(moments: Callable[[Array], tuple[Array, Array]], spread: Array) -> tuple[Array, Array]:
    """Bounds that laws leave with a probability of RARE at most: x > (log E exp(s X) - log RARE) / s, for any s > 0.

    `moments` gives the logs of E exp(-s X) and E exp(s X), `(n,) -> (..., n)`, for laws of a spread `(...)`.
    """
    reach = -np.log(RARE)
    best = np.sqrt(2 * reach) / spread  # of a normal law
    s = 2.0 ** np.arange(np.log2(best.min()) - 1, np.log2(best.max()) + 1.5, 0.5)
    ends = np.full((2, *spread.shape), np.inf)
    while np.isinf(ends).any():  # a law of heavy tails has moments of a small order only
        if s[-1] < 1e-9:
            raise too_heavy(1e-9)
        for side, log_moments in enumerate(moments(s)):
            ends[side] = np.minimum(ends[side], ((log_moments + reach) / s).min(axis=-1))
        s = s[0] * 2.0 ** np.arange(-6, 0, 0.5)
    return -ends[0], ends[1]


def _real_moments(scores: Scores, s: Array, observed: bool) -> tuple[Array, Array]:
    """log E exp(-s L) and log E exp(s L) for s > 0, `(n,) -> (r, n)`; infinite where there is no such moment."""
    if not observed:
        up, down = np.split(scores.transform(np.concatenate([s, -s])).real, 2, axis=-1)
        return down[:, 1] + up[:, 0], up[:, 1] + down[:, 0]
    own = scores.transform(np.concatenate([s, -s, 1 + s, 1 - s])).real
    up, down, seen_up, seen_down = np.split(own, 4, axis=-1)
    whole = np.logaddexp.reduce(scores.log_mean(), axis=1)[:, None]
    left = np.logaddexp(seen_down[:, 1] + up[:, 0], down[:, 1] + seen_up[:, 0])
    right = np.logaddexp(seen_up[:, 1] + down[:, 0], up[:, 1] + seen_down[:, 0])
    return left - whole, right - whole


def _logistic_mean(scores: Scores, width: float, centre: Array) -> Array:
    """E 1 / (1 + exp(-L)) of each row before it was seen: 1/2 + the integral of Im phi(t) / sinh(pi t)."""
    step, last = 2 * np.pi / width, 12.0  # beyond which sinh(pi t) is 1e16
    phi = _transform(scores, step, centre, False, last)
    t = (np.arange(phi.shape[1]) + 0.5) * step
    moved = (phi * np.exp(1j * centre[:, None] * t)).imag
    return 0.5 + step * (moved / np.sinh(np.pi * np.minimum(t, 100.0))).sum(axis=1)


def too_heavy(step: float) -> ValueError:
    return ValueError(
        f"the law of a row's log-odds is spread over more than {2 * np.pi / step:.0e}: a level that a class never saw "
        "has next to no smoothing. Use more, or method='draws'."
    )
