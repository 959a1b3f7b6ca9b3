"""The methods of the public classes: named after the class that users know, and lazy tables sent to Dask's room.

A class is put together from mixins, which know nothing of lazy tables. Here, above them, is the one place that does:
a table of Dask goes to the integration, and only then is that imported.
"""

from collections.abc import Callable
from functools import update_wrapper, wraps
from importlib import import_module
from inspect import getattr_static
from types import FunctionType
from typing import Any

from bayesnb.data import is_lazy

INTEGRATION = "bayesnb.integrations.dask_tables"  # by name, as it stands above the estimators
PREDICTIONS = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "score")


def public_methods[Class: type](*lazy: str) -> Callable[[Class], Class]:
    """Return a class decorator that makes the mixins' public methods those of the class.

    Help, errors and profiles then say `NaiveBayes.predict_interval`. The methods named in `lazy` take tables of Dask.
    """

    def decorate(kind: Class) -> Class:
        for name in dir(kind):
            method = getattr_static(kind, name)
            ours = isinstance(method, FunctionType) and method.__module__.startswith("bayesnb.")
            if name in lazy or (ours and not name.startswith("_")):
                method = renamed(method, f"{kind.__name__}.{name}")
                setattr(kind, name, dispatched(method) if name in lazy else method)
        return kind

    return decorate


def renamed(function: FunctionType, qualname: str) -> FunctionType:
    """Return a copy of a function under another qualified name."""
    code = function.__code__.replace(co_qualname=qualname)
    copy = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    update_wrapper(copy, function)
    del copy.__wrapped__  # type: ignore[attr-defined]
    copy.__qualname__ = qualname
    return copy


def dispatched(method: FunctionType) -> Callable[..., Any]:
    """Return a method that leaves a lazy table to the integration's function of the same name."""
    name = method.__name__

    @wraps(method)
    def dispatch(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if hasattr(type(X), "__dask_graph__") and is_lazy(X):
            return getattr(import_module(INTEGRATION), name)(self, X, *args, **kwargs)
        return method(self, X, *args, **kwargs)

    return dispatch
