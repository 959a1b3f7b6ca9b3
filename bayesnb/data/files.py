"""Tables in files, opened and written in every format, some rows at a time; a column of labels beside them."""

import gzip
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import ipc, parquet

from bayesnb.data.column_values import is_missing
from bayesnb.data.sheets import FileSheet
from bayesnb.data.sources import ENDINGS, TEXT, Reading, Source
from bayesnb.data.text_cells import CellRules, TextCells
from bayesnb.data.text_files import TextSheet
from bayesnb.data.typed import ArrowSheet, JsonSheet

Array = np.ndarray
PLAIN = Reading()
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
LABEL_ADVICE = "Drop those rows from the table, or give them a label."


def open_sheet(
    path: Any, reading: Reading = PLAIN, on_read: Callable[[int], Any] | None = None, *, whole: bool = True
) -> FileSheet:
    """Open the table in a file, `-` for standard input; `on_read` is called with the number of bytes that were read.

    One that is to be read as a whole has to fit into memory.
    """
    source = Source(str(path), reading.format, on_read or (lambda count: None), reading.encoding is not None)
    if whole:
        source.refuse_too_large()
    if source.format in ("csv", "tsv"):
        return TextSheet(source, reading, keeps_rows=whole)
    return (JsonSheet if source.format == "jsonl" else ArrowSheet)(source, reading)


def open_stream(
    path: Any, reading: Reading, on_read: Callable[[int], Any], head: int, use_threads: bool = True
) -> FileSheet | None:
    """Open a table of any size, read once; `head` rows of text say what columns hold. None for a text of no bytes."""
    source = Source(str(path), reading.format, on_read, reading.encoding is not None)
    if source.format == "jsonl":
        raise ValueError(f"{source.name}: JSON lines can only be read as a whole. Convert the table to Parquet or CSV.")
    if not source.head and source.format in TEXT:
        return None
    is_text = source.format in TEXT
    sheet = TextSheet(source, reading, use_threads, head=head) if is_text else ArrowSheet(source, reading, use_threads)
    sheet.summaries  # noqa: B018  (while the first bytes are there)
    source.forget_head()
    return sheet


def cell_kind(cells: Sequence[str]) -> str:
    """Return what cells of text look like; an empty one is missing."""
    return TextCells.of(cells, CellRules([""])).kind


def read_cells(cells: Sequence[str], kind: str) -> Any:
    """Return cells of text as a column of this kind."""
    return TextCells.of(cells, CellRules([""])).column(kind)


def read_file(path: Any, reading: Reading = PLAIN, kinds: Mapping[str, str] | None = None) -> Any:
    """Read a table in a file as a dataframe: CSV, TSV, Parquet, Arrow, Feather, JSON lines.

    Parameters
    ----------
    path : a file, or "-" for standard input
    reading : how, where that is not for the file to say
    kinds : what some columns hold, "number", "flag" or "text"; by default what all their cells look like
    """
    sheet = open_sheet(path, reading)
    return sheet.read({name: summary.kind for name, summary in sheet.summaries.items()} | dict(kinds or {}))


def read_text(text: str) -> Any:
    """Read the text of a CSV file as a dataframe."""
    return pd.read_csv(io.StringIO(text))


def split_labels(frame: Any, column: str) -> tuple[Any, Array]:
    """Return a dataframe without one column, and that column, which holds the labels."""
    table = nw.from_native(frame, eager_only=True)
    if column not in table.columns:
        raise ValueError(f"the table has no column {column!r}; it has {', '.join(map(repr, table.columns))}.")
    labels = table[column].to_numpy()
    missing = is_missing(labels)
    if missing.any():
        raise ValueError(
            f"column {column!r}: {missing.sum()} of {len(labels)} labels are missing, first at row "
            f"{missing.argmax()}. {LABEL_ADVICE}"
        )
    return table.drop(column).to_native(), labels


