"""Tables in files, read and written by Arrow.

They are CSV, TSV and JSON lines, also packed by gzip, Parquet, Arrow and Feather.

A table is read at once, or in batches of rows. What its columns hold is known by their types or, in
CSV and TSV, by all cells or by those of the first rows: see `kinds`.
"""

import codecs
import csv
import errno
import gzip
import io
import json
import os
import re
import shutil
import sys
import tempfile
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, cast

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute, ipc, parquet
from pyarrow import csv as arrow_csv
from pyarrow import json as arrow_json

from bayesnb.data.kinds import (
    DTYPES,
    MIN_CODE,
    NOT_OF_KIND,
    SAMPLE_ROWS,
    are_contrary,
    first_invalid,
    has_codes,
    is_text,
    join_kinds,
    kind_of_cells,
    kind_of_type,
    may_have_codes,
    may_have_hexadecimals,
    parse_as_asked,
    parse_cells,
)

MISSING = ("", "NA", "NaN", "?")
TEXT_FORMATS = ("csv", "tsv", "jsonl")
FORMAT_OF_SUFFIX = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
FORMAT_OF_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
UNSUPPORTED_MAGIC = {
    b"PK\x03\x04": "a zip archive, such as a saved model or an Excel workbook: save a sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook: save the sheet as CSV",
    b"%PDF": "a PDF",
    b"FEA1": "Feather of the first version, which is obsolete: convert it to Parquet",
    b"BZh": "compressed by bzip2: decompress it, or use gzip",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: decompress it, or use gzip",
    b"\xfd7zXZ": "compressed by xz: decompress it, or use gzip",
}
GZIP_MAGIC = b"\x1f\x8b"
UTF16_MAGIC = b"\xff\xfe", b"\xfe\xff"
DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
SNIFFED_BYTES, SNIFFED_CHARACTERS, SNIFFED_RECORDS = 1 << 16, 1 << 16, 50
TEXT_BLOCK = 1 << 22  # bytes of text that are split at once, in which each row has to fit
MAX_BATCH_ROWS, MAX_BATCH_CELLS = 1 << 16, 1 << 20
LARGE_FILE, COLUMN_BUFFER = 1 << 23, 1 << 16  # bytes; a buffer grows to what a damaged page says
INDEX_COLUMN = "__index_level_0__"  # an index without a name, as pandas writes it
WORDS = "lists of words"
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
NULLABLE_TYPES = {str(pa.bool_()): pd.BooleanDtype()} | {
    str(dtype()).lower(): dtype()
    for dtype in (
        *(pd.Int8Dtype, pd.Int16Dtype, pd.Int32Dtype, pd.Int64Dtype),
        *(pd.UInt8Dtype, pd.UInt16Dtype, pd.UInt32Dtype, pd.UInt64Dtype),
    )
}
ADVICE = "If the file is damaged, download or write it again."


@dataclass(frozen=True)
class Reading:
    """How a table in a file is to be read, where the file does not say.

    Parameters
    ----------
    format : {"csv", "tsv", "parquet", "arrow", "jsonl"} or None, default=None
        None: as its first bytes show, or as its name ends.
    delimiter : str or None, default=None
        The character between cells of text. None: found in the first rows.
    encoding : str or None, default=None
        Encoding of text. None: UTF-8, or as the file's first bytes say.
    decimal : str, default="."
        The decimal point of numbers in text.
    missing : tuple of str or None, default=None
        What a missing cell holds. None: "", "NA", "NaN" and "?" in text, nothing elsewhere.

    See Also
    --------
    bayesnb.scale.fit_files : Fit an estimator to files.

    Examples
    --------
    >>> from bayesnb import scale
    >>> scale.Reading(delimiter=";", decimal=",").decimal
    ','
    """

    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str = "."
    missing: tuple[str, ...] | None = None


PLAIN = Reading()


class CountingFile(io.FileIO):
    """A file that reports how many bytes were read from it."""

    def __init__(self, path: str, on_read: Callable[[int], Any]) -> None:
        super().__init__(path)
        self.on_read = on_read

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.on_read(len(data))
        return data


