"""What a browser would see of a page: tags, attributes, text, and tables by their captions."""

import re
from html.parser import HTMLParser

VOID = {"meta", "br", "path", "use"}


class Page(HTMLParser):
    """A page, read."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.text = ""
        self.code: list[str] = []  # of each block, with its blanks
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        elif tag == "br":
            self.handle_data("\n")
        if tag == "pre":
            self.code.append("")
        if tag == "tr":
            self.tables[next(reversed(self.tables))].append([])
        if tag in ("td", "th"):
            self.tables[next(reversed(self.tables))][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag
        if tag == "thead":
            rows = self.tables[next(reversed(self.tables))]
            if len(rows) > 1:  # a head that was there before
                rows.pop()

    def handle_data(self, data: str) -> None:
        if "style" in self.open or "script" in self.open:
            return
        if "pre" in self.open:
            self.code[-1] += data
        data = data.replace("\xa0", " ")
        self.text += re.sub(r"\s+", " ", data)  # as lines of the source are not lines of the page
        if "caption" in self.open:
            self.tables.setdefault(
                data.removesuffix(", continued"), []
            )  # what is folded follows what is not
        elif "td" in self.open or "th" in self.open:
            self.tables[next(reversed(self.tables))][-1][-1] += data
