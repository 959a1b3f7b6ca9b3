"""Spark: every partition is counted where it is, and answered where it is. Copy `fit` and `predict` from here.

    partition ──▶ record batches ──▶ one shard, some kilobytes ──▶ the driver, which adds them up

A task that fails, or that Spark runs twice, is counted once: only the shards that `collect` returns are added, one for
each partition, in the partitions' order.

It was run with PySpark 4.3.0, pyarrow 26.0.1, Java 17 and Python 3.12, and compares all that with a fit in memory:

    pip install ".[scale]" pyspark==4.3.0            # in a clone of bayesnb
    python tests/spark_recipe.py                     # local[2, 4], where a task fails
    python tests/spark_recipe.py spark://HOST:7077   # a cluster: two workers, where one is also slow and is run twice

Families are declared, as no partition can choose them for all others. The workers need bayesnb and pyarrow too. The
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
    """Fit an estimator to all rows of a Spark dataframe, in one pass; all columns but the label are learnt from."""
    count = partial(counting, clone(model).set_params(n_jobs=1), label)
    rows = frame.mapInArrow(count, "shard binary").collect()
    return scale.fit_shards(model, [scale.loads(bytes(row.shard)) for row in rows])


def counting(model: Any, label: str, batches: Batches) -> Batches:
    """What Spark runs on a partition: its batches become one row, the bytes of their shard; none for no row."""
    total = None
    for batch in batches:
        table = pa.Table.from_batches([batch])
        shard = scale.shard(model, table.drop_columns([label]), table[label])
        total = shard if total is None else total if shard is None else total + shard
    if total is not None:
        yield pa.record_batch({"shard": pa.array([scale.dumps(total)], pa.binary())})


def predict(model: Any, frame: Any) -> Any:
    """The dataframe with the predicted label, and the probability of each, beside its columns; Spark is lazy."""
    from pyspark.sql.types import StructType

    schema = StructType(list(frame.schema.fields))
    for name, kind in answers(model):
        schema.add(name, kind)
    own = copy(model).set_params(n_jobs=1)
    return frame.mapInArrow(partial(predicting, own), schema)


def answers(model: Any) -> list[tuple[str, str]]:
    """The columns that `predict` adds, and their types."""
    return [("predicted", TYPES[model.classes_.dtype.kind]), *((f"p_{label}", "double") for label in model.classes_)]


def predicting(model: Any, batches: Batches) -> Batches:
    """What Spark runs on a partition: answers beside the columns of each batch, of which those learnt from are read."""
    for batch in batches:
        if not batch.num_rows:
            continue
        table = pa.Table.from_batches([batch])
        proba = model.predict_proba(table.select(list(model.feature_names_in_)))
        best = model.classes_[proba.argmax(axis=1)]
        columns = [*batch.columns, pa.array(best), *map(pa.array, proba.T)]
        yield pa.record_batch(columns, names=[*batch.schema.names, *(name for name, _ in answers(model))])


def main(master: str = "local[2, 4]") -> None:
    """Both, also where tasks fail and, on a cluster of several hosts, where slow ones are run twice: as in memory."""
    from tempfile import TemporaryDirectory

    import pyarrow.parquet as pq

    from bayesnb import NaiveBayes

    table, spark = made(), session(master)
    declared = NaiveBayes({"id": None, "size": "gaussian", "rooms": "poisson", "town": "categorical"})
    model = clone(declared).fit(table.drop_columns(["label"]), table["label"])
    with TemporaryDirectory() as folder:
        pq.write_table(table, f"{folder}/rows.parquet", row_group_size=5_000)
        frame = spark.read.parquet(folder).repartition(8)
        same(fit(declared, frame, "label"), model, table, "fit")
        unsteady = frame.mapInArrow(partial(failing, 0 if master.startswith("local") else 100), frame.schema)
        same(fit(declared, unsteady, "label"), model, table, "fit, where tasks fail or are slow")
        check(predict(model, unsteady.drop("label")).orderBy("id").toArrow(), model, table, "predict, likewise")
    spark.stop()


def session(master: str) -> Any:
    """Small batches, and slow tasks are run twice: on another host, so not on one machine."""
    import os
    import sys

    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers on the driver's Python
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "3000")
    for name, value in {"": "true", ".quantile": "0.5", ".multiplier": "1.1", ".minTaskRuntime": "100ms"}.items():
        builder = builder.config(f"spark.speculation{name}", value)
    return builder.getOrCreate()


def failing(slow: float, batches: Batches) -> Batches:
    """Rows as they are; but the first attempt at partition 1 fails half way, and that at partition 2 is so slow."""
    from time import sleep

    from pyspark import TaskContext

    task = TaskContext.get()
    first = task.attemptNumber() == 0
    for place, batch in enumerate(batches):
        yield batch
        if first and task.partitionId() == 1 and place == 0:
            raise RuntimeError("this attempt was to fail")
        if first and task.partitionId() == 2 and place == 0:
            sleep(slow)  # until Spark has run another attempt


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
                np.array(["Ayr", "Bo", "Cork", "Dee"], object)[(4 * rng.random(rows) ** (1 + y)).astype(int)]
            ),
            "label": np.array(["maybe", "no", "yes"], object)[y],
        }
    )


def same(found: Any, expected: Any, table: pa.Table, what: str) -> None:
    """The same counts, and probabilities to twelve digits."""
    import numpy as np

    x = table.drop_columns(["label"])
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    np.testing.assert_array_equal(found.stats_.classes.counts, expected.stats_.classes.counts)
    np.testing.assert_allclose(found.predict_proba(x), expected.predict_proba(x), rtol=1e-9)
    print(f"{what}: as in memory, {table.num_rows:,} rows", flush=True)


def check(found: pa.Table, model: Any, table: pa.Table, what: str) -> None:
    """Every row's answers, once."""
    import numpy as np

    x = table.drop_columns(["label"])
    assert found["id"].equals(table["id"])
    np.testing.assert_array_equal(found["predicted"].to_numpy(), model.predict(x))
    proba = np.column_stack([found[f"p_{label}"].to_numpy() for label in model.classes_])
    np.testing.assert_allclose(proba, model.predict_proba(x), rtol=1e-12)
    print(f"{what}: as in memory, {found.num_rows:,} rows", flush=True)


if __name__ == "__main__":
    import sys

    main(*sys.argv[1:])
