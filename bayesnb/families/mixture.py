"""Two laws of which one holds, with given odds: moments, cumulants, and the distribution of a cell."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

Array = np.ndarray


def mixed(log_odds: Array, first: Array, second: Array) -> Array:
    """log(w exp(first) + (1 - w) exp(second)), real or complex; exactly 0 where both are 0, as missing cells are."""
    one, two = _weighted(log_expit(log_odds), first), _weighted(log_expit(-log_odds), second)
    if np.iscomplexobj(one) or np.iscomplexobj(two):
        top = np.maximum(one.real, two.real)
        with np.errstate(invalid="ignore"):
            total = np.log(np.exp(one - top) + np.exp(two - top)) + top
        total = np.where(np.isinf(top), top, total)
    else:
        total = np.logaddexp(one, two)
    return np.where((first == 0) & (second == 0), 0.0, total)


def _weighted(log_weight: Array, value: Array) -> Array:
    """What is certainly not so weighs nothing, however large it is."""
    return np.where(np.isneginf(log_weight), -np.inf, log_weight + np.where(np.isneginf(log_weight), 0.0, value))


def mixed_cumulants(log_odds: Array, first: Array, second: Array) -> Array:
    """The first four cumulants, or fewer, from those of the parts, stacked on the leading axis.

    By the law of total cumulance, Brillinger (1969): of the parts' cumulants given which holds, and of a coin's.
    """
    w, v = expit(log_odds), expit(-log_odds)
    gaps = [one - two for one, two in zip(first, second, strict=True)]
    found = [w * one + v * two for one, two in zip(first, second, strict=True)]
    d, both, skew = gaps[0], w * v, v - w
    if len(found) > 1:
        found[1] = found[1] + both * d**2
    if len(found) > 2:
        found[2] = found[2] + 3 * both * d * gaps[1] + both * skew * d**3
    if len(found) > 3:
        spread = 4 * d * gaps[2] + 3 * gaps[1] ** 2 + 6 * skew * d**2 * gaps[1]
        found[3] = found[3] + both * (spread + (1 - 6 * both) * d**4)
    return np.stack(found)


@dataclass(frozen=True, eq=False)
class Mixture:
    """One of two of SciPy's frozen distributions: the first with probability `share`."""

    share: Array
    first: Any
    second: Any

    def _mixed(self, name: str, *said: Any) -> Any:
        one, two = getattr(self.first, name)(*said), getattr(self.second, name)(*said)
        return self.share * one + (1 - self.share) * two

    def pdf(self, x: Any) -> Any:
        return self._mixed("pdf", x)

    def pmf(self, x: Any) -> Any:
        return self._mixed("pmf", x)

    def cdf(self, x: Any) -> Any:
        return self._mixed("cdf", x)

    def mean(self) -> Any:
        return self._mixed("mean")
