"""Blocks of counts, such as words: one die for each class, thrown many times a row.

    probability ~ Dirichlet(concentration)      counts | probability ~ Multinomial(total, probability)

The block is one feature with k levels. Its predictive is the Dirichlet-multinomial, which knows that a word
seen once is likely to be seen again: Madsen, Kauchak and Elkan (2005), Modeling word burstiness.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import polygamma, psi

from bayesnb import numerics
from bayesnb.families.base import ORDER, Array, Cells, Contributions, Parts, Rng, Say
from bayesnb.families.dirichlet import Die
from bayesnb.families.leaving import PREDICTIVE, Leaving, extra_of
from bayesnb.families.linear import LevelDoubt
from bayesnb.families.simplex import simplex
from bayesnb.families.sums import Distinct, Entries, by_entry, nodes, row_of_entry
from bayesnb.families.tables import Tables, by_tables
from bayesnb.families.throws import MultinomialDensity, MultinomialStats, Thrown
from bayesnb.families.words import as_csr, words_of, words_read
from bayesnb.numerics import special
from bayesnb.numerics.special import less, log, log_gamma_ratio, log_rising_binomial, ratio
from bayesnb.numerics.views import entries, lanes


@dataclass(frozen=True, eq=False, repr=False)
class DirichletMultinomial(LevelDoubt, Thrown, Die):
    """A Dirichlet belief about a die; a cell is how often each level came up, `(..., k)`.

    `ordered` says that it is known in which order they did.
    """

    whole: ClassVar[bool] = True
    layout: ClassVar[tuple[str, ...]] = ("ordered",)
    concentration: Array
    ordered: bool = False

    def log_evidence(self, stats: MultinomialStats, xp: Any = special) -> Array:
        return super().log_evidence(stats, xp) + stats.log_orders

    def log_moment(self, x: Array, s: Any) -> Array:
        x = np.asarray(x, float)
        each = log_gamma_ratio(self.concentration, np.asarray(s)[..., None] * x).sum(axis=-1)
        whole = log_gamma_ratio(self.concentration.sum(axis=-1), s * x.sum(axis=-1))
        return less(each, whole) + s * self.orders(x)

    def cumulants(self, x: Array, order: int, tilt: float = 0.0) -> Array:
        x = np.asarray(x, float)
        a, size = self.concentration + tilt * x, x.sum(axis=-1)
        total = a.sum(axis=-1)
        terms = [(x * psi(a)).sum(axis=-1) - size * psi(total) + self.orders(x)]
        for n in range(2, order + 1):
            own = (x**n * polygamma(n - 1, a)).sum(axis=-1)
            terms.append(own - size**n * polygamma(n - 1, total))
        return np.stack(np.broadcast_arrays(*terms))

    def log_predictive(self, x: Array) -> Array:
        if self.ordered:
            return self.log_moment(x, 1)
        x = np.asarray(x, float)
        each = log_rising_binomial(self.concentration, x).sum(axis=-1)
        return each - log_rising_binomial(self.concentration.sum(axis=-1), x.sum(axis=-1))

    def score(self, x: Cells, power: Any = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        if isinstance(power, np.ndarray) or power < 0 or self._largest >= numerics.count_kernels.LARGEST:
            return super().score(x, power, out, n_jobs)
        if power != 1:
            return self._powered(x, float(power), out, n_jobs)
        totals = self._totals

        def add(rows: slice, own: tuple[Array, Array], first: int, part: Array) -> None:
            numerics.count_kernels.score_dirichlet(*entries(x, rows), *own, totals, first, part)

        return self.in_order(x, 1.0, by_tables(add, self._tables, x, len(self), out, n_jobs), n_jobs)

    def own_left_out(self, stats: MultinomialStats, leaving: Leaving) -> Array:
        extra, counts = extra_of(self.concentration[0, 0], leaving.kind), stats.counts[0, 0]
        whole = np.array([np.maximum(extra + counts, 0.0).sum(), extra.sum(), counts.sum()])
        whole[1] = -1.0 if (extra < 0).any() else whole[1]
        even, known = -np.log(len(extra)) if leaving.kind == "map" else np.nan, leaving.kind != PREDICTIVE
        tables = np.ascontiguousarray(extra), np.ascontiguousarray(counts), whole
        out = np.empty(len(leaving.codes))
        numerics.count_kernels.left_out(*entries(leaving.x), leaving.weight, *tables, known, leaving.power, even, out)
        return self.in_order(leaving.x, leaving.power, out[:, None], 1)[:, 0]

    def _powered(self, x: Cells, power: float, out: Array | None, n_jobs: int | None) -> Array:
        cells = x.nnz if sparse.issparse(x) else x.shape[0] * x.shape[1]
        few = min(numerics.power_kernels.FEW, cells // x.shape[1])  # tables cost as much as so many cells of every word

        def of(some: slice) -> tuple[Array, Array]:
            concentration = lanes(self.concentration[some, 0])
            tables = np.empty((few + 1, *concentration.shape))
            numerics.power_kernels.words(concentration, power, tables)
            return concentration, tables

        def add(rows: slice, own: tuple[Array, Array], first: int, part: Array) -> None:
            numerics.power_kernels.score_words(*entries(x, rows), *own, self._totals, power, first, part)

        tables = Tables(of, self.concentration.shape)
        return self.in_order(x, power, by_tables(add, tables, x, len(self), out, n_jobs), n_jobs)

    @cached_property
    def _totals(self) -> Array:
        return self.concentration[:, 0].sum(axis=1)

    @cached_property
    def _tables(self) -> Tables:
        def of(some: slice) -> tuple[Array, Array]:
            concentration = lanes(self.concentration[some, 0])
            return concentration, log(concentration)

        return Tables(of, self.concentration.shape)

    @cached_property
    def _largest(self) -> float:
        return self.concentration.max()

    def defined_score(self, x: Cells, power: Any = 1.0) -> Array:
        counts, concentration = as_csr(x), self.concentration[:, 0]
        scaled = counts.data * np.broadcast_to(power, (counts.shape[0], 1))[row_of_entry(counts), 0]
        binomial = not self.ordered and bool(np.all(np.equal(power, 1)))
        worth = log_rising_binomial if binomial else log_gamma_ratio
        words = by_entry(counts, lambda c: worth(concentration[c, counts.indices], scaled), len(concentration))
        length = worth(concentration.sum(axis=1), power * counts.sum(axis=1)[:, None])
        return words - length if binomial else less(words, length) + power * self.orders(counts)[:, None]

    def score_cumulants(self, x: Cells, tilt: float = 0.0) -> Array:
        total = np.moveaxis(self._added(x, lambda a, count: _powers(a, count, tilt)), -1, 0)
        total[0] += self.orders(as_csr(x))[:, None]
        return total

    def score_transform(self, x: Cells, s: Array) -> Array:
        total = self._added(x, lambda a, count: log_gamma_ratio(a, nodes(s) * count))
        return total + self.orders(as_csr(x))[:, None, None] * s

    def _added(self, x: Cells, worth: Callable[[Array, Array], Array]) -> Array:
        """The worth of each word and its count, less that of the whole die and the row's length, `-> (r, c, n)`."""
        counts, concentration = as_csr(x), self.concentration[:, 0]
        words = Distinct.of_csr(counts)
        lengths, place = np.unique(counts.sum(axis=1), return_inverse=True)
        whole = Entries.of_table(place[:, None]).added(worth(concentration.sum(axis=1, keepdims=True), lengths))
        return less(words.entries.added(worth(concentration[:, words.feature], words.value)), whole)

    def words(self, x: Cells) -> Array:
        return words_of(x)

    def contributions(self, x: Cells, power: float, words: Array | None = None) -> Contributions:
        """Word by word. What the whole row has, the log of its orders and the die's own total, is told by counts.

        That is what a word's counts add as they are read, averaged over all orders in which the row can be read. A
        word's variance is that of its own probability; the words share one die, so the sum's is less than theirs.
        """
        own = words_read(x, words)
        a, total = self.concentration[:, 0, words], self.concentration.sum(axis=-1)
        size = own.sum(axis=-1, keepdims=True)
        share, seen = ratio(own, size), own > 0
        orders = power * self.orders_by_word(own)
        with np.errstate(invalid="ignore"):  # a word that does not occur may have no concentration
            mean = np.where(seen, power * own * (psi(a) - psi(total)), 0.0) + orders
            squares = np.where(seen, (power * own) ** 2 * polygamma(1, a), 0.0)
        gain = log_gamma_ratio(a, power * own) - share * log_gamma_ratio(total, power * size) + orders
        whole = squares.sum(axis=-1) - ((power * size) ** 2 * polygamma(1, total))[..., 0]
        return Contributions(mean, squares - (power * own) ** 2 * polygamma(1, total), gain, whole)

    def sample(self, rng: Rng, size: Any = None) -> MultinomialDensity:
        return MultinomialDensity.of_logs(self.draw(rng, size), self.ordered)

    def parts(self) -> Parts:
        return {key: array[..., 0, :] for key, array in super().parts().items()}

    def log_density(self, theta: MultinomialDensity) -> Parts:
        return {("theta{}", None): self.die_log_density(theta)[..., 0]}

    def estimate(self, kind: str) -> MultinomialDensity:
        return MultinomialDensity(self.mean() if kind == "mean" else self.mode(), self.ordered)

    def variables(self, pm: Any, say: Say) -> MultinomialDensity:
        return MultinomialDensity(simplex(pm, say("theta{}"), self.concentration[:, 0])[:, None], self.ordered)


def _powers(a: Array, count: Array, tilt: float) -> Array:
    """Cumulants of count * log of a Gamma variate, that has also been seen `tilt` times."""
    seen = a + tilt * count
    return np.stack([count * psi(seen), *(count**n * polygamma(n - 1, seen) for n in range(2, ORDER + 1))])
