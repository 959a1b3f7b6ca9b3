"""Rows by the model of all other rows, exactly: their probabilities, why, how uncertain, and which are copies."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayesnb import results
from bayesnb.families.base import Array
from bayesnb.inference.class_scores import Scores
from bayesnb.inference.entropies import Entropies, drawn_entropies, entropies
from bayesnb.inference.explanation import explain
from bayesnb.inference.intervals import drawn_intervals, find_smooth, intervals
from bayesnb.model.product import Product, observe
from bayesnb.numerics.views import as_numbers
from bayesnb.report.facts.held_out import settled
from bayesnb.selection.leave_one_out import learnt_from

if TYPE_CHECKING:
    from bayesnb.report.facts import Facts

DRAWS = 1000  # of p(y | x, theta), where classes share parameters
SECONDS = 1.0  # that the parts of uncertainty may take; twice that where rows are not held out
DRAWING = 3.0  # seconds where each row needs draws
IN_BRACKETS = 1.0  # seconds that all intervals may take
EXPLAINING = 4.0  # seconds that all explanations may take
ROWS = 2, 10  # of each kind, at least and at most
KINDS, TIMES = 3, 1.6  # tables of rows that have intervals; times as long as entropies take
COUNTED, ALONE, CLASS, COLUMN = 5e-9, 2e-3, 1e-3, 1e-5  # of them: to count a cell; for a row, its class, a class's cell
TOGETHER = 3  # times as fast, where one belief is for all rows
HELD, LEARNT, FEWEST = 400, 2000, 10  # rows at most, held out or not; and at least
SETTLED = 100  # rows for every class's column, of which one more does not matter
DRAWN, BATCHES = 40, 4  # rows at most, where each needs draws; and batches of draws, whose spread is their error
TINY = np.finfo(float).tiny
PARTS = ("entropy", "aleatoric", "epistemic")


@dataclass(frozen=True, eq=False)
class RowLeftOut:
    """A row by the model of all others: probabilities, ends of the interval of p(y | x, theta), `(c,)`, explanation.

    The ends are NaN, and the explanation is None, where there are none.
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


def left_out_row(row: int, facts: "Facts", in_brackets: bool = True) -> RowLeftOut:
    """Return what the model of all other rows predicts for a row, and why; its intervals, if it is to have brackets."""
    belief, labels = without(row, facts), np.array(facts.classes, object)
    lower = upper = np.full(len(labels), np.nan)
    if belief is None:
        return RowLeftOut(row, facts.left_out[row], lower, upper, None)
    cells = [x[[row]] for x in facts.cells]
    if in_brackets:
        lower, upper = interval_ends(Scores(belief, cells, facts.model._exponents, facts.model._covariance), facts)
    why = explain(belief, cells, facts.model._exponents)
    held = [as_numbers(x)[[row]] for x in facts.cells]  # as the table has them, not as levels of a grid
    named = results.explanations.explained(
        why, np.array([row]), labels, facts.model.schema_.blocks, held, facts.model._tempers
    )
    return RowLeftOut(row, facts.left_out[row], lower, upper, named.isel(obs_id=0))


def without(row: int, facts: "Facts") -> Product | None:
    """Return the posterior without a row; None where that is not a distribution.

    The others are counted again: an outlier that is taken back by arithmetic leaves no digits of what stays.
    """
    keep = np.arange(len(facts.codes)) != row
    if not keep.any():
        return None
    rest = observe(facts.rows.where(keep), len(facts.classes), facts.model.n_jobs)
    belief: Any = learnt_from(facts.model.model_, rest, "predictive")
    return belief if settled(belief) else None


def interval_ends(scores: Scores, facts: "Facts") -> tuple[Array, Array]:
    """Ends of the interval of p(y | x, theta) for a row, `(c,)` each."""
    model = facts.model
    if find_smooth(scores, True).all():
        result = intervals(scores, facts.prob, True, "auto", model.n_jobs)
    else:
        result = drawn_intervals(scores, model.schema_.observers, facts.prob, DRAWS, 0)[0]
    return result.lower[0], result.upper[0]


def most_rows(facts: "Facts") -> int:
    """Return how many rows of a kind are shown: as many as some seconds allow, by columns, bins and classes."""
    seconds = max(facts.held_out.explanation_seconds, TINY)
    return int(np.clip(EXPLAINING / (KINDS * seconds), *ROWS))


