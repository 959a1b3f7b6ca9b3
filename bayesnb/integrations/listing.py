"""Which files are meant: by name, by pattern, or all in a folder, whose name may say what a column holds."""

import glob
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from bayesnb.data import format_of_name

NONE = "__HIVE_DEFAULT_PARTITION__"  # a missing cell, in the name of a folder


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
    times = Counter(file.path.resolve() for file in files)
    twice = [path for path, count in times.items() if count > 1]
    if twice:
        raise ValueError(f"the file {str(twice[0])!r} is named {times[twice[0]]} times: its rows would count as often.")
    keys = {tuple(file.cells) for file in files}
    if len(keys) > 1:
        raise ValueError(
            "the names of folders say different columns for different files: "
            + " and ".join(", ".join(map(repr, key)) or "none" for key in sorted(keys))
            + "."
        )
    return files


def _files(path: Path) -> Iterator[File]:
    if path.is_dir():
        inside = (file for file in sorted(path.rglob("*")) if file.is_file() and not _is_hidden(file.relative_to(path)))
        files = [File.below(path, file) for file in inside if format_of_name(file.name) is not None]
    elif path.exists():
        files = [File(path)]
    elif glob.has_magic(str(path)):
        root = Path(*(part for part in _plain(path)))
        matches = map(Path, sorted(glob.glob(str(path), recursive=True)))
        files = [File.below(root, file) for file in matches if file.is_file()]
    else:
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}.")
    if not files:
        raise FileNotFoundError(f"{str(path)!r}: there is no Parquet, Arrow or CSV file there.")
    yield from files


def _plain(pattern: Path) -> Iterator[str]:
    """Yield the folders of a pattern before the first that is a pattern."""
    for part in pattern.parts[:-1]:
        if glob.has_magic(part):
            return
        yield part


def _is_hidden(path: Path) -> bool:
    """Return whether a file is hidden, as other readers of folders have it: _SUCCESS, .part, _temporary/..."""
    return any(part.startswith(("_", ".")) for part in path.parts)
