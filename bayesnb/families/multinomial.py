"""Blocks of counts, such as words: one die for each class, thrown many times a row.

    probability ~ Dirichlet(concentration)      counts | probability ~ Multinomial(total, probability)

The block is one feature with k levels. Its predictive is the Dirichlet-multinomial, which knows that a word
seen once is likely to be seen again: Madsen, Kauchak and Elkan (2005), Modeling word burstiness.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.special import gammaln, polygamma, psi

from bayesnb.families.base import Array, Cells, Family, Rng, grouped_sum
from bayesnb.families.dirichlet import Die, DieDensity, Dirichlet, LevelStats
from bayesnb.special import dot_logs, less, log, log_gamma_ratio

STEPS = 16  # counts up to here are a product of few factors; beyond, two log gammas are cheaper


def as_csr(x: Cells) -> sparse.csr_array:
    counts = sparse.csr_array(x)
    return counts if counts.dtype == float else counts.astype(float)


def log_coefficient(x: sparse.csr_array) -> Array:
    """The number of orders in which a row's counts can come, `(r, k) -> (r,)`; a constant in theta."""
    factorials = sparse.csr_array((gammaln(x.data + 1), x.indices, x.indptr), shape=x.shape)
    return gammaln(x.sum(axis=1) + 1) - factorials.sum(axis=1)


@dataclass(frozen=True, eq=False)
class MultinomialStats(LevelStats):
    """Counts of each level, `(c, 1, k)`, and the log coefficients of their rows, `(c, 1)`."""

    counts: Array
    log_orders: Array

    @classmethod
    def of(cls, x: Cells, weight: sparse.csc_array) -> Self:
        orders = weight.T @ log_coefficient(as_csr(x))[:, None]
        return cls(grouped_sum(weight, x)[:, None], orders)

    def mle(self) -> "MultinomialDensity":
        return MultinomialDensity(self.mle_share())


@dataclass(frozen=True, eq=False)
class MultinomialDensity(DieDensity):
    probability: Array

    def log_density(self, x: Array) -> Array:
        logs = log(self.probability)
        each = np.where(x > 0, x * np.where(x > 0, logs, 0.0), 0.0)
        return each.sum(axis=-1) + gammaln(x.sum(axis=-1) + 1) - gammaln(x + 1).sum(axis=-1)

    def log_likelihood(self, stats: MultinomialStats, xp: Any = np) -> Any:
        return super().log_likelihood(stats, xp) + stats.log_orders

    def sample(self, rng: Rng, total: int = 1) -> Array:
        return np.random.default_rng(rng).multinomial(total, self.probability).astype(float)

    def score(self, x: Cells, power: float = 1.0) -> Array:
        counts = as_csr(x)
        return power * (dot_logs(counts, log(self.probability[:, 0])) + log_coefficient(counts)[:, None])


