"""Parameters within parameters, as `families__prior__concentration` in scikit-learn's searches.

Families and beliefs are immutable values, so setting a number within one puts a new value in its
place.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any

from bayesnb.data.families import resolve_names
from bayesnb.families import BestOf, EmpiricalDirichlet, Family
from bayesnb.families.base import Belief

BETWEEN = "__"
FAMILIES = "families"


def nested_parameters(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters within the values of some parameters."""
    nested: dict[str, Any] = {}
    for name, value in params.items():
        inside = {f"{name}{BETWEEN}{part}": each for part, each in parts(name, value).items()}
        nested |= inside | nested_parameters(inside)
    return nested


def parts(name: str, value: Any) -> dict[str, Any]:
    """Return what a parameter's value is made of, by name; nothing of a plain value."""
    value = resolved(name, value)
    if name == FAMILIES and isinstance(value, Mapping):
        return {column: family for column, family in value.items() if isinstance(column, str)}
    if isinstance(value, Belief):
        return {
            value.renamed.get(field, field): to_number(getattr(value, field))
            for field in value.__match_args__
        }
    if isinstance(value, Family | BestOf | EmpiricalDirichlet):
        return {field.name: getattr(value, field.name) for field in fields(value)}  # type: ignore[arg-type]
    return {}


def resolved(name: str, value: Any) -> Any:
    """Return a value with families in place of their names; what names none stays."""
    if name == FAMILIES:
        with suppress(ValueError):
            return resolve_names(value)
    return value


def to_number(value: Any) -> Any:
    """Return an array, or the number that one without axes is."""
    return float(value) if getattr(value, "shape", None) == () else value


def replaced(name: str, value: Any, path: str, new: Any) -> Any:
    """Return a value in which the parameter at a path is a new one."""
    value = resolved(name, value)
    inside = parts(name, value)
    matching = [part for part in inside if path == part or path.startswith(part + BETWEEN)]
    if not matching:
        known = f"Valid parameters are: {', '.join(inside)}." if inside else "It has no parameters."
        raise ValueError(f"Invalid parameter {path!r} of {name}, which is {value!r:.200}. {known}")
    part = max(matching, key=len)  # as names of columns may be anything
    rest = path[len(part + BETWEEN) :]
    if rest:
        new = replaced(f"{name}{BETWEEN}{part}", inside[part], rest, new)
    if isinstance(value, Mapping):
        return {**value, part: new}
    make = type(value).of_fields if isinstance(value, BestOf) else type(value)
    return make(**{**inside, part: new})
