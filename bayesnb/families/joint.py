"""Columns of levels that are modelled jointly: one categorical distribution over all combinations
of their levels.

    probability ~ Dirichlet(concentration)      row | probability ~ Categorical(probability)

The concentration is the same for all combinations, so only those that were seen have an entry of
their own; the last entry is that of each other combination.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from sys import float_info
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb import formatting
from bayesnb.families.base import Array, Cells, Narrowed, Parts, Rng, Stats
from bayesnb.families.categorical import Categorical, ColumnDirichlets
from bayesnb.families.dirichlet import (
    Dirichlet,
    DirichletBelief,
    DirichletDensity,
    DirichletFamily,
    EmpiricalDirichlet,
    log_level_moment,
    simplex,
    tally,
)
from bayesnb.families.family import AnyLevel, Seen, Support
from bayesnb.families.levels import Layout, LevelDensity, LevelStats, as_level, draw_level, pick
from bayesnb.families.record import LevelUnit, Record, VariableNames, silent
from bayesnb.families.removal import RowsLeftOut, log_shares_left
from bayesnb.families.weight import Weight
from bayesnb.numerics import special
from bayesnb.numerics.special import log_gamma_cumulants
from bayesnb.numerics.views import EVERY

# Combinations of levels

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


# The family


def flatten(x: Array) -> tuple[Array, Array]:
    """Rows below rows, `(..., f) -> (r, f)`, and which of them each was, `(..., 1)`.

    -1 for one without any cell.
    """
    codes = as_level(x)
    rows = np.arange(codes[..., 0].size).reshape(codes.shape[:-1])
    which = np.where((codes >= 0).any(axis=-1), rows, -1)
    return codes.reshape(-1, codes.shape[-1]), which[..., None]


@dataclass(frozen=True, eq=False)
class JointStats(Combined, LevelStats):
    """Counts of combinations of levels, `(c, 1, n + 1)`.

    The last entry is that of each other one, which is 0.

    A row with missing cells has no combination, and is not counted: there is no conjugate update by
    it.
    """

    counts: Array
    combinations: Array
    sizes: tuple[int, ...]

    def __add__(self, other: Self) -> Self:
        one, two = self.aligned(other)
        return Stats.__add__(one, two)

    @classmethod
    def defined(cls, x: Array, weight: Weight, *layout: Any) -> Self:
        (sizes,), codes = layout, as_level(x)
        seen = distinct(sizes, codes[(codes >= 0).all(axis=1)]).astype(code_type(sizes))
        return cls(np.empty(0), seen, sizes).alone(codes, weight)

    def alone(self, x: Array, weight: Weight) -> Self:
        """The stats of some of the rows."""
        codes = as_level(x)
        complete = (codes >= 0).all(axis=1)
        place = np.full(len(codes), -1)
        place[complete] = self.levels.places(codes[complete])
        counts = tally(place, len(self.combinations) + 1, weight)
        return type(self)(counts[:, None], self.combinations, self.sizes)

    def relevelled(self, sizes: tuple[int, ...], places: Array) -> Self:
        """The counts among more levels, each old one, the columns' end to end, at its new place."""
        starts, ends = (np.cumsum(each) - each for each in (self.sizes, sizes))
        moved = places[self.combinations + starts] - ends
        order = np.lexsort(moved.T[::-1])
        counts = self.counts[..., [*order, -1]]
        return type(self)(counts, moved[order].astype(code_type(sizes)), sizes)

    def check(self) -> None:
        codes, sizes = self.combinations, self.sizes
        # sooner than the product of a million numbers
        if np.log2(sizes).sum() > float_info.max_exp:
            raise ValueError("there are more combinations of levels than a float can count")
        good = codes.ndim == 2 and codes.shape[1] == len(sizes) and codes.dtype == code_type(sizes)
        if not good or (codes >= sizes).any() or len(distinct(sizes, codes)) < len(codes):
            raise ValueError("combinations of levels are different ones, of levels that there are")
        if (np.diff(self.levels.places(codes)) != 1).any() or self.counts[..., -1].any():
            raise ValueError(
                "combinations of levels are sorted, and those that were never seen have no counts"
            )

    def mle(self) -> "JointDensity":
        return JointDensity(self.mle_share(), self.combinations, self.sizes)


