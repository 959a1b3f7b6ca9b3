"""`bayesnb data`: the example tables."""

from argparse import Namespace
from typing import Any

from bayesnb.cli.command_options import add_command
from bayesnb.cli.messages import UsageError
from bayesnb.cli.output import check_output, output_format, write_table, write_text

EXAMPLES = """\
  bayesnb data
  bayesnb data penguins > penguins.csv
  bayesnb data penguins -o penguins.parquet"""


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = add_command(
        commands,
        "data",
        EXAMPLES,
        help="list the example tables, or write one",
        description="List the tables that ship with bayesnb, or write one of them: as CSV to stdout, or to a file in "
        "the format of its name.",
    )
    command.add_argument("example", metavar="NAME", nargs="?", help="the table to write")
    command.add_argument("-o", "--output", metavar="FILE", help="default: stdout, as CSV")
    command.set_defaults(run=run)


def run(args: Namespace) -> None:
    """List the examples, or write one: its file as it is where CSV is wanted."""
    from bayesnb import datasets

    if args.example is None:
        if args.output is not None:
            raise UsageError("data: -o needs the NAME of an example.")
        write_text("-", "".join(f"{name}\t{about}\n" for name, about in datasets.EXAMPLES.items()))
        return
    if args.example not in datasets.EXAMPLES:
        raise UsageError(
            f"data: there is no example table {args.example!r}; there are {', '.join(datasets.EXAMPLES)}."
        )
    output = args.output or "-"
    check_output("data", output)
    if output in ("-", "/dev/stdout") or output.endswith(".csv"):
        write_text(output, datasets.text(args.example))
    else:
        write_table(output, output_format("data", output), datasets.load(args.example))
