"""Special functions, threads, views of cells, and compiled inner loops: arrays in, arrays out.

Each kernel has a NumPy definition next to it, which runs where there is little work. Kernels that
score or count cells are also defined in their family, as formulas (`defined`, `defined_score`);
tests compare the two. Arguments are plain arrays and numbers, always positional. A kernel holds no
lock, and writes only to its output arrays. Modules are imported on first use, and Numba when the
first kernel is compiled; compiled code is cached on disk where possible.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    try:
        module = globals()[name] = import_module(f"bayesnb.numerics.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'bayesnb.numerics' has no attribute {name!r}") from None
    return module
