"""Builds the documentation site and checks it: `uv run --group docs python -m tests.site`, into build/site.

    python -m tests.site [FOLDER]           builds, without a network and without a warning, then checks
    python -m tests.site --check FOLDER     checks what was built
    python -m tests.site --browser          looks at it in Chromium, too

Checked are links and the places in pages that they lead to; that no page loads anything from elsewhere; that every
public name has a page; and that the search knows words of the reference. In Chromium pages are wide and narrow, light
and dark: nothing is wider than the window, no script complains, and the search finds pages.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

from tests.browser import Tab, chromium

ROOT = Path(__file__).parent.parent
SOURCE, GOAL = ROOT / "notebooks", ROOT / "build" / "site"
LOADED = {"script": "src", "img": "src", "source": "src", "iframe": "src"}  # what a browser fetches to show a page
SHEETS = {"stylesheet", "preload", "modulepreload", "icon", "shortcut icon"}  # links that a browser fetches, too
PHONE, DESKTOP = 390, 1280
SEEN = (
    "index",
    "start-with-a-csv-file",
    "families",
    "generated/bayesnb.NaiveBayes",
    "gallery",
    "benchmarks",
    "reference",
)
RESULTS = """
(async () => {
  for (let tries = 0; tries < 100 && !document.querySelector("#search-results li a"); tries++)
    await new Promise((resolve) => setTimeout(resolve, 100));
  return document.querySelectorAll("#search-results li a").length;
})()
"""
WORDS = ("rows", "method", "predict_interval", "smoothing", "exponents", "abstain")


@dataclass
class Links(HTMLParser):
    """The places in a page, where its links lead, and what it loads."""

    places: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in LOADED and LOADED[tag] in values:
            self.loaded.append(values[LOADED[tag]])
        if tag == "link" and values.get("rel") in SHEETS:
            self.loaded.append(values["href"])


def pages(folder: Path) -> dict[Path, Links]:
    """Read every page of a site; those of the theme are templates."""
    read = {}
    for path in sorted(path for path in folder.rglob("*.html") if "_static" not in path.parts):
        read[path.resolve()] = links = Links()
        links.feed(path.read_text(encoding="utf-8"))
    return read


def broken(folder: Path) -> Iterator[str]:
    """Links of pages that lead nowhere, and what pages load that is not there or not here."""
    read = pages(folder)
    for page, of in read.items():
        name = page.relative_to(folder.resolve())
        for link in of.loaded:
            if urlsplit(link).scheme not in ("", "data") or link.startswith("//"):
                yield f"{name}: loads {link} from elsewhere"
        for link in (*of.links, *of.loaded):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            goal = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not goal.is_file():
                yield f"{name}: {link} leads nowhere"
            elif parts.fragment and goal in read and unquote(parts.fragment) not in read[goal].places:
                yield f"{name}: there is no {parts.fragment} where {link} leads"


def unexplained(folder: Path, names: Iterable[str]) -> Iterator[str]:
    """Public names without a page of the reference on which they are defined."""
    for name in names:
        page = folder / "generated" / f"{name}.html"
        if not page.is_file():
            yield f"{name} has no page in the reference"
        elif f'id="{name}"' not in page.read_text(encoding="utf-8"):
            yield f"the page of {name} does not describe it"


def unsearchable(folder: Path, words: Iterable[str]) -> Iterator[str]:
    """Words that the search does not find."""
    from sphinx.search.en import SearchEnglish

    text = (folder / "searchindex.js").read_text(encoding="utf-8")
    terms = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))["terms"]
    language = SearchEnglish({})
    for word in words:
        if language.stem(word.lower()) not in terms:
            yield f"the search does not find {word!r}"


def public_names() -> list[str]:
    """All that users may import, and the methods of estimators, by full name."""
    import bayesnb
    from bayesnb import mcmc, scale

    rooms = {"bayesnb": bayesnb, "bayesnb.mcmc": mcmc, "bayesnb.scale": scale}
    names = [f"{room}.{name}" for room, module in rooms.items() for name in module.__all__]
    examples = [f"bayesnb.datasets.{name}" for name in ("penguins", "dogs", "spam")]
    return [*names, *examples, "bayesnb.report.report"]


def methods() -> list[str]:
    """The methods of estimators that are described on the page of `NaiveBayes`."""
    import bayesnb

    inherited = ("get_params", "set_params", "get_metadata_routing")
    names = (name for name in dir(bayesnb.NaiveBayes) if not name.startswith(("_", "set_")) and name not in inherited)
    return [name for name in names if callable(getattr(bayesnb.NaiveBayes, name))]


def undescribed(folder: Path, names: Iterable[str]) -> Iterator[str]:
    """Methods that are not on the page of `NaiveBayes`."""
    page = (folder / "generated" / "bayesnb.NaiveBayes.html").read_text(encoding="utf-8")
    for name in names:
        if f'id="bayesnb.NaiveBayes.{name}"' not in page:
            yield f"the page of NaiveBayes does not describe {name}"


def unsightly(folder: Path) -> Iterator[str]:
    """What is wrong with pages in a browser, as a server on this machine gives them."""
    with served(folder) as address, chromium() as browser:
        for width, theme in product((PHONE, DESKTOP), ("light", "dark")):
            with Tab(browser, width, theme) as tab:
                for name in SEEN:
                    tab.visit(f"{address}/{name}.html")
                    where = f"{name}, {width} px, {theme}"
                    if (wide := tab.ask("document.documentElement.scrollWidth")) > width:
                        yield f"{where}: {wide} px wide"
                    errors = (text for text in tab.complaints() if "exceptionDetails" in text)  # the theme logs much
                    yield from (f"{where}: {error}" for error in errors)
                    yield from (f"{where}: loads {url}" for url in tab.requests() if not url.startswith(address))
        with Tab(browser) as tab:
            for word in WORDS:
                tab.visit(f"{address}/search.html?q={word}")
                if not tab.ask(RESULTS):
                    yield f"the search shows no page for {word!r}"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address at which a folder is served."""
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def build(goal: Path) -> int:
    """Build the site anew; Sphinx's exit code, not 0 after a warning."""
    shutil.rmtree(goal, ignore_errors=True)
    return subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-E", "-W", "--keep-going", "-b", "html", str(SOURCE), str(goal)],
        check=False,
    ).returncode


def problems(folder: Path) -> list[str]:
    """All that is wrong with a site."""
    checks = (broken(folder), unexplained(folder, public_names()), undescribed(folder, methods()))
    return [problem for check in (*checks, unsearchable(folder, WORDS)) for problem in check]


def main(argv: Sequence[str] | None = None) -> int:
    """Build and check; 0 if nothing is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.site", description="Build the documentation and check it.")
    parser.add_argument("folder", nargs="?", type=Path, default=GOAL, help="default: build/site")
    parser.add_argument("--check", action="store_true", help="check what was built before")
    parser.add_argument("--browser", action="store_true", help="look at it in Chromium, too")
    asked = parser.parse_args(argv)
    if not asked.check and build(asked.folder):
        return 1
    wrong = problems(asked.folder) + ([*unsightly(asked.folder)] if asked.browser else [])
    for problem in wrong:
        print(problem, file=sys.stderr)
    print(f"{len(pages(asked.folder))} pages in {asked.folder}, {len(wrong)} problems")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
