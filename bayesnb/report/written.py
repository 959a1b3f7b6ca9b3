"""A page that is written: text, which can be saved, and which a notebook shows."""

import os
from html import escape
from pathlib import Path

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
        goal = Path(path).absolute()
        if goal.is_dir():
            raise IsADirectoryError(f"{goal} is a folder: name a file in it, {str(goal / 'report.html')!r}.")
        if not goal.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {goal.parent} to write {goal.name} into: make it first.")
        part = goal.with_name(f".{goal.name[:200]}.{os.getpid()}.part")
        try:
            part.write_text(self, encoding="utf-8", newline="\n")
            part.replace(goal)
        except OSError as error:
            said = f"{goal} could not be written ({error.strerror}); there is no part of it. Choose another place."
            raise type(error)(error.errno, said) from error
        finally:
            part.unlink(missing_ok=True)
        return goal

    def __repr__(self) -> str:
        return f"<Page of {len(self.encode()):,} bytes: .save('report.html') writes it, a notebook shows it>"

    def _repr_html_(self) -> str:
        """The page in a frame, so that neither its style nor its script reaches the notebook."""
        framed = self.replace("<head>", '<head>\n<base href="about:srcdoc">', 1)  # where its #links lead
        source = escape(framed)
        return f'<iframe title="Model report" sandbox="allow-scripts" srcdoc="{source}" style="{FRAME}"></iframe>'
