"""Dask's collections: every partition is counted, or answered, where it is; only stats, answers or scores travel.

    partition ──▶ shard ┐
    partition ──▶ shard ┼──▶ FAN_IN of them, one after the other ──▶ ... ──▶ the shard of all rows
    partition ──▶ shard ┘

What is added to what depends on the order of the partitions alone, so that neither the scheduler nor a worker that is
lost on the way changes a digit. The workers are the cores: each of them counts on one thread.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import wraps
from itertools import count, islice
from typing import Any

import numpy as np

from bayesnb.shards import Shard, added
from bayesnb.table import is_lazy

Array = np.ndarray
FAN_IN = 8
ADVICE = (
    "Take X, y and sample_weight from one dataframe, so that they are cut alike, or of arrays with unknown chunks "
    "call compute_chunk_sizes()."
)


def by_partition[Method: Callable[..., Any]](method: Method) -> Method:
    """A prediction that is lazy for a lazy table: an array of Dask, whose chunks are the answers to its partitions."""

    @wraps(method)
    def answer(model: Any, X: Any) -> Any:
        return answers(model, X, method.__name__) if is_lazy(X) else method(model, X)

    return answer  # type: ignore[return-value]


def answers(model: Any, X: Any, method: str) -> Any:
    """What a method says of every row, lazily, `(r, f) -> (r, c)` or `(r,)`."""
    from dask import delayed

    X = checked(X)
    model._check_columns(heading(X))
    none = nothing(model, method)
    own = delayed(alone(model), pure=False, traverse=False)
    if is_frame(X):
        return X.map_partitions(answered_frame, own, method, meta=none, align_dataframes=False)
    chunks = (X.chunks[0], *((size,) for size in none.shape[1:]))
    dropped = [] if none.ndim == 2 else [1]
    return X.map_blocks(answered_block, own, method, dtype=none.dtype, chunks=chunks, drop_axis=dropped, meta=none)


def answered_frame(x: Any, model: Any, method: str, partition_info: Any = None) -> Array:
    return answered(x, model, method, partition_info["number"] if partition_info else 0)


def answered_block(x: Any, model: Any, method: str, block_id: Any = None) -> Array:
    return answered(x, model, method, block_id[0])


def answered(x: Any, model: Any, method: str, number: int) -> Array:
    """The answers to one partition, which may be empty."""
    if not x.shape[0]:
        return nothing(model, method)
    with naming(number):
        return getattr(model, method)(x)


def nothing(model: Any, method: str) -> Array:
    """The answers to no row."""
    return model.classes_[:0] if method == "predict" else np.empty((0, len(model.classes_)))


def alone(model: Any) -> Any:
    """A copy of the estimator that counts on one thread, and stays as it is when the other learns more."""
    own = copy(model)
    own.n_jobs = 1
    return own


def shard(model: Any, X: Any, y: Any, sample_weight: Any = None, declared: Any = None) -> Shard | None:
    """What the rows of all partitions say; None for no row. The model need not be fitted, and does not change."""
    rows = together(X, y, sample_weight)
    return tree(on_each(model._fresh(n_jobs=1), "_shard", rows, declared)).compute()


def accuracy(model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """The share of rows that are labelled right, by their weights."""
    from dask import compute

    model._check_columns(heading(X))
    counts = compute(*on_each(alone(model), "_right", together(X, y, sample_weight)))
    right, every = np.sum([(0.0, 0.0), *(own for own in counts if own is not None)], axis=0)
    if not every:
        raise ValueError("there is no row to score: all partitions are empty, or all weights zero.")
    return float(right / every)


def on_each(model: Any, method: str, rows: Sequence[Any], *more: Any) -> list[Any]:
    """What a method of the model says of every partition, not asked yet; the model travels once."""
    from dask import delayed

    own, ask = delayed(model, pure=False, traverse=False), delayed(said, pure=False)
    return [ask(own, method, number, part, more) for number, part in enumerate(rows)]


def said(model: Any, method: str, number: int, rows: tuple[Any, Any, Any], more: Sequence[Any]) -> Any:
    """What the method says of one partition, which errors name; None, if it is empty."""
    with naming(number):
        refuse_odd_lengths(*rows)
        return getattr(model, method)(*rows, *more) if rows[0].shape[0] else None


def tree(shards: Sequence[Any]) -> Any:
    """The sum of shards that are not there yet, in their order."""
    from dask import delayed

    add = delayed(added, pure=False)
    while len(shards) > 1:
        shards = [add(list(shards[start : start + FAN_IN])) for start in range(0, len(shards), FAN_IN)]
    return shards[0]


@contextmanager
def naming(number: int) -> Iterator[None]:
    """Errors about the rows of a partition say which one it is."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"partition {number}, whose rows are counted from 0: {error}") from None


