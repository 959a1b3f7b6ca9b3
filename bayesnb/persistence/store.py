"""Files of estimators and of shards: written as a whole or not at all, and read as if they came from a stranger."""

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import shorten
from typing import Any, NoReturn

from bayesnb import __version__
from bayesnb.model.shards import Shard
from bayesnb.persistence.archive import Unreadable, opened, write_archive
from bayesnb.persistence.arrays import Keeper, Shelf, name_of
from bayesnb.persistence.budget import TOO_DEEP, check_depth
from bayesnb.persistence.document import Json, document_of, saved_of, shard_of, shard_said
from bayesnb.persistence.json_values import packed, unpacked
from bayesnb.persistence.saved import Saved, check_shard
from bayesnb.safe_output import replacing

MOST_LETTERS = 300


@dataclass(frozen=True)
class Kind:
    """A kind of file: what it holds, the version of its format, what to do where it cannot be read, what reads it."""

    name: str
    version: tuple[int, int]
    advice: str
    reader: str

    @property
    def document(self) -> str:
        """The member that is no array."""
        return f"{self.name}.json"


MODEL = Kind(
    "model",
    (1, 2),
    "Get the file again from where it was saved; where that is not possible, fit the model again.",
    "bayesnb.load",
)
SHARD = Kind("shard", (1, 1), "Count its rows again.", "bayesnb.scale.loads")
KINDS = (MODEL, SHARD)


class Foreign(Unreadable):
    """The file is sound, but of another kind, or of a format that is not known yet."""


def write(saved: Saved, path: Any) -> None:
    """Write an estimator to a file, in place of what is there."""
    try:
        saved.check()
    except ValueError as error:
        raise ValueError(f"this model cannot be saved: {error}.") from None
    keeper = Keeper()
    members = _members(MODEL, document_of(saved, keeper), keeper)
    with replacing(path) as file:
        write_archive(file, members)


def read(path: Any) -> Saved:
    """The estimator in a file; a ValueError for a file that `write` did not make."""
    with told(path), _document(path, MODEL) as (said, shelf):
        return saved_of(said, shelf)


def write_shard(shard: Shard, path: Any, note: Any = None) -> None:
    """Write a shard to a file, in place of what is there, and with it a note: plain values, and arrays."""
    members = _shard_members(shard, note)
    with replacing(path) as file:
        write_archive(file, members)


def read_shard(path: Any) -> tuple[Shard, Any]:
    """The shard in a file, or in bytes, and the note; a ValueError for what `write_shard` did not make."""
    with told(path, SHARD), _document(path, SHARD) as (said, shelf):
        return shard_of(said, shelf), unpacked(said["note"], shelf)


def shard_bytes(shard: Shard, note: Any = None) -> bytes:
    """What `write_shard` writes."""
    file = io.BytesIO()
    write_archive(file, _shard_members(shard, note))
    return file.getvalue()


def _shard_members(shard: Shard, note: Any) -> Mapping[str, Any]:
    if not isinstance(shard, Shard):
        raise TypeError(f"expected a shard, as bayesnb.scale.shard makes of rows, got {shard!r:.100}.")
    try:
        check_shard(shard)
    except ValueError as error:
        raise ValueError(f"this shard cannot be saved: {error}.") from None
    keeper = Keeper()
    said = shard_said(shard, keeper) | {"note": packed(note, keeper, "the note")}
    return _members(SHARD, said, keeper)


def _members(kind: Kind, said: Json, keeper: Keeper) -> Mapping[str, Any]:
    """The members of an archive: what is said, and the arrays."""
    head = {"format": f"bayesnb {kind.name}", "version": list(kind.version), "written_by": f"bayesnb {__version__}"}
    said = head | said | {"arrays": keeper.said}
    try:
        check_depth(said)
    except ValueError as error:
        raise ValueError(f"this {kind.name} cannot be saved: {error}.") from None
    text = json.dumps(said, allow_nan=False, separators=(",", ":")).encode("ascii")
    return {kind.document: (text,)} | keeper.members()


@contextmanager
def _document(source: Any, kind: Kind) -> Iterator[tuple[Json, Shelf]]:
    """What an archive of this kind says, and its arrays."""
    with opened(source) as archive:
        for other in KINDS:
            if other is not kind and kind.document not in archive.names and other.document in archive.names:
                raise Foreign(f"holds a {other.name}, not a {kind.name}: {other.reader} reads it.")
        said = _parsed(archive.read(kind.document), kind)
        check_depth(said)
        _check_version(said, kind)
        shelf = Shelf(archive, said["arrays"])
        if archive.names != {kind.document, *map(name_of, range(len(shelf.said)))}:
            raise Unreadable("its members are not the arrays that it names")
        yield said, shelf


@contextmanager
def told(source: Any, kind: Kind = MODEL) -> Iterator[None]:
    """Whatever is wrong with a file, or bytes, is one error that says which, why, and what to do.

    A hostile file may make anything fail anywhere: this is about every exception but those of the machine, and those
    that only a mistake of ours can make.
    """
    whose = f"data of {len(source)} bytes" if isinstance(source, bytes) else repr(str(source))
    try:
        yield
    except (OSError, MemoryError, NameError):
        raise
    except Foreign as error:
        raise ValueError(f"{whose} {error}") from None
    except Exception as error:
        said = shorten(str(error)[: 2 * MOST_LETTERS], MOST_LETTERS).rstrip(".")
        what = (
            said if isinstance(error, ValueError) else f"something is missing or odd ({type(error).__name__}: {said})"
        )
        raise ValueError(f"{whose} is no {kind.name} that can be read: {what}. {kind.advice}") from error


def _parsed(text: bytes, kind: Kind) -> Json:
    try:
        said = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except RecursionError:
        raise Unreadable(TOO_DEEP) from None
    if not isinstance(said, dict) or said.get("format") != f"bayesnb {kind.name}":
        raise Unreadable("it does not say that it is one")
    return said


def _once(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Unreadable("it says something twice")
    return found


def _refuse(constant: str) -> NoReturn:
    raise Unreadable(f"it holds {constant}, which is no JSON")


def _check_version(said: Json, kind: Kind) -> None:
    major, minor = said["version"]
    if type(major) is not int or type(minor) is not int or major < 1 or minor < 0:
        raise Unreadable(f"its version {said['version']!r:.50} is none")
    if major > kind.version[0]:
        raise Foreign(
            f"is of format {major}.{minor}, written by {said.get('written_by')!s:.50}; this is bayesnb {__version__}, "
            f"which reads formats up to {kind.version[0]}. Install a newer bayesnb."
        )
