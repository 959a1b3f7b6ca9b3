"""Families and priors of columns, from `--family`, `--prior` and what the table holds."""

import fnmatch
from collections.abc import Mapping, Sequence
from typing import Any

from bayesnb.cli.messages import UsageError
from bayesnb.cli.option_values import FamilyOption, PriorOption
from bayesnb.data import open_table
from bayesnb.data.declaration import families_of_numbers, no_column
from bayesnb.families import FAMILIES
from bayesnb.families.family import conjugate_priors

INFERRED = {
    "flag": "bernoulli",
    "level": "categorical",
    "number": "gaussian",
    "words": "multinomial",
}  # with a prior
UNSAID = -1
Declared = Mapping[
    str, tuple[str, int]
]  # column -> its family, and the place of the option that declares it


def family_name(family: str) -> str:
    """Return the family of `--family`, whether its variance is shared or not."""
    return family.partition(":")[0]


def fits(belief: str) -> list[str]:
    """Return the families whose prior may be a belief, or a number if no belief is named."""
    return [
        name
        for name, family in FAMILIES.items()
        if (
            getattr(family.conjugate, "__name__", "") == belief if belief else family.number_prior()
        )
    ]


def declared(columns: Sequence[str], options: Sequence[FamilyOption]) -> dict[str, tuple[str, int]]:
    """Return the family of each column that some option declares, and the option's place."""
    places = places_by_column("--family", columns, options)
    rest = [place for place, option in enumerate(options) if option.names is None]
    if len(rest) > 1:
        families = ", ".join(options[place].family for place in rest)
        raise UsageError(f"--family declares two families for all columns: {families}.")
    if rest:
        places = {column: places.get(column, rest[0]) for column in columns}
    return {
        column: (options[places[column]].family, places[column])
        for column in columns
        if column in places
    }


def places_by_column(
    name: str, columns: Sequence[str], options: Sequence[FamilyOption | PriorOption]
) -> dict[str, int]:
    """Return which of the options is about each column: one that names it goes before one with a pattern."""
    named: dict[str, int] = {}
    matched: dict[str, int] = {}
    for place, option in enumerate(options):
        for pattern in option.names or ():
            places = named if pattern in columns else matched
            matching = (
                [pattern]
                if places is named
                else [each for each in columns if fnmatch.fnmatchcase(each, pattern)]
            )
            if not matching:
                raise ValueError(f"{name}: {no_column(pattern, columns)}")
            twice = [column for column in matching if column in places]
            if twice:
                raise UsageError(f"{name} declares column {twice[0]!r} twice.")
            places.update(dict.fromkeys(matching, place))
    return matched | named


def parse_beliefs(options: Sequence[PriorOption]) -> list[Any]:
    """Return what each `--prior` means: a number or a belief."""
    kinds, beliefs = conjugate_priors(), []
    for option in options:
        try:
            kind = kinds[option.belief] if option.belief else None
            beliefs.append(kind(*option.values, **option.parameters) if kind else option.number)
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"--prior {option.text}: {str(error).replace('.__init__()', ':')}"
            ) from None
    return beliefs


def declared_families(X: Any, chosen: Declared, options: Sequence[PriorOption]) -> Any:
    """Return the estimator's `families`, where `chosen` is what `declared` returns for the columns of this table."""
    if not chosen and not options:
        return "auto"
    if options:  # a prior may be for a column whose family is inferred
        chosen = {
            column: chosen.get(column) or (family, UNSAID)
            for column, family in inferred_families(X).items()
        }
    priors = priors_by_column({column: family for column, (family, _) in chosen.items()}, options)
    chosen = {
        column: each for column, each in chosen.items() if each[1] != UNSAID or column in priors
    }
    check_lengths(X, chosen, priors)
    groups: dict[Any, list[str]] = {}
    for column, (family, place) in chosen.items():
        is_block = family != "drop" and FAMILIES[family_name(family)].multivariate
        groups.setdefault(("block", place) if is_block else column, []).append(column)
    return {
        tuple(names) if len(names) > 1 else names[0]: build_family(
            chosen[names[0]][0], names, priors
        )
        for names in groups.values()
    }


def inferred_families(X: Any) -> dict[str, str]:
    """Return the family that each column has where a prior is declared for it, and no family."""
    table = open_table(X)
    numbers = [place for place in range(table.width) if table.kind(place) == "number"]
    flags, _ = families_of_numbers(numbers, table)
    kinds = {place: "flag" if place in flags else table.kind(place) for place in range(table.width)}
    return {column: INFERRED[kinds[place]] for place, column in enumerate(X.columns)}


def priors_by_column(families: Mapping[str, str], options: Sequence[PriorOption]) -> dict[str, Any]:
    """Return the prior of each column that has one: by name, by belief, or by a number for all, in that order."""
    beliefs = parse_beliefs(options)
    by_family: dict[str, Any] = {}
    for option, belief in zip(options, beliefs, strict=True):
        if option.names is None:
            fitting = fits(option.belief)
            if option.belief and not set(fitting) & set(map(family_name, families.values())):
                raise ValueError(f"--prior {option.text}: no column is {' or '.join(fitting)}.")
            by_family |= {
                family: belief for family in fitting if option.belief or family not in by_family
            }
    priors = {column: by_family.get(family_name(family)) for column, family in families.items()}
    for column, place in places_by_column("--prior", list(families), options).items():
        check_fit(options[place], column, families[column])
        priors[column] = beliefs[place]
    return {column: belief for column, belief in priors.items() if belief is not None}


def check_fit(option: PriorOption, column: str, family: str) -> None:
    """Raise for a prior that a column's family cannot have."""
    if family_name(family) in fits(option.belief):
        return
    kind = FAMILIES.get(family_name(family))
    advice = "it is dropped"
    if kind is not None:
        belief = "no belief" if kind.conjugate is None else f"a {kind.conjugate.__name__}(...)"
        advice = f"it is {family}, whose prior is {belief}"
    raise ValueError(f"--prior {option.text} does not fit column {column!r}: {advice}.")


def check_lengths(X: Any, chosen: Declared, priors: Mapping[str, Any]) -> None:
    """Raise for a list of concentrations that is not as long as its column has levels."""
    for column, belief in priors.items():
        size = getattr(getattr(belief, "concentration", None), "size", 1)
        if size > 1 and chosen[column][0] == "categorical":
            levels = sorted(X[column].dropna().unique().tolist())
            if len(levels) != size:
                shown = ", ".join(map(repr, levels[:5])) + (", ..." if len(levels) > 5 else "")
                raise ValueError(
                    f"--prior: {size} concentrations for the {len(levels)} levels of {column!r}: {shown}."
                )


def build_family(option: str, names: Sequence[str], priors: Mapping[str, Any]) -> Any:
    """Return the family of a column or block, with its prior; None for columns that are dropped."""
    if option == "drop":
        return None
    prior = priors.get(names[0])
    if any(priors.get(name) is not prior for name in names):
        raise ValueError(
            f"--prior: columns {names[0]!r} to {names[-1]!r} are one block, and need one prior."
        )
    kind: Any = FAMILIES[family_name(option)]
    shared = {"shared": True} if option.endswith(":shared") else {}
    return kind(**shared) if prior is None else kind(prior, **shared)
