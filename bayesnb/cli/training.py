"""What is learnt from: the columns and labels of one or more tables, the estimator that the options mean, its score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.cli.advice import advise
from bayesnb.cli.families import beliefs, declared, families_of
from bayesnb.cli.tables import check_target, kinds_of, looks_of, opened, reading_bar


@dataclass(frozen=True, eq=False)
class Lesson:
    """Rows, their labels, and the estimator that is to learn them."""

    X: Any
    y: Any
    model: Any
    kinds: Mapping[str, str]  # as what each column was read, that of labels included


def lesson(said: Any, paths: Sequence[str], *, keep_dropped: bool) -> Lesson:
    """Read the tables, split off the labels, and choose the families."""
    from bayesnb.data import stacked

    beliefs(said.prior)  # an error in them is found before the work
    with reading_bar(said, paths) as tell:
        sheets = opened(said, paths, tell)
        for sheet in sheets:
            check_target(sheet, said.target)
        features = [name for name in sheets[0].columns if name != said.target]
        families = declared(features, said.family)
        looks = looks_of(sheets)
        kinds = kinds_of(looks, families, said.target)
        dropped = {name for name, (family, _) in families.items() if family == "drop"}
        kept = {name for name in dropped if keep_dropped and looks[name].is_plain}
        kinds = {name: kind for name, kind in kinds.items() if name not in dropped - kept}
        frame = stacked([sheet.read(kinds) for sheet in sheets])
    X, y = labelled(sheets[0].name, frame, said.target, looks[said.target].kind)
    check_columns(sheets[0].name, X, families)
    advise(said.talk, X, y, {name: look for name, look in looks.items() if name not in families})
    return Lesson(X, y, estimator(said, X, y, families), kinds)


def estimator(said: Any, X: Any, y: Any, families: Mapping[str, tuple[str, int]]) -> Any:
    """The estimator that the options mean for this table."""
    from bayesnb import NaiveBayes

    prior = said.class_prior
    if isinstance(prior, dict) and y.dtype.kind == "i":
        prior = {int(label) if label.lstrip("+-").isdigit() else label: share for label, share in prior.items()}
    chosen = {name: own for name, own in families.items() if name in X.columns}
    return NaiveBayes(
        families_of(X, chosen, said.prior),
        class_prior=prior,
        temper=said.temper,
        estimate=getattr(said, "estimate", "predictive"),  # a comparison says its own
    )


def labelled(source: str, frame: Any, target: str, kind: str) -> tuple[Any, Any]:
    """Rows and labels; an error if those are missing, are amounts, or are all the same."""
    from bayesnb.data import split_labels

    try:
        X, y = split_labels(frame, target)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    labels = np.unique(y.astype(str) if y.dtype == object else y)
    if kind == "number" and len(labels) > max(len(y) / 2, 2):
        raise ValueError(
            f"{source}: the labels in column {target!r} are real numbers, {len(labels)} different ones in {len(y)} "
            "rows. "
            "Classes are predicted, not amounts: write classes into the column, such as low and high."
        )
    if len(labels) == 1:
        raise ValueError(
            f"{source}: column {target!r} has one class only, {str(labels[0])!r} in all {len(y)} rows: there is "
            "nothing to tell apart."
        )
    return X, y


def check_columns(source: str, X: Any, families: Mapping[str, tuple[str, int]]) -> None:
    """Raise for a table without columns to learn from, and for a column without cells."""
    used = [name for name in X.columns if families.get(name, ("",))[0] != "drop"]
    if not used:
        raise ValueError(f"{source}: no column is left to learn from, beside that of the labels.")
    empty = [name for name in used if X[name].isna().all()]
    if empty:
        more = f" (and {len(empty) - 1} more)" if len(empty) > 1 else ""
        drop = ",".join(empty) if len(empty) < 5 else empty[0]
        raise ValueError(
            f"{source}: column {empty[0]!r}{more} is empty: all {len(X)} cells are missing, so nothing can be learnt "
            f"from it. Leave it out: --family '{drop}=drop'."
        )


def held_out(model: Any, X: Any, y: Any) -> str:
    """How well every row is predicted by all others, as `Classifier.loo` scores it."""
    from bayesnb.data import open_table
    from bayesnb.data.labels import encode
    from bayesnb.model.product import Rows
    from bayesnb.selection.leave_one_out import Way, loo_log_proba

    codes = encode(np.asarray(y), model.classes_)
    rows = Rows(model.schema_.observers, model.schema_.read(open_table(X)), codes)
    found = loo_log_proba(model.model_, rows, Way(model.estimate, model.temper_), n_jobs=model.n_jobs)
    own = found[np.arange(len(codes)), codes]
    undefined = int(np.isnan(own).sum())
    if undefined:
        return (
            f"Held out one row at a time: no score, as without {undefined:,} of the rows, each by itself, its class "
            "has no distribution."
        )
    right = float((found.argmax(axis=1) == codes).mean())
    error = "" if not np.isfinite(own).all() else f" ± {np.sqrt(len(own) * own.var(ddof=1)):.2f}"
    return (
        f"Held out one row at a time, exactly: accuracy {100 * right:.1f} %, log score {own.sum():.2f}{error} "
        f"(log loss {0.0 - own.mean():.4f} a row)"
    )
