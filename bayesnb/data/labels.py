"""Labels and weights of rows, as codes and numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayesnb.data import coded_text, factorize_labels, refuse_lazy
from bayesnb.data.columns import species_of
from bayesnb.families.record import LARGEST
from bayesnb.formatting import list_names, quote
from bayesnb.numerics.views import EVERY, integers

Array = np.ndarray
DECLARE = "Declare all of them as `classes`."
KINDS = {"str": "text", "number": "numbers", "bool": "booleans"}
MOST_CANDIDATES = 1 << 20  # integers that labels may span, to be counted in a table


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


def have_integers(labels: Array) -> bool:
    """Return whether labels are integers that 64 bits hold with a sign."""
    return labels.dtype.kind in "iu" and labels.dtype != np.uint64


@one_type()
def distinct(labels: Any) -> Array:
    """Return the classes among labels, sorted."""
    if isinstance(labels, EncodedLabels):
        return np.unique(labels.occurring)
    labels = np.asarray(list(labels) if isinstance(labels, set | frozenset) else labels)
    if have_integers(labels) and labels.size:
        whole = integers(labels.reshape(-1), EVERY)
        least = int(whole.min())
        most = int(whole.max())
        if most - least < MOST_CANDIDATES:
            return (np.flatnonzero(np.bincount(whole - least)) + least).astype(labels.dtype)
    return np.unique(factorize_labels(labels)[1])


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
    if not isinstance(y, EncodedLabels) and have_integers(y) and classes.dtype.kind in "iu":
        least = int(classes[0])
        size = int(classes[-1]) - int(classes[0]) + 1
        if size < MOST_CANDIDATES:
            table = np.full(size + 1, -1)  # the last place is that of all others
            table[classes.astype(np.int64) - least] = np.arange(len(classes))
            away = (integers(y, EVERY) - np.int64(least)).view(np.uint64)  # many, if it is below 0
            codes = table[np.minimum(away, size)]
            if (codes >= 0).all():
                return codes
    y = y if isinstance(y, EncodedLabels) else EncodedLabels.of(y)
    places = {label: place for place, label in enumerate(classes.tolist())}
    unknown = [label for label in y.occurring.tolist() if label not in places]
    if unknown:
        with one_type():
            unknown.sort()
        raise ValueError(
            f"y contains labels {unknown} that are not among the classes {classes.tolist()}. "
            f"{advice}"
        )
    return np.array([places.get(label, -1) for label in y.values.tolist()], np.int64)[y.codes]


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
