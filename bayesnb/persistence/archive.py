"""Zip archives without compression: members by name, whose bytes are never more than the file's."""

import errno
import hashlib
import io
import os
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from textwrap import shorten
from typing import IO, Any

SUMS = "SHA256SUMS"
MAGIC = b"PK\x03\x04"
STAMP = (1980, 1, 1, 0, 0, 0)  # the same model makes the same file
Bytes = Any  # what has the buffer protocol


class Unreadable(ValueError):
    """A file that cannot be read as a model or a shard; the message says why."""


def write_archive(file: IO[bytes], members: Mapping[str, tuple[Bytes, ...]]) -> None:
    """Write every member from its pieces, and the checksums of all."""
    sums = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, parts in members.items():
            sums.append(f"{_add(archive, name, parts)}  {name}\n")
        _add(archive, SUMS, ("".join(sums).encode(),))


def _add(archive: zipfile.ZipFile, name: str, parts: tuple[Bytes, ...]) -> str:
    """Write one member and return its checksum."""
    digest, info = hashlib.sha256(), zipfile.ZipInfo(name, STAMP)
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    info.file_size = sum(memoryview(part).nbytes for part in parts)
    with archive.open(info, "w") as member:
        for part in parts:
            member.write(part)
            digest.update(part)
    return digest.hexdigest()


class Archive:
    """The members of an open archive, each read on demand and compared with its checksum."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        if file.read(len(MAGIC)) != MAGIC:
            raise Unreadable("it is no archive")
        self.size = size
        with report_damage():
            self.zip = zipfile.ZipFile(file)
            self.infos = {info.filename: info for info in self._checked(size)}
            self.sums = dict(_parse_checksums(self._bytes(SUMS).decode("ascii")))
        if {*self.sums, SUMS} != set(self.infos):
            raise Unreadable("its members are not those that its checksums name")

    def _checked(self, size: int) -> list[zipfile.ZipInfo]:
        infos = self.zip.infolist()
        if len({info.filename for info in infos}) < len(infos):
            raise Unreadable("a member is there twice")
        if any(info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 for info in infos):
            raise Unreadable("a member is compressed or encrypted, which those that we write never are")
        if any(info.file_size != info.compress_size for info in infos) or sum(i.file_size for i in infos) > size:
            raise Unreadable("its members claim to be longer than the file")
        return infos

    def _bytes(self, name: str) -> bytes:
        if name not in self.infos:
            raise Unreadable(f"{name} is missing")
        with report_damage():
            return self.zip.read(self.infos[name])

    def read(self, name: str) -> bytes:
        """Return the bytes of a member whose checksum is right."""
        data = self._bytes(name)
        if hashlib.sha256(data).hexdigest() != self.sums[name]:
            raise Unreadable(f"{name} does not match its checksum")
        return data

    @property
    def names(self) -> set[str]:
        """The names of all members but the checksums."""
        return set(self.sums)

    def length(self, name: str) -> int:
        """Length of a member in bytes, -1 where there is none."""
        return self.infos[name].file_size if name in self.infos else -1


def _parse_checksums(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        digest, _, name = line.partition("  ")
        yield name, digest


@contextmanager
def report_damage() -> Iterator[None]:
    """Turn every error of the zip reader about a damaged archive into `Unreadable`."""
    try:
        yield
    except Unreadable:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # the disk's, not the file's
        raise Unreadable(f"its archive is damaged ({shorten(str(error), 80)})") from error


@contextmanager
def opened(source: Any) -> Iterator[Archive]:
    """Open the archive in a file, or in bytes."""
    if isinstance(source, bytes):
        yield Archive(io.BytesIO(source), len(source))
        return
    with open(source, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("it is no regular file")
        yield Archive(file, status.st_size)
