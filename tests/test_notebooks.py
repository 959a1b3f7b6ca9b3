"""The notebooks are stored as they were run, and what runs them notices what changed."""

import ast
import base64
import importlib
import io
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from PIL import Image

from tests import notebooks

PATHS = sorted(notebooks.FOLDER.glob("*.ipynb"))
KILOBYTES, LINES, PLOT_LINES = 250, 25, 22
BANNED = {"own", "its", "said", "found", "odd", "some", "told", "thing", "doubt", "law", "die", "coin"}
UNIDIOMATIC = re.compile(
    r"\blaws?\b|(?<!there )\bis no [a-z]|\bdoubt|\bsay so\b|\bto be believed\b|\bis of no\b", flags=re.IGNORECASE
)
PLACES = re.compile(r"(?<![\w.])/(?:home|work|tmp|root|Users|usr|opt|mnt|var)/|[A-Z]:\\\\|localhost|127\.0\.0\.1")

every = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def cells(path: Path, kind: str = "code") -> list[Any]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == kind]


def outputs(path: Path) -> list[Any]:
    return [output for cell in cells(path) for output in cell.outputs]


def made(*sources: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


def printed(text: str) -> Any:
    cell = nbformat.v4.new_code_cell("", outputs=[nbformat.v4.new_output("stream", name="stdout", text=text)])
    return nbformat.v4.new_notebook(cells=[cell])


@every
def test_a_notebook_is_valid_and_is_stored_as_its_runner_leaves_it(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata == notebooks.METADATA
    assert all(cell.metadata == {} for cell in notebook.cells)
    assert [cell.id for cell in notebook.cells] == [str(place) for place in range(1, len(notebook.cells) + 1)]


@every
def test_a_notebook_was_executed_from_top_to_bottom(path: Path) -> None:
    assert [cell.execution_count for cell in cells(path)] == [*range(1, len(cells(path)) + 1)]


@every
def test_a_notebook_shows_results_and_pictures_and_no_error(path: Path) -> None:
    kinds = {output.output_type for output in outputs(path)}
    assert kinds & {"execute_result", "stream"}
    assert "error" not in kinds
    assert any("image/png" in output.get("data", {}) for output in outputs(path))


@every
def test_a_notebook_opens_with_one_title_and_has_no_other(path: Path) -> None:
    titles = [cell.source for cell in cells(path, "markdown") if cell.source.startswith("# ")]
    assert titles == [nbformat.read(path, as_version=4).cells[0].source]


@every
def test_a_notebook_tells_more_than_it_computes(path: Path) -> None:
    assert len(cells(path, "markdown")) >= len(cells(path)) / 2
    assert max(len(cell.source.splitlines()) for cell in cells(path)) < LINES


@every
def test_a_notebook_is_small_and_names_no_place_on_a_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < KILOBYTES * 1000
    assert not PLACES.findall(re.sub(r'"image/png": "[^"]*"', "", text))


def test_notebooks_are_numbered_from_one() -> None:
    assert [int(path.name.split("-")[0]) for path in PATHS] == [*range(1, 10)]


@every
def test_a_notebook_opens_with_what_a_reader_will_be_able_to_do(path: Path) -> None:
    opening = cells(path, "markdown")[0].source
    assert len(re.findall(r"^- ", opening.partition("**What you will be able to do**")[2], flags=re.MULTILINE)) >= 3


@every
def test_a_notebook_ends_with_exercises_whose_answers_are_folded_and_with_links_to_its_neighbours(path: Path) -> None:
    exercises = nbformat.read(path, as_version=4).cells[-1].source
    questions = re.findall(r"^\d\. ", exercises, flags=re.MULTILINE)
    assert exercises.startswith("## Exercises")
    assert 2 <= len(questions) <= 4
    assert (
        len(questions) == exercises.count("<details><summary>Answer</summary>\n\n") == exercises.count("\n\n</details>")
    )
    place = PATHS.index(path)
    neighbours = [other.name for other in PATHS[max(place - 1, 0) : place] + PATHS[place + 1 : place + 2]]
    assert re.findall(r"\]\(([^)]+)\)", exercises.partition("\n---\n")[2]) == neighbours


@every
def test_every_answer_in_code_was_run(path: Path) -> None:
    exercises = nbformat.read(path, as_version=4).cells[-1].source
    answers = notebooks.ANSWER.findall(exercises)
    assert len(answers) == exercises.count("```python")
    assert all(printed.strip() for _, printed in answers)


@every
def test_links_between_notebooks_lead_somewhere(path: Path) -> None:
    for cell in cells(path, "markdown"):
        for link in re.findall(r"\]\(([^)#:]+)\)", cell.source):
            assert (path.parent / link).exists(), link


@every
def test_a_notebook_uses_public_names_only(path: Path) -> None:
    for cell in cells(path):
        for node in ast.walk(parsed(cell.source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bayesnb"):
                module = importlib.import_module(node.module or "")
                public = getattr(module, "__all__", [name for name in dir(module) if not name.startswith("_")])
                assert all(alias.name in public or alias.name in ("scale", "mcmc") for alias in node.names), cell.source
            assert not (isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr)), cell.source


@every
def test_no_name_in_a_notebook_is_a_word_that_names_nothing(path: Path) -> None:
    used = {
        name
        for cell in cells(path)
        for node in ast.walk(parsed(cell.source))
        for name in [getattr(node, "id", None) or getattr(node, "arg", None) or getattr(node, "name", None)]
        if isinstance(name, str) and BANNED & {*name.lower().split("_")}
    }
    assert not used


@every
def test_no_sentence_of_a_notebook_is_unidiomatic(path: Path) -> None:
    assert not [match[0] for cell in cells(path, "markdown") for match in UNIDIOMATIC.finditer(cell.source)]


@every
def test_cells_that_plot_are_short(path: Path) -> None:
    drawn = re.compile(r"\b(plt|ax|axes|upper|left)\.[a-z_]+\(")
    plotting = [cell.source for cell in cells(path) if drawn.search(cell.source.replace("plt.rcParams.update(", ""))]
    assert all(len(source.splitlines()) <= PLOT_LINES for source in plotting)


def parsed(source: str) -> ast.Module:
    """A cell's code, without the lines that are for IPython."""
    return ast.parse(re.sub(r"^[%!].*$", "", source, flags=re.MULTILINE))


def test_answers_to_exercises_are_run_after_the_last_cell_and_their_output_is_compared() -> None:
    text = "```python\nprint(x)\n```\n\n```text\nold\n```"
    notebook = made("x = 7")
    notebook.cells.append(nbformat.v4.new_markdown_cell(text))
    fresh = notebooks.execute(notebook)
    assert fresh.cells[-1].source == text.replace("old", "7")
    assert len(fresh.cells) == 2
    (difference,) = notebooks.differences(notebook, fresh)
    assert "-old\n+7" in difference


def test_a_notebook_that_says_the_same_again_has_no_difference() -> None:
    assert notebooks.differences(printed("one\n"), printed("one\n")) == []


def test_a_notebook_that_says_something_else_is_told_with_the_cell_and_both_texts() -> None:
    (told,) = notebooks.differences(printed("one\ntwo\n"), printed("one\n2\n"))
    assert told.startswith("cell 1 says something else")
    assert {"-two", "+2"} <= set(told.splitlines())


def test_tidying_keeps_neither_places_nor_addresses_and_joins_a_stream() -> None:
    warned = "/place/of/file.py:3: UserWarning: few rows\n  warn('few rows')\nnext\n"
    pieces = [{"name": "stderr", "text": warned}, {"name": "stdout", "text": "<a at 0x7f12>"}]
    cell = nbformat.v4.new_code_cell(
        "x",
        execution_count=1,
        metadata={"execution": {"started": "now"}},
        outputs=[nbformat.v4.new_output("stream", **piece) for piece in [*pieces, {"name": "stdout", "text": "\nb\n"}]],
    )
    (tidied,) = notebooks.tidy(nbformat.v4.new_notebook(cells=[cell])).cells
    assert [output.text for output in tidied.outputs] == ["UserWarning: few rows\nnext\n", "<a>\nb\n"]
    assert tidied.metadata == {}


def test_tidying_keeps_a_table_and_drops_the_box_of_xarray_below_it() -> None:
    html = "<div><table>cells</table><details><div class='xr-wrap'>made up anew</div></details>\n</div>"
    data = {"text/html": html, "text/plain": "cells"}
    cell = nbformat.v4.new_code_cell("x", outputs=[nbformat.v4.new_output("display_data", data=data)])
    (tidied,) = notebooks.tidy(nbformat.v4.new_notebook(cells=[cell])).cells
    assert tidied.outputs[0].data["text/html"] == "<div><table>cells</table></div>"


def test_tidying_makes_pictures_smaller_and_keeps_their_look() -> None:
    shades = Image.linear_gradient("L").resize((400, 400)).convert("RGB")
    out = io.BytesIO()
    shades.save(out, "png")
    stored = base64.b64encode(out.getvalue()).decode()
    cell = nbformat.v4.new_code_cell("x", outputs=[nbformat.v4.new_output("display_data", data={"image/png": stored})])
    (tidied,) = notebooks.tidy(nbformat.v4.new_notebook(cells=[cell])).cells
    small = base64.b64decode(tidied.outputs[0].data["image/png"])
    again = Image.open(io.BytesIO(small)).convert("RGB")
    assert len(small) < len(out.getvalue())
    gaps = [abs(a - b) for a, b in zip(again.tobytes(), shades.tobytes(), strict=True)]
    assert max(gaps) <= 256 / notebooks.COLOURS * 2  # a palette of 128 for 256 shades


@pytest.mark.slow  # two kernels
def test_running_a_notebook_stores_what_it_says_and_then_finds_it_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "1-sum.ipynb"
    nbformat.write(made("import bayesnb\nprint(1 + 1)", "2 + 2"), path)
    assert notebooks.run(path, write=True) == []
    assert [notebooks.said(cell) for cell in cells(path)] == [["2"], ["(text/plain)", "4"]]
    path.write_text(path.read_text().replace("1 + 1", "1 + 2"))
    (told,) = notebooks.run(path, write=False)
    assert "-2\n+3" in told


@pytest.mark.slow  # a kernel
def test_a_notebook_that_fails_is_told_with_its_error_and_is_not_stored(tmp_path: Path) -> None:
    path = tmp_path / "1-broken.ipynb"
    nbformat.write(made("{}['no such key']"), path)
    before = path.read_text()
    (told,) = notebooks.run(path, write=True)
    assert path.name in told
    assert "KeyError" in told
    assert path.read_text() == before


def test_a_notebook_that_is_not_there_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        notebooks.main(["no-such-notebook"])
    assert stop.value.code == 2
    assert "no-such-notebook" in capsys.readouterr().err
