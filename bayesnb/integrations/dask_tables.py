"""Estimators' methods for Dask's collections: each partition is counted, or answered, where it is.

    partition ──▶ shard ┐
    partition ──▶ shard ┼──▶ FAN_IN of them, one after the other ──▶ ... ──▶ the shard of all rows
    partition ──▶ shard ┘

Only stats, answers or scores travel. A function here has the name and the parameters of the method that it is in place
of. The order of the sums is that of the partitions alone, so that neither the scheduler nor a worker that is lost on
the way changes a digit. The workers are the cores: each of them counts on one thread.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bayesnb import results
from bayesnb.estimators import NaiveBayes
from bayesnb.estimators.cross_validation import refuse_stuck
from bayesnb.estimators.model_holder import unchanged_on_error
from bayesnb.estimators.prediction import PredictionMixin
from bayesnb.estimators.training import known_classes
from bayesnb.integrations.dask_partitions import (
    checked,
    heading,
    is_frame,
    naming,
    on_each,
    on_partition,
    planned,
    siblings,
    together,
    tree,
)
from bayesnb.model.product import ProductStats
from bayesnb.model.shards import Shard, added
from bayesnb.selection.leave_one_out import Pointwise, leave_one_out, stuck, warn_undefined, warn_unverified

Array = np.ndarray


# Learning: one pass over the partitions, none of which comes here


def fit(model: NaiveBayes, X: Any, y: Any, sample_weight: Any = None) -> NaiveBayes:
    """Learn from a lazy table; what was learnt before is forgotten."""
    with unchanged_on_error(model):
        return learn(model, (X, y, sample_weight), None, model.classes)


def partial_fit(
    model: NaiveBayes, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, grow_classes: bool = False
) -> NaiveBayes:
    """Learn from the rows of a lazy table besides those learnt before."""
    with unchanged_on_error(model):
        before, declared = model._continued(classes, grow_classes)
        return learn(model, (X, y, sample_weight), before, declared, grow_classes)


def learn(
    model: NaiveBayes, rows: tuple[Any, Any, Any], before: Shard | None, declared: Any, grow: bool = False
) -> NaiveBayes:
    """Learn from X, y and sample_weight, after what was learnt before."""
    model._check_arguments()
    if before is None:
        model._refuse_loo()
    else:
        model._check_columns(heading(rows[0]))
    known = None if grow else declared if before is None else before.classes
    total = shard(model._fresh(classes=None) if grow else model, *rows, known)
    if total is None:
        raise ValueError("there is no row to learn from: all partitions are empty, or all weights zero.")
    return model._adopt(total.among(known_classes(total.classes, before, declared, grow)), more=before is not None)


def shard(model: NaiveBayes, X: Any, y: Any, sample_weight: Any = None, declared: Any = None) -> Shard | None:
    """Return the stats of all partitions; None for no row. The model need not be fitted, and does not change."""
    model._check_arguments()
    rows = together(X, y, sample_weight)
    return tree(on_each(model._fresh(n_jobs=1), NaiveBayes._shard, rows, declared))[-1][0].compute()


# Predictions: an array of Dask, whose chunks are the answers to the partitions


def predict(model: PredictionMixin, X: Any) -> Any:
    """Return the most probable label of each row, lazily, `(r,)`."""
    return answers(model, X, "predict")


def predict_proba(model: PredictionMixin, X: Any) -> Any:
    """Return p(y | x, D), lazily, `(r, c)`."""
    return answers(model, X, "predict_proba")


def predict_log_proba(model: PredictionMixin, X: Any) -> Any:
    """Return log p(y | x, D), lazily, `(r, c)`."""
    return answers(model, X, "predict_log_proba")


def predict_joint_log_proba(model: PredictionMixin, X: Any) -> Any:
    """Return log p(x, y), lazily, `(r, c)`."""
    return answers(model, X, "predict_joint_log_proba")


def answers(model: PredictionMixin, X: Any, method: str) -> Any:
    """Return what a method answers for every row, lazily."""
    from dask import delayed

    X = checked(X)
    model._check_columns(heading(X))
    none = no_answer(model, method)
    worker = delayed(model._on_one_thread(), pure=False, traverse=False)
    if is_frame(X):
        return X.map_partitions(answered_frame, worker, method, meta=none, align_dataframes=False)
    chunks = (X.chunks[0], *((size,) for size in none.shape[1:]))
    dropped = [] if none.ndim == 2 else [1]
    return X.map_blocks(answered_block, worker, method, dtype=none.dtype, chunks=chunks, drop_axis=dropped, meta=none)


def answered_frame(x: Any, model: PredictionMixin, method: str, partition_info: Any = None) -> Array:
    return answered(x, model, method, partition_info["number"])


def answered_block(x: Any, model: PredictionMixin, method: str, block_id: Any = None) -> Array:
    return answered(x, model, method, block_id[0])


def answered(x: Any, model: PredictionMixin, method: str, number: int) -> Array:
    """Return the answers for one partition, which may be empty."""
    if not x.shape[0]:
        return no_answer(model, method)
    with naming(number):
        return getattr(model, method)(x)


def no_answer(model: PredictionMixin, method: str) -> Array:
    """Return the answers for a table without rows."""
    return model.classes_[:0] if method == "predict" else np.empty((0, len(model.classes_)))


# Scores


def score(model: PredictionMixin, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the share of rows, by their weights, whose most probable label is right."""
    from dask import compute

    model._check_columns(heading(X))
    counts = compute(*on_each(model._on_one_thread(), right, together(X, y, sample_weight)))
    correct, total = np.sum([(0.0, 0.0), *(pair for pair in counts if pair is not None)], axis=0)
    if not total:
        raise ValueError("there is no row to score: all partitions are empty, or all weights zero.")
    return float(correct / total)


