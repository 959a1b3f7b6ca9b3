"""The sentences of this room, and the tables that stand below a verdict."""

from abc import ABC
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from bayesnb.criticism.fitted_rows import FittedRows
from bayesnb.families.family import LEAST, MOST, ordered_hyperparameters
from bayesnb.formatting import count, fixed, list_names, number, quote, shorten, signed
from bayesnb.results.tables import Formats, show_html, show_text
from bayesnb.selection.hyperparameters import End
from bayesnb.selection.joint_columns import JoinableColumns, Names, list_block
from bayesnb.selection.smoothing import Outcome

HIDDEN = ["concentration", "se", "accuracy", "brier"]  # columns for which a terminal has no room
FORMATS: Formats = {"ece": partial(fixed, decimals=4), "joined": partial(shorten, most=36)}
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
NO_EVIDENCE = (
    "There is no log evidence where the prior is improper, or where none enters, as in mle."
)
IMPOSSIBLE = (
    "have a log score of -inf or none once left out, as no other row of their class has one of "
    "their cells, or too few rows are left"
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


@dataclass(frozen=True, eq=False, repr=False)
class VerdictTable(ABC):
    """A table, a verdict on it in a sentence, and notes on its numbers."""

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
        return show_text(*self._parts())

    def _repr_html_(self) -> str:
        return show_html(*self._parts())

    def _parts(self) -> tuple[str, Any, Formats, str]:
        rows = self.table.drop(columns=HIDDEN, errors="ignore")
        index = rows.pop(rows.columns[0]).map(number)
        return self.verdict, rows.set_index(index), FORMATS, "\n".join(self.notes)


# Smoothing


def judge_settings(best: dict[str, Any] | None, worse: int, others: int) -> str:
    """Return the verdict on settings of the smoothing, `worse` of whose `others` are clearly so."""
    if best is None:
        return "No setting has a leave-one-out score for every row."
    size = "" if best["estimate"] == "mle" else f", smoothing {best['smoothing']:g}"
    elpd = f"elpd {fixed(best['elpd_loo'], 1)}"
    verdict = f"Best by leave-one-out log score: {best['estimate']}{size} ({elpd})."
    if not others:
        return verdict
    return (
        f"{verdict} Clearly worse, by more than two standard errors of the difference: "
        f"{worse or 'none'} of {others} other{'s' * (others > 1)}."
    )


def explain_settings(fitted: FittedRows, outcomes: Sequence[Outcome], best: Any) -> tuple[str, ...]:
    """Return what the smoothing is, what stays fixed, and why numbers are not defined."""
    families = [block.family for block in fitted.schema.blocks]
    notes = [kind.note for kind in ordered_hyperparameters(families) if kind.note]
    notes.append(FIXED)
    if (fitted.rows.counts % 1 > 0).any():
        notes.append(POWER_LIKELIHOOD)
    if any(np.isnan(outcome.log_evidence) for outcome in outcomes):
        notes.append(NO_EVIDENCE)
    settings: dict[str, list[str]] = {}
    for outcome in outcomes:
        if not np.isfinite(outcome.log_scores).all():
            smoothing, estimate = outcome.setting
            reason = _explain_scores(fitted, outcome)
            settings.setdefault(reason, []).append(f"{smoothing:g} ({estimate})")
    for reason, names in settings.items():
        notes.append(f"Under smoothing {list_names(names)}: {reason}.")
    tried = sorted({outcome.setting.smoothing for outcome in outcomes})
    size = 0 if best is None else best["smoothing"]
    if size > 0 and size in (tried[0], tried[-1]) and len(tried) > 1:
        end = "largest" if size == tried[-1] else "smallest"
        notes.append(f"The best smoothing, {size:g}, is the {end} that was tried: {BEYOND}")
    return tuple(notes)


def _explain_scores(fitted: FittedRows, outcome: Outcome) -> str:
    """Return why rows have no finite score."""
    labels = fitted.estimator.classes_.tolist()
    if outcome.improper is not None:
        b, column, code = outcome.improper
        key = fitted.schema.blocks[b].keys[column]
        where = f"class {quote(labels[code])} leave no distribution of column {quote(key)}"
        return f"no row has a score, as the rows of {where}"
    rows = np.flatnonzero(~np.isfinite(outcome.log_scores))
    label = quote(labels[fitted.rows.codes[rows[0]]])
    first = f"first row {fitted.row_name(rows[0])} of class {label}"
    return f"{len(rows)} of {count(len(outcome.log_scores), 'row')} {IMPOSSIBLE}, {first}"


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
    columns: Sequence[Hashable], kinds: Sequence[JoinableColumns]
) -> tuple[str, ...]:
    """Return notes on columns left out or with missing cells, on blocks kept apart, on priors."""
    searched: set[Hashable] = set()
    missing: list[Hashable] = []
    apart: list[str] = []
    for kind in kinds:
        searched |= {place.name for place in kind.places}
        missing += kind.names(tuple(kind.evidence.holed))
        for one, other in combinations(kind.blocks, 2):
            step = kind.evidence.join(one, other)
            if step.gain > 0 >= step.worth:  # only a prior that fits neither would join them
                apart.append(f"{kind.describe(step)} ({step.gain:+.1f})")
    left = [name for name in columns if name not in searched]
    notes = []
    if left:
        notes.append(f"Not among those that may be joined: {list_block(left)}.")
    if missing:
        notes.append(f"Cells are missing in {list_block(missing)}: {MISSING_CELLS}")
    if apart:
        pairs = list_names(apart, MAX_PAIRS)
        notes.append(f"Not joined, though the log evidence would be higher: {pairs}. {MANY_LEVELS}")
    notes += [kind.changed_prior for kind in kinds if kind.changed_prior]
    return tuple(notes)


# Tuned priors


def explain_refusal(tuning: Any, criterion: str) -> str:
    """Return why tuned priors are not taken: their scores before and after."""
    before = tuning.loc["before"]
    after = tuning.loc["after"]
    other = "criterion='loo' for the priors that predict labels best, or "
    return (
        "tune: the best priors by this criterion predict the labels worse than those of the "
        "estimator, which it keeps: the leave-one-out score is "
        f"{after.elpd_loo:.1f} with them and {before.elpd_loo:.1f} without, a difference of "
        f"{after.elpd_diff:.1f} with a standard error of {after.diff_se:.1f}. Use "
        f"{'' if criterion == 'loo' else other}force=True to use these anyway."
    )


def describe_end(end: End, estimator: Any) -> str:
    """Return what it means that a prior's parameter is at the end of its range."""
    blocks = estimator.schema_.blocks
    keys = tuple(blocks[b].keys[f] for b, f in end.columns)
    noun = "column" if len(keys) == 1 and not isinstance(keys[0], tuple) else "columns"
    where = f"{noun} {list_names(keys, to_text=quote)}"
    if end.code is not None:
        where += f" in class {quote(estimator.classes_.tolist()[end.code])}"
    value = f"{MOST:g}, as good as infinite" if end.infinite else f"{LEAST:g}, as good as 0"
    is_shared = blocks[end.columns[0][0]].family.shared
    return f"{where}: {end.name} {value}: {end.kind.meaning(end.name, end.infinite, is_shared)}."
