"""Cumulants of W_c = log of the sum of exp(U_k) over all classes k but c, for each class c.

With E ~ Exp(1) independent of the scores, T_k = log E - U_k exceeds v with probability S_k(v) = E
exp(-exp(v + U_k)). Given the scores, log E - W exceeds v with probability exp(-exp(v) sum
exp(U_k)), so over scores that are independent it does with the product of the S_k: a sum over v
alone does what would need as many dimensions as classes, and cumulants of W are those of log E less
those of log E - W, times (-1)**n. Each S_k is a sum over a normal's z, the score being its
Cornish-Fisher expansion.
"""

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.cornish_fisher import (
    bends,
    cubic,
    expansion,
    of_like_length,
    polynomials,
    standardised,
)
from bayesnb.numerics.elementary import exp, log
from bayesnb.numerics.row_kernels import clear
from bayesnb.numerics.threads import blocks

# of v: the transform of log E decays like exp(-pi t / 2), so sums are exact to exp(-pi**2 / STEP) =
# 2e-11
STEP = 0.4
LEFT = 36.0  # of v, left of the largest score: 1 - S is exp(-36) = 2e-16 there
RIGHT = 3.7  # of v, right of the end of all classes but one: P(log E > 3.7) = 3e-18
REACH = 6.5  # of z: what is beyond has probability 8e-11
# Cumulants of log E: polygamma functions at 1, of orders 0 to 3.
LOG_EXPONENTIAL = (-0.5772156649015329, 1.6449340668482264, -2.4041138063191885, 6.493939402266829)
TINY = 1e-290  # least survival that is divided by: its logarithm and its inverse are normal doubles
# standard deviation and bend from which four cumulants are no score: the row is marked as crude
WIDE, WILD = 20.0, 1.2
# variance up to which two active classes are worth a sum for the sake of hopeless ones; its length
# grows
CHEAP = 9.0
# standard deviation below which W is linear in the scores but for its mean; below, sums lose digits
NARROW = 0.02
ROWS = 16  # at once in a definition, and nodes of scores at once, with some 40 places each
NODES = 400
# places of v whose exp(v) is one factor times powers of exp(STEP), the last of which is 1e11
AFRESH = 64
LOG_DEAD = 6.7  # of y, from which exp(-y) is 0 as a double
# of y, up to which exp(-y) is 1 - y + y**2 / 2 - y**3 / 6: the next term is below 5e-18
LOG_SMALL = -9.2


def cumulants_of_others(
    alone: Array,
    seen: Array,
    share: Array,
    active: Array,
    others: Array,
    others_seen: Array,
    mean: Array,
    crude: Array,
) -> None:
    """Write the cumulants of W_c, `(4, r, c), (4, r, c), (r, c), (r, c) -> 2 of (4, r, c), (r, c),
    (r,)`.

    `others_seen` are those once one of the classes but c has seen the row, `mean` the expected
    probability before any has. Only active classes count. Where scores are too wild for their
    expansions, W_c is taken for the score of the most probable class but c; `crude` is what
    approximations here add to errors of quantiles, infinite for that one.
    """
    few, widest = active.sum(axis=1), np.where(active, alone[1], 0.0).max(axis=1, initial=0.0)
    with np.errstate(all="ignore"):
        good = (
            (alone[1] < WIDE * WIDE)
            & (seen[1] < WIDE * WIDE)
            & (bends(alone) < WILD)
            & (bends(seen) < WILD)
        )
    narrow = (few > 2) & (widest < NARROW * NARROW)
    # Of two classes, only hopeless ones need W.
    wild = ~narrow & ((active & ~good).any(axis=1) | ((few == 2) & (widest > CHEAP)))
    crude[:] = np.where(
        wild & (few > 2), np.inf, np.where(narrow & (widest > 1e-5), 0.1 * widest, 0.0)
    )
    for kernel, rows in (
        (narrow_others, np.flatnonzero(narrow)),
        (others_of_rows, np.flatnonzero(~narrow & ~wild)),
    ):
        if len(rows):
            sums, sums_seen, proba = (
                np.empty((4, *share[rows].shape)),
                np.empty((4, *share[rows].shape)),
                mean[rows],
            )
            kernel(alone[:, rows], seen[:, rows], share[rows], active[rows], sums, sums_seen, proba)
            others[:, rows], others_seen[:, rows], mean[rows] = sums, sums_seen, proba
    i, c = np.nonzero(((few == 2)[:, None] & active) | wild[:, None])
    k = best_of_others(share, active)[i, c]
    others[:, i, c], others_seen[:, i, c] = alone[:, i, k], seen[:, i, k]


