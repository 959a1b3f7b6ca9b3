"""Evidence that rows learnt and new rows are of one distribution, by column.

    log Bayes factor = log evidence(learnt + new) - log evidence(learnt) - log evidence(new)

All three under one prior; summed over classes where the labels of the new rows are known, else of
the stats of all classes together. Of d such factors, those below -log(d / 0.05) say that something
has changed. If nothing has, and the families have the right shape, at most 5 % of tables have such
a factor: the mean of exp(-factor) over new rows of the distribution learnt is 1 (Markov's
inequality, and Bonferroni's).

A share has a factor under Beta(0.5, 0.5): of missing cells, and of cells of unknown levels. Of the rows
learnt no cell has an unknown level, so theirs are those whose level no other cell has: without the
cell it would be unknown (Good 1953). Ids are new in every table, and that is no change.
"""

from typing import Any

import numpy as np

from bayesnb.families.base import Array, Belief
from bayesnb.families.bernoulli import BernoulliStats, Beta
from bayesnb.families.family import Family
from bayesnb.numerics.special import ratio
from bayesnb.selection.feature_evidence import cap, pool

FALSE_ALARMS = 0.05  # share of unchanged tables in which a column is called changed


def find_limit(factors: int) -> float:
    """Return the log Bayes factor below which one of so many is a change."""
    return float(np.log(FALSE_ALARMS / max(factors, 1)))


def average_classes(prior: Belief) -> Belief:
    """Return a prior for the rows of all classes together: the mean of theirs, field by field."""
    return prior.map(lambda array: array.mean(axis=0, keepdims=True))


def compare_block(
    family: Family, prior: Belief, learnt: Any, new: Any, rows: tuple[Array, Array]
) -> dict[str, Array]:
    """Compare the stats of two tables of so many rows, `(c,)` each: numbers of features, `(f,)`."""
    learnt, new = learnt.aligned(new)
    factors = same_distribution(family, prior, learnt, new)
    nothing = np.full(factors.shape, np.nan)
    numbers = {"log_bayes_factor": factors}
    missing = [nothing] * 3
    if learnt.cells is not None:
        flags = []
        for stats, count in zip((learnt, new), rows, strict=True):
            flags.append(BernoulliStats(count[:, None] - stats.cells, stats.cells))
        missing = _compare_shares(*flags)
    levels, unseen = np.zeros(factors.shape, int), [nothing] * 3
    if family.counts_levels:
        levels, unseen = _compare_levels(family, learnt, new)
    for name, three in (("missing", missing), ("unseen", unseen)):
        for part, array in zip(("", "_learnt", "_log_bayes_factor"), three, strict=True):
            numbers[name + part] = array
    return numbers | {"unseen_levels": levels}


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


def _compare_levels(family: Any, learnt: Any, new: Any) -> tuple[Array, list[Array]]:
    """Return how many levels of columns are unknown, `(f,)`, and the shares of cells with one."""
    seen = family.seen(pool(learnt))
    before, after = seen.counts[0], family.seen(pool(new)).counts[0]

    def total(counts: Array) -> Array:
        return np.bincount(seen.column, counts)[None]

    unknown = before == 0
    single = before == 1
    flags = []
    for is_unknown, counts in ((single, before), (unknown, after)):
        flags.append(BernoulliStats(total(counts * is_unknown), total(counts * ~is_unknown)))
    shares = _compare_shares(*flags)
    if family.words:  # those of one row come together, so their number has no binomial spread
        shares[2] = np.full(shares[2].shape, np.nan)
    return total(unknown & (after > 0))[0].astype(int), shares


def _compare_shares(learnt: BernoulliStats, new: BernoulliStats) -> list[Array]:
    """Return the new share, the one learnt, and the log Bayes factor that they are the same."""
    prior = Beta(0.5, 0.5)  # of Jeffreys: shares of cells near 0 are usual
    apart = prior.log_evidence(learnt) + prior.log_evidence(new)
    factors = (prior.log_evidence(learnt + new) - apart).sum(axis=0)
    shares = []
    for stats in (new, learnt):
        ones = stats.ones.sum(axis=0)
        shares.append(ratio(ones, ones + stats.zeros.sum(axis=0)))
    return [*shares, factors]
