"""Exact leave-one-out scores by column: what each column says of each row's classes once the row has left.

    table[i, c, j] = log p(x_ij | c, all rows but i)

A column is a feature of a block: one that is modelled jointly with others, or a block of words, is one column. The sum
of a row's scores and `log_class_left_out` is `leave_one_out`.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.removal import PREDICTIVE, Leaving, missing
from bayesnb.model.kept_rows import MOST_ROWS, PART, evenly, most_scored
from bayesnb.model.product import Joint, Model, Rows, column_of, feature_scores, features_of
from bayesnb.selection.leave_one_out import are_there, features_left_out, stats_without

MANY = 100_000  # rows


class _Feature(NamedTuple):
    """A feature by itself: its block and place there, its prior and reader, and its cells."""

    block: int
    place: int
    prior: Belief
    reader: Any
    cells: Cells


def column_scores(model: Model, rows: Rows, n_jobs: int | None = None) -> tuple[Array, Array]:
    """Log probability of the classes and of each column's cells, `(r, c)` and `(r, c, f)`, the row left out.

    The features are in the order of blocks, blocks end to end. A row of weight w counts as w rows, one of which is
    left out. A missing cell's score is 0; a cell that is impossible has -inf; NaN where the other rows leave no
    distribution, or must be counted again to know it and are not all there.
    """
    one, reader = np.minimum(rows.counts, 1.0), model.posterior
    log_class = model.prior.classes.labels_left_out(model.stats.classes, rows.codes, one, PREDICTIVE)
    log_class[:, ~reader.live] = -np.inf
    table = np.empty((*log_class.shape, sum(features_of(block) for block in reader.blocks)))
    threads = n_jobs if len(rows.codes) > MANY else 1  # a column of fewer rows takes less than to start a thread
    features = list(_features(model, reader, rows))
    for b, (prior, stats, x) in enumerate(zip(model.prior.blocks, model.stats.blocks, rows.cells, strict=True)):
        places = [k for k, feature in enumerate(features) if feature.block == b]
        leaving = Leaving(x, rows.codes, one, n_jobs=threads)
        table[:, :, places[0] : places[-1] + 1] = features_left_out(prior, stats, reader.blocks[b], leaving)
    _count_missed(model, rows, features, table)
    return log_class, table


def _count_missed(model: Model, rows: Rows, features: Sequence[_Feature], table: Array) -> None:
    """Write the scores of rows of which too few digits would stay: all other rows are counted again."""
    one, there = np.minimum(rows.counts, 1.0), are_there(model, rows)[rows.codes]
    again: dict[tuple[int, int], list[int]] = {}
    for i, k in np.argwhere(np.isnan(table[np.arange(len(rows.codes)), rows.codes])).tolist():
        again.setdefault((i, features[k].block), []).append(k)
    for (i, b), places in again.items():
        if there[i]:
            _count_again(model, rows, (i, b, one), [(k, features[k]) for k in places], table)


def predictive_scores(model: Model, rows: Rows) -> tuple[Array, Array]:
    """Scores of rows that the model has not learnt, laid out as those of `column_scores`."""
    log_class = np.repeat(model.posterior.log_class[None], len(rows.codes), axis=0)
    return log_class, feature_scores(model.posterior.blocks, rows.cells)


def _features(model: Model, reader: Joint, rows: Rows) -> Iterator[_Feature]:
    for b, (prior, part, x) in enumerate(zip(model.prior.blocks, reader.blocks, rows.cells, strict=True)):
        if prior.multivariate:
            yield _Feature(b, 0, prior, part, x)
            continue
        column = column_of(x)
        for j in range(features_of(part)):
            yield _Feature(b, j, prior.only(j), part.only(j), column(j))


def _count_again(model: Model, rows: Rows, at: Any, features: list[tuple[int, _Feature]], table: Array) -> None:
    """Score columns of a row in whose class too few digits would stay, all other rows being counted again."""
    i, b, gone = at
    prior, c = model.prior.blocks[b], int(rows.codes[i])
    rest, classes = stats_without(model, rows, b, i, gone), len(model.stats.classes)
    changed = slice(c, c + 1) if prior.independent_classes else slice(None)
    for k, feature in features:
        stats = rest if prior.multivariate else rest.only(feature.place)
        reader = feature.prior[changed].update(stats[changed])
        good = (reader.proper | missing(feature.cells[[i]], prior.multivariate)).all(axis=1)
        if good.any():
            table[i, np.arange(classes)[changed][good], k] = reader[good].score(feature.cells[[i]])[0]


def stratified(rows: Rows, classes: int, columns: int) -> Rows:
    """Rows as they are if they are at most MOST_ROWS; else PART of them, evenly spaced in every class, always the same.

    They are fewer where the table of their scores would be too large, or exponents take too long to find.
    """
    most = most_scored(classes, columns)
    return rows if len(rows.codes) <= min(MOST_ROWS, most) else rows.where(evenly(rows.codes, min(PART, most)))
