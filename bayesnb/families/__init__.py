"""One file per family; each is a conjugate pair and how to declare it.

A new family is a file with its stats, density, belief and declaration, and a line `register(...)`
here. Saved files, the command line, the report, `tune` and the tests of all families then know it.
"""

from bayesnb.families.bernoulli import Bernoulli, Beta
from bayesnb.families.categorical import Categorical, Codes
from bayesnb.families.certain import KnownDie
from bayesnb.families.dirichlet import Dirichlet, EmpiricalDirichlet
from bayesnb.families.family import (
    FAMILIES,
    AnyLevel,
    BestOf,
    Choice,
    Counts,
    Family,
    RealNumbers,
    Support,
    ZeroOrOne,
    register,
)
from bayesnb.families.gaussian import Gaussian, NormalInverseGamma
from bayesnb.families.histogram import AveragedHistogram, Histogram
from bayesnb.families.joint import JointTable
from bayesnb.families.multinomial import Multinomial, Vocabulary
from bayesnb.families.multivariate import MultivariateGaussian, NormalInverseWishart
from bayesnb.families.poisson import Gamma, Poisson

register(Categorical)
register(Bernoulli)
register(Gaussian)
register(MultivariateGaussian)
register(Poisson)
register(Multinomial)
register(JointTable)
register(Histogram)

__all__ = [
    "FAMILIES",
    "AnyLevel",
    "AveragedHistogram",
    "Bernoulli",
    "BestOf",
    "Beta",
    "Categorical",
    "Choice",
    "Codes",
    "Counts",
    "Dirichlet",
    "EmpiricalDirichlet",
    "Family",
    "Gamma",
    "Gaussian",
    "Histogram",
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
    "register",
]
