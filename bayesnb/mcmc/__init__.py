"""MCMC with PyMC: the same models sampled, and those that are not conjugate. The only room that knows PyMC.

PyMC itself is imported when something is built or sampled: `pip install "bayesnb[mcmc]"`.
"""

from bayesnb.mcmc.fitting import build, fit
from bayesnb.mcmc.judging import ParetoWarning
from bayesnb.mcmc.sampled import Sampled
from bayesnb.mcmc.sampling import SamplingWarning
from bayesnb.mcmc.twin import Logistic, logistic
from bayesnb.mcmc.weights import DegenerateWarning

__all__ = ["DegenerateWarning", "Logistic", "ParetoWarning", "Sampled", "SamplingWarning", "build", "fit", "logistic"]
