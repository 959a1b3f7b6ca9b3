"""A folder of Parquet files becomes a model in one of several ways.

How long that takes, and how much memory.

One way in a process of its own: `python -m tests.benchmarks.scaled files FOLDER 2`.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from bayesnb import NaiveBayes, scale

from .measure import kilobytes

LABEL = "label"
BATCH, GROUP, FILE = 100_000, 100_000, 250_000  # rows
NUMBERS = 8
TEXTS = 4
LEVELS = 20
CLASSES = 5


def write(folder: Path, rows: int) -> None:
    """A table of numbers and text in at least two files, the same each time; never whole in memory."""
    files = max(2, -(-rows // FILE))
    ends = np.linspace(0, rows, files + 1).astype(int)
    for at, size in enumerate(np.diff(ends).tolist()):
        pq.write_table(table(at, size), folder / f"{at:04}.parquet", row_group_size=GROUP)


def table(seed: int, rows: int) -> pa.Table:
    """Normal columns, and columns of levels, which lean with the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, rows)
    names = pa.array([f"level {place}" for place in range(LEVELS)])
    columns = {f"number {j}": pa.array(rng.standard_normal(rows) + 0.1 * y) for j in range(NUMBERS)}
    for j in range(TEXTS):
        codes = (LEVELS * rng.random(rows) ** (1 + 0.1 * y)).astype(np.int32)
        columns[f"text {j}"] = pa.DictionaryArray.from_arrays(codes, names).cast(pa.string())
    label = pa.DictionaryArray.from_arrays(
        y.astype(np.int32), pa.array([f"class {c}" for c in range(CLASSES)])
    )
    return pa.table({**columns, LABEL: label.cast(pa.string())})


def fit(folder: Path, workers: int) -> Any:
    """The whole table in memory."""
    whole = pq.read_table(folder)
    return NaiveBayes(n_jobs=workers).fit(whole.drop_columns([LABEL]), whole[LABEL])


def batches(folder: Path, workers: int) -> Any:
    """A loop over batches, which `partial_fit` learns."""
    model = NaiveBayes(n_jobs=workers)
    for batch in ds.dataset(folder).to_batches(
        batch_size=BATCH, batch_readahead=1, fragment_readahead=1
    ):
        some = pa.Table.from_batches([batch])
        model.partial_fit(some.drop_columns([LABEL]), some[LABEL], grow_classes=True)
    return model


def files(folder: Path, workers: int) -> Any:
    """The files as they are."""
    return scale.fit_files(NaiveBayes(n_jobs=workers), folder, LABEL, progress=False)


def dask(folder: Path, client: Any) -> Any:
    """Processes of a cluster, each of which counts some of the files."""
    from dask import dataframe

    frame = dataframe.read_parquet(folder)
    return NaiveBayes().fit(frame.drop(columns=LABEL), frame[LABEL])


WAYS: dict[str, Callable[[Path, Any], Any]] = {
    "fit": fit,
    "batches": batches,
    "files": files,
    "dask": dask,
}


def measured(way: str, folder: Path, workers: int) -> dict[str, Any]:
    """Rows that were learnt, seconds, and bytes at the peak of all processes that took part."""
    pa.set_cpu_count(workers)
    first = table(0, 2_000)
    NaiveBayes(n_jobs=workers).fit(
        first.drop_columns([LABEL]), first[LABEL]
    )  # nothing compiles under the clock
    if way != "dask":
        return timed(WAYS[way], folder, workers) | {"bytes": high()}
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        from dask import dataframe

        client.run(pa.set_cpu_count, 1)
        some = dataframe.from_pandas(first.to_pandas(), npartitions=2 * workers)
        NaiveBayes().fit(some.drop(columns=LABEL), some[LABEL])  # nor are workers starting
        found = timed(dask, folder, client)
        return found | {"bytes": high() + sum(client.run(high).values())}


def timed(way: Callable[[Path, Any], Any], folder: Path, by: Any) -> dict[str, Any]:
    start = perf_counter()
    model = way(folder, by)
    seconds = perf_counter() - start
    return {"seconds": seconds, "rows": int(model.stats_.classes.counts.sum())}


def high() -> int:
    """The most memory that this process ever had, imports and all."""
    return 1024 * kilobytes("VmHWM")


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
