"""Names of a model's parameters in a Dataset.

Columns of one family lie on one axis, whichever blocks they are of: `feature`, or
`<family>_feature` where several families have one. A column of levels has a variable and an axis of
its own, `theta_<column> (class, <column>_level)`, and so has a table of several,
`theta_<a,b> (class, <a,b>_combination)`: the combinations that were seen, and all others as one.
Covariances are `(class, feature, feature_2)`, with zeros between blocks.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from math import prod
from numbers import Real
from typing import Any

import numpy as np

from bayesnb.families.base import Array, Parts
from bayesnb.formatting import list_names
from bayesnb.model.schema import Block

Variables = dict[str, tuple[tuple[str, ...], Array]]  # name -> dims, array
Names = dict[tuple[str, int | None], tuple[str, tuple[str, ...]]]  # symbol, feature -> name, dims
ELSEWHERE = "(elsewhere)"  # in a table of combinations, all that were not seen
MAX_COLUMNS_LISTED = 8
RESERVED = (
    "chain",
    "draw",
    "class",
    "class_prob",
    "obs_id",
    "log_evidence",
    "mu",
    "sigma2",
    "rate",
    "theta",
)


@dataclass(frozen=True, eq=False)
class Layout:
    """Names and axes of the parameters of every block, of all columns or of the wanted ones.

    `tables` are the combinations of levels with an entry, for each block; None where it has none.
    """

    classes: Array
    blocks: Sequence[Block]
    wanted: Sequence[Hashable] | None = None
    tables: Sequence[Array | None] = ()

    def __post_init__(self) -> None:
        known = {name for block in self.blocks for name in block.names}
        for name in self.wanted or ():
            if name not in known:
                names = list_names(sorted(map(repr, known)), MAX_COLUMNS_LISTED)
                raise ValueError(
                    f"features: the model has no column {name!r}. Name some of {names}."
                )

    def of_columns(self, parts: Sequence[Any]) -> Sequence[Any]:
        """Return the parts of blocks that have columns: those of links come last."""
        return parts[: len(self.blocks)]

    def arrange(self, parts: Sequence[Parts]) -> Variables:
        """Return arrays of all blocks, `(n, k)` or `(n,)` with n classes or draws, by variable."""
        variables: Variables = {}
        side_by_side: dict[tuple[str, str], list[Array]] = {}
        for block, arrays, names in zip(
            self.blocks,
            parts,
            self.named(parts),
            strict=True,
        ):
            for (symbol, feature), array in arrays.items():
                name, dims = names[symbol, feature]
                if self._label(block, feature) is None:
                    side_by_side.setdefault((name, _family(block)), []).append(array)
                    continue
                columns = block.names
                if feature is not None and not block.family.combined:
                    columns = [block.names[feature]]
                if any(map(self._wants, columns)):
                    variables[name] = dims[: array.ndim], array
        for (name, family), arrays_of_blocks in side_by_side.items():
            if self._columns[family]:
                variables[name] = self._join(family, arrays_of_blocks)
        return variables

    def named(self, parts: Sequence[Iterable[tuple[str, int | None]]]) -> list[Names]:
        """Return the names and axes of the arrays of every block, by symbol and feature.

        A symbol is a pattern, as "theta{}"; of a name that two families have, each has its own.
        """
        families: dict[str, set[str]] = {}
        for block, symbols in zip(self.blocks, parts, strict=True):
            for symbol, feature in symbols:
                if self._label(block, feature) is None:
                    families.setdefault(_root(symbol), set()).add(_family(block))
        named: list[Names] = []
        for block, symbols in zip(self.blocks, parts, strict=True):
            family = _family(block)
            names = Names()
            for symbol, feature in symbols:
                label = self._label(block, feature)
                if label is not None:
                    axis = f"{label}_combination" if block.family.combined else f"{label}_level"
                    names[symbol, feature] = symbol.format(f"_{label}"), ("class", axis)
                    continue
                prefix = f"{family}_" if len(families[_root(symbol)]) > 1 else ""
                name = f"{prefix}{symbol.format('')}"
                names[symbol, feature] = name, ("class", self._axis(family))
            named.append(names)
        return named

    @cached_property
    def coords(self) -> dict[str, Array]:
        """The labels of every axis."""
        coords = {"class": coordinate(self.classes)}
        for family, names in self._columns.items():
            axis = self._axis(family)
            coords[axis] = coords[f"{axis}_2"] = coordinate(names)
        for block, table in zip_longest(self.blocks, self.tables):
            if block.family.combined:
                axis = f"{self._labels[block.keys[0]]}_combination"
                coords[axis] = coordinate(combinations(block, table))
                continue
            for j, name in enumerate(block.names):
                if block.levels:
                    coords[f"{self._labels[name]}_level"] = coordinate(level_labels(block, j))
                elif block.starts:
                    coords[f"{self._labels[name]}_level"] = block.starts[j]
        return coords

    def _wants(self, name: Hashable) -> bool:
        return self.wanted is None or name in self.wanted

    def _axis(self, family: str) -> str:
        return "feature" if len(self._columns) == 1 else f"{family}_feature"

    def _label(self, block: Block, feature: int | None) -> str | None:
        """Return the text of the levels' column, or table; None for an array of all columns."""
        if block.family.combined or block.family.listed:
            return self._labels[block.keys[0]]
        return None if feature is None else self._labels[block.names[feature]]

    def _join(self, family: str, arrays: Sequence[Array]) -> tuple[tuple[str, ...], Array]:
        """Join the blocks of a family along their features; without such an axis, sum them."""
        axis = self._axis(family)
        if arrays[0].ndim == 1:
            return ("class",), np.sum(arrays, axis=0)
        names = [name for block in self.blocks if _family(block) == family for name in block.names]
        keep = [self._wants(name) for name in names]
        if arrays[0].ndim == 3:
            return ("class", axis, f"{axis}_2"), _join_diagonally(arrays)[:, keep][..., keep]
        joined = arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=-1)
        return ("class", axis), joined if all(keep) else joined[:, keep]

    @cached_property
    def _columns(self) -> dict[str, list[Hashable]]:
        """The wanted columns of each family whose columns share one axis."""
        columns: dict[str, list[Hashable]] = {}
        for block in self.blocks:
            if not _has_levels(block):
                columns.setdefault(_family(block), []).extend(filter(self._wants, block.names))
        return columns

    @cached_property
    def _labels(self) -> dict[Hashable, str]:
        """Text for columns of levels: without '/', such that no two names or axes are equal."""
        taken = {*RESERVED, *map(self._axis, self._columns)}
        labels: dict[Hashable, str] = {}
        for key in (key for block in self.blocks if _has_levels(block) for key in block.keys):
            text = ",".join(map(str, key)) if isinstance(key, tuple) else str(key)
            text = text.replace("/", "_")
            while taken & _names_with(text):
                text += "_"
            taken |= _names_with(text)
            labels[key] = text
        return labels


