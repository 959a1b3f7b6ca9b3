"""Softmax regression as a PyMC model: the terms that are made of cells, the model, and draws of it.

    score_c = intercept_c + terms . coefficient_c      p(y = c | x, theta) = softmax_c(score)
    coefficient ~ Normal, one for each class and term, that sum to 0 over the classes; the intercepts likewise

Terms are centred, on one scale, and 0 where a cell is missing:

    number, count    (x - mean) / sd              and of a number's square, if asked for, (z**2 - mean) / sd of that z
    yes or no        x - share of ones
    level            one number for each level, (x is it) - share of that level

On such scales one weak prior fits all coefficients: Gelman, Jakulin, Pittau and Su (2008), Annals of Applied
Statistics 2. What never varied in the rows learnt says nothing about the classes, and is 0 in every row.

Sums of 0 single no class out. A ZeroSumNormal of sd s is a normal with covariance s**2 (I - 1/c), so the difference
between any two classes has the sd s * sqrt(2), however many classes there are: the log-odds of two classes are given
the scales asked for, and with two classes this is the usual logistic regression.

What is sampled are the coefficients along the principal axes of the terms. Their prior is the same along any axes, and
on these the posterior is nearly that of independent numbers: terms that are much alike, or the levels of a column,
whose terms add up to 0, would leave narrow ridges.

The model has no distribution of x, so a row is not evidence about the parameters, and p(y | x, D) is the plain mean
over draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import sparse

from bayesnb import results
from bayesnb.families.base import Array, Cells
from bayesnb.inference.posterior_draws import refuse_large
from bayesnb.mcmc.sampling import pymc
from bayesnb.model.product import Rows, normalise
from bayesnb.model.schema import Block
from bayesnb.numerics.special import ratio
from bayesnb.numerics.threads import blocks
from bayesnb.numerics.views import EVERY, as_numbers

ULPS = 8  # values that differ by no more are alike
MOST = 2000  # terms whose axes are turned
NUMBERS = 1 << 20  # scores that are held at once
LEAST = 1e-290  # below it the log of a probability is computed on the log scale


@dataclass(frozen=True, eq=False)
class TermScale:
    """Scaling of numbers: less their mean, times a factor. All `(k,)`."""

    mean: Array
    factor: Array  # 1 / sd, or 1; 0 for what never varied

    @classmethod
    def of(cls, x: Array, weight: Array, by_sd: bool) -> Self:
        """Scale `(r, k)` numbers, NaN where they are missing; rows count by their weight, `(r, 1)`."""
        counts = weight * ~np.isnan(x)
        total = counts.sum(axis=0)
        mean = ratio((counts * np.nan_to_num(x)).sum(axis=0), total)
        sd = np.sqrt(ratio((counts * np.nan_to_num(x - mean) ** 2).sum(axis=0), total))
        least, most = np.fmin.reduce(x, axis=0), np.fmax.reduce(x, axis=0)
        varies = most - least > ULPS * np.spacing(np.fmax(np.abs(least), np.abs(most)))  # False for NaN
        return cls(mean, ratio(varies.astype(float), np.where(varies, sd, 1.0)) if by_sd else varies.astype(float))

    def __call__(self, x: Array) -> Array:
        return (x - self.mean) * self.factor


@dataclass(frozen=True, eq=False)
class BlockTerms:
    """Terms of one block: those of the columns one after another, or of their numbers and then of their squares."""

    block: Block
    plain: TermScale
    square: TermScale | None = None

    @classmethod
    def learn(cls, block: Block, x: Cells, weight: Array, squares: bool) -> Self:
        numbers, is_number = _numbers(block, as_numbers(x)[EVERY]), block.family.continuous
        plain = TermScale.of(numbers, weight, by_sd=not (block.family.has_levels or block.family.outcomes))
        if not (squares and is_number):
            return cls(block, plain)
        return cls(block, plain, TermScale.of(plain(numbers) ** 2, weight, by_sd=True))

    def terms(self, x: Cells) -> Array:
        """Terms of rows, `(r, k)`."""
        z = self.plain(_numbers(self.block, x))
        return np.nan_to_num(z if self.square is None else np.concatenate([z, self.square(z**2)], axis=1), copy=False)

    @property
    def named(self) -> list[tuple[int, str]]:
        """The place of every term's column in the table, and the name of the term."""
        prefix = f"{self.block.names[0]}=" if self.block.family.listed else ""
        names = [f"{prefix}{name}" for name in self.block.words]
        columns = list(zip(self.block.word_places, names, strict=True))
        if self.block.family.has_levels:
            named_levels = zip(columns, self.block.levels, self.block.sizes, strict=True)
            return [
                (place, f"{name}={level}")
                for (place, name), levels, size in named_levels
                for level in [*levels, *["(unseen)"] * (size - len(levels))]
            ]
        squares = [] if self.square is None else [(place, f"{name}^2") for place, name in columns]
        return columns + squares

    def unscaled(self, coefficient: Array) -> tuple[Array, Array]:
        """Unscaled coefficients of numbers and squares, and what the intercept gets, `(n, k) -> (n, k), (n,)`.

        With z = (x - m) f, what a z + b (z**2 - n) g has of x**2 is b g f**2, of x it is a f - 2 b g f**2 m, and the
        rest is b g (m**2 f**2 - n) - a f m.
        """
        width, mean, factor = len(self.plain.mean), self.plain.mean, self.plain.factor
        first = coefficient[:, :width] * factor
        if self.square is None:
            return first, -first @ mean
        second = coefficient[:, width:] * self.square.factor
        curved = second * factor**2
        rest = second @ -self.square.mean + curved @ mean**2 - first @ mean
        return np.concatenate([first - 2 * curved * mean, curved], axis=1), rest


