"""Exact leave-one-out and k-fold as ArviZ's ELPDData, and their comparison."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from arviz_stats import ELPDDataLOO, ELPDDataLOOKFold, compare
from arviz_stats.base import array_stats

from bayesnb.families.record import Array
from bayesnb.results.parameter_names import coordinate
from bayesnb.selection.leave_one_out import Pointwise

STACKING = "stacking"
SAME = 1e-9  # how much of a log-density is rounding
FEWEST = 5  # draws that a tail needs


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


@dataclass(kw_only=True, repr=False)
class SampledLOO(ELPDDataLOO):
    """Leave-one-out that is exact given a draw; the draws have importance weights, and so a Pareto k."""

    def _header(self) -> str:
        return (
            f"Leave-one-out over {self.n_data_points} rows: in closed form given each of {self.n_samples} draws, which "
            "Pareto-smoothed importance weights average."
        )


def elpd(found: Pointwise, index: Array, folds: int | None = None) -> ExactLOO | ExactKFold:
    """Pointwise scores with their sum, its standard error, and how much better the rows fit that were learnt."""
    said = {**_said(found, index), "n_samples": 0, "warning": False, "good_k": None}
    return ExactLOO(**said) if folds is None else ExactKFold(**said, n_folds=folds)


@dataclass(kw_only=True, repr=False)
class WeighedLOO(ELPDDataLOO):
    """Leave-one-out from draws alone, which have importance weights, and so a Pareto k."""

    def _header(self) -> str:
        return f"Leave-one-out over {self.n_data_points} rows, by Pareto-smoothed weights of {self.n_samples} draws."


def sampled_elpd(
    found: Pointwise, index: Array, k: Array, draws: int, kind: type[ELPDDataLOO] = SampledLOO
) -> ELPDDataLOO:
    """The same from so many draws, with the shape of the tail of each row's weights."""
    limit, said = good_k(draws), _said(found, index)
    tails = said["elpd_i"].copy(data=k).rename("pareto_k")
    return kind(**said, n_samples=draws, good_k=limit, warning=bool((~(k <= limit)).any()), pareto_k=tails)


def _said(found: Pointwise, index: Array) -> dict[str, Any]:
    values = xr.DataArray(found.score, {"obs_id": coordinate(index)}, ["obs_id"], "y")
    numbers = {"elpd": found.total, "se": found.se, "p": found.optimism, "n_data_points": found.rows}
    return {**numbers, "scale": "log", "elpd_i": values}


def good_k(draws: int) -> float:
    """Up to which shape of a tail so many draws are enough."""
    return float(min(1 - 1 / np.log10(max(draws, 2)), 0.7))


def smoothed(log_density: Array) -> tuple[Array, Array]:
    """Log weights, 1 / density, whose largest are smoothed, and the shapes of tails, `(s, r) -> (s, r), (r,)`."""
    log_weight, k = np.empty(log_density.shape), np.empty(log_density.shape[1])
    for row, own in enumerate(log_density.T):
        log_weight[:, row], k[row] = _smoothed(own)
    return log_weight, k


def _smoothed(own: Array) -> tuple[Array, float]:
    """Of one row. Weights whose largest are all the same have no tail, and draws too few to tell have the longest."""
    if np.isnan(own).any():
        return np.full(len(own), np.nan), float("nan")
    least = own == own.min()
    if np.isneginf(own.min()):  # some draws say that the row cannot be, and then nothing else counts
        return np.where(least, -np.log(least.sum()), -np.inf), 0.0 if least.all() else float("inf")
    plain = -own - np.logaddexp.reduce(-own)
    tail = int(3 * len(own) ** 0.5 if len(own) > 225 else len(own) / 5)
    largest = np.sort(own)[: max(tail, 1)]
    if largest[-1] - largest[0] <= SAME * max(1.0, -largest[0]):
        return plain, 0.0
    if tail < FEWEST:
        return plain, float("inf")
    with np.errstate(all="ignore"):  # of weights that leave the range of floats
        log_weight, k = array_stats.psislw(own)
    if not np.isfinite(k) or np.isnan(log_weight).any():
        return plain, float("inf")
    return log_weight, float(k)


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
