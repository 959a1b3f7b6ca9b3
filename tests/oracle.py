"""Independent oracles for the law of p(y | x, theta): what intervals and entropies are judged by.

Nothing here is from `bayesnb` but fitted estimators: their posteriors' parameters, their draws, and `partial_fit`,
which is how "the row was seen too" is said. With G_c ~ Gamma(alpha_c), the scores

    U_c = log G_c + t * sum_j log p(x_j | theta_cj)

are independent, and softmax(U) has the law of p(y | x, theta). For a row that was drawn from the population the law
is the mixture, over the labels y that it may have, of what it is once (x, y) has been learnt.

Three routes that share nothing but these sentences:

- `drawn`: theta from `belief.sample`, any number of classes, with Monte Carlo standard errors;
- `TwoClassLaw`: the inversion formula of Gil-Pelaez (1951) by Gauss-Legendre quadrature on dyadic panels, or by
  30-digit quadrature; the characteristic functions are written out below, one integral at a time;
- `tabulated`: draws of each U_c by its own quantile function, for many features and many classes.
"""

import copy
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
from scipy import sparse
from scipy.special import expit, log_softmax, loggamma, logit, xlogy

from bayesnb import Beta, Dirichlet, Gamma, NormalInverseGamma
from bayesnb.families.multinomial import DirichletMultinomial

Array = np.ndarray
Transform = Callable[[Array], Array]
FLOATS = SimpleNamespace(log=np.log, loggamma=loggamma, pi=np.pi)
ULPS = 4 * np.finfo(float).eps
TINY = np.finfo(float).tiny
LEGENDRE = np.polynomial.legendre.leggauss(24)


# What one cell says about one class ------------------------------------------------------------------------------


def log_moment(belief: Any, x: Any, s: Any, xp: Any = FLOATS) -> Any:
    """log E[p(x | theta)**s] for one class's belief and one cell, but for factors that all classes share."""
    if isinstance(belief, NormalInverseGamma):
        return 0.0 * s if np.isnan(x) else _gaussian(belief, float(x), s, xp)
    if isinstance(belief, Gamma):
        return 0.0 * s if np.isnan(x) else _poisson(belief, float(x), s, xp)
    if isinstance(belief, Beta):
        return 0.0 * s if np.isnan(x) else _dirichlet(np.array([belief.a, belief.b]), np.array([x, 1 - x]), s, xp)
    if isinstance(belief, DirichletMultinomial):
        return _dirichlet(belief.concentration, np.asarray(x, float), s, xp)
    assert isinstance(belief, Dirichlet)
    return 0.0 * s if x < 0 else _dirichlet(belief.concentration, np.eye(len(belief.concentration))[int(x)], s, xp)


def _gaussian(belief: NormalInverseGamma, x: float, s: Any, xp: Any) -> Any:
    """tau ~ Gamma(a, b). Given tau, k tau (x - mu)**2 is noncentral chi-squared with one degree of freedom.

    Its noncentrality is tau * k (x - m)**2, and its transform at u is exp(noncentrality * u / (1 - 2u)) / sqrt(1 - 2u).
    What is left is an integral of tau**(a + s/2 - 1) exp(-tau (b - c)).
    """
    a, b, k, m = (float(value) for value in (belief.shape, belief.scale, belief.count, belief.location))
    u = -s / (2 * k)
    c = k * (x - m) ** 2 * u / (1 - 2 * u)
    over_tau = xp.loggamma(a + s / 2) - xp.loggamma(a) + a * xp.log(b) - (a + s / 2) * xp.log(b - c)
    return over_tau - xp.log(1 - 2 * u) / 2 - s * xp.log(2 * xp.pi) / 2


def _poisson(belief: Gamma, x: float, s: Any, xp: Any) -> Any:
    """E[rate**(s x) exp(-s rate)]."""
    a, b = float(belief.shape), float(belief.rate)
    return xp.loggamma(a + s * x) - xp.loggamma(a) + a * xp.log(b) - (a + s * x) * xp.log(b + s)


