"""An ensemble of conjugate models, one for each draw of the parameters without closed form.

    p(x, y | D) = mean over draws of
                  p(y | draw, D) * product over blocks of p(block's cells | y, draw, D)

Parameters that are conjugate given a draw are integrated out, which reduces the Monte Carlo error.
Arrays of several draws hold the classes of one draw after those of another, `s * c` in total. A few
draws and rows are processed at a time, which bounds memory.

For a row such as a text, draws from p(theta | D) may all have negligible weight. Then theta is
drawn given the row:

    p(theta | D, x)  =  mixture of p(theta | s, D, x, c) over draws s and classes c,
                        with weights p(x, c | s, D)

The weight of a draw is then p(x | s, D), with theta integrated out, which varies far less than p(x
| theta).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.certain import KnownDie
from bayesnb.families.dirichlet import Dirichlet, DirichletDensity
from bayesnb.families.levels import LevelDensity, draw_level
from bayesnb.inference.explanation import Explanation
from bayesnb.inference.explanation import explain as explain_model
from bayesnb.inference.posterior_draws import Theta, at_once, observe_powered, repeat_classes
from bayesnb.inference.row_sampling import draw_cells, stack_rows
from bayesnb.model.powers import Exponents
from bayesnb.model.product import (
    Model,
    Observer,
    Product,
    ProductStats,
    Rows,
    tempering_shift,
)
from bayesnb.model.schema import Schema
from bayesnb.numerics.special import log
from bayesnb.numerics.threads import blocks

# indices of draws -> the prior of a block under each, `(s * c, f)`
PriorOfDraws = Callable[[Array], Belief]
MAX_STEPS = 4  # blocks of draws used where theta is drawn given a row


def thin(draws: int, most: int) -> Array:
    """Return the indices of at most `most` draws, evenly spaced."""
    return np.arange(draws) if most >= draws else np.arange(most) * draws // most


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Conjugate models, one for each draw: their priors, and their common stats."""

    class_prior: Dirichlet | KnownDie  # `(c,)`, unless `class_prob` was drawn
    priors: Sequence[PriorOfDraws]
    stats: ProductStats
    size: int
    class_prob: Array | None = None  # drawn, `(s, c)`
    # p(observed label | class), drawn, `(s, c, c)`; None: labels are correct
    confusion: Array | None = None

    @property
    def classes(self) -> int:
        return len(self.stats.classes)

    @cached_property
    def step(self) -> int:
        """Number of draws processed together; it depends only on the model."""
        return at_once([prior(np.zeros(1, np.intp)) for prior in self.priors])

    def posterior(self, draws: Array) -> tuple[Belief, ...]:
        """Posteriors of all blocks under the given draws, `(s * c, f)` each."""
        rows = repeat_classes(self.classes, len(draws))
        pairs = zip(self.priors, self.stats.blocks, strict=True)
        return tuple(prior(draws).update(stats[rows]) for prior, stats in pairs)

    def log_class(self, draws: Array) -> Array:
        """Log posterior predictive of the classes under each draw, `(s, c)`."""
        if self.class_prob is not None:
            return log(self.class_prob[draws])
        predictive = self.class_prior.update(self.stats.classes).level_log_moment(1)
        return np.repeat(predictive[None], len(draws), axis=0)

    def model(self, draw: int) -> Model:
        """Return the conjugate model of one draw."""
        classes = self.class_prior if self.class_prob is None else KnownDie(self.class_prob[draw])
        priors = tuple(prior(np.array([draw])) for prior in self.priors)
        return Model(Product(classes, priors), self.stats)

    def log_joint(
        self, cells: Sequence[Cells], power: Exponents, n_jobs: int | None
    ) -> tuple[Array, Array]:
        """log p(x, y | D), `(r, c)`, and the effective number of draws for each row, `(r,)`."""
        rows = cells[0].shape[0]
        total = np.full((rows, self.classes), -np.inf)
        once, squared = np.full((2, rows), -np.inf)
        for places in blocks(self.size, self.step):
            draws = np.arange(places.start, places.stop)
            class_prob = DirichletDensity.of_logs(self.log_class(draws))
            theta = Theta(class_prob, self.posterior(draws))  # type: ignore[arg-type]
            for part, joint in theta.by_rows(cells, power, n_jobs):
                density = np.logaddexp.reduce(joint, axis=2)
                total[part] = np.logaddexp(total[part], np.logaddexp.reduce(joint, axis=1))
                once[part] = np.logaddexp(once[part], np.logaddexp.reduce(density, axis=1))
                squares = np.logaddexp.reduce(2 * density, axis=1)
                squared[part] = np.logaddexp(squared[part], squares)
        effective = np.full(rows, float(self.size))
        possible = once > -np.inf
        effective[possible] = np.exp(2 * once[possible] - squared[possible])
        return total - np.log(self.size), effective

    def log_read(self, draw: int, joint: Array, codes: Array) -> Array:
        """log p(x, observed label) under a draw, from log p(x, y), `(r, c) -> (r,)`."""
        if self.confusion is None:
            return joint[np.arange(len(joint)), codes]
        with np.errstate(invalid="ignore"):  # NaN stays for rows without a distribution
            return np.logaddexp.reduce(joint + log(self.confusion[draw]).T[codes], axis=1)

    def draw_theta(
        self, seed: int, cells: Sequence[Cells] | None = None
    ) -> Iterator[tuple[slice, Theta]]:
        """Yield one theta for each draw, from the posterior given it, by parts of the draws.

        With `cells`, theta includes combinations of levels that occur only in these rows.
        """
        for places in blocks(self.size, self.step):
            draws = np.arange(places.start, places.stop)
            rng = np.random.default_rng([seed, places.start])
            with np.errstate(all="ignore"):  # variances or rates may overflow
                if self.class_prob is None:
                    classes = self.class_prior.update(self.stats.classes).sample(rng, len(draws))
                else:
                    classes = DirichletDensity.of_logs(self.log_class(draws))
                beliefs = self.posterior(draws)
                theta = Theta(classes, tuple(belief.sample(rng) for belief in beliefs))
                if cells is not None:
                    theta = theta.opened(beliefs, cells, rng)
            yield places, theta

    def condition_on_row(
        self, seed: int, observers: Sequence[Observer], cells: Sequence[Cells], power: Exponents
    ) -> tuple[Array, Array]:
        """Log weights of all draws, `(s,)`, and p(y | x, theta), `(s, c)`, theta drawn given a row.

        Features count with their exponents. Draws that are not used have weight 0.
        """
        log_weight = np.full(self.size, -np.inf)
        proba = np.full((self.size, self.classes), 1 / self.classes)
        kept = thin(self.size, MAX_STEPS * self.step)
        rng = np.random.default_rng([seed, 1])
        for places in blocks(len(kept), self.step):
            draws = kept[places]
            triples = zip(self.posterior(draws), cells, observers, strict=True)
            parts = [belief.narrowed(x, observe) for belief, x, observe in triples]
            row = [part.cells for part in parts]
            class_prob = DirichletDensity.of_logs(self.log_class(draws))
            before = Theta(class_prob, tuple(part.belief for part in parts))
            with np.errstate(all="ignore"):  # variances or rates may overflow
                joint = before.log_joint(row, power)
                shift = tempering_shift(before.blocks, row, power)
                log_weight[draws] = np.logaddexp.reduce(joint[0], axis=1)
                codes = draw_level(before.proba(joint)[0], rng)
                classes = self._draw_class_prob(draws, codes, rng)
                other = (np.arange(self.classes) != codes[:, None]).ravel().astype(int)
                first = np.zeros(1, np.intp)  # the first of two classes
                seen = observe_powered(Rows([part.observe for part in parts], row, first), 2, power)
                pairs = zip(before.blocks, seen.blocks, strict=True)
                densities = tuple(
                    belief.update(stats[other]).sample(rng)  # type: ignore[attr-defined]
                    for belief, stats in pairs
                )
            after = Theta(classes, densities)
            joint = after.log_joint(row, power)
            joint += np.broadcast_to(shift, (1, joint[0].size)).reshape(joint.shape)
            proba[draws] = after.proba(joint)[0]
        return log_weight, proba

    def _draw_class_prob(
        self, draws: Array, codes: Array, rng: np.random.Generator
    ) -> LevelDensity:
        """Class probabilities of every draw, given one more label."""
        if self.class_prob is not None or isinstance(self.class_prior, KnownDie):
            return DirichletDensity.of_logs(self.log_class(draws))
        posterior = self.class_prior.update(self.stats.classes)
        return Dirichlet(posterior.concentration + np.eye(self.classes)[codes]).sample(rng)


