"""A service that never stops: it learns batch after batch of a stream, and answers meanwhile. An example, and a test.

    python -m tests.service stream.jsonl model.bnb --every 20 --readers 4

A line of the stream is one batch, {"rows": [{column: cell, ...}, ...], "labels": [...]}, and how far it was read is a
number of bytes, as other streams have offsets. What was learnt is written down every so many batches; after a crash the
service goes on behind the last batch that the file knows, and ends with the same model as if nothing had happened.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pandas as pd

from bayesnb import Live, NaiveBayes


def batches(stream: Path, start: int) -> Iterator[tuple[pd.DataFrame, list[Any], int]]:
    """Rows, labels, and where the next batch begins."""
    with open(stream, "rb") as file:
        file.seek(start)
        while (line := file.readline()).endswith(b"\n"):  # one that is not written to its end comes later
            said = json.loads(line)
            yield pd.DataFrame(said["rows"]), said["labels"], file.tell()


@dataclass
class Service:
    """One thread consumes the stream, any others ask."""

    live: Live
    stream: Path
    path: Path
    every: int = 20  # batches between two files
    keep: float = 1.0  # what an old row still counts after a batch more
    over: Event = field(default_factory=Event)

    @classmethod
    def started(cls, stream: Path, path: Path, ready: Any = None, **how: Any) -> "Service":
        """A service that goes on where the file says, or begins."""
        fresh = NaiveBayes({"rate": None, "size": "gaussian"}, class_prior=0.5)
        live = Live.open(path, ready=ready) if path.exists() else Live(fresh, at=0, ready=ready)
        return cls(live, stream, path, **how)

    def learn(self, model: Any, rows: pd.DataFrame, labels: list[Any]) -> Any:
        """One batch more; levels and classes may be new."""
        if self.keep < 1 and hasattr(model, "model_"):
            model.decay(self.keep)
        return model.partial_fit(rows, labels, grow_classes=True)

    def consume(self, say: Callable[[int], Any] = lambda end: None) -> None:
        """Learn what there is, and write it down every so often; decay, rows and position are one change."""
        try:
            for number, (rows, labels, end) in enumerate(batches(self.stream, self.live.at), 1):
                self.live.update(lambda model: self.learn(model, rows, labels), at=end)  # noqa: B023
                if number % self.every == 0:
                    self.live.save(self.path)
                say(end)
            self.live.save(self.path)
        finally:
            self.over.set()

    def answer(self, rows: pd.DataFrame) -> tuple[int, Any]:
        """How probable each class is, how sure that is, and after how much of the stream."""
        model, at = self.live.now
        return at, model.predict_interval(rows, ci_prob=0.9)


def consuming(stream: Path, path: Path, said: Any, **how: Any) -> None:
    """A process of its own, which sends how far it is."""
    Service.started(stream, path, **how).consume(said.send)


def asked(service: Service, questions: pd.DataFrame, seconds: list[float], seed: int) -> None:
    """Ask a hundred times a second until the stream is over, and note how long each answer took."""
    rng = np.random.default_rng(seed)
    while not service.over.wait(0.01):
        if not hasattr(service.live.model, "model_"):
            continue  # nothing was learnt yet
        row = questions.iloc[[int(rng.integers(len(questions)))]]
        start = time.perf_counter()
        service.answer(row)
        seconds.append(time.perf_counter() - start)


@contextmanager
def asking(service: Service, questions: pd.DataFrame, readers: int) -> Iterator[list[list[float]]]:
    """So many threads that ask meanwhile, and the seconds that each of them waited."""
    seconds: list[list[float]] = [[] for _ in range(readers)]
    threads = [
        Thread(target=asked, args=(service, questions, own, seed), daemon=True) for seed, own in enumerate(seconds)
    ]
    for thread in threads:
        thread.start()
    yield seconds
    for thread in threads:
        thread.join()


def told_of(spent: float, seconds: list[list[float]]) -> str:
    """How long it all took, and each answer."""
    every = np.array([1e3 * own for each in seconds for own in each])
    ms = np.quantile(every, [0.5, 0.99, 1]).round(1).tolist() if every.size else []
    return f"{spent:.2f} s of learning, {every.size} answers, ms (median, 99 %, most): {ms}"


def main(said: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("stream", type=Path)
    parser.add_argument("path", type=Path)
    parser.add_argument("--every", type=int, default=20)
    parser.add_argument("--keep", type=float, default=1.0)
    parser.add_argument("--readers", type=int, default=2)
    told = parser.parse_args(said)
    questions, _, _ = next(batches(told.stream, 0))

    def ready(model: Any) -> None:
        model.predict_proba(questions)

    service = Service.started(told.stream, told.path, ready, every=told.every, keep=told.keep)
    with asking(service, questions, told.readers) as seconds:
        start = time.perf_counter()
        service.consume(lambda end: print(end, flush=True))
        spent = time.perf_counter() - start
    print(told_of(spent, seconds), file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