@dataclass(frozen=True, eq=False)
class JointDensity(Combined, LevelDensity):
    """Known probabilities of combinations, `(c, 1, n + 1)`, the last that of each other one."""

    multivariate: ClassVar[bool] = True
    probability: Array
    combinations: Array
    sizes: tuple[int, ...]

    def log_density(self, x: Array) -> Array:
        codes, rows = flatten(x)
        return pick(self.levels.gather(self.log_theta, codes, np.logaddexp), rows)[..., 0]

    def sample(self, rng: Rng) -> Array:
        """A row of the block for each theta, `(...) -> (..., f)`.

        Combinations that are alike are drawn with equal probability.
        """
        rng = np.random.default_rng(rng)
        places = draw_level(self.levels.lump(self.probability), rng)
        codes = np.empty((*places.shape, len(self.sizes)), np.intp)
        new = places == len(self.combinations)
        codes[~new] = self.combinations[places[~new]]
        codes[new] = self.levels.draw_unseen(int(new.sum()), rng)
        return codes

    def parts(self) -> Parts:
        """The last entry is that of all other combinations together."""
        return {("theta{}", None): self.levels.lump(self.probability)[..., 0, :]}

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        probability = like.levels.spread(parts["theta{}", None])[..., None, :]
        return cls(probability, *like.layout_values)


