"""Kernels: what runs where there is little to do, how the rest is compiled, and where the result is
kept.

A kernel has two forms: loops, which are compiled, and a definition in NumPy, which needs no
compiler. The definition runs where the arguments are small, so that a first answer on a small table
takes no seconds of compilation. The arguments alone decide it, in nearly all kernels by their
sizes, and never what has been compiled before: the digits are the same on every day. A service that
answers row after row for weeks may `always_compile`.

Machine code is run unseen: code of another signature reads its arguments as what they are not
(integers as floats), and no error follows. So each file carries a stamp of all that its code
depends on. Only a file with the stamp that is wanted and a valid checksum is read; otherwise the
kernel is compiled again. Numba's cache is not used because it trusts an index file, which two
processes that compile at once can leave with entries that name each other's code, and because it
dates a kernel by its module alone, though the code of kernels of other modules is compiled into it.
"""

import json
import pickle
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property, update_wrapper
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from threading import RLock
from typing import Any, ClassVar

import numpy as np

Array = np.ndarray
Csr = tuple[Array, Array, Array]  # data, indices and indptr of compressed rows

# No "reassoc": a sum keeps the order in which it is written, so that its digits do not depend on
# the machine, and the corrections of `rounded_away`, which are 0 in exact arithmetic, are not
# simplified away.
OPTIONS: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"},
    "no_cfunc_wrapper": True,
}  # fmt: skip
# of Numba
SETTINGS = (
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "USING_SVML",
)
# numbers: on fewer the definitions take at most a few milliseconds longer than compiled code
LITTLE = 1 << 14
# seconds after which a file is removed, once other code is written beside it
KEPT = 90 * 24 * 3600.0


def digest_of_sources() -> str:
    """Digest of all files of kernels: a kernel holds the code of those that it calls."""
    return sha256(
        b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    ).hexdigest()


SOURCES = digest_of_sources()
ONE_AT_A_TIME = RLock()  # as threads would each compile the same


