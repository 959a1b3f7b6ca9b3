"""The scores of the classes as linear functions of what the columns hold, theta plugged in.

    log p(x, c | theta) = w_c . x + b_c + what all classes share        t the exponent
    w_c = t * weights_c
    b_c = log pi_c + t * offset_c

Independent blocks, so that weights stand side by side and offsets add up. The boundary between two
classes is the hyperplane (w_j - w_k) . x + (b_j - b_k) = 0, and p(y | x, theta) a softmax, as in a
logistic regression: Ng and Jordan (2002), On discriminative vs. generative classifiers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Cells
from bayesnb.families.multinomial import scaled
from bayesnb.families.record import Linear
from bayesnb.model.powers import Exponents, LengthPower, Numbers, of_blocks, of_empty_rows
from bayesnb.model.product import Product, ProductDensity
from bayesnb.numerics.views import EVERY, Dense

NEVER = 0.0, -np.inf, 0.0, 0.0  # the form of a class that is impossible


@dataclass(frozen=True, eq=False)
class Form:
    """Weights `(c, k)` and offsets `(c,)`, and their sds.

    A class that is impossible has an offset of -inf alone.
    """

    w: Array
    b: Array
    w_sd: Array
    b_sd: Array

    def ordered(self, order: Array) -> Self:
        """Linear form with the features in another order."""
        return replace(self, w=self.w[:, order], w_sd=self.w_sd[:, order])


def linear_of(density: ProductDensity, posterior: Product) -> list[Linear | None]:
    """Linear part of each block for the possible classes.

    None for one that is not linear, whichever theta is used.

    One class alone, or classes whose variances happen to be equal, would look linear.
    """
    pairs = zip(density.blocks, posterior.blocks, strict=True)
    return [block[density.live].linear() if belief.is_linear else None for block, belief in pairs]


def subtract_class(density: Any, against: int) -> list[Any]:
    """Linear part of each block for the possible classes, less that of one of them."""
    return [
        block[density.live].linear_against(_among(density.live, against))
        for block in density.blocks
    ]


def form_of(
    parts: Sequence[Linear],
    density: ProductDensity,
    posterior: Any,
    power: Numbers,
    against: int | None,
) -> Form:
    """Weights and offsets of all classes.

    `against` is the place of a class from which they are differences.

    Blocks whose features have exponents of their own are those of `split_features`.
    """
    live = density.live
    place = None if against is None else _among(live, against)
    powers = of_blocks(power, len(parts))
    scores = _add(parts, powers)
    variances = [block[live].linear_variance(place) for block in posterior.blocks]
    variance = _add(variances, [t**2 for t in powers])
    b = density.log_class[live] + scores.offset
    if against is not None:
        b = b - density.log_class[against]
    b_variance = posterior.classes.log_variance(against)[live] + variance.offset
    arrays = scores.weights, b, np.sqrt(variance.weights), np.sqrt(b_variance)
    return Form(
        *(_place(array, live, missing) for array, missing in zip(arrays, NEVER, strict=True))
    )


def numbers_of(x: Cells, sizes: Sequence[int] | None) -> Array | sparse.csr_array:
    """Numbers that weights multiply.

    The cells of a block, or one-hot codes of columns of levels, 0 if unknown.
    """
    part = x.rows if isinstance(x, Dense) else x[EVERY]
    if sizes is None:
        return part.astype(float) if sparse.issparse(part) else np.asarray(part, float)
    codes = np.asarray(part)
    first = np.cumsum([0, *sizes])
    known = (codes >= 0) & (codes < np.asarray(sizes))
    ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    return sparse.csr_array(
        (np.ones(ends[-1]), (codes + first[:-1])[known], ends), shape=(len(codes), first[-1])
    )


def join_features(parts: Sequence[Any], order: Array, as_sparse: bool) -> Any:
    """Numbers of all blocks, `(r, k)`, their columns in the given order."""
    if as_sparse:
        return sparse.csr_array(sparse.hstack(parts, format="csr")[:, order])
    return np.hstack([part.toarray() if sparse.issparse(part) else part for part in parts])[
        :, order
    ]


def _among(live: Array, place: int) -> int:
    """Place of a class among the possible ones."""
    return int(live[:place].sum())


def _add(parts: Sequence[Linear], times: Sequence[Any]) -> Linear:
    """Multiples of several blocks: their weights stand side by side, their offsets add up."""
    pairs = list(zip(parts, times, strict=True))
    weights = np.concatenate([t * part.weights for part, t in pairs], axis=1)
    return Linear(weights, np.sum([t * part.offset for part, t in pairs], axis=0))


def _place(values: Array, live: Array, missing: float) -> Array:
    """Put impossible classes between the others."""
    result = np.full((len(live), *values.shape[1:]), missing)
    result[live] = values
    return result


def split_features(product: Any, power: Exponents) -> Any:
    """The product of every feature by itself, where features have exponents of their own.

    Its classes are the same.
    """
    if not isinstance(numbers := of_empty_rows(power), tuple):
        return product
    pairs = zip(product.blocks, numbers, strict=True)
    parts = (
        [block] if np.ndim(w) == 0 else [block.only(j) for j in range(np.size(w))]
        for block, w in pairs
    )
    return type(product)(product.classes, tuple(chain.from_iterable(parts)))


def exponents_by_feature(power: Exponents) -> Numbers:
    """The exponents of the blocks of `split_features`.

    An exponent of words is that of a row without any, see `linear_cells`.
    """
    numbers = of_empty_rows(power)
    return (
        tuple(float(w) for each in numbers for w in np.atleast_1d(each))
        if isinstance(numbers, tuple)
        else numbers
    )


def linear_cells(power: Exponents, cells: Sequence[Cells]) -> list[Cells]:
    """The cells that weights multiply.

    Counts of words whose exponent falls with a row's length n are divided by 1 + n / n0.
    """
    pairs = zip(of_blocks(power, len(cells)), cells, strict=True)
    return [
        scaled(sparse.csr_array(x[EVERY]), each.of(x) / each.value)
        if isinstance(each, LengthPower)
        else x
        for each, x in pairs
    ]
