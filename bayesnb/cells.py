"""The cells of a block of numbers, checked once at the door against what their family can read.

A bad cell raises one error that says what, how many, where, and what to do.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Cells, Family
from bayesnb.model import Dense

ROWS_AT_ONCE = 1 << 14
MOST_COUNTS = 1e100
Names = Sequence[Hashable]


def read_numbers(family: Family, names: Names, x: Any) -> Cells:
    """An `(r, f)` array or CSR as the family reads it."""
    if not family.missing:
        advice = "This family cannot leave a cell out: fill it or drop the row."
        refuse(x, names, np.isnan, "a cell is missing (NaN)", advice)
    if x.dtype.kind == "f":
        refuse(x, names, np.isinf, "a number is infinite (inf)", "Make it NaN if it is missing.")
    if family.cells == "count":
        _check_counts(family, names, x)
    elif family.cells == "flag" and family.threshold is not None:
        x = _above(x, family.threshold)
    elif family.cells == "flag":
        advice = "Give Bernoulli a threshold, or declare another family: families={{{name}: Gaussian()}}."
        refuse(x, names, lambda part: ~((part == 0) | (part == 1) | np.isnan(part)), "a cell is not 0 or 1", advice)
    return Dense(x) if sparse.issparse(x) and not family.reads_sparse else x


def _check_counts(family: Family, names: Names, x: Any) -> None:
    advice = "If it is not a count, declare another family: families={{{name}: Gaussian()}}."
    if x.dtype.kind not in "bu":
        refuse(x, names, lambda part: part < 0, "Negative values in data passed as counts", advice)
    if x.dtype == float:
        refuse(x, names, lambda part: part > MOST_COUNTS, "a count is too large to add up", "Rescale it.")
    if x.dtype.kind == "f" and not family.fractional:
        advice += " For weights such as tf-idf: fractional=True."
        refuse(x, names, lambda part: part - np.floor(part) > 0, "a count is no whole number", advice)


def _above(x: Any, threshold: float) -> Cells:
    """1 above the threshold, 0 elsewhere, missing stays missing."""
    if sparse.issparse(x):
        if threshold < 0:
            raise ValueError(
                f"Bernoulli: a threshold of {threshold} makes ones of a sparse table's empty cells; give a dense table."
            )
        return sparse.csr_array((_above(x.data, threshold), x.indices, x.indptr), shape=x.shape)
    return np.where(np.isnan(x), np.nan, x > threshold) if x.dtype.kind == "f" else (x > threshold).astype(float)


def refuse(x: Any, names: Names, bad: Callable[[Array], Array], what: str, advice: str) -> None:
    """Raise if any cell of an `(r, f)` array or CSR is bad."""
    for start in range(0, x.shape[0], ROWS_AT_ONCE):
        part = x[start : start + ROWS_AT_ONCE]
        flagged = bad(part.data if sparse.issparse(part) else part)
        if flagged.any():
            row, column, value = _first(part, flagged)
            raise ValueError(
                f"column {names[column]!r}: {what}, first at row {start + row}: {value} "
                f"({flagged.sum()} such cells in {part.shape[0]} rows). {advice.format(name=repr(names[column]))}"
            )


def _first(part: Any, flagged: Array) -> tuple[int, int, Any]:
    """Row, column and value of the first flagged cell."""
    if sparse.issparse(part):
        at = int(flagged.argmax())
        return int(np.searchsorted(part.indptr, at, "right")) - 1, int(part.indices[at]), part.data[at]
    row, column = (int(place) for place in np.argwhere(flagged)[0])
    return row, column, part[row, column]


def refuse_extremes(names: Names, x: Array | Dense) -> None:
    """Raise for a column whose squared deviations leave the range of floats."""
    least, most = _range(x)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.where(most > least, most.astype(float) - least, 1.0)
        extreme = (spread > 1e150) | (spread < 1e-150) | (np.abs(least) > 1e150)
    if extreme.any():
        at = int(extreme.argmax())
        raise ValueError(
            f"column {names[at]!r} runs from {least[at]:g} to {most[at]:g}: the squares of its deviations are beyond "
            "what a float holds. Rescale it."
        )


def _range(x: Array | Dense) -> tuple[Array, Array]:
    if isinstance(x, Dense):
        return x.rows.nanmin(axis=0).toarray(), x.rows.nanmax(axis=0).toarray()
    return np.fmin.reduce(x, axis=0), np.fmax.reduce(x, axis=0)
