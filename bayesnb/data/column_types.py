"""Types of columns that their library has and NumPy has not: made plain where a table is opened, or refused."""

from collections.abc import Hashable
from typing import Any

import narwhals as nw
import pandas as pd

WIDE_INTEGERS = (nw.Int128, nw.UInt128)
TEXT_TYPES = ("string", "large_string", "string_view")


def with_plain_types(frame: nw.DataFrame) -> nw.DataFrame:
    """Return a frame without wide integers, which are narrowed, and without runs of Arrow, which are unpacked."""
    if frame.implementation.is_pyarrow():
        native = frame.to_native()
        for place, name in enumerate(native.column_names):
            column = plain_arrow(name, native.column(place))
            if column is not native.column(place):
                native = native.set_column(place, name, column)
        return nw.from_native(native, eager_only=True)
    wide = [name for name, dtype in frame.schema.items() if dtype in WIDE_INTEGERS]
    return frame.with_columns(*[_narrow(frame[name]) for name in wide]) if wide else frame


def _narrow(column: nw.Series) -> nw.Series:
    """Return integers of 128 bits as such of 64 if these hold them, else as floats."""
    cells = column.drop_nulls()
    fits = not len(cells) or (cells.min() >= -(1 << 63) and cells.max() < 1 << 63)
    return column.cast(nw.Int64 if fits else nw.Float64)


def plain_arrow(name: Hashable, column: Any) -> Any:
    """Return a column of Arrow without runs; one whose dictionary holds no text is an error."""
    kind = str(column.type)
    if kind.startswith("run_end_encoded<"):
        import pyarrow.compute as pc

        return plain_arrow(name, pc.run_end_decode(column))
    if kind.startswith("dictionary<") and str(column.type.value_type) not in TEXT_TYPES:
        value = column.type.value_type
        raise ValueError(
            f"column {name!r} is an Arrow dictionary of {value}, which has levels only if they are text. Make it "
            f"numbers, column.cast(pyarrow.{'int64' if str(value).startswith(('int', 'uint')) else 'float64'}()), or "
            "levels, by a dictionary of strings."
        )
    return column


def plain_pandas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of pandas whose columns of Arrow are of types that pandas and a file can take."""
    import pyarrow as pa

    plain = frame.copy(deep=False)
    for place, (name, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        if not isinstance(dtype, pd.ArrowDtype):
            continue
        column = plain_arrow(name, pa.chunked_array(pa.array(frame.iloc[:, place])))
        kind = str(column.type)
        if kind == "string_view":
            column = column.cast(pa.large_string())
        elif kind.startswith("decimal"):
            column = column.cast(pa.float64())
        if column.type != dtype.pyarrow_dtype:
            plain.isetitem(place, pd.Series(pd.arrays.ArrowExtensionArray(column), frame.index))
    return plain
