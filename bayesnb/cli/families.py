"""Families of columns, from `--family`, `--prior` and what the columns hold."""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from bayesnb.cli.options import ALL, ColumnOption
from bayesnb.data import open_table
from bayesnb.data.families import families_of, no_column

Matches = list[tuple[str, ColumnOption]]


def match_columns(flag: str, columns: Sequence[str], options: Sequence[ColumnOption]) -> Matches:
    """Return columns and their options: first those for `ALL`, then by pattern, then by name."""
    ranks: tuple[Matches, ...] = ([], [], [])
    for option in options:
        for pattern in option.names:
            is_name = pattern in columns
            matches = [pattern] if is_name else fnmatch.filter(columns, pattern)
            if not matches:
                raise ValueError(f"{flag}: {no_column(pattern, columns)}")
            rank = ranks[is_name + (pattern != ALL)]
            taken = {column for column, _ in rank}.intersection(matches)
            if taken and (flag, pattern) != ("--prior", ALL):  # these may fit different columns
                raise click.UsageError(f"{flag} declares column {min(taken)!r} twice.")
            rank += [(column, option) for column in matches]
    return [match for rank in ranks for match in rank]


def list_families(X: Any, declared: Mapping[str, Any], priors: Sequence[ColumnOption]) -> Any:
    """Return `families` of the estimator: what is declared, and what has a prior."""
    families = {name: declared[name].value for name in X.columns if name in declared}
    if priors:
        families |= apply_priors(find_candidates(X, families), priors)
    blocks: dict[Any, list[str]] = {}
    for name, family in families.items():
        is_block = family.multivariate and name in declared
        blocks.setdefault(id(declared[name]) if is_block else name, []).append(name)
    for names in blocks.values():
        if len({repr(families[name]) for name in names}) > 1:
            raise ValueError(f"--prior: {', '.join(names)} are one block: give them one prior.")
    return {tuple(names): families[names[0]] for names in blocks.values()} or "auto"


def find_candidates(X: Any, families: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """Return the family of each column, or those among which it is chosen."""
    candidates: dict[str, Sequence[Any]] = {}
    for family, places in families_of("auto", open_table(X)):
        for name in X.columns[places]:
            candidates[name] = getattr(family, "candidates", [family])
    return candidates | {name: [family] for name, family in families.items()}


def apply_priors(
    candidates: Mapping[str, Sequence[Any]], priors: Sequence[ColumnOption]
) -> dict[str, Any]:
    """Return the families of the columns that have a prior, with it."""
    families = {}
    used = set()
    for name, option in match_columns("--prior", [*candidates], priors):
        family = find_family(candidates[name], option.value)
        if family is not None:
            families[name] = family
            used.add(option)
        elif option.names != (ALL,):
            known = candidates[name][0].option
            raise ValueError(
                f"--prior {option.text} does not fit column {name!r}, which is {known}."
            )
    for option in priors:
        if option not in used:
            raise ValueError(f"--prior {option.text}: there is no column that it fits.")
    return families


def find_family(candidates: Sequence[Any], prior: Any) -> Any:
    """Return the first family that may have a prior, with it; a number is for the first alone."""
    for family in candidates:
        if isinstance(prior, float):
            return replace(family, prior=prior) if family.number_prior() else None
        if family.conjugate is type(prior):
            return replace(family, prior=prior)
    return None
