"""MCMC with PyMC, for the same models and for extensions that are not conjugate.

Only this room knows PyMC (the extra `mcmc`), which is imported when something is built or sampled.
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
