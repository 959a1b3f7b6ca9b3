"""Tables in files, read and written by Arrow: CSV, TSV, JSON lines (also with gzip), Parquet, Arrow
and Feather.

A table is read at once, or in batches of rows. The kinds of columns follow from their types or, in
CSV and TSV, from all cells or those of the first rows: see `kinds`.
"""

import codecs
import csv
import errno
import gzip
import io
import json
import os
import re
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import pandas as pd
import pyarrow as pa
from pyarrow import compute, ipc, parquet, types
from pyarrow import csv as arrow_csv
from pyarrow import json as arrow_json

from bayesnb.data.columns import DTYPES, Kinds, first_invalid, infer, kind_of_type, parse
from bayesnb.numerics.threads import in_order
from bayesnb.safe_output import quote_formula

Names = Sequence[str]
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
MAGIC = {  # a format, or a description of an unsupported file
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"PK\x03\x04": "a zip archive, such as a saved model or an Excel workbook: save a sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook: save the sheet as CSV",
    b"%PDF": "a PDF",
    b"BZh": "compressed by bzip2: decompress it, or use gzip",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: decompress it, or use gzip",
    b"\xfd7zXZ": "compressed by xz: decompress it, or use gzip",
}
GZIP_MAGIC = b"\x1f\x8b"
UTF16_MAGIC = b"\xff\xfe", b"\xfe\xff"
DELIMITERS = ",;\t|"
HEAD_BYTES = 1 << 20  # of a file, from which format and columns are inferred
SNIFFED_CHARACTERS = 1 << 16
SNIFFED_LINES = 50
QUOTED_CELL = re.compile(r'(^|[,;\t|]) *"(?:[^"]|"")*"', re.M)
TEXT_BLOCK = 1 << 23  # bytes of text parsed at once; each row must fit in
END = "\0end of the table"  # first cell of a sentinel row appended to a text
MAX_BATCH_ROWS = 1 << 16
COLUMN_BUFFER = 1 << 16  # bytes of a Parquet column read at once
INDEX_COLUMN = "__index_level_0__"  # pandas' name for an unnamed index
ADVICE = "If the file is damaged, download or write it again."


