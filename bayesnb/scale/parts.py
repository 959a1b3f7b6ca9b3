"""Parts of a table, counted anywhere, and the model of all of them."""

from collections.abc import Iterable
from typing import Any

from bayesnb import persistence
from bayesnb.data import is_lazy
from bayesnb.estimators import check_estimator
from bayesnb.estimators.base import clone_with, list_families, looks_for_links
from bayesnb.estimators.learning import count_shard, learn_shard
from bayesnb.families import BestOf
from bayesnb.model.schema import are_alike
from bayesnb.model.shards import Shard, add_shards
from bayesnb.scale import dask_tables


def shard(
    model: Any, X: Any, y: Any, sample_weight: Any = None, *, keep_rows: bool = False
) -> Shard | None:
    """Count the rows of a part of a table, to be learnt together with other parts.

    Parameters
    ----------
    model : NaiveBayes or a preset
        It says the families. It need not be fitted, and does not change.
    X : table of rows
        Rows of the part, in memory or of Dask.
    y : sequence of labels
        One for each row.
    sample_weight : sequence of float or None, default=None
        Weights of the rows.
    keep_rows : bool, default=False
        Whether a bounded number of the rows stays in the shard, where the model finds exponents by
        rows.

    Returns
    -------
    Shard or None
        Statistics of the rows, their labels and levels, and no row that was not to be kept. Shards
        add up, ``a + b``. None where there are no rows.

    See Also
    --------
    fit_shards : Learn from all shards.
    dumps : A shard as bytes.

    Notes
    -----
    ``NaiveBayes()``, ``temper="columns"`` and ``temper="loo"`` find exponents by rows. With
    ``keep_rows`` in all shards, ``fit_shards`` finds them as ``fit_files`` does, by at most 10,000
    rows, however many shards there are. Without rows the exponent of ``NaiveBayes()`` is 1, and the
    other two are an error.

    Declare the families: what the rows of one part suggest may differ from those of another, which
    is an error in their sum.

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
        return dask_tables.count_partitions(counting, rows)
    return count_shard(counting, rows)


def fit_shards(model: Any, shards: Iterable[Shard | None]) -> Any:
    """Fit an estimator on all rows that the shards are of, as ``fit`` would on the whole table.

    Parameters
    ----------
    model : NaiveBayes or a preset
        The estimator to fit, with the families by which the shards were counted.
    shards : iterable of Shard or None
        The parts, in any order. None stands for a part without rows.

    Returns
    -------
    NaiveBayes or a preset
        The fitted estimator.

    Raises
    ------
    ValueError
        Where there are no rows, or the shards have other columns or families.

    See Also
    --------
    shard : Count the rows of a part.
    loads : A shard from bytes.
    bayesnb.NaiveBayes.merge : Put two fitted estimators together.

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
                f"expected shards, as bayesnb.scale.shard makes of rows, got {type(part).__name__}."
            )
    total = add_shards(parts)
    if total is None:
        raise ValueError("there is no row to learn from: all shards are empty.")
    refuse_others(model, total)
    return learn_shard(model, total)


def dumps(shard: Shard) -> bytes:
    """Return a shard as bytes, to send to another machine or to keep.

    Parameters
    ----------
    shard : Shard
        The shard.

    Returns
    -------
    bytes
        Those of a file without code, with checksums.

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


def refuse_others(model: Any, shard: Shard) -> None:
    """Raise for a shard that a model of other families counted."""
    if shard.schema.links is not None and not looks_for_links(model):
        raise ValueError(
            "the shards have links between columns, and the model has dependence=None: count them "
            "by `shard` of the same model."
        )
    counted = shard.schema.families
    for name, family in list_families(model, shard.schema.columns).items():
        other = counted.get(name)
        meant = family.candidates if isinstance(family, BestOf) else [family]
        if other is not None and other.listed:
            meant = [each and each.of_lists for each in meant]
        if not any(are_alike(each, other) for each in meant):
            raise ValueError(
                f"column {name!r} is {family} in the model, and {other or 'dropped'} in the "
                "shards: count them by `shard` of the same model."
            )


def loads(data: bytes) -> Shard:
    """Return the shard from which ``dumps`` made the bytes. Bytes from strangers are safe to read.

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
