"""Exact leave-one-out and k-fold: predictions of each row by a model that has not seen it.

A row enters only the stats of its class, so leaving it out does not change the scores of other
classes. For k-fold, the stats of each fold are counted once, and those of the other folds added, so
nothing is subtracted.

Leave-one-out scores by column are

    table[i, c, j] = log p(x_ij | c, all rows but i)

A column is a feature: a joint block, or a block of words, is one column. The scores of a row plus
`log_class_left_out` add up to `leave_one_out`.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bayesnb.families.base import Array, Rng
from bayesnb.families.record import raised
from bayesnb.families.removal import PREDICTIVE, SLACK, RowsLeftOut, reader_of
from bayesnb.families.weight import one_hot
from bayesnb.model.kept_rows import MAX_ROWS, ROWS_SCORED, evenly, most_scored
from bayesnb.model.powers import (
    ExponentCovariance,
    Exponents,
    feature_exponents,
    is_silent,
    length_shares,
    of_rows,
)
from bayesnb.model.product import (
    Model,
    Product,
    ProductStats,
    Rows,
    feature_scores,
    features_of,
    normalise_log,
    observe,
)
from bayesnb.numerics.threads import blocks
from bayesnb.selection.exponents import leave_exponents

# Leave-one-out scores by column


def column_scores(model: Model, rows: Rows, n_jobs: int | None = None) -> tuple[Array, Array]:
    """Leave-one-out log probability of classes, `(r, c)`, and of cells by column, `(r, c, f)`.

    Blocks lie end to end. A row of weight w counts as w rows, and one of them is left out. Missing
    cells have 0, impossible ones -inf. NaN where the other rows leave no distribution, or would
    have to be counted again but are not all given.
    """
    gone = np.minimum(rows.counts, 1.0)
    parts = column_scores_by_parts(model, rows, len(rows.codes), gone, PREDICTIVE, n_jobs)
    _, log_class, table = next(parts)
    return log_class, table


def column_scores_by_parts(
    model: Model, rows: Rows, at_once: int, gone: Array, kind: str, n_jobs: int | None
) -> Iterator[tuple[slice, Array, Array]]:
    """Yield blocks of rows with their scores; `gone` is the weight left out."""
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
    """Log probability of classes, with a weight of each row left out, `(r, c)`."""
    classes = model.prior.classes
    log_class = classes.labels_left_out(model.stats.classes, rows.codes, gone, kind)
    log_class[:, ~model.read(kind).live] = -np.inf
    return log_class


def count_again(
    model: Model, rows: Rows, b: int, part: slice, gone: Array, kind: str, scores: Array
) -> None:
    """Replace NaN scores of a block, `(r, c, f)` or the sum `(r, c, 1)`, by counting all other
    rows.

    For rows whose subtraction would leave too few digits. Scores stay NaN without a proper
    distribution, and for rows whose class is not completely given.
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
        if prior.independent_classes:  # only the row's class
            keep &= rows.codes == c
            changed = slice(c, c + 1)
        others = np.flatnonzero(keep)
        labels = one_hot(rows.codes[others], scores.shape[1], weight[others])
        rest = rows.observers[b](rows.cells[b][others], labels, 1)
        reader = reader_of(prior[changed], rest[changed], kind)
        x = rows.cells[b][[part.start + i]]
        with np.errstate(all="ignore"):  # improper distributions
            again = feature_scores([reader], [x])[0]
        again = np.where(reader.proper | prior.missing(x), again, np.nan)
        if scores.shape[2] == 1:
            again = again.sum(axis=1, keepdims=True)
        scores[i, changed] = np.where(undefined[i], again, scores[i, changed])


def are_there(model: Model, rows: Rows) -> Array:
    """Return the classes whose learnt rows are all given, `(c,)`."""
    return are_all(model, np.bincount(rows.codes, rows.counts, len(model.stats.classes)))


def are_all(model: Model, counts: Array) -> Array:
    """Classes for which `counts` is the weight of all learnt rows, `(c,)`."""
    learnt = model.stats.classes.counts
    there = np.abs(counts - learnt) <= SLACK * learnt
    return there if model.prior.independent_classes else np.broadcast_to(there.all(), there.shape)


def choose_rows(rows: Rows, classes: int, columns: int, exponents: int | None = None) -> Array:
    """Return the rows from which exponents are estimated, `(r,)`.

    All, or ROWS_SCORED of them, evenly spaced in every class and without randomness. Fewer if the
    table of scores would be too large, or estimating the exponents, by default one for each column,
    too slow.
    """
    most = most_scored(classes, columns, exponents)
    if len(rows.codes) <= min(MAX_ROWS, most):
        return np.ones(len(rows.codes), bool)
    return evenly(rows.codes, min(ROWS_SCORED, most))


# Leave-one-out and k-fold scores of rows

PACKAGE = str(Path(__file__).parent.parent)
CELLS_AT_ONCE = 1 << 22  # scores by row, class and feature computed at once


