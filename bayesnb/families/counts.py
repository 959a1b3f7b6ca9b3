"""How a user says that columns are counts out of one total, or lists of words: the die is in multinomial.py."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.dirichlet import CONCENTRATION, Dirichlet, described
from bayesnb.families.family import (
    Family,
    Hyperparameters,
    Seen,
    checked_prior,
    checked_unseen,
    declared_levels,
    proportions,
    shaped,
)
from bayesnb.families.multinomial import DirichletMultinomial
from bayesnb.families.support import Counts
from bayesnb.families.throws import MultinomialStats


@dataclass(frozen=True)
class Vocabulary:
    """Levels that are the words of lists, learnt as they are met."""


@dataclass(frozen=True, eq=False, repr=False)
class Multinomial(Family):
    """Words, or other things that are counted out of one total: a die for each class, thrown many times a row.

    Of columns of counts it is one family over them all, the counts of a row's words. A column whose cells are lists
    of words is a block of its own, with a vocabulary of its own; a list without words is legal, and says nothing. No
    cell may be missing.

    Parameters
    ----------
    prior : Dirichlet, or a number for a symmetric one
        An array is in the order of the columns, or of `levels`.
    fractional : whether numbers that are no counts, such as tf-idf, are taken, through the power likelihood
    ordered : whether it is known in which order a row's words came
        It always is of lists. Counts can come in several orders; rows whose order is known have no multinomial
        coefficient: log density and log evidence are less by the coefficients' logs, which are the same for all
        classes and every theta. Posteriors, and what is predicted, are identical.
    levels : the words of lists that are known, in order; by default those that are met
    unseen : {"ignore", "error", "reserve"}
        What a word of a list does that training never saw: it is left out, for all classes alike, with a warning;
        is an error; or is counted with all others that are new, as the one more level that there is.

    Notes
    -----
    *Texts.* Lists of words may be a column of a pandas, polars or Arrow table, alone or beside others, or all of X.
    They are learnt as sparse counts; the vocabulary is sorted, and grows in `partial_fit`, `merge` and over partitions
    of a table. Raw text goes through scikit-learn's `CountVectorizer`, as below: its vocabulary is that of `fit`, and
    it leaves out words that are new without a warning. Both ways the probabilities are the same; the evidence of lists
    is that of `ordered=True`.

    *The power likelihood.* With `fractional=True` a row of numbers x has the likelihood product theta_j**x_j, times
    the multinomial coefficient with Gamma functions for factorials, a constant. Each word counts as x_j occurrences
    would. Posterior, mean and predictions are defined, and are those of counts where the numbers are counts. But over
    x this is no distribution, as it does not sum or integrate to 1. So log evidence and log density are no
    probabilities of the data: Bayes factors, and what rests on them (`relevance`, `average_features`), refuse it. And
    intervals read the sum of the weights as the number of words that were seen: ten times the weights are ten times
    the data, and less uncertainty. Where that matters, rescale to effective counts: multiply each row so that its
    numbers add up to as many words as it is worth.

    There is no complement naive Bayes (Rennie et al. 2003): its weights come from the words of all *other* classes
    and belong to no likelihood of a row, so that nothing is there to be updated, drawn or compared. What it is for,
    classes of uneven size, and words that come in bursts, is what the prior and the Dirichlet-multinomial predictive
    are for here; `temper` is for scores that are too sure.

    Examples
    --------
    >>> from bayesnb import Multinomial, NaiveBayes
    >>> texts = [["win", "cash", "win"], ["meeting", "at", "noon"], ["cash", "now"], ["see", "you", "at", "noon"]]
    >>> model = NaiveBayes(Multinomial()).fit(texts, ["spam", "ham", "spam", "ham"])
    >>> model.predict([["cash", "cash"], ["at", "noon"]]).tolist()
    ['spam', 'ham']
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> raw = ["Win cash, win!", "Meeting at noon", "Cash now", "See you at noon"]
    >>> pipeline = make_pipeline(CountVectorizer(), NaiveBayes(Multinomial())).fit(raw, model.classes_[[1, 0, 1, 0]])
    >>> pipeline.predict(["CASH at noon, cash", "noon"]).tolist()
    ['spam', 'ham']
    """

    prior: Dirichlet | float = 1.0
    fractional: bool = False
    ordered: bool = False
    levels: Sequence[Any] | Vocabulary | None = None
    unseen: str = "ignore"

    content: ClassVar[str] = "counts"
    picture = "levels"  # of each word's share
    conjugate: ClassVar[type[Belief]] = Dirichlet
    number_prior: ClassVar[bool] = True
    hyperparameters: ClassVar[Hyperparameters | None] = CONCENTRATION
    stats: ClassVar[type[Stats]] = MultinomialStats
    whole: ClassVar[bool] = True
    words: ClassVar[bool] = True
    reads_sparse: ClassVar[bool] = True
    missing: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checked_unseen("Multinomial", self.unseen)
        if self.levels is not None:
            object.__setattr__(self, "ordered", True)
            if not isinstance(self.levels, Vocabulary):
                object.__setattr__(self, "levels", declared_levels("Multinomial", self.levels))
        checked_prior("Multinomial", self.prior, Dirichlet, short=True)
        if not isinstance(self.prior, Dirichlet):
            object.__setattr__(self, "prior", Dirichlet(self.prior))

    @property
    def support(self) -> Counts:
        return Counts(self.fractional)

    @property
    def listed(self) -> bool:  # type: ignore[override]
        return self.levels is not None

    @property
    def of_lists(self) -> Self:
        """The same of a column of lists of words."""
        return self if self.levels is not None else replace(self, levels=Vocabulary())

    def observe(self, x: Cells, weight: Any, sizes: tuple[int, ...] = (), n_jobs: int | None = 1) -> MultinomialStats:
        seen = MultinomialStats.of(x, weight, n_jobs)
        return seen.in_order() if self.ordered else seen

    def belief(self, stats: MultinomialStats) -> DirichletMultinomial:
        smoothing = self.prior.concentration  # type: ignore[union-attr]
        if smoothing.ndim == 2:
            smoothing = smoothing[:, None]
        return shaped("Multinomial", DirichletMultinomial(smoothing, self.ordered), stats.counts.shape)

    def written(self, drawn: Array) -> Array:
        return drawn.astype(np.int64)

    def describe(self, belief: Any) -> str:
        return described(belief)

    def tuned(self, stats: MultinomialStats, *values: Any) -> Self:
        return self.smoothed(stats, values[0], "mean")

    def smoothed(self, stats: MultinomialStats, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        (unit,), smoothing = proportions(self.prior.concentration), np.asarray(smoothing, float)  # type: ignore[union-attr]
        each = smoothing.reshape(()) if smoothing.size == 1 else smoothing
        return replace(self, prior=Dirichlet(each * unit + (kind == "map")))

    def seen(self, stats: MultinomialStats) -> Seen:
        unit = self.smoothed(stats, 1.0, "mean").belief(stats).concentration[:, 0]
        levels = np.arange(unit.shape[1])
        return Seen(stats.counts[:, 0], unit, np.zeros_like(levels), levels)

    def of_levels(self, concentration: Any, stats: MultinomialStats) -> DirichletMultinomial:
        return DirichletMultinomial.raw(concentration[:, None], self.ordered)
