"""Scores of predicted probabilities: means over rows, with their standard errors.

A row of weight w is w rows.
"""

from typing import NamedTuple

import numpy as np

from bayesnb.families.base import Array


class Score(NamedTuple):
    """A mean over rows, and its standard error."""

    value: float
    se: float


def accuracy(log_proba: Array, codes: Array, weight: Array | None = None) -> Score:
    """The share of rows whose most probable label is their own, `(r, c), (r,) -> ()`."""
    return _mean(right(log_proba, codes), weight)


def right(log_proba: Array, codes: Array) -> Array:
    """The rows whose most probable label is their own; none is, where every label is impossible."""
    return (log_proba.argmax(axis=1) == codes) & (log_proba[np.arange(len(codes)), codes] > -np.inf)


def log_loss(log_proba: Array, codes: Array, weight: Array | None = None) -> Score:
    """The mean of -log p(own label), in nats, `(r, c), (r,) -> ()`."""
    return _mean(-log_proba[np.arange(len(codes)), codes], weight)


def brier(log_proba: Array, codes: Array, weight: Array | None = None) -> Score:
    """The mean squared distance of the probabilities from the label's ones and zeros, `(r, c), (r,) -> ()`."""
    return _mean(((np.exp(log_proba) - np.eye(log_proba.shape[1])[codes]) ** 2).sum(axis=1), weight)


def _mean(terms: Array, weight: Array | None) -> Score:
    total = len(terms) if weight is None else float(weight.sum())
    mean = float(np.average(terms, weights=weight))
    if total <= 1 or not np.isfinite(terms).all():
        return Score(mean, float("nan"))
    variance = np.average((terms - mean) ** 2, weights=weight) * total / (total - 1)
    return Score(mean, float(np.sqrt(variance / total)))
