"""CSV and TSV: encodings, delimiters, quotes, lines that are not like the header; in memory and past it.

Arrow splits the text, single-threaded, two megabytes at a time, and every column is text until all of it, or its first
rows, were seen: so codes keep their zeros, and a type is decided once, for whole columns (`text_cells`).

Why Arrow: pyarrow, Polars and DuckDB were tried on the tables of the tests. Polars fills short rows with missing cells,
does not end lines at a lone carriage return and refuses a quote within a cell; DuckDB's sniffer drops a header above
rows of another length, reads "" as missing, and takes three to five times as long. Arrow refuses ragged rows, reads all
ends of lines, keeps every cell as it stands, streams in bounded memory, and is the fastest (as text, two thirds of
pandas.read_csv's time). It also reads the typed formats.

What Arrow does not promise is left to the `csv` module of Python, which is strict and counts lines. It has the last
word: as soon as Arrow reports an error, or quotes stand where the two could differ (`CheckedText`), it goes on from the
first row that was not read yet. So tables with stray quotes are read slowly, and every message names its line.

Blanks around a cell mean nothing and are stripped. A blank line is no row: a row whose only cell is empty is written
as "".
"""

import codecs
import csv
import io
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute
from pyarrow import csv as arrow_csv

from bayesnb.data.sheets import MEANT, Batch, FileSheet, check_names, framed, nothing
from bayesnb.data.sources import Reading, Source, release
from bayesnb.data.text_cells import MISSING, ColumnSummary, TextCells, layout
from bayesnb.numerics.threads import in_order

DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
MARKED = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
BLANK = re.compile(r"\s")
BLOCK, ROWS = 1 << 21, 1 << 12  # bytes that Arrow splits at once, and rows that `csv` does
SNIFFED = 50  # records by which a delimiter is recognised


@dataclass(eq=False)
class Records:
    """The records of a delimited text: a header, and rows that are as long."""

    source: Source
    reading: Reading = field(default_factory=Reading)

    @cached_property
    def encoding(self) -> str:
        marked = (name for mark, name in MARKED.items() if self.source.head.startswith(mark))
        return self.reading.encoding or next(marked, "utf-8")

    @cached_property
    def delimiter(self) -> str:
        """Delimiter of the cells: as the user says, a tab in a TSV, else the one that makes records of one length."""
        if self.reading.delimiter is not None:
            return self.reading.delimiter
        return "\t" if self.source.format == "tsv" else sniffed(self._start)

    @property
    def _start(self) -> list[str]:
        """The first whole lines."""
        head = self.source.head
        lines = head.decode(self.encoding, errors="replace").splitlines(keepends=True)
        return lines if len(head) < 1 << 16 or len(lines) < 2 else lines[:-1]

    @cached_property
    def header(self) -> tuple[str, ...]:
        """The names of the columns, each once."""
        with self._text() as text:
            names = next((row for _, row in self._records(text) if row), None)
        if names is None:
            raise ValueError(f"{self.source.name}: it is empty; a table begins with the names of its columns.")
        names = [name.strip() for name in names]
        check_names(self.source.name, names)
        return tuple(names)

    def columns(self, rows: int, skip: int = 0) -> Iterator[list[list[str]]]:
        """Yield the cells of `rows` rows at a time, column by column; an error names the line of a ragged row."""
        with self._text() as text:
            records = islice(self._rows(text), skip, None)
            while held := [row for _, row in islice(records, rows)]:
                yield turned(held)

    def line_of(self, row: int) -> int:
        """Return the line on which a row begins."""
        if row not in self._lines:
            with self._text() as text:
                self._lines[row] = next(islice(self._rows(text), row, None))[0]
        return self._lines[row]

    @cached_property
    def _lines(self) -> dict[int, int]:
        return {}

    def _rows(self, text: io.TextIOBase) -> Iterator[tuple[int, list[str]]]:
        """Yield the line and the cells of every row below the header, which it has to be as long as."""
        records = ((line, row) for line, row in self._records(text) if row)
        next(records)
        for line, row in records:
            if len(row) != len(self.header):
                raise ValueError(self._ragged(line, len(row)))
            yield line, row

    def _ragged(self, line: int, size: int) -> str:
        between = DELIMITERS.get(self.delimiter, repr(self.delimiter))
        fields = "1 field" if size == 1 else f"{size} fields"
        return (
            f"{self.source.name}, line {line}: it has {fields}, and the header has {len(self.header)} "
            f"(separated by {between}). A field with {between} in it needs quotes; another separator: --delimiter."
        )

    def _records(self, text: io.TextIOBase) -> Iterator[tuple[int, list[str]]]:
        """Yield the line on which each record begins, and its cells."""
        reader = csv.reader(text, delimiter=self.delimiter, strict=True, skipinitialspace=self.delimiter != "\t")
        line = 1
        try:
            for row in reader:
                yield line, row
                line = reader.line_num + 1
        except csv.Error as error:
            raise ValueError(f"{self.source.name}, line {line}: {self._advice(str(error))}") from None
        except UnicodeDecodeError as error:
            raise ValueError(self._undecodable(error)) from None

    @staticmethod
    def _advice(message: str) -> str:
        if "field larger" in message:
            return (
                f'a cell has more than {csv.field_size_limit():,} characters. Most likely a quote (") opens here or '
                "below and is never closed: close it, or double it if it is part of a cell."
            )
        if "unexpected end" in message:
            return (
                'a quote (") opens here or below and is never closed. Close it, or double it if it is part of a cell.'
            )
        return f'{message.replace("expected after", "is expected after")}. A quote (") in a quoted cell is doubled.'

    def _text(self) -> io.TextIOWrapper:
        try:
            return io.TextIOWrapper(self.source.open(), encoding=self.encoding, newline="")
        except LookupError:
            raise ValueError(f"there is no encoding {self.encoding!r}; try --encoding latin-1 or cp1252.") from None

    def _undecodable(self, error: UnicodeDecodeError) -> str:
        """Return where the first byte is that the encoding does not have."""
        advice = "Say what it is: --encoding cp1252 (Windows), latin-1, utf-16, ..."
        if self.encoding.startswith("utf-8"):
            with self.source.open() as stream:
                for number, line in enumerate(stream, 1):
                    try:
                        line.decode("utf-8")
                    except UnicodeDecodeError as bad:
                        what = f"byte {bad.start + 1} of the line, 0x{line[bad.start]:02x}, is no UTF-8"
                        return f"{self.source.name}, line {number}: {what}. {advice}"
        return f"{self.source.name}: it is no {error.encoding}: {error.reason}. {advice}"


