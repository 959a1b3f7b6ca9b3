"""Lines about a fitted model: its columns, and how well it predicts rows that were held out."""

import warnings
from typing import Any

import numpy as np

from bayesnb.cli.output import Console
from bayesnb.estimators.cross_validation import describe_selection
from bayesnb.report import Facts
from bayesnb.report.checks import WARNING, find_copies, find_width
from bayesnb.selection.leave_one_out import Pointwise


def describe_model(model: Any) -> list[str]:
    """Return lines about the model as a whole, and the columns of each family."""
    return [*model.summary().lines, *model.schema_.reading.split("; ")]


def describe_scores(facts: Facts) -> list[str]:
    """Return lines about the rows, each predicted by the model of all others."""
    observed = facts.observed
    if observed is None:
        return [
            "Leave-one-out: no score, as the other rows leave no distribution of a row's class."
        ]
    scores = facts.label_log_proba[~np.isnan(facts.label_log_proba)]
    sums = Pointwise(scores, scores)
    return [
        f"Leave-one-out: accuracy {100 * observed.accuracy:.1f} %, "
        f"log score {sums.total:.2f} ± {sums.se:.2f} over {sums.rows:,} rows "
        f"(log loss {observed.log_loss:.4f} a row)",
        describe_selection(facts.model),
        f"Baselines: accuracy {100 * observed.majority:.1f} % by always answering the most "
        f"frequent class, log loss {observed.shares_loss:.4f} a row by the shares of the "
        "classes in the other rows",
        f"Verdict: {facts.verdict}",
    ]


def show_scores(console: Console, facts: Facts) -> None:
    """Print how well rows are predicted that were held out, and warn where that is too good."""
    console.info(*describe_scores(facts))
    for find in (find_copies, find_width):
        state, *sentences = find(facts)
        if state == WARNING:
            warnings.warn(" ".join(sentences), stacklevel=2)
