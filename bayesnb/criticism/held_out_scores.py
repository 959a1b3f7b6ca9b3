"""Scores of held-out rows for the verdict on a model, and copies of rows, which make them too good.

Where a row stands in the table twice, its copy is among the rows that predict it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bayesnb.estimators.tempering import COLUMNS, LOO, tempered_by
from bayesnb.families.base import Array, Cells
from bayesnb.model.product import Rows
from bayesnb.numerics.views import column, pieces_of
from bayesnb.selection.leave_one_out import PredictiveRule, loo_log_proba
from bayesnb.selection.probability_scores import tie_rows
from bayesnb.selection.verdict import Observed, signed_mean

MAX_COST = 3e7  # rows x classes x columns for which another exponent is tried
MIN_ROOM = 150  # possible rows for each row, among which copies are no chance
MAX_COUNTED = 10_000  # rows in which the values of a column are counted


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


def are_copies_by_chance(cells: Sequence[Cells]) -> bool:
    """Return whether the columns have so few values that rows are the same by chance."""
    if any(map(sparse.issparse, cells)):
        return False
    rows = cells[0].shape[0]
    columns = [column(x[:MAX_COUNTED], j) for x in cells for j in range(x.shape[1])]
    log_combinations = sum(np.log(len(np.unique(values))) for values in columns)
    return bool(log_combinations < np.log(MIN_ROOM * rows))


def row_keys(cells: Sequence[Cells], codes: Array) -> Array:
    """Return 64 bits for each row; rows that share them have the same cells and labels."""
    keys = codes.tolist()
    for x in cells:
        for rows in pieces_of(x):
            for row, text in enumerate(_write_rows(x[rows]), rows.start):
                keys[row] = hash((keys[row], text))
    return np.array(keys)


def _write_rows(x: Cells) -> list[bytes]:
    """Return the cells of each row as bytes, which are the same for equal cells."""
    if sparse.issparse(x):
        part = sparse.csr_array(x, dtype=float)
        part.sum_duplicates()
        part.eliminate_zeros()
        places = map(slice, part.indptr[:-1], part.indptr[1:])
        return [part.indices[at].tobytes() + part.data[at].tobytes() for at in places]
    numbers = np.asarray(x, float) + 0.0  # without a negative zero
    numbers[np.isnan(numbers)] = np.nan  # of which there are many
    return list(map(bytes, numbers))
