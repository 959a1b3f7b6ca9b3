"""Rows that are the same: a table of ten rows should not be ten times one row."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array
from bayesnb.numerics.threads import blocks
from bayesnb.report.facts.gathered import Facts
from bayesnb.report.wording import count

CHUNK = 512
CLOSE = 1e-9  # of held-out log probabilities: rows that are the same have the same, up to rounding


class Pick(NamedTuple):
    """A row, and how many rows are the same, itself counted."""

    row: int
    times: int

    @property
    def others(self) -> str:
        return "" if self.times == 1 else f"<br><small>and {count(self.times - 1, 'row')} like it</small>"


def distinct(order: Array, facts: Facts, most: int) -> list[Pick]:
    """The first rows in an order that differ in their cells or label, and how often each occurs in the table."""
    found: dict[Any, int] = {}
    for part in blocks(len(order), CHUNK):
        for row, key in zip(order[part].tolist(), keys(order[part], facts), strict=True):
            found.setdefault(key, row)
            if len(found) == most:
                return [Pick(own, times(own, key, facts)) for key, own in found.items()]
    return [Pick(own, times(own, key, facts)) for key, own in found.items()]


def times(row: int, key: Any, facts: Facts) -> int:
    """How many rows are the same: few have the same label and probabilities, and their cells are compared."""
    near = facts.codes == facts.codes[row]
    with np.errstate(invalid="ignore"):  # infinite ones are alike
        gap = np.abs(facts.own - facts.own[row])
    near &= ~(gap > CLOSE * (1 + abs(facts.own[row]))) if np.isfinite(facts.own[row]) else True
    every = np.flatnonzero(near)
    return sum(Counter(keys(every[part], facts))[key] for part in blocks(len(every), CHUNK))


def keys(rows: Array, facts: Facts) -> list[Any]:
    """What tells rows apart: the bytes of their cells, and the label."""
    parts = [of_block(x[rows]) for x in facts.cells]
    return list(zip(facts.codes[rows].tolist(), *parts, strict=True))


def of_block(x: Any) -> list[Any]:
    """The bytes of each row."""
    if sparse.issparse(x):
        whole = sparse.csr_array(x)
        whole.sum_duplicates()
        whole.eliminate_zeros()
        ends = zip(whole.indptr[:-1].tolist(), whole.indptr[1:].tolist(), strict=True)
        return [(whole.indices[a:b].tobytes(), whole.data[a:b].tobytes()) for a, b in ends]
    return [row.tobytes() for row in np.ascontiguousarray(x)]
