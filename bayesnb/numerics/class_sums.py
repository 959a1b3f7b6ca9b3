"""Cumulants of W_c = log of the sum of exp(U_k) over all classes k but c, for each class c.

With E ~ Exp(1) independent of the scores, T_k = log E - U_k exceeds v with probability S_k(v) = E exp(-exp(v + U_k)).
Given the scores, log E - W exceeds v with probability exp(-exp(v) sum exp(U_k)), so over scores that are independent
it does with the product of the S_k: a sum over v alone does what would need as many dimensions as classes, and
cumulants of W are those of log E less those of log E - W, times (-1)**n. Each S_k is a sum over a normal's z, the score
being its Cornish-Fisher expansion.
"""

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.cornish_fisher import bend, expansion, standardised
from bayesnb.numerics.elementary import exp

STEP = 0.4  # of v: the transform of log E decays like exp(-pi t / 2), so sums are exact to exp(-pi**2 / STEP) = 2e-11
LEFT = 36.0  # of v, left of the largest score: 1 - S is exp(-36) = 2e-16 there
RIGHT = 3.7  # of v, right of the end of all classes but one: P(log E > 3.7) = 3e-18
REACH = 6.5  # of z: what is beyond has probability 8e-11
# Cumulants of log E: polygamma functions at 1, of orders 0 to 3.
LOG_EXPONENTIAL = (-0.5772156649015329, 1.6449340668482264, -2.4041138063191885, 6.493939402266829)
TINY = 1e-290  # least survival that is divided by: its logarithm and its inverse are normal doubles
WIDE, WILD = 20.0, 1.2  # standard deviation and bend from which four cumulants are no score: the row is marked as crude
CHEAP = 9.0  # variance up to which two active classes are worth a sum for the sake of hopeless ones; its length grows
NARROW = 0.02  # standard deviation below which W is linear in the scores but for its mean; below, sums lose digits
LOG_SMALL = -9.2  # of y, up to which exp(-y) is 1 - y + y**2 / 2 - y**3 / 6: the next term is below 5e-18


@compiled
def cumulants_of_others(
    alone: Array, seen: Array, share: Array, active: Array, others: Array, others_seen: Array, mean: Array, crude: Array
) -> None:
    """Write the cumulants of W_c, `(4, r, c), (4, r, c), (r, c), (r, c) -> 2 of (4, r, c), (r, c), (r,)`.

    `others_seen` are those once one of the classes but c has seen the row, `mean` the expected probability before any
    has. Only active classes count. Where scores are too wild for their expansions, W_c is taken for the score of the
    most probable class but c; `crude` is what approximations here add to errors of quantiles, infinite for that one.
    """
    for i in range(len(share)):
        few, widest, wild = 0, 0.0, False
        for c in range(share.shape[1]):
            if active[i, c]:
                few += 1
                widest = max(widest, alone[1, i, c])
                wild |= is_wild(alone[:, i, c]) or is_wild(seen[:, i, c])
        narrow = few > 2 and widest < NARROW * NARROW
        wild = not narrow and (wild or (few == 2 and widest > CHEAP))  # of two, only hopeless ones need W
        crude[i] = np.inf if wild and few > 2 else 0.1 * widest if narrow and widest > 1e-5 else 0.0
        if narrow:
            narrow_others(alone[:, i], seen[:, i], share[i], active[i], others[:, i], others_seen[:, i])
        elif not wild:
            others_of_row(alone[:, i], seen[:, i], share[i], active[i], others[:, i], others_seen[:, i], mean[i])
        if few == 2 or wild:
            pair_up(alone[:, i], seen[:, i], share[i], active[i], others[:, i], others_seen[:, i], wild)


@compiled
def pair_up(
    alone: Array, seen: Array, share: Array, active: Array, others: Array, others_seen: Array, all_classes: bool
) -> None:
    """Take one class's score for W_c, where c is one of two active classes, or any if `all_classes`."""
    best = np.argmax(share)
    for c in range(len(share)):
        if all_classes or active[c]:
            k = best if c != best else partner(active, c)
            others[:, c], others_seen[:, c] = alone[:, k], seen[:, k]


