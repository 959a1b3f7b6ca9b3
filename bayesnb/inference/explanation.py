"""Explanations: the contribution of each feature to the scores of the classes.

    U_c = log G_c + sum_j w_j log p(x_j | theta_cj) + a_jc      p(y | x, theta) = softmax_c(U)

G_c are independent Gamma variates, which are the class probabilities once normalised. The terms are
independent, so their means and variances, the first two cumulants, add. With theta integrated out,
the terms are w_j K_j(1), an exponent times the log predictive of the cell, and log E[pi_c]; their
sum is the log joint predictive. The constants a_jc = w_j K_j(1) - K_j(w_j), 0 where an exponent is
1, ensure this: see `inference.class_scores`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Belief, Cells, Contributions
from bayesnb.families.record import Power, difference, is_by_row, is_one, raised
from bayesnb.model.powers import Exponents, is_silent, of_rows
from bayesnb.model.product import Product
from bayesnb.numerics.threads import blocks

NUMBERS_AT_ONCE = 1 << 20  # numbers processed together
# numbers of a result: rows x classes x features, 80 MB in each of three arrays
MAX_NUMBERS = 10_000_000


@dataclass(frozen=True, eq=False)
class Explanation:
    """Posterior mean, sd and log predictive of each term of the class scores; 0 for impossible
    classes.
    """

    evidence: Array  # `(r, c, f)`, as the next two
    sd: Array
    predictive: Array
    class_term: Array  # `(c,)`, as the next two; -inf for an impossible class
    class_term_sd: Array
    predictive_class_term: Array
    score_sd: Array  # `(r, c)`
    # the columns shown, for each block explained word by word
    words: tuple[Array | None, ...]

    @property
    def score(self) -> Array:
        """The mean of U, `(r, c)`."""
        return self.class_term + self.evidence.sum(axis=-1)

    def ordered(self, order: Array) -> Self:
        """The explanation with features in another order."""
        if (np.diff(order) > 0).all():
            return self
        parts = (self.evidence, self.sd, self.predictive)
        evidence, sd, predictive = (part[..., order] for part in parts)
        return replace(self, evidence=evidence, sd=sd, predictive=predictive)


def explain(belief: Product, cells: Sequence[Cells], power: Exponents = 1.0) -> Explanation:
    """Explain the scores of each row, `(r, f) per block -> (r, c, f)`, with blocks end to end."""
    live = belief.live
    words = tuple(block.words(x) for block, x in zip(belief.blocks, cells, strict=True))
    features = _count_features(cells, words, len(live))
    possible = belief.blocks if belief.all_live else tuple(block[live] for block in belief.blocks)
    step = max(NUMBERS_AT_ONCE // max(len(live) * features, 1), 1)
    parts = []
    for rows in blocks(cells[0].shape[0], step):
        parts.append(_explain_rows(possible, [x[rows] for x in cells], words, power))
    mean, variance, gain, total = (
        _spread(np.concatenate(arrays), live) for arrays in zip(*parts, strict=True)
    )
    first, second = belief.classes.weight_cumulants(2)
    second = np.where(live, second, 0.0)
    return Explanation(
        mean,
        np.sqrt(np.maximum(variance, 0.0)),
        gain,
        np.where(live, first, -np.inf),
        np.sqrt(second),
        belief.log_class,
        np.sqrt(np.maximum(second + total.sum(axis=-1), 0.0)),
        words,
    )


def _explain_rows(
    possible: Sequence[Belief],
    cells: Sequence[Cells],
    words: Sequence[Array | None],
    power: Exponents,
) -> tuple[Array, ...]:
    """Means, variances and log predictives of terms, `(r, c, f)`, and variances of blocks."""
    each = zip(possible, cells, words, of_rows(power, cells), strict=True)
    parts = [_explain_block(*block) for block in each]
    total = np.stack([part.total_variance for part in parts], axis=-1)
    terms = zip(*(part[:3] for part in parts), strict=True)
    return *(np.concatenate(arrays, axis=-1) for arrays in terms), total


def _explain_block(block: Belief, x: Cells, words: Array | None, power: Power) -> Contributions:
    """Contributions of one block's cells."""
    if is_silent(power):
        nothing = np.zeros((x.shape[0], len(block), x.shape[1] if words is None else len(words)))
        return Contributions(nothing, nothing, nothing, nothing[..., 0])
    read = x.toarray() if words is None and sparse.issparse(x) else x
    result = block.contributions(read, power, words)
    each = power[:, None] if is_by_row(power) else power  # type: ignore[index]
    if not is_one(power):
        predictive = raised(each, block.contributions(read, 1.0, words).log_moment)
        shift = difference(predictive, result.log_moment)
        result = result._replace(mean=result.mean + shift, log_moment=predictive)
    log_base = block.cell_log_base(x)
    if log_base is not None:
        base = each * log_base[:, None]
        result = result._replace(mean=result.mean + base, log_moment=result.log_moment + base)
    return result


def compare_classes(mean: Array, variance: Array) -> tuple[Array, Array]:
    """Return the second class against the first of two, or each against the mean of all.

    Shapes: `(..., c) -> (..., 1)`, or `(..., c)`.
    """
    classes = mean.shape[-1]
    if classes == 2:
        return mean[..., 1:] - mean[..., :1], variance.sum(axis=-1, keepdims=True)
    others = variance.sum(axis=-1, keepdims=True) - variance
    spread = (1 - 1 / classes) ** 2 * variance + others / classes**2
    return mean - mean.mean(axis=-1, keepdims=True), spread


def _spread(values: Array, live: Array) -> Array:
    """Insert zeros for impossible classes."""
    if live.all():
        return values
    out = np.zeros((len(values), len(live), values.shape[-1]))
    out[:, live] = values
    return out


def _count_features(cells: Sequence[Cells], words: Sequence[Array | None], classes: int) -> int:
    """Count the features of all blocks; raise if the result would exceed MAX_NUMBERS numbers."""
    rows = cells[0].shape[0]
    features = 0
    for x, shown in zip(cells, words, strict=True):
        features += x.shape[1] if shown is None else len(shown)
    if rows * classes * features > MAX_NUMBERS:
        most = MAX_NUMBERS // (classes * features)
        advice = f"at most {most:,} rows like these at once" if most else "fewer columns"
        raise ValueError(
            f"explain: {rows:,} rows x {classes:,} classes x {features:,} features are "
            f"{rows * classes * features:,} numbers, more than {MAX_NUMBERS:,}. Explain {advice}."
        )
    return features
