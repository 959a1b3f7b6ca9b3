"""Tables of all combinations of levels of some columns, of which only those that were seen are
stored.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.base import Array, Cells
from bayesnb.families.levels import Layout, as_level
from bayesnb.families.record import Record
from bayesnb.numerics import special
from bayesnb.numerics.views import EVERY

MOST_KEYS = 1 << 62  # integers below stand for combinations of levels
MOST_DRAWN = 1 << 16  # combinations that one row with missing cells may be
Sizes = Sequence[int]


@dataclass(frozen=True, eq=False)
class Combinations(Layout):
    """Combinations of levels of some columns, `(..., n + 1)`, the last entry that of each other.

    The n combinations, `(n, f)`, are sorted as words are in a dictionary.
    """

    codes: Array
    sizes: tuple[int, ...]

    @cached_property
    def others(self) -> float:
        """The number of combinations without an entry."""
        return float(prod(self.sizes) - len(self.codes))

    @cached_property
    def _times(self) -> Array:
        return np.append(np.ones(len(self.codes)), self.others)

    def sums(self, values: Any, add: np.ufunc = np.add) -> Any:
        return values[..., :-1].sum(axis=-1) + self.others * values[..., -1]

    def expand(self, totals: Array, places: Any = EVERY) -> Array:
        return totals[..., None]

    def lump(self, values: Any) -> Any:
        """Values with the sum over all others in place of that of each, if there are others."""
        return values * self._times if self.others else values[..., :-1]

    def spread(self, values: Any) -> Any:
        """The inverse of `lump`. Both take PyMC's variables, too."""
        if self.others:
            return values / self._times
        if isinstance(values, np.ndarray):
            return np.concatenate([values, np.zeros((*values.shape[:-1], 1))], axis=-1)
        return values @ np.eye(len(self.codes), len(self.codes) + 1)

    def lump_logs(self, logs: Array) -> Array:
        """Lump numbers whose logs are given."""
        return logs + np.log(self._times) if self.others else logs[..., :-1]

    def spread_logs(self, logs: Array) -> Array:
        """The inverse of `lump_logs`."""
        if self.others:
            return logs - np.log(self._times)
        return np.concatenate([logs, np.full_like(logs[..., :1], -np.inf)], axis=-1)

    def places(self, codes: Array) -> Array:
        """Entry of each row's combination, `(r, f) -> (r,)`; -1, the last one, without its own."""
        known, keys = keys_of(self.sizes, self.codes, codes)
        if not len(known):
            return np.full(len(keys), -1)
        places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[places] == keys, places, -1)

    def margin(
        self, values: Array, columns: Array, add: np.ufunc = np.add
    ) -> tuple["Combinations", Array]:
        """The combinations of some columns, and their values: sums over those of all columns, or
        of logs of them.
        """
        sizes = tuple(self.sizes[j] for j in columns)
        codes = self.codes[:, columns]
        (keys,) = keys_of(sizes, codes)
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        each = float(prod(self.sizes) // prod(sizes))  # combinations that are one of fewer columns
        others = np.append(each - np.diff(starts, append=len(keys)), each)
        is_log = add is np.logaddexp
        last = values[..., -1:]
        sums = last + special.log(others) if is_log else last * others
        if len(starts):
            seen = add.reduceat(values[..., order], starts, axis=-1)
            sums[..., :-1] = add(seen, sums[..., :-1])
        return Combinations(codes[order][starts], sizes), sums

    def gather(self, values: Array, codes: Array, add: np.ufunc = np.add) -> Array:
        """The values of rows, `(..., n + 1), (r, f) -> (..., r)`; NaN for a row without any cell.

        Where cells are missing, those of all combinations that the row may be are added up.
        """
        out = np.full((*values.shape[:-1], len(codes)), np.nan)
        for columns, rows in patterns(codes):
            if len(columns) == len(self.sizes):
                out[..., rows] = values[..., self.places(codes[rows])]
            elif len(columns):
                fewer, sums = self.margin(values, columns, add)
                out[..., rows] = sums[..., fewer.places(codes[np.ix_(rows, columns)])]
        return out

    def unseen(self, x: Cells) -> Array:
        """The combinations without an entry that rows hold, or may hold where cells are missing."""
        codes = as_level(x[:])
        parts = [np.empty((0, len(self.sizes)), np.intp)]
        for columns, rows in patterns(codes):
            if len(columns):
                parts.append(complete(self.sizes, columns, codes[rows]))
        possible = distinct(self.sizes, np.concatenate(parts))
        return possible[self.places(possible) < 0].astype(code_type(self.sizes))

    def draw_unseen(self, several: int, rng: np.random.Generator) -> Array:
        """Draw combinations without an entry, `(n, f)`, each as probable as any other."""
        if 2 * len(self.codes) > prod(self.sizes):
            every = np.indices(self.sizes).reshape(len(self.sizes), -1).T
            rest = every[self.places(every) < 0]
            return rest[rng.integers(len(rest), size=several)] if several else rest[:0]
        codes = rng.integers(self.sizes, size=(several, len(self.sizes)))
        # at most half of them, on average
        while (seen := np.flatnonzero(self.places(codes) >= 0)).size:
            codes[seen] = rng.integers(self.sizes, size=(len(seen), len(self.sizes)))
        return codes


class Combined(Record):
    """Records of numbers of combinations; in sums of records all have the entries of any."""

    layout: ClassVar[tuple[str, ...]] = ("combinations", "sizes")
    degree: ClassVar[int] = 0  # one level of a column may be all that was seen
    combinations: Array
    sizes: tuple[int, ...]

    @cached_property
    def levels(self) -> Combinations:
        return Combinations(self.combinations, self.sizes)

    def having(self, combinations: Array) -> Self:
        """The record with more combinations that have an entry."""
        codes = self.combinations
        if combinations is codes or np.array_equal(codes, combinations):
            return self
        union = distinct(self.sizes, np.concatenate([codes, combinations]))
        if len(union) == len(codes):
            return self
        places = Combinations(union, self.sizes).places(codes)

        def widen(name: str) -> Array:
            values = getattr(self, name)
            wider = np.repeat(values[..., -1:], len(union) + 1, axis=-1)
            wider[..., places] = values[..., :-1]
            return wider

        wide = type(self)(widen(self.__match_args__[0]), union, self.sizes)  # type: ignore[call-arg]
        logs = getattr(self, "kept", "")
        if logs:
            wide.__dict__[logs] = widen(logs)
        return wide

    def beside(self, other: Any) -> Self:
        return self.having(other.combinations)


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


def code_type(sizes: Sizes) -> np.dtype:
    """The type of integers that holds all codes."""
    return np.min_scalar_type(max(sizes, default=1) - 1)


def complete(sizes: Sizes, columns: Array, codes: Array) -> Array:
    """All combinations that rows with cells in these columns may be."""
    rest = np.setdiff1d(np.arange(len(sizes)), columns)
    several = prod(sizes[j] for j in rest)
    if several > MOST_DRAWN:
        raise ValueError(
            f"a row lacks {len(rest)} of the {len(sizes)} columns of a joint table, and may be "
            f"{several} combinations of their levels, more than {MOST_DRAWN}: each of them would "
            "have to be drawn. Draw for rows with fewer missing cells; predict_proba and "
            "predict_interval need no draws."
        )
    rows = distinct([sizes[j] for j in columns], codes[:, columns])
    completed = np.empty((len(rows) * several, len(sizes)), np.intp)
    completed[:, columns] = np.repeat(rows, several, axis=0)
    others = np.indices([sizes[j] for j in rest]).reshape(len(rest), several).T
    completed[:, rest] = np.tile(others, (len(rows), 1))
    return completed
