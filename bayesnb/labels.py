"""Labels and weights of rows, as codes and numbers."""

from typing import Any

import numpy as np

from bayesnb.families.base import Array


def distinct(labels: Any) -> Array:
    """The classes, sorted."""
    try:
        return np.unique(np.asarray(list(labels) if isinstance(labels, set | frozenset) else labels))
    except TypeError:
        raise ValueError("Unknown label type: labels of several types; make them one, say strings.") from None


def encode(y: Array, classes: Array) -> Array:
    """The place of each label among the classes."""
    places = {label: place for place, label in enumerate(classes.tolist())}
    labels, inverse = np.unique(y, return_inverse=True)
    unknown = [label for label in labels.tolist() if label not in places]
    if unknown:
        raise ValueError(
            f"y contains labels {unknown} that are not among the classes {classes.tolist()}; "
            "declare all of them as `classes`."
        )
    return np.array([places[label] for label in labels.tolist()], np.intp)[inverse]


def weights(sample_weight: Any, rows: int) -> Array | None:
    """One finite, non-negative number for each row; a single number is everyone's."""
    if sample_weight is None:
        return None
    if np.ma.is_masked(sample_weight):
        raise ValueError("sample_weight has masked entries: give a row that is not to count the weight 0.")
    try:
        weight = np.asarray(sample_weight, float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers: {error}") from None
    weight = np.full(rows, float(weight)) if weight.ndim == 0 else weight
    if weight.shape != (rows,):
        raise ValueError(f"sample_weight must have one number for each of {rows} rows, got shape {weight.shape}.")
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(
            f"sample_weight must be finite and not negative: {wrong.sum()} of {rows} are not, "
            f"first at row {at}: {weight[at]}."
        )
    with np.errstate(over="ignore"):
        if np.isinf(weight.sum()):
            raise ValueError("sample_weight sums to more than a float holds; rescale it.")
    if not weight.any():
        raise ValueError("sample_weight is zero for all rows: nothing is left to learn from.")
    return weight
