"""The concentration of Dirichlet priors under which the counts are most probable.

    evidence(l) = product over columns of  B(l p + counts) / B(l p),    B(a) = prod_k Gamma(a_k) / Gamma(sum_k a_k)

p are given proportions, all 1 for a symmetric Dirichlet. Newton's method in log l: Minka (2000), Estimating a Dirichlet
distribution. Counts that are alike share one evaluation, and zeros need none.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import polygamma

from bayesnb.numerics.special import log_gamma_ratio, psi_rise
from bayesnb.selection.ascent import LEAST, MOST, positive

Array = np.ndarray
STEPS, CLOSE = 100, 1e-11
ROUNDING = 2e-14  # of the psi of numbers below 16
FAR = np.log(1e5)  # from here on an evidence may rise by less than rounding
LADDER = np.linspace(np.log(LEAST), np.log(MOST), 65)  # its middle is a concentration of 1


class Throws(NamedTuple):
    """The distinct terms lnGamma(l unit + number) - lnGamma(l unit) of the log evidence: whose, and how often."""

    group: Array
    number: Array
    unit: Array
    times: Array

    @classmethod
    def of(cls, group: Array, count: Array, unit: Array, sign: float) -> "Throws":
        seen = count > 0
        counts, which_count = np.unique(count[seen], return_inverse=True)
        units, which_unit = np.unique(unit[seen], return_inverse=True)
        key = (group[seen].astype(np.int64) * len(counts) + which_count) * len(units) + which_unit
        distinct, times = np.unique(key, return_counts=True)
        rest, unit_code = np.divmod(distinct, max(len(units), 1))
        group_code, count_code = np.divmod(rest, max(len(counts), 1))
        return cls(group_code, counts[count_code], units[unit_code], sign * times)

    def __add__(self, other: "Throws") -> "Throws":  # type: ignore[override]
        return Throws(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def throws(counts: Array, unit: Array, column: Array, groups: Array) -> Throws:
    """Counts of levels, `(c, k), (c, k), (k,)`; `groups`, `(c, f)`, says which of them share a concentration."""
    whole = np.zeros((2, *groups.shape))
    for total, each in zip(whole, (counts, unit), strict=True):
        np.add.at(total.T, column, each.T)
    levels = Throws.of(groups[:, column].ravel(), counts.ravel(), unit.ravel(), 1.0)
    return levels + Throws.of(groups.ravel(), whole[0].ravel(), whole[1].ravel(), -1.0)


def log_evidence(terms: Throws, concentration: Array) -> Array:
    """Of each group, at its concentration, `(g,) -> (g,)`; 0 for a group without throws."""
    prior_count = concentration[terms.group] * terms.unit
    return np.bincount(terms.group, terms.times * log_gamma_ratio(prior_count, terms.number), len(concentration))


def slopes(terms: Throws, concentration: Array) -> tuple[Array, Array]:
    """The first two derivatives of `log_evidence` in log concentration; a slope that is rounding only is 0."""
    prior_count = concentration[terms.group] * terms.unit
    first = prior_count * psi_rise(prior_count, terms.number)
    second = prior_count**2 * (polygamma(1, prior_count + terms.number) - polygamma(1, prior_count))
    total = [np.bincount(terms.group, terms.times * each, len(concentration)) for each in (first, second)]
    parts = np.bincount(terms.group, np.abs(terms.times * first), len(concentration))
    slope = np.where(np.abs(total[0]) > ROUNDING * parts, total[0], 0.0)
    return slope, total[0] + total[1]


def best_concentration(terms: Throws, groups: int) -> Array:
    """The most probable concentration of each group, `(g,)`, within bounds; 1 where all are alike.

    From the best of a coarse grid by Newton's method, a step uphill where the curve is no hill, and half of a step
    that leads down.
    """
    at = _start(terms, groups)
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


def _start(terms: Throws, groups: int) -> Array:
    """The best of the ladder; of equally good ones the one nearest to a concentration of 1."""
    values = np.stack([log_evidence(terms, np.full(groups, np.exp(step))) for step in LADDER])
    best = values.max(axis=0)
    good = values >= best - 1e-12 * (1 + np.abs(best))
    return LADDER[np.where(good, np.abs(LADDER)[:, None], np.inf).argmin(axis=0)]
