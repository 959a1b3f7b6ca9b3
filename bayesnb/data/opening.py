"""What a user passes as X becomes a table, or an error says what to do."""

from collections.abc import Hashable, Mapping
from itertools import chain
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from bayesnb.data.columns import LISTS, begins_with_text, first_list
from bayesnb.data.tables import ArrayTable, DocumentTable, FrameTable, SparseTable, Table, are_texts

Array = np.ndarray
ONE_ROW = "For one row, give a table that has it alone: X.iloc[[0]], or pandas.DataFrame([row])"


def open_table(x: Any, n_jobs: int | None = 1, *, documents: bool = False) -> Table:
    """Return the table behind whatever the user has, which `n_jobs` threads may read.

    Lists of texts are cells side by side unless they are ragged, or it is declared that they are
    `documents`.
    """
    # what is common is known by its type, in no time: single rows are asked for one by one
    is_plain = type(x) is np.ndarray and x.dtype.kind not in "OV"
    table = ArrayTable(x) if is_plain else _table_of(x, documents)
    table.n_jobs = n_jobs
    return table


def _table_of(x: Any, documents: bool) -> Table:
    if isinstance(x, Table):
        return x
    if hasattr(type(x), "to_scipy_sparse"):  # PyData's
        x = x.to_scipy_sparse()
    if sparse.issparse(x):
        return SparseTable(x)
    if are_plain_rows(x):
        return DocumentTable(x) if are_documents(x, documents) else ArrayTable(x)
    x = lists_of_words(x)
    if are_documents(x, documents):
        return DocumentTable(x)
    refuse_lazy(x, "X")
    frame = frame_of(x)
    return ArrayTable(x) if frame is None else FrameTable(frame)


def are_plain_rows(x: Any) -> bool:
    """Return whether rows are a list of lists or arrays, in which no column has a name."""
    return type(x) in (list, tuple) and len(x) > 0 and type(x[0]) in LISTS


def lists_of_words(x: Any) -> Any:
    """Return a series whose cells are lists, as a list of them; anything else as it is."""
    if not nw.dependencies.is_into_series(x):
        return x
    cells = nw.from_native(x, series_only=True).to_list()
    return cells if first_list(cells) is not None else x


def are_documents(x: Any, declared: bool) -> bool:
    """Return whether rows are lists of words, and not cells side by side.

    They are if they are lists of texts of different lengths, or if it is `declared` that a row is
    one list.
    """
    is_flat = isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.ndim == 1)
    if not (is_flat and len(x) and all(isinstance(row, LISTS) and np.ndim(row) for row in x)):
        return False
    return begins_with_text(chain.from_iterable(x)) and (declared or len(set(map(len, x))) > 1)


def frame_of(x: Any) -> nw.DataFrame | None:
    """Return the dataframe that X is, holds, or offers by Arrow's protocol of streams.

    None for what has no names.
    """
    if hasattr(type(x), "reset_coords"):  # xarray's
        x = x.reset_coords(drop=True).to_pandas()  # of its coordinates, those of the axes stay
    try:
        frame = nw.from_native(x, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"X has columns of the same name; rename them. {error}") from None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"X is a lazy frame of {frame.implementation.value}: its rows are not computed yet, "
            "and their order may differ from that of the labels. Collect both at once: X.collect()."
        )
    if isinstance(frame, nw.DataFrame):
        return frame
    if nw.dependencies.is_into_series(frame):
        refuse_series(frame)
    elif hasattr(frame, "__arrow_c_stream__"):
        frame = nw.from_arrow(frame, backend="pyarrow")
        if len(frame):
            return frame
        raise ValueError(
            "X is a stream without rows, or one that was read already: it can be read only once. "
            "Keep its rows: X = pyarrow.table(X)."
        )
    refuse_lost_names(frame)
    return None


def is_lazy(x: Any) -> bool:
    """Return whether a table is a collection of Dask, whose rows are not there yet."""
    kind = type(x)
    return hasattr(kind, "__dask_graph__") and (
        kind.__module__.startswith("dask.") or x.__dask_graph__() is not None
    )


def refuse_lazy(x: Any, name: str) -> None:
    """Raise for a collection of Dask where rows are needed."""
    if is_lazy(x):
        raise TypeError(
            f"{name} is a lazy collection of Dask. An estimator's fit, partial_fit, predict, "
            "predict_proba, predict_log_proba, predict_joint_log_proba and score, and scale.shard, "
            "take such an X as it is, with y and sample_weight lazy or not. Everything else needs "
            f"rows in memory: {name}.compute(), of some rows if there are too many."
        )


def refuse_series(x: Any) -> None:
    """Raise for one row or column of a frame, but for a column of texts: see `refuse_texts`."""
    series = nw.from_native(x, series_only=True)
    if series.dtype == nw.Struct:
        raise TypeError(
            "X is a series of records. Make its fields columns: X.struct.unnest() in polars."
        )
    if not are_texts(series.to_list()):
        raise ValueError(
            f"Expected 2D array, got 1D array instead: a {type(x).__name__} of {len(series)} "
            f"cells. {ONE_ROW}; for one column, X[['name']]."
        )


def refuse_lost_names(x: Any) -> None:
    """Raise for rows or columns whose names would be lost."""
    first = x[0] if isinstance(x, list | tuple) and len(x) else x
    if hasattr(x, "_fields") or (isinstance(x, Mapping) and not any(map(np.ndim, x.values()))):
        raise TypeError(f"Expected a table, got one row: a {type(x).__name__}. {ONE_ROW}.")
    has_names = isinstance(first, Mapping) or hasattr(first, "_fields")
    has_names = has_names or (nw.dependencies.is_into_series(first) and first is not x)
    if has_names or getattr(getattr(x, "dtype", None), "names", None):
        of = "" if first is x else f" of {type(first).__name__}"
        raise TypeError(
            f"X is a {type(x).__name__}{of}, whose column names would be lost. Give "
            "pandas.DataFrame(X)."
        )


def to_nested_dict(x: Any) -> Any:
    """Return a pandas frame as `{column: {row: value}}`, both by name; any other value as it is."""
    if not nw.dependencies.is_into_dataframe(x):
        return x
    if not isinstance(x, pd.DataFrame):
        raise TypeError(
            f"a {type(x).__name__} has no row names: use a pandas frame with an index, or a "
            "mapping."
        )
    if not (x.index.is_unique and x.columns.is_unique):
        raise ValueError("the frame has the same row name or column name twice.")
    return x.to_dict()


def table_of_columns(columns: Mapping[Hashable, Any]) -> pd.DataFrame:
    """Return a table of these columns, by name or position."""
    return pd.DataFrame(columns)
