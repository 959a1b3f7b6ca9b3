"""README's Python blocks run, and print what README says they print."""

import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.benchmarks.page import contests, settings, sureness, trust
from tests.benchmarks.records import Results

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize(("code", "printed"), BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_of_the_readme_prints_what_it_says(code: str, printed: str) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {})
    assert out.getvalue() == printed


def test_every_python_block_of_the_readme_is_run() -> None:
    assert len(BLOCKS) == README.count("```python") >= 5


def test_the_readme_gives_the_two_commands() -> None:
    assert "pip install uv && uv run bayesnb report" in README
    assert "uv run pytest" in README


@pytest.mark.parametrize(
    ("name", "table"), [("full", contests), ("intervals", sureness), ("calibrated", trust), ("settings", settings)]
)
def test_the_readme_has_the_table_that_the_benchmark_wrote(name: str, table: Callable[[Results], str]) -> None:
    results = Results.from_json((ROOT / "tests" / "benchmarks" / f"{name}.json").read_text())
    assert table(results) in README
