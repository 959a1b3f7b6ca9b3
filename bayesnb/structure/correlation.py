"""Pairs of Gaussian columns: a bivariate normal against two independent ones.

    covariance ~ InverseWishart(nu, Psi), Psi diagonal      mean | covariance ~ Normal(m, covariance / count)

Its margins are those of the columns alone, Normal-inverse-gamma with shape a = (nu - 1) / 2 and scales b_j =
Psi_jj / 2: both hypotheses have the same (Geiger and Heckerman 2002, Parameter priors for directed acyclic graphical
models). With primes for what n rows make of them, and rho the correlation in Psi', the normalizers' ratio collapses to

    log Bayes factor = L(a') - L(a) - log(b_1' / b_1) / 2 - log(b_2' / b_2) / 2 - (a' + 1/2) log(1 - rho**2)

where L(a) = log Gamma(a + 1/2) - log Gamma(a). Where two columns' priors differ in count or shape, both hypotheses take
the geometric means, and each scale keeps its ratio to the shape, the variance that is expected.
"""

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.inverse_gamma import NormalInverseGamma
from bayesnb.special import log_gamma_ratio, ratio

NEARLY_ONE = 1e-6  # a share of variance that is left, below which it is summed again


def correlations(x: Array, weight: Array, prior: NormalInverseGamma) -> Array:
    """log Bayes factors of all pairs of columns of one class, `(r, f), (r,), (f,) -> (f, f)`."""
    seen = (~np.isnan(x)).astype(float)
    centre = ratio(np.where(seen > 0, x, 0.0).T @ weight, seen.T @ weight)
    x = np.where(seen > 0, x - centre, 0.0)
    own, location = x * weight[:, None], prior.location - centre
    n, sums = (seen * weight[:, None]).T @ seen, own.T @ seen  # over the rows that have both columns
    mean = ratio(sums, n)
    ssd = np.maximum((own * x).T @ seen - sums * mean, 0.0)
    count, shape = np.sqrt(np.outer(prior.count, prior.count)), np.sqrt(np.outer(prior.shape, prior.shape))
    scale = (prior.scale / prior.shape)[:, None] * shape
    share, gap = ratio(count * n, count + n), mean - location[:, None]
    after = scale + (ssd + share * gap**2) / 2  # of the first column, in the pair's rows
    cross = (own.T @ x - sums * mean.T + share * gap * gap.T) / 2
    left = 1 - cross**2 / (after * after.T)
    for i, j in np.argwhere(np.triu(left < NEARLY_ONE, 1)):
        both = (seen[:, i] * seen[:, j])[:, None] > 0
        rows = np.where(both, x[:, [i, j]] - [mean[i, j], mean[j, i]], 0.0)
        extra = np.array(
            [[scale[i, j], 0], [0, scale[j, i]], np.sqrt(share[i, j] / 2) * np.array([gap[i, j], gap[j, i]])]
        )
        extra[:2] = np.sqrt(extra[:2])
        left[i, j] = left[j, i] = _unexplained(np.vstack([np.sqrt(weight / 2)[:, None] * rows, extra]))
    np.fill_diagonal(left, 1.0)
    later = shape + n / 2
    grown = np.log(after / scale)
    return _gain(later) - _gain(shape) - (grown + grown.T) / 2 - (later + 0.5) * np.log(left)


def _gain(shape: Array) -> Array:
    return log_gamma_ratio(shape, 0.5)


def _unexplained(rows: Array) -> float:
    """The share of one column's sum of squares that the other does not explain, without taking a difference."""
    one, two = rows.T
    slope = (one @ two) / (one @ one)
    return float(((two - slope * one) ** 2).sum() / (two @ two))
