"""Whether probabilities come true: of the rows for which a label was said to have probability p, a share p should.

Bins of equal weight, the isotonic curve (no bins), and what both would look like, were every prediction true.
A row of weight w is w rows.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import betaincinv, ndtri

from bayesnb.families.base import Array
from bayesnb.selection.isotonic import Corp, Groups, corp, split
from bayesnb.selection.proper_scores import Score, brier, log_loss, right

DRAWS, CELLS = 500, 400  # of made-up labels; and what is drawn at once, each of neighbours in probability


@dataclass(frozen=True, eq=False)
class Plan:
    """How many bins, the probability of intervals and bands, and what draws."""

    bins: int
    prob: float
    rng: np.random.Generator

    @property
    def tails(self) -> tuple[float, float]:
        return (1 - self.prob) / 2, (1 + self.prob) / 2


@dataclass(frozen=True, eq=False)
class Bins:
    """Mean prediction, observed share with its interval, its band were predictions true, and rows. All `(b,)`."""

    predicted: Array
    observed: Array
    lower: Array
    upper: Array
    band_lower: Array
    band_upper: Array
    count: Array


@dataclass(frozen=True, eq=False)
class Curve:
    """Each row's probability, its calibrated one, and the latter's band were predictions true. All `(r,)`."""

    probability: Array
    calibrated: Array
    band_lower: Array
    band_upper: Array


class Estimate(NamedTuple):
    """A number and its interval."""

    value: float
    lower: float
    upper: float


class Scores(NamedTuple):
    """What the probabilities of all labels are worth."""

    brier: Estimate
    log_loss: Estimate
    accuracy: Estimate


@dataclass(frozen=True, eq=False)
class Reliability:
    """How the probabilities of one label compare with how often it came."""

    bins: Bins
    curve: Curve
    corp: Corp
    ece: Estimate
    noise: float  # the ece to expect, were every prediction true


@dataclass(frozen=True, eq=False)
class Calibration:
    """Of every label against the others, and of the predicted one; and what the probabilities are worth."""

    classes: list[Reliability]
    top: Reliability
    scores: Scores


def calibrated(log_proba: Array, codes: Array, weight: Array, plan: Plan) -> Calibration:
    """Of log p(y | x), labels and positive weights, `(r, c), (r,), (r,)`."""
    return Calibration(
        [reliability(Groups.of(p, codes == c, weight), plan) for c, p in enumerate(np.exp(log_proba).T)],
        reliability(groups_of_top(log_proba, codes, weight), plan),
        scored(log_proba, codes, weight, plan),
    )


def scored(log_proba: Array, codes: Array, weight: Array, plan: Plan) -> Scores:
    """Mean scores, with intervals by their standard errors; that of accuracy is a share's."""
    hit = right(log_proba, codes)
    hits, misses = weight @ hit, weight @ ~hit
    return Scores(
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
        log_proba, codes, weight = (own[weight > 0] for own in (log_proba, codes, weight))
    groups = groups_of_top(log_proba, codes, weight)
    return ece_of(groups.joined(split(groups.weight, bins)))


def ece_of(bins: Groups) -> float:
    return float(_gap(bins, bins.hits / bins.weight))


def groups_of_top(log_proba: Array, codes: Array, weight: Array) -> Groups:
    """Of the most probable label of each row."""
    return Groups.of(np.exp(log_proba.max(axis=1)), right(log_proba, codes), weight)


def reliability(groups: Groups, plan: Plan) -> Reliability:
    """Bins, curve and terms of the Brier score of one label."""
    starts = split(groups.weight, plan.bins)
    cells = np.union1d(starts, split(groups.weight, max(1, min(CELLS, int(groups.weight.sum())))))
    bins, fine = groups.joined(starts), groups.joined(cells)
    drawn = _drawn(fine, plan.rng)
    shares = np.add.reduceat(drawn, np.searchsorted(cells, starts), axis=1) / bins.weight
    curves = np.stack([isotonic_regression(own / fine.weight, weights=fine.weight).x for own in drawn])
    around = [fine.by_row(edge) for edge in _band(curves, plan)]
    interval = share_interval(bins.hits, bins.misses, plan)
    return Reliability(
        Bins(bins.at, bins.hits / bins.weight, *interval, *_band(shares, plan), bins.weight),
        Curve(groups.by_row(groups.at), groups.by_row(groups.isotonic), *around),
        corp(groups),
        ece_interval(bins, plan),
        float(_gap(bins, shares).mean()),
    )


def share_interval(hits: Array, misses: Array, plan: Plan) -> tuple[Array, Array]:
    """Equal-tailed interval of a share under Beta(1/2, 1/2); it reaches 0 or 1 where all that was seen is there.

    Brown, Cai and DasGupta (2001), Interval estimation for a binomial proportion, section 4.1.2.
    """
    low, high = (betaincinv(hits + 0.5, misses + 0.5, tail) for tail in plan.tails)
    return np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)


def ece_interval(bins: Groups, plan: Plan) -> Estimate:
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
    """The mean distance of shares from what the bins predict, `(..., b) -> (...)`."""
    return np.abs(shares - bins.at) @ bins.weight / bins.weight.sum()


def _drawn(cells: Groups, rng: np.random.Generator) -> Array:
    """How much weight would have the label, were every prediction true, `(s, m)`; 2.5 rows are 2 or 3."""
    rows = np.maximum(np.floor(cells.weight + rng.random((DRAWS, len(cells.at)))), 1)
    return rng.binomial(rows.astype(np.int64), np.minimum(cells.at, 1.0)) / rows * cells.weight


def _band(drawn: Array, plan: Plan) -> tuple[Array, Array]:
    low, high = plan.tails
    return np.quantile(drawn, low, axis=0, method="lower"), np.quantile(drawn, high, axis=0, method="higher")


def _normal(score: Score, prob: float, most: float) -> Estimate:
    """A mean's interval by its standard error; of one row nothing is known, and infinity stays there."""
    if np.isinf(score.value):
        return Estimate(score.value, score.value, score.value)
    if np.isnan(score.se):
        return Estimate(score.value, 0.0, most)
    reach = float(ndtri((1 + prob) / 2)) * score.se
    return Estimate(score.value, max(score.value - reach, 0.0), min(score.value + reach, most))
