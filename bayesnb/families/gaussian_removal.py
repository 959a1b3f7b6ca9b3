"""Rows that leave a Gaussian, of one column or of a block of d columns.

Once a row x of weight w has left a belief with parameters (location, count, dof, scale), and with a
= x - location, products being in units of the scale,

    count' = count - w      dof' = dof - w      scale' = scale - g a a',  g = w count / count'

The matrix determinant lemma gives det scale' = det scale (1 - g |a|**2), and Sherman and Morrison's
identity the squared distance |b|**2 + g (a b)**2 / (1 - g |a|**2) from a class whose location
stays, as that of others does which share the scale. From the class that the row leaves it is (count
/ count')**2 |a|**2 / (1 - g |a|**2).

1 - g |a|**2 is the share of the determinant that stays, with an absolute error of some 1e-16. Below
FRAGILE fewer than some twelve digits are left: such rows are marked, and their class is counted
again without them.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

Array = np.ndarray
Distances = tuple[Array, Array, Array]  # |b|**2, |a|**2 and (a b)**2
LOG_2PI = float(np.log(2 * np.pi))
FRAGILE = 1e-4  # the share of a scale below which taking a row back leaves too few digits
LEAST = 1e-9  # of a count, or of degrees of freedom


@dataclass(frozen=True, eq=False)
class Scale:
    """What rows take from when they leave classes whose beliefs have these parameters, `(c, f)`."""

    width: int  # columns of a block
    beyond: int  # what a mode adds to the dof by which it divides the scale
    count: Array
    dof: Array
    log_det: Array

    def only(self, c: int) -> Self:
        """Of one class."""
        count, dof, log_det = (each[c : c + 1] for each in (self.count, self.dof, self.log_det))
        return replace(self, count=count, dof=dof, log_det=log_det)

    def farthest(self, w: Any) -> Array:
        """The squared distance up to which a row can leave; -1 where a count or dof would be used
        up.
        """
        left = self.count - w
        fine = (left > LEAST * self.count) & (self.dof - w > LEAST * self.dof)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(fine, (1 - FRAGILE) * left / (w * self.count), -1.0)

    def estimate_left_out(self, kind: str, w: Any, own: Array) -> Array:
        """Log density by the estimate of the class that a row has left, at a squared distance
        before.
        """
        with np.errstate(all="ignore"):
            lost = w * (self.count / (self.count - w)) * own
            distance = (self.count / (self.count - w)) ** 2 * own / (1 - lost)
            score = self._log_density(kind, w, lost, distance)
        return np.where(own > self.farthest(w), np.nan, score)

    def other_estimate_left_out(self, kind: str, w: Any, distances: Distances, left: Self) -> Array:
        """Log density by the estimate of a class that shares the scale, once a row has `left`
        another.
        """
        other, own, along = distances
        with np.errstate(all="ignore"):
            g = w * (left.count / (left.count - w))
            distance = other + g * along / (1 - g * own)
            return self._log_density(kind, w, g * own, distance)

    def _log_density(self, kind: str, w: Any, lost: Array, distance: Array) -> Array:
        """Log density by an estimate, `lost` being the part of the determinant that is gone."""
        dof = self.dof - w
        free = dof - self.width - 1
        divisors = {"mean": np.where(free > 0, free, dof), "map": dof + self.beyond, "mle": dof}
        log_det = self.log_det + np.log1p(-lost) - self.width * np.log(divisors[kind])
        return -(self.width * LOG_2PI + log_det + divisors[kind] * distance) / 2


def learnt(prior: Any, stats: Any, kind: str) -> Any:
    """The belief that has learnt all rows; the MLE has no prior."""
    return (prior.map(np.zeros_like) if kind == "mle" else prior).update(stats)