@dataclass(frozen=True)
class Reading:
    """How to read a table in a file, where the file does not say.

    Parameters
    ----------
    format : {"csv", "tsv", "parquet", "arrow", "jsonl"} or None, default=None
        None: from the first bytes, or from the extension.
    delimiter : str or None, default=None
        The character between cells of text. None: inferred from the first rows.
    encoding : str or None, default=None
        Encoding of text. None: UTF-8, or UTF-16 if the file begins with its byte order mark.
    decimal : str, default="."
        The decimal mark of numbers in text.
    missing : tuple of str or None, default=None
        Texts that stand for a missing cell. None: "", "NA", "NaN" and "?" in text files, none
        elsewhere.

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


# Bytes


@dataclass(eq=False)
class Source:
    """The bytes of a table, which can be read from the beginning any number of times."""

    path: str
    reading: Reading
    watch: Callable[[Any], Any] | None  # wraps a file so that a progress bar counts its reads

    @property
    def name(self) -> str:
        """Name of the table in messages."""
        return "standard input" if self.path == "-" else self.path

    @cached_property
    def _piped(self) -> bytes | None:
        """The content of a pipe, which can be read only once; None for a file."""
        if self.path != "-":
            path = Path(self.path)
            return path.read_bytes() if path.is_fifo() else None
        if sys.stdin is None:
            raise OSError(errno.EBADF, "it is closed", self.name)
        return sys.stdin.buffer.read()

    @property
    def size(self) -> int:
        """Number of bytes, perhaps compressed."""
        return os.stat(self.path).st_size if self._piped is None else len(self._piped)

    def open(self, *, counted: bool = True, seekable: bool = False) -> Any:
        """Return an Arrow stream of the decompressed bytes from the beginning."""
        piped = self._piped
        file: Any = io.FileIO(self.path) if piped is None else io.BytesIO(piped)
        is_packed = file.read(2) == GZIP_MAGIC
        file.seek(0)
        if counted and self.watch is not None:
            file = self.watch(file)
        if not is_packed:
            return pa.PythonFile(file, "r")
        stream = pa.input_stream(file, "gzip")
        return pa.BufferReader(stream.read()) if seekable else stream

    def read_head(self) -> bytes:
        """Return the first bytes, decompressed."""
        with named_errors(self.name), self.open(counted=False) as stream:
            return stream.read(HEAD_BYTES)

    @cached_property
    def format(self) -> str:
        """Format of the file: as given by the user, from the first bytes, or from the extension."""
        if self.reading.format is not None:
            return self.reading.format
        head = self.read_head()
        for magic, what in MAGIC.items():
            if head.startswith(magic):
                if " " in what:
                    raise ValueError(f"{self.name}: it is {what}.")
                return what
        if b"\0" in head and head[:2] not in UTF16_MAGIC and self.reading.encoding is None:
            raise ValueError(
                f"{self.name}: it is neither text nor Parquet nor Arrow. Supported formats are "
                "CSV, TSV, JSON lines, Parquet and Arrow."
            )
        start = head.removeprefix(codecs.BOM_UTF8).lstrip()
        if re.match(rb"\[\s*[\[{]", start):
            raise ValueError(
                f"{self.name}: it is one JSON array. Write JSON lines, with one object per line."
            )
        return format_of_name(self.path) or ("jsonl" if start.startswith(b"{") else "csv")


@contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Make Arrow's errors name the file, also MemoryError from a damaged size."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        if getattr(error, "errno", None) is not None:
            raise  # an error of the system, not of Arrow
        message = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise ValueError(f"{name}: it cannot be read: {message}. {ADVICE}") from error


# Tables


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table."""

    name: str  # of the file
    start: int  # number of rows before it
    frame: pd.DataFrame  # columns converted to the requested kinds
    kept: pd.DataFrame  # columns as they are in the file
    missing: Collection[str] | None  # texts in `kept` for missing cells; None if it has types

    @property
    def stop(self) -> int:
        return self.start + len(self.frame)

    @property
    def where(self) -> str:
        """Position of the rows, as the prefix of a message that counts from the first of them."""
        if not self.start:
            return self.name
        return f"{self.name}: rows {self.start} to {self.stop - 1}, counting from the first of them"

    def columns_to_write(self, kind: str) -> pd.DataFrame:
        """Return the kept columns for a file format: as they were for text, else with types."""
        if self.missing is None or kind in ("csv", "tsv"):
            return self.kept
        text = self.kept.mask(self.kept.isin(self.missing), None).astype("string")
        return text.assign(**self.frame[self.frame.columns.intersection(text.columns)])


