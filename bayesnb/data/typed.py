"""Tables whose columns have types of their own: Parquet, Arrow and Feather, JSON lines.

Dates become levels, as text; decimals become floats. Lists of texts are words; other lists, records and raw bytes are
refused where they are asked for.
"""

import json
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import compute, ipc, parquet

from bayesnb.data.sheets import MEANT, NO_ROWS, Batch, FileSheet, after, check_names, framed, kind_of_type, nothing
from bayesnb.data.sources import named_errors
from bayesnb.data.text_cells import CellRules, ColumnSummary, TextCells, text_of

HIDDEN = "__index_level_0__"  # an index without a name, as pandas writes it
BUFFER = 1 << 16  # bytes of every column of a Parquet file that are read at once
SMALL = 1 << 23  # bytes of a file whose columns are read whole: a buffer grows to what a damaged page says it has
NATIVE = 2  # times the rows asked for, in a native batch of a large group: few large ones cost less Python
CODE, LEVELS = 2, 1 << 12  # bytes of a cell that is a code, and of all levels of a column
BITS = (8, 16, 32, 64)
WORDS = "lists of words"
NULLABLE = {"bool": "boolean"} | {f"{sign}int{bits}": f"{sign.upper()}Int{bits}" for sign in ("", "u") for bits in BITS}


class TypedSheet(FileSheet):
    """A table of which each batch has types."""

    @abstractmethod
    def frames(
        self, rows: int, names: Sequence[str], skip: int = 0, coded: Collection[str] | None = None
    ) -> Iterator[pd.DataFrame]:
        """Yield some columns as they are, at most `rows` rows at a time, after the first `skip`.

        If columns are to be `coded`, batches are native.
        """

    @cached_property
    @abstractmethod
    def refused(self) -> dict[str, str]:
        """Columns whose cells are not plain values, and what they hold."""

    def parts(
        self, kinds: Mapping[str, str], rows: int, kept: Sequence[str], skip: int = 0, native: bool = False
    ) -> Iterator[Batch]:
        start, rows = skip, self.most(rows)
        casts = {name: kind for name, kind in kinds.items() if not self._is(name, kind)}
        coded = self.coded({*kinds} - {*casts, *kept}, rows) if native else None
        for frame in self.frames(rows, list(dict.fromkeys([*kinds, *kept])), skip, coded):
            other = {name: self._cast(name, frame[name], kind) for name, kind in casts.items()}
            columns = columns_of(frame, list(kinds))
            used = columns.assign(**other) if other else columns
            yield Batch(start, used, columns_of(frame, kept), coded=coded or frozenset())
            start += len(frame)

    def coded(self, names: Collection[str], rows: int) -> frozenset[str]:
        """Return which of some columns are texts that lie in the file as codes, and can be read as such."""
        return frozenset()

    def _is(self, name: str, kind: str) -> bool:
        """Return whether a column is of a kind already, whatever its cells are."""
        summary = self.summaries[name]
        if "words" in (kind, summary.kind):
            return kind == summary.kind
        if kind == "text":
            return summary.kind == "text" and not self.rules.missing and summary.is_plain
        return summary.kind in ("number", "flag") and summary.is_plain

    def _cast(self, name: str, series: pd.Series, kind: str) -> pd.Series:
        if name in self.refused:
            raise ValueError(
                f"{self.name}: column {name!r} holds {self.refused[name]}; convert it to numbers or text, or leave "
                "it out."
            )
        present = self.summaries[name].kind
        if present == "empty":
            return nothing(len(series), kind)
        if "words" in (kind, present):
            what, asked = (WORDS, f"{kind}s") if present == "words" else (f"{present}s", WORDS)
            raise ValueError(
                f"{self.name}: column {name!r} holds {what} instead of {asked}: lists of words are for Multinomial "
                "only."
            )
        return cast(f"{self.name}, column {name!r}", series, kind, self.rules)


