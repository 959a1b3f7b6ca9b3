"""Sums over features, for blocks of rows, and from tables of values for each cell.

Cumulants and transforms of levels or counts are computed once for each distinct cell, then added
up. A table holds one value per class for each cumulant, or for each point of a transform.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bayesnb import numerics
from bayesnb.families.record import Array, Cells, Power, is_one
from bayesnb.numerics.row_kernels import sums_of_entries
from bayesnb.numerics.threads import blocks, in_order, threads_of
from bayesnb.numerics.views import LANES, MOST_LANES, TABLE, pieces_of

EVERY = slice(None)
MOST_COUNTED = 4096  # smaller counts index a table, larger ones are sorted


def by_rows(
    score: Callable[[slice], Array],
    x: Cells,
    classes: int,
    out: Array | None,
    n_jobs: int | None,
) -> Array:
    """Compute scores in blocks of rows, `(r, c)`, and add them to `out` if given."""
    parts = pieces_of(x)
    if len(parts) == 1:
        total = score(EVERY)
        return total if out is None else np.add(out, total, out=out)
    out = np.zeros((x.shape[0], classes)) if out is None else out

    def add_rows(rows: slice) -> None:
        out[rows] += score(rows)

    list(in_order(add_rows, parts, n_jobs))
    return out


def summed(term: Callable[[Any], Array], record: Any, rows: int) -> Array:
    """Sum a term over features, class by class, without a temporary `(r, c, f)` array."""
    total = np.empty((rows, len(record)))
    for c in range(len(record)):
        total[:, c] = term(record[c]).sum(axis=1)
    return total


class KernelTables:
    """Tables for a kernel, `(c, ..., k)`, made for some classes at a time.

    They are kept if one group holds all classes.
    """

    def __init__(self, make: Callable[[slice], tuple[Array, ...]], shape: tuple[int, ...]) -> None:
        # classes whose tables take a few megabytes
        together = max(TABLE // shape[-1] // LANES, 1) * LANES
        self.groups = blocks(shape[0], min(together, MOST_LANES))
        self._only = make(self.groups[0]) if len(self.groups) == 1 else None
        # `make` may refer to an array as large as the tables
        self._make = make if self._only is None else None

    def __iter__(self) -> Iterator[tuple[int, tuple[Array, ...]]]:
        """Yield the first class of each group, and the tables."""
        if self._only is not None:
            yield 0, self._only
        elif self._make is not None:
            yield from ((group.start, self._make(group)) for group in self.groups)


def made_at[Made](record: Any, power: Power, make: Callable[[Any], Made]) -> Made:
    """Make the tables for scores at a power, or reuse those of the power 1 or of the last other
    power.

    Making them takes longer than scoring a row, and the exponents of a model are the same in every
    call.
    """
    place = "_made_at_one"
    numbers = b""
    if not is_one(power):
        place = "_made_at_power"
        numbers = np.asarray(power, float).tobytes()
    known, made = record.__dict__.get(place, (None, None))
    if known != numbers:
        made = make(power)
        record.__dict__[place] = numbers, made  # one assignment: other threads may read it
    return made


def by_tables(
    add: Callable[..., Any],
    tables: KernelTables,
    x: Cells,
    classes: int,
    out: Array | None,
    n_jobs: int | None,
) -> Array:
    """Call `add(rows, tables, first class, out)` for blocks of rows and groups of classes."""
    out = np.zeros((x.shape[0], classes)) if out is None else out
    parts = pieces_of(x)
    for first, tables_of_classes in tables:
        list(in_order(lambda rows: add(rows, tables_of_classes, first, out[rows]), parts, n_jobs))  # noqa: B023
    return out


def by_class_ranges(
    add: Callable[..., Any], codes: Array, classes: int, n_jobs: int | None
) -> list[Any]:
    """Call `add(order, starts, first, last)` for ranges of classes with about equally many rows."""
    order = np.empty(len(codes), np.int64)
    starts = np.empty(classes + 1, np.int64)
    numerics.row_kernels.group(codes, order, starts)
    parts = min(4 * threads_of(n_jobs), classes)
    cuts = np.unique(
        np.searchsorted(starts[1:], np.linspace(0, len(codes), parts + 1)[1:-1], "left") + 1
    )
    edges = [0, *cuts[cuts < classes].tolist(), classes]
    ranges = list(pairwise(edges))
    return list(in_order(lambda bounds: add(order, starts, *bounds), ranges, n_jobs))


class Entries(NamedTuple):
    """Rows of entries: the start of each row, and for each entry its place in a list of distinct
    cells, -1 for none.
    """

    starts: Array
    places: Array

    @classmethod
    def of_table(cls, places: Array) -> "Entries":
        """Build from an `(r, f)` table of places."""
        rows, width = places.shape
        return cls(np.arange(rows + 1) * width, places.reshape(-1))

    def added(self, worth: Array) -> Array:
        """Sum values of the entries, real or complex, over each row, `(n, c, k) -> (r, c, n)`."""
        n, classes, _ = worth.shape
        table = np.ascontiguousarray(worth.transpose(2, 1, 0)).reshape(-1, classes * n)
        total = sums_of_entries(self.starts, self.places, table.view(float))
        return total.view(table.dtype).reshape(-1, classes, n)


def distinct_places(places: Array, several: int) -> tuple[Array, Array]:
    """The distinct values of places below `several`, and the index of each; -1 for none."""
    if several > places.size:  # few places, as for one row
        distinct, which = np.unique(places, return_inverse=True)
        none = int(distinct.size > 0 and distinct[0] < 0)
        return distinct[none:], which.reshape(places.shape) - none
    occurs = np.zeros(several + 1, bool)
    occurs[places] = True
    order = np.cumsum(occurs) - 1
    order[-1] = -1  # the entry that -1 looks up
    return np.flatnonzero(occurs[:-1]), order[places]


class DistinctCells(NamedTuple):
    """The distinct cells of some rows, by feature and value, and their positions."""

    feature: Array
    value: Array
    entries: Entries

    @classmethod
    def of_csr(cls, x: sparse.csr_array) -> "DistinctCells":
        """Return the distinct entries of CSR."""
        values, which = np.unique(x.data.astype(float), return_inverse=True)
        keys = x.indices.astype(np.int64) * len(values) + which
        distinct, places = distinct_places(keys, len(values) * x.shape[1])
        feature, value = np.divmod(distinct, len(values))
        return cls(feature, values[value], Entries(x.indptr.astype(np.int64), places))

    @classmethod
    def of_table(cls, x: Array) -> "DistinctCells":
        """Return the distinct cells of an `(r, f)` table, without the missing ones."""
        known = ~np.isnan(x)
        cells = np.array(x, float, order="C")
        cells[~known] = 0.0
        if cells.min(initial=0) < 0 or cells.max(initial=0) > MOST_COUNTED or (cells % 1 > 0).any():
            values, which = np.unique(cells, return_inverse=True)
        else:  # small counts need no sorting
            values = np.arange(cells.max(initial=0) + 1)
            which = cells.astype(np.int64)
        columns = np.arange(x.shape[1])
        keys = which.reshape(x.shape)
        keys += columns * len(values)  # in place, as tables are large
        keys[~known] = -1
        distinct, places = distinct_places(keys, len(values) * x.shape[1])
        feature, value = np.divmod(distinct, len(values))
        return cls(feature, values[value], Entries.of_table(places))


def nodes(s: Any) -> Array:
    """Points of a transform, with axes for classes and cells, `(n,) -> (n, 1, 1)`."""
    return np.asarray(s)[:, None, None]


def row_of_entry(counts: sparse.csr_array) -> Array:
    return np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