class EnsembleMoments:
    """Mean and standard deviation over an ensemble, from those under each draw.

    E[U] = E E[U | draw]      Var[U] = E Var[U | draw] + Var E[U | draw]
    """

    def __init__(self, mean: Array) -> None:
        self.first = mean  # differences from the first draw lose fewer digits
        self.draws = 0
        self.sum, self.squares, self.within = np.zeros((3, *mean.shape))

    def add(self, mean: Array, sd: Array) -> None:
        with np.errstate(invalid="ignore"):
            gap = mean - self.first
        gap[~np.isfinite(gap)] = 0.0  # an impossible class has a score of minus infinity
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


def explain(
    ensemble: Ensemble, draws: Array, cells: Sequence[Cells], power: Exponents
) -> Explanation:
    """Average the explanations of the conjugate models over the given draws."""
    part = explain_model(ensemble.model(int(draws[0])).posterior, cells, power)
    evidence, term, score = map(EnsembleMoments, (part.evidence, part.class_term, part.score))
    predictive = np.full_like(part.predictive, -np.inf)
    predictive_term = np.full_like(part.class_term, -np.inf)
    for draw in draws:
        part = explain_model(ensemble.model(int(draw)).posterior, cells, power)
        evidence.add(part.evidence, part.sd)
        term.add(part.class_term, part.class_term_sd)
        score.add(part.score, part.score_sd)
        np.logaddexp(predictive, part.predictive, out=predictive)
        np.logaddexp(predictive_term, part.predictive_class_term, out=predictive_term)
    size = np.log(len(draws))
    return Explanation(
        evidence.mean,
        evidence.sd,
        predictive - size,
        term.mean,
        term.sd,
        predictive_term - size,
        score.sd,
        part.words,
    )


def draw_rows(
    schema: Schema, ensemble: Ensemble, codes: Array, length: Any, rng: np.random.Generator
) -> list[Cells]:
    """Draw cells of every block from p(x | y, D), one row for each class code, each from one draw.

    p(x | y, D) = mean over draws of p(y | draw) p(x | y, draw, D) / p(y | D)
    """
    draws = np.empty(len(codes), np.intp)
    class_prob = np.exp(ensemble.log_class(np.arange(ensemble.size)))
    for c in np.unique(codes):
        rows = codes == c
        weight = class_prob[:, c] / class_prob[:, c].sum()
        draws[rows] = rng.choice(ensemble.size, rows.sum(), p=weight)
    parts = []
    for draw in np.unique(draws):
        rows = draws == draw
        lengths = None if length is None else np.broadcast_to(length, codes.shape)[rows]
        parts.append(draw_cells(schema, ensemble.model(int(draw)), codes[rows], lengths, rng))
    back = np.argsort(np.argsort(draws, kind="stable"))
    return [stack_rows(block)[back] for block in zip(*parts, strict=True)]
