"""Columns on a grid as distributions of numbers: histograms over the levels, in the units of the column.

    level ~ the levels' probabilities      number | level ~ Uniform(from one cut to the next)

The outer levels end at the least and the largest number learnt; a density beyond them is that of the outer level.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayesnb.families.grid import Grid
from bayesnb.families.record import Array, Cells
from bayesnb.numerics.special import log


@dataclass(frozen=True, eq=False)
class NumberMargins:
    """A belief about levels as one about numbers: pairs of a class and a column, in arrays of one shape, `(c, f)`."""

    belief: Any
    classes: Array
    features: Array

    def __getitem__(self, index: Any) -> Self:
        return type(self)(self.belief, self.classes[index], self.features[index])

    def __len__(self) -> int:
        return len(self.classes)

    def column(self, feature: int) -> Self:
        """One column, `(c,)`: its belief is that of this column alone, so that no other one is computed for it."""
        classes, features = self.classes[:, feature], self.features[:, feature]
        if not len(features) or (features != features[0]).any():
            return self[:, feature]
        return type(self)(self.belief.column(int(features[0])), classes, np.zeros_like(features))

    @property
    def proper(self) -> Array:
        return self.belief.proper[self.classes, self.features]

    def quantile(self, p: float) -> Array:
        return self.predictive().ppf(p)

    def log_moment(self, x: Array, s: Any) -> Array:
        """log E[(p / g)**s] of numbers, which broadcast against the pairs."""
        return self._at(x, self.belief.level_log_moment(s))

    def log_predictive(self, x: Array) -> Array:
        """log p(x): beyond the ends that of the outer level."""
        return self._at(x, self.belief.level_log_moment(1.0) + self.belief.grid.log_base)

    def _at(self, x: Array, table: Array) -> Array:
        grid = self.belief.grid
        x, c, f = np.broadcast_arrays(np.asarray(x, float), self.classes, self.features)
        places = np.zeros(x.shape, np.intp)
        for j in np.unique(self.features):
            here = f == j
            places[here] = grid.bounds[j] + np.searchsorted(grid.cuts_of(j), x[here])
        return np.where(np.isnan(x), 0.0, table[c, np.minimum(places, grid.bounds[f + 1] - 1)])

    def predictive(self) -> "GridHistogram":
        """The distributions of a new number."""
        mass = np.exp(self.belief.level_log_moment(1.0) + self.belief.grid.log_share)
        return GridHistogram(mass, self.belief.grid, self.classes, self.features)

    def level_columns(self, x: Cells, columns: Any) -> Any:
        """Columns as levels, to be compared with others."""
        return self.belief.level_columns(x, columns)


@dataclass(frozen=True, eq=False)
class GridHistogram:
    """Histograms over the levels of columns, with the methods of SciPy's frozen distributions."""

    mass: Array  # `(c, k)`, the probability of each level
    grid: Grid
    classes: Array  # which of them: classes and columns, of one shape
    features: Array

    def _each(self, at: Any, answer: Callable[[Array, Array, Array], Array]) -> Array:
        """Answers of one distribution after the other for numbers that broadcast against them.

        `answer` is given numbers, the edges of the levels, and the probability up to each of them.
        """
        lower, upper = self.grid.ends
        at = np.broadcast_arrays(np.asarray(at, float), self.classes)[0]
        out, shape = np.empty(at.shape), self.classes.shape
        for place in np.ndindex(*shape):
            span = slice(self.grid.bounds[self.features[place]], self.grid.bounds[self.features[place] + 1])
            below = np.append(0.0, np.cumsum(self.mass[self.classes[place], span]))
            here = (..., *(slice(None) if size == 1 else i for i, size in zip(place, shape, strict=True)))
            edges = np.append(lower[span], upper[span][-1])
            out[here] = answer(at[here], edges, below / below[-1])
        return out

    def cdf(self, x: Any) -> Array:
        return self._each(x, lambda x, edges, below: np.where(x >= edges[-1], 1.0, np.interp(x, edges, below)))

    def ppf(self, p: Any) -> Array:
        return self._each(p, lambda p, edges, below: np.interp(p, below, edges))

    def pdf(self, x: Any) -> Array:
        """The density; infinite at the one value of a column that has no other, and 0 beyond the ends."""

        def density(x: Array, edges: Array, below: Array) -> Array:
            level = np.clip(np.searchsorted(edges, x, "left") - 1, 0, len(edges) - 2)
            with np.errstate(divide="ignore", over="ignore"):
                height = np.diff(below)[level] / np.diff(edges)[level]
            return np.where((x >= edges[0]) & (x <= edges[-1]), height, 0.0)

        return self._each(x, density)

    def logpdf(self, x: Any) -> Array:
        return log(self.pdf(x))

    def mean(self) -> Array:
        def expectation(zero: Array, edges: Array, below: Array) -> Array:
            return zero + (np.diff(below) * (edges[1:] / 2 + edges[:-1] / 2)).sum()

        return self._each(0.0, expectation)

    def median(self) -> Array:
        return self.ppf(0.5)

    def interval(self, prob: float) -> tuple[Array, Array]:
        return self.ppf((1 - prob) / 2), self.ppf((1 + prob) / 2)
