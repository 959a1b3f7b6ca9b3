"""Labels and weights of rows, as codes and numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from bayesnb.data import coded_text, factorize_labels, refuse_lazy
from bayesnb.data.columns import species_of
from bayesnb.data.tables import to_native_order
from bayesnb.families.record import LARGEST
from bayesnb.formatting import list_names, quote

Array = np.ndarray
DECLARE = "Declare all of them as `classes`."
KINDS = {"str": "text", "number": "numbers", "bool": "booleans"}


@contextmanager
def one_type() -> Iterator[None]:
    """Raise a ValueError for labels of several types, which cannot be compared or sorted."""
    try:
        yield
    except TypeError:
        raise ValueError(
            "Unknown label type: labels of several types. Convert them to one type, such as "
            "strings."
        ) from None


@dataclass(frozen=True, eq=False)
class EncodedLabels:
    """Labels that are not plain numbers: the distinct ones, and where each row's stands.

    -1 if it is missing.
    """

    values: Array
    codes: Array

    @classmethod
    @one_type()
    def of(cls, y: Array) -> Self:
        """Return the labels of an array."""
        codes, values = factorize_labels(y)
        return cls(values, codes)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, keep: Array) -> Self:
        return type(self)(self.values, self.codes[keep])

    @cached_property
    def occurring(self) -> Array:
        """The distinct labels of these rows."""
        seen = np.zeros(len(self.values), bool)
        seen[self.codes] = True
        return self.values[seen]


Labels = Array | EncodedLabels


def read_labels(y: Any) -> Any:
    """Return the labels of a dataframe's column of text, anything else as it is.

    Lazy and masked ones are errors.
    """
    if isinstance(y, np.ndarray):
        if np.ma.is_masked(y):
            raise ValueError(
                "Input y contains NaN: some labels are masked, missing. Drop those rows."
            )
        return y
    refuse_lazy(y, "y")
    texts = coded_text(y)
    return y if texts is None else EncodedLabels(np.array(texts.values, object), texts.codes)


@one_type()
def distinct(labels: Any) -> Array:
    """Return the classes among labels, sorted."""
    if isinstance(labels, EncodedLabels):
        return np.unique(labels.occurring)
    labels = np.asarray(list(labels) if isinstance(labels, set | frozenset) else labels).reshape(-1)
    is_text = labels.dtype.kind in "OUST"
    return np.unique(factorize_labels(labels)[1] if is_text else pd.unique(to_native_order(labels)))


def united_labels(a: Array, b: Array) -> Array:
    """Return the classes of two parts of a table, sorted."""
    if a is b or np.array_equal(a, b):
        return a
    species = [species_of(labels.tolist()[0]) for labels in (a, b)]
    kinds = [KINDS.get(each, each) for each in species]
    if kinds[0] != kinds[1]:
        one, other = (list_names(labels.tolist(), 3, quote) for labels in (a, b))
        raise ValueError(
            f"labels are {' in one part and '.join(kinds)} in another: {one} and {other}. Convert "
            "them to one type."
        )
    known = set(a.tolist())
    return a if known.issuperset(b.tolist()) else distinct(np.concatenate([a, b]))


def encode(y: Labels, classes: Array, advice: str = DECLARE) -> Array:
    """Return the place of each label among the classes.

    An error with advice for labels that are not there.
    """
    if isinstance(y, EncodedLabels):
        places = {label: place for place, label in enumerate(classes.tolist())}
        codes = np.array([places.get(label, -1) for label in y.values.tolist()], int)[y.codes]
    elif y.dtype == classes.dtype and y.dtype.kind in "biuf":
        # fifty microseconds less than pandas takes for a batch of few rows
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        codes[classes[codes] != y] = -1
    else:
        codes = pd.Index(classes).get_indexer(to_native_order(y))
    if (codes < 0).any():
        raise ValueError(
            f"y contains labels {distinct(y[codes < 0]).tolist()} that are not among the classes "
            f"{classes.tolist()}. {advice}"
        )
    return codes


def weights(sample_weight: Any, rows: int) -> Array:
    """Return one finite, non-negative number for each row; a single number is that of all rows."""
    refuse_lazy(sample_weight, "sample_weight")
    if np.ma.is_masked(sample_weight):
        raise ValueError(
            "sample_weight has masked entries. A row that should not count has the weight 0."
        )
    try:
        weight = np.asarray(sample_weight, float)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ValueError(f"sample_weight must be numbers: {error}") from None
    weight = np.full(rows, float(weight)) if weight.ndim == 0 else weight
    if weight.shape != (rows,):
        raise ValueError(
            f"sample_weight must have one number for each of {rows} rows, got shape {weight.shape}."
        )
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(
            f"sample_weight must be finite and not negative: {wrong.sum()} of {rows} are not, "
            f"first at row {at}: {weight[at]}."
        )
    with np.errstate(over="ignore"):
        if weight.sum() > LARGEST:
            raise ValueError(
                f"sample_weight sums to {weight.sum():.3g}, and sums above {LARGEST:g} would "
                "overflow. Rescale it."
            )
    return weight
