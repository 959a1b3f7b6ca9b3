"""Exponents that a row leaves: those that would have been found from all other rows.

Exponents w are chosen by the scores of the same rows that are then held out. With them fixed, held-out scores are too
good. So each row leaves them too, by one Newton step on the objective by which they were found, which is concave. For
row i with the scores s_c = log p(c) + sum_j w_j L_cj, all of the other rows, and p = softmax(s),

    m = sum_c p_c L_c      g = weight (L_y - m)      G_c = sqrt(weight p_c) (L_c - m)
    w(-i) = max(w - (S**-1 - G'G)**-1 g, 0)
    (S**-1 - G'G)**-1 = S + S G' (1 - G S G')**-1 G S

S is the covariance of the exponents, the inverse of the negative second derivatives of the objective, of which G'G is
the row's part and g its part of the slope. One system of equations a row, as large as there are classes.
"""

import numpy as np

from bayesnb.families.base import Array
from bayesnb.model.powers import ExponentCovariance
from bayesnb.model.product import normalised

# S is averaged over ridges, so that a row may seem to have told more than is known: at most so much is taken back.
MOST_TOLD = 0.95


def leave_exponents(
    scores: tuple[Array, Array],
    codes: Array,
    counts: Array,
    w: Array,
    covariance: ExponentCovariance,
) -> Array:
    """Return the exponents without each row, `(r, f)`, from the rows' left-out scores, `(r, c)` and `(r, c, f)`.

    An exponent that is held at 0 has no covariance, and stays there.
    """
    log_class, table = scores
    finite = np.where(np.isfinite(table), table, 0.0)  # what is impossible stays so, whatever the exponent
    proba = np.exp(normalised(log_class + finite @ w))
    proba = np.where(np.isfinite(proba), proba, 0.0)
    finite = covariance.add_up(finite)
    mean = np.einsum("rc,rcf->rf", proba, finite)
    slope = counts[:, None] * (finite[np.arange(len(codes)), codes] - mean)
    root = np.sqrt(counts[:, None] * proba)[:, :, None] * (finite - mean[:, None])
    spread = root @ covariance.matrix
    told = spread @ root.swapaxes(1, 2)
    largest = np.linalg.eigvalsh(told)[:, -1]
    share = np.minimum(1.0, MOST_TOLD / np.maximum(largest, MOST_TOLD))[:, None, None]
    step = slope @ covariance.matrix
    inner = np.eye(told.shape[1]) - share * told
    solved = np.linalg.solve(inner, root @ step[:, :, None])
    step = step + (share * spread.swapaxes(1, 2) @ solved)[:, :, 0]
    return np.maximum(w - step[:, covariance.group], 0.0)
