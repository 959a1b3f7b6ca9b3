"""Intervals of p(y | x, theta): its mean, median and equal-tailed ends, for every row and class.

A class's log-odds against the rest have exact cumulants, whose first four give quantiles (Cornish and Fisher 1938) with
an error that `kernels.odds` bounds. Where that is not good enough a transform is inverted: of the log-odds of two
classes (`inversion`), or of a class against several others (`softmax`). Nothing is drawn.

The law is that under p(theta | D, x) where the row was observed, a mixture over the class that the row may be of, whose
mean is the predictive; and that under p(theta | D) where the row was fixed by someone.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from bayesnb import kernels
from bayesnb.families.base import Array
from bayesnb.model import normalised
from bayesnb.threads import blocks, in_order
from bayesnb.uncertainty.inversion import invert
from bayesnb.uncertainty.scores import Scores
from bayesnb.uncertainty.softmax import Characters, active, characters

TOLERANCES = {"auto": 1e-3, "fast": 0.02, "exact": 1e-8}  # errors on the probability scale
HOPELESS = 28.0  # minus the log of a probability that does not matter to any other class
FAR = 32.0  # how far from their middle log-odds are looked for among many classes
ROWS = 1 << 13  # at once


class Law(NamedTuple):
    """Mean, median and ends of an interval of each row's class probabilities, `(r, c)` each."""

    mean: Array
    median: Array
    lower: Array
    upper: Array


class Odds(NamedTuple):
    """The same of log-odds, a class to a column: the mean of the probability, and quantiles, `(3, r, c)`."""

    mean: Array
    quantiles: Array


