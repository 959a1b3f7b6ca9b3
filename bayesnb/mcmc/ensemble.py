"""Draws of what has no closed form; given any one of them, the rest is a conjugate model.

    p(x, y | D) = mean over draws of p(x, y | draw, D)

What is conjugate given a draw is integrated out, not drawn: only what is left makes the mean noisy. Arrays of several
draws hold the classes of one draw after another's, `s * c` in a row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bayesnb.families.base import Array, Belief
from bayesnb.families.dirichlet import Dirichlet
from bayesnb.families.known import KnownDie
from bayesnb.inference.posterior_draws import repeated
from bayesnb.model.product import Model, Product, ProductStats
from bayesnb.numerics.special import log

Given = Callable[[Array], Belief]  # places of draws -> what is believed of a block before the data, `(s * c, f)`


@dataclass(frozen=True, eq=False)
class Same:
    """The prior of a block, `(c, f)`, where no draw enters it: such a block is scored once, and not for every draw."""

    prior: Belief

    def __call__(self, draws: Array) -> Belief:
        return self.prior.repeated(len(draws))


@dataclass(frozen=True, eq=False)
class Ensemble:
    """As many conjugate models as there are draws: their priors, and what the data said."""

    die: Dirichlet | KnownDie  # of the classes, `(c,)`; where it was drawn, its draws stand in its place
    priors: Sequence[Given]
    stats: ProductStats
    size: int
    class_prob: Array | None = None  # drawn, `(s, c)`
    confusion: Array | None = None  # p(label that is read | class), drawn, `(s, c, c)`; None: labels are what they say

    @property
    def classes(self) -> int:
        return len(self.stats.classes)

    def posterior(self, draws: Array, blocks: Sequence[int] | None = None) -> tuple[Belief, ...]:
        """What is believed of every block, or of some, once the data were seen, given some draws, `(s * c, f)`."""
        every, seen = repeated(self.classes, len(draws)), self.stats.blocks
        return tuple(
            self.priors[b](draws).update(seen[b][every]) for b in (range(len(seen)) if blocks is None else blocks)
        )

    def log_class(self, draws: Array) -> Array:
        """log p(class) once the labels were seen, `(s, c)`."""
        if self.class_prob is not None:
            return log(self.class_prob[draws])
        return np.repeat(self.die.update(self.stats.classes).level_log_moment(1)[None], len(draws), axis=0)

    def die_of(self, draw: int) -> Dirichlet | KnownDie:
        """The die of the classes before the data, given a draw."""
        return self.die if self.class_prob is None else KnownDie(self.class_prob[draw])

    def model(self, draw: int) -> Model:
        """The conjugate model that one draw leads to."""
        return Model(Product(self.die_of(draw), tuple(prior(np.array([draw])) for prior in self.priors)), self.stats)
