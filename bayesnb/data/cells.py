"""The cells of a block as its family reads them: levels as codes, words as counts, numbers.

Levels of two parts of a table are united; integers may be codes themselves; unknown levels give a
warning. Numbers are not checked beforehand: an invalid one turns results into NaN, and only then is
searched for, with one error that says what, how many, where, and what to do.
"""

import warnings
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.data import Lists, Table
from bayesnb.data.columns import mixed_levels
from bayesnb.data.tables import Places
from bayesnb.families.base import Array, Cells
from bayesnb.families.family import MISSING, Family, Support
from bayesnb.numerics.threads import in_order, pieces
from bayesnb.numerics.views import (
    Coded,
    Columns,
    Dense,
    Flags,
    Lookup,
    WordCounts,
    column,
    pieces_of,
)

Names = Sequence[Hashable]
Levels = Sequence[Any]  # a tuple, or a range: see `compact`
MAX_CODES = 1 << 16  # all codes up to here have a place, whether they occur or not
MAX_EMPTY = 16  # beyond, at most so many places per code that occurs
# span of integers in the lookup table of a column, and extra span per level
MIN_SPAN, SPAN_OF_LEVEL = 1 << 12, 1 << 7
MAX_INTEGER = np.iinfo(np.int64).max
NEVER_LEARNT = "They were never learnt, so they cannot be forgotten."
HERE = str(Path(__file__).parent.parent)
Unseen = dict[Hashable, dict[Any, int]]


# Levels


def compact(values: Sequence[Any]) -> Sequence[Any]:
    """Return values as a tuple, or as a range, to save memory, if they are consecutive integers."""
    if isinstance(values, range) and values.step == 1:
        return values
    if len(values) and all(type(value) is int for value in values):
        whole = range(values[0], values[0] + len(values))
        if list(values) == list(whole):
            return whole
    return tuple(values)


def is_prefix(levels: Levels, first: Levels) -> bool:
    """Return whether levels begin with those of `first`."""
    return tuple(levels[: len(first)]) == tuple(first)


def extended(known: Levels, more: Levels) -> Levels:
    """Return the known levels, followed by unknown ones of `more`."""
    return compact(tuple(dict.fromkeys((*known, *more))))


def united_levels(name: Hashable, a: Levels, b: Levels) -> Levels:
    """Return the levels of two parts, sorted unless those of one begin with those of the other."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    if is_prefix(longer, shorter):
        return longer
    try:
        return compact(sorted({*a, *b}))
    except TypeError:
        raise mixed_levels(name, (*a, *b)) from None


def codes_up_to(name: Hashable, known: Levels, values: Levels, least: int) -> Levels:
    """Return 0, 1, ... up to the largest code; plain levels if no value is a whole number.

    If codes exceed `MAX_CODES`, and few of those up to the largest occur, the levels are those that
    occur and those below `least`, as a table of all would be mostly empty.
    """
    # the ends of a range suffice, and it may have 60,000 members in each batch
    old = (*known[:1], *known[-1:]) if isinstance(known, range) else known
    levels = (*old, *sorted(set(values) - set(old)))
    lowest = min(levels)
    highest = max(levels)
    if lowest < 0 or highest == np.inf:
        raise ValueError(
            "Negative values in data passed as codes, or infinite ones: column "
            f"{name!r} holds {lowest if lowest < 0 else highest}."
        )
    is_whole = [isinstance(value, Real) and float(value).is_integer() for value in levels]
    if not any(is_whole):
        return levels
    if not all(is_whole):
        raise ValueError(
            f"column {name!r} holds {levels[is_whole.index(False)]}: codes of categories are 0, 1, "
            "2, ... For any other levels use NaiveBayes(Categorical())."
        )
    size = max(int(highest) + 1, least)
    if size > MAX_CODES and size > MAX_EMPTY * (len(known) + len(values)):
        kept = known if len(known) else range(least)
        return (*kept, *sorted({int(value) for value in values} - {*kept}))
    return range(size)


def places_among(
    levels: Sequence[Levels], larger: Sequence[Levels], sizes: Sequence[int], reserve: bool
) -> Array:
    """Return the places of levels of columns in larger sets of levels, end to end, reserved ones
    last.
    """
    start = 0
    places: list[int] = []
    for few, many, size in zip(levels, larger, sizes, strict=True):
        if is_prefix(many, few):
            places += range(start, start + len(few))
        else:
            at = {level: start + place for place, level in enumerate(many)}
            places += [at[level] for level in few]
        start += size
        if reserve or not few:  # a column without levels has one place
            places.append(start - 1)
    return np.array(places)


# Unknown levels


class UnseenLevelWarning(UserWarning):
    """Cells hold levels or words not seen in training; they are left out for all classes.

    One warning names all columns, levels and counts. With ``Categorical(unseen="error")`` it is an
    error, and ``unseen="reserve"`` treats new levels as one extra level.

    Attributes
    ----------
    unseen : dict
        How often each level occurs, column by column.

    See Also
    --------
    Categorical : Its parameter ``unseen`` says what happens to new levels.
    """

    unseen: Unseen


def unseen_message(unseen: Unseen) -> str:
    parts = []
    for name, times in unseen.items():
        most = Counter(times).most_common(5)
        shown = ", ".join(f"{level!r} ({count} times)" for level, count in most)
        more = ", ..." if len(times) > 5 else ""
        parts.append(f"column {name!r} has levels that the model does not know: {shown}{more}")
    return "; ".join(parts) + "."


def warn(unseen: Unseen) -> None:
    """Warn once of all unseen levels, at the caller's line, if there are any."""
    if unseen:
        message = f"{unseen_message(unseen)} These cells are left out for all classes."
        warning = UnseenLevelWarning(message)
        warning.unseen = unseen
        warnings.warn(warning, skip_file_prefixes=(HERE,))


