"""What rows say of a table of all combinations of levels, and such a table whose probabilities are known."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from math import prod
from operator import add
from sys import float_info
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from bayesnb.families.base import Array, Cells, Parts, Rng
from bayesnb.families.categorical import CodedStats
from bayesnb.families.dirichlet import LevelDensity, Levels, LevelStats, as_level, pick, tally, throw
from bayesnb.families.record import silent
from bayesnb.families.removal import SLACK
from bayesnb.families.weight import Weight, one_hot
from bayesnb.numerics import special
from bayesnb.numerics.threads import in_order, pieces

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

    def level_sums(self, values: Array) -> Array:
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
        fields = [change(getattr(self, name)) for name in self.__match_args__ if name not in self.layout]
        return type(self)(*fields, combinations, sizes)  # type: ignore[call-arg]

    def having(self, combinations: Array) -> Self:
        """The same, with entries of their own for more combinations."""
        if combinations is self.combinations or np.array_equal(self.combinations, combinations):
            return self
        every = distinct(self.sizes, np.concatenate([self.combinations, combinations]))
        if len(every) == len(self.combinations):
            return self
        places = places_of_codes(self.sizes, every, self.combinations)

        def laid(values: Array) -> Array:
            wider = np.repeat(values[..., -1:], len(every) + 1, axis=-1)
            wider[..., places] = values[..., :-1]
            return wider

        return self.relaid(laid, every, self.sizes)

    def beside(self, other: Any) -> Self:
        """The same, with entries of their own for all combinations that another has."""
        return self.having(other.combinations)

    def map(self, change: Callable[..., Array], *others: Self) -> Self:
        """The record of `change(array, ...)`, all of them about the combinations of any."""
        wide = self
        for other in others:
            wide = wide.beside(other)
        return Levels.map(wide, change, *(other.beside(wide) for other in others))

    def gathered(self, values: Array, codes: Array, add: Any = np.add) -> Array:
        """What rows have, `(..., n + 1), (r, f) -> (..., r)`: a cell's own, or where cells are missing that of all
        combinations which the row may be, added up. NaN for a row without any cell."""
        out = np.full((*values.shape[:-1], len(codes)), np.nan)
        for columns, rows in patterns(codes):
            if len(columns) == len(self.sizes):
                out[..., rows] = values[..., self.places(codes[rows])]
            elif len(columns):
                seen, summed = self.margin(values, columns, add)
                sizes = [self.sizes[j] for j in columns]
                out[..., rows] = summed[..., places_of_codes(sizes, seen, codes[np.ix_(rows, columns)])]
        return out

    def places(self, codes: Array) -> Array:
        """Which entry each row's combination has, `(r, f) -> (r,)`; -1, the last one, for one that has none."""
        if prod(self.sizes) < MOST_KEYS:
            return located(self._keys, keys_of(self.sizes, codes)[0])
        return places_of_codes(self.sizes, self.combinations, codes)

    def margin(self, values: Array, columns: Array, add: Any = np.add) -> tuple[Array, Array]:
        """The combinations of some columns, and what they have: sums over those of all columns, or of logs of them."""
        sizes = [self.sizes[j] for j in columns]
        margin = self.combinations[:, columns]
        (keys,) = keys_of(sizes, margin)
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        each = float(prod(self.sizes) // prod(sizes))  # combinations that are one of fewer columns
        rest = each - np.diff(starts, append=len(keys))
        scaled = (lambda part, times: part + special.log(times)) if add is np.logaddexp else np.multiply
        seen = add.reduceat(values[..., :-1][..., order], starts, axis=-1) if len(starts) else values[..., :0]
        last = values[..., -1:]
        every = [add(seen, scaled(last, rest)), scaled(last, np.array([each]))]
        return margin[order][starts], np.concatenate(every, axis=-1)


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


def places_of_codes(sizes: Sizes, known: Array, codes: Array) -> Array:
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


MOST = 1 << 16  # combinations that one row with missing cells may be


def fresh(table: Combined, several: int, rng: np.random.Generator) -> Array:
    """So many of the combinations without an entry, `(n, f)`, each as probable as any other."""
    if 2 * len(table.combinations) > prod(table.sizes):
        every = np.stack(np.unravel_index(np.arange(prod(table.sizes)), table.sizes), axis=-1)
        rest = every[table.places(every) < 0]
        return rest[rng.integers(len(rest), size=several)] if several else rest[:0]
    codes = rng.integers(table.sizes, size=(several, len(table.sizes)))
    while (seen := np.flatnonzero(table.places(codes) >= 0)).size:  # at most half of them, on average
        codes[seen] = rng.integers(table.sizes, size=(len(seen), len(table.sizes)))
    return codes


def unseen(table: Combined, x: Cells) -> Array:
    """The combinations that rows hold, or may hold where cells are missing, and that have no entry."""
    codes = as_level(x[:])
    parts = [_completed(table, columns, codes[rows]) for columns, rows in patterns(codes) if len(columns)]
    every = distinct(table.sizes, np.concatenate([np.empty((0, len(table.sizes)), np.intp), *parts]))
    return every[table.places(every) < 0].astype(smallest(table.sizes))


def _completed(table: Combined, columns: Array, codes: Array) -> Array:
    """All combinations that rows with cells in these columns may be."""
    rest = [j for j in range(len(table.sizes)) if j not in set(columns.tolist())]
    several = prod(table.sizes[j] for j in rest)
    if several > MOST:
        raise ValueError(
            f"a row lacks {len(rest)} of the {len(table.sizes)} columns of a joint table, and may be {several} "
            f"combinations of their levels, more than {MOST}: each of them would have to be drawn. Draw for rows with "
            "fewer missing cells; predict_proba and predict_interval need no draws."
        )
    rows = distinct([table.sizes[j] for j in columns], codes[:, columns])
    every = np.repeat(np.empty((len(rows), len(table.sizes)), np.intp), several, axis=0)
    every[:, columns] = np.repeat(rows, several, axis=0)
    if rest:
        every[:, rest] = np.tile(np.array(list(product(*(range(table.sizes[j]) for j in rest)))), (len(rows), 1))
    return every


MOST_BITS = float_info.max_exp


@dataclass(frozen=True, eq=False)
class JointStats(Combined, CodedStats):
    """How often each combination of levels was seen, `(c, 1, n + 1)`; each other one never, which is the last entry.

    A row with missing cells is none of one combination, and is not counted: there is no conjugate update by it.
    """

    counts: Array
    combinations: Array
    sizes: tuple[int, ...]

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None, sizes: tuple[int, ...] = ()) -> Self:
        def part(rows: slice) -> Any:
            return cls.defined(x[rows], one_hot(weight.codes[rows], weight.classes, weight.counts[rows]), sizes)

        return reduce(add, in_order(part, pieces(*x.shape), n_jobs))

    @classmethod
    def defined(cls, x: Array, weight: Weight, sizes: tuple[int, ...] = ()) -> Self:
        codes = as_level(x)
        seen = distinct(sizes, codes[(codes >= 0).all(axis=1)]).astype(smallest(sizes))
        return cls(np.zeros((weight.classes, 1, len(seen) + 1)), seen, sizes).alone(codes, weight)

    @staticmethod
    def learnt(x: Cells) -> Array:
        """Where rows are counted, `(r,)`."""
        return (as_level(x[:]) >= 0).all(axis=1)

    def alone(self, x: Array, weight: Weight) -> Self:
        """The stats of some of the rows."""
        codes, complete = as_level(x), self.learnt(x)
        place = np.full(len(codes), -1)
        place[complete] = self.places(codes[complete])
        return type(self)(tally(place, self.counts.shape[-1], weight)[:, None], self.combinations, self.sizes)

    def remains(self, part: Self, rounding: float) -> Self:
        wide = self.beside(part)
        return LevelStats.remains(wide, part.beside(wide), rounding)

    def faults(self, part: Self, every: Array, rounding: float = SLACK) -> Array:
        wide = self.beside(part)
        return LevelStats.faults(wide, part.beside(wide), every, rounding)

    def relevelled(self, sizes: tuple[int, ...], places: Array) -> Self:
        """The same counts where columns have more levels, each old one, the columns' end to end, at its new place."""
        starts, ends = (np.cumsum(each) - each for each in (self.sizes, sizes))
        moved = places[self.combinations + starts] - ends
        every = distinct(sizes, moved).astype(smallest(sizes))
        counts = np.zeros_like(self.counts)
        counts[..., places_of_codes(sizes, every, moved)] = self.counts[..., :-1]
        return type(self)(counts, every, sizes)

    def check(self) -> None:
        codes = self.combinations
        if np.log2(self.sizes).sum() > MOST_BITS:  # sooner than the product of a million numbers
            raise ValueError("there are more combinations of levels than a float can count")
        good = codes.ndim == 2 and codes.shape[1] == len(self.sizes) and codes.dtype == smallest(self.sizes)
        if not good or (codes >= self.sizes).any() or len(distinct(self.sizes, codes)) < len(codes):
            raise ValueError("combinations of levels are different ones, of levels that there are")
        if (np.diff(self.places(codes)) != 1).any() or self.counts[..., -1].any():
            raise ValueError("combinations of levels are sorted, and those that were never seen have no counts")

    @property
    def cells(self) -> Array:
        return self.level_sums(self.counts)

    def mle(self) -> "JointDensity":
        return JointDensity(self.mle_share(), self.combinations, self.sizes)


