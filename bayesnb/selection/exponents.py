"""Exponents on the features' evidence, chosen by the exact leave-one-out log score of the labels.

Naive Bayes counts dependent features as if each were news. Exponents w on their densities are a
cure: the scores of the classes are log p(c) + sum_j w_j log p_j(x_j | c). One exponent t for all
features has the prior log t ~ Normal(0, 0.5**2), and is at most 1: above that it overfits few rows.
One for each of f columns has a ridge,

    w_j ~ Normal(t, t**2), w_j >= 0,     log t ~ Normal(-log(f) / 2, 0.5**2), t <= 1

around the mean of t: halfway, on a log scale, between columns that all say the same, each worth 1 /
f, and independent ones, worth 1. A few rows of many columns are often told apart without error
whatever the exponents, and then the prior is what keeps the probabilities modest. Exponents of
links between columns have such a ridge around a part of t.

The score of the labels and the ridge are together concave in w, a log-sum-exp of linear forms and a
quadratic, so the maximum is the only one; the inverse of the negative second derivatives there is
the Laplace approximation of the covariance. It is an empirical choice, not a likelihood: the
evidence, and whatever is drawn, stay those of the model with the exponents 1.

Exponents w are chosen by the scores of the same rows that are then held out. With them fixed,
held-out scores are too good. So each row leaves them too, by one Newton step on the objective by
which they were found. For row i with the scores s_c = log p(c) + sum_j w_j L_cj, all of the other
rows, and p = softmax(s),

    m = sum_c p_c L_c      g = weight (L_y - m)      G'G = weight sum_c p_c (L_c - m) (L_c - m)'
    w(-i) = max(w - (S**-1 - G'G)**-1 g, 0)
    (S**-1 - G'G)**-1 = S + S G' (1 - G S G')**-1 G S

S is the covariance of the exponents, the inverse of the negative second derivatives of the
objective, of which G'G is the row's part and g its part of the slope. One system of equations a
row, as large as there are classes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize_scalar

from bayesnb.families.base import Array
from bayesnb.model.powers import ExponentCovariance, add_groups
from bayesnb.model.product import Rows, normalise_log
from bayesnb.numerics.special import ratio

SPREAD = 0.5  # standard deviation of the log of the one exponent
MIN_EXPONENT = 1e-3  # the smallest one that is tried
# Standard deviations of the ridge, in units of its mean, in the order in which they are tried; and
# the one beside each, from whose exponents it starts.
WIDTHS = {1.0: 1.0, 2.0: 1.0, 4.0: 2.0, 8.0: 4.0, 0.5: 1.0, 0.25: 0.5}
# Nats by which one width, or length, is worse than another, so that those beyond it are not tried.
LOG_NEGLIGIBLE = 12.0
MAX_STEPS = 200
MIN_STEP = 1e-12
TOLERANCE = 1e-9
POINTS = 40  # of log t, over which it is averaged, twice
LOG_TOLERANCE = 1e-6  # of log t
# S is averaged over ridges, so that a row may seem to have told more than is known: at most so much
# is taken back.
MAX_TOLD = 0.95
LOG_IMPOSSIBLE = 1e3  # nats below another class: exp(-1e3) is 0


class Maximum(NamedTuple):
    """The most probable exponents, `(f,)`, what is not known of them, and their log evidence.

    An exponent that is held at 0 has a standard deviation, but no covariance. The evidence is that
    of the ridge, by Laplace's approximation.
    """

    mean: Array
    sd: Array
    covariance: Array  # `(f, f)`
    log_evidence: float


@dataclass(frozen=True, eq=False)
class LabelScores:
    """Log odds of the other classes against each row's label, in parts by column.

    Exponents weigh the columns' parts.

    A class that a cell makes impossible stays so, whatever the exponent of its column: its odds
    are 0, and the columns' parts are too.
    """

    odds: Array  # of the classes themselves, `(r, c - 1)`
    table: Array  # of the columns, `(r, c - 1, f)`
    counts: Array  # weights of the rows
    places: Array | None = None  # of these rows among those that were given

    @classmethod
    def of(
        cls,
        scores: tuple[Array, Array],
        rows: Rows,
        there: Array,
        parameter: str = "temper='columns'",
    ) -> Self:
        """Take rows with scores, `(r, c)` and `(r, c, f)`.

        Raise for a row that its own cells make impossible under its label; where not all rows are
        `there`, its score may be undefined. A row whose class is impossible without it, as one of a
        class alone may be, says nothing of exponents.
        """
        log_class, table = scores
        label = np.arange(len(rows.codes)), rows.codes
        log_label = normalise_log(log_class + table.sum(axis=2))[label]
        passed = np.isneginf(log_class[label]) | (np.isnan(log_label) & ~there)
        impossible = ~np.isfinite(log_label) & ~passed
        if impossible.any():
            raise ValueError(
                f"{parameter}: without row {impossible.argmax()} its own cells have probability 0, "
                "whatever the exponent. A smoothing of 0 does that; use a larger one, or give "
                "temper a number."
            )
        good = np.flatnonzero(np.isfinite(log_label))
        log_class = log_class[good]
        table = table[good]
        never = np.isneginf(table).any(axis=2) | np.isneginf(log_class)
        odds = compare_with_label(np.where(never, -np.inf, log_class), rows.codes[good])
        parts = compare_with_label(table, rows.codes[good])
        parts[np.isneginf(odds)] = 0.0
        return cls(odds, parts, rows.counts[good], good)

    def scale(self, share: Array) -> Self:
        """Let each column of a row count by a share, `(r, f)`."""
        return replace(self, table=self.table * share[:, None])

    def add_up(self, groups: Array) -> Self:
        """Sum columns over those of each group, which are numbered from 0."""
        return replace(self, table=add_groups(self.table, groups, int(groups.max()) + 1))

    def isolate(self, column: int, w: Array) -> Self:
        """Take one column, what the others say under exponents being the class's part, `(f,)`."""
        return replace(self, odds=self._odds_at(w), table=self.table[:, :, [column]])

    @property
    def total_by_column(self) -> Array:
        """Sum of the labels' log scores by each column alone, `(f,)`."""
        odds = self.odds[:, :, None] + self.table
        return -(self.counts @ np.logaddexp(0.0, np.logaddexp.reduce(odds, axis=1)))

    def _odds_at(self, w: Array) -> Array:
        # as one product of a matrix and a vector: row by row it takes four times as long
        return self.odds + (self.table.reshape(-1, len(w)) @ w).reshape(self.odds.shape)

    def shares(self, w: Array) -> tuple[Array, Array]:
        """Log probability of the label, `(r,)`, and the probabilities of the other classes.

        Shape: `(r, c - 1)`.
        """
        odds = np.ascontiguousarray(self._odds_at(w).T)  # sums over few classes are slow along rows
        peak = odds.max(axis=0, initial=0.0)
        share = np.exp(odds - peak)
        total = np.exp(-peak) + share.sum(axis=0)
        return -peak - np.log(total), (share / total).T

    def total(self, w: Array) -> float:
        """Sum the labels' log scores under exponents, `(f,) -> ()`."""
        return float(self.counts @ self.shares(w)[0])

    def slope(self, w: Array) -> Array:
        """First derivatives of `total`, `(f,) -> (f,)`."""
        proba = self.counts[:, None] * self.shares(w)[1]
        return -(proba.reshape(-1) @ self.table.reshape(-1, len(w)))

    def factor(self, w: Array) -> Array:
        """Matrices B of rows: the sum of all B'B are the negative second derivatives of `total`.

        Shape: `(r, c - 1, f)`.

        They are the covariances of columns under p(y | x): class by class, the variance
        between it and the mean of those before it, whose share of the row's probability is
        `before`. The first is the label, whose odds against itself are 0.
        """
        log_label, proba = self.shares(w)
        before = np.exp(log_label)
        mean = np.zeros(len(w))
        factor = np.empty_like(self.table)
        for c in range(self.table.shape[1]):
            both = before + proba[:, c]
            part = ratio(proba[:, c], both)
            gap = self.table[:, c] - mean
            np.multiply(np.sqrt(self.counts * part * before)[:, None], gap, out=factor[:, c])
            mean = mean + part[:, None] * gap
            before = both
        return factor


