"""Dask's arrays and dataframes as partitions: rows beside their labels and weights, cut alike, and calls on each."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import batched, count, islice
from typing import Any
from uuid import uuid4

import numpy as np

from bayesnb.data import is_lazy
from bayesnb.model.shards import added

Array = np.ndarray
FAN_IN = 8
ADVICE = (
    "Take X, y and sample_weight from one dataframe, so that they are cut alike, or of arrays with unknown chunks "
    "call compute_chunk_sizes()."
)


def together(X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """Return every partition's rows, labels and weights, not computed yet; shared inputs are computed once."""
    X = checked(X)
    if y is None:
        raise ValueError("y is None: to be learnt from, or scored, every row needs its label.")
    parts = (X, beside(X, y, "y"), beside(X, sample_weight, "sample_weight"))
    lazy = [part for part in parts if is_lazy(part)]
    if all(map(is_array, lazy)):
        return blocks_of(*parts)
    if all(map(is_frame, lazy)):
        kind = ("rows", object)  # a name and a type, for what is neither a frame nor a column
        return X.map_partitions(
            held, *parts[1:], meta=kind, align_dataframes=False, enforce_metadata=False
        ).to_delayed()
    columns = [np.ravel(part.to_delayed()) if is_lazy(part) else [part] * partitions(X) for part in parts]
    return list(map(list, zip(*columns, strict=True)))


def blocks_of(*parts: Any) -> list[Any]:
    """Return the partitions of arrays, which share the first axis, and have one chunk along each of the others."""
    from dask.array import blockwise

    free = count(1)
    axes = [(0, *islice(free, part.ndim - 1)) if is_lazy(part) else None for part in parts]
    pairs = [value for pair in zip(parts, axes, strict=True) for value in pair]
    none = np.empty(0, object)
    return list(blockwise(held, (0,), *pairs, dtype=object, meta=none, align_arrays=False).to_delayed())


def held(*parts: Any) -> tuple[Any, ...]:
    """Return the chunks of one partition together."""
    return tuple(map(unpacked, parts))


def unpacked(chunk: Any) -> Any:
    """Return a chunk, which comes in a list of one for every axis after the first."""
    while isinstance(chunk, list):
        (chunk,) = chunk
    return chunk


def checked(X: Any) -> Any:
    """Return a dataframe, or an array of which every chunk has all columns; an error for other collections."""
    if not (is_array(X) or is_frame(X)):
        raise TypeError(
            f"X is a {type(X).__name__}, and of Dask's collections only arrays and dataframes have rows and columns. "
            "Make it one (of xarray: X.data), or give X.compute()."
        )
    if X.ndim != 2:
        advice = "X.reshape(-1, 1)" if is_array(X) else "X.to_frame()"
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: {advice} if it is one feature.")
    return with_whole_rows(X) if is_array(X) else X


def with_whole_rows(x: Any) -> Any:
    """Return an array of which only the first axis is cut."""
    return x.rechunk(dict.fromkeys(range(1, x.ndim), -1))


def beside(X: Any, values: Any, name: str) -> Any:
    """Return labels or weights in the partitions of the rows; a scalar stays."""
    if values is None or (not is_lazy(values) and np.ndim(values) == 0):
        return values
    rows = lengths(X)
    if not is_lazy(values):
        return split(np.asanyarray(values), rows, name)
    if not (is_array(values) or is_frame(values)) or not values.ndim:
        raise TypeError(f"{name} is a {type(values).__name__} of Dask: give an array or a series.")
    values, sizes = with_whole_rows(values) if is_array(values) else values, lengths(values)
    if rows is not None and sizes is not None:
        if sum(sizes) != sum(rows):
            raise ValueError(f"X has {sum(rows)} rows, and {name} {sum(sizes)}.")
        return values.rechunk({0: rows})
    if partitions(values) != partitions(X):
        raise ValueError(
            f"X has {partitions(X)} partitions and {name} {partitions(values)}, whose lengths are not all known, so it "
            f"cannot be said which rows go together. {ADVICE}"
        )
    return values


def split(values: Array, rows: Sequence[int] | None, name: str) -> Any:
    """Return an array in memory, cut as the rows are."""
    from dask.array import from_array

    if rows is None:
        raise ValueError(
            f"{name} is in memory, and how long the partitions of X are is not known, so {name} cannot be cut as they "
            f"are. {ADVICE}"
        )
    if len(values) != sum(rows):
        raise ValueError(f"X has {sum(rows)} rows, and {name} {len(values)}.")
    return from_array(values, chunks=(rows, *values.shape[1:]), name=False)


def refuse_unequal_lengths(x: Any, y: Any, weight: Any) -> None:
    """Raise for labels or weights that are not one for each row of the partition."""
    for name, values in (("y", y), ("sample_weight", weight)):
        if values is not None and np.ndim(values) and len(values) != x.shape[0]:
            raise ValueError(f"X has {x.shape[0]} rows, and {name} {len(values)}: cut both alike.")


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


def on_each(model: Any, call: Callable[..., Any], rows: Sequence[Any], *more: Any) -> list[Any]:
    """Return `call(model, *rows, *more)` of every partition, not computed yet; the model travels once."""
    from dask import delayed

    worker = delayed(model, pure=False, traverse=False)
    calls = (partial(on_partition, call=call, number=number, more=more) for number in range(len(rows)))
    return planned("on_partition", [(ask, worker, part) for ask, part in zip(calls, rows, strict=True)])


def on_partition(
    model: Any, rows: Sequence[Any], *, call: Callable[..., Any], number: int, more: Sequence[Any] = ()
) -> Any:
    """Return the call's answer for one partition, which errors name; None if it is empty."""
    with naming(number):
        refuse_unequal_lengths(*rows)
        return call(model, *rows, *more) if rows[0].shape[0] else None


def tree(parts: list[Any]) -> list[list[Any]]:
    """Return tiers of sums, not computed yet: the parts, sums of FAN_IN of them, sums of those, at last that of all."""
    tiers = [parts]
    while len(tiers[-1]) > 1:
        tiers.append(planned("added", [(added, list(group)) for group in batched(tiers[-1], FAN_IN)]))
    return tiers


def siblings(number: int, tiers: Sequence[Sequence[Any]]) -> list[Any]:
    """Return what adds up to all parts but one: those beside it, and the sums beside those that it is in."""
    others = []
    for tier in tiers[:-1]:
        first = number - number % FAN_IN
        others += [part for at, part in enumerate(tier[first : first + FAN_IN], first) if at != number]
        number //= FAN_IN
    return others


def planned(what: str, tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return calls to be made later, given as tuples of a function and its arguments: one layer of Dask's graph.

    Made one by one with `dask.delayed`, five thousand take a quarter of a minute.
    """
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    graphs: dict[str, Any] = {}

    def key(value: Any) -> Any:
        if isinstance(value, Delayed):
            graphs.setdefault(value.__dask_layers__()[0], value)
            return value.key
        return [key(item) for item in value] if isinstance(value, list) else value

    name = f"{what}-{uuid4().hex}"
    layer: dict[Any, Any] = {(name, number): tuple(map(key, task)) for number, task in enumerate(tasks)}
    graph = HighLevelGraph.from_collections(name, layer, dependencies=list(graphs.values()))
    return [Delayed(place, graph, layer=name) for place in layer]


@contextmanager
def naming(number: int) -> Iterator[None]:
    """Make errors about the rows of a partition say which one it is."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"partition {number}, whose rows are counted from 0: {error}") from None
