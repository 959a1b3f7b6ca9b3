"""Parameters within parameters, as `families__prior__concentration` in scikit-learn's searches.

Families and beliefs are immutable values, so setting a number within one puts a new value in its
place.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Any

from bayesnb.data.families import AUTO, family_named
from bayesnb.families import BestOf, EmpiricalDirichlet, Family
from bayesnb.families.base import Belief

BETWEEN = "__"
FAMILIES = "families"


def is_nested(key: str, names: Sequence[str]) -> bool:
    """Return whether a key names a parameter within one of some parameters."""
    return BETWEEN in key and key.partition(BETWEEN)[0] in names


def nested_parameters(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters within the values of some parameters."""
    nested: dict[str, Any] = {}
    for name, value in params.items():
        inside = {f"{name}{BETWEEN}{part}": each for part, each in parts(name, value).items()}
        nested |= inside | nested_parameters(inside)
    return nested


def parts(name: str, value: Any) -> dict[str, Any]:
    """Return what a parameter's value is made of, by name.

    Nothing of a value that is not made of parameters.
    """
    if name == FAMILIES and isinstance(value, Mapping):
        return {
            column: family_of(family) for column, family in value.items() if isinstance(column, str)
        }
    value = family_of(value) if name == FAMILIES else value
    if isinstance(value, Belief):
        constructor = {field: value.renamed.get(field, field) for field in value.__match_args__}
        return {
            constructor[field]: to_number(getattr(value, field)) for field in value.__match_args__
        }
    if not isinstance(value, Family | BestOf | EmpiricalDirichlet):
        return {}
    return {field.name: getattr(value, field.name) for field in fields(value)}  # type: ignore[arg-type]


def family_of(value: Any) -> Any:
    """Return the family that a name means; any other value, and what names none, as it is."""
    if isinstance(value, str) and value != AUTO:
        with suppress(ValueError):
            return family_named(value)
    return value


def to_number(value: Any) -> Any:
    """Return an array, or the number that one without axes is."""
    return float(value) if getattr(value, "shape", None) == () else value


def with_nested(params: Mapping[str, Any], nested: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters, of which those within them are set, a family before what is in it."""
    params = dict(params)
    for key in sorted(nested, key=len):
        name, _, path = key.partition(BETWEEN)
        params[name] = replaced(name, params[name], path, nested[key])
    return params


def replaced(name: str, value: Any, path: str, new: Any) -> Any:
    """Return a value in which the parameter at a path is a new one."""
    inside = parts(name, value)
    matching = [part for part in inside if path == part or path.startswith(part + BETWEEN)]
    if not matching:
        known = f"Valid parameters are: {', '.join(inside)}." if inside else "It has no parameters."
        raise ValueError(f"Invalid parameter {path!r} of {name}, which is {value!r:.200}. {known}")
    part = max(matching, key=len)  # as names of columns may be anything
    rest = path[len(part + BETWEEN) :]
    new = replaced(f"{name}{BETWEEN}{part}", inside[part], rest, new) if rest else new
    if isinstance(value, Mapping):
        return {**value, part: new}
    value = family_of(value) if name == FAMILIES else value
    make = type(value).of_fields if isinstance(value, BestOf) else type(value)
    return make(**{**inside, part: new})
