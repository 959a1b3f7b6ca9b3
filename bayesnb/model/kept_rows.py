"""A bounded random sample of the rows of a streamed table, from which exponents are estimated.

key of a row = the number at its place in a stream of random numbers sample = the rows with the
smallest keys

So the sample does not depend on how the table is cut into parts, and the sample of two parts can be
made from their samples: bottom-k sampling (Cohen and Kaplan 2007, Summarizing data using bottom-k
sketches). It has at most MAX_ROWS rows, and at most MAX_NUMBERS numbers unless that is fewer than
MIN_ROWS rows; rows of sparse cells or words count regardless of length. Smaller tables are kept
whole.
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

MAX_ROWS, ROWS_SCORED = 10_000, 4_000  # rows kept, and rows scored of a larger table
MIN_ROWS = 200
MAX_NUMBERS = 1 << 24  # numbers kept; wider tables keep fewer rows
# limits on scores by class and column, and on multiplications of a step; beyond, fewer rows are
# scored
MAX_SCORES = 1 << 22
MAX_WORK = 2e9
SEED = 0  # of keys
ROWS_HASHED = 8  # rows that identify a part


def most_scored(classes: int, columns: int, exponents: int | None = None) -> int:
    """Most rows whose scores by class and column are used to estimate this many exponents.

    By default each column has one.
    """
    f = columns if exponents is None else exponents
    # the work in `selection.exponents`
    by_work = MAX_WORK / f**2 if f**3 <= MAX_WORK else (MAX_WORK / f) ** 0.5
    return max(int(min(MAX_SCORES / columns, by_work) / classes), MIN_ROWS)


def evenly(codes: Array, size: int) -> Array:
    """Choose `size` rows, evenly spaced in every class and without randomness, `(r,)`."""
    order = np.argsort(codes, kind="stable")
    places = np.linspace(0, len(order) - 1, min(size, len(order))).round().astype(np.intp)
    keep = np.zeros(len(codes), bool)
    keep[order[places]] = True
    return keep


@dataclass(frozen=True, eq=False)
class KeptRows:
    """A sample of `rows` rows: cells as read by a schema, codes of classes, weights and keys.

    Rows are in the order of their keys.
    """

    cells: tuple[Cells, ...]  # arrays, or CSR
    codes: Array
    weight: Array
    keys: Array
    rows: int

    @classmethod
    def of(cls, schema: Schema, classes: int, rows: Rows, first: int | None) -> Self:
        """Sample rows of a part of a table.

        `first` is the place of its first row. If it is unknown, a hash of the first cells replaces
        it, so that parts are sampled independently.
        """
        place = _place_of(rows) if first is None else first
        keys = np.random.PCG64(SEED).advance(place).random_raw(len(rows.codes))
        every = cls(tuple(rows.cells), rows.codes, rows.counts, keys, len(keys))
        return every._smallest(schema, classes)

    def __len__(self) -> int:
        return len(self.codes)

    def joined(self, other: Self, schema: Schema, classes: int) -> Self:
        """Merge the samples of two parts, both read by the same schema, in any order."""
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
        """Convert rows read by `narrow` to a schema with more levels.

        `places` are the new codes of the classes.
        """
        blocks = zip(self.cells, narrow.blocks, schema.blocks, strict=True)
        cells = tuple(_relevelled(*each) for each in blocks)
        return replace(self, cells=cells, codes=places[self.codes])

    def labelled(self, schema: Schema) -> Rows:
        """Rows to score: all if the sample is the whole table, else ROWS_SCORED of them."""
        rows = Rows(schema.observers, self.cells, self.codes, self.weight)
        return rows if self.rows == len(self) else rows.where(evenly(self.codes, ROWS_SCORED))

    def _smallest(self, schema: Schema, classes: int) -> Self:
        """Keep the rows with the smallest keys; how many depends on the numbers of classes and
        columns.
        """
        columns = sum(1 if block.family.words else len(block.keys) for block in schema.blocks)
        width = sum(1 if sparse.issparse(x) else x.shape[1] for x in self.cells)
        size = min(MAX_ROWS, most_scored(classes, columns), max(MAX_NUMBERS // width, MIN_ROWS))
        keys = self.keys
        low = np.arange(len(keys))
        if size < len(low):  # much faster than sorting all
            low = np.argpartition(keys, size - 1)[:size]
        order = low[np.argsort(keys[low], kind="stable")]
        cells = tuple(_plain(x[order]) for x in self.cells)
        return type(self)(cells, self.codes[order], self.weight[order], keys[order], self.rows)


def _place_of(rows: Rows) -> int:
    """A place from a hash of the first cells, far from those of parts with other first cells."""
    first = [_plain(x[:ROWS_HASHED]) for x in (rows.codes, *rows.cells)]
    return (crc32(pickle.dumps(first)) + 1) << 31


def _plain(x: Cells) -> Cells:
    return sparse.csr_array(x) if sparse.issparse(x) else np.asarray(x)


def _relevelled(x: Cells, narrow: Block, block: Block) -> Cells:
    """Convert the cells of a block to a block with more levels; missing ones stay."""
    if narrow.levels == block.levels:
        return x
    places = narrow.places_in(block)
    if block.family.listed:
        shape = (x.shape[0], block.sizes[0])
        return sparse.csr_array((x.data, places[x.indices], x.indptr), shape=shape)
    starts, ends = (np.cumsum(sizes) - sizes for sizes in (narrow.sizes, block.sizes))
    return np.where(x < 0, x, places[starts + np.maximum(x, 0)] - ends).astype(x.dtype)
