"""`bayesnb report`: a table in, a page about its model out."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from bayesnb.cli import command_options as options
from bayesnb.cli import option_values as values
from bayesnb.cli.messages import CommandLineAdvice, UsageError, naming
from bayesnb.cli.option_values import FamilyOption
from bayesnb.cli.output import check_inputs, check_model_output, check_output, write_text

EXAMPLES = """\
  bayesnb report
  bayesnb report customers.csv --target churned -o churn.html
  bayesnb report customers.csv --target churned --test later.csv
  bayesnb report customers.csv --target churned --family zip=categorical --family id=drop
  bayesnb report customers.csv --target churned --prior 0.5 --temper loo
  bayesnb report customers.csv --target churned --brief
  bayesnb report customers.csv --target churned --title 'Who leaves?' --author 'The data team' --prob 0.95
  cat customers.csv | bayesnb report - --target churned -o - > churn.html"""
PENGUINS_NOTE = (
    "The penguins ship with bayesnb (Horst, Hill and Gorman 2020, CC0). The column year says when a penguin was "
    "measured and is not a measurement itself, so it was dropped."
)


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = options.add_command(
        commands,
        "report",
        EXAMPLES,
        notes=options.TABLES,
        help="fit a table and write an HTML page about the model",
        description="Fit naive Bayes to a table and write one self-contained HTML page about it: scores of rows that "
        "were held out, what each column says about each class, and the rows that deserve a second look.",
    )
    command.add_argument(
        "table", metavar="TABLE", nargs="?", help="a table; without it, the example penguins"
    )
    command.add_argument(
        "--target", metavar="COLUMN", help="the column of labels (needed with TABLE)"
    )
    command.add_argument(
        "--save", metavar="MODEL", help="a file for the model, as `bayesnb fit` writes it"
    )
    command.add_argument(
        "--test", metavar="TABLE", help="a table that is not learnt from, and is scored as well"
    )
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="report.html",
        help="default: report.html; - is stdout",
    )
    command.add_argument(
        "--brief",
        action="store_true",
        help="the first sections only: scores, what to check, what was modelled",
    )
    page = command.add_argument_group("the page")
    page.add_argument(
        "--prob",
        metavar="P",
        type=values.probability,
        help="of the intervals (default: 0.89, as in ArviZ)",
    )
    page.add_argument(
        "--positive",
        metavar="CLASS",
        help="the class of two that ROC, precision-recall and costs are about (default: the rarer one)",
    )
    page.add_argument(
        "--title", metavar="TEXT", default="", help="of the page (default: Predicting COLUMN)"
    )
    page.add_argument("--author", metavar="TEXT", default="", help="who answers for the model")
    page.add_argument(
        "--use",
        metavar="TEXT",
        default="",
        help="what the model is intended for, on its model card",
    )
    options.add_estimate(options.add_model(command))
    options.add_seed(command, "no effect here: what a page draws has a fixed seed")
    options.add_reading(command)
    command.set_defaults(run=run)


def run(args: Namespace) -> None:
    """Fit, write the page, print the score."""
    if args.table is not None and args.target is None:
        raise UsageError(
            f"report: which column of {args.table} holds the labels? Say --target COLUMN."
        )
    check_output("report", args.output, [args.table, args.test])
    if args.save is not None:
        check_model_output("report", "--save", args.save, [args.table, args.test, args.output])
    check_inputs("report", [args.table, args.test])
    facts = gather_facts(args)

    from bayesnb.cli.training_table import describe_held_out, describe_verdict
    from bayesnb.criticism.held_out_scores import score_warnings
    from bayesnb.report import render

    write_text(args.output, render(facts, brief=args.brief, stages=args.console.stages))
    if not args.quiet:
        verdict = describe_verdict(facts.held_out.observed, facts.short_classes)
        for line in (
            *describe_held_out(facts.left_out, facts.codes, facts.model._selection_note()),
            *verdict,
        ):
            args.console.info(line)
        for warning in score_warnings(facts.model, facts.rows):
            args.console.warn(warning)
    if args.save is not None:
        facts.model.save(args.save)
        args.console.info(f"Wrote {args.save}")
    args.console.info(f"Wrote {'the page to stdout' if args.output == '-' else args.output}")


def gather_facts(args: Namespace) -> Any:
    """Return the model of the table, with what the page is about."""
    from datetime import date

    from bayesnb.cli.training_table import read_test, read_training
    from bayesnb.datasets import path
    from bayesnb.report import About, gather

    table: Any = args.table
    notes: tuple[str, ...] = ()
    source = "standard input" if table == "-" else Path(table or "").name
    if table is None:
        table, source, args.target = (
            str(path("penguins")),
            "the example table penguins",
            args.target or "species",
        )
        if args.target != "year" and not any(
            "year" in (option.names or ()) for option in args.family
        ):
            args.family, notes = [*args.family, FamilyOption(("year",), "drop")], (PENGUINS_NOTE,)
    training = read_training(args, [table], keep_dropped=True)
    about = About(
        label=args.target,
        source=source,
        notes=notes,
        command=args.words,
        date=f"{date.today():%d %B %Y}".lstrip("0"),
        advice=CommandLineAdvice(),
        title=args.title,
        author=args.author,
        use=args.use,
        ci_prob=args.prob,
        positive=args.positive,
    )
    test = None if args.test is None else read_test(args, args.test, training)
    with naming([args.table or source, *([] if args.test is None else [args.test])]):
        return gather(training.model, training.X, training.y, test, about, args.console.stages)
