"""A bounded part of a table that streams past, spread over all of it, to find exponents by.

    key of a row = the number at its place in a stream of random ones
    rows that stay = those with the smallest keys

So the same rows stay however the table is cut into parts, and what stays of two parts together is
what stays of the rows that stay of each: bottom-k sampling (Cohen and Kaplan 2007, Summarizing data
using bottom-k sketches). What stays holds at most MAX_ROWS rows, and MAX_NUMBERS numbers or
MIN_ROWS rows; of cells that are sparse, or words, MAX_ROWS rows, however long. Of at most so
many rows all stay.
"""

import pickle
from dataclasses import dataclass, replace
from typing import Self
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
SEED = 0  # of keys
ROWS_HASHED = 8  # rows of a part by which it is distinguished from others


def most_scored(classes: int, columns: int, exponents: int | None = None) -> int:
    """Number of rows whose scores by class and column can be held, to find so many exponents by.

    By default each column has one.
    """
    f = columns if exponents is None else exponents
    # of `selection.exponents`
    by_work = MAX_WORK / f**2 if f**3 <= MAX_WORK else (MAX_WORK / f) ** 0.5
    return max(int(min(MAX_SCORES / columns, by_work) / classes), MIN_ROWS)


def evenly(codes: Array, size: int) -> Array:
    """Choose so many rows, evenly spaced in every class, always the same, `(r,)`."""
    order = np.argsort(codes, kind="stable")
    places = np.linspace(0, len(order) - 1, min(size, len(order))).round().astype(np.intp)
    keep = np.zeros(len(codes), bool)
    keep[order[places]] = True
    return keep


@dataclass(frozen=True, eq=False)
class KeptRows:
    """What stays of `rows` rows: cells, codes of classes, weights and keys.

    Cells are those that a schema reads. They are in the order of their keys.
    """

    cells: tuple[Cells, ...]  # arrays, or CSR
    codes: Array
    weight: Array
    keys: Array
    rows: int

    @classmethod
    def of(cls, schema: Schema, classes: int, rows: Rows, first: int | None) -> Self:
        """Keep rows of a part of a table.

        `first` is the place of its first row, where that is known.

        Where it is not, the part's first cells stand for it, so that parts are sampled
        independently.
        """
        place = _place_of(rows) if first is None else first
        keys = np.random.PCG64(SEED).advance(place).random_raw(len(rows.codes))
        every = cls(tuple(rows.cells), rows.codes, rows.counts, keys, len(keys))
        return every._smallest(schema, classes)

    def __len__(self) -> int:
        return len(self.codes)

    def joined(self, other: Self, schema: Schema, classes: int) -> Self:
        """Keep what stays of two parts, both read by the same schema.

        Which one comes first makes no difference.
        """
        cells = []
        for pair in zip(self.cells, other.cells, strict=True):
            stack = sparse.vstack if sparse.issparse(pair[0]) else np.concatenate
            cells.append(stack(pair))
        both = type(self)(
            tuple(cells),
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.keys, other.keys]),
            self.rows + other.rows,
        )
        return both._smallest(schema, classes)

    def laid_out(self, narrow: Schema, schema: Schema, places: Array) -> Self:
        """Rows that `narrow` read, as a schema with more levels reads them.

        `places` are those of their classes.
        """
        blocks = zip(self.cells, narrow.blocks, schema.blocks, strict=True)
        cells = tuple(_relevelled(*each) for each in blocks)
        return replace(self, cells=cells, codes=places[self.codes])

    def labelled(self, schema: Schema) -> Rows:
        """Rows to score: all, if none is missing, else ROWS_SCORED of them."""
        rows = Rows(schema.observers, self.cells, self.codes, self.weight)
        return rows if self.rows == len(self) else rows.where(evenly(self.codes, ROWS_SCORED))

    def _smallest(self, schema: Schema, classes: int) -> Self:
        """Keep the rows of the smallest keys, as many as there may be.

        That depends on the numbers of classes and columns, and not on that of rows.
        """
        columns = sum(1 if block.family.words else len(block.keys) for block in schema.blocks)
        width = sum(1 if sparse.issparse(x) else x.shape[1] for x in self.cells)
        size = min(MAX_ROWS, most_scored(classes, columns), max(MAX_NUMBERS // width, MIN_ROWS))
        keys = self.keys
        low = np.arange(len(keys))
        if size < len(low):  # much quicker than to sort all of them
            low = np.argpartition(keys, size - 1)[:size]
        order = low[np.argsort(keys[low], kind="stable")]
        cells = tuple(_plain(x[order]) for x in self.cells)
        return type(self)(cells, self.codes[order], self.weight[order], keys[order], self.rows)


def _place_of(rows: Rows) -> int:
    """Place that stands for an unknown one, far from that of parts which begin with other cells."""
    first = [_plain(x[:ROWS_HASHED]) for x in (rows.codes, *rows.cells)]
    return (crc32(pickle.dumps(first)) + 1) << 31


def _plain(x: Cells) -> Cells:
    return sparse.csr_array(x) if sparse.issparse(x) else np.asarray(x)


def _relevelled(x: Cells, narrow: Block, block: Block) -> Cells:
    """Cells of a block among the levels of a wider one.

    Those without a level stay what they are.
    """
    if narrow.levels == block.levels:
        return x
    places = narrow.places_in(block)
    if block.family.listed:
        shape = (x.shape[0], block.sizes[0])
        return sparse.csr_array((x.data, places[x.indices], x.indptr), shape=shape)
    starts, ends = (np.cumsum(sizes) - sizes for sizes in (narrow.sizes, block.sizes))
    return np.where(x < 0, x, places[starts + np.maximum(x, 0)] - ends).astype(x.dtype)