class TableReader(ABC):
    """The table in a file, and constant columns from the names of its folders."""

    is_text: ClassVar[bool] = False  # whether cells are text, which may be read as any kind
    guessed: Collection[str] = ()  # columns whose kind was inferred from the first rows
    folder: Mapping[str, str | None] = {}  # constant columns, from the names of its folders

    def __init__(self, source: Source, use_threads: bool = True, head: int | None = None) -> None:
        self.source, self.use_threads, self.name = source, use_threads, source.name
        self.head = head  # rows of text that decide what columns hold; None: all
        self.missing = source.reading.missing
        if self.missing is None:
            self.missing = MISSING if self.is_text else ()

    @property
    @abstractmethod
    def schema(self) -> Any:
        """Names and types of the columns."""

    @abstractmethod
    def _batches(self, names: Names, rows: int) -> Iterator[Any]:
        """Yield record batches of columns as in the file, with about `rows` rows."""

    @cached_property
    def columns(self) -> Names:
        """Distinct names of the columns; those from folders are last."""
        with named_errors(self.name):
            names = [*self.schema.names, *self.folder]
        if not names:
            raise ValueError(f"{self.name}: it has no columns; at least one is needed.")
        if "" in names:
            raise ValueError(
                f"{self.name}: column {names.index('') + 1} of {len(names)} has no name in the "
                "header. Name it, or write the table without its index."
            )
        for column, times in Counter(names).items():
            if times > 1:
                raise ValueError(
                    f"{self.name}: the header names the column {column!r} twice. Rename one of the "
                    "two."
                )
        return names

    def reads_text(self, name: str) -> bool:
        """Return whether a column has no type, and may be read as any kind."""
        return self.is_text or name in self.folder

    @cached_property
    def kinds(self) -> Kinds:
        """The kinds of the columns."""
        return {name: kind_of_type(column.type) for name, column in self._looks.items()}

    @cached_property
    def _looks(self) -> dict[str, Any]:
        """Columns of the first rows, converted to the kind that their cells look like."""
        looks = {field.name: pa.nulls(0, field.type) for field in self.schema}
        for name, text in self.folder.items():
            looks[name] = self._infer(pa.array([text], pa.string()))
        return looks

    @property
    def dates(self) -> Collection[str]:
        """Columns with a type for dates or times."""
        return [field.name for field in self.schema if types.is_temporal(field.type)]

    def read(self, kinds: Kinds) -> pd.DataFrame:
        """Return all rows, with the columns of `kinds` in that order; raise if there are no
        rows.
        """
        with named_errors(self.name):
            table = self._whole(kinds)
            if table is not None:
                return self._frame(table, kinds, 0)
        raise ValueError(f"{self.name}: it has a header but no rows; at least one is needed.")

    def _whole(self, kinds: Kinds) -> Any:
        """Return all rows of some columns, or None."""
        return next(self._tables([*kinds], sys.maxsize), None)

    def _tables(self, names: Names, rows: int) -> Iterator[Any]:
        """Yield columns of the file and its folders, `rows` rows at a time."""
        in_file = [name for name in dict.fromkeys(names) if name not in self.folder]
        for table in regroup(self._batches(in_file or self.columns[:1], rows), rows):
            for name, text in self.folder.items():
                cells = pa.repeat(pa.scalar(text, pa.string()), len(table))
                table = table.append_column(name, cells)
            yield table

    def batches(self, kinds: Kinds, rows: int, keep: Kinds | None = None) -> Iterator[Batch]:
        """Yield `rows` rows at a time: columns converted to these kinds, and others to keep
        unchanged.

        The latter also have kinds, to which they are only widened.
        """
        start = 0
        keep = keep or {}
        with named_errors(self.name):
            for table in self._tables([*kinds, *keep], rows):
                frame = self._frame(table, kinds, start)
                kept = to_frame({name: widen(table[name], keep[name]) for name in keep})
                yield Batch(self.name, start, frame, kept, self.missing if self.is_text else None)
                start += len(table)

    def _frame(self, table: Any, kinds: Kinds, start: int) -> pd.DataFrame:
        return to_frame(
            {name: self._convert(name, table[name], kinds[name], start) for name in kinds}
        )

    def _convert(self, name: str, column: Any, kind: str, start: int) -> Any:
        """Convert a column to a kind; errors name the row, after `start` earlier rows."""
        present = kind_of_type(column.type)
        is_list = "words" in (kind, present)
        if not present or (is_list and present not in (kind, "empty")):
            raise ValueError(
                f"{self.name}: column {name!r} holds {column.type}, which cannot be read as "
                f"{kind}; convert it to numbers or text, or leave it out."
            )
        column = widen(column, kind)
        if present != "text":
            return column.cast(pa.string()) if kind == "text" else column
        if kind == "text":
            return self._clean(column)
        column = column.cast(pa.string())  # also the levels of a dictionary
        strict = name in self.guessed
        decimal = self.source.reading.decimal
        read = partial(parse, kind=kind, decimal=decimal, strict=strict)
        try:
            return self._parse(column, read)
        except pa.ArrowInvalid:
            column = self._clean(column)
            at = first_invalid(column, read)
        cell = column[at].as_py()
        problem = "is neither true nor false" if kind == "flag" else "is not a number"
        advice = (
            ". If that stands for a missing cell, list it among the `missing` texts; if it has a "
            "decimal comma, set the decimal mark to ','"
        )
        if strict:
            advice = f", unlike the first rows. Read the column as text: kinds={{{name!r}: 'text'}}"
        raise ValueError(
            f"{self.name}, row {start + at}, column {name!r}: {cell!r} {problem}{advice}."
        )

    def _infer(self, text: Any) -> Any:
        """Convert a column of text to the kind that all its cells look like."""
        try:
            return self._parse(text, partial(infer, decimal=self.source.reading.decimal))
        except pa.ArrowInvalid:
            return self._clean(text)

    def _parse(self, text: Any, read: Callable[[Any], Any]) -> Any:
        """Call `read` on cells, with missing ones as null."""
        if self.source.reading.missing is None:
            with suppress(pa.ArrowInvalid):  # most columns have neither blanks nor missing cells
                return read(text)
        return read(self._clean(text))

    def _clean(self, text: Any) -> Any:
        """Strip blanks around cells of text files, and replace missing cells by null."""
        if not (self.is_text or self.missing):
            return text
        cells = text.cast(pa.string())
        if self.is_text:
            cells = compute.utf8_trim_whitespace(cells)
        is_missing = compute.is_in(cells, pa.array(self.missing, pa.string()))
        return compute.if_else(is_missing, None, cells)


