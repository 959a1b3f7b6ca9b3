"""Exponents on the features' evidence, chosen by the exact leave-one-out log score of the labels.

Naive Bayes counts dependent features as if each were news. Exponents w on their densities are a cure: the scores of the
classes are log p(c) + sum_j w_j log p_j(x_j | c). One exponent t for all features has the prior
log t ~ Normal(0, 0.5**2), and is at most 1: above that it overfits few rows. One for each of f columns has a ridge,

    w_j ~ Normal(t, t**2), w_j >= 0,     log t ~ Normal(-log(f) / 2, 0.5**2), t <= 1

around the mean of t: halfway, on a log scale, between columns that all say the same, each worth 1 / f, and independent
ones, worth 1. A few rows of many columns are often told apart without error whatever the exponents, and then the prior
is what keeps the probabilities modest. Exponents of links between columns have such a ridge around a part of t.

The score of the labels and the ridge are together concave in w, a log-sum-exp of linear forms and a quadratic, so the
maximum is the only one; the inverse of the negative second derivatives there is the Laplace approximation of the
covariance. It is an empirical choice, not a likelihood: the evidence, and whatever is drawn, stay those of the model
with the exponents 1.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize_scalar

from bayesnb.families.base import Array
from bayesnb.families.removal import PREDICTIVE
from bayesnb.model.product import Model, Rows, normalised
from bayesnb.selection.leave_one_out import are_there, leave_one_out

SPREAD = 0.5  # standard deviation of the log of the one exponent
LEAST = 1e-3  # the smallest one that is tried
WIDTHS = (1.0, 2.0, 4.0, 8.0, 0.5, 0.25)  # standard deviations of the ridge, in units of its mean
UNLIKELY = 12.0  # nats by which one width, or length, is worse than another, so that those beyond it are not tried
STEPS, SHORTEST, TOLERANCE = 200, 1e-12, 1e-9
POINTS = 40  # of log t, over which it is averaged, twice
CLOSE = 1e-6  # of log t
STEP = 1e-2  # of log t, for its second derivative


class Exponent(NamedTuple):
    """One exponent on all features, and its Laplace standard deviation."""

    value: float
    sd: float


@dataclass(frozen=True, eq=False)
class Ridge:
    """What is believed of the exponents before rows are seen: independent normal distributions, `(f,)` each."""

    mean: Array
    sd: Array


@dataclass(frozen=True, eq=False)
class FoundExponents:
    """The exponents by rows, their standard deviations, `(f,)`, and covariance, `(g, g)`.

    One that is held at 0 has a standard deviation, but no covariance. `group` says which row of the covariance each
    feature has, `(f,)`: in a wide table several features share an exponent.
    """

    mean: Array
    sd: Array
    covariance: Array
    group: Array


@dataclass(frozen=True, eq=False)
class LabelScores:
    """What columns say of the labels of rows: the scores of classes, `(r, c)` and `(r, c, f)`, labels and weights.

    A class that a cell makes impossible stays so, whatever the exponent of its column.
    """

    log_class: Array
    table: Array
    codes: Array
    counts: Array
    places: Array  # of these rows among those that were given

    @classmethod
    def of(cls, scores: tuple[Array, Array], rows: Rows, there: Array, parameter: str = "temper='columns'") -> Self:
        """Take rows with a score; raise for one that its label's cells make impossible.

        A row whose class is impossible without it, as one of a class alone may be, says nothing of exponents.
        """
        (log_class, table), label = scores, (np.arange(len(rows.codes)), rows.codes)
        plain = normalised(log_class + table.sum(axis=2))[label]
        refuse_impossible(np.where(np.isneginf(log_class[label]), 0.0, plain), there, parameter)
        good = np.isfinite(plain)
        never = np.isneginf(table).any(axis=2) | np.isneginf(log_class)
        log_class, table = np.where(never, -np.inf, log_class), np.where(never[:, :, None], 0.0, table)
        return cls(log_class[good], table[good], rows.codes[good], rows.counts[good], np.flatnonzero(good))

    def scaled(self, share: Array) -> Self:
        """The scores of which each column of a row counts by a share, `(r, f)`."""
        return replace(self, table=self.table * share[:, None])

    def of_columns(self, which: Array) -> Self:
        """The scores of some columns."""
        return self if which.all() else replace(self, table=self.table[:, :, which])

    def of_groups(self, groups: Array) -> Self:
        """The scores of groups of columns, each the sum of its columns' scores; groups are numbered from 0."""
        is_shared = groups == groups.max()
        if is_shared.sum() <= 1:
            return self
        table = np.concatenate([self.table[:, :, ~is_shared], self.table[:, :, is_shared].sum(axis=2)[:, :, None]], 2)
        return replace(self, table=table)

    @property
    def of_each(self) -> Array:
        """What each column alone says of the labels, the sum of their log scores, `(f,)`."""
        each = self.log_class[:, :, None] + self.table
        each -= each.max(axis=1, keepdims=True)
        labels = each[np.arange(len(self.codes)), self.codes]
        return self.counts @ (labels - np.log(np.exp(each).sum(axis=1)))

    def alone(self, column: int, w: Array) -> Self:
        """The scores of one column, what the others say under exponents being the class's part, `(f,)`."""
        return replace(self, log_class=self.log_class + self.table @ w, table=self.table[:, :, [column]])

    @property
    def at_once(self) -> Self:
        """Return the scores of all columns together, as if they were one."""
        return replace(self, table=self.table.sum(axis=2)[:, :, None])

    def log_proba(self, w: Array) -> Array:
        """log p(y | x) under exponents, `(f,) -> (r, c)`."""
        return normalised(self.log_class + self.table @ w)

    def total(self, w: Array) -> float:
        """The sum of the labels' log scores."""
        return float(self.counts @ self.log_proba(w)[np.arange(len(self.codes)), self.codes])

    def slope(self, w: Array) -> Array:
        """The first derivatives of `total`, `(f,)`."""
        proba = np.exp(self.log_proba(w))
        gap = -proba
        gap[np.arange(len(gap)), self.codes] += 1.0
        return np.tensordot(self.counts[:, None] * gap, self.table, 2)

    def factor(self, w: Array) -> Array:
        """A matrix B of which B'B are the negative second derivatives of `total`, `(r * (c - 1), f)`.

        They are the covariances of columns under p(y | x), added up: class by class, the variance between it and the
        mean of those after it, whose share of the row's probability is `rest`.
        """
        proba, table = np.exp(self.log_proba(w)), self.table
        gaps = np.empty((len(table), table.shape[1] - 1, len(w)))
        mean, rest = table[:, -1], proba[:, -1:]
        for c in range(table.shape[1] - 2, -1, -1):
            one = proba[:, c, None]
            both = one + rest
            part = np.divide(one, both, out=np.zeros_like(one), where=both > 0)
            gap = table[:, c] - mean
            gaps[:, c] = np.sqrt(self.counts[:, None] * part * rest) * gap
            mean, rest = mean + part * gap, both
        return gaps.reshape(-1, len(w))


