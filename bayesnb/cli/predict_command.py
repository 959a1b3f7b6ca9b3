"""`bayesnb predict`: a model and a table in, probabilities out."""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from bayesnb.cli import command_options as options
from bayesnb.cli import option_values as values
from bayesnb.cli.messages import UsageError, readable
from bayesnb.cli.output import FORMATS, check_inputs, check_output, complete_output, output_format

EXAMPLES = """\
  bayesnb predict churn.bnb new.csv > answers.csv
  bayesnb predict churn.bnb new.csv --append -o answers.parquet
  bayesnb predict churn.bnb new.parquet --interval --prob 0.9 -o answers.csv.gz
  cat new.csv | bayesnb predict churn.bnb - --missing ',NA,unknown'"""
ROWS = 1 << 14  # predicted at once, without intervals


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = options.add_command(
        commands,
        "predict",
        EXAMPLES,
        notes=options.TABLES,
        help="predict the rows of a table with a saved model",
        description="Predict each row of a table. The output has the most probable class, `predicted`, and the "
        "probability of each class, `p_CLASS`; with --interval also `lower_CLASS` and `upper_CLASS`, the ends of its "
        "credible interval. Columns are matched by name, in any order, and other columns are ignored. A control "
        "character in a label becomes an escape such as \\x1b in the name of a column.",
    )
    command.add_argument(
        "model",
        metavar="MODEL",
        help="a file written by `bayesnb fit`, or by the method `save` in Python",
    )
    command.add_argument("table", metavar="TABLE", help="a table")
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="the file to write, in the format of its name (default: stdout, as CSV)",
    )
    command.add_argument(
        "--to",
        metavar="FORMAT",
        choices=FORMATS,
        help="the format, where the name of FILE does not show it",
    )
    command.add_argument(
        "--append", action="store_true", help="keep the table's columns, in front of the new ones"
    )
    intervals = command.add_argument_group("intervals")
    intervals.add_argument(
        "--interval", action="store_true", help="add the ends of equal-tailed credible intervals"
    )
    intervals.add_argument(
        "--prob",
        metavar="P",
        type=values.probability,
        help="probability of the intervals (default: 0.89)",
    )
    intervals.add_argument(
        "--rows",
        choices=("observed", "fixed"),
        default="observed",
        help="observed (default): rows were sampled from the population; fixed: someone chose them, as on a grid",
    )
    intervals.add_argument(
        "--method",
        choices=("auto", "exact", "fast", "draws"),
        default="auto",
        help="how intervals are computed (default: auto, accurate to 0.001); draws uses --seed",
    )
    options.add_seed(intervals, "seed of --method draws (default: 0)")
    options.add_reading(command)
    command.set_defaults(run=run)


def run(args: Namespace) -> None:
    """Predict batch by batch; what is written appears when all of it is there."""
    if not args.interval and (
        args.prob is not None or args.method != "auto" or args.rows != "observed"
    ):
        raise UsageError("predict: --prob, --rows and --method need --interval.")
    check_output("predict", args.output, [args.table, args.model])
    kind = output_format("predict", args.output, args.to)
    check_inputs("predict", [args.model, args.table])

    from bayesnb import load
    from bayesnb.data import open_writer

    model: Any = load(args.model)
    if args.interval and model.estimate != "predictive":
        raise ValueError(
            f"{args.model}: it predicts by the estimate {model.estimate!r}, for which there are no intervals. Fit with "
            "--estimate predictive."
        )
    rows, size = 0, Path(args.table).stat().st_size if Path(args.table).is_file() else None
    with (
        args.console.progress("predicting", size) as advance,
        complete_output(args.output) as stream,
        closing(open_writer(stream, kind, args.output.endswith(".gz"))) as writer,
    ):
        for batch in predicted_batches(args, model, kind, advance):
            writer.write(batch)
            rows += len(batch)
    args.console.warn_of_unseen_levels()
    if args.output != "-":
        args.console.info(f"Wrote {args.output}: {rows:,} rows")


def predicted_batches(args: Namespace, model: Any, kind: str, advance: Any) -> Iterator[Any]:
    """Yield the columns that are written, for one batch of rows after another."""
    from bayesnb.cli.training_table import open_tables
    from bayesnb.data import beside
    from bayesnb.integrations.many_files import where
    from bayesnb.integrations.predict_files import (
        SLOW,
        answered,
        as_learnt,
        named_kinds,
        refuse_taken,
    )

    interval = None
    if args.interval:
        rng = args.seed if args.method == "draws" else None
        interval = {"ci_prob": args.prob, "rows": args.rows, "method": args.method, "rng": rng}
    (sheet,) = open_tables(args, [args.table], advance, whole=False)
    for batch in sheet.batches(named_kinds(model, sheet), SLOW if args.interval else ROWS):
        try:
            columns = answered(model, as_learnt(model, batch.frame, sheet), interval)
        except ValueError as error:
            raise ValueError(
                f"{where(sheet.name, batch.start, len(batch))}: {readable(error)}"
            ) from error
        if args.append:
            refuse_taken(sheet, columns, sheet.columns, "leave out --append")
        yield beside(columns, batch.kept_for(kind) if args.append else None)
