"""Two classes at once, where each has a theta of its own or both have one.

Given that a feature is included the classes are apart, and else the powers of their densities are those of one density:

    log E[p(x | theta_1)**s p(x | theta_0)**u] = log(w exp(K_1(s) + K_0(u)) + (1 - w) exp K_common(s + u))

So as s -> (s, -s), which is all of the law of log-odds, what both have in common says nothing.
"""

from typing import Any

import numpy as np

from bayesnb.families.base import ORDER
from bayesnb.families.mixture import mixed, mixed_cumulants
from bayesnb.numerics.threads import blocks

Array = np.ndarray
AT_ONCE = 1 << 17  # moments of cells
SIGNS = (-1.0) ** np.arange(1, ORDER + 1)


def moment(belief: Any, cells: Array, s: Array, u: Array) -> Array:
    """Of the second class and the first, summed over features, `(r, f), (n,), (n,) -> (r, n)`."""
    total = np.empty((len(cells), len(s)), np.result_type(s, u, float))
    some = blocks(len(s), 1 if belief.whole else max(AT_ONCE // cells.size, 1))
    for n in some:
        one, two = (own[n] if belief.whole else own[n, None, None] for own in (s, u))
        total[:, n] = mixed(belief.log_odds[0], *_both(belief, cells, one, two)).sum(axis=-1).T.reshape(len(cells), -1)
    return total


def cumulants(belief: Any, cells: Array, t: float, v: float) -> Array:
    """Derivatives in s of the above at (t + s, v - s), `(r, f) -> (4, r)`."""
    own, common = _both(belief, cells, t, v)
    first, second = (belief.own[c].cumulants(cells, ORDER, tilt) for c, tilt in ((0, v), (1, t)))
    gap = second + SIGNS.reshape(-1, *[1] * (first.ndim - 1)) * first
    return mixed_cumulants(belief.log_odds[0] + own - common, gap, np.zeros_like(gap)).sum(axis=-1)


def _both(belief: Any, cells: Array, s: Any, u: Any) -> tuple[Array, Array]:
    """The log moments if the classes are apart, and if they are not, `(r, f)`; a power of 0 is no evidence."""
    own = belief.own[1].log_moment(cells, s) + belief.own[0].log_moment(cells, u)
    return own, belief.common[0].log_moment(cells, s + u)
