"""Reading and writing files of estimators and shards: written atomically, read as if they came from a stranger."""

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import shorten
from typing import Any, NoReturn

from bayesnb import __version__
from bayesnb.model.shards import Shard
from bayesnb.persistence.archive import ArrayReader, ArrayWriter, array_name, opened, write_archive
from bayesnb.persistence.budget import TOO_DEEP, Unreadable, check_depth
from bayesnb.persistence.document import (
    Json,
    Saved,
    check_class_prior,
    check_shard,
    check_temper,
    check_temper_covariance,
    check_temper_length,
    describe_model,
    describe_shard,
    model_of,
    shard_of,
)
from bayesnb.persistence.json_values import pack, unpack
from bayesnb.safe_output import replacing

MOST_LETTERS = 300


@dataclass(frozen=True)
class FileKind:
    """What a file holds, the version of its format, advice where it cannot be read, and the function that reads it."""

    name: str
    version: tuple[int, int]
    advice: str
    reader: str

    @property
    def document(self) -> str:
        """Name of the member that holds the document."""
        return f"{self.name}.json"


AGAIN = "Copy the file again from where it was saved, or fit the model again."
MODEL = FileKind("model", (1, 5), AGAIN, "bayesnb.load")
SHARD = FileKind("shard", (1, 3), "Count its rows again.", "bayesnb.scale.loads")
KINDS = (MODEL, SHARD)


class Foreign(Unreadable):
    """A sound file of another kind, or of a newer format."""


def write(saved: Saved, path: Any) -> None:
    """Write an estimator to a file, in place of what is there."""
    with _writing_errors(MODEL):
        check_shard(saved.shard)
        check_class_prior(saved.prior.classes, len(saved.shard.classes))
        check_temper(saved.temper, saved.temper_sd, len(saved.shard.schema.keys))
        check_temper_length(saved.temper_length, saved.temper, saved.shard.schema)
        check_temper_covariance(saved.temper_covariance, len(saved.shard.schema.keys))
    writer = ArrayWriter()
    members = _members(MODEL, describe_model(saved, writer), writer)
    with replacing(path) as file:
        write_archive(file, members)


def read(path: Any) -> Saved:
    """Return the estimator in a file; a ValueError for a file that `write` did not make."""
    with reading_errors(path), _document(path, MODEL) as (document, reader):
        return model_of(document, reader)


def write_shard(shard: Shard, path: Any, note: Any = None) -> None:
    """Write a shard to a file, in place of what is there, and with it a note: plain values, and arrays."""
    members = _shard_members(shard, note)
    with replacing(path) as file:
        write_archive(file, members)


def read_shard(path: Any) -> tuple[Shard, Any]:
    """Return the shard in a file, or in bytes, and its note; a ValueError for what `write_shard` did not make."""
    with reading_errors(path, SHARD), _document(path, SHARD) as (document, reader):
        return shard_of(document, reader), unpack(document["note"], reader)


def shard_bytes(shard: Shard, note: Any = None) -> bytes:
    """Return the bytes that `write_shard` writes."""
    file = io.BytesIO()
    write_archive(file, _shard_members(shard, note))
    return file.getvalue()


def _shard_members(shard: Shard, note: Any) -> Mapping[str, Any]:
    if not isinstance(shard, Shard):
        raise TypeError(f"expected a shard, as bayesnb.scale.shard makes of rows, got {shard!r:.100}.")
    with _writing_errors(SHARD):
        check_shard(shard)
    writer = ArrayWriter()
    document = describe_shard(shard, writer) | {"note": pack(note, writer, "the note")}
    return _members(SHARD, document, writer)


def _members(kind: FileKind, document: Json, writer: ArrayWriter) -> Mapping[str, Any]:
    """Return the members of an archive: the document and the arrays."""
    head = {"format": f"bayesnb {kind.name}", "version": list(kind.version), "written_by": f"bayesnb {__version__}"}
    document = head | document | {"arrays": writer.descriptions}
    with _writing_errors(kind):
        check_depth(document)
    text = json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")
    return {kind.document: (text,)} | writer.members()


@contextmanager
def _writing_errors(kind: FileKind) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"this {kind.name} cannot be saved: {error}.") from None


@contextmanager
def _document(source: Any, kind: FileKind) -> Iterator[tuple[Json, ArrayReader]]:
    """Open an archive of this kind: its document and its arrays."""
    with opened(source) as archive:
        for candidate in KINDS:
            if candidate is not kind and kind.document not in archive.names and candidate.document in archive.names:
                raise Foreign(f"holds a {candidate.name}, not a {kind.name}: {candidate.reader} reads it.")
        document = _parsed(archive.read(kind.document), kind)
        check_depth(document)
        _check_version(document, kind)
        reader = ArrayReader(archive, document["arrays"])
        if archive.names != {kind.document, *map(array_name, range(len(reader.descriptions)))}:
            raise Unreadable("its members are not the arrays that it names")
        yield document, reader


@contextmanager
def reading_errors(source: Any, kind: FileKind = MODEL) -> Iterator[None]:
    """Turn every failure to read a file, or bytes, into one ValueError that says which, why, and what to do.

    A hostile file may make anything fail anywhere: this is about every exception but those of the machine, and those
    that only a mistake of ours can make.
    """
    source_name = f"data of {len(source)} bytes" if isinstance(source, bytes) else repr(str(source))
    try:
        yield
    except (OSError, MemoryError, NameError):
        raise
    except Foreign as error:
        raise ValueError(f"{source_name} {error}") from None
    except Exception as error:
        reason = shorten(str(error)[: 2 * MOST_LETTERS], MOST_LETTERS).rstrip(".")
        if not isinstance(error, ValueError):
            reason = f"something is missing or invalid ({type(error).__name__}: {reason})"
        raise ValueError(f"{source_name} is not a readable bayesnb {kind.name}: {reason}. {kind.advice}") from error


def _parsed(text: bytes, kind: FileKind) -> Json:
    try:
        document = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except RecursionError:
        raise Unreadable(TOO_DEEP) from None
    if not isinstance(document, dict) or document.get("format") != f"bayesnb {kind.name}":
        raise Unreadable("it is not marked as one")
    return document


def _once(pairs: list[tuple[str, Any]]) -> Json:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise Unreadable("it names something twice")
    return members


def _refuse(constant: str) -> NoReturn:
    raise Unreadable(f"it holds {constant}, which is not valid JSON")


def _check_version(document: Json, kind: FileKind) -> None:
    major, minor = document["version"]
    if type(major) is not int or type(minor) is not int or major < 1 or minor < 0:
        raise Unreadable(f"its version {document['version']!r:.50} is invalid")
    if major > kind.version[0]:
        raise Foreign(
            f"is of format {f'{major}.{minor}':.20}, written by {document.get('written_by')!s:.50}; this is bayesnb "
            f"{__version__}, which reads formats up to {kind.version[0]}. Install a newer bayesnb."
        )
