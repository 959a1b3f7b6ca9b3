"""Which files are meant: by name, by pattern, or all in a folder, whose own name may say what a column holds."""

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
        """What tells it from another file, and from a later state of itself."""
        state = self.path.stat()
        return [str(self.path.resolve()), state.st_size, state.st_mtime_ns]


def files_of(paths: Any) -> list[File]:
    """The files of a name, a folder, a pattern, or several of those; an error for none, and for one named twice."""
    if isinstance(paths, str) and not paths:
        raise FileNotFoundError("there are no files to read: `paths` is an empty text.")
    several = paths if isinstance(paths, Iterable) and not isinstance(paths, (str, bytes)) else [paths]
    found = [file for path in several for file in _files(Path(path))]
    if not found:
        raise ValueError("there are no files to read: `paths` is empty.")
    times = Counter(file.path.resolve() for file in found)
    twice = [path for path, count in times.items() if count > 1]
    if twice:
        raise ValueError(f"the file {str(twice[0])!r} is named {times[twice[0]]} times: its rows would count as often.")
    keys = {tuple(file.cells) for file in found}
    if len(keys) > 1:
        raise ValueError(
            "the names of folders say different columns for different files: "
            + " and ".join(", ".join(map(repr, key)) or "none" for key in sorted(keys))
            + "."
        )
    return found


def _files(path: Path) -> Iterator[File]:
    if path.is_dir():
        inside = (own for own in sorted(path.rglob("*")) if own.is_file() and not _is_hidden(own.relative_to(path)))
        found = [File.below(path, own) for own in inside if format_of_name(own.name) is not None]
    elif path.exists():
        found = [File(path)]
    elif glob.has_magic(str(path)):
        root = Path(*(part for part in _plain(path)))
        matches = map(Path, sorted(glob.glob(str(path), recursive=True)))
        found = [File.below(root, own) for own in matches if own.is_file()]
    else:
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}.")
    if not found:
        raise FileNotFoundError(f"{str(path)!r}: there is no Parquet, Arrow or CSV file there.")
    yield from found


def _plain(pattern: Path) -> Iterator[str]:
    """The folders of a pattern that are no pattern."""
    for part in pattern.parts[:-1]:
        if glob.has_magic(part):
            return
        yield part


def _is_hidden(path: Path) -> bool:
    """As others who read folders see it: _SUCCESS, .part, _temporary/..."""
    return any(part.startswith(("_", ".")) for part in path.parts)
