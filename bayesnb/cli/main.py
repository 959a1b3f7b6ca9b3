"""The commands and their exit codes. A command that fails prints one line on stderr.

0: done. 1: the job failed. 2: bad usage. 130: interrupted.
"""

import functools
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

import click
from click.core import ParameterSource

from bayesnb import __version__, datasets
from bayesnb.cli.options import (
    ESTIMATES,
    FILE,
    NUMBER,
    OUTPUT,
    TOPICS,
    ColumnOption,
    Command,
    estimate_option,
    list_of,
    model_options,
    output_option,
    prob_option,
    reading_options,
    target_option,
)
from bayesnb.cli.output import (
    Console,
    check_files,
    describe_error,
    is_model,
    output_format,
    print_line,
    show_warning,
    write_tables,
    write_text,
)
from bayesnb.stages import Stages

MODEL_OPTIONS = (
    "family",
    "prior",
    "class_prior",
    "temper",
    "dependence",
    "missing_cells",
    "estimate",
)
PENGUINS_NOTE = (
    "The penguins data ship with bayesnb (Horst, Hill and Gorman 2020, CC0). The column year was "
    "dropped: it is the year of the study, not a measurement of a penguin."
)


class OrderedGroup(click.Group):
    """A group whose help lists the commands in the order of this file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=OrderedGroup,
    context_settings={"show_default": True},
    epilog="""\b
    Examples:
      bayesnb report                                  (an example, penguins)
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
    """Add the options of all commands; the first argument of a command is a `Console`."""

    @click.option("-q", "--quiet", is_flag=True, help="Print only warnings and errors.")
    @click.option("--debug", is_flag=True, help="Show the traceback of an error.")
    @functools.wraps(command)
    def run(*, quiet: bool, debug: bool, **params: Any) -> None:
        check_files(params)
        with warnings.catch_warnings(), Stages(False if quiet else None) as stages:
            warnings.simplefilter("ignore", FutureWarning)  # for programmers only
            warnings.showwarning = show_warning  # type: ignore[assignment]
            stages.begin("loading packages")
            command(Console(quiet, stages), **params)

    return run


@cli.command(
    epilog="""\b
    Examples:
      bayesnb report
      bayesnb report customers.csv --target churned -o churn.html
      bayesnb report customers.csv --target churned --test later.csv
      bayesnb report churn.bnb customers.csv --target churned
    """
)
@click.argument("tables", metavar="[[MODEL] TABLE]", nargs=-1, type=FILE)
@click.option("--target", metavar="COLUMN", help="Column with the labels.")
@output_option("report.html")
@click.option("--save", type=OUTPUT, metavar="MODEL", help="File for the model.")
@click.option("--test", type=FILE, metavar="TABLE", help="Held-out rows to score.")
@click.option("--brief", is_flag=True, help="Only scores, checks and the model.")
@prob_option
@click.option(
    "--positive",
    metavar="CLASS",
    help="Positive class of the ROC curve and costs; default: the rarer of two.",
)
@model_options
@estimate_option
@reading_options
@common_options
def report(
    console: Console,
    tables: tuple[str, ...],
    target: str | None,
    output: str,
    save: str | None,
    test: str | None,
    brief: bool,
    prob: float | None,
    positive: str | None,
    **options: Any,
) -> None:
    """Fit a model to a table and write an HTML report.

    Without TABLE, the penguins example is used. With MODEL, a file from `bayesnb fit` or --save,
    nothing is fitted: TABLE must hold the training rows.
    """
    is_example = not tables
    if is_example:
        tables = (str(datasets.path("penguins")),)
        target = "species"
        options["family"] += (ColumnOption(("year",), None, "year=drop"),)
    if target is None:
        raise click.UsageError(
            f"which column of {tables[-1]} holds the labels? Use --target COLUMN."
        )
    models = [path for path in tables if is_model(path)]
    if len(tables) > 2 or models != list(tables[:-1]):
        raise click.UsageError(
            "give one TABLE, or a saved MODEL followed by its TABLE; saved models among these "
            f"files: {', '.join(models) or 'none'}."
        )
    context = click.get_current_context()
    for name in MODEL_OPTIONS if models else ():
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            flag = name.replace("_", "-")
            raise click.UsageError(f"--{flag} is for a new model, but {models[0]} is fitted.")

    from bayesnb import load
    from bayesnb.cli.tables import learn, read_labelled, show_scores
    from bayesnb.report import About, gather, render

    if models:
        model = load(models[0])
        X, y = read_labelled(console, model, tables[1], target, options)
    else:
        X, y, model = learn(console, tables, target, options)
    about = About(
        label=target,
        source="standard input" if tables[-1] == "-" else Path(tables[-1]).name,
        notes=(PENGUINS_NOTE,) if is_example else (),
        command=shlex.join(["bayesnb", *context.obj]),
        date=f"{date.today():%d %B %Y}".lstrip("0"),
        ci_prob=prob,
        positive=positive,
    )
    tested = read_labelled(console, model, test, target, options) if test else None
    facts = gather(model, X, y, tested, about, console.stages)
    write_text(output, render(facts, brief=brief, stages=console.stages))
    show_scores(console, facts)
    if save is not None:
        model.save(save)
        console.info(f"Wrote {save}")
    if output != "-":
        console.info(f"Wrote {output}")


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
    "-o", "--output", "save", type=OUTPUT, metavar="MODEL", required=True, help="The file to write."
)
@model_options
@estimate_option
@reading_options
@common_options
def fit(console: Console, tables: tuple[str, ...], target: str, save: str, **options: Any) -> None:
    """Fit a model to tables and save it.

    Several tables are read as one. Prints the family of each column, leave-one-out scores, and a
    verdict on them.
    """
    from bayesnb.cli.tables import learn, show_scores

    X, y, model = learn(console, tables, target, options)
    if not console.quiet:
        from bayesnb.report import gather

        console.info(*model.summary().lines, *model.schema_.reading.split("; "))
        show_scores(console, gather(model, X, y, stages=console.stages))
    model.save(save)
    console.info(f"Wrote {save}")


