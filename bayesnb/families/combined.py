"""Levels of several columns taken together: a number for each combination that was seen, and one for each other.

    table of all combinations = those that were seen, one by one + all others, which are alike

Thirty columns of two levels have 2**30 combinations, and no table of rows has seen more of them than it has rows. What
the others have is stored once, and counts as often as there are others. Fewer columns of such a table make another one,
whose cells are sums over the cells of the first: that is how a row with missing cells is read.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.dirichlet import Levels
from bayesnb.numerics import special

MOST_KEYS = 1 << 62  # integers below stand for combinations of levels
Sizes = Sequence[int]


class Pattern(NamedTuple):
    """Rows that have cells in the same columns."""

    columns: Array
    rows: Array


class Combined(Levels):
    """Arrays over the combinations of levels of some columns, `(..., n + 1)`, the last entry that of each other one.

    The n combinations, `(n, f)`, are sorted as words are in a dictionary.
    """

    layout: ClassVar[tuple[str, ...]] = ("combinations", "sizes")
    degree: ClassVar[int] = 0  # one level of a column may be all that was seen
    combinations: Array
    sizes: tuple[int, ...]

    @cached_property
    def others(self) -> float:
        """How many combinations are not among those that have an entry of their own."""
        return float(prod(self.sizes) - len(self.combinations))

    @cached_property
    def _keys(self) -> Array:
        return keys_of(self.sizes, self.combinations)[0]

    def per_die(self, values: Array) -> Array:
        return values[..., :-1].sum(axis=-1) + self.others * values[..., -1]

    @cached_property
    def _times(self) -> Array:
        return np.append(np.ones(len(self.combinations)), self.others)

    def lumped(self, values: Any) -> Any:
        """With what all others have together in place of what each has; without it, where there are none."""
        return values * self._times if self.others else values[..., :-1]

    def spread(self, values: Any) -> Any:
        """Undoes `lumped`. Both take PyMC's variables, too."""
        if self.others:
            return values / self._times
        if isinstance(values, np.ndarray):
            return np.concatenate([values, np.zeros((*values.shape[:-1], 1))], axis=-1)
        return values @ np.eye(len(self.combinations), len(self.combinations) + 1)

    def relaid(self, change: Callable[[Array], Array], combinations: Array, sizes: tuple[int, ...]) -> Self:
        """The same about other combinations: `change` of each of its arrays."""
        own = [change(getattr(self, name)) for name in self.__match_args__ if name not in self.layout]
        return type(self)(*own, combinations, sizes)  # type: ignore[call-arg]

    def having(self, combinations: Array) -> Self:
        """The same, with entries of their own for more combinations."""
        if combinations is self.combinations or np.array_equal(self.combinations, combinations):
            return self
        every = distinct(self.sizes, np.concatenate([self.combinations, combinations]))
        if len(every) == len(self.combinations):
            return self
        places = found(self.sizes, every, self.combinations)

        def laid(own: Array) -> Array:
            wider = np.repeat(own[..., -1:], len(every) + 1, axis=-1)
            wider[..., places] = own[..., :-1]
            return wider

        return self.relaid(laid, every, self.sizes)

    def beside(self, other: Any) -> Self:
        """The same, with entries of their own for all combinations that another has."""
        return self.having(other.combinations)

    def map(self, change: Callable[..., Array], *others: Self) -> Self:
        """The record of `change(array, ...)`, all of them about the combinations of any."""
        own = self
        for other in others:
            own = own.beside(other)
        return Levels.map(own, change, *(other.beside(own) for other in others))

    def gathered(self, values: Array, codes: Array, add: Any = np.add) -> Array:
        """What rows have, `(..., n + 1), (r, f) -> (..., r)`: a cell's own, or where cells are missing that of all
        combinations which the row may be, added up. NaN for a row without any cell."""
        out = np.full((*values.shape[:-1], len(codes)), np.nan)
        for columns, rows in patterns(codes):
            if len(columns) == len(self.sizes):
                out[..., rows] = values[..., self.places(codes[rows])]
            elif len(columns):
                seen, own = self.margin(values, columns, add)
                sizes = [self.sizes[j] for j in columns]
                out[..., rows] = own[..., found(sizes, seen, codes[np.ix_(rows, columns)])]
        return out

    def places(self, codes: Array) -> Array:
        """Which entry each row's combination has, `(r, f) -> (r,)`; -1, the last one, for one that has none."""
        if prod(self.sizes) < MOST_KEYS:
            return located(self._keys, keys_of(self.sizes, codes)[0])
        return found(self.sizes, self.combinations, codes)

    def margin(self, values: Array, columns: Array, add: Any = np.add) -> tuple[Array, Array]:
        """The combinations of some columns, and what they have: sums over those of all columns, or of logs of them."""
        sizes = [self.sizes[j] for j in columns]
        own = self.combinations[:, columns]
        (keys,) = keys_of(sizes, own)
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        each = float(prod(self.sizes) // prod(sizes))  # combinations that are one of fewer columns
        rest = each - np.diff(starts, append=len(keys))
        scaled = (lambda part, times: part + special.log(times)) if add is np.logaddexp else np.multiply
        seen = add.reduceat(values[..., :-1][..., order], starts, axis=-1) if len(starts) else values[..., :0]
        last = values[..., -1:]
        every = [add(seen, scaled(last, rest)), scaled(last, np.array([each]))]
        return own[order][starts], np.concatenate(every, axis=-1)


def patterns(codes: Array) -> Iterator[Pattern]:
    """Rows by the columns in which they have cells."""
    there = codes >= 0
    complete = there.all(axis=1)
    if complete.any():
        yield Pattern(np.arange(codes.shape[1]), np.flatnonzero(complete))
    rest = np.flatnonzero(~complete)
    if rest.size:
        (keys,) = keys_of((2,) * codes.shape[1], there[rest].astype(np.int64))
        order = np.argsort(keys, kind="stable")
        for rows in np.split(rest[order], np.flatnonzero(np.diff(keys[order])) + 1):
            yield Pattern(np.flatnonzero(there[rows[0]]), rows)


def keys_of(sizes: Sizes, *tables: Array) -> list[Array]:
    """Integers that are alike, and in the same order, where rows of any of the tables are, `(r, f) -> (r,)`.

    As digits they make one number. Before that is too large, the numbers that occur are numbered.
    """
    edges = np.cumsum([len(table) for table in tables])[:-1]
    codes = np.concatenate(tables) if len(tables) > 1 else tables[0]
    keys, reach = np.zeros(len(codes), np.int64), 1
    for column, size in zip(codes.T, sizes, strict=True):
        if reach * size >= MOST_KEYS:
            values, keys = np.unique(keys, return_inverse=True)
            reach = len(values)
        keys *= size
        keys += column
        reach *= size
    return np.split(keys, edges)


def distinct(sizes: Sizes, codes: Array) -> Array:
    """The rows that differ, sorted."""
    _, first = np.unique(keys_of(sizes, codes)[0], return_index=True)
    return codes[first]


def found(sizes: Sizes, known: Array, codes: Array) -> Array:
    """Where rows stand among others, which are sorted; -1 for a row that is not there."""
    return located(*keys_of(sizes, known, codes))


def located(known: Array, keys: Array) -> Array:
    if not len(known):
        return np.full(len(keys), -1)
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[places] == keys, places, -1)


def smallest(sizes: Sizes) -> np.dtype:
    """The type of integers that holds all codes."""
    return np.min_scalar_type(max(sizes, default=1) - 1)