def format_of_name(name: str) -> str | None:
    """Return the format that a file's name means, None where it means none."""
    kind = ENDINGS.get(Path(name.lower().removesuffix(".gz")).suffix)
    return None if name.lower().endswith(".gz") and kind not in TEXT else kind


class Writer(ABC):
    """Writes rows below each other; all have the same columns."""

    @abstractmethod
    def write(self, frame: pd.DataFrame) -> None:
        """Write some rows."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file; the stream stays open."""


class TextWriter(Writer):
    """CSV, TSV and JSON lines, in UTF-8."""

    def __init__(self, stream: BinaryIO, kind: str, packed: bool) -> None:
        self.pack = gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) if packed else None
        self.text = io.TextIOWrapper(cast(BinaryIO, self.pack or stream), encoding="utf-8", newline="")
        self.kind, self.started = kind, False

    def write(self, frame: pd.DataFrame) -> None:
        if self.kind == "jsonl":
            self.text.writelines(json_lines(frame))
        else:
            mark = "\t" if self.kind == "tsv" else ","
            frame = without_formulas(frame)
            frame.to_csv(self.text, sep=mark, index=False, header=not self.started, lineterminator="\n")
        self.started = True

    def close(self) -> None:
        self.text.detach()
        if self.pack is not None:
            self.pack.close()


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with an apostrophe before each text, or name of a column, that a spreadsheet would run."""
    frame = frame.copy(deep=False)
    for place, dtype in enumerate(frame.dtypes):
        if dtype.kind == "O":
            cells = frame.iloc[:, place].astype(object).map(quote_formula, na_action="ignore")
            frame.isetitem(place, cells)
    frame.columns = [quote_formula(name) for name in frame.columns]
    return frame


def quote_formula(cell: Any) -> Any:
    """Return a text with an apostrophe before it, if a spreadsheet would take it for a formula; else the cell."""
    if not (isinstance(cell, str) and cell.startswith(FORMULA_STARTS)):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def json_lines(frame: pd.DataFrame) -> list[str]:
    """Return an object of JSON for each row; a missing cell is null, an array a list, any other value text."""

    def plain(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray) else str(value)

    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [json.dumps(row, ensure_ascii=False, default=plain) + "\n" for row in rows]


class ArrowWriter(Writer):
    """Parquet, and Arrow's file format, which is Feather's."""

    def __init__(self, stream: BinaryIO, kind: str) -> None:
        self.stream, self.kind = stream, kind
        self.file: Any = None
        self.schema: Any = None

    def write(self, frame: pd.DataFrame) -> None:
        table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
        if self.file is None:
            self.schema = table.schema  # that of the first rows
            start = parquet.ParquetWriter if self.kind == "parquet" else ipc.new_file
            self.file = start(self.stream, self.schema)
        self.file.write_table(self._like_the_first(table))

    def _like_the_first(self, table: Any) -> Any:
        try:
            return table.cast(self.schema)
        except pa.ArrowInvalid as error:
            pairs = [pair for pair in zip(self.schema, table.schema, strict=True) if pair[0].type != pair[1].type]
            types = "; ".join(f"{first.name!r} is {first.type}, and later {later.type}" for first, later in pairs)
            raise ValueError(f"each column of a file needs one type, but {types}: {error}.") from error

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


def open_writer(stream: BinaryIO, kind: str, packed: bool = False) -> Writer:
    """Return a writer of tables in this format."""
    return TextWriter(stream, kind, packed) if kind in TEXT else ArrowWriter(stream, kind)


def beside(columns: Mapping[str, Any], kept: Any = None) -> pd.DataFrame:
    """Return columns as a dataframe, right of those of another one."""
    frame = pd.DataFrame(dict(columns))
    return frame if kept is None else pd.concat([kept.reset_index(drop=True), frame], axis=1)


def aligned(frame: pd.DataFrame) -> str:
    """Return a table as text with aligned columns."""
    return frame.to_string(index=False, float_format=lambda value: f"{value:.4g}")
