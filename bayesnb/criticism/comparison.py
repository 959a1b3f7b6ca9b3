"""Estimators compared by leave-one-out, in ArviZ's table."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.trial import trial_of
from bayesnb.estimators import Classifier, check_estimator
from bayesnb.estimators.prediction import PredictionMixin
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
    models : mapping of names to estimators
        One that is not fitted learns the rows first; one that is must have learnt them. What `mcmc` samples is fitted.
    X, y, sample_weight : rows, their labels and weights
    target : {"label", "joint"}, as in `NaiveBayes.loo`
        Only scores of the same thing can be compared: "joint" needs the same columns in every model.
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
    >>> from bayesnb import Gaussian, NaiveBayes, compare
    >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
    >>> table = compare({"predictive": NaiveBayes(), "plugged in": NaiveBayes(estimate="mean")}, x, y)
    >>> table["elpd"].round(3).to_dict()
    {'plugged in': -0.626, 'predictive': -0.709}
    """
    _check_models(models, method)
    found, index = {}, np.empty(0)
    for name, model in models.items():
        if _is_sampled(model):
            index, rows = model._learnt_rows(X, y, sample_weight)
            found[name] = model._left_out(rows, target)
        else:
            trial = trial_of(model, X, y, sample_weight)
            found[name], index = trial.estimator._left_out(trial.rows, target), trial.index
        _check_score(name, found[name])
    return results.elpd.compared(found, index, method, reference)


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
    """Whether it is one that `mcmc` samples, which no algebra gives another model of."""
    return isinstance(model, PredictionMixin) and not isinstance(model, Classifier)


def _check_score(name: str, found: Pointwise) -> None:
    odd = ~np.isfinite(found.score)
    if odd.any():
        row = int(odd.argmax())
        why = "no distribution of its class" if np.isnan(found.score[row]) else "probability 0 to it"
        raise ValueError(
            f"model {name!r}: {odd.sum()} rows have no finite score; without row {row}, the other rows leave {why}. "
            "Such a model cannot be compared. Use a larger smoothing, or a proper prior."
        )