class _Precision:
    """The matrix B'B + diag(weight): by itself, or where B has fewer rows than columns, by Woodbury's identity."""

    def __init__(self, factor: Array, weight: Array) -> None:
        self.factor, self.weight, self.is_wide = factor, weight, factor.shape[0] < factor.shape[1]
        self.scaled = factor / weight if self.is_wide else factor
        inner = np.eye(len(factor)) + self.scaled @ factor.T if self.is_wide else factor.T @ factor + np.diag(weight)
        self.cholesky = cho_factor(inner, lower=True, overwrite_a=True)

    def solve(self, slope: Array) -> Array:
        if not self.is_wide:
            return cho_solve(self.cholesky, slope)
        return slope / self.weight - self.scaled.T @ cho_solve(self.cholesky, self.scaled @ slope)

    def inverse(self) -> Array:
        if not self.is_wide:
            return cho_solve(self.cholesky, np.eye(len(self.weight)))
        root = solve_triangular(self.cholesky[0], self.scaled, lower=True)
        return np.diag(1 / self.weight) - root.T @ root

    def log_volume(self) -> float:
        """log of how much smaller the rows make the volume of a ridge, `det(1 + B diag(1 / weight) B')`."""
        log_det = 2 * float(np.log(np.diag(self.cholesky[0])).sum())
        return log_det if self.is_wide else log_det - float(np.log(self.weight).sum())


