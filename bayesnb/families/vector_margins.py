"""What is believed of some columns of a block of Gaussians, whatever the others hold: blocks of an inverse Wishart.

Of as many dof fewer as there are columns less, so that of one column shape = (dof - d + 1) / 2 and scale = scale_jj / 2
are those of an inverse Gamma. Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 8.
"""

import numpy as np

from bayesnb.families.base import Array, Belief
from bayesnb.families.inverse_gamma import NormalInverseGamma
from bayesnb.families.whitening import diagonal


class Margins(Belief):
    """A normal inverse Wishart over some columns is one over fewer."""

    location: Array
    count: Array
    dof: Array
    scale: Array

    width: int

    def margins(self) -> NormalInverseGamma:
        """Every column by itself, `(c, 1, d) -> (c, d)`."""
        shape = self.location[:, 0].shape
        count, free = (np.broadcast_to(own, shape) for own in (self.count, self.dof - self.width + 1))
        return NormalInverseGamma(self.location[:, 0], count, free / 2, diagonal(self.scale)[:, 0] / 2)
