"""A bounded part of a table that streams past, spread over all of it, to find exponents by.

    key of a row = a hash of its place in the table
    rows that stay = those with the smallest keys

So the same rows stay however the table is cut into parts, and what stays of two parts together is
what stays of the rows that stay of each: bottom-k sampling (Cohen and Kaplan 2007, Summarizing data
using bottom-k sketches). What stays holds at most MAX_ROWS rows, and MAX_NUMBERS numbers or
MIN_ROWS rows; of cells that are sparse, or words, MAX_ROWS rows, however long. Of at most so
many rows all stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self
from zlib import crc32

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Cells
from bayesnb.model.product import Rows
from bayesnb.model.schema import Block, Schema

MAX_ROWS, ROWS_SCORED = 10_000, 4_000  # that are all scored, and how many are of more
MIN_ROWS = 200
MAX_NUMBERS = 1 << 24  # of a table that is kept, above which rows are fewer
# by class and column, and multiplications of a step, above which fewer rows are scored
MAX_SCORES = 1 << 22
MAX_WORK = 2e9
ROWS_HASHED = 8  # rows of a part by which it is distinguished from others


def most_scored(classes: int, columns: int, exponents: int | None = None) -> int:
    """Number of rows whose scores by class and column can be held.

    So many exponents can be found by them.

    By default each column has one.
    """
    f = columns if exponents is None else exponents
    by_work = (
        MAX_WORK / f**2 if f**3 <= MAX_WORK else (MAX_WORK / f) ** 0.5
    )  # of `selection.exponents`
    return max(int(min(MAX_SCORES / columns, by_work) / classes), MIN_ROWS)


def evenly(codes: Array, size: int) -> Array:
    """Choose so many rows, evenly spaced in every class, always the same, `(r,)`."""
    order = np.argsort(codes, kind="stable")
    keep = np.zeros(len(codes), bool)
    keep[order[np.linspace(0, len(order) - 1, min(size, len(order))).round().astype(np.intp)]] = (
        True
    )
    return keep


@dataclass(frozen=True, eq=False)
class KeptRows:
    """What stays of `rows` rows: cells, codes of classes, weights and keys.

    Cells are those that a schema reads.

    They are in the order of their keys.
    """

    cells: tuple[Cells, ...]  # arrays, or CSR
    codes: Array
    weight: Array
    keys: Array
    rows: int

    @classmethod
    def of(
        cls, schema: Schema, classes: int, rows: Rows, first: int | None, bound: int | None = None
    ) -> Self:
        """Keep rows of a part of a table.

        `first` is the place of its first row, where that is known.

        Where it is not, the part's first cells stand for it, so that parts are sampled
        independently. No row whose key is above a `bound`, that of rows before these, would stay
        beside them.
        """
        keys = _hashed(_place_of(rows) if first is None else first, len(rows.codes))
        order = _smallest(keys, MAX_ROWS, bound)
        cells = tuple(_plain(x[order]) for x in rows.cells)
        kept = cls(cells, rows.codes[order], rows.counts[order], keys[order], len(rows.codes))
        return kept._bounded(schema, classes)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def bound(self) -> int | None:
        """The largest key that a row may have to stay beside these; None where any may."""
        return int(self.keys[-1]) if self.rows > len(self) else None

    def joined(self, other: Self, schema: Schema, classes: int) -> Self:
        """Keep what stays of two parts, both read by the same schema.

        Which one comes first makes no difference.
        """
        arrays = ("codes", "weight", "keys")
        codes, weight, keys = (
            np.concatenate([getattr(self, name), getattr(other, name)]) for name in arrays
        )
        order = _smallest(keys, MAX_ROWS)
        cells = tuple(_stacked(pair)[order] for pair in zip(self.cells, other.cells, strict=True))
        rows = self.rows + other.rows
        return type(self)(cells, codes[order], weight[order], keys[order], rows)._bounded(
            schema, classes
        )

    def laid_out(self, narrow: Schema, schema: Schema, places: Array) -> Self:
        """Rows that `narrow` read, as a schema with more levels reads them.

        `places` are those of their classes.
        """
        blocks = zip(self.cells, narrow.blocks, schema.blocks, strict=True)
        return replace(
            self, cells=tuple(_relevelled(*each) for each in blocks), codes=places[self.codes]
        )

    def labelled(self, schema: Schema) -> Rows:
        """Rows to score: all, if none is missing, else ROWS_SCORED of them."""
        rows = Rows(schema.observers, self.cells, self.codes, self.weight)
        return rows if self.rows == len(self) else rows.where(evenly(self.codes, ROWS_SCORED))

    def _bounded(self, schema: Schema, classes: int) -> Self:
        """Keep as many rows as there may be, given the numbers of classes and columns.

        The number of rows plays no part.
        """
        joint = [block.family.multivariate or block.family.words for block in schema.blocks]
        columns = sum(
            1 if one else len(block.places) for one, block in zip(joint, schema.blocks, strict=True)
        )
        width = sum(1 if sparse.issparse(x) else x.shape[1] for x in self.cells)
        size = min(MAX_ROWS, most_scored(classes, columns), max(MAX_NUMBERS // width, MIN_ROWS))
        if size >= len(self):
            return self
        cells = tuple(x[:size] for x in self.cells)
        return type(self)(cells, self.codes[:size], self.weight[:size], self.keys[:size], self.rows)


def _smallest(keys: Array, size: int, bound: int | None = None) -> Array:
    """Places of the smallest keys in their order, up to a bound; of equal ones the first."""
    if bound is None and size < len(keys):
        bound = np.partition(keys, size - 1)[size - 1]  # much quicker than to sort all of them
    low = np.arange(len(keys)) if bound is None else np.flatnonzero(keys <= np.uint64(bound))
    return low[np.argsort(keys[low], kind="stable")][:size]


def _hashed(first: int, rows: int) -> Array:
    """Hash consecutive numbers by the steps of SplitMix64, which are a bijection.

    Steele, Lea and Flood (2014), Fast splittable pseudorandom number generators.
    """
    x = (np.arange(rows, dtype=np.uint64) + np.uint64(first)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def _place_of(rows: Rows) -> int:
    """Place that stands for an unknown one, far from that of parts which begin with other cells."""
    place = crc32(np.ascontiguousarray(rows.codes[:ROWS_HASHED]))
    for x in rows.cells:
        part = _plain(x[:ROWS_HASHED])
        arrays = (part.data, part.indices) if sparse.issparse(part) else (part,)
        for array in arrays:
            place = crc32(np.ascontiguousarray(array), place)
    return (place + 1) << 31


def _plain(x: Cells) -> Cells:
    return sparse.csr_array(x) if sparse.issparse(x) else np.asarray(x)


def _stacked(parts: Sequence[Cells]) -> Cells:
    """Rows one under the other."""
    return (
        sparse.csr_array(sparse.vstack(parts))
        if sparse.issparse(parts[0])
        else np.concatenate(parts)
    )


def _relevelled(x: Cells, narrow: Block, block: Block) -> Cells:
    """Cells of a block among the levels of a wider one.

    Those without a level stay what they are.
    """
    if narrow.levels == block.levels:
        return x
    places = narrow.places_in(block)
    if block.family.listed:
        wider: Any = sparse.csr_array(
            (x.data, places[x.indices], x.indptr), shape=(x.shape[0], sum(block.sizes))
        )
        wider.sort_indices()
        return wider
    starts, ends = (np.cumsum([0, *sizes])[:-1] for sizes in (narrow.sizes, block.sizes))
    return np.where(x < 0, x, places[starts + np.maximum(x, 0)] - ends).astype(x.dtype)
