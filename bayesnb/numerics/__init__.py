"""Special functions, threads, views of cells, and compiled inner loops: arrays in, arrays out, no
policy.

A kernel has a definition in NumPy beside it, which runs where the work is small. What scores or
counts cells is defined in its family too, as a formula (`defined`, `defined_score`), with which the
tests compare both. Arguments are bare arrays and numbers, always positional, so there are more of
them than elsewhere. A kernel holds no lock and writes only to the arrays that it is given for that.
Each module here is imported when it is first asked for, and Numba when the first kernel is
compiled; compiled code is kept on disk where a folder can be written.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    try:
        module = globals()[name] = import_module(f"bayesnb.numerics.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'bayesnb.numerics' has no attribute {name!r}") from None
    return module
