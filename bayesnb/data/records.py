"""Delimited text as records: the encoding, the delimiter, and lines that are not like the header.

Blanks around a cell say nothing and are stripped.
A blank line is no row: a row whose only cell is empty is written as "".
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from bayesnb.data.sources import Source

DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
MARKED = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
BLANK = re.compile(r"\s")
SNIFFED = 50  # records by which a delimiter is recognised


@dataclass(frozen=True)
class Reading:
    """How a table in a file is to be read, where that is not for the file to say."""

    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str = "."
    missing: tuple[str, ...] | None = None  # None: those of `MISSING` in text, none elsewhere


@dataclass(frozen=True)
class Chunk:
    """Some rows of text: cells column by column, and the line on which each row begins."""

    start: int  # rows before it
    lines: list[int]
    columns: list[list[str]]


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
        """As the user says, a tab in a TSV, else the one that makes records of one length."""
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

    def chunks(self, rows: int) -> Iterator[Chunk]:
        """So many rows at once, each as long as the header; an error names the line of one that is not."""
        width, start = len(self.header), 0
        lines: list[int] = []
        held: list[list[str]] = []
        with self._text() as text:
            records = self._records(text)
            next(row for row in records if row[1])
            for line, row in records:
                if not row:
                    continue
                if len(row) != width:
                    raise ValueError(self._ragged(line, len(row)))
                lines.append(line)
                held.append(row)
                if len(held) == rows:
                    yield Chunk(start, lines, turned(held))
                    start, lines, held = start + rows, [], []
        if held or not start:
            yield Chunk(start, lines, turned(held) or [[] for _ in self.header])

    def _ragged(self, line: int, size: int) -> str:
        between = DELIMITERS.get(self.delimiter, repr(self.delimiter))
        fields = "1 field" if size == 1 else f"{size} fields"
        return (
            f"{self.source.name}, line {line}: it has {fields}, and the header has {len(self.header)} "
            f"(separated by {between}). A field with {between} in it needs quotes; another separator: --delimiter."
        )

    def _records(self, text: io.TextIOBase) -> Iterator[tuple[int, list[str]]]:
        """The line on which each record begins, and its cells."""
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
    def _advice(said: str) -> str:
        if "field larger" in said:
            return (
                f'a cell has more than {csv.field_size_limit():,} characters. Most likely a quote (") opens here or '
                "below and is never closed: close it, or double it if it is part of a cell."
            )
        if "unexpected end" in said:
            return (
                'a quote (") opens here or below and is never closed. Close it, or double it if it is part of a cell.'
            )
        return f'{said.replace("expected after", "is expected after")}. A quote (") in a quoted cell is doubled.'

    def _text(self) -> io.TextIOWrapper:
        try:
            return io.TextIOWrapper(self.source.open(), encoding=self.encoding, newline="")
        except LookupError:
            raise ValueError(f"there is no encoding {self.encoding!r}; try --encoding latin-1 or cp1252.") from None

    def _undecodable(self, error: UnicodeDecodeError) -> str:
        """Where the first byte is that the encoding does not have."""
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


def turned(rows: list[list[str]]) -> list[list[str]]:
    """Rows as columns, whose cells have no blanks around them."""
    columns = map(list, zip(*rows, strict=True))
    return [[cell.strip() for cell in own] if BLANK.search("".join(own)) else own for own in columns]


def check_names(name: str, columns: list[str]) -> None:
    """Raise for columns without a name, and for names that stand twice."""
    blank = [place for place, column in enumerate(columns, 1) if not column]
    if blank:
        raise ValueError(
            f"{name}: column {blank[0]} of {len(columns)} has no name in the header. Name it"
            + (", or write the table without its index." if blank == [1] else ".")
        )
    twice = [column for column, times in Counter(columns).items() if times > 1]
    if twice:
        raise ValueError(f"{name}: the header has the column {twice[0]!r} twice. Rename one of them.")


def sniffed(lines: list[str]) -> str:
    """The delimiter that makes most columns of the first records, all of them of one length."""
    found = {mark: widths(lines, mark) for mark in DELIMITERS}
    whole = [mark for mark, own in found.items() if own and own[0] > 1 and len(set(own)) == 1]
    if whole:
        return max(whole, key=lambda mark: found[mark][0])
    header = [mark for mark, own in found.items() if own and own[0] > 1]
    return max(header, key=lambda mark: found[mark][0], default=",")


def widths(lines: list[str], mark: str) -> list[int]:
    """How many cells the first records would have."""
    own: list[int] = []
    try:
        for row in csv.reader(lines, delimiter=mark, skipinitialspace=mark != "\t"):
            own += [len(row)] if row else []
            if len(own) == SNIFFED:
                break
    except csv.Error:
        return []
    return own


def looks_numeric(names: tuple[str, ...]) -> bool:
    """Whether a header looks like a row of data."""
    return len(names) > 1 and all(re.fullmatch(r"[+-]?[0-9.]+", name) for name in names)
