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
        parts = [readable(x.data, COUNTS)]
    else:
        parts = [entries(x, rows)[0] for rows in pieces_of(x)]
    return all(numerics.count_kernels.are_counts(part, True, True) for part in parts)


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
    if whole is not None and (integers := table.integers(places)) is not None:
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
    ends = lists.ends
    codes = np.array([places.get(word, unknown) for word in lists.words], np.int32)[lists.codes]
    times = np.bincount(lists.codes, minlength=len(lists.words)).tolist()
    pairs = zip(lists.words, times, strict=True)
    unknown_words = Counter({word: count for word, count in pairs if word not in places})
    if unknown_words and unknown < 0:
        keep = codes >= 0
        codes = codes[keep]
        ends = np.append(0, np.cumsum(keep))[ends]
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
        lists[row, 0] = rng.permutation(np.repeat(words, counts.astype(np.int64))).tolist()
    return lists


def integer_lookup(levels: Sequence[Levels], unknown: Array) -> Lookup | None:
    """Return how to look up integers among levels that are numbers.

    None if there are others, or they lie too far apart: those of a file may be beyond every float.
    """
    if all(isinstance(known, range) and known.start == 0 for known in levels):
        places = [range(len(known)) for known in levels]
        return Lookup(np.zeros(len(levels), np.int64), places, unknown, None)
    if not all(isinstance(level, Real) for known in levels for level in known):
        return None
    least = [int(min(known, default=0)) for known in levels]
    ends = [int(max(known, default=-1)) + 1 for known in levels]
    spans = [end - start for start, end in zip(least, ends, strict=True)]
    limit = MOST_SPANNED + PER_LEVEL * sum(map(len, levels))
    is_wide = max(spans) > MOST_LEVELS or sum(spans) > limit
    if is_wide or min(least) < -MOST_INTEGER or max(ends) > MOST_INTEGER:
        return None
    tables = [_places(*each) for each in zip(levels, least, spans, strict=True)]
    return Lookup(np.array(least, np.int64), tables, unknown, None)


def _places(levels: Levels, least: int, span: int) -> Array:
    """Return where each integer, from the least level on, stands among the levels.

    -2 for one that is not a level.
    """
    places = np.full(span, -2, np.int64)
    for code, level in enumerate(levels):
        if float(level).is_integer():
            places[int(level) - least] = code
    return places


def refuse(x: Any, names: Names, bad: Callable[[Array], Array], what: str, advice: str) -> None:
    """Raise if any cell of an `(r, f)` array, view or CSR is bad."""
    for rows in pieces_of(x):
        part = sparse.coo_array(x[rows]) if sparse.issparse(x) else x[rows]
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