def one_by_loo(model: Model, rows: Rows, n_jobs: int | None = None) -> Exponent:
    """One exponent on the features' evidence, by the leave-one-out log score of the labels and the prior.

    A row of weight w counts as w rows: one of them is left out, and its score counts w times. Where these are only the
    last of the rows that were learnt, a row without which its class has no distribution is passed over. The standard
    deviation is that of the second derivative in log t, by differences.
    """
    one = np.minimum(rows.counts, 1.0)
    log_class = model.prior.classes.labels_left_out(model.stats.classes, rows.codes, one, PREDICTIVE)
    with np.errstate(invalid="ignore"):
        total = leave_one_out(model, rows, gone=one, n_jobs=n_jobs)
        features = np.where(np.isneginf(log_class), 0.0, total - log_class)
    there = are_there(model, rows)[rows.codes]
    scores = LabelScores.of((log_class, features[:, :, None]), rows, there, "temper='loo'")
    return _one(lambda log_t: scores.total(np.exp([log_t])))


def centre(scores: LabelScores) -> Exponent:
    """The mean of the one exponent around which those of columns lie, and its standard deviation."""
    once, prior = scores.at_once, -np.log(scores.table.shape[2]) / 2

    def height(log_t: float) -> float:
        return once.total(np.exp([log_t])) - ((log_t - prior) / SPREAD) ** 2 / 2

    points = np.linspace(np.log(LEAST), 0.0, POINTS)
    heights = np.array([height(point) for point in points])
    near = np.flatnonzero(heights > heights.max() - UNLIKELY)
    points = np.linspace(points[max(near[0] - 1, 0)], points[min(near[-1] + 1, POINTS - 1)], POINTS)
    heights = np.array([height(point) for point in points])
    weight = np.exp(heights - heights.max())
    weight[[0, -1]] /= 2  # the trapezoidal rule
    weight /= weight.sum()
    mean = float(weight @ np.exp(points))
    return Exponent(mean, float(np.sqrt(weight @ (np.exp(points) - mean) ** 2)))


def over_widths(scores: LabelScores, means: Array, unsure: float = 0.0) -> FoundExponents:
    """The exponents with these prior means, `(f,)`, averaged over the width of the ridge by the evidence of each.

    log width ~ Normal(0, 1), in units of the means. All means have one factor, which is `unsure` by so much of itself:
    the exponents follow it as far as the ridge pulls them.

    Columns differ in what they are worth, and by how much is told best by the rows: one width for all tables is too
    narrow where some columns repeat others, and too wide where all are worth the same.
    """
    maxima: dict[float, Maximum] = {}
    for width, next_to in zip(WIDTHS, (1.0, 1.0, 2.0, 4.0, 1.0, 0.5), strict=True):
        best = max((each.log_evidence for each in maxima.values()), default=-np.inf)
        if next_to in maxima and maxima[next_to].log_evidence < best - UNLIKELY:
            continue
        start = maxima[next_to].exponents.mean if next_to in maxima else None
        made = largest(scores, Ridge(means, width * means), start)
        maxima[width] = made._replace(log_evidence=made.log_evidence - np.log(width) ** 2 / 2)
    logs = np.array([each.log_evidence for each in maxima.values()])
    share = np.exp(logs - np.logaddexp.reduce(logs))
    each = [made.exponents for made in maxima.values()]
    found, variances = (np.stack(arrays) for arrays in ([e.mean for e in each], [e.sd**2 for e in each]))
    mean = share @ found
    gaps = np.sqrt(share)[:, None] * (found - mean)
    pulled = np.stack([e.covariance @ (1 / (width**2 * means)) for width, e in zip(maxima, each, strict=True)])
    gaps = np.concatenate([gaps, unsure * np.sqrt(share)[:, None] * pulled])
    covariance = np.tensordot(share, [e.covariance for e in each], 1) + gaps.T @ gaps
    sd = np.sqrt(share @ variances + (gaps**2).sum(axis=0))
    return FoundExponents(mean, sd, covariance, np.arange(len(mean)))


