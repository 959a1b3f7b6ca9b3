"""Runs the examples on the pages, README and `notebooks/*.md`: each page in an empty folder, as a
reader would.

    python -m tests.page_examples                  all pages; fails where an example prints
    something else
    python -m tests.page_examples --write families runs the pages whose names begin so, and stores
    what they print

The blocks of a page, ```python and ```sh, are run from top to bottom and share their variables and
files. What a block
prints is in the ```text block below it; a block without one prints nothing. Commands that install
or fetch something,
or run the tests, are not run.
"""

import argparse
import contextlib
import difflib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from bayesnb.cli import main as bayesnb

mpl.use("agg")  # without windows
ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "notebooks").glob("*.md"))]
BLOCK = re.compile(
    r"^```(python|sh)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", flags=re.DOTALL | re.MULTILINE
)
ELSEWHERE = (
    "pip ",
    "uv ",
    "git ",
    "cd ",
    "python -m ",
)  # commands that need a network, or the repository's folder


@dataclass(frozen=True)
class Example:
    """A block of code and what the page says that it prints."""

    language: str
    code: str
    printed: str

    @property
    def commands(self) -> list[str]:
        """The commands of a shell block, without comments."""
        joined = self.code.replace("\\\n", " ")
        lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in joined.splitlines())
        return [command.strip() for line in lines if line for command in line.split("&&")]

    @property
    def is_run(self) -> bool:
        return self.language == "python" or not any(
            command.startswith(ELSEWHERE) for command in self.commands
        )


def examples(text: str) -> list[Example]:
    """Return the examples of a page, in their order."""
    return [
        Example(language, code, printed or "") for language, code, printed in BLOCK.findall(text)
    ]


def outputs(text: str, name: str = "page") -> Iterator[tuple[Example, str]]:
    """Run a page in an empty folder; each example, with what it prints, which is as stated where it
    is not run.
    """
    variables: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for example in examples(text):
            if not example.is_run:
                yield example, example.printed
            elif example.language == "sh":
                yield example, "".join(map(shell, example.commands))
            else:
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(compile(example.code, name, "exec"), variables)
                yield example, out.getvalue()
    plt.close("all")


def shell(command: str) -> str:
    """Run a command, ours in this process; what a terminal shows of it, messages and results."""
    if not command.startswith("bayesnb ") or {*command} & set("|<>"):
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        done = subprocess.run(
            command, shell=True, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        code = done.returncode
        shown = done.stderr + done.stdout
    else:
        file = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
            code = bayesnb(shlex.split(command)[1:])
        file.flush()
        shown = file.buffer.getvalue().decode()  # type: ignore[attr-defined]
    if code:
        raise RuntimeError(f"{command}: exit code {code}\n{shown}")
    return shown


def differences(text: str, name: str = "page") -> list[str]:
    """Where the examples of a page print something else than the page says, each as a diff."""
    return [
        "\n".join(
            [
                f"{name}: {example.code}",
                *difflib.unified_diff(shown, now, "page", "now", lineterm=""),
            ]
        )
        for example, printed in outputs(text, name)
        if (shown := example.printed.splitlines()) != (now := printed.splitlines())
    ]


def rewritten(text: str, name: str = "page") -> str:
    """The page with what its examples print now."""
    now = (printed for _, printed in outputs(text, name))

    def block(match: re.Match[str]) -> str:
        language, code, _ = match.groups()
        printed = next(now).removesuffix("\n")
        return f"```{language}\n{code}```" + (f"\n\n```text\n{printed}\n```" if printed else "")

    return BLOCK.sub(block, text)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the pages named, or all; 0 if they print what they say."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.page_examples", description="Run the pages' examples."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="how a page's name begins; all if left out"
    )
    parser.add_argument(
        "--write", action="store_true", help="store what is printed, instead of comparing it"
    )
    wanted = parser.parse_args(argv)
    problems = []
    for page in PAGES:
        if page.name.startswith((*wanted.names,) or ""):
            text = page.read_text(encoding="utf-8")
            if wanted.write:
                page.write_text(rewritten(text, page.name), encoding="utf-8", newline="\n")
            else:
                problems += differences(text, page.name)
    for problem in problems:
        print(problem, file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
