"""What is believed of some columns of a block of Gaussians, whatever the others hold: blocks of an inverse Wishart.

Of as many dof fewer as there are columns less, so that of one column shape = (dof - d + 1) / 2 and scale = scale_jj / 2
are those of an inverse Gamma. Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 8.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.inverse_gamma import NormalInverseGamma
from bayesnb.families.narrowing import Narrowed
from bayesnb.families.whitening import diagonal
from bayesnb.numerics.views import EVERY, numbers


class Margins(Belief):
    """A normal inverse Wishart over some columns is one over fewer."""

    location: Array
    count: Array
    dof: Array
    scale: Array

    width: int
    of_columns: Callable[[Array], Any]
    made: Callable[..., Any]

    def margins(self) -> NormalInverseGamma:
        """Every column by itself, `(c, 1, d) -> (c, d)`."""
        shape = self.location[:, 0].shape
        count, free = (np.broadcast_to(own, shape) for own in (self.count, self.dof - self.width + 1))
        return NormalInverseGamma(self.location[:, 0], count, free / 2, diagonal(self.scale)[:, 0] / 2)

    def narrowed(self, x: Cells, see: Callable[..., Any]) -> Narrowed:
        cells = numbers(x, EVERY)
        there = ~np.isnan(cells[0])
        if there.all() or not there.any():
            return Narrowed(self, x, see)
        own = self.of_columns(there)
        fields = (own.location, own.count, own.dof, own.scale)
        return Narrowed(self.made(*fields), np.ascontiguousarray(cells[:, there]), see)
