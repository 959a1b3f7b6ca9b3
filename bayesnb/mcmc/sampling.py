"""Sampling from a PyMC model, and diagnostics of the chains."""

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.families.base import Rng

SAMPLERS = ("nutpie", "pymc", "numpyro", "blackjax")
ACCEPT = 0.95  # target acceptance, as hierarchical posteriors have narrow regions
# Vehtari et al. (2021), Rank-normalization, folding, and localization
R_HAT = 1.01
MIN_EFFECTIVE_DRAWS = 100  # per chain


class SamplingWarning(UserWarning):
    """Chains have not converged, have too few effective draws, or diverged.

    The message names the parameter and says what to try. It affects all results of
    ``bayesnb.mcmc.fit`` and ``bayesnb.mcmc.logistic``.

    See Also
    --------
    bayesnb.mcmc.fit : Sample a model with PyMC.
    """


def install_advice(extra: str) -> str:
    """Return how to install an extra; to be changed once the package is on an index."""
    return f'bayesnb is not on a package index yet; in a clone of it: pip install ".[{extra}]"'


def pymc() -> Any:
    """Return the package PyMC, or raise an error that says how to install it."""
    try:
        import pymc
    except ImportError:
        raise ImportError(
            f"bayesnb.mcmc needs PyMC, which is not installed. {install_advice('mcmc')}"
        ) from None
    return pymc


def check_sampler(name: str) -> None:
    """Raise an error that says how to install the package of a sampler, if it is missing."""
    if not find_spec(name):
        advice = install_advice("mcmc") if name == "nutpie" else f"pip install {name}"
        raise ImportError(
            f"sampler={name!r} needs the package {name}, which is not installed. {advice}"
        )


@dataclass(kw_only=True, eq=False, repr=False)
class ChainParameters:
    """Parameters of the chains of a sampled estimator.

    Parameters
    ----------
    draws : int, default=1000
        Draws per chain.
    tune : int, default=1000
        Tuning steps before the draws.
    chains : int, default=4
        Number of chains.
    rng : None, int or numpy.random.Generator, default=None
        A seed or a generator.
    sampler : {"nutpie", "pymc", "numpyro", "blackjax"} or None, default=None
        The sampler. None: nutpie if it is installed, else PyMC.
    progressbar : bool or None, default=None
        Whether to show progress. None: if stderr is a terminal.
    sampling : dict or None, default=None
        Further arguments of ``pymc.sample``, such as ``{"cores": 1}``.
    """

    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    rng: Rng = None
    sampler: str | None = None
    progressbar: bool | None = None
    sampling: Mapping[str, Any] | None = None

    def _check_chains(self) -> None:
        for name, least in (("draws", 1), ("tune", 0), ("chains", 1)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}.")
        if self.sampler is not None and self.sampler not in SAMPLERS:
            raise ValueError(
                f"sampler must be None or one of {', '.join(SAMPLERS)}, got {self.sampler!r}."
            )


def sample(
    model: Any,
    how: ChainParameters,
    rng: np.random.Generator,
    start: Mapping[str, Any] | None = None,
) -> Any:
    """Return the draws as PyMC's tree; a `SamplingWarning` says if they are not reliable.

    PyMC's chains begin exactly at `start`, as its usual jitter of +-1 would leave a narrow mode.
    """
    shown = sys.stderr.isatty() if how.progressbar is None else how.progressbar
    # nutpie is the fastest except for tiny models
    sampler = how.sampler or ("nutpie" if find_spec("nutpie") else "pymc")
    check_sampler(sampler)
    settings = {
        "draws": int(how.draws),
        "tune": int(how.tune),
        "chains": int(how.chains),
        "random_seed": int(rng.integers(1 << 31)),
        "nuts_sampler": sampler,
        "progressbar": shown,
        "quiet": not shown,
        "compute_convergence_checks": False,
    }
    if sampler in ("nutpie", "pymc"):
        settings["target_accept"] = ACCEPT
    if start:
        settings["initvals"] = start
    if start and sampler == "pymc":
        settings["init"] = "adapt_diag"
    with model:
        tree = pymc().sample(**settings | dict(how.sampling or {}))
    variates = [f"{variable.name}_variate" for variable in model.deterministics]
    tree["posterior"] = tree["posterior"].to_dataset().drop_vars(variates, errors="ignore")
    warn_sampling(tree)
    return tree


def warn_sampling(tree: Any) -> None:
    """Warn once of all problems of the chains, and say what to do."""
    messages = []
    sizes = tree["posterior"].sizes
    diagnosis = results.drawn_trees.diagnose(tree["posterior"].to_dataset())
    r_hat = diagnosis["r_hat"]
    ess = diagnosis["ess"]
    if (r_hat > R_HAT).any():
        messages.append(
            f"r_hat of {r_hat.idxmax()} is {r_hat.max():.4g}, above {R_HAT}: the chains have not "
            "converged. Sample longer: more `tune` and `draws`."
        )
    if (ess < MIN_EFFECTIVE_DRAWS * sizes["chain"]).any():
        messages.append(
            f"{ess.idxmin()} has {ess.min():.0f} effective draws, fewer than {MIN_EFFECTIVE_DRAWS} "
            "per chain: means and quantiles are noisy. Sample more `draws`."
        )
    stats = tree["sample_stats"] if "sample_stats" in tree.children else {}
    divergences = int(stats["diverging"].sum()) if "diverging" in stats else 0
    if divergences:
        messages.append(
            f"{divergences} of {sizes['chain'] * sizes['draw']} draws diverged: some region of the "
            "posterior was not explored, so results may be biased. Try sampling={'target_accept': "
            "0.99}, more `tune`, or a more informative prior."
        )
    if messages:
        warnings.warn(
            " ".join(messages),
            SamplingWarning,
            skip_file_prefixes=(str(Path(__file__).parent.parent),),
        )