def compare_with_label(scores: Array, codes: Array) -> Array:
    """Return the scores of the other classes less those of each row's label.

    Shapes: `(r, c, ...) -> (r, c - 1, ...)`.
    """
    rows, classes = scores.shape[:2]
    others = (codes[:, None] + np.arange(1, classes)) % classes
    each = np.arange(rows)
    return scores[each[:, None], others] - scores[each, codes][:, None]


def average_one_exponent(scores: LabelScores, which: Array) -> tuple[float, float]:
    """Return the mean of the exponent around which those of these columns lie.

    Its standard deviation comes with it.
    """
    once = replace(scores, table=scores.table[:, :, which].sum(axis=2, keepdims=True))
    prior = -np.log(which.sum()) / 2
    low, high = np.log(MIN_EXPONENT), 0.0
    for _ in range(2):  # coarse, and then where the posterior is
        points = np.linspace(low, high, POINTS)
        heights = -(((points - prior) / SPREAD) ** 2) / 2
        heights += [once.total(np.array([t])) for t in np.exp(points)]
        near = np.flatnonzero(heights > heights.max() - LOG_NEGLIGIBLE)
        low = points[max(near[0] - 1, 0)]
        high = points[min(near[-1] + 1, POINTS - 1)]
    weight = np.exp(heights - heights.max())
    weight[[0, -1]] /= 2  # the trapezoidal rule
    weight /= weight.sum()
    mean = float(weight @ np.exp(points))
    return mean, float(np.sqrt(weight @ (np.exp(points) - mean) ** 2))


