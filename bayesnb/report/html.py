"""The templates of the page, and what is put into them.

The templates and their one style sheet lie in `report/templates`. Jinja2 escapes what is put into
them. Text that a user wrote, such as the name of a column, is a `Name` besides.
"""

import re
from dataclasses import dataclass
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any, Self
from unicodedata import bidirectional

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from bayesnb.formatting import shorten

MAX_LETTERS = 600  # of a name or a note
MAX_UNBROKEN = 28  # letters that stay on one line in a table
LEFTWARD = ("R", "AL", "AN")  # classes of letters that are written from right to left


class Name(str):
    """Text that a user wrote, which a template shows on one line, printable and not endless.

    What is written from right to left is kept apart from the text around it; what is long can be
    broken.
    """

    most: int

    def __new__(cls, value: Any, most: int = MAX_LETTERS) -> Self:
        self = super().__new__(cls, value)
        self.most = most
        return self

    def __html__(self) -> str:
        words = (shorten(word, self.most // 10) for word in str(self).split())
        line = shorten(" ".join(words), self.most)
        if len(line) > MAX_UNBROKEN:
            return Markup('<bdi class="long">{}</bdi>').format(line)
        if any(bidirectional(letter) in LEFTWARD for letter in line):
            return element("bdi", line)
        return escape(line)


@dataclass(frozen=True)
class Cell:
    """A cell of a table that is sorted by a number, not by what it shows."""

    content: Any
    value: float | None

    @property
    def sorted_by(self) -> str:
        if self.value is None or isnan(self.value):
            return ""
        return repr(float(self.value)).replace("inf", "Infinity")


def element(tag: str, content: Any) -> Markup:
    """Return an element of HTML around content, which is escaped."""
    return Markup("<{0}>{1}</{0}>").format(tag, content)


def phrase(pattern: str, *names: Any) -> Markup:
    """Return a sentence of plain text with names, or HTML, in the places of its braces."""
    return escape(pattern).format(*names)


def plain(content: Any) -> Markup:
    """Return content without tags, for attributes and titles."""
    return Markup(re.sub(r"<[^>]*>", "", escape(content)))


@cache
def environment() -> Environment:
    """Return Jinja2 with the templates of the package, strict about names that it was not given."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "plain": plain,
        "name": Name,
    }
    return made


def render(template: str, **values: Any) -> Markup:
    """Fill in a template of the package."""
    return Markup(environment().get_template(template).render(values))
