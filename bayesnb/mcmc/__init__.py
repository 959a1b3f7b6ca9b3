"""MCMC with PyMC: the same models sampled, and those that are not conjugate. The only room that knows PyMC."""

from bayesnb.mcmc.logistic import Logistic, logistic

__all__ = ["Logistic", "logistic"]