@cli.command(
    epilog="""\b
    Examples:
      bayesnb predict churn.bnb new.csv > answers.csv
      bayesnb predict churn.bnb new.csv --append --digits 3 -o answers.parquet
      bayesnb predict churn.bnb new.parquet --interval -o answers.csv.gz
      bayesnb predict churn.bnb new.csv --sets 0.9 --learnt customers.csv
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
@prob_option
@click.option(
    "--sets",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="COVERAGE",
    help="Add prediction sets with this coverage.",
)
@click.option("--learnt", type=FILE, metavar="TABLE", help="The training rows, for --sets.")
@click.option("--target", metavar="COLUMN", help="Column with the labels, if not in the model.")
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
    sets: float | None,
    learnt: str | None,
    target: str | None,
    **options: Any,
) -> None:
    """Predict the rows of a table with a saved model.

    Writes the most probable class, `predicted`, and the probability of each class, `p_CLASS`; with
    --interval also `lower_CLASS` and `upper_CLASS`; with --sets also the `set` of labels, joined by
    "|", and `p_value_CLASS`. A probability is a mean: if its distribution is skewed, it can be
    outside its interval. Prints a score if the table holds the labels.
    """
    if prob is not None and not interval:
        raise click.UsageError("--prob needs --interval.")
    if (sets is None) != (learnt is None):
        raise click.UsageError("--sets and --learnt must be given together.")
    kind = output_format(output)

    from bayesnb import load
    from bayesnb.cli.tables import Score, learn_sets, open_tables
    from bayesnb.results.datasets import ci_prob
    from bayesnb.scale.files import predict_tables

    estimator = load(model)
    if interval and estimator.estimate != "predictive":
        raise ValueError(f"{model}: there are no intervals with estimate={estimator.estimate!r}.")
    known = getattr(estimator, "target_name_", None)
    find_sets = None
    if sets is not None and learnt is not None:
        console.stages.begin("leaving rows out")
        find_sets = learn_sets(console, estimator, learnt, target or known, options, sets)
    console.stages.end()
    with open_tables(console, "predicting", [table], options) as opened:
        label = target or (known if known in opened.columns else None)
        score = Score(label) if label else None
        answers = predict_tables(
            estimator,
            opened,
            opened.columns if append else (),
            ci_prob=ci_prob(prob) if interval else None,
            digits=digits,
            output=kind,
            score=score,
            find_sets=find_sets,
        )
        rows = write_tables(output, kind, answers)
    if score and score.rows:
        console.info(str(score))
    if output != "-":
        console.info(f"Wrote {output}: {rows:,} rows")


@cli.command(epilog="Example: bayesnb show churn.bnb")
@click.argument("model", type=FILE)
@common_options
def show(console: Console, model: str) -> None:
    """Describe a saved model.

    Prints the columns with their families, priors, evidence and exponents, then links, indicators
    of missing values and the covariance, if there are any.
    """
    from bayesnb import load

    estimator = load(model)
    parts: list[object] = [estimator.summary()]
    if estimator.schema_.links is not None:
        parts.append(estimator.links_)
    parts += [each for each in (estimator.missing_, estimator.covariance_) if each is not None]
    write_text("-", "\n".join(f"{part}\n" for part in parts))


@cli.command(
    epilog="""\b
    Examples:
      bayesnb explore churn.bnb
      bayesnb explore churn.bnb customers.csv -o churn.html
    """
)
@click.argument("model", type=FILE)
@click.argument("table", type=FILE, required=False)
@output_option("explorer.html")
@prob_option
@reading_options
@common_options
def explore(
    console: Console,
    model: str,
    table: str | None,
    output: str,
    prob: float | None,
    **options: Any,
) -> None:
    """Write an HTML page that predicts a row as its cells are set.

    The page computes class probabilities, their intervals and the contributions of the columns in
    the browser. With TABLE, its first 200 rows are stored in the page and can be opened there.
    """
    from bayesnb import load
    from bayesnb.cli.tables import read_labelled
    from bayesnb.report import explore as write_page

    estimator = load(model)
    X = None if table is None else read_labelled(console, estimator, table, None, options)[0]
    write_text(output, write_page(estimator, X, ci_prob=prob))
    if output != "-":
        console.info(f"Wrote {output}")


@cli.command(
    epilog="""\b
    Examples:
      bayesnb export churn.bnb --sql --table customers --key id > scores.sql
      bayesnb export churn.bnb --points -o points.csv
    """
)
@click.argument("model", type=FILE)
@click.option("--sql", is_flag=True, help="Write a SELECT that computes the probabilities.")
@click.option("--points", is_flag=True, help="Write a points table, as CSV.")
@click.option("--table", "name", default="t", help="Name of the table in the database.")
@click.option("--key", metavar="COLUMN", multiple=True, help="Column to keep in the result.")
@click.option("--total", type=NUMBER, default=100, help="Largest sum of points.")
@output_option()
@common_options
def export(
    console: Console,
    model: str,
    sql: bool,
    points: bool,
    name: str,
    key: Sequence[str],
    total: float,
    output: str,
) -> None:
    """Write a saved model as SQL or as a points table.

    With --sql, a SELECT that returns the probabilities, `p_CLASS`. With --points, a table of the
    points of each cell, in whole numbers.
    """
    if sql == points:
        raise click.UsageError("give either --sql or --points.")

    from bayesnb import load
    from bayesnb import points as make_points

    estimator = load(model)
    if sql:
        text = f"{estimator.to_sql(name, key)}\n"
    else:
        found = make_points(estimator, total)
        console.info(found.attrs["title"])
        text = found.to_frame().to_csv(index=False)
    write_text(output, text)
    if output != "-":
        console.info(f"Wrote {output}")


@cli.command(epilog="Example: bayesnb explain churn.bnb new.csv --row 17")
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option(
    "--row", type=click.IntRange(0), metavar="N", default=0, help="Row to explain, counted from 0."
)
@reading_options
@common_options
def explain(console: Console, model: str, table: str, row: int, **options: Any) -> None:
    """Explain the probabilities of a row.

    Prints the probability of each class and what each column adds to its log score.
    """
    from bayesnb import load
    from bayesnb.cli.tables import open_tables
    from bayesnb.scale.files import as_learnt, kinds_of_columns, rows_at_once

    estimator = load(model)
    with open_tables(console, "reading", [table], options) as opened:
        kinds = kinds_of_columns(estimator, opened)
        for batch in opened.batches(kinds, rows_at_once(len(kinds))):
            if row < batch.stop:
                break
        else:
            raise ValueError(f"{table}: there is no row {row}. Rows are counted from 0.")
    X = as_learnt(estimator, batch.frame[row - batch.start :][:1], opened)
    shares = estimator.uncertainty(X)["probability"].to_pandas()
    lines = shares.to_string(index=False, float_format="{:.4g}".format)
    write_text("-", f"{lines}\n\n{estimator.explain(X)}\n")


@cli.command(
    epilog="""\b
    Examples:
      bayesnb check churn.bnb new.csv
      bayesnb check churn.bnb new.csv --target churned --html changes.html
    """
)
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option("--target", metavar="COLUMN", help="Column with the labels, if they are known.")
@click.option(
    "--html", "output", type=OUTPUT, metavar="PAGE", help="Also write an HTML page with a figure."
)
@prob_option
@reading_options
@common_options
def check(
    console: Console,
    model: str,
    table: str,
    target: str | None,
    output: str | None,
    prob: float | None,
    **options: Any,
) -> None:
    """Check whether a new table differs from the training rows of a model.

    Prints which columns changed, the shares of the classes, the expected accuracy, and the most
    unusual rows. The training rows are not needed.
    """
    import bayesnb
    from bayesnb.cli.tables import read_labelled

    estimator = bayesnb.load(model)
    X, y = read_labelled(console, estimator, table, target, options)
    console.stages.begin(f"checking {len(X):,} rows")
    result = bayesnb.check(estimator, X, y, ci_prob=prob)
    write_text("-", f"{result}\n")
    if output is not None:
        from bayesnb.report.new_table import render_check

        write_text(output, render_check(result, Path(table).name))
        console.info(f"Wrote {output}")


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
    type=list_of(NUMBER),
    metavar="LIST",
    default="0,0.01,0.1,0.5,1,2,5,10",
    help="Values to compare, separated by commas.",
)
@click.option(
    "--estimates",
    type=list_of(click.Choice(ESTIMATES)),
    metavar="LIST",
    help="Any of predictive, mean, map, mle; default: all but mle.",
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
    """Compare values of the smoothing by log evidence and leave-one-out.

    With smoothing l, a level that was seen n times among N cells, one of K levels, has probability
    (n + l) / (N + l K) under map (the mode under Dirichlet(1 + l)) and mean (the mean under
    Dirichlet(l)); predictive integrates it out.
    """
    kind = output_format(output)

    from bayesnb import compare_smoothing
    from bayesnb.cli.tables import learn

    X, y, model = learn(console, [table], target, options)
    console.stages.begin(f"comparing values of the smoothing on {len(y):,} rows")
    comparison = compare_smoothing(model, X, y, smoothing=smoothing, estimates=estimates)
    if output == "-" and sys.stdout.isatty():
        write_text("-", f"{comparison}\n")
        return
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
@click.argument("name", required=False, metavar="[NAME]", type=click.Choice(datasets.EXAMPLES))
@output_option()
@common_options
def data(console: Console, name: str | None, output: str) -> None:
    """List the example tables, or write one."""
    if name is None:
        lines = [f"{known}\t{about}\n" for known, about in datasets.EXAMPLES.items()]
        write_text(output, "".join(lines))
        return
    kind = output_format(output)
    if kind == "csv" and not output.endswith(".gz"):
        write_text(output, datasets.text(name))
    else:
        write_tables(output, kind, [datasets.load(name)])


@cli.command("help")
@click.argument(
    "topic", required=False, metavar="[TOPIC]", type=click.Choice([*TOPICS, *cli.commands])
)
def show_help(topic: str | None) -> None:
    """Show help on a command, on tables or on families."""
    if topic in TOPICS:
        click.echo(TOPICS[topic], nl=False)
        return
    words = ["--help"] if topic is None else [topic, "--help"]
    cli.main(words, "bayesnb", standalone_mode=False)


# Runs


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    if sys.stderr is None:  # closed: messages would go to stdout
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if argv is None:
        signal.signal(signal.SIGTERM, terminate)  # so that a half-written file is removed
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return cli.main(words or ["--help"], "bayesnb", standalone_mode=False, obj=words) or 0
    except click.UsageError as error:
        path = "bayesnb" if error.ctx is None else error.ctx.command_path
        message = " ".join(error.format_message().split())
        print_line(f"{path}: error: {message} See {path} --help")
        return 2
    except click.Abort:
        return 130
    except Exception as error:
        if "--debug" in words:
            raise
        print_line(f"bayesnb: error: {describe_error(error)}")
        return 1


def terminate(number: int, frame: Any) -> NoReturn:
    raise SystemExit(128 + number)
