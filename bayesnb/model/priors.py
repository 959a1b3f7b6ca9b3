"""The class prior, as users declare it."""

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

    Arrays follow `order`, by default that of the classes.
    """
    if isinstance(declared, str) and declared == "empirical":
        return _empirical_prior
    prior = _declared_prior(declared, classes, order)
    return lambda stats: prior


def _empirical_prior(stats: DirichletStats) -> KnownDie:
    rows = float(stats.counts.sum())
    if rows == 0:
        raise ValueError(
            "class_prior='empirical' is the frequency of each class, but no row is left. Give "
            "another class_prior."
        )
    return KnownDie(stats.counts / rows, rows)


def _declared_prior(declared: Any, classes: Array, order: Any) -> Dirichlet | KnownDie:
    size = len(classes)
    if declared is None or isinstance(declared, Real):
        return _even_dirichlet(1.0 if declared is None else float(declared), size)
    if isinstance(declared, str):
        if declared != "uniform":
            raise ValueError(
                f"a string class_prior must be 'uniform' or 'empirical', got {declared!r}."
            )
        return KnownDie(np.full(size, 1 / size))
    if isinstance(declared, EmpiricalDirichlet):
        raise TypeError(
            f"class_prior: {declared!r} takes its concentrations from the data. Use numbers, or "
            "'empirical'."
        )
    if isinstance(declared, Dirichlet):
        return Dirichlet(_concentrations(declared.concentration, classes, order))
    if isinstance(declared, Mapping):
        if set(declared) != set(classes.tolist()):
            raise ValueError(
                f"class_prior names the classes {list(declared)}, but the model has "
                f"{classes.tolist()}; give each of them one probability."
            )
        declared = [declared[label] for label in classes.tolist()]
    return KnownDie(_probabilities(np.array(declared, float), size))


@lru_cache(maxsize=16)
def _even_dirichlet(concentration: float, size: int) -> Dirichlet:
    """Return a symmetric Dirichlet; cached, as each batch of a stream needs it."""
    return Dirichlet(np.full(size, concentration))


def _concentrations(concentration: Array, classes: Array, order: Any) -> Array:
    """Return the concentrations of classes, given one for all, or one each in some order."""
    if concentration.ndim == 0:
        return np.full(len(classes), concentration)
    if concentration.shape != classes.shape:
        raise ValueError(
            f"class_prior: {concentration.size} concentrations for {len(classes)} classes "
            f"{classes.tolist()}."
        )
    return concentration if order is None else concentration[np.argsort(np.asarray(order))]


def _probabilities(probability: Array, size: int) -> Array:
    """Return the probabilities; raise unless they are a distribution over the classes."""
    # written so that NaN fails too
    good = probability.ndim == 1 and (probability >= 0).all()
    if not (good and abs(probability.sum() - 1) <= 1e-8):
        raise ValueError(
            "class_prior: probabilities must be non-negative and sum to 1, got "
            f"{probability.tolist()}."
        )
    if len(probability) != size:
        raise ValueError(f"class_prior: {len(probability)} probabilities for {size} classes.")
    return probability
