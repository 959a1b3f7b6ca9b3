"""Scores and calibration of predicted probabilities: reliability bins, isotonic curves, rankings.

A row of weight w counts as w rows. The interval of a mean over few rows of losses (most of them
small, a few large) is Student's t after a transformation that removes skewness:

    g(w) = w + skew w^2 / 3 + skew^2 w^3 / 27 + skew / (6 n),      w = (mean - truth) / sd

Intervals for means of skewed terms otherwise miss the truth more often on one side. sqrt(n) g(w) is
nearly normal, and g is inverted in closed form. Hall (1992), On the removal of skewness by
transformation, JRSS B 54(1).

Among the rows for which a label is predicted with probability p, a share p should have it. The
isotonic curve needs no bins:

share(p) = the non-decreasing function of p with the least squared distance from the zeros and ones
of the label

Rows of equal probability are one point, in any order: a classifier that always predicts 0.5 has one
share. With this function a Brier score is miscalibration - discrimination + uncertainty.
Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic classifiers,
PNAS 118(8), call it CORP.

Held-out probabilities of rows with the same cells differ, as each row is left out with its own
label. Bins of equal size would sort such rows by label, so tied rows enter bins with their mean
probability.

Bands show bins and curves to be expected if every prediction were calibrated.

The ROC curve, precision and recall describe how well probabilities rank rows of two classes, at
every threshold:

recall = true positives / positives      precision = true positives / predicted positives

The area under the ROC curve is the probability that a positive row ranks above a negative one, ties
counted half (Hanley and McNeil 1982). Average precision is the sum of precisions, each weighted by
the recall that it adds.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import betaincinv, ndtri, stdtrit

from bayesnb.families.base import Array

# draws of labels, and cells of neighbouring probabilities in which they are drawn
DRAWS = 500
MAX_CELLS = 400
IMPOSSIBLE = 1.0  # stands for a log probability of minus infinity; real ones are at most 0
DIGITS = 12  # of log probabilities that agree between rows with the same cells
MIN_SKEW = 1e-8  # below, the transformation is the identity


class Estimate(NamedTuple):
    """A number and its interval."""

    value: float
    lower: float
    upper: float


def right(log_proba: Array, codes: Array) -> Array:
    """Rows whose most probable label is the true one; False where every label is impossible."""
    return (log_proba.argmax(axis=1) == codes) & (log_proba[np.arange(len(codes)), codes] > -np.inf)


def brier_of_rows(log_proba: Array, codes: Array) -> Array:
    """Squared distance of the probabilities from the one-hot label, `(r, c) -> (r,)`."""
    return ((np.exp(log_proba) - np.eye(log_proba.shape[1])[codes]) ** 2).sum(axis=1)


def mean_interval(terms: Array, prob: float, most: float = np.inf) -> Estimate:
    """Mean of terms between 0 and `most`, with an interval by Student's t and Hall's g, `(r,) ->
    ()`.

    With an infinite term there is no interval; for a single term it is vacuous.

    >>> estimate = mean_interval(np.array([0.1, 0.2, 0.1, 0.3, 0.1, 1.4]), 0.89)
    >>> [round(end, 2) for end in estimate]
    [0.37, 0.08, 1.95]
    """
    n = len(terms)
    mean = float(np.mean(terms))
    if not np.isfinite(mean):
        return Estimate(mean, mean, mean)
    if n < 2:
        return Estimate(mean, 0.0, most)
    gap = terms - terms.mean()
    spread = float(np.sqrt((gap**2).mean()))
    skew = 0.0
    if spread > 1e-12 * float(np.abs(terms).max()):  # terms differ
        skew = float(((gap / spread) ** 3).mean())
    reach = float(stdtrit(n - 1, (1 + prob) / 2)) / np.sqrt(n)
    ends = np.array([reach, -reach])
    if abs(skew) > MIN_SKEW:  # undo g
        ends = 3 / skew * (np.cbrt(1 + skew * (ends - skew / (6 * n))) - 1)
    low, high = (mean - ends * np.std(terms, ddof=1)).tolist()
    return Estimate(mean, min(max(low, 0.0), mean), max(min(high, most), mean))


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows of equal probability, sorted: weights with and without the label, all
    `(g,)`.
    """

    at: Array
    hits: Array
    misses: Array
    member: Array  # the group of each row, `(r,)`

    @classmethod
    def of(cls, probability: Array, hit: Array, weight: Array) -> Self:
        """Group rows by the probability of a label; `hit` says whether they have it, all `(r,)`."""
        at, member = np.unique(probability, return_inverse=True)
        hits, misses = (np.bincount(member, weight * which) for which in (hit, ~hit))
        return cls(at, hits, misses, member)

    @cached_property
    def weight(self) -> Array:
        return self.hits + self.misses

    @cached_property
    def isotonic(self) -> Array:
        """Observed share of the label at each probability, by isotonic regression, `(g,)`."""
        return isotonic_regression(self.hits / self.weight, weights=self.weight).x

    def joined(self, starts: Array) -> Self:
        """Merge neighbouring groups, at their mean probability."""
        hits, misses, weight = (
            np.add.reduceat(sums, starts) for sums in (self.hits, self.misses, self.weight)
        )
        at = np.add.reduceat(self.weight * self.at, starts) / weight
        return type(self)(at, hits, misses, np.searchsorted(starts, self.member, side="right") - 1)

    def brier(self, predicted: Array) -> float:
        """Brier score of probabilities, `(g,)`, for the label."""
        return float(
            (self.hits @ (1 - predicted) ** 2 + self.misses @ predicted**2) / self.weight.sum()
        )


