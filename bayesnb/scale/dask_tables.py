"""Tables of Dask: each partition is counted, or answered, where it is.

    partition ──▶ shard ┐
    partition ──▶ shard ┼──▶ FAN_IN of them, one by one ──▶ ... ──▶ the shard of all rows
    partition ──▶ shard ┘

Only stats and answers travel, and rows where exponents are found by them: of each partition as many
as may be kept of all. The order of the sums is that of the partitions alone, so that neither the
scheduler nor a worker that is lost on the way changes a digit. The workers are the cores: each
counts on one thread.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from itertools import batched
from typing import Any
from uuid import uuid4

import numpy as np

from bayesnb.data import is_lazy
from bayesnb.estimators import NaiveBayes
from bayesnb.estimators.base import clone_with
from bayesnb.estimators.learning import count_shard, learns_from_first_rows
from bayesnb.estimators.prediction import PredictionMixin, check_columns
from bayesnb.model.schema import Schema
from bayesnb.model.shards import Shard, add_shards

Array = np.ndarray
FAN_IN = 8
ADVICE = (
    "Take X, y and sample_weight from one dataframe, so that they are cut alike, or of arrays with "
    "unknown chunks call compute_chunk_sizes()."
)


# Learning: one pass over the partitions, none of which comes here


def count_partitions(
    model: NaiveBayes,
    table: tuple[Any, Any, Any],
    declared: Any = None,
    known: Schema | None = None,
) -> Shard | None:
    """Return the stats of all partitions of X, y and sample_weight; None for no row.

    Families and grids are those of a schema that is known, else of the first partition.
    """
    partitions = partitions_of(*table)
    alone = clone_with(model, n_jobs=1)
    if known is None and learns_from_first_rows(model):
        parts = on_each(partial(count_shard, alone, declared=declared), partitions)
        shards = (part.compute() for part in parts)
        known = next((shard.schema for shard in shards if shard is not None), None)
    parts = on_each(partial(count_shard, alone, declared=declared, known=known), partitions)
    return sum_parts(parts).compute()


# Predictions: an array of Dask, whose chunks are the answers to the partitions


def answer(method: str, model: PredictionMixin, X: Any) -> Any:
    """Return what a method answers for every row, lazily: labels `(r,)`, or numbers `(r, c)`."""
    from dask import delayed

    X = checked(X)
    check_columns(model, heading(X))
    none = no_answer(model, method)
    worker = delayed(on_one_thread(model), pure=False, traverse=False)
    if is_frame(X):
        return X.map_partitions(answer_partition, worker, method, meta=none, align_dataframes=False)
    return X.map_blocks(
        answer_partition,
        worker,
        method,
        dtype=none.dtype,
        chunks=(X.chunks[0], *((size,) for size in none.shape[1:])),
        drop_axis=[] if none.ndim == 2 else [1],
        meta=none,
    )


def answer_partition(
    x: Any, model: PredictionMixin, method: str, partition_info: Any = None, block_id: Any = None
) -> Array:
    """Return the answers for one partition, which may be empty.

    Dask says which one it is, of a frame or an array.
    """
    if not x.shape[0]:
        return no_answer(model, method)
    with naming(partition_info["number"] if block_id is None else block_id[0]):
        return getattr(model, method)(x)


def no_answer(model: PredictionMixin, method: str) -> Array:
    """Return the answers for a table without rows."""
    return model.classes_[:0] if method == "predict" else np.empty((0, len(model.classes_)))


def on_one_thread(model: PredictionMixin) -> PredictionMixin:
    """Return a copy for one worker of many, which stays as it is when this one learns more."""
    worker: Any = copy(model)
    if hasattr(worker, "estimator_"):  # which reads the tables of a sampled model
        worker.estimator_ = on_one_thread(worker.estimator_)
    else:
        worker.n_jobs = 1
    return worker


# Scores


def score(model: PredictionMixin, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the share of rows, by their weights, whose most probable label is right."""
    from dask import compute

    check_columns(model, heading(X))
    call = partial(score_rows, on_one_thread(model))
    parts = compute(*on_each(call, partitions_of(X, y, sample_weight)))
    right, total = np.sum([(0.0, 0.0), *filter(None, parts)], axis=0)
    if not total:
        raise ValueError("there is no row to score: all partitions are empty, or all weights zero.")
    return float(right / total)


def score_rows(model: PredictionMixin, rows: Sequence[Any]) -> tuple[float, float]:
    """Return the weight of the rows that are labelled right, and of all."""
    X, y, sample_weight = rows
    weight = np.broadcast_to(1.0 if sample_weight is None else sample_weight, len(y))
    return float(weight @ (model.predict(X) == np.ravel(y))), float(weight.sum())


# Partitions: rows beside their labels and weights, cut alike, and calls on each


def partitions_of(X: Any, y: Any, sample_weight: Any) -> tuple[list[Any], list[Any]]:
    """Return collections, and the keys in them of each partition's rows, labels and weights."""
    from dask.core import flatten

    X = checked(X)
    if y is None:
        raise ValueError("y is None: to be learnt from, or scored, every row needs its label.")
    parts = (X, beside(X, y, "y"), beside(X, sample_weight, "sample_weight"))
    if not any(map(is_array, parts)):  # dataframes share what they read only in one expression
        kind = ("rows", object)  # a name and a type, for what is neither a frame nor a column
        rows = X.map_partitions(
            side_by_side, *parts[1:], meta=kind, align_dataframes=False, enforce_metadata=False
        ).optimize()
        return [rows], rows.__dask_keys__()
    collections = []
    columns = []
    for part in parts:
        if not is_lazy(part):
            columns.append([part] * partitions(X))
            continue
        collections.append(part.optimize() if is_frame(part) else part)
        columns.append(flatten(collections[-1].__dask_keys__()))
    return collections, list(map(list, zip(*columns, strict=True)))


