"""Tables whose held-out scores are too good: copies among the rows, and more columns than rows.

Where a row stands in the table twice, its copy is among the rows that predict it. And where exponents of many columns
are chosen by few rows, some columns seem to tell the classes apart by chance.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from bayesnb.estimators.tempering import COLUMNS
from bayesnb.families.base import Array, Cells
from bayesnb.model.product import Rows
from bayesnb.numerics.views import column, pieces_of

MANY = 0.25  # of the rows: so many copies make the scores visibly better
FEWEST = 0.01  # of the rows: fewer copies are not worth a word
ROOM = 150  # possible rows for each row, among which copies are no chance
LOOKED_AT = 10_000  # rows, at most, in which the values of a column are counted
DROP_COPIES = "If rows were recorded twice, drop the duplicates: otherwise the copy of a held-out row helps to predict it."
TEST_TABLE = "Score the model on a test table, which it has not learnt from, before you rely on it."


class CopiedRows(NamedTuple):
    """Rows that repeat an earlier one, label included, and whether chance can explain so many."""

    rows: Array
    share: float
    by_chance: bool

    @classmethod
    def of(cls, cells: Sequence[Cells], keys: Array) -> Self:
        """Count the copies by the keys of rows: see `row_keys`."""
        rows = repeated(keys)
        share = len(rows) / len(keys)
        return cls(rows, share, share >= FEWEST and not has_room(cells, np.log(ROOM * len(keys))))

    @property
    def are_few(self) -> bool:
        """Whether they are hardly worth a word."""
        return self.share < FEWEST

    @property
    def flatter(self) -> bool:
        """Whether the held-out scores are visibly too good."""
        return self.share >= MANY and not self.by_chance

    def describe(self) -> str:
        """Say how many rows are copies."""
        count = f"{len(self.rows):,} row{'' if len(self.rows) == 1 else 's'}"
        return f"{count} ({100 * self.share:.1f} %) repeat{'s' * (len(self.rows) == 1)} an earlier row, label included"

    def describe_scores(self) -> str:
        """Say what the copies do to the scores."""
        return f"{self.describe()} (the first is row {self.rows[0]:,}), so the held-out scores are too good."


def describe_width(model: Any, rows: int) -> str:
    """Say what more columns than rows do to the scores, where each column has an exponent; else nothing."""
    if model._temper_rule != COLUMNS:
        return ""
    columns = np.size(model._temper_of_columns.value)
    if columns <= rows:
        return ""
    return (
        f"There are {columns:,} columns and only {rows:,} rows, so the held-out scores are too good: among so many "
        "columns some tell these rows apart by chance."
    )


def score_warnings(model: Any, rows: Rows) -> list[str]:
    """Return what makes held-out scores of these rows visibly too good, and what to do, as sentences."""
    copies = CopiedRows.of(rows.cells, row_keys(rows.cells, rows.codes))
    copied = f"{copies.describe_scores()} {DROP_COPIES}" if copies.flatter else ""
    wide = describe_width(model, len(rows.codes))
    return [each for each in (copied, f"{wide} {TEST_TABLE}" if wide else "") if each]


def has_room(cells: Sequence[Cells], least: float) -> bool:
    """Return whether the columns' values have so many combinations, as a logarithm; words always have."""
    room = 0.0
    for x in cells:
        if sparse.issparse(x):
            return True
        for j in range(x.shape[1]):
            room += np.log(max(len(np.unique(column(x[:LOOKED_AT], j))), 1))
            if room >= least:
                return True
    return False


def row_keys(cells: Sequence[Cells], codes: Array) -> Array:
    """64 bits for each row, which two rows share if all their cells and labels are the same, `(r,)`."""
    keys = _mixed(codes.astype(np.uint64))
    for b, x in enumerate(cells):
        for rows in pieces_of(x):
            keys[rows] += _row_keys(x[rows], np.uint64(b + 1) << np.uint64(40))
    return keys


def repeated(keys: Array) -> Array:
    """The rows that hold the same as an earlier one, label and all, `(n,)`."""
    _, first = np.unique(keys, return_index=True)
    return np.setdiff1d(np.arange(len(keys)), first)


def _row_keys(part: Cells, start: np.uint64) -> Array:
    """64 bits for each row, which no two different rows share but by a chance of 1 in 2**64."""
    if sparse.issparse(part):
        part = part.tocsr()
        sums = np.concatenate(
            [np.zeros(1, np.uint64), np.cumsum(_cell_keys(part.data, part.indices, start))]
        )
        return sums[part.indptr[1:]] - sums[part.indptr[:-1]]
    return _cell_keys(np.asarray(part), np.arange(part.shape[1]), start).sum(
        axis=1, dtype=np.uint64
    )


def _cell_keys(x: Array, columns: Array, start: np.uint64) -> Array:
    """Bits of cells, mixed with those of their columns; an empty cell of a sparse table is 0, and so has none."""
    numbers = np.where(np.isnan(x), np.nan, x.astype(float) + 0.0)  # one NaN, and one zero
    keys = _mixed(numbers.view(np.uint64) ^ _mixed(columns.astype(np.uint64) + start))
    return np.where(numbers == 0, np.uint64(0), keys)


def _mixed(bits: Array) -> Array:
    """SplitMix64's finalizer: Steele, Lea and Flood (2014)."""
    with np.errstate(over="ignore"):
        bits = bits + np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return bits ^ (bits >> np.uint64(31))
