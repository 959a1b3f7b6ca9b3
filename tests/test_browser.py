"""Pages as a browser shows them: wide and narrow, light and dark, with and without their script, and on paper."""

import csv
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from math import inf
from pathlib import Path
from time import monotonic, sleep
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from bayesnb.report import Page
from bayesnb.report.html_page import page as written
from bayesnb.report.sections import FOLDED, SECTIONS
from bayesnb.results.display import Cell
from tests.browser import Browser, Tab, chromium
from tests.pages import PAGES, table

pytestmark = pytest.mark.browser
PHONE, DESKTOP = 390, 1280
PAPER = {"A4": (8.27, 11.69), "letter": (8.5, 11.0)}
MARGINS = 2 * 16 / 25.4  # inches, as the style of the page has them
UNREADABLE = (Path(__file__).parent / "unreadable.js").read_text(encoding="utf-8")
LONG = "[...document.querySelectorAll('table.sortable:has(th button)')].find((one) => one.tBodies[0].rows.length > 3)"
SORTED = f"""
(() => {{
  const table = {LONG};
  const at = [...table.tHead.rows[0].cells].findIndex((head) => /log evidence|log bayes|rows/i.test(head.textContent));
  const read = () => [...table.tBodies[0].rows].map((row) => row.cells[at].textContent);
  return {{ at, before: read(), head: table.tHead.rows[0].cells[at].getAttribute("aria-sort") }};
}})()
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="session")
def saved(folder: Path) -> Callable[[str], Path]:
    """A page's file by its name; a page is made once."""
    return cache(lambda name: PAGES[name]().save(folder / f"{name}.html"))


@pytest.fixture(scope="session", params=PAGES)
def page(request: pytest.FixtureRequest, saved: Callable[[str], Path]) -> Path:
    return saved(request.param)


@pytest.fixture(scope="session")
def birds(saved: Callable[[str], Path]) -> Path:
    return saved("penguins")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.mark.parametrize(
    ("width", "theme", "script"),
    [*product((PHONE, DESKTOP), ("light", "dark"), (True,)), (PHONE, "light", False), (DESKTOP, "light", False)],
)
def test_a_page_is_whole_and_quiet(page: Path, browser: Browser, width: int, theme: str, script: bool) -> None:
    with Tab(browser, width, theme, script) as tab:
        tab.open(page)
        assert tab.requests() == []
        sections = tab.ask("[...document.querySelectorAll('main > section h2')].map((head) => head.textContent)")
        titles = [
            title for name, title, _ in SECTIONS if name != "thresholds" or "texts" in page.name
        ]  # of two classes
        assert sections == titles
        assert tab.ask("document.title") != "hacked"
        assert tab.ask("document.scrollingElement.scrollWidth") <= width
        assert tab.ask("document.querySelectorAll('th button').length > 0") == script
        assert tab.complaints() == []


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_no_text_is_cut_off_or_lies_on_another(page: Path, browser: Browser, width: int) -> None:
    with Tab(browser, width) as tab:
        tab.open(page).ask("document.querySelectorAll('details').forEach((part) => (part.open = true))")
        assert tab.ask("document.scrollingElement.scrollWidth") <= width
        assert tab.ask(UNREADABLE) == []


def test_texts_that_cannot_be_read_would_be_found(browser: Browser, folder: Path) -> None:
    svg = '<figure><svg viewBox="0 0 99 20"><text y="9">one text</text><text x="9" y="9">another</text></svg></figure>'
    word = 200 * "w"
    bad = f"<pre><nobr>{word}</nobr></pre><h3><nobr>{word}</nobr></h3>{svg}"
    with Tab(browser, PHONE) as tab:
        found = tab.open(written("Bad", "", [("one", "One", Markup(bad))]).save(folder / "bad.html")).ask(UNREADABLE)
        assert tab.ask("document.scrollingElement.scrollWidth") > PHONE
    assert any("H3 leaves its box" in one for one in found)
    assert any(one == "figure: another lies on one text" for one in found)
    fine = written("Fine", "", [("one", "One", Markup(f"<p>{word}</p>"))])
    with Tab(browser, PHONE) as tab:
        assert tab.open(fine.save(folder / "fine.html")).ask(UNREADABLE) == []


