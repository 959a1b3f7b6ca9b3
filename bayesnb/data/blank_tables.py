"""Tables like those that were learnt from: what is kept of one, its types and names but no row, and how it is filled.

A column keeps its type where that can hold what was drawn. Real numbers in a column of integers become floats, a
count that is too large for its type makes it wider, and a missing cell among integers makes them floats.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from bayesnb.data.types import (
    Library,
    UnknownTypeError,
    names_of,
    names_said,
    numpy_of,
    numpy_said,
    type_of,
    type_said,
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
        every = (*self.levels, None)  # the code -1 is the last
        return np.fromiter(every, object, len(every))[self.numbers]

    @property
    def has_missing(self) -> bool:
        return self.levels is not None and bool((self.numbers == MISSING).any())

    @property
    def has_lists(self) -> bool:
        return self.levels is None and self.numbers.dtype == OBJECT

    def fits(self, dtype: np.dtype) -> bool:
        """Whether a type holds the values as they are; one of real numbers may round them."""
        if self.levels is not None:
            return dtype.kind not in "iubUST" or not self.has_missing
        own = self.numbers.dtype.kind
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            return own != "f" and limits.min <= self.numbers.min() and self.numbers.max() <= limits.max
        return dtype.kind == "f" or (dtype.kind == "b" and own == "b")

    def dtype_like(self, dtype: np.dtype) -> np.dtype:
        """The type itself where it fits, else one that does."""
        if self.fits(dtype):
            return dtype
        if self.levels is None:
            return self.numbers.dtype
        return np.dtype(float) if dtype.kind in "iu" else OBJECT


@dataclass(frozen=True, eq=False)
class Part:
    """Columns that were drawn together, `(r, f)`, CSR for a sparse table: numbers, or codes of each one's levels."""

    places: Sequence[int]
    cells: Any
    levels: Sequence[Sequence[Any]] = ()

    def columns(self) -> Iterator[tuple[int, Column]]:
        """Each column and its place in the table."""
        for j, place in enumerate(self.places):
            yield place, Column(self.cells[:, j], self.levels[j] if self.levels else None)


def in_place(parts: Sequence[Part]) -> list[tuple[int, Column]]:
    """All columns, in the table's order."""
    return sorted((column for part in parts for column in part.columns()), key=lambda column: column[0])


class Blank(ABC):
    """What is kept of a table to make others like it: types and names, no row."""

    @staticmethod
    def pack(cells: Array) -> Any:
        """Cells as they are kept until all are drawn."""
        return cells

    @abstractmethod
    def filled(self, parts: Sequence[Part]) -> Any:
        """The table; columns that no part has are absent."""

    @abstractmethod
    def recipe(self, places: Collection[int]) -> Recipe:
        """It as plain values, of which `recipes.blank_of` makes it again, to fill columns at these places."""


@dataclass(frozen=True, eq=False)
class ArrayBlank(Blank):
    """An array has one type for all columns."""

    dtype: np.dtype

    def recipe(self, places: Collection[int]) -> Recipe:
        return {"kind": "array", "type": numpy_said(self.dtype)}

    def filled(self, parts: Sequence[Part]) -> Array:
        columns = [column for _, column in in_place(parts)]
        dtypes = [self.dtype] if self.dtype == OBJECT else [column.dtype_like(self.dtype) for column in columns]
        table = np.empty((len(columns[0].numbers), len(columns)), np.result_type(*dtypes))
        for j, column in enumerate(columns):
            table[:, j] = column.values
        return table


@dataclass(frozen=True, eq=False)
class DocumentsBlank(Blank):
    """A list of lists of words has no types to be kept."""

    def recipe(self, places: Collection[int]) -> Recipe:
        return {"kind": "documents"}

    def filled(self, parts: Sequence[Part]) -> list[list[Any]]:
        ((_, column),) = in_place(parts)
        return column.values.tolist()


