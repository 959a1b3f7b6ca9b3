"""Pairs of Gaussian columns: a bivariate normal against two independent ones.

    covariance ~ InverseWishart(nu, Psi), Psi diagonal      mean | covariance ~ Normal(m, covariance / count)

Its margins are those of the columns alone, Normal-inverse-gamma with shape a = (nu - 1) / 2 and scales b_j =
Psi_jj / 2: both hypotheses have the same (Geiger and Heckerman 2002, Parameter priors for directed acyclic graphical
models). With primes for what n rows make of them, and rho the correlation in Psi', the normalizers' ratio collapses to

    log Bayes factor = L(a') - L(a) - log(b_1' / b_1) / 2 - log(b_2' / b_2) / 2 - (a' + 1/2) log(1 - rho**2)

where L(a) = log Gamma(a + 1/2) - log Gamma(a). Where two columns' priors differ in count or shape, both hypotheses take
the geometric means, and each scale keeps its ratio to the shape, the variance that is expected.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.normal_inverse_gamma import NormalInverseGamma
from bayesnb.numerics.special import log_gamma_ratio, ratio
from bayesnb.numerics.threads import blocks

NEARLY_ONE = 1e-6  # a share of variance that is left, below which it is summed again
NUMBERS = 1 << 19  # pairs that are worked on at once


class Pairs(NamedTuple):
    """What some columns say in the rows that they share with all columns, `(n, f)` each: of their own numbers."""

    mean: Array
    gap: Array  # from the prior's location
    scale: Array
    ssd: Array


def correlations(x: Array, weight: Array, prior: NormalInverseGamma) -> Iterator[tuple[slice, Array]]:
    """log Bayes factors of all pairs of columns of one class, `(r, f), (r,), (f,)`, block by block.

    A block has some columns, with those and all behind them, `(n, m)`.
    """
    seen = (~np.isnan(x)).astype(float)
    centre = ratio(np.where(seen > 0, x, 0.0).T @ weight, seen.T @ weight)
    x = np.where(seen > 0, x - centre, 0.0)
    columns = Columns(x, seen, weight, prior.location - centre, prior)
    for some in blocks(x.shape[1], max(1, NUMBERS // max(1, x.shape[1]))):
        found = columns.factors(some, slice(some.start, None))
        lower = np.tril_indices(len(found), -1)
        found[lower] = found.T[lower]  # a pair that is there twice has one number, to the last digit
        yield some, found


@dataclass(frozen=True, eq=False)
class Columns:
    """Centred columns of one class, 0 where a cell is missing, which `seen` says; and their prior."""

    x: Array
    seen: Array
    weight: Array
    location: Array
    prior: NormalInverseGamma

    @cached_property
    def heavy(self) -> Array:
        """The numbers, each as often as its row counts."""
        return self.x * self.weight[:, None]

    @cached_property
    def square(self) -> Array:
        return self.heavy * self.x

    def factors(self, some: slice, others: slice) -> Array:
        """Of some columns with others, `(n, m)`, the first of which are the same."""
        prior, n = self.prior, (self.seen[:, some] * self.weight[:, None]).T @ self.seen[:, others]
        count, shape = (np.sqrt(np.multiply.outer(own[some], own[others])) for own in (prior.count, prior.shape))
        each = self._sides(some, others, n, shape)
        share = ratio(count * n, count + n)
        one, two = (side.scale + (side.ssd + share * side.gap**2) / 2 for side in each)
        cross = self.heavy[:, some].T @ self.x[:, others] - n * each[0].mean * each[1].mean
        left = 1 - ((cross + share * each[0].gap * each[1].gap) / 2) ** 2 / (one * two)
        left[np.diag_indices(len(left))] = 1.0
        for i, j in np.argwhere(left < NEARLY_ONE):
            sides = [Pairs(*(part[i, j] for part in side)) for side in each]
            left[i, j] = self._again([some.start + i, others.start + j], sides, share[i, j])
        later = shape + n / 2
        grown = np.log(one / each[0].scale) + np.log(two / each[1].scale)
        return _gain(later) - _gain(shape) - grown / 2 - (later + 0.5) * np.log(left)

    def _sides(self, some: slice, others: slice, n: Array, shape: Array) -> list[Pairs]:
        """Of the first column of each pair, and of the second."""
        variance = self.prior.scale / self.prior.shape
        found = []
        for sums, squares, location, each in (
            (self.heavy[:, some].T @ self.seen[:, others], self.square[:, some].T @ self.seen[:, others],
             self.location[some, None], variance[some, None]),
            (self.seen[:, some].T @ self.heavy[:, others], self.seen[:, some].T @ self.square[:, others],
             self.location[others], variance[others]),
        ):  # fmt: skip
            mean = ratio(sums, n)
            found.append(Pairs(mean, mean - location, each * shape, np.maximum(squares - sums * mean, 0.0)))
        return found

    def _again(self, pair: list[int], sides: list[Pairs], share: float) -> float:
        """What is left of one pair's variance, summed over its rows."""
        both = self.seen[:, pair].all(axis=1)[:, None]
        rows = np.where(both, self.x[:, pair] - [side.mean for side in sides], 0.0)
        extra = np.zeros((3, 2))
        extra[[0, 1], [0, 1]] = np.sqrt([side.scale for side in sides])
        extra[2] = np.sqrt(share / 2) * np.array([side.gap for side in sides])
        return _unexplained(np.vstack([np.sqrt(self.weight / 2)[:, None] * rows, extra]))


def _gain(shape: Array) -> Array:
    return log_gamma_ratio(shape, 0.5)


def _unexplained(rows: Array) -> float:
    """The share of one column's sum of squares that the other does not explain, without taking a difference."""
    one, two = rows.T
    slope = (one @ two) / (one @ one)
    return float(((two - slope * one) ** 2).sum() / (two @ two))
