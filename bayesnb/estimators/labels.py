"""Labels of rows to learn from: they are checked, and say which classes there are."""

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from bayesnb.data import is_missing
from bayesnb.data.columns import EncodedLabels, Labels, distinct_labels, read_labels, united_labels
from bayesnb.families.base import Array
from bayesnb.model.shards import Shard


def name_features(estimator: Any, columns: Sequence[Hashable]) -> None:
    """Set scikit-learn's attributes: the number of columns, and their names if all are text."""
    estimator.__dict__.pop("feature_names_in_", None)
    if all(isinstance(name, str) for name in columns):
        estimator.feature_names_in_ = np.asarray(columns, dtype=object)
    estimator.n_features_in_ = len(columns)


def known_classes(y: Labels, before: Shard | None, declared: Any, grow: bool = False) -> Array:
    """Return the classes known before, those declared and, if they `grow`, those of the labels."""
    if before and not grow:
        return before.classes
    known = [before.classes] if before else []
    known += [] if declared is None else [declared_classes(declared)]
    return reduce(united_labels, [*known, distinct_labels(y)] if grow or not known else known)


def declared_classes(classes: Any) -> Array:
    """Return declared classes, sorted; an error where one stands twice."""
    known = distinct_labels(classes)
    if len(known) < len(classes):
        twice = [label for label, times in Counter(list(classes)).items() if times > 1]
        raise ValueError(f"classes: {twice} are listed more than once. List each class once.")
    return known


def check_labels(estimator: Any, y: Any, rows: int) -> Labels:
    """Return one label for each row; an error where one is missing."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    y = read_labels(y)
    if not (isinstance(y, EncodedLabels) or (type(y) is np.ndarray and y.ndim == 1)):
        y = column_or_1d(np.asarray(y), warn=True)
    if len(y) != rows:
        check_consistent_length(range(rows), y)
    if not isinstance(y, EncodedLabels) and y.dtype.kind in "OUST":
        y = EncodedLabels.of(y)
    if isinstance(y, EncodedLabels):
        refuse_missing(y.codes < 0)
        classes = distinct_labels(y)
        # texts that differ in most rows would be taken for a regression's
        if not isinstance(classes[0], str):
            # the distinct labels are fewer to check, as scikit-learn sorts all
            few = 2 * len(classes) <= len(y)
            check_classification_targets(classes.repeat(2) if few else y.values[y.codes])
    elif y.dtype.kind not in "iub":
        refuse_missing(is_missing(y))
        assert_all_finite(y, input_name="y")
        if y.dtype.kind == "f":
            _refuse_fractions(y)
        else:
            check_classification_targets(y)
    return y


def _refuse_fractions(labels: Array) -> None:
    """Raise where numbers with fractions are given as classes."""
    fractions = labels % 1 != 0
    if fractions.any():
        raise ValueError(
            f"Unknown label type: {fractions.sum()} of {len(labels)} labels are no whole numbers, "
            f"such as {labels[fractions.argmax()]:g}. A classifier predicts classes: make some of "
            "the numbers, as pandas.cut(y, 3) does, or take a regression."
        )


def refuse_missing(missing: Array) -> None:
    """Raise where labels are missing."""
    if missing.any():
        raise ValueError(
            f"Input y contains NaN: {missing.sum()} labels are missing, first at row "
            f"{missing.argmax()}. Drop those rows."
        )
