"""How much each row counts for each class."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb import numerics
from bayesnb.numerics.views import FLOATS, LABELS, readable

Array = np.ndarray
EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Weight:
    """Class and weight of each row: a weighted one-hot `(r, c)` matrix, stored as two `(r,)`
    arrays.
    """

    codes: Array
    counts: Array
    classes: int

    @property
    def matrix(self) -> sparse.csc_array:
        order = np.argsort(self.codes, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.codes, minlength=self.classes))])
        return sparse.csc_array(
            (self.counts[order], order, starts), shape=(len(self.codes), self.classes)
        )

    def totals(self) -> Array:
        """`(c,)`, the sum over rows."""
        return np.bincount(self.codes, self.counts, self.classes)

    def rest(self, part: Array) -> Array:
        """The weight of the rows that are not in the part, `(c, f) -> (c, f)`; 0 if it is only
        rounding.
        """
        total = self.totals()[:, None]
        rest = total - part
        rounding = len(self.counts) * EPSILON * total
        np.maximum(rest, 0.0, out=rest)
        doubtful = (rest != 0) & (rest <= rounding)
        if doubtful.any() and (self.counts % 1 != 0).any():
            rest[doubtful] = 0.0
        return rest


def one_hot(codes: Array, classes: int, counts: Array | None = None) -> Weight:
    """Hard labels, each row with weight 1 or a given weight."""
    counts = np.ones(len(codes)) if counts is None else counts
    return Weight(readable(codes, LABELS), readable(counts, FLOATS[:1]), classes)


def hard(weight: Weight | sparse.sparray) -> list[Weight]:
    """Split a matrix of soft labels, `(r, c)`, into hard labels that add up to it."""
    if isinstance(weight, Weight):
        return [weight]
    rows, classes = weight.shape
    columns = [np.asarray(weight[:, [c]].toarray(), float)[:, 0] for c in range(classes)]
    return [one_hot(np.full(rows, c), classes, column) for c, column in enumerate(columns)]


def by_class(weight: Weight) -> Iterator[tuple[Array, Array]]:
    """Yield the rows of each class, and their weights."""
    matrix = weight.matrix
    for start, stop in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        yield matrix.indices[start:stop], matrix.data[start:stop]


def grouped_sum(weight: Weight, x: Any) -> Array:
    """Weighted sums over the rows of each class, in float64: `(r, c), (r, f) -> (c, f)`."""
    total = np.zeros((weight.classes, x.shape[1]))
    cells = readable(x, FLOATS)
    numerics.level_kernels.add_to_classes(cells, weight.codes, weight.counts, total)
    return total
