"""How predicted probabilities compare with observed shares: reliability bins and isotonic curves.

Of the rows for which a label is predicted with probability p, a share p should have it. The isotonic curve needs no
bins:

    share(p) = the non-decreasing function of p with the least squared distance from the label's zeros and ones

Rows of equal probability are one point, in whatever order they came: a classifier that always predicts 0.5 has one
share. With that function a Brier score is miscalibration - discrimination + uncertainty. Dimitriadis, Gneiting and
Jordan (2021), Stable reliability diagrams for probabilistic classifiers, PNAS 118(8), call it CORP.

Bands show what bins and curve would look like, were every prediction true. A row of weight w counts as w rows.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import betaincinv, ndtri

from bayesnb.families.base import Array
from bayesnb.selection.proper_scores import Estimate, Score, brier, log_loss, right

DRAWS, CELLS = 500, 400  # draws of labels; cells of neighbouring probabilities, for each of which they are drawn


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows of equal probability, in its order: weight with and without the label. All `(g,)`."""

    at: Array
    hits: Array
    misses: Array
    order: Array  # of the rows, `(r,)`
    starts: Array  # of the groups among them

    @classmethod
    def of(cls, probability: Array, hit: Array, weight: Array) -> Self:
        """Group rows by the probability of a label; `hit` says whether they have it. All `(r,)`."""
        order = np.argsort(probability)
        ordered, weight = probability[order], weight[order]
        new = np.empty(len(order), bool)
        new[:1] = True
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
        starts = np.flatnonzero(new)
        hits = np.add.reduceat(weight * hit[order], starts)
        return cls(ordered[starts], hits, np.add.reduceat(weight * ~hit[order], starts), order, starts)

    @cached_property
    def weight(self) -> Array:
        return self.hits + self.misses

    @cached_property
    def isotonic(self) -> Array:
        """Share of rows with the label at each probability, by isotonic regression, `(g,)`."""
        return isotonic_regression(self.hits / self.weight, weights=self.weight).x

    def joined(self, starts: Array) -> Self:
        """Join neighbouring groups, at their mean probability."""
        hits, misses, weight = (np.add.reduceat(sums, starts) for sums in (self.hits, self.misses, self.weight))
        at = np.add.reduceat(self.weight * self.at, starts) / weight
        return type(self)(at, hits, misses, self.order, self.starts[starts])

    def by_row(self, values: Array) -> Array:
        """Repeat each group's value for its rows, `(g,) -> (r,)`, in the order in which the rows came."""
        sizes = np.diff(np.append(self.starts, len(self.order)))
        by_row = np.empty(len(self.order))
        by_row[self.order] = np.repeat(values, sizes)
        return by_row

    def brier(self, predicted: Array) -> float:
        """Mean squared distance of predicted probabilities, `(g,)`, from the label's zeros and ones."""
        return float((self.hits @ (1 - predicted) ** 2 + self.misses @ predicted**2) / self.weight.sum())


class Corp(NamedTuple):
    """Terms of a Brier score, which is miscalibration - discrimination + uncertainty."""

    miscalibration: float
    discrimination: float
    uncertainty: float


def corp(groups: Groups) -> Corp:
    """Decompose a Brier score: the loss by miscalibration, the gain by discrimination, and the label's variance."""
    base_rate = np.full(len(groups.at), groups.hits.sum() / groups.weight.sum())
    best, blind = groups.brier(groups.isotonic), groups.brier(base_rate)
    return Corp(groups.brier(groups.at) - best, blind - best, blind)


def split(weight: Array, parts: int) -> Array:
    """Return where at most `parts` parts of equal weight start, `(g,)`.

    No group is divided: the parts behind a heavy one share what is left.
    """
    heap = np.cumsum(weight)
    starts, done = [0], 0.0
    for left in range(parts, 1, -1):
        goal = done + (heap[-1] - done) / left
        end = min(int(np.searchsorted(heap, goal)), len(heap) - 1)
        if end > starts[-1] and goal - heap[end - 1] < heap[end] - goal:
            end -= 1
        if end + 1 == len(heap):
            break
        starts.append(end + 1)
        done = heap[end]
    return np.array(starts)


