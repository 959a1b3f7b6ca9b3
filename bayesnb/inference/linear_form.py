"""The scores of the classes as linear functions of what the columns hold, theta plugged in.

    log p(x, c | theta) = w_c . x + b_c + what all classes share        w_c = t * weights_c        t the temper
                                                                        b_c = log pi_c + t * offset_c

Independent blocks, so that weights stand side by side and offsets add up. The boundary between two classes is the
hyperplane (w_j - w_k) . x + (b_j - b_k) = 0, and p(y | x, theta) a softmax, as in a logistic regression: Ng and Jordan
(2002), On discriminative vs. generative classifiers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Cells
from bayesnb.families.capabilities import HasLinearVariance
from bayesnb.families.record import Linear
from bayesnb.model.product import Product, ProductDensity
from bayesnb.numerics.views import EVERY, Dense


@dataclass(frozen=True, eq=False)
class Form:
    """Weights `(c, k)` and offsets `(c,)`, and their sds. A class that is impossible has an offset of -inf alone."""

    w: Array
    b: Array
    w_sd: Array
    b_sd: Array

    def ordered(self, order: Array) -> Self:
        """Linear form with the features in another order."""
        return replace(self, w=self.w[:, order], w_sd=self.w_sd[:, order])


def linear_of(density: ProductDensity, posterior: Product) -> list[Linear | None]:
    """Linear part of each block for the possible classes; None for one that is not linear, whichever theta is used.

    One class alone, or classes whose variances happen to be equal, would look linear.
    """
    is_linear = [isinstance(belief, HasLinearVariance) for belief in posterior.blocks]
    pairs: Any = zip(density.blocks, is_linear, strict=True)
    return [block[density.live].linear() if linear else None for block, linear in pairs]


def differences(density: Any, against: int) -> list[Any]:
    """Linear part of each block for the possible classes, less that of one of them."""
    return [block[density.live].linear_against(_among(density.live, against)) for block in density.blocks]


def form_of(
    parts: Sequence[Linear], density: ProductDensity, posterior: Any, power: float, against: int | None
) -> Form:
    """Weights and offsets of all classes; `against` is the place of a class from which they are differences."""
    live, classes = density.live, posterior.classes
    place = None if against is None else _among(live, against)
    variance = [block[live].linear_variance(place) for block in posterior.blocks]
    w, b = power * _beside(parts), density.log_class[live] + power * _summed(parts)
    b = b if place is None else b - density.log_class[against]
    b_variance = classes.log_variance(against)[live] + power**2 * _summed(variance)
    form = Form(w, b, power * np.sqrt(_beside(variance)), np.sqrt(b_variance))
    return form if live.all() else _spread(form, live)


def numbers_of(x: Cells, sizes: Sequence[int] | None) -> Array | sparse.csr_array:
    """Numbers that weights multiply: the cells of a block, or one-hot codes of columns of levels, 0 if unknown."""
    part = x.rows if isinstance(x, Dense) else x[EVERY]
    if sizes is None:
        return part.astype(float) if sparse.issparse(part) else np.asarray(part, float)
    codes, first = np.asarray(part), np.cumsum([0, *sizes])
    known = (codes >= 0) & (codes < np.asarray(sizes))
    ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    return sparse.csr_array((np.ones(ends[-1]), (codes + first[:-1])[known], ends), shape=(len(codes), first[-1]))


def beside(parts: Sequence[Any], order: Array, as_sparse: bool) -> Any:
    """Numbers of all blocks, `(r, k)`, their columns in the given order."""
    if as_sparse:
        return sparse.csr_array(sparse.hstack(parts, format="csr")[:, order])
    return np.hstack([part.toarray() if sparse.issparse(part) else part for part in parts])[:, order]


def _among(live: Array, place: int) -> int:
    """Place of a class among the possible ones."""
    return int(live[:place].sum())


def _beside(parts: Sequence[Linear]) -> Array:
    return np.concatenate([part.weights for part in parts], axis=1)


def _summed(parts: Sequence[Linear]) -> Array:
    return np.sum([part.offset for part in parts], axis=0)


def _spread(form: Form, live: Array) -> Form:
    """Put impossible classes between the others."""

    def placed(values: Array, missing: float) -> Array:
        result = np.full((len(live), *values.shape[1:]), missing)
        result[live] = values
        return result

    return Form(placed(form.w, 0.0), placed(form.b, -np.inf), placed(form.w_sd, 0.0), placed(form.b_sd, 0.0))
