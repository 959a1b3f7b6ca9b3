"""Probabilities of levels as variables of a PyMC model."""

from typing import Any

import numpy as np

FEW = 40  # levels of a die that a sampler moves on the simplex itself


def simplex(pm: Any, said: dict[str, Any], concentration: Any) -> Any:
    """A Dirichlet over the last axis; over many levels as the shares of Gamma variates, which have no edges to meet."""
    levels = concentration.shape[-1] if isinstance(concentration, np.ndarray) else concentration.type.shape[-1]
    if levels == 1:
        return pm.Deterministic(**said, var=pm.math.ones_like(concentration))
    if levels <= FEW:
        return pm.Dirichlet(**said, a=concentration)
    variates = pm.Gamma(f"{said['name']}_variate", alpha=concentration, beta=1.0, dims=said["dims"])
    return pm.Deterministic(**said, var=variates / variates.sum(axis=-1, keepdims=True))
