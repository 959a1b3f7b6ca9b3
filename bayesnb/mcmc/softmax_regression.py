"""Softmax regression as a PyMC model, and draws of it.

    score_c = intercept_c + terms . coefficient_c      p(y = c | x, theta) = softmax_c(score)
    coefficient ~ Normal, one for each class and term, that sum to 0 over the classes; the intercepts likewise

Sums of 0 single no class out. A ZeroSumNormal of sd s is a normal with covariance s**2 (I - 1/c), so the difference
between any two classes has the sd s * sqrt(2), however many classes there are: the log-odds of two classes are given
the scales asked for, and with two classes this is the usual logistic regression.

What is sampled are the coefficients along the principal axes of the terms. Their prior is the same along any axes, and
on these the posterior is nearly that of independent numbers: terms that are much alike, or the levels of a column,
whose terms add up to 0, would leave narrow ridges.

The model has no distribution of x, so a row is no evidence about the parameters, and p(y | x, D) is the plain mean over
draws.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.families.base import Array
from bayesnb.mcmc.design import Design
from bayesnb.mcmc.sampling import pymc
from bayesnb.model.product import Rows, normalise
from bayesnb.numerics.threads import blocks

MOST = 2000  # terms whose axes are turned
NUMBERS = 1 << 20  # scores that are held at once
LEAST = 1e-290  # below it the log of a probability is computed on the log scale


@dataclass(frozen=True, eq=False)
class RegressionData:
    """Labelled rows, the terms made of their cells, and the names of classes and rows."""

    design: Design
    rows: Rows
    classes: Array
    index: Array


@dataclass(frozen=True, eq=False)
class CoefficientPrior:
    """Prior sd of the log-odds of two classes, for each term as it is scaled, and for the intercept."""

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


def build(data: RegressionData, prior: CoefficientPrior) -> Any:
    """Return the pm.Model. Rows that have weights are a potential, as no distribution has such powers."""
    pm = pymc()
    coordinate, rows = results.parameter_names.coordinate, data.rows
    terms = data.design.terms(rows.cells)
    axes = principal_axes(terms, rows.counts)
    coords = {
        "class": coordinate(data.classes),
        "feature": coordinate(data.design.names),
        "axis": np.arange(len(axes)),
        "obs_id": coordinate(data.index),
    }
    with pm.Model(coords=coords) as model:
        rotated = pm.ZeroSumNormal("rotated", sigma=prior.scale / np.sqrt(2), dims=("axis", "class"))
        pm.Deterministic("coefficient", pm.math.dot(axes, rotated), dims=("feature", "class"))
        intercept = pm.ZeroSumNormal("intercept", sigma=prior.intercept_scale / np.sqrt(2), dims="class")
        score = intercept + pm.math.dot(terms @ axes, rotated)
        if rows.weight is None:
            pm.Categorical("y", logit_p=score, observed=rows.codes, dims="obs_id")
        else:
            log_proba = pm.math.log_softmax(score, axis=1)[np.arange(len(rows.codes)), rows.codes]
            pm.Potential("y_weighted", (rows.weight * log_proba).sum())
    return model


@dataclass(frozen=True, eq=False)
class LinearDraws:
    """Draws of the intercepts, `(s, c)`, and of the coefficients, `(s, c, k)`."""

    intercept: Array
    coefficient: Array

    def __getitem__(self, draws: Array) -> "LinearDraws":
        return LinearDraws(self.intercept[draws], self.coefficient[draws])

    def row_blocks(self, rows: int, numbers: int = NUMBERS) -> list[slice]:
        """Return slices of the rows, each with at most so many scores."""
        return blocks(rows, max(numbers // self.intercept.size, 1))

    def scores(self, z: Array) -> Array:
        """Scores of the classes under every draw, `(r, k) -> (r, s, c)`."""
        flat = z @ self.coefficient.reshape(-1, z.shape[1]).T + self.intercept.ravel()
        return flat.reshape(len(z), *self.intercept.shape)

    def proba(self, z: Array, log: bool = False) -> Array:
        """p(y | x, theta) of every draw, or the log of it, `(r, k) -> (r, s, c)`."""
        scores = self.scores(z)
        normalise(scores.reshape(-1, scores.shape[-1]), not log)
        return scores

    def log_mean(self, z: Array) -> Array:
        """log p(y | x, D), the log of the mean over draws, `(r, k) -> (r, c)`."""
        draws = len(self.intercept)
        mean = np.full(draws, 1 / draws) @ self.proba(z)
        small = (mean < LEAST).any(axis=1)  # to a float the probability may be 0, but its log is none
        log_mean = np.log(np.maximum(mean, LEAST))
        if small.any():
            log_mean[small] = np.logaddexp.reduce(self.proba(z[small], log=True), axis=1) - np.log(draws)
        return log_mean

    def score_moments(self, z: Array) -> tuple[Array, Array]:
        """Mean and sd of the scores, `(r, k) -> (r, c)` each."""
        scores = self.scores(z)
        return scores.mean(axis=1), scores.std(axis=1)

    def term_moments(self, z: Array, starts: Array) -> tuple[Array, Array]:
        """Mean and sd of what each feature adds to the scores, `(r, k) -> (r, c, f)` each.

        `starts` are the places where the features' terms begin.
        """
        mean = np.add.reduceat(z[:, None] * self.coefficient.mean(axis=0), starts, axis=-1)
        sd = np.empty_like(mean)
        for f, (start, stop) in enumerate(zip(starts, [*starts[1:], z.shape[1]], strict=True)):
            part = self.coefficient[:, :, start:stop]
            gap = part - part.mean(axis=0)
            covariance, terms = np.einsum("sci,scj->cij", gap, gap) / len(gap), z[:, start:stop]
            sd[..., f] = np.sqrt(np.maximum(np.einsum("ri,cij,rj->rc", terms, covariance, terms), 0.0))
        return mean, sd
