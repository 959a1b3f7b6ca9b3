"""Kernels: when they run, how they are compiled, and where the machine code is cached.

A kernel has two forms: loops, which are compiled, and a definition in NumPy. The definition runs
where the arguments are small, so that a first result on a small table does not wait seconds for the
compiler. Only the arguments decide which form runs, in nearly all kernels by their sizes, and never
what was compiled before: results are reproducible to the last digit. A long-running service that
scores row after row can call `always_compile`.

Machine code is not checked when it runs: code for another signature would misread its arguments
(integers as floats) without an error. Numba's cache trusts an index file, in which two processes
that compile at once can leave entries for each other's code. It also dates a kernel by its own
module, although code from other modules is compiled into it. So here each signature, processor and
state of all sources has its own files.
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

# No "reassoc": sums keep their written order, so that digits do not depend on the machine, and the
# corrections of `rounded_away`, which are 0 in exact arithmetic, are not optimised away.
OPTIONS: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"},
    "no_cfunc_wrapper": True,
}  # fmt: skip
# numbers in all arguments; with fewer, definitions are at most a few milliseconds slower
LITTLE = 1 << 14


def digest_of_sources() -> str:
    """Digest of all kernel sources, as a kernel contains the code of those that it calls.

    It covers the versions of Python and NumPy too, as the code depends on the memory layout of
    their objects.
    """
    sources = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    versions = f"{sys.version} {np.__version__}".encode()
    return sha256(b"".join([*sources, versions])).hexdigest()[:16]


SOURCES = digest_of_sources()
ONE_AT_A_TIME = RLock()  # else several threads would compile the same kernel


class Kernel:
    """Loops that are compiled on first use, and a NumPy definition for small arguments."""

    __name__: str
    __module__: str
    always: ClassVar[bool] = False  # whether to use the loops for small arguments too

    def __init__(self, loops: Callable[..., Any], inline: bool = False) -> None:
        update_wrapper(self, loops)
        self.loops, self.inline = loops, inline
        self.definition: Callable[..., Any] | None = None
        self.little, self.work = 0, size_of

    def defined(
        self, little: int = LITTLE, work: Callable[..., int] | None = None
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register a NumPy definition for little work, measured by the size of the arguments or by
        `work`.
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
        return self.loops.__qualname__  # copies and other processes look the kernel up by name

    @cached_property
    def machine_code(self) -> Any:
        """Numba's version of the loops, compiled or read from disk at the first call with arguments
        of each type.
        """
        with ONE_AT_A_TIME:
            return vars(self).get("machine_code") or machine_code_of(self.loops)

    @cached_property
    def code_within_others(self) -> Any:
        """The loops for use in other kernels, without the Python wrapper, which takes a third of
        the compile time.
        """
        from numba import njit

        options = OPTIONS | {"no_cpython_wrapper": True, "forceinline": self.inline}
        return njit(**options)(self.loops)


def always_compile(on: bool = True) -> None:
    """Use compiled code for small work too, in this process.

    By default NumPy does small work: nothing has to be compiled, and a call takes about 20
    microseconds longer. A service that scores row after row is faster with compiled code. Its first
    call of each kind then takes seconds, unless an earlier process left the code on disk.

    Parameters
    ----------
    on : bool, default=True
        False returns to the usual behaviour.

    See Also
    --------
    bayesnb.Live : A model that learns while other threads predict.

    Notes
    -----
    Probabilities agree to about 1e-13.

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

    This is for a few lines that are called cell by cell. A call passes each array as seven numbers
    in memory, which takes longer than the work on one cell. LLVM inlines small kernels by itself
    only where vectors are long.
    """
    return Kernel(loops, inline=True)


def machine_code_of(loops: Callable[..., Any]) -> Any:
    """Let Numba compile loops at their first call, and cache the code on disk where possible."""
    from numba import njit

    let_kernels_call_kernels()
    code = njit(**OPTIONS)(loops)
    # without a folder, or with another version of Numba, there is no cache
    with suppress(Exception):
        code._cache = cache_type()(loops)
    return code


def size_of(*args: Any) -> int:
    """Return the total size of the arrays among the arguments; of CSR, of the given rows only."""
    size = 0
    for each in args:
        if isinstance(each, np.ndarray):
            size += each.size
        elif isinstance(each, tuple):
            data, _, starts = each  # Csr; the starts select rows
            size += 2 * int(starts[-1] - starts[0]) + starts.size if len(starts) else data.size
    return size


@cache
def let_kernels_call_kernels() -> None:
    """Tell Numba that a kernel called in the loops of another is a compiled function."""
    from numba.core import types
    from numba.extending import typeof_impl

    typeof_impl.register(Kernel)(lambda kernel, _: types.Dispatcher(kernel.code_within_others))


@cache
def cache_type() -> Any:
    """Return the class of disk caches of machine code, once Numba is loaded.

    If a folder is missing, full or read-only, or a file damaged, the kernel is compiled. Errors are
    suppressed, as a cache must not make a fit fail.
    """
    from numba.core.caching import FunctionCache, IndexDataCacheFile

    class KernelCache(FunctionCache):
        """Numba's cache of one kernel, with separate files for each signature and processor.

        Machines can share a home directory, and an unknown instruction would crash the process.
        """

        def load_overload(self, signature: Any, context: Any) -> Any:
            with suppress(Exception):
                context.refresh()
                self._cache_file = self._file_of(signature, context.codegen())
                return self._load_overload(signature, context)
            return None

        def save_overload(self, signature: Any, data: Any) -> None:
            """Save compiled code, unless the sources have changed since this process read them."""
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
