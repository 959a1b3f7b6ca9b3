"""Spark: every partition is counted where it is, and answered where it is. Copy `fit` and `predict`
from here.

    partition ──▶ record batches ──▶ one shard, some kilobytes ──▶ the driver, which adds them up

A task that fails, or that Spark runs twice, is counted once: only the shards that `collect` returns
are added, one for
each partition, in the partitions' order.

It was run with PySpark 4.3.0, pyarrow 26.0.1, Java 17 and Python 3.12, where tasks fail and where
slow
ones are run twice too; `python tests/spark_recipe.py` compares a fit with one in memory.

Families are declared, as no partition can choose them for all others. The workers need bayesnb and
pyarrow too. The
tests know `counting` and `predicting` without Spark.
"""

from collections.abc import Iterator
from copy import copy
from functools import partial
from typing import Any

import pyarrow as pa
from sklearn.base import clone

from bayesnb import scale

Batches = Iterator[pa.RecordBatch]
TYPES = {"O": "string", "U": "string", "i": "bigint", "b": "boolean", "f": "double"}  # of labels


def fit(model: Any, frame: Any, label: str) -> Any:
    """Fit an estimator to all rows of a Spark dataframe, in one pass; all columns but the label are
    learnt from.
    """
    count = partial(counting, clone(model).set_params(n_jobs=1), label)
    rows = frame.mapInArrow(count, "shard binary").collect()
    return scale.fit_shards(model, [scale.loads(bytes(row.shard)) for row in rows])


def counting(model: Any, label: str, batches: Batches) -> Batches:
    """What Spark runs on a partition: its batches become one row, the bytes of their shard; none
    for no row.
    """
    total = None
    for batch in batches:
        table = pa.Table.from_batches([batch])
        shard = scale.shard(model, table.drop_columns([label]), table[label])
        total = shard if total is None else total if shard is None else total + shard
    if total is not None:
        yield pa.record_batch({"shard": pa.array([scale.dumps(total)], pa.binary())})


def predict(model: Any, frame: Any) -> Any:
    """The dataframe with the predicted label, and the probability of each, beside its columns;
    Spark is lazy.
    """
    from pyspark.sql.types import StructType

    schema = StructType(list(frame.schema.fields))
    for name, kind in answers(model):
        schema.add(name, kind)
    own = copy(model).set_params(n_jobs=1)
    return frame.mapInArrow(partial(predicting, own), schema)


def answers(model: Any) -> list[tuple[str, str]]:
    """The columns that `predict` adds, and their types."""
    return [
        ("predicted", TYPES[model.classes_.dtype.kind]),
        *((f"p_{label}", "double") for label in model.classes_),
    ]


def predicting(model: Any, batches: Batches) -> Batches:
    """What Spark runs on a partition: answers beside the columns of each batch, of which those
    learnt from are read.
    """
    for batch in batches:
        if not batch.num_rows:
            continue
        table = pa.Table.from_batches([batch])
        proba = model.predict_proba(table.select(list(model.feature_names_in_)))
        best = model.classes_[proba.argmax(axis=1)]
        columns = [*batch.columns, pa.array(best), *map(pa.array, proba.T)]
        yield pa.record_batch(
            columns, names=[*batch.schema.names, *(name for name, _ in answers(model))]
        )


def made(rows: int = 60_000) -> pa.Table:
    """Numbers, whole ones, flags and text, with holes."""
    import numpy as np

    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, rows)

    def holed(values: Any) -> pa.Array:
        return pa.array(values, mask=rng.random(rows) < 0.05)

    return pa.table(
        {
            "id": np.arange(rows),
            "size": holed(rng.normal(size=rows) + 0.5 * y),
            "rooms": holed(rng.poisson(3 + y)),
            "owned": holed(rng.random(rows) < 0.3 + 0.1 * y),
            "town": holed(
                np.array(["Ayr", "Bo", "Cork", "Dee"], object)[
                    (4 * rng.random(rows) ** (1 + y)).astype(int)
                ]
            ),
            "label": np.array(["maybe", "no", "yes"], object)[y],
        }
    )


def main(master: str = "local[2]") -> None:
    """Compare a fit and predictions with those in memory."""
    from tempfile import TemporaryDirectory

    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession

    from bayesnb import NaiveBayes

    table = made()
    spark = SparkSession.builder.master(master).getOrCreate()
    declared = NaiveBayes(
        {"id": None, "size": "gaussian", "rooms": "poisson", "town": "categorical"}
    )
    x = table.drop_columns(["label"])
    model = clone(declared).fit(x, table["label"])
    with TemporaryDirectory() as folder:
        pq.write_table(table, f"{folder}/rows.parquet", row_group_size=5_000)
        frame = spark.read.parquet(folder).repartition(8)
        found = fit(declared, frame, "label")
        assert abs(found.predict_proba(x) - model.predict_proba(x)).max() < 1e-9
        answered = predict(model, frame.drop("label")).orderBy("id").toArrow()
        assert answered["predicted"].to_pylist() == model.predict(x).tolist()
    spark.stop()


if __name__ == "__main__":
    import sys

    main(*sys.argv[1:])
