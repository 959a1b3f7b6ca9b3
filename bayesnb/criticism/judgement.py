"""Numbers of the verdict on a fitted estimator, by exact leave-one-out of the rows that it learnt from.

Where the exponent of the columns' evidence is not chosen by the rows, the one that predicts best is tried beside it.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bayesnb.estimators.tempering import COLUMNS, LOO, covariance_of_one
from bayesnb.families.base import Array
from bayesnb.model.product import Rows
from bayesnb.selection.exponents import one_by_loo
from bayesnb.selection.leave_one_out import PredictiveRule, loo_log_proba
from bayesnb.selection.verdict import Observed, signed_mean

COSTLY = 3e7  # rows x classes x columns for which no other exponent is tried


class OneExponent(NamedTuple):
    """The exponent of temper="loo", and the leave-one-out log p(y | x) that it gives, `(r, c)`."""

    power: float
    log_proba: Array


def observe_held_out(
    model: Any, rows: Rows, log_proba: Array, tempered: OneExponent | None
) -> Observed | None:
    """Return the scores of rows by the model of all others, `(r, c)`; None, where no row can be held out.

    Rows are not counted whose entries are NaN: the others leave no distribution of their class.
    """
    defined = ~np.isnan(log_proba).any(axis=1)
    if not defined.any():
        return None
    codes, power, gain = rows.codes[defined], 1.0, None
    if tempered is not None:
        at = np.arange(len(rows.codes)), rows.codes
        power, gain = tempered.power, signed_mean(tempered.log_proba[at] - log_proba[at])
    return Observed.of(log_proba[defined], codes, chosen_exponents(model), power, gain)


def chosen_exponents(model: Any) -> float:
    """How many exponents the rows have chosen: one, or their sum, as what is shrunk to 0 was hardly free."""
    if model._temper_rule == LOO:
        return 1.0
    if model._temper_rule != COLUMNS:
        return 0.0
    return float(np.sum(model._temper_of_columns.value) + model._temper_of_links[0].sum())


def one_exponent(model: Any, rows: Rows, log_proba: Array) -> OneExponent | None:
    """Return what temper="loo" would give, where the model has none, all rows can be scored and it is cheap."""
    at = np.arange(len(rows.codes)), rows.codes
    finite = bool(np.isfinite(log_proba[at]).all())
    cost = log_proba.size * sum(row_widths(model, rows.cells))
    if model._temper_rule is not None or cost > COSTLY or not finite or log_proba.shape[1] < 2:
        return None
    if model.estimate != "predictive":  # for which the exponent is chosen
        predictive = loo_log_proba(model.model_, rows, n_jobs=model.n_jobs)
        if not np.isfinite(predictive[at]).all():
            return None
    power, sd = one_by_loo(model.model_, rows, model.n_jobs)
    rule = PredictiveRule(model.estimate, power, covariance_of_one(sd, model.schema_))
    return OneExponent(power, loo_log_proba(model.model_, rows, rule, n_jobs=model.n_jobs))


def row_widths(model: Any, cells: Any) -> list[float]:
    """Cells of a row in every block: of words those that are there."""
    return [
        x.nnz / max(x.shape[0], 1) if block.family.words and sparse.issparse(x) else x.shape[1]
        for block, x in zip(model.schema_.blocks, cells, strict=True)
    ]
