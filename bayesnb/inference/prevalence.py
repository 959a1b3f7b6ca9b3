"""Shares of the classes among rows without labels, if nothing but these shares has changed.

    log likelihood of shares = sum over rows of log sum over classes of p(class | row) share / q

p(class | row) under the shares learnt, q. It is concave, and is maximised by expectation and
maximisation: the shares are the mean of the probabilities under them. Saerens, Latinne and
Decaestecker (2002), Adjusting the outputs of a classifier to new a priori probabilities.

An interval holds the shares of a class whose log likelihood is near enough to the largest: the
profile likelihood, whose interval stays within [0, 1], and may end at 0 or 1. The other classes
share what is left along the line on which they are most probable, to second order. Its slopes are
those of the covariance of the shares, under a uniform prior, which keeps them inside; with shares =
softmax(z), and R the `(r, c)` probabilities under them,

    precision of z = I + R'R - (n + c) shares shares'
"""

import numpy as np
from scipy.optimize import bisect
from scipy.special import ndtri

from bayesnb.families.base import Array

TOLERANCE = 1e-10
MAX_STEPS = 5_000


def estimate_prevalence(proba: Array, learnt: Array, prob: float) -> Array:
    """Estimate shares of classes and the ends of their intervals, `(3, c)`.

    By probabilities of the classes, `(r, c)`, under the shares learnt, `(c,)`. Those of labels that
    are known are 0 and 1. A class that cannot be, of the share 0, stays so.
    """
    live = learnt > 0
    ratio = proba[:, live] / learnt[live]
    shares = _find_shares(ratio, learnt[live], 0.0)
    found = np.zeros((3, len(learnt)))
    found[:, live] = [shares, *_find_intervals(ratio, shares, prob)]
    return found


def _respond(ratio: Array, shares: Array) -> Array:
    """Return the probabilities of the classes under some shares, `(r, c)`."""
    joint = ratio * shares
    return joint / joint.sum(axis=1, keepdims=True)


def _find_shares(ratio: Array, start: Array, extra: float) -> Array:
    """Return the most probable shares, as if there were so many extra rows of each class.

    Steps are extrapolated as in SQUAREM: Varadhan and Roland (2008).
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
    """Return how the other shares move with the share of each class, `(c, c)`."""
    rows, classes = ratio.shape
    shares = _find_shares(ratio, start, 1.0)
    response = _respond(ratio, shares)
    outer = np.outer(shares, shares)
    precision = np.eye(classes) + response.T @ response - (rows + classes) * outer
    derivative = np.diag(shares) - outer
    covariance = derivative @ np.linalg.pinv(precision, hermitian=True) @ derivative
    return covariance / np.diag(covariance)[:, None]
