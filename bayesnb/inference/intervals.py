"""Intervals of p(y | x, theta): its mean, median and equal-tailed ends, for every row and class.

A class's log-odds against the rest have exact cumulants, whose first four give quantiles (Cornish and Fisher 1938) with
an error that `kernels.odds` bounds. Where that is not good enough a transform is inverted: of the log-odds of two
classes (`inversion`), or of a class against several others (`softmax`). Nothing is drawn.

The law is that under p(theta | D, x) where the row was observed, a mixture over the class that the row may be of, whose
mean is the predictive; and that under p(theta | D) where the row was fixed by someone.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from bayesnb import numerics
from bayesnb.families.base import Array
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.inversion import invert, too_heavy
from bayesnb.inference.posterior_draws import drawn_proba, quantile_error, warn_drawn
from bayesnb.inference.softmax import Characters, active, characters, rays
from bayesnb.model.product import normalised
from bayesnb.numerics.threads import blocks, in_order

TOLERANCES = {"auto": 1e-3, "fast": 0.02, "exact": 1e-6}  # errors on the probability scale
HOPELESS = 28.0  # minus the log of a probability that does not matter to any other class
FAR = 32.0  # how far from their middle log-odds are looked for among many classes
ROWS = 1 << 15  # at once, times classes


class Law(NamedTuple):
    """Mean, median and ends of an interval of each row's class probabilities, `(r, c)` each."""

    mean: Array
    median: Array
    lower: Array
    upper: Array


class Asked(NamedTuple):
    """What is to be known: quantiles where a normal's are z, of which law, and how exactly."""

    z: Array
    observed: bool
    tolerance: float


class Known(NamedTuple):
    """Cumulants of the scores alone and once their class has seen the row, `(4, r, c)`, and log means, `(r, c)`.

    `common` is what two classes that are not apart add to those of their log-odds, `(2, 4, r)`.
    """

    alone: Array
    seen: Array
    log_mean: Array
    common: Array

    def of(self, rows: Array) -> "Known":
        return Known(self.alone[:, rows], self.seen[:, rows], self.log_mean[rows], self.common[..., rows])

    @property
    def finite(self) -> Array:
        """Rows that have a law, `(r,)`."""
        own = np.isfinite(self.alone) & np.isfinite(self.seen)
        return own.all(axis=(0, 2)) & np.isfinite(self.common).all(axis=(0, 1))


class Odds(NamedTuple):
    """Of the log-odds of each class against the rest: the mean of the probability, and quantiles, `(3, r, c)`."""

    mean: Array
    quantiles: Array


