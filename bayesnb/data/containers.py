"""What every table can be asked, and the tables that are NumPy arrays, lists of lists, or SciPy sparse.

Missing cells (NaN, None, NA, masked) come out as NaN among numbers, and as None or NaN among values. Columns that have
names are never read by their positions, as in another order they would be other columns: what has names becomes a
dataframe (`frame_of`), or an error says what to do.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Self

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from bayesnb import numerics
from bayesnb.data.blank_tables import ArrayBlank, Blank, DocumentsBlank, SparseBlank
from bayesnb.data.column_values import DistinctValues, factorize, floats, kind_of_objects, time_error
from bayesnb.data.lists import LISTS, Lists, begins_with_text, first_list, kind_of_lists, lists_of_objects
from bayesnb.data.sparse_checks import refuse_damaged
from bayesnb.numerics.threads import FEWEST, in_order
from bayesnb.numerics.views import Picked, integers, pieces_of

Array = np.ndarray
ONE_ROW = "For one row, give a table that has it alone: X.iloc[[0]], or pandas.DataFrame([row])"
MOST_LEVELS = 1 << 20  # candidates among which a column's integers are marked


class Table(ABC):
    """Rows and named columns; a column has a kind, `"flag"`, `"level"`, `"number"` or `"words"`, its lists' own."""

    x: Any
    native: Any  # what scikit-learn is to see
    rows: int
    width: int  # how many columns
    unnamed: bool = True  # whether columns have no names but their positions
    n_jobs: int | None = 1  # threads that may read it

    @abstractmethod
    def __init__(self, x: Any) -> None:
        """Take what the user has; it is read when it is asked for."""

    @cached_property
    def columns(self) -> Sequence[Hashable]:
        """Names of the columns; positions, where they have none."""
        return range(self.width)

    @property
    def index(self) -> Array:
        """Names of the rows; positions, where they have none."""
        return np.arange(self.rows)

    def take(self, keep: Array) -> Self:
        """Return the rows where `keep` is true."""
        taken = type(self)(self._rows_of(keep))
        taken.n_jobs = self.n_jobs
        return taken

    def _rows_of(self, keep: Array) -> Any:
        return self.x[keep]

    @property
    @abstractmethod
    def blank(self) -> Blank:
        """What to keep of the table to make others like it."""

    @abstractmethod
    def kind(self, column: int) -> str:
        """Return what a column seems to hold."""

    @abstractmethod
    def numbers(self, columns: Sequence[int]) -> Any:
        """Return some columns as an `(r, f)` array or CSR of numbers, missing cells NaN."""

    @abstractmethod
    def values(self, column: int) -> Array:
        """Return the values of a column."""

    def has_lists(self, column: int) -> bool:
        """Return whether the cells of a column are lists of words."""
        return False

    def lists(self, column: int) -> Lists:
        """Return the words of a column of lists, split once."""
        if column not in self._lists:
            self._lists[column] = self._split(column)
        return self._lists[column]

    def _split(self, column: int) -> Lists:
        return lists_of_objects(self.columns[column], self.values(column))

    def declared(self, column: int) -> tuple[Any, ...] | None:
        """Return the levels that a column's type declares, used or not."""
        return None

    def distinct(self, column: int) -> DistinctValues:
        """Return a column's distinct values and where they stand, factorized once."""
        if column not in self._factorizations:
            self._factorizations[column] = self._factorized(column)
        return self._factorizations[column]

    def _factorized(self, column: int) -> DistinctValues:
        return factorize(self.columns[column], self.values(column))

    def distinct_of(self, columns: Sequence[int]) -> list[DistinctValues]:
        """Return the distinct values of some columns and where they stand, by several threads."""
        return list(in_order(self.distinct, columns, self.n_jobs if self.rows * len(columns) > FEWEST else 1))

    def distinct_values(self, columns: Sequence[int]) -> list[tuple[Any, ...]]:
        """Return the distinct values of some columns."""
        return [seen.values for seen in self.distinct_of(columns)]

    def integers(self, columns: Sequence[int]) -> Any:
        """Return some columns as an `(r, f)` array, if they are integers; else None."""
        return None

    def extent(self, column: int) -> tuple[int, int] | None:
        """Return the least and the largest value of a column of integers."""
        return None

    @cached_property
    def _factorizations(self) -> dict[int, DistinctValues]:
        return {}

    @cached_property
    def _lists(self) -> dict[int, Lists]:
        return {}


