"""`bayesnb compare`: settings of the smoothing side by side."""

import argparse
import sys
from typing import Any

from bayesnb.cli import options, specs
from bayesnb.cli.output import check_goal, whole
from bayesnb.cli.problems import naming

EXAMPLES = """\
  bayesnb compare customers.csv --target churned
  bayesnb compare customers.csv --target churned --smoothing 0,0.1,1,10 --estimates map,mean
  bayesnb compare customers.csv --target churned --smoothing 0.1,1 -o smoothing.csv"""
SMOOTHING, BOTH = "0,0.01,0.1,0.5,1,2,5,10", "map,mean,predictive"


def add(commands: Any) -> None:
    """The command and its options."""
    command = options.new_command(
        commands,
        "compare",
        EXAMPLES,
        more=options.TABLES,
        help="compare settings of the smoothing",
        description="Compare settings of the smoothing by their evidence and by exact leave-one-out, without a refit: "
        "a table on stdout, the verdict on stderr. With smoothing l, counts n of K levels and their total N, "
        "(n + l) / (N + l K) is the probability of a level under map (the mode under Dirichlet(1 + l)) and under mean "
        "(the mean under Dirichlet(l)); predictive integrates it out.",
    )
    command.add_argument("table", metavar="TABLE", help="a table")
    command.add_argument("--target", metavar="COLUMN", required=True, help="the column of labels")
    add_settings(command)
    command.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="default: stdout, as CSV, or aligned on a terminal"
    )
    options.add_model(command)
    options.add_seed(command, "of whatever is drawn; a comparison draws nothing")
    options.add_reading(command)
    command.set_defaults(run=run)


def add_settings(command: argparse.ArgumentParser) -> None:
    """What is compared."""
    command.add_argument(
        "--smoothing",
        metavar="LIST",
        type=specs.numbers,
        default=specs.numbers(SMOOTHING),
        help=f"numbers, 0 or more, between commas (default: {SMOOTHING})",
    )
    command.add_argument(
        "--estimates",
        metavar="LIST",
        type=specs.estimates,
        default=specs.estimates(BOTH),
        help=f"some of {', '.join(specs.ESTIMATES)} (default: {BOTH})",
    )


def run(said: argparse.Namespace) -> None:
    """Compare, write the table, say the verdict."""
    from bayesnb.cli.tables import format_for

    check_goal("compare", said.output, (said.table,))
    kind = format_for("compare", said.output, None)

    from bayesnb import compare_smoothing
    from bayesnb.cli.training import lesson

    own = lesson(said, [said.table], keep_dropped=False)
    with naming([said.table]):
        found = compare_smoothing(own.model, own.X, own.y, smoothing=said.smoothing, estimates=said.estimates)
    write(said.output, kind, found.table)
    said.talk.say(found.verdict)
    for note in found.notes:
        said.talk.say(note)
    if said.output != "-":
        said.talk.say(f"Wrote {said.output}")


def write(goal: str, kind: str, table: Any) -> None:
    """The table, for the eye on a terminal."""
    from bayesnb.data import aligned, open_writer

    with whole(goal) as stream:
        if goal == "-" and sys.stdout.isatty():
            stream.write(f"{aligned(table)}\n".encode())
        else:
            writer = open_writer(stream, kind, goal.endswith(".gz"))
            writer.write(table)
            writer.close()
