"""Comparison of estimators by leave-one-out, in ArviZ's table."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.fitted_rows import FittedRows, fit_rows
from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.estimators.cross_validation import score_left_out
from bayesnb.estimators.prediction import PredictionMixin
from bayesnb.families.base import Array
from bayesnb.selection.leave_one_out import Pointwise


def compare(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    target: str = "label",
    *,
    method: str | None = None,
    reference: str | None = None,
    sample_weight: Any = None,
) -> Any:
    """Compare models by how well each predicts every row from all other rows.

    Parameters
    ----------
    models : mapping from names to estimators
        One that is not fitted is fitted to these rows first; one that is fitted must have learnt
        these rows. A model of `bayesnb.mcmc` must be fitted.
    X : table of rows
        The rows that were learnt.
    y : array-like
        Their labels.
    target : {"label", "joint"}, default "label"
        What is scored, as in `NaiveBayes.loo`. Only scores of the same quantity can be compared:
        "joint" needs the same columns in every model.
    method : str, optional
        How the models are weighted, as in `arviz.compare`; stacking by default.
    reference : str, optional
        The model with which all are compared, as in `arviz.compare`; the best by default.
    sample_weight : array-like, optional
        The weights of the rows, as they were learnt.

    Returns
    -------
    pandas.DataFrame
        The table of `arviz.compare`, not rounded, for `arviz.plot_compare`: by model `rank`,
        `elpd`, the difference to the best one, its standard error `dse`, and the weight of the
        model in a mixture of all. It shows itself with rounded numbers; `to_frame` gives a plain
        copy.

    See Also
    --------
    NaiveBayes.loo : The leave-one-out scores of one model.
    compare_smoothing : One model under several smoothings.
    calibration : Whether the probabilities can be trusted.

    Notes
    -----
    A score of minus infinity or NaN is an error that names the model and the row: ArviZ would leave
    such rows out of the differences, and the worst model would look best.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, compare
    >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
    >>> one, other = NaiveBayes("gaussian"), NaiveBayes("gaussian", estimate="mean")
    >>> table = compare({"predictive": one, "plugged in": other}, x, y)
    >>> table["elpd"].round(3).to_dict()
    {'plugged in': -0.626, 'predictive': -0.709}
    """
    _check_arguments(models, method)
    scores: dict[str, Pointwise] = {}
    for name, model in models.items():
        read = FittedRows.of if _is_sampled(model) else fit_rows
        fitted = read(model, X, y, sample_weight)
        scores[name] = score_left_out(fitted.estimator, fitted.rows, target)
        _check_finite(name, scores[name].score, fitted)
    return results.elpd.compared(scores, fitted.index, method, reference)


def _check_arguments(models: Any, method: Any) -> None:
    if not isinstance(models, Mapping) or len(models) < 2:
        raise ValueError(
            f"models must be a mapping from names to at least two estimators, got {models!r}."
        )
    for name, model in models.items():
        if isinstance(name, tuple):  # ArviZ's table would take it apart
            raise ValueError(f"models: a name must be text or a number, got {name!r}.")
        if not _is_sampled(model):
            check_estimator(model, f"model {name!r}: ")
        elif not hasattr(model, "classes_"):
            raise ValueError(
                f"model {name!r} is not fitted yet, and sampling takes long: call fit first."
            )
    if not (method is None or isinstance(method, str)):
        raise ValueError(
            f"method must be None or the name of one of arviz.compare's methods, got {method!r}."
        )


def _is_sampled(model: Any) -> bool:
    """Return whether a model is one of `mcmc`, which no algebra leaves rows out of."""
    return isinstance(model, PredictionMixin) and not isinstance(model, NaiveBayes)


def _check_finite(name: str, score: Array, fitted: FittedRows) -> None:
    invalid = ~np.isfinite(score)
    if invalid.any():
        row = int(invalid.argmax())
        why = "no distribution of its class" if np.isnan(score[row]) else "probability 0 to it"
        raise ValueError(
            f"model {name!r}: {invalid.sum()} rows have no finite score; without row "
            f"{fitted.row_name(row)}, the other rows leave {why}. Such a model cannot be compared. "
            "Use a larger smoothing, or a proper prior."
        )
