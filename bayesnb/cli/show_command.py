"""`bayesnb show`: what a saved model holds."""

from argparse import Namespace
from typing import Any

from bayesnb.cli.command_options import add_command
from bayesnb.cli.output import check_inputs, write_text

EXAMPLES = """\
  bayesnb show churn.bnb"""


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = add_command(
        commands,
        "show",
        EXAMPLES,
        help="show what a saved model holds",
        description="Print the columns of a saved model with their families, priors, evidence and exponents, and the "
        "links between columns.",
    )
    command.add_argument("model", metavar="MODEL", help="a file written by `bayesnb fit`")
    command.set_defaults(run=run)


def run(args: Namespace) -> None:
    """Print the summary, and the links where there are some."""
    check_inputs("show", [args.model])

    from bayesnb import load

    model: Any = load(args.model)
    parts = [str(model.summary())]
    if model.schema_.links is not None:
        parts.append(str(model.links_))
    write_text("-", "\n\n".join(parts) + "\n")
