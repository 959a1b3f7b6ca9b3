"""What is kept of a table to make others like it, as plain values and back: a recipe is what a file holds of it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import narwhals as nw

from bayesnb.data.blank_tables import ArrayBlank, Blank, FrameBlank, Part, Recipe, SparseBlank
from bayesnb.data.documents import DocumentsBlank
from bayesnb.data.types import Library, names_of, numpy_of, type_of

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
    if kind not in KINDS:
        raise ValueError(f"a table of the kind {kind!r:.50} is not known")
    return KINDS[kind](recipe, width)


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


KINDS: dict[str, Callable[[Recipe, int], Blank]] = {
    "documents": lambda recipe, width: DocumentsBlank(),
    "array": lambda recipe, width: ArrayBlank(numpy_of(recipe["type"])),
    "sparse": _sparse,
    "frame": _frame,
}
