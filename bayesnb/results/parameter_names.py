"""Names of a model's parameters in a Dataset.

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
from bayesnb.selection.feature_evidence import class_belief

Variables = dict[str, tuple[tuple[str, ...], Array]]  # name -> dims, array
Names = dict[tuple[str, int | None], tuple[str, tuple[str, ...]]]  # symbol, feature -> name, dims
ELSEWHERE = "(elsewhere)"  # in a table of combinations, all that were not seen
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


class ColumnBlock(Protocol):
    """Columns of one family, as in the schema of a table."""

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
    @property
    def starts(self) -> Sequence[Array]: ...


@dataclass(frozen=True, eq=False)
class Layout:
    """Names and axes of the parameters of every block, of all columns or of the wanted ones."""

    classes: Array
    blocks: Sequence[ColumnBlock]
    wanted: Sequence[Hashable] | None = None
    tables: Sequence[
        Array | None
    ] = ()  # of each block that is a table, the combinations of levels with an entry

    def __post_init__(self) -> None:
        known = {name for block in self.blocks for name in block.names}
        unknown = [name for name in self.wanted or () if name not in known]
        if unknown:
            raise ValueError(
                f"features: the model has no column {unknown[0]!r}. Name some of {_listing(known)}."
            )

    def of_columns(self, parts: Sequence[Any]) -> Sequence[Any]:
        """Return the parts of the blocks that have columns: those of links between columns come last."""
        return parts[: len(self.blocks)]

    def wants(self, name: Hashable) -> bool:
        return self.wanted is None or name in self.wanted

    def arrange(self, parts: Sequence[Parts]) -> Variables:
        """Return the arrays of all blocks, `(n, k)` or `(n,)` with n classes or draws, by names of variables."""
        side_by_side: dict[tuple[str, str], list[Array]] = {}
        variables: Variables = {}
        for block, arrays_of_block, names in zip(
            self.blocks, parts, self.named(parts), strict=True
        ):
            for (symbol, feature), array in arrays_of_block.items():
                name, dims = names[symbol, feature]
                column = _column(block, feature)
                if block.family.combined:
                    if any(map(self.wants, block.names)):
                        variables[name] = dims[: array.ndim], array
                elif column is None:
                    side_by_side.setdefault((name, _family(block)), []).append(array)
                elif self.wants(column):
                    variables[name] = dims[: array.ndim], array
        for (name, family), arrays in side_by_side.items():
            if self._columns[family]:
                variables[name] = self._joined(family, arrays)
        return variables

    def named(self, parts: Sequence[Iterable[tuple[str, int | None]]]) -> list[Names]:
        """Return the names of the arrays of every block, from their symbols, and their axes."""
        roots = {
            (_root(s), _family(block))
            for block, symbols in zip(self.blocks, parts, strict=True)
            for s, f in symbols
            if _column(block, f) is None and not block.family.combined
        }
        common = [root for root, _ in roots]
        named: list[Names] = []
        for block, symbols in zip(self.blocks, parts, strict=True):
            names: Names = {}
            for symbol, feature in symbols:
                column = _column(block, feature)
                if block.family.combined:
                    shown = self._shown[block.keys[0]]
                    names[symbol, feature] = (
                        symbol.format(f"_{shown}"),
                        ("class", f"{shown}_combination"),
                    )
                elif column is None:
                    name = symbol.format("")
                    name = name if common.count(_root(symbol)) == 1 else f"{_family(block)}_{name}"
                    names[symbol, None] = name, ("class", self._axis(_family(block)))
                else:
                    shown = self._shown[column]
                    names[symbol, feature] = symbol.format(f"_{shown}"), ("class", f"{shown}_level")
            named.append(names)
        return named

    def included(self, blocks: Sequence[Array | None]) -> Variables:
        """Return which features depend on the class, or the probability of it, `(..., f)` of each block that has it."""
        flags = [flag for flag in blocks if flag is not None]
        wanted = [name is not None for name in self._averaged]
        return (
            {"included": (("included_feature",), np.concatenate(flags, axis=-1)[..., wanted])}
            if any(wanted)
            else {}
        )

    @property
    def _averaged(self) -> list[str | None]:
        """Names of the features that are averaged over, a block of words being one; None for one not wanted."""
        averaged = [block for block in self.blocks if block.included is not None]
        features = [
            [*block.names] if block.family.multivariate else [name]
            for block in averaged
            for name in block.keys
        ]
        return [
            ", ".join(map(str, names)) if any(map(self.wants, names)) else None
            for names in features
        ]

    def _joined(self, family: str, arrays: list[Array]) -> tuple[tuple[str, ...], Array]:
        """Join the blocks of a family along their features; arrays without such an axis are summed."""
        if arrays[0].ndim == 1:
            return ("class",), np.sum(arrays, axis=0)
        names = [name for block in self.blocks if _family(block) == family for name in block.names]
        keep, axis = [self.wants(name) for name in names], self._axis(family)
        if arrays[0].ndim == 3:
            together = _diagonal(arrays)
            return ("class", axis, f"{axis}_2"), together if all(keep) else together[:, keep][
                ..., keep
            ]
        together = arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=-1)
        return ("class", axis), together if all(keep) else together[:, keep]

    @cached_property
    def coords(self) -> dict[str, Array]:
        """The labels of every axis."""
        coords = {"class": coordinate(self.classes)}
        for family, names in self._columns.items():
            coords |= {f"{self._axis(family)}{second}": coordinate(names) for second in ("", "_2")}
        coords["included_feature"] = coordinate(
            [name for name in self._averaged if name is not None]
        )
        for block, table in zip_longest(self.blocks, self.tables):
            if block.family.combined:
                coords[f"{self._shown[block.keys[0]]}_combination"] = coordinate(
                    combinations(block, table)
                )
                continue
            coords |= {
                f"{self._shown[n]}_level": each
                for n, each in zip(block.names, block.starts, strict=False)
            }
            for name, levels, size in zip(
                block.names, block.levels, block.sizes if block.levels else (), strict=False
            ):
                coords[f"{self._shown[name]}_level"] = coordinate(
                    [*levels, *["(unseen)"] * (size - len(levels))]
                )
        return coords

    def _axis(self, family: str) -> str:
        return "feature" if len(self._columns) == 1 else f"{family}_feature"

    @cached_property
    def _columns(self) -> dict[str, list[Hashable]]:
        """The wanted columns of each family whose columns share one axis."""
        columns: dict[str, list[Hashable]] = {}
        for block in self.blocks:
            if not block.levels and not block.starts:
                columns.setdefault(_family(block), []).extend(filter(self.wants, block.names))
        return columns

    @cached_property
    def _shown(self) -> dict[Hashable, str]:
        """Names of columns of levels: text without '/', such that no two variables or axes have the same name."""
        taken, shown = {*RESERVED, *(self._axis(family) for family in self._columns)}, {}
        for name in (
            name for block in self.blocks if block.levels or block.starts for name in block.keys
        ):
            text = ",".join(map(str, name)) if isinstance(name, tuple) else str(name)
            text = text.replace("/", "_")
            while taken & _names(text):
                text += "_"
            taken |= _names(text)
            shown[name] = text
        return shown


def _names(text: str) -> set[str]:
    """Return the names that a column of levels, or a table of several, reserves."""
    return {f"theta_{text}", f"ratio_{text}", f"{text}_level", f"{text}_combination"}


def combinations(block: ColumnBlock, table: Array | None) -> list[str]:
    """Return the labels of a table's entries: combinations of levels, and all unseen ones as the last."""
    pairs = zip(block.levels, block.sizes, strict=True)
    levels = [[*map(str, labels), *["(unseen)"] * (size - len(labels))] for labels, size in pairs]
    codes = [] if table is None else table.tolist()
    named = [", ".join(labels[k] for labels, k in zip(levels, row, strict=True)) for row in codes]
    return named + [ELSEWHERE] * (len(codes) < prod(block.sizes))


