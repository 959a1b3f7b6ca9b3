"""The log of the sum of several classes' exponentiated scores, W = log sum_k exp(U_k): its cumulants, for each class c
those of all the others.

With E ~ Exp(1) apart from them, T_k = log E - U_k exceeds v with probability S_k(v) = E exp(-exp(v + U_k)), and
log E - W exceeds it with the product of those: one-dimensional sums over v do what needs as many dimensions as classes.
Each score has its law from four cumulants, as a sum over a normal's z.
"""

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.cornish_fisher import bend, bent, standard
from bayesnb.numerics.elementary import exp

STEP, LEFT = 0.4, 36.0  # of v: sums of functions as smooth as these are exact to exp(-pi**2 / STEP)
REACH = 6.5  # of z
LOG_EXPONENTIAL = (-0.5772156649015329, 1.6449340668482264, -2.4041138063191885, 6.493939402266829)
TINY = 1e-290
WIDE, WILD = 20.0, 1.2  # a standard deviation and a bend
CHEAP = 9.0  # a variance
NARROW = 0.02  # a standard deviation
LOG_SMALL = -9.2  # of y, up to which exp(-y) is 1 - y + y**2 / 2 - y**3 / 6


@compiled
def rests(
    alone: Array, seen: Array, share: Array, active: Array, rest: Array, rest_seen: Array, mean: Array, crude: Array
) -> None:
    """Cumulants of the rest of each class, `(4, r, c), (4, r, c), (r, c), (r, c) -> (4, r, c), (4, r, c), (r, c)`.

    `rest_seen` is the law in which one of the rest has seen the row, `mean` the expected probability before any has.
    Only active classes count. The rest of each class of a row whose scores are too wild for sums of their laws is the
    most probable class; `crude`, `(r,)`, is what that adds to errors.
    """
    for i in range(len(share)):
        few, widest, wild = 0, 0.0, False
        for c in range(share.shape[1]):
            if active[i, c]:
                few += 1
                widest = max(widest, alone[1, i, c])
                wild |= is_wild(alone[:, i, c]) or is_wild(seen[:, i, c])
        narrow = few > 2 and widest < NARROW * NARROW
        wild = not narrow and (wild or (few == 2 and widest > CHEAP))  # a sum for hopeless classes only
        crude[i] = np.inf if wild and few > 2 else 0.1 * widest if narrow and widest > 1e-5 else 0.0
        if narrow:
            narrow_rests(alone[:, i], seen[:, i], share[i], active[i], rest[:, i], rest_seen[:, i])
        elif not wild:
            rest_of_row(alone[:, i], seen[:, i], share[i], active[i], rest[:, i], rest_seen[:, i], mean[i])
        if few == 2 or wild:
            of_pairs(alone[:, i], seen[:, i], share[i], active[i], rest[:, i], rest_seen[:, i], wild)


@compiled
def of_pairs(
    alone: Array, seen: Array, share: Array, active: Array, rest: Array, rest_seen: Array, every: bool
) -> None:
    """One other class in place of the rest, for the two active classes, or for every one."""
    best = np.argmax(share)
    for c in range(len(share)):
        if every or active[c]:
            other = best if c != best else partner(active, c)
            rest[:, c], rest_seen[:, c] = alone[:, other], seen[:, other]


@compiled
def narrow_rests(alone: Array, seen: Array, share: Array, active: Array, rest: Array, rest_seen: Array) -> None:
    """Scores that hardly vary: W is linear in them, but for its mean."""
    for c in range(len(share)):
        most = -np.inf
        for k in range(len(share)):
            if active[k] and k != c:
                most = max(most, alone[0, k])
        whole = level = shift = 0.0
        for k in range(len(share)):
            if active[k] and k != c:
                whole += np.exp(alone[0, k] - most)
                level += share[k]
        rest[:, c] = 0.0
        for k in range(len(share)):
            if active[k] and k != c:
                q = np.exp(alone[0, k] - most) / whole
                rest[0, c] += 0.5 * q * (1.0 - q) * alone[1, k]
                shift += share[k] / level * q * (seen[0, k] - alone[0, k])
                for n in range(1, 4):
                    rest[n, c] += q ** (n + 1) * alone[n, k]
        rest[0, c] += most + np.log(whole)
        rest_seen[:, c] = rest[:, c]
        rest_seen[0, c] += shift


@compiled
def is_wild(law: Array) -> bool:
    return not (law[1] < WIDE * WIDE and bend(law) < WILD)


@compiled
def partner(active: Array, c: int) -> int:
    """The first active class besides c."""
    for k in range(len(active)):
        if active[k] and k != c:
            return k
    return c


