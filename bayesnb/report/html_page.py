"""The page around the sections: one file that loads nothing and runs one small script, its own.

Its policy names the style and the script by their hashes. Were a name that a user wrote ever to become markup, the
browser would still neither run, nor load, nor style anything for it.
"""

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files

from bayesnb.report.markup import plain, text
from bayesnb.report.written import Page

DATA = "img-src data:"  # a heat map is an image within the page
FOOT = "Written by bayesnb: naive Bayes that keeps the whole posterior."


def page(title: str, headline: str, parts: Sequence[tuple[str, str, str]]) -> Page:
    """The whole document; a part is its anchor, its title and its HTML."""
    links = "".join(f'<li><a href="#{name}">{heading}</a></li>' for name, heading, _ in parts)
    body = "\n".join(
        f'<section aria-labelledby="{name}"><h2 id="{name}">{heading}</h2>\n{html}</section>'
        for name, heading, html in parts
    )
    return Page(
        f'<!doctype html>\n<html lang="en">\n{head(title)}\n<body>\n<a class="skip" href="#page">Skip to the text</a>\n'
        f'<header><p class="kicker">Model report</p><h1>{text(title)}</h1>{headline}</header>\n'
        f'<nav aria-labelledby="contents"><div><p id="contents">Contents</p><ol>{links}</ol></div></nav>\n'
        f'<main id="page" tabindex="-1">\n{body}\n</main>\n<footer><p>{FOOT}</p></footer>\n'
        f"<script>{shipped('page.js')}</script>\n</body>\n</html>\n"
    )


def head(title: str) -> str:
    """The head of the document: what may run, how it looks, what it is called."""
    style, script = shipped("page.css") + shipped("sections.css"), shipped("page.js")
    policy = f"default-src 'none'; {DATA}; style-src {hashed(style)}; script-src {hashed(script)}; form-action 'none'"
    return (
        f'<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{plain(text(title))}</title>\n<style>{style}</style>\n</head>"
    )


@cache
def shipped(name: str) -> str:
    """A file that lies beside this one."""
    return files("bayesnb.report").joinpath(name).read_text(encoding="utf-8")


def hashed(source: str) -> str:
    """How a content security policy names what stands between two tags."""
    return f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'"
