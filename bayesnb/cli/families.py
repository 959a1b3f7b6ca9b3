"""Families and priors of columns, from what the options say and what the table holds."""

import difflib
import fnmatch
from collections.abc import Sequence
from typing import Any

from bayesnb.cli.problems import UsageError
from bayesnb.cli.specs import FamilySaid, PriorSaid

KINDS = {"flag": "bernoulli", "level": "categorical", "number": "gaussian", "words": "multinomial"}
Said = Sequence[FamilySaid | PriorSaid]


def owners(option: str, columns: Sequence[str], said: Said) -> dict[str, int]:
    """Which of the options is about each column: one that names it goes before one with a pattern."""
    named: dict[str, int] = {}
    matched: dict[str, int] = {}
    for place, one in enumerate(said):
        for name in one.names or ():
            own = [name] if name in columns else matching(option, columns, name)
            found = named if name in columns else matched
            twice = [column for column in own if column in found]
            if twice:
                raise UsageError(f"{option} says two things about column {twice[0]!r}.")
            found.update(dict.fromkeys(own, place))
    return matched | named


def matching(option: str, columns: Sequence[str], pattern: str) -> list[str]:
    """The columns that a pattern means; an error if there is none."""
    own = [column for column in columns if fnmatch.fnmatchcase(column, pattern)]
    if not own:
        raise ValueError(f"{option}: {no_column(pattern, columns)}")
    return own


def no_column(name: str, columns: Sequence[str]) -> str:
    """What to say of a name that the table does not have."""
    near = [own for own in columns if own.casefold() == name.casefold()] or difflib.get_close_matches(name, columns, 1)
    shown = ", ".join(map(repr, columns[:20])) + (", ..." if len(columns) > 20 else "")
    what = f"the table has no column {name!r}"
    return f"{what}; did you mean {near[0]!r}?" if near else f"{what}; it has {shown}."


def declared(columns: Sequence[str], said: Sequence[FamilySaid]) -> dict[str, tuple[str, int]]:
    """The family of each column for which one is said, and by which option."""
    own = owners("--family", columns, said)
    rest = [place for place, one in enumerate(said) if one.names is None]
    if len(rest) > 1:
        raise UsageError(f"--family says two families of all columns: {', '.join(said[at].family for at in rest)}.")
    places = {column: own.get(column, rest[0] if rest else None) for column in columns}
    return {column: (said[at].family, at) for column, at in places.items() if at is not None}


def beliefs(said: Sequence[PriorSaid]) -> list[Any]:
    """What each `--prior` is, a number or a belief: an error if there is no such."""
    from bayesnb.families.family import conjugate_priors

    known, found = conjugate_priors(), []
    for one in said:
        try:
            belief = known[one.belief](*one.values, **one.parameters) if one.belief else one.number
        except (TypeError, ValueError) as error:
            raise UsageError(f"--prior {one.text}: {str(error).replace('.__init__()', ':')}") from None
        found.append(belief)
    return found


def priors(families: dict[str, str], said: Sequence[PriorSaid], own: Sequence[Any]) -> dict[str, Any]:
    """The prior of each column that has one, `own` being what the options mean."""
    columns = list(families)
    for_all: dict[str, Any] = {}
    for one, belief in zip(said, own, strict=True):
        if one.names is None:
            fits = words_fitting(one.belief)
            if one.belief and not set(fits) & set(map(kind_of, families.values())):
                raise ValueError(f"--prior {one.text}: no column is {' or '.join(fits)}.")
            for_all |= {each: belief for each in fits if one.belief or each not in for_all}
    by_name = owners("--prior", columns, said)
    for column, place in by_name.items():
        _refuse_unfit(said[place], column, families[column])
    found = {column: for_all.get(kind_of(family)) for column, family in families.items()}
    found |= {column: own[place] for column, place in by_name.items()}
    return {column: belief for column, belief in found.items() if belief is not None}


def words_fitting(belief: str) -> list[str]:
    """The families whose prior is such a belief; those whose prior may be a number, for none."""
    from bayesnb.families import FAMILIES

    return [
        word
        for word, family in FAMILIES.items()
        if (family.conjugate.__name__ == belief if belief else family.number_prior)
    ]


def _refuse_unfit(said: PriorSaid, column: str, family: str) -> None:
    from bayesnb.families import FAMILIES

    kind = kind_of(family)
    if kind in words_fitting(said.belief):
        return
    known = FAMILIES.get(kind)
    advice = "it is dropped" if known is None else f"it is {family}, whose prior is a {known.conjugate.__name__}(...)"
    raise ValueError(f"--prior {said.text} does not fit column {column!r}: {advice}.")


def families_of(X: Any, chosen: dict[str, tuple[str, int]], prior: Sequence[PriorSaid]) -> Any:
    """What the estimator takes as `families`, `chosen` being what `declared` says of this table's columns."""
    from bayesnb.families import FAMILIES

    if not chosen and not prior:
        return "auto"
    own = beliefs(prior)
    chosen = inferred(X, chosen) if prior else chosen
    by_column = priors({column: family for column, (family, _) in chosen.items()}, prior, own)
    refuse_lengths(X, chosen, by_column)
    groups: dict[Any, list[str]] = {}
    for column, (family, place) in chosen.items():
        groups.setdefault(
            ("block", place) if family != "drop" and FAMILIES[kind_of(family)].whole else column, []
        ).append(column)
    return {
        tuple(names) if len(names) > 1 else names[0]: made(chosen[names[0]][0], names, by_column)
        for names in groups.values()
    }


def refuse_lengths(X: Any, chosen: dict[str, tuple[str, int]], by_column: dict[str, Any]) -> None:
    """Raise for a list of concentrations that is not as long as its column has levels."""
    for column, belief in by_column.items():
        size = getattr(getattr(belief, "concentration", None), "size", 1)
        if size > 1 and chosen[column][0] == "categorical":
            levels = sorted(X[column].dropna().unique().tolist())
            if len(levels) != size:
                shown = ", ".join(map(repr, levels[:5])) + (", ..." if len(levels) > 5 else "")
                raise ValueError(f"--prior: {size} concentrations for the {len(levels)} levels of {column!r}: {shown}.")


def inferred(X: Any, chosen: dict[str, tuple[str, int]]) -> dict[str, tuple[str, int]]:
    """The family of every column, those included that no option names."""
    from bayesnb.data import open_table

    table = open_table(X)
    return {
        column: chosen[column] if column in chosen else (KINDS[table.kind(place)], -1)
        for place, column in enumerate(X.columns)
    }


def made(family: str, names: Sequence[str], by_column: dict[str, Any]) -> Any:
    """The family of some columns, with their prior; None for columns that are dropped."""
    from bayesnb.families import FAMILIES

    if family == "drop":
        return None
    own = [by_column.get(name) for name in names]
    if any(each is not own[0] for each in own):
        raise ValueError(f"--prior: columns {names[0]!r} to {names[-1]!r} are one block, and need one prior.")
    kind: Any = FAMILIES[kind_of(family)]
    shared = {"shared": True} if family.endswith(":shared") else {}
    return kind(**shared) if own[0] is None else kind(own[0], **shared)


def kind_of(family: str) -> str:
    """The family's name, whether its variance is shared or not."""
    return family.partition(":")[0]


def word_of(family: Any) -> str:
    """A family as one says it to `--family`."""
    return family.word + (":shared" if family.shared else "")
