"""How well probabilities rank rows of two classes: the ROC curve, precision and recall, at every
threshold.

    recall = right positives / positives      precision = right positives / predicted positives

The area under the ROC curve is the probability that a positive row ranks above a negative one, ties
counted half (Hanley and McNeil 1982). Average precision is the sum of precisions, each weighted by
the recall that it adds.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from bayesnb.families.base import Array


@dataclass(frozen=True, eq=False)
class RankingCurves:
    """Rows predicted positive at each threshold, the highest first, and how many of them are right.

    All `(t,)`.
    """

    threshold: Array
    positives: Array  # predicted
    hits: Array  # of them, those that are positive
    rows: int
    total: int  # rows that are positive

    @classmethod
    def of(cls, probability: Array, positive: Array) -> Self:
        """Rank rows by the probability of the positive class, `(r,), (r,)`.

        Rows of equal probability are one step.
        """
        order = np.argsort(-probability, kind="stable")
        p = probability[order]
        ends = np.append(np.flatnonzero(np.diff(p)), len(p) - 1)
        return cls(p[ends], ends + 1, np.cumsum(positive[order])[ends], len(p), int(positive.sum()))

    @property
    def recall(self) -> Array:
        return self.hits / self.total

    @property
    def precision(self) -> Array:
        return self.hits / self.positives

    @property
    def false_alarms(self) -> Array:
        """Share of the negative rows that are predicted positive."""
        return (self.positives - self.hits) / (self.rows - self.total)

    @property
    def area(self) -> float:
        """Area under the ROC curve."""
        return float(np.trapezoid(np.append(0, self.recall), np.append(0, self.false_alarms)))

    @property
    def average_precision(self) -> float:
        return float(self.precision @ np.diff(self.recall, prepend=0))