@dataclass(frozen=True, eq=False)
class CurveOptions:
    """Number of bins, probability of intervals and bands, and the source of draws."""

    bins: int
    prob: float
    rng: np.random.Generator

    @property
    def tails(self) -> tuple[float, float]:
        return (1 - self.prob) / 2, (1 + self.prob) / 2


@dataclass(frozen=True, eq=False)
class Bins:
    """Mean prediction, observed share with its interval, its band if predictions were true, weight. All `(b,)`."""

    predicted: Array
    observed: Array
    lower: Array
    upper: Array
    band_lower: Array
    band_upper: Array
    count: Array


@dataclass(frozen=True, eq=False)
class Curve:
    """Predicted and calibrated probability of each row, and the band of the latter if predictions were true. `(r,)`."""

    probability: Array
    calibrated: Array
    band_lower: Array
    band_upper: Array


class ProbabilityScores(NamedTuple):
    """Scores of the probabilities of all labels."""

    brier: Estimate
    log_loss: Estimate
    accuracy: Estimate


@dataclass(frozen=True, eq=False)
class Reliability:
    """Comparison of the probabilities of one label with its observed shares."""

    bins: Bins
    curve: Curve
    corp: Corp
    ece: Estimate
    noise: float  # expected ece if every prediction were true


@dataclass(frozen=True, eq=False)
class Calibration:
    """Reliability of each label against the others and of the predicted one, and scores of the probabilities."""

    classes: list[Reliability]
    top: Reliability
    scores: ProbabilityScores


def calibrated(log_proba: Array, codes: Array, weight: Array, plan: CurveOptions) -> Calibration:
    """Compare log p(y | x) with labels, of rows with positive weights, `(r, c), (r,), (r,)`."""
    return Calibration(
        [reliability(Groups.of(p, codes == c, weight), plan) for c, p in enumerate(np.exp(log_proba).T)],
        reliability(groups_of_top(log_proba, codes, weight), plan),
        scored(log_proba, codes, weight, plan),
    )


def scored(log_proba: Array, codes: Array, weight: Array, plan: CurveOptions) -> ProbabilityScores:
    """Mean scores, with intervals by their standard errors; the interval of accuracy is that of a share."""
    hit = right(log_proba, codes)
    hits, misses = weight @ hit, weight @ ~hit
    return ProbabilityScores(
        _normal(brier(log_proba, codes, weight), plan.prob, 2.0),
        _normal(log_loss(log_proba, codes, weight), plan.prob, np.inf),
        Estimate(*map(float, (hits / (hits + misses), *share_interval(hits, misses, plan)))),
    )


def ece(log_proba: Array, codes: Array, weight: Array | None = None, bins: int = 10) -> float:
    """Expected calibration error of the predicted label's probability, `(r, c), (r,) -> ()`.

    The mean distance between what a bin predicts and what is observed in it; the bins hold equally many rows, and
    rows of equal probability stay together. Noise alone makes it positive.
    """
    weight = np.ones(len(codes)) if weight is None else weight
    if not weight.all():  # a row of weight zero is no row
        keep = weight > 0
        log_proba, codes, weight = log_proba[keep], codes[keep], weight[keep]
    groups = groups_of_top(log_proba, codes, weight)
    return ece_of(groups.joined(split(groups.weight, bins)))


def ece_of(bins: Groups) -> float:
    """Weighted mean distance between prediction and observed share."""
    return float(_gap(bins, bins.hits / bins.weight))


def groups_of_top(log_proba: Array, codes: Array, weight: Array) -> Groups:
    """Group rows by the probability of their most probable label."""
    return Groups.of(np.exp(log_proba.max(axis=1)), right(log_proba, codes), weight)


