"""Calibration of a model's probabilities, each row predicted by a model that has not seen it."""

from numbers import Integral
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.learnt_rows import LearntRows, learnt_rows
from bayesnb.estimators.tempering import as_attributes
from bayesnb.families.base import Array, Rng
from bayesnb.model.product import normalised
from bayesnb.results.progress import PATIENCE, bar
from bayesnb.selection.probability_scores import CurveOptions, calibrated


def calibration(
    model: Any,
    X: Any,
    y: Any,
    *,
    bins: int = 10,
    ci_prob: float | None = None,
    sample_weight: Any = None,
    rng: Rng = 0,
    progress: bool | None = None,
) -> Any:
    """Compare predicted probabilities with observed shares, each row predicted by a model that has not seen it.

    Of the rows for which a label is predicted with probability 0.8, four in five should have it. Leave-one-out is exact
    and needs no refit.

    Parameters
    ----------
    model : an estimator of bayesnb
        One that is not fitted yet is fitted to these rows first; one that is must have been fitted to them.
    X : table of rows
    y : their labels
    bins : number of bins, of equally many rows each
        Rows of equal probability stay together, so there can be fewer; the last are then empty (NaN, `count` 0).
    ci_prob : probability of intervals and bands, default ArviZ's `rcParams["stats.ci_prob"]`
    sample_weight : weights of the rows, as they were learnt
        A row of weight w counts as w rows; all of it is left out at once.
    rng : a seed, None, or numpy.random.Generator
        For the bands and the interval of `ece`. The default gives the same Dataset every time.
    progress : whether a bar on stderr names the step at work; None: where that is a terminal, after two seconds

    Returns
    -------
    xarray.Dataset
        By (class, bin), one class against the others: `predicted`, the mean probability; `observed`, the share of rows
        with the label, and `lower`, `upper`, its interval under Beta(1/2, 1/2); `band_lower`, `band_upper`, where the
        share would be, were every prediction true; `count`. By bin, the same of the most probable label of each row:
        `top_predicted` and so on.
        By (obs_id, class): `probability`; `calibrated`, the isotonic regression of the label on it; `curve_band_lower`,
        `curve_band_upper`, where that would be, were every prediction true. By obs_id: `top_probability` and so on,
        `label`, `weight`.
        Scores: `accuracy`, `brier` (0 to 2, the sum over classes), `log_loss` in nats, and `ece`, the mean distance of
        `top_predicted` from `top_observed`; each with `_lower` and `_upper`. `ece_if_calibrated` is what noise alone
        would make of `ece`. By class: `class_ece`, likewise.
        `miscalibration`, `discrimination`, `uncertainty`: brier = miscalibration - discrimination + uncertainty; the
        terms of each class are `class_miscalibration` and so on.

    Notes
    -----
    Bands and intervals are pointwise. Noise alone makes `ece` positive; its interval reaches 0 where the predictions
    may all be true. A label that was predicted to be impossible makes `log_loss` infinite; the number of such rows is
    in the attribute `impossible`. `calibrated` is the CORP reliability curve of Dimitriadis, Gneiting and Jordan
    (2021); over the classes it need not add up to 1.

    Predictions follow `estimate` and `temper_`, as in `loo`. Exponents that
    were found by temper="loo" or "columns" have seen all rows.

    Examples
    --------
    >>> from bayesnb import GaussianNB, calibration
    >>> from sklearn.datasets import load_breast_cancer
    >>> x, y = load_breast_cancer(return_X_y=True)
    >>> for temper in (None, "loo"):
    ...     result = calibration(GaussianNB(temper=temper), x, y)
    ...     print(result[["log_loss", "brier", "miscalibration", "ece"]].to_array().values.round(3))
    [0.712 0.126 0.046 0.06 ]
    [0.146 0.091 0.013 0.016]
    """
    prob = results.datasets.ci_prob(ci_prob)
    if not isinstance(bins, Integral) or isinstance(bins, bool) or bins < 1:
        raise ValueError(f"bins must be a whole number, 1 or more, got {bins!r}.")
    with bar("calibration", progress, " steps", PATIENCE) as shown:
        shown.start(3)
        shown.name("calibration: counting rows")
        learnt = learnt_rows(model, X, y, sample_weight)
        keep = learnt.rows.counts > 0  # a row of weight zero is no row
        codes, weight = learnt.rows.codes[keep], learnt.rows.counts[keep]
        shown.more(1)
        shown.name("calibration: leaving rows out")
        log_proba = _left_out(learnt)[keep]
        shown.more(1)
        shown.name("calibration: bins and bands")
        result = calibrated(log_proba, codes, weight, CurveOptions(int(bins), prob, np.random.default_rng(rng)))
        shown.more(1)
    attrs = {
        "leave_one_out": "exact",
        "estimate": learnt.estimator.estimate,
        **as_attributes(learnt.estimator._known_temper),
        "ci_prob": prob,
        "bins": int(bins),
        "impossible": int(np.isneginf(log_proba[np.arange(len(codes)), codes]).sum()),
    }
    return results.calibrations.calibration(result, learnt.index[keep], learnt.estimator.classes_, codes, weight, attrs)


def _left_out(learnt: LearntRows) -> Array:
    """log p(y | x, all rows but this one), `(r, c)`."""
    log_proba = normalised(learnt.estimator._joint_left_out(learnt.rows))
    undefined = np.isnan(log_proba[np.arange(len(log_proba)), learnt.rows.codes])
    if undefined.any():
        raise ValueError(
            f"{undefined.sum()} rows, first row {undefined.argmax()}, cannot be left out: the other rows leave "
            "no distribution of their class (too few of them, or no spread, and a prior that adds none). Use a "
            "proper prior."
        )
    return log_proba
