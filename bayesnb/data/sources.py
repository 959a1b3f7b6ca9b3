"""Where a table's bytes come from: a file, packed or not, or a stream such as standard input."""

import errno
import gzip
import io
import math
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

AGAIN = "If the file is damaged, download or write it again."
ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
TEXT = ("csv", "tsv", "jsonl")
MARKS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
STRANGE = {
    b"PK\x03\x04": "a zip archive, such as a saved model or an Excel workbook: save a sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook: save the sheet as CSV",
    b"%PDF": "a PDF",
    b"FEA1": "Feather of the first version, which is obsolete: convert it to Parquet",
    b"BZh": "compressed by bzip2: decompress it, or use gzip",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: decompress it, or use gzip",
    b"\xfd7zXZ": "compressed by xz: decompress it, or use gzip",
}
ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*[\[{]")
GZIP, WIDE = b"\x1f\x8b", (b"\xff\xfe", b"\xfe\xff")
IN_MEMORY = 1 << 26  # bytes of a stream that are kept in memory, more of them on disk
WORTH = {"csv": 2.0, "tsv": 2.0, "jsonl": 2.0, "parquet": 3.0, "arrow": 2.0}  # bytes in memory for one in the file
PACKED = 4.0  # by how much text shrinks, at least as a rule


@dataclass(frozen=True)
class Reading:
    """How a table in a file is to be read, where the file does not say.

    Parameters
    ----------
    format : {"csv", "tsv", "parquet", "arrow", "jsonl"} or None, default=None
        None: as its first bytes show, or as its name ends.
    delimiter : str or None, default=None
        The character between cells of text. None: found in the first rows.
    encoding : str or None, default=None
        Encoding of text. None: UTF-8, or as the file's first bytes say.
    decimal : str, default="."
        The decimal point of numbers in text.
    missing : tuple of str or None, default=None
        What a missing cell holds. None: "", "NA", "NaN" and "?" in text, nothing elsewhere.

    See Also
    --------
    bayesnb.scale.fit_files : Fit an estimator to files.

    Examples
    --------
    >>> from bayesnb import scale
    >>> scale.Reading(delimiter=";", decimal=",").decimal
    ','
    """

    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str = "."
    missing: tuple[str, ...] | None = None


@dataclass(eq=False)
class Source:
    """A table's bytes, which can be read from their beginning as often as is needed."""

    path: str
    declared_format: str | None = None  # the format, if the user names it
    on_read: Callable[[int], Any] = field(
        default=lambda count: None
    )  # is called with the number of bytes that were read
    is_text: bool = False  # if the user names its encoding

    @property
    def name(self) -> str:
        """Name of the file in messages."""
        return "standard input" if self.path == "-" else self.path

    @cached_property
    def _kept(self) -> BinaryIO | None:
        """Copy of what can be read only once."""
        path = Path(self.path)
        if self.path != "-" and (path.is_file() or not path.exists()):
            return None
        if self.path != "-" and path.is_dir():
            raise ValueError(f"{self.name}: it is a folder, not a file.")
        if self.path == "-" and sys.stdin is None:
            raise OSError(errno.EBADF, "it is closed", self.name)
        copy = cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=IN_MEMORY))  # noqa: SIM115  (kept as long as the source)
        with nullcontext(sys.stdin.buffer) if self.path == "-" else open(self.path, "rb") as stream:
            shutil.copyfileobj(stream, copy)
        return copy

    @cached_property
    def size(self) -> int:
        """Number of bytes, as they lie."""
        return os.stat(self.path).st_size if self._kept is None else self._kept.seek(0, io.SEEK_END)

    @cached_property
    def head(self) -> bytes:
        """First bytes, unpacked."""
        with self.open() as stream:
            return stream.read(1 << 16)

    def forget_head(self) -> None:
        """Drop the first bytes, as many sources may wait to be read; where they are needed, they are read again."""
        self.__dict__.pop("head", None)

    @cached_property
    def is_packed(self) -> bool:
        with self._raw() as stream:
            return stream.read(2) == GZIP

    @cached_property
    def format(self) -> str:
        """Format of the file: as the user says, as the first bytes show, or as its name ends."""
        marked = next((kind for mark, kind in MARKS.items() if self.head.startswith(mark)), None)
        if self.declared_format is not None:
            return self.declared_format
        if marked is not None:
            return marked
        self._refuse_strange()
        suffixes = [suffix.lower() for suffix in Path(self.path).suffixes]
        ending = next((suffix for suffix in reversed(suffixes) if suffix != ".gz"), "")
        start = self.head.removeprefix(b"\xef\xbb\xbf").lstrip()
        return ENDINGS.get(ending) or ("jsonl" if start.startswith(b"{") else "csv")

    def _refuse_strange(self) -> None:
        for mark, what in STRANGE.items():
            if self.head.startswith(mark):
                raise ValueError(f"{self.name}: it is {what}.")
        if ARRAY.match(self.head):
            raise ValueError(f"{self.name}: it is one JSON array. Write JSON lines: one object a line.")
        if b"\0" in self.head and self.head[:2] not in WIDE and not self.is_text:
            raise ValueError(
                f"{self.name}: it is not a table: neither text nor Parquet nor Arrow. Tables are CSV, TSV, JSON "
                "lines, Parquet or Arrow."
            )

    def open(self) -> BinaryIO:
        """Return the bytes from their beginning, unpacked."""
        packed = self.is_packed  # asked first: what can be read only once is shared
        raw = io.BufferedReader(self._raw(self.on_read), 1 << 18)
        return cast(BinaryIO, io.BufferedReader(Unpacked(raw, self.name), 1 << 18) if packed else raw)

    @property
    def place(self) -> Any:
        """Name of the file that has the bytes as they are, else a stream of them."""
        return self.open() if self.is_packed or self._kept is not None else self.path

    def _raw(self, on_read: Callable[[int], Any] = lambda count: None) -> "CountedStream":
        if self._kept is None:
            return CountedStream(open(self.path, "rb", buffering=0), on_read)
        self._kept.seek(0)
        return CountedStream(self._kept, on_read, is_shared=True)

    def refuse_too_large(self) -> None:
        """Raise for a table that this machine's memory cannot hold."""
        self.head  # noqa: B018  (a file that cannot be read says so first)
        packed = PACKED if self.is_packed else 1.0
        there = available_memory()
        ending = next((suffix for suffix in Path(self.path).suffixes if suffix in ENDINGS), ".csv")
        needed = self.size * packed * WORTH[self.declared_format or ENDINGS[ending]]
        if there is not None and needed > there:
            raise ValueError(
                f"{self.name}: the file has {readable_size(self.size)}, and would need about {readable_size(needed)} "
                f"of memory, of which {readable_size(there)} are free. Use fewer rows or columns, or fit it in Python "
                "with bayesnb.scale.fit_files, which reads it in parts."
            )


