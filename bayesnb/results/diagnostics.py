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
    """The largest r_hat, the fewest effective draws in the bulk or the tails, and how many draws diverged.

    Where they cannot be told, of very few draws or some that are no numbers, r_hat is infinite and no draw effective.
    """
    found = {name: _some(str(name), array) for name, array in tree["posterior"].data_vars.items()}
    posterior = xr.Dataset({name: own for name, own in found.items() if own[1].size})
    chains, draws = tree["posterior"].sizes["chain"], tree["posterior"].sizes["draw"]
    with np.errstate(all="ignore"):
        rhat = [azs.rhat(posterior)] if chains > 1 and posterior else []
        ess = [azs.ess(posterior, method=method) for method in ("bulk", "tail")] if posterior else []
    worst, few = _worst(rhat, max, np.inf), _worst(ess, min, 0.0)
    stats = tree["sample_stats"].data_vars if "sample_stats" in tree.children else {}
    diverging = stats["diverging"] if "diverging" in stats else np.zeros(1)
    return Diagnosis(*worst, *few, int(np.sum(diverging)), chains, chains * draws)


def _some(name: str, array: xr.DataArray) -> tuple[tuple[str, ...], np.ndarray]:
    """At most so many entries of a variable, evenly spaced, on an axis of its own; constant ones have no chains."""
    values = array.values.reshape(*array.shape[:2], -1)
    values = values[..., :: -(-values.shape[-1] // MOST)]
    varies = (values != values[:1, :1]).any(axis=(0, 1)) | (values.shape[:2] == (1, 1))
    return ("chain", "draw", f"{name}_entry"), values[..., varies]


def _worst(found: list[xr.Dataset], worst: Any, unknown: float) -> tuple[float, str]:
    """The worst number, and the variable that has it; the best there could be, if there is none."""
    every = [
        (float(worst(np.where(np.isnan(array), unknown, array).flat)), str(name))
        for dataset in found
        for name, array in dataset.data_vars.items()
    ]
    return worst(every, key=lambda own: own[0], default=(-unknown if unknown else np.inf, ""))