def tie_rows(log_proba: Array) -> Array:
    """Return codes that are equal for rows with the same in-sample probabilities, `(r, c) ->
    (r,)`.
    """
    finite = np.where(np.isneginf(log_proba), IMPOSSIBLE, log_proba)
    mantissa, exponent = np.frexp(finite @ np.random.default_rng(0).random(log_proba.shape[1]))
    return np.unique(np.ldexp(mantissa.round(DIGITS), exponent), return_inverse=True)[1]


def mean_of_tied(probability: Array, weight: Array, tied: Array | None) -> Array:
    """Return the mean probability of the rows tied with each row, `(r,)`."""
    if tied is None:
        return probability
    _, code = np.unique(tied, return_inverse=True)  # some codes may have no rows
    mean = np.bincount(code, weight * probability) / np.bincount(code, weight)
    return mean[code]


class Corp(NamedTuple):
    """Decomposition of a Brier score: miscalibration - discrimination + uncertainty."""

    miscalibration: float
    discrimination: float
    uncertainty: float  # the variance of the label

    @classmethod
    def of(cls, groups: Groups) -> Self:
        """Decompose the Brier score of the probabilities of groups."""
        base_rate = np.full(len(groups.at), groups.hits.sum() / groups.weight.sum())
        best = groups.brier(groups.isotonic)
        blind = groups.brier(base_rate)
        return cls(groups.brier(groups.at) - best, blind - best, blind)


def split_groups(weight: Array, parts: int) -> Array:
    """Return the starts of at most `parts` parts of about equal weight, `(g,)`.

    Groups are not split: parts after a heavy group share the rest.
    """
    heap = np.cumsum(weight)
    starts = [0]
    done = 0.0
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
    """Number of bins, probability of intervals and bands, and random generator."""

    bins: int
    prob: float
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class Bins:
    """Mean prediction, observed share with interval, band under calibration, and weight, all
    `(b,)`.
    """

    predicted: Array
    observed: Array
    lower: Array
    upper: Array
    band_lower: Array
    band_upper: Array
    count: Array


@dataclass(frozen=True, eq=False)
class Curve:
    """Predicted and calibrated probability of each row, and the band of the latter under
    calibration, all `(r,)`.
    """

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
    """Calibration of the probabilities of one label."""

    bins: Bins
    curve: Curve
    corp: Corp
    ece: Estimate
    noise: float  # expected ece if every prediction were calibrated


@dataclass(frozen=True, eq=False)
class Calibration:
    """Reliability for each label and for the predicted one, and scores of probabilities."""

    classes: list[Reliability]
    top: Reliability
    scores: ProbabilityScores


