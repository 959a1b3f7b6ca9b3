"""Whether all columns of numbers, once more as one Gaussian, tell more of the label.

What naive Bayes misses most on tables of numbers is a plane: correlated columns whose difference
tells the classes apart. With a full covariance they are one more column with an exponent of its
own. Its prior, from classes that have nothing in common to classes that have their covariance in
common, is that under which the labels' exact leave-one-out score by it alone is best; and it is
kept where it improves that by all columns by more than MARGIN nats, exponents left by each row.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.data import Table
from bayesnb.data.cells import as_cells
from bayesnb.families import Gaussian, Histogram, Poisson
from bayesnb.families.base import Array
from bayesnb.families.dirichlet import DirichletStats
from bayesnb.families.multivariate import VectorStats
from bayesnb.families.record import FARTHEST, difference
from bayesnb.families.removal import PREDICTIVE, RowsLeftOut
from bayesnb.families.weight import one_hot
from bayesnb.model.covariance import MAX_ROWS, Covariance, Scale
from bayesnb.model.fitted import Fitted, Temper
from bayesnb.model.kept_rows import evenly
from bayesnb.model.product import Model, Rows
from bayesnb.model.schema import Schema
from bayesnb.numerics.views import EVERY
from bayesnb.selection.best_families import LabelledTable
from bayesnb.selection.column_exponents import choose_scored, score_best_exponent
from bayesnb.selection.exponents import LabelScores
from bayesnb.selection.leave_one_out import (
    PredictiveRule,
    choose_rows,
    column_scores,
    label_scores,
    weigh_features,
)

COVARIANCE = "covariance"
MIN_ROWS = 3  # complete ones, for each column
# Share of the rows that lack no number: fewer would not stand for all of them, and the others lack
# so many different ones that to predict them takes long.
MIN_COMPLETE = 0.25
# degrees of freedom that are tried, above the number of columns: from quadratic to linear
# discriminant analysis
DOFS = (2.0, 10.0, 60.0, 1e3, 1e5)
ROUNDING = 1e-12  # of a number: columns that vary less are constant
MARGIN = 2.0  # nats by which the labels' score must improve


def try_covariance(schema: Schema, rows: LabelledTable) -> Schema:
    """Add the columns of numbers as one Gaussian, if there are rows enough, for `keep_covariance`.

    The same schema else.
    """
    places = find_numbers(schema, rows.table)
    if len(places) < 2:
        return schema
    some = np.flatnonzero(evenly(rows.codes, MAX_ROWS))
    x = np.asarray(as_cells(Gaussian(), rows.table.numbers(places))[some], float)
    varies = has_spread(x)
    places = [place for place, there in zip(places, varies, strict=True) if there]
    x = x[:, varies]
    complete = ~np.isnan(x).any(axis=1)
    share = complete.mean()
    is_short = share * len(rows.codes) < MIN_ROWS * len(places)
    if len(places) < 2 or is_short or share < MIN_COMPLETE:
        return schema
    weight = None if rows.weight is None else rows.weight[some]
    labelled = Rows([], [x], rows.codes[some], weight)
    chosen = None
    best = -np.inf
    for bend in (False, True):
        scale = Scale.learn(x, labelled.counts, bend=bend)
        if bend and not scale.bent.any():
            continue
        for dof, score in score_alone(scale, labelled, rows):
            if score > best:
                best = score
                chosen = Covariance(tuple(places), scale, dof)
    return schema if chosen is None else schema.with_covariance(chosen)


def find_numbers(schema: Schema, table: Table) -> list[int]:
    """Return the places of columns of numbers, also of those whose values were taken as levels."""
    chosen = {choice.key for choice in schema.choices}
    places = []
    for block in schema.columns_alone.blocks:
        is_numeric = isinstance(block.family, Gaussian | Histogram | Poisson)
        for name, place in zip(block.names, block.places, strict=True):
            is_coded = name in chosen and table.kind(place) == "number"
            if is_numeric or is_coded:
                places.append(place)
    return sorted(places)


def has_spread(x: Array) -> Array:
    """Return which columns have numbers that differ by more than rounding, `(d,)`."""
    with np.errstate(over="ignore"):
        least = np.fmin.reduce(x, axis=0)
        most = np.fmax.reduce(x, axis=0)
        spread = most - least
        size = np.maximum(np.abs(least), np.abs(most))
    return (spread > ROUNDING * size) & (size < FARTHEST)


def score_alone(scale: Scale, rows: Rows, table: LabelledTable) -> Iterator[tuple[float, float]]:
    """Yield degrees of freedom, and how well they let numbers alone predict labels, left out."""
    classes = len(table.classes)
    x = scale.read(rows.cells[0])
    width = x.shape[1]
    stats = VectorStats.of(x, one_hot(rows.codes, classes, rows.weight))
    labels = DirichletStats(np.bincount(rows.codes, rows.counts, classes))
    every = replace(rows, cells=[x])
    # rows that lack a number have learnt nothing, and take long where many lack different ones
    complete = ~np.isnan(x).any(axis=1)
    few = every.where(complete & choose_rows(every, classes, 1))
    gone = np.minimum(few.counts, 1.0)
    leaving = RowsLeftOut(few.cells[0], few.codes, gone, PREDICTIVE, table.table.n_jobs)
    log_class = table.class_prior(labels).labels_left_out(labels, few.codes, gone, PREDICTIVE)
    there = np.zeros(len(few.codes), bool)
    for free in DOFS:
        prior = Covariance((), scale, width + free).belief(stats)
        score = prior.left_out(stats, prior.update(stats), leaving)[..., None]
        scores = LabelScores.of((log_class, score), few, there)
        yield width + free, score_best_exponent(scores)


def keep_covariance(
    fitted: Fitted, rows: Rows, find_temper: Callable[..., Temper], n_jobs: int | None
) -> Fitted:
    """Return what was learnt with the numbers as one Gaussian, or without it, and exponents.

    It is kept where rows that are left out, and leave the exponents, have better scores by more
    than MARGIN nats. `find_temper` finds exponents by a model, rows, and their scores by column.
    """
    without = drop_covariance(fitted)
    few = choose_scored(fitted.model, rows)
    log_class, table = column_scores(fitted.model, few, n_jobs)
    answers = []
    for each, columns in ((fitted, table), (without, table[..., :-1])):
        part = few.of_first_blocks(len(each.schema.blocks))
        temper = find_temper(each.model, part, (log_class, columns))
        each = replace(each, temper=temper)
        way = PredictiveRule(PREDICTIVE, each.exponents, temper.covariance)
        every = np.ones(len(few.codes), bool)
        weighed = weigh_features(each.model, part, (log_class, columns), way, every)
        scores = label_scores(log_class + weighed.sum(axis=2), few.codes, "label")
        answers.append((each, np.where(few.counts > 0, scores, 0.0)))
    (together, score), (alone, score_alone) = answers
    gain = float(few.counts @ difference(score, score_alone))
    if not gain > MARGIN:
        return alone
    covariance: Any = fitted.schema.covariance
    schema = fitted.schema.with_covariance(replace(covariance, gain=gain))
    return replace(together, schema=schema)


def drop_covariance(fitted: Fitted) -> Fitted:
    """Return what was learnt without the covariance, which is the last block."""
    blocks = fitted.schema.blocks[:-1]
    model = fitted.model.of_first_blocks(len(blocks))
    return replace(fitted, schema=fitted.schema.with_blocks(blocks), model=model)


def score_columns(model: Model, rows: Rows, columns: Array) -> Array:
    """Scores of left-out rows by some columns of the covariance alone, `(f,) -> (r, c)`.

    They are of what the rows have taught about these columns.
    """
    prior: Any = model.prior.blocks[-1]
    stats: Any = model.stats.blocks[-1]
    belief = prior.of_columns(columns)
    seen = stats.of_columns(columns)
    leaving = RowsLeftOut(rows.cells[-1][EVERY][:, columns], rows.codes, rows.counts)
    return belief.left_out(seen, belief.update(seen), leaving)
