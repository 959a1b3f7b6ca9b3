"""Types of columns, and names of columns, as plain values that a file can hold. What a type means is looked up here."""

import re
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

Library = nw.Implementation
NUMPY = re.compile(r"[<>|][biuf][1248]|\|O|[<>]U[1-9]\d{0,5}|\|S[1-9]\d{0,5}")
STRINGS = np.dtypes.StringDType()
MASKED = {
    str(kind()): kind
    for kind in (
        *(pd.Int8Dtype, pd.Int16Dtype, pd.Int32Dtype, pd.Int64Dtype),
        *(pd.UInt8Dtype, pd.UInt16Dtype, pd.UInt32Dtype, pd.UInt64Dtype),
        *(pd.Float32Dtype, pd.Float64Dtype, pd.BooleanDtype),
    )
}
WHOLE = tuple(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
POLARS = (*WHOLE, "Float32", "Float64", "Boolean", "String", "Categorical", "Object", "Null")
TEXTS = ("string", "large_string", "string_view")
ARROW = (*map(str.lower, WHOLE), "halffloat", "float", "double", "bool", *TEXTS, "null")
STORAGES = ("python", "pyarrow")
MISSING = {"NA": pd.NA, "nan": np.nan}


class UnknownTypeError(ValueError):
    """A type that no file can hold."""


def numpy_said(dtype: np.dtype) -> str:
    """A NumPy type."""
    if dtype.kind == "T" and dtype == STRINGS:
        return "strings"
    if not NUMPY.fullmatch(dtype.str):
        raise UnknownTypeError(f"the type {dtype}")
    return dtype.str


def numpy_of(said: Any) -> np.dtype:
    """The type that `numpy_said` says."""
    if said == "strings":
        return STRINGS
    if not (isinstance(said, str) and NUMPY.fullmatch(said)):
        raise UnknownTypeError(f"the type {said!r:.50}")
    return np.dtype(said)


def type_said(dtype: Any, library: Library) -> Any:
    """A column's own type, by its library."""
    if library.is_pandas():
        return _pandas_said(dtype)
    if library.is_pyarrow():
        return _arrow_said(dtype)
    return _polars_said(dtype) if library.is_polars() else _among((), f"{dtype} of {library.value}")


def type_of(said: Any, library: Library) -> Any:
    """The type that `type_said` says; the library is imported, or missing."""
    if library.is_pandas():
        return _pandas_of(said)
    return _polars_of(said) if library.is_polars() else _arrow_of(said)


def _pandas_said(dtype: Any) -> Any:
    if isinstance(dtype, pd.CategoricalDtype):
        own = dtype.categories
        said = None if own is None else {"values": own.tolist(), "type": _pandas_said(own.dtype)}
        return {"categories": said, "ordered": bool(dtype.ordered)}
    if isinstance(dtype, pd.StringDtype):
        missing = "NA" if dtype.na_value is pd.NA else "nan"
        return {"string": _among(STORAGES, dtype.storage), "missing": missing}
    if isinstance(dtype, pd.ArrowDtype):
        return {"arrow": _arrow_said(dtype.pyarrow_dtype)}
    return str(dtype) if str(dtype) in MASKED else numpy_said(_only(np.dtype, dtype))


def _pandas_of(said: Any) -> Any:
    if not isinstance(said, dict):
        return MASKED[said]() if said in MASKED else _unsized(numpy_of(said))
    if set(said) == {"categories", "ordered"}:
        own = said["categories"]
        categories = None if own is None else pd.Index(own["values"], dtype=_pandas_of(own["type"]))
        return pd.CategoricalDtype(categories, _only(bool, said["ordered"]))
    if set(said) == {"string", "missing"}:
        return pd.StringDtype(_among(STORAGES, said["string"]), MISSING[said["missing"]])
    if set(said) == {"arrow"}:
        return pd.ArrowDtype(_arrow_of(said["arrow"]))
    raise UnknownTypeError(f"the type {said!r:.50}")


def _unsized(dtype: np.dtype) -> np.dtype:
    """The type, unless it is one of texts of a fixed length, which no column of pandas has."""
    if dtype.kind in "US":
        raise UnknownTypeError(f"the type {dtype} of a column of pandas")
    return dtype


def _polars_said(dtype: Any) -> Any:
    if str(dtype).startswith("List("):
        return {"list": _polars_said(dtype.inner)}
    if hasattr(dtype, "categories") and str(dtype).startswith("Enum("):
        return {"enum": dtype.categories.to_list()}
    return _among(POLARS, str(dtype))


def _polars_of(said: Any) -> Any:
    polars = Library.POLARS.to_native_namespace()
    if isinstance(said, dict) and set(said) == {"list"}:
        return polars.List(_polars_of(said["list"]))
    if isinstance(said, dict) and set(said) == {"enum"}:
        return polars.Enum(said["enum"])
    return getattr(polars, _among(POLARS, said))


def _arrow_said(dtype: Any) -> Any:
    if str(dtype).startswith(("list<", "large_list<")):
        return {str(dtype).partition("<")[0]: _arrow_said(dtype.value_type)}
    if str(dtype).startswith("dictionary<"):
        parts = _among(ARROW, str(dtype.index_type)), _among(TEXTS, str(dtype.value_type))
        return {"dictionary": list(parts), "ordered": dtype.ordered}
    return _among(ARROW, str(dtype))


def _arrow_of(said: Any) -> Any:
    arrow = Library.PYARROW.to_native_namespace()
    if isinstance(said, dict) and set(said) == {"dictionary", "ordered"}:
        index, value = map(_arrow_of, said["dictionary"])
        return arrow.dictionary(index, value, _only(bool, said["ordered"]))
    if isinstance(said, dict) and set(said) in ({"list"}, {"large_list"}):
        ((kind, inner),) = said.items()
        return (arrow.list_ if kind == "list" else arrow.large_list)(_arrow_of(inner))
    return arrow.type_for_alias(_among(ARROW, said))


def _among(known: Sequence[str], said: Any) -> str:
    if said not in known:
        raise UnknownTypeError(f"the type {said!s:.50}")
    return said


def _only(kind: type, said: Any) -> Any:
    if not isinstance(said, kind):
        raise UnknownTypeError(f"the type {said!s:.50}")
    return said


def names_said(names: Any) -> Any:
    """Names of columns: an index of pandas, or a tuple."""
    if isinstance(names, pd.RangeIndex):
        return {"range": [names.start, names.stop, names.step], "name": names.name}
    if isinstance(names, pd.MultiIndex):
        return {"tuples": names.tolist(), "names": list(names.names)}
    if isinstance(names, pd.Index):
        return {"values": names.tolist(), "type": _pandas_said(names.dtype), "name": names.name}
    return list(names)


def names_of(said: Any) -> Any:
    """The names that `names_said` says."""
    if isinstance(said, list):
        return tuple(said)
    if set(said) == {"range", "name"}:
        return pd.RangeIndex(*said["range"], name=said["name"])
    if set(said) == {"tuples", "names"}:
        if any(len(name) != len(said["names"]) for name in said["tuples"]):
            raise UnknownTypeError("names of columns in several parts, which have not as many parts each")
        return pd.MultiIndex.from_tuples(said["tuples"], names=said["names"])
    return pd.Index(said["values"], dtype=_pandas_of(said["type"]), name=said["name"])
