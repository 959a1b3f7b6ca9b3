"""Tables whose columns have types of their own: Parquet, Arrow and Feather, JSON lines.

Dates become levels, as text; decimals become floats. Lists of texts are words; other lists, records and raw bytes are
refused where they are asked for.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any

import pandas as pd

from bayesnb.data.column_kinds import Look
from bayesnb.data.records import check_names
from bayesnb.data.sheets import Batch, Sheet, cast, kind_of_type, nothing

HIDDEN = "__index_level_0__"  # an index without a name, as pandas writes it
BUFFER = 1 << 16  # bytes of every column of a Parquet file that are read at once
SMALL = 1 << 23  # bytes of a file whose columns are read whole: a buffer grows to what a damaged page says it has
AGAIN = "If the file is damaged, fetch or write it again."
BITS = (8, 16, 32, 64)
WORDS = "lists of words"
NULLABLE = {"bool": "boolean"} | {f"{sign}int{bits}": f"{sign.upper()}Int{bits}" for sign in ("", "u") for bits in BITS}


class TypedSheet(Sheet):
    """A table of which each batch has types."""

    @abstractmethod
    def frames(self, rows: int, names: Sequence[str], skip: int = 0) -> Iterator[pd.DataFrame]:
        """Some columns, at most so many rows at a time, as they are; without the first ones, of as many as are said."""

    @cached_property
    @abstractmethod
    def refused(self) -> dict[str, str]:
        """Columns whose cells are no plain values, and what they hold."""

    def parts(self, kinds: Mapping[str, str], rows: int, kept: Sequence[str], skip: int = 0) -> Iterator[Batch]:
        start = skip
        for frame in self.frames(self.most(rows), list(dict.fromkeys([*kinds, *kept])), skip):
            other = {
                name: self._cast(name, frame[name], kind) for name, kind in kinds.items() if not self._is(name, kind)
            }
            own = frame[list(kinds)]
            yield Batch(start, own.assign(**other) if other else own, frame[list(kept)])
            start += len(frame)

    def _is(self, name: str, kind: str) -> bool:
        """Whether a column is of a kind already, whatever its cells are."""
        look = self.looks[name]
        if "words" in (kind, look.kind):
            return kind == look.kind
        stays = (look.kind == kind and not self.reader.missing) if kind == "text" else look.kind in ("number", "flag")
        return stays and look.is_plain

    def _cast(self, name: str, series: pd.Series, kind: str) -> pd.Series:
        if name in self.refused:
            raise ValueError(
                f"{self.name}: column {name!r} holds {self.refused[name]}; make it numbers or text, or leave it out."
            )
        own = self.looks[name].kind
        if own == "empty":
            return nothing(len(series), kind)
        if "words" in (kind, own):
            what, asked = (WORDS, f"{kind}s") if own == "words" else (f"{own}s", WORDS)
            raise ValueError(
                f"{self.name}: column {name!r} holds {what}, where {asked} belong: lists of words are for Multinomial "
                "alone."
            )
        return cast(f"{self.name}, column {name!r}", series, kind, self.reader)


class ArrowSheet(TypedSheet):
    """Parquet, and Arrow's own two formats, of which one is Feather."""

    @cached_property
    def _schema(self) -> Any:
        with self._told():
            file = self._opened()
            schema = file.schema_arrow if self.source.format == "parquet" else file.schema
            schema.names  # noqa: B018  (they may be no UTF-8)
            return schema

    def _opened(self) -> Any:
        if self.source.format == "parquet":
            buffer = BUFFER if self.source.size > SMALL else 0
            return pyarrow("parquet").ParquetFile(
                self.source.place, buffer_size=buffer, pre_buffer=False, page_checksum_verification=True
            )
        stream = self.source.open()
        ipc = pyarrow("ipc")
        return ipc.open_file(stream) if self.source.head.startswith(b"ARROW1") else ipc.open_stream(stream)

    @cached_property
    def looks(self) -> dict[str, Look]:
        with self._told():
            none = self._frame(self._schema.empty_table(), self.columns)
        return {name: self._look(name, none[name]) for name in self.columns}

    def _look(self, name: str, series: pd.Series) -> Look:
        types, own = pyarrow().types, self._schema.field(name).type
        if types.is_null(own):
            return Look()
        if self._has_words(own):
            return Look("words", 1)
        is_temporal = types.is_temporal(own)
        return Look(kind_of_type(series), 1, dates=is_temporal, is_plain=name not in self.refused)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        names = [name for name in self._schema.names if name != HIDDEN]
        check_names(self.name, names)
        return tuple(names)

    @cached_property
    def refused(self) -> dict[str, str]:
        types = pyarrow().types
        odd = (types.is_duration, types.is_nested, types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
        own = [own for own in self._schema if not self._has_words(own.type)]
        return {own.name: str(own.type) for own in own if any(is_such(own.type) for is_such in odd)}

    @staticmethod
    def _has_words(own: Any) -> bool:
        """Whether a type is that of lists of texts."""
        types = pyarrow().types
        inner = own.value_type if types.is_list(own) or types.is_large_list(own) else None
        return inner is not None and (types.is_string(inner) or types.is_large_string(inner))

    def _told(self) -> "Telling":
        return Telling(self.name)

    def _batches(self, rows: int, names: Sequence[str], skip: int) -> Iterator[Any]:
        """Rows as they lie in the file, after those that are skipped."""
        file = self._opened()  # a stream is read from its beginning
        if self.source.format == "parquet":
            some: Iterator[Any] = self._of_parquet(file, rows, names, skip)
        elif hasattr(file, "num_record_batches"):
            some = after(skip, (file.get_batch(place) for place in range(file.num_record_batches)))
        else:
            some = after(skip, iter(file))
        for batch in some:
            used = batch.select(list(names))
            used.validate(full=True)  # before it is touched: a wrong offset in a damaged file ends the process
            for start in range(0, len(used), rows):
                yield used.slice(start, rows)

    def _of_parquet(self, file: Any, rows: int, names: Sequence[str], skip: int) -> Iterator[Any]:
        """Some columns, by groups of rows, of which those that are skipped are not read."""
        size = self.source.size / max(file.metadata.num_rows, 1) if self.source.place == self.source.path else 0.0
        for groups, count in stretches([file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)], rows):
            if count > skip:
                own = file.iter_batches(rows, groups, list(names), use_threads=self.use_threads)
                for batch in after(skip, own):
                    yield batch
                    self.source.tell(round(size * len(batch)))
            skip = max(skip - count, 0)

    def frames(self, rows: int, names: Sequence[str], skip: int = 0) -> Iterator[pd.DataFrame]:
        with self._told():
            for batch in self._batches(rows, names, skip):
                release()
                yield self._frame(batch, names)

    def _frame(self, batch: Any, names: Sequence[str]) -> pd.DataFrame:
        columns = {name: self._plain(name, batch.column(batch.schema.get_field_index(name))) for name in names}
        holes = {name: NULLABLE.get(str(own.type)) for name, own in columns.items() if own.null_count}
        whole = {name: own for name, own in columns.items() if holes.get(name) is None}
        frame = pyarrow().table(whole).to_pandas(split_blocks=True)
        own = {
            name: pd.api.types.pandas_dtype(kind).__from_arrow__(columns[name]) for name, kind in holes.items() if kind
        }
        return frame.assign(**own)[list(names)] if own else frame

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
        return distinct_levels(column) if types.is_dictionary(own) else column


