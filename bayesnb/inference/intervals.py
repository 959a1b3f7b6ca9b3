"""Intervals of p(y | x, theta): mean, median and equal-tailed ends, for each row and class.

The log-odds of a class against the others have exact cumulants. The first four give quantiles
(Cornish and Fisher 1938) with a bounded error. Where that is not accurate enough, the
characteristic function is inverted: of the log-odds of two classes, or of one class against several
others. Draws are used if classes share parameters, or if the user asks for them.

If the row is observed, the distribution is that under p(theta | D, x), a mixture over the possible
classes of the row, with the predictive as its mean. If the row is fixed, it is that under p(theta |
D).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit, ndtr, ndtri

from bayesnb import numerics
from bayesnb.families.base import Array, Rng
from bayesnb.inference.characteristic_functions import (
    CharacteristicFunctions,
    active,
    characteristic_functions,
    last_place,
)
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.posterior_draws import draw_by_rows, quantile_error
from bayesnb.inference.two_classes import invert
from bayesnb.model.product import Observer
from bayesnb.numerics.threads import blocks, in_order

TOLERANCES = {"auto": 1e-3, "fast": 0.02, "exact": 1e-6}  # errors on the probability scale
# minus the log of an expected probability, 7e-13, below which a class is neglected
LOG_NEGLIGIBLE = 28.0
# range of the search for log-odds around their middle, with many classes: exp(-32) = 1e-14
MAX_LOG_ODDS = 32.0
# If a share of the variance of log-odds is between the bins of averaged histograms, the error of
# the expansion is at most ERROR_FACTOR times the usual bound plus MIXTURE_ERROR * share**2. This
# is empirical, from 1,808 rows of 113 random models; in 1,744 rows of other models the largest
# errors were 2.5e-4 under "auto" and 0.018 under "fast".
ERROR_FACTOR = 2.0
MIXTURE_ERROR = 0.05
# last t up to which transforms of histograms of several classes are faster than draws
MAX_HISTOGRAM_T = 200.0
PLACES_TRIED = 64  # points where a transform is checked for having decayed
# rows times classes at once: four cumulants of each, before and after, fit in a core's cache
CELLS_AT_ONCE = 1 << 15
# signs that turn cumulants of W into those of -W
NEGATION_SIGNS = np.array([-1.0, 1.0, -1.0, 1.0])[:, None, None]


class Intervals(NamedTuple):
    """Mean, median and interval ends of class probabilities, `(r, c)` each."""

    mean: Array
    median: Array
    lower: Array
    upper: Array

    def put(self, rows: Any, values: "Intervals") -> None:
        """Write the intervals of some rows, and perhaps some classes."""
        for array, value in zip(self, values, strict=True):
            array[rows] = value


class Target(NamedTuple):
    """Quantiles to compute: as normal quantiles z, given the row or not, and the tolerance."""

    z: Array
    observed: bool
    tolerance: float


class ScoreCumulants(NamedTuple):
    """Cumulants of the scores before and after their class has seen the row, `(4, r, c)` each.

    `common` is added to those of log-odds, `(2, 4, r, c)`; `mixed` is the variance of the scores
    between bins, `(r, c)`, or None without histograms.
    """

    alone: Array
    seen: Array
    common: Array
    mixed: Array | None

    @classmethod
    def of(cls, scores: Scores, observed: bool) -> "ScoreCumulants":
        alone = scores.cumulants()
        seen = scores.cumulants(1.0) if observed else alone
        mixed = None
        if scores.belief.has_atoms:
            mixed = np.maximum(scores.mixture_variance(), scores.mixture_variance(float(observed)))
        return cls(alone, seen, scores.pair_cumulants(observed), mixed)

    def silence_undefined(self) -> Array:
        """Set all cumulants of rows with undefined ones to 0, and return these rows, `(r,)`."""
        undefined = np.zeros(self.alone.shape[1], bool)
        parts = self.alone, self.seen, *self.common
        for part in parts:
            finite = np.isfinite(part)
            if not finite.all():  # hardly ever
                undefined |= ~finite.all(axis=(0, 2))
        if undefined.any():
            for part in parts:
                part[:, undefined] = 0.0
        return undefined

    def bound(self, error: Array, variance: Array) -> Array:
        """Bounds on errors of log-odds, given their variance, `(r, c)`."""
        if self.mixed is None:
            return error
        largest = np.sort(self.mixed, axis=1)[:, -2:]
        others = np.where(self.mixed == largest[:, 1:], largest[:, :1], largest[:, 1:])
        share = numerics.special.ratio(self.mixed + others, variance)
        return ERROR_FACTOR * error + MIXTURE_ERROR * share**2


def intervals(
    scores: Scores, prob: float, observed: bool, method: str, n_jobs: int | None = 1
) -> Intervals:
    """Mean, median and interval of the class probabilities of each row.

    NaN where cumulants do not exist. Rows whose log-odds have too heavy tails for these methods
    have a mean but no quantiles: see `find_heavy`.
    """
    live = scores.belief.live
    z = ndtri(np.array([(1 - prob) / 2, 0.5, (1 + prob) / 2]))
    target = Target(z, observed, TOLERANCES[method])
    result = Intervals(*np.zeros((4, len(scores), len(live))))
    if live.sum() == 1:
        return Intervals(*(array + live for array in result))
    possible = scores if live.all() else scores.of(live)

    def add_rows(rows: slice) -> None:
        part = possible[rows]
        cumulants = ScoreCumulants.of(part, observed)
        undefined = cumulants.silence_undefined() | ~np.isfinite(part.share).all(axis=1)
        part.share[undefined] = 1 / part.classes
        values = _compute(part, cumulants, target)
        if undefined.any():
            values.put(undefined, Intervals(*np.full(4, np.nan)))
        result.put((rows, live), values)

    list(in_order(add_rows, blocks(len(scores), max(CELLS_AT_ONCE // possible.classes, 1)), n_jobs))
    return result


def find_heavy(result: Intervals) -> Array:
    """Return the rows whose quantiles need draws."""
    without = np.isnan(result.median)
    if not without.any():  # as nearly always; sums over a short axis are slow
        return np.zeros(0, int)
    return np.flatnonzero(without.any(axis=1) & np.isfinite(result.mean).all(axis=1))


def find_smooth(scores: Scores, observed: bool) -> Array:
    """Return the rows whose log-odds have a density, so that transforms can be inverted, `(r,)`.

    With point masses there is no density, and a transform does not decay.
    """
    belief = scores.belief
    if not belief.may_be_known or not belief.closed or belief.live.sum() == 1:
        return np.full(len(scores), belief.closed)
    possible = scores.of(belief.live)
    farthest = np.inf if possible.classes == 2 else MAX_HISTOGRAM_T
    smooth = np.empty(len(scores), bool)
    for rows in blocks(len(scores), max(CELLS_AT_ONCE // (PLACES_TRIED * possible.classes), 1)):
        part = possible[rows]
        last = last_place(part, active(part, observed, LOG_NEGLIGIBLE), observed)
        smooth[rows] = np.isfinite(last) & (last <= farthest)
    return smooth


def draw_intervals(
    scores: Scores, observers: Sequence[Observer] | None, prob: float, draws: int, rng: Rng = None
) -> tuple[Intervals, float]:
    """Intervals from draws, and the largest standard error of their quantiles.

    Given the row if there are observers to count it, else under p(theta | D).
    """
    error = 0.0
    result = Intervals(*np.empty((4, len(scores), scores.classes)))
    levels = [0.5, (1 - prob) / 2, (1 + prob) / 2]
    for rows, mean, proba in draw_by_rows(scores, observers, draws, rng):
        result.put(rows, Intervals(mean, *np.quantile(proba, levels, axis=0)))
        error = max(error, quantile_error(proba, levels))
    return result, error


def _compute(scores: Scores, known: ScoreCumulants, target: Target) -> Intervals:
    """Intervals of each class against all others; of two classes, the first mirrors the second."""
    share = scores.share
    if scores.classes == 2:
        shown = slice(1, None)
        kept = np.ones(share.shape, bool)
        others, others_seen = known.alone[..., :1], known.seen[..., :1]
        mean, crude = np.array(np.nan), np.zeros(len(share))
    else:
        shown = slice(None)
        kept = active(scores, target.observed, LOG_NEGLIGIBLE)
        sums = numerics.class_sums.cumulants_of_others(known.alone, known.seen, share, kept)
        others, others_seen, mean, crude = sums
    # a mixture of two, if observed: the class has seen the row, or one of the others has
    one = known.seen[..., shown] + NEGATION_SIGNS * others + known.common[0, ..., shown]
    shape = one.shape[1:]
    first = second = one.reshape(4, -1)
    if target.observed:
        two = known.alone[..., shown] + NEGATION_SIGNS * others_seen + known.common[1, ..., shown]
        second = two.reshape(4, -1)
    ends, error, flat = numerics.cornish_fisher.quantiles(
        first,
        second,
        share[:, shown].reshape(-1),
        target.z,
        target.tolerance,
    )
    ends = ends.reshape(-1, *shape)
    cumulants = flat.reshape(4, *shape)
    if target.observed:
        mean = share[:, shown]
    else:
        # from the sums over classes; from the cumulants where there are none, or where exponents
        # are uncertain, as the sums do not include their variance
        logistic = numerics.cornish_fisher.logistic_mean(flat).reshape(shape)
        is_crude = np.isnan(mean) | (scores.exponent_variance[:, shown] > 0)
        mean = np.where(is_crude, logistic, mean)
    if scores.classes == 2:
        mean = np.concatenate([1 - mean, mean], axis=1)
        ends = np.concatenate([-ends[::-1], ends], axis=-1)
    error = known.bound(error.reshape(shape), cumulants[1]) + crude[:, None]
    slow = np.flatnonzero((kept & ~(error <= target.tolerance)).any(axis=1))
    if len(slow):
        _invert(scores[slow], slow, kept[slow], cumulants, target, ends, mean)
    if scores.classes > 2:
        ends.sort(axis=0)
        if not target.observed:
            mean = mean / mean.sum(axis=1, keepdims=True)
    lower, median, upper = numerics.cornish_fisher.logistic(ends)
    return Intervals(mean, median, lower, upper)


def _invert(
    scores: Scores,
    slow: Array,
    kept: Array,
    cumulants: Array,
    target: Target,
    ends: Array,
    mean: Array,
) -> None:
    """Replace expanded quantiles by exact ones, and means if the row is fixed.

    Rows with two active classes are done by pairs of classes, whose log-odds have narrow windows.
    """
    level = ndtr(target.z)
    few = kept.sum(axis=1) == 2
    pairs = np.argsort(~kept, axis=1, kind="stable")[:, :2]
    for i, j in np.unique(pairs[few], axis=0):
        places = np.flatnonzero(few & (pairs == (i, j)).all(axis=1))
        rows = slow[places]
        two = scores[places] if scores.classes == 2 else scores[places].of([i, j])
        of_second = cumulants[:, rows, j - scores.classes]
        exact, known = invert(two, of_second, level, ends[:, rows, j], target.observed)
        ends[:, rows, j] = exact
        ends[:, rows, i] = -exact[::-1]
        if not target.observed:
            good = np.isfinite(known)
            mean[rows[good], j] = known[good]
            mean[rows[good], i] = 1 - known[good]
            left = np.flatnonzero(~good)
            if not len(left):
                continue
            both = np.ones((len(left), 2), bool)
            for part in characteristic_functions(two[left], both, False, narrow=False):
                mean[rows[left[part.rows]][:, None], [i, j]] = part.means()
    many = np.flatnonzero(~few)
    if not len(many):
        return
    heavy = np.ones(len(many), bool)
    for part in characteristic_functions(scores[many], kept[many], target.observed, narrow=True):
        at = slow[many[part.rows]][:, None], part.classes
        heavy[part.rows] = False
        if target.observed:
            middle = np.clip(logit(mean[at]), -MAX_LOG_ODDS, MAX_LOG_ODDS)
            below = 1 - mean[at]
        else:
            middle = cumulants[0][at]
            below = None
            mean[at] = part.means()
        ends[:, *at] = _search(part, middle, ends[:, *at], level, below)
    ends[:, slow[many[heavy]]] = np.nan


def _search(
    part: CharacteristicFunctions, middle: Array, guess: Array, level: Array, below: Array | None
) -> Array:
    """Quantiles of log-odds, `(q, r, a)`, around a middle, `(r, a)`.

    Given the row, `below` is the probability of the other classes; a quantile out of reach keeps
    the magnitude of the guess.
    """
    phi = part.phi.reshape(-1, part.phi.shape[-1])
    middle = middle.reshape(-1)
    reach = np.pi / part.step if below is None else MAX_LOG_ODDS
    lower = middle - reach
    upper = middle + reach
    near = guess.reshape(len(level), -1)
    limits = np.stack([lower, upper])
    residue = None if below is None else below.reshape(-1)
    ends = numerics.fourier_inversion.search(phi, part.step, limits, near, level, residue)
    if below is not None:
        ends = np.where(ends < lower + 1e-6, np.minimum(near, lower), ends)
        ends = np.where(ends > upper - 1e-6, np.maximum(near, upper), ends)
    return ends.reshape(guess.shape)
