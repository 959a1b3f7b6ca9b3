"""Symmetric positive definite matrices by their Cholesky factors, and cells that are vectors, some of them incomplete.

A matrix is L L' with L lower triangular; W = L**-1 is its whitening: |W v|**2 = v' matrix**-1 v. Matrices stand on
the last two axes, vectors on the last. What is missing of a vector is integrated out, so that a value is that of the
vector of the cells which are there: the rows of one pattern of missing cells are worked on together.
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb import numerics
from bayesnb.families.record import Array
from bayesnb.numerics.special import log
from bayesnb.numerics.views import EVERY

ROUNDED = 8 * float(np.finfo(float).eps)  # of a variance, for each column: what rounding may leave of none
There = Any  # the columns that a pattern has, `(d,)`, or all


def factor(matrix: Array) -> Array:
    """The Cholesky factors, `(..., d, d)`; NaN for a matrix that is not positive definite, or only by rounding."""
    with np.errstate(all="ignore"):
        try:
            root = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            each = matrix.reshape(-1, *matrix.shape[-2:])
            root = np.stack([_factor(one) for one in each]).reshape(matrix.shape)
        pivots, variances = diagonal(root) ** 2, diagonal(matrix)
        good = (pivots > ROUNDED * matrix.shape[-1] * variances).all(axis=-1)
    return np.where(good[..., None, None], root, np.nan)


def _factor(matrix: Array) -> Array:
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)


def inverted(factors: Array) -> Array:
    """The inverses of lower triangular matrices, `(..., d, d)`; NaN where a factor is."""
    each, inverses = factors.reshape(-1, *factors.shape[-2:]), np.zeros(factors.shape)
    out, width = inverses.reshape(each.shape), factors.shape[-1]
    if len(each) > width:  # row by row of all, by substitution
        with np.errstate(all="ignore"):
            for i in range(width):
                out[:, i, i] = 1 / each[:, i, i]
                out[:, i, :i] = -out[:, i, i, None] * (each[:, i, None, :i] @ out[:, :i, :i])[:, 0]
        return inverses
    from scipy.linalg.lapack import dtrtri

    for one, inverse in zip(each, out, strict=True):
        inverse[:] = np.tril(dtrtri(one, lower=1)[0])
    return inverses


def diagonal(matrix: Array) -> Array:
    """`(..., d, d) -> (..., d)`."""
    return np.diagonal(matrix, axis1=-2, axis2=-1)


def log_det(factors: Array) -> Array:
    """The log determinants of the matrices whose factors these are, `(..., d, d) -> (...)`."""
    with np.errstate(divide="ignore"):
        return 2 * np.log(diagonal(factors)).sum(axis=-1)


class Whitened:
    """What has matrices, and reads them by their factors, each found once."""

    @property
    @abstractmethod
    def matrix(self) -> Array:
        """Symmetric positive definite ones, `(..., d, d)`."""

    @cached_property
    def factor(self) -> Array:
        """The Cholesky factors; NaN where a matrix is singular."""
        return factor(self.matrix)

    @cached_property
    def whitening(self) -> Array:
        """What makes of a row's distance from the mean, were the matrix its covariance, cells of variance 1."""
        return inverted(self.factor)

    @cached_property
    def log_det(self) -> Array:
        """The log determinants, `(...)`."""
        return log_det(self.factor)


def outer(vector: Array) -> Array:
    """`(..., d) -> (..., d, d)`."""
    return vector[..., :, None] * vector[..., None, :]


def turned(matrix: Array, vector: Array) -> Array:
    """matrix @ vector, broadcasting, `(..., d, d), (..., d) -> (..., d)`."""
    return (matrix @ vector[..., None])[..., 0]


def square(whitening: Array, gap: Array) -> Array:
    """|whitening @ gap|**2, `(..., d, d), (..., d) -> (...)`; infinite where it leaves the range of floats."""
    with np.errstate(all="ignore"):
        z = turned(whitening, gap)
        total = (z * z).sum(axis=-1)
        return np.where(np.isnan(total) & ~np.isnan(gap).any(axis=-1), np.inf, total)


def log_square(whitening: Array, gap: Array) -> Array:
    """Its log, also where the square leaves the range of floats."""
    with np.errstate(all="ignore"):
        size = np.abs(gap).max(axis=-1)
        unit = np.where(size[..., None] > 0, gap / size[..., None], 0.0)
        return np.where(np.isinf(size), np.inf, 2 * log(size) + log(square(whitening, unit)))


def by_pattern(x: Array, axes: int, value: Callable[[Array, There, Any], Array]) -> Array:
    """`value(cells, there, rows)` of vectors, `(..., d)`, which broadcast against records of so many axes; 0 of none.

    Vectors that have an axis of their own are worked on pattern by pattern, others all at once for each.
    """
    x = np.asarray(x, float)
    if not np.isnan(x).any():
        return value(x, EVERY, EVERY)
    patterns, which = np.unique(~np.isnan(x).reshape(-1, x.shape[-1]), axis=0, return_inverse=True)
    which = which.reshape(x.shape[:-1])
    if x.ndim - 1 > axes and which.size == len(x):
        return _by_rows(x, patterns, which.ravel(), value)
    total: Any = 0.0
    for p, there in enumerate(patterns):
        cells = np.where(np.isnan(x), 0.0, x)
        of_pattern = (
            value(cells[..., there], there, EVERY) if there.any() else np.zeros_like(value(cells, EVERY, EVERY))
        )
        total = np.where(which == p, of_pattern, total)
    return total


def _by_rows(x: Array, patterns: Array, which: Array, value: Callable[[Array, There, Any], Array]) -> Array:
    out: Any = None
    for p, there in enumerate(patterns):
        rows = np.flatnonzero(which == p)
        cells = x[rows]
        values = (
            value(cells[..., there], there, rows)
            if there.any()
            else np.zeros_like(value(np.zeros_like(cells), EVERY, rows))
        )
        at = values.ndim - (x.ndim - 1)  # cumulants have an axis in front of the rows
        if out is None:
            out = np.empty((*values.shape[:at], len(x), *values.shape[at + 1 :]), values.dtype)
        out[(*(EVERY,) * at, rows)] = values
    return out


def patterns_of(x: Array) -> list[tuple[Array, There]]:
    """The rows of each pattern of missing cells, and the columns that are there, `(r, d)`; not rows without any."""
    there = ~np.isnan(x)
    if there.all():
        return [(np.arange(len(x)), EVERY)]
    patterns, which = np.unique(there, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(which.ravel()))[:-1])
    pairs = zip(groups, patterns, strict=True)
    return [(rows, EVERY if present.all() else present) for rows, present in pairs if present.any()]


def distances(x: Array, location: Array, whitening: Array) -> Array:
    """|whitening @ (x - location)|**2 of rows and classes, `(r, d), (c, d), (c, d, d) -> (r, c)`, compiled."""
    out = np.empty((len(x), len(location)))
    numerics.elliptic_kernels.distances(np.ascontiguousarray(x), *map(np.ascontiguousarray, (location, whitening)), out)
    return out
