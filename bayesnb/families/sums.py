"""Cumulants and transforms of rows of levels or counts: each distinct cell's worth is computed once, then added up.

A worth has n numbers for each class, as many as there are cumulants, or places at which a transform is asked for.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bayesnb import numerics

Array = np.ndarray


class Entries(NamedTuple):
    """Rows of entries: where each row starts, of each entry its place in a list of distinct cells, -1 for none."""

    starts: Array
    places: Array

    @classmethod
    def of_table(cls, places: Array) -> "Entries":
        """From an `(r, f)` table of places."""
        rows, width = places.shape
        return cls(np.arange(rows + 1, dtype=np.int64) * width, places.reshape(-1).astype(np.int64))

    def added(self, worth: Array) -> Array:
        """The entries' worth, real or complex, summed over each row, `(n, c, k) -> (r, c, n)`."""
        n, classes, _ = worth.shape
        table = np.ascontiguousarray(np.moveaxis(worth, -1, 0).swapaxes(1, 2)).reshape(-1, classes * n)
        out = np.zeros((len(self.starts) - 1, classes * n), table.dtype)
        numerics.transform_kernels.add_up(self.starts, self.places, table.view(float), out.view(float))
        return out.reshape(-1, classes, n)


class Distinct(NamedTuple):
    """The distinct cells of some rows, by feature and value, and where they stand."""

    feature: Array
    value: Array
    entries: Entries

    @classmethod
    def of_csr(cls, x: sparse.csr_array) -> "Distinct":
        """Of the entries of CSR."""
        values, which = np.unique(x.data.astype(float), return_inverse=True)
        keys, places = np.unique(which.astype(np.int64) * x.shape[1] + x.indices, return_inverse=True)
        starts = x.indptr.astype(np.int64)
        return cls(keys % x.shape[1], values[keys // x.shape[1]], Entries(starts, places.astype(np.int64)))

    @classmethod
    def of_table(cls, x: Array) -> "Distinct":
        """Of an `(r, f)` table's cells but the missing ones."""
        x = np.asarray(x, float)
        row, feature = np.nonzero(~np.isnan(x))
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(x)))])
        return cls.of_csr(sparse.csr_array((x[row, feature], feature, starts), shape=x.shape))


def nodes(s: Any) -> Array:
    """Places of a transform with room for classes and cells behind, `(n,) -> (n, 1, 1)`."""
    return np.asarray(s, complex)[:, None, None]


def row_of_entry(counts: sparse.csr_array) -> Array:
    return np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))


def by_entry(counts: sparse.csr_array, worth: Callable[[int], Array], classes: int) -> Array:
    """Sums over each row's entries of what they are worth to each class."""
    row = row_of_entry(counts)
    return np.column_stack([np.bincount(row, worth(c), minlength=counts.shape[0]) for c in range(classes)])
