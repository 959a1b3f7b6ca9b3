"""Columns that may have nothing to do with the class: each class has a theta of its own, or all classes share one.

    included ~ Bernoulli(q)
    theta_c ~ prior, every class's own, if the feature is included; else theta_c = theta ~ prior, for all classes

Given the labels the features are independent, indicators and all. So are their posteriors, and the product over
features of what follows is the exact average over all subsets of features, of which there are 2 to the power f: Dash
and Cooper (2004), Model averaging for prediction with discrete Bayesian networks. With w the probability that the
feature is included and K(s) = log E[p(x | theta)**s], that of the average is log(w exp K_own(s) + (1 - w) exp
K_common(s)).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from numbers import Integral
from operator import add
from typing import Any, NoReturn, Self

import numpy as np
from scipy import sparse
from scipy.special import expit, log_expit

from bayesnb.families import averaged_pairs
from bayesnb.families.averaged_leaving import Left
from bayesnb.families.base import ORDER, Array, Belief, Cells, Contributions, Density, Drawn, Rng, Say
from bayesnb.families.leaving import Leaving
from bayesnb.families.mixture import Mixture, mixed, mixed_cumulants
from bayesnb.families.narrowing import Narrowed
from bayesnb.families.record import Parts, lead
from bayesnb.numerics import special
from bayesnb.numerics.special import ratio


@dataclass(frozen=True, eq=False, repr=False)
class Averaged(Belief):
    """Each class's own theta with some probability, else one that all classes share.

    `own` is `(c, f)`, `common` and the log-odds that a feature is included are `(1, f)`; without the axis of classes
    for a single class.

    >>> from bayesnb.families import Beta
    >>> from bayesnb.families.bernoulli import BernoulliStats
    >>> belief = averaged(Beta([[1.0], [1.0]], [[1.0], [1.0]]), 0.5)
    >>> belief.update(BernoulliStats([[9.0], [1.0]], [[1.0], [9.0]])).included.round(4)
    array([[0.9969]])
    """

    own: Belief
    common: Belief
    log_odds: Array

    apart = False
    paired = True
    weighs = True

    def refuse_overflow(self) -> None:
        self.own.refuse_overflow()
        self.common.refuse_overflow()

    @property
    def whole(self) -> bool:  # type: ignore[override]
        return self.own.whole

    @property
    def included(self) -> Array:
        """The probability that the feature depends on the class."""
        return expit(self.log_odds)

    def __len__(self) -> int:
        return len(self.own)

    def __getitem__(self, index: Any) -> Self:
        """Some classes; what all share stays as it is."""
        shared = 0 if isinstance(index, Integral) else slice(None)
        return type(self)(self.own[index], self.common[shared], self.log_odds[shared])

    def column(self, feature: int) -> Self:
        return type(self)(self.own.column(feature), self.common.column(feature), self.log_odds[..., feature])

    def only(self, feature: int) -> Self:
        return type(self)(self.own.only(feature), self.common.only(feature), self.log_odds[:, [feature]])

    def for_classes(self, classes: int) -> Self:
        return type(self)(self.own.for_classes(classes), self.common, self.log_odds)

    def parts(self) -> Parts:
        """Those of each class's own theta."""
        return self.own.parts()

    def strengthened(self, times: Any) -> Self:
        return type(self)(self.own.strengthened(times), self.common.strengthened(times), self.log_odds)

    def update(self, stats: Any) -> Self:
        every = together(stats)
        gain = self.own.log_evidence(stats).sum(axis=0) - self.common.log_evidence(every)
        return type(self)(self.own.update(stats), self.common.update(every), self.log_odds + gain)

    def shaken(self, stats: Any, slip: Any) -> Array:
        """As each class's own theta is, which has fewer rows."""
        return self.own.shaken(stats, slip)

    def log_evidence(self, stats: Any, xp: Any = special) -> Array:
        """Of all classes together, `(1, f)`."""
        own = self.own.log_evidence(stats).sum(axis=0)
        return mixed(self.log_odds, own, self.common.log_evidence(together(stats)))

    def log_moment(self, x: Array, s: Any) -> Array:
        return mixed(self.log_odds, self.own.log_moment(x, s), self.common.log_moment(x, s))

    def log_predictive(self, x: Array) -> Array:
        return mixed(self.log_odds, self.own.log_predictive(x), self.common.log_predictive(x))

    def cumulants(self, x: Array, order: int, tilt: float = 0.0) -> Array:
        log_odds = self.log_odds + 0.0
        if tilt:
            log_odds = log_odds + self.own.log_moment(x, tilt) - self.common.log_moment(x, tilt)
        return mixed_cumulants(log_odds, self.own.cumulants(x, order, tilt), self.common.cumulants(x, order, tilt))

    def score(self, x: Cells, power: Any = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        """Compiled where a cell has few values, or is a whole row; else cell by cell, some rows at once."""
        if self.log_odds.size == 1:
            parts = (belief.score(x, power, None, n_jobs) for belief in (self.own, self.common))
            total = mixed(self.log_odds, *parts)
            return total if out is None else np.add(out, total, out=out)
        score = None if isinstance(power, np.ndarray) else self._once if power == 1 else self._by_value(power)
        return super().score(x, power, out, n_jobs) if score is None else score(x, out, n_jobs)

    @cached_property
    def _once(self) -> Callable[..., Array] | None:
        return self._by_value(1.0)

    def _by_value(self, power: float) -> Callable[..., Array] | None:
        values = self.own.every_value
        return None if values is None else self.own.by_value(_moment(self, values[:, None], power))

    def defined_score(self, x: Cells, power: Any = 1.0) -> Array:
        cells = self.cells(x)
        common, total = _moment(self.common[0], cells, power), np.empty((len(cells), len(self)))
        for c in range(len(self)):
            total[:, c] = mixed(self.log_odds[0], _moment(self.own[c], cells, power), common).sum(axis=1)
        return total

    def cells(self, x: Cells) -> Array:
        """Rows as arrays, with room for the levels of a cell that is a whole row, `(r, f)` or `(r, 1, k)`."""
        part = x[:]
        cells = part.toarray() if sparse.issparse(part) else np.asarray(part)
        return cells[:, None] if self.whole else cells

    def score_cumulants(self, x: Cells, tilt: float = 0.0) -> Array:
        return self.cumulants(self.cells(x)[:, None], ORDER, tilt).sum(axis=-1)

    def score_transform(self, x: Cells, s: Array) -> Array:
        cells = self.cells(x)[:, None]
        return np.stack([self.log_moment(cells, each).sum(axis=-1) for each in np.asarray(s, complex)], axis=-1)

    def narrowed(self, x: Cells, see: Callable[..., Any]) -> Narrowed:
        own, cells, see_own = self.own.narrowed(x, see)
        return Narrowed(type(self)(own, self.common.narrowed(x, see).belief, self.log_odds), cells, see_own)

    def left_out(self, stats: Any, reader: Any, leaving: Leaving) -> Array:
        return Left(self, stats, together(stats), reader).scores(leaving)

    def pair_moment(self, x: Cells, s: Array, u: Array) -> Array:
        return averaged_pairs.moment(self, self.cells(x), s, u)

    def pair_cumulants(self, x: Cells, t: float, v: float) -> Array:
        return averaged_pairs.cumulants(self, self.cells(x), t, v)

    def words(self, x: Cells) -> Array | None:
        return self.own.words(x)

    def contributions(self, x: Cells, power: float, words: Array | None = None) -> Contributions:
        """Of words, what only the whole row has, that nobody knows which hypothesis holds, is told by their counts."""
        if words is None:
            return super().contributions(x, power)
        own, common = (part.contributions(x, power, words) for part in (self.own, self.common))
        log_odds, counts = self.log_odds[..., None], x[:, words]
        counts = (counts.toarray() if sparse.issparse(counts) else np.asarray(counts))[:, None]
        mean, variance = mixed_cumulants(log_odds, np.stack(own[:2]), np.stack(np.broadcast_arrays(*common[:2])))
        sums = [np.stack([part.mean.sum(axis=-1), part.total_variance]) for part in (own, common)]
        sides = [part.log_moment.sum(axis=-1) for part in (own, common)]
        total = mixed(self.log_odds, *sides)
        share = np.exp(log_expit(self.log_odds) + sides[0] - total)[..., None]
        gain = share * own.log_moment + (1 - share) * common.log_moment
        rest = ratio(counts, counts.sum(axis=-1, keepdims=True)) * (total - gain.sum(axis=-1))[..., None]
        return Contributions(mean, variance, gain + rest, mixed_cumulants(self.log_odds, *sums)[1])

    def sample(self, rng: Rng, size: Any = None) -> Density:
        return self._draw(rng, size).theta

    def draws(self, rng: Rng, size: int) -> Drawn:
        theta, included = self._draw(rng, size)
        return Drawn(theta.moved(lambda array: array.reshape(-1, *array.shape[2:])), np.asarray(included)[:, 0])

    def opened(self, drawn: Drawn, x: Cells, rng: Rng) -> Density:
        """What all classes share has the same entries in each of them."""
        own = self.own.opened(drawn, x, rng)
        if own is drawn.theta or drawn.included is None:
            return own
        classes = len(self)
        common = self.common.opened(Drawn(drawn.theta.moved(lambda array: array[::classes])), x, rng)
        keep = own.expand(np.repeat(drawn.included, classes, axis=0))
        every = common.moved(lambda array: np.repeat(array, classes, axis=0))
        return own.moved(lambda mine, ours: np.where(keep, mine, ours), every)

    def _draw(self, rng: Rng, size: Any) -> Drawn:
        rng = np.random.default_rng(rng)
        included = rng.uniform(size=lead(size) + self.log_odds.shape) < self.included
        own, common = self.own.sample(rng, size), self.common.sample(rng, size)
        keep = own.expand(included)
        return Drawn(own.moved(lambda mine, ours: np.where(_along(keep, mine), mine, ours), common), included)

    def mean(self) -> Any:
        """E theta of each class."""
        w = self.own.expand(self.included)
        with np.errstate(invalid="ignore"):  # 0 times an infinite variance, which does not count
            return _both(lambda own, common: _weighed(w, own) + _weighed(1 - w, common), self, "mean")

    def mode(self) -> Any:
        """The most probable theta of the likelier hypothesis."""
        likely = self.own.expand(self.log_odds >= 0)
        return _both(lambda own, common: np.where(_along(likely, own), own, common), self, "mode")

    def interval(self, prob: float) -> NoReturn:
        raise TypeError(
            "the interval of a theta that is each class's own or common to all has no closed form: "
            "ask `own.interval(prob)` or `common.interval(prob)`, or draw: `sample(rng, size)`."
        )

    def predictive(self) -> Mixture:
        """A mixture of SciPy's frozen distributions, of one column's new cell."""
        return Mixture(self.included, self.own.predictive(), self.common.predictive())

    def estimate(self, kind: str) -> NoReturn:
        raise ValueError(
            f"average_features averages over what is not known: there is no {kind!r} to be plugged in. "
            "Use estimate='predictive', or average_features=None."
        )

    def variables(self, pm: Any, say: Say) -> NoReturn:
        raise ValueError("average_features has no PyMC model. Fit one with average_features=None.")

    @property
    def proper(self) -> Array:
        return self.own.proper & self.common.proper

    @property
    def strictly_proper(self) -> Array:
        return self.own.strictly_proper & self.common.strictly_proper


def averaged(prior: Belief, included: Any) -> Averaged:
    """A prior under which every feature depends on the class with some probability, `(c, f), (f,) -> (c, f)`.

    Where a feature may be independent of the class, all classes need the same prior.
    """
    share = np.broadcast_to(np.asarray(included, float), (1, prior.proper.shape[1]))
    with np.errstate(divide="ignore"):
        return Averaged(prior, prior[:1], np.log(share) - np.log1p(-share))


def together(stats: Any) -> Any:
    """The stats of all classes as one, `(c, f) -> (1, f)`."""
    return reduce(add, (stats[c : c + 1] for c in range(len(stats))))


def reasons(prior: Belief) -> Iterator[tuple[Array, str]]:
    """Why features have no Bayes factor for their dependence on the class, and which, `(c, f) -> (f,)`."""
    yield ~prior.strictly_proper.all(axis=0), "is improper, so its evidence is undefined"
    yield unlike(prior), "is not the same for all classes, so these have no parameter in common"
    yield np.full(prior.proper.shape[1], prior.weighs), "has the classes share parameters already"


def unlike(prior: Belief) -> Array:
    """The features whose prior is not the same for all classes, `(c, f) -> (f,)`."""
    differs = np.zeros(prior.proper.shape[1], bool)
    for (_, feature), array in prior.parts().items():
        odd = (array != array[:1]).any(axis=0)
        at = np.flatnonzero(odd) if feature is None and odd.shape == differs.shape else [feature or 0] * int(odd.any())
        differs[at] = True
    return differs


def _moment(belief: Belief, cells: Array, power: Any) -> Array:
    single = np.ndim(power) == 0 and power == 1
    return belief.log_predictive(cells) if single else belief.log_moment(cells, power)


def _along(flags: Array, like: Array) -> Array:
    """Numbers of features, and of their levels if those are there, that meet an array with more axes behind them."""
    return flags.reshape(*flags.shape, *(1,) * (like.ndim - flags.ndim))


def _weighed(share: Array, value: Array) -> Array:
    share = _along(share, value)
    return np.where(share == 0, 0.0, share * value)


def _both(change: Callable[..., Array], belief: Averaged, name: str) -> Any:
    """A change of what both parts say, an array or a tuple of them."""
    own, common = getattr(belief.own, name)(), getattr(belief.common, name)()
    if isinstance(own, tuple):
        return type(own)(*map(change, own, common))
    return change(own, common)
