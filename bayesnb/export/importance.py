"""Leave-one-out from draws of the posterior of all rows, by Pareto-smoothed importance sampling.

    p(y_i | x_i, D_-i)  =  sum over s of w_s p(y_i | x_i, theta_s)      w_s proportional to 1 / p(y_i | x_i, theta_s)

Vehtari, Simpson, Gelman, Yao and Gabry (2024), Pareto smoothed importance sampling, Journal of Machine Learning
Research 25. A row that counts w times is left out by the power w.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from arviz_stats import ELPDDataLOO, ess
from arviz_stats.base import array_stats

from bayesnb.evaluate.leaving import Pointwise
from bayesnb.export.names import coordinate
from bayesnb.families.base import Array
from bayesnb.threads import blocks

NUMBERS = 1 << 22  # weights that are smoothed at once


class ParetoWarning(UserWarning):
    """Few draws carry the scores of some rows that are left out."""


class LeftOut(NamedTuple):
    """Scores of rows by the draws of all others, and how heavy the tails of their weights are. All `(r,)`."""

    score: Array
    k: Array


@dataclass(kw_only=True, repr=False)
class SmoothedLOO(ELPDDataLOO):
    """Leave-one-out from draws."""

    def _header(self) -> str:
        return f"Leave-one-out over {self.n_data_points} rows, by {self.n_samples} draws and importance sampling."


def efficiency(tree: Any) -> float:
    """How many independent draws one draw of the chains is worth, on the average of everything that was drawn."""
    own = tree["posterior"].to_dataset()
    worth = np.concatenate([np.ravel(each) for each in ess(own, method="mean").data_vars.values()])
    return float(np.nanmean(worth)) / (own.sizes["chain"] * own.sizes["draw"])


def left_out(log_score: Array, counts: Array, r_eff: float) -> LeftOut:
    """From every draw's log score of the rows, `(s, r)`, and how often each row counts."""
    found = LeftOut(*np.empty((2, log_score.shape[1])))
    for rows in blocks(log_score.shape[1], max(NUMBERS // len(log_score), 1)):
        own = log_score[:, rows]
        log_weight, k = array_stats.psislw(-(counts[rows] * own).T, r_eff=r_eff)
        total = np.logaddexp.reduce(log_weight, axis=-1)
        found.score[rows], found.k[rows] = np.logaddexp.reduce(log_weight + own.T, axis=-1) - total, k
    return found


def elpd(found: Pointwise, index: Array, k: Array, draws: int) -> SmoothedLOO:
    """The scores as ArviZ's ELPDData; one warning for all rows whose weights have too heavy tails."""
    good = min(1 - 1 / np.log10(draws), 0.7)
    odd = np.asarray(k) > good
    if odd.any():
        warnings.warn(
            f"{odd.sum()} of {len(k)} rows, first row {odd.argmax()}, weigh so much that their scores by importance "
            f"sampling are unreliable (Pareto k above {good:.2f}). Look at these rows, or refit without them.",
            ParetoWarning,
            skip_file_prefixes=(str(Path(__file__).parent.parent),),
        )
    coords = {"obs_id": coordinate(index)}
    said: dict[str, Any] = {
        "elpd": found.total,
        "se": found.se,
        "p": found.optimism,
        "n_samples": draws,
        "n_data_points": found.rows,
        "scale": "log",
        "warning": bool(odd.any()),
        "good_k": good,
        "elpd_i": xr.DataArray(found.score, coords, ["obs_id"], "y"),
        "pareto_k": xr.DataArray(k, coords, ["obs_id"], "pareto_k"),
    }
    return SmoothedLOO(**said)
