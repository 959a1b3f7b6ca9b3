"""Rows of counts, such as words: as CSR, in how many orders each can come, and word by word."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from bayesnb.families.record import Array
from bayesnb.numerics.special import ratio
from bayesnb.numerics.views import EVERY

Cells = Any


def as_csr(x: Cells) -> sparse.csr_array:
    counts = sparse.csr_array(x)
    return counts if counts.dtype == float else counts.astype(float)


def log_orders(x: Cells) -> Array:
    """The log of the number of orders in which counts can come, `(..., k) -> (...)`; a constant in theta."""
    logs = (
        sparse.csr_array((gammaln(x.data + 1), x.indices, x.indptr), x.shape) if sparse.issparse(x) else gammaln(x + 1)
    )
    return gammaln(x.sum(axis=-1) + 1) - logs.sum(axis=-1)


def words_of(x: Cells) -> Array:
    """Those that occur in some row."""
    counts = as_csr(x[EVERY])
    return np.unique(counts.indices[counts.data != 0])


def words_read(x: Cells, words: Array | None) -> Array:
    """Their counts, `(r, f) -> (r, 1, w)`."""
    return np.asarray(as_csr(x)[:, words].toarray())[:, None]


def word_orders(own: Array) -> Array:
    """Each word's share of its row's `log_orders`: the average over all orders in which the row can be read."""
    size = own.sum(axis=-1, keepdims=True)
    return ratio(own, size) * gammaln(size + 1) - gammaln(own + 1)
