"""Rows that a command learns from or scores, read from tables in files."""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click
import numpy as np

from bayesnb.cli.families import list_families, match_columns
from bayesnb.cli.output import Console
from bayesnb.data.checks import describe_numeric_labels
from bayesnb.data.files import Reading, open_reader, refuse_missing_labels
from bayesnb.estimators import NaiveBayes
from bayesnb.progress import bar
from bayesnb.scale.files import as_learnt, kinds_of_columns
from bayesnb.scale.many_files import TableFiles, kind_of_levels, kinds_to_learn

READING = ("delimiter", "encoding", "decimal", "missing")
RULES = ("temper", "dependence", "estimate")
Options = Mapping[str, Any]


@contextmanager
def open_tables(
    console: Console, what: str, paths: Sequence[str], options: Options
) -> Iterator[TableFiles]:
    """Open tables, and show how much of them is read."""
    if options["delimiter"] == options["decimal"]:
        raise click.UsageError(f"--delimiter and --decimal are both {options['decimal']!r}.")
    reading = Reading(**{name: options[name] for name in READING})
    with bar(what, False if console.quiet else None, delay=0.5) as shown:
        tables = TableFiles([open_reader(path, reading, shown.watch) for path in paths])
        shown.start(tables.size)
        yield tables


def learn(
    console: Console, paths: Sequence[str], target: str, options: Options
) -> tuple[Any, Any, NaiveBayes]:
    """Return the rows and labels of tables, and the model that has learnt them."""
    with open_tables(console, "reading", paths, options) as tables:
        tables.check_there([target], "target")
        tables.check_same()
        columns = [name for name in tables.columns if name != target]
        declared = dict(match_columns("--family", columns, options["family"]))
        families = {name: option.value for name, option in declared.items()}
        kept = [name for name in columns if families.get(name, "auto") is not None]
        if not kept:
            raise ValueError(f"{tables.name}: no column is left to learn from.")
        kinds, _ = kinds_to_learn(tables, kept, families)
        kinds[target] = "integer" if tables.kinds[target] == "integer" else "text"
        frame = tables.read(kinds)
    X = frame.drop(columns=target)
    y = frame[target]
    refuse_missing_labels(tables.name, y)
    check_labels(y, is_real=tables.kinds[target] == "number")
    if len(X.columns) > 1 and all(re.fullmatch(r"[+-]?[0-9.]+", name) for name in X.columns):
        warnings.warn(
            "the names of the columns are numbers: does the table lack its first line, with names?",
            stacklevel=1,
        )
    prior = options["class_prior"]
    if isinstance(prior, dict):
        labels = {str(label): label for label in y.unique().tolist()}
        prior = {labels.get(label, label): share for label, share in prior.items()}
    rules = {name: options[name] for name in RULES}
    families = list_families(X, declared, options["prior"])
    console.stages.begin(f"learning from {len(y):,} rows")
    return X, y, NaiveBayes(families, class_prior=prior, **rules).fit(X, y)


def check_labels(y: Any, is_real: bool) -> None:
    """Raise for labels that are amounts or all the same; warn of labels that are numbers."""
    labels = y.unique()
    if is_real and len(labels) > max(len(y) / 2, 2):
        raise ValueError(
            f"the labels in column {y.name!r} are real numbers, {len(labels):,} different ones in "
            f"{len(y):,} rows. This predicts classes, not amounts: replace the numbers by classes, "
            "such as low and high."
        )
    if len(labels) == 1:
        raise ValueError(
            f"column {y.name!r} has only one class, {str(labels[0])!r} in all {len(y):,} rows. "
            "At least two are needed."
        )
    message = describe_numeric_labels(np.asarray(labels))
    if message:
        warnings.warn(message, stacklevel=1)


def read_labelled(
    console: Console, model: Any, path: str, target: str, options: Options
) -> tuple[Any, Any]:
    """Return rows as a model learnt them, and their labels."""
    classes = model.classes_.tolist()
    with open_tables(console, "reading", [path], options) as tables:
        tables.check_there([target], "target")
        is_integer = model.classes_.dtype.kind == "i"
        kind = "integer" if is_integer else kind_of_levels(classes)
        frame = tables.read({**kinds_of_columns(model, tables), target: kind})
    y = frame[target]
    refuse_missing_labels(tables.name, y)
    unknown = sorted(set(y.tolist()) - set(classes))
    if unknown:
        raise ValueError(
            f"{tables.name}: the label {unknown[0]!r} in column {target!r} was never learnt."
        )
    return as_learnt(model, frame, tables), y
