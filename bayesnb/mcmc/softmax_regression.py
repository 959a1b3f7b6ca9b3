"""Softmax regression as a PyMC model: design matrix, model, and draws.

    score_c = intercept_c + terms . coefficient_c      p(y = c | x, theta) = softmax_c(score)
    coefficient ~ Normal, one for each class and term, that sum to 0 over the classes
    intercept   ~ Normal likewise

Terms are centred, on one scale, and 0 where a cell is missing:

    number, count    (x - mean) / sd
    square           (z**2 - mean) / sd of that z, if requested
    yes or no        x - share of ones
    level            one dummy variable for each level, minus the share of that level

On these scales one weak prior fits all coefficients: Gelman, Jakulin, Pittau and Su (2008), Annals
of Applied Statistics 2. Terms that are constant in the training rows are 0 in every row.

The sum-to-zero constraint treats all classes alike. A ZeroSumNormal with sd s is a normal with
covariance s**2 (I - 1/c), so the difference between any two classes has sd s * sqrt(2) for any
number of classes: the log-odds of two classes have the requested prior scales, and with two classes
this is the usual logistic regression.

Coefficients are sampled along the principal axes of the terms. Their prior is the same along any
orthonormal axes, and on these the posterior is nearly that of independent numbers: similar terms,
or dummy variables of a column, which add up to 0, would otherwise give narrow ridges.

The model has no distribution of x, so a new row is not evidence about the parameters, and p(y | x,
D) is the mean over draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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

EQUAL_ULPS = 8  # values within so many ulps are equal
MAX_TERMS_ROTATED = 2000
MAX_SCORES = 1 << 20  # scores held at once


@dataclass(frozen=True, eq=False)
class TermScale:
    """Scaling of numbers: minus their mean, times a factor. All `(k,)`."""

    mean: Array
    factor: Array  # 1 / sd, or 1; 0 for constant numbers

    @classmethod
    def of(cls, x: Array, counts: Array, by_sd: Any) -> Self:
        """Learn the scale of `(r, k)` numbers, NaN where missing; rows have weights, `(r, 1)`."""
        counts = counts * ~np.isnan(x)
        total = counts.sum(axis=0)
        mean = ratio((counts * np.nan_to_num(x)).sum(axis=0), total)
        sd = np.sqrt(ratio((counts * np.nan_to_num(x - mean) ** 2).sum(axis=0), total))
        lowest = np.fmin.reduce(x, axis=0)
        highest = np.fmax.reduce(x, axis=0)
        size = np.fmax(np.abs(lowest), np.abs(highest))
        varies = highest - lowest > EQUAL_ULPS * np.spacing(size)  # False for NaN
        return cls(mean, ratio(varies.astype(float), np.where(varies & by_sd, sd, 1.0)))

    def __call__(self, x: Array) -> Array:
        return (x - self.mean) * self.factor


@dataclass(frozen=True, eq=False)
class Design:
    """The design matrix: scaled numbers of all blocks, then squares of some.

    `order` puts them in the order of the table, which `names` and `features` have.
    """

    blocks: Sequence[Block]
    plain: TermScale
    squared: Array  # numbers whose square is also a term, `(k,)`
    square: TermScale
    order: Array
    names: list[str]  # such as `weight`, `weight^2` and `colour=red`
    features: list[slice]  # the terms of each column

    @classmethod
    def learn(
        cls, blocks: Sequence[Block], cells: Sequence[Cells], counts: Array, squares: bool
    ) -> Self:
        """Learn the scales of terms from weighted rows, `(r,)`."""
        rows = len(counts)
        places: list[int] = []
        names: list[str] = []
        by_sd: list[bool] = []
        squared: list[bool] = []
        for block in blocks:
            terms = name_terms(block)
            squared += [squares and block.family.continuous] * len(terms)
            by_sd += [not (block.family.has_levels or block.family.outcomes)] * len(terms)
            for place, name in terms:
                places.append(place)
                names.append(name)
        width = len(squared) + sum(squared)
        refuse_large(
            f"{rows} rows of {width} terms", 8.0 * rows * width, "Give fewer rows or columns."
        )
        numbers = read_numbers(blocks, cells)
        plain = TermScale.of(numbers, counts[:, None], by_sd)
        square = TermScale.of(plain(numbers)[:, squared] ** 2, counts[:, None], True)
        for at in np.flatnonzero(squared):
            places.append(places[at])
            names.append(f"{names[at]}^2")
        order = np.argsort(places, kind="stable")
        starts = np.flatnonzero(np.diff(np.array(places)[order], prepend=-1))
        features = list(map(slice, starts, [*starts[1:], width]))
        names = [names[at] for at in order]
        return cls(blocks, plain, np.array(squared), square, order, names, features)

    def terms(self, cells: Sequence[Cells], rows: slice = EVERY) -> Array:
        """The design matrix of rows, `(r, k)`."""
        z = self.plain(read_numbers(self.blocks, cells, rows))
        squares = self.square(z[:, self.squared] ** 2)
        return np.nan_to_num(np.concatenate([z, squares], axis=1)[:, self.order], copy=False)

    def unscale(self, coefficient: Array) -> tuple[Array, Array]:
        """Coefficients on the original scales, and the change of the intercept, `-> (n, k), (n,)`.

        With z = (x - m) f, the term a z + b (z**2 - n) g has the coefficient b g f**2 of x**2 and a
        f - 2 b g f**2 m of x; the constant is b g (m**2 f**2 - n) - a f m.
        """
        width = len(self.plain.mean)
        mean = self.plain.mean[self.squared]
        unordered = coefficient[:, np.argsort(self.order)]
        first = unordered[:, :width] * self.plain.factor
        second = unordered[:, width:] * self.square.factor
        curved = second * self.plain.factor[self.squared] ** 2
        rest = curved @ mean**2 - second @ self.square.mean - first @ self.plain.mean
        first[:, self.squared] -= 2 * curved * mean
        return np.concatenate([first, curved], axis=1)[:, self.order], rest


def name_terms(block: Block) -> list[tuple[int, str]]:
    """The place in the table of the column of each number, and the name of the number."""
    prefix = f"{block.names[0]}=" if block.family.listed else ""
    columns = [
        (place, f"{prefix}{name}")
        for place, name in zip(block.word_places, block.words, strict=True)
    ]
    if not block.family.has_levels:
        return columns
    named = []
    for (place, name), levels, size in zip(columns, block.levels, block.sizes, strict=True):
        reserved = ["(unseen)"] * (size - len(levels))
        named += [(place, f"{name}={level}") for level in [*levels, *reserved]]
    return named


def read_numbers(blocks: Sequence[Block], cells: Sequence[Cells], rows: slice = EVERY) -> Array:
    """Cells as numbers, `(r, k)`; NaN for missing cells and unknown levels."""
    parts: list[Array] = []
    for block, view in zip(blocks, cells, strict=True):
        x = as_numbers(view)[rows]
        x = x.toarray() if sparse.issparse(x) else np.asarray(x)
        if not block.family.has_levels:
            parts.append(x.astype(float))
            continue
        for codes, size in zip(x.T[:, :, None], block.sizes, strict=True):
            known = (codes >= 0) & (codes < size)
            parts.append(np.where(known, codes == np.arange(size), np.nan))
    return np.concatenate(parts, axis=1)


def principal_axes(terms: Array, counts: Array) -> Array:
    """Principal axes of the terms, which are uncorrelated along them, `(r, k), (r,) -> (k, k)`."""
    if terms.shape[1] > MAX_TERMS_ROTATED:
        return np.eye(terms.shape[1])  # finding them would take long
    return np.linalg.eigh((terms * counts[:, None]).T @ terms)[1]


def build(
    design: Design, rows: Rows, coords: dict[str, Array], scale: float, intercept_scale: float
) -> Any:
    """Return the pm.Model, given prior sds of the log-odds of two classes for terms and intercept.

    Weighted rows are a potential, as PyMC has no weighted observations. `coords` label classes and
    rows.
    """
    for name, value in (("scale", scale), ("intercept_scale", intercept_scale)):
        if not (isinstance(value, Real) and 0 < float(value) < np.inf):
            raise ValueError(f"{name} must be a positive number, got {value!r}.")
    pm = pymc()
    terms = design.terms(rows.cells)
    axes = principal_axes(terms, rows.counts)
    labels = {"feature": results.tables.coordinate(design.names)}
    with pm.Model(coords={**coords, **labels, "axis": np.arange(len(axes))}) as model:
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

    def row_blocks(self, rows: int, scores: int = MAX_SCORES) -> list[slice]:
        """Return slices of the rows, each with at most `scores` scores."""
        return blocks(rows, max(scores // self.intercept.size, 1))

    def add_terms(self, z: Array, terms: slice = EVERY) -> Array:
        """Contribution of some terms to the scores under every draw, `(r, k) -> (r, s, c)`."""
        return np.tensordot(z[:, terms], self.coefficient[..., terms], (1, 2))

    def proba(self, z: Array, log: bool = False) -> Array:
        """p(y | x, theta) of every draw, or the log of it, `(r, k) -> (r, s, c)`."""
        scores = self.intercept + self.add_terms(z)
        normalise(scores.reshape(-1, scores.shape[-1]), not log)
        return scores

    def log_mean(self, z: Array) -> Array:
        """log p(y | x, D), the log of the mean over draws, `(r, k) -> (r, c)`."""
        return np.logaddexp.reduce(self.proba(z, log=True), axis=1) - np.log(len(self.intercept))