@dataclass(eq=False)
class Source:
    """The bytes of a table, which can be read from their beginning as often as is needed."""

    name: str  # in messages
    path: str
    reading: Reading
    on_read: Callable[[int], Any]  # is called with the number of bytes that were read
    copy: Any = None  # the file at `path`, if it is a copy of what can be read only once

    @classmethod
    def of(cls, path: str, reading: Reading, on_read: Callable[[int], Any]) -> "Source":
        """Return the bytes of a file, a pipe, or of standard input for `-`."""
        name = "standard input" if path == "-" else path
        if path != "-" and (Path(path).is_file() or not Path(path).exists()):
            return cls(name, path, reading, on_read)
        if path != "-" and Path(path).is_dir():
            raise ValueError(f"{name}: it is a folder, not a file.")
        if path == "-" and sys.stdin is None:
            raise OSError(errno.EBADF, "it is closed", name)
        copy = tempfile.NamedTemporaryFile()  # noqa: SIM115  (it is kept as long as the source)
        with nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as stream:
            shutil.copyfileobj(stream, copy)
        copy.flush()
        return cls(name, copy.name, reading, on_read, copy)

    @property
    def size(self) -> int:
        """Number of bytes, as they lie."""
        return os.stat(self.path).st_size

    @cached_property
    def is_packed(self) -> bool:
        with open(self.path, "rb") as file:
            return file.read(2) == GZIP_MAGIC

    def open(self, *, counted: bool = True, seekable: bool = False) -> Any:
        """Return a stream of Arrow of the bytes from their beginning, unpacked."""
        on_read = self.on_read if counted else lambda count: None
        file = pa.PythonFile(CountingFile(self.path, on_read), "r")
        if not self.is_packed:
            return file
        stream = pa.CompressedInputStream(file, "gzip")
        return pa.BufferReader(stream.read()) if seekable else stream

    def read(self, size: int | None = None, *, counted: bool = True) -> Any:
        """Return the first bytes, or all, unpacked."""
        if size is None and not self.is_packed:
            data = pa.OSFile(self.path).read_buffer()  # in memory that Arrow uses again
            self.on_read(len(data))
            return data
        with named_errors(self.name), self.open(counted=counted) as stream:
            return stream.read(size)

    @property
    def head(self) -> bytes:
        """First bytes, unpacked."""
        return self.read(SNIFFED_BYTES, counted=False)

    @cached_property
    def format(self) -> str:
        """Format of the file: as the user says, as the first bytes show, or as its name ends."""
        if self.reading.format is not None:
            return self.reading.format
        head = self.head
        for magic, kind in FORMAT_OF_MAGIC.items():
            if head.startswith(magic):
                return kind
        for magic, what in UNSUPPORTED_MAGIC.items():
            if head.startswith(magic):
                raise ValueError(f"{self.name}: it is {what}.")
        if b"\0" in head and head[:2] not in UTF16_MAGIC and self.reading.encoding is None:
            raise ValueError(
                f"{self.name}: it is not a table: neither text nor Parquet nor Arrow. Tables are "
                "CSV, TSV, JSON lines, Parquet or Arrow."
            )
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if re.match(rb"\[\s*[\[{]", start):
            raise ValueError(
                f"{self.name}: it is one JSON array. Write JSON lines: one object a line."
            )
        suffixes = [suffix.lower() for suffix in Path(self.path).suffixes if suffix != ".gz"]
        by_name = FORMAT_OF_SUFFIX.get(suffixes[-1]) if suffixes else None
        return by_name or ("jsonl" if start.startswith(b"{") else "csv")


@contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Make Arrow's errors name the file."""
    try:
        yield
    except MemoryError as error:  # a damaged size may ask for any number of bytes
        raise MemoryError(
            f"{name}: {str(error) or 'its metadata takes too much'}. {ADVICE}"
        ) from error
    except (
        pa.ArrowException,
        OSError,
        UnicodeDecodeError,
    ) as error:  # the latter of a column's name
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's, not Arrow's
        message = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise ValueError(f"{name}: it cannot be read: {message}. {ADVICE}") from error


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table."""

    name: str  # of the file
    start: int  # rows before it
    frame: pd.DataFrame  # columns of the kinds that were asked for
    kept: pd.DataFrame  # columns as they are in the file
    missing: (
        Collection[str] | None
    )  # texts in `kept` that say that a cell is missing; None if it is typed

    def __len__(self) -> int:
        return len(self.kept)

    @property
    def stop(self) -> int:
        return self.start + len(self)

    @property
    def where(self) -> str:
        """Place of the rows, before a message that counts from the first of them."""
        if not self.start:
            return self.name
        return f"{self.name}: rows {self.start} to {self.stop - 1}, counted from there"

    def columns_to_write(self, kind: str) -> pd.DataFrame:
        """Return the kept columns for a file of a format: as they were in text, else with types."""
        if self.missing is None or kind in ("csv", "tsv"):
            return self.kept
        text = self.kept.mask(self.kept.isin(self.missing), None).astype("string")
        return text.assign(
            **{name: self.frame[name] for name in self.frame.columns if name in self.kept}
        )


class TableReader(ABC):
    """The table in a file."""

    is_text: ClassVar[bool] = False  # whether its cells are text, which may be read as anything
    guessed: Collection[str] = ()  # columns whose other rows are to look as the first ones

    def __init__(self, source: Source, use_threads: bool = True) -> None:
        self.source, self.use_threads = source, use_threads

    @property
    @abstractmethod
    def columns(self) -> Sequence[str]:
        """Names of the columns, each once."""

    @property
    @abstractmethod
    def kinds(self) -> Mapping[str, str]:
        """What the columns hold."""

    @property
    def dates(self) -> Collection[str]:
        """Columns whose type is that of dates or times."""
        return ()

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def decimal(self) -> str:
        return self.source.reading.decimal

    @property
    def missing(self) -> tuple[str, ...]:
        """Texts that say that a cell is missing."""
        default = MISSING if self.is_text else ()
        return default if self.source.reading.missing is None else self.source.reading.missing

    def read(self, kinds: Mapping[str, str]) -> pd.DataFrame:
        """Return all rows, with the columns of `kinds` in that order; raise if there is none."""
        table = self._read(kinds)
        columns = {name: self._convert(name, table[name], kind) for name, kind in kinds.items()}
        rows = max(map(len, columns.values()), default=0)
        if not rows:
            raise ValueError(f"{self.name}: it has a header but no rows; at least one is needed.")
        return to_frame(columns, rows)

    def batches(
        self, kinds: Mapping[str, str], rows: int, keep: Sequence[str] = ()
    ) -> Iterator[Batch]:
        """Yield `rows` rows at a time: columns of these kinds, and others to keep as they are."""
        start = 0
        names = list(dict.fromkeys([*kinds, *keep])) or [self.columns[0]]
        with named_errors(self.name):
            for table in regroup(self._iter_batches(names), rows):
                columns = {
                    name: self._convert(name, table[name], kind, start)
                    for name, kind in kinds.items()
                }
                kept = {name: self._plain(table[name]) for name in keep}
                missing = self.missing if self.is_text else None
                yield Batch(
                    self.name,
                    start,
                    to_frame(columns, len(table)),
                    to_frame(kept, len(table)),
                    missing,
                )
                start += len(table)

    @abstractmethod
    def _read(self, kinds: Mapping[str, str]) -> Any:
        """Return all rows of columns, from which these kinds can be made."""

    @abstractmethod
    def _iter_batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of columns as the file has them."""

    @abstractmethod
    def _convert(self, name: str, column: Any, kind: str, start: int = 0) -> Any:
        """Return a column of a kind.

        An error names the row, of which `start` are before the column.
        """

    def _plain(self, column: Any) -> Any:
        """Return a column as one of a type that pandas has."""
        return column

    def _parse(self, name: str, text: Any, kind: str, row: int) -> Any:
        """Return an array of text, null where missing, as one of a kind.

        `row` rows are before it.
        """
        is_guessed = name in self.guessed

        def read(cells: Any) -> Any:
            if is_guessed and are_contrary(kind, kind_of_cells(cells, self.decimal)):
                raise pa.ArrowInvalid("unlike the first rows")
            return parse_as_asked(cells, kind, self.decimal)

        try:
            return read(text)
        except pa.ArrowInvalid:
            at = first_invalid(text, read)
        cell, advice = text[at].as_py(), ""
        if is_guessed:
            advice = (
                f", unlike the first rows. Name the kind of the column: kinds={{{name!r}: 'text'}}"
            )
        elif re.fullmatch(r"[+-]?\d*,\d+", cell):
            advice = ". If that is a decimal comma, say that the decimal mark is ','"
        else:
            advice = ". If that means that the cell is missing, list it among the `missing` texts"
        raise ValueError(
            f"{self.name}, row {row + at}, column {name!r}: {cell!r} {NOT_OF_KIND[kind]}{advice}."
        )


def check_names(name: str, columns: Sequence[str]) -> None:
    """Raise for columns without a name, and for names that stand twice."""
    if "" in columns:
        place = columns.index("") + 1
        raise ValueError(
            f"{name}: column {place} of {len(columns)} has no name in the header. Give it one"
            + (", or write the table without its index." if place == 1 else ".")
        )
    (column, times), *_ = Counter(columns).most_common(1) or [("", 0)]
    if times > 1:
        raise ValueError(
            f"{name}: the header names the column {column!r} twice. Rename one of the two."
        )


