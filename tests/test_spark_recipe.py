"""What the recipe for Spark runs on a partition, without Spark: record batches in, record batches
out.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from bayesnb import NaiveBayes, scale
from tests.spark_recipe import counting, made, predicting

TABLE = made(600)
X = TABLE.drop_columns(["label"])
PLAIN = {"families": {"id": None, "size": "gaussian", "rooms": "poisson", "town": "categorical"}}
MODEL = NaiveBayes(n_jobs=1, **PLAIN).fit(X, TABLE["label"])


def partitions(table: pa.Table) -> list[list[pa.RecordBatch]]:
    """Four, of one batch or several; one has no row, and one a batch without any."""
    cuts = [table.slice(0, 250), table.slice(0, 0), table.slice(250, 340), table.slice(590)]
    found = [cut.combine_chunks().to_batches(max_chunksize=100) for cut in cuts]
    return [*found[:3], [*table.schema.empty_table().to_batches(), *found[3]]]


def shards() -> Iterator[pa.RecordBatch]:
    return (
        row
        for part in partitions(TABLE)
        for row in counting(NaiveBayes(n_jobs=1, **PLAIN), "label", iter(part))
    )


def test_the_shards_of_the_partitions_are_the_whole_table() -> None:
    rows = list(shards())
    assert [row.num_rows for row in rows] == [1, 1, 1]  # and none of the partition without rows
    assert {row.schema for row in rows} == {pa.schema([("shard", pa.binary())])}
    model = scale.fit_shards(
        NaiveBayes(**PLAIN), [scale.loads(row["shard"][0].as_py()) for row in rows]
    )
    np.testing.assert_allclose(model.predict_proba(X), MODEL.predict_proba(X), rtol=1e-10)


@pytest.mark.parametrize(
    "table", [X, TABLE.select(["label", *reversed(X.column_names)])], ids=["as learnt", "shuffled"]
)
def test_answers_stand_beside_the_columns_of_every_batch(table: pa.Table) -> None:
    for part in partitions(table):
        found = list(predicting(MODEL, iter(part)))
        assert [batch.num_rows for batch in found] == [
            batch.num_rows for batch in part if batch.num_rows
        ]
        for batch in found:
            assert batch.schema.names == [
                *table.column_names,
                "predicted",
                "p_maybe",
                "p_no",
                "p_yes",
            ]
            rows = pa.Table.from_batches([batch])
            assert rows.select(table.column_names).schema == table.schema
            own = rows.select(X.column_names)
            assert rows["predicted"].to_pylist() == MODEL.predict(own).tolist()
            proba = np.column_stack([rows[f"p_{label}"].to_numpy() for label in MODEL.classes_])
            np.testing.assert_array_equal(proba, MODEL.predict_proba(own))
