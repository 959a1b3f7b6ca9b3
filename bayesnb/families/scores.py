"""Scores of rows: sums over features, computed some rows at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bayesnb.numerics.threads import in_order, pieces

Array = np.ndarray
EVERY = slice(None)


def by_rows(
    score: Callable[[slice], Array], shape: tuple[int, int], classes: int, out: Array | None, n_jobs: int | None
) -> Array:
    """Scores of blocks of rows, each computed apart, as one `(r, c)` array, or added to one."""
    parts = pieces(shape[0], max(shape[1], classes))
    if len(parts) == 1:
        total = score(EVERY)
        if out is not None:
            out += total
            return out
        return total
    out = np.zeros((shape[0], classes)) if out is None else out

    def some(rows: slice) -> None:
        out[rows] += score(rows)

    list(in_order(some, parts, n_jobs))
    return out


def mended(total: Array, finite: bool, definition: Callable[[Array], Array]) -> Array:
    """What a kernel made, but for rows where a square left the range of floats, as the definition has them."""
    if not finite:
        odd = ~np.isfinite(total).all(axis=1)
        total[odd] = definition(odd)
    return total


def summed(term: Callable[[Any], Array], record: Any, rows: int) -> Array:
    """A term of every cell summed over features, class by class: no temporary with rows and classes and features."""
    total = np.empty((rows, len(record)))
    for c in range(len(record)):
        total[:, c] = term(record[c]).sum(axis=1)
    return total
