"""Tables into files, some rows at a time: CSV, TSV, JSON lines, Parquet, Arrow; text also packed."""

import gzip
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import ipc, parquet

from bayesnb.data.sources import ENDINGS, TEXT


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
            frame.to_csv(self.text, sep=mark, index=False, header=not self.started, lineterminator="\n")
        self.started = True

    def close(self) -> None:
        self.text.detach()
        if self.pack is not None:
            self.pack.close()


def json_lines(frame: pd.DataFrame) -> list[str]:
    """Return an object of JSON for each row; a missing cell is null."""
    columns = [frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in frame.columns]
    rows = zip(*columns, strict=True)
    objects = (dict(zip(frame.columns, row, strict=True)) for row in rows)
    return [json.dumps(one, ensure_ascii=False, default=plain) + "\n" for one in objects]


def plain(value: Any) -> Any:
    """Return a value that JSON does not have as one it has: a list of an array, else text."""
    return value.tolist() if isinstance(value, np.ndarray) else str(value)


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
            both = [
                (first, new) for first, new in zip(self.schema, table.schema, strict=True) if first.type != new.type
            ]
            types = "; ".join(f"{first.name!r} is {first.type}, and later {new.type}" for first, new in both)
            raise ValueError(f"columns of one file have one type each, and {types}: {error}.") from error

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