def _dirichlet(concentration: Array, counts: Array, s: Any, xp: Any) -> Any:
    """E[prod probability**(s counts)]: one Dirichlet normalizer over another."""
    a, n = np.asarray(concentration, float), np.asarray(counts, float)
    total, thrown = float(a.sum()), float(n.sum())
    value = xp.loggamma(total) - xp.loggamma(total + s * thrown)
    pairs, often = np.unique(np.column_stack([a, n])[n > 0], axis=0, return_counts=True)  # texts repeat theirs
    for (own, times), many in zip(pairs.tolist(), often.tolist(), strict=True):
        value = value + many * (xp.loggamma(own + s * times) - xp.loggamma(own))
    return value


# What a row says about every class -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Score:
    """The law of one class's U: a concentration, or the log of a known probability, and beliefs with their cells."""

    concentration: float | None
    log_known: float
    terms: Sequence[tuple[Any, Any]]
    temper: float
    shift: float = 0.0  # by which the mean of exp(U) is that of a score that is the exponent times the log predictives

    def log_moment(self, s: Any, xp: Any = FLOATS) -> Any:
        """log E[exp(s U)]."""
        if self.concentration is None:
            value = s * self.log_known
        else:
            value = xp.loggamma(self.concentration + s) - xp.loggamma(self.concentration)
        for belief, x in self.terms:
            value = value + log_moment(belief, x, self.temper * s, xp)
        return value + s * self.shift

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Draws of U: theta from the beliefs, and the log-density of the cells under it."""
        if self.concentration is None:
            score = np.full(size, self.log_known)
        else:  # Gamma(a) is Gamma(a + 1) * uniform**(1 / a), whose log does not underflow
            score = np.log(rng.standard_gamma(self.concentration + 1, size))
            score += np.log(rng.uniform(size=size)) / self.concentration
        for belief, x in self.terms:
            if isinstance(belief, DirichletMultinomial):  # words that do not occur are one word
                seen, a = x > 0, belief.concentration
                belief = DirichletMultinomial(np.append(a[seen], a[~seen].sum() if (~seen).any() else []))
                x = np.append(x[seen], [0.0] * bool((~seen).any()))
            score += self.temper * belief.sample(rng, size).log_density(x)
        return score + self.shift


@dataclass(frozen=True)
class RowLaw:
    """The scores of a row under p(theta | D), of each class once it has learnt the row, and p(y | x, D)."""

    base: list[Score]
    told: list[Score]

    @cached_property
    def probability(self) -> Array:
        """E[softmax]: the class's G and densities integrated out, one class at a time."""
        log_joint = np.array([float(np.real(score.log_moment(1.0))) for score in self.base])
        return np.exp(log_softmax(log_joint))

    def components(self, rows: str) -> list[tuple[float, list[Score]]]:
        """The mixture: weights, and the scores of all classes."""
        if rows == "fixed":
            return [(1.0, self.base)]
        return [(float(w), [*self.base[:y], self.told[y], *self.base[y + 1 :]]) for y, w in enumerate(self.probability)]


@dataclass(frozen=True, eq=False)
class Scene:
    """A fitted estimator, rows for it, and the same rows as its beliefs read them: column -> cells."""

    model: Any
    table: Any
    cells: Mapping[Hashable, Array]

    def __len__(self) -> int:
        return self.table.shape[0]

    def rows(self, index: Any) -> Any:
        return self.table.iloc[index] if hasattr(self.table, "iloc") else self.table[index]

    def law(self, row: int) -> RowLaw:
        """The row is learnt once with every label by a copy of the model, each class from its own label alone."""
        labels = self.model.classes_
        wiser = copy.deepcopy(self.model).partial_fit(
            self.rows([row] * len(labels)), labels, sample_weight=np.full(len(labels), self.model.temper_)
        )
        return RowLaw(self._scores(self.model, row, 0.0), self._scores(wiser, row, 1.0))

    def _scores(self, model: Any, row: int, seen: float) -> list[Score]:
        die, scores = self.model.class_posterior_, []
        for c in range(len(self.model.classes_)):
            known = not hasattr(die, "concentration")
            with np.errstate(divide="ignore"):
                log_known = float(np.log(die.probability[c])) if known else 0.0
            terms = [(belief[c], self.cells[key][row]) for key, belief in model.posterior_.items()]
            before = [(belief[c], self.cells[key][row]) for key, belief in self.model.posterior_.items()]
            w = model.temper_
            shift = sum(float(np.real(w * log_moment(*term, 1.0) - log_moment(*term, w))) for term in before)
            concentration = None if known else float(die.concentration[c]) + seen
            scores.append(Score(concentration, log_known, terms, w, shift if w != 1 else 0.0))
        return scores


