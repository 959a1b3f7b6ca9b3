"""Cumulants of W_c = log of the sum of exp(U_k) over all classes k but c, for each class c.

With E ~ Exp(1) independent of the scores, T_k = log E - U_k exceeds v with probability S_k(v) = E
exp(-exp(v + U_k)). Given the scores, log E - W exceeds v with probability exp(-exp(v) sum
exp(U_k)); averaged over independent scores, this is the product of the S_k. So one sum over v
replaces an integral with one dimension per class. The cumulants of W are those of log E minus those
of log E - W, times (-1)**n. Each S_k is a sum over a standard normal z, with scores by their
Cornish-Fisher expansion.
"""

import numpy as np

from bayesnb.numerics.compilation import Array, compiled
from bayesnb.numerics.cornish_fisher import expand, of_like_length, polynomials, squared_bends
from bayesnb.numerics.elementary import exp

# step of v: the transform of log E decays like exp(-pi t / 2), so sums are exact to
# exp(-pi**2 / STEP) = 2e-11
STEP = 0.4
LEFT = 36.0  # range of v left of the largest score: 1 - S is exp(-36) = 2e-16 there
RIGHT = 3.7  # range of v right of the end of all classes but one: P(log E > 3.7) = 3e-18
REACH = 6.5  # range of z; the tails have probability 8e-11
# Cumulants of log E: polygamma functions at 1, of orders 0 to 3.
LOG_EXPONENTIAL = (-0.5772156649015329, 1.6449340668482264, -2.4041138063191885, 6.493939402266829)
TINY = 1e-290  # least survival that is divided by: its logarithm and its inverse are normal doubles
# standard deviation and bend above which four cumulants do not describe a score: the row is marked
# as crude
WIDE = 20.0
WILD = 1.2
# variance up to which, with two active classes, the sum is computed for the negligible ones; its
# length grows with the variance
CHEAP = 9.0
# standard deviation below which W is linear in the scores except for its mean; sums would lose
# digits there
NARROW = 0.02
SCORES = 200  # scores at once, whose grids fit in a core's cache, and nodes of scores
NODES = 1 << 15
LITTLE = 1_500  # scores: the definition takes about 40 milliseconds, the compiler a second
# points of v for which exp(v) is one factor times powers of exp(STEP), up to 1e11; then y is
# computed anew, as a y that underflowed would stay 0
AFRESH = 64
LOG_DEAD = 6.7  # log y above which exp(-y) is 0 as a double
# log y up to which exp(-y) is 1 - y + y**2 / 2 - y**3 / 6: the next term is below 5e-18
LOG_SMALL = -9.2


