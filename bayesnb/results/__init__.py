"""Results with labels: xarray's Datasets and ArviZ's trees. The only room that knows either.

Each module here, and xarray or ArviZ with it, is imported when it is first asked for.
"""

from importlib import import_module
from typing import Any

MODULES = (
    "calibrations",
    "datasets",
    "diagnostics",
    "draws",
    "elpd",
    "explanations",
    "linear",
    "names",
    "regression",
    "sampled",
    "structure",
    "trees",
)


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module 'bayesnb.results' has no attribute {name!r}")
    module = globals()[name] = import_module(f"bayesnb.results.{name}")
    return module
