"""Priors as a user declares them: of the class frequencies, and of which features depend on the class."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np

from bayesnb.families.averaged import Averaged, averaged, reasons
from bayesnb.families.base import Array, Belief
from bayesnb.families.certain import KnownDie
from bayesnb.families.dirichlet import Dirichlet, DirichletStats, EmpiricalDirichlet

ClassPriorRule = Callable[[DirichletStats], Dirichlet | KnownDie]


def class_prior_rule(declared: Any, classes: Array, order: Any = None) -> ClassPriorRule:
    """Return the function from label stats to the prior; arrays are in `order`, by default that of the classes."""
    size = len(classes)
    if declared is None or isinstance(declared, Real):
        prior = _even(1.0 if declared is None else float(declared), size)
        return lambda stats: prior
    if isinstance(declared, str):
        if declared == "uniform":
            return lambda stats: KnownDie(np.full(size, 1 / size))
        if declared == "empirical":
            return _counted
        raise ValueError(f"class_prior must be 'uniform' or 'empirical' if it is a string, got {declared!r}.")
    if isinstance(declared, Mapping):
        return _known(_from_mapping(declared, classes))
    if isinstance(declared, EmpiricalDirichlet):
        raise TypeError(
            f"class_prior: {declared!r} takes its concentrations from the data. Use numbers, or 'empirical'."
        )
    if isinstance(declared, Dirichlet):
        concentration = declared.concentration if declared.concentration.ndim else np.full(size, declared.concentration)
        if concentration.shape != (size,):
            raise ValueError(f"class_prior: {concentration.size} concentrations for {size} classes {classes.tolist()}.")
        place = np.arange(size) if order is None else np.argsort(np.asarray(order))
        return lambda stats: Dirichlet(concentration[place])
    return _known(np.array(declared, float))


@lru_cache(maxsize=16)
def _even(concentration: float, size: int) -> Dirichlet:
    """Return the prior of one concentration for all classes, which is the same from batch to batch."""
    each = np.full(size, concentration)
    each.flags.writeable = False  # as models have it in common
    return Dirichlet(each)


def _counted(stats: DirichletStats) -> KnownDie:
    rows = float(stats.counts.sum())
    if rows == 0:
        raise ValueError(
            "class_prior='empirical' is the share of each class in the rows, and no row is left. Give another "
            "class_prior."
        )
    return KnownDie(stats.counts / rows, rows)


def _from_mapping(declared: Mapping[Any, float], classes: Array) -> Array:
    labels = classes.tolist()
    if set(declared) != set(labels):
        raise ValueError(
            f"class_prior names the classes {list(declared)}, but the model has {labels}; "
            "give each of them one probability."
        )
    return np.array([declared[label] for label in labels], float)


def _known(probability: Array) -> ClassPriorRule:
    if (
        probability.ndim != 1
        or not np.isfinite(probability).all()
        or (probability < 0).any()
        or abs(probability.sum() - 1) > 1e-8
    ):
        raise ValueError(f"class_prior: probabilities must be non-negative and sum to 1, got {probability.tolist()}.")

    def make_prior(stats: DirichletStats) -> KnownDie:
        if len(probability) != len(stats.counts):
            raise ValueError(f"class_prior: {len(probability)} probabilities for {len(stats.counts)} classes.")
        return KnownDie(probability)

    return make_prior


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
            f"average_features names {min(unknown, key=repr)!r}, which is not a feature of this model. A feature is a "
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
    if not prior.independent_classes and (included < 1).any():
        raise ValueError(
            f"average_features: the classes of column {keys[int((included < 1).argmax())]!r} have parameters in common "
            "already, shared=True, and what a row that is left out says of those and of whether the column depends on "
            "the class is not distinguished. Leave shared=True out, or the column: {column: probability} names those "
            "that are averaged; `relevance` has the column's Bayes factor."
        )
    return averaged(prior, included)


def _probability(declared: Any, key: Hashable) -> float:
    """Check a probability above 0 and below 1, of one feature or, for the key None, of all."""
    if isinstance(declared, Real) and not isinstance(declared, bool) and 0 < float(declared) < 1:
        return float(declared)
    where = "" if key is None else f" for column {key!r}"
    raise ValueError(f"{ADVICE}, or {{column: such a number}}, or None; got {declared!r}{where}.")