class CountedStream(io.RawIOBase):
    """A stream that reports how many bytes were read from it; a shared one stays open when its reader is closed."""

    def __init__(self, stream: Any, on_read: Callable[[int], Any], is_shared: bool = False) -> None:
        self.stream, self.on_read, self.is_shared = stream, on_read, is_shared

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.stream.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        count = self.stream.readinto(buffer)
        self.on_read(count)
        return count

    def close(self) -> None:
        if not self.is_shared:
            self.stream.close()
        super().close()


class Unpacked(gzip.GzipFile):
    """The bytes in a gzip file, which is closed with its reader; an error that names it where it is damaged."""

    def __init__(self, packed: BinaryIO, table: str) -> None:
        super().__init__(fileobj=packed, mode="rb")
        self.packed, self.table = packed, table

    def readinto(self, buffer: Any) -> int:
        with self._named_errors():
            return super().readinto(buffer)

    def seek(self, offset: int, whence: int = 0) -> int:
        with self._named_errors():
            return super().seek(offset, whence)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{self.table}: it is a gzip file that is damaged or cut off: {error}.") from None

    def close(self) -> None:
        super().close()
        self.packed.close()


def available_memory() -> int | None:
    """Return how many bytes this process can still have, as Linux says; None on other systems."""
    limits = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        limits += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
        limit, used = (Path("/sys/fs/cgroup", name).read_text() for name in ("memory.max", "memory.current"))
        limits += [int(limit) - int(used)] if limit.strip() != "max" else []
    except (OSError, ValueError):
        pass
    return min(limits, default=None)


def readable_size(count: float) -> str:
    """Return a number of bytes in words: 1.5 GB."""
    power = min(int(math.log10(max(count, 1)) // 3), 4)
    return f"{count / 1000**power:.3g} {('bytes', 'kB', 'MB', 'GB', 'TB')[power]}"


@contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Make Arrow's errors name the file."""
    try:
        yield
    except MemoryError as error:  # a damaged size may ask for any number of bytes
        raise MemoryError(f"{name}: {str(error) or 'its metadata takes too much'}. {AGAIN}") from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the latter of a column's name
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's, not Arrow's
        message = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise ValueError(f"{name}: it cannot be read: {message}. {AGAIN}") from error


def release() -> None:
    """Give back what Arrow keeps for later: batches come for hours."""
    pa.default_memory_pool().release_unused()