@compiled
def narrow_others(alone: Array, seen: Array, share: Array, active: Array, others: Array, others_seen: Array) -> None:
    """Write the cumulants of W_c of scores that hardly vary, in which W is linear but for its mean.

    With q the softmax of the mean scores, W = W(means) + sum q_k dU_k + sum q_k (1 - q_k) dU_k**2 / 2 on average.
    """
    for c in range(len(share)):
        most = -np.inf
        for k in range(len(share)):
            if active[k] and k != c:
                most = max(most, alone[0, k])
        exps = level = shift = 0.0
        for k in range(len(share)):
            if active[k] and k != c:
                exps += np.exp(alone[0, k] - most)
                level += share[k]
        others[:, c] = 0.0
        for k in range(len(share)):
            if active[k] and k != c:
                q = np.exp(alone[0, k] - most) / exps
                others[0, c] += 0.5 * q * (1.0 - q) * alone[1, k]
                shift += share[k] / level * q * (seen[0, k] - alone[0, k])
                for n in range(1, 4):
                    others[n, c] += q ** (n + 1) * alone[n, k]
        others[0, c] += most + np.log(exps)
        others_seen[:, c] = others[:, c]
        others_seen[0, c] += shift


@compiled
def is_wild(cumulants: Array) -> bool:
    """Whether four cumulants are too wide or too far from normal to stand for a score."""
    return not (cumulants[1] < WIDE * WIDE and bend(cumulants) < WILD)


@compiled
def partner(active: Array, c: int) -> int:
    """First active class besides c."""
    for k in range(len(active)):
        if active[k] and k != c:
            return k
    return c


@compiled
def others_of_row(
    alone: Array, seen: Array, share: Array, active: Array, others: Array, others_seen: Array, mean: Array
) -> None:
    """Write the cumulants of W_c of one row, `(4, c), (4, c), (c,), (c,) -> (4, c), (4, c), (c,)`.

    log of the product of survivals, its slope, and its change once a class has seen the row are summed over all
    classes, and class c's part is taken out again. The most probable class is kept out of the sums for changes
    (`likely`): beside it, smaller ones would be lost to rounding.
    """
    classes, best = len(share), np.argmax(share)
    first, dead, last = np.inf, np.inf, np.inf  # by `last` all classes but one are dead, by `dead` one
    for k in range(classes):
        if active[k]:
            first = min(first, -top(alone[:, k]), -top(seen[:, k]))
            end = REACH * np.sqrt(alone[1, k]) - alone[0, k]
            dead, last = min(dead, end), min(last, max(dead, end))
    first, size = first - LEFT, int((last + RIGHT - first + LEFT) / STEP) + 2
    survival, density = np.ones((classes, size)), np.zeros((classes, size))
    survival_seen, density_seen = np.ones((classes, size)), np.zeros((classes, size))
    total, likely = np.zeros((4, size)), np.zeros((2, size))
    for k in range(classes):
        if active[k]:
            gumbel(alone[:, k], first, survival[k], density[k])
            gumbel(seen[:, k], first, survival_seen[k], density_seen[k])
            for g in range(size):
                alive = max(survival[k, g], TINY)
                total[0, g] += np.log(alive)
                total[1, g] += density[k, g] / alive
                rate = share[k] * (density_seen[k, g] - survival_seen[k, g] * density[k, g] / alive) / alive
                level = share[k] * survival_seen[k, g] / alive
                if k == best:
                    likely[0, g], likely[1, g] = rate, level
                else:
                    total[2, g] += rate
                    total[3, g] += level
    for c in range(classes):
        if active[c]:
            densities = np.empty((2, size))
            mean[c] = 0.0
            for g in range(size):
                alive = max(survival[c, g], TINY)
                hazard = density[c, g] / alive
                product, rate = np.exp(total[0, g] - np.log(alive)), total[1, g] - hazard
                slope, level = total[2, g], total[3, g]
                if c != best:
                    mine = share[c] * (density_seen[c, g] - survival_seen[c, g] * hazard) / alive
                    slope += likely[0, g] - mine
                    level += likely[1, g] - share[c] * survival_seen[c, g] / alive
                densities[0, g] = product * rate
                densities[1, g] = product * (slope + level * rate)
                mean[c] += STEP * density[c, g] * product
            cumulants_from_density(densities[0], first, others[:, c])
            cumulants_from_density(densities[1], first, others_seen[:, c])
    all_density, all_density_seen = np.empty(size), np.empty(size)
    for g in range(size):
        product = np.exp(total[0, g])
        all_density[g] = product * total[1, g]
        level = total[3, g] + likely[1, g]
        all_density_seen[g] = product * (total[2, g] + likely[0, g] + level * total[1, g])
    for c in range(classes):
        if not active[c]:
            cumulants_from_density(all_density, first, others[:, c])
            cumulants_from_density(all_density_seen, first, others_seen[:, c])


