"""Evidence that a feature depends on the class: one theta for each class against one theta for all.

    log Bayes factor = sum over classes of log p(column of the class) - log p(column of all classes together)

Both under the same prior; of levels also both under a prior that is free to fit. Kass and Raftery (1995), Bayes
factors.

Many rare levels are explained badly by a Dirichlet(1), which pulls all shares to evenness, and the few rows of a class
are pulled more than all rows together. So noise in a column of many levels would be strong evidence for a dependence.
With a concentration l p, where p are the prior's proportions and l is what makes the data most probable, one l for all
classes under one hypothesis and one under the other, both are free in one number, and noise says nothing for either.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from bayesnb.families.averaged import Averaged, averaged, reasons
from bayesnb.families.base import Array, Belief
from bayesnb.families.bernoulli import BernoulliStats, Beta
from bayesnb.families.family import Family
from bayesnb.families.multinomial import DirichletMultinomial, MultinomialStats
from bayesnb.selection.dirichlet_evidence import best_concentration, log_evidence, throws

STRONG, WEAK = 3.0, 1.0  # nats (Kass and Raftery 1995)


def class_belief(prior: Belief) -> Belief:
    """Return the belief about each class's theta, of an average the part under which classes differ."""
    return prior.separate if isinstance(prior, Averaged) else prior


def log_bayes_factors(prior: Belief, stats: Any) -> Array:
    """log p(data | theta for each class) - log p(data | one theta for all), `(c, f) -> (f,)`.

    A variance that classes share is shared under both hypotheses, which then differ in the means alone.
    """
    return averaged(prior, 0.5).update(stats).log_odds[0]


def cautious(family: Family, prior: Belief, stats: Any) -> Array:
    """Log Bayes factors under the prior, `(f,)`; those of levels are capped by those of learnt concentrations.

    Below 0 the prior has the last word: with learnt concentrations, both hypotheses may take all classes to be
    alike, and then nothing speaks against either.
    """
    declared = log_bayes_factors(prior, stats)
    if not family.counts_levels or not (declared > 0).any():
        return declared
    return np.minimum(declared, np.maximum(_learnt(family.seen(stats)), 0.0))


def overstated(family: Family, prior: Averaged, stats: Any) -> Array:
    """Log Bayes factors, `(f,)`, of features that an average includes for the prior's sake alone; 0 for all others.

    They are strong evidence under the prior, and next to none with learnt concentrations.
    """
    declared = log_bayes_factors(prior.separate, stats)
    strong = np.isfinite(prior.log_odds[0]) & (prior.log_odds[0] + declared > 0) & (declared > STRONG)
    if not family.counts_levels or not strong.any():
        return np.zeros_like(declared)
    return np.where(strong & (_learnt(family.seen(stats)) < WEAK), declared, 0.0)


def _learnt(seen: Any) -> Array:
    """Log Bayes factors of columns of levels, each hypothesis under its best concentration, `(f,)`."""
    features = int(seen.column.max()) + 1
    each = throws(seen.counts, seen.unit, seen.column, np.tile(np.arange(features), (len(seen.counts), 1)))
    pooled = throws(seen.counts.sum(axis=0, keepdims=True), seen.unit[:1], seen.column, np.arange(features)[None])
    by_class, common = (log_evidence(terms, best_concentration(terms, features)) for terms in (each, pooled))
    return by_class - common


def word_bayes_factors(prior: DirichletMultinomial, stats: MultinomialStats) -> Array:
    """Log Bayes factors of each word against all others, `(c, 1, k) -> (k,)`, under Beta(a_j, A - a_j)."""
    concentration, seen = prior.concentration[:, 0], stats.counts[:, 0]
    rest, unseen = (array.sum(axis=-1, keepdims=True) - array for array in (concentration, seen))
    return log_bayes_factors(Beta(concentration, np.maximum(rest, 0.0)), BernoulliStats(seen, np.maximum(unseen, 0.0)))


def check_comparable(prior: Belief, keys: Sequence[Hashable], *, alike: bool = True) -> None:
    """Raise if a feature has no Bayes factor: its prior is improper or, if that matters, not one for all classes."""
    for invalid, why in list(reasons(prior))[: None if alike else 1]:
        if invalid.any():
            raise ValueError(f"the prior of column {keys[int(invalid.argmax())]!r} {why}. Give it another prior.")