def columns_of(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return some columns of a frame; to pick all or none of them would take as long as to read them."""
    if list(names) == frame.columns.tolist():
        return frame
    return frame[list(names)] if names else pd.DataFrame(index=frame.index)


def cast(name: str, series: pd.Series, kind: str, rules: CellRules) -> pd.Series:
    """Return a column of a typed table as one of this kind."""
    present = kind_of_type(series)
    if kind != "text" and present in ("number", "flag"):
        return series
    missing = series.isna()
    if present == "text" and rules.missing:
        missing |= series.isin(rules.missing)
        series = series.where(~missing, None)
    if kind == "text" and present != "text":
        return pd.Series(
            [None if gone else text_of(value) for value, gone in zip(series, missing, strict=True)], dtype=str
        )
    if kind != "text" and present == "text":
        texts = [None if gone else str(value) for value, gone in zip(series, missing, strict=True)]
        cells = TextCells.of(texts, CellRules((), rules.decimal))
        try:
            return cells.column(kind)
        except ValueError:
            row = cells.first_invalid(kind)
        raise ValueError(f"{name}: {texts[row]!r} in row {row} is {MEANT[kind]}.")
    return series.astype(float) if present == "integer" and missing.any() else series


class ArrowSheet(TypedSheet):
    """Parquet, and Arrow's own two formats, of which one is Feather."""

    @cached_property
    def _schema(self) -> Any:
        with named_errors(self.name):
            file = self._opened()
            schema = file.schema_arrow if self.source.format == "parquet" else file.schema
            schema.names  # noqa: B018  (they may be no UTF-8)
            return schema

    def _opened(self, coded: Collection[str] | None = None) -> Any:
        if self.source.format == "parquet":
            buffer = BUFFER if self.source.size > SMALL else 0
            return parquet.ParquetFile(
                self.source.place,
                read_dictionary=list(coded or ()),
                buffer_size=buffer,
                pre_buffer=False,
                page_checksum_verification=True,
            )
        stream = self.source.open()
        return ipc.open_file(stream) if self.source.head.startswith(b"ARROW1") else ipc.open_stream(stream)

    @cached_property
    def summaries(self) -> dict[str, ColumnSummary]:
        with named_errors(self.name):
            none = self._frame(self._schema.empty_table(), self.columns)
        return {name: self._summary(name, none[name]) for name in self.columns}

    def _summary(self, name: str, series: pd.Series) -> ColumnSummary:
        types, dtype = pa.types, self._schema.field(name).type
        if types.is_null(dtype):
            return ColumnSummary()
        if self._has_words(dtype):
            return ColumnSummary("words", 1)
        is_temporal = types.is_temporal(dtype)
        return ColumnSummary(kind_of_type(series), 1, dates=is_temporal, is_plain=name not in self.refused)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        names = [name for name in self._schema.names if name != HIDDEN]
        check_names(self.name, names)
        return tuple(names)

    @cached_property
    def refused(self) -> dict[str, str]:
        refused = {field.name: field.type for field in self._schema if not self._has_words(field.type)}
        prefixes = ("duration", "binary", "large_binary", "fixed_size_binary")
        return {
            name: str(dtype)
            for name, dtype in refused.items()
            if pa.types.is_nested(dtype) or str(dtype).startswith(prefixes)
        }

    @staticmethod
    def _has_words(dtype: Any) -> bool:
        """Return whether a type is that of lists of texts."""
        types = pa.types
        inner = dtype.value_type if types.is_list(dtype) or types.is_large_list(dtype) else None
        return inner is not None and (types.is_string(inner) or types.is_large_string(inner))

    def coded(self, names: Collection[str], rows: int) -> frozenset[str]:
        types = {name: self._schema.field(name).type for name in names}
        texts = [name for name, dtype in types.items() if pa.types.is_string(dtype) or pa.types.is_large_string(dtype)]
        if self.source.format != "parquet" or not texts:
            return frozenset()
        with named_errors(self.name):
            file = self._opened().metadata
            groups = [file.row_group(place) for place in range(file.num_row_groups)]
            if any(len(places) > 1 for places, _ in stretches([group.num_rows for group in groups], rows)):
                return frozenset()  # each group has codes of its own, so that Arrow would cut batches at its end
            chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
            long = {chunk.path_in_schema for chunk in chunks if not are_codes(chunk)}
        return frozenset(texts) - long

    def _batches(self, rows: int, names: Sequence[str], skip: int, coded: Collection[str] | None) -> Iterator[Any]:
        """Yield rows as they lie in the file, after those that are skipped."""
        file = self._opened(coded)  # a stream is read from its beginning
        if self.source.format == "parquet":
            batches: Iterator[Any] = self._of_parquet(file, rows, names, skip, is_native=coded is not None)
        elif hasattr(file, "num_record_batches"):
            batches = after(skip, (file.get_batch(place) for place in range(file.num_record_batches)))
        else:
            batches = after(skip, iter(file))
        for batch in batches:
            used = batch.select(list(names))
            used.validate(full=True)  # before it is touched: a wrong offset in a damaged file ends the process
            step = len(used) if self.source.format == "parquet" else rows
            for start in range(0, len(used), step):
                yield used.slice(start, step)

    def _of_parquet(self, file: Any, rows: int, names: Sequence[str], skip: int, *, is_native: bool) -> Iterator[Any]:
        """Yield some columns of a Parquet file, by groups of rows; those that are skipped are not read.

        Native batches divide their groups evenly: a rest of few rows would take nearly as long as many.
        """
        size = self.source.size / max(file.metadata.num_rows, 1) if self.source.place == self.source.path else 0.0
        for groups, count in stretches([file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)], rows):
            if count > skip:
                step = -(-count // max(count // (NATIVE * rows), 1)) if is_native else rows
                batches = file.iter_batches(step, groups, list(names), use_threads=self.use_threads)
                for batch in after(skip, batches):
                    yield batch
                    self.source.on_read(round(size * len(batch)))
            skip = max(skip - count, 0)

    def frames(
        self, rows: int, names: Sequence[str], skip: int = 0, coded: Collection[str] | None = None
    ) -> Iterator[pd.DataFrame]:
        with named_errors(self.name):
            for batch in self._batches(rows, names, skip, coded):
                yield self._frame(batch, names)

    def _frame(self, batch: Any, names: Sequence[str]) -> pd.DataFrame:
        columns = {name: self._plain(name, batch.column(batch.schema.get_field_index(name))) for name in names}
        holes = {name: NULLABLE.get(str(column.type)) for name, column in columns.items() if column.null_count}
        whole = {name: column for name, column in columns.items() if holes.get(name) is None}
        frame = pa.table(whole).to_pandas(split_blocks=True)
        nullable = {
            name: pd.api.types.pandas_dtype(kind).__from_arrow__(columns[name]) for name, kind in holes.items() if kind
        }
        return frame.assign(**nullable)[list(names)] if nullable else frame

    def _plain(self, name: str, column: Any) -> Any:
        """Return Arrow's column as one that pandas has a plain type for."""
        types, dtype = pa.types, column.type
        if name in self.refused:
            return column
        if types.is_temporal(dtype):
            return compute.replace_substring_regex(column.cast(pa.string()), r"\.0+([+-].*|Z)?$", r"\1")
        if types.is_decimal(dtype) or types.is_null(dtype) or types.is_float16(dtype):
            return column.cast(pa.float64())
        return distinct_levels(column) if types.is_dictionary(dtype) else column


def distinct_levels(column: Any) -> Any:
    """Return a dictionary column whose levels are each there once, and not missing, as pandas needs them."""
    if not len(column):
        return column
    levels = column.dictionary
    if len(levels.drop_null().unique()) == len(levels) and not levels.is_null(nan_is_null=True).true_count:
        return column
    cells = column.dictionary_decode()
    missing = cells.is_null(nan_is_null=True)
    return compute.if_else(missing, pa.scalar(None, cells.type), cells).dictionary_encode()


def are_codes(chunk: Any) -> bool:
    """Return whether texts of a Parquet file lie there as codes of a few levels: by themselves they take more bytes."""
    return chunk.has_dictionary_page and chunk.total_uncompressed_size <= CODE * chunk.num_values + LEVELS


def stretches(sizes: Sequence[int], least: int) -> Iterator[tuple[list[int], int]]:
    """Yield neighbouring groups of rows that have at least so many rows together, and how many rows those are."""
    groups: list[int] = []
    count = 0
    for place, size in enumerate(sizes):
        groups, count = [*groups, place], count + size
        if count >= least or place == len(sizes) - 1:
            yield groups, count
            groups, count = [], 0


class JsonSheet(TypedSheet):
    """JSON lines: one object a line, whose keys are the columns; a key that is left out is a missing cell."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._whole)

    @cached_property
    def summaries(self) -> dict[str, ColumnSummary]:
        return {
            str(name): ColumnSummary(kind_of_json(series), 1, is_plain=name not in self.refused)
            for name, series in self._whole.items()
        }

    @cached_property
    def refused(self) -> dict[str, str]:
        nested = [name for name, series in self._whole.items() if is_nested(series) and not has_words(series)]
        return dict.fromkeys(map(str, nested), "lists or objects")

    @cached_property
    def _whole(self) -> pd.DataFrame:
        self.source.refuse_too_large()
        rows = list(self._objects())
        names = list(dict.fromkeys(name for row in rows for name in row))
        if not rows:
            raise ValueError(f"{self.name}: {NO_ROWS.replace('a header but ', '')}")
        check_names(self.name, names)
        return framed({name: self._column(name, [row.get(name) for row in rows]) for name in names}, len(rows))

    def _column(self, name: str, values: list[Any]) -> pd.Series:
        try:
            return column(values)
        except OverflowError:
            raise ValueError(
                f"{self.name}: column {name!r} holds real numbers, and a whole number that is too large for a real "
                "number. Write it as text, or leave it out."
            ) from None

    def _objects(self) -> Iterator[dict[str, Any]]:
        with self.source.open() as stream:
            for line, text in enumerate(stream, 1):
                if not text.strip():
                    continue
                try:
                    row = value_of(text)
                except ValueError as error:
                    raise ValueError(f"{self.name}, line {line}: {error}.") from None
                if not isinstance(row, dict):
                    raise ValueError(f'{self.name}, line {line}: it is not an object such as {{"age": 3}}, one a line.')
                yield row

    def frames(
        self, rows: int, names: Sequence[str], skip: int = 0, coded: Collection[str] | None = None
    ) -> Iterator[pd.DataFrame]:
        for start in range(skip, len(self._whole), rows):
            yield self._whole[list(names)].iloc[start : start + rows].reset_index(drop=True)


def value_of(line: bytes) -> Any:
    """Return the value that a line of JSON holds; a ValueError says why there is none."""
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte {error.start + 1} of the line, 0x{line[error.start]:02x},"
        raise ValueError(f"{where} is not UTF-8, the encoding of JSON lines") from None
    try:
        value = json.loads(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply; a row is one flat object") from None
    except UnicodeEncodeError as error:
        half = error.object[error.start].encode("unicode_escape").decode("ascii")
        raise ValueError(f"{half} is half of a surrogate pair and not a character") from None
    except ValueError as error:
        raise ValueError(f"it is not valid JSON: {error}") from None
    return value


def kind_of_json(series: pd.Series) -> str:
    """Return what a column of JSON's values holds."""
    return "words" if has_words(series) else kind_of_type(series)


def is_nested(series: pd.Series) -> bool:
    """Return whether a column of JSON's values holds lists or objects; texts are objects to pandas 2 as well."""
    return series.dtype == object and any(isinstance(value, list | dict) for value in series)


def has_words(series: pd.Series) -> bool:
    """Return whether a column of JSON's values holds lists of texts, and missing cells at most."""
    if not is_nested(series):
        return False
    for value in series:
        if value is None:
            continue
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            return False
    return True


def column(values: list[Any]) -> pd.Series:
    """Return values of JSON as a column of one type: of several types, as text."""
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
