"""Rows to fit or to score: reading tables, families of columns, and scores."""

import fnmatch
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import click
import numpy as np

from bayesnb.cli.options import ALL, ColumnOption
from bayesnb.cli.output import Console
from bayesnb.data import open_table
from bayesnb.data.checks import describe_numeric_labels
from bayesnb.data.families import families_of
from bayesnb.data.files import Reading, open_reader, refuse_missing_labels
from bayesnb.estimators import NaiveBayes
from bayesnb.estimators.cross_validation import describe_selection
from bayesnb.families.base import Array
from bayesnb.formatting import no_column
from bayesnb.progress import bar
from bayesnb.scale.files import as_learnt, kinds_of_columns
from bayesnb.scale.many_files import TableFiles, kind_of_levels, kinds_to_learn
from bayesnb.selection.leave_one_out import Pointwise

READING = ("delimiter", "encoding", "decimal", "missing")
RULES = ("temper", "dependence", "estimate")
Options = Mapping[str, Any]
Matches = list[tuple[str, ColumnOption]]


@contextmanager
def open_tables(
    console: Console, what: str, paths: Sequence[str], options: Options
) -> Iterator[TableFiles]:
    """Open tables, with a progress bar for reading them."""
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
    """Return the rows and labels of tables, and a model fitted to them."""
    with open_tables(console, "reading", paths, options) as tables:
        tables.check_there([target], "target")
        tables.check_same()
        columns = [name for name in tables.columns if name != target]
        declared = dict(match_columns("--family", columns, options["family"]))
        families = {name: option.value for name, option in declared.items()}
        kinds, _ = kinds_to_learn(tables, columns, families)
        kinds[target] = "integer" if tables.kinds[target] == "integer" else "text"
        frame = tables.read(kinds)
    X = frame.drop(columns=target)
    y = frame[target]
    refuse_missing_labels(tables.name, y)
    check_labels(y, is_real=tables.kinds[target] == "number")
    if all(re.fullmatch(r"[+-]?[0-9.]+", name) for name in X.columns):
        warnings.warn(
            "all column names are numbers: is the header line missing?",
            stacklevel=1,
        )
    prior = options["class_prior"]
    if isinstance(prior, dict):
        labels = {str(label): label for label in y.unique().tolist()}
        prior = {labels.get(label, label): share for label, share in prior.items()}
    rules = {name: options[name] for name in RULES if name in options}
    families = list_families(X, declared, options["prior"])
    console.stages.begin(f"fitting {len(y):,} rows")
    rules["missing"] = options["missing_cells"]
    return X, y, NaiveBayes(families, class_prior=prior, **rules).fit(X, y)


def check_labels(y: Any, is_real: bool) -> None:
    """Raise for continuous or constant labels; warn about numeric labels."""
    labels = y.unique()
    if is_real and len(labels) > max(len(y) / 2, 2):
        raise ValueError(
            f"the labels in column {y.name!r} are real numbers, {len(labels):,} different ones in "
            f"{len(y):,} rows. bayesnb predicts classes, not numbers: replace the numbers by "
            "classes such as low and high."
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
    console: Console, model: Any, path: str, target: str | None, options: Options
) -> tuple[Any, Any]:
    """Return rows with the columns of a model, and their labels if a column is given."""
    classes = model.classes_.tolist()
    with open_tables(console, "reading", [path], options) as tables:
        if target is None:
            return as_learnt(model, tables.read(kinds_of_columns(model, tables)), tables), None
        tables.check_there([target], "target")
        is_integer = model.classes_.dtype.kind == "i"
        kind = "integer" if is_integer else kind_of_levels(classes)
        frame = tables.read({**kinds_of_columns(model, tables), target: kind})
    y = frame[target]
    refuse_missing_labels(tables.name, y)
    unknown = sorted(set(y.tolist()) - set(classes))
    if unknown:
        raise ValueError(
            f"{tables.name}: the label {unknown[0]!r} in column {target!r} is not a class of the "
            "model."
        )
    return as_learnt(model, frame, tables), y


def learn_sets(
    console: Console, model: Any, path: str, target: str | None, options: Options, coverage: float
) -> Callable[[Any], Any]:
    """Return a function that predicts sets of labels, given the training rows of a model."""
    from bayesnb import prediction_sets

    if target is None:
        raise click.UsageError(f"which column of {path} holds the labels? Use --target COLUMN.")
    X, y = read_labelled(console, model, path, target, options)
    return partial(prediction_sets(model, X, y).predict, coverage=coverage)


# Families, from `--family`, `--prior` and what the columns hold


