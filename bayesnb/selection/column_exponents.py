"""Exponents by column, and how fast those of words fall with the length of a row: t / (1 + n / n0)
at n words.

The words of a text repeat one another, so one exponent is too small for short texts and too large
for long ones. As everywhere here, a tempered score is the exponent times the score, so one table of
exact leave-one-out scores L is enough for all n0. With the class prior and the other columns fixed,
for a block of words

    maximise over n0 and t <= 1    sum_i log softmax_c(rest_ic + t L_ic / (1 + n_i / n0))_{y_i}

where t has no prior: the prior of exponents is for rows of any length, and a small n0 would evade
it. n0 is a power of 2 up to the longest row, or infinite for no fall: a factor of 2 changes the
score of held-out rows by a few percent at most. The prior is weak: an infinite n0 has e times the
prior probability of any other, so these must be better by one nat. Short texts, and texts with
independent words, keep exactly the same exponent. All exponents are then estimated as usual, from
scores divided by 1 + n / n0.

For rows in batches, n0 is that of the first batch. Each batch is scored before it is learnt, with
the exponents from earlier batches as the centre of the ridge.
"""

from dataclasses import replace

import numpy as np

from bayesnb.families.base import Array
from bayesnb.families.links import Links
from bayesnb.families.removal import PREDICTIVE
from bayesnb.model.fitted import Temper
from bayesnb.model.powers import ExponentCovariance, lengths_of, shares_at
from bayesnb.model.product import Model, Rows, feature_scores, features_of
from bayesnb.selection.exponents import (
    LOG_NEGLIGIBLE,
    SPREAD,
    LabelScores,
    Maximum,
    average_one_exponent,
    average_over_widths,
    maximise_exponents,
    maximise_one,
)
from bayesnb.selection.leave_one_out import (
    are_there,
    choose_rows,
    column_scores,
    leave_one_out,
    log_class_left_out,
)

LENGTH_MARGIN = 1.0  # nats by which a finite length must be better
DIFFERENCE_STEP = 1e-2  # of log t, for its second derivative
COARSE_TOLERANCE = 1e-2  # of log t, near the maximum, where the score is flat
# with more columns, those that alone predict the label worst share an exponent
MAX_EXPONENTS = 500
LINK_SHARE = 0.25  # the prior mean of a link's exponent, relative to that of columns


def find_one_exponent(model: Model, rows: Rows, n_jobs: int | None = None) -> Temper:
    """Estimate one exponent from the leave-one-out log score of the labels and its prior.

    A row of weight w counts as w rows: one of them is left out, and its score counts w times. If
    these are only the last of the rows learnt, rows without which their class has no distribution
    are skipped. The standard deviation comes from the second derivative in log t, by finite
    differences.
    """
    one = np.minimum(rows.counts, 1.0)
    log_class = log_class_left_out(model, rows, one, PREDICTIVE)
    with np.errstate(invalid="ignore"):
        total = leave_one_out(model, rows, gone=one, n_jobs=n_jobs)
        features = np.where(np.isneginf(log_class), 0.0, total - log_class)
    there = are_there(model, rows)[rows.codes]
    scores = LabelScores.of((log_class, features[:, :, None]), rows, there, "temper='loo'")

    def log_posterior(log_t: float) -> float:
        return scores.total(np.exp([log_t])) - (log_t / SPREAD) ** 2 / 2

    best = maximise_one(log_posterior)
    below, top, above = map(log_posterior, (best - DIFFERENCE_STEP, best, best + DIFFERENCE_STEP))
    bend = 2 * top - below - above
    value = float(np.exp(best))
    if bend <= 0:
        return Temper(value, float("inf"))
    sd = float(value * DIFFERENCE_STEP / np.sqrt(bend))
    group = np.zeros(sum(map(features_of, model.prior.blocks)), np.int64)
    return Temper(value, sd, None, ExponentCovariance(np.array([[sd**2]]), group))


def find_exponents(model: Model, rows: Rows, n_jobs: int | None = None) -> Temper:
    """Estimate an exponent for each column, with standard deviations, by leave-one-out.

    If there are many rows, an evenly spaced part of every class is used.
    """
    few = choose_scored(model, rows)
    return exponents_of(model, few, column_scores(model, few, n_jobs))


def exponents_of(model: Model, few: Rows, table: tuple[Array, Array]) -> Temper:
    """Estimate an exponent for each column from leave-one-out scores, `(r, c)` and `(r, c, f)`."""
    there = are_there(model, few)[few.codes]
    scores = LabelScores.of(table, few, there)
    words = count_words_of_rows(model, few)[scores.places]
    linked = are_links(model)
    found = _average(scores, linked)
    length = find_lengths(scores, words, np.asarray(found.value))
    if np.isfinite(length).any():
        found = _average(scores.scale(shares_at(words, length)), linked)
        return replace(found, length=length)
    return found


