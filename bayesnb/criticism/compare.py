"""Comparison of estimators by exact leave-one-out, in ArviZ's table."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.learnt_rows import learnt_rows
from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.estimators.prediction import PredictionMixin
from bayesnb.families.base import Array


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
    models : mapping of names to estimators
        One that is not fitted is fitted to these rows first; one that is must have been fitted to them. A model of
        `mcmc` must be fitted.
    X, y, sample_weight : rows, their labels and weights
    target : {"label", "joint"}, as in `NaiveBayes.loo`
        Only scores of the same quantity can be compared: "joint" needs the same columns in every model.
    method, reference : as in `arviz.compare`; stacking by default, and the best model is the reference

    Returns
    -------
    pandas.DataFrame
        `arviz.compare`'s, not rounded, for `arviz.plot_compare`: by model its rank, `elpd`, the difference to the best
        one, its standard error `dse`, and the weight of the model in a mixture of all.

    Notes
    -----
    A score of minus infinity or NaN is an error that names the model and the row: ArviZ would leave such rows out of
    the differences, and the worst model would look best.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, compare
    >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
    >>> models = {"predictive": NaiveBayes("gaussian"), "plugged in": NaiveBayes("gaussian", estimate="mean")}
    >>> table = compare(models, x, y)
    >>> table["elpd"].round(3).to_dict()
    {'plugged in': -0.626, 'predictive': -0.709}
    """
    _check_models(models, method)
    scores, index = {}, np.empty(0)
    for name, model in models.items():
        if _is_sampled(model):
            index, rows = model._learnt_rows(X, y, sample_weight)
            scores[name] = model._left_out(rows, target)
        else:
            learnt = learnt_rows(model, X, y, sample_weight)
            scores[name], index = learnt.estimator._left_out(learnt.rows, target), learnt.index
        _check_finite(name, scores[name].score)
    return results.elpd.compared(scores, index, method, reference)


def _check_models(models: Any, method: Any) -> None:
    if not isinstance(models, Mapping) or len(models) < 2:
        raise ValueError(f"models must be a mapping from names to at least two estimators, got {models!r}.")
    for name, model in models.items():
        if isinstance(name, tuple):  # ArviZ's table would take it apart
            raise ValueError(f"models: a name must be text or a number, got {name!r}.")
        if not _is_sampled(model):
            check_estimator(model, f"model {name!r}: ")
        elif not hasattr(model, "classes_"):
            raise ValueError(f"model {name!r} is not fitted yet, and sampling takes its time: call fit first.")
    if not (method is None or isinstance(method, str)):
        raise ValueError(f"method must be None or the name of one of arviz.compare's methods, got {method!r}.")


def _is_sampled(model: Any) -> bool:
    """Return whether a model is sampled by `mcmc`: then no algebra leaves a row out, and `fit` is expensive."""
    return isinstance(model, PredictionMixin) and not isinstance(model, NaiveBayes)


def _check_finite(name: str, score: Array) -> None:
    invalid = ~np.isfinite(score)
    if invalid.any():
        row = int(invalid.argmax())
        why = "no distribution of its class" if np.isnan(score[row]) else "probability 0 to it"
        raise ValueError(
            f"model {name!r}: {invalid.sum()} rows have no finite score; without row {row}, the other rows leave "
            f"{why}. Such a model cannot be compared. Use a larger smoothing, or a proper prior."
        )
