"""Exact quantiles of the log-odds of two classes, from their characteristic function.

    P(L <= x) = 1/2 - sum over m of Im[exp(-i x t) phi(t)] / (pi (m + 1/2))
    t = (m + 1/2) 2 pi / width

Gil-Pelaez (1951), Note on the inversion theorem, summed as in Davies (1973), Numerical inversion of
a characteristic function: the error of the sum is at most the probability that L is farther than
`width` from x, which is made small by Chernoff's bound. An observed row has a mixture of two such
transforms.

The window of a row is as narrow as its distribution allows, so about 20 points are enough for a
nearly normal one, whatever its standard deviation.
"""

from collections.abc import Callable

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import Array
from bayesnb.inference.class_scores import Scores, exponent_log_moment
from bayesnb.numerics.threads import blocks

TAIL_PROBABILITY = 1e-12  # probability of leaving a window, and so the error of the sum
# size, relative to the index m, at which a transform is cut off: terms of the sum are phi / m
TERM_TOLERANCE = 1e-9
# widths are rounded up to powers of this factor, so that rows share their points
WIDTH_FACTOR = 2.0**0.25
# the same for histograms: their transforms take longer, so more rows share one
HISTOGRAM_WIDTH_FACTOR = 4.0
FIRST_PLACES = 20  # enough for a normal variable in its window
DOUBLINGS = 14  # of points, up to 163,840: a row that needs more is drawn
NUMBERS_AT_ONCE = 1 << 18  # rows times points
# minus the log of a negligible probability, 7e-13: one is 0 or 1 up to that at such log-odds
LOG_NEGLIGIBLE = 28.0
# Means come from the density if the window is at most so wide and has at most so many points, as
# the work is points**2. Wider windows are given room for a logistic variable instead.
MAX_DENSITY_WIDTH = 80.0
MAX_DENSITY = 256


