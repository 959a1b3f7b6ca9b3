"""Whether a model's probabilities come true, of rows that it has not seen: exact leave-one-out."""

from numbers import Integral
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.trial import Trial, trial_of
from bayesnb.families.base import Array, Rng
from bayesnb.model.product import normalised
from bayesnb.selection.calibration_curves import Plan, calibrated


def calibration(
    model: Any,
    X: Any,
    y: Any,
    *,
    bins: int = 10,
    ci_prob: float | None = None,
    sample_weight: Any = None,
    rng: Rng = 0,
) -> Any:
    """Compare predicted probabilities with what came, each row predicted by a model that has not seen it.

    Of the rows for which a label is said to have probability 0.8, four in five should have it. Leave-one-out is exact
    and needs no refit.

    Parameters
    ----------
    model : an estimator of bayesnb
        One that is not fitted yet learns the rows first; one that is must have learnt these rows.
    X : table of rows
    y : their labels
    bins : how many, of equally many rows each
        Rows of equal probability stay together, so there can be fewer; the last are then empty (NaN, `count` 0).
    ci_prob : probability of intervals and bands, default ArviZ's `rcParams["stats.ci_prob"]`
    sample_weight : weights of the rows, as they were learnt
        A row of weight w counts as w rows; all of it is left out at once.
    rng : a seed, None, or numpy.random.Generator
        For the bands and the interval of `ece`. The default gives the same Dataset every time.

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
    may all be true. A label that was said to be impossible makes `log_loss` infinite; the number of such rows is in the
    attribute `impossible`. `calibrated` is the CORP reliability curve of Dimitriadis, Gneiting and Jordan (2021); over
    the classes it need not add up to 1.

    Predictions follow `estimate` and `temper_`, as in `loo`. With temper="loo" that one number has seen all rows.

    Examples
    --------
    >>> from bayesnb import GaussianNB, calibration
    >>> from sklearn.datasets import load_breast_cancer
    >>> x, y = load_breast_cancer(return_X_y=True)
    >>> for temper in (None, "loo"):
    ...     found = calibration(GaussianNB(temper=temper), x, y)
    ...     print(found[["log_loss", "brier", "miscalibration", "ece"]].to_array().values.round(3))
    [0.712 0.126 0.046 0.06 ]
    [0.145 0.09  0.012 0.019]
    """
    prob = results.datasets.ci_prob(ci_prob)
    if not isinstance(bins, Integral) or isinstance(bins, bool) or bins < 1:
        raise ValueError(f"bins must be a whole number, 1 or more, got {bins!r}.")
    trial = trial_of(model, X, y, sample_weight)
    keep = trial.rows.counts > 0  # a row of weight zero is no row
    codes, weight = trial.rows.codes[keep], trial.rows.counts[keep]
    log_proba = left_out(trial)[keep]
    found = calibrated(log_proba, codes, weight, Plan(int(bins), prob, np.random.default_rng(rng)))
    said = {
        "leave_one_out": "exact",
        "estimate": trial.estimator.estimate,
        "temper": trial.estimator.temper_,
        "ci_prob": prob,
        "bins": int(bins),
        "impossible": int(np.isneginf(log_proba[np.arange(len(codes)), codes]).sum()),
    }
    return results.calibrations.calibration(found, trial.index[keep], trial.estimator.classes_, codes, weight, said)


def left_out(trial: Trial) -> Array:
    """log p(y | x, all rows but this one), `(r, c)`."""
    log_proba = normalised(trial.estimator._joint_left_out(trial.rows))
    odd = np.isnan(log_proba[np.arange(len(log_proba)), trial.rows.codes])
    if odd.any():
        raise ValueError(
            f"{odd.sum()} rows, first row {odd.argmax()}, cannot be left out: the other rows leave no distribution of "
            "their class (too few of them, or no spread, and a prior that adds none). Use a proper prior."
        )
    return log_proba
