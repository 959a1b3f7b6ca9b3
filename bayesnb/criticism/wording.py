"""The sentences of this room, and the tables that stand below a verdict."""

from abc import ABC
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayesnb.criticism.fitted_rows import FittedRows
from bayesnb.families.family import ordered_hyperparameters
from bayesnb.formatting import count, fixed, list_names, number, quote, signed
from bayesnb.model.schema import Block
from bayesnb.results.tables import Formats, show_html, show_text
from bayesnb.selection.joint_columns import Names, list_block
from bayesnb.selection.smoothing import (
    ROUNDING,
    Outcome,
    PriorVariants,
    Setting,
    first_unique,
)

MAX_BLOCKS = 6  # listed in a sentence
MAX_PAIRS = 3
FIXED = (
    "The class prior, the exponents (temper_) and links between columns are those of the "
    "estimator, whatever the smoothing."
)
POWER_LIKELIHOOD = (
    "Some weights are not whole numbers: the log evidence is that of the power likelihood, the "
    "product of each row's likelihood to the power of its weight. It compares smoothings, but is "
    "not a probability of the data."
)
BEYOND = "one beyond it may be better."
MISSING_CELLS = (
    "a step compares its hypotheses on the rows that have all cells of its blocks, so "
    "`log_evidence` adds up gains of different rows, and is not that of the estimator."
)
MANY_LEVELS = (
    "They have so many levels that noise gains as much under one concentration for all; under the "
    "best for each, hardly anything speaks for a dependence."
)
DROP_COPIES = (
    "If rows were recorded twice, drop the duplicates: otherwise the copy of a held-out row helps "
    "to predict it."
)
TEST_TABLE = "Score the model on a test table that it has not learnt from before you rely on it."


@dataclass(frozen=True, eq=False, repr=False)
class VerdictTable(ABC):
    """A table, a verdict on it in a sentence, and notes on its numbers."""

    shown: ClassVar[tuple[str, ...]]  # columns that fit into a terminal, the first as index
    formats: ClassVar[Formats]
    table: Any
    verdict: str
    notes: tuple[str, ...]

    def to_frame(self) -> Any:
        """Return a copy of `table`.

        Returns
        -------
        pandas.DataFrame
            It has the columns of `table`.

        See Also
        --------
        compare_smoothing, partition : What the columns mean.

        Examples
        --------
        >>> from bayesnb import CategoricalNB, partition
        >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10, [0, 1, 1, 0] * 10
        >>> partition(CategoricalNB(), X, y).to_frame().columns.to_list()
        ['step', 'joined', 'log_bayes_factor', 'log_evidence']
        """
        return self.table.copy()

    def __repr__(self) -> str:
        return show_text(self.verdict, *self._rows_and_notes())

    def _repr_html_(self) -> str:
        return show_html(self.verdict, *self._rows_and_notes())

    def _rows_and_notes(self) -> tuple[Any, Formats, str]:
        first, *columns = self.shown
        rows = self.table[columns].set_index(self.table[first].map(number))
        return rows, self.formats, "\n".join(self.notes)


# Smoothing


def judge_settings(best: dict[str, Any] | None, worse: int, others: int) -> str:
    """Return the verdict on settings of the smoothing, `worse` of whose `others` are clearly so."""
    if best is None:
        return "No setting has a leave-one-out score for every row."
    size = "" if best["estimate"] == "mle" else f", smoothing {best['smoothing']:g}"
    elpd = f"elpd {fixed(best['elpd_loo'], 1)}"
    verdict = f"Best by leave-one-out log score: {best['estimate']}{size} ({elpd})."
    if np.isneginf(best["elpd_loo"]):
        return f"{verdict} Every setting makes some row impossible."
    if not others:
        return verdict
    return (
        f"{verdict} Clearly worse, by more than two standard errors of the difference: "
        f"{worse or 'none'} of {others} other{'s' * (others > 1)}."
    )


def explain_settings(
    fitted: FittedRows, variants: PriorVariants, outcomes: Sequence[Outcome], best: Any
) -> tuple[str, ...]:
    """Return what the smoothing is, what stays fixed, and why numbers are not defined."""
    notes = [kind.note for kind in ordered_hyperparameters(variants.families) if kind.note]
    notes.append(FIXED)
    counts = variants.rows.counts
    if (counts != np.floor(counts)).any():
        notes.append(POWER_LIKELIHOOD)
    reasons: dict[str, list[Setting]] = {}
    for outcome in outcomes:
        for reason in _list_undefined(fitted, variants, outcome):
            reasons.setdefault(reason, []).append(outcome.setting)
    for reason, settings in reasons.items():
        sizes = dict.fromkeys(f"{setting.smoothing:g}" for setting in settings)
        estimates = dict.fromkeys(setting.estimate for setting in settings)
        notes.append(f"Smoothing {list_names([*sizes], 9)} ({', '.join(estimates)}): {reason}.")
    tried = {outcome.setting.smoothing for outcome in outcomes}
    size = 0 if best is None else best["smoothing"]
    if size > 0 and size in (min(tried), max(tried)) and len(tried) > 1:
        notes.append(f"The best smoothing, {size:g}, is the last that was tried: {BEYOND}")
    return tuple(notes)


