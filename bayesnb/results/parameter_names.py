"""Names of a model's parameters in a Dataset.

Columns of one family lie on one axis, whichever blocks they are of: `feature`, or
`<family>_feature` where several families have one. A column of levels has a variable and an axis of
its own, `theta_<column> (class, <column>_level)`, and so has a table of several,
`theta_<a,b> (class, <a,b>_combination)`: the combinations that were seen, and all others as one.
Covariances are `(class, feature, feature_2)`, with zeros between blocks.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from pandas.api.types import infer_dtype
from scipy.linalg import block_diag

from bayesnb.families.base import Array, Belief, Parts
from bayesnb.model.fitted import Fitted
from bayesnb.model.schema import Block

Variables = dict[str, tuple[tuple[str, ...], Array]]  # name -> dims, array
Symbol = tuple[str, int | None]  # a pattern, as "theta{}", and the feature whose levels it has
Names = dict[Symbol, tuple[str, str]]  # name, axis
ELSEWHERE = "(elsewhere)"  # in a table of combinations, all that were not seen
SIMPLE = ("integer", "floating", "mixed-integer-float", "boolean", "datetime64")


@dataclass(frozen=True, eq=False)
class Layout:
    """Names and axes of the parameters of every block.

    A table of combinations has the entries that its belief has.
    """

    classes: Array
    blocks: Sequence[Block]
    beliefs: Sequence[Belief]

    def arrange(self, parts: Sequence[Parts]) -> Variables:
        """Return arrays of all blocks, `(n, k)` or `(n,)` with n classes or draws, by variable.

        Parts of links, which come last, are left out: links have no columns.
        """
        arrays: dict[tuple[str, str], list[Array]] = defaultdict(list)
        parts = parts[: len(self.blocks)]
        for names, of_block in zip(self.name(parts), parts, strict=True):
            for key, array in of_block.items():
                arrays[names[key]].append(array)
        variables: Variables = {}
        for (name, axis), side_by_side in arrays.items():
            array = _join(side_by_side)
            dims = ("class", axis, f"{axis}_2")
            variables[name] = dims[: array.ndim], array
        return variables

    def name(self, parts: Sequence[Iterable[Symbol]]) -> list[Names]:
        """Return the names and axes of the arrays of every block, by symbol and feature.

        Of a name that two families have, each has its own.
        """
        families: dict[str, set[str]] = defaultdict(set)
        for block, symbols in zip(self.blocks, parts, strict=True):
            if not _has_levels(block):
                for symbol, _ in symbols:
                    families[_root(symbol)].add(_family(block))
        named = []
        for block, places, symbols in zip(self.blocks, self._places, parts, strict=True):
            names = Names()
            for symbol, feature in symbols:
                column, axis = places[feature or 0]
                name = symbol.format(column)
                if not column and len(families[_root(symbol)]) > 1:
                    name = f"{_family(block)}_{name}"
                names[symbol, feature] = name, axis
            named.append(names)
        return named

    @cached_property
    def coords(self) -> dict[str, Array]:
        """The labels of every axis."""
        coords = {"class": coordinate(self.classes)}
        columns: dict[str, list[Hashable]] = defaultdict(list)
        for block, belief, places in zip(self.blocks, self.beliefs, self._places, strict=True):
            for j, (_, axis) in enumerate(places):
                if not _has_levels(block):
                    columns[axis] += block.names
                elif block.family.combined:
                    coords[axis] = coordinate(combinations(block, belief))
                else:
                    coords[axis] = block.starts[j] if block.starts else level_labels(block, j)
        for axis, names in columns.items():
            coords[axis] = coords[f"{axis}_2"] = coordinate(names)
        return coords

    @cached_property
    def _places(self) -> list[list[tuple[str, str]]]:
        """What a variable's name says of its column, and the axis, by feature of every block.

        A block whose columns share an axis has one entry, without a name. Text for columns of
        levels has no '/', and is such that no two names or axes are equal.
        """
        numeric = {_family(block) for block in self.blocks if not _has_levels(block)}
        taken: set[str] = set()
        places: list[list[tuple[str, str]]] = []
        for block in self.blocks:
            if not _has_levels(block):
                axis = "feature" if len(numeric) == 1 else f"{_family(block)}_feature"
                places.append([("", axis)])
                continue
            kind = "combination" if block.family.combined else "level"
            of_block = []
            for key in block.keys:
                columns = key if isinstance(key, tuple) else [key]
                text = ",".join(map(str, columns)).replace("/", "_")
                while taken & _names_with(text):
                    text += "_"
                taken |= _names_with(text)
                of_block.append((f"_{text}", f"{text}_{kind}"))
            places.append(of_block)
        return places


def layout_of(fitted: Fitted) -> Layout:
    """Return the layout of what was learnt; entries of a table are those of its posterior."""
    blocks = fitted.schema.columns_alone.blocks
    return Layout(fitted.classes, blocks, fitted.model.posterior.blocks[: len(blocks)])


def level_labels(block: Block, j: int) -> Array:
    """Return the levels of a column, and a label for each reserved one."""
    levels = list(block.levels[j])
    reserved = block.sizes[j] - len(levels)
    return coordinate(levels + ["(unseen)"] * reserved)


def combinations(block: Block, belief: Any) -> list[str]:
    """Return the labels of a table's entries: combinations of levels, and all unseen ones."""
    columns = []
    for j, codes in enumerate(belief.combinations.T):
        columns.append(level_labels(block, j).astype(str)[codes])
    names = list(map(", ".join, zip(*columns, strict=True)))
    if len(names) < prod(block.sizes):
        names.append(ELSEWHERE)
    return names


def coordinate(labels: Iterable[Any]) -> Array:
    """Return labels that any file format can hold: numbers, flags, dates, text; others as text."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind not in "OT":
        return labels
    labels = list(labels)
    if infer_dtype(labels, skipna=False) in SIMPLE:
        return np.array(labels)
    texts = list(map(str, labels))
    return np.array(texts, str)


def _has_levels(block: Block) -> bool:
    return bool(block.levels or block.starts)


def _root(symbol: str) -> str:
    return symbol.partition("{")[0]


def _family(block: Block) -> str:
    return type(block.family).__name__.lower()


def _names_with(text: str) -> set[str]:
    """Return the names that a column of levels, or a table of several, reserves."""
    return {f"theta_{text}", f"ratio_{text}", f"{text}_level", f"{text}_combination"}


def _join(arrays: Sequence[Array]) -> Array:
    """Join blocks of a family along their features; without such an axis, sum them."""
    if len(arrays) == 1:
        return arrays[0]
    if arrays[0].ndim == 1:
        return np.sum(arrays, axis=0)
    if arrays[0].ndim == 2:
        return np.concatenate(arrays, axis=1)
    matrices = zip(*arrays, strict=True)
    return np.array([block_diag(*blocks) for blocks in matrices])
