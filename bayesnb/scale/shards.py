"""Parts of a table, counted anywhere, and the model of all parts.

    part ──▶ shard ┐
    part ──▶ shard ┼──▶ FAN_IN of them, one by one ──▶ ... ──▶ the shard of all rows ──▶ model
    part ──▶ shard ┘

`shard` counts a part, `fit_shards` learns from all. The parts of a Dask table are its partitions:
each is counted, or predicted, where it is. Only stats and predictions are sent, and samples of rows
if exponents are estimated. The order of the sums depends only on the partitions, so neither the
scheduler nor a lost worker changes a digit. Each worker counts on one thread.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from itertools import batched
from typing import Any

import numpy as np

from bayesnb import persistence
from bayesnb.data import is_lazy
from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.estimators.base import adds_to_columns, clone_with, list_families
from bayesnb.estimators.learning import count_shard, learn_shard, learns_from_first_rows
from bayesnb.estimators.prediction import PredictionMixin, check_columns
from bayesnb.model.schema import Schema, are_alike
from bayesnb.model.shards import Shard, add_shards

Array = np.ndarray
FAN_IN = 8
ADVICE = (
    "Take X, y and sample_weight from one dataframe, so that they have the same partitions, or "
    "call compute_chunk_sizes() on arrays with unknown chunks."
)


def shard(
    model: Any, X: Any, y: Any, sample_weight: Any = None, *, keep_rows: bool = False
) -> Shard | None:
    """Count the rows of a part of a table, to be combined with other parts.

    Parameters
    ----------
    model : NaiveBayes or a preset
        The estimator with the families. It need not be fitted, and does not change.
    X : table of rows
        Rows of the part, in memory or in Dask.
    y : sequence of labels
        One for each row.
    sample_weight : sequence of float or None, default=None
        Weights of the rows.
    keep_rows : bool, default=False
        Whether the shard keeps a bounded sample of rows, if the model estimates exponents from
        rows.

    Returns
    -------
    Shard or None
        Statistics of the rows, with labels and levels, and rows only with ``keep_rows``. Shards can
        be added, ``a + b``. None if there are no rows.

    See Also
    --------
    fit_shards : Learn from all shards.
    dumps : A shard as bytes.

    Notes
    -----
    ``NaiveBayes()``, ``temper="columns"`` and ``temper="loo"`` estimate exponents from rows. With
    ``keep_rows`` in all shards, ``fit_shards`` estimates them like ``fit_files``, from at most
    10,000 rows, for any number of shards. Without rows the exponent of ``NaiveBayes()`` is 1, and
    the other two raise.

    Declare the families: families inferred from different parts may differ, which is an error when
    they are added.

    Examples
    --------
    >>> from bayesnb import GaussianNB, scale
    >>> part = scale.shard(GaussianNB(), [[1.0], [1.2], [3.0]], ["low", "low", "high"])
    >>> part.stats.classes.counts.tolist()
    [1.0, 2.0]
    """
    check_estimator(model, "model: ")
    counting = model if keep_rows else clone_with(model, temper=None)
    rows = (X, y, sample_weight)
    if is_lazy(X):
        return count_partitions(counting, rows)
    return count_shard(counting, rows)


def fit_shards[Estimator: NaiveBayes](
    model: Estimator, shards: Iterable[Shard | None]
) -> Estimator:
    """Fit an estimator on all rows of the shards, as ``fit`` would on the whole table.

    Parameters
    ----------
    model : NaiveBayes or a preset
        The estimator to fit, with the families of the shards.
    shards : iterable of Shard or None
        The parts, in any order. None is a part without rows.

    Returns
    -------
    NaiveBayes or a preset
        The fitted estimator.

    Raises
    ------
    ValueError
        If there are no rows, or the shards have other columns or families.

    See Also
    --------
    shard : Count the rows of a part.
    loads : A shard from bytes.
    bayesnb.NaiveBayes.merge : Merge two fitted estimators.

    Examples
    --------
    >>> from bayesnb import GaussianNB, scale
    >>> x, y = [[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"]
    >>> shards = [scale.shard(GaussianNB(), x[:2], y[:2]), scale.shard(GaussianNB(), x[2:], y[2:])]
    >>> scale.fit_shards(GaussianNB(), shards).predict([[1.1]]).tolist()
    ['low']
    """
    check_estimator(model, "model: ")
    parts = list(shards)
    for part in parts:
        if not isinstance(part, Shard | None):
            raise TypeError(
                f"expected shards, such as bayesnb.scale.shard returns, got {type(part).__name__}."
            )
    total = add_shards(parts)
    if total is None:
        raise ValueError("there is no row to learn from: all shards are empty.")
    refuse_others(model, total)
    return learn_shard(model, total)


def refuse_others(model: Any, shard: Shard) -> None:
    """Raise for a shard that was counted with other families."""
    if any(block.repeats for block in shard.schema.blocks) and not adds_to_columns(model):
        raise ValueError(
            "the shards have links between columns, their covariance or flags of missing cells, "
            "but the model has dependence=None: count them by `shard` with the same model."
        )
    counted = shard.schema.families
    for name, family in list_families(model, shard.schema.columns).items():
        other = counted.get(name)
        meant = getattr(family, "candidates", [family])
        if other is not None and other.listed:
            meant = [each and each.of_lists for each in meant]
        if not any(are_alike(each, other) for each in meant):
            raise ValueError(
                f"column {name!r} is {family} in the model, but {other or 'dropped'} in the "
                "shards: count them by `shard` with the same model."
            )


def dumps(shard: Shard) -> bytes:
    """Return a shard as bytes, to send or to store.

    Parameters
    ----------
    shard : Shard
        The shard.

    Returns
    -------
    bytes
        The content of a file without code, with checksums.

    See Also
    --------
    loads : The shard from the bytes.

    Examples
    --------
    >>> from bayesnb import GaussianNB, scale
    >>> sent = scale.dumps(scale.shard(GaussianNB(), [[1.0], [1.2], [3.0]], ["low", "low", "high"]))
    >>> scale.fit_shards(GaussianNB(), [scale.loads(sent)]).predict([[1.1]]).tolist()
    ['low']
    """
    return persistence.shard_bytes(shard)


def loads(data: bytes) -> Shard:
    """Return the shard in bytes from ``dumps``. Reading untrusted bytes is safe.

    Parameters
    ----------
    data : bytes
        What ``dumps`` returned.

    Returns
    -------
    Shard
        The shard.

    Raises
    ------
    ValueError
        For any other bytes.

    See Also
    --------
    dumps : A shard as bytes.
    fit_shards : Learn from all shards.

    Examples
    --------
    >>> from bayesnb import GaussianNB, scale
    >>> part = scale.shard(GaussianNB(), [[1.0], [1.2], [3.0]], ["low", "low", "high"])
    >>> scale.loads(scale.dumps(part)).classes.tolist()
    ['high', 'low']
    """
    return persistence.read_shard(bytes(memoryview(data)))[0]


# Dask tables: one pass over the partitions, which stay where they are


def count_partitions(
    model: NaiveBayes,
    table: tuple[Any, Any, Any],
    declared: Any = None,
    known: Schema | None = None,
) -> Shard | None:
    """Return the stats of all partitions of X, y and sample_weight, or None without rows.

    Families and grids are those of a known schema, or of the first partition.
    """
    partitions = partitions_of(*table)
    count = partial(count_shard, clone_with(model, n_jobs=1), declared=declared)
    if known is None and learns_from_first_rows(model):
        shards = (part.compute() for part in on_each(count, partitions))
        known = next((shard.schema for shard in shards if shard is not None), None)
    return sum_parts(on_each(partial(count, known=known), partitions)).compute()


def score(model: PredictionMixin, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the weighted accuracy."""
    check_columns(model, heading(X))
    call = partial(score_rows, on_one_thread(model))
    weights = sum_parts(on_each(call, partitions_of(X, y, sample_weight))).compute()
    if weights is None or not weights[1]:
        raise ValueError("there is no row to score: all partitions are empty, or all weights zero.")
    return float(weights[0] / weights[1])


def score_rows(model: PredictionMixin, rows: Sequence[Any]) -> Array:
    """Return the weight of correctly predicted rows, and of all rows."""
    X, y, sample_weight = rows
    weight = np.broadcast_to(1.0 if sample_weight is None else sample_weight, len(y))
    return np.array([weight @ (model.predict(X) == np.ravel(y)), weight.sum()])


def answer(method: str, model: PredictionMixin, X: Any) -> Any:
    """Return the results of a method for all rows, lazily: labels `(r,)`, or numbers `(r, c)`."""
    from dask import delayed

    X = checked(X)
    check_columns(model, heading(X))
    none = model.classes_[:0] if method == "predict" else np.empty((0, len(model.classes_)))
    call = delayed(getattr(on_one_thread(model), method), pure=False, traverse=False)
    if is_frame(X):
        return X.map_partitions(
            answer_partition, call, none=none, meta=none, align_dataframes=False
        )
    return X.map_blocks(
        answer_partition,
        call,
        none=none,
        dtype=none.dtype,
        chunks=(X.chunks[0], *none.shape[1:]),
        drop_axis=range(none.ndim, 2),
        meta=none,
    )


def answer_partition(
    x: Any,
    call: Callable[[Any], Array],
    none: Array,
    partition_info: Any = None,
    block_id: Any = None,
) -> Array:
    """Return the results for one partition, which Dask identifies, or `none` if it is empty."""
    if not x.shape[0]:
        return none
    with naming(partition_info["number"] if block_id is None else block_id[0]):
        return call(x)


def on_one_thread(model: PredictionMixin) -> PredictionMixin:
    """Return a single-threaded copy for a worker, which does not change when this model learns."""
    worker: Any = copy(model)
    if hasattr(worker, "estimator_"):  # it reads the tables of a sampled model
        worker.estimator_ = on_one_thread(worker.estimator_)
    else:
        worker.n_jobs = 1
    return worker


# Partitions with rows, labels and weights, and calls on each


def partitions_of(X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """Return the rows, labels and weights of each partition, not computed yet."""
    from dask.core import flatten

    X = checked(X)
    if y is None:
        raise ValueError("y is None: every row needs a label to be learnt from or scored.")
    parts = (X, beside(X, y, "y"), beside(X, sample_weight, "sample_weight"))
    if not any(map(is_array, parts)):  # dataframes share what they read only in one expression
        kind = ("rows", object)  # a name and a type, for what is neither a frame nor a column
        return X.map_partitions(
            side_by_side, *parts[1:], meta=kind, align_dataframes=False, enforce_metadata=False
        ).to_delayed()
    columns = []
    for part in parts:
        column = [part] * len(lengths(X))
        if is_lazy(part):  # arrays that are not optimized share what they read
            delayed = part.to_delayed(optimize_graph=is_frame(part))
            column = flatten(delayed, container=np.ndarray)
        columns.append(column)
    return list(zip(*columns, strict=True))


def side_by_side(*rows: Any) -> tuple[Any, ...]:
    """Return the chunks of one partition as a tuple."""
    return rows


def checked(X: Any) -> Any:
    """Return a dataframe, or an array whose chunks have all columns; raise for other
    collections.
    """
    if not (is_array(X) or is_frame(X)):
        raise TypeError(
            f"X is a {type(X).__name__}, but among Dask collections only arrays and dataframes "
            "have rows and columns. Convert it (for xarray: X.data), or give X.compute()."
        )
    if X.ndim != 2:
        advice = "X.reshape(-1, 1)" if is_array(X) else "X.to_frame()"
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: {advice} if it is one feature."
        )
    return X.rechunk({1: -1}) if is_array(X) else X


def beside(X: Any, values: Any, name: str) -> Any:
    """Split labels or weights into the partitions of the rows; a scalar is returned unchanged."""
    from dask.array import from_array

    rows = lengths(X)
    if not is_lazy(values):
        if np.ndim(values) == 0:
            return values
        if np.isnan(sum(rows)):
            raise ValueError(
                f"{name} is in memory, but the lengths of the partitions of X are unknown, so "
                f"{name} cannot be split like X. {ADVICE}"
            )
        values = from_array(np.asanyarray(values), chunks=-1, name=False)
    if not (is_array(values) or is_frame(values)) or not values.ndim:
        raise TypeError(f"{name} is a Dask {type(values).__name__}: give an array or a series.")
    if values.ndim == 2:
        values = checked(values)
    sizes = lengths(values)
    if not np.isnan(sum(rows) + sum(sizes)):
        if sum(sizes) != sum(rows):
            raise ValueError(f"X has {sum(rows)} rows, but {name} has {sum(sizes)}.")
        return values.rechunk({0: rows})
    if len(sizes) != len(rows):
        raise ValueError(
            f"X has {len(rows)} partitions and {name} has {len(sizes)}, and not all lengths are "
            f"known, so rows cannot be matched. {ADVICE}"
        )
    return values


def heading(X: Any) -> Any:
    """Return an object with the columns of a lazy table; raise if it has none."""
    X = checked(X)
    return X._meta if is_frame(X) else X


def lengths(X: Any) -> tuple[float, ...]:
    """Return the number of rows of each partition, NaN if unknown."""
    return X.chunks[0] if is_array(X) else (np.nan,) * X.npartitions


def is_array(X: Any) -> bool:
    """Return whether a collection is a Dask array."""
    from dask.array import Array

    return isinstance(X, Array)


def is_frame(X: Any) -> bool:
    """Return whether a collection is a dataframe, or a column of one."""
    return hasattr(X, "map_partitions") and hasattr(X, "_meta")


def on_each(call: Callable[..., Any], partitions: Iterable[Any]) -> Iterator[Any]:
    """Yield the delayed call for the rows of each partition."""
    from dask import delayed

    work = delayed(on_partition)
    call = delayed(call, pure=False, traverse=False)  # once in all graphs
    for number, rows in enumerate(partitions):
        yield work(call, rows, number)


def on_partition(call: Callable[..., Any], rows: Sequence[Any], number: int) -> Any:
    """Return the result of the call for one partition, None if it is empty; errors name it."""
    size = rows[0].shape[0]
    with naming(number):
        for name, values in zip(("y", "sample_weight"), rows[1:], strict=True):
            if np.ndim(values) and len(values) != size:
                raise ValueError(f"X has {size} rows, but {name} has {len(values)}: split alike.")
        return call(rows) if size else None


def sum_parts(parts: Iterable[Any]) -> Any:
    """Return the delayed sum of all parts, as a tree with FAN_IN branches."""
    from dask import delayed

    add = delayed(add_shards)
    sums = [add(list(group)) for group in batched(parts, FAN_IN)]
    return sums[0] if len(sums) == 1 else sum_parts(sums)


@contextmanager
def naming(number: int) -> Iterator[None]:
    """Make errors about rows of a partition name it."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise type(error)(f"partition {number}, counting its rows from 0: {error}") from None
