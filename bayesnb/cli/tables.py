"""Rows that a command learns from or scores, read from tables in files."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

from bayesnb.cli.families import declared_columns, declared_families
from bayesnb.cli.options import ColumnOption
from bayesnb.data import FileSheet, Reading, looks_numeric, open_sheet, split_labels, stacked
from bayesnb.data.declaration import no_column
from bayesnb.data.levels import UnseenCollector
from bayesnb.data.sheets import Batch
from bayesnb.data.suspect_columns import describe_numeric_labels
from bayesnb.estimators import NaiveBayes
from bayesnb.integrations.file_kinds import kind_of_levels, of_text
from bayesnb.integrations.many_files import File, TableFiles, where
from bayesnb.integrations.predict_files import answered, as_learnt, named_kinds
from bayesnb.results.progress import bar

BATCH_ROWS = 1 << 14  # predicted at once
SLOW_BATCH_ROWS = 1 << 12  # with intervals
READING = ("format", "delimiter", "encoding", "decimal", "missing")
RULES = ("temper", "dependence", "estimate")
Options = Mapping[str, Any]


@contextmanager
def show_progress(what: str, paths: Sequence[str], quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show a bar of bytes on a terminal; yield the function that takes how many were read."""
    files = [Path(path) for path in paths if path != "-"]
    with bar(what, False if quiet else None, delay=0.5) as shown:
        shown.start(sum(file.stat().st_size for file in files if file.is_file()))
        yield shown.more


def open_tables(
    paths: Sequence[str], options: Options, advance: Callable[[int], None], *, whole: bool = True
) -> list[FileSheet]:
    """Open tables, `whole` if all their rows are read at once."""
    if options["delimiter"] == options["decimal"]:
        raise click.UsageError(f"--delimiter and --decimal are both {options['decimal']!r}.")
    reading = Reading(**{name: options[name] for name in READING})
    return [open_sheet(path, reading, advance, whole=whole) for path in paths]


def split_target(sheet: FileSheet, frame: Any, target: str) -> tuple[Any, Any]:
    """Return rows, and labels as a series with a name."""
    try:
        return split_labels(frame, target)[0], frame[target]
    except ValueError as error:
        raise ValueError(f"{sheet.name}: {error}") from None


def check_target(sheet: FileSheet, target: str) -> None:
    """Raise for a table without the column of labels."""
    if target not in sheet.columns:
        raise ValueError(f"{sheet.name}: --target: {no_column(target, sheet.columns)}")


# Learning


def read_training(
    paths: Sequence[str], target: str, options: Options, quiet: bool
) -> tuple[Any, Any, NaiveBayes]:
    """Return rows, labels and the estimator that is to learn them."""
    with show_progress("reading", paths, quiet) as advance:
        sheets = open_tables(paths, options, advance)
        tables = TableFiles([File(Path(path)) for path in paths], sheets)
        check_target(sheets[0], target)
        tables.check_same()
        columns = [name for name in tables.columns if name != target]
        declared = declared_columns(columns, options["family"])
        dropped = [name for name, option in declared.items() if option.value is None]
        kept = [name for name in columns if name not in dropped]
        if not kept:
            raise ValueError(f"{sheets[0].name}: no column is left to learn from.")
        kinds = {name: find_kind(tables, name, declared.get(name)) for name in kept}
        kinds[target] = "integer" if tables.kinds[target] == "integer" else "text"
        frame = stacked([sheet.read(kinds) for sheet in sheets])
    X, y = split_target(sheets[0], frame, target)
    check_labels(y, is_real=tables.kinds[target] == "number")
    if looks_numeric((*X.columns,)):
        warnings.warn(
            "the names of the columns are numbers: does the table lack its first line, with names?",
            stacklevel=1,
        )
    families = declared_families(X, declared, options["prior"])
    prior = options["class_prior"]
    if isinstance(prior, dict):
        labels = {str(label): label for label in y.unique().tolist()}
        prior = {labels.get(label, label): share for label, share in prior.items()}
    rules = {name: options[name] for name in RULES}
    return X, y, NaiveBayes(families, class_prior=prior, **rules)


def find_kind(tables: TableFiles, name: str, option: ColumnOption | None) -> str:
    """Return how a column is read: as its cells look, or as its family needs them."""
    kind = "number" if tables.kinds[name] == "empty" else tables.kinds[name]
    if option is None or not tables.is_text(name):
        return kind
    reads = of_text(kind, option.value)
    return kind if reads is None else reads.kind


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


# Scoring


def read_labelled(
    model: Any, path: str, target: str, options: Options, quiet: bool
) -> tuple[Any, Any]:
    """Return rows as a model learnt them, and their labels."""
    with show_progress("reading", [path], quiet) as advance:
        (sheet,) = open_tables([path], options, advance)
        check_target(sheet, target)
        is_integer = model.classes_.dtype.kind == "i"
        kind = "integer" if is_integer else kind_of_levels(model.classes_.tolist())
        frame = sheet.read({**named_kinds(model, sheet), target: kind})
    X, y = split_target(sheet, frame, target)
    unknown = sorted(set(y.tolist()) - set(model.classes_.tolist()))
    if unknown:
        raise ValueError(
            f"{sheet.name}: the label {unknown[0]!r} in column {target!r} was never learnt."
        )
    return as_learnt(model, X, sheet), y


def predict_batches(
    model: Any, sheet: FileSheet, interval: Mapping[str, Any] | None
) -> Iterator[tuple[Batch, dict[str, Any]]]:
    """Yield batches of rows with their predicted columns; warn once of all levels that are new."""
    unseen = UnseenCollector()
    rows = BATCH_ROWS if interval is None else SLOW_BATCH_ROWS
    for batch in sheet.batches(named_kinds(model, sheet), rows):
        try:
            with unseen.collected():
                columns = answered(model, as_learnt(model, batch.frame, sheet), interval)
        except ValueError as error:
            raise ValueError(f"{where(sheet.name, batch.start, len(batch))}: {error}") from error
        yield batch, columns
    unseen.warn()
