"""Labelled results: xarray Datasets and ArviZ trees. Only this room imports xarray and ArviZ.

Each module here, and xarray or ArviZ with it, is imported on first use. So are the types of
results, which signatures in other rooms therefore name in quotes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame
    from pandas import Series as Series
    from xarray import DataArray as DataArray
    from xarray import DataTree as DataTree

    from bayesnb.results import datasets as datasets
    from bayesnb.results import drawn_trees as drawn_trees
    from bayesnb.results import elpd as elpd
    from bayesnb.results import explanations as explanations
    from bayesnb.results import replicated as replicated
    from bayesnb.results import tables as tables
    from bayesnb.results.elpd import ShownScores as ShownScores
    from bayesnb.results.tables import ModelSummary as ModelSummary
    from bayesnb.results.tables import Result as Result
    from bayesnb.results.tables import TitledFrame as TitledFrame

_TYPES = {
    "DataArray": "xarray",
    "DataFrame": "pandas",
    "DataTree": "xarray",
    "ModelSummary": "bayesnb.results.tables",
    "Result": "bayesnb.results.tables",
    "Series": "pandas",
    "ShownScores": "bayesnb.results.elpd",
    "TitledFrame": "bayesnb.results.tables",
}


def __getattr__(name: str) -> Any:
    try:
        module = import_module(_TYPES.get(name, f"bayesnb.results.{name}"))
    except ModuleNotFoundError:
        raise AttributeError(f"module 'bayesnb.results' has no attribute {name!r}") from None
    value = globals()[name] = getattr(module, name) if name in _TYPES else module
    return value