def with_intervals(facts: "Facts") -> int:
    """Return how many rows of a table have intervals: as many as a second allows, by columns, levels and classes."""
    return int(IN_BRACKETS / (KINDS * TIMES * (ALONE + CLASS * len(facts.classes) + facts.held_out.row_seconds)))


def uncertainties(facts: "Facts") -> Any:
    """Return `model.uncertainty` of evenly spaced rows, each by the model of all other rows.

    Where holding rows out takes long, it is that of new rows with the same cells. None where no row has a
    distribution; without rows where even that takes too long. The attribute `tried` counts rows, `held_out` says
    whether they are held out.
    """
    held, rows = chosen(facts)
    if not len(rows):
        return results.datasets.dataset(rows, np.array(facts.classes, object), {}, {}, {"tried": 0})
    batches = entropies_held_out(rows, facts) if held else entropies_of(facts.model.model_.posterior, rows, facts)
    result = Entropies(*(np.mean(part, axis=0) for part in zip(*batches, strict=True)))
    defined = np.isfinite(result.aleatoric)
    if not defined.any():
        return None
    by_row = {name: getattr(result, name)[defined] for name in PARTS}
    labels, attrs = np.array(facts.classes, object), {"tried": len(rows), "held_out": int(held)}
    shares = [part.epistemic[defined].sum() / max(part.entropy[defined].sum(), TINY) for part in batches]
    error = {"drawn_error": float(np.std(shares, ddof=1) / np.sqrt(BATCHES))} if len(batches) > 1 else {}
    by_class = {"probability": result.probability[defined]}
    return results.datasets.dataset(rows[defined], labels, by_row, by_class, attrs | error)


def chosen(facts: "Facts") -> tuple[bool, Array]:
    """Whether rows are held out, and which are taken: as many as a few seconds allow; none, if too few."""
    rows, classes, held_out = len(facts.codes), len(facts.classes), facts.held_out
    belief = facts.model.model_.posterior
    alone = ALONE + CLASS * classes
    if not belief.closed:
        most = int(min(DRAWING / (alone + held_out.row_seconds), DRAWN))
        return True, spaced(rows, most if most >= min(rows, FEWEST) else 0)
    held = int(min(SECONDS / (alone + held_out.transforms + COUNTED * rows * held_out.width), HELD))
    if held >= rows or (rows < SETTLED * classes * held_out.width and held >= FEWEST):
        return True, spaced(rows, held)
    one = alone / TOGETHER + COLUMN * classes * held_out.width
    learnt = int(min((2 * SECONDS - held_out.transforms) / one, LEARNT))
    return False, spaced(rows, learnt if learnt >= min(rows, FEWEST) else 0)


def spaced(rows: int, most: int) -> Array:
    """Places of at most so many rows, evenly spaced."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(int))


def entropies_held_out(rows: Array, facts: "Facts") -> list[Entropies]:
    """Entropies of each row by the posterior of all others; NaN where that is not a distribution."""
    each = [entropies_of(without(int(row), facts), np.array([row]), facts) for row in rows]
    return [Entropies(*map(np.concatenate, zip(*batch, strict=True))) for batch in zip(*each, strict=True)]


def entropies_of(belief: Product | None, rows: Array, facts: "Facts") -> list[Entropies]:
    """Entropies of rows that are new to a belief: computed once, or from several batches of draws."""
    model, batches = facts.model, 1 if facts.model.model_.posterior.closed else BATCHES
    if belief is None or not settled(belief):
        nothing = np.full((len(rows), len(facts.classes)), np.nan), *np.full((3, len(rows)), np.nan)
        return [Entropies(*nothing)] * batches
    scores = Scores(belief, [x[rows] for x in facts.cells], model._exponents, model._covariance)
    if belief.closed:
        return [entropies(scores, True, model.n_jobs)]
    return [drawn_entropies(scores, model.schema_.observers, DRAWS // BATCHES, seed)[0] for seed in range(BATCHES)]


class Pick(NamedTuple):
    """A row, and how many rows are the same, itself counted."""

    row: int
    times: int


def distinct(order: Array, facts: "Facts", most: int) -> list[Pick]:
    """First rows in an order that differ in their cells or label, and how often each occurs in the table."""
    keys = facts.irregular.keys
    _, first = np.unique(keys[order], return_index=True)
    return [Pick(row, int((keys == keys[row]).sum())) for row in order[np.sort(first)[:most]].tolist()]
