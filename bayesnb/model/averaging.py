"""How probably each feature depends on the class, as a user says it, and the priors that this makes."""

from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from bayesnb.families.averaged import Averaged, averaged, reasons
from bayesnb.families.base import Array, Belief

ADVICE = "average_features is the probability that a feature depends on the class: a number between 0 and 1"


def included_of(said: Any, keys: Sequence[Sequence[Hashable]]) -> list[Array | None]:
    """The probability of every feature of every block; None for a block all of whose features are certain."""
    if said is None:
        return [None] * len(keys)
    if not isinstance(said, Mapping):
        return [np.full(len(own), _probability(said, None)) for own in keys]
    unknown = set(said) - {key for own in keys for key in own}
    if unknown:
        raise ValueError(
            f"average_features names {min(unknown, key=repr)!r}, which is no feature of this model. A feature is a "
            "column that has a family, and a block of words is one: the tuple of its columns."
        )
    shares = [np.array([_probability(said[key], key) if key in said else 1.0 for key in own]) for own in keys]
    return [own if (own < 1).any() else None for own in shares]


def check_averaging(said: Any, estimate: str) -> None:
    """Raise for what `average_features` cannot be, whatever the table."""
    if said is None:
        return
    for key, share in said.items() if isinstance(said, Mapping) else ((None, said),):
        _probability(share, key)
    if estimate != "predictive":
        raise ValueError(
            f"average_features needs estimate='predictive', got estimate={estimate!r}: an average over subsets of "
            "features has no parameters to be plugged in."
        )


def averaging(prior: Belief, included: Array, keys: Sequence[Hashable]) -> Averaged:
    """The prior under which features may be independent of the class; an error where there is none."""
    for odd, why in reasons(prior):
        if (odd & (included < 1)).any():
            key = keys[int((odd & (included < 1)).argmax())]
            raise ValueError(
                f"average_features: the prior of column {key!r} {why}. Give it another prior, or leave the column "
                "out of the average: {column: probability} names those that are averaged."
            )
    if not prior.apart and (included < 1).any():
        raise ValueError(
            f"average_features: the classes of column {keys[int((included < 1).argmax())]!r} have parameters in common "
            "already, shared=True, and what a row that is left out says of those and of whether the column depends on "
            "the class is not told apart. Leave shared=True out, or the column: {column: probability} names those that "
            "are averaged; `relevance` has the column's Bayes factor."
        )
    return averaged(prior, included)


def _probability(said: Any, key: Hashable) -> float:
    if isinstance(said, Real) and not isinstance(said, bool) and 0 < float(said) < 1:
        return float(said)
    where = "" if key is None else f" for column {key!r}"
    raise ValueError(f"{ADVICE}, or {{column: such a number}}, or None; got {said!r}{where}.")
