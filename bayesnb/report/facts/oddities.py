"""What is odd about a table's columns and rows, whatever the model: from arrays of cells and the codes of labels."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from bayesnb.families.base import Array, Cells
from bayesnb.numerics.views import pieces_of

RARE = np.log(1e-3)  # a separation by chance, in the whole table, that is believed to be none
LONG = 20  # rows from which on a column can be a name of rows


class Oddities(NamedTuple):
    """What one column is like."""

    known: int  # cells that are not missing
    classes: int  # that have any of them
    distinct: int
    apart: tuple[int, ...]  # classes that it alone tells from all others
    singles: int  # cells whose value no other row has
    counting: bool  # whole numbers that only rise, or only fall, row by row


def oddities(x: Array, codes: Array, leveled: bool, trials: int) -> Oddities:
    """Of one column, NaN where a cell is missing. `trials` separations of columns and classes are looked for."""
    seen = np.isfinite(x)
    x, codes = x[seen], codes[seen]
    values, place, times = np.unique(x, return_inverse=True, return_counts=True)
    apart = levels_apart if leveled else ranges_apart
    found = apart(place, codes, trials) if len(values) > 1 else ()
    steps = np.diff(x)
    rising = bool((steps > 0).all() or (steps < 0).all()) and bool((x == np.floor(x)).all())
    counting = not leveled and rising and len(x) >= LONG
    return Oddities(len(x), len(np.unique(codes)), len(values), found, int((times == 1).sum()), counting)


def ranges_apart(place: Array, codes: Array, trials: int) -> tuple[int, ...]:
    """Classes in whose range no row of another class lies, further than chance would bring about."""
    classes = int(codes.max()) + 1
    low, high = np.full(classes, place.max() + 1), np.full(classes, -1)
    np.minimum.at(low, codes, place)
    np.maximum.at(high, codes, place)
    upto = np.concatenate([[0], np.cumsum(np.bincount(place))])
    size = np.bincount(codes, minlength=classes)
    there = np.flatnonzero((size > 0) & (size < len(codes)))
    alone = there[upto[high[there] + 1] - upto[low[there]] == size[there]]
    ways = np.log(len(codes) - size[alone] + 1.0)
    return _unlikely(alone, ways, size, len(codes), trials)


def levels_apart(place: Array, codes: Array, trials: int) -> tuple[int, ...]:
    """Classes whose levels no row of another class has, further than chance would bring about."""
    classes, levels = int(codes.max()) + 1, int(place.max()) + 1
    seen = np.zeros((levels, classes))
    np.add.at(seen, (place, codes), 1)
    mixed = (seen > 0) & (seen < seen.sum(axis=1, keepdims=True))
    size = seen.sum(axis=0)
    alone = np.flatnonzero(~mixed.any(axis=0) & (size > 0) & (size < len(codes)))
    return _unlikely(alone, np.full(len(alone), levels * np.log(2)), size, len(codes), trials)


def _unlikely(alone: Array, ways: Array, size: Array, rows: int, trials: int) -> tuple[int, ...]:
    """Those classes that shuffled labels would hardly separate: so many ways of doing it, of all ways to shuffle."""
    own = size[alone]
    shuffles = gammaln(rows + 1) - gammaln(own + 1) - gammaln(rows - own + 1)
    return tuple(alone[ways - shuffles + np.log(trials) < RARE].tolist())


def repeated(cells: Sequence[Cells], codes: Array) -> Array:
    """The rows that hold the same as an earlier one, label and all, `(n,)`."""
    keys = _mixed(codes.astype(np.uint64))
    for b, x in enumerate(cells):
        for rows in pieces_of(x):
            keys[rows] += _row_keys(x[rows], np.uint64(b + 1) << np.uint64(40))
    _, first = np.unique(keys, return_index=True)
    return np.setdiff1d(np.arange(len(codes)), first)


def _row_keys(part: Cells, start: np.uint64) -> Array:
    """64 bits for each row, which no two different rows share but by a chance of 1 in 2**64."""
    if sparse.issparse(part):
        part = part.tocsr()
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_cell_keys(part.data, part.indices, start))])
        return sums[part.indptr[1:]] - sums[part.indptr[:-1]]
    return _cell_keys(np.asarray(part), np.arange(part.shape[1]), start).sum(axis=1, dtype=np.uint64)


def _cell_keys(x: Array, columns: Array, start: np.uint64) -> Array:
    """A cell's bits, mixed with its column's; an empty cell of a sparse table is 0, and so has none."""
    numbers = np.where(np.isnan(x), np.nan, x.astype(float) + 0.0)  # one NaN, and one zero
    keys = _mixed(numbers.view(np.uint64) ^ _mixed(columns.astype(np.uint64) + start))
    return np.where(numbers == 0, np.uint64(0), keys)


def _mixed(bits: Array) -> Array:
    """SplitMix64's finalizer: Steele, Lea and Flood (2014)."""
    with np.errstate(over="ignore"):
        bits = bits + np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return bits ^ (bits >> np.uint64(31))
