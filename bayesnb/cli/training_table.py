"""The rows that a command learns from or scores, read from tables, and the estimator that the options declare."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb.cli.column_families import declared, declared_families, family_name, parse_beliefs
from bayesnb.cli.column_warnings import warn_of_header_and_labels
from bayesnb.cli.messages import UsageError
from bayesnb.data import Reading, open_sheet, open_table, split_labels, stacked
from bayesnb.data.declaration import no_column
from bayesnb.data.labels import encode
from bayesnb.estimators import NaiveBayes
from bayesnb.families import FAMILIES
from bayesnb.integrations.many_files import listed
from bayesnb.integrations.predict_files import refuse_lacking
from bayesnb.model.product import Rows
from bayesnb.selection.leave_one_out import loo_log_proba

FITTING = {"number": ("integer", "number", "empty"), "flag": ("flag", "integer", "number", "empty")}


@dataclass(frozen=True, eq=False)
class Training:
    """Rows, their labels, and the estimator that is to learn them."""

    X: Any
    y: Any
    model: Any
    kinds: Mapping[str, str]  # how each column was read, that of the labels included


def read_training(args: Any, paths: Sequence[str], *, keep_dropped: bool = False) -> Training:
    """Read the tables, split off the labels, and choose the families."""
    parse_beliefs(args.prior)  # so that an error in them comes before the work
    with reading_bar(args, paths) as advance:
        sheets = open_tables(args, paths, advance)
        for sheet in sheets:
            check_target(sheet, args.target)
        source, features = (
            sheets[0].name,
            [name for name in sheets[0].columns if name != args.target],
        )
        families = declared(features, args.family)
        summaries = dict(sheets[0].summaries)
        for sheet in sheets[1:]:
            summaries = {
                name: summary + sheet.summaries[name] for name, summary in summaries.items()
            }
        kinds = kinds_of(summaries, families, args.target)
        dropped = {name for name, (family, _) in families.items() if family == "drop"}
        kept = {name for name in dropped if keep_dropped and summaries[name].is_plain}
        kinds = {name: kind for name, kind in kinds.items() if name not in dropped - kept}
        frame = stacked([sheet.read(kinds) for sheet in sheets])
    X, y = split_target(source, frame, args.target)
    check_labels(source, args.target, y, summaries[args.target].kind)
    check_columns(source, X, families)
    warn_of_header_and_labels(args.console, X, y)
    return Training(X, y, declared_estimator(args, X, y, families), kinds)


def read_test(args: Any, path: str, training: Training) -> tuple[Any, Any]:
    """Read the rows and labels of a table that is scored: the columns that were learnt, of the same types."""
    kinds = {
        name: "number" if kind == "integer" and name != args.target else kind
        for name, kind in training.kinds.items()
    }
    with reading_bar(args, [path]) as advance:
        (sheet,) = open_tables(args, [path], advance)
        check_target(sheet, args.target)
        refuse_lacking(sheet, list(kinds), "the table that is learnt from")
        X, y = split_target(sheet.name, sheet.read(kinds), args.target)
    unknown = sorted(set(y.tolist()) - set(training.y.tolist()))
    if unknown:
        raise ValueError(
            f"{sheet.name}: the labels {listed(unknown)} in column {args.target!r} were never learnt."
        )
    return X, y


# Files


def open_tables(
    args: Any, paths: Sequence[str], advance: Any = None, *, whole: bool = True
) -> list[Any]:
    """Open tables that have the same columns, in any order; `whole` if all their rows are read at once."""
    if args.delimiter is not None and args.delimiter == args.decimal:
        raise UsageError(f"--delimiter and --decimal are both {args.decimal!r}.")
    reading = Reading(args.format, args.delimiter, args.encoding, args.decimal, args.missing)
    first, *others = sheets = [open_sheet(path, reading, advance, whole=whole) for path in paths]
    for sheet in others:
        lacks = [name for name in first.columns if name not in sheet.columns]
        extra = [name for name in sheet.columns if name not in first.columns]
        if lacks or extra:
            what = [f"lacks {listed(lacks)}"] * bool(lacks) + [f"also has {listed(extra)}"] * bool(
                extra
            )
            raise ValueError(
                f"{sheet.name} {' and '.join(what)}, unlike {first.name}: tables need the same columns."
            )
    return sheets


def reading_bar(args: Any, paths: Sequence[str]) -> AbstractContextManager[Any]:
    """Show a bar of the bytes that are read."""
    files = [path for path in paths if path != "-" and Path(path).is_file()]
    total = sum(Path(path).stat().st_size for path in files)
    return args.console.progress("reading", total if len(files) == len(paths) else None)


def kinds_of(
    summaries: Mapping[str, Any], families: Mapping[str, tuple[str, int]], target: str
) -> dict[str, str]:
    """Return how each column is read: as its cells look, or as its declared family needs them."""
    kinds = {name: summary.kind for name, summary in summaries.items()}
    for name, (option, _) in families.items():
        family, kind = FAMILIES.get(family_name(option)), kinds[name]
        if family is None or family.has_levels:
            kinds[name] = "text"
        elif not (family.words and kind == "words"):
            needed = "flag" if family.outcomes else "number"
            kinds[name] = kind if kind in FITTING[needed] else needed
    return kinds | {target: "integer" if summaries[target].kind == "integer" else "text"}


def split_target(source: str, frame: Any, target: str) -> tuple[Any, Any]:
    """Return rows and labels; the error about missing labels names the table."""
    try:
        return split_labels(frame, target)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


# Checks


def check_target(sheet: Any, target: str) -> None:
    """Raise for a table without the column of labels."""
    if target not in sheet.columns:
        raise ValueError(f"{sheet.name}: --target: {no_column(target, sheet.columns)}")


def check_labels(source: str, target: str, y: Any, kind: str) -> None:
    """Raise for labels that are amounts, or are all the same."""
    labels = np.unique(y.astype(str) if y.dtype == object else y)
    if kind == "number" and len(labels) > max(len(y) / 2, 2):
        raise ValueError(
            f"{source}: the labels in column {target!r} are real numbers, {len(labels)} different ones in {len(y)} "
            "rows. This predicts classes, not amounts: replace the numbers by classes, such as low and high."
        )
    if len(labels) == 1:
        raise ValueError(
            f"{source}: column {target!r} has only one class, {str(labels[0])!r} in all {len(y)} rows. At least "
            "two are needed."
        )


def check_columns(source: str, X: Any, families: Mapping[str, tuple[str, int]]) -> None:
    """Raise for a table without columns to learn from, and for a column without cells."""
    used = [name for name in X.columns if families.get(name, ("",))[0] != "drop"]
    if not used:
        raise ValueError(f"{source}: no column is left to learn from, besides that of the labels.")
    empty = [name for name in used if X[name].isna().all()]
    if empty:
        more = f" (and {len(empty) - 1} more)" if len(empty) > 1 else ""
        drop = ",".join(empty) if len(empty) < 5 else empty[0]
        raise ValueError(
            f"{source}: column {empty[0]!r}{more} is empty: all {len(X)} cells are missing. "
            f"Leave it out: --family '{drop}=drop'."
        )


# Models


def declared_estimator(
    args: Any, X: Any, y: Any, families: Mapping[str, tuple[str, int]]
) -> NaiveBayes:
    """Return the estimator that the options declare for this table."""
    class_prior = args.class_prior
    if isinstance(class_prior, dict) and y.dtype.kind == "i":
        class_prior = {
            int(label) if label.lstrip("+-").isdigit() else label: share
            for label, share in class_prior.items()
        }
    chosen = {name: family for name, family in families.items() if name in X.columns}
    declared = declared_families(X, chosen, args.prior)
    rules = {"temper": args.temper, "dependence": args.dependence, "estimate": args.estimate}
    return NaiveBayes(declared, class_prior=class_prior, **rules)


def describe_held_out(log_proba: Any, codes: Any, selection: str) -> list[str]:
    """Return lines on how well every row is predicted by all others, `(r, c), (r,)`, scored as `NaiveBayes.loo`.

    `selection` says what the rows chose, and which of it a held-out row leaves.
    """
    scores = log_proba[np.arange(len(codes)), codes]
    undefined = int(np.isnan(scores).sum())
    if undefined:
        return [
            f"Leave-one-out: no score, because {undefined:,} of the rows cannot be left out: the rest of the class "
            "does not determine a distribution."
        ]
    accuracy = float((log_proba.argmax(axis=1) == codes).mean())
    error = (
        f" ± {np.sqrt(len(scores) * scores.var(ddof=1)):.2f}" if np.isfinite(scores).all() else ""
    )
    line = (
        f"Leave-one-out: accuracy {100 * accuracy:.1f} %, log score {scores.sum():.2f}{error} over all rows "
        f"(log loss {0.0 - scores.mean():.4f} a row)"
    )
    return [line, selection] if selection else [line]


def describe_verdict(observed: Any, classes: Sequence[Any]) -> list[str]:
    """Return lines with the baselines of the scores and the verdict; none, where no row can be held out."""
    if observed is None:
        return []
    from bayesnb.selection.verdict import TEMPERED, judge

    verdict = judge(observed, classes)
    if verdict.probabilities == TEMPERED:
        verdict = replace(verdict, probabilities=f"{TEMPERED} (--temper loo)")
    return [
        f"Baselines: accuracy {100 * observed.majority:.1f} % by always answering the most frequent class, log loss "
        f"{observed.shares_loss:.4f} a row by the shares of the classes",
        f"Verdict: {verdict}",
    ]


def left_out(model: Any, X: Any, y: Any) -> tuple[Rows, Any]:
    """Return the rows of a fit, and log p(y | x, all rows but this one) of each, `(r, c)`."""
    codes = encode(np.asarray(y), model.classes_)
    rows = Rows(model.schema_.observers, model.schema_.read(open_table(X)), codes)
    return rows, loo_log_proba(model.model_, rows, model._way("label"), n_jobs=model.n_jobs)
