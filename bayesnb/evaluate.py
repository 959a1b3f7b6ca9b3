"""How well a model predicts rows that it has not seen: exact leave-one-out, without refitting."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from bayesnb.families.base import Array
from bayesnb.model import Product, Rows, leave_one_out, normalised

TEMPERS = (1e-3, 8.0)


def loo_log_proba(posterior: Product, rows: Rows, power: float = 1.0, n_jobs: int | None = None) -> Array:
    """log p(y | x, all rows but this one), `(r, c)`."""
    return normalised(leave_one_out(posterior, rows, power, n_jobs))


def temper_by_loo(posterior: Product, rows: Rows, n_jobs: int | None = None) -> float:
    """The exponent on the features' evidence with the best leave-one-out log score of the labels.

    A row of weight w is w rows: one of them is left out, and its score counts w times.
    """
    one, every = replace(rows, weight=np.minimum(rows.counts, 1.0)), np.arange(len(rows.codes))

    def scores(log_power: float) -> Array:
        return loo_log_proba(posterior, one, float(np.exp(log_power)), n_jobs)[every, rows.codes]

    impossible = ~np.isfinite(scores(0.0))
    if impossible.any():
        raise ValueError(
            f"temper='loo': without row {impossible.argmax()} its own cells have probability 0, whatever the exponent. "
            "A smoothing of 0 does that; use a larger one, or give temper a number."
        )
    bounds = np.log(TEMPERS)
    found = minimize_scalar(
        lambda at: -rows.counts @ scores(at), bounds=bounds, method="bounded", options={"xatol": 1e-4}
    )
    return float(np.exp(found.x))


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
