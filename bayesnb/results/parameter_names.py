"""What the parameters of a model are called in a Dataset.

Columns of one family lie on one axis, whichever blocks they are of: `feature`, or `<family>_feature` where several
families have one. A column of levels has a variable and an axis of its own, `theta_<column> (class, <column>_level)`,
and so has a table of several, `theta_<a,b> (class, <a,b>_combination)`: the combinations that were seen, and all others
as one. Covariances are `(class, feature, feature_2)`, with zeros between blocks.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from math import prod
from numbers import Real
from typing import Any, Protocol

import numpy as np

from bayesnb.families.base import Array, Parts
from bayesnb.selection.feature_evidence import own_of

Variables = dict[str, tuple[tuple[str, ...], Array]]  # name -> dims, array
Names = dict[tuple[str, int | None], tuple[str, tuple[str, ...]]]  # symbol, feature -> name, dims
ELSEWHERE = "(elsewhere)"  # in a table of combinations, all that were not seen
TAKEN = ("chain", "draw", "class", "class_prob", "obs_id", "log_evidence", "mu", "sigma2", "rate", "theta")


class Block(Protocol):
    """Columns of one family, as the schema of a table has them."""

    @property
    def family(self) -> Any: ...
    @property
    def names(self) -> Sequence[Hashable]: ...
    @property
    def words(self) -> Sequence[Hashable]: ...
    @property
    def levels(self) -> Sequence[Sequence[Any]]: ...
    @property
    def sizes(self) -> Sequence[int]: ...
    @property
    def keys(self) -> Sequence[Hashable]: ...
    @property
    def included(self) -> Array | None: ...


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the parameters of every block stand; of all columns, or of some."""

    classes: Array
    blocks: Sequence[Block]
    wanted: Sequence[Hashable] | None = None
    tables: Sequence[Array | None] = ()  # of each block that is a table, the combinations of levels with an entry

    def __post_init__(self) -> None:
        known = {name for block in self.blocks for name in block.names}
        unknown = [name for name in self.wanted or () if name not in known]
        if unknown:
            raise ValueError(f"features: the model has no column {unknown[0]!r}. Name some of {_some(known)}.")

    def wants(self, name: Hashable) -> bool:
        return self.wanted is None or name in self.wanted

    def arrange(self, parts: Sequence[Parts]) -> Variables:
        """Every block's arrays, `(n, k)` or `(n,)` with n classes, or draws of them, by the names of variables."""
        beside: dict[tuple[str, str], list[Array]] = {}
        found: Variables = {}
        for block, own, names in zip(self.blocks, parts, self.named(parts), strict=True):
            for (symbol, feature), array in own.items():
                name, dims = names[symbol, feature]
                column = _column(block, feature)
                if block.family.combined:
                    if any(map(self.wants, block.names)):
                        found[name] = dims[: array.ndim], array
                elif column is None:
                    beside.setdefault((name, _family(block)), []).append(array)
                elif self.wants(column):
                    found[name] = dims[: array.ndim], array
        for (name, family), arrays in beside.items():
            if self._columns[family]:
                found[name] = self._joined(family, arrays)
        return found

    def named(self, parts: Sequence[Iterable[tuple[str, int | None]]]) -> list[Names]:
        """What every block's arrays are called, from their symbols, and the axes of those that have all."""
        roots = {
            (_root(s), _family(block))
            for block, own in zip(self.blocks, parts, strict=True)
            for s, f in own
            if _column(block, f) is None and not block.family.combined
        }
        common = [root for root, _ in roots]
        found: list[Names] = []
        for block, own in zip(self.blocks, parts, strict=True):
            names: Names = {}
            for symbol, feature in own:
                column = _column(block, feature)
                if block.family.combined:
                    shown = self._shown[block.keys[0]]
                    names[symbol, feature] = symbol.format(f"_{shown}"), ("class", f"{shown}_combination")
                elif column is None:
                    name = symbol.format("")
                    name = name if common.count(_root(symbol)) == 1 else f"{_family(block)}_{name}"
                    names[symbol, None] = name, ("class", self._axis(_family(block)))
                else:
                    shown = self._shown[column]
                    names[symbol, feature] = symbol.format(f"_{shown}"), ("class", f"{shown}_level")
            found.append(names)
        return found

    def included(self, blocks: Sequence[Array | None]) -> Variables:
        """Which features depend on the class, or how probably, `(..., f)` for each block that says; by their names."""
        said = [own for own in blocks if own is not None]
        wanted = [name is not None for name in self._averaged]
        return {"included": (("included_feature",), np.concatenate(said, axis=-1)[..., wanted])} if any(wanted) else {}

    @property
    def _averaged(self) -> list[str | None]:
        """The features of the blocks that say so, by name; a block of words is one. None for one not wanted."""
        averaged = [block for block in self.blocks if block.included is not None]
        every = [[*block.names] if block.family.whole else [name] for block in averaged for name in block.keys]
        return [", ".join(map(str, own)) if any(map(self.wants, own)) else None for own in every]

    def _joined(self, family: str, arrays: list[Array]) -> tuple[tuple[str, ...], Array]:
        """The blocks of a family side by side; what has no axis of features is added up."""
        if arrays[0].ndim == 1:
            return ("class",), np.sum(arrays, axis=0)
        every = [name for block in self.blocks if _family(block) == family for name in block.names]
        keep, axis = [self.wants(name) for name in every], self._axis(family)
        if arrays[0].ndim == 3:
            together = _diagonal(arrays)
            return ("class", axis, f"{axis}_2"), together if all(keep) else together[:, keep][..., keep]
        together = arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=-1)
        return ("class", axis), together if all(keep) else together[:, keep]

    @cached_property
    def coords(self) -> dict[str, Array]:
        """The labels on every axis."""
        found = {"class": coordinate(self.classes)}
        for family, names in self._columns.items():
            found |= {f"{self._axis(family)}{second}": coordinate(names) for second in ("", "_2")}
        found["included_feature"] = coordinate([name for name in self._averaged if name is not None])
        for block, table in zip_longest(self.blocks, self.tables):
            if block.family.combined:
                found[f"{self._shown[block.keys[0]]}_combination"] = coordinate(combinations(block, table))
                continue
            for name, levels, size in zip(block.names, block.levels, block.sizes if block.levels else (), strict=False):
                found[f"{self._shown[name]}_level"] = coordinate([*levels, *["(unseen)"] * (size - len(levels))])
        return found

    def _axis(self, family: str) -> str:
        return "feature" if len(self._columns) == 1 else f"{family}_feature"

    @cached_property
    def _columns(self) -> dict[str, list[Hashable]]:
        """The wanted columns of each family whose columns lie on one axis."""
        found: dict[str, list[Hashable]] = {}
        for block in self.blocks:
            if not block.levels:
                found.setdefault(_family(block), []).extend(filter(self.wants, block.names))
        return found

    @cached_property
    def _shown(self) -> dict[Hashable, str]:
        """What columns of levels are called: text without '/', and such that no two variables or axes are alike."""
        taken, shown = {*TAKEN, *(self._axis(family) for family in self._columns)}, {}
        for name in (name for block in self.blocks if block.levels for name in block.keys):
            said = ",".join(map(str, name)) if isinstance(name, tuple) else str(name)
            said = said.replace("/", "_")
            while taken & _names(said):
                said += "_"
            taken |= _names(said)
            shown[name] = said
        return shown


