"""The exponents on the evidence of columns: what `temper` may be, and how they are found."""

from numbers import Real
from typing import Any

import numpy as np

from bayesnb.model.fitted import Temper
from bayesnb.model.powers import ExponentCovariance
from bayesnb.model.product import Model, Rows, features_of
from bayesnb.selection.column_exponents import ColumnExponents, by_batch, by_column, one_by_loo
from bayesnb.selection.exponents import Ridge

COLUMNS = "columns"
LOO = "loo"
AUTO = "auto"
NONE = "none"


def check_temper(temper: Any) -> None:
    """Raise unless this is an exponent, or a way to find exponents."""
    known = temper is None or (isinstance(temper, str) and temper in (COLUMNS, LOO, AUTO, NONE))
    if not (known or (isinstance(temper, Real) and 0 < float(temper) < np.inf)):
        raise ValueError(
            "temper must be 'auto', 'columns', 'loo', 'none', None or a positive number, got "
            f"{temper!r}."
        )


def find_one_exponent(model: Model, rows: Rows, n_jobs: int | None) -> Temper:
    """Return one exponent for all features, found from rows that were learnt."""
    value, sd = one_by_loo(model, rows, n_jobs)
    if not np.isfinite(sd):
        return Temper(value, sd)
    group = np.zeros(sum(map(features_of, model.prior.blocks)), np.int64)
    return Temper(value, sd, None, ExponentCovariance(np.array([[sd**2]]), group))


def find_exponents(model: Model, rows: Rows, n_jobs: int | None) -> Temper:
    """Return an exponent for each feature, found from rows that were learnt."""
    return _temper_of(by_column(model, rows, n_jobs))


def update_exponents(known: Temper, model: Model, rows: Rows) -> Temper:
    """Return the exponents after a batch, from its scores by the model before it."""
    features = np.arange(np.size(known.value))
    length = np.full(len(features), np.inf) if known.length is None else known.length
    groups = features if known.covariance is None else known.covariance.group
    ridge = Ridge(np.asarray(known.value), np.asarray(known.sd))
    return _temper_of(by_batch(model, rows, ridge, length, groups))


def _temper_of(made: ColumnExponents) -> Temper:
    found = made.found
    length = made.length if np.isfinite(made.length).any() else None
    covariance = ExponentCovariance(found.covariance, found.group)
    return Temper(found.mean, found.sd, length, covariance)
