"""Scores of predicted probabilities: means over rows, with standard errors and intervals.

A row of weight w counts as w rows. The interval of a mean over few rows, whose terms are losses (most of them small, a
few large), is Student's t through a transformation that removes skewness:

    g(w) = w + skew w^2 / 3 + skew^2 w^3 / 27 + skew / (6 n),      w = (mean - truth) / sd

A mean of skewed terms misses the truth more often on one side. sqrt(n) g(w) is nearly normal, and g is undone in closed
form. Hall (1992), On the removal of skewness by transformation, JRSS B 54(1).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from bayesnb.families.base import Array

LEAST_SKEW = 1e-8  # below, the transformation is the identity


class Estimate(NamedTuple):
    """A number and its interval."""

    value: float
    lower: float
    upper: float


class Score(NamedTuple):
    """A mean over rows, and its standard error."""

    value: float
    se: float


def accuracy(log_proba: Array, codes: Array, weight: Array | None = None) -> Score:
    """Share of rows whose most probable label is the true one, `(r, c), (r,) -> ()`."""
    return _mean(right(log_proba, codes), weight)


def right(log_proba: Array, codes: Array) -> Array:
    """Rows whose most probable label is the true one; none, where every label is impossible."""
    return (log_proba.argmax(axis=1) == codes) & (log_proba[np.arange(len(codes)), codes] > -np.inf)


def log_loss(log_proba: Array, codes: Array, weight: Array | None = None) -> Score:
    """Mean of -log p(true label), in nats, `(r, c), (r,) -> ()`."""
    return _mean(-log_proba[np.arange(len(codes)), codes], weight)


def brier(log_proba: Array, codes: Array, weight: Array | None = None) -> Score:
    """Mean squared distance of the probabilities from the label's ones and zeros, `(r, c), (r,) -> ()`."""
    return _mean(((np.exp(log_proba) - np.eye(log_proba.shape[1])[codes]) ** 2).sum(axis=1), weight)


def _mean(terms: Array, weight: Array | None) -> Score:
    total = len(terms) if weight is None else float(weight.sum())
    mean = float(np.average(terms, weights=weight))
    if total <= 1 or not np.isfinite(terms).all():
        return Score(mean, float("nan"))
    variance = np.average((terms - mean) ** 2, weights=weight) * total / (total - 1)
    return Score(mean, float(np.sqrt(variance / total)))


def mean_interval(terms: Array, prob: float, most: float = np.inf) -> Estimate:
    """Mean of terms between 0 and `most`, with its interval: Student's t through Hall's g, `(r,) -> ()`.

    An infinite term leaves no interval, and of a single term it is vacuous.

    >>> estimate = mean_interval(np.array([0.1, 0.2, 0.1, 0.3, 0.1, 1.4]), 0.89)
    >>> [round(end, 2) for end in estimate]
    [0.37, 0.08, 1.95]
    """
    n, mean = len(terms), float(np.mean(terms))
    if not np.isfinite(mean):
        return Estimate(mean, mean, mean)
    if n < 2:
        return Estimate(mean, 0.0, most)
    reach = float(stdtrit(n - 1, (1 + prob) / 2)) / np.sqrt(n)
    spread, skew = float(np.std(terms, ddof=1)), skewness(terms)
    low, high = (mean - spread * _undone(at, skew, n) for at in (reach, -reach))
    return Estimate(mean, min(max(low, 0.0), mean), max(min(high, most), mean))


def skewness(terms: Array) -> float:
    """Third standardised moment; 0 where all terms are alike."""
    gap = terms - terms.mean()
    spread = float(np.sqrt((gap**2).mean()))
    return 0.0 if spread <= 1e-12 * float(np.abs(terms).max(initial=0.0)) else float(((gap / spread) ** 3).mean())


def _undone(at: float, skew: float, n: int) -> float:
    """Return w, given g(w)."""
    if abs(skew) < LEAST_SKEW:
        return at
    return float(3 / skew * (np.cbrt(1 + skew * (at - skew / (6 * n))) - 1))
