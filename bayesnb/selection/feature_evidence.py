"""Evidence that a feature depends on the class: one theta for each class against one theta for all.

    log Bayes factor = sum over classes of log p(column of the class) - log p(column of all classes)

Both use the same prior; for levels, also the best prior of each. Kass and Raftery (1995), Bayes
factors.

A Dirichlet(1) fits many rare levels badly: it shrinks all probabilities towards uniform, and those
of a class, with fewer rows, more than those of all rows. So noise in a column of many levels would
be strong evidence for dependence. With concentrations l p, where p are the proportions of the prior
and each hypothesis has the l that maximises its evidence, both have one free parameter, and noise
favours neither.

Log ratios of word probabilities say how much more often a class uses a word than all other classes
together:

    share ~ Dirichlet(prior + counts of the class)
    rest ~ Dirichlet(prior + counts of all other classes together)

The share of a word has a Beta distribution in both, so its log ratio is the difference of two
independent log-Beta variates. For Beta(a, A - a), E[log] = psi(a) - psi(A) and Var[log] = psi'(a) -
psi'(A). The interval of the difference comes from the distribution function of one averaged over
quantiles of the other: exact up to quadrature error, about 1e-6, or 1e-4 where a word may make up a
whole text.
"""

from collections.abc import Hashable, Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize.elementwise import find_root
from scipy.special import betainc, betaincinv, betaln, polygamma, psi

from bayesnb.families.base import Array, Belief
from bayesnb.families.bernoulli import BernoulliStats, Beta
from bayesnb.families.dirichlet import best_concentration, evidence_terms, log_evidence
from bayesnb.families.family import Family, HasCounts
from bayesnb.families.multinomial import DirichletMultinomial, MultinomialStats


def log_bayes_factors(prior: Belief, stats: Any) -> Array:
    """log p(data | theta for each class) - log p(data | one theta for all), `(c, f) -> (f,)`.

    If classes share a variance, they do so under both hypotheses, which then differ only in the
    means.
    """
    return prior.log_evidence(stats).sum(axis=0) - prior[:1].log_evidence(pool(stats))[0]


def pool(stats: Any) -> Any:
    """Merge the stats of all classes into one class."""
    return reduce(add, (stats[c : c + 1] for c in range(len(stats))))


def cautious(family: Family, prior: Belief, stats: Any) -> Array:
    """Log Bayes factors under the prior, `(f,)`; for levels capped by those under best
    concentrations.

    Negative factors are those of the declared prior: with best concentrations, all classes may be
    equal under both hypotheses, and then there is no evidence against dependence.
    """
    return cap(family, log_bayes_factors(prior, stats), stats)


def cap(family: Family, declared: Array, stats: Any) -> Array:
    """Cap log Bayes factors of levels by those under best concentrations."""
    if not isinstance(family, HasCounts) or not family.counts_levels or not (declared > 0).any():
        return declared
    return np.minimum(declared, np.maximum(_learnt(family.seen(stats)), 0.0))


def _learnt(seen: Any) -> Array:
    """Log Bayes factors of levels under the best concentration of each hypothesis, `(f,)`."""
    features = int(seen.column.max()) + 1
    every = np.arange(features)[None]

    def best(counts: Array, unit: Array) -> Array:
        groups = np.repeat(every, len(counts), axis=0)
        terms = evidence_terms(counts, unit, seen.column, groups)
        return log_evidence(terms, best_concentration(terms, features))

    return best(seen.counts, seen.unit) - best(seen.counts.sum(axis=0)[None], seen.unit[:1])


def word_bayes_factors(prior: DirichletMultinomial, stats: MultinomialStats) -> Array:
    """Log Bayes factors of each word against all others, under Beta(a_j, A - a_j).

    Shapes: `(c, 1, k) -> (k,)`.
    """
    concentration = prior.concentration[:, 0]
    seen = stats.counts[:, 0]
    rest, unseen = (array.sum(axis=-1, keepdims=True) - array for array in (concentration, seen))
    return log_bayes_factors(
        Beta(concentration, np.maximum(rest, 0.0)), BernoulliStats(seen, np.maximum(unseen, 0.0))
    )


def check_comparable(prior: Belief, keys: Sequence[Hashable], *, alike: bool = True) -> None:
    """Raise if the prior of a feature is improper or, with `alike`, differs between classes."""
    reasons = [(~prior.strictly_proper.all(axis=0), "is improper, so its evidence is undefined")]
    if alike:
        reasons.append(
            (
                classes_differ(prior),
                "differs between classes, so they have no common parameter",
            )
        )
    for invalid, why in reasons:
        if invalid.any():
            raise ValueError(
                f"the prior of column {keys[int(invalid.argmax())]!r} {why}. Give it another prior."
            )


