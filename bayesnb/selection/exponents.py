"""Exponents on the evidence of features, estimated by the exact leave-one-out log score of labels.

Naive Bayes counts dependent features as if they were independent. Exponents w on their densities
correct this: the scores of the classes are log p(c) + sum_j w_j log p_j(x_j | c). One exponent t
for all features has the prior log t ~ Normal(0, 0.5**2), and is at most 1: larger ones overfit few
rows. Exponents of f columns have a ridge prior,

    w_j ~ Normal(t, t**2), w_j >= 0,     log t ~ Normal(-log(f) / 2, 0.5**2), t <= 1

around the mean of t: halfway, on a log scale, between identical columns, with exponents 1 / f, and
independent ones, with exponents 1. Few rows of many columns can often be separated without error
whatever the exponents; the prior then keeps the probabilities moderate. Exponents of links between
columns have such a ridge around a part of t.

The score of the labels plus the log prior is concave in w, so the maximum is unique; the inverse of
the negative second derivatives there is the Laplace approximation of the covariance. The exponents
are an empirical choice, not part of a likelihood: evidence and draws are those of the model with
exponents 1.

Exponents are estimated from the same rows that are then held out, which makes held-out scores too
good. So they are also estimated without each row, by one Newton step on their objective. For row i
with leave-one-out scores s_c = log p(c) + sum_j w_j L_cj and p = softmax(s),

    m = sum_c p_c L_c      g = weight (L_y - m)      G'G = weight sum_c p_c (L_c - m) (L_c - m)'
    w(-i) = max(w - (S**-1 - G'G)**-1 g, 0)
    (S**-1 - G'G)**-1 = S + S G' (1 - G S G')**-1 G S

S is the covariance of the exponents, the inverse of the negative second derivatives of the
objective. The row contributes G'G to these, and g to the gradient. Each row needs one system of
equations, with one equation per class.
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

SPREAD = 0.5  # prior standard deviation of the log of a common exponent
MIN_EXPONENT = 1e-3  # the smallest candidate
# Standard deviations of the ridge, relative to its mean, in the order of trial; each starts from
# the exponents at its neighbour.
WIDTHS = {1.0: 1.0, 2.0: 1.0, 4.0: 2.0, 8.0: 4.0, 0.5: 1.0, 0.25: 0.5}
# If a width or length is worse than the best by so many nats, those beyond it are not tried.
LOG_NEGLIGIBLE = 12.0
MAX_STEPS = 200
MIN_STEP = 1e-12
TOLERANCE = 1e-9
POINTS = 40  # grid points of log t for averages, refined once
LOG_TOLERANCE = 1e-6  # of log t
# S is averaged over ridges, so a row may seem to contribute more information than there is: at most
# this share is subtracted.
MAX_TOLD = 0.95
LOG_IMPOSSIBLE = 1e3  # nats below another class: exp(-1e3) is 0


class Maximum(NamedTuple):
    """The most probable exponents, `(f,)`, their uncertainty, and the log evidence of the ridge.

    Exponents at the bound 0 have a standard deviation, but no covariance. The evidence is Laplace's
    approximation.
    """

    mean: Array
    sd: Array
    covariance: Array  # `(f, f)`
    log_evidence: float


@dataclass(frozen=True, eq=False)
class LabelScores:
    """Log-odds of the other classes against each row's label, split by column.

    Exponents weight the columns. A class that a cell makes impossible stays impossible, whatever
    the exponent: its log-odds are minus infinity, and its terms by column 0.
    """

    odds: Array  # prior part, `(r, c - 1)`
    table: Array  # parts of the columns, `(r, c - 1, f)`
    counts: Array  # weights of the rows
    places: Array | None = None  # indices of these rows among those given

    @classmethod
    def of(
        cls,
        scores: tuple[Array, Array],
        rows: Rows,
        there: Array,
        parameter: str = "temper='columns'",
    ) -> Self:
        """Build from leave-one-out scores, `(r, c)` and `(r, c, f)`.

        Raise for a row whose own cells are impossible under its label. Rows whose class is
        impossible without them, such as the only row of a class, are dropped; so are rows with
        undefined scores unless all rows of the class are `there`.
        """
        log_class, table = scores
        label = np.arange(len(rows.codes)), rows.codes
        log_label = normalise_log(log_class + table.sum(axis=2))[label]
        passed = np.isneginf(log_class[label]) | (np.isnan(log_label) & ~there)
        impossible = ~np.isfinite(log_label) & ~passed
        if impossible.any():
            raise ValueError(
                f"{parameter}: the cells of row {impossible.argmax()} have probability 0 when it "
                "is left out, whatever the exponent. That happens without smoothing; use some, or "
                "give temper a number."
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
        """Multiply each column of a row by a factor, `(r, f)`."""
        return replace(self, table=self.table * share[:, None])

    def add_up(self, groups: Array) -> Self:
        """Sum the columns of each group, numbered from 0."""
        return replace(self, table=add_groups(self.table, groups, int(groups.max()) + 1))

    def isolate(self, column: int, w: Array) -> Self:
        """Keep one column, with the others fixed at exponents, `(f,)`, in the prior part."""
        return replace(self, odds=self._odds_at(w), table=self.table[:, :, [column]])

    @property
    def total_by_column(self) -> Array:
        """Total log score of the labels by each column alone, `(f,)`."""
        odds = self.odds[:, :, None] + self.table
        return -(self.counts @ np.logaddexp(0.0, np.logaddexp.reduce(odds, axis=1)))

    def _odds_at(self, w: Array) -> Array:
        # one matrix-vector product, four times as fast as row by row
        return self.odds + (self.table.reshape(-1, len(w)) @ w).reshape(self.odds.shape)

    def shares(self, w: Array) -> tuple[Array, Array]:
        """Log probability of the label, `(r,)`, and probabilities of the other classes, `(r, c -
        1)`.
        """
        odds = np.ascontiguousarray(self._odds_at(w).T)  # sums over few classes are slow along rows
        peak = odds.max(axis=0, initial=0.0)
        share = np.exp(odds - peak)
        total = np.exp(-peak) + share.sum(axis=0)
        return -peak - np.log(total), (share / total).T

    def total(self, w: Array) -> float:
        """Total log score of the labels under exponents, `(f,) -> ()`."""
        return float(self.counts @ self.shares(w)[0])

    def slope(self, w: Array) -> Array:
        """First derivatives of `total`, `(f,) -> (f,)`."""
        proba = self.counts[:, None] * self.shares(w)[1]
        return -(proba.reshape(-1) @ self.table.reshape(-1, len(w)))

    def factor(self, w: Array) -> Array:
        """Matrices B by row, whose sum of B'B is the negative Hessian of `total`, `(r, c - 1, f)`.

        B'B is the covariance of columns under p(y | x), built class by class: the variance between
        a class and the mean of those before it, with total probability `before`. The first is the
        label, with log-odds 0.
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
    """Return the scores of the other classes minus that of each row's label.

    Shapes: `(r, c, ...) -> (r, c - 1, ...)`.
    """
    rows, classes = scores.shape[:2]
    others = (codes[:, None] + np.arange(1, classes)) % classes
    each = np.arange(rows)
    return scores[each[:, None], others] - scores[each, codes][:, None]


