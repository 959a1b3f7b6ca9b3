"""Files of estimators and shards: written completely or not at all, and read as untrusted."""

import errno
import io
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import shorten
from typing import IO, Any

from bayesnb import __version__
from bayesnb.families.record import Array
from bayesnb.model.shards import Shard
from bayesnb.persistence.checks import check_saved, check_shard
from bayesnb.persistence.codec import Json, Packer, Saved, Unpacker, array_bytes, expect, read_array
from bayesnb.safe_output import replacing

VERSION = 4  # of the format; a reader refuses others
FREE_BYTES = 1 << 27  # memory that reading any file may take, plus
BYTES_PER_BYTE = 64  # for each byte of the file
MAX_LETTERS = 300  # of a reason
Source = Any  # a path, or bytes


READERS = {
    "model": "bayesnb.load",
    "shard": "bayesnb.scale.loads",
}  # kind of file -> function that reads it
ADVICE = "Copy the file again, or save it again."


class WrongKindError(ValueError):
    """A valid file of another kind or format version."""


def write(saved: Saved, path: Any) -> None:
    """Write an estimator to a file, replacing an existing one."""
    with writing_errors("model"):
        check_saved(saved)
    with replacing(path) as file:
        write_archive(file, "model", {"model": saved})


def read(path: Any) -> Saved:
    """Return the estimator in a file; raise ValueError for any other file."""
    with reading_errors(path):
        saved = expect(read_members(path, "model")["model"], Saved)
        check_saved(saved)
        return saved


def write_shard(shard: Shard, path: Any, note: Any = None) -> None:
    """Write a shard and a note of plain values to a file, replacing an existing one."""
    data = shard_bytes(shard, note)
    with replacing(path) as file:
        file.write(data)


def shard_bytes(shard: Shard, note: Any = None) -> bytes:
    """Return the bytes that `write_shard` writes."""
    if not isinstance(shard, Shard):
        raise TypeError(
            f"expected a shard, such as bayesnb.scale.shard returns, got {shard!r:.100}."
        )
    with writing_errors("shard"):
        check_shard(shard)
    file = io.BytesIO()
    write_archive(file, "shard", {"shard": shard, "note": note})
    return file.getvalue()


def read_shard(source: Source) -> tuple[Shard, Any]:
    """Return the shard in a file or in bytes, and its note; raise ValueError for any other file."""
    with reading_errors(source, "shard"):
        content = read_members(source, "shard")
        shard = expect(content["shard"], Shard)
        check_shard(shard)
        return shard, content["note"]


# Archives


def write_archive(file: IO[bytes], kind: str, content: dict[str, Any]) -> None:
    """Write an uncompressed archive of a document and its arrays."""
    packer = Packer()
    document = {
        "format": f"bayesnb {kind}",
        "version": VERSION,
        "written_by": f"bayesnb {__version__}",
        "content": {
            name: packer.pack(value, "" if name == kind else name)
            for name, value in content.items()
        },
    }
    text = json.dumps(
        document,
        allow_nan=False,
        separators=(",", ":"),
    ).encode("ascii")
    # entries have no date, so that equal models give equal files
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(f"{kind}.json"), text)
        for number, array in enumerate(packer.arrays):
            archive.writestr(zipfile.ZipInfo(f"arrays/{number}.npy"), array_bytes(array))


def read_members(source: Source, kind: str) -> dict[str, Any]:
    """Return the content of an archive of this kind."""
    with open_archive(source) as (archive, size):
        names = archive.namelist()
        if f"{kind}.json" not in names:
            for other, reader in READERS.items():
                if f"{other}.json" in names:
                    raise WrongKindError(f"holds a {other}, not a {kind}: {reader} reads it.")
            raise ValueError(f"it contains no {kind}.json")
        document = parse_document(archive.read(f"{kind}.json"), kind)

        def read(number: int) -> Array:
            return read_array(archive.read(f"arrays/{number}.npy"))

        unpacker = Unpacker(read, FREE_BYTES + BYTES_PER_BYTE * size)
        return expect(unpacker.unpack(document["content"]), dict)


@contextmanager
def open_archive(source: Source) -> Iterator[tuple[zipfile.ZipFile, int]]:
    """Open an archive in a file or in bytes, whose members together are no longer than it."""
    with io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        if not (size and zipfile.is_zipfile(file)):  # a device has size 0, and maybe no end
            raise ValueError("it is not a zip archive, or its end is missing")
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if any(each.compress_type != zipfile.ZIP_STORED for each in members):
                raise ValueError("a member is compressed")
            if sum(each.file_size for each in members) > size:
                raise ValueError("its members claim to be longer than the file")
            yield archive, size


def parse_document(text: bytes, kind: str) -> Json:
    """Return the document of a file, after checking its format."""
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("format") != f"bayesnb {kind}":
        raise ValueError("it has another format")
    version = document.get("version")
    if version != VERSION:
        advice = ADVICE
        if isinstance(version, int) and version > VERSION:
            advice = "Install a newer bayesnb."
        raise WrongKindError(
            f"has format {version!r:.20}, written by {document.get('written_by')!s:.50}; "
            f"bayesnb {__version__} reads format {VERSION}. {advice}"
        )
    return document


# Errors


@contextmanager
def writing_errors(kind: str) -> Iterator[None]:
    """Prefix ValueErrors with "this cannot be saved"."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"this {kind} cannot be saved: {error}.") from None


@contextmanager
def reading_errors(source: Source, kind: str = "model") -> Iterator[None]:
    """Turn every failure to read a file or bytes into one ValueError: which, why, what to do.

    A hostile file can make anything fail, so this covers all exceptions except those of the machine
    and those that only a bug can cause.
    """
    source_name = repr(str(source))
    if isinstance(source, bytes):
        source_name = f"data of {len(source)} bytes"
    try:
        yield
    except (MemoryError, NameError):
        raise
    except WrongKindError as error:
        raise ValueError(f"{source_name} {error}") from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # an error of the disk, not of the file
        reason = shorten(str(error)[: 2 * MAX_LETTERS], MAX_LETTERS).rstrip(".")
        if not isinstance(error, ValueError):
            reason = f"something is missing or invalid ({type(error).__name__}: {reason})"
        raise ValueError(
            f"{source_name} is not a readable bayesnb {kind}: {reason}. {ADVICE}"
        ) from error
