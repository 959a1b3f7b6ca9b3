"""Variances of the weights and offsets of log-densities that are linear in their cells."""

from bayesnb.families.record import Array, Linear
from bayesnb.numerics.special import trigamma, trigamma_fall


def independent_variances(weights: Array, offset: Array, against: int | None) -> Linear:
    """Variances of classes that are independent of one another, or of their differences from one of
    them.
    """
    if against is None:
        return Linear(weights, offset)
    return Linear(_of_difference(weights, against), _of_difference(offset, against))


def log_share_variance(concentration: Array, total: Array, against: int | None = None) -> Array:
    """Variance of the log of every level's probability, or of its log-odds against one level (free
    of the total).

    >>> import numpy as np
    >>> variance = log_share_variance(np.ones(2), np.full(2, 2.0))
    >>> (variance / (np.pi**2 / 6)).round(4)  # psi'(1) is pi**2 / 6
    array([0.6079, 0.6079])
    """
    if against is None:
        return trigamma_fall(concentration, total - concentration)
    return _of_difference(trigamma(concentration), against)


def _of_difference(variance: Array, against: int) -> Array:
    """Variances of differences from one class, which has none from itself."""
    total = variance + variance[against]
    total[against] = 0.0
    return total
