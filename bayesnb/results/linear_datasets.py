"""Linear forms as labelled Datasets: what each weight multiplies."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from bayesnb.families.base import Array
from bayesnb.inference.linear_form import Form
from bayesnb.results.explanations import Placed
from bayesnb.results.parameter_names import coordinate

WORDS = {
    "w": "weight of the feature in the class's score",
    "b": "what the class's score is where every feature is 0",
    "w_sd": "posterior standard deviation of w",
    "b_sd": "posterior standard deviation of b",
}


class Terms(NamedTuple):
    """What the weights of all blocks multiply, block by block, and their order in the table."""

    columns: list[object]
    levels: list[str | None]  # None for a column without any
    order: Array

    @property
    def names(self) -> list[object]:
        pairs = zip(self.columns, self.levels, strict=True)
        return [column if level is None else f"{column}={level}" for column, level in pairs]


def terms_of(blocks: Sequence[Placed]) -> Terms:
    """One for each column, or for each level of a column that has levels."""
    every = [term for block in blocks for term in _terms(block)]
    order = np.argsort([place for place, _, _ in every], kind="stable")
    return Terms([column for _, column, _ in every], [level for _, _, level in every], order)


def linear_form(form: Form, classes: Array, terms: Terms, said: dict[str, object]) -> xr.Dataset:
    """A form with its labels, features in the table's order."""
    dims, form = ("class", "feature"), form.ordered(terms.order)
    found = {"w": form.w, "b": form.b, "w_sd": form.w_sd, "b_sd": form.b_sd}
    named: dict[str, object] = {"class": coordinate(classes)}
    levels = ["" if level is None else level for level in terms.levels]
    for name, labels in (("feature", terms.names), ("column", terms.columns), ("level", levels)):
        own = coordinate(labels)[terms.order]
        named[name] = own if name == "feature" else ("feature", own)
    table = xr.Dataset({name: (dims[: array.ndim], array) for name, array in found.items()}, named, said)
    for name, words in WORDS.items():
        table[name].attrs = {"long_name": words}
    return table


def _terms(block: Placed) -> list[tuple[int, object, str | None]]:
    each = list(zip(block.places, block.names, strict=True))
    if not block.levels:
        return [(place, name, None) for place, name in each]
    triples = zip(each, block.levels, block.sizes, strict=True)
    return [(place, name, said) for (place, name), own, size in triples for said in _said(own, size)]


def _said(levels: Sequence[object], size: int) -> list[str]:
    return [*map(str, levels), *["(unseen)"] * (size - len(levels))]
