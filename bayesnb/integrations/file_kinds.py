"""As what the columns of a table are read, for a model that is to learn from it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayesnb.families import Codes
from bayesnb.integrations.many_files import Tables

KINDS = ("number", "integer", "flag", "text")


@dataclass(frozen=True)
class Reads:
    """The kind of a column, and whether it was guessed from the first rows of text."""

    kind: str
    guessed: bool = False


def decide(tables: Tables, wanted: Mapping[str, Reads], said: Mapping[str, str] | None) -> dict[str, str]:
    """What each column is read as: as someone has said, else as wanted."""
    said = said or {}
    tables.check_there(list(said), "kinds")
    odd = [(name, kind) for name, kind in said.items() if kind not in KINDS]
    if odd:
        raise ValueError(f"kinds: column {odd[0][0]!r} cannot be {odd[0][1]!r}; it is one of {', '.join(KINDS)}.")
    tables.guess({name for name, own in wanted.items() if own.guessed and name not in said})
    return {name: said.get(name, own.kind) for name, own in wanted.items()}


def of_columns(tables: Tables, names: Sequence[str], families: Any) -> dict[str, Reads]:
    """Columns to learn from: text as its family needs it, else as its first rows look; others as their types say."""
    declared = declared_families(families, names)
    looks = {name: tables.kinds[name] for name in names}
    guesses = {name: Reads("number" if look == "empty" else look, guessed=True) for name, look in looks.items()}
    of_families = {name: of_text(looks[name], family) for name, family in declared.items() if tables.is_text(name)}
    return guesses | {name: own for name, own in of_families.items() if own is not None}


def refuse_dates(tables: Tables, names: Collection[str]) -> None:
    """Raise for columns of dates, as `fit` does: each of them would be a level."""
    for sheet in tables.sheets:
        odd = [] if sheet.is_text else [name for name in sheet.columns if name in names and sheet.looks[name].dates]
        if odd:
            raise ValueError(
                f"{sheet.name}: column {odd[0]!r} holds dates or times: make it a number or a category first, drop it, "
                f"families={{{odd[0]!r}: None}}, or take each as a level, kinds={{{odd[0]!r}: 'text'}}."
            )


def of_text(look: str, family: Any) -> Reads | None:
    """As what a family needs a column of text; None if that is left to the rows."""
    if family is None:
        return Reads("text")
    if family.outcomes:
        return Reads("number" if look in ("integer", "number", "empty") else "flag")
    if not family.has_levels:
        return Reads("integer" if look == "integer" else "number")
    if isinstance(family.levels, Codes):
        return None
    return Reads(kind_of_levels(family.levels or ()))


def of_labels(tables: Tables, target: str) -> Reads:
    """Labels in text: whole numbers where all are, else text."""
    look = tables.kinds[target]
    return Reads(look if look == "integer" or not tables.is_text(target) else "text", guessed=True)


def kind_of_levels(levels: Sequence[Any]) -> str:
    """What cells are to be read as, to be looked up among levels."""
    if all(isinstance(level, bool) for level in levels):
        return "flag" if levels else "text"
    return "text" if any(isinstance(level, str) for level in levels) else "number"


def declared_families(said: Any, names: Sequence[Any]) -> dict[Any, Any]:
    """Column -> the family that someone gave it."""
    if not isinstance(said, Mapping):
        return {} if isinstance(said, str) else dict.fromkeys(names, said)
    found: dict[str, Any] = {}
    for key, family in said.items():
        found |= dict.fromkeys(key if isinstance(key, tuple) and key not in names else (key,), family)
    return {name: family for name, family in found.items() if name in names}