def regroup(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield tables with `rows` rows; the last may have fewer."""
    table: Any = None
    for batch in batches:
        part = pa.Table.from_batches([batch])
        table = part if table is None else pa.concat_tables([table, part])
        while len(table) >= rows:
            yield table.slice(0, rows)
            table = table.slice(rows)
    if table is not None and len(table):
        yield table


def widen(column: Any, kind: str) -> Any:
    """Convert a column to a type that pandas has: dates to text, decimals to floats.

    A column of nulls gets the type of the kind, and so do integers if the kind is "number".
    """
    dtype = column.type
    if types.is_null(dtype) or (types.is_integer(dtype) and kind == "number"):
        return column.cast(DTYPES[kind], safe=False)
    if types.is_temporal(dtype) and not types.is_duration(dtype):
        return compute.replace_substring_regex(column.cast(pa.string()), r"\.0+([+-].*|Z)?$", r"\1")
    return column.cast(pa.float64()) if types.is_decimal(dtype) else column


def to_frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Return columns of Arrow as a dataframe."""
    series = {name: to_series(column) for name, column in columns.items()}
    index = pd.RangeIndex(
        max(map(len, series.values()), default=0)
    )  # without it columns are copied
    return pd.DataFrame(series, index=index, copy=False)


def to_series(column: Any) -> pd.Series:
    """Convert an Arrow column to pandas.

    Integers and flags with missing cells keep an Arrow type, as NumPy has none.
    """
    has_gaps = column.null_count and kind_of_type(column.type) in ("integer", "flag")
    try:
        return column.to_pandas(types_mapper=pd.ArrowDtype if has_gaps else None)
    except ValueError:  # a dictionary with missing or repeated levels
        return column.cast(column.type.value_type).to_pandas().astype("category")


class EndedText(io.RawIOBase):
    """A text followed by a sentinel row, which is not a separate row if a quote is not closed."""

    def __init__(self, stream: Any, end: str) -> None:
        self.parts = [stream, io.BytesIO(end.encode())]

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self.parts[0].read(size) or self.parts[1].read(size)


class TextReader(TableReader):
    """CSV and TSV: the first line names the columns; blanks around cells are stripped."""

    is_text = True
    blank_rows = 0  # blank rows skipped so far
    wrong_size = ""  # message about a row with too many or too few fields

    @cached_property
    def encoding(self) -> str:
        """Name of the encoding, from the first bytes unless given."""
        default = "utf-16" if self.source.read_head()[:2] in UTF16_MAGIC else "utf-8"
        return self.source.reading.encoding or default

    @cached_property
    def _layout(self) -> tuple[str, int, list[str]]:
        """Delimiter, number of blank lines before the header, and names of the columns."""
        try:
            head = self.source.read_head().decode(self.encoding, "replace").removeprefix("\ufeff")
        except LookupError:
            raise ValueError(
                f"the encoding {self.encoding!r} is not known; try --encoding latin-1 or cp1252."
            ) from None
        lines = io.StringIO(head, newline="").readlines()
        blank = next((at for at, line in enumerate(lines) if line.strip()), None)
        if blank is None:
            raise ValueError(
                f"{self.name}: it is empty. A table begins with a line of column names."
            )
        delimiter = self.source.reading.delimiter
        if delimiter is None:
            delimiter = "\t" if self.source.format == "tsv" else sniff_delimiter(head)
        spaces = delimiter != "\t"
        records = csv.reader(lines[blank:], delimiter=delimiter, skipinitialspace=spaces)
        return delimiter, blank, [name.strip() for name in next(records)]

    @property
    def schema(self) -> Any:
        return pa.schema([(name, pa.string()) for name in self._layout[2]])

    @cached_property
    def _head(self) -> Any:
        """The first rows, or all; None if there are no rows."""
        return next(self._tables(self.columns, self.head or sys.maxsize), None)

    @cached_property
    def _looks(self) -> dict[str, Any]:
        if self._head is None:
            return dict.fromkeys(self.columns, pa.nulls(0))
        n_jobs = None if self.use_threads else 1
        columns = in_order(self._infer, self._head.columns, n_jobs)
        return dict(zip(self._head.column_names, columns, strict=True))

    def _whole(self, kinds: Kinds) -> Any:
        if self._head is None:
            return None
        columns = {}
        for name, kind in kinds.items():  # most are parsed already
            columns[name] = (self._looks if self.kinds[name] == kind else self._head)[name]
        return pa.table(columns)

    def _batches(self, names: Names, rows: int) -> Iterator[Any]:
        delimiter, blank, columns = self._layout
        names = list(dict.fromkeys([columns[0], *names]))
        end = f"\n{END}{delimiter * (len(columns) - 1)}\n"
        self.blank_rows = 0
        with self._named_rows(), self.source.open() as stream:
            if self.encoding != "utf-8":
                stream = pa.transcoding_input_stream(stream, self.encoding, "utf-8")
            batches = arrow_csv.open_csv(
                pa.PythonFile(EndedText(stream, end), "r"),
                arrow_csv.ReadOptions(
                    use_threads=False,
                    block_size=TEXT_BLOCK,
                    skip_rows=blank,
                    skip_rows_after_names=1,
                    column_names=columns,
                ),
                arrow_csv.ParseOptions(
                    delimiter=delimiter,
                    newlines_in_values=True,
                    invalid_row_handler=self._judge_row,
                ),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()), include_columns=names
                ),
            )
            for batch, after in pairwise(chain(batches, [None])):
                if after is not None:
                    yield batch
        if str(batch[0][-1]) != END:
            raise ValueError(
                f'{self.name}: a quote (") is opened and never closed. Close it, or double it if '
                "it is part of a cell."
            )
        yield batch[:-1]

    def _judge_row(self, row: Any) -> str:
        """Tell Arrow what to do with a row that has too many or too few fields."""
        if not row.text.strip():
            self.blank_rows += 1
            return "skip"
        delimiter, _, columns = self._layout
        size = row.actual_columns
        self.wrong_size = (
            f"it has {size} field{'s' * (size != 1)}, but the header has {len(columns)} "
            f"(separated by {delimiter!r}). A field that contains {delimiter!r} needs quotes; or "
            'a quote (") is not closed, or the delimiter is another one: --delimiter.'
        )
        return "error"

    @contextmanager
    def _named_rows(self) -> Iterator[None]:
        """Make errors name the file and the row, and say what to do."""
        try:
            yield
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            message = str(error).splitlines()[0]
            number = re.search(r"Row #(\d+)", message)
            place = ""
            if number is not None:
                place = f", row {int(number[1]) - self._layout[1] - self.blank_rows - 2}"
            if isinstance(error, UnicodeDecodeError) or "UTF8" in message:
                message = (
                    f"it is not {self.encoding.upper()}. Name the encoding: "
                    "--encoding cp1252 (Windows), latin-1, utf-16, ..."
                )
            raise ValueError(f"{self.name}{place}: {self.wrong_size or message}") from None


