"""Transforms at thousands of places on a line, read from few: a polynomial on each of some panels.

    t in (a, a + size), size at most a and at most LONGEST      f(t) = sum over the panel's Chebyshev points

The moments E[X**s] of a Beta variate have poles on the negative axis of s only, so on a vertical line at t and more
from the real axis they are smooth on a scale of t: a polynomial through n points is wrong by 5.8**-n, 3 + sqrt(8) being
the size of Bernstein's ellipse that ends at the pole. Trefethen (2013), Approximation theory and practice, chapter 8.
"""

from collections.abc import Callable

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander

from bayesnb.numerics.compilation import Array

POINTS = 24  # of a panel: 5.8**-24 is 5e-19
LONGEST = 1.0  # panel, on which exp(i x t) turns by x: 24 points are as good for x up to 10, a ratio of exp(10)
FROM_POINTS = chebvander(chebpts1(POINTS), POINTS - 1).T * (2 / POINTS)  # a polynomial's coefficients from its values
FROM_POINTS[0] /= 2


def interpolate(f: Callable[[Array], Array], t: Array) -> Array:
    """Values of a complex f at places t, `(n,)` not below 0 and ascending, from fewer places: `(n,) -> (n, m)`."""
    panels, places, start = [], [], 0
    while start < len(t):
        size = min(t[start], LONGEST)
        end = max(int(np.searchsorted(t, t[start] + size)), start + 1)
        few = end - start <= POINTS
        panels.append(np.eye(end - start) if few else _polynomials(2 * (t[start:end] - t[start]) / size - 1))
        places.append(t[start:end] if few else t[start] + size * (1 + chebpts1(POINTS)) / 2)
        start = end
    # real numbers, as the product of a real matrix and a complex one takes twice as long
    values = np.ascontiguousarray(f(np.concatenate(places))).view(float)
    parts = np.split(values, np.cumsum([len(each) for each in places])[:-1])
    return np.concatenate([matrix @ part for matrix, part in zip(panels, parts, strict=True)]).view(complex)


def _polynomials(x: Array) -> Array:
    """Weights of the values at Chebyshev's points in a polynomial's values at x in (-1, 1), `(n,) -> (n, POINTS)`."""
    return chebvander(x, POINTS - 1) @ FROM_POINTS
