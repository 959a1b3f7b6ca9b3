"""The categorical distribution: one of k levels, whose probabilities are unknown.

    probability ~ Dirichlet(concentration)      cell | probability ~ Categorical(probability)

    prior        Dirichlet(a)
    posterior    Dirichlet(a + n)                        n: counts of the levels, N their sum
    predictive   (a_k + n_k) / (A + N)                   A: the sum of all a_k
    evidence     Gamma(A) / Gamma(A + N) prod_k Gamma(a_k + n_k) / Gamma(a_k)

Labels have this distribution, and so has every categorical column. The arithmetic is level by
level, on the last axis, and is shared by columns with different numbers of levels (categorical.py),
many draws from one distribution (multinomial.py) and combinations of levels (joint.py). Minka
(2000), Estimating a Dirichlet distribution.

The concentration l of a prior Dirichlet(l p), with given p (all 1 for a symmetric prior), can be
chosen to maximise the evidence of the counts:

    evidence(l) = product over columns of B(l p + n) / B(l p),
    B(a) = prod_k Gamma(a_k) / Gamma(A)

Equal counts share one evaluation, and zeros need none.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from bayesnb import formatting
from bayesnb.families import quantiles
from bayesnb.families.base import Array, Belief, Parts, Rng
from bayesnb.families.family import (
    BOUNDS,
    MOST,
    Family,
    Hyperparameters,
    checked_prior,
    checked_unseen,
    declared_levels,
    positive,
    proportions,
)
from bayesnb.families.levels import (
    ONE_COLUMN,
    LevelDensity,
    LevelStats,
    as_level,
    draw_level,
    pick,
)
from bayesnb.families.record import (
    Linear,
    Parameter,
    VariableNames,
    checked,
    independent_variances,
    log_share_variance,
    silent,
)
from bayesnb.families.removal import extra_of
from bayesnb.families.weight import Weight
from bayesnb.numerics import special
from bayesnb.numerics.special import (
    draw_log_gamma,
    less,
    log,
    log_gamma_cumulants,
    log_gamma_ratio,
    psi_rise,
    ratio,
    times,
)
from bayesnb.numerics.views import EVERY

FEWEST = 2.0  # least total pseudo-count of a concentration found by evidence with a pooled base
FEW = 40  # levels up to which PyMC samples on the simplex itself


def simplex(pm: Any, named: dict[str, Any], concentration: Any) -> Any:
    """A Dirichlet over the last axis, as a PyMC variable.

    With many levels: normalised Gamma variates, which stay off the edges of the simplex.
    """
    levels = (
        concentration.shape[-1]
        if isinstance(concentration, np.ndarray)
        else concentration.type.shape[-1]
    )
    if levels == 1:
        return pm.Deterministic(**named, var=pm.math.ones_like(concentration))
    if levels <= FEW:
        return pm.Dirichlet(**named, a=concentration)
    variates = pm.Gamma(
        f"{named['name']}_variate", alpha=concentration, beta=1.0, dims=named["dims"]
    )
    return pm.Deterministic(**named, var=variates / variates.sum(axis=-1, keepdims=True))


class DirichletBelief(Belief):
    """Base of Dirichlet beliefs. Subclasses differ in what a cell is, and so in `log_moment`."""

    symbols: ClassVar[dict[str, str]] = {"concentration": "theta{}_concentration"}
    density: ClassVar[type[LevelDensity]]
    levels: Any  # their Layout
    concentration: Parameter

    def __post_init__(self) -> None:
        super().__post_init__()
        checked("Dirichlet: concentration", self.concentration)

    @property
    def public_name(self) -> str:
        return "Dirichlet"

    @property
    def total(self) -> Array:
        """The total concentration of each column, broadcasting against its levels."""
        return self.levels.totals(self.concentration)

    def mean(self) -> Array:
        """Return the expected probability of each level, the concentration divided by its total.

        Returns
        -------
        array
            Probabilities that sum to 1 over the levels of each column.

        See Also
        --------
        mode : The most probable probabilities.

        Examples
        --------
        >>> from bayesnb import Dirichlet
        >>> Dirichlet([1.0, 1.0, 2.0]).mean()
        array([0.25, 0.25, 0.5 ])
        """
        return self.levels.normalise(self.concentration)

    def mode(self) -> Array:
        return self.levels.normalise(np.maximum(self.concentration - 1, 0.0))

    @property
    def proper(self) -> Array:
        """Whether the total is above 0; single levels may have 0, the limit of small
        concentrations.
        """
        return self.levels.sums(self.concentration) > 0

    @property
    def strictly_proper(self) -> Array:
        return self.levels.sums((self.concentration <= 0).astype(float)) == 0

    def strengthened(self, times: Any) -> Self:
        each = self.levels.expand(times) if np.ndim(times) else times
        return self.map(lambda array: each * array)

    def linear_variance(self, against: int | None = None) -> Linear:
        """Variances level by level; the levels of a column are not independent."""
        classes = len(self.concentration)
        each = log_share_variance(self.concentration, self.total).reshape(classes, -1)
        return independent_variances(each, np.zeros(classes), against)

    def update(self, stats: Any) -> Self:
        prior, stats = self.aligned(stats)
        return prior.map(lambda array: array + stats.counts)

    def log_evidence(self, stats: Any, xp: Any = special) -> Array:
        prior, stats = self.aligned(stats)
        total = prior.levels.sums(prior.concentration)
        gain = prior.levels.sums(xp.log_gamma_ratio(prior.concentration, stats.counts))
        return gain - xp.log_gamma_ratio(total, prior.levels.sums(stats.counts))

    def level_log_moment(self, s: Any, places: Any = EVERY) -> Array:
        """K(s) = log E[probability**s] of the levels at some places."""
        if np.ndim(s) == 0 and s == 1:
            share = self.mean()
            return log(share, out=share)[..., places]
        each = self.levels.per_level(s, places)
        level = log_gamma_ratio(self.concentration[..., places], each)
        sums = self.levels.sums(self.concentration)
        if places is not EVERY and len(places) < sums.shape[-1]:  # as for one row
            total = log_gamma_ratio(self.levels.expand(sums, places), each)
        else:
            total = self.levels.expand(log_gamma_ratio(sums, s), places)
        return less(level, total)

    def level_cumulants(self, order: int, tilt: Any = 0.0, places: Any = EVERY) -> Array:
        """Cumulants of the log-probability of the levels at some places."""
        level = self.concentration[..., places] + self.levels.per_level(tilt, places)
        total = log_gamma_cumulants(self.levels.sums(self.concentration) + tilt, order)
        with np.errstate(invalid="ignore"):
            return log_gamma_cumulants(level, order) - self.levels.expand(total, places)

    def sample(self, rng: Rng, size: Any = None) -> LevelDensity:
        logs = draw_log_gamma(self.concentration, np.random.default_rng(rng), size)
        logs = logs - self.levels.totals(logs, np.logaddexp)
        return self.density.of_logs(logs, *self.layout_values)

    def estimate(self, kind: str) -> LevelDensity:
        probability = self.mean() if kind == "mean" else self.mode()
        return self.density(probability, *self.layout_values)  # type: ignore[call-arg]

    def dirichlet_log_density(self, theta: LevelDensity) -> Array:
        """log p(probabilities), one number for each column."""
        logs = times(self.concentration - 1, theta.log_theta) - gammaln(self.concentration)
        return self.levels.sums(logs) + gammaln(self.levels.sums(self.concentration))

    def interval(self, prob: float) -> tuple[Array, Array]:
        rest = np.broadcast_to(self.total, self.concentration.shape) - self.concentration
        rests = np.where(rest > 0, rest, 1.0)
        lower, upper = (quantiles.beta(p, self.concentration, rests) for p in quantiles.tails(prob))
        # the only level is certain
        return np.where(rest > 0, lower, 1.0), np.where(rest > 0, upper, 1.0)

    def level_intervals(self, prob: float) -> tuple[Array, Array, Array]:
        """Each level's expected probability, and the ends of its interval."""
        return self.mean(), *self.interval(prob)

    def predictive(self) -> Any:
        from scipy.stats import dirichlet_multinomial

        return dirichlet_multinomial(self.concentration, 1)


