"""Tables of all combinations of levels of some columns, of which only those that were seen are
stored.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.base import Array, Cells
from bayesnb.families.dirichlet import Levels, as_level
from bayesnb.numerics import special

MOST_KEYS = 1 << 62  # integers below stand for combinations of levels
MOST = 1 << 16  # combinations that one row with missing cells may be
Sizes = Sequence[int]


class Combined(Levels):
    """Arrays over the combinations of levels of some columns, `(..., n + 1)`, the last entry that
    of each other one.

    The n combinations, `(n, f)`, are sorted as words are in a dictionary.
    """

    layout: ClassVar[tuple[str, ...]] = ("combinations", "sizes")
    degree: ClassVar[int] = 0  # one level of a column may be all that was seen
    combinations: Array
    sizes: tuple[int, ...]

    @cached_property
    def others(self) -> float:
        """The number of combinations without an entry."""
        return float(prod(self.sizes) - len(self.combinations))

    @cached_property
    def _keys(self) -> Array:
        return keys_of(self.sizes, self.combinations)[0]

    @cached_property
    def _times(self) -> Array:
        return np.append(np.ones(len(self.combinations)), self.others)

    def level_sums(self, values: Array) -> Array:
        return values[..., :-1].sum(axis=-1) + self.others * values[..., -1]

    def lumped(self, values: Any) -> Any:
        """Values with the sum over all others in place of that of each.

        Values stay as they are where there are no others.
        """
        return values * self._times if self.others else values[..., :-1]

    def spread(self, values: Any) -> Any:
        """The inverse of `lumped`. Both take PyMC's variables, too."""
        if self.others:
            return values / self._times
        if isinstance(values, np.ndarray):
            return np.concatenate([values, np.zeros((*values.shape[:-1], 1))], axis=-1)
        return values @ np.eye(len(self.combinations), len(self.combinations) + 1)

    def relaid(
        self, change: Callable[[Array], Array], combinations: Array, sizes: tuple[int, ...]
    ) -> Self:
        """The record about other combinations: `change` of each of its arrays."""
        fields = [
            change(getattr(self, name)) for name in self.__match_args__ if name not in self.layout
        ]
        return type(self)(*fields, combinations, sizes)  # type: ignore[call-arg]

    def having(self, combinations: Array) -> Self:
        """The record with more combinations that have an entry."""
        if combinations is self.combinations or np.array_equal(self.combinations, combinations):
            return self
        union = distinct(self.sizes, np.concatenate([self.combinations, combinations]))
        if len(union) == len(self.combinations):
            return self
        places = places_of_codes(self.sizes, union, self.combinations)

        def laid(values: Array) -> Array:
            wider = np.repeat(values[..., -1:], len(union) + 1, axis=-1)
            wider[..., places] = values[..., :-1]
            return wider

        return self.relaid(laid, union, self.sizes)

    def beside(self, other: Any) -> Self:
        """The record with an entry for each combination that another has one for."""
        return self.having(other.combinations)

    def map(self, change: Callable[..., Array], *others: Self) -> Self:
        """The record of `change(array, ...)`, all of them about the combinations of any."""
        wide = self
        for other in others:
            wide = wide.beside(other)
        return Levels.map(wide, change, *(other.beside(wide) for other in others))

    def gathered(self, values: Array, codes: Array, add: Any = np.add) -> Array:
        """The values of rows, `(..., n + 1), (r, f) -> (..., r)`; NaN for a row without any cell.

        Where cells are missing, those of all combinations that the row may be are added up.
        """
        out = np.full((*values.shape[:-1], len(codes)), np.nan)
        for columns, rows in patterns(codes):
            if len(columns) == len(self.sizes):
                out[..., rows] = values[..., self.places(codes[rows])]
            elif len(columns):
                seen, summed = self.margin(values, columns, add)
                sizes = [self.sizes[j] for j in columns]
                out[..., rows] = summed[
                    ..., places_of_codes(sizes, seen, codes[np.ix_(rows, columns)])
                ]
        return out

    def places(self, codes: Array) -> Array:
        """Entry of each row's combination, `(r, f) -> (r,)`.

        -1, the last one, for one that has none.
        """
        if prod(self.sizes) < MOST_KEYS:
            return located(self._keys, keys_of(self.sizes, codes)[0])
        return places_of_codes(self.sizes, self.combinations, codes)

    def margin(self, values: Array, columns: Array, add: Any = np.add) -> tuple[Array, Array]:
        """The combinations of some columns, and what they have: sums over those of all columns, or
        of logs of them.
        """
        sizes = [self.sizes[j] for j in columns]
        margin = self.combinations[:, columns]
        (keys,) = keys_of(sizes, margin)
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        each = float(prod(self.sizes) // prod(sizes))  # combinations that are one of fewer columns
        rest = each - np.diff(starts, append=len(keys))
        scaled = (
            (lambda part, times: part + special.log(times)) if add is np.logaddexp else np.multiply
        )
        seen = (
            add.reduceat(values[..., :-1][..., order], starts, axis=-1)
            if len(starts)
            else values[..., :0]
        )
        last = values[..., -1:]
        sums = [add(seen, scaled(last, rest)), scaled(last, np.array([each]))]
        return margin[order][starts], np.concatenate(sums, axis=-1)


def patterns(codes: Array) -> Iterator[tuple[Array, Array]]:
    """Columns, and the rows that have cells in just these columns."""
    there = codes >= 0
    complete = there.all(axis=1)
    if complete.any():
        yield np.arange(codes.shape[1]), np.flatnonzero(complete)
    rest = np.flatnonzero(~complete)
    if rest.size:
        (keys,) = keys_of((2,) * codes.shape[1], there[rest].astype(np.int64))
        order = np.argsort(keys, kind="stable")
        for rows in np.split(rest[order], np.flatnonzero(np.diff(keys[order])) + 1):
            yield np.flatnonzero(there[rows[0]]), rows


def keys_of(sizes: Sizes, *tables: Array) -> list[Array]:
    """Integers that are alike, and in the same order, where rows of any of the tables are.

    Shapes: `(r, f) -> (r,)`.

    As digits they make one number. Before that is too large, the numbers that occur are numbered.
    """
    edges = np.cumsum([len(table) for table in tables])[:-1]
    codes = np.concatenate(tables) if len(tables) > 1 else tables[0]
    keys = np.zeros(len(codes), np.int64)
    reach = 1
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


def places_of_codes(sizes: Sizes, known: Array, codes: Array) -> Array:
    """Positions of rows among others, which are sorted; -1 for a row that is not there."""
    return located(*keys_of(sizes, known, codes))


def located(known: Array, keys: Array) -> Array:
    if not len(known):
        return np.full(len(keys), -1)
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[places] == keys, places, -1)


