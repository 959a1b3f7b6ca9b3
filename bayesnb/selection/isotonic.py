"""How often a label comes, as a function of its predicted probability that never falls.

    share(p) = the non-decreasing function of p with the least squared distance from the label's zeros and ones

Rows of equal probability are one point, whatever order they came in: a classifier that always says 0.5 has one share.
With that function a Brier score is miscalibration - discrimination + uncertainty, without bins. Dimitriadis, Gneiting
and Jordan (2021), Stable reliability diagrams for probabilistic classifiers, PNAS 118(8), call it CORP.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy.optimize import isotonic_regression

from bayesnb.families.base import Array


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows of one probability each, `(g,)`, in its order: how much weight had the label, and how much had not."""

    at: Array
    hits: Array
    misses: Array
    order: Array  # of the rows, `(r,)`
    starts: Array  # of the groups among them

    @classmethod
    def of(cls, probability: Array, hit: Array, weight: Array) -> Self:
        """Rows with the probability of a label, whether they have it, and their positive weights. All `(r,)`."""
        order = np.argsort(probability)
        ordered, own = probability[order], weight[order]
        new = np.empty(len(order), bool)
        new[:1] = True
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
        starts = np.flatnonzero(new)
        hits = np.add.reduceat(own * hit[order], starts)
        return cls(ordered[starts], hits, np.add.reduceat(own * ~hit[order], starts), order, starts)

    @cached_property
    def weight(self) -> Array:
        return self.hits + self.misses

    @cached_property
    def isotonic(self) -> Array:
        """The share of rows with the label that goes with each probability, `(g,)`."""
        return isotonic_regression(self.hits / self.weight, weights=self.weight).x

    def joined(self, starts: Array) -> Self:
        """Neighbours as one group, at their mean."""
        hits, misses, weight = (np.add.reduceat(own, starts) for own in (self.hits, self.misses, self.weight))
        at = np.add.reduceat(self.weight * self.at, starts) / weight
        return type(self)(at, hits, misses, self.order, self.starts[starts])

    def by_row(self, values: Array) -> Array:
        """What belongs to each group, `(g,) -> (r,)` in the order in which the rows came."""
        sizes = np.diff(np.append(self.starts, len(self.order)))
        found = np.empty(len(self.order))
        found[self.order] = np.repeat(values, sizes)
        return found

    def brier(self, said: Array | float) -> float:
        """The mean squared distance of some probability of each group from its zeros and ones."""
        return float((self.hits @ (1 - said) ** 2 + self.misses @ said**2) / self.weight.sum())


class Corp(NamedTuple):
    """The terms of a Brier score, which is miscalibration - discrimination + uncertainty."""

    miscalibration: float
    discrimination: float
    uncertainty: float


def corp(groups: Groups) -> Corp:
    """What recalibration would take away, what telling rows apart is worth, and what there was to tell."""
    every = np.ones(len(groups.at))
    best, blind = groups.brier(groups.isotonic), groups.brier(every * (groups.hits.sum() / groups.weight.sum()))
    return Corp(groups.brier(groups.at) - best, blind - best, blind)


def split(weight: Array, parts: int) -> Array:
    """Where at most so many parts of equal weight start, `(g,)`.

    No group is divided: what a heavy one takes beyond its part is taken from no part in particular, and those to come
    share what is left.
    """
    heap = np.cumsum(weight)
    starts, done = [0], 0.0
    for left in range(parts, 1, -1):
        goal = done + (heap[-1] - done) / left
        end = min(int(np.searchsorted(heap, goal)), len(heap) - 1)
        if end > starts[-1] and goal - heap[end - 1] < heap[end] - goal:
            end -= 1
        if end + 1 == len(heap):
            break
        starts.append(end + 1)
        done = heap[end]
    return np.array(starts)
