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
    hits, rows = float(counts @ _hits(log_proba, codes)), float(counts.sum())
    lower, upper = betaincinv(hits + 0.5, rows - hits + 0.5, [(1 - prob) / 2, (1 + prob) / 2]).tolist()
    return Estimate(hits / rows, lower if hits > 0 else 0.0, upper if hits < rows else 1.0)


def brier(log_proba: Array, codes: Array, counts: Array, prob: float) -> Estimate:
    """The mean squared distance of the probabilities from the label's ones and zeros; a normal interval."""
    proba, rows = np.exp(log_proba), float(counts.sum())
    terms = np.einsum("rc,rc->r", proba, proba) - 2 * proba[np.arange(len(codes)), codes] + 1
    mean = float(counts @ terms) / rows
    spread = np.sqrt(counts @ (terms - mean) ** 2 / (rows - 1) / rows) if rows > 1 else np.nan
    reach = float(ndtri((1 + prob) / 2) * spread)
    return Estimate(mean, max(mean - reach, 0.0), min(mean + reach, 2.0))


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