@dataclass(frozen=True, eq=False, repr=False)
class JointDirichlet(Combined, DirichletBelief):
    """A Dirichlet for the combinations of every class; a cell is a row of codes, `(..., f)`.

    The concentration is `(c, 1, n + 1)`, the last entry that of each combination which was not
    seen. About fewer columns it is a Dirichlet too, by aggregation.
    """

    multivariate: ClassVar[bool] = True
    density: ClassVar[type[LevelDensity]] = JointDensity
    concentration: Array
    combinations: Array
    sizes: tuple[int, ...]

    @property
    def entries(self) -> Dirichlet:
        """The combinations that have an entry, and all others together, which are the last.

        Shape: `(c, 1, n + 1)`.
        """
        return Dirichlet(self.levels.lump(self.concentration))

    def level_intervals(self, prob: float) -> tuple[Array, Array, Array]:
        """The expected probability of each combination with an entry, and of all others, and their
        intervals.
        """
        return self.entries.level_intervals(prob)

    def predictive(self) -> Any:
        """One-hot vectors over the combinations that were seen and all others together, as SciPy's
        distribution.
        """
        return self.entries.predictive()

    def margins(self) -> ColumnDirichlets:
        """The belief about each column by itself."""
        columns = []
        for j, size in enumerate(self.sizes):
            levels, margin = self.levels.margin(self.concentration[:, 0], np.array([j]))
            columns.append(margin[..., levels.places(np.arange(size)[:, None])])
        return ColumnDirichlets(np.concatenate(columns, axis=-1), self.sizes)

    def of_columns(self, columns: Array) -> Self:
        """The belief about some columns together, in this order."""
        levels, margin = self.levels.margin(self.concentration, columns)
        return type(self)(margin, levels.codes, levels.sizes)

    def units(self, x: Cells) -> list[LevelUnit]:
        """The block as it is."""
        total = self.levels.sums(self.concentration)[:, 0]
        codes = as_level(np.asarray(x[:]))
        return [LevelUnit(tuple(range(len(self.sizes))), codes, self.sizes, total)]

    def narrowed(self, x: Cells, observe: Callable[..., Any]) -> Narrowed:
        codes = as_level(x[:])
        columns = np.flatnonzero(codes[0] >= 0)
        if len(columns) in (0, codes.shape[1]):
            return Narrowed(self, x, observe)
        narrowed = self.of_columns(columns)

        def observe_columns(x: Cells, weight: Weight, n_jobs: int | None) -> JointStats:
            return JointStats.of(x, weight, narrowed.sizes, n_jobs=n_jobs)

        return Narrowed(narrowed, codes[:, columns], observe_columns)

    def concentrations(self, x: Array) -> tuple[Array, Array]:
        """The concentrations of rows, and which of them say nothing."""
        codes, rows = flatten(x)
        concentration = pick(self.levels.gather(self.concentration, codes), rows)
        return concentration[..., 0], rows[..., 0] < 0

    def log_moment(self, x: Array, s: Any) -> Array:
        concentration, missing = self.concentrations(x)
        return log_level_moment(concentration, self.levels.sums(self.concentration), missing, s)

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        concentration, missing = self.concentrations(x)
        total = np.broadcast_to(self.levels.sums(self.concentration), concentration.shape)
        level = log_gamma_cumulants(concentration + tilt, order)
        with np.errstate(invalid="ignore"):
            return silent(missing, level - log_gamma_cumulants(total + tilt, order))

    def score_left_out(self, stats: JointStats, rows: RowsLeftOut) -> Array:
        wide, stats = self.aligned(stats)
        known = wide.concentration[0, 0], stats.counts[0, 0], wide.levels.totals
        return log_shares_left(
            *known, rows.weight, rows.kind, wide.levels.places(as_level(rows.x[:]))
        )

    def sample(self, rng: Rng, size: Any = None) -> JointDensity:
        logs = self.entries.sample(rng, size).log_theta
        return JointDensity.of_logs(self.levels.spread_logs(logs), *self.layout_values)

    def opened(self, theta: JointDensity, x: Cells, rng: Rng) -> JointDensity:
        """The theta with entries for the rows' combinations, which share what all others had."""
        new = theta.levels.unseen(x)
        if not len(new):
            return theta
        wide = theta.having(new)
        last = wide.levels.others
        each = np.tile(self.concentration[..., -1:], (len(theta) // len(self), 1, 1))
        shares = [np.repeat(each, len(new), axis=-1), each * last][: 1 + bool(last)]
        drawn = Dirichlet(np.concatenate(shares, axis=-1)).sample(rng).log_theta
        drawn = drawn + np.log(theta.levels.others) + theta.log_theta[..., -1:]
        logs = wide.log_theta.copy()
        logs[..., wide.levels.places(new)] = drawn[..., : len(new)]
        logs[..., -1] = drawn[..., -1] - np.log(last) if last else -np.inf
        return JointDensity.of_logs(logs, *wide.layout_values)

    def parts(self) -> Parts:
        """The last entry is that of all other combinations together."""
        return {("theta{}_concentration", None): self.levels.lump(self.concentration)[..., 0, :]}

    def log_density(self, theta: JointDensity) -> Parts:
        wide, theta = self.aligned(theta)
        logs = theta.levels.lump_logs(theta.log_theta)
        density = wide.entries.dirichlet_log_density(DirichletDensity.of_logs(logs))
        return {("theta{}", None): density[..., 0]}

    def variables(self, pm: Any, names: VariableNames) -> JointDensity:
        theta = simplex(pm, names("theta{}"), self.levels.lump(self.concentration)[:, 0])
        return JointDensity(self.levels.spread(theta)[:, None], *self.layout_values)


@dataclass(frozen=True, eq=False, repr=False)
class JointTable(DirichletFamily):
    """Columns of levels modelled jointly: a probability for each class and combination of levels.

    Parameters
    ----------
    prior : Dirichlet or float, default=1.0
        The concentration of every combination: a number, or one for each class. An array over
        levels is an error, as all combinations are alike before the data.
    levels : sequence or None, default=None
        The levels that every column of the block has, in order. None: those that occur in each.
    unseen : {"ignore", "error", "reserve"}, default="ignore"
        What happens to a level that training never saw, as in ``Categorical``.

    See Also
    --------
    Categorical : Columns that are independent given the class.
    MultivariateGaussian : The same for columns of numbers.
    partition : Which columns belong together, by evidence.

    Notes
    -----
    Booleans and numbers are levels too, one for each value.

    A row to predict may have missing cells: it is any of the combinations that agree with the other
    cells, and their probabilities are added up, exactly. A row to learn that has a missing cell in
    the block teaches nothing about it, as there is no conjugate update for a row of which it is not
    known what to count.

    Under ``estimate="mle"``, with all columns in one block, p(y | x) is the share of label y among
    the rows that are identical to x. Where there are none it is undefined, and an error; every
    other estimate with a smoothing is proper.

    Only combinations that occur are stored, so thirty columns of two levels do not take 2**30
    numbers.

    Examples
    --------
    >>> from bayesnb import Categorical, JointTable, NaiveBayes
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]] * 3, ["same", "same", "other", "other"] * 3
    >>> joint, naive = (NaiveBayes(family).fit(X, y) for family in (JointTable(), Categorical()))
    >>> [model.predict_proba([[1, 1]]).round(3).tolist() for model in (joint, naive)]
    [[[0.2, 0.8]], [[0.5, 0.5]]]
    >>> round(joint.log_evidence_ - naive.log_evidence_, 2)
    4.91
    """

    prior: Dirichlet | float = 1.0
    levels: Sequence[Any] | None = None
    unseen: str = "ignore"

    word: ClassVar[str] = "joint"
    content: ClassVar[str] = "levels, all combinations of them"
    has_levels: ClassVar[bool] = True
    support: ClassVar[Support] = AnyLevel()
    stats: ClassVar[type[Stats]] = JointStats
    multivariate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.prior, EmpiricalDirichlet):
            raise TypeError(
                "JointTable: the prior must be a Dirichlet of numbers, or a number, got "
                f"{self.prior!r}."
            )
        if self.concentration.ndim > 1:
            raise ValueError(
                "JointTable: a concentration is a number, or one for each class, got an array of "
                f"shape {self.concentration.shape}. Its sides are all combinations of levels, "
                "which are alike before the data: an array over levels says nothing of them."
            )

    @property
    def columnwise(self) -> Categorical:
        return Categorical(unseen=self.unseen)

    def belief(self, stats: JointStats) -> JointDirichlet:
        each = self.concentration
        classes = len(stats)
        if each.ndim and len(each) != classes:
            raise ValueError(
                f"JointTable: a concentration of shape {each.shape} is neither a number nor one "
                f"for each of {classes} classes."
            )
        if prod(stats.sizes) > float_info.max / max(1.0, each.max()):
            raise ValueError(
                f"JointTable: the combinations of levels of {len(stats.sizes)} columns are more "
                "than a float can count. Model fewer columns jointly."
            )
        concentration = np.broadcast_to(each.reshape(-1, 1, 1), (classes, 1, 1))
        return JointDirichlet(concentration, stats.combinations[:0], stats.sizes)

    def describe(self, belief: Any) -> str:
        combinations = formatting.number(float(prod(belief.sizes)))
        times = formatting.times(belief.concentration[..., -1])
        return f"as if each of {combinations} combinations had been seen {times} in each class"

    def along_levels(self, smoothing: Array) -> Array:
        return smoothing.reshape(()) if smoothing.size == 1 else smoothing.reshape(-1)

    def seen(self, stats: JointStats) -> Seen:
        """The combinations, and all others together as one more."""
        unit = self.smoothed(stats, 1.0, "mean").belief(stats).beside(stats)
        each = np.array(unit.entries.concentration[:, 0])
        levels = np.arange(each.shape[1])
        return Seen(stats.counts[:, 0, : len(levels)], each, np.zeros_like(levels), levels)

    def of_levels(self, concentration: Any, stats: JointStats) -> JointDirichlet:
        spread = stats.levels.spread(concentration)[:, None]
        return JointDirichlet.raw(spread, *stats.layout_values)
