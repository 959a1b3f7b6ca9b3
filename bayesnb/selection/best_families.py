"""Choosing the family of each column by the exact leave-one-out log score of the label."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bayesnb.data import SparseTable, Table
from bayesnb.data.cells import are_within
from bayesnb.data.families import DeclaredColumns, FamilyColumns, grouped
from bayesnb.families import BestOf, Choice
from bayesnb.families.base import Array
from bayesnb.families.grid import Grid
from bayesnb.model.powers import add_groups
from bayesnb.model.priors import ClassPriorRule
from bayesnb.model.product import Rows
from bayesnb.model.schema import Schema
from bayesnb.model.shards import Shard, model_of
from bayesnb.selection.leave_one_out import choose_rows, column_scores


class LabelledTable(NamedTuple):
    """A table, class codes and weights of its rows, the classes, and the class prior."""

    table: Table
    codes: Array
    weight: Array | None
    classes: Array
    class_prior: ClassPriorRule


class Contest(NamedTuple):
    """Columns for which one choice is made, and the candidates."""

    best_of: BestOf
    places: Sequence[int]


class Chosen(NamedTuple):
    """Columns by family, how families were chosen, and the grids of columns, by place."""

    families: FamilyColumns
    choices: tuple[Choice, ...]
    grids: dict[int, Grid]


def choose_families(declared: DeclaredColumns, rows: LabelledTable) -> Chosen:
    """Replace every `BestOf` by one family for each of its columns."""
    fixed: DeclaredColumns = []
    contests = []
    for family, places in declared:
        if isinstance(family, BestOf):
            parts = [places] if family.over_blocks else [[place] for place in places]
            contests += [Contest(family, part) for part in parts]
        else:
            fixed.append((family, places))
    if not contests:
        return Chosen(declared, (), {})
    size = max(len(contest.best_of.candidates) for contest in contests)
    elpd = np.full((len(contests), size), np.nan)
    grids: list[dict[int, Grid]] = [{} for _ in range(size)]
    for k in range(size):
        able = [i for i, contest in enumerate(contests) if _is_able(contest, k, rows)]
        if able:
            elpd[able, k], grids[k] = _label_scores([contests[i] for i in able], k, rows)
    number = len(rows.codes) if rows.weight is None else rows.weight.sum()
    # with more choices per row, more of them are won by chance
    times = max(1.0, len(contests) / max(number, 1.0))
    choices = []
    kept: dict[int, Grid] = {}
    for contest, scores in zip(contests, elpd, strict=True):
        choice = _choose(contest, scores, times * contest.best_of.margin, rows.table)
        choices.append(choice)
        fixed.append((contest.best_of.candidates[choice.chosen], contest.places))
        learnt = grids[choice.chosen]
        kept |= {place: learnt[place] for place in contest.places if place in learnt}
    return Chosen(grouped(fixed), tuple(choices), kept)


def _is_able(contest: Contest, k: int, rows: LabelledTable) -> bool:
    """Whether there is a k-th candidate that can model all cells and, unless first, is not
    refuted.
    """
    if k >= len(contest.best_of.candidates):
        return False
    family = contest.best_of.candidates[k]
    table = rows.table
    if family.has_levels:
        return not isinstance(table, SparseTable)
    if any(table.kind(place) not in ("number", "flag") for place in contest.places):
        return False
    x = table.numbers(contest.places)
    if not are_within(family.support, x, family.missing, table.n_jobs):
        return False
    return k == 0 or not family.is_refuted(x, rows.codes, rows.weight)


def _label_scores(
    contests: Sequence[Contest], k: int, rows: LabelledTable
) -> tuple[Array, dict[int, Grid]]:
    """Leave-one-out score of the label under the k-th candidate, by the columns of each contest
    alone.

    Also return the grids learnt, by the places of columns.
    """
    families = grouped([(contest.best_of.candidates[k], contest.places) for contest in contests])
    schema = Schema.learn(rows.table, families, weight=rows.weight)
    log_class, scores, part = leave_out_features(schema, rows)
    feature = _features_by_place(schema)
    ends = {(i, feature[place]) for i, each in enumerate(contests) for place in each.places}
    owner, columns = np.array(sorted(ends)).T
    by_contest = add_groups(scores[..., columns], owner, len(contests))
    grids = {place: grid for block in schema.blocks for place, grid in block.grids()}
    return score_labels(log_class, by_contest, part), grids


def leave_out_features(schema: Schema, rows: LabelledTable) -> tuple[Array, Array, Rows]:
    """Return leave-one-out scores of classes, `(r, c)`, and features, `(r, c, f)`, and the rows.

    If there are many rows, they are a part of them, weighted up to all.
    """
    shard, seen = Shard.of(schema, rows.classes, rows.table, rows.codes, rows.weight)
    part = seen.where(choose_rows(seen, len(rows.classes), len(schema.keys)))
    log_class, scores = column_scores(model_of(shard, rows.class_prior), part, rows.table.n_jobs)
    # columns are uninformative for rows that cannot be left out
    scores = np.where(np.isnan(scores), 0.0, scores)
    times = seen.counts.sum() / part.counts.sum()
    return log_class, scores, replace(part, weight=times * part.counts)


def score_labels(log_class: Array, scores: Array, rows: Rows) -> Array:
    """Return the log score of the labels by each feature alone, `(f,)`."""
    joint = log_class[:, :, None] + scores
    label = joint[np.arange(len(rows.codes)), rows.codes]
    with np.errstate(invalid="ignore"):  # a row may be impossible under every class
        log_proba = label - np.logaddexp.reduce(joint, axis=1)
    log_proba[np.isneginf(label)] = -np.inf
    return rows.counts @ log_proba


def _features_by_place(schema: Schema) -> dict[int, int]:
    """Return the feature of each column, counted over all blocks end to end."""
    at: dict[int, int] = {}
    first = 0
    for block in schema.blocks:
        together = block.family.multivariate or block.family.words
        at |= {place: first + (0 if together else j) for j, place in enumerate(block.places)}
        first += 1 if together else len(block.places)
    return at


def _choose(contest: Contest, elpd: Array, margin: float, table: Table) -> Choice:
    """Choose the first candidate that can model the cells, unless the best beats it by the
    margin.
    """
    best_of = contest.best_of
    scores = elpd[: len(best_of.candidates)]
    able = np.flatnonzero(~np.isnan(scores))
    chosen = 0  # if none can, the error of the first says why
    if able.size:
        chosen = int(able[0])
        best = int(np.nanargmax(scores))
        if scores[best] > scores[chosen] + margin:
            chosen = best
    names = tuple(table.columns[place] for place in contest.places)
    key = names if len(names) > 1 else names[0]
    return Choice(key, best_of.names, scores, chosen)
