"""Exact leave-one-out and k-fold as ArviZ's ELPDData, and their comparison."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from arviz_stats import ELPDDataLOO, ELPDDataLOOKFold, compare
from arviz_stats.base import array_stats
from markupsafe import Markup

from bayesnb.families.record import Array
from bayesnb.results.parameter_names import coordinate
from bayesnb.results.result_tables import ShownFrame, number, table_of
from bayesnb.selection.leave_one_out import Pointwise

STACKING = "stacking"
ROUNDING = 1e-9  # how much of a log-density is rounding
FEWEST_TAIL_DRAWS = 5  # draws that a tail needs


class ShownELPD:
    """Display of pointwise scores in a notebook, and their frame."""

    def to_frame(self: Any) -> Any:
        """Return the score of each row as a pandas DataFrame, with its Pareto k where there is one.

        Returns
        -------
        pandas.DataFrame
            By `obs_id`: `elpd_i`, and `pareto_k` of scores that come from draws.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
        >>> GaussianNB().fit(x, y).loo(x, y).to_frame()["elpd_i"].round(2).tolist()
        [-0.08, -0.11, -0.16, -0.16, -0.11, -0.08]
        """
        scores = {"elpd_i": self.elpd_i}
        if self.pareto_k is not None:
            scores["pareto_k"] = self.pareto_k
        return xr.Dataset(scores).to_dataframe()

    def _repr_html_(self: Any) -> str:
        header = self._header()
        kind = self.kind or "elpd"
        columns = {
            "": [f"elpd_{kind}", f"p_{kind}"],
            "estimate": [number(self.elpd), number(self.p)],
            "standard error": [number(self.se), ""],
        }
        footer = self._footer().strip()
        details = str(Markup("<pre>{}</pre>").format(footer)) if footer else ""
        return table_of(header, columns).in_notebook(details, "Diagnostics")


@dataclass(kw_only=True, repr=False)
class ExactLOO(ShownELPD, ELPDDataLOO):
    """Leave-one-out in closed form: neither draws nor importance weights, so no Pareto k.

    `selection` says what the rows chose, and which of it a row that is held out leaves; nothing, if all is declared.
    """

    selection: str = ""

    def _header(self) -> str:
        if not self.selection:
            return f"Exact leave-one-out over {self.n_data_points} rows, in closed form."
        return f"Leave-one-out over {self.n_data_points} rows, in closed form.\n{self.selection}"


@dataclass(kw_only=True, repr=False)
class ExactKFold(ShownELPD, ELPDDataLOOKFold):
    """Exact k-fold: the posterior of the other folds, in closed form."""

    def _header(self) -> str:
        return f"Exact {self.n_folds}-fold cross-validation over {self.n_data_points} rows, in closed form."


@dataclass(kw_only=True, repr=False)
class SampledLOO(ShownELPD, ELPDDataLOO):
    """Leave-one-out that is exact given a draw; the draws have importance weights, and so a Pareto k."""

    def _header(self) -> str:
        return (
            f"Leave-one-out over {self.n_data_points} rows: in closed form given each of {self.n_samples} draws, which "
            "Pareto-smoothed importance weights average."
        )


def elpd(
    pointwise: Pointwise, index: Array, folds: int | None = None, selection: str = ""
) -> ExactLOO | ExactKFold:
    """Return pointwise scores with their sum, its standard error, and the effective number of parameters."""
    fields = {**_elpd_fields(pointwise, index), "n_samples": 0, "warning": False, "good_k": None}
    return (
        ExactLOO(**fields, selection=selection)
        if folds is None
        else ExactKFold(**fields, n_folds=folds)
    )


@dataclass(kw_only=True, repr=False)
class WeightedLOO(ShownELPD, ELPDDataLOO):
    """Leave-one-out from draws alone, which have importance weights, and so a Pareto k."""

    def _header(self) -> str:
        return f"Leave-one-out over {self.n_data_points} rows, by Pareto-smoothed weights of {self.n_samples} draws."


def sampled_elpd(
    pointwise: Pointwise, index: Array, k: Array, draws: int, kind: type[ELPDDataLOO] = SampledLOO
) -> ELPDDataLOO:
    """Return scores that were estimated from draws, with the Pareto k of each row's weights."""
    limit, fields = good_k(draws), _elpd_fields(pointwise, index)
    tails = fields["elpd_i"].copy(data=k).rename("pareto_k")
    return kind(
        **fields, n_samples=draws, good_k=limit, warning=bool((~(k <= limit)).any()), pareto_k=tails
    )


