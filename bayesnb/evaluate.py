"""How well a model predicts rows that it has not seen: exact leave-one-out, without refitting."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from bayesnb.families.base import Array
from bayesnb.model import Model, Rows, leave_one_out, normalised

TEMPERS = (1e-3, 8.0)


def loo_log_proba(
    model: Model, rows: Rows, gone: Array | None = None, power: float = 1.0, n_jobs: int | None = None
) -> Array:
    """log p(y | x, all rows but this one), `(r, c)`; of a row of some weight, `gone` goes, by default all of it."""
    return normalised(leave_one_out(model, rows, gone, power, n_jobs))


def temper_by_loo(model: Model, rows: Rows, n_jobs: int | None = None) -> float:
    """The exponent on the features' evidence with the best leave-one-out log score of the labels.

    A row of weight w is w rows: one of them is left out, and its score counts w times.
    """
    one, every = np.minimum(rows.counts, 1.0), np.arange(len(rows.codes))

    def scores(log_power: float) -> Array:
        return loo_log_proba(model, rows, one, float(np.exp(log_power)), n_jobs)[every, rows.codes]

    impossible = ~np.isfinite(scores(0.0))
    if impossible.any():
        raise ValueError(
            f"temper='loo': without row {impossible.argmax()} its own cells have probability 0, whatever the exponent. "
            "A smoothing of 0 does that; use a larger one, or give temper a number."
        )
    loss, bounds = (lambda at: -rows.counts @ scores(at)), np.log(TEMPERS)
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-4}).x))


class Score(NamedTuple):
    """A mean over rows, and its standard error."""

    value: float
    se: float


def accuracy(log_proba: Array, codes: Array) -> Score:
    """The share of rows whose most probable label is their own, `(r, c), (r,) -> ()`."""
    return _mean(log_proba.argmax(axis=1) == codes)


def log_loss(log_proba: Array, codes: Array) -> Score:
    """The mean of -log p(own label), in nats, `(r, c), (r,) -> ()`."""
    return _mean(-log_proba[np.arange(len(codes)), codes])


def brier(log_proba: Array, codes: Array) -> Score:
    """The mean squared distance of the probabilities from the label's ones and zeros, `(r, c), (r,) -> ()`."""
    return _mean(((np.exp(log_proba) - np.eye(log_proba.shape[1])[codes]) ** 2).sum(axis=1))


def _mean(terms: Array) -> Score:
    if len(terms) < 2 or not np.isfinite(terms).all():
        return Score(float(np.mean(terms)), float("nan"))
    return Score(float(np.mean(terms)), float(np.std(terms, ddof=1) / np.sqrt(len(terms))))
