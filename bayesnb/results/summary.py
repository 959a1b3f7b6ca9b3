"""The fitted state in a few lines of HTML, for notebooks."""

from collections.abc import Hashable, Mapping
from html import escape
from typing import Any

from bayesnb.families.base import Array
from bayesnb.families.family import Family

MOST, LETTERS = 10, 40  # names that are shown, and of each


def state_html(classes: Array, counts: Array, families: Mapping[Hashable, Family], said: str) -> str:
    """Classes with their rows, families with their columns; a block that is modelled jointly has its own line."""
    labels = _some([f"{_short(label)} ({count:g})" for label, count in zip(classes.tolist(), counts, strict=True)])
    columns: dict[tuple[str, Any], list[str]] = {}
    for name, family in families.items():
        block = name if isinstance(name, tuple) and family.whole else None
        columns.setdefault((repr(family), block), []).extend(map(_short, [name] if block is None else block))
    rows = "".join(
        f"<tr><td>{escape(kind)}</td><td>{len(names)}</td><td>{escape(_some(names))}</td></tr>"
        for (kind, _), names in columns.items()
    )
    head = "<tr><th>family</th><th>columns</th><th>names</th></tr>"
    return (
        f"<div><p><b>Learnt from {counts.sum():g} rows.</b> Classes (rows): {escape(labels)}. {escape(said)}</p>"
        f"<table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"
    )


def _some(names: list[str]) -> str:
    return ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")


def _short(name: Any) -> str:
    said = str(name)
    return said if len(said) <= LETTERS else f"{said[: LETTERS - 10]}…{said[-9:]}"
