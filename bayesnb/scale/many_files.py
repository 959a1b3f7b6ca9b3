"""Several files read as one table: finding files, their columns, and batches of rows."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from glob import glob, has_magic
from itertools import takewhile
from os import PathLike
from pathlib import Path
from re import search
from typing import Any
from urllib.parse import unquote

from bayesnb.data.columns import KINDS, Kinds, are_contrary, join_kinds
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
from bayesnb.formatting import list_names, no_column, quote
from bayesnb.numerics.threads import threads_of
from bayesnb.progress import Bar

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # a missing cell in the name of a folder
HOLDS = {
    "text": "text",
    "flag": "true and false",
    "integer": "numbers",
    "number": "numbers",
    "empty": "nothing",
    "words": "lists of words",
}
# rows from which kinds of text columns are inferred: for one file, and at least for each of many
HEAD_ROWS = 1 << 12
MIN_HEAD_ROWS = 1 << 6


# Which files


def find_files(paths: Any) -> list[tuple[Path, dict[str, str | None]]]:
    """Return the files of a name, a folder, a pattern, or several of those, with their folder
    columns.

    Raise if there are none, or if one is named twice.
    """
    names = [paths] if isinstance(paths, str | PathLike) else list(paths)
    if not names or "" in names:
        raise ValueError("there are no files to read: `paths` is empty.")
    files = {}
    for name in names:
        root, found = files_at(Path(name))
        for file in found:
            if file.resolve() in files:
                raise ValueError(f"the file {str(file)!r} is named twice.")
            files[file.resolve()] = file, folder_columns(root, file)
    return list(files.values())


def files_at(path: Path) -> tuple[Path, list[Path]]:
    """Return the root folder of a name or pattern, and its files.

    A folder gives all tables except hidden ones such as _SUCCESS and .part.
    """
    if path.is_dir():
        root = path
        matches = []
        for file in sorted(path.rglob("*")):  # does not follow links to folders, as glob would
            name = file.relative_to(path).as_posix()
            if format_of_name(name) and not search("(^|/)[._]", name):
                matches.append(file)
    else:
        root = Path(*takewhile(lambda part: not has_magic(part), path.parent.parts))
        matches = [path] if path.exists() else sorted(map(Path, glob(str(path), recursive=True)))
    files = [file for file in matches if file.is_file()]
    if not files:
        raise FileNotFoundError(
            f"there is no file or folder {str(path)!r}, or no Parquet, Arrow or CSV file there."
        )
    return root, files


def folder_columns(root: Path, file: Path) -> dict[str, str | None]:
    """Return the columns from the names of a file's folders, as text: `year=2026/`."""
    columns: dict[str, str | None] = {}
    for part in file.parent.relative_to(root).parts:
        name, equals, value = map(unquote, part.partition("="))
        if name and equals:
            if name in columns:
                raise ValueError(f"{file}: the names of its folders contain {name!r} twice.")
            columns[name] = None if value == NO_VALUE else value
    return columns


# Their columns and rows


