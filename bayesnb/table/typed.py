"""Tables whose columns have types of their own: Parquet, Arrow and Feather, JSON lines.

Dates become levels, as text; decimals become floats; lists, records and raw bytes are refused where they are asked for.
"""

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from types import ModuleType
from typing import Any

import pandas as pd

from bayesnb.table.kinds import Look, text_of
from bayesnb.table.records import check_names
from bayesnb.table.sheets import MOST_ROWS, NO_ROWS, Batch, Sheet, cast, framed, kind_of_type

HIDDEN = "__index_level_0__"  # an index without a name, as pandas writes it
BITS = (8, 16, 32, 64)
NULLABLE = {"bool": "boolean"} | {f"{sign}int{bits}": f"{sign.upper()}Int{bits}" for sign in ("", "u") for bits in BITS}


class TypedSheet(Sheet):
    """A table of which each batch has types."""

    @abstractmethod
    def frames(self, rows: int) -> Iterator[pd.DataFrame]:
        """The rows, at most so many at a time, as they are."""

    @cached_property
    @abstractmethod
    def refused(self) -> dict[str, str]:
        """Columns whose cells are no plain values, and what they hold."""

    @cached_property
    def looks(self) -> dict[str, Look]:
        empty = next(iter(self.frames(1)), None)
        if empty is None:
            raise ValueError(f"{self.name}: {NO_ROWS}")
        return {name: Look(kind_of_type(empty[name]), 1, is_plain=name not in self.refused) for name in self.columns}

    def batches(self, kinds: Mapping[str, str], rows: int = MOST_ROWS) -> Iterator[Batch]:
        start = 0
        for frame in self.frames(self.most(rows)):
            series = {name: self._cast(name, frame[name], kind) for name, kind in kinds.items()}
            yield Batch(start, framed(series, len(frame)), frame)
            start += len(frame)
        if not start:
            raise ValueError(f"{self.name}: {NO_ROWS}")

    def _cast(self, name: str, series: pd.Series, kind: str) -> pd.Series:
        if name in self.refused:
            raise ValueError(
                f"{self.name}: column {name!r} holds {self.refused[name]}; make it numbers or text, or leave it out."
            )
        return cast(f"{self.name}, column {name!r}", series, kind, self.reader)