def _average(scores: LabelScores, linked: Array) -> Temper:
    """Estimate exponents whose prior mean is one number for all columns, and a part of it for
    links.
    """
    t, sd = average_one_exponent(scores, ~linked)
    groups, first = group_columns(scores, linked)
    means = np.where(linked, LINK_SHARE * t, t)[first]
    wide = np.count_nonzero(~linked) / max(scores.counts.sum(), 1.0)
    return _of_features(average_over_widths(scores.add_up(groups), means, sd / t, wide), groups)


def _of_features(found: Maximum, groups: Array) -> Temper:
    """Repeat the exponents of groups for their features."""
    covariance = ExponentCovariance(found.covariance, groups)
    return Temper(found.mean[groups], found.sd[groups], None, covariance)


def group_columns(scores: LabelScores, linked: Array) -> tuple[Array, Array]:
    """Return the group of each column, which shares an exponent, and the first column of each
    group.

    Links, and the columns that alone predict the label best, are groups by themselves; in a wide
    table all others are the last group. So the matrix of second derivatives has at most
    MAX_EXPONENTS rows plus one for each link.
    """
    columns = np.arange(len(linked))
    if len(columns) <= MAX_EXPONENTS:
        return columns, columns
    worth = np.where(linked, np.inf, scores.total_by_column)
    is_alone = linked.copy()
    is_alone[np.argsort(-worth, kind="stable")[: MAX_EXPONENTS - 1]] = True
    groups = np.where(is_alone, np.cumsum(is_alone) - 1, is_alone.sum())
    return groups, np.unique(groups, return_index=True)[1]


def are_links(model: Model) -> Array:
    """Which features are links between columns, `(f,)`."""
    blocks = model.prior.blocks
    return np.concatenate(
        [np.full(features_of(block), isinstance(block, Links)) for block in blocks]
    )


def update_exponents(known: Temper, model: Model, rows: Rows) -> Temper:
    """Update exponents by rows that the model has not learnt yet, with the same groups as
    before.
    """
    value = np.asarray(known.value)
    groups = np.arange(len(value)) if known.covariance is None else known.covariance.group
    few = choose_scored(model, rows)
    log_class = np.repeat(model.posterior.log_class[None], len(few.codes), axis=0)
    table = feature_scores(model.posterior.blocks, few.cells)
    scores = LabelScores.of((log_class, table), few, np.zeros(len(few.codes), bool))
    if known.length is not None:
        words = count_words_of_rows(model, few)[scores.places]
        scores = scores.scale(shares_at(words, known.length))
    first = np.unique(groups, return_index=True)[1]
    means = value[first]
    found = maximise_exponents(scores.add_up(groups), means, np.asarray(known.sd)[first], means)
    return replace(_of_features(found, groups), length=known.length)


def choose_scored(model: Model, rows: Rows) -> Rows:
    """Return the rows from which exponents of columns are estimated."""
    columns = sum(features_of(block) for block in model.prior.blocks)
    classes = len(model.stats.classes)
    return rows.where(choose_rows(rows, classes, columns, min(columns, MAX_EXPONENTS)))


def count_words_of_rows(model: Model, rows: Rows) -> Array:
    """Number of words in each row and column, 0 for columns that are not words, `(r, f)`."""
    words = []
    for block, x in zip(model.prior.blocks, rows.cells, strict=True):
        if block.words(x[:0]) is None:
            words.append(np.zeros((len(rows.codes), features_of(block))))
        else:
            words.append(lengths_of(x)[:, None])
    return np.concatenate(words, axis=1)


def find_lengths(scores: LabelScores, words: Array, w: Array) -> Array:
    """The most probable n0 of each column of words, with exponents w of the other columns.

    Shapes: `(r, f), (f,) -> (f,)`.
    """
    length = np.full(len(w), np.inf)
    for j in np.flatnonzero(words.any(axis=0)).tolist():
        others = w.copy()
        others[j] = 0.0
        block = scores.isolate(j, others)
        best = score_best_exponent(block) + LENGTH_MARGIN
        for n0 in 2.0 ** np.arange(np.ceil(np.log2(words[:, j].max())), -1.0, -1.0):
            value = score_best_exponent(block.scale(shares_at(words[:, [j]], n0)))
            if value < best - LOG_NEGLIGIBLE:
                break
            if value > best:
                length[j] = n0
                best = value
    return length


def score_best_exponent(block: LabelScores) -> float:
    """Log score of the labels under the best exponent of one column, which is at most 1."""

    def total(log_t: float) -> float:
        return block.total(np.exp([log_t]))

    return total(maximise_one(total, COARSE_TOLERANCE))
