"""How a user says that columns of levels are modelled jointly, by one table of all combinations of their levels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from sys import float_info
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln, polygamma, psi

from bayesnb.families import number_format
from bayesnb.families.base import ORDER, Array, Belief, Cells, Drawn, Narrowed, Parts, Rng, Say, Stats
from bayesnb.families.categorical import Categorical, Codes, ColumnDirichlets
from bayesnb.families.dirichlet import (
    CONCENTRATION,
    Dirichlet,
    DirichletBelief,
    as_level,
    pick,
    simplex,
    throw_log_moment,
)
from bayesnb.families.family import (
    Family,
    Hyperparameters,
    Seen,
    checked_prior,
    checked_unseen,
    declared_levels,
    proportions,
)
from bayesnb.families.joint_stats import Combined, JointDensity, JointStats, flat, unseen
from bayesnb.families.record import silent
from bayesnb.families.removal import Leaving, RemainingLevels, reader_of
from bayesnb.families.support import AnyLevel, Support
from bayesnb.families.weight import Weight
from bayesnb.numerics import special
from bayesnb.numerics.special import draw_log_gamma, less, log_gamma_ratio, times


class JointMargins(Combined):
    """A Dirichlet over all combinations of levels is one over those of fewer columns, by aggregation."""

    concentration: Array

    @property
    def entries(self) -> Dirichlet:
        """The combinations that have an entry, and all others together, which are the last, `(c, 1, n + 1)`."""
        return Dirichlet(self.lumped(self.concentration))

    def level_intervals(self, prob: float) -> tuple[Array, Array, Array]:
        """The expected probability of each combination with an entry, and of all others, and their intervals."""
        return self.entries.level_intervals(prob)

    def margins(self) -> ColumnDirichlets:
        """Every column by itself."""
        every = []
        for j, size in enumerate(self.sizes):
            seen, margin = self.margin(self.concentration[:, 0], np.array([j]))
            each = np.repeat(margin[..., -1:], size, axis=-1)
            each[..., seen[:, 0]] = margin[..., :-1]
            every.append(each)
        return ColumnDirichlets(np.concatenate(every, axis=-1), self.sizes)

    def of_columns(self, columns: Array) -> "JointMargins":
        """Some columns together, in this order."""
        seen = self.margin(self.concentration, columns)[0]
        sizes = tuple(self.sizes[j] for j in columns)
        return self.relaid(lambda values: self.margin(values, columns)[1], seen, sizes)

    def narrowed(self, x: Cells, see: Callable[..., Any]) -> Narrowed:
        codes = as_level(x[:])
        columns = np.flatnonzero(codes[0] >= 0)
        if len(columns) in (0, codes.shape[1]):
            return Narrowed(self, x, see)
        narrowed = self.of_columns(columns)
        return Narrowed(
            narrowed, codes[:, columns], lambda x, weight, n_jobs: JointStats.of(x, weight, narrowed.sizes, n_jobs)
        )


@dataclass(frozen=True, eq=False, repr=False)
class JointDirichlet(JointMargins, DirichletBelief):
    """A Dirichlet for the combinations of every class; a cell is a row of codes, `(..., f)`.

    The concentration is `(c, 1, n + 1)`, the last entry that of each combination which was not seen.
    """

    whole: ClassVar[bool] = True
    concentration: Array
    combinations: Array
    sizes: tuple[int, ...]

    def update(self, stats: JointStats) -> Self:
        opened = self.beside(stats)
        return DirichletBelief.update(opened, stats.beside(opened))

    def log_evidence(self, stats: JointStats, xp: Any = special) -> Array:
        opened = self.beside(stats)
        return DirichletBelief.log_evidence(opened, stats.beside(opened), xp)

    def concentrations(self, x: Array) -> tuple[Array, Array]:
        """The concentrations of rows, and their places, which are negative for a row that says nothing."""
        codes, rows = flat(x)
        return pick(self.gathered(self.concentration, codes), rows[..., None])[..., 0], rows

    def log_moment(self, x: Array, s: Any) -> Array:
        concentration, rows = self.concentrations(x)
        return throw_log_moment(concentration, self.level_sums(self.concentration), rows, s)

    def cumulants(self, x: Array, order: int, tilt: float = 0.0) -> Array:
        concentration, rows = self.concentrations(x)
        pairs = zip(
            _powers(concentration, order, tilt), _powers(self.level_sums(self.concentration), order, tilt), strict=True
        )
        return silent(rows < 0, np.stack([one - whole for one, whole in pairs]))

    def defined_score(self, x: Array, power: Any = 1.0) -> Array:
        codes = as_level(x)
        level = np.where((codes >= 0).any(axis=1), 0, -1)[:, None]
        concentration = self.gathered(self.concentration[:, 0], codes).T
        return throw_log_moment(concentration, self.level_sums(self.concentration)[:, 0], level, power)

    def score_cumulants(self, x: Cells, tilt: float = 0.0) -> Array:
        powers = self._distinct(x, lambda each: _powers(each, ORDER, tilt))
        whole = _powers(self.level_sums(self.concentration)[:, 0], ORDER, tilt)
        return silent(self._says_nothing(x), powers - whole[:, None])

    def score_transform(self, x: Cells, s: Array) -> Array:
        s = np.asarray(s, complex)
        ratios = self._distinct(x, lambda each: log_gamma_ratio(each, s[:, None]))
        whole = log_gamma_ratio(self.level_sums(self.concentration)[:, 0], s[:, None])
        return np.moveaxis(silent(self._says_nothing(x), less(ratios, whole[:, None])), 0, -1)

    def _distinct(self, x: Cells, worth: Callable[[Array], Array]) -> Array:
        """The worth of rows' concentrations, each distinct one's once: `(k,) -> (n, k)` makes `(r, f) -> (n, r, c)`."""
        values, which = np.unique(self.gathered(self.concentration[:, 0], as_level(x[:])), return_inverse=True)
        return worth(np.nan_to_num(values, nan=1.0))[:, which.reshape(len(self), -1).T]

    @staticmethod
    def _says_nothing(x: Cells) -> Array:
        return (as_level(x[:]) < 0).all(axis=1)[:, None]

    def score_left_out(self, stats: JointStats, leaving: Leaving) -> Array:
        """A row with missing cells has not been counted, so it leaves nothing behind, and takes nothing away."""
        opened, codes = self.beside(stats), as_level(leaving.x[:])
        reader = reader_of(self, stats, leaving.kind)
        out = reader.score(codes, leaving.power)[:, 0]
        out[(codes >= 0).any(axis=1) & ~reader.proper[0, 0]] = np.nan
        rows = np.flatnonzero((codes >= 0).all(axis=1))
        every = opened.beside(stats), stats.beside(opened)
        remaining = RemainingLevels.of(
            every[0].concentration, every[1].counts, leaving.kind, lambda v: opened.expand(opened.level_sums(v))
        )
        at = opened.places(codes[rows])
        cells = RemainingLevels(*(np.broadcast_to(each, opened.concentration.shape)[0, 0, at] for each in remaining))
        out[rows] = cells.worth(leaving.weight[rows], leaving.kind, leaving.power)
        return out

    def sample(self, rng: Rng, size: Any = None) -> JointDensity:
        logs = draw_log_gamma(self.lumped(self.concentration), np.random.default_rng(rng), size)
        logs = logs - self.log_sum(logs)
        last = logs[..., -1:] - np.log(self.others) if self.others else np.full_like(logs[..., :1], -np.inf)
        every = np.concatenate([logs[..., : len(self.combinations)], last], axis=-1)
        return JointDensity.of_logs(every, self.combinations, self.sizes)

    def opened(self, drawn: Drawn, x: Cells, rng: Rng) -> JointDensity:
        theta: Any = drawn.theta
        new = unseen(theta, x)
        return theta.opened(new, self.shares(theta, len(new), rng)) if len(new) else theta

    def shares(self, theta: JointDensity, several: int, rng: Rng) -> Array:
        """What so many of the combinations without an entry have of what all those have, and the rest, `(s, 1, m + 1)`.

        As logs, of as many draws as theta has.
        """
        each = np.tile(self.concentration[..., -1:], (len(theta) // len(self), 1, 1))
        a, rest = np.repeat(each, several, axis=-1), theta.others - several
        logs = draw_log_gamma(np.concatenate([a, each * rest], axis=-1) if rest else a, rng)
        logs = logs - self.log_sum(logs)
        return logs if rest else np.concatenate([logs, np.full_like(each, -np.inf)], axis=-1)

    def parts(self) -> Parts:
        """The last entry is that of all other combinations together."""
        return {("theta{}_concentration", None): self.lumped(self.concentration)[..., 0, :]}

    def log_density(self, theta: JointDensity) -> Parts:
        opened = self.beside(theta)
        a, theta = opened.lumped(opened.concentration), theta.beside(opened)
        logs = theta.log_probability[..., : len(theta.combinations)]
        if theta.others:
            logs = np.concatenate([logs, theta.log_probability[..., -1:] + np.log(theta.others)], axis=-1)
        logs_of_theta = times(a - 1, logs).sum(axis=-1) + gammaln(a.sum(axis=-1)) - gammaln(a).sum(axis=-1)
        return {("theta{}", None): logs_of_theta[..., 0]}

    def predictive(self) -> Any:  # type: ignore[override]
        """One-hot vectors over the combinations that were seen and all others together, as SciPy's distribution."""
        from scipy.stats import dirichlet_multinomial

        return dirichlet_multinomial(self.lumped(self.concentration), 1)

    def estimate(self, kind: str) -> JointDensity:
        return JointDensity(self.mean() if kind == "mean" else self.mode(), self.combinations, self.sizes)

    def variables(self, pm: Any, say: Say) -> JointDensity:
        theta = simplex(pm, say("theta{}"), self.lumped(self.concentration)[:, 0])
        return JointDensity(self.spread(theta)[:, None], self.combinations, self.sizes)


def _powers(a: Array, order: int, tilt: float) -> Array:
    """Cumulants of the log of a Gamma variate that was also seen `tilt` times."""
    with np.errstate(all="ignore"):
        return np.stack([psi(a + tilt), *(polygamma(n, a + tilt) for n in range(1, order))])


@dataclass(frozen=True, eq=False, repr=False)
class JointTable(Family):
    """Columns of levels modelled jointly: one categorical distribution a class, over all combinations of their levels.

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

    def belief(self, stats: JointStats) -> JointDirichlet:
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
        return JointDirichlet(every, stats.combinations[:0], stats.sizes)

    def describe(self, belief: Any) -> str:
        each, combinations = belief.concentration[..., -1], number_format.number(float(prod(belief.sizes)))
        return f"as if each of {combinations} combinations had been seen {number_format.times(each)} in each class"

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

    def of_levels(self, concentration: Any, stats: JointStats) -> JointDirichlet:
        return JointDirichlet.raw(stats.spread(concentration)[:, None], stats.combinations, stats.sizes)
