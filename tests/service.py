"""A service that never stops: it learns batch after batch of a stream, and answers meanwhile.

A line of the stream is one batch, {"rows": [{column: cell, ...}, ...], "labels": [...]}, and how
far it was read is a number of bytes, as other streams have offsets. What was learnt is written down
every so many batches; after a crash the service goes on behind the last batch that the file knows,
and ends with the same model as if nothing had happened.

    python -m tests.service stream.jsonl model.bnb
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import pandas as pd

from bayesnb import Live, NaiveBayes


def batches(stream: Path, start: int) -> Iterator[tuple[pd.DataFrame, list[Any], int]]:
    """Rows, labels, and where the next batch begins."""
    with open(stream, "rb") as file:
        file.seek(start)
        while (line := file.readline()).endswith(b"\n"):  # else it is not yet written to its end
            content = json.loads(line)
            yield pd.DataFrame(content["rows"]), content["labels"], file.tell()


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
    def started(cls, stream: Path, path: Path, **options: Any) -> "Service":
        """A service that goes on where the file says, or begins."""
        fresh = NaiveBayes({"rate": None, "size": "gaussian"}, class_prior=0.5)
        live = Live.open(path) if path.exists() else Live(fresh, at=0)
        return cls(live, stream, path, **options)

    def learn(self, model: Any, rows: pd.DataFrame, labels: list[Any]) -> Any:
        """One batch more; levels and classes may be new."""
        if self.keep < 1 and hasattr(model, "classes_"):
            model.decay(self.keep)
        return model.partial_fit(rows, labels, grow_classes=True)

    def consume(self, tell: Callable[[int], Any] = lambda end: None) -> None:
        """Learn what there is, and save it every so often; rows and position are one change."""
        try:
            for number, (rows, labels, end) in enumerate(batches(self.stream, self.live.at), 1):
                self.live.update(lambda model: self.learn(model, rows, labels), at=end)  # noqa: B023
                if number % self.every == 0:
                    self.live.save(self.path)
                tell(end)
            self.live.save(self.path)
        finally:
            self.over.set()

    def answer(self, rows: pd.DataFrame) -> tuple[int, Any]:
        """How probable each class is, with intervals, and after how much of the stream."""
        model, at = self.live.now
        return at, model.predict_interval(rows, ci_prob=0.9)


def consuming(stream: Path, path: Path, pipe: Any, **options: Any) -> None:
    """Run in a process of its own, which sends how far it is."""
    Service.started(stream, path, **options).consume(pipe.send)


if __name__ == "__main__":
    Service.started(Path(sys.argv[1]), Path(sys.argv[2])).consume(print)
