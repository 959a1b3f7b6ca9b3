"""Independent oracles for the distribution of p(y | x, theta): what judges intervals and entropies.

Nothing here is from `bayesnb` but fitted estimators: parameters of posteriors, draws of these, and
`partial_fit`, which is how "the row was seen too" is said. With G_c ~ Gamma(alpha_c), the scores

    U_c = log G_c + t * sum_j log p(x_j | theta_cj)

are independent, and softmax(U) is distributed as p(y | x, theta). Of a row that was drawn from the
population the distribution is the mixture, over the labels y that it may have, of what it is once
(x, y) has been learnt. Two routes share nothing but these sentences:

- `draw`: theta from `belief.sample`, any number of classes, with Monte Carlo standard errors;
- `TwoClasses`: the inversion formula of Gil-Pelaez (1951) by Gauss-Legendre quadrature on dyadic
  panels; the characteristic functions are written out below, one integral at a time.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, log_softmax, loggamma, logit, logsumexp, xlogy

from bayesnb import Beta, Dirichlet, Gamma, NormalInverseGamma

Array = np.ndarray
Transform = Callable[[Array], Array]
ULPS = 4 * np.finfo(float).eps
TINY = np.finfo(float).tiny
LEGENDRE = np.polynomial.legendre.leggauss(24)


# What a cell says about one class ----------------------------------------------------------------


def log_moment(belief: Any, x: Any, s: Any) -> Any:
    """log E[p(x | theta)**s] for one class's belief and a cell, but for factors of all classes."""
    if np.isnan(x).any():
        return 0.0 * s
    if isinstance(belief, NormalInverseGamma):
        return gaussian_log_moment(belief, float(x), s)
    if isinstance(belief, Gamma):  # E[rate**(s x) exp(-s rate)]
        a = float(belief.shape)
        b = float(belief.rate)
        return loggamma(a + s * x) - loggamma(a) + a * np.log(b) - (a + s * x) * np.log(b + s)
    if isinstance(belief, Beta):
        return dirichlet_log_moment(np.array([belief.a, belief.b]), np.array([x, 1 - x]), s)
    if isinstance(belief, Dirichlet):
        x = np.eye(len(belief.concentration))[int(x)]
    return dirichlet_log_moment(belief.concentration, x, s)


def gaussian_log_moment(belief: NormalInverseGamma, x: float, s: Any) -> Any:
    """tau ~ Gamma(a, b); given tau, k tau (x - mu)**2 is noncentral chi-squared, one degree.

    Its noncentrality is tau k (x - m)**2, its transform at u exp(noncentrality u / (1 - 2u))
    / sqrt(1 - 2u). What is left is an integral of tau**(a + s/2 - 1) exp(-tau (b - c)).
    """
    a = float(belief.shape)
    b = float(belief.scale)
    k = float(belief.count)
    m = float(belief.location)
    u = -s / (2 * k)
    c = k * (x - m) ** 2 * u / (1 - 2 * u)
    over_tau = loggamma(a + s / 2) - loggamma(a) + a * np.log(b) - (a + s / 2) * np.log(b - c)
    return over_tau - np.log(1 - 2 * u) / 2 - s * np.log(2 * np.pi) / 2


def dirichlet_log_moment(concentration: Array, counts: Array, s: Any) -> Any:
    """log E[prod probability**(s counts)]: one Dirichlet normalizer over another."""
    total = float(concentration.sum())
    size = float(counts.sum())
    value = loggamma(total) - loggamma(total + s * size)
    pairs = np.column_stack([concentration, counts])[counts > 0]
    for (a, n), times in zip(*np.unique(pairs, axis=0, return_counts=True), strict=True):
        value = value + times * (loggamma(a + s * n) - loggamma(a))
    return value


# What a row says about every class ---------------------------------------------------------------