def side_by_side(*rows: Any) -> tuple[Any, ...]:
    """Return the chunks of one partition together."""
    return rows


def checked(X: Any) -> Any:
    """Return a dataframe, or an array of which every chunk has all columns.

    An error for other collections.
    """
    if not (is_array(X) or is_frame(X)):
        raise TypeError(
            f"X is a {type(X).__name__}, and of Dask's collections only arrays and dataframes have "
            "rows and columns. Make it one (of xarray: X.data), or give X.compute()."
        )
    if X.ndim != 2:
        advice = "X.reshape(-1, 1)" if is_array(X) else "X.to_frame()"
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: {advice} if it is one feature."
        )
    return with_whole_rows(X) if is_array(X) else X


def with_whole_rows(x: Any) -> Any:
    """Return an array of which only the first axis is cut."""
    return x.rechunk(dict.fromkeys(range(1, x.ndim), -1))


def beside(X: Any, values: Any, name: str) -> Any:
    """Return labels or weights in the partitions of the rows; a scalar stays."""
    from dask.array import from_array

    rows = lengths(X)
    if not is_lazy(values):
        if values is None or np.ndim(values) == 0:
            return values
        if rows is None:
            raise ValueError(
                f"{name} is in memory, and how long the partitions of X are is not known, so "
                f"{name} cannot be cut as they are. {ADVICE}"
            )
        values = from_array(np.asanyarray(values), chunks=-1, name=False)
    if not (is_array(values) or is_frame(values)) or not values.ndim:
        raise TypeError(f"{name} is a {type(values).__name__} of Dask: give an array or a series.")
    values = with_whole_rows(values) if is_array(values) else values
    sizes = lengths(values)
    if rows is not None and sizes is not None:
        if sum(sizes) != sum(rows):
            raise ValueError(f"X has {sum(rows)} rows, and {name} {sum(sizes)}.")
        return values.rechunk({0: rows})
    if partitions(values) != partitions(X):
        raise ValueError(
            f"X has {partitions(X)} partitions and {name} {partitions(values)}, whose lengths are "
            f"not all known, so it is unknown which rows go together. {ADVICE}"
        )
    return values


def heading(X: Any) -> Any:
    """Return what has the columns of a lazy table; an error where there are none."""
    X = checked(X)
    return X._meta if is_frame(X) else X


def lengths(X: Any) -> tuple[int, ...] | None:
    """Return how many rows each partition has, if that is known."""
    return X.chunks[0] if is_array(X) and not any(map(np.isnan, X.chunks[0])) else None


def partitions(X: Any) -> int:
    """Return the number of partitions."""
    return X.numblocks[0] if is_array(X) else X.npartitions


def is_array(X: Any) -> bool:
    """Return whether a collection is an array of Dask."""
    from dask.array import Array

    return isinstance(X, Array)


def is_frame(X: Any) -> bool:
    """Return whether a collection is a dataframe, or a column of one."""
    return hasattr(X, "map_partitions") and hasattr(X, "_meta") and not is_array(X)


def on_each(call: Callable[..., Any], partitions: tuple[list[Any], list[Any]]) -> list[Any]:
    """Return the call of every partition's rows, not computed yet.

    It is one layer of a graph, in which the call is once: made one by one with `dask.delayed`,
    thousands of them take many seconds.
    """
    collections, rows = partitions
    name = f"on_each-{uuid4().hex}"
    tasks = {(name, number): (on_partition, name, row, number) for number, row in enumerate(rows)}
    return delay_layer(name, {name: call} | tasks, collections, list(tasks))


def on_partition(call: Callable[..., Any], rows: Sequence[Any], number: int) -> Any:
    """Return the call's answer for one partition, which errors name; None if it is empty."""
    size = rows[0].shape[0]
    with naming(number):
        for name, values in zip(("y", "sample_weight"), rows[1:], strict=True):
            if values is not None and np.ndim(values) and len(values) != size:
                raise ValueError(f"X has {size} rows, and {name} {len(values)}: cut both alike.")
        return call(rows) if size else None


def sum_parts(parts: list[Any]) -> Any:
    """Return the sum of all parts, not computed yet: sums of FAN_IN of them, and sums of those."""
    name = f"sum_parts-{uuid4().hex}"
    keys = [part.key for part in parts]
    sums: dict[Any, Any] = {}
    while len(keys) > 1 or not sums:
        groups = batched(keys, FAN_IN)
        keys = []
        for group in groups:
            keys.append((name, len(sums)))
            sums[keys[-1]] = (add_shards, list(group))
    return delay_layer(name, sums, parts[:1], keys)[0]


def delay_layer(
    name: str, tasks: dict[Any, Any], collections: Sequence[Any], keys: Sequence[Any]
) -> list[Any]:
    """Return values of a layer of tasks above some collections, not computed yet."""
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    graph = HighLevelGraph.from_collections(name, tasks, dependencies=collections)
    return [Delayed(key, graph, layer=name) for key in keys]


@contextmanager
def naming(number: int) -> Iterator[None]:
    """Make errors about the rows of a partition say which one it is."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"partition {number}, whose rows are counted from 0: {error}") from None