def best_of_others(share: Array, active: Array) -> Array:
    """Place of the most probable class; for that class, of the first active one beside it, `2 of
    (r, c) -> (r, c)`.
    """
    each, best = np.arange(share.shape[1]), share.argmax(axis=1)[:, None]
    beside = active & (each != best)
    second = np.where(beside.any(axis=1), beside.argmax(axis=1), best[:, 0])[:, None]
    return np.where(each == best, second, best)


@compiled
def narrow_others(
    alone: Array,
    seen: Array,
    share: Array,
    active: Array,
    others: Array,
    others_seen: Array,
    mean: Array,
) -> None:
    """Write the cumulants of W_c of rows whose scores hardly vary, in which W is linear but for its
    mean.

    With q the softmax of the mean scores, W = W(means) + sum q_k dU_k + sum q_k (1 - q_k) dU_k**2 /
    2 on average. Arguments as of `others_of_rows`, but no mean is written.
    """
    rows, classes = share.shape
    for i in range(rows):
        for c in range(classes):
            most = -np.inf
            for k in range(classes):
                if active[i, k] and k != c:
                    most = max(most, alone[0, i, k])
            exps = level = shift = 0.0
            for k in range(classes):
                if active[i, k] and k != c:
                    exps += np.exp(alone[0, i, k] - most)
                    level += share[i, k]
            for n in range(4):
                others[n, i, c] = 0.0
            for k in range(classes):
                if active[i, k] and k != c:
                    q = np.exp(alone[0, i, k] - most) / exps
                    others[0, i, c] += 0.5 * q * (1.0 - q) * alone[1, i, k]
                    shift += share[i, k] / level * q * (seen[0, i, k] - alone[0, i, k])
                    for n in range(1, 4):
                        others[n, i, c] += q ** (n + 1) * alone[n, i, k]
            others[0, i, c] += most + np.log(exps)
            for n in range(4):
                others_seen[n, i, c] = others[n, i, c]
            others_seen[0, i, c] += shift


@narrow_others.defined()
def narrow_others_by_definition(
    alone: Array,
    seen: Array,
    share: Array,
    active: Array,
    others: Array,
    others_seen: Array,
    mean: Array,
) -> None:
    for c in range(share.shape[1]):
        among = active & (np.arange(share.shape[1]) != c)
        level = np.where(among, alone[0], -np.inf)
        most = level.max(axis=1, keepdims=True)
        q = np.exp(level - most)
        total = q.sum(axis=1, keepdims=True)
        q /= total
        known = np.where(among, share, 0.0)
        with np.errstate(all="ignore"):
            others[1:, :, c] = [(q ** (n + 1) * alone[n]).sum(axis=1) for n in range(1, 4)]
            others[0, :, c] = (0.5 * q * (1.0 - q) * alone[1]).sum(axis=1) + (most + np.log(total))[
                :, 0
            ]
            shift = np.where(among, known * q * (seen[0] - alone[0]), 0.0).sum(axis=1) / known.sum(
                axis=1
            )
        others_seen[:, :, c] = others[:, :, c]
        others_seen[0, :, c] += shift


