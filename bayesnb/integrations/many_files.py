"""Tables in several files, read as one: which files, their columns, and batches of rows."""

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

from bayesnb.data.families import near_columns
from bayesnb.data.files import (
    Batch,
    Reading,
    TableReader,
    empty_column,
    format_of_name,
    kind_of_texts,
    open_reader,
    repeat_text,
    stack_frames,
)
from bayesnb.data.kinds import KINDS, are_contrary, join_kinds
from bayesnb.families import BestOf, Codes
from bayesnb.formatting import list_names, quote

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # a missing cell, in the name of a folder
HOLDS = {
    "text": "text",
    "flag": "true and false",
    "integer": "numbers",
    "number": "numbers",
    "empty": "nothing",
    "words": "lists of words",
}
BATCH_CELLS, MIN_ROWS, MAX_ROWS = 1 << 20, 1 << 8, 1 << 16  # of a batch
HEAD_ROWS, MIN_HEAD_ROWS = (
    1 << 12,
    1 << 6,
)  # by which columns of text are known: of one file, and of each of many


@dataclass(frozen=True)
class File:
    """A file, and the columns that the names of its folders hold, as text: `year=2026/`."""

    path: Path
    folder: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def below(cls, root: Path, path: Path) -> "File":
        """Return a file below a folder."""
        folder = {}
        for part in path.parent.relative_to(root).parts:
            name, equals, value = part.partition("=")
            if equals:
                folder[unquote(name)] = "" if value == NO_VALUE else unquote(value)
        return cls(path, folder)

    @property
    def stamp(self) -> list[Any]:
        """Values that differ between files, and between states of one file."""
        state = self.path.stat()
        return [str(self.path.resolve()), state.st_size, state.st_mtime_ns]


def find_files(paths: Any) -> list[File]:
    """Return the files of a name, a folder, a pattern, or several of those.

    An error for none, or one named twice.
    """
    if isinstance(paths, str) and not paths:
        raise FileNotFoundError("there are no files to read: `paths` is an empty text.")
    several = (
        paths if isinstance(paths, Iterable) and not isinstance(paths, (str, bytes)) else [paths]
    )
    files = [file for path in several for file in files_at(Path(path))]
    if not files:
        raise ValueError("there are no files to read: `paths` is empty.")
    path, times = Counter(file.path.resolve() for file in files).most_common(1)[0]
    if times > 1:
        raise ValueError(
            f"the file {str(path)!r} is named {times} times: its rows would count as often."
        )
    columns = {tuple(file.folder) for file in files}
    if len(columns) > 1:
        each = " and ".join(", ".join(map(repr, names)) or "none" for names in sorted(columns))
        raise ValueError(
            f"the names of folders give different columns for different files: {each}."
        )
    return files


def files_at(path: Path) -> list[File]:
    """Return the files of one name, folder or pattern."""
    if path.is_dir():
        files = [File.below(path, file) for file in sorted(path.rglob("*")) if is_table(path, file)]
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


def is_table(root: Path, file: Path) -> bool:
    """Return whether a file below a folder is a table, and not hidden as _SUCCESS or .part are."""
    is_hidden = any(part.startswith(("_", ".")) for part in file.relative_to(root).parts)
    return format_of_name(file.name) is not None and file.is_file() and not is_hidden


