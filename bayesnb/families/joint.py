"""Columns of levels that are modelled jointly: one categorical distribution over all combinations
of their levels.

    probability ~ Dirichlet(concentration)      row | probability ~ Categorical(probability)

The concentration is the same for all combinations, so only those that were seen are stored; one
last entry stands for every other combination.
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

MOST_KEYS = 1 << 62  # combinations of levels are encoded as integers below
MOST_DRAWN = 1 << 16  # most combinations that a row with missing cells can match
Sizes = Sequence[int]


@dataclass(frozen=True, eq=False)
class Combinations(Layout):
    """Combinations of levels of some columns, `(..., n + 1)`; the last entry is for every other
    one.

    The n combinations, `(n, f)`, are in lexicographic order.
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
        """Replace the last value by its sum over all other combinations; drop it if there are
        none.
        """
        return values * self._times if self.others else values[..., :-1]

    def spread(self, values: Any) -> Any:
        """Undo `lump`. Both also take PyMC variables."""
        if self.others:
            return values / self._times
        if isinstance(values, np.ndarray):
            return np.concatenate([values, np.zeros((*values.shape[:-1], 1))], axis=-1)
        return values @ np.eye(len(self.codes), len(self.codes) + 1)

    def lump_logs(self, logs: Array) -> Array:
        """Apply `lump` on the log scale."""
        return logs + np.log(self._times) if self.others else logs[..., :-1]

    def spread_logs(self, logs: Array) -> Array:
        """Undo `lump_logs`."""
        if self.others:
            return logs - np.log(self._times)
        return np.concatenate([logs, np.full_like(logs[..., :1], -np.inf)], axis=-1)

    def places(self, codes: Array) -> Array:
        """Entry of each row's combination, `(r, f) -> (r,)`; -1, the last one, if it is not
        stored.
        """
        known, keys = keys_of(self.sizes, self.codes, codes)
        if not len(known):
            return np.full(len(keys), -1)
        places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[places] == keys, places, -1)

    def margin(
        self, values: Array, columns: Array, add: np.ufunc = np.add
    ) -> tuple["Combinations", Array]:
        """The combinations of some columns, and their values: sums of values, or of logs, over the
        other columns.
        """
        sizes = tuple(self.sizes[j] for j in columns)
        codes = self.codes[:, columns]
        (keys,) = keys_of(sizes, codes)
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        each = float(prod(self.sizes) // prod(sizes))  # combinations that agree in these columns
        others = np.append(each - np.diff(starts, append=len(keys)), each)
        is_log = add is np.logaddexp
        last = values[..., -1:]
        sums = last + special.log(others) if is_log else last * others
        if len(starts):
            seen = add.reduceat(values[..., order], starts, axis=-1)
            sums[..., :-1] = add(seen, sums[..., :-1])
        return Combinations(codes[order][starts], sizes), sums

    def gather(self, values: Array, codes: Array, add: np.ufunc = np.add) -> Array:
        """The values of rows, `(..., n + 1), (r, f) -> (..., r)`; NaN for a row without cells.

        Where cells are missing, the values of all matching combinations are added up.
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
        """The combinations that match rows, also rows with missing cells, but are not stored."""
        codes = as_level(x[:])
        parts = [np.empty((0, len(self.sizes)), np.intp)]
        for columns, rows in patterns(codes):
            if len(columns):
                parts.append(complete(self.sizes, columns, codes[rows]))
        possible = distinct(self.sizes, np.concatenate(parts))
        return possible[self.places(possible) < 0].astype(code_type(self.sizes))

    def draw_unseen(self, several: int, rng: np.random.Generator) -> Array:
        """Draw combinations that are not stored, `(n, f)`, uniformly."""
        if 2 * len(self.codes) > prod(self.sizes):
            every = np.indices(self.sizes).reshape(len(self.sizes), -1).T
            rest = every[self.places(every) < 0]
            return rest[rng.integers(len(rest), size=several)] if several else rest[:0]
        codes = rng.integers(self.sizes, size=(several, len(self.sizes)))
        # at most half of them are rejected, on average
        while (seen := np.flatnonzero(self.places(codes) >= 0)).size:
            codes[seen] = rng.integers(self.sizes, size=(len(seen), len(self.sizes)))
        return codes


class Combined(Record):
    """Records with one number for each combination; sums extend both records to the union."""

    layout: ClassVar[tuple[str, ...]] = ("combinations", "sizes")
    degree: ClassVar[int] = 0  # the size need not grow with the columns
    combinations: Array
    sizes: tuple[int, ...]

    @cached_property
    def levels(self) -> Combinations:
        return Combinations(self.combinations, self.sizes)

    def having(self, combinations: Array) -> Self:
        """Extend the record by entries for more combinations."""
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
    """Yield columns, and the rows that have cells in exactly these columns."""
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
    """Encode rows of tables as integers that keep equality and order, `(r, f) -> (r,)`.

    Codes are the digits of one number. Before it overflows, distinct values are renumbered.
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
    """The distinct rows, sorted."""
    _, first = np.unique(keys_of(sizes, codes)[0], return_index=True)
    return codes[first]


def code_type(sizes: Sizes) -> np.dtype:
    """The smallest integer type that holds all codes."""
    return np.min_scalar_type(max(sizes, default=1) - 1)


def complete(sizes: Sizes, columns: Array, codes: Array) -> Array:
    """All combinations that match rows with cells in these columns."""
    rest = np.setdiff1d(np.arange(len(sizes)), columns)
    several = prod(sizes[j] for j in rest)
    if several > MOST_DRAWN:
        raise ValueError(
            f"a row lacks {len(rest)} of the {len(sizes)} columns of a joint table, so {several} "
            f"combinations of levels match it; draws support at most {MOST_DRAWN}. Draw for rows "
            "with fewer missing cells; predict_proba and predict_interval need no draws."
        )
    rows = distinct([sizes[j] for j in columns], codes[:, columns])
    completed = np.empty((len(rows) * several, len(sizes)), np.intp)
    completed[:, columns] = np.repeat(rows, several, axis=0)
    others = np.indices([sizes[j] for j in rest]).reshape(len(rest), several).T
    completed[:, rest] = np.tile(others, (len(rows), 1))
    return completed


# The family


def flatten(x: Array) -> tuple[Array, Array]:
    """Reshape to rows, `(..., f) -> (r, f)`, and return the row of each place, `(..., 1)`.

    -1 for a row without cells.
    """
    codes = as_level(x)
    rows = np.arange(codes[..., 0].size).reshape(codes.shape[:-1])
    which = np.where((codes >= 0).any(axis=-1), rows, -1)
    return codes.reshape(-1, codes.shape[-1]), which[..., None]


@dataclass(frozen=True, eq=False)
class JointStats(Combined, LevelStats):
    """Counts of combinations of levels, `(c, 1, n + 1)`; the last entry is 0.

    Rows with missing cells are not counted: there is no conjugate update for them.
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
        """The stats of some rows whose combinations are all stored."""
        codes = as_level(x)
        complete = (codes >= 0).all(axis=1)
        place = np.full(len(codes), -1)
        place[complete] = self.levels.places(codes[complete])
        counts = tally(place, len(self.combinations) + 1, weight)
        return type(self)(counts[:, None], self.combinations, self.sizes)

    def relevelled(self, sizes: tuple[int, ...], places: Array) -> Self:
        """Extend the counts to more levels; `places` are those of the old levels, end to end."""
        starts, ends = (np.cumsum(each) - each for each in (self.sizes, sizes))
        moved = places[self.combinations + starts] - ends
        order = np.lexsort(moved.T[::-1])
        counts = self.counts[..., [*order, -1]]
        return type(self)(counts, moved[order].astype(code_type(sizes)), sizes)

    def check(self) -> None:
        codes, sizes = self.combinations, self.sizes
        # faster than the product of a million numbers
        if np.log2(sizes).sum() > float_info.max_exp:
            raise ValueError("there are more combinations of levels than a float can count")
        good = codes.ndim == 2 and codes.shape[1] == len(sizes) and codes.dtype == code_type(sizes)
        if not good or (codes >= sizes).any() or len(distinct(sizes, codes)) < len(codes):
            raise ValueError("combinations of levels must be distinct, with levels that exist")
        if (np.diff(self.levels.places(codes)) != 1).any() or self.counts[..., -1].any():
            raise ValueError("combinations of levels must be sorted, and the last count must be 0")

    def mle(self) -> "JointDensity":
        return JointDensity(self.mle_share(), self.combinations, self.sizes)


@dataclass(frozen=True, eq=False)
class JointDensity(Combined, LevelDensity):
    """Known probabilities of combinations, `(c, 1, n + 1)`; the last is for every other one."""

    multivariate: ClassVar[bool] = True
    probability: Array
    combinations: Array
    sizes: tuple[int, ...]

    def log_density(self, x: Array) -> Array:
        codes, rows = flatten(x)
        return pick(self.levels.gather(self.log_theta, codes, np.logaddexp), rows)[..., 0]

    def sample(self, rng: Rng) -> Array:
        """One row of the block for each theta, `(...) -> (..., f)`."""
        rng = np.random.default_rng(rng)
        places = draw_level(self.levels.lump(self.probability), rng)
        codes = np.empty((*places.shape, len(self.sizes)), np.intp)
        new = places == len(self.combinations)
        codes[~new] = self.combinations[places[~new]]
        codes[new] = self.levels.draw_unseen(int(new.sum()), rng)
        return codes

    def parts(self) -> Parts:
        """Arrays by symbol; the last entry is the total of all other combinations."""
        return {("theta{}", None): self.levels.lump(self.probability)[..., 0, :]}

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        probability = like.levels.spread(parts["theta{}", None])[..., None, :]
        return cls(probability, *like.layout_values)


@dataclass(frozen=True, eq=False, repr=False)
class JointDirichlet(Combined, DirichletBelief):
    """A Dirichlet over combinations for each class; a cell is a row of codes, `(..., f)`.

    The concentration is `(c, 1, n + 1)`; the last entry is for every combination that was not seen.
    Marginals of some columns are Dirichlets too, by aggregation.
    """

    multivariate: ClassVar[bool] = True
    density: ClassVar[type[LevelDensity]] = JointDensity
    concentration: Array
    combinations: Array
    sizes: tuple[int, ...]

    @property
    def entries(self) -> Dirichlet:
        """The Dirichlet over stored combinations, and all others together as the last: `(c, 1, n +
        1)`.
        """
        return Dirichlet(self.levels.lump(self.concentration))

    def level_intervals(self, prob: float) -> tuple[Array, Array, Array]:
        """Expected probabilities of stored combinations and of all others together, with
        intervals.
        """
        return self.entries.level_intervals(prob)

    def predictive(self) -> Any:
        """SciPy distribution of one-hot vectors over the stored combinations and all others
        together.
        """
        return self.entries.predictive()

    def margins(self) -> ColumnDirichlets:
        """The marginal belief about each column."""
        columns = []
        for j, size in enumerate(self.sizes):
            levels, margin = self.levels.margin(self.concentration[:, 0], np.array([j]))
            columns.append(margin[..., levels.places(np.arange(size)[:, None])])
        return ColumnDirichlets(np.concatenate(columns, axis=-1), self.sizes)

    def of_columns(self, columns: Array) -> Self:
        """The marginal belief about some columns, in this order."""
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
        """The concentrations of rows, and which rows have no cells."""
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
        """Add entries for combinations of the rows, which split the probability of all others."""
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
        """Arrays by symbol; the last entry is the total of all other combinations."""
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
        levels is an error, as the prior is symmetric.
    levels : sequence or None, default=None
        The levels that every column of the block has, in order. None: those that occur in each.
    unseen : {"ignore", "error", "reserve"}, default="ignore"
        What happens to a level that training never saw, as in ``Categorical``.

    See Also
    --------
    Categorical : Columns that are independent given the class.
    MultivariateGaussian : Joint models of columns of numbers.
    partition : Which columns to model jointly, by evidence.

    Notes
    -----
    Booleans and numbers are levels too, one for each value.

    A row to predict may have missing cells: the probabilities of all matching combinations are
    added up, exactly. In training, a row with a missing cell in the block is not counted, as it has
    no conjugate update.

    Under ``estimate="mle"``, with all columns in one block, p(y | x) is the share of label y among
    the rows identical to x. Without such rows it is undefined, and an error. All other estimates
    are proper with a smoothing.

    Only combinations that occur are stored: thirty columns of two levels do not take 2**30 numbers.

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
                "JointTable: the concentration must be a number, or one for each class, got an "
                f"array of shape {self.concentration.shape}. It is the same for all combinations "
                "of levels."
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
                f"JointTable: {len(stats.sizes)} columns have more combinations of levels than a "
                "float can count. Model fewer columns jointly."
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
        """Counts of the stored combinations, and of all others together."""
        unit = self.smoothed(stats, 1.0, "mean").belief(stats).beside(stats)
        each = np.array(unit.entries.concentration[:, 0])
        levels = np.arange(each.shape[1])
        return Seen(stats.counts[:, 0, : len(levels)], each, np.zeros_like(levels), levels)

    def of_levels(self, concentration: Any, stats: JointStats) -> JointDirichlet:
        spread = stats.levels.spread(concentration)[:, None]
        return JointDirichlet.raw(spread, *stats.layout_values)