@dataclass(frozen=True)
class Score:
    """One class's U: a concentration, or a known probability, and beliefs with their cells."""

    concentration: float | None
    log_known: float
    terms: list[tuple[Any, Any]]
    temper: float
    shift: float  # so that exp(U) has the mean exp(temper * log predictive)

    def log_moment(self, s: Any) -> Any:
        """log E[exp(s U)]."""
        if self.concentration is None:
            value = s * self.log_known
        else:
            value = loggamma(self.concentration + s) - loggamma(self.concentration)
        for belief, x in self.terms:
            value = value + log_moment(belief, x, self.temper * s)
        return value + s * self.shift

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Draws of U: theta from the beliefs, and the log density of the cells under it."""
        if self.concentration is None:
            score = np.full(size, self.log_known)
        else:  # Gamma(a) is Gamma(a + 1) * uniform**(1 / a), whose log does not underflow
            score = np.log(rng.standard_gamma(self.concentration + 1, size))
            score += np.log(rng.uniform(size=size)) / self.concentration
        for belief, x in self.terms:
            score += self.temper * belief.sample(rng, size).log_density(x)
        return score + self.shift


@dataclass(frozen=True)
class Row:
    """Scores of a row under p(theta | D), and of each class once it has learnt the row."""

    base: list[Score]
    seen: list[Score]

    @cached_property
    def probability(self) -> Array:
        """E[softmax]: G and the densities integrated out, one class at a time."""
        return np.exp(log_softmax([float(np.real(score.log_moment(1.0))) for score in self.base]))

    def components(self, rows: str) -> list[tuple[float, list[Score]]]:
        """The mixture: weights, and the scores of all classes."""
        if rows == "fixed":
            return [(1.0, self.base)]
        mixture = []
        for y, weight in enumerate(self.probability):
            mixture.append((float(weight), [*self.base[:y], self.seen[y], *self.base[y + 1 :]]))
        return mixture


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted estimator of numbered columns, and rows for it; a level is its number."""

    model: Any
    table: Any

    def __len__(self) -> int:
        return self.table.shape[0]

    def row(self, row: int) -> Row:
        """The row is learnt with every label by a copy, each class from its own label alone."""
        labels = self.model.classes_
        weight = np.full(len(labels), self.model.temper_)
        wiser = copy.deepcopy(self.model)
        wiser.partial_fit(self.table[[row] * len(labels)], labels, sample_weight=weight)
        return Row(self._scores(self.model, row, 0.0), self._scores(wiser, row, 1.0))

    def _scores(self, model: Any, row: int, extra: float) -> list[Score]:
        prior = self.model.class_posterior_
        temper = self.model.temper_
        x = self.table[[row]]
        x = np.ravel(x.toarray() if sparse.issparse(x) else x).astype(float)
        known = not hasattr(prior, "concentration")
        scores = []
        for c in range(len(self.model.classes_)):
            log_known = float(np.log(prior.probability[c])) if known else 0.0
            concentration = None if known else float(prior.concentration[c]) + extra
            shift = 0.0
            terms = []
            for key, before in self.model.posterior_.items():
                cell = x[list(key)] if isinstance(key, tuple) else x[key]
                if not np.isnan(cell).any():
                    terms.append((model.posterior_[key][c], _as_code(before, cell)))
                once, tempered = (log_moment(before[c], cell, s) for s in (1.0, temper))
                shift += float(np.real(temper * once - tempered))
            scores.append(Score(concentration, log_known, terms, temper, shift))
        return scores


def _as_code(belief: Any, cell: Any) -> Any:
    return int(cell) if isinstance(belief, Dirichlet) else cell


# Two classes: inversion of the characteristic function -------------------------------------------


@dataclass(frozen=True)
class TwoClasses:
    """The distribution of p(y | x, theta), by that of the second class's log odds U_1 - U_0."""

    row: Row
    rows: str

    def transform(self, t: Array) -> Array:
        """E[exp(i t log odds)]."""
        total = 0.0
        for weight, (first, second) in self.row.components(self.rows):
            if weight > 0:
                total = total + weight * np.exp(
                    second.log_moment(1j * t) + first.log_moment(-1j * t)
                )
        return total

    @cached_property
    def top(self) -> float:
        """The first of the numbers 2**(k / 4) from which on the transform is below 1e-17."""
        t = 2.0 ** (np.arange(-60, 60) / 4)
        large = np.flatnonzero(np.abs(self.transform(t)) > 1e-17)
        return float(np.append(t, np.inf)[large[-1] + 1])

    def cdf_log_odds(self, x: Array) -> Array:
        """P(log odds <= x), absolute error about 1e-11; x may be infinite."""
        value = np.where(x > 0, 1.0, 0.0)
        finite = np.isfinite(x)
        if finite.any():
            value[finite] = invert(self.transform, self.top, x[finite], np.zeros(1))
        return value

    def error(self, p: Array, level: Array) -> float:
        """Greatest |F(p) - level| of quantiles `(q, 2)` of both classes at the levels `(q,)`.

        What the last digits of p can do is forgiven: next to 1 they are whole units of log odds.
        """
        below, above = (logit(end) for end in last_digits(p))
        # p_0 <= p where the log odds of class 1 are at least -logit(p)
        x = np.stack([[-above[:, 0], -below[:, 0]], [below[:, 1], above[:, 1]]])
        f = self.cdf_log_odds(x.ravel()).reshape(x.shape)
        f[0] = 1 - f[0, ::-1]
        return float(np.maximum(f[:, 0] - level, level - f[:, 1]).max())

    def mean_and_entropy(self) -> tuple[float, float]:
        """E[p_1] and E[H(p)], by parts: dH(sigmoid(x)) is -x dsigmoid(x).

        The panels are as short as the cumulative distribution and the logistic function need.
        """
        edges = np.linspace(-38.0, 38.0, int(np.ceil(76 / min(4.0, 16.0 / self.top))) + 1)
        x, weight = panels(edges)
        inside = (LEGENDRE[0] + 1) / 2 * (edges[1] - edges[0])
        f = invert(self.transform, self.top, edges[:-1], inside)
        slope = weight * expit(x) * expit(-x) * f
        return 1.0 - float(slope.sum()), float((slope * x).sum())


