"""The levels of a column: those of two parts of a table together, and integers that stand for codes."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray
Levels = tuple[Any, ...]
MOST_CODES = 1 << 24


def united_levels(name: Hashable, a: Levels, b: Levels) -> Levels:
    """The levels of both, sorted, unless those of one begin like those of the other."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    if longer[: len(shorter)] == shorter:
        return longer
    try:
        return tuple(sorted({*a, *b}))
    except TypeError:
        odd = sorted({type(level).__name__ for level in (*a, *b)})
        raise ValueError(
            f"column {name!r} mixes levels of the types {', '.join(odd)}; make them one type, say .astype(str)."
        ) from None


def codes_up_to(name: Hashable, known: Levels, found: Levels, least: int) -> Levels:
    """0, 1, ... up to the largest code, as scikit-learn counts; a column without any whole number has plain levels."""
    every = known + tuple(sorted(set(found) - set(known)))
    whole = [value for value in every if _is_whole(value)]
    if min(every) < 0 or max(every) == np.inf:
        odd = min(every) if min(every) < 0 else max(every)
        raise ValueError(f"Negative values in data passed as codes, or infinite ones: column {name!r} holds {odd}.")
    if not whole:
        return every
    if len(whole) < len(every):
        odd = next(value for value in every if not _is_whole(value))
        raise ValueError(
            f"column {name!r} holds {odd}: codes of categories are 0, 1, 2, ... "
            "For other levels: NaiveBayes(Categorical())."
        )
    size = max(int(max(whole)) + 1, least)
    if size > MOST_CODES:
        raise ValueError(
            f"column {name!r} holds the code {size - 1}, which would make {size} levels. "
            "NaiveBayes(Categorical()) takes any values as levels, and only those that occur."
        )
    return tuple(range(size))


def told_apart(names: Sequence[Hashable], columns: Sequence[Hashable]) -> list[Hashable]:
    """Names of words, those that stand twice with their columns before them, as `column=word`."""
    times = Counter(names)
    pairs = zip(names, columns, strict=True)
    return [name if times[name] == 1 or name == column else f"{column}={name}" for name, column in pairs]


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _is_whole(value: Any) -> bool:
    return is_number(value) and float(value).is_integer()


def places_among(own: Sequence[Levels], every: Sequence[Levels], sizes: Sequence[int], reserve: bool) -> Array:
    """Where columns' levels stand among those of larger dice, which lie end to end; the reserved one is the last."""
    ends = np.cumsum(sizes)
    places: list[int] = []
    for few, many, size, end in zip(own, every, sizes, ends.tolist(), strict=True):
        at = {level: end - size + place for place, level in enumerate(many)}
        places += [at[level] for level in few] + ([end - 1] if reserve else [])
        places += [] if few or reserve else [end - size]  # a column without levels has a die of one
    return np.array(places, np.int64)
