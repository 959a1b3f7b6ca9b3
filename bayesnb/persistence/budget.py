"""The budget of reading one file: a constant plus an amount for each of its bytes, for all of its parts together.

A unit is a byte that stays allocated, or about a nanosecond. What lies in the file as it stands, its text and the
numbers of its arrays, is paid by its length; `take` pays for what a few bytes can ask for over and over: an array each
time it is referred to, a shape, levels and columns that are given as a number.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from math import prod
from typing import Any

FREE = 1 << 27  # units; more than two million levels or columns that are their positions
PER_BYTE = 64  # a small value of JSON takes that as Python's object, and a model refers to an array some times at most
PER_VALUE = 64  # units of a Python integer in a tuple, which is also compared
MOST_AXES = 8
MOST_DEPTH = 200
TOO_DEEP = f"more than {MOST_DEPTH} lists and mappings lie within each other"
MOST_ALIKE = 64  # values of one hash: of floats there are 34 at most, as their exponents count modulo 61


class Unreadable(ValueError):
    """A file that cannot be read as a model or a shard; the message says why."""


class Budget:
    """Memory and time that remain for reading a file of this length."""

    def __init__(self, length: int) -> None:
        self.left = FREE + PER_BYTE * length

    def take(self, units: int) -> None:
        """Charge units before they are spent; raise `Unreadable` where too few are left."""
        self.left -= units
        if self.left < 0:
            raise Unreadable("its contents would take more memory and time than any file of its length needs")

    def shape(self, sizes: Any, itemsize: int) -> tuple[int, ...]:
        """Return a shape, charged as if no axis were empty: sums over an empty axis are as large as the others."""
        if not (isinstance(sizes, list) and len(sizes) <= MOST_AXES and all(is_count(size) for size in sizes)):
            raise Unreadable(f"{sizes!r:.50} is not the shape of an array")
        self.take(prod(max(size, 1) for size in sizes) * itemsize)
        return tuple(sizes)

    def positions(self, count: Any) -> range:
        """Return the numbers 0, 1, ..., count - 1, charged one by one."""
        if not is_count(count):
            raise Unreadable(f"{count!r:.50} is not a number of columns or levels")
        self.take(PER_VALUE * count)
        return range(count)


def is_count(value: Any) -> bool:
    """Whether a value is a non-negative integer."""
    return type(value) is int and value >= 0


def are_positions(values: Sequence[Any]) -> bool:
    """Whether values are 0, 1, ... in this order."""
    if isinstance(values, range):
        return values == range(len(values))
    return all(type(value) is int and value == place for place, value in enumerate(values))


def check_depth(document: Any) -> None:
    """Raise for a document that is nested deeper than that of any model."""
    level, depth = [document], 0
    while level:
        if depth > MOST_DEPTH:
            raise Unreadable(TOO_DEEP)
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list)))
        level, depth = [value for values in inner for value in values], depth + 1


def check_hashes(values: Collection[Any], where: str) -> None:
    """Raise for values that would make a set or a mapping slow: too many different ones of the same hash.

    Each of n such values is compared with all others, n**2 times together. Texts have hashes that nobody can foresee;
    integers, and tuples of integers, can be chosen to have the same.
    """
    if len(values) <= MOST_ALIKE:
        return
    hashes = [_hash_of(value) for value in values]
    crowded = {key for key, count in Counter(hashes).items() if count > MOST_ALIKE and key is not None}
    if crowded:
        pairs = {(key, repr(value)) for key, value in zip(hashes, values, strict=True) if key in crowded}
        if max(Counter(key for key, _ in pairs).values()) > MOST_ALIKE:
            raise Unreadable(f"{where}: more than {MOST_ALIKE} different values have the same hash")


def _hash_of(value: Hashable) -> int | None:
    try:
        return hash(value)
    except TypeError:
        return None  # a list or a mapping
