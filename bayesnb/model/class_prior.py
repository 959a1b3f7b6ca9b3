"""The die of the classes, from every form in which a user may say it."""

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.dirichlet import Dirichlet, DirichletStats
from bayesnb.families.known import KnownDie

ClassDie = Callable[[DirichletStats], Dirichlet | KnownDie]


def class_die(said: Any, classes: Array, order: Any = None) -> ClassDie:
    """What the stats of the labels make of `class_prior`; arrays are in `order`, by default that of the classes."""
    size = len(classes)
    if said is None or isinstance(said, Real):
        return lambda stats: Dirichlet(np.full(size, 1.0 if said is None else float(said)))
    if isinstance(said, str):
        if said == "uniform":
            return lambda stats: KnownDie(np.full(size, 1 / size))
        if said == "empirical":
            return _counted
        raise ValueError(f"class_prior must be 'uniform' or 'empirical' if it is a string, got {said!r}.")
    if isinstance(said, Mapping):
        return _known(_from_mapping(said, classes))
    if isinstance(said, Dirichlet):
        concentration = said.concentration if said.concentration.ndim else np.full(size, said.concentration)
        if concentration.shape != (size,):
            raise ValueError(f"class_prior: {concentration.size} concentrations for {size} classes {classes.tolist()}.")
        place = np.arange(size) if order is None else np.argsort(np.asarray(order))
        return lambda stats: Dirichlet(concentration[place])
    return _known(np.array(said, float))


def _counted(stats: DirichletStats) -> KnownDie:
    rows = float(stats.counts.sum())
    if rows == 0:
        raise ValueError(
            "class_prior='empirical' is the classes' shares of the rows, and no row is left. Give another class_prior."
        )
    return KnownDie(stats.counts / rows, rows)


def _from_mapping(said: Mapping[Any, float], classes: Array) -> Array:
    labels = classes.tolist()
    if set(said) != set(labels):
        raise ValueError(
            f"class_prior names the classes {list(said)}, but the model has {labels}; "
            "give each of them one probability."
        )
    return np.array([said[label] for label in labels], float)


def _known(probability: Array) -> ClassDie:
    if (
        probability.ndim != 1
        or not np.isfinite(probability).all()
        or (probability < 0).any()
        or abs(probability.sum() - 1) > 1e-8
    ):
        raise ValueError(f"class_prior: probabilities must be non-negative and sum to 1, got {probability.tolist()}.")

    def die(stats: DirichletStats) -> KnownDie:
        if len(probability) != len(stats.counts):
            raise ValueError(f"class_prior: {len(probability)} probabilities for {len(stats.counts)} classes.")
        return KnownDie(probability)

    return die