@contextmanager
def gathering_unseen(unseen: Unseen) -> Iterator[None]:
    """Collect warnings of unseen levels over batches; show other warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnseenLevelWarning)
        yield
    for each in caught:
        if isinstance(each.message, UnseenLevelWarning):
            for name, times in each.message.unseen.items():
                unseen[name] = dict(Counter(unseen.get(name)) + Counter(times))
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


# Levels and words as codes


def encode_levels(
    table: Table, places: Places, levels: Sequence[Levels], unknown: Array, whole: Lookup | None
) -> Coded:
    """Return columns of levels as codes; `whole` looks up integer levels, see `integer_lookup`."""
    integers = None if whole is None else table.integers(places)
    if whole is not None and integers is not None:
        return Coded(integers, whole)
    distinct = table.distinct_of(places)
    codes = []
    for known, seen in zip(levels, distinct, strict=True):
        code_of = {level: code for code, level in enumerate(known)}
        codes.append(np.array([-1, *(code_of.get(value, -2) for value in seen.values)]))
    lookup = Lookup(np.full(len(places), -1), codes, unknown, [seen.values for seen in distinct])
    return Coded(Columns([seen.codes for seen in distinct], np.dtype(np.int32)), lookup)


def integer_lookup(levels: Sequence[Levels], unknown: Array) -> Lookup | None:
    """Return a lookup table for levels that are numbers.

    None if some are not, are infinite, or too far apart: levels in a file may exceed every float.
    """
    least = []
    tables: list[Array | range] = []
    for known in levels:
        if not all(isinstance(level, Real) for level in known):
            return None
        low: Any = min(known, default=0)
        high: Any = max(known, default=-1)
        if low == -np.inf or high == np.inf:
            return None
        start = int(low)
        span = int(high) + 1 - start
        if span > MIN_SPAN + SPAN_OF_LEVEL * len(known) or abs(start) + span > MAX_INTEGER:
            return None
        least.append(start)
        if isinstance(known, range):
            tables.append(range(span))
            continue
        table = np.full(span, -2, np.int64)  # not a level
        for code, level in enumerate(known):
            if float(level).is_integer():
                table[int(level) - start] = code
        tables.append(table)
    return Lookup(np.array(least, np.int64), tables, unknown, None)


def count_words(lists: Lists, levels: Levels, unknown: int, size: int) -> WordCounts:
    """Count levels among the words of each row, as CSR; other words count as `unknown`, or not at
    all.
    """
    code_of = {level: code for code, level in enumerate(levels)}
    codes = np.array([code_of.get(word, unknown) for word in lists.words], np.int32)[lists.codes]
    keep = codes >= 0
    ends = np.append(0, np.cumsum(keep))[lists.ends]
    shape = len(ends) - 1, size
    counts = WordCounts((np.ones(ends[-1]), codes[keep], ends), shape=shape)
    counts.sum_duplicates()
    counts.unknown = Counter(lists.words[word] for word in lists.codes[codes == unknown].tolist())
    return counts


def sample_word_lists(drawn: Array, levels: Levels, rng: Any) -> Array:
    """Convert counts of words to lists in random order, `(r, k) -> (r, 1)`, without unnamed
    words.
    """
    words = np.fromiter(levels, object, len(levels))
    lists = np.empty((len(drawn), 1), object)
    for row, counts in enumerate(drawn[:, : len(levels)]):
        lists[row, 0] = rng.permutation(np.repeat(words, counts.astype(np.int64))).tolist()
    return lists


# Numbers


def read_numbers(family: Family, names: Names, x: Any, n_jobs: int | None) -> Cells:
    """Return an `(r, f)` array, view or CSR as the family reads it, with cells in its support.

    If invalid cells turn results into NaN, they are found later: see `check`.
    """
    cells = as_cells(family, x)
    if not (family.shows_invalid or are_within(family.support, cells, family.missing, n_jobs)):
        check(family, names, cells)
    return family.read(cells)


def as_cells(family: Family, x: Any) -> Cells:
    """Return numbers in a form that the family can read: CSR as a dense view if it needs arrays."""
    is_read = not sparse.issparse(x) or (family.reads_sparse and family.support.has_zero)
    return x if is_read else Dense(x)


def are_within(support: Support, x: Any, missing: bool, n_jobs: int | None) -> bool:
    """Return whether all cells are in a support, or missing if allowed, in one pass.

    Only stored cells of CSR are checked.
    """
    x, parts = (x.data, pieces(x.nnz, 1)) if sparse.issparse(x) else (x, pieces_of(x))

    def holds(part: slice) -> bool:
        return support.holds(x[part], missing)

    return all(in_order(holds, parts, n_jobs))


def check(family: Family, names: Names, cells: Cells) -> None:
    """Raise if any cell of an `(r, f)` array, view or CSR is outside the family's support.

    Called only when NaN shows that there is one.
    """
    x = cells.numbers if isinstance(cells, Flags) else cells
    faults = family.support.faults
    for fault in faults if family.missing else (MISSING, *faults):
        for rows in pieces_of(x):
            part = sparse.coo_array(x[rows]) if sparse.issparse(x) else x[rows]
            numbers = part.data if sparse.issparse(part) else part
            invalid = fault.invalid(numbers)
            if not invalid.any():
                continue
            first = int(invalid.argmax())
            row, place = divmod(first, len(names))
            if sparse.issparse(part):
                row, place = part.row[first], part.col[first]
            name = names[place]
            raise ValueError(
                f"column {name!r}: {fault.message}, first at row {rows.start + row}: "
                f"{numbers.flat[first]} ({invalid.sum()} such cells in {part.shape[0]} rows). "
                f"{type(family).__name__} takes {family.support}. "
                f"{fault.advice.format(name=repr(name))}"
            )


def refuse_extremes(names: Names, x: Any, suspects: Array) -> None:
    """Raise if squared deviations overflow in one of the `suspects`."""
    for feature in suspects:
        numbers = column(x, feature)
        with np.errstate(over="ignore", invalid="ignore"):
            least = np.fmin.reduce(numbers)
            most = np.fmax.reduce(numbers)
            spread = most - least or 1.0
        if spread > 1e150 or spread < 1e-150 or abs(least) > 1e150:
            raise ValueError(
                f"column {names[feature]!r} ranges from {least:g} to {most:g}: squared deviations "
                "would overflow. Rescale it."
            )
