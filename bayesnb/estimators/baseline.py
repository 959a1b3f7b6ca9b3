"""A baseline: logistic regression of the same rows, held out in folds."""

from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array
from bayesnb.model.product import Rows
from bayesnb.model.schema import Schema
from bayesnb.numerics.views import as_numbers

FOLDS = 5
MAX_CELLS = 500_000  # rows x classes x columns of the regression: a second or two


def predict_by_logistic_regression(schema: Schema, rows: Rows, classes: int) -> Array | None:
    """Return log p(y | x) of each row by a regression on the other folds, `(r, c)`.

    None where the table is large, or a class has fewer rows than there are folds.
    """
    counts = np.bincount(rows.codes, minlength=classes)
    present = counts > 0
    if present.sum() < 2 or counts[present].min() < FOLDS:
        return None
    x = make_design(schema, rows)
    if x.shape[0] * x.shape[1] * present.sum() > MAX_CELLS:
        return None
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    regression = LogisticRegression(solver="newton-cg", max_iter=1000)
    log_proba = np.full((len(rows.codes), classes), -np.inf)
    log_proba[:, present] = cross_val_predict(
        regression, x, rows.codes, cv=folds, method="predict_log_proba"
    )
    return log_proba


def make_design(schema: Schema, rows: Rows) -> Any:
    """Return a flag for each level, standardised numbers, and counts of words."""
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    parts = []
    for block, x in zip(schema.columns_alone.blocks, rows.cells, strict=False):
        cells = as_numbers(x)[:]
        if block.family.has_levels:
            cells = OneHotEncoder().fit_transform(cells)
        elif not sparse.issparse(cells):  # what is missing is 0, the mean
            cells = np.nan_to_num(StandardScaler().fit_transform(np.asarray(cells, float)))
        parts.append(sparse.csr_array(cells))
    return sparse.hstack(parts, "csr")
