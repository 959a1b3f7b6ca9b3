"""Tables of one column, whose cells are lists of words: a list of such lists, or an array of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import narwhals as nw
import numpy as np

from bayesnb.data.blank_tables import Blank, Part, Recipe, in_place
from bayesnb.data.containers import ArrayTable
from bayesnb.data.lists import LISTS, are_texts, first_list

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class DocumentsBlank(Blank):
    """A list of lists of words has no types to be kept."""

    def recipe(self, places: Collection[int]) -> Recipe:
        return {"kind": "documents"}

    def filled(self, parts: Sequence[Part]) -> list[list[Any]]:
        ((_, column),) = in_place(parts)
        return column.values.tolist()


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
    """A series whose cells are lists, as a list of them; anything else as it is."""
    if not nw.dependencies.is_into_series(x):
        return x
    cells = nw.from_native(x, series_only=True).to_list()
    return cells if first_list(cells) is not None else x


def are_documents(x: Any, declared: bool) -> bool:
    """Whether rows are lists of words, and no cells side by side.

    They are if they are lists of texts of different lengths, or if it is `declared` that a row is one list.
    """
    if (isinstance(x, np.ndarray) and (x.ndim > 1 or x.dtype != object)) or not isinstance(x, LISTS):
        return False
    if not len(x) or not all(isinstance(row, LISTS) and (type(row) is not np.ndarray or row.ndim == 1) for row in x):
        return False
    return are_texts(chain.from_iterable(x)) and (declared or len(set(map(len, x))) > 1)
