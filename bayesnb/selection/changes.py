"""Evidence that rows learnt and new rows have the same distribution, by column.

    log Bayes factor = log evidence(learnt + new) - log evidence(learnt) - log evidence(new)

All three use the same prior; they are summed over classes if the labels of the new rows are known,
and otherwise use the stats of all classes together. Among d such factors, those below -log(d /
0.05) are taken as a change. If nothing has changed, and the families fit, at most 5 % of tables
have one: the mean of exp(-factor) over new rows from the distribution learnt is 1 (inequalities of
Markov and Bonferroni).

The shares of missing cells and of unknown levels each have a factor under Beta(0.5, 0.5). Rows
learnt have no unknown levels, so levels that occur once are counted instead: without that cell they
would be unknown (Good 1953). Ids are new in every table, and are not taken as a change.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesnb.families.base import Array, Belief
from bayesnb.families.bernoulli import BernoulliStats, Beta
from bayesnb.families.family import Family
from bayesnb.numerics.special import ratio
from bayesnb.selection.feature_evidence import cap, pool

FALSE_ALARMS = 0.05  # share of unchanged tables in which a column is called changed
MISSING, UNSEEN = "missing", "unseen"
SHARE = "{}", "{}_learnt", "{}_log_bayes_factor"


def find_limit(factors: int) -> float:
    """Return the log Bayes factor below which one of this many is a change."""
    return float(np.log(FALSE_ALARMS / max(factors, 1)))


def compare_block(
    family: Any, prior: Belief, learnt: Any, new: Any, rows: Sequence[Array]
) -> dict[str, Array]:
    """Compare the stats of two tables, whose rows are `(c,)` each: numbers by feature, `(f,)`.

    NaN where a number is not defined.
    """
    learnt, new = learnt.aligned(new)
    numbers = {"log_bayes_factor": same_distribution(family, prior, learnt, new)}
    nothing = np.full(numbers["log_bayes_factor"].shape, np.nan)
    for share in (MISSING, UNSEEN):
        numbers |= {name.format(share): nothing for name in SHARE}
    numbers["unseen_levels"] = nothing
    if learnt.cells is not None:
        flags = []
        for stats, total in zip((learnt, new), rows, strict=True):
            flags.append(BernoulliStats(total[:, None] - stats.cells, stats.cells))
        numbers |= _compare_shares(MISSING, *flags)
    if family.counts_levels:
        numbers |= _compare_levels(family, pool(learnt), pool(new))
    if family.words:  # words come in bursts, so their number is not binomial
        numbers["unseen_log_bayes_factor"] = nothing
    return numbers


def same_distribution(family: Family, prior: Belief, learnt: Any, new: Any) -> Array:
    """Log Bayes factors of one distribution for both tables against two, `(c, f) -> (f,)`.

    The evidence of a histogram is relative to the distribution of both tables; relative to that of
    the rows learnt, it would favour these rows. Levels use the smaller of two factors for a change,
    as in `relevance`, so that noise in a column of many rare levels is no change.
    """
    both = learnt + new
    prior = prior.relative_to(both)
    total = np.zeros(prior.proper.shape[1])
    for c in range(len(both)):
        one = slice(c, c + 1)
        change = -prior[one].log_evidence(both[one])[0]
        for stats in (learnt, new):
            change = change + prior[one].log_evidence(stats[one])[0]
        tables = learnt[one].map(lambda *arrays: np.concatenate(arrays), new[one])
        total -= cap(family, change, tables)
    return total


def _compare_levels(family: Any, learnt: Any, new: Any) -> dict[str, Array]:
    """Compare the shares of cells with unknown levels, for stats of one class."""
    before, column = family.seen(learnt).counts[0], family.seen(learnt).column
    after = family.seen(new).counts[0]
    unknown = before == 0
    flags = []
    for counts, is_unknown in ((before, before == 1), (after, unknown)):
        sides = [np.bincount(column, counts * side)[None] for side in (is_unknown, ~is_unknown)]
        flags.append(BernoulliStats(*sides))
    numbers = _compare_shares(UNSEEN, *flags)
    return numbers | {"unseen_levels": np.bincount(column, unknown & (after > 0))}


def _compare_shares(share: str, learnt: BernoulliStats, new: BernoulliStats) -> dict[str, Array]:
    """Return the new share, the one learnt, and the log Bayes factor for their equality."""
    prior = Beta(0.5, 0.5)  # Jeffreys' prior, as shares near 0 are common
    apart = prior.log_evidence(learnt) + prior.log_evidence(new)
    factors = (prior.log_evidence(learnt + new) - apart).sum(axis=0)
    numbers = []
    for stats in (new, learnt):
        ones = stats.ones.sum(axis=0)
        numbers.append(ratio(ones, ones + stats.zeros.sum(axis=0)))
    names = [name.format(share) for name in SHARE]
    return dict(zip(names, [*numbers, factors], strict=True))
