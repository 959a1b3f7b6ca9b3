"""Scores of predicted probabilities: means over rows, with their standard errors."""

from typing import NamedTuple

import numpy as np

from bayesnb.families.base import Array


class Score(NamedTuple):
    """A mean over rows, and its standard error."""

    value: float
    se: float


def accuracy(log_proba: Array, codes: Array) -> Score:
    """The share of rows whose most probable label is their own, `(r, c), (r,) -> ()`."""
    return _mean(log_proba.argmax(axis=1) == codes)


def log_loss(log_proba: Array, codes: Array) -> Score:
    """The mean of -log p(own label), in nats, `(r, c), (r,) -> ()`."""
    return _mean(-log_proba[np.arange(len(codes)), codes])


def brier(log_proba: Array, codes: Array) -> Score:
    """The mean squared distance of the probabilities from the label's ones and zeros, `(r, c), (r,) -> ()`."""
    return _mean(((np.exp(log_proba) - np.eye(log_proba.shape[1])[codes]) ** 2).sum(axis=1))


def _mean(terms: Array) -> Score:
    if len(terms) < 2 or not np.isfinite(terms).all():
        return Score(float(np.mean(terms)), float("nan"))
    return Score(float(np.mean(terms)), float(np.std(terms, ddof=1) / np.sqrt(len(terms))))
