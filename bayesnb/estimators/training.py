"""Rows to learn from as they come in: labels are checked, and say which classes there are."""

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from bayesnb.data import Table, is_missing, refuse_lazy
from bayesnb.data.labels import DECLARE, Labels, Named, distinct, united_labels
from bayesnb.families.base import Array
from bayesnb.model.schema import Schema
from bayesnb.model.shards import Shard

GROW = "Fit with all of them declared as `classes`, or let partial_fit add them: grow_classes=True."


class TrainingBatch(NamedTuple):
    """Labelled rows, with the classes and the schema that they are read by."""

    table: Table
    y: Labels
    weight: Array | None
    classes: Array
    schema: Schema
    advice: str = DECLARE  # where a label is none of the classes


def name_features(estimator: Any, columns: Sequence[Hashable]) -> None:
    """Set scikit-learn's attributes: the number of columns, and their names if all are text."""
    estimator.__dict__.pop("feature_names_in_", None)
    if all(isinstance(name, str) for name in columns):
        estimator.feature_names_in_ = np.asarray(columns, dtype=object)
    estimator.n_features_in_ = len(columns)


def known_classes(y: Labels, before: Shard | None, declared: Any, grow: bool) -> Array:
    """Return the classes known before, those declared, and, where they `grow`, those of the labels."""
    if before and not grow:
        return before.classes
    known = [before.classes] if before else []
    known += [] if declared is None else [declared_classes(declared)]
    seen = distinct(y)
    return reduce(united_labels, [*known, seen] if grow or not known else known)


def declared_classes(classes: Any) -> Array:
    """Return declared classes, sorted; an error where one stands twice."""
    known = distinct(classes)
    if len(known) < len(classes):
        twice = [label for label, times in Counter(np.asarray(classes).tolist()).items() if times > 1]
        raise ValueError(f"classes: {twice} stand there more than once. Give each class once.")
    return known


def checked_labels(estimator: Any, y: Any, rows: int) -> Labels:
    """Return one label for each row; an error where one is missing."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    refuse_lazy(y, "y")
    if np.ma.is_masked(y):
        raise ValueError("Input y contains NaN: some labels are masked, missing. Drop those rows.")
    named = Named.of_text(y)
    if named is None:
        y = y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(np.asarray(y), warn=True)
    if len(y) != rows:
        check_consistent_length(range(rows), y)
    if named is not None or y.dtype.kind in "OUST":
        return checked_names(Named.of(y) if named is None else named)
    if y.dtype.kind not in "iub":
        refuse_missing(is_missing(y))
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
    return y


def checked_names(y: Named) -> Named:
    """Return labels that pass scikit-learn's checks; they see the distinct ones where these are few, as all are sorted.

    Text is not checked: where most labels differ, as in a small batch, it would be taken for a regression's.
    """
    refuse_missing(y.missing)
    classes = distinct(y)
    if not isinstance(classes[0], str):
        few = 2 * len(classes) <= len(y)
        check_classification_targets(classes.repeat(2) if few else y.values[y.codes])
    return y


def refuse_missing(missing: Array) -> None:
    """Raise for missing labels."""
    if missing.any():
        raise ValueError(
            f"Input y contains NaN: {missing.sum()} labels are missing, first at row {missing.argmax()}. "
            "Drop those rows."
        )
