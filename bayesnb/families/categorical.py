"""Columns with levels: a categorical distribution for each class and column.

    probability ~ Dirichlet(concentration)      cell | probability ~ Categorical(probability)

Smoothing by l is the posterior mean under Dirichlet(l), and the mode under Dirichlet(1 + l).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.base import Array, Cells, Parts, Stats
from bayesnb.families.dirichlet import (
    Dirichlet,
    DirichletBelief,
    DirichletFamily,
    EmpiricalDirichlet,
    LearnedLevels,
    simplex,
)
from bayesnb.families.family import AnyLevel, Seen, Support, unless_alike
from bayesnb.families.levels import (
    LevelBelief,
    LevelDensity,
    TableDensity,
    TableStats,
    as_level,
    layout_of,
)
from bayesnb.families.record import LevelUnit, VariableNames
from bayesnb.families.removal import log_shares_left
from bayesnb.numerics.views import EVERY

EQUAL = 1e-12  # how far equal concentrations may differ, relatively


@dataclass(frozen=True, eq=False)
class CategoricalStats(TableStats):
    """Counts of levels, `(c, k)`; the levels of the columns lie end to end."""

    layout: ClassVar[tuple[str, ...]] = ("sizes",)
    counts: Array
    sizes: tuple[int, ...]

    def relevelled(self, sizes: tuple[int, ...], places: Array) -> Self:
        """Extend the counts to more levels, with each old level at its new place."""
        counts = np.zeros((len(self.counts), sum(sizes)))
        counts[:, places] = self.counts
        return type(self)(counts, sizes)

    def mle(self) -> "CategoricalDensity":
        return CategoricalDensity(self.mle_share(), self.sizes)


@dataclass(frozen=True, eq=False)
class CategoricalDensity(TableDensity):
    layout: ClassVar[tuple[str, ...]] = ("sizes",)
    probability: Array
    sizes: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class ColumnDirichlets(DirichletBelief, LevelBelief):
    """A Dirichlet for each class and column; a cell is the code of a level."""

    layout: ClassVar[tuple[str, ...]] = ("sizes",)
    density: ClassVar[type[LevelDensity]] = CategoricalDensity
    is_linear: ClassVar[bool] = True
    concentration: Array
    sizes: tuple[int, ...]
    levels = cached_property(layout_of)

    def column(self, feature: int) -> Dirichlet:
        return Dirichlet(self.concentration[..., self.levels.span(feature)])

    def parts(self) -> Parts:
        return self.levels.parts("theta{}_concentration", self.concentration)

    def levels_left_out(
        self, stats: CategoricalStats, w: Any, kind: str, places: Any = EVERY
    ) -> Array:
        counts, prior = stats.counts[0], self.concentration[0]
        return log_shares_left(prior, counts, self.levels.totals, w, kind, places)

    def units(self, x: Cells) -> list[LevelUnit]:
        """Columns with a symmetric prior."""
        codes = as_level(np.asarray(x[:]))
        units = []
        for j, part in enumerate(self.levels.split(self.concentration)):
            if (np.ptp(part, axis=1) <= EQUAL * part[:, 0]).all():
                units.append(
                    LevelUnit((j,), codes[:, [j]], self.sizes[j : j + 1], part.sum(axis=1))
                )
        return units

    def level_columns(self, x: Cells, columns: Sequence[int]) -> "tuple[Array, ColumnDirichlets]":
        sizes = tuple(self.sizes[j] for j in columns)
        codes = as_level(np.asarray(x[:]))[:, columns]
        parts = [self.concentration[:, self.levels.span(j)] for j in columns]
        prior = ColumnDirichlets(np.concatenate(parts, axis=1), sizes)
        return np.where(codes < 0, sizes, codes), prior

    def log_density(self, theta: LevelDensity) -> Parts:
        logs = self.dirichlet_log_density(theta)
        return {("theta{}", j): logs[..., j] for j in range(len(self.sizes))}

    def predictive(self) -> list[Any]:
        """One distribution of one-hot vectors for each column."""
        return [self.column(j).predictive() for j in range(len(self.sizes))]

    def variables(self, pm: Any, names: VariableNames) -> CategoricalDensity:
        parts = enumerate(self.levels.split(self.concentration))
        simplices = [simplex(pm, names("theta{}", j), part) for j, part in parts]
        return CategoricalDensity(pm.math.concatenate(simplices, axis=-1), self.sizes)


@dataclass(frozen=True)
class Codes(LearnedLevels):
    """Levels 0 to the largest integer seen, and at least a minimum number of them, as in
    scikit-learn.

    In a column without whole numbers, the values are levels as usual.
    """

    least: Any = 0  # a number, or one for each column

    def __post_init__(self) -> None:
        least = np.asarray(self.least)
        if least.dtype.kind not in "iu" or least.ndim > 1 or (least < 0).any():
            raise ValueError(
                "min_categories must be None, a whole number of at least 0, or one for each "
                "column, got "
                f"{self.least!r}."
            )

    def least_of(self, column: int, columns: int) -> int:
        """The minimum number of levels of a column."""
        least = np.asarray(self.least)
        if least.ndim and len(least) != columns:
            raise ValueError(f"min_categories has {len(least)} numbers for {columns} columns.")
        return int(np.broadcast_to(least, columns)[column])


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(DirichletFamily):
    """Columns of levels, such as text or codes: a probability for each class, column and level.

    Parameters
    ----------
    prior : Dirichlet or float, default=1.0
        The prior. A number l means ``Dirichlet(l)``; an array broadcasts over classes, columns and
        levels.
    levels : sequence or None, default=None
        The levels of every column, in order. None: those that occur, and those of the columns'
        categorical types.
    unseen : {"ignore", "error", "reserve"}, default="ignore"
        What happens to a level that training never saw. ``"ignore"``: the cell is left out for all
        classes, with an ``UnseenLevelWarning``. ``"error"``: an error is raised. ``"reserve"``: one
        extra level stands for all new ones.

    See Also
    --------
    CategoricalNB : The preset with this family in all columns.
    Bernoulli : Columns of zeros and ones.
    JointTable : Columns of levels modelled jointly.

    Notes
    -----
    The posterior is exact, a ``Dirichlet``. Missing cells are left out.

    Examples
    --------
    >>> from bayesnb import Categorical, NaiveBayes
    >>> colours, drinks = [["red"], ["white"], ["red"]], ["wine", "wine", "juice"]
    >>> model = NaiveBayes(Categorical(0.5)).fit(colours, drinks)
    >>> model.posterior_[0].mean().round(2).tolist()  # juice, wine; red, white
    [[0.75, 0.25], [0.5, 0.5]]
    """

    prior: Dirichlet | EmpiricalDirichlet | float = 1.0
    levels: Sequence[Any] | Codes | None = None
    unseen: str = "ignore"

    content: ClassVar[str] = "levels"
    has_levels: ClassVar[bool] = True
    support: ClassVar[Support] = AnyLevel()
    stats: ClassVar[type[Stats]] = CategoricalStats

    @property
    def positive_only(self) -> bool:
        return isinstance(self.levels, Codes)

    def of_column(self, belief: Any, levels: Any = None, unseen: str = "ignore") -> "Categorical":
        each = unless_alike(belief.concentration)
        each = each[..., :1] if (each == each[..., :1]).all() else each
        each = each if each.ndim == 1 else each[:, None]
        return Categorical(Dirichlet(each[0] if each.shape == (1,) else each), levels, unseen)

    def belief(self, stats: CategoricalStats) -> ColumnDirichlets:
        levels, shape = stats.levels, stats.counts.shape
        if isinstance(self.prior, EmpiricalDirichlet):
            concentration = self.prior.concentrations(stats.counts, levels.columns)
        elif self.concentration.ndim == 0:
            concentration = np.broadcast_to(self.concentration.copy(), shape)
        else:
            concentration = np.empty(shape)
            for j in range(len(stats.sizes)):
                self._fill_column(concentration[:, levels.span(j)], j, len(stats.sizes))
        return ColumnDirichlets(concentration, stats.sizes)

    def _fill_column(self, column: Array, j: int, columns: int) -> None:
        """Fill one column from the declared array, which broadcasts to `(c, f, k)`."""
        given = self.concentration
        full = given.reshape((1,) * (3 - given.ndim) + given.shape)
        try:
            column[:] = np.broadcast_to(full, (*full.shape[:1], columns, *full.shape[2:]))[:, j]
        except ValueError:
            place = f" of column number {j}" if columns > 1 else ""
            shape = len(column), columns, column.shape[1]
            raise ValueError(
                f"Categorical: a concentration of shape {given.shape} does not fit (classes, "
                f"columns, levels) = {shape}{place}. Give a number, or declare `levels`."
            ) from None

    def along_levels(self, smoothing: Array) -> Array:
        return smoothing[..., None] if smoothing.ndim else smoothing

    def seen(self, stats: CategoricalStats) -> Seen:
        columns, bounds = stats.levels.columns, stats.levels.bounds
        unit = self.smoothed(stats, 1.0, "mean").belief(stats).concentration
        return Seen(stats.counts, unit, columns, np.arange(len(columns)) - bounds[columns])

    def of_levels(self, concentration: Any, stats: CategoricalStats) -> ColumnDirichlets:
        return ColumnDirichlets.raw(concentration, stats.sizes)
