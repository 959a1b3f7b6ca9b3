"""Columns that may have nothing to do with the class: each class has its theta, or all classes share one.

    included ~ Bernoulli(q)
    theta_c ~ prior for each class, if the feature is included; else theta_c = theta ~ prior, for all classes

Given the labels the features are independent, indicators and all. So are their posteriors, and the product over
features of what follows is the exact average over all subsets of features, of which there are 2 to the power f: Dash
and Cooper (2004), Model averaging for prediction with discrete Bayesian networks. With w the probability that the
feature is included and K(s) = log E[p(x | theta)**s], that of the average is log(w exp K_separate(s) + (1 - w) exp
K_common(s)).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from numbers import Integral
from operator import add
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from scipy import sparse
from scipy.special import expit, log_expit

from bayesnb.families.base import ORDER, Array, Belief, Cells, Contributions, Density, Drawn, Rng
from bayesnb.families.capabilities import (
    HasBaseDensity,
    HasFewValues,
    Narrowed,
    narrowed,
    opened,
    strengthened,
    words_of,
)
from bayesnb.families.record import Parts, Power, lead, of_powers, raised
from bayesnb.families.removal import Leaving
from bayesnb.families.sums import made_at
from bayesnb.families.weight import one_hot
from bayesnb.numerics import special
from bayesnb.numerics.special import ratio
from bayesnb.numerics.threads import blocks

MOMENTS = 1 << 17  # of cells, and
NUMBERS = 1 << 20  # scores of cells, that are worked on at once
SIGNS = (-1.0) ** np.arange(1, ORDER + 1)


def mixed(log_odds: Array, first: Array, second: Array) -> Array:
    """log(w exp(first) + (1 - w) exp(second)), real or complex; exactly 0 where both are 0, as missing cells are."""
    one, two = _weighted(log_expit(log_odds), first), _weighted(log_expit(-log_odds), second)
    return np.where((first == 0) & (second == 0), 0.0, log_add(one, two))


def log_add(one: Array, two: Array) -> Array:
    """log(exp(one) + exp(two)), real or complex."""
    if not (np.iscomplexobj(one) or np.iscomplexobj(two)):
        return np.logaddexp(one, two)
    top = np.maximum(one.real, two.real)
    with np.errstate(invalid="ignore"):
        total = np.log(np.exp(one - top) + np.exp(two - top)) + top
    return np.where(np.isinf(top), top, total)


def _weighted(log_weight: Array, value: Array) -> Array:
    """Add a log weight; a hypothesis of probability 0 weighs nothing, however large its value is."""
    return np.where(np.isneginf(log_weight), -np.inf, log_weight + np.where(np.isneginf(log_weight), 0.0, value))


def mixed_cumulants(log_odds: Array, first: Array, second: Array) -> Array:
    """The first four cumulants of a mixture, or fewer, from those of its parts, stacked on the leading axis.

    The law of total cumulance, Brillinger (1969): from the parts' cumulants given which part holds, and those of which.
    """
    w, v = expit(log_odds), expit(-log_odds)
    gaps = [one - two for one, two in zip(first, second, strict=True)]
    cumulants = [w * one + v * two for one, two in zip(first, second, strict=True)]
    d, both, skew = gaps[0], w * v, v - w
    if len(cumulants) > 1:
        cumulants[1] = cumulants[1] + both * d**2
    if len(cumulants) > 2:
        cumulants[2] = cumulants[2] + 3 * both * d * gaps[1] + both * skew * d**3
    if len(cumulants) > 3:
        spread = 4 * d * gaps[2] + 3 * gaps[1] ** 2 + 6 * skew * d**2 * gaps[1]
        cumulants[3] = cumulants[3] + both * (spread + (1 - 6 * both) * d**4)
    return np.stack(cumulants)


@dataclass(frozen=True, eq=False)
class Mixture:
    """One of two of SciPy's frozen distributions: the first with probability `share`."""

    share: Array
    first: Any
    second: Any

    def _mixed(self, name: str, *args: Any) -> Any:
        one, two = getattr(self.first, name)(*args), getattr(self.second, name)(*args)
        return self.share * one + (1 - self.share) * two

    def pdf(self, x: Any) -> Any:
        return self._mixed("pdf", x)

    def pmf(self, x: Any) -> Any:
        return self._mixed("pmf", x)

    def cdf(self, x: Any) -> Any:
        return self._mixed("cdf", x)

    def mean(self) -> Any:
        return self._mixed("mean")