@dataclass(frozen=True, eq=False)
class JointDensity(Combined, LevelDensity):
    """Known probabilities of combinations, `(c, 1, n + 1)`, the last entry that of each other one."""

    probability: Array
    combinations: Array
    sizes: tuple[int, ...]

    def relaid(self, change: Callable[[Array], Array], combinations: Array, sizes: tuple[int, ...]) -> Self:
        made = super().relaid(change, combinations, sizes)
        made.__dict__[self.kept] = change(self.log_probability)
        return made

    def moved(self, change: Callable[..., Array], *others: Self) -> Self:
        wide = reduce(lambda one, other: one.beside(other), others, self)
        return LevelDensity.moved(wide, change, *(other.beside(wide) for other in others))

    def log_density(self, x: Array) -> Array:
        codes, rows = flat(x)
        return pick(self.gathered(self.log_probability, codes, np.logaddexp), rows[..., None])[..., 0]

    def log_likelihood(self, stats: JointStats, xp: Any = np) -> Any:
        wide = self.beside(stats)
        return LevelDensity.log_likelihood(wide, stats.beside(wide), xp)

    def defined_score(self, x: Array, power: float = 1.0) -> Array:
        logs = self.gathered(self.log_probability[:, 0], as_level(x), np.logaddexp).T
        return power * silent((as_level(x) < 0).all(axis=1)[:, None], logs)

    def contributed(self, x: Array, power: float, words: Array | None = None) -> Array:
        return power * self.log_density(x[:, None, None])

    def sample(self, rng: Rng) -> Array:
        """A row of the block for each theta, `(...) -> (..., f)`; of combinations that are alike any."""
        rng = np.random.default_rng(rng)
        places = throw(self.lumped(self.probability), rng)
        codes = np.empty((*places.shape, len(self.sizes)), np.intp)
        new = places == len(self.combinations)
        codes[~new] = self.combinations[places[~new]]
        codes[new] = fresh(self, int(new.sum()), rng)
        return codes

    def parts(self) -> Parts:
        """The last entry is that of all other combinations together."""
        return {("theta{}", None): self.lumped(self.probability)[..., 0, :]}

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        return cls(like.spread(parts["theta{}", None])[..., None, :], like.combinations, like.sizes)

    def opened(self, combinations: Array, shares: Array) -> Self:
        """With entries of their own for more combinations, which have these shares, as logs, of what others had.

        The last share is that of all that still have none, `(..., m + 1)`.
        """
        wide, rest = self.having(combinations), np.log(self.others) + self.log_probability[..., -1:]
        logs = wide.log_probability.copy()
        logs[..., wide.places(combinations)] = rest + shares[..., :-1]
        logs[..., -1:] = rest + shares[..., -1:] - np.log(wide.others or 1.0)
        return type(self).of_logs(logs, wide.combinations, wide.sizes)


def flat(x: Array) -> tuple[Array, Array]:
    """Rows below rows, `(..., f) -> (r, f)`, and which of them each was, `(...)`; -1 for one without any cell."""
    codes = as_level(x)
    rows = np.arange(codes[..., 0].size).reshape(codes.shape[:-1])
    return codes.reshape(-1, codes.shape[-1]), np.where((codes >= 0).any(axis=-1), rows, -1)