def invert(
    scores: Scores, cumulants: Array, level: Array, guess: Array, observed: bool
) -> tuple[Array, Array]:
    """Exact quantiles of U_1 - U_0 of each row, near a guess, `(q, r)`, and means, `(r,)`.

    Quantiles are NaN if the transform does not decay within the allowed points. Means of the
    probability are for fixed rows, and NaN if they would take longer than by another transform.
    """
    lower, upper = log_odds_window(scores, np.sqrt(cumulants[1]), observed)
    width = upper - lower
    room = np.maximum(-lower, upper) + LOG_NEGLIGIBLE  # for the difference to a logistic variable
    if not observed:
        widened = (width > MAX_DENSITY_WIDTH / 2) & (room < 2 * width)
        width = np.where(widened, np.maximum(width, room), width)
    factor = HISTOGRAM_WIDTH_FACTOR if scores.belief.has_atoms else WIDTH_FACTOR
    width = factor ** np.ceil(np.log(width) / np.log(factor))
    exact = np.full_like(guess, np.nan)
    mean = np.full(len(scores), np.nan)
    for shared in np.unique(width).tolist():
        step = 2 * np.pi / shared
        group = np.flatnonzero(width == shared)
        places = _count_places(scores[group], step, observed)
        for n in np.unique(places[places > 0]).tolist():
            alike = group[places == n]
            for part in blocks(len(alike), max(NUMBERS_AT_ONCE // n, 1)):
                rows = alike[part]
                middle = cumulants[0, rows]
                t = (np.arange(n) + 0.5) * step
                logs = log_transform(scores[rows], 1j * t, observed)
                phi = np.exp(logs - 1j * middle[:, None] * t).sum(axis=0)
                ends = np.stack([lower[rows], upper[rows]]) - middle
                near = guess[:, rows] - middle
                found = numerics.fourier_inversion.search(phi, step, ends, near, level)
                exact[:, rows] = np.sort(found + middle, axis=0)
                if not observed:
                    mean[rows] = _means(phi, shared, middle, ends[0], room[rows])
    mean[np.isnan(mean) & (upper < -LOG_NEGLIGIBLE)] = 0.0
    mean[np.isnan(mean) & (lower > LOG_NEGLIGIBLE)] = 1.0
    return exact, mean


def _means(phi: Array, width: float, middle: Array, lower: Array, room: Array) -> Array:
    """Means of the probability, from transforms about the middle of a window of log-odds, `(r,)`.

    NaN where the window has no room for a logistic variable, and the density would take too long.
    """
    step = 2 * np.pi / width
    mean = numerics.fourier_inversion.mean_by_transform(phi, step, middle)
    tight = room > width
    mean[tight] = np.nan
    if tight.any() and width < MAX_DENSITY_WIDTH and phi.shape[1] <= MAX_DENSITY:
        narrow = phi[tight], step, lower[tight], width, middle[tight]
        mean[tight] = numerics.fourier_inversion.mean_by_density(*narrow)
    return mean


def _count_places(scores: Scores, step: float, observed: bool) -> Array:
    """Number of points (m + 1/2) step until the transform of a row is small, `(r,)`; 0 if never.

    Only doubling numbers are tried, as a transform may oscillate.
    """
    tried = FIRST_PLACES << np.arange(DOUBLINGS)
    logs = log_transform(scores, 1j * (tried - 0.5) * step, observed).real
    small = np.exp(logs).sum(axis=0) < TERM_TOLERANCE * tried
    return np.where(small.any(axis=1), tried[small.argmax(axis=1)], 0)


def log_transform(scores: Scores, s: Array, observed: bool) -> Array:
    """Logs of the terms of E exp(s L), `(n,) -> (1 or 2, r, n)`, for imaginary s, or real s of both
    signs.

    Real s are negative ones, then their absolute values in the same order. An observed row has two
    terms, as either class may have seen it, in units of the probability of the row.
    """
    transform = scores.transform(np.concatenate([s, 1 + s]) if observed else s)
    variance = scores.exponent_variance[:, -1]

    def negated(moments: Array) -> Array:
        """K(-s) from K(s), and K(1 - s) from K(1 + s)."""
        if np.iscomplexobj(s):
            return moments.conj()  # K of a conjugate is the conjugate
        return np.roll(moments, len(s) // 2, axis=-1)

    def add(second: Array, first: Array, s: Array, u: Array) -> Array:
        common = scores.pair_transform(s, u) + exponent_log_moment(variance, s, u)
        return second[:, 1] + first[:, 0] + common

    if not np.iscomplexobj(s):
        transform = transform.real
    if not observed:
        return add(transform, negated(transform), s, -s)[None]
    alone, seen = np.split(transform, 2, axis=-1)
    terms = add(seen, negated(alone), 1 + s, -s), add(alone, negated(seen), s, 1 - s)
    log_row = np.logaddexp.reduce(scores.log_mean, axis=1)
    return np.stack(terms) - log_row[:, None]


def log_odds_window(scores: Scores, spread: Array, observed: bool) -> tuple[Array, Array]:
    """Bounds that log-odds exceed with probability at most TAIL_PROBABILITY, given their sd."""

    def log_moment(s: Array) -> Array:
        return np.logaddexp.reduce(log_transform(scores, s, observed), axis=0)

    return chernoff(log_moment, spread)


def chernoff(log_moment: Callable[[Array], Array], spread: Array) -> tuple[Array, Array]:
    """Bounds that variables exceed with probability at most TAIL_PROBABILITY.

    They are (log E exp(s X) - log TAIL_PROBABILITY) / s, for any s > 0: Chernoff (1952), A measure
    of asymptotic efficiency. `log_moment` gives log E exp(s X) at real s, `(n,) -> (..., n)`, for
    variables with standard deviations `spread`, `(...)`. The best s for a normal variable is tried,
    with neighbours in half octaves: being off by a factor of root 2 makes a normal variable's
    window 6 % wider. Smaller s follow if no moment exists, as with heavy tails.
    """
    reach = -np.log(TAIL_PROBABILITY)
    best = np.sqrt(2 * reach) / np.maximum(spread, 1e-4)  # for a normal variable
    # powers of root 2, so that the window of a row does not depend on other rows
    first, last = np.log2([best.min() / 2, best.max() * 2])
    s = 2.0 ** (np.arange(np.floor(2 * first), 2 * last + 1) / 2)
    ends = np.full((2, *spread.shape), np.inf)
    while np.isinf(ends).any():
        if s[-1] < 1e-100:
            raise too_heavy()
        sides = np.split(log_moment(np.concatenate([-s, s])), 2, axis=-1)
        for side, log_moments in enumerate(sides):
            ends[side] = np.minimum(ends[side], ((log_moments + reach) / s).min(axis=-1))
        s = s[0] * 2.0 ** np.arange(-6, 0, 0.5)
    return -ends[0], ends[1]


def too_heavy() -> ValueError:
    """Error for a row whose log-odds have too heavy tails for all methods here."""
    return ValueError(
        "the distribution of the log-odds of a row is too wide to compute: a level that is new to "
        "a class has almost no smoothing, or a number is extreme. Use more smoothing, "
        "rows='observed' or method='draws'."
    )