def intervals(scores: Scores, prob: float, observed: bool, method: str, n_jobs: int | None = 1) -> Law:
    """The law of every row's probabilities; classes of probability 0 keep it."""
    live = scores.belief.live
    z = ndtri(np.array([(1 - prob) / 2, 0.5, (1 + prob) / 2]))
    law = Law(*np.zeros((4, len(scores), len(live))))
    if live.sum() == 1:
        return Law(*(array + live for array in law))
    possible = scores if live.all() else scores.of(live)

    def some(rows: slice) -> None:
        odds = _odds(possible[rows], z, observed, TOLERANCES[method])
        parts = odds.mean, *(expit(odds.quantiles[q]) for q in (1, 0, 2))
        for array, part in zip(law, parts, strict=True):
            array[rows, live] = part

    list(in_order(some, blocks(len(scores), max(ROWS // scores.classes, 1)), n_jobs))
    return law


def _odds(scores: Scores, z: Array, observed: bool, tolerance: float) -> Odds:
    share = np.exp(normalised(scores.log_mean()))
    alone = scores.cumulants()
    seen = scores.cumulants(1.0) if observed else alone
    if scores.classes == 2:
        return _of_two(scores, (alone, seen, share), z, observed, tolerance)
    return _of_many(scores, (alone, seen, share), z, observed, tolerance)


def _of_two(scores: Scores, known: tuple[Array, Array, Array], z: Array, observed: bool, tolerance: float) -> Odds:
    """The second class against the first; the first's law is its mirror image."""
    alone, seen, share = known
    own, rest = (alone[..., 1], seen[..., 1]), (alone[..., 0], seen[..., 0])
    ends, error, law = _expanded(own, rest, share[:, 1], z, tolerance)
    mean = share[:, 1].copy()
    if not observed:
        kernels.odds.logistic_mean(law, mean)
    slow = np.flatnonzero(~(error <= tolerance))
    if len(slow):
        ends[:, slow], exact_mean = invert(scores[slow], law[:, slow], ndtr(z), ends[:, slow], observed)
        mean[slow] = mean[slow] if observed else exact_mean
    return Odds(np.stack([1 - mean, mean], axis=1), np.stack([-ends[::-1], ends], axis=-1))


def _expanded(
    own: tuple[Array, Array], rest: tuple[Array, Array], share: Array, z: Array, tolerance: float
) -> tuple[Array, Array, Array]:
    """Quantiles from cumulants alone and after the row was seen, `(4, r)`; bounds of errors; cumulants of the law."""
    one, two = np.empty((2, *own[0].shape))
    kernels.odds.odds(own[0], rest[0], own[1], rest[1], share, one, two)
    ends, error, law = np.empty((len(z), len(share))), np.empty(len(share)), np.empty_like(one)
    kernels.odds.quantiles(one, two, share, z, tolerance, ends, error, law)
    return ends, error, law


def _of_many(scores: Scores, known: tuple[Array, Array, Array], z: Array, observed: bool, tolerance: float) -> Odds:
    """Every class against the rest."""
    alone, seen, share = known
    kept = active(scores, scores.log_mean(), observed, HOPELESS)
    rest, rest_seen, mean = np.empty_like(alone), np.empty_like(seen), np.full(share.shape, np.nan)
    kernels.rest.rests(alone, seen, share, kept, rest, rest_seen, mean)
    flat = [array.reshape(4, -1) for array in (alone, seen, rest, rest_seen)]
    ends, error, law = _expanded((flat[0], flat[1]), (flat[2], flat[3]), share.reshape(-1), z, tolerance)
    ends, error = (
        ends.reshape(len(z), *share.shape),
        np.maximum(error.reshape(share.shape), _crudeness(alone, seen, kept)),
    )
    if observed:
        mean = share
    else:
        logistic = np.empty(share.size)
        kernels.odds.logistic_mean(law, logistic)
        mean = np.where(np.isnan(mean), logistic.reshape(share.shape), mean)
        mean = mean / mean.sum(axis=1, keepdims=True)
    slow = np.flatnonzero((kept & ~(error <= tolerance)).any(axis=1))
    found = Odds(mean, ends)
    if len(slow):
        _invert_many(scores, slow, kept, law.reshape(4, *share.shape), ndtr(z), observed, found)
    return found


def _crudeness(alone: Array, seen: Array, kept: Array) -> Array:
    """What the scores' own laws, known by four cumulants, may add to errors of a sum of several, `(r, 1)`."""
    bends = [np.where(kept, kernels.odds.bends(law.reshape(4, -1)).reshape(kept.shape), 0.0) for law in (alone, seen)]
    return np.where(kept.sum(axis=1) > 2, kernels.odds.BENT * np.maximum(*bends).max(axis=1) ** 2, 0.0)[:, None]


def _invert_many(
    scores: Scores, slow: Array, kept: Array, law: Array, level: Array, observed: bool, found: Odds
) -> None:
    """Exact quantiles in place of those found, and exact means where the row is fixed."""
    few = kept[slow].sum(axis=1) == 2
    pairs = np.argsort(~kept[slow[few]], axis=1, kind="stable")[:, :2]
    for i, j in np.unique(pairs, axis=0):
        rows = slow[few][(pairs == (i, j)).all(axis=1)]
        two = scores[rows].of([i, j])
        ends, mean = invert(two, law[:, rows, j], level, found.quantiles[:, rows, j], observed)
        found.quantiles[:, rows, j], found.quantiles[:, rows, i] = ends, -ends[::-1]
        if not observed:
            found.mean[rows, j], found.mean[rows, i] = mean, 1 - mean
    many = slow[~few]
    if len(many):
        for some in characters(scores[many], kept[many], observed, narrow=True):
            at = many[some.rows][:, None], some.classes
            search = _search_half if observed else _search
            found.quantiles[:, *at] = search(some, law[0][at], found.quantiles[:, *at], level, found.mean[at])
            if not observed:
                found.mean[at] = some.means()


def _search(some: Characters, middle: Array, guess: Array, level: Array, mean: Array) -> Array:
    """Quantiles of the law before the row was seen, `(q, r, a)`."""
    reach, phi = np.pi / some.step, some.phi.reshape(-1, some.phi.shape[-1])
    ends, middle = guess.reshape(len(level), -1).copy(), middle.reshape(-1)
    kernels.odds.search(phi.real.copy(), phi.imag.copy(), some.step, middle - reach, middle + reach, ends, level)
    return ends.reshape(guess.shape)


def _search_half(some: Characters, middle: Array, guess: Array, level: Array, mean: Array) -> Array:
    """Quantiles given the row, `(q, r, a)`; one too far out to be found is where the probability is 0 or 1."""
    phi, share = some.phi.reshape(-1, some.phi.shape[-1]), mean.reshape(-1)
    middle = np.clip(logit(share), -FAR, FAR)
    lower, upper = middle - FAR, middle + FAR
    ends = guess.reshape(len(level), -1).copy()
    kernels.odds.search_half(phi.real.copy(), phi.imag.copy(), some.step, 1 - share, lower, upper, ends, level)
    ends = np.where(ends < lower + 1e-6, -np.inf, np.where(ends > upper - 1e-6, np.inf, ends))
    return ends.reshape(guess.shape)
