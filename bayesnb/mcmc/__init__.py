"""MCMC with PyMC: the same models sampled, and those that are not conjugate.

This is the only room that knows PyMC, which is imported when something is built or sampled. It is
in the extra `mcmc`.
"""

from bayesnb.mcmc.importance_weights import DegenerateWarning, ParetoWarning
from bayesnb.mcmc.pymc_model import build
from bayesnb.mcmc.sampled_models import Sampled, fit
from bayesnb.mcmc.sampling import SamplingWarning
from bayesnb.mcmc.twin import Logistic, logistic

__all__ = [
    "DegenerateWarning",
    "Logistic",
    "ParetoWarning",
    "Sampled",
    "SamplingWarning",
    "build",
    "fit",
    "logistic",
]
