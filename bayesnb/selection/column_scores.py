"""Exact leave-one-out scores by column: what each column says of each row's classes once the row
has left.

    table[i, c, j] = log p(x_ij | c, all rows but i)

A column is a feature of a block: one that is modelled jointly with others, or a block of words, is
one column. The sum of a row's scores and `log_class_left_out` is `leave_one_out`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.removal import PREDICTIVE, SLACK, RowsLeftOut, reader_of
from bayesnb.families.weight import one_hot
from bayesnb.model.kept_rows import MAX_ROWS, ROWS_SCORED, evenly, most_scored
from bayesnb.model.product import Model, Rows, column_of, feature_scores, features_of
from bayesnb.numerics.threads import blocks


def column_scores(
    model: Model,
    rows: Rows,
    n_jobs: int | None = None,
    gone: Array | None = None,
    kind: str = PREDICTIVE,
) -> tuple[Array, Array]:
    """Log probability of classes and of each column's cells, the row left out.

    Shapes: `(r, c)` and `(r, c, f)`.

    The features are in the order of blocks, blocks end to end. `gone` is the weight that
    leaves: by default a row of weight w counts as w rows, one of which is left out. A missing
    cell's score is 0; a cell that is impossible has -inf; NaN where the other rows leave no
    distribution, or must be counted again to know it and are not all there.
    """
    gone = np.minimum(rows.counts, 1.0) if gone is None else gone
    _, log_class, table = next(
        column_scores_by_parts(model, rows, len(rows.codes), gone, kind, n_jobs)
    )
    return log_class, table


def column_scores_by_parts(
    model: Model, rows: Rows, at_once: int, gone: Array, kind: str, n_jobs: int | None
) -> Iterator[tuple[slice, Array, Array]]:
    """Yield the `column_scores` of some rows after others: which they are, and both arrays."""
    reader = model.read(kind)
    there = are_there(model, rows)[rows.codes]
    log_class = model.prior.classes.labels_left_out(model.stats.classes, rows.codes, gone, kind)
    log_class[:, ~reader.live] = -np.inf
    widths = [features_of(block) for block in reader.blocks]
    ends = np.cumsum(widths)
    for part in blocks(len(rows.codes), at_once):
        table = np.empty((*log_class[part].shape, sum(widths)))
        for b, x in enumerate(rows.cells):
            leaving = RowsLeftOut(x[part], rows.codes[part], gone[part], kind, n_jobs)
            scores = model.prior.blocks[b].features_left_out(
                model.stats.blocks[b], reader.blocks[b], leaving
            )
            places = np.arange(len(leaving.codes)), leaving.codes
            again = np.isnan(scores[places]).any(axis=1) & there[part]
            for i in np.flatnonzero(again):
                count_again(model, rows, b, part.start + int(i), gone, kind, scores[i])
            table[:, :, ends[b] - widths[b] : ends[b]] = scores
        yield part, log_class[part], table


def predictive_scores(model: Model, rows: Rows) -> tuple[Array, Array]:
    """Scores of rows that the model has not learnt, laid out as those of `column_scores`."""
    log_class = np.repeat(model.posterior.log_class[None], len(rows.codes), axis=0)
    return log_class, feature_scores(model.posterior.blocks, rows.cells)


def count_again(
    model: Model, rows: Rows, b: int, row: int, gone: Array, kind: str, scores: Array
) -> None:
    """Write scores of a row by a block where they are NaN, counting all other rows again.

    Shapes: `(c, f)`, or `(c, 1)` in all.

    For rows whose subtraction would leave too few digits. What has no proper distribution stays
    as it is, and so do classes that do not change.
    """
    prior = model.prior.blocks[b]
    c = int(rows.codes[row])
    x = rows.cells[b][[row]]
    rest = count_without(model, rows, b, row, gone)
    changed = slice(c, c + 1) if prior.independent_classes else slice(None)
    reader = reader_of(prior[changed], rest[changed], kind)
    classes = np.arange(len(scores))[changed]
    column = column_of(x)
    for j in np.flatnonzero(np.isnan(scores[c])).tolist():
        one, cells = (reader, x) if scores.shape[1] == 1 else (reader.only(j), column(j))
        good = (one.proper | prior.missing(cells)).all(axis=1)
        if good.any():
            scores[classes[good], j] = one[good].score(cells)[0]


def count_without(model: Model, rows: Rows, b: int, row: int, gone: Array) -> Any:
    """Count a block's rows again but for one, of those classes that it was in."""
    c = rows.codes[row]
    weight = np.where(np.arange(len(rows.codes)) == row, rows.counts - gone, rows.counts)
    keep = np.flatnonzero(
        (weight > 0) & (rows.codes == c if model.prior.blocks[b].independent_classes else True)
    )
    labels = one_hot(rows.codes[keep], len(model.stats.classes), weight[keep])
    rest = rows.observers[b](rows.cells[b][keep], labels, 1)
    return rest if rows.elsewhere is None else rest + rows.elsewhere.blocks[b]


def are_there(model: Model, rows: Rows) -> Array:
    """Return the classes of which these rows are all that the model has learnt, `(c,)`.

    The known stats of other rows count with them.
    """
    known = 0.0 if rows.elsewhere is None else rows.elsewhere.classes.counts
    return are_all(model, np.bincount(rows.codes, rows.counts, len(model.stats.classes)) + known)


def are_all(model: Model, counts: Array) -> Array:
    """Classes of which `counts` rows are all that the model has learnt, `(c,)`."""
    learnt = model.stats.classes.counts
    there = np.abs(counts - learnt) <= SLACK * learnt
    return there if model.prior.independent_classes else np.broadcast_to(there.all(), there.shape)


def choose_rows(rows: Rows, classes: int, columns: int, exponents: int | None = None) -> Array:
    """Return the rows by which exponents are found, `(r,)`.

    All, or ROWS_SCORED of them, evenly spaced in every class, always the same.

    They are fewer where the table of their scores would be too large, or exponents, by default
    one for each column, take too long to find.
    """
    most = most_scored(classes, columns, exponents)
    if len(rows.codes) <= min(MAX_ROWS, most):
        return np.ones(len(rows.codes), bool)
    return evenly(rows.codes, min(ROWS_SCORED, most))


def choose_stratified_rows(
    rows: Rows, classes: int, columns: int, exponents: int | None = None
) -> Rows:
    """Return the rows by which exponents are found."""
    return rows.where(choose_rows(rows, classes, columns, exponents))
