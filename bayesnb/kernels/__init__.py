"""Compiled inner loops: arrays in, arrays out, no policy. What each computes is said once more, in NumPy, by its family.

A kernel holds no lock and touches only the rows that it is given. Each of its modules, and Numba with them, is
imported when it is first asked for; compiled code is kept on disk where a folder can be written.
"""

from importlib import import_module
from typing import Any

MODULES = ("counts", "flags", "gaussian", "levels", "moments", "rows")


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module 'bayesnb.kernels' has no attribute {name!r}")
    module = globals()[name] = import_module(f"bayesnb.kernels.{name}")
    return module
