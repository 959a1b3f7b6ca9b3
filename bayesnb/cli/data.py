"""`bayesnb data`: the example tables."""

import argparse
from typing import Any

from bayesnb.cli.options import new_command
from bayesnb.cli.output import check_goal, whole, write_text
from bayesnb.cli.problems import UsageError

EXAMPLES = """\
  bayesnb data
  bayesnb data penguins > penguins.csv
  bayesnb data penguins -o penguins.parquet"""


def add(commands: Any) -> None:
    """The command and its options."""
    command = new_command(
        commands,
        "data",
        EXAMPLES,
        help="list the example tables, or write one",
        description="List the tables that ship with bayesnb, or write one of them: as CSV to stdout, or to a file in "
        "the format that its name says.",
    )
    command.add_argument("example", metavar="NAME", nargs="?", help="the table to write")
    command.add_argument("-o", "--output", metavar="FILE", help="default: stdout, as CSV")
    command.set_defaults(run=run)


def run(said: argparse.Namespace) -> None:
    """List the examples, or write one."""
    from bayesnb import datasets

    if said.example is None:
        if said.output is not None:
            raise UsageError("data: -o needs the NAME of an example.")
        write_text("-", "".join(f"{name}\t{about}\n" for name, about in datasets.EXAMPLES.items()))
    elif said.example in datasets.EXAMPLES:
        write(said.example, said.output or "-")
    else:
        raise UsageError(f"data: there is no example {said.example!r}; there are {', '.join(datasets.EXAMPLES)}.")


def write(name: str, goal: str) -> None:
    """An example into a file, as it is where that is CSV."""
    from bayesnb import datasets

    check_goal("data", goal)
    if goal in ("-", "/dev/stdout") or goal.endswith(".csv"):
        write_text(goal, datasets.text(name))
        return

    from bayesnb.cli.tables import format_for
    from bayesnb.data import open_writer

    kind = format_for("data", goal, None)
    with whole(goal) as stream:
        writer = open_writer(stream, kind, goal.endswith(".gz"))
        writer.write(datasets.load(name))
        writer.close()
