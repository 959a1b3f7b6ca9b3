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
from bayesnb.inference.class_scores import Scores, exponent_cumulants
from bayesnb.inference.many_classes import (
    MAX_PLACES,
    CharacteristicFunctions,
    active,
    characters,
    last_place,
    rays,
)
from bayesnb.inference.posterior_draws import draw_by_rows, quantile_error
from bayesnb.inference.two_classes import invert, pairs_of
from bayesnb.model.product import Observer, normalise_log
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
# cumulants of -W by those of W, as if of a difference of scores
NEGATION_SIGNS = np.array([[-1.0], [1.0], [-1.0], [1.0]])
# places of a ray up to which histograms are transformed in less time than they are drawn
MAX_HISTOGRAM_PLACES = 1 << 14
PLACES_TRIED = 64  # places at which it is asked whether a transform has died out
# rows times classes at once: four cumulants of each, before and after, stay in a core's cache
CELLS_AT_ONCE = 1 << 15


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
    """Cumulants of the scores alone and once their class has seen the row, and log means.

    Cumulants are `(4, r, c)`, log means `(r, c)`.

    `common` is what two classes that are not apart add to those of their log-odds, `(2, 4, r)`;
    `mixed` the part of the scores' variance that is between bins, `(r, c)`, or None where there are
    none.
    """

    alone: Array
    seen: Array
    log_mean: Array
    common: Array
    mixed: Array | None = None

    def of(self, rows: Array) -> "ScoreCumulants":
        mixed = None if self.mixed is None else self.mixed[rows]
        parts = self.alone[:, rows], self.seen[:, rows], self.log_mean[rows], self.common[..., rows]
        return ScoreCumulants(*parts, mixed)

    def bound(self, error: Array, variance: Array) -> Array:
        """Bounds of errors of classes against others, given their log-odds' variance, `(r, c)`."""
        if self.mixed is None:
            return error
        largest = np.sort(self.mixed, axis=1)[:, -2:]
        others = np.where(self.mixed == largest[:, 1:], largest[:, :1], largest[:, 1:])
        return (
            ERROR_FACTOR * error
            + MIXTURE_ERROR * numerics.special.ratio(self.mixed + others, variance) ** 2
        )

    @property
    def finite(self) -> Array:
        """Whether all cumulants of a row exist, `(r,)`."""
        finite = np.isfinite(self.alone) & np.isfinite(self.seen)
        common = np.isfinite(self.common)
        if finite.all() and common.all():  # as nearly always, which takes a twentieth of the time
            return np.ones(len(self.log_mean), bool)
        return finite.all(axis=(0, 2)) & common.all(axis=(0, 1))


class OneAgainstOthers(NamedTuple):
    """Mean of each class's probability, `(r, c)`, and quantiles of its log-odds, `(3, r, c)`."""

    mean: Array
    quantiles: Array