def intervals(scores: Scores, prob: float, observed: bool, method: str, n_jobs: int | None = 1) -> Law:
    """The law of every row's probabilities; classes of probability 0 keep it. A row without a law has NaN."""
    live = scores.belief.live
    tolerance = 0.0 if scores.belief.weighs else TOLERANCES[method]  # a mixture may have any shape with its cumulants
    asked = Asked(ndtri(np.array([(1 - prob) / 2, 0.5, (1 + prob) / 2])), observed, tolerance)
    law = Law(*np.zeros((4, len(scores), len(live))))
    if live.sum() == 1:
        return Law(*(array + live for array in law))
    possible = scores if live.all() else scores.of(live)
    of_rows = _of_two if live.sum() == 2 else _of_many

    def some(rows: slice) -> None:
        part = possible[rows]
        alone = part.cumulants()
        seen = part.cumulants(1.0) if observed else alone
        known = Known(alone, seen, part.log_mean(), part.pair_cumulants(observed))
        good = known.finite
        if good.all():
            found = of_rows(part, known, asked)
        else:
            found = Law(*np.full((4, len(part), possible.classes), np.nan))
            if good.any():
                for array, own in zip(found, of_rows(part[good], known.of(good), asked), strict=True):
                    array[good] = own
        for array, own in zip(law, found, strict=True):
            array[rows, live] = own

    list(in_order(some, blocks(len(scores), max(ROWS // possible.classes, 1)), n_jobs))
    return law


def _of_two(scores: Scores, known: Known, asked: Asked) -> Law:
    """The second class against the first; the first's law is its mirror image."""
    share = known.log_mean
    numerics.row_kernels.normalise(share, True)
    own, rest = ((known.alone[..., c], known.seen[..., c]) for c in (1, 0))
    ends, error, law = _expanded(own, rest, share[:, 1], asked, known.common)
    if not asked.observed:
        numerics.cornish_fisher.logistic_mean(law, share[:, 1])
    slow = np.flatnonzero(~(error <= asked.tolerance))
    if len(slow):
        exact = invert(scores[slow], law[:, slow], ndtr(asked.z), ends[:, slow], asked.observed)
        ends[:, slow] = exact.quantiles
        if not asked.observed:
            share[slow, 1] = exact.mean
    if not asked.observed:
        share[:, 0] = 1 - share[:, 1]
    found = Law(share, *np.empty((3, *share.shape)))
    numerics.cornish_fisher.both_sides(ends, *found[1:])
    return found


def _expanded(
    own: tuple[Array, Array], rest: tuple[Array, Array], share: Array, asked: Asked, common: Any = 0.0
) -> tuple[Array, ...]:
    """Quantiles from cumulants alone and after the row was seen, `(4, r)`; bounds of errors; cumulants of the law.

    `common` is to be added to the cumulants of the log-odds, `(2, 4, r)`.
    """
    both = np.empty((2, *own[0].shape))
    numerics.cornish_fisher.odds(own[0], rest[0], own[1], rest[1], share, *both)
    both += common
    one, two = both
    ends, error, law = np.empty((len(asked.z), len(share))), np.empty(len(share)), np.empty_like(one)
    numerics.cornish_fisher.quantiles(one, two, share, asked.z, asked.tolerance, ends, error, law)
    return ends, error, law


def _of_many(scores: Scores, known: Known, asked: Asked) -> Law:
    """Every class against the rest."""
    share = np.exp(normalised(known.log_mean))
    kept = active(scores, known.log_mean, asked.observed, HOPELESS)
    rest, rest_seen, mean = np.empty_like(known.alone), np.empty_like(known.seen), np.full(share.shape, np.nan)
    crude = np.empty(len(share))
    numerics.class_sums.rests(known.alone, known.seen, share, kept, rest, rest_seen, mean, crude)
    own, others = ([array.reshape(4, -1) for array in pair] for pair in (known[:2], (rest, rest_seen)))
    ends, error, law = _expanded((own[0], own[1]), (others[0], others[1]), share.reshape(-1), asked)
    ends, law = ends.reshape(-1, *share.shape), law.reshape(4, *share.shape)
    found = Odds(share if asked.observed else _means(law, mean), ends)
    slow = (kept & ~(error.reshape(share.shape) + crude[:, None] <= asked.tolerance)).any(axis=1)
    if slow.any():
        _invert_many(scores, np.flatnonzero(slow), kept, law, asked, found)
    ends = np.sort(ends, axis=0)
    mean = found.mean if asked.observed else found.mean / found.mean.sum(axis=1, keepdims=True)
    return Law(mean, *(expit(ends[q]) for q in (1, 0, 2)))


def _means(law: Array, mean: Array) -> Array:
    """Means before the row was seen: those that the sums over several classes gave, and the laws' own."""
    logistic = np.empty(mean.size)
    numerics.cornish_fisher.logistic_mean(law.reshape(4, -1), logistic)
    return np.where(np.isnan(mean), logistic.reshape(mean.shape), mean)


def _invert_many(scores: Scores, slow: Array, kept: Array, law: Array, asked: Asked, found: Odds) -> None:
    """Exact quantiles in place of those found, and exact means where the row is fixed."""
    few = kept[slow].sum(axis=1) == 2
    pairs, level = np.argsort(~kept[slow[few]], axis=1, kind="stable")[:, :2], ndtr(asked.z)
    for i, j in np.unique(pairs, axis=0):
        rows = slow[few][(pairs == (i, j)).all(axis=1)]
        two = scores[rows].of([i, j])
        exact = invert(two, law[:, rows, j], level, found.quantiles[:, rows, j], asked.observed)
        found.quantiles[:, rows, j], found.quantiles[:, rows, i] = exact.quantiles, -exact.quantiles[::-1]
        if not asked.observed:
            found.mean[rows, j], found.mean[rows, i] = exact.mean, 1 - exact.mean
    many = slow[~few]
    if not len(many):
        return
    needed = rays(scores[many], kept[many], asked.observed, narrow=True)
    if not asked.observed:
        light = needed.light
        if not light.all():
            _draw(scores[many[~light]], many[~light], asked, found)
        many, needed = many[light], needed.of(light)
    search = _search_half if asked.observed else _search
    for some in characters(scores[many], kept[many], asked.observed, needed):
        at = many[some.rows][:, None], some.classes
        found.quantiles[:, *at] = search(some, law[0][at], found.quantiles[:, *at], level, found.mean[at])
        if not asked.observed:
            found.mean[at] = some.means()


def _draw(scores: Scores, rows: Array, asked: Asked, found: Odds) -> None:
    """Rows, chosen by someone, with three or more classes of which one's score has endless tails."""
    if asked.tolerance < min(TOLERANCES["auto"], TOLERANCES["fast"]):
        raise too_heavy(np.inf)
    proba, levels = drawn_proba(scores), ndtr(asked.z)
    warn_drawn(len(scores), quantile_error(proba, levels))
    found.quantiles[:, rows] = logit(np.quantile(proba, levels, axis=0))
    found.mean[rows] = proba.mean(axis=0)


def _search(some: Characters, middle: Array, guess: Array, level: Array, mean: Array) -> Array:
    """Quantiles of the law before the row was seen, `(q, r, a)`."""
    reach, phi = np.pi / some.step, some.phi.reshape(-1, some.phi.shape[-1])
    ends, middle = guess.reshape(len(level), -1).copy(), middle.reshape(-1)
    numerics.fourier_inversion.search(
        phi.real.copy(), phi.imag.copy(), some.step, middle - reach, middle + reach, ends, level
    )
    return ends.reshape(guess.shape)


def _search_half(some: Characters, middle: Array, guess: Array, level: Array, mean: Array) -> Array:
    """Quantiles given the row, `(q, r, a)`; of one too far out to be found, the guess gives the order of magnitude."""
    phi, share = some.phi.reshape(-1, some.phi.shape[-1]), mean.reshape(-1)
    middle = np.clip(logit(share), -FAR, FAR)
    lower, upper = middle - FAR, middle + FAR
    ends = guess.reshape(len(level), -1).copy()
    numerics.fourier_inversion.search_half(
        phi.real.copy(), phi.imag.copy(), some.step, 1 - share, lower, upper, ends, level
    )
    low, high = np.minimum(guess.reshape(ends.shape), lower), np.maximum(guess.reshape(ends.shape), upper)
    return np.where(ends < lower + 1e-6, low, np.where(ends > upper - 1e-6, high, ends)).reshape(guess.shape)