def assess_calibration(
    log_proba: Array, codes: Array, weight: Array, plan: CurveOptions, tied: Array | None = None
) -> Calibration:
    """Compare log p(y | x) with labels, of rows with positive weights, `(r, c), (r,), (r,)`.

    See `tie_rows`.
    """
    classes = []
    for c, p in enumerate(np.exp(log_proba).T):
        classes.append(reliability(p, codes == c, weight, plan, tied))
    hit = right(log_proba, codes)
    top = reliability(np.exp(log_proba.max(axis=1)), hit, weight, plan, tied)
    label = log_proba[np.arange(len(codes)), codes]
    ends = share_interval(weight @ hit, weight @ ~hit, plan.prob)
    scores = ProbabilityScores(
        _normal_interval(brier_of_rows(log_proba, codes), weight, plan.prob, 2.0),
        _normal_interval(-label, weight, plan.prob, np.inf),
        Estimate(float(np.average(hit, weights=weight)), *map(float, ends)),
    )
    return Calibration(classes, top, scores)


def _normal_interval(terms: Array, weight: Array, prob: float, most: float) -> Estimate:
    """Normal interval of a mean; vacuous for one row, none for an infinite mean."""
    total = float(weight.sum())
    mean = float(np.average(terms, weights=weight))
    if np.isinf(mean):
        return Estimate(mean, mean, mean)
    if total <= 1:
        return Estimate(mean, 0.0, most)
    variance = np.average((terms - mean) ** 2, weights=weight) / (total - 1)
    reach = float(ndtri((1 + prob) / 2) * np.sqrt(variance))
    return Estimate(mean, max(mean - reach, 0.0), min(mean + reach, most))


def ece(
    log_proba: Array,
    codes: Array,
    weight: Array | None = None,
    bins: int = 10,
    tied: Array | None = None,
) -> float:
    """Expected calibration error of the predicted label, `(r, c), (r,) -> ()`.

    The mean absolute difference between predicted and observed shares of bins. Bins have equally
    many rows, and rows with equal probability, or `tied`, stay together. Noise alone makes it
    positive.
    """
    weight = np.ones(len(codes)) if weight is None else weight
    groups = groups_of_top(log_proba, codes, weight, tied)
    joined = groups.joined(split_groups(groups.weight, bins))
    return float(_gap(joined, joined.hits / joined.weight))


def groups_of_top(
    log_proba: Array, codes: Array, weight: Array, tied: Array | None = None
) -> Groups:
    """Group rows by the probability of their most probable label, or its mean over tied rows."""
    top = mean_of_tied(np.exp(log_proba.max(axis=1)), weight, tied)
    return Groups.of(top, right(log_proba, codes), weight)


def reliability(
    probability: Array, hit: Array, weight: Array, plan: CurveOptions, tied: Array | None = None
) -> Reliability:
    """Bins, curve and Brier decomposition of one label; `hit` says whether rows have it, all
    `(r,)`.
    """
    points = Groups.of(probability, hit, weight)
    groups = Groups.of(mean_of_tied(probability, weight, tied), hit, weight)
    starts = split_groups(groups.weight, plan.bins)
    size = max(1, min(MAX_CELLS, int(groups.weight.sum())))
    cells = np.union1d(starts, split_groups(groups.weight, size))
    bins = groups.joined(starts)
    fine = groups.joined(cells)
    # weight with the label if every prediction were calibrated; 2.5 rows are drawn as 2 or 3
    rows = np.maximum(np.floor(fine.weight + plan.rng.random((DRAWS, len(cells)))), 1)
    hits = plan.rng.binomial(rows.astype(np.int64), np.minimum(fine.at, 1.0))
    drawn = hits / rows * fine.weight
    shares = np.add.reduceat(drawn, np.searchsorted(cells, starts), axis=1) / bins.weight
    curves = [isotonic_regression(each / fine.weight, weights=fine.weight).x for each in drawn]
    lower, upper = _band(np.stack(curves), plan.prob)
    interval = share_interval(bins.hits, bins.misses, plan.prob)
    return Reliability(
        Bins(bins.at, bins.hits / bins.weight, *interval, *_band(shares, plan.prob), bins.weight),
        Curve(probability, points.isotonic[points.member], lower[fine.member], upper[fine.member]),
        Corp.of(points),
        ece_interval(bins, plan),
        float(_gap(bins, shares).mean()),
    )