@dataclass(frozen=True, eq=False, repr=False)
class DirichletMultinomial(Die):
    """A Dirichlet belief about a die; a cell is how often each level came up, `(..., k)`."""

    concentration: Array

    def log_sum(self, logs: Array) -> Array:
        return np.logaddexp.reduce(logs, axis=-1, keepdims=True)

    def log_evidence(self, stats: MultinomialStats) -> Array:
        return super().log_evidence(stats) + stats.log_orders

    def log_moment(self, x: Array, s: Any) -> Array:
        x = np.asarray(x, float)
        size, orders = x.sum(axis=-1), gammaln(x.sum(axis=-1) + 1) - gammaln(x + 1).sum(axis=-1)
        each = log_gamma_ratio(self.concentration, np.asarray(s)[..., None] * x).sum(axis=-1)
        return less(each, log_gamma_ratio(self.concentration.sum(axis=-1), s * size)) + s * orders

    def cumulants(self, x: Array, order: int) -> Array:
        x = np.asarray(x, float)
        a, size = self.concentration, x.sum(axis=-1)
        total, orders = a.sum(axis=-1), gammaln(size + 1) - gammaln(x + 1).sum(axis=-1)
        terms = [(x * psi(a)).sum(axis=-1) - size * psi(total) + orders]
        for n in range(2, order + 1):
            own = (x**n * polygamma(n - 1, a)).sum(axis=-1)
            terms.append(own - size**n * polygamma(n - 1, total))
        return np.stack(np.broadcast_arrays(*terms))

    def score(self, x: Cells, power: Any = 1.0) -> Array:
        counts, concentration = as_csr(x), self.concentration[:, 0]
        sizes, row = np.unique(power * counts.sum(axis=1)[:, None], return_inverse=True)
        length = log_gamma_ratio(concentration.sum(axis=1), sizes[:, None])[row[:, 0]]
        whole = np.all(np.equal(power, 1)) and np.all(counts.data == np.floor(counts.data))
        words = rising(counts, concentration) if whole else direct(counts, concentration, power)
        return less(words, length) + power * log_coefficient(counts)[:, None]

    def sample(self, rng: Rng, size: Any = None) -> MultinomialDensity:
        return MultinomialDensity(self.draw(rng, size))

    def predictive(self, throws: int = 1) -> Any:
        """The counts of the levels in so many throws."""
        from scipy.stats import dirichlet_multinomial

        return dirichlet_multinomial(self.concentration, throws)

    def estimate(self, kind: str) -> MultinomialDensity:
        return MultinomialDensity(self.mean() if kind == "mean" else self.mode())

    def factor(self, pm: Any, name: str, stats: MultinomialStats) -> None:
        probability = pm.Dirichlet(f"{name}_probability", self.concentration)
        pm.Potential(name, MultinomialDensity(probability).log_likelihood(stats, pm.math))


def rising(counts: sparse.csr_array, concentration: Array) -> Array:
    """Sum over words of log of a (a+1) ... (a+x-1), `(r, k), (c, k) -> (r, c)`, one sparse product a factor."""
    total = np.zeros((counts.shape[0], len(concentration)))
    for step in range(int(min(counts.data.max(initial=0), STEPS))):
        used = over(counts, step)
        words = np.unique(used.indices) if step else slice(None)
        reached = sparse.csr_array((np.ones(used.nnz), used.indices, used.indptr), shape=used.shape)[:, words]
        total += dot_logs(reached, log(concentration[:, words] + step))
    beyond = over(counts, STEPS)
    if beyond.nnz:
        beyond.data = beyond.data - STEPS
        total += direct(beyond, concentration + STEPS, 1.0)
    return total


def over(counts: sparse.csr_array, least: int) -> sparse.csr_array:
    """The entries above a number."""
    kept = counts.copy()
    kept.data = np.where(kept.data > least, kept.data, 0.0)
    kept.eliminate_zeros()
    return kept


def direct(counts: sparse.csr_array, concentration: Array, power: Any) -> Array:
    """Sum over words of ln Gamma(a + power x) - ln Gamma(a), class by class."""
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    scaled = np.broadcast_to(power, (counts.shape[0], 1))[row, 0] * counts.data
    total = np.empty((counts.shape[0], len(concentration)))
    for c, own in enumerate(concentration):
        worth = log_gamma_ratio(own[counts.indices], scaled)
        total[:, c] = np.bincount(row, worth, minlength=counts.shape[0])
    return total


@dataclass(frozen=True, eq=False, repr=False)
class Multinomial(Family):
    """A block of counts that share one total, such as the words of a text. No cell may be missing.

    `prior` is a Dirichlet over the columns, or a number for a symmetric one. `fractional=True` takes weights
    that are no counts, such as tf-idf, through the power likelihood, the product of probability**x.
    """

    prior: Dirichlet | float = 1.0
    fractional: bool = False

    cells: ClassVar[str] = "count"
    whole: ClassVar[bool] = True
    reads_sparse: ClassVar[bool] = True
    missing: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.prior, Dirichlet):
            object.__setattr__(self, "prior", Dirichlet(self.prior))

    def observe(self, x: Cells, weight: sparse.csc_array, sizes: tuple[int, ...] = ()) -> MultinomialStats:
        return MultinomialStats.of(x, weight)

    def belief(self, stats: MultinomialStats) -> DirichletMultinomial:
        smoothing = self.prior.concentration  # type: ignore[union-attr]
        if smoothing.ndim == 2:
            smoothing = smoothing[:, None]
        return DirichletMultinomial(np.broadcast_to(smoothing, stats.counts.shape))
