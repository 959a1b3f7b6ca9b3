"""The commands, and how a run ends: with an exit code, and a line on stderr where it fails.

0: done. 1: the job failed. 2: bad usage. 130: interrupted.
"""

import functools
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

import click
from click.core import ParameterSource

from bayesnb import __version__
from bayesnb.cli.help_texts import TOPICS
from bayesnb.cli.options import (
    ESTIMATES,
    FILE,
    NUMBER,
    PROBABILITY,
    ColumnOption,
    Command,
    ListType,
    combine,
    estimate_option,
    model_options,
    output_option,
    reading_options,
    target_option,
)
from bayesnb.cli.output import (
    Console,
    check_inputs,
    check_order,
    check_output,
    describe_error,
    is_model,
    output_format,
    print_line,
    write_tables,
    write_text,
)

PENGUINS_NOTE = (
    "The penguins ship with bayesnb (Horst, Hill and Gorman 2020, CC0). The column year says when "
    "a penguin was measured and is not a measurement itself, so it was dropped."
)


class OrderedGroup(click.Group):
    """Commands that the help lists in the order of this file, which is that of work."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=OrderedGroup,
    context_settings={"show_default": True},
    epilog="""\b
    Examples:
      bayesnb report                                  (about penguins)
      bayesnb report customers.csv --target churned
      bayesnb fit customers.csv --target churned -o churn.bnb
      bayesnb predict churn.bnb new.csv -o answers.csv
    \b
    More: bayesnb COMMAND --help, bayesnb help tables, bayesnb help families
    """,
)
@click.version_option(__version__, message="bayesnb %(version)s")
def cli() -> None:
    """Naive Bayes with exact posteriors, from the command line."""


def common_options(command: Command) -> Command:
    """Add what all commands have; the command is called with a `Console` first."""

    @functools.wraps(command)
    def run(*, quiet: bool, debug: bool, **params: Any) -> None:
        with Console(quiet) as console:
            command(console, **params)

    options = combine(
        click.option("-q", "--quiet", is_flag=True, help="Print only warnings and errors."),
        click.option("--debug", is_flag=True, help="Show the traceback of an error."),
    )
    return options(run)


@cli.command(
    epilog="""\b
    Examples:
      bayesnb report
      bayesnb report customers.csv --target churned -o churn.html
      bayesnb report customers.csv --target churned --test later.csv
      bayesnb report churn.bnb customers.csv --target churned
    """
)
@click.argument("paths", metavar="[[MODEL] TABLE]", nargs=-1, type=FILE)
@click.option("--target", metavar="COLUMN", help="The column of labels.")
@output_option("report.html")
@click.option("--save", type=FILE, metavar="MODEL", help="File for the model.")
@click.option("--test", type=FILE, metavar="TABLE", help="Rows to score that are not learnt.")
@click.option("--brief", is_flag=True, help="Only scores, what to check, and the model.")
@click.option(
    "--prob", type=PROBABILITY, metavar="P", help="Probability of the intervals: 0.89 unless given."
)
@click.option(
    "--positive",
    metavar="CLASS",
    help="Class that the ROC curve and costs are about: the rarer of two unless given.",
)
@click.option("--title", metavar="TEXT", help="Title of the page.")
@click.option("--author", metavar="TEXT", help="Who answers for the model.")
@click.option("--use", metavar="TEXT", help="What the model is intended for.")
@model_options
@estimate_option
@reading_options
@common_options
def report(
    console: Console,
    paths: tuple[str, ...],
    target: str | None,
    output: str,
    save: str | None,
    test: str | None,
    brief: bool,
    prob: float | None,
    **options: Any,
) -> None:
    """Fit a table and write an HTML page about the model.

    Without TABLE it is about penguins. With MODEL, which `bayesnb fit` or --save wrote, nothing is
    fitted: TABLE holds the rows that the model has learnt.
    """
    if paths and target is None:
        raise click.UsageError(
            f"which column of {paths[-1]} holds the labels? Say --target COLUMN."
        )
    check_output(output, *paths, test)
    if save is not None:
        check_output(save, *paths, test, output, is_model=True)
    check_inputs(*paths, test)
    models = [path for path in paths if is_model(path)]
    if len(paths) > 2 or models != list(paths[:-1]):
        raise click.UsageError(
            "give one TABLE, or a saved MODEL and then its TABLE; here the saved models are: "
            f"{', '.join(models) or 'none'}."
        )

    from bayesnb import datasets, load
    from bayesnb.cli.tables import read_labelled
    from bayesnb.report import About, gather, render

    source = "the example table penguins"
    if paths:
        source = "standard input" if paths[-1] == "-" else Path(paths[-1]).name
    if len(paths) == 2:
        refuse_model_options(paths[0])
        model: Any = load(paths[0])
        X, y = read_labelled(model, paths[1], str(target), options, console.quiet)
    else:
        if not paths:
            options["family"] += (ColumnOption(("year",), None, "year=drop"),)
        tables = paths or (str(datasets.path("penguins")),)
        X, y, model = learn(console, tables, target or "species", options)
    about = About(
        label=str(y.name),
        source=source,
        notes=() if paths else (PENGUINS_NOTE,),
        command=shlex.join(["bayesnb", *click.get_current_context().obj]),
        date=f"{date.today():%d %B %Y}".lstrip("0"),
        ci_prob=prob,
        positive=options["positive"],
        **{name: options[name] or "" for name in ("title", "author", "use")},
    )
    tested = None if test is None else read_labelled(model, test, y.name, options, console.quiet)
    facts = gather(model, X, y, tested, about, console.stages)
    write_text(output, render(facts, brief=brief, stages=console.stages))
    print_scores(console, facts)
    if save is not None:
        model.save(save)
        console.info(f"Wrote {save}")
    console.info(f"Wrote {'the page to stdout' if output == '-' else output}")


def print_scores(console: Console, facts: Any) -> None:
    """Print how well rows are predicted that were held out, unless quiet."""
    if console.quiet:
        return
    from bayesnb.cli.scores import describe_scores
    from bayesnb.criticism.held_out_scores import score_warnings

    console.info(*describe_scores(facts))
    for line in score_warnings(facts.model, facts.rows):
        warnings.warn(line, stacklevel=2)


def refuse_model_options(model: str) -> None:
    """Raise for an option that a saved model has decided."""
    context = click.get_current_context()
    for name in ("family", "prior", "class_prior", "temper", "dependence", "estimate"):
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option} is for a new model, and {model} is saved.")


def learn(
    console: Console, tables: Sequence[str], target: str, options: dict[str, Any]
) -> tuple[Any, Any, Any]:
    """Return the rows and labels of tables, and the model that has learnt them."""
    from bayesnb.cli.tables import read_training

    X, y, estimator = read_training(tables, target, options, console.quiet)
    console.stages.begin(f"learning from {len(y):,} rows")
    return X, y, estimator.fit(X, y)


@cli.command(
    epilog="""\b
    Examples:
      bayesnb fit customers.csv --target churned -o churn.bnb
      bayesnb fit january.csv february.parquet --target churned -o churn.bnb
      bayesnb fit customers.csv --target churned --family zip,plan=categorical \\
        --family id=drop -o churn.bnb
    """
)
@click.argument("tables", metavar="TABLE...", nargs=-1, required=True, type=FILE)
@target_option
@click.option(
    "-o", "--output", type=FILE, metavar="MODEL", required=True, help="The file to write."
)
@model_options
@estimate_option
@reading_options
@common_options
def fit(
    console: Console, tables: tuple[str, ...], target: str, output: str, **options: Any
) -> None:
    """Fit a model to tables and save it.

    Several tables are read as one. Prints the family of each column, how well rows are predicted
    that were held out, and a verdict on that.
    """
    check_output(output, *tables, is_model=True)
    check_inputs(*tables)

    X, y, model = learn(console, tables, target, options)
    if not console.quiet:
        from bayesnb.cli.scores import describe_model
        from bayesnb.report import gather

        console.info(*describe_model(model, y))
        print_scores(console, gather(model, X, y, stages=console.stages))
    model.save(output)
    console.info(f"Wrote {output}")


@cli.command(
    epilog="""\b
    Examples:
      bayesnb predict churn.bnb new.csv > answers.csv
      bayesnb predict churn.bnb new.csv --append --digits 3 -o answers.parquet
      bayesnb predict churn.bnb new.parquet --interval -o answers.csv.gz
      cat new.csv | bayesnb predict churn.bnb - --missing ',NA,unknown'
    """
)
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@output_option()
@click.option("--append", is_flag=True, help="Keep the table's columns before the new ones.")
@click.option(
    "--digits", type=click.IntRange(1, 17), metavar="N", help="Decimals of probabilities."
)
@click.option("--interval", is_flag=True, help="Add credible intervals.")
@click.option(
    "--prob", type=PROBABILITY, metavar="P", help="Probability of the intervals: 0.89 unless given."
)
@click.option(
    "--rows",
    type=click.Choice(["observed", "fixed"]),
    help="observed: sampled from the population; fixed: chosen, as on a grid.",
)
@click.option("--target", metavar="COLUMN", help="The column of labels, where the model lacks it.")
@reading_options
@common_options
def predict(
    console: Console,
    model: str,
    table: str,
    output: str,
    append: bool,
    digits: int | None,
    interval: bool,
    prob: float | None,
    rows: str | None,
    target: str | None,
    **options: Any,
) -> None:
    """Predict the rows of a table with a saved model.

    Writes the most probable class, `predicted`, and the probability of each class, `p_CLASS`; with
    --interval also `lower_CLASS` and `upper_CLASS`. Prints a score if the table holds the labels.
    """
    if not interval and (prob is not None or rows is not None):
        raise click.UsageError("--prob and --rows need --interval.")
    check_output(output, table, model)
    kind = output_format(output)
    check_inputs(model, table)
    check_order(model, table)

    import numpy as np

    from bayesnb import load
    from bayesnb.cli.scores import describe_total, score_rows
    from bayesnb.cli.tables import check_target, open_tables, predict_batches, show_progress
    from bayesnb.data import beside
    from bayesnb.integrations.predict_files import refuse_taken

    estimator: Any = load(model)
    if interval and estimator.estimate != "predictive":
        raise ValueError(
            f"{model}: it predicts by the estimate {estimator.estimate!r}, for which there are no "
            "intervals. Fit it with the estimate 'predictive'."
        )
    arguments = {"ci_prob": prob, "rows": rows or "observed"} if interval else None
    labels = str(target or getattr(estimator, "target_name_", ""))
    total = np.zeros(3)  # rows with a label, right ones, log loss

    def make_answers() -> Iterator[Any]:
        """Yield what is written about one batch of rows after another."""
        (sheet,) = open_tables([table], options, advance, whole=False)
        if target is not None:
            check_target(sheet, target)
        for batch, columns in predict_batches(estimator, sheet, arguments):
            if labels in sheet.columns:
                total[:] += score_rows(estimator.classes_, batch.kept[labels], columns)
            if append:
                refuse_taken(sheet, columns, sheet.columns, "leave out --append")
            answers = beside(columns)
            if digits is not None:
                answers = answers.round(dict.fromkeys(list(columns)[1:], digits))
            yield beside(answers, batch.kept_for(kind) if append else None)

    console.stages.end()
    with show_progress("predicting", [table], console.quiet) as advance:
        count = write_tables(output, kind, make_answers())
    console.info(describe_total(labels, total))
    if output != "-":
        console.info(f"Wrote {output}: {count:,} rows")


@cli.command(epilog="Example: bayesnb show churn.bnb")
@click.argument("model", type=FILE)
@common_options
def show(console: Console, model: str) -> None:
    """Show what a saved model holds.

    Prints the columns with their families, priors, evidence and exponents, and their links.
    """
    check_inputs(model)

    from bayesnb import load

    estimator: Any = load(model)
    parts = [str(estimator.summary())]
    if estimator.schema_.links is not None:
        parts.append(str(estimator.links_))
    write_text("-", "\n\n".join(parts) + "\n")


@cli.command(epilog="Example: bayesnb explain churn.bnb new.csv --row 17")
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option(
    "--row", type=click.IntRange(0), metavar="N", default=0, help="Row to explain, counted from 0."
)
@reading_options
@common_options
def explain(console: Console, model: str, table: str, row: int, **options: Any) -> None:
    """Show why a row has the probabilities that it has.

    Prints the probability of each class, and what each column adds to its score.
    """
    check_inputs(model, table)
    check_order(model, table)

    from bayesnb import load
    from bayesnb.cli.tables import open_tables, show_progress
    from bayesnb.data import aligned
    from bayesnb.integrations.predict_files import as_learnt, named_kinds

    estimator: Any = load(model)
    with show_progress("reading", [table], console.quiet) as advance:
        (sheet,) = open_tables([table], options, advance, whole=False)
        for batch in sheet.batches(named_kinds(estimator, sheet)):
            if row < batch.start + len(batch):
                break
        else:
            raise ValueError(f"{sheet.name}: there is no row {row}. Rows are counted from 0.")
    place = row - batch.start
    X = as_learnt(estimator, batch.frame[place : place + 1], sheet)
    shares = estimator.uncertainty(X)["probability"].to_pandas().rename_axis(None)
    write_text("-", f"{aligned(shares)}\n\n{estimator.explain(X)}\n")


@cli.command(
    epilog="""\b
    Examples:
      bayesnb compare customers.csv --target churned
      bayesnb compare customers.csv --target churned --smoothing 0,0.1,1,10 \\
        --estimates map,mean -o smoothing.csv
    """
)
@click.argument("table", type=FILE)
@target_option
@click.option(
    "--smoothing",
    type=ListType(NUMBER),
    metavar="LIST",
    default="0,0.01,0.1,0.5,1,2,5,10",
    help="Values to compare, between commas.",
)
@click.option(
    "--estimates",
    type=ListType(click.Choice(ESTIMATES)),
    metavar="LIST",
    help="Some of predictive, mean, map, mle: all but mle unless given.",
)
@output_option()
@model_options
@reading_options
@common_options
def compare(
    console: Console,
    table: str,
    target: str,
    smoothing: tuple[float, ...],
    estimates: tuple[str, ...] | None,
    output: str,
    **options: Any,
) -> None:
    """Compare values of the smoothing by evidence and leave-one-out.

    With smoothing l, counts n of K levels and their total N, (n + l) / (N + l K) is the probability
    of a level under map (the mode under Dirichlet(1 + l)) and under mean (the mean under
    Dirichlet(l)); predictive integrates it out.
    """
    check_output(output, table)
    kind = output_format(output)
    check_inputs(table)

    from bayesnb import compare_smoothing
    from bayesnb.cli.tables import read_training
    from bayesnb.data import aligned

    options["estimate"] = "predictive"
    X, y, estimator = read_training([table], target, options, console.quiet)
    console.stages.begin(f"comparing settings of the smoothing by {len(y):,} rows")
    comparison = compare_smoothing(estimator, X, y, smoothing=smoothing, estimates=estimates)
    if output == "-" and sys.stdout.isatty():
        write_text("-", f"{aligned(comparison.table)}\n")
    else:
        write_tables(output, kind, [comparison.table])
    console.info(comparison.verdict, *comparison.notes)
    if output != "-":
        console.info(f"Wrote {output}")


@cli.command(
    epilog="""\b
    Examples:
      bayesnb data
      bayesnb data penguins -o penguins.csv
    """
)
@click.argument("name", required=False)
@output_option()
@common_options
def data(console: Console, name: str | None, output: str) -> None:
    """List the example tables, or write one."""
    from bayesnb import datasets

    if name is None:
        if output != "-":
            raise click.UsageError("-o needs the NAME of an example.")
        lines = [f"{known}\t{about}\n" for known, about in datasets.EXAMPLES.items()]
        write_text("-", "".join(lines))
        return
    if name not in datasets.EXAMPLES:
        known = ", ".join(datasets.EXAMPLES)
        raise click.UsageError(f"there is no example table {name!r}; there are {known}.")
    check_output(output)
    if output in ("-", "/dev/stdout") or output.endswith(".csv"):
        write_text(output, datasets.text(name))
    else:
        write_tables(output, output_format(output), [datasets.load(name)])


@cli.command("help")
@click.argument(
    "topic", required=False, metavar="[TOPIC]", type=click.Choice([*TOPICS, *cli.commands])
)
@click.pass_context
def show_help(context: click.Context, topic: str | None) -> None:
    """Show the help on a command, or on tables or families."""
    if topic in TOPICS:
        click.echo(TOPICS[topic], nl=False)
        return
    parent = context.find_root()
    if topic is not None:
        parent = click.Context(cli.commands[topic], info_name=topic, parent=parent)
    click.echo(parent.get_help())


# Runs


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    if sys.stderr is None:  # it is closed, and messages would go to stdout
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if argv is None:
        set_up_process()
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        with cli.make_context("bayesnb", words or ["--help"], obj=words) as context:
            cli.invoke(context)
        if sys.stdout is not None:  # it is None if it is closed
            sys.stdout.flush()
        return 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        path = "bayesnb" if error.ctx is None else error.ctx.command_path
        message = " ".join(error.format_message().split()).rstrip(".")
        end = "" if message.endswith("?") else "."
        print_line(f"{path}: error: {message}{end} See {path} --help")
        return 2
    except BrokenPipeError:  # the reader of stdout has seen enough
        forget_stdout()
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if "--debug" in words:
            raise
        print_line(f"bayesnb: error: {describe_error(error)}")
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError:
            forget_stdout()  # the disk behind it is full
        return 1


def set_up_process() -> None:
    """Set up a process that runs one command and ends."""
    if "_BAYESNB_COMPLETE" in os.environ:
        cli.main(prog_name="bayesnb")  # answers the shell and exits
    signal.signal(signal.SIGTERM, terminate)  # so that a half-written file is removed


def forget_stdout() -> None:
    """Let nothing more be written to stdout, nor when Python exits."""
    with suppress(OSError, ValueError):  # it is no file in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def terminate(number: int, frame: Any) -> NoReturn:
    raise SystemExit(128 + number)
