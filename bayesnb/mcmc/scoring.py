"""What an ensemble says of rows: each draw's conjugate model says it in closed form, and the draws are averaged.

    p(x, y | D) = mean over draws of  p(y | draw, D) * product over blocks of p(block's cells | y, draw, D)

Draws and rows are gone through some at a time, so memory is that of a few of either.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bayesnb.families.base import Array, Cells
from bayesnb.families.dirichlet import DirichletDensity
from bayesnb.inference.posterior_draws import CELLS, Theta, at_once
from bayesnb.mcmc.ensemble import Ensemble, Same
from bayesnb.numerics.special import log
from bayesnb.numerics.threads import blocks


class Mixed(NamedTuple):
    """log p(x, y | D), `(r, c)`, and how many draws of equal weight each row leaves, `(r,)`."""

    joint: Array
    worth: Array


class Reading:
    """An ensemble as it reads rows."""

    def __init__(self, ensemble: Ensemble, seed: int, n_jobs: int | None) -> None:
        self.ensemble, self.seed, self.n_jobs = ensemble, seed, n_jobs

    @cached_property
    def step(self) -> int:
        """How many draws are worked on together; the model alone says it."""
        return at_once([prior(np.zeros(1, np.intp)) for prior in self.ensemble.priors])

    def mixed(self, cells: Sequence[Cells], power: float) -> Mixed:
        """The mean over all draws, the features' part of each to a power."""
        rows, classes = cells[0].shape[0], self.ensemble.classes
        joint, (once, squared) = np.full((rows, classes), -np.inf), np.full((2, rows), -np.inf)
        for some, every in self._by_draws(cells, power):
            for total, part in zip((joint, once, squared), _sums(every), strict=True):
                total[some] = np.logaddexp(total[some], part)
        possible = once > -np.inf
        worth = np.exp(np.where(possible, 2 * once, 0.0) - np.where(possible, squared, 0.0))
        return Mixed(joint - np.log(self.ensemble.size), np.where(possible, worth, self.ensemble.size))

    def thetas(self, draws: Array, cells: Sequence[Cells] | None = None) -> Iterator[tuple[slice, Theta]]:
        """One theta for each draw, from the posterior given it; always the same one, whichever others are asked for.

        Of what no row had it knows what these rows hold.
        """
        ensemble = self.ensemble
        for start in range(0, ensemble.size, self.step):
            every = np.arange(start, min(start + self.step, ensemble.size))
            first, last = np.searchsorted(draws, (start, start + len(every)))
            if first == last:
                continue
            rng = np.random.default_rng([self.seed, start])
            with np.errstate(all="ignore"):  # of a variance or a rate that leaves the range of floats
                die = self._die(every, rng)
                beliefs = ensemble.posterior(every)
                theta = Theta(die, tuple(belief.sample(rng) for belief in beliefs))
                theta = theta if cells is None else theta.opened(beliefs, cells, rng)
            yield slice(int(first), int(last)), _some(theta, draws[first:last] - start)

    def _die(self, draws: Array, rng: np.random.Generator) -> DirichletDensity:
        if self.ensemble.class_prob is not None:
            return DirichletDensity.of_logs(self.ensemble.log_class(draws))
        return self.ensemble.die.update(self.ensemble.stats.classes).sample(rng, len(draws))

    def _by_draws(self, cells: Sequence[Cells], power: float) -> Iterator[tuple[slice, Array]]:
        """log p(x, y | draw) of some rows and some draws at a time, `(r, s, c)`; never NaN."""
        varying = [b for b, prior in enumerate(self.ensemble.priors) if not isinstance(prior, Same)]
        fixed, own = self._fixed(cells, power), [cells[b] for b in varying]
        for places in blocks(self.ensemble.size, self.step):
            draws = np.arange(places.start, places.stop)
            die = DirichletDensity.of_logs(self.ensemble.log_class(draws))
            theta = Theta(die, self.ensemble.posterior(draws, varying))  # type: ignore[arg-type]
            for rows in blocks(len(fixed), max(CELLS // (len(draws) * self.ensemble.classes), 1)):
                with np.errstate(invalid="ignore"):
                    if varying:
                        joint = theta.log_joint([x[rows] for x in own], power, self.n_jobs) + fixed[rows, None]
                    else:
                        joint = die.log_probability + fixed[rows, None]
                joint[np.isnan(joint)] = -np.inf
                yield rows, joint

    def _fixed(self, cells: Sequence[Cells], power: float) -> Array:
        """What the blocks say that no draw enters, `(r, c)`."""
        total = np.zeros((cells[0].shape[0], self.ensemble.classes))
        for prior, seen, x in zip(self.ensemble.priors, self.ensemble.stats.blocks, cells, strict=True):
            if isinstance(prior, Same):
                with np.errstate(invalid="ignore", over="ignore"):
                    prior.prior.update(seen).score(x, power, total, self.n_jobs)
        return total


def _sums(every: Array) -> tuple[Array, Array, Array]:
    """Logs of sums over draws, of p(x, y), p(x) and p(x)**2: `(r, s, c) -> (r, c), (r,), (r,)`."""
    best = every.max(axis=1)
    own = np.where(best > -np.inf, best, 0.0)
    part = np.exp(every - own[:, None])
    top = np.where(best.max(axis=1) > -np.inf, best.max(axis=1), 0.0)
    weight = np.einsum("rsc,rc->rs", part, np.exp(best - top[:, None]))
    return log(part.sum(axis=1)) + own, log(weight.sum(axis=1)) + top, log((weight**2).sum(axis=1)) + 2 * top


def _some(theta: Theta, kept: Array) -> Theta:
    """Some of the draws."""
    draws, classes = theta.shape
    if len(kept) == draws:
        return theta
    flat = (kept[:, None] * classes + np.arange(classes)).ravel()
    return Theta(
        theta.die.moved(lambda array: array[kept]), tuple(own.moved(lambda a: a[flat]) for own in theta.blocks)
    )