def reliability(groups: Groups, plan: CurveOptions) -> Reliability:
    """Bins, curve and terms of the Brier score of one label."""
    starts = split(groups.weight, plan.bins)
    cells = np.union1d(starts, split(groups.weight, max(1, min(CELLS, int(groups.weight.sum())))))
    bins, fine = groups.joined(starts), groups.joined(cells)
    drawn = _drawn(fine, plan.rng)
    shares = np.add.reduceat(drawn, np.searchsorted(cells, starts), axis=1) / bins.weight
    curves = np.stack([isotonic_regression(hits / fine.weight, weights=fine.weight).x for hits in drawn])
    around = [fine.by_row(edge) for edge in _band(curves, plan)]
    interval = share_interval(bins.hits, bins.misses, plan)
    return Reliability(
        Bins(bins.at, bins.hits / bins.weight, *interval, *_band(shares, plan), bins.weight),
        Curve(groups.by_row(groups.at), groups.by_row(groups.isotonic), *around),
        corp(groups),
        ece_interval(bins, plan),
        float(_gap(bins, shares).mean()),
    )


def share_interval(hits: Array, misses: Array, plan: CurveOptions) -> tuple[Array, Array]:
    """Equal-tailed interval of a share under Beta(1/2, 1/2); it reaches 0 or 1 where all rows seen are there.

    Brown, Cai and DasGupta (2001), Interval estimation for a binomial proportion, section 4.1.2.
    """
    low, high = (betaincinv(hits + 0.5, misses + 0.5, tail) for tail in plan.tails)
    return np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)


def ece_interval(bins: Groups, plan: CurveOptions) -> Estimate:
    """The expected calibration error, `ece_of(bins)`, with an interval that reaches 0 where noise could be all of it.

    Noise only adds to a sum of distances, so resampled errors are too large. The upper end is their quantile all the
    same, shares being drawn from their Beta posteriors: it is on the safe side. For the lower end let the true
    distances be the observed ones times a factor, and add that noise: it is the least factor by which the observed
    error is not in the upper tail.
    """
    seen, gaps = ece_of(bins), bins.at - bins.hits / bins.weight
    drawn = plan.rng.beta(bins.hits + 0.5, bins.misses + 0.5, (DRAWS, len(gaps)))
    noise, share = drawn - drawn.mean(axis=0), bins.weight / bins.weight.sum()
    high = max(seen, float(np.quantile(_gap(bins, drawn), plan.tails[1])))

    def reached(factor: float) -> bool:
        return bool(np.quantile(np.abs(factor * gaps + noise) @ share, plan.tails[1]) >= seen)

    least, most = 0.0, 0.0 if reached(0.0) else 1.0
    while most - least > 1e-4:
        middle = (least + most) / 2
        least, most = (least, middle) if reached(middle) else (middle, most)
    return Estimate(seen, most * seen, high)


def _gap(bins: Groups, shares: Array) -> Array:
    """Mean distance of shares from the bins' predictions, `(..., b) -> (...)`."""
    return np.abs(shares - bins.at) @ bins.weight / bins.weight.sum()


def _drawn(cells: Groups, rng: np.random.Generator) -> Array:
    """Draws of the weight with the label, if every prediction were true, `(s, m)`; 2.5 rows are 2 or 3."""
    rows = np.maximum(np.floor(cells.weight + rng.random((DRAWS, len(cells.at)))), 1)
    return rng.binomial(rows.astype(np.int64), np.minimum(cells.at, 1.0)) / rows * cells.weight


def _band(drawn: Array, plan: CurveOptions) -> tuple[Array, Array]:
    low, high = plan.tails
    return np.quantile(drawn, low, axis=0, method="lower"), np.quantile(drawn, high, axis=0, method="higher")


def _normal(score: Score, prob: float, most: float) -> Estimate:
    """Interval of a mean by its standard error; vacuous for one row, and none for an infinite mean."""
    if np.isinf(score.value):
        return Estimate(score.value, score.value, score.value)
    if np.isnan(score.se):
        return Estimate(score.value, 0.0, most)
    reach = float(ndtri((1 + prob) / 2)) * score.se
    return Estimate(score.value, max(score.value - reach, 0.0), min(score.value + reach, most))
