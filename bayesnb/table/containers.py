"""The containers that tables come in: NumPy arrays, SciPy sparse, lists of lists, and what narwhals reads.

Missing cells (NaN, None, NA, masked) come out as NaN among numbers, and as None or NaN among values.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, Self

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from bayesnb.table.values import Distinct, factorize, floats, kind_of_objects

Array = np.ndarray
HAVE_LEVELS = (nw.String, nw.Object, nw.Categorical, nw.Enum)


class Table(ABC):
    """Rows and named columns; a column has a kind, `"flag"`, `"level"` or `"number"`, and can be read two ways."""

    x: Any
    native: Any  # what scikit-learn is to see
    columns: tuple[Hashable, ...]
    rows: int

    @abstractmethod
    def take(self, keep: Array) -> Self:
        """The rows where `keep` is true."""

    @abstractmethod
    def kind(self, column: int) -> str:
        """What the column seems to hold."""

    @abstractmethod
    def numbers(self, columns: Sequence[int]) -> Any:
        """Some columns as an `(r, f)` array or CSR of numbers, missing cells NaN."""

    @abstractmethod
    def values(self, column: int) -> Array:
        """One column's values."""

    def declared(self, column: int) -> tuple[Any, ...] | None:
        """The levels that a column's type declares, used or not."""
        return None

    def distinct(self, column: int) -> Distinct:
        """One column's distinct values and where they stand, found once."""
        if column not in self._found:
            self._found[column] = factorize(self.columns[column], self.values(column))
        return self._found[column]

    @cached_property
    def _found(self) -> dict[int, Distinct]:
        return {}


def open_table(x: Any) -> Table:
    """The table behind whatever the user has."""
    if type(x) is np.ndarray:
        return ArrayTable(x)
    if sparse.issparse(x):
        return SparseTable(x)
    if nw.dependencies.is_into_dataframe(x):
        return FrameTable(x)
    if hasattr(x, "collect"):
        raise TypeError("X is a lazy frame: give X.collect().")
    return ArrayTable(x)


class ArrayTable(Table):
    """A two-dimensional NumPy array, or what becomes one. Columns are named by position."""

    def __init__(self, x: Any) -> None:
        self.x = self.native = _as_array(x)
        _refuse_odd_shape(self.x.shape)
        self.rows = len(self.x)
        self.columns = tuple(range(self.x.shape[1]))

    def take(self, keep: Array) -> Self:
        return type(self)(self.x[keep])

    def kind(self, column: int) -> str:
        if self.x.dtype.kind == "O":
            return kind_of_objects(column, self.x[:, column])
        return {"b": "flag", "U": "level", "S": "level", "T": "level"}.get(self.x.dtype.kind, "number")

    def numbers(self, columns: Sequence[int]) -> Array:
        if self.x.dtype.kind not in "biuf":
            return np.column_stack([floats(column, self.x[:, column]) for column in columns])
        return self.x if tuple(columns) == self.columns else self.x[:, columns]

    def values(self, column: int) -> Array:
        return self.x[:, column]


class SparseTable(Table):
    """SciPy sparse, matrix or array, any format. A cell that is not stored is zero."""

    def __init__(self, x: Any) -> None:
        if np.iscomplexobj(x):
            raise ValueError("Complex data not supported\n")
        _refuse_odd_shape(x.shape)
        self.x = sparse.csr_array(x)
        self.x.data = _native(self.x.data)
        if not self.x.has_canonical_format:
            self.x = self.x.copy()  # the user's arrays stay as they are
            self.x.sum_duplicates()
        self.native = self.x
        self.rows = self.x.shape[0]
        self.columns = tuple(range(self.x.shape[1]))

    def take(self, keep: Array) -> Self:
        return type(self)(self.x[keep])

    def kind(self, column: int) -> str:
        return "number"

    def numbers(self, columns: Sequence[int]) -> sparse.csr_array:
        return self.x if tuple(columns) == self.columns else self.x[:, columns]

    def values(self, column: int) -> Array:
        raise TypeError("Sparse input has no levels: give a Categorical column as a dense array, X.toarray().")


class FrameTable(Table):
    """A dataframe. Columns are named by label."""

    def __init__(self, x: Any) -> None:
        self.native = x
        try:
            self.x = nw.from_native(x, eager_only=True)
        except nw.exceptions.DuplicateError as error:
            raise ValueError(f"X has columns of the same name; rename them. {error}") from None
        _refuse_odd_shape(self.x.shape)
        self.rows = len(self.x)
        self.columns = tuple(self.x.columns)

    def take(self, keep: Array) -> Self:
        return type(self)(self.x.filter(keep.tolist()).to_native())

    def _series(self, column: int) -> nw.Series:
        return self.x[:, column]

    def kind(self, column: int) -> str:
        name, dtype = self.columns[column], self._series(column).dtype
        if dtype == nw.Boolean:
            return "flag"
        if dtype.is_temporal():
            raise ValueError(
                f"column {name!r} holds {dtype}: make it a number or a category first, or drop it: {{{name!r}: None}}."
            )
        if not (dtype.is_numeric() or dtype in HAVE_LEVELS):
            native = getattr(self._series(column).to_native(), "dtype", dtype)
            raise ValueError(
                f"column {name!r} holds {native}, for which no family can be guessed: declare or convert it."
            )
        return "number" if dtype.is_numeric() else "level"

    def numbers(self, columns: Sequence[int]) -> Array:
        first = self._series(columns[0]).dtype
        narrow = first == nw.Float32 and all(self._series(column).dtype == first for column in columns)
        filled = np.empty((self.rows, len(columns)), np.float32 if narrow else float)
        for place, column in enumerate(columns):
            filled[:, place] = self._numbers(column)
        return filled

    def _numbers(self, column: int) -> Array:
        series = self._series(column)
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            return series.cast(nw.Float64).to_numpy()
        return floats(self.columns[column], series.to_numpy())

    def values(self, column: int) -> Array:
        series = self._series(column)
        if series.dtype in (nw.Categorical, nw.Enum) and not self._categories(column):
            series = series.cast(nw.String)  # arrow's dictionaries lose missing cells on the way
        return series.to_numpy()

    def declared(self, column: int) -> tuple[Any, ...] | None:
        dtype = self._series(column).dtype
        return tuple(dtype.categories) if isinstance(dtype, nw.Enum) else self._categories(column)

    def _categories(self, column: int) -> tuple[Any, ...] | None:
        """Those of pandas, which need not be text."""
        native = self._series(column).to_native()
        is_pandas = isinstance(getattr(native, "dtype", None), pd.CategoricalDtype)
        return tuple(native.cat.categories.tolist()) if is_pandas else None


def _as_array(x: Any) -> Array:
    if isinstance(x, np.ma.MaskedArray):
        odd = x.dtype.kind in "OUST"
        gone, x = np.ma.getmaskarray(x), x.data.astype(object if odd else float)
        x[gone] = None if odd else np.nan
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise ValueError(f"X is not a table: {error}") from None
    if array.dtype.kind in "UST" and not isinstance(x, np.ndarray):
        array = np.array(x, dtype=object)  # a list of mixed lists, which NumPy made all text
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported\n")
    if array.dtype.kind in "MmV":
        raise ValueError(f"X holds {array.dtype}: make it numbers or categories first.")
    return _native(array)


def _native(array: Array) -> Array:
    """Numbers that compiled code reads: this machine's byte order, single or double precision."""
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(float)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _refuse_odd_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(shape)}D array instead (shape={shape}). Reshape your data: "
            "X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one row."
        )
    if shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
    if shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
