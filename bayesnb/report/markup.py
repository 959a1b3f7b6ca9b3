"""The few pieces of HTML that every section is made of. `text` is the one door for what a user wrote."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from bayesnb.figures import COLOURS, DASHES, INK, MOST_CLASSES


def text(value: Any) -> str:
    """Anything as text that cannot be markup, on one line, without control characters."""
    line = " ".join(str(value).split())
    return escape("".join(letter if letter.isprintable() else "�" for letter in line))


def paragraph(*sentences: str) -> str:
    """Sentences of ready HTML."""
    return f"<p>{' '.join(sentence for sentence in sentences if sentence)}</p>"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """A table of ready HTML whose first column names the rows, in a box that scrolls where it is too wide."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(f"<tr>{row_cells(head, row)}</tr>" for row in rows)
    return (
        f'<div class="wide" role="region" aria-label="{caption}" tabindex="0"><table class="{kind}">'
        f"<caption>{caption}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def details(summary: str, inside: str) -> str:
    """Ready HTML that is folded until someone asks for it."""
    return f"<details><summary>{summary}</summary>{inside}</details>"


def side_by_side(picture: str, numbers: str) -> str:
    return f'<div class="pair"><figure>{picture}</figure>{numbers}</div>'


def row_cells(head: Sequence[str], row: Sequence[str]) -> str:
    """One row's cells; each knows its column's name, for screens that show a row as a card."""
    first, *rest = row
    cells = zip(head[1:], rest, strict=True)
    return f'<th scope="row">{first}</th>' + "".join(f'<td data-head="{name}">{cell}</td>' for name, cell in cells)


def swatch(c: int) -> str:
    """The line that stands for a class in the figures."""
    if c >= MOST_CLASSES:
        return '<span class="swatch"></span>'
    colour, dash = COLOURS[c].replace(INK, "currentColor"), " ".join(f"{3 * part / 2:g}" for part in DASHES[c])
    line = f'<path d="M0 5h22" stroke="{colour}" stroke-width="3" stroke-dasharray="{dash}"/>'
    return f'<svg class="swatch" viewBox="0 0 22 10" aria-hidden="true">{line}</svg>'


def named(c: int, label: str) -> str:
    """A class with its swatch."""
    return f'<span class="named">{swatch(c)}<span>{text(label)}</span></span>'
