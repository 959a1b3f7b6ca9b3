"""Calibration of a model's leave-one-out probabilities."""

from numbers import Integral
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.fitted_rows import fit_rows
from bayesnb.estimators.cross_validation import (
    describe_selection,
    leave_rows_out,
    scoring_rule,
)
from bayesnb.families.base import Rng
from bayesnb.model.product import normalise_log
from bayesnb.selection.probability_scores import CurveOptions, assess_calibration, tie_rows
from bayesnb.stages import Stages


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
) -> "results.Result":
    """Compare predicted probabilities of held-out rows with observed frequencies.

    Of the rows for which a label has predicted probability 0.8, 80 % should have it. Leave-one-out
    has a closed form, without refits.

    Parameters
    ----------
    model : estimator
        If it is not fitted, it is fitted to these rows first; if it is, it must have been fitted to
        them.
    X : table of rows
        The training rows.
    y : array-like
        Their labels.
    bins : int, default 10
        The number of bins, with equally many rows in each. Rows with equal probabilities, or equal
        cells, are kept in one bin, so there can be fewer bins; the last are then empty (NaN, and a
        `count` of 0).
    ci_prob : float, optional
        The probability of intervals and bands, by default ArviZ's `rcParams["stats.ci_prob"]`.
    sample_weight : array-like, optional
        The weights of the rows, as in the fit. A row of weight w counts as w rows, and is left out
        as a whole.
    rng : int, None or numpy.random.Generator, default 0
        The source of randomness for the bands and the interval of `ece`. With the default, results
        are reproducible.
    progress : bool, optional
        Whether stderr names the current step. By default on a terminal, after two seconds.

    Returns
    -------
    xarray.Dataset
        It is displayed as a table of scores and bins, and its `to_frame` has a row for each class
        and bin. By (class, bin), one class against the others: `predicted`, the mean probability;
        `observed`, the share of rows with the label, and `lower`, `upper`, its interval under
        Beta(1/2, 1/2); `band_lower`, `band_upper`, where the share would be if the predictions were
        calibrated; `count`. By bin, the same of the most probable label of each row:
        `top_predicted` and so on. By (obs_id, class): `probability`; `calibrated`, the isotonic
        regression of the label on it; `curve_band_lower`, `curve_band_upper`, where that would be
        if the predictions were calibrated. By obs_id: `top_probability` and so on, `label`,
        `weight`. Scores: `accuracy`, `brier` (0 to 2, the sum over classes), `log_loss` in nats,
        and `ece`, the expected calibration error, the mean distance of `top_predicted` from
        `top_observed`; each with `_lower` and `_upper`. `ece_if_calibrated` is the mean of `ece` if
        the predictions were calibrated. By class: `class_ece`, likewise. `miscalibration`,
        `discrimination`, `uncertainty`: brier = miscalibration - discrimination + uncertainty; the
        terms of each class are `class_miscalibration` and so on.

    See Also
    --------
    plot_calibration : Reliability diagrams of the result.
    compare : Compare models by their leave-one-out scores.
    NaiveBayes.loo : The leave-one-out log score of each row.

    Notes
    -----
    Bands and intervals are pointwise. Noise alone makes `ece` positive; its interval includes 0 if
    the predictions may be calibrated. A label with predicted probability 0 makes `log_loss`
    infinite; the number of such rows is in the attribute `impossible`. `calibrated` is the CORP
    reliability curve of Dimitriadis, Gneiting and Jordan (2021); it need not sum to 1 over classes.

    Predictions use `estimate` and `temper_`, as in `NaiveBayes.loo`: estimated exponents are
    corrected for each row that is left out; the attribute `leave_one_out` lists what was selected
    using all rows and is kept.

    Examples
    --------
    >>> from bayesnb import GaussianNB, calibration
    >>> from sklearn.datasets import load_breast_cancer
    >>> x, y = load_breast_cancer(return_X_y=True)
    >>> for temper in (None, "loo"):
    ...     result = calibration(GaussianNB(temper=temper), x, y)
    ...     print(result[["log_loss", "brier", "miscalibration", "ece"]].to_array().values.round(3))
    [0.712 0.126 0.046 0.06 ]
    [0.155 0.092 0.012 0.017]
    """
    prob = results.datasets.ci_prob(ci_prob)
    if not isinstance(bins, Integral) or isinstance(bins, bool) or bins < 1:
        raise ValueError(f"bins must be a whole number, 1 or more, got {bins!r}.")
    with Stages(progress) as stages:
        stages.begin("calibration: counting rows")
        fitted = fit_rows(model, X, y, sample_weight)
        estimator = fitted.estimator
        rows = fitted.rows
        stages.begin("calibration: leaving rows out")
        log_proba = normalise_log(leave_rows_out(estimator, rows))
        label_log_proba = log_proba[np.arange(len(log_proba)), rows.codes]
        fitted.refuse_undefined(label_log_proba)
        stages.begin("calibration: bins and bands")
        options = CurveOptions(int(bins), prob, np.random.default_rng(rng))
        rule = scoring_rule(estimator)
        n_jobs = estimator.n_jobs
        joint = estimator.model_.read(rule.kind).log_joint(rows.cells, rule.power, n_jobs)
        tied = tie_rows(normalise_log(joint))
        result = assess_calibration(log_proba, rows.codes, rows.counts, options, tied)
    attrs = {
        "leave_one_out": describe_selection(estimator) or "exact",
        "estimate": estimator.estimate,
        **estimator.fitted_.temper_attributes,
        "ci_prob": prob,
        "bins": int(bins),
        "impossible": int(np.isneginf(label_log_proba).sum()),
    }
    return results.datasets.calibration(
        result, fitted.index, estimator.classes_, rows.codes, rows.counts, attrs
    )
