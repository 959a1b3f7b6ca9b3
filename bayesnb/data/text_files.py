"""CSV and TSV: encodings, delimiters, quotes, lines that are not like the header; in memory and past it.

Arrow splits the text, single-threaded, two megabytes at a time, and every column is text until all of it, or its first
rows, were seen: so codes keep their zeros, and a type is decided once, for whole columns (`text_cells`). Where rows
stream past and the first of a column were real numbers, Arrow reads later ones as such at once, up to the first block
that could mean something else by the rules: from there on all columns are text again.

Why Arrow: pyarrow, Polars and DuckDB were tried on the tables of the tests. Polars fills short rows with missing cells,
does not end lines at a lone carriage return and refuses a quote within a cell; DuckDB's sniffer drops a header above
rows of another length, reads "" as missing, and takes three to five times as long. Arrow refuses ragged rows, reads all
ends of lines, keeps every cell as it stands, streams in bounded memory, and is the fastest (as text, two thirds of
pandas.read_csv's time). It also reads the typed formats.

What Arrow does not promise is left to the `csv` module of Python, which is strict and counts lines. It has the last
word: as soon as Arrow reports an error, or quotes stand where the two could differ (`CheckedText`), it goes on from the
first row that was not read yet. So tables with stray quotes are read slowly, and every message names its line.

Blanks around a cell mean nothing and are stripped. A blank line is not a row: a row whose only cell is empty is written
as "".
"""

import codecs
import csv
import io
import re
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute
from pyarrow import csv as arrow_csv

from bayesnb.data.sheets import MEANT, Batch, FileSheet, after, check_names, framed
from bayesnb.data.sources import Reading, Source
from bayesnb.data.text_cells import LARGE, MISSING, ColumnSummary, TextCells, layout, series_of
from bayesnb.numerics.threads import ahead, in_order, threads_of

Array = np.ndarray
DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
MARKED = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
BLANK = re.compile(r"\s")
BLOCK, ROWS = 1 << 21, 1 << 12  # bytes that Arrow splits at once, and rows that `csv` does
CACHED = 1 << 18  # bytes that stay near the processor
SNIFFED = 50  # records by which a delimiter is recognised


@dataclass(eq=False)
class Records:
    """The records of a delimited text: a header, and rows that are as long."""

    source: Source
    reading: Reading = field(default_factory=Reading)

    _lines: dict[int, int] = field(default_factory=dict)  # on which rows begin that were asked for

    @cached_property
    def encoding(self) -> str:
        marked = (name for mark, name in MARKED.items() if self.source.head.startswith(mark))
        return self.reading.encoding or next(marked, "utf-8")

    @cached_property
    def delimiter(self) -> str:
        """Delimiter of the cells: as the user says, a tab in a TSV, else the one that makes records of one length."""
        if self.reading.delimiter is not None or self.source.format == "tsv":
            return self.reading.delimiter or "\t"
        head = self.source.head
        lines = head.decode(self.encoding, errors="replace").splitlines(keepends=True)
        return sniffed(lines if len(head) < 1 << 16 or len(lines) < 2 else lines[:-1])

    @cached_property
    def header(self) -> tuple[str, ...]:
        """The names of the columns, each once."""
        with self._text() as text:
            names = next((row for _, row in self._records(text) if row), None)
        if names is None:
            raise ValueError(f"{self.source.name}: it is empty. A table begins with a line of column names.")
        names = [name.strip() for name in names]
        check_names(self.source.name, names)
        return tuple(names)

    def columns(self, rows: int, skip: int = 0) -> Iterator[list[list[str]]]:
        """Yield the cells of `rows` rows at a time, column by column, without blanks around them."""
        with self._text() as text:
            records = islice(self._rows(text), skip, None)
            while block := [row for _, row in islice(records, rows)]:
                columns = map(list, zip(*block, strict=True))
                yield [[cell.strip() for cell in cells] if BLANK.search("".join(cells)) else cells for cells in columns]

    def line_of(self, row: int) -> int:
        """Return the line on which a row begins."""
        if row not in self._lines:
            with self._text() as text:
                self._lines[row] = next(islice(self._rows(text), row, None))[0]
        return self._lines[row]

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
            f"{self.source.name}, line {line}: it has {fields}, but the header has {len(self.header)} "
            f"(separated by {between}). A field that contains {between} needs quotes; to set the separator: "
            "--delimiter."
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
                "below and is not closed: close it, or double it if it is part of a cell."
            )
        if "unexpected end" in message:
            return 'a quote (") opens here or below and is not closed. Close it, or double it if it is part of a cell.'
        return f'{message.replace("expected after", "is expected after")}. A quote (") in a quoted cell is doubled.'

    def _text(self) -> io.TextIOWrapper:
        try:
            return io.TextIOWrapper(self.source.open(), encoding=self.encoding, newline="")
        except LookupError:
            raise ValueError(
                f"the encoding {self.encoding!r} is not known; try --encoding latin-1 or cp1252."
            ) from None

    def _undecodable(self, error: UnicodeDecodeError) -> str:
        """Return where the first byte is that the encoding does not have."""
        advice = "Name the encoding: --encoding cp1252 (Windows), latin-1, utf-16, ..."
        if self.encoding.startswith("utf-8"):
            with self.source.open() as stream:
                for number, line in enumerate(stream, 1):
                    try:
                        line.decode("utf-8")
                    except UnicodeDecodeError as bad:
                        what = f"byte {bad.start + 1} of the line, 0x{line[bad.start]:02x}, is not UTF-8"
                        return f"{self.source.name}, line {number}: {what}. {advice}"
        return f"{self.source.name}: it is not {error.encoding}: {error.reason}. {advice}"


