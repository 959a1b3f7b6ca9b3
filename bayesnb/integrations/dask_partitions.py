"""Dask's arrays and dataframes as partitions: rows beside their labels and weights, cut alike, none of them read."""

from collections.abc import Sequence
from itertools import count, islice
from typing import Any

import numpy as np

from bayesnb.data import is_lazy

Array = np.ndarray
ADVICE = (
    "Take X, y and sample_weight from one dataframe, so that they are cut alike, or of arrays with unknown chunks "
    "call compute_chunk_sizes()."
)


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
    return list(map(list, zip(*apart, strict=True)))


def blocks_of(*parts: Any) -> list[Any]:
    """The same of arrays: the axis that they share is the first, of the others each has one chunk."""
    from dask.array import blockwise

    free = count(1)
    axes = [(0, *islice(free, own.ndim - 1)) if is_lazy(own) else None for own in parts]
    pairs = [value for pair in zip(parts, axes, strict=True) for value in pair]
    none = np.empty(0, object)
    return list(blockwise(held, (0,), *pairs, dtype=object, meta=none, align_arrays=False).to_delayed())


def held(*parts: Any) -> tuple[Any, ...]:
    """What belongs together."""
    return tuple(map(unpacked, parts))


def unpacked(chunk: Any) -> Any:
    """A chunk, which comes in a list for every axis after the first, of one chunk each."""
    while isinstance(chunk, list):
        (chunk,) = chunk
    return chunk


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
    return with_whole_rows(X) if is_array(X) else X


def with_whole_rows(x: Any) -> Any:
    """An array of which only the first axis is cut."""
    return x.rechunk(dict.fromkeys(range(1, x.ndim), -1))


def beside(X: Any, own: Any, name: str) -> Any:
    """Labels or weights in the partitions that the rows have; what is one for all rows stays."""
    if own is None or (not is_lazy(own) and np.ndim(own) == 0):
        return own
    rows = lengths(X)
    if not is_lazy(own):
        return split(np.asanyarray(own), rows, name)
    if not (is_array(own) or is_frame(own)) or not own.ndim:
        raise TypeError(f"{name} is a {type(own).__name__} of Dask: give an array or a series.")
    own, its = with_whole_rows(own) if is_array(own) else own, lengths(own)
    if rows is not None and its is not None:
        if sum(its) != sum(rows):
            raise ValueError(f"X has {sum(rows)} rows, and {name} {sum(its)}.")
        return own.rechunk({0: rows})
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
    """What says its columns; an error for what has none."""
    X = checked(X)
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