class CheckedText(io.RawIOBase):
    """The bytes of a text as UTF-8, which notes whether all quotes in them mean the same to Arrow and to `csv`.

    They do if each opens at the beginning of a cell, closes at its end, or is doubled within it.
    """

    def __init__(self, stream: Any, encoding: str, delimiter: str) -> None:
        self.stream = stream
        self.is_utf8 = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
        self.decoder = codecs.getincrementaldecoder("utf-8" if self.is_utf8 else encoding)()
        self.bounds = np.isin(np.arange(256), np.frombuffer(delimiter.encode() + b'\r\n"', np.uint8))
        self.is_plain = True
        self.is_first, self.is_open, self.has_just_closed = True, False, False
        self.last = b"\n"

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self.is_utf8:
            data = self.stream.read(size)
            if not (data and data.isascii() and self.decoder.getstate()[0] == b""):
                self.decoder.decode(data, final=not data)  # raises for bytes that are no UTF-8
        else:
            data = b""
            while not data and (raw := self.stream.read(max(size // 4, 4))):
                data = self.decoder.decode(raw).encode()
            data = data or self.decoder.decode(b"", final=True).encode()
        data = data.removeprefix(codecs.BOM_UTF8) if self.is_first else data
        self.is_first = False
        self._check(data)
        return data

    def _check(self, data: bytes) -> None:
        """Look at what stands before quotes that open, and after those that close; those within cells are doubled."""
        if not data:
            self.is_plain &= not self.is_open
            return
        if self.has_just_closed:
            self.is_plain &= bool(self.bounds[data[0]])
        self.has_just_closed = False
        if b'"' in data:
            block = np.frombuffer(self.last + data, np.uint8)
            quotes = np.flatnonzero(block[1:] == ord('"')) + 1
            closing = (np.arange(len(quotes)) + self.is_open) % 2 == 1
            after = quotes[closing] + 1
            self.has_just_closed = len(after) > 0 and bool(after[-1] == len(block))
            inside = after[: len(after) - self.has_just_closed]
            self.is_plain &= bool(self.bounds[block[quotes[~closing] - 1]].all() and self.bounds[block[inside]].all())
            self.is_open ^= bool(len(quotes) % 2)
        self.last = data[-1:]


class UncertainError(Exception):
    """Arrow may split the text otherwise than Python's `csv`."""


@dataclass(eq=False)
class TextSheet(FileSheet):
    """CSV and TSV, read once where that can be: what a column holds is decided by all rows, or by the first ones."""

    is_text = True
    default_missing = MISSING
    keeps_rows: bool = False  # whether what `looks` has read is kept for `read`
    head: int | None = None  # rows that decide what columns hold; None: all
    _kept: dict[str, pd.Series | None] = field(default_factory=dict)

    @cached_property
    def records(self) -> Records:
        return Records(self.source, self.reading)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.records.header

    @cached_property
    def summaries(self) -> dict[str, ColumnSummary]:
        pieces: dict[str, list[tuple[ColumnSummary, pd.Series | None]]] = {name: [] for name in self.columns}
        start = 0
        with closing(self._texts(self.columns)) as batches:
            for batch in batches:
                batch = batch.slice(0, None if self.head is None else self.head - start)
                for name, piece in zip(self.columns, self._summarized(batch, start), strict=True):
                    pieces[name].append(piece)
                start += len(batch)
                if start == self.head:
                    break
        summaries = {
            name: self._with_line(sum((summary for summary, _ in pieces[name]), ColumnSummary()))
            for name in self.columns
        }
        if self.keeps_rows and start:
            self._kept = {name: stacked_pieces(pieces.pop(name), summary.kind) for name, summary in summaries.items()}
        return summaries

    def _summarized(self, batch: Any, start: int) -> Iterator[tuple[ColumnSummary, pd.Series | None]]:
        """Yield what each column of some rows looks like, and the column, if it is to be kept."""
        for column in batch.columns:
            cells = TextCells(column, self.rules)
            summary = cells.summarize(start)
            yield summary, cells.column(summary.kind) if self.keeps_rows else None

    def _with_line(self, summary: ColumnSummary) -> ColumnSummary:
        """Return a summary that names its first cell that is no number by its line, not its row."""
        if summary.first_non_number is None:
            return summary
        row, cell = summary.first_non_number
        return replace(summary, first_non_number=(self.records.line_of(row), cell))

    def read(self, kinds: Mapping[str, str]) -> Any:
        columns, self._kept = self._kept, {}
        kept = {
            name: column
            for name, column in columns.items()
            if column is not None and kinds.get(name) == self.summaries[name].kind
        }
        others = {name: kind for name, kind in kinds.items() if name not in kept}
        if kept and not others:
            return framed({name: kept[name] for name in kinds}, len(next(iter(kept.values()))))
        rows = super().read(others)
        return framed({name: rows[name] if name in others else kept[name] for name in kinds}, len(rows))

    def parts(self, kinds: Mapping[str, str], rows: int, kept: Sequence[str], skip: int = 0) -> Iterator[Batch]:
        start, rows = 0, self.most(rows)
        for batch in self._texts(list(dict.fromkeys([*kinds, *kept])) or self.columns[:1]):
            for at in range(0, len(batch), rows):
                part = batch.slice(at, rows)
                if start >= skip:
                    yield self._batch(start, part, kinds, kept)
                    release()
                start += len(part)

    def _batch(self, start: int, part: Any, kinds: Mapping[str, str], kept: Sequence[str]) -> Batch:
        def column(name: str) -> pd.Series:
            return self._column(name, start, TextCells(part.column(name), self.rules), kinds[name])

        columns = in_order(column, list(kinds), None if self.use_threads else 1)
        series = dict(zip(kinds, columns, strict=True))
        texts = {name: part.column(name).to_pandas().astype(object) for name in kept}
        return Batch(start, framed(series, len(part)), framed(texts, len(part)), frozenset(self.rules.missing))

    def _column(self, name: str, start: int, cells: TextCells, kind: str) -> pd.Series:
        """Return cells as a column of this kind; an error names the first one that is not of it."""
        if name in self.guessed and kind != "text" and (row := cells.first_unlike(kind)) >= 0:
            raise ValueError(
                f"{self.name}, row {start + row}, column {name!r}: {cells.text[row].as_py()!r} is {MEANT[kind]}, "
                f"unlike what the first rows hold. Say what the column holds: kinds={{{name!r}: 'text'}}."
            )
        try:
            return cells.column(kind)
        except ValueError:
            row = cells.first_invalid(kind)
        where, advice = f"row {start + row}", ""
        if self.head is None:
            where = f"line {self.records.line_of(start + row)}"
            advice = " If it says that the cell is missing, name it in --missing."
        raise ValueError(
            f"{self.name}, {where}, column {name!r}: {cells.text[row].as_py()!r} is {MEANT[kind]}.{advice}"
        )

    def _texts(self, names: Sequence[str]) -> Generator[Any]:
        """Yield columns as text without blanks around it, some rows at a time, from the first row on."""
        start = 0
        try:
            for batch in self._split_by_arrow(names):
                yield batch
                start += len(batch)
        except UncertainError:
            places = [self.columns.index(name) for name in names]
            for columns in self.records.columns(ROWS, start):
                arrays = [pa.array(columns[place], pa.string()) for place in places]
                yield pa.record_batch(arrays, list(names))

    def _split_by_arrow(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield columns of text as long as nothing is uncertain; the first row is the header."""
        records = self.records
        places = [f"f{self.columns.index(name)}" for name in names]
        if len(records.delimiter.encode()) != 1:
            raise UncertainError
        with self.source.open() as raw:
            text = CheckedText(raw, records.encoding, records.delimiter)
            try:
                for number, batch in enumerate(arrow_csv.open_csv(text, *csv_options(records.delimiter, places))):
                    columns = [stripped(column) for column in batch.slice(number == 0).columns]
                    if not text.is_plain or any(map(has_long_cell, columns)):
                        raise UncertainError
                    yield pa.record_batch(columns, list(names))
                if not text.is_plain:
                    raise UncertainError
            except (pa.ArrowInvalid, UnicodeDecodeError):
                raise UncertainError from None


def stacked_pieces(pieces: Sequence[tuple[ColumnSummary, pd.Series | None]], kind: str) -> pd.Series | None:
    """Return a column of this kind of which batches are known, None if those of one batch were taken for another."""
    kinds = {summary.kind for summary, _ in pieces} - {"empty"}
    if kinds and kinds != {kind} and not kinds <= {"integer", "number"}:
        return None
    known = [(summary, piece) for summary, piece in pieces if piece is not None]
    series = [nothing(len(piece), kind) if summary.kind == "empty" else piece for summary, piece in known]
    return series[0] if len(series) == 1 else pd.concat(series, ignore_index=True)


def csv_options(delimiter: str, places: Sequence[str]) -> Sequence[Any]:
    """Return how Arrow reads these columns, all as text."""
    text = pa.string()
    return (
        arrow_csv.ReadOptions(use_threads=False, block_size=BLOCK, autogenerate_column_names=True),
        arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(places, text), include_columns=list(places), check_utf8=False
        ),
    )


def stripped(column: Any) -> Any:
    """Return cells without blanks around them; a column without any, which most are, as it is."""
    ends, data = layout(column)
    text = data[ends[0] :]
    has_blanks = len(text) and (text.min() <= ord(" ") or text.max() >= 0x80)
    return compute.utf8_trim_whitespace(column) if has_blanks else column


def has_long_cell(column: Any) -> bool:
    """Return whether a cell is longer than Python's `csv` takes them."""
    return len(column) > 0 and np.diff(layout(column)[0]).max() > csv.field_size_limit()


def turned(rows: list[list[str]]) -> list[list[str]]:
    """Return rows as columns, whose cells have no blanks around them."""
    columns = map(list, zip(*rows, strict=True))
    return [[cell.strip() for cell in cells] if BLANK.search("".join(cells)) else cells for cells in columns]


def sniffed(lines: list[str]) -> str:
    """Return the delimiter that makes most columns of the first records, all of them of one length."""
    lengths = {mark: widths(lines, mark) for mark in DELIMITERS}
    whole = [mark for mark, sizes in lengths.items() if sizes and sizes[0] > 1 and len(set(sizes)) == 1]
    if whole:
        return max(whole, key=lambda mark: lengths[mark][0])
    header = [mark for mark, sizes in lengths.items() if sizes and sizes[0] > 1]
    return max(header, key=lambda mark: lengths[mark][0], default=",")


def widths(lines: list[str], mark: str) -> list[int]:
    """Return how many cells the first records would have."""
    sizes: list[int] = []
    try:
        for row in csv.reader(lines, delimiter=mark, skipinitialspace=mark != "\t"):
            sizes += [len(row)] if row else []
            if len(sizes) == SNIFFED:
                break
    except csv.Error:
        return []
    return sizes


def looks_numeric(names: tuple[str, ...]) -> bool:
    """Return whether a header looks like a row of data."""
    return len(names) > 1 and all(re.fullmatch(r"[+-]?[0-9.]+", name) for name in names)
