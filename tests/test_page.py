"""The page around the sections: what may run on it, how it reads, how it is written to a file."""

import base64
import errno
import hashlib
import os
import re
from html import unescape
from itertools import pairwise, product
from pathlib import Path

import pytest
from markupsafe import Markup, escape

from bayesnb.report import Page
from bayesnb.report.html_page import page
from bayesnb.results.display import Cell, Name, plain, render
from tests.pages import table

ARABIC = "\u0645\u0631\u062d\u0628\u0627"
PARTS = [("one", "First", Markup("<p>text</p>")), ("two", "Second", Markup("<p>more</p>"))]
SHORT = page("title", Markup("<p>headline</p>"), PARTS)
STYLE = render("style.css", page=True)


def text(value: object, most: int = 600) -> Markup:
    return escape(Name(value, most))


def colours(block: str) -> dict[str, str]:
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))


def themes() -> dict[str, dict[str, str]]:
    """The colours of the page: in light, in dark, and on paper."""
    light, dark, *_, paper = re.findall(r":root \{(.*?)\}", STYLE, flags=re.DOTALL)
    return {"light": colours(light), "dark": colours(dark), "paper": colours(light) | colours(paper)}


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("theme", ["light", "dark", "paper"])
def test_every_colour_of_text_can_be_read_on_every_ground(theme: str) -> None:
    own = themes()[theme]
    for front, ground in product(("ink", "quiet", "accent"), ("paper", "wash")):
        assert contrast(own[front], own[ground]) >= 4.5, f"{front} on {ground}"


def test_text_has_no_colour_but_those_of_the_theme() -> None:
    rules = re.sub(r":root \{.*?\}|@page \{.*?\} \}", "", STYLE, flags=re.DOTALL)
    assert not re.findall(r"(?<![-\w])color: (?!var\(--(?:ink|quiet|accent)\)|inherit)[^;}]*", rules)


def test_the_policy_allows_the_pages_own_style_and_script_and_nothing_else() -> None:
    found = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', SHORT)
    assert found
    policy = dict(part.split(" ", 1) for part in unescape(found[1]).split("; "))
    assert policy.keys() == {"default-src", "img-src", "style-src", "script-src", "form-action"}
    assert policy["default-src"] == policy["form-action"] == "'none'"
    assert policy["img-src"] == "data:"
    for tag in ("style", "script"):
        (source,) = re.findall(rf"<{tag}>(.*?)</{tag}>", SHORT, flags=re.DOTALL)
        own = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert policy[f"{tag}-src"] == f"'sha256-{own}'"
    assert "style=" not in SHORT.replace(render("page.js"), "")


def test_the_script_is_small() -> None:
    assert len(render("page.js").encode()) < 7_500  # of which saving tables and figures is a third


def test_the_page_has_its_landmarks_and_one_first_heading() -> None:
    for tag in ("header", "nav", "main", "footer", "h1"):
        assert len(re.findall(rf"<{tag}[ >]", SHORT)) == 1
    order = [
        SHORT.index(part) for part in ('class="skip" href="#page"', "<header", "<nav", '<main id="page"', "<footer")
    ]
    assert all(a < b for a, b in pairwise(order))
    assert re.findall(r'<a href="#(\w+)">', SHORT) == ["one", "two"]
    assert re.findall(r'<section aria-labelledby="(\w+)"><h2 id="(\w+)"', SHORT) == [("one", "one"), ("two", "two")]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a < b & 'c'", "a &lt; b &amp; &#39;c&#39;"),
        ("two\nlines\tand more", "two lines and more"),
        ("\x00\x1b\u202e\u200b", "����"),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f468\u200d\U0001f469\u200d\U0001f467"),
        (ARABIC, f"<bdi>{ARABIC}</bdi>"),
        (f"a {ARABIC}", f"<bdi>a {ARABIC}</bdi>"),
        ("a name that is longer than others", '<bdi class="long">a name that is longer than others</bdi>'),
        (12, "12"),
    ],
)
def test_what_a_user_wrote_is_text(value: object, shown: str) -> None:
    assert text(value) == shown


def test_a_long_name_keeps_both_ends() -> None:
    word, sentence = "start" + 10_000 * "x" + "end", "start " + 1_000 * "more " + "end"
    for name, most in ((word, 60), (sentence, 600)):
        shown = plain(text(name))
        assert len(shown) == most
        assert shown.startswith(name[:30])
        assert shown.endswith(name[-18:])
    assert plain(text(sentence[:600])) == sentence[:600].strip()
    assert plain(text(word[:60])) == word[:60]
    assert plain(text(sentence, most=6_000)) == sentence


def test_a_cell_is_sorted_by_its_value() -> None:
    nan, large, small = Cell("-", float("nan")), Cell("∞", float("inf")), Cell(Markup("<b>0.1</b>"), 0.1)
    html = table(
        Markup("Named <b>it</b>"),
        (Markup("<i>a</i>"), Markup("<i>b</i>")),
        [("x", nan), ("y", large), (small, "z")],
        "sortable",
    )
    assert '<td data-head="b" data-value="">-</td>' in html
    assert '<td data-head="b" data-value="Infinity">∞</td>' in html
    assert '<th scope="row" data-value="0.1"><b>0.1</b></th><td data-head="b">z</td>' in html
    assert 'aria-label="Named it"' in html
    assert '<table class="sortable">' in html


def test_a_page_is_saved_whole(tmp_path: Path) -> None:
    said = Page("<p>\u00e9\n</p>")
    goal = said.save(tmp_path / "page.html")
    assert goal.read_bytes() == said.encode()
    assert Page("other").save(str(goal)) == goal
    assert goal.read_text() == "other"
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_page_that_cannot_be_saved_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=r"is a folder: give the name of a file"):
        SHORT.save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .* to write 'page.html' into; make it first"):
        SHORT.save(tmp_path / "nowhere" / "page.html")
    assert not os.listdir(tmp_path)


def test_a_disk_that_is_full_leaves_the_old_page_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    goal = Page("old").save(tmp_path / "page.html")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: .*page\.html"):
        SHORT.save(goal)
    assert goal.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_page_is_short_to_look_at_and_is_its_text() -> None:
    assert repr(SHORT).startswith(f"<Page of {len(SHORT.encode()):,} bytes")
    assert str(SHORT) == SHORT
    assert SHORT[:15] == "<!doctype html>"


def test_a_notebook_frames_the_page_with_its_own_links() -> None:
    shown = SHORT._repr_html_()
    assert shown.count("<") == 2  # the frame, whose source is an attribute
    assert "&lt;base href=&#34;about:srcdoc&#34;&gt;" in shown
