"""One file per family; each is a conjugate pair and how to declare it."""

from bayesnb.families.bernoulli import Bernoulli, Beta
from bayesnb.families.categorical import Categorical, Codes
from bayesnb.families.counts import Multinomial, Vocabulary
from bayesnb.families.dirichlet import Dirichlet
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.inverse_gamma import NormalInverseGamma
from bayesnb.families.joint import JointTable
from bayesnb.families.known import KnownDie
from bayesnb.families.multivariate import MultivariateGaussian
from bayesnb.families.poisson import Gamma, Poisson
from bayesnb.families.support import AnyLevel, Counts, RealNumbers, Support, ZeroOrOne
from bayesnb.families.wishart import NormalInverseWishart

FAMILIES = (Gaussian, Categorical, Bernoulli, Multinomial, Poisson, JointTable, MultivariateGaussian)
PRIORS = (NormalInverseGamma, Dirichlet, Beta, Gamma, NormalInverseWishart)  # what a user gives to a family

__all__ = [
    "FAMILIES",
    "PRIORS",
    "AnyLevel",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Codes",
    "Counts",
    "Dirichlet",
    "Gamma",
    "Gaussian",
    "JointTable",
    "KnownDie",
    "Multinomial",
    "MultivariateGaussian",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "Poisson",
    "RealNumbers",
    "Support",
    "Vocabulary",
    "ZeroOrOne",
]