class MixedLeaveOneOut(NamedTuple):
    """Leave-one-out of an averaged prior: the stats of each class, and of all classes as one, and the posterior."""

    prior: "Averaged"
    stats: Any
    pooled: Any
    posterior: "Averaged"

    def scores(self, leaving: Leaving) -> Array:
        """Scores of rows once each has left its class, `(r, f) -> (r, c)`; NaN where too few digits would stay."""
        total = np.empty((len(leaving.codes), len(self.prior)))
        values = values_of(self.prior.separate)
        for c, group in leaving.groups():
            weights, which = np.unique(leaving.weight[group], return_inverse=True)
            for w in range(len(weights)):
                rows = group[which == w]
                if self.prior.multivariate:
                    total[rows] = self._of_vectors(c, leaving[rows])
                elif values is not None and len(values) <= len(rows):
                    total[rows] = self._by_value(c, leaving[rows], values)
                else:
                    total[rows] = self._by_cell(c, leaving[rows])
        return total

    def _of_vectors(self, c: int, leaving: Leaving) -> Array:
        """Where the block is one feature, whose rows leave by a compiled loop.

        A row that lacks cells was not learnt, so its evidence is not taken back.
        """
        separate, shared = self.prior.separate[c : c + 1], self.prior.common
        seen = self.posterior.separate[c : c + 1], self.posterior.common
        alone, together = (belief.row_log_moment(leaving.x, -leaving.each)[:, 0] for belief in seen)
        evidence = np.where(self.stats.learnt(leaving.x), together - alone, 0.0)
        scores = self.posterior.separate.score(leaving.x)
        scores[:, c] = separate.score_left_out(self.stats[c : c + 1], leaving)
        common = shared.score_left_out(self.pooled, leaving)
        return mixed(self.posterior.log_odds[0] - evidence[:, None], scores, common[:, None])

    def _by_value(self, c: int, leaving: Leaving, values: Array) -> Array:
        """Where a cell has few values: the score of each if it leaves, looked up for all rows.

        A value that the class never saw has a score too, but no row that leaves can have it.
        """
        codes, weight = np.full(len(values), c), np.full(len(values), leaving.each)
        every = Leaving(values, codes, weight, leaving.kind)
        scores = self._cells(c, every, lambda stats: stats.map(lambda array: np.maximum(array, 0.0)))
        return self.prior.separate.by_value(scores)(leaving.x, None, 1)

    def _by_cell(self, c: int, leaving: Leaving) -> Array:
        width = len(self.prior) * sum(array[0].size for array in self.prior.parts().values())
        parts = (leaving[rows] for rows in blocks(len(leaving.codes), max(NUMBERS // width, 1)))
        scores = np.concatenate([self._cells(c, part).sum(axis=-1) for part in parts])
        separate = self.prior.separate[c : c + 1].score_left_out(self.stats[c : c + 1], leaving)
        marks = separate + self.prior.common.score_left_out(self.pooled, leaving)
        scores[:, c] = np.where(np.isnan(marks), np.nan, scores[:, c])
        return scores

    def _cells(self, c: int, leaving: Leaving, rest: Callable[[Any], Any] = lambda stats: stats) -> Array:
        """The score of every cell in every class once its row has left class c, `(r, c, f)`."""
        rows = np.zeros(len(leaving.codes), np.intp)
        alone = self.stats.alone(leaving.x, one_hot(np.arange(len(rows)), len(rows), leaving.weight))
        separate = self.prior.separate[rows + c].update(rest(self.stats[rows + c] - alone))
        common = self.prior.common[rows].update(rest(self.pooled[rows] - alone))
        x, gone = self.prior.cells(leaving.x), leaving.weight[:, None]
        log_odds = self.posterior.log_odds - separate.log_moment(x, gone) + common.log_moment(x, gone)
        logs = self.posterior.separate.log_predictive(x[:, None])
        logs[:, c] = separate.log_predictive(x)
        return mixed(log_odds[:, None], logs, common.log_predictive(x)[:, None])


@dataclass(frozen=True, eq=False, repr=False)
class Averaged(Belief):
    """Each class has its theta with some probability, else all classes share one.

    `separate` is `(c, f)`, `common` and the log-odds that a feature is included are `(1, f)`; without the axis of
    classes for a single class.

    >>> from bayesnb.families import Beta
    >>> from bayesnb.families.bernoulli import BernoulliStats
    >>> belief = averaged(Beta([[1.0], [1.0]], [[1.0], [1.0]]), 0.5)
    >>> belief.update(BernoulliStats([[9.0], [1.0]], [[1.0], [9.0]])).included.round(4)
    array([[0.9969]])
    """

    separate: Any  # beliefs of one type
    common: Any
    log_odds: Array

    independent_classes = False
    is_mixture = True

    @property
    def overflow(self) -> str:
        return self.separate.overflow or self.common.overflow

    @property
    def multivariate(self) -> bool:  # type: ignore[override]
        return self.separate.multivariate

    @property
    def included(self) -> Array:
        """The probability that the feature depends on the class."""
        return expit(self.log_odds)

    def __len__(self) -> int:
        return len(self.separate)

    def __getitem__(self, index: Any) -> Self:
        """Return some of the classes; what all share stays as it is."""
        shared = 0 if isinstance(index, Integral) else slice(None)
        return type(self)(self.separate[index], self.common[shared], self.log_odds[shared])

    def column(self, feature: int) -> Self:
        return type(self)(self.separate.column(feature), self.common.column(feature), self.log_odds[..., feature])

    def only(self, feature: int) -> Self:
        return type(self)(self.separate.only(feature), self.common.only(feature), self.log_odds[:, [feature]])

    def for_classes(self, classes: int) -> Self:
        return type(self)(self.separate.for_classes(classes), self.common, self.log_odds)

    def parts(self) -> Parts:
        """The arrays of each class's theta."""
        return self.separate.parts()

    def strengthened(self, times: Any) -> Self:
        return type(self)(strengthened(self.separate, times), strengthened(self.common, times), self.log_odds)

    def update(self, stats: Any) -> Self:
        pooled = together(stats)
        gain = self.separate.log_evidence(stats).sum(axis=0) - self.common.log_evidence(pooled)
        return type(self)(self.separate.update(stats), self.common.update(pooled), self.log_odds + gain)

    def rounding_error(self, stats: Any, slip: Any) -> Array:
        """As each class's theta is, which has fewer rows."""
        return self.separate.rounding_error(stats, slip)

    def log_evidence(self, stats: Any, xp: Any = special) -> Array:
        """Log evidence of all classes together, `(1, f)`."""
        separate = self.separate.log_evidence(stats).sum(axis=0)
        return mixed(self.log_odds, separate, self.common.log_evidence(together(stats)))

    def log_moment(self, x: Array, s: Any) -> Array:
        return mixed(self.log_odds, self.separate.log_moment(x, s), self.common.log_moment(x, s))

    def log_predictive(self, x: Array) -> Array:
        return mixed(self.log_odds, self.separate.log_predictive(x), self.common.log_predictive(x))

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        log_odds = self.log_odds + 0.0
        if np.any(tilt):
            log_odds = log_odds + self.separate.log_moment(x, tilt) - self.common.log_moment(x, tilt)
        return mixed_cumulants(log_odds, self.separate.cumulants(x, order, tilt), self.common.cumulants(x, order, tilt))

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        """Compiled where a cell has few values, or is a whole row; else cell by cell, a block of rows at once."""
        if self.log_odds.size == 1:
            parts = (belief.score(x, 1.0, None, n_jobs) for belief in (self.separate, self.common))
            total = raised(power, mixed(self.log_odds, *parts))
            return total if out is None else np.add(out, total, out=out)
        score = made_at(self, power, self._by_value)
        return super().add_scores(x, power, out, n_jobs) if score is None else score(x, out, n_jobs)

    def _by_value(self, power: Power) -> Callable[..., Array] | None:
        values = values_of(self.separate)
        if values is None:
            return None
        return self.separate.by_value(raised(power, self.log_predictive(values[:, None])))

    def defined_score(self, x: Cells, power: Any = 1.0) -> Array:
        cells = self.cells(x)
        common, total = self.common[0].log_predictive(cells), np.empty((len(cells), len(self)))
        for c in range(len(self)):
            logs = mixed(self.log_odds[0], self.separate[c].log_predictive(cells), common)
            total[:, c] = raised(power, logs).sum(axis=1)
        return total

    def cells(self, x: Cells) -> Array:
        """Rows as arrays, with room for the levels of a cell that is a whole row, `(r, f)` or `(r, 1, k)`."""
        return self.broadcast(x)[:, 0]

    def narrowed(self, x: Cells, observe: Callable[..., Any]) -> Narrowed:
        separate, common = (narrowed(belief, x, observe) for belief in (self.separate, self.common))
        return separate._replace(belief=type(self)(separate.belief, common.belief, self.log_odds))

    def log_base(self, x: Cells) -> Array:
        """The density that the scores of each class are relative to, if they are."""
        return self.separate.log_base(x) if isinstance(self.separate, HasBaseDensity) else np.zeros(x.shape[0])

    def cell_log_base(self, x: Cells) -> Array:
        """The density that the scores of each class are relative to, cell by cell."""
        return self.separate.cell_log_base(x) if isinstance(self.separate, HasBaseDensity) else np.zeros((1, 1))

    def left_out(self, stats: Any, reader: Any, leaving: Leaving) -> Array:
        return MixedLeaveOneOut(self, stats, together(stats), reader).scores(leaving)

    def pair_moment(self, x: Cells, s: Array, u: Array, power: Power = 1.0) -> Array:
        cells = self.cells(x)
        total = np.empty((len(cells), len(s)), np.result_type(s, u, float))
        for n in blocks(len(s), 1 if self.multivariate else max(MOMENTS // cells.size, 1)):
            one, two = ((at[n] if self.multivariate else at[n, None, None]) * power for at in (s, u))
            logs = mixed(self.log_odds[0], *self._pair_log_moments(cells, one, two))
            total[:, n] = logs.sum(axis=-1).T.reshape(len(cells), -1)
        return total

    def pair_cumulants(self, x: Cells, t: Any, v: Any, power: Power = 1.0) -> Array:
        cells, t, v = self.cells(x), t * power, v * power
        separate, common = self._pair_log_moments(cells, t, v)
        first, second = (self.separate[c].cumulants(cells, ORDER, tilt) for c, tilt in ((0, v), (1, t)))
        gap = second + SIGNS.reshape(-1, *[1] * (first.ndim - 1)) * first
        cumulants = mixed_cumulants(self.log_odds[0] + separate - common, gap, np.zeros_like(gap))
        return of_powers(cumulants, power).sum(axis=-1)

    def _pair_log_moments(self, cells: Array, s: Any, u: Any) -> tuple[Array, Array]:
        """log E[p(x | theta_1)**s p(x | theta_0)**u] if the classes differ, and if not, `(r, f)`."""
        separate = self.separate[1].log_moment(cells, s) + self.separate[0].log_moment(cells, u)
        return separate, self.common[0].log_moment(cells, s + u)

    def words(self, x: Cells) -> Array | None:
        return words_of(self.separate, x)

    def contributions(self, x: Cells, power: Any, words: Array | None = None) -> Contributions:
        """Which hypothesis holds is a question of the whole row; words share its part of the score by their counts."""
        if words is None:
            return super().contributions(x, power)
        separate, common = (part.contributions(x, power, words) for part in (self.separate, self.common))
        log_odds, counts = self.log_odds[..., None], x[:, words]
        counts = (counts.toarray() if sparse.issparse(counts) else np.asarray(counts))[:, None]
        mean, variance = mixed_cumulants(log_odds, np.stack(separate[:2]), np.stack(np.broadcast_arrays(*common[:2])))
        sums = [np.stack([part.mean.sum(axis=-1), part.total_variance]) for part in (separate, common)]
        sides = [part.log_moment.sum(axis=-1) for part in (separate, common)]
        total = mixed(self.log_odds, *sides)
        share = np.exp(log_expit(self.log_odds) + sides[0] - total)[..., None]
        gain = share * separate.log_moment + (1 - share) * common.log_moment
        rest = ratio(counts, counts.sum(axis=-1, keepdims=True)) * (total - gain.sum(axis=-1))[..., None]
        return Contributions(mean, variance, gain + rest, mixed_cumulants(self.log_odds, *sums)[1])

    def sample(self, rng: Rng, size: Any = None) -> Density:
        return self._draw(rng, size).theta

    def draws(self, rng: Rng, size: int) -> Drawn:
        theta, included = self._draw(rng, size)
        return Drawn(theta.moved(lambda array: array.reshape(-1, *array.shape[2:])), np.asarray(included)[:, 0])

    def _draw(self, rng: Rng, size: Any) -> Drawn:
        rng = np.random.default_rng(rng)
        included = rng.uniform(size=lead(size) + self.log_odds.shape) < self.included
        separate, common = self.separate.sample(rng, size), self.common.sample(rng, size)
        keep = separate.expand(included)
        return Drawn(separate.moved(lambda mine, ours: np.where(_along(keep, mine), mine, ours), common), included)

    def opened(self, drawn: Drawn, x: Cells, rng: Rng) -> Density:
        """What all classes share has the same entries in each of them."""
        separate = opened(self.separate, drawn, x, rng)
        if separate is drawn.theta or drawn.included is None:
            return separate
        classes = len(self)
        common = opened(self.common, Drawn(drawn.theta.moved(lambda array: array[::classes])), x, rng)
        keep = separate.expand(np.repeat(drawn.included, classes, axis=0))
        every = common.moved(lambda array: np.repeat(array, classes, axis=0))
        return separate.moved(lambda mine, ours: np.where(keep, mine, ours), every)

    def mean(self) -> Any:
        """E theta of each class."""

        def weighted(share: Array, value: Array) -> Array:
            share = _along(share, value)
            return np.where(share == 0, 0.0, share * value)

        w = self.separate.expand(self.included)
        with np.errstate(invalid="ignore"):  # 0 times an infinite variance, which does not count
            return self._of_both("mean", lambda separate, common: weighted(w, separate) + weighted(1 - w, common))

    def mode(self) -> Any:
        """The most probable theta of the likelier hypothesis."""
        likely = self.separate.expand(self.log_odds >= 0)
        return self._of_both("mode", lambda separate, common: np.where(_along(likely, separate), separate, common))

    def _of_both(self, name: str, change: Callable[..., Array]) -> Any:
        """A function of both parts' means or modes, arrays or tuples of them."""
        separate, common = getattr(self.separate, name)(), getattr(self.common, name)()
        if isinstance(separate, tuple):
            return type(separate)(*map(change, separate, common))
        return change(separate, common)

    def interval(self, prob: float) -> NoReturn:
        raise TypeError(
            "the interval of a theta that is each class's own or common to all has no closed form: "
            "ask `separate.interval(prob)` or `common.interval(prob)`, or draw: `sample(rng, size)`."
        )

    def predictive(self) -> Mixture:
        """A mixture of SciPy's frozen distributions, of one column's new cell."""
        return Mixture(self.included, self.separate.predictive(), self.common.predictive())

    def estimate(self, kind: str) -> NoReturn:
        raise ValueError(
            f"average_features averages over what is not known: there is no {kind!r} to be plugged in. "
            "Use estimate='predictive', or average_features=None."
        )

    @property
    def proper(self) -> Array:
        return self.separate.proper & self.common.proper

    @property
    def strictly_proper(self) -> Array:
        return self.separate.strictly_proper & self.common.strictly_proper


def averaged(prior: Belief, included: Any) -> Averaged:
    """A prior under which every feature depends on the class with some probability, `(c, f), (f,) -> (c, f)`.

    Where a feature may be independent of the class, all classes need the same prior.
    """
    share = np.broadcast_to(np.asarray(included, float), (1, prior.proper.shape[1]))
    with np.errstate(divide="ignore"):
        return Averaged(prior, prior[:1], np.log(share) - np.log1p(-share))


def values_of(belief: Belief) -> Array | None:
    """Rows that hold every value of each cell, `(v, f)`, if those are few."""
    return belief.every_value if isinstance(belief, HasFewValues) else None


def together(stats: Any) -> Any:
    """The stats of all classes as one, `(c, f) -> (1, f)`."""
    return reduce(add, (stats[c : c + 1] for c in range(len(stats))))


def reasons(prior: Belief) -> Iterator[tuple[Array, str]]:
    """Why features have no Bayes factor for their dependence on the class, and which, `(c, f) -> (f,)`."""
    yield ~prior.strictly_proper.all(axis=0), "is improper, so its evidence is undefined"
    yield unlike(prior), "is not the same for all classes, so these have no parameter in common"
    yield np.full(prior.proper.shape[1], prior.is_mixture), "has the classes share parameters already"


def unlike(prior: Belief) -> Array:
    """The features whose prior is not the same for all classes, `(c, f) -> (f,)`."""
    differs = np.zeros(prior.proper.shape[1], bool)
    for (_, feature), array in prior.parts().items():
        differing = (array != array[:1]).any(axis=0)
        if feature is None and differing.shape == differs.shape:
            differs |= differing
        elif differing.any():
            differs[feature or 0] = True
    return differs


def _along(flags: Array, like: Array) -> Array:
    """Numbers of features, and of their levels if those are there, that meet an array with more axes behind them."""
    return flags.reshape(*flags.shape, *(1,) * (like.ndim - flags.ndim))
