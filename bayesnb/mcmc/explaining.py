"""Why a row gets its class, as the mean over draws of what each draw's conjugate model says.

E[U] = E E[U | draw]      Var[U] = E Var[U | draw] + Var E[U | draw]
"""

from collections.abc import Sequence

import numpy as np

from bayesnb.families.base import Array, Cells
from bayesnb.inference.explanation import Explanation
from bayesnb.inference.explanation import explain as explain_one
from bayesnb.mcmc.ensemble import Ensemble


class Spread:
    """Mean and variance of what every draw knows a mean and a standard deviation of."""

    def __init__(self, mean: Array) -> None:
        self.first, self.draws = mean, 0  # differences to the first draw lose fewer digits
        self.sum, self.squares, self.within = np.zeros((3, *mean.shape))

    def add(self, mean: Array, sd: Array) -> None:
        possible = (mean > -np.inf) & (self.first > -np.inf)  # an impossible class has a score of minus infinity
        gap = np.where(possible, mean, 0.0) - np.where(possible, self.first, 0.0)
        self.draws += 1
        self.sum += gap
        self.squares += gap**2
        self.within += sd**2

    @property
    def mean(self) -> Array:
        return self.first + self.sum / self.draws

    @property
    def sd(self) -> Array:
        between = self.squares / self.draws - (self.sum / self.draws) ** 2
        return np.sqrt(np.maximum(between, 0.0) + self.within / self.draws)


def explain(ensemble: Ensemble, draws: Array, cells: Sequence[Cells], power: float) -> Explanation:
    """Every term of every row's scores, over the draws at some places."""
    found = explain_one(ensemble.model(int(draws[0])).posterior, cells, power)
    terms = Spread(found.evidence), Spread(found.class_term), Spread(found.score)
    gains = np.full_like(found.predictive, -np.inf), np.full_like(found.predictive_class_term, -np.inf)
    for draw in draws:
        found = explain_one(ensemble.model(int(draw)).posterior, cells, power)
        pairs = (found.evidence, found.sd), (found.class_term, found.class_term_sd), (found.score, found.score_sd)
        for own, pair in zip(terms, pairs, strict=True):
            own.add(*pair)
        for total, part in zip(gains, (found.predictive, found.predictive_class_term), strict=True):
            np.logaddexp(total, part, out=total)
    evidence, term, score = terms
    predictive, predictive_term = (total - np.log(len(draws)) for total in gains)
    each = (evidence.mean, evidence.sd, predictive), (term.mean, term.sd, predictive_term)
    return Explanation(*each[0], *each[1], score.sd, found.words)
