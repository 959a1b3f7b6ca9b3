"""Special functions, threads, views of cells, and compiled inner loops: arrays in, arrays out, no policy.

What a kernel computes is defined once more, in NumPy, by its family (`defined`, `defined_score`), and laws compare the
two. A kernel's arguments are bare arrays and numbers, so it has more of them than other functions. It holds no lock
and writes only to the arrays that it is given for that. Each module here, and Numba with it, is imported when it is
first asked for; compiled code is kept on disk where a folder can be written.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    try:
        module = globals()[name] = import_module(f"bayesnb.numerics.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'bayesnb.numerics' has no attribute {name!r}") from None
    return module