@compiled
def others_of_rows(
    alone: Array,
    seen: Array,
    share: Array,
    active: Array,
    others: Array,
    others_seen: Array,
    mean: Array,
) -> None:
    """Write the cumulants of W_c of rows, `(4, r, c), (4, r, c), (r, c), (r, c) -> (4, r, c), (4,
    r, c), (r, c)`.

    log of the product of survivals, its slope, and its change once a class has seen the row are
    summed over all classes, and class c's part is taken out again. The most probable class is kept
    out of the sums for changes: beside it, smaller ones would be lost to rounding.
    """
    rows, classes = share.shape
    for i in range(rows):
        # by `last` all classes but one are dead, by `dead` one
        best, first, dead, last = 0, np.inf, np.inf, np.inf
        for k in range(classes):
            best = k if share[i, k] > share[i, best] else best
            if active[i, k]:
                for cumulants in (alone, seen):
                    first = min(first, -top(cumulants[:, i, k]))
                end = REACH * np.sqrt(alone[1, i, k]) - alone[0, i, k]
                dead, last = min(dead, end), min(last, max(dead, end))
        first, size = first - LEFT, int((last + RIGHT - first + LEFT) / STEP) + 2
        # Of each class, log survival and hazard; behind them their changes once the class has seen
        # the row.
        survival, density = np.empty((2, classes, size)), np.empty((2, classes, size))
        # Sums over classes: log survivals, hazards, changes of hazards and of log survivals; and
        # the most probable class's changes, which stay 0 if it is one that does not count.
        sums, densities = np.zeros((6, size)), np.empty((2, size))
        for k in range(classes):
            if active[i, k]:
                for part in range(2):
                    gumbel(
                        (seen if part else alone)[:, i, k],
                        first,
                        survival[part, k],
                        density[part, k],
                    )
                for g in range(size):
                    alive = max(survival[0, k, g], TINY)
                    rate = density[0, k, g] / alive
                    density[1, k, g] = (
                        share[i, k] * (density[1, k, g] - survival[1, k, g] * rate) / alive
                    )
                    survival[1, k, g] = share[i, k] * survival[1, k, g] / alive
                    density[0, k, g] = rate
                    survival[0, k, g] = log(alive)
                at = 4 if k == best else 2
                for g in range(size):
                    sums[0, g] += survival[0, k, g]
                    sums[1, g] += density[0, k, g]
                    sums[at, g] += density[1, k, g]
                    sums[at + 1, g] += survival[1, k, g]
        hopeless = -1  # the first class that does not count: for all of these W is the same
        for c in range(classes):
            if active[i, c]:
                for g in range(size):
                    densities[0, g] = exp(sums[0, g] - survival[0, c, g])
                total = 0.0
                for g in range(size):
                    total += density[0, c, g] * exp(survival[0, c, g]) * densities[0, g]
                mean[i, c] = STEP * total
                for g in range(size):
                    product, rate = densities[0, g], sums[1, g] - density[0, c, g]
                    change, weight = sums[2, g], sums[3, g]
                    if c != best:
                        change += sums[4, g] - density[1, c, g]
                        weight += sums[5, g] - survival[1, c, g]
                    densities[0, g] = product * rate
                    densities[1, g] = product * (change + weight * rate)
            elif hopeless < 0:
                hopeless = c
                for g in range(size):
                    product, rate = np.exp(sums[0, g]), sums[1, g]
                    densities[0, g] = product * rate
                    densities[1, g] = product * (
                        sums[2, g] + sums[4, g] + (sums[3, g] + sums[5, g]) * rate
                    )
            else:
                for n in range(4):
                    others[n, i, c], others_seen[n, i, c] = (
                        others[n, i, hopeless],
                        others_seen[n, i, hopeless],
                    )
                continue
            for part in range(2):
                cumulants_from_density(
                    densities[part], first, (others_seen if part else others)[:, i, c]
                )


