"""Entropies of the label of a row: aleatoric and epistemic uncertainty.

    entropy of E p = expected entropy of p + mutual information of the label and the parameters

The first part remains with any number of training rows (aleatoric: the classes overlap), the second
vanishes (epistemic: the parameters are uncertain).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import loggamma, psi, xlogy

from bayesnb.families.base import Array, Rng
from bayesnb.inference.characteristic_functions import active, characteristic_functions
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.posterior_draws import draw_by_rows, draw_fallback, mean_error, warn_drawn
from bayesnb.model.product import Observer
from bayesnb.numerics.threads import blocks, in_order

# minus the log of an expected probability that is neglected: -p log p is 4e-13 there
LOG_NEGLIGIBLE = 32.0
ROWS_AT_ONCE = 1 << 10  # rows at once


class Entropies(NamedTuple):
    """Mean of p(y | x, theta), `(r, c)`, its entropy in nats and the two parts, `(r,)` each."""

    probability: Array
    entropy: Array
    aleatoric: Array
    epistemic: Array


def entropies(scores: Scores, observed: bool, n_jobs: int | None = 1) -> Entropies:
    """Exact entropies of each row; NaN where cumulants do not exist."""
    live = scores.belief.live
    probability = np.zeros((len(scores), len(live)))
    aleatoric = np.zeros(len(scores))
    possible = scores if live.all() else scores.of(live)
    if live.sum() == 1:
        probability[:, live] = 1.0
        return Entropies(probability, aleatoric, aleatoric, aleatoric)

    def add_rows(rows: slice) -> None:
        probability[rows, live], aleatoric[rows] = _compute_rows(possible[rows], observed)

    list(in_order(add_rows, blocks(len(scores), ROWS_AT_ONCE), n_jobs))
    return split_entropy(probability, aleatoric)


def draw_entropies(
    scores: Scores, observers: Sequence[Observer] | None, draws: int, rng: Rng = None
) -> tuple[Entropies, float]:
    """Entropies from draws, and the largest standard error of the expected entropy."""
    error = 0.0
    probability = np.empty((len(scores), scores.classes))
    aleatoric = np.empty(len(scores))
    for rows, mean, proba in draw_by_rows(scores, observers, draws, rng):
        entropy = -xlogy(proba, proba).sum(axis=-1)
        probability[rows], aleatoric[rows] = mean, entropy.mean(axis=0)
        error = max(error, mean_error(entropy))
    return split_entropy(probability, aleatoric), error


def split_entropy(probability: Array, aleatoric: Array) -> Entropies:
    """Split the entropies of means, `(r, c)`, by the expected entropies, `(r,)`."""
    entropy = -xlogy(probability, probability).sum(axis=1)
    aleatoric = np.clip(aleatoric, 0.0, entropy)  # beyond is rounding
    return Entropies(probability, entropy, aleatoric, entropy - aleatoric)


def _compute_rows(scores: Scores, observed: bool) -> tuple[Array, Array]:
    """Means of p(y | x, theta), and expected entropies, summed over classes.

    Rows whose transforms would take too long are drawn.
    """
    share = scores.share
    entropy = np.full(len(share), np.nan)
    good = np.isfinite(scores.log_mean).all(axis=1)
    good &= np.isfinite(scores.cumulants()).all(axis=(0, 2))
    good &= np.isfinite(scores.pair_cumulants(False)).all(axis=(0, 1, 3))
    mean = np.full(share.shape, np.nan)
    defined = np.flatnonzero(good)
    if not len(defined):
        return mean, entropy
    scores = scores[defined]
    mean[defined] = share[defined] if observed else 0.0
    kept = active(scores, observed, LOG_NEGLIGIBLE)
    for part in characteristic_functions(scores, kept, observed, narrow=False):
        rows = defined[part.rows]
        kernel = entropy_kernel(0.5 if observed else 0.0, part.t).conj()
        entropy[rows] = part.step / np.pi * (part.phi * kernel).real.sum(axis=(1, 2))
        if not observed:
            mean[rows[:, None], part.classes] = part.means()
    heavy = np.flatnonzero(np.isnan(entropy[defined]))
    if len(heavy):
        proba = draw_fallback(scores[heavy])
        each = -xlogy(proba, proba).sum(axis=-1)
        warn_drawn(len(heavy), len(proba), max(mean_error(proba), mean_error(each)))
        mean[defined[heavy]], entropy[defined[heavy]] = proba.mean(axis=0), each.mean(axis=0)
    return mean / mean.sum(axis=1, keepdims=True), entropy


def entropy_kernel(line: float, t: Array) -> Array:
    """Fourier transform of -p log p, p = 1 / (1 + exp(-x)).

    On the line 1/2, of that function times 2 cosh(x / 2). By Parseval's identity its integral
    against phi is the expected entropy.
    """
    if line:
        return _entropy_kernel(0.5 + 1j * t) + _entropy_kernel(-0.5 + 1j * t)
    return _entropy_kernel(1j * t)


def _entropy_kernel(s: Array) -> Array:
    """Integral of -p log p exp(s x) dx: with x = logit p, a derivative of the Beta function."""
    return -(psi(1 + s) - psi(1)) * np.exp(loggamma(1 + s) + loggamma(-s))