def layout_of(estimator: Any, features: Sequence[Hashable] | None = None) -> Layout:
    """Return the layout of a fitted estimator; the entries of a table are those of its posterior."""
    blocks = estimator.schema_.columns_alone.blocks
    beliefs = estimator.model_.posterior.blocks[: len(blocks)]
    tables = [getattr(class_belief(belief), "combinations", None) for belief in beliefs]
    return Layout(estimator.classes_, blocks, features, tables)


def _diagonal(arrays: Sequence[Array]) -> Array:
    """Return block-diagonal matrices of `(n, d, d)` each, 0 elsewhere."""
    if len(arrays) == 1:
        return arrays[0]
    edges = np.cumsum([0, *(array.shape[-1] for array in arrays)])
    whole = np.zeros((len(arrays[0]), edges[-1], edges[-1]))
    for array, start, stop in zip(arrays, edges, edges[1:], strict=False):
        whole[:, start:stop, start:stop] = array
    return whole


def coordinate(labels: Iterable[Any]) -> Array:
    """Return labels that any file format can hold: numbers, flags, dates and text; anything else becomes text."""
    if not isinstance(labels, np.ndarray) or labels.dtype.kind == "O":
        labels = list(labels)
        kept = all(isinstance(label, Real | str | np.generic) for label in labels)
        kept &= (
            len({isinstance(label, bool | np.bool_) for label in labels}) == 1
        )  # a flag among numbers would be 1
        labels = np.array(labels) if kept else np.array([str(label) for label in labels], str)
    return labels.astype(str) if labels.dtype.kind in "OT" else labels


def row_names(index: Array) -> Array:
    """Return names of rows that any file format can hold: plain types as they are, tuples and periods as text."""
    return (
        index
        if index.dtype.kind != "O" or all(type(name) is str for name in index)
        else coordinate(index)
    )


def _column(block: ColumnBlock, feature: int | None) -> Hashable | None:
    """Return the column whose levels an array has; None for an array of all columns."""
    if feature is None:
        return block.names[0] if block.family.listed else None
    return block.names[feature]


def _family(block: ColumnBlock) -> str:
    return type(block.family).__name__.lower()


def _root(symbol: str) -> str:
    return symbol.partition("{")[0]


def _listing(names: Iterable[Hashable]) -> str:
    shown = sorted(map(repr, names))
    return ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")