@others_of_rows.defined()
def others_of_rows_by_definition(
    alone: Array,
    seen: Array,
    share: Array,
    active: Array,
    others: Array,
    others_seen: Array,
    mean: Array,
) -> None:
    with np.errstate(all="ignore"):
        for rows in blocks(len(share), ROWS):
            of_rows = alone[:, rows], seen[:, rows], share[rows], active[rows]
            others[:, rows], others_seen[:, rows], proba = sums_over_grids(*of_rows)
            mean[rows] = np.where(active[rows], proba, mean[rows])


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
    """Write P(log E - U > v) and the density at v = first + g STEP, for a score U of four
    cumulants.

    Far to the left, where y = exp(v + U) is small for all z, exp(-y) is its series in three moments
    of exp(U).
    """
    mean, (spread, skew, kurtosis) = cumulants[0], standardised(cumulants)
    step = 0.5 if spread < 2 else 1.0 / spread  # of z: exact to exp(-pi**2 / (spread * step)), 5e-5
    half = int(REACH / step)
    # of log y, y = exp(v + U)
    start, weight, total_weight = np.empty(2 * half + 1), np.empty(2 * half + 1), 0.0
    for k in range(len(start)):
        z = (k - half) * step
        weight[k] = exp(-0.5 * z * z)
        total_weight += weight[k]
        start[k] = first + mean + spread * expansion(z, skew, kurtosis)
    most, first_moment, second_moment, third_moment = start[0], 0.0, 0.0, 0.0
    for k in range(len(start)):
        most = max(most, start[k])
    for k in range(len(start)):
        part = exp(start[k] - most)
        first_moment += weight[k] * part / total_weight
        second_moment += weight[k] * part * part / total_weight
        third_moment += weight[k] * (part * part * part) / total_weight
    early = min(max(int((LOG_SMALL - most) / STEP), 0), len(survival))
    for g in range(early):
        level = np.exp(most + STEP * g)
        one, two, three = (
            first_moment * level,
            second_moment * (level * level),
            third_moment * (level * level * level),
        )
        survival[g], density[g] = 1.0 - one + two / 2.0 - three / 6.0, one - two + three / 2.0
    grow = np.empty(AFRESH)  # of y from the first place of a stretch on
    for g in range(len(grow)):
        grow[g] = np.exp(STEP * g)
    for first_place in range(early, len(survival), AFRESH):
        # A stretch is begun afresh: y that was below the doubles at first would stay 0 if it were
        # multiplied for ever.
        alive, dying = (
            survival[first_place : first_place + AFRESH],
            density[first_place : first_place + AFRESH],
        )
        clear(alive)
        clear(dying)
        for k in range(len(start)):
            log_y = start[k] + STEP * first_place
            if log_y < LOG_DEAD:
                y = np.exp(log_y)
                for g in range(len(alive)):
                    part = min(y * grow[g], 709.0)  # of which `exp` makes 0
                    died = weight[k] * exp(-part)
                    alive[g] += died
                    dying[g] += died * part
        for g in range(len(alive)):
            alive[g], dying[g] = alive[g] / total_weight, dying[g] / total_weight


@compiled
def cumulants_from_density(density: Array, first: float, out: Array) -> None:
    """Write four cumulants of W from the density of log E - W on the grid of v, whose scale does
    not matter.
    """
    total_weight = centre = 0.0
    for g in range(len(density)):
        total_weight += density[g]
        centre += density[g] * (first + g * STEP)
    centre /= total_weight
    second = third = fourth = 0.0
    for g in range(len(density)):
        d = first + g * STEP - centre
        second += density[g] * d * d
        third += density[g] * (d * d * d)
        fourth += density[g] * (d * d * (d * d))
    second, third, fourth = second / total_weight, third / total_weight, fourth / total_weight
    out[0] = LOG_EXPONENTIAL[0] - centre
    out[1] = max(second - LOG_EXPONENTIAL[1], 1e-12)
    out[2] = LOG_EXPONENTIAL[2] - third
    out[3] = fourth - 3.0 * second * second - LOG_EXPONENTIAL[3]


def sums_over_grids(
    alone: Array, seen: Array, share: Array, active: Array
) -> tuple[Array, Array, Array]:
    """Cumulants of W_c and mean probabilities, of rows at once by the sums of `others_of_rows`."""
    level, spread, *powers = polynomials(both := np.stack([alone, seen], axis=1))
    z = 0.5 * np.arange(14).reshape(-1, 1, 1, 1)
    tops = level + spread * np.maximum(cubic(powers, z).max(axis=0), 0.0)
    first = np.where(active, -tops, np.inf).min(axis=(0, 2)) - LEFT
    last = np.sort(np.where(active, REACH * np.sqrt(alone[1]) - alone[0], np.inf), axis=1)[:, 1]
    sizes = ((last + RIGHT - first) / STEP).astype(int) + 2
    size = int(sizes.max())
    survival, density = np.ones((2, *share.shape, size)), np.zeros((2, *share.shape, size))
    which = np.broadcast_to(active, both.shape[1:])
    starts = np.broadcast_to(first[:, None], both.shape[1:])
    survival[which], density[which] = gumbels(both[:, which], starts[which], size)

    alive = np.maximum(survival[0], TINY)
    logs, hazard = np.log(alive), density[0] / alive
    weight = np.where(active, share, 0.0)[:, :, None]
    slopes = weight * (density[1] - survival[1] * hazard) / alive
    levels = weight * survival[1] / alive
    log_product, hazards = logs.sum(axis=1, keepdims=True), hazard.sum(axis=1, keepdims=True)
    likely = np.arange(share.shape[1]) == share.argmax(axis=1)[:, None]
    sums = []
    for part in (slopes, levels):
        largest = np.where(likely[:, :, None], part, 0.0).sum(axis=1, keepdims=True)
        others = np.where(likely[:, :, None], 0.0, part)
        rest = others.sum(axis=1, keepdims=True)
        sums.append(np.where(likely[:, :, None], rest, largest + (rest - others)))
    on = active[:, :, None]
    product, hazard = (
        np.exp(log_product - np.where(on, logs, 0.0)),
        hazards - np.where(on, hazard, 0.0),
    )
    product *= (np.arange(size) < sizes[:, None])[:, None]
    mean = STEP * (density[0] * product).sum(axis=2)
    before, after = product * hazard, product * (sums[0] + sums[1] * hazard)
    return *(cumulants_from_densities(each, first) for each in (before, after)), mean


