"""Explanations as labelled Datasets: the names of classes and features, and what each cell held."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import xarray as xr
from scipy import sparse

from bayesnb.data.levels import told_apart
from bayesnb.families.base import Array, Cells
from bayesnb.inference.explanation import Explanation
from bayesnb.numerics.views import EVERY
from bayesnb.results.datasets import dataset
from bayesnb.results.parameter_names import Block

WORDS = {
    "evidence": "posterior mean of what the feature adds to the class's score",
    "sd": "posterior standard deviation of the evidence",
    "predictive": "log predictive of the cell",
    "class_term": "posterior mean of the class's own part of its score",
    "class_term_sd": "posterior standard deviation of the class term",
    "predictive_class_term": "log predictive of the class",
    "score": "posterior mean of the class's score",
    "score_sd": "posterior standard deviation of the score",
}


class Placed(Block, Protocol):
    """A block whose columns have places in the table."""

    @property
    def places(self) -> Sequence[int]: ...
    @property
    def word_places(self) -> Sequence[int]: ...


def explained(
    found: Explanation, rows: Array, classes: Array, blocks: Sequence[Placed], cells: Sequence[Cells]
) -> xr.Dataset:
    """An explanation with its labels, features in the table's order."""
    each = list(zip(blocks, cells, found.words, strict=True))
    features = [(block, own) for block, _, words in each for own in _features(block, words)]
    order = np.argsort([block.word_places[own[0]] for block, own in features], kind="stable")
    found = found.ordered(order)
    said = np.concatenate([cell_texts(block, x, words) for block, x, words in each], axis=1)
    table = dataset(rows, classes, {}, {"score": found.score, "score_sd": found.score_sd}, {})
    columns = [block.names[0] if block.family.listed else _name(block, own) for block, own in features]
    names = told_apart([_name(*feature) for feature in features], columns)
    table = table.assign_coords(feature=np.array(names, str)[order])
    for name in ("evidence", "sd", "predictive"):
        table[name] = (("obs_id", "class", "feature"), getattr(found, name))
    for name in ("class_term", "class_term_sd", "predictive_class_term"):
        table[name] = ("class", getattr(found, name))
    for name, words in WORDS.items():
        table[name].attrs = {"long_name": words, "units": "nats"}
    table["cell"] = (("obs_id", "feature"), said[:, order], {"long_name": "what the cell held"})
    joint = [_name(*own) for own in features if len(own[1]) > 1]
    if joint:
        table["cell"].attrs["blocks"] = joint  # the features whose cells name their columns
    return table


def _features(block: Block, words: Array | None) -> list[tuple[int, ...]]:
    """The columns of every feature that is explained: one, or those of a block that is no words."""
    if words is None and block.family.whole:
        return [tuple(range(len(block.names)))]
    return [(j,) for j in (range(len(block.names)) if words is None else words.tolist())]


def _name(block: Block, columns: tuple[int, ...]) -> str:
    return ", ".join(str(block.words[j]) for j in columns)


def cell_texts(block: Block, x: Cells, words: Array | None) -> Array:
    """What the cells of every feature held, as text, `(r, f)`; several with their columns' names, lists as words."""
    if words is None and block.family.listed:
        return _lists(block, x)
    features = _features(block, words)
    shown = [j for own in features for j in own]
    part = x[EVERY]
    numbers = (part[:, shown].toarray() if sparse.issparse(part) else np.asarray(part)[:, shown]).astype(float)
    texts = np.empty(numbers.shape, object)
    for at, j in enumerate(shown):
        texts[:, at] = _texts(block, j, numbers[:, at])
    if len(features) == len(shown):
        return texts
    names = [str(block.names[j]) for j in shown]
    lines = [", ".join(f"{name}={cell}" for name, cell in zip(names, row, strict=True)) for row in texts]
    return np.array(lines, object)[:, None]


def _lists(block: Block, x: Cells) -> Array:
    every, rows = [str(word) for word in block.words], sparse.csr_array(x)
    ends = zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
    pairs = [zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True) for a, b in ends]
    said = [", ".join(every[j] if n == 1 else f"{every[j]} {n:.6g}" for j, n in own) for own in pairs]
    return np.array(said, object)[:, None]


def _texts(block: Block, j: int, numbers: Array) -> Array:
    values, place = np.unique(numbers, return_inverse=True)
    return np.array([_text(block, j, value) for value in values.tolist()], object)[place]


def _text(block: Block, j: int, value: float) -> str:
    if np.isnan(value) or (block.family.has_levels and value < 0):
        return "missing" if value != -2 else "unknown"
    if block.family.has_levels:
        return str(block.levels[j][int(value)]) if value < len(block.levels[j]) else "new"
    return block.family.outcomes[int(value)] if block.family.outcomes else f"{value:.6g}"
