"""What every criticism starts from: an estimator that has learnt some labelled rows, and those rows."""

from dataclasses import dataclass
from typing import Any

from bayesnb.data import refuse_lazy
from bayesnb.estimators import Classifier, check_estimator
from bayesnb.families.base import Array
from bayesnb.model.product import Model, Rows


@dataclass(frozen=True, eq=False)
class Trial:
    """A fitted estimator, and the rows that it has learnt with their names."""

    estimator: Classifier
    index: Array
    rows: Rows

    @property
    def model(self) -> Model:
        return self.estimator.model_


def checked_fitted(estimator: Any) -> Classifier:
    """The estimator, if it is one and is fitted."""
    check_estimator(estimator)
    if not hasattr(estimator, "model_"):
        raise ValueError(f"{type(estimator).__name__} is not fitted yet: call fit first.")
    return estimator


def trial_of(estimator: Classifier, X: Any, y: Any, sample_weight: Any = None, needed_by: str | None = None) -> Trial:
    """An estimator that is not fitted yet learns the rows first; one that is must have learnt them.

    Where all of them are needed, `needed_by` is what needs them.
    """
    check_estimator(estimator)
    refuse_lazy(X, "X")
    fitted = estimator if hasattr(estimator, "model_") else estimator._fresh().fit(X, y, sample_weight)
    index, rows = fitted._learnt_rows(X, y, sample_weight, needed_by)
    return Trial(fitted, index, rows)