def log_level_moment(concentration: Array, total: Array, missing: Array, s: Any) -> Array:
    """log E[probability**s] of levels, from concentrations and totals; 0 where missing."""
    if np.ndim(s) == 0 and s == 1:
        return silent(missing, log(ratio(concentration, total)))
    return silent(missing, less(log_gamma_ratio(concentration, s), log_gamma_ratio(total, s)))


def tally(level: Array, size: int, weight: Weight) -> Array:
    """Counts of levels by class, `(r,), (r, c) -> (c, k)`."""
    cell = weight.codes * size + level
    seen = level >= 0
    counts = np.bincount(cell[seen], weight.counts[seen], minlength=weight.classes * size)
    return counts.reshape(weight.classes, size)


@dataclass(frozen=True, eq=False)
class DirichletStats(LevelStats):
    levels = ONE_COLUMN
    counts: Array

    @classmethod
    def defined(cls, x: Array, weight: Weight) -> Self:
        """Count codes of one column, `(r,)`; the largest sets the number of levels."""
        level = as_level(x)
        return cls(tally(level, int(level.max(initial=0)) + 1, weight))

    def mle(self) -> "DirichletDensity":
        return DirichletDensity(self.mle_share())


@dataclass(frozen=True, eq=False)
class DirichletDensity(LevelDensity):
    levels = ONE_COLUMN
    probability: Array

    def log_density(self, x: Array) -> Array:
        return pick(self.log_theta, as_level(x)[..., None])[..., 0]

    def sample(self, rng: Rng) -> Array:
        return draw_level(self.probability, rng)


