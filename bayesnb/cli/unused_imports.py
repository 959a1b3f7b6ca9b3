"""What other packages import, and a command has no use for: it is imported at its first use, or not at all."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

LAZY = {  # run at their first use, which must be in one thread
    "numpy.f2py",  # SciPy copies all names of NumPy
    "numpy.testing",
    "scipy.stats",  # half of scikit-learn's import
}
HIDDEN_MODULES = {
    "mpl_toolkits.mplot3d",  # matplotlib does without it, with a warning
    "sparse",  # xarray asks whether an array is one of its arrays; SciPy would take None in sys.modules for the module
}
AXES3D_WARNING = "Unable to import Axes3D"  # of matplotlib


class UnusedFinder:
    """Find lazy modules, to be run at their first use, and no hidden ones, as if these were not installed."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where a lazy module lies; None for a module of other finders."""
        if name in HIDDEN_MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        spec = PathFinder.find_spec(name, path, target) if name in LAZY else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def avoid_unused_imports() -> None:
    """Put off or hide, in all of a process, what a command does not use."""
    sys.modules.setdefault("dask", None)  # type: ignore[arg-type]  # xarray asks importlib whether it is there
    if UnusedFinder not in sys.meta_path:
        sys.meta_path.insert(0, UnusedFinder)
