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
from bayesnb.results.tables import add_title, coordinate
from bayesnb.selection.leave_one_out import Pointwise

STACKING = "stacking"


class ShownScores(ELPDData):
    """ArviZ's ELPDData with `to_frame`, and HTML for notebooks."""

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
    """Leave-one-out in closed form: without draws, and so without a Pareto k.

    `elpd_i.attrs["selection"]` says what was chosen from the rows, and whether the choice excludes
    each held-out row.
    """

    def _header(self) -> str:
        selection = self.elpd_i.attrs.get("selection", "")
        return f"Leave-one-out over {self.n_data_points} rows, in closed form.\n{selection}".strip()


class ExactKFold(ShownScores, ELPDDataLOOKFold):
    """K-fold in closed form: the posterior of the other folds."""


class SampledLOO(ShownScores, ELPDDataLOO):
    """Leave-one-out from draws, with the Pareto k of each row's weights."""


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


def sampled_elpd(
    index: Array, pointwise: Pointwise, k: Array, good_k: float, draws: int
) -> ShownScores:
    """Return scores that were estimated from draws, with the Pareto k of each row's weights."""
    fields = {"n_samples": draws, "good_k": good_k, "warning": not (k <= good_k).all()}
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

    Its stacking exponentiates the scores of each row, which would underflow: the best score of the
    row is subtracted first.
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


def smooth_tail(log_density: Array) -> tuple[Array, float]:
    """Return log weights of a row's draws with a smoothed tail, and the Pareto k of the tail."""
    with np.errstate(all="ignore"):  # weights beyond the range of floats
        log_weight, k = array_stats.psislw(log_density)
    return log_weight, float(k)
