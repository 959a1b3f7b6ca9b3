"""What other packages import, and a command has no use for: it is imported at its first use, or not at all."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType


class LazyFinder:
    """Find a module of one name, to be run at the first use of what is in it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where the module lies; None for all others, which other finders find."""
        spec = PathFinder.find_spec(name, path, target) if name == self.name else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


class HidingFinder(LazyFinder):
    """Find no module of one name."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """Raise for this module, as if it were not installed."""
        if name == self.name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextmanager
def deferred_import(name: str) -> Iterator[None]:
    """Let a module that is imported meanwhile for the first time run at its first use, which must be in one thread."""
    finder = LazyFinder(name)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def hide_lazy_arrays() -> None:
    """Hide Dask and sparse from xarray, in all of a process.

    It imports them, and Numba with them, to ask whether an array is one of theirs, which none is in a command.
    """
    sys.modules.setdefault("dask", None)  # type: ignore[arg-type]  # xarray asks importlib whether it is there
    sys.meta_path.insert(0, HidingFinder("sparse"))  # not None, which SciPy would take for the module