@dataclass(frozen=True, eq=False)
class Design:
    """The terms of all blocks in the table's order, `k` of them."""

    parts: tuple[BlockTerms, ...]

    @classmethod
    def learn(cls, blocks: Sequence[Block], cells: Sequence[Cells], weight: Array | None, squares: bool) -> Self:
        rows = cells[0].shape[0]
        width = sum(sum(block.sizes) or x.shape[1] * (1 + squares) for block, x in zip(blocks, cells, strict=True))
        refuse_large(f"{rows} rows of {width} terms", 8.0 * rows * width, "Give fewer rows or columns.")
        counts = (np.ones(rows) if weight is None else weight)[:, None]
        pairs = zip(blocks, cells, strict=True)
        return cls(tuple(BlockTerms.learn(block, x, counts, squares) for block, x in pairs))

    @cached_property
    def _named(self) -> list[tuple[int, str]]:
        return [named for part in self.parts for named in part.named]

    @cached_property
    def _order(self) -> Array:
        return np.argsort([place for place, _ in self._named], kind="stable")

    @cached_property
    def names(self) -> list[str]:
        """The names of the terms, such as `weight`, `weight^2` and `colour=red`."""
        return [self._named[at][1] for at in self._order]

    @cached_property
    def starts(self) -> Array:
        """The places where the terms of every column begin."""
        places = np.array([self._named[at][0] for at in self._order])
        return np.flatnonzero(np.diff(places, prepend=-1))

    def terms(self, cells: Sequence[Cells], rows: slice = EVERY) -> Array:
        """Terms of rows, `(r, k)`."""
        parts = [part.terms(as_numbers(x)[rows]) for part, x in zip(self.parts, cells, strict=True)]
        return np.concatenate(parts, axis=1)[:, self._order]

    def unscaled(self, coefficient: Array) -> tuple[Array, Array]:
        """Coefficients of what the columns hold, and what the intercept gets, `(n, k) -> (n, k), (n,)`."""
        result, rest, start = np.empty_like(coefficient), np.zeros(len(coefficient)), 0
        for part in self.parts:
            stop = start + len(part.named)
            places = np.flatnonzero((self._order >= start) & (self._order < stop))
            places = places[np.argsort(self._order[places])]
            result[:, places], more = part.unscaled(coefficient[:, places])
            rest, start = rest + more, stop
        return result, rest


def _numbers(block: Block, x: Cells) -> Array:
    """A block's cells as numbers, `(r, k)`, NaN where they are missing or a level is unknown."""
    x = x.toarray() if sparse.issparse(x) else np.asarray(x)
    if not block.family.has_levels:
        return x.astype(float)
    columns = [
        np.where(((codes >= 0) & (codes < size))[:, None], codes[:, None] == np.arange(size), np.nan)
        for codes, size in zip(x.T, block.sizes, strict=True)
    ]
    return np.concatenate(columns, axis=1)


@dataclass(frozen=True, eq=False)
class RegressionData:
    """Labelled rows, the terms made of their cells, and the names of classes and rows."""

    design: Design
    rows: Rows
    classes: Array
    index: Array


def principal_axes(terms: Array, counts: Array) -> Array:
    """Orthonormal directions in which the terms do not vary together, `(r, k), (r,) -> (k, k)`."""
    if terms.shape[1] > MOST:
        return np.eye(terms.shape[1])  # finding others would take long
    return np.linalg.eigh((terms * counts[:, None]).T @ terms)[1]


def build(data: RegressionData, scale: float, intercept_scale: float) -> Any:
    """Return the pm.Model, given the prior sd of the log-odds of two classes, by term and where all terms are 0.

    Rows that have weights are a potential, as no distribution has such powers.
    """
    for name, value in (("scale", scale), ("intercept_scale", intercept_scale)):
        if not (isinstance(value, Real) and 0 < float(value) < np.inf):
            raise ValueError(f"{name} must be a positive number, got {value!r}.")
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
        rotated = pm.ZeroSumNormal("rotated", sigma=scale / np.sqrt(2), dims=("axis", "class"))
        pm.Deterministic("coefficient", pm.math.dot(axes, rotated), dims=("feature", "class"))
        intercept = pm.ZeroSumNormal("intercept", sigma=intercept_scale / np.sqrt(2), dims="class")
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