def _list_undefined(fitted: FittedRows, variants: PriorVariants, outcome: Outcome) -> Iterator[str]:
    """Yield why a setting has no evidence, or rows without a finite score."""
    blocks, labels = fitted.schema.blocks, fitted.estimator.classes_.tolist()
    if outcome.setting.estimate == "mle":
        yield "no prior enters mle, so it has one row and no evidence"
    elif np.isnan(outcome.log_evidence):
        yield "the prior is improper, so there is no evidence"
    if outcome.improper is not None:
        b, column, code = outcome.improper
        where = f"class {quote(labels[code])} leave no distribution of column"
        yield f"no row has a score, as the rows of {where} {quote(blocks[b].keys[column])}"
        return
    rows = np.flatnonzero(~np.isfinite(outcome.log_scores))
    if len(rows):
        first = rows[0]
        name = fitted.index[fitted.rows.counts > 0].tolist()[first]
        yield (
            f"{len(rows)} of {count(len(outcome.log_scores), 'row')} have a log score of -inf once "
            f"left out, or none, first row {quote(name)} of class "
            f"{quote(labels[variants.rows.codes[first]])}, {_explain_row(blocks, variants, first)}"
        )


def _explain_row(blocks: Sequence[Block], variants: PriorVariants, row: int) -> str:
    """Name the column whose cell no other row of the class has."""
    code, learnt = variants.rows.codes[row], variants.learnt.stats.classes.counts
    if learnt[code] <= variants.rows.counts[row] * (1 + ROUNDING):
        return "the only row of its class"
    unique = first_unique(variants, row)
    if unique is None:
        return "without which its class has too few rows, or no spread"
    b, column, level = unique
    block = blocks[b]
    if block.family.words:
        return f"the only one of its class with {quote(block.words[level])}"
    return f"the only one of its class with its cell in column {quote(block.keys[column])}"


# Partitions


def judge_partition(blocks: Sequence[Names], gains: Sequence[float]) -> str:
    """Return the verdict on a partition that was reached by steps with these gains."""
    if not gains:
        return "No two blocks are better modelled jointly: the partition stays as it was."
    joined = [f"{{{list_block(names)}}}" for names in blocks if len(names) > 1]
    alone = count(len(blocks) - len(joined), "column")
    together = list_names(joined, MAX_BLOCKS) or "none"
    gain = f"{signed(sum(gains), 1)} nats against the start"
    return f"Modelled jointly: {together}; by themselves: {alone}; {gain}."


def explain_partition(
    left: Sequence[Hashable], missing: Sequence[Hashable], apart: Sequence[str]
) -> list[str]:
    """Return notes on columns left out or with missing cells, and on blocks kept apart."""
    notes = []
    if left:
        notes.append(f"Not among those that may be joined: {list_block(left)}.")
    if missing:
        notes.append(f"Cells are missing in {list_block(missing)}: {MISSING_CELLS}")
    if apart:
        pairs = list_names(apart, MAX_PAIRS)
        notes.append(f"Not joined, though the log evidence would be higher: {pairs}. {MANY_LEVELS}")
    return notes


# Tuned priors


def explain_refusal(tuning: Any, criterion: str) -> str:
    """Return why tuned priors are not taken: their scores before and after."""
    before, after = tuning.loc["before"], tuning.loc["after"]
    other = "criterion='loo' for the priors that predict labels best, or "
    return (
        "tune: the best priors by this criterion predict the labels worse than those of the "
        "estimator, which it keeps: the leave-one-out score is "
        f"{after.elpd_loo:.1f} with them and {before.elpd_loo:.1f} without, a difference of "
        f"{after.elpd_diff:.1f} with a standard error of {after.diff_se:.1f}. Use "
        f"{'' if criterion == 'loo' else other}force=True to use them anyway."
    )


# Held-out scores that are too good


def describe_copies(rows: int, share: float) -> str:
    """Return how many rows repeat an earlier one."""
    verb = "repeats" if rows == 1 else "repeat"
    return f"{count(rows, 'row')} ({100 * share:.1f} %) {verb} an earlier row, label included"


def describe_width(columns: int, rows: int) -> str:
    """Return what more exponents, one for each column, than rows do to held-out scores."""
    return (
        f"There are {columns:,} columns and only {rows:,} rows, so the held-out scores are too "
        "good: among so many columns some tell these rows apart by chance."
    )