@compiled
def rest_of_row(
    alone: Array, seen: Array, share: Array, active: Array, rest: Array, rest_seen: Array, mean: Array
) -> None:
    """The same for one row, `(4, c), (4, c), (c,), (c,) -> (4, c), (4, c), (c,)`."""
    classes, best = len(share), np.argmax(share)
    first, dead, last = np.inf, np.inf, np.inf  # by `last` all classes but one are dead, by `dead` one
    for k in range(classes):
        if active[k]:
            first = min(first, -top(alone[:, k]), -top(seen[:, k]))
            end = REACH * np.sqrt(alone[1, k]) - alone[0, k]
            dead, last = min(dead, end), min(last, max(dead, end))
    first, size = first - LEFT, int((last + 3.7 - first + LEFT) / STEP) + 2
    survival, density = np.ones((classes, size)), np.zeros((classes, size))
    survival_seen, density_seen = np.ones((classes, size)), np.zeros((classes, size))
    total, likely = np.zeros((4, size)), np.zeros((2, size))  # `likely` is the best class's: others are lost beside it
    for k in range(classes):
        if active[k]:
            gumbel(alone[:, k], first, survival[k], density[k])
            gumbel(seen[:, k], first, survival_seen[k], density_seen[k])
            for g in range(size):
                own = max(survival[k, g], TINY)
                total[0, g] += np.log(own)
                total[1, g] += density[k, g] / own
                rate = share[k] * (density_seen[k, g] - survival_seen[k, g] * density[k, g] / own) / own
                level = share[k] * survival_seen[k, g] / own
                if k == best:
                    likely[0, g], likely[1, g] = rate, level
                else:
                    total[2, g] += rate
                    total[3, g] += level
    for c in range(classes):
        if active[c]:
            others = np.empty((2, size))
            mean[c] = 0.0
            for g in range(size):
                own = max(survival[c, g], TINY)
                hazard = density[c, g] / own
                product, rate = np.exp(total[0, g] - np.log(own)), total[1, g] - hazard
                slope, level = total[2, g], total[3, g]
                if c != best:
                    mine = share[c] * (density_seen[c, g] - survival_seen[c, g] * hazard) / own
                    slope += likely[0, g] - mine
                    level += likely[1, g] - share[c] * survival_seen[c, g] / own
                others[0, g] = product * rate
                others[1, g] = product * (slope + level * rate)
                mean[c] += STEP * density[c, g] * product
            cumulants_of_rest(others[0], first, rest[:, c])
            cumulants_of_rest(others[1], first, rest_seen[:, c])
    every, every_seen = np.empty(size), np.empty(size)
    for g in range(size):
        product = np.exp(total[0, g])
        every[g] = product * total[1, g]
        level = total[3, g] + likely[1, g]
        every_seen[g] = product * (total[2, g] + likely[0, g] + level * total[1, g])
    for c in range(classes):
        if not active[c]:
            cumulants_of_rest(every, first, rest[:, c])
            cumulants_of_rest(every_seen, first, rest_seen[:, c])


@compiled
def top(law: Array) -> float:
    """About the largest value of a score, and at least its mean."""
    spread, skew, kurtosis = standard(law)
    most = 0.0
    for k in range(14):
        most = max(most, bent(0.5 * k, skew, kurtosis))
    return law[0] + spread * most


@compiled
def gumbel(law: Array, first: float, survival: Array, density: Array) -> None:
    """P(log E - U > v) and the density at v = first + g STEP, for U of four cumulants."""
    mean, (spread, skew, kurtosis) = law[0], standard(law)
    step = 0.5 if spread < 2 else 1.0 / spread
    half = int(REACH / step)
    start, weight, whole = np.empty(2 * half + 1), np.empty(2 * half + 1), 0.0  # of log y, y = exp(v + U)
    for k in range(len(start)):
        z = (k - half) * step
        weight[k] = exp(-0.5 * z * z)
        whole += weight[k]
        start[k] = first + mean + spread * bent(z, skew, kurtosis)
    most, moment = start.max(), np.zeros(3)
    for k in range(len(start)):
        part = exp(start[k] - most)
        moment[0] += weight[k] * part / whole
        moment[1] += weight[k] * part * part / whole
        moment[2] += weight[k] * part**3 / whole
    early = min(max(int((LOG_SMALL - most) / STEP), 0), len(survival))
    for g in range(early):
        level = np.exp(most + STEP * g)
        one, two, three = moment[0] * level, moment[1] * level**2, moment[2] * level**3
        survival[g], density[g] = 1.0 - one + two / 2.0 - three / 6.0, one - two + three / 2.0
    y, grow = np.empty(len(start)), np.exp(STEP)
    for g in range(early, len(survival)):
        if (g - early) % 64 == 0:  # afresh, before what was 0 at first would matter
            for k in range(len(y)):
                y[k] = np.exp(min(start[k] + STEP * g, 700.0))
        alive = dying = 0.0
        for k in range(len(y)):
            part = weight[k] * exp(-min(y[k], 700.0))
            alive += part
            dying += part * min(y[k], 1e300)
            y[k] *= grow
        survival[g], density[g] = alive / whole, dying / whole


@compiled
def cumulants_of_rest(density: Array, first: float, out: Array) -> None:
    """Four cumulants of W from the density of log E - W, whose scale does not matter."""
    whole = centre = 0.0
    for g in range(len(density)):
        whole += density[g]
        centre += density[g] * (first + g * STEP)
    centre /= whole
    second = third = fourth = 0.0
    for g in range(len(density)):
        d = first + g * STEP - centre
        second += density[g] * d * d
        third += density[g] * d**3
        fourth += density[g] * d**4
    second, third, fourth = second / whole, third / whole, fourth / whole
    out[0] = LOG_EXPONENTIAL[0] - centre
    out[1] = max(second - LOG_EXPONENTIAL[1], 1e-12)
    out[2] = LOG_EXPONENTIAL[2] - third
    out[3] = fourth - 3.0 * second * second - LOG_EXPONENTIAL[3]
