"""Evidence that a feature depends on the class: one theta for each class against one theta for all.

    log Bayes factor = sum over classes of log p(column of the class) - log p(column of all classes)

Both under the same prior; of levels also both under a prior that is free to fit. Kass and Raftery
(1995), Bayes factors.

Many rare levels are explained badly by a Dirichlet(1), which pulls all shares to evenness, and the
few rows of a class are pulled more than all rows together. So noise in a column of many levels
would be strong evidence for a dependence. With a concentration l p, where p are the prior's
proportions and l is what makes the data most probable, one l for all classes under one hypothesis
and one under the other, both are free in one number, and noise says nothing for either.
"""

from collections.abc import Hashable, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from bayesnb.families.base import Array, Belief
from bayesnb.families.bernoulli import BernoulliStats, Beta
from bayesnb.families.dirichlet_evidence import best_concentration, evidence_terms, log_evidence
from bayesnb.families.family import Family, HasCounts
from bayesnb.families.multinomial import DirichletMultinomial, MultinomialStats


def log_bayes_factors(prior: Belief, stats: Any) -> Array:
    """log p(data | theta for each class) - log p(data | one theta for all), `(c, f) -> (f,)`.

    A variance that classes share is shared under both hypotheses, which then differ in the
    means alone.
    """
    pooled = reduce(add, (stats[c : c + 1] for c in range(len(stats))))
    return prior.log_evidence(stats).sum(axis=0) - prior[:1].log_evidence(pooled)[0]


def cautious(family: Family, prior: Belief, stats: Any) -> Array:
    """Log Bayes factors under the prior, `(f,)`.

    Those of levels are capped by those of learnt concentrations.

    Below 0 the prior has the last word: with learnt concentrations, both hypotheses may take
    all classes to be alike, and then nothing speaks against either.
    """
    declared = log_bayes_factors(prior, stats)
    if not isinstance(family, HasCounts) or not family.counts_levels or not (declared > 0).any():
        return declared
    return np.minimum(declared, np.maximum(_learnt(family.seen(stats)), 0.0))


def _learnt(seen: Any) -> Array:
    """Log Bayes factors of levels, each hypothesis under its best concentration, `(f,)`."""
    features = int(seen.column.max()) + 1
    pairs = (
        (seen.counts, seen.unit, np.tile(np.arange(features), (len(seen.counts), 1))),
        (seen.counts.sum(axis=0, keepdims=True), seen.unit[:1], np.arange(features)[None]),
    )
    each, pooled = (
        evidence_terms(counts, unit, seen.column, groups) for counts, unit, groups in pairs
    )
    by_class, common = (
        log_evidence(terms, best_concentration(terms, features)) for terms in (each, pooled)
    )
    return by_class - common


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
    """Raise if a feature has no Bayes factor, as its prior is improper.

    If `alike`, also where the prior is not one for all classes.
    """
    reasons = [(~prior.strictly_proper.all(axis=0), "is improper, so its evidence is undefined")]
    if alike:
        reasons.append(
            (
                classes_differ(prior),
                "is not the same for all classes, so these have no parameter in common",
            )
        )
    for invalid, why in reasons:
        if invalid.any():
            raise ValueError(
                f"the prior of column {keys[int(invalid.argmax())]!r} {why}. Give it another prior."
            )


def classes_differ(prior: Belief) -> Array:
    """Return whether a feature's prior is not the same for all classes, `(c, f) -> (f,)`."""
    differs = np.zeros(prior.proper.shape[1], bool)
    for (_, feature), array in prior.parts().items():
        differing = (array != array[:1]).any(axis=0)
        if feature is None and differing.shape == differs.shape:
            differs |= differing
        elif differing.any():
            differs[feature or 0] = True
    return differs
