"""Exact leave-one-out scores by column: what each column says of each row's classes once the row
has left.

    table[i, c, j] = log p(x_ij | c, all rows but i)

A column is a feature of a block: one that is modelled jointly with others, or a block of words, is
one column. The sum of a row's scores and `log_class_left_out` is `leave_one_out`.
"""

from collections.abc import Iterator

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.removal import PREDICTIVE, SLACK, RowsLeftOut, reader_of
from bayesnb.families.weight import one_hot
from bayesnb.model.kept_rows import MAX_ROWS, ROWS_SCORED, evenly, most_scored
from bayesnb.model.product import Model, Rows, feature_scores
from bayesnb.numerics.threads import blocks


def column_scores(model: Model, rows: Rows, n_jobs: int | None = None) -> tuple[Array, Array]:
    """Log probability of classes and of each column's cells, the row left out.

    Shapes: `(r, c)` and `(r, c, f)`.

    The features are in the order of blocks, blocks end to end. A row of weight w counts as w rows,
    one of which is left out. A missing cell's score is 0; a cell that is impossible has -inf; NaN
    where the other rows leave no distribution, or must be counted again to know it and are not all
    there.
    """
    gone = np.minimum(rows.counts, 1.0)
    parts = column_scores_by_parts(model, rows, len(rows.codes), gone, PREDICTIVE, n_jobs)
    _, log_class, table = next(parts)
    return log_class, table


def column_scores_by_parts(
    model: Model, rows: Rows, at_once: int, gone: Array, kind: str, n_jobs: int | None
) -> Iterator[tuple[slice, Array, Array]]:
    """Yield some rows after others with their scores; `gone` is the weight that leaves."""
    reader = model.read(kind)
    log_class = log_class_left_out(model, rows, gone, kind)
    for part in blocks(len(rows.codes), at_once):
        tables = []
        for b, x in enumerate(rows.cells):
            leaving = RowsLeftOut(x[part], rows.codes[part], gone[part], kind, n_jobs)
            stats = model.stats.blocks[b]
            scores = model.prior.blocks[b].features_left_out(stats, reader.blocks[b], leaving)
            count_again(model, rows, b, part, gone, kind, scores)
            tables.append(scores)
        yield part, log_class[part], np.concatenate(tables, axis=2)


def log_class_left_out(model: Model, rows: Rows, gone: Array, kind: str) -> Array:
    """Log probability of classes, so much weight of each row left out, `(r, c)`."""
    classes = model.prior.classes
    log_class = classes.labels_left_out(model.stats.classes, rows.codes, gone, kind)
    log_class[:, ~model.read(kind).live] = -np.inf
    return log_class


def predictive_scores(model: Model, rows: Rows) -> tuple[Array, Array]:
    """Scores of rows that the model has not learnt, laid out as those of `column_scores`."""
    log_class = np.repeat(model.posterior.log_class[None], len(rows.codes), axis=0)
    return log_class, feature_scores(model.posterior.blocks, rows.cells)


def count_again(
    model: Model, rows: Rows, b: int, part: slice, gone: Array, kind: str, scores: Array
) -> None:
    """Write scores of rows by a block where they are NaN, counting all other rows again.

    Shapes: `(r, c, f)`, or `(r, c, 1)` in all.

    For rows whose subtraction would leave too few digits. What has no proper distribution stays
    NaN, and so does a row whose class is not all there.
    """
    codes = rows.codes[part]
    undefined = np.isnan(scores[np.arange(len(codes)), codes])
    if not undefined.any():
        return
    prior = model.prior.blocks[b]
    there = are_there(model, rows)[codes]
    for i in np.flatnonzero(undefined.any(axis=1) & there).tolist():
        c = int(codes[i])
        weight = rows.counts.copy()
        weight[part.start + i] -= gone[part.start + i]
        keep = weight > 0
        changed = slice(None)
        if prior.independent_classes:  # the row's class alone
            keep &= rows.codes == c
            changed = slice(c, c + 1)
        others = np.flatnonzero(keep)
        labels = one_hot(rows.codes[others], scores.shape[1], weight[others])
        rest = rows.observers[b](rows.cells[b][others], labels, 1)
        reader = reader_of(prior[changed], rest[changed], kind)
        x = rows.cells[b][[part.start + i]]
        with np.errstate(all="ignore"):  # of what is improper
            again = feature_scores([reader], [x])[0]
        again = np.where(reader.proper | prior.missing(x), again, np.nan)
        if scores.shape[2] == 1:
            again = again.sum(axis=1, keepdims=True)
        scores[i, changed] = np.where(undefined[i], again, scores[i, changed])


def are_there(model: Model, rows: Rows) -> Array:
    """Return the classes of which these rows are all that the model has learnt, `(c,)`."""
    return are_all(model, np.bincount(rows.codes, rows.counts, len(model.stats.classes)))


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
