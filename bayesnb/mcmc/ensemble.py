"""An ensemble of conjugate models, one for each draw of what has no closed form: what it says of rows and generates.

    p(x, y | D) = mean over draws of  p(y | draw, D) * product over blocks of p(block's cells | y, draw, D)

What is conjugate given a draw is integrated out, not drawn: only what is left makes the mean noisy. Arrays of several
draws hold the classes of one draw after those of another, `s * c` in a row. A few draws and rows are worked on at a
time, which bounds memory.

Draws from p(theta | D) may know nothing of a row such as a text. Then theta is drawn once the row was seen:

    p(theta | D, x)  =  mixture of p(theta | s, D, x, c) over draws s and classes c, with weights p(x, c | s, D)

The weight of a draw is then p(x | s, D), in which theta is integrated out: far more even than p(x | theta).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bayesnb.families.base import Array, Belief, Cells, Narrowed
from bayesnb.families.certain import KnownDie
from bayesnb.families.dirichlet import Dirichlet, DirichletDensity, draw_level
from bayesnb.inference.explanation import Explanation
from bayesnb.inference.explanation import explain as explain_model
from bayesnb.inference.posterior_draws import CELLS, Theta, at_once, observed_by, repeated
from bayesnb.inference.row_sampling import draw_cells, stacked
from bayesnb.model.powers import Exponents, is_silent, of_rows
from bayesnb.model.product import Model, Observer, Product, ProductStats, Rows, tempering_shift
from bayesnb.model.schema import Schema
from bayesnb.numerics.special import log
from bayesnb.numerics.threads import blocks

PriorOfDraws = Callable[[Array], Belief]  # places of draws -> the prior of a block under each, `(s * c, f)`
STEPS = 4  # at most, of as many draws as are worked on together, where theta is drawn once a row was seen


def thinned(draws: int, most: int) -> Array:
    """Return the places of at most `most` draws, evenly spaced."""
    return np.arange(draws) if most >= draws else np.arange(most) * draws // most


@dataclass(frozen=True, eq=False)
class ConstantPrior:
    """The prior of a block, `(c, f)`, that is the same under every draw: such a block is scored only once."""

    prior: Belief

    def __call__(self, draws: Array) -> Belief:
        return self.prior.repeated(len(draws))


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Conjugate models, one for each draw: their priors, and the stats that they share."""

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


def explain(ensemble: Ensemble, draws: Array, cells: Sequence[Cells], power: Exponents) -> Explanation:
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


class EnsembleDensity(NamedTuple):
    """log p(x, y | D), `(r, c)`, and how many draws of equal weight each row leaves, `(r,)`."""

    joint: Array
    effective: Array


