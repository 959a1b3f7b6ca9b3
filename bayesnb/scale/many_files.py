"""Tables in several files, read as one: which files, their columns, and batches of rows."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from glob import glob, has_magic
from itertools import takewhile
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from bayesnb.data.cells import UnseenCollector
from bayesnb.data.columns import KINDS, Kinds, are_contrary, join_kinds
from bayesnb.data.families import no_column
from bayesnb.data.files import (
    Batch,
    Names,
    Reading,
    TableReader,
    format_of_name,
    open_reader,
    stack_frames,
)
from bayesnb.families import BestOf, Codes
from bayesnb.formatting import list_names, quote
from bayesnb.numerics.threads import ahead, threads_of
from bayesnb.progress import Bar

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
# by which columns of text are known: of one file, and of each of many
HEAD_ROWS = 1 << 12
MIN_HEAD_ROWS = 1 << 6


def find_files(paths: Any) -> dict[Path, dict[str, str | None]]:
    """Return the files of a name, a folder, a pattern, or several of those.

    Beside each are the columns that the names of its folders hold. An error for none, or one named
    twice.
    """
    names = [paths] if isinstance(paths, str | PathLike) else list(paths)
    if not names or "" in names:
        raise ValueError("there are no files to read: `paths` is empty.")
    files: dict[Path, dict[str, str | None]] = {}
    resolved = set()
    for name in names:
        root, found = files_at(Path(name))
        for file in found:
            if file.resolve() in resolved:
                raise ValueError(f"the file {str(file)!r} is named twice: its rows would be too.")
            resolved.add(file.resolve())
            files[file] = folder_columns(root, file)
    return files


def files_at(path: Path) -> tuple[Path, list[Path]]:
    """Return the folder of one name or pattern, and its files."""
    if path.is_dir():
        root = path
        files = [file for file in sorted(path.rglob("*")) if is_table(path, file)]
    else:
        root = Path(*takewhile(lambda part: not has_magic(part), path.parent.parts))
        matches = [path] if path.exists() else map(Path, sorted(glob(str(path), recursive=True)))
        files = [file for file in matches if file.is_file()]
    if not files:
        raise FileNotFoundError(
            f"there is no file or folder {str(path)!r}, or no Parquet, Arrow or CSV file there."
        )
    return root, files


def folder_columns(root: Path, path: Path) -> dict[str, str | None]:
    """Return the columns that folders below one give a file, as text: `year=2026/`."""
    columns: dict[str, str | None] = {}
    for part in path.parent.relative_to(root).parts:
        name, equals, value = part.partition("=")
        if not (name and equals):
            continue
        if unquote(name) in columns:
            raise ValueError(f"{path}: the names of its folders give {unquote(name)!r} twice.")
        columns[unquote(name)] = None if value == NO_VALUE else unquote(value)
    return columns


def is_table(root: Path, file: Path) -> bool:
    """Return whether a file below a folder is a table, and not hidden as _SUCCESS or .part are."""
    is_hidden = any(part.startswith(("_", ".")) for part in file.relative_to(root).parts)
    return format_of_name(file.name) is not None and file.is_file() and not is_hidden


@dataclass(frozen=True, eq=False)
class TableFiles:
    """Files with the same columns, as far as those are needed. Empty files are not among them."""

    readers: list[TableReader]

    @classmethod
    def open(cls, model: Any, paths: Any, reading: Reading, shown: Bar) -> "TableFiles":
        """Open files to be read in batches; the first rows of text say what columns hold.

        Several threads read them, if the model may use several.
        """
        files = find_files(paths)
        head = max(HEAD_ROWS // len(files), MIN_HEAD_ROWS)
        readers = []
        for path, folder in files.items():
            if path.is_file() and not path.stat().st_size:
                continue
            use_threads = threads_of(model.n_jobs) > 1
            reader = open_reader(path, reading, shown.watch, use_threads=use_threads, head=head)
            if reader.source.format == "jsonl":
                raise ValueError(
                    f"{reader.name}: JSON lines can only be read as a whole. Convert the table to "
                    "Parquet or CSV."
                )
            reader.folder = folder
            readers.append(reader)
        if not readers:
            raise ValueError(f"{str(path)!r}: there is no row to read: every file is empty.")
        return cls(readers)

    @property
    def name(self) -> str:
        """Name of the first file, by which messages call the table."""
        return self.readers[0].name

    @property
    def size(self) -> int:
        """Number of bytes, as they lie."""
        return sum(reader.source.size for reader in self.readers)

    @property
    def columns(self) -> Names:
        """Names of all columns, in the order of the first file."""
        return self.readers[0].columns

    def reads_text(self, name: str) -> bool:
        """Return whether a column has no type anywhere."""
        return all(reader.reads_text(name) for reader in self.readers)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Kind of each column: what it looks like in all files."""
        return {
            name: reduce(
                join_kinds, [reader.kinds[name] for reader in self.readers if name in reader.kinds]
            )
            for name in self.columns
        }

    def check_same(self, needed: Collection[str] | None = None) -> None:
        """Raise for a file without a column that is needed.

        None: for one whose columns are not those of the first.
        """
        first = self.readers[0]
        for reader in self.readers:
            lacking = [name for name in needed or first.columns if name not in reader.columns]
            extra = [name for name in reader.columns if name not in first.columns]
            differences = []
            if lacking:
                differences.append(f"lacks {list_names(lacking, to_text=quote)}")
            if extra and not needed:
                differences.append(f"also has {list_names(extra, to_text=quote)}")
            if differences:
                raise ValueError(
                    f"{reader.name} {' and '.join(differences)}, unlike {first.name}: files need "
                    "the same columns."
                )

    def check_there(self, names: Iterable[str], whose: str) -> None:
        """Raise for a column that is not there, and say which one may be meant."""
        for name in names:
            if name not in self.columns:
                raise ValueError(f"{whose}: {no_column(name, self.columns, self.name)}")

    def check_kinds(self, kinds: Kinds) -> None:
        """Raise for a file with a column whose type is not what is needed, or other files have."""
        for name, kind in kinds.items():
            for reader in self.readers:
                present = reader.kinds[name]
                if reader.reads_text(name) or not are_contrary(present, kind):
                    continue
                needed = f"{HOLDS[kind]} are needed"
                for other in self.readers:
                    if are_contrary(other.kinds[name], present):
                        needed = f"in {other.name} {HOLDS[other.kinds[name]]}"
                        break
                raise ValueError(
                    f"{reader.name}: column {name!r} holds {HOLDS[present]}, and {needed}. Say "
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

    def declare(self, kinds: Kinds, declared: Kinds) -> dict[str, str]:
        """Return how columns are read: as a user declares, else by `kinds`."""
        self.check_there(declared, "kinds")
        for name, kind in declared.items():
            if kind not in KINDS:
                raise ValueError(
                    f"kinds: column {name!r} cannot be {kind!r}; it is one of {', '.join(KINDS)}."
                )
        return {name: declared.get(name, kind) for name, kind in kinds.items()}

    def read(self, kinds: Kinds) -> Any:
        """Return all rows of all files as one dataframe."""
        return stack_frames([reader.read(kinds) for reader in self.readers])

    def batches(self, kinds: Kinds, rows: int, keep: Names = ()) -> Iterator[Batch]:
        """Yield all rows of all files, in their order: columns of these kinds, and others to keep.

        The latter have types that hold the cells of all files.
        """
        kept = {name: "text" if self.reads_text(name) else self.kinds[name] for name in keep}
        for reader in self.readers:
            yield from reader.batches(kinds, rows, kept)


def read_ahead(model: Any, batches: Iterator[Batch]) -> Any:
    """Return a context of batches, the next read meanwhile if the model may use several threads."""
    return closing(ahead(batches) if threads_of(model.n_jobs) > 1 else batches)


@contextmanager
def working_on(batch: Batch, unseen: UnseenCollector) -> Iterator[None]:
    """Make errors say which rows they are about, and gather levels that were not seen."""
    try:
        with unseen.collected():
            yield
    except ValueError as error:
        raise ValueError(f"{batch.where}: {error}") from error


def rows_at_once(columns: int, batch_rows: Any = None) -> int:
    """Return how many rows make a batch: as many as are asked for, or have some megabytes."""
    if batch_rows is None:
        return min(max(BATCH_CELLS // max(columns, 1), MIN_ROWS), MAX_ROWS)
    if index(batch_rows) < 1:
        raise ValueError(f"batch_rows must be at least 1, got {batch_rows!r}.")
    return batch_rows


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
    tables: TableFiles, names: Names, families: Mapping[Any, Any]
) -> tuple[dict[str, str], set[str]]:
    """Return how columns to learn from are read, and those whose rows are to look as the first."""
    kinds = {}
    guessed = set()
    for name in names:
        kind = tables.kinds[name]
        if name in families and tables.reads_text(name):
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
