"""Draws of a regression's coefficients as ArviZ's tree, and what follows from them as labelled Datasets."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import xarray as xr

from bayesnb.families.base import Array, Cells
from bayesnb.results.datasets import dataset
from bayesnb.results.drawn_trees import SAID
from bayesnb.results.explanations import Placed, cell_texts
from bayesnb.results.parameter_names import coordinate

WORDS = {
    "evidence": "posterior mean of what the feature adds to the class's score",
    "sd": "posterior standard deviation of the evidence",
    "class_term": "posterior mean of the class's intercept",
    "class_term_sd": "posterior standard deviation of the class's intercept",
    "score": "posterior mean of the class's score",
    "score_sd": "posterior standard deviation of the score",
}


@dataclass(frozen=True, eq=False)
class Said:
    """Rows, what they are called, and what their cells held."""

    index: Array
    classes: Array
    blocks: Sequence[Placed]
    cells: Sequence[Cells]


def finished(tree: Any) -> Any:
    """PyMC's tree, which says what made it."""
    own = tree["posterior"].attrs
    made = own.get("inference_library"), own.get("inference_library_version")
    said = {"sampling": "MCMC", "created_at": datetime.now(UTC).isoformat()}
    said |= {"sampler": " ".join(map(str, made))} if all(made) else {}
    tree.attrs = {**tree.attrs, **SAID, **said}
    return tree


def draws(tree: Any) -> tuple[Array, Array]:
    """All chains' intercepts, `(s, c)`, and coefficients, `(s, c, k)`."""
    dims, own = ("chain", "draw", "class", "feature"), tree["posterior"]
    intercept, coefficient = own["intercept"].transpose(*dims[:3]).values, own["coefficient"].transpose(*dims).values
    return intercept.reshape(-1, intercept.shape[-1]), coefficient.reshape(-1, *coefficient.shape[2:])


def linear_form(found: dict[str, Array], classes: Array, terms: Sequence[str]) -> xr.Dataset:
    """`w (c, k)` and `b (c,)`, with their standard deviations."""
    dims = ("class", "feature")
    variables = {name: (dims[: array.ndim], array) for name, array in found.items()}
    return xr.Dataset(variables, {"class": coordinate(classes), "feature": coordinate(terms)})


def _shown(block: Any) -> Array | None:
    """The columns that are one feature each: all of a block, but a column of lists is one whose words are many."""
    return None if block.family.listed else np.arange(len(block.names))


def explained(
    said: Said, by_feature: dict[str, Array], by_class: dict[str, Array], by_score: dict[str, Array]
) -> xr.Dataset:
    """An explanation with its labels; features are in the table's order."""
    each = [(place, str(name)) for block in said.blocks for place, name in zip(block.places, block.names, strict=True)]
    order = np.argsort([place for place, _ in each], kind="stable")
    table = dataset(said.index, said.classes, {}, by_score, {})
    table = table.assign_coords(feature=np.array([name for _, name in each])[order])
    for name, array in by_feature.items():
        table[name] = (("obs_id", "class", "feature"), array)
    for name, array in by_class.items():
        table[name] = ("class", array)
    for name, words in WORDS.items():
        table[name].attrs = {"long_name": words, "units": "nats"}
    pairs = zip(said.blocks, said.cells, strict=True)
    texts = np.concatenate([cell_texts(block, x, _shown(block)) for block, x in pairs], axis=1)
    table["cell"] = (("obs_id", "feature"), texts[:, order], {"long_name": "what the cell held"})
    return table
