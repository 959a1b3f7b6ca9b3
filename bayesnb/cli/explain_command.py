"""`bayesnb explain`: why a row has the probabilities that it has."""

from argparse import Namespace
from itertools import islice
from typing import Any

from bayesnb.cli import command_options as options
from bayesnb.cli import option_values as values
from bayesnb.cli.output import check_inputs, write_text

EXAMPLES = """\
  bayesnb explain churn.bnb new.csv
  bayesnb explain churn.bnb new.csv --row 17"""
ROWS = 1 << 14  # read at once


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = options.add_command(
        commands,
        "explain",
        EXAMPLES,
        notes=options.TABLES,
        help="show what each column says about a row",
        description="Print the probability of each class for a row of a table, and what each column adds to the score "
        "of each class.",
    )
    command.add_argument("model", metavar="MODEL", help="a file written by `bayesnb fit`")
    command.add_argument("table", metavar="TABLE", help="a table")
    command.add_argument(
        "--row",
        metavar="N",
        type=values.whole_number,
        default=0,
        help="the row, counted from 0 (default: 0)",
    )
    options.add_reading(command)
    command.set_defaults(run=run)


def run(args: Namespace) -> None:
    """Print the probabilities of the row, then what each column adds."""
    check_inputs("explain", [args.model, args.table])

    from bayesnb import load
    from bayesnb.cli.messages import naming
    from bayesnb.cli.training_table import open_tables
    from bayesnb.data import aligned
    from bayesnb.integrations.predict_files import as_learnt, named_kinds

    model: Any = load(args.model)
    with args.console.progress("reading") as advance:
        (sheet,) = open_tables(args, [args.table], advance, whole=False)
        at, place = divmod(args.row, ROWS)
        batch = next(islice(sheet.batches(named_kinds(model, sheet), ROWS), at, None), None)
    if batch is None or place >= len(batch):
        raise ValueError(
            f"{sheet.name}: there is no row {args.row}. Rows are counted from 0, below the header."
        )
    row = as_learnt(model, batch.frame[place : place + 1], sheet)
    with naming([args.table]):
        shares = model.uncertainty(row)["probability"].to_pandas().rename_axis(None)
        explained = model.explain(row)
    write_text("-", f"{aligned(shares)}\n\n{explained}\n")
