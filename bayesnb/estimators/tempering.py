"""The exponents on the evidence of columns as an estimator has them: `temper`, `temper_`, `temper_sd_`.

`temper_` is a number, or a pandas Series by column. The model's blocks take the same numbers as `Exponents`.
"""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from bayesnb.data.containers import series_by_key
from bayesnb.families.base import Array
from bayesnb.model.product import Exponents, Model, Rows
from bayesnb.model.schema import Schema
from bayesnb.selection.exponents import Ridge, by_batch, by_column, one_by_loo

COLUMNS, LOO, AUTO = "columns", "loo", "auto"


class TemperEstimate(NamedTuple):
    """The exponents in use and their standard deviations, Series by column or numbers; 0 for one that was given."""

    value: Any
    sd: Any


def check_temper(temper: Any) -> None:
    """Raise for what no exponent is, nor a way to find some."""
    known = temper is None or (isinstance(temper, str) and temper in (COLUMNS, LOO, AUTO))
    if not (known or (isinstance(temper, Real) and 0 < float(temper) < np.inf)):
        raise ValueError(f"temper must be None, 'columns', 'loo', 'auto' or a positive number, got {temper!r}.")


def tempered_by(temper: Any, model: Model, schema: Schema, rows: Rows | None, n_jobs: int | None) -> TemperEstimate:
    """The exponents that rows which were learnt give, or those that are declared."""
    if temper == LOO and rows is not None:
        return TemperEstimate(*one_by_loo(model, rows, n_jobs))
    if temper == COLUMNS and rows is not None:
        return _of_ridge(by_column(model, rows, n_jobs), schema)
    return TemperEstimate(1.0 if temper is None else float(temper), 0.0)


def tempered_again(
    known: TemperEstimate, model: Model, schema: Schema, rows: Rows, n_jobs: int | None
) -> TemperEstimate:
    """The exponents by column after a batch, scored by the model as it was before, and those known by then."""
    before = Ridge(by_block(known.value, schema), by_block(known.sd, schema))
    return _of_ridge(by_batch(model, rows, before, n_jobs), schema)


def exponents_of(value: Any, schema: Schema) -> Exponents:
    """The exponents as the blocks of a model take them."""
    if isinstance(value, float):
        return value
    each, parts, start = by_block(value, schema), [], 0
    for block in schema.blocks:
        stop = start + len(block.keys)
        parts.append(float(each[start]) if block.family.multivariate else each[start:stop])
        start = stop
    return tuple(parts)


def by_block(values: Any, schema: Schema) -> Array:
    """Numbers of the features in the table's order, a Series or a list, in the order of blocks, `(f,)`."""
    each = np.empty(len(values))
    each[_places(schema)] = values
    return each


def by_name(values: Array, schema: Schema, name: str) -> Any:
    """Numbers of the features in the table's order as a Series; columns that are modelled jointly are one tuple."""
    return series_by_key(values, [key for key, _, _ in schema.keys], name)


def restored(value: Any, sd: Any, schema: Schema) -> TemperEstimate:
    """The exponents that a file holds."""
    if isinstance(value, float):
        return TemperEstimate(value, sd)
    return TemperEstimate(by_name(value, schema, "temper"), by_name(sd, schema, "temper_sd"))


def in_words(value: Any, digits: int = 3) -> str:
    """An exponent in words, or the range of several."""
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return f"{min(value):.{digits}g} to {max(value):.{digits}g}, by column"


def as_attribute(value: Any) -> float | list[float]:
    """The exponents as an attribute of a Dataset: a number, or a list in the order of the features."""
    return value if isinstance(value, float) else [float(each) for each in value]


def _of_ridge(ridge: Ridge, schema: Schema) -> TemperEstimate:
    places = _places(schema)
    return TemperEstimate(by_name(ridge.mean[places], schema, "temper"), by_name(ridge.sd[places], schema, "temper_sd"))


def _places(schema: Schema) -> Array:
    """Where each feature, in the table's order, stands among those of all blocks."""
    starts = np.cumsum([0, *(len(block.keys) for block in schema.blocks)])
    return np.array([starts[b] + f for _, b, f in schema.keys], np.intp)