def average_one_exponent(scores: LabelScores, which: Array) -> tuple[float, float]:
    """Return the posterior mean and standard deviation of a common exponent of these columns."""
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
    """Estimate exponents with these prior means, averaged over ridge widths by their evidence.

    log width ~ Normal(0, min(1, 1 / wide)**2), relative to the means. The means have a common
    factor with relative standard deviation `unsure`, which moves the exponents as far as the ridge
    pulls them. `wide` is the number of columns per row; all exponents are 0 with prior odds min(1,
    wide).

    How much columns differ in usefulness is best learnt from the rows: a fixed width is too narrow
    where some columns repeat others, and too wide where all are equally useful. With more columns
    than rows, some columns of noise always fit the labels, and a wide ridge would trust them. All
    exponents are then nearly equal, and are 0, so that probabilities are the class shares, where
    the columns together predict no better.
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
    # bounded, as standard deviations of 0 would stop all learning from later batches
    log_evidence = min(scores.total(none) + np.log(min(wide, 1.0)), best + LOG_NEGLIGIBLE)
    maxima[np.inf] = Maximum(none, none, np.diag(none), log_evidence)
    logs = np.array([maximum.log_evidence for maximum in maxima.values()])
    total = np.logaddexp.reduce(logs)
    share = np.exp(logs - total)
    mean = share @ [maximum.mean for maximum in maxima.values()]
    covariance = np.zeros((len(means), len(means)))
    for part, (width, maximum) in zip(share, maxima.items(), strict=True):
        # differences between the maxima, and how each follows the mean of its ridge
        gap = maximum.mean - mean
        pull = unsure * (maximum.covariance @ (1 / (width**2 * means)))
        covariance += part * (maximum.covariance + np.outer(gap, gap) + np.outer(pull, pull))
    # exponents at the bound 0 have variances outside the covariance
    held = share @ [maximum.sd**2 - np.diag(maximum.covariance) for maximum in maxima.values()]
    return Maximum(mean, np.sqrt(np.diag(covariance) + held), covariance, float(total))


def maximise_exponents(scores: LabelScores, means: Array, sds: Array, start: Array) -> Maximum:
    """Return the most probable non-negative exponents under a ridge, `(f,)` each.

    Projected Newton method with a line search: Bertsekas (1982), Projected Newton methods for
    optimization problems with simple constraints. The posterior of an exponent at the bound 0 falls
    like exp(-g w - h w**2 / 2), with slope g and curvature h, and its standard deviation is taken
    to be (g**2 + h)**-0.5. Those of free exponents come from the inverse of their second
    derivatives.
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
    # half the log determinant ratio of posterior and prior precision
    log_volume = np.log(np.diag(cholesky[0])).sum() - np.log(weight[free]).sum() / 2
    return Maximum(w, sd, covariance, log_posterior(w) - log_volume)


def _search_line(
    log_posterior: Callable[[Array], float], w: Array, slope: Array, direction: Array
) -> Array:
    """Return a point on the projected path with a sufficient increase, or `w`."""
    now = log_posterior(w)
    size = 1.0
    while size > MIN_STEP:
        after = np.maximum(w + size * direction, 0.0)
        if log_posterior(after) >= now + 1e-4 * float(slope @ (after - w)):
            return after
        size /= 2
    return w


def maximise_one(function: Callable[[float], float], tolerance: float = LOG_TOLERANCE) -> float:
    """Return the log of the exponent, at most 1, that maximises a function of that log."""
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
    """Return the exponents without each row, `(r, f)`, from leave-one-out scores.

    Shapes: `(r, c)` and `(r, c, f)`. Exponents at the bound 0 have no covariance, and stay there.
    """
    log_class, table = scores
    # impossible classes stay impossible, whatever the exponent
    table = np.where(np.isfinite(table), table, 0.0)
    total = log_class + table @ w
    label = np.arange(len(codes)), codes
    # finite log-odds for labels that are impossible without their row
    total[label] = np.maximum(total[label], total.max(axis=1) - LOG_IMPOSSIBLE)
    odds = compare_with_label(total, codes)
    odds[np.isnan(odds)] = 0.0  # rows without a score
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
