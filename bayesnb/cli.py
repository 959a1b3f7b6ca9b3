"""The command line. Data go to stdout, talk to stderr; 0 is done, 1 the job failed, 2 bad usage.

Whatever takes time to import is imported by the command that needs it, so that `--help` is quick.
"""

import argparse
import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bayesnb import __version__

EXAMPLES = """examples:
  bayesnb report                                    the penguins that ship with bayesnb
  bayesnb report customers.csv --target churned     your table, to report.html
  bayesnb report wine.tsv --target grade -o wine.html
  bayesnb data                                      the example tables
  bayesnb data penguins > penguins.csv
"""
PENGUINS_NOTE = (
    "The penguins ship with bayesnb (Horst, Hill and Gorman 2020, CC0). The column year says when a penguin was "
    "measured and is no measurement itself, so it was dropped."
)
ENDINGS = (".csv", ".tsv")


class UsageError(Exception):
    """The command cannot be meant as it stands."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = arguments()
    try:
        said = parser.parse_args(words)
    except SystemExit as stop:  # argparse has said why
        return int(stop.code or 0)
    said.command = shlex.join(["bayesnb", *words])
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            said.run(said)
        return 0
    except BrokenPipeError:  # whoever read us has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UsageError as error:
        _say(f"bayesnb: {error}")
        return 2
    except Exception as error:
        if said.debug:
            raise
        _say(f"bayesnb: {_readable(error)}")
        return 1


def arguments() -> argparse.ArgumentParser:
    """The parser of all commands."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser = argparse.ArgumentParser(
        prog="bayesnb",
        description="Bayesian naive Bayes from the command line.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"bayesnb {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_report(commands, shared)
    _add_data(commands, shared)
    return parser


def _add_report(commands: Any, shared: argparse.ArgumentParser) -> None:
    command = commands.add_parser(
        "report",
        parents=[shared],
        help="fit a table and write an HTML page about the model",
        description="Fit naive Bayes to a table and write one self-contained HTML page about it: held-out scores, "
        "what each column says about each class, and the rows that deserve a second look.",
        epilog="examples:\n  bayesnb report\n  bayesnb report customers.csv --target churned -o churn.html\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "table", metavar="TABLE", nargs="?", help="a CSV or TSV file; the example penguins if left out"
    )
    command.add_argument("--target", metavar="COLUMN", help="the column of labels (needed with TABLE)")
    command.add_argument(
        "-o", "--output", metavar="FILE", default="report.html", help="default: report.html; - is stdout"
    )
    command.set_defaults(run=run_report)


def _add_data(commands: Any, shared: argparse.ArgumentParser) -> None:
    command = commands.add_parser(
        "data",
        parents=[shared],
        help="list the example tables, or write one to stdout",
        description="List the tables that ship with bayesnb, or write one of them to stdout as CSV.",
        epilog="examples:\n  bayesnb data\n  bayesnb data penguins > penguins.csv\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("name", metavar="NAME", nargs="?", help="the table to write")
    command.set_defaults(run=run_data)


def run_report(said: argparse.Namespace) -> None:
    """Fit, write the page, say the score."""
    if said.table is not None and said.target is None:
        raise UsageError(f"report: which column of {said.table} holds the labels? Say --target COLUMN.")
    goal = None if said.output == "-" else _goal(said.output)
    facts = _facts(said)

    from bayesnb.report import render

    if goal is None:
        sys.stdout.write(render(facts))
        sys.stdout.flush()
    else:
        _write_whole(goal, render(facts))
    _say(_headline(facts))
    _say(f"Wrote {'the page to stdout' if goal is None else said.output}")


def _facts(said: argparse.Namespace) -> Any:
    """The model of the table, and what the page will say about it."""
    from datetime import date

    from bayesnb import NaiveBayes
    from bayesnb.datasets import penguins
    from bayesnb.report import About, gather
    from bayesnb.table import split_labels

    example = said.table is None
    frame, label = penguins() if example else _read(said.table), said.target or "species"
    X, y = split_labels(frame, label)
    drop = {"year": None} if example and label != "year" else {}
    about = About(
        label=label,
        source="the example table penguins" if example else Path(said.table).name,
        notes=(PENGUINS_NOTE,) if drop else (),
        command=said.command,
        date=f"{date.today():%d %B %Y}".lstrip("0"),
    )
    return gather(NaiveBayes(drop or "auto"), X, y, about=about)


def _headline(facts: Any) -> str:
    """The held-out scores in one line."""
    from bayesnb.evaluate.scores import accuracy, log_loss
    from bayesnb.report.words import points, share

    right, loss = accuracy(facts.left_out, facts.codes), log_loss(facts.left_out, facts.codes)
    seen = f"{len(facts.codes)} rows, {len(facts.classes)} classes"
    return f"Held out one row at a time: accuracy {share(right)}, log loss {points(loss)} ({seen})"


def run_data(said: argparse.Namespace) -> None:
    """List the examples, or write one."""
    from bayesnb import datasets

    if said.name is None:
        sys.stdout.writelines(f"{name}\t{about}\n" for name, about in datasets.EXAMPLES.items())
    elif said.name in datasets.EXAMPLES:
        sys.stdout.write(datasets.text(said.name))
    else:
        raise UsageError(f"data: there is no example {said.name!r}; there are {', '.join(datasets.EXAMPLES)}.")
    sys.stdout.flush()


def _read(table: str) -> Any:
    """The table in a file; an error names the file."""
    from bayesnb.table import read_file

    if not table.lower().endswith(ENDINGS):
        raise ValueError(f"{table}: only {' and '.join(ENDINGS)} files can be read for now.")
    try:
        return read_file(table)
    except ValueError as error:
        raise ValueError(f"{table}: {error}") from error


def _goal(output: str) -> Path:
    """Where the page goes, checked before the work."""
    goal = Path(output).absolute()
    if goal.is_dir():
        raise UsageError(f"report: {output} is a folder; give -o a file in it.")
    if not goal.parent.is_dir():
        raise UsageError(f"report: there is no folder {goal.parent} for {output}.")
    return goal


def _write_whole(goal: Path, text: str) -> None:
    """All of the text or no file: it appears under its name only when it is complete."""
    part = goal.with_name(f".{goal.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(goal)
    finally:
        part.unlink(missing_ok=True)


def _readable(error: Exception) -> str:
    """An error in one line."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    said = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return " ".join(said.split()) or type(error).__name__


def _show_warning(message: Any, *place: Any, **more: Any) -> None:
    _say(f"bayesnb: warning: {' '.join(str(message).split())}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
