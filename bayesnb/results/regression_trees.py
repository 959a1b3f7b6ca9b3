"""Draws of a regression's coefficients as ArviZ's tree, and its explanations and weights as labelled Datasets."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import xarray as xr

from bayesnb.families.base import Array, Cells
from bayesnb.results.datasets import dataset
from bayesnb.results.drawn_trees import LIBRARY_ATTRS
from bayesnb.results.explanations import Placed, cell_texts
from bayesnb.results.parameter_names import coordinate

LONG_NAMES = {
    "evidence": "posterior mean of what the feature adds to the class's score",
    "sd": "posterior standard deviation of the evidence",
    "class_term": "posterior mean of the class's intercept",
    "class_term_sd": "posterior standard deviation of the class's intercept",
    "score": "posterior mean of the class's score",
    "score_sd": "posterior standard deviation of the score",
}


@dataclass(frozen=True, eq=False)
class ExplainedRows:
    """Rows to explain: their names, the classes, and their cells."""

    index: Array
    classes: Array
    blocks: Sequence[Placed]
    cells: Sequence[Cells]


def finished(tree: Any) -> Any:
    """Return PyMC's tree with attributes that say what made it."""
    attrs = tree["posterior"].attrs
    made = attrs.get("inference_library"), attrs.get("inference_library_version")
    about = {"sampling": "MCMC", "created_at": datetime.now(UTC).isoformat()}
    about |= {"sampler": " ".join(map(str, made))} if all(made) else {}
    tree.attrs = {**tree.attrs, **LIBRARY_ATTRS, **about}
    return tree


def draws(tree: Any) -> tuple[Array, Array]:
    """Return the intercepts of all chains, `(s, c)`, and the coefficients, `(s, c, k)`."""
    dims, posterior = ("chain", "draw", "class", "feature"), tree["posterior"]
    intercept, coefficient = (
        posterior["intercept"].transpose(*dims[:3]).values,
        posterior["coefficient"].transpose(*dims).values,
    )
    return intercept.reshape(-1, intercept.shape[-1]), coefficient.reshape(-1, *coefficient.shape[2:])


def linear_form(arrays: dict[str, Array], classes: Array, terms: Sequence[str]) -> xr.Dataset:
    """Label `w (c, k)` and `b (c,)` and their standard deviations."""
    dims = ("class", "feature")
    variables = {name: (dims[: array.ndim], array) for name, array in arrays.items()}
    return xr.Dataset(variables, {"class": coordinate(classes), "feature": coordinate(terms)})


def _shown(block: Any) -> Array | None:
    """Return the columns that are one feature each; None for a column of lists, whose words are one feature."""
    return None if block.family.listed else np.arange(len(block.names))


def explained(
    sheet: ExplainedRows, by_feature: dict[str, Array], by_class: dict[str, Array], by_score: dict[str, Array]
) -> xr.Dataset:
    """Label the explanation of a regression, features in the order of the table."""
    columns = [
        (place, str(name)) for block in sheet.blocks for place, name in zip(block.places, block.names, strict=True)
    ]
    order = np.argsort([place for place, _ in columns], kind="stable")
    table = dataset(sheet.index, sheet.classes, {}, by_score, {})
    table = table.assign_coords(feature=np.array([name for _, name in columns])[order])
    for name, array in by_feature.items():
        table[name] = (("obs_id", "class", "feature"), array)
    for name, array in by_class.items():
        table[name] = ("class", array)
    for name, words in LONG_NAMES.items():
        table[name].attrs = {"long_name": words, "units": "nats"}
    pairs = zip(sheet.blocks, sheet.cells, strict=True)
    texts = np.concatenate([cell_texts(block, x, _shown(block)) for block, x in pairs], axis=1)
    table["cell"] = (("obs_id", "feature"), texts[:, order], {"long_name": "what the cell held"})
    return table
