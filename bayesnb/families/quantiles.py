"""Quantiles of parameters' distributions from special functions: importing scipy.stats takes longer
than a fit.

As in SciPy, they are NaN for invalid parameters.
"""

import numpy as np
from scipy.special import betaincinv, gammainccinv, gammaincinv, stdtrit

from bayesnb.families.base import Array


def tails(prob: float) -> tuple[float, float]:
    """Return the probabilities below the two ends of an equal-tailed interval."""
    if not 0 <= prob <= 1:
        raise ValueError(f"interval: prob must be a probability from 0 to 1, got {prob!r}.")
    return (1 - prob) / 2, (1 + prob) / 2


def beta(p: float, a: Array, b: Array) -> Array:
    """Quantile of Beta(a, b)."""
    quantile: Array = betaincinv(positive(a), positive(b), p)
    return quantile


def gamma(p: float, shape: Array, rate: Array) -> Array:
    """Quantile of Gamma(shape, rate)."""
    with np.errstate(over="ignore"):
        quantile: Array = gammaincinv(positive(shape), p) / positive(rate)
    return quantile


def inverse_gamma(p: float, shape: Array, scale: Array) -> Array:
    """Quantile of InverseGamma(shape, scale)."""
    with np.errstate(divide="ignore", over="ignore"):
        quantile: Array = positive(scale) / gammainccinv(positive(shape), p)
    return quantile


def student(p: float, dof: Array, location: Array, scale: Array) -> Array:
    """Quantile of Student's t; `scale` is in units of x, not of its square."""
    # SciPy returns +inf for p = 0
    standard = stdtrit(positive(dof), p) if p > 0 else -stdtrit(positive(dof), 1.0)
    quantile: Array = location + positive(scale) * standard
    return quantile


def positive(x: Array) -> Array:
    """Replace parameters that are not positive by NaN."""
    return np.where(x > 0, x, np.nan)