def cumulants_of_others(
    alone: Array, seen: Array, share: Array, active: Array
) -> tuple[Array, Array, Array, Array]:
    """Cumulants of W_c, `(4, r, c), (4, r, c), (r, c), (r, c) -> 2 of (4, r, c), (r, c), (r,)`.

    Returns the cumulants; those after one of the classes other than c has seen the row; the
    expected probability before that, NaN where unknown; and what approximations add to the errors
    of quantiles. Only active classes count. Where scores are too irregular for their expansions,
    W_c is replaced by the score of the most probable class other than c, and that error is
    infinite.
    """
    few = active.sum(axis=1)
    widest = np.where(active, alone[1], 0.0).max(axis=1, initial=0.0)
    good = np.ones(active.shape, bool)
    with np.errstate(all="ignore"):
        for cumulants in (alone, seen):
            good &= (cumulants[1] < WIDE * WIDE) & (squared_bends(cumulants) < WILD * WILD)
    narrow = (few > 2) & (widest < NARROW * NARROW)
    # With two active classes, only the negligible ones need W.
    wild = ~narrow & ((active & ~good).any(axis=1) | ((few == 2) & (widest > CHEAP)))
    crude = np.where(narrow & (widest > 1e-5), 0.1 * widest, 0.0)
    crude[wild & (few > 2)] = np.inf
    others = np.empty_like(alone)
    others_seen = np.empty_like(seen)
    mean = np.full(share.shape, np.nan)
    for c in range(share.shape[1] if narrow.any() else 0):
        among = active[narrow] & (np.arange(share.shape[1]) != c)
        parts = alone[:, narrow], seen[:, narrow], share[narrow], among
        others[:, narrow, c], others_seen[:, narrow, c] = linear_others(*parts)
    rest = np.flatnonzero(~narrow & ~wild)
    step = max(SCORES // share.shape[1], 1)
    for start in range(0, len(rest), step):
        rows = rest[start : start + step]
        parts = alone[:, rows], seen[:, rows], share[rows], active[rows]
        with np.errstate(all="ignore"):
            sums = sums_over_grids(*parts, 2 * len(rest) * share.shape[1])
        others[:, rows], others_seen[:, rows], proba = sums
        mean[rows] = np.where(active[rows], proba, np.nan)
    i, c = np.nonzero(((few == 2)[:, None] & active) | wild[:, None])
    k = best_of_others(share, active)[i, c]
    others[:, i, c], others_seen[:, i, c] = alone[:, i, k], seen[:, i, k]
    return others, others_seen, mean, crude


def best_of_others(share: Array, active: Array) -> Array:
    """Index of the most probable class; for that class itself, of the first other active one.

    Shapes: `2 of (r, c) -> (r, c)`.
    """
    each = np.arange(share.shape[1])
    best = share.argmax(axis=1)[:, None]
    beside = active & (each != best)
    second = np.where(beside.any(axis=1), beside.argmax(axis=1), best[:, 0])[:, None]
    return np.where(each == best, second, best)


def linear_others(alone: Array, seen: Array, share: Array, among: Array) -> tuple[Array, Array]:
    """Cumulants of log sums over some classes whose scores hardly vary, `-> 2 of (4, r)`.

    The sum is linear in the scores except for its mean: with q the softmax of the mean scores, W =
    W(means) + sum q_k dU_k + sum q_k (1 - q_k) dU_k**2 / 2 on average.
    """
    level = np.where(among, alone[0], -np.inf)
    log_total = np.logaddexp.reduce(level, axis=1)
    q = np.exp(level - log_total[:, None])
    power = q * q
    total = np.empty((4, len(q)))
    with np.errstate(all="ignore"):
        total[0] = log_total + (0.5 * (q - power) * alone[1]).sum(axis=1)
        for n in range(1, 4):
            total[n] = (power * alone[n]).sum(axis=1)
            power = power * q
        known = np.where(among, share, 0.0)
        shift = np.where(among, known * q * (seen[0] - alone[0]), 0.0).sum(axis=1)
        after = total.copy()
        after[0] += shift / known.sum(axis=1)
    return total, after


def sums_over_grids(
    alone: Array, seen: Array, share: Array, active: Array, scores: int
) -> tuple[Array, Array, Array]:
    """Cumulants of W_c of rows, before and after an update by the row, and mean probabilities.

    Shapes: `-> 2 of (4, r, c), (r, c)`.

    The log of the product of survivals, its slope, and its change when a class sees the row are
    summed over all classes, then class c's part is subtracted. Sums for the changes keep the most
    probable class apart, as rounding would otherwise lose the smaller ones. `scores` is the total
    number of scores.
    """
    both = np.stack([alone, seen], axis=1)
    z = 0.5 * np.arange(14).reshape(-1, 1, 1, 1)
    tops = np.maximum(expand(polynomials(both), z).max(axis=0), both[0])
    first = np.where(active, -tops, np.inf).min(axis=(0, 2)) - LEFT
    # the end of all classes but one
    last = np.sort(np.where(active, REACH * np.sqrt(alone[1]) - alone[0], np.inf), axis=1)[:, 1]
    sizes = ((last + RIGHT - first) / STEP).astype(int) + 2
    shape = 2, *share.shape, sizes.max()
    survival = np.ones(shape)
    density = np.zeros(shape)
    which = np.broadcast_to(active, both.shape[1:])
    starts = np.broadcast_to(first[:, None], both.shape[1:])
    survival[which], density[which] = gumbels(both[:, which], starts[which], shape[-1], scores)

    # the survival of an inactive class is 1 everywhere
    alive = np.maximum(survival[0], TINY)
    logs = np.log(alive)
    hazard = density[0] / alive
    product = np.exp(logs.sum(axis=1, keepdims=True) - logs)
    product *= (np.arange(shape[-1]) < sizes[:, None])[:, None]
    mean = STEP * np.einsum("rcg,rcg->rc", density[0], product)
    hazards = hazard.sum(axis=1, keepdims=True) - hazard
    levels = np.where(active, share, 0.0)[:, :, None] * (survival[1] / alive)
    slopes = np.where(active, share, 0.0)[:, :, None] * (density[1] / alive) - levels * hazard
    best = np.arange(len(share)), share.argmax(axis=1)
    change = sum_of_others(slopes, best) + sum_of_others(levels, best) * hazards
    before = cumulants_from_densities(product * hazards, first)
    return before, cumulants_from_densities(product * change, first), mean


def sum_of_others(part: Array, best: tuple[Array, Array]) -> Array:
    """Sum over all other classes, for each class, `(r, c, g)`; the best one is kept apart."""
    largest = part[best]
    others = part.copy()
    others[best] = 0.0
    rest = others.sum(axis=1)
    total = largest[:, None] + (rest[:, None] - others)
    total[best] = rest
    return total


def gumbels(cumulants: Array, first: Array, size: int, scores: int) -> tuple[Array, Array]:
    """P(log E - U > v) and densities at v = first + g STEP, for scores U.

    Shapes: `(4, n), (n,) -> 2 of (n, size)`.
    """
    survival, density = np.zeros((2, len(first), size))
    parts = polynomials(cumulants)
    # step of z: exact to exp(-pi**2 / (spread * step)), 5e-5
    step = np.where(parts[1] < 2, 0.5, 1.0 / np.maximum(parts[1], 2))
    half = (REACH / step).astype(int)
    for some in of_like_length(2 * half + 1, NODES):
        k = np.arange(-half[some].max(), half[some].max() + 1)
        z = k * step[some, None]
        weight = np.where(np.abs(k) > half[some, None], 0.0, np.exp(-0.5 * z * z))
        weight /= weight.sum(axis=1, keepdims=True)
        log_y = np.where(weight > 0, first[some, None] + expand(parts[:, some, None], z), -np.inf)
        survival[some], density[some] = sums_over_nodes(log_y, weight, size, scores)
    return survival, density


def sums_over_nodes(log_y: Array, weight: Array, size: int, scores: int) -> tuple[Array, Array]:
    """Means of exp(-y) and of y exp(-y) over weighted nodes, `(n, k), (n, k) -> 2 of (n, size)`.

    y is exp(log_y) at the first point, and grows by exp(STEP) from point to point. Where it is
    small for all nodes, exp(-y) is a series in three moments of y.
    """
    most = log_y.max(axis=1, keepdims=True)
    part = np.exp(log_y - most)
    one = (weight * part).sum(axis=1, keepdims=True)
    two = (weight * part * part).sum(axis=1, keepdims=True)
    three = (weight * part * part * part).sum(axis=1, keepdims=True)
    early = np.clip(((LOG_SMALL - most) / STEP).astype(int), 0, size)
    y = np.exp(np.minimum(most + STEP * np.arange(size), 0.0))
    survival = 1.0 - y * (one - y * (two / 2.0 - y * (three / 6.0)))
    density = y * (one - y * (two - y * (three / 2.0)))
    late = np.arange(size) >= early
    survival[late], density[late] = 0.0, 0.0
    add_later(log_y, weight, early[:, 0], survival, density, scores)
    return survival, density


@compiled
def add_later(
    log_y: Array, weight: Array, early: Array, survival: Array, density: Array, scores: int
) -> None:
    """Add the terms of nodes from the points `early` on, `(n,)`: about 40 until all are 0."""
    grow = np.empty(AFRESH)
    for g in range(AFRESH):
        grow[g] = np.exp(STEP * g)
    for i in range(len(log_y)):
        for start in range(early[i], survival.shape[1], AFRESH):
            alive = survival[i, start : start + AFRESH]
            dying = density[i, start : start + AFRESH]
            for k in range(log_y.shape[1]):
                w = weight[i, k]
                log_first = log_y[i, k] + STEP * start
                if log_first < LOG_DEAD:
                    y = np.exp(log_first)
                    for g in range(len(alive)):
                        part = min(y * grow[g], 709.0)  # exp(-709) is 0 here
                        died = w * exp(-part)
                        alive[g] += died
                        dying[g] += died * part


@add_later.defined(LITTLE, lambda *args: args[-1])
def add_later_by_definition(
    log_y: Array, weight: Array, early: Array, survival: Array, density: Array, scores: int
) -> None:
    size = survival.shape[1]
    for i in range(len(log_y)):
        y = np.exp(np.minimum(log_y[i, :, None] + STEP * np.arange(early[i], size), LOG_DEAD))
        alive = np.exp(-y)
        survival[i, early[i] :] = weight[i] @ alive
        density[i, early[i] :] = weight[i] @ (y * alive)


def cumulants_from_densities(density: Array, first: Array) -> Array:
    """Four cumulants of W from densities of log E - W on a grid, `(r, c, g), (r,) -> (4, r, c)`.

    Densities need not be normalised.
    """
    v = STEP * np.arange(density.shape[2])
    total = density.sum(axis=2)
    centre = (density @ v) / total
    d = v - centre[:, :, None]
    moments = []
    for _ in range(2, 5):
        density = density * d
        moments.append(np.einsum("rcg,rcg->rc", density, d) / total)
    second, third, fourth = moments
    return np.stack(
        [
            LOG_EXPONENTIAL[0] - centre - first[:, None],
            np.maximum(second - LOG_EXPONENTIAL[1], 1e-12),
            LOG_EXPONENTIAL[2] - third,
            fourth - 3.0 * second * second - LOG_EXPONENTIAL[3],
        ]
    )
