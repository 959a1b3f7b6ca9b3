"""How unsure a row's label is, and why: because classes overlap, or because too little is known about them.

    entropy of E p = expected entropy of p + mutual information of the label and the parameters

The first part stays however many rows are seen (aleatoric), the second goes away (epistemic).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from bayesnb.families.base import Array
from bayesnb.model import normalised
from bayesnb.threads import blocks, in_order
from bayesnb.uncertainty.scores import Scores
from bayesnb.uncertainty.softmax import active, means_and_entropies

HOPELESS = 32.0  # minus the log of an expected probability that is left out
ROWS = 1 << 10  # at once


class Entropies(NamedTuple):
    """The mean of the law of p(y | x, theta), `(r, c)`, the entropy of that mean and its two parts, in nats, `(r,)`."""

    probability: Array
    entropy: Array
    aleatoric: Array
    epistemic: Array


def entropies(scores: Scores, observed: bool, n_jobs: int | None = 1) -> Entropies:
    """Exact, for every row; a class of probability 0 keeps it. A row without a law has NaN."""
    live = scores.belief.live
    probability, aleatoric = np.zeros((len(scores), len(live))), np.zeros(len(scores))
    possible = scores if live.all() else scores.of(live)
    if live.sum() == 1:
        probability[:, live] = 1.0
        return Entropies(probability, aleatoric, aleatoric, aleatoric)

    def some(rows: slice) -> None:
        probability[rows, live], aleatoric[rows] = _of_rows(possible[rows], observed)

    list(in_order(some, blocks(len(scores), ROWS), n_jobs))
    entropy = -xlogy(probability, probability).sum(axis=1)
    epistemic = np.maximum(entropy - aleatoric, 0.0)  # below 0 is rounding
    return Entropies(probability, entropy, entropy - epistemic, epistemic)


def _of_rows(scores: Scores, observed: bool) -> tuple[Array, Array]:
    log_mean = scores.log_mean()
    good = np.isfinite(log_mean).all(axis=1) & np.isfinite(scores.cumulants()).all(axis=(0, 2))
    if not good.all():
        mean, entropy = np.full(log_mean.shape, np.nan), np.full(len(log_mean), np.nan)
        if good.any():
            mean[good], entropy[good] = _of_rows(scores[good], observed)
        return mean, entropy
    mean, entropy = means_and_entropies(scores, active(scores, log_mean, observed, HOPELESS), observed)
    if observed:
        return np.exp(normalised(log_mean)), entropy
    mean = np.clip(mean, 0.0, 1.0)
    return mean / mean.sum(axis=1, keepdims=True), entropy