class ArrowSheet(TypedSheet):
    """Parquet, and Arrow's own two formats, of which one is Feather."""

    @cached_property
    def _open(self) -> Any:
        with self._told():
            return self._opened()

    def _opened(self) -> Any:
        stream = self.source.open()
        if self.source.format == "parquet":
            return pyarrow("parquet").ParquetFile(stream)
        ipc = pyarrow("ipc")
        return ipc.open_file(stream) if self.source.head.startswith(b"ARROW1") else ipc.open_stream(stream)

    @property
    def _schema(self) -> Any:
        return self._open.schema_arrow if self.source.format == "parquet" else self._open.schema

    @cached_property
    def looks(self) -> dict[str, Look]:
        temporal = {own.name for own in self._schema if pyarrow().types.is_temporal(own.type)}
        return {name: replace(look, dates=name in temporal) for name, look in super().looks.items()}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        names = [name for name in self._schema.names if name != HIDDEN]
        check_names(self.name, names)
        return tuple(names)

    @cached_property
    def refused(self) -> dict[str, str]:
        types = pyarrow().types
        odd = (types.is_duration, types.is_nested, types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
        return {own.name: str(own.type) for own in self._schema if any(is_such(own.type) for is_such in odd)}

    def _told(self) -> "Telling":
        return Telling(self.name)

    def _batches(self, rows: int) -> Iterator[Any]:
        file = self._opened()  # a stream is read from its beginning
        if self.source.format == "parquet":
            yield from file.iter_batches(batch_size=rows)
        elif hasattr(file, "num_record_batches"):
            yield from (file.get_batch(place) for place in range(file.num_record_batches))
        else:
            yield from file

    def frames(self, rows: int) -> Iterator[pd.DataFrame]:
        with self._told():
            for batch in self._batches(rows):
                for start in range(0, len(batch), rows):
                    yield self._frame(batch.slice(start, rows))

    def _frame(self, batch: Any) -> pd.DataFrame:
        pa = pyarrow()
        columns = [self._plain(name, batch.column(batch.schema.get_field_index(name))) for name in self.columns]
        frame = pa.table(columns, names=list(self.columns)).to_pandas(integer_object_nulls=True)
        own = {name: str(column.type) for name, column in zip(self.columns, columns, strict=True)}
        holes = {name: NULLABLE[own[name]] for name in self.columns if own[name] in NULLABLE}
        return frame.astype({name: kind for name, kind in holes.items() if frame[name].dtype == object})

    def _plain(self, name: str, column: Any) -> Any:
        """Arrow's column as one that pandas has a plain type for."""
        pa = pyarrow()
        types, own = pa.types, column.type
        if name in self.refused:
            return column
        if types.is_temporal(own):
            return pyarrow("compute").replace_substring_regex(column.cast(pa.string()), r"\.0+([+-].*|Z)?$", r"\1")
        if types.is_decimal(own) or types.is_null(own) or types.is_float16(own):
            return column.cast(pa.float64())
        return column


class Telling:
    """Names the file in Arrow's errors."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None and kind.__module__.startswith("pyarrow") and not isinstance(error, MemoryError):
            said = str(error).strip().splitlines()
            raise ValueError(f"{self.name}: it cannot be read: {said[0] if said else kind.__name__}") from error


def pyarrow(part: str = "") -> ModuleType:
    """Arrow, which is no need of whoever has text."""
    try:
        from importlib import import_module

        return import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError:
        raise ImportError('Parquet and Arrow files need pyarrow: pip install "bayesnb[scale]".') from None


class JsonSheet(TypedSheet):
    """JSON lines: one object a line, whose keys are the columns; a key that is left out is a missing cell."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._whole)

    @cached_property
    def looks(self) -> dict[str, Look]:
        return {
            str(name): Look(kind_of_type(series), 1, is_plain=name not in self.refused)
            for name, series in self._whole.items()
        }

    @cached_property
    def refused(self) -> dict[str, str]:
        objects = {str(name): series for name, series in self._whole.items() if series.dtype == object}
        return dict.fromkeys(objects, "lists or objects")

    @cached_property
    def _whole(self) -> pd.DataFrame:
        self.source.refuse_too_large()
        rows = list(self._objects())
        names = list(dict.fromkeys(name for row in rows for name in row))
        if not rows:
            raise ValueError(f"{self.name}: {NO_ROWS.replace('a header and ', '')}")
        check_names(self.name, names)
        return framed({name: column([row.get(name) for row in rows]) for name in names}, len(rows))

    def _objects(self) -> Iterator[dict[str, Any]]:
        with self.source.open() as stream:
            for line, text in enumerate(stream, 1):
                if not text.strip():
                    continue
                try:
                    row = json.loads(text.removeprefix(b"\xef\xbb\xbf"))
                except ValueError as error:
                    raise ValueError(f"{self.name}, line {line}: it is no JSON: {error}.") from None
                if not isinstance(row, dict):
                    raise ValueError(f'{self.name}, line {line}: it is no object, such as {{"age": 3}}, one a line.')
                yield row

    def frames(self, rows: int) -> Iterator[pd.DataFrame]:
        for start in range(0, len(self._whole), rows):
            yield self._whole.iloc[start : start + rows].reset_index(drop=True)


def column(values: list[Any]) -> pd.Series:
    """Values of JSON as a column of one type: of several types, as text."""
    there = [value for value in values if value is not None]
    kinds = {type(value) for value in there}
    if kinds & {dict, list}:
        return pd.Series(values, dtype=object)
    if kinds == {int} and all(abs(value) < 1 << 63 for value in there):
        return pd.Series(values, dtype="int64" if len(there) == len(values) else "Int64")
    if kinds <= {int, float} and kinds != {int}:
        return pd.Series(values, dtype=float)
    if kinds == {bool}:
        return pd.Series(values, dtype=bool if len(there) == len(values) else "boolean")
    return pd.Series([None if value is None else text_of(value) for value in values], dtype=str)
