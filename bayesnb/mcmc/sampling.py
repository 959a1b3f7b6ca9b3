"""Chains of a PyMC model."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Plan:
    """How many draws of how many chains, after how many steps of tuning, by which sampler, from which generator."""

    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    cores: int | None = None
    rng: Any = None
    sampler: str | None = None
    progressbar: bool | None = None


def pymc() -> Any:
    """PyMC, or an error that says what to install."""
    try:
        import pymc as pm
    except ImportError as error:
        raise ImportError('MCMC needs PyMC: pip install "bayesnb[mcmc]"') from error
    return pm


def sample(model: Any, plan: Plan) -> Any:
    """The draws, as PyMC's tree."""
    pm = pymc()
    options = {} if plan.sampler is None else {"nuts_sampler": plan.sampler}
    seed = int(np.random.default_rng(plan.rng).integers(1 << 31))
    with model:
        return pm.sample(
            draws=plan.draws,
            tune=plan.tune,
            chains=plan.chains,
            cores=plan.cores,
            random_seed=seed,
            progressbar=bool(plan.progressbar),
            quiet=not plan.progressbar,
            **options,
        )
