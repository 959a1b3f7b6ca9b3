"""The user's tables with one interface: rows and named columns, as numbers or as values.

There are four kinds: arrays, documents, SciPy sparse tables, and dataframes (pandas, and others
through narwhals). Missing cells (NaN, None, NA, masked) are NaN among numbers, and None or NaN
among values. Columns with names are never read by position, as their order may differ: tables with
names become dataframes (`frame_of`), or an error says what to do.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import types
from scipy import sparse

from bayesnb import numerics
from bayesnb.data.columns import (
    LISTS,
    DistinctValues,
    Lists,
    begins_with_text,
    distinct,
    factorize,
    first_cell,
    floats,
    is_list,
    is_text,
    kind_of_objects,
    kind_of_type,
    lists_of_objects,
    plain_column,
    refuse_lazy,
    time_error,
    to_native_order,
    words_of,
)
from bayesnb.numerics.threads import FEWEST, in_order
from bayesnb.numerics.views import FLOATS, INTEGERS, Columns, pieces_of, readable

Array = np.ndarray
Places = Sequence[int]  # of columns in a table

MAX_CELLS_AT_ONCE = 1 << 18  # of a frame
ONE_ROW = "For one row, give a table with only that row: X.iloc[[0]], or pandas.DataFrame([row])"


DrawnColumns = tuple[Places, Any, Sequence[Sequence[Any]]]  # places, cells or codes, levels


@dataclass(frozen=True)
class TableTemplate:
    """A template for tables like the training table: its container, and which columns are flags.

    The container is "frame", "array", "sparse" or "documents", a list of lists of words.
    """

    container: str
    flags: tuple[int, ...] = ()  # places of boolean columns

    def pack(self, cells: Array) -> Any:
        """Return drawn cells in the form that is stored until all are drawn."""
        return sparse.csr_array(cells) if self.container == "sparse" else cells

    def fill(self, names: Sequence[Hashable], parts: Sequence[DrawnColumns]) -> Any:
        """Return a table of these columns; columns that are in no part are absent.

        A part has the places of columns, their numbers, `(r, f)` or CSR, and their levels. If there
        are levels, the numbers are codes, -1 for a missing cell.
        """
        if self.container == "sparse":
            order = np.argsort(np.concatenate([places for places, *_ in parts]))
            return sparse.hstack([cells for _, cells, _ in parts], format="csr")[:, order]
        columns = {}
        for places, cells, levels in parts:
            for j, place in enumerate(places):
                column = cells[:, j]
                if levels:
                    values = [*levels[j], None]
                    column = pd.Series([values[code] for code in column.tolist()]).to_numpy()
                if column.dtype == bool and place not in self.flags:
                    column = column.astype(np.int64)
                columns[place] = column
        frame = pd.DataFrame(columns)[sorted(columns)]
        if self.container == "documents":
            return frame[0].tolist()
        if self.container == "array":
            return frame.to_numpy()
        frame.columns = pd.Index([names[place] for place in frame], dtype=object)
        return frame


def refuse_damaged(x: Any) -> None:
    """Raise if the arrays of a SciPy sparse table contradict each other or its shape."""
    try:
        if x.format == "coo":
            sparse.coo_array((x.data, (x.row, x.col)), shape=x.shape)  # checks them
        elif hasattr(x, "check_format"):
            copy(x).check_format(full_check=True)  # a copy, as it truncates arrays
    except ValueError as error:
        raise ValueError(
            f"X is a damaged sparse table: {error}. Build it anew from its rows, columns and "
            f"values: scipy.sparse.csr_array((values, (rows, columns)), shape={x.shape})."
        ) from None


class Table(ABC):
    """Rows and named columns.

    A column has a kind, `"flag"`, `"level"`, `"number"` or `"words"` (lists of words).
    """

    x: Any
    native: Any  # the table as scikit-learn sees it
    rows: int
    width: int  # number of columns
    n_jobs: int | None = 1  # threads that may read it

    # caches by column: caching bound methods would keep the table alive in a cycle
    @cached_property
    def _lists(self) -> dict[int, Lists]:
        return {}

    @cached_property
    def _distinct(self) -> dict[int, DistinctValues]:
        return {}

    @cached_property
    def columns(self) -> Sequence[Hashable]:
        """Names of the columns, or positions."""
        return range(self.width)

    @property
    def index(self) -> Array:
        """Names of the rows, or positions."""
        return np.arange(self.rows)

    def take(self, keep: Array) -> "Table":
        """Return the rows where `keep` is true."""
        rows = getattr(self.x, "iloc", self.x)  # pandas' brackets take columns
        return open_table(rows[np.flatnonzero(keep)], self.n_jobs)

    @property
    @abstractmethod
    def template(self) -> TableTemplate:
        """The template for tables like this one."""

    @abstractmethod
    def kind(self, column: int) -> str:
        """Return the kind of a column."""

    @abstractmethod
    def numbers(self, columns: Places) -> Any:
        """Return some columns as an `(r, f)` array or CSR of numbers, with NaN for missing
        cells.
        """

    @abstractmethod
    def values(self, column: int) -> Array:
        """Return the values of a column."""

    def has_lists(self, column: int) -> bool:
        """Return whether the cells of a column are lists of words."""
        values = self.values(column)
        return values.dtype == object and isinstance(first_cell(values), LISTS)

    def lists(self, column: int) -> Lists:
        """Return the words of a column of lists."""
        if column not in self._lists:
            self._lists[column] = lists_of_objects(self.columns[column], self.values(column))
        return self._lists[column]

    def declared(self, column: int) -> tuple[Any, ...] | None:
        """Return the levels declared by a column's type, whether they occur or not."""
        return None

    def distinct(self, column: int) -> DistinctValues:
        """Return the distinct values of a column and their codes."""
        if column not in self._distinct:
            self._distinct[column] = self.factorize(column)
        return self._distinct[column]

    def factorize(self, column: int) -> DistinctValues:
        """Find the distinct values of a column and their codes."""
        return factorize(self.columns[column], self.values(column))

    def distinct_of(self, columns: Places) -> list[DistinctValues]:
        """Return the distinct values of some columns and their codes, in threads."""
        n_jobs = self.n_jobs if self.rows * len(columns) > FEWEST else 1
        return list(in_order(self.distinct, columns, n_jobs))

    def integers(self, columns: Places) -> Any:
        """Return some columns as an `(r, f)` array of integers, or None."""
        return None

    def extent(self, column: int) -> tuple[int, int] | None:
        """Return the smallest and largest value of a column of integers, or None."""
        return None


