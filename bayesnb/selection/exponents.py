"""The exponent on the features' evidence with the best leave-one-out score."""

import numpy as np
from scipy.optimize import minimize_scalar

from bayesnb.families.record import Array
from bayesnb.model.product import Model, Rows
from bayesnb.selection.leave_one_out import PredictiveRule, are_there, loo_log_proba

TEMPERS = (1e-3, 8.0)


def temper_by_loo(model: Model, rows: Rows, n_jobs: int | None = None) -> float:
    """Exponent on the features' evidence with the best leave-one-out log score of the labels.

    A row of weight w counts as w rows: one of them is left out, and its score counts w times. Where these are only the
    last of the rows that were learnt, a row without which its class has no distribution is passed over.
    """
    one, places = np.minimum(rows.counts, 1.0), np.arange(len(rows.codes))

    def scores(log_power: float) -> Array:
        return loo_log_proba(model, rows, PredictiveRule(power=float(np.exp(log_power))), one, n_jobs)[
            places, rows.codes
        ]

    plain = scores(0.0)
    passed = np.isnan(plain) & ~are_there(model, rows)[rows.codes]
    impossible = ~np.isfinite(plain) & ~passed
    if impossible.any():
        raise ValueError(
            f"temper='loo': without row {impossible.argmax()} its own cells have probability 0, whatever the exponent. "
            "A smoothing of 0 does that; use a larger one, or give temper a number."
        )
    if passed.all():
        return 1.0

    def loss(log_power: float) -> float:
        return float(-rows.counts @ np.where(passed, 0.0, scores(log_power)))

    result = minimize_scalar(loss, bounds=np.log(TEMPERS), method="bounded", options={"xatol": 1e-4})
    return float(np.exp(result.x))
