"""Dask's collections: every partition is counted, or answered, where it is; only stats, answers or scores travel.

    partition ──▶ shard ┐
    partition ──▶ shard ┼──▶ FAN_IN of them, one after the other ──▶ ... ──▶ the shard of all rows
    partition ──▶ shard ┘

What is added to what depends on the order of the partitions alone, so that neither the scheduler nor a worker that is
lost on the way changes a digit. The workers are the cores: each of them counts on one thread.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from itertools import batched
from typing import Any
from uuid import uuid4

import numpy as np

from bayesnb.data import is_lazy
from bayesnb.integrations.dask_partitions import checked, heading, is_frame, refuse_odd_lengths, together
from bayesnb.integrations.estimator import Answers, Learns
from bayesnb.model.shards import Shard, added

Array = np.ndarray
FAN_IN = 8


def by_partition[Method: Callable[..., Any]](method: Method) -> Method:
    """A prediction that is lazy for a lazy table: an array of Dask, whose chunks are the answers to its partitions."""

    @wraps(method)
    def answer(model: Any, X: Any) -> Any:
        return answers(model, X, method.__name__) if is_lazy(X) else method(model, X)

    return answer  # type: ignore[return-value]


def answers(model: Answers, X: Any, method: str) -> Any:
    """What a method says of every row, lazily, `(r, f) -> (r, c)` or `(r,)`."""
    from dask import delayed

    X = checked(X)
    model._check_columns(heading(X))
    none = nothing(model, method)
    own = delayed(model._on_one_thread(), pure=False, traverse=False)
    if is_frame(X):
        return X.map_partitions(answered_frame, own, method, meta=none, align_dataframes=False)
    chunks = (X.chunks[0], *((size,) for size in none.shape[1:]))
    dropped = [] if none.ndim == 2 else [1]
    return X.map_blocks(answered_block, own, method, dtype=none.dtype, chunks=chunks, drop_axis=dropped, meta=none)


def answered_frame(x: Any, model: Answers, method: str, partition_info: Any = None) -> Array:
    return answered(x, model, method, partition_info["number"])


def answered_block(x: Any, model: Answers, method: str, block_id: Any = None) -> Array:
    return answered(x, model, method, block_id[0])


def answered(x: Any, model: Answers, method: str, number: int) -> Array:
    """The answers to one partition, which may be empty."""
    if not x.shape[0]:
        return nothing(model, method)
    with naming(number):
        return getattr(model, method)(x)


def nothing(model: Answers, method: str) -> Array:
    """The answers to no row."""
    return model.classes_[:0] if method == "predict" else np.empty((0, len(model.classes_)))


def shard(model: Learns, X: Any, y: Any, sample_weight: Any = None, declared: Any = None) -> Shard | None:
    """What the rows of all partitions say; None for no row. The model need not be fitted, and does not change."""
    rows = together(X, y, sample_weight)
    return tree(on_each(model._fresh(n_jobs=1), "_shard", rows, declared))[-1][0].compute()


def accuracy(model: Answers, X: Any, y: Any, sample_weight: Any = None) -> float:
    """The share of rows that are labelled right, by their weights."""
    from dask import compute

    model._check_columns(heading(X))
    counts = compute(*on_each(model._on_one_thread(), "_right", together(X, y, sample_weight)))
    right, every = np.sum([(0.0, 0.0), *(own for own in counts if own is not None)], axis=0)
    if not every:
        raise ValueError("there is no row to score: all partitions are empty, or all weights zero.")
    return float(right / every)


def on_each(model: Any, method: str, rows: Sequence[Any], *more: Any) -> list[Any]:
    """What a method of the model says of every partition, not asked yet; the model travels once."""
    from dask import delayed

    own = delayed(model, pure=False, traverse=False)
    asks = (partial(said, method=method, number=number, more=more) for number in range(len(rows)))
    return planned("said", [(ask, own, part) for ask, part in zip(asks, rows, strict=True)])


def said(model: Any, rows: Sequence[Any], *, method: str, number: int, more: Sequence[Any] = ()) -> Any:
    """What the method says of one partition, which errors name; None, if it is empty."""
    with naming(number):
        refuse_odd_lengths(*rows)
        return getattr(model, method)(*rows, *more) if rows[0].shape[0] else None


def tree(shards: list[Any]) -> list[list[Any]]:
    """Shards that are not there yet; sums of FAN_IN of them; sums of those; at last, alone, the sum of all."""
    every = [shards]
    while len(every[-1]) > 1:
        every.append(planned("added", [(added, list(some)) for some in batched(every[-1], FAN_IN)]))
    return every


def planned(what: str, tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Calls, as tuples of a function and its arguments, that are to be made later: one layer of Dask's graph.

    Made one by one with `dask.delayed`, five thousand take a quarter of a minute.
    """
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    graphs: dict[str, Any] = {}

    def key(value: Any) -> Any:
        if isinstance(value, Delayed):
            graphs.setdefault(value.__dask_layers__()[0], value)
            return value.key
        return [key(own) for own in value] if isinstance(value, list) else value

    name = f"{what}-{uuid4().hex}"
    layer: dict[Any, Any] = {(name, number): tuple(map(key, task)) for number, task in enumerate(tasks)}
    graph = HighLevelGraph.from_collections(name, layer, dependencies=list(graphs.values()))
    return [Delayed(own, graph, layer=name) for own in layer]


@contextmanager
def naming(number: int) -> Iterator[None]:
    """Errors about the rows of a partition say which one it is."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"partition {number}, whose rows are counted from 0: {error}") from None