class PredictiveRule(NamedTuple):
    """How a model predicts: "predictive", or the point estimate that is plugged in, and
    exponents.
    """

    kind: str = PREDICTIVE
    power: Exponents = 1.0
    # of exponents, if these are estimated without each held-out row
    covariance: ExponentCovariance | None = None


PREDICT = PredictiveRule()


class UndefinedWarning(UserWarning):
    """Some rows cannot be left out, as the other rows of their class give no distribution.

    Their scores are NaN. A proper prior with ``estimate="predictive"`` always gives one.

    See Also
    --------
    NaiveBayes.loo : Exact leave-one-out.
    """


class UnverifiedWarning(UserWarning):
    """Fewer rows were given than learnt, so it cannot be checked that they were learnt.

    Leave-one-out subtracts rows from what was learnt. If all rows of a class are given, their
    statistics are compared with those learnt; otherwise they are trusted.

    See Also
    --------
    NaiveBayes.loo : Exact leave-one-out.
    """


@dataclass(frozen=True, eq=False)
class Pointwise:
    """Log scores of rows, held out and in-sample, and weights of the rows."""

    score: Array
    fitted: Array
    weight: Array | None = None

    @cached_property
    def counts(self) -> Array:
        return np.ones(len(self.score)) if self.weight is None else self.weight

    @property
    def rows(self) -> int:
        return int((self.counts > 0).sum())

    @cached_property
    def shares(self) -> Array:
        """Score of each row times its weight, relative to the mean weight; they sum to `total`."""
        scores = np.multiply(
            self.counts, self.score, out=np.zeros(len(self.score)), where=self.counts > 0
        )
        return self.rows / self.counts.sum() * scores

    @property
    def total(self) -> float:
        return float(self.shares.sum())

    @property
    def se(self) -> float:
        """Standard error of the total, over samples from the population; NaN if a score is not
        finite.
        """
        weight = self.counts[self.counts > 0]
        score = self.score[self.counts > 0]
        if len(score) < 2 or not np.isfinite(score).all():
            return float("nan")
        gap = weight / weight.mean() * (score - weight @ score / weight.sum())
        return float(np.sqrt(len(score) / (len(score) - 1) * (gap**2).sum()))

    @property
    def optimism(self) -> float:
        """In-sample minus held-out score: the effective number of parameters in ArviZ."""
        with np.errstate(invalid="ignore"):
            return replace(self, score=self.fitted - self.score).total


def label_scores(joint: Array, codes: Array, target: str) -> Array:
    """log p(y | x) or log p(x, y) of the label of each row, from log p(x, y) of all classes.

    Shapes: `(r, c), (r,) -> (r,)`.
    """
    return (joint if target == "joint" else normalise_log(joint))[np.arange(len(codes)), codes]


def warn_undefined(score: Array) -> None:
    """Warn once of all rows whose score is NaN."""
    undefined = np.isnan(score)
    if undefined.any():
        warnings.warn(
            f"{undefined.sum()} rows, first row {undefined.argmax()}, cannot be held out: the "
            "other rows of their class give no distribution (there are too few, or they do not "
            "vary, and the prior is improper). Use a proper prior.",
            UndefinedWarning,
            skip_file_prefixes=(PACKAGE,),
        )


def leave_one_out(
    model: Model,
    rows: Rows,
    way: PredictiveRule = PREDICT,
    gone: Array | None = None,
    n_jobs: int | None = None,
) -> Array:
    """log p(x, y | all rows but this one), `(r, c)`.

    `gone` is the weight left out, by default all of it. Exponents with a known covariance are also
    estimated without each row: see `leave_exponents`. NaN where the other rows leave no
    distribution, or would have to be counted again but are not all given.
    """
    gone = rows.counts if gone is None else gone
    powers = of_rows(way.power, rows.cells)
    if way.covariance is not None or any(np.ndim(power) == 1 for power in powers):
        total = np.empty((len(rows.codes), len(model.stats.classes)))
        for part, log_class, table in contributions_left_out(model, rows, way, gone, n_jobs):
            total[part] = log_class + table.sum(axis=2)
        return total
    reader = model.read(way.kind)
    total = log_class_left_out(model, rows, gone, way.kind)
    every = slice(0, len(rows.codes))
    for b, (x, power) in enumerate(zip(rows.cells, powers, strict=True)):
        if is_silent(power):
            continue
        leaving = RowsLeftOut(x, rows.codes, gone, way.kind, n_jobs)
        score = model.prior.blocks[b].left_out(model.stats.blocks[b], reader.blocks[b], leaving)
        count_again(model, rows, b, every, gone, way.kind, score[:, :, None])
        total += raised(power, score)
    total[:, ~reader.live] = -np.inf
    return total