def sniff_delimiter(head: str) -> str:
    """Return the delimiter that gives the first lines equally many columns, and the most
    columns.
    """
    plain = QUOTED_CELL.sub(r"\1", head[:SNIFFED_CHARACTERS])
    lines = [line for line in plain.splitlines() if line.strip()][:SNIFFED_LINES]

    def rank(mark: str) -> tuple[bool, int]:
        counts = [line.count(mark) for line in lines] or [0]
        return 0 < min(counts) == max(counts), counts[0]

    return max(DELIMITERS, key=rank)


def refuse_missing_labels(name: str, labels: pd.Series, first_row: int = 0) -> None:
    """Raise for rows without a label."""
    missing = labels.isna().to_numpy()
    if missing.any():
        raise ValueError(
            f"{name}: column {labels.name!r}: {missing.sum()} of {len(labels)} labels are missing, "
            f"first at row {first_row + missing.argmax()}. Drop those rows from the table, or give "
            "them a label."
        )


class TypedReader(TableReader):
    """Formats with types: Parquet, the two Arrow formats (one is Feather), and JSON lines.

    JSON lines have one object per line, with columns as keys; absent keys are missing cells.
    """

    def _open(self, stream: Any) -> Any:
        if self.source.format == "jsonl":
            return read_json(stream.read())
        if self.source.format == "parquet":
            return parquet.ParquetFile(
                stream,
                buffer_size=COLUMN_BUFFER,
                pre_buffer=False,
                page_checksum_verification=True,
            )
        magic = stream.read(6)
        stream.seek(0)
        return ipc.open_file(stream) if magic == b"ARROW1" else ipc.open_stream(stream)

    @cached_property
    def schema(self) -> Any:
        with named_errors(self.name), self.source.open(counted=False, seekable=True) as stream:
            file = self._open(stream)
            schema = getattr(file, "schema_arrow", None) or file.schema
            place = schema.get_field_index(INDEX_COLUMN)
            return schema.remove(place) if place >= 0 else schema

    def _batches(self, names: Names, rows: int) -> Iterator[Any]:
        with self.source.open(seekable=True) as stream:
            file = self._open(stream)
            batches: Iterable[Any] = file
            if isinstance(file, parquet.ParquetFile):
                rows = min(rows, MAX_BATCH_ROWS)
                batches = file.iter_batches(rows, columns=names, use_threads=self.use_threads)
            elif isinstance(file, ipc.RecordBatchFileReader):
                batches = map(file.get_batch, range(file.num_record_batches))
            elif isinstance(file, pa.Table):
                batches = file.to_batches()
            for batch in batches:
                columns = batch.select(names)
                columns.validate(full=True)  # a wrong offset would crash the process
                yield columns


