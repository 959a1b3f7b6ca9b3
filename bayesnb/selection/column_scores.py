"""Exact leave-one-out scores by column: what each column says of each row's classes once the row has left.

    table[i, c, j] = log p(x_ij | c, all rows but i)

A column is a feature of a block: one that is modelled jointly with others, or a block of words, is one column. The sum
of a row's scores and `log_class_left_out` is `leave_one_out`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.capabilities import HasCellsLeftOut
from bayesnb.families.removal import PREDICTIVE, Leaving, missing, reader_of
from bayesnb.model.kept_rows import MOST_ROWS, PART, evenly, most_scored
from bayesnb.model.product import Joint, Model, Rows
from bayesnb.numerics.views import EVERY
from bayesnb.selection.leave_one_out import are_there, stats_without

MANY = 100_000  # rows


class _Feature(NamedTuple):
    """A feature by itself: its block and place there, its prior and reader, and its cells."""

    block: int
    place: int
    prior: Belief
    reader: Any
    cells: Cells


def column_scores(
    model: Model, rows: Rows, n_jobs: int | None = None, kind: str = PREDICTIVE, gone: Array | None = None
) -> tuple[Array, Array]:
    """Log probability of the classes and of each column's cells, `(r, c)` and `(r, c, f)`, the row left out.

    The features are in the order of blocks, blocks end to end. `gone` is the weight that is left out; by default one
    of the w rows that a row of weight w counts as. A missing cell's score is 0; a cell that is impossible has -inf; NaN
    where the other rows leave no distribution, or must be counted again to know it and are not all there.
    """
    gone, reader = np.minimum(rows.counts, 1.0) if gone is None else gone, model.read(kind)
    log_class = model.prior.classes.labels_left_out(model.stats.classes, rows.codes, gone, kind)
    log_class[:, ~reader.live] = -np.inf
    table = np.empty((*log_class.shape, sum(features_of(block) for block in reader.blocks)))
    threads = n_jobs if len(rows.codes) > MANY else 1  # a column of fewer rows takes less than to start a thread
    features = list(_features(model, reader, rows))
    for b, (prior, stats, x) in enumerate(zip(model.prior.blocks, model.stats.blocks, rows.cells, strict=True)):
        places = [k for k, feature in enumerate(features) if feature.block == b]
        part, leaving = table[:, :, places[0] : places[-1] + 1], Leaving(x, rows.codes, gone, kind, n_jobs=threads)
        columns = [features[k] for k in places]
        if isinstance(prior, HasCellsLeftOut) and prior.independent_classes:
            _score_at_once((prior, stats), columns, leaving, part)
        else:
            _score_one_by_one(stats, columns, leaving, part)
    _count_missed(model, rows, features, (kind, gone), table)
    return log_class, table


def _score_at_once(block: tuple[Any, Any], columns: Sequence[_Feature], leaving: Leaving, out: Array) -> None:
    """Write the scores of a block's columns, of which rows leave class by class and not column by column."""
    prior, stats = block
    for k, column in enumerate(columns):
        out[:, :, k] = column.reader.score(column.cells, 1.0, None, leaving.n_jobs)
    for c, rows in leaving.groups():
        out[rows, c] = prior[c : c + 1].cells_left_out(stats[c : c + 1], leaving[rows])


def _score_one_by_one(stats: Any, columns: Sequence[_Feature], leaving: Leaving, out: Array) -> None:
    """Write the scores of a block's columns, of which rows leave by themselves."""
    for k, column in enumerate(columns):
        seen = stats if column.prior.multivariate else stats.only(column.place)
        out[:, :, k] = column.prior.left_out(seen, column.reader, replace(leaving, x=column.cells))


def _count_missed(
    model: Model, rows: Rows, features: Sequence[_Feature], leaving: tuple[str, Array], table: Array
) -> None:
    """Write the scores of rows of which too few digits would stay: all other rows are counted again."""
    there = are_there(model, rows)[rows.codes]
    again: dict[tuple[int, int], list[int]] = {}
    for i, k in np.argwhere(np.isnan(table[np.arange(len(rows.codes)), rows.codes])).tolist():
        again.setdefault((i, features[k].block), []).append(k)
    for (i, b), places in again.items():
        if there[i]:
            _count_again(model, rows, (i, b, *leaving), [(k, features[k]) for k in places], table)


def predictive_scores(model: Model, rows: Rows, n_jobs: int | None = None) -> tuple[Array, Array]:
    """Scores of rows that the model has not learnt, laid out as those of `column_scores`."""
    log_class = np.repeat(model.posterior.log_class[None], len(rows.codes), axis=0)
    parts = _features(model, model.posterior, rows)
    return log_class, np.stack([feature.reader.score(feature.cells, 1.0, None, n_jobs) for feature in parts], axis=2)


def features_of(block: Any) -> int:
    """The number of a block's features."""
    return int(block.proper.shape[-1])


def _features(model: Model, reader: Joint, rows: Rows) -> Iterator[_Feature]:
    for b, (prior, part, x) in enumerate(zip(model.prior.blocks, reader.blocks, rows.cells, strict=True)):
        if prior.multivariate:
            yield _Feature(b, 0, prior, part, x)
            continue
        column = _columns(x)
        for j in range(features_of(part)):
            yield _Feature(b, j, prior.only(j), part.only(j), column(j))


def _columns(x: Cells) -> Callable[[int], Array]:
    """Return each column of a block as an array, `(r, 1)`."""
    cells = x[EVERY]
    if sparse.issparse(cells):
        by_column = cells.tocsc()
        return lambda j: by_column[:, [j]].toarray()
    by_column = np.ascontiguousarray(cells.T)
    return lambda j: by_column[j][:, None]


def _count_again(model: Model, rows: Rows, at: Any, features: list[tuple[int, _Feature]], table: Array) -> None:
    """Score columns of a row in whose class too few digits would stay, all other rows being counted again."""
    i, b, kind, gone = at
    prior, c = model.prior.blocks[b], int(rows.codes[i])
    rest, classes = stats_without(model, rows, b, i, gone), len(model.stats.classes)
    changed = slice(c, c + 1) if prior.independent_classes else slice(None)
    for k, feature in features:
        stats = rest if prior.multivariate else rest.only(feature.place)
        reader = reader_of(feature.prior[changed], stats[changed], kind)
        good = (reader.proper | missing(feature.cells[[i]], prior.multivariate)).all(axis=1)
        if good.any():
            table[i, np.arange(classes)[changed][good], k] = reader[good].score(feature.cells[[i]])[0]


def stratified(rows: Rows, classes: int, columns: int) -> Rows:
    """Rows as they are if they are at most MOST_ROWS; else PART of them, evenly spaced in every class, always the same.

    They are fewer where the table of their scores would be too large, or exponents take too long to find.
    """
    most = most_scored(classes, columns)
    return rows if len(rows.codes) <= min(MOST_ROWS, most) else rows.where(evenly(rows.codes, min(PART, most)))
