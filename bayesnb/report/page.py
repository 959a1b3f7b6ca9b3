"""The parts of a section, and the template that renders them.

All text is plain: Jinja2 escapes it, so that user input is never markup.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import bidirectional

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from bayesnb import plots
from bayesnb.formatting import NOTHING, SPACE, fixed, interval, percent, shorten
from bayesnb.safe_output import replacing

MAX_NAME = 60  # characters
MAX_WORD = 60  # characters without a space
MAX_TEXT = 4000
LEFTWARD = ("R", "AL", "AN")  # Unicode classes of right-to-left characters
ISOLATE, END = "\u2068", "\u2069"  # isolate the direction of a text from the text around it
FRAME = Markup(
    '<iframe title="Model report" sandbox="allow-scripts allow-downloads" srcdoc="{}" '
    'style="width: 100%; height: 45rem; border: 1px solid rgba(128, 128, 128, .4)"></iframe>'
)


class Claim(NamedTuple):
    """A paragraph that begins with its main point."""

    claim: str
    text: str = ""


class Heading(NamedTuple):
    text: str


class Items(NamedTuple):
    """A list of items, or of terms and definitions if these are pairs."""

    items: Sequence[Any]


class Code(NamedTuple):
    lines: Sequence[str]


class Figures(NamedTuple):
    """Pictures, side by side where there is room."""

    pictures: Sequence[Markup]


class Fold(NamedTuple):
    """Content that is shown on a click."""

    summary: str
    content: Sequence[Any]


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length. A cell is a text, a number, or a few numbers, the main one first.

    `formats`, by column title, format numbers as text.
    """

    caption: str
    columns: Mapping[str, Any]
    formats: Mapping[str, Any] = field(default_factory=dict)
    kind: str = ""

    @property
    def rows(self) -> list[list[tuple[str, str]]]:
        """The text of each cell, and the number to sort it by."""
        formats = [self.formats.get(title, "{:,.0f}".format) for title in self.columns]
        rows = []
        for cells in zip(*self.columns.values(), strict=True):
            pairs = zip(cells, formats, strict=True)
            rows.append([show_cell(cell, to_text) for cell, to_text in pairs])
        return rows


class Section(NamedTuple):
    """A part of the page: its anchor, its title, and sentences, figures and tables."""

    anchor: str
    title: str
    content: Sequence[Any]


class Page(str):
    """An HTML document, as text: `page.save("report.html")` writes it."""

    __slots__ = ()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, completely or not at all, and return its path."""
        with replacing(path) as stream:
            stream.write(self.encode())
        return Path(path).absolute()

    def __repr__(self) -> str:
        size = f"{len(self.encode()):,} bytes"
        return f"<Page of {size}: .save('report.html') writes it, a notebook shows it>"

    def _repr_html_(self) -> str:
        """The page in a frame, so that neither its style nor its script reaches the notebook."""
        framed = self.replace("<head>", '<head>\n<base href="about:srcdoc">', 1)  # for its #links
        return FRAME.format(str(framed))


# Cells


def show_cell(cell: Any, to_text: Callable[..., str]) -> tuple[str, str]:
    """Return the text of a cell, and the number to sort it by, or an empty text."""
    if cell is None:
        return NOTHING, ""
    if isinstance(cell, str):
        return cell, ""
    numbers = np.ravel(cell).tolist()
    if isnan(numbers[0]):
        return NOTHING, ""
    value = repr(float(numbers[0])).replace("inf", "Infinity")
    return to_text(*numbers), value


def show_percent(p: float, lower: float = 0.0, upper: float = 0.0) -> str:
    """Format a probability, with its interval if it has one."""
    if not lower < upper:
        return percent(p)
    return f"{percent(p)} ({fixed(100 * lower, 1)}{SPACE}to{SPACE}{fixed(100 * upper, 1)})"


def show_loss(value: float, lower: float = 0.0, upper: float = 0.0) -> str:
    """Format nats or a score to three decimals, with its interval if it has one."""
    return interval(value, lower, upper, 3)


def show_interval(prob: float) -> str:
    """Format the probability of an interval, with as many digits as it needs."""
    return f"{100 * prob:.10g}{SPACE}%"


def name(value: Any, most: int = MAX_NAME) -> str:
    """Return a user's text on one line, shortened if it is long.

    Right-to-left text does not change the order of the text around it.
    """
    words = (shorten(word, max(MAX_WORD, most // 10)) for word in str(value).split())
    line = shorten(" ".join(words), most)
    if any(bidirectional(letter) in LEFTWARD for letter in line):
        return f"{ISOLATE}{line}{END}"
    return line


def write_code(text: str, most: int = MAX_NAME) -> str:
    """Return a line of code with its spaces kept, shortened if it is long."""
    cut = name(text, most)
    is_whole = cut.strip(ISOLATE + END) == " ".join(text.split())
    return text if is_whole else cut


def name_column(key: Any, most: int = MAX_NAME) -> str:
    """Return the name of a column; a column of an array has only a number."""
    if isinstance(key, tuple):
        return name(", ".join(map(str, key)), most)
    return f"column {key}" if str(key).isdigit() else name(key, most)


# HTML


def draw(ax: Any, description: str, salt: Any = "", wide: float | None = None) -> Markup:
    """Return a figure as inline SVG, with a description for screen readers.

    Figures of a page must differ in their description or in their salt.
    """
    return Markup(plots.style.svg(ax, description, f"{description} {salt}", wide))  # escaped there


def mark_code(text: str) -> Markup:
    """Escape a text, and mark text between backticks as code."""
    return Markup(re.sub("`([^`<>&]+)`", r"<code>\1</code>", str(escape(text))))


@cache
def templates() -> Environment:
    """Return the Jinja2 environment: it escapes all text and raises for undefined names."""
    loader = FileSystemLoader(Path(__file__).parent)
    options: Any = {"autoescape": True, "undefined": StrictUndefined}
    made = Environment(loader=loader, trim_blocks=True, lstrip_blocks=True, **options)
    made.filters |= {"prose": mark_code}
    return made


def render_section(section: Section) -> str:
    """Return the content of one section as HTML."""
    macros: Any = templates().get_template("page.html").make_module({"page": None})
    return str(macros.show_all(section.content))


def render_page(
    title: str,
    author: str,
    sections: Sequence[Section],
    is_open: Any,
    kicker: str = "Model report",
) -> Page:
    """Return the document. The first section is above the contents; those in `is_open` are open."""
    folder = Path(__file__).parent
    style, script = (Markup((folder / file).read_text("utf-8")) for file in ("page.css", "page.js"))
    page = {
        "title": name(title, MAX_TEXT),
        "author": name(author, MAX_TEXT),
        "kicker": kicker,
        "headline": sections[0],
        "sections": sections[1:],
        "open": is_open,
        "style": style,
        "script": script,
    }
    html = templates().get_template("page.html").render(page=page)
    return Page(html.lstrip())
