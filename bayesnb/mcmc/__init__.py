"""MCMC with PyMC: the same models sampled, and those that are not conjugate. The only room that knows PyMC."""
