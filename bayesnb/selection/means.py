"""Intervals of a mean over few rows, whose terms are losses: most are small, some large.

    g(w) = w + skew w^2 / 3 + skew^2 w^3 / 27 + skew / (6 n),      w = (mean - truth) / sd

A mean of skewed terms misses the truth more often on one side. g takes that skewness away, so that sqrt(n) g(w) is
nearly normal, and is undone in closed form. Hall (1992), On the removal of skewness by transformation, JRSS B 54(1).
"""

import numpy as np
from scipy.special import stdtrit

from bayesnb.families.base import Array
from bayesnb.selection.calibration_curves import Estimate

LEAST_SKEW = 1e-8  # below, the transformation is the identity


def mean_interval(terms: Array, prob: float, most: float = np.inf) -> Estimate:
    """The mean of terms between 0 and `most`, with its interval: Student's t through Hall's g, `(r,) -> ()`.

    Terms that are infinite leave no interval, and so does a single one.

    >>> found = mean_interval(np.array([0.1, 0.2, 0.1, 0.3, 0.1, 1.4]), 0.89)
    >>> [round(end, 2) for end in found]
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
    """The third standardised moment; 0 where all terms are alike."""
    gap = terms - terms.mean()
    spread = float(np.sqrt((gap**2).mean()))
    return 0.0 if spread <= 1e-12 * float(np.abs(terms).max(initial=0.0)) else float(((gap / spread) ** 3).mean())


def _undone(at: float, skew: float, n: int) -> float:
    """w, from g(w)."""
    if abs(skew) < LEAST_SKEW:
        return at
    return float(3 / skew * (np.cbrt(1 + skew * (at - skew / (6 * n))) - 1))
