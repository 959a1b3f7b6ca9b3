"""Tables like those that were learnt from: what is kept of one, its types and names but no row, and how it is filled.

A column keeps its type where that can hold what was drawn. Real numbers in a column of integers become floats, a
count that is too large for its type makes it wider, and a missing cell among integers makes them floats.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from bayesnb.data.types import (
    Library,
    UnknownTypeError,
    decode_names,
    decode_numpy,
    decode_type,
    encode_names,
    encode_numpy,
    encode_type,
)

Array = np.ndarray
MISSING = -1
OBJECT = np.dtype(object)
Recipe = dict[str, Any]  # plain values


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers, or codes of levels, of which -1 is a missing cell; or lists, one an object."""

    numbers: Array
    levels: Sequence[Any] | None = None

    @property
    def values(self) -> Array:
        if self.levels is None:
            return self.numbers
        values = (*self.levels, None)  # the code -1 is the last
        return np.fromiter(values, object, len(values))[self.numbers]

    @property
    def has_missing(self) -> bool:
        return self.levels is not None and bool((self.numbers == MISSING).any())

    @property
    def has_lists(self) -> bool:
        return self.levels is None and self.numbers.dtype == OBJECT

    def fits(self, dtype: np.dtype) -> bool:
        """Return whether a type holds the values as they are; one of real numbers may round them."""
        if self.levels is not None:
            return dtype.kind not in "iubUST" or not self.has_missing
        kind = self.numbers.dtype.kind
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            return kind != "f" and limits.min <= self.numbers.min() and self.numbers.max() <= limits.max
        return dtype.kind == "f" or (dtype.kind == "b" and kind == "b")

    def dtype_like(self, dtype: np.dtype) -> np.dtype:
        """Return a type where it holds the values, else one that does."""
        if self.fits(dtype):
            return dtype
        if self.levels is None:
            return self.numbers.dtype
        return np.dtype(float) if dtype.kind in "iu" else OBJECT


@dataclass(frozen=True, eq=False)
class DrawnColumns:
    """Columns that were drawn together, `(r, f)`, CSR for a sparse table: numbers, or codes of each one's levels."""

    places: Sequence[int]
    cells: Any
    levels: Sequence[Sequence[Any]] = ()

    def columns(self) -> Iterator[tuple[int, Column]]:
        """Yield each column with its place in the table."""
        for j, place in enumerate(self.places):
            yield place, Column(self.cells[:, j], self.levels[j] if self.levels else None)


def in_place(parts: Sequence[DrawnColumns]) -> list[tuple[int, Column]]:
    """Return all columns, in the table's order."""
    return sorted((column for part in parts for column in part.columns()), key=lambda column: column[0])


class Blank(ABC):
    """What is kept of a table to make others like it: types and names, no row."""

    @staticmethod
    def pack(cells: Array) -> Any:
        """Return drawn cells as they are kept until all are drawn."""
        return cells

    @abstractmethod
    def filled(self, parts: Sequence[DrawnColumns]) -> Any:
        """Return the table of these columns; those that no part has are absent."""

    @abstractmethod
    def recipe(self, places: Collection[int]) -> Recipe:
        """Return the blank as plain values, of which `blank_of` makes it again, to fill columns at these places."""


@dataclass(frozen=True, eq=False)
class ArrayBlank(Blank):
    """Blank of an array, which has one type for all columns."""

    dtype: np.dtype

    def recipe(self, places: Collection[int]) -> Recipe:
        return {"kind": "array", "type": encode_numpy(self.dtype)}

    def filled(self, parts: Sequence[DrawnColumns]) -> Array:
        columns = [column for _, column in in_place(parts)]
        dtypes = [self.dtype] if self.dtype == OBJECT else [column.dtype_like(self.dtype) for column in columns]
        table = np.empty((len(columns[0].numbers), len(columns)), np.result_type(*dtypes))
        for j, column in enumerate(columns):
            table[:, j] = column.values
        return table


