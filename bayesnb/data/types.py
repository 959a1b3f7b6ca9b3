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


def encode_numpy(dtype: np.dtype) -> str:
    """Return a NumPy type as a plain value."""
    if dtype.kind == "T" and dtype == STRINGS:
        return "strings"
    if not NUMPY.fullmatch(dtype.str):
        raise UnknownTypeError(f"the type {dtype}")
    return dtype.str


def decode_numpy(encoded: Any) -> np.dtype:
    """Return the NumPy type that `encode_numpy` encoded."""
    if encoded == "strings":
        return STRINGS
    if not (isinstance(encoded, str) and NUMPY.fullmatch(encoded)):
        raise UnknownTypeError(f"the type {encoded!r:.50}")
    return np.dtype(encoded)


def encode_type(dtype: Any, library: Library) -> Any:
    """Return the type of a column, by its library, as plain values."""
    if library.is_pandas():
        return _encode_pandas(dtype)
    if library.is_pyarrow():
        return _encode_arrow(dtype)
    return _encode_polars(dtype) if library.is_polars() else _among((), f"{dtype} of {library.value}")


def decode_type(encoded: Any, library: Library) -> Any:
    """Return the type that `encode_type` encoded; an ImportError where its library is not installed."""
    if library.is_pandas():
        return _decode_pandas(encoded)
    return _decode_polars(encoded) if library.is_polars() else _decode_arrow(encoded)


def _encode_pandas(dtype: Any) -> Any:
    if isinstance(dtype, pd.CategoricalDtype):
        categories = dtype.categories
        encoded = (
            None if categories is None else {"values": categories.tolist(), "type": _encode_pandas(categories.dtype)}
        )
        return {"categories": encoded, "ordered": bool(dtype.ordered)}
    if isinstance(dtype, pd.StringDtype):
        missing = "NA" if dtype.na_value is pd.NA else "nan"
        return {"string": _among(STORAGES, dtype.storage), "missing": missing}
    if isinstance(dtype, pd.ArrowDtype):
        return {"arrow": _encode_arrow(dtype.pyarrow_dtype)}
    return str(dtype) if str(dtype) in MASKED else encode_numpy(_only(np.dtype, dtype))


def _decode_pandas(encoded: Any) -> Any:
    if not isinstance(encoded, dict):
        return MASKED[encoded]() if encoded in MASKED else _unsized(decode_numpy(encoded))
    if set(encoded) == {"categories", "ordered"}:
        index = encoded["categories"]
        categories = None if index is None else pd.Index(index["values"], dtype=_decode_pandas(index["type"]))
        return pd.CategoricalDtype(categories, _only(bool, encoded["ordered"]))
    if set(encoded) == {"string", "missing"}:
        return pd.StringDtype(_among(STORAGES, encoded["string"]), MISSING[encoded["missing"]])
    if set(encoded) == {"arrow"}:
        return pd.ArrowDtype(_decode_arrow(encoded["arrow"]))
    raise UnknownTypeError(f"the type {encoded!r:.50}")


def _unsized(dtype: np.dtype) -> np.dtype:
    """Return a type, unless it is one of texts of a fixed length, which no column of pandas has."""
    if dtype.kind in "US":
        raise UnknownTypeError(f"the type {dtype} of a column of pandas")
    return dtype


def _encode_polars(dtype: Any) -> Any:
    if str(dtype).startswith("List("):
        return {"list": _encode_polars(dtype.inner)}
    if hasattr(dtype, "categories") and str(dtype).startswith("Enum("):
        return {"enum": dtype.categories.to_list()}
    return _among(POLARS, str(dtype))


def _decode_polars(encoded: Any) -> Any:
    polars = Library.POLARS.to_native_namespace()
    if isinstance(encoded, dict) and set(encoded) == {"list"}:
        return polars.List(_decode_polars(encoded["list"]))
    if isinstance(encoded, dict) and set(encoded) == {"enum"}:
        return polars.Enum(encoded["enum"])
    return getattr(polars, _among(POLARS, encoded))


def _encode_arrow(dtype: Any) -> Any:
    if str(dtype).startswith(("list<", "large_list<")):
        return {str(dtype).partition("<")[0]: _encode_arrow(dtype.value_type)}
    if str(dtype).startswith("dictionary<"):
        parts = _among(ARROW, str(dtype.index_type)), _among(TEXTS, str(dtype.value_type))
        return {"dictionary": list(parts), "ordered": dtype.ordered}
    return _among(ARROW, str(dtype))


def _decode_arrow(encoded: Any) -> Any:
    arrow = Library.PYARROW.to_native_namespace()
    if isinstance(encoded, dict) and set(encoded) == {"dictionary", "ordered"}:
        index, value = map(_decode_arrow, encoded["dictionary"])
        return arrow.dictionary(index, value, _only(bool, encoded["ordered"]))
    if isinstance(encoded, dict) and set(encoded) in ({"list"}, {"large_list"}):
        ((kind, inner),) = encoded.items()
        return (arrow.list_ if kind == "list" else arrow.large_list)(_decode_arrow(inner))
    return arrow.type_for_alias(_among(ARROW, encoded))


def _among(known: Sequence[str], name: Any) -> str:
    if name not in known:
        raise UnknownTypeError(f"the type {name!s:.50}")
    return name


def _only(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise UnknownTypeError(f"the type {value!s:.50}")
    return value


def encode_names(names: Any) -> Any:
    """Return names of columns, an index of pandas or a tuple, as plain values."""
    if isinstance(names, pd.RangeIndex):
        return {"range": [names.start, names.stop, names.step], "name": names.name}
    if isinstance(names, pd.MultiIndex):
        return {"tuples": names.tolist(), "names": list(names.names)}
    if isinstance(names, pd.Index):
        return {"values": names.tolist(), "type": _encode_pandas(names.dtype), "name": names.name}
    return list(names)


def decode_names(encoded: Any) -> Any:
    """Return the names that `encode_names` encoded."""
    if isinstance(encoded, list):
        return tuple(encoded)
    if set(encoded) == {"range", "name"}:
        return pd.RangeIndex(*encoded["range"], name=encoded["name"])
    if set(encoded) == {"tuples", "names"}:
        if any(len(name) != len(encoded["names"]) for name in encoded["tuples"]):
            raise UnknownTypeError("names of columns in several parts, whose numbers of parts differ")
        return pd.MultiIndex.from_tuples(encoded["tuples"], names=encoded["names"])
    return pd.Index(encoded["values"], dtype=_decode_pandas(encoded["type"]), name=encoded["name"])
