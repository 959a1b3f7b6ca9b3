"""The law of a row of which draws from p(theta | D) know nothing, such as a text: theta is drawn once the row was seen.

    p(theta | D, x)  =  mixture of p(theta | s, D, x, c) over draws s and classes c, with weights p(x, c | s, D)

The weight of a draw is then p(x | s, D), in which theta is integrated out: far more even than p(x | theta).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesnb.families.base import Array, Cells, Narrowed
from bayesnb.families.dirichlet import Dirichlet, DirichletDensity, throw
from bayesnb.families.weight import one_hot
from bayesnb.inference.posterior_draws import Theta
from bayesnb.mcmc.sampled_uncertainty import thinned
from bayesnb.mcmc.scoring import Reading
from bayesnb.model.product import Observer
from bayesnb.numerics.threads import blocks

STEPS = 4  # at most, of as many draws as are worked on together


@dataclass(frozen=True, eq=False)
class Seer:
    """An ensemble that sees rows one by one, their features counting by a power."""

    reading: Reading
    observers: Sequence[Observer]
    power: float

    def law(self, cells: Sequence[Cells]) -> tuple[Array, Array]:
        """Log weights of all draws, `(s,)`, and p(y | x, theta), `(s, c)`, of one row; of draws not made, 0."""
        reading = self.reading
        size, classes = reading.ensemble.size, reading.ensemble.classes
        log_weight, proba = np.full(size, -np.inf), np.full((size, classes), 1 / classes)
        kept, rng = thinned(size, STEPS * reading.step), np.random.default_rng([reading.seed, 1])
        for places in blocks(len(kept), reading.step):
            draws = kept[places]
            each = zip(reading.ensemble.posterior(draws), cells, self.observers, strict=True)
            narrowed = [belief.narrowed(x, see) for belief, x, see in each]
            beliefs, own = tuple(part.belief for part in narrowed), [part.cells for part in narrowed]
            before = Theta(DirichletDensity.of_logs(reading.ensemble.log_class(draws)), beliefs)
            with np.errstate(all="ignore"):  # of a variance or a rate that leaves the range of floats
                joint = before.log_joint(own, self.power)
                log_weight[draws] = np.logaddexp.reduce(joint[0], axis=1)
                codes = throw(before.proba(joint)[0], rng)
                after = Theta(self._die(draws, codes, rng), self._thetas(narrowed, codes, rng))
            proba[draws] = after.proba(after.log_joint(own, self.power))[0]
        return log_weight, proba

    def _die(self, draws: Array, codes: Array, rng: np.random.Generator) -> DirichletDensity:
        """The die of every draw, once a label more was thrown."""
        ensemble = self.reading.ensemble
        if ensemble.class_prob is not None:
            return DirichletDensity(ensemble.class_prob[draws])
        die = ensemble.die.update(ensemble.stats.classes)
        if not isinstance(die, Dirichlet):
            return die.sample(rng, len(codes))
        return Dirichlet(die.concentration + np.eye(ensemble.classes)[codes]).sample(rng)

    def _thetas(self, narrowed: Sequence[Narrowed], codes: Array, rng: np.random.Generator) -> tuple:
        """Theta of every draw, once a row more of that class was seen."""
        classes = self.reading.ensemble.classes
        own = np.where((np.arange(classes) == codes[:, None]).ravel(), 0, 1)
        weight = one_hot(np.zeros(1, np.intp), 2, np.array([self.power]))  # one class has the row, the other nothing
        return tuple(belief.update(see(x, weight, 1)[own]).sample(rng) for belief, x, see in narrowed)
