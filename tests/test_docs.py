"""README's blocks run, in Python and in a shell, and print what README says they print."""

import contextlib
import io
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bayesnb.cli import main
from bayesnb.cli.command_line import parse
from tests.benchmarks.contest import ContestResults
from tests.benchmarks.contest_page import markdown as contest_markdown
from tests.benchmarks.contest_page import summary
from tests.benchmarks.page import contests, scalings, settings, sureness, trust
from tests.benchmarks.records import Results

ROOT = Path(__file__).parent.parent
BENCHMARKS = ROOT / "tests" / "benchmarks"
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, flags=re.DOTALL)

SHELL = re.findall(r"```sh\n([^`]*)```\n\n```text\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = [
    command.split("#")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    for line in block.splitlines()
    for command in line.split("&&")
]


@pytest.mark.parametrize(("code", "printed"), BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_of_the_readme_prints_what_it_says(code: str, printed: str) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {})
    assert out.getvalue() == printed


def test_every_python_block_of_the_readme_is_run() -> None:
    assert len(BLOCKS) == README.count("```python") >= 5


@pytest.mark.parametrize(("block", "printed"), SHELL, ids=range(len(SHELL)))
def test_commands_of_the_readme_print_what_it_says(
    block: str, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    said = ""
    for line in block.splitlines():
        name, *words = shlex.split(line)
        code = main(words) if name == "bayesnb" else subprocess.run([name, *words], check=False).returncode
        out, talk = capfd.readouterr()
        said += talk + out
        assert code == 0, said
    assert said == printed


def test_every_command_of_the_readme_is_understood() -> None:
    ours = [shlex.split(command.removeprefix("uv run "))[1:] for command in COMMANDS if "bayesnb " in command]
    assert {words[0] for words in ours} == {"data", "fit", "predict", "compare", "report"}
    for words in ours:
        parse(words)  # exits where it does not understand


def test_the_readme_gives_the_two_commands() -> None:
    assert "pip install uv && uv run bayesnb report" in README
    assert "uv run pytest" in README


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
    assert summary(results) in README
    assert contest_markdown(results) in (BENCHMARKS / "README.md").read_text()


def test_the_readme_quotes_the_times_that_were_measured() -> None:
    of = {timing.operation: timing for timing in measured("full").timings if timing.workload == "G1"}
    ours, theirs = (
        [round(1e3 * getattr(of[name], side)) for name in ("fit", "predict")] for side in ("ours", "theirs")
    )
    said = f"in {ours[0]} ms (scikit-learn: {theirs[0]:,}) and predicted in {ours[1]} ({theirs[1]:,})"
    assert said in " ".join(README.split())


@pytest.mark.parametrize("page", [ROOT / "README.md", BENCHMARKS / "README.md"], ids=["front", "benchmarks"])
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    assert links
    for link in links:
        place, _, anchor = link.partition("#")
        goal = page.parent / place if place else page
        assert goal.exists(), link
        assert not anchor or anchor in anchors(goal.read_text()), link


def anchors(text: str) -> set[str]:
    """The headings of a page, as a link names them."""
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def measured(name: str) -> Results:
    return Results.from_json((BENCHMARKS / f"{name}.json").read_text())