class Maximum(NamedTuple):
    """The most probable exponents, their standard deviations, and the log evidence of their ridge (Laplace)."""

    exponents: FoundExponents
    log_evidence: float


def largest(scores: LabelScores, ridge: Ridge, start: Array | None = None) -> Maximum:
    """The most probable exponents, none below 0, and their Laplace standard deviations.

    By Newton's method on those that are not held at 0, projected, with a line search: Bertsekas (1982), Projected
    Newton methods for optimization problems with simple constraints. The posterior of an exponent that is held at 0
    falls off like exp(-g w - h w**2 / 2), g being the slope and h the curvature; its standard deviation is taken to be
    (g**2 + h)**-0.5, the others' are from the inverse of the second derivatives of those that are free.
    """
    w, weight = np.array(ridge.mean if start is None else start, float), ridge.sd**-2.0

    def height(w: Array) -> float:
        return scores.total(w) - float(weight @ (w - ridge.mean) ** 2) / 2

    for _ in range(STEPS):
        slope = scores.slope(w) - weight * (w - ridge.mean)
        free = (w > 0) | (slope > 0)
        factor, direction = scores.factor(w), np.zeros_like(w)
        precision = _Precision(factor[:, free], weight[free])
        direction[free] = precision.solve(slope[free])
        after = _climb(height, w, slope, direction)
        moved, w = np.abs(after - w).max(), after
        if moved <= TOLERANCE:
            break
    sd, covariance = (slope**2 + (factor**2).sum(axis=0) + weight) ** -0.5, np.zeros((len(w), len(w)))
    covariance[np.ix_(free, free)] = precision.inverse()
    sd[free] = np.sqrt(np.diag(covariance)[free])
    found = FoundExponents(w, sd, covariance, np.arange(len(w)))
    return Maximum(found, height(w) - precision.log_volume() / 2)


def refuse_impossible(plain: Array, there: Array, parameter: str) -> None:
    """Raise for a row whose label is impossible without it, or has no distribution though all rows are there."""
    impossible = ~np.isfinite(plain) & ~(np.isnan(plain) & ~there)
    if impossible.any():
        raise ValueError(
            f"{parameter}: without row {impossible.argmax()} its own cells have probability 0, whatever the exponent. "
            "A smoothing of 0 does that; use a larger one, or give temper a number."
        )


def _one(total: Callable[[float], float]) -> Exponent:
    """The exponent of the largest sum of log scores, given as a function of its log, under the prior."""

    def loss(log_t: float) -> float:
        return (log_t / SPREAD) ** 2 / 2 - total(log_t)

    best = highest(lambda log_t: -loss(log_t))
    around = loss(best - STEP) - 2 * loss(best) + loss(best + STEP)
    return Exponent(float(np.exp(best)), float(np.exp(best) * STEP / np.sqrt(around)) if around > 0 else float("inf"))


def highest(height: Callable[[float], float], close: float = CLOSE) -> float:
    """The log of the exponent, at most 1, at which a function of it is highest."""
    bounds, options = (np.log(LEAST), 0.0), {"xatol": close}
    best = float(minimize_scalar(lambda log_t: -height(log_t), bounds=bounds, method="bounded", options=options).x)
    return 0.0 if height(0.0) >= height(best) else best


def _climb(height: Callable[[Array], float], w: Array, slope: Array, direction: Array) -> Array:
    """The point on the projected path that climbs enough, or where it stands if none does."""
    now, size = height(w), 1.0
    while size > SHORTEST:
        after = np.maximum(w + size * direction, 0.0)
        if height(after) >= now + 1e-4 * float(slope @ (after - w)):
            return after
        size /= 2
    return w