def classes_differ(prior: Belief) -> Array:
    """Return whether the prior of a feature differs between classes, `(c, f) -> (f,)`."""
    differs = np.zeros(prior.proper.shape[1], bool)
    for (_, feature), array in prior.parts().items():
        differing = (array != array[:1]).any(axis=0)
        if feature is None and differing.shape == differs.shape:
            differs |= differing
        elif differing.any():
            differs[feature or 0] = True
    return differs


# Word shares

NODES = 128  # quadrature nodes for the average over quantiles
SERIES_LOG = -650.0  # smaller logs of Beta variates use the first term of a series


class WordRatios(NamedTuple):
    """Beliefs about the share of each word in a class, and in all other classes, `(c, k)`."""

    share: Beta
    rest: Beta

    @property
    def mean(self) -> Array:
        """E[log share - log rest], `(c, k)`; NaN or infinite where a share is certainly 0."""
        return _mean_log(self.share) - _mean_log(self.rest)

    @property
    def sd(self) -> Array:
        return np.sqrt(_variance_of_log(self.share) + _variance_of_log(self.rest))


def word_ratios(prior: DirichletMultinomial, stats: MultinomialStats) -> WordRatios:
    """Compare each class with all others together, whose prior is the mean of their priors."""
    before = prior.concentration[:, 0]
    seen = stats.counts[:, 0]
    others = len(seen) - 1
    rest = (before.sum(axis=0) - before) / others + seen.sum(axis=0) - seen
    return WordRatios(word_shares(before + seen), word_shares(rest))


def word_shares(concentration: Array) -> Beta:
    """Belief about the share of each word, a marginal of the Dirichlet, `(..., k)`."""
    return Beta(
        concentration, np.maximum(concentration.sum(axis=-1, keepdims=True) - concentration, 0.0)
    )


def ratio_interval(share: Beta, rest: Beta, prob: float) -> tuple[Array, Array]:
    """Equal-tailed interval of log share - log rest, `(n,)` each.

    Averaged over quantiles of the narrower of the two, where the distribution function of the wider
    is smoothest.
    """
    turned = _variance_of_log(share) < _variance_of_log(rest)
    wide, narrow = (
        Beta(np.where(turned, one.a, other.a), np.where(turned, one.b, other.b))
        for one, other in ((rest, share), (share, rest))
    )
    nodes, weights = _nodes()
    logs = _log_quantile(narrow.a[:, None], narrow.b[:, None], nodes)

    def gap(t: Array, at: Array, tail: float) -> Array:
        places = at.astype(int)
        x = t[..., None] + logs[places]
        return _cdf_at_log(wide.a[places, None], wide.b[places, None], x) @ weights - tail

    def end(tail: float) -> Array:
        far = min(tail, 1 - tail) / 4
        low = _log_quantile(wide.a, wide.b, far) - _log_quantile(narrow.a, narrow.b, 1 - far)
        high = _log_quantile(wide.a, wide.b, 1 - far) - _log_quantile(narrow.a, narrow.b, far)
        each = np.arange(len(low), dtype=float)
        return np.asarray(find_root(gap, (low - 1, high + 1), args=(each, tail)).x)

    low, high = end((1 - prob) / 2), end((1 + prob) / 2)
    return np.where(turned, -high, low), np.where(turned, -low, high)


def _nodes() -> tuple[Array, Array]:
    """Nodes and weights on (0, 1), dense near the ends, where quantiles diverge.

    u = v**3 (10 - 15 v + 6 v**2).
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    v = (1 + nodes) / 2
    return v**3 * (10 - 15 * v + 6 * v**2), weights / 2 * 30 * v**2 * (1 - v) ** 2


def _mean_log(belief: Beta) -> Array:
    return psi(belief.a) - psi(belief.a + belief.b)


def _variance_of_log(belief: Beta) -> Array:
    return polygamma(1, belief.a) - polygamma(1, belief.a + belief.b)


def _log_quantile(a: Array, b: Array, share: Array | float) -> Array:
    """Log of a Beta quantile, also where the quantile underflows."""
    series = (np.log(share) + np.log(a) + betaln(a, b)) / a
    with np.errstate(divide="ignore"):
        return np.where(series < SERIES_LOG, series, np.log(betaincinv(a, b, share)))


def _cdf_at_log(a: Array, b: Array, x: Array) -> Array:
    """Cumulative distribution function of a Beta variate at exp(x)."""
    series = np.exp(np.minimum(a * x - np.log(a) - betaln(a, b), 0.0))
    return np.where(x < SERIES_LOG, series, betainc(a, b, np.exp(np.minimum(x, 0.0))))
