"""One file per family; each is a conjugate pair and how to declare it."""

from bayesnb.families.bernoulli import Bernoulli, Beta
from bayesnb.families.categorical import Categorical, Codes
from bayesnb.families.dirichlet import Dirichlet
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.inverse_gamma import NormalInverseGamma
from bayesnb.families.joint import JointTable
from bayesnb.families.known import KnownDie
from bayesnb.families.multinomial import Multinomial
from bayesnb.families.poisson import Gamma, Poisson

FAMILIES = (Gaussian, Categorical, Bernoulli, Multinomial, Poisson, JointTable)
PRIORS = (NormalInverseGamma, Dirichlet, Beta, Gamma)  # what a user gives to a family

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
    "JointTable",
    "KnownDie",
    "Multinomial",
    "NormalInverseGamma",
    "Poisson",
]