def intervals(
    scores: Scores, prob: float, observed: bool, method: str, n_jobs: int | None = 1
) -> Intervals:
    """Mean, median and interval of the class probabilities of each row.

    A class of probability 0 keeps it.

    A row whose cumulants do not exist has NaN. One whose log-odds have such heavy tails that no
    method here holds them has a mean, and no quantiles: see `find_heavy`.
    """
    live = scores.belief.live
    target = Target(
        ndtri(np.array([(1 - prob) / 2, 0.5, (1 + prob) / 2])), observed, TOLERANCES[method]
    )
    result = Intervals(*np.zeros((4, len(scores), len(live))))
    if live.sum() == 1:
        return Intervals(*(array + live for array in result))
    possible = scores if live.all() else scores.of(live)
    of_rows = _compute_two_classes if live.sum() == 2 else _compute_many_classes

    def add_rows(rows: slice) -> None:
        part = possible[rows]
        alone = part.cumulants()
        seen = part.cumulants(1.0) if observed else alone
        mixed = None
        if possible.belief.has_atoms:
            mixed = np.maximum(
                part.mixture_variance(), part.mixture_variance(1.0 if observed else 0.0)
            )
        known = ScoreCumulants(alone, seen, part.log_mean(), part.pair_cumulants(observed), mixed)
        good = known.finite
        if good.all():
            values = of_rows(part, known, target)
        else:
            values = Intervals(*np.full((4, len(part), possible.classes), np.nan))
            if good.any():
                values.put(good, of_rows(part[good], known.of(good), target))
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
    parts = [
        possible[rows]
        for rows in blocks(len(scores), max(CELLS_AT_ONCE // (PLACES_TRIED * possible.classes), 1))
    ]
    return np.concatenate([_die_out(part, observed) for part in parts])


def _die_out(scores: Scores, observed: bool) -> Array:
    """Return the rows whose transforms are small at places that are not too far, `(r,)`."""
    if scores.classes <= 2:
        return np.isfinite(
            last_place(scores, np.ones((len(scores), scores.classes), bool), observed)
        )
    return (
        rays(
            scores,
            active(scores, scores.log_mean(), observed, LOG_NEGLIGIBLE),
            observed,
            narrow=True,
        ).size
        <= MAX_HISTOGRAM_PLACES
    )


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
        result.mean[rows] = mean
        result.median[rows], result.lower[rows], result.upper[rows] = np.quantile(
            proba, levels, axis=0
        )
        error = max(error, quantile_error(proba, levels))
    return result, error


def _compute_two_classes(scores: Scores, known: ScoreCumulants, target: Target) -> Intervals:
    """Intervals of two classes, from the second's log-odds against the first.

    The first's are their negatives.
    """
    share = known.log_mean
    numerics.row_kernels.normalise(share, True)
    score, others = ((known.alone[..., c], known.seen[..., c]) for c in (1, 0))
    ends, error, cumulants = _expand(score, others, share[:, 1], target, known.common)
    if not target.observed:
        share[:, 1] = numerics.cornish_fisher.logistic_mean(cumulants)
    error = known.bound(error[:, None], cumulants[1, :, None])[:, 0]
    slow = np.flatnonzero(~(error <= target.tolerance))
    if len(slow):
        exact = invert(
            scores[slow], cumulants[:, slow], ndtr(target.z), ends[:, slow], target.observed
        )
        ends[:, slow] = exact.quantiles
        if not target.observed:
            known_mean = np.isfinite(exact.mean)
            share[slow[known_mean], 1] = exact.mean[known_mean]
    if not target.observed:
        share[:, 0] = 1 - share[:, 1]
    lower, median, upper = numerics.cornish_fisher.logistic(np.stack([-ends[::-1], ends], axis=-1))
    return Intervals(share, median, lower, upper)


def _expand(
    score: tuple[Array, Array],
    others: tuple[Array, Array],
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
    share = np.exp(normalise_log(known.log_mean))
    kept = active(scores, known.log_mean, target.observed, LOG_NEGLIGIBLE)
    parts = known.alone, known.seen, share, kept
    others, others_seen, mean, crude = numerics.class_sums.cumulants_of_others(*parts)
    score, rest = (
        [array.reshape(4, -1) for array in pair] for pair in (known[:2], (others, others_seen))
    )
    common = exponent_cumulants(scores.exponent_variance.reshape(-1), target.observed)
    ends, error, cumulants = _expand(
        (score[0], score[1]), (rest[0], rest[1]), share.reshape(-1), target, common
    )
    ends = ends.reshape(-1, *share.shape)
    cumulants = cumulants.reshape(4, *share.shape)
    if not target.observed:
        # From the sums over classes; from the cumulants where there are none, or where exponents
        # are not known, whose variance is not in the sums.
        logistic = numerics.cornish_fisher.logistic_mean(cumulants.reshape(4, -1))
        unknown = np.isnan(mean) | (scores.exponent_variance > 0)
        mean = np.where(unknown, logistic.reshape(mean.shape), mean)
    against = OneAgainstOthers(share if target.observed else mean, ends)
    error = known.bound(error.reshape(share.shape), cumulants[1])
    slow = (kept & ~(error + crude[:, None] <= target.tolerance)).any(axis=1)
    if slow.any():
        _invert_many(scores, np.flatnonzero(slow), kept, cumulants, target, against)
    ends = np.sort(ends, axis=0)
    mean = (
        against.mean if target.observed else against.mean / against.mean.sum(axis=1, keepdims=True)
    )
    return Intervals(mean, *(expit(ends[q]) for q in (1, 0, 2)))


def _invert_many(
    scores: Scores,
    slow: Array,
    kept: Array,
    cumulants: Array,
    target: Target,
    result: OneAgainstOthers,
) -> None:
    """Put exact quantiles in place of expanded ones, and exact means where the row is fixed.

    Rows with two active classes go by pairs of classes, as their log-odds have a closed
    characteristic function.
    """
    few = kept[slow].sum(axis=1) == 2
    level = ndtr(target.z)
    for i, j, group in pairs_of(kept[slow[few]]):
        rows = slow[few][group]
        two = scores[rows].of([i, j])
        exact = invert(
            two, cumulants[:, rows, j], level, result.quantiles[:, rows, j], target.observed
        )
        result.quantiles[:, rows, j], result.quantiles[:, rows, i] = (
            exact.quantiles,
            -exact.quantiles[::-1],
        )
        if not target.observed:
            mean = np.where(np.isnan(exact.mean), result.mean[rows, j], exact.mean)
            result.mean[rows, j], result.mean[rows, i] = mean, 1 - mean
    many = slow[~few]
    if not len(many):
        return
    needed = rays(scores[many], kept[many], target.observed, narrow=True)
    light = needed.light if not target.observed else needed.size <= MAX_PLACES
    result.quantiles[:, many[~light]] = np.nan
    many = many[light]
    needed = needed.of(light)
    for part in characters(scores[many], kept[many], target.observed, needed):
        at = many[part.rows][:, None], part.classes
        part = part.widened(scores.exponent_variance[at], target.observed)
        middle = (
            np.clip(logit(result.mean[at]), -MAX_LOG_ODDS, MAX_LOG_ODDS)
            if target.observed
            else cumulants[0][at]
        )
        below = 1 - result.mean[at] if target.observed else None
        result.quantiles[:, *at] = _search(part, middle, result.quantiles[:, *at], level, below)
        if not target.observed:
            result.mean[at] = part.means()


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
