"""The concentration of Dirichlet priors under which the counts are most probable.

    evidence(l) = product over columns of  B(l p + counts) / B(l p),    B(a) = prod_k Gamma(a_k) /
    Gamma(sum_k a_k)

p are given proportions, all 1 for a symmetric Dirichlet. Minka (2000), Estimating a Dirichlet
distribution. Counts that are alike share one evaluation, and zeros need
none.
"""

from typing import NamedTuple, Self

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.family import BOUNDS, MOST, positive
from bayesnb.numerics.special import log_gamma_ratio, psi_rise

HALVINGS = 40  # of two steps of the ladder: to 1e-12
FAR = np.log(1e5)  # from here on an evidence may rise by less than rounding
LADDER = np.linspace(*BOUNDS, 65)  # its middle is a concentration of 1


class EvidenceTerms(NamedTuple):
    """The distinct terms lnGamma(l unit + number) - lnGamma(l unit) of the log evidence: whose, and
    how often.
    """

    group: Array
    number: Array
    unit: Array
    times: Array

    @classmethod
    def of(cls, group: Array, count: Array, unit: Array, sign: float) -> Self:
        seen = count > 0
        counts, count_code = np.unique(count[seen], return_inverse=True)
        units, unit_code = np.unique(unit[seen], return_inverse=True)
        shape = int(group.max(initial=0)) + 1, max(len(counts), 1), max(len(units), 1)
        key = np.ravel_multi_index((group[seen], count_code, unit_code), shape)
        distinct, times = np.unique(key, return_counts=True)
        groups, count_code, unit_code = np.unravel_index(distinct, shape)
        return cls(groups, counts[count_code], units[unit_code], sign * times)

    def __add__(self, other: Self) -> Self:  # type: ignore[override]
        return type(self)(*map(np.append, self, other))


def evidence_terms(counts: Array, unit: Array, column: Array, groups: Array) -> EvidenceTerms:
    """Collect counts of levels, `(c, k), (c, k), (k,)`.

    `groups`, `(c, f)`, says which share a concentration.
    """
    totals = np.zeros((2, *groups.shape))
    for total, each in zip(totals, (counts, unit), strict=True):
        np.add.at(total.T, column, each.T)
    levels = EvidenceTerms.of(groups[:, column].ravel(), counts.ravel(), unit.ravel(), 1.0)
    return levels + EvidenceTerms.of(groups.ravel(), totals[0].ravel(), totals[1].ravel(), -1.0)


def log_evidence(terms: EvidenceTerms, concentration: Array) -> Array:
    """Log evidence of each group at its concentration, `(g,) -> (g,)`.

    0 for a group without counts.
    """
    prior_count = concentration[terms.group] * terms.unit
    return np.bincount(
        terms.group, terms.times * log_gamma_ratio(prior_count, terms.number), len(concentration)
    )


def slope(terms: EvidenceTerms, concentration: Array) -> Array:
    """Derivative of `log_evidence` in log concentration."""
    prior_count = concentration[terms.group] * terms.unit
    each = terms.times * prior_count * psi_rise(prior_count, terms.number)
    return np.bincount(terms.group, each, len(concentration))


def best_concentration(terms: EvidenceTerms, groups: int) -> Array:
    """Return the most probable concentration of each group, `(g,)`, within bounds.

    1 where all are alike.

    From the best of a coarse grid, whose neighbours hold a point where the slope is 0.
    """
    ladder = np.stack([log_evidence(terms, np.full(groups, np.exp(step))) for step in LADDER])
    good = ladder >= (top := ladder.max(axis=0)) - 1e-12 * (1 + np.abs(top))
    # of equally good ones, nearest to 1
    rung = np.where(good, np.abs(LADDER)[:, None], np.inf).argmin(axis=0)
    low = LADDER[np.maximum(rung - 1, 0)]
    high = LADDER[np.minimum(rung + 1, len(LADDER) - 1)]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rises = slope(terms, np.exp(middle)) > 0
        low = np.where(rises, middle, low)
        high = np.where(rises, high, middle)
    value = log_evidence(terms, np.exp(low))
    slack = 1e-14 * (1 + np.abs(top))
    better = value > ladder[rung, np.arange(groups)] + slack  # by more than rounding
    at = np.where(better, low, LADDER[rung])
    value = np.where(better, value, top)
    end = log_evidence(terms, np.full(groups, MOST))
    return positive(np.where((at > FAR) & (end >= value - slack), LADDER[-1], at))
