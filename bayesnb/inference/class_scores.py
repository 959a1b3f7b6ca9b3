"""The scores of the classes: independent of one another, though the probabilities that they make are not.

    U_c = log G_c + sum_f w_f log p(x_f | theta_cf),   G_c ~ Gamma(alpha_c),   w_f the exponents

G / sum(G) has the Dirichlet distribution of the class probabilities, and a softmax ignores a common factor, so
softmax(U) has exactly the distribution of p(y | x, theta): the classes' weights are independent of one another.

K_c(s) = log E exp(s U_c) is a sum of log moments, those of the features at w_f s. Where two classes have parameters in
common, log E exp(s U_1 + u U_0) is K_1(s) + K_0(u) of all blocks whose classes are independent, plus the joint log
moments of the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np

from bayesnb.families.base import Array, Cells
from bayesnb.families.record import Power, of_powers
from bayesnb.model.powers import Exponents, is_silent, of_rows
from bayesnb.model.product import Product


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of rows as a belief, their cells and the exponents: what cumulants and transforms are computed from."""

    belief: Product
    cells: Sequence[Cells]
    power: Exponents = 1.0

    def __len__(self) -> int:
        return self.cells[0].shape[0]

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(self.belief, [x[rows] for x in self.cells], self.power)

    @property
    def classes(self) -> int:
        return len(self.belief.live)

    def of(self, classes: Any) -> Self:
        """Scores of the given classes only."""
        blocks = tuple(block[classes] for block in self.belief.blocks)
        return type(self)(Product(self.belief.classes[classes], blocks), self.cells, self.power)

    def log_mean(self) -> Array:
        """K_c(1): the log joint predictive, `(r, c)`."""
        class_part = np.asarray(self.belief.classes.weight_log_moment(1.0))
        total = np.repeat(class_part[None], len(self), axis=0)
        for block, x, w in self._blocks():
            block.score(x, w, total)
        return total

    def _blocks(self, *, independent_classes: bool | None = None) -> list[tuple[Any, Cells, Power]]:
        """Blocks with their cells and exponents, but for those that say nothing.

        All of them; or those whose classes are independent of one another; or those whose classes are not.
        """
        blocks = self.belief.blocks
        parts = zip(blocks, self.cells, of_rows(self.power, self.cells), strict=True)
        wanted = (True, False) if independent_classes is None else (independent_classes,)
        return [part for part in parts if part[0].independent_classes in wanted and not is_silent(part[2])]

    def cumulants(self, tilt: float = 0.0) -> Array:
        """The first four derivatives of K_c at `tilt`, `(4, r, c)`; at 1 the class has also seen the row.

        Blocks whose classes share parameters are not in them, nor in `transform`: see `pair_cumulants`.
        """
        blocks, once = self._blocks(independent_classes=True), self._once
        parts = [block.score_cumulants(x, *self._at(w, tilt)) for block, x, w in blocks]
        total = reduce(np.add, parts) if parts else np.zeros((4, len(self), self.classes))
        total = of_powers(total, once)
        total += self.belief.classes.weight_cumulants(4, tilt)[:, None]
        return np.ascontiguousarray(total)

    def mixture_variance(self, tilt: float = 0.0) -> Array:
        """Part of the scores' variance that is between the bins of averaged histograms, `(r, c)`."""
        total = np.zeros((len(self), self.classes))
        for block, x, w in self._blocks():
            if block.has_atoms:
                total += block.mixture_variance(x, *self._at(w, tilt))
        return self._once**2 * total

    def transform(self, s: Array) -> Array:
        """K_c(s) on the real axis or above it, `(n,) -> (r, c, n)`; infinite where the moment does not exist."""
        s = np.asarray(s, complex)
        parts = [block.score_transform(x, *self._at(w, s)) for block, x, w in self._blocks(independent_classes=True)]
        features = reduce(np.add, parts) if parts else np.zeros((len(self), 1, 1))
        total = features + self.belief.classes.weight_log_moment(s[:, None]).T
        return np.where(np.isnan(total), np.inf, total)

    def pair_cumulants(self, observed: bool) -> Array:
        """Cumulants of U_1 - U_0 from blocks in which two classes share parameters, `(2, 4, r)`.

        If the row is `observed`: once the second class, or the first, has also seen it.
        """
        total = np.zeros((2, 4, len(self)))
        for block, x, w in self._blocks(independent_classes=False):
            t, power = self._at(w, 1.0 if observed else 0.0)
            total += np.stack([block.pair_cumulants(x, t, 0.0, power), block.pair_cumulants(x, 0.0, t, power)])
        return np.stack([of_powers(each, self._once) for each in total])

    def pair_transform(self, s: Array, u: Array) -> Any:
        """log E exp(s U_1 + u U_0) from blocks in which two classes share parameters, `(n,), (n,) -> (r, n)`.

        Real, or with real parts of 0 or more; infinite where the moment does not exist.
        """
        shared = self._blocks(independent_classes=False)
        parts = ((block, x, *self._at(w, s), self._at(w, u)[0]) for block, x, w in shared)
        return sum((block.pair_moment(x, at, other, w) for block, x, at, w, other in parts), start=0.0)

    @property
    def _once(self) -> float:
        """The exponent, where all features have one: it multiplies what is summed over them."""
        return 1.0 if isinstance(self.power, tuple) else self.power

    def _at(self, exponent: Power, place: Any) -> tuple[Any, Power]:
        """Where a block is asked for its cumulants or transform, and the exponents that multiply its features."""
        return (place, exponent) if isinstance(self.power, tuple) else (place * self.power, 1.0)