class ArrayTable(Table):
    """A two-dimensional NumPy array, or something convertible. Columns are named by position."""

    def __init__(self, x: Any) -> None:
        self.x = self.native = _as_array(x)
        refuse_invalid_shape(self.x.shape)
        self.rows, self.width = self.x.shape

    @property
    def template(self) -> TableTemplate:
        kinds = map(pd.api.types.infer_dtype, self.x.T)
        flags = [place for place, kind in enumerate(kinds) if kind == "boolean"]
        is_words = self.width == 1 and self.has_lists(0)
        return TableTemplate("documents" if is_words else "array", tuple(flags))

    def kind(self, column: int) -> str:
        kind = self.x.dtype.kind
        if kind == "O":
            return kind_of_objects(column, self.x[:, column])
        return "flag" if kind == "b" else "number" if kind in "iuf" else "level"

    def numbers(self, columns: Places) -> Any:
        if self.x.dtype.kind not in "biuf":
            return np.column_stack([floats(column, self.x[:, column]) for column in columns])
        if columns == range(self.width):
            return self.x
        return Columns([self.x[:, place] for place in columns], self.x.dtype)

    def values(self, column: int) -> Array:
        return self.x[:, column]

    def integers(self, columns: Places) -> Any:
        return None if self._extents is None else self.numbers(columns)

    def extent(self, column: int) -> tuple[int, int] | None:
        if self._extents is None:
            return None
        least, most = self._extents
        return int(least[column]), int(most[column])

    @cached_property
    def _extents(self) -> tuple[Array, Array] | None:
        """The smallest and largest integer of each column; None if cells may not fit 64 bits."""
        if self.x.dtype.kind not in "iu" or self.x.dtype == np.uint64:
            return None
        least = np.array(self.x[0], np.int64)
        most = least.copy()
        for rows in pieces_of(self.x):
            numerics.level_kernels.extent(readable(self.x[rows], INTEGERS), least, most)
        return least, most


