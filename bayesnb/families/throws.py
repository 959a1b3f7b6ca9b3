"""Many throws of one die: how often each level came up, and whether it is known in which order.

    x | probability ~ Multinomial(total, probability)      in a known order: p(x | probability) = product probability**x

Counts can come in (sum x)! / product x! orders, each as probable as the others. Where the order is known, as that of
the words of a text, every row's probability lacks this coefficient, and so does the evidence. It is the same for all
classes and for every theta, so nothing else differs.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import Array, Cells, Parts, Rng
from bayesnb.families.dirichlet import DieDensity, LevelStats
from bayesnb.families.linear import LevelWeights
from bayesnb.families.tables import Tables, by_class_ranges, by_tables
from bayesnb.families.weight import Weight, grouped_sum
from bayesnb.families.words import as_csr, log_orders, word_orders, words_of, words_read
from bayesnb.numerics.special import dot_logs, times
from bayesnb.numerics.threads import in_order
from bayesnb.numerics.views import entries, lanes, pieces_of, sweeps_of


class Thrown:
    """What scores rows of throws: of counts, or in their one order."""

    ordered: bool

    def orders(self, x: Cells) -> Array:
        """The log of the number of orders in which a row can have come, `(..., k) -> (...)`."""
        return np.zeros(x.shape[:-1]) if self.ordered else log_orders(x)

    def orders_by_word(self, own: Array) -> Array:
        """Each word's share of it."""
        return np.zeros_like(own) if self.ordered else word_orders(own)

    def in_order(self, x: Cells, power: float, scores: Array, n_jobs: int | None) -> Array:
        """Scores that kernels gave to counts, in place: where the order is known, those of it, `(r, c)`.

        The log-probabilities of counts, and of one of their orders, are both negative: no digit is lost.
        """
        if self.ordered:

            def some(rows: slice) -> None:
                data, _, ends = entries(x, rows)
                numerics.count_kernels.take_orders(data, ends, power, scores[rows])

            list(in_order(some, pieces_of(x), n_jobs))
        return scores


@dataclass(frozen=True, eq=False)
class MultinomialStats(LevelStats):
    """Counts of each level, `(c, 1, k)`, and the log coefficients of their rows, `(c, 1)`."""

    constants: ClassVar[tuple[str, ...]] = ("log_orders",)
    layout: ClassVar[tuple[str, ...]] = ("ordered",)
    counts: Array
    log_orders: Array
    ordered: bool = False

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None) -> Self:
        counts, orders = np.zeros((weight.classes, x.shape[1])), np.zeros(weight.classes)
        for rows in sweeps_of(x):
            add = partial(numerics.count_kernels.tally, *entries(x, rows), weight.counts[rows], counts, orders)
            by_class_ranges(add, weight.codes[rows], weight.classes, n_jobs)
        return cls(counts[:, None], orders[:, None])

    @classmethod
    def defined(cls, x: Cells, weight: Weight) -> Self:
        orders = weight.matrix.T @ log_orders(as_csr(x))[:, None]
        return cls(grouped_sum(weight, x)[:, None], orders)

    def in_order(self) -> Self:
        """The stats of the same rows whose order is known: that one is all the orders they have."""
        return replace(self, log_orders=np.zeros_like(self.log_orders), ordered=True)

    @staticmethod
    def learnt(x: Cells) -> Any:
        """Where rows are counted: all of them are."""
        return True

    def alone(self, x: Cells, weight: Weight) -> Self:
        seen = self.defined(x, weight)
        return seen.in_order() if self.ordered else seen

    def relevelled(self, sizes: tuple[int, ...], places: Array) -> Self:
        """The same counts where the die has more levels, each old one at its new place."""
        counts = np.zeros((len(self.counts), 1, sum(sizes)))
        counts[..., places] = self.counts
        return replace(self, counts=counts)

    def mle(self) -> "MultinomialDensity":
        return MultinomialDensity(self.mle_share(), self.ordered)


@dataclass(frozen=True, eq=False)
class MultinomialDensity(LevelWeights, Thrown, DieDensity):
    layout: ClassVar[tuple[str, ...]] = ("ordered",)
    probability: Array
    ordered: bool = False

    def parts(self) -> Parts:
        return {key: array[..., 0, :] for key, array in super().parts().items()}

    def log_density(self, x: Array) -> Array:
        logs = self.log_probability
        each = np.where(x > 0, x * np.where(x > 0, logs, 0.0), 0.0)
        return each.sum(axis=-1) + self.orders(x)

    def log_likelihood(self, stats: MultinomialStats, xp: Any = np) -> Any:
        return super().log_likelihood(stats, xp) + stats.log_orders

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        return cls(parts["theta{}", None][:, None], like.ordered)

    def sample(self, rng: Rng, total: int = 1) -> Array:
        return np.random.default_rng(rng).multinomial(total, self.probability).astype(float)

    def score(self, x: Cells, power: float = 1.0, out: Array | None = None, n_jobs: int | None = 1) -> Array:
        def add(rows: slice, own: tuple[Array], first: int, part: Array) -> None:
            numerics.count_kernels.score_known(*entries(x, rows), *own, power, first, part)

        return self.in_order(x, power, by_tables(add, self._tables, x, len(self), out, n_jobs), n_jobs)

    def defined_score(self, x: Cells, power: float = 1.0) -> Array:
        counts = as_csr(x)
        return power * (dot_logs(counts, self.log_probability[:, 0]) + self.orders(counts)[:, None])

    @cached_property
    def _tables(self) -> Tables:
        return Tables(lambda some: (lanes(self.log_probability[some, 0]),), self.probability.shape)

    def words(self, x: Cells) -> Array:
        return words_of(x)

    def contributed(self, x: Cells, power: float, words: Array | None = None) -> Array:
        own = words_read(x, words)
        return power * (times(own, self.log_probability[:, 0, words]) + self.orders_by_word(own))
