"""Delimited text past a machine's memory: split by Arrow, once, some megabytes at a time.

What columns hold is decided by the first rows, and each later cell has to look like that. Arrow turns cells into
numbers where that cannot differ from what `kinds` makes of them; all others are read by `kinds` itself.

It differs from `sheets.TextSheet` in this: a quote after a blank does not quote, and is an error; text after a closing
quote is taken, and belongs to the cell; a cell, and a row, are shorter than `CHUNK`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from bayesnb.data.column_kinds import Look, joined, kind_of
from bayesnb.data.sheets import MEANT, Batch, TextSheet, framed
from bayesnb.data.typed import Telling, is_of_arrow, pyarrow, release
from bayesnb.numerics.threads import in_order

CHUNK = 1 << 21  # bytes that are split at once
CODE = r"^[+-]?(?:0[0-9]|[0-9]{19,}$)"  # digits that are no number
QUOTE = "A field with a separator in it needs quotes, and each quote is to be closed, and doubled within a cell."


@dataclass(eq=False)
class StreamedText(TextSheet):
    """CSV and TSV, read once. The first rows, of as many as `head`, decide what columns hold."""

    head: int = 1 << 12

    @cached_property
    def looks(self) -> dict[str, Look]:
        missing, decimal = self.reader.missing, self.reader.decimal
        chunk = next(self.records.chunks(self.head))
        seen = [Look.at(cells, chunk.lines, missing, decimal) for cells in chunk.columns]
        return dict(zip(self.columns, seen, strict=True))

    def parts(self, kinds: Mapping[str, str], rows: int, kept: Sequence[str], skip: int = 0) -> Iterator[Batch]:
        start = 0
        for chunk in self._chunks(list(dict.fromkeys([*kinds, *kept])) or self.columns[:1]):
            for at in range(0, len(chunk), rows):
                part = chunk.slice(at, rows)
                if start >= skip:
                    yield self._batch(start, part, kinds, kept)
                start += len(part)

    def _batch(self, start: int, part: Any, kinds: Mapping[str, str], kept: Sequence[str]) -> Batch:
        def cells(name: str) -> RawCells:
            return RawCells(self, name, start, part.column(name))

        columns = in_order(lambda name: cells(name).read(kinds[name]), list(kinds), None if self.use_threads else 1)
        series = dict(zip(kinds, columns, strict=True))
        texts = {name: cells(name).text.to_pandas().astype(object) for name in kept}
        release()
        return Batch(start, framed(series, len(part)), framed(texts, len(part)), self.reader.missing)

    def _chunks(self, names: Sequence[str]) -> Iterator[Any]:
        """Some columns as text, as it stands in the file; the first row is the header."""
        places = [f"f{self.columns.index(name)}" for name in names]
        with Splitting(self.name), self.source.open() as stream:
            reader = pyarrow("csv").open_csv(stream, *self._options(places))
            for number, chunk in enumerate(reader):
                yield chunk.slice(number == 0).rename_columns(list(names))

    def _options(self, places: Sequence[str]) -> Sequence[Any]:
        csv, text = pyarrow("csv"), pyarrow().string()
        encoding = self.records.encoding.removesuffix("-sig")
        return (
            csv.ReadOptions(use_threads=False, block_size=CHUNK, encoding=encoding, autogenerate_column_names=True),
            csv.ParseOptions(delimiter=self.records.delimiter, newlines_in_values=True),
            csv.ConvertOptions(column_types=dict.fromkeys(places, text), include_columns=list(places)),
        )


class Splitting(Telling):
    """Names the file in errors about its text."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if is_of_arrow(error):
            raise ValueError(f"{self.name}: it cannot be read: {str(error).strip():.300}. {QUOTE}") from error


