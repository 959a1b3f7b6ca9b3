"""Tables in files, and a column of labels beside them."""

from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from bayesnb.data.column_values import is_missing
from bayesnb.data.sheets import FileSheet
from bayesnb.data.sources import TEXT, Reading, Source
from bayesnb.data.text_cells import CellRules, TextCells, kind_of
from bayesnb.data.text_files import TextSheet
from bayesnb.data.typed import ArrowSheet, JsonSheet

Array = np.ndarray
PLAIN = Reading()
LABEL_ADVICE = "Drop those rows from the table, or write a label of their own into them."


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


def open_stream(path: Any, reading: Reading, on_read: Callable[[int], Any], head: int) -> FileSheet | None:
    """Open a table of any size, read once; `head` rows of text say what columns hold. None for a text of no bytes."""
    source = Source(str(path), reading.format, on_read, reading.encoding is not None)
    if source.format == "jsonl":
        raise ValueError(f"{source.name}: JSON lines are read as a whole only: write the table as Parquet or CSV.")
    if not source.head and source.format in TEXT:
        return None
    is_typed = source.format in ("parquet", "arrow")
    sheet: FileSheet = ArrowSheet(source, reading) if is_typed else TextSheet(source, reading, head=head)
    sheet.summaries  # noqa: B018  (while the first bytes are there)
    source.forget_head()
    return sheet


def cell_kind(cells: Sequence[str]) -> str:
    """Return what cells of text look like; an empty one is missing."""
    return kind_of([cell for cell in cells if cell])


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
    return pd.read_csv(StringIO(text))


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