def test_hostile_markup_that_escaped_would_still_do_nothing(browser: Browser, folder: Path) -> None:
    hack = "document.title = 'hacked'"
    bad = f'<script>{hack}</script><img src="https://example.org/x.png" onerror="{hack}">'
    bad += "<p id='styled' style='color: rgb(1, 2, 3)'>text</p><style>h2 { color: rgb(1, 2, 3) }</style>"
    with Tab(browser) as tab:
        tab.open(written("Safe", "", [("one", "One", Markup(bad))]).save(folder / "escaped.html"))
        assert tab.ask("document.title") == "Safe"
        for part in ("#styled", "h2"):
            assert tab.ask(f"getComputedStyle(document.querySelector('{part}')).color") != "rgb(1, 2, 3)"
        assert len(tab.complaints()) >= 4  # the browser says what it refused


@pytest.mark.parametrize("paper", PAPER)
def test_paper_has_all_of_the_page(page: Path, browser: Browser, paper: str) -> None:
    width, height = PAPER[paper]
    with Tab(browser) as tab:
        tab.open(page).media("dark", "print")
        tab.call("Emulation.setScrollbarsHidden", hidden=True)
        tab.resize(round(96 * (width - MARGINS)))
        tab.ask("document.querySelectorAll('details').forEach((part) => (part.open = true))")
        assert tab.ask("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        parts = "[...document.querySelectorAll('table, svg, pre, p')]"
        wide = (
            f"{parts}.filter((part) => part.getBoundingClientRect().right > document.documentElement.clientWidth + 1)"
        )
        assert tab.ask(f"{wide}.map((part) => part.textContent.slice(0, 60))") == []
        data = tab.open(page).printed(width, height)
    assert data.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", data)) >= 4


def test_a_folded_part_is_open_on_paper_and_folded_again(birds: Path, browser: Browser) -> None:
    with Tab(browser) as tab:
        tab.open(birds)
        folded = "document.querySelectorAll('details:not([open])').length"
        before = tab.ask(folded)
        assert before > 0
        tab.ask("dispatchEvent(new Event('beforeprint'))")
        assert tab.ask(folded) == 0
        tab.ask("dispatchEvent(new Event('afterprint'))")
        assert tab.ask(folded) == before


def downloaded(place: Path, files: int) -> dict[str, Path]:
    """The files that are there, once so many are complete, by their endings."""
    end = monotonic() + 20
    while monotonic() < end and len([*place.glob("*.csv"), *place.glob("*.svg")]) < files:
        sleep(0.1)
    return {path.suffix: path for path in place.iterdir()}


def test_a_table_is_saved_as_csv_and_a_figure_as_svg(birds: Path, browser: Browser, tmp_path: Path) -> None:
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    with Tab(browser) as tab:
        tab.open(birds)
        tables = tab.ask("document.querySelectorAll('main table:has(caption)').length")
        assert tab.ask("document.querySelectorAll('caption > .save').length") == tables
        assert tab.ask("document.querySelectorAll('figure:has(svg):not(:has(.save))').length") == 0
        shown = tab.ask(
            "[...document.querySelector('main table').rows].map((row) => [...row.cells].map((it) => it.textContent))"
        )
        tab.ask("document.querySelector('caption > .save').click()")
        tab.ask("document.querySelector('figure > .save').click()")
        files = downloaded(tmp_path, 2)
        assert tab.complaints() == []
    assert files[".csv"].name == "scores-with-89-intervals.csv"
    rows = list(csv.reader(files[".csv"].read_text(encoding="utf-8-sig").splitlines()))
    assert rows == [[cell.replace("\xa0", " ").replace("\u2212", "-") for cell in row] for row in shown]
    picture = ElementTree.parse(files[".svg"]).getroot()
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    assert float(picture.attrib["width"]) > 100
    assert any("observed share" in "".join(text.itertext()) for text in picture.iter())


def test_no_cell_of_a_csv_is_run_as_a_formula(browser: Browser, folder: Path, tmp_path: Path) -> None:
    formulas = ["=1+1", "@x", "+cmd", "-2+3+cmd|' /C calc'!A0", "-2.5+1", "+3 \u00b1 1+cmd"]
    cells = [*formulas, "-2.5", "\u22122.5", "-1,234.5", "+3 %", "-1e-5", "-2 to 3", 'a "b", c', "+3 \u00b1 1"]
    html = table("Cells", ("Cell", "More"), [(cell, "x") for cell in cells])
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    with Tab(browser) as tab:
        tab.open(written("Cells", "", [("one", "One", html)]).save(folder / "formulas.html"))
        tab.ask("document.querySelector('caption > .save').click()")
        text = downloaded(tmp_path, 1)[".csv"].read_text(encoding="utf-8-sig")
    saved_cells = [row[0] for row in csv.reader(text.splitlines())][1:]
    assert saved_cells == [f"'{cell}" for cell in formulas] + [cell.replace("\u2212", "-") for cell in cells[6:]]


def numbers(cells: list[str]) -> list[float]:
    """What the cells say, read by another reader than the page's."""
    found = [re.search(r"-?\d+(\.\d+)?", cell.replace("\u2212", "-").replace(",", "")) for cell in cells]
    return [float(number[0]) for number in found if number]


@pytest.mark.parametrize("way", ["click", "Enter", "Space"])
def test_a_table_is_sorted_by_its_header(birds: Path, browser: Browser, way: str) -> None:
    with Tab(browser) as tab:
        tab.open(birds).ask("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        own = tab.ask(SORTED)
        button = f"{LONG}.querySelector('th:nth-child({own['at'] + 1}) button')"

        def turn() -> dict:
            tab.ask(f"{button}.click()" if way == "click" else f"{button}.focus()")
            if way != "click":
                tab.press(*{"Enter": ("Enter", 13), "Space": (" ", 32)}[way])
            return tab.ask(SORTED)

        assert own["head"] is None
        assert len(set(own["before"])) > 1
        down, up, back = turn(), turn(), turn()
    assert [state["head"] for state in (down, up, back)] == ["descending", "ascending", None]
    assert numbers(down["before"]) == sorted(numbers(own["before"]), reverse=True)
    assert numbers(up["before"]) == sorted(numbers(own["before"]))
    assert back["before"] == own["before"]


KINDS = {
    "numbers": (["1,000", "\u22122.5", "3 \u00d7 10⁻⁴", "\u2013", "∞", "12 %", "2 \u00d7 10⁶"], [4, 6, 0, 5, 2, 1, 3]),
    "scores": (["98.3 % ± 0.7", "under 0.1 %", "over 99.9 %", "7 % (4 to 14)", ""], [2, 0, 3, 1, 4]),
    "words": (["w10", "w9", "b", "\u2013", "B a"], [2, 4, 1, 0, 3]),
    "values": ([Cell("x", 1e-5), Cell("y", inf), Cell("z", None), Cell("w", -2)], [1, 0, 3, 2]),
    "not quite numbers": (["1st", "2nd", "10th"], [0, 1, 2]),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_cells_are_sorted_as_a_reader_would(kind: str, browser: Browser, folder: Path) -> None:
    cells, expected = KINDS[kind]
    html = table("Cells", ("Place", "Said"), [(str(at), cell) for at, cell in enumerate(cells)], "sortable")
    with Tab(browser) as tab:
        tab.open(written("Cells", "", [("one", "One", html)]).save(folder / "cells.html"))
        tab.ask("document.querySelectorAll('th button')[1].click()")
        found = tab.ask("[...document.querySelectorAll('tbody tr')].map((row) => Number(row.cells[0].textContent))")
    assert found == expected


def test_a_long_table_is_filtered_by_words_and_says_how_many_are_left(
    saved: Callable[[str], Path], browser: Browser
) -> None:
    with Tab(browser) as tab:
        tab.open(saved("500 columns"))
        tab.ask("document.querySelectorAll('details').forEach((part) => (part.open = true))")
        field = "document.querySelector('.filter input')"
        rows = f"[...{field}.closest('.filter').nextElementSibling.querySelectorAll('tbody tr')]"
        status = f"{field}.closest('.filter').querySelector('[role=status]').textContent"
        whole = tab.ask(f"{rows}.length")
        tab.ask(f"{field}.focus()")
        tab.call("Input.insertText", text="SENSOR11")
        shown = tab.ask(f"{rows}.filter((row) => row.checkVisibility()).map((row) => row.textContent.toLowerCase())")
        said = tab.ask(status)
        tab.ask(f"{field}.value = ''; {field}.dispatchEvent(new Event('input'))")
        assert tab.ask(f"{rows}.filter((row) => row.checkVisibility()).length") == whole
        assert tab.ask(status) == ""
    assert 0 < len(shown) < whole
    assert all("sensor11" in row for row in shown)
    assert said == f"{len(shown)} of {whole} rows"


def test_focus_can_be_seen_wherever_the_tab_key_leads(birds: Path, browser: Browser) -> None:
    with Tab(browser) as tab:
        tab.open(birds)
        seen = []
        for _ in range(40):
            tab.press("Tab", 9)
            outline = "getComputedStyle(document.activeElement)"
            here = tab.ask(
                f"[document.activeElement.tagName, {outline}.outlineStyle, parseFloat({outline}.outlineWidth), "
                "document.activeElement.getBoundingClientRect().left >= 0]"
            )
            seen.append(here)
    assert seen[0][0] == "A"  # that skips to the text
    assert {"A", "DIV", "BUTTON", "SUMMARY"} <= {tag for tag, *_ in seen}
    assert all(style == "solid" and width >= 2 and there for _, style, width, there in seen)


def test_a_link_to_a_section_leads_there_and_the_contents_say_so(birds: Path, browser: Browser) -> None:
    name = SECTIONS[3][0]
    with Tab(browser) as tab:
        tab.open(birds).call(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}]
        )
        tab.ask(f"document.querySelector('nav a[href=\"#{name}\"]').click()")
        tab.ask("new Promise((done) => setTimeout(done, 300))")
        assert abs(tab.ask(f"document.getElementById('{name}').getBoundingClientRect().top")) < 100
        assert tab.ask("document.querySelector('nav [aria-current]').hash") == f"#{name}"
        closed = f"document.getElementById('{FOLDED[1]}').closest('details').open"
        assert not tab.ask(closed)
        tab.ask(f"document.querySelector('nav a[href=\"#{FOLDED[1]}\"]').click()")
        tab.ask("new Promise((done) => setTimeout(done, 300))")
        assert tab.ask(closed)


def test_a_framed_page_keeps_its_links_and_its_script_to_itself(birds: Path, browser: Browser, folder: Path) -> None:
    shown = Page(birds.read_text(encoding="utf-8"))._repr_html_()
    path = folder / "notebook.html"
    path.write_text(f"<!doctype html><title>notebook</title>{shown}", encoding="utf-8")
    with Tab(browser) as tab:
        tab.open(path)
        assert tab.complaints() == []
        assert tab.ask("document.querySelectorAll('iframe').length") == 1
        frames = [one for one in browser.call("Target.getTargets")["targetInfos"] if one["type"] == "iframe"]
        frame = browser.call("Target.attachToTarget", targetId=frames[0]["targetId"], flatten=True)["sessionId"]

        def inside(expression: str) -> object:
            return browser.call("Runtime.evaluate", frame, expression=expression, returnByValue=True)["result"].get(
                "value"
            )

        assert inside("document.querySelectorAll('th button').length > 0")
        inside(f"document.querySelector('nav a[href=\"#{FOLDED[1]}\"]').click()")
        tab.ask("new Promise((done) => setTimeout(done, 1500))")
        assert inside("document.querySelectorAll('h1').length") == 1
        assert inside("scrollY") > 500
        assert tab.ask("scrollY") == 0
