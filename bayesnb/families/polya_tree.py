"""Columns of numbers whose density has any shape, on a grid of quantiles of the column: a family of Polya trees.

    each cut of the grid is a boundary of bins with the same probability      shares of the bins ~ Dirichlet
    number | bin ~ as all rows are

Given its bins this is a Polya tree of depth one, and all trees that the grid allows are weighed by their evidence: a
histogram averaged over all binnings. The belief is in averaged_histogram.py, the grid in grid.py.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb import formatting
from bayesnb.families.averaged_histogram import AveragedHistogram
from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.family import Family, Hyperparameters, unless_alike
from bayesnb.families.grid import DEEPEST, Grid
from bayesnb.families.grid_levels import GridStats
from bayesnb.families.record import checked
from bayesnb.families.support import RealNumbers, Support
from bayesnb.families.weight import Weight

VANISHING = 1e-200  # a concentration of 0 is the limit of small ones
SHAPES = Hyperparameters(
    names=("concentration",),
    weak=(2.0,),
    note="In columns with Polya trees the prior's concentration is l times the declared one: how alike the classes "
    "are where they differ at all.",
    extremes={
        ("concentration", True): "where classes differ, the prior says that they hardly do",
        ("concentration", False): "cells of a class are all in one bin, and the prior says that they are",
    },
)


@dataclass(frozen=True, eq=False, repr=False)
class PolyaTree(Family[GridStats]):
    """Columns of numbers whose density has any shape, learnt on a grid of quantiles of the column.

    A class's density is a histogram whose bins are runs of the grid's levels, and in each bin it is distributed as all
    rows are. All ways to join levels into bins are averaged, weighted by their evidence, in closed form.

    Parameters
    ----------
    depth : int, default=5
        The grid has 2**depth levels: rows are halved, and the halves are halved again, ``depth`` times in all.
    concentration : float or array, default=2.0
        How many rows the prior of a class's shares is worth, given the bins: they are Dirichlet(concentration q), where
        q are the shares of all rows.
    stop : float, default=0.5
        The probability, before the data, that no cut of the grid is a boundary, so that the class is distributed as all
        rows are. Each cut is a boundary with the same probability.
    cuts : sequence or None, default=None
        The grid: increasing numbers for all columns, or a list of such for each. Cells of all levels are then equally
        expected before the data, and models of parts of a table can be merged. None: the grid is learnt from the first
        table, all classes together, and then stays.

    See Also
    --------
    Gaussian : Columns of numbers with a normal distribution for each class.
    BestOf : A choice between the two by the data.
    AveragedHistogram : The belief of this family.

    Notes
    -----
    All that counts of a number is between which cuts it lies. So predictions do not depend on the units of a column, or
    on any increasing function that it goes through, and an outlier costs no more than its level. A number beyond the
    ends of the grid counts as on its outer level.

    A learnt grid is that of a belief, ``model.posterior_["age"].grid``, whose ``cuts`` can be declared elsewhere.

    ``log_evidence_`` is relative to the distribution of all rows. It can be compared with that of other models on the
    same grid; compare with other families by leave-one-out. A row that ``sample`` draws has a number from the range
    that its level held: a whole number where all of the column's were.

    The family is named for the Polya tree: each histogram is one, of depth one, and all of them are weighted.

    References
    ----------
    Endres, D. and Foeldiak, P. (2005), Bayesian bin distribution inference and mutual information. IEEE Transactions on
    Information Theory 51.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, PolyaTree
    >>> x = [[0.1], [0.2], [0.3], [0.4], [5.0], [6.0], [7.0], [8.0], [9.0], [80.0], [81.0], [82.0]]
    >>> NaiveBayes(PolyaTree()).fit(x, list("aaabbbbbbaaa")).predict([[0.15], [6.5], [900.0]]).tolist()
    ['a', 'b', 'a']
    """

    depth: int = 5  # 32 levels: more predict hardly better, and the work grows with their square
    concentration: Any = 2.0
    stop: float = 0.5
    cuts: Any = None

    content: ClassVar[str] = "numbers, a density of any shape"
    conjugate: ClassVar[type[Belief] | None] = None  # two numbers make it, on a grid that nobody knows beforehand
    hyperparameters: ClassVar[Hyperparameters | None] = SHAPES
    support: ClassVar[Support] = RealNumbers()
    stats: ClassVar[type[Stats]] = GridStats
    has_grid: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if type(self.depth) is not int or not 1 <= self.depth <= DEEPEST:
            raise ValueError(f"PolyaTree: depth must be a whole number from 1 to {DEEPEST}, got {self.depth!r}.")
        if not (isinstance(self.stop, float | int) and 0 < self.stop < 1):
            raise ValueError(f"PolyaTree: stop is a probability above 0 and below 1, got {self.stop!r}.")
        checked("PolyaTree: concentration", self.concentration)
        if self.cuts is not None:
            object.__setattr__(self, "cuts", _checked_cuts(self.cuts))

    def grid_of(self, x: Cells, weight: Array | None, n_jobs: int | None = 1) -> Grid:
        """The grid of these cells, `(r, f)`; or the one that is declared."""
        if self.cuts is None:
            return Grid.learnt(x, weight, self.depth, n_jobs)
        columns = self.cuts if isinstance(self.cuts[0], tuple) else (self.cuts,) * x.shape[1]
        if len(columns) != x.shape[1]:
            raise ValueError(f"PolyaTree: cuts are those of {len(columns)} columns, and there are {x.shape[1]}.")
        return Grid.declared([np.array(each) for each in columns])

    def observe(self, x: Cells, weight: Weight, sizes: Any = (), n_jobs: int | None = 1) -> GridStats:
        return GridStats.of(x, weight, sizes, n_jobs)

    def belief(self, stats: GridStats) -> AveragedHistogram:
        grid = stats.grid
        try:
            each = np.broadcast_to(self.concentration, (len(stats), len(grid.sizes)))
        except ValueError:
            raise ValueError(
                f"PolyaTree: a concentration of shape {np.shape(self.concentration)} does not broadcast to (classes, "
                f"columns) = ({len(stats)}, {len(grid.sizes)}). Give a number, or as many as there are columns."
            ) from None
        alike = np.log(self.stop) / np.maximum(np.array(grid.sizes) - 1, 1)  # log-probability of no boundary, by cut
        log_odds = np.broadcast_to(np.log(np.expm1(-alike)), each.shape)
        return AveragedHistogram(np.maximum(each, VANISHING), log_odds, np.zeros_like(stats.counts), grid)

    def describe(self, belief: Any) -> str:
        levels = max(belief.sizes)
        if levels == 1:
            return "one value, which tells no classes apart"
        return (
            f"as all rows are with probability {self.stop:g}; where a class differs, its bins worth "
            f"{formatting.number_range(belief.concentration)} rows; at most {levels} bins"
        )

    def of_column(self, belief: Any, levels: Any = None, unseen: str = "ignore") -> "PolyaTree":
        each = unless_alike(belief.concentration)
        return replace(self, concentration=float(each[0]) if each.shape == (1,) else each)

    def tuned(self, stats: GridStats, *values: Any) -> Self:
        return replace(self, concentration=values[0])

    def smoothed(self, stats: GridStats, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        return replace(self, concentration=np.asarray(smoothing) * self.concentration)


def _checked_cuts(cuts: Any) -> tuple[Any, ...]:
    """Cut points as a tuple of numbers, or as one for each column."""
    each = list(cuts)
    if each and np.ndim(each[0]):
        return tuple(_checked_cuts(column) for column in each)
    numbers = np.array(each, float)
    if not (len(numbers) and np.isfinite(numbers).all() and (np.diff(numbers) > 0).all()):
        raise ValueError(f"PolyaTree: cuts are finite numbers, each above the one before, got {each!r:.80}.")
    if len(numbers) >= 1 << DEEPEST:
        raise ValueError(f"PolyaTree: at most {(1 << DEEPEST) - 1} cuts, got {len(numbers)}.")
    return tuple(numbers.tolist())
