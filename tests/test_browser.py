"""Pages as a browser shows them: wide and narrow, light and dark, and on paper."""

import csv
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

import bayesnb as nb
from bayesnb.datasets import penguins
from bayesnb.report import report
from tests.browser import Browser, Tab, chromium
from tests.test_page import hostile

pytestmark = pytest.mark.browser
PHONE = 390
DESKTOP = 1280
UNREADABLE = (Path(__file__).parent / "unreadable.js").read_text(encoding="utf-8")
OPEN_ALL = "document.querySelectorAll('details').forEach((part) => (part.open = true))"
CELLS = (
    "[...document.querySelector('main table').rows]"
    ".map((r) => [...r.cells].map((c) => c.textContent))"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    table = penguins()
    birds = report(nb.NaiveBayes(), table.drop(columns="species"), table["species"])
    found = {"birds": birds, "hostile": report(*hostile())}
    return {name: page.save(folder / f"{name}.html") for name, page in found.items()}


@pytest.mark.parametrize("name", ["birds", "hostile"])
def test_a_page_is_whole_quiet_and_readable(
    pages: dict[str, Path], browser: Browser, name: str
) -> None:
    for width, theme, script in (
        (PHONE, "light", True),
        (DESKTOP, "dark", True),
        (DESKTOP, "light", False),
    ):
        with Tab(browser, width, theme, script) as tab:
            tab.open(pages[name])
            assert tab.requests() == []
            assert tab.ask("document.querySelectorAll('th button').length > 0") == script
            assert tab.ask("document.querySelectorAll('main > section h2').length") >= 13
            tab.ask(OPEN_ALL)
            assert tab.ask("document.scrollingElement.scrollWidth") <= width
            assert tab.ask(UNREADABLE) == []
            assert tab.complaints() == []


def test_paper_has_all_of_the_page(pages: dict[str, Path], browser: Browser) -> None:
    with Tab(browser) as tab:
        tab.open(pages["birds"])
        folded = "document.querySelectorAll('details:not([open])').length"
        before = tab.ask(folded)
        tab.ask("dispatchEvent(new Event('beforeprint'))")
        assert tab.ask(folded) == 0
        tab.ask("dispatchEvent(new Event('afterprint'))")
        assert tab.ask(folded) == before > 0
        tab.media("dark", "print")
        assert tab.ask("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        data = tab.printed(8.27, 11.69)
    assert data.startswith(b"%PDF-")
    assert data.count(b"/Type /Page\n") >= 4


def test_tables_are_sorted_filtered_and_saved_and_links_lead_to_sections(
    pages: dict[str, Path], browser: Browser, tmp_path: Path
) -> None:
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    with Tab(browser) as tab:
        tab.open(pages["birds"])
        shown = tab.ask(CELLS)
        tab.ask("document.querySelector('caption > .save').click()")
        end = monotonic() + 20
        while monotonic() < end and not list(tmp_path.glob("*.csv")):
            sleep(0.1)
        tab.ask("document.querySelector('nav a[href=\"#card\"]').click()")
        tab.ask("new Promise((done) => setTimeout(done, 300))")
        assert tab.ask("document.getElementById('card').closest('details').open")
        tab.ask(OPEN_ALL)
        table = "document.querySelector('#columns').closest('section').querySelector('table')"
        numbers = f"[...{table}.tBodies[0].rows].map((row) => parseFloat(row.cells[2].textContent))"
        before = tab.ask(numbers)
        tab.ask(f"{table}.querySelectorAll('th button')[2].click()")
        assert tab.ask(numbers) == sorted(before, reverse=True) != before
        assert tab.complaints() == []
    (path,) = tmp_path.glob("*.csv")
    rows = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    assert rows == [
        [cell.replace("\xa0", " ").replace("\u2212", "-") for cell in row] for row in shown
    ]
