"""Explanations as labelled Datasets: names of classes and features, and the contents of cells."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import xarray as xr
from scipy import sparse

from bayesnb.data.levels import qualified_names
from bayesnb.families.base import Array, Cells
from bayesnb.inference.explanation import Explanation
from bayesnb.numerics.views import EVERY
from bayesnb.results.datasets import dataset
from bayesnb.results.parameter_names import ColumnBlock

LONG_NAMES = {
    "evidence": "posterior mean of what the feature adds to the class's score",
    "sd": "posterior standard deviation of the evidence",
    "predictive": "log predictive of the cell",
    "class_term": "posterior mean of the class's own part of its score",
    "class_term_sd": "posterior standard deviation of the class term",
    "predictive_class_term": "log predictive of the class",
    "score": "posterior mean of the class's score",
    "score_sd": "posterior standard deviation of the score",
}


class Placed(ColumnBlock, Protocol):
    """A block whose columns have positions in the table."""

    @property
    def places(self) -> Sequence[int]: ...
    @property
    def word_places(self) -> Sequence[int]: ...


def explained(
    explanation: Explanation, rows: Array, classes: Array, blocks: Sequence[Placed], cells: Sequence[Cells]
) -> xr.Dataset:
    """Label an explanation, features in the order of the table."""
    each = list(zip(blocks, cells, explanation.words, strict=True))
    features = [(block, columns) for block, _, words in each for columns in _features(block, words)]
    order = np.argsort([block.word_places[columns[0]] for block, columns in features], kind="stable")
    explanation = explanation.ordered(order)
    texts = np.concatenate([cell_texts(block, x, words) for block, x, words in each], axis=1)
    table = dataset(rows, classes, {}, {"score": explanation.score, "score_sd": explanation.score_sd}, {})
    columns = [block.names[0] if block.family.listed else _name(block, columns) for block, columns in features]
    names = qualified_names([_name(*feature) for feature in features], columns)
    table = table.assign_coords(feature=np.array(names, str)[order])
    for name in ("evidence", "sd", "predictive"):
        table[name] = (("obs_id", "class", "feature"), getattr(explanation, name))
    for name in ("class_term", "class_term_sd", "predictive_class_term"):
        table[name] = ("class", getattr(explanation, name))
    for name, words in LONG_NAMES.items():
        table[name].attrs = {"long_name": words, "units": "nats"}
    table["cell"] = (("obs_id", "feature"), texts[:, order], {"long_name": "what the cell held"})
    joint = [_name(*columns) for columns in features if len(columns[1]) > 1]
    if joint:
        table["cell"].attrs["blocks"] = joint  # the features whose cells name their columns
    return table


def _features(block: ColumnBlock, words: Array | None) -> list[tuple[int, ...]]:
    """Return the columns of every feature: one, or all columns of a block with a joint density."""
    if words is None and block.family.whole:
        return [tuple(range(len(block.names)))]
    return [(j,) for j in (range(len(block.names)) if words is None else words.tolist())]


def _name(block: ColumnBlock, columns: tuple[int, ...]) -> str:
    return ", ".join(str(block.words[j]) for j in columns)


def cell_texts(block: ColumnBlock, x: Cells, words: Array | None) -> Array:
    """Return the contents of the cells of every feature as text, `(r, f)`.

    Cells of several columns carry the names of the columns; lists are shown as words.
    """
    if words is None and block.family.listed:
        return _lists(block, x)
    features = _features(block, words)
    shown = [j for columns in features for j in columns]
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


def _lists(block: ColumnBlock, x: Cells) -> Array:
    words, rows = [str(word) for word in block.words], sparse.csr_array(x)
    ends = zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
    pairs = [zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True) for a, b in ends]
    texts = [", ".join(words[j] if n == 1 else f"{words[j]} {n:.6g}" for j, n in pair) for pair in pairs]
    return np.array(texts, object)[:, None]


def _texts(block: ColumnBlock, j: int, numbers: Array) -> Array:
    values, place = np.unique(numbers, return_inverse=True)
    return np.array([_text(block, j, value) for value in values.tolist()], object)[place]


def _text(block: ColumnBlock, j: int, value: float) -> str:
    if np.isnan(value) or (block.family.has_levels and value < 0):
        return "missing" if value != -2 else "unknown"
    if block.family.has_levels:
        return str(block.levels[j][int(value)]) if value < len(block.levels[j]) else "new"
    return block.family.outcomes[int(value)] if block.family.outcomes else f"{value:.6g}"
