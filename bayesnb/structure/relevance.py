"""Which columns depend on the class: the evidence for one theta for each class against one for all.

    log Bayes factor = sum over classes of log p(column of the class) - log p(column of all classes together)

Both under the same prior. Kass and Raftery (1995), Bayes factors.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from bayesnb.families.averaged import Averaged, averaged, reasons
from bayesnb.families.base import Array, Belief
from bayesnb.families.bernoulli import BernoulliStats, Beta


def own_of(prior: Belief) -> Belief:
    """What is believed of each class's own theta."""
    return prior.own if isinstance(prior, Averaged) else prior


def log_bayes_factors(prior: Belief, stats: Any) -> Array:
    """log p(data | theta for each class) - log p(data | one theta for all), `(c, f) -> (f,)`.

    What classes have in common they have under both: where they share a variance, it is about their means.
    """
    return averaged(prior, 0.5).update(stats).log_odds[0]


def of_words(prior: Any, stats: Any) -> Array:
    """The same of each word of a die against all others, `(c, 1, k) -> (k,)`: under that die, Beta(a_j, A - a_j)."""
    own, seen = prior.concentration[:, 0], stats.counts[:, 0]
    rest, other = (array.sum(axis=-1, keepdims=True) - array for array in (own, seen))
    return log_bayes_factors(Beta(own, np.maximum(rest, 0.0)), BernoulliStats(seen, np.maximum(other, 0.0)))


def check_comparable(prior: Belief, keys: Sequence[Hashable], *, alike: bool = True) -> None:
    """Raise if a feature has no Bayes factor: its prior is improper or, if that matters, not one for all classes."""
    for odd, why in list(reasons(prior))[: None if alike else 1]:
        if odd.any():
            raise ValueError(f"the prior of column {keys[int(odd.argmax())]!r} {why}. Give it another prior.")