@dataclass(frozen=True, eq=False)
class DocumentsBlank(Blank):
    """Blank of a list of lists of words, which has no types to be kept."""

    def recipe(self, places: Collection[int]) -> Recipe:
        return {"kind": "documents"}

    def filled(self, parts: Sequence[DrawnColumns]) -> list[list[Any]]:
        ((_, column),) = in_place(parts)
        return column.values.tolist()


@dataclass(frozen=True, eq=False)
class SparseBlank(Blank):
    """Blank of a sparse table: CSR, as a matrix or an array."""

    is_matrix: bool
    dtype: np.dtype

    def recipe(self, places: Collection[int]) -> Recipe:
        return {"kind": "sparse", "is_matrix": bool(self.is_matrix), "type": encode_numpy(self.dtype)}

    @staticmethod
    def pack(cells: Array) -> sparse.csr_array:
        return sparse.csr_array(cells)

    def filled(self, parts: Sequence[DrawnColumns]) -> Any:
        dtypes = [Column(part.cells.data).dtype_like(self.dtype) for part in parts if part.cells.nnz]
        order = np.argsort(np.concatenate([part.places for part in parts]))
        cells = sparse.hstack([part.cells for part in parts], format="csr", dtype=np.result_type(*dtypes, self.dtype))
        table = cells if len(parts) == 1 else cells[:, order]
        return sparse.csr_matrix(table) if self.is_matrix else table


@dataclass(frozen=True, eq=False)
class FrameBlank(Blank):
    """A dataframe's names and types, as narwhals and as its own library know them."""

    names: Any
    kinds: Sequence[nw.dtypes.DType]
    types: Sequence[Any]
    library: Any

    @classmethod
    def of(cls, frame: nw.DataFrame) -> "FrameBlank":
        native, schema = frame.to_native(), frame.schema
        if frame.implementation.is_pandas_like():
            types = native.dtypes.tolist()
        else:
            types = list(native.schema.types if frame.implementation.is_pyarrow() else native.dtypes)
        names = native.columns if frame.implementation.is_pandas_like() else tuple(schema)
        return cls(names, tuple(schema.values()), types, frame.implementation)

    def recipe(self, places: Collection[int]) -> Recipe:
        types = [self._encoded_type(place) if place in places else None for place in range(len(self.types))]
        return {"kind": "frame", "library": self.library.value, "names": encode_names(self.names), "types": types}

    def _encoded_type(self, place: int) -> Any:
        try:
            return encode_type(self.types[place], self.library)
        except UnknownTypeError as error:
            raise ValueError(
                f"column {self.names[place]!r} has {error}, which cannot be saved. Make it a NumPy type, or one of "
                "text or categories, and fit again."
            ) from None

    def filled(self, parts: Sequence[DrawnColumns]) -> Any:
        columns = in_place(parts)
        series = {str(place): self._series(place, column) for place, column in columns}
        frame = nw.from_dict(series).to_native()  # with `backend`, their types would be lost
        names = [self.names[place] for place, _ in columns]
        if not self.library.is_pandas_like():
            return nw.from_native(frame).rename(dict(zip(series, names, strict=True))).to_native()
        frame.columns = self.names[[place for place, _ in columns]]
        return frame

    def _series(self, place: int, column: Column) -> nw.Series:
        """Return a column with the type that it had, where that fits."""
        values = column.values if column.levels is None else column.values.tolist()
        if column.has_lists:
            return self._lists(str(place), values.tolist(), self.types[place])
        series = nw.new_series(str(place), values, backend=self.library)
        kind, levels = self.kinds[place], column.levels
        if (levels is None and plain(kind) == OBJECT) or not column.fits(plain(kind)):
            return series
        native, dtype = series.to_native(), self.types[place]
        if levels is not None and isinstance(dtype, pd.CategoricalDtype):
            dtype = pd.CategoricalDtype(_united(dtype.categories, levels), dtype.ordered)
        elif levels is not None and isinstance(kind, nw.Enum):
            return series.cast(nw.Enum(_united(kind.categories, levels)))
        cast = native.astype if self.library.is_pandas_like() else native.cast
        return nw.from_native(cast(dtype), series_only=True)

    def _lists(self, name: str, values: list[Any], dtype: Any) -> nw.Series:
        """Return a column of lists of any lengths."""
        native = self.library.to_native_namespace()
        if self.library.is_pandas_like():
            return nw.from_native(native.Series(values, dtype=dtype), series_only=True)
        if self.library.is_polars():
            dtype = native.List(dtype.inner) if hasattr(dtype, "inner") else dtype
            return nw.from_native(native.Series(name, values, dtype=dtype), series_only=True)
        dtype = native.list_(dtype.value_type) if str(dtype).startswith("fixed") else dtype
        return nw.from_native(native.chunked_array([values], type=dtype), series_only=True)


