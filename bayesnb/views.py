"""Cells that are stored otherwise than their family reads them, and turned around some rows at a time.

`view[rows]` is an ordinary array (or CSR) of those rows; no copy of the whole table is ever made.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb import kernels
from bayesnb.threads import PIECE, pieces

Array = np.ndarray
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
BYTES = (*FLOATS, np.dtype(np.uint8))
INTEGERS = (np.dtype(np.int64), np.dtype(np.int32))
COUNTS = (np.dtype(np.float64), np.dtype(np.int64))
EVERY = slice(None)
LANES = 8  # classes that a kernel's table has side by side
TABLE = 1 << 20  # entries of a table for some classes


@dataclass(frozen=True, eq=False)
class Dense:
    """A sparse block for families that read arrays."""

    rows: sparse.csr_array

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    @property
    def dtype(self) -> np.dtype:
        return self.rows.dtype

    def __getitem__(self, index: Any) -> Array:
        return self.rows[index].toarray()


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns that lie apart, as in a dataframe, read as one array of their dtype."""

    columns: Sequence[Array]
    dtype: np.dtype

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.columns[0]), len(self.columns)

    def __getitem__(self, index: Any) -> Array:
        first = self.columns[0][index]
        block = np.empty((len(first), len(self.columns)), self.dtype)
        for j, column in enumerate(self.columns):
            block[:, j] = column[index]
        return block


@dataclass(frozen=True, eq=False)
class Picked:
    """Some columns of an array."""

    array: Array
    places: Sequence[int]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.array), len(self.places)

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    def __getitem__(self, index: Any) -> Array:
        return self.array[index][:, self.places]


@dataclass(frozen=True, eq=False)
class Flags:
    """Numbers of which those above a threshold are ones; without one they are zeros and ones already."""

    numbers: Any  # an array, a view or CSR
    threshold: float | None

    @property
    def shape(self) -> tuple[int, int]:
        return self.numbers.shape

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(float)

    def __getitem__(self, index: Any) -> Any:
        part = self.numbers[index]
        if sparse.issparse(part):
            return sparse.csr_array((self._ones(part.data), part.indices, part.indptr), shape=part.shape)
        return self._ones(part)

    def _ones(self, x: Array) -> Array:
        x = np.asarray(x, float)
        return x if self.threshold is None else np.where(np.isnan(x), np.nan, x > self.threshold)


@dataclass(frozen=True, eq=False)
class Coded:
    """Integers that stand for levels: `places[j][x - least[j]]` is the code of column j's x, -1 if it is missing.

    What has no place, or -2 for one, is unknown, and coded as `unknown[j]`. `values[j]` are what column j's integers
    stand for; None if for themselves.
    """

    integers: Any  # an array or a view
    least: Array
    places: Sequence[Array]
    unknown: Array
    values: Sequence[tuple[Any, ...]] | None
    met: list[bool] = field(default_factory=list)  # whether rows that were read had an unknown level

    @property
    def shape(self) -> tuple[int, int]:
        return self.integers.shape

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.int32)

    @property
    def met_unknown(self) -> bool:
        return any(self.met)

    @cached_property
    def _table(self) -> tuple[Array, Array, Array]:
        sizes = np.array([len(place) for place in self.places], np.int64)
        return sizes, np.cumsum(sizes) - sizes, np.concatenate(self.places)

    def __getitem__(self, index: Any) -> Array:
        x = _readable(self.integers[index], INTEGERS)
        codes = np.empty(x.shape, np.int32)
        if kernels.levels.translate(x, self.least, *self._table, self.unknown, codes):
            self.met.append(True)
        return codes

    def unknown_levels(self) -> list[Counter]:
        """Of each column the unknown levels, and how often each occurs."""
        return [self._unknown_of(j) for j in range(len(self.places))]

    def _unknown_of(self, j: int) -> Counter:
        column = np.concatenate([self.integers[rows][:, j] for rows in pieces(self.shape[0], PIECE)])
        distinct, times = np.unique(column, return_counts=True)
        places, least = self.places[j], int(self.least[j])
        name = (lambda x: x) if self.values is None else (lambda x: self.values[j][x])
        inside = lambda x: 0 <= x - least < len(places) and places[x - least] != -2  # noqa: E731
        pairs = zip(distinct.tolist(), times.tolist(), strict=True)
        return Counter({name(x): count for x, count in pairs if not inside(x)})


def numbers(x: Any, rows: slice) -> Array:
    """Some rows as kernels read them: a contiguous array of floats, without a copy where it is one."""
    return _readable(x[rows], FLOATS)


def integers(x: Any, rows: slice) -> Array:
    """The same for integers."""
    return _readable(x[rows], INTEGERS)


def small_numbers(x: Any, rows: slice) -> Array:
    """The same, but bytes and booleans stay bytes."""
    part = x[rows]
    return _readable(part.view(np.uint8) if part.dtype == bool else part, BYTES)


def entries(x: Any, rows: slice = EVERY) -> tuple[Array, Array, Array]:
    """Some rows as `data`, `indices` and `indptr` of CSR; those of an array have all cells, zeros too."""
    if sparse.issparse(x):
        whole = x.indptr[rows.start : None if rows.stop is None else rows.stop + 1]
        data, indices = x.data, x.indices
        if data.dtype in COUNTS and data.flags.writeable and indices.flags.writeable:
            return data, indices, _readable(whole, INTEGERS)
        part = slice(whole[0], whole[-1])
        return _readable(data[part], COUNTS), np.array(indices[part]), whole - whole[0]
    part = np.ascontiguousarray(x[rows])
    features = np.arange(part.shape[1], dtype=np.int32)
    ends = np.arange(len(part) + 1, dtype=np.int32) * part.shape[1]
    return _readable(part.reshape(-1), COUNTS), np.tile(features, len(part)), ends


def column(x: Any, feature: int) -> Array:
    """One feature of a block, `(r, f) -> (r,)`, as an array of floats."""
    parts = [x[rows][:, [feature]] for rows in pieces(x.shape[0], rows_at_once(x))]
    return np.concatenate([part.toarray() if sparse.issparse(part) else part for part in parts]).astype(float)[:, 0]


def rows_at_once(x: Any) -> int:
    """How many rows of a table, dense or CSR, make a piece."""
    width = x.nnz / x.shape[0] if sparse.issparse(x) else x.shape[1]
    return max(int(PIECE / max(width, 1)), 1)


def class_groups(classes: int, levels: int) -> list[slice]:
    """Classes whose tables of so many levels fit into some megabytes."""
    step = max(TABLE // levels // LANES, 1) * LANES
    return pieces(classes, step)


def tiles(table: Array) -> Array:
    """A table as kernels read it, `(c, k) -> (tiles, k, LANES)`: classes side by side, filled up with zeros."""
    classes, levels = table.shape
    tiled = np.zeros((-(-classes // LANES), levels, LANES))
    for tile, part in enumerate(tiled):
        own = table[tile * LANES : (tile + 1) * LANES]
        part[:, : len(own)] = own.T
    return tiled


def _readable(array: Array, dtypes: tuple[np.dtype, ...]) -> Array:
    """The array itself where it is one that kernels read, else a copy as the first of the dtypes."""
    if array.dtype in dtypes and array.flags.c_contiguous and array.flags.writeable:
        return array
    return np.array(array, array.dtype if array.dtype in dtypes else dtypes[0], order="C")
