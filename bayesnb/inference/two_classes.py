"""The exact distribution of the log-odds of two classes, from its characteristic function.

    P(L <= x) = 1/2 - sum over m of Im[exp(-i x t) phi(t)] / (pi (m + 1/2))
    t = (m + 1/2) 2 pi / width

Gil-Pelaez (1951), Note on the inversion theorem, summed as in Davies (1973), Numerical inversion of
a characteristic function: the error of the sum is at most the probability that L is further than
`width` from x, which Chernoff's bound makes as small as one likes. A row that is itself evidence
has the mixture of two such transforms.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import Array
from bayesnb.inference.class_scores import Scores
from bayesnb.numerics.threads import blocks

TAIL_PROBABILITY = 1e-12  # probability of leaving a window, and so the error of the sum
# size at which a transform is cut off, beside its place m in the sum, whose terms are phi / m
TERM_TOLERANCE = 1e-9
WIDTH_FACTOR = (
    2.0**0.25
)  # widths are rounded up by this factor at most, so that rows share their nodes
# the same of averaged histograms: a transform of all their bins takes longer than the rows that
# share it
HISTOGRAM_WIDTH_FACTOR = 4.0
# by which a window is wider for a mean of the logistic function, whose tails are exp(-|x|):
# exp(-40)
LOGISTIC_ROOM = 80.0
MAX_DENSITY_NODES = 256  # nodes up to which a mean is taken from the density, which costs nodes**2
LAST_T = 12.0  # last t for means of functions whose transforms are exp(-pi t): 4e-17
# of a window on the line 1/2, where tails are exp(-|x| / 2) at most: 8e-15 at half of it
HALF_WIDTH = 130.0
# window from which log-odds are wider than doubles can show in a probability: panels instead
MAX_WINDOW = 4096.0
MIN_PANEL, MAX_PANEL = 0.06, 0.5  # sizes of panels on which exp(i x t) turns 7 and 6 times
NODES_PER_PANEL = 32  # nodes
MAX_LOG_ODDS = 740.0  # log-odds beyond which a probability is 0 or 1: exp(-745) is the least double
# nodes of a window, and of one wider than MAX_WINDOW, before it goes to panels
MAX_NODES = 1 << 17
MAX_NODES_WIDE = 1 << 15
# rows times nodes: of a first guess, and at which rows are halved
NODES_AT_ONCE = 1 << 18
MAX_NODES_HELD = 1 << 21


def pairs_of(kept: Array) -> Iterator[tuple[int, int, Array]]:
    """Yield two classes, and the rows in which they are active, of `(r, c)` with two in each."""
    pairs = np.argsort(~kept, axis=1, kind="stable")[:, :2]
    for i, j in np.unique(pairs, axis=0).tolist():
        yield i, j, np.flatnonzero((pairs == (i, j)).all(axis=1))


class LogOdds(NamedTuple):
    """Quantiles of log-odds, `(q, r)`, and the means of the probabilities, `(r,)`."""

    quantiles: Array
    mean: Array


def invert(scores: Scores, cumulants: Array, level: Array, guess: Array, observed: bool) -> LogOdds:
    """Exact quantiles of U_1 - U_0, and means, of each row.

    `guess`, `(q, r)`, is near the quantiles at the levels.
    """
    lower, upper = _window(scores, cumulants, observed)
    exact = LogOdds(guess.copy(), np.empty(len(scores)))
    for shared, rows in _of_equal_width(scores, upper - lower):
        ends = np.stack([lower[rows], upper[rows]])
        near = exact.quantiles[:, rows]
        part = _in_window(scores[rows], cumulants[0, rows], ends, near, (level, shared, observed))
        exact.quantiles[:, rows], exact.mean[rows] = np.sort(part.quantiles, axis=0), part.mean
    return exact


def _of_equal_width(scores: Scores, width: Array) -> Iterator[tuple[float, Array]]:
    """Yield each width, rounded up, and rows that have it, not too many at once."""
    factor = HISTOGRAM_WIDTH_FACTOR if scores.belief.has_atoms else WIDTH_FACTOR
    width = factor ** np.ceil(np.log(width) / np.log(factor))
    for shared in np.unique(width):
        group = np.flatnonzero(width == shared)
        for part in blocks(len(group), max(int(NODES_AT_ONCE / shared), 1)):
            yield float(shared), group[part]


def _in_window(
    scores: Scores, centre: Array, ends: Array, guess: Array, target: tuple[Array, float, bool]
) -> LogOdds:
    """Invert rows of one width of window, and so of one step.

    `target` is the levels, the width, and `observed`.

    Rows whose transforms are too long to be held at once are halved; a single row goes to panels.
    """
    level, width, observed = target
    step = 2 * np.pi / width
    half = len(scores) // 2
    phi = _transform(scores, step, centre, observed)
    if phi is None and not half:
        return _by_panels(scores, guess, target)
    if phi is None:
        parts = (slice(0, half), slice(half, None))
        halves = [
            _in_window(scores[rows], centre[rows], ends[:, rows], guess[:, rows], target)
            for rows in parts
        ]
        return LogOdds(*(np.concatenate(pair, axis=-1) for pair in zip(*halves, strict=True)))
    ends = ends - centre
    quantiles = numerics.fourier_inversion.search(phi, step, ends, guess - centre, level) + centre
    if observed:
        return LogOdds(quantiles, np.full(len(scores), np.nan))
    if width < LOGISTIC_ROOM and phi.shape[1] <= MAX_DENSITY_NODES:
        mean = numerics.fourier_inversion.mean_by_density(phi, step, ends[0], width, centre)
        return LogOdds(quantiles, mean)
    return LogOdds(quantiles, means(spectrum(scores, _room(*(ends + centre)).max())))


def _by_panels(scores: Scores, guess: Array, target: tuple[Array, float, bool]) -> LogOdds:
    """Invert a row of such heavy tails that no window holds it.

    Quantiles beyond MAX_LOG_ODDS are infinite.

    They are NaN, and so is the mean, where the transform does not die out soon enough.
    """
    level, width, observed = target
    last = 16.0
    while True:
        t, weight = panels(width, last, MIN_PANEL)
        each = np.exp(_log_terms(scores, 1j * t, observed) - _log_rows(scores, observed))
        if (np.abs(each[..., -1]).sum(axis=0) < TERM_TOLERANCE * len(t)).all():
            break
        if len(t) >= MAX_NODES_WIDE:
            return LogOdds(np.full_like(guess, np.nan), np.full(len(scores), np.nan))
        last *= 2
    phi = each.sum(axis=0)
    limits = np.array([[-MAX_LOG_ODDS], [MAX_LOG_ODDS]])
    search = numerics.fourier_inversion.search_in_panels
    ends = search(phi, t, weight, limits, np.zeros_like(guess), level)
    ends = np.where(np.abs(ends) > MAX_LOG_ODDS - 1e-6, np.copysign(np.inf, ends), ends)
    return LogOdds(ends, means(Spectrum(t, weight, phi)))


def spectra(scores: Scores) -> "Iterator[tuple[Array, Spectrum]]":
    """Yield rows, and the transforms of U_1 - U_0 before they were seen, for means of functions."""
    # the second is that of U_1 - U_0
    even = scores.cumulants().sum(axis=2) + scores.pair_cumulants(False)[0]
    lower, upper = _window(scores, even, False)
    for shared, rows in _of_equal_width(scores, _room(lower, upper)):
        yield rows, spectrum(scores[rows], shared)


def _room(lower: Array, upper: Array) -> Array:
    """Width of a window about 0 for log-odds between two ends, and what decays as exp(-|x|)."""
    return 2 * np.maximum(np.abs(lower), np.abs(upper)) + LOGISTIC_ROOM


class Spectrum(NamedTuple):
    """Transform of log-odds, `(r, n)`, at places t with weights of a quadrature, `(n,)` each."""

    t: Array
    weight: Array
    phi: Array


def spectrum(scores: Scores, width: float) -> Spectrum:
    """Return the transform of U_1 - U_0 before the row was seen, for means of functions.

    The transforms of these functions decay like exp(-pi t).

    Wide distributions have transforms that change fast near 0, and get panels, whose places are
    closer there.
    """
    if width > MAX_WINDOW:
        t, weight = panels(width, LAST_T, MAX_PANEL)
    else:
        step = 2 * np.pi / width
        t = (np.arange(LAST_T / step) + 0.5) * step
        weight = np.full(len(t), step)
    return Spectrum(t, weight, np.exp(_log_terms(scores, 1j * t, False)).sum(axis=0))


def half_spectrum(scores: Scores) -> Spectrum:
    """Return the transform once the row was seen, on the line 1/2.

    It is that of exp((U_0 + U_1) / 2), in units of the row's probability.

    The density that it belongs to has tails of exp(-|x| / 2) at most, whatever the row: given the
    row, the log-odds have a density which is 2 cosh(x / 2) times that, and integrates to 1.
    """
    step = 2 * np.pi / HALF_WIDTH
    t = (np.arange(LAST_T / step) + 0.5) * step
    s = 0.5 + 1j * t
    alone = scores.transform(s)
    common = scores.pair_transform(s, s.conj())
    phi = np.exp(alone[:, 1] + alone[:, 0].conj() + common - _log_rows(scores, True))
    return Spectrum(t, np.full(len(t), step), phi)


def means(spectrum: Spectrum) -> Array:
    """E 1 / (1 + exp(-L)) = 1/2 + the integral of Im phi(t) / sinh(pi t)."""
    mean = 0.5 + (
        spectrum.weight * spectrum.phi.imag / np.sinh(np.pi * np.minimum(spectrum.t, 100.0))
    ).sum(axis=1)
    return np.clip(mean, 0.0, 1.0)


def panels(width: float, last: float, coarsest: float) -> tuple[Array, Array]:
    """Places and weights of Gauss-Legendre quadrature on (0, last), `2 of (n,)`.

    Panels double up to a size.

    On a scale of log t a transform is smooth, however wide the distribution.
    """
    edges = [0.0, 1 / width]
    while edges[-1] < last:
        edges.append(edges[-1] + min(edges[-1], coarsest))
    x, w = np.polynomial.legendre.leggauss(NODES_PER_PANEL)
    left = np.array(edges[:-1])[:, None]
    size = np.diff(edges)[:, None]
    return (left + size * (x + 1) / 2).ravel(), (size * w / 2).ravel()


def _log_rows(scores: Scores, observed: bool) -> Array:
    """Log predictive probability of each row, the unit of transforms given the row, `(r, 1)`.

    Else 0.
    """
    return (
        np.logaddexp.reduce(scores.log_mean(), axis=1)[:, None]
        if observed
        else np.zeros((len(scores), 1))
    )


def _transform(scores: Scores, step: float, centre: Array, observed: bool) -> Array | None:
    """Characteristic function about the centre at (m + 1/2) step, `(r, n)`, as far as it matters.

    None if it takes too many places, or those of several rows are too long to be held at once. The
    number of places doubles until the last term is small: the transform may swing on the way there.
    """
    log_rows = _log_rows(scores, observed)
    parts: list[Array] = []
    done = 0
    while True:
        n = max(32, done)
        t = (np.arange(done, done + n) + 0.5) * step
        each = np.exp(_log_terms(scores, 1j * t, observed) - log_rows - 1j * centre[:, None] * t)
        parts.append(each.sum(axis=0))
        done += n
        if (np.abs(each[..., -1]).sum(axis=0) < TERM_TOLERANCE * done).all():
            return np.concatenate(parts, axis=1)
        if done >= (MAX_NODES_WIDE if step * MAX_WINDOW < 2 * np.pi else MAX_NODES) or (
            len(scores) > 1 and done * len(scores) > MAX_NODES_HELD
        ):
            return None


def _log_terms(scores: Scores, s: Array, observed: bool) -> Array:
    """log E exp(s L) for s imaginary and positive, as the logs of terms to be added.

    Shapes: `(n,) -> (1 or 2, r, n)`.

    A row that is itself evidence has two terms: either class may have seen it.
    """
    if not observed:
        alone = scores.transform(s)
        return (alone[:, 1] + alone[:, 0].conj() + scores.pair_transform(s, -s))[None]
    alone, seen = np.split(scores.transform(np.concatenate([s, 1 + s])), 2, axis=-1)
    second = seen[:, 1] + alone[:, 0].conj() + scores.pair_transform(1 + s, -s)
    return np.stack([second, alone[:, 1] + seen[:, 0].conj() + scores.pair_transform(s, 1 - s)])


def _window(scores: Scores, cumulants: Array, observed: bool) -> tuple[Array, Array]:
    """Return ends beyond which log-odds are with TAIL_PROBABILITY at most, `(r,)` each."""
    return chernoff(lambda s: _real_moments(scores, s, observed), np.sqrt(cumulants[1]))


def chernoff(moments: Callable[[Array], tuple[Array, Array]], spread: Array) -> tuple[Array, Array]:
    """Bounds that variables pass with a probability of TAIL_PROBABILITY at most.

    (log E exp(s X) - log TAIL_PROBABILITY) / s, for any s > 0.

    Chernoff (1952), A measure of asymptotic efficiency. `moments` gives the logs of E exp(-s X) and
    E exp(s X), `(n,) -> (..., n)`, of variables with standard deviations `spread`, `(...)`. The
    best s of a normal one is tried, with neighbours by factors of root 2, and smaller ones as long
    as no moment exists.
    """
    reach = -np.log(TAIL_PROBABILITY)
    best = np.sqrt(2 * reach) / np.maximum(spread, 1e-4)  # of a normal variable
    s = 2.0 ** np.arange(np.log2(best.min()) - 1, np.log2(best.max()) + 1.5, 0.5)
    ends = np.full((2, *spread.shape), np.inf)
    while np.isinf(ends).any():  # heavy tails have moments of a small order only
        if s[-1] < 1e-100:
            raise too_heavy()
        for side, log_moments in enumerate(moments(s)):
            ends[side] = np.minimum(ends[side], ((log_moments + reach) / s).min(axis=-1))
        s = s[0] * 2.0 ** np.arange(-6, 0, 0.5)
    return -ends[0], ends[1]


def _real_moments(scores: Scores, s: Array, observed: bool) -> tuple[Array, Array]:
    """log E exp(-s L) and log E exp(s L) for s > 0, `(n,) -> (r, n)`.

    Infinite where there is no such moment.
    """
    if not observed:
        up, down = np.split(scores.transform(np.concatenate([s, -s])).real, 2, axis=-1)
        common = (scores.pair_transform(-s, s), scores.pair_transform(s, -s))
        return down[:, 1] + up[:, 0] + common[0], up[:, 1] + down[:, 0] + common[1]
    moments = scores.transform(np.concatenate([s, -s, 1 + s, 1 - s])).real
    up, down, seen_up, seen_down = np.split(moments, 4, axis=-1)
    log_rows = _log_rows(scores, True)
    by_second = seen_down[:, 1] + up[:, 0], seen_up[:, 1] + down[:, 0]
    by_first = down[:, 1] + seen_up[:, 0], up[:, 1] + seen_down[:, 0]
    left, right = (
        np.logaddexp(one + scores.pair_transform(1 + z, -z), two + scores.pair_transform(z, 1 - z))
        - log_rows
        for one, two, z in zip(by_second, by_first, (-s, s), strict=True)
    )
    return left, right


def too_heavy() -> ValueError:
    """Error for a row whose log-odds have tails that no method here can hold."""
    return ValueError(
        "the distribution of a row's log-odds cannot be computed, so wide is it: a level that is "
        "new to a class has "
        "almost no smoothing, or a number is extreme. Use more smoothing, rows='observed' or "
        "method='draws'."
    )
