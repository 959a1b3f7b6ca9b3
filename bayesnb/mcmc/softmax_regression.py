"""Softmax regression as a PyMC model.

    coefficient ~ Normal, one for each class and term, that sum to 0 over the classes      intercept alike
    y ~ Categorical(softmax(intercept + terms . coefficient))

Sums of 0 single no class out. A ZeroSumNormal of sd s is a normal with covariance s**2 (I - 1/c), so the difference
between any two classes has the sd s * sqrt(2), however many classes there are: the log-odds of two classes are given
the scales asked for, and with two classes this is the usual logistic regression.

What is sampled are the coefficients along the principal axes of the terms. Their prior is the same along any axes, and
on these the posterior is nearly that of independent numbers: terms that say much the same, or the levels of a column,
whose terms add up to 0, would leave narrow ridges.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.families.base import Array
from bayesnb.mcmc.backend import pymc
from bayesnb.mcmc.design import Design
from bayesnb.model.product import Rows

MOST = 2000  # terms whose axes are turned


@dataclass(frozen=True, eq=False)
class Problem:
    """Labelled rows, what is made of their cells, and what all are called."""

    design: Design
    rows: Rows
    classes: Array
    index: Array


@dataclass(frozen=True, eq=False)
class Prior:
    """The sd of the log-odds of two classes, for each term as it is scaled, and on their own."""

    scale: float
    intercept_scale: float

    def __post_init__(self) -> None:
        for name in ("scale", "intercept_scale"):
            value = getattr(self, name)
            if not (isinstance(value, Real) and 0 < float(value) < np.inf):
                raise ValueError(f"{name} must be a positive number, got {value!r}.")


def principal_axes(terms: Array, counts: Array) -> Array:
    """Orthonormal directions in which the terms do not vary together, `(r, k), (r,) -> (k, k)`."""
    if terms.shape[1] > MOST:
        return np.eye(terms.shape[1])  # finding others would take long
    return np.linalg.eigh((terms * counts[:, None]).T @ terms)[1]


def build(problem: Problem, prior: Prior) -> Any:
    """The pm.Model. Rows that have weights are a potential, as no distribution has such powers."""
    pm = pymc()
    coordinate, rows = results.parameter_names.coordinate, problem.rows
    terms = problem.design.terms(rows.cells)
    axes = principal_axes(terms, rows.counts)
    coords = {
        "class": coordinate(problem.classes),
        "feature": coordinate(problem.design.names),
        "axis": np.arange(len(axes)),
        "obs_id": coordinate(problem.index),
    }
    with pm.Model(coords=coords) as model:
        sd, own = prior.scale / np.sqrt(2), prior.intercept_scale / np.sqrt(2)
        rotated = pm.ZeroSumNormal("rotated", sigma=sd, dims=("axis", "class"))
        pm.Deterministic("coefficient", pm.math.dot(axes, rotated), dims=("feature", "class"))
        intercept = pm.ZeroSumNormal("intercept", sigma=own, dims="class")
        score = intercept + pm.math.dot(terms @ axes, rotated)
        if rows.weight is None:
            pm.Categorical("y", logit_p=score, observed=rows.codes, dims="obs_id")
        else:
            log_proba = pm.math.log_softmax(score, axis=1)[np.arange(len(rows.codes)), rows.codes]
            pm.Potential("y_weighted", (rows.weight * log_proba).sum())
    return model
