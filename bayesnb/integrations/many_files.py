"""Tables in several files, read as one: which files, their columns, what those hold, and batches of rows."""

import glob
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import takewhile
from numbers import Integral
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from bayesnb.data import (
    FileSheet,
    Reading,
    cell_kind,
    format_of_name,
    joined,
    nothing,
    open_stream,
    read_cells,
    stacked,
)
from bayesnb.data.declaration import near_columns
from bayesnb.data.sources import release
from bayesnb.formatting import list_names, quote

NONE = "__HIVE_DEFAULT_PARTITION__"  # a missing cell, in the name of a folder
BYTES, FEWEST = 1 << 23, 1 << 21  # of a batch: fewer for many columns, as each has buffers of its own
COLUMN = 1 << 17  # bytes that each takes from a batch
HOLDS = {"text": "text", "flag": "true and false", "integer": "numbers", "number": "numbers", "empty": "nothing"} | {
    "words": "lists of words"
}
RELEASED = 8  # batches after which Arrow gives memory back: to ask for it anew takes as long as to read into it
LEAST, MOST = 1 << 8, 1 << 16  # rows of a batch
HEAD, FEW = 1 << 12, 1 << 6  # rows by which columns of text are known: of one file, and of each of many


@dataclass(frozen=True)
class File:
    """A file, and the columns that the names of its folders hold, as text: `year=2026/`."""

    path: Path
    cells: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def below(cls, root: Path, path: Path) -> "File":
        parts = (part.split("=", 1) for part in path.parent.relative_to(root).parts if "=" in part)
        return cls(path, {unquote(name): "" if value == NONE else unquote(value) for name, value in parts})

    @property
    def stamp(self) -> list[Any]:
        """Values that differ between files, and between states of one file."""
        state = self.path.stat()
        return [str(self.path.resolve()), state.st_size, state.st_mtime_ns]


def files_of(paths: Any) -> list[File]:
    """Return the files of a name, a folder, a pattern, or several of those; an error for none, or one named twice."""
    if isinstance(paths, str) and not paths:
        raise FileNotFoundError("there are no files to read: `paths` is an empty text.")
    several = paths if isinstance(paths, Iterable) and not isinstance(paths, (str, bytes)) else [paths]
    files = [file for path in several for file in _files(Path(path))]
    if not files:
        raise ValueError("there are no files to read: `paths` is empty.")
    path, times = Counter(file.path.resolve() for file in files).most_common(1)[0]
    if times > 1:
        raise ValueError(f"the file {str(path)!r} is named {times} times: its rows would count as often.")
    keys = {tuple(file.cells) for file in files}
    if len(keys) > 1:
        each = " and ".join(", ".join(map(repr, key)) or "none" for key in sorted(keys))
        raise ValueError(f"the names of folders give different columns for different files: {each}.")
    return files


def _files(path: Path) -> list[File]:
    """Return the files of one name; other readers of folders skip hidden ones too: _SUCCESS, .part, _temporary/..."""
    if path.is_dir():
        inside = [file for file in sorted(path.rglob("*")) if file.is_file() and format_of_name(file.name) is not None]
        files = [
            File.below(path, file)
            for file in inside
            if not any(part.startswith(("_", ".")) for part in file.relative_to(path).parts)
        ]
    elif path.exists():
        files = [File(path)]
    elif glob.has_magic(str(path)):
        root = Path(*takewhile(lambda part: not glob.has_magic(part), path.parts[:-1]))
        matches = map(Path, sorted(glob.glob(str(path), recursive=True)))
        files = [File.below(root, file) for file in matches if file.is_file()]
    else:
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}.")
    if not files:
        raise FileNotFoundError(f"{str(path)!r}: there is no Parquet, Arrow or CSV file there.")
    return files


@dataclass(frozen=True, eq=False)
class FileBatch:
    """Some rows of a file."""

    file: int  # its place among the files
    name: str
    start: int  # rows of the file before these
    frame: Any
    kept: Any
    coded: frozenset[str] = frozenset()  # columns of text that are there as categories

    @property
    def stop(self) -> int:
        return self.start + len(self.frame)

    def cut(self, rows: int) -> Iterator["FileBatch"]:
        """Yield the first rows, and the others if there are any."""
        yield replace(self, frame=self.frame.iloc[:rows])
        if len(self.frame) > rows:
            yield replace(self, start=self.start + rows, frame=self.frame.iloc[rows:].reset_index(drop=True))

    @property
    def where(self) -> str:
        """Place of the rows, in messages."""
        return where(self.name, self.start, len(self.frame))