@dataclass(frozen=True, eq=False)
class SparseBlank(Blank):
    """CSR, as a matrix or an array."""

    is_matrix: bool
    dtype: np.dtype

    def recipe(self, places: Collection[int]) -> Recipe:
        return {"kind": "sparse", "is_matrix": bool(self.is_matrix), "type": numpy_said(self.dtype)}

    @staticmethod
    def pack(cells: Array) -> sparse.csr_array:
        return sparse.csr_array(cells)

    def filled(self, parts: Sequence[Part]) -> Any:
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
        types = [self._type_said(place) if place in places else None for place in range(len(self.types))]
        return {"kind": "frame", "library": self.library.value, "names": names_said(self.names), "types": types}

    def _type_said(self, place: int) -> Any:
        try:
            return type_said(self.types[place], self.library)
        except UnknownTypeError as error:
            raise ValueError(
                f"column {self.names[place]!r} has {error}, which cannot be saved. Make it a NumPy type, or one of "
                "text or categories, and fit again."
            ) from None

    def filled(self, parts: Sequence[Part]) -> Any:
        columns = in_place(parts)
        series = {str(place): self._series(place, column) for place, column in columns}
        frame = nw.from_dict(series).to_native()  # with `backend`, their types would be lost
        names = [self.names[place] for place, _ in columns]
        if not self.library.is_pandas_like():
            return nw.from_native(frame).rename(dict(zip(series, names, strict=True))).to_native()
        frame.columns = self.names[[place for place, _ in columns]]
        return frame

    def _series(self, place: int, column: Column) -> nw.Series:
        """A column of the type that it had, where that fits."""
        values = column.values if column.levels is None else column.values.tolist()
        if column.has_lists:
            return self._lists(str(place), values.tolist(), self.types[place])
        series = nw.new_series(str(place), values, backend=self.library)
        kind, levels = self.kinds[place], column.levels
        if (levels is None and plain(kind) == OBJECT) or not column.fits(plain(kind)):
            return series
        native, own = series.to_native(), self.types[place]
        if levels is not None and isinstance(own, pd.CategoricalDtype):
            own = pd.CategoricalDtype(_united(own.categories, levels), own.ordered)
        elif levels is not None and isinstance(kind, nw.Enum):
            return series.cast(nw.Enum(_united(kind.categories, levels)))
        cast = native.astype if self.library.is_pandas_like() else native.cast
        return nw.from_native(cast(own), series_only=True)

    def _lists(self, name: str, values: list[Any], own: Any) -> nw.Series:
        """A column of lists, whose lengths are their own."""
        native = self.library.to_native_namespace()
        if self.library.is_pandas_like():
            return nw.from_native(native.Series(values, dtype=own), series_only=True)
        if self.library.is_polars():
            own = native.List(own.inner) if hasattr(own, "inner") else own
            return nw.from_native(native.Series(name, values, dtype=own), series_only=True)
        own = native.list_(own.value_type) if str(own).startswith("fixed") else own
        return nw.from_native(native.chunked_array([values], type=own), series_only=True)


def plain(kind: nw.dtypes.DType) -> np.dtype:
    """The NumPy type of such numbers; object, if they are none."""
    if kind == nw.Boolean:
        return np.dtype(bool)
    return np.dtype(str(kind).lower()) if kind.is_float() or kind.is_integer() else OBJECT


def _united(categories: Any, levels: Sequence[Any]) -> list[Any]:
    """A type's categories, and the levels that were learnt beside them."""
    return list(dict.fromkeys([*categories, *levels]))


LIBRARIES = {library.value: library for library in (Library.PANDAS, Library.POLARS, Library.PYARROW)}


@dataclass(frozen=True, eq=False)
class Wanting(Blank):
    """Of a dataframe whose library is not installed here: it is kept, but no table can be made."""

    own: Recipe
    library: str

    def recipe(self, places: Collection[int]) -> Recipe:
        return self.own

    def filled(self, parts: Sequence[Part]) -> NoReturn:
        raise ImportError(f'the model was learnt from a table of {self.library}: pip install "{self.library}".')


def blank_of(recipe: Recipe, width: int) -> Blank:
    """What a recipe is of: a table of so many columns."""
    kind = recipe.get("kind")
    if kind not in BLANKS:
        raise ValueError(f"a table of the kind {kind!r:.50} is not known")
    return BLANKS[kind](recipe, width)


def _sparse(recipe: Mapping[str, Any], width: int) -> Blank:
    dtype = numpy_of(recipe["type"])
    if dtype.kind not in "biuf" or type(recipe["is_matrix"]) is not bool:
        raise ValueError("a sparse table has numbers")
    return SparseBlank(recipe["is_matrix"], dtype)


def _frame(recipe: Recipe, width: int) -> Blank:
    name, names, said = recipe["library"], names_of(recipe["names"]), recipe["types"]
    if name not in LIBRARIES or not len(names) == len(said) == width:
        raise ValueError("a frame has a library, and as many names and types as columns")
    library = LIBRARIES[name]
    try:
        native = library.to_native_namespace()
        types = [_any_type(native, library) if own is None else type_of(own, library) for own in said]
    except ImportError:
        return Wanting(recipe, name)
    return FrameBlank.of(nw.from_native(_empty(native, library, names, types), eager_only=True))


def _any_type(native: Any, library: Library) -> Any:
    """That of a column without a family, which is never filled."""
    return object if library.is_pandas() else native.Null if library.is_polars() else native.null()


def _empty(native: Any, library: Library, names: Any, types: Sequence[Any]) -> Any:
    """A frame without rows."""
    if library.is_pyarrow():
        return native.schema(list(zip(names, types, strict=True))).empty_table()
    if library.is_polars():
        return native.DataFrame(schema=dict(zip(names, types, strict=True)))
    frame = native.DataFrame({place: native.Series([], dtype=own) for place, own in enumerate(types)})
    frame.columns = names
    return frame


BLANKS: dict[str, Callable[[Recipe, int], Blank]] = {
    "documents": lambda recipe, width: DocumentsBlank(),
    "array": lambda recipe, width: ArrayBlank(numpy_of(recipe["type"])),
    "sparse": _sparse,
    "frame": _frame,
}