def contributions_left_out(
    model: Model, rows: Rows, way: PredictiveRule, gone: Array, n_jobs: int | None = None
) -> Iterator[tuple[slice, Array, Array]]:
    """Yield blocks of rows, and contributions of classes, `(r, c)`, and features, `(r, c, f)`.

    They are leave-one-out contributions with exponents, which are also estimated without each row
    if their covariance is given.
    """
    classes = len(model.stats.classes)
    columns = sum(features_of(block) for block in model.prior.blocks)
    at_once = max(CELLS_AT_ONCE // (classes * columns), 1)
    chose = np.zeros(len(rows.codes), bool)
    if way.covariance is not None:
        chose = choose_rows(rows, classes, columns, len(way.covariance))
    parts = column_scores_by_parts(model, rows, at_once, gone, way.kind, n_jobs)
    for part, *scores in parts:
        yield part, scores[0], weigh_features(model, rows[part], scores, way, chose[part])


def weigh_features(
    model: Model, rows: Rows, scores: Sequence[Array], way: PredictiveRule, chose: Array
) -> Array:
    """Multiply leave-one-out scores by exponents, estimated without each row where `chose`.

    Shapes: `(r, c)`, `(r, c, f)` and `(r,) -> (r, c, f)`.
    """
    log_class, table = scores
    widths = [features_of(block) for block in model.prior.blocks]
    w = feature_exponents(way.power, widths)[None]
    table = raised(length_shares(way.power, rows.cells, widths)[:, None], table)
    if way.covariance is not None:
        scores = log_class, table
        left = leave_exponents(scores, rows.codes, rows.counts, w[0], way.covariance)
        w = np.where(chose[:, None], left, w)
    return raised(w[:, None], table)


def warn_unverified(model: Model, counts: Array) -> None:
    """Warn if more rows of a class, by weight, were learnt than `counts`.

    If all rows of a class are given, their stats prove that they were learnt; with fewer rows, they
    only show that they may have been.
    """
    unverified = (counts > 0) & ~are_all(model, counts)
    if unverified.any():
        warnings.warn(
            f"the model has learnt {model.stats.classes.counts.sum():.12g} rows, by weight, and "
            f"{counts.sum():.12g} were given, so it cannot be checked that these were learnt. For "
            "rows that were not learnt the result is wrong. Give all rows that were learnt; "
            "predict_log_proba scores new rows.",
            UnverifiedWarning,
            skip_file_prefixes=(PACKAGE,),
        )


def find_stuck(model: Model, rows: Rows, joint: Array) -> Array:
    """Rows without a score because not all rows of their class are given, `(r,)`."""
    return np.isnan(joint[np.arange(len(joint)), rows.codes]) & ~are_there(model, rows)[rows.codes]


def k_fold(
    model: Model, rows: Rows, folds: Array, way: PredictiveRule = PREDICT, n_jobs: int | None = None
) -> Array:
    """log p(x, y | the rows of other folds), `(r,) -> (r, c)`; NaN without a proper
    distribution.
    """
    total = np.empty((len(folds), len(model.stats.classes)))
    names = np.unique(folds)
    parts = []
    for name in names:
        here = rows.where((folds == name) & (rows.counts > 0))
        parts.append(observe(here, total.shape[1], n_jobs))
    nothing = 0.0 * parts[0]
    before = accumulate(parts, add, initial=nothing)
    after = list(accumulate(reversed(parts), add, initial=nothing))[-2::-1]
    for name, one, other in zip(names, before, after, strict=False):
        held_out = np.flatnonzero(folds == name)
        reader = rewind_model(model, one + other).read(way.kind)
        are_proper = [block.proper.all(axis=-1) for block in reader.blocks]
        proper = np.all(are_proper, axis=0) | ~reader.live
        joint = reader.log_joint([x[held_out] for x in rows.cells], way.power, n_jobs)
        total[held_out] = np.where(proper, joint, np.nan)
    return total


def rewind_model(model: Model, stats: ProductStats) -> Model:
    """Return the model with only these stats."""
    return Model(Product(model.prior.classes.recounted(stats.classes), model.prior.blocks), stats)


def fold_of_rows(folds: Any, codes: Array, rng: Rng) -> Array:
    """Return the fold of each row, 0, 1, ...: as given, or random and stratified by class."""
    if not isinstance(folds, int | np.integer) or isinstance(folds, bool):
        return _given_folds(folds, len(codes))
    if not 2 <= folds <= len(codes):
        raise ValueError(f"folds must be from 2 to the number of rows, {len(codes)}, got {folds}.")
    order = np.random.default_rng(rng).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(len(codes), np.intp)
    fold[order] = np.arange(len(codes)) % int(folds)
    return fold


def _given_folds(folds: Any, rows: int) -> Array:
    """Number the given folds in order of appearance."""
    given = np.asarray(folds)
    if given.shape != (rows,):
        what = repr(folds) if given.ndim == 0 else f"an array of shape {given.shape}"
        raise ValueError(
            f"folds must be a whole number, or one fold for each of {rows} rows, got {what}."
        )
    names = given.tolist()
    missing = [row for row, name in enumerate(names) if name is None or (name == name) is not True]
    if missing:
        raise ValueError(
            f"folds: {len(missing)} rows have no fold (first row {missing[0]}). Give each row one."
        )
    place = {name: k for k, name in enumerate(dict.fromkeys(names))}
    if len(place) < 2:
        raise ValueError(f"there must be at least two folds, but all rows are in {names[0]!r}.")
    return np.array([place[name] for name in names])
