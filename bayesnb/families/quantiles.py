"""Quantiles of the distributions of parameters, by special functions: importing scipy.stats takes longer than a fit.

They are NaN where the parameters are those of no distribution, as SciPy's are.
"""

import numpy as np
from scipy.special import betaincinv, gammainccinv, gammaincinv, stdtrit

from bayesnb.families.base import Array


def tails(prob: float) -> tuple[float, float]:
    """Return the probabilities below both ends of an interval, which leaves as much below as above."""
    return (1 - prob) / 2, (1 + prob) / 2


def beta(p: float, a: Array, b: Array) -> Array:
    """Quantile of Beta(a, b)."""
    quantile: Array = betaincinv(positive(a), positive(b), p)
    return quantile


def gamma(p: float, shape: Array, rate: Array) -> Array:
    """Quantile of Gamma(shape, rate)."""
    quantile: Array = gammaincinv(positive(shape), p) / positive(rate)
    return quantile


def inverse_gamma(p: float, shape: Array, scale: Array) -> Array:
    """Quantile of InverseGamma(shape, scale)."""
    quantile: Array = positive(scale) / gammainccinv(positive(shape), p)
    return quantile


def student(p: float, dof: Array, location: Array, scale: Array) -> Array:
    """Quantile of Student's t of some degrees of freedom; `scale` is a standard deviation's, not a variance's."""
    quantile: Array = location + positive(scale) * stdtrit(positive(dof), p)
    return quantile


def positive(x: Array) -> Array:
    """Return parameters that are positive; NaN in place of others."""
    return np.where(x > 0, x, np.nan)