def scene(model: Any, table: Any, levels: Mapping[Hashable, Sequence[Any]] | None = None) -> Scene:
    """A scene of an array, a sparse matrix or a frame; `levels` are those of columns whose cells are no numbers."""
    levels, cells = levels or {}, {}
    frame = hasattr(table, "iloc")
    dense = table if frame else table.toarray() if sparse.issparse(table) else np.asarray(table)
    for key in model.posterior_:
        if key in levels:
            places = {level: place for place, level in enumerate(levels[key])}
            column = dense[key] if frame else dense[:, key]
            cells[key] = np.array([places.get(value, -1) for value in column])
        elif isinstance(key, tuple):
            cells[key] = (dense[list(key)].to_numpy() if frame else dense[:, list(key)]).astype(float)
        else:
            column = dense[key].astype(float).to_numpy() if frame else dense[:, key].astype(float)
            cells[key] = column
    return Scene(model, table, cells)


# Two classes: inversion of the characteristic function -----------------------------------------------------------


@dataclass(frozen=True)
class TwoClassLaw:
    """The law of p(y | x, theta), through that of the second class's log-odds U_1 - U_0."""

    law: RowLaw
    rows: str = "observed"

    def transform(self, t: Any, xp: Any = FLOATS, exp: Any = np.exp) -> Any:
        """E[exp(i t log-odds)]."""
        total = 0.0
        for weight, scores in self.law.components(self.rows):
            if weight > 0:
                total = total + weight * exp(scores[1].log_moment(1j * t, xp) + scores[0].log_moment(-1j * t, xp))
        return total

    @cached_property
    def top(self) -> float:
        """Beyond it the transform is below 1e-17."""
        return reach(self.transform)

    def cdf_log_odds(self, x: Array) -> Array:
        """P(log-odds <= x), absolute error about 1e-11; x may be infinite."""
        value, finite = np.where(x > 0, 1.0, 0.0), np.isfinite(x)
        if finite.any():
            value[finite] = inverted(self.transform, self.top, x[finite])
        return value

    def cdf(self, p: Any) -> Array:
        """P(p_1 <= p)."""
        return self.cdf_log_odds(logit(np.asarray(p, float)))

    def cdf_30_digits(self, p: float) -> float:
        """The same by mpmath, with panels and nodes of its own."""
        with mpmath.workdps(30):
            at = mpmath.log(mpmath.mpf(p)) - mpmath.log1p(-mpmath.mpf(p))
            phi = lambda t: self.transform(t, mpmath.mp, mpmath.exp)  # noqa: E731
            edges = [mpmath.mpf(self.top) * mpmath.mpf(3) ** -k for k in range(16, -1, -1)]
            wave = lambda t: mpmath.im(mpmath.exp(-1j * at * t) * phi(t)) / t  # noqa: E731
            return float(
                mpmath.mpf(1) / 2 - mpmath.quad(wave, [0, *edges], method="gauss-legendre", maxdegree=4) / mpmath.pi
            )

    def shortfall(self, p: Array, level: Array) -> Array:
        """|F(p) - level| for reported quantiles `(q, 2)` of both classes, and their levels `(q,)`.

        What the last digits of p can do is forgiven: next to 1 they are whole units of log-odds.
        """
        below, above = (logit(end) for end in last_digits(p))
        # p_0 <= p where the log-odds of class 1 are at least -logit(p)
        x = np.stack([[-above[:, 0], -below[:, 0]], [below[:, 1], above[:, 1]]])
        f = self.cdf_log_odds(x.ravel()).reshape(x.shape)
        f[0] = 1 - f[0, ::-1]
        return np.maximum(np.maximum(f[:, 0] - level, level - f[:, 1]), 0.0).T

    @cached_property
    def _on_the_line(self) -> tuple[Array, Array, Array]:
        """Log-odds, quadrature weights, and the CDF; panels as short as the CDF and the logistic function need."""
        edges = np.linspace(-38.0, 38.0, int(np.ceil(76 / min(4.0, 16.0 / self.top))) + 1)
        nodes, weight = panels(edges)
        inside = (LEGENDRE[0] + 1) / 2 * (edges[1] - edges[0])
        return nodes, weight, inverted(self.transform, self.top, edges[:-1], inside)

    def mean(self) -> float:
        """E[p_1], by parts: 1 - the integral of F(x) dsigmoid(x)."""
        x, weight, f = self._on_the_line
        return 1.0 - float((weight * expit(x) * expit(-x) * f).sum())

    def mean_entropy(self) -> float:
        """E[H(p)], by parts: dH(sigmoid(x)) is -x dsigmoid(x)."""
        x, weight, f = self._on_the_line
        return float((weight * x * expit(x) * expit(-x) * f).sum())


