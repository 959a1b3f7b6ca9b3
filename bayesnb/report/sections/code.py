"""The settings of an estimator as Python that makes it again."""

from collections.abc import Mapping
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
        value = getattr(model, name)
        if not same(value, parameter.default):
            first = not parts and parameter.kind is parameter.POSITIONAL_OR_KEYWORD and name == "families"
            parts.append(typed(value) if first else f"{name}={typed(value)}")
    return f"{type(model).__name__}({', '.join(parts)})"


def names_in(model: Any) -> list[str]:
    """What is to be imported from the package for that."""
    found = {type(model).__name__}
    for name in signature(type(model)).parameters:
        found |= classes_in(getattr(model, name))
    return sorted(found)


def classes_in(value: Any) -> set[str]:
    """The families and beliefs in a value."""
    if isinstance(value, Mapping):
        return set().union(*map(classes_in, value.values())) if value else set()
    if isinstance(value, Family):
        inner = (classes_in(getattr(value, each.name)) for each in fields(value) if said(each, value))  # type: ignore[arg-type]
        return {type(value).__name__}.union(*inner)
    return {type(value).__name__} if isinstance(value, Record) else set()


def typed(value: Any) -> str:
    """A value as Python."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{typed(key)}: {typed(own)}" for key, own in value.items()) + "}"
    if isinstance(value, tuple):
        return f"({', '.join(map(typed, value))}{',' * (len(value) == 1)})"
    if isinstance(value, list):
        return f"[{', '.join(map(typed, value))}]"
    if isinstance(value, np.ndarray | np.generic):
        return typed(value.tolist())
    if isinstance(value, Family):
        own = [each.name for each in fields(value) if said(each, value)]  # type: ignore[arg-type]
        return f"{type(value).__name__}({', '.join(f'{name}={typed(getattr(value, name))}' for name in own)})"
    if isinstance(value, Record):
        names = value.__match_args__
        own = [f"{value.renamed.get(name, name)}={typed(getattr(value, name))}" for name in names]
        return f"{type(value).__name__}({', '.join(own)})"
    return repr(value)


def said(field: Any, value: Any) -> bool:
    """Whether a family's field is not its default; a prior always is said."""
    own = getattr(value, field.name)
    return is_dataclass(own) or own is not field.default


def same(value: Any, default: Any) -> bool:
    """Whether a parameter is its default, without a comparison of arrays."""
    return value is default or (
        type(value) is type(default) and isinstance(value, (str, int, float)) and value == default
    )
