"""Arrays as labelled Datasets, and ArviZ's defaults for intervals."""

from typing import Any

import numpy as np
import xarray as xr
from arviz_base import rcParams

Array = np.ndarray


def ci_prob(said: float | None) -> float:
    """The probability of an interval: what is said, or what ArviZ's settings say now."""
    prob = float(rcParams["stats.ci_prob"] if said is None else said)
    if not 0 < prob < 1:
        raise ValueError(f"ci_prob must lie between 0 and 1, got {prob:g}.")
    return prob


def dataset(
    rows: Array, classes: Array, by_row: dict[str, Array], by_class: dict[str, Array], **said: Any
) -> xr.Dataset:
    """Numbers of every row, `(r,)`, and of every row and class, `(r, c)`; what was asked for goes into `attrs`."""
    variables: dict[str, Any] = {name: ("obs_id", values) for name, values in by_row.items()}
    variables |= {name: (("obs_id", "class"), values) for name, values in by_class.items()}
    return xr.Dataset(variables, {"obs_id": rows, "class": classes}, said)