def match_columns(flag: str, columns: Sequence[str], options: Sequence[ColumnOption]) -> Matches:
    """Return columns and their options: first those for `ALL`, then by pattern, then by name."""
    ranks: list[Matches] = [[], [], []]
    for option in options:
        for pattern in option.names:
            is_name = pattern in columns
            matches = [pattern] if is_name else fnmatch.filter(columns, pattern)
            if not matches:
                raise ValueError(f"{flag}: {no_column(pattern, columns)}")
            rank = ranks[is_name + (pattern != ALL)]
            taken = {column for column, _ in rank}.intersection(matches)
            if taken and (flag, pattern) != ("--prior", ALL):  # these may fit different columns
                raise click.UsageError(f"{flag} declares column {min(taken)!r} twice.")
            rank += [(column, option) for column in matches]
    return [match for rank in ranks for match in rank]


def list_families(X: Any, declared: Mapping[str, Any], priors: Sequence[ColumnOption]) -> Any:
    """Return the parameter `families`: declared columns, and columns with a prior."""
    families = {name: declared[name].value for name in X.columns if name in declared}
    if priors:
        families |= apply_priors(X, families, priors)
    blocks: dict[Any, list[str]] = {}
    for name, family in families.items():
        is_block = family.multivariate and name in declared
        blocks.setdefault(id(declared[name]) if is_block else name, []).append(name)
    for names in blocks.values():
        if len({repr(families[name]) for name in names}) > 1:
            raise ValueError(f"--prior: {', '.join(names)} are one block and need one prior.")
    return {tuple(names): families[names[0]] for names in blocks.values()} or "auto"


def apply_priors(
    X: Any, declared: Mapping[str, Any], priors: Sequence[ColumnOption]
) -> dict[str, Any]:
    """Return the families of the columns with a prior, with this prior.

    Where no family is declared, the candidates of the automatic choice are considered.
    """
    candidates: dict[str, Sequence[Any]] = {}
    for family, places in families_of("auto", open_table(X)):
        for name in X.columns[places]:
            candidates[name] = getattr(family, "candidates", [family])
    for name, family in declared.items():
        candidates[name] = [family]
    families = {}
    used = set()
    for name, option in match_columns("--prior", [*candidates], priors):
        family = find_family(candidates[name], option.value)
        if family is not None:
            families[name] = family
            used.add(option)
        elif option.names != (ALL,):
            raise ValueError(
                f"--prior {option.text} does not fit column {name!r}, which is "
                f"{candidates[name][0].option}."
            )
    for option in priors:
        if option not in used:
            raise ValueError(f"--prior {option.text} does not fit any column.")
    return families


def find_family(candidates: Sequence[Any], prior: Any) -> Any:
    """Return the first family that a prior fits, with it; a number fits only the first family."""
    for family in candidates:
        if isinstance(prior, float):
            return replace(family, prior=prior) if family.number_prior() else None
        if family.conjugate is type(prior):
            return replace(family, prior=prior)
    return None


# Scores


def show_scores(console: Console, facts: Any) -> None:
    """Print leave-one-out scores and the verdict; warn where the scores are too good."""
    from bayesnb.report.checks import WARNING, find_copies, find_width

    observed = facts.observed
    if observed is None:
        console.info(
            "Leave-one-out: no score, as a class has no proper posterior without one of its rows."
        )
    else:
        scores = facts.label_log_proba[~np.isnan(facts.label_log_proba)]
        sums = Pointwise(scores, scores)
        console.info(
            f"Leave-one-out: accuracy {100 * observed.accuracy:.1f} %, log score "
            f"{sums.total:.2f} ± {sums.se:.2f} (sum over {sums.rows:,} rows ± standard error), "
            f"log loss {observed.log_loss:.4f} per row",
            describe_selection(facts.model),
            f"Baselines: accuracy {100 * observed.majority:.1f} % (most frequent class), "
            f"log loss {observed.shares_loss:.4f} per row (class shares in the other rows)",
            f"Verdict: {facts.verdict}",
        )
    for find in (find_copies, find_width):
        state, *sentences = find(facts)
        if state == WARNING:
            warnings.warn(" ".join(sentences), stacklevel=2)


@dataclass(eq=False)
class Score:
    """Accuracy and log loss of rows whose labels are in the table, summed over batches."""

    target: str
    rows: int = 0
    right: int = 0
    loss: float = 0.0

    def add(self, classes: Array, labels: Any, proba: Array) -> None:
        """Add the rows whose label is a class of the model."""
        names = classes.astype(str)
        texts = np.array(labels.tolist(), str)
        if classes.dtype == bool:  # true and TRUE are the flag True
            names = np.char.lower(names)
            texts = np.char.lower(texts)
        is_label = texts[:, None] == names  # `(r, c)`, at most one class per row
        self.rows += is_label.sum()
        self.right += is_label[np.arange(len(texts)), proba.argmax(axis=1)].sum()
        with np.errstate(divide="ignore"):
            self.loss -= np.log(proba[is_label]).sum()

    def __str__(self) -> str:
        return (
            f"Scored by column {self.target!r}: accuracy {100 * self.right / self.rows:.1f} %, "
            f"log loss {self.loss / self.rows:.4f} per row, over {self.rows:,} rows"
        )
