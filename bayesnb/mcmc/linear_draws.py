"""Draws of a linear model of the classes, and what they say of rows.

    score_c = intercept_c + z . coefficient_c      p(y = c | x, theta) = softmax_c(score)

z are the terms of a row, whatever they are made of. The model says nothing about x, so a row is no evidence about its
parameters and p(y | x, D) is the plain mean over draws.
"""

from dataclasses import dataclass

import numpy as np

from bayesnb.families.base import Array
from bayesnb.model.product import normalise
from bayesnb.numerics.threads import blocks

NUMBERS = 1 << 20  # scores that are held at once
LEAST = 1e-290


@dataclass(frozen=True, eq=False)
class Linear:
    """Draws of the intercepts, `(s, c)`, and of the coefficients, `(s, c, k)`."""

    intercept: Array
    coefficient: Array

    def __getitem__(self, draws: Array) -> "Linear":
        return Linear(self.intercept[draws], self.coefficient[draws])

    def some(self, rows: int, numbers: int = NUMBERS) -> list[slice]:
        """Blocks of so many rows, whose scores are few enough."""
        return blocks(rows, max(numbers // self.intercept.size, 1))

    def scores(self, z: Array) -> Array:
        """`(r, k) -> (r, s, c)`."""
        flat = z @ self.coefficient.reshape(-1, z.shape[1]).T + self.intercept.ravel()
        return flat.reshape(len(z), *self.intercept.shape)

    def proba(self, z: Array, log: bool = False) -> Array:
        """p(y | x, theta) of every draw, or its log, `(r, k) -> (r, s, c)`."""
        scores = self.scores(z)
        normalise(scores.reshape(-1, scores.shape[-1]), not log)
        return scores

    def log_mean(self, z: Array) -> Array:
        """log p(y | x, D), the log of the mean over draws, `(r, k) -> (r, c)`."""
        draws = len(self.intercept)
        mean = np.full(draws, 1 / draws) @ self.proba(z)
        small = (mean < LEAST).any(axis=1)  # to a float the probability may be 0, but its log is none
        found = np.log(np.maximum(mean, LEAST))
        if small.any():
            found[small] = np.logaddexp.reduce(self.proba(z[small], log=True), axis=1) - np.log(draws)
        return found

    def score_moments(self, z: Array) -> tuple[Array, Array]:
        """Mean and sd of the scores, `(r, k) -> (r, c)` each."""
        scores = self.scores(z)
        return scores.mean(axis=1), scores.std(axis=1)

    def term_moments(self, z: Array, starts: Array) -> tuple[Array, Array]:
        """Mean and sd of what each feature adds to the scores, `(r, k) -> (r, c, f)` each.

        A feature's terms begin where `starts` says.
        """
        mean = np.add.reduceat(z[:, None] * self.coefficient.mean(axis=0), starts, axis=-1)
        sd = np.empty_like(mean)
        for f, (start, stop) in enumerate(zip(starts, [*starts[1:], z.shape[1]], strict=True)):
            part = self.coefficient[:, :, start:stop]
            gap = part - part.mean(axis=0)
            covariance = np.einsum("sci,scj->cij", gap, gap) / len(gap)
            own = z[:, start:stop]
            sd[..., f] = np.sqrt(np.maximum(np.einsum("ri,cij,rj->rc", own, covariance, own), 0.0))
        return mean, sd