def layout_of(estimator: Any, features: Sequence[Hashable] | None = None) -> Layout:
    """Return the layout of a fitted estimator; entries of a table are those of its posterior."""
    blocks = estimator.schema_.columns_alone.blocks
    beliefs = estimator.model_.posterior.blocks[: len(blocks)]
    tables = [getattr(belief, "combinations", None) for belief in beliefs]
    return Layout(estimator.classes_, blocks, features, tables)


def level_labels(block: Block, j: int) -> list[Any]:
    """Return the levels of a column, and a label for each reserved one."""
    levels = block.levels[j]
    return [*levels, *["(unseen)"] * (block.sizes[j] - len(levels))]


def combinations(block: Block, table: Array | None) -> list[str]:
    """Return the labels of a table's entries: combinations of levels, and all unseen ones."""
    labels = [list(map(str, level_labels(block, j))) for j in range(len(block.levels))]
    named = []
    for codes in [] if table is None else table.tolist():
        named.append(", ".join(map(list.__getitem__, labels, codes)))
    return named + [ELSEWHERE] * (len(named) < prod(block.sizes))


def coordinate(labels: Iterable[Any]) -> Array:
    """Return labels that any file format can hold: numbers, flags, dates, text; others as text."""
    if not isinstance(labels, np.ndarray) or labels.dtype.kind == "O":
        labels = list(labels)
        simple = all(isinstance(label, Real | str | np.generic) for label in labels)
        flags = {isinstance(label, bool | np.bool_) for label in labels}
        if simple and len(flags) == 1:  # a flag among numbers would be 1
            labels = np.array(labels)
        else:
            labels = np.array(list(map(str, labels)), str)
    return labels.astype(str) if labels.dtype.kind in "OT" else labels


def row_names(index: Array) -> Array:
    """Return names of rows that any file format can hold: tuples and periods as text."""
    plain = index.dtype.kind != "O" or all(type(name) is str for name in index)
    return index if plain else coordinate(index)


def _has_levels(block: Block) -> bool:
    return bool(block.levels or block.starts)


def _family(block: Block) -> str:
    return type(block.family).__name__.lower()


def _root(symbol: str) -> str:
    return symbol.partition("{")[0]


def _names_with(text: str) -> set[str]:
    """Return the names that a column of levels, or a table of several, reserves."""
    return {f"theta_{text}", f"ratio_{text}", f"{text}_level", f"{text}_combination"}


def _join_diagonally(arrays: Sequence[Array]) -> Array:
    """Return block-diagonal matrices of `(n, d, d)` each, 0 elsewhere."""
    edges = np.cumsum([0, *(array.shape[-1] for array in arrays)])
    joined = np.zeros((len(arrays[0]), edges[-1], edges[-1]))
    for array, start, stop in zip(arrays, edges[:-1], edges[1:], strict=True):
        joined[:, start:stop, start:stop] = array
    return joined
