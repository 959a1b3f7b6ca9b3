"""Tables that are dataframes: pandas, and whatever else narwhals reads."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from bayesnb.data.blank_tables import FrameBlank
from bayesnb.data.column_types import plain_pandas, with_plain_types
from bayesnb.data.column_values import DistinctValues, coded_text, distinct, floats, refuse_times, time_error
from bayesnb.data.containers import (
    ArrayTable,
    DocumentTable,
    SparseTable,
    Table,
    all_of,
    are_documents,
    are_plain_rows,
    frame_of,
    lists_of_words,
    refuse_invalid_shape,
)
from bayesnb.data.lists import Lists, first_list, kind_of_lists, lists_of_series, words_of
from bayesnb.numerics.views import FLOATS, INTEGERS, Columns

Array = np.ndarray
HAVE_LEVELS = (nw.String, nw.Object, nw.Categorical, nw.Enum)
FEW = 1 << 10  # cells of a frame that are read as one array
OF_LISTS = (nw.List, nw.Array)
OF_TEXTS = (nw.String, nw.Categorical, nw.Enum, nw.Unknown)  # the last is that of lists that are all empty


def open_table(x: Any, n_jobs: int | None = 1, *, documents: bool = False) -> Table:
    """Return the table behind whatever the user has, which `n_jobs` threads may read; one that is open, as it is.

    Lists of texts are cells side by side unless they are ragged, or it is declared that they are `documents`.
    """
    # what is common is known by its type, in no time: single rows are asked for one by one
    if type(x) is np.ndarray and x.dtype.kind not in "OV":
        table: Table = ArrayTable(x)
    elif isinstance(x, pd.DataFrame):
        table = PandasTable(x)
    elif sparse.issparse(x):
        table = SparseTable(x)
    elif isinstance(x, Table):
        table = x
    else:
        table = _table_of(x, documents)
    table.n_jobs = n_jobs
    return table


def _table_of(x: Any, documents: bool) -> Table:
    if are_plain_rows(x):
        return DocumentTable(x) if are_documents(x, documents) else ArrayTable(x)
    x = lists_of_words(x)
    if are_documents(x, documents):
        return DocumentTable(x)
    if hasattr(x, "to_scipy_sparse"):  # PyData's
        return SparseTable(x.to_scipy_sparse())
    refuse_lazy(x, "X")
    frame = frame_of(x)
    if frame is None:
        return ArrayTable(x)
    native = frame.to_native()
    return PandasTable(native) if isinstance(native, pd.DataFrame) else FrameTable(frame)


def is_lazy(x: Any) -> bool:
    """Return whether a table is a collection of Dask, whose rows are not there yet."""
    kind = type(x)
    return hasattr(kind, "__dask_graph__") and (kind.__module__.startswith("dask.") or x.__dask_graph__() is not None)


def refuse_lazy(x: Any, name: str) -> None:
    """Raise for a collection of Dask where rows are needed."""
    if is_lazy(x):
        raise TypeError(
            f"{name} is a lazy collection of Dask. An estimator's fit, partial_fit, predict, predict_proba, "
            "predict_log_proba, predict_joint_log_proba, score and loo, and scale.shard, take such an X as it is, with "
            f"y and sample_weight lazy or not. Everything else needs rows in memory: {name}.compute(), of some rows if "
            "there are too many."
        )


def table_of_columns(columns: Mapping[Hashable, Any]) -> pd.DataFrame:
    """Return a table of these columns, by name or position."""
    return pd.DataFrame(columns)


def nested(x: Any) -> Any:
    """Return a pandas frame as `{column: {row: value}}`, both by name; any other value as it is."""
    x = nw.to_native(x, pass_through=True)
    if not nw.dependencies.is_into_dataframe(x):
        return x
    if not isinstance(x, pd.DataFrame):
        raise TypeError(f"a {type(x).__name__} has no row names: use a pandas frame with an index, or a mapping.")
    if not (x.index.is_unique and x.columns.is_unique):
        raise ValueError("the frame has the same row name or column name twice.")
    return x.to_dict()


class FrameTable(Table):
    """A dataframe. Columns are named by label."""

    unnamed = False

    def __init__(self, x: nw.DataFrame) -> None:
        self.x, self.native = with_plain_types(x), x.to_native()
        refuse_invalid_shape(x.shape)
        self.rows, self.width = x.shape
        self.columns = tuple(x.columns)

    @property
    def blank(self) -> FrameBlank:
        return FrameBlank.of(self.x)

    def _rows_of(self, keep: Array) -> Any:
        return self.x.filter(keep.tolist())

    @cached_property
    def series(self) -> list[nw.Series]:
        return list(self.x.iter_columns())

    @cached_property
    def natives(self) -> list[Any]:
        """The columns as the library has them."""
        return [series.to_native() for series in self.series]

    def kind(self, column: int) -> str:
        name, dtype = self.columns[column], self.series[column].dtype
        if dtype == nw.Boolean:
            return "flag"
        if dtype.is_temporal():
            raise time_error(f"column {name!r}", type(dtype).__name__, name, self._days(column))
        if isinstance(dtype, OF_LISTS):
            return words_of(name, dtype.inner in OF_TEXTS)
        if dtype in (nw.Object, nw.Unknown):
            refuse_times(name, self.values(column))
        if dtype == nw.Object and (kind := kind_of_lists(name, self.values(column))):
            return kind
        if not (dtype.is_numeric() or dtype in HAVE_LEVELS):
            raise ValueError(
                f"column {name!r} holds {self._type_name(self.series[column])}, for which no family can be "
                "inferred: declare one, or convert the column."
            )
        return "number" if dtype.is_numeric() else "level"

    def _days(self, column: int) -> str:
        """Return code that makes days since 1970 of a column of dates; nothing for another library's."""
        return ""

    def has_lists(self, column: int) -> bool:
        dtype = self.series[column].dtype
        return isinstance(dtype, OF_LISTS) or (dtype == nw.Object and first_list(self.values(column)) is not None)

    def _split(self, column: int) -> Lists:
        return lists_of_series(self.columns[column], self.series[column])

    @property
    def array(self) -> Array | None:
        """The table as one array, where its columns by themselves would take longer; else None."""
        return None

    def numbers(self, columns: Sequence[int]) -> Any:
        """Return columns as they lie, bytes where all are booleans."""
        if (array := self.array) is not None:
            return array if all_of(columns, self.width) else array[:, columns]
        parts = [self.column_numbers(column) for column in columns]
        (dtype, *others) = {part.dtype for part in parts}
        is_narrow = not others and dtype in (np.float32, np.uint8)
        return Columns(parts, dtype if is_narrow else np.dtype(float))

    def column_numbers(self, column: int) -> Array:
        """Return a column as floats, or as narrower numbers where it has them."""
        series = self.series[column]
        if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
            return floats(self.columns[column], self._cells(column, series))
        if series.null_count():
            return series.cast(nw.Float64).to_numpy()
        plain = series.to_numpy()
        if plain.dtype == bool:
            return plain.view(np.uint8)
        return plain if plain.dtype.kind in "iuf" else plain.astype(float)

    def _factorized(self, column: int) -> DistinctValues:
        native = self.natives[column]
        if self._categories(column) is not None:
            return distinct(self.columns[column], native.cat.codes.to_numpy(), native.cat.categories)
        text = coded_text(native)
        return super()._factorized(column) if text is None else DistinctValues(tuple(text[1]), text[0])

    def values(self, column: int) -> Array:
        series = self.series[column]
        if series.dtype in (nw.Categorical, nw.Enum) and not self._categories(column):
            series = series.cast(nw.String)  # arrow's dictionaries lose missing cells on the way
        return self._cells(column, series)

    def _cells(self, column: int, series: nw.Series) -> Array:
        """Return the cells of a column, or an error of ours where its library has none for NumPy."""
        advice = f"column {self.columns[column]!r} holds {self._type_name(series)}, which cannot be read"
        try:
            cells = series.to_numpy()
        except Exception as error:  # every library has errors of its own
            raise TypeError(f"{advice}: {error}. Make it numbers or text.") from error
        if cells.ndim != 1:
            raise TypeError(f"{advice}. Make its parts columns.")
        return cells

    def _type_name(self, series: nw.Series) -> Any:
        native = series.to_native()
        return getattr(native, "dtype", None) or getattr(native, "type", series.dtype)

    def declared(self, column: int) -> tuple[Any, ...] | None:
        dtype = self.series[column].dtype
        return tuple(dtype.categories) if isinstance(dtype, nw.Enum) else self._categories(column)

    def _categories(self, column: int) -> tuple[Any, ...] | None:
        """Return the categories of pandas, which need not be text."""
        native = self.natives[column]
        is_pandas = isinstance(getattr(native, "dtype", None), pd.CategoricalDtype)
        return tuple(native.cat.categories.tolist()) if is_pandas else None


