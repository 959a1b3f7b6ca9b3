"""`bayesnb compare`: settings of the smoothing side by side."""

import sys
from argparse import Namespace
from typing import Any

from bayesnb.cli import command_options as options
from bayesnb.cli import option_values as values
from bayesnb.cli.messages import naming
from bayesnb.cli.output import check_inputs, check_output, output_format, write_table, write_text

EXAMPLES = """\
  bayesnb compare customers.csv --target churned
  bayesnb compare customers.csv --target churned --smoothing 0,0.1,1,10 --estimates map,mean
  bayesnb compare customers.csv --target churned --smoothing 0.1,1 -o smoothing.csv"""
SMOOTHING = "0,0.01,0.1,0.5,1,2,5,10"


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = options.add_command(
        commands,
        "compare",
        EXAMPLES,
        notes=options.TABLES,
        help="compare values of the smoothing",
        description="Compare values of the smoothing by their evidence and by exact leave-one-out, without refits. "
        "The table goes to stdout, the verdict to stderr. With smoothing l, counts n of K levels and their total N, "
        "(n + l) / (N + l K) is the probability of a level under map (the mode under Dirichlet(1 + l)) and under mean "
        "(the mean under Dirichlet(l)); predictive integrates it out.",
    )
    command.add_argument("table", metavar="TABLE", help="a table")
    command.add_argument("--target", metavar="COLUMN", required=True, help="the column of labels")
    command.add_argument(
        "--smoothing",
        metavar="LIST",
        type=values.numbers,
        default=values.numbers(SMOOTHING),
        help=f"numbers of at least 0, separated by commas (default: {SMOOTHING})",
    )
    command.add_argument(
        "--estimates",
        metavar="LIST",
        type=values.estimates,
        help=f"one or more of {', '.join(values.ESTIMATES)}, separated by commas (default: map,mean,predictive, or "
        "predictive alone if columns are linked)",
    )
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="default: stdout, as CSV, or aligned on a terminal",
    )
    options.add_model(command)
    options.add_seed(command, "no effect here: a comparison draws nothing")
    options.add_reading(command)
    command.set_defaults(run=run, estimate="predictive")


def run(args: Namespace) -> None:
    """Compare, write the table, print the verdict."""
    check_output("compare", args.output, [args.table])
    kind = output_format("compare", args.output)
    check_inputs("compare", [args.table])

    from bayesnb import compare_smoothing
    from bayesnb.cli.training_table import read_training
    from bayesnb.data import aligned

    training = read_training(args, [args.table])
    args.console.stages.begin(f"comparing settings of the smoothing by {len(training.y):,} rows")
    with naming([args.table]):
        comparison = compare_smoothing(
            training.model,
            training.X,
            training.y,
            smoothing=args.smoothing,
            estimates=args.estimates,
        )
    if args.output == "-" and sys.stdout.isatty():
        write_text("-", f"{aligned(comparison.table)}\n")
    else:
        write_table(args.output, kind, comparison.table)
    for line in (comparison.verdict, *comparison.notes):
        args.console.info(line)
    if args.output != "-":
        args.console.info(f"Wrote {args.output}")
