"""Lines about a fitted model: its columns, and how well it predicts rows with labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesnb.formatting import list_names
from bayesnb.report import Facts
from bayesnb.selection.verdict import judge

MAX_NAMES_LISTED = 8


def describe_model(model: Any, y: Any) -> list[str]:
    """Return lines about rows, classes, the columns of each family, and links."""
    counts = y.value_counts()
    classes = [f"{label} {counts[label]:,}" for label in model.classes_.tolist()]
    lines = [
        f"{len(y):,} rows, {len(classes)} classes of {y.name}: "
        f"{list_names(classes, MAX_NAMES_LISTED)}"
    ]
    lines += [f"  {family}" for family in model.schema_.reading.split("; ")]
    if model.schema_.links is not None:
        lines.append(f"  links: {list_names(list(model.schema_.links.words), MAX_NAMES_LISTED)}")
    return lines


def describe_scores(facts: Facts) -> list[str]:
    """Return lines about the rows, each predicted by the model of all others."""
    observed = facts.held_out.observed
    if observed is None:
        return [
            "Leave-one-out: no score, as the other rows leave no distribution of a row's class."
        ]
    scores = facts.label_log_proba
    scores = scores[~np.isnan(scores)]
    with np.errstate(invalid="ignore"):
        error = np.sqrt(scores.size * scores.var(ddof=1))
    return [
        f"Leave-one-out: accuracy {100 * observed.accuracy:.1f} %, "
        f"log score {scores.sum():.2f} ± {error:.2f} over {scores.size:,} rows "
        f"(log loss {observed.log_loss:.4f} a row)",
        facts.model._selection_note(),
        f"Baselines: accuracy {100 * observed.majority:.1f} % by always answering the most "
        f"frequent class, log loss {observed.shares_loss:.4f} a row by the shares of the classes",
        f"Verdict: {judge(observed, facts.classes)}",
    ]


def score_rows(classes: Any, labels: Any, columns: Mapping[str, Any]) -> Any:
    """Return how many rows have a label that was learnt, how many are right, and their log loss."""
    places = {str(label): place for place, label in enumerate(classes.tolist())}
    codes = np.array([places.get(str(label), -1) for label in labels.tolist()])
    rows = np.flatnonzero(codes >= 0)
    proba = np.column_stack([columns[name] for name in columns if name.startswith("p_")])[rows]
    with np.errstate(divide="ignore"):
        loss = -np.log(proba[np.arange(len(rows)), codes[rows]]).sum()
    return np.array([len(rows), (proba.argmax(axis=1) == codes[rows]).sum(), loss])


def describe_total(target: str, total: Any) -> str:
    """Return a line about the sums of `score_rows`; nothing where no row has a label."""
    rows, right, loss = total
    if rows == 0:
        return ""
    return (
        f"Score by column {target!r}: accuracy {100 * right / rows:.1f} %, "
        f"log loss {loss / rows:.4f} a row, over {int(rows):,} rows"
    )
