"""Cholesky factors of symmetric positive definite matrices, and vectors with missing cells.

A matrix is L L' with L lower triangular; W = L**-1 is its whitening, |W v|**2 = v' matrix**-1 v.
Matrices are on the last two axes, vectors on the last.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtri

from bayesnb.families.base import Array
from bayesnb.numerics.threads import blocks

# relative to a variance, for each column: what rounding may leave of 0
ROUNDED = 8 * float(np.finfo(float).eps)
EVERY = slice(None)
Present = Any  # the columns that a pattern has, `(d,)`, or all
ROWS_AT_ONCE = 1 << 11  # rows of a few columns that fit in the cache
SQUARE_OVERFLOWS = 1e150  # from here on a sum of a few squares may overflow


class Root(NamedTuple):
    """Cholesky factors, their inverses, and log determinants; NaN for singular matrices."""

    factor: Array  # `(..., d, d)`
    whitening: Array  # `(..., d, d)`
    log_det: Array  # `(...)`


def root_of(matrix: Array) -> Root:
    """Factorise matrices, `(..., d, d)`."""
    root = factor(matrix)
    with np.errstate(all="ignore"):
        return Root(root, inverted(root), 2 * np.log(diagonal(root)).sum(axis=-1))


def factor(matrix: Array) -> Array:
    """Cholesky factors, `(..., d, d)`; NaN where a matrix is not positive definite beyond
    rounding.
    """
    with np.errstate(all="ignore"):
        try:
            root = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            if matrix.ndim == 2:
                return np.full_like(matrix, np.nan)
            return np.stack([factor(each) for each in matrix])
        good = diagonal(root) ** 2 > ROUNDED * matrix.shape[-1] * diagonal(matrix)
    return np.where(good.all(axis=-1)[..., None, None], root, np.nan)


def inverted(factors: Array) -> Array:
    """The inverses of lower triangular matrices; NaN where a factor is."""
    each = factors.reshape(-1, *factors.shape[-2:])
    return np.reshape([dtrtri(factor, lower=True)[0] for factor in each], factors.shape)


def diagonal(matrix: Array) -> Array:
    """`(..., d, d) -> (..., d)`."""
    return np.diagonal(matrix, axis1=-2, axis2=-1)


def outer(vector: Array) -> Array:
    """`(..., d) -> (..., d, d)`."""
    return vector[..., :, None] * vector[..., None, :]


def inner(one: Array, two: Array) -> Array:
    """Inner products, `(..., d), (..., d) -> (..., 1)`."""
    return (one * two).sum(axis=-1, keepdims=True)


def transposed(matrix: Array) -> Array:
    """`(..., d, d) -> (..., d, d)`."""
    return matrix.swapaxes(-1, -2)


def turned(matrix: Array, vector: Array) -> Array:
    """matrix @ vector, broadcasting, `(..., d, d), (..., d) -> (..., d)`."""
    return (matrix @ vector[..., None])[..., 0]


def norm(whitening: Array, x: Array, location: Array) -> Array:
    """|whitening @ (x - location)| of rows, `(..., d, d), (r, ..., d), (..., d) -> (r, ...)`.

    One matrix product for each class. Squares may overflow.
    """
    if x.ndim == whitening.ndim and len(x) > ROWS_AT_ONCE:
        parts = blocks(len(x), ROWS_AT_ONCE)
        return np.concatenate([norm(whitening, x[rows], location) for rows in parts])
    with np.errstate(all="ignore"):
        gap = x - location
        if not np.abs(gap).max(initial=0.0) < SQUARE_OVERFLOWS:
            size = np.abs(gap).max(axis=-1)
            unit = np.where(size[..., None] > 0, gap / size[..., None], 0.0)
            root = norm(whitening, np.nan_to_num(unit), np.zeros(()))
            return np.where(np.isinf(size), np.inf, size * root)
        if gap.ndim < whitening.ndim:  # vectors without rows
            return np.sqrt((turned(whitening, gap) ** 2).sum(axis=-1))
        white = whitening @ np.moveaxis(gap, 0, -1)
        return np.moveaxis(np.sqrt(np.einsum("...dr,...dr->...r", white, white)), -1, 0)


def by_pattern(x: Array, value: Callable[[Array, Present, Any], Array]) -> Array:
    """Call `value(cells, present, rows)` for each pattern of missing cells in vectors, `(r, ...,
    d)`.

    The result may have axes in front of those of the vectors. It is 0 for a vector without cells.
    """
    x = np.asarray(x, float)
    there = ~np.isnan(x)
    if there.all():
        return value(x, EVERY, EVERY)
    if x.ndim == 1:
        return value(x[there], there, EVERY) if there.any() else np.zeros(())
    patterns, which = np.unique(there.reshape(-1, x.shape[-1]), axis=0, return_inverse=True)
    which = which.reshape(x.shape[:-1])
    others = tuple(range(1, which.ndim))
    total: Any = None
    for p, present in enumerate(patterns):
        rows = np.flatnonzero((which == p).any(axis=others))
        cells = np.nan_to_num(x[rows])
        if present.any():
            part = value(cells[..., present], present, rows)
        else:
            part = np.zeros_like(value(cells, EVERY, rows))
        if total is None:
            axis = part.ndim - which.ndim
            shape = (*part.shape[:axis], len(x), *part.shape[axis + 1 :])
            total = np.zeros(shape, part.dtype)
        place = (..., rows, *(EVERY,) * len(others))
        total[place] = np.where(which[rows] == p, part, total[place])
    return total
