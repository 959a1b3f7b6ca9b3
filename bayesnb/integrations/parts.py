"""Parts of a table, counted anywhere, and the model of all of them."""

from collections.abc import Iterable
from typing import Any

from bayesnb import persistence
from bayesnb.data import is_lazy
from bayesnb.estimators import check_estimator
from bayesnb.families import BestOf
from bayesnb.integrations import dask_tables
from bayesnb.integrations.file_kinds import declared_families
from bayesnb.model.shards import Shard, added, alike


def shard(model: Any, X: Any, y: Any, sample_weight: Any = None, *, keep_rows: bool = False) -> Shard | None:
    """Count some rows, which `model` is to learn together with others; it need not be fitted, and does not change.

    Parameters
    ----------
    model : an estimator, which says the families
    X, y, sample_weight : rows of a table, with their labels and weights, in memory or of Dask
    keep_rows : whether a bounded part of the rows stays in the shard, where the model finds exponents by rows

    Returns
    -------
    Shard or None
        What the rows say: it has their labels and levels, and no row that was not to be kept. Shards add up, `a + b`.
        None for no row.

    Notes
    -----
    NaiveBayes(), temper="columns" and temper="loo" find exponents by rows. With `keep_rows` in all shards, `fit_shards`
    finds them as `scale.fit_files` does, by at most 10,000 rows, however many shards there are. Without rows the
    exponent of NaiveBayes() is 1, and the other two are an error.
    """
    check_estimator(model, "model: ")
    counting = model if keep_rows else model._fresh(temper=None)
    rows = (X, y, sample_weight)
    return dask_tables.shard(counting, *rows) if is_lazy(X) else counting._shard(rows)


def fit_shards(model: Any, shards: Iterable[Shard | None]) -> Any:
    """Fit an estimator on all rows that the shards are of, as `fit` would on the whole table.

    Examples
    --------
    >>> from bayesnb import GaussianNB, scale
    >>> x, y = [[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"]
    >>> shards = [scale.shard(GaussianNB(), x[:2], y[:2]), scale.shard(GaussianNB(), x[2:], y[2:])]
    >>> scale.fit_shards(GaussianNB(), shards).predict([[1.1]]).tolist()
    ['low']
    """
    check_estimator(model, "model: ")
    total = added(one if one is None else checked(one) for one in shards)
    if total is None:
        raise ValueError("there is no row to learn from: all shards are empty.")
    refuse_others(model, total)
    return model._adopt(total)


def dumps(shard: Shard) -> bytes:
    """Return a shard as bytes, to be sent to another machine or kept: those of a file without code, with checksums.

    Examples
    --------
    >>> from bayesnb import GaussianNB, scale
    >>> sent = scale.dumps(scale.shard(GaussianNB(), [[1.0], [1.2], [3.0]], ["low", "low", "high"]))
    >>> scale.fit_shards(GaussianNB(), [scale.loads(sent)]).predict([[1.1]]).tolist()
    ['low']
    """
    return persistence.shard_bytes(shard)


def refuse_others(model: Any, shard: Shard) -> None:
    """Raise for a shard that a model of other families counted."""
    if shard.schema.links is not None and model._dependence_rule is None:
        raise ValueError(
            "the shards have links between columns, and the model has dependence=None: count them by `shard` of the "
            "same model."
        )
    counted = shard.schema.families
    for name, family in declared_families(model._families(), shard.schema.columns).items():
        other = counted.get(name)
        if isinstance(family, BestOf) and any(alike(candidate, other) for candidate in family.candidates):
            continue
        if not alike(family.of_lists if other is not None and other.listed and family is not None else family, other):
            raise ValueError(
                f"column {name!r} is {family} in the model, and {other or 'dropped'} in the shards: count them by "
                "`shard` of the same model."
            )


def checked(shard: Any) -> Shard:
    """Return a shard, or raise for what is none."""
    if not isinstance(shard, Shard):
        raise TypeError(f"expected a shard, as bayesnb.scale.shard makes of rows, got {type(shard).__name__}.")
    return shard


def loads(data: bytes) -> Shard:
    """Return the shard of which `dumps` made the bytes; safe for bytes of strangers, a ValueError for any others."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"expected bytes, as `dumps` makes them, got {type(data).__name__}.")
    return persistence.read_shard(bytes(data))[0]