def distinct_levels(column: Any) -> Any:
    """A dictionary column as pandas takes it, whose levels are each there once, and not missing: Arrow allows both."""
    if not len(column):
        return column
    levels = column.dictionary
    if len(levels.drop_null().unique()) == len(levels) and not levels.is_null(nan_is_null=True).true_count:
        return column
    cells = column.dictionary_decode()
    missing = cells.is_null(nan_is_null=True)
    return pyarrow("compute").if_else(missing, pyarrow().scalar(None, cells.type), cells).dictionary_encode()


def after(skip: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Batches without the first rows, of as many as are said."""
    for batch in batches:
        if skip < len(batch):
            yield batch.slice(skip)
        skip = max(skip - len(batch), 0)


def stretches(sizes: Sequence[int], least: int) -> Iterator[tuple[list[int], int]]:
    """Groups of rows that lie together, so many of them that they have as many rows as are said, and how many."""
    groups: list[int] = []
    count = 0
    for place, size in enumerate(sizes):
        groups, count = [*groups, place], count + size
        if count >= least or place == len(sizes) - 1:
            yield groups, count
            groups, count = [], 0


class Telling:
    """Names the file in Arrow's errors."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, MemoryError):  # a damaged size may ask for any number of bytes
            raise MemoryError(f"{self.name}: {str(error) or 'its metadata takes too much'}. {AGAIN}") from error
        if is_of_arrow(error) or isinstance(error, UnicodeDecodeError):  # the latter of a column's name
            message = (str(error).strip() or kind.__name__).splitlines()[0].rstrip(".")
            raise ValueError(f"{self.name}: it cannot be read: {message}. {AGAIN}") from error


def release() -> None:
    """Give back what Arrow keeps for later: batches come for hours."""
    pyarrow().default_memory_pool().release_unused()


def is_of_arrow(error: Any) -> bool:
    """Whether Arrow says that a file is at fault."""
    own = type(error).__module__.startswith("pyarrow") or (isinstance(error, OSError) and error.errno is None)
    return own and not isinstance(error, MemoryError)


def pyarrow(part: str = "", need: str = "Parquet and Arrow files need pyarrow") -> ModuleType:
    """Arrow, which is no need of whoever has text."""
    try:
        from importlib import import_module

        return import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError:
        raise ImportError(f'{need}: pip install "bayesnb[scale]".') from None
