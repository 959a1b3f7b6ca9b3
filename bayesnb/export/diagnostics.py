"""Whether chains can be trusted, by ArviZ."""

from typing import Any, NamedTuple

import arviz_stats as azs
import numpy as np
import xarray as xr

MOST = 200  # entries of a variable that are looked at


class Diagnosis(NamedTuple):
    """The worst of every kind, and whose it is."""

    r_hat: float
    r_hat_of: str
    ess: float
    ess_of: str
    divergences: int
    chains: int
    draws: int  # of all chains


def diagnose(tree: Any) -> Diagnosis:
    """The largest r_hat, the fewest effective draws in the bulk or the tails, and how many draws diverged."""
    posterior = xr.Dataset({name: _some(str(name), array) for name, array in tree["posterior"].data_vars.items()})
    chains, draws = posterior.sizes["chain"], posterior.sizes["draw"]
    rhat = azs.rhat(posterior) if chains > 1 else xr.Dataset()
    ess = [azs.ess(posterior, method=method) for method in ("bulk", "tail")]
    worst, few = _worst([rhat], np.nanmax, -np.inf), _worst(ess, np.nanmin, np.inf, smallest=True)
    diverging = tree["sample_stats"]["diverging"] if "sample_stats" in tree.children else np.zeros(1)
    return Diagnosis(*worst, *few, int(np.sum(diverging)), chains, chains * draws)


def _some(name: str, array: xr.DataArray) -> tuple[tuple[str, ...], np.ndarray]:
    """At most so many entries of a variable, evenly spaced, on an axis of its own."""
    values = array.values.reshape(*array.shape[:2], -1)
    return ("chain", "draw", f"{name}_entry"), values[..., :: -(-values.shape[-1] // MOST)]


def _worst(found: list[xr.Dataset], worst: Any, least: float, smallest: bool = False) -> tuple[float, str]:
    """The worst number, and the variable that has it; what is constant has none."""
    value, whose = least, ""
    for dataset in found:
        for name, array in dataset.data_vars.items():
            if np.isfinite(array).any():
                own = float(worst(array))
                if own < value if smallest else own > value:
                    value, whose = own, str(name)
    return value, whose
