"""Exact leave-one-out and k-fold as ArviZ's ELPDData, and their comparison."""

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from arviz_stats import ELPDData, ELPDDataLOO, ELPDDataLOOKFold, compare
from arviz_stats.base import array_stats

from bayesnb.families.record import Array
from bayesnb.results.parameter_names import coordinate
from bayesnb.results.tables import add_title
from bayesnb.selection.leave_one_out import Pointwise

STACKING = "stacking"
ROUNDING = 1e-9  # relative error of a log-density
MIN_TAIL_DRAWS = 5


class ShownScores(ELPDData):
    """ArviZ's scores with a frame, and HTML for a notebook."""

    def to_frame(self) -> pd.DataFrame:
        """Return the score of each row as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            By `obs_id`: `elpd_i`.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
        >>> GaussianNB().fit(x, y).loo(x, y).to_frame()["elpd_i"].round(2).tolist()
        [-0.08, -0.11, -0.16, -0.16, -0.11, -0.08]
        """
        return self.elpd_i.to_dataframe("elpd_i")

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


class ExactLOO(ShownScores, ELPDDataLOO):
    """Leave-one-out in closed form, from no draws, and so without a Pareto k.

    `elpd_i.attrs["selection"]` says what the rows chose, and whether a held-out row leaves it.
    """

    def _header(self) -> str:
        selection = self.elpd_i.attrs.get("selection", "")
        return f"Leave-one-out over {self.n_data_points} rows, in closed form.\n{selection}".strip()


class ExactKFold(ShownScores, ELPDDataLOOKFold):
    """K-fold in closed form: the posterior of the other folds."""


class SampledLOO(ShownScores, ELPDDataLOO):
    """Leave-one-out by draws, with the Pareto k of each row's weights."""


def elpd(
    pointwise: Pointwise, index: Array, folds: int | None = None, selection: str = ""
) -> ShownScores:
    """Return pointwise scores, their sum, its standard error, and the number of parameters."""
    if folds is not None:
        return _label(ExactKFold, pointwise, index, n_folds=folds)
    scores = _label(ExactLOO, pointwise, index)
    if selection:
        scores.elpd_i.attrs["selection"] = selection
    return scores


def sampled_elpd(pointwise: Pointwise, index: Array, k: Array, draws: int) -> ShownScores:
    """Return scores that were estimated from draws, with the Pareto k of each row's weights."""
    limit = good_k(draws)
    fields = {"n_samples": draws, "good_k": limit, "warning": not (k <= limit).all()}
    scores = _label(SampledLOO, pointwise, index, **fields)
    scores.pareto_k = scores.elpd_i.copy(data=k).rename("pareto_k")
    return scores


def _label(
    kind: type[ShownScores], pointwise: Pointwise, index: Array, **fields: Any
) -> ShownScores:
    of_exact: dict[str, Any] = {"n_samples": 0, "warning": False, "good_k": None}
    return kind(
        elpd=pointwise.total,
        se=pointwise.se,
        p=pointwise.optimism,
        n_data_points=pointwise.rows,
        scale="log",
        elpd_i=xr.DataArray(pointwise.score, {"obs_id": coordinate(index)}, name="y"),
        **of_exact | fields,
    )


def compared(
    models: Mapping[str, Pointwise], index: Array, method: str | None, reference: str | None
) -> pd.DataFrame:
    """Return ArviZ's table of models.

    Its stacking exponentiates each row's scores as they are, which would underflow: it is given
    them less the best of the row.
    """
    best = np.max([pointwise.shares for pointwise in models.values()], axis=0)
    method = method or STACKING
    scores = {}
    for name, pointwise in models.items():
        score = elpd(pointwise, index)
        score.elpd_i = score.elpd_i.copy(data=pointwise.shares)
        if method.lower() == STACKING:
            score.elpd_i -= best
        scores[name] = score
    table = compare(scores, method=method, reference=reference, round_to="none")
    title = f"Leave-one-out over {len(best):,} rows (elpd in nats, larger is better)"
    return add_title(table, title)


# Pareto-smoothed importance weights


def good_k(draws: int) -> float:
    """Return the largest Pareto k for which so many draws are enough (Vehtari et al., 2024)."""
    return float(min(1 - 1 / np.log10(max(draws, 2)), 0.7))


def smoothed(log_density: Array) -> tuple[Array, Array]:
    """Return log weights with a smoothed tail and Pareto k, `(s, r) -> (s, r), (r,)`."""
    log_weight = np.empty(log_density.shape)
    k = np.empty(log_density.shape[1])
    for row, values in enumerate(log_density.T):
        log_weight[:, row], k[row] = _smooth_row(values)
    return log_weight, k


def _smooth_row(log_density: Array) -> tuple[Array, float]:
    """Return the smoothed log weights of one row, and their Pareto k.

    Weights whose largest are all the same have no tail; too few draws to fit one have the longest.
    """
    least = log_density.min()
    if np.isnan(least):
        return np.full(len(log_density), np.nan), float("nan")
    if np.isneginf(least):  # the row is impossible under these draws, so they have all the weight
        impossible = log_density == least
        k = 0.0 if impossible.all() else float("inf")
        return np.where(impossible, -np.log(impossible.sum()), -np.inf), k
    plain = -log_density - np.logaddexp.reduce(-log_density)
    draws = len(log_density)
    tail = int(3 * draws**0.5 if draws > 225 else draws / 5)
    end = np.sort(log_density)[max(tail, 1) - 1]
    if end - least <= ROUNDING * max(1.0, -least):
        return plain, 0.0
    if tail < MIN_TAIL_DRAWS:
        return plain, float("inf")
    with np.errstate(all="ignore"):  # of weights that leave the range of floats
        log_weight, k = array_stats.psislw(log_density)
    if not np.isfinite(k) or np.isnan(log_weight).any():
        return plain, float("inf")
    return log_weight, float(k)