class EnsembleScorer:
    """An ensemble, and the seed of the theta that each draw is given."""

    def __init__(self, ensemble: Ensemble, seed: int, n_jobs: int | None) -> None:
        self.ensemble, self.seed, self.n_jobs = ensemble, seed, n_jobs

    @cached_property
    def step(self) -> int:
        """Return how many draws are worked on together; it depends on the model alone."""
        return at_once([prior(np.zeros(1, np.intp)) for prior in self.ensemble.priors])

    def density(self, cells: Sequence[Cells], power: Exponents) -> EnsembleDensity:
        """Mean of p(x, y | draw, D) over all draws, the features of each counting by their exponents."""
        rows, classes = cells[0].shape[0], self.ensemble.classes
        joint, (once, squared) = np.full((rows, classes), -np.inf), np.full((2, rows), -np.inf)
        for places, joints in self._by_draws(cells, power):
            for total, part in zip((joint, once, squared), _sums(joints), strict=True):
                total[places] = np.logaddexp(total[places], part)
        possible = once > -np.inf
        effective = np.exp(np.where(possible, 2 * once, 0.0) - np.where(possible, squared, 0.0))
        return EnsembleDensity(joint - np.log(self.ensemble.size), np.where(possible, effective, self.ensemble.size))

    def thetas(self, draws: Array, cells: Sequence[Cells] | None = None) -> Iterator[tuple[slice, Theta]]:
        """Yield one theta for each draw, from the posterior given it; the same one, whichever others are asked for.

        With `cells`, theta has parameters of what these rows hold and no row learnt did.
        """
        ensemble = self.ensemble
        for start in range(0, ensemble.size, self.step):
            together = np.arange(start, min(start + self.step, ensemble.size))
            first, last = np.searchsorted(draws, (start, start + len(together)))
            if first == last:
                continue
            rng = np.random.default_rng([self.seed, start])
            with np.errstate(all="ignore"):  # of a variance or a rate that leaves the range of floats
                class_prob = self._class_prob(together, rng)
                beliefs = ensemble.posterior(together)
                theta = Theta(class_prob, tuple(belief.sample(rng) for belief in beliefs))
                theta = theta if cells is None else theta.opened(beliefs, cells, rng)
            yield slice(int(first), int(last)), _at_draws(theta, draws[first:last] - start)

    def _class_prob(self, draws: Array, rng: np.random.Generator) -> DirichletDensity:
        if self.ensemble.class_prob is not None:
            return DirichletDensity.of_logs(self.ensemble.log_class(draws))
        return self.ensemble.class_prior.update(self.ensemble.stats.classes).sample(rng, len(draws))

    def _by_draws(self, cells: Sequence[Cells], power: Exponents) -> Iterator[tuple[slice, Array]]:
        """Yield rows and their log p(x, y | draw), never NaN, for a few rows and draws at a time, `(r, s, c)`."""
        varying = [b for b, prior in enumerate(self.ensemble.priors) if not isinstance(prior, ConstantPrior)]
        fixed, varying_cells = self._fixed(cells, power), [cells[b] for b in varying]
        power = tuple(power[b] for b in varying) if isinstance(power, tuple) else power
        for places in blocks(self.ensemble.size, self.step):
            draws = np.arange(places.start, places.stop)
            class_prob = DirichletDensity.of_logs(self.ensemble.log_class(draws))
            theta = Theta(class_prob, self.ensemble.posterior(draws, varying))  # type: ignore[arg-type]
            for rows in blocks(len(fixed), max(CELLS // (len(draws) * self.ensemble.classes), 1)):
                with np.errstate(invalid="ignore"):
                    if varying:
                        joint = theta.log_joint([x[rows] for x in varying_cells], power, self.n_jobs)
                        joint = joint + fixed[rows, None]
                    else:
                        joint = class_prob.log_probability + fixed[rows, None]
                joint[np.isnan(joint)] = -np.inf
                yield rows, joint

    def _fixed(self, cells: Sequence[Cells], power: Exponents) -> Array:
        """Scores of the blocks whose prior no draw changes, `(r, c)`."""
        total = np.zeros((cells[0].shape[0], self.ensemble.classes))
        ensemble, powers = self.ensemble, of_rows(power, cells)
        for prior, stats, x, w in zip(ensemble.priors, ensemble.stats.blocks, cells, powers, strict=True):
            if isinstance(prior, ConstantPrior) and not is_silent(w):
                with np.errstate(invalid="ignore", over="ignore"):
                    prior.prior.update(stats).score(x, w, total, self.n_jobs)
        return total


def _sums(joint: Array) -> tuple[Array, Array, Array]:
    """Logs of sums over draws, of p(x, y), p(x) and p(x)**2: `(r, s, c) -> (r, c), (r,), (r,)`."""
    best = joint.max(axis=1)
    level = np.where(best > -np.inf, best, 0.0)
    part = np.exp(joint - level[:, None])
    top = np.where(best.max(axis=1) > -np.inf, best.max(axis=1), 0.0)
    weight = np.einsum("rsc,rc->rs", part, np.exp(best - top[:, None]))
    return log(part.sum(axis=1)) + level, log(weight.sum(axis=1)) + top, log((weight**2).sum(axis=1)) + 2 * top


def _at_draws(theta: Theta, kept: Array) -> Theta:
    """Return theta of the draws at the places in `kept`."""
    draws, classes = theta.shape
    if len(kept) == draws:
        return theta
    flat = (kept[:, None] * classes + np.arange(classes)).ravel()
    densities = tuple(density.moved(lambda array: array[flat]) for density in theta.blocks)
    return Theta(theta.class_probs.moved(lambda array: array[kept]), densities)


@dataclass(frozen=True, eq=False)
class RowConditioner:
    """An ensemble whose theta is drawn once a row was seen, its features counting by their exponents."""

    scorer: EnsembleScorer
    observers: Sequence[Observer]
    power: Exponents

    def distribution(self, cells: Sequence[Cells]) -> tuple[Array, Array]:
        """Log weights of all draws, `(s,)`, and p(y | x, theta), `(s, c)`, of one row; of draws not made, weight 0."""
        ensemble, step = self.scorer.ensemble, self.scorer.step
        log_weight = np.full(ensemble.size, -np.inf)
        proba = np.full((ensemble.size, ensemble.classes), 1 / ensemble.classes)
        kept, rng = thinned(ensemble.size, STEPS * step), np.random.default_rng([self.scorer.seed, 1])
        for places in blocks(len(kept), step):
            draws = kept[places]
            triples = zip(ensemble.posterior(draws), cells, self.observers, strict=True)
            parts = [belief.narrowed(x, observe) for belief, x, observe in triples]
            narrowed_cells = [part.cells for part in parts]
            class_prob = DirichletDensity.of_logs(ensemble.log_class(draws))
            before = Theta(class_prob, tuple(part.belief for part in parts))
            with np.errstate(all="ignore"):  # of a variance or a rate that leaves the range of floats
                joint = before.log_joint(narrowed_cells, self.power)
                shift = tempering_shift(before.blocks, narrowed_cells, self.power)
                log_weight[draws] = np.logaddexp.reduce(joint[0], axis=1)
                codes = draw_level(before.proba(joint)[0], rng)
                after = Theta(self._class_prob(draws, codes, rng), self._densities(parts, codes, rng))
            joint = after.log_joint(narrowed_cells, self.power)
            shift = np.broadcast_to(shift, (1, joint.shape[1] * joint.shape[2])).reshape(joint.shape)
            joint += shift
            proba[draws] = after.proba(joint)[0]
        return log_weight, proba

    def _class_prob(self, draws: Array, codes: Array, rng: np.random.Generator) -> DirichletDensity:
        """Class probabilities of every draw, given one label more."""
        ensemble = self.scorer.ensemble
        if ensemble.class_prob is not None:
            return DirichletDensity(ensemble.class_prob[draws])
        posterior = ensemble.class_prior.update(ensemble.stats.classes)
        if not isinstance(posterior, Dirichlet):
            return posterior.sample(rng, len(codes))
        return Dirichlet(posterior.concentration + np.eye(ensemble.classes)[codes]).sample(rng)

    def _densities(self, parts: Sequence[Narrowed], codes: Array, rng: np.random.Generator) -> tuple:
        """Draw theta of every block and draw, given one row more of that draw's class."""
        unseen = np.where((np.arange(self.scorer.ensemble.classes) == codes[:, None]).ravel(), 0, 1)
        observers, cells = [part.observe for part in parts], [part.cells for part in parts]
        seen = observed_by(Rows(observers, cells, np.zeros(1, np.intp)), 2, self.power)  # the other class has nothing
        pairs = zip(parts, seen.blocks, strict=True)
        return tuple(part.belief.update(stats[unseen]).sample(rng) for part, stats in pairs)
