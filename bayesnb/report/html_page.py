"""The page around the sections: one file that loads nothing and runs one small script, `templates/page.js`.

Its policy names the style and the script by their hashes. Were a name that a user wrote ever to become markup, the
browser would still neither run, nor load, nor style anything for it.
"""

import os
from base64 import b64encode
from collections.abc import Collection, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bayesnb import plots
from bayesnb.report.html import Name, render
from bayesnb.safe_output import replacing

FRAME = "width: 100%; height: 45rem; border: 1px solid rgba(128, 128, 128, .4)"


class Page(str):
    """A whole HTML document, as text: `page.save("report.html")` writes it, and a notebook shows it."""

    __slots__ = ()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, all of it or none, and return where it is."""
        with replacing(path) as stream:
            stream.write(self.encode())
        return Path(path).absolute()

    def __repr__(self) -> str:
        return f"<Page of {len(self.encode()):,} bytes: .save('report.html') writes it, a notebook shows it>"

    def _repr_html_(self) -> str:
        """The page in a frame, so that neither its style nor its script reaches the notebook."""
        framed = self.replace("<head>", '<head>\n<base href="about:srcdoc">', 1)  # where its #links lead
        return str(render("frame.html", source=framed, style=FRAME))


def page(
    title: str, headline: str, parts: Sequence[tuple[str, str, str]], folded: Collection[str] = (), author: str = ""
) -> Page:
    """The document with a headline and parts, each an anchor, a title and HTML; those in `folded` start closed."""
    style, script = render("style.css"), render("page.js")
    allowed = {"style": style, "script": script, "style_hash": hashed(style), "script_hash": hashed(script)}
    values = {"title": Name(title), "headline": headline, "parts": parts, "folded": folded, "author": Name(author)}
    return Page(render("page.html", **values, **allowed))


def hashed(source: str) -> str:
    """The name of a style or a script in a content security policy."""
    return f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'"


def drawn(ax: Any, description: str, salt: str, wide: float | None = None) -> Markup:
    """A figure as inline SVG that is read aloud as its description; every figure of a page has a salt of its own."""
    for axis in (axis for axes in ax.get_figure(root=True).axes for axis in (axes.xaxis, axes.yaxis)):
        if not axis.label.get_text():
            axis.set_label_coords(0, 0)  # or its place is sought, again and again: a tenth of the time of a figure
    return Markup(plots.svg(ax, description, salt, wide))  # its texts are escaped there


def swatch(c: int) -> dict[str, str] | None:
    """Colour and dashes of the line that stands for a class in the figures; None for those that have none."""
    if c >= plots.MOST_CLASSES:
        return None
    colour = plots.COLOURS[c].replace(plots.INK, "currentColor")
    return {"colour": colour, "dash": " ".join(f"{3 * part / 2:g}" for part in plots.DASHES[c])}
