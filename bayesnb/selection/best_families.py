"""The family of each column, chosen among candidates by the label's exact leave-one-out score."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bayesnb.data import SparseTable, Table
from bayesnb.data.cells import are_within
from bayesnb.data.families import DeclaredColumns, FamilyColumns, grouped
from bayesnb.families import BestOf, Choice
from bayesnb.families.base import Array
from bayesnb.families.family import Family
from bayesnb.families.grid import Grid
from bayesnb.model.powers import add_groups
from bayesnb.model.priors import ClassPriorRule
from bayesnb.model.schema import Schema
from bayesnb.model.shards import Shard, model_of
from bayesnb.selection.column_scores import choose_stratified_rows, column_scores


class LabelledTable(NamedTuple):
    """A table, the codes of its rows' classes, their weights, the classes, and their prior."""

    table: Table
    codes: Array
    weight: Array | None
    classes: Array
    class_prior: ClassPriorRule


@dataclass(frozen=True, eq=False)
class Contest:
    """Columns that are decided together, and the candidates for their family."""

    best_of: BestOf
    places: Sequence[int]

    def key(self, table: Table) -> Hashable:
        names = tuple(table.columns[place] for place in self.places)
        return names if len(names) > 1 else names[0]


class Chosen(NamedTuple):
    """Blocks of columns with one family each, and how these were chosen.

    `grids` are those of the columns, by place.
    """

    families: FamilyColumns
    choices: tuple[Choice, ...]
    grids: dict[int, Grid]


def choose_families(declared: DeclaredColumns, rows: LabelledTable) -> Chosen:
    """Let every `BestOf` give way to one family for each of its columns."""
    contests = [
        contest for best_of, places in declared for contest in _list_contests(best_of, places)
    ]
    if not contests:
        return Chosen(declared, (), {})
    grids: list[dict[int, Grid]] = []
    elpd = np.full(
        (len(contests), max(len(contest.best_of.candidates) for contest in contests)), np.nan
    )
    for k in range(elpd.shape[1]):
        able = [i for i, contest in enumerate(contests) if _is_able(contest, k, rows)]
        grids.append({})
        if able:
            elpd[able, k], grids[k] = _label_scores([contests[i] for i in able], k, rows)
    choices = tuple(
        _choice(contest, scores, rows.table) for contest, scores in zip(contests, elpd, strict=True)
    )
    fixed: DeclaredColumns = [block for block in declared if not isinstance(block[0], BestOf)]
    kept: dict[int, Grid] = {}
    for contest, choice in zip(contests, choices, strict=True):
        fixed.append((contest.best_of.candidates[choice.chosen], contest.places))
        kept |= {
            place: grids[choice.chosen][place]
            for place in contest.places
            if place in grids[choice.chosen]
        }
    return Chosen(grouped(fixed), choices, kept)


def _list_contests(best_of: BestOf | Family, places: Sequence[int]) -> list[Contest]:
    if not isinstance(best_of, BestOf):
        return []
    return (
        [Contest(best_of, places)]
        if best_of.over_blocks
        else [Contest(best_of, [place]) for place in places]
    )


def _is_able(contest: Contest, k: int, rows: LabelledTable) -> bool:
    """Whether the k-th candidate, if there is one, can have all cells.

    One after the first must not be refuted.
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
    if not are_within(family, x, table.n_jobs):
        return False
    return k == 0 or not family.is_refuted(x, rows.codes, rows.weight)


def _label_scores(
    contests: Sequence[Contest], k: int, rows: LabelledTable
) -> tuple[Array, dict[int, Grid]]:
    """Score the label, left out, by the columns of each contest alone.

    They have their k-th candidates as families.

    The second value are grids that these have learnt, by the places of columns.
    """
    families = grouped([(contest.best_of.candidates[k], contest.places) for contest in contests])
    schema = Schema.learn(rows.table, families, weight=rows.weight)
    shard, seen = Shard.of(schema, rows.classes, rows.table, rows.codes, rows.weight)
    part = choose_stratified_rows(seen, len(rows.classes), len(schema.keys))
    share = part.counts.sum() / seen.counts.sum()
    log_class, scores = column_scores(model_of(shard, rows.class_prior), part, rows.table.n_jobs)
    # of rows that cannot be left out a column says nothing
    scores = np.where(np.isnan(scores), 0.0, scores)
    feature = _features_by_place(schema)
    chosen = [sorted({feature[place] for place in contest.places}) for contest in contests]
    widths = [len(features) for features in chosen]
    owner = np.repeat(np.arange(len(contests)), widths)
    scores = log_class[:, :, None] + add_groups(
        scores[..., np.concatenate(chosen)], owner, len(contests)
    )
    label = scores[np.arange(len(part.codes)), part.codes]
    with np.errstate(invalid="ignore"):  # a row may be impossible under every class
        log_proba = label - np.logaddexp.reduce(scores, axis=1)
    log_proba[np.isneginf(label)] = -np.inf
    grids = {place: grid for block in schema.blocks for place, grid in block.grids()}
    return part.counts @ log_proba / share, grids


def _features_by_place(schema: Schema) -> dict[int, int]:
    """Return the number of each column's feature, those of all blocks end to end."""
    at: dict[int, int] = {}
    first = 0
    for block in schema.blocks:
        together = block.family.multivariate or block.family.words
        at |= {place: first + (0 if together else j) for j, place in enumerate(block.places)}
        first += 1 if together else len(block.places)
    return at


def _choice(contest: Contest, elpd: Array, table: Table) -> Choice:
    """Take the first able candidate, unless the best beats it by more than the margin.

    A candidate is able if it can have the cells.
    """
    best_of = contest.best_of
    scores = elpd[: len(contest.best_of.candidates)]
    able = np.flatnonzero(~np.isnan(scores))
    # if none is able, the first one's error says what is wrong
    first = int(able[0]) if able.size else 0
    best = int(np.nanargmax(scores)) if able.size else 0
    chosen = best if scores[best] > scores[first] + best_of.margin else first
    return Choice(contest.key(table), best_of.names, scores, chosen)