@dataclass(frozen=True, eq=False)
class TableFiles:
    """Files that have the same needed columns, without empty files."""

    readers: list[TableReader]

    @classmethod
    def open(cls, model: Any, paths: Any, reading: Reading, shown: Bar) -> "TableFiles":
        """Open files for reading in batches, with kinds of text columns from the first rows.

        Several threads read them if the model may use several.
        """
        files = find_files(paths)
        head = max(HEAD_ROWS // len(files), MIN_HEAD_ROWS)
        use_threads = threads_of(model.n_jobs) > 1
        readers = []
        for path, folder in files:
            if path.stat().st_size:
                reader = open_reader(path, reading, shown.watch, use_threads=use_threads, head=head)
                reader.folder = folder
                readers.append(reader)
        if not readers:
            raise ValueError(f"{str(path)!r}: there is no row to read: every file is empty.")
        return cls(readers)

    @property
    def name(self) -> str:
        """Name of the first file, which stands for the table in messages."""
        return self.readers[0].name

    @property
    def size(self) -> int:
        """Number of bytes, perhaps compressed."""
        return sum(reader.source.size for reader in self.readers)

    @property
    def columns(self) -> Names:
        """Names of all columns, in the order of the first file."""
        return self.readers[0].columns

    def reads_text(self, name: str) -> bool:
        """Return whether a column has no type in any file."""
        return all(reader.reads_text(name) for reader in self.readers)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Kind of each column over all files."""
        kinds = dict(self.readers[0].kinds)
        for reader in self.readers[1:]:
            for name in kinds.keys() & reader.kinds.keys():
                kinds[name] = join_kinds(kinds[name], reader.kinds[name])
        return kinds

    def check_same(self, needed: Collection[str] | None = None) -> None:
        """Raise for a file that lacks a needed column or, with None, differs from the first
        file.
        """
        for reader in self.readers:
            lacking = [name for name in needed or self.columns if name not in reader.columns]
            extra = [name for name in reader.columns if not (needed or name in self.columns)]
            differences = [
                f"{verb} {list_names(names, to_text=quote)}"
                for verb, names in (("lacks", lacking), ("also has", extra))
                if names
            ]
            if differences:
                raise ValueError(
                    f"{reader.name} {' and '.join(differences)}, unlike {self.name}: all files "
                    "must have the same columns."
                )

    def check_there(self, names: Iterable[str], whose: str) -> None:
        """Raise for a column that does not exist, and suggest a similar one."""
        for name in names:
            if name not in self.columns:
                raise ValueError(f"{whose}: {no_column(name, self.columns, self.name)}")

    def check_kind(self, name: str, kind: str, may_be_dates: bool) -> None:
        """Raise for a file whose column has a type that is not needed, or that other files do not
        have.

        Dates are refused, as in `fit`: each would be a level.
        """
        for reader in self.readers:
            present = reader.kinds[name]
            if name in reader.dates and not may_be_dates:
                raise ValueError(
                    f"{reader.name}: column {name!r} holds dates or times. Convert them to "
                    "numbers, such as days since 1970; drop the column; or use each date as a "
                    f"level, kinds={{{name!r}: 'text'}}."
                )
            if are_contrary(present, kind) and not reader.reads_text(name):
                needed = [
                    f"in {other.name} {HOLDS[other.kinds[name]]}"
                    for other in self.readers
                    if are_contrary(other.kinds[name], present)
                ]
                needed.append(f"{HOLDS[kind]} are needed")
                raise ValueError(
                    f"{reader.name}: column {name!r} holds {HOLDS[present]}, but {needed[0]}. "
                    f"Declare its kind: kinds={{{name!r}: {kind!r}}}."
                )

    def declare(self, kinds: Kinds, declared: Kinds) -> dict[str, str]:
        """Return the kinds of columns, with the user's declarations."""
        self.check_there(declared, "kinds")
        for name, kind in declared.items():
            if kind not in KINDS:
                raise ValueError(
                    f"kinds: column {name!r} cannot be {kind!r}; use one of {', '.join(KINDS)}."
                )
        return {**kinds, **declared}

    def read(self, kinds: Kinds) -> Any:
        """Return all rows of all files as one dataframe."""
        return stack_frames([reader.read(kinds) for reader in self.readers])

    def batches(self, kinds: Kinds, rows: int, keep: Names = ()) -> Iterator[Batch]:
        """Yield all rows of all files in order: columns with these kinds, and others to keep.

        The latter have types that can hold the cells of all files.
        """
        kept = {name: "text" if self.reads_text(name) else self.kinds[name] for name in keep}
        for reader in self.readers:
            yield from reader.batches(kinds, rows, kept)


# Kinds of columns for a model


def kind_for_family(kind: str, family: Any) -> str | None:
    """Return the kind that a family needs for a column of text that looks like `kind`, None for
    any.
    """
    if family == "auto" or isinstance(family, BestOf):
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
    """Return the kinds of columns to learn from, and the columns whose kind is inferred.

    Columns whose family is None are dropped.
    """
    kinds = {}
    guessed = set()
    for name in names:
        family = families.get(name, "auto")
        if family is None:
            continue
        kind = tables.kinds[name]
        needed = kind_for_family(kind, family) if tables.reads_text(name) else None
        if needed is None:
            needed = "number" if kind == "empty" else kind
            guessed.add(name)
        kinds[name] = needed
    if not kinds:
        raise ValueError(f"{tables.name}: no column is left to learn from.")
    return kinds, guessed


def kind_of_levels(levels: Sequence[Any]) -> str:
    """Return the kind of cells to look up among these levels."""
    if not levels or any(isinstance(level, str) for level in levels):
        return "text"
    return "flag" if all(isinstance(level, bool) for level in levels) else "number"