@compiled
def top(cumulants: Array) -> float:
    """Largest value of a score for z up to REACH, and at least its mean."""
    spread, skew, kurtosis = standardised(cumulants)
    most = 0.0
    for k in range(14):
        most = max(most, expansion(0.5 * k, skew, kurtosis))
    return cumulants[0] + spread * most


@compiled
def gumbel(cumulants: Array, first: float, survival: Array, density: Array) -> None:
    """Write P(log E - U > v) and the density at v = first + g STEP, for a score U of four cumulants.

    Far to the left, where y = exp(v + U) is small for all z, exp(-y) is its series in three moments of exp(U).
    """
    mean, (spread, skew, kurtosis) = cumulants[0], standardised(cumulants)
    step = 0.5 if spread < 2 else 1.0 / spread  # of z: exact to exp(-pi**2 / (spread * step)), 5e-5
    half = int(REACH / step)
    start, weight, total_weight = np.empty(2 * half + 1), np.empty(2 * half + 1), 0.0  # of log y, y = exp(v + U)
    for k in range(len(start)):
        z = (k - half) * step
        weight[k] = exp(-0.5 * z * z)
        total_weight += weight[k]
        start[k] = first + mean + spread * expansion(z, skew, kurtosis)
    most, moment = start.max(), np.zeros(3)
    for k in range(len(start)):
        part = exp(start[k] - most)
        moment[0] += weight[k] * part / total_weight
        moment[1] += weight[k] * part * part / total_weight
        moment[2] += weight[k] * part**3 / total_weight
    early = min(max(int((LOG_SMALL - most) / STEP), 0), len(survival))
    for g in range(early):
        level = np.exp(most + STEP * g)
        one, two, three = moment[0] * level, moment[1] * level**2, moment[2] * level**3
        survival[g], density[g] = 1.0 - one + two / 2.0 - three / 6.0, one - two + three / 2.0
    y, grow = np.empty(len(start)), np.exp(STEP)
    for g in range(early, len(survival)):
        if (g - early) % 64 == 0:  # afresh: y that was below the doubles at first stays 0 when it is multiplied
            for k in range(len(y)):
                y[k] = np.exp(min(start[k] + STEP * g, 700.0))
        alive = dying = 0.0
        for k in range(len(y)):
            part = weight[k] * exp(-min(y[k], 700.0))
            alive += part
            dying += part * min(y[k], 1e300)
            y[k] *= grow
        survival[g], density[g] = alive / total_weight, dying / total_weight


@compiled
def cumulants_from_density(density: Array, first: float, out: Array) -> None:
    """Write four cumulants of W from the density of log E - W on the grid of v, whose scale does not matter."""
    total_weight = centre = 0.0
    for g in range(len(density)):
        total_weight += density[g]
        centre += density[g] * (first + g * STEP)
    centre /= total_weight
    second = third = fourth = 0.0
    for g in range(len(density)):
        d = first + g * STEP - centre
        second += density[g] * d * d
        third += density[g] * d**3
        fourth += density[g] * d**4
    second, third, fourth = second / total_weight, third / total_weight, fourth / total_weight
    out[0] = LOG_EXPONENTIAL[0] - centre
    out[1] = max(second - LOG_EXPONENTIAL[1], 1e-12)
    out[2] = LOG_EXPONENTIAL[2] - third
    out[3] = fourth - 3.0 * second * second - LOG_EXPONENTIAL[3]
