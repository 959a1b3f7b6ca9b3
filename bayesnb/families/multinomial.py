"""Blocks of counts, such as words: a multinomial distribution for each class.

    probability ~ Dirichlet(concentration)
    counts | probability ~ Multinomial(total, probability)

The block is one feature with k levels. Its predictive is the Dirichlet-multinomial, under which a
word seen once is likely to be seen again: Madsen, Kauchak and Elkan (2005), Modeling word
burstiness.

Up to the coefficient, p(x | theta)**r is the probability of the counts r x, so exponents of rows
scale their counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.special import gammaln, polygamma, psi

from bayesnb import numerics
from bayesnb.families.base import (
    ORDER,
    Array,
    Cells,
    Contributions,
    Parts,
    Rng,
    RowScores,
    Stats,
)
from bayesnb.families.dirichlet import (
    Dirichlet,
    DirichletBelief,
    DirichletFamily,
    EmpiricalDirichlet,
    LearnedLevels,
    simplex,
)
from bayesnb.families.family import Counts, Seen, shaped
from bayesnb.families.levels import ONE_COLUMN, LevelDensity, LevelStats
from bayesnb.families.record import (
    Power,
    VariableNames,
    is_by_row,
    is_one,
    of_powers,
    raised,
)
from bayesnb.families.removal import PREDICTIVE, RowsLeftOut, extra_of, staying
from bayesnb.families.sums import (
    DistinctCells,
    Entries,
    KernelTables,
    by_class_ranges,
    by_tables,
    nodes,
    row_of_entry,
)
from bayesnb.families.weight import Weight
from bayesnb.numerics import special
from bayesnb.numerics.count_kernels import log_rising_entries
from bayesnb.numerics.special import (
    less,
    log,
    log_gamma_ratio,
    log_rising_binomial,
    ratio,
    times,
)
from bayesnb.numerics.views import EVERY, entries, lanes, pieces_of, sweeps_of


def as_csr(x: Cells) -> sparse.csr_array:
    counts = sparse.csr_array(x)
    return counts if counts.dtype == float else counts.astype(float)


def log_orders(x: Cells) -> Array:
    """Log multinomial coefficient, the number of orders of the words, `(..., k) -> (...)`."""
    if sparse.issparse(x):
        return numerics.count_kernels.log_orders_of(x.data, x.indptr)
    return gammaln(x.sum(axis=-1) + 1) - gammaln(x + 1).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class MultinomialStats(LevelStats):
    """Counts of each level, `(c, 1, k)`, and the sum of log multinomial coefficients, `(c, 1)`."""

    constants: ClassVar[tuple[str, ...]] = ("log_orders",)
    layout: ClassVar[tuple[str, ...]] = ("ordered",)
    levels = ONE_COLUMN
    counts: Array
    log_orders: Array
    ordered: bool = False

    @classmethod
    def counted(cls, x: Cells, weight: Weight, n_jobs: int | None, ordered: bool = False) -> Self:
        counts = np.zeros((weight.classes, x.shape[1]))
        orders = np.zeros(weight.classes)
        for rows in sweeps_of(x):
            add = partial(
                numerics.count_kernels.tally, entries(x, rows), weight.counts[rows], counts, orders
            )
            by_class_ranges(add, weight.codes[rows], weight.classes, n_jobs)
        # a row whose order is known has one order
        return cls(counts[:, None], np.where(ordered, 0.0, orders)[:, None], ordered)

    @property
    def cells(self) -> None:
        """None: counts of words cannot be missing."""

    def relevelled(self, sizes: tuple[int, ...], places: Array) -> Self:
        """Extend the counts to more levels, with each old level at its new place."""
        counts = np.zeros((len(self.counts), 1, sum(sizes)))
        counts[..., places] = self.counts
        return replace(self, counts=counts)

    def mle(self) -> "MultinomialDensity":
        return MultinomialDensity(self.mle_share(), self.ordered)


def words_read(x: Cells, words: Array | None) -> Array:
    """Dense counts of some words, `(r, f) -> (r, 1, w)`."""
    return np.asarray(as_csr(x)[:, words].toarray())[:, None]


def scaled(counts: sparse.csr_array, power: Any) -> sparse.csr_array:
    """Multiply each row of counts by its power, `(r, k), (r, 1) -> (r, k)`."""
    return sparse.csr_array(
        (counts.data * power[row_of_entry(counts), 0], counts.indices, counts.indptr), counts.shape
    )


class CountScores(RowScores):
    """Base of densities and beliefs for rows of counts.

    `ordered` says that the order of the words in a row is known.
    """

    layout: ClassVar[tuple[str, ...]] = ("ordered",)
    levels = ONE_COLUMN
    multivariate: ClassVar[bool] = True
    ordered: bool

    def parts(self) -> Parts:
        return {key: array[..., 0, :] for key, array in super().parts().items()}

    def words(self, x: Cells) -> Array:
        """The words that occur in some row."""
        counts = as_csr(x[EVERY])
        return np.unique(counts.indices[counts.data != 0])

    def orders(self, x: Cells) -> Array:
        """Log number of possible orders of a row, `(..., k) -> (...)`; 0 if the order is known."""
        return np.zeros(x.shape[:-1]) if self.ordered else log_orders(x)

    def orders_by_word(self, counts: Array) -> Array:
        """Share of each word in `orders`, averaged over all orders of reading the row."""
        if self.ordered:
            return np.zeros_like(counts)
        size = counts.sum(axis=-1, keepdims=True)
        return ratio(counts, size) * gammaln(size + 1) - gammaln(counts + 1)


@dataclass(frozen=True, eq=False)
class MultinomialDensity(CountScores, LevelDensity):
    probability: Array
    ordered: bool = False

    def log_density(self, x: Array) -> Array:
        return times(x, self.log_theta).sum(axis=-1) + self.orders(x)

    def log_likelihood(self, stats: MultinomialStats, xp: Any = np) -> Any:
        return super().log_likelihood(stats, xp) + stats.log_orders

    @classmethod
    def of_parts(cls, parts: Parts, like: Any) -> Self:
        return cls(parts["theta{}", None][:, None], like.ordered)

    def sample(self, rng: Rng, total: int = 1) -> Array:
        return np.random.default_rng(rng).multinomial(total, self.probability).astype(float)

    def defined_score(self, x: Cells, power: Any = 1.0) -> Array:
        counts = as_csr(x)
        logs, impossible = self._table
        total = counts @ logs
        if impossible is not None:
            total[counts @ impossible > 0] = -np.inf
        return raised(power, total + self.orders(counts)[:, None])

    @cached_property
    def _table(self) -> tuple[Array, Array | None]:
        """Log probabilities, `(k, c)`, for SciPy, and separately the words with probability 0."""
        logs = np.ascontiguousarray(self.log_theta[:, 0].T)
        impossible = np.isneginf(logs)
        if not impossible.any():
            return logs, None
        return np.where(impossible, 0.0, logs), impossible.astype(float)

    def contributed(self, x: Cells, power: Any, words: Array | None = None) -> Array:
        counts = words_read(x, words)
        power = np.asarray(power)[..., None]
        return power * (times(counts, self.log_theta[:, 0, words]) + self.orders_by_word(counts))


@dataclass(frozen=True, eq=False, repr=False)
class DirichletMultinomial(CountScores, DirichletBelief):
    """A Dirichlet over words for each class; a cell is the counts of a row, `(..., k)`."""

    density: ClassVar[type[LevelDensity]] = MultinomialDensity
    is_linear: ClassVar[bool] = True
    concentration: Array
    ordered: bool = False

    def log_evidence(self, stats: MultinomialStats, xp: Any = special) -> Array:
        return super().log_evidence(stats, xp) + stats.log_orders

    def log_moment(self, x: Array, s: Any) -> Array:
        x = np.asarray(x, float)
        each = log_gamma_ratio(self.concentration, np.asarray(s)[..., None] * x).sum(axis=-1)
        total = log_gamma_ratio(self.concentration.sum(axis=-1), s * x.sum(axis=-1))
        return less(each, total) + s * self.orders(x)

    def cumulants(self, x: Array, order: int, tilt: Any = 0.0) -> Array:
        x = np.asarray(x, float)
        words = count_cumulants(self.concentration, x, np.asarray(tilt)[..., None], order)
        size = x.sum(axis=-1)
        total = count_cumulants(self.concentration.sum(axis=-1), size, tilt, order)
        terms = words.sum(axis=-1) - total
        terms[0] += self.orders(x)
        return terms

    def log_predictive(self, x: Array) -> Array:
        if self.ordered:
            return self.log_moment(x, 1)
        x = np.asarray(x, float)
        each = log_rising_binomial(self.concentration, x).sum(axis=-1)
        return each - log_rising_binomial(self.concentration.sum(axis=-1), x.sum(axis=-1))

    def add_scores(self, x: Cells, power: Any, out: Array | None, n_jobs: int | None) -> Array:
        if self._largest >= numerics.count_kernels.LARGEST:
            return super().add_scores(x, power, out, n_jobs)

        def add(rows: slice, tables: tuple[Array, Array], first: int, part: Array) -> None:
            arguments = entries(x, rows), *tables, self._totals, first, part
            numerics.count_kernels.score_dirichlet(*arguments)

        total = by_tables(add, self._tables, x, len(self), out, n_jobs)
        if self.ordered:
            # log probabilities of counts, and of one of their orders, are both negative, so the
            # subtraction loses no digits
            for rows in pieces_of(x):
                total[rows] -= log_orders(as_csr(x[rows]))[:, None]
        return total

    def score_left_out(self, stats: MultinomialStats, rows: RowsLeftOut) -> Array:
        """Leave-one-out scores from prior and counts, like `log_shares_left`, but for several
        words.
        """
        x = as_csr(rows.x[EVERY])
        weight = rows.weight
        row = row_of_entry(x)
        length = np.asarray(x.sum(axis=1)).ravel()
        prior = extra_of(self.concentration[0, 0], rows.kind)
        counts = stats.counts[0, 0]
        seen = counts[x.indices]
        total = counts.sum()
        left = prior[x.indices] + staying(seen - weight[row] * x.data, seen)
        if (prior < 0).any():  # no word of a mode is below 0
            left = np.maximum(left, 0.0)
            above = np.maximum(prior + counts, 0.0)
            rest = above.sum() - np.bincount(row, above[x.indices] - left, len(length))
        else:
            rest = prior.sum() + staying(total - weight * length, total)
        with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is left
            if rows.kind == PREDICTIVE:
                words = log_rising_entries(left[:, None], x.data)[:, 0]
                of_length = log_rising_binomial(np.maximum(rest, 0.0), length)
            else:
                words = times(x.data, np.log(left)) - gammaln(x.data + 1)
                of_length = times(length, np.log(rest)) - gammaln(length + 1)
        score = np.bincount(row, words, len(length)) - of_length
        orders = log_orders(x)
        even = orders - length * np.log(len(prior)) if rows.kind == "map" else np.nan
        score = np.where(rest > 0, score, even)
        return score - orders if self.ordered else score

    @cached_property
    def _totals(self) -> Array:
        return self.concentration[:, 0].sum(axis=1)

    @cached_property
    def _tables(self) -> KernelTables:
        def of(part: slice) -> tuple[Array, Array]:
            concentration = lanes(self.concentration[part, 0])
            return concentration, log(concentration)

        return KernelTables(of, self.concentration.shape)

    @cached_property
    def _largest(self) -> float:
        return self.concentration.max()

    def defined_score(self, x: Cells, power: Any = 1.0) -> Array:
        return raised(power, self.row_log_moment(x, 1.0))

    def row_log_moment(self, x: Cells, s: Any) -> Array:
        counts, orders, power = self._at_power(x[EVERY], s)
        rise: Callable[..., Array] = log_gamma_ratio
        if is_one(s) and not self.ordered:  # computing both together keeps digits
            rise = log_rising_binomial
            orders = np.zeros(1)
        words = self._added(counts, lambda a, n: rise(a, power * n)[None])
        return words[..., 0] + power * orders

    def score_cumulants(self, x: Cells, tilt: float = 0.0, power: Any = 1.0) -> Array:
        counts, orders, power = self._at_power(x, power)
        total = np.moveaxis(
            self._added(counts, lambda a, count: count_cumulants(a, count, tilt * power)), -1, 0
        )
        total[0] += orders
        return of_powers(total, power)

    def score_transform(self, x: Cells, s: Array, power: Any = 1.0) -> Array:
        counts, orders, power = self._at_power(x, power)
        s = s * power
        total = self._added(counts, lambda a, count: log_gamma_ratio(a, nodes(s) * count))
        return total + orders[:, :, None] * s

    def _at_power(self, x: Cells, power: Power) -> tuple[sparse.csr_array, Array, Power]:
        """Counts, log numbers of orders, `(r, 1)`, and one power; powers by row scale the
        counts.
        """
        counts = as_csr(x)
        orders = self.orders(counts)[:, None]
        return (
            (scaled(counts, power), power * orders, 1.0)
            if is_by_row(power)
            else (counts, orders, power)
        )

    def _added(self, counts: sparse.csr_array, worth: Callable[[Array, Array], Array]) -> Array:
        """Sum a function of concentration and count over the words of a row, and subtract its value
        for the totals: `-> (r, c, n)`.
        """
        concentration = self.concentration[:, 0]
        words = DistinctCells.of_csr(counts)
        lengths, place = np.unique(counts.sum(axis=1), return_inverse=True)
        rows = Entries.of_table(place[:, None]).added(
            worth(concentration.sum(axis=1, keepdims=True), lengths)
        )
        return less(words.entries.added(worth(concentration[:, words.feature], words.value)), rows)

    def contributions(self, x: Cells, power: Any, words: Array | None = None) -> Contributions:
        """Contributions word by word.

        Terms of the whole row, the log number of orders and the total concentration, are split
        among the words: a word gets what its counts add as they are read, averaged over all orders.
        The variance of a word is that of its own probability. Words share one Dirichlet, so the
        variance of the sum is smaller.
        """
        counts = words_read(x, words)
        power = np.asarray(power)[..., None]
        a = self.concentration[:, 0, words]
        total = self.concentration.sum(axis=-1)
        size = counts.sum(axis=-1, keepdims=True)
        share = ratio(counts, size)
        seen = counts > 0
        orders = power * self.orders_by_word(counts)
        with np.errstate(invalid="ignore"):  # a word that does not occur may have no concentration
            mean = np.where(seen, power * counts * (psi(a) - psi(total)), 0.0) + orders
            squares = np.where(seen, (power * counts) ** 2 * polygamma(1, a), 0.0)
        gain = (
            log_gamma_ratio(a, power * counts)
            - share * log_gamma_ratio(total, power * size)
            + orders
        )
        variance = squares.sum(axis=-1) - ((power * size) ** 2 * polygamma(1, total))[..., 0]
        return Contributions(
            mean, squares - (power * counts) ** 2 * polygamma(1, total), gain, variance
        )

    def log_density(self, theta: LevelDensity) -> Parts:
        return {("theta{}", None): self.dirichlet_log_density(theta)[..., 0]}

    def variables(self, pm: Any, names: VariableNames) -> MultinomialDensity:
        return MultinomialDensity(
            simplex(pm, names("theta{}"), self.concentration[:, 0])[:, None], self.ordered
        )


def count_cumulants(a: Array, count: Array, tilt: Any, order: int = ORDER) -> Array:
    """Cumulants of count * log G, for a Gamma variate G, with a tilt."""
    seen = a + tilt * count
    higher = [count**n * polygamma(n - 1, seen) for n in range(2, order + 1)]
    return np.stack([count * psi(seen), *higher])


@dataclass(frozen=True)
class Vocabulary(LearnedLevels):
    """A rule that learns words from lists as they occur."""


@dataclass(frozen=True, eq=False, repr=False)
class Multinomial(DirichletFamily):
    """Counts out of one total, such as words: a multinomial distribution for each class.

    Columns of counts form one block, the word counts of a row. A column whose cells are lists of
    words is a block by itself, with its own vocabulary. Cells must not be missing; empty lists are
    allowed, and are uninformative.

    Parameters
    ----------
    prior : Dirichlet or float, default=1.0
        The prior. A number l means ``Dirichlet(l)``; an array is in the order of the columns, or of
        ``levels``.
    fractional : bool, default=False
        Whether to accept numbers that are not counts, such as tf-idf, by a power likelihood; see
        Notes.
    ordered : bool, default=False
        Whether the order of the words in a row is known, as it is for lists. The density of counts
        includes the multinomial coefficient, that of ordered words does not. The coefficient does
        not depend on class or parameters: it changes log density and log evidence, but not
        posteriors and predictions.
    levels : sequence or None, default=None
        The known words of lists, in order. None: all that occur.
    unseen : {"ignore", "error", "reserve"}, default="ignore"
        What happens to a word of a list that training never saw. ``"ignore"``: it is left out for
        all classes, with an ``UnseenLevelWarning``. ``"error"``: an error is raised. ``"reserve"``:
        all new words together are one extra word.

    See Also
    --------
    MultinomialNB : The preset with this family in all columns.
    Poisson : Counts in columns, each with a rate.
    plot_words : The words that distinguish the classes.

    Notes
    -----
    The posterior is a ``Dirichlet`` and the predictive the Dirichlet-multinomial, both exact. Under
    it a word that occurred once is likely to occur again.

    *Texts.* Lists of words can be a column of a pandas, polars or Arrow table, alone or with other
    columns, or all of X. They are stored as sparse counts; the vocabulary is sorted, and grows in
    ``partial_fit``, ``merge`` and over partitions of a table. For raw text use scikit-learn's
    ``CountVectorizer``, as below: it fixes the vocabulary in ``fit``, and drops new words without a
    warning. Both ways give the same probabilities; the evidence of lists is that of
    ``ordered=True``.

    *Power likelihood.* With ``fractional=True`` a row of numbers x has the likelihood product
    theta_j**x_j, times the multinomial coefficient with Gamma functions for factorials, a constant:
    a word counts like x_j occurrences. Posterior and predictions are defined, and agree with those
    of counts if the numbers are counts. But this is not a distribution over x: it does not sum or
    integrate to 1. So log evidence and log density are not those of data, and ``relevance``, which
    uses Bayes factors, refuses it. Intervals treat the sum of the weights as the number of words:
    ten times the weights are ten times the data, with less uncertainty. If that matters, rescale
    each row to the number of words that it should count for.

    *Complement naive Bayes* is not offered. Its weights come from the words of all other classes
    and do not belong to a likelihood of a row, so there is nothing to update, draw or compare. The
    prior and the Dirichlet-multinomial predictive handle classes of uneven size and bursts of
    words; ``temper`` corrects overconfident scores.

    References
    ----------
    Madsen, R., Kauchak, D. and Elkan, C. (2005), Modeling word burstiness
    using the Dirichlet distribution. ICML.

    Rennie, J. et al. (2003), Tackling the poor assumptions of naive Bayes text classifiers. ICML.

    Examples
    --------
    >>> from bayesnb import Multinomial, NaiveBayes
    >>> texts = [["win", "cash", "win"], ["meeting", "at", "noon"], ["cash", "now"], ["see", "you"]]
    >>> labels = ["spam", "ham", "spam", "ham"]
    >>> model = NaiveBayes(Multinomial()).fit(texts, labels)
    >>> model.predict([["cash", "cash"], ["at", "noon"]]).tolist()
    ['spam', 'ham']

    Raw text:

    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> raw = ["Win cash, win!", "Meeting at noon", "Cash now", "See you at noon"]
    >>> pipeline = make_pipeline(CountVectorizer(), NaiveBayes(Multinomial())).fit(raw, labels)
    >>> pipeline.predict(["CASH at noon, cash", "noon"]).tolist()
    ['spam', 'ham']
    """

    prior: Dirichlet | EmpiricalDirichlet | float = 1.0
    fractional: bool = False
    ordered: bool = False
    levels: Sequence[Any] | Vocabulary | None = None
    unseen: str = "ignore"

    content: ClassVar[str] = "counts"
    stats: ClassVar[type[Stats]] = MultinomialStats
    multivariate: ClassVar[bool] = True
    words: ClassVar[bool] = True
    reads_sparse: ClassVar[bool] = True
    missing: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.levels is not None:
            object.__setattr__(self, "ordered", True)

    @cached_property
    def support(self) -> Counts:
        return Counts(self.fractional)

    @property
    def listed(self) -> bool:  # type: ignore[override]
        return self.levels is not None

    @property
    def of_lists(self) -> Self:
        """The family of a column whose cells are lists of words."""
        return self if self.levels is not None else replace(self, levels=Vocabulary())

    def observe(
        self, x: Cells, weight: Any, sizes: tuple[int, ...] = (), n_jobs: int | None = 1
    ) -> MultinomialStats:
        return MultinomialStats.of(x, weight, self.ordered, n_jobs=n_jobs)

    def belief(self, stats: MultinomialStats) -> DirichletMultinomial:
        if isinstance(self.prior, EmpiricalDirichlet):
            counts = stats.counts[:, 0]
            each = self.prior.concentrations(counts, np.zeros(counts.shape[1], np.intp))
            return DirichletMultinomial(each[:, None], self.ordered)
        smoothing = (
            self.concentration[:, None] if self.concentration.ndim == 2 else self.concentration
        )
        return shaped(
            "Multinomial", DirichletMultinomial(smoothing, self.ordered), stats.counts.shape
        )

    def written(self, drawn: Array) -> Array:
        return drawn.astype(np.int64)

    def along_levels(self, smoothing: Array) -> Array:
        return smoothing.reshape(()) if smoothing.size == 1 else smoothing

    def seen(self, stats: MultinomialStats) -> Seen:
        unit = self.smoothed(stats, 1.0, "mean").belief(stats).concentration[:, 0]
        levels = np.arange(unit.shape[1])
        return Seen(stats.counts[:, 0], unit, np.zeros_like(levels), levels)

    def of_levels(self, concentration: Any, stats: MultinomialStats) -> DirichletMultinomial:
        return DirichletMultinomial.raw(concentration[:, None], self.ordered)