def read_json(data: bytes) -> Any:
    """Return JSON lines as an Arrow table; dates stay text, as JSON has no dates."""
    texts: list[Any] = []
    while True:
        table = arrow_json.read_json(
            pa.BufferReader(data),
            arrow_json.ReadOptions(block_size=len(data)),  # so that errors name the row
            arrow_json.ParseOptions(explicit_schema=pa.schema(texts)),
        )
        dates = [field for field in table.schema if types.is_temporal(field.type)]
        if not dates:
            return table
        texts = [field.with_type(pa.string()) for field in dates]


def open_reader(
    path: Any,
    reading: Reading = PLAIN,
    watch: Callable[[Any], Any] | None = None,
    *,
    use_threads: bool = True,
    head: int | None = None,
) -> TableReader:
    """Open the table in a file, `-` for standard input.

    Parameters
    ----------
    path : name of the file
    reading : how to read it, where the file does not say
    watch : wraps a file so that its reads are counted, for a progress bar
    use_threads : whether several threads may read it
    head : rows of text from which kinds of columns are inferred; None: all
    """
    source = Source(str(path), reading, watch)
    reader = TextReader if source.format in ("csv", "tsv") else TypedReader
    return reader(source, use_threads, head)


def read_file(path: Any, reading: Reading = PLAIN, kinds: Kinds | None = None) -> pd.DataFrame:
    """Read a table in a file as a dataframe: CSV, TSV, Parquet, Arrow, Feather, JSON lines.

    Parameters
    ----------
    path : a file, or "-" for standard input
    reading : how to read it, where the file does not say
    kinds : kinds of some columns, "number", "flag" or "text"; by default inferred from all cells
    """
    reader = open_reader(path, reading)
    return reader.read({**reader.kinds, **(kinds or {})})


