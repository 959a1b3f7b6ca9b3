"""The cells of a block of numbers, and what is wrong with them.

Cells are not searched for bad ones beforehand: a bad one makes NaN of what comes of it, and only
then is it looked for, and raises one error that says what, how many, where, and what to do.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb import numerics
from bayesnb.data import Lists, Table
from bayesnb.data.levels import Levels
from bayesnb.data.tables import Places
from bayesnb.families.base import Array, Cells
from bayesnb.families.family import Family
from bayesnb.families.support import MISSING
from bayesnb.numerics.threads import in_order, pieces
from bayesnb.numerics.views import (
    COUNTS,
    Coded,
    Columns,
    Dense,
    Flags,
    Lookup,
    WordCounts,
    column,
    entries,
    pieces_of,
    readable,
)

MOST_INTEGER = np.iinfo(np.int64).max
MOST_LEVELS = 1 << 20  # integers that a column's table of codes may span
# those of all columns of a block together, and more for each level
MOST_SPANNED = 1 << 22
PER_LEVEL = 8
Names = Sequence[Hashable]


def read_numbers(family: Family, names: Names, x: Any, n_jobs: int | None) -> Cells:
    """Return an `(r, f)` array, view or CSR as the family reads it, all cells within its support.

    Where a cell outside makes NaN of all that comes of it, it is left to that to show it: see
    `check`.
    """
    cells = as_cells(family, x)
    if not (family.shows_invalid or are_within(family, cells, n_jobs)):
        check(family, names, cells)
    return family.read(cells)


def as_cells(family: Family, x: Any) -> Cells:
    """Return numbers so that the family can read them: CSR as a view, if it takes none."""
    is_read = not sparse.issparse(x) or (family.reads_sparse and family.support.has_zero)
    return x if is_read else Dense(x)


def are_within(family: Family, x: Any, n_jobs: int | None) -> bool:
    """Return whether all cells are within the family's support, in one pass.

    The cells that CSR does not store are.
    """
    support = family.support
    missing = family.missing
    x, parts = (x.data, pieces(x.nnz, 1)) if sparse.issparse(x) else (x, pieces_of(x))
    return all(in_order(lambda part: support.holds(x[part], missing), parts, n_jobs))


def are_whole(x: Any) -> bool:
    """Return whether all numbers are whole.

    Missing ones are not. One compiled pass, which integers do not need.
    """
    if x.dtype.kind in "iub":
        return True
    if sparse.issparse(x):
        return bool(numerics.count_kernels.are_counts(readable(x.data, COUNTS), True, True))
    return all(
        numerics.count_kernels.are_counts(entries(x, rows)[0], True, True) for rows in pieces_of(x)
    )


def check(family: Family, names: Names, cells: Cells) -> None:
    """Raise if any cell is outside the family's support.

    Asked only when something shows that one is, as NaN does.
    """
    x = cells.numbers if isinstance(cells, Flags) else cells
    takes = f"{type(family).__name__} takes {family.support}."
    faults = family.support.faults
    for fault in faults if family.missing else (MISSING, *faults):
        refuse(x, names, fault.invalid, fault.message, f"{takes} {fault.advice}")


def encode_levels(
    table: Table, places: Places, levels: Sequence[Levels], unknown: Array, whole: Lookup | None
) -> Coded:
    """Return columns of levels as codes, made of whatever integers stand for their values.

    `whole` is how to look up integers, where the levels are such; see `integer_lookup`.
    """
    integers = None if whole is None else table.integers(places)
    if integers is not None and whole is not None:
        return Coded(integers, whole)
    distinct = table.distinct_of(places)
    codes = []
    for known, seen in zip(levels, distinct, strict=True):
        places_of = {level: code for code, level in enumerate(known)}
        codes.append(np.array([-1, *(places_of.get(value, -2) for value in seen.values)]))
    lookup = Lookup(np.full(len(places), -1), codes, unknown, [seen.values for seen in distinct])
    return Coded(Columns([seen.codes for seen in distinct], np.dtype(np.int32)), lookup)


def count_words(lists: Lists, levels: Levels, unknown: int, size: int) -> WordCounts:
    """Count each of `size` levels among each row's words; others count as `unknown`, or not at all.

    No dense table is made.
    """
    places = {level: code for code, level in enumerate(levels)}
    words = lists.words
    ends = lists.ends
    codes = np.array([places.get(word, -1) for word in words], np.int32)[lists.codes]
    times = np.bincount(lists.codes, minlength=len(words)).tolist()
    pairs = zip(words, times, strict=True)
    unknown_words = Counter({word: count for word, count in pairs if word not in places})
    if unknown_words and unknown < 0:
        keep = codes >= 0
        codes = codes[keep]
        ends = np.append(0, np.cumsum(keep))[ends]
    codes[codes < 0] = unknown
    counts = WordCounts((np.ones(len(codes)), codes, ends), shape=(len(ends) - 1, size))
    counts.sum_duplicates()
    counts.unknown = unknown_words
    return counts


def sample_word_lists(drawn: Array, levels: Levels, rng: Any) -> Array:
    """Return counts of levels as lists of them in a random order, `(r, k) -> (r, 1)`.

    Without nameless ones.
    """
    words = np.fromiter(levels, object, len(levels))
    lists = np.empty((len(drawn), 1), object)
    for row, counts in enumerate(drawn[:, : len(levels)]):
        lists[row, 0] = words[
            rng.permutation(np.repeat(np.arange(len(levels)), counts.astype(np.int64)))
        ].tolist()
    return lists


def integer_lookup(levels: Sequence[Levels], unknown: Array) -> Lookup | None:
    """Return how to look up integers among levels that are numbers.

    None if they lie too far apart.
    """
    if all(isinstance(known, range) and known.start == 0 for known in levels):
        places = [range(len(known)) for known in levels]
        return Lookup(np.zeros(len(levels), np.int64), places, unknown, None)
    spans = [_span(known) for known in levels]
    limit = MOST_SPANNED + PER_LEVEL * sum(map(len, levels))
    if max(spans, default=0) > MOST_LEVELS or sum(spans) > limit:
        return None
    least = np.array([int(min(known, default=0)) for known in levels], np.int64)
    return Lookup(least, [_places(known) for known in levels], unknown, None)


def _span(levels: Levels) -> float:
    """Return how many integers lie between the least and the largest level.

    Infinitely many, if levels are not numbers, or are too large: those of a file may be beyond
    every float.
    """
    if not all(isinstance(level, Real) for level in levels):
        return np.inf
    least = min(levels, default=0)
    most = max(levels, default=0)
    return np.inf if max(abs(least), abs(most)) > MOST_INTEGER else most - least + 1


def _places(levels: Levels) -> Array:
    """Return where each integer, from the least level on, stands among the levels.

    -2 for one that is not a level.
    """
    least = int(min(levels, default=0))
    places = np.full(int(max(levels)) - least + 1 if levels else 0, -2, np.int64)
    for code, level in enumerate(levels):
        if float(level).is_integer():
            places[int(level) - least] = code
    return places


def refuse(x: Any, names: Names, bad: Callable[[Array], Array], what: str, advice: str) -> None:
    """Raise if any cell of an `(r, f)` array, view or CSR is bad."""
    for rows in pieces_of(x):
        part = x[rows]
        part = part.tocoo() if sparse.issparse(part) else part
        cells = part.data if sparse.issparse(part) else part
        flagged = bad(cells)
        if flagged.any():
            at = tuple(np.argwhere(flagged)[0])
            row, column = (part.row[at], part.col[at]) if sparse.issparse(part) else at
            raise ValueError(
                f"column {names[column]!r}: {what}, first at row {rows.start + row}: {cells[at]} "
                f"({flagged.sum()} such cells in {part.shape[0]} rows). "
                f"{advice.format(name=repr(names[column]))}"
            )


def refuse_extremes(names: Names, x: Any, suspects: Array) -> None:
    """Raise if squared deviations leave the range of floats in one of the `suspects`."""
    for feature in suspects:
        numbers = column(x, feature)
        with np.errstate(over="ignore", invalid="ignore"):
            least = np.fmin.reduce(numbers)
            most = np.fmax.reduce(numbers)
            spread = most - least or 1.0
        if spread > 1e150 or spread < 1e-150 or abs(least) > 1e150:
            raise ValueError(
                f"column {names[feature]!r} runs from {least:g} to {most:g}: the squares of its "
                "deviations are beyond what a float holds. Rescale it."
            )