def last_digits(p: Array, least: float = TINY) -> tuple[Array, Array]:
    """p, a little smaller and a little larger; what is nearer than `least` to 0 or 1 is as good as 0 or 1."""
    p = np.asarray(p, float)
    below, above = np.clip(p * (1 - ULPS), 0, 1), np.clip(p * (1 + ULPS), 0, 1)
    below, above = np.where(p < least, 0.0, below), np.where(p > 1 - least, 1.0, above)
    return np.minimum(below, 1 - least), np.maximum(above, least)


def panels(edges: Array) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights between consecutive edges."""
    left, width = edges[:-1, None], np.diff(edges)[:, None]
    x, w = LEGENDRE
    return (left + width * (x + 1) / 2).ravel(), (width * w / 2).ravel()


def reach(transform: Transform) -> float:
    """The first of the numbers 2**(k / 4) from which on the transform stays below 1e-17; infinite beyond 2**15."""
    t = 2.0 ** (np.arange(-60, 60) / 4)
    large = np.flatnonzero(np.abs(transform(t)) > 1e-17)
    return float(np.append(t, np.inf)[large[-1] + 1])


def dyadic(top: float, longest: float) -> tuple[Array, Array]:
    """Nodes on (0, top): panels that shrink fourfold towards 0, none longer than said."""
    edges = [0.0]
    for right in top * 4.0 ** np.arange(-20, 1):
        edges += np.linspace(edges[-1], right, int(np.ceil((right - edges[-1]) / longest)) + 1)[1:].tolist()
    return panels(np.array(edges))


def centre(transform: Transform) -> float:
    """The mean, from the transform next to 0."""
    step = 1e-7
    for _ in range(3):  # a phase beyond pi would be read wrongly
        mean = float(np.angle(transform(np.array([step]))[0]) / step)
        step = 1e-5 / (1 + abs(mean))
    return mean


def inverted(transform: Transform, top: float, x: Array, more: Array | None = None) -> Array:
    """P(X <= x) by Gil-Pelaez: 1/2 - (1/pi) integral of Im[exp(-i t x) E exp(i t X)] / t.

    With `more`, at all sums of an x and one of these, x by x: exp(-i t (x + more)) is a product of two tables.
    """
    more = np.zeros(1) if more is None else more
    assert top < np.inf, "the transform decays too slowly for this quadrature"
    middle = centre(transform)
    t, w = dyadic(top, 16.0 / (1.0 + abs(middle) + np.abs(x - middle).max() + more.max()))
    wave = (transform(t) * np.exp(-1j * t * middle) * w / t)[:, None] * np.exp(-1j * np.outer(t, more))
    value = np.empty((len(x), len(more)))
    for some in np.array_split(np.arange(len(x)), max(len(x) * len(t) // 1_000_000, 1)):
        value[some] = (np.exp(-1j * np.outer(x[some] - middle, t)) @ wave).imag
    return 0.5 - value.ravel() / np.pi


# Any number of classes: Monte Carlo ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """Independent draws of softmax(U), as logs, `(s, c)`."""

    log_p: Array

    @classmethod
    def of(cls, scores: Array) -> "Sample":
        return cls(log_softmax(scores, axis=1))

    def __len__(self) -> int:
        return len(self.log_p)

    @property
    def rare(self) -> float:
        """What events too rare to be among the draws can do to the mean of numbers between 0 and 1."""
        return 10 / len(self)

    def cdf(self, c: int, p: Any) -> Array:
        """The share of draws with p_c <= p, for each p, by its log-odds: next to 1 they are told apart too."""
        return np.searchsorted(self.log_odds[c], logit(np.asarray(p, float)), side="right") / len(self)

    @cached_property
    def log_odds(self) -> Array:
        """Of each class, sorted, `(c, s)`."""
        own = []
        for c in range(self.log_p.shape[1]):
            others = np.delete(self.log_p, c, axis=1)
            most = others.max(axis=1)
            own.append(np.sort(self.log_p[:, c] - most - np.log(np.exp(others - most[:, None]).sum(axis=1))))
        return np.array(own)

    def shortfall(self, c: int, p: Array, level: Array, least: float = TINY) -> Array:
        """|F(p) - level| beyond five standard errors of F; `last_digits` are forgiven."""
        below, above = last_digits(p, least)
        miss = np.maximum(np.maximum(self.cdf(c, below) - level, level - self.cdf(c, above)), 0.0)
        return np.maximum(miss - 5 * np.sqrt(level * (1 - level) / len(self)), 0.0)

    def mean(self) -> tuple[Array, Array]:
        """The mean of p_c and its standard error."""
        p = np.exp(self.log_p)
        return p.mean(axis=0), p.std(axis=0) / np.sqrt(len(self))

    def mean_entropy(self) -> tuple[float, float]:
        """The mean entropy and its standard error."""
        p = np.exp(self.log_p)
        h = -xlogy(p, p).sum(axis=1)
        return float(h.mean()), float(h.std() / np.sqrt(len(self)))


def mixed(base: Array, told: Array, law: RowLaw, rows: str, rng: np.random.Generator) -> Sample:
    """Draws of the mixture: each takes one label, whose class has learnt the row."""
    if rows == "fixed":
        return Sample.of(base)
    y = rng.choice(len(law.probability), len(base), p=law.probability)
    scores, draw = base.copy(), np.arange(len(base))
    scores[draw, y] = told[draw, y]
    return Sample.of(scores)


def drawn(law: RowLaw, rows: str, size: int = 1_000_000, seed: int = 0, chunk: int = 100_000) -> Sample:
    """Monte Carlo from the beliefs themselves."""
    rng, parts = np.random.default_rng(seed), []
    for _ in range(max(size // chunk, 1)):
        some = min(chunk, size)
        base = np.column_stack([score.draw(rng, some) for score in law.base])
        told = base
        if rows == "observed":
            told = np.column_stack([score.draw(rng, some) for score in law.told])
        parts.append(mixed(base, told, law, rows, rng).log_p)
    return Sample(np.concatenate(parts))


def tabulated(law: RowLaw, rows: str, size: int = 1_000_000, seed: int = 0) -> Sample:
    """Monte Carlo by one number a class: U_c by its quantile function, from its own inverted transform."""
    rng = np.random.default_rng(seed)
    scores = law.base + (law.told if rows == "observed" else [])
    draws = [quantiles(score, rng.uniform(size=size)) for score in scores]
    classes = len(law.base)
    return mixed(np.column_stack(draws[:classes]), np.column_stack(draws[-classes:]), law, rows, rng)


def quantiles(score: Score, u: Array, points: int = 1000) -> Array:
    """The quantiles of U at u, by linear interpolation of its CDF on a grid as wide as the law."""
    transform: Transform = lambda t: np.exp(score.log_moment(1j * t))  # noqa: E731
    top, middle = reach(transform), centre(transform)
    step = 0.1 / top
    spread = np.sqrt(-2 * np.log(np.abs(transform(np.array([step]))[0]))) / step  # the law's, or less with heavy tails
    low, high = (_end(transform, top, middle, sign * spread) for sign in (-1, 1))
    grid = np.linspace(low, high, points)
    level = np.maximum.accumulate(np.clip(inverted(transform, top, grid), 0, 1))
    keep = np.concatenate([[True], np.diff(level) > 0])
    return np.interp(u, level[keep], grid[keep])


def _end(transform: Transform, top: float, middle: float, spread: float) -> float:
    """A point beyond which less than 1e-8 of the law lies."""
    for x in middle + spread * 4 * 1.5 ** np.arange(40):
        tail = float(inverted(transform, top, np.array([x]))[0])
        if min(tail, 1 - tail) < 1e-8:
            return float(x)
    raise AssertionError("the law is too wide for this grid")