class SparseTable(Table):
    """A SciPy sparse matrix or array in any format. Cells that are not stored are zero."""

    def __init__(self, x: Any) -> None:
        if x.dtype.kind == "c":
            raise ValueError("Complex data not supported\n")
        refuse_invalid_shape(x.shape)
        refuse_damaged(x)
        is_unusual = x.dtype.char in "Oeg" or not x.dtype.isnative
        self.x = (x.astype(float) if is_unusual else x).tocsr()  # itself, if it is CSR
        if not self.x.has_canonical_format:
            self.x = self.x.copy()  # the user's arrays must not change
            self.x.sum_duplicates()
        self.native = self.x
        self.rows, self.width = self.x.shape

    @property
    def template(self) -> TableTemplate:
        return TableTemplate("sparse")

    def kind(self, column: int) -> str:
        return "number"

    def numbers(self, columns: Places) -> sparse.csr_array:
        return self.x if columns == range(self.width) else self.x[:, columns]

    def values(self, column: int) -> Array:
        raise TypeError(
            "Sparse input cannot have levels: use a dense array for a Categorical column, "
            "X.toarray()."
        )


def _as_array(x: Any) -> Array:
    if type(x) is np.ndarray and x.dtype == float:  # a shortcut for most tables
        return x
    if isinstance(x, np.ma.MaskedArray):
        x = np.ma.filled(x.astype(object if x.dtype.kind in "OUST" else float), np.nan)
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise ValueError(f"X is not a table: {error}") from None
    if array.dtype.kind in "UST" and not isinstance(x, np.ndarray):
        array = np.array(x, dtype=object)  # NumPy would convert lists of mixed types to text
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported\n")
    if array.dtype.kind in "Mm":
        raise time_error("X", str(array.dtype))
    if array.ndim == 1 and are_texts(array):
        raise ValueError(
            f"Expected 2D array, got 1D array instead: a list of {len(array)} texts. Split each "
            "into its words, [text.split() for text in X], or count them: Pipeline([('words', "
            "CountVectorizer()), ('model', MultinomialNB())]). If a text is a level: [[text] for "
            "text in X]; if they are the cells of one row: [X]."
        )
    if array.dtype.kind == "V":
        raise ValueError(
            f"X holds {array.dtype}, which is neither numbers nor levels: split it into columns."
        )
    return to_native_order(array)


def refuse_invalid_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(shape)}D array instead (shape={shape}). Reshape your "
            "data: X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one row."
        )
    if 0 in shape:
        what = "sample" if shape[0] == 0 else "feature"
        raise ValueError(
            f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
        )


def are_texts(cells: Any) -> bool:
    """Return whether there are cells, and all of them are text."""
    return len(cells) > 0 and all(isinstance(cell, str) for cell in cells)


def series_by_key(values: Array, keys: Sequence[Hashable], name: str) -> pd.Series:
    """Return numbers of features as a series, indexed by names, which may be tuples of columns."""
    # object, as Arrow rejects text with surrogates
    index = pd.Index(keys, dtype=object, tupleize_cols=False, name="feature")
    return pd.Series(np.asarray(values, float), index, name=name)


