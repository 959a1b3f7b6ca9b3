"""What the recipe for Spark runs on a partition, without Spark: record batches in, record batches out."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from bayesnb import NaiveBayes, scale
from tests.conftest import plainly
from tests.spark_recipe import answers, counting, made, predicting

TABLE = made(600)
X = TABLE.drop_columns(["label"])
PLAIN = plainly(X)
MODEL = NaiveBayes(n_jobs=1, **PLAIN).fit(X, TABLE["label"])


def partitions(table: pa.Table) -> list[list[pa.RecordBatch]]:
    """Four, of one batch or several; one has no row, and one a batch without any."""
    cuts = [table.slice(0, 250), table.slice(0, 0), table.slice(250, 340), table.slice(590)]
    found = [cut.combine_chunks().to_batches(max_chunksize=100) for cut in cuts]
    return [*found[:3], [*table.schema.empty_table().to_batches(), *found[3]]]


def shards() -> Iterator[pa.RecordBatch]:
    return (row for part in partitions(TABLE) for row in counting(NaiveBayes(n_jobs=1, **PLAIN), "label", iter(part)))


def test_the_shards_of_the_partitions_are_the_whole_table() -> None:
    rows = list(shards())
    assert [row.num_rows for row in rows] == [1, 1, 1]  # and none of the partition without rows
    assert {row.schema for row in rows} == {pa.schema([("shard", pa.binary())])}
    model = scale.fit_shards(NaiveBayes(**PLAIN), [scale.loads(row["shard"][0].as_py()) for row in rows])
    assert model.stats_.classes.counts.tolist() == MODEL.stats_.classes.counts.tolist()
    np.testing.assert_allclose(model.predict_proba(X), MODEL.predict_proba(X), rtol=1e-10)


def test_a_partition_that_is_counted_again_has_the_same_bytes() -> None:
    assert [row["shard"][0].as_py() for row in shards()] == [row["shard"][0].as_py() for row in shards()]


@pytest.mark.parametrize(
    "table", [X, TABLE.select(["label", *reversed(X.column_names)])], ids=["as learnt", "shuffled"]
)
def test_answers_stand_beside_the_columns_of_every_batch(table: pa.Table) -> None:
    for part in partitions(table):
        found = list(predicting(MODEL, iter(part)))
        assert [batch.num_rows for batch in found] == [batch.num_rows for batch in part if batch.num_rows]
        for batch in found:
            assert batch.schema.names == [*table.column_names, "predicted", "p_maybe", "p_no", "p_yes"]
            rows = pa.Table.from_batches([batch])
            assert rows.select(table.column_names).schema == table.schema
            own = rows.select(X.column_names)
            assert rows["predicted"].to_pylist() == MODEL.predict(own).tolist()
            proba = np.column_stack([rows[f"p_{label}"].to_numpy() for label in MODEL.classes_])
            np.testing.assert_array_equal(proba, MODEL.predict_proba(own))


@pytest.mark.parametrize(
    ("labels", "said", "type_"),
    [
        (["a", "b"], "string", pa.string()),
        ([3, 4], "bigint", pa.int64()),
        ([True, False], "boolean", pa.bool_()),
        ([1.0, 2.0], "double", pa.float64()),
    ],
    ids=["text", "integers", "booleans", "floats"],
)
def test_the_types_that_spark_is_told_are_those_of_the_answers(labels: list, said: str, type_: pa.DataType) -> None:
    model = NaiveBayes().fit(pa.table({"x": [0.0, 1.0]}), labels)
    (batch,) = predicting(model, iter(pa.table({"x": [0.5]}).to_batches()))
    assert batch.schema.field("predicted").type == type_
    names = [f"p_{label}" for label in model.classes_]
    assert answers(model) == [("predicted", said), *((name, "double") for name in names)]
    assert [batch.schema.field(name).type for name in names] == [pa.float64()] * len(names)