def right(model: PredictionMixin, X: Any, y: Any, sample_weight: Any = None) -> tuple[float, float]:
    """Return the weight of rows that are labelled right, and of all rows."""
    weight = np.ones(len(y)) if sample_weight is None else np.broadcast_to(sample_weight, len(y))
    total = float(weight.sum())
    return (model.score(X, y, weight) * total, total) if weight.any() else (0.0, 0.0)  # type: ignore[attr-defined]


class PartScores(NamedTuple):
    """Names of a partition's rows, if they have any, their scores, and which of them need other rows' stats."""

    names: Array | None
    scores: Pointwise
    stuck: Array


def loo(model: NaiveBayes, X: Any, y: Any, target: str = "label", *, sample_weight: Any = None) -> Any:
    """Score every row by all others, where it is; three numbers of each row come back.

    A row that carries so much of its class that it cannot be taken back by arithmetic needs the class's other rows,
    which may be anywhere. Where there is one, a second pass brings its partition the stats of all others.
    """
    model._check_columns(heading(X))
    model._way(target)
    worker, rows = model._on_one_thread(), together(X, y, sample_weight)
    parts, seen = scored(worker, rows, target)
    if seen is None:
        raise ValueError("there is no row to score: all partitions are empty.")
    model._check_covers(seen)
    warn_unverified(model.model_, seen.classes.counts)
    again = [number for number, part in enumerate(parts) if part is not None and part.stuck.any()]
    for number, part in zip(again, scored_again(worker, rows, target, again), strict=True):
        parts[number] = part
    index, scores, dominant = joined([part for part in parts if part is not None])
    refuse_stuck(dominant)
    warn_undefined(scores.score)
    return results.elpd.elpd(scores, index)


def scored(model: NaiveBayes, rows: Sequence[Any], target: str) -> tuple[list[PartScores | None], Any]:
    """Return the scores of all partitions, as far as each can be scored alone, and the stats of all rows."""
    from dask import compute

    pairs = on_each(model, part_scores, rows, target)
    parts, stats = (planned("part", [(take, pair, place) for pair in pairs]) for place in (0, 1))
    return compute(parts, tree(stats)[-1][0])


def take(pair: Any, place: int) -> Any:
    return pair and pair[place]


def scored_again(model: NaiveBayes, rows: Sequence[Any], target: str, numbers: Sequence[int]) -> Sequence[PartScores]:
    """Return the scores of some partitions, each with the stats of all others at hand."""
    from dask import compute, delayed

    if not numbers:
        return []
    stats, worker = tree(on_each(model, part_stats, rows)), delayed(model, pure=False, traverse=False)
    others = planned("others", [(added, siblings(number, stats)) for number in numbers])
    calls = (partial(scored_with, number=number, target=target) for number in numbers)
    parts = [rows[number] for number in numbers]
    return compute(*planned("again", list(zip(calls, [worker] * len(numbers), parts, others, strict=True))))


def scored_with(model: NaiveBayes, rows: Any, elsewhere: Any, *, number: int, target: str) -> PartScores:
    """Return the scores of one partition, where the stats of all others are known."""
    return on_partition(model, rows, call=part_scores, number=number, more=(target, elsewhere))[0]


def part_scores(
    model: NaiveBayes, X: Any, y: Any, sample_weight: Any, target: str, elsewhere: ProductStats | None = None
) -> tuple[PartScores, ProductStats]:
    """Return the scores of one partition's rows, given the stats `elsewhere`, and their own stats."""
    table, rows, seen = model._observed_again(X, y, sample_weight)
    rows = replace(rows, elsewhere=elsewhere)
    joint = leave_one_out(model.model_, rows, model._way(target), n_jobs=model.n_jobs)
    names = None if table.unnamed else table.index
    return PartScores(names, model._pointwise(rows, joint, target), stuck(model.model_, rows, joint)), seen


def part_stats(model: NaiveBayes, X: Any, y: Any, sample_weight: Any) -> ProductStats:
    """Return the stats of one partition's rows, which were learnt."""
    return model._observed_again(X, y, sample_weight)[2]


def joined(parts: Sequence[PartScores]) -> tuple[Array, Pointwise, Array]:
    """Return names, scores and flags of all rows, in their order."""
    dominant = np.concatenate([part.stuck for part in parts])
    score, fitted = (np.concatenate([getattr(part.scores, name) for part in parts]) for name in ("score", "fitted"))
    weights = [part.scores.weight for part in parts if part.scores.weight is not None]
    names = [part.names for part in parts if part.names is not None]
    index = np.concatenate(names) if names else np.arange(len(dominant))
    return index, Pointwise(score, fitted, np.concatenate(weights) if weights else None), dominant
