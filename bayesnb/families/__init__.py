"""One file per family; each is a conjugate pair and how to declare it."""

from bayesnb.families.bernoulli import Bernoulli, Beta
from bayesnb.families.categorical import Categorical, Codes
from bayesnb.families.dirichlet import Dirichlet
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.inverse_gamma import NormalInverseGamma
from bayesnb.families.known import KnownDie
from bayesnb.families.multinomial import Multinomial
from bayesnb.families.multivariate import MultivariateGaussian
from bayesnb.families.poisson import Gamma, Poisson
from bayesnb.families.wishart import NormalInverseWishart

FAMILIES = (Gaussian, Categorical, Bernoulli, Multinomial, Poisson, MultivariateGaussian)
PRIORS = (NormalInverseGamma, Dirichlet, Beta, Gamma, NormalInverseWishart)  # what a user gives to a family

__all__ = [
    "FAMILIES",
    "PRIORS",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Codes",
    "Dirichlet",
    "Gamma",
    "Gaussian",
    "KnownDie",
    "Multinomial",
    "MultivariateGaussian",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "Poisson",
]
