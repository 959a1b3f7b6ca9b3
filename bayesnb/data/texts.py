"""Columns of text as codes, by their own library: no cell becomes a Python object.

Arrow's dictionaries and the categoricals of pandas and polars have codes already; other text is given some.
"""

from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

Array = np.ndarray
Texts = tuple[Array, list[str]]  # where each cell's text stands among the distinct ones, -1 if it is missing
KINDS = ("string", "large_string", "string_view")


def coded_text(column: Any) -> Texts | None:
    """The codes of a column of text, and the texts that occur, each once; None for any other column."""
    column = nw.to_native(column, pass_through=True)
    if isinstance(column, pd.Series):
        return _of_pandas(column)
    if nw.dependencies.is_polars_series(column):
        return _of_polars(column)
    arrow = nw.dependencies.get_pyarrow()
    return _of_arrow(column) if arrow and isinstance(column, arrow.ChunkedArray | arrow.Array) else None


def _of_pandas(column: pd.Series) -> Texts | None:
    own = column.dtype
    if isinstance(own, pd.CategoricalDtype) and isinstance(own.categories.dtype, pd.StringDtype):
        return among_all([(column.cat.codes.to_numpy(), own.categories)])
    if not isinstance(own, pd.StringDtype):
        return None
    codes, found = column.factorize()
    return codes, found.tolist()


def _of_arrow(column: Any) -> Texts | None:
    own = column.type
    has_codes = str(own).startswith("dictionary<")
    if str(own.value_type if has_codes else own) not in KINDS:
        return None
    coded = column if has_codes else column.dictionary_encode()
    return among_all(map(_dictionary, coded.chunks if hasattr(coded, "chunks") else [coded]))


def _dictionary(chunk: Any) -> tuple[Array, Any]:
    """Its codes and its texts, of which one may be missing, some not occur, and some stand twice."""
    codes = chunk.indices.cast("int64").fill_null(-1) if chunk.indices.null_count else chunk.indices
    return codes.to_numpy(zero_copy_only=False), chunk.dictionary.cast("large_string")


def _of_polars(column: Any) -> Texts | None:
    series = nw.from_native(column, series_only=True)
    if series.dtype not in (nw.String, nw.Categorical, nw.Enum):
        return None
    coded = series.cast(nw.Categorical).to_native() if series.dtype == nw.String else column
    texts = coded.drop_nulls().unique()
    own, codes = texts.to_physical().to_numpy().astype(np.int64), coded.to_physical()
    places = np.full(int(own.max(initial=-1)) + 2, -1, np.int32)  # the last is that of a missing cell
    places[own] = np.arange(len(own))
    return places[codes.cast(int).fill_null(-1).to_numpy()], texts.to_list()


def among_all(parts: Iterable[tuple[Array, Any]]) -> Texts:
    """The codes of parts, each of which has texts of its own, among all texts that occur."""
    known: dict[str, int] = {}
    codes = [_recoded(own, texts, known) for own, texts in parts]
    return codes[0] if len(codes) == 1 else np.concatenate([np.empty(0, np.int32), *codes]), list(known)


def _recoded(codes: Array, texts: Any, known: dict[str, int]) -> Array:
    """Codes among the known texts, which those that occur here join."""
    seen = np.zeros(len(texts) + 1, bool)  # the last is that of a missing cell
    seen[codes] = True
    used = np.flatnonzero(seen[:-1])
    places = np.full(len(seen), -1, np.int32)
    places[used] = [-1 if text is None else known.setdefault(text, len(known)) for text in texts.take(used).tolist()]
    return codes if np.array_equal(places[:-1], np.arange(len(texts))) else places[codes]
