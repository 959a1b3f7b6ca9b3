"""The documentation's pages: their examples print what they say, links lead somewhere, and figures were measured."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from bayesnb.cli.command_line import parse
from tests import page_examples
from tests.benchmarks.contest import ContestResults
from tests.benchmarks.contest_page import markdown as contest_markdown
from tests.benchmarks.contest_page import summary
from tests.benchmarks.page import contests, scalings, settings, sureness, trust
from tests.benchmarks.records import Results
from tests.page_examples import PAGES, examples

ROOT = Path(__file__).parent.parent
NOTEBOOKS = ROOT / "notebooks"
BENCHMARKS = ROOT / "tests" / "benchmarks"
README = (ROOT / "README.md").read_text()
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
STARTS = ("start-with-a-csv-file.md", "start-with-scikit-learn.md", "start-with-arviz.md")  # three first ten minutes
LANGUAGES = {"", "python", "sh", "text", "bibtex"}
SLOW = "bayesnb report"  # a page in full takes seconds
RUN = [name for name, text in TEXTS.items() if any(example.is_run for example in examples(text))]


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if SLOW in TEXTS[n] else ()) for n in RUN])
def test_the_examples_of_a_page_print_what_it_says(name: str) -> None:
    assert page_examples.differences(TEXTS[name], name) == []


def test_every_block_of_code_is_an_example_that_is_run() -> None:
    assert {*STARTS, "README.md", "families.md", "command-line.md"} <= {*RUN}
    for name, text in TEXTS.items():
        fences = re.findall(r"^```+(.*)$", text, flags=re.MULTILINE)
        assert {fence for fence in fences if not fence.startswith("{")} <= LANGUAGES, name
        assert len(examples(text)) == sum(fence in ("python", "sh") for fence in fences), name
        assert all(example.is_run for example in examples(text) if example.language == "python"), name


@pytest.mark.parametrize("path", re.findall(r"tests/test_\w+\.py", TEXTS["correctness.md"]))
def test_the_tests_that_are_named_exist(path: str) -> None:
    assert (ROOT / path).is_file()


def test_a_page_that_says_something_else_is_noticed(tmp_path: Path) -> None:
    page = "```python\nx = 1\nprint(x)\n```\n\n```text\n2\n```\n\n```sh\necho one  # and two\n```\n"
    first, second = page_examples.differences(page)
    assert "-2\n+1" in first
    assert "+one" in second
    mended = page_examples.rewritten(page)
    assert page_examples.differences(mended) == []
    assert mended.endswith("```sh\necho one  # and two\n```\n\n```text\none\n```\n")
    with pytest.raises(RuntimeError, match="exit code 1"):
        page_examples.differences("```sh\nfalse\n```\n")


def test_what_installs_or_fetches_something_is_not_run() -> None:
    install, both = examples("```sh\npip install . && bayesnb report\n```\n\n```sh\nbayesnb data && head x\n```\n")
    assert not install.is_run
    assert both.commands == ["bayesnb data", "head x"]
    assert both.is_run


def test_every_command_of_the_pages_is_understood() -> None:
    commands = [command for text in TEXTS.values() for each in examples(text) for command in each.commands]
    ours = [shlex.split(command.removeprefix("uv run "))[1:] for command in commands if "bayesnb " in command]
    ours = [words for words in ours if words and words[0] in ("data", "fit", "predict", "compare", "report")]
    assert {words[0] for words in ours} == {"data", "fit", "predict", "compare", "report"}
    for words in ours:
        parse(words)  # exits where it does not understand


def test_the_readme_gives_the_two_commands_and_says_that_there_is_no_index() -> None:
    assert "pip install uv && uv run bayesnb report" in README
    assert "uv run pytest" in README
    assert "not on a package index yet" in README
    assert len(README.encode()) < 9_000


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("full", contests),
        ("smaller", contests),
        ("intervals", sureness),
        ("calibrated", trust),
        ("settings", settings),
        ("scaling", scalings),
    ],
)
def test_the_benchmarks_page_has_the_table_that_was_measured(name: str, table: Callable[[Results], str]) -> None:
    assert table(measured(name)) in (BENCHMARKS / "README.md").read_text()


def test_the_pages_have_the_contest_that_was_measured() -> None:
    results = ContestResults.from_json((BENCHMARKS / "contest.json").read_text())
    assert summary(results) in TEXTS["contest.md"]
    assert contest_markdown(results) in (BENCHMARKS / "README.md").read_text()


@pytest.mark.parametrize("name", ["README.md", "speed.md"])
def test_the_pages_quote_the_times_that_were_measured(name: str) -> None:
    of = {timing.operation: timing for timing in measured("full").timings if timing.workload == "G1"}
    ours, theirs = (
        [round(1e3 * getattr(of[operation], side)) for operation in ("fit", "predict")] for side in ("ours", "theirs")
    )
    quoted = f"in {ours[0]} ms (scikit-learn: {theirs[0]:,}) and predicted in {ours[1]} ({theirs[1]:,})"
    assert quoted in " ".join(TEXTS[name].split())


@pytest.mark.parametrize("page", [*PAGES, BENCHMARKS / "README.md"], ids=lambda page: f"{page.parent.name}/{page.name}")
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        place, _, anchor = link.partition("#")
        goal = page.parent / place if place else page
        assert link.startswith("https://") or goal.exists(), link
        assert not anchor or anchor in anchors(whole(goal)), link


def whole(page: Path) -> str:
    """A page with those that it includes."""
    text = page.read_text(encoding="utf-8")
    included = re.findall(r"^```\{include\} (\.\./\S+)$", text, flags=re.MULTILINE)
    return "\n".join([text, *((page.parent / name).read_text(encoding="utf-8") for name in included)])


def anchors(text: str) -> set[str]:
    """The headings of a page, as a link names them."""
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def measured(name: str) -> Results:
    return Results.from_json((BENCHMARKS / f"{name}.json").read_text())