def smallest(sizes: Sizes) -> np.dtype:
    """The type of integers that holds all codes."""
    return np.min_scalar_type(max(sizes, default=1) - 1)


def fresh(table: Combined, several: int, rng: np.random.Generator) -> Array:
    """Draw combinations without an entry, `(n, f)`, each as probable as any other."""
    if 2 * len(table.combinations) > prod(table.sizes):
        codes = np.stack(np.unravel_index(np.arange(prod(table.sizes)), table.sizes), axis=-1)
        rest = codes[table.places(codes) < 0]
        return rest[rng.integers(len(rest), size=several)] if several else rest[:0]
    codes = rng.integers(table.sizes, size=(several, len(table.sizes)))
    # at most half of them, on average
    while (seen := np.flatnonzero(table.places(codes) >= 0)).size:
        codes[seen] = rng.integers(table.sizes, size=(len(seen), len(table.sizes)))
    return codes


def unseen(table: Combined, x: Cells) -> Array:
    """The combinations without an entry that rows hold, or may hold where cells are missing."""
    codes = as_level(x[:])
    parts = [
        _completed(table, columns, codes[rows]) for columns, rows in patterns(codes) if len(columns)
    ]
    possible = distinct(
        table.sizes, np.concatenate([np.empty((0, len(table.sizes)), np.intp), *parts])
    )
    return possible[table.places(possible) < 0].astype(smallest(table.sizes))


def _completed(table: Combined, columns: Array, codes: Array) -> Array:
    """All combinations that rows with cells in these columns may be."""
    rest = [j for j in range(len(table.sizes)) if j not in set(columns.tolist())]
    several = prod(table.sizes[j] for j in rest)
    if several > MOST:
        raise ValueError(
            f"a row lacks {len(rest)} of the {len(table.sizes)} columns of a joint table, and may "
            f"be {several} "
            f"combinations of their levels, more than {MOST}: each of them would have to be "
            "drawn. Draw for rows with "
            "fewer missing cells; predict_proba and predict_interval need no draws."
        )
    rows = distinct([table.sizes[j] for j in columns], codes[:, columns])
    completed = np.repeat(np.empty((len(rows), len(table.sizes)), np.intp), several, axis=0)
    completed[:, columns] = np.repeat(rows, several, axis=0)
    if rest:
        others = np.indices([table.sizes[j] for j in rest]).reshape(len(rest), -1).T
        completed[:, rest] = np.tile(others, (len(rows), 1))
    return completed
