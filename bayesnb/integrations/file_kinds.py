"""How the columns of a table are read, for a model that is to learn from it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayesnb.families import BestOf, Codes
from bayesnb.integrations.many_files import TableFiles

KINDS = ("number", "integer", "flag", "text")


@dataclass(frozen=True)
class Reads:
    """The kind of a column, and whether it was guessed from the first rows of text."""

    kind: str
    guessed: bool = False


def decide(tables: TableFiles, wanted: Mapping[str, Reads], declared: Mapping[str, str]) -> dict[str, str]:
    """Return how each column is read: as declared, else as wanted."""
    tables.check_there(list(declared), "kinds")
    invalid = [(name, kind) for name, kind in declared.items() if kind not in KINDS]
    if invalid:
        raise ValueError(
            f"kinds: column {invalid[0][0]!r} cannot be {invalid[0][1]!r}; it is one of {', '.join(KINDS)}."
        )
    tables.guess({name for name, reads in wanted.items() if reads.guessed and name not in declared})
    return {name: declared.get(name, reads.kind) for name, reads in wanted.items()}


def of_columns(tables: TableFiles, names: Sequence[str], families: Mapping[str, Any]) -> dict[str, Reads]:
    """Return how columns to learn from are read: text by its family or its first rows, others by their types."""
    reads = {}
    for name in names:
        kind = tables.kinds[name]
        by_family = of_text(kind, families[name]) if name in families and tables.is_text(name) else None
        reads[name] = by_family or Reads("number" if kind == "empty" else kind, guessed=True)
    return reads


def refuse_dates(tables: TableFiles, names: Collection[str]) -> None:
    """Raise for columns of dates, as `fit` does: each of them would be a level."""
    for sheet in tables.sheets:
        read = [] if sheet.is_text else [name for name in sheet.columns if name in names]
        dates = [name for name in read if sheet.summaries[name].dates]
        if dates:
            raise ValueError(
                f"{sheet.name}: column {dates[0]!r} holds dates or times. Write them as numbers, such as days since "
                "1970; drop the column; or take each date as a level, "
                f"kinds={{{dates[0]!r}: 'text'}}."
            )


def of_text(kind: str, family: Any) -> Reads | None:
    """Return how a family needs a column of text; None if that is left to the rows."""
    if isinstance(family, BestOf):
        return None
    if family.outcomes:
        return Reads("number" if kind in ("integer", "number", "empty") else "flag")
    if not family.has_levels:
        return Reads("integer" if kind == "integer" else "number")
    if isinstance(family.levels, Codes):
        return None
    return Reads(kind_of_levels(family.levels or ()))


def of_labels(tables: TableFiles, target: str) -> Reads:
    """Return how labels are read: in text, whole numbers where all are, else text."""
    kind = tables.kinds[target]
    return Reads(kind if kind == "integer" or not tables.is_text(target) else "text", guessed=True)


def kind_of_levels(levels: Sequence[Any]) -> str:
    """Return how cells are read that are looked up among these levels."""
    if all(isinstance(level, bool) for level in levels):
        return "flag" if levels else "text"
    return "text" if any(isinstance(level, str) for level in levels) else "number"


def declared_families(families: Any, names: Sequence[Any]) -> dict[Any, Any]:
    """Return the family of each column that declares one."""
    if not isinstance(families, Mapping):
        return {} if isinstance(families, str) else dict.fromkeys(names, families)
    declared: dict[str, Any] = {}
    for key, family in families.items():
        declared |= dict.fromkeys(key if isinstance(key, tuple) and key not in names else (key,), family)
    return {name: family for name, family in declared.items() if name in names}
