"""`bayesnb fit`: tables in, a model in a file out."""

from argparse import Namespace
from collections import Counter
from typing import Any

from bayesnb.cli import command_options as options
from bayesnb.cli.messages import naming
from bayesnb.cli.output import check_inputs, check_model_output

EXAMPLES = """\
  bayesnb fit customers.csv --target churned -o churn.bnb
  bayesnb fit january.csv february.parquet --target churned -o churn.bnb
  bayesnb fit customers.csv --target churned --family zip,plan=categorical --family id=drop -o churn.bnb
  bayesnb fit customers.csv --target churned --prior 'age=NormalInverseGamma(mean=40, count=1, shape=2, scale=100)' \\
    -o churn.bnb
  bayesnb fit customers.csv --target churned --family zip,plan=joint --family age=gaussian:shared -o churn.bnb
  bayesnb fit mail.csv --target label --family 'w_*=multinomial' --prior 0.1 --temper loo -o mail.bnb"""
LISTED = 8  # columns of a family, and classes


def add(commands: Any) -> None:
    """Add the command and its options."""
    command = options.add_command(
        commands,
        "fit",
        EXAMPLES,
        notes=options.TABLES,
        help="fit a model to one or more tables and save it",
        description="Fit naive Bayes to the rows of one or more tables with the same columns, in any order, and save "
        "the model for `bayesnb predict`, and for bayesnb.load in Python. Prints the family of each column, how well "
        "the model predicts rows that were held out, and a verdict on that.",
    )
    command.add_argument(
        "tables", metavar="TABLE", nargs="+", help="a table; several tables are read as one"
    )
    command.add_argument("--target", metavar="COLUMN", required=True, help="the column of labels")
    command.add_argument(
        "-o",
        "--output",
        metavar="MODEL",
        required=True,
        help="the file to write, usually named MODEL.bnb",
    )
    options.add_estimate(options.add_model(command))
    options.add_seed(command, "no effect here: a fit draws nothing")
    options.add_reading(command)
    command.set_defaults(run=run)


def run(args: Namespace) -> None:
    """Fit, save, print what was inferred and the score."""
    check_model_output("fit", "-o", args.output, args.tables)
    check_inputs("fit", args.tables)

    from bayesnb.cli.training_table import (
        describe_held_out,
        describe_verdict,
        left_out,
        read_training,
    )
    from bayesnb.criticism.held_out_scores import observe_held_out, one_exponent, score_warnings

    training = read_training(args, args.tables)
    stages = args.console.stages
    stages.begin(f"learning from {len(training.y):,} rows")
    with naming(args.tables):
        model = training.model.fit(training.X, training.y)
    for line in description(args.target, model, training.y.tolist()):
        args.console.info(line)
    if not args.quiet:
        stages.begin("predicting each row by the model of all others")
        rows, log_proba = left_out(model, training.X, training.y)
        observed = observe_held_out(model, rows, log_proba, one_exponent(model, rows, log_proba))
        verdict = describe_verdict(observed, model.classes_.tolist())
        for line in (*describe_held_out(log_proba, rows.codes, model._selection_note()), *verdict):
            args.console.info(line)
        for warning in score_warnings(model, rows):
            args.console.warn(warning)
    model.save(args.output)
    args.console.info(f"Wrote {args.output}")


def description(target: str, model: Any, labels: list) -> list[str]:
    """Return lines about rows, classes, and the columns of each family; a block of columns has its own line."""
    from bayesnb.integrations.many_files import listed

    counts = Counter(labels)
    classes = [f"{label} {counts[label]:,}" for label in model.classes_.tolist()[:LISTED]]
    more = f", and {len(counts) - LISTED} more" if len(counts) > LISTED else ""
    lines = [f"{len(labels):,} rows, {len(counts)} classes of {target}: {', '.join(classes)}{more}"]
    groups: dict[tuple[str, Any], list[str]] = {}
    for key, family in model.families_.items():
        is_block = isinstance(key, tuple)
        groups.setdefault((family.option, key if is_block else None), []).extend(
            key if is_block else [key]
        )
    width = max(len(option) for option, _ in groups)
    for (option, _), names in groups.items():
        lines.append(f"  {option:<{width}}  {listed(names, LISTED).replace(repr(names[0])[0], '')}")
    lines.append("  To change the family of a column: --family COLUMN=FAMILY")
    if (links := model.schema_.links) is not None:
        lines.append(
            f"  linked by evidence: {listed(list(links.words), LISTED).replace(repr(links.words[0])[0], '')}"
        )
        lines.append("  To model columns as independent within a class: --dependence none")
    return lines