class ArrayTable(Table):
    """A two-dimensional NumPy array, or what becomes one. Columns are named by position."""

    def __init__(self, x: Any) -> None:
        self.x = self.native = _as_array(x)
        refuse_texts(self.x)
        refuse_invalid_shape(self.x.shape)
        self.rows, self.width = self.x.shape

    @property
    def blank(self) -> ArrayBlank:
        return ArrayBlank(self.x.dtype)

    def kind(self, column: int) -> str:
        if self.x.dtype.kind == "O":
            return kind_of_lists(column, self.x[:, column]) or kind_of_objects(column, self.x[:, column])
        return {"b": "flag", "U": "level", "S": "level", "T": "level"}.get(self.x.dtype.kind, "number")

    def numbers(self, columns: Sequence[int]) -> Any:
        if self.x.dtype.kind not in "biuf":
            return np.column_stack([floats(column, self.x[:, column]) for column in columns])
        return self.x if all_of(columns, self.width) else Picked(self.x, columns)

    def has_lists(self, column: int) -> bool:
        return self.x.dtype.kind == "O" and first_list(self.x[:, column]) is not None

    def values(self, column: int) -> Array:
        return self.x[:, column]

    def distinct_values(self, columns: Sequence[int]) -> list[tuple[Any, ...]]:
        if self._extents is None or self._seen is None:
            return super().distinct_values(columns)
        seen, sizes, starts = self._seen
        least = self._extents[0]
        occurring = (np.flatnonzero(seen[starts[j] : starts[j] + sizes[j]]) + least[j] for j in columns)
        return [tuple(values.tolist()) for values in occurring]

    def integers(self, columns: Sequence[int]) -> Any:
        return self.numbers(columns) if self.x.dtype.kind in "iu" and self.x.dtype != np.uint64 else None

    def extent(self, column: int) -> tuple[int, int] | None:
        return None if self._extents is None else (int(self._extents[0][column]), int(self._extents[1][column]))

    @cached_property
    def _extents(self) -> tuple[Array, Array] | None:
        """The least and the largest value of each column, if all are integers that 64 bits hold."""
        if self.x.dtype.kind not in "iu" or self.x.dtype == np.uint64:
            return None

        def extent_of(rows: slice) -> tuple[Array, Array]:
            first = np.array(self.x[rows.start], np.int64)
            least, most = first, first.copy()
            numerics.level_kernels.extent(integers(self.x, rows), least, most)
            return least, most

        parts = list(in_order(extent_of, pieces_of(self.x), self.n_jobs))
        return np.min([least for least, _ in parts], axis=0), np.max([most for _, most in parts], axis=0)

    @cached_property
    def _seen(self) -> tuple[Array, Array, Array] | None:
        """Which integers occur, of all columns end to end; each column's number of candidates, and its start."""
        least, most = self._extents  # type: ignore[misc]
        sizes = most - least + 1
        if (sizes < 1).any() or (sizes > MOST_LEVELS).any():
            return None
        starts = np.cumsum(sizes) - sizes
        seen = np.zeros(int(sizes.sum()), bool)
        for rows in pieces_of(self.x):
            numerics.level_kernels.mark(integers(self.x, rows), least, starts, seen)
        return seen, sizes, starts