@dataclass(frozen=True, eq=False, repr=False)
class Dirichlet(DirichletBelief):
    r"""Dirichlet distribution over probabilities: the conjugate prior of levels and words.

    The concentration of a level is its pseudo-count. As the prior of a family it may also be a rule
    that sets the concentrations from the data of the first ``fit``: empirical Bayes.

    Parameters
    ----------
    concentration : float, array or "evidence", default=1.0
        One number for all levels, or an array whose last axis is the levels. ``"evidence"``
        chooses, for each column, the number that maximises the evidence of its levels given the
        labels.
    base : {"uniform", "pooled"}, default="uniform"
        Proportions of the concentrations. ``"uniform"``: all levels have the given concentration c.
        ``"pooled"``: a level has c K times its share among all rows, whatever their class, where K
        is the number of levels; a level without rows counts as half a row.

    Attributes
    ----------
    concentration : array
        As given, as floats.

    See Also
    --------
    Categorical : Columns of levels.
    Multinomial : Counts of words.
    Beta : The special case of two levels.

    Notes
    -----
    With smoothing l, counts n of K levels and their total N, (n + l) / (N + l K) is the posterior
    mean under Dirichlet(l) and the mode under Dirichlet(1 + l); l = 0 is the maximum likelihood
    estimate. Where a concentration is below 1 the mode is at the edge of the simplex; where the
    distribution is flat it is uniform.

    ``"evidence"`` and ``base="pooled"`` give a rule from which a family makes its prior, not yet a
    belief.

    A cell is the code of a level, and its predictive probability is the expected one. The evidence
    is that of the levels in their order:

    .. math::

        p(D) = \frac{\Gamma(A)}{\Gamma(A + N)} \prod_k \frac{\Gamma(a_k + n_k)}{\Gamma(a_k)},
        \quad A = \sum_k a_k

    References
    ----------
    Minka, T. (2000), Estimating a Dirichlet distribution.

    Examples
    --------
    >>> from bayesnb import Dirichlet
    >>> Dirichlet([1.0, 1.0, 2.0]).mean()
    array([0.25, 0.25, 0.5 ])
    >>> Dirichlet("evidence", base="pooled")
    Dirichlet('evidence', base='pooled')
    """

    density: ClassVar[type[LevelDensity]] = DirichletDensity
    levels = ONE_COLUMN
    concentration: Parameter

    def __new__(cls, concentration: Any = 1.0, base: str = "uniform") -> Any:
        """Return the belief, or a rule if it depends on the data."""
        is_rule = isinstance(concentration, str) or base != "uniform"
        return EmpiricalDirichlet(concentration, base) if is_rule else super().__new__(cls)

    def __init__(self, concentration: Any = 1.0, base: str = "uniform") -> None:
        object.__setattr__(self, "concentration", concentration)
        self.__post_init__()

    def log_moment(self, x: Array, s: Any) -> Array:
        level = as_level(x)
        concentration = pick(self.concentration, level[..., None])[..., 0]
        return log_level_moment(concentration, self.levels.sums(self.concentration), level < 0, s)

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        level = as_level(x)[..., None]
        return np.stack([pick(table, level)[..., 0] for table in self.level_cumulants(order, tilt)])

    def log_density(self, theta: LevelDensity) -> Parts:
        return {("theta{}", None): self.dirichlet_log_density(theta)}

    def variables(self, pm: Any, names: VariableNames) -> DirichletDensity:
        return DirichletDensity(simplex(pm, names("theta{}"), self.concentration))

    def mle(self, stats: DirichletStats) -> DirichletDensity:
        return stats.mle()

    def weight_log_moment(self, s: Any) -> Array:
        """log E[G**s] of independent Gamma variates G, which are the probabilities once
        normalised.
        """
        return log_gamma_ratio(self.concentration, s)

    def weight_cumulants(self, order: int, tilt: Any = 0.0) -> Array:
        """Cumulants of log G: the derivatives of `weight_log_moment` at `tilt`."""
        return log_gamma_cumulants(self.concentration + tilt, order)

    def log_variance(self, against: int | None = None) -> Array:
        """Variances of the logs of the probabilities, or of the log-odds against one level."""
        return log_share_variance(self.concentration, self.concentration.sum(), against)

    def recounted(self, stats: DirichletStats) -> Self:
        """The prior itself: it does not depend on the labels."""
        return self

    def labels_left_out(
        self, stats: DirichletStats, codes: Array, weight: Array, kind: str
    ) -> Array:
        """Leave-one-out log probability of every level, with this belief as the prior.

        Shapes: `(r,), (r,) -> (r, k)`.
        """
        extra = extra_of(self.concentration, kind)
        row = np.arange(len(codes))
        rest = np.repeat(np.maximum(extra + stats.counts, 0.0)[None], len(codes), axis=0)
        rest[row, codes] = np.maximum(
            extra[codes] + np.maximum(stats.counts[codes] - weight, 0.0), 0.0
        )
        share = self.levels.normalise(rest)
        return log(
            share if kind == "map" else np.where(rest.sum(axis=1, keepdims=True) > 0, share, np.nan)
        )