@dataclass(frozen=True, eq=False)
class RawCells:
    """Cells of a column as they stand in the file."""

    sheet: StreamedText
    name: str
    start: int  # rows before them
    raw: Any

    @cached_property
    def text(self) -> Any:
        """The cells without blanks around them."""
        compute = pyarrow("compute")
        text = compute.utf8_trim_whitespace(self.raw)
        quoted = compute.and_(compute.starts_with(text, '"'), compute.not_equal(text, self.raw))
        row = quoted.index(True).as_py()
        if row >= 0:
            raise ValueError(
                f"{self.where(row)}: in {self.raw[row].as_py()!r} a quote stands after a blank, where it does not "
                "quote. Write the table without blanks before quotes, or as Parquet."
            )
        return text

    @cached_property
    def there(self) -> Any:
        """The cells, null where missing."""
        pa, compute = pyarrow(), pyarrow("compute")
        gone = compute.is_in(self.text, pa.array(sorted(self.sheet.reader.missing), pa.string()))
        return compute.if_else(gone, pa.scalar(None, pa.string()), self.text)

    def where(self, row: int) -> str:
        return f"{self.sheet.name}, row {self.start + row}, column {self.name!r}"

    def read(self, kind: str) -> pd.Series:
        """The cells as a column of this kind, or an error that names the first one that is not of it."""
        fast = {"text": self.there.to_pandas, "flag": self._flags, "integer": self._integers}.get(kind, self._numbers)
        found = fast()
        return self._slow(kind) if found is None else found

    def _flags(self) -> pd.Series | None:
        pa, compute = pyarrow(), pyarrow("compute")
        lower = compute.utf8_lower(self.there)
        known = compute.or_(compute.is_in(lower, pa.array(["true", "false"])), lower.is_null())
        if not compute.all(known).as_py():
            return None
        flags = compute.equal(lower, "true")
        return pd.Series(pd.BooleanDtype().__from_arrow__(flags)) if flags.null_count else flags.to_pandas()

    def _integers(self) -> pd.Series | None:
        whole = None if self.there.null_count or self._has_codes else self._cast("int64")
        return self._numbers() if whole is None else whole.to_pandas()

    def _numbers(self) -> pd.Series | None:
        """Numbers, where Arrow reads them as `kinds` does."""
        numbers = None if self.sheet.reader.decimal != "." or self._has_codes else self._cast("double")
        compute = pyarrow("compute")
        return None if numbers is None or compute.any(compute.is_nan(numbers)).as_py() else numbers.to_pandas()

    def _cast(self, kind: str) -> Any:
        try:
            return self.there.cast(kind)
        except pyarrow().ArrowInvalid:
            return None

    @cached_property
    def _has_codes(self) -> bool:
        compute = pyarrow("compute")
        return bool(compute.any(compute.match_substring_regex(self.text, CODE)).as_py())

    def _slow(self, kind: str) -> pd.Series:
        """The cells one by one, which have to look like the first rows' unless someone has said what they are."""
        cells, reader = self.text.to_pylist(), self.sheet.reader
        if self.name in self.sheet.guessed:
            self._refuse_unlike(cells, kind)
        kind = kind if kind == "flag" else "number"
        try:
            return reader.series(cells, kind)
        except ValueError:
            row = reader.bad(cells, kind)
        raise ValueError(f"{self.where(row)}: {cells[row]!r} is {MEANT[kind]}.")

    def _refuse_unlike(self, cells: list[str], kind: str) -> None:
        reader = self.sheet.reader

        def is_unlike(some: list[str]) -> bool:
            return (
                joined(kind, kind_of([cell for cell in some if cell not in reader.missing], reader.decimal)) == "text"
            )

        if is_unlike(cells):
            row = next(row for row, cell in enumerate(cells) if is_unlike([cell]))
            raise ValueError(
                f"{self.where(row)}: {cells[row]!r} is {MEANT[kind]}, unlike what the first rows hold. Say what "
                f"the column holds: kinds={{{self.name!r}: 'text'}}."
            )
