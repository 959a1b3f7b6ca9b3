"""Intervals of p(y | x, theta): its mean, median and equal-tailed ends, for every row and class.

A class's log-odds against the others have exact cumulants, whose first four give quantiles (Cornish
and Fisher 1938) with a bounded error. Where that is not good enough a transform is inverted: of the
log-odds of two classes, or of a class against several others. Draws are for classes with parameters
in common, and where a user asks for them.

The distribution is that under p(theta | D, x) where the row was observed, a mixture over the class
that the row may be of, whose mean is the predictive; and that under p(theta | D) where the row was
fixed by someone.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from bayesnb import numerics
from bayesnb.families.base import Array, Rng
from bayesnb.inference.characteristic_functions import (
    CharacteristicFunctions,
    active,
    characteristic_functions,
    last_place,
)
from bayesnb.inference.class_scores import Scores, exponent_cumulants
from bayesnb.inference.posterior_draws import draw_by_rows, quantile_error
from bayesnb.inference.two_classes import LogOdds, invert
from bayesnb.model.product import Observer
from bayesnb.numerics.threads import blocks, in_order

TOLERANCES = {"auto": 1e-3, "fast": 0.02, "exact": 1e-6}  # errors on the probability scale
# minus the log of an expected probability, 7e-13, below which a class adds nothing to the others'
# sums
LOG_NEGLIGIBLE = 28.0
# how far from their middle log-odds are searched for among many classes: exp(-32) = 1e-14 of the
# other side
MAX_LOG_ODDS = 32.0
# Where a share of the variance of log-odds is between the bins of averaged histograms, the
# expansion is off by ERROR_FACTOR as much as else plus MIXTURE_ERROR * share**2 at most. An
# empirical envelope, of 1,808 rows of 113 random models; in 1,744 rows of others the largest errors
# were 2.5e-4 under "auto" and 0.018 under "fast".
ERROR_FACTOR = 2.0
MIXTURE_ERROR = 0.05
# last t up to which the histograms of several classes are transformed in less time than drawn
MAX_HISTOGRAM_T = 200.0
PLACES_TRIED = 64  # places at which it is asked whether a transform has died out
# rows times classes at once: four cumulants of each, before and after, stay in a core's cache
CELLS_AT_ONCE = 1 << 15
# cumulants of -W by those of W, as if of a difference of scores
NEGATION_SIGNS = np.array([[-1.0], [1.0], [-1.0], [1.0]])


class Intervals(NamedTuple):
    """Mean, median and ends of an interval of each row's class probabilities, `(r, c)` each."""

    mean: Array
    median: Array
    lower: Array
    upper: Array

    def put(self, rows: Any, values: "Intervals") -> None:
        """Write the intervals of some rows, and maybe some classes."""
        for array, value in zip(self, values, strict=True):
            array[rows] = value


class Target(NamedTuple):
    """Quantiles to compute: where a normal's are z, given the row or before, and how exactly."""

    z: Array
    observed: bool
    tolerance: float