@dataclass(frozen=True, eq=False)
class TableFiles:
    """Files with the same columns, as far as those are needed. Empty files are not among them."""

    files: Sequence[File]
    sheets: Sequence[FileSheet]

    @classmethod
    def open(cls, paths: Any, reading: Reading, on_read: Any, *, use_threads: bool) -> "TableFiles":
        files = files_of(paths)
        head = max(HEAD // len(files), FEW)
        sheets = [open_stream(file.path, reading, on_read, head, use_threads) for file in files]
        there = [(file, sheet) for file, sheet in zip(files, sheets, strict=True) if sheet is not None]
        if not there:
            raise ValueError(f"{str(files[0].path)!r}: there is no row to read: every file is empty.")
        return cls(*map(list, zip(*there, strict=True)))

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
            what = [f"lacks {list_names(lacks, to_text=quote)}"] if lacks else []
            what += [f"also has {list_names(extra, to_text=quote)}"] if extra else []
            if what:
                raise ValueError(
                    f"{sheet.name} {' and '.join(what)}, unlike {first.name}: files need the same columns."
                )
        twice = [name for name in self.files[0].cells if name in first.columns]
        if twice:
            raise ValueError(f"the column {twice[0]!r} is both in {first.name} and in the name of its folder.")

    def check_there(self, names: Sequence[str], whose: str) -> None:
        """Raise for columns that are not there, and say which one may be meant."""
        lacks = [name for name in names if name not in self.columns]
        if lacks:
            others = [name for name in self.columns if name not in names]
            near = near_columns(lacks[0], others)
            advice = f"did you mean {near[0]!r}?" if near else f"it has {list_names(self.columns, 20, quote)}."
            raise ValueError(f"{whose}: {self.name} has no column {list_names(lacks, to_text=quote)}; {advice}")

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Kind of each column: what it looks like in all files."""
        kinds = {
            name: reduce(joined, [sheet.summaries[name].kind for sheet in self.sheets if name in sheet.columns])
            for name in self.inside
        }
        return kinds | {name: cell_kind([file.cells[name] for file in self.files]) for name in self.files[0].cells}

    def check_kinds(self, kinds: Mapping[str, str]) -> None:
        """Raise for a file whose columns have other types than those of the others."""
        for name, kind in kinds.items():
            holds = [(sheet, sheet.summaries[name].kind) for sheet in self.sheets] if name in self.inside else []
            for sheet, present in holds:
                if sheet.is_text or not differ(present, kind):
                    continue
                contrary = ((other, held) for other, held in holds if differ(held, present))
                unlike = next((f"in {other.name} {HOLDS[held]}" for other, held in contrary), f"{kind}s are needed")
                raise ValueError(
                    f"{sheet.name}: column {name!r} holds {HOLDS[present]}, and {unlike}. Say what it is: "
                    f"kinds={{{name!r}: {kind!r}}}."
                )

    def guess(self, names: Collection[str]) -> None:
        """Expect these columns to hold in all rows what the first rows of text look like."""
        for sheet in self.sheets:
            sheet.guessed = names

    def read(self, kinds: Mapping[str, str]) -> Any:
        """Return all rows of all files as one dataframe."""
        return stacked([sheet.read(kinds) for sheet in self.sheets])

    def native_batches(
        self, kinds: Mapping[str, str], rows: int, after: tuple[int, int] = (0, 0)
    ) -> Iterator[FileBatch]:
        """Yield all rows as they suit the files; the first batch, which decides on families, has `rows` rows."""
        batches = self.batches(kinds, rows, after=after, native=True)
        if after == (0, 0) and (first := next(batches, None)) is not None:
            yield from first.cut(rows)
        yield from batches

    def batches(
        self,
        kinds: Mapping[str, str],
        rows: int,
        kept: Sequence[str] = (),
        after: tuple[int, int] = (0, 0),
        *,
        native: bool = False,
        output: str = "parquet",
    ) -> Iterator[FileBatch]:
        """Yield all rows of all files, in their order, after some files and some rows of the next.

        The columns `kept` are as a file of the format `output` needs them: in text, cells stay as they were.
        """
        inside = {name: kind for name, kind in kinds.items() if name in self.inside}
        keep = [name for name in kept if name in self.inside]
        count = 0
        for place in range(after[0], len(self.files)):
            sheet, cells = self.sheets[place], self.files[place].cells
            for part in sheet.parts(inside, rows, keep, after[1] if place == after[0] else 0, native):
                folder = {name: read_cells([cell] * len(part), kinds.get(name, "text")) for name, cell in cells.items()}
                frame = beside_folder(part.frame, folder, list(kinds))
                also = beside_folder(self._carried(sheet, part.kept_for(output)), folder, kept) if kept else None
                yield FileBatch(place, sheet.name, part.start, frame, also, part.coded)
                count += 1
                if count % RELEASED == 0:
                    release()

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


def differ(one: str, other: str) -> bool:
    """Return whether cells of two kinds, none of them empty, have nothing but text in common."""
    return "empty" not in (one, other) and one != other and joined(one, other) == "text"


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
    """Raise for anything but a number of rows."""
    if batch_rows is not None and (isinstance(batch_rows, bool) or not isinstance(batch_rows, Integral)):
        raise TypeError(f"batch_rows must be a whole number of rows, got {batch_rows!r}.")
    if batch_rows is not None and batch_rows < 1:
        raise ValueError(f"batch_rows must be at least 1, got {batch_rows!r}.")
