"""Exponents on the evidence of blocks. Those of words fall with the length of a row.

    r(x) = value / (1 + n / length)      n the number of words in the row

Words of a text come in bursts and repeat one another, so a long text is less evidence than the sum
of its words. With the exponent r a row of n words counts as value * n / (1 + n / length) words:
about `value * n` if it is short, and never more than `value * length`. Families of words take one
power for each row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Cells
from bayesnb.families.record import Power
from bayesnb.numerics.views import pieces_of


@dataclass(frozen=True)
class LengthPower:
    """The exponent of a block of words: `value` for a row without words, half of it at `length`."""

    value: float
    length: float

    def of(self, x: Cells) -> Array:
        """The exponent of each row, `(r, k) -> (r, 1)`."""
        return self.value * self.shares(x)

    def shares(self, x: Cells) -> Array:
        """The factor by which length reduces the exponent of each row, `(r, k) -> (r, 1)`."""
        return shares_at(lengths_of(x), self.length)[:, None]


@dataclass(frozen=True, eq=False)
class ExponentCovariance:
    """Covariance of estimated exponents, `(g, g)`, and the exponent of each feature, `group`,
    `(f,)`.

    All features share one exponent under temper="loo"; in a wide table the least informative ones
    do.
    """

    matrix: Array
    group: Array

    def __len__(self) -> int:
        return len(self.matrix)

    def add_up(self, table: Array) -> Array:
        """Sum numbers of features over those that share an exponent, `(..., f) -> (..., g)`."""
        return add_groups(table, self.group, len(self))


def add_groups(table: Array, group: Array, size: int) -> Array:
    """Sum numbers of features by group, numbered from 0, `(..., f), (f,) -> (..., g)`."""
    features = np.arange(len(group))
    if np.array_equal(group, np.arange(size)):
        return table
    shape = (len(group), size)
    is_in = sparse.csr_array((np.ones(len(group)), (features, group)), shape)
    return (table.reshape(-1, len(group)) @ is_in).reshape(*table.shape[:-1], size)


# exponents on the evidence of features: one, or for each block a number or `(f,)`
Numbers = float | tuple[Power, ...]
# or, for a block of words, one that falls with the length of a row
Exponents = Numbers | tuple[Power | LengthPower, ...]


def lengths_of(x: Cells) -> Array:
    """The number of words in each row, `(r, k) -> (r,)`."""
    # ravel, as sums of a sparse matrix keep two axes
    sums = [np.asarray(x[rows].sum(axis=1), float).ravel() for rows in pieces_of(x)]
    return np.concatenate(sums)


def shares_at(words: Array, length: float | Array) -> Array:
    """The factor by which length reduces the exponent of rows with this many words."""
    return 1 / (1 + words / length)


def of_blocks[P](power: float | tuple[P, ...], blocks: int) -> tuple[float | P, ...]:
    """The exponent of each block: a number, one by feature, or one that falls with length."""
    return power if isinstance(power, tuple) else (power,) * blocks


def of_rows(power: Exponents, cells: Sequence[Cells]) -> tuple[Power, ...]:
    """The exponent of each block for these rows: a number, `(f,)`, or `(r, 1)` numbers."""
    pairs = zip(of_blocks(power, len(cells)), cells, strict=True)
    return tuple(each.of(x) if isinstance(each, LengthPower) else each for each, x in pairs)


def of_empty_rows(power: Exponents) -> Numbers:
    """The exponents as numbers, for rows without words."""
    if not isinstance(power, tuple):
        return power
    return tuple(each.value if isinstance(each, LengthPower) else each for each in power)


def feature_exponents(power: Exponents, widths: Sequence[int]) -> Array:
    """The exponents of features in rows without words, all blocks end to end, `(f,)`."""
    pairs = zip(of_blocks(of_empty_rows(power), len(widths)), widths, strict=True)
    return np.concatenate([np.full(width, number, float) for number, width in pairs])


def length_shares(power: Exponents, cells: Sequence[Cells], widths: Sequence[int]) -> Array:
    """Factors by which length reduces exponents, `(r, f)`: 1 except for words."""
    parts = []
    for each, x, width in zip(of_blocks(power, len(cells)), cells, widths, strict=True):
        share = each.shares(x) if isinstance(each, LengthPower) else 1.0
        parts.append(np.broadcast_to(share, (x.shape[0], width)))
    return np.concatenate(parts, axis=1)


def is_silent(exponent: Power) -> bool:
    """Whether a block contributes nothing, even for rows that are impossible under it."""
    return isinstance(exponent, float | int) and exponent == 0
