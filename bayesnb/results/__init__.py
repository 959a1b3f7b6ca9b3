"""Results with labels: xarray's Datasets and ArviZ's trees. The only room that knows either.

Each module here, and xarray or ArviZ with it, is imported when it is first asked for.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    try:
        module = globals()[name] = import_module(f"bayesnb.results.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'bayesnb.results' has no attribute {name!r}") from None
    return module
