"""What is drawn for which rows: a fitted estimator as the rooms below see it."""

from collections.abc import Hashable, Sequence
from typing import Any

from bayesnb import results
from bayesnb.data.labels import encode
from bayesnb.estimators.labelled import checked_labels
from bayesnb.estimators.predicting import Predictor
from bayesnb.model.product import normalise


def subject_of(estimator: Predictor, features: Sequence[Hashable] | None = None) -> Any:
    """The model, and what its parameters, or those of some columns, are called."""
    layout = results.parameter_names.layout_of(estimator, features)
    return results.drawn_trees.Subject(estimator.model_, layout, estimator.temper_, estimator.n_jobs)


def sheet_of(estimator: Predictor, X: Any, y: Any = None) -> Any:
    """Rows and their labels; those that no class can have are refused, as in `predict_proba`."""
    table, cells = estimator._read(X)
    joint = estimator._reader("predictive").log_joint(cells, estimator.temper_, estimator.n_jobs)
    estimator.schema_.tell_unseen(cells)
    odd = normalise(joint, True, estimator.n_jobs)
    if odd >= 0:
        estimator._refuse_row(odd, cells)
    codes = None if y is None else encode(checked_labels(estimator, y, table.rows), estimator.classes_)
    return results.drawn_trees.Sheet(table.index, cells, codes)