def share_interval(hits: Array, misses: Array, prob: float) -> tuple[Array, Array]:
    """Equal-tailed interval of a share under Beta(1/2, 1/2), extended to 0 or 1 if the share is
    there.

    Brown, Cai and DasGupta (2001), Interval estimation for a binomial proportion, section
    4.1.2.
    """
    low = betaincinv(hits + 0.5, misses + 0.5, (1 - prob) / 2)
    high = betaincinv(hits + 0.5, misses + 0.5, (1 + prob) / 2)
    return np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)


def ece_interval(bins: Groups, plan: CurveOptions) -> Estimate:
    """Expected calibration error with an interval, which includes 0 if it may be only noise.

    Noise can only increase a sum of absolute differences, so resampled errors are too large. The
    upper end is still their quantile, with shares drawn from their Beta posteriors, which is
    conservative. For the lower end, true differences are taken as the observed ones times a factor,
    plus that noise: it is the smallest factor for which the observed error is not in the upper
    tail.
    """
    observed = bins.hits / bins.weight
    upper = (1 + plan.prob) / 2
    seen = float(_gap(bins, observed))
    gaps = bins.at - observed
    drawn = plan.rng.beta(bins.hits + 0.5, bins.misses + 0.5, (DRAWS, len(gaps)))
    noise = drawn - drawn.mean(axis=0)
    share = bins.weight / bins.weight.sum()
    high = max(seen, float(np.quantile(_gap(bins, drawn), upper)))

    def reached(factor: float) -> bool:
        return bool(np.quantile(np.abs(factor * gaps + noise) @ share, upper) >= seen)

    least = 0.0
    most = 0.0 if reached(0.0) else 1.0
    while most - least > 1e-4:
        middle = (least + most) / 2
        least, most = (least, middle) if reached(middle) else (middle, most)
    return Estimate(seen, most * seen, high)


def _gap(bins: Groups, shares: Array) -> Array:
    """Mean absolute difference of shares and predictions of bins, `(..., b) -> (...)`."""
    return np.abs(shares - bins.at) @ bins.weight / bins.weight.sum()


def _band(drawn: Array, prob: float) -> tuple[Array, Array]:
    low = np.quantile(drawn, (1 - prob) / 2, axis=0, method="lower")
    return low, np.quantile(drawn, (1 + prob) / 2, axis=0, method="higher")


@dataclass(frozen=True, eq=False)
class RankingCurves:
    """Rows predicted positive, and true positives, at decreasing thresholds, all `(t,)`."""

    threshold: Array
    positives: Array  # rows predicted positive
    hits: Array  # true positives
    rows: int
    total: int  # positive rows

    @classmethod
    def of(cls, probability: Array, positive: Array) -> Self:
        """Rank rows by the probability of the positive class, `(r,), (r,)`; ties are one step."""
        order = np.argsort(-probability, kind="stable")
        p = probability[order]
        ends = np.append(np.flatnonzero(np.diff(p)), len(p) - 1)
        return cls(p[ends], ends + 1, np.cumsum(positive[order])[ends], len(p), int(positive.sum()))

    @property
    def recall(self) -> Array:
        return self.hits / self.total

    @property
    def precision(self) -> Array:
        return self.hits / self.positives

    @property
    def false_alarms(self) -> Array:
        """False positive rate: share of the negative rows that are predicted positive."""
        return (self.positives - self.hits) / (self.rows - self.total)

    @property
    def area(self) -> float:
        """Area under the ROC curve."""
        return float(np.trapezoid(np.append(0, self.recall), np.append(0, self.false_alarms)))

    @property
    def average_precision(self) -> float:
        return float(self.precision @ np.diff(self.recall, prepend=0))
