"""Levels of a column: of two parts of a table, integers that are codes, and unknown levels."""

import warnings
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import eq
from pathlib import Path
from typing import Any, Self

import numpy as np

Array = np.ndarray
Levels = Sequence[Any]  # a tuple, or a range: see `compact`
MOST_SPANNED = 1 << 16  # codes that all have a place, whether they occur or not
MOST_EMPTY = 16  # places for each code that occurs, beyond so many


def compact(values: Sequence[Any]) -> Sequence[Any]:
    """Return values as a range, to save memory, if they are consecutive integers; else a tuple."""
    if len(values) == 0 or type(values[0]) is not int:
        return tuple(values)
    whole = range(values[0], values[0] + len(values))
    if values == whole:  # a range is equal without a look at its members
        return whole
    are_integers = set(map(type, values)) == {int}
    return whole if are_integers and list(values) == list(whole) else tuple(values)


def is_prefix(levels: Levels, first: Levels) -> bool:
    """Return whether the first of the levels are those of `first`."""
    start = levels[: len(first)]
    if type(start) is type(first):
        return start == first
    return len(start) == len(first) and all(map(eq, start, first))  # no range equals a tuple


def extended(known: Levels, more: Levels) -> Levels:
    """Return the known levels, and after them those of `more` that are not known."""
    if is_prefix(more, known):
        return more
    old = set(known)
    return compact((*known, *(level for level in more if level not in old)))


def united_levels(name: Hashable, a: Levels, b: Levels) -> Levels:
    """Return the levels of two parts, sorted, unless those of one begin like those of the other."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    if is_prefix(longer, shorter):
        return longer
    try:
        return compact(sorted({*a, *b}))
    except TypeError:
        types = sorted({type(level).__name__ for level in (*a, *b)})
        raise ValueError(
            f"column {name!r} mixes levels of the types {', '.join(types)}. Convert them to one "
            "type, for instance with .astype(str)."
        ) from None


def codes_up_to(name: Hashable, known: Levels, values: Levels, least: int) -> Levels:
    """Return 0, 1, ... up to the largest code; plain levels if no value is a whole number.

    Where codes go beyond `MOST_SPANNED`, and few of those up to the largest occur, the levels are
    those that occur and those below `least`: a table of all would be mostly empty.
    """
    old = (known[0], known[-1]) if isinstance(known, range) else known
    levels = (*old, *sorted(set(values) - set(old)))
    for level in (min(levels), max(levels)):
        if level < 0 or level == np.inf:
            raise ValueError(
                "Negative values in data passed as codes, or infinite ones: column "
                f"{name!r} holds {level}."
            )
    broken = [value for value in levels if not (is_number(value) and float(value).is_integer())]
    if len(broken) == len(levels):
        return levels
    if broken:
        raise ValueError(
            f"column {name!r} holds {broken[0]}: codes of categories are 0, 1, 2, ... "
            "For any other levels use NaiveBayes(Categorical())."
        )
    size = max(int(max(levels)) + 1, least)
    if size > MOST_SPANNED and size > MOST_EMPTY * (len(known) + len(values)):
        kept = known if len(known) else range(least)
        return (*kept, *sorted({int(value) for value in values} - {*kept}))
    return range(size)


def qualified_names(names: Sequence[Hashable], columns: Sequence[Hashable]) -> list[Hashable]:
    """Return names of words.

    Those that stand twice have their columns before them, as `column=word`.
    """
    times = Counter(names)
    pairs = zip(names, columns, strict=True)
    return [
        name if times[name] == 1 or name == column else f"{column}={name}" for name, column in pairs
    ]


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def places_among(
    levels: Sequence[Levels], larger: Sequence[Levels], sizes: Sequence[int], reserve: bool
) -> Array:
    """Return where columns' levels stand among larger sets of them, end to end.

    The reserved level is the last.
    """
    start = 0
    places: list[Any] = []
    for few, many, size in zip(levels, larger, sizes, strict=True):
        if is_prefix(many, few):
            places.append(start + np.arange(len(few)))
        else:
            at = {level: start + place for place, level in enumerate(many)}
            places.append([at[level] for level in few])
        start += size
        if reserve or not few:  # a column without levels takes one place
            places.append([start - 1])
    return np.concatenate(places)


NEVER_LEARNT = "They were never learnt, so they cannot be forgotten."
HERE = str(Path(__file__).parent.parent)
Unseen = dict[Hashable, Counter]


class UnseenLevelWarning(UserWarning):
    """Cells hold levels or words that training never saw; they are left out for all classes.

    One warning names all columns, levels and counts. ``Categorical(unseen="error")`` makes it an
    error, and ``unseen="reserve"`` counts new levels as one more level.

    Attributes
    ----------
    unseen : dict
        How often each level occurs, column by column.

    See Also
    --------
    Categorical : What happens to new levels is its ``unseen``.
    """

    unseen: "Unseen"  # how often each of them occurs, column by column

    @classmethod
    def of(cls, unseen: "Unseen") -> Self:
        """Return the warning that names these levels, column by column."""
        warning = cls(f"{unseen_message(unseen)} These cells are left out, for all classes alike.")
        warning.unseen = unseen
        return warning


def unseen_message(unseen: Unseen) -> str:
    parts = []
    for name, times in unseen.items():
        shown = ", ".join(f"{level!r} ({count} times)" for level, count in times.most_common(5))
        more = ", ..." if len(times) > 5 else ""
        parts.append(f"column {name!r} has levels that the model does not know: {shown}{more}")
    return "; ".join(parts) + "."


def warn(unseen: "Unseen") -> None:
    """Warn once of all levels that were not seen, at the caller's line."""
    warnings.warn(UnseenLevelWarning.of(unseen), skip_file_prefixes=(HERE,))


@dataclass(eq=False)
class UnseenCollector:
    """Levels that were not seen, gathered from batches until one warning names them all."""

    levels: dict[Any, dict[Any, int]] = field(default_factory=dict)  # and how often each occurs

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Keep warnings of levels that were not seen; all others are shown."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            if not isinstance(warning.message, UnseenLevelWarning):
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
                continue
            for name, times in warning.message.unseen.items():
                self.levels[name] = dict(Counter(self.levels.get(name)) + times)

    def warn(self) -> None:
        """Warn once, if a level was not seen, at the caller's line."""
        if self.levels:
            warn({name: Counter(times) for name, times in self.levels.items()})
