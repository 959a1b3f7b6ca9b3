"""Tables in several files, read as one: their columns, what those hold, and batches of rows."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

from bayesnb.data import FileSheet, Reading, cell_kind, joined, nothing, open_stream, read_cells
from bayesnb.integrations.listing import File, files_of

BYTES, FEWEST = 1 << 23, 1 << 21  # of a batch: fewer for many columns, as each has buffers of its own
COLUMN = 1 << 17  # bytes that each takes from a batch
HOLDS = {"text": "text", "flag": "true and false", "integer": "numbers", "number": "numbers", "empty": "nothing"} | {
    "words": "lists of words"
}
LEAST, MOST = 1 << 8, 1 << 16  # rows of a batch
HEAD, FEW = 1 << 12, 1 << 6  # rows by which columns of text are known: of one file, and of each of many


@dataclass(frozen=True, eq=False)
class FileBatch:
    """Some rows of a file."""

    file: int  # its place among the files
    name: str
    start: int  # rows of the file before these
    frame: Any
    kept: Any

    @property
    def stop(self) -> int:
        return self.start + len(self.frame)

    @property
    def where(self) -> str:
        """Place of the rows, in messages."""
        return where(self.name, self.start, len(self.frame))


@dataclass(frozen=True, eq=False)
class TableFiles:
    """Files with the same columns, as far as those are needed. Files that are empty are none."""

    files: Sequence[File]
    sheets: Sequence[FileSheet]

    @classmethod
    def open(cls, paths: Any, reading: Reading, on_read: Any, *, use_threads: bool) -> "TableFiles":
        files = files_of(paths)
        head = max(HEAD // len(files), FEW)
        sheets = [open_stream(file.path, reading, on_read, head) for file in files]
        there = [(file, sheet) for file, sheet in zip(files, sheets, strict=True) if sheet is not None]
        if not there:
            raise ValueError(f"{str(files[0].path)!r}: there is no row to read: every file is empty.")
        tables = cls([file for file, _ in there], [sheet for _, sheet in there])
        for sheet in tables.sheets:
            sheet.use_threads = use_threads
        return tables

    @property
    def name(self) -> str:
        """Name of the first file, by which messages call the table."""
        return self.sheets[0].name

    def is_text(self, name: str) -> bool:
        """Return whether a column has no type anywhere."""
        return name not in self.inside or all(sheet.is_text for sheet in self.sheets)

    @property
    def size(self) -> int:
        """Number of bytes, as they lie."""
        return sum(sheet.source.size for sheet in self.sheets)

    @property
    def inside(self) -> tuple[str, ...]:
        """Names of the columns in the files, in the order of the first."""
        return self.sheets[0].columns

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns: those that the names of folders hold are the last."""
        return (*self.inside, *self.files[0].cells)

    def check_same(self, needed: Collection[str] | None = None) -> None:
        """Raise for a file without a column that is needed; None: for one whose columns are not those of the first."""
        first = self.sheets[0]
        for sheet in self.sheets:
            lacks = [name for name in first.columns if name not in sheet.columns and name in (needed or first.columns)]
            extra = [name for name in sheet.columns if name not in first.columns and needed is None]
            if lacks or extra:
                what = [f"lacks {listed(lacks)}"] * bool(lacks) + [f"also has {listed(extra)}"] * bool(extra)
                raise ValueError(
                    f"{sheet.name} {' and '.join(what)}, unlike {first.name}: files need the same columns."
                )
        twice = [name for name in self.files[0].cells if name in first.columns]
        if twice:
            raise ValueError(f"the column {twice[0]!r} is both in {first.name} and in the name of its folder.")

    def check_there(self, names: Sequence[str], whose: str) -> None:
        """Raise for columns that are not there."""
        lacks = [name for name in names if name not in self.columns]
        if lacks:
            raise ValueError(f"{whose}: {self.name} has no column {lacks[0]!r}; it has {listed(self.columns, 20)}.")

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Kind of each column: what it looks like in all files."""
        kinds: dict[str, str] = {}
        for name in self.inside:
            kinds[name] = "empty"
            for sheet in self.sheets:
                if name in sheet.columns:
                    kinds[name] = joined(kinds[name], sheet.summaries[name].kind)
        for name in self.files[0].cells:
            kinds[name] = cell_kind([file.cells[name] for file in self.files])
        return kinds

    def check_kinds(self, kinds: Mapping[str, str]) -> None:
        """Raise for a file whose columns have other types than those of the others."""
        for name, kind in kinds.items():
            for sheet in self.sheets if name in self.inside else ():
                present = sheet.summaries[name].kind
                if not sheet.is_text and present not in (kind, "empty") and joined(present, kind) == "text":
                    others = (other for other in self.sheets if other.summaries[name].kind not in (present, "empty"))
                    contrary = next(
                        (other for other in others if joined(other.summaries[name].kind, present) == "text"), None
                    )
                    unlike = (
                        f"{kind}s are needed"
                        if contrary is None
                        else f"in {contrary.name} {HOLDS[contrary.summaries[name].kind]}"
                    )
                    raise ValueError(
                        f"{sheet.name}: column {name!r} holds {HOLDS[present]}, and {unlike}. Say what it is: "
                        f"kinds={{{name!r}: {kind!r}}}."
                    )

    def guess(self, names: Collection[str]) -> None:
        """Expect these columns to hold in all rows what the first rows of text look like."""
        for sheet in self.sheets:
            sheet.guessed = names

    def batches(
        self, kinds: Mapping[str, str], rows: int, kept: Sequence[str] = (), after: tuple[int, int] = (0, 0)
    ) -> Iterator[FileBatch]:
        """Yield all rows of all files, in their order, after some files and some rows of the next."""
        inside = {name: kind for name, kind in kinds.items() if name in self.inside}
        keep = [name for name in kept if name in self.inside]
        for place in range(after[0], len(self.files)):
            sheet, cells = self.sheets[place], self.files[place].cells
            for part in sheet.parts(inside, rows, keep, after[1] if place == after[0] else 0):
                folder = {name: read_cells([cell] * len(part), kinds.get(name, "text")) for name, cell in cells.items()}
                frame = beside_folder(part.frame, folder, list(kinds))
                also = beside_folder(self._carried(sheet, part.kept_for("parquet")), folder, kept) if kept else None
                yield FileBatch(place, sheet.name, part.start, frame, also)

    def _carried(self, sheet: FileSheet, kept: Any) -> Any:
        """Return columns of a file, which may be narrower than in others, as all files need them."""
        columns = {}
        for name in () if sheet.is_text else kept.columns:
            kind = sheet.summaries[name].kind
            if kind == "empty":
                columns[name] = nothing(len(kept), self.kinds[name])
            elif (kind, self.kinds[name]) == ("integer", "number"):
                columns[name] = kept[name].astype(float)
        return kept.assign(**columns) if columns else kept

    def rows_at_once(self, kinds: Mapping[str, str]) -> int:
        """Return how many rows make a batch of a few megabytes, by the first rows there are."""
        for batch in self.batches(kinds, LEAST):
            each = batch.frame.memory_usage(index=False).sum() / len(batch.frame)
            whole = max(BYTES - COLUMN * len(kinds), FEWEST)
            return int(min(max(whole / max(each, 1), LEAST), MOST))
        return LEAST


def where(name: str, start: int, rows: int) -> str:
    """Return the place of some rows, before a message about them that counts from the first of these."""
    return f"{name}: rows {start} to {start + rows - 1}, counted from there" if start else name


def beside_folder(frame: Any, folder: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return columns of a file, and those that the names of its folders hold, in an order."""
    columns = {name: folder[name] for name in names if name in folder}
    return frame.assign(**columns)[list(names)] if columns else frame


def names_of(columns: Any) -> list[str]:
    """Return the names of columns as a list, each once; one may stand alone."""
    names = [] if columns is None else [columns] if isinstance(columns, str) else list(columns)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"columns: {twice[0]!r} is named twice.")
    return names


def refuse_rows(batch_rows: Any) -> None:
    """Raise for what is no number of rows."""
    if batch_rows is not None and (isinstance(batch_rows, bool) or not isinstance(batch_rows, Integral)):
        raise TypeError(f"batch_rows must be a whole number of rows, got {batch_rows!r}.")
    if batch_rows is not None and batch_rows < 1:
        raise ValueError(f"batch_rows must be at least 1, got {batch_rows!r}.")


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return some names as text, and how many there are more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
