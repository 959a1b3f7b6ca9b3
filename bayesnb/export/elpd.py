"""Exact leave-one-out and k-fold as ArviZ's ELPDData, and their comparison."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from arviz_stats import ELPDDataLOO, ELPDDataLOOKFold, compare

from bayesnb.evaluate.leaving import Pointwise
from bayesnb.export.names import coordinate
from bayesnb.families.record import Array

STACKING = "stacking"


@dataclass(kw_only=True, repr=False)
class ExactLOO(ELPDDataLOO):
    """Exact leave-one-out: neither draws nor importance weights, so no Pareto k."""

    def _header(self) -> str:
        return f"Exact leave-one-out over {self.n_data_points} rows, in closed form."


@dataclass(kw_only=True, repr=False)
class ExactKFold(ELPDDataLOOKFold):
    """Exact k-fold: the posterior of the other folds, in closed form."""

    def _header(self) -> str:
        return f"Exact {self.n_folds}-fold cross-validation over {self.n_data_points} rows, in closed form."


def elpd(found: Pointwise, index: Array, folds: int | None = None) -> ExactLOO | ExactKFold:
    """Pointwise scores with their sum, its standard error, and how much better the rows fit that were learnt."""
    values = xr.DataArray(found.score, {"obs_id": coordinate(index)}, ["obs_id"], "y")
    said: dict[str, Any] = {
        "elpd": found.total,
        "se": found.se,
        "p": found.optimism,
        "n_samples": 0,
        "n_data_points": found.rows,
        "scale": "log",
        "warning": False,
        "good_k": None,
        "elpd_i": values,
    }
    return ExactLOO(**said) if folds is None else ExactKFold(**said, n_folds=folds)


def compared(found: Mapping[str, Pointwise], index: Array, method: str | None, reference: str | None) -> Any:
    """ArviZ's table. Its stacking exponentiates each row's scores as they are, so it is given them less the best."""
    models = {name: elpd(replace(own, score=own.shares, weight=None), index) for name, own in found.items()}
    best = np.max([own.shares for own in found.values()], axis=0)
    if method is None or method.lower() == STACKING:
        for name, own in found.items():
            models[name].elpd_i = models[name].elpd_i.copy(data=own.shares - best)
    for name, own in found.items():
        models[name].se, models[name].p = own.se, own.optimism
    return compare(models, method=method or STACKING, reference=reference, round_to="none")
