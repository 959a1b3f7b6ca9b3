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

from bayesnb.families.base import Array, Belief, Cells
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
        """The same with the features in another order."""
        return replace(self, w=self.w[:, order], w_sd=self.w_sd[:, order])


def linear_of(density: ProductDensity, posterior: Product) -> list[Linear | None]:
    """What every block is to the possible classes; None for one that is not linear, whichever theta is plugged in.

    One class alone, or classes whose variances happen to be equal, would look linear.
    """
    known = [type(block).linear_variance is not Belief.linear_variance for block in posterior.blocks]
    pairs = zip(density.blocks, known, strict=True)
    return [block[density.live].linear() if is_linear else None for block, is_linear in pairs]


def differences(density: ProductDensity, against: int) -> list[Any]:
    """How every block of a linear model tells the possible classes from one of them."""
    return [block[density.live].linear_against(_among(density.live, against)) for block in density.blocks]


def form_of(
    parts: Sequence[Linear], density: ProductDensity, posterior: Product, power: float, against: int | None
) -> Form:
    """Of the possible classes' parts. Differences are those from one of them, itself among all classes."""
    live, classes = density.live, posterior.classes
    place = None if against is None else _among(live, against)
    doubt = [block[live].linear_variance(place) for block in posterior.blocks]
    w, b = power * _beside(parts), density.log_class[live] + power * _summed(parts)
    b = b if place is None else b - density.log_class[against]
    b_variance = classes.log_variance(against)[live] + power**2 * _summed(doubt)
    form = Form(w, b, power * np.sqrt(_beside(doubt)), np.sqrt(b_variance))
    return form if live.all() else _spread(form, live)


def numbers_of(x: Cells, sizes: Sequence[int] | None) -> Array | sparse.csr_array:
    """What weights multiply: the numbers of a block, or of columns of levels a one for each cell's, if it is known."""
    part = x.rows if isinstance(x, Dense) else x[EVERY]
    if sizes is None:
        return part.astype(float) if sparse.issparse(part) else np.asarray(part, float)
    codes, first = np.asarray(part), np.cumsum([0, *sizes])
    known = (codes >= 0) & (codes < np.asarray(sizes))
    ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    return sparse.csr_array((np.ones(ends[-1]), (codes + first[:-1])[known], ends), shape=(len(codes), first[-1]))


def beside(parts: Sequence[Any], order: Array, as_sparse: bool) -> Any:
    """The numbers of all blocks, `(r, k)`, in some order."""
    if as_sparse:
        return sparse.csr_array(sparse.hstack(parts, format="csr")[:, order])
    return np.hstack([part.toarray() if sparse.issparse(part) else part for part in parts])[:, order]


def _among(live: Array, place: int) -> int:
    """The place of a class among the possible ones."""
    return int(live[:place].sum())


def _beside(parts: Sequence[Linear]) -> Array:
    return np.concatenate([part.weights for part in parts], axis=1)


def _summed(parts: Sequence[Linear]) -> Array:
    return np.sum([part.offset for part in parts], axis=0)


def _spread(form: Form, live: Array) -> Form:
    """With the impossible classes between the others."""

    def placed(own: Array, rest: float) -> Array:
        every = np.full((len(live), *own.shape[1:]), rest)
        every[live] = own
        return every

    return Form(placed(form.w, 0.0), placed(form.b, -np.inf), placed(form.w_sd, 0.0), placed(form.b_sd, 0.0))
