"""Chains of a PyMC model, and whether they can be trusted."""

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.mcmc.backend import pymc

SAMPLERS = ("nutpie", "pymc", "numpyro", "blackjax")
ACCEPT = 0.95  # hierarchies have narrow places
R_HAT, FEWEST = 1.01, 100  # Vehtari et al. (2021), Rank-normalization, folding, and localization; draws of each chain


class SamplingWarning(UserWarning):
    """Chains that have not met, have too few effective draws, or met a shape that they cannot follow."""


@dataclass(frozen=True, eq=False)
class Plan:
    """How many draws of how many chains, after how much tuning, by which sampler; `more` is what `pm.sample` takes."""

    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    rng: Any = None
    sampler: str | None = None
    progressbar: bool | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value, least in (("draws", self.draws, 1), ("tune", self.tune, 0), ("chains", self.chains, 1)):
            if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}.")
        if self.sampler is not None and self.sampler not in SAMPLERS:
            raise ValueError(f"sampler must be None or one of {', '.join(SAMPLERS)}, got {self.sampler!r}.")

    @property
    def chosen(self) -> str:
        """The sampler: nutpie, where it is installed, is the fastest for all but tiny models."""
        return self.sampler or ("nutpie" if find_spec("nutpie") else "pymc")


def sample(model: Any, plan: Plan, start: Mapping[str, Any] | None = None) -> Any:
    """The draws, as PyMC's tree; a `SamplingWarning` where they are not to be trusted.

    PyMC's chains begin exactly at a `start`: its usual noise of +-1 would leave a narrow mode.
    """
    shown = sys.stderr.isatty() if plan.progressbar is None else plan.progressbar
    said = {"nuts_sampler": plan.chosen, "progressbar": shown, "quiet": not shown, "compute_convergence_checks": False}
    said |= {"draws": int(plan.draws), "tune": int(plan.tune), "chains": int(plan.chains)}
    said |= {"target_accept": ACCEPT} if plan.chosen in ("nutpie", "pymc") else {}
    if start:
        said |= {"initvals": dict(start)} | ({"init": "adapt_diag"} if plan.chosen == "pymc" else {})
    said["random_seed"] = int(np.random.default_rng(plan.rng).integers(1 << 31))
    with model:
        tree = pymc().sample(**said | dict(plan.more))
    means = [f"{variable.name}_variate" for variable in model.deterministics]
    tree["posterior"] = results.sampled_trees.without(tree["posterior"], means)
    tell_trouble(tree)
    return tree


def tell_trouble(tree: Any) -> None:
    """One warning for everything that is wrong with the chains, and what to do about it."""
    found = results.diagnostics.diagnose(tree)
    said = []
    if found.r_hat > R_HAT:
        said.append(
            f"r_hat of {found.r_hat_of} is {found.r_hat:.4g}, above {R_HAT}: the chains have not met. "
            "Sample longer: more `tune` and `draws`."
        )
    if found.ess < FEWEST * found.chains:
        said.append(
            f"{found.ess_of} has {found.ess:.0f} effective draws, fewer than {FEWEST} a chain: means and quantiles "
            "are noisy. Sample more `draws`."
        )
    if found.divergences:
        said.append(
            f"{found.divergences} of {found.draws} draws diverged: some region was not reached, so what is learnt may "
            "be wrong. Try sampling={'target_accept': 0.99}, more `tune`, or a prior that says more."
        )
    if said:
        warnings.warn(" ".join(said), SamplingWarning, skip_file_prefixes=(str(Path(__file__).parent.parent),))
