"""A page that is written: text, which can be saved, and which a notebook shows."""

import os
from html import escape
from pathlib import Path

from bayesnb.safe_output import replacing

FRAME = "width: 100%; height: 45rem; border: 1px solid rgba(128, 128, 128, .4)"


class Page(str):
    """A whole HTML document, as text.

    Examples
    --------
    >>> from bayesnb import NaiveBayes
    >>> from bayesnb.datasets import dogs
    >>> from bayesnb.report import report
    >>> table = dogs()
    >>> page = report(NaiveBayes(), table.drop(columns="breed"), table["breed"])
    >>> page.save("dogs.html")  # doctest: +SKIP
    >>> page[:15]
    '<!doctype html>'
    """

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
        source = escape(framed)
        return f'<iframe title="Model report" sandbox="allow-scripts" srcdoc="{source}" style="{FRAME}"></iframe>'
