"""What a section is made of, and the one template that renders it.

Every text is plain: Jinja2 escapes it, so that what users wrote is never markup.
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

MAX_NAME = 60  # letters
MAX_WORD = 60  # letters that nothing breaks
MAX_TEXT = 4000
LEFTWARD = ("R", "AL", "AN")  # classes of letters that are written from right to left
ISOLATE, END = "\u2068", "\u2069"  # keep the order of what they enclose apart from the text around
FRAME = Markup(
    '<iframe title="Model report" sandbox="allow-scripts allow-downloads" srcdoc="{}" '
    'style="width: 100%; height: 45rem; border: 1px solid rgba(128, 128, 128, .4)"></iframe>'
)


class Claim(NamedTuple):
    """A paragraph that begins with what matters."""

    claim: str
    text: str = ""


class Heading(NamedTuple):
    text: str


class Items(NamedTuple):
    """A list, or, of pairs, terms and what they mean."""

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

    `formats` turn what is no text into one, by the title of the column.
    """

    caption: str
    columns: Mapping[str, Any]
    formats: Mapping[str, Any] = field(default_factory=dict)
    kind: str = ""

    @property
    def rows(self) -> list[list[tuple[str, str]]]:
        """Each cell as it is shown, and the number that it is sorted by."""
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
    """A whole HTML document, as text: `page.save("report.html")` writes it."""

    __slots__ = ()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, all of it or none, and return where it is."""
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
    """Return what is shown of a cell, and the number that it is sorted by, or nothing."""
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
    """Format a probability, with its interval where it has one."""
    if not lower < upper:
        return percent(p)
    return f"{percent(p)} ({fixed(100 * lower, 1)}{SPACE}to{SPACE}{fixed(100 * upper, 1)})"


def show_loss(value: float, lower: float = 0.0, upper: float = 0.0) -> str:
    """Format nats or a score to three decimals, with its interval where it has one."""
    return interval(value, lower, upper, 3)


def show_interval(prob: float) -> str:
    """Format the probability of an interval, to the digits that it was given with."""
    return f"{100 * prob:.10g}{SPACE}%"


def name(value: Any, most: int = MAX_NAME) -> str:
    """Return what a user wrote on one line that is not endless.

    What is written from right to left does not change the order of the text around it.
    """
    words = (shorten(word, max(MAX_WORD, most // 10)) for word in str(value).split())
    line = shorten(" ".join(words), most)
    if any(bidirectional(letter) in LEFTWARD for letter in line):
        return f"{ISOLATE}{line}{END}"
    return line


def write_code(text: str, most: int = MAX_NAME) -> str:
    """Return a line of code with its blanks as they are, cut if it is endless."""
    cut = name(text, most)
    is_whole = cut.strip(ISOLATE + END) == " ".join(text.split())
    return text if is_whole else cut


def name_column(key: Any, most: int = MAX_NAME) -> str:
    """Return a column as a reader would call it; a column of an array has only its place."""
    if isinstance(key, tuple):
        return name(", ".join(map(str, key)), most)
    return f"column {key}" if str(key).isdigit() else name(key, most)


# HTML


def draw(ax: Any, description: str, salt: Any = "", wide: float | None = None) -> Markup:
    """Return a figure as inline SVG that is read aloud as its description.

    Two figures of a page differ in their description or in their salt.
    """
    return Markup(plots.style.svg(ax, description, f"{description} {salt}", wide))  # escaped there


def mark_code(text: str) -> Markup:
    """Escape a text, and mark what is between backticks as code."""
    return Markup(re.sub("`([^`<>&]+)`", r"<code>\1</code>", str(escape(text))))


@cache
def templates() -> Environment:
    """Return Jinja2, which escapes all text and is strict about names that it was not given."""
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
    """Return the document; the first section stands above the contents, and some start open."""
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
