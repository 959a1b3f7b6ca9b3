"""Tables in several files, read as one: which files, their columns, and batches of rows."""

import glob
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    format_of_name,
    kind_of_texts,
    open_reader,
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


def find_files(paths: Any) -> dict[Path, dict[str, str | None]]:
    """Return the files of a name, a folder, a pattern, or several of those.

    Beside each are the columns that the names of its folders hold. An error for none, or one named
    twice.
    """
    if isinstance(paths, str) and not paths:
        raise FileNotFoundError("there are no files to read: `paths` is an empty text.")
    is_one = isinstance(paths, (str, bytes)) or not isinstance(paths, Iterable)
    files: dict[Path, dict[str, str | None]] = {}
    resolved: Counter[Path] = Counter()
    for path in [paths] if is_one else paths:
        root, found = files_at(Path(path))
        for file in found:
            files[file] = folder_columns(root, file)
            resolved[file.resolve()] += 1
    if not files:
        raise ValueError("there are no files to read: `paths` is empty.")
    first, times = resolved.most_common(1)[0]
    if times > 1:
        raise ValueError(
            f"the file {str(first)!r} is named {times} times: its rows would count as often."
        )
    columns = {tuple(sorted(folder)) for folder in files.values()}
    if len(columns) > 1:
        each = " and ".join(", ".join(map(repr, names)) or "none" for names in sorted(columns))
        raise ValueError(
            f"the names of folders give different columns for different files: {each}."
        )
    return files


def files_at(path: Path) -> tuple[Path, list[Path]]:
    """Return the files of one name, folder or pattern, and the folder that they are below."""
    if path.is_dir():
        root, files = path, [file for file in sorted(path.rglob("*")) if is_table(path, file)]
    elif path.exists():
        root, files = path.parent, [path]
    elif glob.has_magic(str(path)):
        root = Path(*takewhile(lambda part: not glob.has_magic(part), path.parts[:-1]))
        matches = map(Path, sorted(glob.glob(str(path), recursive=True)))
        files = [file for file in matches if file.is_file()]
    else:
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}.")
    if not files:
        raise FileNotFoundError(f"{str(path)!r}: there is no Parquet, Arrow or CSV file there.")
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
    def open(cls, paths: Any, reading: Reading, watch: Any, *, use_threads: bool) -> "TableFiles":
        """Open files to be read in batches; the first rows of text say what columns hold."""
        files = find_files(paths)
        head = max(HEAD_ROWS // len(files), MIN_HEAD_ROWS)
        readers = []
        for path, folder in files.items():
            if path.is_file() and not path.stat().st_size:
                continue
            reader = open_reader(path, reading, watch, use_threads=use_threads, head=head)
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
    def folder_columns(self) -> Sequence[str]:
        """Names of the columns that the names of folders hold."""
        return list(self.readers[0].folder)

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
            kinds[name] = kind_of_texts([reader.folder[name] for reader in self.readers])
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
        self, kinds: Mapping[str, str], rows: int, keep: Sequence[str] = ()
    ) -> Iterator[Batch]:
        """Yield all rows of all files, in their order: columns of these kinds, and others to keep.

        The latter have types that hold the cells of all files.
        """
        kept = {name: "text" if self.is_text(name) else self.kinds[name] for name in keep}
        for reader in self.readers:
            yield from reader.batches(kinds, rows, kept)


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