class FrameTable(Table):
    """A pandas dataframe, or another one through narwhals. Columns are named by label."""

    def __init__(self, x: pd.DataFrame | nw.DataFrame) -> None:
        self.x, self.native = x, nw.to_native(x, pass_through=True)
        refuse_invalid_shape(x.shape)
        self.rows, self.width = x.shape
        self.columns = tuple(x.columns)
        if len(set(self.columns)) < self.width:
            raise ValueError(f"X has columns of the same name; rename them: {self.columns}.")

    @property
    def is_pandas(self) -> bool:
        """Whether it is a pandas dataframe, as code in messages assumes."""
        return isinstance(self.x, pd.DataFrame)

    @property
    def index(self) -> Array:
        """Names of the rows; tuples for a MultiIndex."""
        return self.x.index.to_numpy() if self.is_pandas else super().index

    def column(self, place: int) -> Any:
        """Return a column as a pandas series or Arrow array: see `plain_column`."""
        name = self.columns[place]
        return plain_column(name, self.x[name])

    @property
    def template(self) -> TableTemplate:
        schema = nw.from_native(self.x).schema
        flags = [place for place, dtype in enumerate(schema.values()) if dtype == nw.Boolean]
        return TableTemplate("frame", tuple(flags))

    def kind(self, column: int) -> str:
        name = self.columns[column]
        cells = self.column(column)
        if isinstance(cells, pa.ChunkedArray):
            dtype = cells.type
        elif cells.dtype.kind == "O" and not isinstance(cells.dtype, pd.CategoricalDtype):
            return "words" if kind_of_objects(name, cells.to_numpy()) == "words" else "level"
        else:
            try:
                dtype = pa.array(cells.iloc[:0]).type
            except pa.ArrowException:  # Arrow has no sparse or complex numbers
                dtype = pa.struct([])
        if types.is_temporal(dtype):
            raise time_error(f"column {name!r}", str(dtype).replace("timestamp", "datetime"))
        kind = kind_of_type(dtype)
        if is_list(dtype):
            return words_of(name, kind == "words")
        if not kind:
            raise ValueError(
                f"column {name!r} holds {self.x[name].dtype}, so no family can be inferred: "
                "declare one, or convert the column."
            )
        return {"integer": "number", "text": "level", "empty": "level"}.get(kind, kind)

    def numbers(self, columns: Places) -> Any:
        """Return columns without copying them; booleans as bytes."""
        is_small = self.is_pandas and self.rows * self.width <= MAX_CELLS_AT_ONCE
        if is_small and columns == range(self.width):  # faster than one by one
            array = self.x.to_numpy()
            if array.dtype in (*FLOATS, *INTEGERS):
                return array
        parts = [self.column_numbers(column) for column in columns]
        (dtype, *others) = {part.dtype for part in parts}
        is_narrow = not others and dtype in (np.float32, np.uint8)
        return Columns(parts, dtype if is_narrow else np.dtype(float))

    def column_numbers(self, place: int) -> Array:
        """Return a column as floats, or with its narrower numeric type."""
        column = self.column(place)
        if isinstance(column, pa.ChunkedArray):
            if types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            kind = kind_of_type(column.type)
            if types.is_decimal(column.type) or (kind == "flag" and column.null_count):
                column = column.cast(pa.float64())
        cells = column.to_numpy()
        if cells.dtype == bool:
            return cells.view(np.uint8)
        return cells if cells.dtype.kind in "iuf" else floats(self.columns[place], cells)

    def factorize(self, column: int) -> DistinctValues:
        name = self.columns[column]
        cells = self.column(column)
        if isinstance(cells, pa.ChunkedArray):
            if types.is_dictionary(cells.type):
                cells = cells.cast(cells.type.value_type)  # levels may be unused or repeated
            if is_text(cells.type):
                coded = cells.dictionary_encode().combine_chunks()
                codes = coded.indices.fill_null(-1).to_numpy()
                return DistinctValues(tuple(coded.dictionary.to_pylist()), codes)
            return factorize(name, cells.to_numpy())
        if isinstance(cells.dtype, pd.CategoricalDtype):
            return distinct(name, cells.cat.codes.to_numpy(), cells.cat.categories)
        return super().factorize(column)

    def values(self, column: int) -> Array:
        cells = self.column(column)
        if isinstance(cells, pa.ChunkedArray) and is_list(cells.type):
            return np.fromiter(cells.to_pylist(), object, self.rows)
        return cells.to_numpy()

    def declared(self, column: int) -> tuple[Any, ...] | None:
        cells = self.x[self.columns[column]]
        if isinstance(cells.dtype, pd.CategoricalDtype):
            return tuple(cells.cat.categories.tolist())  # not necessarily text
        return tuple(cells.dtype.categories) if isinstance(cells.dtype, nw.Enum) else None


