"""The exponents on the evidence of columns as an estimator has them: `temper`, `temper_`, `temper_sd_`.

`temper_` is a number, or a pandas Series by column. The model's blocks take the same numbers as `Exponents`. Those of
words fall with the length of a row: half of them is left at `temper_length_` words.
"""

from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from bayesnb.data.tables import series_by_key
from bayesnb.families.base import Array
from bayesnb.model.powers import ExponentCovariance, Exponents, LengthPower
from bayesnb.model.product import Model, Rows
from bayesnb.model.schema import Schema
from bayesnb.selection.column_exponents import ColumnExponents, by_batch, by_column, one_by_loo
from bayesnb.selection.exponents import Ridge

COLUMNS, LOO, AUTO, NONE = "columns", "loo", "auto", "none"


class TemperEstimate(NamedTuple):
    """The exponents in use and their standard deviations, Series by column or numbers; 0 for one that was given.

    And the lengths at which those of words are half, a Series by column, infinite where nothing falls; None if none do.
    And the covariance of exponents that were found, its features in the table's order.
    """

    value: Any
    sd: Any
    length: Any = None
    covariance: ExponentCovariance | None = None


def check_temper(temper: Any) -> None:
    """Raise unless this is an exponent, or a way to find exponents."""
    known = temper is None or (isinstance(temper, str) and temper in (COLUMNS, LOO, AUTO, NONE))
    if not (known or (isinstance(temper, Real) and 0 < float(temper) < np.inf)):
        raise ValueError(f"temper must be 'auto', 'columns', 'loo', 'none', None or a positive number, got {temper!r}.")


def tempered_by(temper: Any, model: Model, schema: Schema, rows: Rows | None, n_jobs: int | None) -> TemperEstimate:
    """Return the exponents found from rows that were learnt, or those that are declared."""
    if temper == LOO and rows is not None:
        value, sd = one_by_loo(model, rows, n_jobs)
        return TemperEstimate(value, sd, None, covariance_of_one(sd, schema))
    if temper == COLUMNS and rows is not None:
        return _of_columns(by_column(model, rows, n_jobs), schema)
    return TemperEstimate(1.0 if temper is None else float(temper), 0.0)


def tempered_again(known: TemperEstimate, model: Model, schema: Schema, rows: Rows) -> TemperEstimate:
    """Return the exponents by column after a batch, from its scores by the model before it and those known before."""
    ridge = Ridge(by_block(known.value, schema), by_block(known.sd, schema))
    length = np.full(len(ridge.mean), np.inf) if known.length is None else by_block(known.length, schema)
    covariance = covariance_by_block(known.covariance, schema)
    groups = np.arange(len(length)) if covariance is None else covariance.group
    return _of_columns(by_batch(model, rows, ridge, length, groups), schema)


def exponents_of(value: Any, schema: Schema, length: Any = None) -> Exponents:
    """Return the exponents as the blocks of a model take them."""
    if isinstance(value, float):
        return value
    each, parts, start = by_block(value, schema), [], 0
    lengths = np.full(len(each), np.inf) if length is None else by_block(length, schema)
    for block in schema.blocks:
        stop = start + len(block.keys)
        parts.append(_of_block(each[start:stop], lengths[start]) if block.family.multivariate else each[start:stop])
        start = stop
    return tuple(parts)


def _of_block(value: Array, length: float) -> float | LengthPower:
    """Return the exponent of a block that is one feature."""
    falls = value[0] > 0 and length < np.inf
    return LengthPower(float(value[0]), float(length)) if falls else float(value[0])


def by_block(values: Any, schema: Schema) -> Array:
    """Return numbers of the features, a Series or a list in the table's order, in the order of blocks, `(f,)`."""
    each = np.empty(len(values))
    each[_places(schema)] = values
    return each


def covariance_of_one(sd: float, schema: Schema) -> ExponentCovariance | None:
    """Return the covariance of one exponent for all features; None where it has no standard deviation."""
    if not np.isfinite(sd):
        return None
    return ExponentCovariance(np.array([[sd**2]]), np.zeros(len(schema.keys), np.int64))


def covariance_by_block(covariance: ExponentCovariance | None, schema: Schema) -> ExponentCovariance | None:
    """Return the covariance of exponents with the features in the order of blocks."""
    if covariance is None:
        return None
    return replace(covariance, group=by_block(covariance.group, schema).astype(np.int64))


def by_name(values: Array, schema: Schema, name: str) -> Any:
    """Return numbers of the features in the table's order as a Series; columns modelled jointly are one tuple."""
    return series_by_key(values, [key for key, _, _ in schema.keys], name)


def restored(plain: TemperEstimate, schema: Schema) -> TemperEstimate:
    """Return the exponents by name, from numbers in the table's order."""
    if isinstance(plain.value, float):
        return plain
    length = None if plain.length is None else by_name(plain.length, schema, "temper_length")
    value, sd = by_name(plain.value, schema, "temper"), by_name(plain.sd, schema, "temper_sd")
    return TemperEstimate(value, sd, length, plain.covariance)


def in_words(temper: TemperEstimate, digits: int = 3) -> str:
    """Return an exponent in words, or the range of several, and how those of words fall."""
    value, length = temper.value, temper.length
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    low, high = f"{min(value):.{digits}g}", f"{max(value):.{digits}g}"
    ends = low if low == high else f"{low} to {high}, by column"
    if length is None:
        return ends
    texts = [falling(t, n0, digits) for t, n0 in zip(value, length, strict=True) if n0 < np.inf]
    return "; ".join(texts if len(value) == 1 else [ends, *texts])


def falling(value: float, length: float, digits: int = 3) -> str:
    """Return in words an exponent that falls with the length of a text."""
    return f"{value:.{digits}g} / (1 + n / {length:.{digits}g}) for a text of n words"


def as_attributes(temper: TemperEstimate) -> dict[str, Any]:
    """Return the exponents as attributes of a Dataset: a number, or a list in the features' order; and the lengths."""
    if isinstance(temper.value, float):
        return {"temper": temper.value}
    lengths = {} if temper.length is None else {"temper_length": [float(each) for each in temper.length]}
    return {"temper": [float(each) for each in temper.value]} | lengths


def _of_columns(made: ColumnExponents, schema: Schema) -> TemperEstimate:
    places = _places(schema)
    length = made.length[places] if np.isfinite(made.length).any() else None
    found = made.found
    covariance = ExponentCovariance(found.covariance, found.group[places])
    return restored(TemperEstimate(found.mean[places], found.sd[places], length, covariance), schema)


def _places(schema: Schema) -> Array:
    """Return the place of each feature, in the table's order, among those of all blocks."""
    starts = np.cumsum([0, *(len(block.keys) for block in schema.blocks)])
    return np.array([starts[b] + f for _, b, f in schema.keys], np.intp)