def average_over_widths(scores: LabelScores, means: Array, unsure: float, wide: float) -> Maximum:
    """Find exponents with these prior means, averaged over the width of the ridge.

    Widths count by the evidence of each.

    log width ~ Normal(0, min(1, 1 / wide)**2), in units of the means. All means have one factor,
    which is `unsure` by so much of itself: the exponents follow it as far as the ridge pulls them.
    `wide` is the number of columns for each row, and all exponents are 0 with the prior odds
    min(1, wide).

    Columns differ in what they are worth, and by how much is told best by the rows: one width
    for all tables is too narrow where some columns repeat others, and too wide where all are
    worth the same. Where columns are more than rows, these cannot tell them apart: some columns
    of noise always fit the labels, and a wide ridge would take them at their word. There all have
    nearly one exponent, which is 0, so that probabilities are the shares of the classes, where
    the columns together predict no better than these.
    """
    maxima: dict[float, Maximum] = {}
    spread = min(1.0, 1 / wide)
    for width, neighbour in WIDTHS.items():
        start = means
        if maxima:
            if neighbour not in maxima:
                continue
            best = max(maximum.log_evidence for maximum in maxima.values())
            if maxima[neighbour].log_evidence < best - LOG_NEGLIGIBLE:
                continue
            start = maxima[neighbour].mean
        maximum = maximise_exponents(scores, means, width * means, start)
        log_evidence = maximum.log_evidence - (np.log(width) / spread) ** 2 / 2
        maxima[width] = maximum._replace(log_evidence=log_evidence)
    best = max(maximum.log_evidence for maximum in maxima.values())
    none = np.zeros_like(means)
    # if nothing were left of the others, there would be no deviation for later batches to go on
    log_evidence = min(scores.total(none) + np.log(min(wide, 1.0)), best + LOG_NEGLIGIBLE)
    maxima[np.inf] = Maximum(none, none, np.diag(none), log_evidence)
    logs = np.array([maximum.log_evidence for maximum in maxima.values()])
    total = np.logaddexp.reduce(logs)
    share = np.exp(logs - total)
    mean = share @ [maximum.mean for maximum in maxima.values()]
    covariance = np.zeros((len(means), len(means)))
    for part, (width, maximum) in zip(share, maxima.items(), strict=True):
        # what the maxima differ by, and how the ridge pulls each of them along with its mean
        gap = maximum.mean - mean
        pull = unsure * (maximum.covariance @ (1 / (width**2 * means)))
        covariance += part * (maximum.covariance + np.outer(gap, gap) + np.outer(pull, pull))
    # what is not known of an exponent that is held at 0 is in no covariance
    held = share @ [maximum.sd**2 - np.diag(maximum.covariance) for maximum in maxima.values()]
    return Maximum(mean, np.sqrt(np.diag(covariance) + held), covariance, float(total))


