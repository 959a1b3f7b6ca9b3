"""Kernels: what runs where there is little to do, how the rest is compiled, and where the result is
kept.

A kernel has two forms: loops, which are compiled, and a definition in NumPy, which needs no
compiler. The definition runs where the arguments are small, so that a first answer on a small table
takes no seconds of compilation. The arguments alone decide it, in nearly all kernels by their
sizes, and never what has been compiled before: the digits are the same on every day. A service that
answers row after row for weeks may `always_compile`.

Machine code is run unseen: code of another signature reads its arguments as what they are not
(integers as floats), and no error follows. Numba's cache trusts an index file, which two processes
that compile at once can leave with entries that name each other's code, and it dates a kernel by
its module alone, though the code of kernels of other modules is compiled into it. So here each
signature, processor and state of all sources has files of its own.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property, update_wrapper
from hashlib import sha256
from pathlib import Path
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
# numbers: on fewer the definitions take at most a few milliseconds longer than compiled code
LITTLE = 1 << 14


def digest_of_sources() -> str:
    """Digest of all files of kernels, as a kernel holds the code of those that it calls.

    And of Python and NumPy, whose objects the code takes apart by their layout in memory.
    """
    sources = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    versions = f"{sys.version} {np.__version__}".encode()
    return sha256(b"".join([*sources, versions])).hexdigest()[:16]


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
        code._cache = cache_type()(loops)
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


@cache
def cache_type() -> Any:
    """Return the type of caches of machine code on disk, once Numba is loaded.

    A folder that is missing, full or read-only, or a damaged file, is as good as none: the kernel
    is compiled. A cache may not fail a fit, which is why its errors are suppressed.
    """
    from numba.core.caching import FunctionCache, IndexDataCacheFile

    class KernelCache(FunctionCache):
        """Numba's cache of one kernel, with separate files for each signature and processor.

        Machines can share a home directory, and an instruction that is not there ends the process.
        """

        def load_overload(self, signature: Any, context: Any) -> Any:
            with suppress(Exception):
                context.refresh()
                self._cache_file = self._file_of(signature, context.codegen())
                return self._load_overload(signature, context)
            return None

        def save_overload(self, signature: Any, data: Any) -> None:
            """Keep compiled code, unless the sources have changed since this process read them."""
            with suppress(Exception):
                if digest_of_sources() == SOURCES:
                    self._cache_file = self._file_of(signature, data.codegen)
                    self._save_overload(signature, data)
                    self._remove_stale()

        def _file_of(self, signature: Any, codegen: Any) -> Any:
            kind = sha256(repr((signature, codegen.magic_tuple())).encode()).hexdigest()[:16]
            name = f"{self._impl.filename_base}.{SOURCES}.{kind}"
            return IndexDataCacheFile(self.cache_path, name, SOURCES)

        def _remove_stale(self) -> None:
            """Remove the code of other sources; a folder has those of one version at a time."""
            for path in Path(self.cache_path).glob("*.nb[ci]"):
                if SOURCES not in path.name:
                    path.unlink(missing_ok=True)

    return KernelCache
