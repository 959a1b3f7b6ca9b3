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

Exponents w are chosen by the scores of the same rows that are then held out. With them fixed, held-out scores are too
good. So each row leaves them too, by one Newton step on the objective by which they were found. For row i with the
scores s_c = log p(c) + sum_j w_j L_cj, all of the other rows, and p = softmax(s),

    m = sum_c p_c L_c      g = weight (L_y - m)      G'G = weight sum_c p_c (L_c - m) (L_c - m)'
    w(-i) = max(w - (S**-1 - G'G)**-1 g, 0)
    (S**-1 - G'G)**-1 = S + S G' (1 - G S G')**-1 G S

S is the covariance of the exponents, the inverse of the negative second derivatives of the objective, of which G'G is
the row's part and g its part of the slope. One system of equations a row, as large as there are classes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize_scalar

from bayesnb.families.base import Array
from bayesnb.model.powers import ExponentCovariance, add_groups
from bayesnb.model.product import Rows, normalised
from bayesnb.numerics.special import ratio

SPREAD = 0.5  # standard deviation of the log of the one exponent
LEAST = 1e-3  # the smallest one that is tried
WIDTHS = (1.0, 2.0, 4.0, 8.0, 0.5, 0.25)  # standard deviations of the ridge, in units of its mean
UNLIKELY = 12.0  # nats by which one width, or length, is worse than another, so that those beyond it are not tried
STEPS, SHORTEST, TOLERANCE = 200, 1e-12, 1e-9
POINTS = 40  # of log t, over which it is averaged, twice
CLOSE = 1e-6  # of log t
# S is averaged over ridges, so that a row may seem to have told more than is known: at most so much is taken back.
MOST_TOLD = 0.95


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

    def of_features(self, groups: Array) -> Self:
        """Return exponents of groups as those of their features, `(f,)`."""
        return replace(self, mean=self.mean[groups], sd=self.sd[groups], group=groups)


@dataclass(frozen=True, eq=False)
class LabelScores:
    """What columns say of the labels of rows: the scores of classes, `(r, c)` and `(r, c, f)`, labels and weights.

    A class that a cell makes impossible stays so, whatever the exponent of its column.
    """

    log_class: Array
    table: Array
    codes: Array
    counts: Array
    places: Array | None = None  # of these rows among those that were given

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

    def of_groups(self, groups: Array) -> Self:
        """The scores of groups of columns, each the sum of its columns' scores; groups are numbered from 0."""
        return replace(self, table=add_groups(self.table, groups, int(groups.max()) + 1))

    def at_once(self, which: Array) -> Self:
        """The scores of some columns together, as if they were one."""
        return replace(self, table=self.table[:, :, which].sum(axis=2)[:, :, None])

    def alone(self, column: int, w: Array) -> Self:
        """The scores of one column, what the others say under exponents being the class's part, `(f,)`."""
        return replace(self, log_class=self.log_class + self.table @ w, table=self.table[:, :, [column]])

    @property
    def of_each(self) -> Array:
        """What each column alone says of the labels, the sum of their log scores, `(f,)`."""
        each = self.log_class[:, :, None] + self.table
        each -= each.max(axis=1, keepdims=True)
        labels = each[np.arange(len(self.codes)), self.codes]
        return self.counts @ (labels - np.log(np.exp(each).sum(axis=1)))

    def log_proba(self, w: Array) -> Array:
        """log p(y | x) under exponents, `(f,) -> (r, c)`."""
        return normalised(self.log_class + self.table @ w)

    def total(self, w: Array) -> float:
        """The sum of the labels' log scores."""
        return float(self.counts @ self.log_proba(w)[np.arange(len(self.codes)), self.codes])

    def gaps(self, w: Array) -> Array:
        """The label's 1, 0 of other classes, less p(y | x), times the weight of the row, `(r, c)`."""
        gaps = -np.nan_to_num(np.exp(self.log_proba(w)))
        gaps[np.arange(len(gaps)), self.codes] += 1.0
        return self.counts[:, None] * gaps

    def slope(self, w: Array) -> Array:
        """The first derivatives of `total`, `(f,)`."""
        return np.tensordot(self.gaps(w), self.table, 2)

    def factor(self, w: Array) -> Array:
        """Matrices B of rows: the sum of all B'B are the negative second derivatives of `total`, `(r, c - 1, f)`.

        They are the covariances of columns under p(y | x): class by class, the variance between it and the mean of
        those after it, whose share of the row's probability is `rest`.
        """
        proba, table = np.nan_to_num(np.exp(self.log_proba(w))), self.table
        gaps = np.empty((len(table), table.shape[1] - 1, len(w)))
        mean, rest = table[:, -1], proba[:, -1:]
        for c in range(table.shape[1] - 2, -1, -1):
            one = proba[:, c, None]
            both = one + rest
            part = ratio(one, both)
            gap = table[:, c] - mean
            gaps[:, c] = np.sqrt(self.counts[:, None] * part * rest) * gap
            mean, rest = mean + part * gap, both
        return gaps


def centre(scores: LabelScores, which: Array) -> Exponent:
    """The mean of the one exponent around which those of these columns lie, and its standard deviation."""
    once, prior = scores.at_once(which), -np.log(which.sum()) / 2

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
        factor, direction = scores.factor(w).reshape(-1, len(w)), np.zeros_like(w)
        root = factor[:, free]
        cholesky = cho_factor(root.T @ root + np.diag(weight[free]), lower=True)
        direction[free] = cho_solve(cholesky, slope[free])
        after = _climb(height, w, slope, direction)
        moved, w = np.abs(after - w).max(), after
        if moved <= TOLERANCE:
            break
    sd, covariance = (slope**2 + (factor**2).sum(axis=0) + weight) ** -0.5, np.zeros((len(w), len(w)))
    covariance[np.ix_(free, free)] = cho_solve(cholesky, np.eye(free.sum()))
    sd[free] = np.sqrt(np.diag(covariance)[free])
    # half the log of how much smaller the rows make the volume of the ridge
    log_volume = np.log(np.diag(cholesky[0])).sum() - np.log(weight[free]).sum() / 2
    return Maximum(FoundExponents(w, sd, covariance, np.arange(len(w))), height(w) - log_volume)


def refuse_impossible(plain: Array, there: Array, parameter: str) -> None:
    """Raise for a row whose label is impossible without it, or has no distribution though all rows are there."""
    impossible = ~np.isfinite(plain) & ~(np.isnan(plain) & ~there)
    if impossible.any():
        raise ValueError(
            f"{parameter}: without row {impossible.argmax()} its own cells have probability 0, whatever the exponent. "
            "A smoothing of 0 does that; use a larger one, or give temper a number."
        )


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


def leave_exponents(
    scores: tuple[Array, Array],
    codes: Array,
    counts: Array,
    w: Array,
    covariance: ExponentCovariance,
) -> Array:
    """Return the exponents without each row, `(r, f)`, from the rows' left-out scores, `(r, c)` and `(r, c, f)`.

    An exponent that is held at 0 has no covariance, and stays there.
    """
    log_class, table = scores
    finite = np.where(np.isfinite(table), table, 0.0)  # what is impossible stays so, whatever the exponent
    parts = LabelScores(log_class + finite @ w, covariance.add_up(finite), codes, counts)
    there = np.zeros(len(covariance))  # of exponents, as steps from w
    slope = (parts.gaps(there)[:, None] @ parts.table)[:, 0]
    root = parts.factor(there)
    spread = root @ covariance.matrix
    told = spread @ root.swapaxes(1, 2)
    largest = np.linalg.eigvalsh(told).max(axis=1, initial=0.0)
    share = np.minimum(1.0, MOST_TOLD / np.maximum(largest, MOST_TOLD))[:, None, None]
    step = slope @ covariance.matrix
    inner = np.eye(told.shape[1]) - share * told
    solved = np.linalg.solve(inner, root @ step[:, :, None])
    step = step + (share * spread.swapaxes(1, 2) @ solved)[:, :, 0]
    return np.maximum(w - step[:, covariance.group], 0.0)