def _elpd_fields(pointwise: Pointwise, index: Array) -> dict[str, Any]:
    values = xr.DataArray(pointwise.score, {"obs_id": coordinate(index)}, ["obs_id"], "y")
    numbers = {
        "elpd": pointwise.total,
        "se": pointwise.se,
        "p": pointwise.optimism,
        "n_data_points": pointwise.rows,
    }
    return {**numbers, "scale": "log", "elpd_i": values}


def good_k(draws: int) -> float:
    """Return the largest Pareto k for which so many draws are enough (Vehtari et al., 2024)."""
    return float(min(1 - 1 / np.log10(max(draws, 2)), 0.7))


def smoothed(log_density: Array) -> tuple[Array, Array]:
    """Return log weights, 1 / density with a smoothed tail, and their Pareto k, `(s, r) -> (s, r), (r,)`."""
    log_weight, k = np.empty(log_density.shape), np.empty(log_density.shape[1])
    for row, values in enumerate(log_density.T):
        log_weight[:, row], k[row] = _smoothed_row(values)
    return log_weight, k


def _smoothed_row(log_density: Array) -> tuple[Array, float]:
    """Return the smoothed log weights of one row, and their Pareto k.

    Weights whose largest are all the same have no tail; too few draws to fit one have the longest.
    """
    if np.isnan(log_density).any():
        return np.full(len(log_density), np.nan), float("nan")
    least = log_density == log_density.min()
    if np.isneginf(
        log_density.min()
    ):  # under these draws the row is impossible, so they have all the weight
        return np.where(least, -np.log(least.sum()), -np.inf), 0.0 if least.all() else float("inf")
    plain = -log_density - np.logaddexp.reduce(-log_density)
    tail = int(3 * len(log_density) ** 0.5 if len(log_density) > 225 else len(log_density) / 5)
    largest = np.sort(log_density)[: max(tail, 1)]
    if largest[-1] - largest[0] <= ROUNDING * max(1.0, -largest[0]):
        return plain, 0.0
    if tail < FEWEST_TAIL_DRAWS:
        return plain, float("inf")
    with np.errstate(all="ignore"):  # of weights that leave the range of floats
        log_weight, k = array_stats.psislw(log_density)
    if not np.isfinite(k) or np.isnan(log_weight).any():
        return plain, float("inf")
    return log_weight, float(k)


def compared(
    models: Mapping[str, Pointwise], index: Array, method: str | None, reference: str | None
) -> Any:
    """Return ArviZ's table of models.

    Its stacking exponentiates the scores of each row as they are, so it is given them less the best of the row.
    """
    tables = {
        name: elpd(replace(pointwise, score=pointwise.shares, weight=None), index)
        for name, pointwise in models.items()
    }
    best = np.max([pointwise.shares for pointwise in models.values()], axis=0)
    if method is None or method.lower() == STACKING:
        for name, pointwise in models.items():
            tables[name].elpd_i = tables[name].elpd_i.copy(data=pointwise.shares - best)
    for name, pointwise in models.items():
        tables[name].se, tables[name].p = pointwise.se, pointwise.optimism
    table = compare(tables, method=method or STACKING, reference=reference, round_to="none")
    title = f"Leave-one-out over {len(best):,} rows (elpd in nats, larger is better)"
    return ShownFrame.titled(table, title)