class PandasTable(FrameTable):
    """A dataframe of pandas, asked directly for its names, numbers and levels: single rows would wait for a detour.

    Columns among `coded` are texts that came as categories: those that occur are the levels, and none is declared.
    """

    def __init__(self, native: pd.DataFrame, coded: Collection[Hashable] = ()) -> None:
        if not native.columns.is_unique:
            frame_of(native)  # raises
        refuse_invalid_shape(native.shape)
        self.native, self.coded = native, coded
        self.rows, self.width = native.shape
        self.columns = tuple(native.columns.tolist())

    @cached_property
    def x(self) -> nw.DataFrame:
        return nw.from_native(self.native if self.plain is None else self.plain)

    @cached_property
    def plain(self) -> pd.DataFrame | None:
        """The frame with plain types, where columns of Arrow may need them; else None."""
        has_arrow = any(isinstance(dtype, pd.ArrowDtype) for dtype in self.native.dtypes)
        return plain_pandas(self.native) if has_arrow else None

    @property
    def blank(self) -> FrameBlank:
        plain = {name: str for name in self.columns if name in self.coded}
        return FrameBlank.of(nw.from_native(self.native.iloc[:0].astype(plain))) if plain else super().blank

    def take(self, keep: Array) -> Self:
        taken = type(self)(self._rows_of(keep), self.coded)
        taken.n_jobs = self.n_jobs
        return taken

    def _categories(self, column: int) -> tuple[Any, ...] | None:
        return None if self.columns[column] in self.coded else super()._categories(column)

    def declared(self, column: int) -> tuple[Any, ...] | None:
        return self._categories(column)

    @property
    def index(self) -> Array:
        """Names of the rows, those of an index of several levels as tuples."""
        return self.native.index.to_numpy()

    def _rows_of(self, keep: Array) -> pd.DataFrame:
        return super()._rows_of(keep).to_native()

    @cached_property
    def natives(self) -> list[Any]:
        frame = self.native if self.plain is None else self.plain
        return [column for _, column in frame.items()]

    def _days(self, column: int) -> str:
        dtype = self.series[column].dtype
        zone = ", tz='UTC'" if isinstance(dtype, nw.Datetime) and dtype.time_zone else ""
        return f"(X[{self.columns[column]!r}] - pandas.Timestamp(0{zone})).dt.days" if dtype == nw.Datetime else ""

    @cached_property
    def array(self) -> Array | None:
        array = self.native.to_numpy() if self.rows * self.width <= FEW else None
        return array if array is not None and array.dtype in (*FLOATS, *INTEGERS) else None

    def column_numbers(self, column: int) -> Array:
        native = self.natives[column]
        if not (isinstance(native.dtype, np.dtype) and native.dtype.kind in "biuf"):
            return super().column_numbers(column)
        plain = native.to_numpy()
        return plain.view(np.uint8) if plain.dtype == bool else plain
