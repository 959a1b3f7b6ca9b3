"""An estimator as the Python that makes it again: its name, and the parameters that are not their defaults."""

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from inspect import signature
from typing import Any

import numpy as np

from bayesnb.families.family import Family
from bayesnb.families.record import Record


def code_of(model: Any) -> str:
    """The estimator's name and what differs from its defaults, as one would type it."""
    parts: list[str] = []
    for name, parameter in signature(type(model)).parameters.items():
        value, default = getattr(model, name), parameter.default
        plain = type(value) is type(default) and isinstance(value, (str, int, float))  # arrays are not compared
        if value is default or (plain and value == default):
            continue
        first = not parts and parameter.kind is parameter.POSITIONAL_OR_KEYWORD and name == "families"
        parts.append(typed(value) if first else f"{name}={typed(value)}")
    return f"{type(model).__name__}({', '.join(parts)})"


def names_in(model: Any) -> list[str]:
    """Return the names to import from the package to type the estimator."""
    values = (getattr(model, name) for name in signature(type(model)).parameters)
    return sorted({type(model).__name__}.union(*map(classes_in, values)))


def classes_in(value: Any) -> set[str]:
    """The families and beliefs in a value."""
    if isinstance(value, Mapping):
        return set[str]().union(*map(classes_in, value.values()))
    if isinstance(value, Family):
        return {type(value).__name__}.union(*(classes_in(getattr(value, name)) for name in typed_fields(value)))
    return {type(value).__name__} if isinstance(value, Record) else set()


def typed(value: Any) -> str:
    """A value as Python."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{typed(key)}: {typed(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return f"({', '.join(map(typed, value))}{',' * (len(value) == 1)})"
    if isinstance(value, list):
        return f"[{', '.join(map(typed, value))}]"
    if isinstance(value, Family | Record):
        names = typed_fields(value) if isinstance(value, Family) else value.__match_args__
        renamed = getattr(value, "renamed", {})
        args = [f"{renamed.get(name, name)}={typed(getattr(value, name))}" for name in names]
        return f"{type(value).__name__}({', '.join(args)})"
    return repr(value)


def typed_fields(family: Any) -> list[str]:
    """The fields of a family that are not their defaults; a prior is always typed."""
    values = ((field, getattr(family, field.name)) for field in fields(family))
    return [field.name for field, value in values if is_dataclass(value) or value is not field.default]


def declared_columns(model: Any) -> set[Hashable] | None:
    """The names of the columns whose family a user chose; None, where it is all of them."""
    families = getattr(model, "families", None)
    if families is None or isinstance(families, Family):
        return None
    if families == "auto":
        return set()
    return set(families).union(*(key for key in families if isinstance(key, tuple)))
