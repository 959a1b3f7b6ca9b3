"""Families of columns, from `--family`, `--prior` and what the columns hold."""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from bayesnb.cli.options import ColumnOption
from bayesnb.data import open_table
from bayesnb.data.declaration import families_of, no_column


def find_options(
    flag: str, columns: Sequence[str], options: Sequence[ColumnOption]
) -> dict[str, ColumnOption]:
    """Return the option that names each column; a name goes before a pattern."""
    by_name: dict[str, ColumnOption] = {}
    by_pattern: dict[str, ColumnOption] = {}
    for option in options:
        for pattern in option.names or ():
            is_name = pattern in columns
            matches = [pattern] if is_name else fnmatch.filter(columns, pattern)
            if not matches:
                raise ValueError(f"{flag}: {no_column(pattern, columns)}")
            found = by_name if is_name else by_pattern
            for column in matches:
                if column in found:
                    raise click.UsageError(f"{flag} declares column {column!r} twice.")
                found[column] = option
    return by_pattern | by_name


def declared_columns(
    columns: Sequence[str], options: Sequence[ColumnOption]
) -> dict[str, ColumnOption]:
    """Return the `--family` of each column that has one."""
    declared = find_options("--family", columns, options)
    rest = [option for option in options if option.names is None]
    if len(rest) > 1:
        raise click.UsageError("--family declares two families for all columns.")
    if rest:
        declared = dict.fromkeys(columns, rest[0]) | declared
    return declared


def declared_families(
    X: Any, declared: Mapping[str, ColumnOption], priors: Sequence[ColumnOption]
) -> Any:
    """Return `families` of the estimator: what is declared, and what has a prior."""
    families = {name: declared[name].value for name in X.columns if name in declared}
    if priors:
        candidates = find_candidates(X)
        candidates |= {name: [family] for name, family in families.items()}
        families |= apply_priors(candidates, priors)
    if not families:
        return "auto"
    blocks: dict[Any, list[str]] = {}
    for name in X.columns:
        if name in families:
            is_block = families[name].multivariate
            blocks.setdefault(id(declared[name]) if is_block else name, []).append(name)
    declaration = {}
    for names in blocks.values():
        if len({repr(families[name]) for name in names}) > 1:
            raise ValueError(f"--prior: {', '.join(names)} are one block: give them one prior.")
        declaration[names[0] if len(names) == 1 else tuple(names)] = families[names[0]]
    return declaration


def find_candidates(X: Any) -> dict[str, list[Any]]:
    """Return the families among which that of each column is chosen where none is declared."""
    candidates = {}
    for family, places in families_of("auto", open_table(X)):
        for place in places:
            candidates[X.columns[place]] = list(getattr(family, "candidates", [family]))
    return candidates


def apply_priors(
    candidates: Mapping[str, Sequence[Any]], options: Sequence[ColumnOption]
) -> dict[str, Any]:
    """Return the families of the columns that have a prior, with it.

    A prior of a named column goes before a belief for all, and that before a number for all.
    """
    families = {}
    unnamed = [option for option in options if option.names is None]
    for option in sorted(unnamed, key=is_belief):
        is_used = False
        for name, each in candidates.items():
            family = find_family(each, option.value)
            if family is not None:
                families[name] = family
                is_used = True
        if not is_used:
            raise ValueError(f"--prior {option.text}: there is no column that it fits.")
    for name, option in find_options("--prior", list(candidates), options).items():
        family = find_family(candidates[name], option.value)
        if family is None:
            known = candidates[name][0].option
            raise ValueError(
                f"--prior {option.text} does not fit column {name!r}, which is {known}."
            )
        families[name] = family
    return families


def is_belief(option: ColumnOption) -> bool:
    """Return whether a prior is a belief, and not a number."""
    return not isinstance(option.value, float)


def find_family(candidates: Sequence[Any], prior: Any) -> Any:
    """Return the first family that may have a prior, with it; a number is for the first alone."""
    for family in candidates:
        if isinstance(prior, float):
            return replace(family, prior=prior) if family.number_prior() else None
        if family.conjugate is type(prior):
            return replace(family, prior=prior)
    return None