@dataclass(frozen=True, eq=False, repr=False)
class EmpiricalDirichlet:
    """A rule that sets the Dirichlet priors of columns from the first table: empirical Bayes.

    concentration : c, numbers that broadcast to (class, column), or "evidence": for each column the
        one that maximises the evidence; with a pooled base its total is at least 2
    base : "uniform", every level has c; "pooled", a level has c K times its share of all rows,
        where the column has K levels and a level without rows counts as half a row
    added : is added to every concentration; 1 turns a smoothing into a prior for the mode
    """

    concentration: float | np.ndarray | str = 1.0
    base: str = "uniform"
    added: float = 0.0

    def __post_init__(self) -> None:
        if self.base not in ("uniform", "pooled"):
            raise ValueError(f"Dirichlet: base must be 'uniform' or 'pooled', got {self.base!r}.")
        if isinstance(self.concentration, str) and self.concentration != "evidence":
            raise ValueError(
                "Dirichlet: concentration must be numbers or 'evidence', got "
                f"{self.concentration!r}."
            )
        if not isinstance(self.concentration, str):
            checked("Dirichlet: concentration", self.concentration)

    def concentrations(self, counts: Array, column: Array) -> Array:
        """The concentrations of levels, from their counts and columns, `(c, k), (k,) -> (c, k)`."""
        unit = self._unit(counts.sum(axis=0), column)
        columns = int(column[-1]) + 1
        if isinstance(self.concentration, str):
            groups = np.broadcast_to(np.arange(columns), (len(counts), columns))
            terms = evidence_terms(counts, np.broadcast_to(unit, counts.shape), column, groups)
            each = best_concentration(terms, columns)
            # few rows have the largest evidence if each class has a single level: overfitting
            if self.base == "pooled":
                each = np.maximum(each, FEWEST / np.bincount(column))
        else:
            each = np.asarray(self.concentration, float)
        per_column = np.broadcast_to(each, (len(counts), columns))
        return per_column[:, column] * unit + self.added

    def _unit(self, pooled: Array, column: Array) -> Array:
        """The concentrations at c = 1, `(k,) -> (k,)`."""
        if self.base == "uniform":
            return np.ones(len(pooled))
        levels = np.bincount(column)[column]
        unseen = np.bincount(column, pooled == 0)[column] > 0
        rows = np.where(unseen, np.maximum(pooled, 0.5), pooled)
        return levels * rows / np.bincount(column, rows)[column]

    def __repr__(self) -> str:
        added = f", added={self.added:g}" if self.added else ""
        return f"Dirichlet({self.concentration!r}, base={self.base!r}{added})"


