"""Densities whose log is linear in what cells say, and how sure their weights are. See `Linear`.

A weight is a function of theta, so it has a posterior variance: log theta_k of a die has psi'(a_k) - psi'(a), with a
the die's total, and the difference of two independent classes the sum of both (Aitchison and Shen 1980, Biometrika 67,
has these moments of a Dirichlet's logs).
"""

import numpy as np

from bayesnb.families.record import Array, Linear
from bayesnb.numerics.special import trigamma, trigamma_fall


class InCells:
    """What a density is as a function of its cells."""

    def linear(self) -> Linear | None:
        """The log-density as a linear function of the cells, class by class; None where it is not linear in them."""
        return None

    def linear_against(self, place: int) -> Linear | None:
        """How that differs from one class's."""
        own = self.linear()
        return own and Linear(own.weights - own.weights[place], own.offset - own.offset[place])


def of_apart(weights: Array, offset: Array, against: int | None) -> Linear:
    """Variances of classes that are independent of one another, or of their differences from one of them."""
    if against is None:
        return Linear(weights, offset)
    return Linear(_added(weights, against), _added(offset, against))


def log_share_variance(concentration: Array, total: Array, against: int | None = None) -> Array:
    """Of the log of every level's probability, or of its log-odds against one level, in which the total plays no part.

    >>> from math import pi
    >>> (log_share_variance(np.ones(2), np.full(2, 2.0)) / (pi**2 / 6)).round(4)  # psi'(1) is pi**2 / 6
    array([0.6079, 0.6079])
    """
    if against is None:
        return trigamma_fall(concentration, total - concentration)
    return _added(trigamma(concentration), against)


class LevelWeights:
    """Of a density that multiplies probabilities of levels, once for each time that one came up."""

    log_probability: Array

    def linear(self) -> Linear:
        """The log of every level's probability, `(c, k)`; nothing beside."""
        classes = len(self.log_probability)
        return Linear(self.log_probability.reshape(classes, -1), np.zeros(classes))


class LevelDoubt:
    """Of a belief about such probabilities."""

    concentration: Array
    total: Array

    def linear_variance(self, against: int | None = None) -> Linear:
        """Each level's own; levels of one die are not independent."""
        classes = len(self.concentration)
        each = log_share_variance(self.concentration, self.total).reshape(classes, -1)
        return of_apart(each, np.zeros(classes), against)


def _added(variance: Array, against: int) -> Array:
    """Of differences from one class; from itself it does not differ."""
    total = variance + variance[against]
    total[against] = 0.0
    return total
