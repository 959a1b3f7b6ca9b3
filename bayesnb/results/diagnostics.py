"""Convergence diagnostics of chains, by ArviZ."""

from typing import Any, NamedTuple

import arviz_stats as azs
import numpy as np
import xarray as xr

MOST_ENTRIES = 200  # entries of a variable that are looked at


class Diagnosis(NamedTuple):
    """The worst value of each diagnostic, and the variable that has it."""

    r_hat: float
    r_hat_of: str
    ess: float
    ess_of: str
    divergences: int
    chains: int
    draws: int  # of all chains


def diagnose(tree: Any) -> Diagnosis:
    """Return the largest r_hat, the fewest effective draws in the bulk or the tails, and the number of divergences.

    Where they are undefined, because draws are very few or not finite, r_hat is infinite and no draw is effective.
    """
    entries = {name: _entries(str(name), array) for name, array in tree["posterior"].data_vars.items()}
    posterior = xr.Dataset({name: variable for name, variable in entries.items() if variable[1].size})
    chains, draws = tree["posterior"].sizes["chain"], tree["posterior"].sizes["draw"]
    with np.errstate(all="ignore"):
        rhat = [azs.rhat(posterior)] if chains > 1 and posterior else []
        ess = [azs.ess(posterior, method=method) for method in ("bulk", "tail")] if posterior else []
    worst, few = _worst(rhat, max, np.inf), _worst(ess, min, 0.0)
    stats = tree["sample_stats"].data_vars if "sample_stats" in tree.children else {}
    diverging = stats["diverging"] if "diverging" in stats else np.zeros(1)
    return Diagnosis(*worst, *few, int(np.sum(diverging)), chains, chains * draws)


def _entries(name: str, array: xr.DataArray) -> tuple[tuple[str, ...], np.ndarray]:
    """Return at most MOST_ENTRIES entries of a variable, evenly spaced, without the constant ones, on a new axis."""
    values = array.values.reshape(*array.shape[:2], -1)
    values = values[..., :: -(-values.shape[-1] // MOST_ENTRIES)]
    varies = (values != values[:1, :1]).any(axis=(0, 1)) | (values.shape[:2] == (1, 1))
    return ("chain", "draw", f"{name}_entry"), values[..., varies]


def _worst(datasets: list[xr.Dataset], worst: Any, unknown: float) -> tuple[float, str]:
    """Return the worst number and the variable that has it; the best possible value where there is none."""
    values = [
        (float(worst(np.where(np.isnan(array), unknown, array).flat)), str(name))
        for dataset in datasets
        for name, array in dataset.data_vars.items()
    ]
    return worst(values, key=lambda pair: pair[0], default=(-unknown if unknown else np.inf, ""))