def plain(kind: nw.dtypes.DType) -> np.dtype:
    """Return the NumPy type of numbers of a kind; object, if they are none."""
    if kind == nw.Boolean:
        return np.dtype(bool)
    return np.dtype(str(kind).lower()) if kind.is_float() or kind.is_integer() else OBJECT


def _united(categories: Any, levels: Sequence[Any]) -> list[Any]:
    """Return a type's categories, and after them the levels that were learnt besides."""
    return list(dict.fromkeys([*categories, *levels]))


LIBRARIES = {library.value: library for library in (Library.PANDAS, Library.POLARS, Library.PYARROW)}


@dataclass(frozen=True, eq=False)
class UninstalledBlank(Blank):
    """Blank of a dataframe whose library is not installed here: it is kept, but no table can be made."""

    original: Recipe

    def recipe(self, places: Collection[int]) -> Recipe:
        return self.original

    def filled(self, parts: Sequence[DrawnColumns]) -> NoReturn:
        library = self.original["library"]
        raise ImportError(f'the model was learnt from a table of {library}: pip install "{library}".')


def blank_of(recipe: Recipe, width: int) -> Blank:
    """Return the blank of a recipe, for a table of `width` columns."""
    match recipe.get("kind"):
        case "documents":
            return DocumentsBlank()
        case "array":
            return ArrayBlank(decode_numpy(recipe["type"]))
        case "sparse":
            dtype = decode_numpy(recipe["type"])
            if dtype.kind not in "biuf" or type(recipe["is_matrix"]) is not bool:
                raise ValueError("a sparse table has numbers")
            return SparseBlank(recipe["is_matrix"], dtype)
        case "frame":
            return _frame(recipe, width)
        case kind:
            raise ValueError(f"a table of the kind {kind!r:.50} is not known")


def _frame(recipe: Recipe, width: int) -> Blank:
    """Return the blank of a dataframe; the type of a column without a family, which is never filled, is any."""
    name, names, encoded = recipe["library"], decode_names(recipe["names"]), recipe["types"]
    if name not in LIBRARIES or not len(names) == len(encoded) == width:
        raise ValueError("a frame has a library, and as many names and types as columns")
    library = LIBRARIES[name]
    try:
        native = library.to_native_namespace()
        anything = object if library.is_pandas() else native.Null if library.is_polars() else native.null()
        types = [anything if dtype is None else decode_type(dtype, library) for dtype in encoded]
    except ImportError:
        return UninstalledBlank(recipe)
    if library.is_pyarrow():
        frame = native.schema(list(zip(names, types, strict=True))).empty_table()
    elif library.is_polars():
        frame = native.DataFrame(schema=dict(zip(names, types, strict=True)))
    else:
        frame = native.DataFrame({place: native.Series([], dtype=dtype) for place, dtype in enumerate(types)})
        frame.columns = names
    return FrameBlank.of(nw.from_native(frame, eager_only=True))
