"""The concentration of Dirichlet priors under which the counts are most probable.

    evidence(l) = product over columns of  B(l p + counts) / B(l p),    B(a) = prod_k Gamma(a_k) /
    Gamma(sum_k a_k)

p are given proportions, all 1 for a symmetric Dirichlet. Newton's method in log l: Minka (2000),
Estimating a Dirichlet distribution. Counts that are alike share one evaluation, and zeros need
none.
"""

from typing import NamedTuple, Self

import numpy as np
from scipy.special import polygamma

from bayesnb.families.base import Array
from bayesnb.families.family import BOUNDS, MOST, positive
from bayesnb.numerics.special import log_gamma_ratio, psi_rise

STEPS, CLOSE = 100, 1e-11
ROUNDING = 2e-14  # of the psi of numbers below 16
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
    """Collect counts of levels, `(c, k), (c, k), (k,)`; `groups`, `(c, f)`, says which share a
    concentration.
    """
    totals = np.zeros((2, *groups.shape))
    for total, each in zip(totals, (counts, unit), strict=True):
        np.add.at(total.T, column, each.T)
    levels = EvidenceTerms.of(groups[:, column].ravel(), counts.ravel(), unit.ravel(), 1.0)
    return levels + EvidenceTerms.of(groups.ravel(), totals[0].ravel(), totals[1].ravel(), -1.0)


def log_evidence(terms: EvidenceTerms, concentration: Array) -> Array:
    """Log evidence of each group at its concentration, `(g,) -> (g,)`; 0 for a group without
    counts.
    """
    prior_count = concentration[terms.group] * terms.unit
    return np.bincount(
        terms.group, terms.times * log_gamma_ratio(prior_count, terms.number), len(concentration)
    )


def slopes(terms: EvidenceTerms, concentration: Array) -> tuple[Array, Array]:
    """Return the first two derivatives of `log_evidence` in log concentration; 0 for a slope of
    rounding only.
    """
    prior_count = concentration[terms.group] * terms.unit
    first = prior_count * psi_rise(prior_count, terms.number)
    second = prior_count**2 * (polygamma(1, prior_count + terms.number) - polygamma(1, prior_count))
    total = [
        np.bincount(terms.group, terms.times * each, len(concentration)) for each in (first, second)
    ]
    parts = np.bincount(terms.group, np.abs(terms.times * first), len(concentration))
    slope = np.where(np.abs(total[0]) > ROUNDING * parts, total[0], 0.0)
    return slope, total[0] + total[1]


def best_concentration(terms: EvidenceTerms, groups: int) -> Array:
    """Return the most probable concentration of each group, `(g,)`, within bounds; 1 where all are
    alike.

    From the best of a coarse grid by Newton's method, a step uphill where the curve is not concave,
    and half of a step that leads down.
    """
    ladder = np.stack([log_evidence(terms, np.full(groups, np.exp(step))) for step in LADDER])
    good = ladder >= (top := ladder.max(axis=0)) - 1e-12 * (1 + np.abs(top))
    # of equally good ones, nearest to 1
    at = LADDER[np.where(good, np.abs(LADDER)[:, None], np.inf).argmin(axis=0)]
    value = log_evidence(terms, np.exp(at))
    for _ in range(STEPS):
        slope, curve = slopes(terms, np.exp(at))
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(curve < 0, -slope / curve, np.sign(slope))
        step = np.clip(step, -2.0, 2.0)
        slack = 1e-14 * (1 + np.abs(value))  # what rounding may take
        for _ in range(40):
            there = np.clip(at + step, LADDER[0], LADDER[-1])
            after = log_evidence(terms, np.exp(there))
            down = after < value - slack
            if not down.any():
                break
            step = np.where(down, step / 2, step)
        moved = np.abs(there - at).max(initial=0.0)
        at, value = np.where(down, at, there), np.where(down, value, after)
        if moved < CLOSE:
            break
    end = log_evidence(terms, np.full(groups, MOST))
    return positive(np.where((at > FAR) & (end >= value - slack), LADDER[-1], at))