def maximise_exponents(scores: LabelScores, means: Array, sds: Array, start: Array) -> Maximum:
    """Return the most probable exponents, none below 0, under a ridge, `(f,)` each.

    By Newton's method on those that are not held at 0, projected, with a line search: Bertsekas
    (1982), Projected Newton methods for optimization problems with simple constraints. The
    posterior of an exponent that is held at 0 falls off like exp(-g w - h w**2 / 2), g being the
    slope and h the curvature; its standard deviation is taken to be (g**2 + h)**-0.5, the others'
    are from the inverse of the second derivatives of those that are free.
    """
    w = np.array(start, float)
    weight = sds**-2.0

    def log_posterior(w: Array) -> float:
        return scores.total(w) - float(weight @ (w - means) ** 2) / 2

    for _ in range(MAX_STEPS):
        slope = scores.slope(w) - weight * (w - means)
        free = (w > 0) | (slope > 0)
        factor = scores.factor(w).reshape(-1, len(w))
        root = factor if free.all() else factor[:, free]
        cholesky = cho_factor(root.T @ root + np.diag(weight[free]), lower=True)
        direction = np.zeros_like(w)
        direction[free] = cho_solve(cholesky, slope[free])
        after = _search_line(log_posterior, w, slope, direction)
        moved = np.abs(after - w).max()
        w = after
        if moved <= TOLERANCE:
            break
    covariance = np.zeros((len(w), len(w)))
    covariance[np.ix_(free, free)] = cho_solve(cholesky, np.eye(free.sum()))
    held_sd = (slope**2 + np.einsum("nf,nf->f", factor, factor) + weight) ** -0.5
    sd = np.where(free, np.sqrt(np.diag(covariance)), held_sd)
    # half the log of how much smaller the rows make the volume of the ridge
    log_volume = np.log(np.diag(cholesky[0])).sum() - np.log(weight[free]).sum() / 2
    return Maximum(w, sd, covariance, log_posterior(w) - log_volume)


def _search_line(
    log_posterior: Callable[[Array], float], w: Array, slope: Array, direction: Array
) -> Array:
    """Return the point on the projected path that climbs enough, or `w` if none does."""
    now = log_posterior(w)
    size = 1.0
    while size > MIN_STEP:
        after = np.maximum(w + size * direction, 0.0)
        if log_posterior(after) >= now + 1e-4 * float(slope @ (after - w)):
            return after
        size /= 2
    return w


def maximise_one(function: Callable[[float], float], tolerance: float = LOG_TOLERANCE) -> float:
    """Return the log of the exponent, at most 1, at which a function of it is largest."""
    result = minimize_scalar(
        lambda log_t: -function(log_t),
        bounds=(np.log(MIN_EXPONENT), 0.0),
        method="bounded",
        options={"xatol": tolerance},
    )
    best = float(result.x)
    return 0.0 if function(0.0) >= function(best) else best


def leave_exponents(
    scores: tuple[Array, Array],
    codes: Array,
    counts: Array,
    w: Array,
    covariance: ExponentCovariance,
) -> Array:
    """Return the exponents without each row, `(r, f)`, from the rows' left-out scores.

    Shapes: `(r, c)` and `(r, c, f)`.

    An exponent that is held at 0 has no covariance, and stays there.
    """
    log_class, table = scores
    # what is impossible stays so, whatever the exponent
    table = np.where(np.isfinite(table), table, 0.0)
    total = log_class + table @ w
    label = np.arange(len(codes)), codes
    # A label that is impossible without its row has no odds: it is as good as impossible.
    total[label] = np.maximum(total[label], total.max(axis=1) - LOG_IMPOSSIBLE)
    odds = compare_with_label(total, codes)
    odds[np.isnan(odds)] = 0.0  # of rows without a score, whatever the exponents
    rows = LabelScores(odds, compare_with_label(covariance.add_up(table), codes), counts)
    here = np.zeros(len(covariance))  # of exponents, as steps from w
    proba = counts[:, None] * rows.shares(here)[1]
    step = -(proba[:, None] @ rows.table)[:, 0] @ covariance.matrix
    root = rows.factor(here)
    spread = root @ covariance.matrix
    told = spread @ root.swapaxes(1, 2)
    largest = np.linalg.eigvalsh(told).max(axis=1, initial=0.0)
    share = np.minimum(1.0, MAX_TOLD / np.maximum(largest, MAX_TOLD))[:, None, None]
    inner = np.eye(told.shape[1]) - share * told
    solved = np.linalg.solve(inner, root @ step[:, :, None])
    step = step + (share * spread.swapaxes(1, 2) @ solved)[:, :, 0]
    return np.maximum(w - step[:, covariance.group], 0.0)
