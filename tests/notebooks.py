"""Runs the notebooks: `python -m tests.notebooks` executes each in a fresh kernel and compares what it says.

    python -m tests.notebooks                   all of them; fails on an error, and where a text output is not as stored
    python -m tests.notebooks --write 2-spam    executes those whose names begin so, and stores their outputs

Answers to exercises, ```python blocks with the ```text that they print, are run after the last cell, and compared or
stored as outputs are.

Notebooks are run as copies in an empty folder, with no configuration but the pictures' resolution. Pictures are not
compared: fonts differ from machine to machine. What a cell prints has to be rounded to digits that do not. Notebooks
that are compared run side by side, one on each core; those that are stored run one by one, for one draws times.
"""

import argparse
import base64
import difflib
import io
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from PIL import Image

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "notebooks"
SECONDS = 900  # a cell's, at most
COLOURS = 32  # of a stored picture: a third of the bytes, and hardly a difference to the eye
CONFIG = """
c = get_config()
c.InlineBackend.figure_formats = {"retina"}
c.HistoryManager.enabled = False
c.InteractiveShell.colors = "nocolor"
c.IPKernelApp.log_level = "ERROR"
"""
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
SHOWN = ("text/plain", "text/html", "text/markdown", "image/png", "image/svg+xml")
WARNED = re.compile(r"^\S*:\d+: (\w*Warning: .*)\n(?:  .*\n)?", flags=re.MULTILINE)
STYLE = re.compile(r"<style scoped>.*?</style>\s*", flags=re.DOTALL)  # of each table of pandas, the same
XARRAY = re.compile(r"<details>(?:(?!</details>).)*xr-wrap.*?</details>\s*", flags=re.DOTALL)  # folded below our tables
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
ANSWER = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", flags=re.DOTALL)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the notebooks named, or all; 0 if they do what they did before."""
    parser = argparse.ArgumentParser(prog="python -m tests.notebooks", description="Run the notebooks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="how a notebook's name begins; all if left out")
    parser.add_argument("--write", action="store_true", help="store the outputs, instead of comparing them")
    wanted = parser.parse_args(argv)
    paths = [path for path in sorted(FOLDER.glob("*.ipynb")) if path.name.startswith((*wanted.names,) or "")]
    if not paths:
        parser.error(
            f"no notebook in {FOLDER.name}/ has a name that begins with {' or '.join(wanted.names) or 'anything'}"
        )
    with ThreadPoolExecutor(
        1 if wanted.write else os.cpu_count()
    ) as threads:  # the last ones, which take longest, first
        found = [*threads.map(partial(run, write=wanted.write), reversed(paths))]
    problems = [problem for told in reversed(found) for problem in told]
    for problem in problems:
        print(problem, file=sys.stderr)
    return int(bool(problems))


def run(path: Path, *, write: bool) -> list[str]:
    """Execute one notebook, then store it or compare it; what went wrong."""
    start, stored = time.perf_counter(), nbformat.read(path, as_version=4)
    try:
        fresh = tidy(execute(stored))
    except CellExecutionError as error:
        return [f"{path.name}: {error}"]
    print(f"{path.name}: {time.perf_counter() - start:.0f} s", flush=True)
    if write:
        path.write_text(nbformat.writes(fresh) + "\n", encoding="utf-8", newline="\n")
        return []
    return [f"{path.name}: {difference}" for difference in differences(stored, fresh)]


def execute(notebook: Any) -> Any:
    """A copy of the notebook: its cells, then its answers, run in order by a new kernel that sees this bayesnb."""
    copy = nbformat.from_dict(notebook)
    copy.metadata = nbformat.from_dict(METADATA)
    length, answers = len(copy.cells), [code for cell in copy.cells for code, _ in ANSWER.findall(markdown(cell))]
    copy.cells += [nbformat.v4.new_code_cell(code) for code in answers]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        profile = Path(home) / "profile_default"
        profile.mkdir()
        (profile / "ipython_config.py").write_text(CONFIG)
        env = {"OPENBLAS_NUM_THREADS": "1", **os.environ, "IPYTHONDIR": home, "PYTHONPATH": str(ROOT)}
        client = NotebookClient(copy, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}})
        client.execute(env=env)
    printed = iter(["".join(output.get("text", "") for output in cell.outputs) for cell in copy.cells[length:]])
    copy.cells = copy.cells[:length]
    for cell in copy.cells:
        if markdown(cell):
            cell.source = ANSWER.sub(
                lambda answer: f"```python\n{answer[1]}```\n\n```text\n{next(printed)}```", cell.source
            )
    return copy


def markdown(cell: Any) -> str:
    """Return the source of a cell of text, and nothing of a cell of code."""
    return cell.source if cell.cell_type == "markdown" else ""


def tidy(notebook: Any) -> Any:
    """The notebook without what changes from run to run: times, identifiers, paths in warnings, addresses."""
    cells = [_cell(place, cell) for place, cell in enumerate(notebook.cells, start=1)]
    return nbformat.from_dict({"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5})


def _cell(place: int, cell: Any) -> dict[str, Any]:
    kept = {"cell_type": cell.cell_type, "id": f"{place}", "metadata": {}, "source": cell.source.strip()}
    if cell.cell_type == "code":
        kept |= {"execution_count": cell.execution_count, "outputs": [*_outputs(cell.outputs)]}
    return kept


def _outputs(outputs: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """What a cell shows: neighbouring pieces of one stream are one, pictures small, nothing that is not shown."""
    kept: list[dict[str, Any]] = []
    for output in outputs:
        output = dict(output)
        if output["output_type"] == "stream":
            if kept and kept[-1].get("name") == output["name"]:
                output["text"] = kept.pop()["text"] + output["text"]
            output["text"] = ADDRESS.sub("", WARNED.sub(r"\1\n", output["text"]))
        elif "data" in output:
            output["data"] = _shown(output["data"])
        kept.append(output)
    yield from kept


def _shown(data: dict[str, str]) -> dict[str, str]:
    """A result's forms that a reader may see; HTML with identifiers made up anew, such as xarray's, is left to text."""
    kept = {form: XARRAY.sub("", STYLE.sub("", text)) for form, text in data.items() if form in SHOWN}
    if "xr-wrap" in kept.get("text/html", ""):
        del kept["text/html"]
    if "image/png" in kept:
        kept["image/png"] = _small(kept["image/png"])
    return kept | {"text/plain": ADDRESS.sub("", kept.get("text/plain", ""))}


def _small(png: str) -> str:
    """A picture in few colours, in base64."""
    out = io.BytesIO()
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    picture.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(out, "png", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


def differences(stored: Any, fresh: Any) -> list[str]:
    """Where the cells of two runs say something else, each as a diff."""
    found = []
    for place, (old, new) in enumerate(zip(stored.cells, fresh.cells, strict=True), start=1):
        if lines := [*difflib.unified_diff(said(old), said(new), "stored", "now", lineterm="")]:
            found.append("\n".join([f"cell {place} says something else", *lines]))
    return found


def said(cell: Any) -> list[str]:
    """All that a cell says, line by line; of a picture, that there is one."""
    lines = markdown(cell).splitlines()
    for output in cell.get("outputs", ()):
        forms = output.get("data", {})
        lines += [f"({form})" for form in sorted(forms)]
        lines += (output.get("text") or forms.get("text/plain") or output.get("evalue", "")).splitlines()
    return lines


if __name__ == "__main__":
    sys.exit(main())