# What a user passes as X


def open_table(x: Any, n_jobs: int | None = 1, *, documents: bool = False) -> Table:
    """Return a `Table` for any user's table, which `n_jobs` threads may read.

    Lists of texts are rows of cells unless they are ragged, or declared to be `documents`.
    """
    # a fast path by type, for services that predict single rows
    is_plain = type(x) is np.ndarray and x.dtype.kind not in "OV"
    table = ArrayTable(x) if is_plain else _table_of(x, documents)
    table.n_jobs = n_jobs
    return table


def _table_of(x: Any, documents: bool) -> Table:
    if isinstance(x, Table):
        return x
    if isinstance(x, pd.DataFrame):
        return FrameTable(x)
    if sparse.issparse(x):
        return SparseTable(x)
    # a list of lists or arrays, in which no column has a name
    is_plain = type(x) in (list, tuple) and len(x) > 0 and type(x[0]) in LISTS
    if not is_plain:
        refuse_lazy(x, "X")
        x = cells_of_series(x)
    if are_documents(x, documents):
        return ArrayTable(np.fromiter(x, object, len(x))[:, None])
    frame = None if is_plain else frame_of(x)
    return ArrayTable(x) if frame is None else FrameTable(frame)


def cells_of_series(x: Any) -> Any:
    """Return the lists or texts of a series as a list; return anything else unchanged."""
    if not nw.dependencies.is_into_series(x):
        return x
    series = nw.from_native(x, series_only=True)
    cells = series.to_list()
    if not isinstance(first_cell(cells), LISTS) and not are_texts(cells):
        raise ValueError(
            f"Expected 2D array, got 1D array instead: a {type(x).__name__} of {len(cells)} cells. "
            f"{ONE_ROW}; for one column, X[['name']]."
        )
    return cells


def are_documents(x: Any, declared: bool) -> bool:
    """Return whether rows are lists of words rather than rows of cells.

    They are if they are lists of texts with different lengths, or if that is `declared`.
    """
    is_flat = isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.ndim == 1)
    if not (is_flat and len(x) and all(isinstance(row, LISTS) for row in x)):
        return False
    return begins_with_text(chain.from_iterable(x)) and (declared or len(set(map(len, x))) > 1)


def frame_of(x: Any) -> Any:
    """Return the dataframe that X is, contains, or exports by Arrow's stream protocol.

    None for tables without names.
    """
    if hasattr(type(x), "reset_coords"):  # xarray's
        x = x.reset_coords(drop=True).to_pandas()  # keep only the coordinates of axes
    frame = nw.from_native(x, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"X is a lazy frame of {frame.implementation.value}: its rows are not computed yet, "
            "and their order may differ from that of the labels. Collect both at once: X.collect()."
        )
    if isinstance(frame, nw.DataFrame):
        return nw.to_native(frame) if frame.implementation.is_pandas() else frame
    if hasattr(frame, "__arrow_c_stream__"):
        frame = nw.from_arrow(frame, backend="pyarrow")
        if len(frame):
            return frame
        raise ValueError(
            "X is a stream without rows, or one that was already read: a stream can be read only "
            "once. Keep its rows: X = pyarrow.table(X)."
        )
    refuse_lost_names(frame)
    return None


def refuse_lost_names(x: Any) -> None:
    """Raise for tables whose column names would be lost."""
    first = x[0] if isinstance(x, list | tuple) and len(x) else x
    for each in (x, first):
        names = getattr(getattr(each, "dtype", None), "names", None) or hasattr(each, "_fields")
        if names or isinstance(each, Mapping) or nw.dependencies.is_into_series(each):
            of = "" if each is x else f" of {type(each).__name__}"
            raise TypeError(
                f"X is a {type(x).__name__}{of}, whose column names would be lost. Give "
                f"pandas.DataFrame(X). {ONE_ROW}."
            )