class DocumentTable(ArrayTable):
    """Lists of words, one a row. The only column is named by its position, 0."""

    def __init__(self, x: Any) -> None:
        if not (isinstance(x, np.ndarray) and x.ndim == 2):
            x = np.fromiter(x, object, len(x))[:, None]
        super().__init__(x)

    @property
    def blank(self) -> DocumentsBlank:  # type: ignore[override]
        return DocumentsBlank()


def lists_of_words(x: Any) -> Any:
    """Return a series whose cells are lists, as a list of them; anything else as it is."""
    if not nw.dependencies.is_into_series(x):
        return x
    cells = nw.from_native(x, series_only=True).to_list()
    return cells if first_list(cells) is not None else x


def are_plain_rows(x: Any) -> bool:
    """Return whether rows are a list of lists or arrays, in which no column has a name."""
    return type(x) in (list, tuple) and len(x) > 0 and type(x[0]) in LISTS


def are_documents(x: Any, declared: bool) -> bool:
    """Return whether rows are lists of words, and not cells side by side.

    They are if they are lists of texts of different lengths, or if it is `declared` that a row is one list.
    """
    if (isinstance(x, np.ndarray) and (x.ndim > 1 or x.dtype != object)) or not isinstance(x, LISTS):
        return False
    if not len(x) or not all(isinstance(row, LISTS) and (type(row) is not np.ndarray or row.ndim == 1) for row in x):
        return False
    return begins_with_text(chain.from_iterable(x)) and (declared or len(set(map(len, x))) > 1)


class SparseTable(Table):
    """SciPy sparse, matrix or array, any format. A cell that is not stored is zero."""

    def __init__(self, x: Any) -> None:
        if x.dtype.kind == "c":
            raise ValueError("Complex data not supported\n")
        refuse_invalid_shape(x.shape)
        refuse_damaged(x)
        self.x = (_sparse_numbers(x) if x.dtype.kind == "O" else x).tocsr()  # the same one if it is CSR
        if self.x is not x:
            refuse_damaged(self.x)
        data = _native(self.x.data)
        if data is not self.x.data:
            self.x = sparse.csr_array((data, self.x.indices, self.x.indptr), shape=x.shape)
        if not self.x.has_canonical_format:
            self.x = self.x.copy()  # the user's arrays stay as they are
            self.x.sum_duplicates()
        self.native = self.x
        self.rows, self.width = self.x.shape

    @property
    def blank(self) -> SparseBlank:
        return SparseBlank(sparse.isspmatrix(self.x), self.x.dtype)

    def kind(self, column: int) -> str:
        return "number"

    def numbers(self, columns: Sequence[int]) -> sparse.csr_array:
        return self.x if all_of(columns, self.width) else self.x[:, columns]

    def values(self, column: int) -> Array:
        raise TypeError("Sparse input cannot have levels: use a dense array for a Categorical column, X.toarray().")


def _sparse_numbers(x: Any) -> Any:
    """Return a sparse table of Python objects as one of floats."""
    try:
        return x.astype(float)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ValueError(f"X is a sparse table of objects that are not numbers: {error}.") from None


def all_of(columns: Sequence[int], width: int) -> bool:
    """Return whether columns are all that there are, in their order."""
    return columns == range(width) or (len(columns) == width and list(columns) == list(range(width)))


def _as_array(x: Any) -> Array:
    if type(x) is np.ndarray and x.dtype == float:  # a shortcut: most tables are
        return x
    if isinstance(x, np.ma.MaskedArray):
        is_object = x.dtype.kind in "OUST"
        gone, x = np.ma.getmaskarray(x), x.data.astype(object if is_object else float)
        x[gone] = None if is_object else np.nan
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise ValueError(f"X is not a table: {error}") from None
    if array.dtype.kind in "UST" and not isinstance(x, np.ndarray):
        array = np.array(x, dtype=object)  # a list of mixed lists, which NumPy made all text
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported\n")
    if array.dtype.kind in "Mm":
        raise time_error("X", str(array.dtype))
    if array.dtype.kind == "V":
        raise ValueError(f"X holds {array.dtype}, which is neither numbers nor levels: split it into columns.")
    return _native(array)


