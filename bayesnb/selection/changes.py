"""Evidence that rows learnt and new rows are of one distribution, by column.

    log Bayes factor = log evidence(learnt + new) - log evidence(learnt) - log evidence(new)

All three under one prior; summed over classes where the labels of the new rows are known, else of
the stats of all classes together. Of d such factors, those below -log(d / 0.05) say that something
has changed. If nothing has, and the families have the right shape, at most 5 % of tables have such
a factor: the mean of exp(-factor) over new rows of the distribution learnt is 1 (Markov's
inequality, and Bonferroni's).
"""

from typing import Any

import numpy as np

from bayesnb.families.base import Array, Belief
from bayesnb.families.bernoulli import BernoulliStats, Beta
from bayesnb.families.family import Family
from bayesnb.selection.feature_evidence import cap

FALSE_ALARMS = 0.05  # share of unchanged tables in which a column is called changed


def same_distribution(family: Family, prior: Belief, learnt: Any, new: Any) -> Array:
    """Log Bayes factors that two tables are of one distribution against two, `(c, f) -> (f,)`.

    Evidence of a histogram is relative to the distribution of both tables: relative to that of
    the rows learnt, these would be explained better than any others.

    Levels take the smaller of two factors for a change, as in `relevance`: noise in a column of
    many rare levels is no change.
    """
    both = learnt + new
    prior = prior.relative_to(both)
    total = np.zeros(prior.proper.shape[1])
    for c in range(len(both)):
        one = slice(c, c + 1)
        apart = learnt[one], new[one]
        evidence = [prior[one].log_evidence(stats)[0] for stats in (*apart, both[one])]
        change = evidence[0] + evidence[1] - evidence[2]
        tables = apart[0].map(lambda *arrays: np.concatenate(arrays), apart[1])
        total -= cap(family, change, tables)
    return total


def same_share(learnt: BernoulliStats, new: BernoulliStats) -> Array:
    """Log Bayes factors that a share is the same in two tables, under Beta(1, 1), `(c, f) -> (f,)`.
    """
    prior = Beta(1.0, 1.0)
    apart = prior.log_evidence(learnt) + prior.log_evidence(new)
    return (prior.log_evidence(learnt + new) - apart).sum(axis=0)


def threshold(factors: int) -> float:
    """Return the log Bayes factor below which one of so many is a change."""
    return float(np.log(FALSE_ALARMS / max(factors, 1)))


def average_classes(prior: Belief) -> Belief:
    """Return a prior for the rows of all classes together: the mean of theirs, field by field."""
    return prior.map(lambda array: array.mean(axis=0, keepdims=True))
