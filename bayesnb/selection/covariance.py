"""Whether a joint Gaussian of columns improves predictions of the label.

On tables of numbers, naive Bayes mainly misses linear boundaries: correlated columns whose
difference separates the classes. A joint Gaussian with full covariance acts as one more column with
its own exponent. On tables of levels, naive Bayes misses rules: log-odds that are additive in
levels, or depend on combinations of two. Indicators of levels, and their products, are numbers too;
with them the Gaussian is a linear or quadratic discriminant of levels.

Its columns (numbers; also indicators; also products) and its prior (from separate to shared
covariances) maximise the exact leave-one-out score of the labels by the Gaussian alone. It is kept
if it improves the score by all columns by more than MARGIN nats, with exponents estimated without
each row.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.data import Table
from bayesnb.families import Gaussian, Histogram, Poisson
from bayesnb.families.base import Array
from bayesnb.families.dirichlet import DirichletStats
from bayesnb.families.multivariate import VectorStats
from bayesnb.families.record import FARTHEST, difference
from bayesnb.families.removal import PREDICTIVE, RowsLeftOut
from bayesnb.families.weight import one_hot
from bayesnb.model.covariance import MAX_ROWS, Covariance, Indicators, Scale, read_together
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
from bayesnb.selection.link_search import level_reader

COVARIANCE = "covariance"
MIN_ROWS = 3  # complete rows for each number or indicator
MAX_WIDTH = 200  # numbers and indicators
MAX_WORK = 4e7  # multiplications to score all rows, if there are indicators
# Share of complete rows: fewer would not be representative, and predicting the others takes long,
# as they have many patterns of missing cells.
MIN_COMPLETE = 0.25
# candidate degrees of freedom above the number of columns: from quadratic to linear discriminant
# analysis
DOFS = (2.0, 10.0, 60.0, 1e3, 1e5)
ROUNDING = 1e-12  # relative: columns that vary less are constant
MARGIN = 2.0  # nats by which the score of the labels must improve


def try_covariance(schema: Schema, rows: LabelledTable) -> Schema:
    """Add the best joint Gaussian of columns, if there are enough rows, for `keep_covariance`."""
    some = np.flatnonzero(evenly(rows.codes, MAX_ROWS))
    weight = None if rows.weight is None else rows.weight[some]
    chosen = None
    best = -np.inf
    for places, indicators in list_candidates(schema, rows.table):
        least = best if chosen is None else best + MARGIN  # a larger model must beat the margin
        x = np.asarray(read_together(rows.table, places, indicators)[some], float)
        varies = has_spread(x)
        x = x[:, varies]
        is_number, is_level = np.split(varies, [len(places)])
        places = tuple(np.array(places, int)[is_number].tolist())
        if indicators is not None:
            if not is_level.any():
                continue  # already tried without indicators
            indicators = indicators[is_level]
        labelled = Rows([], [x], rows.codes[some], weight)
        if not are_enough(labelled, rows, places, indicators):
            continue
        is_number = np.arange(x.shape[1]) < len(places)
        for may_bend in (np.zeros_like(is_number), is_number):
            scale = Scale.learn(x, labelled.counts, may_bend)
            if may_bend.any() and not scale.bent.any():
                continue
            for dof, score in score_alone(scale, labelled, rows):
                if score > least:
                    least = best = score
                    chosen = Covariance(places, scale, dof, indicators=indicators)
    return schema if chosen is None else schema.with_covariance(chosen)


def list_candidates(schema: Schema, table: Table) -> Iterator[tuple[Sequence[int], Any]]:
    """Yield places of columns of numbers, and indicators of levels or None."""
    numbers = find_numbers(schema, table)
    if numbers:
        yield numbers, None
    found = [level_reader(block) for block in schema.columns_alone.blocks]
    readers = tuple(reader for reader in found if reader is not None)
    if not readers:
        return
    indicators = Indicators.of_levels(readers)
    numbers = [place for place in numbers if place not in indicators.place_of]
    if len(numbers) + len(indicators) > MAX_WIDTH:
        return
    yield numbers, indicators
    products = indicators.with_products
    if len(products) > len(indicators) and len(numbers) + len(products) <= MAX_WIDTH:
        yield numbers, products


def find_numbers(schema: Schema, table: Table) -> list[int]:
    """Return the places of columns of numbers, including those modelled as levels by `BestOf`."""
    chosen = {choice.key for choice in schema.choices}
    places = []
    for block in schema.columns_alone.blocks:
        is_numeric = isinstance(block.family, Gaussian | Histogram | Poisson)
        for name, place in zip(block.names, block.places, strict=True):
            is_coded = name in chosen and table.kind(place) == "number"
            if is_numeric or is_coded:
                places.append(place)
    return sorted(places)


def are_enough(
    few: Rows, rows: LabelledTable, places: Sequence[int], indicators: Indicators | None
) -> bool:
    """Return whether there are enough columns, complete rows, and not too much work."""
    x = few.cells[0]
    columns = len(places)
    if indicators is not None:
        columns += len(indicators.places)
        if len(few.codes) * x.shape[1] ** 2 * len(rows.classes) > MAX_WORK:
            return False
    share = (~np.isnan(x).any(axis=1)).mean()
    return (
        columns > 1 and share >= MIN_COMPLETE and share * len(rows.codes) >= MIN_ROWS * x.shape[1]
    )


def has_spread(x: Array) -> Array:
    """Return which columns vary by more than rounding, `(d,)`."""
    with np.errstate(over="ignore"):
        least = np.fmin.reduce(x, axis=0)
        most = np.fmax.reduce(x, axis=0)
        spread = most - least
        size = np.maximum(np.abs(least), np.abs(most))
    return (spread > ROUNDING * size) & (size < FARTHEST)


def score_alone(scale: Scale, rows: Rows, table: LabelledTable) -> Iterator[tuple[float, float]]:
    """Yield degrees of freedom, and the leave-one-out score of labels by these columns alone."""
    classes = len(table.classes)
    x = scale.read(rows.cells[0])
    width = x.shape[1]
    stats = VectorStats.of(x, one_hot(rows.codes, classes, rows.weight))
    labels = DirichletStats(np.bincount(rows.codes, rows.counts, classes))
    every = replace(rows, cells=[x])
    # incomplete rows were not counted, and many patterns of missing cells take long
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
    """Return the model with or without the joint Gaussian, and its exponents.

    It is kept if the leave-one-out score, with exponents also estimated without each row, improves
    by more than MARGIN nats. `find_temper` estimates exponents from a model, rows, and scores by
    column.
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
    (together, score), (alone, score_without) = answers
    gain = float(few.counts @ difference(score, score_without))
    if not gain > MARGIN:
        return alone
    covariance: Any = fitted.schema.covariance
    schema = fitted.schema.with_covariance(replace(covariance, gain=gain))
    return replace(together, schema=schema)


def drop_covariance(fitted: Fitted) -> Fitted:
    """Return the model without the covariance, which is the last block."""
    blocks = fitted.schema.blocks[:-1]
    model = fitted.model.of_first_blocks(len(blocks))
    return replace(fitted, schema=fitted.schema.with_blocks(blocks), model=model)


def score_columns(model: Model, rows: Rows, columns: Array) -> Array:
    """Leave-one-out scores by the marginal Gaussian of some columns, `(f,) -> (r, c)`."""
    prior: Any = model.prior.blocks[-1]
    stats: Any = model.stats.blocks[-1]
    belief = prior.of_columns(columns)
    seen = stats.of_columns(columns)
    leaving = RowsLeftOut(rows.cells[-1][EVERY][:, columns], rows.codes, rows.counts)
    return belief.left_out(seen, belief.update(seen), leaving)
