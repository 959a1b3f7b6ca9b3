"""An ensemble of conjugate models, one for each draw of what has no closed form, and what it explains and generates.

    p(x, y | D) = mean over draws of p(x, y | draw, D)

What is conjugate given a draw is integrated out, not drawn: only what is left makes the mean noisy. Arrays of several
draws hold the classes of one draw after those of another, `s * c` in a row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.dirichlet import Dirichlet
from bayesnb.families.known import KnownDie
from bayesnb.inference.explanation import Explanation
from bayesnb.inference.explanation import explain as explain_model
from bayesnb.inference.posterior_draws import repeated
from bayesnb.inference.row_sampling import draw_cells, stacked
from bayesnb.model.product import Model, Product, ProductStats
from bayesnb.model.schema import Schema
from bayesnb.numerics.special import log

PriorOfDraws = Callable[[Array], Belief]  # places of draws -> the prior of a block under each, `(s * c, f)`


@dataclass(frozen=True, eq=False)
class ConstantPrior:
    """The prior of a block, `(c, f)`, that is the same under every draw: such a block is scored only once."""

    prior: Belief

    def __call__(self, draws: Array) -> Belief:
        return self.prior.repeated(len(draws))


@dataclass(frozen=True, eq=False)
class Ensemble:
    """As many conjugate models as there are draws: their priors, and the stats that they share."""

    class_prior: Dirichlet | KnownDie  # `(c,)`; draws of `class_prob` take its place where there are any
    priors: Sequence[PriorOfDraws]
    stats: ProductStats
    size: int
    class_prob: Array | None = None  # drawn, `(s, c)`
    confusion: Array | None = None  # p(label that is read | class), drawn, `(s, c, c)`; None: labels are right

    @property
    def classes(self) -> int:
        return len(self.stats.classes)

    def posterior(self, draws: Array, blocks: Sequence[int] | None = None) -> tuple[Belief, ...]:
        """Posteriors of all blocks, or of the given ones, under the given draws, `(s * c, f)` each."""
        rows, stats = repeated(self.classes, len(draws)), self.stats.blocks
        return tuple(
            self.priors[b](draws).update(stats[b][rows]) for b in (range(len(stats)) if blocks is None else blocks)
        )

    def log_class(self, draws: Array) -> Array:
        """Log posterior predictive of the classes under each draw, `(s, c)`."""
        if self.class_prob is not None:
            return log(self.class_prob[draws])
        return np.repeat(self.class_prior.update(self.stats.classes).level_log_moment(1)[None], len(draws), axis=0)

    def model(self, draw: int) -> Model:
        """Return the conjugate model of one draw."""
        classes = self.class_prior if self.class_prob is None else KnownDie(self.class_prob[draw])
        return Model(Product(classes, tuple(prior(np.array([draw])) for prior in self.priors)), self.stats)


class EnsembleMoments:
    """Mean and standard deviation over an ensemble, from the mean and the standard deviation under each draw.

    E[U] = E E[U | draw]      Var[U] = E Var[U | draw] + Var E[U | draw]
    """

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
    """Explain the scores of rows by the mean over the given draws of what each draw's conjugate model says."""
    part = explain_model(ensemble.model(int(draws[0])).posterior, cells, power)
    evidence, term, score = map(EnsembleMoments, (part.evidence, part.class_term, part.score))
    predictive, predictive_term = np.full_like(part.predictive, -np.inf), np.full_like(part.class_term, -np.inf)
    for draw in draws:
        part = explain_model(ensemble.model(int(draw)).posterior, cells, power)
        evidence.add(part.evidence, part.sd)
        term.add(part.class_term, part.class_term_sd)
        score.add(part.score, part.score_sd)
        np.logaddexp(predictive, part.predictive, out=predictive)
        np.logaddexp(predictive_term, part.predictive_class_term, out=predictive_term)
    size = np.log(len(draws))
    by_feature, by_class = (evidence.mean, evidence.sd, predictive - size), (term.mean, term.sd, predictive_term - size)
    return Explanation(*by_feature, *by_class, score.sd, part.words)


def draw_rows(schema: Schema, ensemble: Ensemble, codes: Array, length: Any, rng: np.random.Generator) -> list[Cells]:
    """Draw the cells of every block from p(x | y, D), one row for each class in `codes`, under one draw each.

    p(x | y, D) = mean over draws of p(y | draw) p(x | y, draw, D), over p(y | D)
    """
    draws, class_prob = np.empty(len(codes), np.intp), np.exp(ensemble.log_class(np.arange(ensemble.size)))
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        draws[rows] = rng.choice(ensemble.size, len(rows), p=class_prob[:, c] / class_prob[:, c].sum())
    lengths = None if length is None else np.broadcast_to(length, codes.shape)
    order, parts = [], []
    for draw in np.unique(draws):
        rows = np.flatnonzero(draws == draw)
        order.append(rows)
        row_lengths = None if lengths is None else lengths[rows]
        parts.append(draw_cells(schema, ensemble.model(int(draw)), codes[rows], row_lengths, rng))
    back = np.argsort(np.concatenate(order))
    return [stacked(block)[back] for block in zip(*parts, strict=True)]
