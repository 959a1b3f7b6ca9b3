"""Scores of the classes, which are independent of one another, unlike the probabilities.

    U_c = log G_c + sum_f w_f log p(x_f | theta_cf) + a_c
    G_c ~ Gamma(alpha_c),   w_f the exponents

G / sum(G) has the Dirichlet distribution of the class probabilities, and a softmax ignores common
factors, so softmax(U) has exactly the distribution of p(y | x, theta).

K_c(s) = log E exp(s U_c) is a sum of log moments of the features at w_f s. The constants a_c, 0
where exponents are 1, make K_c(1) the predictive score, in which a feature has the exponent times
its log predictive: see `tempering_shift`. If two classes share parameters, log E exp(s U_1 + u U_0)
is K_1(s) + K_0(u) over all blocks with independent classes, plus the joint log moments of the
others.

Estimated exponents are uncertain. With S their covariance, and A_c the log predictives of the
features under class c, this adds a variance v to the log-odds of two classes:

    v = (A_1 - A_0)' S (A_1 - A_0)      log E exp(s U_1 + u U_0) + v ((s - u)**2 - (s + u)) / 8

as if U_1 and U_0 each had v / 4, with opposite signs, and constants that keep the expectations of
exp(U): so the mean of p(y | x, theta) given the row is still the predictive. Against several
classes, log-odds change with w by A_c - sum_k q_k A_k, where q are the probabilities of the others,
normalised.
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
    """Scores of rows: belief, cells and exponents, from which cumulants and transforms follow."""

    belief: Product
    cells: Sequence[Cells]
    power: Exponents = 1.0
    covariance: ExponentCovariance | None = None  # of estimated exponents

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
        """Derivative A_c of each score in each uncertain exponent, `(r, c, g)`."""
        if self.covariance is None:
            return np.zeros((len(self), self.classes, 0))
        each = feature_scores(self.belief.blocks, self.cells, self.power)
        # a class that a cell makes impossible stays impossible, whatever the exponent
        return self.covariance.add_up(np.where(np.isneginf(each), 0.0, each))

    @cached_property
    def exponent_variance(self) -> Array:
        """Variance of the log-odds of each class due to uncertain exponents, `(r, c)`."""
        if self.covariance is None:
            return np.zeros((len(self), self.classes))
        share = self.share
        rows = np.arange(len(share))
        best = share.argmax(axis=1)
        mean = np.einsum("rc,rcf->rf", share, self.by_exponent)
        least = np.minimum(share, 0.5)[..., None]  # the most probable class is replaced below
        gap = (self.by_exponent - mean[:, None]) / (1 - least)
        # 1 - p has few digits for p near 1, so the other classes are normalised by themselves
        others = np.where(np.arange(self.classes) == best[:, None], -np.inf, self.log_mean)
        mean = np.einsum("rc,rcf->rf", np.exp(normalise_log(others)), self.by_exponent)
        gap[rows, best] = self.by_exponent[rows, best] - mean
        return np.einsum("rcf,fg,rcg->rc", gap, self.covariance.matrix, gap, optimize=True)

    @cached_property
    def log_mean(self) -> Array:
        """K_c(1): the log joint predictive, `(r, c)`."""
        # class weights are unnormalised; the class probabilities of a joint need not be
        weights = self.belief.classes.weight_log_moment(1.0)
        total = np.logaddexp.reduce(weights) - np.logaddexp.reduce(self.belief.log_class)
        return self.belief.log_joint(self.cells, self.power, 1) + total

    @cached_property
    def share(self) -> Array:
        """p(y | x, D), `(r, c)`; NaN where a row has no distribution."""
        share = self.log_mean.copy()
        if normalise(share, True) >= 0:  # it stops at a row without a distribution
            share = np.exp(normalise_log(self.log_mean))
        return share

    def _blocks(self, independent: bool = True) -> list[tuple[Any, Cells, Power]]:
        """Blocks with nonzero exponents, with cells and exponents, whose classes are independent or
        share parameters.
        """
        powers = of_rows(self.power, self.cells)
        return [
            (block, x, w)
            for block, x, w in zip(self.belief.blocks, self.cells, powers, strict=True)
            if block.independent_classes == independent and not is_silent(w)
        ]

    def cumulants(self, tilt: float = 0.0) -> Array:
        """The first four derivatives of K_c at `tilt`, `(4, r, c)`.

        At 1 the class has also seen the row. Blocks whose classes share parameters are excluded, as
        in `transform`: see `pair_cumulants`.
        """
        class_part = self.belief.classes.weight_cumulants(4, tilt)
        total = np.repeat(class_part[:, None], len(self), axis=1)
        for block, x, w in self._blocks():
            total += block.score_cumulants(x, tilt, w)
        total[0] += self.shift
        return total

    def mixture_variance(self, tilt: float = 0.0) -> Array:
        """Variance of the scores between the bins of averaged histograms, `(r, c)`."""
        total = np.zeros((len(self), self.classes))
        for block, x, w in self._blocks():  # blocks with atoms have independent classes
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
        """Terms to add to the cumulants of the log-odds of each class, `(2, 4, r, c)`.

        If the row is `observed`, they are those after the class itself, or another one, has seen
        it. They come from uncertain exponents and, for two classes, U_1 - U_0, from blocks in which
        classes share parameters.
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

        Shapes: `(n,), (n,) -> (r, n)`. s and u are real, or have real parts of at least 0; infinite
        where the moment does not exist.
        """
        total: Any = 0.0
        for block, x, w in self._blocks(independent=False):
            total = total + block.pair_moment(x, s, u, w)
        return total


def scores_of(fitted: Fitted, cells: Sequence[Cells]) -> Scores:
    """Scores of rows, with uncertain exponents if these were estimated."""
    return Scores(fitted.model.posterior, cells, fitted.exponents, fitted.temper.covariance)


def exponent_log_moment(variance: Array, s: Array, u: Array) -> Array:
    """Term of uncertain exponents in log E exp(s U_1 + u U_0), `(...), (n,), (n,) -> (..., n)`."""
    return variance[..., None] * ((s - u) ** 2 - (s + u)) / 8