CONCENTRATION = Hyperparameters(
    names=("concentration",),
    weak=(1.0,),
    factors=("smoothing",),
    counts_levels=True,
    note="With smoothing l, counts n of K levels and their total N, (n + l) / (N + l K) is both "
    "the posterior mean under a Dirichlet(l) prior and the mode (MAP) under Dirichlet(1 + l); "
    "l = 0 is the maximum likelihood estimate. A prior declared with an array keeps its "
    "proportions, and l is its mean.",
    extremes={
        (
            "concentration",
            True,
        ): "levels are as even as chance makes them: the best prior is that they are equal",
        (
            "concentration",
            False,
        ): "each class has only one level of each column: the best prior expects just that",
    },
)


class LearnedLevels:
    """A rule for learning the levels of a column from its cells, instead of a list of levels."""


class DirichletFamily(Family):
    """Families whose prior is a Dirichlet over levels, or a number for a symmetric one."""

    prior: Dirichlet | EmpiricalDirichlet | float
    picture = "levels"
    conjugate: ClassVar[type[Belief]] = Dirichlet
    hyperparameters: ClassVar[Hyperparameters | None] = CONCENTRATION

    def __post_init__(self) -> None:
        name = type(self).__name__
        checked_unseen(name, self.unseen)
        if self.levels is not None and not isinstance(self.levels, LearnedLevels):
            object.__setattr__(self, "levels", declared_levels(name, self.levels))
        if isinstance(self.prior, EmpiricalDirichlet):
            return
        checked_prior(name, self.prior, Dirichlet, short=True)
        if not isinstance(self.prior, Dirichlet):
            object.__setattr__(self, "prior", Dirichlet(self.prior))

    @property
    def concentration(self) -> Array:
        """The concentration of the prior, a number or an array."""
        return self.prior.concentration  # type: ignore[union-attr, return-value]

    def describe(self, belief: Any) -> str:
        return (
            f"as if each level had been seen {formatting.times(belief.concentration)} in each class"
        )

    def tuned(self, stats: Any, *values: Any) -> Self:
        return self.smoothed(stats, values[0], "mean")

    def smoothed(self, stats: Any, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        if isinstance(self.prior, EmpiricalDirichlet):
            return replace(
                self, prior=replace(self.prior, concentration=smoothing, added=float(kind == "map"))
            )  # type: ignore[type-var]
        (unit,), each = (
            proportions(self.concentration),
            self.along_levels(np.asarray(smoothing, float)),
        )
        return replace(self, prior=Dirichlet(each * unit + (kind == "map")))  # type: ignore[type-var]

    @abstractmethod
    def along_levels(self, smoothing: Array) -> Array:
        """Reshape a number, or numbers `(c, f)`, to broadcast against the prior's concentration."""


# The most probable concentration

HALVINGS = 40  # bisections of two grid steps: to 1e-12
FAR = np.log(1e5)  # from here on the evidence may rise by less than rounding
LADDER = np.linspace(*BOUNDS, 65)  # a grid of log concentrations, with 0 in the middle


class EvidenceTerms(NamedTuple):
    """Distinct terms lnGamma(l unit + number) - lnGamma(l unit) of the log evidence: the group of
    each, and how often it occurs.
    """

    group: Array
    number: Array
    unit: Array
    times: Array

    @classmethod
    def of(cls, group: Array, count: Array, unit: Array, sign: float) -> Self:
        seen = count > 0
        counts, count_code = np.unique(count[seen], return_inverse=True)
        units, unit_code = np.unique(unit[seen], return_inverse=True)
        shape = int(group.max(initial=0)) + 1, max(len(counts), 1), max(len(units), 1)
        key = np.ravel_multi_index((group[seen], count_code, unit_code), shape)
        distinct, times = np.unique(key, return_counts=True)
        groups, count_code, unit_code = np.unravel_index(distinct, shape)
        return cls(groups, counts[count_code], units[unit_code], sign * times)

    def __add__(self, other: Self) -> Self:  # type: ignore[override]
        return type(self)(*map(np.append, self, other))


def evidence_terms(counts: Array, unit: Array, column: Array, groups: Array) -> EvidenceTerms:
    """Collect counts of levels, `(c, k), (c, k), (k,)`.

    `groups`, `(c, f)`, says which counts share a concentration.
    """
    totals = np.zeros((2, *groups.shape))
    for total, each in zip(totals, (counts, unit), strict=True):
        np.add.at(total.T, column, each.T)
    levels = EvidenceTerms.of(groups[:, column].ravel(), counts.ravel(), unit.ravel(), 1.0)
    return levels + EvidenceTerms.of(groups.ravel(), totals[0].ravel(), totals[1].ravel(), -1.0)


def log_evidence(terms: EvidenceTerms, concentration: Array) -> Array:
    """Log evidence of each group at its concentration, `(g,) -> (g,)`.

    0 for a group without counts.
    """
    prior_count = concentration[terms.group] * terms.unit
    return np.bincount(
        terms.group, terms.times * log_gamma_ratio(prior_count, terms.number), len(concentration)
    )


def slope(terms: EvidenceTerms, concentration: Array) -> Array:
    """Derivative of `log_evidence` in log concentration."""
    prior_count = concentration[terms.group] * terms.unit
    each = terms.times * prior_count * psi_rise(prior_count, terms.number)
    return np.bincount(terms.group, each, len(concentration))


def best_concentration(terms: EvidenceTerms, groups: int) -> Array:
    """Return the concentration with the largest evidence for each group, `(g,)`, within bounds.

    Bisection between the neighbours of the best point of a coarse grid; 1 where all are equally
    good.
    """
    ladder = np.stack([log_evidence(terms, np.full(groups, np.exp(step))) for step in LADDER])
    good = ladder >= (top := ladder.max(axis=0)) - 1e-12 * (1 + np.abs(top))
    # among equally good ones, the nearest to 1
    rung = np.where(good, np.abs(LADDER)[:, None], np.inf).argmin(axis=0)
    low = LADDER[np.maximum(rung - 1, 0)]
    high = LADDER[np.minimum(rung + 1, len(LADDER) - 1)]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rises = slope(terms, np.exp(middle)) > 0
        low = np.where(rises, middle, low)
        high = np.where(rises, high, middle)
    value = log_evidence(terms, np.exp(low))
    slack = 1e-14 * (1 + np.abs(top))
    better = value > ladder[rung, np.arange(groups)] + slack  # by more than rounding
    at = np.where(better, low, LADDER[rung])
    value = np.where(better, value, top)
    end = log_evidence(terms, np.full(groups, MOST))
    return positive(np.where((at > FAR) & (end >= value - slack), LADDER[-1], at))