class CheckedText(io.RawIOBase):
    """The bytes of a text as UTF-8, up to where quotes in them might not mean the same to Arrow and to `csv`.

    They do if each opens at the beginning of a cell, closes at its end, or is doubled within it. There, or at bytes
    that cannot be decoded, the text ends: Arrow reads ahead, so that after how many rows an error reached it would
    depend on time.
    """

    def __init__(self, stream: Any, encoding: str, delimiter: str) -> None:
        self.stream = stream
        self.is_utf8 = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
        self.decoder = codecs.getincrementaldecoder("utf-8" if self.is_utf8 else encoding)()
        self.bounds = np.isin(np.arange(256), np.frombuffer(delimiter.encode() + b'\r\n"', np.uint8))
        self.is_plain, self.may_have_codes = True, delimiter in "./eE"
        self.is_first, self.is_open, self.has_just_closed = True, False, False
        self.last, self.waiting = b"\n\n", b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self.is_plain:
            try:
                data = self._decoded(size - 1)
                self._check(data)
            except UnicodeDecodeError:
                self.is_plain = False
        if not self.is_plain:
            return b""
        # Arrow drops an LF that begins a block after a CR that ends one, even within quotes: the CR waits for it.
        data, self.waiting = self.waiting + data, b""
        if len(data) > 1 and data.endswith(b"\r"):
            data, self.waiting = data[:-1], b"\r"
        return data

    def _decoded(self, size: int) -> bytes:
        if self.is_utf8:
            data = self.stream.read(size)
            if not (data and data.isascii() and self.decoder.getstate()[0] == b""):
                self.decoder.decode(data, final=not data)  # raises for bytes that are no UTF-8
        else:
            data = b""
            while not data and (raw := self.stream.read(max(size // 4, 4))):
                data = self.decoder.decode(raw).encode()
            data = data or self.decoder.decode(b"", final=True).encode()
        if self.is_first:
            data = data.removeprefix(codecs.BOM_UTF8)
            data = data.lstrip(b"\r\n") or data  # Arrow would take a blank line for the header
        self.is_first = False
        return data

    def _check(self, data: bytes) -> None:
        """Look at what stands before quotes that open, and after those that close; those within cells are doubled."""
        if not data:
            self.is_plain &= not self.is_open
            return
        if self.has_just_closed:
            self.is_plain &= bool(self.bounds[data[0]])
        self.has_just_closed = False
        block = np.frombuffer(self.last + data, np.uint8)
        self.may_have_codes = self.may_have_codes or has_led_zeros(block)
        if b'"' in data:
            quotes = np.flatnonzero(block[len(self.last) :] == ord('"')) + len(self.last)
            opening, closed = quotes[int(self.is_open) :: 2], quotes[1 - int(self.is_open) :: 2] + 1
            self.has_just_closed = len(closed) > 0 and bool(closed[-1] == len(block))
            inside = closed[: len(closed) - self.has_just_closed]
            self.is_plain &= bool(self.bounds[block[opening - 1]].all() and self.bounds[block[inside]].all())
            self.is_open ^= bool(len(quotes) % 2)
        self.last = (self.last + data[-2:])[-2:]


def has_led_zeros(data: Array) -> bool:
    """Return whether a digit follows a zero that no digit or point precedes, as in the code 007, and not in 1e-05."""
    zero, point = np.uint8(ord("0")), np.uint8(ord("."))
    for start in range(0, len(data), CACHED):
        part = data[start : start + CACHED + 2]
        led = part[1:-1] == zero
        led &= part[2:] - zero < 10
        led &= part[:-2] - point > ord("9") - ord(".")  # a slash stands between the two, and begins no cell
        if not led.any():
            continue
        before = np.flatnonzero(led)
        signs, letters = part[before], part[before - 1] | np.uint8(ord(" "))  # small ones
        exponents = (before > 0) & (letters == ord("e")) & ((signs == ord("-")) | (signs == ord("+")))
        if not exponents.all():
            return True
    return False


class UncertainError(Exception):
    """Arrow may split the text otherwise than Python's `csv`."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Neighbouring rows of a file, as text and as values of Arrow."""

    start: int  # rows before them
    text: Any
    values: Mapping[str, Any]

    @cached_property
    def types(self) -> list[Any]:
        """Types of the values, and which of them have missing cells."""
        return [(values.type, values.null_count > 0) for values in self.values.values()]


@dataclass(eq=False)
class TextSheet(FileSheet):
    """CSV and TSV, read once where that can be: what a column holds is decided by all rows, or by the first ones."""

    is_text = True
    default_missing = MISSING
    keeps_rows: bool = False  # whether what `looks` has read is kept for `read`
    head: int | None = None  # rows that decide what columns hold; None: all
    _kept: dict[str, Any] = field(default_factory=dict)
    _may_have_codes: bool = True  # whether one of the rows read so far may have digits after a leading zero

    @cached_property
    def records(self) -> Records:
        return Records(self.source, self.reading)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.records.header

    @cached_property
    def summaries(self) -> dict[str, ColumnSummary]:
        batches: list[list[tuple[ColumnSummary, Any]]] = []
        start = 0
        texts = self._texts(self.columns)
        if self.use_threads and self.source.size > BLOCK and threads_of(None) > 1:
            texts = ahead(texts)  # while a block is cast to numbers, Arrow splits the next
        with closing(texts):
            for batch in texts:
                batch = batch.slice(0, None if self.head is None else self.head - start)
                batches.append([self._summarized(column) for column in batch.columns])
                start += len(batch)
                if start == self.head:
                    break
        columns = zip(*batches, strict=True) if batches else [()] * len(self.columns)
        pieces = dict(zip(self.columns, columns, strict=True))
        summaries = {name: sum((summary for summary, _ in column), ColumnSummary()) for name, column in pieces.items()}
        if self.keeps_rows and start:
            self._kept = {name: stacked_pieces(pieces[name], summary.kind) for name, summary in summaries.items()}
        return summaries

    def _summarized(self, column: Any) -> tuple[ColumnSummary, Any]:
        """Return what a column of some rows looks like, and its values, if they are to be kept."""
        cells = self._cells(column)
        summary = cells.summarize()
        return summary, cells.values(summary.kind) if self.keeps_rows else None

    def _cells(self, column: Any) -> TextCells:
        """Return the cells of some rows of a column."""
        return TextCells(column, self.rules, self._may_have_codes)

    def _place(self, row: int) -> str:
        """Return where a row is: its line, unless rows are read only once."""
        return f"line {self.records.line_of(row)}" if self.head is None else f"row {row}"

    def read(self, kinds: Mapping[str, str]) -> Any:
        values, self._kept = self._kept, {}
        kept = {
            name: series_of(values[name], kind)
            for name, kind in kinds.items()
            if values.get(name) is not None and kind == self.summaries[name].kind
        }
        others = {name: kind for name, kind in kinds.items() if name not in kept}
        rows = super().read(others) if others or not kept else next(iter(kept.values()))
        return framed({name: kept[name] if name in kept else rows[name] for name in kinds}, len(rows))

    def parts(
        self, kinds: Mapping[str, str], rows: int, kept: Sequence[str], skip: int = 0, native: bool = False
    ) -> Iterator[Batch]:
        rows = self.most(rows)
        numbers = self._readable_numbers({*kinds} - {*kept}, kinds) if native else None
        pieces = self._pieces(kinds, rows, list(dict.fromkeys([*kinds, *kept])), skip, numbers)
        for group in together(pieces, rows) if native else ([piece] for piece in pieces):
            yield self._batch(group, kinds, kept)

    def _pieces(
        self, kinds: Mapping[str, str], rows: int, names: Sequence[str], skip: int, numbers: Collection[str] | None
    ) -> Iterator[Piece]:
        """Yield rows after the first `skip`, at most `rows` at a time, and no more than Arrow splits at once.

        With `numbers`, which may be none, columns of text are coded.
        """
        start = 0
        for batch in self._texts(names or self.columns[:1], numbers or ()):
            for at in range(0, len(batch), rows):
                part = batch.slice(at, rows)
                if start >= skip:
                    yield self._piece(start, part, kinds, coded=numbers is not None)
                start += len(part)

    def _readable_numbers(self, names: Collection[str], kinds: Mapping[str, str]) -> Collection[str]:
        """Return columns that Arrow may read as numbers at once; none where that is known to differ from the rules."""
        if self._may_have_codes or self.rules.has_missing_numbers or self.rules.decimal != ".":
            return ()
        return [name for name in names if kinds[name] == "number"]

    def _piece(self, start: int, part: Any, kinds: Mapping[str, str], *, coded: bool) -> Piece:
        def values(name: str) -> Any:
            if is_number(part.column(name)):
                return part.column(name)
            cells = self._cells(part.column(name))
            return cells.codes if coded and kinds[name] == "text" else self._values(name, start, cells, kinds[name])

        columns = in_order(values, list(kinds), None if self.use_threads else 1)
        return Piece(start, part, dict(zip(kinds, columns, strict=True)))

    def _batch(self, pieces: Sequence[Piece], kinds: Mapping[str, str], kept: Sequence[str]) -> Batch:
        """Return neighbouring rows as columns of pandas."""
        size = sum(len(piece.text) for piece in pieces)
        values = {name: in_one([piece.values[name] for piece in pieces]) for name in kinds}
        series = {name: series_of(column, kinds[name]) for name, column in values.items()}
        texts = {name: in_one([piece.text.column(name) for piece in pieces]) for name in kept}
        carried = {name: column.to_pandas().astype(object) for name, column in texts.items()}
        coded = frozenset(name for name, column in values.items() if pa.types.is_dictionary(column.type))
        return Batch(pieces[0].start, framed(series, size), framed(carried, size), frozenset(self.rules.missing), coded)

    def _values(self, name: str, start: int, cells: TextCells, kind: str) -> Any:
        """Return cells as an array of Arrow of this kind; an error names the first one that is not of it."""
        if name in self.guessed and kind != "text" and (row := cells.first_unlike(kind)) >= 0:
            raise ValueError(
                f"{self.name}, row {start + row}, column {name!r}: {cells.text[row].as_py()!r} is {MEANT[kind]}, "
                f"unlike the first rows. Name the kind of the column: kinds={{{name!r}: 'text'}}."
            )
        try:
            return cells.values(kind)
        except ValueError:
            row = cells.first_invalid(kind)
        cell, advice = cells.text[row].as_py(), ""
        if self.head is None and re.fullmatch(r"[+-]?\d*,\d+", cell):
            advice = " If that is a decimal comma, say that the decimal mark is ','."
        elif self.head is None:
            advice = " If that means that the cell is missing, list it among the `missing` texts."
        raise ValueError(
            f"{self.name}, {self._place(start + row)}, column {name!r}: {cell!r} is {MEANT[kind]}.{advice}"
        )

    def _texts(self, names: Sequence[str], numbers: Collection[str] = ()) -> Generator[Any]:
        """Yield columns as text without blanks around it, some rows at a time, from the first row on.

        Of these `numbers` are read as such at once, up to where a cell may be anything else.
        """
        start = 0
        try:
            for batch in self._split_by_arrow(names, numbers):
                yield batch
                start += len(batch)
        except UncertainError:
            if numbers:
                yield from after(start, self._texts(names))
                return
            self._may_have_codes = True
            places = [self.columns.index(name) for name in names]
            for columns in self.records.columns(ROWS, start):
                arrays = [pa.array(columns[place], pa.string()) for place in places]
                yield pa.record_batch(arrays, list(names))

    def _split_by_arrow(self, names: Sequence[str], numbers: Collection[str]) -> Iterator[Any]:
        """Yield columns of text, and of numbers, as long as nothing is uncertain; the first row is the header."""
        records = self.records
        places = [f"f{self.columns.index(name)}" for name in names]
        if len(records.delimiter.encode()) != 1:
            raise UncertainError
        options = (
            arrow_csv.ReadOptions(
                use_threads=False, block_size=BLOCK, autogenerate_column_names=True, skip_rows_after_names=1
            ),
            arrow_csv.ParseOptions(delimiter=records.delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(
                column_types={
                    place: pa.float64() if name in numbers else pa.string()
                    for place, name in zip(places, names, strict=True)
                },
                include_columns=places,
                null_values=list(self.rules.missing),  # of numbers: those of text stay
                check_utf8=False,
            ),
        )
        with self.source.open() as raw:
            text = CheckedText(raw, records.encoding, records.delimiter)
            try:
                for batch, is_last in with_last(arrow_csv.open_csv(text, *options)):
                    if (is_last and not text.is_plain) or (numbers and text.may_have_codes):
                        raise UncertainError
                    columns = [checked_numbers(c) if is_number(c) else stripped(c) for c in batch.columns]
                    self._may_have_codes = text.may_have_codes
                    yield pa.record_batch(columns, list(names))
            except pa.ArrowInvalid:
                raise UncertainError from None
            if not text.is_plain:  # there was no row before
                raise UncertainError


def with_last(batches: Iterable[Any]) -> Iterator[tuple[Any, bool]]:
    """Yield batches, and whether each is the last one: its last row may have been cut where a text ends early."""
    waiting = None
    for batch in batches:
        if waiting is not None:
            yield waiting, False
        waiting = batch
    if waiting is not None:
        yield waiting, True


def together(pieces: Iterator[Piece], rows: int) -> Iterator[list[Piece]]:
    """Yield pieces of a file in groups of at least `rows` rows: to learn from many at once takes less time.

    The first stays alone, and those whose types differ stay apart: whole numbers beside a missing cell are floats.
    """
    group: list[Piece] = []
    for piece in pieces:
        if group and piece.types != group[0].types:
            yield group
            group = []
        group.append(piece)
        if piece.start == 0 or sum(len(each.text) for each in group) >= rows:
            yield group
            group = []
    if group:
        yield group


def in_one(parts: Sequence[Any]) -> Any:
    """Return arrays of Arrow as one, of which codes mean the same in all."""
    return parts[0] if len(parts) == 1 else pa.chunked_array(parts).unify_dictionaries()


def stacked_pieces(pieces: Sequence[tuple[ColumnSummary, Any]], kind: str) -> Any:
    """Return the values of a column, of which batches are known; None if those of one were taken for another kind."""
    kinds = {summary.kind for summary, _ in pieces} - {"empty"}
    if kinds != {kind} and not kinds <= {"integer", "number"}:
        return None
    dtype = {"text": pa.string(), "flag": pa.bool_(), "integer": pa.int64()}.get(kind, pa.float64())
    values = [pa.nulls(len(part), dtype) if summary.kind == "empty" else part for summary, part in pieces]
    return pa.chunked_array([part if part.type == dtype else part.cast(dtype, safe=False) for part in values], dtype)


def is_number(column: Any) -> bool:
    """Return whether a column of Arrow was read as numbers."""
    return pa.types.is_floating(column.type)


def checked_numbers(column: Any) -> Any:
    """Return numbers as they are, unless their cells might mean something else: NaN, or very long whole numbers."""
    there = column.drop_null() if column.null_count else column
    values = there.to_numpy()
    if len(values) and not (values.min() > -LARGE and values.max() < LARGE):
        raise UncertainError
    return column


def stripped(column: Any) -> Any:
    """Return cells without blanks around them, none of which is longer than Python's `csv` takes them."""
    ends, data = layout(column)
    text = data[ends[0] :]
    if len(text) > csv.field_size_limit() and np.diff(ends).max() > csv.field_size_limit():
        raise UncertainError
    if not len(text) or (text.max() < 0x80 and text.min() > ord(" ")):  # most columns have no blank
        return column
    edges = data.take(ends[:-1], mode="clip"), data.take(ends[1:] - 1, mode="clip")
    may_have_blanks = text.max() >= 0x80 or any(edge.min() <= ord(" ") for edge in edges)
    return compute.utf8_trim_whitespace(column) if may_have_blanks else column


def sniffed(lines: list[str]) -> str:
    """Return the delimiter that makes most columns of the first records, all of them of one length."""
    lengths = {mark: widths(lines, mark) for mark in DELIMITERS}
    candidates = [mark for mark, sizes in lengths.items() if sizes and sizes[0] > 1]
    uniform = [mark for mark in candidates if len(set(lengths[mark])) == 1]
    return max(uniform or candidates, key=lambda mark: lengths[mark][0], default=",")


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
