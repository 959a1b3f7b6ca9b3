"""The scores of the classes as linear functions of the columns, with theta plugged in.

    log p(x, c | theta) = w_c . x + b_c + a term that classes share
    w_c = t * weights_c                                                 t the exponent
    b_c = log pi_c + t * offset_c

Blocks are independent, so weights are concatenated and offsets added. The boundary between two
classes is the hyperplane (w_j - w_k) . x + (b_j - b_k) = 0, and p(y | x, theta) is a softmax, as in
a logistic regression: Ng and Jordan (2002), On discriminative vs. generative classifiers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Cells
from bayesnb.families.multinomial import scaled
from bayesnb.families.record import Linear, Power
from bayesnb.model.powers import Exponents, LengthPower, of_blocks, of_empty_rows
from bayesnb.numerics.views import EVERY, Dense


@dataclass(frozen=True, eq=False)
class Form:
    """Weights `(c, k)` and offsets `(c,)`, with sds; impossible classes have offset -inf, weights
    0.
    """

    w: Array
    b: Array
    w_sd: Array
    b_sd: Array

    def ordered(self, order: Array) -> Self:
        """The linear form with features in another order."""
        return replace(self, w=self.w[:, order], w_sd=self.w_sd[:, order])


def form_of(density: Any, posterior: Any, power: Exponents, against: int | None = None) -> Form:
    """Weights and offsets of all classes, or their differences from the class at index `against`.

    Exponents of words are those of rows without words, see `numbers_of`.
    """
    live = density.live
    # index among the possible classes
    place = None if against is None else int(live[:against].sum())
    scores = []
    variances = []
    powers = of_blocks(of_empty_rows(power), len(density.blocks))
    for plugged, belief, w in zip(density.blocks, posterior.blocks, powers, strict=True):
        for part, t in _parts(plugged[live], w):
            linear = part.linear() if place is None else part.linear_against(place)
            scores.append(Linear(t * linear.weights, t * linear.offset))
        for part, t in _parts(belief[live], w):
            linear = part.linear_variance(place)
            variances.append(Linear(t * t * linear.weights, t * t * linear.offset))
    weights, offset = _side_by_side(scores)
    weights_variance, offset_variance = _side_by_side(variances)
    b = density.log_class[live] + offset
    if against is not None:
        b = b - density.log_class[against]
    table = np.zeros((len(live), weights.shape[1]))
    form = Form(table, np.full(len(live), -np.inf), table.copy(), np.zeros(len(live)))
    form.w[live] = weights
    form.b[live] = b
    form.w_sd[live] = np.sqrt(weights_variance)
    form.b_sd[live] = np.sqrt(offset_variance + posterior.classes.log_variance(against)[live])
    return form


def _parts(block: Any, power: Power) -> list[tuple[Any, float]]:
    """The parts with one exponent: the block, or each of its features."""
    if np.ndim(power) == 0:
        return [(block, float(power))]
    return [(block.only(j), w) for j, w in enumerate(np.asarray(power).tolist())]


def _side_by_side(parts: Sequence[Linear]) -> tuple[Array, Array]:
    """Concatenate the weights of all parts, and add their offsets."""
    weights, offsets = zip(*parts, strict=True)
    return np.concatenate(weights, axis=1), np.sum(offsets, axis=0)


def numbers_of(
    x: Cells, sizes: Sequence[int] | None, power: Power | LengthPower
) -> Array | sparse.csr_array:
    """The design matrix of a block: its cells, or one-hot codes of levels, 0 if unknown.

    Counts of words whose exponent falls with the length n of a row are divided by 1 + n / n0.
    """
    part = x.rows if isinstance(x, Dense) else x[EVERY]
    if isinstance(power, LengthPower):
        return scaled(sparse.csr_array(part), power.shares(x))
    if sizes is None:
        return part.astype(float) if sparse.issparse(part) else np.asarray(part, float)
    codes = np.asarray(part)
    first = np.cumsum([0, *sizes])
    known = (codes >= 0) & (codes < np.asarray(sizes))
    ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    return sparse.csr_array(
        (np.ones(ends[-1]), (codes + first[:-1])[known], ends), shape=(len(codes), first[-1])
    )
