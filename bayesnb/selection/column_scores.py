"""Exact leave-one-out scores by column: what each column says of each row's classes once the row has left.

    table[i, c, j] = log p(x_ij | c, all rows but i)

A column is a feature of a block: one that is modelled jointly with others, or a block of words, is one column. The sum
of a row's scores and `log_class_left_out` is `leave_one_out`.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.capabilities import HasCellsLeftOut
from bayesnb.families.removal import PREDICTIVE, Leaving, missing
from bayesnb.model.kept_rows import MOST_ROWS, PART, evenly, most_scored
from bayesnb.model.product import Model, Rows
from bayesnb.numerics.views import EVERY
from bayesnb.selection.leave_one_out import are_there, stats_without


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
    starts = np.cumsum([0, *(features_of(block) for block in reader.blocks)])
    table = np.empty((*log_class.shape, starts[-1]))
    for b, (prior, stats, x) in enumerate(zip(model.prior.blocks, model.stats.blocks, rows.cells, strict=True)):
        part, leaving = table[:, :, starts[b] : starts[b + 1]], Leaving(x, rows.codes, one, n_jobs=1)
        if isinstance(prior, HasCellsLeftOut) and prior.independent_classes:
            part[:] = reader.blocks[b].log_predictive(reader.blocks[b].broadcast(x))
            for c, group in leaving.groups():
                part[group, c] = prior[c : c + 1].cells_left_out(stats[c : c + 1], leaving[group])
        else:
            for column in _features_of(b, prior, reader.blocks[b], x):
                seen = stats if prior.multivariate else stats.only(column.place)
                part[:, :, column.place] = column.prior.left_out(seen, column.reader, replace(leaving, x=column.cells))
    _count_missed(model, rows, starts, table)
    return log_class, table


def _count_missed(model: Model, rows: Rows, starts: Array, table: Array) -> None:
    """Write the scores of rows of which too few digits would stay: all other rows are counted again."""
    one, there = np.minimum(rows.counts, 1.0), are_there(model, rows)[rows.codes]
    missed = np.isnan(table[np.arange(len(rows.codes)), rows.codes]) & there[:, None]
    columns = np.flatnonzero(missed.any(axis=0))
    for b in np.unique(np.searchsorted(starts, columns, "right") - 1).tolist():
        features = list(_features_of(b, model.prior.blocks[b], model.posterior.blocks[b], rows.cells[b]))
        here = missed[:, starts[b] : starts[b + 1]]
        for i in np.flatnonzero(here.any(axis=1)).tolist():
            wanted = [(int(starts[b] + k), features[k]) for k in np.flatnonzero(here[i])]
            _count_again(model, rows, (i, b, one), wanted, table)


def predictive_scores(model: Model, rows: Rows, n_jobs: int | None = None) -> tuple[Array, Array]:
    """Scores of rows that the model has not learnt, laid out as those of `column_scores`."""
    log_class = np.repeat(model.posterior.log_class[None], len(rows.codes), axis=0)
    parts = [
        block.score(x, 1.0, None, n_jobs)[:, :, None]
        if block.multivariate
        else block.log_predictive(block.broadcast(x))
        for block, x in zip(model.posterior.blocks, rows.cells, strict=True)
    ]
    return log_class, np.concatenate(parts, axis=2)


def features_of(block: Any) -> int:
    """The number of a block's features."""
    return int(block.proper.shape[-1])


def _features_of(b: int, prior: Any, reader: Any, x: Cells) -> Iterator[_Feature]:
    """Yield the features of a block one by one."""
    if prior.multivariate:
        yield _Feature(b, 0, prior, reader, x)
        return
    column = _columns(x)
    for j in range(features_of(reader)):
        yield _Feature(b, j, prior.only(j), reader.only(j), column(j))


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


def stratified(rows: Rows, classes: int, columns: int, exponents: int | None = None) -> Rows:
    """Rows as they are if they are at most MOST_ROWS; else PART of them, evenly spaced in every class, always the same.

    They are fewer where the table of their scores would be too large, or exponents, by default one for each column,
    take too long to find.
    """
    most = most_scored(classes, columns, exponents)
    return rows if len(rows.codes) <= min(MOST_ROWS, most) else rows.where(evenly(rows.codes, min(PART, most)))
