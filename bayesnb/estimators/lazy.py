"""Tables of Dask are left to its room, which stands above this one and is imported only then."""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

from bayesnb.data import is_lazy


def dask_room() -> Any:
    """Return the module that knows Dask."""
    return import_module("bayesnb.scale.dask_tables")


def accept_lazy_tables[Method: Callable[..., Any]](method: Method) -> Method:
    """Return a method that leaves a lazy X to the Dask room's function of the same name."""

    @wraps(method)
    def dispatch(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if hasattr(type(X), "__dask_graph__") and is_lazy(X):
            answer = getattr(dask_room(), method.__name__)
            return answer(self, X, *args, **kwargs)
        return method(self, X, *args, **kwargs)

    return dispatch  # type: ignore[return-value]
