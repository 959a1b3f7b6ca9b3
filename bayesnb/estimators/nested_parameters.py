"""Parameters within parameters, as scikit-learn's searches name them: `families__prior__concentration`.

Families and beliefs are immutable values, so setting a number within one puts a new value in its place.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any, Self

from sklearn.base import BaseEstimator

from bayesnb.data.declaration import AUTO, family_named
from bayesnb.families import BestOf, EmpiricalDirichlet, Family
from bayesnb.families.base import Belief

BETWEEN, FAMILIES = "__", "families"


class NestedParameters(BaseEstimator):
    """`get_params` and `set_params` that also know the parameters of families and priors."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether the parameters of families and priors are there too, such as `families__prior__concentration`, or
            `families__age__prior` where `families` is a mapping from columns.

        Returns
        -------
        dict
        """
        params = super().get_params(deep=False)
        return params | dict(nested_parameters(params)) if deep else params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of families and priors too: see `get_params`.

        Parameters
        ----------
        **params : the new values, by the names that `get_params` returns

        Returns
        -------
        self

        Examples
        --------
        >>> from bayesnb import Categorical, NaiveBayes
        >>> NaiveBayes(Categorical()).set_params(families__prior__concentration=0.5).families
        Categorical(prior=Dirichlet(concentration=0.5))
        """
        names = self._get_param_names()
        nested = {key: value for key, value in params.items() if key.partition(BETWEEN)[0] in names and BETWEEN in key}
        super().set_params(**{key: value for key, value in params.items() if key not in nested})
        for key in sorted(nested, key=len):  # a family before what is in it
            name, _, path = key.partition(BETWEEN)
            setattr(self, name, replaced(name, getattr(self, name), path, nested[key]))
        return self


def nested_parameters(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters within the values of some parameters."""
    nested: dict[str, Any] = {}
    for name, value in params.items():
        inside = {f"{name}{BETWEEN}{part}": each for part, each in parts(name, value).items()}
        nested |= inside | nested_parameters(inside)
    return nested


def parts(name: str, value: Any) -> dict[str, Any]:
    """Return what a parameter's value is made of, by name; nothing of a value that is not made of parameters."""
    if name == FAMILIES and isinstance(value, Mapping):
        return {column: family_of(family) for column, family in value.items() if isinstance(column, str)}
    value = family_of(value) if name == FAMILIES else value
    if isinstance(value, Belief):
        constructor = {field: value.renamed.get(field, field) for field in value.__match_args__}
        return {constructor[field]: plain(getattr(value, field)) for field in value.__match_args__}
    if not isinstance(value, Family | BestOf | EmpiricalDirichlet):
        return {}
    return {field.name: getattr(value, field.name) for field in fields(value)}  # type: ignore[arg-type]


def family_of(value: Any) -> Any:
    """Return the family that a name means; any other value, and what names none, as it is."""
    if isinstance(value, str) and value != AUTO:
        with suppress(ValueError):
            return family_named(value)
    return value


def plain(value: Any) -> Any:
    """Return an array, or the number that one without axes is."""
    return float(value) if getattr(value, "shape", None) == () else value


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
