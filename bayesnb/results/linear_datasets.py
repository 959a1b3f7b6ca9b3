"""Linear forms as labelled Datasets: the column and level that each weight multiplies."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from bayesnb.families.base import Array
from bayesnb.inference.linear_form import Form
from bayesnb.results.explanations import Placed
from bayesnb.results.parameter_names import coordinate

LONG_NAMES = {
    "w": "weight of the feature in the class's score",
    "b": "what the class's score is where every feature is 0",
    "w_sd": "posterior standard deviation of w",
    "b_sd": "posterior standard deviation of b",
}


class Terms(NamedTuple):
    """The column and level that each weight multiplies, block by block, and their order in the table."""

    columns: list[object]
    levels: list[str | None]  # None for a column without any
    order: Array

    @property
    def names(self) -> list[object]:
        pairs = zip(self.columns, self.levels, strict=True)
        return [column if level is None else f"{column}={level}" for column, level in pairs]


def terms_of(blocks: Sequence[Placed]) -> Terms:
    """Return one term for each column, or for each level of a column that has levels."""
    terms = [term for block in blocks for term in _terms(block)]
    order = np.argsort([place for place, _, _ in terms], kind="stable")
    return Terms([column for _, column, _ in terms], [level for _, _, level in terms], order)


def linear_form(form: Form, classes: Array, terms: Terms, attrs: dict[str, object]) -> xr.Dataset:
    """Label a linear form, features in the order of the table."""
    dims, form = ("class", "feature"), form.ordered(terms.order)
    arrays = {"w": form.w, "b": form.b, "w_sd": form.w_sd, "b_sd": form.b_sd}
    named: dict[str, object] = {"class": coordinate(classes)}
    levels = ["" if level is None else level for level in terms.levels]
    for name, labels in (("feature", terms.names), ("column", terms.columns), ("level", levels)):
        values = coordinate(labels)[terms.order]
        named[name] = values if name == "feature" else ("feature", values)
    table = xr.Dataset({name: (dims[: array.ndim], array) for name, array in arrays.items()}, named, attrs)
    for name, words in LONG_NAMES.items():
        table[name].attrs = {"long_name": words}
    return table


def _terms(block: Placed) -> list[tuple[int, object, str | None]]:
    each = list(zip(block.places, block.names, strict=True))
    if not block.levels:
        return [(place, name, None) for place, name in each]
    triples = zip(each, block.levels, block.sizes, strict=True)
    return [(place, name, label) for (place, name), levels, size in triples for label in _level_labels(levels, size)]


def _level_labels(levels: Sequence[object], size: int) -> list[str]:
    return [*map(str, levels), *["(unseen)"] * (size - len(levels))]
