"""HTML of results: what notebooks show, and how the templates of the report are rendered.

The templates and their one style sheet lie in `report/templates`. Jinja2 escapes whatever is put into them. Text that a
user wrote, such as the name of a column, is a `Name` besides: on one line, kept apart from what stands around it, and
not endless.
"""

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any, Self
from unicodedata import bidirectional

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from bayesnb.families.base import Array
from bayesnb.families.family import Family

MOST = 600  # letters of a name or a note
LONG = 28  # letters that stay on one line in a table
JOINERS = "\u200c\u200d"  # invisible, and parts of emoji and of Persian words
LEFTWARD = ("R", "AL", "AN")
LETTERS = 40  # of each name in the display of an estimator


class Name(str):
    """Text that a user wrote, which a template shows on one line, without control characters, and not endless.

    What is written from right to left is kept apart from the text around it, and what is long can be broken.
    """

    most: int

    def __new__(cls, value: Any, most: int = MOST) -> Self:
        self = super().__new__(cls, value)
        self.most = most
        return self

    def __html__(self) -> str:
        words = (shortened(word, self.most // 10) for word in str(self).split())
        line = shortened(" ".join(words), self.most)
        printable = "".join(
            letter if letter.isprintable() or letter in JOINERS else "�" for letter in line
        )
        if len(line) > LONG:
            return Markup('<bdi class="long">{}</bdi>').format(printable)
        if any(bidirectional(letter) in LEFTWARD for letter in line):
            return element("bdi", printable)
        return escape(printable)


@dataclass(frozen=True)
class Cell:
    """A cell of a table that is sorted by a number, not by what it shows."""

    content: Any
    value: float | None

    @property
    def sorted_by(self) -> str:
        missing = self.value is None or isnan(self.value)
        return "" if missing else repr(float(self.value)).replace("inf", "Infinity")  # type: ignore[arg-type]


def element(tag: str, content: Any) -> Markup:
    """An element of HTML around content, which is escaped."""
    return Markup("<{0}>{1}</{0}>").format(tag, content)


def phrase(pattern: str, *names: Any) -> Markup:
    """A sentence of plain text with names, or parts that are HTML, in the places of its braces."""
    return escape(pattern).format(*names)


def plain(content: Any) -> Markup:
    """Content without tags, for attributes and titles."""
    return Markup(re.sub(r"<[^>]*>", "", escape(content)))


def shortened(line: str, most: int) -> str:
    """Both ends of a line that is too long."""
    return line if len(line) <= most else f"{line[: most - most // 3 - 1]}…{line[-(most // 3) :]}"


@cache
def environment() -> Environment:
    """Jinja2 with the templates of the package; it escapes, and refuses what a template names and nobody gave it."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parents[1] / "report" / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"plain": plain, "name": Name}
    return made


def render(template: str, **values: Any) -> Markup:
    """A template of the package, filled in."""
    return Markup(environment().get_template(template).render(values))


def notebook(template: str, **values: Any) -> str:
    """A template as a notebook shows it, with the rules of the style sheet that concern it."""
    return str(
        render("notebook.html", display=template, style=render("style.css", page=False), **values)
    )


def state_html(classes: Array, counts: Array, families: Mapping[Hashable, Family], how: str) -> str:
    """The fitted state of an estimator: classes with their rows, families with their columns.

    A block that is modelled jointly has a row of its own.
    """
    labels = [
        f"{shortened(str(label), LETTERS)} ({count:g})"
        for label, count in zip(classes.tolist(), counts, strict=True)
    ]
    columns: dict[tuple[str, Any], list[str]] = {}
    for name, family in families.items():
        block = name if isinstance(name, tuple) and family.multivariate else None
        names = (shortened(str(each), LETTERS) for each in (block or [name]))
        columns.setdefault((repr(family), block), []).extend(names)
    rows = [(kind, names) for (kind, _), names in columns.items()]
    return notebook("state.html", rows=rows, total=f"{counts.sum():g}", labels=labels, how=how)
