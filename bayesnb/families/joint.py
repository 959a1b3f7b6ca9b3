"""How a user says that columns of levels are modelled jointly, by one table of all combinations of their levels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from sys import float_info
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.categorical import Categorical, Codes
from bayesnb.families.dirichlet import CONCENTRATION, Dirichlet
from bayesnb.families.family import (
    Family,
    Hyperparameters,
    Seen,
    checked_prior,
    checked_unseen,
    declared_levels,
    proportions,
)
from bayesnb.families.joint_die import JointDie
from bayesnb.families.joint_seen import JointStats
from bayesnb.families.support import AnyLevel, Support
from bayesnb.families.weight import Weight
from bayesnb.families.wording import number, times


@dataclass(frozen=True, eq=False, repr=False)
class JointTable(Family):
    """Columns of levels modelled jointly: one die a class, with a side for every combination of their levels.

    Parameters
    ----------
    prior : Dirichlet or number
        The concentration of every combination: a number, or one for each class, `(classes,)`. No array over levels:
        a combination is one of the product of the columns' numbers of levels, and all of them are alike before the
        data.
    levels : the levels that every column has, in order; None to learn those of each
    unseen : {"ignore", "error", "reserve"}, what a level does that training never saw, as in `Categorical`

    Notes
    -----
    Booleans and numbers are levels too, each value one.

    A row that is predicted may have missing cells: it is any of the combinations that have the cells that are there,
    and their probabilities are added up, exactly. A row that is learnt teaches nothing about the block if it has a
    missing cell, as there is no conjugate update by a row of which it is not known what was counted.

    Under `estimate="mle"`, with all columns in one block, p(y | x) is the share of label y among the rows that are
    identical to x. It is undefined, and an error, where there are none; every other estimate with a smoothing is
    proper.

    Only combinations that were seen are stored, so thirty columns of two levels take no 2**30 numbers.

    Examples
    --------
    >>> from bayesnb import Categorical, JointTable, NaiveBayes
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]] * 3, ["same", "same", "other", "other"] * 3
    >>> joint, naive = (NaiveBayes(family).fit(X, y) for family in (JointTable(), Categorical()))
    >>> joint.predict_proba([[1, 1]]).round(3).tolist(), naive.predict_proba([[1, 1]]).round(3).tolist()
    ([[0.2, 0.8]], [[0.5, 0.5]])
    >>> round(joint.log_evidence_ - naive.log_evidence_, 2)
    4.91
    """

    prior: Dirichlet | float = 1.0
    levels: Sequence[Any] | None = None
    unseen: str = "ignore"

    word: ClassVar[str] = "joint"
    content: ClassVar[str] = "levels, all combinations of them"
    picture = "levels"
    has_levels: ClassVar[bool] = True
    combined: ClassVar[bool] = True
    joins: ClassVar[type[Family] | None] = Categorical
    conjugate: ClassVar[type[Belief]] = Dirichlet
    number_prior: ClassVar[bool] = True
    hyperparameters: ClassVar[Hyperparameters | None] = CONCENTRATION
    support: ClassVar[Support] = AnyLevel()
    stats: ClassVar[type[Stats]] = JointStats
    whole: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_unseen("JointTable", self.unseen)
        if self.levels is not None and not isinstance(self.levels, Codes):
            object.__setattr__(self, "levels", declared_levels("JointTable", self.levels))
        checked_prior("JointTable", self.prior, Dirichlet, short=True)
        if not isinstance(self.prior, Dirichlet):
            object.__setattr__(self, "prior", Dirichlet(self.prior))
        if np.ndim(self._concentration) > 1:
            raise ValueError(
                f"JointTable: a concentration is a number, or one for each class, got an array of shape "
                f"{self._concentration.shape}. Its sides are all combinations of levels, which are alike before the "
                "data: an array over levels says nothing of them."
            )

    @property
    def columnwise(self) -> Categorical:
        return Categorical(unseen=self.unseen)

    @property
    def _concentration(self) -> Array:
        return self.prior.concentration  # type: ignore[union-attr]

    def observe(self, x: Cells, weight: Weight, sizes: tuple[int, ...] = (), n_jobs: int | None = 1) -> Stats:
        return JointStats.of(x, weight, sizes, n_jobs)

    def belief(self, stats: JointStats) -> JointDie:
        each, classes = self._concentration, len(stats)
        if each.ndim and len(each) != classes:
            raise ValueError(
                f"JointTable: a concentration of shape {each.shape} is neither a number nor one for each of {classes} "
                "classes."
            )
        if prod(stats.sizes) > float_info.max / max(1.0, each.max()):
            raise ValueError(
                f"JointTable: the combinations of levels of {len(stats.sizes)} columns are more than a float can "
                "count. Model fewer columns jointly."
            )
        every = np.broadcast_to(each.reshape(-1, 1, 1), (classes, 1, 1))
        return JointDie(every, stats.combinations[:0], stats.sizes)

    def describe(self, belief: Any) -> str:
        each, combinations = belief.concentration[..., -1], number(float(prod(belief.sizes)))
        return f"as if each of {combinations} combinations had been seen {times(each)} in each class"

    def tuned(self, stats: JointStats, *values: Any) -> Self:
        return self.smoothed(stats, values[0], "mean")

    def smoothed(self, stats: JointStats, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        (unit,), smoothing = proportions(self._concentration), np.asarray(smoothing, float)
        each = smoothing.reshape(()) if smoothing.size == 1 else smoothing.reshape(-1)
        return replace(self, prior=Dirichlet(each * unit + (kind == "map")))

    def seen(self, stats: JointStats) -> Seen:
        """The combinations, and all others together as one more."""
        unit = self.smoothed(stats, 1.0, "mean").belief(stats).beside(stats)
        each = np.array(unit.lumped(unit.concentration)[:, 0])
        levels = np.arange(each.shape[1])
        return Seen(stats.counts[:, 0, : len(levels)], each, np.zeros_like(levels), levels)

    def of_levels(self, concentration: Any, stats: JointStats) -> JointDie:
        return JointDie.raw(stats.spread(concentration)[:, None], stats.combinations, stats.sizes)
