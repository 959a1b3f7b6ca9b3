"""`bayesnb fit`: tables in, a model in a file out."""

import argparse
from collections import Counter
from typing import Any

from bayesnb.cli import options
from bayesnb.cli.families import word_of
from bayesnb.cli.output import check_goal
from bayesnb.cli.problems import UsageError, naming
from bayesnb.cli.tables import some

EXAMPLES = """\
  bayesnb fit customers.csv --target churned -o churn.bnb
  bayesnb fit january.csv february.parquet --target churned -o churn.bnb
  bayesnb fit customers.csv --target churned --family zip,plan=categorical --family id=drop -o churn.bnb
  bayesnb fit customers.csv --target churned --prior 'age=NormalInverseGamma(mean=40, count=1, shape=2, scale=100)' \\
    -o churn.bnb
  bayesnb fit customers.csv --target churned --family zip,plan=joint --family age=gaussian:shared -o churn.bnb
  bayesnb fit mail.csv --target label --family 'w_*=multinomial' --prior 0.1 --temper loo -o mail.bnb"""
NAMES = 8  # columns of a family that are listed
CLASSES = 8


def add(commands: Any) -> None:
    """The command and its options."""
    command = options.new_command(
        commands,
        "fit",
        EXAMPLES,
        more=options.TABLES,
        help="fit a model to one or more tables and save it",
        description="Fit naive Bayes to the rows of one or more tables with the same columns, in any order, and save "
        "the model: the whole posterior, from which `bayesnb predict` and bayesnb.load go on. Says what each column "
        "was taken for, and how well the model predicts each row without having seen it.",
    )
    command.add_argument("tables", metavar="TABLE", nargs="+", help="a table; several are taken as one")
    command.add_argument("--target", metavar="COLUMN", required=True, help="the column of labels")
    command.add_argument("-o", "--output", metavar="MODEL", required=True, help="the file, by habit MODEL.bnb")
    options.add_model(command)
    options.add_estimate(command)
    options.add_seed(command, "of whatever is drawn; a fit draws nothing")
    options.add_reading(command)
    command.set_defaults(run=run)


def run(said: argparse.Namespace) -> None:
    """Fit, save, say what was inferred and the score."""
    if said.output == "-":
        raise UsageError("fit: a model is a file: say -o MODEL.bnb.")
    check_goal("fit", said.output, tuple(said.tables))

    from bayesnb.cli.training import held_out, lesson

    own = lesson(said, said.tables, keep_dropped=False)
    with naming(said.tables):
        model = own.model.fit(own.X, own.y)
    for line in described(said.target, model, own):
        said.talk.say(line)
    if not said.quiet:
        said.talk.say(held_out(model, own.X, own.y))
    model.save(said.output)
    said.talk.say(f"Wrote {said.output}")


def described(target: str, model: Any, own: Any) -> list[str]:
    """Rows, classes, and which columns are of which family."""
    counts = Counter(own.y.tolist())
    classes = [f"{label} {counts[label]:,}" for label in model.classes_.tolist()[:CLASSES]]
    more = f", and {len(counts) - CLASSES} more" if len(counts) > CLASSES else ""
    lines = [f"{len(own.y):,} rows, {len(counts)} classes of {target}: {', '.join(classes)}{more}"]
    groups: dict[tuple[str, Any], list[str]] = {}
    for key, family in model.families_.items():
        together = isinstance(key, tuple)  # a block, which has a line of its own
        groups.setdefault((word_of(family), key if together else None), []).extend(key if together else [key])
    width = max(len(word) for word, _ in groups)
    for (word, _), names in groups.items():
        lines.append(f"  {word:<{width}}  {some(names, NAMES).replace(repr(names[0])[0], '')}")
    return lines
