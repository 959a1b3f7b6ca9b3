"""How kernels are compiled, and where the result is kept.

Machine code is run unseen: that of another signature reads its arguments as what they are not, and no error follows.
So a file of it says what it is of, and only a file that says what was asked for, and whose checksum holds, is read;
anything else is compiled again. Numba's cache trusts an index, which two processes can leave to name each other's code.
"""

import json
import pickle
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import njit

Array = np.ndarray

# No "reassoc": a sum keeps the order in which it is written, so that its digits do not depend on the machine.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}
SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "USING_SVML")  # of Numba
KEPT = 90 * 24 * 3600.0  # seconds that a file outlives its writing by, once other code is written beside it


def digest_of_sources() -> str:
    """Digest of all files of kernels: as a kernel holds the code of those that it calls, any of them dates it."""
    return sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()


SOURCES = digest_of_sources()


def compiled(kernel: Callable[..., Any]) -> Any:
    """The kernel in machine code, made at its first call; in memory only where no cache folder can be written."""
    machine_code = njit(**OPTIONS)(kernel)
    with suppress(Exception):  # no folder, or a version of Numba that keeps code in another way: it works without
        machine_code._cache = KernelCache(kernel)
    return machine_code


class KernelCache:
    """Machine code of one kernel on disk, a file for each signature, as Numba's dispatcher asks for it.

    A folder that is missing, full or read-only, or a damaged file, is as good as none: the kernel is compiled.
    """

    def __init__(self, kernel: Callable[..., Any]) -> None:
        from numba.core.caching import CompileResultCacheImpl

        self._numba = CompileResultCacheImpl(kernel)  # finds a folder, and turns code into what can be pickled
        self._folder = Path(self._numba.locator.get_cache_path())
        self._kernel = f"{kernel.__module__}.{kernel.__qualname__}"

    @property
    def cache_path(self) -> str:
        return str(self._folder)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Compiled code of a signature, or None if there is none that is proved to be it."""
        with suppress(Exception):
            context.refresh()
            stamp = self._stamp(signature, context.codegen())
            content = self._path(stamp).read_bytes()
            code = content.split(b"\n", 2)[2]
            if content == sealed(stamp, code):  # before it is unpickled, which runs what it holds
                return self._numba.rebuild(context, pickle.loads(code))
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep compiled code, unless the files of kernels have changed since this process read them."""
        with suppress(Exception):
            if self._numba.check_cachable(result) and digest_of_sources() == SOURCES:
                from numba.core.serialize import dumps

                stamp = self._stamp(signature, result.codegen)
                self._numba.locator.ensure_cache_path()
                write_whole(self._path(stamp), sealed(stamp, dumps(self._numba.reduce(result))))
                remove_stale(self._folder)

    def flush(self) -> None:
        """Remove the code of all signatures: the kernel is to be compiled again."""
        for path in self._folder.glob(f"{self._kernel}.*"):
            with suppress(OSError):
                path.unlink()

    def _path(self, stamp: bytes) -> Path:
        return self._folder / f"{self._kernel}.{SOURCES[:16]}.{sha256(stamp).hexdigest()[:32]}"

    def _stamp(self, signature: Any, codegen: Any) -> bytes:
        """All that the machine code depends on, in a line.

        The types of the arguments; the sources, with OPTIONS in them; who compiles, and how; the processor with its
        features, as several can share a home directory; and Python and NumPy, whose objects the code takes apart.
        """
        versions = {"python": sys.version, "numpy": np.__version__}
        versions |= {"numba": numba.__version__, "llvmlite": llvmlite.__version__}
        settings = {name: repr(getattr(numba.config, name, None)) for name in SETTINGS}
        stamp = {"kernel": self._kernel, "signature": str(signature), "sources": SOURCES}
        return json.dumps(stamp | versions | settings | {"processor": codegen.magic_tuple()}).encode()


def sealed(stamp: bytes, code: bytes) -> bytes:
    """The content of a file: a checksum of the rest, the stamp, the code."""
    content = stamp + b"\n" + code
    return sha256(content).hexdigest().encode() + b"\n" + content


def write_whole(path: Path, content: bytes) -> None:
    """A file that no other process sees before it is complete."""
    unfinished = path.with_name(f"{path.name}.{token_hex(8)}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


@cache
def remove_stale(folder: Path) -> None:
    """Remove, once in a process, code of other sources, and what was written long ago, by any version for any machine.

    Versions and processors may take turns in a folder, but its sources are only ever of one version.
    """
    oldest = time.time() - KEPT
    for path in folder.glob(f"{__package__}.*"):
        with suppress(OSError):
            if f".{SOURCES[:16]}." not in path.name or path.stat().st_mtime < oldest:
                path.unlink()
