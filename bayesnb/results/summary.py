"""The fitted state in a few lines of HTML, for notebooks."""

from collections.abc import Hashable, Mapping
from html import escape
from typing import Any

from bayesnb.families.base import Array
from bayesnb.families.family import Family

MOST_NAMES, LETTERS = 10, 40  # names that are shown, and of each


def state_html(classes: Array, counts: Array, families: Mapping[Hashable, Family], note: str) -> str:
    """Return classes with their rows and families with their columns; a jointly modelled block has a line by itself."""
    labels = _first_names(
        [f"{_short(label)} ({count:g})" for label, count in zip(classes.tolist(), counts, strict=True)]
    )
    columns: dict[tuple[str, Any], list[str]] = {}
    for name, family in families.items():
        block = name if isinstance(name, tuple) and family.whole else None
        columns.setdefault((repr(family), block), []).extend(map(_short, [name] if block is None else block))
    rows = "".join(
        f"<tr><td>{escape(kind)}</td><td>{len(names)}</td><td>{escape(_first_names(names))}</td></tr>"
        for (kind, _), names in columns.items()
    )
    head = "<tr><th>family</th><th>columns</th><th>names</th></tr>"
    return (
        f"<div><p><b>Learnt from {counts.sum():g} rows.</b> Classes (rows): {escape(labels)}. {escape(note)}</p>"
        f"<table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"
    )


def _first_names(names: list[str]) -> str:
    return ", ".join(names[:MOST_NAMES]) + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")


def _short(name: Any) -> str:
    text = str(name)
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 10]}…{text[-9:]}"
