"""The prior of the class frequencies, as a user declares it."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.certain import KnownDie
from bayesnb.families.dirichlet import Dirichlet, DirichletStats, EmpiricalDirichlet

ClassPriorRule = Callable[[DirichletStats], Dirichlet | KnownDie]


def class_prior_rule(declared: Any, classes: Array, order: Any = None) -> ClassPriorRule:
    """Return the function from label stats to the prior.

    Arrays are in `order`, by default that of the classes.
    """
    size = len(classes)
    if declared is None or isinstance(declared, Real):
        prior = _even(1.0 if declared is None else float(declared), size)
        return lambda stats: prior
    if isinstance(declared, str):
        if declared == "uniform":
            return lambda stats: KnownDie(np.full(size, 1 / size))
        if declared == "empirical":
            return _counted
        raise ValueError(
            f"class_prior must be 'uniform' or 'empirical' if it is a string, got {declared!r}."
        )
    if isinstance(declared, Mapping):
        return _known(_from_mapping(declared, classes))
    if isinstance(declared, EmpiricalDirichlet):
        raise TypeError(
            f"class_prior: {declared!r} takes its concentrations from the data. Use numbers, or "
            "'empirical'."
        )
    if isinstance(declared, Dirichlet):
        concentration = (
            declared.concentration
            if declared.concentration.ndim
            else np.full(size, declared.concentration)
        )
        if concentration.shape != (size,):
            raise ValueError(
                f"class_prior: {concentration.size} concentrations for {size} classes "
                f"{classes.tolist()}."
            )
        place = np.arange(size) if order is None else np.argsort(np.asarray(order))
        return lambda stats: Dirichlet(concentration[place])
    return _known(np.array(declared, float))


@lru_cache(maxsize=16)
def _even(concentration: float, size: int) -> Dirichlet:
    """Return the prior of one concentration for all classes, the same from batch to batch."""
    each = np.full(size, concentration)
    each.flags.writeable = False  # as models have it in common
    return Dirichlet(each)


def _counted(stats: DirichletStats) -> KnownDie:
    rows = float(stats.counts.sum())
    if rows == 0:
        raise ValueError(
            "class_prior='empirical' is the share of each class in the rows, and no row is left. "
            "Give another class_prior."
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
        raise ValueError(
            "class_prior: probabilities must be non-negative and sum to 1, got "
            f"{probability.tolist()}."
        )

    def make_prior(stats: DirichletStats) -> KnownDie:
        if len(probability) != len(stats.counts):
            raise ValueError(
                f"class_prior: {len(probability)} probabilities for {len(stats.counts)} classes."
            )
        return KnownDie(probability)

    return make_prior
