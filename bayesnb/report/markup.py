"""The few pieces of HTML that every section is made of. `text` is the one door for what a user wrote."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from math import isnan
from typing import Any, Self
from unicodedata import bidirectional

from bayesnb.plots import COLOURS, DASHES, INK, MOST_CLASSES

MOST = 600  # letters of a name or a note
LONG = 28  # letters that stay on one line in a table
JOINERS = "\u200c\u200d"  # invisible, and parts of emoji and of Persian words
LEFTWARD = ("R", "AL", "AN")


class Cell(str):
    """A table cell of ready HTML that is sorted by a number, not by what it says."""

    value: float | None

    def __new__(cls, html: str, value: float | None) -> Self:
        self = super().__new__(cls, html)
        self.value = None if value is None or isnan(value) else float(value)
        return self

    @property
    def attribute(self) -> str:
        shown = "" if self.value is None else repr(self.value).replace("inf", "Infinity")
        return f' data-value="{shown}"'


def text(value: Any, most: int = MOST) -> str:
    """Anything as text that cannot be markup, on one line, without control characters, and not endless.

    What is written from right to left is kept apart from the text around it, and what is long can be broken.
    """
    words = (shortened(word, most // 10) for word in str(value).split())
    line = shortened(" ".join(words), most)
    shown = escape("".join(letter if letter.isprintable() or letter in JOINERS else "�" for letter in line))
    if len(line) > LONG:
        return f'<bdi class="long">{shown}</bdi>'
    return f"<bdi>{shown}</bdi>" if any(bidirectional(letter) in LEFTWARD for letter in line) else shown


def shortened(line: str, most: int) -> str:
    """Both ends of what is too long."""
    return line if len(line) <= most else f"{line[: most - most // 3 - 1]}…{line[-(most // 3) :]}"


def plain(html: str) -> str:
    """Ready HTML without its tags, for attributes and titles."""
    return re.sub(r"<[^>]*>", "", html)


def paragraph(*sentences: str) -> str:
    """Sentences of ready HTML."""
    return f"<p>{' '.join(sentence for sentence in sentences if sentence)}</p>"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """A table of ready HTML whose first column names the rows, in a box that scrolls where it is too wide.

    One of the kind `sortable` is sorted by a click on a header, by what its cells say or their `Cell.value`.
    """
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(f"<tr>{row_cells(head, row)}</tr>" for row in rows)
    return (
        f'<div class="wide" role="group" aria-label="{plain(caption)}" tabindex="0"><table class="{kind}">'
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
    return f'<th scope="row"{sorted_by(first)}>{first}</th>' + "".join(
        f'<td data-head="{plain(name)}"{sorted_by(cell)}>{cell}</td>' for name, cell in cells
    )


def sorted_by(cell: str) -> str:
    return cell.attribute if isinstance(cell, Cell) else ""


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