@dataclass(frozen=True, eq=False)
class TableFiles:
    """Files with the same columns, as far as those are needed. Empty files are not among them."""

    files: list[File]
    readers: list[TableReader]

    @classmethod
    def open(cls, paths: Any, reading: Reading, on_read: Any, *, use_threads: bool) -> "TableFiles":
        """Open files to be read in batches; the first rows of text say what columns hold."""
        files = find_files(paths)
        head = max(HEAD_ROWS // len(files), MIN_HEAD_ROWS)
        tables = cls([], [])
        for file in files:
            if file.path.is_file() and not file.path.stat().st_size:
                continue
            reader = open_reader(file.path, reading, on_read, use_threads=use_threads, head=head)
            if reader.source.format == "jsonl":
                raise ValueError(
                    f"{reader.name}: JSON lines can only be read as a whole. Convert the table to "
                    "Parquet or CSV."
                )
            tables.files.append(file)
            tables.readers.append(reader)
        if not tables.files:
            raise ValueError(
                f"{str(files[0].path)!r}: there is no row to read: every file is empty."
            )
        return tables

    @property
    def name(self) -> str:
        """Name of the first file, by which messages call the table."""
        return self.readers[0].name

    @property
    def size(self) -> int:
        """Number of bytes, as they lie."""
        return sum(reader.source.size for reader in self.readers)

    @property
    def folder_columns(self) -> Sequence[str]:
        """Names of the columns that the names of folders hold."""
        return list(self.files[0].folder)

    @property
    def columns(self) -> list[str]:
        """Names of all columns: those of the first file, and of folders."""
        return [*self.readers[0].columns, *self.folder_columns]

    def is_text(self, name: str) -> bool:
        """Return whether a column has no type anywhere."""
        return name in self.folder_columns or all(reader.is_text for reader in self.readers)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Kind of each column: what it looks like in all files."""
        kinds = {}
        for name in self.readers[0].columns:
            each = [reader.kinds[name] for reader in self.readers if name in reader.columns]
            kinds[name] = reduce(join_kinds, each)
        for name in self.folder_columns:
            kinds[name] = kind_of_texts([file.folder[name] for file in self.files])
        return kinds

    def check_same(self, needed: Collection[str] | None = None) -> None:
        """Raise for a file without a column that is needed.

        None: for one whose columns are not those of the first.
        """
        first = self.readers[0]
        for reader in self.readers:
            lacks = [name for name in first.columns if name not in reader.columns]
            extra = [name for name in reader.columns if name not in first.columns]
            if needed is not None:
                lacks, extra = [name for name in lacks if name in needed], []
            what = [f"lacks {list_names(lacks, to_text=quote)}"] if lacks else []
            what += [f"also has {list_names(extra, to_text=quote)}"] if extra else []
            if what:
                raise ValueError(
                    f"{reader.name} {' and '.join(what)}, unlike {first.name}: files need the same "
                    "columns."
                )
        twice = [name for name in self.folder_columns if name in first.columns]
        if twice:
            raise ValueError(
                f"the column {twice[0]!r} is both in {first.name} and in the name of its folder."
            )

    def check_there(self, names: Sequence[str], whose: str) -> None:
        """Raise for columns that are not there, and say which one may be meant."""
        lacks = [name for name in names if name not in self.columns]
        if lacks:
            others = [name for name in self.columns if name not in names]
            near = near_columns(lacks[0], others)
            advice = f"it has {list_names(self.columns, 20, quote)}."
            if near:
                advice = f"did you mean {near[0]!r}?"
            raise ValueError(
                f"{whose}: {self.name} has no column {list_names(lacks, to_text=quote)}; {advice}"
            )

    def check_kinds(self, kinds: Mapping[str, str]) -> None:
        """Raise for a file whose columns have other types than those of the others."""
        for name, kind in kinds.items():
            readers = [] if name in self.folder_columns else self.readers
            for reader in readers:
                present = reader.kinds[name]
                if reader.is_text or not are_contrary(present, kind):
                    continue
                unlike = f"{kind}s are needed"
                for other in readers:
                    if are_contrary(other.kinds[name], present):
                        unlike = f"in {other.name} {HOLDS[other.kinds[name]]}"
                        break
                raise ValueError(
                    f"{reader.name}: column {name!r} holds {HOLDS[present]}, and {unlike}. Say "
                    f"what it is: kinds={{{name!r}: {kind!r}}}."
                )

    def refuse_dates(self, names: Collection[str]) -> None:
        """Raise for columns of dates, as `fit` does: each of them would be a level."""
        for reader in self.readers:
            for name in reader.dates:
                if name in names:
                    raise ValueError(
                        f"{reader.name}: column {name!r} holds dates or times. Write them as "
                        "numbers, such as days since 1970; drop the column; or take each date as "
                        f"a level, kinds={{{name!r}: 'text'}}."
                    )

    def declare(self, kinds: Mapping[str, str], declared: Mapping[str, str]) -> dict[str, str]:
        """Return how columns are read: as a user declares, else by `kinds`."""
        self.check_there(list(declared), "kinds")
        for name, kind in declared.items():
            if kind not in KINDS:
                raise ValueError(
                    f"kinds: column {name!r} cannot be {kind!r}; it is one of {', '.join(KINDS)}."
                )
        return {name: declared.get(name, kind) for name, kind in kinds.items()}

    def guess(self, names: Collection[str]) -> None:
        """Expect columns to hold in all rows what the first rows of text look like."""
        for reader in self.readers:
            reader.guessed = names

    def read(self, kinds: Mapping[str, str]) -> Any:
        """Return all rows of all files as one dataframe."""
        return stack_frames([reader.read(kinds) for reader in self.readers])

    def batches(
        self,
        kinds: Mapping[str, str],
        rows: int,
        keep: Sequence[str] = (),
        *,
        output: str = "parquet",
    ) -> Iterator[Batch]:
        """Yield all rows of all files, in their order: see `file_batches`."""
        for place in range(len(self.files)):
            yield from self.file_batches(place, kinds, rows, keep, output=output)

    def file_batches(
        self,
        place: int,
        kinds: Mapping[str, str],
        rows: int,
        keep: Sequence[str] = (),
        *,
        output: str = "parquet",
    ) -> Iterator[Batch]:
        """Yield the rows of one file: columns of these kinds, and others that are kept.

        Those are as a file of the format `output` needs them: in text, cells stay as they were.
        """
        reader, folder = self.readers[place], self.files[place].folder
        inside = {name: kind for name, kind in kinds.items() if name not in folder}
        kept = [name for name in keep if name not in folder]
        for batch in reader.batches(inside, rows, kept):
            cells = {
                name: repeat_text(text, kinds.get(name, "text"), len(batch))
                for name, text in folder.items()
            }
            frame = batch.frame.assign(**cells)[list(kinds)] if cells else batch.frame
            columns = self._widen(reader, batch.columns_to_write(output)) if keep else batch.kept
            columns = columns.assign(**cells)[list(keep)] if cells else columns
            yield replace(batch, frame=frame, kept=columns)

    def _widen(self, reader: TableReader, kept: Any) -> Any:
        """Return columns of a file with types that hold the cells of all files."""
        columns = {}
        for name in () if reader.is_text else kept.columns:
            kind, needed = reader.kinds[name], self.kinds[name]
            if kind == "empty":
                columns[name] = empty_column(needed, len(kept))
            elif kind == "integer" and needed == "number":
                columns[name] = kept[name].astype(float)
        return kept.assign(**columns) if columns else kept


def rows_at_once(columns: int) -> int:
    """Return how many rows of so many columns make a batch of a few megabytes."""
    return min(max(BATCH_CELLS // max(columns, 1), MIN_ROWS), MAX_ROWS)


# How columns are read, for a model


def kind_for_family(kind: str, family: Any) -> str | None:
    """Return how a family needs a column of text that looks like a kind.

    None if that is left to the rows.
    """
    if isinstance(family, BestOf):
        return None
    if family.outcomes:
        return "number" if kind in ("integer", "number", "empty") else "flag"
    if not family.has_levels:
        return "integer" if kind == "integer" else "number"
    if isinstance(family.levels, Codes):
        return None
    return kind_of_levels(family.levels or ())


def kinds_to_learn(
    tables: TableFiles, names: Sequence[str], families: Mapping[Any, Any]
) -> tuple[dict[str, str], set[str]]:
    """Return how columns to learn from are read, and those whose rows are to look as the first."""
    kinds, guessed = {}, set()
    for name in names:
        kind = tables.kinds[name]
        if name in families and tables.is_text(name):
            needed = kind_for_family(kind, families[name])
            if needed is not None:
                kinds[name] = needed
                continue
        kinds[name] = "number" if kind == "empty" else kind
        guessed.add(name)
    return kinds, guessed


def kind_of_levels(levels: Sequence[Any]) -> str:
    """Return how cells are read that are looked up among these levels."""
    if all(isinstance(level, bool) for level in levels):
        return "flag" if levels else "text"
    return "text" if any(isinstance(level, str) for level in levels) else "number"


# Arguments


def as_names(columns: Any) -> list[str]:
    """Return the names of columns as a list, each once; one may stand alone."""
    names = [] if columns is None else [columns] if isinstance(columns, str) else list(columns)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"columns: {twice[0]!r} is named twice.")
    return names


def check_batch_rows(batch_rows: Any) -> None:
    """Raise for anything but a number of rows."""
    if batch_rows is not None and (
        isinstance(batch_rows, bool) or not isinstance(batch_rows, Integral)
    ):
        raise TypeError(f"batch_rows must be a whole number of rows, got {batch_rows!r}.")
    if batch_rows is not None and batch_rows < 1:
        raise ValueError(f"batch_rows must be at least 1, got {batch_rows!r}.")