class Kernel:
    """Loops that are compiled when they are first needed, and their definition in NumPy for small
    arguments.
    """

    __name__: str
    __module__: str
    always: ClassVar[bool] = False  # whether small arguments go to the loops too

    def __init__(self, loops: Callable[..., Any], inline: bool = False) -> None:
        update_wrapper(self, loops)
        self.loops, self.inline = loops, inline
        self.definition: Callable[..., Any] | None = None
        self.little, self.work = 0, size_of

    def defined(
        self, little: int = LITTLE, work: Callable[..., int] | None = None
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Let a function of the same arguments do what is little work: by their numbers in all, or
        as `work` counts.
        """

        def define(definition: Callable[..., Any]) -> Callable[..., Any]:
            self.definition, self.little, self.work = definition, little, work or size_of
            return definition

        return define

    def __call__(self, *args: Any) -> Any:
        if self.definition is not None and not self.always and self.work(*args) < self.little:
            return self.definition(*args)
        return self.machine_code(*args)

    def __reduce__(self) -> str:
        return self.loops.__qualname__  # a copy or another process has the kernel of that name

    @cached_property
    def machine_code(self) -> Any:
        """What Numba makes of the loops: compiled, or read from disk, at the first call with
        arguments of each type.
        """
        with ONE_AT_A_TIME:
            return vars(self).get("machine_code") or machine_code_of(self.loops)

    @cached_property
    def code_within_others(self) -> Any:
        """The loops as part of other kernels, without what lets Python call them, a third of the
        time of compiling.
        """
        from numba import njit

        options = OPTIONS | {"no_cpython_wrapper": True, "forceinline": self.inline}
        return njit(**options)(self.loops)


def always_compile(on: bool = True) -> None:
    """Use compiled code for small work too, in this process.

    Small work is done by NumPy: nothing has to be compiled, and an answer takes some 20
    microseconds longer. A service that answers row after row is better off with compiled code. Its
    first call of each kind then takes seconds, unless the code is on disk from an earlier process.

    Parameters
    ----------
    on : bool, default=True
        False returns to the usual behaviour.

    See Also
    --------
    bayesnb.Live : A model that learns while other threads ask it.

    Notes
    -----
    Probabilities agree to 1e-13 or so.

    Examples
    --------
    >>> from bayesnb import scale
    >>> scale.always_compile()
    >>> scale.always_compile(False)
    """
    Kernel.always = bool(on)


def compiled(loops: Callable[..., Any]) -> Kernel:
    """Make a kernel of loops."""
    return Kernel(loops)


def inlined(loops: Callable[..., Any]) -> Kernel:
    """Make a kernel whose code is copied into the kernels that call it.

    For a few lines that are called cell by cell. A call passes each array as seven numbers, in
    memory, and what is done with a cell takes less time than that. LLVM copies small kernels
    unasked where the vectors are long, but not where they are short, and the code gets longer.
    """
    return Kernel(loops, inline=True)


def machine_code_of(loops: Callable[..., Any]) -> Any:
    """Let Numba compile loops at their first call, and keep the code on disk where a cache folder
    can be written.
    """
    from numba import njit

    let_kernels_call_kernels()
    code = njit(**OPTIONS)(loops)
    # no folder, or a version of Numba that keeps code in another way: it works without
    with suppress(Exception):
        code._cache = KernelCache(loops)
    return code


def size_of(*args: Any) -> int:
    """Return how many numbers the arrays among the arguments hold.

    Compressed rows count for what is in these rows.
    """
    size = 0
    for each in args:
        if isinstance(each, np.ndarray):
            size += each.size
        elif isinstance(each, tuple):
            data, _, starts = each  # Csr, of which rows may be given by their starts alone
            size += 2 * int(starts[-1] - starts[0]) + starts.size if len(starts) else data.size
    return size


@cache
def let_kernels_call_kernels() -> None:
    """Tell Numba that a kernel which it meets in another one's loops is a compiled function."""
    from numba.core import types
    from numba.extending import typeof_impl

    typeof_impl.register(Kernel)(lambda kernel, _: types.Dispatcher(kernel.code_within_others))


class KernelCache:
    """Machine code of one kernel on disk, a file for each signature, with the methods that Numba's
    dispatcher calls.

    A folder that is missing, full or read-only, or a damaged file, is as good as none: the kernel
    is compiled. A cache may not fail a fit, which is why its errors are suppressed.
    """

    def __init__(self, kernel: Callable[..., Any]) -> None:
        from numba.core.caching import CompileResultCacheImpl

        # finds a folder, and turns code into what can be pickled
        self._numba = CompileResultCacheImpl(kernel)
        self._folder = Path(self._numba.locator.get_cache_path())
        self._kernel = f"{kernel.__module__}.{kernel.__qualname__}"

    @property
    def cache_path(self) -> str:
        return str(self._folder)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the compiled code of a signature, or None if no valid file has its stamp."""
        with suppress(Exception):
            context.refresh()
            stamp = self._stamp(signature, context.codegen())
            content = self._path(stamp).read_bytes()
            code = content.split(b"\n", 2)[2]
            if content == sealed(stamp, code):  # before it is unpickled, which runs what it holds
                return self._numba.rebuild(context, pickle.loads(code))
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep compiled code, unless the files of kernels have changed since this process read
        them.
        """
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
        """Name all that the machine code depends on, in one line of JSON.

        The types of the arguments; the sources, which include OPTIONS; the versions and settings of
        the compiler; the processor with its features, as machines can share a home directory, and
        an instruction that is not there ends the process; and Python and NumPy, whose objects the
        code takes apart by their layout in memory.
        """
        import llvmlite
        import numba

        versions = {"python": sys.version, "numpy": np.__version__}
        versions |= {"numba": numba.__version__, "llvmlite": llvmlite.__version__}
        settings = {name: repr(getattr(numba.config, name, None)) for name in SETTINGS}
        stamp = {"kernel": self._kernel, "signature": str(signature), "sources": SOURCES}
        return json.dumps(
            stamp | versions | settings | {"processor": codegen.magic_tuple()}
        ).encode()


def sealed(stamp: bytes, code: bytes) -> bytes:
    """Content of a file: a checksum of the next two, the stamp, the code."""
    content = stamp + b"\n" + code
    return sha256(content).hexdigest().encode() + b"\n" + content


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that no other process sees before it is complete."""
    unfinished = path.with_name(f"{path.name}.{token_hex(8)}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


@cache
def remove_stale(folder: Path) -> None:
    """Remove, once in a process, files of other sources, and files older than KEPT.

    Python versions and processors may take turns in a folder, so their stamps are not compared; its
    sources, which the folder belongs to, are of one version at a time.
    """
    oldest = time.time() - KEPT
    for path in folder.glob(f"{__package__}.*"):
        with suppress(OSError):
            if f".{SOURCES[:16]}." not in path.name or path.stat().st_mtime < oldest:
                path.unlink()