def gumbels(cumulants: Array, first: Array, size: int) -> tuple[Array, Array]:
    """P(log E - U > v) and densities on grids of v, `(4, n), (n,) -> 2 of (n, size)`, as of one
    score by `gumbel`.
    """
    survival, density = np.zeros((2, len(first), size))
    mean, spread, *powers = polynomials(cumulants)
    step = np.where(spread < 2, 0.5, 1.0 / np.maximum(spread, 2))
    half = (REACH / step).astype(int)
    for part in of_like_length(2 * half + 1, NODES):
        k = np.arange(-half[part].max(), half[part].max() + 1)
        beyond = np.abs(k) > half[part, None]
        z = np.where(beyond, 0.0, k * step[part, None])
        weight = np.where(beyond, 0.0, np.exp(-0.5 * z * z))
        weight /= weight.sum(axis=1, keepdims=True)
        centre, *terms = (each[part, None] for each in (first + mean, spread, *powers))
        start = centre + terms[0] * cubic(terms[1:], z)
        one_score(start, weight, survival, density, part)
    return survival, density


def one_score(start: Array, weight: Array, survival: Array, density: Array, rows: Array) -> None:
    """Write survivals and densities from places of log y at the grid's first v, and their weights,
    `(n, k)`.

    Left of some 40 places is the series of `gumbel`; to the right of them all is 0.
    """
    g = np.arange(survival.shape[1])
    least, most = start.min(axis=1), start.max(axis=1)
    early = np.clip(((LOG_SMALL - most) / STEP).astype(int), 0, len(g))
    part = np.exp(start - most[:, None])
    level = np.exp(np.minimum(most[:, None] + STEP * g, 0.0))
    one, two, three = ((weight * part**n).sum(axis=1, keepdims=True) * level**n for n in (1, 2, 3))
    late = g >= early[:, None]
    survival[rows] = np.where(late, 0.0, 1.0 - one + two / 2.0 - three / 6.0)
    density[rows] = np.where(late, 0.0, one - two + three / 2.0)
    end = np.clip(((LOG_DEAD - least) / STEP).astype(int) + 2, 0, len(g))
    places = early[:, None] + np.arange(max((end - early).max(), 0))
    y = np.exp(start + STEP * early[:, None])[:, :, None] * np.exp(
        STEP * np.arange(places.shape[1])
    )
    alive = np.exp(-y)
    values = weight[:, None] @ alive
    y *= alive
    slopes = weight[:, None] @ y
    inside = places < len(g)
    at = np.broadcast_to(rows[:, None], places.shape)[inside], places[inside]
    survival[at], density[at] = values[:, 0][inside], slopes[:, 0][inside]


def cumulants_from_densities(density: Array, first: Array) -> Array:
    """Four cumulants of W, as `cumulants_from_density` has: `(r, c, g), (r,) -> (4, r, c)`."""
    v = STEP * np.arange(density.shape[2])
    total = density.sum(axis=2)
    centre = (density @ v) / total
    d = v - centre[:, :, None]
    moments = []
    for _ in range(2, 5):
        moments.append(((density := density * d) * d).sum(axis=2) / total)
    second, third, fourth = moments
    return np.stack(
        [
            LOG_EXPONENTIAL[0] - centre - first[:, None],
            np.maximum(second - LOG_EXPONENTIAL[1], 1e-12),
            LOG_EXPONENTIAL[2] - third,
            fourth - 3.0 * second * second - LOG_EXPONENTIAL[3],
        ]
    )
