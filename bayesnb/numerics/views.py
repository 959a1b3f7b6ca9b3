"""Views that convert stored cells to the form that their family reads, some rows at a time.

`view[rows]` is an ordinary array (or CSR) of those rows; the whole table is never copied.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb import numerics
from bayesnb.numerics.threads import blocks, in_order, pieces

Array = np.ndarray
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
INTEGERS = (np.dtype(np.int64), np.dtype(np.int32))
LABELS = INTEGERS[:1]
COUNTS = (np.dtype(np.float64), np.dtype(np.int64))
EVERY = slice(None)
LANES = 8  # numbers in a cache line
MOST_LANES = 64
SWEEP = 1 << 21  # cells of a block of rows, which may be copied
TABLE = 1 << 21  # entries of a table for some classes


class View:
    """Cells computed from other cells of the same shape, its first field."""

    dtype: np.dtype = np.dtype(np.int32)  # of codes

    @property
    def shape(self) -> tuple[int, int]:
        return vars(self)[self.__match_args__[0]].shape  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class Dense(View):
    """A sparse block, for families that read arrays."""

    rows: sparse.csr_array

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.rows.dtype

    def __getitem__(self, index: Any) -> Array:
        return self.rows[index].toarray()


@dataclass(frozen=True, eq=False)
class Columns:
    """Separate columns, as in a dataframe, read as one array of their dtype."""

    columns: Sequence[Array]
    dtype: np.dtype

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.columns[0]), len(self.columns)

    def __getitem__(self, index: Any) -> Array:
        parts = [column[index] for column in self.columns]
        return np.stack(parts, axis=1, dtype=self.dtype, casting="unsafe")


@dataclass(frozen=True, eq=False)
class Flags(View):
    """Flags of numbers above a threshold."""

    dtype = np.dtype(float)
    numbers: Any  # an array, a view or CSR
    threshold: float

    def __getitem__(self, index: Any) -> Any:
        part = rows_of(self.numbers, index)
        cells = part.data if sparse.issparse(part) else np.asarray(part)
        flags = cells > self.threshold
        known = np.isfinite(cells)
        if not known.all():  # neither a missing cell nor an infinite one is a flag
            flags = np.where(known, flags, cells)
        if not sparse.issparse(part):
            return flags
        return sparse.csr_array((flags, part.indices, part.indptr), part.shape)


@dataclass(frozen=True, eq=False)
class Lookup:
    """Codes of integers: `places[j][x - least[j]]` is the code of x in column j, -1 if missing.

    An integer without a place, or with place -2, is unknown, and has the code `unknown[j]`.
    `values[j]` are the levels that the integers of column j stand for; None if they stand for
    themselves. Places 0, 1, ... may be a range.
    """

    least: Array
    places: Sequence[Array | range]
    unknown: Array
    values: Sequence[tuple[Any, ...]] | None

    @cached_property
    def table(self) -> tuple[Array, Array, Array, Array]:
        """Arguments of the kernel `translate`, with the places of all columns end to end."""
        sizes = self.sizes
        places = [np.asarray(place) for place in self.places]
        return self.least, sizes, np.cumsum(sizes) - sizes, np.concatenate(places)

    @cached_property
    def sizes(self) -> Array:
        """Number of places of each column."""
        return np.array([len(place) for place in self.places], np.int64)

    @cached_property
    def plain(self) -> bool:
        """Whether the integers are the codes already; kernels skip -1 and unknown codes."""
        skip = 0 if self.values is None else 1
        same = all(
            isinstance(place, range) or np.array_equal(place[skip:], np.arange(len(place) - skip))
            for place in self.places
        )
        return same and bool((self.least == -skip).all() and (self.unknown < 0).all())

    def unknown_in(self, j: int, column: Array) -> Counter:
        """Unknown levels of a column, and how often each occurs."""
        distinct, times = np.unique(column, return_counts=True)
        places = self.places[j]
        least = int(self.least[j])
        seen = zip(distinct.tolist(), times.tolist(), strict=True)
        unknown = [
            (x, n)
            for x, n in seen
            if not (0 <= x - least < len(places) and places[x - least] != -2)
        ]
        return Counter({x if self.values is None else self.values[j][x]: n for x, n in unknown})


@dataclass(frozen=True, eq=False)
class Coded(View):
    """Integers that stand for levels, read as codes of the levels."""

    integers: Any  # an array or a view
    lookup: Lookup

    @property
    def plain(self) -> bool:
        return self.lookup.plain

    def __getitem__(self, index: Any) -> Array:
        return self._translate(index, self.lookup.unknown)

    def _translate(self, index: Any, unknown: Array) -> Array:
        x = readable(self.integers[index], INTEGERS)
        codes = np.empty(x.shape, np.int32)
        numerics.level_kernels.translate(x, *self.lookup.table, unknown, codes)
        return codes

    def unknown_levels(self, n_jobs: int | None = 1) -> list[Counter]:
        """Return the unknown levels of each column, and how often each occurs."""
        lookup = self.lookup

        def has_unknown(rows: slice) -> bool:
            return bool((self._translate(rows, np.full_like(lookup.unknown, -2)) == -2).any())

        # from the distinct values, or in one pass over the integers
        if lookup.values is not None:
            unknown = any((np.asarray(place) == -2).any() for place in lookup.places)
        else:
            unknown = any(list(in_order(has_unknown, pieces_of(self), n_jobs)))
        if not unknown:
            return [Counter()] * self.shape[1]
        parts = [self.integers[rows] for rows in pieces_of(self)]
        columns = (np.concatenate([part[:, j] for part in parts]) for j in range(self.shape[1]))
        return [lookup.unknown_in(j, column) for j, column in enumerate(columns)]


@dataclass(frozen=True, eq=False)
class Graded(View):
    """Numbers read as codes of levels of a grid; missing ones are -1."""

    numbers: Any  # an array or a view
    guide: tuple[Array, Array]  # `grid.guide_to` the cuts between levels

    def __getitem__(self, index: Any) -> Array:
        part = readable(self.numbers[index], FLOATS)
        codes = np.empty(part.shape, np.int32)
        numerics.grid.search(part, *self.guide, codes)
        return codes


@dataclass(frozen=True, eq=False)
class Paired(View):
    """Codes of pairs of levels of two columns, `(r, f)`; -1 where either is missing."""

    cells: tuple[Any, ...]  # codes of levels, each an array or a view of some columns
    ends: Array  # the two columns of each pair, `(f, 2)`, counted over all `cells`
    sizes: Array  # number of levels of each column

    @property
    def shape(self) -> tuple[int, int]:
        return self.cells[0].shape[0], len(self.ends)

    def __getitem__(self, index: Any) -> Array:
        codes = np.concatenate([np.asarray(x[index], np.int32) for x in self.cells], axis=1)
        one = codes[:, self.ends[:, 0]]
        two = codes[:, self.ends[:, 1]]
        return np.where(
            (one >= 0) & (two >= 0), one * self.sizes[self.ends[:, 1]] + two, -1
        ).astype(np.int32)


class WordCounts(sparse.csr_array):
    """Counts of words, `(r, k)`, and the unknown words, which were dropped or counted together."""

    unknown: Counter | None = None  # of all rows; None for a part of them

    def unknown_levels(self, n_jobs: int | None = 1) -> list[Counter]:
        return [self.unknown or Counter()]


def read(x: Any) -> Any:
    """Return cells for many passes: codes are computed now, once."""
    return x[EVERY] if isinstance(x, Coded | Graded | Paired) else x


def numbers(x: Any, rows: slice) -> Array:
    """Return rows as a contiguous array of floats, without a copy if possible."""
    return readable(x[rows], FLOATS)


def entries(x: Any, rows: slice = EVERY) -> tuple[Array, Array, Array]:
    """Return rows as `data`, `indices` and `indptr` of CSR.

    Rows of an array have all cells, also zeros.
    """
    if sparse.issparse(x):
        starts = x.indptr[rows.start : None if rows.stop is None else rows.stop + 1]
        span = slice(starts[0], starts[-1])
        cells = readable(x.data[span], COUNTS), readable(x.indices[span], INTEGERS)
        return *cells, starts - starts[0]
    part = np.ascontiguousarray(x[rows])
    features = np.arange(part.shape[1], dtype=np.int32)
    ends = np.arange(len(part) + 1, dtype=np.int32) * part.shape[1]
    return readable(part.reshape(-1), COUNTS), np.tile(features, len(part)), ends


def as_numbers(x: Any) -> Any:
    """Return the numbers behind cells that are read as levels of a grid, or else the cells."""
    return x.numbers if isinstance(x, Graded) else x


def column(x: Any, feature: int) -> Array:
    """Return one feature of a block, `(r, f) -> (r,)`, as an array of floats."""
    x = as_numbers(x)
    if isinstance(x, Columns):
        return np.array(x.columns[feature], float)
    parts = [x[rows][:, [feature]] for rows in pieces_of(x)]
    return np.concatenate(
        [part.toarray() if sparse.issparse(part) else part for part in parts]
    ).astype(float)[:, 0]


def rows_of(x: Any, rows: Any) -> Any:
    """Some rows of a table; a slice of CSR is not copied, unlike in SciPy."""
    if not (sparse.issparse(x) and isinstance(rows, slice)):
        return x[rows]
    first, end, _ = rows.indices(x.shape[0])
    start, stop = x.indptr[[first, end]]
    starts = x.indptr[first : end + 1] - start
    return sparse.csr_array(
        (x.data[start:stop], x.indices[start:stop], starts), shape=(end - first, x.shape[1])
    )


def width_of(x: Any) -> int:
    """Cells per row; for a sparse table, stored cells on average."""
    rows, width = x.shape
    cells = x.numbers if isinstance(x, Flags) else x
    return -(-cells.nnz // rows) if rows > 1 and sparse.issparse(cells) else width


def pieces_of(x: Any, least: int = 1) -> list[slice]:
    """Blocks of rows of a table, dense or CSR, for threads, with at least `least` cells each."""
    width = width_of(x)
    return pieces(x.shape[0], width, least // max(width, 1))


def sweeps_of(x: Any) -> list[slice]:
    """Blocks of rows that several threads read at once, each for different classes."""
    return blocks(x.shape[0], max(SWEEP // max(width_of(x), 1), 1))


def lanes(table: Array) -> Array:
    """Lay out a table with classes side by side, `(c, k) -> (k, lanes)`, padded with zeros if
    small.

    Whole cache lines are read faster, but the table of two classes gets four times as large.
    """
    classes, levels = table.shape
    padded = -(-classes // LANES) * LANES
    filled = np.zeros((levels, padded if levels * padded <= TABLE else classes))
    filled[:, :classes] = table.T
    return filled


def readable(array: Array, dtypes: tuple[np.dtype, ...]) -> Array:
    """Return the array if kernels can read it, else a copy; the first dtype replaces other
    dtypes.
    """
    if array.dtype in dtypes and array.flags.c_contiguous and array.flags.writeable:
        return array
    return np.array(array, array.dtype if array.dtype in dtypes else dtypes[0], order="C")
