"""Tables that a command reads: opened, looked at, and taken together."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from bayesnb.cli.families import kind_of, no_column
from bayesnb.cli.options import reading_of
from bayesnb.cli.problems import UsageError

READ_AS = {
    "gaussian": "number",
    "poisson": "number",
    "multinomial": "number",
    "multivariate": "number",
    "bernoulli": "flag",
}
ALREADY = {"number": ("integer", "number", "empty"), "flag": ("flag", "integer", "number", "empty")}


def opened(said: Any, paths: Sequence[str], tell: Any = None, *, whole: bool = True) -> list[Any]:
    """The tables of these names, all with the same columns in any order; they are to be read as a whole, or not."""
    from bayesnb.data import open_sheet

    if paths.count("-") > 1:
        raise UsageError(f"{said.name}: standard input can be read once only.")
    reading = reading_of(said)
    sheets = [open_sheet(path, reading, tell, whole=whole) for path in paths]
    first = sheets[0]
    for sheet in sheets[1:]:
        lacks = [name for name in first.columns if name not in sheet.columns]
        extra = [name for name in sheet.columns if name not in first.columns]
        if lacks or extra:
            what = [f"lacks {some(lacks)}"] * bool(lacks) + [f"also has {some(extra)}"] * bool(extra)
            raise ValueError(f"{sheet.name} {' and '.join(what)}, unlike {first.name}: tables need the same columns.")
    return sheets


def some(names: Sequence[str], most: int = 5) -> str:
    """Some names, and how many there are more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def reading_bar(said: Any, paths: Sequence[str]) -> AbstractContextManager[Any]:
    """Show a bar of the bytes that are read."""
    files = [path for path in paths if path != "-" and Path(path).is_file()]
    total = sum(Path(path).stat().st_size for path in files)
    return said.talk.progress("reading", total if len(files) == len(paths) else None)


def looks_of(sheets: Sequence[Any]) -> dict[str, Any]:
    """What each column looks like, in all tables."""
    looks = dict(sheets[0].looks)
    for sheet in sheets[1:]:
        looks = {name: look + sheet.looks[name] for name, look in looks.items()}
    return looks


def kinds_of(looks: Mapping[str, Any], families: Mapping[str, tuple[str, int]], target: str) -> dict[str, str]:
    """As what each column is read: as its cells look like, or as its family needs them."""
    kinds = {}
    for name, look in looks.items():
        family = kind_of(families[name][0]) if name in families else None
        needed = READ_AS.get(family or "", "text") if family is not None else look.kind
        needed = "words" if (family, look.kind) == ("multinomial", "words") else needed
        kinds[name] = look.kind if look.kind in ALREADY.get(needed, ()) else needed
    return kinds | {target: "integer" if looks[target].kind == "integer" else "text"}


def check_target(sheet: Any, target: str) -> None:
    """Raise for a table without the column of labels."""
    if target not in sheet.columns:
        raise ValueError(f"{sheet.name}: --target: {no_column(target, sheet.columns)}")


def format_for(command: str, goal: str, told: str | None) -> str:
    """The format in which a table is written."""
    from bayesnb.data import format_of_name

    found = told or ("csv" if goal == "-" else format_of_name(goal))
    if found is None and (Path(goal).exists() and not Path(goal).is_file()):
        return "csv"
    if found is None:
        raise UsageError(
            f"{command}: the name {goal} says no format: end it in .csv, .tsv, .jsonl, .parquet or .arrow."
        )
    return found
