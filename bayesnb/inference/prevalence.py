"""Shares of the classes among rows without labels, if nothing but these shares has changed.

    log likelihood of shares = sum over rows of log sum over classes of p(class | row) share / q

p(class | row) under the shares learnt, q. It is concave, and is maximised by expectation and
maximisation: the shares are the mean of the probabilities under them. Saerens, Latinne and
Decaestecker (2002), Adjusting the outputs of a classifier to new a priori probabilities.

For intervals the shares have a uniform prior. In the coordinates z of shares = softmax(z) their
posterior has its mode inside, also where no row speaks for a class, and near it

    precision of z = I + R'R - (n + c) shares shares'

with R the `(r, c)` probabilities under the shares at the mode. The log-odds of a share is taken as
normal.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri

from bayesnb.families.base import Array

TOLERANCE = 1e-10
MAX_STEPS = 5_000


class Prevalence(NamedTuple):
    """Shares of classes with their intervals, `(c,)`, and probabilities under them, `(r, c)`."""

    share: Array
    lower: Array
    upper: Array
    probability: Array


def estimate_prevalence(proba: Array, learnt: Array, prob: float) -> Prevalence:
    """Estimate shares by probabilities of the classes, `(r, c)`, under the shares learnt, `(c,)`.

    A class that cannot be, of the share 0, stays so.
    """
    live = learnt > 0
    ratio = proba[:, live] / learnt[live]
    share = np.zeros((3, len(learnt)))
    share[0, live] = _find_shares(ratio, learnt[live], 0.0)
    share[1:, live] = _find_interval(ratio, learnt[live], prob)
    share[1] = np.minimum(share[1], share[0])
    share[2] = np.maximum(share[2], share[0])
    probability = np.zeros(proba.shape)
    probability[:, live] = _respond(ratio, share[0, live])
    return Prevalence(share[0], share[1], share[2], probability)


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


def _find_interval(ratio: Array, start: Array, prob: float) -> Array:
    """Return the lower and the upper ends of intervals, `(2, c)`."""
    rows, classes = ratio.shape
    if classes == 1:
        return np.ones((2, 1))
    shares = _find_shares(ratio, start, 1.0)
    response = _respond(ratio, shares)
    outer = np.outer(shares, shares)
    precision = np.eye(classes) + response.T @ response - (rows + classes) * outer
    covariance = np.linalg.pinv(precision, hermitian=True)
    # derivatives of the log-odds of each share by z
    slopes = -shares / (1 - shares)[:, None]
    np.fill_diagonal(slopes, 1.0)
    sd = np.sqrt(np.einsum("ck,kl,cl->c", slopes, covariance, slopes))
    return expit(logit(shares) + np.array([[-1], [1]]) * ndtri((1 + prob) / 2) * sd)
