"""Special functions, threads, views of cells, and compiled inner loops: arrays in, arrays out, no policy.

Each kernel that scores or counts cells has its definition in NumPy beside it in its family (`defined`,
`defined_score`), with which the tests compare it. Arguments are bare arrays and numbers, always positional, so there
are more of them than elsewhere. A kernel holds no lock and writes only to the arrays that it is given for that. Each
module here, and Numba with it, is imported when it is first asked for; compiled code is kept on disk where a folder can
be written.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    try:
        module = globals()[name] = import_module(f"bayesnb.numerics.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'bayesnb.numerics' has no attribute {name!r}") from None
    return module