class ScoreCumulants(NamedTuple):
    """Cumulants of the scores alone and once their class has seen the row, `(4, r, c)` each.

    `common` is what two classes that share parameters add to those of their log-odds, `(2, 4, r)`;
    `mixed` the part of the scores' variance that is between bins, `(r, c)`, or None where there are
    none.
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
        """Put zeros where a row lacks a cumulant, and return these rows, `(r,)`."""
        undefined = np.zeros(self.alone.shape[1], bool)
        for array, axes in ((self.alone, (0, 2)), (self.seen, (0, 2)), (self.common, (0, 1))):
            finite = np.isfinite(array)
            if not finite.all():  # hardly ever
                undefined |= ~finite.all(axis=axes)
        if undefined.any():
            self.alone[:, undefined] = self.seen[:, undefined] = 0.0
            self.common[..., undefined] = 0.0
        return undefined

    def bound(self, error: Array, variance: Array) -> Array:
        """Bounds of errors of classes against others, given their log-odds' variance, `(r, c)`."""
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

    A class of probability 0 keeps it.

    A row whose cumulants do not exist has NaN. One whose log-odds have such heavy tails that no
    method here holds them has a mean, and no quantiles: see `find_heavy`.
    """
    live = scores.belief.live
    z = ndtri(np.array([(1 - prob) / 2, 0.5, (1 + prob) / 2]))
    target = Target(z, observed, TOLERANCES[method])
    result = Intervals(*np.zeros((4, len(scores), len(live))))
    if live.sum() == 1:
        return Intervals(*(array + live for array in result))
    possible = scores if live.all() else scores.of(live)
    compute = _compute_two_classes if possible.classes == 2 else _compute_many_classes

    def add_rows(rows: slice) -> None:
        part = possible[rows]
        cumulants = ScoreCumulants.of(part, observed)
        undefined = cumulants.silence_undefined() | ~np.isfinite(part.share).all(axis=1)
        part.share[undefined] = 1 / part.classes
        values = compute(part, cumulants, target)
        if undefined.any():
            values.put(undefined, Intervals(*np.full(4, np.nan)))
        result.put((rows, live), values)

    list(in_order(add_rows, blocks(len(scores), max(CELLS_AT_ONCE // possible.classes, 1)), n_jobs))
    return result


def find_heavy(result: Intervals) -> Array:
    """Return the rows whose quantiles are left to draws."""
    without = np.isnan(result.median).any(axis=1)
    return np.flatnonzero(without & np.isfinite(result.mean).all(axis=1))


def find_smooth(scores: Scores, observed: bool) -> Array:
    """Return the rows whose log-odds have a density, so that transforms can be inverted, `(r,)`.

    They have none where all that is unknown may be known: a transform never dies out then.
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

    Given the row if there are observers to see it, else before it was seen.
    """
    error = 0.0
    result = Intervals(*np.empty((4, len(scores), scores.classes)))
    levels = [0.5, (1 - prob) / 2, (1 + prob) / 2]
    for rows, mean, proba in draw_by_rows(scores, observers, draws, rng):
        result.put(rows, Intervals(mean, *np.quantile(proba, levels, axis=0)))
        error = max(error, quantile_error(proba, levels))
    return result, error


def _compute_two_classes(scores: Scores, known: ScoreCumulants, target: Target) -> Intervals:
    """Intervals of two classes, from the second's log-odds against the first.

    The first's are their negatives.
    """
    share = scores.share
    score, others = ((known.alone[..., c], known.seen[..., c]) for c in (1, 0))
    ends, error, cumulants = _expand(score, others, share[:, 1], target, known.common)
    mean = share[:, 1]
    if not target.observed:
        mean = numerics.cornish_fisher.logistic_mean(cumulants)
    error = known.bound(error[:, None], cumulants[1, :, None])[:, 0]
    slow = np.flatnonzero(~(error <= target.tolerance))
    if len(slow):
        part = scores[slow]
        exact = _invert_two(part, cumulants[:, slow], ends[:, slow], target)
        ends[:, slow] = exact.quantiles
        if not target.observed:
            known_mean = np.isfinite(exact.mean)
            mean[slow[known_mean]] = exact.mean[known_mean]
    lower, median, upper = numerics.cornish_fisher.logistic(np.stack([-ends[::-1], ends], axis=-1))
    return Intervals(np.stack([1 - mean, mean], axis=1), median, lower, upper)


def _invert_two(scores: Scores, cumulants: Array, guess: Array, target: Target) -> LogOdds:
    """Exact quantiles and means of two classes; a mean is NaN where nothing gives it."""
    exact = invert(scores, cumulants, ndtr(target.z), guess, target.observed)
    left = np.flatnonzero(np.isnan(exact.mean))
    if not target.observed and len(left):
        both = np.ones((len(left), 2), bool)
        for part in characteristic_functions(scores[left], both, observed=False, narrow=False):
            exact.mean[left[part.rows]] = part.means()[:, 1]
    return exact


def _expand(
    score: Sequence[Array],
    others: Sequence[Array],
    share: Array,
    target: Target,
    common: Any = 0.0,
) -> tuple[Array, ...]:
    """Quantiles by Cornish-Fisher, bounds of their errors, and cumulants of the log-odds.

    `score` and `others` are cumulants of a class's score and of the others', each before and after
    the row was seen, `(4, r)`; `common`, `(2, 4, r)`, is added to those of the log-odds.
    """
    one, two = (
        np.stack([score[1] + NEGATION_SIGNS * others[0], score[0] + NEGATION_SIGNS * others[1]])
        + common
    )
    return numerics.cornish_fisher.quantiles(one, two, share, target.z, target.tolerance)


def _compute_many_classes(scores: Scores, known: ScoreCumulants, target: Target) -> Intervals:
    """Intervals of three or more classes, each against all others."""
    share = scores.share
    shape = share.shape
    kept = active(scores, target.observed, LOG_NEGLIGIBLE)
    sums = numerics.class_sums.cumulants_of_others(known.alone, known.seen, share, kept)
    others, others_seen, mean, crude = sums
    score, rest = (
        [array.reshape(4, -1) for array in pair] for pair in (known[:2], (others, others_seen))
    )
    common = exponent_cumulants(scores.exponent_variance.reshape(-1), target.observed)
    ends, error, flat = _expand(score, rest, share.reshape(-1), target, common)
    ends = ends.reshape(-1, *shape)
    cumulants = flat.reshape(4, *shape)
    if target.observed:
        mean = share
    else:
        # From the sums over classes; from the cumulants where there are none, or where exponents
        # are not known, whose variance is not in the sums.
        logistic = numerics.cornish_fisher.logistic_mean(flat).reshape(shape)
        mean = np.where(np.isnan(mean) | (scores.exponent_variance > 0), logistic, mean)
    error = known.bound(error.reshape(shape), cumulants[1]) + crude[:, None]
    slow = np.flatnonzero((kept & ~(error <= target.tolerance)).any(axis=1))
    if len(slow):
        _invert_many(scores[slow], slow, kept[slow], cumulants, target, ends, mean)
    if not target.observed:
        mean /= mean.sum(axis=1, keepdims=True)
    lower, median, upper = expit(np.sort(ends, axis=0))
    return Intervals(mean, median, lower, upper)


def _invert_many(
    scores: Scores,
    slow: Array,
    kept: Array,
    cumulants: Array,
    target: Target,
    ends: Array,
    mean: Array,
) -> None:
    """Put exact quantiles in place of expanded ones, and exact means where the row is fixed.

    Rows with two active classes go by pairs of classes, whose log-odds have narrow windows.
    """
    level = ndtr(target.z)
    few = kept.sum(axis=1) == 2
    pairs = np.argsort(~kept, axis=1, kind="stable")[:, :2]
    for i, j in np.unique(pairs[few], axis=0):
        places = np.flatnonzero(few & (pairs == (i, j)).all(axis=1))
        rows = slow[places]
        two = scores[places].of([i, j])
        exact = _invert_two(two, cumulants[:, rows, j], ends[:, rows, j], target)
        ends[:, rows, j] = exact.quantiles
        ends[:, rows, i] = -exact.quantiles[::-1]
        if not target.observed:
            of_second = np.where(np.isnan(exact.mean), mean[rows, j], exact.mean)
            mean[rows, j], mean[rows, i] = of_second, 1 - of_second
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

    Given the row, `below` is the probability of the other classes; a quantile that is then out of
    reach keeps the magnitude of the guess.
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
