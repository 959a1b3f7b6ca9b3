"""Scores of probabilities with their intervals, over rows of any weight. `(r, c), (r,), (r,) -> ()`."""

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri

from bayesnb.families.base import Array
from bayesnb.special import ratio

BINS, DRAWS = 10, 400


class Estimate(NamedTuple):
    """A score and its interval."""

    value: float
    lower: float
    upper: float


NOTHING = Estimate(*[float("nan")] * 3)


def accuracy(log_proba: Array, codes: Array, counts: Array, prob: float) -> Estimate:
    """The share of rows whose most probable label is their own, with the interval of a Beta(1/2, 1/2) prior.

    A row that is impossible under every class is a miss.
    """
    if np.isnan(log_proba).any():
        return NOTHING
    share, rows = float(counts @ _hits(log_proba, codes) / counts.sum()), np.count_nonzero(counts)
    ends = betaincinv(rows * share + 0.5, rows * (1 - share) + 0.5, [(1 - prob) / 2, (1 + prob) / 2])
    return Estimate(share, float(min(ends[0], share)), float(max(ends[1], share)))


def brier(log_proba: Array, codes: Array, counts: Array, prob: float) -> Estimate:
    """The mean squared distance of the probabilities from the label's ones and zeros; a normal interval."""
    proba = np.exp(log_proba)
    own = proba[np.arange(len(codes)), codes]
    terms = (proba**2).sum(axis=1) - 2 * own + 1
    mean = float(counts @ terms / counts.sum())
    reach = float(ndtri((1 + prob) / 2)) * spread_of_mean(terms, counts)
    return Estimate(mean, max(mean - reach, 0.0), min(mean + reach, 2.0))


def spread_of_mean(terms: Array, counts: Array) -> float:
    """The standard error of a weighted mean over rows; that of the mean, where all weights are alike."""
    rows = np.count_nonzero(counts)
    if rows < 2:
        return float("nan")
    mean = counts @ terms / counts.sum()
    return float(np.sqrt(rows / (rows - 1) * np.sum((counts * (terms - mean)) ** 2)) / counts.sum())


def ece(log_proba: Array, codes: Array, counts: Array, prob: float) -> Estimate:
    """The expected calibration error: how far the predicted label's probability is from how often it is right.

    The mean over at most ten bins of equal mass, none of which parts equal probabilities.
    """
    if np.isnan(log_proba).any():
        return NOTHING
    values, place = np.unique(np.exp(log_proba.max(axis=1)), return_inverse=True)
    mass = np.bincount(place, counts)
    bins = np.minimum((BINS * (mass.cumsum() - mass / 2) / mass.sum()).astype(int), BINS - 1)[place]
    gap = _hits(log_proba, codes) - values[place]
    share = np.bincount(bins, counts, BINS)
    mean = ratio(np.bincount(bins, counts * gap, BINS), share)
    spread = np.sqrt(np.bincount(bins, (counts * (gap - mean[bins])) ** 2, BINS))
    spread, weight = ratio(spread, share), share / share.sum()
    drawn = np.abs(np.random.default_rng(0).normal(mean, spread, (DRAWS, BINS))) @ weight
    lower, upper = np.quantile(drawn, [(1 - prob) / 2, (1 + prob) / 2])
    value = float(np.abs(mean) @ weight)
    return Estimate(value, float(min(lower, value)), float(max(upper, value)))


def _hits(log_proba: Array, codes: Array) -> Array:
    best = log_proba.argmax(axis=1)
    return ((best == codes) & (log_proba.max(axis=1) > -np.inf)).astype(float)
