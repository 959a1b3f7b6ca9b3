"""The parser of all commands."""

import argparse

from bayesnb import __version__
from bayesnb.cli import compare, completion, data, fit, predict, report
from bayesnb.cli.options import TABLES, Layout, Parser

EXAMPLES = """\
examples:
  bayesnb report                                         the penguins that ship with bayesnb
  bayesnb report customers.csv --target churned          your table, to report.html
  bayesnb fit customers.csv --target churned -o churn.bnb
  bayesnb predict churn.bnb new.csv -o answers.csv
  bayesnb compare customers.csv --target churned
  bayesnb data penguins > penguins.csv
"""


def arguments() -> argparse.ArgumentParser:
    """All commands; what each is lies in its own file."""
    parser = Parser(
        prog="bayesnb",
        description="Naive Bayes that keeps the whole posterior, from the command line. `bayesnb COMMAND --help` tells "
        "more of each command.",
        epilog=f"{EXAMPLES}\n{TABLES}",
        formatter_class=Layout,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"bayesnb {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="name")
    for room in (report, fit, predict, compare, data, completion):
        room.add(commands)
    return parser