def together(X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """Every partition's rows, labels and weights, which are not there yet; what they are made of is made once."""
    X = checked(X)
    if y is None:
        raise ValueError("y is None: to be learnt from, or scored, every row needs its label.")
    parts = (X, beside(X, y, "y"), beside(X, sample_weight, "sample_weight"))
    lazy = [own for own in parts if is_lazy(own)]
    if all(map(is_array, lazy)):
        return blocks_of(*parts)
    if all(map(is_frame, lazy)):
        kind = ("rows", object)  # a name and a type, for what is neither a frame nor a column
        return X.map_partitions(
            held, *parts[1:], meta=kind, align_dataframes=False, enforce_metadata=False
        ).to_delayed()
    apart = [np.ravel(own.to_delayed()) if is_lazy(own) else [own] * partitions(X) for own in parts]
    return list(zip(*apart, strict=True))


def blocks_of(*parts: Any) -> list[Any]:
    """The same of arrays: the axis that they share is the first, of the others each has one chunk."""
    from dask.array import blockwise

    free = count(1)
    axes = [(0, *islice(free, own.ndim - 1)) if is_lazy(own) else None for own in parts]
    pairs = [value for pair in zip(parts, axes, strict=True) for value in pair]
    none = np.empty(0, object)
    return list(blockwise(held, (0,), *pairs, dtype=object, meta=none, align_arrays=False).to_delayed())


def held(*parts: Any) -> tuple[Any, ...]:
    """What belongs together; a chunk of more axes than one comes in as many lists."""
    return tuple(map(only, parts))


def only(chunk: Any) -> Any:
    return only(chunk[0]) if isinstance(chunk, list) else chunk


def checked(X: Any) -> Any:
    """A dataframe, or an array of which every chunk has all columns; an error for other collections."""
    if not (is_array(X) or is_frame(X)):
        raise TypeError(
            f"X is a {type(X).__name__}, and of Dask's collections only arrays and dataframes have rows and columns. "
            "Make it one (of xarray: X.data), or give X.compute()."
        )
    if X.ndim != 2:
        advice = "X.reshape(-1, 1)" if is_array(X) else "X.to_frame()"
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: {advice} if it is one feature.")
    return X.rechunk({1: -1}) if is_array(X) and len(X.chunks[1]) > 1 else X


def beside(X: Any, own: Any, name: str) -> Any:
    """Labels or weights in the partitions that the rows have; what is one for all rows stays."""
    if own is None or (not is_lazy(own) and np.ndim(own) == 0):
        return own
    rows = lengths(X)
    if not is_lazy(own):
        return split(np.asanyarray(own), rows, name)
    if not (is_array(own) or is_frame(own)):
        raise TypeError(f"{name} is a {type(own).__name__} of Dask: give an array or a series.")
    its = lengths(own)
    if rows is not None and its is not None:
        if sum(its) != sum(rows):
            raise ValueError(f"X has {sum(rows)} rows, and {name} {sum(its)}.")
        return own.rechunk(dict.fromkeys(range(1, own.ndim), -1) | {0: rows})
    if partitions(own) != partitions(X):
        raise ValueError(
            f"X has {partitions(X)} partitions and {name} {partitions(own)}, whose lengths are not all known, so it "
            f"cannot be said which rows go together. {ADVICE}"
        )
    return own


def split(own: Array, rows: Sequence[int] | None, name: str) -> Any:
    """An array in memory, cut as the rows are."""
    from dask.array import from_array

    if rows is None:
        raise ValueError(
            f"{name} is in memory, and how long the partitions of X are is not known, so {name} cannot be cut as they "
            f"are. {ADVICE}"
        )
    if len(own) != sum(rows):
        raise ValueError(f"X has {sum(rows)} rows, and {name} {len(own)}.")
    return from_array(own, chunks=(rows, *own.shape[1:]), name=False)


def refuse_odd_lengths(x: Any, y: Any, weight: Any) -> None:
    """Raise for labels or weights that are not one for each row of the partition."""
    for name, own in (("y", y), ("sample_weight", weight)):
        if own is not None and np.ndim(own) and len(own) != x.shape[0]:
            raise ValueError(f"X has {x.shape[0]} rows, and {name} {len(own)}: cut both alike.")


def heading(X: Any) -> Any:
    """What says its columns."""
    return X._meta if is_frame(X) else X


def lengths(X: Any) -> tuple[int, ...] | None:
    """How many rows each partition has, if that is known."""
    return X.chunks[0] if is_array(X) and not any(map(np.isnan, X.chunks[0])) else None


def partitions(X: Any) -> int:
    return X.numblocks[0] if is_array(X) else X.npartitions


def is_array(X: Any) -> bool:
    from dask.array import Array

    return isinstance(X, Array)


def is_frame(X: Any) -> bool:
    """Whether it is a dataframe, or a column of one."""
    return hasattr(X, "map_partitions") and hasattr(X, "_meta") and not is_array(X)
