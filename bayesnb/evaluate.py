"""How well a model predicts rows that it has not seen: exact leave-one-out, without refitting."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from bayesnb.families.base import Array, Cells
from bayesnb.model import Product, leave_one_out, normalised

TEMPERS = (1e-3, 8.0)


def loo_log_proba(
    posterior: Product,
    cells: Sequence[Cells],
    codes: Array,
    weight: Array | None = None,
    power: float = 1.0,
    n_jobs: int | None = None,
) -> Array:
    """log p(y | x, all rows but this one), `(r, c)`."""
    return normalised(leave_one_out(posterior, cells, codes, weight, power, n_jobs))


def temper_by_loo(
    posterior: Product, cells: Sequence[Cells], codes: Array, weight: Array | None = None, n_jobs: int | None = None
) -> float:
    """The exponent on the features' evidence with the best leave-one-out log score of the labels.

    A row of weight w is w rows: one of them is left out, and its score counts w times.
    """
    own, share = np.arange(len(codes)), np.ones(len(codes)) if weight is None else weight
    one = np.minimum(share, 1.0)
    impossible = ~np.isfinite(loo_log_proba(posterior, cells, codes, one, 1.0, n_jobs)[own, codes])
    if impossible.any():
        raise ValueError(
            f"temper='loo': without row {impossible.argmax()} its own cells have probability 0, whatever the exponent. "
            "A smoothing of 0 does that; use a larger one, or give temper a number."
        )

    def loss(log_power: float) -> float:
        scores = loo_log_proba(posterior, cells, codes, one, float(np.exp(log_power)), n_jobs)
        return -float(share @ scores[own, codes])

    found = minimize_scalar(loss, bounds=np.log(TEMPERS), method="bounded", options={"xatol": 1e-4})
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
