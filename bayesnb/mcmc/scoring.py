"""How an ensemble scores rows: each draw's conjugate model does in closed form, and the draws are averaged.

    p(x, y | D) = mean over draws of  p(y | draw, D) * product over blocks of p(block's cells | y, draw, D)

Draws from p(theta | D) may know nothing of a row such as a text. Then theta is drawn once the row was seen:

    p(theta | D, x)  =  mixture of p(theta | s, D, x, c) over draws s and classes c, with weights p(x, c | s, D)

The weight of a draw is then p(x | s, D), in which theta is integrated out: far more even than p(x | theta). A few draws
and rows are worked on at a time, which bounds memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bayesnb.families.base import Array, Cells, Narrowed
from bayesnb.families.dirichlet import Dirichlet, DirichletDensity, throw
from bayesnb.families.weight import one_hot
from bayesnb.inference.posterior_draws import CELLS, Theta, at_once
from bayesnb.mcmc.ensemble import ConstantPrior, Ensemble
from bayesnb.mcmc.importance_weights import thinned
from bayesnb.model.product import Observer
from bayesnb.numerics.special import log
from bayesnb.numerics.threads import blocks

STEPS = 4  # at most, of as many draws as are worked on together, where theta is drawn once a row was seen


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
        """How many draws are worked on together; it depends on the model alone."""
        return at_once([prior(np.zeros(1, np.intp)) for prior in self.ensemble.priors])

    def density(self, cells: Sequence[Cells], power: float) -> EnsembleDensity:
        """Mean of p(x, y | draw, D) over all draws, the features' part of each to a power."""
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

    def _by_draws(self, cells: Sequence[Cells], power: float) -> Iterator[tuple[slice, Array]]:
        """Yield rows and their log p(x, y | draw), never NaN, for a few rows and draws at a time, `(r, s, c)`."""
        varying = [b for b, prior in enumerate(self.ensemble.priors) if not isinstance(prior, ConstantPrior)]
        fixed, varying_cells = self._fixed(cells, power), [cells[b] for b in varying]
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

    def _fixed(self, cells: Sequence[Cells], power: float) -> Array:
        """Scores of the blocks whose prior no draw changes, `(r, c)`."""
        total = np.zeros((cells[0].shape[0], self.ensemble.classes))
        for prior, stats, x in zip(self.ensemble.priors, self.ensemble.stats.blocks, cells, strict=True):
            if isinstance(prior, ConstantPrior):
                with np.errstate(invalid="ignore", over="ignore"):
                    prior.prior.update(stats).score(x, power, total, self.n_jobs)
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
    """An ensemble whose theta is drawn once a row was seen, its features counting by a power."""

    scorer: EnsembleScorer
    observers: Sequence[Observer]
    power: float

    def distribution(self, cells: Sequence[Cells]) -> tuple[Array, Array]:
        """Log weights of all draws, `(s,)`, and p(y | x, theta), `(s, c)`, of one row; of draws not made, weight 0."""
        ensemble, step = self.scorer.ensemble, self.scorer.step
        log_weight = np.full(ensemble.size, -np.inf)
        proba = np.full((ensemble.size, ensemble.classes), 1 / ensemble.classes)
        kept, rng = thinned(ensemble.size, STEPS * step), np.random.default_rng([self.scorer.seed, 1])
        for places in blocks(len(kept), step):
            draws = kept[places]
            triples = zip(ensemble.posterior(draws), cells, self.observers, strict=True)
            narrowed = [belief.narrowed(x, observe) for belief, x, observe in triples]
            narrowed_cells = [part.cells for part in narrowed]
            class_prob = DirichletDensity.of_logs(ensemble.log_class(draws))
            before = Theta(class_prob, tuple(part.belief for part in narrowed))
            with np.errstate(all="ignore"):  # of a variance or a rate that leaves the range of floats
                joint = before.log_joint(narrowed_cells, self.power)
                log_weight[draws] = np.logaddexp.reduce(joint[0], axis=1)
                codes = throw(before.proba(joint)[0], rng)
                after = Theta(self._class_prob(draws, codes, rng), self._densities(narrowed, codes, rng))
            proba[draws] = after.proba(after.log_joint(narrowed_cells, self.power))[0]
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

    def _densities(self, narrowed: Sequence[Narrowed], codes: Array, rng: np.random.Generator) -> tuple:
        """Draw theta of every block and draw, given one row more of that draw's class."""
        unseen = np.where((np.arange(self.scorer.ensemble.classes) == codes[:, None]).ravel(), 0, 1)
        weight = one_hot(np.zeros(1, np.intp), 2, np.array([self.power]))  # one class has the row, the other nothing
        return tuple(belief.update(observe(x, weight, 1)[unseen]).sample(rng) for belief, x, observe in narrowed)