def _names(said: str) -> set[str]:
    """What a column of levels, or several, may call its own."""
    return {f"theta_{said}", f"{said}_level", f"{said}_combination"}


def combinations(block: Block, table: Array | None) -> list[str]:
    """What a table's entries are called: combinations of levels, and the last all others, if there are any."""
    pairs = zip(block.levels, block.sizes, strict=True)
    levels = [[*map(str, own), *["(unseen)"] * (size - len(own))] for own, size in pairs]
    codes = [] if table is None else table.tolist()
    named = [", ".join(own[k] for own, k in zip(levels, row, strict=True)) for row in codes]
    return named + [ELSEWHERE] * (len(codes) < prod(block.sizes))


def layout_of(estimator: Any, features: Sequence[Hashable] | None = None) -> Layout:
    """Where the parameters of a fitted estimator stand; a table's entries are those of its posterior."""
    tables = [getattr(own_of(belief), "combinations", None) for belief in estimator.model_.posterior.blocks]
    return Layout(estimator.classes_, estimator.schema_.blocks, features, tables)


def _diagonal(arrays: Sequence[Array]) -> Array:
    """Matrices along the diagonal of one, `(n, d, d)` each; what they do not say is 0."""
    if len(arrays) == 1:
        return arrays[0]
    edges = np.cumsum([0, *(array.shape[-1] for array in arrays)])
    whole = np.zeros((len(arrays[0]), edges[-1], edges[-1]))
    for array, start, stop in zip(arrays, edges, edges[1:], strict=False):
        whole[:, start:stop, start:stop] = array
    return whole


def coordinate(labels: Iterable[Any]) -> Array:
    """Labels as every file format keeps them: numbers, flags, dates and text; whatever else there is becomes text."""
    if not isinstance(labels, np.ndarray) or labels.dtype.kind == "O":
        labels = np.array([label if isinstance(label, Real | str | np.generic) else str(label) for label in labels])
    return labels.astype(str) if labels.dtype.kind in "OT" else labels


def row_names(index: Array) -> Array:
    """Names of rows as every file format keeps them: text and plain types as they are, tuples and periods as text."""
    return index if index.dtype.kind != "O" or all(type(name) is str for name in index) else coordinate(index)


def _column(block: Block, feature: int | None) -> Hashable | None:
    """The column whose levels an array has; None for an array of all columns."""
    if feature is None:
        return block.names[0] if block.family.listed else None
    return block.names[feature]


def _family(block: Block) -> str:
    return type(block.family).__name__.lower()


def _root(symbol: str) -> str:
    return symbol.partition("{")[0]


def _some(names: Iterable[Hashable]) -> str:
    shown = sorted(map(repr, names))
    return ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")
