"""Damaged files of typed tables, read one after the other in a process of their own, which a fault may end.

python damage.py TIMES [fit]      each format so many times; with fit, some by `fit_files` too
"""

import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import feather, ipc, parquet

from bayesnb.data import read_file
from tests.benchmarks.measure import kilobytes


def columns_of_all_types(rows: int = 40) -> pa.Table:
    rng = np.random.default_rng(0)
    every = range(rows)
    return pa.table(
        {
            "kind": pa.array(rng.choice(["a", "bb", "ccc"], rows).tolist()).dictionary_encode(),
            "text": pa.array([None if i % 7 == 0 else "x" * (i % 5) + "ü" for i in every]),
            "large": pa.array([f"l{i % 3}" for i in every], pa.large_string()),
            "words": pa.array([["u", "v", "w"][: i % 4] for i in every]),
            "flag": pa.array([None if i % 5 == 0 else bool(i % 2) for i in every]),
            "at": pa.array([i * 10**9 for i in every], pa.timestamp("us", tz="UTC")),
            "day": pa.array(list(every), pa.date32()),
            "price": pa.array([None if i % 9 == 0 else f"{i}.50" for i in every]).cast(pa.decimal128(7, 2)),
            "real": pa.array(rng.normal(size=rows)),
            "count": pa.array([None if i % 6 == 0 else i for i in every], pa.int16()),
            "empty": pa.nulls(rows),
            "y": pa.array(["uv"[i % 2] for i in every]),
        }
    )


def stream_of(table: pa.Table, to: BytesIO) -> None:
    with ipc.new_stream(to, table.schema) as stream:
        stream.write_table(table, 13)


TYPED: dict[str, Callable[[pa.Table, BytesIO], Any]] = {
    "plain.feather": lambda table, to: feather.write_feather(table, to, compression="uncompressed", chunksize=13),
    "lz4.feather": lambda table, to: feather.write_feather(table, to, compression="lz4", chunksize=13),
    "zstd.feather": lambda table, to: feather.write_feather(table, to, compression="zstd"),
    "plain.arrows": stream_of,
    "plain.parquet": lambda table, to: parquet.write_table(table, to, compression="none", row_group_size=13),
    "snappy.parquet": lambda table, to: parquet.write_table(table, to),
    "summed.parquet": lambda table, to: parquet.write_table(table, to, write_page_checksum=True, use_dictionary=False),
}


def typed_bytes(name: str, table: pa.Table) -> bytes:
    to = BytesIO()
    TYPED[name](table, to)
    return to.getvalue()


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The bytes with some of them changed, zeroed or cut off."""
    own, how, at = bytearray(data), rng.random(), rng.randrange(len(data))
    if how < 0.1:
        return data[:at]
    if how < 0.2:
        return data[:at] + bytes(rng.randrange(64)) + data[at + rng.randrange(64) :]
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(own))
        own[at] = rng.choice([0, 0x7F, 0x80, 0xFF, own[at] ^ (1 << rng.randrange(8)), rng.randrange(256)])
    return bytes(own)


def walked(name: str) -> None:
    """Read a table and touch every cell."""
    frame = read_file(name)
    for column in frame:
        frame[column].tolist()
        frame[column].astype(str).factorize()


def fitted_past_memory(name: str) -> None:
    from bayesnb import NaiveBayes
    from bayesnb.scale import fit_files

    families = dict.fromkeys(["at", "day", "words", "empty"])
    fit_files(NaiveBayes(families), name, "y", batch_rows=7, progress=False)


def outcome(read: Callable[[str], None], name: str, i: int) -> str:
    try:
        read(name)
    except (ValueError, MemoryError) as error:
        if not str(error).startswith((name, f"target: {name} has no column")) or "\n" in str(error):
            raise AssertionError(f"{name} {i}") from error
        return "refused"
    return "read"


def read_damaged_files(times: int, readers: list[Callable[[str], None]]) -> None:
    """Read so many damaged files of each format: each is a table, or an error of one line that names the file."""
    seen: Counter[str] = Counter()
    for name in TYPED:
        data = typed_bytes(name, columns_of_all_types())
        for i in range(times):
            Path(name).write_bytes(damaged(data, random.Random(f"{name} {i}")))
            for read in readers:
                seen[outcome(read, name, i)] += 1
    assert min(seen["read"], seen["refused"]) > times, seen
    assert kilobytes("VmHWM") < 1 << 20, "a few kilobytes took a gigabyte"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    read_damaged_files(int(sys.argv[1]), [walked, fitted_past_memory] if "fit" in sys.argv else [walked])