def last_digits(p: Array, least: float = TINY) -> tuple[Array, Array]:
    """p, a little smaller and a little larger; what is nearer than `least` to 0 is as good as 0."""
    below = np.clip(p * (1 - ULPS), 0, 1)
    above = np.clip(p * (1 + ULPS), 0, 1)
    return np.where(p < least, 0.0, below), np.maximum(above, least)


def panels(edges: Array) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights between consecutive edges."""
    left = edges[:-1, None]
    width = np.diff(edges)[:, None]
    x, w = LEGENDRE
    return (left + width * (x + 1) / 2).ravel(), (width * w / 2).ravel()


def dyadic(top: float, longest: float) -> tuple[Array, Array]:
    """Nodes on (0, top): panels that shrink fourfold towards 0, none longer than said."""
    edges = [0.0]
    for right in top * 4.0 ** np.arange(-20, 1):
        pieces = int(np.ceil((right - edges[-1]) / longest))
        edges += np.linspace(edges[-1], right, pieces + 1)[1:].tolist()
    return panels(np.array(edges))


def centre(transform: Transform) -> float:
    """The mean, from the transform next to 0."""
    step = 1e-7
    for _ in range(3):  # a phase beyond pi would be read wrongly
        mean = float(np.angle(transform(np.array([step]))[0]) / step)
        step = 1e-5 / (1 + abs(mean))
    return mean


def invert(transform: Transform, top: float, x: Array, more: Array) -> Array:
    """P(X <= x) by Gil-Pelaez: 1/2 - (1/pi) integral of Im[exp(-i t x) E exp(i t X)] / t.

    At all sums of an x and one of `more`, x by x: exp(-i t (x + more)) is a product of tables.
    """
    assert top < np.inf, "the transform decays too slowly for this quadrature"
    middle = centre(transform)
    t, w = dyadic(top, 16.0 / (1.0 + abs(middle) + np.abs(x - middle).max() + more.max()))
    wave = (transform(t) * np.exp(-1j * t * middle) * w / t)[:, None]
    wave = wave * np.exp(-1j * np.outer(t, more))
    parts = []
    for some in np.array_split(x - middle, max(len(x) * len(t) // 1_000_000, 1)):
        parts.append((np.exp(-1j * np.outer(some, t)) @ wave).imag)
    return 0.5 - np.concatenate(parts).ravel() / np.pi


# Any number of classes: Monte Carlo --------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """Independent draws of softmax(U), as logs, `(s, c)`."""

    log_p: Array

    @cached_property
    def log_odds(self) -> Array:
        """Of each class, sorted, `(c, s)`: next to 1 they are told apart too."""
        odds = []
        for c in range(self.log_p.shape[1]):
            rest = logsumexp(np.delete(self.log_p, c, axis=1), axis=1)
            odds.append(np.sort(self.log_p[:, c] - rest))
        return np.array(odds)

    def error(self, p: Array, level: Array, least: float = TINY) -> float:
        """Greatest |F(p) - level| beyond five standard errors, of quantiles `(q, c)`."""
        size = len(self.log_p)
        worst = 0.0
        allowed = 5 * np.sqrt(level * (1 - level) / size)
        for odds, ends in zip(self.log_odds, p.T, strict=True):
            below, above = (
                np.searchsorted(odds, logit(end), side="right") / size
                for end in last_digits(ends, least)
            )
            miss = np.maximum(below - level, level - above) - allowed
            worst = max(worst, float(miss.max()))
        return worst

    def means(self) -> tuple[Array, Array]:
        """The means of p_c, and last of the entropy, and how far off they may be.

        Five standard errors, and events too rare to be among the draws.
        """
        p = np.exp(self.log_p)
        values = np.column_stack([p, -xlogy(p, p).sum(axis=1)])
        size = len(p)
        return values.mean(axis=0), 5 * values.std(axis=0) / np.sqrt(size) + 10 / size


def draw(row: Row, rows: str, size: int, seed: int = 0) -> Sample:
    """Monte Carlo from the beliefs themselves; each draw takes one label, whose class learns."""
    rng = np.random.default_rng(seed)
    scores = np.column_stack([score.draw(rng, size) for score in row.base])
    if rows == "observed":
        seen = np.column_stack([score.draw(rng, size) for score in row.seen])
        label = rng.choice(len(row.probability), size, p=row.probability)
        every = np.arange(size)
        scores[every, label] = seen[every, label]
    return Sample(log_softmax(scores, axis=1))