def read_text(text: str) -> pd.DataFrame:
    """Read the text of a CSV file as a dataframe."""
    return pd.read_csv(io.StringIO(text))


def stack_frames(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate rows; categorical columns with different categories become text."""
    return pd.concat(frames, ignore_index=True)


def format_of_name(name: str) -> str | None:
    """Return the format given by the extension of a file, or None."""
    kind = FORMAT_OF_SUFFIX.get(Path(name.lower().removesuffix(".gz")).suffix)
    return None if name.lower().endswith(".gz") and kind not in TEXT_FORMATS else kind


# Writing


def write_frames(
    frames: Iterable[pd.DataFrame], stream: BinaryIO, kind: str, packed: bool = False
) -> int:
    """Write dataframes with the same columns one after another; return the number of rows.

    In JSON missing cells are null, and dates and times are text.
    """
    if kind not in TEXT_FORMATS:
        return write_typed(frames, stream, kind)
    rows = 0
    pack = gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) if packed else nullcontext(stream)
    with pack as file:
        for frame in frames:
            if kind == "jsonl":
                table = pa.Table.from_pandas(frame, preserve_index=False)
                encode = partial(json.dumps, ensure_ascii=False, default=str)
                text = "".join(f"{encode(row)}\n" for row in table.to_pylist())
            else:
                mark = "\t" if kind == "tsv" else ","
                plain = quote_formulas(frame)
                text = plain.to_csv(sep=mark, index=False, header=not rows, lineterminator="\n")
            file.write(text.encode())
            rows += len(frame)
    return rows


def write_typed(frames: Iterable[pd.DataFrame], stream: BinaryIO, kind: str) -> int:
    """Write dataframes as Parquet or Arrow (Feather), with the types of the first."""
    tables = (pa.Table.from_pandas(frame, preserve_index=False) for frame in frames)
    first = next(tables, None)
    if first is None:
        return 0
    schema = first.schema.remove_metadata()
    for place, field in enumerate(schema):
        if types.is_null(field.type):  # only missing text, in pandas 2
            schema = schema.set(place, field.with_type(pa.string()))
    rows = 0
    open_file = parquet.ParquetWriter if kind == "parquet" else ipc.new_file
    with open_file(stream, schema) as file:
        for table in chain([first], tables):
            file.write_table(pa.table(list(map(cast_like, schema, table.columns)), schema))
            rows += len(table)
    return rows


def cast_like(field: Any, column: Any) -> Any:
    """Cast a column to its type in the first table."""
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"a column of a file must have one type, but {field.name!r} is {field.type} at first "
            f"and {column.type} later: {error}."
        ) from error


def quote_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Add an apostrophe to each text or column name that a spreadsheet would run as a formula."""
    texts = frame.select_dtypes(exclude=["number", "bool"])
    return frame.assign(**texts.map(quote_formula)).rename(columns=quote_formula)
