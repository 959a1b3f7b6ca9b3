"""Class shares among unlabelled rows, if nothing but these shares has changed.

    log likelihood of shares = sum over rows of log sum over classes of p(class | row) share / q

with p(class | row) under the learnt shares q. It is concave, and maximised by EM: the shares are
the mean of the probabilities under them. Saerens, Latinne and Decaestecker (2002), Adjusting the
outputs of a classifier to new a priori probabilities.

Intervals are from the profile likelihood, so they stay within [0, 1], and may end at 0 or 1. The
other classes share the rest along the line where they are most probable, to second order. Its
slopes come from the covariance of the shares under a uniform prior, which keeps them inside; with
shares = softmax(z), and R the `(r, c)` probabilities under them,

    precision of z = I + R'R - (n + c) shares shares'
"""

import numpy as np
from scipy.optimize import bisect
from scipy.special import ndtri

from bayesnb.families.base import Array

TOLERANCE = 1e-10
MAX_STEPS = 5_000


def estimate_prevalence(proba: Array, learnt: Array, prob: float) -> Array:
    """Estimate class shares and the ends of their intervals, `(3, c)`.

    `proba`, `(r, c)`, are class probabilities under the learnt shares, `(c,)`; they are 0 and 1 for
    known labels. A class with share 0 keeps it.
    """
    live = learnt > 0
    ratio = proba[:, live] / learnt[live]
    shares = _find_shares(ratio, learnt[live], 0.0)
    found = np.zeros((3, len(learnt)))
    found[:, live] = [shares, *_find_intervals(ratio, shares, prob)]
    return found


def _respond(ratio: Array, shares: Array) -> Array:
    """Return the class probabilities under other shares, `(r, c)`."""
    joint = ratio * shares
    return joint / joint.sum(axis=1, keepdims=True)


def _find_shares(ratio: Array, start: Array, extra: float) -> Array:
    """Return the most probable shares, with `extra` pseudo-rows of each class.

    EM steps are extrapolated as in SQUAREM: Varadhan and Roland (2008).
    """
    rows, classes = ratio.shape
    shares = start / start.sum()

    def step(shares: Array) -> Array:
        return (extra + _respond(ratio, shares).sum(axis=0)) / (rows + extra * classes)

    for _ in range(MAX_STEPS):
        once = step(shares)
        twice = step(once)
        move = once - shares
        bend = twice - once - move
        size = np.linalg.norm(move)
        if size < TOLERANCE:
            return twice
        length = size / max(np.linalg.norm(bend), TOLERANCE * size)
        further = shares + 2 * length * move + length**2 * bend
        shares = step(further) if (further > 0).all() else twice
    return shares


def _find_intervals(ratio: Array, shares: Array, prob: float) -> Array:
    """Return the lower and the upper ends of intervals, `(2, c)`."""
    ends = np.ones((2, len(shares)))
    if len(shares) == 1:
        return ends
    lines = _find_slopes(ratio, np.maximum(shares, TOLERANCE))
    least = np.log(ratio @ shares).sum() - ndtri((1 + prob) / 2) ** 2 / 2

    def miss(share: float, c: int) -> float:
        moved = np.maximum(shares + (share - shares[c]) * lines[c], 0.0)
        moved[c] = 0.0
        moved *= (1 - share) / max(moved.sum(), TOLERANCE)
        moved[c] = share
        with np.errstate(divide="ignore"):
            return least - np.log(ratio @ moved).sum()

    for c, share in enumerate(shares):
        for side in (0, 1):
            is_open = share == side or miss(side, c) <= 0
            ends[side, c] = side if is_open else bisect(miss, side, share, (c,), TOLERANCE)
    return ends


def _find_slopes(ratio: Array, start: Array) -> Array:
    """Return the slopes of all shares in the share of each class, `(c, c)`."""
    rows, classes = ratio.shape
    shares = _find_shares(ratio, start, 1.0)
    response = _respond(ratio, shares)
    outer = np.outer(shares, shares)
    precision = np.eye(classes) + response.T @ response - (rows + classes) * outer
    derivative = np.diag(shares) - outer
    covariance = derivative @ np.linalg.pinv(precision, hermitian=True) @ derivative
    return covariance / np.diag(covariance)[:, None]