def regroup(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield tables of `rows` rows, of which the last may have fewer."""
    waiting: list[Any] = []
    for batch in batches:
        waiting.append(pa.Table.from_batches([batch]))
        if sum(map(len, waiting)) < rows:
            continue
        table = pa.concat_tables(waiting)
        rest = len(table) % rows
        for start in range(0, len(table) - rest, rows):
            yield table.slice(start, rows)
        waiting = [table.slice(len(table) - rest)]
    table = pa.concat_tables(waiting) if waiting else ()
    if len(table):
        yield table


def to_frame(columns: Mapping[str, Any], rows: int) -> pd.DataFrame:
    """Return columns of Arrow as a dataframe."""
    series = {name: to_series(column) for name, column in columns.items()}
    return pd.DataFrame(series, index=pd.RangeIndex(rows), copy=False)


def to_series(column: Any) -> pd.Series:
    """Return a column of pandas: integers and flags with missing cells have its nullable types."""
    nullable = NULLABLE_TYPES.get(str(column.type)) if column.null_count else None
    return column.to_pandas() if nullable is None else pd.Series(nullable.__from_arrow__(column))


class TextReader(TableReader):
    """CSV and TSV: the first line names the columns; blanks around a cell mean nothing."""

    is_text = True

    def __init__(self, source: Source, use_threads: bool, head: int | None) -> None:
        super().__init__(source, use_threads)
        self.head = head  # rows that decide what columns hold; None: all

    @cached_property
    def encoding(self) -> str:
        """Name of the encoding, "utf8" where the text is not decoded before it is split."""
        default = "utf-16" if self.source.head[:2] in UTF16_MAGIC else "utf-8"
        asked = self.source.reading.encoding or default
        try:
            name = codecs.lookup(asked).name
        except LookupError:
            raise ValueError(
                f"the encoding {asked!r} is not known; try --encoding latin-1 or cp1252."
            ) from None
        return "utf8" if name in ("utf-8", "utf-8-sig") else name

    def _decode(self) -> io.TextIOWrapper:
        encoding = "utf-8-sig" if self.encoding == "utf8" else self.encoding
        return io.TextIOWrapper(self.source.open(counted=False), encoding, "replace", newline="")

    @cached_property
    def delimiter(self) -> str:
        """Delimiter of the cells: as the user says, a tab in a TSV, else by the first lines."""
        if self.source.reading.delimiter is not None or self.source.format == "tsv":
            return self.source.reading.delimiter or "\t"
        with self._decode() as text:
            head = text.read(SNIFFED_CHARACTERS)
        lines = head.splitlines(keepends=True)
        return sniff_delimiter(
            lines if len(head) < SNIFFED_CHARACTERS or len(lines) < 2 else lines[:-1]
        )

    @cached_property
    def _header(self) -> tuple[int, list[str]]:
        """Number of blank lines before the header, and the names of the columns."""
        blank = 0
        with self._decode() as text:
            for line in text:
                if line.strip("\r\n"):
                    break
                blank += 1
            else:
                raise ValueError(
                    f"{self.name}: it is empty. A table begins with a line of column names."
                )
            names = [
                name.strip() for name in next(split_lines(chain([line], text), self.delimiter))
            ]
        check_names(self.name, names)
        return blank, names

    @property
    def columns(self) -> Sequence[str]:
        return self._header[1]

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        if self.head is None:
            return {name: self._kind(column) for name, column in self._whole.items()}
        rows = next(regroup(self._iter_batches(self.columns), self.head), None)
        if rows is None:
            return dict.fromkeys(self.columns, "empty")
        return {name: self._kind(rows[name]) for name in self.columns}

    def _kind(self, column: Any) -> str:
        if not is_text(column.type):
            return kind_of_type(column.type)
        kind = "empty"
        for chunk in column.chunks:
            for cells in (chunk[:SAMPLE_ROWS], chunk):  # most columns of text are known by few
                if kind != "text":
                    kind = join_kinds(kind, kind_of_cells(self._clean(cells), self.decimal))
        return kind

    def _clean(self, text: Any) -> Any:
        """Return cells without blanks around them, null where missing."""
        cells = compute.utf8_trim_whitespace(text)
        is_missing = compute.is_in(cells, pa.array(self.missing, pa.string()))
        return compute.if_else(is_missing, pa.scalar(None, pa.string()), cells)

    def _options(
        self, types: Mapping[str, Any], names: Sequence[str], **reading: Any
    ) -> dict[str, Any]:
        """Return options of Arrow's readers for some columns.

        Those without a type get the one of their cells.
        """
        blank, columns = self._header
        return {
            "read_options": arrow_csv.ReadOptions(
                column_names=columns,
                skip_rows=blank,
                skip_rows_after_names=1,
                block_size=TEXT_BLOCK,
                **reading,
            ),
            "parse_options": arrow_csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True
            ),
            "convert_options": arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=names,
                null_values=self.missing,
                decimal_point=self.decimal,
            ),
        }

    @contextmanager
    def _named_rows(self) -> Iterator[None]:
        """Make errors name the file, the row and what to do."""
        try:
            yield
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            message = str(error).splitlines()[0]
            row = re.search(r"Row #(\d+)", message)
            place = "" if row is None else f", row {int(row[1]) - self._header[0] - 2}"
            fields = re.search(r"Expected \d+ columns, got (\d+)", message)
            if fields is not None:
                mark = DELIMITERS.get(self.delimiter, repr(self.delimiter))
                advice = (
                    f"A field that contains {mark} needs quotes; to set the separator: --delimiter."
                )
                if '"' in message:
                    advice = 'Or a quote (") is not closed: close it, or double it within a cell.'
                message = (
                    f"it has {fields[1]} field{'s' * (fields[1] != '1')}, but the header has "
                    f"{len(self.columns)} (separated by {mark}). {advice}"
                )
            elif isinstance(error, UnicodeDecodeError) or "UTF8" in message:
                what = "UTF-8" if self.encoding == "utf8" else self.encoding
                message = (
                    f"it is not {what}. Name the encoding: --encoding cp1252 (Windows), latin-1, "
                    "utf-16, ..."
                )
            raise ValueError(f"{self.name}{place}: {message}") from None

    def _iter_batches(self, names: Sequence[str]) -> Iterator[Any]:
        last = self.columns[-1]
        names = list(dict.fromkeys([*names, last]))
        options = self._options(
            dict.fromkeys(names, pa.string()), names, encoding=self.encoding, use_threads=False
        )
        batch = None
        with self._named_rows(), self.source.open() as stream:
            for batch in arrow_csv.open_csv(stream, **options):
                yield batch
        if batch is not None:
            self._refuse_open_quote(batch.column(last))

    def _refuse_open_quote(self, last_column: Any) -> None:
        """Raise if the last cell has several lines and is not closed, so that the file ends it."""
        if not len(last_column) or "\n" not in str(last_column[-1]):
            return
        tail = b""
        with self.source.open(counted=False) as stream:
            while block := stream.read(TEXT_BLOCK):
                tail = (tail + block)[-16:]
        if not tail.rstrip(b"\r\n \0").endswith(b'"'):
            raise ValueError(
                f'{self.name}: in the last row a quote (") opens and is not closed. Close it, or '
                "double it if it is part of a cell."
            )

    @cached_property
    def _data(self) -> Any:
        """The whole text, as UTF-8."""
        data = self.source.read()
        if self.encoding == "utf8":
            return data
        with self._named_rows():
            return str(data, self.encoding).encode()

    def _parse_whole(self, types: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        options = self._options(types, names)
        options["parse_options"].newlines_in_values = bool(re.search(b'"', self._data))
        try:
            table = arrow_csv.read_csv(pa.BufferReader(self._data), **options)
        except pa.ArrowInvalid:
            options["read_options"].use_threads = False  # then the error names the row
            with self._named_rows():
                table = arrow_csv.read_csv(pa.BufferReader(self._data), **options)
        return dict(zip(names, table.columns, strict=True))

    @cached_property
    def _whole(self) -> dict[str, Any]:
        """All columns: numbers where Arrow reads them by the rules of `kinds`, else text."""
        names = list(self.columns)
        with ThreadPoolExecutor(1) as thread:
            has_codes = thread.submit(may_have_codes, self._data)
            columns = self._parse_whole({}, names)
        are_whole = any(column.type == pa.int64() for column in columns.values())
        if has_codes.result() or (are_whole and may_have_hexadecimals(self._data)):
            columns = self._read_as_text(names)
        columns |= self._read_as_text([name for name in names if not is_plain(columns[name])])
        if is_text(columns[names[-1]].type):
            self._refuse_open_quote(columns[names[-1]])
        return columns

    def _read(self, kinds: Mapping[str, str]) -> dict[str, Any]:
        columns = {name: self._whole[name] for name in kinds}
        as_text = [name for name in kinds if not can_be(columns[name], kinds[name])]
        return columns | self._read_as_text(as_text)

    def _read_as_text(self, names: Sequence[str]) -> dict[str, Any]:
        """Return columns of all rows as text."""
        return self._parse_whole(dict.fromkeys(names, pa.string()), names) if names else {}

    def _convert(self, name: str, column: Any, kind: str, start: int = 0) -> Any:
        dtype = DTYPES[kind]
        if is_text(column.type):
            chunks = []
            for chunk in column.chunks:
                chunks.append(self._convert_chunk(name, chunk, kind, start))
                start += len(chunk)
            are_real = any(pa.types.is_floating(chunk.type) for chunk in chunks)
            dtype = pa.float64() if are_real else dtype
            column = pa.chunked_array([chunk.cast(dtype) for chunk in chunks], dtype)
        if kind == "integer" and column.null_count:
            dtype = pa.float64()
        return column.cast(dtype, safe=False)

    def _convert_chunk(self, name: str, text: Any, kind: str, start: int) -> Any:
        is_guessed = name in self.guessed
        if kind in ("integer", "number") and not self._has_missing_numbers:
            with suppress(pa.ArrowInvalid):  # most columns have neither blanks nor missing cells
                values = parse_cells(text, kind, self.decimal)
                if not (is_guessed and has_codes(text, values)):
                    return values
        return self._parse(name, self._clean(text), kind, start)

    @cached_property
    def _has_missing_numbers(self) -> bool:
        """Whether a text that says that a cell is missing looks like a number."""
        kinds = {kind_of_cells(pa.array([text]), self.decimal) for text in self.missing}
        return not kinds.isdisjoint(("integer", "number"))


def refuse_missing_labels(name: str, labels: pd.Series, first_row: int = 0) -> None:
    """Raise for rows of a table without a label."""
    missing = labels.isna().to_numpy()
    if missing.any():
        raise ValueError(
            f"{name}: column {labels.name!r}: {missing.sum()} of {len(labels)} labels are missing, "
            f"first at row {first_row + missing.argmax()}. Drop those rows from the table, or give "
            "them a label."
        )


def can_be(column: Any, kind: str) -> bool:
    """Return whether a column of a text, as it was read, can be made one of a kind."""
    return is_text(column.type) or kind in ("integer", "number")


def is_plain(column: Any) -> bool:
    """Return whether a column is text, or numbers that are neither NaN nor too long."""
    if column.type not in (pa.int64(), pa.float64()):
        return is_text(column.type)
    if column.type == pa.float64() and compute.any(compute.is_nan(column)).as_py():
        return False
    sizes = compute.abs(column.cast(pa.float64(), safe=False))
    return not compute.any(compute.greater_equal(sizes, MIN_CODE)).as_py()


def split_lines(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != "\t")


def sniff_delimiter(lines: list[str]) -> str:
    """Return the delimiter that makes most columns, and first records of one length."""
    sizes = {}
    for mark in DELIMITERS:
        records = [
            len(record) for record in islice(split_lines(lines, mark), SNIFFED_RECORDS) if record
        ]
        if records and records[0] > 1:
            sizes[mark] = records
    uniform = [mark for mark, records in sizes.items() if len(set(records)) == 1]
    return max(uniform or sizes, key=lambda mark: sizes[mark][0], default=",")


class TypedReader(TableReader):
    """A table whose columns have types. Dates become text, as levels; decimals become floats."""

    @abstractmethod
    def _file(self, stream: Any) -> Any:
        """Return a file of Arrow, which has a schema."""

    @cached_property
    def schema(self) -> Any:
        """Names and types of the columns."""
        with named_errors(self.name), self.source.open(counted=False, seekable=True) as stream:
            file = self._file(stream)
            return file.schema_arrow if isinstance(file, parquet.ParquetFile) else file.schema

    @cached_property
    def columns(self) -> Sequence[str]:
        with named_errors(self.name):
            names = [name for name in self.schema.names if name != INDEX_COLUMN]
        check_names(self.name, names)
        return names

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        return {name: kind_of_type(self.schema.field(name).type) for name in self.columns}

    @cached_property
    def dates(self) -> Collection[str]:
        return [name for name in self.columns if pa.types.is_temporal(self.schema.field(name).type)]

    @abstractmethod
    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches, which may have other columns too."""

    def _iter_batches(self, names: Sequence[str]) -> Iterator[Any]:
        for batch in self._batches(names):
            columns = batch.select(names)
            columns.validate(full=True)  # before they are touched: a wrong offset ends the process
            yield columns

    def _read(self, kinds: Mapping[str, str]) -> Any:
        names = list(kinds)
        schema = pa.schema([self.schema.field(name) for name in names])
        with named_errors(self.name):
            return pa.Table.from_batches(self._iter_batches(names), schema)

    def _convert(self, name: str, column: Any, kind: str, start: int = 0) -> Any:
        present = self.kinds[name]
        if not present:
            raise ValueError(
                f"{self.name}: column {name!r} holds {column.type}; convert it to numbers or text, "
                "or leave it out."
            )
        if present == "empty":
            return pa.chunked_array([pa.nulls(len(column), DTYPES[kind])])
        if "words" in (kind, present):
            if kind != present:
                what, asked = (WORDS, f"{kind}s") if present == "words" else (f"{present}s", WORDS)
                raise ValueError(
                    f"{self.name}: column {name!r} holds {what} instead of {asked}: lists of words "
                    "are for Multinomial only."
                )
            return column
        column = self._plain(column)
        if present != "text":
            return column.cast(pa.string()) if kind == "text" else column
        if kind == "text" and not self.missing:
            return column
        text = column.cast(pa.string()).combine_chunks()
        is_missing = compute.is_in(text, pa.array(self.missing, pa.string()))
        text = compute.if_else(is_missing, pa.scalar(None, pa.string()), text)
        return pa.chunked_array([self._parse(name, text, kind, start)])

    def _plain(self, column: Any) -> Any:
        types, dtype = pa.types, column.type
        if types.is_duration(dtype):
            return column
        if types.is_temporal(dtype):
            return compute.replace_substring_regex(
                column.cast(pa.string()), r"\.0+([+-].*|Z)?$", r"\1"
            )
        if types.is_decimal(dtype) or types.is_null(dtype) or types.is_float16(dtype):
            return column.cast(pa.float64())
        if types.is_string_view(dtype):
            return column.cast(pa.string())
        return with_distinct_levels(column) if types.is_dictionary(dtype) else column


def with_distinct_levels(column: Any) -> Any:
    """Return a dictionary column whose levels stand once each, and none is missing, for pandas."""
    column = column.unify_dictionaries()
    for chunk in column.chunks[:1]:
        levels = chunk.dictionary
        if (
            len(levels.drop_null().unique()) != len(levels)
            or compute.any(levels.is_null(nan_is_null=True)).as_py()
        ):
            cells = column.cast(levels.type)
            is_missing = cells.is_null(nan_is_null=True)
            return compute.if_else(
                is_missing, pa.scalar(None, cells.type), cells
            ).dictionary_encode()
    return column


class ParquetReader(TypedReader):
    """Parquet."""

    def _file(self, stream: Any) -> Any:
        size = COLUMN_BUFFER if self.source.size > LARGE_FILE else 0
        return parquet.ParquetFile(
            stream, buffer_size=size, pre_buffer=False, page_checksum_verification=True
        )

    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        rows = max(min(MAX_BATCH_CELLS // max(len(names), 1), MAX_BATCH_ROWS), 1)
        with self.source.open(seekable=True) as stream:
            yield from self._file(stream).iter_batches(
                rows, columns=names, use_threads=self.use_threads
            )


class ArrowReader(TypedReader):
    """Arrow's two formats, of which one is Feather."""

    def _file(self, stream: Any) -> Any:
        is_file = self.source.head.startswith(b"ARROW1")
        return ipc.open_file(stream) if is_file else ipc.open_stream(stream)

    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        with self.source.open(seekable=True) as stream:
            file = self._file(stream)
            if hasattr(file, "num_record_batches"):
                yield from map(file.get_batch, range(file.num_record_batches))
            else:
                yield from file


class JsonReader(TypedReader):
    """JSON lines: one object a line, whose keys are the columns.

    A key that is left out is missing.
    """

    @cached_property
    def _table(self) -> Any:
        data = self.source.read()
        options = arrow_json.ReadOptions(
            block_size=max(len(data), 1)
        )  # one, so that errors say which row
        with named_errors(self.name):
            schema = arrow_json.read_json(pa.BufferReader(data), options).schema
            dates = [
                field.with_type(pa.string()) for field in schema if pa.types.is_temporal(field.type)
            ]
            types = arrow_json.ParseOptions(explicit_schema=pa.schema(dates))  # JSON has no dates
            return arrow_json.read_json(pa.BufferReader(data), options, types)

    def _file(self, stream: Any) -> Any:
        return self._table

    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        yield from self._table.to_batches()


READERS: dict[str, Callable[[Source, bool], TableReader]] = {
    "parquet": ParquetReader,
    "arrow": ArrowReader,
    "jsonl": JsonReader,
}


def open_reader(
    path: Any,
    reading: Reading = PLAIN,
    on_read: Callable[[int], Any] | None = None,
    *,
    use_threads: bool = True,
    head: int | None = None,
) -> TableReader:
    """Open the table in a file, `-` for standard input.

    Parameters
    ----------
    path : name of the file
    reading : how it is read, where the file does not say
    on_read : is called with the number of bytes that were read
    use_threads : whether several threads may read it
    head : rows of text that say what columns hold; None: all
    """
    source = Source.of(str(path), reading, on_read or (lambda count: None))
    if source.format in READERS:
        return READERS[source.format](source, use_threads)
    return TextReader(source, use_threads, head)


def read_file(
    path: Any, reading: Reading = PLAIN, kinds: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Read a table in a file as a dataframe: CSV, TSV, Parquet, Arrow, Feather, JSON lines.

    Parameters
    ----------
    path : a file, or "-" for standard input
    reading : how it is read, where the file does not say
    kinds : what some columns hold, "number", "flag" or "text"; by default what all their cells look
    like
    """
    reader = open_reader(path, reading)
    return reader.read({**reader.kinds, **(kinds or {})})


def read_text(text: str) -> pd.DataFrame:
    """Read the text of a CSV file as a dataframe."""
    return pd.read_csv(io.StringIO(text))


def kind_of_texts(texts: Sequence[str]) -> str:
    """Return what cells of text look like; an empty one is missing."""
    return kind_of_cells(pa.array([text or None for text in texts], pa.string()))


def repeat_text(text: str, kind: str, rows: int) -> pd.Series:
    """Return a column of rows that all hold a text, as one of a kind.

    An empty text is a missing cell.
    """
    cell = parse_as_asked(pa.array([text or None], pa.string()), kind)[0]
    return to_series(pa.chunked_array([pa.repeat(cell, rows)]))


def empty_column(kind: str, rows: int) -> pd.Series:
    """Return a column of a kind whose cells are all missing."""
    return to_series(pa.chunked_array([pa.nulls(rows, DTYPES[kind])]))


def stack_frames(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return rows below each other; of categories that differ, those that occur are text."""
    return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)


def format_of_name(name: str) -> str | None:
    """Return the format that a file's name means, None where it means none."""
    kind = FORMAT_OF_SUFFIX.get(Path(name.lower().removesuffix(".gz")).suffix)
    return None if name.lower().endswith(".gz") and kind not in TEXT_FORMATS else kind


# Writing


def write_frames(
    frames: Iterable[pd.DataFrame], stream: BinaryIO, kind: str, packed: bool = False
) -> int:
    """Write dataframes below each other, all with the same columns; return the number of rows."""
    if kind not in TEXT_FORMATS:
        return write_typed(frames, stream, kind)
    rows = 0
    pack = gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) if packed else None
    text = io.TextIOWrapper(cast(BinaryIO, pack or stream), encoding="utf-8", newline="")
    for frame in frames:
        if kind == "jsonl":
            text.writelines(json_lines(frame))
        else:
            mark = "\t" if kind == "tsv" else ","
            plain = quote_formulas(frame)
            plain.to_csv(text, sep=mark, index=False, header=not rows, lineterminator="\n")
        rows += len(frame)
    text.detach()
    if pack is not None:
        pack.close()
    return rows


def write_typed(frames: Iterable[pd.DataFrame], stream: BinaryIO, kind: str) -> int:
    """Write dataframes as Parquet, or as Arrow's file format, which is Feather's.

    The first says the types.
    """
    tables = (pa.Table.from_pandas(frame, preserve_index=False) for frame in frames)
    first = next(tables, None)
    if first is None:
        return 0
    schema, rows = first.schema.remove_metadata(), 0
    open_file = parquet.ParquetWriter if kind == "parquet" else ipc.new_file
    with open_file(stream, schema) as file:
        for table in chain([first], tables):
            file.write_table(cast_like(table.replace_schema_metadata(None), schema))
            rows += len(table)
    return rows


def cast_like(table: Any, schema: Any) -> Any:
    """Return a table with the types of the first; an error names those that differ."""
    try:
        return table.cast(schema)
    except pa.ArrowInvalid as error:
        pairs = zip(schema, table.schema, strict=True)
        types = [
            f"{one.name!r} is {one.type}, and later {other.type}"
            for one, other in pairs
            if one.type != other.type
        ]
        raise ValueError(
            f"each column of a file needs one type, but {'; '.join(types)}: {error}."
        ) from error


def quote_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with an apostrophe before each text or name that a spreadsheet would run."""
    frame = frame.copy(deep=False)
    for place, dtype in enumerate(frame.dtypes):
        if dtype.kind == "O":
            cells = frame.iloc[:, place].astype(object).map(quote_formula, na_action="ignore")
            frame.isetitem(place, cells)
    frame.columns = [quote_formula(name) for name in frame.columns]
    return frame


def quote_formula(cell: Any) -> Any:
    """Return a text with an apostrophe before it, if a spreadsheet would take it for a formula.

    Else the cell.
    """
    if not (isinstance(cell, str) and cell.startswith(FORMULA_STARTS)):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def json_lines(frame: pd.DataFrame) -> Iterator[str]:
    """Yield an object of JSON for each row.

    A missing cell is null, an array a list, any other value text.
    """

    def to_json(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray) else str(value)

    for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
        yield json.dumps(row, ensure_ascii=False, default=to_json) + "\n"


def concat_columns(columns: Mapping[str, Any], kept: pd.DataFrame) -> pd.DataFrame:
    """Return columns as a dataframe, right of those that are kept."""
    return pd.concat([kept.reset_index(drop=True), pd.DataFrame(dict(columns))], axis=1)


def to_text(frame: pd.DataFrame) -> str:
    """Return a table as text with aligned columns."""
    return frame.to_string(index=False, float_format=lambda value: f"{value:.4g}")
