"""A row as the model sees it that has learnt all other rows, and not this one: exact."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.families.base import Array
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.explanation import explain
from bayesnb.inference.intervals import drawn_intervals, intervals
from bayesnb.model.product import Product, observe
from bayesnb.report.facts.gathered import Facts
from bayesnb.report.facts.judged import settled
from bayesnb.report.wording import INTERVAL
from bayesnb.selection.folds import learnt_from

DRAWS = 1000  # of a law, where classes share parameters
PATIENCE = 0.4  # seconds for a row, of some thirty


@dataclass(frozen=True, eq=False)
class Look:
    """One row: its held-out probabilities, `(c,)`; the law of p(y | x, theta) and the terms of the classes' scores.

    The law is NaN and the terms are None where there are none.
    """

    row: int
    log_proba: Array
    lower: Array
    upper: Array
    explained: Any

    @property
    def ranked(self) -> Array:
        """The classes, the most probable first."""
        return np.argsort(-self.log_proba, kind="stable")


def look(row: int, facts: Facts) -> Look:
    """What the model of the other rows says of a row, and why."""
    belief, size = without(row, facts), len(facts.classes)
    if belief is None:
        nothing = np.full(size, np.nan)
        return Look(row, facts.left_out[row], nothing, nothing, None)
    cells = [x[[row]] for x in facts.cells]
    lower, upper = ends(Scores(belief, cells, facts.model.temper_), facts)
    why = explain(belief, cells, facts.model.temper_)
    named = results.explanations.explained(
        why, np.array([row]), np.array(facts.classes, object), facts.model.schema_.blocks, cells
    )
    return Look(row, facts.left_out[row], lower, upper, named.isel(obs_id=0))


def without(row: int, facts: Facts) -> Product | None:
    """What would be believed, had the row not been learnt; None where that is no distribution.

    The others are counted again: an outlier that is taken back by arithmetic leaves no digits of what stays.
    """
    keep = np.arange(len(facts.codes)) != row
    if not keep.any():
        return None
    rest = observe(facts.judged.rows.where(keep), len(facts.classes), facts.model.n_jobs)
    found: Any = learnt_from(facts.model.model_, rest, "predictive")
    return found if settled(found) else None


def ends(scores: Scores, facts: Facts) -> tuple[Array, Array]:
    """Of the interval of p(y | x, theta) under what the other rows and the row's own cells leave open, `(c,)` each."""
    model = facts.model
    if hasty(facts):
        nothing = np.full(len(facts.classes), np.nan)
        return nothing, nothing
    if scores.belief.closed:
        found = intervals(scores, INTERVAL, True, "auto", model.n_jobs)
    else:
        found = drawn_intervals(scores, model.schema_.observers, INTERVAL, DRAWS, 0)[0]
    return found.lower[0], found.upper[0]


def hasty(facts: Facts) -> bool:
    """Whether intervals take too long, for so many columns, levels and classes."""
    return facts.judged.row_seconds > PATIENCE