def _native(array: Array) -> Array:
    """Return numbers as compiled code reads them: this machine's byte order, single or double precision."""
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(float)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def refuse_texts(x: Array) -> None:
    """Raise for texts where rows belong."""
    if x.ndim == 1 and are_texts(x):
        raise ValueError(
            f"Expected 2D array, got 1D array instead: a list of {len(x)} texts. Split each into its words, "
            "[text.split() for text in X], or count them: Pipeline([('words', CountVectorizer()), ('model', "
            "MultinomialNB())]). If a text is a level: [[text] for text in X]; if they are the cells of one row: [X]."
        )


def refuse_invalid_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(shape)}D array instead (shape={shape}). Reshape your data: "
            "X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one row."
        )
    if shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
    if shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


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
            "X is a stream without rows, or one that was read already: it can be read only once. Keep its rows: "
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
        f"X is a lazy frame of {frame.implementation.value}: its rows are not computed yet, and their order may "
        f"differ from that of the labels. Collect both at once: {advice}."
    )


def refuse_series(x: Any) -> None:
    """Raise for one row or column of a frame, but for a column of texts: see `refuse_texts`."""
    if str(getattr(x, "type", "")).startswith("struct"):
        raise TypeError("X is an array of records. Make its fields columns: pyarrow.Table.from_struct_array(X).")
    if not nw.dependencies.is_into_series(x):
        return
    series = nw.from_native(x, series_only=True)
    if series.dtype == nw.Struct:
        raise TypeError("X is a series of records. Make its fields columns: X.struct.unnest() in polars.")
    native = series.to_native()
    names = native.index.tolist() if isinstance(native, pd.Series) else []
    is_row = bool(names) and all(isinstance(name, str) for name in names)
    if is_row or not are_texts(series.to_list()):
        shown = f", with the index {names[:5]}" if is_row else ""
        raise ValueError(
            f"Expected 2D array, got 1D array instead: a {type(x).__name__} of {len(series)} cells{shown}. {ONE_ROW}; "
            "for one column, X[['name']]."
        )


def are_texts(cells: Any) -> bool:
    """Return whether there is a cell, and all of them are texts."""
    return len(cells) > 0 and all(isinstance(cell, str) for cell in cells)


def _refuse_unread(x: Any) -> None:
    """Raise for rows or columns whose names would be lost."""
    first = x[0] if isinstance(x, list | tuple) and len(x) else x
    if hasattr(first, "__dataframe__"):
        raise TypeError(
            f"X is a {type(x).__name__}, which is not supported. Convert it to a table of pandas, polars or pyarrow."
        )
    by_name = isinstance(first, Mapping) or (first is not x and nw.dependencies.is_into_series(first))
    by_name = by_name or any(hasattr(record, "_fields") for record in (x, first))
    if by_name or getattr(getattr(x, "dtype", None), "names", None):
        of = "" if first is x else f" of {type(first).__name__}"
        is_row = hasattr(x, "_fields") or (isinstance(x, Mapping) and not any(map(np.ndim, x.values())))
        if is_row:
            raise TypeError(f"Expected a table, got one row: a {type(x).__name__}. {ONE_ROW}.")
        raise TypeError(f"X is a {type(x).__name__}{of}, whose column names would be lost. Give pandas.DataFrame(X).")


def series_by_key(values: Array, keys: Sequence[Hashable], name: str) -> pd.Series:
    """Return numbers of features as a series by their names, of which one may be a tuple of several columns."""
    index = pd.Index(keys, dtype=object, tupleize_cols=False, name="feature")  # Arrow refuses texts with surrogates
    return pd.Series(np.asarray(values, float), index, name=name)
