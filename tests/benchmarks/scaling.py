"""How learning grows with rows, up to ten million, and with processes.

Rows a second, and memory at the peak.

Every figure is that of a process of its own, which is given the same files.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import bayesnb

from .records import Scaling
from .side_by_side import How

HOME = Path(bayesnb.__file__).parents[1]
SIZES = (100_000, 1_000_000, 10_000_000)
QUICK = (10_000, 100_000)
WORKERS = (1, 2)
BOUNDED = 500_000_000  # bytes that a stream may take, however many rows it has


@dataclass(frozen=True)
class Stream:
    """A way to learn from files, which takes threads or processes, and the memory that it may take."""

    way: str
    about: str
    unit: str
    most: int | None = None


STREAMS = (
    Stream("fit", "`fit`, the table in memory", "thread"),
    Stream("batches", "`partial_fit`, batches of 100,000", "thread"),
    Stream("files", "`scale.fit_files`", "thread", BOUNDED),
    Stream("dask", "`fit` of a Dask dataframe", "process"),
)


@dataclass(frozen=True)
class Growing:
    """Tables of more and more rows, learnt in every way."""

    name: str
    about: str

    def measure(self, how: How) -> Iterator[Scaling]:
        """One record for each way and number of threads or processes.

        A quick run has the largest number only.
        """
        sizes = [round(size * how.scale) for size in SIZES] if how.scale else list(QUICK)
        with TemporaryDirectory() as folder:
            tables = {rows: made(Path(folder), rows) for rows in sizes}
            for stream in STREAMS:
                for workers in WORKERS if how.scale else WORKERS[-1:]:
                    yield self._grown(stream, workers, tables)

    def _grown(self, stream: Stream, workers: int, tables: Mapping[int, Path]) -> Scaling:
        found = [separate(stream.way, folder, workers) for folder in tables.values()]
        sizes = list(tables)
        learnt = [own["rows"] for own in found]
        if learnt != sizes:
            raise ValueError(f"{self.name}, {stream.way}: {learnt} of {sizes} rows were learnt.")
        seconds = [own["seconds"] for own in found]
        peaks = [own["bytes"] for own in found]
        slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        return Scaling(
            self.name,
            stream.about,
            stream.unit,
            workers,
            sizes,
            seconds,
            peaks,
            slope,
            most=stream.most,
        )


GROWING = [Growing("N", "learning from files, up to ten million rows")]


def made(folder: Path, rows: int) -> Path:
    """A table's files, written by a process of its own."""
    own = folder / str(rows)
    own.mkdir()
    call(
        "from pathlib import Path; from tests.benchmarks.scaled import write",
        f"write(Path({str(own)!r}), {rows})",
    )
    return own


def separate(way: str, folder: Path, workers: int) -> dict[str, Any]:
    """What `scaled.measured` says in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.scaled", way, str(folder), str(workers)]
    done = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def call(*lines: str) -> None:
    subprocess.run([sys.executable, "-c", "; ".join(lines)], cwd=HOME, check=True)
