"""Probability that each feature depends on the class, as the user declares it, and the priors that it makes."""

from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from bayesnb.families.averaged import Averaged, averaged, reasons
from bayesnb.families.base import Array, Belief

ADVICE = "average_features is the probability that a feature depends on the class: a number between 0 and 1"


def included_of(declared: Any, keys: Sequence[Sequence[Hashable]]) -> list[Array | None]:
    """Probabilities of the features of each block, `(f,)`; None for a block all of whose features are certain."""
    if declared is None:
        return [None] * len(keys)
    if not isinstance(declared, Mapping):
        return [np.full(len(block), _probability(declared, None)) for block in keys]
    unknown = set(declared) - {key for block in keys for key in block}
    if unknown:
        raise ValueError(
            f"average_features names {min(unknown, key=repr)!r}, which is no feature of this model. A feature is a "
            "column that has a family, and a block of words is one: the tuple of its columns."
        )
    shares = [
        np.array([_probability(declared[key], key) if key in declared else 1.0 for key in block]) for block in keys
    ]
    return [share if (share < 1).any() else None for share in shares]


def check_averaging(declared: Any, estimate: str) -> None:
    """Raise for what `average_features` cannot be, whatever the table."""
    if declared is None:
        return
    for key, share in declared.items() if isinstance(declared, Mapping) else ((None, declared),):
        _probability(share, key)
    if estimate != "predictive":
        raise ValueError(
            f"average_features needs estimate='predictive', got estimate={estimate!r}: an average over subsets of "
            "features has no parameters to be plugged in."
        )


def averaging(prior: Belief, included: Array, keys: Sequence[Hashable]) -> Averaged:
    """Prior under which features may be independent of the class; raise where there is none."""
    for invalid, why in reasons(prior):
        if (invalid & (included < 1)).any():
            key = keys[int((invalid & (included < 1)).argmax())]
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


def _probability(declared: Any, key: Hashable) -> float:
    """Check a probability above 0 and below 1, of one feature or, for the key None, of all."""
    if isinstance(declared, Real) and not isinstance(declared, bool) and 0 < float(declared) < 1:
        return float(declared)
    where = "" if key is None else f" for column {key!r}"
    raise ValueError(f"{ADVICE}, or {{column: such a number}}, or None; got {declared!r}{where}.")
