"""`bayesnb predict`: a model and a table in, probabilities out."""

import argparse
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from bayesnb.cli import options, specs
from bayesnb.cli.output import check_goal, whole
from bayesnb.cli.problems import UsageError, readable
from bayesnb.cli.tables import format_for, opened

EXAMPLES = """\
  bayesnb predict churn.bnb new.csv > answers.csv
  bayesnb predict churn.bnb new.csv --append -o answers.parquet
  bayesnb predict churn.bnb new.parquet --interval --prob 0.9 -o answers.csv.gz
  cat new.csv | bayesnb predict churn.bnb - --missing ',NA,unknown'"""
ROWS = 1 << 14  # that are predicted at once without intervals


def add(commands: Any) -> None:
    """The command and its options."""
    command = options.new_command(
        commands,
        "predict",
        EXAMPLES,
        more=options.TABLES,
        help="predict the rows of a table by a model that was saved",
        description="Predict each row of a table: its class, and the probability of each class, as columns predicted "
        "and p_CLASS; by --interval also lower_CLASS and upper_CLASS, the ends of the probability's credible interval. "
        "Columns are found by name, in any order and among others, and read as they were learnt. In names of columns a "
        "control character of a label is an escape, such as \\x1b; cells are as they are.",
    )
    command.add_argument("model", metavar="MODEL", help="a file of bayesnb fit, or of a model's save in Python")
    command.add_argument("table", metavar="TABLE", help="a table")
    command.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="in the format of its name (default: stdout, as CSV)"
    )
    command.add_argument(
        "--to", metavar="FORMAT", choices=options.FORMATS, help="the format, where the name of FILE does not say it"
    )
    command.add_argument("--append", action="store_true", help="keep the table's columns, before the new ones")
    add_interval(command)
    options.add_reading(command)
    command.set_defaults(run=run)


def add_interval(command: argparse.ArgumentParser) -> None:
    """What is asked about how sure a prediction is."""
    group = command.add_argument_group("intervals")
    group.add_argument("--interval", action="store_true", help="add the ends of equal-tailed credible intervals")
    group.add_argument("--prob", metavar="P", type=specs.probability, help="of the intervals (default: 0.89)")
    group.add_argument(
        "--rows",
        choices=("observed", "fixed"),
        default="observed",
        help="observed: rows came from the population (default); fixed: someone chose them, as on a grid",
    )
    group.add_argument(
        "--method",
        choices=("auto", "exact", "fast", "draws"),
        default="auto",
        help="of intervals (default: auto, to 0.001); draws uses --seed",
    )
    options.add_seed(group, "of --method draws (default: 0)")


def run(said: argparse.Namespace) -> None:
    """Predict batch by batch; what is written appears when all of it is there."""
    if not said.interval and (said.prob is not None or said.method != "auto" or said.rows != "observed"):
        raise UsageError("predict: --prob, --rows and --method are about intervals: say --interval too.")
    check_goal("predict", said.output, (said.table, said.model))
    kind = format_for("predict", said.output, said.to)

    from bayesnb.data import open_writer

    model = loaded(said)
    with said.talk.progress("predicting", size_of(said.table)) as tell, whole(said.output) as stream:
        rows = 0
        with closing(open_writer(stream, kind, said.output.endswith(".gz"))) as writer:
            for answer in answers(said, model, kind, tell):
                writer.write(answer)
                rows += len(answer)
    said.talk.tell_unseen()
    if said.output != "-":
        said.talk.say(f"Wrote {said.output}: {rows:,} rows")


def loaded(said: argparse.Namespace) -> Any:
    """The model, which must be able to say what is asked."""
    from bayesnb import load

    model: Any = load(said.model)
    if said.interval and model.estimate != "predictive":
        raise ValueError(
            f"{said.model}: it predicts by the estimate {model.estimate!r}, and an interval is about the posterior, "
            "not about that. Fit with --estimate predictive."
        )
    return model


def size_of(table: str) -> int | None:
    from pathlib import Path

    return Path(table).stat().st_size if table != "-" and Path(table).is_file() else None


def answers(said: argparse.Namespace, model: Any, kind: str, tell: Any) -> Iterator[Any]:
    """What is written about the rows, batch by batch."""
    from bayesnb.data import beside
    from bayesnb.integrations.answers import SLOW, as_learnt, named_kinds, refuse_taken
    from bayesnb.integrations.many_files import where

    (sheet,) = opened(said, [said.table], tell, whole=False)
    kinds = named_kinds(model, sheet)
    for batch in sheet.batches(kinds, SLOW if said.interval else ROWS):
        try:
            found = predicted(said, model, as_learnt(model, batch.frame, sheet))
        except ValueError as error:
            raise ValueError(f"{where(sheet.name, batch.start, len(batch))}: {readable(error)}") from error
        if said.append:
            refuse_taken(sheet, found, sheet.columns, "leave out --append")
        yield beside(found, batch.kept_for(kind) if said.append else None)


def predicted(said: argparse.Namespace, model: Any, X: Any) -> dict[str, Any]:
    """The columns of the answer."""
    from bayesnb.integrations.answers import answered

    if not said.interval:
        return answered(model, X)
    rng = said.seed if said.method == "draws" else None
    return answered(model, X, {"ci_prob": said.prob, "rows": said.rows, "method": said.method, "rng": rng})
