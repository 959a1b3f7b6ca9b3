"""Scores of the classes: independent of one another, though the probabilities are not.

    U_c = log G_c + sum_f w_f log p(x_f | theta_cf) + a_c
    G_c ~ Gamma(alpha_c),   w_f the exponents

G / sum(G) has the Dirichlet distribution of the class probabilities, and a softmax ignores a common
factor, so softmax(U) has exactly the distribution of p(y | x, theta): the classes' weights are
independent of one another.

K_c(s) = log E exp(s U_c) is a sum of log moments, those of the features at w_f s. The constants
a_c, 0 where exponents are 1, make K_c(1) the score that predicts, in which a feature has the
exponent times its log predictive: see `tempering_shift`. Where two classes have parameters in
common, log E exp(s U_1 + u U_0) is K_1(s) + K_0(u) of all blocks whose classes are independent,
plus the joint log moments of the others.

Exponents that were found are not known. With S their covariance, and A_c the log predictives of the
row's features under class c, the log-odds of two classes vary besides with the variance

    v = (A_1 - A_0)' S (A_1 - A_0)      log E exp(s U_1 + u U_0) + v ((s - u)**2 - (s + u)) / 8

as if U_1 and U_0 had v / 4 each, of opposite sign, and constants by which the expectations of
exp(U) stay: so the mean of p(y | x, theta) given the row stays the predictive. Against several
classes, log-odds change with w by A_c - sum_k q_k A_k, q being the others' shares of their
probability.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayesnb.families.base import Array, Cells
from bayesnb.families.record import Power
from bayesnb.model.fitted import Fitted
from bayesnb.model.powers import ExponentCovariance, Exponents, is_silent, of_rows
from bayesnb.model.product import (
    Product,
    feature_scores,
    normalise,
    normalise_log,
    tempering_shift,
)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of rows as a belief, their cells and the exponents.

    What cumulants and transforms are computed from.
    """

    belief: Product
    cells: Sequence[Cells]
    power: Exponents = 1.0
    covariance: ExponentCovariance | None = None  # of exponents that were found

    def __len__(self) -> int:
        return self.cells[0].shape[0]

    def __getitem__(self, rows: Any) -> Self:
        return replace(self, cells=[x[rows] for x in self.cells])

    @property
    def classes(self) -> int:
        return len(self.belief.live)

    def of(self, classes: Any) -> Self:
        """Scores of the given classes only."""
        blocks = tuple(block[classes] for block in self.belief.blocks)
        return replace(self, belief=Product(self.belief.classes[classes], blocks))

    @cached_property
    def shift(self) -> Array:
        """The constants a_c, `(r, c)`."""
        shift = tempering_shift(self.belief.blocks, self.cells, self.power)
        return np.broadcast_to(shift, (len(self), self.classes))

    @cached_property
    def by_exponent(self) -> Array:
        """How much each score changes with each exponent that is not known, A_c, `(r, c, g)`."""
        if self.covariance is None:
            return np.zeros((len(self), self.classes, 0))
        each = feature_scores(self.belief.blocks, self.cells, self.power)
        # A class that a cell makes impossible stays so, whatever the exponent.
        return self.covariance.add_up(np.where(np.isneginf(each), 0.0, each))

    @cached_property
    def exponent_variance(self) -> Array:
        """Variance of each class's log-odds by exponents that are not known, `(r, c)`."""
        if self.covariance is None:
            return np.zeros((len(self), self.classes))
        share = self.share
        rows = np.arange(len(share))
        best = share.argmax(axis=1)
        mean = np.einsum("rc,rcf->rf", share, self.by_exponent)
        least = np.minimum(share, 0.5)[..., None]  # of the most probable class, which comes next
        gap = (self.by_exponent - mean[:, None]) / (1 - least)
        # 1 - p has few digits where p is near 1: its others are weighed among themselves
        others = np.where(np.arange(self.classes) == best[:, None], -np.inf, self.log_mean)
        mean = np.einsum("rc,rcf->rf", np.exp(normalise_log(others)), self.by_exponent)
        gap[rows, best] = self.by_exponent[rows, best] - mean
        return np.einsum("rcf,fg,rcg->rc", gap, self.covariance.matrix, gap, optimize=True)

    @cached_property
    def log_mean(self) -> Array:
        """K_c(1): the log joint predictive, `(r, c)`."""
        # the classes' weights are not divided by their sum, as the probabilities of a joint may be
        weights = self.belief.classes.weight_log_moment(1.0)
        total = np.logaddexp.reduce(weights) - np.logaddexp.reduce(self.belief.log_class)
        return self.belief.log_joint(self.cells, self.power, 1) + total

    @cached_property
    def share(self) -> Array:
        """p(y | x, D), `(r, c)`; NaN where a row has no distribution."""
        share = self.log_mean.copy()
        if normalise(share, True) >= 0:  # a row has none, and those behind it are not normalised
            share = np.exp(normalise_log(self.log_mean))
        return share

    def _blocks(self, independent: bool = True) -> list[tuple[Any, Cells, Power]]:
        """Blocks with their cells and exponents, but for those that say nothing.

        Those whose classes are independent of one another, or those whose classes are not.
        """
        powers = of_rows(self.power, self.cells)
        return [
            (block, x, w)
            for block, x, w in zip(self.belief.blocks, self.cells, powers, strict=True)
            if block.independent_classes == independent and not is_silent(w)
        ]

    def cumulants(self, tilt: float = 0.0) -> Array:
        """The first four derivatives of K_c at `tilt`, `(4, r, c)`.

        At 1 the class has also seen the row.

        Blocks whose classes share parameters are not in them, nor in `transform`: see
        `pair_cumulants`.
        """
        class_part = self.belief.classes.weight_cumulants(4, tilt)
        total = np.repeat(class_part[:, None], len(self), axis=1)
        for block, x, w in self._blocks():
            total += block.score_cumulants(x, tilt, w)
        total[0] += self.shift
        return total

    def mixture_variance(self, tilt: float = 0.0) -> Array:
        """Part of the scores' variance between the bins of averaged histograms, `(r, c)`."""
        total = np.zeros((len(self), self.classes))
        for block, x, w in self._blocks():  # no block with atoms has classes in common
            if block.has_atoms:
                total += block.mixture_variance(x, tilt, w)
        return total

    def transform(self, s: Array) -> Array:
        """K_c(s) on the real axis or above it, `(n,) -> (r, c, n)`.

        Infinite where the moment does not exist.
        """
        s = np.asarray(s)
        class_part = self.belief.classes.weight_log_moment(s[:, None]).T
        total = np.repeat(class_part[None], len(self), axis=0)
        for block, x, w in self._blocks():
            total += block.score_transform(x, s, w)
        if self.shift.any():
            total += self.shift[:, :, None] * s
        return np.where(np.isnan(total), np.inf, total)

    def pair_cumulants(self, observed: bool) -> Array:
        """What is added to cumulants of each class's log-odds, `(2, 4, r, c)`.

        If the row is `observed`, once the class itself, or one of the others, has seen it.
        Exponents that are not known add to them and, to those of two classes, U_1 - U_0, blocks in
        which classes share parameters.
        """
        variance = self.exponent_variance
        total = np.zeros((2, 4, *variance.shape))
        total[:, 1] = variance
        if observed:
            total[:, 0] = variance / 2, -variance / 2
        t = float(observed)
        for block, x, w in self._blocks(independent=False):
            total[0] += block.pair_cumulants(x, t, 0.0, w)[..., None]
            total[1] += block.pair_cumulants(x, 0.0, t, w)[..., None]
        return total

    def pair_transform(self, s: Array, u: Array) -> Any:
        """log E exp(s U_1 + u U_0) from blocks in which classes share parameters.

        Shapes: `(n,), (n,) -> (r, n)`. It is real, or has real parts of 0 or more; infinite where
        the moment does not exist.
        """
        total: Any = 0.0
        for block, x, w in self._blocks(independent=False):
            total = total + block.pair_moment(x, s, u, w)
        return total


def scores_of(fitted: Fitted, cells: Sequence[Cells]) -> Scores:
    """Scores of rows, whose exponents are uncertain where they were found by rows."""
    return Scores(fitted.model.posterior, cells, fitted.exponents, fitted.temper.covariance)


def exponent_log_moment(variance: Array, s: Array, u: Array) -> Array:
    """What exponents add to log E exp(s U_1 + u U_0), `(...), (n,), (n,) -> (..., n)`."""
    return variance[..., None] * ((s - u) ** 2 - (s + u)) / 8
