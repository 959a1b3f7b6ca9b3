"""Scores of held-out rows for the verdict on a model, and what makes them too good.

Where a row stands in the table twice, its copy is among the rows that predict it. And where
exponents of many columns are chosen by few rows, some columns seem to tell the classes apart by
chance.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from bayesnb.criticism.wording import DROP_COPIES, TEST_TABLE, describe_copies, describe_width
from bayesnb.estimators.tempering import COLUMNS, LOO, tempered_by
from bayesnb.families.base import Array, Cells
from bayesnb.model.product import Rows
from bayesnb.numerics.views import column, pieces_of
from bayesnb.selection.leave_one_out import PredictiveRule, loo_log_proba
from bayesnb.selection.probability_scores import tie_rows
from bayesnb.selection.verdict import Observed, signed_mean

MAX_COST = 3e7  # rows x classes x columns for which another exponent is tried
MANY_COPIES = 0.25  # of the rows: so many make the scores visibly better
FEW_COPIES = 0.01  # of the rows: fewer are not worth a word
MIN_ROOM = 150  # possible rows for each row, among which copies are no chance
MAX_COUNTED = 10_000  # rows in which the values of a column are counted
# Of the hash of a cell: x ^= x >> 32, then times this, twice, mixes all bits (Degski's finalizer)
HALF, MULTIPLIER = np.uint64(32), np.uint64(0xD6E8FEB86659FD93)


class OneExponent(NamedTuple):
    """The exponent of temper="loo", and the leave-one-out log p(y | x) it gives, `(r, c)`."""

    power: float
    log_proba: Array


def observe_held_out(
    model: Any, rows: Rows, fitted: Array, log_proba: Array, tempered: OneExponent | None
) -> Observed | None:
    """Return the scores of rows by the model of all others, `(r, c)`; None if none has any.

    Beside these log probabilities are those `fitted` by all rows, which say what rows are the same.
    Rows are not counted whose entries are NaN: the others leave no distribution of their class.
    """
    defined = ~np.isnan(log_proba).any(axis=1)
    if not defined.any():
        return None
    power, gain = 1.0, None
    if tempered is not None:
        power = tempered.power
        gain = signed_mean(_of_labels(tempered.log_proba, rows) - _of_labels(log_proba, rows))
    choices = 1.0 if model._temper_rule == LOO else 0.0
    if model._temper_rule == COLUMNS:  # their sum, as an exponent shrunk to 0 was hardly free
        choices = float(np.sum(model._known_temper.value))
    tied = tie_rows(fitted[defined])
    return Observed.of(log_proba[defined], rows.codes[defined], tied, choices, power, gain)


def one_exponent(model: Any, rows: Rows, log_proba: Array) -> OneExponent | None:
    """Return what temper="loo" would give, where the model has no temper and it is cheap."""
    cost = log_proba.size * sum(row_widths(model, rows.cells))
    if model._temper_rule is not None or cost > MAX_COST or log_proba.shape[1] < 2:
        return None
    if not np.isfinite(_of_labels(log_proba, rows)).all():
        return None
    estimate = tempered_by(LOO, model.model_, model.schema_, rows, model.n_jobs)
    rule = PredictiveRule(model.estimate, estimate.value, estimate.covariance)
    log_proba = loo_log_proba(model.model_, rows, rule, n_jobs=model.n_jobs)
    return OneExponent(estimate.value, log_proba)


def _of_labels(log_proba: Array, rows: Rows) -> Array:
    return log_proba[np.arange(len(rows.codes)), rows.codes]


def row_widths(model: Any, cells: Sequence[Cells]) -> list[float]:
    """Return the cells of a row in every block; of words those that are there."""
    widths = []
    for block, x in zip(model.schema_.blocks, cells, strict=True):
        rows, width = x.shape
        if block.family.words and sparse.issparse(x):
            width = x.nnz / max(rows, 1)
        widths.append(width)
    return widths


class CopiedRows(NamedTuple):
    """Rows that repeat an earlier one, label included, and whether chance can explain so many."""

    rows: Array
    share: float
    by_chance: bool

    @classmethod
    def of(cls, cells: Sequence[Cells], keys: Array) -> Self:
        """Count the copies by the keys of rows: see `row_keys`."""
        _, first = np.unique(keys, return_index=True)
        rows = np.setdiff1d(np.arange(len(keys)), first)
        share = len(rows) / len(keys)
        by_chance = share >= FEW_COPIES and _log_combinations(cells) < np.log(MIN_ROOM * len(keys))
        return cls(rows, share, by_chance)

    @property
    def are_few(self) -> bool:
        """Whether they are hardly worth a word."""
        return self.share < FEW_COPIES

    @property
    def flatter(self) -> bool:
        """Whether the held-out scores are visibly too good."""
        return self.share >= MANY_COPIES and not self.by_chance

    def describe(self) -> str:
        """Return how many rows are copies."""
        return describe_copies(len(self.rows), self.share)

    def describe_scores(self) -> str:
        """Return what the copies do to the scores."""
        first = f"(the first is row {self.rows[0]:,})"
        return f"{self.describe()} {first}, so the held-out scores are too good."


def warn_of_width(model: Any, rows: int) -> str:
    """Return what more columns than rows do to the scores, where each column has an exponent."""
    columns = np.size(model._temper_of_columns.value)
    is_wide = model._temper_rule == COLUMNS and columns > rows
    return describe_width(columns, rows) if is_wide else ""


def score_warnings(model: Any, rows: Rows) -> list[str]:
    """Return what makes held-out scores of these rows visibly too good, and what to do."""
    sentences = []
    copies = CopiedRows.of(rows.cells, row_keys(rows.cells, rows.codes))
    if copies.flatter:
        sentences.append(f"{copies.describe_scores()} {DROP_COPIES}")
    if wide := warn_of_width(model, len(rows.codes)):
        sentences.append(f"{wide} {TEST_TABLE}")
    return sentences


def _log_combinations(cells: Sequence[Cells]) -> float:
    """Log of how many combinations the columns' values have; infinite for words."""
    if any(map(sparse.issparse, cells)):
        return np.inf
    columns = [column(x[:MAX_COUNTED], j) for x in cells for j in range(x.shape[1])]
    return float(sum(np.log(len(np.unique(values))) for values in columns))


def row_keys(cells: Sequence[Cells], codes: Array) -> Array:
    """Return 64 bits for each row; two rows that share them have the same cells and labels.

    Rows that differ share them by a chance of about 1 in 2**64.
    """
    rng, keys = np.random.default_rng(0), _hash_numbers(codes)
    for x in cells:
        factors = 2 * rng.integers(1 << 63, size=x.shape[1], dtype=np.uint64) + 1
        for rows in pieces_of(x):
            part = x[rows]
            dense_or_sparse = part if sparse.issparse(part) else np.asarray(part)
            part = sparse.csr_array(dense_or_sparse, dtype=float)
            hashed = _hash_numbers(part.data), part.indices, part.indptr
            keys[rows] += sparse.csr_array(hashed, part.shape) @ factors
    return keys


def _hash_numbers(x: Array) -> Array:
    """Return 64 bits of each number, and 0 of 0, as of the empty cells of a sparse table."""
    numbers = np.where(np.isnan(x), np.nan, x + 0.0)  # one NaN, and one zero
    bits = numbers.view(np.uint64)
    for _ in range(2):
        bits = (bits ^ (bits >> HALF)) * MULTIPLIER
    return bits ^ (bits >> HALF)
