"""`bayesnb report`: a table in, a page about its model out."""

import argparse
from pathlib import Path
from typing import Any

from bayesnb.cli import options
from bayesnb.cli.output import check_goal, write_text
from bayesnb.cli.problems import UsageError, naming
from bayesnb.cli.specs import FamilySaid

EXAMPLES = """\
  bayesnb report
  bayesnb report customers.csv --target churned -o churn.html
  bayesnb report customers.csv --target churned --test later.csv
  bayesnb report customers.csv --target churned --family zip=categorical --family id=drop
  bayesnb report customers.csv --target churned --prior 0.5 --temper loo
  cat customers.csv | bayesnb report - --target churned -o - > churn.html"""
PENGUINS_NOTE = (
    "The penguins ship with bayesnb (Horst, Hill and Gorman 2020, CC0). The column year says when a penguin was "
    "measured and is no measurement itself, so it was dropped."
)


def add(commands: Any) -> None:
    """The command and its options."""
    command = options.new_command(
        commands,
        "report",
        EXAMPLES,
        more=options.TABLES,
        help="fit a table and write an HTML page about the model",
        description="Fit naive Bayes to a table and write one self-contained HTML page about it: scores of rows that "
        "were held out, what each column says about each class, and the rows that deserve a second look.",
    )
    command.add_argument("table", metavar="TABLE", nargs="?", help="a table; without it, the example penguins")
    command.add_argument("--target", metavar="COLUMN", help="the column of labels (needed with TABLE)")
    command.add_argument("--test", metavar="TABLE", help="a table that is not learnt from, and is scored as well")
    command.add_argument(
        "-o", "--output", metavar="FILE", default="report.html", help="default: report.html; - is stdout"
    )
    options.add_model(command)
    options.add_estimate(command)
    options.add_seed(command, "of whatever is drawn; what the page has today is exact, and nothing is")
    options.add_reading(command)
    command.set_defaults(run=run)


def run(said: argparse.Namespace) -> None:
    """Fit, write the page, say the score."""
    if said.table is not None and said.target is None:
        raise UsageError(f"report: which column of {said.table} holds the labels? Say --target COLUMN.")
    check_goal("report", said.output, (said.table, said.test))
    facts = facts_of(said)

    from bayesnb.cli.training import held_out
    from bayesnb.report import render

    write_text(said.output, render(facts))
    if not said.quiet:
        said.talk.say(held_out(facts.model, facts.X, facts.y))
    said.talk.say(f"Wrote {'the page to stdout' if said.output == '-' else said.output}")


def facts_of(said: argparse.Namespace) -> Any:
    """The model of the table, and what the page will say about it."""
    from datetime import date

    from bayesnb.cli.advice import InOptions
    from bayesnb.cli.training import lesson
    from bayesnb.datasets import path
    from bayesnb.report import About, gather

    example, table = said.table is None, said.table
    notes: tuple[str, ...] = ()
    if example:
        table, said.target = str(path("penguins")), said.target or "species"
        if said.target != "year" and not any("year" in (one.names or ()) for one in said.family):
            said.family, notes = [*said.family, FamilySaid(("year",), "drop")], (PENGUINS_NOTE,)
    own = lesson(said, [table], keep_dropped=True)
    about = About(
        label=said.target,
        source="the example table penguins" if example else source(table),
        notes=notes,
        command=said.command,
        date=f"{date.today():%d %B %Y}".lstrip("0"),
        advice=InOptions(),
    )
    test = None if said.test is None else test_of(said, own)
    with naming([table if not example else about.source, *([] if said.test is None else [said.test])]):
        return gather(own.model, own.X, own.y, test, about=about)


def source(table: str) -> str:
    return "standard input" if table == "-" else Path(table).name


def test_of(said: argparse.Namespace, own: Any) -> tuple[Any, Any]:
    """The rows that are not learnt from, read as the others were."""
    from bayesnb.cli.reread import again

    return again(said, said.test, own)
