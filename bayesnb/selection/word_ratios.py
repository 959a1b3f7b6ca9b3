"""Log ratios of word shares: how much more often a class uses a word than all other classes
together.

    share ~ Dirichlet(prior + counts of the class)
    rest ~ Dirichlet(prior + counts of all other classes together)

A word's share has a Beta distribution in both, so its log ratio is the difference of two
independent log-Beta variates: of Beta(a, A - a), E[log] = psi(a) - psi(A) and Var[log] = psi'(a) -
psi'(A). The interval is that of the difference itself, from the distribution function of one
averaged over quantiles of the other: exact but for quadrature error, some 1e-6, or 1e-4 where a
word may make up all of a text.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize.elementwise import find_root
from scipy.special import betainc, betaincinv, betaln, polygamma, psi

from bayesnb.families.base import Array
from bayesnb.families.bernoulli import Beta
from bayesnb.families.multinomial import DirichletMultinomial, MultinomialStats

NODES = 128  # of the average over quantiles
SERIES_LOG = -650.0  # logs below which a Beta variate is taken from the first term of its series


class WordRatios(NamedTuple):
    """Beliefs about the share of every word in a class, and in all others together, `(c, k)`."""

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
    """Compare each class with the words of all others, whose prior is the mean of theirs."""
    before = prior.concentration[:, 0]
    seen = stats.counts[:, 0]
    others = len(seen) - 1
    rest = (before.sum(axis=0) - before) / others + seen.sum(axis=0) - seen
    return WordRatios(word_shares(before + seen), word_shares(rest))


def word_shares(concentration: Array) -> Beta:
    """Belief about the share of each word against all others, a margin of the Dirichlet.

    Shape: `(..., k)`.
    """
    return Beta(
        concentration, np.maximum(concentration.sum(axis=-1, keepdims=True) - concentration, 0.0)
    )


def ratio_interval(share: Beta, rest: Beta, prob: float) -> tuple[Array, Array]:
    """Equal-tailed interval of log share - log rest, `(n,)` each.

    The average is over quantiles of the narrower of the two, over which the distribution
    function of the wider bends least.
    """
    lower = np.empty(len(share))
    upper = np.empty(len(share))
    turned = _variance_of_log(share) < _variance_of_log(rest)
    lower[~turned], upper[~turned] = _ends(share[~turned], rest[~turned], prob)
    low, high = _ends(rest[turned], share[turned], prob)
    lower[turned], upper[turned] = -high, -low
    return lower, upper


def _ends(wide: Beta, narrow: Beta, prob: float) -> tuple[Array, Array]:
    """Equal-tailed interval of log wide - log narrow."""
    share, weights = _nodes()
    logs = _log_quantile(narrow.a[:, None], narrow.b[:, None], share)

    def gap(t: Array, at: Array, tail: Array) -> Array:
        places = at.astype(int)
        return (
            _cdf_at_log(wide.a[places, None], wide.b[places, None], t[..., None] + logs[places])
            @ weights
            - tail
        )

    def end(tail: float) -> Array:
        far = min(tail, 1 - tail) / 4
        low = _log_quantile(wide.a, wide.b, far) - _log_quantile(narrow.a, narrow.b, 1 - far)
        high = _log_quantile(wide.a, wide.b, 1 - far) - _log_quantile(narrow.a, narrow.b, far)
        each = np.arange(len(low), dtype=float)
        return (
            find_root(gap, (low - 1, high + 1), args=(each, np.full(len(low), tail))).x
            if len(low)
            else low
        )

    return end((1 - prob) / 2), end((1 + prob) / 2)


def _nodes() -> tuple[Array, Array]:
    """Nodes and weights on (0, 1), dense at its ends, where quantiles diverge.

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
    """Log of a Beta quantile, which itself may underflow."""
    series = (np.log(share) + np.log(a) + betaln(a, b)) / a
    with np.errstate(divide="ignore"):
        return np.where(series < SERIES_LOG, series, np.log(betaincinv(a, b, share)))


def _cdf_at_log(a: Array, b: Array, x: Array) -> Array:
    """Cumulative distribution function of a Beta variate at exp(x)."""
    series = np.exp(np.minimum(a * x - np.log(a) - betaln(a, b), 0.0))
    return np.where(x < SERIES_LOG, series, betainc(a, b, np.exp(np.minimum(x, 0.0))))
