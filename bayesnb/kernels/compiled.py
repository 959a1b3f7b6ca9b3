"""How kernels are compiled, and where the result is kept."""

from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray

# No "reassoc": a sum keeps the order in which it is written, so that its digits do not depend on the machine.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}
SOURCES = sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()


def compiled(kernel: Callable[..., Any]) -> Any:
    """The kernel in machine code, made at its first call; in memory only where no cache folder can be written."""
    try:
        machine_code = njit(cache=True, **OPTIONS)(kernel)
    except RuntimeError:  # Numba's "no locator available"
        return njit(**OPTIONS)(kernel)
    with suppress(AttributeError):  # not in every version of Numba, which works without
        machine_code._cache._cache_file._source_stamp = SOURCES  # a kernel calls others: all files date the cache
        machine_code._cache = Forgiving(machine_code._cache)
    return machine_code


class Forgiving:
    """A cache on disk that is damaged, full or gone is as good as none: the kernel is compiled again."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def load_overload(self, *key: Any) -> Any:
        with suppress(Exception):
            return self._cache.load_overload(*key)
        return None

    def save_overload(self, *entry: Any) -> None:
        try:
            self._cache.save_overload(*entry)
        except Exception:
            with suppress(Exception):
                self._cache.flush()  # an index that cannot be read is begun anew
                self._cache.save_overload(*entry)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)
