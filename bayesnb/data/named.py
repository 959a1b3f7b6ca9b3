"""Whatever has names of columns, as a dataframe; an error that says what to do, where they cannot be read.

Columns that have names are never read by their positions: in another order they would be other columns.
"""

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd


def frame_of(x: Any) -> nw.DataFrame | None:
    """Return the dataframe that X is, holds, or offers by Arrow's protocol of streams; None for what has no names."""
    try:
        frame = nw.from_native(_of_xarray(x), pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"X has columns of the same name; rename them. {error}") from None
    if isinstance(frame, nw.LazyFrame):
        _refuse_lazy_frame(x, frame)
    if isinstance(frame, nw.DataFrame):
        return frame
    refuse_series(frame)
    if hasattr(frame, "__arrow_c_stream__") and not nw.dependencies.is_into_series(frame):
        return _streamed(frame)
    _refuse_unread(frame)
    return None


def _of_xarray(x: Any) -> Any:
    """Return an xarray object as a frame of pandas with its labels, or a series where it has one dimension."""
    is_labelled = hasattr(x, "dims") and hasattr(x, "reset_coords")
    return x.reset_coords(drop=True).to_pandas() if is_labelled else x  # of its coordinates, those of the axes stay


def _streamed(x: Any) -> nw.DataFrame:
    frame = nw.from_arrow(x, backend="pyarrow")
    if not len(frame):
        raise ValueError(
            "X is a stream that has no rows, or none that are left: it can be read only once. Keep its rows: "
            "X = pyarrow.table(X)."
        )
    return frame


def _refuse_lazy_frame(x: Any, frame: nw.LazyFrame) -> None:
    """Raise for rows that are not there yet: made anew they may come in another order than their labels."""
    native = nw.to_native(x, pass_through=True)
    direct = native is not x or nw.dependencies.is_polars_lazyframe(native)
    advice = "X.collect()" if direct else "narwhals.from_native(X).collect()"
    if native is not x and hasattr(native, "__dask_graph__"):
        advice += ", or the collection of Dask itself, X.to_native()"
    raise TypeError(
        f"X is a lazy frame of {frame.implementation.value}: its rows are not there yet, nor in an order that their "
        f"labels share. Collect both at once, and give {advice}."
    )


def refuse_series(x: Any) -> None:
    """Raise for one row or column of a frame, but for a column of texts: see `refuse_texts`."""
    if str(getattr(x, "type", "")).startswith("struct"):
        raise TypeError("X is an array of records: give its fields as columns, pyarrow.Table.from_struct_array(X).")
    if not nw.dependencies.is_into_series(x):
        return
    series = nw.from_native(x, series_only=True)
    if series.dtype == nw.Struct:
        raise TypeError("X is a series of records: give its fields as columns, X.struct.unnest() in polars.")
    native = series.to_native()
    names = native.index.tolist() if isinstance(native, pd.Series) else []
    is_row = bool(names) and all(isinstance(name, str) for name in names)
    if is_row or not are_texts(series.to_list()):
        shown = f", with the index {names[:5]}" if is_row else ""
        raise ValueError(
            f"Expected 2D array, got 1D array instead: a {type(x).__name__} of {len(series)} cells{shown}. If it is "
            "one row, give a frame that has it alone, frame.iloc[[0]] with two brackets in pandas; if it is one "
            "column, frame[['name']]."
        )


def are_texts(cells: Any) -> bool:
    """Return whether there is a cell, and all of them are texts."""
    return len(cells) > 0 and all(isinstance(cell, str) for cell in cells)


def _refuse_unread(x: Any) -> None:
    """Raise for rows or columns whose names would be lost."""
    first = x[0] if isinstance(x, list | tuple) and len(x) else x
    if hasattr(first, "__dataframe__"):
        raise TypeError(
            f"X is a {type(x).__name__}, whose columns have names that are not read: give a table of pandas, polars or "
            "pyarrow."
        )
    by_name = isinstance(first, Mapping) or (first is not x and nw.dependencies.is_into_series(first))
    by_name = by_name or any(hasattr(record, "_fields") for record in (x, first))
    if by_name or getattr(getattr(x, "dtype", None), "names", None):
        of = "" if first is x else f" of {type(first).__name__}"
        is_row = hasattr(x, "_fields") or (isinstance(x, Mapping) and not any(map(np.ndim, x.values())))
        raise TypeError(
            f"X is a {type(x).__name__}{of}, which has names of columns that would be lost: give "
            f"pandas.DataFrame({'[X]' if is_row else 'X'})."
        )
