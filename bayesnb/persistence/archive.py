"""Zip archives without compression: members by name, whose bytes are never more than the file's, and arrays among them.

`model.json` repeats the type and shape of each array, and the header of its `.npy` member must be the one that these
make. So no header is ever parsed, and nothing is allocated but what has been read already. What is derived from an
array later, sums and beliefs, is as large as the array: every reference to it is charged to the budget again.
"""

import errno
import hashlib
import io
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from textwrap import shorten
from typing import IO, Any

import numpy as np

from bayesnb.persistence.budget import MOST_AXES, Budget, Unreadable

SUMS = "SHA256SUMS"
MAGIC = b"PK\x03\x04"
STAMP = (1980, 1, 1, 0, 0, 0)  # the same model makes the same file
TYPES = re.compile(r"\|b1|[<>|][iu][1248]|[<>]f[248]|[<>]U[1-9]\d{0,8}|\|S[1-9]\d{0,8}")
ALIGNED = 64
Array = np.ndarray
Bytes = Any  # what has the buffer protocol


def write_archive(file: IO[bytes], members: Mapping[str, tuple[Bytes, ...]]) -> None:
    """Write every member from its pieces, and the checksums of all."""
    sums = ""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in (*members, SUMS):
            parts = (sums.encode(),) if name == SUMS else members[name]
            digest, info = hashlib.sha256(), zipfile.ZipInfo(name, STAMP)
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            info.file_size = sum(memoryview(part).nbytes for part in parts)
            with archive.open(info, "w") as member:
                for part in parts:
                    member.write(part)
                    digest.update(part)
            sums += f"{digest.hexdigest()}  {name}\n"


class Archive:
    """The members of an open archive, each read on demand and compared with its checksum."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        if file.read(len(MAGIC)) != MAGIC:
            raise Unreadable("it is not a zip archive")
        self.size = size
        with report_damage():
            self.zip = zipfile.ZipFile(file)
            infos = self.zip.infolist()
            self.infos = {info.filename: info for info in infos}
            if len(self.infos) < len(infos):
                raise Unreadable("a member is there twice")
            if any(info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 for info in infos):
                raise Unreadable("a member is compressed or encrypted")
            if any(i.file_size != i.compress_size for i in infos) or sum(i.file_size for i in infos) > size:
                raise Unreadable("its members claim to be longer than the file")
            lines = [line.partition("  ") for line in self._bytes(SUMS).decode("ascii").splitlines()]
            self.sums = {name: digest for digest, _, name in lines}
        if {*self.sums, SUMS} != set(self.infos):
            raise Unreadable("its members are not those that its checksums name")

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
            raise Unreadable("it is not a regular file")
        yield Archive(file, status.st_size)


def array_name(number: int) -> str:
    """Return the name of the member that holds an array."""
    return f"arrays/{number}.npy"


def header(description: Mapping[str, Any]) -> bytes:
    """Return the header of an array in NumPy's format 1.0: https://numpy.org/neps/nep-0001-npy-format.html."""
    shape = "(" + "".join(f"{size}, " for size in description["shape"]).rstrip(" ") + ")"
    text = f"{{'descr': {description['dtype']!r}, 'fortran_order': {description['fortran_order']}, 'shape': {shape}, }}"
    length = -(-(10 + len(text) + 1) // ALIGNED) * ALIGNED - 10
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.ljust(length - 1).encode("ascii") + b"\n"


class ArrayWriter:
    """Arrays to be written, each once however often it is used, and their descriptions, as `model.json` holds them."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.descriptions: list[dict[str, Any]] = []
        self.numbers: dict[int, int] = {}

    def add(self, array: Array, where: str) -> int:
        """Add an array unless it is there, and return its number."""
        if id(array) not in self.numbers:
            if not TYPES.fullmatch(array.dtype.str) or array.ndim > MOST_AXES:
                raise ValueError(
                    f"{where}: an array of {array.dtype} cannot be saved. Use text, integers, booleans or floats of at "
                    "most 64 bits, with at most 8 axes."
                )
            self.numbers[id(array)] = len(self.arrays)
            self.arrays.append(array)
            fortran = array.flags.f_contiguous and not array.flags.c_contiguous
            description = {"dtype": array.dtype.str, "shape": list(array.shape), "fortran_order": fortran}
            self.descriptions.append(description)
        return self.numbers[id(array)]

    def members(self) -> dict[str, tuple[Bytes, ...]]:
        """Return the members of the archive that hold the arrays, without copies of those that are contiguous."""
        members = {}
        for number, (array, description) in enumerate(zip(self.arrays, self.descriptions, strict=True)):
            lying = np.ascontiguousarray(array.T if description["fortran_order"] else array)
            data = lying.reshape(-1).view(np.uint8).data if lying.size else b""
            members[array_name(number)] = (header(description), data)
        return members


class ArrayReader:
    """The arrays of an archive, each read once; `budget` bounds what reading the archive may cost."""

    def __init__(self, archive: Archive, descriptions: Any) -> None:
        if not isinstance(descriptions, list):
            raise Unreadable("`arrays` is not a list")
        self.archive, self.descriptions = archive, descriptions
        self.budget = Budget(archive.size)
        self.loaded: dict[int, Array] = {}

    def __getitem__(self, number: Any) -> Array:
        if type(number) is not int or not 0 <= number < len(self.descriptions):
            raise Unreadable(f"there is no array {number!r:.50}")
        description = self.descriptions[number]
        match description:
            case {"dtype": str(dtype), "shape": shape, "fortran_order": bool(), **rest} if not rest:
                if not TYPES.fullmatch(dtype):
                    raise Unreadable(f"array {number} is of a type that no model has")
            case _:
                raise Unreadable(f"array {number} is not described")
        self.budget.shape(shape, np.dtype(dtype).itemsize)
        if number not in self.loaded:
            self.loaded[number] = self._read(description, array_name(number))
        return self.loaded[number]

    def _read(self, description: Mapping[str, Any], name: str) -> Array:
        dtype, shape, first = np.dtype(description["dtype"]), description["shape"], header(description)
        count = prod(shape)
        if self.archive.length(name) != len(first) + count * dtype.itemsize:
            raise Unreadable(f"{name} is not as long as its type and shape require")
        data = self.archive.read(name)
        if not data.startswith(first):
            raise Unreadable(f"{name} does not begin as its type and shape require")
        numbers = np.frombuffer(data, dtype, count, len(first)).copy()
        array = numbers.reshape(shape[::-1]).T if description["fortran_order"] else numbers.reshape(shape)
        if dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
            raise Unreadable(f"{name} holds a value that is neither false nor true")
        if dtype.kind == "U":
            array.tolist()  # raises where a code is no letter
        return array
